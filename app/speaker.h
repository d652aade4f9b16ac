/* What a body has learned to say: the tracks of a case whose phonemes are known, as a library of
 * physemes, with their shapes where these were computed, for previews that need no solve. */
#pragma once

#include "app/performance.h"
#include "app/physemes.h"

typedef struct PlaSpeaker PlaSpeaker;

/* From the fitted tracks of the case file @path or, where there is none, from made-up ones; those
 * that are not of @n_verts vertices or of other muscles are left out.  None at all is no error. Any
 * thread. */
PlaStatus pla_speaker_load(const char *path, const PlaState *state, int n_verts,
                           PlaProgress *progress, PlaSpeaker **out, PlaError *err);
void pla_speaker_free(PlaSpeaker *self); /* NULL is fine */

int pla_speaker_n_tracks(const PlaSpeaker *self);
const char *pla_speaker_get_track(const PlaSpeaker *self, int i);
const PlaPhysemeLibrary *
pla_speaker_get_library(const PlaSpeaker *self); /* without a bank: empty */
/* The shape of @line at a time, blended like its controls; @rest: of the neutral face (n_verts x
 * 3). false where shapes of a track were not computed. */
bool pla_speaker_shape(const PlaSpeaker *self, const PlaLine *line, double time_s,
                       const double *rest, double *pos);

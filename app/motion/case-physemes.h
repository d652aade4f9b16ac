/* What a body has learned to say: the tracks of a case whose phonemes are known, as a library of
 * physemes, with their shapes where these were computed, for previews that need no solve. */
#pragma once

#include "app/motion/performance.h"
#include "app/motion/physemes.h"

typedef struct PlaCasePhysemes PlaCasePhysemes;

/* From the fitted tracks of the case file @path or, where there is none, from made-up ones; those
 * that are not of @n_verts vertices or of other muscles are left out.  None at all is no error. Any
 * thread. */
PlaStatus pla_case_physemes_load(const char *path, const PlaState *state, int n_verts,
                                 PlaProgress *progress, PlaCasePhysemes **out, PlaError *err);
void pla_case_physemes_free(PlaCasePhysemes *self); /* NULL is fine */

int pla_case_physemes_n_tracks(const PlaCasePhysemes *self);
const char *pla_case_physemes_get_track(const PlaCasePhysemes *self, int i);
const PlaPhysemeLibrary *
pla_case_physemes_get_library(const PlaCasePhysemes *self); /* without a bank: empty */
/* The shape of @line at a time, blended like its controls; @rest: of the neutral face (n_verts x
 * 3). false where shapes of a track were not computed. */
bool pla_case_physemes_shape(const PlaCasePhysemes *self, const PlaLine *line, double time_s,
                             const double *rest, double *pos);

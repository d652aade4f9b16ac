/* A tongue that has spoken: what the operation `speak` keeps in a case, and what the Speech
 * workspace, its exports and reports show of it.
 *
 * All frames are kept: coils, the tongue's surface and its midsagittal outline, the jaw's pose, the
 * airway above it with its formants, and the contact with the palate; everything in mm, in the
 * frame of the built-in head (RAS), the midsagittal plane as (forward, up).  Plain C, no display.
 */
#pragma once

#include "anatomy/base/progress.h"
#include "app/content/content.h"
#include "sim/speech/formants.h"
#include "sim/speech/spectrum.h"
#include "sim/tongue/airway.h"
#include "sim/tongue/tongue-motion.h"

enum { PLA_PALATE_ROWS = 14, PLA_PALATE_COLUMNS = 12 }; /* of the contact map; the front is first */

typedef struct {
  PlaContent *content;    /* held; owns everything below */
  const char *source;     /* name of the item that it was made from */
  const char *trained_on; /* a sentence; "" for recorded coils */
  bool measured;          /* coils were recorded, not predicted */
  bool own_plane;         /* they are in the built-in head's own plane, without a fit */
  int n_frames, n_verts, n_tris, n_outline;
  int section_dims[2]; /* of the bones in section: forward, up */
  double section_at_mm[2], section_step_mm;
  double rate_hz, start_s;
  const double *coil_mm; /* asked for, speaker's axes turned forward and up (n x PLA_N_COILS x 2) */
  const float *place_mm; /* where tongue, incisor and lip coils are (n x PLA_N_COILS x 2) */
  const float *rest_mm;  /* surface at rest (n_verts x 3) */
  const int32_t *tri;    /* (n_tris x 3) */
  const int16_t *moved;  /* from rest, 0.01 mm (n x n_verts x 3) */
  const float *outline_mm;      /* closed (n x n_outline x 2) */
  const float *rest_outline_mm; /* (n_outline x 2) */
  const float *jaw;             /* rotation by rows, then the shift in mm (n x 12) */
  const float *palate_mm,
      *mandible_mm;                  /* distances in section, the latter at rest (up x forward) */
  const float *area_mm2, *length_mm; /* airway, glottis first (n x PLA_AIRWAY_SECTIONS) */
  const float *wall_mm;              /* throat and palate, glottis first (PLA_TRACT_FIXED x 2) */
  const float *formant_hz;           /* of that airway, NaN: none (n x PLA_FORMANTS) */
  const float *heard_hz;             /* in the sound (n x PLA_FORMANTS) */
  double size; /* of the speaker's formants over the airway's, all together: a longer tract has
                  lower ones; 1 without a sound */
  const float *contact_mm; /* from tongue to palate; NaN beside it (n x ROWS x COLUMNS) */
  const float *volume;     /* change of the volume, part (n) */
} PlaSpoken;

/* Names of the shapes that go with every motion of a case. */
#define PLA_SPOKEN_PALATE "palate and upper teeth"
#define PLA_SPOKEN_JAW "jaw and lower teeth"
#define PLA_SPOKEN_HEAD "head"

/* The motion while it is made, frame by frame. */
typedef struct PlaSpokenMaking PlaSpokenMaking;
/* For the frames of motions of the built-in tongue along @track, coils in mm. */
PlaStatus pla_spoken_making_new(const PlaTongueMotion *motion, const PlaTrack *track,
                                PlaSpokenMaking **out, PlaError *err);
void pla_spoken_making_free(PlaSpokenMaking *self); /* NULL is fine */
/* Keeps the newest frame of @motion, number @frame.  Threads may keep different ones. */
void pla_spoken_making_frame(PlaSpokenMaking *self, const PlaTongueMotion *motion, int frame);
/* The surface of the tongue at rest.  Caller frees *out. */
PlaStatus pla_spoken_making_rest(const PlaSpokenMaking *self, PlaMesh **out, PlaError *err);
/* After all frames.  @heard_hz: resonances of the sound (frames x PLA_FORMANTS), or NULL.  The
 * caller adds the metadata "spoken": what the operation `speak` has found. */
PlaStatus pla_spoken_making_finish(PlaSpokenMaking *self, const double *heard_hz, PlaContent **out,
                                   PlaError *err);
/* The shapes around it: head, palate, jaw (metres).  Caller unrefs each. */
PlaStatus pla_spoken_make_mouth(double cell_mm, PlaProgress *progress, PlaContent *out[3],
                                PlaError *err);

bool pla_spoken_is(const PlaContent *content);
/* Checks everything; refs @content.  Caller frees *out. */
PlaStatus pla_spoken_new(PlaContent *content, PlaSpoken **out, PlaError *err);
void pla_spoken_free(PlaSpoken *self); /* NULL is fine */

double pla_spoken_time(const PlaSpoken *self, int frame);      /* s */
int pla_spoken_frame_at(const PlaSpoken *self, double time_s); /* nearest, kept in range */
double pla_spoken_seconds(const PlaSpoken *self);              /* to the end of the last frame */
/* The surface in a frame, m (n_verts x 3). */
void pla_spoken_pos(const PlaSpoken *self, int frame, double *pos);
/* @pos (n x 3, m) moved with the jaw from its place at rest. */
void pla_spoken_move_jaw(const PlaSpoken *self, int frame, const double *pos, int n, double *out);
/* Sentence @i about the sound and the model; NULL behind the last. */
const char *pla_spoken_get_note(const PlaSpoken *self, int i);

/* How two ways of saying the same differ. */
typedef struct {
  int n;            /* frames of the first */
  int *other;       /* frame of the second at each of them (n) */
  double *apart_mm; /* mean distance of the four tongue coils then (n) */
  double mean_mm, most_mm;
  int most_frame;
  double pace; /* how much longer the second takes, ratio */
} PlaSpokenPair;

/* Aligns by the sound (@audio of each, which may be NULL: then by the coils). */
PlaStatus pla_spoken_compare(const PlaSpoken *a, const PlaAudio *audio_a, const PlaSpoken *b,
                             const PlaAudio *audio_b, PlaSpokenPair *out, PlaProgress *progress,
                             PlaError *err);
void pla_spoken_pair_clear(PlaSpokenPair *self);

/* Coils, volume, formants, areas and contacts of every frame, one line each under a header. */
PlaStatus pla_spoken_write_csv(const PlaSpoken *self, const char *path, PlaError *err);

/* A body that performs: its muscles over time, the shapes that belong to them, the markers that
 * were recorded, the phonemes that were spoken.  What the window plays, read from a case in one go.
 *
 * Everything is in the frame of the cranium: where the head of a recording moves, the markers are
 * brought back to the face. */
#pragma once

#include "app/content/phonemes.h"
#include "app/motion/activation.h"

/* Shapes of a track, an item of kind "result" called "TRACK, shapes": the array below, float32, m
 * (3, vertices, frames), and in the metadata "shapes" {"mesh", "track", "frames", "rate_hz"}. */
#define PLA_SHAPES_ARRAY "shape"
#define PLA_META_SHAPES "shapes"
/* The array of such an item where it has that many vertices and frames, else NULL; borrowed. */
const float *pla_content_get_shapes(const PlaContent *content, int n_verts, int n_frames);

/* How well one marker was met over a take. */
typedef struct {
  char *name;
  double rms_mm, max_mm;
  int worst_frame; /* from 0 */
  int n_used;      /* frames that it was seen in */
} PlaMarkerMisfit;

typedef struct {
  PlaContent *mesh, *muscles; /* the items */
  PlaActiveBody *body;
  /* a track, where one is chosen */
  PlaContent *track;   /* or NULL */
  char *track_refused; /* why the track does not suit the body, or NULL */
  PlaActivation moves; /* what it says; no frames without a track */
  PlaPhones phones;    /* spoken meanwhile, in the track's time */
  PlaContent *shapes;  /* or NULL */
  const float *shape;  /* frames x vertices x 3, m; or NULL */
  /* a take, where one is chosen: as it was repaired, and which marker sits where */
  PlaTake *take; /* or NULL */
  PlaMarkerSet own;
  PlaMarkerMatch labels;
  char *refused;    /* why the take does not suit the body, or NULL */
  GPtrArray *bare;  /* places of the body that no marker was found for (borrowed names) */
  GPtrArray *loose; /* markers that belong to no place (borrowed names) */
  int n_misfits;
  PlaMarkerMisfit *misfit; /* worst first; none before a fit */
} PlaPerformance;

/* Names of items; all but the muscles may be NULL. */
typedef struct {
  const char *muscles, *track, *markers;
  gboolean by_geometry; /* names of markers mean nothing */
} PlaPerformanceItems;
/* From the case file @path, on any thread. */
PlaStatus pla_performance_load(const char *path, const PlaState *state,
                               const PlaPerformanceItems *items, PlaProgress *progress,
                               PlaPerformance **out, PlaError *err);
void pla_performance_free(PlaPerformance *self); /* NULL is fine */

/* The stored shape of a frame, m (n_verts x 3); false where there is none. */
bool pla_performance_get_shape(const PlaPerformance *self, int frame, double *pos);
/* Markers of a frame in the frame of the cranium, mm, and where the body of the shape @pos has them
 * (both n_markers x 3); NaN where there is none.  Without a fit the head is placed by the rest
 * frame's match. */
void pla_performance_get_markers(const PlaPerformance *self, int frame, const double *pos,
                                 double *measured_mm, double *fitted_mm);

/* ---- speech by rule ---- */

/* Controls that say @phones (IPA), by a table of mouth shapes: rough, but enough to try everything
 * without a recording.  From time 0 to the last phoneme's end and @rest_s of rest on both sides:
 * the phonemes begin after the first.  @body: one with the muscles of a face. */
PlaStatus pla_perform_phones(const PlaActiveBody *body, const PlaPhones *phones, double rate_hz,
                             double rest_s, PlaActivation *out, PlaPhones *shifted, PlaError *err);

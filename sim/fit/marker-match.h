/* Which marker of a take is which place on the body, and what is wrong with the take.
 *
 * By name where names agree, else by geometry: the rigid motion and the one-to-one assignment of
 * least distances between a rest frame and the places.  What the take's recorder got wrong is
 * repaired where that is certain, and said: another length unit, two markers that change places, a
 * marker that stands still while the face moves, frames that repeat or are empty. */
#pragma once

#include "sim/fit/markers.h"

typedef struct {
  int rest_frame;   /* -1: the first one with nearly all markers */
  bool by_geometry; /* names mean nothing */
  double reach_m;   /* farthest that a marker may be from its place in the rest frame; 0: 12 mm */
} PlaMarkerMatchOptions;
PlaMarkerMatchOptions pla_marker_match_options_default(void);

typedef struct {
  int n_markers;
  const PlaMarkerSite **site; /* owned array of borrowed places; NULL: none (n_markers) */
  int n_matched;
  bool by_name;
  int rest_frame;
  double scale;      /* what positions were multiplied with */
  double rest_rms_m; /* of the rigid match in the rest frame */
  PlaNotes notes;    /* one sentence for everything that was repaired or left out */
} PlaMarkerMatch;
void pla_marker_match_clear(PlaMarkerMatch *self);

/* Labels @take and repairs it in place.  @rest: the body's shape at rest (n_verts x 3).
 * PLA_ERR_USAGE with a sentence that names marker and frame where the take cannot be used. */
PlaStatus pla_markers_match(const PlaMarkerSet *set, const double *rest, PlaTake *take,
                            const PlaMarkerMatchOptions *opts, PlaMarkerMatch *out, PlaError *err);

/* The assignment of least sum for an n x n table of costs (Jonker and Volgenant 1987): column of
 * each row. */
PlaStatus pla_assign(int n, const double *cost, int *column, PlaError *err);

/* The zero surface of samples on a grid: marching cubes that never leaves a hole.
 *
 * Ambiguous cell faces always separate the negative corners, from either side, so the surface is
 * a closed 2-manifold wherever it does not meet the border of the grid.  Vertices keep a small
 * distance from the samples so that no two coincide. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  int n_verts, n_tris;
  double *pos;    /* index coordinates (n_verts x 3) */
  int *tri;       /* vertex ids, counter-clockwise seen from the positive side in a right-handed
                     index space (n_tris x 3) */
  int *slice_tri; /* triangles of cells between samples k - 1 and k start here
                     (dims[2] + 2 entries); the first slice of cells is below the grid */
} PlaContour;

/* With @close, everything outside the grid counts as positive, and the surface is closed by flat
 * caps exactly half a voxel outside the last samples.  Never fails for want of a surface: then
 * n_tris is 0. */
PlaStatus pla_contour_extract(const int dims[3], const float *values, bool close, PlaContour *out,
                              PlaError *err);
void pla_contour_clear(PlaContour *self);

/* The outer faces of a solid mesh: those that belong to one cell alone. */
#pragma once

#include "anatomy/mesh/mesh.h"

typedef struct {
  int n_tris;
  int *tri;      /* vertex ids, counter-clockwise seen from outside (n_tris x 3) */
  int *cell;     /* the cell behind each: tets, then hexes (n_tris) */
  double *share; /* 1, or 1/2 for the triangles of a quad that stands there along both of its
                    diagonals (n_tris) */
} PlaBoundary;

/* Quads of hexes become two triangles, cut at their smallest vertex id; with @both_diagonals four
 * of half a share, so that sums over them know no direction. */
PlaStatus pla_boundary_init(PlaBoundary *self, const PlaTetMesh *tets, const PlaHexMesh *hexes,
                            bool both_diagonals, PlaError *err);
void pla_boundary_clear(PlaBoundary *self);

/* Structured meshes of a box: for bars, slabs, benchmarks and tests. */
#pragma once

#include "anatomy/mesh/mesh.h"

typedef enum {
  PLA_BOX_HEXES = 0,
  PLA_BOX_TETS_6, /* six a cell around its main diagonal, the same in every cell */
  PLA_BOX_TETS_5, /* five a cell, mirrored from cell to cell so that faces match */
} PlaBoxCells;

/* The box [lo, hi] (m) cut into n[0] x n[1] x n[2] cells; vertex (i, j, k) has the index
 * i + (n[0] + 1) (j + (n[1] + 1) k). */
PlaStatus pla_box_mesh_new(const double lo[3], const double hi[3], const int n[3],
                           PlaBoxCells cells, PlaMesh **out, PlaError *err);

/* The inside of a finite-element model, for the solvers of this folder and their tests. */
#pragma once

#include "sim/fem/model.h"

#include <stddef.h>

/* Elements around each vertex, in stored order: gathers are free of races and of thread counts. */
typedef struct {
  int n_verts;
  int *start;  /* n_verts + 1 */
  int *corner; /* corner index: PLA per-element corners of tets first, then of hexes */
} PlaIncidence;

struct PlaFemModel {
  int n_verts, n_tets, n_hexes;
  double *rest;         /* m (n_verts x 3) */
  double *mass;         /* kg (n_verts) */
  int *tet;             /* vertex ids (n_tets x 4) */
  double *tet_dm_inv;   /* inverse edge matrix, 1/m (9 x n_tets: row c holds entry c of every tet) */
  double *tet_volume;   /* m^3 (n_tets) */
  int *hex;             /* vertex ids (n_hexes x 8) */
  double *hex_grad;     /* shape gradients at the 8 points, 1/m (n_hexes x 8 points x 8 nodes x 3) */
  double *hex_weight;   /* volume of each point, m^3 (n_hexes x 8) */
  int *cell_material;   /* into material[] (n_tets + n_hexes) */
  int n_materials;
  PlaFemMaterial *material;
  PlaFormulation formulation;
  PlaIncidence incidence; /* corners: 4 t + a of tet t, then 4 n_tets + 8 h + a of hex h */
  int n_colours;          /* elements of one colour share no vertex */
  int *colour_start;      /* n_colours + 1 */
  int *colour_cell;       /* cells (tets, then hexes) by colour */
};

/* Number of vertices of cell @c, and its vertex ids. */
static inline int
pla_fem_cell_verts(const PlaFemModel *model, int c, const int **verts)
{
  if (c < model->n_tets) {
    *verts = model->tet + 4 * (size_t)c;
    return 4;
  }
  *verts = model->hex + 8 * (size_t)(c - model->n_tets);
  return 8;
}

/* F of tet @t at positions @pos. */
void pla_fem_tet_gradient(const PlaFemModel *model, int t, const double *pos, double f[9]);
/* Gradients of the four shape functions of tet @t, 1/m. */
void pla_fem_tet_shape(const PlaFemModel *model, int t, double grad[4][3]);

/* The stiffness of one cell at @pos: k x k blocks of 3x3 in a dense (3k x 3k) row-major matrix,
 * N/m.  @project: positive semidefinite. */
void pla_fem_cell_stiffness(const PlaFemModel *model, int c, const double *pos, bool project,
                            double *stiffness);

/* Quadratic tets in a hierarchical basis: the linear functions w_i of a model's tets, and on every
 * edge ij the bubble 4 w_i w_j.
 *
 * The tangent of a tet is constant, so four points integrate its products of gradients, which are
 * linear, exactly.  What resists change of volume acts on the mean over the tet instead: with it
 * at every point, quadratic tets lock near a Poisson ratio of 0.5 too. */
#pragma once

#include "sim/fem/model-data.h"

enum {
  PLA_TET_EDGES = 6,
  PLA_TET_BASIS = 4 + PLA_TET_EDGES, /* functions of a tet */
};
extern const int pla_tet_edge[PLA_TET_EDGES][2]; /* its corners */

/* One tet at the shape that is judged. */
typedef struct {
  double volume;     /* of its material, m3 */
  double grad[4][3]; /* of the linear functions, 1/m */
  double shape[81];  /* tangent without the term of volume, Pa */
  double bulk;       /* second derivative of that term in J, Pa */
  double cofactor[9];
  double stress[9]; /* P, Pa */
  double force[3];  /* per volume, N/m3 */
} PlaBubbleTet;

typedef struct {
  const PlaFemModel *model; /* borrowed */
  int n_edges;
  int *edge;          /* vertices of each (n_edges x 2) */
  int *tet_edge;      /* edges of each tet (n_tets x 6) */
  int *start, *entry; /* 6 t + k of the tets at each edge, ascending (n_edges + 1) */
  PlaBubbleTet *tet;  /* n_tets */
  double *local;      /* forces on the functions of each tet, N (n_tets x 30) */
} PlaBubbles;

/* Lists edges and evaluates the tets at @pos.  @project: tangents that are positive semidefinite.
 */
PlaStatus pla_bubbles_init(PlaBubbles *self, const PlaFemModel *model, const double *pos,
                           const double gravity[3], bool project, PlaError *err);
void pla_bubbles_clear(PlaBubbles *self);

/* Forces of the shape itself: of the tets on vertices, -dE/dx, and of tets and gravity on bubbles
 * (n_verts x 3, n_edges x 3; N). */
void pla_bubbles_forces(PlaBubbles *self, double *on_verts, double *on_edges);
/* (@kv, @ke) = K (@v, @e): stiffness times displacements of vertices and bubbles. */
void pla_bubbles_apply(PlaBubbles *self, const double *v, const double *e, double *kv, double *ke);
/* Stiffness of a bubble alone, N/m (n_edges x 9). */
void pla_bubbles_diagonal(const PlaBubbles *self, double *block);
/* Stiffness of the linear functions of tet @t, with a term of volume of at most @most Pa (144). */
void pla_bubbles_linear(const PlaBubbles *self, int t, double most, double *stiffness);
/* Mean gradient of the displacement in tet @t. */
void pla_bubbles_mean_gradient(const PlaBubbles *self, int t, const double *v, const double *e,
                               double grad[9]);

/* The inside of a reduced model, for the files of this folder and their tests. */
#pragma once

#include "sim/fem/model-data.h"
#include "sim/reduced/reduced.h"

struct PlaReducedModel {
  const PlaFemModel *fem; /* borrowed */
  PlaReducedBasis basis;
  int n_lifts;
  double *lift; /* n_lifts x n_verts x 3 */
  int n_points;
  int *tet;
  double *weight;    /* m^3 (n_points) */
  double *grad;      /* h of each point, 1/m (n_points x 3 x n_funcs) */
  double *lift_grad; /* gradient of each lift, row-major, 1/m (n_points x n_lifts x 9) */
  double *mass;      /* phi^T M phi, kg (n_funcs x n_funcs) */
  int n_pressures;
  double *nodal;    /* orthonormal pressure shapes (n_pressures x n_verts) */
  double *pressure; /* at the points (n_pressures x n_points) */
  double volume;    /* of the body at rest, m^3 */
};

/* Room for one evaluation of a model. */
typedef struct {
  double *energy;  /* of each point, J (n_points) */
  double *f;       /* deformation gradients (n_points x 9) */
  PlaPoint *point; /* the same with their parts, once @decomposed (n_points) */
  bool decomposed;
  double *rows;     /* what the gradient sees: 3 n_points x 3 */
  double *weighed;  /* 3 n_points x n_funcs, for each of the six pairs of components */
  double *block;    /* n_funcs x n_funcs, likewise */
  double *amount;   /* change of volume in each pressure shape (n_pressures) */
  double *slopes;   /* its slopes (n_funcs x 3 n_pressures) */
  double *cofactor; /* 3 n_points x 3 n_pressures */
} PlaReducedScratch;
PlaStatus pla_reduced_scratch_init(PlaReducedScratch *self, const PlaReducedModel *model,
                                   PlaError *err);
void pla_reduced_scratch_clear(PlaReducedScratch *self);

/* F at every point, into scratch->f. */
void pla_reduced_gradients(const PlaReducedModel *self, const double *q, const double *lift_coef,
                           PlaReducedScratch *scratch);
/* Elastic energy of the F in @scratch; adds to @slope and @curvature (lower triangle, column-major)
 * where those are not NULL. */
double pla_reduced_add_elastic(const PlaReducedModel *self, PlaReducedScratch *scratch,
                               double *slope, double *curvature);
/* Energy stiffness/2 V0 sum of amount^2 of the pressure shapes, likewise; the curvature is that of
 * the squares alone. */
double pla_reduced_add_pressures(const PlaReducedModel *self, double stiffness,
                                 PlaReducedScratch *scratch, double *slope, double *curvature);

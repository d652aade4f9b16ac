/* Fibre directions of muscles: unit vectors at rest, from the origin towards the insertion.
 *
 * (a) The gradient of the potential that is 0 at the origin, 1 at the insertion and flows through
 *     no other surface: fibres arrive where they should and never leave the muscle.
 * (b) The parameter lines of a B-spline solid (anatomy/muscle/spline-solid.h).
 * (c) Given vectors, averaged as axes (their signs do not matter).
 *
 * Lengths in metres unless said otherwise. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/mesh/tet-locator.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- (a) potentials (laplace.c) ---- */

typedef enum {
  PLA_END_NONE = 0,
  PLA_END_ORIGIN,
  PLA_END_INSERTION,
} PlaMuscleEnd;

typedef struct {
  int n_unknowns;
  int n_cut_off; /* tets with weight in pieces that do not touch both ends */
} PlaPotentialReport;

/* Solves div(weight grad u) = 0 by linear finite elements and a sparse Cholesky factor; u = 0 where
 * @end (n_verts, PlaMuscleEnd) is the origin, 1 where it is the insertion, natural elsewhere.
 * @value (n_verts, may be NULL): used at the ends in place of 0 and 1, for vertices that do not lie
 * quite where the muscle ends.  @weight (n_tets, >= 0; NULL: all 1): the share of each tet that is
 * muscle; tets of weight 0 are left out.  @potential (n_verts): NaN where no piece of muscle joins
 * both ends. PLA_ERR_GEOMETRY when no piece does.  Same bits for any number of threads. */
PlaStatus pla_fibre_potential(const PlaTetMesh *mesh, const double *weight, const uint8_t *end,
                              const double *value, PlaProgress *progress, double *potential,
                              PlaPotentialReport *report, PlaError *err);

/* The potential's gradient, 1/m: constant in each tet (n_tets x 3; 0 where it is not known). */
void pla_fibre_tet_gradient(const PlaTetMesh *mesh, const double *weight, const double *potential,
                            double *gradient);
/* The same recovered at vertices (n_verts x 3) from a quadratic fitted to the values around each:
 * second-order accurate up to the boundary (Zhang and Naga 2005).  Inside the ends, where the
 * potential is constant, the directions around them go on. */
PlaStatus pla_fibre_vert_gradient(const PlaTetMesh *mesh, const double *weight,
                                  const double *potential, double *gradient, PlaError *err);

/* ---- streamlines (streamline.c) ---- */

typedef struct {
  int n_lines, n_points;
  int *start;  /* first point of each line (n_lines + 1) */
  double *pos; /* m (n_points x 3), origin first */
} PlaStreamlines;
void pla_streamlines_clear(PlaStreamlines *self);

/* What streamlines run through: results of the functions above, borrowed. */
typedef struct {
  const PlaTetMesh *mesh;
  const PlaTetLocator *locator; /* of that mesh */
  const double *weight;         /* may be NULL */
  const uint8_t *end;
  const double *potential, *gradient; /* at vertices */
} PlaFibreFlow;

/* Up to @n_lines curves from origin to insertion.  They start in the section where the potential is
 * @level, evenly by its area, so each stands for the same physiological cross-section. */
PlaStatus pla_streamlines_trace(const PlaFibreFlow *flow, double level, int n_lines,
                                PlaStreamlines *out, PlaError *err);

/* ---- (c) given vectors (vectors.c) ---- */

typedef struct PlaFibreSamples PlaFibreSamples;

/* @n places (n x 3, any unit) and directions (n x 3, any length and sign; zero vectors are left
 * out).  Copies.  PLA_ERR_EMPTY when none is left. */
PlaStatus pla_fibre_samples_new(int n, const double *pos, const double *dir, PlaFibreSamples **out,
                                PlaError *err);
void pla_fibre_samples_free(PlaFibreSamples *self); /* NULL is fine */
/* The mean axis around @pos: the main eigenvector of sum w d d^T over the nearest samples, with the
 * sign of the nearest.  @agreement (may be NULL): 1 where all agree, 1/3 where they are random. */
void pla_fibre_samples_at(const PlaFibreSamples *self, const double pos[3], double dir[3],
                          double *agreement);

/* A preconditioner for the tangent of the mixed formulation that costs about as much as a factor of
 * standard elements: multigrid without a coarse mesh.
 *
 * Averages over edges and patches couple second neighbours, so a factor of that tangent has five
 * times the operations of one of standard elements on 12k tets.  For smooth displacements both
 * formulations agree, and the factor of the standard tangent stands in for the other; rough ones,
 * for which averages are softer, are left to a smoother on either side of it. */
#pragma once

#include "sim/solve/system.h"

/* A model of the mixed formulation as standard elements, with a volume modulus that does not lock
 * them; the rest is borrowed. */
typedef struct {
  PlaFemModel model;
  double *constants, *own_constants; /* its own */
} PlaFemPlain;
PlaStatus pla_fem_plain_init(PlaFemPlain *self, const PlaFemModel *model, PlaError *err);
void pla_fem_plain_clear(PlaFemPlain *self);

typedef struct PlaFemNear PlaFemNear;

/* For systems of @model with domains, made with the same conditions (without damping) and links;
 * all are borrowed.  @order is that of the standard elements (NULL: its own). */
PlaStatus pla_fem_near_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const PlaVertSets *links, PlaFemOrder *order, PlaFemNear **out,
                           PlaError *err);
void pla_fem_near_free(PlaFemNear *self); /* NULL is fine */

/* A factor of the standard tangent at @pos, with contacts, springs and @mass_factor as in the
 * mixed one. *definite is false, and there is no factor, when a pivot is not positive. */
PlaStatus pla_fem_near_factor(PlaFemNear *self, const PlaFemConditions *conditions,
                              const double *pos, double mass_factor, PlaProgress *progress,
                              bool *definite, PlaError *err);
bool pla_fem_near_has_factor(const PlaFemNear *self);

/* Takes over the mixed tangent, which is borrowed until the next one: for the smoother. */
void pla_fem_near_set_matrix(PlaFemNear *self, const PlaBlockMatrix *matrix);
/* z = M^-1 r with the current factor and matrix: symmetric, but for the rounding of single
 * precision. */
PlaStatus pla_fem_near_precondition(PlaFemNear *self, const double *r, double *z, PlaError *err);
/* Conjugate gradients on the matrix as in pla_cholesky_refine(). */
PlaStatus pla_fem_near_refine(PlaFemNear *self, const double *b, double rel, int max_iterations,
                              PlaProgress *progress, double *x, PlaRefineReport *report,
                              PlaError *err);

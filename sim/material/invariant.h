/* Scalar functions of F with gradient and Hessian, and their products and compositions: what
 * direction-dependent energies are made of. */
#pragma once

#include "sim/material/stretch.h"

/* @order says how far the members are valid: 0 value, 1 gradient, 2 Hessian */
typedef struct {
  int order;
  double g, d[9], h[81];
} PlaInvariant;

/* r = a b */
void pla_invariant_mul(const PlaInvariant *a, const PlaInvariant *b, PlaInvariant *r);
/* r = a + factor b */
void pla_invariant_add(const PlaInvariant *a, double factor, const PlaInvariant *b,
                       PlaInvariant *r);
/* r = f(x), f with its derivatives at x->g; r may be x */
void pla_invariant_chain(const PlaInvariant *x, PlaCurve f, PlaInvariant *r);

/* I1 = |F|^2 */
void pla_invariant_i1(const PlaPoint *point, int order, PlaInvariant *r);
/* I4 = |F v|^2 and I5 = |F^T F v|^2 of a unit direction at rest */
void pla_invariant_i4(const PlaPoint *point, const double v[3], int order, PlaInvariant *r);
void pla_invariant_i5(const PlaPoint *point, const double v[3], int order, PlaInvariant *r);
/* J^a, continued stretch by stretch below the floor */
void pla_invariant_det_power(const PlaPoint *point, double a, int order, PlaInvariant *r);

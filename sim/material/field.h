/* Scalar functions of F with gradient and Hessian, and their products and compositions: what
 * direction-dependent energies are made of. */
#pragma once

#include "sim/material/stretch.h"

/* @order says how far the members are valid: 0 value, 1 gradient, 2 Hessian */
typedef struct {
  int order;
  double g, d[9], h[81];
} PlaField;

/* r = a b */
void pla_field_mul(const PlaField *a, const PlaField *b, PlaField *r);
/* r = a + factor b */
void pla_field_add(const PlaField *a, double factor, const PlaField *b, PlaField *r);
/* r = f(x), f with its derivatives at x->g; r may be x */
void pla_field_chain(const PlaField *x, PlaCurve f, PlaField *r);

/* I1 = |F|^2 */
void pla_field_i1(const PlaPoint *point, int order, PlaField *r);
/* I4 = |F v|^2 and I5 = |F^T F v|^2 of a unit direction at rest */
void pla_field_i4(const PlaPoint *point, const double v[3], int order, PlaField *r);
void pla_field_i5(const PlaPoint *point, const double v[3], int order, PlaField *r);
/* J^a, continued stretch by stretch below the floor */
void pla_field_det_power(const PlaPoint *point, double a, int order, PlaField *r);

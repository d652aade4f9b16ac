/* Convex quadratic programs in a box: min 1/2 x^T H x + g^T x, lo <= x <= hi, H positive definite.
 */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>

typedef struct {
  int iterations; /* subspaces that were solved */
  int n_active;   /* bounds that hold at the end */
  double value;   /* of the objective */
} PlaBoxReport;

/* The exact minimum by a primal active set: along each subspace to its minimum or to the first
 * bound on the way; bounds that push the wrong way are let go one by one.  @h: n x n, symmetric;
 * bounds may be infinite; @x: a start, clamped into the box, and the answer.  PLA_ERR_GEOMETRY when
 * H is not positive definite. */
PlaStatus pla_box_qp(int n, const double *h, const double *g, const double *lo, const double *hi,
                     double *x, PlaBoxReport *report, PlaError *err);

/* The same to small tolerance by the penalty continuation of Sifakis, Neverov and Fedkiw 2005:
 * Newton steps on the objective + rho sum min(0, x - lo, hi - x)^2 while rho grows by 1.05 each,
 * from @rho up to @rho_end.  Independent of the above, and its check. */
PlaStatus pla_box_penalty(int n, const double *h, const double *g, const double *lo,
                          const double *hi, double rho, double rho_end, double *x,
                          PlaBoxReport *report, PlaError *err);

/* Solves H x = b for the rows with keep[i]; others of @x stay.  False when H is not definite there.
 */
bool pla_box_solve(int n, const double *h, const unsigned char *keep, const double *b, double *x,
                   double *scratch);

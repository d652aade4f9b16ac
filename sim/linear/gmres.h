/* Linear systems that are not symmetric, by GMRES (Saad and Schultz 1986) with a preconditioner on
 * the right: the few directions in which a good preconditioner errs cost one iteration each. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLA_GMRES_MAX = 40 };

typedef struct {
  size_t n;
  void *data;
  /* y = A x */
  PlaStatus (*apply)(void *data, const double *x, double *y, PlaError *err);
  /* y = M^-1 x, the same linear map at each call; x and y differ */
  PlaStatus (*precondition)(void *data, const double *x, double *y, PlaError *err);
} PlaGmres;

/* Improves @x until |A x - b| <= rel |b|, or for PLA_GMRES_MAX iterations; *reached is the |A x -
 * b| / |b| at the end, *iterations their number (either may be NULL). */
PlaStatus pla_gmres_solve(const PlaGmres *self, const double *b, double rel, double *x,
                          double *reached, int *iterations, PlaError *err);

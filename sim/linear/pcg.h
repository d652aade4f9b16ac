/* Preconditioned conjugate gradients on block matrices and other symmetric operators. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "sim/linear/block-matrix.h"

#include <stdbool.h>

typedef struct {
  int iterations;
  double residual_rel;
  bool converged;
  bool negative_curvature;
} PlaRefineReport;

/* z = M^-1 r, about. */
typedef PlaStatus (*PlaPrecondition)(void *data, const double *r, double *z, PlaError *err);

/* A symmetric positive definite operator that is not stored as a matrix. */
typedef struct {
  size_t n; /* unknowns */
  void *data;
  /* y = A x */
  PlaStatus (*apply)(void *data, const double *x, double *y, PlaError *err);
  PlaPrecondition precondition;
} PlaPcg;

/* Solves A x = b to |b - A x| <= rel |b|.  The preconditioner may vary a little from call to call
 * (flexible update of Polak and Ribiere).  Stops where the curvature is not positive; *x is then
 * the last iterate, or M^-1 b at once.  Not converging is a result. */
PlaStatus pla_pcg_solve(const PlaPcg *self, const double *b, double rel, int max_iterations,
                        PlaProgress *progress, double *x, PlaRefineReport *report, PlaError *err);
/* The same for a stored matrix; @data goes to the preconditioner. */
PlaStatus pla_pcg(const PlaBlockMatrix *a, PlaPrecondition precondition, void *data,
                  const double *b, double rel, int max_iterations, PlaProgress *progress, double *x,
                  PlaRefineReport *report, PlaError *err);

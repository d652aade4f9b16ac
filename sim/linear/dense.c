/* Dense Cholesky factor and solve by LAPACK and BLAS, and non-negative least squares
 * min |A x - b|^2, x >= 0 by an active set (C. Lawson and R. Hanson, Solving Least Squares
 * Problems, 1974) on the normal equations. Deviation: the column that enters is the one that
 * reduces the residual most, not the one with the largest gradient. */
#include "sim/linear/dense.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* LAPACK, from the same library as BLAS */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

bool
pla_dense_factor(int n, double *a)
{
  int info;
  pla_blas_single_thread();
  dpotrf_("L", &n, a, &n, &info);
  return info == 0;
}

void
pla_dense_solve(int n, const double *l, int n_rhs, double *b)
{
  pla_blas_single_thread();
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, n_rhs, 1.0, l, n,
              b, n);
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, n, n_rhs, 1.0, l, n,
              b, n);
}

/* the unconstrained minimum over the columns in use; false when they are dependent */
static bool
solve_used(int n, const double *gram, const double *rhs, int n_used, const int *used,
           double *factor, double *z)
{
  for (int i = 0; i < n_used; i++) {
    for (int j = 0; j < n_used; j++)
      factor[i + j * n_used] = gram[(size_t)used[i] * (size_t)n + (size_t)used[j]];
    z[i] = rhs[used[i]];
  }
  if (!pla_dense_factor(n_used, factor))
    return false;
  pla_dense_solve(n_used, factor, 1, z);
  return true;
}

/* steps towards @z as far as nothing turns negative, and takes out what became zero; whether @z was
 * reached */
static bool
step_towards(double *x, const double *z, int *n_used, int *used)
{
  double t = 1.0;
  for (int i = 0; i < *n_used; i++)
    if (z[i] <= 0.0)
      t = fmin(t, x[used[i]] / (x[used[i]] - z[i]));
  for (int i = 0; i < *n_used; i++)
    x[used[i]] += t * (z[i] - x[used[i]]);
  if (t >= 1.0)
    return true;
  int kept = 0;
  for (int i = 0; i < *n_used; i++) {
    if (z[i] <= 0.0 && x[used[i]] <= 1e-14)
      x[used[i]] = 0.0;
    else
      used[kept++] = used[i];
  }
  *n_used = kept;
  return false;
}

int
pla_nnls(int n, const double *gram, const double *rhs, double size2, double rel, int most,
         double *x, double *rel_reached)
{
  if (most > n)
    most = n;
  int *used = pla_array_new((size_t)most + 1, sizeof *used), n_used = 0;
  unsigned char *barred = pla_array_new0((size_t)n, 1);
  double *factor = pla_array_new((size_t)most + 1, ((size_t)most + 1) * sizeof *factor);
  double *z = pla_array_new((size_t)most + 1, sizeof *z);
  double *slope = pla_array_new((size_t)n, sizeof *slope);
  if (!used || !barred || !factor || !z || !slope)
    n_used = -1;
  memset(x, 0, (size_t)n * sizeof *x);
  double left = size2;
  for (int round = 0; n_used >= 0 && round < 4 * most && n_used < most; round++) {
    /* slope = rhs - gram x, and how much of the residual's square one column can take away */
    int best = -1;
    double gain = 1e-14 * size2;
    memcpy(slope, rhs, (size_t)n * sizeof *slope);
    for (int i = 0; i < n_used; i++)
      cblas_daxpy(n, -x[used[i]], gram + (size_t)used[i] * (size_t)n, 1, slope, 1);
    for (int j = 0; j < n; j++) {
      const double own = gram[(size_t)j * (size_t)n + (size_t)j];
      if (x[j] == 0.0 && !barred[j] && slope[j] > 0.0 && own > 0.0 &&
          slope[j] * slope[j] / own > gain) {
        gain = slope[j] * slope[j] / own;
        best = j;
      }
    }
    if (best < 0)
      break;
    used[n_used++] = best;
    if (!solve_used(n, gram, rhs, n_used, used, factor, z) || z[n_used - 1] <= 0.0) {
      barred[best] = 1; /* follows from the others */
      n_used--;
      continue;
    }
    while (n_used > 0 && !step_towards(x, z, &n_used, used) &&
           solve_used(n, gram, rhs, n_used, used, factor, z))
      ;
    left = size2;
    for (int i = 0; i < n_used; i++) { /* at the minimum: size2 - rhs^T x */
      left -= rhs[used[i]] * x[used[i]];
    }
    if (left <= rel * rel * size2)
      break;
  }
  if (rel_reached)
    *rel_reached = size2 > 0.0 ? sqrt(fmax(left, 0.0) / size2) : 0.0;
  free(used);
  free(barred);
  free(factor);
  free(z);
  free(slope);
  return n_used;
}

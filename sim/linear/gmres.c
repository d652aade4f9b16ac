/* GMRES: x + M^-1 V y, where the columns of V span the Krylov space of A M^-1 and y makes the
 * residual least.  Gram-Schmidt in the modified form, rotations of Givens keep the residual at
 * hand. */
#include "sim/linear/gmres.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  double *basis;                              /* (PLA_GMRES_MAX + 1) x n */
  double *z, *w;                              /* n */
  double h[PLA_GMRES_MAX][PLA_GMRES_MAX + 1]; /* columns, triangular after the rotations */
  double cosine[PLA_GMRES_MAX], sine[PLA_GMRES_MAX];
  double g[PLA_GMRES_MAX + 1]; /* right side, rotated alike */
} Krylov;

/* the next column from w = A M^-1 v_k; what is left of w becomes v_(k + 1) */
static void
add_column(Krylov *self, size_t n, int k)
{
  double *next = self->basis + (size_t)(k + 1) * n, *h = self->h[k];
  memcpy(next, self->w, n * sizeof *next);
  for (int i = 0; i <= k; i++) {
    const double *v = self->basis + (size_t)i * n;
    h[i] = pla_dot(next, v, n);
    for (size_t j = 0; j < n; j++)
      next[j] -= h[i] * v[j];
  }
  h[k + 1] = pla_norm2(next, n);
  for (size_t j = 0; h[k + 1] > 0.0 && j < n; j++)
    next[j] /= h[k + 1];
  for (int i = 0; i < k; i++) {
    double a = h[i], b = h[i + 1];
    h[i] = self->cosine[i] * a + self->sine[i] * b;
    h[i + 1] = self->cosine[i] * b - self->sine[i] * a;
  }
  double length = hypot(h[k], h[k + 1]);
  self->cosine[k] = length > 0.0 ? h[k] / length : 1.0;
  self->sine[k] = length > 0.0 ? h[k + 1] / length : 0.0;
  h[k] = length;
  self->g[k + 1] = -self->sine[k] * self->g[k];
  self->g[k] *= self->cosine[k];
}

/* x += M^-1 V y */
static PlaStatus
add_solution(const PlaGmres *gmres, Krylov *self, int k, double *x, PlaError *err)
{
  double y[PLA_GMRES_MAX];
  for (int i = k - 1; i >= 0; i--) {
    y[i] = self->g[i];
    for (int j = i + 1; j < k; j++)
      y[i] -= self->h[j][i] * y[j];
    y[i] = self->h[i][i] > 0.0 ? y[i] / self->h[i][i] : 0.0;
  }
  memset(self->w, 0, gmres->n * sizeof *self->w);
  for (int i = 0; i < k; i++)
    for (size_t j = 0; j < gmres->n; j++)
      self->w[j] += y[i] * self->basis[(size_t)i * gmres->n + j];
  PlaStatus st = gmres->precondition(gmres->data, self->w, self->z, err);
  for (size_t j = 0; st == PLA_OK && j < gmres->n; j++)
    x[j] += self->z[j];
  return st;
}

PlaStatus
pla_gmres_solve(const PlaGmres *gmres, const double *b, double rel, double *x, double *reached,
                int *iterations, PlaError *err)
{
  const size_t n = gmres->n;
  const double size = pla_norm2(b, n);
  Krylov *self = pla_array_new(1, sizeof *self);
  int k = 0;
  if (!self)
    return pla_fail_memory(err, "the linear solver");
  self->basis = pla_array_new((PLA_GMRES_MAX + 1) * n, sizeof *self->basis);
  self->z = pla_array_new(n, sizeof *self->z);
  self->w = pla_array_new(n, sizeof *self->w);
  PlaStatus st = self->basis && self->z && self->w ? gmres->apply(gmres->data, x, self->w, err)
                                                   : pla_fail_memory(err, "the linear solver");
  if (st == PLA_OK) {
    for (size_t j = 0; j < n; j++)
      self->basis[j] = b[j] - self->w[j];
    self->g[0] = pla_norm2(self->basis, n);
    for (size_t j = 0; self->g[0] > 0.0 && j < n; j++)
      self->basis[j] /= self->g[0];
    while (st == PLA_OK && k < PLA_GMRES_MAX && fabs(self->g[k]) > rel * size) {
      st = gmres->precondition(gmres->data, self->basis + (size_t)k * n, self->z, err);
      if (st == PLA_OK)
        st = gmres->apply(gmres->data, self->z, self->w, err);
      if (st == PLA_OK)
        add_column(self, n, k++);
    }
    if (st == PLA_OK && k > 0)
      st = add_solution(gmres, self, k, x, err);
    if (reached)
      *reached = size > 0.0 ? fabs(self->g[k]) / size : 0.0;
    if (iterations)
      *iterations = k;
  }
  free(self->basis);
  free(self->z);
  free(self->w);
  free(self);
  return st;
}

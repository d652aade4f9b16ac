/* Block-banded quadratic programs.
 *
 * Primal-dual active set (Hintermueller, Ito and Kunisch 2003): unknowns beyond a bound are put on
 * it, those on a bound whose multiplier has the wrong sign are let go, until nothing changes. */
#include "sim/fit/fit-smooth.h"

#include "anatomy/base/memory.h"

#include <lapack.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 60 };

typedef struct {
  const PlaSmoothProblem *p;
  int size, band;
  double *matrix;    /* LAPACK's lower band (band + 1 x size) */
  double *right;     /* size */
  signed char *side; /* -1, 1: on the lower, upper bound (size) */
} Banded;

static double *
entry(const Banded *self, int row, int col)
{
  return self->matrix + (size_t)col * ((size_t)self->band + 1) + (size_t)(row - col);
}

/* the whole matrix and right side, free of bounds */
static void
assemble(Banded *self, const double *c)
{
  static const double second[3] = { 1.0, -2.0, 1.0 };
  const PlaSmoothProblem *p = self->p;
  const size_t n = (size_t)p->n;
  memset(self->matrix, 0, ((size_t)self->band + 1) * (size_t)self->size * sizeof *self->matrix);
  for (int t = 0; t < p->n_frames; t++) {
    const double *h = p->h + (size_t)t * n * n, *at = c + (size_t)t * n;
    for (int i = 0; i < p->n; i++) {
      double sum = p->g[(size_t)t * n + (size_t)i];
      for (int j = 0; j < p->n; j++) {
        sum += h[(size_t)i * n + (size_t)j] * at[j];
        if (j <= i)
          *entry(self, t * p->n + i, t * p->n + j) += h[(size_t)i * n + (size_t)j];
      }
      *entry(self, t * p->n + i, t * p->n + i) += p->prior[i];
      self->right[(size_t)t * n + (size_t)i] = sum;
    }
  }
  for (int t = 1; t + 1 < p->n_frames; t++)
    for (int i = 0; i < p->n; i++)
      for (int a = 0; a < 3; a++)
        for (int b = 0; b <= a; b++)
          *entry(self, (t - 1 + a) * p->n + i, (t - 1 + b) * p->n + i) +=
              p->bend[i] * second[a] * second[b];
}

/* H x - right, from the band as assembled */
static void
multipliers(const Banded *self, const double *x, double *out)
{
  for (int i = 0; i < self->size; i++)
    out[i] = -self->right[i];
  for (int j = 0; j < self->size; j++)
    for (int i = j; i <= j + self->band && i < self->size; i++) {
      const double a = *entry(self, i, j);
      out[i] += a * x[j];
      if (i != j)
        out[j] += a * x[i];
    }
}

/* rows and columns on bounds become those of the identity */
static void
fix(Banded *self, const double *lo, const double *hi)
{
  const int n = self->p->n;
  for (int j = 0; j < self->size; j++) {
    const double xj = self->side[j] < 0 ? lo[j % n] : hi[j % n];
    for (int i = j; i <= j + self->band && i < self->size; i++) {
      if (!self->side[i] && !self->side[j])
        continue;
      double *a = entry(self, i, j);
      if (i == j)
        continue;
      if (self->side[j] && !self->side[i])
        self->right[i] -= *a * xj;
      if (self->side[i] && !self->side[j])
        self->right[j] -= *a * (self->side[i] < 0 ? lo[i % n] : hi[i % n]);
      *a = 0.0;
    }
  }
  for (int j = 0; j < self->size; j++)
    if (self->side[j]) {
      *entry(self, j, j) = 1.0;
      self->right[j] = self->side[j] < 0 ? lo[j % n] : hi[j % n];
    }
}

PlaStatus
pla_fit_smooth(const PlaSmoothProblem *problem, double *x, int *rounds, PlaError *err)
{
  const size_t size = (size_t)problem->n_frames * (size_t)problem->n;
  const int n = problem->n;
  Banded self = { .p = problem, .size = (int)size, .band = 2 * n };
  self.matrix = pla_array_new((2 * (size_t)n + 1) * size, sizeof *self.matrix);
  self.right = pla_array_new(size, sizeof *self.right);
  self.side = pla_array_new0(size, 1);
  double *point = pla_array_dup(x, size, sizeof *point);
  double *push = pla_array_new(size, sizeof *push);
  PlaStatus st = self.matrix && self.right && self.side && point && push
                     ? PLA_OK
                     : pla_fail_memory(err, "smoothing the take");
  int k = 0;
  for (bool changed = true; st == PLA_OK && changed && k < MAX_ROUNDS; k++) {
    int one = 1, info = 0, kd = self.band, ld = self.band + 1, total = self.size;
    changed = false;
    assemble(&self, point);
    fix(&self, problem->lo, problem->hi);
    LAPACK_dpbsv("L", &total, &kd, &one, self.matrix, &ld, self.right, &total, &info);
    if (info != 0) {
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "neither markers nor regularisation determine some direction of the take");
      break;
    }
    memcpy(x, self.right, size * sizeof *x);
    assemble(&self, point);
    multipliers(&self, x, push);
    for (size_t i = 0; i < size; i++) {
      const double lo = problem->lo[i % (size_t)n], hi = problem->hi[i % (size_t)n];
      const double grain = 1e-10 * (hi - lo);
      signed char side = self.side[i];
      if (side == 0)
        side = x[i] < lo - grain ? -1 : x[i] > hi + grain ? 1 : 0;
      else if (side < 0 ? push[i] < 0.0 : push[i] > 0.0)
        side = 0;
      changed |= side != self.side[i];
      self.side[i] = side;
    }
  }
  for (size_t i = 0; st == PLA_OK && i < size; i++)
    x[i] = fmin(fmax(x[i], problem->lo[i % (size_t)n]), problem->hi[i % (size_t)n]);
  if (rounds)
    *rounds = k;
  free(self.matrix);
  free(self.right);
  free(self.side);
  free(point);
  free(push);
  return st;
}

double
pla_fit_smooth_gain(double deviation, double bend)
{
  if (!(bend > 0.0) || !isfinite(bend))
    return 1.0;
  /* 1/pi integral over 0..pi of 1 / (1 + lambda (2 - 2 cos w)^2) dw: by the midpoint rule, periodic
   * and smooth */
  const double ratio = deviation / bend, lambda = ratio * ratio;
  enum { POINTS = 4096 };
  double sum = 0.0;
  for (int k = 0; k < POINTS; k++) {
    const double w = M_PI * (k + 0.5) / POINTS, s = 2.0 - 2.0 * cos(w);
    sum += 1.0 / (1.0 + lambda * s * s);
  }
  return sqrt(sum / POINTS);
}

/* Small dense quadratic programs with bounds. */
#include "sim/fit/box-qp.h"

#include "anatomy/base/memory.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* @scratch: n x n + n */
bool
pla_box_solve(int n, const double *h, const unsigned char *keep, const double *b, double *x,
              double *scratch)
{
  double *a = scratch, *y = scratch + (size_t)n * (size_t)n;
  int m = 0, one = 1, info = 0;
  for (int i = 0; i < n; i++)
    m += keep[i];
  if (m == 0)
    return true;
  for (int j = 0, c = 0; j < n; j++) {
    if (!keep[j])
      continue;
    for (int i = 0, r = 0; i < n; i++)
      if (keep[i])
        a[(size_t)c * (size_t)m + (size_t)r++] = h[(size_t)j * (size_t)n + (size_t)i];
    y[c++] = b[j];
  }
  LAPACK_dposv("L", &m, &one, a, &m, y, &m, &info);
  for (int i = 0, r = 0; info == 0 && i < n; i++)
    if (keep[i])
      x[i] = y[r++];
  return info == 0;
}

/* H x + g; the objective */
static double
gradient(int n, const double *h, const double *g, const double *x, double *out)
{
  double value = 0.0;
  for (int i = 0; i < n; i++) {
    double sum = 0.0;
    for (int j = 0; j < n; j++)
      sum += h[(size_t)i * (size_t)n + (size_t)j] * x[j];
    out[i] = sum + g[i];
    value += x[i] * (0.5 * sum + g[i]);
  }
  return value;
}

static PlaStatus
not_definite(PlaError *err)
{
  return pla_fail(err, PLA_ERR_GEOMETRY,
                  "neither markers nor regularisation determine some direction of the fit");
}

PlaStatus
pla_box_qp(int n, const double *h, const double *g, const double *lo, const double *hi, double *x,
           PlaBoxReport *report, PlaError *err)
{
  const size_t m = (size_t)n;
  double *q = pla_array_new(m * m + 4 * m, sizeof *q);
  unsigned char *is_free = pla_array_new(m, 1);
  if (!q || !is_free) {
    free(q);
    free(is_free);
    return pla_fail_memory(err, "the fit");
  }
  double *d = q + m, *b = d + m, *scratch = b + m;
  PlaStatus st = PLA_OK;
  *report = (PlaBoxReport){ 0 };
  for (int i = 0; i < n; i++) {
    x[i] = fmin(fmax(x[i], lo[i]), hi[i]);
    is_free[i] = 1;
  }
  for (int limit = 20 * n + 100; limit > 0; limit--) {
    report->value = gradient(n, h, g, x, q);
    for (int i = 0; i < n; i++) {
      b[i] = -q[i];
      d[i] = 0.0;
    }
    if (!pla_box_solve(n, h, is_free, b, d, scratch)) {
      st = not_definite(err);
      break;
    }
    report->iterations++;
    /* as far as the first bound */
    double length = 1.0;
    int block = -1;
    for (int i = 0; i < n; i++) {
      if (!is_free[i] || d[i] == 0.0)
        continue;
      const double room = (d[i] > 0.0 ? hi[i] - x[i] : lo[i] - x[i]) / d[i];
      if (room < length) {
        length = fmax(0.0, room);
        block = i;
      }
    }
    for (int i = 0; i < n; i++)
      if (is_free[i])
        x[i] += length * d[i];
    if (block >= 0) {
      x[block] = d[block] > 0.0 ? hi[block] : lo[block];
      is_free[block] = 0;
      continue;
    }
    /* the bound that pushes the wrong way most */
    report->value = gradient(n, h, g, x, q);
    double worst = 0.0;
    int release = -1;
    for (int i = 0; i < n; i++) {
      const double pull = x[i] <= lo[i] ? -q[i] : q[i];
      const double grain = 1e-12 * (fabs(g[i]) + fabs(q[i] - g[i]));
      if (!is_free[i] && lo[i] < hi[i] && pull > worst + grain) {
        worst = pull;
        release = i;
      }
    }
    if (release < 0)
      break;
    is_free[release] = 1;
  }
  for (int i = 0; i < n; i++)
    report->n_active += !is_free[i];
  free(q);
  free(is_free);
  return st;
}

PlaStatus
pla_box_penalty(int n, const double *h, const double *g, const double *lo, const double *hi,
                double rho, double rho_end, double *x, PlaBoxReport *report, PlaError *err)
{
  const size_t m = (size_t)n;
  double *q = pla_array_new(2 * m * m + 4 * m, sizeof *q);
  unsigned char *all = pla_array_new(m, 1);
  if (!q || !all) {
    free(q);
    free(all);
    return pla_fail_memory(err, "the fit");
  }
  double *d = q + m, *b = d + m, *with = b + m, *scratch = with + m * m;
  PlaStatus st = PLA_OK;
  memset(all, 1, m);
  *report = (PlaBoxReport){ 0 };
  for (; rho < rho_end && st == PLA_OK; rho *= 1.05) {
    gradient(n, h, g, x, q);
    memcpy(with, h, m * m * sizeof *with);
    for (size_t i = 0; i < m; i++) {
      const double below = fmin(0.0, x[i] - lo[i]), above = fmin(0.0, hi[i] - x[i]);
      b[i] = -q[i] - 2.0 * rho * (below - above);
      with[i * m + i] += below < 0.0 || above < 0.0 ? 2.0 * rho : 0.0;
    }
    if (!pla_box_solve(n, with, all, b, d, scratch))
      st = not_definite(err);
    for (int i = 0; st == PLA_OK && i < n; i++)
      x[i] += d[i];
    report->iterations++;
  }
  report->value = gradient(n, h, g, x, q);
  free(q);
  free(all);
  return st;
}

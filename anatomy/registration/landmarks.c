/* Rigid registration of paired points: the rotation that is nearest to the covariance of both sets
 * (Arun, Huang and Blostein 1987); with outliers, the three-point fit with the smallest median
 * residual, then least squares over what agrees with it. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "anatomy/registration/registration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* points count as collinear when their spread across the line is less than this share of that
 * along it */
#define LINE_SHARE 1e-3
enum { TRIALS = 4000 };

/* least squares over the points with @use; false when they are collinear or too few */
static bool
fit(int n, const double *moving, const double *fixed, const uint8_t *use, PlaRigid *out)
{
  double a[3] = { 0 }, b[3] = { 0 }, cov[9] = { 0 }, spread[9] = { 0 };
  int count = 0;
  for (int i = 0; i < n; i++) {
    if (use && !use[i])
      continue;
    for (int d = 0; d < 3; d++) {
      a[d] += moving[3 * i + d];
      b[d] += fixed[3 * i + d];
    }
    count++;
  }
  if (count < 3)
    return false;
  for (int d = 0; d < 3; d++) {
    a[d] /= count;
    b[d] /= count;
  }
  for (int i = 0; i < n; i++) {
    if (use && !use[i])
      continue;
    double p[3], q[3];
    pla_vec3_sub(moving + 3 * i, a, p);
    pla_vec3_sub(fixed + 3 * i, b, q);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++) {
        cov[3 * r + c] += q[r] * p[c];
        spread[3 * r + c] += p[r] * p[c] + q[r] * q[c];
      }
  }
  double w[3], axes[9], u[9], s[3], v[9];
  pla_eig3(spread, w, axes);
  if (!(w[2] > 0.0) || !(w[1] > LINE_SHARE * LINE_SHARE * w[2]))
    return false;
  pla_svd3(cov, u, s, v);
  pla_mat3_mul_nt(u, v, out->r);
  double turned[3];
  pla_mat3_apply(out->r, a, turned);
  pla_vec3_sub(b, turned, out->t_mm);
  return true;
}

static double
residual_of(const PlaRigid *t, const double *moving, const double *fixed)
{
  double x[3];
  pla_rigid_apply(t, moving, x);
  pla_vec3_sub(x, fixed, x);
  return pla_vec3_norm(x);
}

static int
compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* numbers below @n from a fixed sequence: the same for the same input */
static int
draw(uint64_t *state, int n)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int)((*state >> 33) % (uint64_t)n);
}

/* marks the points that agree with the best three-point fit; false when no three span a plane */
static bool
find_inliers(int n, const double *moving, const double *fixed, double *scratch, uint8_t *use)
{
  uint64_t state = 20070601;
  double best = INFINITY;
  PlaRigid chosen = pla_rigid_identity();
  const long all = (long)n * (n - 1) * (n - 2) / 6;
  long at = 0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      for (int k = j + 1; k < n; k++, at++) {
        /* every triple, or as many random ones where there are too many */
        int pick[3] = { i, j, k };
        if (all > TRIALS) {
          if (at >= TRIALS)
            goto done;
          pick[0] = draw(&state, n);
          pick[1] = draw(&state, n);
          pick[2] = draw(&state, n);
          if (pick[0] == pick[1] || pick[1] == pick[2] || pick[0] == pick[2])
            continue;
        }
        double p[9], q[9];
        for (int c = 0; c < 3; c++) {
          memcpy(p + 3 * c, moving + 3 * pick[c], 3 * sizeof *p);
          memcpy(q + 3 * c, fixed + 3 * pick[c], 3 * sizeof *q);
        }
        PlaRigid trial;
        if (!fit(3, p, q, NULL, &trial))
          continue;
        for (int m = 0; m < n; m++)
          scratch[m] = residual_of(&trial, moving + 3 * m, fixed + 3 * m);
        qsort(scratch, (size_t)n, sizeof *scratch, compare_doubles);
        if (scratch[n / 2] < best) {
          best = scratch[n / 2];
          chosen = trial;
        }
      }
done:
  if (!isfinite(best))
    return false;
  /* 1.4826 medians are one deviation of normal errors (Rousseeuw and Leroy 1987) */
  const double limit = 2.5 * 1.4826 * best * (1.0 + 5.0 / fmax(n - 3, 1)) + 1e-6;
  for (int i = 0; i < n; i++)
    use[i] = residual_of(&chosen, moving + 3 * i, fixed + 3 * i) <= limit;
  return true;
}

PlaStatus
pla_register_landmarks(int n, const double *moving, const double *fixed, bool robust, PlaRigid *out,
                       double *residual_mm, PlaLandmarkReport *report, PlaError *err)
{
  if (n < 3)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "Three landmarks or more are needed to align two frames; there %s %d.",
                    n == 1 ? "is" : "are", n);
  for (int i = 0; i < 3 * n; i++)
    if (!isfinite(moving[i]) || !isfinite(fixed[i]))
      return pla_fail(err, PLA_ERR_GEOMETRY, "Landmark %d has no position.", i / 3 + 1);
  uint8_t *use = pla_array_new((size_t)n, 1);
  double *scratch = pla_array_new((size_t)n, sizeof *scratch);
  PlaStatus st = use && scratch ? PLA_OK : pla_fail_memory(err, "landmarks");
  if (st == PLA_OK) {
    memset(use, 1, (size_t)n);
    const bool spans = !robust || n < 4 || find_inliers(n, moving, fixed, scratch, use);
    if (!spans || !fit(n, moving, fixed, use, out))
      st = pla_fail(err, PLA_ERR_GEOMETRY,
                    "The landmarks lie on one line or in one place, so that a turn about it stays "
                    "free; add one beside it.");
  }
  if (st == PLA_OK) {
    PlaLandmarkReport r = { .worst = -1 };
    for (int i = 0; i < n; i++) {
      const double d = residual_of(out, moving + 3 * i, fixed + 3 * i);
      if (residual_mm)
        residual_mm[i] = d;
      if (!use[i])
        continue;
      r.rms_mm += d * d;
      r.n_used++;
      if (d > r.max_mm || r.worst < 0) {
        r.max_mm = d;
        r.worst = i;
      }
    }
    r.rms_mm = sqrt(r.rms_mm / r.n_used);
    if (report)
      *report = r;
  }
  free(use);
  free(scratch);
  return st;
}

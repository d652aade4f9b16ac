/* Motion by mean curvature: phi_t = kappa |grad phi| = lap phi - g^T H g / |g|^2, explicit steps of
 * h^2 / 8 (stable below h^2 / 6), derivatives by central differences in index space taken to
 * millimetres by the affine. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/levelset/levelset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline int
clamp_index(int i, int n)
{
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static double
curvature_term(const PlaLevelSet *ls, const double inv[9], const float *phi, int i, int j, int k)
{
  const int *n = ls->dims;
  const size_t nx = (size_t)n[0], plane = nx * (size_t)n[1];
  const int at[3] = { i, j, k };
  size_t off[3][3]; /* along each axis: offsets of the samples before, at and after */
  for (int d = 0; d < 3; d++) {
    size_t stride = d == 0 ? 1 : d == 1 ? nx : plane;
    for (int s = -1; s <= 1; s++)
      off[d][s + 1] = stride * (size_t)clamp_index(at[d] + s, n[d]);
  }
#define AT(a, b, c) ((double)phi[off[0][a] + off[1][b] + off[2][c]])
  /* gradient and Hessian by central differences, in index space */
  const double mid = AT(1, 1, 1);
  double g[3] = { 0.5 * (AT(2, 1, 1) - AT(0, 1, 1)), 0.5 * (AT(1, 2, 1) - AT(1, 0, 1)),
                  0.5 * (AT(1, 1, 2) - AT(1, 1, 0)) };
  double h[9];
  h[0] = AT(2, 1, 1) - 2.0 * mid + AT(0, 1, 1);
  h[4] = AT(1, 2, 1) - 2.0 * mid + AT(1, 0, 1);
  h[8] = AT(1, 1, 2) - 2.0 * mid + AT(1, 1, 0);
  h[1] = h[3] = 0.25 * (AT(2, 2, 1) - AT(2, 0, 1) - AT(0, 2, 1) + AT(0, 0, 1));
  h[2] = h[6] = 0.25 * (AT(2, 1, 2) - AT(2, 1, 0) - AT(0, 1, 2) + AT(0, 1, 0));
  h[5] = h[7] = 0.25 * (AT(1, 2, 2) - AT(1, 2, 0) - AT(1, 0, 2) + AT(1, 0, 0));
#undef AT
  /* to millimetres: g = A^-T g, H = A^-T H A^-1 */
  double grad[3], tmp[9], hess[9];
  for (int d = 0; d < 3; d++)
    grad[d] = inv[d] * g[0] + inv[3 + d] * g[1] + inv[6 + d] * g[2];
  pla_mat3_mul(h, inv, tmp);
  pla_mat3_mul_tn(inv, tmp, hess);
  /* |grad| curvature = tr H - g^T H g / |g|^2; 0 where there is no gradient */
  double g2 = pla_vec3_dot(grad, grad);
  if (g2 < 1e-4)
    return 0.0;
  double hg[3];
  pla_mat3_apply(hess, grad, hg);
  return hess[0] + hess[4] + hess[8] - pla_vec3_dot(grad, hg) / g2;
}

PlaStatus
pla_levelset_smooth_curvature(PlaLevelSet *ls, double scale_mm, PlaProgress *progress,
                              PlaCurvatureReport *report, PlaError *err)
{
  const size_t n = pla_levelset_n_voxels(ls);
  const double h = pla_levelset_spacing_mm(ls), band = ls->band_mm;
  /* samples further from the surface than it can move need no update */
  const float reach =
      (float)fmin(3.0 * scale_mm + 3.0 * h, isfinite(band) ? band * 0.999 : INFINITY);
  const double inv[9] = { ls->inverse_mm[0], ls->inverse_mm[1], ls->inverse_mm[2],
                          ls->inverse_mm[4], ls->inverse_mm[5], ls->inverse_mm[6],
                          ls->inverse_mm[8], ls->inverse_mm[9], ls->inverse_mm[10] };
  /* the fastest mode decays at 4 times the sum of squared inverse spacings, shear included */
  double stiff = 0.0;
  for (int d = 0; d < 9; d++)
    stiff += inv[d] * inv[d];
  /* explicit steps of phi_t = |grad| curvature for the time that removes detail below the scale */
  const double time = 0.5 * scale_mm * scale_mm;
  const int steps = (int)ceil(time * stiff / 0.4);
  PlaCurvatureReport r = { .steps = steps };
  float *next = pla_array_new(n, sizeof *next);
  if (!next)
    return pla_fail_memory(err, "smoothing");
  PlaStatus st = pla_levelset_measure(ls, &r.volume_before_mm3, NULL, err);
  for (int s = 0; st == PLA_OK && s < steps; s++) {
    const double dt = time / steps;
#pragma omp parallel for schedule(static) if (n > 100000)
    for (int k = 0; k < ls->dims[2]; k++)
      for (int j = 0; j < ls->dims[1]; j++)
        for (int i = 0; i < ls->dims[0]; i++) {
          size_t v =
              (size_t)i + (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k);
          next[v] = ls->phi_mm[v];
          if (fabsf(next[v]) < reach)
            next[v] += (float)(dt * curvature_term(ls, inv, ls->phi_mm, i, j, k));
        }
    memcpy(ls->phi_mm, next, n * sizeof *next);
    if (!pla_progress_step(progress, 0.8 * (s + 1) / steps))
      st = pla_fail_cancelled(err);
  }
  free(next);
  if (st == PLA_OK)
    st = pla_levelset_redistance(ls, band, NULL, err);
  if (st == PLA_OK)
    st = pla_levelset_measure(ls, &r.volume_after_mm3, NULL, err);
  if (report)
    *report = r;
  return st;
}

PlaStatus
pla_levelset_limit_curvature(PlaLevelSet *ls, double radius_mm, PlaProgress *progress,
                             PlaError *err)
{
  const double band = fmax(ls->band_mm, 3.0 * radius_mm);
  const double shift[] = { -radius_mm, 2.0 * radius_mm, -radius_mm };
  PlaStatus st = PLA_OK;
  /* distances as far as the surface will go */
  if (ls->band_mm < band)
    st = pla_levelset_redistance(ls, band, NULL, err);
  for (int s = 0; s < 3 && st == PLA_OK; s++) {
    pla_levelset_offset(ls, shift[s]);
    st = pla_levelset_redistance(ls, band, NULL, err);
    if (st == PLA_OK && !pla_progress_step(progress, (s + 1.0) / 3.0))
      st = pla_fail_cancelled(err);
  }
  return st;
}

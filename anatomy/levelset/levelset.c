/* Level sets: storage, queries, measures. */
#include "anatomy/levelset/levelset.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/levelset/contour.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_levelset_new(const int dims[3], const double affine_mm[12], PlaLevelSet **out, PlaError *err)
{
  *out = NULL;
  double inverse[12];
  if (!pla_affine_invert(affine_mm, inverse))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "The volume's affine is singular: its voxels have no volume");
  PlaLevelSet *ls = pla_array_new0(1, sizeof *ls);
  size_t n = (size_t)dims[0];
  bool fits = pla_size_mul(n, (size_t)dims[1], &n) && pla_size_mul(n, (size_t)dims[2], &n);
  if (ls && fits)
    ls->phi_mm = pla_array_new0(n, sizeof *ls->phi_mm);
  if (!ls || !ls->phi_mm) {
    free(ls);
    return pla_fail_memory(err, "a level set");
  }
  memcpy(ls->dims, dims, sizeof ls->dims);
  memcpy(ls->affine_mm, affine_mm, sizeof ls->affine_mm);
  memcpy(ls->inverse_mm, inverse, sizeof inverse);
  ls->band_mm = INFINITY;
  *out = ls;
  return PLA_OK;
}

PlaStatus
pla_levelset_dup(const PlaLevelSet *ls, PlaLevelSet **out, PlaError *err)
{
  PlaStatus st = pla_levelset_new(ls->dims, ls->affine_mm, out, err);
  if (st == PLA_OK) {
    memcpy((*out)->phi_mm, ls->phi_mm, pla_levelset_n_voxels(ls) * sizeof *ls->phi_mm);
    (*out)->band_mm = ls->band_mm;
  }
  return st;
}

void
pla_levelset_free(PlaLevelSet *ls)
{
  if (!ls)
    return;
  free(ls->phi_mm);
  free(ls);
}

size_t
pla_levelset_n_voxels(const PlaLevelSet *ls)
{
  return (size_t)ls->dims[0] * (size_t)ls->dims[1] * (size_t)ls->dims[2];
}

double
pla_levelset_spacing_mm(const PlaLevelSet *ls)
{
  double least = INFINITY;
  for (int a = 0; a < 3; a++) {
    const double axis[3] = { ls->affine_mm[a], ls->affine_mm[4 + a], ls->affine_mm[8 + a] };
    least = fmin(least, pla_vec3_norm(axis));
  }
  return least;
}

void
pla_levelset_fill(PlaLevelSet *ls, PlaDistanceFunc func, const void *data)
{
#pragma omp parallel for schedule(static)
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++)
      for (int i = 0; i < ls->dims[0]; i++) {
        const double ijk[3] = { i, j, k };
        double pos[3];
        pla_affine_apply(ls->affine_mm, ijk, pos);
        ls->phi_mm[(size_t)i +
                   (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k)] =
            (float)func(pos, data);
      }
  ls->band_mm = INFINITY;
}

/* the cell that holds x, and the fractions in it; grids one sample thick have flat cells */
static void
locate(const PlaLevelSet *ls, const double x[3], size_t corner[8], double f[3])
{
  size_t base = 0, step[3], stride = 1;
  for (int d = 0; d < 3; d++) {
    int last = ls->dims[d] - 1, cell = (int)x[d];
    cell = cell > last - 1 ? (last > 0 ? last - 1 : 0) : cell;
    f[d] = x[d] - cell;
    base += stride * (size_t)cell;
    step[d] = last > 0 ? stride : 0;
    stride *= (size_t)ls->dims[d];
  }
  for (int c = 0; c < 8; c++)
    corner[c] = base + (c & 1 ? step[0] : 0) + (c & 2 ? step[1] : 0) + (c & 4 ? step[2] : 0);
}

double
pla_levelset_at_index(const PlaLevelSet *ls, const double ijk[3])
{
  size_t corner[8];
  double f[3], x[8];
  locate(ls, ijk, corner, f);
  for (int c = 0; c < 8; c++)
    x[c] = ls->phi_mm[corner[c]];
  for (int c = 0; c < 4; c++)
    x[c] = x[2 * c] + f[0] * (x[2 * c + 1] - x[2 * c]);
  for (int c = 0; c < 2; c++)
    x[c] = x[2 * c] + f[1] * (x[2 * c + 1] - x[2 * c]);
  return x[0] + f[2] * (x[1] - x[0]);
}

static double
sample_one(const PlaLevelSet *ls, const double pos_mm[3], double gradient[3])
{
  double x[3], inside[3], f[3], g[3] = { 0.0, 0.0, 0.0 }, value = 0.0;
  size_t corner[8];
  pla_affine_apply(ls->inverse_mm, pos_mm, x);
  for (int d = 0; d < 3; d++)
    inside[d] = fmin(fmax(x[d], 0.0), ls->dims[d] - 1.0);
  locate(ls, inside, corner, f);
  for (int c = 0; c < 8; c++) {
    double w[3], s[3], v = ls->phi_mm[corner[c]];
    for (int d = 0; d < 3; d++) {
      bool far = c >> d & 1;
      w[d] = far ? f[d] : 1.0 - f[d];
      s[d] = far ? 1.0 : -1.0;
    }
    value += v * w[0] * w[1] * w[2];
    g[0] += v * s[0] * w[1] * w[2];
    g[1] += v * w[0] * s[1] * w[2];
    g[2] += v * w[0] * w[1] * s[2];
  }
  /* derivatives by index become derivatives by position through the inverse, transposed */
  double grad[3];
  for (int d = 0; d < 3; d++)
    grad[d] =
        g[0] * ls->inverse_mm[d] + g[1] * ls->inverse_mm[4 + d] + g[2] * ls->inverse_mm[8 + d];
  /* outside the grid: on top, the way back to it */
  double back[3], away[3];
  pla_affine_apply(ls->affine_mm, inside, back);
  pla_vec3_sub(pos_mm, back, away);
  double distance = pla_vec3_norm(away);
  bool outside = inside[0] != x[0] || inside[1] != x[1] || inside[2] != x[2];
  if (outside && distance > 0.0) {
    value += distance;
    for (int d = 0; d < 3; d++)
      grad[d] = away[d] / distance;
  }
  if (gradient)
    memcpy(gradient, grad, sizeof grad);
  return value;
}

double
pla_levelset_at(const PlaLevelSet *ls, const double pos_mm[3])
{
  return sample_one(ls, pos_mm, NULL);
}

void
pla_levelset_sample(const PlaLevelSet *ls, size_t n, const double *pos_mm, double *value_mm,
                    double *gradient)
{
#pragma omp parallel for schedule(static) if (n > 4096)
  for (size_t p = 0; p < n; p++) {
    double value = sample_one(ls, pos_mm + 3 * p, gradient ? gradient + 3 * p : NULL);
    if (value_mm)
      value_mm[p] = value;
  }
}

PlaStatus
pla_levelset_measure(const PlaLevelSet *ls, double *volume_mm3, double *area_mm2, PlaError *err)
{
  PlaContour c;
  PlaStatus st = pla_contour_extract(ls->dims, ls->phi_mm, true, &c, err);
  if (st != PLA_OK)
    return st;
  const double *a = ls->affine_mm;
  const double m[9] = { a[0], a[1], a[2], a[4], a[5], a[6], a[8], a[9], a[10] };
  double volume = 0.0, area = 0.0;
  for (int t = 0; t < c.n_tris; t++) {
    const double *p = c.pos + 3 * (size_t)c.tri[3 * t];
    double u[3], v[3], n[3];
    pla_vec3_sub(c.pos + 3 * (size_t)c.tri[3 * t + 1], p, u);
    pla_vec3_sub(c.pos + 3 * (size_t)c.tri[3 * t + 2], p, v);
    pla_vec3_cross(u, v, n);
    volume += pla_vec3_dot(p, n) / 6.0;
    pla_mat3_apply(m, u, u);
    pla_mat3_apply(m, v, v);
    pla_vec3_cross(u, v, n);
    area += 0.5 * pla_vec3_norm(n);
  }
  pla_contour_clear(&c);
  if (volume_mm3)
    *volume_mm3 = volume * fabs(pla_mat3_det(m));
  if (area_mm2)
    *area_mm2 = area;
  return PLA_OK;
}

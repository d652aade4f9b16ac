/* Scalar functions of F with their derivatives. */
#include "sim/material/invariant.h"

#include "anatomy/base/mat3.h"

#include <string.h>

static int
lower(int a, int b)
{
  return a < b ? a : b;
}

void
pla_invariant_mul(const PlaInvariant *a, const PlaInvariant *b, PlaInvariant *r)
{
  r->order = lower(a->order, b->order);
  r->g = a->g * b->g;
  for (int i = 0; r->order > 0 && i < 9; i++)
    r->d[i] = a->d[i] * b->g + a->g * b->d[i];
  for (int i = 0; r->order > 1 && i < 9; i++)
    for (int j = 0; j < 9; j++)
      r->h[9 * i + j] =
          a->h[9 * i + j] * b->g + a->g * b->h[9 * i + j] + a->d[i] * b->d[j] + a->d[j] * b->d[i];
}

void
pla_invariant_add(const PlaInvariant *a, double factor, const PlaInvariant *b, PlaInvariant *r)
{
  r->order = lower(a->order, b->order);
  r->g = a->g + factor * b->g;
  for (int i = 0; r->order > 0 && i < 9; i++)
    r->d[i] = a->d[i] + factor * b->d[i];
  for (int i = 0; r->order > 1 && i < 81; i++)
    r->h[i] = a->h[i] + factor * b->h[i];
}

void
pla_invariant_chain(const PlaInvariant *x, PlaCurve f, PlaInvariant *r)
{
  r->order = x->order;
  r->g = f.g;
  for (int i = 0; r->order > 1 && i < 9; i++)
    for (int j = 0; j < 9; j++)
      r->h[9 * i + j] = f.d * x->h[9 * i + j] + f.dd * x->d[i] * x->d[j];
  for (int i = 0; r->order > 0 && i < 9; i++)
    r->d[i] = f.d * x->d[i];
}

void
pla_invariant_i1(const PlaPoint *point, int order, PlaInvariant *r)
{
  r->order = order;
  r->g = 0.0;
  for (int k = 0; k < 9; k++) {
    r->g += point->f[k] * point->f[k];
    r->d[k] = 2.0 * point->f[k];
  }
  for (int k = 0; order > 1 && k < 81; k++)
    r->h[k] = k % 10 == 0 ? 2.0 : 0.0;
}

void
pla_invariant_i4(const PlaPoint *point, const double v[3], int order, PlaInvariant *r)
{
  double a[3];
  pla_mat3_apply(point->f, v, a);
  r->order = order;
  r->g = pla_vec3_dot(a, a);
  for (int k = 0; k < 9; k++)
    r->d[k] = 2.0 * a[k / 3] * v[k % 3];
  for (int k = 0; order > 1 && k < 9; k++)
    for (int l = 0; l < 9; l++)
      r->h[9 * k + l] = k / 3 == l / 3 ? 2.0 * v[k % 3] * v[l % 3] : 0.0;
}

void
pla_invariant_i5(const PlaPoint *point, const double v[3], int order, PlaInvariant *r)
{
  const double *f = point->f;
  double a[3], b[3], fb[3], slope[3][9];
  pla_mat3_apply(f, v, a);
  for (int m = 0; m < 3; m++)
    b[m] = f[m] * a[0] + f[3 + m] * a[1] + f[6 + m] * a[2];
  pla_mat3_apply(f, b, fb);
  r->order = order;
  r->g = pla_vec3_dot(b, b);
  /* b = F^T F v changes by a_i e_j + (row i of F) v_j */
  for (int k = 0; k < 9; k++) {
    int i = k / 3, j = k % 3;
    r->d[k] = 2.0 * (a[i] * b[j] + fb[i] * v[j]);
    for (int m = 0; m < 3; m++)
      slope[m][k] = (j == m ? a[i] : 0.0) + f[3 * i + m] * v[j];
  }
  for (int k = 0; order > 1 && k < 9; k++)
    for (int l = 0; l < 9; l++) {
      double sum = k / 3 == l / 3 ? b[k % 3] * v[l % 3] + v[k % 3] * b[l % 3] : 0.0;
      for (int m = 0; m < 3; m++)
        sum += slope[m][k] * slope[m][l];
      r->h[9 * k + l] = 2.0 * sum;
    }
}

void
pla_invariant_det_power(const PlaPoint *point, double a, int order, PlaInvariant *r)
{
  PlaCurve power[3];
  for (int i = 0; i < 3; i++)
    power[i] = pla_curve_power(point->s[i], a);
  PlaSurface product = pla_surface_product(power);
  r->order = order;
  r->g = product.g;
  if (order > 0)
    pla_stretch_to_stress(point, product.d, r->d);
  if (order > 1)
    pla_stretch_to_tangent(point, product.d, product.h, false, r->h);
}

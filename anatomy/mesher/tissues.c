/* Tissues as level sets that compete for each point. */
#include "anatomy/mesher/tissues.h"

#include <math.h>

/* index coordinates of p, moved to the nearest sample position of the grid, and how far p is beyond
 * the planes half a voxel outside the last samples */
static double
clamp_to_grid(const PlaLevelSet *ls, const double pos_mm[3], double inside[3])
{
  double x[3], beyond = -INFINITY;
  pla_affine_apply(ls->inverse_mm, pos_mm, x);
  for (int d = 0; d < 3; d++) {
    const double *row = ls->inverse_mm + 4 * d, last = ls->dims[d] - 1.0;
    /* millimetres across the grid's planes per index step */
    double step = 1.0 / sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
    inside[d] = x[d] < 0.0 ? 0.0 : x[d] > last ? last : x[d];
    beyond = fmax(beyond, step * fmax(-0.5 - x[d], x[d] - last - 0.5));
  }
  return beyond;
}

double
pla_tissue_beyond(const PlaLevelSet *ls, const double pos_mm[3])
{
  double inside[3];
  return clamp_to_grid(ls, pos_mm, inside);
}

static double
value_at(const PlaLevelSet *ls, const double pos_mm[3])
{
  double inside[3], beyond = clamp_to_grid(ls, pos_mm, inside);
  return fmax(pla_levelset_at_index(ls, inside), beyond);
}

/* of the rest, where the others' least value is @least */
static double
rest_value(const PlaTissues *tissues, const double pos_mm[3], double least)
{
  if (!tissues->rest)
    return -least;
  double inside[3], beyond = clamp_to_grid(tissues->rest, pos_mm, inside);
  return fmin(pla_levelset_at_index(tissues->rest, inside), -beyond);
}

static double
least_value(const PlaTissues *tissues, const double pos_mm[3], int *whose)
{
  double least = INFINITY;
  for (int g = 0; g < tissues->n_groups; g++) {
    double v = value_at(tissues->group[g], pos_mm);
    if (v < least) {
      least = v;
      *whose = g + 1;
    }
  }
  return least;
}

int
pla_tissues_at(const PlaTissues *tissues, const double pos_mm[3])
{
  int whose = 0;
  double least = least_value(tissues, pos_mm, &whose);
  return least < rest_value(tissues, pos_mm, least) ? whose : 0;
}

int
pla_tissues_nearest(const PlaTissues *tissues, const double pos_mm[3])
{
  int whose = 1;
  least_value(tissues, pos_mm, &whose);
  return whose;
}

double
pla_tissue_value(const PlaTissues *tissues, int tissue, const double pos_mm[3])
{
  if (tissue > 0)
    return value_at(tissues->group[tissue - 1], pos_mm);
  int whose;
  return rest_value(tissues, pos_mm, tissues->rest ? 0.0 : least_value(tissues, pos_mm, &whose));
}

double
pla_tissues_gap(const PlaTissues *tissues, const double pos_mm[3])
{
  double least = INFINITY, second = INFINITY, rest;
  for (int g = 0; g < tissues->n_groups; g++) {
    const double v = value_at(tissues->group[g], pos_mm);
    second = fmin(second, fmax(v, least));
    least = fmin(v, least);
  }
  rest = rest_value(tissues, pos_mm, least);
  second = fmin(second, fmax(rest, least));
  least = fmin(rest, least);
  return 0.5 * (second - least);
}

/* The value of tissue a less that of b.  Against the rest all tissues stand together: between them
 * a layer may lie that is too thin for the lattice, and the body ends where that does. */
static double
difference(const PlaTissues *tissues, int a, int b, const double pos_mm[3])
{
  int whose;
  if (a > 0 && b > 0)
    return value_at(tissues->group[a - 1], pos_mm) - value_at(tissues->group[b - 1], pos_mm);
  const double least = least_value(tissues, pos_mm, &whose);
  const double out = rest_value(tissues, pos_mm, least) - least;
  return a == 0 ? out : -out;
}

double
pla_tissues_crossing(const PlaTissues *tissues, int a, int b, const double p[3], const double q[3])
{
  /* bisection with a secant guess in between: the difference is near linear, kinks aside */
  double lo = 0.0, hi = 1.0;
  double f_lo = difference(tissues, a, b, p);
  double f_hi = difference(tissues, a, b, q);
  for (int step = 0; step < 12 && hi - lo > 1e-4; step++) {
    double t = 0.5 * (lo + hi), x[3];
    if (step % 2 == 0 && f_lo < 0.0 && f_hi > 0.0)
      t = lo + (hi - lo) * fmin(fmax(f_lo / (f_lo - f_hi), 0.02), 0.98);
    for (int d = 0; d < 3; d++)
      x[d] = p[d] + t * (q[d] - p[d]);
    double f = difference(tissues, a, b, x);
    if (f <= 0.0) {
      lo = t;
      f_lo = f;
    } else {
      hi = t;
      f_hi = f;
    }
  }
  if (f_lo < 0.0 && f_hi > 0.0)
    return lo + (hi - lo) * f_lo / (f_lo - f_hi);
  return 0.5 * (lo + hi);
}

/* index box of the negative samples; false: none */
static bool
inside_box(const PlaLevelSet *ls, int lo[3], int hi[3])
{
  const int *n = ls->dims;
  bool any = false;
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      const float *row = ls->phi_mm + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
      int i0 = 0, i1 = n[0] - 1;
      while (i0 < n[0] && row[i0] >= 0.0f)
        i0++;
      if (i0 == n[0])
        continue;
      while (row[i1] >= 0.0f)
        i1--;
      const int from[3] = { i0, j, k }, to[3] = { i1, j, k };
      for (int d = 0; d < 3; d++) {
        lo[d] = !any || from[d] < lo[d] ? from[d] : lo[d];
        hi[d] = !any || to[d] > hi[d] ? to[d] : hi[d];
      }
      any = true;
    }
  return any;
}

bool
pla_tissues_box(const PlaTissues *tissues, double lo_mm[3], double hi_mm[3])
{
  bool any = false;
  for (int d = 0; d < 3; d++) {
    lo_mm[d] = INFINITY;
    hi_mm[d] = -INFINITY;
  }
  for (int g = 0; g < tissues->n_groups; g++) {
    const PlaLevelSet *ls = tissues->group[g];
    int lo[3], hi[3];
    if (!inside_box(ls, lo, hi))
      continue;
    any = true;
    /* the surface is less than a sample away */
    for (int c = 0; c < 8; c++) {
      const double x[3] = { c & 1 ? hi[0] + 1 : lo[0] - 1, c & 2 ? hi[1] + 1 : lo[1] - 1,
                            c & 4 ? hi[2] + 1 : lo[2] - 1 };
      double p[3];
      pla_affine_apply(ls->affine_mm, x, p);
      for (int d = 0; d < 3; d++) {
        lo_mm[d] = fmin(lo_mm[d], p[d]);
        hi_mm[d] = fmax(hi_mm[d], p[d]);
      }
    }
  }
  return any;
}

/* Solids, and level sets combined with each other and with solids. */
#include "anatomy/base/mat3.h"
#include "anatomy/levelset/levelset.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* coordinates along the solid's own axes */
static void
to_local(const PlaSolid *s, const double pos[3], double x[3])
{
  double d[3];
  pla_vec3_sub(pos, s->centre, d);
  bool plain = true;
  for (int k = 0; k < 9; k++)
    plain = plain && s->axes[k] == 0.0;
  if (plain)
    memcpy(x, d, sizeof d);
  else
    pla_mat3_apply(s->axes, d, x);
}

/* The hull of two balls: a cone with round ends (or one ball, where it holds the other). */
static double
cone_distance(const double a[3], double ra, const double b[3], double rb, const double x[3])
{
  double axis[3], w[3];
  pla_vec3_sub(b, a, axis);
  pla_vec3_sub(x, a, w);
  const double length2 = pla_vec3_dot(axis, axis), fall = ra - rb, l2 = length2 - fall * fall;
  if (l2 <= 0.0) {
    double wb[3];
    pla_vec3_sub(x, b, wb);
    return ra >= rb ? pla_vec3_norm(w) - ra : pla_vec3_norm(wb) - rb;
  }
  const double length = sqrt(length2), along = pla_vec3_dot(w, axis) / length;
  const double across = sqrt(fmax(pla_vec3_dot(w, w) - along * along, 0.0));
  /* where the side's normal through x meets the axis */
  const double sine = fall / length, cosine = sqrt(l2) / length;
  const double t = along - across * sine / cosine;
  if (t <= 0.0)
    return pla_vec3_norm(w) - ra;
  if (t >= length)
    return hypot(along - length, across) - rb;
  return along * sine + across * cosine - ra;
}

/* nearest point of the ellipsoid: bisection for the multiplier t of x_i = a_i^2 p_i / (t + a_i^2)
 * (Eberly, "Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid") */
static double
ellipsoid_distance(const double half[3], const double pos[3])
{
  /* by symmetry the octant of positive coordinates; norm < 1 is inside */
  double p[3], norm = 0.0, least = fmin(half[0], fmin(half[1], half[2]));
  for (int d = 0; d < 3; d++) {
    p[d] = fmax(fabs(pos[d]), 1e-9 * half[d]);
    norm += p[d] * p[d] / (half[d] * half[d]);
  }
  /* bracket of the Lagrange multiplier t of the nearest point, x = h^2 p / (t + h^2) */
  double lo = -least * least, hi = 0.0;
  for (int d = 0; d < 3; d++)
    hi = fmax(hi, half[d] * p[d] * 2.0);
  /* the sum falls with t; it is 1 at the multiplier */
  for (int step = 0; step < 100; step++) {
    double t = 0.5 * (lo + hi), sum = 0.0;
    for (int d = 0; d < 3; d++) {
      double r = half[d] * p[d] / (t + half[d] * half[d]);
      sum += r * r;
    }
    if (t == lo || t == hi)
      break;
    if (sum > 1.0)
      lo = t;
    else
      hi = t;
  }
  /* distance to that point */
  double t = 0.5 * (lo + hi), dist2 = 0.0;
  for (int d = 0; d < 3; d++) {
    double near = half[d] * half[d] * p[d] / (t + half[d] * half[d]);
    dist2 += (p[d] - near) * (p[d] - near);
  }
  return norm < 1.0 ? -sqrt(dist2) : sqrt(dist2);
}

double
pla_solid_distance(const PlaSolid *s, const double pos_mm[3])
{
  double x[3], best = INFINITY;
  /* exact for each solid; tubes are unions of cones */
  switch (s->kind) {
  case PLA_SOLID_CAPSULE:
  case PLA_SOLID_TUBE:
    if (s->n_points == 1)
      return cone_distance(s->point, s->radius[0], s->point, s->radius[0], pos_mm);
    for (int p = 0; p + 1 < s->n_points; p++)
      best = fmin(best, cone_distance(s->point + 3 * p, s->radius[p], s->point + 3 * (p + 1),
                                      s->radius[p + 1], pos_mm));
    return best;
  case PLA_SOLID_ELLIPSOID:
    to_local(s, pos_mm, x);
    return ellipsoid_distance(s->size, x);
  case PLA_SOLID_BOX: {
    to_local(s, pos_mm, x);
    double out2 = 0.0, in = -INFINITY;
    for (int d = 0; d < 3; d++) {
      double q = fabs(x[d]) - s->size[d];
      in = fmax(in, q);
      out2 += q > 0.0 ? q * q : 0.0;
    }
    return in < 0.0 ? in : sqrt(out2);
  }
  case PLA_SOLID_TORUS:
    to_local(s, pos_mm, x);
    return hypot(hypot(x[0], x[1]) - s->size[0], x[2]) - s->size[1];
  }
  assert(!"unknown solid");
  return INFINITY;
}

static float
combine(PlaCsg op, float a, double b)
{
  switch (op) {
  case PLA_CSG_UNION:
    return fminf(a, (float)b);
  case PLA_CSG_INTERSECTION:
    return fmaxf(a, (float)b);
  case PLA_CSG_DIFFERENCE:
    return fmaxf(a, (float)-b);
  }
  return a;
}

/* calls combine() for every sample of @ls with the value that @solid or @other has there */
static void
combine_all(PlaLevelSet *ls, PlaCsg op, const PlaSolid *solid, const PlaLevelSet *other)
{
  const float band = (float)ls->band_mm;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++)
      for (int i = 0; i < ls->dims[0]; i++) {
        const double ijk[3] = { i, j, k };
        double pos[3], b;
        pla_affine_apply(ls->affine_mm, ijk, pos);
        if (solid)
          b = pla_solid_distance(solid, pos);
        else
          pla_levelset_sample(other, 1, pos, &b, NULL);
        size_t v = (size_t)i + (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k);
        float value = combine(op, ls->phi_mm[v], b);
        ls->phi_mm[v] = fminf(fmaxf(value, -band), band);
      }
}

void
pla_levelset_combine(PlaLevelSet *ls, PlaCsg op, const PlaLevelSet *other)
{
  combine_all(ls, op, NULL, other);
}

void
pla_levelset_combine_solid(PlaLevelSet *ls, PlaCsg op, const PlaSolid *solid)
{
  combine_all(ls, op, solid, NULL);
}

void
pla_levelset_offset(PlaLevelSet *ls, double outwards_mm)
{
  const size_t n = pla_levelset_n_voxels(ls);
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < n; v++)
    ls->phi_mm[v] -= (float)outwards_mm;
}

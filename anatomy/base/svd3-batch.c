/* Four SVDs at once: the algorithm of svd3.c without branches.
 *
 * A lane whose columns are orthogonal is no longer rotated (its tangent is set to zero), so its
 * result does not depend on how long its neighbours take. */
#include "anatomy/base/kernel.h"
#include "anatomy/base/svd3-kernel.h"

#include <float.h>

enum { MAX_SWEEPS = 24 };

typedef struct {
  PlaLanes m[9];
} Matrices;

static inline PlaLanes
column_dot(const Matrices *a, int p, int q)
{
  return a->m[p] * a->m[q] + a->m[3 + p] * a->m[3 + q] + a->m[6 + p] * a->m[6 + q];
}

static inline void
rotate_columns(Matrices *a, int p, int q, PlaLanes c, PlaLanes s)
{
  for (int i = 0; i < 3; i++) {
    PlaLanes x = a->m[3 * i + p], y = a->m[3 * i + q];
    a->m[3 * i + p] = c * x - s * y;
    a->m[3 * i + q] = s * x + c * y;
  }
}

/* one Jacobi rotation where the columns are not orthogonal yet; tells where that was */
static inline PlaMask
jacobi_pair(Matrices *b, Matrices *v, int p, int q)
{
  const PlaLanes zero = pla_lanes_set(0.0), one = pla_lanes_set(1.0);
  PlaLanes a = column_dot(b, p, p), d = column_dot(b, q, q), g = column_dot(b, p, q);
  PlaMask active = g * g > pla_lanes_set(DBL_EPSILON * DBL_EPSILON) * a * d;
  if (!pla_lanes_any(active))
    return active;
  PlaLanes zeta = (d - a) / (pla_lanes_set(2.0) * pla_lanes_select(active, g, one));
  PlaLanes t = one / (pla_lanes_abs(zeta) + pla_lanes_sqrt(one + zeta * zeta));
  t = pla_lanes_select(zeta < zero, -t, t);
  t = pla_lanes_select(active, t, zero);
  PlaLanes c = one / pla_lanes_sqrt(one + t * t), s = c * t;
  rotate_columns(b, p, q, c, s);
  rotate_columns(v, p, q, c, s);
  return active;
}

/* the longer of columns p and q to p, (p, q) <- (q, -p) */
static inline void
order_pair(Matrices *b, Matrices *v, int p, int q)
{
  PlaMask swap = column_dot(b, p, p) < column_dot(b, q, q);
  for (int i = 0; i < 3; i++) {
    PlaLanes x = b->m[3 * i + p], y = b->m[3 * i + q];
    b->m[3 * i + p] = pla_lanes_select(swap, y, x);
    b->m[3 * i + q] = pla_lanes_select(swap, -x, y);
    x = v->m[3 * i + p], y = v->m[3 * i + q];
    v->m[3 * i + p] = pla_lanes_select(swap, y, x);
    v->m[3 * i + q] = pla_lanes_select(swap, -x, y);
  }
}

static inline PlaLanes
dot(const PlaLanes a[3], const PlaLanes b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void
cross(const PlaLanes a[3], const PlaLanes b[3], PlaLanes c[3])
{
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* a unit vector at right angles to the unit vectors @a: cross with the axis a leans on least */
static inline void
perpendicular(const PlaLanes a[3], PlaLanes b[3])
{
  const PlaLanes zero = pla_lanes_set(0.0), one = pla_lanes_set(1.0);
  PlaLanes x = pla_lanes_abs(a[0]), y = pla_lanes_abs(a[1]), z = pla_lanes_abs(a[2]);
  PlaMask use_x = (x <= y) & (x <= z);
  PlaMask use_y = ~use_x & (y <= z);
  PlaLanes e[3] = { pla_lanes_select(use_x, one, zero), pla_lanes_select(use_y, one, zero),
                    pla_lanes_select(~use_x & ~use_y, one, zero) };
  cross(a, e, b);
  PlaLanes n = pla_lanes_sqrt(dot(b, b));
  for (int d = 0; d < 3; d++)
    b[d] /= n;
}

static inline void
svd3_lanes(const Matrices *f, Matrices *u, PlaLanes s[3], Matrices *v)
{
  const PlaLanes zero = pla_lanes_set(0.0), one = pla_lanes_set(1.0);

  /* scale by the power of two that brings the largest entry into [1, 2): its exponent field */
  PlaLanes most = zero;
  for (int i = 0; i < 9; i++)
    most = pla_lanes_max(pla_lanes_abs(f->m[i]), most);
  PlaLanes power = (PlaLanes)((PlaMask)most & 0x7ff0000000000000LL);
  PlaLanes least = pla_lanes_set(0x1p-1000), largest = pla_lanes_set(0x1p1000);
  power = pla_lanes_select(power < least, least, power);
  power = pla_lanes_select(power > largest, largest, power);
  PlaLanes inverse = one / power;
  Matrices b;
  for (int i = 0; i < 9; i++) {
    b.m[i] = f->m[i] * inverse;
    v->m[i] = i % 4 ? zero : one;
  }

  for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    PlaMask active = jacobi_pair(&b, v, 0, 1);
    active |= jacobi_pair(&b, v, 0, 2);
    active |= jacobi_pair(&b, v, 1, 2);
    if (!pla_lanes_any(active))
      break;
  }
  order_pair(&b, v, 0, 1);
  order_pair(&b, v, 0, 2);
  order_pair(&b, v, 1, 2);

  PlaLanes u0[3] = { b.m[0], b.m[3], b.m[6] }, u1[3] = { b.m[1], b.m[4], b.m[7] }, u2[3], p[3];
  PlaLanes n0 = pla_lanes_sqrt(dot(u0, u0));
  PlaMask some = n0 > zero;
  for (int d = 0; d < 3; d++)
    u0[d] = pla_lanes_select(some, u0[d] / pla_lanes_select(some, n0, one), d ? zero : one);
  for (int again = 0; again < 2; again++) {
    PlaLanes along = dot(u0, u1);
    for (int d = 0; d < 3; d++)
      u1[d] -= along * u0[d];
  }
  PlaLanes n1 = pla_lanes_sqrt(dot(u1, u1));
  some = n1 > pla_lanes_set(1e-150);
  perpendicular(u0, p);
  for (int d = 0; d < 3; d++)
    u1[d] = pla_lanes_select(some, u1[d] / pla_lanes_select(some, n1, one), p[d]);
  cross(u0, u1, u2);
  PlaLanes n2 = u2[0] * b.m[2] + u2[1] * b.m[5] + u2[2] * b.m[8];
  n1 = pla_lanes_min(n1, n0);
  s[0] = n0 * power;
  s[1] = n1 * power;
  s[2] = pla_lanes_max(-n1, pla_lanes_min(n1, n2)) * power;
  for (int d = 0; d < 3; d++) {
    u->m[3 * d] = u0[d];
    u->m[3 * d + 1] = u1[d];
    u->m[3 * d + 2] = u2[d];
  }
}

void
PLA_KERNEL_NAME(pla_svd3_range)(size_t begin, size_t end, size_t stride, const double *f, double *u,
                                double *s, double *v)
{
  for (size_t e = begin; e < end; e += PLA_LANES) {
    Matrices fm, um, vm;
    PlaLanes sm[3];
    if (e + PLA_LANES <= end) {
      for (int c = 0; c < 9; c++)
        fm.m[c] = pla_lanes_load(f + (size_t)c * stride + e);
      svd3_lanes(&fm, &um, sm, &vm);
      for (int c = 0; c < 9; c++) {
        pla_lanes_store(u + (size_t)c * stride + e, um.m[c]);
        pla_lanes_store(v + (size_t)c * stride + e, vm.m[c]);
      }
      for (int c = 0; c < 3; c++)
        pla_lanes_store(s + (size_t)c * stride + e, sm[c]);
    } else {
      /* the last few: lanes without a matrix hold zeros and are not stored */
      size_t left = end - e;
      memset(&fm, 0, sizeof fm);
      for (int c = 0; c < 9; c++)
        memcpy(&fm.m[c], f + (size_t)c * stride + e, left * sizeof *f);
      svd3_lanes(&fm, &um, sm, &vm);
      for (int c = 0; c < 9; c++) {
        memcpy(u + (size_t)c * stride + e, &um.m[c], left * sizeof *u);
        memcpy(v + (size_t)c * stride + e, &vm.m[c], left * sizeof *v);
      }
      for (int c = 0; c < 3; c++)
        memcpy(s + (size_t)c * stride + e, &sm[c], left * sizeof *s);
    }
  }
}

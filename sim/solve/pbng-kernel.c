/* Moves four vertices of one colour at a time: forces and nodal matrices of the elements around
 * them, then one Newton step each.
 *
 * Per element, with F, J, c = cof(F) g and the gradient g of the vertex's own shape function, the
 * force is -V P g and the nodal matrix V (shear |g|^2 1 + vol c c^T).  Moving one vertex changes F
 * by a rank-one matrix, so J is linear in it and the nodal Hessian of a volumetric energy phi(J) is
 * phi''(J) c c^T alone: for the neo-Hookean forms the matrix is then exact, or a bound from above
 *   polynomial form:  shear = mu, vol = h; the nodal energy is quadratic, and the step its minimum;
 *   stable form:      shear = 9/8 m, the largest curvature of m/2 (I1 - ln(1 + I1)); vol = l;
 *   logarithmic form: shear = mu, vol = max(lambda + mu, (mu + lambda (1 - ln J)) / J^2);
 * and for the corotated ones shear = 2 mu, vol = lambda (Chen 2024, 1.3). */
#include "sim/solve/pbng-private.h"

#include "anatomy/base/kernel.h"
#include "anatomy/base/svd3-kernel.h"

#include <assert.h>

static_assert((int)PLA_LANES == (int)PLA_PBNG_LANES, "vertices are packed a vector at a time");

typedef struct {
  PlaLanes f[3]; /* force */
  PlaLanes a[6]; /* xx yy zz xy xz yz */
} Sums;

#define INLINE static inline __attribute__((always_inline))

/* the coordinates of four vertices, one a lane */
INLINE void
load_points(const double *x, const int *index, PlaLanes p[3])
{
  PlaLanes a = pla_lanes_load(x + 4 * (size_t)index[0]);
  PlaLanes b = pla_lanes_load(x + 4 * (size_t)index[1]);
  PlaLanes c = pla_lanes_load(x + 4 * (size_t)index[2]);
  PlaLanes d = pla_lanes_load(x + 4 * (size_t)index[3]);
  PlaLanes xz_ab = __builtin_shufflevector(a, b, 0, 4, 2, 6);
  PlaLanes xz_cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
  PlaLanes y_ab = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  PlaLanes y_cd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  p[0] = __builtin_shufflevector(xz_ab, xz_cd, 0, 1, 4, 5);
  p[1] = __builtin_shufflevector(y_ab, y_cd, 0, 1, 4, 5);
  p[2] = __builtin_shufflevector(xz_ab, xz_cd, 2, 3, 6, 7);
}

INLINE PlaLanes
dot3(const PlaLanes *a, const PlaLanes *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* y = M x, M row by row */
INLINE void
apply(const PlaLanes m[9], const PlaLanes x[3], PlaLanes y[3])
{
  for (int i = 0; i < 3; i++)
    y[i] = dot3(m + 3 * i, x);
}

INLINE void
cofactor(const PlaLanes f[9], PlaLanes c[9])
{
  c[0] = f[4] * f[8] - f[5] * f[7];
  c[1] = f[5] * f[6] - f[3] * f[8];
  c[2] = f[3] * f[7] - f[4] * f[6];
  c[3] = f[2] * f[7] - f[1] * f[8];
  c[4] = f[0] * f[8] - f[2] * f[6];
  c[5] = f[1] * f[6] - f[0] * f[7];
  c[6] = f[1] * f[5] - f[2] * f[4];
  c[7] = f[2] * f[3] - f[0] * f[5];
  c[8] = f[0] * f[4] - f[1] * f[3];
}

INLINE PlaLanes
norm2(const PlaLanes f[9])
{
  return dot3(f, f) + dot3(f + 3, f + 3) + dot3(f + 6, f + 6);
}

/* ln x for normal x > 0: x = 2^e m with m in [sqrt 1/2, sqrt 2), ln m = 2 artanh((m - 1) / (m + 1))
 */
INLINE PlaLanes
lanes_log(PlaLanes x)
{
  const PlaLanes one = pla_lanes_set(1.0);
  PlaMask bits = (PlaMask)x;
  /* shifted so that the exponent changes at sqrt 1/2 instead of at 1 */
  PlaMask shifted = bits + (0x3ff0000000000000LL - 0x3fe6a09e667f3bcdLL);
  PlaMask exponent = (shifted >> 52) - 1023;
  PlaLanes m = (PlaLanes)(bits - (exponent << 52));
  /* small integers to doubles by way of 3 x 2^51 */
  PlaLanes e = (PlaLanes)(exponent + 0x4338000000000000LL) - pla_lanes_set(0x1.8p52);
  PlaLanes s = (m - one) / (m + one), q = s * s;
  PlaLanes p = pla_lanes_set(2.0 / 21.0);
  for (int k = 19; k >= 3; k -= 2)
    p = p * q + pla_lanes_set(2.0 / k);
  /* ln 2 in two parts: the first times any exponent is exact */
  PlaLanes low = e * pla_lanes_set(0x1.ef35793c76730p-45) + s * q * p;
  return e * pla_lanes_set(0x1.62e42fefa3800p-1) + (s + s + low);
}

/* the rotation of F = R S where Newton's iteration X <- (X + X^-T) / 2 is safe (det F > 0 and not
 * too flat), from the SVD elsewhere */
INLINE void
rotation(const PlaLanes f[9], PlaLanes det, PlaLanes i1, PlaLanes volume, PlaLanes r[9])
{
  const PlaLanes zero = pla_lanes_set(0.0), one = pla_lanes_set(1.0), half = pla_lanes_set(0.5);
  PlaMask safe = (det > zero) & (det * det > pla_lanes_set(1e-4) * i1 * i1 * i1);
  for (int c = 0; c < 9; c++)
    r[c] = pla_lanes_select(safe, f[c], c % 4 ? zero : one);
  for (int it = 0; it < 16; it++) {
    PlaLanes cof[9], change = zero;
    cofactor(r, cof);
    PlaLanes inverse = half / dot3(r, cof);
    for (int c = 0; c < 9; c++) {
      PlaLanes next = half * r[c] + inverse * cof[c], d = next - r[c];
      change += d * d;
      r[c] = next;
    }
    /* it squares the error: what is left is below rounding */
    if (!pla_lanes_any(change > pla_lanes_set(1e-16)))
      break;
  }
  if (!pla_lanes_any(~safe & (volume > zero)))
    return;
  double fa[36], u[36], s[12], v[36];
  for (int c = 0; c < 9; c++)
    pla_lanes_store(fa + 4 * c, f[c]);
  PLA_KERNEL_NAME(pla_svd3_range)(0, PLA_LANES, PLA_LANES, fa, u, s, v);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      PlaLanes sum = zero;
      for (int k = 0; k < 3; k++)
        sum += pla_lanes_load(u + 4 * (3 * i + k)) * pla_lanes_load(v + 4 * (3 * j + k));
      r[3 * i + j] = pla_lanes_select(safe, r[3 * i + j], sum);
    }
}

/* force -= volume pg, a += volume (shear |g|^2 1 + vol c c^T) */
INLINE void
add_terms(Sums *sums, PlaLanes volume, const PlaLanes pg[3], PlaLanes shear_g2, PlaLanes vol,
          const PlaLanes c[3])
{
  PlaLanes w = volume * vol, diagonal = volume * shear_g2;
  PlaLanes wc[3] = { w * c[0], w * c[1], w * c[2] };
  for (int i = 0; i < 3; i++) {
    sums->f[i] -= volume * pg[i];
    sums->a[i] += diagonal + wc[i] * c[i];
  }
  sums->a[3] += wc[0] * c[1];
  sums->a[4] += wc[0] * c[2];
  sums->a[5] += wc[1] * c[2];
}

/* the lanes of @mask through the material's own functions */
static __attribute__((noinline)) void
add_generic(const PlaFemModel *model, const int *cell, PlaMask mask, const PlaLanes f[9],
            const PlaLanes g[3], PlaLanes volume, Sums *sums)
{
  for (int l = 0; l < PLA_LANES; l++) {
    if (!mask[l])
      continue;
    double fl[9], pg[3], matrix[6];
    for (int c = 0; c < 9; c++)
      fl[c] = f[c][l];
    pla_pbng_generic_point(model, cell[l], fl, (double[3]){ g[0][l], g[1][l], g[2][l] }, pg,
                           matrix);
    for (int i = 0; i < 3; i++)
      sums->f[i][l] -= volume[l] * pg[i];
    for (int i = 0; i < 6; i++)
      sums->a[i][l] += volume[l] * matrix[i];
  }
}

/* one integration point: @kind is a constant wherever this is inlined */
INLINE void
add_point(PlaLawKind kind, const PlaPbngWork *work, const PlaLaw *law, const int *cell,
          const PlaLanes f[9], const PlaLanes g[3], PlaLanes volume, Sums *sums)
{
  const PlaLanes zero = pla_lanes_set(0.0), one = pla_lanes_set(1.0);
  if (kind == PLA_LAW_GENERIC) {
    add_generic(work->model, cell, volume > zero, f, g, volume, sums);
    return;
  }
  const PlaLanes c0 = pla_lanes_set(law->c0), c1 = pla_lanes_set(law->c1);
  PlaLanes cof[9], c[3], fg[3], pg[3];
  PlaLanes vol = pla_lanes_set(law->vol), shear_g2 = pla_lanes_set(law->shear) * dot3(g, g);
  apply(f, g, fg);
  if (kind == PLA_LAW_SPREAD) {
    for (int i = 0; i < 3; i++)
      pg[i] = c0 * fg[i];
    add_terms(sums, volume, pg, shear_g2, zero, pg);
    return;
  }
  cofactor(f, cof);
  PlaLanes det = dot3(f, cof);
  apply(cof, g, c);
  if (kind == PLA_LAW_NEO_HOOKEAN_MM) {
    PlaLanes q = (c0 + c1) * (det - one) - c0;
    for (int i = 0; i < 3; i++)
      pg[i] = c0 * fg[i] + q * c[i];
  } else if (kind == PLA_LAW_STABLE_NEO_HOOKEAN) {
    PlaLanes shear = c0 - c0 / (one + norm2(f));
    PlaLanes q = c1 * (det - one) - pla_lanes_set(0.75) * c0;
    for (int i = 0; i < 3; i++)
      pg[i] = shear * fg[i] + q * c[i];
  } else if (kind == PLA_LAW_NEO_HOOKEAN) {
    /* the smallest stretch is at least J / |cof F|: above the floor, ln J needs no stretches */
    PlaMask safe = (det > zero) &
                   (det * det >= pla_lanes_set(PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR) * norm2(cof));
    PlaMask rest = ~safe & (volume > zero);
    PlaLanes j = pla_lanes_select(safe, det, one), inverse = one / j, l = lanes_log(j);
    PlaLanes q = (c1 * l - c0) * inverse;
    for (int i = 0; i < 3; i++)
      pg[i] = c0 * fg[i] + q * c[i];
    if (law->hessian == PLA_PBNG_NODAL)
      vol = pla_lanes_max(vol, (c0 + c1 * (one - l)) * inverse * inverse);
    if (pla_lanes_any(rest)) {
      add_generic(work->model, cell, rest, f, g, volume, sums);
      volume = pla_lanes_select(safe, volume, zero);
      for (int i = 0; i < 3; i++) {
        pg[i] = pla_lanes_select(safe, pg[i], zero);
        c[i] = pla_lanes_select(safe, c[i], zero);
      }
    }
  } else {
    PlaLanes r[9], rg[3], two_mu = c0 + c0;
    rotation(f, det, norm2(f), volume, r);
    apply(r, g, rg);
    if (kind == PLA_LAW_FIXED_COROTATED) {
      PlaLanes q = c1 * (det - one);
      for (int i = 0; i < 3; i++)
        pg[i] = two_mu * (fg[i] - rg[i]) + q * c[i];
    } else {
      PlaLanes trace = dot3(r, f) + dot3(r + 3, f + 3) + dot3(r + 6, f + 6) - pla_lanes_set(3.0);
      PlaLanes q = c1 * trace;
      for (int i = 0; i < 3; i++) {
        pg[i] = two_mu * (fg[i] - rg[i]) + q * rg[i];
        c[i] = rg[i];
      }
      /* a stretched element also resists turning */
      shear_g2 += pla_lanes_max(q, zero) * dot3(g, g);
    }
  }
  add_terms(sums, volume, pg, shear_g2, vol, c);
}

/* from positions to displacements */
INLINE void
subtract_base(const PlaPbngWork *work, const int *index, PlaLanes x[3])
{
  PlaLanes base[3];
  load_points(work->base, index, base);
  for (int i = 0; i < 3; i++)
    x[i] -= base[i];
}

INLINE void
add_tets(PlaLawKind kind, const PlaPbngWork *work, const PlaLaw *law, const PlaPbngPack *pack,
         const PlaPbngRun *run, const PlaLanes x[3], Sums *sums)
{
  const double *number = pack->number + run->number;
  const int *index = pack->index + run->index;
  for (int k = 0; k < run->n; k++) {
    PlaLanes d[3][3], grad[3][3], f[9], g[3];
    for (int j = 0; j < 3; j++) {
      load_points(work->x, index + PLA_LANES * j, d[j]);
      if (kind == PLA_LAW_SPREAD)
        subtract_base(work, index + PLA_LANES * j, d[j]);
      for (int i = 0; i < 3; i++) {
        d[j][i] -= x[i];
        grad[j][i] = pla_lanes_load(number + PLA_LANES * (3 * j + i));
      }
    }
    /* F = sum (x_j - x) g_j^T; the own gradient is minus the sum of the others */
    for (int i = 0; i < 3; i++) {
      for (int m = 0; m < 3; m++)
        f[3 * i + m] = d[0][i] * grad[0][m] + d[1][i] * grad[1][m] + d[2][i] * grad[2][m];
      g[i] = -(grad[0][i] + grad[1][i] + grad[2][i]);
    }
    add_point(kind, work, law, index + 3 * PLA_LANES, f, g, pla_lanes_load(number + PLA_LANES * 9),
              sums);
    number += PLA_PBNG_TET_NUMBERS * PLA_LANES;
    index += PLA_PBNG_TET_INDICES * PLA_LANES;
  }
}

INLINE void
add_hexes(PlaLawKind kind, const PlaPbngWork *work, const PlaLaw *law, const PlaPbngPack *pack,
          const PlaPbngRun *run, const PlaLanes x[3], Sums *sums)
{
  const PlaFemModel *model = work->model;
  const int first = 4 * model->n_tets;
  for (int k = 0; k < run->n; k++) {
    const int *corner = pack->index + run->index + (size_t)(PLA_LANES * k);
    int hex[PLA_LANES], own[PLA_LANES], cell[PLA_LANES], some = 0;
    /* lanes without a hex borrow one and give it no weight */
    for (int l = 0; l < PLA_LANES; l++)
      if (corner[l] >= 0)
        some = corner[l] - first;
    for (int l = 0; l < PLA_LANES; l++) {
      int at = corner[l] >= 0 ? corner[l] - first : some;
      hex[l] = at / 8;
      own[l] = at % 8;
      cell[l] = model->n_tets + hex[l];
    }
    PlaLanes d[8][3];
    for (int a = 0; a < 8; a++) {
      int verts[PLA_LANES];
      for (int l = 0; l < PLA_LANES; l++)
        verts[l] = model->hex[8 * (size_t)hex[l] + (size_t)a];
      load_points(work->x, verts, d[a]);
      if (kind == PLA_LAW_SPREAD)
        subtract_base(work, verts, d[a]);
      for (int i = 0; i < 3; i++)
        d[a][i] -= x[i];
    }
    for (int q = 0; q < 8; q++) {
      const double *grad[PLA_LANES];
      PlaLanes volume, f[9], g[3];
      for (int l = 0; l < PLA_LANES; l++) {
        size_t point = 8 * (size_t)hex[l] + (size_t)q;
        grad[l] = model->hex_grad + 24 * point;
        volume[l] = corner[l] >= 0 ? model->hex_weight[point] : 0.0;
      }
      for (int i = 0; i < 9; i++)
        f[i] = pla_lanes_set(0.0);
      for (int a = 0; a < 8; a++)
        for (int m = 0; m < 3; m++) {
          PlaLanes ga = { grad[0][3 * a + m], grad[1][3 * a + m], grad[2][3 * a + m],
                          grad[3][3 * a + m] };
          for (int i = 0; i < 3; i++)
            f[3 * i + m] += d[a][i] * ga;
        }
      for (int m = 0; m < 3; m++)
        g[m] = (PlaLanes){ grad[0][3 * own[0] + m], grad[1][3 * own[1] + m],
                           grad[2][3 * own[2] + m], grad[3][3 * own[3] + m] };
      add_point(kind, work, law, cell, f, g, volume, sums);
    }
  }
}

#define LAW_FUNCTION(name, kind)                                                                   \
  static __attribute__((noinline)) void add_##name(const PlaPbngWork *work, const PlaLaw *law,     \
                                                   const PlaPbngPack *pack, const PlaPbngRun *run, \
                                                   const PlaLanes x[3], Sums *sums)                \
  {                                                                                                \
    if (run->hexes)                                                                                \
      add_hexes(kind, work, law, pack, run, x, sums);                                              \
    else                                                                                           \
      add_tets(kind, work, law, pack, run, x, sums);                                               \
  }
LAW_FUNCTION(any, PLA_LAW_GENERIC)
LAW_FUNCTION(neo_hookean, PLA_LAW_NEO_HOOKEAN)
LAW_FUNCTION(neo_hookean_mm, PLA_LAW_NEO_HOOKEAN_MM)
LAW_FUNCTION(stable_neo_hookean, PLA_LAW_STABLE_NEO_HOOKEAN)
LAW_FUNCTION(corotated, PLA_LAW_COROTATED)
LAW_FUNCTION(fixed_corotated, PLA_LAW_FIXED_COROTATED)
LAW_FUNCTION(spread, PLA_LAW_SPREAD)

static void (*const law_function[])(const PlaPbngWork *, const PlaLaw *, const PlaPbngPack *,
                                    const PlaPbngRun *, const PlaLanes[3], Sums *) = {
  [PLA_LAW_GENERIC] = add_any,
  [PLA_LAW_NEO_HOOKEAN] = add_neo_hookean,
  [PLA_LAW_NEO_HOOKEAN_MM] = add_neo_hookean_mm,
  [PLA_LAW_STABLE_NEO_HOOKEAN] = add_stable_neo_hookean,
  [PLA_LAW_COROTATED] = add_corotated,
  [PLA_LAW_FIXED_COROTATED] = add_fixed_corotated,
  [PLA_LAW_SPREAD] = add_spread,
};

/* springs of each lane */
static __attribute__((noinline)) void
add_links(const PlaPbngWork *work, const PlaPbngGroup *group, Sums *sums)
{
  for (int l = 0; l < group->n; l++) {
    double f[3] = { 0 }, a[6] = { 0 };
    pla_pbng_add_springs(work, group->node[l], f, a);
    for (int i = 0; i < 3; i++)
      sums->f[i][l] += f[i];
    for (int i = 0; i < 6; i++)
      sums->a[i][l] += a[i];
  }
}

/* dx = A^-1 f by A = L D L^T */
INLINE void
solve(const Sums *sums, PlaLanes dx[3])
{
  const PlaLanes *a = sums->a, one = pla_lanes_set(1.0);
  PlaLanes i0 = one / a[0], l1 = a[3] * i0, l2 = a[4] * i0;
  PlaLanes d1 = a[1] - l1 * a[3], e = a[5] - l1 * a[4], i1 = one / d1, l3 = e * i1;
  PlaLanes d2 = a[2] - l2 * a[4] - l3 * e;
  PlaLanes y0 = sums->f[0], y1 = sums->f[1] - l1 * y0, y2 = sums->f[2] - l2 * y0 - l3 * y1;
  dx[2] = y2 / d2;
  dx[1] = y1 * i1 - l3 * dx[2];
  dx[0] = y0 * i0 - l1 * dx[1] - l2 * dx[2];
}

/* rows and columns of coordinates that may not move become those of the identity */
INLINE void
hold(Sums *sums, const double *mobile)
{
  const PlaLanes one = pla_lanes_set(1.0);
  PlaLanes m[3];
  for (int i = 0; i < 3; i++) {
    m[i] = pla_lanes_load(mobile + PLA_LANES * i);
    sums->f[i] *= m[i];
    sums->a[i] = sums->a[i] * m[i] + (one - m[i]);
  }
  sums->a[3] *= m[0] * m[1];
  sums->a[4] *= m[0] * m[2];
  sums->a[5] *= m[1] * m[2];
}

INLINE bool
lane_moves(const double *mobile, int l)
{
  return mobile[l] + mobile[PLA_LANES + l] + mobile[2 * PLA_LANES + l] > 0.0;
}

static __attribute__((noinline)) void
hold_outside(const PlaPbngWork *work, const PlaPbngGroup *group, const Sums *sums,
             const double *mobile, PlaLanes dx[3])
{
  for (int l = 0; l < group->n; l++) {
    double a[6], f[3], m[3], step[3];
    for (int i = 0; i < 6; i++)
      a[i] = sums->a[i][l];
    for (int i = 0; i < 3; i++) {
      f[i] = sums->f[i][l];
      m[i] = mobile[PLA_LANES * i + l];
      step[i] = dx[i][l];
    }
    pla_pbng_hold_outside(work, group->node[l], a, f, m, step);
    for (int i = 0; i < 3; i++)
      dx[i][l] = step[i];
  }
}

void
PLA_KERNEL_NAME(pla_pbng_relax)(const PlaPbngWork *work, const PlaPbngPack *pack, int begin,
                                int end)
{
  for (int g = begin; g < end; g++) {
    const PlaPbngGroup *group = &pack->group[g];
    const double *mobile = pack->mobile + (size_t)(3 * PLA_LANES) * (size_t)g;
    if (!(pack->state[g] & PLA_PBNG_MOVES))
      continue;
    PlaLanes x[3], dx[3], origin[3];
    Sums sums;
    load_points(work->x, group->node, x);
    load_points(work->load, group->node, sums.f);
    for (int i = 0; i < 3; i++)
      origin[i] = x[i];
    if (work->base)
      subtract_base(work, group->node, origin);
    for (int i = 0; i < 6; i++)
      sums.a[i] = pla_lanes_set(0.0);
    if (work->inertia) {
      PlaLanes predicted[3], m;
      load_points(work->predicted, group->node, predicted);
      for (int l = 0; l < PLA_LANES; l++)
        m[l] = work->inertia[group->node[l]];
      for (int i = 0; i < 3; i++) {
        sums.f[i] -= m * (x[i] - predicted[i]);
        sums.a[i] = m;
      }
    }
    for (int r = group->first_run; r < group->first_run + group->n_runs; r++) {
      const PlaLaw *law = &work->law[pack->run[r].material];
      law_function[law->kind](work, law, pack, &pack->run[r], origin, &sums);
    }
    if (pack->state[g] & PLA_PBNG_LINKED)
      add_links(work, group, &sums);
    if (work->force) {
      for (int l = 0; l < group->n; l++)
        for (int i = 0; i < 3 && lane_moves(mobile, l); i++)
          work->force[4 * (size_t)group->node[l] + (size_t)i] =
              mobile[PLA_LANES * i + l] * sums.f[i][l];
      continue;
    }
    hold(&sums, mobile);
    solve(&sums, dx);
    if (pack->state[g] & PLA_PBNG_LINKED)
      hold_outside(work, group, &sums, mobile, dx);
    /* a lane that rests is not written: another group may own its vertex now */
    for (int l = 0; l < group->n; l++)
      for (int i = 0; i < 3 && lane_moves(mobile, l); i++)
        work->x[4 * (size_t)group->node[l] + (size_t)i] = x[i][l] + dx[i][l];
  }
}

/* Distances to the zero surface of the samples.
 *
 * The surface is the one of contour.c.  Every corner of a cell that it crosses takes the distance
 * to the nearest triangle of its cells.  From there the number of the
 * nearest triangle travels outwards, as in vector distance transforms (Danielsson 1980), in rounds:
 * samples that have found a nearer triangle offer it to their 26 neighbours, as long as any do.
 * Distances are always to a real triangle, so errors are those of a second-best triangle and do not
 * add up along the way.  A round reads only what the last one has written down, and a slice of
 * samples has one writer: the outcome does not depend on the number of threads.
 *
 * Triangles are chords of the surface that the samples stand for.  So their corners sit where a
 * cubic through four samples is zero, and each carries the normal that the samples' slopes give.
 * Over a triangle the normals turn linearly and the surface bulges as they say; the point below a
 * sample is where its normal passes through the sample.  Neighbours agree along their common edge,
 * and the distance is smooth and of third order, where that of chords has a kink at every edge.  At
 * creases, where normals say nothing, triangles stay flat. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/levelset/contour.h"
#include "anatomy/levelset/levelset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a triangle ready for distance queries: corner, edges from it, and their products, mm */
typedef struct {
  float p[3], u[3], v[3];
  float uu, uv, vv, inv_det;
} Facet;

/* a sample of a slice that has found a nearer triangle */
typedef struct {
  int i, j;
  int facet;
  float d2;      /* squared distance, mm^2 */
  float away[3]; /* from the nearest point of the facet, mm */
} Found;

/* those of one slice in one round */
typedef struct {
  Found *at;
  int n, room;
} Front;

typedef struct {
  const PlaLevelSet *ls;
  const Facet *facet;
  const int *slice;                 /* as PlaContour.slice_tri */
  const int *cell;                  /* lower sample of each triangle's cell, i and j (n_tris x 2) */
  int *nearest;                     /* triangle of each sample, -1: none yet */
  float *best;                      /* squared distance, mm^2 */
  const int *tri;                   /* vertices of each triangle (n_tris x 3) */
  const float *normal;              /* unit normal of each vertex (n_verts x 3); zero: none */
  const uint8_t *is_crease;         /* of each triangle: it stays flat */
  const int *around_start, *around; /* triangles of each vertex */
  float limit2;
  uint8_t *listed;    /* of each sample: it is in its slice's front */
  Front *front[2];    /* of each slice: of the last round, and of this one */
  float handed;       /* -1 where the affine mirrors */
  float spacing;      /* smallest step between samples, mm */
  float column[3][3]; /* mm per index step */
  float origin[3];
} Field;

static void
facet_init(const double a[3], const double b[3], const double c[3], Facet *f)
{
  double u[3], v[3];
  pla_vec3_sub(b, a, u);
  pla_vec3_sub(c, a, v);
  double uu = pla_vec3_dot(u, u), uv = pla_vec3_dot(u, v), vv = pla_vec3_dot(v, v);
  double det = uu * vv - uv * uv;
  for (int d = 0; d < 3; d++) {
    f->p[d] = (float)a[d];
    f->u[d] = (float)u[d];
    f->v[d] = (float)v[d];
  }
  f->uu = (float)uu;
  f->uv = (float)uv;
  f->vv = (float)vv;
  f->inv_det = det > 0.0 ? (float)(1.0 / det) : 0.0f;
}

static inline float
clamp01(float x)
{
  return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

/* squared distance from x to the triangle p + s u + t v, and where on it: of the plane's nearest
 * point when it is inside, else of the nearest point of the three sides */
static inline float
facet_nearest(const Facet *f, const float x[3], float *at_s, float *at_t)
{
  /* barycentric coordinates of the projection into the plane */
  const float w[3] = { x[0] - f->p[0], x[1] - f->p[1], x[2] - f->p[2] };
  const float wu = w[0] * f->u[0] + w[1] * f->u[1] + w[2] * f->u[2];
  const float wv = w[0] * f->v[0] + w[1] * f->v[1] + w[2] * f->v[2];
  float s = (f->vv * wu - f->uv * wv) * f->inv_det;
  float t = (f->uu * wv - f->uv * wu) * f->inv_det;
  if (!(s >= 0.0f && t >= 0.0f && s + t <= 1.0f && f->inv_det > 0.0f)) {
    /* the side that the point is beyond; two candidates near a corner */
    float best = INFINITY, bs = 0.0f, bt = 0.0f;
    if (t < 0.0f || f->inv_det <= 0.0f) {
      float a = f->uu > 0.0f ? clamp01(wu / f->uu) : 0.0f;
      float d = a * (a * f->uu - 2.0f * wu);
      best = d;
      bs = a;
    }
    if (s < 0.0f || f->inv_det <= 0.0f) {
      float a = f->vv > 0.0f ? clamp01(wv / f->vv) : 0.0f;
      float d = a * (a * f->vv - 2.0f * wv);
      if (d < best) {
        best = d;
        bs = 0.0f;
        bt = a;
      }
    }
    if (s + t > 1.0f || f->inv_det <= 0.0f) {
      float l = f->uu - 2.0f * f->uv + f->vv;
      float a = l > 0.0f ? clamp01((wv - wu - f->uv + f->uu) / l) : 0.0f;
      float cs = 1.0f - a, ct = a;
      float d =
          cs * cs * f->uu + 2.0f * cs * ct * f->uv + ct * ct * f->vv - 2.0f * (cs * wu + ct * wv);
      if (d < best) {
        bs = cs;
        bt = ct;
      }
    }
    s = bs;
    t = bt;
  }
  /* squared distance to the nearest point */
  float d = 0.0f;
  for (int k = 0; k < 3; k++) {
    float e = w[k] - s * f->u[k] - t * f->v[k];
    d += e * e;
  }
  *at_s = s;
  *at_t = t;
  return d;
}

static inline float
facet_distance2(const Facet *f, const float x[3])
{
  float s, t;
  return facet_nearest(f, x, &s, &t);
}

static inline void
sample_position(const Field *f, int i, int j, int k, float x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = f->origin[d] + (float)i * f->column[0][d] + (float)j * f->column[1][d] +
           (float)k * f->column[2][d];
}

/* whether the triangle is nearer than what sample v knew */
static inline bool
try_facet(Field *f, size_t v, int facet, const float x[3])
{
  const float d = facet_distance2(&f->facet[facet], x);
  const bool nearer = d < f->best[v] && d <= f->limit2;
  if (nearer) {
    f->best[v] = d;
    f->nearest[v] = facet;
  }
  return nearer;
}

/* samples of slice k against the triangles of the cells that they are corners of */
static void
seed_slice(Field *f, int k)
{
  const int *n = f->ls->dims;
  /* the cells between samples k - 1 and k + 1 are slices k and k + 1 */
  for (int t = f->slice[k]; t < f->slice[k + 2 > n[2] + 1 ? n[2] + 1 : k + 2]; t++) {
    int i0 = f->cell[2 * t], j0 = f->cell[2 * t + 1];
    for (int j = j0; j <= j0 + 1 && j < n[1]; j++)
      for (int i = i0; i <= i0 + 1 && i < n[0]; i++) {
        float x[3];
        sample_position(f, i, j, k, x);
        try_facet(f, (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k), t, x);
      }
  }
}

/* ---- the curved surface ---- */

/* how far, of an edge, the cubic's zero may be from the line's; further off the samples are no
 * smooth function there */
static const double most_shift = 0.15;
/* cosine of the angle between a triangle and the normal of its corner from which on it is a crease
 */
static const float crease = 0.8f;
/* smallest radius of curvature, voxels */
static const float sharpest = 2.0f;
/* voxels between the flat and the curved surface, beyond what the triangle's own bulge explains */
static const float most_bulge = 0.02f;

/* Zero of the cubic through the values at -1, 0, 1 and 2, near @t, the zero of the line through the
 * middle two. */
static double
cubic_zero(const double f[4], double t)
{
  const double line = t, c1 = f[2] - f[0] / 3.0 - 0.5 * f[1] - f[3] / 6.0,
               c2 = 0.5 * (f[0] + f[2]) - f[1], c3 = 0.5 * (f[1] - f[2]) + (f[3] - f[0]) / 6.0;
  for (int k = 0; k < 4; k++) {
    const double slope = c1 + t * (2.0 * c2 + t * 3.0 * c3);
    if (slope * (f[2] - f[1]) <= 0.0)
      return line;
    t -= (f[1] + t * (c1 + t * (c2 + t * c3))) / slope;
  }
  return fabs(t - line) < most_shift && t > 0.0 && t < 1.0 ? t : line;
}

/* moves a vertex of the contour, given in index coordinates, along its grid edge onto the surface,
 * and finds the normal there; zero where the samples have no slope */
static void
place_vertex(const PlaLevelSet *ls, double pos[3], float normal[3])
{
  const int *n = ls->dims;
  const size_t stride[3] = { 1, (size_t)n[0], (size_t)n[0] * (size_t)n[1] };
  /* the grid edge that the vertex lies on */
  int at[3], axis = 0;
  size_t v = 0;
  for (int d = 0; d < 3; d++) {
    at[d] = (int)floor(pos[d]);
    axis = pos[d] > at[d] ? d : axis;
    v += stride[d] * (size_t)at[d];
  }
  /* zero of the cubic through four samples, where they exist */
  double t = pos[axis] - at[axis];
  if (at[axis] > 0 && at[axis] + 2 < n[axis]) {
    double f[4];
    for (int k = 0; k < 4; k++)
      f[k] = ls->phi_mm[v + stride[axis] * (size_t)k - stride[axis]];
    t = cubic_zero(f, t);
    pos[axis] = at[axis] + t;
  }
  /* gradient by central differences at both ends, interpolated, turned into mm */
  double g[3] = { 0.0, 0.0, 0.0 }, grad[3];
  for (int end = 0; end < 2; end++)
    for (int d = 0; d < 3; d++) {
      const size_t w = v + (end ? stride[axis] : 0);
      const int i = at[d] + (end && d == axis), lo = i > 0, hi = i + 1 < n[d];
      if (lo + hi > 0)
        g[d] += (end ? t : 1.0 - t) *
                (ls->phi_mm[hi ? w + stride[d] : w] - ls->phi_mm[lo ? w - stride[d] : w]) /
                (lo + hi);
    }
  for (int d = 0; d < 3; d++)
    grad[d] =
        g[0] * ls->inverse_mm[d] + g[1] * ls->inverse_mm[4 + d] + g[2] * ls->inverse_mm[8 + d];
  const double slope = pla_vec3_norm(grad);
  for (int d = 0; d < 3; d++)
    normal[d] = slope > 0.0 ? (float)(grad[d] / slope) : 0.0f;
}

/* x = a^-1 b for the columns of a */
static inline bool
solve3(const float a[3][3], const float b[3], float x[3])
{
  float c[3][3];
  for (int i = 0; i < 3; i++) {
    const float *p = a[(i + 1) % 3], *q = a[(i + 2) % 3];
    for (int d = 0; d < 3; d++)
      c[i][d] = p[(d + 1) % 3] * q[(d + 2) % 3] - p[(d + 2) % 3] * q[(d + 1) % 3];
  }
  const float det = a[0][0] * c[0][0] + a[0][1] * c[0][1] + a[0][2] * c[0][2];
  for (int i = 0; i < 3; i++)
    x[i] = (b[0] * c[i][0] + b[1] * c[i][1] + b[2] * c[i][2]) / det;
  return det != 0.0f;
}

static inline float
dot3(const float a[3], const float b[3])
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* corners' normals of a triangle, and how they turn along its sides */
typedef struct {
  const float *n0;
  float d1[3], d2[3];
  float c01, c02, c12; /* bulge: c_ij = (n_j - n_i) . (p_j - p_i) / 2 */
} Patch;

static Patch
patch_of(const Field *f, int facet)
{
  const Facet *fa = &f->facet[facet];
  const int *v = f->tri + 3 * (size_t)facet;
  const float *n1 = f->normal + 3 * (size_t)v[1], *n2 = f->normal + 3 * (size_t)v[2];
  Patch p = { .n0 = f->normal + 3 * (size_t)v[0] };
  for (int d = 0; d < 3; d++) {
    p.d1[d] = n1[d] - p.n0[d];
    p.d2[d] = n2[d] - p.n0[d];
    p.c12 += 0.5f * (n2[d] - n1[d]) * (fa->v[d] - fa->u[d]);
  }
  p.c01 = 0.5f * dot3(p.d1, fa->u);
  p.c02 = 0.5f * dot3(p.d2, fa->v);
  return p;
}

/* whether the normals of a triangle turn too much for a smooth surface */
static bool
is_crease(const Field *f, int facet)
{
  const Facet *fa = &f->facet[facet];
  const int *v = f->tri + 3 * (size_t)facet;
  const float *n[3], least = 0.3f * f->spacing;
  float face[3];
  for (int d = 0; d < 3; d++) {
    n[d] = f->normal + 3 * (size_t)v[d];
    face[d] = f->handed *
              (fa->u[(d + 1) % 3] * fa->v[(d + 2) % 3] - fa->u[(d + 2) % 3] * fa->v[(d + 1) % 3]);
  }
  const float longest =
      fmaxf(fmaxf(fa->uu, fa->vv), fmaxf(fa->uu - 2.0f * fa->uv + fa->vv, least * least));
  const float area2 = dot3(face, face);
  for (int q = 0; q < 3; q++) {
    const float up = dot3(face, n[q]), *m = n[(q + 1) % 3];
    const float turn[3] = { m[0] - n[q][0], m[1] - n[q][1], m[2] - n[q][2] };
    if (area2 > 1e-3f * longest * longest && (up < 0.0f || up * up < crease * crease * area2))
      return true;
    if (dot3(n[q], n[q]) == 0.0f ||
        dot3(turn, turn) * sharpest * sharpest * f->spacing * f->spacing > longest)
      return true;
  }
  return false;
}

/* the triangle beyond the side of @facet that is opposite to corner @q; -1: none */
static int
neighbour(const Field *f, int facet, int q)
{
  const int *v = f->tri + 3 * (size_t)facet, a = v[(q + 1) % 3], b = v[(q + 2) % 3];
  for (int k = f->around_start[a]; k < f->around_start[a + 1]; k++) {
    const int *w = f->tri + 3 * (size_t)f->around[k];
    if (f->around[k] != facet && (w[0] == b || w[1] == b || w[2] == b))
      return f->around[k];
  }
  return -1;
}

/* x = p + s u + t v + q N(s, t),  N = n0 + s (n1 - n0) + t (n2 - n0), solved for s, t and q from
 * where they are */
static bool
solve_patch(const Facet *fa, const Patch *p, const float x[3], float enough, float stq[3])
{
  enum { ROUNDS = 8 };
  for (int k = 0; k < ROUNDS; k++) {
    float column[3][3], miss[3], step[3];
    const float s = stq[0], t = stq[1], q = stq[2];
    for (int d = 0; d < 3; d++) {
      column[0][d] = fa->u[d] + q * p->d1[d];
      column[1][d] = fa->v[d] + q * p->d2[d];
      column[2][d] = p->n0[d] + s * p->d1[d] + t * p->d2[d];
      miss[d] = x[d] - fa->p[d] - s * fa->u[d] - t * fa->v[d] - q * column[2][d];
    }
    if (!solve3(column, miss, step))
      return false;
    for (int d = 0; d < 3; d++)
      stq[d] += step[d];
    if (step[0] * step[0] * fa->uu + step[1] * step[1] * fa->vv < enough)
      return true;
  }
  return false;
}

/* Whether the point (s, t) of a triangle, or of those that share it at a side or corner, is part of
 * a crease: which of them is found to be nearest is a matter of rounding. */
static bool
meets_crease(const Field *f, int facet, float s, float t)
{
  const float b[3] = { 1.0f - s - t, s, t }, none = 1e-4f;
  bool crease_there = f->is_crease[facet];
  for (int q = 0; q < 3 && !crease_there; q++) {
    if (b[q] > none)
      continue;
    const int beyond = neighbour(f, facet, q), corner = f->tri[3 * (size_t)facet + (q + 1) % 3];
    crease_there = beyond >= 0 && f->is_crease[beyond];
    if (b[(q + 2) % 3] <= none)
      for (int k = f->around_start[corner]; k < f->around_start[corner + 1]; k++)
        crease_there = crease_there || f->is_crease[f->around[k]];
  }
  return crease_there;
}

/* Signed distance of @x, whose nearest point on the flat triangle @facet is (s, t), @flat away by
 * its side, from the curved surface, whose height above a triangle is sum c_ij b_i b_j: in the
 * triangle that holds the point below x, found by walking.  @flat again where that fails. */
static float
curved_distance(const Field *f, int facet, const float x[3], float s, float t, float flat)
{
  enum { HOPS = 16 };
  const float enough = 1e-6f * f->spacing * f->spacing;
  float stq[3] = { s, t, flat }, bulge = 0.0f;
  int before = -1;
  if (meets_crease(f, facet, s, t))
    return flat;
  for (int hop = 0; hop < HOPS; hop++) {
    const Patch p = patch_of(f, facet);
    if (f->is_crease[facet] || !solve_patch(&f->facet[facet], &p, x, enough, stq))
      return flat;
    const float b[3] = { 1.0f - stq[0] - stq[1], stq[0], stq[1] };
    const int q = b[0] < b[1] ? (b[0] < b[2] ? 0 : 2) : (b[1] < b[2] ? 1 : 2);
    bulge = fmaxf(bulge, 0.5f * (fabsf(p.c01) + fabsf(p.c02) + fabsf(p.c12)));
    const int beyond = b[q] < -1e-4f ? neighbour(f, facet, q) : before;
    if ((beyond < 0 && b[q] < -1e-4f) || (beyond == before && b[q] < -0.02f))
      return flat;
    /* by rounding a point on a side may be beyond it from either triangle */
    if (beyond != before) {
      before = facet;
      facet = beyond;
      stq[0] = stq[1] = 1.0f / 3.0f;
      continue;
    }
    float normal[3];
    for (int d = 0; d < 3; d++)
      normal[d] = p.n0[d] + stq[0] * p.d1[d] + stq[1] * p.d2[d];
    const float height = p.c01 * b[0] * b[1] + p.c02 * b[0] * b[2] + p.c12 * b[1] * b[2];
    const float curved = (stq[2] - height) * sqrtf(dot3(normal, normal));
    /* near the medial axis the point below is hard to find, but not the distance to it */
    const float most = most_bulge * f->spacing + bulge;
    return fminf(fmaxf(curved, flat - most), flat + most);
  }
  return flat;
}

/* the signed distance of a sample; every one keeps its side */
static float
distance_of(const Field *f, int i, int j, int k, size_t v)
{
  const float side = f->ls->phi_mm[v] < 0.0f ? -1.0f : 1.0f;
  float s, t, x[3];
  if (f->nearest[v] < 0)
    return side * (float)INFINITY;
  sample_position(f, i, j, k, x);
  const float flat = sqrtf(facet_nearest(&f->facet[f->nearest[v]], x, &s, &t));
  return side * fmaxf(side * curved_distance(f, f->nearest[v], x, s, t, side * flat), 1e-6f);
}

/* what sample (i, j, k) has found */
static Found
found_at(const Field *f, int i, int j, int k)
{
  const size_t v =
      (size_t)i + (size_t)f->ls->dims[0] * ((size_t)j + (size_t)f->ls->dims[1] * (size_t)k);
  const Facet *facet = &f->facet[f->nearest[v]];
  Found found = { .i = i, .j = j, .facet = f->nearest[v], .d2 = f->best[v] };
  float s, t, x[3];
  sample_position(f, i, j, k, x);
  facet_nearest(facet, x, &s, &t);
  for (int d = 0; d < 3; d++)
    found.away[d] = x[d] - facet->p[d] - s * facet->u[d] - t * facet->v[d];
  return found;
}

/* the samples of slice k that the seeds have reached */
static bool
start_front(Field *f, int k)
{
  const int *n = f->ls->dims;
  Front *front = &f->front[0][k];
  for (int j = 0; j < n[1]; j++)
    for (int i = 0; i < n[0]; i++) {
      const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
      if (f->nearest[v] < 0)
        continue;
      if (!pla_array_reserve(&front->at, front->n + 1, &front->room, sizeof *front->at))
        return false;
      front->at[front->n++] = found_at(f, i, j, k);
      f->listed[v] = 1;
    }
  return true;
}

/* Offers the triangle of @from, of slice @of, to the samples of slice k around it, which is that
 * slice or one beside it.  Those that are nearer to the surface need no offer: theirs comes from
 * further in.  Neither do those that know one as near as the plane through the nearest point,
 * behind which the whole triangle lies. */
static bool
offer(Field *f, int k, int of, const Found *from, Front *next)
{
  const float nearly = 0.9999f; /* not worth a change, squared */
  const int *n = f->ls->dims;
  for (int j = from->j > 0 ? from->j - 1 : 0; j <= from->j + 1 && j < n[1]; j++)
    for (int i = from->i > 0 ? from->i - 1 : 0; i <= from->i + 1 && i < n[0]; i++) {
      const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
      if (f->best[v] <= from->d2)
        continue;
      float x[3], ahead = from->d2;
      for (int d = 0; d < 3; d++)
        ahead += from->away[d] *
                 ((float)(i - from->i) * f->column[0][d] + (float)(j - from->j) * f->column[1][d] +
                  (float)(k - of) * f->column[2][d]);
      if (ahead > 0.0f && ahead * ahead >= nearly * f->best[v] * from->d2)
        continue;
      sample_position(f, i, j, k, x);
      if (!try_facet(f, v, from->facet, x) || f->listed[v])
        continue;
      if (!pla_array_reserve(&next->at, next->n + 1, &next->room, sizeof *next->at))
        return false;
      f->listed[v] = 1;
      next->at[next->n++] = (Found){ .i = i, .j = j, .facet = -1 };
    }
  return true;
}

/* One round of slice k: what it and the slices beside it have found.  Samples further away than
 * @ripe, squared, wait: most of them will be offered better before their turn. */
static bool
advance(Field *f, int k, float ripe)
{
  const int *n = f->ls->dims;
  const size_t slice = (size_t)n[0] * (size_t)n[1] * (size_t)k;
  const int last = k + 1 < n[2] ? k + 1 : k;
  const Front *own = &f->front[0][k];
  Front *next = &f->front[1][k];
  next->n = 0;
  if (!pla_array_reserve(&next->at, own->n, &next->room, sizeof *next->at))
    return false;
  for (int c = 0; c < own->n; c++) {
    const Found *found = &own->at[c];
    if (found->d2 > ripe)
      next->at[next->n++] = *found;
    else
      f->listed[slice + (size_t)found->i + (size_t)n[0] * (size_t)found->j] = 0;
  }
  for (int kk = k > 0 ? k - 1 : 0; kk <= last; kk++)
    for (int c = 0; c < f->front[0][kk].n; c++)
      if (f->front[0][kk].at[c].d2 <= ripe && !offer(f, k, kk, &f->front[0][kk].at[c], next))
        return false;
  for (int c = 0; c < next->n; c++) {
    Found *found = &next->at[c];
    const size_t v = slice + (size_t)found->i + (size_t)n[0] * (size_t)found->j;
    if (found->facet != f->nearest[v])
      *found = found_at(f, found->i, found->j, k);
  }
  return true;
}

/* triangles travel outwards until nobody finds a nearer one */
static PlaStatus
spread(Field *f, double band_mm, PlaProgress *progress, PlaError *err)
{
  const int *n = f->ls->dims;
  const double widest = fmax(n[0], fmax(n[1], n[2])), rounds = fmin(band_mm / f->spacing, widest);
  bool failed = false;
  for (int round = 0;; round++) {
    const float ripe = (float)round * f->spacing;
    size_t found = 0;
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : found) reduction(|| : failed)
    for (int k = 0; k < n[2]; k++) {
      failed = !(round ? advance(f, k, ripe * ripe) : start_front(f, k)) || failed;
      found += (size_t)f->front[round > 0][k].n;
    }
    if (failed)
      return pla_fail_memory(err, "distances");
    if (found == 0)
      return PLA_OK;
    if (!pla_progress_step(progress, fmin(0.2 + 0.8 * round / (rounds + 1.0), 1.0)))
      return pla_fail_cancelled(err);
    if (round > 0) {
      Front *of_last = f->front[0];
      f->front[0] = f->front[1];
      f->front[1] = of_last;
    }
  }
}

/* triangles between the contour's vertices, once these are in place; their cells are those of the
 * contour */
static void
make_facets(Field *f, PlaContour *c, Facet *facet, int *cell, float *normal)
{
  /* coordinates relative to the middle of the grid, so that floats keep their precision */
  const double *a = f->ls->affine_mm;
  double centre[3];
  for (int d = 0; d < 3; d++) {
    centre[d] = 0.0;
    for (int e = 0; e < 3; e++) {
      f->column[e][d] = (float)a[4 * d + e];
      centre[d] += 0.5 * (f->ls->dims[e] - 1) * a[4 * d + e];
    }
    f->origin[d] = (float)-centre[d];
  }
  /* handedness of the axes */
  const double m[9] = { a[0], a[1], a[2], a[4], a[5], a[6], a[8], a[9], a[10] };
  f->handed = pla_mat3_det(m) < 0.0 ? -1.0f : 1.0f;
#pragma omp parallel for schedule(static)
  for (int v = 0; v < c->n_verts; v++)
    place_vertex(f->ls, c->pos + 3 * (size_t)v, normal + 3 * (size_t)v);
#pragma omp parallel for schedule(static)
  for (int t = 0; t < c->n_tris; t++) {
    double x[3][3], low[2] = { INFINITY, INFINITY };
    for (int q = 0; q < 3; q++) {
      const double *p = c->pos + 3 * (size_t)c->tri[3 * t + q];
      for (int d = 0; d < 3; d++)
        x[q][d] = a[4 * d] * p[0] + a[4 * d + 1] * p[1] + a[4 * d + 2] * p[2] - centre[d];
      for (int d = 0; d < 2; d++)
        low[d] = fmin(low[d], p[d]);
    }
    facet_init(x[0], x[1], x[2], &facet[t]);
    for (int d = 0; d < 2; d++)
      cell[2 * t + d] = (int)floor(low[d]);
  }
}

/* triangles around each vertex, in order */
static void
fill_around(const PlaContour *c, int *start, int *around)
{
  const size_t n = 3 * (size_t)c->n_tris;
  for (size_t k = 0; k < n; k++)
    start[c->tri[k] + 2]++;
  for (int v = 0; v < c->n_verts; v++)
    start[v + 2] += start[v + 1];
  for (size_t k = 0; k < n; k++)
    around[start[c->tri[k] + 1]++] = (int)(k / 3);
}

/* the nearest triangle of every sample in the band */
static PlaStatus
find_nearest(Field *f, double band_mm, PlaProgress *progress, PlaError *err)
{
  const size_t n = pla_levelset_n_voxels(f->ls);
  f->limit2 = isfinite(band_mm) ? (float)(band_mm * band_mm) : INFINITY;
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < n; v++) {
    f->nearest[v] = -1;
    f->best[v] = INFINITY;
  }
#pragma omp parallel for schedule(dynamic, 1)
  for (int k = 0; k < f->ls->dims[2]; k++)
    seed_slice(f, k);
  return spread(f, band_mm, progress, err);
}

static void
set_distances(const Field *f, double band_mm, float *phi_mm)
{
  const float band = (float)band_mm;
  const int *n = f->ls->dims;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++)
      for (int i = 0; i < n[0]; i++) {
        const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
        const float d = distance_of(f, i, j, k, v);
        phi_mm[v] = d < -band ? -band : d > band ? band : d;
      }
}

PlaStatus
pla_levelset_redistance(PlaLevelSet *ls, double band_mm, PlaProgress *progress, PlaError *err)
{
  PlaContour c;
  const size_t n = pla_levelset_n_voxels(ls);
  /* the zero contour */
  PlaStatus st = pla_contour_extract(ls->dims, ls->phi_mm, false, &c, err);
  if (st != PLA_OK)
    return st;
  if (c.n_tris == 0) {
    pla_contour_clear(&c);
    return pla_fail(err, PLA_ERR_EMPTY, "The level set has no surface inside its grid");
  }
  Facet *facet = pla_array_new((size_t)c.n_tris, sizeof *facet);
  int *cell = pla_array_new((size_t)c.n_tris, 2 * sizeof *cell);
  float *normal = pla_array_new((size_t)c.n_verts, 3 * sizeof *normal);
  uint8_t *folded = pla_array_new((size_t)c.n_tris, sizeof *folded);
  int *start = pla_array_new0((size_t)c.n_verts + 2, sizeof *start);
  int *around = pla_array_new((size_t)c.n_tris, 3 * sizeof *around);
  Field f = { .ls = ls,
              .facet = facet,
              .slice = c.slice_tri,
              .cell = cell,
              .tri = c.tri,
              .normal = normal,
              .is_crease = folded,
              .around_start = start,
              .around = around };
  f.nearest = pla_array_new(n, sizeof *f.nearest);
  f.best = pla_array_new(n, sizeof *f.best);
  f.spacing = (float)pla_levelset_spacing_mm(ls);
  f.listed = pla_array_new0(n, sizeof *f.listed);
  Front *fronts = pla_array_new0(2 * (size_t)ls->dims[2], sizeof *fronts);
  if (!facet || !cell || !normal || !folded || !start || !around || !f.nearest || !f.best ||
      !f.listed || !fronts)
    st = pla_fail_memory(err, "distances");
  if (st == PLA_OK) {
    /* its facets with normals, and the creases among them */
    f.front[0] = fronts;
    f.front[1] = fronts + ls->dims[2];
    make_facets(&f, &c, facet, cell, normal);
    fill_around(&c, start, around);
#pragma omp parallel for schedule(static)
    for (int t = 0; t < c.n_tris; t++)
      folded[t] = is_crease(&f, t);
    st = find_nearest(&f, band_mm, progress, err);
  }
  if (st == PLA_OK) {
    /* signed distances from the nearest facets */
    set_distances(&f, band_mm, ls->phi_mm);
    ls->band_mm = band_mm;
  }
  free(facet);
  free(cell);
  free(normal);
  free(folded);
  free(start);
  free(around);
  free(f.nearest);
  free(f.best);
  free(f.listed);
  for (int k = 0; fronts && k < 2 * ls->dims[2]; k++)
    free(fronts[k].at);
  free(fronts);
  pla_contour_clear(&c);
  return st;
}

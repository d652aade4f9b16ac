/* Distances to the zero surface of the samples.
 *
 * The surface is the one of contour.c.  Every corner of a cell that it crosses takes the distance
 * to the nearest triangle of its cells.  From there the number of the
 * nearest triangle travels outwards, as in vector distance transforms (Danielsson 1980): slice
 * after slice up and down, row after row and sample after sample within a slice, each sample keeps
 * the best of its neighbours' triangles.  Distances are always to a real triangle, so errors are
 * those of a second-best triangle and do not add up along the way.
 *
 * Triangles are chords.  What the curved surface differs by is known close to it, where the value
 * over the length of its gradient is a distance of second order: each triangle gets the mean
 * difference of the samples around it, vertices that of their triangles, and every sample the
 * difference interpolated at its nearest point. */
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

/* samples each way of a block */
enum { BLOCK = 8 };

typedef struct {
  const PlaLevelSet *ls;
  const Facet *facet;
  const int *slice;   /* as PlaContour.slice_tri */
  const int *cell;    /* lower sample of each triangle's cell, i and j (n_tris x 2) */
  int *nearest;       /* triangle of each sample, -1: none yet */
  float *best;        /* squared distance, mm^2 */
  float *excess;      /* mm by which distances to each triangle are wrong */
  float *excess_at;   /* the same at each vertex */
  float *true_near;   /* distance by value and gradient, signed; NAN further out */
  float limit2;
  uint8_t *near;      /* per block: whether the band can reach into it */
  int blocks[3];
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
      float d = cs * cs * f->uu + 2.0f * cs * ct * f->uv + ct * ct * f->vv - 2.0f * (cs * wu + ct * wv);
      if (d < best) {
        bs = cs;
        bt = ct;
      }
    }
    s = bs;
    t = bt;
  }
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

static inline void
try_facet(Field *f, size_t v, int facet, const float x[3])
{
  float d = facet_distance2(&f->facet[facet], x);
  if (d < f->best[v] && d <= f->limit2) {
    f->best[v] = d;
    f->nearest[v] = facet;
  }
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

/* value over gradient length, where the nearest triangle is close; central differences */
static void
measure_near(Field *f, int k)
{
  const PlaLevelSet *ls = f->ls;
  const int *n = ls->dims;
  const size_t stride[3] = { 1, (size_t)n[0], (size_t)n[0] * (size_t)n[1] };
  const float reach = 1.5f * f->spacing;
  for (int j = 0; j < n[1]; j++)
    for (int i = 0; i < n[0]; i++) {
      const size_t v = (size_t)i + stride[1] * (size_t)j + stride[2] * (size_t)k;
      const int at[3] = { i, j, k };
      f->true_near[v] = NAN;
      if (f->best[v] > reach * reach)
        continue;
      double g[3], grad[3];
      bool inner = true;
      for (int d = 0; d < 3; d++) {
        inner = inner && at[d] > 0 && at[d] + 1 < n[d];
        g[d] = inner ? 0.5 * (ls->phi_mm[v + stride[d]] - ls->phi_mm[v - stride[d]]) : 0.0;
      }
      if (!inner)
        continue;
      for (int d = 0; d < 3; d++)
        grad[d] = g[0] * ls->inverse_mm[d] + g[1] * ls->inverse_mm[4 + d] + g[2] * ls->inverse_mm[8 + d];
      double slope = pla_vec3_norm(grad), value = slope > 0.0 ? ls->phi_mm[v] / slope : INFINITY;
      /* creases and thin gaps have no usable gradient */
      double by_triangle = copysign(sqrt(f->best[v]), ls->phi_mm[v]);
      if (fabs(value - by_triangle) < 0.7 * f->spacing)
        f->true_near[v] = (float)value;
    }
}

/* the mean difference around each triangle of one slice of cells */
static void
measure_excess(Field *f, int slice)
{
  const int *n = f->ls->dims;
  const float reach = 1.5f * f->spacing;
  for (int t = f->slice[slice]; t < f->slice[slice + 1]; t++) {
    double sum = 0.0, weight = 0.0;
    const int i0 = f->cell[2 * t], j0 = f->cell[2 * t + 1], k0 = slice - 1;
    for (int k = k0 < 0 ? 0 : k0; k <= k0 + 1 && k < n[2]; k++)
      for (int j = j0; j <= j0 + 1 && j < n[1]; j++)
        for (int i = i0; i <= i0 + 1 && i < n[0]; i++) {
          const size_t v = (size_t)i + (size_t)n[0] * ((size_t)j + (size_t)n[1] * (size_t)k);
          if (isnan(f->true_near[v]))
            continue;
          float x[3];
          sample_position(f, i, j, k, x);
          float d = sqrtf(facet_distance2(&f->facet[t], x));
          if (d >= reach)
            continue;
          double w = (reach - d) * (reach - d);
          sum += w * (f->true_near[v] - copysign(sqrt(f->best[v]), f->ls->phi_mm[v]));
          weight += w;
        }
    f->excess[t] = weight > 0.0 ? (float)(sum / weight) : 0.0f;
  }
}

static void
excess_at_vertices(Field *f, const PlaContour *c, int *count)
{
  for (int t = 0; t < c->n_tris; t++)
    for (int q = 0; q < 3; q++) {
      f->excess_at[c->tri[3 * (size_t)t + q]] += f->excess[t];
      count[c->tri[3 * (size_t)t + q]]++;
    }
  for (int v = 0; v < c->n_verts; v++)
    if (count[v] > 0)
      f->excess_at[v] /= (float)count[v];
}

/* the signed distance of a sample from its nearest triangle, excess and all */
static float
distance_of(const Field *f, const PlaContour *c, int i, int j, int k, size_t v)
{
  const float side = f->ls->phi_mm[v] < 0.0f ? -1.0f : 1.0f;
  float d = (float)INFINITY, s, t, x[3];
  if (f->nearest[v] >= 0) {
    const int *vert = c->tri + 3 * (size_t)f->nearest[v];
    sample_position(f, i, j, k, x);
    d = sqrtf(facet_nearest(&f->facet[f->nearest[v]], x, &s, &t));
    d += side * ((1.0f - s - t) * f->excess_at[vert[0]] + s * f->excess_at[vert[1]] +
                 t * f->excess_at[vert[2]]);
  }
  /* every sample keeps its side */
  return side * fmaxf(d, 1e-6f);
}

/* takes over from up to @m neighbours of sample v */
static inline void
inherit(Field *f, int i, int j, int k, size_t v, const size_t *from, int m)
{
  int tried[10], n_tried = 0;
  float x[3];
  bool placed = false;
  for (int c = 0; c < m; c++) {
    int facet = f->nearest[from[c]];
    if (facet < 0 || facet == f->nearest[v])
      continue;
    bool known = false;
    for (int q = 0; q < n_tried && !known; q++)
      known = tried[q] == facet;
    if (known)
      continue;
    tried[n_tried++] = facet;
    if (!placed) {
      sample_position(f, i, j, k, x);
      placed = true;
    }
    try_facet(f, v, facet, x);
  }
}

static inline const uint8_t *
near_row(const Field *f, int j, int k)
{
  return f->near + (size_t)f->blocks[0] * ((size_t)(j / BLOCK) +
                                            (size_t)f->blocks[1] * (size_t)(k / BLOCK));
}

/* blocks within the band of the cell of a triangle */
static void
mark_near(Field *f, int t, int slice, const int reach[3])
{
  const int cell[3] = { f->cell[2 * t], f->cell[2 * t + 1], slice - 1 };
  int from[3], to[3];
  for (int d = 0; d < 3; d++) {
    const int last = f->ls->dims[d] - 1, lo = cell[d] - reach[d], hi = cell[d] + 1 + reach[d];
    from[d] = (lo < 0 ? 0 : lo) / BLOCK;
    to[d] = (hi > last ? last : hi) / BLOCK;
  }
  for (int k = from[2]; k <= to[2]; k++)
    for (int j = from[1]; j <= to[1]; j++)
      memset(f->near + from[0] + (size_t)f->blocks[0] * ((size_t)j + (size_t)f->blocks[1] * (size_t)k),
             1, (size_t)(to[0] - from[0] + 1));
}

static void
mark_all_near(Field *f, double band_mm)
{
  const int *n = f->ls->dims;
  const size_t n_blocks = (size_t)f->blocks[0] * (size_t)f->blocks[1] * (size_t)f->blocks[2];
  int reach[3];
  bool whole = false;
  for (int d = 0; d < 3; d++) {
    /* index steps that the band covers across planes of constant index */
    const double *row = f->ls->inverse_mm + 4 * d;
    const double steps = band_mm * sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
    whole = whole || steps >= n[d];
    reach[d] = steps < n[d] ? (int)ceil(steps) : n[d];
  }
  memset(f->near, whole, n_blocks);
  for (int k = 0; !whole && k <= n[2]; k++)
    for (int t = f->slice[k]; t < f->slice[k + 1]; t++)
      mark_near(f, t, k, reach);
}

static void
spread_between(Field *f, int k, int from_k)
{
  const int *n = f->ls->dims;
  const size_t nx = (size_t)n[0], plane = nx * (size_t)n[1];
  /* one team a slice: not worth waking for a small one */
#pragma omp parallel for schedule(static) if (plane > 40000)
  for (int j = 0; j < n[1]; j++)
    for (int i = 0; i < n[0]; i++) {
      if (!near_row(f, j, k)[i / BLOCK]) {
        i |= BLOCK - 1;
        continue;
      }
      size_t v = (size_t)i + nx * (size_t)j + plane * (size_t)k, from[9];
      int m = 0;
      for (int b = j > 0 ? j - 1 : 0; b <= j + 1 && b < n[1]; b++)
        for (int a = i > 0 ? i - 1 : 0; a <= i + 1 && a < n[0]; a++)
          from[m++] = (size_t)a + nx * (size_t)b + plane * (size_t)from_k;
      inherit(f, i, j, k, v, from, m);
    }
}

static void
spread_within(Field *f, int k)
{
  const int *n = f->ls->dims;
  const size_t nx = (size_t)n[0];
  for (int pass = 0; pass < 2; pass++) {
    const int step = pass ? -1 : 1;
    for (int jj = 0; jj < n[1]; jj++) {
      int j = pass ? n[1] - 1 - jj : jj;
      size_t row = nx * ((size_t)j + (size_t)n[1] * (size_t)k);
      const uint8_t *near = near_row(f, j, k);
      if (jj > 0) {
        size_t last = nx * ((size_t)(j - step) + (size_t)n[1] * (size_t)k);
        for (int i = 0; i < n[0]; i++) {
          if (!near[i / BLOCK]) {
            i |= BLOCK - 1;
            continue;
          }
          size_t from[3];
          int m = 0;
          for (int a = i > 0 ? i - 1 : 0; a <= i + 1 && a < n[0]; a++)
            from[m++] = last + (size_t)a;
          inherit(f, i, j, k, row + (size_t)i, from, m);
        }
      }
      for (int i = 1; i < n[0]; i++) {
        if (!near[i / BLOCK]) {
          i |= BLOCK - 1;
          continue;
        }
        size_t left = row + (size_t)i - 1;
        inherit(f, i, j, k, row + (size_t)i, &left, 1);
      }
      for (int i = n[0] - 2; i >= 0; i--) {
        if (!near[i / BLOCK]) {
          i &= ~(BLOCK - 1);
          continue;
        }
        size_t right = row + (size_t)i + 1;
        inherit(f, i, j, k, row + (size_t)i, &right, 1);
      }
    }
  }
}

static bool
spread(Field *f, PlaProgress *progress)
{
  const int nz = f->ls->dims[2];
  for (int k = 0; k < nz; k++) {
    if (k > 0)
      spread_between(f, k, k - 1);
    spread_within(f, k);
    if (!pla_progress_step(progress, 0.2 + 0.4 * k / nz))
      return false;
  }
  for (int k = nz - 2; k >= 0; k--) {
    spread_between(f, k, k + 1);
    spread_within(f, k);
    if (!pla_progress_step(progress, 0.6 + 0.4 * (nz - k) / nz))
      return false;
  }
  return true;
}

PlaStatus
pla_levelset_redistance(PlaLevelSet *ls, double band_mm, PlaProgress *progress, PlaError *err)
{
  PlaContour c;
  const size_t n = pla_levelset_n_voxels(ls);
  PlaStatus st = pla_contour_extract(ls->dims, ls->phi_mm, false, &c, err);
  if (st != PLA_OK)
    return st;
  if (c.n_tris == 0) {
    pla_contour_clear(&c);
    return pla_fail(err, PLA_ERR_EMPTY, "The level set has no surface inside its grid");
  }
  Facet *facet = pla_array_new((size_t)c.n_tris, sizeof *facet);
  int *cell = pla_array_new((size_t)c.n_tris, 2 * sizeof *cell);
  Field f = { .ls = ls, .facet = facet, .slice = c.slice_tri, .cell = cell };
  f.nearest = pla_array_new(n, sizeof *f.nearest);
  f.best = pla_array_new(n, sizeof *f.best);
  f.excess = pla_array_new((size_t)c.n_tris, sizeof *f.excess);
  f.excess_at = pla_array_new0((size_t)c.n_verts, sizeof *f.excess_at);
  int *count = pla_array_new0((size_t)c.n_verts, sizeof *count);
  f.true_near = pla_array_new(n, sizeof *f.true_near);
  f.spacing = (float)pla_levelset_spacing_mm(ls);
  for (int d = 0; d < 3; d++)
    f.blocks[d] = (ls->dims[d] + BLOCK - 1) / BLOCK;
  f.near = pla_array_new((size_t)f.blocks[0] * (size_t)f.blocks[1] * (size_t)f.blocks[2], 1);
  if (!f.near || !facet || !cell || !f.nearest || !f.best || !f.excess || !f.excess_at ||
      !f.true_near || !count)
    st = pla_fail_memory(err, "distances");
  if (st == PLA_OK) {
    /* coordinates relative to the middle of the grid, so that floats keep their precision */
    const double *a = ls->affine_mm;
    double centre[3];
    for (int d = 0; d < 3; d++) {
      centre[d] = 0.0;
      for (int e = 0; e < 3; e++) {
        f.column[e][d] = (float)a[4 * d + e];
        centre[d] += 0.5 * (ls->dims[e] - 1) * a[4 * d + e];
      }
      f.origin[d] = (float)-centre[d];
    }
    f.limit2 = isfinite(band_mm) ? (float)(band_mm * band_mm) : INFINITY;
#pragma omp parallel for schedule(static)
    for (int t = 0; t < c.n_tris; t++) {
      double x[3][3], low[2] = { INFINITY, INFINITY };
      for (int q = 0; q < 3; q++) {
        const double *p = c.pos + 3 * (size_t)c.tri[3 * t + q];
        for (int d = 0; d < 3; d++)
          x[q][d] = a[4 * d] * p[0] + a[4 * d + 1] * p[1] + a[4 * d + 2] * p[2] - centre[d];
        for (int d = 0; d < 2; d++)
          low[d] = fmin(low[d], p[d]);
      }
      facet_init(x[0], x[1], x[2], &facet[t]);
      for (int d = 0; d < 2; d++)
        cell[2 * t + d] = (int)floor(low[d]);
    }
#pragma omp parallel for schedule(static)
    for (size_t v = 0; v < n; v++) {
      f.nearest[v] = -1;
      f.best[v] = INFINITY;
    }
    mark_all_near(&f, band_mm);
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < ls->dims[2]; k++)
      seed_slice(&f, k);
    if (!pla_progress_step(progress, 0.2) || !spread(&f, progress))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK) {
    const float band = (float)band_mm;
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < ls->dims[2]; k++)
      measure_near(&f, k);
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k <= ls->dims[2]; k++)
      measure_excess(&f, k);
    excess_at_vertices(&f, &c, count);
#pragma omp parallel for schedule(static)
    for (int k = 0; k < ls->dims[2]; k++)
      for (int j = 0; j < ls->dims[1]; j++)
        for (int i = 0; i < ls->dims[0]; i++) {
          size_t v = (size_t)i + (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k);
          float d = distance_of(&f, &c, i, j, k, v);
          ls->phi_mm[v] = d < -band ? -band : d > band ? band : d;
        }
    ls->band_mm = band_mm;
  }
  free(facet);
  free(cell);
  free(f.nearest);
  free(f.best);
  free(f.excess);
  free(f.excess_at);
  free(count);
  free(f.true_near);
  free(f.near);
  pla_contour_clear(&c);
  return st;
}

/* Ambient occlusion from depth maps.
 *
 *   open(v) = sum_w [v seen from w] max(0, n.w)  /  sum_w max(0, n.w)
 *
 * over directions w on a Fibonacci sphere.  Visibility comes from one orthographic depth map per
 * direction, so the cost is triangles x directions however folded the shape is; a vertex counts as
 * seen when it is not further than a slope-dependent bias behind the nearest surface.  Maps are
 * made several at a time, then every vertex adds them in their order: the sum does not depend on
 * threads. */
#include "anatomy/mesh/occlusion.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
  SIDE = 384, /* pixels across a depth map: about 0.7 mm on a head */
  BATCH = 4,  /* depth maps alive at a time, 0.6 MB each */
};

typedef struct {
  float right[3], up[3], towards[3]; /* unit; towards: where the light stands */
} Direction;

static Direction
direction_make(int i, int n)
{
  const double golden = 2.399963229728653; /* radians: pi (3 - sqrt 5) */
  double z = 1.0 - (2.0 * i + 1.0) / n, r = sqrt(1.0 - z * z);
  double w[3] = { r * cos(golden * i), r * sin(golden * i), z };
  /* any frame around w */
  double a[3] = { 0.0, 0.0, 0.0 };
  a[fabs(w[0]) < 0.6 ? 0 : 1] = 1.0;
  double u[3] = { w[1] * a[2] - w[2] * a[1], w[2] * a[0] - w[0] * a[2], w[0] * a[1] - w[1] * a[0] };
  double len = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
  Direction d;
  for (int k = 0; k < 3; k++) {
    d.right[k] = (float)(u[k] / len);
    d.towards[k] = (float)w[k];
  }
  d.up[0] = d.towards[1] * d.right[2] - d.towards[2] * d.right[1];
  d.up[1] = d.towards[2] * d.right[0] - d.towards[0] * d.right[2];
  d.up[2] = d.towards[0] * d.right[1] - d.towards[1] * d.right[0];
  return d;
}

/* x, y in pixels of the map, depth in pixels towards the light */
static inline void
project(const Direction *d, const float *p, float q[3])
{
  q[0] = d->right[0] * p[0] + d->right[1] * p[1] + d->right[2] * p[2] + 0.5f * SIDE;
  q[1] = d->up[0] * p[0] + d->up[1] * p[1] + d->up[2] * p[2] + 0.5f * SIDE;
  q[2] = d->towards[0] * p[0] + d->towards[1] * p[1] + d->towards[2] * p[2];
}

static inline float
smallest(float a, float b, float c)
{
  float m = a < b ? a : b;
  return m < c ? m : c;
}

/* keeps the nearest depth at each pixel whose centre is in the triangle, and at the pixel of one
 * corner, so that triangles smaller than a pixel count too */
static void
draw_triangle(float *map, const float a[3], const float b[3], const float c[3])
{
  float area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  if (fabsf(area) < 1e-6f)
    return;
  float *corner = &map[(int)a[1] * SIDE + (int)a[0]];
  if (*corner < a[2])
    *corner = a[2];
  /* coordinates are positive: the casts round down */
  float inv = 1.0f / area;
  int x0 = (int)(smallest(a[0], b[0], c[0]) + 0.5f),
      x1 = (int)(-smallest(-a[0], -b[0], -c[0]) + 0.5f);
  int y0 = (int)(smallest(a[1], b[1], c[1]) + 0.5f),
      y1 = (int)(-smallest(-a[1], -b[1], -c[1]) + 0.5f);
  for (int y = y0; y < y1; y++)
    for (int x = x0; x < x1; x++) {
      float px = (float)x + 0.5f, py = (float)y + 0.5f;
      float wb = ((px - a[0]) * (c[1] - a[1]) - (py - a[1]) * (c[0] - a[0])) * inv;
      float wc = ((b[0] - a[0]) * (py - a[1]) - (b[1] - a[1]) * (px - a[0])) * inv;
      if (wb < 0.0f || wc < 0.0f || wb + wc > 1.0f)
        continue;
      float depth = a[2] + wb * (b[2] - a[2]) + wc * (c[2] - a[2]);
      float *at = &map[y * SIDE + x];
      if (*at < depth)
        *at = depth;
    }
}

/* @flat holds the projected vertices afterwards */
static void
draw_map(const PlaTriMesh *mesh, const float *pos, const Direction *d, float *flat, float *map)
{
  for (int i = 0; i < SIDE * SIDE; i++)
    map[i] = -INFINITY;
  for (int v = 0; v < mesh->n_verts; v++)
    project(d, pos + 3 * (size_t)v, flat + 3 * (size_t)v);
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    draw_triangle(map, flat + 3 * (size_t)v[0], flat + 3 * (size_t)v[1], flat + 3 * (size_t)v[2]);
  }
}

/* unit vertex normals, weighted by triangle area; zero where a vertex has no triangle */
static void
vertex_normals(const PlaTriMesh *mesh, const float *pos, float *normal)
{
  for (size_t i = 0; i < 3 * (size_t)mesh->n_verts; i++)
    normal[i] = 0.0f;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    const float *a = pos + 3 * (size_t)v[0], *b = pos + 3 * (size_t)v[1],
                *c = pos + 3 * (size_t)v[2];
    float e[3], f[3];
    for (int k = 0; k < 3; k++) {
      e[k] = b[k] - a[k];
      f[k] = c[k] - a[k];
    }
    float n[3] = { e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                   e[0] * f[1] - e[1] * f[0] };
    for (int k = 0; k < 3; k++)
      for (int axis = 0; axis < 3; axis++)
        normal[3 * (size_t)v[k] + axis] += n[axis];
  }
  for (int v = 0; v < mesh->n_verts; v++) {
    float *n = normal + 3 * (size_t)v;
    float len = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3 && len > 0.0f; k++)
      n[k] /= len;
  }
}

static void
add_map(int n_verts, const float *flat, const float *normal, const Direction *d, const float *map,
        float *seen, float *possible)
{
#pragma omp parallel for schedule(static)
  for (int v = 0; v < n_verts; v++) {
    const float *n = normal + 3 * (size_t)v;
    float cosine = n[0] * d->towards[0] + n[1] * d->towards[1] + n[2] * d->towards[2];
    if (cosine <= 0.05f) /* grazing light says more about the map's pixels than about the shape */
      continue;
    const float *q = flat + 3 * (size_t)v;
    float slope = sqrtf(1.0f - fminf(cosine * cosine, 1.0f)) / cosine;
    float bias = 1.0f + fminf(1.5f * slope, 6.0f); /* pixels */
    possible[v] += cosine;
    if (q[2] + bias >= map[(int)q[1] * SIDE + (int)q[0]])
      seen[v] += cosine;
  }
}

PlaStatus
pla_occlusion(const PlaTriMesh *mesh, int n_directions, float *open, PlaProgress *progress,
              PlaError *err)
{
  /* the shape, centred and scaled to fit the map in every direction */
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int v = 0; v < mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], mesh->pos[3 * (size_t)v + d]);
      hi[d] = fmax(hi[d], mesh->pos[3 * (size_t)v + d]);
    }
  double diagonal =
      sqrt(pow(hi[0] - lo[0], 2.0) + pow(hi[1] - lo[1], 2.0) + pow(hi[2] - lo[2], 2.0));
  if (mesh->n_verts == 0 || !(diagonal > 0.0)) {
    for (int v = 0; v < mesh->n_verts; v++)
      open[v] = 1.0f;
    return PLA_OK;
  }
  const double scale = (SIDE - 4) / diagonal;
  const size_t n = (size_t)mesh->n_verts;
  float *pos = pla_array_new(3 * n, sizeof *pos);
  float *normal = pla_array_new(3 * n, sizeof *normal);
  float *possible = pla_array_new0(n, sizeof *possible);
  float *flat = pla_array_new(3 * BATCH * n, sizeof *flat);
  float *map = pla_array_new((size_t)BATCH * SIDE * SIDE, sizeof *map);
  PlaStatus st = PLA_OK;
  if (!pos || !normal || !possible || !flat || !map)
    st = pla_fail_memory(err, "the shading of a surface");

  if (st == PLA_OK) {
    for (int v = 0; v < mesh->n_verts; v++) {
      open[v] = 0.0f;
      for (int d = 0; d < 3; d++)
        pos[3 * (size_t)v + d] =
            (float)((mesh->pos[3 * (size_t)v + d] - 0.5 * (lo[d] + hi[d])) * scale);
    }
    vertex_normals(mesh, pos, normal);
  }

  for (int first = 0; st == PLA_OK && first < n_directions; first += BATCH) {
    int count = n_directions - first < BATCH ? n_directions - first : BATCH;
    Direction dir[BATCH];
    for (int b = 0; b < count; b++)
      dir[b] = direction_make(first + b, n_directions);
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < count; b++)
      draw_map(mesh, pos, &dir[b], flat + 3 * n * (size_t)b, map + (size_t)b * SIDE * SIDE);
    for (int b = 0; b < count; b++)
      add_map(mesh->n_verts, flat + 3 * n * (size_t)b, normal, &dir[b],
              map + (size_t)b * SIDE * SIDE, open, possible);
    if (!pla_progress_step(progress, (double)(first + count) / n_directions))
      st = pla_fail_cancelled(err);
  }
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    open[v] = possible[v] > 0.0f ? open[v] / possible[v] : 1.0f;
  free(pos);
  free(normal);
  free(possible);
  free(flat);
  free(map);
  return st;
}

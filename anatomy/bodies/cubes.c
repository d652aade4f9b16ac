/* The lattice that bodies are carved out of, after Labelle and Shewchuk, "Isosurface stuffing"
 * (2007).  Touching cubes differ by one level at most.  Tets:
 *   - between two equal cubes, one around each edge of the shared face: the edge and both centres,
 *     halved where a finer cube puts a vertex in the middle of the edge;
 *   - where a cube meets one twice its size, its face is cut by the diagonal from the middle of the
 *     larger face, and each half goes with each centre.
 * Kept are those of which one cube is filled, so the border of the lattice lies outside of the
 * material everywhere. */
#include "anatomy/bodies/cubes.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/winding.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t
cube_index(const PlaCubes *s, int level, int i, int j, int k)
{
  return (size_t)i +
         (size_t)(s->n[0] >> level) * ((size_t)j + (size_t)(s->n[1] >> level) * (size_t)k);
}

static size_t
n_cubes(const PlaCubes *s, int level)
{
  return (size_t)(s->n[0] >> level) * (size_t)(s->n[1] >> level) * (size_t)(s->n[2] >> level);
}

void
pla_cubes_clear(PlaCubes *self)
{
  for (int l = 0; l <= PLA_CUBES_LEVELS; l++) {
    free(self->filled[l]);
    free(self->refined[l]);
  }
  *self = (PlaCubes){ 0 };
}

PlaStatus
pla_cubes_init(PlaCubes *self, const PlaMesh *surface, double cell, int levels, PlaError *err)
{
  const double most = 1e8; /* cubes of the finest level */
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  double n = 1.0;
  *self = (PlaCubes){ .levels = levels, .cell = ldexp(cell, -levels) };
  for (int i = 0; i < 3 * surface->n_verts; i++) {
    lo[i % 3] = fmin(lo[i % 3], surface->pos[i]);
    hi[i % 3] = fmax(hi[i % 3], surface->pos[i]);
  }
  /* one coarse cube of room on all sides, and the body in the middle */
  for (int d = 0; d < 3; d++) {
    const double coarse = ceil((hi[d] - lo[d]) / cell) + 3.0;
    n *= ldexp(coarse, levels);
    if (!(n <= most))
      return pla_fail(err, PLA_ERR_MEMORY,
                      "cells of %g mm are too fine for a body of this size; use larger ones",
                      1e3 * self->cell);
    self->n[d] = (int)coarse << levels;
    self->origin[d] = 0.5 * (lo[d] + hi[d]) - 0.5 * coarse * cell;
  }
  bool ok = true;
  for (int l = 0; ok && l <= levels; l++) {
    ok = (self->filled[l] = pla_array_new0(n_cubes(self, l), 1)) != NULL;
    ok = ok && (l == 0 || (self->refined[l] = pla_array_new0(n_cubes(self, l), 1)));
  }
  if (ok)
    return PLA_OK;
  pla_cubes_clear(self);
  return pla_fail_memory(err, "the lattice");
}

/* ---- filling and refining ---- */

/* the cubes of @level that come nearer than @margin to triangle @t */
static void
range_of(const PlaCubes *self, int level, const PlaMesh *surface, int t, double margin,
         int first[3], int last[3])
{
  const double cell = ldexp(self->cell, level);
  for (int d = 0; d < 3; d++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int k = 0; k < 3; k++) {
      const double x = surface->pos[3 * surface->tri[3 * t + k] + d];
      lo = fmin(lo, x);
      hi = fmax(hi, x);
    }
    const int end = (self->n[d] >> level) - 1;
    first[d] = (int)fmax(floor((lo - margin - self->origin[d]) / cell), 0.0);
    last[d] = (int)fmin(floor((hi + margin - self->origin[d]) / cell), end);
  }
}

static void
mark_range(const PlaCubes *self, int level, uint8_t *mark, const int first[3], const int last[3])
{
  for (int k = first[2]; k <= last[2]; k++)
    for (int j = first[1]; j <= last[1]; j++)
      for (int i = first[0]; i <= last[0]; i++)
        mark[cube_index(self, level, i, j, k)] = 1;
}

/* Gives each set of connected cubes that the surface misses a number from 2 on, in filled[0];
 * number 2 to 255 in turn, so that one pass is one set.  @stack: room for all cubes. */
static void
flood(PlaCubes *self, size_t from, uint8_t number, size_t *stack)
{
  const size_t stride[3] = { 1, (size_t)self->n[0], (size_t)self->n[0] * (size_t)self->n[1] };
  size_t n = 0;
  stack[n++] = from;
  self->filled[0][from] = number;
  while (n > 0) {
    const size_t at = stack[--n];
    for (int d = 0; d < 3; d++) {
      const int x = (int)(at / stride[d] % (size_t)self->n[d]);
      if (x > 0 && self->filled[0][at - stride[d]] == 0) {
        self->filled[0][at - stride[d]] = number;
        stack[n++] = at - stride[d];
      }
      if (x + 1 < self->n[d] && self->filled[0][at + stride[d]] == 0) {
        self->filled[0][at + stride[d]] = number;
        stack[n++] = at + stride[d];
      }
    }
  }
}

/* sets filled where a cube of the level below is */
static void
fill_above(PlaCubes *self)
{
  for (int l = 1; l <= self->levels; l++)
    for (int k = 0; k < self->n[2] >> (l - 1); k++)
      for (int j = 0; j < self->n[1] >> (l - 1); j++)
        for (int i = 0; i < self->n[0] >> (l - 1); i++)
          self->filled[l][cube_index(self, l, i >> 1, j >> 1, k >> 1)] |=
              self->filled[l - 1][cube_index(self, l - 1, i, j, k)];
}

PlaStatus
pla_cubes_fill(PlaCubes *self, const PlaMesh *surface, PlaError *err)
{
  enum { OUTSIDE = 2, INSIDE };
  /* a hair wider, so that no triangle lies in the border of the lattice */
  const double margin = 1e-3 * self->cell;
  const PlaTriMesh tris = pla_mesh_tris(surface);
  const size_t n = n_cubes(self, 0), w = (size_t)self->n[0], h = (size_t)self->n[1];
  PlaWinding *winding = NULL;
  size_t *stack = pla_array_new(n, sizeof *stack);
  PlaStatus st =
      stack ? pla_winding_new(&tris, &winding, err) : pla_fail_memory(err, "the lattice");
  for (int t = 0; st == PLA_OK && t < surface->n_tris; t++) {
    int first[3], last[3];
    range_of(self, 0, surface, t, margin, first, last);
    mark_range(self, 0, self->filled[0], first, last);
  }
  /* connected cubes that the surface misses are inside or outside together */
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    if (self->filled[0][i])
      continue;
    const double index[3] = { (double)(i % w), (double)(i / w % h), (double)(i / (w * h)) };
    double middle[3], turns;
    for (int d = 0; d < 3; d++)
      middle[d] = self->origin[d] + self->cell * (index[d] + 0.5);
    st = pla_winding_batch(winding, 1, middle, NULL, &turns, err);
    if (st == PLA_OK)
      flood(self, i, turns > 0.5 ? INSIDE : OUTSIDE, stack);
  }
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->filled[0][i] = self->filled[0][i] != OUTSIDE;
  if (st == PLA_OK)
    fill_above(self);
  pla_winding_free(winding);
  free(stack);
  return st;
}

void
pla_cubes_refine(PlaCubes *self, const PlaMesh *surface, int t, double depth)
{
  int first[3], last[3];
  if (self->levels == 0)
    return;
  range_of(self, 1, surface, t, depth, first, last);
  mark_range(self, 1, self->refined[1], first, last);
}

void
pla_cubes_balance(PlaCubes *self)
{
  /* what touches a refined cube must be there, so its parent is refined */
  for (int l = 1; l < self->levels; l++)
    for (int k = 0; k < self->n[2] >> l; k++)
      for (int j = 0; j < self->n[1] >> l; j++)
        for (int i = 0; i < self->n[0] >> l; i++) {
          if (!self->refined[l][cube_index(self, l, i, j, k)])
            continue;
          const int at[3] = { i, j, k };
          int first[3], last[3];
          for (int d = 0; d < 3; d++) {
            const int end = (self->n[d] >> l) - 1;
            first[d] = (at[d] > 0 ? at[d] - 1 : 0) >> 1;
            last[d] = (at[d] < end ? at[d] + 1 : end) >> 1;
          }
          mark_range(self, l + 1, self->refined[l + 1], first, last);
        }
}

double
pla_cubes_size_at(const PlaCubes *self, const double pos[3])
{
  int at[3], level = self->levels;
  for (int d = 0; d < 3; d++) {
    const double x = floor((pos[d] - self->origin[d]) / self->cell);
    at[d] = (int)fmin(fmax(x, 0.0), self->n[d] - 1);
  }
  while (
      level > 0 &&
      self->refined[level][cube_index(self, level, at[0] >> level, at[1] >> level, at[2] >> level)])
    level--;
  return ldexp(self->cell, level);
}

/* ---- tets ---- */

typedef struct {
  const PlaCubes *s;
  PlaMesh *mesh;        /* NULL: tets and vertices are counted */
  int *corner, *centre; /* numbers of vertices, -1: not used yet */
  long long n_verts, n_tets;
} Builder;

static bool
is_there(const PlaCubes *s, int level, const int at[3])
{
  for (int d = 0; d < 3; d++)
    if (at[d] < 0 || at[d] >= s->n[d] >> level)
      return false;
  return true;
}

static bool
is_refined(const PlaCubes *s, int level, const int at[3])
{
  return level > 0 && is_there(s, level, at) &&
         s->refined[level][cube_index(s, level, at[0], at[1], at[2])];
}

/* whether the cube exists and has no children; outside the grid there is none */
static bool
is_leaf(const PlaCubes *s, int level, const int at[3])
{
  return is_there(s, level, at) && !is_refined(s, level, at) &&
         (level == s->levels ||
          s->refined[level + 1][cube_index(s, level + 1, at[0] >> 1, at[1] >> 1, at[2] >> 1)]);
}

/* the vertex at doubled coordinates of the finest grid: the centre of a finest cube, or a corner
 * of one; centres of coarser cubes are corners that no leaf has */
static int
vertex(Builder *b, const int x[3])
{
  const PlaCubes *s = b->s;
  const size_t w = (size_t)s->n[0] + 1, h = (size_t)s->n[1] + 1;
  int *id =
      x[0] & 1
          ? &b->centre[cube_index(s, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
          : &b->corner[((size_t)(x[2] >> 1) * h + (size_t)(x[1] >> 1)) * w + (size_t)(x[0] >> 1)];
  if (*id < 0)
    *id = (int)b->n_verts++;
  for (int d = 0; b->mesh && d < 3; d++)
    b->mesh->pos[3 * (size_t)*id + (size_t)d] = s->origin[d] + 0.5 * s->cell * x[d];
  return *id;
}

static void
add_tet(Builder *b, const int p[3], const int q[3], const int r[3], const int t[3])
{
  const int *x[4] = { p, q, r, t };
  long m[3][3];
  for (int e = 0; e < 3; e++)
    for (int d = 0; d < 3; d++)
      m[e][d] = x[e + 1][d] - x[0][d];
  const long det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                   m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                   m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  const int tet[4] = { vertex(b, p), vertex(b, q), vertex(b, det > 0 ? r : t),
                       vertex(b, det > 0 ? t : r) };
  if (b->mesh)
    memcpy(&b->mesh->tet[4 * (size_t)b->n_tets], tet, sizeof tet);
  b->n_tets++;
}

/* the face of a cube across @axis on @side: four corners in turn, doubled coordinates */
static void
face_corners(int level, const int at[3], int axis, int side, int corner[4][3])
{
  const int size = 2 << level;
  for (int c = 0; c < 4; c++) {
    corner[c][axis] = (at[axis] + side) * size;
    corner[c][(axis + 1) % 3] = (at[(axis + 1) % 3] + (c == 1 || c == 2)) * size;
    corner[c][(axis + 2) % 3] = (at[(axis + 2) % 3] + (c >= 2)) * size;
  }
}

static void
cube_centre(int level, const int at[3], int x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = (2 * at[d] + 1) << level;
}

/* tets around the face between equal cubes */
static void
add_equal(Builder *b, int level, const int at[3], const int next[3], int axis)
{
  int corner[4][3], here[3], there[3];
  face_corners(level, at, axis, 1, corner);
  cube_centre(level, at, here);
  cube_centre(level, next, there);
  for (int e = 0; e < 4; e++) {
    const int *p = corner[e], *q = corner[(e + 1) % 4];
    /* the two other cubes at this edge are beyond it */
    const int out = e % 2 ? (axis + 1) % 3 : (axis + 2) % 3, step = e == 0 || e == 3 ? -1 : 1;
    int beside[2][3] = { { at[0], at[1], at[2] }, { next[0], next[1], next[2] } };
    beside[0][out] += step;
    beside[1][out] += step;
    if (!is_refined(b->s, level, beside[0]) && !is_refined(b->s, level, beside[1])) {
      add_tet(b, p, q, here, there);
      continue;
    }
    const int mid[3] = { (p[0] + q[0]) / 2, (p[1] + q[1]) / 2, (p[2] + q[2]) / 2 };
    add_tet(b, p, mid, here, there);
    add_tet(b, mid, q, here, there);
  }
}

/* tets between a cube and a neighbour of twice its size */
static void
add_unequal(Builder *b, int level, const int at[3], int axis, int side, const int large[3])
{
  int corner[4][3], here[3], there[3], first = 0;
  face_corners(level, at, axis, side, corner);
  cube_centre(level, at, here);
  cube_centre(level + 1, large, there);
  /* the corner in the middle of the larger face */
  for (int c = 0; c < 4; c++) {
    bool middle = true;
    for (int d = 0; d < 3; d++)
      middle = middle && (d == axis || corner[c][d] == there[d]);
    if (middle)
      first = c;
  }
  for (int h = 0; h < 2; h++) {
    const int *p = corner[first], *q = corner[(first + 1 + h) % 4],
              *r = corner[(first + 2 + h) % 4];
    add_tet(b, p, q, r, here);
    add_tet(b, p, q, r, there);
  }
}

static void
add_cube(Builder *b, int level, const int at[3])
{
  const PlaCubes *s = b->s;
  const bool filled = s->filled[level][cube_index(s, level, at[0], at[1], at[2])];
  for (int face = 0; face < 6; face++) {
    const int axis = face / 2, side = face % 2;
    int next[3] = { at[0], at[1], at[2] };
    next[axis] += side ? 1 : -1;
    if (is_leaf(s, level, next)) {
      /* once for the pair */
      if (side && (filled || s->filled[level][cube_index(s, level, next[0], next[1], next[2])]))
        add_equal(b, level, at, next, axis);
    } else if (is_there(s, level, next) && !is_refined(s, level, next)) {
      const int large[3] = { next[0] >> 1, next[1] >> 1, next[2] >> 1 };
      if (filled || s->filled[level + 1][cube_index(s, level + 1, large[0], large[1], large[2])])
        add_unequal(b, level, at, axis, side, large);
    }
  }
}

static void
build(Builder *b)
{
  const PlaCubes *s = b->s;
  b->n_tets = 0;
  for (int l = 0; l <= s->levels; l++)
    for (int k = 0; k < s->n[2] >> l; k++)
      for (int j = 0; j < s->n[1] >> l; j++)
        for (int i = 0; i < s->n[0] >> l; i++)
          if (is_leaf(s, l, (const int[3]){ i, j, k }))
            add_cube(b, l, (const int[3]){ i, j, k });
}

PlaStatus
pla_cubes_tets(const PlaCubes *self, PlaMesh **out, PlaError *err)
{
  const size_t n_corners =
      ((size_t)self->n[0] + 1) * ((size_t)self->n[1] + 1) * ((size_t)self->n[2] + 1);
  Builder b = { .s = self,
                .corner = pla_array_new(n_corners, sizeof *b.corner),
                .centre = pla_array_new(n_cubes(self, 0), sizeof *b.centre) };
  *out = NULL;
  PlaStatus st = b.corner && b.centre ? PLA_OK : pla_fail_memory(err, "the lattice");
  if (st == PLA_OK) {
    memset(b.corner, -1, n_corners * sizeof *b.corner);
    memset(b.centre, -1, n_cubes(self, 0) * sizeof *b.centre);
    build(&b);
    if (b.n_tets > INT_MAX / 32)
      st = pla_fail(err, PLA_ERR_MEMORY,
                    "cells of %g mm are too fine for a body of this size; use larger ones",
                    1e3 * self->cell);
  }
  if (st == PLA_OK)
    st = pla_mesh_new((int)b.n_verts, 0, (int)b.n_tets, 0, &b.mesh, err);
  if (st == PLA_OK)
    build(&b);
  *out = b.mesh;
  free(b.corner);
  free(b.centre);
  return st;
}

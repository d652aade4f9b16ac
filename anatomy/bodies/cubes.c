/* The lattice that bodies are carved out of: cubes that material is in or close to, halved where
 * they are asked to be smaller; cube-tree.h makes tets of them.  Kept are those of which one cube
 * is filled, so the border of the lattice lies outside of the material everywhere. */
#include "anatomy/bodies/cubes.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/winding.h"
#include "anatomy/mesher/cube-tree.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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
        mark[pla_cube_index(self->n, level, i, j, k)] = 1;
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
          self->filled[l][pla_cube_index(self->n, l, i >> 1, j >> 1, k >> 1)] |=
              self->filled[l - 1][pla_cube_index(self->n, l - 1, i, j, k)];
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
          if (!self->refined[l][pla_cube_index(self->n, l, i, j, k)])
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
  while (level > 0 && self->refined[level][pla_cube_index(self->n, level, at[0] >> level,
                                                          at[1] >> level, at[2] >> level)])
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

/* the vertex at doubled coordinates of the finest grid: the centre of a finest cube, or a corner
 * of one; centres of coarser cubes are corners that no leaf has */
static int
vertex(Builder *b, const int x[3])
{
  const PlaCubes *s = b->s;
  int *id = x[0] & 1 ? &b->centre[pla_cube_index(s->n, 0, x[0] >> 1, x[1] >> 1, x[2] >> 1)]
                     : &b->corner[pla_corner_index(s->n, x[0] >> 1, x[1] >> 1, x[2] >> 1)];
  if (*id < 0)
    *id = (int)b->n_verts++;
  for (int d = 0; b->mesh && d < 3; d++)
    b->mesh->pos[3 * (size_t)*id + (size_t)d] = s->origin[d] + 0.5 * s->cell * x[d];
  return *id;
}

static bool
add_tet(const int *const corner[4], void *data)
{
  Builder *b = data;
  int tet[4];
  for (int c = 0; c < 4; c++)
    tet[c] = vertex(b, corner[c]);
  if (b->mesh)
    memcpy(&b->mesh->tet[4 * (size_t)b->n_tets], tet, sizeof tet);
  b->n_tets++;
  return true;
}

static void
build(Builder *b)
{
  const PlaCubes *s = b->s;
  const PlaCubeTree tree = { s->levels, { s->n[0], s->n[1], s->n[2] }, s->refined, s->filled };
  b->n_tets = 0;
  pla_cube_tree_walk(&tree, add_tet, NULL, b);
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

/* How full the hexes of an embedding are.
 *
 * The winding number w along a vertical line is the sum over the triangles above, +1 where they
 * face up and -1 where they face down.  So over the cube from z0 to z0 + h
 *
 *   integral of w = sum_inside integral of (z - z0) dA + h sum_above A,
 *
 * dA the area of the pieces of triangles in the cube's column, projected along z with its sign.
 * Triangles are clipped to columns and cubes; nothing is sampled.  Copies of a cube share the sum
 * equally: each has its own part of the body, but which triangles bound it is not kept. */
#include "anatomy/embed/hex-embed.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CORNERS = 16 }; /* of a triangle, clipped by six planes: at most nine */

typedef struct {
  int n;
  double x[MAX_CORNERS][3]; /* in cells, from the grid's origin */
} Polygon;

/* of triangles in one cell of a column, in cells */
typedef struct {
  uint64_t column; /* key of the cell at the bottom */
  int k;
  size_t order;
  double area, above; /* projected; times the height above the bottom of the cell */
} Part;

typedef struct {
  Part *part;
  size_t n, room;
  bool failed;
} Parts;

/* the part of @from with coordinate @d at most (@side -1) or at least (1) @at */
static void
clip(const Polygon *from, int d, int side, double at, Polygon *to)
{
  to->n = 0;
  for (int a = 0; a < from->n; a++) {
    const double *p = from->x[a], *q = from->x[(a + 1) % from->n];
    const double dp = side * (p[d] - at), dq = side * (q[d] - at);
    if (dp >= 0.0)
      memcpy(to->x[to->n++], p, 3 * sizeof *p);
    if ((dp > 0.0 && dq < 0.0) || (dp < 0.0 && dq > 0.0)) {
      const double t = dp / (dp - dq);
      for (int k = 0; k < 3; k++)
        to->x[to->n][k] = p[k] + t * (q[k] - p[k]);
      to->x[to->n++][d] = at;
    }
  }
}

static void
range(const Polygon *p, int d, int dims, int *first, int *last)
{
  double low = INFINITY, high = -INFINITY;
  for (int a = 0; a < p->n; a++) {
    low = fmin(low, p->x[a][d]);
    high = fmax(high, p->x[a][d]);
  }
  *first = (int)fmin(fmax(floor(low), 0.0), dims - 1.0);
  *last = (int)fmin(fmax(floor(high), 0.0), dims - 1.0);
}

/* what lies in cell @k of the column @key, by the triangles of a fan */
static void
add_part(Parts *parts, const Polygon *p, uint64_t key, int k)
{
  Part part = { .column = key, .k = k, .order = parts->n };
  for (int a = 1; a + 1 < p->n; a++) {
    const double *x = p->x[0], *y = p->x[a], *z = p->x[a + 1];
    const double area = 0.5 * ((y[0] - x[0]) * (z[1] - x[1]) - (y[1] - x[1]) * (z[0] - x[0]));
    part.area += area;
    part.above += area * ((x[2] + y[2] + z[2]) / 3.0 - k);
  }
  if (part.area == 0.0 && part.above == 0.0)
    return;
  if (parts->n == parts->room) {
    const size_t room = 2 * parts->room + 1024;
    Part *more = realloc(parts->part, room * sizeof *more);
    parts->failed |= !more;
    if (!more)
      return;
    parts->part = more;
    parts->room = room;
  }
  parts->part[parts->n++] = part;
}

static void
add_triangle(Parts *parts, const PlaHexEmbed *self, const PlaTriMesh *body, int t)
{
  Polygon whole = { .n = 3 }, cut, slab, column, cell;
  int first[3], last[3];
  for (int a = 0; a < 3; a++)
    for (int d = 0; d < 3; d++)
      whole.x[a][d] = (body->pos[3 * (size_t)body->tri[3 * (size_t)t + (size_t)a] + (size_t)d] -
                       self->origin_m[d]) /
                      self->cell_m;
  range(&whole, 0, self->dims[0], &first[0], &last[0]);
  for (int i = first[0]; i <= last[0]; i++) {
    clip(&whole, 0, 1, i, &cut);
    clip(&cut, 0, -1, i + 1, &slab);
    range(&slab, 1, self->dims[1], &first[1], &last[1]);
    for (int j = first[1]; slab.n > 2 && j <= last[1]; j++) {
      clip(&slab, 1, 1, j, &cut);
      clip(&cut, 1, -1, j + 1, &column);
      range(&column, 2, self->dims[2], &first[2], &last[2]);
      for (int k = first[2]; column.n > 2 && k <= last[2]; k++) {
        clip(&column, 2, 1, k, &cut);
        clip(&cut, 2, -1, k + 1, &cell);
        if (cell.n > 2)
          add_part(parts, &cell, pla_hex_cell_key(i, j, 0), k);
      }
    }
  }
}

/* by column, from the top, then in the order of the triangles */
static int
compare_parts(const void *a, const void *b)
{
  const Part *p = a, *q = b;
  if (p->column != q->column)
    return p->column < q->column ? -1 : 1;
  if (p->k != q->k)
    return p->k > q->k ? -1 : 1;
  return (p->order > q->order) - (p->order < q->order);
}

/* the integral of the winding number over a cell, in cells */
static double
cell_volume(const Parts *parts, uint64_t cell)
{
  const int k = pla_hex_cell_index(cell, 2);
  const uint64_t column =
      pla_hex_cell_key(pla_hex_cell_index(cell, 0), pla_hex_cell_index(cell, 1), 0);
  size_t low = 0, high = parts->n;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (parts->part[middle].column < column)
      low = middle + 1;
    else
      high = middle;
  }
  double sum = 0.0;
  for (; low < parts->n && parts->part[low].column == column && parts->part[low].k >= k; low++)
    sum += parts->part[low].k > k ? parts->part[low].area : parts->part[low].above;
  return sum;
}

PlaStatus
pla_hex_embed_fill(PlaHexEmbed *self, const PlaTriMesh *body, PlaError *err)
{
  Parts parts = { 0 };
  float *fill = pla_mesh_add_field(self->mesh, PLA_MESH_FILL, PLA_ON_CELLS, PLA_F32, 1);
  for (int t = 0; fill && !parts.failed && t < body->n_tris; t++)
    add_triangle(&parts, self, body, t);
  const bool enough = fill && !parts.failed;
  if (enough && parts.n > 0)
    qsort(parts.part, parts.n, sizeof *parts.part, compare_parts);
  /* copies of a cell follow each other */
  for (int h = 0, end; enough && h < self->mesh->n_hexes; h = end) {
    for (end = h; end < self->mesh->n_hexes && self->cell[end] == self->cell[h];)
      end++;
    const double share = cell_volume(&parts, self->cell[h]) / (end - h);
    for (int copy = h; copy < end; copy++)
      fill[copy] = (float)fmin(fmax(share, 0.0), 1.0);
  }
  free(parts.part);
  return enough ? PLA_OK : pla_fail_memory(err, "the fill of the cells");
}

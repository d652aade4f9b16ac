/* Marching cubes after Lorensen and Cline (1987) with a case table that is built from the faces:
 * on each face of a cell, seen from outside, a line runs around every run of negative corners, and
 * these lines join to loops, which are the polygons of the cell.  As the lines of a face follow
 * from its four signs alone, neighbouring cells always agree.
 *
 * Slices of cells are independent: one pass counts, the second fills. */
#include "anatomy/levelset/contour.h"

#include "anatomy/base/memory.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* corner c of a cell has offsets (c & 1, c >> 1 & 1, c >> 2 & 1); edge 4 * axis + m runs along
 * axis from the corner whose other two offsets are the bits of m in cyclic order */
enum { MAX_LOOP = 12, MAX_LOOPS = 4 };

/* fraction of an edge that vertices keep from its ends */
static const double keep_off = 0.01;

typedef struct {
  uint8_t n_loops, n_tris;
  uint8_t length[MAX_LOOPS];
  uint8_t edge[MAX_LOOPS][MAX_LOOP];
} Case;

static int
edge_between(int a, int b)
{
  int axis = (a ^ b) == 1 ? 0 : (a ^ b) == 2 ? 1 : 2;
  int low = a & b;
  int first = low >> ((axis + 1) % 3) & 1, second = low >> ((axis + 2) % 3) & 1;
  return 4 * axis + first + 2 * second;
}

static void
build_case(int signs, Case *out)
{
  int next[12];
  memset(next, -1, sizeof next);
  memset(out, 0, sizeof *out);
  for (int face = 0; face < 6; face++) {
    /* corners counter-clockwise seen from outside */
    int axis = face / 2, u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3;
    int base = face % 2 ? 1 << axis : 0, p[4];
    p[0] = base;
    p[1] = base + (face % 2 ? u : v);
    p[2] = base + u + v;
    p[3] = base + (face % 2 ? v : u);
    /* from the end of each negative run back to its beginning */
    for (int e = 0; e < 4; e++) {
      if (!(signs >> p[e] & 1) || (signs >> p[(e + 1) % 4] & 1))
        continue;
      int s = e;
      while (signs >> p[(s + 3) % 4] & 1)
        s = (s + 3) % 4;
      next[edge_between(p[e], p[(e + 1) % 4])] = edge_between(p[(s + 3) % 4], p[s]);
    }
  }
  /* these loops run clockwise seen from the positive side: keep them backwards */
  for (int start = 0; start < 12; start++) {
    if (next[start] < 0)
      continue;
    int loop[12], n = 0;
    for (int e = start; next[e] >= 0;) {
      int to = next[e];
      loop[n++] = e;
      next[e] = -1;
      e = to;
    }
    for (int i = 0; i < n; i++)
      out->edge[out->n_loops][i] = (uint8_t)loop[n - 1 - i];
    out->length[out->n_loops++] = (uint8_t)n;
    out->n_tris = (uint8_t)(out->n_tris + n - 2);
  }
}

typedef struct {
  const int *dims;
  const float *values;
  int pad;        /* 1 when closed */
  int nx, ny, nz; /* samples with padding */
  const Case *cases;
} Grid;

/* plane k of the padded samples */
static void
load_plane(const Grid *g, int k, float *plane)
{
  const int *n = g->dims;
  int ck = k - g->pad < 0 ? 0 : k - g->pad >= n[2] ? n[2] - 1 : k - g->pad;
  for (int j = 0; j < g->ny; j++) {
    int cj = j - g->pad < 0 ? 0 : j - g->pad >= n[1] ? n[1] - 1 : j - g->pad;
    const float *row = g->values + (size_t)n[0] * ((size_t)cj + (size_t)n[1] * (size_t)ck);
    float *to = plane + (size_t)g->nx * (size_t)j;
    memcpy(to + g->pad, row, (size_t)n[0] * sizeof *to);
    if (!g->pad)
      continue;
    to[0] = row[0];
    to[g->nx - 1] = row[n[0] - 1];
    bool outside = ck != k - 1 || cj != j - 1;
    for (int i = 0; i < g->nx; i++)
      if ((outside || i == 0 || i == g->nx - 1) && to[i] < 0.0f)
        to[i] = -to[i];
  }
}

/* numbers the crossed x and y edges of a plane from @id on; -1 elsewhere; returns the next id */
static int
number_plane(const Grid *g, const float *plane, int id, int *on_x, int *on_y)
{
  for (int j = 0; j < g->ny; j++)
    for (int i = 0; i < g->nx; i++) {
      size_t v = (size_t)i + (size_t)g->nx * (size_t)j;
      bool in = plane[v] < 0.0f;
      on_x[v] = i + 1 < g->nx && in != (plane[v + 1] < 0.0f) ? id++ : -1;
      on_y[v] = j + 1 < g->ny && in != (plane[v + (size_t)g->nx] < 0.0f) ? id++ : -1;
    }
  return id;
}

static int
number_between(const Grid *g, const float *lower, const float *upper, int id, int *on_z)
{
  size_t n = (size_t)g->nx * (size_t)g->ny;
  for (size_t v = 0; v < n; v++)
    on_z[v] = (lower[v] < 0.0f) != (upper[v] < 0.0f) ? id++ : -1;
  return id;
}

static double
crossing(double a, double b)
{
  double t = a / (a - b);
  return t < keep_off ? keep_off : t > 1.0 - keep_off ? 1.0 - keep_off : t;
}

static int
case_of(const Grid *g, const float *lower, const float *upper, size_t v)
{
  size_t y = v + (size_t)g->nx;
  return (lower[v] < 0.0f) | (lower[v + 1] < 0.0f) << 1 | (lower[y] < 0.0f) << 2 |
         (lower[y + 1] < 0.0f) << 3 | (upper[v] < 0.0f) << 4 | (upper[v + 1] < 0.0f) << 5 |
         (upper[y] < 0.0f) << 6 | (upper[y + 1] < 0.0f) << 7;
}

/* scratch of one thread: two planes, their edge numbers, and those between */
typedef struct {
  float *lower, *upper;
  int *x0, *y0, *x1, *y1, *z;
} Scratch;

static bool
scratch_new(const Grid *g, Scratch *s)
{
  size_t n = (size_t)g->nx * (size_t)g->ny;
  s->lower = pla_array_new(2 * n, sizeof *s->lower);
  s->x0 = pla_array_new(5 * n, sizeof *s->x0);
  s->upper = s->lower + n;
  s->y0 = s->x0 + n;
  s->x1 = s->x0 + 2 * n;
  s->y1 = s->x0 + 3 * n;
  s->z = s->x0 + 4 * n;
  return s->lower && s->x0;
}

static void
count_slice(const Grid *g, const Scratch *s, int k, int *n_verts, int *n_tris)
{
  size_t plane = (size_t)g->nx * (size_t)g->ny;
  load_plane(g, k, s->lower);
  int verts = 0, tris = 0;
  for (int j = 0; j < g->ny; j++)
    for (int i = 0; i < g->nx; i++) {
      size_t v = (size_t)i + (size_t)g->nx * (size_t)j;
      bool in = s->lower[v] < 0.0f;
      verts += i + 1 < g->nx && in != (s->lower[v + 1] < 0.0f);
      verts += j + 1 < g->ny && in != (s->lower[v + (size_t)g->nx] < 0.0f);
    }
  if (k + 1 < g->nz) {
    load_plane(g, k + 1, s->upper);
    for (size_t v = 0; v < plane; v++)
      verts += (s->lower[v] < 0.0f) != (s->upper[v] < 0.0f);
    for (int j = 0; j + 1 < g->ny; j++)
      for (int i = 0; i + 1 < g->nx; i++) {
        size_t v = (size_t)i + (size_t)g->nx * (size_t)j;
        tris += g->cases[case_of(g, s->lower, s->upper, v)].n_tris;
      }
  }
  *n_verts = verts;
  *n_tris = tris;
}

static void
put(const Grid *g, double *pos, double x, double y, double z)
{
  pos[0] = x - g->pad;
  pos[1] = y - g->pad;
  pos[2] = z - g->pad;
}

static void
fill_verts(const Grid *g, const Scratch *s, int k, double *pos)
{
  for (int j = 0; j < g->ny; j++)
    for (int i = 0; i < g->nx; i++) {
      size_t v = (size_t)i + (size_t)g->nx * (size_t)j;
      if (s->x0[v] >= 0)
        put(g, pos + 3 * (size_t)s->x0[v], i + crossing(s->lower[v], s->lower[v + 1]), j, k);
      if (s->y0[v] >= 0)
        put(g, pos + 3 * (size_t)s->y0[v], i,
            j + crossing(s->lower[v], s->lower[v + (size_t)g->nx]), k);
      if (k + 1 < g->nz && s->z[v] >= 0)
        put(g, pos + 3 * (size_t)s->z[v], i, j, k + crossing(s->lower[v], s->upper[v]));
    }
}

static double
distance2(const double *a, const double *b)
{
  double s = 0.0;
  for (int d = 0; d < 3; d++)
    s += (a[d] - b[d]) * (a[d] - b[d]);
  return s;
}

static void
edge_point(const Grid *g, const Scratch *s, int i, int j, int k, int edge, double pos[3])
{
  int axis = edge / 4, o[3] = { 0, 0, 0 };
  o[(axis + 1) % 3] = edge & 1;
  o[(axis + 2) % 3] = edge >> 1 & 1;
  size_t v = (size_t)(i + o[0]) + (size_t)g->nx * (size_t)(j + o[1]);
  size_t w = v + (axis == 0 ? 1 : axis == 1 ? (size_t)g->nx : 0);
  double a = (o[2] ? s->upper : s->lower)[v], b = (o[2] || axis == 2 ? s->upper : s->lower)[w];
  pos[0] = i + o[0];
  pos[1] = j + o[1];
  pos[2] = k + o[2];
  pos[axis] += crossing(a, b);
}

static int
edge_vertex(const Grid *g, const Scratch *s, int i, int j, int edge)
{
  int axis = edge / 4, o[3] = { 0, 0, 0 };
  o[(axis + 1) % 3] = edge & 1;
  o[(axis + 2) % 3] = edge >> 1 & 1;
  size_t v = (size_t)(i + o[0]) + (size_t)g->nx * (size_t)(j + o[1]);
  return axis == 2 ? s->z[v] : axis == 1 ? (o[2] ? s->y1 : s->y0)[v] : (o[2] ? s->x1 : s->x0)[v];
}

/* whether two edges are on one face of the cell */
static bool
share_face(int e, int f)
{
  int a = e / 4, b = f / 4;
  if (a == b)
    return (e & 1) == (f & 1) || (e >> 1 & 1) == (f >> 1 & 1);
  /* along the third axis both have an offset, and the face across it holds both if they agree */
  int across = 3 - a - b;
  int oe = (a + 1) % 3 == across ? e & 1 : e >> 1 & 1,
      of = (b + 1) % 3 == across ? f & 1 : f >> 1 & 1;
  return oe == of;
}

/* The triangulation of a polygon with the shortest diagonals, none of them in a face of the cell:
 * the neighbour could have the same one, and four triangles would meet there.  Every polygon of
 * the table has such a triangulation. */
static int *
fill_polygon(const Grid *g, const Scratch *s, int i, int j, int k, const uint8_t *edge, int n,
             int *tri)
{
  double p[MAX_LOOP][3], best[MAX_LOOP][MAX_LOOP], side[MAX_LOOP][MAX_LOOP];
  int split[MAX_LOOP][MAX_LOOP], id[MAX_LOOP], stack[MAX_LOOP][2], depth = 0;
  /* vertices on the edges of the cell */
  for (int e = 0; e < n; e++) {
    id[e] = edge_vertex(g, s, i, j, edge[e]);
    if (n > 3)
      edge_point(g, s, i, j, k, edge[e], p[e]);
  }
  /* squared lengths of diagonals; those within a face of the cell would be shared: forbidden */
  for (int a = 0; a < n; a++)
    for (int b = a + 1; b < n; b++) {
      bool outer = b == a + 1 || (a == 0 && b == n - 1);
      side[a][b] = outer ? 0.0 : share_face(edge[a], edge[b]) ? INFINITY : distance2(p[a], p[b]);
    }
  /* least sum of diagonals of each part a..b, by dynamic programming */
  for (int a = 0; a + 1 < n; a++)
    best[a][a + 1] = 0.0;
  for (int span = 2; span < n; span++)
    for (int a = 0; a + span < n; a++) {
      int b = a + span;
      best[a][b] = INFINITY;
      split[a][b] = a + 1;
      for (int c = a + 1; c < b; c++) {
        double cost = best[a][c] + best[c][b] + side[a][c] + side[c][b];
        if (cost < best[a][b]) {
          best[a][b] = cost;
          split[a][b] = c;
        }
      }
    }
  /* triangles of the best splits */
  stack[depth][0] = 0;
  stack[depth++][1] = n - 1;
  while (depth > 0) {
    int a = stack[--depth][0], b = stack[depth][1];
    if (b - a < 2)
      continue;
    int c = split[a][b];
    *tri++ = id[a];
    *tri++ = id[c];
    *tri++ = id[b];
    stack[depth][0] = a;
    stack[depth++][1] = c;
    stack[depth][0] = c;
    stack[depth++][1] = b;
  }
  return tri;
}

static void
fill_slice(const Grid *g, const Scratch *s, int k, int vert, int next_vert, double *pos, int *tri)
{
  load_plane(g, k, s->lower);
  int id = number_plane(g, s->lower, vert, s->x0, s->y0);
  if (k + 1 < g->nz) {
    load_plane(g, k + 1, s->upper);
    number_between(g, s->lower, s->upper, id, s->z);
    number_plane(g, s->upper, next_vert, s->x1, s->y1);
  }
  fill_verts(g, s, k, pos);
  if (k + 1 == g->nz)
    return;
  for (int j = 0; j + 1 < g->ny; j++)
    for (int i = 0; i + 1 < g->nx; i++) {
      size_t v = (size_t)i + (size_t)g->nx * (size_t)j;
      int signs = case_of(g, s->lower, s->upper, v);
      if (signs != 0 && signs != 255)
        for (int l = 0; l < g->cases[signs].n_loops; l++)
          tri =
              fill_polygon(g, s, i, j, k, g->cases[signs].edge[l], g->cases[signs].length[l], tri);
    }
}

PlaStatus
pla_contour_extract(const int dims[3], const float *values, bool close, PlaContour *out,
                    PlaError *err)
{
  Case cases[256];
  for (int c = 0; c < 256; c++)
    build_case(c, &cases[c]);
  int pad = close ? 1 : 0;
  Grid g = { dims, values, pad, dims[0] + 2 * pad, dims[1] + 2 * pad, dims[2] + 2 * pad, cases };
  const bool large = (int64_t)g.nx * g.ny * g.nz > 100000;
  *out = (PlaContour){ 0 };

  /* first pass: vertices and triangles of each slice */
  int *count = pla_array_new0((size_t)g.nz + 1, 2 * sizeof *count);
  int64_t *start = pla_array_new0((size_t)g.nz + 1, 2 * sizeof *start);
  bool short_of_memory = !count || !start;
#pragma omp parallel if (large && !short_of_memory)
  {
    Scratch s;
    bool ready = count && start && scratch_new(&g, &s);
    if (!ready) {
#pragma omp atomic write
      short_of_memory = true;
    }
#pragma omp for schedule(dynamic, 4)
    for (int k = 0; k < g.nz; k++)
      if (ready)
        count_slice(&g, &s, k, &count[2 * k], &count[2 * k + 1]);
    if (count && start) {
      free(s.lower);
      free(s.x0);
    }
  }
  /* where each slice writes */
  for (int k = 0; !short_of_memory && k < g.nz; k++)
    for (int c = 0; c < 2; c++)
      start[2 * k + 2 + c] = start[2 * k + c] + count[2 * k + c];
  PlaStatus st = PLA_OK;
  if (!short_of_memory && (start[2 * g.nz] > INT_MAX / 3 || start[2 * g.nz + 1] > INT_MAX / 3))
    st = pla_fail(err, PLA_ERR_MEMORY,
                  "The surface would have %lld triangles, more than Platysma can hold; use a "
                  "coarser volume",
                  (long long)start[2 * g.nz + 1]);
  if (st == PLA_OK && !short_of_memory) {
    /* second pass: every slice fills its own part */
    out->n_verts = (int)start[2 * g.nz];
    out->n_tris = (int)start[2 * g.nz + 1];
    out->pos = pla_array_new((size_t)out->n_verts, 3 * sizeof *out->pos);
    out->tri = pla_array_new((size_t)out->n_tris, 3 * sizeof *out->tri);
    out->slice_tri = pla_array_new0((size_t)dims[2] + 2, sizeof *out->slice_tri);
    short_of_memory = !out->pos || !out->tri || !out->slice_tri;
  }
  if (st == PLA_OK && !short_of_memory) {
#pragma omp parallel if (large)
    {
      Scratch s;
      bool ready = scratch_new(&g, &s);
      if (!ready) {
#pragma omp atomic write
        short_of_memory = true;
      }
#pragma omp for schedule(dynamic, 4)
      for (int k = 0; k < g.nz; k++)
        if (ready)
          fill_slice(&g, &s, k, (int)start[2 * k], (int)start[2 * k + 2], out->pos,
                     out->tri + 3 * start[2 * k + 1]);
      free(s.lower);
      free(s.x0);
    }
    /* slices of cells are counted from below the grid, also when nothing is there */
    for (int k = 0; k < dims[2] + 2; k++) {
      int slice = k - 1 + pad;
      slice = slice < 0 ? 0 : slice > g.nz ? g.nz : slice;
      out->slice_tri[k] = (int)start[2 * slice + 1];
    }
  }
  if (st == PLA_OK && short_of_memory)
    st = pla_fail_memory(err, "the surface");
  if (st != PLA_OK)
    pla_contour_clear(out);
  free(count);
  free(start);
  return st;
}

void
pla_contour_clear(PlaContour *self)
{
  free(self->pos);
  free(self->tri);
  free(self->slice_tri);
  *self = (PlaContour){ 0 };
}

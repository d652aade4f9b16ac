/* First stage of the hexahedral embedding: which cells does each triangle meet, on which side of
 * it do their corners lie, and which edges of theirs does it cut?
 *
 * A triangle and a box are disjoint exactly when the plane of the triangle or a line in one of the
 * three axis-parallel projections separates them (the separating axes of Gottschalk, grouped by
 * projection).  Every decision is the sign of an exact determinant, so no cell and no cut edge is
 * ever missed. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"
#include "anatomy/mesh/predicates.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists ---- */

void *
pla_hex_list_add(PlaHexList *self)
{
  static _Thread_local char dud[64];
  if (self->n == self->room) {
    const size_t room = self->room + self->room / 2 + 64;
    if (self->failed || !pla_array_resize(&self->data, room, self->size)) {
      self->failed = true;
      return dud;
    }
    self->room = room;
  }
  return (char *)self->data + self->size * self->n++;
}

void *
pla_hex_lists_join(PlaHexList *lists, size_t n_lists, size_t *n)
{
  size_t total = 0, size = 1;
  bool failed = false;
  for (size_t b = 0; b < n_lists; b++) {
    total += lists[b].n;
    size = lists[b].size;
    failed = failed || lists[b].failed;
  }
  char *all = failed ? NULL : pla_array_new(total, size);
  if (all)
    *n = total;
  char *to = all;
  for (size_t b = 0; b < n_lists; b++) {
    if (to && lists[b].n > 0)
      to = (char *)memcpy(to, lists[b].data, lists[b].n * size) + lists[b].n * size;
    free(lists[b].data);
    lists[b].data = NULL;
  }
  return all;
}

/* ---- predicates, with their filters inlined ---- */

static const double unit = DBL_EPSILON / 2.0;

static inline int
sign_of(double x)
{
  return (x > 0.0) - (x < 0.0);
}

/* the turn a, b, c in the plane (u, v) */
static inline int
turn(const double *a, const double *b, double cu, double cv, int u, int v)
{
  const double left = (a[u] - cu) * (b[v] - cv), right = (a[v] - cv) * (b[u] - cu);
  const double det = left - right, bound = 3.5 * unit * (fabs(left) + fabs(right));
  if (det > bound || -det > bound)
    return sign_of(det);
  return pla_orient2d((double[2]){ a[u], a[v] }, (double[2]){ b[u], b[v] }, (double[2]){ cu, cv });
}

typedef struct {
  const double *p[3];
  double normal[3]; /* rounded */
  double slack;     /* error of (normal . d) per unit of max |d| */
  int turn[3];      /* exact sign of the normal's components: turns in the planes yz, zx, xy */
} Tri;

static void
tri_init(Tri *t, const double *a, const double *b, const double *c)
{
  t->p[0] = a;
  t->p[1] = b;
  t->p[2] = c;
  double e[3], f[3], size = 0.0;
  pla_vec3_sub(b, a, e);
  pla_vec3_sub(c, a, f);
  pla_vec3_cross(e, f, t->normal);
  for (int d = 0; d < 3; d++) {
    const int u = (d + 1) % 3, v = (d + 2) % 3;
    t->turn[d] = turn(a, b, c[u], c[v], u, v);
    size += fabs(e[u] * f[v]) + fabs(e[v] * f[u]);
  }
  /* differences and products err by 4 units, the dot product by 4 more; twice that for safety */
  t->slack = 16.0 * unit * size;
}

/* side of the triangle's plane: +1 outside, exact */
static inline int
side(const Tri *t, double x, double y, double z)
{
  const double dx = x - t->p[0][0], dy = y - t->p[0][1], dz = z - t->p[0][2];
  const double det = t->normal[0] * dx + t->normal[1] * dy + t->normal[2] * dz;
  const double bound = t->slack * fmax(fabs(dx), fmax(fabs(dy), fabs(dz)));
  if (det > bound || -det > bound)
    return sign_of(det);
  return pla_orient3d(t->p[0], t->p[1], t->p[2], (double[3]){ x, y, z });
}

/* rectangle against the line from a to b, where a comes before b by (u, v) */
static bool
line_meets(const double *a, const double *b, int u, int v, const double lo[3], const double hi[3])
{
  const bool rising = b[v] > a[v];
  return turn(a, b, rising ? lo[u] : hi[u], hi[v], u, v) >= 0 &&
         turn(a, b, rising ? hi[u] : lo[u], lo[v], u, v) <= 0;
}

/* rectangle against the projection along axis d: does a side of the triangle separate them? */
static bool
projection_meets(const Tri *t, int d, const double lo[3], const double hi[3])
{
  const int u = (d + 1) % 3, v = (d + 2) % 3, s = t->turn[d];
  if (s != 0) {
    for (int e = 0; e < 3; e++) {
      const double *a = t->p[e], *b = t->p[(e + 1) % 3];
      /* the corner farthest towards the inside of this side */
      const bool up_u = s > 0 ? b[v] < a[v] : b[v] > a[v];
      const bool up_v = s > 0 ? b[u] > a[u] : b[u] < a[u];
      if (s * turn(a, b, up_u ? hi[u] : lo[u], up_v ? hi[v] : lo[v], u, v) < 0)
        return false;
    }
    return true;
  }
  /* a line: its ends are the extremes */
  const double *a = t->p[0], *b = t->p[0];
  for (int e = 1; e < 3; e++) {
    const double *p = t->p[e];
    if (p[u] < a[u] || (p[u] == a[u] && p[v] < a[v]))
      a = p;
    if (p[u] > b[u] || (p[u] == b[u] && p[v] > b[v]))
      b = p;
  }
  return line_meets(a, b, u, v, lo, hi);
}

/* triangle against a closed box that its bounding box meets */
static bool
box_meets(const Tri *t, const double lo[3], const double hi[3])
{
  const int *s = t->turn;
  if (side(t, s[0] > 0 ? hi[0] : lo[0], s[1] > 0 ? hi[1] : lo[1], s[2] > 0 ? hi[2] : lo[2]) < 0 ||
      side(t, s[0] > 0 ? lo[0] : hi[0], s[1] > 0 ? lo[1] : hi[1], s[2] > 0 ? lo[2] : hi[2]) > 0)
    return false;
  for (int d = 0; d < 3; d++)
    if (!projection_meets(t, d, lo, hi))
      return false;
  return true;
}

/* segment against a closed box */
static bool
segment_meets(const double *a, const double *b, const double lo[3], const double hi[3])
{
  for (int d = 0; d < 3; d++)
    if ((a[d] < lo[d] && b[d] < lo[d]) || (a[d] > hi[d] && b[d] > hi[d]))
      return false;
  for (int d = 0; d < 3; d++) {
    const int u = (d + 1) % 3, v = (d + 2) % 3;
    if (b[u] < a[u] || (b[u] == a[u] && b[v] < a[v])) {
      const double *swap = a;
      a = b;
      b = swap;
    }
    if (!line_meets(a, b, u, v, lo, hi))
      return false;
  }
  return true;
}

bool
pla_hex_edge_meets(const PlaHexWork *w, int a, int b, uint32_t line, uint32_t i)
{
  const double *p = w->surface->pos + 3 * (size_t)a, *q = w->surface->pos + 3 * (size_t)b;
  double lo[3], hi[3];
  pla_hex_node_pos(w, line, i, lo);
  pla_hex_node_pos(w, pla_hex_corner_line(w, line, 7), i + 1, hi);
  return segment_meets(p, q, lo, hi);
}

/* point (cu, cv) against the closed projection along axis d, which is no line */
static bool
projection_holds(const Tri *t, int d, double cu, double cv)
{
  const int u = (d + 1) % 3, v = (d + 2) % 3, s = t->turn[d];
  for (int e = 0; e < 3; e++)
    if (s * turn(t->p[e], t->p[(e + 1) % 3], cu, cv, u, v) < 0)
      return false;
  return true;
}

/* the edge along @d from corner @q of the cell, in the plane of the triangle */
static bool
flat_edge_meets(const Tri *t, const double c[3][2], int q, int d)
{
  double lo[3], hi[3];
  for (int k = 0; k < 3; k++) {
    lo[k] = c[k][q >> k & 1];
    hi[k] = k == d ? c[k][1] : lo[k];
    if (fmin(t->p[0][k], fmin(t->p[1][k], t->p[2][k])) > hi[k] ||
        fmax(t->p[0][k], fmax(t->p[1][k], t->p[2][k])) < lo[k])
      return false;
  }
  return box_meets(t, lo, hi);
}

/* the same for the ray along x through (y, z) moved by (eps, eps^2): of triangles around a common
 * edge or vertex it hits each closed fan the right number of times */
static bool
ray_hits(const Tri *t, double y, double z)
{
  const int s = t->turn[0];
  for (int e = 0; e < 3; e++) {
    const double *a = t->p[e], *b = t->p[(e + 1) % 3];
    int side_e = turn(a, b, y, z, 1, 2);
    if (side_e == 0)
      side_e = b[2] != a[2] ? sign_of(a[2] - b[2]) : sign_of(b[1] - a[1]);
    if (s * side_e < 0)
      return false;
  }
  return true;
}

/* ---- the surface ---- */

static PlaStatus
refuse_edge(const PlaHexWork *w, int a, int b, PlaError *err)
{
  const double *p = w->surface->pos + 3 * (size_t)a, *q = w->surface->pos + 3 * (size_t)b;
  return pla_fail(err, PLA_ERR_GEOMETRY,
                  "The surface is not closed and consistently oriented: the edge from vertex %d to "
                  "%d, at (%.6g, %.6g, %.6g) mm, is not shared by exactly two triangles that run "
                  "along it in opposite directions; fill the hole or repair the orientation there",
                  a, b, 500.0 * (p[0] + q[0]), 500.0 * (p[1] + q[1]), 500.0 * (p[2] + q[2]));
}

static int
compare_ints(const void *a, const void *b)
{
  const int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static int
compare_triangles(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return x[1] != y[1] ? (x[1] > y[1]) - (x[1] < y[1]) : (x[2] > y[2]) - (x[2] < y[2]);
}

/* triangles with their lowest vertex first, sorted; and the triangles around each vertex */
static PlaStatus
order_triangles(PlaHexWork *w, PlaError *err)
{
  const PlaTriMesh *m = w->surface;
  const size_t n_verts = (size_t)m->n_verts, n_tris = (size_t)m->n_tris;
  w->n_tris = m->n_tris;
  w->tri = pla_array_new(3 * n_tris, sizeof *w->tri);
  w->ring_start = pla_array_new0(n_verts + 1, sizeof *w->ring_start);
  w->ring = pla_array_new(3 * n_tris, sizeof *w->ring);
  int *first = pla_array_new0(n_verts + 1, sizeof *first);
  if (!w->tri || !w->ring_start || !w->ring || !first || n_tris > INT32_MAX / 3) {
    free(first);
    return pla_fail_memory(err, "the surface");
  }
  /* by lowest vertex */
  for (size_t t = 0; t < n_tris; t++) {
    const int *v = m->tri + 3 * t;
    first[1 + (v[0] < v[1] ? (v[0] < v[2] ? v[0] : v[2]) : (v[1] < v[2] ? v[1] : v[2]))]++;
  }
  for (size_t v = 0; v < n_verts; v++)
    first[v + 1] += first[v];
  for (size_t t = 0; t < n_tris; t++) {
    const int *v = m->tri + 3 * t;
    const int r = v[0] < v[1] ? (v[0] < v[2] ? 0 : 2) : (v[1] < v[2] ? 1 : 2);
    int *to = w->tri + 3 * (size_t)first[v[r]]++;
    for (int c = 0; c < 3; c++)
      to[c] = v[(r + c) % 3];
  }
  /* then by the second and third */
  for (size_t v = 0, from = 0; v < n_verts; from = (size_t)first[v++])
    if ((size_t)first[v] > from + 1)
      qsort(w->tri + 3 * from, (size_t)first[v] - from, 3 * sizeof *w->tri, compare_triangles);
  free(first);

  for (size_t i = 0; i < 3 * n_tris; i++)
    w->ring_start[w->tri[i] + 1]++;
  for (size_t v = 0; v < n_verts; v++)
    w->ring_start[v + 1] += w->ring_start[v];
  for (size_t i = 0; i < 3 * n_tris; i++)
    w->ring[w->ring_start[w->tri[i]]++] = (int)(i / 3);
  memmove(w->ring_start + 1, w->ring_start, n_verts * sizeof *w->ring_start);
  w->ring_start[0] = 0;
  return PLA_OK;
}

/* around each vertex, the ends of outgoing and incoming edges must be the same, each once */
static PlaStatus
check_closed(const PlaHexWork *w, PlaError *err)
{
  int most = 0;
  for (int v = 0; v < w->surface->n_verts; v++)
    if (w->ring_start[v + 1] - w->ring_start[v] > most)
      most = w->ring_start[v + 1] - w->ring_start[v];
  int *out = pla_array_new((size_t)most, sizeof *out),
      *in = pla_array_new((size_t)most, sizeof *in);
  PlaStatus st = out && in ? PLA_OK : pla_fail_memory(err, "the surface");
  for (int v = 0; v < w->surface->n_verts && st == PLA_OK; v++) {
    const int n = w->ring_start[v + 1] - w->ring_start[v];
    for (int k = 0; k < n; k++) {
      const int *t = w->tri + 3 * (size_t)w->ring[w->ring_start[v] + k];
      const int c = t[0] == v ? 0 : t[1] == v ? 1 : 2;
      out[k] = t[(c + 1) % 3];
      in[k] = t[(c + 2) % 3];
      if (out[k] == in[k] || out[k] == v || in[k] == v)
        st = pla_fail(err, PLA_ERR_GEOMETRY,
                      "The surface has a triangle that names vertex %d twice; remove it",
                      out[k] == v || in[k] == v ? v : out[k]);
    }
    if (st != PLA_OK)
      break;
    qsort(out, (size_t)n, sizeof *out, compare_ints);
    qsort(in, (size_t)n, sizeof *in, compare_ints);
    for (int k = 0; k < n && st == PLA_OK; k++)
      if (out[k] != in[k] || (k > 0 && out[k] == out[k - 1]))
        st = refuse_edge(w, v, out[k] < in[k] || (k > 0 && out[k] == out[k - 1]) ? out[k] : in[k],
                         err);
  }
  free(out);
  free(in);
  return st;
}

/* connected components, and whether each encloses a body or a cavity */
static PlaStatus
find_shells(PlaHexWork *w, double *volume, double *area, PlaError *err)
{
  const int n_verts = w->surface->n_verts;
  int *parent = pla_array_new((size_t)n_verts, sizeof *parent);
  int *number = pla_array_new((size_t)n_verts, sizeof *number);
  w->shell = pla_array_new((size_t)w->n_tris, sizeof *w->shell);
  double *enclosed = NULL;
  PlaStatus st = parent && number && w->shell ? PLA_OK : pla_fail_memory(err, "the surface");
  if (st == PLA_OK) {
    for (int v = 0; v < n_verts; v++)
      parent[v] = v;
    for (int t = 0; t < w->n_tris; t++)
      for (int c = 1; c < 3; c++)
        pla_union_find_join(parent, w->tri[3 * (size_t)t], w->tri[3 * (size_t)t + c]);
    for (int v = 0; v < n_verts; v++)
      if (parent[v] == v && w->ring_start[v + 1] > w->ring_start[v])
        number[v] = w->n_shells++;
    enclosed = pla_array_new0((size_t)w->n_shells, sizeof *enclosed);
    w->shell_outward = pla_array_new0((size_t)w->n_shells, sizeof *w->shell_outward);
    if (!enclosed || !w->shell_outward)
      st = pla_fail_memory(err, "the surface");
  }
  *volume = *area = 0.0;
  if (st == PLA_OK) {
    for (int t = 0; t < w->n_tris; t++) {
      const int *v = w->tri + 3 * (size_t)t;
      const double *o = w->surface->pos + 3 * (size_t)w->tri[0];
      double p[3][3], n[3];
      for (int c = 0; c < 3; c++)
        pla_vec3_sub(w->surface->pos + 3 * (size_t)v[c], o, p[c]);
      w->shell[t] = number[pla_union_find_root(parent, v[0])];
      pla_vec3_cross(p[1], p[2], n);
      enclosed[w->shell[t]] += pla_vec3_dot(p[0], n) / 6.0;
      pla_vec3_sub(p[1], p[0], p[1]);
      pla_vec3_sub(p[2], p[0], p[2]);
      pla_vec3_cross(p[1], p[2], n);
      *area += 0.5 * pla_vec3_norm(n);
    }
    for (int s = 0; s < w->n_shells; s++) {
      w->shell_outward[s] = enclosed[s] < 0.0 ? -1 : 1;
      *volume += enclosed[s];
    }
  }
  free(parent);
  free(number);
  free(enclosed);
  return st;
}

/* grid lines lie off the surface's own planes by parts of a cell that no scan is likely to hit;
 * each further attempt by multiples of them */
static const double grid_shift[3] = { 0.41421356237309515, 0.73205080756887729,
                                      0.23606797749978981 };
/* more crossed cells or lines than this are refused before memory is taken for them */
#define MAX_CELLS 4e8

static PlaStatus
lay_grid(PlaHexWork *w, const double *node, double volume, double area, PlaError *err)
{
  const PlaTriMesh *m = w->surface;
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (size_t i = 0; i < 3 * (size_t)w->n_tris; i++)
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], m->pos[3 * (size_t)w->tri[i] + d]);
      hi[d] = fmax(hi[d], m->pos[3 * (size_t)w->tri[i] + d]);
    }
  double cells[3];
  for (int d = 0; d < 3; d++) {
    w->origin[d] = node ? node[d] + w->h * (floor((lo[d] - node[d]) / w->h) - 2.0)
                        : lo[d] - (1.0 + fmod((1 + w->attempt) * grid_shift[d], 1.0)) * w->h;
    cells[d] = floor((hi[d] - w->origin[d]) / w->h) + 3.0;
  }
  const double expected = fabs(volume) / (w->h * w->h * w->h) + 2.0 * area / (w->h * w->h);
  const double limit = (double)(1 << PLA_HEX_CELL_BITS);
  if (!(cells[0] < limit && cells[1] < limit && cells[2] < limit && expected < MAX_CELLS &&
        cells[1] * cells[2] < MAX_CELLS))
    return pla_fail(err, PLA_ERR_USAGE,
                    "A cell of %g mm gives about %.3g hexahedra on a grid of %.0f x %.0f x %.0f; "
                    "choose a larger cell",
                    1000.0 * w->h, expected, cells[0], cells[1], cells[2]);
  for (int d = 0; d < 3; d++) {
    w->n[d] = (int)cells[d];
    w->coord[d] = pla_array_new((size_t)w->n[d] + 1, sizeof *w->coord[d]);
    if (!w->coord[d])
      return pla_fail_memory(err, "the grid");
    for (int i = 0; i <= w->n[d]; i++)
      w->coord[d][i] = w->origin[d] + w->h * i;
    if (!(w->coord[d][1] < lo[d] && w->coord[d][w->n[d] - 1] > hi[d] &&
          w->coord[d][1] > w->coord[d][0]))
      return pla_fail(err, PLA_ERR_USAGE,
                      "A cell of %g mm is too small beside coordinates of %g mm; choose a larger "
                      "cell or move the surface towards the origin",
                      1000.0 * w->h, 1000.0 * fmax(fabs(lo[d]), fabs(hi[d])));
  }
  w->lines_y = w->n[1] + 1;
  w->n_lines = (size_t)w->lines_y * ((size_t)w->n[2] + 1);
  return PLA_OK;
}

PlaStatus
pla_hex_prepare(PlaHexWork *w, const PlaHexEmbedOptions *opts, PlaError *err)
{
  const PlaTriMesh *m = w->surface;
  const double cell_m = opts->cell_m;
  if (!(cell_m > 0.0) || !isfinite(cell_m))
    return pla_fail(err, PLA_ERR_USAGE, "The size of a cell must be a positive number of mm");
  if (m->n_tris <= 0)
    return pla_fail(err, PLA_ERR_EMPTY, "The surface has no triangles");
  for (size_t i = 0; i < 3 * (size_t)m->n_tris; i++)
    if (m->tri[i] < 0 || m->tri[i] >= m->n_verts)
      return pla_fail(err, PLA_ERR_GEOMETRY, "Triangle %zu names vertex %d of %d", i / 3, m->tri[i],
                      m->n_verts);
  for (size_t i = 0; i < 3 * (size_t)m->n_verts; i++)
    if (!isfinite(m->pos[i]))
      return pla_fail(err, PLA_ERR_GEOMETRY, "Vertex %zu has no finite position", i / 3);
  double volume, area;
  w->h = cell_m;
  PlaStatus st = order_triangles(w, err);
  if (st == PLA_OK)
    st = check_closed(w, err);
  if (st == PLA_OK)
    st = find_shells(w, &volume, &area, err);
  if (st == PLA_OK)
    st = lay_grid(w, opts->node_m, volume, area, err);
  return st;
}

/* ---- crossed cells ---- */

typedef struct {
  const PlaHexWork *w;
  Tri t;
  uint32_t tri;
  PlaHexList *out;
} Walk;

/* sides of the corners, cut edges, and the step of the winding number along x */
static void
add_pair(const Walk *walk, const int at[3])
{
  const PlaHexWork *w = walk->w;
  const Tri *t = &walk->t;
  double c[3][2];
  int s[8], pos = 0, neg = 0, cut = 0;
  for (int d = 0; d < 3; d++) {
    c[d][0] = w->coord[d][at[d]];
    c[d][1] = w->coord[d][at[d] + 1];
  }
  for (int q = 0; q < 8; q++) {
    s[q] = side(t, c[0][q & 1], c[1][q >> 1 & 1], c[2][q >> 2]);
    pos |= (s[q] > 0) << q;
    neg |= (s[q] < 0) << q;
  }
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 4; e++) {
      /* e runs over the offsets along the two other axes, the lower axis first */
      const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
      const int q = (e & 1) << a | (e >> 1) << b;
      if (s[q] * s[q | 1 << d] > 0)
        continue;
      const int u = (d + 1) % 3, v = (d + 2) % 3;
      const bool flat = s[q] == 0 && s[q | 1 << d] == 0;
      if (flat ? flat_edge_meets(t, (const double(*)[2])c, q, d)
               : projection_holds(t, d, c[u][q >> u & 1], c[v][q >> v & 1]))
        cut |= 1 << (4 * d + e);
    }
  if ((cut & 1) && t->turn[0] != 0 && (s[0] >= 0) != (s[1] >= 0) && ray_hits(t, c[1][0], c[2][0]))
    cut |= PLA_HEX_STEP | (t->turn[0] > 0 ? PLA_HEX_EXIT : 0);
  *(PlaHexPair *)pla_hex_list_add(walk->out) = (PlaHexPair){ (uint32_t)(at[1] + w->lines_y * at[2]),
                                                             (uint32_t)at[0],
                                                             walk->tri,
                                                             (uint8_t)pos,
                                                             (uint8_t)neg,
                                                             (uint16_t)cut };
}

/* cells lo..hi that the triangle meets; the whole block is known to meet it when @sure */
static void
walk_cells(const Walk *walk, const int lo[3], const int hi[3], bool sure)
{
  if (!sure) {
    double from[3], to[3];
    for (int d = 0; d < 3; d++) {
      from[d] = walk->w->coord[d][lo[d]];
      to[d] = walk->w->coord[d][hi[d] + 1];
    }
    if (!box_meets(&walk->t, from, to))
      return;
  }
  int longest = 0;
  for (int d = 1; d < 3; d++)
    if (hi[d] - lo[d] > hi[longest] - lo[longest])
      longest = d;
  if (hi[longest] == lo[longest]) {
    add_pair(walk, lo);
    return;
  }
  int mid[3];
  memcpy(mid, hi, sizeof mid);
  mid[longest] = lo[longest] + (hi[longest] - lo[longest]) / 2;
  walk_cells(walk, lo, mid, false);
  memcpy(mid, lo, sizeof mid);
  mid[longest] = lo[longest] + (hi[longest] - lo[longest]) / 2 + 1;
  walk_cells(walk, mid, hi, false);
}

/* cells of axis @d whose closed interval meets [from, to] */
static void
cell_range(const PlaHexWork *w, int d, double from, double to, int *lo, int *hi)
{
  const double *c = w->coord[d];
  int i = (int)((from - w->origin[d]) / w->h);
  while (i > 0 && c[i] >= from)
    i--;
  while (c[i + 1] < from)
    i++;
  *lo = i;
  i = (int)((to - w->origin[d]) / w->h);
  while (i > 0 && c[i] > to)
    i--;
  while (c[i + 1] <= to)
    i++;
  *hi = i;
}

static void
walk_triangle(const PlaHexWork *w, int tri, PlaHexList *out)
{
  const double *p[3];
  for (int c = 0; c < 3; c++)
    p[c] = w->surface->pos + 3 * (size_t)w->tri[3 * (size_t)tri + c];
  Walk walk = { .w = w, .tri = (uint32_t)tri, .out = out };
  tri_init(&walk.t, p[0], p[1], p[2]);
  int lo[3], hi[3];
  for (int d = 0; d < 3; d++)
    cell_range(w, d, fmin(p[0][d], fmin(p[1][d], p[2][d])), fmax(p[0][d], fmax(p[1][d], p[2][d])),
               &lo[d], &hi[d]);
  walk_cells(&walk, lo, hi, true);
}

enum { TRIS_A_BLOCK = 512 };

/* stable by line; @from is left as it was, *sorted has the pairs */
static PlaStatus
sort_pairs(PlaHexWork *w, PlaHexList *lists, size_t n_lists, PlaError *err)
{
  size_t total = 0;
  bool failed = false;
  for (size_t b = 0; b < n_lists; b++) {
    total += lists[b].n;
    failed = failed || lists[b].failed;
  }
  uint32_t *start = pla_array_new0(w->n_lines + 2, sizeof *start);
  w->pair = failed || total > INT32_MAX ? NULL : pla_array_new(total, sizeof *w->pair);
  if (!start || !w->pair) {
    free(start);
    return pla_fail_memory(err, "the cells that the surface crosses");
  }
  w->n_pairs = (uint32_t)total;
  for (size_t b = 0; b < n_lists; b++)
    for (size_t i = 0; i < lists[b].n; i++)
      start[((PlaHexPair *)lists[b].data)[i].line + 2]++;
  for (size_t l = 0; l < w->n_lines; l++)
    start[l + 2] += start[l + 1];
  for (size_t b = 0; b < n_lists; b++) {
    for (size_t i = 0; i < lists[b].n; i++) {
      const PlaHexPair *p = (PlaHexPair *)lists[b].data + i;
      w->pair[start[p->line + 1]++] = *p;
    }
    free(lists[b].data);
    lists[b].data = NULL;
  }
  w->line_cell = start; /* for now, first pairs of lines */
  return PLA_OK;
}

/* stable, by i within a line */
static bool
sort_line(const PlaHexWork *w, PlaHexPair *pair, size_t n, PlaHexPair **spare, size_t *room,
          uint32_t *count)
{
  size_t s = 1;
  while (s < n && pair[s - 1].i <= pair[s].i)
    s++;
  if (s >= n)
    return true;
  if (n <= 24) {
    for (; s < n; s++) {
      const PlaHexPair key = pair[s];
      size_t at = s;
      for (; at > 0 && pair[at - 1].i > key.i; at--)
        pair[at] = pair[at - 1];
      pair[at] = key;
    }
    return true;
  }
  if (n > *room) {
    if (!pla_array_resize((void **)spare, n, sizeof **spare))
      return false;
    *room = n;
  }
  uint32_t lo = pair[0].i, hi = pair[0].i;
  for (s = 1; s < n; s++) {
    lo = pair[s].i < lo ? pair[s].i : lo;
    hi = pair[s].i > hi ? pair[s].i : hi;
  }
  memset(count, 0, (hi - lo + 2) * sizeof *count);
  for (s = 0; s < n; s++)
    count[pair[s].i - lo + 1]++;
  for (uint32_t i = 0; i < hi - lo; i++)
    count[i + 1] += count[i];
  for (s = 0; s < n; s++)
    (*spare)[count[pair[s].i - lo]++] = pair[s];
  memcpy(pair, *spare, n * sizeof *pair);
  return true;
}

static PlaStatus
sort_lines(PlaHexWork *w, PlaError *err)
{
  bool failed = false;
#pragma omp parallel
  {
    PlaHexPair *spare = NULL;
    size_t room = 0;
    uint32_t *count = pla_array_new((size_t)w->n[0] + 2, sizeof *count);
    bool mine = !count;
#pragma omp for schedule(dynamic, 64)
    for (size_t l = 0; l < w->n_lines; l++)
      if (!mine && w->line_cell[l + 1] > w->line_cell[l])
        mine = !sort_line(w, w->pair + w->line_cell[l], w->line_cell[l + 1] - w->line_cell[l],
                          &spare, &room, count);
    if (mine) {
#pragma omp atomic write
      failed = true;
    }
    free(spare);
    free(count);
  }
  return failed ? pla_fail_memory(err, "the cells that the surface crosses") : PLA_OK;
}

/* pairs of the same cell become that cell */
static PlaStatus
group_cells(PlaHexWork *w, PlaError *err)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < w->n_pairs; p++)
    n += p == 0 || w->pair[p].line != w->pair[p - 1].line || w->pair[p].i != w->pair[p - 1].i;
  w->n_cells = n;
  w->cell_i = pla_array_new(n, sizeof *w->cell_i);
  w->cell_line = pla_array_new(n, sizeof *w->cell_line);
  w->cell_pair = pla_array_new((size_t)n + 1, sizeof *w->cell_pair);
  w->cell_cut = pla_array_new0(n, sizeof *w->cell_cut);
  if (!w->cell_i || !w->cell_line || !w->cell_pair || !w->cell_cut)
    return pla_fail_memory(err, "the cells that the surface crosses");
  uint32_t c = PLA_HEX_NONE;
  for (uint32_t p = 0; p < w->n_pairs; p++) {
    const PlaHexPair *pair = &w->pair[p];
    if (p == 0 || pair->line != pair[-1].line || pair->i != pair[-1].i) {
      c++;
      w->cell_i[c] = pair->i;
      w->cell_line[c] = pair->line;
      w->cell_pair[c] = p;
    }
    w->cell_cut[c] |= pair->cut & PLA_HEX_CUT_ALL;
  }
  w->cell_pair[n] = w->n_pairs;
  /* lines begin at cells from now on */
  c = 0;
  for (size_t l = 0; l <= w->n_lines; l++) {
    while (c < n && w->cell_line[c] < l)
      c++;
    w->line_cell[l] = c;
  }
  return PLA_OK;
}

PlaStatus
pla_hex_find_cells(PlaHexWork *w, PlaProgress *progress, PlaError *err)
{
  const size_t n_blocks = ((size_t)w->n_tris + TRIS_A_BLOCK - 1) / TRIS_A_BLOCK;
  PlaHexList *lists = pla_array_new0(n_blocks, sizeof *lists);
  if (!lists)
    return pla_fail_memory(err, "the cells that the surface crosses");
#pragma omp parallel for schedule(dynamic)
  for (size_t b = 0; b < n_blocks; b++) {
    lists[b].size = sizeof(PlaHexPair);
    const size_t end = (b + 1) * TRIS_A_BLOCK;
    if (!pla_progress_cancelled(progress))
      for (size_t t = b * TRIS_A_BLOCK; t < end && t < (size_t)w->n_tris; t++)
        walk_triangle(w, (int)t, &lists[b]);
  }
  PlaStatus st = sort_pairs(w, lists, n_blocks, err);
  for (size_t b = 0; b < n_blocks; b++)
    free(lists[b].data);
  free(lists);
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = sort_lines(w, err);
  if (st == PLA_OK)
    st = group_cells(w, err);
  w->report.crossed_cells = (int)w->n_cells;
  return st;
}

uint32_t
pla_hex_cell_at(const PlaHexWork *w, uint32_t line, uint32_t i)
{
  uint32_t lo = w->line_cell[line], hi = w->line_cell[line + 1];
  while (lo < hi) {
    const uint32_t mid = lo + (hi - lo) / 2;
    if (w->cell_i[mid] < i)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < w->line_cell[line + 1] && w->cell_i[lo] == i ? lo : PLA_HEX_NONE;
}

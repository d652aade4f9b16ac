/* The surface that a mesh was carved along, where no blade has come near it.
 *
 * The mesh is cut along facets, the few triangles that the shape of the surface needs; they are
 * divided into parts, small enough that the surface follows what the tets do.  Parts of facets that
 * lie in tets without a blade are taken as they are: the skin then has the scan's triangles, and
 * the work grows with what blades have reached.  A facet beside patches is put together anew, with
 * the patches' points on the edges that it shares with them and its parts' points on the others. */
#include "sim/cut/cut-surface-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFF (-1e-6) /* least weight of a point that is still in a tet: triangles are rounded */

/* ---- what is kept ---- */

void
pla_cut_scan_clear(PlaCutScan *self)
{
  free(self->pos);
  free(self->tri);
  free(self->part);
  free(self->start);
  *self = (PlaCutScan){ 0 };
}

/* false: memory is short; all to be freed in any case */
bool
pla_cut_scan_dup(const PlaCutScan *self, int n_carved, PlaCutScan *out)
{
  *out = (PlaCutScan){ .n_verts = self->n_verts, .n_parts = self->n_parts };
  out->pos = pla_array_dup(self->pos, 3 * (size_t)self->n_verts, sizeof *out->pos);
  out->tri = pla_array_dup(self->tri, 3 * (size_t)n_carved, sizeof *out->tri);
  out->part = pla_array_dup(self->part, 3 * (size_t)self->n_parts, sizeof *out->part);
  out->start = pla_array_dup(self->start, (size_t)n_carved + 1, sizeof *out->start);
  return out->pos && out->tri && out->part && out->start;
}

PlaStatus
pla_cut_mesh_keep_surface(PlaCutMesh *self, const PlaTriMesh *facets, const PlaTriMesh *surface,
                          const int *facet, PlaError *err)
{
  PlaCutScan *scan = &self->scan;
  const size_t n_facets = (size_t)self->n_carved, n_parts = (size_t)surface->n_tris;
  pla_cut_scan_clear(scan);
  scan->n_verts = surface->n_verts;
  scan->n_parts = surface->n_tris;
  scan->pos = pla_array_dup(surface->pos, 3 * (size_t)surface->n_verts, sizeof *surface->pos);
  scan->tri = pla_array_dup(facets->tri, 3 * n_facets, sizeof *facets->tri);
  scan->part = pla_array_new(3 * n_parts, sizeof *scan->part);
  scan->start = pla_array_new0(n_facets + 2, sizeof *scan->start);
  if (!scan->pos || !scan->tri || !scan->part || !scan->start) {
    pla_cut_scan_clear(scan);
    return pla_fail_memory(err, "the surface of the body");
  }
  for (size_t t = 0; t < n_parts; t++)
    scan->start[facet[t] + 2]++;
  for (size_t i = 0; i < n_facets; i++)
    scan->start[i + 2] += scan->start[i + 1];
  for (size_t t = 0; t < n_parts; t++)
    memcpy(&scan->part[3 * scan->start[facet[t] + 1]++], &surface->tri[3 * t],
           3 * sizeof *scan->part);
  return PLA_OK;
}

/* ---- where it lies ---- */

/* what gives the weights of points in a tet */
typedef struct {
  double origin[3], inverse[9];
} Frame;

static bool
frame_init(Frame *self, const PlaCutMesh *mesh, int tet)
{
  const int *v = &mesh->tet[4 * (size_t)tet];
  double edge[9];
  memcpy(self->origin, &mesh->rest[3 * (size_t)v[0]], sizeof self->origin);
  for (int k = 0; k < 9; k++)
    edge[k] = mesh->rest[3 * (size_t)v[k % 3 + 1] + (size_t)(k / 3)] - self->origin[k / 3];
  return pla_mat3_invert(edge, self->inverse) != 0.0;
}

/* the least of the weights */
static double
frame_weights(const Frame *self, const double pos[3], double weight[4])
{
  double d[3];
  pla_vec3_sub(pos, self->origin, d);
  pla_mat3_apply(self->inverse, d, weight + 1);
  weight[0] = 1.0 - weight[1] - weight[2] - weight[3];
  return fmin(fmin(weight[0], weight[1]), fmin(weight[2], weight[3]));
}

void
pla_cut_scan_places_clear(PlaCutScanPlaces *self)
{
  free(self->near);
  free(self->owner);
  free(self->middle);
  free(self->tet);
  free(self->inside);
  free(self->vert);
}

/* facet @i has a patch in @tet: which of its parts' middles and corners lie there */
static void
look(PlaCutScanPlaces *self, const PlaCutScan *scan, const Frame *frame, int i, int tet)
{
  for (int p = scan->start[i]; p < scan->start[i + 1]; p++) {
    double middle[3] = { 0 }, weight[4];
    for (int k = 0; k < 3; k++) {
      const int v = scan->part[3 * p + k];
      for (int d = 0; d < 3; d++)
        middle[d] += scan->pos[3 * (size_t)v + (size_t)d] / 3.0;
      if (self->inside[v] >= 0.0)
        continue;
      const double in = frame_weights(frame, &scan->pos[3 * (size_t)v], weight);
      if (in > self->inside[v]) {
        self->inside[v] = in;
        self->tet[v] = tet;
      }
    }
    if (self->middle[p] >= 0.0)
      continue;
    const double in = frame_weights(frame, middle, weight);
    if (self->owner[p] < 0 || in > self->middle[p]) {
      self->middle[p] = in;
      self->owner[p] = tet;
    }
  }
}

bool
pla_cut_scan_places_init(PlaCutScanPlaces *self, const PlaCutMesh *mesh)
{
  const PlaCutScan *scan = &mesh->scan;
  const size_t n_parts = (size_t)scan->n_parts, n_verts = (size_t)scan->n_verts;
  *self = (PlaCutScanPlaces){
    pla_array_new0((size_t)mesh->n_carved, 1),    pla_array_new(n_parts, sizeof *self->owner),
    pla_array_new(n_parts, sizeof *self->middle), pla_array_new(n_verts, sizeof *self->tet),
    pla_array_new(n_verts, sizeof *self->inside), pla_array_new(n_verts, sizeof *self->vert)
  };
  if (!self->near || !self->owner || !self->middle || !self->tet || !self->inside || !self->vert)
    return false;
  for (size_t p = 0; p < n_parts; p++) {
    self->owner[p] = -1;
    self->middle[p] = -INFINITY;
  }
  for (size_t v = 0; v < n_verts; v++) {
    self->tet[v] = self->vert[v] = -1;
    self->inside[v] = -INFINITY;
  }
  /* first what blades have come near, then where the others lie */
  for (int pass = 0; pass < 2; pass++)
    for (int t = 0; t < mesh->n_tets; t++) {
      const PlaCutComplex *refined = mesh->refined[t];
      Frame frame;
      if (!refined || !(pass == 0 ? pla_cut_mesh_is_parted(mesh, t) : frame_init(&frame, mesh, t)))
        continue;
      for (int p = 0, last = -1; p < refined->n_patches; p++) {
        const PlaCutPatch *patch = &refined->patch[p];
        const int i = patch->triangle;
        if (i < 0 || i >= mesh->n_carved || i == last ||
            (patch->cell[0] < 0) == (patch->cell[1] < 0))
          continue;
        last = i;
        if (pass == 0)
          self->near[i] = 1;
        else if (!self->near[i])
          look(self, scan, &frame, i, t);
      }
    }
  return true;
}

PlaStatus
pla_cut_mesh_carved_verts(const PlaCutMesh *self, int *tet, double *weight, PlaError *err)
{
  PlaCutScanPlaces places;
  const bool ok = pla_cut_scan_places_init(&places, self);
  for (size_t v = 0; ok && v < (size_t)self->scan.n_verts; v++) {
    Frame frame;
    tet[v] = places.inside[v] > OFF ? places.tet[v] : -1;
    if (tet[v] >= 0 && frame_init(&frame, self, tet[v]))
      frame_weights(&frame, &self->scan.pos[3 * v], &weight[4 * v]);
  }
  pla_cut_scan_places_clear(&places);
  return ok ? PLA_OK : pla_fail_memory(err, "the surface of the body");
}

/* ---- borders of the patches ---- */

/* an edge of the patches that nothing lies behind: a whole triangle is its neighbour */
typedef struct {
  int tri, from, to; /* triangle of the scan; vertices */
  int a, b;          /* vertices of the scan there, -1: none */
} Border;

/* the borders along one edge of a triangle of the scan, as vertices from its corner @a to @b */
typedef struct {
  int a, b, first, n;
} Side;

typedef struct {
  int n_borders, cap_borders, n_sides, cap_sides, n_points, cap_points;
  Border *border;
  Side *side;
  int *point;
  int *same; /* vertices that stand for one corner of the scan, as a forest */
} Sides;

static void
sides_clear(Sides *self)
{
  free(self->border);
  free(self->side);
  free(self->point);
  free(self->same);
}

static int
compare_borders(const void *a, const void *b)
{
  const Border *x = a, *y = b;
  if (x->tri != y->tri)
    return x->tri < y->tri ? -1 : 1;
  return x->from < y->from ? -1 : x->from > y->from;
}

static int
compare_sides(const void *a, const void *b)
{
  const Side *x = a, *y = b;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  return x->b < y->b ? -1 : x->b > y->b;
}

/* an edge, lower vertex first, and which triangle has it in which direction */
typedef struct {
  int u, v, turn, tri;
} Edge;

static int
compare_edges(const void *a, const void *b)
{
  const Edge *x = a, *y = b;
  if (x->u != y->u)
    return x->u < y->u ? -1 : 1;
  if (x->v != y->v)
    return x->v < y->v ? -1 : 1;
  return x->tri < y->tri ? -1 : x->tri > y->tri;
}

/* the corner of scan triangle @tri at surface vertex @v, -1: none */
static int
corner_at(const PlaCutBuilder *self, int tri, int v)
{
  const double same = 1e-7; /* weights are rounded, corners are much further apart, m */
  const PlaCutMesh *mesh = self->mesh;
  double pos[3] = { 0 };
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      pos[d] += self->vert[v].weight[c] * mesh->rest[3 * mesh->tet[4 * self->vert[v].tet + c] + d];
  for (int k = 0; k < 3; k++) {
    const int corner = mesh->scan.tri[3 * tri + k];
    double e[3];
    pla_vec3_sub(pos, &mesh->scan.pos[3 * corner], e);
    if (pla_vec3_norm(e) < same)
      return corner;
  }
  return -1;
}

/* 1, 0 when an edge is none of a triangle of the scan, -1 when memory is short; as in all below */
static int
find_borders(const PlaCutBuilder *self, Sides *out)
{
  Edge *edge = pla_array_new(3 * (size_t)self->n_tris, sizeof *edge);
  int n = 0, ok = edge ? 1 : -1;
  for (int t = 0; ok > 0 && t < self->n_tris; t++)
    for (int k = 0; k < 3; k++) {
      const int u = self->tri[4 * t + k], v = self->tri[4 * t + (k + 1) % 3];
      edge[n++] = (Edge){ u < v ? u : v, u < v ? v : u, u < v ? 1 : -1, t };
    }
  if (n > 1)
    qsort(edge, (size_t)n, sizeof *edge, compare_edges);
  for (int i = 0, j; ok > 0 && i < n; i = j) {
    int turn = 0;
    for (j = i; j < n && edge[j].u == edge[i].u && edge[j].v == edge[i].v; j++)
      turn += edge[j].turn;
    if (turn == 0)
      continue;
    const Edge *e = &edge[i];
    const int tri = self->polygon[self->tri[4 * e->tri + 3]].cut;
    if (j - i != 1 || tri < 0 || tri >= self->mesh->n_carved)
      ok = 0;
    else if (!pla_array_reserve(&out->border, out->n_borders + 1, &out->cap_borders,
                                sizeof *out->border))
      ok = -1;
    if (ok <= 0)
      break;
    Border b = { tri, e->turn > 0 ? e->u : e->v, e->turn > 0 ? e->v : e->u, -1, -1 };
    b.a = corner_at(self, tri, b.from);
    b.b = corner_at(self, tri, b.to);
    if (b.a >= 0 && b.a == b.b) /* planes that meet in a corner are rounded */
      pla_union_find_join(out->same, b.from, b.to);
    else
      out->border[out->n_borders++] = b;
  }
  free(edge);
  for (int i = 0; i < out->n_borders; i++) {
    out->border[i].from = pla_union_find_root(out->same, out->border[i].from);
    out->border[i].to = pla_union_find_root(out->same, out->border[i].to);
  }
  if (out->n_borders > 1)
    qsort(out->border, (size_t)out->n_borders, sizeof *out->border, compare_borders);
  return ok;
}

/* follows the borders from corner to corner */
static int
join_sides(Sides *self)
{
  for (int i = 0; i < self->n_borders; i++) {
    const Border *b = &self->border[i];
    if (b->a < 0)
      continue;
    Side side = { b->a, -1, self->n_points, 0 };
    for (;;) {
      if (!pla_array_reserve(&self->point, self->n_points + 2, &self->cap_points,
                             sizeof *self->point))
        return -1;
      self->point[self->n_points++] = b->from;
      if (b->b >= 0)
        break;
      const Border key = { .tri = b->tri, .from = b->to };
      b = bsearch(&key, self->border, (size_t)self->n_borders, sizeof *b, compare_borders);
      if (!b || b->a >= 0 || self->n_points - side.first > self->n_borders)
        return 0;
    }
    self->point[self->n_points++] = b->to;
    side.b = b->b;
    side.n = self->n_points - side.first;
    if (!pla_array_reserve(&self->side, self->n_sides + 1, &self->cap_sides, sizeof *self->side))
      return -1;
    self->side[self->n_sides++] = side;
  }
  if (self->n_sides > 1)
    qsort(self->side, (size_t)self->n_sides, sizeof *self->side, compare_sides);
  return 1;
}

/* A triangle with points inside its edges, loop[k].plane telling edges apart: true corners are cut
 * off one by one, none so that what is left would be flat. */
static bool
clip_ears(PlaCutBuilder *self, int polygon, PlaCutCorner *loop, int n)
{
  for (int fresh = 3; n > 3;) {
    int ear = -1;
    for (int k = 0; k < n && ear < 0; k++) {
      const int before = (k + n - 1) % n;
      bool flat = true;
      for (int i = 0; i < n; i++)
        flat = flat && (i == k || i == before || loop[i].plane == loop[(k + 1) % n].plane);
      if (loop[before].plane != loop[k].plane && !flat)
        ear = k;
    }
    if (ear < 0)
      return false;
    const int before = (ear + n - 1) % n;
    if (!pla_cut_builder_add_tri(self, polygon, loop[before].vert, loop[ear].vert,
                                 loop[(ear + 1) % n].vert))
      return false;
    loop[before].plane = fresh++;
    memmove(&loop[ear], &loop[ear + 1], (size_t)(n - ear - 1) * sizeof *loop);
    n--;
  }
  return pla_cut_builder_add_tri(self, polygon, loop[0].vert, loop[1].vert, loop[2].vert);
}

/* ---- facets as they are ---- */

/* the new surface's vertex for vertex @v of the scan; -1, -2: memory is short */
static int
scan_vert(PlaCutBuilder *self, PlaCutScanPlaces *scan, int v)
{
  Frame frame;
  if (scan->vert[v] >= 0)
    return scan->vert[v];
  if (!(scan->inside[v] > OFF) || !frame_init(&frame, self->mesh, scan->tet[v]))
    return -1;
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return -2;
  PlaCutSurfaceVert vert = { .tet = scan->tet[v], .local = -1, .node = { -1, -1, -1 }, .next = -1 };
  frame_weights(&frame, &self->mesh->scan.pos[3 * (size_t)v], vert.weight);
  self->vert[self->n_verts] = vert;
  return scan->vert[v] = self->n_verts++;
}

/* a polygon of part @p, of facet @i; its number, -1: memory is short */
static int
add_polygon(PlaCutBuilder *self, const PlaCutScanPlaces *scan, int p, int i)
{
  if (!pla_array_reserve(&self->polygon, self->n_polygons + 1, &self->cap_polygons,
                         sizeof *self->polygon))
    return -1;
  self->polygon[self->n_polygons] = (PlaCutPolygon){ .tet = scan->owner[p], .cut = i };
  return self->n_polygons++;
}

/* 1, 0, -1 as the others */
static int
add_parts(PlaCutBuilder *self, PlaCutScanPlaces *scan, int i)
{
  const PlaCutScan *kept = &self->mesh->scan;
  for (int p = kept->start[i]; p < kept->start[i + 1]; p++) {
    int v[3];
    for (int k = 0; k < 3; k++)
      if ((v[k] = scan_vert(self, scan, kept->part[3 * p + k])) < 0)
        return v[k] == -1 ? 0 : -1;
    const int polygon = add_polygon(self, scan, p, i);
    if (polygon < 0 || !pla_cut_builder_add_tri(self, polygon, v[0], v[1], v[2]))
      return -1;
  }
  return 1;
}

/* the vertex behind @u along the border of the parts of facet @i; -1: none */
static int
next_on_border(const PlaCutScan *scan, int i, int u)
{
  const int first = 3 * scan->start[i], end = 3 * scan->start[i + 1];
  for (int e = first; e < end; e++) {
    if (scan->part[e] != u)
      continue;
    const int v = scan->part[e % 3 == 2 ? e - 2 : e + 1];
    bool shared = false;
    for (int o = first; o < end && !shared; o++)
      shared = scan->part[o] == v && scan->part[o % 3 == 2 ? o - 2 : o + 1] == u;
    if (!shared)
      return v;
  }
  return -1;
}

static const Side *
find_side(const Sides *sides, int a, int b)
{
  const Side key = { .a = a, .b = b };
  return sides->n_sides
             ? bsearch(&key, sides->side, (size_t)sides->n_sides, sizeof key, compare_sides)
             : NULL;
}

/* appends the points from corner @p of facet @i up to @q, without that, as edge @k of *loop */
static int
add_edge(PlaCutBuilder *self, PlaCutScanPlaces *scan, int i, int k, int p, int q,
         PlaCutCorner **loop, int *n, int *capacity)
{
  for (int u = p, steps = 0; u != q; steps++) {
    const int v = scan_vert(self, scan, u);
    if (v < 0)
      return v == -1 ? 0 : -1;
    if (!pla_array_reserve(loop, *n + 1, capacity, sizeof **loop))
      return -1;
    (*loop)[(*n)++] = (PlaCutCorner){ v, k };
    u = next_on_border(&self->mesh->scan, i, u);
    if (u < 0 || steps > 3 * self->mesh->scan.n_parts)
      return 0;
  }
  return 1;
}

/* facet @i in its parts, or, beside patches, with their points; *used: of their borders */
static int
add_facet(PlaCutBuilder *self, PlaCutScanPlaces *scan, const Sides *sides, int i,
          PlaCutCorner **loop, int *capacity, int *used)
{
  const int *corner = &self->mesh->scan.tri[3 * (size_t)i];
  const Side *side[3];
  int n = 0, ok = 1;
  for (int k = 0; k < 3; k++)
    side[k] = find_side(sides, corner[(k + 1) % 3], corner[k]);
  if (!side[0] && !side[1] && !side[2])
    return add_parts(self, scan, i);
  for (int k = 0; ok > 0 && k < 3; k++) {
    if (!side[k]) {
      ok = add_edge(self, scan, i, k, corner[k], corner[(k + 1) % 3], loop, &n, capacity);
      continue;
    }
    const int m = side[k]->n - 1, v = scan_vert(self, scan, corner[k]);
    if (v < 0)
      return v == -1 ? 0 : -1;
    if (!pla_array_reserve(loop, n + m, capacity, sizeof **loop))
      return -1;
    (*loop)[n++] = (PlaCutCorner){ v, k };
    for (int j = 1; j < m; j++)
      (*loop)[n++] = (PlaCutCorner){ sides->point[side[k]->first + side[k]->n - 1 - j], k };
    *used += m;
  }
  if (ok <= 0)
    return ok;
  const int polygon = add_polygon(self, scan, self->mesh->scan.start[i], i);
  return polygon >= 0 && clip_ears(self, polygon, *loop, n) ? 1 : -1;
}

/* one vertex for those that stand for one corner; triangles between them go */
static void
join_verts(PlaCutBuilder *self, PlaCutScanPlaces *scan, Sides *sides)
{
  int n = 0;
  for (int i = 0; i < sides->n_points; i++)
    sides->point[i] = pla_union_find_root(sides->same, sides->point[i]);
  for (int v = 0; v < self->mesh->scan.n_verts; v++)
    if (scan->vert[v] >= 0)
      scan->vert[v] = pla_union_find_root(sides->same, scan->vert[v]);
  for (int t = 0; t < self->n_tris; t++) {
    int *to = &self->tri[4 * n], *from = &self->tri[4 * t];
    for (int k = 0; k < 3; k++)
      to[k] = pla_union_find_root(sides->same, from[k]);
    to[3] = from[3];
    n += to[0] != to[1] && to[1] != to[2] && to[2] != to[0];
  }
  self->n_tris = n;
}

/* what no blade is near, beside the patches */
int
pla_cut_scan_add(PlaCutBuilder *self, PlaCutScanPlaces *scan)
{
  Sides sides = { 0 };
  PlaCutCorner *loop = NULL;
  int capacity = 0, used = 0, ok = -1;
  sides.same = pla_array_new((size_t)self->n_verts, sizeof *sides.same);
  for (int v = 0; sides.same && v < self->n_verts; v++)
    sides.same[v] = v;
  if (sides.same)
    ok = find_borders(self, &sides);
  if (ok > 0)
    ok = join_sides(&sides);
  /* corners that both have are the patches' vertices */
  for (int i = 0; ok > 0 && i < sides.n_sides; i++) {
    const Side *side = &sides.side[i];
    for (int k = 0; k < 2; k++) {
      const int v = k ? side->b : side->a, at = sides.point[side->first + (k ? side->n - 1 : 0)];
      if (scan->vert[v] < 0)
        scan->vert[v] = at;
      pla_union_find_join(sides.same, at, scan->vert[v]);
    }
  }
  if (ok > 0)
    join_verts(self, scan, &sides);
  for (int i = 0; ok > 0 && i < self->mesh->n_carved; i++)
    if (!scan->near[i] && scan->owner[self->mesh->scan.start[i]] >= 0)
      ok = add_facet(self, scan, &sides, i, &loop, &capacity, &used);
  if (ok > 0 && used != sides.n_borders)
    ok = 0;
  sides_clear(&sides);
  free(loop);
  return ok;
}

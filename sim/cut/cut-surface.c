/* The surface of cut material, closed across tets.
 *
 * Each tet gives the patches that bound its material.  Points on faces and edges of tets are known
 * to several tets, whose scaffolding may divide a common edge differently: points that coincide
 * (same nodes, same weights, decided exactly) become one, and every edge gets the points that
 * other tets have inside it.
 *
 * Where the surface that a body was carved along is kept, triangles of it that lie in tets without
 * a blade are taken as they are, and only the rest is put together from patches: the skin then has
 * the scan's triangles, and the work grows with what blades have reached. */
#include "sim/cut/cut-mesh-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/tet-locator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a vertex of the surface */
typedef struct {
  int tet, local; /* where it was first met; local < 0: the middle of a polygon */
  int node[3];    /* rising, -1 behind the last; of points with up to three nodes */
  int next;       /* in its hash chain */
  double weight[4];
} Vert;

typedef struct {
  int vert, plane;
} Corner;

typedef struct {
  int tet, cut;
  int start, n; /* in corner[] */
} Polygon;

typedef struct {
  PlaCutMesh *mesh;
  PlaCutComplex *whole; /* stands for all uncut tets */
  int n_verts, cap_verts, n_corners, cap_corners, n_polygons, cap_polygons, n_tris, cap_tris;
  Vert *vert;
  Corner *corner;
  Polygon *polygon;
  int *tri;    /* 3 vertices and the polygon */
  int n_heads; /* a power of two */
  int *head;
  int *local; /* surface vertex of each point of the tet at work */
  int cap_local;
  const uint8_t *near; /* of each carving triangle: whether patches stand for it; NULL: all */
} Builder;

static PlaCutComplex *
complex_of(const Builder *self, int tet)
{
  return self->mesh->refined[tet] ? self->mesh->refined[tet] : self->whole;
}

/* nodes with weight, rising; their number */
static int
nodes_of(const Builder *self, int tet, unsigned faces, int node[4])
{
  int n = 0;
  for (int c = 0; c < 4; c++) {
    if (faces >> c & 1)
      continue;
    int v = self->mesh->tet[4 * tet + c], i = n++;
    for (; i > 0 && node[i - 1] > v; i--)
      node[i] = node[i - 1];
    node[i] = v;
  }
  return n;
}

static int *
chain_of(Builder *self, const int node[3])
{
  uint64_t h = 0;
  for (int i = 0; i < 3; i++)
    h = (h ^ (uint64_t)(unsigned)node[i]) * 0x9e3779b97f4a7c15u;
  return &self->head[(h >> 32) & (unsigned)(self->n_heads - 1)];
}

static bool
rehash(Builder *self)
{
  if (self->n_verts < self->n_heads)
    return true;
  int n = self->n_heads ? 2 * self->n_heads : 1024;
  int *head = pla_array_new((size_t)n, sizeof *head);
  if (!head)
    return false;
  free(self->head);
  self->head = head;
  self->n_heads = n;
  for (int i = 0; i < n; i++)
    head[i] = -1;
  for (int v = 0; v < self->n_verts; v++)
    if (self->vert[v].node[0] >= 0) {
      int *chain = chain_of(self, self->vert[v].node);
      self->vert[v].next = *chain;
      *chain = v;
    }
  return true;
}

static PlaCutGuest
guest_of(const Builder *self, int tet, int vert)
{
  const Vert *v = &self->vert[vert];
  PlaCutGuest guest = { .refined = complex_of(self, v->tet), .vert = v->local };
  for (int i = 0; i < 4; i++) {
    guest.corner[i] = -1;
    for (int j = 0; j < 4; j++)
      if (self->mesh->tet[4 * tet + i] == self->mesh->tet[4 * v->tet + j])
        guest.corner[i] = j;
  }
  return guest;
}

/* the surface vertex of point @local of @tet, or -1 */
static int
vert_of(Builder *self, int tet, int local)
{
  PlaCutComplex *refined = complex_of(self, tet);
  Vert v = { .tet = tet, .local = local, .node = { -1, -1, -1 }, .next = -1 };
  int node[4], n = nodes_of(self, tet, refined->vert[local].faces, node);
  if (!rehash(self))
    return -1;
  if (n < 4) {
    memcpy(v.node, node, (size_t)n * sizeof *node);
    for (int i = *chain_of(self, v.node); i >= 0; i = self->vert[i].next) {
      if (memcmp(self->vert[i].node, v.node, sizeof v.node) != 0)
        continue;
      PlaCutGuest guest = guest_of(self, tet, i);
      int same = n == 1 ? 1 : pla_cut_complex_same_point(refined, local, &guest);
      if (same != 0)
        return same < 0 ? -1 : i;
    }
  }
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return -1;
  pla_cut_complex_weights(refined, local, v.weight);
  if (n < 4) {
    int *chain = chain_of(self, v.node);
    v.next = *chain;
    *chain = self->n_verts;
  }
  self->vert[self->n_verts] = v;
  return self->n_verts++;
}

/* whether the patch bounds the material of the tet, and is not inside the body */
static bool
on_surface(const Builder *self, int tet, const PlaCutPatch *patch)
{
  if ((patch->cell[0] < 0) == (patch->cell[1] < 0))
    return false;
  if (self->near && patch->triangle >= 0 && patch->triangle < self->mesh->n_carved &&
      !self->near[patch->triangle])
    return false;
  return patch->triangle >= 0 || patch->face < 0 || self->mesh->skin[tet] >> patch->face & 1;
}

/* the patches of one tet as vertices */
static bool
add_tet_verts(Builder *self, int tet)
{
  PlaCutComplex *refined = complex_of(self, tet);
  if (!pla_array_reserve(&self->local, refined->n_verts, &self->cap_local, sizeof *self->local))
    return false;
  for (int v = 0; v < refined->n_verts; v++)
    self->local[v] = -1;
  for (int p = 0; p < refined->n_patches; p++) {
    const PlaCutPatch *patch = &refined->patch[p];
    if (!on_surface(self, tet, patch))
      continue;
    Polygon polygon = { tet, patch->triangle, self->n_corners, patch->n_corners };
    if (!pla_array_reserve(&self->corner, self->n_corners + polygon.n, &self->cap_corners,
                           sizeof *self->corner) ||
        !pla_array_reserve(&self->polygon, self->n_polygons + 1, &self->cap_polygons,
                           sizeof *self->polygon))
      return false;
    for (int k = 0; k < polygon.n; k++) {
      int v = patch->corner[k].vert;
      if (self->local[v] < 0)
        self->local[v] = vert_of(self, tet, v);
      if (self->local[v] < 0)
        return false;
      self->corner[self->n_corners++] = (Corner){ self->local[v], patch->corner[k].plane };
    }
    self->polygon[self->n_polygons++] = polygon;
  }
  return true;
}

static bool
add_tri(Builder *self, int polygon, int a, int b, int c)
{
  if (!pla_array_reserve(&self->tri, 4 * (self->n_tris + 1), &self->cap_tris, sizeof *self->tri))
    return false;
  int *t = &self->tri[4 * self->n_tris++];
  t[0] = a;
  t[1] = b;
  t[2] = c;
  t[3] = polygon;
  return true;
}

/* barycentric coordinates of surface vertex @v in @tet, whose nodes include all of the vertex's */
static void
weights_in(const Builder *self, int v, int tet, double weight[4])
{
  const Vert *vert = &self->vert[v];
  for (int i = 0; i < 4; i++) {
    weight[i] = 0.0;
    for (int j = 0; j < 4; j++)
      if (self->mesh->tet[4 * tet + i] == self->mesh->tet[4 * vert->tet + j])
        weight[i] = vert->weight[j];
  }
}

/* a convex loop with points inside its edges: a fan from a corner whose neighbours are corners too,
 * or from the middle, so that no triangle is flat */
static bool
add_fan(Builder *self, int polygon, const Corner *loop, int n, bool flip)
{
  /* a corner at which both edges turn can be the apex of a fan without flat triangles */
  int apex = -1;
  for (int k = 0; k < n && apex < 0; k++) {
    bool true_corner = true;
    for (int d = -1; d <= 1; d++)
      true_corner = true_corner && loop[(k + d + n) % n].plane != loop[(k + d - 1 + n) % n].plane;
    if (true_corner)
      apex = k;
  }
  if (apex >= 0) {
    for (int k = 1; k + 1 < n; k++) {
      int b = loop[(apex + k) % n].vert, c = loop[(apex + k + 1) % n].vert;
      if (!add_tri(self, polygon, loop[apex].vert, flip ? c : b, flip ? b : c))
        return false;
    }
    return true;
  }
  /* none: a new vertex in the middle */
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return false;
  int tet = self->polygon[polygon].tet, middle = self->n_verts;
  Vert v = { .tet = tet, .local = -1, .node = { -1, -1, -1 }, .next = -1 };
  for (int k = 0; k < n; k++) {
    double weight[4];
    weights_in(self, loop[k].vert, tet, weight);
    for (int c = 0; c < 4; c++)
      v.weight[c] += weight[c] / n;
  }
  self->vert[self->n_verts++] = v;
  for (int k = 0; k < n; k++) {
    int b = loop[k].vert, c = loop[(k + 1) % n].vert;
    if (!add_tri(self, polygon, middle, flip ? c : b, flip ? b : c))
      return false;
  }
  return true;
}

typedef struct {
  double at;
  int vert;
} OnEdge;

static int
compare_on_edge(const void *a, const void *b)
{
  const OnEdge *x = a, *y = b;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* points of other tets strictly inside edge k of patch p, in order; their number or -1 */
static int
points_inside(Builder *self, int tet, int p, int k, int from, int to, OnEdge **out, int *capacity)
{
  PlaCutComplex *refined = complex_of(self, tet);
  const PlaCutPatch *patch = &refined->patch[p];
  int u = patch->corner[k].vert, v = patch->corner[(k + 1) % patch->n_corners].vert;
  /* only edges on faces of the tet can have vertices of neighbours on them */
  unsigned faces = refined->vert[u].faces & refined->vert[v].faces;
  int node[4], n = 0;
  if (faces == 0)
    return 0;
  int key[3] = { -1, -1, -1 }, n_nodes = nodes_of(self, tet, faces, node);
  if (n_nodes > 3)
    return 0;
  memcpy(key, node, (size_t)n_nodes * sizeof *node);
  /* vertices of the same face, tested exactly, sorted along the edge */
  double a[4], b[4];
  pla_cut_complex_weights(refined, u, a);
  pla_cut_complex_weights(refined, v, b);
  for (int i = *chain_of(self, key); i >= 0; i = self->vert[i].next) {
    if (i == from || i == to || memcmp(self->vert[i].node, key, sizeof key) != 0)
      continue;
    PlaCutGuest guest = guest_of(self, tet, i);
    int inside = pla_cut_complex_inside_edge(refined, p, k, &guest);
    if (inside < 0 || (inside && !pla_array_reserve(out, n + 1, capacity, sizeof **out)))
      return -1;
    if (!inside)
      continue;
    double x[4], dot = 0.0;
    weights_in(self, i, tet, x);
    for (int c = 0; c < 4; c++)
      dot += (x[c] - a[c]) * (b[c] - a[c]);
    (*out)[n++] = (OnEdge){ dot, i };
  }
  if (n > 1)
    qsort(*out, (size_t)n, sizeof **out, compare_on_edge);
  return n;
}

/* polygons with the points that other tets have on their edges, as triangles */
static bool
triangulate(Builder *self)
{
  OnEdge *inside = NULL;
  Corner *loop = NULL;
  int cap_inside = 0, cap_loop = 0;
  bool ok = true;
  /* the patch of each polygon */
  for (int i = 0, p = 0; ok && i < self->n_polygons; i++, p++) {
    const Polygon *polygon = &self->polygon[i];
    if (i == 0 || self->polygon[i - 1].tet != polygon->tet)
      p = 0;
    const PlaCutComplex *refined = complex_of(self, polygon->tet);
    while (!on_surface(self, polygon->tet, &refined->patch[p]))
      p++;
    /* its corners, with the vertices of neighbours that lie on its edges */
    int n = 0;
    for (int k = 0; ok && k < polygon->n; k++) {
      const Corner *c = &self->corner[polygon->start + k];
      int next = self->corner[polygon->start + (k + 1) % polygon->n].vert;
      int m = points_inside(self, polygon->tet, p, k, c->vert, next, &inside, &cap_inside);
      ok = m >= 0 && pla_array_reserve(&loop, n + 1 + m, &cap_loop, sizeof *loop);
      if (!ok)
        break;
      loop[n++] = *c;
      for (int j = 0; j < m; j++)
        loop[n++] = (Corner){ inside[j].vert, c->plane };
    }
    ok = ok && add_fan(self, i, loop, n, refined->patch[p].cell[0] < 0);
  }
  free(inside);
  free(loop);
  return ok;
}

/* ---- triangles of the scan ---- */

/* where the triangles of the kept surface lie */
typedef struct {
  uint8_t *near;  /* a blade is in one of its tets (n_carved) */
  int *owner;     /* tet that holds its middle, -1: it is gone (n_carved) */
  double *middle; /* least weight of the middle there */
  int *tet;       /* that holds a vertex, -1: none (n_scan_verts) */
  double *inside; /* its least weight there */
  int *vert;      /* of the new surface, -1: none yet (n_scan_verts) */
} Scan;

static void
scan_clear(Scan *self)
{
  free(self->near);
  free(self->owner);
  free(self->middle);
  free(self->tet);
  free(self->inside);
  free(self->vert);
}

static double
least_weight(const PlaCutMesh *mesh, int tet, const double pos[3])
{
  const PlaTetMesh tets = { mesh->n_verts, mesh->n_tets, mesh->rest, mesh->tet };
  double w[4];
  if (!pla_tet_weights(&tets, tet, pos, w))
    return -INFINITY;
  return fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
}

/* triangle @i has a patch in @tet: whether its middle and its corners lie there */
static void
scan_look(Scan *self, const PlaCutMesh *mesh, int i, int tet)
{
  const int *corner = &mesh->scan_tri[3 * i];
  double middle[3] = { 0 };
  for (int k = 0; k < 3; k++) {
    const int v = corner[k];
    for (int d = 0; d < 3; d++)
      middle[d] += mesh->scan_pos[3 * v + d] / 3.0;
    if (self->inside[v] >= 0.0)
      continue;
    const double in = least_weight(mesh, tet, &mesh->scan_pos[3 * v]);
    if (in > self->inside[v]) {
      self->inside[v] = in;
      self->tet[v] = tet;
    }
  }
  if (self->middle[i] >= 0.0)
    return;
  const double in = least_weight(mesh, tet, middle);
  if (self->owner[i] < 0 || in > self->middle[i]) {
    self->middle[i] = in;
    self->owner[i] = tet;
  }
}

/* false: memory is short */
static bool
scan_init(Scan *self, const PlaCutMesh *mesh)
{
  const size_t n_tris = (size_t)mesh->n_carved, n_verts = (size_t)mesh->n_scan_verts;
  *self = (Scan){ pla_array_new0(n_tris, 1),
                  pla_array_new(n_tris, sizeof *self->owner),
                  pla_array_new(n_tris, sizeof *self->middle),
                  pla_array_new(n_verts, sizeof *self->tet),
                  pla_array_new(n_verts, sizeof *self->inside),
                  pla_array_new(n_verts, sizeof *self->vert) };
  if (!self->near || !self->owner || !self->middle || !self->tet || !self->inside || !self->vert)
    return false;
  for (size_t i = 0; i < n_tris; i++) {
    self->owner[i] = -1;
    self->middle[i] = -INFINITY;
  }
  for (size_t v = 0; v < n_verts; v++) {
    self->tet[v] = self->vert[v] = -1;
    self->inside[v] = -INFINITY;
  }
  /* first what blades have come near, then where the others lie */
  for (int pass = 0; pass < 2; pass++)
    for (int t = 0; t < mesh->n_tets; t++) {
      const PlaCutComplex *refined = mesh->refined[t];
      const bool parted = pass == 0 && pla_cut_mesh_is_parted(mesh, t);
      for (int p = 0, last = -1; refined && (pass == 1 || parted) && p < refined->n_patches; p++) {
        const PlaCutPatch *patch = &refined->patch[p];
        const int i = patch->triangle;
        if (i < 0 || i >= mesh->n_carved || i == last ||
            (patch->cell[0] < 0) == (patch->cell[1] < 0))
          continue;
        last = i;
        if (pass == 0)
          self->near[i] = 1;
        else if (!self->near[i])
          scan_look(self, mesh, i, t);
      }
    }
  return true;
}

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
corner_at(const Builder *self, int tri, int v)
{
  const double same = 1e-7; /* weights are rounded, corners are much further apart, m */
  const PlaCutMesh *mesh = self->mesh;
  double pos[3] = { 0 };
  for (int c = 0; c < 4; c++)
    for (int d = 0; d < 3; d++)
      pos[d] += self->vert[v].weight[c] * mesh->rest[3 * mesh->tet[4 * self->vert[v].tet + c] + d];
  for (int k = 0; k < 3; k++) {
    const int corner = mesh->scan_tri[3 * tri + k];
    double e[3];
    pla_vec3_sub(pos, &mesh->scan_pos[3 * corner], e);
    if (pla_vec3_norm(e) < same)
      return corner;
  }
  return -1;
}

/* 1, 0 when an edge is none of a triangle of the scan, -1 when memory is short; as in all below */
static int
find_borders(const Builder *self, Sides *out)
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
clip_ears(Builder *self, int polygon, Corner *loop, int n)
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
    if (!add_tri(self, polygon, loop[before].vert, loop[ear].vert, loop[(ear + 1) % n].vert))
      return false;
    loop[before].plane = fresh++;
    memmove(&loop[ear], &loop[ear + 1], (size_t)(n - ear - 1) * sizeof *loop);
    n--;
  }
  return add_tri(self, polygon, loop[0].vert, loop[1].vert, loop[2].vert);
}

/* the new surface's vertex for vertex @v of the scan; -1, -2: memory is short */
static int
scan_vert(Builder *self, Scan *scan, int v)
{
  const double off = -1e-6; /* least weight that is still in a tet */
  const PlaCutMesh *mesh = self->mesh;
  if (scan->vert[v] >= 0)
    return scan->vert[v];
  if (!(scan->inside[v] > off))
    return -1;
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return -2;
  const PlaTetMesh tets = { mesh->n_verts, mesh->n_tets, mesh->rest, mesh->tet };
  Vert vert = { .tet = scan->tet[v], .local = -1, .node = { -1, -1, -1 }, .next = -1 };
  pla_tet_weights(&tets, vert.tet, &mesh->scan_pos[3 * v], vert.weight);
  self->vert[self->n_verts] = vert;
  return scan->vert[v] = self->n_verts++;
}

/* triangle @i as it is, with the points that patches have on its edges; *used: of their borders */
static int
add_whole(Builder *self, Scan *scan, const Sides *sides, int i, Corner **loop, int *capacity,
          int *used)
{
  int n = 0;
  for (int k = 0; k < 3; k++) {
    const int p = self->mesh->scan_tri[3 * i + k], q = self->mesh->scan_tri[3 * i + (k + 1) % 3];
    const Side key = { .a = q, .b = p };
    const Side *side = sides->n_sides ? bsearch(&key, sides->side, (size_t)sides->n_sides,
                                                sizeof *side, compare_sides)
                                      : NULL;
    const int m = side ? side->n - 1 : 1, v = scan_vert(self, scan, p);
    if (v < 0)
      return v == -1 ? 0 : -1;
    if (!pla_array_reserve(loop, n + m, capacity, sizeof **loop))
      return -1;
    (*loop)[n++] = (Corner){ v, k };
    for (int j = 1; j < m; j++)
      (*loop)[n++] = (Corner){ sides->point[side->first + side->n - 1 - j], k };
    *used += side ? m : 0;
  }
  if (!pla_array_reserve(&self->polygon, self->n_polygons + 1, &self->cap_polygons,
                         sizeof *self->polygon))
    return -1;
  self->polygon[self->n_polygons++] = (Polygon){ .tet = scan->owner[i], .cut = i };
  return clip_ears(self, self->n_polygons - 1, *loop, n) ? 1 : -1;
}

/* one vertex for those that stand for one corner; triangles between them go */
static void
join_verts(Builder *self, Scan *scan, Sides *sides)
{
  int n = 0;
  for (int i = 0; i < sides->n_points; i++)
    sides->point[i] = pla_union_find_root(sides->same, sides->point[i]);
  for (int v = 0; v < self->mesh->n_scan_verts; v++)
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
static int
add_scan(Builder *self, Scan *scan)
{
  Sides sides = { 0 };
  Corner *loop = NULL;
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
    if (!scan->near[i] && scan->owner[i] >= 0)
      ok = add_whole(self, scan, &sides, i, &loop, &capacity, &used);
  if (ok > 0 && used != sides.n_borders)
    ok = 0;
  sides_clear(&sides);
  free(loop);
  return ok;
}

/* ---- all of it ---- */

static void
builder_clear(Builder *self)
{
  pla_cut_complex_free(self->whole);
  free(self->vert);
  free(self->corner);
  free(self->polygon);
  free(self->tri);
  free(self->head);
  free(self->local);
}

/* welds the corners of all patches on the surface, then triangulates; -1: memory is short */
static int
build(Builder *self, PlaCutMesh *mesh, const uint8_t *near)
{
  *self = (Builder){ .mesh = mesh, .whole = pla_cut_complex_new(), .near = near };
  bool ok = self->whole != NULL;
  for (int t = 0; ok && t < mesh->n_tets; t++)
    if (mesh->skin[t] || mesh->refined[t])
      ok = add_tet_verts(self, t);
  return ok && triangulate(self) ? 1 : -1;
}

/* as wide as it may be: patches where blades are, else the triangles of the scan */
static bool
build_any(Builder *self, PlaCutMesh *mesh)
{
  Scan scan = { 0 };
  int ok = 0;
  if (mesh->scan_pos) {
    ok = scan_init(&scan, mesh) ? build(self, mesh, scan.near) : -1;
    if (ok > 0)
      ok = add_scan(self, &scan);
    if (ok == 0) /* a fold of the scan: patches for all of it */
      builder_clear(self);
  }
  if (ok == 0)
    ok = build(self, mesh, NULL);
  self->near = NULL;
  scan_clear(&scan);
  return ok > 0;
}

PlaStatus
pla_cut_mesh_surface(PlaCutMesh *self, PlaCutSurface *out, PlaError *err)
{
  Builder b = { 0 };
  *out = (PlaCutSurface){ 0 };
  bool ok = build_any(&b, self);
  if (ok) {
    out->tet = pla_array_new((size_t)b.n_verts, sizeof *out->tet);
    out->weight = pla_array_new(4 * (size_t)b.n_verts, sizeof *out->weight);
    out->tri = pla_array_new(3 * (size_t)b.n_tris, sizeof *out->tri);
    out->cut = pla_array_new((size_t)b.n_tris, sizeof *out->cut);
    out->carved = pla_array_new((size_t)b.n_tris, sizeof *out->carved);
    out->owner = pla_array_new((size_t)b.n_tris, sizeof *out->owner);
    ok = out->tet && out->weight && out->tri && out->cut && out->carved && out->owner;
  }
  if (ok) {
    /* copy out: barycentric vertices, triangles, the blade triangle and tet of each */
    out->n_verts = b.n_verts;
    out->n_tris = b.n_tris;
    for (int v = 0; v < b.n_verts; v++) {
      out->tet[v] = b.vert[v].tet;
      memcpy(&out->weight[4 * v], b.vert[v].weight, sizeof b.vert[v].weight);
    }
    for (int t = 0; t < b.n_tris; t++) {
      const Polygon *polygon = &b.polygon[b.tri[4 * t + 3]];
      memcpy(&out->tri[3 * t], &b.tri[4 * t], 3 * sizeof *out->tri);
      out->cut[t] = polygon->cut < self->n_carved ? -1 : polygon->cut;
      out->carved[t] = polygon->cut < self->n_carved ? polygon->cut : -1;
      out->owner[t] = polygon->tet;
    }
  } else {
    pla_cut_surface_clear(out);
    pla_fail_memory(err, "the surface of the cut");
  }
  builder_clear(&b);
  return ok ? PLA_OK : PLA_ERR_MEMORY;
}

void
pla_cut_surface_clear(PlaCutSurface *self)
{
  free(self->tet);
  free(self->weight);
  free(self->tri);
  free(self->cut);
  free(self->carved);
  free(self->owner);
  *self = (PlaCutSurface){ 0 };
}

void
pla_cut_surface_place(const PlaCutSurface *self, const PlaCutMesh *mesh, const double *pos,
                      double *out)
{
  for (int v = 0; v < self->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      double x = 0.0;
      for (int c = 0; c < 4; c++)
        x += self->weight[4 * v + c] * pos[3 * mesh->tet[4 * self->tet[v] + c] + d];
      out[3 * v + d] = x;
    }
}

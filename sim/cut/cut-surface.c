/* The surface of cut material, closed across tets.
 *
 * Each tet gives the patches that bound its material.  Points on faces and edges of tets are known
 * to several tets, whose scaffolding may divide a common edge differently: points that coincide
 * (same nodes, same weights, decided exactly) become one, and every edge gets the points that
 * other tets have inside it.
 *
 * Where the surface that a body was carved along is kept, cut-scan.c takes its triangles as they
 * are in tets without a blade, and only the rest is put together from patches. */
#include "sim/cut/cut-surface-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaCutComplex *
complex_of(const PlaCutBuilder *self, int tet)
{
  return self->mesh->refined[tet] ? self->mesh->refined[tet] : self->whole;
}

/* nodes with weight, rising; their number */
static int
nodes_of(const PlaCutBuilder *self, int tet, unsigned faces, int node[4])
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
chain_of(PlaCutBuilder *self, const int node[3])
{
  uint64_t h = 0;
  for (int i = 0; i < 3; i++)
    h = (h ^ (uint64_t)(unsigned)node[i]) * 0x9e3779b97f4a7c15u;
  return &self->head[(h >> 32) & (unsigned)(self->n_heads - 1)];
}

static bool
rehash(PlaCutBuilder *self)
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
guest_of(const PlaCutBuilder *self, int tet, int vert)
{
  const PlaCutSurfaceVert *v = &self->vert[vert];
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
vert_of(PlaCutBuilder *self, int tet, int local)
{
  PlaCutComplex *refined = complex_of(self, tet);
  PlaCutSurfaceVert v = { .tet = tet, .local = local, .node = { -1, -1, -1 }, .next = -1 };
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
on_surface(const PlaCutBuilder *self, int tet, const PlaCutPatch *patch)
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
add_tet_verts(PlaCutBuilder *self, int tet)
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
    PlaCutPolygon polygon = { tet, patch->triangle, self->n_corners, patch->n_corners };
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
      self->corner[self->n_corners++] = (PlaCutCorner){ self->local[v], patch->corner[k].plane };
    }
    self->polygon[self->n_polygons++] = polygon;
  }
  return true;
}

bool
pla_cut_builder_add_tri(PlaCutBuilder *self, int polygon, int a, int b, int c)
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
weights_in(const PlaCutBuilder *self, int v, int tet, double weight[4])
{
  const PlaCutSurfaceVert *vert = &self->vert[v];
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
add_fan(PlaCutBuilder *self, int polygon, const PlaCutCorner *loop, int n, bool flip)
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
      if (!pla_cut_builder_add_tri(self, polygon, loop[apex].vert, flip ? c : b, flip ? b : c))
        return false;
    }
    return true;
  }
  /* none: a new vertex in the middle */
  if (!pla_array_reserve(&self->vert, self->n_verts + 1, &self->cap_verts, sizeof *self->vert))
    return false;
  int tet = self->polygon[polygon].tet, middle = self->n_verts;
  PlaCutSurfaceVert v = { .tet = tet, .local = -1, .node = { -1, -1, -1 }, .next = -1 };
  for (int k = 0; k < n; k++) {
    double weight[4];
    weights_in(self, loop[k].vert, tet, weight);
    for (int c = 0; c < 4; c++)
      v.weight[c] += weight[c] / n;
  }
  self->vert[self->n_verts++] = v;
  for (int k = 0; k < n; k++) {
    int b = loop[k].vert, c = loop[(k + 1) % n].vert;
    if (!pla_cut_builder_add_tri(self, polygon, middle, flip ? c : b, flip ? b : c))
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
points_inside(PlaCutBuilder *self, int tet, int p, int k, int from, int to, OnEdge **out,
              int *capacity)
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
triangulate(PlaCutBuilder *self)
{
  OnEdge *inside = NULL;
  PlaCutCorner *loop = NULL;
  int cap_inside = 0, cap_loop = 0;
  bool ok = true;
  /* the patch of each polygon */
  for (int i = 0, p = 0; ok && i < self->n_polygons; i++, p++) {
    const PlaCutPolygon *polygon = &self->polygon[i];
    if (i == 0 || self->polygon[i - 1].tet != polygon->tet)
      p = 0;
    const PlaCutComplex *refined = complex_of(self, polygon->tet);
    while (!on_surface(self, polygon->tet, &refined->patch[p]))
      p++;
    /* its corners, with the vertices of neighbours that lie on its edges */
    int n = 0;
    for (int k = 0; ok && k < polygon->n; k++) {
      const PlaCutCorner *c = &self->corner[polygon->start + k];
      int next = self->corner[polygon->start + (k + 1) % polygon->n].vert;
      int m = points_inside(self, polygon->tet, p, k, c->vert, next, &inside, &cap_inside);
      ok = m >= 0 && pla_array_reserve(&loop, n + 1 + m, &cap_loop, sizeof *loop);
      if (!ok)
        break;
      loop[n++] = *c;
      for (int j = 0; j < m; j++)
        loop[n++] = (PlaCutCorner){ inside[j].vert, c->plane };
    }
    ok = ok && add_fan(self, i, loop, n, refined->patch[p].cell[0] < 0);
  }
  free(inside);
  free(loop);
  return ok;
}

/* ---- all of it ---- */

static void
builder_clear(PlaCutBuilder *self)
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
build(PlaCutBuilder *self, PlaCutMesh *mesh, const uint8_t *near)
{
  *self = (PlaCutBuilder){ .mesh = mesh, .whole = pla_cut_complex_new(), .near = near };
  bool ok = self->whole != NULL;
  for (int t = 0; ok && t < mesh->n_tets; t++)
    if (mesh->skin[t] || mesh->refined[t])
      ok = add_tet_verts(self, t);
  return ok && triangulate(self) ? 1 : -1;
}

/* as wide as it may be: patches where blades are, else the triangles of the scan */
static bool
build_any(PlaCutBuilder *self, PlaCutMesh *mesh)
{
  PlaCutScanPlaces scan = { 0 };
  int ok = 0;
  if (mesh->scan.pos) {
    ok = pla_cut_scan_places_init(&scan, mesh) ? build(self, mesh, scan.near) : -1;
    if (ok > 0)
      ok = pla_cut_scan_add(self, &scan);
    if (ok == 0) /* a fold of the scan: patches for all of it */
      builder_clear(self);
  }
  if (ok == 0)
    ok = build(self, mesh, NULL);
  self->near = NULL;
  pla_cut_scan_places_clear(&scan);
  return ok > 0;
}

PlaStatus
pla_cut_mesh_surface(PlaCutMesh *self, PlaCutSurface *out, PlaError *err)
{
  PlaCutBuilder b = { 0 };
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
      const PlaCutPolygon *polygon = &b.polygon[b.tri[4 * t + 3]];
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

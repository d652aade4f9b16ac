/* Sharp edges of a surface, which its level set rounds off.
 *
 * Creases are edges where the surface turns by more than 40 degrees and beyond which it is smooth
 * for the better part of a cell: steps between voxels and other detail are none.  First the outer
 * vertex nearest to each corner moves there.  Then one end of each outer edge that leads from one
 * side of a crease to the other moves onto it, so that faces end at creases; at last outer vertices
 * nearby move onto the surface itself.  Each step is taken back where it spoils the shape of a tet.
 */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/edge.h"
#include "anatomy/mesher/cutter-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double sharp_cos =
    0.766; /* 40 degrees between the faces of a crease, or of its turn */
static const double other_side_cos =
    0.866; /* 30 degrees between what both ends of an edge are on */
/* in cells: how far beyond a crease the surface is looked at, and how far off its tangent it may be
 * there */
static const double look = 0.6, straight = 0.1;
static const double least_length = 2.0; /* cells along a crease, or it is a detail */
/* cells that vertices may go: to a corner, to a crease, to the surface near a crease */
static const double corner_reach = 1.0, crease_reach = 0.9, surface_reach = 0.6, nearby = 1.5;
static const double enough_deg = 9.0; /* score of tets around a vertex that moves */

typedef struct {
  PlaCutter *c;
  const PlaTriMesh *surface; /* m */
  const PlaTriTree *tree;
  double cell; /* m */
  int n_creases, n_corners;
  double *vert;   /* of the surface's creases (n_creases x 2 x 3, m) */
  int *end;       /* triangles of a crease twice (n_creases x 3) */
  double *corner; /* n_corners x 3, m */
  PlaTriMesh lines;
  PlaTriTree *line_tree;
  PlaFacet *facet;
  int n_facets;
  int *first_tet, *tet_of; /* tets around each vertex */
} Sharp;

static void
normal_of(const PlaTriMesh *surface, int t, double n[3])
{
  const int *v = surface->tri + 3 * (size_t)t;
  const double *p = surface->pos + 3 * (size_t)v[0];
  double a[3], b[3];
  pla_vec3_sub(surface->pos + 3 * (size_t)v[1], p, a);
  pla_vec3_sub(surface->pos + 3 * (size_t)v[2], p, b);
  pla_vec3_cross(a, b, n);
  const double length = pla_vec3_norm(n);
  for (int d = 0; d < 3; d++)
    n[d] = length > 0.0 ? n[d] / length : 0.0;
}

/* ---- creases ---- */

/* whether the surface goes on for the better part of a cell in the plane of triangle @t, from all
 * along its edge @p - @q */
static bool
is_smooth_beyond(const Sharp *s, int t, const double p[3], const double q[3])
{
  double n[3], along[3], into[3], x[3];
  normal_of(s->surface, t, n);
  pla_vec3_sub(q, p, along);
  pla_vec3_cross(n, along, into);
  const double length = pla_vec3_norm(along), scale = look * s->cell / pla_vec3_norm(into);
  const int *v = s->surface->tri + 3 * (size_t)t;
  double across = 0.0; /* of the third vertex: @into shall point to it */
  for (int k = 0; k < 3; k++) {
    pla_vec3_sub(s->surface->pos + 3 * (size_t)v[k], p, x);
    across += pla_vec3_dot(x, into);
  }
  const int n_samples = (int)fmin(ceil(4.0 * length / s->cell), 1000.0) + 1;
  for (int i = 0; i < n_samples; i++) {
    const double at = (i + 0.5) / n_samples;
    for (int d = 0; d < 3; d++)
      x[d] = p[d] + at * along[d] + (across < 0.0 ? -scale : scale) * into[d];
    if (pla_tri_tree_nearest(s->tree, x, straight * s->cell, NULL, NULL) > straight * s->cell)
      return false;
  }
  return true;
}

static PlaEdge *
sorted_edges(const PlaTriMesh *surface)
{
  PlaEdge *edge = pla_array_new(3 * (size_t)surface->n_tris, sizeof *edge);
  for (int t = 0; edge && t < surface->n_tris; t++)
    for (int k = 0; k < 3; k++) {
      const int *v = surface->tri + 3 * (size_t)t;
      edge[3 * (size_t)t + (size_t)k] = pla_edge(v[k], v[(k + 1) % 3], 3 * t + k);
    }
  if (edge)
    qsort(edge, 3 * (size_t)surface->n_tris, sizeof *edge, pla_edge_compare);
  return edge;
}

/* Leaves those creases in @edge that belong to lines long enough; how many. */
static int
keep_long(const Sharp *s, PlaEdge *edge, int n, int *parent, double *length)
{
  int kept = 0;
  for (int v = 0; v < s->surface->n_verts; v++) {
    parent[v] = v;
    length[v] = 0.0;
  }
  for (int i = 0; i < n; i++)
    pla_union_find_join(parent, edge[i].a, edge[i].b);
  for (int i = 0; i < n; i++) {
    double along[3];
    pla_vec3_sub(s->surface->pos + 3 * (size_t)edge[i].a, s->surface->pos + 3 * (size_t)edge[i].b,
                 along);
    length[pla_union_find_root(parent, edge[i].a)] += pla_vec3_norm(along);
  }
  for (int i = 0; i < n; i++)
    if (length[pla_union_find_root(parent, edge[i].a)] >= least_length * s->cell)
      edge[kept++] = edge[i];
  return kept;
}

/* ends of creases, places where several meet, and where one turns */
static bool
is_corner(const PlaTriMesh *surface, int v, int degree, const int next[2])
{
  double a[3], b[3];
  if (degree != 2)
    return degree > 0;
  pla_vec3_sub(surface->pos + 3 * (size_t)v, surface->pos + 3 * (size_t)next[0], a);
  pla_vec3_sub(surface->pos + 3 * (size_t)next[1], surface->pos + 3 * (size_t)v, b);
  return pla_vec3_dot(a, b) < sharp_cos * pla_vec3_norm(a) * pla_vec3_norm(b);
}

static PlaStatus
keep_creases(Sharp *s, const PlaEdge *edge, int n, PlaError *err)
{
  const PlaTriMesh *surface = s->surface;
  int *degree = pla_array_new0((size_t)surface->n_verts, sizeof *degree);
  int *next = pla_array_new(2 * (size_t)surface->n_verts, sizeof *next);
  s->vert = pla_array_new(2 * (size_t)n, 3 * sizeof *s->vert);
  s->end = pla_array_new((size_t)n, 3 * sizeof *s->end);
  s->corner = pla_array_new(2 * (size_t)n, 3 * sizeof *s->corner);
  const bool enough = degree && next && s->vert && s->end && s->corner;
  for (int i = 0; enough && i < n; i++) {
    const int v[2] = { edge[i].a, edge[i].b };
    for (int k = 0; k < 2; k++) {
      if (degree[v[k]] < 2)
        next[2 * (size_t)v[k] + (size_t)degree[v[k]]] = v[1 - k];
      degree[v[k]]++;
      memcpy(s->vert + 6 * (size_t)i + 3 * k, surface->pos + 3 * (size_t)v[k], 3 * sizeof *s->vert);
    }
    memcpy(s->end + 3 * (size_t)i, (const int[3]){ 2 * i, 2 * i + 1, 2 * i + 1 },
           3 * sizeof *s->end);
  }
  for (int v = 0; enough && v < surface->n_verts; v++)
    if (is_corner(surface, v, degree[v], next + 2 * (size_t)v))
      memcpy(s->corner + 3 * (size_t)s->n_corners++, surface->pos + 3 * (size_t)v,
             3 * sizeof *s->corner);
  s->n_creases = n;
  s->lines = (PlaTriMesh){ 2 * n, n, s->vert, s->end };
  free(degree);
  free(next);
  if (!enough)
    return pla_fail_memory(err, "the mesh");
  return n > 0 ? pla_tri_tree_new(&s->lines, &s->line_tree, err) : PLA_OK;
}

static PlaStatus
find_creases(Sharp *s, PlaError *err)
{
  const PlaTriMesh *surface = s->surface;
  PlaEdge *edge = sorted_edges(surface);
  int *parent = pla_array_new((size_t)surface->n_verts, sizeof *parent), n = 0;
  double *length = pla_array_new((size_t)surface->n_verts, sizeof *length);
  PlaStatus st = edge && parent && length ? PLA_OK : pla_fail_memory(err, "the mesh");
  for (int i = 0; st == PLA_OK && i + 1 < 3 * surface->n_tris; i++) {
    const int t = edge[i].at / 3, u = edge[i + 1].at / 3;
    const double *p = surface->pos + 3 * (size_t)edge[i].a;
    const double *q = surface->pos + 3 * (size_t)edge[i].b;
    double a[3], b[3];
    if (edge[i].a != edge[i + 1].a || edge[i].b != edge[i + 1].b)
      continue;
    normal_of(surface, t, a);
    normal_of(surface, u, b);
    if (pla_vec3_dot(a, b) < sharp_cos && is_smooth_beyond(s, t, p, q) &&
        is_smooth_beyond(s, u, p, q))
      edge[n++] = edge[i];
    i++;
  }
  if (st == PLA_OK)
    st = keep_creases(s, edge, keep_long(s, edge, n, parent, length), err);
  free(edge);
  free(parent);
  free(length);
  return st;
}

/* ---- vertices ---- */

static double
worst_around(const Sharp *s, int v)
{
  double worst = 180.0;
  for (int k = s->first_tet[v]; k < s->first_tet[v + 1]; k++)
    worst = fmin(worst, pla_cutter_score(s->c, s->c->tet + 4 * (size_t)s->tet_of[k]));
  return worst;
}

/* Moves vertex @v to @x, m, unless that spoils the shape of a tet. */
static bool
try_move(const Sharp *s, int v, const double x[3])
{
  double *at = s->c->pos_mm + 3 * (size_t)v, old[3];
  const double before = worst_around(s, v);
  memcpy(old, at, sizeof old);
  for (int d = 0; d < 3; d++)
    at[d] = 1000.0 * x[d];
  if (worst_around(s, v) >= fmin(before, enough_deg))
    return true;
  memcpy(at, old, sizeof old);
  return false;
}

static void
place_of(const Sharp *s, int v, double x[3])
{
  for (int d = 0; d < 3; d++)
    x[d] = s->c->pos_mm[3 * (size_t)v + d] / 1000.0;
}

enum { TRIES = 4 };

/* the outer vertices nearest to a corner, nearest first */
typedef struct {
  int n, vert[TRIES];
  double far[TRIES];
} Candidates;

static void
add_candidate(Candidates *to, int v, double far)
{
  int at = to->n < TRIES ? to->n++ : TRIES - 1;
  if (to->n == TRIES && at == TRIES - 1 && to->vert[at] >= 0 && to->far[at] <= far)
    return;
  for (; at > 0 && to->far[at - 1] > far; at--) {
    to->far[at] = to->far[at - 1];
    to->vert[at] = to->vert[at - 1];
  }
  to->far[at] = far;
  to->vert[at] = v;
}

/* To each corner moves the nearest outer vertex that can. */
static PlaStatus
move_to_corners(const Sharp *s, PlaError *err)
{
  Candidates *near = pla_array_new((size_t)s->n_corners, sizeof *near);
  uint8_t *seen = pla_array_new0((size_t)s->c->n_points, 1);
  int *point = pla_array_new((size_t)s->n_corners, 3 * sizeof *point);
  PlaTriTree *tree = NULL;
  PlaStatus st = near && seen && point ? PLA_OK : pla_fail_memory(err, "the mesh");
  for (int k = 0; st == PLA_OK && k < s->n_corners; k++) {
    near[k] = (Candidates){ .vert = { -1, -1, -1, -1 } };
    point[3 * (size_t)k] = point[3 * (size_t)k + 1] = point[3 * (size_t)k + 2] = k;
  }
  const PlaTriMesh corners = { s->n_corners, s->n_corners, s->corner, point };
  if (st == PLA_OK)
    st = pla_tri_tree_new(&corners, &tree, err);
  for (int i = 0; st == PLA_OK && i < 3 * s->n_facets; i++) {
    const int v = s->facet[i / 3].v[i % 3];
    double x[3];
    int k;
    if (seen[v])
      continue;
    seen[v] = 1;
    place_of(s, v, x);
    const double far = pla_tri_tree_nearest(tree, x, corner_reach * s->cell, &k, NULL);
    if (far < corner_reach * s->cell)
      add_candidate(&near[k], v, far);
  }
  for (int k = 0; st == PLA_OK && k < s->n_corners; k++)
    for (int i = 0; i < near[k].n; i++)
      if (try_move(s, near[k].vert[i], s->corner + 3 * (size_t)k)) {
        s->c->pinned[near[k].vert[i]] = 1;
        break;
      }
  pla_tri_tree_free(tree);
  free(near);
  free(seen);
  free(point);
  return st;
}

/* Whether the outer edge @a - @b leads across a crease. */
static bool
leads_across(const Sharp *s, int a, int b)
{
  double x[3], y[3], m[3], na[3], nb[3];
  int ta, tb;
  place_of(s, a, x);
  place_of(s, b, y);
  for (int d = 0; d < 3; d++)
    m[d] = 0.5 * (x[d] + y[d]);
  if (pla_tri_tree_nearest(s->line_tree, m, crease_reach * s->cell, NULL, NULL) >
          crease_reach * s->cell ||
      pla_tri_tree_nearest(s->tree, x, 2.0 * s->cell, &ta, NULL) > 2.0 * s->cell ||
      pla_tri_tree_nearest(s->tree, y, 2.0 * s->cell, &tb, NULL) > 2.0 * s->cell)
    return false;
  normal_of(s->surface, ta, na);
  normal_of(s->surface, tb, nb);
  return pla_vec3_dot(na, nb) < other_side_cos;
}

/* one end of the edge moves onto the crease, the nearer if it can */
static bool
move_to_crease(const Sharp *s, int a, int b)
{
  double to[2][3], far[2];
  const int v[2] = { a, b };
  for (int k = 0; k < 2; k++) {
    double x[3];
    place_of(s, v[k], x);
    far[k] = pla_tri_tree_nearest(s->line_tree, x, crease_reach * s->cell, NULL, to[k]);
  }
  for (int turn = 0; turn < 2; turn++) {
    const int k = (far[1] < far[0]) ^ turn;
    if (far[k] <= crease_reach * s->cell && try_move(s, v[k], to[k])) {
      s->c->pinned[v[k]] = 1;
      return true;
    }
  }
  return false;
}

static void
move_to_creases(const Sharp *s)
{
  enum { ROUNDS = 4 };
  bool any = true;
  for (int round = 0; any && round < ROUNDS; round++) {
    any = false;
    for (int i = 0; i < 3 * s->n_facets; i++) {
      const int a = s->facet[i / 3].v[i % 3], b = s->facet[i / 3].v[(i + 1) % 3];
      if (a < b && !s->c->pinned[a] && !s->c->pinned[b] && leads_across(s, a, b))
        any = move_to_crease(s, a, b) || any;
    }
  }
}

/* outer vertices near creases move onto the surface, which the level set missed there */
static void
move_to_surface(const Sharp *s)
{
  enum { ROUNDS = 2 };
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < 3 * s->n_facets; i++) {
      const int v = s->facet[i / 3].v[i % 3];
      double x[3], to[3];
      place_of(s, v, x);
      if (s->c->pinned[v] ||
          pla_tri_tree_nearest(s->line_tree, x, nearby * s->cell, NULL, NULL) > nearby * s->cell)
        continue;
      if (pla_tri_tree_nearest(s->tree, x, surface_reach * s->cell, NULL, to) <=
              surface_reach * s->cell &&
          try_move(s, v, to) && round == ROUNDS - 1)
        s->c->pinned[v] = 1;
    }
}

PlaStatus
pla_cutter_sharpen(PlaCutter *c, const PlaTriMesh *surface, const PlaTriTree *tree, PlaError *err)
{
  Sharp s = { .c = c, .surface = surface, .tree = tree, .cell = c->lattice->cell_mm / 1000.0 };
  PlaStatus st = find_creases(&s, err);
  if (st == PLA_OK && s.n_creases > 0) {
    st = pla_cutter_outer_facets(c, &s.facet, &s.n_facets, err);
    if (st == PLA_OK) {
      c->sharp = tree;
      free(c->pinned);
      c->pinned = pla_array_new0((size_t)c->n_points, 1);
      if (!c->pinned ||
          !pla_cutter_list_around(c->n_points, c->tet, 4, c->n_tets, 4, &s.first_tet, &s.tet_of))
        st = pla_fail_memory(err, "the mesh");
    }
    if (st == PLA_OK && s.n_corners > 0)
      st = move_to_corners(&s, err);
    if (st == PLA_OK) {
      move_to_creases(&s);
      move_to_surface(&s);
    }
  }
  free(s.vert);
  free(s.end);
  free(s.corner);
  pla_tri_tree_free(s.line_tree);
  free(s.facet);
  free(s.first_tet);
  free(s.tet_of);
  return st;
}

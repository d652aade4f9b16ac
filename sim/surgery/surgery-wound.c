/* The wound that a blade left: where skin meets the new walls, as points along the path to its left
 * and right. */
#include "sim/surgery/surgery-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/edge.h"
#include "sim/cut/cut-mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* where on the path a point of the wound's edge lies: the blade hangs from straight pieces */
typedef struct {
  double along;
  double left[3];
  double up[3]; /* out of the skin */
} PathPlace;

/* @wall: what the point's wall faces; at a corner, where two pieces are as near, it tells of which
 * one the wall hangs */
static PathPlace
path_place(const PlaSkinPoint *path, int n, bool closed, const double pos[3], const double wall[3])
{
  const double same = 1e-16; /* m2 */
  PathPlace best = { 0 };
  double least = INFINITY, facing = 0.0;
  for (int i = 0; i + !closed < n; i++) {
    const PlaSkinPoint *a = &path[i], *b = &path[(i + 1) % n];
    double e[3], f[3], off[3];
    pla_vec3_sub(b->pos, a->pos, e);
    pla_vec3_sub(pos, a->pos, f);
    const double length2 = pla_vec3_dot(e, e);
    if (!(length2 > 0.0))
      continue;
    const double at = pla_vec3_dot(e, f) / length2, t = fmin(fmax(at, 0.0), 1.0);
    for (int d = 0; d < 3; d++)
      off[d] = f[d] - t * e[d];
    double left[3];
    pla_vec3_cross(a->normal, e, left);
    const double far = pla_vec3_dot(off, off);
    const double faces = fabs(pla_vec3_dot(left, wall)) / sqrt(length2);
    if (far < least - same || (far < least + same && faces > facing)) {
      least = fmin(far, least);
      facing = faces;
      best.along = a->along + t * sqrt(length2);
      memcpy(best.left, left, sizeof left);
      for (int d = 0; d < 3; d++)
        best.up[d] = (1.0 - t) * a->normal[d] + t * b->normal[d];
    }
  }
  return best;
}

/* Where a cut runs on beyond a corner, the edge has two points there, one on each side: which of
 * them comes first on the path, the walls tell that they belong to.  @vert: the surface's vertices
 * at the points. */
static void
part_corners(const PlaSkinPoint *path, int n, double length, const double *pos, const double *wall,
             const int *vert, PlaSurgeryEdgePoint *points, int n_points)
{
  const double same = 1e-9, apart = 1e-7; /* m */
  for (int i = 0; i < n; i++) {
    const PlaSkinPoint *ends[3] = { &path[(i + n - 1) % n], &path[i], &path[(i + 1) % n] };
    int found[2], count = 0;
    double lean[2];
    for (int k = 0; path[i].knot && k < n_points && count < 2; k++) {
      double e[3], side[2];
      pla_vec3_sub(&pos[3 * vert[k]], path[i].pos, e);
      if (pla_vec3_norm(e) > same)
        continue;
      for (int s = 0; s < 2; s++) {
        double along[3], left[3];
        pla_vec3_sub(ends[s + 1]->pos, ends[s]->pos, along);
        pla_vec3_cross(path[i].normal, along, left);
        side[s] = fabs(pla_vec3_dot(left, &wall[3 * vert[k]])) / pla_vec3_norm(left);
      }
      lean[count] = side[1] - side[0];
      found[count++] = k;
    }
    if (count < 2)
      continue;
    const int later = lean[1] > lean[0];
    points[found[later]].along = path[i].along + apart;
    points[found[!later]].along = i > 0 ? path[i].along - apart : length - apart;
  }
}

static int
compare_edge_points(const void *a, const void *b)
{
  const PlaSurgeryEdgePoint *x = a, *y = b;
  return x->along < y->along ? -1 : x->along > y->along;
}

/* normal of a triangle of the surface, twice its area long */
static void
find_normal(const PlaCutSurface *s, const double *pos, int t, double normal[3])
{
  const int *v = &s->tri[3 * t];
  double e[3], f[3];
  pla_vec3_sub(&pos[3 * v[1]], &pos[3 * v[0]], e);
  pla_vec3_sub(&pos[3 * v[2]], &pos[3 * v[0]], f);
  pla_vec3_cross(e, f, normal);
}

/* Vertices where skin meets what triangles from @first on have cut, left and right of the path.  A
 * blade that goes through everything also parts the underside, and one that reaches bone the border
 * there: those face the other way than the skin at the path, and are no edges of the wound. */
static PlaStatus
find_wound_edges(PlaSurgery *self, const PlaSkinPoint *path, int n, int first,
                 PlaSurgeryWound *wound, PlaError *err)
{
  const PlaCutSurface *s;
  const double *pos;
  PlaStatus st = pla_surgery_get_surface(self, &s, &pos, err);
  if (st != PLA_OK)
    return st;
  PlaEdge *edge = NULL;
  int n_edges = 0, capacity = 0;
  bool *taken = pla_array_new0((size_t)s->n_verts, sizeof *taken);
  bool *walled = pla_array_new0((size_t)s->n_verts, sizeof *walled); /* a corner of a new wall */
  double *wall = pla_array_new0(3 * (size_t)s->n_verts, sizeof *wall);
  int *of_edges =
      pla_array_new(2 * (size_t)s->n_verts, sizeof *of_edges); /* vertices of each edge's points */
  for (int k = 0; k < 2; k++)
    wound->edge[k] = pla_array_new((size_t)s->n_verts, sizeof *wound->edge[k]);
  if (!taken || !walled || !wall || !of_edges || !wound->edge[0] || !wound->edge[1]) {
    free(taken);
    free(walled);
    free(wall);
    free(of_edges);
    return pla_fail_memory(err, "the wound");
  }
  int *const vert[2] = { of_edges, of_edges + s->n_verts };
  /* The wall of the wound faces away from the piece that it belongs to, and so tells on which side
   * of the path that lies.  Twice its area: slivers do not count. */
  for (int t = 0; t < s->n_tris; t++) {
    const int *v = &s->tri[3 * t];
    double normal[3];
    if (s->cut[t] < first)
      continue;
    find_normal(s, pos, t, normal);
    for (int k = 0; k < 3; k++) {
      walled[v[k]] = true;
      for (int d = 0; d < 3; d++)
        wall[3 * v[k] + d] += normal[d];
    }
  }
  /* only edges between corners of new walls can be where skin meets one */
  for (int t = 0; st == PLA_OK && t < s->n_tris; t++)
    for (int k = 0; (s->cut[t] < 0 || s->cut[t] >= first) && k < 3; k++) {
      int u = s->tri[3 * t + k], v = s->tri[3 * t + (k + 1) % 3];
      if (!walled[u] || !walled[v])
        continue;
      if (pla_array_reserve(&edge, n_edges + 1, &capacity, sizeof *edge))
        edge[n_edges++] = pla_edge(u, v, t);
      else
        st = pla_fail_memory(err, "the wound");
    }
  if (n_edges > 1)
    qsort(edge, (size_t)n_edges, sizeof *edge, pla_edge_compare);
  for (int i = 0; st == PLA_OK && i + 1 < n_edges; i++) {
    const PlaEdge *a = &edge[i], *b = &edge[i + 1];
    if (a->a != b->a || a->b != b->b || (s->cut[a->at] < 0) == (s->cut[b->at] < 0))
      continue;
    const int ends[2] = { a->a, a->b };
    double outwards[3];
    find_normal(s, pos, s->cut[a->at] < 0 ? a->at : b->at, outwards);
    for (int k = 0; k < 2; k++) {
      const int v = ends[k];
      if (taken[v])
        continue;
      const PathPlace place = path_place(path, n, wound->closed, &pos[3 * v], &wall[3 * v]);
      if (pla_vec3_dot(outwards, place.up) <= 0.0)
        continue;
      taken[v] = true;
      const int side = pla_vec3_dot(&wall[3 * v], place.left) < 0.0 ? 0 : 1;
      const int at_edge = wound->n_edge[side]++;
      PlaSurgeryEdgePoint *p = &wound->edge[side][at_edge];
      p->anchor = pla_surgery_surface_anchor(self, v);
      p->along = place.along;
      vert[side][at_edge] = v;
    }
  }
  for (int k = 0; k < 2 && wound->closed; k++)
    part_corners(path, n, wound->length, pos, wall, vert[k], wound->edge[k], wound->n_edge[k]);
  for (int k = 0; k < 2; k++)
    qsort(wound->edge[k], (size_t)wound->n_edge[k], sizeof *wound->edge[k], compare_edge_points);
  free(edge);
  free(taken);
  free(walled);
  free(wall);
  free(of_edges);
  return st;
}

PlaStatus
pla_surgery_add_wound(PlaSurgery *self, const char *name, const PlaSkinPoint *path, int n,
                      bool closed, int first, PlaError *err)
{
  PlaSurgeryWound wound = { .closed = closed, .length = path[n - 1].along, .n_path = n };
  wound.name = pla_strdup(name);
  wound.path = pla_array_new(3 * (size_t)n, sizeof *wound.path);
  wound.knot = pla_array_new((size_t)n, sizeof *wound.knot);
  if (!wound.name || !wound.path || !wound.knot ||
      !pla_array_resize((void **)&self->wound, (size_t)self->n_wounds + 1, sizeof *self->wound)) {
    pla_surgery_wound_clear(&wound);
    return pla_fail_memory(err, "the wound");
  }
  for (int i = 0; i < n; i++) {
    memcpy(&wound.path[3 * i], path[i].pos, 3 * sizeof *wound.path);
    if (path[i].knot)
      wound.knot[wound.n_knots++] = path[i].along;
  }
  if (closed) {
    double e[3];
    pla_vec3_sub(path[0].pos, path[n - 1].pos, e);
    wound.length += pla_vec3_norm(e);
  }
  PlaStatus st = find_wound_edges(self, path, n, first, &wound, err);
  if (st == PLA_OK)
    self->wound[self->n_wounds++] = wound;
  else
    pla_surgery_wound_clear(&wound);
  return st;
}

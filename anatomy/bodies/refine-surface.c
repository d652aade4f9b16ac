/* Halving of long edges.
 *
 * Every triangle sees the same new vertex in the middle of an edge that it shares, so a closed
 * surface stays closed.  A triangle becomes two, three or four, by how many of its edges were
 * halved. */
#include "anatomy/bodies/refine-surface.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/edge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the edges of all triangles, equal ones together; NULL: no memory */
static PlaEdge *
list_edges(const PlaMesh *mesh)
{
  const size_t n = 3 * (size_t)mesh->n_tris;
  PlaEdge *edge = pla_array_new(n, sizeof *edge);
  for (size_t i = 0; edge && i < n; i++) {
    edge[i] = pla_edge(mesh->tri[i], mesh->tri[i - i % 3 + (i + 1) % 3], (int)i);
  }
  if (edge)
    qsort(edge, n, sizeof *edge, pla_edge_compare);
  return edge;
}

typedef struct {
  double (*longest)(const double pos[3], const void *data);
  const void *data;
} Limit;

/* What the edges of a triangle may measure.  All three alike: were it a matter of the ends of each
 * edge, a corner in small cells could have its opposite edges halved for ever. */
static double
limit_in(const Limit *limit, const PlaMesh *mesh, int t)
{
  double middle[3] = { 0.0, 0.0, 0.0 }, least = INFINITY;
  for (int k = 0; k < 3; k++) {
    const double *pos = &mesh->pos[3 * mesh->tri[3 * t + k]];
    least = fmin(least, limit->longest(pos, limit->data));
    for (int d = 0; d < 3; d++)
      middle[d] += pos[d] / 3.0;
  }
  return fmin(least, limit->longest(middle, limit->data));
}

/* the new vertex on each side of each triangle, or -1 (n_tris x 3); their number */
static int
place_middles(const PlaMesh *mesh, const PlaEdge *edge, const Limit *limit, int *middle)
{
  const size_t n = 3 * (size_t)mesh->n_tris;
  int n_new = 0;
  for (size_t i = 0, next; i < n; i = next) {
    double d[3], longest = INFINITY;
    pla_vec3_sub(&mesh->pos[3 * edge[i].a], &mesh->pos[3 * edge[i].b], d);
    for (next = i; next < n && edge[next].a == edge[i].a && edge[next].b == edge[i].b; next++)
      longest = fmin(longest, limit_in(limit, mesh, edge[next].at / 3));
    const bool halve = pla_vec3_norm(d) > longest;
    for (size_t k = i; k < next; k++)
      middle[edge[k].at] = halve ? mesh->n_verts + n_new : -1;
    n_new += halve;
  }
  return n_new;
}

/* the triangles that (@v, @middle of its sides) becomes; their number */
static int
divide(const int v[3], const int middle[3], int out[4][3])
{
  int n = 0, r = 0;
  for (int k = 0; k < 3; k++)
    n += middle[k] >= 0;
  /* turn it so that its first side alone is halved, or alone is not */
  if (n == 1 || n == 2)
    while ((middle[r] >= 0) != (n == 1))
      r++;
  const int a = v[r], b = v[(r + 1) % 3], c = v[(r + 2) % 3];
  const int ab = middle[r], bc = middle[(r + 1) % 3], ca = middle[(r + 2) % 3];
  const int parts[4][4][3] = { { { a, b, c } },
                               { { a, ab, c }, { ab, b, c } },
                               { { a, b, bc }, { a, bc, ca }, { ca, bc, c } },
                               { { a, ab, ca }, { ab, b, bc }, { ca, bc, c }, { ab, bc, ca } } };
  memcpy(out, parts[n], sizeof parts[n]);
  return n + 1;
}

/* one halving of every edge that is too long; *n_new: how many were */
static PlaStatus
halve_once(const Limit *limit, PlaMesh **surface, int **origin, int *n_new, PlaError *err)
{
  const PlaMesh *from = *surface;
  PlaMesh *to = NULL;
  PlaEdge *edge = list_edges(from);
  int *middle = pla_array_new(3 * (size_t)from->n_tris, sizeof *middle);
  int *origins = pla_array_new(4 * (size_t)from->n_tris, sizeof *origins);
  int n_tris = 0;
  *n_new = 0;
  PlaStatus st = edge && middle && origins ? PLA_OK : pla_fail_memory(err, "the surface");
  if (st == PLA_OK) {
    *n_new = place_middles(from, edge, limit, middle);
    n_tris = from->n_tris;
    for (int i = 0; i < 3 * from->n_tris; i++)
      n_tris += middle[i] >= 0;
    st = pla_mesh_new(from->n_verts + *n_new, n_tris, 0, 0, &to, err);
  }
  if (st == PLA_OK) {
    memcpy(to->pos, from->pos, 3 * (size_t)from->n_verts * sizeof *to->pos);
    n_tris = 0;
    for (int t = 0; t < from->n_tris; t++) {
      const int *v = &from->tri[3 * t], *mid = &middle[3 * t];
      int part[4][3];
      const int n = divide(v, mid, part);
      memcpy(&to->tri[3 * n_tris], part, (size_t)n * sizeof part[0]);
      for (int k = 0; k < n; k++)
        origins[n_tris + k] = (*origin)[t];
      n_tris += n;
      for (int k = 0; k < 9; k++)
        if (mid[k / 3] >= 0)
          to->pos[3 * mid[k / 3] + k % 3] =
              0.5 * (from->pos[3 * v[k / 3] + k % 3] + from->pos[3 * v[(k / 3 + 1) % 3] + k % 3]);
    }
    pla_mesh_free(*surface);
    free(*origin);
    *surface = to;
    *origin = origins;
    origins = NULL;
  }
  free(edge);
  free(middle);
  free(origins);
  return st;
}

PlaStatus
pla_surface_halve_edges(const PlaMesh *from,
                        double (*longest)(const double pos[3], const void *data), const void *data,
                        PlaMesh **out, int **origin, PlaError *err)
{
  const Limit limit = { longest, data };
  int n_new = 1;
  *origin = pla_array_new((size_t)from->n_tris, sizeof **origin);
  PlaStatus st = *origin ? pla_mesh_dup(from, out, err) : pla_fail_memory(err, "the surface");
  for (int t = 0; st == PLA_OK && t < from->n_tris; t++)
    (*origin)[t] = t;
  while (st == PLA_OK && n_new > 0)
    st = halve_once(&limit, out, origin, &n_new, err);
  return st;
}

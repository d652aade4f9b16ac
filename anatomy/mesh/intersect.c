/* Exact self-intersections of triangle surfaces.
 *
 * Two triangles meet exactly when a side of one meets the other; where they share a vertex or a
 * side, only what goes beyond it counts.  All decisions are signs of exact determinants. */
#include "anatomy/base/memory.h"
#include "anatomy/mesh/predicates.h"
#include "anatomy/mesh/tri-tree-private.h"

#include <stdlib.h>
#include <string.h>

/* in the plane that drops @axis */
static int
turn(const double a[3], const double b[3], const double c[3], int axis)
{
  int u = (axis + 1) % 3, v = (axis + 2) % 3;
  const double p[2] = { a[u], a[v] }, q[2] = { b[u], b[v] }, r[2] = { c[u], c[v] };
  return pla_orient2d(p, q, r);
}

static bool
between(const double a[3], const double b[3], const double x[3])
{
  for (int d = 0; d < 3; d++)
    if ((x[d] < a[d] && x[d] < b[d]) || (x[d] > a[d] && x[d] > b[d]))
      return false;
  return true;
}

static bool
flat_segments_meet(const double p[3], const double q[3], const double a[3], const double b[3],
                   int axis)
{
  int s1 = turn(p, q, a, axis), s2 = turn(p, q, b, axis);
  int s3 = turn(a, b, p, axis), s4 = turn(a, b, q, axis);
  if (s1 * s2 < 0 && s3 * s4 < 0)
    return true;
  return (s1 == 0 && between(p, q, a)) || (s2 == 0 && between(p, q, b)) ||
         (s3 == 0 && between(a, b, p)) || (s4 == 0 && between(a, b, q));
}

/* coplanar segment and triangle */
static bool
flat_meet(const double p[3], const double q[3], const double *const t[3])
{
  /* a projection in which the triangle keeps its area; none: it is a line, try its sides */
  int axis = 0, area = 0;
  for (; axis < 3 && (area = turn(t[0], t[1], t[2], axis)) == 0; axis++)
    ;
  if (area == 0)
    axis = 0;
  for (int e = 0; e < 3; e++)
    if (flat_segments_meet(p, q, t[e], t[(e + 1) % 3], axis))
      return true;
  return area != 0 && turn(t[0], t[1], p, axis) * area > 0 &&
         turn(t[1], t[2], p, axis) * area > 0 && turn(t[2], t[0], p, axis) * area > 0;
}

static bool
segment_meets(const double p[3], const double q[3], const double *const t[3])
{
  int sp = pla_orient3d(t[0], t[1], t[2], p), sq = pla_orient3d(t[0], t[1], t[2], q);
  if (sp * sq > 0)
    return false;
  if (sp == 0 && sq == 0)
    return flat_meet(p, q, t);
  int s[3];
  for (int e = 0; e < 3; e++)
    s[e] = pla_orient3d(p, q, t[e], t[(e + 1) % 3]);
  return (s[0] >= 0 && s[1] >= 0 && s[2] >= 0) || (s[0] <= 0 && s[1] <= 0 && s[2] <= 0);
}

static bool
triangles_meet(const PlaTriMesh *mesh, int first, int second)
{
  const int *v = mesh->tri + 3 * (size_t)first, *w = mesh->tri + 3 * (size_t)second;
  const double *a[3], *b[3];
  int shared = 0, ia[3], ib[3];
  for (int c = 0; c < 3; c++) {
    a[c] = mesh->pos + 3 * (size_t)v[c];
    b[c] = mesh->pos + 3 * (size_t)w[c];
  }
  for (int c = 0; c < 3; c++)
    for (int e = 0; e < 3; e++)
      if (v[c] == w[e] && shared < 3) {
        ia[shared] = c;
        ib[shared++] = e;
      }
  if (shared == 3)
    return true;
  if (shared == 2) {
    /* folded flat onto each other */
    const double *x = a[3 - ia[0] - ia[1]], *y = b[3 - ib[0] - ib[1]], *p = a[ia[0]], *q = a[ia[1]];
    if (pla_orient3d(p, q, x, y) != 0)
      return false;
    for (int axis = 0; axis < 3; axis++) {
      int side = turn(p, q, x, axis);
      if (side != 0)
        return side == turn(p, q, y, axis);
    }
    return true;
  }
  if (shared == 1)
    return segment_meets(a[(ia[0] + 1) % 3], a[(ia[0] + 2) % 3], b) ||
           segment_meets(b[(ib[0] + 1) % 3], b[(ib[0] + 2) % 3], a);
  for (int e = 0; e < 3; e++)
    if (segment_meets(a[e], a[(e + 1) % 3], b) || segment_meets(b[e], b[(e + 1) % 3], a))
      return true;
  return false;
}

/* calls for each triangle behind @tri whose box meets its own; returns how many meet it */
static int
meet_tree(const PlaTriTree *t, int tri, int *partner, int room)
{
  const int *v = t->mesh.tri + 3 * (size_t)tri;
  double lo[3], hi[3];
  for (int d = 0; d < 3; d++) {
    lo[d] = hi[d] = t->mesh.pos[3 * (size_t)v[0] + d];
    for (int c = 1; c < 3; c++) {
      double x = t->mesh.pos[3 * (size_t)v[c] + d];
      lo[d] = x < lo[d] ? x : lo[d];
      hi[d] = x > hi[d] ? x : hi[d];
    }
  }
  int stack[64], depth = 0, found = 0;
  stack[depth++] = 0;
  while (depth > 0) {
    int id = stack[--depth];
    const PlaTriNode *node = &t->node[id];
    if (node->lo[0] > hi[0] || node->lo[1] > hi[1] || node->lo[2] > hi[2] || node->hi[0] < lo[0] ||
        node->hi[1] < lo[1] || node->hi[2] < lo[2])
      continue;
    if (node->right >= 0) {
      stack[depth++] = node->right;
      stack[depth++] = id + 1;
      continue;
    }
    for (int i = node->first; i < node->first + node->n; i++) {
      int other = t->order[i];
      if (other <= tri || !triangles_meet(&t->mesh, tri, other))
        continue;
      if (found < room)
        partner[found] = other;
      found++;
    }
  }
  return found;
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

PlaStatus
pla_self_intersections(const PlaTriTree *self, PlaProgress *progress, int64_t *n, int **pairs,
                       PlaError *err)
{
  const int n_tris = self->mesh.n_tris;
  int *count = pla_array_new0((size_t)n_tris, sizeof *count);
  *n = 0;
  if (pairs)
    *pairs = NULL;
  if (!count)
    return pla_fail_memory(err, "the search for self-intersections");
  const int chunk = 65536;
  for (int from = 0; from < n_tris; from += chunk) {
    int to = from + chunk < n_tris ? from + chunk : n_tris;
#pragma omp parallel for schedule(dynamic, 512)
    for (int t = from; t < to; t++)
      count[t] = meet_tree(self, t, NULL, 0);
    if (!pla_progress_step(progress, (double)to / n_tris)) {
      free(count);
      return pla_fail_cancelled(err);
    }
  }
  for (int t = 0; t < n_tris; t++)
    *n += count[t];
  if (pairs) {
    *pairs = pla_array_new((size_t)*n, 2 * sizeof **pairs);
    int *at = *pairs, most = 0;
    for (int t = 0; t < n_tris; t++)
      most = count[t] > most ? count[t] : most;
    int *partner = pla_array_new((size_t)most, sizeof *partner);
    if (!at || !partner) {
      free(*pairs);
      *pairs = NULL;
      free(partner);
      free(count);
      return pla_fail_memory(err, "the search for self-intersections");
    }
    for (int t = 0; t < n_tris; t++) {
      if (count[t] == 0)
        continue;
      meet_tree(self, t, partner, most);
      qsort(partner, (size_t)count[t], sizeof *partner, compare_ints);
      for (int i = 0; i < count[t]; i++) {
        *at++ = t;
        *at++ = partner[i];
      }
    }
    free(partner);
  }
  free(count);
  return PLA_OK;
}

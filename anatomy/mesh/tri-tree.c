/* The tree of boxes: built by halving along the widest axis of the centroids, leaves of up to four
 * triangles. */
#include "anatomy/mesh/tri-tree.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaTriTree *tree;
  const double *centroid;
} Builder;

/* order[] between from and to so that the middle one divides them along @axis; ties by number */
static void
split_at_middle(const Builder *b, int axis, int from, int to)
{
  int *order = b->tree->order, middle = (from + to) / 2;
#define BEFORE(p, q)                                                                               \
  (b->centroid[3 * (size_t)(p) + axis] != b->centroid[3 * (size_t)(q) + axis]                      \
       ? b->centroid[3 * (size_t)(p) + axis] < b->centroid[3 * (size_t)(q) + axis]                 \
       : (p) < (q))
  while (to - from > 1) {
    int pivot = order[from + (to - from) / 2], i = from, j = to - 1;
    while (i <= j) {
      while (BEFORE(order[i], pivot))
        i++;
      while (BEFORE(pivot, order[j]))
        j--;
      if (i <= j) {
        int swap = order[i];
        order[i++] = order[j];
        order[j--] = swap;
      }
    }
    if (middle <= j)
      to = j + 1;
    else if (middle >= i)
      from = i;
    else
      break;
  }
#undef BEFORE
}

static int
build_node(const Builder *b, int from, int to)
{
  PlaTriTree *t = b->tree;
  int id = t->n_nodes++;
  PlaTriNode *node = &t->node[id];
  double clo[3] = { INFINITY, INFINITY, INFINITY }, chi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int d = 0; d < 3; d++) {
    node->lo[d] = INFINITY;
    node->hi[d] = -INFINITY;
  }
  for (int i = from; i < to; i++) {
    const int *v = t->mesh.tri + 3 * (size_t)t->order[i];
    for (int d = 0; d < 3; d++) {
      for (int c = 0; c < 3; c++) {
        double x = t->mesh.pos[3 * (size_t)v[c] + d];
        node->lo[d] = fmin(node->lo[d], x);
        node->hi[d] = fmax(node->hi[d], x);
      }
      double x = b->centroid[3 * (size_t)t->order[i] + d];
      clo[d] = fmin(clo[d], x);
      chi[d] = fmax(chi[d], x);
    }
  }
  node->first = from;
  node->n = to - from;
  node->right = -1;
  if (to - from <= 4)
    return id;
  int axis = 0;
  for (int d = 1; d < 3; d++)
    if (chi[d] - clo[d] > chi[axis] - clo[axis])
      axis = d;
  split_at_middle(b, axis, from, to);
  build_node(b, from, (from + to) / 2);
  int right = build_node(b, (from + to) / 2, to);
  t->node[id].right = right;
  return id;
}

PlaStatus
pla_tri_tree_new(const PlaTriMesh *mesh, PlaTriTree **out, PlaError *err)
{
  PlaTriTree *t = pla_array_new0(1, sizeof *t);
  double *centroid = pla_array_new((size_t)mesh->n_tris, 3 * sizeof *centroid);
  *out = NULL;
  if (t) {
    t->mesh = *mesh;
    t->order = pla_array_new((size_t)mesh->n_tris, sizeof *t->order);
    t->node = pla_array_new((size_t)mesh->n_tris + 1, sizeof *t->node);
  }
  if (!t || !t->order || !t->node || !centroid) {
    free(centroid);
    pla_tri_tree_free(t);
    return pla_fail_memory(err, "a tree of triangles");
  }
  for (int i = 0; i < mesh->n_tris; i++) {
    t->order[i] = i;
    for (int d = 0; d < 3; d++) {
      double s = 0.0;
      for (int c = 0; c < 3; c++)
        s += mesh->pos[3 * (size_t)mesh->tri[3 * (size_t)i + c] + d];
      centroid[3 * (size_t)i + d] = s / 3.0;
    }
  }
  if (mesh->n_tris > 0)
    build_node(&(Builder){ t, centroid }, 0, mesh->n_tris);
  free(centroid);
  *out = t;
  return PLA_OK;
}

void
pla_tri_tree_free(PlaTriTree *self)
{
  if (!self)
    return;
  free(self->order);
  free(self->node);
  free(self);
}

static double
box_distance2(const PlaTriNode *node, const double x[3])
{
  double s = 0.0;
  for (int d = 0; d < 3; d++) {
    double e = x[d] < node->lo[d]   ? node->lo[d] - x[d]
               : x[d] > node->hi[d] ? x[d] - node->hi[d]
                                    : 0.0;
    s += e * e;
  }
  return s;
}

/* inside its plane, else on the nearest side */
double
pla_triangle_nearest(const double a[3], const double b[3], const double c[3], const double x[3],
                     double point[3])
{
  const double *corner[3] = { a, b, c };
  double u[3], v[3], n[3], w[3], best = INFINITY;
  pla_vec3_sub(b, a, u);
  pla_vec3_sub(c, a, v);
  pla_vec3_sub(x, a, w);
  pla_vec3_cross(u, v, n);
  double nn = pla_vec3_dot(n, n);
  if (nn > 0.0) {
    double p[3], q[3];
    pla_vec3_cross(w, v, p);
    pla_vec3_cross(u, w, q);
    double s = pla_vec3_dot(p, n) / nn, t = pla_vec3_dot(q, n) / nn;
    if (s >= 0.0 && t >= 0.0 && s + t <= 1.0) {
      double h = pla_vec3_dot(w, n);
      for (int d = 0; d < 3; d++)
        point[d] = a[d] + s * u[d] + t * v[d];
      return h * h / nn;
    }
  }
  for (int e = 0; e < 3; e++) {
    const double *p = corner[e], *q = corner[(e + 1) % 3];
    double side[3], d2 = 0.0, at[3];
    pla_vec3_sub(q, p, side);
    pla_vec3_sub(x, p, w);
    double l2 = pla_vec3_dot(side, side);
    double t = l2 > 0.0 ? fmin(fmax(pla_vec3_dot(w, side) / l2, 0.0), 1.0) : 0.0;
    for (int d = 0; d < 3; d++) {
      at[d] = p[d] + t * side[d];
      d2 += (x[d] - at[d]) * (x[d] - at[d]);
    }
    if (d2 < best) {
      best = d2;
      memcpy(point, at, sizeof at);
    }
  }
  return best;
}

double
pla_tri_tree_nearest(const PlaTriTree *self, const double pos[3], double max_m, int *tri,
                     double point[3])
{
  return pla_tri_tree_nearest_among(self, pos, max_m, NULL, NULL, tri, point);
}

double
pla_tri_tree_nearest_among(const PlaTriTree *self, const double pos[3], double max_m,
                           PlaTriFilter keep, const void *data, int *tri, double point[3])
{
  int stack[64], depth = 0, found = -1;
  double best = max_m * max_m, at[3] = { 0.0, 0.0, 0.0 };
  if (self->n_nodes > 0)
    stack[depth++] = 0;
  while (depth > 0) {
    int id = stack[--depth];
    const PlaTriNode *node = &self->node[id];
    if (box_distance2(node, pos) > best)
      continue;
    if (node->right >= 0) {
      double dl = box_distance2(&self->node[id + 1], pos),
             dr = box_distance2(&self->node[node->right], pos);
      /* the nearer child is visited first */
      stack[depth++] = dl < dr ? node->right : id + 1;
      stack[depth++] = dl < dr ? id + 1 : node->right;
      continue;
    }
    for (int i = node->first; i < node->first + node->n; i++) {
      const int *v = self->mesh.tri + 3 * (size_t)self->order[i];
      double p[3];
      double d2 =
          pla_triangle_nearest(self->mesh.pos + 3 * (size_t)v[0], self->mesh.pos + 3 * (size_t)v[1],
                               self->mesh.pos + 3 * (size_t)v[2], pos, p);
      if ((d2 < best || (d2 == best && found < 0)) && (!keep || keep(self->order[i], data))) {
        best = d2;
        found = self->order[i];
        memcpy(at, p, sizeof p);
      }
    }
  }
  if (tri)
    *tri = found;
  if (point)
    memcpy(point, at, sizeof at);
  return found >= 0 ? sqrt(best) : INFINITY;
}

void
pla_tri_tree_visit(const PlaTriTree *self, const double lo[3], const double hi[3],
                   PlaTriVisitor visit, void *data)
{
  int stack[64], depth = 0;
  if (self->n_nodes > 0)
    stack[depth++] = 0;
  while (depth > 0) {
    int id = stack[--depth];
    const PlaTriNode *node = &self->node[id];
    bool meets = true;
    for (int d = 0; d < 3; d++)
      meets &= node->lo[d] <= hi[d] && node->hi[d] >= lo[d];
    if (!meets)
      continue;
    if (node->right >= 0) {
      stack[depth++] = node->right;
      stack[depth++] = id + 1;
    }
    for (int i = node->first; node->right < 0 && i < node->first + node->n; i++)
      visit(self->order[i], data);
  }
}

void
pla_tri_tree_refit(PlaTriTree *self, const double *other)
{
  /* children stand behind their parents */
  for (int id = self->n_nodes - 1; id >= 0; id--) {
    PlaTriNode *node = &self->node[id];
    const PlaTriNode *child[2] = { &self->node[id + 1],
                                   &self->node[node->right < 0 ? 0 : node->right] };
    for (int d = 0; d < 3; d++) {
      node->lo[d] = node->right < 0 ? INFINITY : fmin(child[0]->lo[d], child[1]->lo[d]);
      node->hi[d] = node->right < 0 ? -INFINITY : fmax(child[0]->hi[d], child[1]->hi[d]);
    }
    for (int i = node->first; node->right < 0 && i < node->first + node->n; i++)
      for (int c = 0; c < 3; c++) {
        size_t v = 3 * (size_t)self->mesh.tri[3 * (size_t)self->order[i] + c];
        for (int d = 0; d < 3; d++) {
          double x = self->mesh.pos[v + d], y = other ? other[v + d] : x;
          node->lo[d] = fmin(node->lo[d], fmin(x, y));
          node->hi[d] = fmax(node->hi[d], fmax(x, y));
        }
      }
  }
}

/* Faces, edges and vertices near a point. */
#include "sim/contact/contact-features.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int a, b, tri, corner;
} Side;

static int
compare_sides(const void *p, const void *q)
{
  const Side *x = p, *y = q;
  if (x->a != y->a)
    return x->a < y->a ? -1 : 1;
  if (x->b != y->b)
    return x->b < y->b ? -1 : 1;
  return x->tri < y->tri ? -1 : x->tri > y->tri;
}

PlaStatus
pla_feature_mesh_init(PlaFeatureMesh *self, const PlaTriMesh *mesh, PlaError *err)
{
  const size_t nt = (size_t)mesh->n_tris, nv = (size_t)mesh->n_verts;
  *self = (PlaFeatureMesh){ .tri = mesh->tri, .n_verts = mesh->n_verts, .n_tris = mesh->n_tris };
  Side *side = pla_array_new(nt, 3 * sizeof *side);
  int *fill = pla_array_new0(nv, sizeof *fill);
  self->tri_edge = pla_array_new(nt, 3 * sizeof *self->tri_edge);
  self->edge = pla_array_new(nt, 6 * sizeof *self->edge);
  self->edge_count = pla_array_new0(nt, 3 * sizeof *self->edge_count);
  self->vert_start = pla_array_new0(nv + 1, sizeof *self->vert_start);
  self->vert_tri = pla_array_new(nt, 3 * sizeof *self->vert_tri);
  PlaStatus st = side && fill && self->tri_edge && self->edge && self->edge_count &&
                         self->vert_start && self->vert_tri
                     ? PLA_OK
                     : pla_fail_memory(err, "the surface");
  /* sides of triangles with ascending vertices */
  for (size_t i = 0; st == PLA_OK && i < 3 * nt; i++) {
    int a = mesh->tri[i], b = mesh->tri[i % 3 == 2 ? i - 2 : i + 1];
    side[i] = (Side){ a < b ? a : b, a < b ? b : a, (int)(i / 3), (int)(i % 3) };
    self->vert_start[a + 1]++;
  }
  if (st == PLA_OK) {
    /* equal sides are one edge */
    qsort(side, 3 * nt, sizeof *side, compare_sides);
    for (size_t i = 0; i < 3 * nt; i++) {
      if (i == 0 || side[i].a != side[i - 1].a || side[i].b != side[i - 1].b) {
        self->edge[2 * self->n_edges] = side[i].a;
        self->edge[2 * self->n_edges + 1] = side[i].b;
        self->n_edges++;
      }
      self->tri_edge[3 * side[i].tri + side[i].corner] = self->n_edges - 1;
      self->edge_count[self->n_edges - 1]++;
    }
    /* triangles around each vertex */
    for (size_t v = 0; v < nv; v++)
      self->vert_start[v + 1] += self->vert_start[v];
    for (size_t i = 0; i < 3 * nt; i++) {
      int v = mesh->tri[i];
      self->vert_tri[self->vert_start[v] + fill[v]++] = (int)(i / 3);
    }
  } else {
    pla_feature_mesh_clear(self);
  }
  free(side);
  free(fill);
  return st;
}

void
pla_feature_mesh_clear(PlaFeatureMesh *self)
{
  free(self->tri_edge);
  free(self->edge);
  free(self->edge_count);
  free(self->vert_start);
  free(self->vert_tri);
  *self = (PlaFeatureMesh){ 0 };
}

/* ---- nearest places ---- */

/* distance and direction from the feature's point, given its vertices and weights */
static void
measure(PlaFeature *feature, const double *pos, const double x[3])
{
  double r[3] = { x[0], x[1], x[2] };
  for (int a = 0; a < feature->n_verts; a++)
    for (size_t d = 0; d < 3; d++)
      r[d] -= feature->weight[a] * pos[3 * (size_t)feature->vert[a] + d];
  feature->distance = pla_vec3_norm(r);
  for (int d = 0; d < 3; d++)
    feature->direction[d] = feature->distance > 0.0 ? r[d] / feature->distance : 0.0;
}

static PlaFeature
nearest_of_vert(const double *pos, const double x[3], int v)
{
  PlaFeature feature = { .n_verts = 1, .vert = { v, -1, -1 }, .weight = { 1.0 } };
  measure(&feature, pos, x);
  return feature;
}

/* the edge itself, or the end that is nearer; always computed from the smaller id, so that every
 * triangle at an edge finds the very same */
static PlaFeature
nearest_of_edge(const PlaFeatureMesh *self, const double *pos, const double x[3], int e)
{
  const int a = self->edge[2 * (size_t)e], b = self->edge[2 * (size_t)e + 1];
  double along[3], r[3];
  pla_vec3_sub(pos + 3 * (size_t)b, pos + 3 * (size_t)a, along);
  pla_vec3_sub(x, pos + 3 * (size_t)a, r);
  double length2 = pla_vec3_dot(along, along), t = pla_vec3_dot(r, along);
  if (t <= 0.0 || !(length2 > 0.0))
    return nearest_of_vert(pos, x, a);
  if (t >= length2)
    return nearest_of_vert(pos, x, b);
  PlaFeature feature = { .n_verts = 2,
                         .vert = { a, b, -1 },
                         .weight = { 1.0 - t / length2, t / length2 } };
  for (int d = 0; d < 3; d++)
    feature.along[d] = along[d] / sqrt(length2);
  measure(&feature, pos, x);
  return feature;
}

static PlaFeature
nearest_of_tri(const PlaFeatureMesh *self, const double *pos, const double x[3], int t)
{
  const int *v = self->tri + 3 * (size_t)t;
  double u[3], w[3], r[3], n[3], p[3], q[3];
  /* barycentric coordinates of the projection, times the squared double area */
  pla_vec3_sub(pos + 3 * (size_t)v[1], pos + 3 * (size_t)v[0], u);
  pla_vec3_sub(pos + 3 * (size_t)v[2], pos + 3 * (size_t)v[0], w);
  pla_vec3_sub(x, pos + 3 * (size_t)v[0], r);
  pla_vec3_cross(u, w, n);
  pla_vec3_cross(r, w, p);
  pla_vec3_cross(u, r, q);
  double nn = pla_vec3_dot(n, n), s = pla_vec3_dot(p, n), m = pla_vec3_dot(q, n);
  PlaFeature best;
  /* inside the triangle, or else on its nearest edge */
  if (nn > 0.0 && s > 0.0 && m > 0.0 && s + m < nn) {
    best = (PlaFeature){ .n_verts = 3,
                         .vert = { v[0], v[1], v[2] },
                         .weight = { 1.0 - (s + m) / nn, s / nn, m / nn } };
    measure(&best, pos, x);
    /* the height has a sign even where the distance rounds to nothing */
    if (best.distance == 0.0)
      for (int d = 0; d < 3; d++)
        best.direction[d] = n[d] / sqrt(nn);
  } else {
    for (int c = 0; c < 3; c++) {
      PlaFeature side = nearest_of_edge(self, pos, x, self->tri_edge[3 * (size_t)t + (size_t)c]);
      if (c == 0 || side.distance < best.distance)
        best = side;
    }
  }
  best.tri = t;
  return best;
}

void
pla_features_of_tri(const PlaFeatureMesh *self, const double *pos, const double x[3], int tri,
                    PlaFeature *out)
{
  *out = nearest_of_tri(self, pos, x, tri);
  out->count = 1;
}

/* ---- listing ---- */

typedef struct {
  const PlaFeatureMesh *mesh;
  const int *skip;
  int n_skip, n, tri[PLA_MOST_FEATURES];
} Gather;

static bool
skips(const Gather *self, const int *vert, int n)
{
  for (int a = 0; a < n; a++)
    for (int b = 0; b < self->n_skip; b++)
      if (vert[a] == self->skip[b])
        return true;
  return false;
}

static void
gather(int tri, void *data)
{
  Gather *self = data;
  if (self->n < PLA_MOST_FEATURES && !skips(self, self->mesh->tri + 3 * (size_t)tri, 3))
    self->tri[self->n++] = tri;
}

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* adds @count to the feature's entry */
static void
tally(PlaFeature *list, int *n, const PlaFeature *feature, int count)
{
  for (int k = 0; k < *n; k++)
    if (list[k].n_verts == feature->n_verts &&
        memcmp(list[k].vert, feature->vert, (size_t)feature->n_verts * sizeof(int)) == 0) {
      list[k].count += count;
      return;
    }
  if (*n == PLA_MOST_FEATURES)
    return;
  list[*n] = *feature;
  list[(*n)++].count = count;
}

int
pla_features_near(const PlaFeatureMesh *self, const PlaTriTree *tree, const double *pos,
                  const double x[3], double reach, int n_skip, const int *skip,
                  PlaFeature out[PLA_MOST_FEATURES])
{
  Gather near = { .mesh = self, .skip = skip, .n_skip = n_skip };
  int edge[3 * PLA_MOST_FEATURES], vert[3 * PLA_MOST_FEATURES], n = 0, kept = 0;
  double lo[3], hi[3];
  for (int d = 0; d < 3; d++) {
    lo[d] = x[d] - reach;
    hi[d] = x[d] + reach;
  }
  /* triangles whose boxes are within reach */
  pla_tri_tree_visit(tree, lo, hi, gather, &near);
  if (near.n == 0)
    return 0;
  qsort(near.tri, (size_t)near.n, sizeof(int), compare_ints);
  /* nearest places of triangles count once each */
  for (int k = 0; k < near.n; k++) {
    PlaFeature feature = nearest_of_tri(self, pos, x, near.tri[k]);
    if (feature.distance <= reach)
      tally(out, &n, &feature, 1);
    for (int c = 0; c < 3; c++) {
      edge[3 * k + c] = self->tri_edge[3 * (size_t)near.tri[k] + (size_t)c];
      vert[3 * k + c] = self->tri[3 * (size_t)near.tri[k] + (size_t)c];
    }
  }
  /* edges count negatively and vertices positively, so a place on shared features counts once */
  qsort(edge, 3 * (size_t)near.n, sizeof(int), compare_ints);
  qsort(vert, 3 * (size_t)near.n, sizeof(int), compare_ints);
  for (int k = 0; k < 3 * near.n; k++) {
    if (k == 0 || edge[k] != edge[k - 1]) {
      PlaFeature feature = nearest_of_edge(self, pos, x, edge[k]);
      if (feature.distance <= reach)
        tally(out, &n, &feature, 1 - self->edge_count[edge[k]]);
    }
    if (k == 0 || vert[k] != vert[k - 1]) {
      PlaFeature feature = nearest_of_vert(pos, x, vert[k]);
      if (feature.distance <= reach)
        tally(out, &n, &feature, 1);
    }
  }
  /* places whose counts do not cancel */
  for (int k = 0; k < n; k++)
    if (out[k].count != 0)
      out[kept++] = out[k];
  return kept;
}

/* ---- the side ---- */

static void
add_normal(const PlaFeatureMesh *self, const double *pos, int t, int at_vert, double n[3])
{
  const int *v = self->tri + 3 * (size_t)t;
  double u[3], w[3], c[3];
  int first = 0;
  while (at_vert >= 0 && v[first] != at_vert)
    first++;
  const double *x = pos + 3 * (size_t)v[first];
  pla_vec3_sub(pos + 3 * (size_t)v[(first + 1) % 3], x, u);
  pla_vec3_sub(pos + 3 * (size_t)v[(first + 2) % 3], x, w);
  pla_vec3_cross(u, w, c);
  double length = pla_vec3_norm(c);
  /* at a vertex, normals weigh as their corners' angles */
  double weight = at_vert >= 0 ? atan2(length, pla_vec3_dot(u, w)) : 1.0;
  for (int d = 0; d < 3 && length > 0.0; d++)
    n[d] += weight * c[d] / length;
}

double
pla_features_distance(const PlaFeatureMesh *self, const PlaTriTree *tree, const double *pos,
                      const double x[3], double reach, PlaFeature *nearest)
{
  int t;
  double n[3] = { 0.0, 0.0, 0.0 };
  if (pla_tri_tree_nearest(tree, x, reach, &t, NULL) == INFINITY)
    return INFINITY;
  *nearest = nearest_of_tri(self, pos, x, t);
  nearest->count = 1;
  if (nearest->n_verts == 3) {
    add_normal(self, pos, t, -1, n);
  } else {
    /* every triangle that has all vertices of the feature */
    const int v = nearest->vert[0], other = nearest->n_verts == 2 ? nearest->vert[1] : v;
    double most = -INFINITY;
    for (int k = self->vert_start[v]; k < self->vert_start[v + 1]; k++) {
      const int *w = self->tri + 3 * (size_t)self->vert_tri[k];
      double own[3] = { 0.0, 0.0, 0.0 };
      if (w[0] != other && w[1] != other && w[2] != other)
        continue;
      add_normal(self, pos, self->vert_tri[k], nearest->n_verts == 1 ? v : -1, n);
      add_normal(self, pos, self->vert_tri[k], -1, own);
      double facing = fabs(pla_vec3_dot(own, nearest->direction));
      if (facing > most) {
        most = facing;
        nearest->tri = self->vert_tri[k];
      }
    }
  }
  bool outside = pla_vec3_dot(nearest->direction, n) >= 0.0;
  /* on the surface itself the direction is noise */
  if (nearest->distance <= 1e-12 * (1.0 + pla_vec3_norm(x))) {
    double length = pla_vec3_norm(n);
    for (int d = 0; d < 3 && length > 0.0; d++)
      nearest->direction[d] = n[d] / length;
    return outside ? nearest->distance : -nearest->distance;
  }
  for (int d = 0; d < 3 && !outside; d++)
    nearest->direction[d] = -nearest->direction[d];
  return outside ? nearest->distance : -nearest->distance;
}

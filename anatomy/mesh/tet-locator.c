/* Point location: a grid of buckets inside, a tree over the boundary triangles outside. */
#include "anatomy/mesh/tet-locator.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the faces opposite to vertices 0..3, counter-clockwise seen from outside of a positive tet */
static const int face_verts[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };

typedef struct {
  int mid, max; /* the other two vertices of the face, ascending */
  int face;     /* 4 tet + k */
} Face;

static int
compare_faces(const void *a, const void *b)
{
  const Face *f = a, *g = b;
  if (f->mid != g->mid)
    return f->mid < g->mid ? -1 : 1;
  if (f->max != g->max)
    return f->max < g->max ? -1 : 1;
  return (f->face > g->face) - (f->face < g->face);
}

static void
sorted_face(const PlaTetMesh *mesh, size_t face, int v[3])
{
  const int *tet = mesh->tet + 4 * (face / 4);
  for (int c = 0; c < 3; c++)
    v[c] = tet[face_verts[face % 4][c]];
  for (int pass = 0; pass < 2; pass++)
    for (int c = 0; c < 2; c++)
      if (v[c] > v[c + 1]) {
        const int swap = v[c];
        v[c] = v[c + 1];
        v[c + 1] = swap;
      }
}

PlaStatus
pla_tet_neighbours(const PlaTetMesh *mesh, int **across, PlaError *err)
{
  const size_t n_faces = 4 * (size_t)mesh->n_tets;
  int *out = pla_array_new(n_faces, sizeof *out);
  size_t *start = pla_array_new0((size_t)mesh->n_verts + 1, sizeof *start);
  Face *face = pla_array_new(n_faces, sizeof *face);
  PlaStatus st = out && start && face ? PLA_OK : pla_fail_memory(err, "the neighbours of elements");
  /* faces gathered by their smallest vertex, then sorted by the other two */
  for (size_t f = 0; f < n_faces && st == PLA_OK; f++) {
    int v[3];
    sorted_face(mesh, f, v);
    start[v[0] + 1]++;
    out[f] = -1;
  }
  for (int v = 0; v < mesh->n_verts && st == PLA_OK; v++)
    start[v + 1] += start[v];
  for (size_t f = 0; f < n_faces && st == PLA_OK; f++) {
    int v[3];
    sorted_face(mesh, f, v);
    face[start[v[0]]++] = (Face){ v[1], v[2], (int)f };
  }
  size_t from = 0;
  for (int v = 0; v < mesh->n_verts && st == PLA_OK; v++) {
    const size_t to = start[v];
    qsort(face + from, to - from, sizeof *face, compare_faces);
    for (size_t i = from; i + 1 < to && st == PLA_OK; i++) {
      if (face[i].mid != face[i + 1].mid || face[i].max != face[i + 1].max)
        continue;
      if (out[face[i].face] >= 0) {
        st = pla_fail(err, PLA_ERR_GEOMETRY,
                      "Three tetrahedra of the mesh share one face (tetrahedra %d, %d and one "
                      "more); repair the mesh first.",
                      face[i].face / 4, face[i + 1].face / 4);
        break;
      }
      out[face[i].face] = face[i + 1].face / 4;
      out[face[i + 1].face] = face[i].face / 4;
    }
    from = to;
  }
  free(start);
  free(face);
  if (st == PLA_OK)
    *across = out;
  else
    free(out);
  return st;
}

bool
pla_tet_weights(const PlaTetMesh *mesh, int tet, const double pos[3], double weight[4])
{
  const int *v = mesh->tet + 4 * (size_t)tet;
  const double *x0 = mesh->rest + 3 * (size_t)v[0];
  double m[9], inv[9], d[3];
  for (int c = 0; c < 3; c++) {
    const double *x = mesh->rest + 3 * (size_t)v[c + 1];
    for (int r = 0; r < 3; r++)
      m[3 * r + c] = x[r] - x0[r];
  }
  if (pla_mat3_invert(m, inv) == 0.0)
    return false;
  pla_vec3_sub(pos, x0, d);
  pla_mat3_apply(inv, d, weight + 1);
  weight[0] = 1.0 - weight[1] - weight[2] - weight[3];
  return true;
}

struct PlaTetLocator {
  PlaTetMesh mesh;
  int *across;
  double lo[3], step; /* m: corner and cell size of the grid of buckets */
  int dims[3];
  size_t *start; /* per bucket, +1 */
  int *tet;
  /* the boundary */
  int *tri, *tri_tet;
  PlaTriMesh boundary;
  PlaTriTree *tree;
};

void
pla_tet_locator_free(PlaTetLocator *self)
{
  if (!self)
    return;
  pla_tri_tree_free(self->tree);
  free(self->across);
  free(self->start);
  free(self->tet);
  free(self->tri);
  free(self->tri_tet);
  free(self);
}

const int *
pla_tet_locator_neighbours(const PlaTetLocator *self)
{
  return self->across;
}

static int
bucket_of(const PlaTetLocator *s, double x, int d)
{
  const double at = floor((x - s->lo[d]) / s->step);
  return at < 0.0 ? 0 : at >= s->dims[d] ? s->dims[d] - 1 : (int)at;
}

static void
tet_buckets(const PlaTetLocator *s, int t, int from[3], int to[3])
{
  const int *v = s->mesh.tet + 4 * (size_t)t;
  for (int d = 0; d < 3; d++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int c = 0; c < 4; c++) {
      const double x = s->mesh.rest[3 * (size_t)v[c] + d];
      lo = fmin(lo, x);
      hi = fmax(hi, x);
    }
    from[d] = bucket_of(s, lo, d);
    to[d] = bucket_of(s, hi, d);
  }
}

/* counts (@fill false) or lists the tets of every bucket, in ascending order */
static void
sweep(PlaTetLocator *s, bool fill)
{
  for (int t = 0; t < s->mesh.n_tets; t++) {
    int from[3], to[3];
    tet_buckets(s, t, from, to);
    for (int k = from[2]; k <= to[2]; k++)
      for (int j = from[1]; j <= to[1]; j++)
        for (int i = from[0]; i <= to[0]; i++) {
          const size_t b =
              (size_t)i + (size_t)s->dims[0] * ((size_t)j + (size_t)s->dims[1] * (size_t)k);
          if (fill)
            s->tet[s->start[b]++] = t;
          else
            s->start[b + 1]++;
        }
  }
}

static PlaStatus
build_buckets(PlaTetLocator *s, PlaError *err)
{
  double hi[3] = { -INFINITY, -INFINITY, -INFINITY }, volume = 0.0;
  for (int d = 0; d < 3; d++)
    s->lo[d] = INFINITY;
  for (int v = 0; v < s->mesh.n_verts; v++)
    for (int d = 0; d < 3; d++) {
      s->lo[d] = fmin(s->lo[d], s->mesh.rest[3 * (size_t)v + d]);
      hi[d] = fmax(hi[d], s->mesh.rest[3 * (size_t)v + d]);
    }
  for (int t = 0; t < s->mesh.n_tets; t++) {
    const int *v = s->mesh.tet + 4 * (size_t)t;
    double e[3][3], n[3];
    for (int c = 0; c < 3; c++)
      pla_vec3_sub(s->mesh.rest + 3 * (size_t)v[c + 1], s->mesh.rest + 3 * (size_t)v[0], e[c]);
    pla_vec3_cross(e[0], e[1], n);
    volume += fabs(pla_vec3_dot(n, e[2])) / 6.0;
  }
  /* buckets about as large as the mean tet's box, and not many more of them than tets */
  s->step = fmax(cbrt(6.0 * volume / s->mesh.n_tets), 1e-9);
  for (;;) {
    double n = 1.0;
    for (int d = 0; d < 3; d++) {
      const double cells = fmax(ceil((hi[d] - s->lo[d]) / s->step), 1.0);
      s->dims[d] = (int)fmin(cells, 1e6);
      n *= cells;
    }
    if (n <= 8.0 * s->mesh.n_tets + 64.0)
      break;
    s->step *= 1.3;
  }
  const size_t n = (size_t)s->dims[0] * (size_t)s->dims[1] * (size_t)s->dims[2];
  s->start = pla_array_new0(n + 1, sizeof *s->start);
  if (!s->start)
    return pla_fail_memory(err, "a search grid");
  sweep(s, false);
  for (size_t b = 0; b < n; b++)
    s->start[b + 1] += s->start[b];
  s->tet = pla_array_new(s->start[n], sizeof *s->tet);
  if (!s->tet)
    return pla_fail_memory(err, "a search grid");
  sweep(s, true);
  memmove(s->start + 1, s->start, n * sizeof *s->start);
  s->start[0] = 0;
  return PLA_OK;
}

static PlaStatus
build_boundary(PlaTetLocator *s, PlaError *err)
{
  int n = 0;
  for (size_t f = 0; f < 4 * (size_t)s->mesh.n_tets; f++)
    n += s->across[f] < 0;
  s->tri = pla_array_new(3 * (size_t)n, sizeof *s->tri);
  s->tri_tet = pla_array_new((size_t)n, sizeof *s->tri_tet);
  if (!s->tri || !s->tri_tet)
    return pla_fail_memory(err, "the boundary of a mesh");
  n = 0;
  for (int t = 0; t < s->mesh.n_tets; t++)
    for (int k = 0; k < 4; k++)
      if (s->across[4 * (size_t)t + k] < 0) {
        for (int c = 0; c < 3; c++)
          s->tri[3 * (size_t)n + c] = s->mesh.tet[4 * (size_t)t + face_verts[k][c]];
        s->tri_tet[n++] = t;
      }
  s->boundary =
      (PlaTriMesh){ .n_verts = s->mesh.n_verts, .n_tris = n, .pos = s->mesh.rest, .tri = s->tri };
  return pla_tri_tree_new(&s->boundary, &s->tree, err);
}

PlaStatus
pla_tet_locator_new(const PlaTetMesh *mesh, PlaTetLocator **out, PlaError *err)
{
  if (mesh->n_tets < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "The mesh has no tetrahedra to look for points in.");
  PlaTetLocator *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "a search grid");
  self->mesh = *mesh;
  PlaStatus st = pla_tet_neighbours(mesh, &self->across, err);
  if (st == PLA_OK)
    st = build_buckets(self, err);
  if (st == PLA_OK)
    st = build_boundary(self, err);
  if (st == PLA_OK)
    *out = self;
  else
    pla_tet_locator_free(self);
  return st;
}

int
pla_tet_locator_find(const PlaTetLocator *self, const double pos[3], double max_m, double weight[4],
                     double *distance_m)
{
  bool inside = true;
  for (int d = 0; d < 3; d++)
    inside = inside && pos[d] >= self->lo[d] - 1e-9 &&
             pos[d] <= self->lo[d] + self->dims[d] * self->step + 1e-9;
  int best = -1;
  double best_least = -1e-9, w[4];
  if (inside) {
    size_t b = 0;
    for (int d = 2; d >= 0; d--)
      b = b * (size_t)self->dims[d] + (size_t)bucket_of(self, pos[d], d);
    for (size_t i = self->start[b]; i < self->start[b + 1]; i++) {
      if (!pla_tet_weights(&self->mesh, self->tet[i], pos, w))
        continue;
      const double least = fmin(fmin(w[0], w[1]), fmin(w[2], w[3]));
      if (least > best_least) {
        best_least = least;
        best = self->tet[i];
        if (weight)
          memcpy(weight, w, sizeof w);
        if (least >= 0.0)
          break;
      }
    }
  }
  if (distance_m)
    *distance_m = 0.0;
  if (best >= 0)
    return best;
  int tri = -1;
  const double far = pla_tri_tree_nearest(self->tree, pos, max_m, &tri, NULL);
  if (distance_m)
    *distance_m = far;
  if (!(far <= max_m) || tri < 0)
    return -1;
  if (weight && !pla_tet_weights(&self->mesh, self->tri_tet[tri], pos, weight))
    return -1;
  return self->tri_tet[tri];
}

/* Winding numbers by a tree of multipoles (Barill, Dickson, Schmidt, Levin and Jacobson, "Fast
 * winding numbers for soups and clouds", 2018).
 *
 * Triangle t contributes the integral of n . g(x - q), g(r) = r / (4 pi |r|^3).  For a cluster with
 * centre p and r = p - q, g is expanded around r to second order in y = x - p:
 *
 *   4 pi w = N.r / r^3  +  tr M / r^3 - 3 r.M r / r^5  -  3/2 v.r / r^5  +  15/2 Q(r,r,r) / r^7
 *
 * with N = int n, M = int n y^T, Q_ijk = int n_i y_j y_k and v_k = 2 Q_iik + Q_kii, all exact
 * integrals over the triangles. */
#include "anatomy/mesh/winding.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree-private.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  double centre[3], far2; /* squared distance from which the expansion serves */
  double n[3];
  double trace, m[6]; /* symmetric part of M: xx, yy, zz, xy, yz, zx */
  double v[3];
  double q[10]; /* xxx, yyy, zzz, xxy, xxz, yyx, yyz, zzx, zzy, xyz, each with all that
                   r_i r_j r_k has of it */
} Multipole;

struct PlaWinding {
  PlaTriTree *tree;
  Multipole *pole; /* per node of the tree */
};

/* Radii of its cluster from which an expansion serves; with it errors of 3e-3 were measured at
 * most, with 5 of 3e-4. */
static const double far_radii = 2.5;

static void
add_triangle(const PlaTriMesh *mesh, int t, Multipole *p)
{
  double y[3][3], mean[3], a[3], b[3], n[3];
  for (int c = 0; c < 3; c++)
    pla_vec3_sub(mesh->pos + 3 * (size_t)mesh->tri[3 * (size_t)t + c], p->centre, y[c]);
  pla_vec3_sub(y[1], y[0], a);
  pla_vec3_sub(y[2], y[0], b);
  pla_vec3_cross(a, b, n);
  for (int d = 0; d < 3; d++) {
    n[d] *= 0.5;
    p->n[d] += n[d];
    mean[d] = (y[0][d] + y[1][d] + y[2][d]) / 3.0;
  }
  p->trace += pla_vec3_dot(n, mean);
  for (int d = 0; d < 3; d++) {
    const int e = (d + 1) % 3;
    p->m[d] += n[d] * mean[d];
    p->m[3 + d] += 0.5 * (n[d] * mean[e] + n[e] * mean[d]);
  }
  /* second moments of a triangle of unit area */
  double s[3][3];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      s[i][j] =
          (y[0][i] * y[0][j] + y[1][i] * y[1][j] + y[2][i] * y[2][j] + 9.0 * mean[i] * mean[j]) /
          12.0;
  for (int k = 0; k < 3; k++)
    p->v[k] += 2.0 * (n[0] * s[0][k] + n[1] * s[1][k] + n[2] * s[2][k]) +
               n[k] * (s[0][0] + s[1][1] + s[2][2]);
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    /* r_i^2 r_j and r_i^2 r_k stand in the order x: y, z; y: x, z; z: x, y */
    const int lower = j < k ? j : k, upper = j < k ? k : j;
    p->q[i] += n[i] * s[i][i];
    p->q[3 + 2 * i] += n[lower] * s[i][i] + 2.0 * n[i] * s[i][lower];
    p->q[4 + 2 * i] += n[upper] * s[i][i] + 2.0 * n[i] * s[i][upper];
  }
  p->q[9] += 2.0 * (n[0] * s[1][2] + n[1] * s[2][0] + n[2] * s[0][1]);
}

static void
build_pole(const PlaTriTree *tree, int id, Multipole *p)
{
  const PlaTriNode *node = &tree->node[id];
  double radius2 = 0.0;
  *p = (Multipole){ 0 };
  for (int d = 0; d < 3; d++)
    p->centre[d] = 0.5 * (node->lo[d] + node->hi[d]);
  for (int i = node->first; i < node->first + node->n; i++) {
    add_triangle(&tree->mesh, tree->order[i], p);
    for (int c = 0; c < 3; c++) {
      double y[3];
      pla_vec3_sub(tree->mesh.pos + 3 * (size_t)tree->mesh.tri[3 * (size_t)tree->order[i] + c],
                   p->centre, y);
      radius2 = fmax(radius2, pla_vec3_dot(y, y));
    }
  }
  p->far2 = far_radii * far_radii * radius2;
}

PlaStatus
pla_winding_new(const PlaTriMesh *mesh, PlaWinding **out, PlaError *err)
{
  PlaWinding *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "winding numbers");
  PlaStatus st = pla_tri_tree_new(mesh, &self->tree, err);
  if (st == PLA_OK) {
    self->pole = pla_array_new((size_t)self->tree->n_nodes, sizeof *self->pole);
    if (!self->pole)
      st = pla_fail_memory(err, "winding numbers");
  }
  if (st != PLA_OK) {
    pla_winding_free(self);
    return st;
  }
#pragma omp parallel for schedule(dynamic, 64)
  for (int id = 0; id < self->tree->n_nodes; id++)
    build_pole(self->tree, id, &self->pole[id]);
  *out = self;
  return PLA_OK;
}

void
pla_winding_free(PlaWinding *self)
{
  if (!self)
    return;
  pla_tri_tree_free(self->tree);
  free(self->pole);
  free(self);
}

/* 4 pi times the winding number, from @r = centre - point of squared length r2 */
static double
evaluate(const Multipole *p, const double r[3], double r2)
{
  const double inv = 1.0 / sqrt(r2), inv2 = inv * inv, inv3 = inv * inv2;
  const double x = r[0], y = r[1], z = r[2], *q = p->q, *m = p->m;
  const double second = m[0] * x * x + m[1] * y * y + m[2] * z * z +
                        2.0 * (m[3] * x * y + m[4] * y * z + m[5] * z * x);
  const double third = x * x * (q[0] * x + q[3] * y + q[4] * z) +
                       y * y * (q[1] * y + q[5] * x + q[6] * z) +
                       z * z * (q[2] * z + q[7] * x + q[8] * y) + q[9] * x * y * z;
  return inv3 * (pla_vec3_dot(p->n, r) + p->trace -
                 inv2 * (3.0 * second + 1.5 * pla_vec3_dot(p->v, r) - 7.5 * inv2 * third));
}

/* half the solid angle of a triangle (Van Oosterom and Strackee 1983) */
static double
half_angle(const PlaTriMesh *mesh, int t, const double pos[3])
{
  double r[3][3], len[3], n[3];
  for (int c = 0; c < 3; c++) {
    pla_vec3_sub(mesh->pos + 3 * (size_t)mesh->tri[3 * (size_t)t + c], pos, r[c]);
    len[c] = pla_vec3_norm(r[c]);
  }
  pla_vec3_cross(r[1], r[2], n);
  double det = pla_vec3_dot(r[0], n);
  double below = len[0] * len[1] * len[2] + pla_vec3_dot(r[0], r[1]) * len[2] +
                 pla_vec3_dot(r[1], r[2]) * len[0] + pla_vec3_dot(r[2], r[0]) * len[1];
  return atan2(det, below);
}

double
pla_winding_exact(const PlaTriMesh *mesh, const double pos[3])
{
  double sum = 0.0;
  for (int t = 0; t < mesh->n_tris; t++)
    sum += half_angle(mesh, t, pos);
  return sum / (2.0 * M_PI);
}

double
pla_winding_at(const PlaWinding *self, const double pos[3])
{
  const PlaTriTree *tree = self->tree;
  int stack[64], depth = 0;
  double far = 0.0, near = 0.0;
  if (tree->n_nodes > 0)
    stack[depth++] = 0;
  while (depth > 0) {
    const int id = stack[--depth];
    const Multipole *p = &self->pole[id];
    double r[3];
    pla_vec3_sub(p->centre, pos, r);
    const double r2 = pla_vec3_dot(r, r);
    if (r2 > p->far2) {
      far += evaluate(p, r, r2);
    } else if (tree->node[id].right >= 0) {
      stack[depth++] = tree->node[id].right;
      stack[depth++] = id + 1;
    } else {
      for (int i = tree->node[id].first; i < tree->node[id].first + tree->node[id].n; i++)
        near += half_angle(&tree->mesh, tree->order[i], pos);
    }
  }
  return far / (4.0 * M_PI) + near / (2.0 * M_PI);
}

PlaStatus
pla_winding_batch(const PlaWinding *self, size_t n, const double *pos, PlaProgress *progress,
                  double *out, PlaError *err)
{
  /* in pieces, so that the caller's thread can tell how far it is */
  const size_t piece = 65536;
  for (size_t from = 0; from < n; from += piece) {
    const size_t to = n - from < piece ? n : from + piece;
#pragma omp parallel for schedule(dynamic, 256)
    for (size_t i = from; i < to; i++)
      out[i] = pla_winding_at(self, pos + 3 * i);
    if (!pla_progress_step(progress, (double)to / (double)n))
      return pla_fail_cancelled(err);
  }
  return PLA_OK;
}

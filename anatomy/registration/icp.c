/* Rigid registration of surfaces: nearest points and planes, again and again.
 *
 * One step minimises sum w_i (n_i . (x_i + turn x (x_i - c) + shift - y_i))^2 over small turns and
 * shifts; y_i is the nearest point of the fixed surface and n_i its normal.  Lengths of turns are
 * measured at the radius of the points, so that the six unknowns have one unit and the smallest
 * eigenvalue of their matrix tells whether a motion is free. */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/registration/registration.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the weakest motion must be held this well, relative to the strongest; a ball of triangles of a
 * tenth of its radius comes out at half of this, for its facets */
#define LEAST_STIFFNESS 3e-3
enum { SAMPLES = 4000, SEARCH_SAMPLES = 400, SEARCH_ITERATIONS = 12 };

PlaIcpOptions
pla_icp_options_default(void)
{
  return (PlaIcpOptions){ .max_iterations = 60, .trim = 0.1, .reach_mm = INFINITY };
}

/* points spread over a surface by area, evenly along the order of its triangles (m) */
static double *
spread_points(const PlaTriMesh *mesh, int n)
{
  double *pos = pla_array_new(3 * (size_t)n, sizeof *pos);
  double *sum = pla_array_new((size_t)mesh->n_tris + 1, sizeof *sum);
  if (!pos || !sum) {
    free(pos);
    free(sum);
    return NULL;
  }
  sum[0] = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = mesh->tri + 3 * (size_t)t;
    double a[3], b[3], c[3];
    pla_vec3_sub(mesh->pos + 3 * (size_t)v[1], mesh->pos + 3 * (size_t)v[0], a);
    pla_vec3_sub(mesh->pos + 3 * (size_t)v[2], mesh->pos + 3 * (size_t)v[0], b);
    pla_vec3_cross(a, b, c);
    sum[t + 1] = sum[t] + 0.5 * pla_vec3_norm(c);
  }
  for (int i = 0, t = 0; i < n; i++) {
    const double want = (i + 0.5) / n * sum[mesh->n_tris];
    while (t + 1 < mesh->n_tris && sum[t + 1] < want)
      t++;
    /* a place in the triangle that varies with i (the golden sequence in two dimensions) */
    double u = fmod(0.5 + i * 0.7548776662466927, 1.0), w = fmod(0.5 + i * 0.5698402909980532, 1.0);
    if (u + w > 1.0) {
      u = 1.0 - u;
      w = 1.0 - w;
    }
    const int *v = mesh->tri + 3 * (size_t)t;
    for (int d = 0; d < 3; d++)
      pos[3 * i + d] = (1.0 - u - w) * mesh->pos[3 * (size_t)v[0] + d] +
                       u * mesh->pos[3 * (size_t)v[1] + d] + w * mesh->pos[3 * (size_t)v[2] + d];
  }
  free(sum);
  return pos;
}

typedef struct {
  int n;
  const double *pos; /* samples of the moving surface, m */
  const PlaTriMesh *fixed;
  const PlaTriTree *tree;
  const PlaIcpOptions *opts;
  /* scratch per sample, mm */
  double *x, *y, *normal, *distance, *sorted;
} Icp;

static int
compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* partners of all samples under @t; the median distance */
static double
find_partners(Icp *s, const PlaRigid *t)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (int i = 0; i < s->n; i++) {
    double p[3], x[3], y[3], a[3], b[3], n[3] = { 0 };
    int tri = -1;
    for (int d = 0; d < 3; d++)
      p[d] = 1000.0 * s->pos[3 * i + d];
    pla_rigid_apply(t, p, s->x + 3 * i);
    for (int d = 0; d < 3; d++)
      x[d] = 1e-3 * s->x[3 * i + d];
    const double far = pla_tri_tree_nearest(s->tree, x, INFINITY, &tri, y);
    s->distance[i] = 1000.0 * far;
    if (tri >= 0) {
      const int *v = s->fixed->tri + 3 * (size_t)tri;
      pla_vec3_sub(s->fixed->pos + 3 * (size_t)v[1], s->fixed->pos + 3 * (size_t)v[0], a);
      pla_vec3_sub(s->fixed->pos + 3 * (size_t)v[2], s->fixed->pos + 3 * (size_t)v[0], b);
      pla_vec3_cross(a, b, n);
    }
    const double l = pla_vec3_norm(n);
    for (int d = 0; d < 3; d++) {
      s->y[3 * i + d] = 1000.0 * y[d];
      s->normal[3 * i + d] = l > 0.0 ? n[d] / l : 0.0;
    }
  }
  memcpy(s->sorted, s->distance, (size_t)s->n * sizeof *s->sorted);
  qsort(s->sorted, (size_t)s->n, sizeof *s->sorted, compare_doubles);
  return s->sorted[s->n / 2];
}

/* One step from the partners found: improves *t, tells how far it moved (mm).  false when nothing
 * counts. */
static bool
step(Icp *s, double median, PlaRigid *t, double *moved, PlaIcpReport *r)
{
  const double limit =
      fmin(s->sorted[(int)((1.0 - s->opts->trim) * (s->n - 1))], s->opts->reach_mm);
  const double scale = fmax(4.685 * 1.4826 * median, 1e-6);
  double centre[3] = { 0 }, radius = 0.0;
  int n_used = 0;
  for (int i = 0; i < s->n; i++)
    if (s->distance[i] <= limit) {
      for (int d = 0; d < 3; d++)
        centre[d] += s->x[3 * i + d];
      n_used++;
    }
  if (n_used < 12)
    return false;
  for (int d = 0; d < 3; d++)
    centre[d] /= n_used;
  for (int i = 0; i < s->n; i++)
    if (s->distance[i] <= limit) {
      double e[3];
      pla_vec3_sub(s->x + 3 * i, centre, e);
      radius += pla_vec3_dot(e, e) / n_used;
    }
  radius = sqrt(radius);

  double a[36] = { 0 }, b[6] = { 0 }, sum = 0.0, weights = 0.0;
  for (int i = 0; i < s->n; i++) {
    if (s->distance[i] > limit)
      continue;
    double e[3], turn[3], miss[3];
    pla_vec3_sub(s->x + 3 * i, centre, e);
    pla_vec3_cross(e, s->normal + 3 * i, turn);
    pla_vec3_sub(s->y + 3 * i, s->x + 3 * i, miss);
    const double off = pla_vec3_dot(miss, s->normal + 3 * i);
    /* Tukey's biweight of the distance to the plane */
    const double u = off / scale, w = fabs(u) < 1.0 ? (1.0 - u * u) * (1.0 - u * u) : 0.0;
    double row[6];
    for (int d = 0; d < 3; d++) {
      row[d] = turn[d] / radius;
      row[3 + d] = s->normal[3 * i + d];
    }
    for (int p = 0; p < 6; p++) {
      b[p] += w * row[p] * off;
      for (int q = 0; q < 6; q++)
        a[6 * p + q] += w * row[p] * row[q];
    }
    sum += s->distance[i] * s->distance[i];
    weights += w;
  }
  int n = 6, info = 0, room = 64;
  char vectors = 'V', upper = 'U';
  double value[6], work[64], z[6] = { 0 };
  pla_blas_single_thread();
  LAPACK_dsyev(&vectors, &upper, &n, a, &n, value, work, &room, &info);
  if (info != 0 || !(value[5] > 0.0) || !(weights > 0.0))
    return false;
  r->stiffness = fmax(value[0], 0.0) / value[5];
  r->n_used = n_used;
  r->rms_mm = sqrt(sum / n_used);
  r->median_mm = median;
  /* motions that are hardly held stay as they are */
  for (int k = 0; k < 6; k++) {
    double dot = 0.0;
    for (int p = 0; p < 6; p++)
      dot += a[6 * k + p] * b[p];
    if (value[k] > 1e-6 * value[5])
      for (int p = 0; p < 6; p++)
        z[p] += a[6 * k + p] * dot / value[k];
  }
  const double turn[3] = { z[0] / radius, z[1] / radius, z[2] / radius };
  const PlaRigid small = pla_rigid_about(centre, turn, z + 3);
  *t = pla_rigid_then(t, &small);
  *moved =
      sqrt(z[0] * z[0] + z[1] * z[1] + z[2] * z[2]) + sqrt(z[3] * z[3] + z[4] * z[4] + z[5] * z[5]);
  return true;
}

static PlaStatus
iterate(Icp *s, int most, PlaProgress *progress, PlaRigid *t, PlaIcpReport *r, PlaError *err)
{
  for (r->iterations = 0; r->iterations < most && !r->converged; r->iterations++) {
    double moved = 0.0;
    if (!pla_progress_step(progress, (double)r->iterations / most))
      return pla_fail_cancelled(err);
    const double median = find_partners(s, t);
    if (!step(s, median, t, &moved, r))
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "The surfaces have too little in common to be aligned; bring them closer or "
                      "allow a longer reach.");
    r->converged = moved < 1e-5;
  }
  /* what is reported belongs to where it ended */
  double unused;
  PlaRigid stay = *t;
  const double median = find_partners(s, t);
  step(s, median, &stay, &unused, r);
  return PLA_OK;
}

/* the 24 turns of a cube about the middle of the moving surface, brought to the fixed one's */
static PlaRigid
start_of(int k, const double from[3], const double to[3])
{
  static const double axes[6][3] = { { 0, 0, 0 },         { 0, M_PI / 2, 0 }, { 0, M_PI, 0 },
                                     { 0, -M_PI / 2, 0 }, { M_PI / 2, 0, 0 }, { -M_PI / 2, 0, 0 } };
  const double spin[3] = { 0, 0, (k % 4) * M_PI / 2 }, none[3] = { 0 };
  double shift[3];
  pla_vec3_sub(to, from, shift);
  const PlaRigid first = pla_rigid_about(from, spin, none);
  const PlaRigid second = pla_rigid_about(from, axes[k / 4], shift);
  return pla_rigid_then(&first, &second);
}

static void
middle_of(const double *pos, int n, double mean_mm[3])
{
  memset(mean_mm, 0, 3 * sizeof *mean_mm);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++)
      mean_mm[d] += 1000.0 * pos[3 * i + d] / n;
}

static PlaStatus
search(Icp *s, const PlaTriMesh *fixed, PlaProgress *progress, PlaRigid *t, PlaError *err)
{
  double from[3], to[3], best = INFINITY;
  double *other = spread_points(fixed, SEARCH_SAMPLES);
  if (!other)
    return pla_fail_memory(err, "points of a surface");
  middle_of(s->pos, s->n, from);
  middle_of(other, SEARCH_SAMPLES, to);
  free(other);
  PlaStatus st = PLA_OK;
  /* every so-many-th of the samples will do */
  Icp few = *s;
  double *pos = pla_array_new(3 * SEARCH_SAMPLES, sizeof *pos);
  if (!pos)
    return pla_fail_memory(err, "points of a surface");
  few.n = s->n < SEARCH_SAMPLES ? s->n : SEARCH_SAMPLES;
  few.pos = pos;
  for (int i = 0; i < few.n; i++)
    memcpy(pos + 3 * i, s->pos + 3 * (size_t)((long)i * s->n / few.n), 3 * sizeof *pos);
  for (int k = 0; k < 24 && st == PLA_OK; k++) {
    PlaRigid trial = start_of(k, from, to);
    PlaIcpReport r = { 0 };
    if (!pla_progress_step(progress, k / 24.0))
      st = pla_fail_cancelled(err);
    if (st == PLA_OK && iterate(&few, SEARCH_ITERATIONS, NULL, &trial, &r, NULL) == PLA_OK &&
        r.rms_mm < best) {
      best = r.rms_mm;
      *t = trial;
    }
  }
  free(pos);
  return st;
}

PlaStatus
pla_register_surfaces(const PlaTriMesh *moving, const PlaTriMesh *fixed, const PlaRigid *start,
                      const PlaIcpOptions *opts, PlaProgress *progress, PlaRigid *out,
                      PlaIcpReport *report, PlaError *err)
{
  if (moving->n_tris < 1 || fixed->n_tris < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "One of the surfaces has no triangles.");
  PlaIcpReport r = { 0 };
  PlaTriTree *tree = NULL;
  const int n = opts->n_samples > 0 ? opts->n_samples : SAMPLES;
  double *pos = spread_points(moving, n);
  double *scratch = pla_array_new(11 * (size_t)n, sizeof *scratch);
  PlaStatus st = pos && scratch ? PLA_OK : pla_fail_memory(err, "points of a surface");
  if (st == PLA_OK)
    st = pla_tri_tree_new(fixed, &tree, err);
  if (st == PLA_OK) {
    Icp s = { .n = n, .pos = pos, .fixed = fixed, .tree = tree, .opts = opts };
    s.x = scratch;
    s.y = scratch + 3 * (size_t)n;
    s.normal = scratch + 6 * (size_t)n;
    s.distance = scratch + 9 * (size_t)n;
    s.sorted = scratch + 10 * (size_t)n;
    *out = start ? *start : pla_rigid_identity();
    if (opts->search) {
      pla_progress_phase(progress, "Trying positions", 0.5);
      st = search(&s, fixed, progress, out, err);
    }
    pla_progress_phase(progress, "Aligning surfaces", 1.0);
    if (st == PLA_OK)
      st = iterate(&s, opts->max_iterations, progress, out, &r, err);
  }
  if (st == PLA_OK && r.stiffness < LEAST_STIFFNESS)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "The shape of the surface leaves a turn or a shift free, as a ball, a plane or a "
                  "cylinder does, so that the surfaces cannot be aligned by it; use landmarks.");
  if (report)
    *report = r;
  pla_tri_tree_free(tree);
  free(pos);
  free(scratch);
  return st;
}

/* Cubature: a few tets that give the reduced forces of many (An, Kim and James 2008; Luo
 * 2020, 3.8).
 *
 * Columns g_e hold the reduced force of one tet in all training poses, each pose divided by the
 * length of its whole force; the target is their sum over the segment.  Every segment is trained
 * apart, from a pool of its tets spread evenly by volume, in the space of normal equations. */
#include "sim/reduced/reduced-private.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/linear/dense.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_cubature_clear(PlaCubature *self)
{
  free(self->tet);
  free(self->weight);
  *self = (PlaCubature){ 0 };
}

PlaCubatureOptions
pla_cubature_options_default(void)
{
  return (PlaCubatureOptions){ .error = 0.05, .most = 80, .pool = 500 };
}

static int
segment_of(const PlaDomains *domains, int t)
{
  return domains ? domains->segment[t] : 0;
}

/* at most @n tets of segment @s, evenly by volume; returns their number and the segment's volume */
static int
spread(const PlaFemModel *fem, const PlaDomains *domains, int s, int n, int *tet, double *volume)
{
  double whole = 0.0, passed = 0.0;
  int count = 0;
  for (int t = 0; t < fem->n_tets; t++)
    if (segment_of(domains, t) == s)
      whole += fem->tet_volume[t];
  for (int t = 0; t < fem->n_tets && count < n; t++) {
    if (segment_of(domains, t) != s)
      continue;
    passed += fem->tet_volume[t];
    if (passed * n >= whole * (count + 0.5))
      tet[count++] = t;
  }
  *volume = whole;
  return count;
}

static bool
append(PlaCubature *out, int n, const int *tet, const double *weight)
{
  if (!pla_array_resize((void **)&out->tet, (size_t)(out->n + n), sizeof *out->tet) ||
      !pla_array_resize((void **)&out->weight, (size_t)(out->n + n), sizeof *out->weight))
    return false;
  for (int i = 0; i < n; i++) {
    out->tet[out->n] = tet[i];
    out->weight[out->n++] = weight[i];
  }
  return true;
}

PlaStatus
pla_cubature_sample(const PlaFemModel *fem, const PlaDomains *domains, int per_segment,
                    PlaCubature *out, PlaError *err)
{
  int *tet = pla_array_new((size_t)per_segment, sizeof *tet);
  double *weight = pla_array_new((size_t)per_segment, sizeof *weight);
  bool enough = tet && weight;
  *out = (PlaCubature){ 0 };
  for (int s = 0; enough && s < (domains ? domains->n : 1); s++) {
    double volume;
    const int n = spread(fem, domains, s, per_segment, tet, &volume);
    for (int i = 0; i < n; i++)
      weight[i] = volume / n;
    enough = append(out, n, tet, weight);
  }
  free(tet);
  free(weight);
  if (enough)
    return PLA_OK;
  pla_cubature_clear(out);
  return pla_fail_memory(err, "cubature");
}

/* P V of tet @t at a shape */
static void
tet_stress(const PlaFemModel *fem, int t, const double *pos, double p[9])
{
  const double *constants;
  const PlaMaterial *law = pla_fem_cell_law(fem, t, &constants);
  PlaPoint point = { 0 };
  pla_fem_tet_gradient(fem, t, pos, point.f);
  pla_fem_cell_point(fem, t, &point);
  pla_point_decompose(&point);
  pla_material_stress(law, constants, &point, p);
  for (int i = 0; i < 9; i++)
    p[i] *= fem->tet_volume[t];
}

/* reduced force of segment @s in one pose, through forces on the vertices (n_verts x 3 of scratch)
 */
static void
segment_force(const PlaFemModel *fem, const PlaReducedBasis *basis, const PlaDomains *domains,
              int s, const double *pos, double *nodal, double *reduced)
{
  memset(nodal, 0, 3 * (size_t)fem->n_verts * sizeof *nodal);
  for (int t = 0; t < fem->n_tets; t++) {
    double p[9], shape[4][3];
    if (segment_of(domains, t) != s)
      continue;
    tet_stress(fem, t, pos, p);
    pla_fem_tet_shape(fem, t, shape);
    for (int a = 0; a < 4; a++)
      for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++)
          nodal[3 * (size_t)fem->tet[4 * (size_t)t + a] + (size_t)i] += p[3 * i + d] * shape[a][d];
  }
  pla_reduced_basis_reduce(basis, nodal, reduced);
}

/* functions that are not zero everywhere in segment @s; their number */
static int
functions_of(const PlaFemModel *fem, const PlaReducedBasis *basis, const PlaDomains *domains, int s,
             int *func)
{
  int n = 0;
  for (int k = 0; k < basis->n_funcs; k++) {
    bool there = false;
    for (int t = 0; !there && t < fem->n_tets; t++)
      for (int a = 0; !there && segment_of(domains, t) == s && a < 4; a++)
        there =
            basis->phi[(size_t)fem->tet[4 * (size_t)t + a] * (size_t)basis->n_funcs + (size_t)k] !=
            0.0;
    if (there)
      func[n++] = k;
  }
  return n;
}

/* reduced force of one tet on @m functions: sum over corners of (P V grad N_a) phi(a) */
static void
tet_force(const PlaFemModel *fem, const PlaReducedBasis *basis, int m, const int *func, int t,
          const double *pos, double factor, double *reduced)
{
  double p[9], shape[4][3];
  tet_stress(fem, t, pos, p);
  pla_fem_tet_shape(fem, t, shape);
  memset(reduced, 0, 3 * (size_t)m * sizeof *reduced);
  for (int a = 0; a < 4; a++) {
    const double *phi = basis->phi + (size_t)fem->tet[4 * (size_t)t + a] * (size_t)basis->n_funcs;
    double f[3];
    for (int i = 0; i < 3; i++)
      f[i] = factor *
             (p[3 * i] * shape[a][0] + p[3 * i + 1] * shape[a][1] + p[3 * i + 2] * shape[a][2]);
    for (int k = 0; k < m; k++)
      for (int i = 0; i < 3; i++)
        reduced[3 * k + i] += phi[func[k]] * f[i];
  }
}

typedef struct {
  const PlaFemModel *fem;
  const PlaReducedBasis *basis;
  const PlaDomains *domains;
  int n_poses;
  const double *poses;
  double *target; /* of every segment (n_segments x n_poses x n) */
  double *scale;  /* 1 / length of the whole force in each pose */
} Training;

/* forces of all segments in all poses, and what each pose is divided by */
static bool
measure(Training *self)
{
  const size_t n = 3 * (size_t)self->basis->n_funcs, n_verts = 3 * (size_t)self->basis->n_verts;
  const int n_segments = self->domains ? self->domains->n : 1, n_poses = self->n_poses;
  bool enough = true;
#pragma omp parallel for schedule(dynamic)
  for (int k = 0; k < n_poses; k++) {
    double *nodal = pla_array_new(n_verts, sizeof *nodal),
           *whole = pla_array_new0(n, sizeof *whole);
    if (!nodal || !whole) {
#pragma omp atomic write
      enough = false;
    } else {
      /* reduced force of each segment, and of the whole body */
      for (int s = 0; s < n_segments; s++) {
        double *target = self->target + ((size_t)s * (size_t)n_poses + (size_t)k) * n;
        segment_force(self->fem, self->basis, self->domains, s, self->poses + (size_t)k * n_verts,
                      nodal, target);
        for (size_t i = 0; i < n; i++)
          whole[i] += target[i];
      }
      /* poses in equilibrium have no whole force to speak of: the parts then set the scale */
      double size = pla_norm2(whole, n);
      for (int s = 0; s < n_segments; s++)
        size =
            fmax(size, pla_norm2(self->target + ((size_t)s * (size_t)n_poses + (size_t)k) * n, n));
      self->scale[k] = size > 0.0 ? 1.0 / size : 0.0;
    }
    free(nodal);
    free(whole);
  }
  /* all poses count alike */
  for (int s = 0; s < n_segments; s++)
    for (int k = 0; k < n_poses; k++)
      cblas_dscal((int)n, self->scale[k],
                  self->target + ((size_t)s * (size_t)n_poses + (size_t)k) * n, 1);
  return enough;
}

/* tets and weights of one segment; the square of what is left of its target is added to *left2 */
static bool
train_segment(const Training *self, int s, const PlaCubatureOptions *options, PlaCubature *out,
              double *left2)
{
  const size_t all = 3 * (size_t)self->basis->n_funcs;
  int *tet = pla_array_new((size_t)options->pool, sizeof *tet);
  int *func = pla_array_new((size_t)self->basis->n_funcs, sizeof *func);
  double *target = pla_array_new(all, (size_t)self->n_poses * sizeof *target), volume;
  if (!tet || !func || !target) {
    free(tet);
    free(func);
    free(target);
    return false;
  }
  /* a segment sees few domains: what is zero for all of its tets is left out of the columns */
  const int m = functions_of(self->fem, self->basis, self->domains, s, func);
  const size_t n = 3 * (size_t)m, rows = n * (size_t)self->n_poses;
  for (size_t k = 0; k < (size_t)self->n_poses; k++)
    for (size_t i = 0; i < n; i++)
      target[k * n + i] = self->target[((size_t)s * (size_t)self->n_poses + k) * all +
                                       3 * (size_t)func[i / 3] + i % 3];
  /* candidates: tets spread over the segment */
  const int pool = spread(self->fem, self->domains, s, options->pool, tet, &volume);
  double *column = pla_array_new(rows, (size_t)(pool + 1) * sizeof *column);
  double *gram = pla_array_new((size_t)pool + 1, (size_t)(pool + 1) * sizeof *gram);
  double *rhs = pla_array_new((size_t)pool + 1, sizeof *rhs);
  double *x = pla_array_new((size_t)pool + 1, sizeof *x);
  bool enough = column && gram && rhs && x;
  if (enough && pool > 0) {
    /* column e: the reduced forces of tet e in all poses */
#pragma omp parallel for schedule(static)
    for (int e = 0; e < pool; e++)
      for (int k = 0; k < self->n_poses; k++)
        tet_force(self->fem, self->basis, m, func, tet[e],
                  self->poses + 3 * (size_t)k * (size_t)self->basis->n_verts, self->scale[k],
                  column + (size_t)e * rows + (size_t)k * n);
    enum { TILE = 64 }; /* fixed tiles: the same bits for any number of threads */
    const int tiles = (pool + TILE - 1) / TILE;
#pragma omp parallel for schedule(dynamic)
    for (int tile = 0; tile < tiles; tile++) {
      const int from = tile * TILE, count = pool - from < TILE ? pool - from : TILE;
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, pool, (int)rows, 1.0,
                  column + (size_t)from * rows, (int)rows, column, (int)rows, 0.0,
                  gram + (size_t)from * (size_t)pool, pool);
    }
    /* non-negative least squares on the normal equations */
    cblas_dgemv(CblasRowMajor, CblasNoTrans, pool, (int)rows, 1.0, column, (int)rows, target, 1,
                0.0, rhs, 1);
    const double size2 = pla_dot(target, target, rows);
    double reached = 0.0;
    int n_used = size2 > 0.0
                     ? pla_nnls(pool, gram, rhs, size2, options->error, options->most, x, &reached)
                     : 0;
    enough = n_used >= 0;
    *left2 += reached * reached * size2;
    /* weights are volumes: keep the positive ones */
    int kept = 0;
    for (int e = 0; enough && n_used > 0 && e < pool; e++)
      if (x[e] > 0.0) {
        tet[kept] = tet[e];
        x[kept++] = x[e] * self->fem->tet_volume[tet[e]];
      }
    enough = enough && append(out, kept, tet, x);
  }
  free(tet);
  free(func);
  free(target);
  free(column);
  free(gram);
  free(rhs);
  free(x);
  return enough;
}

PlaStatus
pla_cubature_train(const PlaFemModel *fem, const PlaReducedBasis *basis, const PlaDomains *domains,
                   int n_poses, const double *poses, const PlaCubatureOptions *options,
                   PlaProgress *progress, PlaCubature *out, double *reached, PlaError *err)
{
  const int n_segments = domains ? domains->n : 1;
  const size_t n = 3 * (size_t)basis->n_funcs, all = n * (size_t)n_poses * (size_t)n_segments;
  Training self = {
    .fem = fem, .basis = basis, .domains = domains, .n_poses = n_poses, .poses = poses
  };
  double left2 = 0.0;
  PlaStatus st = PLA_OK;
  *out = (PlaCubature){ 0 };
  pla_blas_single_thread();
  /* reduced forces that the cubature must reproduce */
  self.target = pla_array_new(all, sizeof *self.target);
  self.scale = pla_array_new((size_t)n_poses, sizeof *self.scale);
  if (!self.target || !self.scale || !measure(&self))
    st = pla_fail_memory(err, "cubature");
  /* each segment by itself */
  for (int s = 0; st == PLA_OK && s < n_segments; s++) {
    if (!pla_progress_step(progress, (s + 1.0) / (n_segments + 1.0)))
      st = pla_fail_cancelled(err);
    else if (!train_segment(&self, s, options, out, &left2))
      st = pla_fail_memory(err, "cubature");
  }
  if (st == PLA_OK && out->n == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "The training poses of the reduced model carry no forces");
  if (st == PLA_OK && reached)
    *reached = sqrt(left2 / pla_dot(self.target, self.target, all));
  free(self.target);
  free(self.scale);
  if (st != PLA_OK)
    pla_cubature_clear(out);
  return st;
}

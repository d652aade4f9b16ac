/* Elastic energy in few degrees of freedom, by cubature:
 *   E = sum_l w_l Psi(F_l),   dE/dq_k = sum_l w_l P_l h_lk,
 *   d2E/dq_k dq_m = sum_l w_l h_lk^T (dP/dF) h_lm,
 * the last as six products of tall matrices, one for each pair of components. */
#include "sim/reduced/reduced-private.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 6 };
static const int pair_row[PAIRS] = { 0, 1, 2, 1, 2, 2 }, pair_col[PAIRS] = { 0, 0, 0, 1, 1, 2 };

void
pla_reduced_model_free(PlaReducedModel *self)
{
  if (!self)
    return;
  pla_reduced_basis_clear(&self->basis);
  free(self->lift);
  free(self->tet);
  free(self->weight);
  free(self->grad);
  free(self->lift_grad);
  free(self->mass);
  free(self->nodal);
  free(self->pressure);
  free(self);
}

static void
fill_point(PlaReducedModel *self, int l)
{
  const int m = self->basis.n_funcs, n_verts = self->basis.n_verts;
  const int *vert = self->fem->tet + 4 * (size_t)self->tet[l];
  double shape[4][3], *grad = self->grad + 3 * (size_t)l * (size_t)m;
  pla_fem_tet_shape(self->fem, self->tet[l], shape);
  for (int a = 0; a < 4; a++) {
    const double *phi = self->basis.phi + (size_t)vert[a] * (size_t)m;
    for (int d = 0; d < 3; d++)
      for (int k = 0; k < m; k++)
        grad[d * m + k] += shape[a][d] * phi[k];
    for (int f = 0; f < self->n_lifts; f++) {
      const double *u = self->lift + 3 * ((size_t)f * (size_t)n_verts + (size_t)vert[a]);
      double *out = self->lift_grad + 9 * ((size_t)l * (size_t)self->n_lifts + (size_t)f);
      for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++)
          out[3 * i + d] += u[i] * shape[a][d];
    }
  }
}

/* phi^T M phi */
static void
fill_mass(PlaReducedModel *self, double *scaled)
{
  const int m = self->basis.n_funcs, n = self->basis.n_verts;
  for (int v = 0; v < n; v++)
    for (int k = 0; k < m; k++)
      scaled[(size_t)v * (size_t)m + (size_t)k] =
          self->fem->mass[v] * self->basis.phi[(size_t)v * (size_t)m + (size_t)k];
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, m, n, 1.0, self->basis.phi, m, scaled, m,
              0.0, self->mass, m);
}

PlaStatus
pla_reduced_model_new(const PlaFemModel *fem, const PlaReducedBasis *basis, int n_lifts,
                      const double *lift, const PlaCubature *cubature, PlaReducedModel **out,
                      PlaError *err)
{
  PlaReducedModel *self = pla_array_new0(1, sizeof *self);
  const size_t n_verts = (size_t)basis->n_verts, m = (size_t)basis->n_funcs;
  const size_t n_points = (size_t)cubature->n;
  double *scaled = pla_array_new(n_verts, m * sizeof *scaled);
  *out = NULL;
  pla_blas_single_thread();
  if (self) {
    self->fem = fem;
    self->n_lifts = n_lifts;
    self->n_points = cubature->n;
    self->basis = *basis;
    self->basis.phi = pla_array_dup(basis->phi, n_verts * m, sizeof *basis->phi);
    self->lift = n_lifts ? pla_array_dup(lift, 3 * n_verts * (size_t)n_lifts, sizeof *lift)
                         : pla_array_new0(1, sizeof *lift);
    self->tet = pla_array_dup(cubature->tet, n_points, sizeof *self->tet);
    self->weight = pla_array_dup(cubature->weight, n_points, sizeof *self->weight);
    self->grad = pla_array_new0(3 * n_points, m * sizeof *self->grad);
    self->lift_grad = pla_array_new0(9 * n_points, ((size_t)n_lifts + 1) * sizeof *self->lift_grad);
    self->mass = pla_array_new0(m, m * sizeof *self->mass);
  }
  if (!self || !self->basis.phi || !self->lift || !self->tet || !self->weight || !self->grad ||
      !self->lift_grad || !self->mass || !scaled) {
    free(scaled);
    pla_reduced_model_free(self);
    return pla_fail_memory(err, "a reduced model");
  }
  /* gradients at the cubature points, and the reduced mass */
  for (int l = 0; l < self->n_points; l++)
    fill_point(self, l);
  fill_mass(self, scaled);
  self->volume = pla_sum(fem->tet_volume, (size_t)fem->n_tets);
  free(scaled);
  *out = self;
  return PLA_OK;
}

int
pla_reduced_model_n_funcs(const PlaReducedModel *self)
{
  return self->basis.n_funcs;
}

int
pla_reduced_model_n_points(const PlaReducedModel *self)
{
  return self->n_points;
}

int
pla_reduced_model_n_pressures(const PlaReducedModel *self)
{
  return self->n_pressures;
}

/* volume-weighted product of two nodal fields; a vertex has a quarter of each tet around it */
static double
inner(const double *share, int n, const double *a, const double *b)
{
  double sum = 0.0;
  for (int v = 0; v < n; v++)
    sum += share[v] * a[v] * b[v];
  return sum;
}

PlaStatus
pla_reduced_model_set_pressures(PlaReducedModel *self, int n_modes, const double *pressure,
                                PlaError *err)
{
  const size_t n = (size_t)self->basis.n_verts;
  double *share = pla_array_new0(n, sizeof *share), *one = pla_array_new(n, sizeof *one);
  double *nodal = pla_array_new(n, ((size_t)n_modes + 1) * sizeof *nodal);
  double *point = pla_array_new0((size_t)self->n_points, ((size_t)n_modes + 1) * sizeof *point);
  int kept = 0;
  if (!share || !one || !nodal || !point) {
    free(share);
    free(one);
    free(nodal);
    free(point);
    return pla_fail_memory(err, "pressures");
  }
  /* volume share of each vertex: the inner product */
  for (int t = 0; t < self->fem->n_tets; t++)
    for (int a = 0; a < 4; a++)
      share[self->fem->tet[4 * (size_t)t + a]] += 0.25 * self->fem->tet_volume[t] / self->volume;
  for (size_t v = 0; v < n; v++)
    one[v] = 1.0;
  /* modified Gram-Schmidt, twice, against the constant and what is kept */
  for (int k = 0; k < n_modes; k++) {
    double *p = nodal + (size_t)kept * n;
    memcpy(p, pressure + (size_t)k * n, n * sizeof *p);
    const double size = sqrt(inner(share, (int)n, p, p));
    for (int round = 0; round < 2; round++)
      for (int j = -1; j < kept; j++) {
        const double *other = j < 0 ? one : nodal + (size_t)j * n;
        const double along = inner(share, (int)n, p, other);
        cblas_daxpy((int)n, -along, other, 1, p, 1);
      }
    /* drop a mode that depends on those before it */
    const double left = sqrt(inner(share, (int)n, p, p));
    if (!(left > 1e-2 * size))
      continue;
    cblas_dscal((int)n, 1.0 / left, p, 1);
    for (int l = 0; l < self->n_points; l++)
      for (int a = 0; a < 4; a++)
        point[(size_t)kept * (size_t)self->n_points + (size_t)l] +=
            0.25 * p[self->fem->tet[4 * (size_t)self->tet[l] + a]];
    kept++;
  }
  free(self->nodal);
  free(self->pressure);
  self->nodal = nodal;
  self->pressure = point;
  self->n_pressures = kept;
  free(share);
  free(one);
  return PLA_OK;
}

PlaStatus
pla_reduced_scratch_init(PlaReducedScratch *self, const PlaReducedModel *model, PlaError *err)
{
  const size_t n = (size_t)model->n_points, m = (size_t)model->basis.n_funcs;
  const size_t k = (size_t)model->n_pressures + 1;
  self->f = pla_array_new(n, 9 * sizeof *self->f);
  self->rows = pla_array_new(n, 9 * sizeof *self->rows);
  self->weighed = pla_array_new(PAIRS * 3 * n, m * sizeof *self->weighed);
  self->block = pla_array_new(PAIRS * m, m * sizeof *self->block);
  self->amount = pla_array_new(k, sizeof *self->amount);
  self->slopes = pla_array_new(m, 3 * k * sizeof *self->slopes);
  self->cofactor = pla_array_new(3 * (n > m ? n : m), 3 * k * sizeof *self->cofactor);
  self->energy = pla_array_new(n, sizeof *self->energy);
  self->point = pla_array_new0(n, sizeof *self->point);
  self->decomposed = false;
  return self->f && self->point && self->rows && self->weighed && self->block && self->amount &&
                 self->slopes && self->cofactor && self->energy
             ? PLA_OK
             : pla_fail_memory(err, "a reduced model");
}

void
pla_reduced_scratch_clear(PlaReducedScratch *self)
{
  free(self->f);
  free(self->rows);
  free(self->weighed);
  free(self->block);
  free(self->amount);
  free(self->slopes);
  free(self->cofactor);
  free(self->energy);
  free(self->point);
}

void
pla_reduced_gradients(const PlaReducedModel *self, const double *q, const double *lift_coef,
                      PlaReducedScratch *scratch)
{
  const int m = self->basis.n_funcs, n = self->n_points;
  scratch->decomposed = false;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 3 * n, 3, m, 1.0, self->grad, m, q, 3, 0.0,
              scratch->rows, 3);
  for (int l = 0; l < n; l++) {
    const double *row = scratch->rows + 9 * (size_t)l;
    double *f = scratch->f + 9 * (size_t)l;
    for (int i = 0; i < 3; i++)
      for (int d = 0; d < 3; d++)
        f[3 * i + d] = row[3 * d + i] + (i == d ? 1.0 : 0.0);
    for (int k = 0; k < self->n_lifts; k++)
      for (int i = 0; i < 9; i++)
        f[i] += lift_coef[k] *
                self->lift_grad[9 * ((size_t)l * (size_t)self->n_lifts + (size_t)k) + (size_t)i];
  }
}

/* energy, stress and tangent of point @l; the latter two times its weight, where the model sums
 * them */
static double
point_elastic(const PlaReducedModel *self, PlaReducedScratch *scratch, int l, bool stress,
              bool tangent)
{
  const int m = self->basis.n_funcs;
  const double w = self->weight[l], *constants;
  const PlaMaterial *law = pla_fem_cell_law(self->fem, self->tet[l], &constants);
  PlaPoint *point = &scratch->point[l];
  /* deformation gradient with its decomposition, kept for the next call */
  if (!scratch->decomposed) {
    *point = (PlaPoint){ 0 };
    memcpy(point->f, scratch->f + 9 * (size_t)l, sizeof point->f);
    pla_fem_cell_point(self->fem, self->tet[l], point);
    pla_point_decompose(point);
  }
  /* weighted first Piola-Kirchhoff stress */
  if (stress) {
    double p[9], *row = scratch->rows + 9 * (size_t)l;
    pla_material_stress(law, constants, point, p);
    for (int i = 0; i < 3; i++)
      for (int d = 0; d < 3; d++)
        row[3 * d + i] = w * p[3 * i + d];
  }
  /* weighted tangent times the gradients, one block for each pair of axes */
  if (tangent) {
    double h[81];
    const double *grad = self->grad + 3 * (size_t)l * (size_t)m;
    pla_material_tangent(law, constants, point, true, h);
    for (int pair = 0; pair < PAIRS; pair++) {
      const int i = pair_row[pair], j = pair_col[pair];
      double *out =
          scratch->weighed + 3 * ((size_t)pair * (size_t)self->n_points + (size_t)l) * (size_t)m;
      for (int a = 0; a < 3; a++) {
        const double *c = h + 9 * (3 * i + a) + 3 * j;
        for (int k = 0; k < m; k++)
          out[a * m + k] = w * (c[0] * grad[k] + c[1] * grad[m + k] + c[2] * grad[2 * m + k]);
      }
    }
  }
  return w * pla_material_energy(law, constants, point);
}

double
pla_reduced_add_elastic(const PlaReducedModel *self, PlaReducedScratch *scratch, double *slope,
                        double *curvature)
{
  const int m = self->basis.n_funcs, n = self->n_points;
#pragma omp parallel for schedule(static)
  for (int l = 0; l < n; l++)
    scratch->energy[l] = point_elastic(self, scratch, l, slope != NULL, curvature != NULL);
  scratch->decomposed = true;
  /* slope = grad^T stress */
  if (slope)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, 3, 3 * n, 1.0, self->grad, m,
                scratch->rows, 3, 1.0, slope, 3);
  /* curvature: six products grad^T C grad, placed symmetrically */
  if (curvature) {
#pragma omp parallel for schedule(static)
    for (int pair = 0; pair < PAIRS; pair++) {
      double *block = scratch->block + (size_t)pair * (size_t)m * (size_t)m;
      const double *weighed = scratch->weighed + 3 * (size_t)pair * (size_t)n * (size_t)m;
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, m, 3 * n, 1.0, self->grad, m, weighed,
                  m, 0.0, block, m);
    }
    for (int pair = 0; pair < PAIRS; pair++) {
      const double *block = scratch->block + (size_t)pair * (size_t)m * (size_t)m;
      const int i = pair_row[pair], j = pair_col[pair];
      for (int k = 0; k < m; k++)
        for (int o = 0; o < m; o++) {
          curvature[(size_t)(3 * k + i) * (size_t)(3 * m) + (size_t)(3 * o + j)] +=
              block[k * m + o];
          if (i != j)
            curvature[(size_t)(3 * o + j) * (size_t)(3 * m) + (size_t)(3 * k + i)] +=
                block[k * m + o];
        }
    }
  }
  return pla_sum(scratch->energy, (size_t)n);
}

double
pla_reduced_add_pressures(const PlaReducedModel *self, double stiffness, PlaReducedScratch *scratch,
                          double *slope, double *curvature)
{
  const int m = self->basis.n_funcs, n = self->n_points, k = self->n_pressures;
  double energy = 0.0;
  if (k == 0 || stiffness == 0.0)
    return 0.0;
  /* change of volume along each pressure mode, and its derivative by F (cofactor) */
  for (int p = 0; p < k; p++)
    scratch->amount[p] = 0.0;
  for (int l = 0; l < n; l++) {
    const double *f = scratch->f + 9 * (size_t)l;
    const double w = self->weight[l] / self->volume, change = w * (pla_mat3_det(f) - 1.0);
    double cof[9];
    for (int p = 0; p < k; p++)
      scratch->amount[p] += self->pressure[(size_t)p * (size_t)n + (size_t)l] * change;
    if (!slope && !curvature)
      continue;
    pla_mat3_cofactor(f, cof);
    for (int p = 0; p < k; p++) {
      const double here = w * self->pressure[(size_t)p * (size_t)n + (size_t)l];
      for (int d = 0; d < 3; d++)
        for (int i = 0; i < 3; i++)
          scratch->cofactor[(3 * (size_t)l + (size_t)d) * (size_t)(3 * k) + (size_t)(3 * p + i)] =
              here * cof[3 * i + d];
    }
  }
  for (int p = 0; p < k; p++)
    energy += 0.5 * stiffness * self->volume * scratch->amount[p] * scratch->amount[p];
  if (!slope && !curvature)
    return energy;
  /* derivatives by the reduced coordinates */
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, 3 * k, 3 * n, 1.0, self->grad, m,
              scratch->cofactor, 3 * k, 0.0, scratch->slopes, 3 * k);
  for (int o = 0; slope && o < m; o++)
    for (int p = 0; p < k; p++)
      for (int i = 0; i < 3; i++)
        slope[3 * o + i] += stiffness * self->volume * scratch->amount[p] *
                            scratch->slopes[(size_t)o * (size_t)(3 * k) + (size_t)(3 * p + i)];
  if (curvature) { /* rows of a 3m x k matrix, then its square */
    double *row = scratch->cofactor;
    for (int o = 0; o < m; o++)
      for (int p = 0; p < k; p++)
        for (int i = 0; i < 3; i++)
          row[(size_t)(3 * o + i) * (size_t)k + (size_t)p] =
              scratch->slopes[(size_t)o * (size_t)(3 * k) + (size_t)(3 * p + i)];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 3 * m, 3 * m, k, stiffness * self->volume,
                row, k, row, k, 1.0, curvature, 3 * m);
  }
  return energy;
}

double
pla_reduced_elastic(const PlaReducedModel *self, const double *q, const double *lift_coef,
                    double *slope, double *curvature)
{
  PlaReducedScratch scratch;
  PlaError err;
  const size_t n = 3 * (size_t)self->basis.n_funcs;
  double energy = NAN;
  pla_blas_single_thread();
  if (slope)
    memset(slope, 0, n * sizeof *slope);
  if (curvature)
    memset(curvature, 0, n * n * sizeof *curvature);
  if (pla_reduced_scratch_init(&scratch, self, &err) == PLA_OK) {
    pla_reduced_gradients(self, q, lift_coef, &scratch);
    energy = pla_reduced_add_elastic(self, &scratch, slope, curvature);
  }
  pla_reduced_scratch_clear(&scratch);
  return energy;
}

PlaReducedView
pla_reduced_model_view(const PlaReducedModel *self)
{
  return (PlaReducedView){ &self->basis, self->n_points, self->tet, self->weight };
}

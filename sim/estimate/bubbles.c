/* Quadratic tets in a hierarchical basis.
 *
 * With H the tangent of shape, k that of volume, C = cof F, and w_q the weight 1/4 of each of the
 * points at barycentric coordinates (a, b, b, b),
 *   K = V (sum_q w_q B_q^T H B_q + k (C : Bmean)^T (C : Bmean)).
 * The gradient of a displacement with values x_i at corners and y_k at bubbles is
 *   G(w) = G0 + sum_i w_i M_i,  G0 = sum x_i g_i^T,  M_i = 4 sum_{k = ij} y_k g_j^T. */
#include "sim/estimate/bubbles-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/edge.h"
#include "sim/material/definite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const int pla_tet_edge[PLA_TET_EDGES][2] = { { 0, 1 }, { 0, 2 }, { 0, 3 },
                                             { 1, 2 }, { 1, 3 }, { 2, 3 } };

/* points of degree 2: (5 + 3 sqrt 5) / 20 and (5 - sqrt 5) / 20 (Keast 1986) */
static const double point_far = 0.5854101966249685, point_near = 0.1381966011250105;

/* ---- edges ---- */

static PlaStatus
list_edges(PlaBubbles *self, PlaError *err)
{
  const size_t n = PLA_TET_EDGES * (size_t)self->model->n_tets;
  PlaEdge *list = pla_array_new(n, sizeof *list);
  self->tet_edge = pla_array_new(n, sizeof *self->tet_edge);
  self->entry = pla_array_new(n, sizeof *self->entry);
  self->start = pla_array_new(n + 1, sizeof *self->start);
  self->edge = pla_array_new(2 * n, sizeof *self->edge);
  const bool enough = list && self->tet_edge && self->entry && self->start && self->edge;
  for (size_t i = 0; enough && i < n; i++) {
    const int *tet = self->model->tet + 4 * (i / PLA_TET_EDGES);
    const int a = tet[pla_tet_edge[i % PLA_TET_EDGES][0]],
              b = tet[pla_tet_edge[i % PLA_TET_EDGES][1]];
    list[i] = pla_edge(a, b, (int)i);
  }
  if (enough)
    qsort(list, n, sizeof *list, pla_edge_compare);
  for (size_t i = 0; enough && i < n; i++) {
    if (i == 0 || list[i].a != list[i - 1].a || list[i].b != list[i - 1].b) {
      self->edge[2 * self->n_edges] = list[i].a;
      self->edge[2 * self->n_edges + 1] = list[i].b;
      self->start[self->n_edges++] = (int)i;
    }
    self->entry[i] = list[i].at;
    self->tet_edge[list[i].at] = self->n_edges - 1;
  }
  if (enough)
    self->start[self->n_edges] = (int)n;
  free(list);
  return enough ? PLA_OK : pla_fail_memory(err, "the estimate of the error");
}

/* ---- tets ---- */

/* h += p d cof(F) / dF */
static void
add_pressure(const double f[9], double p, double h[81])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int a = 1; a < 3; a++)
        for (int b = 1; b < 3; b++) {
          const int k = (i + a) % 3, l = (j + b) % 3, m = 3 - i - k, n = 3 - j - l;
          h[9 * (3 * i + j) + 3 * k + l] += (a == b ? 1.0 : -1.0) * p * f[3 * m + n];
        }
}

/* first and second derivative of the term of volume, over its modulus */
static void
volume_term(bool square, double j, double *d, double *dd)
{
  /* below the floor of all materials the logarithm is not trusted */
  const double least = PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR * PLA_STRETCH_FLOOR;
  const double x = j > least ? j : least;
  *d = square ? j - 1.0 : log(x) / x;
  *dd = square ? 1.0 : (1.0 - log(x)) / (x * x);
}

/* Limits the modulus of volume, and with it how far the pressure of a tet strays from that of the
 * averages around it, which is as good as that of the solution.  Without a limit conjugate
 * gradients need hundreds of iterations near a Poisson ratio of 0.5; what it changes is a part of
 * the error in the order of mu / k. */
static void
soften(const PlaMaterial *law, const double *constants, double average, double *modulus, double *p)
{
  const double moduli = 20.0; /* of shear: a Poisson ratio of 0.476 */
  double mu, lambda, vol;
  pla_material_moduli(law, constants, &mu, &lambda, &vol);
  if (*modulus > moduli * mu) {
    *p = average + moduli * mu / *modulus * (*p - average);
    *modulus = moduli * mu;
  }
}

/* @pressure: of the averages of the mixed formulation, or NULL; @project: definite tangents */
static void
evaluate_tet(PlaBubbles *self, int t, const double *pos, const double *pressure,
             const double gravity[3], bool project)
{
  const PlaFemModel *model = self->model;
  PlaBubbleTet *out = &self->tet[t];
  PlaPoint point = { 0 };
  const double *constants;
  const PlaMaterial *law = pla_fem_cell_law(model, t, &constants);
  double own[PLA_MAX_CONSTANTS], modulus = 0.0, d, dd;
  memcpy(own, constants, sizeof own);
  pla_fem_tet_gradient(model, t, pos, point.f);
  pla_fem_tet_shape(model, t, out->grad);
  pla_point_decompose(&point);
  pla_fem_cell_point(model, t, &point);
  pla_mat3_cofactor(point.f, out->cofactor);
  const double j = pla_mat3_det(point.f);
  /* where the volume of the tissue is counted from */
  const double given = model->prestretch ? model->prestretch_det[t] : 1.0;
  /* P = P_shape + p cof F; the mixed formulation has taken the term of volume out already */
  if (pressure) {
    modulus = model->patches->modulus[t];
  } else if (law->volume_modulus && !model->prestretch) {
    double *k = law->volume_modulus(own);
    modulus = *k;
    *k = 0.0;
  }
  volume_term(law->volume_square, j * given, &d, &dd);
  double p = modulus * d;
  if (pressure)
    soften(law, own, pressure[t], &modulus, &p);
  pla_material_stress(law, own, &point, out->stress);
  for (int i = 0; i < 9; i++)
    out->stress[i] += p * out->cofactor[i];
  pla_material_tangent(law, own, &point, project, out->shape);
  /* averages have the pressure of the body, a tet alone that of its own noise */
  add_pressure(point.f, pressure ? pressure[t] : p, out->shape);
  if (project && !pla_definite(9, out->shape))
    pla_definite_project(9, out->shape);
  out->bulk = fmax(modulus * dd * given, 0.0);
  out->volume = model->tet_volume[t];
  for (int i = 0; i < 3; i++)
    out->force[i] = gravity[i] * model->material[model->cell_material[t]].density;
}

PlaStatus
pla_bubbles_init(PlaBubbles *self, const PlaFemModel *model, const double *pos,
                 const double gravity[3], bool project, PlaError *err)
{
  const size_t n_cells = (size_t)model->n_tets + (size_t)model->n_hexes;
  double *pressure = NULL, *scratch = NULL;
  *self = (PlaBubbles){ .model = model };
  PlaStatus st = list_edges(self, err);
  self->tet = pla_array_new((size_t)model->n_tets, sizeof *self->tet);
  self->local = pla_array_new((size_t)model->n_tets, 3 * PLA_TET_BASIS * sizeof *self->local);
  if (model->patches) {
    pressure = pla_array_new(n_cells, sizeof *pressure);
    scratch = pla_array_new((size_t)model->patches->n, sizeof *scratch);
  }
  if (st == PLA_OK && (!self->tet || !self->local || (model->patches && (!pressure || !scratch))))
    st = pla_fail_memory(err, "the estimate of the error");
  if (st == PLA_OK) {
    if (model->patches)
      pla_fem_patches_pressure(model, pos, scratch, pressure);
#pragma omp parallel for schedule(static)
    for (int t = 0; t < model->n_tets; t++)
      evaluate_tet(self, t, pos, pressure, gravity, project);
  }
  free(pressure);
  free(scratch);
  if (st != PLA_OK)
    pla_bubbles_clear(self);
  return st;
}

void
pla_bubbles_clear(PlaBubbles *self)
{
  free(self->edge);
  free(self->tet_edge);
  free(self->start);
  free(self->entry);
  free(self->tet);
  free(self->local);
  *self = (PlaBubbles){ 0 };
}

/* sums of what the tets have for each vertex and edge, in stored order */
static void
gather(const PlaBubbles *self, double *on_verts, double *on_edges)
{
  const PlaIncidence *around = &self->model->incidence;
  const int n_corners = 4 * self->model->n_tets;
#pragma omp parallel for schedule(static)
  for (int v = 0; v < self->model->n_verts; v++) {
    double sum[3] = { 0.0, 0.0, 0.0 };
    for (int k = around->start[v]; k < around->start[v + 1]; k++) {
      const int corner = around->corner[k];
      const double *from =
          self->local + 3 * (PLA_TET_BASIS * (size_t)(corner / 4) + (size_t)(corner % 4));
      for (int d = 0; corner < n_corners && d < 3; d++)
        sum[d] += from[d];
    }
    memcpy(on_verts + 3 * (size_t)v, sum, sizeof sum);
  }
#pragma omp parallel for schedule(static)
  for (int e = 0; e < self->n_edges; e++) {
    double sum[3] = { 0.0, 0.0, 0.0 };
    for (int k = self->start[e]; k < self->start[e + 1]; k++) {
      const size_t t = (size_t)self->entry[k] / PLA_TET_EDGES,
                   at = (size_t)self->entry[k] % PLA_TET_EDGES;
      for (int d = 0; d < 3; d++)
        sum[d] += self->local[3 * (PLA_TET_BASIS * t + 4 + at) + (size_t)d];
    }
    memcpy(on_edges + 3 * (size_t)e, sum, sizeof sum);
  }
}

void
pla_bubbles_forces(PlaBubbles *self, double *on_verts, double *on_edges)
{
#pragma omp parallel for schedule(static)
  for (int t = 0; t < self->model->n_tets; t++) {
    const PlaBubbleTet *tet = &self->tet[t];
    double *local = self->local + 3 * PLA_TET_BASIS * (size_t)t, at_corner[4][3];
    for (int a = 0; a < 4; a++) {
      pla_mat3_apply(tet->stress, tet->grad[a], at_corner[a]);
      for (int d = 0; d < 3; d++)
        local[3 * a + d] = -tet->volume * at_corner[a][d];
    }
    /* the mean of a bubble is 1/5, that of its gradient g_i + g_j */
    for (int k = 0; k < PLA_TET_EDGES; k++)
      for (int d = 0; d < 3; d++)
        local[3 * (4 + k) + d] =
            tet->volume * (0.2 * tet->force[d] - at_corner[pla_tet_edge[k][0]][d] -
                           at_corner[pla_tet_edge[k][1]][d]);
  }
  gather(self, on_verts, on_edges);
}

/* out += a b^T */
static void
add_outer(const double a[3], const double b[3], double scale, double out[9])
{
  for (int i = 0; i < 9; i++)
    out[i] += scale * a[i / 3] * b[i % 3];
}

/* G0 and M_i of tet @t */
static void
gradients(const PlaBubbles *self, int t, const double *v, const double *e, double constant[9],
          double slope[4][9])
{
  const PlaBubbleTet *tet = &self->tet[t];
  const int *verts = self->model->tet + 4 * (size_t)t;
  const int *edges = self->tet_edge + PLA_TET_EDGES * (size_t)t;
  memset(constant, 0, 9 * sizeof *constant);
  memset(slope, 0, 4 * sizeof *slope);
  for (int a = 0; a < 4; a++)
    add_outer(v + 3 * (size_t)verts[a], tet->grad[a], 1.0, constant);
  for (int k = 0; k < PLA_TET_EDGES; k++) {
    const double *y = e + 3 * (size_t)edges[k];
    const int i = pla_tet_edge[k][0], j = pla_tet_edge[k][1];
    add_outer(y, tet->grad[j], 4.0, slope[i]);
    add_outer(y, tet->grad[i], 4.0, slope[j]);
  }
}

/* stress times volume at each of the four points */
static void
point_stresses(const PlaBubbleTet *tet, const double constant[9], double slope[4][9],
               double stress[4][9])
{
  double all[9], volume = 0.0;
  for (int i = 0; i < 9; i++) {
    all[i] = slope[0][i] + slope[1][i] + slope[2][i] + slope[3][i];
    volume += tet->cofactor[i] * (constant[i] + 0.25 * all[i]);
  }
  for (int q = 0; q < 4; q++) {
    double g[9];
    for (int i = 0; i < 9; i++)
      g[i] = constant[i] + point_near * all[i] + (point_far - point_near) * slope[q][i];
    for (int r = 0; r < 9; r++) {
      double sum = tet->bulk * volume * tet->cofactor[r];
      for (int c = 0; c < 9; c++)
        sum += tet->shape[9 * r + c] * g[c];
      stress[q][r] = 0.25 * tet->volume * sum;
    }
  }
}

void
pla_bubbles_apply(PlaBubbles *self, const double *v, const double *e, double *kv, double *ke)
{
#pragma omp parallel for schedule(static)
  for (int t = 0; t < self->model->n_tets; t++) {
    const PlaBubbleTet *tet = &self->tet[t];
    double *local = self->local + 3 * PLA_TET_BASIS * (size_t)t;
    double constant[9], slope[4][9], stress[4][9], all[9], at[4][9];
    gradients(self, t, v, e, constant, slope);
    point_stresses(tet, constant, slope, stress);
    /* moments of the stress with 1 and with w_i */
    for (int i = 0; i < 9; i++) {
      all[i] = stress[0][i] + stress[1][i] + stress[2][i] + stress[3][i];
      for (int a = 0; a < 4; a++)
        at[a][i] = point_near * all[i] + (point_far - point_near) * stress[a][i];
    }
    for (int a = 0; a < 4; a++)
      pla_mat3_apply(all, tet->grad[a], local + 3 * a);
    for (int k = 0; k < PLA_TET_EDGES; k++) {
      const int i = pla_tet_edge[k][0], j = pla_tet_edge[k][1];
      double one[3], two[3];
      pla_mat3_apply(at[i], tet->grad[j], one);
      pla_mat3_apply(at[j], tet->grad[i], two);
      for (int d = 0; d < 3; d++)
        local[3 * (4 + k) + d] = 4.0 * (one[d] + two[d]);
    }
  }
  gather(self, kv, ke);
}

/* block += w h^T H h */
static void
add_block(const double h[81], const double grad[3], double w, double block[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++)
        for (int l = 0; l < 3; l++)
          block[3 * i + j] += w * grad[k] * h[9 * (3 * i + k) + 3 * j + l] * grad[l];
}

void
pla_bubbles_diagonal(const PlaBubbles *self, double *block)
{
#pragma omp parallel for schedule(static)
  for (int e = 0; e < self->n_edges; e++) {
    double *out = block + 9 * (size_t)e;
    memset(out, 0, 9 * sizeof *out);
    for (int n = self->start[e]; n < self->start[e + 1]; n++) {
      const PlaBubbleTet *tet = &self->tet[self->entry[n] / PLA_TET_EDGES];
      const int *ends = pla_tet_edge[self->entry[n] % PLA_TET_EDGES];
      double mean[3], push[3];
      for (int q = 0; q < 4; q++) {
        const double wi = 4.0 * (q == ends[0] ? point_far : point_near),
                     wj = 4.0 * (q == ends[1] ? point_far : point_near);
        double grad[3];
        for (int d = 0; d < 3; d++)
          grad[d] = wi * tet->grad[ends[1]][d] + wj * tet->grad[ends[0]][d];
        add_block(tet->shape, grad, 0.25 * tet->volume, out);
      }
      for (int d = 0; d < 3; d++)
        mean[d] = tet->grad[ends[0]][d] + tet->grad[ends[1]][d];
      pla_mat3_apply(tet->cofactor, mean, push);
      add_outer(push, push, tet->bulk * tet->volume, out);
    }
  }
}

void
pla_bubbles_linear(const PlaBubbles *self, int t, double most, double *stiffness)
{
  const PlaBubbleTet *tet = &self->tet[t];
  const double bulk = fmin(tet->bulk, most);
  double push[4][3];
  for (int a = 0; a < 4; a++)
    pla_mat3_apply(tet->cofactor, tet->grad[a], push[a]);
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          double sum = bulk * push[a][i] * push[b][j];
          for (int k = 0; k < 3; k++)
            for (int l = 0; l < 3; l++)
              sum += tet->grad[a][k] * tet->shape[9 * (3 * i + k) + 3 * j + l] * tet->grad[b][l];
          stiffness[12 * (3 * a + i) + 3 * b + j] = tet->volume * sum;
        }
}

void
pla_bubbles_mean_gradient(const PlaBubbles *self, int t, const double *v, const double *e,
                          double grad[9])
{
  double slope[4][9];
  gradients(self, t, v, e, grad, slope);
  for (int i = 0; i < 9; i++)
    grad[i] += 0.25 * (slope[0][i] + slope[1][i] + slope[2][i] + slope[3][i]);
}

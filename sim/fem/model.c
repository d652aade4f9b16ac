/* The finite-element model: linear tets (one point), trilinear hexes (2x2x2 Gauss points).
 *
 * E = sum over points of w Psi(F), F = sum_a x_a grad N_a^T; forces -dE/dx_a = -w P grad N_a;
 * stiffness blocks K_ab[i][j] = w sum_kl gradN_a[k] dP_ik/dF_jl gradN_b[l].
 * Forces are written per corner and gathered per vertex in stored order, so that the result does
 * not depend on the number of threads. */
#include "sim/fem/model-data.h"
#include "sim/fem/simple-tet.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"
#include "sim/material/definite.h"
#include "sim/material/registry.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 }; /* elements whose F are decomposed together; fits the second-level cache */

void
pla_fem_model_free(PlaFemModel *model)
{
  if (!model)
    return;
  if (model->shares) {
    free(model->active);
    free(model);
    return;
  }
  free(model->rest);
  free(model->mass);
  free(model->tet);
  free(model->tet_dm_inv);
  free(model->tet_volume);
  free(model->hex);
  free(model->hex_grad);
  free(model->hex_weight);
  free(model->cell_material);
  free(model->material);
  free(model->constants);
  free(model->own);
  free(model->own_constants);
  free(model->given_stretch);
  free(model->prestretch);
  free(model->prestretch_det);
  free(model->fibre_start);
  free(model->fibre);
  free(model->overlap);
  free(model->active);
  free(model->fibre_muscle);
  free(model->shape);
  pla_fem_patches_free(model->patches);
  pla_fem_domains_free(model->domains);
  free(model->colour);
  free(model->incidence.start);
  free(model->incidence.corner);
  free(model);
}

int
pla_fem_model_n_verts(const PlaFemModel *model)
{
  return model->n_verts;
}

const double *
pla_fem_model_rest(const PlaFemModel *model)
{
  return model->rest;
}

const double *
pla_fem_model_mass(const PlaFemModel *model)
{
  return model->mass;
}

/* edge matrix [x1-x0 | x2-x0 | x3-x0] */
static void
edge_matrix(const double *pos, const int *tet, double d[9])
{
  const double *x0 = pos + 3 * (size_t)tet[0];
  for (int c = 0; c < 3; c++) {
    const double *x = pos + 3 * (size_t)tet[c + 1];
    for (int r = 0; r < 3; r++)
      d[3 * r + c] = x[r] - x0[r];
  }
}

static PlaStatus
prepare_tets(PlaFemModel *model, PlaError *err)
{
  const size_t n = (size_t)model->n_tets;
  for (int t = 0; t < model->n_tets; t++) {
    const int *tet = model->tet + 4 * (size_t)t;
    double dm[9], inv[9], size = 0.0;
    edge_matrix(model->rest, tet, dm);
    for (int c = 0; c < 9; c++)
      size = fmax(size, fabs(dm[c]));
    double det = pla_mat3_det(dm);
    /* flatter than a millionth of its size: no meaningful inverse */
    if (!(det > 1e-9 * size * size * size)) {
      const double *x = model->rest + 3 * (size_t)tet[0];
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "tetrahedron %d, near (%.2f, %.2f, %.2f) mm, is %s at rest; repair or remesh",
                      t, x[0] * 1e3, x[1] * 1e3, x[2] * 1e3, det < 0.0 ? "inverted" : "flat");
    }
    pla_mat3_invert(dm, inv);
    for (size_t c = 0; c < 9; c++)
      model->tet_dm_inv[c * n + (size_t)t] = inv[c];
    model->tet_volume[t] = det / 6.0;
  }
  return PLA_OK;
}

/* corner signs of the reference hex [-1, 1]^3 in VTK order */
static const double hex_sign[8][3] = { { -1, -1, -1 }, { 1, -1, -1 }, { 1, 1, -1 }, { -1, 1, -1 },
                                       { -1, -1, 1 },  { 1, -1, 1 },  { 1, 1, 1 },  { -1, 1, 1 } };

static PlaStatus
prepare_hexes(PlaFemModel *model, PlaError *err)
{
  const double g = 1.0 / sqrt(3.0);
  for (int h = 0; h < model->n_hexes; h++) {
    const int *hex = model->hex + 8 * (size_t)h;
    for (int q = 0; q < 8; q++) {
      double local[8][3], jac[9] = { 0 }, inv[9];
      for (int a = 0; a < 8; a++)
        for (int d = 0; d < 3; d++) {
          double x = hex_sign[a][d] / 8.0;
          for (int e = 1; e < 3; e++) {
            int o = (d + e) % 3;
            x *= 1.0 + hex_sign[a][o] * hex_sign[q][o] * g;
          }
          local[a][d] = x;
        }
      for (int a = 0; a < 8; a++)
        for (int r = 0; r < 3; r++)
          for (int c = 0; c < 3; c++)
            jac[3 * r + c] += model->rest[3 * (size_t)hex[a] + (size_t)r] * local[a][c];
      double det = pla_mat3_det(jac);
      if (!(det > 0.0))
        return pla_fail(err, PLA_ERR_GEOMETRY,
                        "hexahedron %d is inverted or flat at rest; repair or remesh", h);
      pla_mat3_invert(jac, inv);
      model->hex_weight[8 * (size_t)h + (size_t)q] = det;
      double *grad = model->hex_grad + (8 * (size_t)h + (size_t)q) * 24;
      for (int a = 0; a < 8; a++)
        for (int d = 0; d < 3; d++)
          grad[3 * a + d] =
              local[a][0] * inv[d] + local[a][1] * inv[3 + d] + local[a][2] * inv[6 + d];
    }
  }
  return PLA_OK;
}

/* corners around each vertex, by counting */
static PlaStatus
build_incidence(PlaFemModel *model, PlaError *err)
{
  const size_t n_tet_corners = 4 * (size_t)model->n_tets;
  const size_t n_corners = n_tet_corners + 8 * (size_t)model->n_hexes;
  PlaIncidence *inc = &model->incidence;
  if (n_corners > INT32_MAX)
    return pla_fail_memory(err, "a mesh of this many elements");
  inc->n_verts = model->n_verts;
  inc->start = pla_array_new0((size_t)model->n_verts + 1, sizeof *inc->start);
  inc->corner = pla_array_new(n_corners, sizeof *inc->corner);
  int *fill = pla_array_new0((size_t)model->n_verts, sizeof *fill);
  if (!inc->start || !inc->corner || !fill) {
    free(fill);
    return pla_fail_memory(err, "the model");
  }
  for (size_t k = 0; k < n_corners; k++)
    inc->start[1 + (k < n_tet_corners ? model->tet[k] : model->hex[k - n_tet_corners])]++;
  for (int v = 0; v < model->n_verts; v++)
    inc->start[v + 1] += inc->start[v];
  for (size_t k = 0; k < n_corners; k++) {
    int v = k < n_tet_corners ? model->tet[k] : model->hex[k - n_tet_corners];
    inc->corner[inc->start[v] + fill[v]++] = (int)k;
  }
  free(fill);
  return PLA_OK;
}

/* a quarter of each tet and an eighth of each hex to its vertices */
void
pla_fem_lump_masses(PlaFemModel *model)
{
  memset(model->mass, 0, (size_t)model->n_verts * sizeof *model->mass);
  for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
    const int *verts;
    int k = pla_fem_cell_verts(model, c, &verts);
    double volume = 0.0;
    if (c < model->n_tets)
      volume = model->tet_volume[c];
    else
      for (int q = 0; q < 8; q++)
        volume += model->hex_weight[8 * (size_t)(c - model->n_tets) + (size_t)q];
    for (int a = 0; a < k; a++)
      model->mass[verts[a]] += model->material[model->cell_material[c]].density * volume / k;
  }
}

PlaStatus
pla_fem_model_new(const PlaMesh *mesh, const PlaFemMaterial *materials, int n_materials,
                  const int *cell_material, PlaFormulation formulation, PlaFemModel **out,
                  PlaError *err)
{
  *out = NULL;
  if (mesh->n_tets + mesh->n_hexes == 0)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the mesh has no tetrahedra and no hexahedra; mesh the surface first");
  PlaFemModel *model = pla_array_new0(1, sizeof *model);
  if (!model)
    return pla_fail_memory(err, "the model");
  const size_t nv = (size_t)mesh->n_verts, nt = (size_t)mesh->n_tets, nh = (size_t)mesh->n_hexes;
  model->n_verts = mesh->n_verts;
  model->n_tets = mesh->n_tets;
  model->n_hexes = mesh->n_hexes;
  model->formulation = formulation;
  model->n_materials = n_materials;
  model->rest = pla_array_dup(mesh->pos, nv, 3 * sizeof *model->rest);
  model->mass = pla_array_new0(nv, sizeof *model->mass);
  model->tet = pla_array_dup(mesh->tet, nt, 4 * sizeof *model->tet);
  model->tet_dm_inv = pla_array_new_aligned(nt, 9 * sizeof *model->tet_dm_inv);
  model->tet_volume = pla_array_new_aligned(nt, sizeof *model->tet_volume);
  model->hex = pla_array_dup(mesh->hex, nh, 8 * sizeof *model->hex);
  model->hex_grad = pla_array_new_aligned(nh, 8 * 24 * sizeof *model->hex_grad);
  model->hex_weight = pla_array_new_aligned(nh, 8 * sizeof *model->hex_weight);
  model->cell_material = pla_array_dup(cell_material, nt + nh, sizeof *model->cell_material);
  model->material = pla_array_dup(materials, (size_t)n_materials, sizeof *model->material);
  model->constants =
      pla_array_new((size_t)n_materials, PLA_MAX_CONSTANTS * sizeof *model->constants);
  PlaStatus st = model->rest && model->mass && model->tet && model->tet_dm_inv &&
                         model->tet_volume && model->hex && model->hex_grad && model->hex_weight &&
                         model->cell_material && model->material && model->constants
                     ? pla_mesh_check(mesh, err)
                     : pla_fail_memory(err, "the model");
  for (int m = 0; st == PLA_OK && m < n_materials; m++)
    memcpy(model->constants + (size_t)PLA_MAX_CONSTANTS * (size_t)m, materials[m].constants,
           sizeof materials[m].constants);
  if (st == PLA_OK)
    st = prepare_tets(model, err);
  if (st == PLA_OK)
    st = prepare_hexes(model, err);
  if (st == PLA_OK)
    st = build_incidence(model, err);
  if (st == PLA_OK && formulation != PLA_FORMULATION_STANDARD)
    st = pla_fem_patches_new(model, err);
  if (st == PLA_OK && formulation != PLA_FORMULATION_STANDARD && model->n_tets > 0)
    st = pla_fem_domains_new(model, &model->domains, err);
  if (st == PLA_OK) {
    pla_fem_lump_masses(model);
    *out = model;
    model = NULL;
  }
  pla_fem_model_free(model);
  return st;
}

void
pla_fem_tet_gradient(const PlaFemModel *model, int t, const double *pos, double f[9])
{
  double ds[9], inv[9];
  edge_matrix(pos, model->tet + 4 * (size_t)t, ds);
  for (size_t c = 0; c < 9; c++)
    inv[c] = model->tet_dm_inv[c * (size_t)model->n_tets + (size_t)t];
  pla_mat3_mul(ds, inv, f);
}

void
pla_fem_tet_shape(const PlaFemModel *model, int t, double grad[4][3])
{
  for (int d = 0; d < 3; d++)
    grad[0][d] = 0.0;
  for (int a = 1; a < 4; a++)
    for (int d = 0; d < 3; d++) {
      grad[a][d] = model->tet_dm_inv[(size_t)(3 * (a - 1) + d) * (size_t)model->n_tets + (size_t)t];
      grad[0][d] -= grad[a][d];
    }
}

void
pla_fem_hex_gradient(const PlaFemModel *model, int h, int q, const double *pos, double f[9])
{
  const int *hex = model->hex + 8 * (size_t)h;
  const double *grad = model->hex_grad + (8 * (size_t)h + (size_t)q) * 24;
  memset(f, 0, 9 * sizeof *f);
  for (int a = 0; a < 8; a++)
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++)
        f[3 * r + c] += pos[3 * (size_t)hex[a] + (size_t)r] * grad[3 * a + c];
}

/* F and its SVD for tets begin..end-1, decomposed together */
typedef struct {
  double f[9 * BATCH], u[9 * BATCH], s[3 * BATCH], v[9 * BATCH];
} TetBatch;

static void
decompose_tets(const PlaFemModel *model, int begin, int end, const double *pos, TetBatch *batch)
{
  for (int t = begin; t < end; t++) {
    double f[9];
    pla_fem_tet_gradient(model, t, pos, f);
    for (int c = 0; c < 9; c++)
      batch->f[c * BATCH + t - begin] = f[c];
  }
  pla_svd3_batch((size_t)(end - begin), BATCH, batch->f, batch->u, batch->s, batch->v);
}

static void
batch_point(const TetBatch *batch, int k, PlaPoint *point)
{
  for (int c = 0; c < 9; c++) {
    point->f[c] = batch->f[c * BATCH + k];
    point->u[c] = batch->u[c * BATCH + k];
    point->v[c] = batch->v[c * BATCH + k];
  }
  for (int c = 0; c < 3; c++)
    point->s[c] = batch->s[c * BATCH + k];
}

static int
n_tet_batches(const PlaFemModel *model)
{
  return (model->n_tets + BATCH - 1) / BATCH;
}

double
pla_fem_energy(const PlaFemModel *model, const double *pos)
{
  double *part = pla_array_new0((size_t)model->n_tets + (size_t)model->n_hexes, sizeof *part);
  if (!part)
    return NAN;
#pragma omp parallel
  {
    TetBatch batch;
#pragma omp for schedule(static)
    for (int b = 0; b < (model->domains ? 0 : n_tet_batches(model)); b++) {
      int begin = b * BATCH, end = begin + BATCH < model->n_tets ? begin + BATCH : model->n_tets;
      bool done[BATCH];
      int n_left = 0;
      for (int t = begin; t < end; t++) {
        PlaSimpleTet simple;
        done[t - begin] = pla_simple_tet_init(&simple, model, t, pos);
        if (done[t - begin])
          part[t] = pla_simple_tet_energy(&simple);
        else
          n_left++;
      }
      if (n_left > 0)
        decompose_tets(model, begin, end, pos, &batch);
      for (int t = begin; n_left > 0 && t < end; t++) {
        if (done[t - begin])
          continue;
        const double *constants;
        const PlaMaterial *material = pla_fem_cell_law(model, t, &constants);
        PlaPoint point = { 0 };
        batch_point(&batch, t - begin, &point);
        pla_fem_cell_point(model, t, &point);
        part[t] = model->tet_volume[t] * pla_material_energy(material, constants, &point);
      }
    }
#pragma omp for schedule(static)
    for (int t = 0; t < (model->domains ? model->n_tets : 0); t++) {
      PlaSimpleTet fibres;
      if (pla_tet_fibres_init(&fibres, model, t, pos))
        part[t] = pla_tet_fibres_energy(&fibres);
    }
#pragma omp for schedule(static)
    for (int h = 0; h < model->n_hexes; h++) {
      const double *constants;
      const PlaMaterial *material = pla_fem_cell_law(model, model->n_tets + h, &constants);
      double sum = 0.0;
      for (int q = 0; q < 8; q++) {
        PlaPoint point = { 0 };
        pla_fem_hex_gradient(model, h, q, pos, point.f);
        pla_point_decompose(&point);
        pla_fem_cell_point(model, model->n_tets + h, &point);
        sum += model->hex_weight[8 * (size_t)h + (size_t)q] *
               pla_material_energy(material, constants, &point);
      }
      part[model->n_tets + h] = sum;
    }
  }
  double energy = pla_sum(part, (size_t)model->n_tets + (size_t)model->n_hexes);
  free(part);
  if (model->domains)
    energy += pla_fem_domains_energy(model, pos);
  return model->patches ? energy + pla_fem_patches_energy(model, pos) : energy;
}

/* P += pressure cof(F) */
static void
add_pressure(const double f[9], double pressure, double p[9])
{
  double cofactor[9];
  pla_mat3_cofactor(f, cofactor);
  for (int i = 0; i < 9; i++)
    p[i] += pressure * cofactor[i];
}

/* corner forces of a tet that has nothing but the pressure of its patches */
static void
pressure_forces(const PlaFemModel *model, int t, const double *pos, double pressure, double *corner)
{
  double f[9], cofactor[9], grad[4][3];
  pla_fem_tet_gradient(model, t, pos, f);
  pla_mat3_cofactor(f, cofactor);
  pla_fem_tet_shape(model, t, grad);
  for (int a = 0; a < 4; a++) {
    double g[3];
    pla_mat3_apply(cofactor, grad[a], g);
    for (int i = 0; i < 3; i++)
      corner[3 * a + i] = -model->tet_volume[t] * pressure * g[i];
  }
}

/* corner[4 t + a] of tets, then hexes */
static void
corner_forces(const PlaFemModel *model, const double *pos, const double *pressure, double *corner)
{
#pragma omp parallel
  {
    TetBatch batch;
#pragma omp for schedule(static)
    for (int b = 0; b < n_tet_batches(model); b++) {
      int begin = b * BATCH, end = begin + BATCH < model->n_tets ? begin + BATCH : model->n_tets;
      bool done[BATCH];
      int n_left = 0;
      for (int t = begin; t < end; t++) {
        PlaSimpleTet simple;
        done[t - begin] = pla_simple_tet_init(&simple, model, t, pos);
        if (done[t - begin])
          pla_simple_tet_forces(&simple, corner + 12 * (size_t)t);
        else
          n_left++;
      }
      if (model->domains) {
        for (int t = begin; t < end; t++) {
          PlaSimpleTet fibres;
          pressure_forces(model, t, pos, pressure[t], corner + 12 * (size_t)t);
          if (pla_tet_fibres_init(&fibres, model, t, pos))
            pla_tet_fibres_add_forces(&fibres, corner + 12 * (size_t)t);
        }
        continue;
      }
      if (n_left > 0)
        decompose_tets(model, begin, end, pos, &batch);
      for (int t = begin; n_left > 0 && t < end; t++) {
        if (done[t - begin])
          continue;
        const double *constants;
        const PlaMaterial *material = pla_fem_cell_law(model, t, &constants);
        PlaPoint point = { 0 };
        double p[9] = { 0 }, grad[4][3];
        batch_point(&batch, t - begin, &point);
        pla_fem_cell_point(model, t, &point);
        pla_material_stress(material, constants, &point, p);
        if (pressure)
          add_pressure(point.f, pressure[t], p);
        pla_fem_tet_shape(model, t, grad);
        for (int a = 0; a < 4; a++)
          for (int i = 0; i < 3; i++)
            corner[12 * (size_t)t + (size_t)(3 * a + i)] =
                -model->tet_volume[t] *
                (p[3 * i] * grad[a][0] + p[3 * i + 1] * grad[a][1] + p[3 * i + 2] * grad[a][2]);
      }
    }
#pragma omp for schedule(static)
    for (int h = 0; h < model->n_hexes; h++) {
      const double *constants;
      const PlaMaterial *material = pla_fem_cell_law(model, model->n_tets + h, &constants);
      double *out = corner + 12 * (size_t)model->n_tets + 24 * (size_t)h;
      memset(out, 0, 24 * sizeof *out);
      for (int q = 0; q < 8; q++) {
        const double w = model->hex_weight[8 * (size_t)h + (size_t)q];
        const double *grad = model->hex_grad + (8 * (size_t)h + (size_t)q) * 24;
        PlaPoint point = { 0 };
        double p[9];
        pla_fem_hex_gradient(model, h, q, pos, point.f);
        pla_point_decompose(&point);
        pla_fem_cell_point(model, model->n_tets + h, &point);
        pla_material_stress(material, constants, &point, p);
        if (pressure)
          add_pressure(point.f, pressure[model->n_tets + h], p);
        for (int a = 0; a < 8; a++)
          for (int i = 0; i < 3; i++)
            out[3 * a + i] -= w * (p[3 * i] * grad[3 * a] + p[3 * i + 1] * grad[3 * a + 1] +
                                   p[3 * i + 2] * grad[3 * a + 2]);
      }
    }
  }
}

/* force[v] = sum of the corner forces around v, in stored order */
static void
gather(const PlaIncidence *inc, const double *corner, double *force)
{
#pragma omp parallel for schedule(static)
  for (int v = 0; v < inc->n_verts; v++) {
    double f[3] = { 0.0, 0.0, 0.0 };
    for (int k = inc->start[v]; k < inc->start[v + 1]; k++)
      for (int d = 0; d < 3; d++)
        f[d] += corner[3 * (size_t)inc->corner[k] + (size_t)d];
    memcpy(force + 3 * (size_t)v, f, sizeof f);
  }
}

PlaStatus
pla_fem_forces(const PlaFemModel *model, const double *pos, double *force, PlaError *err)
{
  size_t n_corners = 4 * (size_t)model->n_tets + 8 * (size_t)model->n_hexes;
  double *corner = pla_array_new(n_corners, 3 * sizeof *corner), *pressure = NULL, *scratch = NULL;
  bool enough = corner != NULL;
  if (enough && model->patches) {
    pressure = pla_array_new((size_t)model->n_tets + (size_t)model->n_hexes, sizeof *pressure);
    scratch = pla_array_new((size_t)model->patches->n, sizeof *scratch);
    enough = pressure && scratch;
  }
  if (enough) {
    if (model->patches)
      pla_fem_patches_pressure(model, pos, scratch, pressure);
    corner_forces(model, pos, pressure, corner);
    gather(&model->incidence, corner, force);
  }
  free(corner);
  free(pressure);
  free(scratch);
  if (!enough)
    return pla_fail_memory(err, "the element forces");
  return model->domains ? pla_fem_domains_add_forces(model, pos, force, err) : PLA_OK;
}

int
pla_fem_inverted(const PlaFemModel *model, const double *pos, double *min_jacobian, int *worst)
{
  int inverted = 0, where = -1;
  double least = INFINITY;
  for (int t = 0; t < model->n_tets; t++) {
    double f[9];
    pla_fem_tet_gradient(model, t, pos, f);
    double det = pla_mat3_det(f);
    inverted += !(det > 0.0);
    if (!(det >= least)) {
      least = det;
      where = t;
    }
  }
  for (int h = 0; h < model->n_hexes; h++) {
    double lowest = INFINITY;
    for (int q = 0; q < 8; q++) {
      double f[9];
      pla_fem_hex_gradient(model, h, q, pos, f);
      lowest = fmin(lowest, pla_mat3_det(f));
    }
    inverted += !(lowest > 0.0);
    if (!(lowest >= least)) {
      least = lowest;
      where = model->n_tets + h;
    }
  }
  if (min_jacobian)
    *min_jacobian = least;
  if (worst)
    *worst = where;
  return inverted;
}

/* stiffness += w B^T H B for @k nodes with shape gradients @grad (k x 3) */
static void
add_point_stiffness(int k, const double *grad, double w, const double h[81], double *stiffness)
{
  for (int b = 0; b < k; b++) {
    /* hb[(i, m)][j] = sum_l H[(i, m)][(j, l)] grad_b[l] */
    double hb[9][3];
    for (int r = 0; r < 9; r++)
      for (int j = 0; j < 3; j++)
        hb[r][j] = w * (h[9 * r + 3 * j] * grad[3 * b] + h[9 * r + 3 * j + 1] * grad[3 * b + 1] +
                        h[9 * r + 3 * j + 2] * grad[3 * b + 2]);
    for (int a = 0; a < k; a++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          stiffness[(size_t)(3 * a + i) * 3 * (size_t)k + (size_t)(3 * b + j)] +=
              grad[3 * a] * hb[3 * i][j] + grad[3 * a + 1] * hb[3 * i + 1][j] +
              grad[3 * a + 2] * hb[3 * i + 2][j];
  }
}

/* the tangent at one point of cell @c */
static void
point_tangent(const PlaFemModel *model, int c, PlaPoint *point, const double *pressure,
              bool project, double h[81])
{
  const double *constants;
  const PlaMaterial *material = pla_fem_cell_law(model, c, &constants);
  pla_point_decompose(point);
  pla_fem_cell_point(model, c, point);
  pla_material_tangent(material, constants, point, project && !pressure, h);
  if (!pressure)
    return;
  /* d cof(F) / dF: each entry is a minor, linear in the entries of the other rows and columns */
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int a = 1; a < 3; a++)
        for (int b = 1; b < 3; b++) {
          int k = (i + a) % 3, l = (j + b) % 3, m = 3 - i - k, n = 3 - j - l;
          h[9 * (3 * i + j) + 3 * k + l] +=
              (a == b ? 1.0 : -1.0) * pressure[c] * point->f[3 * m + n];
        }
  if (project && !pla_definite(9, h))
    pla_definite_project(9, h);
}

/* What the pressure of patches adds to a tet, d^2 J / dx_a dx_b times pressure: K_ab = p V [w]x
 * with w = F (g_a x g_b), and [w]x v = w x v up to the sign. */
static void
pressure_stiffness(const PlaFemModel *model, int t, const double f[9], double pressure,
                   double stiffness[144])
{
  const double scale = pressure * model->tet_volume[t];
  double grad[4][3];
  pla_fem_tet_shape(model, t, grad);
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      double cross[3], w[3], *k = stiffness + 36 * a + 3 * b;
      if (a == b)
        continue;
      pla_vec3_cross(grad[a], grad[b], cross);
      pla_mat3_apply(f, cross, w);
      for (int i = 0; i < 3; i++) {
        k[12 * i + (i + 1) % 3] = scale * w[(i + 2) % 3];
        k[12 * ((i + 1) % 3) + i] = -scale * w[(i + 2) % 3];
      }
    }
}

/* what keeps a tet from turning inside out: its curvature times dJ dJ^T */
static void
add_barrier(const PlaFemModel *model, int t, const double f[9], double stiffness[144])
{
  const double b = pla_fem_patches_barrier(model->patches, t, pla_mat3_det(f));
  double grad[4][3], cofactor[9], slope[4][3];
  if (b == 0.0)
    return;
  pla_mat3_cofactor(f, cofactor);
  pla_fem_tet_shape(model, t, grad);
  for (int a = 0; a < 4; a++)
    pla_mat3_apply(cofactor, grad[a], slope[a]);
  for (int r = 0; r < 12; r++)
    for (int c = 0; c < 12; c++)
      stiffness[12 * r + c] += b * model->tet_volume[t] * slope[r / 3][r % 3] * slope[c / 3][c % 3];
}

void
pla_fem_cell_stiffness(const PlaFemModel *model, int c, const double *pos, const double *pressure,
                       bool project, double *stiffness)
{
  double h[81];
  if (c < model->n_tets) {
    PlaPoint point = { 0 };
    PlaSimpleTet simple;
    double grad[4][3];
    if (!project && pla_simple_tet_init(&simple, model, c, pos)) {
      pla_simple_tet_stiffness(&simple, stiffness);
      return;
    }
    memset(stiffness, 0, 144 * sizeof *stiffness);
    pla_fem_tet_gradient(model, c, pos, point.f);
    if (model->domains) {
      /* alone, what pressure adds is never definite */
      if (!project)
        pressure_stiffness(model, c, point.f, pressure[c], stiffness);
      add_barrier(model, c, point.f, stiffness);
      if (pla_tet_fibres_init(&simple, model, c, pos))
        pla_tet_fibres_add_stiffness(&simple, project, stiffness);
      return;
    }
    point_tangent(model, c, &point, pressure, project, h);
    pla_fem_tet_shape(model, c, grad);
    add_point_stiffness(4, &grad[0][0], model->tet_volume[c], h, stiffness);
    return;
  }
  int hex = c - model->n_tets;
  memset(stiffness, 0, 576 * sizeof *stiffness);
  for (int q = 0; q < 8; q++) {
    PlaPoint point = { 0 };
    pla_fem_hex_gradient(model, hex, q, pos, point.f);
    point_tangent(model, c, &point, pressure, project, h);
    add_point_stiffness(8, model->hex_grad + (8 * (size_t)hex + (size_t)q) * 24,
                        model->hex_weight[8 * (size_t)hex + (size_t)q], h, stiffness);
  }
}

void
pla_fem_cell_state(const PlaFemModel *model, int c, const double *pos, PlaFemCellState *out)
{
  const double *constants;
  const PlaMaterial *material = pla_fem_cell_law(model, c, &constants);
  PlaPoint point = { 0 };
  double p[9], sigma[9];
  if (c < model->n_tets) {
    pla_fem_tet_gradient(model, c, pos, point.f);
  } else {
    /* the mean over the points, weighted by volume */
    double total = 0.0;
    for (int q = 0; q < 8; q++) {
      double f[9], w = model->hex_weight[8 * (size_t)(c - model->n_tets) + (size_t)q];
      pla_fem_hex_gradient(model, c - model->n_tets, q, pos, f);
      for (int i = 0; i < 9; i++)
        point.f[i] += w * f[i];
      total += w;
    }
    for (int i = 0; i < 9; i++)
      point.f[i] /= total;
  }
  pla_point_decompose(&point);
  pla_fem_cell_point(model, c, &point);
  /* without what the patches add, which has no part in the deviator */
  pla_material_stress(material, constants, &point, p);
  out->jacobian = pla_mat3_det(point.f);
  memcpy(out->stretch, point.s, sizeof point.s);
  pla_mat3_mul_tn(point.f, point.f, out->strain);
  for (int i = 0; i < 9; i++)
    out->strain[i] = 0.5 * (out->strain[i] - (i % 4 == 0 ? 1.0 : 0.0));

  /* sigma = P F^T / J, and its deviator's size */
  pla_mat3_mul_nt(p, point.f, sigma);
  double j = fabs(out->jacobian) > 1e-12 ? out->jacobian : 1e-12;
  double mean = (sigma[0] + sigma[4] + sigma[8]) / 3.0, sum = 0.0;
  for (int i = 0; i < 9; i++) {
    double d = sigma[i] - (i % 4 == 0 ? mean : 0.0);
    sum += d * d;
  }
  out->von_mises_pa = sqrt(1.5 * sum) / fabs(j);
  for (int i = 0; i < 9; i++)
    out->cauchy_pa[i] = sigma[i] / j;
}

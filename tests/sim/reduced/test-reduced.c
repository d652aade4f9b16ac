/* The reduced body: slopes by complex steps, curvature of a quadratic energy, non-negative least
 * squares, cubature against the whole mesh, exact constraints, volume, recovery from flatness, the
 * same bits for any number of threads. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/linear/dense.h"
#include "sim/material/complex-step.h"
#include "sim/reduced/reduced-private.h"
#include "sim/reduced/weights.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a block clamped at its bottom, two quadratic domains */
typedef struct {
  PlaMesh *mesh;
  PlaFemModel *fem;
  PlaDomains *domains;
  PlaReducedBasis basis;
  unsigned char *clamped;
  int seed[2];
} Block;

static int
nearest_vertex(const PlaMesh *mesh, double x, double y, double z)
{
  int best = 0;
  double least = INFINITY;
  for (int v = 0; v < mesh->n_verts; v++) {
    const double *p = mesh->pos + 3 * v;
    const double d = pow(p[0] - x, 2) + pow(p[1] - y, 2) + pow(p[2] - z, 2);
    if (d < least) {
      least = d;
      best = v;
    }
  }
  return best;
}

static Block
block_new(const char *material, double poisson, int cells)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.06, 0.04, 0.04 };
  const int n[3] = { cells + cells / 2, cells, cells };
  PlaFemMaterial m = { .material = pla_material_find(material), .density = 1000.0 };
  const double param[2] = { 7000.0, poisson };
  PlaWeightOptions options = pla_weight_options_default();
  Block b = { 0 };
  PlaError err;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &b.mesh, &err), ==, PLA_OK);
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  const PlaTetMesh tets = pla_mesh_tets(b.mesh);
  g_autofree int *cell = g_new0(int, tets.n_tets);
  g_assert_cmpint(pla_fem_model_new(b.mesh, &m, 1, cell, PLA_FORMULATION_STANDARD, &b.fem, &err),
                  ==, PLA_OK);
  b.clamped = g_new0(unsigned char, tets.n_verts);
  for (int v = 0; v < tets.n_verts; v++)
    b.clamped[v] = b.mesh->pos[3 * v + 2] < 1e-9;
  b.seed[0] = nearest_vertex(b.mesh, 0.015, 0.02, 0.04);
  b.seed[1] = nearest_vertex(b.mesh, 0.045, 0.02, 0.04);
  g_assert_cmpint(pla_domains_new(&tets, b.seed, 2, &b.domains, &err), ==, PLA_OK);
  g_autofree double *weight = g_new(double, 2 * tets.n_verts);
  g_autofree unsigned char *inside = g_new(unsigned char, tets.n_tets);
  g_autofree unsigned char *held = g_memdup2(b.clamped, (gsize)tets.n_verts);
  memset(inside, 1, (size_t)tets.n_tets);
  for (int i = 0; i < 2; i++) {
    held[b.seed[1 - i]] = 1;
    const PlaWeightDomain domain = { &tets, inside, b.seed[i], held };
    g_assert_cmpint(pla_domain_weight(&domain, &options, weight + i * tets.n_verts, NULL, &err), ==,
                    PLA_OK);
    held[b.seed[1 - i]] = 0;
  }
  g_assert_cmpint(pla_reduced_basis_init(&b.basis, &tets, b.seed, 2, weight, NULL,
                                         PLA_BASIS_QUADRATIC, &err),
                  ==, PLA_OK);
  return b;
}

static void
block_clear(Block *b)
{
  pla_reduced_basis_clear(&b->basis);
  pla_domains_free(b->domains);
  pla_fem_model_free(b->fem);
  pla_mesh_free(b->mesh);
  g_free(b->clamped);
}

static PlaReducedModel *
model_of(const Block *b, int per_segment, int n_pressures)
{
  PlaCubature cubature;
  PlaReducedModel *model;
  PlaError err;
  g_assert_cmpint(pla_cubature_sample(b->fem, b->domains, per_segment, &cubature, &err), ==,
                  PLA_OK);
  g_assert_cmpint(pla_reduced_model_new(b->fem, &b->basis, 0, NULL, &cubature, &model, &err), ==,
                  PLA_OK);
  pla_cubature_clear(&cubature);
  if (n_pressures > 0) {
    g_autofree double *p = g_new(double, n_pressures * b->mesh->n_verts);
    for (int k = 0; k < n_pressures; k++)
      for (int v = 0; v < b->mesh->n_verts; v++)
        p[k * b->mesh->n_verts + v] = sin((k + 1) * 60.0 * b->mesh->pos[3 * v] + k);
    g_assert_cmpint(pla_reduced_model_set_pressures(model, n_pressures, p, &err), ==, PLA_OK);
    g_assert_cmpint(pla_reduced_model_n_pressures(model), ==, n_pressures);
  }
  return model;
}

static void
random_q(double *q, int n, double size, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  for (int i = 0; i < n; i++)
    q[i] = g_rand_double_range(rand, -size, size);
}

/* ---- derivatives ---- */

/* the elastic and pressure energy at q + i h d, from the energies of complex F */
static double complex
complex_energy(const PlaReducedModel *m, const double *q, const double *d, double stiffness)
{
  const int k = m->basis.n_funcs;
  double complex energy = 0.0;
  g_autofree double complex *amount = g_new0(double complex, m->n_pressures + 1);
  for (int l = 0; l < m->n_points; l++) {
    const double *grad = m->grad + 3 * l * k, *constants;
    const PlaMaterial *law = pla_fem_cell_law(m->fem, m->tet[l], &constants);
    PlaDual f[9], invariant[3];
    PlaPoint point = { 0 };
    for (int i = 0; i < 3; i++)
      for (int a = 0; a < 3; a++) {
        double re = i == a, im = 0.0;
        for (int o = 0; o < k; o++) {
          re += q[3 * o + i] * grad[a * k + o];
          im += PLA_COMPLEX_STEP * d[3 * o + i] * grad[a * k + o];
        }
        f[3 * i + a] = (PlaDual){ pla_complex(re, im), 0.0 };
        point.f[3 * i + a] = re;
      }
    pla_point_decompose(&point);
    energy += m->weight[l] * pla_material_complex_energy(law, constants, &point, f).a;
    pla_dual_invariants(f, invariant);
    for (int p = 0; p < m->n_pressures; p++)
      amount[p] +=
          m->weight[l] / m->volume * m->pressure[p * m->n_points + l] * (invariant[2].a - 1.0);
  }
  for (int p = 0; p < m->n_pressures; p++)
    energy += 0.5 * stiffness * m->volume * amount[p] * amount[p];
  return energy;
}

static void
test_slope(void)
{
  static const char *const materials[] = { "stvk", "stable-neo-hookean", "neo-hookean" };
  for (int k = 0; k < 3; k++) {
    Block b = block_new(materials[k], 0.4, 4);
    PlaReducedModel *model = model_of(&b, 30, 3);
    const int n = 3 * model->basis.n_funcs;
    const double stiffness = 3e4;
    PlaReducedScratch scratch;
    PlaError err;
    g_assert_cmpint(pla_reduced_scratch_init(&scratch, model, &err), ==, PLA_OK);
    g_autofree double *q = g_new(double, n), *d = g_new(double, n), *slope = g_new0(double, n);
    random_q(q, n, 0.002, 1);
    random_q(d, n, 1.0, 2);
    pla_reduced_gradients(model, q, NULL, &scratch);
    double energy = pla_reduced_add_elastic(model, &scratch, slope, NULL);
    energy += pla_reduced_add_pressures(model, stiffness, &scratch, slope, NULL);
    const double complex exact = complex_energy(model, q, d, stiffness);
    const double along = pla_dot(slope, d, (size_t)n), wanted = cimag(exact) / PLA_COMPLEX_STEP;
    g_assert_cmpfloat(fabs(energy - creal(exact)), <=, 1e-12 * energy);
    g_assert_cmpfloat(fabs(along - wanted), <=, 1e-11 * fabs(wanted));
    pla_reduced_scratch_clear(&scratch);
    pla_reduced_model_free(model);
    block_clear(&b);
  }
}

/* with the linear law the energy is quadratic: slope = curvature q = the whole mesh's force,
 * reduced */
static void
test_curvature(void)
{
  Block b = block_new("linear", 0.3, 3);
  PlaReducedModel *model =
      model_of(&b, b.fem->n_tets, 0); /* every tet, with its own volume below */
  const int n = 3 * model->basis.n_funcs;
  g_autofree double *q = g_new(double, n), *slope = g_new(double, n), *h = g_new(double, n *n);
  g_autofree double *pos = g_new(double, 3 * b.mesh->n_verts),
                    *force = g_new(double, 3 * b.mesh->n_verts);
  g_autofree double *reduced = g_new(double, n);
  double largest = 0.0;
  PlaError err;
  for (int l = 0; l < model->n_points; l++)
    model->weight[l] = b.fem->tet_volume[model->tet[l]];
  g_assert_cmpint(model->n_points, ==, b.fem->n_tets);
  random_q(q, n, 0.001, 3);
  const double energy = pla_reduced_elastic(model, q, NULL, slope, h);
  pla_reduced_basis_apply(&b.basis, q, pos);
  for (int i = 0; i < 3 * b.mesh->n_verts; i++)
    pos[i] += b.mesh->pos[i];
  g_assert_cmpfloat(fabs(energy - pla_fem_energy(b.fem, pos)), <=, 1e-12 * energy);
  g_assert_cmpint(pla_fem_forces(b.fem, pos, force, &err), ==, PLA_OK);
  pla_reduced_basis_reduce(&b.basis, force, reduced);
  for (int i = 0; i < n; i++)
    largest = fmax(largest, fabs(slope[i]));
  for (int i = 0; i < n; i++) {
    g_assert_cmpfloat(fabs(slope[i] - pla_dot(h + i * n, q, (size_t)n)), <=, 1e-11 * largest);
    g_assert_cmpfloat(fabs(slope[i] + reduced[i]), <=, 1e-11 * largest);
  }
  pla_reduced_model_free(model);
  block_clear(&b);
}

/* the volume's slope by complex steps, as the body's whole energy sees it */
static void
test_volume_slope(void)
{
  Block b = block_new("stable-neo-hookean", 0.45, 3);
  PlaReducedModel *model = model_of(&b, 20, 2);
  const int n = 3 * model->basis.n_funcs;
  PlaReducedOptions with = pla_reduced_options_default(), without = with;
  PlaReducedBody *body[2];
  PlaError err;
  without.volume_stiffness = 0.0;
  g_assert_cmpint(pla_reduced_body_new(model, &with, NULL, 0, NULL, NULL, 0, &body[0], &err), ==,
                  PLA_OK);
  g_assert_cmpint(pla_reduced_body_new(model, &without, NULL, 0, NULL, NULL, 0, &body[1], &err), ==,
                  PLA_OK);
  g_autofree double *q = g_new(double, n), *d = g_new(double, n);
  g_autofree double *slope = g_new(double, n), *less = g_new(double, n);
  g_autofree double *dx = g_new(double, 3 * b.mesh->n_verts);
  random_q(q, n, 0.002, 5);
  random_q(d, n, 1.0, 6);
  for (int k = 0; k < 2; k++)
    pla_reduced_body_set_q(body[k], q, NULL);
  pla_reduced_body_energy(body[0], slope);
  pla_reduced_body_energy(body[1], less);
  for (int i = 0; i < n; i++)
    slope[i] -= less[i];
  /* sum of complex volumes of all tets */
  const double *pos = pla_reduced_body_get_pos(body[0]);
  pla_reduced_basis_apply(&b.basis, d, dx);
  double complex volume = 0.0;
  for (int t = 0; t < b.mesh->n_tets; t++) {
    const int *v = b.mesh->tet + 4 * t;
    double complex e[9];
    for (int a = 0; a < 3; a++)
      for (int c = 0; c < 3; c++)
        e[3 * a + c] = pla_complex(pos[3 * v[a + 1] + c] - pos[3 * v[0] + c],
                                   PLA_COMPLEX_STEP * (dx[3 * v[a + 1] + c] - dx[3 * v[0] + c]));
    volume += (e[0] * (e[4] * e[8] - e[5] * e[7]) - e[1] * (e[3] * e[8] - e[5] * e[6]) +
               e[2] * (e[3] * e[7] - e[4] * e[6])) /
              6.0;
  }
  const double complex change = volume / model->volume - 1.0;
  const double wanted =
      cimag(0.5 * with.volume_stiffness * model->volume * change * change) / PLA_COMPLEX_STEP;
  g_assert_cmpfloat(fabs(pla_dot(slope, d, (size_t)n) - wanted), <=, 1e-9 * fabs(wanted));
  for (int k = 0; k < 2; k++)
    pla_reduced_body_free(body[k]);
  pla_reduced_model_free(model);
  block_clear(&b);
}

/* ---- least squares ---- */

static void
test_nnls(void)
{
  enum { ROWS = 60, COLUMNS = 24 };
  g_autofree double *a = g_new(double, ROWS *COLUMNS), *b = g_new0(double, ROWS);
  double gram[COLUMNS * COLUMNS] = { 0 }, rhs[COLUMNS] = { 0 }, x[COLUMNS], rel, size2 = 0.0;
  random_q(a, ROWS * COLUMNS, 1.0, 7);
  for (int i = 0; i < ROWS; i++)
    b[i] = 2.0 * a[i * COLUMNS + 3] + 0.5 * a[i * COLUMNS + 11] - 0.7 * a[i * COLUMNS + 5];
  for (int i = 0; i < ROWS; i++) {
    size2 += b[i] * b[i];
    for (int j = 0; j < COLUMNS; j++) {
      rhs[j] += a[i * COLUMNS + j] * b[i];
      for (int k = 0; k < COLUMNS; k++)
        gram[j * COLUMNS + k] += a[i * COLUMNS + j] * a[i * COLUMNS + k];
    }
  }
  g_assert_cmpint(pla_nnls(COLUMNS, gram, rhs, size2, 0.0, COLUMNS, x, &rel), >, 0);
  /* conditions of the minimum: no coefficient negative, no slope that could still lower it */
  for (int j = 0; j < COLUMNS; j++) {
    double slope = rhs[j];
    for (int k = 0; k < COLUMNS; k++)
      slope -= gram[j * COLUMNS + k] * x[k];
    g_assert_cmpfloat(x[j], >=, 0.0);
    g_assert_cmpfloat(slope, <=, 1e-8 * size2);
    if (x[j] > 0.0)
      g_assert_cmpfloat(fabs(slope), <=, 1e-8 * size2);
  }
  /* what is a combination with coefficients that are not negative comes back exactly */
  for (int j = 0; j < COLUMNS; j++)
    rhs[j] = 2.0 * gram[j * COLUMNS + 3] + 0.5 * gram[j * COLUMNS + 11];
  size2 = 2.0 * rhs[3] + 0.5 * rhs[11];
  pla_nnls(COLUMNS, gram, rhs, size2, 1e-9, COLUMNS, x, &rel);
  g_assert_cmpfloat(fabs(x[3] - 2.0), <, 1e-6);
  g_assert_cmpfloat(fabs(x[11] - 0.5), <, 1e-6);
}

/* ---- cubature ---- */

static double *
poses_of(const Block *b, int n_poses)
{
  PlaReducedModel *rough = model_of(b, 60, 0);
  const PlaReducedOptions options = pla_reduced_options_default();
  const double nothing[1] = { 0 };
  const size_t n = 3 * (size_t)b->mesh->n_verts;
  double *poses = g_new(double, n *(size_t)n_poses);
  PlaReducedBody *body;
  PlaReducedReport report;
  PlaError err;
  g_autoptr(GRand) rand = g_rand_new_with_seed(11);
  g_assert_cmpint(pla_reduced_body_new(rough, &options, b->seed, 2, NULL, NULL, 0, &body, &err), ==,
                  PLA_OK);
  for (int p = 0; p < n_poses; p++) {
    double target[6];
    for (int i = 0; i < 6; i++)
      target[i] =
          b->mesh->pos[3 * b->seed[i / 3] + i % 3] + g_rand_double_range(rand, -0.008, 0.008);
    g_assert_cmpint(pla_reduced_body_settle(body, target, nothing, NULL, &report, &err), ==,
                    PLA_OK);
    memcpy(poses + (size_t)p * n, pla_reduced_body_get_pos(body), n * sizeof *poses);
  }
  pla_reduced_body_free(body);
  pla_reduced_model_free(rough);
  return poses;
}

/* reduced forces of poses that were not trained on, by cubature and by the whole mesh */
static double
held_out_error(const Block *b, const PlaCubature *cubature, int n_poses, const double *poses)
{
  PlaReducedModel *model;
  PlaError err;
  const int m = 3 * b->basis.n_funcs;
  const size_t n = 3 * (size_t)b->mesh->n_verts;
  double wrong = 0.0, whole = 0.0;
  g_assert_cmpint(pla_reduced_model_new(b->fem, &b->basis, 0, NULL, cubature, &model, &err), ==,
                  PLA_OK);
  g_autofree double *force = g_new(double, n), *exact = g_new(double, m), *sum = g_new(double, m);
  for (int p = 0; p < n_poses; p++) {
    const double *pos = poses + (size_t)p * n;
    memset(sum, 0, (size_t)m * sizeof *sum);
    for (int l = 0; l < model->n_points; l++) {
      const double *constants, *grad = model->grad + l * m;
      const PlaMaterial *law = pla_fem_cell_law(b->fem, model->tet[l], &constants);
      PlaPoint point = { 0 };
      double stress[9];
      pla_fem_tet_gradient(b->fem, model->tet[l], pos, point.f);
      pla_point_decompose(&point);
      pla_material_stress(law, constants, &point, stress);
      for (int k = 0; k < m / 3; k++)
        for (int i = 0; i < 3; i++)
          for (int a = 0; a < 3; a++)
            sum[3 * k + i] += model->weight[l] * stress[3 * i + a] * grad[a * (m / 3) + k];
    }
    g_assert_cmpint(pla_fem_forces(b->fem, pos, force, &err), ==, PLA_OK);
    pla_reduced_basis_reduce(&b->basis, force, exact);
    for (int i = 0; i < m; i++) {
      wrong += pow(sum[i] + exact[i], 2);
      whole += pow(exact[i], 2);
    }
  }
  pla_reduced_model_free(model);
  return sqrt(wrong / whole);
}

static void
test_cubature(void)
{
  const int cells = g_getenv("PLA_SMALL") ? 6 : 8, n_poses = 12, n_new = 4;
  Block b = block_new("stable-neo-hookean", 0.45, cells);
  g_autofree double *poses = poses_of(&b, n_poses + n_new);
  PlaCubatureOptions options = pla_cubature_options_default();
  PlaCubature cubature;
  PlaError err;
  double reached, all;
  options.error = 0.05;
  options.most = 120;
  g_assert_cmpint(pla_cubature_train(b.fem, &b.basis, b.domains, n_poses, poses, &options, NULL,
                                     &cubature, &reached, &err),
                  ==, PLA_OK);
  all = held_out_error(&b, &cubature, n_new, poses + 3 * (size_t)n_poses * (size_t)b.mesh->n_verts);
  g_test_message("%d tets of %d: %.3f of the trained forces, %.3f of others", cubature.n,
                 b.fem->n_tets, reached, all);
  g_assert_cmpfloat(reached, <=, 0.07);
  g_assert_cmpint(cubature.n, <=, 240);
  for (int l = 0; l < cubature.n; l++)
    g_assert_cmpfloat(cubature.weight[l], >, 0.0);
  g_assert_cmpfloat(all, <, 0.25);
  pla_cubature_clear(&cubature);
  block_clear(&b);
}

/* ---- motion ---- */

static void
test_constraints(void)
{
  Block b = block_new("stable-neo-hookean", 0.49, 4);
  PlaReducedModel *model = model_of(&b, 40, 0);
  const PlaReducedOptions options = pla_reduced_options_default();
  PlaReducedOptions loose = options;
  const double nothing[1] = { 0 };
  PlaReducedReport report = { 0 }, free_report;
  PlaReducedBody *body, *other;
  double target[6];
  PlaError err;
  loose.volume_stiffness = loose.pressure_stiffness = 0.0;
  g_assert_cmpint(pla_reduced_body_new(model, &options, b.seed, 2, NULL, NULL, 0, &body, &err), ==,
                  PLA_OK);
  g_assert_cmpint(pla_reduced_body_new(model, &loose, b.seed, 2, NULL, NULL, 0, &other, &err), ==,
                  PLA_OK);
  double worst[2] = { 0 };
  for (int step = 0; step < 20; step++) {
    for (int i = 0; i < 6; i++)
      target[i] = b.mesh->pos[3 * b.seed[i / 3] + i % 3] + 0.006 * sin(0.4 * step + 1.3 * i);
    g_assert_cmpint(pla_reduced_body_step(body, target, nothing, NULL, &report, &err), ==, PLA_OK);
    g_assert_cmpint(pla_reduced_body_step(other, target, nothing, NULL, &free_report, &err), ==,
                    PLA_OK);
    g_assert_cmpfloat(report.sensor_error, <, 1e-12);
    worst[0] = fmax(worst[0], fabs(report.volume_ratio - 1.0));
    worst[1] = fmax(worst[1], fabs(free_report.volume_ratio - 1.0));
  }
  g_test_message("volume within %.5f, %.5f without", worst[0], worst[1]);
  g_assert_cmpfloat(worst[0], <, 0.002);
  g_assert_cmpfloat(worst[0], <, 0.5 * worst[1]);
  /* a coordinate without a target goes where it costs least: less than held elsewhere */
  g_assert_cmpint(pla_reduced_body_settle(body, target, nothing, NULL, &report, &err), ==, PLA_OK);
  const double held = pla_reduced_body_energy(body, NULL);
  target[4] = NAN;
  g_assert_cmpint(pla_reduced_body_settle(body, target, nothing, NULL, &report, &err), ==, PLA_OK);
  g_assert_cmpfloat(pla_reduced_body_energy(body, NULL), <, held);
  g_assert_cmpfloat(report.sensor_error, <, 1e-12);
  g_assert_true(report.converged);
  pla_reduced_body_free(body);
  pla_reduced_body_free(other);
  pla_reduced_model_free(model);
  block_clear(&b);
}

/* steps in time end where the quasistatic solution is */
static void
test_rest(void)
{
  Block b = block_new("stable-neo-hookean", 0.45, 3);
  PlaReducedModel *model = model_of(&b, 30, 0);
  PlaReducedOptions options = pla_reduced_options_default();
  const double nothing[1] = { 0 };
  PlaReducedReport report;
  PlaReducedBody *moving, *still;
  double target[6], off = 0.0;
  PlaError err;
  options.stiffness_damping = 0.01;
  for (int i = 0; i < 6; i++)
    target[i] = b.mesh->pos[3 * b.seed[i / 3] + i % 3] + (i % 3 == 2 ? -0.004 : 0.003);
  g_assert_cmpint(pla_reduced_body_new(model, &options, b.seed, 2, NULL, NULL, 0, &moving, &err),
                  ==, PLA_OK);
  g_assert_cmpint(pla_reduced_body_new(model, &options, b.seed, 2, NULL, NULL, 0, &still, &err), ==,
                  PLA_OK);
  g_assert_cmpint(pla_reduced_body_settle(still, target, nothing, NULL, &report, &err), ==, PLA_OK);
  for (int step = 0; step < 200; step++)
    g_assert_cmpint(pla_reduced_body_step(moving, target, nothing, NULL, &report, &err), ==,
                    PLA_OK);
  for (int i = 0; i < 3 * b.mesh->n_verts; i++)
    off = fmax(off, fabs(pla_reduced_body_get_pos(moving)[i] - pla_reduced_body_get_pos(still)[i]));
  g_assert_cmpfloat(off, <, 2e-5);
  pla_reduced_body_free(moving);
  pla_reduced_body_free(still);
  pla_reduced_model_free(model);
  block_clear(&b);
}

/* pressed to a disc, and turned inside out, the body comes back to its rest shape */
static void
test_flat(void)
{
  static const double heights[2] = { 0.0, -0.3 };
  for (int k = 0; k < 2; k++) {
    Block b = block_new("stable-neo-hookean", 0.4, 4);
    PlaReducedModel *model = model_of(&b, 60, 0);
    PlaReducedOptions options = pla_reduced_options_default();
    const int m = model->basis.n_funcs;
    const double nothing[1] = { 0 };
    PlaReducedBody *body;
    PlaReducedReport report;
    double off = 0.0;
    PlaError err;
    options.volume_stiffness = options.pressure_stiffness = 0.0;
    g_assert_cmpint(pla_reduced_body_new(model, &options, NULL, 0, NULL, NULL, 0, &body, &err), ==,
                    PLA_OK);
    /* least squares: the q whose displacement is nearest to z -> height z */
    g_autofree double *gram = g_new0(double, m *m), *q = g_new0(double, 3 * m),
                      *rhs = g_new0(double, m);
    for (int v = 0; v < b.mesh->n_verts; v++) {
      const double *phi = b.basis.phi + v * m, want = (heights[k] - 1.0) * b.mesh->pos[3 * v + 2];
      for (int i = 0; i < m; i++) {
        rhs[i] += phi[i] * want;
        for (int j = 0; j < m; j++)
          gram[i + j * m] += phi[i] * phi[j];
      }
    }
    for (int i = 0; i < m; i++)
      gram[i + i * m] *= 1.0 + 1e-10;
    g_assert_true(pla_dense_factor(m, gram));
    pla_dense_solve(m, gram, 1, rhs);
    for (int i = 0; i < m; i++)
      q[3 * i + 2] = rhs[i];
    pla_reduced_body_set_q(body, q, nothing);
    for (int round = 0; round < 8; round++)
      g_assert_cmpint(pla_reduced_body_settle(body, NULL, nothing, NULL, &report, &err), ==,
                      PLA_OK);
    for (int i = 0; i < 3 * b.mesh->n_verts; i++) {
      g_assert_true(isfinite(pla_reduced_body_get_pos(body)[i]));
      off = fmax(off, fabs(pla_reduced_body_get_pos(body)[i] - b.mesh->pos[i]));
    }
    g_test_message("from height %.1f: %.2g of the size away from rest", heights[k], off / 0.06);
    g_assert_cmpfloat(off, <, 0.01 * 0.06);
    pla_reduced_body_free(body);
    pla_reduced_model_free(model);
    block_clear(&b);
  }
}

static double
floor_distance(const double mm[3], const void *data)
{
  return 45.75 - mm[2]; /* solid above 45.75 mm */
}

/* held seeds push the block against a ceiling; and all of it with one thread and with four */
static void
test_contact_and_threads(void)
{
  Block b = block_new("stable-neo-hookean", 0.45, 4);
  const int dims[3] = { 30, 30, 30 };
  const double affine[12] = { 4, 0, 0, -30, 0, 4, 0, -30, 0, 0, 4, -30 };
  PlaLevelSet *ceiling;
  PlaError err;
  g_assert_cmpint(pla_levelset_new(dims, affine, &ceiling, &err), ==, PLA_OK);
  pla_levelset_fill(ceiling, floor_distance, NULL);
  const PlaReducedObstacle obstacle = { ceiling, { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, { 0, 0, 0 } };
  const PlaReducedOptions options = pla_reduced_options_default();
  const double nothing[1] = { 0 };
  double *kept = NULL;
  for (int threads = 1; threads <= 4; threads += 3) {
    PlaReducedReport report;
    PlaReducedBody *body;
    double deepest = 0.0;
    int touched = 0;
    PlaCubature cubature;
    PlaReducedModel *model;
    PlaCubatureOptions training = pla_cubature_options_default();
    g_autofree double *poses = NULL;
    pla_threads_set(threads);
    poses = poses_of(&b, 3);
    training.most = 30;
    g_assert_cmpint(pla_cubature_train(b.fem, &b.basis, b.domains, 3, poses, &training, NULL,
                                       &cubature, NULL, &err),
                    ==, PLA_OK);
    g_assert_cmpint(pla_reduced_model_new(b.fem, &b.basis, 0, NULL, &cubature, &model, &err), ==,
                    PLA_OK);
    g_assert_cmpint(pla_reduced_body_new(model, &options, b.seed, 2, NULL, &obstacle, 1, &body,
                                         &err),
                    ==, PLA_OK);
    for (int step = 0; step < 12; step++) {
      double target[6];
      for (int i = 0; i < 6; i++)
        target[i] = b.mesh->pos[3 * b.seed[i / 3] + i % 3];
      /* both seeds rise to just below the ceiling and near each other: what is between bulges up */
      for (int k = 0; k < 2; k++) {
        target[3 * k] += (k ? -0.009 : 0.009) * step / 11.0;
        target[3 * k + 2] += 0.0057 * step / 11.0;
      }
      g_assert_cmpint(pla_reduced_body_step(body, target, nothing, NULL, &report, &err), ==,
                      PLA_OK);
      deepest = fmax(deepest, report.max_penetration);
      touched = MAX(touched, report.contacts);
    }
    g_test_message("%d contacts, deepest %.3f mm", touched, 1e3 * deepest);
    g_assert_cmpint(touched, >, 0);
    g_assert_cmpfloat(deepest, <, 0.0005);
    const size_t size = 3 * (size_t)b.mesh->n_verts * sizeof(double);
    if (!kept)
      kept = g_memdup2(pla_reduced_body_get_pos(body), size);
    else
      g_assert_cmpmem(kept, size, pla_reduced_body_get_pos(body), size);
    pla_reduced_body_free(body);
    pla_reduced_model_free(model);
    pla_cubature_clear(&cubature);
  }
  pla_threads_set(0);
  g_free(kept);
  pla_levelset_free(ceiling);
  block_clear(&b);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/reduced/slope", test_slope);
  g_test_add_func("/reduced/curvature", test_curvature);
  g_test_add_func("/reduced/volume-slope", test_volume_slope);
  g_test_add_func("/reduced/nnls", test_nnls);
  g_test_add_func("/reduced/cubature", test_cubature);
  g_test_add_func("/reduced/constraints", test_constraints);
  g_test_add_func("/reduced/rest", test_rest);
  g_test_add_func("/reduced/flat", test_flat);
  g_test_add_func("/reduced/contact-and-threads", test_contact_and_threads);
  return g_test_run();
}

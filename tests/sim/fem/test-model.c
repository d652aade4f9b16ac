/* The finite-element model: box meshes, masses, forces as energy slopes, balance of forces and
 * torques, stiffness as force slope, the same bits for any number of threads. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/fem/model-data.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaFemModel *
box_model(const char *material, PlaBoxCells cells, const int n[3])
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.1, 0.03, 0.02 };
  PlaFemMaterial m = { .material = pla_material_find(material), .density = 1000.0 };
  double param[PLA_MAX_CONSTANTS];
  PlaError err = { 0 };
  for (int i = 0; m.material->params[i].key; i++)
    param[i] = m.material->params[i].def;
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  PlaMesh *mesh;
  PlaMeshSummary sum;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, cells, &mesh, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_summary(mesh, &sum, &err), ==, PLA_OK);
  g_assert_cmpint(sum.inverted, ==, 0);
  g_assert_cmpint(sum.components, ==, 1);
  g_assert_cmpfloat_with_epsilon(sum.volume_m3, 0.1 * 0.03 * 0.02, 1e-15);
  int *cell_material = pla_array_new0(pla_mesh_n_cells(mesh), sizeof *cell_material);
  PlaFemModel *model;
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &model,
                                    &err),
                  ==, PLA_OK);
  free(cell_material);
  pla_mesh_free(mesh);
  return model;
}

/* rest positions shaken by @amount of an edge */
static double *
shaken(const PlaFemModel *model, double amount, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  double *pos = pla_array_dup(model->rest, (size_t)model->n_verts, 3 * sizeof *pos);
  for (int i = 0; i < 3 * model->n_verts; i++)
    pos[i] += g_rand_double_range(rand, -amount, amount);
  return pos;
}

static const PlaBoxCells all_cells[3] = { PLA_BOX_HEXES, PLA_BOX_TETS_6, PLA_BOX_TETS_5 };

/* Lumped masses: the whole mass, and the momentum of any velocity field, are those of the
 * interpolated field; the kinetic energy of a uniform one is exact. */
static void
test_mass(void)
{
  const int n[3] = { 5, 3, 2 };
  const double whole = 1000.0 * 6e-5;
  for (int k = 0; k < 3; k++) {
    PlaFemModel *model = box_model("neo-hookean", all_cells[k], n);
    const double *mass = pla_fem_model_mass(model);
    double *vel = shaken(model, 3.0, 21), lumped[3] = { 0 }, field[3] = { 0 }, kinetic = 0.0;
    g_assert_cmpfloat_with_epsilon(pla_sum(mass, (size_t)model->n_verts), whole, 1e-14);
    for (int v = 0; v < model->n_verts; v++) {
      kinetic += 0.5 * mass[v] * (2.0 * 2.0 + 1.0 + 0.5 * 0.5);
      for (int d = 0; d < 3; d++)
        lumped[d] += mass[v] * vel[3 * v + d];
    }
    /* the mean over a tet, and over a brick, of what is linear or trilinear in it is the mean of
     * its corners */
    for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
      const int *verts, m = pla_fem_cell_verts(model, c, &verts);
      const double volume = c < model->n_tets ? model->tet_volume[c] : 6e-5 / model->n_hexes;
      for (int a = 0; a < m; a++)
        for (int d = 0; d < 3; d++)
          field[d] += 1000.0 * volume * vel[3 * verts[a] + d] / m;
    }
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(lumped[d], field[d], 1e-13 * 3.0 * whole);
    g_assert_cmpfloat_with_epsilon(kinetic, 0.5 * whole * 5.25, 1e-14);
    free(vel);
    pla_fem_model_free(model);
  }
}

/* no force at rest; and for every material, cell by cell and inside out, forces that neither push
 * nor turn the body: but for the linear one, whose energy a rotation changes */
static void
test_balance(void)
{
  const int n[3] = { 2, 1, 1 };
  PlaError err = { 0 };
  for (const PlaMaterial *const *material = pla_materials_get(); *material; material++)
    for (int k = 0; k < 2; k++)
      for (int trial = 0; trial < 20; trial++) {
        PlaFemModel *model = box_model((*material)->id, k ? PLA_BOX_TETS_5 : PLA_BOX_HEXES, n);
        const size_t nv = (size_t)model->n_verts;
        double *pos = shaken(model,
                             trial == 0   ? 0.0
                             : trial < 10 ? 0.003
                                          : 0.1,
                             30 + (guint32)trial);
        double *force = pla_array_new(nv, 3 * sizeof *force), sum[3] = { 0 }, torque[3] = { 0 };
        double mu, lambda, vol;
        pla_material_moduli(model->material[0].material, model->material[0].constants, &mu, &lambda,
                            &vol);
        g_assert_cmpint(pla_fem_forces(model, pos, force, &err), ==, PLA_OK);
        double size = pla_max_abs(force, 3 * nv), arm = pla_max_abs(pos, 3 * nv);
        if (trial == 0)
          g_assert_cmpfloat(size, <, 1e-12 * (mu + fabs(lambda)) * 0.1 * 0.1);
        for (size_t v = 0; trial > 0 && v < nv; v++) {
          double t[3];
          pla_vec3_cross(pos + 3 * v, force + 3 * v, t);
          for (size_t d = 0; d < 3; d++) {
            sum[d] += force[3 * v + d];
            torque[d] += t[d];
          }
        }
        g_assert_cmpfloat(pla_max_abs(sum, 3), <=, 1e-13 * size * (double)nv);
        if (strcmp((*material)->id, "linear") != 0)
          g_assert_cmpfloat(pla_max_abs(torque, 3), <=, 1e-12 * size * arm * (double)nv);
        else if (trial >= 10)
          g_assert_cmpfloat(pla_max_abs(torque, 3), >, 1e-3 * size * arm);
        free(pos);
        free(force);
        pla_fem_model_free(model);
      }
}

/* the projected stiffness of a mesh whose vertices lie anywhere, over random motions of all of
 * them: symmetric, and no motion gains energy */
static void
test_scattered_stiffness(void)
{
  const int n[3] = { 3, 2, 2 };
  for (const PlaMaterial *const *material = pla_materials_get(); *material; material++)
    for (int k = 0; k < 2; k++) {
      PlaFemModel *model = box_model((*material)->id, k ? PLA_BOX_TETS_6 : PLA_BOX_HEXES, n);
      double *pos = shaken(model, 0.5, 40);
      for (guint32 trial = 0; trial < 4; trial++) {
        double *x = shaken(model, 1.0, 50 + trial), *y = shaken(model, 1.0, 60 + trial);
        double xky = 0.0, ykx = 0.0, xkx = 0.0, size = 0.0;
        for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
          const int *verts, m = pla_fem_cell_verts(model, c, &verts);
          double stiffness[576];
          pla_fem_cell_stiffness(model, c, pos, NULL, true, stiffness);
          for (int i = 0; i < 3 * m; i++)
            for (int j = 0; j < 3 * m; j++) {
              const int p = 3 * verts[i / 3] + i % 3, q = 3 * verts[j / 3] + j % 3;
              const double entry = stiffness[i * 3 * m + j];
              xky += x[p] * entry * y[q];
              ykx += y[p] * entry * x[q];
              xkx += x[p] * entry * x[q];
              size += fabs(x[p] * entry * y[q]);
            }
        }
        if (fabs(xky - ykx) > 1e-12 * size || !(xkx >= 0.0))
          g_error("%s: x K y %.17g, y K x %.17g, x K x %g", (*material)->id, xky, ykx, xkx);
        free(x);
        free(y);
      }
      free(pos);
      pla_fem_model_free(model);
    }
}

/* forces are the slope of the energy, stiffness that of the forces; nothing pulls the body as a
 * whole, inverted elements included */
static void
test_derivatives(void)
{
  const int n[3] = { 3, 2, 2 };
  PlaError err = { 0 };
  for (int k = 0; k < 3; k++)
    for (int wild = 0; wild < 2; wild++) {
      PlaFemModel *model = box_model("neo-hookean", all_cells[k], n);
      double *pos = shaken(model, wild ? 0.02 : 0.002, 11);
      double *force = pla_array_new((size_t)model->n_verts, 3 * sizeof *force);
      g_assert_cmpint(pla_fem_forces(model, pos, force, &err), ==, PLA_OK);
      double size = pla_max_abs(force, 3 * (size_t)model->n_verts);
      double sum[3] = { 0 }, torque[3] = { 0 };
      for (int v = 0; v < model->n_verts; v++) {
        double t[3];
        pla_vec3_cross(pos + 3 * v, force + 3 * v, t);
        for (int d = 0; d < 3; d++) {
          sum[d] += force[3 * v + d];
          torque[d] += t[d];
        }
      }
      for (int d = 0; d < 3; d++) {
        g_assert_cmpfloat(fabs(sum[d]), <, 1e-12 * size * model->n_verts);
        g_assert_cmpfloat(fabs(torque[d]), <, 1e-12 * size * model->n_verts);
      }
      if (!wild) {
        const double step = 1e-6;
        for (int i = 0; i < 3 * model->n_verts; i += 7) {
          double at = pos[i];
          pos[i] = at + step;
          double above = pla_fem_energy(model, pos);
          pos[i] = at - step;
          double below = pla_fem_energy(model, pos);
          pos[i] = at;
          g_assert_cmpfloat_with_epsilon((below - above) / (2.0 * step), force[i], 1e-4 * size);
        }
        /* K y against the change of the forces along y */
        double *y = shaken(model, 1.0, 12),
               *ky = pla_array_new0((size_t)model->n_verts, 3 * sizeof *ky);
        for (int c = 0; c < model->n_tets + model->n_hexes; c++) {
          const int *verts;
          int m = pla_fem_cell_verts(model, c, &verts);
          double stiffness[576];
          pla_fem_cell_stiffness(model, c, pos, NULL, false, stiffness);
          for (int i = 0; i < 3 * m; i++)
            for (int j = 0; j < 3 * m; j++)
              ky[3 * verts[i / 3] + i % 3] +=
                  stiffness[i * 3 * m + j] * y[3 * verts[j / 3] + j % 3];
        }
        double *moved[2], *f[2];
        for (int side = 0; side < 2; side++) {
          moved[side] = pla_array_dup(pos, (size_t)model->n_verts, 3 * sizeof *pos);
          f[side] = pla_array_new((size_t)model->n_verts, 3 * sizeof *pos);
          for (int i = 0; i < 3 * model->n_verts; i++)
            moved[side][i] += (side ? 1e-7 : -1e-7) * y[i];
          g_assert_cmpint(pla_fem_forces(model, moved[side], f[side], &err), ==, PLA_OK);
        }
        double k_size = pla_max_abs(ky, 3 * (size_t)model->n_verts);
        for (int i = 0; i < 3 * model->n_verts; i++)
          g_assert_cmpfloat_with_epsilon((f[0][i] - f[1][i]) / 2e-7, ky[i], 1e-5 * k_size);
        for (int side = 0; side < 2; side++) {
          free(moved[side]);
          free(f[side]);
        }
        free(y);
        free(ky);
      }
      free(pos);
      free(force);
      pla_fem_model_free(model);
    }
}

/* neo-Hookean tets take a way of their own: the same as through stretches, by a model whose cells
 * have a prestretch of 1 */
static void
test_without_svd(void)
{
  const int n[3] = { 4, 3, 3 };
  PlaError err = { 0 };
  PlaFemModel *model = box_model("neo-hookean", PLA_BOX_TETS_6, n);
  PlaFemModel *other = box_model("neo-hookean", PLA_BOX_TETS_6, n);
  g_autofree double *g = g_new(double, 9 * model->n_tets);
  for (int t = 0; t < model->n_tets; t++)
    pla_mat3_identity(g + 9 * t);
  g_assert_cmpint(pla_fem_model_set_cells(other, &(PlaFemCells){ .prestretch = g }, &err), ==,
                  PLA_OK);
  for (int wild = 0; wild < 2; wild++) {
    const size_t nv = (size_t)model->n_verts;
    double *pos = shaken(model, wild ? 0.02 : 0.001, 14);
    double *a = pla_array_new(nv, 3 * sizeof *a), *b = pla_array_new(nv, 3 * sizeof *b);
    g_assert_cmpint(pla_fem_forces(model, pos, a, &err), ==, PLA_OK);
    g_assert_cmpint(pla_fem_forces(other, pos, b, &err), ==, PLA_OK);
    double size = pla_max_abs(b, 3 * nv), energy = pla_fem_energy(other, pos);
    g_assert_cmpfloat_with_epsilon(pla_fem_energy(model, pos), energy, 1e-12 * energy);
    for (size_t i = 0; i < 3 * nv; i++)
      g_assert_cmpfloat_with_epsilon(a[i], b[i], 1e-12 * size);
    for (int t = 0; t < model->n_tets; t++) {
      double k[144], l[144];
      pla_fem_cell_stiffness(model, t, pos, NULL, false, k);
      pla_fem_cell_stiffness(other, t, pos, NULL, false, l);
      double most = pla_max_abs(l, 144);
      for (int i = 0; i < 144; i++)
        g_assert_cmpfloat_with_epsilon(k[i], l[i], 1e-9 * most);
    }
    free(a);
    free(b);
    free(pos);
  }
  pla_fem_model_free(model);
  pla_fem_model_free(other);
}

static void
test_threads(void)
{
  const int n[3] = { 40, 12, 9 };
  PlaError err = { 0 };
  PlaFemModel *model = box_model("mooney-rivlin", PLA_BOX_TETS_6, n);
  double *pos = shaken(model, 0.001, 13), *first = NULL, energy = 0.0;
  for (int threads = 1; threads <= 4; threads *= 2) {
    pla_threads_set(threads);
    double *force = pla_array_new((size_t)model->n_verts, 3 * sizeof *force);
    g_assert_cmpint(pla_fem_forces(model, pos, force, &err), ==, PLA_OK);
    double e = pla_fem_energy(model, pos);
    if (first) {
      g_assert_true(memcmp(first, force, 3 * (size_t)model->n_verts * sizeof *force) == 0);
      g_assert_true(e == energy);
      free(force);
    } else {
      first = force;
      energy = e;
    }
  }
  free(first);
  free(pos);
  pla_fem_model_free(model);
}

static void
test_refusals(void)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 1, 1, 1 };
  const int n[3] = { 1, 1, 1 };
  PlaFemMaterial m = { .material = pla_material_find("linear"), .density = 1.0 };
  int cell_material[6] = { 0 };
  PlaError err = { 0 };
  PlaMesh *mesh;
  PlaFemModel *model;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_6, &mesh, &err), ==, PLA_OK);
  int first = mesh->tet[8];
  mesh->tet[8] = mesh->tet[9];
  mesh->tet[9] = first;
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &model,
                                    &err),
                  ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "tetrahedron 2"));
  g_assert_nonnull(strstr(err.message, "inverted"));
  mesh->pos[4] = NAN;
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &model,
                                    &err),
                  ==, PLA_ERR_FORMAT);
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fem/model/mass", test_mass);
  g_test_add_func("/fem/model/balance", test_balance);
  g_test_add_func("/fem/model/scattered-stiffness", test_scattered_stiffness);
  g_test_add_func("/fem/model/derivatives", test_derivatives);
  g_test_add_func("/fem/model/without-svd", test_without_svd);
  g_test_add_func("/fem/model/threads", test_threads);
  g_test_add_func("/fem/model/refusals", test_refusals);
  return g_test_run();
}

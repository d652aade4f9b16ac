/* What cells have of their own, in forces, stiffness and both solvers: constants, mixtures,
 * prestretch, fibres that contract by stress or by their rest shape. */
#include "tests/sim/fem/boxes.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "sim/material/mixture.h"
#include "sim/material/prestretch.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"

static const double size[3] = { 0.04, 0.01, 0.01 };
static const int cells_of[3] = { 6, 2, 2 };

static PlaFemModel *
bar_of(const char *material, PlaBoxCells kind, PlaFormulation formulation)
{
  const PlaParam *table = pla_material_find(material)->params;
  double param[PLA_MAX_CONSTANTS] = { 0 };
  for (int i = 0; table[i].key; i++)
    param[i] = table[i].def;
  return mesh_model(box_mesh(kind, size, cells_of), material, param, 1000.0, formulation);
}

static PlaFemModel *
bar(const char *material, PlaFormulation formulation)
{
  return bar_of(material, PLA_BOX_TETS_6, formulation);
}

static void
set_cells(PlaFemModel *model, const PlaFemCells *cells)
{
  PlaError err = { 0 };
  if (pla_fem_model_set_cells(model, cells, &err) != PLA_OK)
    g_error("%s", err.message);
}

/* one fibre a cell, all along @direction, of one muscle */
static void
set_fibres(PlaFemModel *model, const double direction[3], double overlap, const double *shape)
{
  const int n = model->n_tets;
  g_autofree int *start = g_new(int, n + 1);
  g_autofree double *fibre = g_new(double, 3 * n), *share = g_new(double, n);
  for (int c = 0; c <= n; c++)
    start[c] = c;
  for (int c = 0; c < n; c++) {
    memcpy(fibre + 3 * c, direction, 3 * sizeof *fibre);
    share[c] = overlap;
  }
  set_cells(
      model,
      &(PlaFemCells){
          .fibre_start = start, .fibre = fibre, .overlap = share, .n_muscles = 1, .shape = shape });
}

/* forces are the slope of the energy and the assembled stiffness that of the forces, with
 * everything that cells can have */
static void
test_derivatives(void)
{
  static const char *const materials[] = { "muscle", "blemker", "neo-hookean" };
  for (size_t k = 0; k < G_N_ELEMENTS(materials); k++)
    for (int kind = 0; kind < 4; kind++) {
      PlaFemModel *model = bar_of(materials[k], kind / 2 ? PLA_BOX_HEXES : PLA_BOX_TETS_6,
                                  (PlaFormulation)(kind % 2));
      const int nc = model->n_tets + model->n_hexes, nv = model->n_verts;
      g_autoptr(GRand) rand = g_rand_new_with_seed(5);
      g_autofree int *start = g_new(int, nc + 1), *muscle = g_new(int, 2 * nc);
      g_autofree double *fibre = g_new(double, 6 * nc), *overlap = g_new(double, 2 * nc);
      g_autofree double *prestretch = g_new(double, 9 * nc), *filled = g_new(double, nc);
      const double shape[4] = { 0.0, 0.0, 0.4, 0.7 }, activation[2] = { 0.6, 0.3 };
      for (int c = 0; c <= nc; c++)
        start[c] = 2 * c;
      for (int i = 0; i < 2 * nc; i++) {
        double d[3];
        for (int j = 0; j < 3; j++)
          d[j] = g_rand_double_range(rand, -1.0, 1.0);
        for (int j = 0; j < 3; j++)
          fibre[3 * i + j] = d[j] / pla_vec3_norm(d);
        overlap[i] = g_rand_double_range(rand, 0.1, 0.5);
        muscle[i] = i % 2;
      }
      for (int c = 0; c < nc; c++) {
        pla_prestretch_skin(fibre + 6 * c, (double[3]){ 0, 0, 1 }, 1.15, 1.05, prestretch + 9 * c);
        filled[c] = g_rand_double_range(rand, 0.05, 1.0);
      }
      set_cells(model, &(PlaFemCells){ .prestretch = prestretch,
                                       .fibre_start = start,
                                       .fibre = fibre,
                                       .overlap = overlap,
                                       .muscle = muscle,
                                       .n_muscles = 2,
                                       .shape = shape,
                                       .filled = filled });
      pla_fem_model_set_activations(model, activation);
      g_assert_cmpint(pla_fem_model_n_muscles(model), ==, 2);

      PlaError err = { 0 };
      Case c = case_new(model);
      g_autofree double *force = g_new(double, 3 * nv), *ahead = g_new(double, 3 * nv);
      g_autofree double *way = g_new(double, 3 * nv), *behind = g_new(double, 3 * nv);
      for (int i = 0; i < 3 * nv; i++) {
        c.pos[i] += g_rand_double_range(rand, -2e-4, 2e-4);
        way[i] = g_rand_double_range(rand, -1.0, 1.0);
      }
      g_assert_cmpint(pla_fem_forces(model, c.pos, force, &err), ==, PLA_OK);
      double slope = pla_dot(force, way, 3 * (size_t)nv), energy[2];
      PlaFemSystem system;
      PlaFemConditions conditions = case_conditions(&c);
      g_assert_cmpint(pla_fem_system_init(&system, model, &conditions, NULL, &err), ==, PLA_OK);
      pla_fem_system_assemble(&system, c.pos, false, 0.0);
      g_autofree double *kw = g_new(double, 3 * nv);
      pla_block_matrix_mul(&system.matrix, way, kw);
      const double step = 1e-8;
      for (int side = 0; side < 2; side++) {
        g_autofree double *moved = g_new(double, 3 * nv);
        for (int i = 0; i < 3 * nv; i++)
          moved[i] = c.pos[i] + (side ? step : -step) * way[i];
        energy[side] = pla_fem_energy(model, moved);
        g_assert_cmpint(pla_fem_forces(model, moved, side ? ahead : behind, &err), ==, PLA_OK);
      }
      g_assert_cmpfloat_with_epsilon((energy[0] - energy[1]) / (2.0 * step), slope,
                                     1e-5 * pla_norm2(force, 3 * (size_t)nv) *
                                         pla_norm2(way, 3 * (size_t)nv));
      double most = pla_max_abs(kw, 3 * (size_t)nv);
      for (int i = 0; i < 3 * nv; i++)
        g_assert_cmpfloat_with_epsilon((behind[i] - ahead[i]) / (2.0 * step), kw[i], 1e-5 * most);

      /* projected: symmetric, and no direction of negative curvature */
      pla_fem_system_assemble(&system, c.pos, true, 0.0);
      for (int trial = 0; trial < 20; trial++) {
        for (int i = 0; i < 3 * nv; i++) {
          way[i] = g_rand_double_range(rand, -1.0, 1.0);
          force[i] = g_rand_double_range(rand, -1.0, 1.0);
        }
        pla_block_matrix_mul(&system.matrix, way, kw);
        double curvature = pla_dot(way, kw, 3 * (size_t)nv);
        double across = pla_dot(force, kw, 3 * (size_t)nv);
        pla_block_matrix_mul(&system.matrix, force, kw);
        g_assert_cmpfloat(curvature, >=, 0.0);
        g_assert_cmpfloat_with_epsilon(pla_dot(way, kw, 3 * (size_t)nv), across, 1e-12 * curvature);
      }
      pla_fem_system_clear(&system);
      case_clear(&c);
    }
}

/* elastic forces are affine in the activations: f(a) = f(0) + sum_m a_m f_m */
static void
test_affine_in_activation(void)
{
  PlaFemModel *model = bar("muscle", PLA_FORMULATION_STANDARD);
  const int nc = model->n_tets, nv = model->n_verts;
  g_autofree int *start = g_new(int, nc + 1), *muscle = g_new(int, 3 * nc);
  g_autofree double *fibre = g_new0(double, 9 * nc);
  const double third = 1.0 / 3.0;
  g_autofree double *overlap = g_new(double, 3 * nc);
  for (int c = 0; c <= nc; c++)
    start[c] = 3 * c;
  for (int i = 0; i < 3 * nc; i++) {
    muscle[i] = i % 3;
    fibre[3 * i + i % 3] = 1.0;
    overlap[i] = third;
  }
  set_cells(model, &(PlaFemCells){ .fibre_start = start,
                                   .fibre = fibre,
                                   .overlap = overlap,
                                   .muscle = muscle,
                                   .n_muscles = 3 });
  Case c = case_new(model);
  g_autoptr(GRand) rand = g_rand_new_with_seed(6);
  for (int i = 0; i < 3 * nv; i++)
    c.pos[i] += g_rand_double_range(rand, -1e-3, 1e-3);
  PlaError err = { 0 };
  const double all[5][3] = {
    { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 0.2, 0.7, 0.4 }
  };
  g_autofree double *f = g_new(double, 5 * 3 * nv);
  for (int k = 0; k < 5; k++) {
    pla_fem_model_set_activations(model, all[k]);
    g_assert_cmpint(pla_fem_forces(model, c.pos, f + 3 * nv * k, &err), ==, PLA_OK);
  }
  double most = pla_max_abs(f, 15 * (size_t)nv);
  for (int i = 0; i < 3 * nv; i++) {
    double sum = f[i];
    for (int m = 0; m < 3; m++)
      sum += all[4][m] * (f[3 * nv * (m + 1) + i] - f[i]);
    g_assert_cmpfloat_with_epsilon(f[12 * nv + i], sum, 1e-13 * most);
  }
  case_clear(&c);
}

static void
hold_symmetry(Case *c)
{
  for (int v = 0; v < c->model->n_verts; v++)
    for (int d = 0; d < 3; d++)
      c->fixed[3 * v + d] = c->model->rest[3 * v + d] == 0.0;
}

static PlaFemReport
solve(Case *c, PlaSolverMethod method, double tolerance)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.method = method;
  options.tolerance_rel = tolerance;
  if (pla_fem_solve(c->model, &conditions, &options, c->pos, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  return report;
}

/* a muscle without load takes the homogeneous shape in which nothing pulls, with either solver; the
 * stronger the activation, the shorter */
static void
test_contraction(void)
{
  const double along[3] = { 1, 0, 0 };
  double last = 1.0;
  for (int k = 1; k <= 2; k++) {
    double activation = 0.5 * k, length[2];
    for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
      Case c = case_new(bar("muscle", PLA_FORMULATION_STANDARD));
      set_fibres(c.model, along, 1.0, NULL);
      pla_fem_model_set_activations(c.model, &activation);
      hold_symmetry(&c);
      solve(&c, (PlaSolverMethod)method, 1e-9);
      int far = cells_of[0];
      length[method - PLA_SOLVER_NEWTON] = c.pos[3 * far] / size[0];
      /* homogeneous: no stress anywhere */
      for (int t = 0; t < c.model->n_tets; t++) {
        PlaFemCellState state;
        pla_fem_cell_state(c.model, t, c.pos, &state);
        g_assert_cmpfloat(state.von_mises_pa, <, 1e-3);
        g_assert_cmpfloat_with_epsilon(state.stretch[2], length[method - PLA_SOLVER_NEWTON], 1e-6);
      }
      case_clear(&c);
    }
    g_assert_cmpfloat_with_epsilon(length[0], length[1], 1e-6);
    g_assert_cmpfloat(length[0], <, last - 0.02);
    last = length[0];
  }
}

/* a muscle that contracts by its rest shape becomes 1/s long and s^alpha wide, s = (1 + a) /
 * (1 + gamma a), in an isotropic material: 0.70 at a = 1 and 0.55 at a = 3 for gamma 0.4 */
static void
test_activated_rest_shape(void)
{
  const double along[3] = { 1, 0, 0 };
  for (int k = 0; k < 4; k++) {
    double activation = k % 2 ? 3.0 : 1.0, alpha = k < 2 ? 0.5 : 1.0;
    const double shape[2] = { 0.4, alpha };
    double s = (1.0 + activation) / (1.0 + 0.4 * activation);
    for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
      Case c = case_new(bar("fixed-corotated", PLA_FORMULATION_STANDARD));
      set_fibres(c.model, along, 1.0, shape);
      pla_fem_model_set_activations(c.model, &activation);
      hold_symmetry(&c);
      solve(&c, (PlaSolverMethod)method, 1e-9);
      int corner = c.model->n_verts - 1;
      g_assert_cmpfloat_with_epsilon(c.pos[3 * corner] / size[0], 1.0 / s, 1e-6);
      g_assert_cmpfloat_with_epsilon(c.pos[3 * corner + 1] / size[1], pow(s, alpha), 1e-6);
      case_clear(&c);
    }
    g_assert_cmpfloat_with_epsilon(1.0 / s, k % 2 ? 0.55 : 0.70, 1e-12);
  }
}

/* skin cut free shrinks by what it was stretched; the mixed formulation, which keeps the volume in
 * its averages, agrees */
static void
test_prestretch_released(void)
{
  for (int formulation = 0; formulation < 2; formulation++) {
    Case c = case_new(bar("neo-hookean", (PlaFormulation)formulation));
    g_autofree double *g = g_new(double, 9 * c.model->n_tets);
    for (int t = 0; t < c.model->n_tets; t++)
      pla_prestretch_skin((double[3]){ 1, 0, 0 }, (double[3]){ 0, 0, 1 }, 1.2, 1.1, g + 9 * t);
    set_cells(c.model, &(PlaFemCells){ .prestretch = g });
    hold_symmetry(&c);
    solve(&c, PLA_SOLVER_NEWTON, 1e-10);
    const double *corner = c.pos + 3 * (c.model->n_verts - 1);
    g_assert_cmpfloat_with_epsilon(corner[0] / size[0], 1.0 / 1.2, 1e-7);
    g_assert_cmpfloat_with_epsilon(corner[1] / size[1], 1.0 / 1.1, 1e-7);
    g_assert_cmpfloat_with_epsilon(corner[2] / size[2], 1.2 * 1.1, 1e-7);
    case_clear(&c);
  }
}

/* constants cell by cell give the answer of as many materials, and fractions of a mixture that of
 * the mean stiffness; both solvers */
static void
test_own_constants(void)
{
  PlaMaterial const *nh = pla_material_find("neo-hookean");
  const double young[2] = { 5e3, 2e4 };
  PlaFemMaterial two[2];
  PlaError err = { 0 };
  for (int k = 0; k < 2; k++) {
    two[k] = (PlaFemMaterial){ .material = nh, .density = 1000.0 };
    g_assert_cmpint(nh->prepare((double[2]){ young[k], 0.4 }, two[k].constants, &err), ==, PLA_OK);
  }
  PlaMixturePart parts[2];
  for (int k = 0; k < 2; k++) {
    parts[k].material = nh;
    memcpy(parts[k].constants, two[k].constants, sizeof two[k].constants);
  }
  PlaMixture *mixture;
  g_assert_cmpint(pla_mixture_new(parts, 2, &mixture, &err), ==, PLA_OK);

  PlaMesh *mesh = box_mesh(PLA_BOX_TETS_6, size, cells_of);
  const int nc = mesh->n_tets;
  g_autofree int *which = g_new(int, nc), *one = g_new0(int, nc);
  g_autofree double *rows = g_new0(double, 2 * PLA_MAX_CONSTANTS);
  for (int c = 0; c < nc; c++)
    which[c] = c / 6 % 2;
  double *answer[4] = { NULL };
  for (int way = 0; way < 4; way++) {
    /* two materials; one with own constants; a mixture of pure cells; the same by sweeps */
    PlaFemModel *model;
    PlaFemMaterial mixed = { .material = pla_mixture_get(mixture),
                             .constants = { 0.5, 0.5 },
                             .density = 1000.0 };
    g_assert_cmpint(pla_fem_model_new(mesh,
                                      way == 0   ? two
                                      : way == 1 ? &two[0]
                                                 : &mixed,
                                      way == 0 ? 2 : 1, way == 0 ? which : one,
                                      PLA_FORMULATION_STANDARD, &model, &err),
                    ==, PLA_OK);
    for (int k = 0; k < 2; k++) {
      if (way == 1)
        memcpy(rows + PLA_MAX_CONSTANTS * k, two[k].constants, sizeof two[k].constants);
      else
        memcpy(rows + PLA_MAX_CONSTANTS * k, (double[2]){ k == 0, k == 1 }, 2 * sizeof *rows);
    }
    if (way > 0)
      set_cells(model, &(PlaFemCells){ .own = which, .constants = rows, .n_own = 2 });
    Case c = case_new(model);
    case_hold(&c, 0.0);
    case_gravity(&c, 0, -9.81);
    solve(&c, way == 3 ? PLA_SOLVER_PBNG : PLA_SOLVER_NEWTON, way == 3 ? 1e-6 : 1e-9);
    answer[way] = g_memdup2(c.pos, 3 * (size_t)model->n_verts * sizeof(double));
    if (way > 0)
      g_assert_cmpfloat(largest_difference(answer[0], answer[way], model->n_verts), <,
                        way == 3 ? 1e-5 * size[0] : 1e-9);
    case_clear(&c);
  }
  for (int way = 0; way < 4; way++)
    g_free(answer[way]);
  pla_mesh_free(mesh);
  pla_mixture_free(mixture);
}

static void
test_refusals(void)
{
  PlaError err = { 0 };
  PlaFemModel *model = bar("muscle", PLA_FORMULATION_STANDARD);
  const int nc = model->n_tets;
  g_autofree int *start = g_new(int, nc + 1);
  g_autofree double *fibre = g_new0(double, 3 * nc), *g = g_new0(double, 9 * nc);
  for (int c = 0; c <= nc; c++)
    start[c] = c;
  PlaFemCells cells = { .fibre_start = start, .fibre = fibre, .n_muscles = 1 };
  g_assert_cmpint(pla_fem_model_set_cells(model, &cells, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "fibre direction of element 0"));
  g_assert_cmpint(pla_fem_model_set_cells(model, &(PlaFemCells){ .prestretch = g }, &err), ==,
                  PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "prestretch of element 0"));
  pla_fem_model_free(model);

  /* a material without a volume term of its own */
  PlaFemMaterial stvk = { .material = pla_material_find("stvk"), .density = 1.0 };
  int cell_material[12] = { 0 };
  PlaMesh *mesh = box_mesh(PLA_BOX_TETS_6, (double[3]){ 1, 1, 1 }, (int[3]){ 2, 1, 1 });
  g_assert_cmpint(pla_fem_model_new(mesh, &stvk, 1, cell_material, PLA_FORMULATION_MIXED, &model,
                                    &err),
                  ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "stvk"));
  pla_mesh_free(mesh);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cells/derivatives", test_derivatives);
  g_test_add_func("/cells/affine-in-activation", test_affine_in_activation);
  g_test_add_func("/cells/contraction", test_contraction);
  g_test_add_func("/cells/activated-rest-shape", test_activated_rest_shape);
  g_test_add_func("/cells/prestretch-released", test_prestretch_released);
  g_test_add_func("/cells/own-constants", test_own_constants);
  g_test_add_func("/cells/refusals", test_refusals);
  return g_test_run();
}

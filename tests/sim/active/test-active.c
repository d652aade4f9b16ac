/* Active bodies: the jaw's joint, forces affine in the activations, equilibria and their
 * derivatives. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "sim/fem/model-data.h"
#include "sim/solve/system.h"
#include "tests/sim/active/bars.h"

/* ---- the jaw ---- */

static void
make_jaw(PlaJaw *jaw)
{
  pla_jaw_init(jaw, (double[3]){ 0.05, 0.013, -0.006 }, (double[3]){ -0.05, 0.013, -0.006 },
               (double[3]){ 0, 0.82, -0.57 }, 0.015, 35.0 * G_PI / 180.0);
}

/* opening, protrusion and lateral shift keep the joint's equations and the frame rigid */
static void
test_jaw_joint(void)
{
  static const double poses[][3] = { { 0, 0, 0 },          { 0.5, 0, 0 },
                                     { 0, 0.012, 0.012 },  { 0, 0.009, 0 },
                                     { 0, 0, 0.009 },      { 0.3, 0.004, 0.013 },
                                     { 0.61, 0.015, 0.0 }, { 0.2, 0.015, 0.015 } };
  PlaJaw jaw;
  make_jaw(&jaw);
  for (size_t i = 0; i < G_N_ELEMENTS(poses); i++) {
    double r[9], t[3], rrt[9], psi[6];
    pla_jaw_pose(&jaw, poses[i], r, t);
    pla_mat3_mul_nt(r, r, rrt);
    for (int k = 0; k < 9; k++)
      g_assert_cmpfloat_with_epsilon(rrt[k], k % 4 == 0, 1e-14);
    g_assert_cmpfloat_with_epsilon(pla_mat3_det(r), 1.0, 1e-14);
    pla_jaw_measure(&jaw, r, t, psi);
    for (int k = 0; k < 3; k++)
      g_assert_cmpfloat_with_epsilon(psi[k], 0.0, 1e-15);
    g_assert_cmpfloat_with_epsilon(psi[3], poses[i][PLA_JAW_RIGHT], 1e-15);
    g_assert_cmpfloat_with_epsilon(psi[4], poses[i][PLA_JAW_LEFT], 1e-15);
    g_assert_cmpfloat_with_epsilon(psi[5], -sin(poses[i][PLA_JAW_OPENING]), 1e-15);
    /* within the tracks and the opening that the joint has */
    for (int k = 3; k < 5; k++) {
      g_assert_cmpfloat(psi[k], >=, -1e-15);
      g_assert_cmpfloat(psi[k], <=, 0.015 + 1e-15);
    }
    g_assert_cmpfloat(psi[5], <=, 1e-15);
    g_assert_cmpfloat(psi[5], >=, -sin(35.0 * G_PI / 180.0) - 1e-15);
  }
  /* opening lowers the chin; the left condyle forwards turns it to the right (+x) */
  double r[9], t[3], chin[3] = { 0, 0.09, -0.085 }, moved[3];
  pla_jaw_pose(&jaw, (double[3]){ 0.3, 0, 0 }, r, t);
  pla_mat3_apply(r, chin, moved);
  g_assert_cmpfloat(moved[2] + t[2], <, chin[2] - 0.015);
  pla_jaw_pose(&jaw, (double[3]){ 0, 0, 0.01 }, r, t);
  pla_mat3_apply(r, chin, moved);
  g_assert_cmpfloat(moved[0] + t[0], >, chin[0] + 0.005);
}

static void
test_jaw_slopes(void)
{
  const double q[3] = { 0.27, 0.004, 0.011 }, h = 1e-6;
  PlaJaw jaw;
  make_jaw(&jaw);
  for (int k = 0; k < PLA_JAW_DOFS; k++) {
    double r[9], t[3], up[12], down[12], ahead[3], back[3];
    memcpy(ahead, q, sizeof q);
    memcpy(back, q, sizeof q);
    ahead[k] += h;
    back[k] -= h;
    pla_jaw_pose_slope(&jaw, q, k, r, t);
    pla_jaw_pose(&jaw, ahead, up, up + 9);
    pla_jaw_pose(&jaw, back, down, down + 9);
    for (int i = 0; i < 12; i++)
      g_assert_cmpfloat_with_epsilon((up[i] - down[i]) / (2 * h), i < 9 ? r[i] : t[i - 9], 1e-8);
  }
}

/* ---- forces ---- */

/* a shape away from rest */
static double *
bent(const Bar *bar)
{
  double *pos = g_memdup2(bar->mesh->pos, 3 * (size_t)bar->mesh->n_verts * sizeof *pos);
  for (int v = 0; v < bar->mesh->n_verts; v++) {
    double *x = pos + 3 * (size_t)v;
    x[2] += 0.003 * sin(40.0 * x[0]);
    x[1] *= 1.0 + 2.0 * x[0];
    x[0] *= 1.06;
  }
  return pos;
}

/* f(a) = f(0) + sum a_i f_i to rounding */
static void
test_affine(const void *formulation)
{
  const double a[BAR_MUSCLES] = { 0.3, 1.0, 0.65, 0.1, 0.5 }, none[BAR_MUSCLES] = { 0 };
  Bar bar;
  PlaError err = { 0 };
  PlaFemModel *fem;
  bar_init_as(&bar, 2, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  double *pos = bent(&bar), *all = g_new(double, n), *passive = g_new(double, n);
  double *one = g_new(double, n), largest = 0.0, worst = 0.0;
  bar_ok(pla_fem_model_share(pla_active_fem(bar.model), &fem, &err), &err);
  pla_fem_model_set_activations(fem, none);
  bar_ok(pla_fem_forces(fem, pos, passive, &err), &err);
  pla_fem_model_set_activations(fem, a);
  bar_ok(pla_fem_forces(fem, pos, all, &err), &err);
  for (size_t i = 0; i < n; i++)
    all[i] -= passive[i];
  for (size_t i = 0; i < n; i++)
    largest = fmax(largest, fabs(all[i]));
  for (int m = 0; m < BAR_MUSCLES; m++) {
    pla_active_muscle_force(bar.model, m, pos, one);
    for (size_t i = 0; i < n; i++)
      all[i] -= a[m] * one[i];
  }
  for (size_t i = 0; i < n; i++)
    worst = fmax(worst, fabs(all[i]));
  g_assert_cmpfloat(largest, >, 1e-3);
  g_assert_cmpfloat(worst, <, 1e-12 * largest);
  pla_fem_model_free(fem);
  g_free(pos);
  g_free(all);
  g_free(passive);
  g_free(one);
  bar_clear(&bar);
}

/* the closed form of neo-Hookean tets with fibres is the general material's */
static void
test_plain_muscle(void)
{
  const double a[BAR_MUSCLES] = { 0.3, 1.0, 0.65, 0.1, 0.5 };
  Bar bar;
  PlaError err = { 0 };
  PlaFemModel *fem;
  bar_init(&bar, 1);
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  double *pos = bent(&bar), *force = g_new(double, n), *general = g_new0(double, n), energy = 0.0;
  bar_ok(pla_fem_model_share(pla_active_fem(bar.model), &fem, &err), &err);
  pla_fem_model_set_activations(fem, a);
  bar_ok(pla_fem_forces(fem, pos, force, &err), &err);
  for (int t = 0; t < bar.mesh->n_tets; t++) {
    const double *constants;
    const PlaMaterial *material = pla_fem_cell_law(fem, t, &constants);
    PlaPoint point = { 0 };
    double p[9], h[81], grad[4][3], k[144];
    pla_fem_tet_gradient(fem, t, pos, point.f);
    pla_point_decompose(&point);
    pla_fem_cell_point(fem, t, &point);
    pla_material_stress(material, constants, &point, p);
    pla_material_tangent(material, constants, &point, false, h);
    energy += fem->tet_volume[t] * pla_material_energy(material, constants, &point);
    pla_fem_tet_shape(fem, t, grad);
    pla_fem_cell_stiffness(fem, t, pos, NULL, false, k);
    double scale = 0.0;
    for (int i = 0; i < 144; i++)
      scale = fmax(scale, fabs(k[i]));
    for (int x = 0; x < 4; x++)
      for (int i = 0; i < 3; i++) {
        general[3 * (size_t)bar.mesh->tet[4 * (size_t)t + (size_t)x] + (size_t)i] -=
            fem->tet_volume[t] * pla_vec3_dot(p + 3 * i, grad[x]);
        for (int y = 0; y < 4; y++)
          for (int j = 0; j < 3; j++) {
            double sum = 0.0;
            for (int m = 0; m < 3; m++)
              for (int l = 0; l < 3; l++)
                sum += grad[x][m] * h[9 * (3 * i + m) + 3 * j + l] * grad[y][l];
            g_assert_cmpfloat_with_epsilon(k[12 * (3 * x + i) + 3 * y + j],
                                           fem->tet_volume[t] * sum, 1e-11 * scale);
          }
      }
  }
  double largest = 0.0;
  for (size_t i = 0; i < n; i++)
    largest = fmax(largest, fabs(force[i]));
  for (size_t i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon(force[i], general[i], 1e-11 * largest);
  g_assert_cmpfloat_with_epsilon(pla_fem_energy(fem, pos), energy, 1e-11 * energy);
  pla_fem_model_free(fem);
  g_free(pos);
  g_free(force);
  g_free(general);
  bar_clear(&bar);
}

/* Forces are the slope of the energy, the assembled tangent is that of the forces, and the pull of
 * a motion its product with the tangent: where the body is bent, and where tets are turned inside
 * out. */
static void
test_tangent(const void *formulation)
{
  const double a[BAR_MUSCLES] = { 0.3, 1.0, 0.65, 0.1, 0.5 }, step = 1e-8;
  Bar bar;
  PlaError err = { 0 };
  PlaFemModel *fem;
  PlaFemSystem system;
  bar_init_as(&bar, 1, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  g_autofree unsigned char *fixed = g_new0(unsigned char, n);
  g_autofree double *pos = bent(&bar), *moved = g_new(double, n), *way = g_new(double, n);
  g_autofree double *force = g_new(double, n), *kw = g_new(double, n), *pull = g_new0(double, n);
  double *side[2] = { g_new(double, n), g_new(double, n) };
  g_autoptr(GRand) rand = g_rand_new_with_seed(7);
  const PlaFemConditions conditions = { .fixed = fixed, .target = pos };
  bar_ok(pla_fem_model_share(pla_active_fem(bar.model), &fem, &err), &err);
  pla_fem_model_set_activations(fem, a);
  bar_ok(pla_fem_system_init(&system, fem, &conditions, NULL, &err), &err);
  for (int inverted = 0; inverted < 2; inverted++) {
    double energy[2], least;
    if (inverted) /* one vertex through the tets around it */
      pos[3 * 13 + 2] += 0.02;
    pla_fem_inverted(fem, pos, &least, NULL);
    g_assert_cmpint(least < 0.0, ==, inverted);
    for (size_t i = 0; i < n; i++)
      way[i] = g_rand_double_range(rand, -1.0, 1.0);
    bar_ok(pla_fem_forces(fem, pos, force, &err), &err);
    pla_fem_system_assemble(&system, pos, false, 0.0);
    pla_block_matrix_mul(&system.matrix, way, kw);
    for (int k = 0; k < 2; k++) {
      for (size_t i = 0; i < n; i++)
        moved[i] = pos[i] + (k ? step : -step) * way[i];
      energy[k] = pla_fem_energy(fem, moved);
      bar_ok(pla_fem_forces(fem, moved, side[k], &err), &err);
    }
    g_assert_cmpfloat_with_epsilon((energy[0] - energy[1]) / (2.0 * step), pla_dot(force, way, n),
                                   1e-5 * pla_norm2(force, n) * pla_norm2(way, n));
    memset(pull, 0, n * sizeof *pull);
    bar_ok(pla_fem_add_pull(fem, pos, 1, &way, &pull, &err), &err);
    const double most = pla_max_abs(kw, n);
    for (size_t i = 0; i < n; i++) {
      g_assert_cmpfloat_with_epsilon((side[0][i] - side[1][i]) / (2.0 * step), kw[i], 1e-5 * most);
      g_assert_cmpfloat_with_epsilon(-pull[i], kw[i], 1e-11 * most);
    }
    /* projected: no direction of negative curvature */
    pla_fem_system_assemble(&system, pos, true, 0.0);
    for (int trial = 0; trial < 20; trial++) {
      for (size_t i = 0; i < n; i++)
        way[i] = g_rand_double_range(rand, -1.0, 1.0);
      pla_block_matrix_mul(&system.matrix, way, kw);
      g_assert_cmpfloat(pla_dot(way, kw, n), >=, 0.0);
    }
  }
  g_free(side[0]);
  g_free(side[1]);
  pla_fem_system_clear(&system);
  pla_fem_model_free(fem);
  bar_clear(&bar);
}

/* ---- equilibria ---- */

static const double controls[BAR_MUSCLES + 3] = { 0.4, 0.2, 0.7, 0.3, 0.1, 0.15, 0.001, 0.003 };

static void
solve(const Bar *bar, const double *control, PlaActiveState *state, PlaActiveReport *report)
{
  PlaActiveSolver *solver;
  PlaError err = { 0 };
  bar_ok(pla_active_solver_new(bar->model, &solver, &err), &err);
  bar_ok(pla_active_state_init(state, bar->model, &err), &err);
  bar_ok(pla_active_solve(solver, control, NULL, 1e-10, NULL, state, report, &err), &err);
  pla_active_solver_free(solver);
}

/* the same shape as the general solver, and no element inverted */
static void
test_equilibrium(const void *formulation)
{
  Bar bar;
  PlaActiveState state;
  PlaActiveReport report;
  PlaFemReport fem_report;
  PlaFemModel *fem;
  PlaError err = { 0 };
  bar_init_as(&bar, 2, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  solve(&bar, controls, &state, &report);
  g_assert_true(report.converged);
  g_assert_cmpint(report.inverted, ==, 0);
  unsigned char *fixed = g_new(unsigned char, n);
  for (size_t i = 0; i < n; i++)
    fixed[i] = pla_active_hold(bar.model)[i / 3] != PLA_HOLD_FREE;
  double *pos = g_memdup2(bar.mesh->pos, n * sizeof *pos);
  const PlaFemConditions conditions = { .fixed = fixed, .target = state.pos };
  PlaFemOptions options = pla_fem_options_default();
  options.tolerance_rel = 1e-10;
  bar_ok(pla_fem_model_share(pla_active_fem(bar.model), &fem, &err), &err);
  pla_fem_model_set_activations(fem, controls);
  bar_ok(pla_fem_solve(fem, &conditions, &options, pos, &fem_report, &err), &err);
  double moved = 0.0;
  for (size_t i = 0; i < n; i++) {
    g_assert_cmpfloat_with_epsilon(pos[i], state.pos[i], 1e-8);
    moved = fmax(moved, fabs(pos[i] - bar.mesh->pos[i]));
  }
  g_assert_cmpfloat(moved, >, 2e-3);
  pla_fem_model_free(fem);
  pla_active_state_clear(&state);
  g_free(fixed);
  g_free(pos);
  bar_clear(&bar);
}

/* how far the middle of the top rises or sinks, m, on @n cells */
static double
middle_of_top(int n, PlaFormulation formulation)
{
  const double control[BAR_MUSCLES + 3] = { 0.6, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
  Bar bar;
  PlaActiveState state;
  PlaActiveReport report;
  double moved = NAN;
  bar_init_as(&bar, n, 1.0, formulation);
  solve(&bar, control, &state, &report);
  g_assert_true(report.converged);
  for (int v = 0; v < bar.mesh->n_verts; v++) {
    const double *x = bar.mesh->pos + 3 * (size_t)v;
    if (fabs(x[0] - 0.04) + fabs(x[1] - 0.015) + fabs(x[2] - 0.02) < 1e-9)
      moved = state.pos[3 * (size_t)v + 2] - x[2];
  }
  pla_active_state_clear(&state);
  bar_clear(&bar);
  return moved;
}

/* bending by muscles: cells of the mixed formulation are near their limit where standard ones lock;
 * finer ones of both approach it, from either side */
static void
test_locking(void)
{
  const PlaFormulation mixed = PLA_FORMULATION_AVERAGED, standard = PLA_FORMULATION_STANDARD;
  const double fine = middle_of_top(5, mixed), coarse = middle_of_top(3, mixed);
  const double fine_plain = middle_of_top(5, standard), plain = middle_of_top(3, standard);
  g_test_message("mixed %.3f, %.3f mm; standard %.3f, %.3f mm", 1e3 * coarse, 1e3 * fine,
                 1e3 * plain, 1e3 * fine_plain);
  g_assert_cmpfloat(fine, <, -5e-4);
  g_assert_cmpfloat(coarse / fine, >, 1.0);
  g_assert_cmpfloat(coarse / fine, <, 1.2);
  g_assert_cmpfloat(fine_plain / fine, <, 0.8);
  g_assert_cmpfloat(plain / fine_plain, <, 0.8);
}

/* every column against central differences of full solves */
static void
test_sensitivity(const void *formulation)
{
  Bar bar;
  PlaActiveState state, ahead, back;
  PlaActiveReport report = { 0 };
  PlaActiveSolver *solver;
  PlaError err = { 0 };
  bar_init_as(&bar, 2, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  const int nc = pla_active_n_controls(bar.model);
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  double *columns = g_new(double, (size_t)nc *n);
  solve(&bar, controls, &state, &report);
  bar_ok(pla_active_solver_new(bar.model, &solver, &err), &err);
  bar_ok(pla_active_sensitivity(solver, &state, NULL, columns, &report, &err), &err);
  for (int c = 0; c < nc; c++) {
    const double h = c < BAR_MUSCLES ? 1e-3 : 1e-5;
    double moved[BAR_MUSCLES + 3], error = 0.0, size = 0.0;
    memcpy(moved, controls, sizeof moved);
    moved[c] += h;
    solve(&bar, moved, &ahead, &report);
    moved[c] -= 2 * h;
    solve(&bar, moved, &back, &report);
    for (size_t i = 0; i < n; i++) {
      const double d = (ahead.pos[i] - back.pos[i]) / (2 * h) - columns[(size_t)c * n + i];
      error += d * d;
      size += columns[(size_t)c * n + i] * columns[(size_t)c * n + i];
    }
    g_test_message("control %d: %.2g of %.2g", c, sqrt(error), sqrt(size));
    g_assert_cmpfloat(sqrt(error), <=, 2e-4 * sqrt(size) + 1e-9);
    if (c == BAR_MUSCLES - 1)
      g_assert_cmpfloat(size, ==, 0.0); /* the absent muscle */
    else
      g_assert_cmpfloat(size, >, 0.0);
    pla_active_state_clear(&ahead);
    pla_active_state_clear(&back);
  }
  pla_active_solver_free(solver);
  pla_active_state_clear(&state);
  g_free(columns);
  bar_clear(&bar);
}

/* the derivative by the flesh's stiffness against central differences of full solves of other bars
 */
static void
test_flesh_column(const void *formulation)
{
  const double h = 1e-4;
  Bar bar, stiff, soft;
  PlaActiveState state, ahead, back;
  PlaActiveReport report = { 0 };
  PlaActiveSolver *solver;
  PlaError err = { 0 };
  bar_init_as(&bar, 2, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  bar_init_as(&stiff, 2, exp(h), (PlaFormulation)GPOINTER_TO_INT(formulation));
  bar_init_as(&soft, 2, exp(-h), (PlaFormulation)GPOINTER_TO_INT(formulation));
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  g_autofree double *columns = g_new(double, (BAR_MUSCLES + 3) * n), *column = g_new(double, n);
  solve(&bar, controls, &state, &report);
  solve(&stiff, controls, &ahead, &report);
  solve(&soft, controls, &back, &report);
  bar_ok(pla_active_solver_new(bar.model, &solver, &err), &err);
  bar_ok(pla_active_sensitivity(solver, &state, NULL, columns, &report, &err), &err);
  bar_ok(pla_active_flesh_column(solver, &state, column, &err), &err);
  double error = 0.0, size = 0.0;
  for (size_t i = 0; i < n; i++) {
    const double d = (ahead.pos[i] - back.pos[i]) / (2.0 * h);
    error += (d - column[i]) * (d - column[i]);
    size += d * d;
  }
  g_test_message("%.2g of %.2g", sqrt(error), sqrt(size));
  g_assert_cmpfloat(sqrt(size), >, 1e-3);
  g_assert_cmpfloat(sqrt(error), <, 1e-4 * sqrt(size));
  pla_active_solver_free(solver);
  pla_active_state_clear(&state);
  pla_active_state_clear(&ahead);
  pla_active_state_clear(&back);
  bar_clear(&bar);
  bar_clear(&stiff);
  bar_clear(&soft);
}

/* a far jump of the jaw is gone in parts; the same bits for any number of threads */
static void
test_far(const void *formulation)
{
  const double far[BAR_MUSCLES + 3] = { 1.0, 0.0, 1.0, 0.0, 0.0, 0.45, 0.006, 0.0 };
  PlaActiveState one, two;
  PlaActiveReport report;
  Bar bar;
  bar_init_as(&bar, 2, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  const int threads = pla_threads_get();
  pla_threads_set(1);
  solve(&bar, far, &one, &report);
  g_assert_true(report.converged);
  pla_threads_set(4);
  solve(&bar, far, &two, &report);
  pla_threads_set(threads);
  g_assert_cmpmem(one.pos, 3 * (size_t)bar.mesh->n_verts * sizeof(double), two.pos,
                  3 * (size_t)bar.mesh->n_verts * sizeof(double));
  pla_active_state_clear(&one);
  pla_active_state_clear(&two);
  bar_clear(&bar);
}

int
main(int argc, char **argv)
{
  /* with both formulations */
  static const struct {
    const char *name;
    GTestDataFunc func;
  } tests[] = {
    { "affine", test_affine },
    { "tangent", test_tangent },
    { "equilibrium", test_equilibrium },
    { "sensitivity", test_sensitivity },
    { "flesh-column", test_flesh_column },
    { "far", test_far },
  };
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/active/jaw/joint", test_jaw_joint);
  g_test_add_func("/active/jaw/slopes", test_jaw_slopes);
  g_test_add_func("/active/plain-muscle", test_plain_muscle);
  g_test_add_func("/active/locking", test_locking);
  for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
    for (int f = 0; f < 2; f++) {
      g_autofree char *path =
          g_strdup_printf("/active/%s/%s", tests[i].name, f ? "mixed" : "standard");
      g_test_add_data_func(path,
                           GINT_TO_POINTER(f ? PLA_FORMULATION_AVERAGED : PLA_FORMULATION_STANDARD),
                           tests[i].func);
    }
  return g_test_run();
}

/* Newton's method as a whole: what the projection of tangents is for and what it does not change,
 * how the work grows with the mesh, statics against dynamics that settle, the same bits for any
 * number of threads. */
#include "tests/sim/fem/boxes.h"

#include "anatomy/base/parallel.h"
#include "sim/dynamics/dynamics.h"
#include "sim/solve/near.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"
#include "sim/solve/terms.h"

static const double bar_size[3] = { 0.1, 0.025, 0.025 };

static Case
bar_new(const char *material, double poisson, int n, PlaBoxCells kind)
{
  const int cells[3] = { 4 * n, n, n };
  Case c = case_new(box_new(material, 1e4, poisson, 1000.0, kind, bar_size, cells));
  case_hold(&c, 0.0);
  return c;
}

static void
strew(Case *c, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  for (int i = 0; i < 3 * c->model->n_verts; i++)
    c->pos[i] = c->fixed[i] ? c->model->rest[i] : g_rand_double_range(rand, -0.45, 0.55);
}

/* conjugate gradients on the tangent at c->pos, exact or projected, around the factor of the
 * stiffness at rest, which is definite */
static PlaRefineReport
linear_solve(Case *c, bool project)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaFemSystem system;
  PlaRefineReport report = { 0 };
  PlaError err = { 0 };
  bool definite;
  const size_t nv = (size_t)c->model->n_verts;
  double *force = pla_array_new(nv, 3 * sizeof *force);
  g_assert_cmpint(pla_fem_system_init(&system, c->model, &conditions, NULL, &err), ==, PLA_OK);
  const size_t n = 3 * (size_t)system.n_blocks;
  double *b = pla_array_new(n, sizeof *b), *x = pla_array_new(n, sizeof *x);
  pla_fem_system_assemble(&system, c->model->rest, false, 0.0);
  pla_fem_system_constrain(&system);
  g_assert_cmpint(pla_cholesky_factor(system.factor, &system.matrix, PLA_DOUBLE, NULL, &definite,
                                      &err),
                  ==, PLA_OK);
  g_assert_true(definite);
  g_assert_cmpint(pla_fem_forces(c->model, c->pos, force, &err), ==, PLA_OK);
  pla_fem_system_gather(&system, force, b);
  pla_fem_system_assemble(&system, c->pos, project, 0.0);
  pla_fem_system_constrain(&system);
  g_assert_cmpint(pla_cholesky_refine(system.factor, &system.matrix, b, 1e-2, 1000, NULL, x,
                                      &report, &err),
                  ==, PLA_OK);
  pla_fem_system_clear(&system);
  free(force);
  free(b);
  free(x);
  return report;
}

/* sifakis 12: from scattered vertices, the exact tangent makes conjugate gradients meet negative
 * curvature and stop; the projected one does not */
static void
test_12_negative_curvature(void)
{
  for (guint32 seed = 1; seed <= 5; seed++) {
    Case c = bar_new("neo-hookean", 0.3, 3, PLA_BOX_TETS_6);
    case_hold(&c, bar_size[0]);
    strew(&c, seed);
    PlaRefineReport exact = linear_solve(&c, false), projected = linear_solve(&c, true);
    g_test_message("exact: %d iterations to %g; projected: %d to %g", exact.iterations,
                   exact.residual_rel, projected.iterations, projected.residual_rel);
    g_assert_true(exact.negative_curvature);
    g_assert_false(exact.converged);
    g_assert_false(projected.negative_curvature);
    g_assert_true(projected.converged);
    case_clear(&c);
  }
}

/* plain Newton steps, no line search, with one kind of tangent, until nothing moves */
static int
newton_steps(Case *c, bool project)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaFemSystem system;
  PlaError err = { 0 };
  double *force = pla_array_new((size_t)c->model->n_verts, 3 * sizeof *force), moved = 1.0;
  int steps = 0;
  g_assert_cmpint(pla_fem_system_init(&system, c->model, &conditions, NULL, &err), ==, PLA_OK);
  double *x = pla_array_new((size_t)system.n_blocks, 3 * sizeof *x);
  for (; steps < 200 && moved > 1e-12; steps++) {
    bool definite;
    g_assert_cmpint(pla_terms_forces(c->model, &conditions, c->pos, force, &err), ==, PLA_OK);
    pla_fem_system_gather(&system, force, x);
    pla_fem_system_assemble(&system, c->pos, project, 0.0);
    pla_fem_system_constrain(&system);
    g_assert_cmpint(pla_cholesky_factor(system.factor, &system.matrix, PLA_DOUBLE, NULL, &definite,
                                        &err),
                    ==, PLA_OK);
    g_assert_true(definite);
    g_assert_cmpint(pla_cholesky_solve(system.factor, x, x, &err), ==, PLA_OK);
    pla_fem_system_add(&system, x, 1.0, c->pos);
    moved = pla_max_abs(x, 3 * (size_t)system.n_blocks);
  }
  pla_fem_system_clear(&system);
  free(force);
  free(x);
  return steps;
}

/* sifakis 13: the projection changes the way, not where it ends */
static void
test_13_projection_keeps_equilibria(void)
{
  Case c[2];
  int steps[2];
  for (int project = 0; project < 2; project++) {
    c[project] = bar_new("neo-hookean", 0.45, 3, PLA_BOX_TETS_6);
    Case *one = &c[project];
    case_hold(one, bar_size[0]);
    case_gravity(one, 2, -9.81);
    case_turn(one, bar_size[0], 0.0125, 0.0125, 0.5, -0.01);
    PlaFemConditions conditions = case_conditions(one);
    PlaFemOptions options = pla_fem_options_default();
    PlaFemReport report;
    PlaError err = { 0 };
    options.tolerance_rel = 1e-2;
    g_assert_cmpint(pla_fem_solve(one->model, &conditions, &options, one->pos, &report, &err), ==,
                    PLA_OK);
    steps[project] = newton_steps(one, project);
  }
  double apart = largest_difference(c[0].pos, c[1].pos, c[0].model->n_verts);
  g_test_message("%d exact steps, %d projected, %g m apart", steps[0], steps[1], apart);
  g_assert_cmpint(steps[1], <, 200);
  g_assert_cmpint(steps[0], <=, steps[1]);
  g_assert_cmpfloat(apart, <, 1e-6 * bar_size[0]);
  case_clear(&c[0]);
  case_clear(&c[1]);
}

/* sifakis 16: dynamics that settle end in the static shape, at many times the work */
static void
test_16_dynamics_settle(void)
{
  Case c = bar_new("neo-hookean", 0.3, 2, PLA_BOX_TETS_6);
  case_gravity(&c, 2, -1.0);
  PlaFemConditions conditions = case_conditions(&c);
  PlaFemReport report;
  PlaFemOptions options = pla_fem_options_default();
  PlaDynamicsOptions timing = pla_dynamics_options_default();
  PlaDynamics *dynamics;
  PlaError err = { 0 };
  g_autofree double *start = g_memdup2(c.pos, 3 * (gsize)c.model->n_verts * sizeof *start);
  g_assert_cmpint(pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err), ==, PLA_OK);
  timing.dt_s = 0.02;
  g_assert_cmpint(pla_dynamics_new(c.model, &conditions, pla_integrator_find("backward-euler"),
                                   &timing, start, NULL, &dynamics, &err),
                  ==, PLA_OK);
  int work = 0, steps = 0;
  double apart = 1.0, speed = 1.0;
  /* at rest, and not just passing */
  for (; steps < 2000 && (apart > 1e-2 * bar_size[0] || speed > 1e-2 * bar_size[0]); steps++) {
    PlaDynamicsReport step;
    g_assert_cmpint(pla_dynamics_step(dynamics, &err), ==, PLA_OK);
    pla_dynamics_report(dynamics, &step);
    work += step.solve.iterations;
    apart = largest_difference(pla_dynamics_get_pos(dynamics), c.pos, c.model->n_verts);
    speed = pla_max_abs(pla_dynamics_get_vel(dynamics), 3 * (size_t)c.model->n_verts);
  }
  g_test_message("settled after %d steps, %d iterations; statics take %d", steps, work,
                 report.iterations);
  g_assert_cmpfloat(apart, <, 1e-2 * bar_size[0]);
  g_assert_cmpint(work, >=, 10 * report.iterations);
  pla_dynamics_free(dynamics);
  case_clear(&c);
}

/* sifakis 17: the cost of a solve grows faster than the mesh, because factors do: iterations stay,
 * work per iteration grows as the power 4/3 or more of the tets */
static void
test_17_cost_grows_faster(void)
{
  const int sizes[3] = { 4, 6, 8 };
  double flops[3], tets[3];
  int iterations[3];
  for (int k = 0; k < 3; k++) {
    Case c = bar_new("neo-hookean", 0.45, sizes[k], PLA_BOX_TETS_6);
    case_gravity(&c, 2, -9.81);
    PlaFemConditions conditions = case_conditions(&c);
    PlaFemOptions options = pla_fem_options_default();
    PlaFemSystem system;
    PlaFemReport report;
    PlaError err = { 0 };
    g_assert_cmpint(pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err), ==,
                    PLA_OK);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(pla_fem_system_init(&system, c.model, &conditions, NULL, &err), ==, PLA_OK);
    flops[k] = pla_cholesky_flops(system.factor);
    tets[k] = c.model->n_tets;
    iterations[k] = report.iterations;
    g_test_message("%g tets: %d iterations, %d factors of %g flops", tets[k], report.iterations,
                   report.factorisations, flops[k]);
    pla_fem_system_clear(&system);
    case_clear(&c);
  }
  g_assert_cmpfloat(log(flops[2] / flops[0]) / log(tets[2] / tets[0]), >, 4.0 / 3.0);
  g_assert_cmpint(iterations[2], <=, 2 * iterations[0]);
}

/* what is solved with 1, 2 and 4 threads is the same to the last bit, by every way through the
 * solver */
static void
test_bits(void)
{
  enum { TWIST, SAG, SQUEEZE, STREWN, NEARLY_INCOMPRESSIBLE, SWEEPS, MIXED, N_SCENES };
  const int threads = pla_threads_get(), counts[3] = { 1, 2, 4 };
  for (int scene = 0; scene < N_SCENES; scene++) {
    g_autofree double *first = NULL;
    for (int k = 0; k < 3; k++) {
      /* large enough for the factor of standard elements */
      const bool large = scene == MIXED, stiff = scene == NEARLY_INCOMPRESSIBLE;
      const bool mixed = stiff || large;
      const double param[2] = { 1e4, stiff ? 0.4999 : 0.45 };
      const int cells[3] = { large ? 24 : 16, large ? 6 : 4, large ? 6 : 4 };
      Case c =
          case_new(mesh_model(box_mesh(PLA_BOX_TETS_6, bar_size, cells), "neo-hookean", param,
                              1000.0, mixed ? PLA_FORMULATION_MIXED : PLA_FORMULATION_STANDARD));
      PlaFemOptions options = pla_fem_options_default();
      PlaFemConditions conditions = case_conditions(&c);
      PlaFemReport report;
      PlaError err = { 0 };
      const gsize bytes = 3 * (gsize)c.model->n_verts * sizeof(double);
      case_hold(&c, 0.0);
      if (scene == TWIST || scene == SQUEEZE || scene == STREWN) {
        case_hold(&c, bar_size[0]);
        case_turn(&c, bar_size[0], 0.0125, 0.0125, scene == TWIST ? 1.5 : 0.0,
                  scene == SQUEEZE ? -0.02 : 0.0);
      } else {
        case_gravity(&c, 2, mixed ? -3.0 : -9.81);
      }
      if (scene == STREWN)
        strew(&c, 3);
      if (scene == SWEEPS) {
        options.method = PLA_SOLVER_PBNG;
        options.tolerance_rel = 1e-2;
      }
      pla_threads_set(counts[k]);
      if (pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err) != PLA_OK)
        g_error("%s", err.message);
      g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
      if (!first)
        first = g_memdup2(c.pos, bytes);
      g_assert_cmpmem(first, bytes, c.pos, bytes);
      case_clear(&c);
    }
  }
  pla_threads_set(threads);
}

/* A column four times as tall as can carry itself falls over and hangs beside its foot.  From rest
 * its steps are longer than itself and its tangent is indefinite on the way; where it comes to hang
 * is also found by raising gravity bit by bit. */
static void
test_falls_over(void)
{
  const double size[3] = { 0.1, 0.01, 0.01 };
  const int cells[3] = { 20, 2, 2 }, increments = 40;
  Case c[2];
  PlaFemReport report;
  PlaError err = { 0 };
  PlaFemOptions options = pla_fem_options_default();
  int iterations[2] = { 0 };
  for (int slowly = 0; slowly < 2; slowly++) {
    Case *one = &c[slowly];
    *one = case_new(box_new("neo-hookean", 3000.0, 0.45, 1000.0, PLA_BOX_TETS_6, size, cells));
    case_hold(one, 0.0);
    PlaFemConditions conditions = case_conditions(one);
    options.warm_start = slowly;
    for (int k = slowly ? 1 : increments; k <= increments; k++) {
      case_gravity(one, 0, -9.81 * k / increments);
      case_gravity(one, 2, -0.5 * k / increments);
      if (pla_fem_solve(one->model, &conditions, &options, one->pos, &report, &err) != PLA_OK)
        g_error("%s", err.message);
      g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
      iterations[slowly] += report.iterations;
    }
    g_assert_cmpint(report.inverted, ==, 0);
  }
  const double *tip = c[0].pos + 3 * (size_t)(c[0].model->n_verts - 1);
  double apart = largest_difference(c[0].pos, c[1].pos, c[0].model->n_verts);
  g_test_message("%d iterations, %d by increments, %g m apart, tip at x %g mm", iterations[0],
                 iterations[1], apart, 1e3 * tip[0]);
  g_assert_cmpfloat(tip[0], <, -0.04);
  g_assert_cmpfloat(apart, <, 1e-4 * size[0]);
  g_assert_cmpint(iterations[0], <, 45);
  case_clear(&c[0]);
  case_clear(&c[1]);
}

/* One vertex of a face is dragged over five cells along it: averages alone would let the tets
 * around it turn inside out. */
static void
test_dragged_vertex(void)
{
  const double param[2] = { 1e4, 0.49 }, size[3] = { 0.04, 0.04, 0.02 };
  const int cells[3] = { 8, 8, 4 };
  Case c = case_new(mesh_model(box_mesh(PLA_BOX_TETS_6, size, cells), "neo-hookean", param, 1000.0,
                               PLA_FORMULATION_AVERAGED));
  for (int v = 0; v < c.model->n_verts; v++) {
    const double *r = &c.model->rest[3 * v];
    const bool dragged = fabs(r[0] - 0.02) + fabs(r[1] - 0.02) + fabs(r[2] - 0.02) < 1e-9;
    if (r[2] < 1e-9 || dragged)
      memset(&c.fixed[3 * v], 1, 3);
    c.target[3 * v] += dragged ? 0.025 : 0.0;
  }
  const PlaFemConditions conditions = case_conditions(&c);
  const PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  g_assert_cmpint(pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err), ==, PLA_OK);
  g_test_message("%d iterations, %d inverted, least volume ratio %.3f", report.iterations,
                 report.inverted, report.min_jacobian);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpint(report.inverted, ==, 0);
  g_assert_cmpfloat(report.min_jacobian, >, 0.27);
  case_clear(&c);
}

/* a bar of the mixed formulation that is large enough for the factor of standard elements */
static Case
mixed_bar(double poisson)
{
  const double param[2] = { 1e4, poisson };
  const int cells[3] = { 24, 6, 6 };
  Case c = case_new(mesh_model(box_mesh(PLA_BOX_TETS_6, bar_size, cells), "neo-hookean", param,
                               1000.0, PLA_FORMULATION_MIXED));
  case_hold(&c, 0.0);
  case_gravity(&c, 2, -9.81);
  return c;
}

/* the system of a case at c->pos, its unbalanced forces, and a factor of the mixed tangent */
static double *
factored_system(Case *c, const PlaFemConditions *conditions, PlaFemSystem *system)
{
  PlaError err = { 0 };
  bool definite;
  g_autofree double *force = g_new(double, 3 * c->model->n_verts);
  g_assert_cmpint(pla_fem_system_init(system, c->model, conditions, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_terms_forces(c->model, conditions, c->pos, force, &err), ==, PLA_OK);
  double *b = g_new(double, 3 * system->n_blocks);
  pla_fem_system_gather(system, force, b);
  pla_fem_system_assemble(system, c->pos, false, 0.0);
  pla_fem_system_constrain(system);
  g_assert_cmpint(pla_cholesky_factor(system->factor, &system->matrix, PLA_DOUBLE, NULL, &definite,
                                      &err),
                  ==, PLA_OK);
  g_assert_true(definite);
  return b;
}

/* conjugate gradients around the factor of standard elements find what a factor of the mixed
 * tangent does, in few iterations; the preconditioner is symmetric and positive */
static void
test_near_direction(void)
{
  const double poisson[3] = { 0.3, 0.45, 0.49 };
  const int most[3] = { 20, 30, 50 };
  for (int k = 0; k < 3; k++) {
    Case c = mixed_bar(poisson[k]);
    PlaFemConditions conditions = case_conditions(&c);
    PlaFemSystem system;
    PlaFemNear *near;
    PlaRefineReport report;
    PlaError err = { 0 };
    bool definite;
    g_autofree double *b = factored_system(&c, &conditions, &system);
    const size_t n = 3 * (size_t)system.n_blocks;
    g_autofree double *x = g_new(double, n), *y = g_new(double, n), *z = g_new(double, n);
    g_assert_cmpint(pla_cholesky_refine(system.factor, &system.matrix, b, 1e-12, 20, NULL, x,
                                        &report, &err),
                    ==, PLA_OK);
    g_assert_cmpint(pla_fem_near_new(c.model, &conditions, NULL, NULL, &near, &err), ==, PLA_OK);
    g_assert_cmpint(pla_fem_near_factor(near, &conditions, c.pos, 0.0, NULL, &definite, &err), ==,
                    PLA_OK);
    g_assert_true(definite);
    pla_fem_near_set_matrix(near, &system.matrix);
    g_assert_cmpint(pla_fem_near_refine(near, b, 1e-10, 100, NULL, y, &report, &err), ==, PLA_OK);
    const double size = pla_max_abs(x, n);
    double apart = 0.0;
    for (size_t i = 0; i < n; i++)
      apart = fmax(apart, fabs(x[i] - y[i]));
    g_test_message("nu %g: %d iterations, %g apart", poisson[k], report.iterations, apart / size);
    g_assert_true(report.converged);
    g_assert_cmpint(report.iterations, <=, most[k]);
    g_assert_cmpfloat(apart, <=, 1e-8 * size);

    /* x.(M^-1 b) = b.(M^-1 x), both of them rough */
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    for (size_t i = 0; i < n; i++) {
      x[i] = g_rand_double_range(rand, -1.0, 1.0);
      b[i] = g_rand_double_range(rand, -1.0, 1.0);
    }
    g_assert_cmpint(pla_fem_near_precondition(near, b, y, &err), ==, PLA_OK);
    g_assert_cmpint(pla_fem_near_precondition(near, x, z, &err), ==, PLA_OK);
    const double xy = pla_dot(x, y, n), bz = pla_dot(b, z, n);
    const double xz = pla_dot(x, z, n), by = pla_dot(b, y, n);
    g_assert_cmpfloat(xz, >, 0.0);
    g_assert_cmpfloat(by, >, 0.0);
    g_assert_cmpfloat_with_epsilon(xy, bz, 1e-4 * sqrt(xz * by));
    pla_fem_near_free(near);
    pla_fem_system_clear(&system);
    case_clear(&c);
  }
}

/* Large bodies of the mixed formulation come to the equilibrium that a factor of the mixed tangent
 * leads to: a step by that factor moves them no more; at nu = 0.4999, too. */
static void
test_near_equilibrium(void)
{
  const double poisson[3] = { 0.3, 0.45, 0.4999 };
  for (int k = 0; k < 3; k++) {
    Case c = mixed_bar(poisson[k]);
    PlaFemConditions conditions = case_conditions(&c);
    PlaFemOptions options = pla_fem_options_default();
    PlaFemSystem system;
    PlaFemReport report;
    PlaError err = { 0 };
    options.tolerance_rel = poisson[k] > 0.49 ? 1e-8 : 1e-10;
    if (pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err) != PLA_OK)
      g_error("%s", err.message);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
    g_autofree double *b = factored_system(&c, &conditions, &system);
    g_assert_cmpint(pla_cholesky_solve(system.factor, b, b, &err), ==, PLA_OK);
    const double moved = pla_max_abs(b, 3 * (size_t)system.n_blocks);
    g_test_message("nu %g: %d iterations, %d factors, %d linear; %g m to go", poisson[k],
                   report.iterations, report.factorisations, report.linear_iterations, moved);
    g_assert_cmpfloat(moved, <=, 1e-8 * bar_size[0]);
    pla_fem_system_clear(&system);
    case_clear(&c);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/quasistatics/12-negative-curvature", test_12_negative_curvature);
  g_test_add_func("/quasistatics/13-projection-keeps-equilibria",
                  test_13_projection_keeps_equilibria);
  g_test_add_func("/quasistatics/16-dynamics-settle", test_16_dynamics_settle);
  g_test_add_func("/quasistatics/17-cost-grows-faster", test_17_cost_grows_faster);
  g_test_add_func("/quasistatics/falls-over", test_falls_over);
  g_test_add_func("/quasistatics/dragged-vertex", test_dragged_vertex);
  g_test_add_func("/quasistatics/near-direction", test_near_direction);
  g_test_add_func("/quasistatics/near-equilibrium", test_near_equilibrium);
  g_test_add_func("/quasistatics/bits", test_bits);
  return g_test_run();
}

/* Frames by a kept factor: the same shapes as the solver for any start, the same bits for any
 * number of threads, and frames too large for the factor. */
#include "tests/sim/fem/boxes.h"

#include "anatomy/base/parallel.h"
#include "sim/solve/solve.h"
#include "sim/solve/solver.h"

static Case
bar_new(int n)
{
  const double size[3] = { 0.1, 0.025, 0.025 };
  const int cells[3] = { 4 * n, n, n };
  Case c = case_new(box_new("neo-hookean", 1e4, 0.45, 1000.0, PLA_BOX_TETS_6, size, cells));
  case_hold(&c, 0.0);
  case_hold(&c, size[0]);
  case_gravity(&c, 1, -2.0);
  return c;
}

/* the far end at time @t, 2 % of the extent a frame: up, and turning */
static void
prescribe(Case *c, int t)
{
  case_turn(c, 0.1, 0.0125, 0.0125, 0.05 * t, 0.0);
  for (int v = 0; v < c->model->n_verts; v++)
    if (c->model->rest[3 * v] == 0.1)
      c->target[3 * v + 2] += 0.002 * t;
}

/* a hook at a corner of the middle, for what acts besides elements */
static PlaSpring
hook_of(const PlaFemModel *model)
{
  PlaSpring hook = { .n_verts = 1, .weight = { 1.0 } };
  for (int v = 0; v < model->n_verts; v++)
    if (model->rest[3 * v] == 0.05 && model->rest[3 * v + 1] == 0.0 &&
        model->rest[3 * v + 2] == 0.0)
      hook.vert[0] = v;
  const double *x = model->rest + 3 * hook.vert[0];
  memcpy(hook.offset, (double[3]){ x[0], x[1] - 0.004, x[2] }, sizeof hook.offset);
  pla_spring_set_stiffness(&hook, (double[3]){ 0, 1, 0 }, 5.0, 1.0);
  return hook;
}

/* frames at @tolerance; the last shape in c->pos */
static int
follow(Case *c, int n_frames, double tolerance)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaFemOptions options = pla_fem_options_default();
  PlaSpring hook = hook_of(c->model);
  PlaFemSprings springs = { 1, &hook };
  PlaFemSolver *solver;
  PlaError err = { 0 };
  int factors = 0;
  conditions.springs = &springs;
  options.tolerance_rel = tolerance;
  options.warm_start = true;
  g_assert_cmpint(pla_fem_solver_new(c->model, &conditions, &solver, &err), ==, PLA_OK);
  for (int t = 1; t <= n_frames; t++) {
    PlaFemReport report;
    prescribe(c, t);
    if (pla_fem_solver_move(solver, &conditions, &options, c->pos, &report, &err) != PLA_OK)
      g_error("%s", err.message);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpfloat(report.residual_rel, <=, tolerance);
    g_assert_cmpint(report.inverted, ==, 0);
    factors += report.factorisations;
  }
  pla_fem_solver_free(solver);
  return factors;
}

/* every frame is the equilibrium that the solver for any start finds */
static void
test_same_shape(void)
{
  Case c = bar_new(4), other = bar_new(4);
  const int frames = 12;
  int factors = follow(&c, frames, 1e-9);
  PlaSpring hook = hook_of(other.model);
  PlaFemSprings springs = { 1, &hook };
  PlaFemConditions conditions = case_conditions(&other);
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  conditions.springs = &springs;
  options.tolerance_rel = 1e-10;
  prescribe(&other, frames);
  g_assert_cmpint(pla_fem_solve(other.model, &conditions, &options, other.pos, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_test_message("%d factors in %d frames", factors, frames);
  g_assert_cmpfloat(largest_difference(c.pos, other.pos, c.model->n_verts), <, 1e-8 * 0.1);
  case_clear(&c);
  case_clear(&other);
}

/* at the accuracy of pictures a factor serves for several frames */
static void
test_few_factors(void)
{
  Case c = bar_new(4);
  int factors = follow(&c, 16, 1e-3);
  g_test_message("%d factors in 16 frames", factors);
  g_assert_cmpint(factors, <=, 8);
  case_clear(&c);
}

static void
test_bits(void)
{
  const int threads = pla_threads_get(), counts[3] = { 1, 2, 4 };
  g_autofree double *first = NULL;
  for (int k = 0; k < 3; k++) {
    Case c = bar_new(5);
    const gsize bytes = 3 * (gsize)c.model->n_verts * sizeof(double);
    pla_threads_set(counts[k]);
    follow(&c, 6, 1e-4);
    if (!first)
      first = g_memdup2(c.pos, bytes);
    g_assert_cmpmem(first, bytes, c.pos, bytes);
    case_clear(&c);
  }
  pla_threads_set(threads);
}

/* a frame of half the length of the bar, and a quarter turn */
static void
test_large_frame(void)
{
  Case c = bar_new(3);
  PlaFemConditions conditions = case_conditions(&c);
  PlaFemOptions options = pla_fem_options_default();
  PlaFemSolver *solver;
  PlaFemReport report;
  PlaError err = { 0 };
  options.warm_start = true;
  g_assert_cmpint(pla_fem_solver_new(c.model, &conditions, &solver, &err), ==, PLA_OK);
  for (int t = 0; t < 2; t++) {
    prescribe(&c, 24 * (1 - t));
    g_assert_cmpint(pla_fem_solver_move(solver, &conditions, &options, c.pos, &report, &err), ==,
                    PLA_OK);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    g_assert_cmpint(report.inverted, ==, 0);
  }
  /* and back: what is left is the sag under the small weight */
  Case other = bar_new(3);
  conditions = case_conditions(&other);
  g_assert_cmpint(pla_fem_solve(other.model, &conditions, &options, other.pos, &report, &err), ==,
                  PLA_OK);
  g_assert_cmpfloat(largest_difference(c.pos, other.pos, c.model->n_verts), <, 1e-5 * 0.1);
  pla_fem_solver_free(solver);
  case_clear(&c);
  case_clear(&other);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/solver/same-shape", test_same_shape);
  g_test_add_func("/solver/few-factors", test_few_factors);
  g_test_add_func("/solver/bits", test_bits);
  g_test_add_func("/solver/large-frame", test_large_frame);
  return g_test_run();
}

/* Estimates of the discretisation error: a solution that quadratic tets have exactly, effectivity
 * against fine meshes of another element, forces of held ends, threads. */
#include "tests/sim/fem/boxes.h"

#include "anatomy/base/parallel.h"
#include "sim/estimate/bubbles-private.h"
#include "sim/estimate/estimate.h"

static const double gravity[3] = { 0.0, 0.0, -9.81 };
static const double no_gravity[3] = { 0.0, 0.0, 0.0 };

static void
solve(Case *c)
{
  const PlaFemConditions conditions = case_conditions(c);
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.tolerance_rel = 1e-8;
  if (pla_fem_solve(c->model, &conditions, &options, c->pos, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
}

static PlaErrorEstimate
estimate(const Case *c, const double *weight)
{
  const PlaFemConditions conditions = case_conditions(c);
  PlaErrorEstimate out;
  PlaError err = { 0 };
  if (pla_error_estimate_init(&out, c->model, &conditions, weight, c->pos, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_true(out.solve.converged);
  return out;
}

/* ---- the operator ------------------------------------------------------------------------- */

/* K v of the linear functions against differences of the forces, at a bent shape; K is symmetric */
static void
test_derivative(void)
{
  const double size[3] = { 0.3, 0.2, 0.1 }, step = 1e-7;
  const int cells[3] = { 3, 2, 1 };
  Case c = case_new(box_new("neo-hookean", 1e4, 0.4, 1000.0, PLA_BOX_TETS_5, size, cells));
  const size_t n = 3 * (size_t)c.model->n_verts;
  PlaBubbles bubbles, ahead, behind;
  PlaError err = { 0 };
  GRand *random = g_rand_new_with_seed(7);
  double *v = g_new(double, n), *moved = g_new(double, n), *kv = g_new(double, n);
  for (size_t i = 0; i < n; i++) {
    c.pos[i] += g_rand_double_range(random, -0.01, 0.01);
    v[i] = g_rand_double_range(random, -1.0, 1.0);
  }
  g_assert_cmpint(pla_bubbles_init(&bubbles, c.model, c.pos, gravity, false, &err), ==, PLA_OK);
  const size_t m = 3 * (size_t)bubbles.n_edges;
  double *e = g_new0(double, m), *ke = g_new(double, m), *f[2], *g[2];
  for (int k = 0; k < 2; k++) {
    f[k] = g_new(double, n);
    g[k] = g_new(double, m);
    for (size_t i = 0; i < n; i++)
      moved[i] = c.pos[i] + (k ? -step : step) * v[i];
    PlaBubbles *at = k ? &behind : &ahead;
    g_assert_cmpint(pla_bubbles_init(at, c.model, moved, gravity, false, &err), ==, PLA_OK);
    pla_bubbles_forces(at, f[k], g[k]);
    pla_bubbles_clear(at);
  }
  pla_bubbles_apply(&bubbles, v, e, kv, ke);
  const double scale = pla_max_abs(kv, n);
  for (size_t i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon((f[1][i] - f[0][i]) / (2.0 * step), kv[i], 1e-6 * scale);
  for (size_t i = 0; i < m; i++)
    g_assert_cmpfloat_with_epsilon((g[1][i] - g[0][i]) / (2.0 * step), ke[i], 1e-6 * scale);

  /* y . K x = x . K y, and the diagonal is that of K */
  double *kv2 = g_new(double, n), *ke2 = g_new(double, m), *block = g_new(double, 3 * m);
  double *zero = g_new0(double, n);
  pla_bubbles_diagonal(&bubbles, block);
  for (int k = 0; k < 20; k++) {
    const size_t i = (size_t)g_rand_int_range(random, 0, (int)m);
    memset(e, 0, m * sizeof *e);
    e[i] = 1.0;
    pla_bubbles_apply(&bubbles, zero, e, kv2, ke2);
    g_assert_cmpfloat_with_epsilon(pla_dot(kv2, v, n), ke[i], 1e-9 * scale);
    for (size_t d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(block[9 * (i / 3) + 3 * d + i % 3], ke2[i - i % 3 + d],
                                     1e-9 * scale);
  }
  for (int k = 0; k < 2; k++) {
    g_free(f[k]);
    g_free(g[k]);
  }
  g_free(v);
  g_free(moved);
  g_free(kv);
  g_free(ke);
  g_free(e);
  g_free(kv2);
  g_free(ke2);
  g_free(block);
  g_free(zero);
  g_rand_free(random);
  pla_bubbles_clear(&bubbles);
  case_clear(&c);
}

/* ---- a solution that quadratic tets have exactly ------------------------------------------ */

/* a column that hangs under its own weight: u_x = rho g / E (L x - x^2 / 2) at a Poisson ratio of 0
 */
static void
test_column(void)
{
  const double size[3] = { 1.0, 0.2, 0.2 }, young = 1e6, density = 1000.0, g = 9.81;
  const double along[3] = { g, 0.0, 0.0 };
  const int cells[3] = { 5, 1, 1 };
  Case c = case_new(box_new("linear", young, 0.0, density, PLA_BOX_TETS_5, size, cells));
  double before = 0.0, after = 0.0;
  case_hold(&c, 0.0);
  case_gravity(&c, 0, g);
  solve(&c);
  PlaErrorEstimate e = estimate(&c, along);
  for (int v = 0; v < c.model->n_verts; v++) {
    const double x = c.model->rest[3 * v], u = density * g / young * (x - 0.5 * x * x);
    before = fmax(before, fabs(c.pos[3 * v] - x - u));
    after = fmax(after, fabs(c.pos[3 * v] - x + e.shift[3 * v] - u));
  }
  g_test_message("error %.3g m, with the estimate added %.3g m", before, after);
  g_assert_cmpfloat(before, >, 2e-5);
  g_assert_cmpfloat(after, <, 0.02 * before);
  pla_error_estimate_clear(&e);
  case_clear(&c);
}

/* ---- effectivity -------------------------------------------------------------------------- */

typedef struct {
  double value, shift;
} Answer;

/* a bar of 1 x 0.25 x 0.25 m held at one end: the drop of its tip under its own weight, or (@turn)
 * the moment that turns the other end by 0.6 about its axis */
static Answer
bar(PlaBoxCells kind, int n, double poisson, PlaFormulation formulation, bool turn)
{
  const double size[3] = { 1.0, 0.25, 0.25 }, param[2] = { 6e5, poisson };
  const int cells[3] = { 4 * n, n, n };
  Case c =
      case_new(mesh_model(box_mesh(kind, size, cells), "neo-hookean", param, 1000.0, formulation));
  PlaFemConditions conditions = case_conditions(&c);
  PlaErrorEstimate e = { 0 };
  PlaError err = { 0 };
  Answer out = { 0.0, 0.0 };
  case_hold(&c, 0.0);
  if (turn) {
    case_hold(&c, 1.0);
    case_turn(&c, 1.0, 0.125, 0.125, 0.6, 0.0);
  } else {
    case_gravity(&c, 2, gravity[2]);
  }
  solve(&c);
  if (kind != PLA_BOX_HEXES)
    e = estimate(&c, turn ? no_gravity : gravity);
  double *reaction = pla_array_new(3 * (size_t)c.model->n_verts, sizeof *reaction);
  g_assert_cmpint(pla_fem_reactions(c.model, &conditions, c.pos, reaction, &err), ==, PLA_OK);
  for (int v = 0; v < c.model->n_verts; v++) {
    const double *rest = c.model->rest + 3 * v, *at = c.pos + 3 * v;
    const double y = at[1] - 0.125, z = at[2] - 0.125;
    if (rest[0] != 1.0)
      continue;
    if (turn) {
      out.value += y * reaction[3 * v + 2] - z * reaction[3 * v + 1];
      out.shift += e.reaction ? y * e.reaction[3 * v + 2] - z * e.reaction[3 * v + 1] : 0.0;
    } else {
      out.value = at[2] - rest[2];
      out.shift = e.shift ? e.shift[3 * v + 2] : 0.0;
    }
  }
  free(reaction);
  pla_error_estimate_clear(&e);
  case_clear(&c);
  return out;
}

/* estimated over true error lies between 0.5 and 2, against fine hexes; errors below half a percent
 * of the answer, where that of the hexes matters, only have to be told as small */
static void
test_effectivity(void)
{
  const bool full = g_getenv("PLA_LONG") != NULL;
  const double poisson[3] = { 0.45, 0.49, 0.3 };
  for (int turn = 0; turn < 2; turn++)
    for (int k = 0; k < (full ? 3 : 2); k++) {
      const Answer coarse =
          bar(PLA_BOX_HEXES, full ? 8 : 4, poisson[k], PLA_FORMULATION_MIXED, turn);
      const Answer fine =
          bar(PLA_BOX_HEXES, full ? 16 : 8, poisson[k], PLA_FORMULATION_MIXED, turn);
      const double limit = fine.value + (fine.value - coarse.value) / 3.0;
      for (int f = 0; f < 2; f++)
        for (int n = 2; n <= (full ? 8 : 4); n *= 2) {
          const Answer a = bar(PLA_BOX_TETS_5, n, poisson[k],
                               f ? PLA_FORMULATION_MIXED : PLA_FORMULATION_STANDARD, turn);
          const double error = limit - a.value;
          g_test_message("%s, nu %g, %d cells across, %s: %.5g of %.5g, error %.3g, estimate %.3g: "
                         "%.2f",
                         turn ? "moment" : "drop", poisson[k], n, f ? "mixed" : "standard", a.value,
                         limit, error, a.shift, a.shift / error);
          if (fabs(error) > 0.005 * fabs(limit)) {
            g_assert_cmpfloat(a.shift / error, >, 0.5);
            g_assert_cmpfloat(a.shift / error, <, 2.0);
          } else {
            g_assert_cmpfloat(fabs(a.shift), <, 0.01 * fabs(limit));
          }
        }
    }
}

/* ---- threads, refusals -------------------------------------------------------------------- */

static void
test_threads(void)
{
  const double size[3] = { 1.0, 0.25, 0.25 };
  const int cells[3] = { 12, 3, 3 };
  Case c = case_new(box_new("neo-hookean", 6e5, 0.45, 1000.0, PLA_BOX_TETS_5, size, cells));
  const size_t n = 3 * (size_t)c.model->n_verts * sizeof(double);
  PlaErrorEstimate e[3];
  case_hold(&c, 0.0);
  case_gravity(&c, 2, gravity[2]);
  solve(&c);
  for (int k = 0; k < 3; k++) {
    pla_threads_set(1 << k);
    e[k] = estimate(&c, gravity);
    g_assert_cmpmem(e[k].shift, n, e[0].shift, n);
    g_assert_cmpmem(e[k].reaction, n, e[0].reaction, n);
    g_assert_cmpmem(e[k].von_mises_pa, (size_t)c.model->n_tets * sizeof(double), e[0].von_mises_pa,
                    (size_t)c.model->n_tets * sizeof(double));
  }
  for (int k = 0; k < 3; k++)
    pla_error_estimate_clear(&e[k]);
  pla_threads_set(0);
  case_clear(&c);
}

static void
test_hexes(void)
{
  const double size[3] = { 1.0, 0.25, 0.25 };
  const int cells[3] = { 2, 1, 1 };
  Case c = case_new(box_new("neo-hookean", 6e5, 0.45, 1000.0, PLA_BOX_HEXES, size, cells));
  const PlaFemConditions conditions = case_conditions(&c);
  PlaErrorEstimate e;
  PlaError err = { 0 };
  g_assert_cmpint(pla_error_estimate_init(&e, c.model, &conditions, gravity, c.pos, NULL, &err), ==,
                  PLA_ERR_USAGE);
  case_clear(&c);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/estimate/derivative", test_derivative);
  g_test_add_func("/estimate/column", test_column);
  g_test_add_func("/estimate/effectivity", test_effectivity);
  g_test_add_func("/estimate/threads", test_threads);
  g_test_add_func("/estimate/hexes", test_hexes);
  return g_test_run();
}

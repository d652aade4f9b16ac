/* Vertex-by-vertex solves: kernels against the materials, the published tables and claims (Chen
 * 2024, numbers in the names), closed forms, and the same bits for any number of threads.  XPBD and
 * PBD stand here as baselines only. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"
#include "sim/solve/pbng-private.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"
#include "tests/sim/fem/boxes.h"

static bool
small(void)
{
  return g_getenv("PLA_SMALL") != NULL;
}

static PlaPbng *
pbng_new(const Case *c, const PlaPbngOptions *options)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaError err = { 0 };
  PlaPbng *state;
  g_assert_cmpint(pla_pbng_new(c->model, &conditions, options, c->pos, &state, &err), ==, PLA_OK);
  return state;
}

static PlaPbngOptions
plain_options(void)
{
  PlaPbngOptions options = pla_pbng_options_default();
  options.acceleration = PLA_PBNG_PLAIN;
  options.repair = false;
  return options;
}

/* every free vertex of @c anywhere in the box of @size around its middle */
static void
scatter(Case *c, const double size[3], guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  for (int i = 0; i < 3 * c->model->n_verts; i++)
    if (!c->fixed[i])
      c->pos[i] = g_rand_double_range(rand, 0.0, size[i % 3]);
}

/* ---- kernels ---- */

/* forces of both kernels on every material, tets and hexes, mild and inverted, against the model's
 */
static void
test_forces_match_materials(void)
{
  const double size[3] = { 0.04, 0.03, 0.02 };
  const int n[3] = { 4, 3, 2 };
  const PlaBoxCells cells[2] = { PLA_BOX_TETS_5, PLA_BOX_HEXES };
  const PlaPbngOptions options = plain_options();
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++)
    for (int variant = 0; variant < 8; variant++) {
      const bool wild = variant & 1, hexes = variant & 2;
      Case c = case_new(box_new((*m)->id, 1e4, 0.4, 1000.0, cells[hexes], size, n));
      g_autoptr(GRand) rand = g_rand_new_with_seed(5);
      PlaError err = { 0 };
      size_t nv = (size_t)c.model->n_verts;
      for (size_t i = 0; i < 3 * nv; i++)
        c.pos[i] += g_rand_double_range(rand, -1, 1) * (wild ? 0.015 : 0.001);
      pla_kernel_override(variant & 4 ? PLA_KERNEL_AVX2 : PLA_KERNEL_PLAIN);
      PlaPbng *state = pbng_new(&c, &options);
      double *expected = pla_array_new(nv, 3 * sizeof *expected);
      g_assert_cmpint(pla_fem_forces(c.model, c.pos, expected, &err), ==, PLA_OK);
      double scale = pla_max_abs(expected, 3 * nv);
      double norm = pla_pbng_residual(state);
      g_assert_cmpfloat_with_epsilon(norm, pla_norm2(expected, 3 * nv), 1e-9 * norm);
      for (size_t v = 0; v < nv; v++)
        for (size_t d = 0; d < 3; d++)
          g_assert_cmpfloat_with_epsilon(state->force[4 * v + d], expected[3 * v + d],
                                         1e-10 * scale);
      free(expected);
      pla_pbng_free(state);
      case_clear(&c);
    }
  pla_kernel_override(PLA_KERNEL_AVX2);
}

/* the polynomial material is quadratic in each vertex: one visit balances it, wherever it was */
static void
test_one_visit_balances_a_vertex(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 4, 4, 4 };
  const PlaPbngOptions options = plain_options();
  const PlaBoxCells cells[2] = { PLA_BOX_TETS_5, PLA_BOX_HEXES };
  for (int k = 0; k < 2; k++) {
    Case c = case_new(box_new("neo-hookean-mm", 1e5, 0.45, 10.0, cells[k], size, n));
    scatter(&c, size, 7);
    PlaPbng *state = pbng_new(&c, &options);
    double before = pla_pbng_residual(state);
    for (int v = 3; v < c.model->n_verts; v += 17) {
      g_autofree unsigned char *chosen = g_new0(unsigned char, c.model->n_verts);
      chosen[v] = 1;
      pla_pbng_set_priority(state, chosen);
      pla_pbng_sweep(state, 1);
      g_assert_cmpfloat(pla_pbng_residual(state), <, 1e-11 * before);
    }
    pla_pbng_free(state);
    case_clear(&c);
  }
}

/* where the nodal matrix bounds the curvature, no sweep raises the energy, scattered starts
 * included */
static void
test_plain_sweeps_descend(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 5, 5, 5 };
  const char *materials[3] = { "neo-hookean-mm", "stable-neo-hookean", "fixed-corotated" };
  const PlaPbngOptions options = plain_options();
  for (int m = 0; m < 3; m++) {
    Case c = case_new(box_new(materials[m], 1e5, 0.4, 10.0, PLA_BOX_TETS_5, size, n));
    case_hold(&c, 0.0);
    case_hold(&c, 1.0);
    scatter(&c, size, 11);
    PlaPbng *state = pbng_new(&c, &options);
    double energy = pla_pbng_energy(state);
    for (int k = 0; k < 30; k++) {
      pla_pbng_sweep(state, 1);
      double next = pla_pbng_energy(state);
      g_assert_cmpfloat(next, <, energy);
      energy = next;
    }
    pla_pbng_free(state);
    case_clear(&c);
  }
}

/* 33: the same bits for 1, 2 and 4 threads, springs and contacts included */
static void
test_33_same_bits_for_any_threads(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 20, 20, 20 };
  double *first = NULL;
  int threads = pla_threads_get();
  for (int t = 1; t <= 4; t *= 2) {
    Case c = case_new(box_new("neo-hookean", 1e5, 0.4, 10.0, PLA_BOX_TETS_5, size, n));
    const PlaPbngOptions options = pla_pbng_options_default();
    PlaError err = { 0 };
    case_hold(&c, 0.0);
    case_gravity(&c, 2, -9.81);
    PlaSpring spring = { .n_verts = 2, .vert = { 20, 9260 }, .weight = { 1, -1 } };
    pla_spring_set_stiffness(&spring, (double[3]){ 1, 0, 0 }, 1e4, 1e3);
    PlaPlaneContact contact = { .vert = 4000, .point = { 0, 0, 0.4 }, .normal = { 0, 0, 1 } };
    pla_threads_set(t);
    PlaPbng *state = pbng_new(&c, &options);
    g_assert_cmpint(pla_pbng_set_springs(state, &spring, 1, &err), ==, PLA_OK);
    g_assert_cmpint(pla_pbng_set_contacts(state, &contact, 1, &err), ==, PLA_OK);
    pla_pbng_sweep(state, 20);
    pla_pbng_get_positions(state, c.pos);
    if (first)
      g_assert_cmpmem(first, 3 * (gsize)c.model->n_verts * sizeof *first, c.pos,
                      3 * (gsize)c.model->n_verts * sizeof *first);
    else
      first = g_memdup2(c.pos, 3 * (gsize)c.model->n_verts * sizeof *first);
    pla_pbng_free(state);
    case_clear(&c);
  }
  g_free(first);
  pla_threads_set(threads);
}

/* ---- equilibrium ---- */

/* unit cube between sliding faces, stretched to 2: lateral stretch of the closed form */
static void
test_uniaxial_closed_form(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 3, 3, 3 };
  /* E = 1, nu = 0.3: mu 0.384615, lambda 0.576923 */
  Case c = case_new(box_new("neo-hookean", 1.0, 0.3, 1.0, PLA_BOX_TETS_5, size, n));
  for (int v = 0; v < c.model->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      double r = c.model->rest[3 * v + d];
      if (r == 0.0 || (d == 0 && r == 1.0)) {
        c.fixed[3 * v + d] = 1;
        c.target[3 * v + d] = 2.0 * r;
      }
    }
  PlaFemConditions conditions = case_conditions(&c);
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  options.method = PLA_SOLVER_PBNG;
  options.tolerance_rel = 1e-10;
  g_assert_cmpint(pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err), ==, PLA_OK);
  g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
  g_assert_cmpstr(report.method, ==, "pbng");
  int corner = c.model->n_verts - 1;
  g_assert_cmpfloat_with_epsilon(c.pos[3 * corner + 1], 0.7980775, 1e-6);
  g_assert_cmpfloat_with_epsilon(c.pos[3 * corner + 2], 0.7980775, 1e-6);
  case_clear(&c);
}

/* Newton, sweeps alone and the automatic choice agree to 1e-5 of the extent, each with the same
 * bits for 1, 2 and 4 threads; what touches is in tests/sim/contact */
enum { TWIST, JUMP, SAG, COMPRESSION, N_SCENES };

static PlaFemReport
solve_scene(int scene, PlaSolverMethod method, Case *c)
{
  const double size[3] = { 0.1, 0.025, 0.025 };
  const int m = small() ? 2 : 3, n[3] = { 4 * m, m, m };
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  *c = case_new(box_new("neo-hookean", 1e4, 0.45, 1000.0, PLA_BOX_TETS_6, size, n));
  case_hold(c, 0.0);
  if (scene != SAG)
    case_hold(c, 0.1);
  if (scene == TWIST || scene == JUMP)
    case_turn(c, 0.1, 0.0125, 0.0125, G_PI / 2.0, 0.0);
  if (scene == COMPRESSION)
    case_turn(c, 0.1, 0.0125, 0.0125, 0.0, -0.012);
  if (scene == SAG)
    case_gravity(c, 2, -9.81);
  for (int v = 0; scene == TWIST && v < c->model->n_verts; v++) {
    double *x = c->pos + 3 * v, along = x[0] / 0.1, y = x[1] - 0.0125, z = x[2] - 0.0125;
    x[1] += along * (-z - y);
    x[2] += along * (y - z);
  }
  PlaFemConditions conditions = case_conditions(c);
  options.method = method;
  /* relative to the start, which for a jump is a violent one */
  options.tolerance_rel = scene == SAG ? 1e-7 : 1e-9;
  g_assert_cmpint(pla_fem_solve(c->model, &conditions, &options, c->pos, &report, &err), ==,
                  PLA_OK);
  return report;
}

static void
test_methods_agree(void)
{
  const int threads = pla_threads_get();
  for (int scene = 0; scene < N_SCENES; scene++) {
    g_autofree double *reference = NULL;
    for (int method = PLA_SOLVER_AUTO; method <= PLA_SOLVER_PBNG; method++) {
      g_autofree double *bits = NULL;
      for (int t = 1; t <= 4; t *= 2) {
        Case c;
        pla_threads_set(t);
        PlaFemReport report = solve_scene(scene, (PlaSolverMethod)method, &c);
        const gsize bytes = 3 * (gsize)c.model->n_verts * sizeof(double);
        g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
        g_assert_cmpint(report.inverted, ==, 0);
        if (!bits) {
          bits = g_memdup2(c.pos, bytes);
          g_test_message("scene %d, %s: %d iterations, %d factorisations, %g, energy %.9g", scene,
                         report.method, report.iterations, report.factorisations,
                         report.residual_rel, report.energy_j);
        }
        g_assert_cmpmem(bits, bytes, c.pos, bytes);
        if (!reference)
          reference = g_memdup2(c.pos, bytes);
        g_assert_cmpfloat(largest_difference(reference, c.pos, c.model->n_verts), <, 1e-5 * 0.1);
        case_clear(&c);
      }
    }
  }
  pla_threads_set(threads);
}

/* sweeps near a tool move nothing else, and a full solve follows from there */
static void
test_priority_moves_only_the_chosen(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 6, 6, 6 };
  const PlaPbngOptions options = pla_pbng_options_default();
  Case c = case_new(box_new("neo-hookean", 1e4, 0.4, 100.0, PLA_BOX_TETS_5, size, n));
  case_hold(&c, 0.0);
  case_gravity(&c, 2, -9.81);
  g_autofree unsigned char *chosen = g_new0(unsigned char, c.model->n_verts);
  for (int v = 0; v < c.model->n_verts; v++)
    chosen[v] = c.model->rest[3 * v] > 0.6;
  PlaPbng *state = pbng_new(&c, &options);
  pla_pbng_set_priority(state, chosen);
  pla_pbng_sweep(state, 200);
  pla_pbng_get_positions(state, c.pos);
  for (int v = 0; v < c.model->n_verts; v++)
    g_assert_true((memcmp(c.pos + 3 * v, c.model->rest + 3 * v, 3 * sizeof(double)) != 0) ==
                  (chosen[v] != 0));
  /* balanced there, not yet elsewhere */
  double near = pla_pbng_residual(state);
  pla_pbng_set_priority(state, NULL);
  double all = pla_pbng_residual(state);
  g_assert_cmpfloat(near, <, 1e-3 * all);
  pla_pbng_sweep(state, 300);
  g_assert_cmpfloat(pla_pbng_residual(state), <, 1e-6 * all);
  pla_pbng_free(state);
  case_clear(&c);
}

/* ---- published claims ---- */

/* the unit block, ends pulled 0.25 each way and twisted by 0.8 rad each way in one shot */
static Case
stretch_twist(const char *material, int nodes, double amount)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { nodes - 1, nodes - 1, nodes - 1 };
  Case c = case_new(box_new(material, 1e5, 0.3, 10.0, PLA_BOX_TETS_5, size, n));
  case_hold(&c, 0.0);
  case_hold(&c, 1.0);
  case_turn(&c, 0.0, 0.5, 0.5, -0.8 * amount, -0.25 * amount);
  case_turn(&c, 1.0, 0.5, 0.5, 0.8 * amount, 0.25 * amount);
  return c;
}

/* 23: residuals after 6, 10, 40 and 100 sweeps within a factor of 2 of the table, and the energy */
static void
test_23_one_shot_table(void)
{
  const int at[4] = { 6, 10, 40, 100 };
  const PlaPbngAcceleration kinds[3] = { PLA_PBNG_PLAIN, PLA_PBNG_SOR, PLA_PBNG_CHEBYSHEV };
  const double table[3][4] = { { 8.9e3, 6.1e3, 1.65e3, 4.1e2 },
                               { 1.95e4, 8.7e3, 79.0, 0.38 },
                               { 8.3e3, 2.9e3, 12.0, 0.33 } };
  if (small()) {
    g_test_skip("16^3 nodes take too long under sanitizers");
    return;
  }
  for (int k = 0; k < 3; k++) {
    Case c = stretch_twist("fixed-corotated", 16, 1.0);
    PlaPbngOptions options = plain_options();
    options.acceleration = kinds[k];
    options.hessian = PLA_PBNG_SURROGATE;
    options.plain_sweeps = 0;
    options.radius = 0.95;
    PlaPbng *state = pbng_new(&c, &options);
    g_assert_cmpfloat_with_epsilon(pla_pbng_residual(state), 6.20e4, 0.01e4);
    for (int i = 0, done = 0; i < 4; done = at[i++]) {
      pla_pbng_sweep(state, at[i] - done);
      double residual = pla_pbng_residual(state);
      g_test_message("acceleration %d, sweep %d: %.3g (table %.3g)", kinds[k], at[i], residual,
                     table[k][i]);
      g_assert_cmpfloat(residual, <, 2.0 * table[k][i]);
      g_assert_cmpfloat(residual, >, 0.5 * table[k][i]);
    }
    if (kinds[k] != PLA_PBNG_PLAIN) {
      pla_pbng_sweep(state, 50);
      g_assert_cmpfloat_with_epsilon(pla_pbng_energy(state), 1.97192e4, 0.1);
    }
    pla_pbng_free(state);
    case_clear(&c);
  }
}

/* our own nodal matrix and measured radius do better than the table from 40 sweeps on */
static void
test_defaults_beat_the_table(void)
{
  const char *materials[4] = { "neo-hookean", "neo-hookean-mm", "stable-neo-hookean",
                               "fixed-corotated" };
  const int nodes = small() ? 8 : 16;
  for (int m = 0; m < 4; m++) {
    Case c = stretch_twist(materials[m], nodes, 1.0);
    const PlaPbngOptions options = pla_pbng_options_default();
    PlaPbng *state = pbng_new(&c, &options);
    pla_pbng_sweep(state, 40);
    double early = pla_pbng_residual(state);
    pla_pbng_sweep(state, 60);
    double late = pla_pbng_residual(state);
    g_test_message("%s: %.3g after 40 sweeps, %.3g after 100", materials[m], early, late);
    g_assert_cmpfloat(early, <, 20.0);
    g_assert_cmpfloat(late, <, 0.1);
    pla_pbng_get_positions(state, c.pos);
    g_assert_cmpint(pla_fem_inverted(c.model, c.pos, NULL, NULL), ==, 0);
    pla_pbng_free(state);
    case_clear(&c);
  }
}

/* @steps of Newton's method on the exact tangent, each by @n iterations of conjugate gradients,
 * without line search */
static void
newton_frame(Case *c, int steps, int n)
{
  PlaFemConditions conditions = case_conditions(c);
  PlaFemSystem system;
  PlaError err = { 0 };
  for (int i = 0; i < 3 * c->model->n_verts; i++)
    if (c->fixed[i])
      c->pos[i] = c->target[i];
  g_assert_cmpint(pla_fem_system_init(&system, c->model, &conditions, NULL, &err), ==, PLA_OK);
  const size_t count = 3 * (size_t)system.n_blocks;
  g_autofree double *force = g_new(double, 3 * c->model->n_verts), *r = g_new(double, count);
  g_autofree double *x = g_new(double, count), *p = g_new(double, count),
                    *kp = g_new(double, count);
  for (int step = 0; step < steps; step++) {
    g_assert_cmpint(pla_fem_forces(c->model, c->pos, force, &err), ==, PLA_OK);
    pla_fem_system_gather(&system, force, r);
    pla_fem_system_assemble(&system, c->pos, false, 0.0);
    pla_fem_system_constrain(&system);
    memset(x, 0, count * sizeof *x);
    memcpy(p, r, count * sizeof *p);
    double rr = pla_dot(r, r, count);
    for (int k = 0; k < n && rr > 0.0; k++) {
      pla_block_matrix_mul(&system.matrix, p, kp);
      double alpha = rr / pla_dot(p, kp, count), old = rr;
      for (size_t i = 0; i < count; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * kp[i];
      }
      rr = pla_dot(r, r, count);
      for (size_t i = 0; i < count; i++)
        p[i] = r[i] + rr / old * p[i];
    }
    pla_fem_system_add(&system, x, 1.0, c->pos);
  }
  pla_fem_system_clear(&system);
}

/* The stretch and twist in @n_frames, by six sweeps a frame or by two steps of Newton's method of
 * seven conjugate gradients each, which take as long in the document: the largest number of
 * inverted elements in any frame, and the energy at the end over that of the equilibrium. */
static int
progressive(int nodes, int n_frames, bool newton, double *energy)
{
  Case c = stretch_twist("fixed-corotated", nodes, 0.0);
  const PlaPbngOptions options = pla_pbng_options_default();
  PlaPbng *state = pbng_new(&c, &options);
  int inverted = 0;
  for (int f = 1; f <= n_frames; f++) {
    double amount = (double)f / n_frames;
    case_turn(&c, 0.0, 0.5, 0.5, -0.8 * amount, -0.25 * amount);
    case_turn(&c, 1.0, 0.5, 0.5, 0.8 * amount, 0.25 * amount);
    PlaFemConditions conditions = case_conditions(&c);
    pla_pbng_set_conditions(state, &conditions);
    if (newton) {
      newton_frame(&c, 2, 7);
    } else {
      pla_pbng_sweep(state, 6);
      pla_pbng_get_positions(state, c.pos);
    }
    inverted = MAX(inverted, pla_fem_inverted(c.model, c.pos, NULL, NULL));
  }
  *energy = pla_fem_energy(c.model, c.pos);
  PlaFemConditions conditions = case_conditions(&c);
  PlaFemOptions solve = pla_fem_options_default();
  PlaFemReport report;
  PlaError err = { 0 };
  memcpy(c.pos, c.model->rest, 3 * (size_t)c.model->n_verts * sizeof *c.pos);
  g_assert_cmpint(pla_fem_solve(c.model, &conditions, &solve, c.pos, &report, &err), ==, PLA_OK);
  *energy /= report.energy_j;
  g_test_message("%s in %d frames: up to %d of %d inverted, energy %.4g of the equilibrium's",
                 newton ? "Newton" : "sweeps", n_frames, inverted, c.model->n_tets, *energy);
  pla_pbng_free(state);
  case_clear(&c);
  return inverted;
}

/* 24: six sweeps a frame keep the shape plausible at any pace.  That Newton's method without line
 * search, given the same time, does not, we do not see: in 30 frames it is at 1.001 of the energy,
 * the sweeps at 1.05, and it first turns elements inside out when the whole motion comes in two
 * frames. */
static void
test_24_six_sweeps_a_frame(void)
{
  const int nodes = small() ? 7 : 16;
  double sweeps, newton;
  g_assert_cmpint(progressive(nodes, 30, false, &sweeps), ==, 0);
  g_assert_cmpint(progressive(nodes, 30, true, &newton), ==, 0);
  g_assert_cmpfloat(sweeps, <, 1.1);
  g_assert_cmpfloat(newton, <, sweeps);
  g_assert_cmpint(progressive(nodes, 2, false, &sweeps), ==, 0);
  if (!small())
    g_assert_cmpint(progressive(nodes, 2, true, &newton), >, 0);
}

/* 26: with lambda in the nodal matrix the accelerated sweeps fail on a one-shot jump of the
 * polynomial neo-Hookean box; with its own coefficient they converge */
static void
test_26_volumetric_coefficient(void)
{
  int restarts[2];
  double residual[2];
  if (!g_getenv("PLA_LONG")) {
    g_test_skip("32^3 nodes: set PLA_LONG=1");
    return;
  }
  for (int k = 0; k < 2; k++) {
    Case c = stretch_twist("neo-hookean-mm", 32, 1.0);
    PlaPbngOptions options = pla_pbng_options_default();
    options.acceleration = PLA_PBNG_SOR;
    options.hessian = k ? PLA_PBNG_LAME : PLA_PBNG_SURROGATE;
    options.plain_sweeps = 0;
    options.repair = false;
    PlaPbng *state = pbng_new(&c, &options);
    pla_pbng_sweep(state, 100);
    residual[k] = pla_pbng_residual(state);
    restarts[k] = pla_pbng_restarts(state);
    g_test_message("%s: %.3g after 100 sweeps, %d restarts", k ? "lambda" : "lambda + mu",
                   residual[k], restarts[k]);
    pla_pbng_free(state);
    case_clear(&c);
  }
  g_assert_cmpint(restarts[0], ==, 0);
  g_assert_cmpfloat(residual[0], <, 2.0 * 156.0);
  g_assert_cmpint(restarts[1], >, 0);
}

/* 29: vertices anywhere come back to rest, 45 % of the elements inverted at the start */
static void
test_29_scatter_returns_to_rest(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 7, 7, 7 };
  const char *materials[3] = { "fixed-corotated", "neo-hookean-mm", "neo-hookean" };
  for (int m = 0; m < 3; m++) {
    Case c = case_new(box_new(materials[m], 1e5, 0.3, 10.0, PLA_BOX_TETS_5, size, n));
    PlaPbngOptions options = plain_options();
    options.repair = m == 2; /* the logarithm's continuation has false minima */
    case_hold(&c, 0.0);
    case_hold(&c, 1.0);
    scatter(&c, size, 29);
    int inverted = pla_fem_inverted(c.model, c.pos, NULL, NULL);
    g_assert_cmpfloat(inverted, >, 0.4 * c.model->n_tets);
    PlaPbng *state = pbng_new(&c, &options);
    pla_pbng_sweep(state, 100);
    pla_pbng_get_positions(state, c.pos);
    g_assert_cmpint(pla_fem_inverted(c.model, c.pos, NULL, NULL), ==, 0);
    pla_pbng_sweep(state, 400);
    pla_pbng_get_positions(state, c.pos);
    double error = largest_difference(c.pos, c.model->rest, c.model->n_verts);
    g_test_message("%s: largest error %.2g after 500 sweeps", materials[m], error);
    g_assert_cmpfloat(error, <, 5e-6);
    pla_pbng_free(state);
    case_clear(&c);
  }
}

/* 30: a stiff one-way spring along a normal: penetration is load / stiffness, sliding is free */
static void
test_30_contact_springs(void)
{
  const double size[3] = { 1, 1, 1 }, k_n = 1e8;
  const int n[3] = { 3, 3, 3 };
  const PlaPbngOptions options = pla_pbng_options_default();
  Case c = case_new(box_new("neo-hookean", 1e6, 0.3, 1000.0, PLA_BOX_TETS_5, size, n));
  PlaError err = { 0 };
  PlaSpring springs[16];
  int n_springs = 0;
  double load = 0.0, depth = 0.0, drift = 0.0;
  /* the top is held sideways and pushed down, the bottom rests on springs; it may slide in x */
  for (int v = 0; v < c.model->n_verts; v++) {
    const double *r = c.model->rest + 3 * v;
    c.fixed[3 * v + 1] = 1;
    if (r[2] == 1.0) {
      c.force[3 * v + 2] = -100.0;
      c.fixed[3 * v] = 1;
      c.target[3 * v] = r[0] + 0.1;
      load += 100.0;
    }
    if (r[2] == 0.0) {
      PlaSpring *s = &springs[n_springs++];
      *s = (PlaSpring){ .n_verts = 1, .vert = { v }, .weight = { 1 } };
      memcpy(s->offset, r, sizeof s->offset);
      pla_spring_set_stiffness(s, (double[3]){ 0, 0, 1 }, k_n, 0.0);
    }
  }
  PlaPbng *state = pbng_new(&c, &options);
  double start = pla_pbng_residual(state);
  g_assert_cmpint(pla_pbng_set_springs(state, springs, n_springs, &err), ==, PLA_OK);
  pla_pbng_sweep(state, 1500);
  g_assert_cmpfloat(pla_pbng_residual(state), <, 1e-8 * start);
  pla_pbng_get_positions(state, c.pos);
  for (int s = 0; s < n_springs; s++) {
    depth -= c.pos[3 * springs[s].vert[0] + 2] * k_n;
    drift += (c.pos[3 * springs[s].vert[0]] - c.model->rest[3 * springs[s].vert[0]]) / n_springs;
  }
  g_assert_cmpfloat_with_epsilon(depth, load, 1e-4 * load);
  g_assert_cmpfloat_with_epsilon(drift, 0.1, 1e-3);
  pla_pbng_free(state);
  case_clear(&c);
}

/* 31: planes are never crossed, in any sweep; the tangential force balances; the body can leave */
static void
test_31_planes_hold_and_release(void)
{
  const double size[3] = { 1, 1, 1 };
  const int n[3] = { 5, 5, 5 };
  const double normal[3] = { 0.6, 0.0, 0.8 };
  const PlaPbngOptions options = pla_pbng_options_default();
  Case c = case_new(box_new("neo-hookean", 2e3, 0.4, 100.0, PLA_BOX_TETS_5, size, n));
  PlaError err = { 0 };
  GArray *contacts = g_array_new(FALSE, TRUE, sizeof(PlaPlaneContact));
  case_hold(&c, 0.0);
  case_gravity(&c, 2, -9.81);
  for (int v = 0; v < c.model->n_verts; v++)
    if (c.model->rest[3 * v + 2] == 0.0 && !c.fixed[3 * v]) {
      PlaPlaneContact contact = { .vert = v, .point = { 1.0, 0.0, -0.15 } };
      memcpy(contact.normal, normal, sizeof normal);
      g_array_append_val(contacts, contact);
    }
  PlaPbng *state = pbng_new(&c, &options);
  double start = pla_pbng_residual(state);
  const PlaPlaneContact *list = (const PlaPlaneContact *)contacts->data;
  g_assert_cmpint(pla_pbng_set_contacts(state, list, (int)contacts->len, &err), ==, PLA_OK);
  int touching = 0;
  for (int k = 0; k < 400; k++) {
    pla_pbng_sweep(state, 1);
    pla_pbng_get_positions(state, c.pos);
    touching = 0;
    for (guint i = 0; i < contacts->len; i++) {
      double gap[3];
      pla_vec3_sub(c.pos + 3 * list[i].vert, list[i].point, gap);
      double room = pla_vec3_dot(gap, normal);
      g_assert_cmpfloat(room, >, -1e-12);
      touching += room < 1e-9;
    }
  }
  g_assert_cmpint(touching, >, 0);
  g_assert_cmpint(touching, <, (int)contacts->len);
  g_assert_cmpfloat(pla_pbng_residual(state), <, 1e-5 * start);
  /* gravity upwards lifts everything off */
  case_gravity(&c, 2, 9.81);
  PlaFemConditions conditions = case_conditions(&c);
  pla_pbng_set_conditions(state, &conditions);
  pla_pbng_sweep(state, 400);
  pla_pbng_get_positions(state, c.pos);
  for (guint i = 0; i < contacts->len; i++) {
    double gap[3];
    pla_vec3_sub(c.pos + 3 * list[i].vert, list[i].point, gap);
    g_assert_cmpfloat(pla_vec3_dot(gap, normal), >, 1e-6);
  }
  pla_pbng_free(state);
  g_array_unref(contacts);
  case_clear(&c);
}

/* ---- baselines: XPBD and PBD on the fixed corotated energy, as two constraints an element ---- */

typedef struct {
  const PlaFemModel *model;
  double *x, *lambda;         /* two multipliers an element */
  const double *inverse_mass; /* 0 where held */
  double compliance;          /* 1 / dt^2 for XPBD, 0 for PBD */
} Xpbd;

/* one constraint of value @value and derivative @slope by F, of stiffness @stiffness */
static void
xpbd_project(Xpbd *self, int t, double value, const double slope[9], double stiffness,
             double *lambda)
{
  const int *tet = self->model->tet + 4 * t;
  double grad[4][3], by[4][3], sum = 0.0, alpha = self->compliance / stiffness;
  pla_fem_tet_shape(self->model, t, grad);
  for (int a = 0; a < 4; a++) {
    pla_mat3_apply(slope, grad[a], by[a]);
    sum += self->inverse_mass[tet[a]] * pla_vec3_dot(by[a], by[a]);
  }
  if (!(sum + alpha > 0.0))
    return;
  double change = -(value + alpha * *lambda) / (sum + alpha);
  *lambda += change;
  for (int a = 0; a < 4; a++)
    for (int d = 0; d < 3; d++)
      self->x[3 * tet[a] + d] += self->inverse_mass[tet[a]] * change * by[a][d];
}

static void
xpbd_element(Xpbd *self, int t)
{
  const double *constants = self->model->material[0].constants;
  double f[9], r[9], s[9], slope[9], size = 0.0;
  pla_fem_tet_gradient(self->model, t, self->x, f);
  pla_polar3(f, r, s);
  for (int i = 0; i < 9; i++) {
    slope[i] = f[i] - r[i];
    size += slope[i] * slope[i];
  }
  size = sqrt(size);
  for (int i = 0; i < 9; i++)
    slope[i] /= size > 1e-12 ? size : 1.0;
  if (size > 1e-12)
    xpbd_project(self, t, size, slope, 2.0 * constants[0] * self->model->tet_volume[t],
                 &self->lambda[2 * t]);
  pla_fem_tet_gradient(self->model, t, self->x, f);
  pla_mat3_cofactor(f, slope);
  xpbd_project(self, t, pla_mat3_det(f) - 1.0, slope, constants[1] * self->model->tet_volume[t],
               &self->lambda[2 * t + 1]);
}

static void
xpbd_sweep(Xpbd *self)
{
  for (int t = 0; t < self->model->n_tets; t++)
    xpbd_element(self, t);
}

static double *
inverse_masses(const Case *c)
{
  double *w = g_new0(double, c->model->n_verts);
  for (int v = 0; v < c->model->n_verts; v++)
    w[v] = c->fixed[3 * v] ? 0.0 : 1.0 / c->model->mass[v];
  return w;
}

/* 25: the tenth implicit Euler step of a clamped block under gravity: on 16^3 vertices sweeps go
 * from 1.65 to 9e-7 N in 100 and to 1e-12 N in 200 (ours begin at 1.57), XPBD is stuck at 1.35 */
static void
test_25_dynamic_block(void)
{
  const double size[3] = { 1, 1, 1 }, dt = 0.01;
  const int cells = small() ? 5 : 15, n[3] = { cells, cells, cells };
  PlaPbngOptions options = plain_options();
  Case c = case_new(box_new("fixed-corotated", 1e3, 0.3, 10.0, PLA_BOX_TETS_5, size, n));
  size_t nv = (size_t)c.model->n_verts;
  case_hold(&c, 0.0);
  double *predicted = g_new(double, 3 * nv), *vel = g_new0(double, 3 * nv);
  double *weight = inverse_masses(&c), last[3] = { 0 };
  PlaPbng *state = pbng_new(&c, &options);
  for (int step = 0; step < 10; step++) {
    for (size_t i = 0; i < 3 * nv; i++)
      predicted[i] =
          c.fixed[i] ? c.pos[i] : c.pos[i] + dt * vel[i] - (i % 3 == 2 ? dt * dt * 9.8 : 0.0);
    pla_pbng_set_inertia(state, dt, predicted);
    pla_pbng_set_positions(state, predicted);
    last[0] = pla_pbng_residual(state);
    if (step == 9)
      break;
    pla_pbng_sweep(state, 60);
    for (size_t i = 0; i < 3 * nv; i++)
      vel[i] = -c.pos[i];
    pla_pbng_get_positions(state, c.pos);
    for (size_t i = 0; i < 3 * nv; i++)
      vel[i] = (vel[i] + c.pos[i]) / dt;
  }
  pla_pbng_sweep(state, 100);
  last[1] = pla_pbng_residual(state);
  pla_pbng_sweep(state, 100);
  last[2] = pla_pbng_residual(state);
  g_test_message("sweeps: %.3g -> %.3g -> %.3g", last[0], last[1], last[2]);
  g_assert_cmpfloat(last[1], <, 9e-7);
  g_assert_cmpfloat(last[2], <, 1e-12);
  if (!small())
    g_assert_cmpfloat_with_epsilon(last[0], 1.65, 0.1);

  Xpbd xpbd = { c.model, g_memdup2(predicted, 3 * nv * sizeof(double)),
                g_new0(double, 2 * c.model->n_tets), weight, 1.0 / (dt * dt) };
  double stalled[2];
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < (k ? 90 : 10); i++)
      xpbd_sweep(&xpbd);
    pla_pbng_set_positions(state, xpbd.x);
    stalled[k] = pla_pbng_residual(state);
  }
  g_test_message("XPBD: %.3g -> %.3g after 10 -> %.3g after 100", last[0], stalled[0], stalled[1]);
  g_assert_cmpfloat(stalled[1], >, 0.9 * stalled[0]);
  if (!small())
    g_assert_cmpfloat_with_epsilon(stalled[1], 1.35, 0.1);
  pla_pbng_free(state);
  g_free(xpbd.x);
  g_free(xpbd.lambda);
  g_free(weight);
  g_free(predicted);
  g_free(vel);
  case_clear(&c);
}

/* 27: a clamped bar under gravity: sweeps give Newton's tip, PBD the stiffer the more it iterates
 */
static void
test_27_bar_under_gravity(void)
{
  const double size[3] = { 4, 1, 1 }, dt = 1.0 / 30.0;
  const int n[3] = { 8, 2, 2 }, tip = 8;
  double drop[2], rigid[3];
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    Case c = case_new(box_new("fixed-corotated", 1e3, 0.3, 1.0, PLA_BOX_TETS_5, size, n));
    PlaFemOptions options = pla_fem_options_default();
    PlaFemReport report;
    PlaError err = { 0 };
    case_hold(&c, 0.0);
    case_gravity(&c, 2, -9.8);
    PlaFemConditions conditions = case_conditions(&c);
    options.method = (PlaSolverMethod)method;
    g_assert_cmpint(pla_fem_solve(c.model, &conditions, &options, c.pos, &report, &err), ==,
                    PLA_OK);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    drop[method - PLA_SOLVER_NEWTON] = -c.pos[3 * tip + 2];
    case_clear(&c);
  }
  for (int k = 0; k < 3; k++) {
    Case c = case_new(box_new("fixed-corotated", 1e3, 0.3, 1.0, PLA_BOX_TETS_5, size, n));
    size_t nv = (size_t)c.model->n_verts;
    case_hold(&c, 0.0);
    double *weight = inverse_masses(&c), *vel = g_new0(double, 3 * nv);
    Xpbd pbd = { c.model, g_memdup2(c.pos, 3 * nv * sizeof(double)),
                 g_new0(double, 2 * c.model->n_tets), weight, 0.0 };
    /* damped steps until the bar hangs still */
    for (int step = 0; step < 120; step++) {
      for (size_t i = 0; i < 3 * nv; i++)
        if (!c.fixed[i])
          pbd.x[i] += 0.8 * dt * vel[i] - (i % 3 == 2 ? dt * dt * 9.8 : 0.0);
      for (int i = 0; i < 1 << (2 * k); i++)
        xpbd_sweep(&pbd);
      for (size_t i = 0; i < 3 * nv; i++) {
        vel[i] = (pbd.x[i] - c.pos[i]) / dt;
        c.pos[i] = pbd.x[i];
      }
    }
    rigid[k] = -c.pos[3 * tip + 2];
    g_free(pbd.x);
    g_free(pbd.lambda);
    g_free(weight);
    g_free(vel);
    case_clear(&c);
  }
  g_test_message("tip: Newton %.5g, sweeps %.5g; PBD with 1, 4, 16 iterations %.4g %.4g %.4g",
                 drop[0], drop[1], rigid[0], rigid[1], rigid[2]);
  g_assert_cmpfloat(fabs(drop[1] - drop[0]), <, 0.01 * drop[0]);
  g_assert_cmpfloat(rigid[1], <, 0.7 * rigid[0]);
  g_assert_cmpfloat(rigid[2], <, 0.7 * rigid[1]);
}

/* two blocks, one above the other with a gap, the upper one hung up; springs join the faces */
static int
join_blocks(Case *c, PlaSpring springs[64])
{
  int n = 0, half = c->model->n_verts / 2;
  for (int v = 0; v < half; v++)
    if (c->model->rest[3 * v + 2] == 0.0)
      for (int w = half; w < c->model->n_verts; w++)
        if (hypot(c->model->rest[3 * v] - c->model->rest[3 * w],
                  c->model->rest[3 * v + 1] - c->model->rest[3 * w + 1]) < 1e-9 &&
            c->model->rest[3 * w + 2] > -0.25) {
          springs[n] = (PlaSpring){ .n_verts = 2, .vert = { v, w }, .weight = { 1, -1 } };
          pla_spring_set_stiffness(&springs[n++], (double[3]){ 0, 0, 1 }, 1e8, 1e8);
        }
  return n;
}

static Case
two_blocks(void)
{
  const double lo[2][3] = { { 0, 0, 0 }, { 0, 0, -1.2 } },
               hi[2][3] = { { 1, 1, 1 }, { 1, 1, -0.2 } };
  const int n[3] = { 3, 3, 3 };
  const double param[2] = { 1e3, 0.3 };
  PlaFemMaterial m = { .material = pla_material_find("fixed-corotated"), .density = 10.0 };
  PlaError err = { 0 };
  PlaMesh *part[2], *both;
  PlaFemModel *model;
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  for (int k = 0; k < 2; k++)
    g_assert_cmpint(pla_box_mesh_new(lo[k], hi[k], n, PLA_BOX_TETS_5, &part[k], &err), ==, PLA_OK);
  int nv = part[0]->n_verts, nt = part[0]->n_tets;
  g_assert_cmpint(pla_mesh_new(2 * nv, 0, 2 * nt, 0, &both, &err), ==, PLA_OK);
  for (int k = 0; k < 2; k++) {
    memcpy(both->pos + 3 * nv * k, part[k]->pos, 3 * (size_t)nv * sizeof(double));
    for (int i = 0; i < 4 * nt; i++)
      both->tet[4 * nt * k + i] = part[k]->tet[i] + nv * k;
    pla_mesh_free(part[k]);
  }
  int *cell_material = pla_array_new0(2 * (size_t)nt, sizeof *cell_material);
  g_assert_cmpint(pla_fem_model_new(both, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &model,
                                    &err),
                  ==, PLA_OK);
  free(cell_material);
  pla_mesh_free(both);
  Case c = case_new(model);
  for (int v = 0; v < model->n_verts; v++)
    if (model->rest[3 * v + 2] == 1.0)
      memset(c.fixed + 3 * v, 1, 3);
  case_gravity(&c, 2, -9.8);
  return c;
}

static double
widest_gap(const PlaSpring *springs, int n, const double *pos)
{
  double most = 0.0;
  for (int s = 0; s < n; s++) {
    double d[3];
    pla_vec3_sub(pos + 3 * springs[s].vert[0], pos + 3 * springs[s].vert[1], d);
    most = fmax(most, pla_vec3_norm(d));
  }
  return most;
}

/* 28: springs of 1e8 N/m close the gap whatever their order; XPBD in pseudo-time depends on it */
static void
test_28_blocks_joined_by_springs(void)
{
  const PlaPbngOptions options = pla_pbng_options_default();
  PlaError err = { 0 };
  PlaSpring springs[64];
  double *first = NULL;
  for (int order = 0; order < 2; order++) {
    Case c = two_blocks();
    int n = join_blocks(&c, springs);
    g_assert_cmpint(n, ==, 16);
    for (int s = 0; order && s < n / 2; s++) {
      PlaSpring swap = springs[s];
      springs[s] = springs[n - 1 - s];
      springs[n - 1 - s] = swap;
    }
    PlaPbng *state = pbng_new(&c, &options);
    g_assert_cmpint(pla_pbng_set_springs(state, springs, n, &err), ==, PLA_OK);
    double start = pla_pbng_residual(state);
    pla_pbng_sweep(state, 1500);
    double residual = pla_pbng_residual(state);
    pla_pbng_get_positions(state, c.pos);
    /* springs this stiff close at once; the blocks then settle slowly, by the ratio of stiffnesses
     */
    g_test_message("gap %.3g m, residual %.3g of %.3g N", widest_gap(springs, n, c.pos), residual,
                   start);
    g_assert_cmpfloat(residual, <, 1e-5 * start);
    g_assert_cmpfloat(widest_gap(springs, n, c.pos), <, 1e-6);
    if (first)
      g_assert_cmpfloat(largest_difference(first, c.pos, c.model->n_verts), <, 1e-6);
    else
      first = g_memdup2(c.pos, 3 * (gsize)c.model->n_verts * sizeof *first);
    pla_pbng_free(state);
    case_clear(&c);
  }

  /* sweeps of vertices one by one move what such springs join by their ratio to the tissue; as a
   * solver they take the springs softly, with a memory, and end where Newton's method does */
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    Case c = two_blocks();
    PlaFemSprings list = { join_blocks(&c, springs), springs };
    PlaFemConditions conditions = case_conditions(&c);
    PlaFemOptions solve = pla_fem_options_default();
    PlaFemReport report;
    conditions.springs = &list;
    solve.method = (PlaSolverMethod)method;
    g_assert_cmpint(pla_fem_solve(c.model, &conditions, &solve, c.pos, &report, &err), ==, PLA_OK);
    g_test_message("%s: %s after %d at %g N, gap %.3g m, %.2g m from the sweeps alone",
                   report.method, pla_stop_reason_text(report.reason), report.iterations,
                   report.residual_n, widest_gap(springs, list.n, c.pos),
                   largest_difference(first, c.pos, c.model->n_verts));
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    if (method == PLA_SOLVER_NEWTON) {
      g_free(first);
      first = g_memdup2(c.pos, 3 * (gsize)c.model->n_verts * sizeof *first);
    } else {
      g_assert_cmpfloat(largest_difference(first, c.pos, c.model->n_verts), <, 1e-5 * 2.2);
    }
    case_clear(&c);
  }

  /* springs before or after the elements of each sweep */
  double gap[2];
  for (int after = 0; after < 2; after++) {
    const double dt = 1.0 / 30.0;
    Case c = two_blocks();
    int n = join_blocks(&c, springs);
    size_t nv = (size_t)c.model->n_verts;
    double *weight = inverse_masses(&c), *vel = g_new0(double, 3 * nv);
    Xpbd xpbd = { c.model, g_memdup2(c.pos, 3 * nv * sizeof(double)),
                  g_new0(double, 2 * c.model->n_tets), weight, 1.0 / (dt * dt) };
    double *pull = g_new(double, 3 * n);
    for (int step = 0; step < 100; step++) {
      memset(xpbd.lambda, 0, 2 * (size_t)c.model->n_tets * sizeof(double));
      memset(pull, 0, 3 * (size_t)n * sizeof(double));
      for (size_t i = 0; i < 3 * nv; i++)
        if (!c.fixed[i])
          xpbd.x[i] += 0.8 * dt * vel[i] - (i % 3 == 2 ? dt * dt * 9.8 : 0.0);
      for (int sweep = 0; sweep < 10; sweep++) {
        if (after)
          xpbd_sweep(&xpbd);
        for (int s = 0; s < n; s++)
          for (int d = 0; d < 3; d++) {
            int a = springs[s].vert[0], b = springs[s].vert[1];
            double alpha = xpbd.compliance / 1e8;
            double change = -(xpbd.x[3 * a + d] - xpbd.x[3 * b + d] + alpha * pull[3 * s + d]) /
                            (weight[a] + weight[b] + alpha);
            pull[3 * s + d] += change;
            xpbd.x[3 * a + d] += weight[a] * change;
            xpbd.x[3 * b + d] -= weight[b] * change;
          }
        if (!after)
          xpbd_sweep(&xpbd);
      }
      for (size_t i = 0; i < 3 * nv; i++) {
        vel[i] = (xpbd.x[i] - c.pos[i]) / dt;
        c.pos[i] = xpbd.x[i];
      }
    }
    gap[after] = widest_gap(springs, n, c.pos);
    g_free(pull);
    g_free(xpbd.x);
    g_free(xpbd.lambda);
    g_free(weight);
    g_free(vel);
    case_clear(&c);
  }
  g_test_message("XPBD-QS: gap %.3g m with springs first, %.3g m last", gap[0], gap[1]);
  g_assert_cmpfloat(gap[0], >, 10.0 * gap[1]);
  g_free(first);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/pbng/forces-match-materials", test_forces_match_materials);
  g_test_add_func("/pbng/one-visit-balances-a-vertex", test_one_visit_balances_a_vertex);
  g_test_add_func("/pbng/plain-sweeps-descend", test_plain_sweeps_descend);
  g_test_add_func("/pbng/uniaxial-closed-form", test_uniaxial_closed_form);
  g_test_add_func("/pbng/methods-agree", test_methods_agree);
  g_test_add_func("/pbng/priority-moves-only-the-chosen", test_priority_moves_only_the_chosen);
  g_test_add_func("/pbng/defaults-beat-the-table", test_defaults_beat_the_table);
  g_test_add_func("/pbng/23-one-shot-table", test_23_one_shot_table);
  g_test_add_func("/pbng/24-six-sweeps-a-frame", test_24_six_sweeps_a_frame);
  g_test_add_func("/pbng/25-dynamic-block", test_25_dynamic_block);
  g_test_add_func("/pbng/26-volumetric-coefficient", test_26_volumetric_coefficient);
  g_test_add_func("/pbng/27-bar-under-gravity", test_27_bar_under_gravity);
  g_test_add_func("/pbng/28-blocks-joined-by-springs", test_28_blocks_joined_by_springs);
  g_test_add_func("/pbng/29-scatter-returns-to-rest", test_29_scatter_returns_to_rest);
  g_test_add_func("/pbng/30-contact-springs", test_30_contact_springs);
  g_test_add_func("/pbng/31-planes-hold-and-release", test_31_planes_hold_and_release);
  g_test_add_func("/pbng/33-same-bits-for-any-threads", test_33_same_bits_for_any_threads);
  return g_test_run();
}

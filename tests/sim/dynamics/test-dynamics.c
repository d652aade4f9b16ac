/* Motion in time: frequencies, numerical damping and Rayleigh's against closed forms, orders of
 * convergence, momentum, energy, falls that end in the static equilibrium. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "sim/dynamics/dynamics.h"
#include "sim/solve/solve.h"
#include "tests/sim/contact/scenes.h"

static PlaDynamics *
dynamics_new(const Case *c, const PlaFemConditions *conditions, const char *integrator, double dt,
             double alpha, double beta, const double *vel)
{
  PlaDynamicsOptions options = pla_dynamics_options_default();
  PlaDynamics *dynamics;
  PlaError err = { 0 };
  options.dt_s = dt;
  options.mass_damping = alpha;
  options.stiffness_damping = beta;
  options.solve.tolerance_rel = 1e-10;
  if (pla_dynamics_new(c->model, conditions, pla_integrator_find(integrator), &options, c->pos, vel,
                       &dynamics, &err) != PLA_OK)
    g_error("%s", err.message);
  return dynamics;
}

static void
run(PlaDynamics *dynamics, int n)
{
  PlaError err = { 0 };
  PlaDynamicsReport report;
  for (int i = 0; i < n; i++)
    if (pla_dynamics_step(dynamics, &err) != PLA_OK)
      g_error("%s", err.message);
  pla_dynamics_report(dynamics, &report);
  if (report.unsolved > 0)
    g_error("%d steps unsolved; the last: %s, residual %g N, %g of the scale", report.unsolved,
            pla_stop_reason_text(report.solve.reason), report.solve.residual_n,
            report.solve.residual_rel);
}

/* every row of the table works and says what it is */
static void
test_table(void)
{
  int n = 0;
  for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++, n++) {
    g_assert_true(pla_integrator_find((*i)->name) == *i);
    g_assert_cmpint((*i)->order, >=, 1);
    g_assert_nonnull((*i)->step);
    g_assert_cmpuint(strlen((*i)->summary), >, 10);
  }
  g_assert_cmpint(n, >=, 3);
  g_assert_null(pla_integrator_find("forward"));
}

/* Lengthwise vibration of a clamped bar without Poisson's effect: a chain of n springs and masses
 * with w = 2/h sqrt(E/rho) sin(pi / 4n).  The steps of each method for q'' + d q' + w^2 q = 0 are
 * known. */
static void
test_vibration(void)
{
  const double young = 1e5, rho = 1e3, size[3] = { 0.1, 0.01, 0.01 }, amplitude = 1e-4;
  const int n[3] = { 10, 1, 1 };
  const double w = 2.0 / 0.01 * sqrt(young / rho) * sin(G_PI / 40.0);
  /* near the closed form of the continuous bar: c / 4L */
  g_assert_cmpfloat_with_epsilon(w, 0.5 * G_PI * sqrt(young / rho) / 0.1, 0.002 * w);
  for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++)
    for (int damped = 0; damped < 2; damped++)
      for (int fast = 0; fast < 2; fast++) {
        Case c = case_new(box_new("linear", young, 0.0, rho, PLA_BOX_HEXES, size, n));
        const double dt = (fast ? 2.0 : 0.1) / w, alpha = damped ? 0.08 * w : 0.0;
        const double beta = damped ? 0.05 / w : 0.0, d = alpha + beta * w * w;
        case_hold(&c, 0.0);
        for (int v = 0; v < c.model->n_verts; v++)
          c.pos[3 * v] += amplitude * sin(0.5 * G_PI * c.model->rest[3 * v] / 0.1);
        PlaFemConditions conditions = case_conditions(&c);
        PlaDynamics *dynamics = dynamics_new(&c, &conditions, (*i)->name, dt, alpha, beta, NULL);
        double q = 1.0, p = 0.0;
        const bool midpoint = (*i)->order == 2;
        for (int k = 0; k < 60; k++) {
          run(dynamics, 1);
          /* the implicit step over h, or h/2 and on */
          double h = midpoint ? 0.5 * dt : dt;
          double pn = (p - h * w * w * q) / (1.0 + h * d + h * h * w * w), qn = q + h * pn;
          q = midpoint ? 2.0 * qn - q : qn;
          p = midpoint ? 2.0 * pn - p : pn;
          const double *x = pla_dynamics_get_pos(dynamics);
          for (int v = 0; v < c.model->n_verts; v++) {
            double shape = sin(0.5 * G_PI * c.model->rest[3 * v] / 0.1);
            g_assert_cmpfloat_with_epsilon(x[3 * v] - c.model->rest[3 * v], amplitude * q * shape,
                                           2e-7 * amplitude);
          }
        }
        /* an undamped step of backward Euler shrinks by (1 + (w dt)^2)^(-1/2), of midpoint by
         * nothing */
        double size2 = q * q + p * p / (w * w), x2 = (w * dt) * (w * dt);
        if (!damped)
          g_assert_cmpfloat_with_epsilon(size2, midpoint ? 1.0 : pow(1.0 + x2, -60.0), 1e-9);
        pla_dynamics_free(dynamics);
        case_clear(&c);
      }
}

/* Rayleigh damping of a small vibration: the logarithmic decrement of the continuous equation, at a
 * step small enough for it */
static void
test_damping_ratio(void)
{
  const double young = 1e5, rho = 1e3, size[3] = { 0.1, 0.01, 0.01 };
  const int n[3] = { 10, 1, 1 };
  const double w = 2.0 / 0.01 * sqrt(young / rho) * sin(G_PI / 40.0);
  for (int by_mass = 0; by_mass < 2; by_mass++) {
    const double ratio = 0.05;
    Case c = case_new(box_new("neo-hookean", young, 0.0, rho, PLA_BOX_HEXES, size, n));
    const double dt = 0.05 / w;
    case_hold(&c, 0.0);
    for (int v = 0; v < c.model->n_verts; v++)
      c.pos[3 * v] += 1e-6 * sin(0.5 * G_PI * c.model->rest[3 * v] / 0.1);
    PlaFemConditions conditions = case_conditions(&c);
    PlaDynamics *dynamics =
        dynamics_new(&c, &conditions, "midpoint", dt, by_mass ? 2.0 * ratio * w : 0.0,
                     by_mass ? 0.0 : 2.0 * ratio / w, NULL);
    /* ten periods of the damped frequency */
    const double period = 2.0 * G_PI / (w * sqrt(1.0 - ratio * ratio));
    int tip = c.model->n_verts - 1, steps = (int)(10.0 * period / dt);
    double peak = 0.0;
    for (int k = 0; k < steps + 40; k++) {
      run(dynamics, 1);
      if (k > steps - 40)
        peak = fmax(peak, pla_dynamics_get_pos(dynamics)[3 * tip] - c.model->rest[3 * tip]);
    }
    double decrement = log(1e-6 / peak) / 10.0;
    g_assert_cmpfloat_with_epsilon(decrement, 2.0 * G_PI * ratio / sqrt(1.0 - ratio * ratio),
                                   0.005 * decrement);
    pla_dynamics_free(dynamics);
    case_clear(&c);
  }
}

/* a bar that begins to swing under gravity: errors against a fine midpoint run fall with the order
 */
static void
test_order(void)
{
  const double size[3] = { 0.06, 0.02, 0.02 }, end = 0.048;
  const int n[3] = { 4, 1, 1 };
  Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
  const size_t count = 3 * (size_t)c.model->n_verts;
  case_hold(&c, 0.0);
  case_gravity(&c, 2, -9.81);
  PlaFemConditions conditions = case_conditions(&c);
  PlaDynamics *fine = dynamics_new(&c, &conditions, "midpoint", end / 1536, 0, 0, NULL);
  run(fine, 1536);
  double drop = 0.0;
  for (size_t i = 2; i < count; i += 3)
    drop = fmax(drop, c.model->rest[i] - pla_dynamics_get_pos(fine)[i]);
  g_assert_cmpfloat(drop, >, 0.002);
  for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++) {
    double error[2];
    for (int k = 0; k < 2; k++) {
      int steps = ((*i)->order == 1 ? 192 : 24) << k;
      PlaDynamics *dynamics = dynamics_new(&c, &conditions, (*i)->name, end / steps, 0, 0, NULL);
      run(dynamics, steps);
      error[k] = largest_difference(pla_dynamics_get_pos(dynamics), pla_dynamics_get_pos(fine),
                                    c.model->n_verts);
      pla_dynamics_free(dynamics);
    }
    double order = log2(error[0] / error[1]);
    g_test_message("%s: errors %.3g and %.3g m, order %.2f", (*i)->name, error[0], error[1], order);
    g_assert_cmpfloat(order, >, (*i)->order - 0.15);
    g_assert_cmpfloat(order, <, (*i)->order + 0.3);
  }
  pla_dynamics_free(fine);
  case_clear(&c);
}

static void
momentum(const Case *c, const PlaDynamics *dynamics, double linear[3], double angular[3])
{
  const double *x = pla_dynamics_get_pos(dynamics), *v = pla_dynamics_get_vel(dynamics);
  memset(linear, 0, 3 * sizeof *linear);
  memset(angular, 0, 3 * sizeof *angular);
  for (int k = 0; k < c->model->n_verts; k++) {
    double l[3];
    pla_vec3_cross(x + 3 * k, v + 3 * k, l);
    for (int d = 0; d < 3; d++) {
      linear[d] += c->model->mass[k] * v[3 * k + d];
      angular[d] += c->model->mass[k] * l[d];
    }
  }
}

/* a free body that flies, turns and quivers: linear momentum stays for all, angular momentum and
 * energy for midpoint; backward Euler only loses energy */
static void
test_free_flight(void)
{
  const double size[3] = { 0.04, 0.02, 0.02 };
  const int n[3] = { 3, 2, 2 };
  for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++) {
    Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
    double *vel = g_new(double, 3 * c.model->n_verts), p0[3], l0[3], p[3], l[3];
    for (int v = 0; v < c.model->n_verts; v++) {
      const double *r = c.model->rest + 3 * v;
      vel[3 * v] = 0.1 - 6.0 * (r[1] - 0.01) + 2.0 * (r[0] - 0.02);
      vel[3 * v + 1] = 6.0 * (r[0] - 0.02);
      vel[3 * v + 2] = 0.3;
    }
    PlaFemConditions conditions = case_conditions(&c);
    PlaDynamics *dynamics = dynamics_new(&c, &conditions, (*i)->name, 1e-3, 0, 0, vel);
    PlaDynamicsReport report;
    momentum(&c, dynamics, p0, l0);
    pla_dynamics_report(dynamics, &report);
    double start = report.kinetic_j + report.potential_j, last = start, widest = 0.0;
    for (int k = 0; k < 150; k++) {
      run(dynamics, 1);
      pla_dynamics_report(dynamics, &report);
      double energy = report.kinetic_j + report.potential_j;
      widest = fmax(widest, fabs(energy - start));
      if (strcmp((*i)->name, "backward-euler") == 0)
        g_assert_cmpfloat(energy, <=, last * (1.0 + 1e-9));
      last = energy;
    }
    momentum(&c, dynamics, p, l);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(p[d], p0[d], 1e-8 * pla_vec3_norm(p0));
    pla_vec3_sub(l, l0, l);
    g_test_message("%s: energy within %.2g, angular momentum within %.2g of the start", (*i)->name,
                   widest / start, pla_vec3_norm(l) / pla_vec3_norm(l0));
    if ((*i)->order == 2) {
      g_assert_cmpfloat(pla_vec3_norm(l), <, 1e-7 * pla_vec3_norm(l0));
      g_assert_cmpfloat(widest, <, 2e-3 * start);
    }
    g_free(vel);
    pla_dynamics_free(dynamics);
    case_clear(&c);
  }
}

/* a block falls on a plate, bounces, and comes to rest where statics has it; it never passes */
static void
test_drop(void)
{
  const double size[3] = { 0.02, 0.02, 0.02 };
  const int n[3] = { 2, 2, 2 };
  for (const PlaIntegrator *const *i = pla_integrators_get(); *i; i++) {
    Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
    PlaCollider *plate =
        collider_box((double[3]){ -0.01, -0.01, -0.004 }, (double[3]){ 0.03, 0.03, -0.003 });
    PlaContactOptions options = pla_contact_options_default();
    PlaContactSet *set;
    PlaError err = { 0 };
    g_assert_cmpint(pla_contact_set_new(c.model, &plate, NULL, 1, &options, &set, &err), ==,
                    PLA_OK);
    PlaFemConditions conditions = case_conditions(&c);
    conditions.contacts = set;
    case_gravity(&c, 2, -9.81);
    PlaDynamics *dynamics = dynamics_new(&c, &conditions, (*i)->name, 2e-3, 5.0, 1e-3, NULL);
    double deepest = 0.0, fastest = 0.0;
    for (int k = 0; k < 400; k++) {
      PlaDynamicsReport report;
      if (pla_dynamics_step(dynamics, &err) != PLA_OK)
        g_error("%s", err.message);
      pla_dynamics_report(dynamics, &report);
      deepest = fmax(deepest, report.solve.max_penetration_m);
      if (k > 390)
        fastest = fmax(fastest,
                       pla_max_abs(pla_dynamics_get_vel(dynamics), 3 * (size_t)c.model->n_verts));
    }
    PlaFemOptions solve = pla_fem_options_default();
    PlaFemReport report;
    g_assert_cmpint(pla_fem_solve(c.model, &conditions, &solve, c.pos, &report, &err), ==, PLA_OK);
    g_assert_cmpint(report.reason, ==, PLA_STOP_CONVERGED);
    double apart = largest_difference(c.pos, pla_dynamics_get_pos(dynamics), c.model->n_verts);
    g_test_message("%s: %.3g m from statics, deepest %.3g m, still moving at %.2g m/s", (*i)->name,
                   apart, deepest, fastest);
    g_assert_cmpfloat(apart, <, 1e-4 * size[0]);
    g_assert_cmpfloat(fastest, <, 1e-4);
    g_assert_cmpfloat(deepest, <, 1.1 * pla_contact_set_thickness(set));
    pla_dynamics_free(dynamics);
    pla_contact_set_free(set);
    pla_collider_free(plate);
    case_clear(&c);
  }
}

/* sweeps and Newton take the same steps, damping and contact included */
static void
test_solvers_agree(void)
{
  const double size[3] = { 0.04, 0.01, 0.01 };
  const int n[3] = { 6, 2, 2 };
  Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
  PlaCollider *plane = collider_plane(0, 0, -0.001, 0, 0, 1);
  PlaContactOptions contact = pla_contact_options_default();
  double *first = NULL;
  PlaError err = { 0 };
  case_hold(&c, 0.0);
  case_gravity(&c, 2, -9.81);
  for (int method = PLA_SOLVER_NEWTON; method <= PLA_SOLVER_PBNG; method++) {
    PlaContactSet *set;
    PlaDynamicsOptions options = pla_dynamics_options_default();
    PlaDynamics *dynamics;
    g_assert_cmpint(pla_contact_set_new(c.model, &plane, NULL, 1, &contact, &set, &err), ==,
                    PLA_OK);
    PlaFemConditions conditions = case_conditions(&c);
    conditions.contacts = set;
    options.dt_s = 4e-3;
    options.stiffness_damping = 2e-3;
    options.solve.tolerance_rel = 1e-8;
    options.solve.method = (PlaSolverMethod)method;
    g_assert_cmpint(pla_dynamics_new(c.model, &conditions, pla_integrator_find("backward-euler"),
                                     &options, c.pos, NULL, &dynamics, &err),
                    ==, PLA_OK);
    run(dynamics, 20);
    PlaDynamicsReport report;
    pla_dynamics_report(dynamics, &report);
    g_assert_cmpint(report.solve.contacts, >, 0);
    if (!first)
      first =
          g_memdup2(pla_dynamics_get_pos(dynamics), 3 * (size_t)c.model->n_verts * sizeof(double));
    g_assert_cmpfloat(largest_difference(first, pla_dynamics_get_pos(dynamics), c.model->n_verts),
                      <, 1e-6 * size[0]);
    pla_dynamics_free(dynamics);
    pla_contact_set_free(set);
  }
  g_free(first);
  pla_collider_free(plane);
  case_clear(&c);
}

/* ---- bindings in time: Sifakis 2007, 47 to 49 ---- */

/* A block hangs on another by a binding spring of any stiffness at one step length: nothing blows
 * up, and the drift falls as one over the stiffness. */
static void
test_binding_springs(void)
{
  const double g = 9.81;
  double before = 0.0;
  for (int power = 2; power <= 12; power += 2) {
    Case c = case_new(
        model_of(mesh_join(mesh_box((double[3]){ 0, 0, 0 }, (double[3]){ 0.02, 0.02, 0.02 },
                                    (int[3]){ 1, 1, 1 }, PLA_BOX_HEXES),
                           mesh_box((double[3]){ 0.02, 0, 0 }, (double[3]){ 0.04, 0.02, 0.02 },
                                    (int[3]){ 1, 1, 1 }, PLA_BOX_HEXES)),
                 "neo-hookean", 1e5, 0.3, 1e3));
    /* each corner of the second block at its double on the first */
    PlaSpring spring[4];
    int n = 0;
    const double k = pow(10.0, power);
    for (int a = 0; a < 8; a++)
      for (int b = 8; b < 16; b++)
        if (largest_difference(&c.model->rest[3 * a], &c.model->rest[3 * b], 1) < 1e-9) {
          spring[n] = (PlaSpring){ .n_verts = 2, .vert = { a, b }, .weight = { 1.0, -1.0 } };
          pla_spring_set_stiffness(&spring[n++], (double[3]){ 1, 0, 0 }, k, k);
        }
    g_assert_cmpint(n, ==, 4);
    const PlaFemSprings springs = { n, spring };
    PlaFemConditions conditions = case_conditions(&c);
    conditions.springs = &springs;
    case_hold(&c, 0.0);
    case_gravity(&c, 0, g);
    PlaDynamics *dynamics =
        dynamics_new(&c, &conditions, "backward-euler", 1.0 / 60, 2.0, 1e-3, NULL);
    PlaError err = { 0 };
    for (int i = 0; i < 120; i++)
      if (pla_dynamics_step(dynamics, &err) != PLA_OK)
        g_error("%s", err.message);
    double drift = 0.0;
    for (int i = 0; i < n; i++) {
      double gap[3];
      pla_spring_gap(&spring[i], pla_dynamics_get_pos(dynamics), gap);
      drift = fmax(drift, pla_vec3_norm(gap));
    }
    g_test_message("stiffness %.0e N/m: drift %.3g m", k, drift);
    g_assert_true(isfinite(drift));
    g_assert_cmpfloat(largest_difference(pla_dynamics_get_pos(dynamics), c.model->rest, 16), <,
                      0.01);
    /* the block weighs 78 mN, a quarter at each spring */
    if (power <= 8)
      g_assert_cmpfloat_with_epsilon(drift * k, 0.25 * 8e-3 * g, 0.2 * 0.25 * 8e-3 * g);
    g_assert_true(power == 2 || drift < 0.1 * before || drift < 1e-12);
    before = drift;
    pla_dynamics_free(dynamics);
    case_clear(&c);
  }
}

/* One step of x'' + b x' + k x = 0 in two halves: v~ = v + dt/2 a(xa, v~), x' = x + dt v~,
 * v' = 2 v_half - v with v_half = v + dt/2 a(xb, v_half), or backward Euler at the end.  @first: xa
 * is at the start (0) or half way (1); @last: xb is half way (0), at the end (1), or Euler at the
 * end (2). */
static void
two_halves(int first, int last, double k, double b, double dt, double *x, double *v)
{
  const double h = 0.5 * dt;
  const double early =
      first ? (*v - h * k * *x) / (1.0 + h * b + h * h * k) : (*v - h * k * *x) / (1.0 + h * b);
  const double end = *x + dt * early;
  if (last == 2) {
    *v = (*v - dt * k * end) / (1.0 + dt * b);
  } else {
    const double at = last ? end : 0.5 * (*x + end);
    *v = 2.0 * (*v - h * k * at) / (1.0 + h * b) - *v;
  }
  *x = end;
}

static double
spectral_radius(int first, int last, double k, double b, double dt)
{
  double m[4];
  for (int c = 0; c < 2; c++) {
    double x = c == 0, v = c == 1;
    two_halves(first, last, k, b, dt, &x, &v);
    m[c] = x;
    m[2 + c] = v;
  }
  const double half = 0.5 * (m[0] + m[3]), det = m[0] * m[3] - m[1] * m[2], d = half * half - det;
  return d < 0.0 ? sqrt(det) : fabs(half) + sqrt(d);
}

/* What is not implicit blows up where the published bounds say: 2.414, 1.366 and 2.078 b/k at
 * critical damping; implicit in the first half and at mid-step in the second is stable at any step.
 */
static void
test_step_bounds(void)
{
  const double k = 700.0;
  for (int row = 0; row < 2; row++) {
    const double b = row ? 13.0 : 2.0 * sqrt(k);
    const double bound[4] = { (b + sqrt(b * b + 4 * k)) / k, (b + sqrt(b * b + 4 * k)) / k,
                              (b + sqrt(b * b + 8 * k)) / (2 * k), 0.0 };
    const int scheme[4][2] = { { 1, 1 }, { 0, 0 }, { 0, 1 }, { 0, 2 } };
    for (int i = 0; i < 4; i++) {
      double lo = 1e-4 * b / k, hi = 100.0 * b / k;
      g_assert_cmpfloat(spectral_radius(scheme[i][0], scheme[i][1], k, b, lo), <=, 1.0);
      for (int n = 0; n < 100; n++) {
        const double mid = 0.5 * (lo + hi);
        *(spectral_radius(scheme[i][0], scheme[i][1], k, b, mid) <= 1.0 ? &lo : &hi) = mid;
      }
      g_test_message("damping %.3g, scheme %d: stable below %.4f b/k", b, i, lo * k / b);
      if (i < 3)
        g_assert_cmpfloat_with_epsilon(lo, bound[i], 0.01 * bound[i]);
      const double critical[4] = { 2.414, 2.414, 1.366, 2.078 };
      if (row == 0)
        g_assert_cmpfloat_with_epsilon(lo * k / b, critical[i], 0.01 * critical[i]);
    }
    for (double dt = 1e-3; dt < 1e6; dt *= 10.0)
      g_assert_cmpfloat(spectral_radius(1, 0, k, b, dt), <=, 1.0 + 1e-12);
  }
}

/* A particle that inherits the acceleration of the place it is bound to, m_s sum of w f / m, stays
 * there without being held; without it, it is left behind. */
static void
test_inheritance(void)
{
  const double size[3] = { 0.02, 0.02, 0.02 }, dt = 1e-4;
  const int n[3] = { 1, 1, 1 };
  Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_HEXES, size, n));
  PlaFemModel *m = c.model;
  PlaError err = { 0 };
  int vert[1] = { 8 }, start[2] = { 0, 8 }, parent[8];
  double weight[8], vel[27] = { 0 }, force[27], pos[27];
  for (int a = 0; a < 8; a++) {
    parent[a] = a;
    weight[a] = 1.0;
    for (int d = 0; d < 3; d++) {
      const double x = m->rest[3 * a + d] / 0.02, at = 0.3 + 0.2 * d;
      weight[a] *= x > 0.5 ? at : 1.0 - at;
    }
  }
  const PlaFemBindings bindings = { 1, vert, start, parent, weight };
  const double heavy = pla_binding_effective_mass(&bindings, 0, m->mass);
  double drift[2] = { 0.0, 0.0 };
  for (int inherit = 0; inherit < 2; inherit++) {
    double s[3], s_vel[3] = { 0 }, moved = 0.0;
    memcpy(pos, m->rest, 24 * sizeof *pos);
    for (int a = 0; a < 8; a++)
      pos[3 * a] *= 1.1;
    pla_bindings_place(&bindings, pos);
    memcpy(s, &pos[24], sizeof s);
    memset(vel, 0, sizeof vel);
    for (int k = 0; k < 1000; k++) {
      g_assert_cmpint(pla_fem_forces(m, pos, force, &err), ==, PLA_OK);
      for (int d = 0; d < 3; d++) {
        double f = 0.0;
        for (int a = 0; a < 8; a++) {
          f += heavy * weight[a] * force[3 * a + d] / m->mass[a];
          vel[3 * a + d] += dt * force[3 * a + d] / m->mass[a];
          pos[3 * a + d] += dt * vel[3 * a + d];
        }
        s_vel[d] += inherit ? dt * f / heavy : 0.0;
        s[d] += dt * s_vel[d];
      }
      pla_bindings_place(&bindings, pos);
      for (int d = 0; d < 3; d++) {
        drift[inherit] = fmax(drift[inherit], fabs(s[d] - pos[24 + d]));
        moved = fmax(moved, fabs(vel[d]));
      }
    }
    g_assert_cmpfloat(moved, >, 1e-2); /* it swings */
  }
  g_assert_cmpfloat(drift[1], <, 1e-8 * size[0]);
  g_assert_cmpfloat(drift[0], >, 1e-2 * size[0]);
  case_clear(&c);
}

/* A block between two plates that leave it less room than it has: it comes to rest, and stays. */
static void
test_pinched(void)
{
  const double size[3] = { 0.02, 0.02, 0.02 };
  const int n[3] = { 2, 2, 2 };
  Case c = case_new(box_new("neo-hookean", 2e4, 0.3, 1e3, PLA_BOX_TETS_5, size, n));
  PlaCollider *plate[2];
  PlaContactOptions options = pla_contact_options_default();
  PlaContactSet *set;
  PlaError err = { 0 };
  for (int k = 0; k < 2; k++)
    g_assert_cmpint(pla_collider_new_plane((double[3]){ 0, 0, k ? 0.019 : 0.001 },
                                           (double[3]){ 0, 0, k ? -1 : 1 }, &plate[k], &err),
                    ==, PLA_OK);
  g_assert_cmpint(pla_contact_set_new(c.model, plate, NULL, 2, &options, &set, &err), ==, PLA_OK);
  PlaFemConditions conditions = case_conditions(&c);
  conditions.contacts = set;
  PlaDynamics *dynamics = dynamics_new(&c, &conditions, "backward-euler", 5e-3, 5.0, 1e-3, NULL);
  double fastest = 0.0;
  for (int k = 0; k < 200; k++) {
    if (pla_dynamics_step(dynamics, &err) != PLA_OK)
      g_error("%s", err.message);
    if (k >= 150)
      fastest =
          fmax(fastest, pla_max_abs(pla_dynamics_get_vel(dynamics), 3 * (size_t)c.model->n_verts));
  }
  PlaDynamicsReport report;
  pla_dynamics_report(dynamics, &report);
  g_test_message("still moving at %.2g m/s, %.3g mm inside", fastest,
                 1e3 * report.solve.max_penetration_m);
  g_assert_cmpfloat(fastest, <, 1e-6);
  g_assert_cmpfloat(report.solve.max_penetration_m, <, 0.01 * size[0]);
  g_assert_cmpint(report.solve.contacts, >, 8);
  pla_dynamics_free(dynamics);
  pla_contact_set_free(set);
  pla_collider_free(plate[0]);
  pla_collider_free(plate[1]);
  case_clear(&c);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/dynamics/table", test_table);
  g_test_add_func("/dynamics/vibration", test_vibration);
  g_test_add_func("/dynamics/damping-ratio", test_damping_ratio);
  g_test_add_func("/dynamics/order", test_order);
  g_test_add_func("/dynamics/free-flight", test_free_flight);
  g_test_add_func("/dynamics/drop", test_drop);
  g_test_add_func("/dynamics/solvers-agree", test_solvers_agree);
  g_test_add_func("/dynamics/binding-springs", test_binding_springs);
  g_test_add_func("/dynamics/step-bounds", test_step_bounds);
  g_test_add_func("/dynamics/inheritance", test_inheritance);
  g_test_add_func("/dynamics/pinched", test_pinched);
  return g_test_run();
}

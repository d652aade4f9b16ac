/* Motion in time: frequencies, numerical damping and Rayleigh's against closed forms, orders of
 * convergence, momentum, energy, falls that end in the static equilibrium. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "sim/dynamics/dynamics.h"
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

/* Lengthwise vibration of a clamped bar without Poisson's effect: a chain of n springs and masses with
 * w = 2/h sqrt(E/rho) sin(pi / 4n).  The steps of each method for q'' + d q' + w^2 q = 0 are known. */
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
        /* an undamped step of backward Euler shrinks by (1 + (w dt)^2)^(-1/2), of midpoint by nothing */
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

/* a bar that begins to swing under gravity: errors against a fine midpoint run fall with the order */
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

/* a free body that flies, turns and quivers: linear momentum stays for all, angular momentum and energy
 * for midpoint; backward Euler only loses energy */
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
    g_assert_cmpint(pla_contact_set_new(c.model, &plate, NULL, 1, &options, &set, &err), ==, PLA_OK);
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
        fastest = fmax(fastest, pla_max_abs(pla_dynamics_get_vel(dynamics), 3 * (size_t)c.model->n_verts));
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
    g_assert_cmpint(pla_contact_set_new(c.model, &plane, NULL, 1, &contact, &set, &err), ==, PLA_OK);
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
      first = g_memdup2(pla_dynamics_get_pos(dynamics), 3 * (size_t)c.model->n_verts * sizeof(double));
    g_assert_cmpfloat(largest_difference(first, pla_dynamics_get_pos(dynamics), c.model->n_verts), <,
                      1e-6 * size[0]);
    pla_dynamics_free(dynamics);
    pla_contact_set_free(set);
  }
  g_free(first);
  pla_collider_free(plane);
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
  return g_test_run();
}

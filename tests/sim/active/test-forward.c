/* The forward pass: the equilibria of the fit where nothing touches, colliders and parts that meet,
 * and flesh with mass. */
#include "anatomy/base/mat3.h"
#include "sim/active/forward.h"
#include "sim/dynamics/dynamics.h"
#include "tests/sim/active/bars.h"

#include <stdlib.h>

static void
step(PlaForward *forward, const double *control, PlaForwardReport *report)
{
  PlaError err = { 0 };
  bar_ok(pla_forward_step(forward, control, NULL, report, &err), &err);
  g_assert_true(report->converged);
  g_assert_cmpint(report->inverted, ==, 0);
}

/* without contact and time: the shape that the fit's own solver finds */
static void
test_equilibrium(void)
{
  const double control[BAR_MUSCLES + 3] = { 0.7, 0.1, 0.5, 0.3, 0.0, 0.2, 0.002, 0.001 };
  const PlaForwardOptions options = { .tolerance_rel = 1e-9 };
  Bar bar;
  PlaForward *forward;
  PlaForwardReport report;
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaActiveReport solved;
  PlaError err = { 0 };
  bar_init(&bar, 1);
  bar_ok(pla_forward_new(bar.model, &options, &forward, &err), &err);
  step(forward, control, &report);
  bar_ok(pla_active_solver_new(bar.model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar.model, &err), &err);
  bar_ok(pla_active_solve(solver, control, NULL, 1e-9, NULL, &state, &solved, &err), &err);
  for (int i = 0; i < 3 * bar.mesh->n_verts; i++)
    g_assert_cmpfloat_with_epsilon(pla_forward_get_pos(forward)[i], state.pos[i], 2e-8);
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
  pla_forward_free(forward);
  bar_clear(&bar);
}

/* the vertex of the top that rises most, or of the bottom that sinks most */
static int
most_moved(const Bar *bar, const double *pos, double *dz)
{
  int best = 0;
  *dz = 0.0;
  for (int v = 0; v < bar->mesh->n_verts; v++) {
    const double z = bar->mesh->pos[3 * v + 2], d = pos[3 * v + 2] - z;
    if (fabs(d) > fabs(*dz) && (d > 0.0 ? z > 0.02 - 1e-9 : z < 1e-9)) {
      best = v;
      *dz = d;
    }
  }
  return best;
}

/* the same controls with a new collider: what went half through the plate now stops at it, and
 * leaves it again without sticking */
static void
test_collider(void)
{
  const double control[BAR_MUSCLES + 3] = { 0.9, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
  const double rest[BAR_MUSCLES + 3] = { 0 };
  PlaForwardOptions options = { .tolerance_rel = 1e-7 };
  PlaContactOptions contact = pla_contact_options_default();
  Bar bar;
  PlaForward *forward;
  PlaForwardReport report;
  PlaCollider *plate;
  PlaError err = { 0 };
  double dz, hit;
  bar_init(&bar, 2);
  bar_ok(pla_forward_new(bar.model, &options, &forward, &err), &err);
  step(forward, control, &report);
  const int v = most_moved(&bar, pla_forward_get_pos(forward), &dz);
  pla_forward_free(forward);
  g_assert_cmpfloat(fabs(dz), >, 5e-4);

  const double point[3] = { 0.0, 0.0, bar.mesh->pos[3 * v + 2] + 0.5 * dz };
  bar_ok(pla_collider_new_plane(point, (double[3]){ 0, 0, dz > 0.0 ? -1 : 1 }, &plate, &err), &err);
  contact.thickness = 1e-4;
  contact.self = false;
  options.contact = &contact;
  options.collider = &plate;
  options.n_colliders = 1;
  bar_ok(pla_forward_new(bar.model, &options, &forward, &err), &err);
  step(forward, control, &report);
  hit = (pla_forward_get_pos(forward)[3 * v + 2] - bar.mesh->pos[3 * v + 2]) / dz;
  g_test_message("%.2f mm free, %.3f of it with a plate at one half; %d contacts, %.4f mm deep",
                 1e3 * dz, hit, report.contacts, 1e3 * report.max_penetration_m);
  g_assert_cmpint(report.contacts, >, 0);
  g_assert_cmpfloat(report.max_penetration_m, <, 1e-4);
  g_assert_cmpfloat(hit, <, 0.5 + 1e-4 / fabs(dz));
  g_assert_cmpfloat(hit, >, 0.3);
  step(forward, rest, &report);
  g_assert_cmpint(report.contacts, ==, 0);
  for (int i = 0; i < 3 * bar.mesh->n_verts; i++)
    g_assert_cmpfloat_with_epsilon(pla_forward_get_pos(forward)[i], bar.mesh->pos[i], 1e-6);
  pla_forward_free(forward);
  pla_collider_free(plate);
  bar_clear(&bar);
}

/* a collider of the jaw goes with it: a plate that the closed jaw holds just below the bar pushes
 * it up when the jaw, as it is built here, slides; the one of the cranium does not move */
static void
test_jaw_collider(void)
{
  double control[BAR_MUSCLES + 3] = { 0 };
  const unsigned char with_jaw[2] = { 1, 0 };
  PlaContactOptions contact = pla_contact_options_default();
  PlaCollider *plates[2];
  PlaForward *forward;
  PlaForwardReport report;
  PlaError err = { 0 };
  Bar bar;
  bar_init(&bar, 1);
  for (int k = 0; k < 2; k++)
    bar_ok(pla_collider_new_plane((double[3]){ 0, 0, -0.03 }, (double[3]){ 0, 0, 1 }, &plates[k],
                                  &err),
           &err);
  contact.thickness = 1e-4;
  contact.self = false;
  const PlaForwardOptions options = {
    .contact = &contact, .collider = plates, .n_colliders = 2, .with_jaw = with_jaw
  };
  bar_ok(pla_forward_new(bar.model, &options, &forward, &err), &err);
  control[BAR_MUSCLES] = 0.1;
  control[BAR_MUSCLES + 1] = control[BAR_MUSCLES + 2] = 0.002;
  step(forward, control, &report);
  double rotation[9], shift[3], expected[9], by[3];
  pla_jaw_pose(pla_active_jaw(bar.model), control + BAR_MUSCLES, expected, by);
  pla_collider_get_pose(plates[0], rotation, shift);
  for (int i = 0; i < 9; i++)
    g_assert_cmpfloat(rotation[i], ==, expected[i]);
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat(shift[d], ==, by[d]);
  pla_collider_get_pose(plates[1], rotation, shift);
  g_assert_cmpfloat(rotation[0], ==, 1.0);
  g_assert_cmpfloat(shift[0], ==, 0.0);
  pla_forward_free(forward);
  for (int k = 0; k < 2; k++)
    pla_collider_free(plates[k]);
  bar_clear(&bar);
}

enum { SPEECH = 24, SETTLE = 60, LONGEST = SPEECH + SETTLE };

/* 14 syllables a second at 120 frames, then held: the largest acceleration of a marker, m/s2;
 * @last: the shape in the end */
static double
speak(const Bar *bar, bool timed, double stiffness_damping, double *last)
{
  const double dt = 1.0 / 120.0;
  const PlaForwardOptions options = { .dt_s = timed ? dt : 0.0,
                                      .substeps = 2,
                                      .stiffness_damping = stiffness_damping,
                                      .tolerance_rel = 1e-6 };
  const int n = timed ? LONGEST : SPEECH + 1, nm = bar->markers.n;
  double *track = g_new0(double, 3 * (size_t)nm * (LONGEST + 1)), peak = 0.0;
  PlaForward *forward;
  PlaForwardReport report;
  PlaError err = { 0 };
  bar_ok(pla_forward_new(bar->model, &options, &forward, &err), &err);
  for (int f = 0; f <= n; f++) {
    double control[BAR_MUSCLES + 3] = { 0 };
    const double t = MIN(f, SPEECH) * dt;
    control[0] = control[1] = 0.4 * (1.0 - cos(2.0 * G_PI * 14.0 * t));
    control[2] = 0.4 * (1.0 - cos(2.0 * G_PI * 9.0 * t));
    step(forward, control, &report);
    for (int i = 0; i < nm; i++)
      pla_marker_place(&bar->markers.site[i], pla_forward_get_pos(forward),
                       track + 3 * (f * nm + i));
  }
  memcpy(last, pla_forward_get_pos(forward), 24 * (size_t)bar->mesh->n_verts);
  for (int f = 1; f < SPEECH; f++)
    for (int i = 0; i < nm; i++) {
      const double *x = track + 3 * (f * nm + i);
      double a[3];
      for (int d = 0; d < 3; d++)
        a[d] = (x[d - 3 * nm] - 2.0 * x[d] + x[d + 3 * nm]) / (dt * dt);
      peak = fmax(peak, pla_vec3_norm(a));
    }
  g_free(track);
  pla_forward_free(forward);
  return peak;
}

/* Flesh with the damping of the source (0.05 s) lags behind a fast track and accelerates less than
 * a chain of equilibria; both end in the same shape.  With a twelfth of that damping the bar rings,
 * and accelerates three times as much. */
static void
test_fast_speech(void)
{
  Bar bar;
  bar_init(&bar, 1);
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  g_autofree double *still = g_new(double, n), *moved = g_new(double, n), *light = g_new(double, n);
  const double equilibria = speak(&bar, false, 0.0, still), damped = speak(&bar, true, 0.05, moved);
  const double resonant = speak(&bar, true, 0.004, light);
  double apart = 0.0;
  for (size_t i = 0; i < n; i++)
    apart = fmax(apart, fabs(still[i] - moved[i]));
  g_test_message(
      "peak acceleration %.2f m/s2 by equilibria, %.2f damped, %.2f lightly; %.4f mm apart",
      equilibria, damped, resonant, 1e3 * apart);
  g_assert_cmpfloat(damped, <, equilibria);
  g_assert_cmpfloat(resonant, >, damped);
  g_assert_cmpfloat(apart, <, 1e-4);
  bar_clear(&bar);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/forward/equilibrium", test_equilibrium);
  g_test_add_func("/forward/collider", test_collider);
  g_test_add_func("/forward/jaw-collider", test_jaw_collider);
  g_test_add_func("/forward/fast-speech", test_fast_speech);
  return g_test_run();
}

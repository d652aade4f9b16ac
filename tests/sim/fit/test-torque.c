/* Torque balance: one elbow in closed form, random limbs, loads that nothing can carry. */
#include "sim/fit/torque.h"

#include <glib.h>
#include <math.h>

/* One elbow, one flexor: a = (m g d - passive) / (sigma f_a r). */
static void
test_elbow(void)
{
  const double sigma = 600.0, r = 0.04, d = 0.3, g = 9.81, length = 1.08;
  const PlaTorqueJoint elbow = { { 0, 0, 0 }, { -1, 0, 0 } }; /* bends: +z of the forearm along +y up */
  double before = 0.0;
  for (double mass = 1.0; mass < 4.0; mass += 0.5) {
    /* forearm along +y, muscle straight up at the distance r */
    const PlaTorqueLine flexor = { .end = { { { 0, r, 0 }, { 0, 0, 1 }, 1 },
                                            { { 0, r, 0.3 }, { 0, 0, -1 }, 0 } },
                                   .sigma = sigma,
                                   .length = length };
    const PlaTorquePull load = { { 0, d, 0 }, { 0, 0, -mass * g }, 1 };
    double w, b, a;
    PlaTorqueReport report;
    PlaError err = { 0 };
    pla_torque_assemble(1, &elbow, 1, &flexor, 1, &load, &w, &b);
    g_assert_cmpint(pla_torque_balance(1, 1, &w, &b, &sigma, 0.0, &a, &report, &err), ==, PLA_OK);
    const double passive = sigma * (exp(length - 1.0) - 1.0) * r;
    const double closed = (mass * g * d - passive) / (sigma * length * (2.0 - length) * r);
    g_assert_cmpfloat_with_epsilon(a, fmax(0.0, closed), 1e-9);
    g_assert_cmpfloat(a, >=, before); /* heavier, stronger */
    before = a;
  }
}

/* 20 axes, 2624 streamlines: the set of bounds settles in a few rounds */
static void
test_random(void)
{
  enum { JOINTS = 20, LINES = 2624 };
  GRand *rand = g_rand_new_with_seed(2);
  double *w = g_new(double, JOINTS *LINES), *a = g_new(double, LINES), *s = g_new(double, LINES);
  for (int trial = 0; trial < 3; trial++) {
    double b[JOINTS], gradient = 0.0;
    PlaTorqueReport report;
    PlaError err = { 0 };
    for (int i = 0; i < JOINTS * LINES; i++)
      w[i] = g_rand_double_range(rand, -1, 1);
    for (int i = 0; i < LINES; i++)
      s[i] = g_rand_double_range(rand, 0.5, 2.0);
    for (int j = 0; j < JOINTS; j++)
      b[j] = g_rand_double_range(rand, -50, 50);
    g_assert_cmpint(pla_torque_balance(JOINTS, LINES, w, b, s, 0.0, a, &report, &err), ==, PLA_OK);
    g_test_message("%d rounds, residual %.2g, least %.2g", report.rounds, report.residual_rel,
                   report.least);
    g_assert_cmpint(report.rounds, <=, 6);
    g_assert_cmpfloat(report.residual_rel, <, 1e-7); /* of clamping what the wall lets through */
    g_assert_cmpfloat(report.least, >, -1e-8);
    /* least of all: no exchange along the null space of W helps, S a = -W^T lambda where a > 0 */
    int n_positive = 0;
    for (int i = 0; i < LINES; i++)
      n_positive += a[i] > 0.0;
    g_assert_cmpint(n_positive, >, JOINTS);
    for (int i = 0; i < LINES; i++)
      gradient += s[i] * a[i] * a[i];
    g_assert_cmpfloat(gradient, >, 0.0);
  }
  g_free(w);
  g_free(a);
  g_free(s);
  g_rand_free(rand);
}

/* a muscle can only pull */
static void
test_impossible(void)
{
  const double w = -2.0, b = -3.0, s = 1.0;
  double a;
  PlaTorqueReport report;
  PlaError err = { 0 };
  g_assert_cmpint(pla_torque_balance(1, 1, &w, &b, &s, 0.0, &a, &report, &err), ==,
                  PLA_ERR_CONVERGENCE);
  g_assert_nonnull(g_strrstr(err.message, "joint 1"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/torque/elbow", test_elbow);
  g_test_add_func("/torque/random", test_random);
  g_test_add_func("/torque/impossible", test_impossible);
  return g_test_run();
}

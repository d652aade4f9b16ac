/* Bars in uniaxial tension against closed forms, for each isotropic law.
 *
 * An isochoric energy W(l1, l2, l3) in an incompressible bar gives the nominal stress
 *   P = dW/dl with l1 = l, l2 = l3 = l^(-1/2);
 * with a bulk modulus k the lateral stretch is found by Newton and P approaches that as 1/k. */
#include "sim/material/stretch.h"
#include "tests/sim/material/cases.h"

#include <math.h>

/* nominal stress and lateral stretch of a bar that is free sideways */
static double
bar(const PlaMaterial *material, const double *c, double l, double *lateral)
{
  double s = 1.0 / sqrt(l), p[3], h[6];
  for (int step = 0; step < 60; step++) {
    const double at[3] = { l, s, s };
    pla_stretch_stress(material, c, at, p);
    pla_stretch_tangent(material, c, at, h);
    s -= p[1] / (h[1] + h[5]);
  }
  g_assert_cmpfloat(fabs(p[1]), <, 1e-5 * (fabs(p[0]) + 1e-3));
  *lateral = s;
  return p[0];
}

static double
incompressible(const char *id, const double *q, double l)
{
  double x = l * l + 2.0 / l, slope = 2.0 * (l - 1.0 / (l * l)); /* I1 and its derivative */
  if (g_str_equal(id, "yeoh"))
    return slope * (q[0] + 2.0 * q[1] * (x - 3.0) + 3.0 * q[2] * pow(x - 3.0, 2));
  if (g_str_equal(id, "fung"))
    return slope * 0.5 * q[0] * q[1] * exp(q[1] * (x - 3.0));
  if (g_str_equal(id, "ogden"))
    return q[0] * (pow(l, q[1] - 1.0) - pow(l, -0.5 * q[1] - 1.0)) +
           q[2] * (pow(l, q[3] - 1.0) - pow(l, -0.5 * q[3] - 1.0));
  if (g_str_equal(id, "mooney-rivlin"))
    return slope * (q[0] + q[1] / l);
  /* Arruda-Boyce */
  double n = q[1];
  return slope * q[0] *
         (0.5 + x / (10.0 * n) + 11.0 * x * x / (350.0 * n * n) +
          19.0 * pow(x, 3) / (1750.0 * pow(n, 3)) + 519.0 * pow(x, 4) / (134750.0 * pow(n, 4)));
}

static void
test_nearly_incompressible(void)
{
  static const struct {
    const char *id, *key[4];
    double value[4];
  } laws[] = {
    { "yeoh", { "c10_pa", "c20_pa", "c30_pa", "c10_pa" }, { 1000.0, 200.0, 50.0, 1000.0 } },
    { "yeoh", { "c10_pa", "c20_pa", "c30_pa", "c10_pa" }, { 1000.0, -200.0, 50.0, 1000.0 } },
    { "fung", { "c_pa", "b", "c_pa", "b" }, { 700.0, 3.0, 700.0, 3.0 } },
    { "ogden", { "mu1_pa", "alpha1", "mu2_pa", "alpha2" }, { 800.0, 1.7, 150.0, 4.0 } },
    { "mooney-rivlin", { "c10_pa", "c01_pa", "c10_pa", "c01_pa" }, { 900.0, 300.0, 900.0, 300.0 } },
    { "arruda-boyce",
      { "mu_pa", "chain_links", "mu_pa", "chain_links" },
      { 900.0, 6.0, 900.0, 6.0 } },
  };
  for (unsigned k = 0; k < G_N_ELEMENTS(laws); k++) {
    const PlaMaterial *material = pla_material_find(laws[k].id);
    double c[PLA_MAX_CONSTANTS];
    constants_of(material, c, laws[k].key[0], laws[k].value[0], laws[k].key[1], laws[k].value[1],
                 laws[k].key[2], laws[k].value[2], laws[k].key[3], laws[k].value[3], "bulk_pa",
                 1e10, NULL);
    static const double stretches[] = { 0.7, 0.9, 1.1, 1.3, 1.6 };
    for (unsigned i = 0; i < G_N_ELEMENTS(stretches); i++) {
      double l = stretches[i], lateral, expected = incompressible(laws[k].id, laws[k].value, l);
      double p = bar(material, c, l, &lateral);
      g_assert_cmpfloat_with_epsilon(p, expected, 2e-5 * fabs(expected));
      g_assert_cmpfloat_with_epsilon(lateral, 1.0 / sqrt(l), 1e-5);
    }
  }
}

/* compressible bars, solved to six digits by other means */
static void
test_compressible(void)
{
  double c[PLA_MAX_CONSTANTS], lateral, p;
  const PlaMaterial *material = pla_material_find("neo-hookean");
  constants_of(material, c, "young_pa", 1.0, "poisson", 0.3, NULL);
  p = bar(material, c, 2.0, &lateral);
  g_assert_cmpfloat_with_epsilon(lateral, 0.7980775, 1e-7);
  g_assert_cmpfloat_with_epsilon(p / (lateral * lateral), 1.015412, 1e-6);
  material = pla_material_find("mooney-rivlin");
  constants_of(material, c, "c10_pa", 1.0, "c01_pa", 0.1, "bulk_pa", 100.0, NULL);
  p = bar(material, c, 2.0, &lateral);
  g_assert_cmpfloat_with_epsilon(lateral, 0.7156560, 1e-7);
  g_assert_cmpfloat_with_epsilon(p / (lateral * lateral), 7.039534, 1e-6);
}

/* A Yeoh solid whose slope would end: c10 1 kPa, c20 -1 kPa, c30 0 from y = 0.495 on.  Up to there
 * it is as printed; beyond, the nominal stress is that of a hundredth of c10 and never negative. */
static void
test_softening(void)
{
  const PlaMaterial *yeoh = pla_material_find("yeoh");
  double c[PLA_MAX_CONSTANTS], lateral;
  constants_of(yeoh, c, "c10_pa", 1e3, "c20_pa", -1e3, "c30_pa", 0.0, "bulk_pa", 1e9, NULL);
  g_assert_cmpfloat_with_epsilon(yeoh->reach(c), 3.495, 1e-12);
  for (double l = 1.1; l < 2.0; l += 0.1) {
    double y = l * l + 2.0 / l - 3.0, slope = y < 0.495 ? 1e3 - 2e3 * y : 10.0;
    double expected = 2.0 * (l - 1.0 / (l * l)) * slope;
    g_assert_cmpfloat_with_epsilon(bar(yeoh, c, l, &lateral), expected, 1e-4 * expected);
  }
  constants_of(yeoh, c, "c10_pa", 1e3, "c20_pa", -200.0, "c30_pa", 50.0, NULL);
  g_assert_true(isinf(yeoh->reach(c)));
}

/* a sheath makes the bar stiffer in tension by k (l - 1), and not at all in compression along it;
 * the sides, which then bulge, feel it */
static void
test_fascia(void)
{
  const PlaMaterial *fascia = pla_material_find("fascia"),
                    *flesh = pla_material_find("mooney-rivlin");
  double with[PLA_MAX_CONSTANTS], without[PLA_MAX_CONSTANTS], p[2][3];
  constants_of(fascia, with, "fascia_pa", 5e4, NULL);
  constants_of(flesh, without, NULL);
  const double s[3] = { 1.2, 0.9, 1.0 };
  pla_stretch_stress(fascia, with, s, p[0]);
  pla_stretch_stress(flesh, without, s, p[1]);
  g_assert_cmpfloat_with_epsilon(p[0][0] - p[1][0], 5e4 * 0.2, 1e-7);
  g_assert_cmpfloat(p[0][1], ==, p[1][1]);
  g_assert_cmpfloat(p[0][2], ==, p[1][2]);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/uniaxial/nearly-incompressible", test_nearly_incompressible);
  g_test_add_func("/uniaxial/compressible", test_compressible);
  g_test_add_func("/uniaxial/softening", test_softening);
  g_test_add_func("/uniaxial/fascia", test_fascia);
  return g_test_run();
}

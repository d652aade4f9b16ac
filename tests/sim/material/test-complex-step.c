/* Complex steps: derivatives to rounding for any step, where difference quotients fail; removable
 * singularities; materials made of an energy alone. */
#include "anatomy/base/mat3.h"
#include "sim/material/complex-step.h"
#include "tests/sim/material/cases.h"

#include <string.h>

/* e^x / (x^4 + x^2 + 1) */
static double
bump(double x)
{
  return exp(x) / (x * x * x * x + x * x + 1.0);
}

static PlaDual
bump_dual(PlaDual x)
{
  PlaDual xx = pla_dual_square(x);
  return pla_dual_div(pla_dual_exp(x), pla_dual_plus(pla_dual_add(pla_dual_square(xx), xx), 1.0));
}

/* at 4: u = 273, u' = 264, u'' = 194; f' = f (1 - u'/u), f'' = f ((1 - u'/u)^2 - u''/u + (u'/u)^2)
 */
static void
bump_exact(double *first, double *second)
{
  double u = 273.0, r = 264.0 / u, f = exp(4.0) / u;
  *first = f * (1.0 - r);
  *second = f * ((1.0 - r) * (1.0 - r) - 194.0 / u + r * r);
}

static void
test_any_step(void)
{
  double first, second;
  bump_exact(&first, &second);
  g_assert_cmpfloat_with_epsilon(first, 0.006593183194438, 1e-15);
  g_assert_cmpfloat_with_epsilon(second, 0.0451218459155, 1e-13);
  for (int k = 27; k <= 134; k++) {
    double h = k <= 133 ? exp2(-k) : 1e-100;
    PlaDual f = bump_dual((PlaDual){ pla_complex(4.0, h), 1.0 });
    g_assert_cmpfloat(fabs(cimag(f.a) / h / first - 1.0), <=, 4e-15);
    g_assert_cmpfloat(fabs(creal(f.b) / first - 1.0), <=, 4e-15);
    g_assert_cmpfloat(fabs(cimag(f.b) / h / second - 1.0), <=, 4e-15);
  }
}

/* what it replaces: quotients lose everything to cancellation */
static void
test_differences_fail(void)
{
  double first, second;
  bump_exact(&first, &second);
  for (int k = 53; k <= 60; k++) {
    double h = exp2(-k);
    g_assert_cmpfloat(fabs((bump(4.0 + h) - bump(4.0)) / h - first), >=, 0.99 * first);
    g_assert_cmpfloat(fabs(0.5 * (bump(4.0 + h) - bump(4.0 - h)) / h - first), >=, 0.99 * first);
  }
  for (int k = 28; k <= 46; k++) {
    double h = exp2(-k), curve = (bump(4.0 + h) - 2.0 * bump(4.0) + bump(4.0 - h)) / (h * h);
    g_assert_cmpfloat(fabs(curve / second - 1.0), >=, 0.99);
  }
}

/* log^2(1 - sqrt((x-1)^2)) has 0/0 in its derivative at 1; f' = 0, f'' = 2 */
static void
test_removable_singularity(void)
{
  PlaDual x = { pla_complex(1.0, PLA_COMPLEX_STEP), 1.0 };
  PlaDual root = pla_dual_sqrt(pla_dual_square(pla_dual_plus(x, -1.0)));
  PlaDual f = pla_dual_square(pla_dual_log(pla_dual_sub(pla_dual(1.0), root)));
  g_assert_cmpfloat(fabs(cimag(f.a) / PLA_COMPLEX_STEP), <, 1e-30);
  g_assert_cmpfloat(cimag(f.b) / PLA_COMPLEX_STEP, ==, 2.0);
  g_assert_true(isfinite(creal(f.a)) && isfinite(creal(f.b)));
}

/* d2(X^-1)/dX_22^2 = +2 X^-1 E X^-1 E X^-1, by Gauss-Jordan on dual numbers */
static void
test_inverse(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  for (int trial = 0; trial < 20; trial++) {
    double x[9], inverse[9];
    random_f(rand, 0.4, false, x);
    pla_mat3_invert(x, inverse);
    PlaDual a[3][6];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 6; j++)
        a[i][j] = pla_dual(j < 3 ? x[3 * i + j] : (double)(j - 3 == i));
    a[2][2] = (PlaDual){ pla_complex(x[8], PLA_COMPLEX_STEP), 1.0 };
    for (int i = 0; i < 3; i++) {
      PlaDual pivot = a[i][i];
      for (int j = 0; j < 6; j++)
        a[i][j] = pla_dual_div(a[i][j], pivot);
      for (int r = 0; r < 3; r++) {
        PlaDual factor = a[r][i];
        for (int j = 0; r != i && j < 6; j++)
          a[r][j] = pla_dual_sub(a[r][j], pla_dual_mul(factor, a[i][j]));
      }
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double first = -inverse[3 * i + 2] * inverse[6 + j];
        double second = 2.0 * inverse[3 * i + 2] * inverse[8] * inverse[6 + j];
        double size = 1.0 + pow(max_abs(inverse, 9), 3);
        g_assert_cmpfloat_with_epsilon(cimag(a[i][3 + j].a) / PLA_COMPLEX_STEP, first,
                                       1e-13 * size);
        g_assert_cmpfloat_with_epsilon(cimag(a[i][3 + j].b) / PLA_COMPLEX_STEP, second,
                                       1e-13 * size);
      }
  }
}

/* a registered material reduced to its energy gives the same stress, tangent and moduli, whether
 * the energy is of the invariants or of F */
static void
test_energy_alone(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(2);
  int nested = 0;
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    PlaMaterial reduced;
    double c[PLA_MAX_CONSTANTS], moduli[6];
    constants_of(*m, c, NULL);
    pla_material_from_energy(*m, &reduced);
    nested += reduced.invariant_energy != NULL;
    pla_material_moduli(*m, c, &moduli[0], &moduli[1], &moduli[2]);
    pla_material_moduli(&reduced, c, &moduli[3], &moduli[4], &moduli[5]);
    g_assert_cmpfloat_with_epsilon(moduli[0], moduli[3], 1e-10 * moduli[0]);
    g_assert_cmpfloat_with_epsilon(moduli[1], moduli[4], 1e-10 * (moduli[0] + moduli[1]));
    g_assert_cmpfloat(moduli[5], >, 0.0);
    for (int trial = 0; trial < 20; trial++) {
      double f[9], p[2][9], h[2][81];
      random_f(rand, 0.3, false, f);
      PlaPoint point = bare_point(f);
      if (point.s[2] < 0.2)
        continue;
      const PlaMaterial *pair[2] = { *m, &reduced };
      for (int k = 0; k < 2; k++) {
        pla_material_stress(pair[k], c, &point, p[k]);
        pla_material_tangent(pair[k], c, &point, false, h[k]);
      }
      for (int i = 0; i < 81; i++) {
        g_assert_cmpfloat_with_epsilon(p[0][i % 9], p[1][i % 9],
                                       1e-12 * (moduli[0] + max_abs(p[0], 9)));
        g_assert_cmpfloat_with_epsilon(h[0][i], h[1][i], 1e-12 * max_abs(h[0], 81));
      }
    }
  }
  g_assert_cmpint(nested, >=, 8);
}

/* mu (J^(-2/3) I1 - 3) + lambda/2 log^2(1 - 4 (J-1)^2): a barrier at |J - 1| = 1/2, whose pressure
 * meets that of lambda (J-1)^2 at 0.2147 */
static PlaDual
barrier_energy(const double *c, const PlaDual *x)
{
  PlaDual change = pla_dual_plus(x[2], -1.0);
  PlaDual inside = pla_dual_sub(pla_dual(1.0), pla_dual_scale(4.0, pla_dual_square(change)));
  return pla_dual_add(pla_dual_scale(c[0], pla_dual_plus(pla_dual_isochoric_1(x), -3.0)),
                      pla_dual_scale(0.5 * c[1], pla_dual_square(pla_dual_log(inside))));
}

static void
test_new_material(void)
{
  PlaMaterial barrier;
  pla_material_from_energy(&(PlaMaterial){ .id = "barrier", .invariant_energy = barrier_energy },
                           &barrier);
  const double c[PLA_MAX_CONSTANTS] = { 1e3, 1e5 }, at = 0.2147;
  double f[9], p[9], h[81];
  pla_mat3_identity(f);
  /* pure dilation has no shear energy: P_00 = dPsi/dJ times J^(2/3) */
  f[0] = f[4] = f[8] = cbrt(1.0 + at);
  PlaPoint point = bare_point(f);
  pla_material_stress(&barrier, c, &point, p);
  double pressure = p[0] / (f[0] * f[0]);
  g_assert_cmpfloat_with_epsilon(pressure, 2.0 * c[1] * at, 1e-3 * pressure);
  /* the projected tangent is definite though the true one, at rest, resists no change of volume */
  for (int k = 0; k < 9; k++)
    f[k] = (k % 4 == 0) + 0.05 * sin(7.0 * k);
  point = bare_point(f);
  pla_material_tangent(&barrier, c, &point, true, h);
  for (int k = 0; k < 9; k++) {
    double x[9], form = 0.0;
    for (int i = 0; i < 9; i++)
      x[i] = cos(3.0 * k + 11.0 * i);
    for (int i = 0; i < 81; i++)
      form += x[i / 9] * h[i] * x[i % 9];
    g_assert_cmpfloat(form, >=, -1e-9 * max_abs(h, 81));
  }
}

/* the energy of a flat or inverted element made of continued logarithms stays twice differentiable
 */
static void
test_continued_determinant(void)
{
  for (int k = 0; k < 2; k++) {
    double h = PLA_COMPLEX_STEP, value[2][3];
    for (int side = 0; side < 2; side++) {
      PlaDual det = { pla_complex(PLA_DET_FLOOR + (side ? 1e-13 : -1e-13), h), 1.0 };
      PlaDual y = k ? pla_dual_power_det(det, -2.0 / 3.0) : pla_dual_log_det(det);
      value[side][0] = creal(y.a);
      value[side][1] = creal(y.b);
      value[side][2] = cimag(y.b) / h;
    }
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(value[0][d], value[1][d], 1e-8 * fabs(value[0][d]));
    PlaDual far = pla_dual_log_det(pla_dual(-5.0));
    g_assert_true(isfinite(pla_dual_value(far)));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/complex-step/any-step", test_any_step);
  g_test_add_func("/complex-step/differences-fail", test_differences_fail);
  g_test_add_func("/complex-step/removable-singularity", test_removable_singularity);
  g_test_add_func("/complex-step/inverse", test_inverse);
  g_test_add_func("/complex-step/energy-alone", test_energy_alone);
  g_test_add_func("/complex-step/new-material", test_new_material);
  g_test_add_func("/complex-step/continued-determinant", test_continued_determinant);
  return g_test_run();
}

/* Conformance of every material: rest state, moduli, frame invariance, no torque, finite and
 * continuous stress for inverted and flat elements, stress and tangent as derivatives of the
 * energy, definiteness of the projected tangent. */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/svd3.h"
#include "sim/material/complex-step.h"
#include "tests/sim/material/cases.h"

#include <lapacke.h>
#include <string.h>

static Cases cases;

static double
energy_at(const Case *c, const double f[9])
{
  PlaPoint point = point_at(c, f);
  return pla_material_energy(c->material, c->constants, &point);
}

static void
stress_at(const Case *c, const double f[9], double p[9])
{
  PlaPoint point = point_at(c, f);
  pla_material_stress(c->material, c->constants, &point, p);
}

/* the laws that scenes may name, each with a full table: key, unit, range, default in it, and where
 * they come from */
static void
test_registry(void)
{
  static const char *const ids[] = {
    "linear",
    "corotated",
    "fixed-corotated",
    "stvk",
    "neo-hookean",
    "neo-hookean-mm",
    "stable-neo-hookean",
    "mooney-rivlin",
    "yeoh",
    "ogden",
    "fung",
    "arruda-boyce",
    "muscle",
    "blemker",
    "fascia",
    "goh",
  };
  for (size_t k = 0; k < G_N_ELEMENTS(ids); k++)
    g_assert_nonnull(pla_material_find(ids[k]));
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    g_assert_true((*m)->title && strlen((*m)->help) > 10);
    g_assert_nonnull((*m)->params[0].key);
    for (const PlaParam *row = (*m)->params; row->key; row++) {
      /* a unit is in the key as well */
      if (g_str_has_suffix(row->key, "_pa"))
        g_assert_cmpstr(row->unit, ==, "Pa");
      if (!row->unit || !row->help || strlen(row->help) < 5 || !row->source ||
          strlen(row->source) < 5 || !(row->min < row->max) || row->def < row->min ||
          row->def > row->max)
        g_error("%s: the row of %s is not complete", (*m)->id, row->key);
    }
  }
}

/* zero stress at rest, and the moduli that the material claims in its rest tangent */
static void
test_rest(void)
{
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    double f[9], p[9], h[81], mu, lambda, vol;
    pla_mat3_identity(f);
    PlaPoint point = bare_point(f);
    pla_material_moduli(c->material, c->constants, &mu, &lambda, &vol);
    pla_material_stress(c->material, c->constants, &point, p);
    g_assert_cmpfloat(max_abs(p, 9), <=, 1e-9 * mu);
    g_assert_cmpfloat(fabs(pla_material_energy(c->material, c->constants, &point)), <=,
                      strcmp(c->material->id, "neo-hookean-mm") ? 1e-9 * mu : mu);
    pla_material_tangent(c->material, c->constants, &point, false, h);
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++) {
        bool diagonal_i = i % 4 == 0, diagonal_j = j % 4 == 0;
        bool transposed = i / 3 == j % 3 && i % 3 == j / 3;
        double expected = i == j && diagonal_i       ? 2.0 * mu + lambda
                          : diagonal_i && diagonal_j ? lambda
                          : i == j || transposed     ? mu
                                                     : 0.0;
        if (fabs(h[9 * i + j] - expected) > 1e-8 * (mu + fabs(lambda)))
          g_error("%s: tangent (%d, %d) at rest is %g, expected %g", c->name, i, j, h[9 * i + j],
                  expected);
      }
    g_assert_cmpfloat(vol, >, 0.0);
  }
}

/* Lame's constants at rest are those that the parameters promise: of E and nu, and 2 (c10 + c01)
 * and k - 4/3 (c10 + c01) of flesh (Sifakis 2007); with the printed c10 = 60, c01 = 20, k = 60 kPa
 * lambda is -46.7 kPa and nu -0.21, not flesh at all */
static void
test_moduli(void)
{
  static const char *const lame[] = { "neo-hookean", "neo-hookean-mm",  "stable-neo-hookean",
                                      "corotated",   "fixed-corotated", "stvk",
                                      "linear" };
  double c[PLA_MAX_CONSTANTS], mu, lambda, vol;
  for (size_t m = 0; m < G_N_ELEMENTS(lame); m++) {
    constants_of(pla_material_find(lame[m]), c, "young_pa", 2e4, "poisson", 0.4, NULL);
    pla_material_moduli(pla_material_find(lame[m]), c, &mu, &lambda, &vol);
    g_assert_cmpfloat_with_epsilon(mu, 2e4 / 2.8, 1e-9);
    g_assert_cmpfloat_with_epsilon(lambda, 2e4 * 0.4 / (1.4 * 0.2), 1e-9);
  }
  const PlaMaterial *flesh = pla_material_find("mooney-rivlin");
  static const double bulk[2] = { 1e7, 6e4 };
  for (int k = 0; k < 2; k++) {
    constants_of(flesh, c, "c10_pa", 6e4, "c01_pa", 2e4, "bulk_pa", bulk[k], NULL);
    pla_material_moduli(flesh, c, &mu, &lambda, &vol);
    g_assert_cmpfloat_with_epsilon(mu, 2.0 * 8e4, 1e-6);
    g_assert_cmpfloat_with_epsilon(lambda, bulk[k] - 4.0 / 3.0 * 8e4, 1e-6);
  }
  g_assert_cmpfloat_with_epsilon(lambda, -46.7e3, 50.0);
  g_assert_cmpfloat_with_epsilon(0.5 * lambda / (lambda + mu), -0.21, 0.005);
}

/* away from the stretch floor, where third derivatives jump, and from the poles of the rotation
 * modes */
static bool
is_tame(const PlaPoint *point)
{
  PlaPoint inner = *point;
  if (point->prestretch)
    pla_point_unstrained(point, &inner);
  const double *s = inner.s;
  return fabs(s[2] - PLA_STRETCH_FLOOR) > 0.1 && s[1] > 0.25 && s[1] + s[2] > 0.25;
}

static void
check_complex_step(const Case *c, int trial, const PlaPoint *point, double *worst)
{
  double p[9], h[81], p_step[9], h_step[81];
  pla_material_stress(c->material, c->constants, point, p);
  pla_material_tangent(c->material, c->constants, point, false, h);
  pla_complex_step_stress(c->material, c->constants, point, p_step);
  pla_complex_step_tangent(c->material, c->constants, point, h_step);
  double mu = case_shear(c), scale_p = max_abs(p_step, 9) + mu, scale_h = max_abs(h_step, 81) + mu;
  PlaDual f[9];
  for (int k = 0; k < 9; k++)
    f[k] = pla_dual(point->f[k]);
  double psi = pla_material_energy(c->material, c->constants, point);
  double same = pla_dual_value(pla_material_complex_energy(c->material, c->constants, point, f));
  if (fabs(psi - same) > 1e-11 * (fabs(psi) + scale_p))
    g_error("%s, trial %d: the energy is %.15g, on complex numbers %.15g", c->name, trial, psi,
            same);
  for (int i = 0; i < 81; i++) {
    double error_p = fabs(p[i % 9] - p_step[i % 9]) / scale_p,
           error_h = fabs(h[i] - h_step[i]) / scale_h;
    *worst = fmax(*worst, fmax(error_p, error_h));
    if (error_p > 1e-12)
      g_error("%s, trial %d: stress %d is %.15g, by complex step %.15g", c->name, trial, i % 9,
              p[i % 9], p_step[i % 9]);
    if (error_h > 1e-12)
      g_error("%s, trial %d: tangent (%d, %d) is %.15g, by complex step %.15g", c->name, trial,
              i / 9, i % 9, h[i], h_step[i]);
  }
}

/* stress and tangent are the derivatives of the energy to 1e-12, inverted too where that is the
 * same function */
static void
test_complex_step(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    double worst = 0.0;
    int checked = 0;
    for (int trial = 0; trial < 60; trial++) {
      double f[9];
      random_f(rand, trial % 2 ? 0.3 : 0.5, trial % 3 == 2, f);
      PlaPoint point = point_at(c, f);
      if (!is_tame(&point) || (trial % 3 == 2 && !c->polynomial))
        continue;
      check_complex_step(c, trial, &point, &worst);
      checked++;
    }
    g_assert_cmpint(checked, >, 20);
    g_test_message("%s: %.1e over %d points", c->name, worst, checked);
  }
}

/* largest errors of the stress @p and the tangent @h against five-point differences of energy and
 * stress over @step, relative */
static void
difference_errors(const Case *c, const double f[9], double step, const double p[9],
                  const double h[81], double *stress_error, double *tangent_error)
{
  static const double at[4] = { -2.0, -1.0, 1.0, 2.0 };
  static const double weight[4] = { 1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12 };
  const double mu = case_shear(c), scale_p = max_abs(p, 9) + mu, scale_h = max_abs(h, 81) + mu;
  *stress_error = *tangent_error = 0.0;
  for (int i = 0; i < 9; i++) {
    double slope = 0.0, curve[9] = { 0.0 };
    for (int k = 0; k < 4; k++) {
      double moved[9], stress[9];
      memcpy(moved, f, sizeof moved);
      moved[i] += at[k] * step;
      slope += weight[k] * energy_at(c, moved) / step;
      stress_at(c, moved, stress);
      for (int j = 0; j < 9; j++)
        curve[j] += weight[k] * stress[j] / step;
    }
    *stress_error = fmax(*stress_error, fabs(slope - p[i]) / scale_p);
    for (int j = 0; j < 9; j++)
      *tangent_error = fmax(*tangent_error, fabs(curve[j] - h[9 * i + j]) / scale_h);
  }
}

/* below the stretch floor the complex energy is another function: five-point differences there */
static void
test_continuation(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    if (c->polynomial)
      continue;
    int checked = 0;
    for (int trial = 0; checked < 8; trial++) {
      double f[9], p[9], h[81], stress_error, tangent_error;
      random_f(rand, 0.3, true, f);
      PlaPoint point = point_at(c, f);
      if (!is_tame(&point))
        continue;
      checked++;
      pla_material_stress(c->material, c->constants, &point, p);
      pla_material_tangent(c->material, c->constants, &point, false, h);
      difference_errors(c, f, 1e-3, p, h, &stress_error, &tangent_error);
      /* fascia and the blemker curve have kinks in their force: a difference that straddles one is
       * wrong, a shorter one beside it is not */
      for (double step = 1e-4; step > 5e-6 && tangent_error > 1e-6; step *= 0.1)
        difference_errors(c, f, step, p, h, &stress_error, &tangent_error);
      if (stress_error > 1e-6 || tangent_error > 1e-6)
        g_error(
            "%s, trial %d: stress and energy slope differ by %g, tangent and stress slope by %g "
            "of the largest entry",
            c->name, trial, stress_error, tangent_error);
    }
  }
}

/* Psi(Q F) = Psi(F) and P(Q F) = Q P(F); the linear material is exempt by its nature */
static void
test_frame_invariance(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(4);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    if (strcmp(c->material->id, "linear") == 0)
      continue;
    double mu = case_shear(c);
    for (int trial = 0; trial < 50; trial++) {
      double f[9], any[9], q[9], qf[9], ignored[9], p[9], qp[9], turned[9];
      random_f(rand, 0.4, trial % 4 == 3, f);
      random_f(rand, 1.0, false, any);
      pla_polar3(any, q, ignored);
      pla_mat3_mul(q, f, qf);
      double psi = energy_at(c, f);
      g_assert_cmpfloat_with_epsilon(energy_at(c, qf), psi, 1e-9 * (fabs(psi) + mu));
      stress_at(c, f, p);
      stress_at(c, qf, turned);
      pla_mat3_mul(q, p, qp);
      for (int i = 0; i < 9; i++)
        g_assert_cmpfloat_with_epsilon(turned[i], qp[i], 1e-8 * (max_abs(p, 9) + mu));
    }
  }
}

/* P F^T is symmetric for every F, inverted or flat: the forces of an element turn nothing */
static void
test_no_torque(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(7);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    if (strcmp(c->material->id, "linear") == 0)
      continue;
    for (int trial = 0; trial < 50; trial++) {
      double f[9], p[9], pf[9];
      random_f(rand, 1.5, trial % 2, f);
      stress_at(c, f, p);
      pla_mat3_mul_nt(p, f, pf);
      double size = max_abs(p, 9) * max_abs(f, 9);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
          g_assert_cmpfloat_with_epsilon(pf[3 * i + j], pf[3 * j + i], 1e-11 * size);
    }
  }
}

/* finite for flat, inverted and wildly scattered elements, and continuous across the floor */
static void
test_inverted(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(5);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    double mu = case_shear(c);
    for (int trial = 0; trial < 200; trial++) {
      double f[9], p[9], h[81];
      for (int i = 0; i < 9; i++)
        f[i] = trial < 4 ? (trial == 1) * (i == 0) : g_rand_double_range(rand, -10.0, 10.0);
      PlaPoint point = point_at(c, f);
      g_assert_true(isfinite(pla_material_energy(c->material, c->constants, &point)));
      pla_material_stress(c->material, c->constants, &point, p);
      pla_material_tangent(c->material, c->constants, &point, true, h);
      for (int i = 0; i < 81; i++)
        if (!isfinite(h[i]) || !isfinite(p[i % 9]))
          g_error("%s, trial %d: stress or tangent is not finite", c->name, trial);
    }
    for (int k = 0; k < 2; k++) {
      double at = k ? 0.0 : PLA_STRETCH_FLOOR, below[9], above[9];
      double f[9] = { 1.1, 0, 0, 0, 0.8, 0, 0, 0, at - 1e-9 };
      stress_at(c, f, below);
      f[8] = at + 1e-9;
      stress_at(c, f, above);
      for (int i = 0; i < 9; i++)
        g_assert_cmpfloat_with_epsilon(below[i], above[i], 1e-5 * (max_abs(above, 9) + mu));
    }
  }
}

/* From a stretch of 1 through the floor and flat to inside out: the stress is bounded, and halving
 * the steps halves the largest change between two of them, which a jump anywhere would not allow.
 */
static void
test_bounded(void)
{
  for (const Case *c = cases.at; c < cases.at + cases.n; c++) {
    double jump[2] = { 0.0, 0.0 };
    for (int fine = 0; fine < 2; fine++) {
      const int steps = 3000 << fine;
      double last[9] = { 0.0 };
      for (int k = 0; k <= steps; k++) {
        double f[9] = { 1.1, 0.1, 0, 0, 0.8, 0, 0.05, 0, 1.0 - 3.0 * k / steps }, p[9];
        stress_at(c, f, p);
        g_assert_cmpfloat(max_abs(p, 9), <, INFINITY);
        for (int i = 0; k > 0 && i < 9; i++)
          jump[fine] = fmax(jump[fine], fabs(p[i] - last[i]));
        memcpy(last, p, sizeof last);
      }
    }
    if (jump[1] > 0.55 * jump[0])
      g_error("%s: the stress jumps by %g Pa", c->name, jump[1]);
  }
}

/* the projected tangent has no negative eigenvalue, and equals the true one where that is definite
 */
static void
test_projection(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(6);
  for (const Case *c = cases.at; c < cases.at + cases.n; c++)
    for (int trial = 0; trial < 200; trial++) {
      double f[9], h[81], truth[81], w[9];
      random_f(rand, trial % 2 ? 0.2 : 2.0, trial % 5 == 4, f);
      PlaPoint point = point_at(c, f);
      pla_material_tangent(c->material, c->constants, &point, true, h);
      pla_material_tangent(c->material, c->constants, &point, false, truth);
      double size = max_abs(h, 81), true_size = max_abs(truth, 81), copy[81];
      for (int i = 0; i < 81; i++)
        g_assert_cmpfloat_with_epsilon(h[i], h[9 * (i % 9) + i / 9], 1e-12 * size);
      memcpy(copy, truth, sizeof copy);
      g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, copy, 9, w), ==, 0);
      if (w[0] >= 0.0)
        for (int i = 0; i < 81; i++)
          g_assert_cmpfloat_with_epsilon(h[i], truth[i], 1e-9 * true_size);
      g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, h, 9, w), ==, 0);
      if (w[0] < -1e-12 * fmax(size, true_size))
        g_error("%s, trial %d: an eigenvalue of the projected tangent is %g, the largest entry %g",
                c->name, trial, w[0], size);
    }
}

static void
test_bad_parameters(void)
{
  PlaError err = { 0 };
  const PlaMaterial *m = pla_material_find("neo-hookean"), *muscle = pla_material_find("muscle");
  const double incompressible[2] = { 1e4, 0.5 }, negative[2] = { -1.0, 0.3 },
               missing[2] = { NAN, 0.3 };
  g_assert_cmpint(pla_material_check(m, incompressible, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "poisson"));
  g_assert_cmpint(pla_material_check(m, negative, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "young_pa"));
  g_assert_cmpint(pla_material_check(m, missing, &err), ==, PLA_ERR_USAGE);
  g_assert_null(pla_material_find("granite"));

  /* words */
  const PlaParam *curve = &muscle->params[pla_material_param(muscle, "curve")];
  double value = -1.0;
  g_assert_cmpint(pla_param_choose(curve, "blemker", &value, &err), ==, PLA_OK);
  g_assert_cmpfloat(value, ==, 1.0);
  g_assert_cmpint(pla_param_choose(curve, "hill", &value, &err), ==, PLA_ERR_USAGE);
  g_assert_cmpstr(err.message, ==,
                  "'curve' is 'hill', and must be one of 'zajac', 'blemker', 'none'");
  double param[PLA_MAX_CONSTANTS], constants[PLA_MAX_CONSTANTS];
  for (int i = 0; muscle->params[i].key; i++)
    param[i] = muscle->params[i].def;
  param[pla_material_param(muscle, "curve")] = 0.5;
  g_assert_cmpint(pla_material_check(muscle, param, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "curve"));

  /* sets that make no material */
  param[pla_material_param(muscle, "c10_pa")] = param[pla_material_param(muscle, "c01_pa")] = 0.0;
  g_assert_cmpint(muscle->prepare(param, constants, &err), ==, PLA_ERR_USAGE);
  const PlaMaterial *ogden = pla_material_find("ogden");
  double terms[9] = { 1e3, 0.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 1e6 };
  g_assert_cmpint(ogden->prepare(terms, constants, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "alpha1"));
  terms[1] = -2.0;
  g_assert_cmpint(ogden->prepare(terms, constants, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "shear modulus"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  pla_blas_single_thread(); /* threads for 9 x 9 wait for ages on a busy machine */
  cases_init(&cases);
  g_test_add_func("/material/registry", test_registry);
  g_test_add_func("/material/rest", test_rest);
  g_test_add_func("/material/moduli", test_moduli);
  g_test_add_func("/material/complex-step", test_complex_step);
  g_test_add_func("/material/continuation", test_continuation);
  g_test_add_func("/material/frame-invariance", test_frame_invariance);
  g_test_add_func("/material/no-torque", test_no_torque);
  g_test_add_func("/material/inverted", test_inverted);
  g_test_add_func("/material/bounded", test_bounded);
  g_test_add_func("/material/projection", test_projection);
  g_test_add_func("/material/bad-parameters", test_bad_parameters);
  int result = g_test_run();
  cases_clear(&cases);
  return result;
}

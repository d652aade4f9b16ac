/* Conformance of every registered material: rest state, moduli, frame invariance, finite and
 * continuous stress for inverted and flat elements, stress and tangent as derivatives of the energy,
 * definiteness of the projected tangent. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/svd3.h"
#include "sim/material/material.h"

#include <glib.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

static double
uniform(GRand *rand, double half)
{
  return g_rand_double_range(rand, -half, half);
}

/* constants from the table's defaults */
static void
defaults(const PlaMaterial *m, double constants[PLA_MAX_CONSTANTS])
{
  double param[PLA_MAX_CONSTANTS] = { 0 };
  PlaError err = { 0 };
  for (int i = 0; m->params[i].key; i++)
    param[i] = m->params[i].def;
  memset(constants, 0, PLA_MAX_CONSTANTS * sizeof *constants);
  g_assert_cmpint(pla_material_check(m, param, &err), ==, PLA_OK);
  g_assert_cmpint(m->prepare(param, constants, &err), ==, PLA_OK);
}

static PlaPoint
point_at(const double f[9])
{
  PlaPoint point = { 0 };
  memcpy(point.f, f, sizeof point.f);
  pla_point_decompose(&point);
  return point;
}

/* F = 1 + noise, or with its first row reversed: inverted */
static void
random_f(GRand *rand, double half, bool inverted, double f[9])
{
  do
    for (int c = 0; c < 9; c++)
      f[c] = (c % 4 == 0) + uniform(rand, half);
  while (fabs(pla_mat3_det(f)) < 0.05);
  if ((pla_mat3_det(f) < 0.0) != inverted)
    for (int c = 0; c < 3; c++)
      f[c] = -f[c];
}

static double
max_abs(const double *x, int n)
{
  double most = 0.0;
  for (int i = 0; i < n; i++)
    most = fmax(most, fabs(x[i]));
  return most;
}

static double
energy_at(const PlaMaterial *m, const double *c, const double f[9])
{
  PlaPoint point = point_at(f);
  return pla_material_energy(m, c, &point);
}

static void
stress_at(const PlaMaterial *m, const double *c, const double f[9], double p[9])
{
  PlaPoint point = point_at(f);
  pla_material_stress(m, c, &point, p);
}

/* zero stress at rest, and the moduli that the material claims in its rest tangent */
static void
test_rest(void)
{
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    double c[PLA_MAX_CONSTANTS], f[9], p[9], h[81], mu, lambda, vol;
    defaults(*m, c);
    pla_mat3_identity(f);
    PlaPoint point = point_at(f);
    (*m)->moduli(c, &mu, &lambda, &vol);
    pla_material_stress(*m, c, &point, p);
    g_assert_cmpfloat(max_abs(p, 9), <=, 1e-9 * mu);
    pla_material_tangent(*m, c, &point, false, h);
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++) {
        bool diagonal_i = i % 4 == 0, diagonal_j = j % 4 == 0;
        bool transposed = i / 3 == j % 3 && i % 3 == j / 3;
        double expected = i == j && diagonal_i          ? 2.0 * mu + lambda
                          : diagonal_i && diagonal_j    ? lambda
                          : i == j || transposed        ? mu
                                                        : 0.0;
        if (fabs(h[9 * i + j] - expected) > 1e-8 * (mu + fabs(lambda)))
          g_error("%s: tangent (%d, %d) at rest is %g, expected %g", (*m)->id, i, j,
                  h[9 * i + j], expected);
      }
    g_assert_cmpfloat(vol, >, 0.0);
  }
}

/* five-point differences: an oracle that shares no code with the derivatives */
static void
test_derivatives(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(3);
  const double step = 1e-3;
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    double c[PLA_MAX_CONSTANTS], mu, lambda, vol;
    defaults(*m, c);
    (*m)->moduli(c, &mu, &lambda, &vol);
    for (int trial = 0; trial < 60; trial++) {
      double f[9], p[9], h[81];
      random_f(rand, 0.3, trial % 3 == 2, f);
      PlaPoint point = point_at(f);
      /* away from the floor, where third derivatives jump, and from poles of the rotation mode */
      if (fabs(point.s[2] - PLA_STRETCH_FLOOR) < 0.1 || point.s[1] < 0.25 ||
          point.s[1] + point.s[2] < 0.25)
        continue;
      pla_material_stress(*m, c, &point, p);
      pla_material_tangent(*m, c, &point, false, h);
      double scale_p = max_abs(p, 9) + mu, scale_h = max_abs(h, 81) + mu;
      for (int i = 0; i < 9; i++) {
        double psi[4], stress[4][9];
        static const double at[4] = { -2.0, -1.0, 1.0, 2.0 };
        static const double weight[4] = { 1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12 };
        double slope = 0.0;
        for (int k = 0; k < 4; k++) {
          double moved[9];
          memcpy(moved, f, sizeof moved);
          moved[i] += at[k] * step;
          psi[k] = energy_at(*m, c, moved);
          stress_at(*m, c, moved, stress[k]);
          slope += weight[k] * psi[k] / step;
        }
        if (fabs(slope - p[i]) > 1e-6 * scale_p)
          g_error("%s, trial %d: stress %d is %.12g, energy slope %.12g", (*m)->id, trial, i, p[i],
                  slope);
        for (int j = 0; j < 9; j++) {
          double curve = 0.0;
          for (int k = 0; k < 4; k++)
            curve += weight[k] * stress[k][j] / step;
          if (fabs(curve - h[9 * i + j]) > 1e-6 * scale_h)
            g_error("%s, trial %d: tangent (%d, %d) is %.12g, stress slope %.12g", (*m)->id, trial,
                    i, j, h[9 * i + j], curve);
          g_assert_cmpfloat_with_epsilon(h[9 * i + j], h[9 * j + i], 1e-9 * scale_h);
        }
      }
    }
  }
}

/* Psi(Q F) = Psi(F) and P(Q F) = Q P(F); the linear material is exempt by its nature */
static void
test_frame_invariance(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(4);
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    if (strcmp((*m)->id, "linear") == 0)
      continue;
    double c[PLA_MAX_CONSTANTS], mu, lambda, vol;
    defaults(*m, c);
    (*m)->moduli(c, &mu, &lambda, &vol);
    for (int trial = 0; trial < 50; trial++) {
      double f[9], any[9], q[9], qf[9], ignored[9], p[9], qp[9], turned[9];
      random_f(rand, 0.4, trial % 4 == 3, f);
      random_f(rand, 1.0, false, any);
      pla_polar3(any, q, ignored);
      pla_mat3_mul(q, f, qf);
      double psi = energy_at(*m, c, f);
      g_assert_cmpfloat_with_epsilon(energy_at(*m, c, qf), psi, 1e-9 * (fabs(psi) + mu));
      stress_at(*m, c, f, p);
      stress_at(*m, c, qf, turned);
      pla_mat3_mul(q, p, qp);
      for (int i = 0; i < 9; i++)
        g_assert_cmpfloat_with_epsilon(turned[i], qp[i], 1e-8 * (max_abs(p, 9) + mu));
    }
  }
}

/* finite for flat, inverted and wildly scattered elements, and continuous across the floor */
static void
test_inverted(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(5);
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    double c[PLA_MAX_CONSTANTS], mu, lambda, vol;
    defaults(*m, c);
    (*m)->moduli(c, &mu, &lambda, &vol);
    for (int trial = 0; trial < 200; trial++) {
      double f[9], p[9], h[81];
      for (int i = 0; i < 9; i++)
        f[i] = trial < 4 ? (trial == 1) * (i == 0) : uniform(rand, 10.0);
      PlaPoint point = point_at(f);
      g_assert_true(isfinite(pla_material_energy(*m, c, &point)));
      pla_material_stress(*m, c, &point, p);
      pla_material_tangent(*m, c, &point, true, h);
      for (int i = 0; i < 81; i++)
        g_assert_true(isfinite(h[i]) && isfinite(p[i % 9]));
    }
    for (int k = 0; k < 2; k++) {
      double at = k ? 0.0 : PLA_STRETCH_FLOOR, below[9], above[9];
      double f[9] = { 1.1, 0, 0, 0, 0.8, 0, 0, 0, at - 1e-9 };
      stress_at(*m, c, f, below);
      f[8] = at + 1e-9;
      stress_at(*m, c, f, above);
      for (int i = 0; i < 9; i++)
        g_assert_cmpfloat_with_epsilon(below[i], above[i], 1e-5 * (max_abs(above, 9) + mu));
    }
  }
}

/* the projected tangent has no negative eigenvalue, and equals the true one where that is definite */
static void
test_projection(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(6);
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    double c[PLA_MAX_CONSTANTS];
    defaults(*m, c);
    for (int trial = 0; trial < 300; trial++) {
      double f[9], h[81], truth[81], w[9];
      random_f(rand, trial % 2 ? 0.2 : 2.0, trial % 5 == 4, f);
      PlaPoint point = point_at(f);
      pla_material_tangent(*m, c, &point, true, h);
      pla_material_tangent(*m, c, &point, false, truth);
      double size = max_abs(h, 81), true_size = max_abs(truth, 81), copy[81];
      memcpy(copy, truth, sizeof copy);
      g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, copy, 9, w), ==, 0);
      if (w[0] >= 0.0)
        for (int i = 0; i < 81; i++)
          g_assert_cmpfloat_with_epsilon(h[i], truth[i], 1e-9 * true_size);
      g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, h, 9, w), ==, 0);
      g_assert_cmpfloat(w[0], >=, -1e-12 * size);
    }
  }
}

static void
test_bad_parameters(void)
{
  PlaError err = { 0 };
  const PlaMaterial *m = pla_material_find("neo-hookean");
  const double incompressible[2] = { 1e4, 0.5 }, negative[2] = { -1.0, 0.3 },
               missing[2] = { NAN, 0.3 };
  g_assert_cmpint(pla_material_check(m, incompressible, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "poisson"));
  g_assert_cmpint(pla_material_check(m, negative, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "young_pa"));
  g_assert_cmpint(pla_material_check(m, missing, &err), ==, PLA_ERR_USAGE);
  g_assert_null(pla_material_find("granite"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/material/rest", test_rest);
  g_test_add_func("/material/derivatives", test_derivatives);
  g_test_add_func("/material/frame-invariance", test_frame_invariance);
  g_test_add_func("/material/inverted", test_inverted);
  g_test_add_func("/material/projection", test_projection);
  g_test_add_func("/material/bad-parameters", test_bad_parameters);
  return g_test_run();
}

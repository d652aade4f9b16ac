/* The definite stand-in for the tangent of isotropic materials. */
#include "anatomy/base/blas.h"
#include "sim/material/surrogate.h"

#include "tests/sim/material/cases.h"

#include <lapacke.h>
#include <string.h>

/* every eigenvalue is at least 2 mu, for any F: singular, zero and inverted ones too */
static void
test_eigenvalues(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(1);
  const double mu = 3.0, vol = 70.0;
  for (int trial = 0; trial < 500; trial++) {
    double f[9], h[81], w[9], cofactor[9], norm = 0.0;
    for (int k = 0; k < 9; k++)
      f[k] = trial == 0 ? 0.0 : g_rand_double_range(rand, -2.0, 2.0);
    if (trial % 5 == 1)
      for (int k = 0; k < 3; k++)
        f[6 + k] = f[k] + f[3 + k]; /* rank 2 */
    if (trial % 5 == 2)
      for (int k = 0; k < 6; k++)
        f[3 + k] = f[k % 3]; /* rank 1 */
    pla_surrogate_tangent(mu, vol, f, h);
    pla_mat3_cofactor(f, cofactor);
    for (int k = 0; k < 9; k++)
      norm += cofactor[k] * cofactor[k];
    g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, h, 9, w), ==, 0);
    double size = 2.0 * mu + vol * norm;
    g_assert_cmpfloat_with_epsilon(w[0], 2.0 * mu, 1e-13 * size);
    g_assert_cmpfloat_with_epsilon(w[7], 2.0 * mu, 1e-13 * size);
    g_assert_cmpfloat_with_epsilon(w[8], size, 1e-13 * size);
  }
}

/* at rest, stretching is exact where the volumetric coefficient is lambda, and each shear block
 * [[mu, mu], [mu, mu]] becomes 2 mu 1: nothing is softer than the material */
static void
test_rest(void)
{
  double f[9], h[81], truth[81], mu, lambda, vol, c[PLA_MAX_CONSTANTS];
  pla_mat3_identity(f);
  PlaPoint point = bare_point(f);
  static const char *const lame[] = { "neo-hookean", "corotated", "fixed-corotated", "stvk" };
  for (unsigned m = 0; m < G_N_ELEMENTS(lame); m++) {
    const PlaMaterial *material = pla_material_find(lame[m]);
    constants_of(material, c, NULL);
    pla_material_moduli(material, c, &mu, &lambda, &vol);
    pla_surrogate_tangent(mu, vol, f, h);
    pla_material_tangent(material, c, &point, false, truth);
    for (int i = 0; i < 9; i += 4)
      for (int j = 0; j < 9; j += 4)
        g_assert_cmpfloat_with_epsilon(h[9 * i + j], truth[9 * i + j], 1e-9 * (mu + lambda));
    g_assert_cmpfloat_with_epsilon(h[9 * 1 + 1], 2.0 * mu, 1e-9 * mu);
    g_assert_cmpfloat_with_epsilon(h[9 * 1 + 3], 0.0, 1e-9 * mu);
  }
  for (const PlaMaterial *const *m = pla_materials_get(); *m; m++) {
    double w[9], gap[81];
    constants_of(*m, c, NULL);
    pla_material_moduli(*m, c, &mu, &lambda, &vol);
    pla_surrogate_tangent(mu, vol, f, h);
    pla_material_tangent(*m, c, &point, false, truth);
    for (int k = 0; k < 81; k++)
      gap[k] = h[k] - truth[k];
    g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 9, gap, 9, w), ==, 0);
    g_assert_cmpfloat(w[0], >=, -1e-9 * (mu + vol));
  }
}

/* the block of a node is the surrogate seen through its shape gradient */
static void
test_node_block(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(2);
  double f[9], grad[3], h[81], block[9];
  random_f(rand, 0.5, true, f);
  for (int d = 0; d < 3; d++)
    grad[d] = g_rand_double_range(rand, -1.0, 1.0);
  pla_surrogate_tangent(2.0, 9.0, f, h);
  pla_surrogate_node(2.0, 9.0, f, grad, block);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double sum = 0.0;
      for (int m = 0; m < 3; m++)
        for (int n = 0; n < 3; n++)
          sum += grad[m] * h[9 * (3 * i + m) + 3 * j + n] * grad[n];
      g_assert_cmpfloat_with_epsilon(block[3 * i + j], sum, 1e-13 * max_abs(h, 81));
    }
}

/* stable neo-Hookean with Lame's constants as they are would be a quarter too soft in shear */
static void
test_raw_constants_are_soft(void)
{
  const PlaMaterial *material = pla_material_find("stable-neo-hookean");
  double f[9], h[81], mu = 1.0, lambda = 4.0;
  const double raw[PLA_MAX_CONSTANTS] = { mu, lambda, mu, lambda };
  pla_mat3_identity(f);
  PlaPoint point = bare_point(f);
  pla_material_tangent(material, raw, &point, false, h);
  g_assert_cmpfloat_with_epsilon(h[9 * 1 + 1], 0.75 * mu, 1e-12);
  const double matched[PLA_MAX_CONSTANTS] = { 4.0 / 3.0 * mu, lambda + 5.0 / 6.0 * mu, mu, lambda };
  pla_material_tangent(material, matched, &point, false, h);
  g_assert_cmpfloat_with_epsilon(h[9 * 1 + 1], mu, 1e-12);
  g_assert_cmpfloat_with_epsilon(h[9 * 0 + 4], lambda, 1e-12);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  pla_blas_single_thread(); /* threads for 9 x 9 wait for ages on a busy machine */
  g_test_add_func("/surrogate/eigenvalues", test_eigenvalues);
  g_test_add_func("/surrogate/rest", test_rest);
  g_test_add_func("/surrogate/node-block", test_node_block);
  g_test_add_func("/surrogate/raw-constants-are-soft", test_raw_constants_are_soft);
  return g_test_run();
}

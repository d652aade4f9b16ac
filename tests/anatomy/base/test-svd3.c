/* The rotation-variant SVD, polar decomposition and symmetric eigenvalues: invariants on random,
 * rank-deficient, inverted and extreme matrices; LAPACK as the independent method. */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"

#include <glib.h>
#include <lapacke.h>
#include <stdlib.h>

enum { N_MATRICES = 1000000 };

static int
n_matrices(void)
{
  return g_getenv("PLA_SMALL") ? 50000 : N_MATRICES;
}

static double
uniform(GRand *rand)
{
  return g_rand_double_range(rand, -1.0, 1.0);
}

/* kinds in turn: full rank, inverted, rank 2, 1, 0, nearly equal values, graded, tiny, huge,
 * a rotation or, exactly, three or two equal values of either sign of the determinant */
static void
make_matrix(GRand *rand, int i, double f[9])
{
  for (int c = 0; c < 9; c++)
    f[c] = uniform(rand);
  switch (i % 10) {
  case 1:
    if (pla_mat3_det(f) > 0.0)
      for (int c = 0; c < 3; c++)
        f[c] = -f[c];
    break;
  case 2:
    for (int r = 0; r < 3; r++)
      f[3 * r + 2] = 0.3 * f[3 * r] - 2.0 * f[3 * r + 1];
    break;
  case 3:
    for (int r = 0; r < 3; r++)
      for (int c = 1; c < 3; c++)
        f[3 * r + c] = c * f[3 * r];
    break;
  case 4:
    if (i % 20 == 4)
      for (int c = 0; c < 9; c++)
        f[c] = 0.0;
    break;
  case 5:
    for (int c = 0; c < 9; c++)
      f[c] = (c % 4 == 0) + 1e-9 * f[c];
    break;
  case 6:
    for (int r = 0; r < 3; r++) {
      f[3 * r + 1] *= 1e-7;
      f[3 * r + 2] *= 1e-13;
    }
    break;
  case 7:
    for (int c = 0; c < 9; c++)
      f[c] *= 1e-200;
    break;
  case 8:
    for (int c = 0; c < 9; c++)
      f[c] *= 1e200;
    break;
  case 9: {
    double u[9], s[3], v[9];
    pla_svd3(f, u, s, v);
    if (i % 40 < 20) {
      pla_mat3_mul_nt(u, v, f);
    } else {
      /* axes exchanged and scaled: no rounding */
      const double a = ldexp(1.0, i % 7 - 3), b = i % 80 < 40 ? a : 0.75 * a;
      memset(f, 0, 9 * sizeof *f);
      f[i / 80 % 3] = a;
      f[3 + (i / 80 + 1) % 3] = i % 3 ? a : -a;
      f[6 + (i / 80 + 2) % 3] = b;
    }
    break;
  }
  default:
    break;
  }
}

/* largest entry of |A^T A - 1| */
static double
orthogonality_error(const double a[9])
{
  double g[9], worst = 0.0;
  pla_mat3_mul_tn(a, a, g);
  for (int c = 0; c < 9; c++)
    worst = fmax(worst, fabs(g[c] - (c % 4 == 0)));
  return worst;
}

static void
check_svd(const double f[9], const double u[9], const double s[3], const double v[9])
{
  double us[9], back[9], size = 0.0, worst = 0.0;
  g_assert_cmpfloat(orthogonality_error(u), <, 1e-14);
  g_assert_cmpfloat(orthogonality_error(v), <, 1e-14);
  g_assert_cmpfloat_with_epsilon(pla_mat3_det(u), 1.0, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_mat3_det(v), 1.0, 1e-12);
  for (int c = 0; c < 9; c++) {
    us[c] = u[c] * s[c % 3];
    size = fmax(size, fabs(f[c]));
  }
  g_assert_cmpfloat(s[0], >=, s[1]);
  g_assert_cmpfloat(s[1], >=, fabs(s[2]));
  pla_mat3_mul_nt(us, v, back);
  for (int c = 0; c < 9; c++)
    worst = fmax(worst, fabs(back[c] - f[c]));
  g_assert_cmpfloat(worst, <=, 1e-14 * size);
  /* the smallest value, and no other, carries the sign of the determinant */
  g_assert_true(s[0] >= 0.0 && s[1] >= 0.0);
  double scaled[9];
  for (int c = 0; c < 9; c++)
    scaled[c] = size > 0.0 ? f[c] / size : 0.0;
  double det = pla_mat3_det(scaled);
  if (fabs(det) > 1e-12)
    g_assert_true((det < 0.0) == (s[2] < 0.0));
}

static void
test_scalar(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(7);
  for (int i = 0; i < n_matrices(); i++) {
    double f[9], u[9], s[3], v[9];
    make_matrix(rand, i, f);
    pla_svd3(f, u, s, v);
    check_svd(f, u, s, v);
  }
}

/* absolute values against LAPACK's */
static void
test_against_lapack(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(8);
  for (int i = 0; i < 20000; i++) {
    double f[9], a[9], u[9], s[3], v[9], expected[3], superb[2];
    make_matrix(rand, i, f);
    pla_svd3(f, u, s, v);
    memcpy(a, f, sizeof a);
    g_assert_cmpint(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', 3, 3, a, 3, expected, NULL, 3, NULL,
                                   3, superb),
                    ==, 0);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(fabs(s[d]), expected[d], 2e-15 * expected[0] + 1e-300);
  }
}

/* the batch passes the same checks in both builds, and agrees with the scalar values */
static void
test_batch(void)
{
  const size_t n = (size_t)n_matrices() - 1, stride = n + 3; /* an odd tail */
  double *f = pla_array_new(9 * stride, sizeof *f), *u = pla_array_new(9 * stride, sizeof *u);
  double *s = pla_array_new(3 * stride, sizeof *s), *v = pla_array_new(9 * stride, sizeof *v);
  g_autoptr(GRand) rand = g_rand_new_with_seed(9);
  for (size_t e = 0; e < n; e++) {
    double m[9];
    make_matrix(rand, (int)e, m);
    for (size_t c = 0; c < 9; c++)
      f[c * stride + e] = m[c];
  }
  for (int kernel = PLA_KERNEL_PLAIN; kernel <= PLA_KERNEL_AVX2; kernel++) {
    pla_kernel_override((PlaKernel)kernel);
    pla_svd3_batch(n, stride, f, u, s, v);
    for (size_t e = 0; e < n; e++) {
      double fm[9], um[9], sm[3], vm[9], uo[9], so[3], vo[9];
      for (size_t c = 0; c < 9; c++) {
        fm[c] = f[c * stride + e];
        um[c] = u[c * stride + e];
        vm[c] = v[c * stride + e];
      }
      for (size_t c = 0; c < 3; c++)
        sm[c] = s[c * stride + e];
      check_svd(fm, um, sm, vm);
      if (e % 16 == 0) {
        pla_svd3(fm, uo, so, vo);
        for (int c = 0; c < 3; c++)
          g_assert_cmpfloat_with_epsilon(sm[c], so[c], 4e-15 * so[0] + 1e-300);
      }
    }
  }
  pla_kernel_override(PLA_KERNEL_AVX2);
  free(f);
  free(u);
  free(s);
  free(v);
}

/* the same bits for 1, 2 and 4 threads, and for a matrix whatever its neighbours */
static void
test_batch_bits(void)
{
  enum { N = 5000 };
  double *f = pla_array_new(9 * N, sizeof *f), *u = pla_array_new(9 * N, sizeof *u);
  double *s = pla_array_new(3 * N, sizeof *s), *v = pla_array_new(9 * N, sizeof *v);
  double *again = pla_array_new(3 * N, sizeof *again);
  g_autoptr(GRand) rand = g_rand_new_with_seed(10);
  for (int e = 0; e < N; e++) {
    double m[9];
    make_matrix(rand, e, m);
    for (int c = 0; c < 9; c++)
      f[c * N + e] = m[c];
  }
  pla_threads_set(1);
  pla_svd3_batch(N, N, f, u, s, v);
  for (int threads = 2; threads <= 4; threads += 2) {
    pla_threads_set(threads);
    pla_svd3_batch(N, N, f, u, again, v);
    g_assert_true(memcmp(s, again, 3 * N * sizeof *s) == 0);
  }
  for (int e = 0; e < N; e += 7) {
    double one[9], su[9], ss[3], sv[9];
    for (int c = 0; c < 9; c++)
      one[c] = f[c * N + e];
    pla_svd3_batch(1, 1, one, su, ss, sv);
    for (int c = 0; c < 3; c++)
      g_assert_true(ss[c] == s[c * N + e]);
  }
  free(f);
  free(u);
  free(s);
  free(v);
  free(again);
}

/* R a proper rotation, S symmetric, and S positive when det F > 0 */
static void
test_polar(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(11);
  for (int i = 0; i < 20000; i++) {
    double f[9], r[9], s[9], back[9], w[3], q[9], size = 0.0;
    make_matrix(rand, i, f);
    for (int c = 0; c < 9; c++)
      size = fmax(size, fabs(f[c]));
    pla_polar3(f, r, s);
    g_assert_cmpfloat(orthogonality_error(r), <, 1e-14);
    g_assert_cmpfloat(pla_mat3_det(r), >, 0.5);
    pla_mat3_mul(r, s, back);
    for (int c = 0; c < 9; c++)
      g_assert_cmpfloat_with_epsilon(back[c], f[c], 2e-14 * size + 1e-300);
    if (i % 10 == 0) {
      pla_eig3(s, w, q);
      g_assert_true((w[0] < 0.0) == (pla_mat3_det(f) < 0.0));
    }
  }
}

/* A Q = Q diag(w), against LAPACK's values */
static void
test_eigen(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(12);
  for (int i = 0; i < 20000; i++) {
    double f[9], a[9], w[3], q[9], aq[9], copy[9], expected[3];
    make_matrix(rand, i % 10 >= 7 ? 0 : i, f);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++)
        a[3 * r + c] = f[3 * r + c] + f[3 * c + r];
    pla_eig3(a, w, q);
    g_assert_cmpfloat(orthogonality_error(q), <, 1e-14);
    g_assert_cmpfloat(pla_mat3_det(q), >, 0.5);
    g_assert_true(w[0] <= w[1] && w[1] <= w[2]);
    double size = fmax(fabs(w[0]), fabs(w[2]));
    pla_mat3_mul(a, q, aq);
    for (int c = 0; c < 9; c++)
      g_assert_cmpfloat_with_epsilon(aq[c], q[c] * w[c % 3], 1e-14 * size + 1e-300);
    memcpy(copy, a, sizeof copy);
    g_assert_cmpint(LAPACKE_dsyev(LAPACK_ROW_MAJOR, 'N', 'U', 3, copy, 3, expected), ==, 0);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(w[d], expected[d], 4e-15 * size + 1e-300);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  pla_blas_single_thread(); /* threads for 9 x 9 wait for ages on a busy machine */
  g_test_add_func("/base/svd3/scalar", test_scalar);
  g_test_add_func("/base/svd3/lapack", test_against_lapack);
  g_test_add_func("/base/svd3/batch", test_batch);
  g_test_add_func("/base/svd3/batch-bits", test_batch_bits);
  g_test_add_func("/base/svd3/polar", test_polar);
  g_test_add_func("/base/svd3/eigen", test_eigen);
  return g_test_run();
}

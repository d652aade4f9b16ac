/* Orientation signs against exact integer arithmetic, far into the range where doubles round. */
#include "anatomy/mesh/predicates.h"

#include <glib.h>
#include <math.h>

typedef __int128 Wide;

static int
sign_of(Wide x)
{
  return (x > 0) - (x < 0);
}

/* coordinates are whole numbers below 2^40: determinants fit 128 bits, doubles hold the numbers */
static int
exact3(const double *p[4])
{
  Wide m[3][3];
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      m[r][c] = (Wide)p[r + 1][c] - (Wide)p[0][c];
  return sign_of(m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                 m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                 m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]));
}

static void
test_orient3d(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(11);
  int zeros = 0, rounded = 0;
  for (int trial = 0; trial < 200000; trial++) {
    double x[4][3];
    const double big = trial % 2 ? 1e12 : 1000.0;
    for (int p = 0; p < 3; p++)
      for (int d = 0; d < 3; d++)
        x[p][d] = floor(g_rand_double_range(rand, -big, big));
    /* the fourth near the plane of the others: a whole combination, moved by a unit or not */
    int a = g_rand_int_range(rand, -3, 4), b = g_rand_int_range(rand, -3, 4);
    for (int d = 0; d < 3; d++)
      x[3][d] = x[0][d] + a * (x[1][d] - x[0][d]) + b * (x[2][d] - x[0][d]);
    x[3][trial % 3] += g_rand_int_range(rand, -1, 2);
    const double *p[4] = { x[0], x[1], x[2], x[3] };
    int expected = exact3(p);
    zeros += expected == 0;
    double u[3], v[3], w[3];
    for (int d = 0; d < 3; d++) {
      u[d] = x[1][d] - x[0][d];
      v[d] = x[2][d] - x[0][d];
      w[d] = x[3][d] - x[0][d];
    }
    double plain = u[0] * (v[1] * w[2] - v[2] * w[1]) - u[1] * (v[0] * w[2] - v[2] * w[0]) +
                   u[2] * (v[0] * w[1] - v[1] * w[0]);
    rounded += (plain > 0.0) - (plain < 0.0) != expected;
    g_assert_cmpint(pla_orient3d(p[0], p[1], p[2], p[3]), ==, expected);
    /* every even permutation agrees, every odd one is opposite */
    g_assert_cmpint(pla_orient3d(p[1], p[2], p[0], p[3]), ==, expected);
    g_assert_cmpint(pla_orient3d(p[1], p[0], p[2], p[3]), ==, -expected);
    g_assert_cmpint(pla_orient3d(p[3], p[0], p[1], p[2]), ==, -expected);
  }
  g_test_message("%d coplanar, %d that plain doubles get wrong", zeros, rounded);
  g_assert_cmpint(zeros, >, 10000);
  g_assert_cmpint(rounded, >, 1000);
}

static void
test_orient2d(void)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(12);
  int zeros = 0;
  for (int trial = 0; trial < 200000; trial++) {
    double x[3][2];
    for (int p = 0; p < 2; p++)
      for (int d = 0; d < 2; d++)
        x[p][d] = floor(g_rand_double_range(rand, -1e14, 1e14));
    int a = g_rand_int_range(rand, -3, 4);
    for (int d = 0; d < 2; d++)
      x[2][d] = x[0][d] + a * (x[1][d] - x[0][d]);
    x[2][trial % 2] += g_rand_int_range(rand, -1, 2);
    Wide det = ((Wide)x[0][0] - (Wide)x[2][0]) * ((Wide)x[1][1] - (Wide)x[2][1]) -
               ((Wide)x[0][1] - (Wide)x[2][1]) * ((Wide)x[1][0] - (Wide)x[2][0]);
    zeros += det == 0;
    g_assert_cmpint(pla_orient2d(x[0], x[1], x[2]), ==, sign_of(det));
    g_assert_cmpint(pla_orient2d(x[1], x[0], x[2]), ==, -sign_of(det));
  }
  g_assert_cmpint(zeros, >, 10000);
}

/* differences that are not exact: tiny offsets on large coordinates */
static void
test_inexact_differences(void)
{
  const double a[3] = { 0.1, 0.2, 0.3 }, b[3] = { 1e6 + 0.1, 0.7, 1e-9 },
               c[3] = { 3e-7, 1e5, 0.25 };
  double d[3] = { a[0], a[1], a[2] };
  g_assert_cmpint(pla_orient3d(a, b, c, d), ==, 0);
  for (int k = 0; k < 3; k++) {
    double up[3] = { a[0], a[1], a[2] }, down[3] = { a[0], a[1], a[2] };
    up[k] = nextafter(up[k], INFINITY);
    down[k] = nextafter(down[k], -INFINITY);
    int s = pla_orient3d(a, b, c, up);
    g_assert_cmpint(s, !=, 0);
    g_assert_cmpint(pla_orient3d(a, b, c, down), ==, -s);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/predicates/orient3d", test_orient3d);
  g_test_add_func("/predicates/orient2d", test_orient2d);
  g_test_add_func("/predicates/inexact-differences", test_inexact_differences);
  return g_test_run();
}

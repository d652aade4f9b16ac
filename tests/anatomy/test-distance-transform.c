/* The distance transform against a search over all pairs, on straight, uneven and sheared grids. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/volume/distance-transform.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* columns i, j, k and offset; all invertible */
static const double affines[][12] = {
  { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 },
  { -0.33203125, 0, 0, -84.8, 0, 0.33203125, 0, -198.8, 0, 0, 0.69999999, -318.4 },
  { 0, 0, 3.0, 5, 0.5, 0, 0, 1, 0, -0.8, 0, 2 },
  /* oblique, orthogonal: a rotation about (1, 1, 1) with spacing 1, 2, 0.7 */
  { 2.0 / 3, -2.0 / 3, 1.4 / 3, 0, 2.0 / 3, 4.0 / 3, -0.7 / 3, 0, -1.0 / 3, 4.0 / 3, 1.4 / 3, 0 },
  /* a tilted gantry, steeper than one row per slice */
  { 0.5, 0, 0, 0, 0, 0.5, 2.9, 0, 0, 0, 5.0, 0 },
  /* the other pairs skew, one of them mirrored and turned */
  { 0.5, 0, -1.7, 0, 0, 0.8, 0, 0, 0, 0, 1.5, 0 },
  { 0, 0, 2.0, 0, -0.9, 0.4, 0, 0, 0, 1.1, 0, 0 },
  /* all axes skew */
  { 1.0, 0.4, -0.3, 0, 0.1, 0.9, 0.5, 0, -0.2, 0.3, 1.4, 0 },
  /* so skew that the nearest neighbours are several index steps away */
  { 1.0, 2.7, -1.9, 0, 0.1, 0.9, 1.3, 0, 0.0, 0.2, 1.1, 0 },
};

static void
random_mask(GRand *rand, uint8_t *mask, size_t n, double density)
{
  for (size_t v = 0; v < n; v++)
    mask[v] = g_rand_double(rand) < density ? (uint8_t)g_rand_int_range(rand, 1, 256) : 0;
}

static double
brute_force(const int dims[3], const double a[12], const uint8_t *mask, bool inside, int i, int j,
            int k)
{
  double best = INFINITY;
  size_t v = 0;
  for (int z = 0; z < dims[2]; z++)
    for (int y = 0; y < dims[1]; y++)
      for (int x = 0; x < dims[0]; x++, v++) {
        if ((mask[v] != 0) != inside)
          continue;
        double d2 = 0.0;
        for (int r = 0; r < 3; r++) {
          double mm = a[4 * r] * (x - i) + a[4 * r + 1] * (y - j) + a[4 * r + 2] * (z - k);
          d2 += mm * mm;
        }
        best = fmin(best, d2);
      }
  return best;
}

static void
test_brute_force(void)
{
  GRand *rand = g_rand_new_with_seed(7);
  const int shapes[][3] = { { 13, 9, 7 }, { 1, 20, 13 }, { 33, 1, 1 }, { 8, 6, 11 }, { 1, 1, 1 } };
  const double densities[] = { 0.0, 0.002, 0.05, 0.5, 0.97, 1.0 };
  for (size_t a = 0; a < G_N_ELEMENTS(affines); a++)
    for (size_t s = 0; s < G_N_ELEMENTS(shapes); s++)
      for (size_t c = 0; c < G_N_ELEMENTS(densities); c++) {
        const int *dims = shapes[s];
        const size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
        uint8_t *mask = pla_array_new(n, 1);
        float *dist2 = pla_array_new(n, sizeof *dist2), *near2 = pla_array_new(n, sizeof *near2);
        const bool inside = (s + c) % 2;
        const double limit = 2.0;
        PlaError err = { 0 };
        random_mask(rand, mask, n, densities[c]);
        g_assert_cmpint(pla_distance_transform(dims, affines[a], mask, inside, INFINITY, NULL,
                                               dist2, &err),
                        ==, PLA_OK);
        g_assert_cmpint(pla_distance_transform(dims, affines[a], mask, inside, limit, NULL, near2,
                                               &err),
                        ==, PLA_OK);
        size_t v = 0;
        for (int k = 0; k < dims[2]; k++)
          for (int j = 0; j < dims[1]; j++)
            for (int i = 0; i < dims[0]; i++, v++) {
              double exact = brute_force(dims, affines[a], mask, inside, i, j, k);
              if (exact == INFINITY) {
                g_assert_true(dist2[v] == INFINITY);
                continue;
              }
              g_assert_cmpfloat_with_epsilon(dist2[v], exact, 2e-6 * exact + 1e-12);
              /* a limit changes nothing within it and leaves nothing beyond it */
              if (exact <= limit * limit)
                g_assert_true(near2[v] == dist2[v]);
              else if (exact > limit * limit * (1.0 + 1e-5))
                g_assert_true(near2[v] == INFINITY);
            }
        free(mask);
        free(dist2);
        free(near2);
      }
  g_rand_free(rand);
}

/* solid bodies, whose inner voxels are never the nearest: a bent sheet and a ball */
static void
test_solids(void)
{
  const int dims[3] = { 19, 17, 15 };
  enum { N = 19 * 17 * 15 };
  for (size_t a = 0; a < G_N_ELEMENTS(affines); a++)
    for (int inside = 0; inside < 2; inside++) {
      uint8_t mask[N];
      float dist2[N];
      PlaError err = { 0 };
      size_t v = 0;
      for (int k = 0; k < dims[2]; k++)
        for (int j = 0; j < dims[1]; j++)
          for (int i = 0; i < dims[0]; i++, v++) {
            const int x = i - 11, y = j - 6, z = k - 7;
            mask[v] = x * x + y * y + z * z < 27 || abs(i + j / 3 - 6) < 3;
          }
      g_assert_cmpint(pla_distance_transform(dims, affines[a], mask, inside, INFINITY, NULL, dist2,
                                             &err),
                      ==, PLA_OK);
      for (v = 0; v < N; v += 11) {
        const int i = (int)v % dims[0], j = (int)v / dims[0] % dims[1],
                  k = (int)v / (dims[0] * dims[1]);
        double exact = brute_force(dims, affines[a], mask, inside, i, j, k);
        g_assert_cmpfloat_with_epsilon(dist2[v], exact, 2e-6 * exact + 1e-12);
      }
    }
}

static void
test_kinds(void)
{
  const int dims[3] = { 512, 512, 600 };
  const bool expected[] = { true, true, true, true, false, false, false, false, false };
  for (size_t a = 0; a < G_N_ELEMENTS(affines); a++)
    g_assert_cmpint(pla_distance_is_orthogonal(dims, affines[a]), ==, expected[a]);
}

/* the same bits for one and four threads */
static void
test_threads(void)
{
  GRand *rand = g_rand_new_with_seed(11);
  const int dims[3] = { 40, 37, 29 };
  const size_t n = 40 * 37 * 29;
  uint8_t *mask = pla_array_new(n, 1);
  float *one = pla_array_new(n, sizeof *one), *four = pla_array_new(n, sizeof *four);
  const int before = pla_threads_get();
  random_mask(rand, mask, n, 0.01);
  for (size_t a = 0; a < G_N_ELEMENTS(affines); a++) {
    PlaError err = { 0 };
    pla_threads_set(1);
    g_assert_cmpint(pla_distance_transform(dims, affines[a], mask, true, INFINITY, NULL, one, &err),
                    ==, PLA_OK);
    pla_threads_set(4);
    g_assert_cmpint(pla_distance_transform(dims, affines[a], mask, true, INFINITY, NULL, four,
                                           &err),
                    ==, PLA_OK);
    g_assert_cmpmem(one, n * sizeof *one, four, n * sizeof *four);
  }
  pla_threads_set(before);
  free(mask);
  free(one);
  free(four);
  g_rand_free(rand);
}

static void
test_refusals(void)
{
  const int dims[3] = { 2, 2, 2 };
  const double flat[12] = { 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0 };
  const uint8_t mask[8] = { 1 };
  float dist2[8];
  PlaError err = { 0 };
  g_assert_cmpint(pla_distance_transform(dims, flat, mask, true, INFINITY, NULL, dist2, &err), ==,
                  PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "plane"));
  g_assert_cmpint(pla_distance_transform(dims, affines[0], mask, true, NAN, NULL, dist2, &err), ==,
                  PLA_ERR_USAGE);
  PlaProgress progress;
  pla_progress_init(&progress, NULL, NULL);
  pla_progress_cancel(&progress);
  g_assert_cmpint(pla_distance_transform(dims, affines[0], mask, true, INFINITY, &progress, dist2,
                                         &err),
                  ==, PLA_ERR_CANCELLED);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/distance-transform/brute-force", test_brute_force);
  g_test_add_func("/distance-transform/solids", test_solids);
  g_test_add_func("/distance-transform/kinds", test_kinds);
  g_test_add_func("/distance-transform/threads", test_threads);
  g_test_add_func("/distance-transform/refusals", test_refusals);
  return g_test_run();
}

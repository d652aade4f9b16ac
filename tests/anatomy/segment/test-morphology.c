/* Morphology of balls, against their analytic volumes and set identities. */
#include "anatomy/base/memory.h"
#include "anatomy/segment/components.h"
#include "anatomy/segment/morphology.h"
#include "anatomy/volume/volume.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* uneven, and sheared by 20 degrees */
static const double affines[2][12] = {
  { 0.8, 0, 0, -24, 0, 1.0, 0, -24, 0, 0, 1.5, -24 },
  { 0.8, 0, 0, -24, 0, 1.0, 0.546, -32.7, 0, 0, 1.5, -24 },
};
static const int dims[3] = { 60, 49, 33 };

static size_t
n_voxels(void)
{
  return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
}

/* voxels whose centre lies in the ball around the origin */
static void
ball(const double a[12], double radius_mm, uint8_t *mask)
{
  size_t v = 0;
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++, v++) {
        const double ijk[3] = { i, j, k };
        double p[3];
        pla_affine_apply(a, ijk, p);
        mask[v] = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] <= radius_mm * radius_mm;
      }
}

/* |a - b| is confined to a shell half a voxel diagonal thick on either side of radius_mm */
static void
assert_ball(const double a[12], const uint8_t *mask, double radius_mm, double slack_mm)
{
  size_t v = 0;
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++, v++) {
        const double ijk[3] = { i, j, k };
        double p[3];
        pla_affine_apply(a, ijk, p);
        double r = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
        if (r <= radius_mm - slack_mm)
          g_assert_cmpint(mask[v], ==, 1);
        if (r > radius_mm + slack_mm)
          g_assert_cmpint(mask[v], ==, 0);
      }
}

static void
test_ball(void)
{
  const double radius = 11.0, by = 4.0;
  uint8_t *mask = pla_array_new(n_voxels(), 1);
  for (int a = 0; a < 2; a++) {
    const double *affine = affines[a];
    const double voxel = 0.8 * 1.0 * 1.5, slack = a ? 1.15 : 0.99; /* half the cell's diagonal */
    const struct {
      PlaMorph what;
      double radius;
    } expected[] = { { PLA_MORPH_DILATE, radius + by },
                     { PLA_MORPH_ERODE, radius - by },
                     { PLA_MORPH_OPEN, radius },
                     { PLA_MORPH_CLOSE, radius } };
    for (size_t e = 0; e < G_N_ELEMENTS(expected); e++) {
      PlaError err = { 0 };
      const double r = expected[e].radius;
      ball(affine, radius, mask);
      g_assert_cmpint(pla_mask_morph(dims, affine, mask, expected[e].what, by, NULL, &err), ==,
                      PLA_OK);
      assert_ball(affine, mask, r, slack);
      double volume = voxel * (double)pla_mask_count(dims, mask);
      double least = 4.0 / 3.0 * G_PI * pow(r - slack, 3.0);
      double most = 4.0 / 3.0 * G_PI * pow(r + slack, 3.0);
      g_assert_true(volume > least && volume < most);
    }
  }
  free(mask);
}

/* erosion is the dilation of the complement; opening shrinks, closing grows, both are idempotent */
static void
test_identities(void)
{
  GRand *rand = g_rand_new_with_seed(23);
  const size_t n = n_voxels();
  uint8_t *mask = pla_array_new(n, 1), *once = pla_array_new(n, 1), *twice = pla_array_new(n, 1);
  PlaError err = { 0 };
  for (int a = 0; a < 2; a++) {
    for (size_t v = 0; v < n; v++)
      mask[v] = g_rand_double(rand) < 0.004;
    pla_mask_morph(dims, affines[a], mask, PLA_MORPH_DILATE, 3.0, NULL, &err);
    for (size_t v = 0; v < n; v++) {
      once[v] = mask[v];
      twice[v] = !mask[v];
    }
    pla_mask_morph(dims, affines[a], once, PLA_MORPH_ERODE, 2.0, NULL, &err);
    pla_mask_morph(dims, affines[a], twice, PLA_MORPH_DILATE, 2.0, NULL, &err);
    for (size_t v = 0; v < n; v++)
      g_assert_cmpint(once[v], ==, !twice[v]);
    for (PlaMorph what = PLA_MORPH_OPEN; what <= PLA_MORPH_CLOSE; what++) {
      memcpy(once, mask, n);
      pla_mask_morph(dims, affines[a], once, what, 2.0, NULL, &err);
      memcpy(twice, once, n);
      pla_mask_morph(dims, affines[a], twice, what, 2.0, NULL, &err);
      g_assert_cmpmem(once, n, twice, n);
      for (size_t v = 0; v < n; v++)
        g_assert_true(what == PLA_MORPH_OPEN ? once[v] <= mask[v] : once[v] >= mask[v]);
    }
  }
  free(mask);
  free(once);
  free(twice);
  g_rand_free(rand);
}

/* a body that runs out of the volume keeps its cut face; one near the border does not stick to it
 */
static void
test_border(void)
{
  const int box[3] = { 30, 30, 30 };
  const double unit[12] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 };
  const size_t n = 27000;
  uint8_t *mask = pla_array_new0(n, 1), *was = pla_array_new0(n, 1);
  PlaError err = { 0 };
  for (size_t v = 0; v < n; v++) {
    size_t i = v % 30, j = v / 30 % 30, k = v / 900;
    was[v] = i >= 5 && i < 25 && j >= 5 && j < 25 && k < 28;
    mask[v] = was[v];
  }
  g_assert_cmpint(pla_mask_morph(box, unit, mask, PLA_MORPH_ERODE, 2.0, NULL, &err), ==, PLA_OK);
  g_assert_cmpuint(pla_mask_count(box, mask), ==, 16 * 16 * 26);
  memcpy(mask, was, n);
  g_assert_cmpint(pla_mask_morph(box, unit, mask, PLA_MORPH_CLOSE, 4.0, NULL, &err), ==, PLA_OK);
  g_assert_cmpmem(mask, n, was, n);

  /* a cavity that narrows to a slit and one that runs out of the cut face are sealed */
  for (size_t v = 0; v < n; v++) {
    size_t i = v % 30, j = v / 30 % 30, k = v / 900;
    bool room = i >= 12 && i < 18 && j >= 12 && j < 18 && k >= 10 && k < 20;
    bool slit = i >= 14 && i < 16 && j >= 12 && j < 18 && k >= 20;
    bool shaft = i >= 8 && i < 11 && j >= 8 && j < 11 && k < 12;
    mask[v] = was[v] && !room && !slit && !shaft;
  }
  g_assert_cmpint(pla_mask_seal(box, unit, mask, 2.0, PLA_FACE_K0, NULL, &err), ==, PLA_OK);
  for (size_t v = 0; v < n; v++)
    g_assert_true(mask[v] <= was[v]);
  g_assert_cmpuint(pla_mask_count(box, mask), >=, 20 * 20 * 28 - 12);
  g_assert_cmpint(pla_mask_morph(box, unit, mask, PLA_MORPH_OPEN, -1.0, NULL, &err), ==,
                  PLA_ERR_USAGE);
  free(mask);
  free(was);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/morphology/ball", test_ball);
  g_test_add_func("/morphology/identities", test_identities);
  g_test_add_func("/morphology/border", test_border);
  return g_test_run();
}

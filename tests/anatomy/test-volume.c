/* Volumes and label maps: ranges, narrowing and counts against plain loops, for any number of
 * threads; frames. */
#include "anatomy/base/parallel.h"
#include "anatomy/volume/volume.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaVolume *
new_volume(int x, int y, int z, PlaDType dtype)
{
  PlaVolume *vol;
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new((int[]){ x, y, z, 1 }, dtype, &vol, &err), ==, PLA_OK);
  return vol;
}

/* xorshift: repeatable on every machine */
static uint32_t
next_random(uint32_t *state)
{
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

/* every type, with a size that is no multiple of anything, against one plain loop */
static void
test_range(void)
{
  int threads = pla_threads_get();
  for (int t = 0; t < PLA_N_DTYPES; t++) {
    PlaVolume *vol = new_volume(61, 47, 37, (PlaDType)t);
    size_t n = pla_volume_n_voxels(vol);
    uint32_t state = 99;
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++) {
      pla_dtype_set(vol->dtype, vol->voxels, i, (double)next_random(&state) / 65536.0 - 20000.0);
      if (!pla_dtype_is_integer(vol->dtype) && i % 5 == 0)
        pla_dtype_set(vol->dtype, vol->voxels, i, NAN);
      double v = pla_dtype_get(vol->dtype, vol->voxels, i);
      least = isnan(v) ? least : fmin(least, v);
      most = isnan(v) ? most : fmax(most, v);
    }
    for (int k = 1; k <= 4; k += 3) {
      double lo, hi;
      pla_threads_set(k);
      vol->slope = -2.0; /* turns the range round */
      vol->inter = 3.0;
      pla_volume_range(vol, &lo, &hi);
      g_assert_cmpfloat(lo, ==, -2.0 * most + 3.0);
      g_assert_cmpfloat(hi, ==, -2.0 * least + 3.0);
    }
    pla_volume_free(vol);
  }
  pla_threads_set(threads);

  /* nothing but NaN has no range */
  PlaVolume *vol = new_volume(3, 1, 1, PLA_F32);
  double lo, hi;
  for (size_t i = 0; i < 3; i++)
    pla_dtype_set(PLA_F32, vol->voxels, i, NAN);
  pla_volume_range(vol, &lo, &hi);
  g_assert_cmpfloat(lo, ==, 0.0);
  g_assert_cmpfloat(hi, ==, 0.0);
  pla_volume_free(vol);
}

/* blocks of doubles are what single elements are */
static void
test_to_double(void)
{
  for (int t = 0; t < PLA_N_DTYPES; t++) {
    PlaVolume *vol = new_volume(100, 1, 1, (PlaDType)t);
    uint32_t state = 5;
    for (size_t i = 0; i < 100; i++)
      pla_dtype_set(vol->dtype, vol->voxels, i, (double)next_random(&state) - 2e9);
    double out[90];
    pla_dtype_to_double(vol->dtype, vol->voxels, 7, 90, out);
    for (size_t i = 0; i < 90; i++)
      g_assert_cmpfloat(out[i], ==, pla_dtype_get(vol->dtype, vol->voxels, 7 + i));
    pla_volume_free(vol);
  }
}

/* labels of every type become bytes or words, and are counted, alike for any number of threads */
static void
test_label_map(void)
{
  int threads = pla_threads_get();
  for (int t = 0; t < PLA_N_DTYPES; t++)
    for (int wide = 0; wide < 2; wide++)
      for (int k = 1; k <= 4; k += 3) {
        /* one thread for every other type: all must meet the same expectation */
        if ((wide && pla_dtype_size((PlaDType)t) == 1) || (k == 1) != (t % 2 == wide))
          continue;
        pla_threads_set(k);
        PlaVolume *vol = new_volume(131, 97, 89, (PlaDType)t);
        size_t n = pla_volume_n_voxels(vol);
        uint32_t state = 17;
        size_t *expected = g_new0(size_t, 65536), *counts = g_new(size_t, 65536);
        int *values = g_new(int, n);
        for (size_t i = 0; i < n; i++) {
          values[i] = (int)(next_random(&state) % 4 * (wide ? 4000 : 30) + 1);
          expected[values[i]]++;
          pla_dtype_set(vol->dtype, vol->voxels, i, values[i] - 1);
        }
        vol->inter = 1.0; /* the value, not what is stored, is the label */
        PlaLabelTable names = { 0 };
        PlaLabelMap *map;
        PlaError err = { 0 };
        g_assert_cmpint(pla_label_table_set(&names, 1, "one", NULL, &err), ==, PLA_OK);
        g_assert_cmpint(pla_label_map_take(vol, &names, &map, &err), ==, PLA_OK);
        pla_label_table_clear(&names);
        g_assert_cmpint(map->volume->dtype, ==, wide ? PLA_U16 : PLA_U8);
        for (size_t i = 0; i < n; i++)
          if (pla_label_map_get(map, i) != values[i])
            g_error("voxel %zu is %d instead of %d", i, pla_label_map_get(map, i), values[i]);
        pla_label_map_count(map, counts);
        g_assert_cmpint(memcmp(counts, expected, 65536 * sizeof *counts), ==, 0);
        g_assert_cmpint(map->table.n, ==, 4);
        g_assert_cmpstr(map->table.label[0].name, ==, "one");
        g_assert_cmpstr(map->table.label[1].name, ==, wide ? "label 4001" : "label 31");
        pla_label_map_free(map);
        g_free(expected);
        g_free(counts);
        g_free(values);
      }
  pla_threads_set(threads);
}

/* of several values that are no labels, the first is named, whichever thread finds it */
static void
test_no_labels(void)
{
  static const double bad[] = { 0.5, -1.0, 65536.0, NAN, INFINITY };
  for (size_t b = 0; b < G_N_ELEMENTS(bad); b++) {
    PlaVolume *vol = new_volume(100, 100, 20, PLA_F32);
    PlaLabelMap *map;
    PlaError err = { 0 };
    pla_dtype_set(PLA_F32, vol->voxels, 3 + 100 * (4 + 100 * 5), bad[b]);
    pla_dtype_set(PLA_F32, vol->voxels, 100 * 100 * 20 - 1, bad[b]);
    g_assert_cmpint(pla_label_map_take(vol, NULL, &map, &err), ==, PLA_ERR_UNSUPPORTED);
    g_assert_null(map);
    g_assert_nonnull(strstr(err.message, "voxel (3, 4, 5)"));
    pla_volume_free(vol);
  }
}

/* index to place and back, through a sheared left-handed frame; a flat one is refused */
static void
test_frame(void)
{
  PlaVolume *vol = new_volume(4, 5, 6, PLA_U8);
  const double sheared[12] = { -0.5, 0.1, 0, 7, 0, 0.8, -1.1, -9, 0.01, 0, 3, 100 };
  const double ijk[3] = { 1.5, 3.25, 4.75 };
  double ras[3], back[3];
  PlaError err = { 0 };
  memcpy(vol->affine_mm, sheared, sizeof sheared);
  pla_volume_to_ras_mm(vol, ijk, ras);
  g_assert_cmpfloat_with_epsilon(ras[0], -0.5 * 1.5 + 0.1 * 3.25 + 7.0, 1e-12);
  g_assert_cmpint(pla_volume_to_index(vol, ras, back, &err), ==, PLA_OK);
  for (int c = 0; c < 3; c++)
    g_assert_cmpfloat_with_epsilon(back[c], ijk[c], 1e-12);
  char letters[4];
  pla_volume_orientation(vol, letters);
  g_assert_cmpstr(letters, ==, "LAS");

  /* the cosines of the three pairs of axes, the largest of which counts */
  pla_volume_audit_frame(vol);
  double c2 = sqrt(1.1 * 1.1 + 9.0), c1 = sqrt(0.01 + 0.64);
  g_assert_cmpfloat_with_epsilon(vol->audit.nonorthogonality, 0.8 * 1.1 / (c1 * c2), 1e-12);

  vol->affine_mm[10] = vol->affine_mm[6] = 0.0;
  g_assert_cmpint(pla_volume_to_index(vol, ras, back, &err), ==, PLA_ERR_GEOMETRY);
  pla_volume_free(vol);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/anatomy/volume/range", test_range);
  g_test_add_func("/anatomy/volume/to-double", test_to_double);
  g_test_add_func("/anatomy/volume/label-map", test_label_map);
  g_test_add_func("/anatomy/volume/no-labels", test_no_labels);
  g_test_add_func("/anatomy/volume/frame", test_frame);
  return g_test_run();
}

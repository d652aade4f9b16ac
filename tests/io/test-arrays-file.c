/* Named arrays: there and back, cut, mutated, and hostile with a checksum that is right. */
#include "io/store/arrays-file.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <string.h>
#include <xxhash.h>

static void
write_sample(const char *path)
{
  static const float weight[6] = { 1, 2, 3, 4, 5, 6.5f };
  static const int8_t small[5] = { -1, 2, -3, 4, 127 };
  const PlaFileArray array[] = {
    { "weight", PLA_F32, 2, { 2, 3 }, weight },
    { "small", PLA_I8, 1, { 5 }, small },
    { "nothing", PLA_F64, 1, { 0 }, weight },
  };
  PlaError err;
  g_assert_cmpint(pla_arrays_write(path, "sample", array, 3, &err), ==, PLA_OK);
}

static void
test_round_trip(void)
{
  g_autofree char *path = pla_test_path("a.net");
  PlaArrays arrays;
  PlaError err;
  const void *data;
  write_sample(path);
  g_assert_cmpint(pla_arrays_read(path, "sample", &arrays, &err), ==, PLA_OK);
  g_assert_cmpint(arrays.n, ==, 3);
  g_assert_cmpint(pla_arrays_get(&arrays, "weight", PLA_F32, 6, &data, &err), ==, PLA_OK);
  g_assert_cmpfloat((double)((const float *)data)[5], ==, 6.5);
  g_assert_cmpint(pla_arrays_get(&arrays, "small", PLA_I8, 5, &data, &err), ==, PLA_OK);
  g_assert_cmpint(((const int8_t *)data)[4], ==, 127);
  g_assert_cmpint(pla_arrays_get(&arrays, "small", PLA_I8, 6, &data, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "small"));
  g_assert_cmpint(pla_arrays_get(&arrays, "bias", PLA_I8, 6, &data, &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpuint(pla_arrays_find(&arrays, "weight")->dim[1], ==, 3);
  pla_arrays_clear(&arrays);
  g_assert_cmpint(pla_arrays_read(path, "other", &arrays, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "sample"));
}

/* neither a cut nor a changed byte goes unnoticed; with the checksum made right, bounds still hold
 */
static void
test_hostile(void)
{
  g_autofree char *path = pla_test_path("b.net");
  g_autofree char *bytes = NULL;
  gsize size;
  PlaArrays arrays;
  PlaError err;
  write_sample(path);
  g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
  for (gsize n = 0; n < size; n++)
    g_assert_cmpint(pla_arrays_read_memory("cut", bytes, n, "sample", &arrays, &err), !=, PLA_OK);
  uint64_t state = 5;
  const int trials = g_getenv("PLA_SMALL") ? 3000 : 20000;
  for (int k = 0; k < trials; k++) {
    g_autofree char *copy = g_memdup2(bytes, size);
    const int changes = 1 + (int)(pla_test_random(&state) % 3);
    for (int c = 0; c < changes; c++)
      copy[pla_test_random(&state) % (size - 8)] = (char)pla_test_random(&state);
    if (memcmp(copy, bytes, size) != 0)
      g_assert_cmpint(pla_arrays_read_memory("m", copy, size, "sample", &arrays, &err), !=, PLA_OK);
    const uint64_t sum = XXH64(copy, size - 8, 0);
    memcpy(copy + size - 8, &sum, 8);
    if (pla_arrays_read_memory("m", copy, size, "sample", &arrays, &err) != PLA_OK)
      continue;
    uint64_t total = 0;
    for (int i = 0; i < arrays.n; i++) {
      const size_t n = pla_file_array_count(&arrays.array[i]);
      for (size_t e = 0; e < n * pla_dtype_size(arrays.array[i].dtype); e++)
        total += ((const uint8_t *)arrays.array[i].data)[e];
    }
    g_assert_cmpuint(total, <, 1u << 20);
    pla_arrays_clear(&arrays);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/arrays-file/round-trip", test_round_trip);
  g_test_add_func("/arrays-file/hostile", test_hostile);
  return g_test_run();
}

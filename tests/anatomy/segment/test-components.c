/* Components against a plain flood fill, and what is built on them. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/segment/components.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static const PlaConnectivity kinds[] = { PLA_CONNECT_FACES, PLA_CONNECT_EDGES,
                                         PLA_CONNECT_CORNERS };

/* numbers from 1 in the order of first voxels; how many */
static uint32_t
flood_fill(const int dims[3], const uint8_t *mask, PlaConnectivity kind, uint32_t *number)
{
  const size_t ni = (size_t)dims[0], n = ni * (size_t)dims[1] * (size_t)dims[2];
  const int reach = kind == PLA_CONNECT_FACES ? 1 : kind == PLA_CONNECT_EDGES ? 2 : 3;
  size_t *stack = pla_array_new(n, sizeof *stack);
  uint32_t count = 0;
  memset(number, 0, n * sizeof *number);
  for (size_t start = 0; start < n; start++) {
    if (!mask[start] || number[start])
      continue;
    size_t top = 0;
    number[start] = ++count;
    stack[top++] = start;
    while (top) {
      const size_t v = stack[--top];
      const int at[3] = { (int)(v % ni), (int)(v / ni % (size_t)dims[1]),
                          (int)(v / ni / (size_t)dims[1]) };
      for (int c = 0; c < 27; c++) {
        const int step[3] = { c % 3 - 1, c / 3 % 3 - 1, c / 9 - 1 };
        int to[3], length = 0;
        bool within = true;
        for (int d = 0; d < 3; d++) {
          to[d] = at[d] + step[d];
          length += abs(step[d]);
          within = within && to[d] >= 0 && to[d] < dims[d];
        }
        if (!within || length == 0 || length > reach)
          continue;
        const size_t w = (size_t)to[0] + ni * ((size_t)to[1] + (size_t)dims[1] * (size_t)to[2]);
        if (mask[w] && !number[w]) {
          number[w] = count;
          stack[top++] = w;
        }
      }
    }
  }
  free(stack);
  return count;
}

static void
test_flood_fill(void)
{
  GRand *rand = g_rand_new_with_seed(3);
  for (int round = 0; round < 120; round++) {
    const int dims[3] = { g_rand_int_range(rand, 1, 20), g_rand_int_range(rand, 1, 16),
                          g_rand_int_range(rand, 1, 14) };
    const size_t n = (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
    const double density = g_rand_double(rand);
    const PlaConnectivity kind = kinds[round % 3];
    uint8_t *mask = pla_array_new(n, 1);
    uint32_t *found = pla_array_new(n, sizeof *found), *plain = pla_array_new(n, sizeof *plain);
    for (size_t v = 0; v < n; v++)
      mask[v] = g_rand_double(rand) < density ? (uint8_t)g_rand_int_range(rand, 1, 256) : 0;
    size_t count;
    PlaComponent *list;
    PlaError err = { 0 };
    g_assert_cmpint(pla_components_find(dims, mask, 0, true, kind, NULL, found, &count, &list,
                                        &err),
                    ==, PLA_OK);
    g_assert_cmpuint(count, ==, flood_fill(dims, mask, kind, plain));

    /* the same partition: each plain number always meets the same found one */
    uint32_t *partner = pla_array_new0(count + 1, sizeof *partner);
    size_t *size = pla_array_new0(count + 1, sizeof *size);
    for (size_t v = 0; v < n; v++) {
      g_assert_cmpint(found[v] == 0, ==, plain[v] == 0);
      g_assert_cmpuint(found[v], <=, count);
      if (!partner[plain[v]])
        partner[plain[v]] = found[v];
      g_assert_cmpuint(partner[plain[v]], ==, found[v]);
      size[found[v]]++;
      if (found[v]) {
        const PlaComponent *comp = &list[found[v] - 1];
        const int at[3] = { (int)(v % (size_t)dims[0]),
                            (int)(v / (size_t)dims[0] % (size_t)dims[1]),
                            (int)(v / (size_t)dims[0] / (size_t)dims[1]) };
        g_assert_cmpuint(comp->first, <=, v);
        for (int d = 0; d < 3; d++) {
          g_assert_true(comp->lo[d] <= at[d] && at[d] <= comp->hi[d]);
          if (dims[d] > 1 && at[d] == 0)
            g_assert_true(comp->faces & 1u << (2 * d));
          if (dims[d] > 1 && at[d] == dims[d] - 1)
            g_assert_true(comp->faces & 2u << (2 * d));
        }
      }
    }
    /* by falling size, then by position */
    for (size_t c = 1; c <= count; c++) {
      g_assert_cmpuint(size[c], ==, list[c - 1].n_voxels);
      g_assert_cmpuint(found[list[c - 1].first], ==, c);
      if (c > 1)
        g_assert_true(list[c - 2].n_voxels > list[c - 1].n_voxels ||
                      (list[c - 2].n_voxels == list[c - 1].n_voxels &&
                       list[c - 2].first < list[c - 1].first));
    }
    free(partner);
    free(size);
    free(list);
    free(mask);
    free(found);
    free(plain);
  }
  g_rand_free(rand);
}

static void
put(const int dims[3], uint8_t *mask, int i, int j, int k, uint8_t value)
{
  mask[(size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k)] = value;
}

/* a box with a cavity, and one whose cavity runs out of the lowest slice */
static void
test_holes(void)
{
  const int dims[3] = { 9, 9, 9 };
  uint8_t mask[729] = { 0 };
  size_t filled;
  PlaError err = { 0 };
  for (int k = 0; k < 7; k++)
    for (int j = 2; j < 7; j++)
      for (int i = 2; i < 7; i++)
        put(dims, mask, i, j, k, 1);
  put(dims, mask, 4, 4, 4, 0);
  put(dims, mask, 4, 4, 0, 0);
  put(dims, mask, 4, 4, 1, 0);
  g_assert_cmpint(pla_mask_fill_holes(dims, mask, PLA_CONNECT_CORNERS, 0, NULL, &filled, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(filled, ==, 1);
  g_assert_cmpint(pla_mask_fill_holes(dims, mask, PLA_CONNECT_CORNERS, PLA_FACE_K0, NULL, &filled,
                                      &err),
                  ==, PLA_OK);
  g_assert_cmpuint(filled, ==, 2);
  g_assert_cmpuint(pla_mask_count(dims, mask), ==, 7 * 25);

  /* a tunnel along k is a hole of its slices across k only */
  for (int k = 0; k < 7; k++)
    put(dims, mask, 4, 4, k, 0);
  g_assert_cmpint(pla_mask_fill_slices(dims, mask, 0, PLA_CONNECT_CORNERS, NULL, &filled, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(filled, ==, 0);
  g_assert_cmpint(pla_mask_fill_slices(dims, mask, 2, PLA_CONNECT_CORNERS, NULL, &filled, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(filled, ==, 7);

  /* a diagonal crack lets the background out of a face-connected mask only */
  memset(mask, 0, sizeof mask);
  for (int k = 2; k < 5; k++)
    for (int j = 2; j < 5; j++)
      for (int i = 2; i < 5; i++)
        put(dims, mask, i, j, k, 1);
  put(dims, mask, 3, 3, 3, 0);
  put(dims, mask, 2, 2, 2, 0);
  g_assert_cmpint(pla_mask_fill_holes(dims, mask, PLA_CONNECT_FACES, 0, NULL, &filled, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(filled, ==, 0);
  g_assert_cmpint(pla_mask_fill_holes(dims, mask, PLA_CONNECT_CORNERS, 0, NULL, &filled, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(filled, ==, 1);
}

static void
test_largest_and_small(void)
{
  const int dims[3] = { 12, 3, 1 };
  /* pieces of 3, 5 and 1 voxels, and a hole of 1 in the middle row */
  uint8_t mask[36] = { 9, 9, 9, 0, 0, 0, 0,      0, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 0, 0,
                       0, 0, 0, 0, 0, 4, /**/ 0, 2, 2, 2, 2, 2, 0,      0, 0, 0, 0, 0 };
  size_t kept;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mask_drop_small(dims, mask, PLA_CONNECT_FACES, false, 2, NULL, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(pla_mask_count(dims, mask), ==, 8);
  g_assert_cmpint(pla_mask_keep_largest(dims, mask, PLA_CONNECT_FACES, NULL, &kept, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(kept, ==, 5);
  g_assert_cmpuint(pla_mask_count(dims, mask), ==, 5);
  g_assert_cmpuint(mask[25], ==, 2);
  mask[27] = 0;
  g_assert_cmpint(pla_mask_drop_small(dims, mask, PLA_CONNECT_CORNERS, true, 2, NULL, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(mask[27], ==, 0); /* open to the rows beside it */
  memset(mask, 0, sizeof mask);
  g_assert_cmpint(pla_mask_keep_largest(dims, mask, PLA_CONNECT_FACES, NULL, &kept, &err), ==,
                  PLA_OK);
  g_assert_cmpuint(kept, ==, 0);
}

static void
test_threads(void)
{
  GRand *rand = g_rand_new_with_seed(5);
  const int dims[3] = { 50, 40, 30 };
  const size_t n = 50 * 40 * 30;
  uint8_t *mask = pla_array_new(n, 1);
  uint32_t *one = pla_array_new(n, sizeof *one), *four = pla_array_new(n, sizeof *four);
  size_t n_one, n_four;
  const int before = pla_threads_get();
  PlaError err = { 0 };
  for (size_t v = 0; v < n; v++)
    mask[v] = g_rand_double(rand) < 0.3;
  pla_threads_set(1);
  g_assert_cmpint(pla_components_find(dims, mask, 1, false, PLA_CONNECT_FACES, NULL, one, &n_one,
                                      NULL, &err),
                  ==, PLA_OK);
  pla_threads_set(4);
  g_assert_cmpint(pla_components_find(dims, mask, 1, false, PLA_CONNECT_FACES, NULL, four, &n_four,
                                      NULL, &err),
                  ==, PLA_OK);
  pla_threads_set(before);
  g_assert_cmpuint(n_one, ==, n_four);
  g_assert_cmpmem(one, n * sizeof *one, four, n * sizeof *four);
  free(mask);
  free(one);
  free(four);
  g_rand_free(rand);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/components/flood-fill", test_flood_fill);
  g_test_add_func("/components/holes", test_holes);
  g_test_add_func("/components/largest-and-small", test_largest_and_small);
  g_test_add_func("/components/threads", test_threads);
  return g_test_run();
}

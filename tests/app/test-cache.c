/* Kept results: there and back, for their own key only, never half or damaged, and not without
 * bound. */
#include "app/base/cache.h"
#include "app/base/json.h"
#include "app/motion/active-item.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>
#include <utime.h>

static char *
new_folder(void)
{
  char *dir = g_dir_make_tmp("platysma-cache-XXXXXX", NULL);
  g_assert_nonnull(dir);
  g_assert_true(g_setenv("PLATYSMA_CACHE", dir, TRUE));
  return dir;
}

/* the files in @dir; @path: one of them, g_free() */
static int
count_files(const char *dir, char **path)
{
  g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
  const char *name;
  int n = 0;
  while (entries && (name = g_dir_read_name(entries))) {
    if (path && n == 0)
      *path = g_build_filename(dir, name, NULL);
    n++;
  }
  return n;
}

static void
remove_folder(char *dir)
{
  g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
  const char *name;
  while (entries && (name = g_dir_read_name(entries))) {
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_unlink(path);
  }
  g_rmdir(dir);
  g_free(dir);
}

static const double numbers[6] = { 1, -2, 3, 0.1, 1e300, 6 };

static void
write_sample(const char *key)
{
  const PlaFileArray array[] = { pla_cache_array("numbers", PLA_F64, 3, 2, numbers),
                                 pla_cache_array("none", PLA_I32, 1, 0, numbers) };
  pla_cache_write("sample", key, array, 2);
}

static void
test_round_trip(void)
{
  char *dir = new_folder();
  PlaArrays arrays;
  const void *data;
  g_assert_false(pla_cache_read("sample", "a=1", &arrays));
  write_sample("a=1");
  g_assert_true(pla_cache_read("sample", "a=1", &arrays));
  g_assert_cmpint(pla_arrays_get(&arrays, "numbers", PLA_F64, 6, &data, NULL), ==, PLA_OK);
  g_assert_cmpmem(data, sizeof numbers, numbers, sizeof numbers);
  g_assert_cmpuint(pla_arrays_find(&arrays, "numbers")->dim[1], ==, 2);
  pla_arrays_clear(&arrays);
  g_assert_false(pla_cache_read("sample", "a=2", &arrays));
  g_assert_false(pla_cache_read("other", "a=1", &arrays));
  g_assert_cmpint(count_files(dir, NULL), ==, 1);

  /* under another's name it is still another's */
  g_autofree char *one = NULL;
  g_assert_cmpint(count_files(dir, &one), ==, 1);
  g_autofree char *bytes = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(one, &bytes, &size, NULL));
  g_assert_cmpint(g_unlink(one), ==, 0);
  write_sample("a=2");
  g_autofree char *two = NULL;
  g_assert_cmpint(count_files(dir, &two), ==, 1);
  g_assert_true(g_file_set_contents(two, bytes, (gssize)size, NULL));
  g_assert_false(pla_cache_read("sample", "a=2", &arrays));
  remove_folder(dir);
}

static void
test_damage(void)
{
  char *dir = new_folder();
  g_autofree char *path = NULL;
  g_autofree char *bytes = NULL;
  gsize size;
  PlaArrays arrays;
  write_sample("x");
  g_assert_cmpint(count_files(dir, &path), ==, 1);
  g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
  for (gsize n = 0; n < size; n += 7) {
    g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
    g_assert_false(pla_cache_read("sample", "x", &arrays));
    bytes[n] ^= 4;
    g_assert_true(g_file_set_contents(path, bytes, (gssize)size, NULL));
    g_assert_false(pla_cache_read("sample", "x", &arrays));
    bytes[n] ^= 4;
  }
  /* what is damaged is replaced */
  write_sample("x");
  g_assert_true(pla_cache_read("sample", "x", &arrays));
  pla_arrays_clear(&arrays);
  g_assert_cmpint(count_files(dir, NULL), ==, 1);
  remove_folder(dir);
}

/* nowhere to write, or not wanted: nothing is kept and nothing fails */
static void
test_absent(void)
{
  PlaArrays arrays;
  g_assert_true(g_setenv("PLATYSMA_CACHE", "none", TRUE));
  write_sample("x");
  g_assert_false(pla_cache_read("sample", "x", &arrays));
  g_assert_true(g_setenv("PLATYSMA_CACHE", "/proc/no/such", TRUE));
  write_sample("x");
  g_assert_false(pla_cache_read("sample", "x", &arrays));
}

/* sparse files stand for large ones; the oldest go, and what was just written stays */
static void
test_room(void)
{
  char *dir = new_folder();
  PlaArrays arrays;
  for (int i = 0; i < 3; i++) {
    g_autofree char *name = g_strdup_printf("old-%d.arrays", i);
    g_autofree char *path = g_build_filename(dir, name, NULL);
    FILE *file = fopen(path, "wb");
    g_assert_nonnull(file);
    g_assert_cmpint(ftruncate(fileno(file), 250 << 20), ==, 0);
    fclose(file);
    struct utimbuf time = { 1000 + i, 1000 + i };
    g_assert_cmpint(g_utime(path, &time), ==, 0);
  }
  write_sample("x");
  g_assert_cmpint(count_files(dir, NULL), ==, 3);
  g_autofree char *oldest = g_build_filename(dir, "old-0.arrays", NULL);
  g_assert_false(g_file_test(oldest, G_FILE_TEST_EXISTS));
  g_assert_true(pla_cache_read("sample", "x", &arrays));
  pla_arrays_clear(&arrays);
  remove_folder(dir);
}

static void
assert_same_body(const PlaActiveBody *a, const PlaActiveBody *b)
{
  const size_t nv = (size_t)a->mesh->n_verts, nt = (size_t)a->mesh->n_tets;
  g_assert_cmpint(a->mesh->n_verts, ==, b->mesh->n_verts);
  g_assert_cmpint(a->mesh->n_tets, ==, b->mesh->n_tets);
  g_assert_cmpmem(a->mesh->pos, 24 * nv, b->mesh->pos, 24 * nv);
  g_assert_cmpmem(a->mesh->tet, 16 * nt, b->mesh->tet, 16 * nt);
  g_assert_cmpmem(pla_active_hold(a->model), nv, pla_active_hold(b->model), nv);
  g_assert_cmpint(a->muscles.n_pairs, ==, b->muscles.n_pairs);
  const size_t n_pairs = (size_t)a->muscles.n_pairs;
  g_assert_cmpmem(a->muscles.share, 8 * n_pairs, b->muscles.share, 8 * n_pairs);
  g_assert_cmpmem(a->muscles.fibre, 24 * n_pairs, b->muscles.fibre, 24 * n_pairs);
  g_assert_cmpint(pla_active_n_controls(a->model), ==, pla_active_n_controls(b->model));
  for (int m = 0; m < pla_active_n_muscles(a->model); m++)
    g_assert_cmpstr(pla_active_muscle_name(a->model, m), ==, pla_active_muscle_name(b->model, m));
  g_assert_cmpint(a->markers.n, ==, b->markers.n);
  for (int i = 0; i < a->markers.n; i++) {
    g_assert_cmpstr(a->markers.site[i].name, ==, b->markers.site[i].name);
    g_assert_cmpmem(a->markers.site[i].vert, sizeof a->markers.site[i].vert,
                    b->markers.site[i].vert, sizeof b->markers.site[i].vert);
    g_assert_cmpmem(a->markers.site[i].weight, sizeof a->markers.site[i].weight,
                    b->markers.site[i].weight, sizeof b->markers.site[i].weight);
  }
  /* as items of a case they are the same to the byte */
  g_autoptr(PlaContent) mesh_a = NULL;
  g_autoptr(PlaContent) mesh_b = NULL;
  g_autoptr(PlaContent) set_a = NULL;
  g_autoptr(PlaContent) set_b = NULL;
  g_assert_cmpint(pla_active_body_to_contents(a, "m", &mesh_a, &set_a, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_active_body_to_contents(b, "m", &mesh_b, &set_b, NULL), ==, PLA_OK);
  g_autofree char *meta_a = pla_json_canonical(set_a->meta),
                  *meta_b = pla_json_canonical(set_b->meta);
  g_assert_cmpstr(meta_a, ==, meta_b);
  /* and they pull alike */
  g_autofree double *p = g_new(double, 3 * nv), *q = g_new(double, 3 * nv);
  for (int m = 0; m < pla_active_n_muscles(a->model); m++) {
    pla_active_muscle_force(a->model, m, a->mesh->pos, p);
    pla_active_muscle_force(b->model, m, b->mesh->pos, q);
    g_assert_cmpmem(p, 24 * nv, q, 24 * nv);
  }
}

static void
test_body(gconstpointer name)
{
  char *dir = new_folder();
  PlaActiveBodyOptions opts = { .cell_mm = strcmp(name, "face") == 0 ? 20.0 : 9.0 };
  PlaActiveBody *built = NULL, *kept = NULL, *soft = NULL;
  PlaError err;
  g_assert_cmpint(pla_active_body_from_phantom(name, &opts, NULL, &built, &err), ==, PLA_OK);
  g_assert_cmpint(count_files(dir, NULL), ==, 1);
  g_assert_cmpint(pla_active_body_from_phantom(name, &opts, NULL, &kept, &err), ==, PLA_OK);
  assert_same_body(built, kept);
  g_assert_cmpfloat(kept->young_pa, ==, built->young_pa);
  /* another stiffness is the same geometry */
  opts.young_pa = 5e3;
  g_assert_cmpint(pla_active_body_from_phantom(name, &opts, NULL, &soft, &err), ==, PLA_OK);
  g_assert_cmpint(count_files(dir, NULL), ==, 1);
  g_assert_cmpfloat(soft->young_pa, ==, 5e3);
  pla_active_body_free(built);
  pla_active_body_free(kept);
  pla_active_body_free(soft);
  remove_folder(dir);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/cache/round-trip", test_round_trip);
  g_test_add_func("/cache/damage", test_damage);
  g_test_add_func("/cache/absent", test_absent);
  g_test_add_func("/cache/room", test_room);
  g_test_add_data_func("/cache/tongue", "tongue", test_body);
  if (!g_getenv("PLA_SMALL"))
    g_test_add_data_func("/cache/face", "face", test_body);
  return g_test_run();
}

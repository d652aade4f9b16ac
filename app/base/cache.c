/* Built things kept between runs. */
#include "app/base/cache.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/parallel.h"
#include "io/store/store.h"
#include "io/stream/output.h"
#include "platysma-config.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

static const guint64 budget_bytes = 512u << 20;

/* the folder, or NULL where nothing is kept; g_free() */
static char *
folder(void)
{
  const char *wanted = g_getenv("PLATYSMA_CACHE");
  if (wanted && strcmp(wanted, "none") == 0)
    return NULL;
  return wanted && *wanted ? g_strdup(wanted)
                           : g_build_filename(g_get_user_cache_dir(), "platysma", NULL);
}

/* stands for the running program; NULL when it cannot be read */
static gpointer
identify(gpointer unused)
{
  PlaHash hash;
  uint64_t size;
  char text[33];
  PlaError err = { 0 };
  (void)unused;
  if (pla_hash_file("/proc/self/exe", NULL, &hash, &size, &err) != PLA_OK)
    return NULL;
  return g_strdup_printf(PLA_VERSION " %s %s", pla_hash_text(&hash, text), pla_kernels_text());
}

static char *
whole_key(const char *kind, const char *key)
{
  static GOnce once = G_ONCE_INIT;
  const char *program = g_once(&once, identify, NULL);
  return program ? g_strdup_printf("%s\n%s\n%s", kind, key, program) : NULL;
}

char *
pla_cache_hash(const void *data, size_t size)
{
  const PlaHash hash = pla_hash_bytes(data, size);
  char text[33];
  return g_strdup(pla_hash_text(&hash, text));
}

PlaFileArray
pla_cache_array(const char *name, PlaDType dtype, size_t width, size_t n, const void *data)
{
  PlaFileArray array = { .dtype = dtype, .n_dims = width == 1 ? 1 : 2, .data = data };
  g_strlcpy(array.name, name, sizeof array.name);
  array.dim[0] = width == 1 ? n : width;
  array.dim[1] = width == 1 ? 0 : n;
  return array;
}

static char *
path_of(const char *dir, const char *kind, const char *whole)
{
  g_autofree char *hash = pla_cache_hash(whole, strlen(whole));
  g_autofree char *name = g_strdup_printf("%s-%s.arrays", kind, hash);
  return g_build_filename(dir, name, NULL);
}

bool
pla_cache_read(const char *kind, const char *key, PlaArrays *out)
{
  g_autofree char *dir = folder();
  g_autofree char *whole = dir ? whole_key(kind, key) : NULL;
  *out = (PlaArrays){ 0 };
  if (!whole)
    return false;
  g_autofree char *path = path_of(dir, kind, whole);
  PlaError err = { 0 };
  if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      pla_arrays_read(path, kind, out, &err) != PLA_OK)
    return false;
  const PlaFileArray *stored = pla_arrays_find(out, "key");
  if (!stored || stored->dtype != PLA_U8 || pla_file_array_count(stored) != strlen(whole) ||
      memcmp(stored->data, whole, strlen(whole)) != 0) {
    pla_arrays_clear(out);
    return false;
  }
  /* used now: the last to go */
  g_utime(path, NULL);
  return true;
}

typedef struct {
  char *path;
  gint64 used;
  guint64 size;
} Kept;

static void
kept_clear(gpointer data)
{
  g_free(((Kept *)data)->path);
}

static int
by_use(gconstpointer a, gconstpointer b)
{
  const Kept *x = a, *y = b;
  return x->used != y->used ? (x->used > y->used) - (x->used < y->used) : strcmp(x->path, y->path);
}

/* removes the least recently used files, also what a killed program left half written */
static void
make_room(const char *dir)
{
  g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(Kept));
  g_array_set_clear_func(kept, kept_clear);
  guint64 total = 0;
  const char *name;
  while (entries && (name = g_dir_read_name(entries))) {
    GStatBuf info;
    Kept k = { .path = g_build_filename(dir, name, NULL) };
    if (!strstr(name, ".arrays") || g_lstat(k.path, &info) != 0 || !S_ISREG(info.st_mode)) {
      g_free(k.path);
      continue;
    }
    k.used = info.st_mtime;
    k.size = (guint64)info.st_size;
    total += k.size;
    g_array_append_val(kept, k);
  }
  g_array_sort(kept, by_use);
  for (guint i = 0; i + 1 < kept->len && total > budget_bytes; i++) {
    const Kept *k = &g_array_index(kept, Kept, i);
    if (g_unlink(k->path) == 0)
      total -= k->size;
  }
}

void
pla_cache_write(const char *kind, const char *key, const PlaFileArray *array, int n)
{
  g_autofree char *dir = folder();
  g_autofree char *whole = dir ? whole_key(kind, key) : NULL;
  if (!whole || g_mkdir_with_parents(dir, 0700) != 0)
    return;
  g_autofree char *path = path_of(dir, kind, whole);
  g_autofree PlaFileArray *all = g_new(PlaFileArray, (size_t)n + 1);
  PlaError err = { 0 };
  all[0] = pla_cache_array("key", PLA_U8, 1, strlen(whole), whole);
  memcpy(all + 1, array, (size_t)n * sizeof *all);
  PlaOutputSet *set = pla_output_set_pause(); /* kept whatever becomes of this run */
  if (pla_arrays_write(path, kind, all, n + 1, &err) == PLA_OK)
    make_room(dir);
  pla_output_set_resume(set);
}

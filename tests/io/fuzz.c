/* The damage that every reader must survive, and a malloc that counts. */
#include "tests/io/fuzz.h"

#include <dlfcn.h>
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNT_MALLOC 0
#endif
#endif
#ifndef COUNT_MALLOC
#define COUNT_MALLOC 1
#endif

static atomic_size_t bytes_now, bytes_peak;

#if COUNT_MALLOC
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* These take the place of libc's in the whole test program, libraries included. */
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **out, size_t alignment, size_t size);
void free(void *p);

static void *
counted(void *p)
{
  if (p) {
    size_t now = atomic_fetch_add(&bytes_now, malloc_usable_size(p)) + malloc_usable_size(p);
    size_t peak = atomic_load(&bytes_peak);
    while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now))
      ;
  }
  return p;
}

void *
malloc(size_t size)
{
  return counted(__libc_malloc(size));
}

void *
calloc(size_t n, size_t size)
{
  return counted(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t size)
{
  size_t before = p ? malloc_usable_size(p) : 0;
  void *grown = __libc_realloc(p, size);
  if (grown || size == 0)
    atomic_fetch_sub(&bytes_now, before);
  return counted(grown);
}

void *
memalign(size_t alignment, size_t size)
{
  return counted(__libc_memalign(alignment, size));
}

void *
aligned_alloc(size_t alignment, size_t size)
{
  return memalign(alignment, size);
}

int
posix_memalign(void **out, size_t alignment, size_t size)
{
  *out = memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

void
free(void *p)
{
  if (p)
    atomic_fetch_sub(&bytes_now, malloc_usable_size(p));
  __libc_free(p);
}
#endif

static size_t bytes_at_reset;

void
pla_peak_reset(void)
{
  bytes_at_reset = atomic_load(&bytes_now);
  atomic_store(&bytes_peak, bytes_at_reset);
}

size_t
pla_peak_get(void)
{
  size_t peak = atomic_load(&bytes_peak);
  return peak > bytes_at_reset ? peak - bytes_at_reset : 0;
}

uint64_t
pla_test_random(uint64_t *state)
{
  /* splitmix64 (Steele, Lea and Flood 2014) */
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static char *test_dir;

static void
remove_tree(const char *path)
{
  GDir *dir = g_dir_open(path, 0, NULL);
  if (dir) {
    const char *name;
    while ((name = g_dir_read_name(dir))) {
      g_autofree char *child = g_build_filename(path, name, NULL);
      remove_tree(child);
    }
    g_dir_close(dir);
  }
  g_remove(path);
}

static void
remove_test_dir(void)
{
  remove_tree(test_dir);
  g_free(test_dir);
}

const char *
pla_test_dir(void)
{
  if (!test_dir) {
    g_autoptr(GError) error = NULL;
    test_dir = g_dir_make_tmp("platysma-test-XXXXXX", &error);
    g_assert_no_error(error);
    atexit(remove_test_dir);
  }
  return test_dir;
}

char *
pla_test_path(const char *name)
{
  return g_build_filename(pla_test_dir(), name, NULL);
}

PlaItem
pla_test_item_read(const char *path, const PlaReadOptions *opts)
{
  PlaReadOptions usual = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  if (pla_item_read(path, opts ? opts : &usual, &item, &err) != PLA_OK)
    g_error("%s", err.message);
  return item;
}

static size_t
payload_size(const PlaItem *item)
{
  switch (item->kind) {
  case PLA_KIND_VOLUME:
    return pla_volume_n_bytes(item->volume);
  case PLA_KIND_MESH: {
    const PlaMesh *m = item->mesh;
    size_t n = (size_t)m->n_verts * 24 + (size_t)m->n_tris * 12 + (size_t)m->n_tets * 16 +
               (size_t)m->n_hexes * 32;
    for (int f = 0; f < m->n_fields; f++)
      n += pla_field_n_tuples(m, &m->field[f]) * (size_t)m->field[f].n_components *
           pla_dtype_size(m->field[f].dtype);
    return n;
  }
  case PLA_KIND_TAKE:
    return (size_t)item->take->n_frames * (size_t)item->take->n_markers * 28;
  case PLA_KIND_TRACK:
    return (size_t)item->track->n_samples * (size_t)item->track->n_channels * 8;
  case PLA_KIND_AUDIO:
    return (size_t)item->audio->n_frames * (size_t)item->audio->n_channels *
           pla_dtype_size(item->audio->dtype);
  case PLA_KIND_PHONES:
    return (size_t)item->phones.n * sizeof *item->phones.phone;
  default:
    return 0;
  }
}

static void
write_file(const char *path, const uint8_t *data, size_t size)
{
  FILE *file = fopen(path, "wb");
  g_assert_nonnull(file);
  g_assert_cmpuint(fwrite(data, 1, size, file), ==, size);
  g_assert_cmpint(fclose(file), ==, 0);
}

/* reads one damaged file and checks what the reader promises */
static void
read_one(const PlaFuzz *fuzz, const char *path, const uint8_t *data, size_t size, bool must_read,
         const char *what)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item = { 0 };
  PlaError err = { 0 };
  const size_t slack = 64u << 20;

  write_file(path, data, size);
  pla_peak_reset();
  PlaStatus st = fuzz->format->read(path, &opts, &item, &err);
  size_t peak = pla_peak_get();
  if (must_read && st != PLA_OK)
    g_error("%s: the intact file is refused: %s", fuzz->format->id, err.message);
  if (st == PLA_OK) {
    if ((double)peak > 2.2 * (double)payload_size(&item) + (double)slack)
      g_error("%s, %s: %zu bytes at the peak for a payload of %zu", fuzz->format->id, what, peak,
              payload_size(&item));
  } else {
    if (err.message[0] == '\0' || err.status != st)
      g_error("%s, %s: refused without a sentence", fuzz->format->id, what);
    if (peak > 4 * size + slack)
      g_error("%s, %s: %zu bytes at the peak to refuse a file of %zu (%s)", fuzz->format->id, what,
              peak, size, err.message);
  }
  pla_item_clear(&item);
}

void
pla_fuzz_run(const PlaFuzz *fuzz, const uint8_t *data, size_t size)
{
  const char *env = g_getenv("PLA_FUZZ_MUTATIONS");
  int n_mutations = env                 ? atoi(env) / MAX(fuzz->one_of, 1)
                    : fuzz->n_mutations ? fuzz->n_mutations
                                        : 400;
  size_t stride = fuzz->truncation_stride ? (size_t)fuzz->truncation_stride : size / 1009 + 1;
  size_t dense = fuzz->dense_bytes ? (size_t)fuzz->dense_bytes : 1024;
  if (env)
    stride = 1;
  g_autofree char *name = g_strconcat("fuzz", fuzz->extension, NULL);
  g_autofree char *path = pla_test_path(name);
  g_autofree uint8_t *damaged = g_malloc(size + 64);

  read_one(fuzz, path, data, size, true, "intact");

  /* cut short: every byte where it is dense with structure, then in strides */
  for (size_t n = 0; n < size; n += n < dense || stride == 1 ? 1 : stride) {
    g_autofree char *what = g_strdup_printf("cut to %zu bytes", n);
    read_one(fuzz, path, data, n, false, what);
  }

  /* a few bytes changed: random values, extremes, copies of other places, runs removed */
  static const uint64_t extremes[] = {
    0, 0xff, 0x7f, 0x80, 0x7fffffff, 0xffffffff, 0x80000000, 0x7fffffffffffffff, 0xffffffffffffffff
  };
  uint64_t state = 20260301;
  for (int m = 0; m < n_mutations; m++) {
    memcpy(damaged, data, size);
    size_t n = size;
    int changes = 1 + (int)(pla_test_random(&state) % 4);
    for (int c = 0; c < changes && n > 16; c++) {
      /* headers matter more than payload */
      size_t span = pla_test_random(&state) % 2 && n > 512 ? 512 : n;
      size_t at = pla_test_random(&state) % span;
      uint64_t r = pla_test_random(&state);
      switch (r % 6) {
      case 0:
        damaged[at] = (uint8_t)(r >> 8);
        break;
      case 1:
        damaged[at] ^= (uint8_t)(1u << (r >> 8) % 8);
        break;
      case 2: {
        uint64_t value = extremes[(r >> 8) % G_N_ELEMENTS(extremes)];
        size_t width = (size_t)1 << (r >> 16) % 4;
        if (at + width <= n)
          memcpy(damaged + at, &value, width);
        break;
      }
      case 3: {
        size_t from = (r >> 8) % n, len = 1 + (r >> 40) % 16;
        if (at + len <= n && from + len <= n)
          memmove(damaged + at, damaged + from, len);
        break;
      }
      case 4: {
        size_t len = 1 + (r >> 8) % 8;
        if (at + len < n) {
          memmove(damaged + at, damaged + at + len, n - at - len);
          n -= len;
        }
        break;
      }
      default:
        /* text: a digit becomes another, so that counts lie */
        damaged[at] = (uint8_t)('0' + (r >> 8) % 10);
        break;
      }
    }
    g_autofree char *what = g_strdup_printf("mutation %d", m);
    read_one(fuzz, path, damaged, n, false, what);
  }
  g_remove(path);
}

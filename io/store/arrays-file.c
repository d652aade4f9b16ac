/* Named arrays in one checked file. */
#include "io/store/arrays-file.h"

#include "anatomy/base/memory.h"
#include "io/stream/output.h"
#include "io/stream/source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char magic[8] = { 'P', 'L', 'A', 'R', 'R', 'A', 'Y', 'S' };
enum { VERSION = 1, HEAD = 8 + 4 + 4 + PLA_ARRAYS_KIND, ENTRY = PLA_ARRAYS_NAME + 8 + 32, SUM = 8 };

static void
put32(PlaBytes *bytes, uint32_t value, bool *fine)
{
  const uint8_t b[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                         (uint8_t)(value >> 24) };
  *fine = *fine && pla_bytes_append(bytes, b, sizeof b);
}

static void
put64(PlaBytes *bytes, uint64_t value, bool *fine)
{
  put32(bytes, (uint32_t)value, fine);
  put32(bytes, (uint32_t)(value >> 32), fine);
}

static uint32_t
get32(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t
get64(const uint8_t *p)
{
  return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

size_t
pla_file_array_count(const PlaFileArray *array)
{
  size_t n = 1;
  for (int d = 0; d < array->n_dims; d++)
    if (!pla_size_mul(n, (size_t)array->dim[d], &n))
      return SIZE_MAX;
  return n;
}

static void
swap_if_big_endian(PlaDType dtype, void *data, size_t n)
{
  const uint16_t one = 1;
  if (*(const uint8_t *)&one == 0)
    pla_dtype_swap_bytes(dtype, data, n);
}

PlaStatus
pla_arrays_write(const char *path, const char *kind, const PlaFileArray *array, int n,
                 PlaError *err)
{
  assert(n >= 0 && n <= PLA_ARRAYS_MOST);
  PlaBytes bytes = { 0 };
  bool fine = pla_bytes_append(&bytes, magic, sizeof magic);
  char text[PLA_ARRAYS_NAME] = { 0 };
  put32(&bytes, VERSION, &fine);
  put32(&bytes, (uint32_t)n, &fine);
  memcpy(text, kind, strnlen(kind, PLA_ARRAYS_KIND - 1));
  fine = fine && pla_bytes_append(&bytes, text, PLA_ARRAYS_KIND);
  for (int i = 0; i < n && fine; i++) {
    const PlaFileArray *a = &array[i];
    const size_t count = pla_file_array_count(a), size = count * pla_dtype_size(a->dtype);
    static const uint8_t zeros[8] = { 0 };
    memset(text, 0, sizeof text);
    memcpy(text, a->name, strnlen(a->name, PLA_ARRAYS_NAME - 1));
    fine = pla_bytes_append(&bytes, text, PLA_ARRAYS_NAME);
    put32(&bytes, (uint32_t)a->dtype, &fine);
    put32(&bytes, (uint32_t)a->n_dims, &fine);
    for (int d = 0; d < PLA_ARRAYS_DIMS; d++)
      put64(&bytes, d < a->n_dims ? a->dim[d] : 0, &fine);
    const size_t at = bytes.size;
    fine = fine && pla_bytes_append(&bytes, a->data, size);
    if (fine)
      swap_if_big_endian(a->dtype, bytes.data + at, count);
    fine = fine && pla_bytes_append(&bytes, zeros, (8 - size % 8) % 8);
  }
  if (fine)
    put64(&bytes, XXH64(bytes.data, bytes.size, 0), &fine);
  PlaStatus st =
      fine ? pla_output_write(path, bytes.data, bytes.size, err) : pla_fail_memory(err, path);
  pla_bytes_clear(&bytes);
  return st;
}

/* one entry at *at, which moves behind it; false: something in it cannot be */
static bool
read_entry(PlaArrays *self, size_t size, size_t *at, PlaFileArray *out)
{
  uint8_t *bytes = self->bytes;
  if (size - *at < ENTRY)
    return false;
  const uint8_t *p = bytes + *at;
  memcpy(out->name, p, PLA_ARRAYS_NAME);
  if (out->name[0] == '\0' || out->name[PLA_ARRAYS_NAME - 1] != '\0')
    return false;
  const uint32_t dtype = get32(p + PLA_ARRAYS_NAME), n_dims = get32(p + PLA_ARRAYS_NAME + 4);
  if (dtype >= PLA_N_DTYPES || n_dims < 1 || n_dims > PLA_ARRAYS_DIMS)
    return false;
  out->dtype = (PlaDType)dtype;
  out->n_dims = (int)n_dims;
  for (int d = 0; d < PLA_ARRAYS_DIMS; d++)
    out->dim[d] = get64(p + PLA_ARRAYS_NAME + 8 + 8 * d);
  *at += ENTRY;
  size_t n_bytes;
  const size_t count = pla_file_array_count(out);
  if (!pla_size_mul(count, pla_dtype_size(out->dtype), &n_bytes) || n_bytes > size - *at)
    return false;
  swap_if_big_endian(out->dtype, bytes + *at, count);
  out->data = bytes + *at;
  const size_t whole = n_bytes + (8 - n_bytes % 8) % 8;
  if (whole > size - *at)
    return false;
  *at += whole;
  return true;
}

/* takes @bytes */
static PlaStatus
parse(const char *name, void *bytes, size_t size, const char *kind, PlaArrays *out, PlaError *err)
{
  const uint8_t *p = bytes;
  *out = (PlaArrays){ .bytes = bytes };
  PlaStatus st = PLA_OK;
  if (size < HEAD + SUM || memcmp(p, magic, sizeof magic) != 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s is no file of the kind '%s' made by Platysma", name,
                  kind);
  else if (get32(p + 8) != VERSION)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "%s has version %u, and this Platysma reads version %d: update it", name,
                  get32(p + 8), VERSION);
  else if (XXH64(p, size - SUM, 0) != get64(p + size - SUM))
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s is damaged (its checksum is wrong); copy or make it again", name);
  else if (p[HEAD - 1] != 0 || strcmp((const char *)p + 16, kind) != 0)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s holds '%.31s', not '%s'", name, (const char *)p + 16,
                  kind);
  else if (get32(p + 12) > PLA_ARRAYS_MOST)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s names %u arrays; at most %d are read", name,
                  get32(p + 12), PLA_ARRAYS_MOST);
  if (st == PLA_OK) {
    memcpy(out->kind, p + 16, PLA_ARRAYS_KIND);
    const int n = (int)get32(p + 12);
    size_t at = HEAD;
    out->array = pla_array_new0((size_t)n, sizeof *out->array);
    if (!out->array)
      st = pla_fail_memory(err, name);
    for (int i = 0; st == PLA_OK && i < n; i++, out->n++)
      if (!read_entry(out, size - SUM, &at, &out->array[i]))
        st = pla_fail(
            err, PLA_ERR_FORMAT,
            "%s, byte %zu: array %d of %d has an impossible size or type; copy the file again",
            name, at, i + 1, n);
    if (st == PLA_OK && at != size - SUM)
      st = pla_fail(err, PLA_ERR_FORMAT, "%s, byte %zu: nothing should follow the last array", name,
                    at);
  }
  if (st != PLA_OK)
    pla_arrays_clear(out);
  return st;
}

PlaStatus
pla_arrays_read(const char *path, const char *kind, PlaArrays *out, PlaError *err)
{
  PlaBytes bytes = { 0 };
  *out = (PlaArrays){ 0 };
  PlaStatus st = pla_source_read(path, NULL, &bytes, err);
  return st == PLA_OK ? parse(path, bytes.data, bytes.size, kind, out, err) : st;
}

PlaStatus
pla_arrays_read_memory(const char *name, const void *data, size_t size, const char *kind,
                       PlaArrays *out, PlaError *err)
{
  *out = (PlaArrays){ 0 };
  void *copy = pla_array_dup(data, size, 1);
  return copy ? parse(name, copy, size, kind, out, err) : pla_fail_memory(err, name);
}

void
pla_arrays_clear(PlaArrays *self)
{
  free(self->array);
  free(self->bytes);
  *self = (PlaArrays){ 0 };
}

const PlaFileArray *
pla_arrays_find(const PlaArrays *self, const char *name)
{
  for (int i = 0; i < self->n; i++)
    if (strcmp(self->array[i].name, name) == 0)
      return &self->array[i];
  return NULL;
}

PlaStatus
pla_arrays_get(const PlaArrays *self, const char *name, PlaDType dtype, size_t n, const void **out,
               PlaError *err)
{
  const PlaFileArray *a = pla_arrays_find(self, name);
  if (!a || a->dtype != dtype || pla_file_array_count(a) != n)
    return pla_fail(err, PLA_ERR_FORMAT, "the file lacks the array '%s' of %zu %s numbers", name, n,
                    pla_dtype_name(dtype));
  *out = a->data;
  return PLA_OK;
}

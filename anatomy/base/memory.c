/* Overflow-checked sizes, arrays and a growing byte buffer.
 *
 * Linux grants memory that it does not have and kills the program that touches it.  A large array
 * is therefore refused when it is larger than what is free, so that a file which claims or unpacks
 * to more ends in a sentence. */
#include "anatomy/base/memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
pla_size_mul(size_t a, size_t b, size_t *out)
{
  if (!__builtin_mul_overflow(a, b, out))
    return true;
  *out = SIZE_MAX;
  return false;
}

bool
pla_size_add(size_t a, size_t b, size_t *out)
{
  if (!__builtin_add_overflow(a, b, out))
    return true;
  *out = SIZE_MAX;
  return false;
}

/* malloc(0) may give NULL, which callers would take for short memory */
static size_t
at_least_one(size_t bytes)
{
  return bytes ? bytes : 1;
}

/* the number behind @key in a file of "key: number" or of the number alone; 0 without one */
static uint64_t
read_number(const char *path, const char *key)
{
  char line[128];
  unsigned long long value = 0;
  FILE *file = fopen(path, "re");
  while (file && value == 0 && fgets(line, sizeof line, file))
    if (strncmp(line, key, strlen(key)) == 0)
      sscanf(line + strlen(key), "%llu", &value);
  if (file)
    fclose(file);
  return value;
}

uint64_t
pla_memory_free(void)
{
  /* what the kernel can give without swapping, and what the limit of a container leaves */
  uint64_t available = 1024 * read_number("/proc/meminfo", "MemAvailable:");
  uint64_t most = read_number("/sys/fs/cgroup/memory.max", "");
  uint64_t used = read_number("/sys/fs/cgroup/memory.current", "");
  if (most > 0 && (available == 0 || most - (used < most ? used : most) < available))
    available = most - (used < most ? used : most);
  return available ? available : UINT64_MAX;
}

/* whether @bytes can be had where @had of them are there already */
static bool
is_there(size_t bytes, size_t had)
{
  enum { LARGE = 256 << 20 }; /* below this, asking costs more than it is worth */
  return bytes <= PTRDIFF_MAX - 64 &&
         (bytes < LARGE || bytes <= had || bytes - had <= pla_memory_free());
}

void *
pla_array_new0(size_t n, size_t size)
{
  size_t bytes;
  return pla_size_mul(n, size, &bytes) && is_there(bytes, 0) ? calloc(at_least_one(bytes), 1)
                                                             : NULL;
}

void *
pla_array_new(size_t n, size_t size)
{
  size_t bytes;
  return pla_size_mul(n, size, &bytes) && is_there(bytes, 0) ? malloc(at_least_one(bytes)) : NULL;
}

void *
pla_array_new_aligned(size_t n, size_t size)
{
  size_t bytes;
  if (!pla_size_mul(n, size, &bytes) || !is_there(bytes, 0))
    return NULL;
  return aligned_alloc(64, (at_least_one(bytes) + 63) / 64 * 64);
}

bool
pla_array_resize(void **array, size_t n_new, size_t size)
{
  size_t bytes;
  if (!pla_size_mul(n_new, size, &bytes) || !is_there(bytes, malloc_usable_size(*array)))
    return false;
  void *grown = realloc(*array, at_least_one(bytes));
  if (!grown)
    return false;
  *array = grown;
  return true;
}

bool
pla_array_reserve(void *array, int n, int *capacity, size_t size)
{
  if (n <= *capacity)
    return true;
  size_t wanted = (size_t)n + (size_t)n / 2 + 8;
  if (wanted > INT_MAX)
    wanted = (size_t)n;
  if (!pla_array_resize(array, wanted, size))
    return false;
  *capacity = (int)wanted;
  return true;
}

void *
pla_array_dup(const void *src, size_t n, size_t size)
{
  void *copy = src ? pla_array_new(n, size) : NULL;
  if (copy)
    memcpy(copy, src, n * size);
  return copy;
}

char *
pla_strdup(const char *text)
{
  return text ? strdup(text) : NULL;
}

char *
pla_strdup_printf(const char *format, ...)
{
  char *text = NULL;
  va_list args;
  va_start(args, format);
  int n = vasprintf(&text, format, args);
  va_end(args);
  return n >= 0 ? text : NULL;
}

bool
pla_bytes_reserve(PlaBytes *bytes, size_t capacity)
{
  if (capacity <= bytes->capacity)
    return true;
  void *data = bytes->data;
  if (!pla_array_resize(&data, capacity, 1))
    return false;
  bytes->data = data;
  bytes->capacity = capacity;
  return true;
}

/* makes room for @extra more bytes, growing by half so that repeated appends stay linear */
static bool
make_room(PlaBytes *bytes, size_t extra)
{
  size_t need;
  if (!pla_size_add(bytes->size, extra, &need))
    return false;
  if (need <= bytes->capacity)
    return true;
  size_t grown = bytes->capacity + bytes->capacity / 2;
  if (grown < 256)
    grown = 256;
  return pla_bytes_reserve(bytes, grown > need ? grown : need);
}

bool
pla_bytes_append(PlaBytes *bytes, const void *data, size_t size)
{
  if (size == 0)
    return true;
  if (!make_room(bytes, size))
    return false;
  memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
  return true;
}

bool
pla_bytes_printf(PlaBytes *bytes, const char *format, ...)
{
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  bool ok = n >= 0 && make_room(bytes, (size_t)n + 1);
  if (ok) {
    vsnprintf((char *)bytes->data + bytes->size, (size_t)n + 1, format, again);
    bytes->size += (size_t)n;
  }
  va_end(again);
  return ok;
}

void
pla_bytes_clear(PlaBytes *bytes)
{
  free(bytes->data);
  *bytes = (PlaBytes){ 0 };
}

/* One input, and what goes wrong around it: the n-th allocation or system call that fails.
 *
 * The linker sends the program's own calls of malloc and so on here (-Wl,--wrap); libraries keep
 * theirs.  Which call fails follows from the input, so that a finding can be repeated. */
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <glib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t n_calls, fail_at; /* 0: none */
static uint64_t choice;

static bool
fails(void)
{
  return ++n_calls == fail_at;
}

/* clang-format off */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **out, const char *format, va_list args);
ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __real_pread64(int fd, void *data, size_t size, off_t at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **out, const char *format, va_list args);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t at);
/* clang-format on */

void *
__wrap_malloc(size_t size)
{
  return fails() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t n, size_t size)
{
  return fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t size)
{
  return fails() ? NULL : __real_realloc(p, size);
}

void *
__wrap_aligned_alloc(size_t alignment, size_t size)
{
  return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

char *
__wrap_strdup(const char *text)
{
  return fails() ? NULL : __real_strdup(text);
}

int
__wrap_vasprintf(char **out, const char *format, va_list args)
{
  return fails() ? -1 : __real_vasprintf(out, format, args);
}

ssize_t
__wrap_read(int fd, void *data, size_t size)
{
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return __real_read(fd, data, size);
}

ssize_t
__wrap_pread64(int fd, void *data, size_t size, off_t at)
{
  if (fails()) {
    errno = EIO;
    return -1;
  }
  return __real_pread64(fd, data, size, at);
}

/* FNV-1a (Fowler, Noll and Vo 1991) */
static uint64_t
hash_of(const uint8_t *data, size_t size)
{
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++)
    h = (h ^ data[i]) * 0x100000001b3u;
  return h;
}

void
pla_fuzz_one(const PlaFuzzTarget *target, const uint8_t *data, size_t size, int troubles)
{
  /* what GLib warns of is a value that nobody checked */
  g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  n_calls = fail_at = 0;
  choice = hash_of(data, size);
  target->run(data, size);
  const uint64_t n = n_calls;
  const uint64_t tries = n < (uint64_t)troubles ? n : (uint64_t)troubles;
  for (uint64_t i = 0; i < tries; i++) {
    n_calls = 0;
    fail_at = 1 + (choice % n + i * n / tries) % n;
    target->run(data, size);
  }
  fail_at = 0;
}

uint64_t
pla_fuzz_choice(void)
{
  return choice;
}

bool
pla_fuzz_is_troubled(void)
{
  return fail_at > 0;
}

const PlaFuzzTarget *
pla_fuzz_find(const char *name)
{
  for (const PlaFuzzTarget *t = pla_fuzz_targets; t->name; t++)
    if (strcmp(t->name, name) == 0)
      return t;
  return NULL;
}

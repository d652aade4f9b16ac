/* A window that moves over a file. */
#include "io/stream/reader.h"

#include "io/stream/source.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  WINDOW = 4 * PLA_READER_FILL, /* bytes */
  PIECE = 1 << 20,              /* bytes read between two looks at cancel */
  NUMBER = 1024,                /* bytes that hold any number worth reading */
  MIN_PIECE = 4096,             /* elements that an array grows by at first */
};

static PlaStatus
open_window(PlaReader *self, int fd, PlaError *err)
{
  self->fd = fd;
  self->window = pla_array_new(WINDOW, 1);
  if (!self->window) {
    pla_reader_close(self);
    return pla_fail_memory(err, self->path);
  }
  self->at = self->end = self->window;
  return PLA_OK;
}

PlaStatus
pla_reader_open(PlaReader *self, const char *path, PlaProgress *progress, PlaError *err)
{
  *self = (PlaReader){ .path = path, .fd = -1, .line = 1, .progress = progress };
  PlaStatus st = pla_source_size(path, &self->size, err);
  if (st != PLA_OK)
    return st;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  return open_window(self, fd, err);
}

void
pla_reader_open_memory(PlaReader *self, const char *name, const void *data, size_t size)
{
  const uint8_t *at = data ? data : (const uint8_t *)"";
  *self = (PlaReader){
    .path = name, .fd = -1, .line = 1, .at = at, .end = at + size, .size = size, .window_end = size
  };
}

PlaStatus
pla_reader_clone(const PlaReader *self, PlaReader *out, PlaError *err)
{
  *out = (PlaReader){ .path = self->path, .fd = -1, .line = 1, .size = self->size };
  if (self->fd < 0) {
    const uint8_t *start = self->end - self->size;
    pla_reader_open_memory(out, self->path, start, (size_t)self->size);
    return PLA_OK;
  }
  int fd = fcntl(self->fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", self->path, strerror(errno));
  return open_window(out, fd, err);
}

void
pla_reader_close(PlaReader *self)
{
  if (self->window) {
    free(self->window);
    close(self->fd);
  } else if (self->fd > 0) {
    close(self->fd);
  }
  *self = (PlaReader){ .fd = -1 };
}

uint64_t
pla_reader_tell(const PlaReader *self)
{
  return self->window_end - (uint64_t)(self->end - self->at);
}

uint64_t
pla_reader_left(const PlaReader *self)
{
  return self->size - pla_reader_tell(self);
}

void
pla_reader_seek(PlaReader *self, uint64_t offset, int64_t line)
{
  assert(offset <= self->size);
  self->line = line;
  if (self->fd < 0) {
    self->at = self->end - (self->size - offset);
    return;
  }
  uint64_t start = self->window_end - (uint64_t)(self->end - self->window);
  if (offset >= start && offset <= self->window_end) {
    self->at = self->window + (offset - start);
    return;
  }
  self->at = self->end = self->window;
  self->window_end = offset;
}

/* up to @size bytes at file offset @offset; fewer at the end, when refused or when cancelled */
static size_t
read_at(PlaReader *self, void *out, size_t size, uint64_t offset)
{
  size_t done = 0;
  while (done < size && !self->cancelled && self->why == 0) {
    size_t want = size - done < PIECE ? size - done : PIECE;
    ssize_t n = pread(self->fd, (uint8_t *)out + done, want, (off_t)(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      self->why = errno;
    if (n <= 0)
      break;
    done += (size_t)n;
    if (!pla_progress_step(self->progress,
                           (double)(offset + done) / (double)(self->size ? self->size : 1)))
      self->cancelled = true;
  }
  return self->cancelled ? 0 : done;
}

size_t
pla_reader_fill(PlaReader *self, size_t want)
{
  size_t ready = (size_t)(self->end - self->at);
  if (ready >= want || self->fd < 0 || self->window_end >= self->size)
    return ready;
  assert(want <= PLA_READER_FILL);
  memmove(self->window, self->at, ready);
  uint64_t left = self->size - self->window_end;
  size_t room = WINDOW - ready;
  size_t got =
      read_at(self, self->window + ready, left < room ? (size_t)left : room, self->window_end);
  self->at = self->window;
  self->end = self->window + ready + got;
  self->window_end += got;
  if (got == 0) /* it shrank meanwhile, or was refused: this is its end now */
    self->size = self->window_end;
  return ready + got;
}

bool
pla_reader_read(PlaReader *self, void *out, size_t size)
{
  size_t ready = (size_t)(self->end - self->at);
  size_t first = ready < size ? ready : size;
  if (first > 0)
    memcpy(out, self->at, first);
  self->at += first;
  if (first == size)
    return true;
  if (self->fd < 0 || size - first > self->size - self->window_end)
    return false;
  size_t got = read_at(self, (uint8_t *)out + first, size - first, self->window_end);
  self->window_end += got;
  self->at = self->end = self->window;
  return got == size - first;
}

bool
pla_reader_skip(PlaReader *self, uint64_t size)
{
  if (size > pla_reader_left(self))
    return false;
  pla_reader_seek(self, pla_reader_tell(self) + size, self->line);
  return true;
}

static bool
is_blank(uint8_t c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* moves to the next byte that is no blank, with a number's length ready behind it; false at the
 * end */
static bool
skip_blanks(PlaReader *self)
{
  for (;;) {
    while (self->at < self->end && is_blank(*self->at)) {
      self->line += *self->at == '\n';
      self->at++;
    }
    size_t ready = (size_t)(self->end - self->at);
    if (ready >= NUMBER)
      return true;
    if (pla_reader_fill(self, NUMBER) == ready)
      return ready > 0;
    if (ready > 0)
      return true;
  }
}

bool
pla_reader_at_end(PlaReader *self)
{
  return !skip_blanks(self);
}

static bool
take_word(PlaReader *self, const char **word, size_t *len)
{
  size_t ready = pla_reader_fill(self, PLA_READER_WORD), n = 0;
  ready = ready < PLA_READER_WORD ? ready : PLA_READER_WORD;
  while (n < ready && !is_blank(self->at[n]))
    n++;
  *word = (const char *)self->at;
  *len = n;
  self->at += n;
  return n > 0;
}

bool
pla_reader_word(PlaReader *self, const char **word, size_t *len)
{
  *word = "";
  *len = 0;
  return skip_blanks(self) && take_word(self, word, len);
}

bool
pla_reader_word_on_line(PlaReader *self, const char **word, size_t *len)
{
  *word = "";
  *len = 0;
  for (;;) {
    while (self->at < self->end && is_blank(*self->at) && *self->at != '\n')
      self->at++;
    if (self->at < self->end)
      return *self->at != '\n' && take_word(self, word, len);
    if (pla_reader_fill(self, 1) == 0)
      return false;
  }
}

bool
pla_reader_line(PlaReader *self, const char **text, size_t *len)
{
  size_t ready = pla_reader_fill(self, PLA_READER_WORD);
  size_t span = ready < PLA_READER_WORD ? ready : PLA_READER_WORD;
  const uint8_t *newline = span > 0 ? memchr(self->at, '\n', span) : NULL;
  if (span == 0 || (!newline && span == PLA_READER_WORD))
    return false;
  *text = (const char *)self->at;
  *len = newline ? (size_t)(newline - self->at) : span;
  self->at += *len + (newline != NULL);
  self->line += newline != NULL;
  while (*len > 0 && (*text)[*len - 1] == '\r')
    --*len;
  return true;
}

void
pla_reader_skip_line(PlaReader *self)
{
  while (pla_reader_fill(self, 1) > 0) {
    const uint8_t *newline = memchr(self->at, '\n', (size_t)(self->end - self->at));
    self->at = newline ? newline + 1 : self->end;
    if (newline) {
      self->line++;
      return;
    }
  }
}

bool
pla_reader_find(PlaReader *self, char stop)
{
  while (pla_reader_fill(self, 1) > 0) {
    size_t ready = (size_t)(self->end - self->at);
    const uint8_t *found = memchr(self->at, stop, ready);
    const uint8_t *to = found ? found : self->end;
    int64_t lines = 0;
    for (const uint8_t *p = self->at; p < to; p++)
      lines += *p == '\n';
    self->line += lines;
    self->at = to;
    if (found)
      return true;
  }
  return false;
}

bool
pla_reader_skip_past(PlaReader *self, const char *mark)
{
  size_t n = strlen(mark);
  while (pla_reader_find(self, mark[0])) {
    if (pla_reader_fill(self, n) < n)
      return false;
    if (memcmp(self->at, mark, n) == 0) {
      self->at += n;
      return true;
    }
    self->at++;
  }
  return false;
}

/* the window as text; only called when a number's length is ready */
static PlaText
as_text(const PlaReader *self)
{
  return (PlaText){ .at = (const char *)self->at, .end = (const char *)self->end };
}

bool
pla_reader_double(PlaReader *self, double *out)
{
  if (!skip_blanks(self))
    return false;
  PlaText text = as_text(self);
  if (!pla_text_double(&text, out))
    return false;
  self->at = (const uint8_t *)text.at;
  return true;
}

bool
pla_reader_int64(PlaReader *self, int64_t *out)
{
  if (!skip_blanks(self))
    return false;
  PlaText text = as_text(self);
  if (!pla_text_int64(&text, out))
    return false;
  self->at = (const uint8_t *)text.at;
  return true;
}

bool
pla_reader_int(PlaReader *self, int *out)
{
  int64_t value;
  if (!pla_reader_int64(self, &value) || value < INT_MIN || value > INT_MAX)
    return false;
  *out = (int)value;
  return true;
}

/* the least and largest whole numbers of the integer types but the 64-bit ones */
static const struct {
  int64_t lo, hi;
} limits[PLA_N_DTYPES] = {
  [PLA_I8] = { INT8_MIN, INT8_MAX },    [PLA_U8] = { 0, UINT8_MAX },
  [PLA_I16] = { INT16_MIN, INT16_MAX }, [PLA_U16] = { 0, UINT16_MAX },
  [PLA_I32] = { INT32_MIN, INT32_MAX }, [PLA_U32] = { 0, UINT32_MAX },
  [PLA_I64] = { INT64_MIN, INT64_MAX }, [PLA_U64] = { 0, INT64_MAX },
};

/* one whole number at @at; returns where it ended, or NULL */
static const uint8_t *
parse_whole(const uint8_t *at, const uint8_t *end, PlaDType dtype, void *out)
{
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+'))
    at++;
  const uint8_t *first = at;
  uint64_t value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
      return NULL;
  if (at == first || (negative && value > (uint64_t)INT64_MAX + 1))
    return NULL;
  if (dtype == PLA_U64) {
    *(uint64_t *)out = value;
    return negative && value != 0 ? NULL : at;
  }
  if (!negative && value > (uint64_t)INT64_MAX)
    return NULL;
  int64_t number = negative ? (int64_t)(0 - value) : (int64_t)value;
  if (number < limits[dtype].lo || number > limits[dtype].hi)
    return NULL;
  switch (pla_dtype_size(dtype)) {
  case 1:
    *(uint8_t *)out = (uint8_t)number;
    break;
  case 2:
    *(uint16_t *)out = (uint16_t)number;
    break;
  case 4:
    *(uint32_t *)out = (uint32_t)number;
    break;
  default:
    *(int64_t *)out = number;
    break;
  }
  return at;
}

static const uint8_t *
parse_number(const uint8_t *at, const uint8_t *end, PlaDType dtype, void *out)
{
  if (pla_dtype_is_integer(dtype))
    return parse_whole(at, end, dtype, out);
  double value;
  const char *stop = pla_parse_double((const char *)at, (const char *)end, &value);
  if (stop && dtype == PLA_F32)
    *(float *)out = (float)value;
  else if (stop)
    *(double *)out = value;
  return (const uint8_t *)stop;
}

bool
pla_reader_number(PlaReader *self, PlaDType dtype, void *out)
{
  if (!skip_blanks(self))
    return false;
  const uint8_t *stop = parse_number(self->at, self->end, dtype, out);
  if (!stop || (stop < self->end && !is_blank(*stop) && *stop != '<'))
    return false;
  self->at = stop;
  return true;
}

PlaStatus
pla_reader_numbers(PlaReader *self, PlaDType dtype, uint64_t n, const char *what, PlaBytes *out,
                   PlaError *err)
{
  size_t size = pla_dtype_size(dtype);
  /* every number takes a digit, and all but the last a blank */
  if (n > pla_reader_left(self) / 2 + 1)
    return pla_reader_fail_line(self, err,
                                "%s should hold %llu numbers, but the file ends before; copy the "
                                "file again",
                                what, (unsigned long long)n);
  size_t done = 0;
  while (done < n) {
    /* room for as much again as has arrived */
    size_t piece = n - done < done / 2 + MIN_PIECE ? (size_t)(n - done) : done / 2 + MIN_PIECE;
    if (!pla_bytes_reserve(out, out->size + piece * size))
      return pla_fail_memory(err, self->path);
    for (size_t i = 0; i < piece; i++) {
      if (!pla_reader_number(self, dtype, out->data + out->size))
        return self->at >= self->end || *self->at == '<'
                   ? pla_reader_fail_line(self, err, "%s ends after %zu of %llu numbers", what,
                                          done + i, (unsigned long long)n)
                   : pla_reader_fail_line(self, err,
                                          "number %zu of %s is not one of type %s; correct it",
                                          done + i + 1, what, pla_dtype_name(dtype));
      out->size += size;
    }
    done += piece;
  }
  return PLA_OK;
}

PlaStatus
pla_reader_elements(PlaReader *self, PlaDType dtype, uint64_t n, bool swap, const char *what,
                    PlaBytes *out, PlaError *err)
{
  size_t size = pla_dtype_size(dtype);
  if (n > pla_reader_left(self) / size)
    return pla_reader_fail_byte(
        self, err, "%s should hold %llu values, but only %llu bytes follow; copy the file again",
        what, (unsigned long long)n, (unsigned long long)pla_reader_left(self));
  if (n == 0)
    return PLA_OK;
  if (!pla_bytes_reserve(out, out->size + (size_t)n * size))
    return pla_fail_memory(err, self->path);
  uint8_t *to = out->data + out->size;
  if (!pla_reader_read(self, to, (size_t)n * size))
    return pla_reader_fail_byte(self, err, "%s ends early; copy the file again", what);
  if (swap)
    pla_dtype_swap_bytes(dtype, to, (size_t)n);
  out->size += (size_t)n * size;
  return PLA_OK;
}

__attribute__((format(printf, 5, 0))) static PlaStatus
fail_at(const PlaReader *self, PlaError *err, const char *place, uint64_t number,
        const char *format, va_list args)
{
  if (self->cancelled)
    return pla_fail_cancelled(err);
  if (self->why)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", self->path, strerror(self->why));
  pla_fail_v(err, PLA_ERR_FORMAT, format, args);
  pla_fail_within(err, "%s, %s %llu", self->path, place, (unsigned long long)number);
  return PLA_ERR_FORMAT;
}

PlaStatus
pla_reader_fail_line(const PlaReader *self, PlaError *err, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  PlaStatus st = fail_at(self, err, "line", (uint64_t)self->line, format, args);
  va_end(args);
  return st;
}

PlaStatus
pla_reader_fail_byte(const PlaReader *self, PlaError *err, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  PlaStatus st = fail_at(self, err, "byte", pla_reader_tell(self), format, args);
  va_end(args);
  return st;
}

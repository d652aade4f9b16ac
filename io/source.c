/* Whole files in memory, gzip, and a small text walker. */
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PIECE = 1 << 20 }; /* bytes read between two looks at cancel */

/* opens a regular file and tells its size */
static PlaStatus
open_regular(const char *path, int *fd, uint64_t *size, PlaError *err)
{
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0)
    return errno == ENOENT
               ? pla_fail(err, PLA_ERR_IO, "there is no file %s; check the name and the folder", path)
               : pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  struct stat st;
  if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(*fd);
    return pla_fail(err, PLA_ERR_IO, "%s is a folder or a device; name a file", path);
  }
  *size = (uint64_t)st.st_size;
  return PLA_OK;
}

PlaStatus
pla_source_size(const char *path, uint64_t *out, PlaError *err)
{
  int fd;
  PlaStatus st = open_regular(path, &fd, out, err);
  if (st == PLA_OK)
    close(fd);
  return st;
}

/* reads until @size bytes or the end; returns the count, or -1 */
static ssize_t
read_fully(int fd, void *data, size_t size)
{
  size_t done = 0;
  while (done < size) {
    ssize_t n = read(fd, (char *)data + done, size - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return -1;
    if (n == 0)
      break;
    done += (size_t)n;
  }
  return (ssize_t)done;
}

PlaStatus
pla_source_head(const char *path, uint8_t *head, size_t max, size_t *out, PlaError *err)
{
  int fd;
  uint64_t size;
  *out = 0;
  PlaStatus st = open_regular(path, &fd, &size, err);
  if (st != PLA_OK)
    return st;
  ssize_t n = read_fully(fd, head, max);
  if (n < 0)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
  else
    *out = (size_t)n;
  close(fd);
  return st;
}

PlaStatus
pla_source_read(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err)
{
  int fd;
  uint64_t size;
  *out = (PlaBytes){ 0 };
  PlaStatus st = open_regular(path, &fd, &size, err);
  if (st != PLA_OK)
    return st;
  if (size > PTRDIFF_MAX - 1 || !pla_bytes_reserve(out, (size_t)size + 1))
    st = pla_fail_memory(err, path);
  while (st == PLA_OK && out->size < size) {
    size_t want = size - out->size < PIECE ? (size_t)(size - out->size) : PIECE;
    ssize_t n = read_fully(fd, out->data + out->size, want);
    if (n < 0)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
    else if (n == 0)
      break; /* it shrank meanwhile: the reader will find the end */
    else
      out->size += (size_t)n;
    if (st == PLA_OK && !pla_progress_step(progress, (double)out->size / (double)size))
      st = pla_fail_cancelled(err);
  }
  close(fd);
  if (st == PLA_OK)
    out->data[out->size] = '\0';
  else
    pla_bytes_clear(out);
  return st;
}

PlaStatus
pla_source_read_gz(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err)
{
  uint8_t magic[2] = { 0, 0 };
  size_t n_magic;
  *out = (PlaBytes){ 0 };
  PlaStatus st = pla_source_head(path, magic, 2, &n_magic, err);
  if (st != PLA_OK)
    return st;
  if (n_magic < 2 || magic[0] != 0x1f || magic[1] != 0x8b)
    return pla_source_read(path, progress, out, err);

  int fd;
  uint64_t size;
  st = open_regular(path, &fd, &size, err);
  if (st != PLA_OK)
    return st;
  z_stream z = { 0 };
  uint8_t *in = pla_array_new(PIECE, 1);
  if (!in || inflateInit2(&z, 15 + 16) != Z_OK)
    st = pla_fail_memory(err, path);

  uint64_t consumed = 0;
  bool ended = false; /* the last gzip member is complete */
  while (st == PLA_OK) {
    if (z.avail_in == 0) {
      ssize_t n = read_fully(fd, in, PIECE);
      if (n < 0)
        st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
      if (n <= 0)
        break;
      z.next_in = in;
      z.avail_in = (uInt)n;
      consumed += (uint64_t)n;
      if (!pla_progress_step(progress, (double)consumed / (double)size))
        st = pla_fail_cancelled(err);
    }
    if (ended) { /* bytes after a member: another member, or padding that gzip ignores */
      if (z.next_in[0] != 0x1f)
        break;
      inflateReset(&z);
      ended = false;
    }
    /* grow by half of what has arrived, one byte kept for the final NUL */
    if (out->capacity - out->size < 2 &&
        !pla_bytes_reserve(out, out->capacity + out->capacity / 2 + PIECE)) {
      st = pla_fail_memory(err, path);
      break;
    }
    size_t room = out->capacity - out->size - 1;
    z.next_out = out->data + out->size;
    z.avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
    uInt before = z.avail_out;
    int rc = inflate(&z, Z_NO_FLUSH);
    out->size += before - z.avail_out;
    if (rc == Z_STREAM_END)
      ended = true;
    else if (rc != Z_OK && rc != Z_BUF_ERROR)
      st = pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the compressed data are damaged after %zu bytes; copy the file again", path,
                    out->size);
  }
  if (st == PLA_OK && !ended)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s: the compressed data end early, after %zu bytes; copy the file again", path,
                  out->size);
  inflateEnd(&z);
  free(in);
  close(fd);
  if (st == PLA_OK)
    out->data[out->size] = '\0';
  else
    pla_bytes_clear(out);
  return st;
}

void
pla_text_init(PlaText *self, const PlaBytes *bytes)
{
  *self = (PlaText){ .at = (const char *)bytes->data,
                     .end = (const char *)bytes->data + bytes->size,
                     .line = 1 };
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static void
skip_blanks(PlaText *self)
{
  while (self->at < self->end && is_blank(*self->at)) {
    self->line += *self->at == '\n';
    self->at++;
  }
}

bool
pla_text_at_end(PlaText *self)
{
  skip_blanks(self);
  return self->at >= self->end;
}

bool
pla_text_next_line(PlaText *self, PlaText *line)
{
  if (self->at >= self->end)
    return false;
  const char *newline = memchr(self->at, '\n', (size_t)(self->end - self->at));
  const char *stop = newline ? newline : self->end;
  *line = (PlaText){ .at = self->at, .end = stop, .line = self->line };
  if (line->end > line->at && line->end[-1] == '\r')
    line->end--;
  self->at = newline ? newline + 1 : self->end;
  self->line += newline != NULL;
  return true;
}

bool
pla_text_word(PlaText *self, const char **word, size_t *len)
{
  skip_blanks(self);
  if (self->at >= self->end)
    return false;
  *word = self->at;
  while (self->at < self->end && !is_blank(*self->at))
    self->at++;
  *len = (size_t)(self->at - *word);
  return true;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void
make_c_locale(void)
{
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

const char *
pla_parse_double(const char *at, const char *end, double *out)
{
  /* most numbers in mesh files are short decimals: exact in double arithmetic when the digits fit
   * 53 bits and the power of ten is at most 1e22 */
  const char *p = at;
  bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+'))
    p++;
  uint64_t digits = 0;
  int n_digits = 0, scale = 0;
  const char *first = p;
  for (; p < end && *p >= '0' && *p <= '9' && n_digits < 19; p++, n_digits++)
    digits = digits * 10 + (uint64_t)(*p - '0');
  bool any = p > first;
  if (p < end && *p == '.') {
    p++;
    for (; p < end && *p >= '0' && *p <= '9' && n_digits < 19; p++, n_digits++, scale++) {
      digits = digits * 10 + (uint64_t)(*p - '0');
      any = true;
    }
  }
  bool more = p < end && (is_blank(*p) || *p == ',' || *p == ';') ? false : p < end;
  if (any && !more && digits <= (1ull << 53) && scale <= 22) {
    static const double ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    double value = (double)digits / ten[scale];
    *out = negative ? -value : value;
    return p;
  }

  /* everything else through strtod on a bounded copy */
  char buffer[512];
  size_t n = (size_t)(end - at) < sizeof buffer - 1 ? (size_t)(end - at) : sizeof buffer - 1;
  memcpy(buffer, at, n);
  buffer[n] = '\0';
  if (n == 0 || is_blank(buffer[0]))
    return NULL;
  pthread_once(&c_locale_once, make_c_locale);
  char *stop;
  double value = strtod_l(buffer, &stop, c_locale);
  if (stop == buffer)
    return NULL;
  *out = value;
  return at + (stop - buffer);
}

bool
pla_text_double(PlaText *self, double *out)
{
  skip_blanks(self);
  const char *stop = pla_parse_double(self->at, self->end, out);
  if (!stop || (stop < self->end && !is_blank(*stop)))
    return false;
  self->at = stop;
  return true;
}

bool
pla_text_int64(PlaText *self, int64_t *out)
{
  skip_blanks(self);
  const char *p = self->at;
  bool negative = p < self->end && *p == '-';
  if (p < self->end && (*p == '-' || *p == '+'))
    p++;
  const char *first = p;
  int64_t value = 0;
  for (; p < self->end && *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow(value, (int64_t)10, &value) ||
        __builtin_sub_overflow(value, (int64_t)(*p - '0'), &value))
      return false;
  if (p == first || (p < self->end && !is_blank(*p)) || (!negative && value == INT64_MIN))
    return false;
  *out = negative ? value : -value;
  self->at = p;
  return true;
}

bool
pla_text_int(PlaText *self, int *out)
{
  PlaText before = *self;
  int64_t value;
  if (pla_text_int64(self, &value) && value >= INT_MIN && value <= INT_MAX) {
    *out = (int)value;
    return true;
  }
  *self = before;
  return false;
}

bool
pla_text_is(const char *word, size_t len, const char *expected)
{
  return strlen(expected) == len && memcmp(word, expected, len) == 0;
}

/* printf in the C locale with as few digits as read back the same */
static const char *
shortest(double value, int min_digits, int max_digits, bool single, char buffer[32])
{
  pthread_once(&c_locale_once, make_c_locale);
  if (!isfinite(value)) {
    snprintf(buffer, 32, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return buffer;
  }
  locale_t before = uselocale(c_locale);
  for (int digits = min_digits; digits <= max_digits; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value);
    bool same = single ? strtof_l(buffer, NULL, c_locale) == (float)value
                       : strtod_l(buffer, NULL, c_locale) == value;
    if (same)
      break;
  }
  uselocale(before);
  return buffer;
}

const char *
pla_format_double(double value, char buffer[32])
{
  return shortest(value, 15, 17, false, buffer);
}

const char *
pla_format_float(float value, char buffer[32])
{
  return shortest((double)value, 6, 9, true, buffer);
}

/* Whole files in memory, streams, gzip, and a small text walker. */
#include "io/stream/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
               ? pla_fail(err, PLA_ERR_IO, "there is no file %s; check the name and the folder",
                          path)
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

struct PlaStream {
  char *path; /* for sentences */
  int fd;
  uint64_t size, consumed; /* of the file, bytes */
  uint64_t given;          /* bytes handed out */
  bool gzip, finished;
  bool member_ended; /* the last gzip member is complete */
  z_stream z;
  uint8_t *in; /* PIECE compressed bytes */
};

void
pla_stream_close(PlaStream *self)
{
  if (!self)
    return;
  if (self->gzip)
    inflateEnd(&self->z);
  if (self->fd >= 0)
    close(self->fd);
  free(self->in);
  free(self->path);
  free(self);
}

PlaStatus
pla_stream_open(const char *path, PlaStream **out, PlaError *err)
{
  *out = NULL;
  PlaStream *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, path);
  self->fd = -1;
  self->path = pla_strdup(path);
  PlaStatus st =
      self->path ? open_regular(path, &self->fd, &self->size, err) : pla_fail_memory(err, path);
  uint8_t magic[2] = { 0, 0 };
  if (st == PLA_OK && pread(self->fd, magic, 2, 0) < 0)
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", path, strerror(errno));
  if (st == PLA_OK && magic[0] == 0x1f && magic[1] == 0x8b) {
    self->in = pla_array_new(PIECE, 1);
    self->gzip = self->in && inflateInit2(&self->z, 15 + 16) == Z_OK;
    if (!self->gzip)
      st = pla_fail_memory(err, path);
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_stream_close(self);
  return st;
}

bool
pla_stream_is_gzip(const PlaStream *self)
{
  return self->gzip;
}

uint64_t
pla_stream_most(const PlaStream *self)
{
  uint64_t most = self->size;
  if (self->gzip && __builtin_mul_overflow(most, (uint64_t)PLA_MAX_INFLATE, &most))
    return UINT64_MAX;
  return most;
}

double
pla_stream_fraction(const PlaStream *self)
{
  return self->consumed < self->size ? (double)self->consumed / (double)self->size : 1.0;
}

/* one read from the file itself; *got = 0 at its end */
static PlaStatus
stream_fetch(PlaStream *self, void *data, size_t size, size_t *got, PlaError *err)
{
  ssize_t n = read_fully(self->fd, data, size);
  if (n < 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", self->path, strerror(errno));
  self->consumed += (uint64_t)n;
  *got = (size_t)n;
  return PLA_OK;
}

/* one call of inflate into at most @size bytes */
static PlaStatus
stream_inflate(PlaStream *self, uint8_t *data, size_t size, size_t *got, PlaError *err)
{
  z_stream *z = &self->z;
  *got = 0;
  if (z->avail_in == 0) {
    size_t n = 0;
    PlaStatus st = stream_fetch(self, self->in, PIECE, &n, err);
    if (st != PLA_OK)
      return st;
    z->next_in = self->in;
    z->avail_in = (uInt)n;
    if (n == 0 && !self->member_ended)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s: the compressed data end early, after %" PRIu64 " bytes; copy the file "
                      "again",
                      self->path, self->given);
  }
  if (self->member_ended) { /* what follows is another member, or padding that gzip ignores */
    self->finished = z->avail_in == 0 || z->next_in[0] != 0x1f;
    if (self->finished)
      return PLA_OK;
    inflateReset(z);
    self->member_ended = false;
  }
  z->next_out = data;
  z->avail_out = size > UINT_MAX ? UINT_MAX : (uInt)size;
  uInt before = z->avail_out;
  int rc = inflate(z, Z_NO_FLUSH);
  *got = before - z->avail_out;
  self->given += *got;
  self->member_ended = rc == Z_STREAM_END;
  if (rc != Z_OK && rc != Z_BUF_ERROR && rc != Z_STREAM_END)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the compressed data are damaged after %" PRIu64 " bytes; copy the file "
                    "again",
                    self->path, self->given);
  return PLA_OK;
}

PlaStatus
pla_stream_read(PlaStream *self, void *data, size_t size, size_t *got, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *got = 0;
  while (st == PLA_OK && *got < size && !self->finished) {
    uint8_t *to = (uint8_t *)data + *got;
    size_t n = 0;
    if (self->gzip) {
      st = stream_inflate(self, to, size - *got, &n, err);
    } else {
      st = stream_fetch(self, to, size - *got, &n, err);
      self->finished = n < size - *got;
    }
    *got += n;
  }
  return st;
}

/* everything that @stream gives, and a NUL */
static PlaStatus
read_stream(PlaStream *stream, const char *path, PlaProgress *progress, PlaBytes *out,
            PlaError *err)
{
  PlaStatus st = PLA_OK;
  size_t got = 1;
  if (stream->size > PTRDIFF_MAX - 1 ||
      !pla_bytes_reserve(out, stream->gzip ? PIECE : (size_t)stream->size + 1))
    st = pla_fail_memory(err, path);
  while (st == PLA_OK && got > 0) {
    /* grow by half of what has arrived, one byte kept for the final NUL */
    if (stream->gzip && out->capacity - out->size < 2 &&
        !pla_bytes_reserve(out, out->capacity + out->capacity / 2 + PIECE)) {
      st = pla_fail_memory(err, path);
      break;
    }
    size_t room = out->capacity - out->size - 1;
    st = pla_stream_read(stream, out->data + out->size, room < PIECE ? room : PIECE, &got, err);
    out->size += got;
    if (st == PLA_OK && !pla_progress_step(progress, pla_stream_fraction(stream)))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK)
    out->data[out->size] = '\0';
  else
    pla_bytes_clear(out);
  return st;
}

PlaStatus
pla_source_read(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err)
{
  *out = (PlaBytes){ 0 };
  PlaStream stream = { .path = (char *)path, .fd = -1 };
  PlaStatus st = open_regular(path, &stream.fd, &stream.size, err);
  if (st != PLA_OK)
    return st;
  st = read_stream(&stream, path, progress, out, err);
  close(stream.fd);
  return st;
}

PlaStatus
pla_source_read_gz(const char *path, PlaProgress *progress, PlaBytes *out, PlaError *err)
{
  PlaStream *stream;
  *out = (PlaBytes){ 0 };
  PlaStatus st = pla_stream_open(path, &stream, err);
  if (st == PLA_OK)
    st = read_stream(stream, path, progress, out, err);
  pla_stream_close(stream);
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

/* length of the UTF-8 character at @p, 0 if there is none */
static size_t
utf8_length(const unsigned char *p, const unsigned char *end)
{
  if (*p < 0x80)
    return 1;
  size_t n = *p >= 0xc2 && *p < 0xe0   ? 2
             : *p >= 0xe0 && *p < 0xf0 ? 3
             : *p >= 0xf0 && *p < 0xf5 ? 4
                                       : 0;
  if (n == 0 || (size_t)(end - p) < n)
    return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  /* overlong forms, surrogates and beyond U+10FFFF */
  if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
      (*p == 0xf4 && p[1] > 0x8f))
    return 0;
  return n;
}

bool
pla_is_utf8(const char *bytes, size_t len)
{
  const unsigned char *p = (const unsigned char *)bytes, *end = p + len;
  while (p < end) {
    size_t n = utf8_length(p, end);
    if (n == 0)
      return false;
    p += n;
  }
  return true;
}

char *
pla_name_dup(const char *bytes, size_t len)
{
  const unsigned char *p = (const unsigned char *)bytes, *end = p + len;
  while (p < end && *p <= ' ')
    p++;
  while (p < end && end[-1] <= ' ')
    end--;
  bool utf8 = pla_is_utf8((const char *)p, (size_t)(end - p));
  char *name = pla_array_new((size_t)(end - p) * 2 + 1, 1), *to = name;
  for (; name && p < end; p++) {
    if (*p < 0x20 || *p == 0x7f || (!utf8 && *p >= 0x80 && *p < 0xa0)) {
      *to++ = '_';
    } else if (!utf8 && *p >= 0x80) {
      *to++ = (char)(0xc0 | (*p >> 6));
      *to++ = (char)(0x80 | (*p & 0x3f));
    } else {
      *to++ = (char)*p;
    }
  }
  if (name)
    *to = '\0';
  return name;
}

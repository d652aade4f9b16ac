/* Text tables: a reader of lines with a bounded buffer, and a splitter of cells. */
#include "io/stream/text-table.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PIECE = 1 << 18 }; /* bytes read at a time */

struct PlaLines {
  const char *path; /* borrowed */
  PlaProgress *progress;
  FILE *file;
  uint64_t size;
  PlaBytes buffer; /* bytes of the file, those before `next` used up */
  size_t next;
  int64_t offset; /* of buffer.data[next] in the file */
  int line;       /* number of the line to come */
  bool at_end;    /* the buffer holds the last byte of the file */
  bool unfinished;
};

PlaStatus
pla_lines_open(const char *path, PlaProgress *progress, PlaLines **out, PlaError *err)
{
  *out = NULL;
  PlaLines *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, path);
  *self = (PlaLines){ .path = path, .progress = progress };
  PlaStatus st = pla_source_size(path, &self->size, err);
  if (st == PLA_OK && !(self->file = fopen(path, "rbe")))
    st = pla_fail(err, PLA_ERR_IO, "%s cannot be opened (%s)", path, strerror(errno));
  uint8_t mark[3] = { 0 };
  if (st == PLA_OK) {
    bool marked = fread(mark, 1, 3, self->file) == 3 && memcmp(mark, "\xef\xbb\xbf", 3) == 0;
    st = pla_lines_seek(self, marked ? 3 : 0, 1, err);
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_lines_free(self);
  return st;
}

void
pla_lines_free(PlaLines *self)
{
  if (!self)
    return;
  if (self->file)
    fclose(self->file);
  pla_bytes_clear(&self->buffer);
  free(self);
}

PlaStatus
pla_lines_seek(PlaLines *self, int64_t offset, int line, PlaError *err)
{
  if (fseeko(self->file, offset, SEEK_SET) != 0)
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", self->path, strerror(errno));
  self->buffer.size = self->next = 0;
  self->offset = offset;
  self->line = line;
  self->at_end = self->unfinished = false;
  return PLA_OK;
}

int64_t
pla_lines_get_offset(const PlaLines *self)
{
  return self->offset;
}

bool
pla_lines_get_unfinished(const PlaLines *self)
{
  return self->unfinished;
}

/* moves what is left to the front of the buffer and reads a further piece */
static PlaStatus
fill(PlaLines *self, PlaError *err)
{
  PlaBytes *b = &self->buffer;
  b->size -= self->next;
  if (b->data)
    memmove(b->data, b->data + self->next, b->size);
  self->next = 0;
  if (b->size > PLA_MAX_LINE)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: line %d is longer than %d MiB; this is no table of text", self->path,
                    self->line, PLA_MAX_LINE >> 20);
  if (b->capacity < b->size + PIECE && !pla_bytes_reserve(b, b->size + b->size / 2 + PIECE))
    return pla_fail_memory(err, self->path);
  size_t n = fread(b->data + b->size, 1, PIECE, self->file);
  b->size += n;
  self->at_end = n < PIECE;
  if (ferror(self->file))
    return pla_fail(err, PLA_ERR_IO, "%s cannot be read (%s)", self->path, strerror(errno));
  double fraction = self->size ? (double)self->offset / (double)self->size : 1.0;
  return pla_progress_step(self->progress, fraction) ? PLA_OK : pla_fail_cancelled(err);
}

PlaStatus
pla_lines_next(PlaLines *self, PlaText *line, PlaError *err)
{
  *line = (PlaText){ .line = self->line };
  const char *newline = NULL;
  for (size_t seen = 0;;) {
    size_t left = self->buffer.size - self->next;
    if (left > seen)
      newline = memchr(self->buffer.data + self->next + seen, '\n', left - seen);
    if (newline || self->at_end)
      break;
    seen = left;
    PlaStatus st = fill(self, err);
    if (st != PLA_OK)
      return st;
  }
  size_t left = self->buffer.size - self->next;
  if (left == 0)
    return PLA_OK;
  line->at = (const char *)self->buffer.data + self->next;
  line->end = newline ? newline : line->at + left;
  size_t used = (size_t)(line->end - line->at) + (newline != NULL);
  self->unfinished = !newline;
  if (line->end > line->at && line->end[-1] == '\r')
    line->end--;
  self->next += used;
  self->offset += (int64_t)used;
  if (self->line == INT_MAX)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s has more than %d lines", self->path, INT_MAX);
  self->line++;
  return PLA_OK;
}

static bool
is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

bool
pla_line_is_blank(const PlaText *line)
{
  for (const char *p = line->at; p < line->end; p++)
    if (!is_blank(*p))
      return false;
  return true;
}

void
pla_cells_init(PlaCells *self, const PlaText *line, char separator)
{
  *self = (PlaCells){ .at = line->at, .end = line->end, .separator = separator };
}

bool
pla_cells_next(PlaCells *self, PlaCell *cell)
{
  if (self->done)
    return false;
  const char *p = self->at;
  while (p < self->end && is_blank(*p) && *p != self->separator)
    p++;
  const char *stop;
  if (p < self->end && *p == '"') {
    /* a doubled quote stands for one and does not close the cell */
    const char *q = p + 1;
    while (q < self->end && (*q != '"' || (q + 1 < self->end && q[1] == '"')))
      q += *q == '"' ? 2 : 1;
    bool closed = q < self->end;
    *cell = (PlaCell){ closed ? p + 1 : NULL, closed ? q : NULL };
    stop = closed ? memchr(q, self->separator, (size_t)(self->end - q)) : NULL;
    for (const char *r = q + 1; closed && r < (stop ? stop : self->end); r++)
      if (!is_blank(*r))
        *cell = (PlaCell){ p, stop ? stop : self->end }; /* quotes inside a plain cell */
  } else {
    stop = memchr(p, self->separator, (size_t)(self->end - p));
    *cell = (PlaCell){ p, stop ? stop : self->end };
  }
  while (cell->at && cell->end > cell->at && is_blank(cell->end[-1]))
    cell->end--;
  self->done = !stop;
  self->at = stop ? stop + 1 : self->end;
  return true;
}

int
pla_cells_count(const PlaText *line, char separator)
{
  PlaCells cells;
  PlaCell cell;
  int n = 0;
  pla_cells_init(&cells, line, separator);
  while (pla_cells_next(&cells, &cell))
    n++;
  return n;
}

bool
pla_cell_is(const PlaCell *cell, const char *expected)
{
  size_t n = strlen(expected);
  return cell->at && (size_t)(cell->end - cell->at) == n && strncasecmp(cell->at, expected, n) == 0;
}

PlaCellKind
pla_cell_number(const PlaCell *cell, bool decimal_comma, double *out)
{
  *out = NAN;
  if (!cell->at)
    return PLA_CELL_IS_TEXT;
  size_t n = (size_t)(cell->end - cell->at);
  if (n == 0 || pla_cell_is(cell, "nan") || pla_cell_is(cell, "-nan"))
    return PLA_CELL_IS_EMPTY;

  /* decimal digits only: strtod would take hexadecimal numbers and words too */
  char copy[64];
  bool comma = false;
  for (size_t i = 0; i < n; i++) {
    char c = cell->at[i];
    comma |= c == ',';
    if (!(c >= '0' && c <= '9') && !strchr(decimal_comma ? "+-.eE," : "+-.eE", c)) {
      PlaCell word = *cell;
      word.at += *word.at == '-' || *word.at == '+';
      return pla_cell_is(&word, "inf") || pla_cell_is(&word, "infinity") ? PLA_CELL_IS_INFINITE
                                                                         : PLA_CELL_IS_TEXT;
    }
  }
  const char *at = cell->at, *end = cell->end;
  if (comma) {
    if (n >= sizeof copy || memchr(at, '.', n))
      return PLA_CELL_IS_TEXT;
    for (size_t i = 0; i < n; i++)
      copy[i] = (char)(at[i] == ',' ? '.' : at[i]);
    at = copy;
    end = copy + n;
  }
  double value;
  if (pla_parse_double(at, end, &value) != end)
    return PLA_CELL_IS_TEXT;
  if (!isfinite(value))
    return PLA_CELL_IS_INFINITE;
  *out = value;
  return PLA_CELL_IS_NUMBER;
}

int
pla_cell_quote(const PlaCell *cell)
{
  ptrdiff_t n = cell->at ? cell->end - cell->at : 0;
  return n > 40 ? 40 : (int)n;
}

void
pla_cell_undouble_quotes(char *text)
{
  char *to = text;
  for (const char *from = text; *from; from++) {
    *to++ = *from;
    from += from[0] == '"' && from[1] == '"';
  }
  *to = '\0';
}

/* ---- what spreadsheets compute --------------------------------------------------------------- */

/* -3.5, +1e-6: nothing to compute */
static bool
is_plain_number(const char *text)
{
  const char *p = text + (*text == '-' || *text == '+');
  const size_t whole = strspn(p, "0123456789");
  p += whole;
  size_t part = 0;
  if (*p == '.') {
    part = strspn(p + 1, "0123456789");
    p += 1 + part;
  }
  if (whole + part == 0)
    return false;
  if (*p == 'e' || *p == 'E') {
    p += 1 + (p[1] == '-' || p[1] == '+');
    const size_t power = strspn(p, "0123456789");
    if (power == 0)
      return false;
    p += power;
  }
  return *p == '\0';
}

static bool
begins_formula(const char *text)
{
  return *text && strchr("=+-@\t\r", *text);
}

bool
pla_cell_needs_apostrophe(const char *text)
{
  const char *p = text + strspn(text, "'");
  return begins_formula(p) && (p != text || !is_plain_number(text));
}

void
pla_cell_drop_apostrophe(char *text)
{
  if (*text == '\'' && begins_formula(text + strspn(text, "'")))
    memmove(text, text + 1, strlen(text));
}

/* MATLAB 5 files (to version 7) of sensor tracks, through matio in a helper process.
 *
 * Which variable is the track:
 * 1. the first struct (array) with fields SRATE and SIGNAL, as articulograph corpora have them.
 * Each element is a sensor: NAME (else the variable's name), SRATE in Hz, SIGNAL with a sample in
 * each row.  One column is the channel NAME, two or more are NAME_x, NAME_y, NAME_z, NAME_4, ...
 * The rate of the first sensor with two or more columns, else the lowest, is the track's; elements
 * of another rate (the sound) are left out, which is said.  UNIT and START (s) are understood, and
 *    written.
 * 2. else the real matrix with most elements, a channel in each column, when a scalar called srate,
 *    fs, rate, rate_hz, samplerate or sample_rate gives the rate.
 *
 * matio trusts what a file says about itself.  So the tree of elements is walked here first: sizes
 * against what is there, dimensions against the numbers that follow, depth, and deflated data as
 * they really inflate.  Only then matio runs, confined. */
#include "io/formats/formats.h"
#include "io/formats/signals.h"
#include "io/stream/helper-process.h"
#include "io/stream/output.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"
#include "io/stream/text-table.h"

#include <limits.h>
#include <math.h>
#include <matio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

enum {
  HEADER = 128,          /* bytes */
  MAX_DEPTH = 8,         /* of cells and structs in each other */
  MAX_ELEMENTS = 100000, /* in a file */
  PIECE = 1 << 15,       /* bytes inflated at a time */
  ROWS_SENT = 1024,      /* samples in one message */
};

/* ---- the walk over the elements */

typedef struct {
  PlaReader reader;
  bool big_endian;
  int n_variables, n_elements;
  uint64_t n_decoded; /* bytes of all numbers */
  /* the variable being walked: so many bytes are left of it in the file */
  uint64_t left;
  uint64_t consumed; /* bytes of it, inflated, that were read */
  bool deflated, stream_ended;
  z_stream z;
  uint8_t in[PIECE];
} Walk;

static PlaStatus
fail_here(Walk *w, PlaError *err, const char *what)
{
  return pla_reader_fail_byte(&w->reader, err, "%s; save the file again from MATLAB", what);
}

/* up to @n bytes of the variable, inflated where needed; false at its end */
static bool
walk_read(Walk *w, void *out, size_t n)
{
  if (!w->deflated) {
    if (n > w->left || !pla_reader_read(&w->reader, out, n))
      return false;
    w->left -= n;
    w->consumed += n;
    return true;
  }
  w->z.next_out = out;
  w->z.avail_out = (uInt)n;
  while (w->z.avail_out > 0) {
    if (w->z.avail_in == 0 && w->left > 0) {
      size_t piece = w->left < PIECE ? (size_t)w->left : PIECE;
      if (!pla_reader_read(&w->reader, w->in, piece))
        return false;
      w->left -= piece;
      w->z.next_in = w->in;
      w->z.avail_in = (uInt)piece;
    }
    int rc = inflate(&w->z, Z_NO_FLUSH);
    w->stream_ended = rc == Z_STREAM_END;
    if ((rc != Z_OK && rc != Z_STREAM_END) || (rc == Z_STREAM_END && w->z.avail_out > 0))
      return false;
  }
  w->consumed += n;
  return true;
}

static bool
walk_skip(Walk *w, uint64_t n)
{
  uint8_t piece[4096];
  while (n > 0) {
    size_t step = n < sizeof piece ? (size_t)n : sizeof piece;
    if (!walk_read(w, piece, step))
      return false;
    n -= step;
  }
  return true;
}

static uint32_t
get_u32(const Walk *w, const uint8_t *p)
{
  return w->big_endian ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                       : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

typedef struct {
  uint32_t type;
  uint64_t size;   /* bytes of data */
  uint64_t padded; /* bytes with the fill to a multiple of 8 */
  bool is_small;   /* up to 4 bytes, which stand in the tag itself */
  uint8_t data[4];
} Tag;

static bool
read_tag(Walk *w, Tag *tag)
{
  uint8_t b[8];
  if (!walk_read(w, b, 8))
    return false;
  uint32_t first = get_u32(w, b);
  *tag = (Tag){ .type = first & 0xffff, .is_small = first >> 16 != 0 };
  tag->size = tag->is_small ? first >> 16 : get_u32(w, b + 4);
  tag->padded = tag->is_small ? 0 : (tag->size + 7) / 8 * 8;
  memcpy(tag->data, b + 4, 4);
  return !tag->is_small || tag->size <= 4;
}

/* the data of a short element, at most @max bytes */
static bool
read_short(Walk *w, const Tag *tag, uint8_t *out, size_t max)
{
  if (tag->size > max)
    return false;
  if (tag->is_small) {
    for (size_t i = 0; i < tag->size && i < sizeof tag->data; i++)
      out[i] = tag->data[i];
    return true;
  }
  return walk_read(w, out, (size_t)tag->size) && walk_skip(w, tag->padded - tag->size);
}

/* bytes of a stored number, 0 for other types */
static uint64_t
number_size(uint32_t type)
{
  switch (type) {
  case MAT_T_INT8:
  case MAT_T_UINT8:
  case MAT_T_UTF8:
    return 1;
  case MAT_T_INT16:
  case MAT_T_UINT16:
  case MAT_T_UTF16:
    return 2;
  case MAT_T_INT32:
  case MAT_T_UINT32:
  case MAT_T_SINGLE:
  case MAT_T_UTF32:
    return 4;
  case MAT_T_DOUBLE:
  case MAT_T_INT64:
  case MAT_T_UINT64:
    return 8;
  default:
    return 0;
  }
}

/* as many numbers as the dimensions say */
static PlaStatus
walk_numbers(Walk *w, uint64_t n, bool exact, PlaError *err)
{
  Tag tag;
  if (!read_tag(w, &tag) || number_size(tag.type) == 0)
    return fail_here(w, err, "numbers are expected here");
  if (exact ? tag.size != n * number_size(tag.type) : tag.size % number_size(tag.type) != 0)
    return fail_here(w, err, "an array has not as many numbers as its dimensions say");
  w->n_decoded += n * 8;
  if (!tag.is_small && !walk_skip(w, tag.padded))
    return fail_here(w, err, "an array ends early");
  return PLA_OK;
}

static PlaStatus walk_body(Walk *w, const Tag *tag, int depth, PlaError *err);

static PlaStatus
walk_matrix(Walk *w, int depth, PlaError *err)
{
  uint8_t flags[8], dims[4 * 8], short_data[8];
  Tag tag;
  if (++w->n_elements > MAX_ELEMENTS)
    return fail_here(w, err, "there are too many cells or fields for a track");
  if (!read_tag(w, &tag) || tag.type != MAT_T_UINT32 || tag.size != 8 ||
      !read_short(w, &tag, flags, 8))
    return fail_here(w, err, "the flags of an array are expected here");
  uint32_t bits = get_u32(w, flags);
  int class = (int)(bits & 0xff);
  bool is_complex = bits >> 11 & 1;
  if (!read_tag(w, &tag) || tag.type != MAT_T_INT32 || tag.size % 4 != 0 || tag.size < 8 ||
      !read_short(w, &tag, dims, sizeof dims))
    return fail_here(w, err, "the dimensions of an array (2 to 8) are expected here");
  uint64_t n = 1;
  for (size_t d = 0; d < tag.size / 4; d++) {
    uint64_t dim = get_u32(w, dims + 4 * d);
    if (dim > INT32_MAX || __builtin_mul_overflow(n, dim, &n) || n > UINT32_MAX)
      return fail_here(w, err, "the dimensions of an array are impossible");
  }
  if (!read_tag(w, &tag) || tag.type != MAT_T_INT8 || tag.size > 1024 ||
      (!tag.is_small && !walk_skip(w, tag.padded)))
    return fail_here(w, err, "the name of an array is expected here");

  if (class >= MAT_C_DOUBLE && class <= MAT_C_UINT64) {
    PlaStatus st = walk_numbers(w, n, true, err);
    return st == PLA_OK && is_complex ? walk_numbers(w, n, true, err) : st;
  }
  if (class == MAT_C_CHAR) /* UTF-8 may take several bytes a character */
    return walk_numbers(w, n, false, err);
  if (class != MAT_C_CELL && class != MAT_C_STRUCT)
    return fail_here(w, err,
                     "this file holds sparse matrices, objects or functions, which are not read");

  if (class == MAT_C_STRUCT) {
    if (!read_tag(w, &tag) || tag.type != MAT_T_INT32 || tag.size != 4 ||
        !read_short(w, &tag, short_data, 8))
      return fail_here(w, err, "the length of field names is expected here");
    uint64_t name_length = get_u32(w, short_data);
    if (name_length < 1 || name_length > 256 || !read_tag(w, &tag) || tag.type != MAT_T_INT8 ||
        tag.size % name_length != 0 || tag.size / name_length > 4096 ||
        (!tag.is_small && !walk_skip(w, tag.padded)))
      return fail_here(w, err, "the field names of a struct are expected here");
    n *= tag.size / name_length; /* below 2^32 x 2^12 */
  }
  if (depth >= MAX_DEPTH)
    return fail_here(w, err, "cells or structs are nested too deeply");
  for (uint64_t i = 0; i < n; i++) {
    if (!read_tag(w, &tag) || tag.type != MAT_T_MATRIX)
      return fail_here(w, err, "a cell or field is expected here");
    if (tag.size == 0) { /* an empty field has no body */
      if (++w->n_elements > MAX_ELEMENTS)
        return fail_here(w, err, "there are too many cells or fields for a track");
      continue;
    }
    PlaStatus st = walk_body(w, &tag, depth + 1, err);
    if (st != PLA_OK)
      return st;
  }
  return PLA_OK;
}

/* what stands after the tag of a matrix, which must be as long as the tag says */
static PlaStatus
walk_body(Walk *w, const Tag *tag, int depth, PlaError *err)
{
  uint64_t before = w->consumed;
  PlaStatus st = walk_matrix(w, depth, err);
  if (st == PLA_OK && w->consumed - before != tag->size)
    st = fail_here(w, err, "an array is not as long as it says");
  return st;
}

/* a deflated variable must be one whole zlib stream with nothing behind the matrix */
static PlaStatus
walk_deflated(Walk *w, PlaError *err)
{
  Tag tag;
  w->z = (z_stream){ 0 };
  if (inflateInit(&w->z) != Z_OK)
    return pla_fail_memory(err, w->reader.path);
  PlaStatus st = PLA_OK;
  if (!read_tag(w, &tag) || tag.type != MAT_T_MATRIX || tag.is_small)
    st = fail_here(w, err, "the compressed data are damaged");
  if (st == PLA_OK)
    st = walk_body(w, &tag, 0, err);
  uint8_t more;
  if (st == PLA_OK &&
      (walk_read(w, &more, 1) || !w->stream_ended || w->left > 0 || w->z.avail_in > 0))
    st = fail_here(w, err, "the compressed data do not end where they should");
  inflateEnd(&w->z);
  return st;
}

/* the whole file, variable by variable */
static PlaStatus
walk_file(Walk *w, PlaError *err)
{
  uint8_t head[HEADER];
  if (!pla_reader_read(&w->reader, head, HEADER))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s ends inside its header, after %llu bytes; copy it again", w->reader.path,
                    (unsigned long long)w->reader.size);
  bool little = head[126] == 'I' && head[127] == 'M';
  unsigned version = little ? head[125] : head[124];
  w->big_endian = head[126] == 'M' && head[127] == 'I';
  if (version == 2 || memcmp(head, "MATLAB 7.3", 10) == 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s is a MATLAB 7.3 (HDF5) file; save it with save(..., '-v7') or older",
                    w->reader.path);
  if (version != 1 || (!little && !w->big_endian))
    return pla_fail(err, PLA_ERR_FORMAT, "%s, byte 124: the mark of a MATLAB 5 file is missing",
                    w->reader.path);
  PlaStatus st = PLA_OK;
  while (st == PLA_OK && pla_reader_left(&w->reader) > 0) {
    uint8_t b[8];
    w->deflated = w->stream_ended = false;
    w->consumed = 0;
    w->n_variables++;
    if (!pla_reader_read(&w->reader, b, 8))
      return fail_here(w, err, "the file ends inside a tag");
    uint32_t type = get_u32(w, b);
    w->left = get_u32(w, b + 4);
    if (w->left > pla_reader_left(&w->reader))
      return fail_here(
          w, err, "a variable is longer than the rest of the file, which was probably cut short");
    if (type == MAT_T_COMPRESSED) {
      w->deflated = true;
      st = walk_deflated(w, err);
    } else if (type == MAT_T_MATRIX) {
      Tag tag = { .type = type, .size = w->left };
      st = walk_body(w, &tag, 0, err);
    } else {
      st = fail_here(w, err, "a variable is expected here");
    }
  }
  return st;
}

/* ---- in the helper: matio, and the choice of the track */

typedef struct {
  int n_samples, n_channels, n_left_out;
  double rate_hz, start_s;
  int single; /* 0 or 1; a bool of a hostile helper could be neither */
} Head;

/* one column of a matrix */
typedef struct {
  const matvar_t *matrix;
  size_t column;
  char name[80], unit[16];
} Channel;

static matvar_t *
field(matvar_t *var, size_t i, const char *name)
{
  unsigned n = Mat_VarGetNumberOfFields(var);
  char *const *names = Mat_VarGetStructFieldnames(var);
  for (unsigned f = 0; names && f < n; f++)
    if (names[f] && strcasecmp(names[f], name) == 0)
      return Mat_VarGetStructFieldByIndex(var, f, i);
  return NULL;
}

static bool
is_matrix(const matvar_t *v)
{
  return v && v->data && v->rank == 2 && !v->isComplex && v->class_type >= MAT_C_DOUBLE &&
         v->class_type <= MAT_C_UINT64 && v->dims[0] > 0 && v->dims[1] > 0;
}

static double
matrix_get(const matvar_t *v, size_t i)
{
  switch (v->class_type) {
  case MAT_C_DOUBLE:
    return ((const double *)v->data)[i];
  case MAT_C_SINGLE:
    return (double)((const float *)v->data)[i];
  case MAT_C_INT8:
    return ((const int8_t *)v->data)[i];
  case MAT_C_UINT8:
    return ((const uint8_t *)v->data)[i];
  case MAT_C_INT16:
    return ((const int16_t *)v->data)[i];
  case MAT_C_UINT16:
    return ((const uint16_t *)v->data)[i];
  case MAT_C_INT32:
    return ((const int32_t *)v->data)[i];
  case MAT_C_UINT32:
    return ((const uint32_t *)v->data)[i];
  case MAT_C_INT64:
    return (double)((const int64_t *)v->data)[i];
  default:
    return (double)((const uint64_t *)v->data)[i];
  }
}

static bool
scalar(const matvar_t *v, double *out)
{
  if (!is_matrix(v) || v->dims[0] != 1 || v->dims[1] != 1)
    return false;
  *out = matrix_get(v, 0);
  return isfinite(*out);
}

static void
text(const matvar_t *v, char *out, size_t room)
{
  out[0] = '\0';
  if (!v || v->class_type != MAT_C_CHAR || !v->data || v->rank != 2 || v->data_size < 1)
    return;
  /* UTF-8 may take several bytes a character */
  size_t n = v->data_type == MAT_T_UTF8 ? v->nbytes : v->dims[0] * v->dims[1], to = 0;
  for (size_t i = 0; i < n && to + 1 < room && (i + 1) * (size_t)v->data_size <= v->nbytes; i++) {
    unsigned c = v->data_size == 1 ? ((const uint8_t *)v->data)[i] : ((const uint16_t *)v->data)[i];
    out[to++] = (char)(c < 256 ? c : '?');
  }
  out[to] = '\0';
}

/* the columns of one sensor as channels; false when there are too many */
static bool
add_channels(PlaBytes *channels, const matvar_t *matrix, const char *name, const char *unit)
{
  size_t n = matrix->dims[1];
  for (size_t c = 0; c < n; c++) {
    Channel channel = { .matrix = matrix, .column = c };
    if (n == 1)
      snprintf(channel.name, sizeof channel.name, "%s", name);
    else if (c < 3)
      snprintf(channel.name, sizeof channel.name, "%.70s_%c", name, "xyz"[c]);
    else
      snprintf(channel.name, sizeof channel.name, "%.50s_%zu", name, c + 1);
    snprintf(channel.unit, sizeof channel.unit, "%s", unit);
    if (channels->size / sizeof channel >= PLA_MAX_COLUMNS ||
        !pla_bytes_append(channels, &channel, sizeof channel))
      return false;
  }
  return true;
}

/* rule 1: an array of sensors */
static PlaStatus
choose_sensors(matvar_t *var, const char *path, Head *head, PlaBytes *channels, PlaError *err)
{
  size_t n = 1;
  for (int d = 0; d < var->rank; d++)
    n *= var->dims[d];
  /* the rate of movement */
  double rate = 0.0, lowest = INFINITY, value;
  for (size_t i = 0; i < n; i++) {
    const matvar_t *signal = field(var, i, "SIGNAL");
    if (!is_matrix(signal) || !scalar(field(var, i, "SRATE"), &value) || !(value > 0))
      continue;
    lowest = fmin(lowest, value);
    if (rate == 0.0 && signal->dims[1] > 1)
      rate = value;
  }
  head->rate_hz = rate > 0 ? rate : lowest;
  size_t n_rows = 0;
  for (size_t i = 0; i < n; i++) {
    const matvar_t *signal = field(var, i, "SIGNAL");
    char name[64], unit[16];
    text(field(var, i, "NAME"), name, sizeof name);
    text(field(var, i, "UNIT"), unit, sizeof unit);
    if (!name[0])
      snprintf(name, sizeof name, n > 1 ? "%.40s_%zu" : "%.40s", var->name ? var->name : "C",
               i + 1);
    if (!is_matrix(signal) || !scalar(field(var, i, "SRATE"), &value) || value != head->rate_hz) {
      head->n_left_out++;
      continue;
    }
    if (n_rows == 0)
      n_rows = signal->dims[0];
    if (signal->dims[0] != n_rows)
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s: sensor %s has %zu samples and those before it %zu at the same rate; cut them to "
          "one length",
          path, name, signal->dims[0], n_rows);
    if (scalar(field(var, i, "START"), &value))
      head->start_s = value;
    if (!add_channels(channels, signal, name, unit))
      return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s has more than %d channels", path,
                      PLA_MAX_COLUMNS);
  }
  head->n_samples = (int)n_rows;
  return PLA_OK;
}

static bool
is_rate_name(const char *name)
{
  static const char *const names[] = { "srate",      "fs",          "rate", "rate_hz",
                                       "samplerate", "sample_rate", NULL };
  for (const char *const *n = names; name && *n; n++)
    if (strcasecmp(name, *n) == 0)
      return true;
  return false;
}

/* rule 1, else rule 2, over all variables */
static PlaStatus
choose(matvar_t *const *var, size_t n_vars, const char *path, Head *head, PlaBytes *channels,
       PlaError *err)
{
  const matvar_t *largest = NULL;
  double rate = 0.0, value;
  for (size_t i = 0; i < n_vars; i++) {
    matvar_t *v = var[i];
    if (v->class_type == MAT_C_STRUCT && field(v, 0, "SRATE") && field(v, 0, "SIGNAL")) {
      PlaStatus st = choose_sensors(v, path, head, channels, err);
      if (st != PLA_OK || head->n_samples > 0)
        return st;
    }
    if (is_rate_name(v->name) && scalar(v, &value) && value > 0)
      rate = value;
    if (is_matrix(v) && v->dims[0] * v->dims[1] > 1 &&
        (!largest || v->dims[0] * v->dims[1] > largest->dims[0] * largest->dims[1]))
      largest = v;
  }
  if (!largest)
    return pla_fail(
        err, PLA_ERR_EMPTY,
        "%s holds no track: neither a struct with SRATE and SIGNAL nor a matrix of numbers", path);
  if (rate == 0.0)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s: the rate of matrix %.60s is not stated; add a scalar called srate, in Hz",
                    path, largest->name ? largest->name : "");
  head->rate_hz = rate;
  head->n_samples = (int)largest->dims[0];
  if (!add_channels(channels, largest, largest->name ? largest->name : "C", ""))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s has more than %d channels", path,
                    PLA_MAX_COLUMNS);
  return PLA_OK;
}

static bool
send_track(PlaHelperPipe *pipe, const Head *head, const Channel *channel)
{
  const size_t n = (size_t)head->n_channels;
  double *rows = pla_array_new(ROWS_SENT * n, sizeof *rows);
  bool ok = rows && pla_helper_send(pipe, head, sizeof *head);
  for (size_t c = 0; c < n && ok; c++)
    ok = pla_helper_send(pipe, channel[c].name, sizeof channel[c].name) &&
         pla_helper_send(pipe, channel[c].unit, sizeof channel[c].unit);
  for (size_t at = 0; ok && at < (size_t)head->n_samples; at += ROWS_SENT) {
    size_t n_rows =
        (size_t)head->n_samples - at < ROWS_SENT ? (size_t)head->n_samples - at : ROWS_SENT;
    for (size_t c = 0; c < n; c++)
      for (size_t r = 0; r < n_rows; r++)
        rows[r * n + c] =
            matrix_get(channel[c].matrix, channel[c].column * channel[c].matrix->dims[0] + at + r);
    ok = pla_helper_send(pipe, rows, n_rows * n * sizeof *rows);
  }
  free(rows);
  return ok;
}

typedef struct {
  const char *path;
  size_t n_variables;
} Job;

static PlaStatus
mat_helper(const void *job, PlaHelperPipe *pipe, PlaError *err)
{
  const char *path = ((const Job *)job)->path;
  PlaBytes vars = { 0 }, channels = { 0 };
  Head head = { .single = 1 };
  PlaStatus st = PLA_OK;
  mat_t *mat = Mat_Open(path, MAT_ACC_RDONLY);
  if (!mat)
    return pla_fail(err, PLA_ERR_FORMAT, "%s cannot be opened as a MATLAB file", path);
  matvar_t *var;
  while (st == PLA_OK && (var = Mat_VarReadNext(mat)))
    if (!pla_bytes_append(&vars, &var, sizeof var))
      st = pla_fail_memory(err, path);
  if (st == PLA_OK && vars.size / sizeof var != ((const Job *)job)->n_variables)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s: variable %zu is damaged; save the file again from MATLAB", path,
                  vars.size / sizeof var + 1);
  if (st == PLA_OK)
    st = choose((matvar_t *const *)(void *)vars.data, vars.size / sizeof var, path, &head,
                &channels, err);
  const Channel *channel = (const Channel *)(void *)channels.data;
  head.n_channels = (int)(channels.size / sizeof *channel);
  for (int c = 0; c < head.n_channels; c++)
    head.single &= channel[c].matrix->class_type == MAT_C_SINGLE;
  if (st == PLA_OK && !send_track(pipe, &head, channel))
    st = pla_fail_memory(err, path);
  for (size_t i = 0; i < vars.size / sizeof var; i++)
    Mat_VarFree(((matvar_t **)(void *)vars.data)[i]);
  Mat_Close(mat);
  pla_bytes_clear(&vars);
  pla_bytes_clear(&channels);
  return st;
}

/* ---- outside */

static PlaStatus
receive_names(PlaHelper *helper, PlaTrack *track, bool *come, PlaError *err)
{
  Channel c;
  for (int i = 0; i < track->n_channels && *come; i++) {
    *come = pla_helper_read(helper, c.name, sizeof c.name) &&
            pla_helper_read(helper, c.unit, sizeof c.unit);
    if (!*come)
      break;
    track->name[i] = pla_name_dup(c.name, strnlen(c.name, sizeof c.name));
    track->unit[i] = pla_name_dup(c.unit, strnlen(c.unit, sizeof c.unit));
    if (!track->name[i] || !track->unit[i])
      return pla_fail_memory(err, "the channel names");
  }
  return PLA_OK;
}

static PlaStatus
receive(PlaHelper *helper, const char *path, uint64_t n_decoded, PlaItem *out, PlaError *err)
{
  Head head;
  PlaStatus st = PLA_OK;
  bool come = pla_helper_read(helper, &head, sizeof head);
  if (come && (head.n_samples < 1 || head.n_channels < 1 || head.n_channels > PLA_MAX_COLUMNS ||
               !(head.rate_hz > 0 && head.rate_hz < 1e9) || !isfinite(head.start_s) ||
               (uint64_t)head.n_samples * (uint64_t)head.n_channels * 8 > n_decoded))
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s: a track of %d samples, %d channels and %g Hz is impossible", path,
                  head.n_samples, head.n_channels, head.rate_hz);
  if (come && st == PLA_OK)
    st = pla_track_new(head.n_samples, head.n_channels, &out->track, err);
  if (come && st == PLA_OK) {
    out->kind = PLA_KIND_TRACK;
    out->track->rate_hz = head.rate_hz;
    out->track->start_s = head.start_s;
    out->track->single = head.single != 0;
    st = receive_names(helper, out->track, &come, err);
    if (head.n_left_out)
      pla_notes_add(&out->notes, "%d signals of another rate or kind are left out",
                    head.n_left_out);
  }
  if (st != PLA_OK) {
    pla_helper_abandon(helper);
    return st;
  }
  const size_t row = come ? (size_t)head.n_channels * sizeof(double) : 0;
  for (int at = 0; come && at < head.n_samples; at += ROWS_SENT) {
    size_t n = (size_t)(head.n_samples - at < ROWS_SENT ? head.n_samples - at : ROWS_SENT);
    come = pla_helper_read(helper, (char *)out->track->value + (size_t)at * row, n * row);
  }
  st = pla_helper_finish(helper, err);
  if (st == PLA_OK && !come)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s: its data end early; copy the file again", path);
  return st;
}

static PlaStatus
mat_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  *out = (PlaItem){ 0 };
  Walk *w = pla_array_new0(1, sizeof *w);
  if (!w)
    return pla_fail_memory(err, path);
  PlaStatus st = pla_reader_open(&w->reader, path, opts->progress, err);
  if (st == PLA_OK)
    st = walk_file(w, err);
  uint64_t n_decoded = w->n_decoded;
  Job job = { path, (size_t)w->n_variables };
  pla_reader_close(&w->reader);
  free(w);
  PlaHelper *helper = NULL;
  if (st == PLA_OK) {
    PlaHelperLimits limits = pla_helper_limits_default();
    limits.memory_bytes += (size_t)(3 * n_decoded);
    st = pla_helper_start(path, mat_helper, &job, &limits, opts->progress, &helper, err);
  }
  if (st == PLA_OK)
    st = receive(helper, path, n_decoded, out, err);
  const double *value = st == PLA_OK ? out->track->value : NULL;
  for (size_t i = 0;
       st == PLA_OK && i < (size_t)out->track->n_samples * (size_t)out->track->n_channels; i++)
    if (isinf(value[i]))
      st = pla_fail(err, PLA_ERR_FORMAT, "%s: channel %.80s is infinite in sample %zu", path,
                    out->track->name[i % (size_t)out->track->n_channels],
                    i / (size_t)out->track->n_channels + 1);
  if (st == PLA_OK)
    st = pla_names_finish(out->track->name, out->track->n_channels, "C", &out->notes, err);
  if (st != PLA_OK)
    pla_item_clear(out);
  return st;
}

static bool
mat_probe(const char *path, const uint8_t *head, size_t n_head)
{
  return n_head >= HEADER && memcmp(head, "MATLAB ", 7) == 0 &&
         (memcmp(head + 126, "IM", 2) == 0 || memcmp(head + 126, "MI", 2) == 0);
}

/* ---- writing: one sensor of one column for each channel */

static bool
set_field(matvar_t *var, const char *name, size_t i, enum matio_classes class,
          enum matio_types type, size_t n_rows, size_t n_columns, void *data)
{
  size_t dims[2] = { n_rows, n_columns };
  matvar_t *value = Mat_VarCreate(name, class, type, 2, dims, data, 0);
  if (value)
    Mat_VarSetStructFieldByName(var, name, i, value);
  return value != NULL;
}

/* As UTF-8, as long as it has characters: of other types, matio takes the length of compressed
 * texts for twice what it is, and nobody can read the file. */
static bool
set_text(matvar_t *var, const char *name, size_t i, const char *text)
{
  size_t n = 0;
  for (const char *at = text; *at; at++)
    n += ((unsigned char)*at & 0xc0) != 0x80;
  return set_field(var, name, i, MAT_C_CHAR, MAT_T_UTF8, 1, n, (void *)(uintptr_t)text);
}

static matvar_t *
make_struct(const PlaTrack *track)
{
  static const char *const fields[] = { "NAME", "SRATE", "SIGNAL", "UNIT", "START", NULL };
  const size_t n = (size_t)track->n_channels, n_rows = (size_t)track->n_samples;
  size_t dims[2] = { 1, n };
  matvar_t *var = Mat_VarCreateStruct2("track", 2, dims, fields);
  void *column = pla_array_new(n_rows, 8);
  bool ok = var && column;
  for (size_t c = 0; c < n && ok; c++) {
    for (size_t i = 0; i < n_rows; i++)
      pla_dtype_set(track->single ? PLA_F32 : PLA_F64, column, i, track->value[i * n + c]);
    const char *name = track->name[c] ? track->name[c] : "";
    const char *unit = track->unit[c] ? track->unit[c] : "";
    double rate = track->rate_hz, start = track->start_s;
    ok = set_text(var, "NAME", c, name) && set_text(var, "UNIT", c, unit) &&
         set_field(var, "SRATE", c, MAT_C_DOUBLE, MAT_T_DOUBLE, 1, 1, &rate) &&
         set_field(var, "START", c, MAT_C_DOUBLE, MAT_T_DOUBLE, 1, 1, &start) &&
         set_field(var, "SIGNAL", c, track->single ? MAT_C_SINGLE : MAT_C_DOUBLE,
                   track->single ? MAT_T_SINGLE : MAT_T_DOUBLE, n_rows, 1, column);
  }
  free(column);
  if (!ok && var)
    Mat_VarFree(var);
  return ok ? var : NULL;
}

static PlaStatus
mat_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  PlaOutput *output = NULL;
  PlaStatus st = pla_track_check_writable(item->track, path, err);
  matvar_t *var = NULL;
  if (st == PLA_OK && !(var = make_struct(item->track)))
    st = pla_fail_memory(err, path);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  if (st == PLA_OK) {
    /* a header of our own: matio's tells the time of day, which would make every file another */
    mat_t *mat = Mat_CreateVer(pla_output_get_temp_path(output),
                               "MATLAB 5.0 MAT-file, Platysma track", MAT_FT_MAT5);
    if (!mat || Mat_VarWrite(mat, var,
                             opts->uncompressed ? MAT_COMPRESSION_NONE : MAT_COMPRESSION_ZLIB) != 0)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be written; nothing was changed", path);
    if (mat && Mat_Close(mat) != 0 && st == PLA_OK)
      st = pla_fail(err, PLA_ERR_IO, "%s cannot be written to its end; nothing was changed", path);
  }
  if (var)
    Mat_VarFree(var);
  if (st == PLA_OK)
    return pla_output_commit(&output, 1, err);
  pla_output_discard(output);
  return st;
}

static const char *const extensions[] = { ".mat", NULL };

const PlaFormat pla_format_mat = {
  .id = "mat",
  .title = "MATLAB track",
  .extensions = extensions,
  .kind = PLA_KIND_TRACK,
  .probe = mat_probe,
  .read = mat_read,
  .write = mat_write,
};

/* Edinburgh Speech Tools tracks (.ema, .track, .est), as of articulograph corpora.
 *
 * A text header up to the line EST_Header_End, then for each frame its time in s, a flag (0: a
 * break, nothing was measured) where BreaksPresent is true, and the channels: words of text for
 * DataType ascii, 32-bit floats in the stated byte order for binary.  Auxiliary channels hold text
 * and are left out.  Times must be even; frames may be left out.
 *
 * The times are read in a first walk, the values in a second: what is refused for its times costs
 * no memory for its values. */
#include "io/formats/formats.h"
#include "io/formats/signals.h"
#include "io/stream/output.h"
#include "io/stream/reader.h"
#include "io/stream/source.h"
#include "io/stream/text-table.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaReader reader;
  bool binary, swap, breaks;
  int64_t n_frames, n_channels, n_aux;
  uint64_t data; /* offset of the first frame */
  int64_t data_line;
  char **name; /* owned (n_channels); NULL where the header names none */
} Est;

static void
est_clear(Est *e)
{
  for (int64_t c = 0; e->name && c < e->n_channels; c++)
    free(e->name[c]);
  free(e->name);
  pla_reader_close(&e->reader);
}

/* one header line: a key and the text after it */
static bool
split_line(const char *text, size_t len, PlaCell *key, PlaCell *value)
{
  PlaText line = { .at = text, .end = text + len };
  size_t n;
  if (!pla_text_word(&line, &key->at, &n))
    return false;
  key->end = key->at + n;
  value->at = key->end;
  value->end = text + len;
  while (value->at < value->end && (*value->at == ' ' || *value->at == '\t'))
    value->at++;
  while (value->end > value->at && (unsigned char)value->end[-1] <= ' ')
    value->end--;
  return true;
}

static PlaStatus
parse_count(const Est *e, const PlaCell *key, const PlaCell *value, int64_t max, int64_t *out,
            PlaError *err)
{
  PlaText text = { .at = value->at, .end = value->end };
  if (!pla_text_int64(&text, out) || *out < 0 || *out > max)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line %lld: %.*s is \"%.*s\", which is no count up to %lld", e->reader.path,
                    (long long)e->reader.line - 1, pla_cell_quote(key), key->at,
                    pla_cell_quote(value), value->at, (long long)max);
  return PLA_OK;
}

/* "Channel_3 ul_x": kept when the number of channels is known, which stands before the names */
static PlaStatus
parse_name(Est *e, const PlaCell *key, const PlaCell *value, PlaError *err)
{
  PlaText text = { .at = key->at + 8, .end = key->end };
  int64_t c;
  if (!pla_text_int64(&text, &c) || c < 0 || c >= e->n_channels)
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line %lld: %.*s is not one of the %lld channels",
                    e->reader.path, (long long)e->reader.line - 1, pla_cell_quote(key), key->at,
                    (long long)e->n_channels);
  if (!e->name && !(e->name = pla_array_new0((size_t)e->n_channels, sizeof *e->name)))
    return pla_fail_memory(err, e->reader.path);
  free(e->name[c]);
  e->name[c] = pla_name_dup(value->at, (size_t)(value->end - value->at));
  return e->name[c] ? PLA_OK : pla_fail_memory(err, e->reader.path);
}

static PlaStatus
parse_header(Est *e, PlaError *err)
{
  bool typed = false, big_endian = false;
  const char *text;
  size_t len;
  PlaStatus st = PLA_OK;
  e->n_frames = e->n_channels = -1;
  if (!pla_reader_line(&e->reader, &text, &len) || len < 14 ||
      memcmp(text, "EST_File Track", 14) != 0)
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line 1: 'EST_File Track' is expected here",
                    e->reader.path);
  for (;;) {
    PlaCell key, value;
    if (!pla_reader_line(&e->reader, &text, &len))
      return pla_reader_fail_line(&e->reader, err,
                                  "the header has no EST_Header_End; copy the file again");
    if (!split_line(text, len, &key, &value))
      continue;
    if (pla_cell_is(&key, "EST_Header_End"))
      break;
    bool one = pla_cell_is(&value, "true") || pla_cell_is(&value, "1");
    if (pla_cell_is(&key, "DataType")) {
      typed = pla_cell_is(&value, "ascii") || pla_cell_is(&value, "binary");
      e->binary = pla_cell_is(&value, "binary");
    } else if (pla_cell_is(&key, "ByteOrder")) {
      big_endian = pla_cell_is(&value, "10");
    } else if (pla_cell_is(&key, "BreaksPresent")) {
      e->breaks = one;
    } else if (pla_cell_is(&key, "NumFrames")) {
      st = parse_count(e, &key, &value, INT_MAX, &e->n_frames, err);
    } else if (pla_cell_is(&key, "NumChannels")) {
      if (e->name)
        return pla_reader_fail_line(&e->reader, err,
                                    "NumChannels stands after the names of channels");
      st = parse_count(e, &key, &value, PLA_MAX_COLUMNS, &e->n_channels, err);
    } else if (pla_cell_is(&key, "NumAuxChannels")) {
      st = parse_count(e, &key, &value, PLA_MAX_COLUMNS, &e->n_aux, err);
    } else if (key.end - key.at > 8 && memcmp(key.at, "Channel_", 8) == 0) {
      st = parse_name(e, &key, &value, err);
    }
    if (st != PLA_OK)
      return st;
  }
  e->data = pla_reader_tell(&e->reader);
  e->data_line = e->reader.line;
  e->swap = big_endian;
  if (!typed || e->n_frames < 0 || e->n_channels < 0)
    return pla_fail(err, PLA_ERR_FORMAT, "%s: its header does not state %s", e->reader.path,
                    !typed            ? "a DataType of ascii or binary"
                    : e->n_frames < 0 ? "NumFrames"
                                      : "NumChannels");
  if (e->n_channels == 0 || e->n_frames == 0)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "%s holds %lld frames of %lld channels: there is nothing to read",
                    e->reader.path, (long long)e->n_frames, (long long)e->n_channels);

  /* a float takes four bytes, a word of text two */
  uint64_t words =
      1 + (uint64_t)e->breaks + (uint64_t)e->n_channels + (e->binary ? 0 : (uint64_t)e->n_aux);
  uint64_t need = (uint64_t)e->n_frames * words * (e->binary ? 4 : 2) - (e->binary ? 0 : 1);
  if (need > e->reader.size - e->data)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s: %lld frames of %lld channels need %llu bytes at least and %llu are there; it was "
        "probably cut short, copy it again",
        e->reader.path, (long long)e->n_frames, (long long)e->n_channels, (unsigned long long)need,
        (unsigned long long)(e->reader.size - e->data));
  return PLA_OK;
}

/* the next number of a frame; @what names it in the sentence */
static PlaStatus
next_number(Est *e, int64_t frame, const char *what, double *out, PlaError *err)
{
  uint8_t bytes[4];
  if (!e->binary) {
    const char *word;
    size_t len;
    if (!pla_reader_word(&e->reader, &word, &len))
      return pla_reader_fail_line(&e->reader, err,
                                  "the file ends in frame %lld of %lld; copy it again",
                                  (long long)frame + 1, (long long)e->n_frames);
    PlaCell cell = { word, word + len };
    PlaCellKind kind = pla_cell_number(&cell, false, out);
    if (kind == PLA_CELL_IS_TEXT || kind == PLA_CELL_IS_INFINITE)
      return pla_reader_fail_line(&e->reader, err,
                                  "the %.80s of frame %lld is \"%.*s\", no finite number", what,
                                  (long long)frame + 1, pla_cell_quote(&cell), word);
    return PLA_OK;
  }
  if (!pla_reader_read(&e->reader, bytes, 4))
    return pla_reader_fail_byte(&e->reader, err,
                                "the file ends in frame %lld of %lld; copy it again",
                                (long long)frame + 1, (long long)e->n_frames);
  if (e->swap)
    pla_dtype_swap_bytes(PLA_F32, bytes, 1);
  float value;
  memcpy(&value, bytes, 4);
  *out = (double)value;
  if (isinf(value))
    return pla_reader_fail_byte(&e->reader, err, "the %.80s of frame %lld is infinite", what,
                                (long long)frame + 1);
  return PLA_OK;
}

/* Walks all frames: with @rows collects times, with @track stores values where they belong. */
static PlaStatus
walk_frames(Est *e, PlaRows *rows, const PlaTimeGrid *grid, PlaTrack *track, PlaError *err)
{
  PlaStatus st = PLA_OK;
  pla_reader_seek(&e->reader, e->data, e->data_line);
  for (int64_t f = 0; f < e->n_frames && st == PLA_OK; f++) {
    double time, flag = 1.0;
    st = next_number(e, f, "time", &time, err);
    if (st == PLA_OK && isnan(time))
      st = pla_fail(err, PLA_ERR_FORMAT, "%s: the time of frame %lld is no number", e->reader.path,
                    (long long)f + 1);
    if (st == PLA_OK && e->breaks)
      st = next_number(e, f, "break flag", &flag, err);
    int sample = track ? pla_time_grid_index(grid, rows, (size_t)f) : -1;
    for (int64_t c = 0; c < e->n_channels && st == PLA_OK; c++) {
      double value;
      st = next_number(e, f, e->name && e->name[c] ? e->name[c] : "value", &value, err);
      if (st == PLA_OK && sample >= 0)
        track->value[(size_t)sample * (size_t)e->n_channels + (size_t)c] =
            flag == 0.0 ? NAN : value;
    }
    const char *word;
    size_t len;
    for (int64_t a = 0; !e->binary && a < e->n_aux && st == PLA_OK; a++)
      if (!pla_reader_word(&e->reader, &word, &len))
        st = pla_reader_fail_line(&e->reader, err, "the file ends in frame %lld of %lld",
                                  (long long)f + 1, (long long)e->n_frames);
    if (st == PLA_OK && !track && !pla_rows_append(rows, &time, NULL))
      st = pla_fail_memory(err, e->reader.path);
  }
  return st;
}

static PlaStatus
est_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Est e = { 0 };
  PlaTimeGrid grid;
  PlaTrack *track = NULL;
  /* times are 32-bit numbers, in text often with six decimals */
  PlaRows rows = { .relative = 2.0 * (double)FLT_EPSILON };
  *out = (PlaItem){ 0 };
  PlaStatus st = pla_reader_open(&e.reader, path, opts->progress, err);
  if (st == PLA_OK)
    st = parse_header(&e, err);
  if (st == PLA_OK && !e.binary)
    rows.resolution = 0.5e-6;
  if (st == PLA_OK)
    st = walk_frames(&e, &rows, NULL, NULL, err);
  if (st == PLA_OK)
    st = pla_time_grid_fit(&rows, 0.0, path, &grid, &out->notes, err);
  if (st == PLA_OK)
    st = pla_track_new(grid.n_samples, (int)e.n_channels, &track, err);
  if (st == PLA_OK) {
    out->kind = PLA_KIND_TRACK;
    out->track = track;
    track->rate_hz = grid.rate_hz;
    /* a start on the grid that 32 bits blurred */
    double start = round(grid.start_s * grid.rate_hz) / grid.rate_hz;
    bool blurred = fabs(start - grid.start_s) <= (double)FLT_EPSILON * fabs(start);
    track->start_s = blurred ? start : grid.start_s;
    track->single = true;
    st = walk_frames(&e, &rows, &grid, track, err);
  }
  for (int64_t c = 0; c < e.n_channels && st == PLA_OK; c++) {
    if (e.name) {
      track->name[c] = e.name[c];
      e.name[c] = NULL;
    }
    track->unit[c] = pla_strdup("");
    if (!track->unit[c])
      st = pla_fail_memory(err, path);
  }
  for (size_t i = 0;
       st == PLA_OK && i < (size_t)track->n_samples * (size_t)e.n_channels && track->single; i++)
    track->single = pla_fits_single(track->value[i]);
  if (st == PLA_OK)
    st = pla_names_finish(track->name, track->n_channels, "C", &out->notes, err);
  if (st == PLA_OK && e.n_aux)
    pla_notes_add(&out->notes, "%lld auxiliary channels of text are left out", (long long)e.n_aux);
  if (st != PLA_OK)
    pla_item_clear(out);
  pla_rows_clear(&rows);
  est_clear(&e);
  return st;
}

static bool
est_probe(const char *path, const uint8_t *head, size_t n_head)
{
  return n_head > 14 && memcmp(head, "EST_File Track", 14) == 0;
}

/* a frame in which nothing was measured */
static bool
is_break(const PlaTrack *track, int i)
{
  for (int c = 0; c < track->n_channels; c++)
    if (!isnan(track->value[(size_t)i * (size_t)track->n_channels + (size_t)c]))
      return false;
  return true;
}

static void
put_number(FILE *file, bool as_text, bool big_endian, double value)
{
  if (as_text) {
    char number[32];
    fprintf(file, "%s ", pla_format_double(value, number));
    return;
  }
  float single = (float)value;
  if (big_endian)
    pla_dtype_swap_bytes(PLA_F32, &single, 1);
  fwrite(&single, 4, 1, file);
}

static PlaStatus
est_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaTrack *track = item->track;
  /* binary files hold 32-bit numbers, text holds any */
  const bool as_text = opts->text || !track->single;
  PlaOutput *output = NULL;
  PlaStatus st = pla_track_check_writable(track, path, err);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  FILE *file = pla_output_get_file(output);
  fprintf(file, "EST_File Track\nDataType %s\n", as_text ? "ascii" : "binary");
  if (!as_text)
    fprintf(file, "ByteOrder %s\n", opts->big_endian ? "10" : "01");
  fprintf(file,
          "NumFrames %d\nNumChannels %d\n%sEqualSpace 0\nBreaksPresent true\nCommentChar ;\n\n",
          track->n_samples, track->n_channels, as_text ? "NumAuxChannels 0\n" : "");
  for (int c = 0; c < track->n_channels; c++) {
    fprintf(file, "Channel_%d ", c);
    for (const char *p = track->name[c] ? track->name[c] : ""; *p; p++)
      fputc((unsigned char)*p <= ' ' ? '_' : *p, file);
    fputc('\n', file);
  }
  fputs("EST_Header_End\n", file);
  for (int i = 0; i < track->n_samples; i++) {
    bool gap = is_break(track, i);
    put_number(file, as_text, opts->big_endian, pla_sample_time(track->start_s, track->rate_hz, i));
    put_number(file, as_text, opts->big_endian, gap ? 0.0 : 1.0);
    for (int c = 0; c < track->n_channels; c++)
      put_number(file, as_text, opts->big_endian,
                 gap ? 0.0 : track->value[(size_t)i * (size_t)track->n_channels + (size_t)c]);
    if (as_text)
      fputc('\n', file);
    if (i % 1024 == 0 && !pla_progress_step(opts->progress, (double)i / track->n_samples)) {
      pla_output_discard(output);
      return pla_fail_cancelled(err);
    }
  }
  return pla_output_commit(&output, 1, err);
}

static const char *const extensions[] = { ".ema", ".track", ".est", NULL };

const PlaFormat pla_format_est = {
  .id = "est",
  .title = "Edinburgh Speech Tools track",
  .extensions = extensions,
  .kind = PLA_KIND_TRACK,
  .probe = est_probe,
  .read = est_read,
  .write = est_write,
};

/* TRC, the tab-separated marker files of motion capture systems.
 *
 *   PathFileType  4  (X/Y/Z)  walk.trc
 *   DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame
 * OrigNumFrames 120       120         2          1           mm     120           1 2 Frame#  Time
 * LIP X1   Y1   Z1
 *
 *   1       0     1.5  2    3
 *
 * An empty cell is a marker not seen; 0 is a place like any other.  The times decide where they
 * contradict the header's rate, and frames left out become frames without markers; both are said.
 */
#include "io/formats/formats.h"
#include "io/formats/signals.h"
#include "io/stream/output.h"
#include "io/stream/text-table.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaLines *lines;
  const char *path;
  double rate_hz, unit_mm;
  int n_frames, n_markers;
  char **name; /* owned (n_markers) */
  int64_t data_offset;
  int data_line;
} Trc;

static void
trc_clear(Trc *t)
{
  for (int m = 0; t->name && m < t->n_markers; m++)
    free(t->name[m]);
  free(t->name);
  pla_lines_free(t->lines);
}

static PlaStatus
next_line(Trc *t, PlaText *line, PlaError *err)
{
  PlaStatus st = pla_lines_next(t->lines, line, err);
  if (st == PLA_OK && !line->at)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s ends in its header, after line %d; copy the file again",
                  t->path, line->line - 1);
  return st;
}

/* lines 2 and 3: keys and values */
static PlaStatus
parse_keys(Trc *t, const PlaReadOptions *opts, PlaError *err)
{
  /* both lines are short; the keys are copied because the second line takes the buffer */
  char keys[1024];
  PlaText line;
  PlaStatus st = next_line(t, &line, err);
  if (st != PLA_OK)
    return st;
  size_t n = (size_t)(line.end - line.at);
  if (n > sizeof keys)
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line 2: DataRate, NumFrames, ... are expected here",
                    t->path);
  memcpy(keys, line.at, n);
  PlaText key_line = { .at = keys, .end = keys + n, .line = 2 };
  st = next_line(t, &line, err);
  if (st != PLA_OK)
    return st;

  double n_frames = -1.0, n_markers = -1.0;
  t->unit_mm = opts->unit_mm > 0 ? opts->unit_mm : 1.0;
  PlaCells key_cells, value_cells;
  PlaCell key, value;
  pla_cells_init(&key_cells, &key_line, '\t');
  pla_cells_init(&value_cells, &line, '\t');
  for (int c = 1; pla_cells_next(&key_cells, &key) && pla_cells_next(&value_cells, &value); c++) {
    double *to = pla_cell_is(&key, "DataRate")     ? &t->rate_hz
                 : pla_cell_is(&key, "NumFrames")  ? &n_frames
                 : pla_cell_is(&key, "NumMarkers") ? &n_markers
                                                   : NULL;
    if (to && pla_cell_number(&value, true, to) != PLA_CELL_IS_NUMBER)
      return pla_fail(err, PLA_ERR_FORMAT, "%s, line 3, column %d: %.*s is \"%.*s\", no number",
                      t->path, c, pla_cell_quote(&key), key.at, pla_cell_quote(&value),
                      value.at ? value.at : "");
    if (pla_cell_is(&key, "Units") && value.at && value.at < value.end &&
        !pla_length_unit_parse(value.at, (size_t)(value.end - value.at), &t->unit_mm))
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, line 3, column %d: the unit \"%.*s\" is not understood; use mm, cm, m or in",
          t->path, c, pla_cell_quote(&value), value.at);
  }
  if (!(t->rate_hz > 0 && t->rate_hz < 1e9))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line 3: a DataRate of %g Hz is impossible; correct it", t->path,
                    t->rate_hz);
  if (!(n_frames >= 0 && n_frames < INT_MAX) || n_frames != floor(n_frames))
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line 3: NumFrames is missing or no count", t->path);
  if (!(n_markers >= 1 && n_markers <= (PLA_MAX_COLUMNS - 2) / 3) || n_markers != floor(n_markers))
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line 3: NumMarkers must be 1 to %d", t->path,
                    (PLA_MAX_COLUMNS - 2) / 3);
  t->n_frames = (int)n_frames;
  t->n_markers = (int)n_markers;
  return PLA_OK;
}

/* line 4: Frame#, Time and a name above every third column */
static PlaStatus
parse_names(Trc *t, PlaError *err)
{
  PlaText line;
  PlaStatus st = next_line(t, &line, err);
  if (st != PLA_OK)
    return st;
  t->name = pla_array_new0((size_t)t->n_markers, sizeof *t->name);
  if (!t->name)
    return pla_fail_memory(err, t->path);
  PlaCells cells;
  PlaCell cell;
  pla_cells_init(&cells, &line, '\t');
  for (int c = 0; pla_cells_next(&cells, &cell); c++) {
    bool empty = !cell.at || cell.at == cell.end;
    if (c < 2 ? !pla_cell_is(&cell, c ? "Time" : "Frame#") : (c - 2) % 3 != 0 && !empty)
      return pla_fail(
          err, PLA_ERR_FORMAT,
          c < 2 ? "%s, line %d, column %d: Frame# and Time are expected here, not \"%.*s\""
                : "%s, line %d, column %d: a name stands here, \"%.*s\"; every marker takes "
                  "three columns",
          t->path, line.line, c + 1, pla_cell_quote(&cell), empty ? "" : cell.at);
    int m = (c - 2) / 3;
    if (c < 2 || empty)
      continue;
    if (m >= t->n_markers)
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, line %d, column %d: marker \"%.*s\" is more than the %d that NumMarkers says",
          t->path, line.line, c + 1, pla_cell_quote(&cell), cell.at, t->n_markers);
    t->name[m] = pla_name_dup(cell.at, (size_t)(cell.end - cell.at));
    if (!t->name[m])
      return pla_fail_memory(err, t->path);
  }
  return PLA_OK;
}

/* the line of X1 Y1 Z1, and blank lines up to the first row */
static PlaStatus
find_data(Trc *t, PlaError *err)
{
  PlaText line;
  PlaStatus st = next_line(t, &line, err);
  for (;;) {
    t->data_offset = pla_lines_get_offset(t->lines);
    t->data_line = line.line + 1;
    if (st == PLA_OK)
      st = pla_lines_next(t->lines, &line, err);
    if (st != PLA_OK || !line.at || !pla_line_is_blank(&line))
      return st;
  }
}

static PlaStatus
trc_open(Trc *t, const char *path, const PlaReadOptions *opts, PlaNotes *notes, PlaError *err)
{
  *t = (Trc){ .path = path };
  PlaText line;
  PlaStatus st = pla_lines_open(path, opts->progress, &t->lines, err);
  if (st == PLA_OK)
    st = next_line(t, &line, err);
  if (st == PLA_OK && (line.end - line.at < 12 || memcmp(line.at, "PathFileType", 12) != 0))
    st = pla_fail(err, PLA_ERR_FORMAT, "%s, line 1: a TRC file begins with PathFileType", path);
  if (st == PLA_OK)
    st = parse_keys(t, opts, err);
  if (st == PLA_OK)
    st = parse_names(t, err);
  if (st == PLA_OK)
    st = pla_names_finish(t->name, t->n_markers, "M", notes, err);
  return st == PLA_OK ? find_data(t, err) : st;
}

static PlaStatus
refuse_cell(const Trc *t, const PlaText *line, int c, const PlaCell *cell, PlaCellKind kind,
            PlaError *err)
{
  char who[128];
  if (c < 2)
    snprintf(who, sizeof who, "%s", c ? "time" : "frame");
  else
    snprintf(who, sizeof who, "marker %.80s, %c", t->name[(c - 2) / 3], 'X' + (c - 2) % 3);
  return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d, column %d (%s): \"%.*s\" is no %s%s", t->path,
                  line->line, c + 1, who, pla_cell_quote(cell), cell->at ? cell->at : "",
                  kind == PLA_CELL_IS_INFINITE ? "finite number"
                  : c == 0                     ? "frame number"
                                               : "number",
                  c < 2 ? "" : "; leave missing values empty");
}

/* one row, with every wrong cell named by line, column and marker */
static PlaStatus
parse_row(const void *table, const PlaText *line, double *row, double *time_s, int64_t *frame,
          PlaRows *rows, PlaError *err)
{
  const Trc *t = table;
  PlaCells cells;
  PlaCell cell;
  const int n_columns = 2 + 3 * t->n_markers;
  int c = 0;
  pla_cells_init(&cells, line, '\t');
  for (; pla_cells_next(&cells, &cell); c++) {
    double value;
    PlaCellKind kind = pla_cell_number(&cell, true, &value);
    if (c >= n_columns) {
      if (kind == PLA_CELL_IS_EMPTY)
        continue; /* tabs at the end */
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, line %d, column %d: more columns than %d markers need", t->path,
                      line->line, c + 1, t->n_markers);
    }
    bool whole = kind == PLA_CELL_IS_NUMBER && value == floor(value) && fabs(value) < 1e15;
    if (kind == PLA_CELL_IS_TEXT || kind == PLA_CELL_IS_INFINITE ||
        (c < 2 && kind == PLA_CELL_IS_EMPTY) || (c == 0 && !whole))
      return refuse_cell(t, line, c, &cell, kind, err);
    if (c == 0) {
      *frame = (int64_t)value;
    } else if (c == 1) {
      *time_s = value;
      if (rows)
        pla_rows_note_digits(rows, cell.at, cell.end);
    } else {
      row[c - 2] = value;
    }
    if (c >= 2 && (c - 2) % 3 == 2 && pla_position_is_half(&row[c - 4]))
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, line %d, column %d (marker %.80s): one coordinate is missing and another is "
          "there; empty all three where the marker was not seen",
          t->path, line->line, c - 1, t->name[(c - 2) / 3]);
  }
  if (c < n_columns)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, line %d: %d columns where %d markers need %d; the file may have been cut short",
        t->path, line->line, c, t->n_markers, n_columns);
  return PLA_OK;
}

static PlaStatus
trc_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Trc t = { 0 };
  PlaRows rows = { 0 };
  PlaTimeGrid grid;
  bool single = false;
  *out = (PlaItem){ 0 };
  PlaStatus st = trc_open(&t, path, opts, &out->notes, err);
  PlaRowSource source = { .lines = t.lines,
                          .path = path,
                          .offset = t.data_offset,
                          .line = t.data_line,
                          .width = 3 * (size_t)t.n_markers,
                          .timed = true,
                          .numbered = true,
                          .parse = parse_row,
                          .table = &t };
  if (st == PLA_OK)
    st = pla_rows_check(&source, &rows, &single, &out->notes, err);
  if (st == PLA_OK && rows.n < (size_t)t.n_frames)
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s ends after %zu of %d frames; the file was probably cut short, copy it again",
                  path, rows.n, t.n_frames);
  if (st == PLA_OK && rows.n > (size_t)t.n_frames)
    pla_notes_add(&out->notes, "the header says %d frames, the file holds %zu; all are read",
                  t.n_frames, rows.n);
  if (st == PLA_OK)
    st = pla_time_grid_fit(&rows, t.rate_hz, path, &grid, &out->notes, err);
  PlaTake *take = NULL;
  if (st == PLA_OK)
    st = pla_take_new(grid.n_samples, t.n_markers, &take, err);
  if (st == PLA_OK) {
    out->kind = PLA_KIND_TAKE;
    out->take = take;
    take->rate_hz = grid.rate_hz;
    take->start_s = grid.start_s;
    take->single = single;
    take->unit_mm = t.unit_mm;
    st = pla_rows_fill(&source, &rows, &grid, t.unit_mm, take->pos, err);
  }
  for (int m = 0; st == PLA_OK && m < t.n_markers; m++) {
    take->name[m] = t.name[m];
    t.name[m] = NULL;
  }
  if (st != PLA_OK)
    pla_item_clear(out);
  pla_rows_clear(&rows);
  trc_clear(&t);
  return st;
}

static bool
trc_probe(const char *path, const uint8_t *head, size_t n_head)
{
  size_t at = n_head >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  return n_head > at + 12 && memcmp(head + at, "PathFileType", 12) == 0;
}

static PlaStatus
trc_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaTake *take = item->take;
  PlaOutput *output = NULL;
  PlaStatus st = pla_take_check_writable(take, path, err);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  FILE *file = pla_output_get_file(output);
  const double unit_mm = pla_take_unit_mm(take);
  const int64_t first = pla_take_first_frame(take);
  const char *base = strrchr(path, '/');
  char rate[32];
  pla_format_double(take->rate_hz, rate);
  fprintf(file, "PathFileType\t4\t(X/Y/Z)\t%s\n", base ? base + 1 : path);
  fputs("DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\t"
        "OrigNumFrames\n",
        file);
  fprintf(file, "%s\t%s\t%d\t%d\t%s\t%s\t%lld\t%d\n", rate, rate, take->n_frames, take->n_markers,
          pla_length_unit_name(unit_mm), rate, (long long)first, take->n_frames);
  fputs("Frame#\tTime", file);
  for (int m = 0; m < take->n_markers; m++) {
    fputc('\t', file);
    const char *name = take->name[m] ? take->name[m] : "";
    for (const char *p = name; *p; p++)
      fputc((unsigned char)*p < ' ' || *p == '"' ? '_' : *p, file);
    fputs("\t\t", file);
  }
  fputs("\n\t", file);
  for (int m = 1; m <= take->n_markers; m++)
    fprintf(file, "\tX%d\tY%d\tZ%d", m, m, m);
  fputs("\n\n", file);
  return pla_take_write_rows(take, output, '\t', opts->progress, err);
}

static const char *const extensions[] = { ".trc", NULL };

const PlaFormat pla_format_trc = {
  .id = "trc",
  .title = "TRC markers",
  .extensions = extensions,
  .kind = PLA_KIND_TAKE,
  .probe = trc_probe,
  .read = trc_read,
  .write = trc_write,
};

/* Markers and sampled tracks as comma-separated text, and plain tables of EMA coils.
 *
 *   frame,time_s,LIP_x,LIP_y,LIP_z,...        markers, mm (or LIP_x_m, LIP_x_cm, ...)
 *   time_s,TT_x (mm),TT_y (mm),jaw_deg,...    a track; units in parentheses or as an ending
 *
 * Every column besides frame and time belonging to a full x, y, z triple makes a file of markers,
 * unless a unit stands in parentheses and no frame column is there: that is how a track with
 * three-dimensional sensors is written.  Separators are commas, semicolons or tabs; with the last
 * two a decimal comma is understood.  Empty cells (and NaN) are missing values.
 *
 * The third format has no names: "frames columns" on the first line, then rows of numbers.  With
 * 15 columns they are 0 and the midsagittal x, y in mm at 100 Hz of tongue rear, dorsum, blade and
 * tip, lower incisor, upper and lower lip.
 */
#include "io/formats/formats.h"
#include "io/formats/signals.h"
#include "io/stream/output.h"
#include "io/stream/source.h"
#include "io/stream/text-table.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum { COLUMN_FRAME, COLUMN_TIME, COLUMN_VALUE } ColumnRole;

typedef struct {
  ColumnRole role;
  char *name;    /* as it stands in the header, owned */
  size_t n_stem; /* length of the name without axis and unit */
  int axis;      /* 0..2, or -1 */
  char *unit;    /* owned, may be "" */
  bool bracket;  /* the unit stood in parentheses */
} Column;

typedef struct {
  PlaLines *lines;
  const char *path;
  char separator;
  bool decimal_comma;
  int n_columns;
  Column *column;
  int time_column, frame_column; /* -1: none */
  int first_value;               /* column index of the first value; the rest follow */
  double time_scale;             /* s per unit of the time column */
  int64_t data_offset;           /* where the first row begins */
  int data_line;
  bool markers;
  double unit_mm; /* of markers */
} Table;

static void
table_clear(Table *t)
{
  for (int c = 0; t->column && c < t->n_columns; c++) {
    free(t->column[c].name);
    free(t->column[c].unit);
  }
  free(t->column);
  pla_lines_free(t->lines);
}

/* units that may end a track's channel name after an underscore */
static const char *const unit_endings[] = { "mm", "cm",  "m",   "um",  "s", "ms",
                                            "hz", "khz", "deg", "rad", "n", "mn",
                                            "pa", "kpa", "v",   "mv",  NULL };

static bool
ends_with_unit(const char *name, size_t n, const char *unit)
{
  size_t m = strlen(unit);
  return n > m + 1 && name[n - m - 1] == '_' && strncasecmp(name + n - m, unit, m) == 0;
}

static bool
ends_with_axis(const char *name, size_t n)
{
  return n > 2 && strchr("_.:- ", name[n - 2]) && strchr("xyzXYZ", name[n - 1]);
}

/* takes name, unit and axis apart; false when memory is short */
static bool
column_parse(Column *c)
{
  size_t n = strlen(c->name);
  c->axis = -1;
  c->role = COLUMN_VALUE;
  if (n > 1 && (c->name[n - 1] == ')' || c->name[n - 1] == ']')) {
    char open = c->name[n - 1] == ')' ? '(' : '[';
    size_t at = n - 1;
    while (at > 0 && c->name[at] != open)
      at--;
    if (at > 0) {
      c->bracket = true;
      c->unit = pla_name_dup(c->name + at + 1, n - at - 2);
      n = at;
      while (n > 0 && c->name[n - 1] == ' ')
        n--;
    }
  }
  for (const char *const *u = unit_endings; *u && !c->unit; u++)
    if (ends_with_unit(c->name, n, *u)) {
      c->unit = pla_strdup(*u);
      n -= strlen(*u) + 1;
    }
  /* inches only after an axis: "flow_in" is a flow */
  if (!c->unit && ends_with_unit(c->name, n, "in") && ends_with_axis(c->name, n - 3)) {
    c->unit = pla_strdup("in");
    n -= 3;
  }
  if (!c->unit)
    c->unit = pla_strdup("");
  c->n_stem = n;
  if (ends_with_axis(c->name, n))
    c->axis = tolower((unsigned char)c->name[n - 1]) - 'x';
  return c->unit != NULL;
}

static const char *const frame_words[] = { "frame", "frame#", "frames", "frame number", NULL };
static const char *const time_words[] = { "time", "t", "times", "seconds", "timestamp", NULL };

static bool
stem_is(const Column *c, const char *const *words)
{
  for (; *words; words++)
    if (strlen(*words) == c->n_stem && strncasecmp(c->name, *words, c->n_stem) == 0)
      return true;
  return false;
}

static PlaStatus
parse_columns(Table *t, const PlaText *line, PlaError *err)
{
  t->n_columns = pla_cells_count(line, t->separator);
  if (t->n_columns > PLA_MAX_COLUMNS)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "%s, line %d: %d columns are more than the %d allowed", t->path, line->line,
                    t->n_columns, PLA_MAX_COLUMNS);
  t->column = pla_array_new0((size_t)t->n_columns, sizeof *t->column);
  if (!t->column)
    return pla_fail_memory(err, t->path);

  PlaCells cells;
  PlaCell cell;
  pla_cells_init(&cells, line, t->separator);
  for (int c = 0; pla_cells_next(&cells, &cell); c++) {
    Column *column = &t->column[c];
    if (!cell.at)
      return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d, column %d: a quote is not closed", t->path,
                      line->line, c + 1);
    column->name = pla_name_dup(cell.at, (size_t)(cell.end - cell.at));
    if (column->name) {
      pla_cell_undouble_quotes(column->name);
      pla_cell_drop_apostrophe(column->name);
    }
    if (!column->name || !column_parse(column))
      return pla_fail_memory(err, t->path);
    if (c < 2 && t->frame_column < 0 && !column->bracket && stem_is(column, frame_words)) {
      column->role = COLUMN_FRAME;
      t->frame_column = c;
    } else if (c < 2 && t->time_column < 0 && stem_is(column, time_words)) {
      column->role = COLUMN_TIME;
      t->time_column = c;
      bool milli = strcasecmp(column->unit, "ms") == 0;
      if (!milli && column->unit[0] && strcasecmp(column->unit, "s") != 0)
        return pla_fail(err, PLA_ERR_FORMAT,
                        "%s, line %d, column %d: times are in s or ms, not in \"%.40s\"", t->path,
                        line->line, c + 1, column->unit);
      t->time_scale = milli ? 1e-3 : 1.0;
    }
  }
  t->first_value = (t->frame_column >= 0) + (t->time_column >= 0);
  /* a separator at the end of each line */
  if (t->n_columns > t->first_value && t->column[t->n_columns - 1].name[0] == '\0') {
    t->n_columns--;
    free(t->column[t->n_columns].name);
    free(t->column[t->n_columns].unit);
  }
  if (t->time_column < 0 && t->frame_column < 0)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, line %d: neither of the first two columns is called time_s or frame, as in "
        "'frame,time_s,LIP_x,LIP_y,LIP_z' (markers) or 'time_s,jaw_deg' (a track)",
        t->path, line->line);
  if (t->first_value >= t->n_columns)
    return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d: there are no columns after the time",
                    t->path, line->line);
  return PLA_OK;
}

/* whether columns c, c+1, c+2 are x, y and z of one marker in one unit */
static bool
is_triple(const Table *t, int c)
{
  if (c + 3 > t->n_columns)
    return false;
  const Column *x = &t->column[c];
  for (int d = 0; d < 3; d++) {
    const Column *col = &t->column[c + d];
    if (col->axis != d || col->n_stem != x->n_stem ||
        strncmp(col->name, x->name, x->n_stem - 1) != 0 || strcasecmp(col->unit, x->unit) != 0)
      return false;
  }
  return true;
}

/* markers or track, and the markers' unit */
static PlaStatus
classify(Table *t, const PlaReadOptions *opts, PlaError *err)
{
  bool all = true, any = false, bracket = false;
  int odd = -1;
  for (int c = t->first_value; c < t->n_columns;) {
    bool triple = is_triple(t, c);
    any |= triple;
    all &= triple;
    if (!triple && odd < 0)
      odd = c;
    bracket |= t->column[c].bracket;
    c += triple ? 3 : 1;
  }
  t->markers = all && (t->frame_column >= 0 || !bracket);
  if (!t->markers && any && t->frame_column >= 0 && !bracket)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, line %d, column %d: %.60s is not part of a full x, y, z triple in one unit "
        "like the other markers; name the columns NAME_x, NAME_y, NAME_z",
        t->path, t->data_line - 1, odd + 1, t->column[odd].name);
  if (!t->markers)
    return PLA_OK;

  t->unit_mm = opts->unit_mm > 0 ? opts->unit_mm : 1.0;
  const char *unit = t->column[t->first_value].unit;
  if (unit[0] && !pla_length_unit_parse(unit, strlen(unit), &t->unit_mm))
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s, line %d: markers in \"%.40s\" are not understood; use mm, cm, m or in",
                    t->path, t->data_line - 1, unit);
  for (int c = t->first_value; c < t->n_columns; c += 3)
    if (strcasecmp(t->column[c].unit, unit) != 0)
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, line %d, column %d: %.60s has another unit than the first marker; give all "
          "of them the same",
          t->path, t->data_line - 1, c + 1, t->column[c].name);
  return PLA_OK;
}

/* the most frequent separator outside quotes; a tab, then a semicolon win over commas */
static char
find_separator(const PlaText *line)
{
  int n[3] = { 0, 0, 0 };
  bool quoted = false;
  for (const char *p = line->at; p < line->end; p++) {
    quoted ^= *p == '"';
    n[0] += !quoted && *p == '\t';
    n[1] += !quoted && *p == ';';
    n[2] += !quoted && *p == ',';
  }
  return n[0] ? '\t' : n[1] ? ';' : ',';
}

static PlaStatus
table_open(Table *t, const char *path, const PlaReadOptions *opts, PlaError *err)
{
  *t = (Table){ .path = path, .time_column = -1, .frame_column = -1, .time_scale = 1.0 };
  PlaStatus st = pla_lines_open(path, opts->progress, &t->lines, err);
  PlaText line = { 0 };
  /* comments and a spreadsheet's hint may stand before the header */
  while (st == PLA_OK) {
    st = pla_lines_next(t->lines, &line, err);
    if (st == PLA_OK && !line.at)
      return pla_fail(err, PLA_ERR_EMPTY, "%s holds no table; export it again", path);
    if (st != PLA_OK || (line.at < line.end && *line.at != '#' && !pla_line_is_blank(&line) &&
                         !(line.end - line.at == 5 && memcmp(line.at, "sep=", 4) == 0)))
      break;
  }
  if (st != PLA_OK)
    return st;
  t->separator = find_separator(&line);
  t->decimal_comma = t->separator != ',';
  t->data_line = line.line + 1;
  t->data_offset = pla_lines_get_offset(t->lines);
  st = parse_columns(t, &line, err);
  return st == PLA_OK ? classify(t, opts, err) : st;
}

/* "column 5 (marker LIP, y)" or "column 5 (TT_x)" */
static void
name_column(const Table *t, int c, char text[160])
{
  const Column *column = &t->column[c];
  if (t->markers && column->role == COLUMN_VALUE)
    snprintf(text, 160, "column %d (marker %.*s, %c)", c + 1,
             column->n_stem > 62 ? 60 : (int)column->n_stem - 2, column->name, 'x' + column->axis);
  else
    snprintf(text, 160, "column %d (%.60s)", c + 1, column->name);
}

/* Parses one row; what is wrong is named by line, column and marker. */
static PlaStatus
parse_row(const void *table, const PlaText *line, double *row, double *time_s, int64_t *frame,
          PlaRows *rows, PlaError *err)
{
  const Table *t = table;
  char where[160];
  PlaCells cells;
  PlaCell cell;
  int c = 0;
  pla_cells_init(&cells, line, t->separator);
  for (; pla_cells_next(&cells, &cell); c++) {
    if (c >= t->n_columns) {
      if (c == t->n_columns && cells.done && cell.at && cell.at == cell.end)
        continue; /* a separator at the end */
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, line %d: %d cells where the header names %d columns%s", t->path,
                      line->line, pla_cells_count(line, t->separator), t->n_columns,
                      t->separator == ',' ? "; decimal commas need semicolons between the cells"
                                          : "");
    }
    double value;
    PlaCellKind kind = pla_cell_number(&cell, t->decimal_comma, &value);
    if (c >= t->first_value && (kind == PLA_CELL_IS_NUMBER || kind == PLA_CELL_IS_EMPTY)) {
      row[c - t->first_value] = value;
      continue;
    }
    if (c == t->time_column && kind == PLA_CELL_IS_NUMBER) {
      *time_s = value * t->time_scale;
      if (rows)
        pla_rows_note_digits(rows, cell.at, cell.end);
      continue;
    }
    name_column(t, c, where);
    if (c == t->frame_column && kind == PLA_CELL_IS_NUMBER) {
      if (value != floor(value) || fabs(value) > 1e15)
        return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d, %s: %g is no frame number", t->path,
                        line->line, where, value);
      *frame = (int64_t)value;
      continue;
    }
    if (kind == PLA_CELL_IS_EMPTY)
      return pla_fail(err, PLA_ERR_FORMAT, "%s, line %d, %s: the cell is empty", t->path,
                      line->line, where);
    return pla_fail(
        err, PLA_ERR_FORMAT,
        kind == PLA_CELL_IS_INFINITE
            ? "%s, line %d, %s: \"%.*s\" is no finite number; leave missing values empty"
            : "%s, line %d, %s: \"%.*s\" is no number; leave missing values empty",
        t->path, line->line, where, pla_cell_quote(&cell), cell.at ? cell.at : "");
  }
  if (c < t->n_columns)
    return pla_fail(
        err, PLA_ERR_FORMAT,
        "%s, line %d: %d cells where the header names %d columns; the file may have been "
        "cut short",
        t->path, line->line, c, t->n_columns);
  for (int v = t->first_value; t->markers && v < t->n_columns; v += 3) {
    const double *pos = &row[v - t->first_value];
    if (pla_position_is_half(pos)) {
      int d = isnan(pos[0]) ? 0 : isnan(pos[1]) ? 1 : 2;
      name_column(t, v + d, where);
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, line %d, %s: one coordinate is missing and another is there; empty all "
                      "three where the marker was not seen",
                      t->path, line->line, where);
    }
  }
  return PLA_OK;
}

static PlaStatus
read_take(Table *t, const PlaRowSource *source, const PlaRows *rows, const PlaTimeGrid *grid,
          bool single, PlaItem *out, PlaError *err)
{
  PlaTake *take;
  PlaStatus st = pla_take_new(grid->n_samples, (t->n_columns - t->first_value) / 3, &take, err);
  if (st != PLA_OK)
    return st;
  out->kind = PLA_KIND_TAKE;
  out->take = take;
  take->rate_hz = grid->rate_hz;
  take->start_s = grid->start_s;
  take->single = single;
  take->unit_mm = t->unit_mm;
  for (int m = 0; m < take->n_markers && st == PLA_OK; m++) {
    const Column *c = &t->column[t->first_value + 3 * m];
    take->name[m] = pla_name_dup(c->name, c->n_stem - 2);
    if (!take->name[m])
      st = pla_fail_memory(err, t->path);
  }
  if (st == PLA_OK)
    st = pla_names_finish(take->name, take->n_markers, "M", &out->notes, err);
  return st == PLA_OK ? pla_rows_fill(source, rows, grid, t->unit_mm, take->pos, err) : st;
}

static PlaStatus
read_track(Table *t, const PlaRowSource *source, const PlaRows *rows, const PlaTimeGrid *grid,
           bool single, PlaItem *out, PlaError *err)
{
  PlaTrack *track;
  PlaStatus st = pla_track_new(grid->n_samples, t->n_columns - t->first_value, &track, err);
  if (st != PLA_OK)
    return st;
  out->kind = PLA_KIND_TRACK;
  out->track = track;
  track->rate_hz = grid->rate_hz;
  track->start_s = grid->start_s;
  track->single = single;
  for (int c = 0; c < track->n_channels && st == PLA_OK; c++) {
    Column *column = &t->column[t->first_value + c];
    track->name[c] = pla_name_dup(column->name, column->n_stem);
    track->unit[c] = column->unit;
    column->unit = NULL;
    if (!track->name[c])
      st = pla_fail_memory(err, t->path);
  }
  if (st == PLA_OK)
    st = pla_names_finish(track->name, track->n_channels, "C", &out->notes, err);
  return st == PLA_OK ? pla_rows_fill(source, rows, grid, 0.0, track->value, err) : st;
}

static PlaStatus
csv_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  Table t = { 0 };
  PlaRows rows = { 0 };
  PlaTimeGrid grid;
  bool single = false;
  *out = (PlaItem){ 0 };
  PlaStatus st = table_open(&t, path, opts, err);
  PlaRowSource source = { .lines = t.lines,
                          .path = path,
                          .offset = t.data_offset,
                          .line = t.data_line,
                          .width = (size_t)(t.n_columns - t.first_value),
                          .timed = t.time_column >= 0,
                          .numbered = t.frame_column >= 0,
                          .parse = parse_row,
                          .table = &t };
  if (st == PLA_OK)
    st = pla_rows_check(&source, &rows, &single, &out->notes, err);
  rows.resolution *= t.time_scale;
  if (st == PLA_OK)
    st = pla_time_grid_fit(&rows, 0.0, path, &grid, &out->notes, err);
  if (st == PLA_OK)
    st = (t.markers ? read_take : read_track)(&t, &source, &rows, &grid, single, out, err);
  if (st != PLA_OK)
    pla_item_clear(out);
  pla_rows_clear(&rows);
  table_clear(&t);
  return st;
}

/* the header of a file as a table; the caller clears it */
static bool
probe_header(const uint8_t *head, size_t n_head, Table *t)
{
  *t = (Table){ .path = "", .time_column = -1, .frame_column = -1, .time_scale = 1.0 };
  PlaText text = { .at = (const char *)head, .end = (const char *)head + n_head, .line = 1 }, line;
  if (n_head >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
    text.at += 3;
  do {
    if (!pla_text_next_line(&text, &line))
      return false;
  } while (line.at == line.end || *line.at == '#' ||
           (line.end - line.at >= 4 && memcmp(line.at, "sep=", 4) == 0));
  t->separator = find_separator(&line);
  PlaReadOptions opts = pla_read_options_default();
  return parse_columns(t, &line, NULL) == PLA_OK && classify(t, &opts, NULL) == PLA_OK;
}

static bool
markers_probe(const char *path, const uint8_t *head, size_t n_head)
{
  Table t;
  bool is = probe_header(head, n_head, &t) && t.markers;
  table_clear(&t);
  return is;
}

static bool
track_probe(const char *path, const uint8_t *head, size_t n_head)
{
  Table t;
  bool is = probe_header(head, n_head, &t) && !t.markers;
  table_clear(&t);
  return is;
}

/* a header cell, quoted where needed */
static void
write_name(FILE *file, const char *name, const char *ending)
{
  bool quote = strpbrk(name, ",;\t\"") || strpbrk(ending, ",;\t\"") || name[0] == ' ';
  if (quote)
    fputc('"', file);
  if (pla_cell_needs_apostrophe(name))
    fputc('\'', file);
  const char *const part[2] = { name, ending };
  for (int i = 0; i < 2; i++)
    for (const char *p = part[i]; *p; p++) {
      if (*p == '"')
        fputc('"', file);
      fputc((unsigned char)*p < ' ' ? '_' : *p, file);
    }
  if (quote)
    fputc('"', file);
}

static PlaStatus
markers_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaTake *take = item->take;
  PlaOutput *output = NULL;
  PlaStatus st = pla_take_check_writable(take, path, err);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  FILE *file = pla_output_get_file(output);
  double unit_mm = pla_take_unit_mm(take);
  fputs("frame,time_s", file);
  for (int m = 0; m < take->n_markers; m++)
    for (int d = 0; d < 3; d++) {
      char nameless[16], ending[16];
      snprintf(nameless, sizeof nameless, "M%d", m + 1);
      snprintf(ending, sizeof ending, "_%c%s%s", 'x' + d, unit_mm == 1.0 ? "" : "_",
               unit_mm == 1.0 ? "" : pla_length_unit_name(unit_mm));
      fputc(',', file);
      write_name(file, take->name[m] && take->name[m][0] ? take->name[m] : nameless, ending);
    }
  fputc('\n', file);
  return pla_take_write_rows(take, output, ',', opts->progress, err);
}

static PlaStatus
track_write(const char *path, const PlaItem *item, const PlaWriteOptions *opts, PlaError *err)
{
  const PlaTrack *track = item->track;
  PlaOutput *output = NULL;
  PlaStatus st = pla_track_check_writable(track, path, err);
  if (st == PLA_OK)
    st = pla_output_open(path, &output, err);
  if (st != PLA_OK)
    return st;
  FILE *file = pla_output_get_file(output);
  fputs("time_s", file);
  for (int c = 0; c < track->n_channels; c++) {
    const char *unit = track->unit[c] ? track->unit[c] : "";
    char nameless[16];
    snprintf(nameless, sizeof nameless, "C%d", c + 1);
    char *ending = pla_strdup_printf(" (%s)", unit);
    Column column = { .name = pla_strdup(track->name[c] && track->name[c][0] ? track->name[c]
                                                                             : nameless) };
    if (!ending || !column.name || !column_parse(&column))
      st = pla_fail_memory(err, "a channel name");
    else {
      /* empty parentheses keep a name that reads like an axis, a unit or a frame number */
      bool plain = !unit[0] && !column.unit[0] && !column.bracket && column.axis < 0 &&
                   !stem_is(&column, frame_words);
      fputc(',', file);
      write_name(file, column.name, plain ? "" : ending);
    }
    free(ending);
    free(column.name);
    free(column.unit);
  }
  fputc('\n', file);
  char number[32];
  for (int i = 0; i < track->n_samples && st == PLA_OK; i++) {
    fputs(pla_format_double(pla_sample_time(track->start_s, track->rate_hz, i), number), file);
    for (int c = 0; c < track->n_channels; c++) {
      double value = track->value[(size_t)i * (size_t)track->n_channels + (size_t)c];
      fputc(',', file);
      if (!isnan(value))
        fputs(pla_format_double(value, number), file);
    }
    fputc('\n', file);
    if (i % 1024 == 0 && !pla_progress_step(opts->progress, (double)i / track->n_samples))
      st = pla_fail_cancelled(err);
  }
  if (st != PLA_OK) {
    pla_output_discard(output);
    return st;
  }
  return pla_output_commit(&output, 1, err);
}

/* "frames columns" alone on the first line */
static bool
ema_header(PlaText *line, int *n_rows, int *n_columns)
{
  return pla_text_int(line, n_rows) && pla_text_int(line, n_columns) && pla_text_at_end(line) &&
         *n_rows > 0 && *n_columns > 0 && *n_columns <= PLA_MAX_COLUMNS;
}

static bool
ema_probe(const char *path, const uint8_t *head, size_t n_head)
{
  PlaText text = { .at = (const char *)head, .end = (const char *)head + n_head, .line = 1 }, line;
  int n_rows, n_columns;
  if (!pla_text_next_line(&text, &line) || !ema_header(&line, &n_rows, &n_columns) ||
      n_columns < 2 || !pla_text_next_line(&text, &line) || text.at >= text.end)
    return false;
  double value;
  int n = 0;
  while (pla_text_double(&line, &value))
    n++;
  return n == n_columns && pla_text_at_end(&line);
}

static PlaStatus
ema_names(PlaTrack *track, int n_columns, PlaNotes *notes, PlaError *err)
{
  static const char *const coil[] = { "TR", "TD", "TB", "TT", "LI", "UL", "LL" };
  for (int c = 0; c < track->n_channels; c++) {
    track->name[c] = n_columns == 15 ? pla_strdup_printf("%s_%c", coil[c / 2], "xy"[c % 2])
                                     : pla_strdup_printf("C%d", c + 1);
    track->unit[c] = pla_strdup(n_columns == 15 ? "mm" : "");
    if (!track->name[c] || !track->unit[c])
      return pla_fail_memory(err, "the channel names");
  }
  pla_notes_add(notes, n_columns == 15
                           ? "the file names neither channels nor rate; x and y in mm of TR TD TB "
                             "TT LI UL LL at 100 Hz are assumed"
                           : "the file names neither channels nor rate; 100 Hz is assumed");
  return PLA_OK;
}

static PlaStatus
ema_read(const char *path, const PlaReadOptions *opts, PlaItem *out, PlaError *err)
{
  PlaLines *lines = NULL;
  PlaText line;
  PlaTrack *track = NULL;
  int n_rows = 0, n_columns = 0;
  uint64_t size = 0;
  *out = (PlaItem){ 0 };
  PlaStatus st = pla_source_size(path, &size, err);
  if (st == PLA_OK)
    st = pla_lines_open(path, opts->progress, &lines, err);
  if (st == PLA_OK)
    st = pla_lines_next(lines, &line, err);
  if (st == PLA_OK && (!line.at || !ema_header(&line, &n_rows, &n_columns)))
    st = pla_fail(err, PLA_ERR_FORMAT,
                  "%s, line 1: the number of frames and of columns is expected here, as in '98 15'",
                  path);
  /* a number takes a digit and a blank at least */
  if (st == PLA_OK && (uint64_t)n_rows * (uint64_t)n_columns > (size + 1) / 2)
    st =
        pla_fail(err, PLA_ERR_FORMAT,
                 "%s, line 1: %d frames of %d columns cannot stand in a file of %llu bytes; it was "
                 "probably cut short",
                 path, n_rows, n_columns, (unsigned long long)size);
  /* the first of the 15 columns is always 0 */
  int skip = n_columns == 15;
  if (st == PLA_OK)
    st = pla_track_new(n_rows, n_columns - skip, &track, err);
  if (st == PLA_OK) {
    out->kind = PLA_KIND_TRACK;
    out->track = track;
    track->rate_hz = 100.0;
    st = ema_names(track, n_columns, &out->notes, err);
  }
  for (int r = 0; r < n_rows && st == PLA_OK; r++) {
    st = pla_lines_next(lines, &line, err);
    if (st == PLA_OK && (!line.at || pla_line_is_blank(&line)))
      st = pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, line %d: the data end after %d of %d frames; the file was probably cut short", path,
          line.line, r, n_rows);
    for (int c = 0; c < n_columns && st == PLA_OK; c++) {
      double value;
      if (!pla_text_double(&line, &value) || !isfinite(value))
        st = pla_fail(err, PLA_ERR_FORMAT, "%s, line %d, column %d%s%s: a number is expected here",
                      path, line.line, c + 1, c >= skip ? " of channel " : "",
                      c >= skip ? track->name[c - skip] : "");
      else if (c >= skip)
        track->value[(size_t)r * (size_t)track->n_channels + (size_t)(c - skip)] = value;
    }
    if (st == PLA_OK && !pla_line_is_blank(&line))
      st = pla_fail(err, PLA_ERR_FORMAT, "%s, line %d: more than the %d columns of line 1", path,
                    line.line, n_columns);
  }
  if (st == PLA_OK)
    st = pla_lines_next(lines, &line, err);
  if (st == PLA_OK && line.at && !pla_line_is_blank(&line))
    st = pla_fail(err, PLA_ERR_FORMAT, "%s, line %d: more than the %d frames of line 1", path,
                  line.line, n_rows);
  if (st != PLA_OK)
    pla_item_clear(out);
  pla_lines_free(lines);
  return st;
}

static const char *const csv_extensions[] = { ".csv", NULL };
static const char *const ema_extensions[] = { ".txt", NULL };

const PlaFormat pla_format_csv_markers = {
  .id = "csv-markers",
  .title = "Markers as comma-separated text",
  .extensions = csv_extensions,
  .kind = PLA_KIND_TAKE,
  .probe = markers_probe,
  .read = csv_read,
  .write = markers_write,
};

const PlaFormat pla_format_csv_track = {
  .id = "csv-track",
  .title = "Track as comma-separated text",
  .extensions = csv_extensions,
  .kind = PLA_KIND_TRACK,
  .probe = track_probe,
  .read = csv_read,
  .write = track_write,
};

const PlaFormat pla_format_ema_text = {
  .id = "ema-text",
  .title = "Plain table of articulograph coils",
  .extensions = ema_extensions,
  .kind = PLA_KIND_TRACK,
  .probe = ema_probe,
  .read = ema_read,
};

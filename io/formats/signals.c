/* Units, names and even sampling of takes and tracks. */
#include "io/formats/signals.h"

#include "io/stream/source.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
  const char *name;
  double mm;
} units[] = {
  { "mm", 1.0 },          { "cm", 10.0 },          { "m", 1000.0 },        { "in", 25.4 },
  { "millimeter", 1.0 },  { "millimeters", 1.0 },  { "millimetre", 1.0 },  { "millimetres", 1.0 },
  { "centimeter", 10.0 }, { "centimeters", 10.0 }, { "centimetre", 10.0 }, { "centimetres", 10.0 },
  { "meter", 1000.0 },    { "meters", 1000.0 },    { "metre", 1000.0 },    { "metres", 1000.0 },
  { "inch", 25.4 },       { "inches", 25.4 },
};

bool
pla_length_unit_parse(const char *name, size_t len, double *mm)
{
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strlen(units[i].name) == len && strncasecmp(units[i].name, name, len) == 0) {
      *mm = units[i].mm;
      return true;
    }
  return false;
}

const char *
pla_length_unit_name(double mm)
{
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (units[i].mm == mm)
      return units[i].name;
  return NULL;
}

double
pla_length_to_m(double value, double unit_mm)
{
  if (unit_mm == 1000.0)
    return value;
  if (unit_mm == 1.0)
    return value / 1000.0;
  return unit_mm == 10.0 ? value / 100.0 : value * (unit_mm / 1000.0);
}

double
pla_length_from_m(double value, double unit_mm)
{
  if (unit_mm == 1000.0)
    return value;
  if (unit_mm == 1.0)
    return value * 1000.0;
  return unit_mm == 10.0 ? value * 100.0 : value / (unit_mm / 1000.0);
}

double
pla_take_unit_mm(const PlaTake *take)
{
  return pla_length_unit_name(take->unit_mm) ? take->unit_mm : 1.0;
}

double
pla_take_coordinate(const PlaTake *take, size_t i, double unit_mm)
{
  double value = pla_length_from_m(take->pos[i], unit_mm);
  return take->single && unit_mm == pla_take_unit_mm(take) ? (double)(float)value : value;
}

int64_t
pla_take_first_frame(const PlaTake *take)
{
  double first = take->start_s * take->rate_hz;
  bool whole = fabs(first - round(first)) < 1e-3 && first > -0.5 && first < 1e15;
  return whole ? llround(first) + 1 : 1;
}

double
pla_sample_time(double start_s, double rate_hz, int i)
{
  /* where the start is a whole number of samples, one division gives the times without an
   * accumulated rounding */
  double first = start_s * rate_hz;
  if (round(first) / rate_hz == start_s)
    return (round(first) + i) / rate_hz;
  return start_s + i / rate_hz;
}

bool
pla_fits_single(double value)
{
  return isnan(value) || (fabs(value) <= FLT_MAX && (double)(float)value == value);
}

bool
pla_position_is_half(const double pos[3])
{
  return ((isnan(pos[0]) != 0) + (isnan(pos[1]) != 0) + (isnan(pos[2]) != 0)) % 3 != 0;
}

PlaStatus
pla_take_write_rows(const PlaTake *take, PlaOutput *output, char separator, PlaProgress *progress,
                    PlaError *err)
{
  FILE *file = pla_output_get_file(output);
  const double unit_mm = pla_take_unit_mm(take);
  const int64_t first = pla_take_first_frame(take);
  char number[32];
  for (int f = 0; f < take->n_frames; f++) {
    pla_format_double(pla_sample_time(take->start_s, take->rate_hz, f), number);
    fprintf(file, "%lld%c%s", (long long)(first + f), separator, number);
    for (int m = 0; m < take->n_markers; m++) {
      size_t at = ((size_t)f * (size_t)take->n_markers + (size_t)m) * 3;
      bool missing = isnan(take->pos[at]) || isnan(take->pos[at + 1]) || isnan(take->pos[at + 2]);
      for (size_t d = 0; d < 3; d++) {
        fputc(separator, file);
        if (!missing)
          fputs(pla_format_double(pla_take_coordinate(take, at + d, unit_mm), number), file);
      }
    }
    fputc('\n', file);
    if (f % 256 == 0 && !pla_progress_step(progress, (double)f / take->n_frames)) {
      pla_output_discard(output);
      return pla_fail_cancelled(err);
    }
  }
  return pla_output_commit(&output, 1, err);
}

/* the checks that takes and tracks share */
static PlaStatus
check_writable(const char *path, int n_rows, int n_columns, double rate_hz, const double *value,
               size_t per_column, char *const *name, PlaError *err)
{
  if (n_rows < 1 || n_columns < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "%s is not written: there is nothing to put into it", path);
  if (!(rate_hz > 0) || !isfinite(rate_hz))
    return pla_fail(err, PLA_ERR_USAGE, "%s is not written: a rate of %g Hz cannot be", path,
                    rate_hz);
  size_t row = (size_t)n_columns * per_column;
  for (size_t i = 0; i < (size_t)n_rows * row; i++)
    if (isinf(value[i])) {
      const char *who = name[i % row / per_column];
      return pla_fail(err, PLA_ERR_GEOMETRY, "%s is not written: %.100s is infinite in frame %zu",
                      path, who ? who : "a value", i / row + 1);
    }
  return PLA_OK;
}

PlaStatus
pla_take_check_writable(const PlaTake *take, const char *path, PlaError *err)
{
  return check_writable(path, take->n_frames, take->n_markers, take->rate_hz, take->pos, 3,
                        take->name, err);
}

PlaStatus
pla_track_check_writable(const PlaTrack *track, const char *path, PlaError *err)
{
  return check_writable(path, track->n_samples, track->n_channels, track->rate_hz, track->value, 1,
                        track->name, err);
}

static int
compare_names(const void *a, const void *b, void *data)
{
  char *const *name = data;
  int i = *(const int *)a, j = *(const int *)b;
  int order = strcmp(name[i], name[j]);
  return order ? order : (i > j) - (i < j);
}

PlaStatus
pla_names_finish(char **name, int n, const char *prefix, PlaNotes *notes, PlaError *err)
{
  int *order = pla_array_new((size_t)n, sizeof *order);
  if (!order)
    return pla_fail_memory(err, "the names");
  PlaStatus st = PLA_OK;
  int n_nameless = 0, n_repeated = 0, first_repeated = -1;
  for (int i = 0; i < n && st == PLA_OK; i++) {
    order[i] = i;
    if (name[i] && name[i][0])
      continue;
    n_nameless++;
    free(name[i]);
    name[i] = pla_strdup_printf("%s%d", prefix, i + 1);
    if (!name[i])
      st = pla_fail_memory(err, "the names");
  }

  /* a new name can meet an old one, hence the few rounds */
  bool again = n > 1;
  for (int round = 0; round < 4 && again && st == PLA_OK; round++) {
    again = false;
    qsort_r(order, (size_t)n, sizeof *order, compare_names, name);
    const char *kept = name[order[0]];
    for (int k = 1; k < n && st == PLA_OK; k++) {
      int i = order[k];
      if (strcmp(name[i], kept) != 0) {
        kept = name[i];
        continue;
      }
      char *other = pla_strdup_printf("%s#%d", name[i], i + 1);
      if (!other) {
        st = pla_fail_memory(err, "the names");
        break;
      }
      free(name[i]);
      name[i] = other;
      if (first_repeated < 0)
        first_repeated = i;
      n_repeated++;
      again = true;
    }
  }
  if (st == PLA_OK && n_nameless)
    pla_notes_add(notes, "%d of %d have no name and are called %s1, %s2, ... by their place",
                  n_nameless, n, prefix, prefix);
  if (st == PLA_OK && n_repeated)
    pla_notes_add(notes, "a name stands twice; the later one is called %.100s",
                  name[first_repeated]);
  free(order);
  return st;
}

void
pla_rows_clear(PlaRows *rows)
{
  pla_bytes_clear(&rows->time);
  pla_bytes_clear(&rows->frame);
}

bool
pla_rows_append(PlaRows *rows, const double *time_s, const int64_t *frame)
{
  rows->n++;
  return (!time_s || pla_bytes_append(&rows->time, time_s, sizeof *time_s)) &&
         (!frame || pla_bytes_append(&rows->frame, frame, sizeof *frame));
}

void
pla_rows_note_digits(PlaRows *rows, const char *at, const char *end)
{
  int decimals = 0, significant = 0;
  bool point = false;
  for (const char *p = at; p < end && *p != 'e' && *p != 'E'; p++) {
    point |= *p == '.' || *p == ',';
    if (*p >= '0' && *p <= '9') {
      decimals += point;
      significant += significant > 0 || *p != '0';
    }
  }
  const char *e = memchr(at, 'e', (size_t)(end - at));
  e = e ? e : memchr(at, 'E', (size_t)(end - at));
  double exponent = 0.0;
  if (e)
    pla_parse_double(e + 1, end, &exponent);
  double resolution = 0.5 * pow(10.0, exponent - decimals);
  if (rows->n == 0 || resolution < rows->resolution)
    rows->resolution = resolution;
  if (significant > rows->n_digits)
    rows->n_digits = significant;
}

/* "line 12" of a text, "frame 4" of anything else */
static void
name_row(const PlaRows *rows, size_t row, char text[32])
{
  if (rows->first_line)
    snprintf(text, 32, "line %zu", row + (size_t)rows->first_line);
  else
    snprintf(text, 32, "frame %zu", row + 1);
}

static double
time_of(const PlaRows *rows, size_t row)
{
  return ((const double *)(const void *)rows->time.data)[row];
}

static int64_t
frame_of(const PlaRows *rows, size_t row)
{
  return ((const int64_t *)(const void *)rows->frame.data)[row];
}

/* how far a printed time may lie from the true one, s */
static double
time_error(const PlaRows *rows, double time_s)
{
  double rounding = 4.0 * DBL_EPSILON * fabs(time_s);
  if (rows->n_digits > 0 && time_s != 0) {
    double last_digit = pow(10.0, floor(log10(fabs(time_s))) + 1.0 - rows->n_digits);
    rounding = fmax(rounding, 0.5 * last_digit);
  }
  return 1.001 * fmax(rows->resolution, rounding + rows->relative * fabs(time_s));
}

/* Steps along the rows: the sample number of each follows from the one before, so that an error in
 * the first guess of the period does not add up. */
typedef struct {
  const PlaRows *rows;
  double period_s; /* first guess; unused where frames are numbered */
  size_t row;
  int64_t index; /* sample number of `row` */
} Walk;

static bool
walk_next(Walk *w)
{
  if (++w->row >= w->rows->n)
    return false;
  if (w->rows->frame.size) {
    w->index = frame_of(w->rows, w->row) - frame_of(w->rows, 0);
  } else if (w->rows->time.size) {
    double steps = (time_of(w->rows, w->row) - time_of(w->rows, w->row - 1)) / w->period_s;
    w->index += llround(fmin(steps, 4e9)); /* more than any limit on the count */
  } else {
    w->index++;
  }
  return true;
}

/* the first row further than @slack periods (beyond its printed precision) from an even grid */
static size_t
first_off_grid(const PlaRows *rows, double period_s, double rate_hz, double slack)
{
  double start = time_of(rows, 0);
  Walk w = { .rows = rows, .period_s = period_s };
  while (walk_next(&w)) {
    double t = time_of(rows, w.row);
    double allowed = time_error(rows, t) + time_error(rows, start) + slack / rate_hz;
    if (!(fabs(t - start - (double)w.index / rate_hz) <= allowed))
      break;
  }
  return w.row;
}

/* the simplest rate that explains all times: whole, a broadcast rate, a whole
 * number of microseconds, few decimals, 32-bit, any */
static double
simplest_rate(const PlaRows *rows, double period_s, double raw_hz, double hint_hz)
{
  double candidate[24];
  int n = 0;
  if (hint_hz > 0)
    candidate[n++] = hint_hz;
  candidate[n++] = round(raw_hz);
  candidate[n++] = round(raw_hz * 1.001) / 1.001;
  candidate[n++] = 1e6 / round(1e6 / raw_hz);
  for (int digits = 3; digits <= 15; digits++) {
    double decade = pow(10.0, digits - 1 - floor(log10(raw_hz)));
    candidate[n++] = round(raw_hz * decade) / decade;
    if (digits == 9)
      candidate[n++] = (double)(float)raw_hz;
  }
  for (int c = 0; c < n; c++)
    if (candidate[c] > 0 && isfinite(candidate[c]) &&
        first_off_grid(rows, period_s, candidate[c], 0.0) == rows->n)
      return candidate[c];
  return raw_hz;
}

/* that frames and times rise; the shortest step in time, s */
static PlaStatus
check_order(const PlaRows *rows, const char *path, double *period, PlaError *err)
{
  const bool timed = rows->time.size > 0, numbered = rows->frame.size > 0;
  char where[32];
  *period = INFINITY;
  for (size_t r = 1; r < rows->n; r++) {
    if (numbered && frame_of(rows, r) <= frame_of(rows, r - 1)) {
      name_row(rows, r, where);
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, %s: frame %lld does not come after frame %lld; sort the frames", path,
                      where, (long long)frame_of(rows, r), (long long)frame_of(rows, r - 1));
    }
    if (timed && !(time_of(rows, r) > time_of(rows, r - 1))) {
      name_row(rows, r, where);
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, %s: time %.9g s does not come after %.9g s; sort the rows by time", path,
                      where, time_of(rows, r), time_of(rows, r - 1));
    }
    if (timed)
      *period = fmin(*period, time_of(rows, r) - time_of(rows, r - 1));
  }
  return PLA_OK;
}

/* frames that a file leaves out */
typedef struct {
  int64_t last;         /* sample number of the last row */
  int64_t widest;       /* longest step between rows, in samples */
  int64_t widest_after; /* the row that ends it */
} Holes;

/* sample numbers, with a limit on the holes that a wrong number would tear */
static PlaStatus
find_holes(const PlaRows *rows, double period, const char *path, Holes *out, PlaError *err)
{
  const int64_t max_samples = 2 * (int64_t)rows->n + 1000;
  Walk w = { .rows = rows, .period_s = period };
  *out = (Holes){ 0 };
  while (walk_next(&w)) {
    if (w.index - out->last > out->widest) {
      out->widest = w.index - out->last;
      out->widest_after = (int64_t)w.row;
    }
    if (w.index > max_samples || w.index < 0 || w.index >= INT_MAX) {
      char where[32];
      name_row(rows, w.row, where);
      return pla_fail(
          err, PLA_ERR_FORMAT,
          "%s, %s: %lld frames are left out here, more than the file holds; correct the "
          "frame number or the time",
          path, where, (long long)(w.index - out->last - 1));
    }
    out->last = w.index;
  }
  return PLA_OK;
}

/* the sentence for times that are not evenly spaced; @off: the first row that misses the grid */
static PlaStatus
fail_uneven(const PlaRows *rows, double period, size_t off, const char *path, PlaError *err)
{
  char where[32];
  /* a step that is no multiple of the shortest one tells more than where the grid is missed */
  for (size_t r = 1; r < rows->n; r++) {
    double steps = (time_of(rows, r) - time_of(rows, r - 1)) / period;
    double expected =
        rows->frame.size > 0 ? (double)(frame_of(rows, r) - frame_of(rows, r - 1)) : round(steps);
    if (fabs(steps - expected) > 0.1) {
      off = r;
      break;
    }
  }
  name_row(rows, off, where);
  return pla_fail(err, PLA_ERR_FORMAT,
                  "%s, %s: time %.9g s does not fit even sampling every %.6g s; resample the data "
                  "evenly",
                  path, where, time_of(rows, off), period);
}

/* the rate by the times, or by the header where they agree or there are none */
static PlaStatus
find_rate(const PlaRows *rows, double period, int64_t last, double hint_hz, const char *path,
          double *rate_hz, PlaNotes *notes, PlaError *err)
{
  if (rows->n == 1) {
    *rate_hz = hint_hz > 0 ? hint_hz : 1.0;
    if (!hint_hz)
      pla_notes_add(notes, "one frame does not tell a rate; 1 Hz is assumed");
    return PLA_OK;
  }
  if (rows->time.size == 0) {
    *rate_hz = hint_hz;
    return hint_hz ? PLA_OK
                   : pla_fail(err, PLA_ERR_FORMAT,
                              "%s states neither times nor a rate; add a column time_s", path);
  }
  double raw = (double)last / (time_of(rows, rows->n - 1) - time_of(rows, 0));
  if (!(raw > 1e-6 && raw < 1e9))
    return pla_fail(err, PLA_ERR_FORMAT, "%s: its times mean a rate of %g Hz, which cannot be",
                    path, raw);
  size_t off = first_off_grid(rows, period, raw, 0.05);
  if (off < rows->n)
    return fail_uneven(rows, period, off, path, err);
  *rate_hz = simplest_rate(rows, period, raw, hint_hz);
  if (hint_hz > 0 && *rate_hz != hint_hz) {
    if (fabs(hint_hz - raw) <= 1e-4 * raw)
      *rate_hz = hint_hz;
    else
      pla_notes_add(notes, "the header says %.9g Hz, the times say %.9g Hz; the times are used",
                    hint_hz, *rate_hz);
  }
  return PLA_OK;
}

PlaStatus
pla_time_grid_fit(const PlaRows *rows, double hint_hz, const char *path, PlaTimeGrid *out,
                  PlaNotes *notes, PlaError *err)
{
  const bool timed = rows->time.size > 0, numbered = rows->frame.size > 0;
  double period;
  Holes holes;
  *out = (PlaTimeGrid){ .n_samples = 1 };
  if (rows->n == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "%s has a header and no frames; export it again", path);
  if (!(hint_hz > 0) || !isfinite(hint_hz))
    hint_hz = 0.0;
  PlaStatus st = check_order(rows, path, &period, err);
  if (st == PLA_OK)
    st = find_holes(rows, period, path, &holes, err);
  if (st == PLA_OK) {
    out->n_samples = (int)(holes.last + 1);
    st = find_rate(rows, period, holes.last, hint_hz, path, &out->rate_hz, notes, err);
  }
  if (st != PLA_OK)
    return st;
  out->start_s = timed      ? time_of(rows, 0)
                 : numbered ? (double)(frame_of(rows, 0) - 1) / out->rate_hz
                            : 0.0;
  const int64_t missing = holes.last + 1 - (int64_t)rows->n;
  if (missing > 0) {
    char where[32];
    name_row(rows, (size_t)holes.widest_after, where);
    pla_notes_add(notes,
                  "%lld frames are left out of the file (the longest run, %lld, before %s); their "
                  "values are missing",
                  (long long)missing, (long long)(holes.widest - 1), where);
  }
  return PLA_OK;
}

int
pla_time_grid_index(const PlaTimeGrid *line, const PlaRows *rows, size_t row)
{
  int64_t index = 0;
  if (row >= rows->n)
    return -1;
  if (rows->frame.size)
    index = frame_of(rows, row) - frame_of(rows, 0);
  else if (rows->time.size)
    index = llround((time_of(rows, row) - line->start_s) * line->rate_hz);
  else
    index = (int64_t)row;
  return index >= 0 && index < line->n_samples ? (int)index : -1;
}

PlaStatus
pla_rows_check(const PlaRowSource *source, PlaRows *rows, bool *single, PlaNotes *notes,
               PlaError *err)
{
  *rows = (PlaRows){ .first_line = source->line };
  *single = true;
  int blank = 0; /* line number of a blank line; such may stand at the end only */
  double *row = pla_array_new(source->width, sizeof *row);
  PlaStatus st = row ? pla_lines_seek(source->lines, source->offset, source->line, err)
                     : pla_fail_memory(err, source->path);
  while (st == PLA_OK) {
    PlaText line;
    double time_s = 0.0;
    int64_t frame = 0;
    st = pla_lines_next(source->lines, &line, err);
    if (st != PLA_OK || !line.at)
      break;
    if (pla_line_is_blank(&line)) {
      blank = blank ? blank : line.line;
      continue;
    }
    if (blank)
      st = pla_fail(err, PLA_ERR_FORMAT, "%s, line %d: a blank line stands among the data",
                    source->path, blank);
    if (st == PLA_OK)
      st = source->parse(source->table, &line, row, &time_s, &frame, rows, err);
    if (st == PLA_OK &&
        !pla_rows_append(rows, source->timed ? &time_s : NULL, source->numbered ? &frame : NULL))
      st = pla_fail_memory(err, source->path);
    for (size_t c = 0; st == PLA_OK && c < source->width && *single; c++)
      *single = pla_fits_single(row[c]);
  }
  if (st == PLA_OK && rows->n > 0 && pla_lines_get_unfinished(source->lines))
    pla_notes_add(notes,
                  "the last line has no line end; if the file was cut short, its last number "
                  "may be wrong");
  free(row);
  return st;
}

PlaStatus
pla_rows_fill(const PlaRowSource *source, const PlaRows *rows, const PlaTimeGrid *grid,
              double unit_mm, double *value, PlaError *err)
{
  double *row = pla_array_new(source->width, sizeof *row);
  PlaStatus st = row ? pla_lines_seek(source->lines, source->offset, source->line, err)
                     : pla_fail_memory(err, source->path);
  for (size_t r = 0; st == PLA_OK && r < rows->n; r++) {
    PlaText line;
    double time_s;
    int64_t frame;
    st = pla_lines_next(source->lines, &line, err);
    if (st == PLA_OK && !line.at)
      st = pla_fail(err, PLA_ERR_IO, "%s changed while it was read; try again", source->path);
    if (st == PLA_OK)
      st = source->parse(source->table, &line, row, &time_s, &frame, NULL, err);
    int sample = pla_time_grid_index(grid, rows, r);
    if (st != PLA_OK || sample < 0)
      continue;
    double *to = value + (size_t)sample * source->width;
    for (size_t c = 0; c < source->width; c++)
      to[c] = unit_mm > 0 ? pla_length_to_m(row[c], unit_mm) : row[c];
  }
  free(row);
  return st;
}

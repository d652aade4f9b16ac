/* What the readers and writers of takes and tracks share: length units, names, even sampling. */
#pragma once

#include "anatomy/base/memory.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/signal/signal.h"
#include "io/stream/output.h"
#include "io/stream/text-table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Millimetres per unit of a length called "mm", "Meters", "in", ...; false for an unknown name. */
bool pla_length_unit_parse(const char *name, size_t len, double *mm);
const char *pla_length_unit_name(double mm); /* "mm", "cm", "m", "in"; NULL for any other */

/* Between a file's unit and metres.  Decimal units divide and multiply by powers of ten, which are
 * exact, so that a value comes back within 2 ulp. */
double pla_length_to_m(double value, double unit_mm);
double pla_length_from_m(double value, double unit_mm);

/* The unit in which @take is written: that of its file if it has a name, else millimetres. */
double pla_take_unit_mm(const PlaTake *take);
/* Coordinate @i of @take in the unit @unit_mm; exactly the number that was read where the take
 * came from 32-bit numbers in this unit. */
double pla_take_coordinate(const PlaTake *take, size_t i, double unit_mm);
/* Number of the take's first frame, counted from 1 at time 0; 1 where that is no whole number. */
int64_t pla_take_first_frame(const PlaTake *take);
/* Time of sample @i, s. */
double pla_sample_time(double start_s, double rate_hz, int i);

/* Whether a 32-bit number holds @value exactly; NaN counts. */
bool pla_fits_single(double value);
/* Whether one or two of three coordinates are missing. */
bool pla_position_is_half(const double pos[3]);
/* The rows of a text table: frame number, time, coordinates; three empty cells where a marker is
 * missing.  Commits @output, or discards it on failure. */
PlaStatus pla_take_write_rows(const PlaTake *take, PlaOutput *output, char separator,
                              PlaProgress *progress, PlaError *err);

/* Whether a file can hold it: at least one frame and marker (channel), a rate, no infinite number.
 */
PlaStatus pla_take_check_writable(const PlaTake *take, const char *path, PlaError *err);
PlaStatus pla_track_check_writable(const PlaTrack *track, const char *path, PlaError *err);

/* Gives names to the nameless ("PREFIX7") and makes repeated ones differ ("LIP#7"), with a note. */
PlaStatus pla_names_finish(char **name, int n, const char *prefix, PlaNotes *notes, PlaError *err);

/* When each row of a table was sampled. */
typedef struct {
  PlaBytes time;  /* double each, s; none when the file has no times */
  PlaBytes frame; /* int64_t each; none when the file has no frame numbers */
  size_t n;
  int first_line;    /* line of row 0; rows stand on lines without gaps; 0: no text, count rows */
  double resolution; /* half a unit in the last decimal of the times, s */
  int n_digits;      /* most significant digits of a time; 0: not from text */
  double relative;   /* error of times from binary files as a part of the time */
} PlaRows;
void pla_rows_clear(PlaRows *rows);
/* One more row; NULL where a column does not exist. */
bool pla_rows_append(PlaRows *rows, const double *time_s, const int64_t *frame);
/* Notes the precision to which the text of a time was given. */
void pla_rows_note_digits(PlaRows *rows, const char *at, const char *end);

/* The even grid that the rows lie on.  @hint_hz: the rate that the file states, or 0.  Rows may be
 * left out (holes), not uneven.  The simplest rate that explains every time to its printed
 * precision is taken. */
typedef struct {
  double rate_hz, start_s;
  int n_samples; /* holes included */
} PlaTimeGrid;
PlaStatus pla_time_grid_fit(const PlaRows *rows, double hint_hz, const char *path, PlaTimeGrid *out,
                            PlaNotes *notes, PlaError *err);
/* Sample number of a row. */
int pla_time_grid_index(const PlaTimeGrid *line, const PlaRows *rows, size_t row);

/* Rows of text that are walked twice: once to check every cell, once to store them, so that a
 * damaged file is refused before anything large is allocated. */
typedef struct {
  PlaLines *lines;
  const char *path;
  int64_t offset; /* where the first row begins */
  int line;       /* and its number */
  size_t width;   /* values in a row */
  bool timed, numbered;
  /* Reads row[width], NaN where empty, and the time and frame number where there are such columns.
   * @rows, NULL in the second walk, learns how precise the times are. */
  PlaStatus (*parse)(const void *table, const PlaText *line, double *row, double *time_s,
                     int64_t *frame, PlaRows *rows, PlaError *err);
  const void *table;
} PlaRowSource;
/* *single: every value fits 32 bits. */
PlaStatus pla_rows_check(const PlaRowSource *source, PlaRows *rows, bool *single, PlaNotes *notes,
                         PlaError *err);
/* @value (samples of the grid x width) gets the rows in metres, or as they are where unit_mm is 0.
 */
PlaStatus pla_rows_fill(const PlaRowSource *source, const PlaRows *rows, const PlaTimeGrid *grid,
                        double unit_mm, double *value, PlaError *err);

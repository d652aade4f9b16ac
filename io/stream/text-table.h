/* Tables in text files, one line at a time, so that memory does not grow with the file. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "io/stream/source.h"

#include <stdbool.h>

/* A line longer than this is no table; a header with more columns neither. */
#define PLA_MAX_LINE (16 << 20) /* bytes */
#define PLA_MAX_COLUMNS 65536

typedef struct PlaLines PlaLines;

/* Opens a text file at its first line; a UTF-8 byte order mark is skipped. */
PlaStatus pla_lines_open(const char *path, PlaProgress *progress, PlaLines **out, PlaError *err);
void pla_lines_free(PlaLines *self); /* NULL is fine */

/* The next line without its end, valid until the next call; line->at is NULL after the last. */
PlaStatus pla_lines_next(PlaLines *self, PlaText *line, PlaError *err);
/* The next line goes to the one that begins at byte @offset and has the number @line. */
PlaStatus pla_lines_seek(PlaLines *self, int64_t offset, int line, PlaError *err);
int64_t pla_lines_get_offset(const PlaLines *self); /* of the line to come */
/* After the last line: whether it had no line end, as the last line of a file cut short. */
bool pla_lines_get_unfinished(const PlaLines *self);

bool pla_line_is_blank(const PlaText *line);

/* The cells of a line. */
typedef struct {
  const char *at, *end; /* blanks and the quotes around a cell left out; NULL: a quote stays open */
} PlaCell;

typedef struct {
  const char *at, *end;
  char separator;
  bool done;
} PlaCells;
void pla_cells_init(PlaCells *self, const PlaText *line, char separator);
bool pla_cells_next(PlaCells *self, PlaCell *cell); /* false after the last */
int pla_cells_count(const PlaText *line, char separator);

typedef enum {
  PLA_CELL_IS_NUMBER,
  PLA_CELL_IS_EMPTY, /* nothing, or a NaN written out */
  PLA_CELL_IS_INFINITE,
  PLA_CELL_IS_TEXT,
} PlaCellKind;
/* @decimal_comma: "1,5" is a number too. */
PlaCellKind pla_cell_number(const PlaCell *cell, bool decimal_comma, double *out);
bool pla_cell_is(const PlaCell *cell,
                 const char *expected); /* whatever the case of ASCII letters */

/* Inside a quoted cell, a doubled quote stands for one. */
void pla_cell_undouble_quotes(char *text);

/* A spreadsheet computes cells that begin with = + - @ or a tab: such text, unless it is a plain
 * number, is written with an apostrophe before it.  (So is text that begins with apostrophes before
 * one of these, which keeps both apart.) */
bool pla_cell_needs_apostrophe(const char *text);
/* What was written so is read as it was. */
void pla_cell_drop_apostrophe(char *text);

/* At most this much of a cell or name goes into a sentence: printf("%.*s", pla_cell_quote(...)). */
int pla_cell_quote(const PlaCell *cell);

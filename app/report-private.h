/* What a report is made of: blocks, one after the other. */
#pragma once

#include "app/report.h"

#define PLA_RESEARCH_LINE                                                                          \
  "Research use only, not a medical device: nothing shown here may guide the treatment of a "      \
  "patient."

typedef enum {
  PLA_BLOCK_HEADING = 0, /* text */
  PLA_BLOCK_TEXT,        /* text: a paragraph */
  PLA_BLOCK_WARNING,     /* text: a paragraph to be seen */
  PLA_BLOCK_PICTURES,    /* picture; `across` in a row */
  PLA_BLOCK_TABLE,       /* column, cell */
} PlaBlockKind;

typedef struct {
  const char *title; /* static */
  double weight;     /* share of the width */
  bool number;       /* right-aligned, figures of one width */
  bool code;         /* hashes, parameters: small, broken anywhere */
} PlaColumn;

typedef struct {
  char *text;  /* owned, UTF-8 */
  int32_t rgb; /* a swatch before the text; -1: none */
} PlaCell;

typedef struct {
  PlaBlockKind kind;
  char *text;
  int across;
  GArray *picture;         /* of PlaReportPicture */
  const PlaColumn *column; /* static */
  int n_columns;
  GArray *cell; /* of PlaCell, row by row */
} PlaBlock;

struct PlaReport {
  char *heading;     /* "Case report", or the title */
  char *subtitle;    /* program, state, date */
  int64_t time_ms;   /* of the last operation, Unix time; 0: none */
  GPtrArray *blocks; /* of PlaBlock */
};

/* What a report is made of: blocks, one after the other. */
#pragma once

#include "app/base/quantity.h"
#include "app/report/report.h"

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
  PlaUnit unit;      /* of its numbers, behind the title */
} PlaColumn;

typedef struct {
  char *text;  /* owned, UTF-8 */
  int32_t rgb; /* a swatch before the text; -1: none */
} PlaReportCell;

typedef struct {
  PlaBlockKind kind;
  char *text;
  int across;
  GArray *picture;         /* of PlaReportPicture */
  const PlaColumn *column; /* static */
  int n_columns;
  char **heading; /* titles with their units (n_columns, then NULL) */
  GArray *cell;   /* of PlaReportCell, row by row */
} PlaBlock;

struct PlaReport {
  char *heading;     /* "Case report", or the title */
  char *subtitle;    /* program, state, date */
  int64_t time_ms;   /* of the last operation, Unix time; 0: none */
  GPtrArray *blocks; /* of PlaBlock */
};

/* a name of a file, and what stands for it */
typedef struct {
  char *name, *alias;
} PlaReportAlias;

typedef struct {
  PlaSession *session;
  const PlaReportOptions *opts;
  PlaProgress *progress;
  PlaReport *report;
  GArray *alias; /* of PlaReportAlias, longest name first; empty where names are wanted */
} PlaReportMaker;

void pla_report_block_free(gpointer data);
void pla_report_add_text(PlaReportMaker *m, PlaBlockKind kind, const char *format, ...)
    G_GNUC_PRINTF(3, 4);
PlaBlock *pla_report_add_pictures(PlaReportMaker *m, int across);
/* takes both */
void pla_report_add_picture(PlaBlock *block, cairo_surface_t *image, char *caption);
PlaBlock *pla_report_add_table(PlaReportMaker *m, const PlaColumn *columns, int n_columns);
void pla_report_add_cell(PlaBlock *block, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* the last cell gets a swatch */
void pla_report_set_swatch(PlaBlock *block, const uint8_t rgba[4]);

/* Files are named after patients too often: their names, and names of items that came from them,
 * get a number instead, wherever they stand in the report. */
void pla_report_find_aliases(PlaReportMaker *m);
/* @text as it may be printed; g_free() */
char *pla_report_shown(const PlaReportMaker *m, const char *text);

PlaStatus pla_report_load(PlaReportMaker *m, const PlaStateItem *item, PlaContent **out,
                          PlaError *err);
PlaStatus pla_report_put_item(PlaReportMaker *m, const PlaStateItem *item, PlaError *err);

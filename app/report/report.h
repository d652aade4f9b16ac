/* A case as a report: views, tables, measurements, provenance and the operation log.
 *
 * pla_report_make() gathers the content once; the same blocks become HTML, PDF pages or a preview
 * on the screen.  Nothing that names a patient is in it unless the caller asks: the title of the
 * case, names of files and names of items that came from them are left out. */
#pragma once

#include "app/case/session.h"
#include "app/show/render.h"

#include <cairo.h>

typedef enum {
  PLA_REPORT_VIEWS = 1 << 0,        /* tissues together, from the chosen sides */
  PLA_REPORT_SLICES = 1 << 1,       /* the three planes of every scan */
  PLA_REPORT_TISSUES = 1 << 2,      /* the largest tissues each on its own, and their volumes */
  PLA_REPORT_MESHES = 1 << 3,       /* sizes and quality of meshes, results of solvers */
  PLA_REPORT_MEASUREMENTS = 1 << 4, /* distances, angles, volumes, landmarks */
  PLA_REPORT_NOTES = 1 << 5,
  PLA_REPORT_PROVENANCE = 1 << 6, /* files with their hashes, audit of frames */
  PLA_REPORT_OPERATIONS = 1 << 7, /* the log with parameters */
  PLA_REPORT_EVERYTHING = (1 << 8) - 1,
} PlaReportSections;

typedef struct {
  cairo_surface_t *image; /* owned */
  char *caption;          /* owned */
} PlaReportPicture;

typedef struct {
  unsigned sections;      /* of PlaReportSections */
  unsigned views;         /* bit 1 << PlaViewPreset for each side to look from */
  bool scenes;            /* draw 3-D pictures off the screen; no other thread may draw meanwhile */
  bool names;             /* the case's title, and names that came from files */
  const char *heading;    /* the first line of the report; NULL: the title with @names, else none */
  const double *slice_mm; /* the point that slices go through, RAS; NULL: the middle of each scan */
  /* Pictures made by the caller, put first.  Borrowed. */
  int n_pictures;
  const PlaReportPicture *picture;
} PlaReportOptions;
PlaReportOptions pla_report_options_default(void); /* everything; front, left, three-quarter */

typedef struct PlaReport PlaReport;

/* Reads @session and draws; the report is independent of it afterwards. */
PlaStatus pla_report_make(PlaSession *session, const PlaReportOptions *opts, PlaProgress *progress,
                          PlaReport **out, PlaError *err);
void pla_report_free(PlaReport *self); /* NULL is fine */
int pla_report_n_pictures(const PlaReport *self);
int pla_report_n_tables(const PlaReport *self);

/* Writes @path (an .html file) and its pictures into the folder PATH without ".html" + "-files"
 * beside it. */
PlaStatus pla_report_write_html(const PlaReport *self, const char *path, PlaError *err);

typedef enum { PLA_PAPER_A4 = 0, PLA_PAPER_LETTER } PlaPaper;
/* Points of 1/72 inch. */
void pla_paper_size(PlaPaper paper, double *width, double *height);

/* The report on paper.  @self is borrowed and must outlive the pages. */
typedef struct PlaReportPages PlaReportPages;
PlaReportPages *pla_report_paginate(const PlaReport *self, PlaPaper paper);
void pla_report_pages_free(PlaReportPages *self); /* NULL is fine */
int pla_report_pages_count(const PlaReportPages *self);
/* Draws page @page (0 for the first) in points, from the top left corner; the paper itself is not
 * painted. */
void pla_report_pages_draw(const PlaReportPages *self, int page, cairo_t *cr);

/* All pages as one PDF file; *n_pages may be NULL.  The same report gives the same bytes. */
PlaStatus pla_report_write_pdf(const PlaReport *self, PlaPaper paper, const char *path,
                               int *n_pages, PlaError *err);

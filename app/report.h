/* A case as a report: provenance, pictures, tables and the operation log. */
#pragma once

#include "app/session.h"

typedef struct {
  int n_pictures;
  int n_tables;
} PlaReportSummary;

/* Writes @path (an .html file) and its pictures into the folder PATH without ".html" + "-files"
 * beside it.  Nothing that names a patient is in it. */
PlaStatus pla_report_write_html(PlaSession *session, const char *path, PlaProgress *progress,
                                PlaReportSummary *out, PlaError *err);

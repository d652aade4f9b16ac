/* One page of a report on the screen, as it will be printed. */
#pragma once

#include "app/report/report.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_REPORT_PREVIEW (pla_report_preview_get_type())
G_DECLARE_FINAL_TYPE(PlaReportPreview, pla_report_preview, PLA, REPORT_PREVIEW, GtkWidget)

/* @pages is borrowed until it is set again; NULL: an empty sheet. */
GtkWidget *pla_report_preview_new(PlaPaper paper);
void pla_report_preview_set(PlaReportPreview *self, const PlaReportPages *pages, int page,
                            PlaPaper paper);

G_END_DECLS

/* The report of the case: what goes in, how it will look, and where to save it.
 *
 * Nothing of it changes the case.  3-D pictures are those of the view, as the user has set it up.
 */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_REPORT_PANEL (pla_report_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaReportPanel, pla_report_panel, PLA, REPORT_PANEL, AdwBin)

GtkWidget *pla_report_panel_new(PlaDocument *document);
/* Writes a .pdf or .html file in the background, after making the report anew where it is old. */
void pla_report_panel_save(PlaReportPanel *self, const char *path);
/* Pages of the preview; 0: none yet. */
int pla_report_panel_n_pages(PlaReportPanel *self);

G_END_DECLS

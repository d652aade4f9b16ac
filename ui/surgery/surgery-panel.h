/* The Surgery workspace: draw on the skin, look at the blade, cut, pull, sew and measure.
 *
 * Every button is an action ("surgery.apply", ...); every step becomes an operation of the case in
 * the words of a plan, so that a plan, the log and this panel say the same. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_SURGERY_PANEL (pla_surgery_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaSurgeryPanel, pla_surgery_panel, PLA, SURGERY_PANEL, AdwBin)

GtkWidget *pla_surgery_panel_new(PlaDocument *document);
/* What was done to the body, as a plan in the file @path that `operate` replays. */
void pla_surgery_panel_export_plan(PlaSurgeryPanel *self, const char *path);

G_END_DECLS

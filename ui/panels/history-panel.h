/* Everything that was done to the case: a list with pictures, in which any step can be gone back
 * to, and the branches that grew from it. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_HISTORY_PANEL (pla_history_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaHistoryPanel, pla_history_panel, PLA, HISTORY_PANEL, AdwBin)

GtkWidget *pla_history_panel_new(PlaDocument *document);

G_END_DECLS

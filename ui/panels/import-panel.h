/* What was read: size, spacing, axes, where the frame came from and how far it can be trusted. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_IMPORT_PANEL (pla_import_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaImportPanel, pla_import_panel, PLA, IMPORT_PANEL, AdwBin)

GtkWidget *pla_import_panel_new(PlaDocument *document);

G_END_DECLS

/* Tissues from the scan: a preset for the kind of scan, or one range of values. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_ANATOMY_PANEL (pla_anatomy_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaAnatomyPanel, pla_anatomy_panel, PLA, ANATOMY_PANEL, AdwBin)

GtkWidget *pla_anatomy_panel_new(PlaDocument *document);

G_END_DECLS

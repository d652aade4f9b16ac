/* Tissues filled with elements: which, how fine, and how good the mesh became. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MESH_PANEL (pla_mesh_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaMeshPanel, pla_mesh_panel, PLA, MESH_PANEL, AdwBin)

GtkWidget *pla_mesh_panel_new(PlaDocument *document);

G_END_DECLS

/* A mesh as living tissue: what it is made of, what holds it, what pulls, and how it answers.
 *
 * Hooks are set and pulled in the 3-D view; the body follows while the hand moves, and Solve keeps
 * the equilibrium as an operation of the case. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_SIMULATE_PANEL (pla_simulate_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaSimulatePanel, pla_simulate_panel, PLA, SIMULATE_PANEL, AdwBin)

GtkWidget *pla_simulate_panel_new(PlaDocument *document);

G_END_DECLS

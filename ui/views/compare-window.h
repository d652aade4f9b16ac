/* Plans side by side: the body before surgery and on every branch, seen from where the 3-D view
 * looks, with the numbers that matter below. */
#pragma once

#include "ui/document/document.h"
#include "ui/views/scene-view.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_COMPARE_WINDOW (pla_compare_window_get_type())
G_DECLARE_FINAL_TYPE(PlaCompareWindow, pla_compare_window, PLA, COMPARE_WINDOW, AdwWindow)

/* Reads the plans in the background and then shows itself filled. */
GtkWidget *pla_compare_window_new(GtkWindow *parent, PlaDocument *document, PlaSceneView *scene);
int pla_compare_window_n_plans(PlaCompareWindow *self); /* 0 until they are read */

G_END_DECLS

/* Everything that leaves the window: a picture at any size, a surface for printing, tables, a
 * video. */
#pragma once

#include "ui/document/document.h"
#include "ui/views/scene-view.h"
#include "ui/views/timeline.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_EXPORT_WINDOW (pla_export_window_get_type())
G_DECLARE_FINAL_TYPE(PlaExportWindow, pla_export_window, PLA, EXPORT_WINDOW, AdwPreferencesWindow)

/* All are borrowed and outlive the window, which is transient for @parent. */
GtkWidget *pla_export_window_new(GtkWindow *parent, PlaDocument *document, PlaSceneView *scene,
                                 PlaTimeline *timeline);

/* By the ending: .png the picture, .stl the chosen surface, .csv the tables, anything else a video
 * (or its pictures).  In the background; a failure is a sentence of the document. */
void pla_export_window_save(PlaExportWindow *self, const char *path);
/* What is said of the surface that is chosen, once it was checked; else NULL. */
const char *pla_export_window_get_check(PlaExportWindow *self);

G_END_DECLS

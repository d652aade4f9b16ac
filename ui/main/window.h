/* The workstation window: header bar, case tree, linked views, workspace panel, status line.
 *
 * Everything it can do is an action "win.NAME"; buttons, menus, shortcuts and tests use those. */
#pragma once

#include "ui/document/document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_WINDOW (pla_window_get_type())
G_DECLARE_FINAL_TYPE(PlaWindow, pla_window, PLA, WINDOW, AdwApplicationWindow)

GtkWidget *pla_window_new(AdwApplication *application);
PlaDocument *pla_window_get_document(PlaWindow *self);
GtkWidget *pla_window_get_slice(PlaWindow *self, int axis); /* PlaAxis */
GtkWidget *pla_window_get_scene(PlaWindow *self);
GtkWidget *pla_window_get_timeline(PlaWindow *self);
GtkWidget *pla_window_get_panel(PlaWindow *self, const char *workspace); /* or NULL */
/* Shows a file, or the demo head, instead of the welcome page. */
void pla_window_open(PlaWindow *self, const char *path);
void pla_window_open_demo(PlaWindow *self);
void pla_window_create(PlaWindow *self, const char *path);  /* an empty case file */
void pla_window_save_as(PlaWindow *self, const char *path); /* the case, which goes on there */
gboolean pla_window_set_workspace(PlaWindow *self, const char *id); /* FALSE: there is none */
/* Any row of ui/main/actions.h by its detailed name. */
void pla_window_activate(PlaWindow *self, const char *detailed_action);
/* Nothing is being read, computed or waiting to be drawn. */
gboolean pla_window_is_idle(PlaWindow *self);
/* The first sentence of failure since the window opened, or NULL. */
const char *pla_window_get_failure(PlaWindow *self);
/* The whole window as a PNG file; PLA_ERR_EMPTY before it was drawn in its present layout. */
PlaStatus pla_window_save(PlaWindow *self, const char *path, PlaError *err);

G_END_DECLS

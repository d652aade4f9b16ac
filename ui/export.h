/* Pictures of what is on the screen. */
#pragma once

#include "anatomy/base/status.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* A window as a PNG file; PLA_ERR_EMPTY before it was drawn in its present layout. */
PlaStatus pla_widget_save(GtkWidget *window, const char *path, PlaError *err);

G_END_DECLS

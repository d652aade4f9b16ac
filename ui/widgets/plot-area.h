/* A plot in the window: drag zooms into a stretch, the wheel zooms at the pointer, Shift+drag or
 * the middle button pans, a double click shows everything; the value nearest to the pointer is
 * named. Keys: + and - zoom, arrows pan, 0 fits. */
#pragma once

#include "app/show/plot.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_PLOT_VIEW (pla_plot_view_get_type())
G_DECLARE_FINAL_TYPE(PlaPlotView, pla_plot_view, PLA, PLOT_VIEW, GtkWidget)

GtkWidget *pla_plot_view_new(void);
void pla_plot_view_take(PlaPlotView *self, PlaPlot *plot); /* shows all of it; NULL: nothing */
const PlaPlot *pla_plot_view_get_plot(PlaPlotView *self);  /* or NULL */
const PlaPlotRange *pla_plot_view_get_range(PlaPlotView *self);
void pla_plot_view_fit(PlaPlotView *self);
/* A line across at a value of the x axis, the present of something that plays; NaN: none. */
void pla_plot_view_set_cursor(PlaPlotView *self, double x);
/* "tetrahedra: 32.5, 118" for the value nearest to a place of the widget, or NULL; g_free(). */
char *pla_plot_view_describe(PlaPlotView *self, double x, double y);

G_END_DECLS

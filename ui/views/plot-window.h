/* Plots of what the case holds: values of the scan by tissue, quality of meshes, residuals of
 * solvers, markers and tracks; saved as SVG or CSV. */
#pragma once

#include "ui/document/document.h"
#include "ui/widgets/plot-area.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_PLOT_WINDOW (pla_plot_window_get_type())
G_DECLARE_FINAL_TYPE(PlaPlotWindow, pla_plot_window, PLA, PLOT_WINDOW, AdwWindow)

GtkWidget *pla_plot_window_new(GtkWindow *parent, PlaDocument *document);
int pla_plot_window_n_plots(PlaPlotWindow *self);
PlaPlotView *pla_plot_window_get_view(PlaPlotWindow *self);
/* By its ending: .svg or .csv. */
PlaStatus pla_plot_window_save(PlaPlotWindow *self, const char *path, PlaError *err);

G_END_DECLS

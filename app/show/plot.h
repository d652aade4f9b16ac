/* Curves and histograms, drawn by cairo: on the screen, in reports, as SVG or as CSV. */
#pragma once

#include "anatomy/base/status.h"
#include "app/content/content.h"

#include <cairo.h>
#include <stdbool.h>

typedef enum { PLA_SERIES_LINE = 0, PLA_SERIES_BARS } PlaSeriesStyle;

typedef struct {
  char *name;
  PlaSeriesStyle style;
  int n;
  double *x, *y;   /* NaN in y: a gap */
  double last_bar; /* width of the last bar; 0: as wide as the one before it, or 1 */
} PlaSeries;

typedef struct {
  char *title, *x_title, *y_title; /* axes with their unit: "Time, s" */
  bool log_y;                      /* values that are not positive are not drawn */
  int n_series;
  PlaSeries *series;
} PlaPlot;

/* Empty; titles are copied. */
PlaPlot *pla_plot_new(const char *title, const char *x_title, const char *y_title);
void pla_plot_free(PlaPlot *self); /* NULL is fine */
/* Copies. Bars stand on x and are as wide as the distance to the next one. */
void pla_plot_add(PlaPlot *self, const char *name, PlaSeriesStyle style, const double *x,
                  const double *y, int n);

/* What is seen: the part of the plane between the axes. */
typedef struct {
  double x0, x1, y0, y1; /* with log_y, y are powers of ten */
} PlaPlotRange;
PlaPlotRange pla_plot_fit(const PlaPlot *self); /* everything, with some room */
/* Wide enough that its axes can be told: how far a pointer may zoom. */
bool pla_plot_range_is_usable(const PlaPlotRange *range);

typedef struct {
  double x, y, width, height; /* of the area between the axes, user units */
} PlaPlotBox;
PlaPlotBox pla_plot_box(double width, double height);
/* Fills width x height user units; text and lines suit a light or dark ground, which is not
 * painted. */
void pla_plot_draw(const PlaPlot *self, const PlaPlotRange *range, cairo_t *cr, double width,
                   double height, bool dark);
/* The sample nearest to a place of the picture, within 40 units; false where there is none. */
bool pla_plot_nearest(const PlaPlot *self, const PlaPlotRange *range, double width, double height,
                      double at_x, double at_y, int *series, int *sample);
/* Where sample @i stands in the picture. */
void pla_plot_place(const PlaPlot *self, const PlaPlotRange *range, double width, double height,
                    int series, int i, double *px, double *py);
void pla_series_rgb(int series, bool dark, double rgb[3]);

PlaStatus pla_plot_write_svg(const PlaPlot *self, const PlaPlotRange *range, double width,
                             double height, const char *path, PlaError *err);
/* Columns series, x, y; one row a sample. */
PlaStatus pla_plot_write_csv(const PlaPlot *self, const char *path, PlaError *err);

/* ---- plots of what a case holds ------------------------------------------------------------ */

/* Counts of @n values in bins of a round width; NaN is left out. */
void pla_plot_add_histogram(PlaPlot *self, const char *name, const double *value, size_t n,
                            int n_bins);
/* Values of a scan, of all voxels or within each of the largest labels of @labels (same grid), in
 * millilitres a bin.  PLA_ERR_EMPTY where there are no values. */
PlaStatus pla_plot_new_intensities(const PlaVolume *vol, const PlaLabelMap *labels, PlaPlot **out,
                                   PlaError *err);
/* Smallest dihedral angle of each tetrahedron.  PLA_ERR_EMPTY without tets. */
PlaStatus pla_plot_new_quality(const PlaMesh *mesh, PlaPlot **out, PlaError *err);
/* Channels over time (those with the unit of the first), or the distance of each marker from where
 * it was first seen. */
PlaPlot *pla_plot_new_track(const PlaTrack *track);
PlaPlot *pla_plot_new_take(const PlaTake *take);
/* Residuals over iterations, from "residuals" in the metadata of a result; NULL where there are
 * none. */
PlaPlot *pla_plot_new_residuals(const PlaContent *content);

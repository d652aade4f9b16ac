/* What is written over pictures, in the window and in reports alike: orientation letters, scale
 * bar, axes, colour bar.  Drawn by cairo and pango; sizes in user units of the cairo context. */
#pragma once

#include "anatomy/volume/slice.h"
#include "app/base/quantity.h"
#include "app/show/render.h"

#include <cairo.h>

/* White or near-black text, each with a soft outline of the other so that it reads on anything. */
typedef struct {
  bool on_light;    /* the picture is mostly light */
  double font_size; /* user units; 13 in the window */
} PlaOverlayInk;

/* Patient sides at the four edges of a plane's picture. */
void pla_overlay_letters(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                         const PlaSlicePlane *plane);
/* A bar of a round length at the lower left; at most a quarter of the width. */
void pla_overlay_scale_bar(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                           double mm_per_unit);
/* The patient's axes as a small tripod around (x, y), as the camera sees them. */
void pla_overlay_axes(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, double radius,
                      const PlaCamera *camera);
/* A vertical bar at the right edge with ticks at round values, and "title (unit)" above it.
 * @title NULL: the legend's own label. */
void pla_overlay_colour_bar(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                            const PlaLegend *legend, const char *title);
/* Text with its left (align 0), middle (0.5) or right end (1) at x and its middle at y. */
void pla_overlay_text(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, double align,
                      const char *text);
/* 1, 2 or 5 times a power of ten, the largest not above @limit (> 0). */
double pla_round_length(double limit);

/* Pictures of a tongue in motion.  The midsagittal view: palate, teeth and jaw in section, the
 * tongue's outline now and at rest, its coils; the front is to the left, as coils are usually
 * drawn.  And what its muscles do. */
#pragma once

#include "sim/tongue/tongue-motion.h"

#include <cairo.h>

/* Fills width x height user units with the newest frame of @motion. */
void pla_tongue_picture_draw(const PlaTongueMotion *motion, cairo_t *cr, double width,
                             double height, const char *caption);
/* Activations over time, a lane for each muscle; left and right are one, their mean. */
void pla_tongue_picture_draw_muscles(const PlaTrack *activations, cairo_t *cr, double width,
                                     double height);
/* The same from @from_s to @to_s, for a place under other lanes of time: names lie in the lanes,
 * the axis is elsewhere. */
void pla_tongue_picture_draw_lanes(const PlaTrack *activations, double from_s, double to_s,
                                   bool dark, cairo_t *cr, double width, double height);

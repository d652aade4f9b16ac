/* The midsagittal view of a tongue in motion: palate, teeth and jaw in section, the tongue's outline now and
 * at rest, its coils.  The front is to the left, as coils are usually drawn. */
#pragma once

#include "app/tongue-motion.h"

#include <cairo.h>

/* Fills width x height user units with the newest frame of @motion. */
void pla_tongue_picture_draw(const PlaTongueMotion *motion, cairo_t *cr, double width, double height,
                             const char *caption);

/* Moving pictures as GIF files (GIF89a), with one palette for all of them. */
#pragma once

#include "anatomy/base/status.h"

#include <cairo.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct PlaGif PlaGif;

/* Colours are taken from the 6 x 6 x 6 cube and 40 greys.  @delay_cs: hundredths of a second a
 * picture. */
PlaGif *pla_gif_new(FILE *file, int width, int height, int delay_cs);
/* An image of that size, 32 bits a pixel; false when it could not be written. */
bool pla_gif_add(PlaGif *self, cairo_surface_t *image);
/* Writes the end and frees; false when any of it could not be written. */
bool pla_gif_finish(PlaGif *self);

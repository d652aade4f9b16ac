/* Small pictures of items, for the history: a middle slice of what is made of voxels, the shape of
 * what is made of triangles or elements, seen from the front.  No display and no driver is needed,
 * and of voxels only the slice is read. */
#pragma once

#include "io/store/store.h"

/* Opaque 0xAARRGGBB, top row first; PLA_ERR_EMPTY where the item has no picture. */
PlaStatus pla_thumbnail_make(PlaStore *store, const PlaHash *item, int width, int height,
                             uint32_t *pixel, PlaError *err);

/* Volumes seen through: light collected along rays (Levoy 1988).
 *
 * A transfer function gives every value a colour and how much of the light a millimetre of it
 * takes; borders of materials are shaded by the gradient.  Blocks of the volume that nobody sees
 * are passed over.  Runs on any thread, without a driver; same bits for any number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/volume/volume.h"

typedef struct {
  double value;  /* of the volume */
  double rgb[3]; /* 0..1 */
  double per_mm; /* extinction, 1/mm: exp(-per_mm d) of the light passes through d mm */
} PlaTransferStop;

/* Linear between stops in ascending value; nothing below the first and as the last above it. */
typedef struct {
  const char *id, *title;
  int n;
  PlaTransferStop stop[8];
} PlaTransfer;

/* Presets for CT values: "skin", "bone", "both". */
const PlaTransfer *pla_transfers_get(int *n);
const PlaTransfer *pla_transfer_find(const char *id); /* or NULL */

/* Rays from one point, or parallel ones: that of pixel (x, y) starts at from + x from_right + y
 * from_down and goes along dir + x dir_right + y dir_down (any length). */
typedef struct {
  int width, height;
  double from[3], from_right[3], from_down[3]; /* mm */
  double dir[3], dir_right[3], dir_down[3];
} PlaRays;

typedef struct PlaRaycast PlaRaycast;

/* Prepares frame 0 of @vol, which is not needed afterwards. */
PlaStatus pla_raycast_new(const PlaVolume *vol, const PlaTransfer *transfer, PlaProgress *progress,
                          PlaRaycast **out, PlaError *err);
void pla_raycast_free(PlaRaycast *self); /* NULL is fine */
/* Premultiplied 0xAARRGGBB, top row first; false: cancelled half way. */
bool pla_raycast_draw(const PlaRaycast *self, const PlaRays *rays, PlaProgress *progress,
                      uint32_t *pixel);

/* Dilation, erosion, opening and closing of voxel masks by a ball given in millimetres.
 *
 * A voxel belongs to the dilation when its centre lies within the radius of a mask voxel's centre,
 * measured through the affine: anisotropic and sheared grids get a true ball.  Beyond the volume's
 * border there is neither tissue nor background: erosion does not eat from the border, and closing
 * does not stick to it. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdint.h>

typedef enum {
  PLA_MORPH_DILATE = 0,
  PLA_MORPH_ERODE,
  PLA_MORPH_OPEN,  /* erode, then dilate: removes what the ball does not fit into */
  PLA_MORPH_CLOSE, /* dilate, then erode: fills gaps that the ball does not fit into */
} PlaMorph;

/* Changes @mask (0 or 1 afterwards) in place; a radius of 0 leaves it.  PLA_ERR_USAGE for a
 * negative or non-finite radius, PLA_ERR_GEOMETRY for a singular affine. */
PlaStatus pla_mask_morph(const int dims[3], const double affine_mm[12], uint8_t *mask,
                         PlaMorph what, double radius_mm, PlaProgress *progress, PlaError *err);

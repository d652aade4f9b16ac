/* Dilation, erosion, opening and closing of voxel masks by a ball given in millimetres.
 *
 * A voxel belongs to the dilation when its centre lies within the radius of a mask voxel's centre,
 * measured through the affine: anisotropic and sheared grids get a true ball.  Where the border
 * cuts a body, the body is taken to go on: erosion and opening do not eat from the border.  Closing
 * takes the outside as empty, so that what lies near the border does not stick to it. */
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

/* Closes gaps that the ball does not fit into and fills all that is then enclosed:
 * erode(fill(dilate(mask))).  @closed_faces (PLA_FACE_* of components.h) are where the border cuts
 * the body: cavities that run out of them count as enclosed.  Beyond the other faces the world is
 * empty. */
PlaStatus pla_mask_seal(const int dims[3], const double affine_mm[12], uint8_t *mask,
                        double radius_mm, unsigned closed_faces, PlaProgress *progress,
                        PlaError *err);

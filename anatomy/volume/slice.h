/* Flat pictures through volumes, at any place and angle.
 *
 * A plane is a grid of pixels in RAS space; volumes are sampled where the pixels lie, so oblique
 * and sheared ones appear in their true position.  Pixels are 32-bit premultiplied 0xAARRGGBB, the
 * native order of cairo. */
#pragma once

#include "anatomy/volume/volume.h"

#include <stdint.h>

typedef enum {
  PLA_AXIS_SAGITTAL = 0, /* across x */
  PLA_AXIS_CORONAL,      /* across y */
  PLA_AXIS_AXIAL,        /* across z */
} PlaAxis;

typedef struct {
  int width, height;   /* pixels */
  double origin_mm[3]; /* centre of the top left pixel */
  double right_mm[3];  /* step to the next pixel of a row */
  double down_mm[3];   /* step to the next row */
} PlaSlicePlane;

/* The anatomical plane through @centre_mm, which comes to the middle of the picture.  Superior
 * (anterior in axial planes) is up.  Radiological: the patient's right is on the left, as if
 * facing the patient; sagittal planes are seen from the patient's left, anterior to the left. */
PlaSlicePlane pla_slice_plane(PlaAxis axis, const double centre_mm[3], double mm_per_pixel,
                              int width, int height, bool radiological);
void pla_slice_to_ras(const PlaSlicePlane *plane, double x, double y, double ras_mm[3]);
/* Pixel coordinates of the foot of the perpendicular from @ras_mm. */
void pla_slice_from_ras(const PlaSlicePlane *plane, const double ras_mm[3], double *x, double *y);
/* The letter (R L A P S I) of the patient side that a direction mostly points to. */
char pla_direction_letter(const double dir[3]);

/* Values (slope and inter applied) at the pixels: trilinear, or nearest where !@linear; NaN
 * outside the volume.  A singular affine gives NaN everywhere. */
void pla_slice_values(const PlaVolume *vol, int frame, const PlaSlicePlane *plane, bool linear,
                      float *out);
/* Labels at the pixels, 0 outside. */
void pla_slice_labels(const PlaLabelMap *map, const PlaSlicePlane *plane, uint16_t *out);

/* Greys between @lo (black) and @hi (white); NaN is @outside. */
void pla_slice_grey(const float *value, size_t n, double lo, double hi, uint32_t outside,
                    uint32_t *pixel);
/* Lays labels over a picture in their table's colours: @fill (0..1) inside, and a line of
 * strength @line (0..1) two pixels wide along each border.  An alpha of 0 in the table hides a
 * label, others scale its fill. */
void pla_slice_overlay(const uint16_t *label, const PlaLabelTable *table, double fill, double line,
                       int width, int height, uint32_t *pixel);

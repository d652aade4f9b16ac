/* Painting and erasing in a label map with a round brush. */
#pragma once

#include "anatomy/volume.h"

typedef struct {
  double radius_mm; /* > 0; voxels whose centre is at most this far from the stroke change */
  int label;        /* painted, 1..65535; 0 erases */
  int only;         /* change only voxels that hold this id; -1: all */
} PlaBrush;

/* Draws the polyline through @points_mm (n x 3, RAS; one point is a ball) into @map, widening it
 * to 16 bits where the label needs it; @n_changed is the number of voxels that changed.
 * PLA_ERR_GEOMETRY when the affine is singular.  Same result for any number of threads. */
PlaStatus pla_label_edit_stroke(PlaLabelMap *map, const double *points_mm, int n,
                                const PlaBrush *brush, size_t *n_changed, PlaError *err);

/* Exact Euclidean distance, in millimetres, from every voxel centre to the nearest mask voxel.
 *
 * On orthogonal grids the squared distance separates by axes and costs linear time; where one axis
 * is at right angles to two skew ones (a tilted gantry) a sweep over the skew planes costs little
 * more; where all are skew, blocks of voxels share an exact search in a tree of the mask's border.
 * All are parallel and give the same bits for any number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* dist2_mm2[v] = squared distance, mm^2, from voxel v to the nearest voxel whose (mask != 0) equals
 * @inside; INFINITY where that is further than @max_mm (INFINITY: no limit) or there is none.
 * Results carry float rounding (relative 1e-6); axes that are perpendicular as far as
 * pla_distance_is_orthogonal() can tell are taken as such.  PLA_ERR_GEOMETRY when the affine is
 * singular. */
PlaStatus pla_distance_transform(const int dims[3], const double affine_mm[12], const uint8_t *mask,
                                 bool inside, double max_mm, PlaProgress *progress,
                                 float *dist2_mm2, PlaError *err);

/* Whether the axes are perpendicular to within rounding of float32 affines, so that treating them
 * as such moves no voxel of a volume so large by more than a thousandth of a voxel. */
bool pla_distance_is_orthogonal(const int dims[3], const double affine_mm[12]);

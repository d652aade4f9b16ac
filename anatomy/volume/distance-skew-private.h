/* The distance transform on grids whose axes are all skew. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* As pla_distance_transform(), for any affine that is not singular. */
PlaStatus pla_distance_skew(const int dims[3], const double affine_mm[12], const uint8_t *mask,
                            bool inside, double limit_mm, PlaProgress *progress, float *dist2_mm2,
                            PlaError *err);

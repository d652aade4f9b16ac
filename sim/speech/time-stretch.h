/* Speech made slower without making it deeper. */
#pragma once

#include "anatomy/base/status.h"

#include <stddef.h>

/* @n samples at @rate_hz made 1 / @speed times as long (0.1 <= speed <= 1), *out by free().
 * Overlapping pieces of 30 ms, each moved by up to 8 ms to where it continues what stands there
 * best (W. Verhelst and M. Roelands, 1993).  Speed 1 copies. */
PlaStatus pla_stretch(const float *sample, size_t n, double rate_hz, double speed, float **out,
                      size_t *n_out, PlaError *err);

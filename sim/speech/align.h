/* Two recordings of the same words, said at different pace: which moment of one is which of the
 * other. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

/* Dynamic time warping (H. Sakoe and S. Chiba, 1978): the path of least summed distance between the
 * rows of @a (n_a x width) and @b (n_b x width), both ends meeting, by steps (1,1), (1,0) and
 * (0,1).
 * @other (n_a): the row of b for each row of a, never falling; where there are several, the middle
 * one. *mean (may be NULL): distance per step. */
PlaStatus pla_align(const float *a, int n_a, const float *b, int n_b, int width, int *other,
                    double *mean, PlaProgress *progress, PlaError *err);
/* Takes every column's mean off and divides by its deviation, so that voices and microphones
 * compare. */
void pla_align_normalise(float *row, int n, int width);

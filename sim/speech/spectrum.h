/* What can be seen in a sound: how loud it is at every height. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <stddef.h>

enum { PLA_SPECTRUM_BINS = 160 }; /* 0 .. 8 kHz, 50 Hz each */

typedef struct {
  int n_columns;
  double column_s; /* apart */
  float *db;       /* level, 0: the loudest (n_columns x PLA_SPECTRUM_BINS) */
} PlaSpectrogram;

/* Of @n samples at 16 kHz, under windows of 8 ms, so that formants are bands; columns 5 ms apart,
 * more where there would be over 4000. */
PlaStatus pla_spectrogram_init(PlaSpectrogram *self, const double *sample, size_t n,
                               PlaProgress *progress, PlaError *err);
void pla_spectrogram_clear(PlaSpectrogram *self);

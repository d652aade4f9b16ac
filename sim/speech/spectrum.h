/* What can be seen in a sound: its spectrogram, and the resonances of the throat and mouth in it. */
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

/* Of @n samples at 16 kHz, under windows of 8 ms, so that formants are bands; columns 5 ms apart, more
 * where there would be over 4000. */
PlaStatus pla_spectrogram_init(PlaSpectrogram *self, const double *sample, size_t n,
                               PlaProgress *progress, PlaError *err);
void pla_spectrogram_clear(PlaSpectrogram *self);

enum { PLA_N_FORMANTS = 4 };

/* Formants of @n samples at 16 kHz, a hundred frames a second, the first at 12.5 ms: @hz (n_frames x
 * PLA_N_FORMANTS), NaN where there is no voice or none stands out.  Linear prediction (B. S. Atal and
 * S. L. Hanauer, 1971) of order 12 at 11 kHz; poles narrower than 500 Hz count. */
PlaStatus pla_formants_track(const double *sample, size_t n, int n_frames, float *hz,
                             PlaProgress *progress, PlaError *err);

/* Wideband spectrogram: pre-emphasis x[n] - 0.95 x[n-1], a Hann window of 8 ms, a Fourier
 * transform padded to 1024 samples, levels in dB below the loudest. */
#include "sim/speech/spectrum.h"

#include "anatomy/base/memory.h"
#include "sim/speech/fft.h"
#include "sim/speech/speech-features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 128, LENGTH = 1024, MOST_COLUMNS = 4000 }; /* samples; 8 ms, padded with zeros */
static const double floor_db = -100.0;

/* levels of one column; the window is centred at sample @at */
static void
column(const PlaFft *fft, const double *sample, size_t n, double at, double *re, double *im,
       float *db)
{
  memset(re, 0, LENGTH * sizeof *re);
  memset(im, 0, LENGTH * sizeof *im);
  for (int i = 0; i < WINDOW; i++) {
    const double k = at - WINDOW / 2 + i;
    if (k < 1.0 || k >= (double)n)
      continue;
    const size_t s = (size_t)k;
    re[i] = (sample[s] - 0.95 * sample[s - 1]) * (0.5 - 0.5 * cos(2.0 * M_PI * (i + 0.5) / WINDOW));
  }
  pla_fft_forward(fft, re, im);
  for (int b = 0; b < PLA_SPECTRUM_BINS; b++) {
    /* the middle of the band, between two bins */
    const double place = (b + 0.5) * 8000.0 / PLA_SPECTRUM_BINS * LENGTH / PLA_SPEECH_HZ;
    const int k = (int)place;
    const double t = place - k, low = hypot(re[k], im[k]), high = hypot(re[k + 1], im[k + 1]);
    const double level = (1.0 - t) * low + t * high;
    db[b] = (float)(level > 1e-5 ? 20.0 * log10(level) : floor_db);
  }
}

PlaStatus
pla_spectrogram_init(PlaSpectrogram *self, const double *sample, size_t n, PlaProgress *progress,
                     PlaError *err)
{
  const double seconds = (double)n / PLA_SPEECH_HZ;
  *self = (PlaSpectrogram){ .column_s = fmax(0.005, seconds / MOST_COLUMNS) };
  self->n_columns = 1 + (int)(seconds / self->column_s);
  self->db = pla_array_new((size_t)self->n_columns * PLA_SPECTRUM_BINS, sizeof *self->db);
  PlaFft *fft = pla_fft_new(LENGTH);
  double *re = pla_array_new(2 * LENGTH, sizeof *re);
  PlaStatus st = self->db && fft && re ? PLA_OK : pla_fail_memory(err, "a spectrogram");
  float loudest = (float)floor_db;
  for (int c = 0; st == PLA_OK && c < self->n_columns; c++) {
    float *db = self->db + (size_t)c * PLA_SPECTRUM_BINS;
    column(fft, sample, n, c * self->column_s * PLA_SPEECH_HZ, re, re + LENGTH, db);
    for (int b = 0; b < PLA_SPECTRUM_BINS; b++)
      loudest = fmaxf(loudest, db[b]);
    if (c % 64 == 0 && !pla_progress_step(progress, (double)c / self->n_columns))
      st = pla_fail_cancelled(err);
  }
  for (size_t i = 0; st == PLA_OK && i < (size_t)self->n_columns * PLA_SPECTRUM_BINS; i++)
    self->db[i] -= loudest;
  pla_fft_free(fft);
  free(re);
  if (st != PLA_OK)
    pla_spectrogram_clear(self);
  return st;
}

void
pla_spectrogram_clear(PlaSpectrogram *self)
{
  free(self->db);
  *self = (PlaSpectrogram){ 0 };
}

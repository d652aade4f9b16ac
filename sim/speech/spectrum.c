#include "sim/speech/spectrum.h"

#include "anatomy/base/memory.h"
#include "sim/speech/features.h"
#include "sim/speech/fft.h"
#include "sim/speech/resample.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- spectrogram ---- */

enum { WINDOW = 128, LENGTH = 1024, MOST_COLUMNS = 4000 }; /* samples; 8 ms, padded with zeros */
static const double floor_db = -100.0;

/* levels of one column; the window is centred at sample @at */
static void
column(const PlaFft *fft, const double *sample, size_t n, double at, double *re, double *im, float *db)
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

/* ---- formants ---- */

enum { ORDER = 12, LPC_HZ = 11000, LPC_WINDOW = 330 }; /* 30 ms */

/* predictor of the windowed samples (a[0] = 1) by Levinson's recursion; false when it is silent */
static bool
predict(const double *x, int n, double a[ORDER + 1])
{
  double r[ORDER + 1] = { 0 }, error;
  for (int k = 0; k <= ORDER; k++)
    for (int i = k; i < n; i++)
      r[k] += x[i] * x[i - k];
  if (r[0] <= 0.0)
    return false;
  r[0] *= 1.0 + 1e-9; /* keeps poles inside the circle */
  error = r[0];
  memset(a, 0, (ORDER + 1) * sizeof *a);
  a[0] = 1.0;
  for (int m = 1; m <= ORDER; m++) {
    double sum = r[m];
    for (int k = 1; k < m; k++)
      sum += a[k] * r[m - k];
    const double reflection = -sum / error;
    double next[ORDER + 1];
    memcpy(next, a, sizeof next);
    for (int k = 1; k < m; k++)
      next[k] = a[k] + reflection * a[m - k];
    next[m] = reflection;
    memcpy(a, next, sizeof next);
    error *= 1.0 - reflection * reflection;
  }
  return error > 0.0;
}

/* roots of z^n + a1 z^(n-1) + ..., all at once (K. Weierstrass, E. Durand, I. Kerner) */
static void
find_roots(const double a[ORDER + 1], double complex root[ORDER])
{
  for (int i = 0; i < ORDER; i++)
    root[i] = 0.9 * cexp(I * (2.0 * M_PI * i / ORDER + 0.4));
  for (int round = 0; round < 100; round++) {
    double largest = 0.0;
    for (int i = 0; i < ORDER; i++) {
      double complex value = 1.0, other = 1.0;
      for (int k = 1; k <= ORDER; k++)
        value = value * root[i] + a[k];
      for (int j = 0; j < ORDER; j++)
        if (j != i)
          other *= root[i] - root[j];
      if (cabs(other) < 1e-30)
        continue;
      root[i] -= value / other;
      largest = fmax(largest, cabs(value / other));
    }
    if (largest < 1e-10)
      return;
  }
}

/* whether the sound repeats itself 80 to 400 times a second */
static bool
is_voiced(const double *x)
{
  double whole = 0.0, best = 0.0;
  for (int i = 0; i < LPC_WINDOW; i++)
    whole += x[i] * x[i];
  for (int lag = LPC_HZ / 400; lag <= LPC_HZ / 80; lag++) {
    double dot = 0.0;
    for (int i = lag; i < LPC_WINDOW; i++)
      dot += x[i] * x[i - lag];
    best = fmax(best, dot * LPC_WINDOW / (LPC_WINDOW - lag));
  }
  return best > 0.4 * whole;
}

static int
compare_doubles(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void
frame_formants(const double *x, float hz[PLA_N_FORMANTS])
{
  double a[ORDER + 1], found[ORDER];
  double complex root[ORDER];
  int n = 0;
  if (!predict(x, LPC_WINDOW, a))
    return;
  find_roots(a, root);
  for (int i = 0; i < ORDER; i++) {
    const double f = carg(root[i]) * LPC_HZ / (2.0 * M_PI);
    const double width = -log(cabs(root[i])) * LPC_HZ / M_PI;
    if (f > 120.0 && f < 0.5 * LPC_HZ - 200.0 && width < 500.0)
      found[n++] = f;
  }
  qsort(found, (size_t)n, sizeof *found, compare_doubles);
  for (int i = 0; i < n && i < PLA_N_FORMANTS; i++)
    hz[i] = (float)found[i];
}

static double
energy(const double *x, size_t n, double at)
{
  double sum = 0.0;
  for (int i = 0; i < LPC_WINDOW; i++) {
    const double k = at - LPC_WINDOW / 2 + i;
    if (k >= 0.0 && k < (double)n)
      sum += x[(size_t)k] * x[(size_t)k];
  }
  return sum / LPC_WINDOW;
}

PlaStatus
pla_formants_track(const double *sample, size_t n, int n_frames, float *hz, PlaProgress *progress,
                   PlaError *err)
{
  PlaResampler *resampler = NULL;
  double *x = NULL, loudest = 0.0, piece[LPC_WINDOW];
  size_t n_x = 0, capacity = 0;
  for (int i = 0; i < n_frames * PLA_N_FORMANTS; i++)
    hz[i] = NAN;
  PlaStatus st = pla_resampler_new(PLA_SPEECH_HZ, LPC_HZ, &resampler, err);
  if (st == PLA_OK && !pla_resampler_push(resampler, sample, n, true, &x, &n_x, &capacity))
    st = pla_fail_memory(err, "formants");
  for (int f = 0; st == PLA_OK && f < n_frames; f++)
    loudest = fmax(loudest, energy(x, n_x, (0.0125 + f / 100.0) * LPC_HZ));
  for (int f = 0; st == PLA_OK && f < n_frames; f++) {
    const double at = (0.0125 + f / 100.0) * LPC_HZ;
    if (energy(x, n_x, at) < 1e-3 * loudest || loudest <= 0.0)
      continue; /* 30 dB below the loudest: nothing to be told from noise */
    for (int i = 0; i < LPC_WINDOW; i++) {
      const double k = at - LPC_WINDOW / 2 + i;
      piece[i] = k >= 0.0 && k < (double)n_x ? x[(size_t)k] : 0.0;
    }
    if (!is_voiced(piece))
      continue;
    for (int i = 0; i < LPC_WINDOW; i++) {
      const double k = at - LPC_WINDOW / 2 + i;
      const bool inside = k >= 1.0 && k < (double)n_x;
      const double raw = inside ? x[(size_t)k] - 0.97 * x[(size_t)k - 1] : 0.0;
      piece[i] = raw * (0.54 - 0.46 * cos(2.0 * M_PI * (i + 0.5) / LPC_WINDOW));
    }
    frame_formants(piece, hz + (size_t)f * PLA_N_FORMANTS);
    if (f % 64 == 0 && !pla_progress_step(progress, (double)f / n_frames))
      st = pla_fail_cancelled(err);
  }
  pla_resampler_free(resampler);
  free(x);
  return st;
}

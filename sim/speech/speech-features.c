/* Mel-frequency cepstra after S. B. Davis and P. Mermelstein (1980), with the constants of HTK.
 *
 *   x'[i] = x[i] - 0.97 x[i-1],  P = |FFT512(hann x')|^2,  m_b = log sum_k T_b(k) P_k,
 *   c_j = sqrt(2/26) sum_b m_b cos(pi j (b - 1/2) / 26) (1 + 11 sin(pi j / 22)),  j = 1..12
 *   e = log sum x^2 - level,  level = max(e, the last level - 2 dB/s)
 *   slope[t] = sum_{k=1,2} k (c[t+k] - c[t-k]) / 10, frames repeated at both ends
 *
 * The level makes the features independent of the recording's gain, and is causal, so that a live
 * voice and a file give the same numbers. */
#include "sim/speech/speech-features.h"

#include "anatomy/base/memory.h"
#include "sim/speech/fft.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FFT = 512, BANDS = 26, LIFTER = 22, SLOPE = 2 };
static const double pre_emphasis = 0.97;
static const double power_floor = 1e-10; /* of a band; full-scale sound has about 1 */
static const double energy_floor = 1e-7; /* of a frame of 400 samples: -96 dB */
static const double level_start = 0.0;   /* log energy of a frame at -26 dB */
static const double level_least = -9.2;  /* 40 dB below */
static const double level_fall = 0.46051701859881 / PLA_FRAMES_HZ; /* 2 dB/s, per frame */

/* one growing table of frames, the first of which may have been dropped */
typedef struct {
  void *data;
  size_t width;  /* bytes a row */
  long first, n; /* frames first .. n - 1 are there */
  long capacity;
} Rows;

struct PlaFeatures {
  bool causal, ended;
  PlaFft *fft;
  double window[PLA_FRAME_SAMPLES];
  double mel[BANDS][FFT / 2 + 1];
  int mel_from[BANDS], mel_to[BANDS]; /* bins with weight */
  double cosine[PLA_N_STATIC - 1][BANDS];
  /* samples not yet in a whole frame */
  double *pending;
  size_t n_pending, pending_capacity;
  double before; /* the sample before pending[0] */
  double level;
  Rows statics, slopes, rows;
};

double
pla_mel(double hz)
{
  return 2595.0 * log10(1.0 + hz / 700.0);
}

static double
lift(int j)
{
  return 1.0 + 0.5 * LIFTER * sin(M_PI * j / LIFTER);
}

/* middle of the bands in mels: the first, and their distance */
static double
band_step(double *first)
{
  const double lo = pla_mel(60.0), step = (pla_mel(0.5 * PLA_SPEECH_HZ) - lo) / (BANDS + 1);
  *first = lo + step;
  return step;
}

void
pla_features_warp(double factor, double a[(PLA_N_STATIC - 1) * (PLA_N_STATIC - 1)])
{
  enum { N = PLA_N_STATIC - 1 };
  double first;
  const double step = band_step(&first);
  memset(a, 0, N * N * sizeof *a);
  for (int b = 0; b < BANDS; b++) {
    /* what is heard in band b came from there */
    const double hz = 700.0 * (pow(10.0, (first + b * step) / 2595.0) - 1.0) / factor;
    const double from = fmin(fmax((pla_mel(hz) - first) / step, 0.0), BANDS - 1.0);
    for (int i = 1; i <= N; i++)
      for (int j = 1; j <= N; j++)
        a[(i - 1) * N + j - 1] += 2.0 / BANDS * lift(i) / lift(j) *
                                  cos(M_PI * i * (b + 0.5) / BANDS) *
                                  cos(M_PI * j * (from + 0.5) / BANDS);
  }
}

static void
fill_tables(PlaFeatures *self)
{
  for (int i = 0; i < PLA_FRAME_SAMPLES; i++)
    self->window[i] = 0.5 - 0.5 * cos(2.0 * M_PI * i / (PLA_FRAME_SAMPLES - 1));
  /* triangles between equidistant mels up to 8 kHz, the lowest from 60 Hz: mains hum stays out */
  double first;
  const double step = band_step(&first);
  for (int b = 0; b < BANDS; b++) {
    self->mel_from[b] = FFT / 2 + 1;
    for (int k = 0; k <= FFT / 2; k++) {
      const double m = (pla_mel((double)k * PLA_SPEECH_HZ / FFT) - first) / step - b;
      const double weight = fmax(0.0, 1.0 - fabs(m));
      self->mel[b][k] = weight;
      if (weight > 0.0) {
        if (self->mel_from[b] > k)
          self->mel_from[b] = k;
        self->mel_to[b] = k + 1;
      }
    }
  }
  for (int j = 1; j < PLA_N_STATIC; j++)
    for (int b = 0; b < BANDS; b++)
      self->cosine[j - 1][b] = sqrt(2.0 / BANDS) * cos(M_PI * j * (b + 0.5) / BANDS) * lift(j);
}

PlaStatus
pla_features_new(bool causal, PlaFeatures **out, PlaError *err)
{
  PlaFeatures *self = pla_array_new0(1, sizeof *self);
  *out = self;
  if (self)
    self->fft = pla_fft_new(FFT);
  if (!self || !self->fft) {
    pla_features_free(self);
    *out = NULL;
    return pla_fail_memory(err, "the sound's features");
  }
  self->causal = causal;
  self->level = level_start;
  self->statics.width = self->slopes.width = PLA_N_STATIC * sizeof(double);
  self->rows.width = PLA_N_FEATURES * sizeof(float);
  fill_tables(self);
  return PLA_OK;
}

void
pla_features_free(PlaFeatures *self)
{
  if (!self)
    return;
  pla_fft_free(self->fft);
  free(self->pending);
  free(self->statics.data);
  free(self->slopes.data);
  free(self->rows.data);
  free(self);
}

static void *
rows_at(const Rows *rows, long frame)
{
  assert(frame >= rows->first && frame < rows->n);
  return (char *)rows->data + (size_t)(frame - rows->first) * rows->width;
}

static void *
rows_append(Rows *rows)
{
  if (rows->n - rows->first == rows->capacity) {
    const long larger = rows->capacity + rows->capacity / 2 + 64;
    if (!pla_array_resize(&rows->data, (size_t)larger, rows->width))
      return NULL;
    rows->capacity = larger;
  }
  rows->n++;
  return rows_at(rows, rows->n - 1);
}

/* forgets frames before @frame, in few large moves */
static void
rows_drop(Rows *rows, long frame)
{
  const long gone = frame - rows->first;
  if (gone <= 0 || 2 * gone < rows->n - rows->first)
    return;
  const long kept = rows->n - frame > 0 ? rows->n - frame : 0;
  memmove(rows->data, (char *)rows->data + (size_t)(rows->n - rows->first - kept) * rows->width,
          (size_t)kept * rows->width);
  rows->first = rows->n - kept;
}

void
pla_features_static(const PlaFeatures *self, const double *sample, double before,
                    double out[PLA_N_STATIC])
{
  double re[FFT] = { 0 }, im[FFT] = { 0 }, log_band[BANDS], energy = 0.0;
  for (int i = 0; i < PLA_FRAME_SAMPLES; i++) {
    re[i] = self->window[i] * (sample[i] - pre_emphasis * (i > 0 ? sample[i - 1] : before));
    energy += sample[i] * sample[i];
  }
  pla_fft_forward(self->fft, re, im);
  for (int k = 0; k <= FFT / 2; k++)
    re[k] = re[k] * re[k] + im[k] * im[k];
  for (int b = 0; b < BANDS; b++) {
    double sum = 0.0;
    for (int k = self->mel_from[b]; k < self->mel_to[b]; k++)
      sum += self->mel[b][k] * re[k];
    log_band[b] = log(sum + power_floor);
  }
  for (int j = 0; j < PLA_N_STATIC - 1; j++) {
    double sum = 0.0;
    for (int b = 0; b < BANDS; b++)
      sum += self->cosine[j][b] * log_band[b];
    out[j] = sum;
  }
  out[PLA_N_STATIC - 1] = log(energy + energy_floor);
}

static bool
add_static(PlaFeatures *self, const double *sample, double before)
{
  double *row = rows_append(&self->statics);
  if (!row)
    return false;
  pla_features_static(self, sample, before, row);
  double *energy = &row[PLA_N_STATIC - 1];
  self->level = fmax(fmax(*energy, self->level - level_fall), level_least);
  *energy -= self->level;
  return true;
}

static const double *
clamped(const Rows *rows, long frame)
{
  if (frame > rows->n - 1)
    frame = rows->n - 1;
  return rows_at(rows, frame > 0 ? frame : 0);
}

/* slope of @rows around @centre */
static void
slope_at(const Rows *rows, long centre, double out[PLA_N_STATIC])
{
  memset(out, 0, PLA_N_STATIC * sizeof *out);
  for (int k = 1; k <= SLOPE; k++) {
    const double *a = clamped(rows, centre - k), *b = clamped(rows, centre + k);
    for (int j = 0; j < PLA_N_STATIC; j++)
      out[j] += k * (b[j] - a[j]) / 10.0;
  }
}

/* everything that the frames at hand allow */
static bool
derive(PlaFeatures *self)
{
  const int ahead = self->causal ? 0 : SLOPE, lag = self->causal ? SLOPE : 0;
  while (self->slopes.n < self->statics.n - (self->ended ? 0 : ahead)) {
    const long t = self->slopes.n;
    double *slope = rows_append(&self->slopes);
    if (!slope)
      return false;
    slope_at(&self->statics, t - lag, slope);
  }
  while (self->rows.n < self->slopes.n - (self->ended ? 0 : ahead)) {
    const long t = self->rows.n;
    double second[PLA_N_STATIC];
    const double *first = rows_at(&self->slopes, t), *value = rows_at(&self->statics, t);
    slope_at(&self->slopes, t - lag, second);
    float *row = rows_append(&self->rows);
    if (!row)
      return false;
    for (int j = 0; j < PLA_N_STATIC; j++) {
      row[j] = (float)value[j];
      row[PLA_N_STATIC + j] = (float)first[j];
      row[2 * PLA_N_STATIC + j] = (float)second[j];
    }
  }
  /* later rows reach back no further than this */
  rows_drop(&self->statics, self->slopes.n - 2 * SLOPE - 1 < self->rows.n
                                ? self->slopes.n - 2 * SLOPE - 1
                                : self->rows.n);
  rows_drop(&self->slopes, self->rows.n - 2 * SLOPE - 1);
  return true;
}

bool
pla_features_push(PlaFeatures *self, const double *sample, size_t n, bool end)
{
  assert(!self->ended);
  if (self->n_pending + n > self->pending_capacity) {
    const size_t larger = self->n_pending + n + 2 * PLA_FRAME_SAMPLES;
    if (!pla_array_resize((void **)&self->pending, larger, sizeof *self->pending))
      return false;
    self->pending_capacity = larger;
  }
  if (n > 0)
    memcpy(self->pending + self->n_pending, sample, n * sizeof *sample);
  self->n_pending += n;
  size_t at = 0;
  for (; at + PLA_FRAME_SAMPLES <= self->n_pending; at += PLA_HOP_SAMPLES) {
    if (!add_static(self, self->pending + at, self->before))
      return false;
    self->before = self->pending[at + PLA_HOP_SAMPLES - 1];
  }
  if (at > 0) {
    memmove(self->pending, self->pending + at, (self->n_pending - at) * sizeof *self->pending);
    self->n_pending -= at;
  }
  self->ended = end;
  return derive(self);
}

long
pla_features_count(const PlaFeatures *self)
{
  return self->rows.n;
}

const float *
pla_features_row(const PlaFeatures *self, long frame)
{
  return rows_at(&self->rows, frame);
}

void
pla_features_drop(PlaFeatures *self, long frame)
{
  rows_drop(&self->rows, frame);
}

int
pla_features_look_ahead(const PlaFeatures *self)
{
  return self->causal ? 0 : 2 * SLOPE;
}

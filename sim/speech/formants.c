/*   x'[i] = w[i] (x[i] - 0.97 x[i-1]),  r_k = sum x'[i] x'[i+k],  Levinson's recursion for A,
 *   spectrum = 1 / |A(e^jw)|^2 on a grid of 10 Hz, peaks refined by a parabola through their
 * logarithms. */
#include "sim/speech/formants.h"

#include "sim/speech/speech-features.h"

#include <complex.h>
#include <math.h>
#include <string.h>

enum {
  ORDER = 18,
  N = PLA_FORMANT_SAMPLES
}; /* two poles for each kHz of band, two more for the source */
static const double step_hz = 10.0, least_hz = 150.0, most_hz = 4500.0;

/* autocorrelation at @lag over that at 0, of samples themselves */
static double
likeness(const double *x, int lag)
{
  double with = 0.0, a = 1e-12, b = 1e-12;
  for (int i = 0; i + lag < N; i++) {
    with += x[i] * x[i + lag];
    a += x[i] * x[i];
    b += x[i + lag] * x[i + lag];
  }
  return with / sqrt(a * b);
}

static bool
is_voice(const double *x, double least)
{
  double square = 0.0, best = 0.0;
  for (int i = 0; i < N; i++)
    square += x[i] * x[i] / N;
  if (square < least || square <= 0.0)
    return false;
  for (int lag = PLA_SPEECH_HZ / 400; lag <= PLA_SPEECH_HZ / 60; lag++)
    best = fmax(best, likeness(x, lag));
  return best > 0.5;
}

/* coefficients of A, a[0] = 1; false where the frame predicts nothing */
static bool
predict(const double *sample, double a[ORDER + 1])
{
  double x[N], r[ORDER + 1] = { 0 };
  for (int i = 0; i < N; i++) {
    const double window = 0.54 - 0.46 * cos(2.0 * M_PI * i / (N - 1));
    x[i] = window * (sample[i] - (i > 0 ? 0.97 * sample[i - 1] : 0.0));
  }
  for (int k = 0; k <= ORDER; k++)
    for (int i = 0; i + k < N; i++)
      r[k] += x[i] * x[i + k];
  r[0] *= 1.0 + 1e-6; /* a floor 60 dB down keeps the recursion sound */
  double error = r[0];
  memset(a, 0, (ORDER + 1) * sizeof *a);
  a[0] = 1.0;
  for (int m = 1; m <= ORDER; m++) {
    double sum = r[m], next[ORDER + 1];
    if (!(error > 0.0))
      return false;
    for (int i = 1; i < m; i++)
      sum += a[i] * r[m - i];
    const double k = -sum / error;
    memcpy(next, a, sizeof next);
    for (int i = 1; i < m; i++)
      next[i] = a[i] + k * a[m - i];
    next[m] = k;
    memcpy(a, next, sizeof next);
    error *= 1.0 - k * k;
  }
  return true;
}

/* logarithm of 1 / |A|^2 */
static double
loudness(const double a[ORDER + 1], double hz)
{
  double complex sum = 0.0;
  for (int k = 0; k <= ORDER; k++)
    sum += a[k] * cexp(-I * (2.0 * M_PI * hz / PLA_SPEECH_HZ * k));
  return -2.0 * log(cabs(sum) + 1e-12);
}

bool
pla_formants_hear(const double *sample, double least, double hz[PLA_FORMANTS])
{
  double a[ORDER + 1];
  int n = 0;
  for (int k = 0; k < PLA_FORMANTS; k++)
    hz[k] = NAN;
  if (!is_voice(sample, least) || !predict(sample, a))
    return false;
  double before = loudness(a, least_hz - step_hz), here = loudness(a, least_hz);
  for (double f = least_hz; f < most_hz && n < PLA_FORMANTS; f += step_hz) {
    const double after = loudness(a, f + step_hz);
    if (here > before && here >= after)
      hz[n++] = f + 0.5 * step_hz * (before - after) / (before - 2.0 * here + after);
    before = here;
    here = after;
  }
  return true;
}

int
pla_formants_track(const double *sample, size_t n, int n_frames, double *hz)
{
  double loudest = 0.0;
  int voiced = 0;
  for (size_t first = 0; first + N <= n; first += PLA_HOP_SAMPLES) {
    double square = 0.0;
    for (size_t i = first; i < first + N; i++)
      square += sample[i] * sample[i] / N;
    loudest = fmax(loudest, square);
  }
#pragma omp parallel for schedule(static) reduction(+ : voiced)
  for (int t = 0; t < n_frames; t++) {
    const long first = PLA_FRAME_SAMPLES / 2 + (long)t * PLA_HOP_SAMPLES - N / 2;
    double *row = hz + PLA_FORMANTS * (size_t)t;
    if (first >= 0 && (size_t)first + N <= n)
      voiced += pla_formants_hear(sample + first, 1e-3 * loudest, row);
    else
      for (int k = 0; k < PLA_FORMANTS; k++)
        row[k] = NAN;
  }
  return voiced;
}

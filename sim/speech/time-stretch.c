/* Time stretching by waveform-similarity overlap-add (W. Verhelst and M. Roelands, 1993): pieces
 * of 30 ms under Hann windows, each taken within 8 ms of its place where it correlates best with
 * the continuation of the piece before. */
#include "sim/speech/time-stretch.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float
at(const float *x, size_t n, long i)
{
  return i < 0 || i >= (long)n ? 0.0f : x[i];
}

/* where near @wish the sound goes on as it would after @natural */
static long
best_start(const float *x, size_t n, long wish, long natural, long reach, long length)
{
  double best = -INFINITY;
  long found = wish;
  for (long d = -reach; d <= reach; d += 2) {
    double dot = 0.0, square = 1e-9;
    for (long i = 0; i < length; i += 3) {
      const double a = (double)at(x, n, wish + d + i), b = (double)at(x, n, natural + i);
      dot += a * b;
      square += a * a;
    }
    const double score = dot / sqrt(square);
    if (score > best) {
      best = score;
      found = wish + d;
    }
  }
  return found;
}

PlaStatus
pla_stretch(const float *sample, size_t n, double rate_hz, double speed, float **out, size_t *n_out,
            PlaError *err)
{
  const size_t size = (size_t)ceil((double)n / speed);
  const long half = (long)(0.015 * rate_hz), reach = (long)(0.008 * rate_hz);
  float *y = *out = pla_array_new0(size + 1, sizeof *y);
  *n_out = size;
  if (!y)
    return pla_fail_memory(err, "the slowed sound");
  if (speed >= 1.0) {
    memcpy(y, sample, n * sizeof *y);
    return PLA_OK;
  }
  /* pieces of two halves under a Hann window, one half apart: the windows add up to one */
  long start = -half;
  for (long to = -half; to < (long)size; to += half) {
    if (to > -half)
      start = best_start(sample, n, (long)((double)to * speed), start + half, reach, half);
    for (long i = 0; i < 2 * half; i++)
      if (to + i >= 0 && to + i < (long)size) {
        const double w = 0.5 - 0.5 * cos(M_PI * ((double)i + 0.5) / (double)half);
        y[to + i] += (float)(w * (double)at(sample, n, start + i));
      }
  }
  return PLA_OK;
}

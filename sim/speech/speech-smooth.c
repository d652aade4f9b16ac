/* A. Savitzky and M. J. E. Golay, Anal. Chem. 36 (1964).  Weights from orthogonal polynomials on
 * the window: w_i = sum_k p_k(at) p_k(i) / |p_k|^2, with p_k made by the three-term recurrence,
 * which stays exact where normal equations lose digits. */
#include "sim/speech/speech-smooth.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void
pla_smooth_weights(int n, int degree, int at, double *weight)
{
  assert(n >= 1 && n <= PLA_SMOOTH_MAX && degree >= 0 && degree < n && at >= 0 && at < n);
  double p[PLA_SMOOTH_MAX], last[PLA_SMOOTH_MAX] = { 0 }, norm_last = 1.0;
  for (int i = 0; i < n; i++) {
    p[i] = 1.0;
    weight[i] = 0.0;
  }
  for (int k = 0; k <= degree; k++) {
    double norm = 0.0, mean = 0.0;
    for (int i = 0; i < n; i++) {
      const double x = i - 0.5 * (n - 1);
      norm += p[i] * p[i];
      mean += x * p[i] * p[i];
    }
    for (int i = 0; i < n; i++)
      weight[i] += p[at] * p[i] / norm;
    /* p_{k+1} = (x - mean) p_k - (norm_k / norm_{k-1}) p_{k-1} */
    for (int i = 0; i < n; i++) {
      const double x = i - 0.5 * (n - 1);
      const double next = (x - mean / norm) * p[i] - (k > 0 ? norm / norm_last : 0.0) * last[i];
      last[i] = p[i];
      p[i] = next;
    }
    norm_last = norm;
  }
}

PlaStatus
pla_smooth(double *value, int n_samples, int width, int n, int degree, PlaError *err)
{
  assert(n % 2 == 1);
  if (n > n_samples)
    n = n_samples % 2 ? n_samples : n_samples - 1;
  if (n <= degree)
    return PLA_OK; /* the polynomial meets every sample */
  double *weight = pla_array_new((size_t)n * (size_t)n, sizeof *weight);
  double *copy = pla_array_dup(value, (size_t)n_samples * (size_t)width, sizeof *copy);
  PlaStatus st = weight && copy ? PLA_OK : pla_fail_memory(err, "the sensor track");
  for (int at = 0; st == PLA_OK && at < n; at++)
    pla_smooth_weights(n, degree, at, weight + (size_t)at * (size_t)n);
  for (int t = 0; st == PLA_OK && t < n_samples; t++) {
    int first = t - n / 2;
    first = first < 0 ? 0 : first > n_samples - n ? n_samples - n : first;
    const double *w = weight + (size_t)(t - first) * (size_t)n;
    for (int c = 0; c < width; c++) {
      double sum = 0.0;
      for (int i = 0; i < n; i++)
        sum += w[i] * copy[(size_t)(first + i) * (size_t)width + (size_t)c];
      value[(size_t)t * (size_t)width + (size_t)c] = sum;
    }
  }
  free(weight);
  free(copy);
  return st;
}

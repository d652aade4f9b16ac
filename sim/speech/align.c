/* Dynamic time warping (H. Sakoe and S. Chiba, 1978): D(i,j) = d(i,j) + min(D(i-1,j-1),
 * D(i,j-1), D(i-1,j)), Euclidean d between rows. Only the steps are stored for all pairs; costs
 * take two rows. */
#include "sim/speech/align.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double
distance(const float *a, const float *b, int width)
{
  double sum = 0.0;
  for (int k = 0; k < width; k++)
    sum += (double)(a[k] - b[k]) * (double)(a[k] - b[k]);
  return sqrt(sum);
}

void
pla_align_normalise(float *row, int n, int width)
{
  for (int k = 0; k < width; k++) {
    double mean = 0.0, square = 0.0;
    for (int i = 0; i < n; i++)
      mean += (double)row[(size_t)i * (size_t)width + (size_t)k] / n;
    for (int i = 0; i < n; i++)
      square += pow((double)row[(size_t)i * (size_t)width + (size_t)k] - mean, 2.0) / n;
    const double scale = square > 1e-12 ? 1.0 / sqrt(square) : 0.0;
    for (int i = 0; i < n; i++) {
      float *x = &row[(size_t)i * (size_t)width + (size_t)k];
      *x = (float)(((double)*x - mean) * scale);
    }
  }
}

/* goes back along the stored steps; rows of b that share a row of a are averaged */
static int
trace_back(const uint8_t *step, int n_a, int n_b, int *other)
{
  int i = n_a - 1, j = n_b - 1, last = j, length = 1;
  for (;;) {
    const uint8_t s = step[(size_t)i * (size_t)n_b + (size_t)j];
    if (s == 1) { /* along b */
      j--;
    } else {
      other[i] = (j + last) / 2;
      if (i == 0)
        break;
      i--;
      if (s == 0)
        j--;
      last = j;
    }
    length++;
  }
  return length;
}

PlaStatus
pla_align(const float *a, int n_a, const float *b, int n_b, int width, int *other, double *mean,
          PlaProgress *progress, PlaError *err)
{
  if (n_a < 1 || n_b < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "a recording without sound cannot be compared");
  uint8_t *step = pla_array_new((size_t)n_a, (size_t)n_b);
  double *cost = pla_array_new((size_t)n_b, 2 * sizeof *cost);
  PlaStatus st = step && cost ? PLA_OK : pla_fail_memory(err, "the comparison");
  for (int i = 0; st == PLA_OK && i < n_a; i++) {
    double *now = cost + (size_t)(i % 2) * (size_t)n_b,
           *before = cost + (size_t)((i + 1) % 2) * (size_t)n_b;
    for (int j = 0; j < n_b; j++) {
      const double d =
          distance(a + (size_t)i * (size_t)width, b + (size_t)j * (size_t)width, width);
      double best = i == 0 && j == 0 ? 0.0 : INFINITY;
      uint8_t way = 0;
      if (i > 0 && j > 0)
        best = before[j - 1];
      if (j > 0 && now[j - 1] < best) {
        best = now[j - 1];
        way = 1;
      }
      if (i > 0 && before[j] < best) {
        best = before[j];
        way = 2;
      }
      now[j] = best + d;
      step[(size_t)i * (size_t)n_b + (size_t)j] = way;
    }
    if (i % 32 == 0 && !pla_progress_step(progress, (double)i / n_a))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK) {
    const double whole = cost[(size_t)((n_a - 1) % 2) * (size_t)n_b + (size_t)n_b - 1];
    const int length = trace_back(step, n_a, n_b, other);
    if (mean)
      *mean = whole / length;
  }
  free(step);
  free(cost);
  return st;
}

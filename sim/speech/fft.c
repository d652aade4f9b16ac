/* Radix-2 transform with decimation in time: bits reversed, then log2 n rounds of butterflies whose
 * twiddles come from one table of n/2 roots, each computed directly so that errors do not grow. */
#include "sim/speech/fft.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

struct PlaFft {
  int n;
  int *reversed;         /* (n) */
  double *cosine, *sine; /* of 2 pi k / n (n/2 each) */
};

PlaFft *
pla_fft_new(int n)
{
  assert(n >= 4 && n <= 1 << 20 && (n & (n - 1)) == 0);
  PlaFft *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return NULL;
  self->n = n;
  self->reversed = pla_array_new0((size_t)n, sizeof *self->reversed);
  self->cosine = pla_array_new((size_t)n / 2, sizeof *self->cosine);
  self->sine = pla_array_new((size_t)n / 2, sizeof *self->sine);
  if (!self->reversed || !self->cosine || !self->sine) {
    pla_fft_free(self);
    return NULL;
  }
  for (int i = 0; i < n; i++)
    self->reversed[i] = (self->reversed[i >> 1] >> 1) | (i & 1 ? n >> 1 : 0);
  for (int k = 0; k < n / 2; k++) {
    self->cosine[k] = cos(2.0 * M_PI * k / n);
    self->sine[k] = sin(2.0 * M_PI * k / n);
  }
  return self;
}

void
pla_fft_free(PlaFft *self)
{
  if (!self)
    return;
  free(self->reversed);
  free(self->cosine);
  free(self->sine);
  free(self);
}

void
pla_fft_forward(const PlaFft *self, double *re, double *im)
{
  const int n = self->n;
  for (int i = 0; i < n; i++) {
    const int j = self->reversed[i];
    if (j > i) {
      const double r = re[i], m = im[i];
      re[i] = re[j];
      im[i] = im[j];
      re[j] = r;
      im[j] = m;
    }
  }
  for (int half = 1; half < n; half *= 2) {
    const int stride = n / (2 * half);
    for (int start = 0; start < n; start += 2 * half)
      for (int k = 0; k < half; k++) {
        const double c = self->cosine[k * stride], s = self->sine[k * stride];
        const int a = start + k, b = a + half;
        const double r = re[b] * c + im[b] * s, m = im[b] * c - re[b] * s;
        re[b] = re[a] - r;
        im[b] = im[a] - m;
        re[a] += r;
        im[a] += m;
      }
  }
}

void
pla_fft_inverse(const PlaFft *self, double *re, double *im)
{
  pla_fft_forward(self, im, re); /* swapping the parts conjugates before and after */
}

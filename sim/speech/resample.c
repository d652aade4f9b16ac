/* Band-limited interpolation: out(t) = sum_j in[j] h(t - j), h a sinc cut off below the lower of
 * the two Nyquist frequencies under a Kaiser window (beta 8.6: stop band near -85 dB).
 *
 * Where the rates are in a ratio of small whole numbers, output times repeat and the filter's
 * phases are tabulated; else each is computed. */
#include "sim/speech/resample.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  ZEROS = 24,        /* zero crossings of the sinc on each side */
  MAX_PHASES = 1024, /* phases that are tabulated */
};
static const double kaiser_beta = 8.6;
static const double roll_off = 0.95; /* cut-off as a part of the lower Nyquist frequency */

struct PlaResampler {
  double from_hz, to_hz;
  double cutoff;    /* of the input's Nyquist frequency */
  int reach;        /* input samples on each side of an output */
  int64_t up, down; /* output k stands at input k * down / up; up 0: no small ratio */
  double *table;    /* (up x 2 reach), or NULL */
  double *history;  /* input from sample first_in on */
  int64_t first_in;
  size_t n_history, capacity;
  int64_t n_in, n_out;
};

/* modified Bessel function of the first kind, order 0: its power series */
static double
bessel_i0(double x)
{
  double term = 1.0, sum = 1.0;
  for (int k = 1; k < 60 && term > 1e-18 * sum; k++) {
    term *= (x / (2.0 * k)) * (x / (2.0 * k));
    sum += term;
  }
  return sum;
}

static double
kernel(const PlaResampler *self, double t)
{
  const double u = t / self->reach;
  if (fabs(u) >= 1.0)
    return 0.0;
  const double x = M_PI * self->cutoff * t;
  const double sinc = fabs(x) < 1e-9 ? 1.0 : sin(x) / x;
  return self->cutoff * sinc * bessel_i0(kaiser_beta * sqrt(1.0 - u * u)) / bessel_i0(kaiser_beta);
}

/* weights of in[base - reach + 1 .. base + reach] for an output @frac behind in[base] */
static void
phase_weights(const PlaResampler *self, double frac, double *weight)
{
  double sum = 0.0;
  for (int j = 0; j < 2 * self->reach; j++) {
    weight[j] = kernel(self, frac - (j - self->reach + 1));
    sum += weight[j];
  }
  for (int j = 0; j < 2 * self->reach; j++)
    weight[j] /= sum; /* a constant stays a constant */
}

static int64_t
gcd(int64_t a, int64_t b)
{
  while (b) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

PlaStatus
pla_resampler_new(double from_hz, double to_hz, PlaResampler **out, PlaError *err)
{
  *out = NULL;
  if (!(from_hz >= 1000.0 && from_hz <= 1e6 && to_hz >= 1000.0 && to_hz <= 1e6))
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "a sound at %g Hz cannot be used; rates from 1 kHz to 1 MHz can", from_hz);
  PlaResampler *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the sound");
  self->from_hz = from_hz;
  self->to_hz = to_hz;
  if (from_hz != to_hz) {
    self->cutoff = roll_off * fmin(1.0, to_hz / from_hz);
    self->reach = (int)ceil(ZEROS / self->cutoff);
    if (from_hz == floor(from_hz) && to_hz == floor(to_hz)) {
      const int64_t common = gcd((int64_t)from_hz, (int64_t)to_hz);
      self->up = (int64_t)to_hz / common;
      self->down = (int64_t)from_hz / common;
    }
    if (self->up > 0 && self->up <= MAX_PHASES) {
      self->table = pla_array_new((size_t)self->up * 2 * (size_t)self->reach, sizeof *self->table);
      for (int64_t p = 0; self->table && p < self->up; p++)
        phase_weights(self, (double)p / (double)self->up, self->table + p * 2 * self->reach);
    } else {
      self->table = pla_array_new(2 * (size_t)self->reach, sizeof *self->table);
    }
    if (!self->table) {
      pla_resampler_free(self);
      return pla_fail_memory(err, "the sound");
    }
  }
  *out = self;
  return PLA_OK;
}

void
pla_resampler_free(PlaResampler *self)
{
  if (!self)
    return;
  free(self->table);
  free(self->history);
  free(self);
}

double
pla_resampler_latency_s(const PlaResampler *self)
{
  return self->reach / self->from_hz;
}

static bool
append(double **out, size_t *n_out, size_t *capacity, double value)
{
  if (*n_out == *capacity) {
    const size_t larger = *capacity + *capacity / 2 + 1024;
    if (!pla_array_resize((void **)out, larger, sizeof **out))
      return false;
    *capacity = larger;
  }
  (*out)[(*n_out)++] = value;
  return true;
}

/* where output sample number @k stands between the inputs, and the weights there */
static const double *
place(PlaResampler *self, int64_t k, int64_t *base)
{
  const bool tabulated = self->up > 0 && self->up <= MAX_PHASES;
  if (tabulated) {
    *base = k * self->down / self->up;
    return self->table + k * self->down % self->up * 2 * self->reach;
  }
  const double at = (double)k * self->from_hz / self->to_hz;
  *base = (int64_t)floor(at);
  phase_weights(self, at - (double)*base, self->table);
  return self->table;
}

bool
pla_resampler_push(PlaResampler *self, const double *in, size_t n, bool end, double **out,
                   size_t *n_out, size_t *capacity)
{
  if (self->from_hz == self->to_hz) {
    for (size_t i = 0; i < n; i++)
      if (!append(out, n_out, capacity, in[i]))
        return false;
    return true;
  }
  if (self->n_history + n > self->capacity) {
    const size_t larger = 2 * (self->n_history + n) + 1024;
    if (!pla_array_resize((void **)&self->history, larger, sizeof *self->history))
      return false;
    self->capacity = larger;
  }
  if (n > 0)
    memcpy(self->history + self->n_history, in, n * sizeof *in);
  self->n_history += n;
  self->n_in += (int64_t)n;

  /* the sound is silent before its start and after its end */
  for (;; self->n_out++) {
    int64_t base;
    if ((double)self->n_out * self->from_hz / self->to_hz > (double)self->n_in)
      break;
    const double *weight = place(self, self->n_out, &base);
    if (end ? base >= self->n_in : base + self->reach >= self->n_in)
      break;
    double sum = 0.0;
    for (int j = 0; j < 2 * self->reach; j++) {
      const int64_t i = base - self->reach + 1 + j;
      if (i >= 0 && i < self->n_in)
        sum += weight[j] * self->history[i - self->first_in];
    }
    if (!append(out, n_out, capacity, sum))
      return false;
  }
  /* what no later output reaches */
  const int64_t keep = (int64_t)((double)self->n_out * self->from_hz / self->to_hz) - self->reach;
  if (keep - self->first_in > (int64_t)self->n_history / 2) {
    const size_t gone = (size_t)(keep - self->first_in) < self->n_history
                            ? (size_t)(keep - self->first_in)
                            : self->n_history;
    memmove(self->history, self->history + gone, (self->n_history - gone) * sizeof *self->history);
    self->n_history -= gone;
    self->first_in += (int64_t)gone;
  }
  return true;
}

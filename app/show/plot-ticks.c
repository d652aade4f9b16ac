/* Ticks at 1, 2 or 5 times a power of ten. All spans are computed halved, so that ranges up to
 * the largest double do not overflow. */
#include "app/show/plot-ticks.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* distances are halved before they are taken: from -1e308 to 1e308 is further than a double goes */
static double
half_span(double lo, double hi)
{
  return 0.5 * hi - 0.5 * lo;
}

bool
pla_range_is_flat(double lo, double hi)
{
  const double half = half_span(lo, hi);
  if (!isfinite(half))
    return true;
  /* below 1e-300 a step of an axis would have no digits left */
  return !(half > fmax(1e-9 * fmax(fabs(lo), fabs(hi)), 1e-300));
}

void
pla_range_open(double *lo, double *hi)
{
  if (!pla_range_is_flat(*lo, *hi))
    return;
  double middle = 0.5 * *lo + 0.5 * *hi;
  if (!isfinite(middle) || fabs(middle) < 1e-299) {
    *lo = 0.0;
    *hi = 1.0;
    return;
  }
  const double half = 0.5 * fabs(middle);
  *lo = fmax(middle - half, -DBL_MAX);
  *hi = fmin(middle + half, DBL_MAX);
}

double
pla_range_share(double lo, double hi, double value)
{
  return half_span(lo, value) / half_span(lo, hi);
}

/* 1, 2 or 5 times a power of ten, the smallest not below @least */
static double
round_up(double least)
{
  const double unit = pow(10.0, floor(log10(least)));
  const double lead = least / unit * (1.0 - 1e-12);
  return unit * (lead <= 1.0 ? 1.0 : lead <= 2.0 ? 2.0 : lead <= 5.0 ? 5.0 : 10.0);
}

PlaTicks
pla_ticks(double lo, double hi, double most)
{
  PlaTicks self = { 0 };
  if (pla_range_is_flat(lo, hi))
    return self;
  self.step = round_up(2.0 * (half_span(lo, hi) / fmax(most, 2.0)));
  if (!isfinite(self.step) || !(self.step > 0.0))
    return (PlaTicks){ 0 };
  self.first = ceil(lo / self.step - 1e-9);
  const double last = floor(hi / self.step + 1e-9);
  self.n = last >= self.first ? (int)(last - self.first) + 1 : 0;
  /* digits that tell neighbours apart */
  const double first_digit = floor(log10(fmax(fabs(lo), fabs(hi)))),
               last_digit = floor(log10(self.step) + 1e-9);
  if (first_digit - last_digit + 1.0 > 6.0)
    self.base = self.first * self.step;
  return self;
}

double
pla_ticks_value(const PlaTicks *self, int i)
{
  const double k = self->first + i;
  return k == 0.0 ? 0.0 : k * self->step; /* no -0 */
}

const char *
pla_ticks_label(const PlaTicks *self, int i, char text[PLA_TICK_TEXT])
{
  if (self->base != 0.0)
    snprintf(text, PLA_TICK_TEXT, "+%.6g", i * self->step);
  else
    snprintf(text, PLA_TICK_TEXT, "%.6g", pla_ticks_value(self, i));
  return text;
}

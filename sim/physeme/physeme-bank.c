/* The bank: takes with their phonemes.
 *
 * Between frames, controls are cubic with the slopes of F. N. Fritsch and J. Butland (A method for
 * constructing local monotone piecewise cubic interpolants, SIAM J. Sci. Stat. Comput. 1984): once
 * differentiable, and never beyond the frames beside them, so activations stay within 0..1.
 * Physemes refer to the whole take: their leads need no copies, and neighbours from one take agree
 * where they overlap to the last bit. */
#include "sim/physeme/physeme-private.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
take_clear(Take *take)
{
  free(take->control);
  free(take->slope);
  free(take->head_vel);
}

PlaStatus
pla_physeme_bank_new(int n_controls, const double *neutral, const double *weight,
                     PlaPhysemeBank **out, PlaError *err)
{
  assert(n_controls >= 1);
  *out = NULL;
  const size_t n = (size_t)n_controls;
  PlaPhysemeBank *self = pla_array_new0(1, sizeof *self);
  if (self) {
    self->n_controls = n_controls;
    self->neutral = neutral ? pla_array_dup(neutral, n, sizeof *neutral)
                            : pla_array_new0(n, sizeof *self->neutral);
    self->weight =
        weight ? pla_array_dup(weight, n, sizeof *weight) : pla_array_new(n, sizeof *self->weight);
  }
  if (!self || !self->neutral || !self->weight) {
    pla_physeme_bank_free(self);
    return pla_fail_memory(err, "the physemes");
  }
  for (int c = 0; !weight && c < n_controls; c++)
    self->weight[c] = 1.0;
  *out = self;
  return PLA_OK;
}

void
pla_physeme_bank_free(PlaPhysemeBank *self)
{
  if (!self)
    return;
  for (int t = 0; t < self->n_takes; t++)
    take_clear(&self->take[t]);
  for (int p = 0; p < self->n; p++)
    free((char *)self->physeme[p].label);
  free(self->take);
  free(self->physeme);
  free(self->neutral);
  free(self->weight);
  free(self);
}

/* ---- a take */

/* slope of the monotone cubic at frame @f of a channel; level at the ends, where values are held */
static double
monotone_slope(const double *value, int stride, int n_frames, int f, double rate_hz)
{
  if (f == 0 || f == n_frames - 1)
    return 0.0;
  const double before = value[f * stride] - value[(f - 1) * stride];
  const double after = value[(f + 1) * stride] - value[f * stride];
  return before * after > 0.0 ? 2.0 * before * after / (before + after) * rate_hz : 0.0;
}

/* the rotation from quaternion @a to @b as a vector: axis x angle, rad */
static void
rotation_between(const double a[4], const double b[4], double out[3])
{
  /* b a*, whose vector part is axis x sin(angle / 2) */
  double w = b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + b[3] * a[3];
  double v[3] = { a[0] * b[1] - b[0] * a[1] - b[2] * a[3] + b[3] * a[2],
                  a[0] * b[2] - b[0] * a[2] - b[3] * a[1] + b[1] * a[3],
                  a[0] * b[3] - b[0] * a[3] - b[1] * a[2] + b[2] * a[1] };
  if (w < 0.0) {
    w = -w;
    for (int d = 0; d < 3; d++)
      v[d] = -v[d];
  }
  const double s = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  const double scale = s > 1e-12 ? 2.0 * atan2(s, w) / s : 2.0;
  for (int d = 0; d < 3; d++)
    out[d] = scale * v[d];
}

/* central differences, one-sided at the ends */
static void
head_velocities(const PlaControlTake *take, double *out)
{
  for (int f = 0; f < take->n_frames; f++) {
    const int from = f > 0 ? f - 1 : f, to = f < take->n_frames - 1 ? f + 1 : f;
    const double *a = take->head + 7 * from, *b = take->head + 7 * to;
    double *vel = out + 6 * f;
    const double per_s = to > from ? take->rate_hz / (to - from) : 0.0;
    rotation_between(a, b, vel + 3);
    for (int d = 0; d < 3; d++) {
      vel[d] = (b[4 + d] - a[4 + d]) * per_s;
      vel[3 + d] *= per_s;
    }
  }
}

static PlaStatus
check_take(const PlaPhysemeBank *self, const PlaControlTake *take, const PlaPhones *phones,
           PlaError *err)
{
  assert(take->n_controls == self->n_controls && take->rate_hz > 0.0);
  if (take->n_frames < 2)
    return pla_fail(err, PLA_ERR_EMPTY, "the take has %d frames; at least 2 are needed",
                    take->n_frames);
  for (size_t i = 0; i < (size_t)take->n_frames * (size_t)take->n_controls; i++)
    if (!isfinite(take->control[i]))
      return pla_fail(err, PLA_ERR_FORMAT,
                      "control %zu has no value in frame %zu of the take; fill the gap first",
                      i % (size_t)take->n_controls + 1, i / (size_t)take->n_controls);
  for (int f = 0; take->head && f < take->n_frames; f++) {
    const double *q = take->head + 7 * f;
    const double norm = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    if (!(fabs(norm - 1.0) < 1e-6) || !isfinite(q[4] + q[5] + q[6]))
      return pla_fail(err, PLA_ERR_FORMAT, "the head has no rigid frame in frame %d of the take",
                      f);
  }
  /* a phoneme may end with the last frame's own duration */
  const double start = take->start_s, end = start + take->n_frames / take->rate_hz;
  for (int i = 0; i < phones->n; i++) {
    const PlaPhone *p = &phones->phone[i];
    if (pla_phone_is_pause(p->label))
      continue;
    if (p->start_s < start - 1e-9 || p->end_s > end + 1e-9)
      return pla_fail(
          err, PLA_ERR_GEOMETRY,
          "\"%s\" from %g s to %g s lies outside the take, which lasts from %g s to %g s; "
          "do the phonemes belong to it?",
          p->label, p->start_s, p->end_s, start, end);
    if (!(p->end_s > p->start_s))
      return pla_fail(err, PLA_ERR_GEOMETRY, "\"%s\" at %g s has no length", p->label, p->start_s);
  }
  return PLA_OK;
}

static bool
take_init(Take *to, const PlaControlTake *take)
{
  const size_t n = (size_t)take->n_frames * (size_t)take->n_controls;
  *to = (Take){ .n_frames = take->n_frames, .rate_hz = take->rate_hz, .start_s = take->start_s };
  to->control = pla_array_dup(take->control, n, sizeof *to->control);
  to->slope = pla_array_new(n, sizeof *to->slope);
  if (take->head)
    to->head_vel = pla_array_new((size_t)take->n_frames * 6, sizeof *to->head_vel);
  if (!to->control || !to->slope || (take->head && !to->head_vel)) {
    take_clear(to);
    return false;
  }
  for (int f = 0; f < take->n_frames; f++)
    for (int c = 0; c < take->n_controls; c++)
      to->slope[(size_t)f * (size_t)take->n_controls + (size_t)c] =
          monotone_slope(to->control + c, take->n_controls, take->n_frames, f, take->rate_hz);
  if (take->head)
    head_velocities(take, to->head_vel);
  return true;
}

PlaStatus
pla_physeme_bank_add(PlaPhysemeBank *self, const PlaControlTake *take, const PlaPhones *phones,
                     PlaError *err)
{
  PlaStatus st = check_take(self, take, phones, err);
  if (st != PLA_OK)
    return st;
  const int n_before = self->n;
  Take added;
  if (!pla_array_reserve(&self->take, self->n_takes + 1, &self->takes_capacity,
                         sizeof *self->take) ||
      !pla_array_reserve(&self->physeme, self->n + phones->n, &self->capacity,
                         sizeof *self->physeme) ||
      !take_init(&added, take))
    return pla_fail_memory(err, "the physemes");
  for (int i = 0; i < phones->n; i++) {
    const PlaPhone *p = &phones->phone[i];
    if (pla_phone_is_pause(p->label))
      continue;
    char *label = pla_strdup(p->label);
    if (!label) {
      while (self->n > n_before)
        free((char *)self->physeme[--self->n].label);
      take_clear(&added);
      return pla_fail_memory(err, "the physemes");
    }
    self->physeme[self->n++] = (PlaPhyseme){
      .label = label, .take = self->n_takes, .start_s = p->start_s, .end_s = p->end_s
    };
  }
  self->take[self->n_takes++] = added;
  return PLA_OK;
}

int
pla_physeme_bank_count(const PlaPhysemeBank *self)
{
  return self->n;
}

PlaPhyseme
pla_physeme_bank_get(const PlaPhysemeBank *self, int physeme)
{
  assert(physeme >= 0 && physeme < self->n);
  return self->physeme[physeme];
}

PlaSample
pla_physeme_bank_sample(const PlaPhysemeBank *self, int take, double time_s)
{
  const size_t n = (size_t)self->n_controls;
  if (take < 0) {
    const double *a = self->neutral;
    return (PlaSample){ a, a, a, a, { 1.0, 0.0, 0.0, 0.0 } };
  }
  assert(take < self->n_takes);
  const Take *t = &self->take[take];
  const double at = fmin(fmax((time_s - t->start_s) * t->rate_hz, 0.0), t->n_frames - 1.0);
  const int f = (int)fmin(floor(at), t->n_frames - 2.0);
  const double r = at - f, r2 = r * r, r3 = r2 * r, dt = 1.0 / t->rate_hz;
  const double *a = t->control + (size_t)f * n, *da = t->slope + (size_t)f * n;
  return (PlaSample){ a,
                      a + n,
                      da,
                      da + n,
                      { 2.0 * r3 - 3.0 * r2 + 1.0, 3.0 * r2 - 2.0 * r3, dt * (r3 - 2.0 * r2 + r),
                        dt * (r3 - r2) } };
}

void
pla_physeme_bank_controls(const PlaPhysemeBank *self, int take, double time_s, double *out)
{
  const PlaSample sample = pla_physeme_bank_sample(self, take, time_s);
  for (int c = 0; c < self->n_controls; c++)
    out[c] = pla_sample_get(&sample, c);
}

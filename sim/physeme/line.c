/* A line: phonemes on their intervals, blended. */
#include "sim/physeme/physeme-private.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORTEST_S 1e-3 /* a phoneme's body, where boundaries are moved */

/* ---- making one */

/* vowels of the ARPAbet end in a digit for their stress: AH0 and AH1 move the face alike */
static bool
same_phoneme(const char *a, const char *b)
{
  size_t na = strlen(a), nb = strlen(b);
  na -= na > 1 && a[na - 1] >= '0' && a[na - 1] <= '2';
  nb -= nb > 1 && b[nb - 1] >= '0' && b[nb - 1] <= '2';
  return na == nb && memcmp(a, b, na) == 0;
}

static bool
find_candidates(const PlaPhysemeBank *bank, LinePhone *phone)
{
  int n = 0;
  for (int p = 0; p < bank->n; p++)
    n += same_phoneme(bank->physeme[p].label, phone->label);
  phone->candidate = pla_array_new((size_t)n, sizeof *phone->candidate);
  if (!phone->candidate)
    return false;
  for (int p = 0; p < bank->n; p++)
    if (same_phoneme(bank->physeme[p].label, phone->label))
      phone->candidate[phone->n_candidates++] = p;
  return true;
}

/* appends an interval; false: memory is short */
static bool
append(PlaLine *self, double start_s, double end_s, const char *label)
{
  LinePhone *phone = &self->phone[self->n++];
  *phone = (LinePhone){ .start_s = start_s,
                        .end_s = end_s,
                        .share_in = PLA_LEAD_MOST,
                        .share_out = PLA_LEAD_MOST,
                        .label = pla_strdup(label),
                        .chosen = -1 };
  if (!phone->label)
    return false;
  if (pla_phone_is_pause(label))
    return true;
  phone->chosen = 0;
  return find_candidates(self->bank, phone);
}

/* "no take says ZH or TH", each named once */
static PlaStatus
check_candidates(const PlaLine *self, PlaError *err)
{
  PlaBytes names = { 0 };
  int n_missing = 0;
  bool ok = true;
  for (int i = 0; i < self->n && ok; i++) {
    bool missing = self->phone[i].chosen >= 0 && self->phone[i].n_candidates == 0;
    for (int k = 0; k < i && missing; k++)
      missing = strcmp(self->phone[k].label, self->phone[i].label) != 0;
    if (missing)
      ok = pla_bytes_printf(&names, "%s\"%s\"", n_missing++ > 0 ? ", " : "", self->phone[i].label);
  }
  PlaStatus st = PLA_OK;
  if (!ok)
    st = pla_fail_memory(err, "the line");
  else if (n_missing > 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "no take contains %.*s; add a take with it, or write the phoneme as the takes do",
                  (int)names.size, (const char *)names.data);
  pla_bytes_clear(&names);
  return st;
}

PlaStatus
pla_line_new(const PlaPhysemeBank *bank, const PlaPhones *phones, PlaLine **out, PlaError *err)
{
  *out = NULL;
  PlaLine *self = pla_array_new0(1, sizeof *self);
  bool ok = self != NULL;
  if (ok) {
    self->bank = bank;
    self->phone = pla_array_new0(2 * (size_t)phones->n, sizeof *self->phone);
    ok = self->phone != NULL;
  }
  for (int i = 0; i < phones->n && ok; i++) {
    const PlaPhone *p = &phones->phone[i];
    if (i > 0 && p->start_s > phones->phone[i - 1].end_s)
      ok = append(self, phones->phone[i - 1].end_s, p->start_s, "");
    if (ok && p->end_s > p->start_s)
      ok = append(self, p->start_s, p->end_s, p->label);
  }
  PlaStatus st = PLA_OK;
  if (!ok)
    st = pla_fail_memory(err, "the line");
  else if (self->n == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the line has no phonemes");
  if (st == PLA_OK)
    st = check_candidates(self, err);
  if (st != PLA_OK) {
    pla_line_free(self);
    return st;
  }
  *out = self;
  return PLA_OK;
}

void
pla_line_free(PlaLine *self)
{
  if (!self)
    return;
  for (int i = 0; i < self->n; i++) {
    free(self->phone[i].label);
    free(self->phone[i].candidate);
  }
  free(self->phone);
  free(self);
}

/* ---- asking and changing */

int
pla_line_count(const PlaLine *self)
{
  return self->n;
}

static double
body(const PlaLine *self, int at)
{
  return self->phone[at].end_s - self->phone[at].start_s;
}

double
pla_line_lead_in(const PlaLine *self, int at)
{
  return at > 0 ? self->phone[at].share_in * body(self, at - 1) : 0.0;
}

double
pla_line_lead_out(const PlaLine *self, int at)
{
  return at < self->n - 1 ? self->phone[at].share_out * body(self, at + 1) : 0.0;
}

PlaLinePhone
pla_line_get(const PlaLine *self, int at)
{
  assert(at >= 0 && at < self->n);
  const LinePhone *p = &self->phone[at];
  return (PlaLinePhone){ .start_s = p->start_s,
                         .end_s = p->end_s,
                         .lead_in_s = pla_line_lead_in(self, at),
                         .lead_out_s = pla_line_lead_out(self, at),
                         .label = p->label,
                         .physeme = p->chosen < 0 ? -1 : p->candidate[p->chosen],
                         .n_candidates = p->n_candidates,
                         .candidate = p->candidate };
}

void
pla_line_set_candidate(PlaLine *self, int at, int candidate)
{
  assert(at >= 0 && at < self->n);
  assert(candidate >= 0 && candidate < self->phone[at].n_candidates);
  self->phone[at].chosen = candidate;
}

static double
share(double lead_s, double body_s)
{
  return fmin(fmax(lead_s / body_s, 0.0), PLA_LEAD_MOST);
}

void
pla_line_set_leads(PlaLine *self, int at, double lead_in_s, double lead_out_s)
{
  assert(at >= 0 && at < self->n);
  if (at > 0)
    self->phone[at].share_in = share(lead_in_s, body(self, at - 1));
  if (at < self->n - 1)
    self->phone[at].share_out = share(lead_out_s, body(self, at + 1));
}

double
pla_line_set_boundary(PlaLine *self, int at, double time_s)
{
  assert(at >= 0 && at + 1 < self->n);
  LinePhone *left = &self->phone[at], *right = left + 1;
  const double least = left->start_s + SHORTEST_S, most = right->end_s - SHORTEST_S;
  if (least <= most)
    left->end_s = right->start_s = fmin(fmax(time_s, least), most);
  return left->end_s;
}

/* ---- blending */

double
pla_line_source_time(const PlaLine *self, int at, int candidate, double time_s, double *rate)
{
  const LinePhone *p = &self->phone[at];
  const PlaPhyseme *from = &self->bank->physeme[p->candidate[candidate]];
  *rate = (from->end_s - from->start_s) / (p->end_s - p->start_s);
  return from->start_s + (time_s - p->start_s) * *rate;
}

/* 1 in the body, falling to 0 across the leads */
static double
weight_at(const PlaLine *self, int at, double time_s)
{
  const LinePhone *p = &self->phone[at];
  double r = 1.0;
  if (time_s < p->start_s) {
    const double lead = pla_line_lead_in(self, at);
    r = lead > 0.0 ? 1.0 - (p->start_s - time_s) / lead : 0.0;
  } else if (time_s > p->end_s) {
    const double lead = pla_line_lead_out(self, at);
    r = lead > 0.0 ? 1.0 - (time_s - p->end_s) / lead : 0.0;
  }
  return r > 0.0 ? (3.0 - 2.0 * r) * r * r : 0.0;
}

/* the phoneme whose body holds @time_s: the last that starts at or before it */
static int
phone_at(const PlaLine *self, double time_s)
{
  int low = 0, high = self->n - 1;
  while (low < high) {
    const int mid = (low + high + 1) / 2;
    if (self->phone[mid].start_s <= time_s)
      low = mid;
    else
      high = mid - 1;
  }
  return low;
}

int
pla_line_blend(const PlaLine *self, double time_s, PlaBlend out[2])
{
  time_s = fmin(fmax(time_s, self->phone[0].start_s), self->phone[self->n - 1].end_s);
  const int middle = phone_at(self, time_s);
  int n = 0;
  double sum = 0.0;
  for (int at = middle > 0 ? middle - 1 : 0; at <= middle + 1 && at < self->n; at++) {
    const double weight = weight_at(self, at, time_s);
    if (!(weight > 0.0))
      continue;
    assert(n < 2);
    out[n] = (PlaBlend){ .at = at, .take = -1, .weight = weight };
    const LinePhone *p = &self->phone[at];
    if (p->chosen >= 0) {
      out[n].take = self->bank->physeme[p->candidate[p->chosen]].take;
      out[n].time_s = pla_line_source_time(self, at, p->chosen, time_s, &out[n].rate);
    }
    sum += weight;
    n++;
  }
  for (int i = 0; i < n; i++)
    out[i].weight /= sum;
  return n;
}

void
pla_line_controls(const PlaLine *self, double time_s, double *out)
{
  const PlaPhysemeBank *bank = self->bank;
  PlaBlend blend[2];
  const int n = pla_line_blend(self, time_s, blend);
  PlaSample sample[2];
  for (int i = 0; i < n; i++)
    sample[i] = pla_physeme_bank_sample(bank, blend[i].take, blend[i].time_s);
  for (int c = 0; c < bank->n_controls; c++) {
    /* from the first towards the second: where both agree, the result is theirs to the bit */
    out[c] = pla_sample_get(&sample[0], c);
    if (n > 1)
      out[c] += blend[1].weight * (pla_sample_get(&sample[1], c) - out[c]);
  }
}

/* ---- the head */

/* velocity of a take at a time of its own: m/s and rad/s, linear between frames */
static void
head_velocity(const Take *take, double time_s, double out[6])
{
  const double at = fmin(fmax((time_s - take->start_s) * take->rate_hz, 0.0), take->n_frames - 1.0);
  const int f = (int)fmin(floor(at), take->n_frames - 2.0);
  for (int d = 0; d < 6; d++)
    out[d] = (f + 1 - at) * take->head_vel[6 * f + d] + (at - f) * take->head_vel[6 * (f + 1) + d];
}

static void
line_velocity(const PlaLine *self, double time_s, double out[6])
{
  PlaBlend blend[2];
  const int n = pla_line_blend(self, time_s, blend);
  memset(out, 0, 6 * sizeof *out);
  for (int i = 0; i < n; i++) {
    double vel[6];
    if (blend[i].take < 0 || !self->bank->take[blend[i].take].head_vel)
      continue;
    head_velocity(&self->bank->take[blend[i].take], blend[i].time_s, vel);
    for (int d = 0; d < 6; d++)
      out[d] += blend[i].weight * blend[i].rate * vel[d];
  }
}

/* q = exp(w dt) q */
static void
turn(double q[4], const double vel[3], double dt)
{
  const double angle = dt * sqrt(vel[0] * vel[0] + vel[1] * vel[1] + vel[2] * vel[2]);
  const double c = cos(0.5 * angle), s = angle > 1e-12 ? dt * sin(0.5 * angle) / angle : 0.5 * dt;
  const double v[3] = { s * vel[0], s * vel[1], s * vel[2] };
  const double r[4] = { c * q[0] - v[0] * q[1] - v[1] * q[2] - v[2] * q[3],
                        c * q[1] + v[0] * q[0] + v[1] * q[3] - v[2] * q[2],
                        c * q[2] + v[1] * q[0] + v[2] * q[1] - v[0] * q[3],
                        c * q[3] + v[2] * q[0] + v[0] * q[2] - v[1] * q[1] };
  const double norm = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
  for (int d = 0; d < 4; d++)
    q[d] = r[d] / norm;
}

void
pla_line_head(const PlaLine *self, double rate_hz, int n_frames, double *out)
{
  assert(rate_hz > 0.0);
  double frame[7] = { 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
  const double dt = 1.0 / rate_hz;
  for (int f = 0; f < n_frames; f++) {
    memcpy(out + 7 * f, frame, sizeof frame);
    double vel[6];
    line_velocity(self, self->phone[0].start_s + (f + 0.5) * dt, vel);
    turn(frame, vel + 3, dt);
    for (int d = 0; d < 3; d++)
      frame[4 + d] += dt * vel[d];
  }
}

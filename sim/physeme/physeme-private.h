/* What the parts of physemes share. */
#pragma once

#include "sim/physeme/physeme.h"

#include <math.h>

typedef struct {
  int n_frames;
  double rate_hz, start_s;
  double *control;  /* (n_frames x n_controls) */
  double *slope;    /* per second, of the cubic through them (n_frames x n_controls) */
  double *head_vel; /* m/s, then rad/s, both in the capture's axes (n_frames x 6), or NULL */
} Take;

struct PlaPhysemeBank {
  int n_controls;
  double *neutral, *weight;
  int n_takes, takes_capacity;
  Take *take;
  int n, capacity;
  PlaPhyseme *physeme; /* label owned here */
};

/* All controls of a take at one time: Hermite weights and the frames on both sides. */
typedef struct {
  const double *a, *b, *da, *db; /* values and slopes (n_controls) */
  double h[4];                   /* of a, b, da, db */
} PlaSample;

/* @take -1: neutral */
PlaSample pla_physeme_bank_sample(const PlaPhysemeBank *self, int take, double time_s);

static inline double
pla_sample_get(const PlaSample *s, int c)
{
  const double value =
      s->h[0] * s->a[c] + s->h[1] * s->b[c] + s->h[2] * s->da[c] + s->h[3] * s->db[c];
  /* rounding must not carry it past the frames beside it */
  return fmin(fmax(value, fmin(s->a[c], s->b[c])), fmax(s->a[c], s->b[c]));
}

typedef struct {
  double start_s, end_s;
  double share_in, share_out; /* of the lead in the neighbour's body, 0 .. PLA_LEAD_MOST */
  char *label;
  int chosen; /* index into candidate; -1: a pause */
  int n_candidates;
  int *candidate;
} LinePhone;

struct PlaLine {
  const PlaPhysemeBank *bank;
  int n;
  LinePhone *phone;
};

#define PLA_LEAD_MOST 0.2 /* of the neighbour's body: leads of two neighbours never meet */

/* Lengths of the leads of @at. */
double pla_line_lead_in(const PlaLine *self, int at);
double pla_line_lead_out(const PlaLine *self, int at);
/* Where @time_s of the line falls in the take of @candidate of phoneme @at, and how fast it runs.
 */
double pla_line_source_time(const PlaLine *self, int at, int candidate, double time_s,
                            double *rate);

/* Speech from fitted takes.
 *
 * A physeme is the stretch of a take in which one phoneme is spoken: its controls (activations and
 * jaw) over time, with as much of the neighbours as a lead needs, so that coarticulation is kept.
 * To say something new, one physeme is chosen for each phoneme, stretched uniformly onto its
 * interval, and neighbours are blended where their leads overlap:
 *
 *   a(t) = sum_p w_p(t) a_p(t) / sum_p w_p(t)
 *
 * w is 1 in the body and 3 r^2 - 2 r^3 across a lead, which reaches at most a fifth into the
 * neighbour's body, so that only neighbours overlap.  The choice minimises the sum over overlaps of
 * int |D (a_p - a_q)| dt, a chain, whose best choice dynamic programming finds exactly.
 * (E. Sifakis et al., Simulating speech with a physics-based facial muscle model, SCA 2006.)
 *
 * Banks and lines are read-only while they are asked for values, by any number of threads. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/signal/phones.h"

#include <stdbool.h>
#include <stdint.h>

/* Controls over time, and the head's frame where it was captured. */
typedef struct {
  int n_frames, n_controls;
  double rate_hz, start_s;
  const double *control; /* (n_frames x n_controls) */
  const double *head;    /* unit quaternion w x y z, then place in m (n_frames x 7), or NULL */
} PlaControlTake;

typedef struct {
  const char *label; /* borrowed from the bank */
  int take;
  double start_s, end_s; /* its body, in the take's time */
} PlaPhyseme;

typedef struct PlaPhysemeBank PlaPhysemeBank;

/* @neutral (n_controls): the face at rest; NULL: zeros.  @weight (n_controls): how far the skin
 * moves with each control, the D of the choice; NULL: ones.  Caller frees *out. */
PlaStatus pla_physeme_bank_new(int n_controls, const double *neutral, const double *weight,
                               PlaPhysemeBank **out, PlaError *err);
void pla_physeme_bank_free(PlaPhysemeBank *self); /* NULL is fine */
/* Copies a take; each phoneme of @phones that is no pause becomes a physeme.  Controls must be
 * numbers, and phonemes must lie inside the take.  A failure leaves the bank as it was. */
PlaStatus pla_physeme_bank_add(PlaPhysemeBank *self, const PlaControlTake *take,
                               const PlaPhones *phones, PlaError *err);
int pla_physeme_bank_count(const PlaPhysemeBank *self);
PlaPhyseme pla_physeme_bank_get(const PlaPhysemeBank *self, int physeme);
/* Controls of a take at a time of its own: cubic between frames without overshoot, held outside. */
void pla_physeme_bank_controls(const PlaPhysemeBank *self, int take, double time_s, double *out);

/* ---- a line: what is to be said */

typedef struct {
  double start_s, end_s;
  double lead_in_s, lead_out_s; /* at most a fifth of the neighbour's body, 0 at the line's ends */
  const char *label;            /* borrowed from the line */
  int physeme;                  /* the chosen one; -1: a pause, which is neutral */
  int n_candidates;
  const int *candidate; /* physemes of the same phoneme, ascending (n_candidates) */
} PlaLinePhone;

typedef struct PlaLine PlaLine;

/* Gaps between phonemes become pauses; the first candidate is chosen for each.  Phonemes that the
 * bank has no physeme for are PLA_ERR_EMPTY, with a sentence that names them.  @bank is borrowed.
 * Caller frees *out. */
PlaStatus pla_line_new(const PlaPhysemeBank *bank, const PlaPhones *phones, PlaLine **out,
                       PlaError *err);
void pla_line_free(PlaLine *self); /* NULL is fine */
int pla_line_count(const PlaLine *self);
PlaLinePhone pla_line_get(const PlaLine *self, int at);
/* @candidate: 0 .. n_candidates - 1 of the phoneme. */
void pla_line_set_candidate(PlaLine *self, int at, int candidate);
/* Lengths are cut to what the neighbours allow. */
void pla_line_set_leads(PlaLine *self, int at, double lead_in_s, double lead_out_s);
/* Moves the boundary between @at and the next phoneme; kept at least 1 ms from their other ends.
 * Leads keep their share of the neighbours.  The time it came to. */
double pla_line_set_boundary(PlaLine *self, int at, double time_s);

/* The objective of the present choice; its unit is that of weight x control x seconds. */
double pla_line_cost(const PlaLine *self);
/* The best choice (Viterbi), O(n candidates^2); of equals the one with the lower candidates. */
PlaStatus pla_line_choose(PlaLine *self, double *cost, PlaError *err);
/* Simulated annealing on the same objective, the check of the above: never better.  The same choice
 * for the same seed. */
PlaStatus pla_line_anneal(PlaLine *self, uint64_t seed, double *cost, PlaError *err);

/* ---- what is said at a time */

typedef struct {
  int at;        /* phoneme of the line */
  int take;      /* -1: neutral */
  double time_s; /* in the take */
  double rate;   /* seconds of the take per second of the line */
  double weight; /* > 0; all weights at a time sum to 1 */
} PlaBlend;

/* At most two; times outside the line are those of its ends.  Anything sampled with the takes,
 * faces for an instant preview as well, is blended with these. */
int pla_line_blend(const PlaLine *self, double time_s, PlaBlend out[2]);
void pla_line_controls(const PlaLine *self, double time_s, double *out);
/* The head's frame at @rate_hz from the start of the line on, from its blended velocities: poses
 * are never blended.  It begins upright at the origin; takes without a head stand still.
 * @out (n_frames x 7) */
void pla_line_head(const PlaLine *self, double rate_hz, int n_frames, double *out);

/* Which physeme says each phoneme: the smallest disagreement of neighbours where they overlap.
 *
 *   E = sum over neighbours p q  int_overlap |D (a_p(t) - a_q(t))| dt
 *
 * Only neighbours overlap, so the best choice is the cheapest way through a chain (Viterbi). */
#include "sim/physeme/physeme-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/random.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 33 }; /* of an overlap of some 20 ms, where controls hardly bend */

static int
n_choices(const LinePhone *phone)
{
  return phone->chosen < 0 ? 1 : phone->n_candidates;
}

static PlaSample
sample_choice(const PlaLine *self, int at, int choice, double time_s)
{
  const LinePhone *p = &self->phone[at];
  if (p->chosen < 0)
    return pla_physeme_bank_sample(self->bank, -1, 0.0);
  double rate;
  const double source = pla_line_source_time(self, at, choice, time_s, &rate);
  return pla_physeme_bank_sample(self->bank, self->bank->physeme[p->candidate[choice]].take,
                                 source);
}

/* trapezium rule over the overlap of @at with the next phoneme */
static double
pair_cost(const PlaLine *self, int at, int choice, int next_choice)
{
  const double border = self->phone[at].end_s;
  const double from = border - pla_line_lead_in(self, at + 1);
  const double length = border + pla_line_lead_out(self, at) - from;
  const double *weight = self->bank->weight;
  double sum = 0.0;
  for (int k = 0; k < SAMPLES; k++) {
    const double t = from + length * k / (SAMPLES - 1);
    const PlaSample p = sample_choice(self, at, choice, t);
    const PlaSample q = sample_choice(self, at + 1, next_choice, t);
    double square = 0.0;
    for (int c = 0; c < self->bank->n_controls; c++) {
      const double d = weight[c] * (pla_sample_get(&p, c) - pla_sample_get(&q, c));
      square += d * d;
    }
    sum += (k == 0 || k == SAMPLES - 1 ? 0.5 : 1.0) * sqrt(square);
  }
  return sum * length / (SAMPLES - 1);
}

/* what every pair of choices costs, made once for many looks */
typedef struct {
  double **pair; /* [at]: (choices of at x choices of at + 1) */
} Costs;

static void
costs_clear(Costs *costs, int n)
{
  for (int i = 0; costs->pair && i < n - 1; i++)
    free(costs->pair[i]);
  free(costs->pair);
}

static bool
costs_init(Costs *costs, const PlaLine *self)
{
  costs->pair = pla_array_new0((size_t)self->n, sizeof *costs->pair);
  if (!costs->pair)
    return false;
  for (int at = 0; at + 1 < self->n; at++) {
    const int rows = n_choices(&self->phone[at]), cols = n_choices(&self->phone[at + 1]);
    size_t n;
    if (!pla_size_mul((size_t)rows, (size_t)cols, &n) ||
        !(costs->pair[at] = pla_array_new(n, sizeof **costs->pair)))
      return false;
#pragma omp parallel for schedule(static)
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < cols; c++)
        costs->pair[at][(size_t)r * (size_t)cols + (size_t)c] = pair_cost(self, at, r, c);
  }
  return true;
}

static double
costs_get(const Costs *costs, const PlaLine *self, int at, int choice, int next_choice)
{
  return costs
      ->pair[at][(size_t)choice * (size_t)n_choices(&self->phone[at + 1]) + (size_t)next_choice];
}

/* a pause's only choice has the index 0 in costs */
static int
chosen(const PlaLine *self, int at)
{
  return self->phone[at].chosen < 0 ? 0 : self->phone[at].chosen;
}

double
pla_line_cost(const PlaLine *self)
{
  double cost = 0.0;
  for (int at = 0; at + 1 < self->n; at++)
    cost += pair_cost(self, at, chosen(self, at), chosen(self, at + 1));
  return cost;
}

/* the cheapest way to each choice, from the first phoneme on, and where it came from */
static void
walk_chain(PlaLine *self, const Costs *costs, double *best, double *next_best, int *const *from)
{
  for (int c = 0; c < n_choices(&self->phone[0]); c++)
    best[c] = 0.0;
  for (int at = 0; at + 1 < self->n; at++) {
    for (int c = 0; c < n_choices(&self->phone[at + 1]); c++) {
      next_best[c] = DBL_MAX;
      for (int r = 0; r < n_choices(&self->phone[at]); r++) {
        const double cost = best[r] + costs_get(costs, self, at, r, c);
        if (cost < next_best[c]) {
          next_best[c] = cost;
          from[at + 1][c] = r;
        }
      }
    }
    double *swap = best;
    best = next_best;
    next_best = swap;
  }

  /* back along the cheapest */
  const int last = self->n - 1;
  int at_best = 0;
  for (int c = 1; c < n_choices(&self->phone[last]); c++)
    if (best[c] < best[at_best])
      at_best = c;
  for (int at = last; at >= 0; at--) {
    if (self->phone[at].chosen >= 0)
      self->phone[at].chosen = at_best;
    if (at > 0)
      at_best = from[at][at_best];
  }
}

PlaStatus
pla_line_choose(PlaLine *self, double *cost, PlaError *err)
{
  int most = 1;
  size_t total = 0;
  for (int at = 0; at < self->n; at++) {
    const int n = n_choices(&self->phone[at]);
    most = n > most ? n : most;
    total += (size_t)n;
  }
  Costs costs = { 0 };
  double *best = pla_array_new(2 * (size_t)most, sizeof *best);
  int *choices = pla_array_new0(total, sizeof *choices);
  int **from = pla_array_new((size_t)self->n, sizeof *from);
  PlaStatus st = PLA_OK;
  if (best && choices && from && costs_init(&costs, self)) {
    int *next = choices;
    for (int at = 0; at < self->n; next += n_choices(&self->phone[at]), at++)
      from[at] = next;
    walk_chain(self, &costs, best, best + most, from);
    *cost = pla_line_cost(self);
  } else {
    st = pla_fail_memory(err, "the choice of physemes");
  }
  costs_clear(&costs, self->n);
  free(best);
  free(choices);
  free(from);
  return st;
}

/* ---- annealing */

/* by how much the cost changes when @at takes @choice */
static double
change(const PlaLine *self, const Costs *costs, int at, int choice)
{
  const int now = chosen(self, at);
  double d = 0.0;
  if (at > 0)
    d += costs_get(costs, self, at - 1, chosen(self, at - 1), choice) -
         costs_get(costs, self, at - 1, chosen(self, at - 1), now);
  if (at + 1 < self->n)
    d += costs_get(costs, self, at, choice, chosen(self, at + 1)) -
         costs_get(costs, self, at, now, chosen(self, at + 1));
  return d;
}

static double
mean_pair_cost(const PlaLine *self, const Costs *costs)
{
  double sum = 0.0;
  size_t n = 0;
  for (int at = 0; at + 1 < self->n; at++) {
    const size_t pairs =
        (size_t)n_choices(&self->phone[at]) * (size_t)n_choices(&self->phone[at + 1]);
    for (size_t i = 0; i < pairs; i++)
      sum += costs->pair[at][i];
    n += pairs;
  }
  return n > 0 ? sum / (double)n : 0.0;
}

/* one cooling from where the line stands, from the cost of an average overlap to a ten-thousandth
 */
static void
cool(PlaLine *self, const Costs *costs, double hot, long n_steps, PlaRandom *random)
{
  for (long step = 0; step < n_steps; step++) {
    const double heat = hot * pow(1e-4, (double)step / (double)n_steps);
    const int at = (int)pla_random_below(random, self->n);
    const int n = n_choices(&self->phone[at]);
    if (n < 2)
      continue;
    const int choice = (int)pla_random_below(random, n);
    const double d = change(self, costs, at, choice);
    if (d <= 0.0 || pla_random_unit(random) < exp(-d / heat))
      self->phone[at].chosen = choice;
  }
}

/* several coolings, each from a random choice: a deep and narrow valley, such as a whole word from
 * one take, is easily missed by one */
static void
anneal(PlaLine *self, const Costs *costs, PlaRandom *random, int *best)
{
  enum { COOLINGS = 16, STEPS_PER_CHOICE = 1000 };
  long n_free = 0;
  for (int at = 0; at < self->n; at++)
    n_free += n_choices(&self->phone[at]) > 1 ? n_choices(&self->phone[at]) : 0;
  const double hot = mean_pair_cost(self, costs);
  double lowest = pla_line_cost(self);
  for (int at = 0; at < self->n; at++)
    best[at] = self->phone[at].chosen;
  for (int k = 0; k < COOLINGS; k++) {
    for (int at = 0; at < self->n; at++)
      if (self->phone[at].chosen >= 0)
        self->phone[at].chosen = (int)pla_random_below(random, self->phone[at].n_candidates);
    cool(self, costs, hot, STEPS_PER_CHOICE * n_free, random);
    const double cost = pla_line_cost(self);
    if (cost < lowest) {
      lowest = cost;
      for (int at = 0; at < self->n; at++)
        best[at] = self->phone[at].chosen;
    }
  }
  for (int at = 0; at < self->n; at++)
    self->phone[at].chosen = best[at];
}

PlaStatus
pla_line_anneal(PlaLine *self, uint64_t seed, double *cost, PlaError *err)
{
  Costs costs = { 0 };
  int *best = pla_array_new((size_t)self->n, sizeof *best);
  PlaStatus st = PLA_OK;
  if (best && costs_init(&costs, self)) {
    PlaRandom random = pla_random_start(seed);
    anneal(self, &costs, &random, best);
    *cost = pla_line_cost(self);
  } else {
    st = pla_fail_memory(err, "the choice of physemes");
  }
  costs_clear(&costs, self->n);
  free(best);
  return st;
}

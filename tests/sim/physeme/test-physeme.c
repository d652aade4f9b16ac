/* Physemes: weights, blending, the choice of candidates, the head. */
#include "sim/physeme/physeme.h"

#include "anatomy/base/random.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONTROLS = 12, FRAMES = 360 };
#define RATE 120.0

/* a take of smooth controls inside 0..1, unlike any other @seed's, and a nodding head */
static void
add_take(PlaPhysemeBank *bank, uint64_t seed, const char *const *label, int n_labels)
{
  static double control[FRAMES * CONTROLS], head[FRAMES * 7];
  PlaRandom random = pla_random_start(seed);
  double phase[CONTROLS], speed[CONTROLS];
  for (int c = 0; c < CONTROLS; c++) {
    phase[c] = pla_random_range(&random, 0.0, 2.0 * G_PI);
    speed[c] = pla_random_range(&random, 2.0, 14.0);
  }
  for (int f = 0; f < FRAMES; f++) {
    const double t = f / RATE, angle = 0.2 * sin(2.0 * t + phase[0]);
    for (int c = 0; c < CONTROLS; c++)
      control[f * CONTROLS + c] = 0.5 + 0.5 * sin(phase[c] + speed[c] * t);
    double *q = head + 7 * f;
    q[0] = cos(0.5 * angle);
    q[1] = sin(0.5 * angle);
    q[2] = q[3] = q[5] = 0.0;
    q[4] = 0.3 + 0.02 * sin(3.0 * t + phase[1]);
    q[6] = 0.01 * (double)seed;
  }
  PlaPhones phones = { 0 };
  PlaError err = { 0 };
  for (int i = 0; i < n_labels; i++) {
    const double start = 0.2 + 2.5 * i / n_labels;
    g_assert_cmpint(pla_phones_add(&phones, start, start + 2.5 / n_labels, label[i], &err), ==,
                    PLA_OK);
  }
  const PlaControlTake take = {
    .n_frames = FRAMES, .n_controls = CONTROLS, .rate_hz = RATE, .control = control, .head = head
  };
  if (pla_physeme_bank_add(bank, &take, &phones, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_phones_clear(&phones);
}

static PlaPhysemeBank *
new_bank(int n_takes, const char *const *label, int n_labels)
{
  PlaPhysemeBank *bank = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_physeme_bank_new(CONTROLS, NULL, NULL, &bank, &err), ==, PLA_OK);
  for (int t = 0; t < n_takes; t++)
    add_take(bank, (uint64_t)t + 1, label, n_labels);
  return bank;
}

/* @text: labels with blanks between, each @length_s long; "_" is a pause */
static PlaLine *
new_line(const PlaPhysemeBank *bank, const char *text, double length_s)
{
  g_auto(GStrv) word = g_strsplit(text, " ", 0);
  PlaPhones phones = { 0 };
  PlaError err = { 0 };
  for (int i = 0; word[i]; i++)
    g_assert_cmpint(pla_phones_add(&phones, i * length_s, (i + 1) * length_s, word[i], &err), ==,
                    PLA_OK);
  PlaLine *line = NULL;
  if (pla_line_new(bank, &phones, &line, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_phones_clear(&phones);
  return line;
}

static const char *const letters[] = { "ch", "iy", "z", "ah", "sh" };

/* in a body away from leads one physeme speaks alone; weights always sum to 1; tracks stay within
 * the controls and have no corners */
static void
test_blend(void)
{
  PlaPhysemeBank *bank = new_bank(4, letters, 5);
  PlaLine *line = new_line(bank, "_ ch iy z _ ah sh", 0.11);
  double cost;
  PlaError err = { 0 };
  g_assert_cmpint(pla_line_choose(line, &cost, &err), ==, PLA_OK);
  const double end = pla_line_get(line, pla_line_count(line) - 1).end_s, h = 1e-5;
  double before[CONTROLS], now[CONTROLS], after[CONTROLS];
  for (double t = 0.0; t <= end; t += 0.0005) {
    PlaBlend blend[2];
    const int n = pla_line_blend(line, t, blend);
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
      g_assert_cmpfloat(blend[i].weight, >, 0.0);
      sum += blend[i].weight;
      const PlaLinePhone p = pla_line_get(line, blend[i].at);
      g_assert_cmpfloat(t, >=, p.start_s - p.lead_in_s);
      g_assert_cmpfloat(t, <=, p.end_s + p.lead_out_s);
    }
    g_assert_cmpfloat_with_epsilon(sum, 1.0, 1e-15);
    for (int at = 0; at < pla_line_count(line); at++) {
      const PlaLinePhone p = pla_line_get(line, at);
      if (t > p.start_s + 0.2 * 0.11 + 1e-9 && t < p.end_s - 0.2 * 0.11 - 1e-9) {
        g_assert_cmpint(n, ==, 1);
        g_assert_cmpint(blend[0].at, ==, at);
      }
    }
    pla_line_controls(line, t - h, before);
    pla_line_controls(line, t, now);
    pla_line_controls(line, t + h, after);
    for (int c = 0; c < CONTROLS; c++) {
      g_assert_true(now[c] >= 0.0 && now[c] <= 1.0);
      /* a corner would show as a jump of the slope that does not shrink with h; curvature of a
       * blend over 22 ms is below 1e5 / s^2 */
      if (t > h && t < end - h)
        g_assert_cmpfloat(fabs(after[c] - 2.0 * now[c] + before[c]) / h, <, 1e5 * h);
    }
  }
  pla_line_free(line);
  pla_physeme_bank_free(bank);
}

/* leads reach at most a fifth into the neighbour, whatever is asked for, and none beyond the ends
 */
static void
test_leads(void)
{
  PlaPhysemeBank *bank = new_bank(1, letters, 5);
  PlaLine *line = new_line(bank, "ch iy z", 0.1);
  g_assert_cmpfloat(pla_line_get(line, 0).lead_in_s, ==, 0.0);
  g_assert_cmpfloat(pla_line_get(line, 2).lead_out_s, ==, 0.0);
  pla_line_set_leads(line, 1, 5.0, 0.005);
  g_assert_cmpfloat_with_epsilon(pla_line_get(line, 1).lead_in_s, 0.02, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_line_get(line, 1).lead_out_s, 0.005, 1e-12);
  /* a boundary takes the leads' shares along, and stays between its neighbours */
  g_assert_cmpfloat_with_epsilon(pla_line_set_boundary(line, 0, 0.15), 0.15, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_line_get(line, 1).lead_in_s, 0.03, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_line_set_boundary(line, 0, 9.0), 0.199, 1e-12);
  g_assert_cmpfloat_with_epsilon(pla_line_set_boundary(line, 0, -9.0), 0.001, 1e-12);
  pla_line_free(line);
  pla_physeme_bank_free(bank);
}

/* an utterance made of its own physemes is that utterance, and so is its head's motion */
static void
test_own_words(void)
{
  PlaPhysemeBank *bank = new_bank(3, letters, 5);
  PlaPhones phones = { 0 };
  PlaError err = { 0 };
  for (int i = 0; i < 5; i++)
    g_assert_cmpint(pla_phones_add(&phones, 0.2 + 0.5 * i, 0.7 + 0.5 * i, letters[i], &err), ==,
                    PLA_OK);
  PlaLine *line = NULL;
  g_assert_cmpint(pla_line_new(bank, &phones, &line, &err), ==, PLA_OK);
  /* the second take's own; the choice finds that these fit together without any cost */
  for (int i = 0; i < 5; i++)
    pla_line_set_candidate(line, i, 1);
  g_assert_cmpfloat(pla_line_cost(line), <, 1e-12);
  double cost;
  g_assert_cmpint(pla_line_choose(line, &cost, &err), ==, PLA_OK);
  g_assert_cmpfloat(cost, <, 1e-12);
  const int take = pla_physeme_bank_get(bank, pla_line_get(line, 0).physeme).take;
  double square = 0.0, largest = 0.0;
  int n = 0;
  for (double t = 0.2; t < 2.7; t += 0.003, n++) {
    double said[CONTROLS], meant[CONTROLS];
    pla_line_controls(line, t, said);
    pla_physeme_bank_controls(bank, take, t, meant);
    for (int c = 0; c < CONTROLS; c++) {
      square += (said[c] - meant[c]) * (said[c] - meant[c]);
      /* the take's own formula: what lies between frames is close to it */
      largest = fmax(largest, fabs(said[c] - meant[c]));
    }
  }
  g_assert_cmpfloat(sqrt(square / (n * CONTROLS)), <, 1e-12);

  /* the head turns as it did: the angle of the take from its value at 0.2 s */
  enum { HEAD_FRAMES = 2500 };
  double *head = g_new(double, 7 * HEAD_FRAMES);
  pla_line_head(line, 1000.0, HEAD_FRAMES, head);
  PlaRandom random = pla_random_start((uint64_t)take + 1);
  const double phase = pla_random_range(&random, 0.0, 2.0 * G_PI);
  for (int f = 0; f < HEAD_FRAMES; f += 50) {
    const double t = 0.2 + f / 1000.0;
    const double angle = 0.2 * (sin(2.0 * t + phase) - sin(0.4 + phase));
    g_assert_cmpfloat_with_epsilon(2.0 * asin(head[7 * f + 1]), angle, 2e-4);
    g_assert_cmpfloat_with_epsilon(head[7 * f + 2], 0.0, 1e-12);
  }
  g_free(head);
  pla_line_free(line);
  pla_phones_clear(&phones);
  pla_physeme_bank_free(bank);
}

/* every choice tried by counting through them all */
static double
cheapest_by_counting(PlaLine *line)
{
  const int n = pla_line_count(line);
  int *choice = g_new0(int, n + 1);
  double best = HUGE_VAL;
  while (choice[n] == 0) {
    for (int at = 0; at < n; at++)
      if (pla_line_get(line, at).n_candidates > 0)
        pla_line_set_candidate(line, at, choice[at]);
    best = fmin(best, pla_line_cost(line));
    for (int at = 0; at <= n; at++) {
      if (at == n || ++choice[at] < pla_line_get(line, at).n_candidates) {
        choice[n] += at == n;
        break;
      }
      choice[at] = 0;
    }
  }
  g_free(choice);
  return best;
}

/* dynamic programming finds what counting finds; annealing never beats it and nearly always finds
 * it too */
static void
test_choice(void)
{
  PlaError err = { 0 };
  double cost, annealed;
  PlaPhysemeBank *few = new_bank(4, letters, 5);
  static const char *const words[] = { "ch iy z", "sh ah", "_ z iy _ ch", "ah sh iy z" };
  for (size_t w = 0; w < G_N_ELEMENTS(words); w++) {
    PlaLine *line = new_line(few, words[w], 0.09);
    const double best = cheapest_by_counting(line);
    g_assert_cmpint(pla_line_choose(line, &cost, &err), ==, PLA_OK);
    g_assert_cmpfloat_with_epsilon(cost, best, 1e-12);
    g_assert_cmpfloat(cost, ==, pla_line_cost(line));
    pla_line_free(line);
  }
  pla_physeme_bank_free(few);

  PlaPhysemeBank *many = new_bank(12, letters, 5);
  PlaRandom random = pla_random_start(7);
  const int n_words = g_getenv("PLA_SMALL") ? 8 : 40;
  int reached = 0;
  for (int w = 0; w < n_words; w++) {
    g_autoptr(GString) word = g_string_new(NULL);
    const long n = 2 + pla_random_below(&random, 5);
    for (long i = 0; i < n; i++)
      g_string_append_printf(word, "%s%s", i ? " " : "", letters[pla_random_below(&random, 5)]);
    PlaLine *line = new_line(many, word->str, pla_random_range(&random, 0.05, 0.2));
    g_assert_cmpint(pla_line_choose(line, &cost, &err), ==, PLA_OK);
    for (int at = 0; at < pla_line_count(line); at++)
      pla_line_set_candidate(line, at, 0);
    g_assert_cmpint(pla_line_anneal(line, (uint64_t)w, &annealed, &err), ==, PLA_OK);
    g_assert_cmpfloat(cost, <=, annealed * (1.0 + 1e-12));
    reached += annealed <= cost + 1e-12;
    pla_line_free(line);
  }
  g_test_message("annealing reached the best choice for %d of %d words", reached, n_words);
  g_assert_cmpint(20 * reached, >=, 19 * n_words);
  pla_physeme_bank_free(many);
}

/* where the head of the take @seed is at a time, m, as add_take() makes it */
static void
head_place(uint64_t seed, double t, double place[3])
{
  PlaRandom random = pla_random_start(seed);
  double phase[2];
  for (int c = 0; c < 2; c++) {
    phase[c] = pla_random_range(&random, 0.0, 2.0 * G_PI);
    pla_random_range(&random, 2.0, 14.0);
  }
  place[0] = 0.3 + 0.02 * sin(3.0 * t + phase[1]);
  place[1] = 0.0;
  place[2] = 0.01 * (double)seed;
}

/* Claim 42: heads that stand centimetres apart.  Their velocities blend without a jump beyond twice
 * the fastest of the input; poses, blended by the same weights, leap. */
static void
test_head_has_no_jumps(void)
{
  PlaPhysemeBank *bank = new_bank(5, letters, 5);
  PlaLine *line = new_line(bank, "ch iy z ah sh z iy", 0.12);
  PlaRandom random = pla_random_start(3);
  for (int at = 0; at < pla_line_count(line); at++)
    pla_line_set_candidate(line, at, (int)pla_random_below(&random, 5));
  enum { HEAD_FRAMES = 840 };
  double *head = g_new(double, 7 * HEAD_FRAMES);
  pla_line_head(line, 1000.0, HEAD_FRAMES, head);
  /* fastest input: 0.06 m/s and 0.4 rad/s, times the largest stretch 0.5 s onto 0.12 s */
  const double fastest = 0.06 * 0.5 / 0.12, fastest_turn = 0.4 * 0.5 / 0.12;
  double most = 0.0, most_turn = 0.0, leap = 0.0, before[3] = { 0 };
  for (int f = 0; f < HEAD_FRAMES; f++) {
    PlaBlend blend[2];
    double place[3] = { 0 };
    const int parts = pla_line_blend(line, f / 1000.0, blend);
    for (int i = 0; i < parts; i++) {
      double one[3];
      head_place((uint64_t)blend[i].take + 1, blend[i].time_s, one);
      for (int d = 0; d < 3; d++)
        place[d] += blend[i].weight * one[d];
    }
    if (f > 0) {
      const double *a = head + 7 * (f - 1), *b = a + 7;
      most = fmax(most, 1000.0 * hypot(hypot(b[4] - a[4], b[5] - a[5]), b[6] - a[6]));
      most_turn = fmax(most_turn, 2000.0 * fabs(asin(b[1]) - asin(a[1])));
      g_assert_cmpfloat_with_epsilon(b[0] * b[0] + b[1] * b[1] + b[2] * b[2] + b[3] * b[3], 1.0,
                                     1e-12);
      leap = fmax(leap, 1000.0 * hypot(hypot(place[0] - before[0], place[1] - before[1]),
                                       place[2] - before[2]));
    }
    memcpy(before, place, sizeof before);
  }
  g_test_message("fastest %.3f m/s of at most %.3f in the takes; %.3f where poses are blended",
                 most, fastest, leap);
  g_assert_cmpfloat(most, <, 1.01 * fastest);
  g_assert_cmpfloat(most_turn, <, 1.01 * fastest_turn);
  g_assert_cmpfloat(leap, >, 2.0 * fastest);
  g_free(head);
  pla_line_free(line);
  pla_physeme_bank_free(bank);
}

static void
test_refusals(void)
{
  PlaPhysemeBank *bank = new_bank(1, letters, 5);
  PlaError err = { 0 };
  PlaPhones phones = { 0 };
  PlaLine *line = NULL;
  g_assert_cmpint(pla_line_new(bank, &phones, &line, &err), ==, PLA_ERR_EMPTY);
  g_assert_null(line);
  g_assert_cmpint(pla_phones_add(&phones, 0.0, 0.1, "zh", &err), ==, PLA_OK);
  g_assert_cmpint(pla_phones_add(&phones, 0.1, 0.2, "oi", &err), ==, PLA_OK);
  g_assert_cmpint(pla_phones_add(&phones, 0.2, 0.3, "zh", &err), ==, PLA_OK);
  g_assert_cmpint(pla_line_new(bank, &phones, &line, &err), ==, PLA_ERR_EMPTY);
  g_assert_nonnull(strstr(err.message, "no take contains \"zh\", \"oi\";"));
  /* the stress of a vowel does not matter */
  PlaPhones stressed = { 0 };
  g_assert_cmpint(pla_phones_add(&stressed, 0.0, 0.1, "ah1", &err), ==, PLA_OK);
  g_assert_cmpint(pla_line_new(bank, &stressed, &line, &err), ==, PLA_OK);
  pla_line_free(line);
  pla_phones_clear(&stressed);
  g_assert_cmpint(pla_phones_add(&phones, 0.25, 0.4, "z", &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpint(pla_phones_add(&phones, 0.5, 0.4, "z", &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpint(pla_phones_add(&phones, 0.5, NAN, "z", &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpint(phones.n, ==, 3);

  /* a take that is too short for its phonemes, and one with a gap, leave the bank as it was */
  double control[10 * CONTROLS] = { 0.0 };
  PlaControlTake take = {
    .n_frames = 10, .n_controls = CONTROLS, .rate_hz = RATE, .control = control
  };
  const int n = pla_physeme_bank_count(bank);
  g_assert_cmpint(pla_physeme_bank_add(bank, &take, &phones, &err), ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "outside the take"));
  control[5 * CONTROLS + 2] = NAN;
  g_assert_cmpint(pla_physeme_bank_add(bank, &take, &phones, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "control 3 has no value in frame 5"));
  g_assert_cmpint(pla_physeme_bank_count(bank), ==, n);
  pla_phones_clear(&phones);
  pla_physeme_bank_free(bank);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/physeme/blend", test_blend);
  g_test_add_func("/physeme/leads", test_leads);
  g_test_add_func("/physeme/own-words", test_own_words);
  g_test_add_func("/physeme/choice", test_choice);
  g_test_add_func("/physeme/head", test_head_has_no_jumps);
  g_test_add_func("/physeme/refusals", test_refusals);
  return g_test_run();
}

/* Fitting: programs in a box, smoothing, labels, and activations that are known. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/parallel.h"
#include "anatomy/registration/registration.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/fit-smooth.h"
#include "sim/fit/fit.h"
#include "sim/fit/identify.h"
#include "sim/fit/marker-match.h"
#include "tests/sim/active/bars.h"

#include <stdlib.h>

/* ---- programs ---- */

/* J^T J of random rows, scaled like a face's: weak and strong columns, two nearly alike */
static void
random_program(GRand *rand, int n, int rows, double *h, double *g)
{
  double *j = g_new(double, (size_t)n *(size_t)rows), *r = g_new(double, (size_t)rows);
  for (int i = 0; i < rows; i++) {
    r[i] = g_rand_double_range(rand, -1, 1);
    for (int c = 0; c < n; c++)
      j[i * n + c] = g_rand_double_range(rand, -1, 1) * (c % 3 == 0 ? 0.1 : 1.0);
    j[i * n + 1] = j[i * n] * 8.0 + 0.05 * j[i * n + 1];
  }
  for (int a = 0; a < n; a++) {
    g[a] = 0.0;
    for (int i = 0; i < rows; i++)
      g[a] -= j[i * n + a] * 3.0 * r[i];
    for (int b = 0; b < n; b++) {
      h[a * n + b] = a == b ? 1e-8 : 0.0;
      for (int i = 0; i < rows; i++)
        h[a * n + b] += j[i * n + a] * j[i * n + b];
    }
  }
  g_free(j);
  g_free(r);
}

/* the conditions of Karush, Kuhn and Tucker, and the penalty continuation of the source:
 * activations within 1e-4 of the box, an objective within 0.1 % */
static void
test_box_qp(void)
{
  enum { N = 36, ROWS = 120 };
  GRand *rand = g_rand_new_with_seed(3);
  double h[N * N], g[N], lo[N], hi[N], x[N], y[N];
  PlaBoxReport exact, penalty;
  PlaError err = { 0 };
  for (int trial = 0; trial < 20; trial++) {
    random_program(rand, N, ROWS, h, g);
    double scale = 0.0;
    for (int i = 0; i < N; i++) {
      lo[i] = 0.0;
      hi[i] = 1.0;
      x[i] = y[i] = 0.0;
      scale = fmax(scale, fabs(g[i]));
    }
    bar_ok(pla_box_qp(N, h, g, lo, hi, x, &exact, &err), &err);
    for (int i = 0; i < N; i++) {
      double q = g[i];
      for (int k = 0; k < N; k++)
        q += h[i * N + k] * x[k];
      g_assert_cmpfloat(x[i], >=, 0.0);
      g_assert_cmpfloat(x[i], <=, 1.0);
      if (x[i] > 0.0)
        g_assert_cmpfloat(q, <=, 1e-9 * scale);
      if (x[i] < 1.0)
        g_assert_cmpfloat(q, >=, -1e-9 * scale);
    }
    /* from below the misfit at the optimum to a million times it */
    const double misfit = fabs(exact.value);
    bar_ok(pla_box_penalty(N, h, g, lo, hi, misfit, 1e6 * misfit, y, &penalty, &err), &err);
    g_assert_cmpint(penalty.iterations, >=, 284);
    for (int i = 0; i < N; i++) {
      g_assert_cmpfloat(y[i], >, -1e-4);
      g_assert_cmpfloat(y[i], <, 1.0 + 1e-4);
    }
    g_assert_cmpfloat_with_epsilon(penalty.value, exact.value, 1e-3 * misfit);
  }
  /* a program without a minimum */
  memset(h, 0, sizeof h);
  g_assert_cmpint(pla_box_qp(N, h, g, lo, hi, x, &exact, &err), ==, PLA_ERR_GEOMETRY);
  g_rand_free(rand);
}

/* the banded solver against one dense program of all frames */
static void
test_smooth(void)
{
  enum { N = 3, FRAMES = 12, ALL = N * FRAMES };
  GRand *rand = g_rand_new_with_seed(5);
  double h[FRAMES * N * N], g[FRAMES * N], c[ALL], x[ALL], y[ALL] = { 0 };
  const double prior[N] = { 0.1, 0.2, 0.1 }, bend[N] = { 3.0, 0.5, 20.0 };
  double lo[ALL], hi[ALL], *dense = g_new0(double, ALL *ALL), right[ALL];
  for (int t = 0; t < FRAMES; t++) {
    random_program(rand, N, 6, h + N * N * t, g + N * t);
    if (t == 5) /* a frame without markers */
      memset(h + N * N * t, 0, N * N * sizeof *h), memset(g + N * t, 0, N * sizeof *g);
  }
  for (int i = 0; i < ALL; i++) {
    c[i] = x[i] = g_rand_double(rand);
    lo[i] = 0.0;
    hi[i] = 0.6;
  }
  const PlaSmoothProblem problem = {
    .n_frames = FRAMES, .n = N, .h = h, .g = g, .prior = prior, .bend = bend, .lo = lo, .hi = hi
  };
  PlaError err = { 0 };
  PlaBoxReport report;
  bar_ok(pla_fit_smooth(&problem, x, NULL, &err), &err);
  for (int t = 0; t < FRAMES; t++)
    for (int i = 0; i < N; i++) {
      const int r = N * t + i;
      right[r] = -g[r];
      for (int j = 0; j < N; j++) {
        dense[r * ALL + N * t + j] += h[N * N * t + N * i + j];
        right[r] -= h[N * N * t + N * i + j] * c[N * t + j];
      }
      dense[r * ALL + r] += prior[i];
      static const double second[3] = { 1, -2, 1 };
      for (int a = 0; a < 3 && t > 0 && t + 1 < FRAMES; a++)
        for (int b = 0; b < 3; b++)
          dense[(r + N * (a - 1)) * ALL + r + N * (b - 1)] += bend[i] * second[a] * second[b];
    }
  bar_ok(pla_box_qp(ALL, dense, right, lo, hi, y, &report, &err), &err);
  g_assert_cmpint(report.n_active, >, 3);
  for (int i = 0; i < ALL; i++)
    g_assert_cmpfloat_with_epsilon(x[i], y[i], 1e-8);
  /* without noise smoothing does nothing; white noise of known spectrum otherwise */
  g_assert_cmpfloat_with_epsilon(pla_fit_smooth_gain(1e-6, 1.0), 1.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(pla_fit_smooth_gain(100.0, 1.0), sqrt(0.35355 / sqrt(100.0)),
                                 1e-3);
  g_free(dense);
  g_rand_free(rand);
}

static void
test_assign(void)
{
  enum { N = 6 };
  GRand *rand = g_rand_new_with_seed(11);
  PlaError err = { 0 };
  for (int trial = 0; trial < 50; trial++) {
    double cost[N * N], best = INFINITY, found = 0.0;
    int column[N];
    for (int i = 0; i < N * N; i++)
      cost[i] = g_rand_double(rand);
    bar_ok(pla_assign(N, cost, column, &err), &err);
    for (int i = 0; i < N; i++)
      found += cost[i * N + column[i]];
    /* all 720 permutations */
    for (int code = 0; code < 46656; code++) {
      int used = 0, rest = code;
      double sum = 0.0;
      for (int i = 0; i < N; i++, rest /= N) {
        used |= 1 << rest % N;
        sum += cost[i * N + rest % N];
      }
      if (used == 63)
        best = fmin(best, sum);
    }
    g_assert_cmpfloat_with_epsilon(found, best, 1e-12);
  }
  g_rand_free(rand);
}

/* ---- takes ---- */

enum { FRAMES = 24 };

/* known controls and the markers that they make, with a head that moves */
static void
make_take(const Bar *bar, double *truth, PlaTake **out)
{
  const int nc = pla_active_n_controls(bar->model);
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaActiveReport report;
  PlaError err = { 0 };
  bar_ok(pla_take_new(FRAMES, bar->markers.n, out, &err), &err);
  (*out)->rate_hz = 60.0;
  for (int i = 0; i < bar->markers.n; i++) {
    free((*out)->name[i]);
    (*out)->name[i] = strdup(bar->markers.site[i].name);
  }
  bar_ok(pla_active_solver_new(bar->model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar->model, &err), &err);
  for (int f = 0; f < FRAMES; f++) {
    double *c = truth + f * nc;
    for (int m = 0; m < BAR_MUSCLES; m++)
      c[m] = 0.45 * (1.0 - cos(0.25 * f * (1.0 + 0.2 * m)));
    c[BAR_MUSCLES - 1] = 0.0;
    c[BAR_MUSCLES] = 0.1 * (1.0 - cos(0.2 * f));
    c[BAR_MUSCLES + 1] = 0.001 * (1.0 - cos(0.3 * f));
    c[BAR_MUSCLES + 2] = 0.0008 * (1.0 - cos(0.15 * f));
    bar_ok(pla_active_solve(solver, c, NULL, 1e-8, NULL, &state, &report, &err), &err);
    g_assert_true(report.converged);
    const PlaRigid pose =
        pla_rigid_about((double[3]){ 0 }, (double[3]){ 0.02 * f, 0.3 - 0.01 * f, 0.015 * f },
                        (double[3]){ 0.3, 0.002 * f, -0.1 });
    for (int i = 0; i < bar->markers.n; i++) {
      double q[3];
      pla_marker_place(&bar->markers.site[i], state.pos, q);
      pla_rigid_apply(&pose, q, (*out)->pos + 3 * (f * bar->markers.n + i));
    }
  }
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
}

static void
fit(const Bar *bar, PlaTake *take, const PlaFitOptions *opts, PlaFitResult *result, PlaNotes *notes)
{
  const PlaMarkerMatchOptions label = pla_marker_match_options_default();
  PlaMarkerMatch labels;
  PlaError err = { 0 };
  bar_ok(pla_markers_match(&bar->markers, bar->mesh->pos, take, &label, &labels, &err), &err);
  bar_ok(pla_fit_take(bar->model, labels.site, take, opts, result, &err), &err);
  if (notes) {
    *notes = labels.notes;
    labels.notes = (PlaNotes){ 0 };
  }
  pla_marker_match_clear(&labels);
}

/* largest error of a control that counts as seen, of its range */
static double
worst_seen(const Bar *bar, const PlaFitResult *result, const double *truth)
{
  double lo[BAR_MUSCLES + 3], hi[BAR_MUSCLES + 3], worst = 0.0;
  pla_active_limits(bar->model, lo, hi);
  for (int f = 0; f < result->n_frames; f++)
    for (int c = 0; c < result->n_controls; c++)
      if (result->seen[c])
        worst = fmax(worst, fabs(result->control[f * result->n_controls + c] -
                                 truth[f * result->n_controls + c]) /
                                hi[c]);
  return worst;
}

/* without noise every control is found, but the one that moves nothing, which is told */
static void
test_recovery(const void *formulation)
{
  Bar bar;
  PlaTake *take;
  PlaFitResult result;
  const PlaFitOptions opts = pla_fit_options_default();
  double truth[FRAMES * (BAR_MUSCLES + 3)];
  bar_init_as(&bar, 1, 1.0, (PlaFormulation)GPOINTER_TO_INT(formulation));
  make_take(&bar, truth, &take);
  fit(&bar, take, &opts, &result, NULL);
  g_test_message("rms %.3g mm, worst %.3g", 1e3 * result.rms_m, worst_seen(&bar, &result, truth));
  g_assert_cmpfloat(result.rms_m, <, 5e-6);
  g_assert_cmpfloat(result.max_m, <, 5e-5);
  g_assert_cmpfloat(worst_seen(&bar, &result, truth), <, 0.02);
  for (int c = 0; c < result.n_controls; c++)
    g_assert_cmpint(result.seen[c], ==, c != BAR_MUSCLES - 1);
  g_assert_cmpfloat(result.singular[result.n_singular - 1], <, 1e-6 * result.singular[0]);
  for (int i = 0; i < FRAMES * result.n_controls; i++) {
    g_assert_cmpfloat(result.control[i], >=, 0.0);
    g_assert_cmpfloat(result.control[i], <=, 1.0);
  }
  pla_fit_result_clear(&result);
  pla_take_free(take);
  bar_clear(&bar);
}

/* gross errors: what lies under them moves little, and the other markers decide */
static void
test_outliers(void)
{
  Bar bar;
  PlaTake *take;
  PlaFitResult result;
  const PlaFitOptions opts = pla_fit_options_default();
  double truth[FRAMES * (BAR_MUSCLES + 3)];
  bar_init(&bar, 1);
  make_take(&bar, truth, &take);
  const double off = 0.02;
  take->pos[3 * 11 + 1] += 0.05; /* in the rest frame, of a marker that is right in all others */
  for (int f = 0; f < FRAMES; f++) {
    take->pos[3 * (f * take->n_markers + (5 * f + 3) % take->n_markers) + 2] += off;
    take->pos[3 * (f * take->n_markers + (7 * f + 1) % take->n_markers)] = NAN;
    take->pos[3 * (f * take->n_markers + (7 * f + 1) % take->n_markers) + 1] = NAN;
    take->pos[3 * (f * take->n_markers + (7 * f + 1) % take->n_markers) + 2] = NAN;
  }
  fit(&bar, take, &opts, &result, NULL);
  for (int f = 0; f < FRAMES; f++) {
    const int i = (5 * f + 3) % take->n_markers;
    if (i == (7 * f + 1) % take->n_markers)
      continue;
    const double *r = result.residual + 3 * (f * take->n_markers + i);
    /* the skin under the marker went along by less than a fifth */
    g_assert_cmpfloat(fabs(pla_vec3_norm(r) - off), <, 0.2 * off);
    g_assert_cmpfloat(result.weight[f * take->n_markers + i], <, 0.05);
  }
  g_assert_cmpfloat(result.weight[11], <, 0.05);
  g_assert_cmpfloat(result.weight[12 * take->n_markers + 11], >, 0.9);
  g_assert_cmpfloat(worst_seen(&bar, &result, truth), <, 0.02);
  pla_fit_result_clear(&result);
  pla_take_free(take);
  bar_clear(&bar);
}

/* chunks on one thread and on four: the same bits; one chunk: the same to the tolerance */
static void
test_chunks(void)
{
  Bar bar;
  PlaTake *take;
  PlaFitResult result[3];
  PlaFitOptions opts = pla_fit_options_default();
  double truth[FRAMES * (BAR_MUSCLES + 3)];
  bar_init(&bar, 1);
  make_take(&bar, truth, &take);
  const int threads = pla_threads_get();
  for (int k = 0; k < 3; k++) {
    opts.chunk = k < 2 ? 6 : 64;
    pla_threads_set(k == 1 ? 4 : 1);
    fit(&bar, take, &opts, &result[k], NULL);
  }
  pla_threads_set(threads);
  const size_t n = (size_t)FRAMES * (BAR_MUSCLES + 3);
  g_assert_cmpmem(result[0].control, n * sizeof(double), result[1].control, n * sizeof(double));
  g_assert_cmpmem(result[0].head, 12 * FRAMES * sizeof(double), result[1].head,
                  12 * FRAMES * sizeof(double));
  for (size_t i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon(result[0].control[i], result[2].control[i], 2e-3);
  for (int k = 0; k < 3; k++)
    pla_fit_result_clear(&result[k]);
  pla_take_free(take);
  bar_clear(&bar);
}

static bool
has_note(const PlaNotes *notes, const char *a, const char *b)
{
  for (int i = 0; i < notes->n; i++)
    if (strstr(notes->text[i], a) && strstr(notes->text[i], b))
      return true;
  return false;
}

/* other names, another unit, names exchanged, markers that change places or freeze, frames that are
 * dropped or repeated: all repaired, all told */
static void
test_repairs(void)
{
  enum { NAMES, UNIT, EXCHANGED, SWAP, FROZEN, DROPPED, REPEATED, KINDS };
  Bar bar;
  double truth[FRAMES * (BAR_MUSCLES + 3)];
  const PlaFitOptions opts = pla_fit_options_default();
  bar_init(&bar, 1);
  for (int kind = 0; kind < KINDS; kind++) {
    PlaTake *take;
    PlaFitResult result;
    PlaNotes notes;
    make_take(&bar, truth, &take);
    const int n = take->n_markers;
    const size_t width = 3 * (size_t)n;
    for (int i = 0; kind == NAMES && i < n; i++) {
      free(take->name[i]);
      take->name[i] = g_strdup_printf("*%d", i);
    }
    for (size_t i = 0; kind == UNIT && i < width * FRAMES; i++)
      take->pos[i] /= 10.0;
    if (kind == EXCHANGED) {
      char *name = take->name[2];
      take->name[2] = take->name[20];
      take->name[20] = name;
    }
    for (int f = 9; kind == SWAP && f < FRAMES; f++)
      for (int d = 0; d < 3; d++) {
        const double x = take->pos[3 * (f * n + 4) + d];
        take->pos[3 * (f * n + 4) + d] = take->pos[3 * (f * n + 13) + d];
        take->pos[3 * (f * n + 13) + d] = x;
      }
    for (int f = 5; kind == FROZEN && f < 17; f++)
      memcpy(take->pos + 3 * (f * n + 7), take->pos + 3 * (5 * n + 7), 3 * sizeof(double));
    for (size_t i = 0; kind == DROPPED && i < width; i++)
      take->pos[width * 8 + i] = NAN;
    if (kind == REPEATED)
      memcpy(take->pos + width * 8, take->pos + width * 7, width * sizeof(double));
    fit(&bar, take, &opts, &result, &notes);
    static const char *const told[KINDS][2] = {
      { "unknown", "frame 1" },        { "too small", "centimetres" }, { "'m0c'", "frame 1" },
      { "'m4b'", "frame 10" },         { "'m2b'", "frame 6 to 17" },   { "frame 9", "no markers" },
      { "frame 9", "repeats frame 8" }
    };
    for (int i = 0; i < notes.n; i++)
      g_test_message("%s", notes.text[i]);
    g_assert_true(has_note(&notes, told[kind][0], told[kind][1]));
    g_test_message("kind %d: worst %.4f", kind, worst_seen(&bar, &result, truth));
    g_assert_cmpfloat(worst_seen(&bar, &result, truth), <, 0.02);
    pla_notes_clear(&notes);
    pla_fit_result_clear(&result);
    pla_take_free(take);
  }
  bar_clear(&bar);
}

/* what no length unit explains, and too few markers, are refused */
static void
test_refusals(void)
{
  Bar bar;
  PlaTake *take;
  PlaMarkerMatch labels;
  PlaMarkerMatchOptions label = pla_marker_match_options_default();
  PlaError err = { 0 };
  double truth[FRAMES * (BAR_MUSCLES + 3)];
  bar_init(&bar, 1);
  make_take(&bar, truth, &take);
  for (int i = 0; i < 3 * FRAMES * take->n_markers; i++)
    take->pos[i] *= 3.3;
  g_assert_cmpint(pla_markers_match(&bar.markers, bar.mesh->pos, take, &label, &labels, &err), ==,
                  PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "frame 1"));
  g_assert_nonnull(strstr(err.message, "length unit"));
  label.rest_frame = FRAMES;
  g_assert_cmpint(pla_markers_match(&bar.markers, bar.mesh->pos, take, &label, &labels, &err), ==,
                  PLA_ERR_USAGE);
  pla_take_free(take);
  bar_clear(&bar);
}

/* ---- what the body is like ---- */

enum { POSES = 5, POSE_CONTROLS = BAR_MUSCLES + 3 };

/* poses of @bar with muscles @strength times as strong, and the activations that are known of them
 */
static void
make_known_poses(const Bar *bar, const double *strength, double *control, PlaTake **out)
{
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaActiveReport solve;
  PlaError err = { 0 };
  bar_ok(pla_take_new(POSES, bar->markers.n, out, &err), &err);
  bar_ok(pla_active_solver_new(bar->model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar->model, &err), &err);
  for (int f = 0; f < POSES; f++) {
    double *c = control + f * POSE_CONTROLS, eff[POSE_CONTROLS];
    for (int i = 0; i < POSE_CONTROLS; i++)
      eff[i] = c[i] = i < BAR_MUSCLES ? 0.2 + 0.5 * ((i + f) % 3 == 0) : 0.0;
    for (int m = 0; m < BAR_MUSCLES; m++)
      eff[m] *= strength[m];
    bar_ok(pla_active_solve(solver, eff, NULL, 1e-8, NULL, &state, &solve, &err), &err);
    for (int i = 0; i < bar->markers.n; i++)
      pla_marker_place(&bar->markers.site[i], state.pos,
                       (*out)->pos + 3 * (f * bar->markers.n + i));
  }
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
}

static PlaStatus
make_flesh(double stiffness, void *data, PlaActiveModel **out, PlaError *err)
{
  Bar bar;
  bar_init_flesh(&bar, 1, stiffness);
  *out = bar.model;
  bar.model = NULL;
  bar_clear(&bar);
  return PLA_OK;
}

static void
identify(const Bar *bar, const PlaTake *take, const double *control, bool strengths, bool stiffness,
         double *strength, double *deviation, PlaIdentifyReport *report)
{
  const PlaFitOptions opts = pla_fit_options_default();
  const PlaIdentifyOptions what = {
    .strengths = strengths, .stiffness = stiffness, .most = 3.0, .make = make_flesh
  };
  const PlaMarkerSite *site[64];
  PlaError err = { 0 };
  for (int i = 0; i < bar->markers.n; i++)
    site[i] = &bar->markers.site[i];
  for (int m = 0; m < BAR_MUSCLES; m++)
    strength[m] = 1.0;
  bar_ok(pla_fit_identify(bar->model, site, take, control, &opts, &what, strength, deviation,
                          report, &err),
         &err);
}

/* strengths of muscles come back from poses with known activations; the absent one stays unknown */
static void
test_strengths(void)
{
  static const double truth[BAR_MUSCLES] = { 1.3, 0.7, 1.1, 0.5, 1.0 };
  Bar bar;
  PlaTake *take;
  PlaIdentifyReport report;
  double control[POSES * POSE_CONTROLS], strength[BAR_MUSCLES], deviation[BAR_MUSCLES];
  bar_init(&bar, 1);
  make_known_poses(&bar, truth, control, &take);
  identify(&bar, take, control, true, false, strength, deviation, &report);
  for (int m = 0; m < BAR_MUSCLES - 1; m++) {
    g_test_message("strength %d: %.4f, expected error %.4f", m, strength[m], deviation[m]);
    g_assert_cmpfloat_with_epsilon(strength[m], truth[m], 0.01);
    g_assert_cmpfloat(deviation[m], <, 0.05);
  }
  g_assert_cmpfloat_with_epsilon(strength[BAR_MUSCLES - 1], 1.0, 1e-6);
  g_assert_cmpfloat(deviation[BAR_MUSCLES - 1], >, 0.9);
  g_assert_cmpfloat(report.rms_m, <, 1e-5);
  pla_take_free(take);
  bar_clear(&bar);
}

/* The flesh's stiffness comes back, too, where the muscles are known.  Sought together, what shows
 * is their ratio: strengths over stiffness are right, each of them is as uncertain as is told. */
static void
test_stiffness(void)
{
  static const double known[BAR_MUSCLES] = { 1.0, 1.0, 1.0, 1.0, 1.0 };
  static const double uneven[BAR_MUSCLES] = { 1.3, 0.7, 1.1, 0.5, 1.0 };
  const double truth = 1.6;
  Bar bar, stiff;
  PlaTake *take;
  PlaIdentifyReport report;
  double control[POSES * POSE_CONTROLS], strength[BAR_MUSCLES], deviation[BAR_MUSCLES];
  bar_init(&bar, 1);
  bar_init_flesh(&stiff, 1, truth);
  make_known_poses(&stiff, known, control, &take);
  identify(&bar, take, control, false, true, strength, deviation, &report);
  g_test_message("stiffness %.5f of %.1f, expected error %.2g; %d iterations, %.2g mm rms",
                 report.stiffness, truth, report.stiffness_deviation, report.iterations,
                 1e3 * report.rms_m);
  g_assert_cmpfloat_with_epsilon(report.stiffness, truth, 1e-3);
  g_assert_cmpfloat(report.stiffness_deviation, <, 0.01);
  g_assert_cmpfloat(report.rms_m, <, 1e-6);
  g_assert_cmpfloat(strength[0], ==, 1.0);
  g_assert_cmpfloat(deviation[0], ==, 0.0);
  pla_take_free(take);

  make_known_poses(&stiff, uneven, control, &take);
  identify(&bar, take, control, true, true, strength, deviation, &report);
  g_test_message("together: stiffness %.3f, expected error %.2g; strength of the first %.3f, %.2g",
                 report.stiffness, report.stiffness_deviation, strength[0], deviation[0]);
  g_assert_cmpfloat(report.rms_m, <, 2e-5);
  for (int m = 0; m < BAR_MUSCLES - 1; m++)
    g_assert_cmpfloat_with_epsilon(strength[m] / report.stiffness, uneven[m] / truth,
                                   0.03 * uneven[m] / truth);
  /* three deviations cover the truth */
  g_assert_cmpfloat(fabs(log(report.stiffness / truth)), <, 3.0 * report.stiffness_deviation);
  pla_take_free(take);
  bar_clear(&bar);
  bar_clear(&stiff);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fit/box-qp", test_box_qp);
  g_test_add_func("/fit/smooth", test_smooth);
  g_test_add_func("/fit/assign", test_assign);
  g_test_add_data_func("/fit/recovery/standard", GINT_TO_POINTER(PLA_FORMULATION_STANDARD),
                       test_recovery);
  g_test_add_data_func("/fit/recovery/mixed", GINT_TO_POINTER(PLA_FORMULATION_AVERAGED),
                       test_recovery);
  g_test_add_func("/fit/outliers", test_outliers);
  g_test_add_func("/fit/chunks", test_chunks);
  g_test_add_func("/fit/repairs", test_repairs);
  g_test_add_func("/fit/refusals", test_refusals);
  g_test_add_func("/fit/strengths", test_strengths);
  g_test_add_func("/fit/stiffness", test_stiffness);
  return g_test_run();
}

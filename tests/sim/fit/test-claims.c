/* Claims of the method's source that concern several parts at once: affine frames under penalty
 * continuation, the golden section, what derivatives cost, interpolation and preview.  Numbers are
 * those of the checklist after Sifakis 2007. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/random.h"
#include "anatomy/base/svd3.h"
#include "anatomy/registration/registration.h"
#include "sim/active/active.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/frame.h"
#include "sim/physeme/physeme.h"
#include "tests/sim/active/bars.h"

#include <lapack.h>
#include <stdlib.h>

enum { NC = BAR_MUSCLES + 3 };

/* ---- 30: affine frames ---- */

enum { POINTS = 40, UNKNOWNS = 12, ROUNDS = 290 };

/* gradient and Hessian of |M^T M - 1|^2 by M (row-major); the Hessian made positive semidefinite */
static double
rigidity(const double m[9], double gradient[9], double hessian[81])
{
  double mtm[9], vectors[81], values[9], work[9 * 34], value = 0.0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      mtm[3 * i + j] = i == j ? -1.0 : 0.0;
      for (int k = 0; k < 3; k++)
        mtm[3 * i + j] += m[3 * k + i] * m[3 * k + j];
      value += mtm[3 * i + j] * mtm[3 * i + j];
    }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      gradient[3 * i + j] = 0.0;
      for (int k = 0; k < 3; k++)
        gradient[3 * i + j] += 4.0 * m[3 * i + k] * mtm[3 * k + j];
    }
  /* column d: 4 [D (M^T M - 1) + M (D^T M + M^T D)] for the unit matrix D */
  for (int d = 0; d < 9; d++) {
    const int r = d / 3, c = d % 3;
    double inner[9];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        inner[3 * i + j] = (i == c ? m[3 * r + j] : 0.0) + (j == c ? m[3 * r + i] : 0.0);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double sum = i == r ? mtm[3 * c + j] : 0.0;
        for (int k = 0; k < 3; k++)
          sum += m[3 * i + k] * inner[3 * k + j];
        vectors[9 * d + 3 * i + j] = 4.0 * sum;
      }
  }
  int n = 9, n_work = 9 * 34, info;
  LAPACK_dsyev("V", "L", &n, vectors, &n, values, work, &n_work, &info);
  g_assert_cmpint(info, ==, 0);
  memset(hessian, 0, 81 * sizeof *hessian);
  for (int k = 0; k < 9; k++)
    for (int i = 0; i < 9; i++)
      for (int j = 0; j < 9; j++)
        hessian[9 * i + j] += fmax(0.0, values[k]) * vectors[9 * k + i] * vectors[9 * k + j];
  return value;
}

/* A free 3 x 3 matrix and a shift for the cranium, made rigid by the source's penalty: rho from the
 * misfit to a million times it in steps of 1.05.  Singular values come within 1e-5 of 1, the
 * penalty is less than 0.1 % of the objective, and the frame is the exact rigid one that the fit
 * uses. */
static void
test_affine_frames(void)
{
  PlaRandom random = pla_random_start(7);
  double from[3 * POINTS], to[3 * POINTS];
  const PlaRigid truth = pla_rigid_about((double[3]){ 10, 20, -5 }, (double[3]){ 0.3, -0.2, 0.5 },
                                         (double[3]){ 4, -7, 12 });
  for (int i = 0; i < POINTS; i++) {
    for (int d = 0; d < 3; d++)
      from[3 * i + d] = pla_random_range(&random, -60, 60);
    pla_rigid_apply(&truth, from + 3 * i, to + 3 * i);
    for (int d = 0; d < 3; d++)
      to[3 * i + d] += pla_random_range(&random, -1, 1);
  }
  /* lengths in units of the cloud, as the penalty mixes them with pure numbers */
  const double unit = 60.0;
  double x[UNKNOWNS] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0 }, misfit = 0.0, penalty = 0.0,
         rho = 0.0;
  int rounds = 0;
  for (rounds = 0; rounds < ROUNDS; rounds++) {
    double h[UNKNOWNS * UNKNOWNS] = { 0 }, g[UNKNOWNS] = { 0 }, rigid_g[9], rigid_h[81];
    misfit = 0.0;
    for (int i = 0; i < POINTS; i++)
      for (int d = 0; d < 3; d++) {
        double row[UNKNOWNS] = { 0 }, r = -to[3 * i + d] / unit;
        for (int k = 0; k < 3; k++)
          row[3 * d + k] = from[3 * i + k] / unit;
        row[9 + d] = 1.0;
        for (int a = 0; a < UNKNOWNS; a++)
          r += row[a] * x[a];
        misfit += r * r;
        for (int a = 0; a < UNKNOWNS; a++) {
          g[a] += 2.0 * row[a] * r;
          for (int b = 0; b < UNKNOWNS; b++)
            h[UNKNOWNS * a + b] += 2.0 * row[a] * row[b];
        }
      }
    penalty = rigidity(x, rigid_g, rigid_h);
    if (rounds == 0)
      rho = 1e-2; /* below the misfit of the optimum, 40 points x 0.5 mm */
    for (int a = 0; a < 9; a++) {
      g[a] += rho * rigid_g[a];
      for (int b = 0; b < 9; b++)
        h[UNKNOWNS * a + b] += rho * rigid_h[9 * a + b];
    }
    int n = UNKNOWNS, one = 1, info;
    LAPACK_dposv("L", &n, &one, h, &n, g, &n, &info);
    g_assert_cmpint(info, ==, 0);
    for (int a = 0; a < UNKNOWNS; a++)
      x[a] -= g[a];
    rho *= 1.05;
  }
  double u[9], s[3], v[9], exact[9];
  PlaRigid pose;
  PlaLandmarkReport report;
  PlaError err = { 0 };
  pla_svd3(x, u, s, v);
  bar_ok(pla_register_landmarks(POINTS, from, to, false, &pose, NULL, &report, &err), &err);
  memcpy(exact, pose.r, sizeof exact);
  double worst = 0.0, apart = 0.0;
  for (int i = 0; i < 3; i++)
    worst = fmax(worst, fabs(s[i] - 1.0));
  for (int i = 0; i < 9; i++)
    apart = fmax(apart, fabs(x[i] - exact[i]));
  g_test_message(
      "%d rounds: singular values within %.2g of 1, penalty %.3g of the misfit, %.2g from the "
      "rigid frame",
      rounds, worst, rho * penalty / misfit, apart);
  g_assert_cmpint(rounds, >=, 284);
  g_assert_cmpfloat(worst, <, 1e-5);
  g_assert_cmpfloat(rho * penalty, <, 1e-3 * misfit);
  g_assert_cmpfloat(apart, <, 1e-4);
}

/* ---- 29: steps that a frame takes ---- */

/* a take of @n_poses shapes, the first of them at rest, with a head that turns by @turn from each
 * to the next */
static void
make_poses(const Bar *bar, int n_poses, const double (*control)[NC], double turn, PlaTake **out)
{
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaActiveReport report;
  PlaError err = { 0 };
  bar_ok(pla_take_new(n_poses, bar->markers.n, out, &err), &err);
  bar_ok(pla_active_solver_new(bar->model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar->model, &err), &err);
  (*out)->rate_hz = 60.0;
  for (int f = 0; f < n_poses; f++) {
    const PlaRigid pose = pla_rigid_about((double[3]){ 0 }, (double[3]){ turn * f, 0, 0 },
                                          (double[3]){ 0.001 * f, 0, 0 });
    bar_ok(pla_active_solve(solver, control[f], NULL, 1e-9, NULL, &state, &report, &err), &err);
    g_assert_true(report.converged);
    for (int i = 0; i < bar->markers.n; i++) {
      double q[3];
      pla_marker_place(&bar->markers.site[i], state.pos, q);
      pla_rigid_apply(&pose, q, (*out)->pos + 3 * (f * bar->markers.n + i));
    }
  }
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
}

static double
frame_rms(const PlaFitFrame *frame, int n_markers)
{
  double sum = 0.0;
  for (int i = 0; i < 3 * n_markers; i++)
    sum += frame->residual[i] * frame->residual[i];
  return sqrt(sum / n_markers);
}

/* Steps of Gauss and Newton until markers are met to 0.05 mm: at most 5 from rest, as claimed.
 * Tracking with changes of 20 to 40 % and 4 degrees takes one where the source is content; one
 * leaves more than 0.05 mm here, which the second takes away. */
static void
test_steps(void)
{
  enum { POSES = 5, MOST = 6 };
  static const double control[POSES][NC] = {
    { 0, 0, 0, 0, 0, 0, 0, 0 },
    { 0.6, 0.3, 0.5, 0.2, 0, 0.15, 0.002, 0.001 },
    { 0.8, 0.5, 0.3, 0.4, 0, 0.22, 0.002, 0.001 },     /* 20 %, and 4 degrees of the jaw */
    { 0.4, 0.9, 0.7, 0.0, 0, 0.15, 0.001, 0.002 },     /* 40 %, back by 4 degrees */
    { 0.45, 0.88, 0.65, 0.05, 0, 0.14, 0.001, 0.002 }, /* 5 %, as from frame to frame at 60 Hz */
  };
  Bar bar;
  PlaTake *take;
  PlaFitFrame frame;
  PlaError err = { 0 };
  PlaFitOptions opts = pla_fit_options_default();
  const PlaMarkerSite *site[64];
  double lo[NC], hi[NC], once[POSES] = { 0 };
  int steps[POSES] = { 0 };
  opts.noise_m = 1e-5;
  opts.outlier = 0.0;
  bar_init(&bar, 2);
  pla_active_limits(bar.model, lo, hi);
  for (int i = 0; i < bar.markers.n; i++)
    site[i] = &bar.markers.site[i];
  make_poses(&bar, POSES, control, 4.0 * G_PI / 180.0, &take);
  const PlaFitProblem problem = { .model = bar.model,
                                  .site = site,
                                  .take = take,
                                  .opts = &opts,
                                  .lo = lo,
                                  .hi = hi,
                                  .least_noise_m = 1e-6 };
  bar_ok(pla_fit_frame_init(&frame, &problem, &err), &err);
  for (int f = 1; f < POSES; f++) {
    if (f == 1)
      bar_ok(pla_fit_frame_place_head(&frame, f, true, &err), &err);
    for (double rms = INFINITY; rms > 5e-5 && steps[f] < MOST;) {
      bar_ok(pla_fit_frame_track(&frame, f, 1, &err), &err);
      rms = frame_rms(&frame, bar.markers.n);
      if (steps[f]++ == 0)
        once[f] = rms;
    }
    /* the next begins where this one ends */
    bar_ok(pla_fit_frame_track(&frame, f, 10, &err), &err);
    g_assert_cmpfloat(frame_rms(&frame, bar.markers.n), <, 5e-6);
  }
  g_test_message(
      "steps to 0.05 mm: %d from rest, %d for 20 %%, %d for 40 %%, %d for 5 %%; one step leaves "
      "%.3f, %.3f and %.3f mm",
      steps[1], steps[2], steps[3], steps[4], 1e3 * once[2], 1e3 * once[3], 1e3 * once[4]);
  g_assert_cmpint(steps[1], <=, 5);
  g_assert_cmpint(steps[2], <=, 2);
  g_assert_cmpint(steps[3], <=, 2);
  g_assert_cmpint(steps[4], ==, 1);
  pla_fit_frame_clear(&frame);
  pla_take_free(take);
  bar_clear(&bar);
}

/* ---- 32: gross errors ---- */

/* 5 % of the markers 20 mm off: the skin under them follows by less than a fifth, while a warp by
 * radial basis functions through the markers goes all the way with them. */
static void
test_gross_errors(void)
{
  enum { POSES = 3 };
  static const double control[POSES][NC] = { { 0 },
                                             { 0.3, 0.2, 0.4, 0.1, 0, 0.05, 0.001, 0.001 },
                                             { 0.5, 0.3, 0.6, 0.2, 0, 0.1, 0.002, 0.001 } };
  const double off = 0.02;
  Bar bar;
  PlaTake *take;
  PlaFitResult result;
  PlaWarp *warp;
  PlaWarpReport about;
  PlaError err = { 0 };
  PlaFitOptions opts = pla_fit_options_default();
  const PlaMarkerSite *site[64];
  double from[3 * 64], to[3 * 64], clean[3 * 64], worst = 0.0, least = INFINITY;
  bar_init(&bar, 2);
  const int n = bar.markers.n, last = POSES - 1;
  for (int i = 0; i < n; i++)
    site[i] = &bar.markers.site[i];
  make_poses(&bar, POSES, control, 0.0, &take);
  memcpy(clean, take->pos + 3 * last * n, 3 * (size_t)n * sizeof *clean);
  g_assert_cmpint(n, >=, 20);
  const int n_off = (n + 19) / 20;
  for (int k = 0; k < n_off; k++)
    take->pos[3 * (last * n + 5 + 11 * k) + k % 3] += off;
  opts.acceleration = 0.0;
  bar_ok(pla_fit_take(bar.model, site, take, &opts, &result, &err), &err);
  for (int i = 0; i < 3 * n; i++) {
    from[i] = 1e3 * take->pos[i];
    to[i] = 1e3 * take->pos[3 * last * n + i];
  }
  bar_ok(pla_warp_new(n, from, to, 0.0, &warp, NULL, &about, &err), &err);
  for (int k = 0; k < n_off; k++) {
    const int i = 5 + 11 * k;
    double fitted[3], warped[3], d[3];
    pla_vec3_sub(take->pos + 3 * (last * n + i), result.residual + 3 * (last * n + i), fitted);
    pla_vec3_sub(fitted, clean + 3 * i, d);
    worst = fmax(worst, pla_vec3_norm(d) / off);
    pla_warp_apply(warp, 1, from + 3 * i, warped);
    for (int a = 0; a < 3; a++)
      d[a] = 1e-3 * warped[a] - clean[3 * i + a];
    least = fmin(least, pla_vec3_norm(d) / off);
  }
  g_test_message("%d of %d markers 20 mm off: the fit follows by %.2f %%, the warp by %.1f %%",
                 n_off, n, 100.0 * worst, 100.0 * least);
  g_assert_cmpfloat(worst, <, 0.2);
  g_assert_cmpfloat(least, >, 0.9);
  pla_warp_free(warp);
  pla_fit_result_clear(&result);
  pla_take_free(take);
  bar_clear(&bar);
}

/* ---- 33 and 34: what a step costs ---- */

typedef struct {
  Bar bar;
  PlaActiveSolver *solver;
  PlaActiveState state; /* where a frame begins */
  double *columns;
} Step;

static void
step_init(Step *self, const double *control)
{
  PlaActiveReport report;
  PlaError err = { 0 };
  bar_init(&self->bar, 2);
  const size_t n = 3 * (size_t)self->bar.mesh->n_verts;
  bar_ok(pla_active_solver_new(self->bar.model, &self->solver, &err), &err);
  bar_ok(pla_active_state_init(&self->state, self->bar.model, &err), &err);
  bar_ok(pla_active_solve(self->solver, control, NULL, 1e-9, NULL, &self->state, &report, &err),
         &err);
  self->columns = g_new(double, NC *n);
}

static void
step_clear(Step *self)
{
  g_free(self->columns);
  pla_active_state_clear(&self->state);
  pla_active_solver_free(self->solver);
  bar_clear(&self->bar);
}

static double
misfit_of(const Bar *bar, const double *pos, const double *target)
{
  double sum = 0.0;
  for (int i = 0; i < bar->markers.n; i++) {
    double q[3];
    pla_marker_place(&bar->markers.site[i], pos, q);
    for (int d = 0; d < 3; d++)
      sum += (q[d] - target[3 * i + d]) * (q[d] - target[3 * i + d]);
  }
  return sum;
}

/* the step of Gauss and Newton towards @target */
static void
gauss_newton(const Step *self, const double *target, double *control)
{
  const Bar *bar = &self->bar;
  const size_t n = 3 * (size_t)bar->mesh->n_verts;
  double h[NC * NC] = { 0 }, g[NC] = { 0 }, lo[NC], hi[NC], dc[NC] = { 0 };
  PlaBoxReport box;
  PlaError err = { 0 };
  for (int i = 0; i < bar->markers.n; i++) {
    const PlaMarkerSite *site = &bar->markers.site[i];
    double q[3];
    pla_marker_place(site, self->state.pos, q);
    for (int d = 0; d < 3; d++) {
      double row[NC] = { 0 };
      for (int c = 0; c < NC; c++)
        for (int k = 0; k < 3; k++)
          row[c] +=
              site->weight[k] * self->columns[(size_t)c * n + (size_t)(3 * site->vert[k] + d)];
      for (int a = 0; a < NC; a++) {
        g[a] += row[a] * (q[d] - target[3 * i + d]);
        for (int b = 0; b < NC; b++)
          h[NC * a + b] += row[a] * row[b];
      }
    }
  }
  pla_active_limits(bar->model, lo, hi);
  for (int c = 0; c < NC; c++) {
    h[NC * c + c] += 1e-12;
    lo[c] -= self->state.control[c];
    hi[c] -= self->state.control[c];
  }
  bar_ok(pla_box_qp(NC, h, g, lo, hi, dc, &box, &err), &err);
  for (int c = 0; c < NC; c++)
    control[c] = self->state.control[c] + dc[c];
}

typedef struct {
  int steps, factors; /* to 0.01 mm, with the factor of the step's beginning */
  double once_m[2]; /* farthest vertex from there after one step: with that factor, with one of its
                       own */
} Inner;

/* one equilibrium on the way from @step to @end, from the shape between them */
static void
solve_between(Step *step, const PlaActiveState *end, double t, PlaActiveState *at, Inner *inner)
{
  const size_t n = 3 * (size_t)step->bar.mesh->n_verts;
  PlaActiveState guess, exact;
  PlaActiveReport report = { 0 };
  PlaError err = { 0 };
  double control[NC];
  bar_ok(pla_active_state_init(&guess, step->bar.model, &err), &err);
  bar_ok(pla_active_state_init(&exact, step->bar.model, &err), &err);
  for (size_t i = 0; i < n; i++)
    guess.pos[i] = (1.0 - t) * step->state.pos[i] + t * end->pos[i];
  for (int c = 0; c < NC; c++)
    control[c] = guess.control[c] = (1.0 - t) * step->state.control[c] + t * end->control[c];
  pla_active_state_copy(&exact, step->bar.model, &guess);
  g_autofree double *columns = g_new(double, NC *n);
  /* the answer, by a solver of its own */
  PlaActiveSolver *own;
  bar_ok(pla_active_solver_new(step->bar.model, &own, &err), &err);
  bar_ok(pla_active_sensitivity(own, &guess, NULL, columns, &report, &err), &err);
  bar_ok(pla_active_solve(own, control, NULL, 1e-9, NULL, &exact, &report, &err), &err);
  g_assert_true(report.converged);
  bar_ok(pla_active_sensitivity(own, &guess, NULL, columns, &report, &err), &err);
  for (int k = 0; k < 2; k++) {
    pla_active_state_copy(at, step->bar.model, &guess);
    bar_ok(pla_active_solve(k ? own : step->solver, control, NULL, 1.0, NULL, at, &report, &err),
           &err);
    g_assert_cmpint(report.iterations, ==, 1);
    for (size_t i = 0; i < n; i++)
      inner->once_m[k] = fmax(inner->once_m[k], fabs(at->pos[i] - exact.pos[i]));
  }
  pla_active_state_copy(at, step->bar.model, &guess);
  bar_ok(pla_active_solve(step->solver, control, NULL, 1e-5, NULL, at, &report, &err), &err);
  g_assert_true(report.converged);
  inner->steps += report.iterations;
  inner->factors += report.factorisations;
  pla_active_solver_free(own);
  pla_active_state_clear(&guess);
  pla_active_state_clear(&exact);
}

/* 33: golden section along a step, equilibria on the way from the shape between those at its ends.
 * The source needs one Newton step for each.  With a factor of its own one step is within 0.01 mm,
 * as it says; with the factor of the step's beginning, which costs nothing, one step misses that
 * and the claim fails: 2.4 steps.  The full step, which is all that the fit tries while it lowers
 * the misfit, is as good as the section's best.  (The section's cost beside the step's: bench
 * fit-face.) */
static void
test_golden_section(void)
{
  const double begin[NC] = { 0.2, 0.1, 0.3, 0.1, 0.0, 0.05, 0.001, 0.001 };
  const double wanted[NC] = { 0.5, 0.4, 0.05, 0.4, 0.0, 0.12, 0.002, 0.001 };
  const double golden = 0.5 * (sqrt(5.0) - 1.0);
  enum { EVALUATIONS = 10 };
  Step step;
  PlaActiveReport report = { 0 };
  PlaActiveState end, at;
  PlaError err = { 0 };
  double target[3 * 64], control[NC];
  Inner inner = { 0 };
  step_init(&step, begin);
  g_assert_cmpint(step.bar.markers.n, <=, 64);
  bar_ok(pla_active_state_init(&end, step.bar.model, &err), &err);
  bar_ok(pla_active_state_init(&at, step.bar.model, &err), &err);
  bar_ok(pla_active_solve(step.solver, wanted, NULL, 1e-9, NULL, &end, &report, &err), &err);
  for (int i = 0; i < step.bar.markers.n; i++)
    pla_marker_place(&step.bar.markers.site[i], end.pos, target + 3 * i);
  bar_ok(pla_active_sensitivity(step.solver, &step.state, NULL, step.columns, &report, &err), &err);
  gauss_newton(&step, target, control);
  pla_active_state_copy(&end, step.bar.model, &step.state);
  bar_ok(pla_active_solve(step.solver, control, step.columns, 1e-6, NULL, &end, &report, &err),
         &err);
  const double full = misfit_of(&step.bar, end.pos, target);
  const double none = misfit_of(&step.bar, step.state.pos, target);

  double lo = 0.0, hi = 1.0, best = full, value[2] = { NAN, NAN };
  double place[2] = { 1.0 - golden, golden };
  for (int e = 0; e < EVALUATIONS; e++) {
    const int k = isnan(value[0]) ? 0 : 1;
    solve_between(&step, &end, place[k], &at, &inner);
    value[k] = misfit_of(&step.bar, at.pos, target);
    best = fmin(best, value[k]);
    if (isnan(value[1]))
      continue;
    /* the part that cannot hold the minimum goes */
    if (value[0] < value[1]) {
      hi = place[1];
      place[1] = place[0];
      value[1] = value[0];
      place[0] = hi - golden * (hi - lo);
      value[0] = NAN;
    } else {
      lo = place[0];
      place[0] = place[1];
      value[0] = value[1];
      place[1] = lo + golden * (hi - lo);
      value[1] = NAN;
    }
  }
  g_test_message(
      "%d equilibria: one step leaves %.4f mm with the old factor, %.4f mm with one of its own; "
      "%.1f steps each and %d factors to 0.01 mm; misfit %.3g -> %.3g full, %.3g golden",
      EVALUATIONS, 1e3 * inner.once_m[0], 1e3 * inner.once_m[1], (double)inner.steps / EVALUATIONS,
      inner.factors, none, full, best);
  g_assert_cmpfloat(inner.once_m[1], <, 1e-5);
  g_assert_cmpint(inner.factors, ==, 0);
  g_assert_cmpint(inner.steps, >, EVALUATIONS); /* so much does the claim fail by */
  g_assert_cmpint(inner.steps, <=, 3 * EVALUATIONS);
  g_assert_cmpfloat(full, <, 0.05 * none);
  g_assert_cmpfloat(full - best, <, 0.01 * none);
  pla_active_state_clear(&end);
  pla_active_state_clear(&at);
  step_clear(&step);
}

/* 34: derivatives by all controls take one factor; an equilibrium from scratch by the general
 * solver takes at least that.  (In seconds: bench fit-face.) */
static void
test_derivative_cost(void)
{
  const double begin[NC] = { 0.2, 0.1, 0.3, 0.1, 0.0, 0.05, 0.001, 0.001 };
  const double next[NC] = { 0.6, 0.5, 0.0, 0.5, 0.0, 0.1, 0.001, 0.001 };
  Step step;
  PlaActiveReport derive = { 0 }, solve;
  PlaError err = { 0 };
  step_init(&step, begin);
  bar_ok(pla_active_sensitivity(step.solver, &step.state, NULL, step.columns, &derive, &err), &err);
  g_assert_cmpint(derive.factorisations, ==, 1);
  /* 40 % of every activation later, the old derivatives still lead nearly there */
  const size_t n = 3 * (size_t)step.bar.mesh->n_verts;
  g_autofree double *before = g_memdup2(step.state.pos, n * sizeof(double));
  bar_ok(pla_active_solve(step.solver, next, step.columns, 1e-6, NULL, &step.state, &solve, &err),
         &err);
  double moved = 0.0, missed = 0.0;
  for (size_t i = 0; i < n; i++) {
    double guess = before[i];
    for (size_t c = 0; c < NC; c++)
      guess += (next[c] - begin[c]) * step.columns[c * n + i];
    moved = fmax(moved, fabs(step.state.pos[i] - before[i]));
    missed = fmax(missed, fabs(step.state.pos[i] - guess));
  }
  g_test_message("a frame of %.2f mm: %d steps, %d factors; derivatives miss it by %.2f mm",
                 1e3 * moved, solve.iterations, solve.factorisations, 1e3 * missed);
  g_assert_true(solve.converged);
  g_assert_cmpint(derive.factorisations, <=, 2 * MAX(1, solve.factorisations));
  g_assert_cmpfloat(missed, <, 0.5 * moved);
  step_clear(&step);
}

/* ---- 37: interpolation ---- */

/* Every point between any two sets of activations is admissible: no element turns over. */
static void
test_interpolation(void)
{
  PlaRandom random = pla_random_start(3);
  Bar bar;
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaError err = { 0 };
  bar_init(&bar, 2);
  bar_ok(pla_active_solver_new(bar.model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar.model, &err), &err);
  double lo[NC], hi[NC], a[NC] = { 0 }, b[NC];
  pla_active_limits(bar.model, lo, hi);
  for (int trial = 0; trial < 6; trial++) {
    for (int c = 0; c < NC; c++)
      b[c] = c < BAR_MUSCLES ? (pla_random_range(&random, 0, 1) > 0.5)
                             : pla_random_range(&random, 0, 0.5) * hi[c];
    for (int k = 0; k <= 8; k++) {
      double c[NC];
      PlaActiveReport report;
      for (int i = 0; i < NC; i++)
        c[i] = a[i] + (b[i] - a[i]) * k / 8.0;
      bar_ok(pla_active_solve(solver, c, NULL, 1e-6, NULL, &state, &report, &err), &err);
      g_assert_true(report.converged);
      g_assert_cmpint(report.inverted, ==, 0);
    }
    memcpy(a, b, sizeof a);
  }
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
  bar_clear(&bar);
}

/* ---- 41: preview ---- */

enum { FRAMES = 72 };
#define RATE 60.0

/* Shapes stored with the takes and blended with the weights of the line, against the shapes that
 * the blended controls make: exact where one physeme speaks alone at its own pace, near in between.
 */
static void
test_preview(void)
{
  static const char *const sounds[] = { "a", "b", "c" };
  Bar bar;
  PlaActiveSolver *solver;
  PlaActiveState state;
  PlaActiveReport report;
  PlaPhysemeBank *bank;
  PlaLine *line;
  PlaPhones phones = { 0 }, said = { 0 };
  PlaError err = { 0 };
  bar_init(&bar, 1);
  const size_t n = 3 * (size_t)bar.mesh->n_verts;
  double *shapes[2];
  bar_ok(pla_active_solver_new(bar.model, &solver, &err), &err);
  bar_ok(pla_active_state_init(&state, bar.model, &err), &err);
  bar_ok(pla_physeme_bank_new(NC, NULL, NULL, &bank, &err), &err);
  for (int i = 0; i < 3; i++)
    bar_ok(pla_phones_add(&phones, 0.15 + 0.3 * i, 0.15 + 0.3 * (i + 1), sounds[i], &err), &err);
  for (int k = 0; k < 2; k++) {
    double control[FRAMES * NC];
    shapes[k] = g_new(double, FRAMES *n);
    for (int f = 0; f < FRAMES; f++) {
      for (int c = 0; c < NC; c++) {
        const double wave = 0.5 - 0.5 * cos((f / RATE) * (4.0 + 1.3 * c + 2.0 * k) + k);
        control[f * NC + c] = c < BAR_MUSCLES ? 0.8 * wave : c == BAR_MUSCLES ? 0.1 * wave : 0.0;
      }
      bar_ok(pla_active_solve(solver, control + f * NC, NULL, 1e-7, NULL, &state, &report, &err),
             &err);
      memcpy(shapes[k] + (size_t)f * n, state.pos, n * sizeof *shapes[k]);
    }
    const PlaControlTake take = {
      .n_frames = FRAMES, .n_controls = NC, .rate_hz = RATE, .control = control
    };
    bar_ok(pla_physeme_bank_add(bank, &take, &phones, &err), &err);
  }
  static const char *const word[] = { "c", "a", "b", "a" };
  for (int i = 0; i < 4; i++)
    bar_ok(pla_phones_add(&said, 0.3 * i, 0.3 * (i + 1), word[i], &err), &err);
  bar_ok(pla_line_new(bank, &said, &line, &err), &err);
  for (int i = 0; i < 4; i++)
    pla_line_set_candidate(line, i, i % 2); /* so that neighbours come from different takes */
  double sum[2] = { 0 }, moved = 0.0;
  int count[2] = { 0 };
  for (int f = 0; f < (int)(1.2 * RATE); f++) {
    PlaBlend blend[2];
    double control[NC];
    const int parts = pla_line_blend(line, f / RATE, blend);
    pla_line_controls(line, f / RATE, control);
    bar_ok(pla_active_solve(solver, control, NULL, 1e-7, NULL, &state, &report, &err), &err);
    for (size_t i = 0; i < n; i++) {
      double x = 0.0;
      for (int p = 0; p < parts; p++) {
        const double at = blend[p].time_s * RATE;
        const int g = MIN(FRAMES - 2, MAX(0, (int)floor(at)));
        const double *s = shapes[blend[p].take] + (size_t)g * n, r = at - g;
        x += blend[p].weight * ((1.0 - r) * s[i] + r * s[n + i]);
      }
      sum[parts - 1] += (x - state.pos[i]) * (x - state.pos[i]);
      moved += (state.pos[i] - bar.mesh->pos[i]) * (state.pos[i] - bar.mesh->pos[i]);
    }
    count[parts - 1]++;
  }
  const int all = count[0] + count[1];
  const double alone = sqrt(3.0 * sum[0] / ((double)n * count[0]));
  const double mixed = sqrt(3.0 * sum[1] / ((double)n * MAX(1, count[1])));
  moved = sqrt(3.0 * moved / ((double)n * all));
  g_test_message(
      "preview: %.4f mm rms alone, %.4f mm in %d of %d frames that blend; motion %.2f mm rms",
      1e3 * alone, 1e3 * mixed, count[1], all, 1e3 * moved);
  g_assert_cmpint(count[1], >, 5);
  g_assert_cmpfloat(alone, <, 0.01 * moved);
  g_assert_cmpfloat(mixed, <, 0.1 * moved);
  g_free(shapes[0]);
  g_free(shapes[1]);
  pla_line_free(line);
  pla_physeme_bank_free(bank);
  pla_phones_clear(&phones);
  pla_phones_clear(&said);
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
  bar_clear(&bar);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/claims/30-affine-frames", test_affine_frames);
  g_test_add_func("/claims/29-steps", test_steps);
  g_test_add_func("/claims/32-gross-errors", test_gross_errors);
  g_test_add_func("/claims/33-golden-section", test_golden_section);
  g_test_add_func("/claims/34-derivative-cost", test_derivative_cost);
  g_test_add_func("/claims/37-interpolation", test_interpolation);
  g_test_add_func("/claims/41-preview", test_preview);
  return g_test_run();
}

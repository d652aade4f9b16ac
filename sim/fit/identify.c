/* Strengths and stiffness from known activations. */
#include "sim/fit/identify.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/frame.h"
#include "sim/fit/median.h"

#include <assert.h>
#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 12 };
static const double settled = 1e-4; /* change of an unknown that ends the iterations */

typedef struct {
  PlaFitProblem problem;
  const PlaIdentifyOptions *what;
  const double *control;
  size_t n_muscles, n_strengths,
      n;                   /* of what is sought: strengths, then the logarithm of the stiffness */
  double *h, *g;           /* of what is sought (n x n, n) */
  double *pose_h, *pose_g; /* of one pose's columns */
  double *eff;             /* n_controls */
  double *noise;           /* n_frames */
} Poses;

/* the derivative of unknown @i in a pose is @scale times that column of the pose */
static size_t
column_of(const Poses *self, size_t i, const double *a, double *scale)
{
  const bool muscle = i < self->n_strengths;
  *scale = muscle ? a[i] : 1.0;
  return muscle ? i : (size_t)pla_active_n_controls(self->problem.model);
}

/* the misfit of all poses about @strength, quadratic; and the noise that is seen */
static PlaStatus
gather(Poses *self, PlaFitFrame *frame, const double *strength, double noise_m, double *rms_m,
       PlaError *err)
{
  const PlaFitProblem *p = &self->problem;
  const size_t nc = (size_t)pla_active_n_controls(p->model), n = self->n;
  const size_t width = nc + (p->flesh ? 1 : 0);
  double sum = 0.0;
  size_t count = 0;
  PlaStatus st = PLA_OK;
  memset(self->h, 0, n * n * sizeof *self->h);
  memset(self->g, 0, n * sizeof *self->g);
  for (int f = 0; f < p->take->n_frames && st == PLA_OK; f++) {
    const double *a = self->control + (size_t)f * nc;
    for (size_t c = 0; c < nc; c++)
      self->eff[c] = c < self->n_muscles ? strength[c] * a[c] : a[c];
    if (f == 0)
      st = pla_fit_frame_place_head(frame, f, true, err);
    if (st == PLA_OK)
      st = pla_fit_frame_move(frame, f, self->eff, err);
    /* heads differ from pose to pose: once more from scratch, with the shape that belongs to it */
    if (st == PLA_OK)
      st = pla_fit_frame_place_head(frame, f, true, err);
    if (st == PLA_OK)
      st = pla_fit_frame_reduce(frame, f, noise_m, true, self->pose_h, self->pose_g, err);
    self->noise[f] = frame->noise_m;
    for (int i = 0; st == PLA_OK && i < p->take->n_markers; i++)
      if (frame->weight[i] > 0.25) {
        sum += pla_vec3_dot(frame->residual + 3 * (size_t)i, frame->residual + 3 * (size_t)i);
        count++;
      }
    for (size_t i = 0; st == PLA_OK && i < n; i++) {
      double si, sj;
      const size_t row = column_of(self, i, a, &si);
      self->g[i] -= si * self->pose_g[row];
      for (size_t j = 0; j < n; j++) {
        const size_t column = column_of(self, j, a, &sj);
        self->h[i * n + j] += si * sj * self->pose_h[row * width + column];
      }
    }
  }
  *rms_m = count ? sqrt(sum / (double)count) : 0.0;
  return st;
}

/* one step within 0..most, strengths held to 1 where nothing else holds them */
static PlaStatus
improve(Poses *self, double prior, double *strength, double *stiffness, double *change,
        PlaError *err)
{
  const size_t n = self->n;
  const double most = self->what->most, weak = 1e-6; /* hold on a stiffness that nothing shows */
  double *lo = pla_array_new(3 * n, sizeof *lo), *hi = lo ? lo + n : NULL;
  double *step = lo ? hi + n : NULL;
  PlaBoxReport box;
  if (!lo)
    return pla_fail_memory(err, "the strengths");
  for (size_t i = 0; i < n; i++) {
    const bool muscle = i < self->n_strengths;
    const double now = muscle ? strength[i] : log(*stiffness);
    const double hold = muscle ? 1.0 / (prior * prior) : weak;
    self->h[i * n + i] += hold;
    self->g[i] += hold * (muscle ? now - 1.0 : now);
    lo[i] = (muscle ? 0.0 : -log(most)) - now;
    hi[i] = (muscle ? most : log(most)) - now;
    step[i] = 0.0;
  }
  PlaStatus st = pla_box_qp((int)n, self->h, self->g, lo, hi, step, &box, err);
  *change = 0.0;
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    if (i < self->n_strengths)
      strength[i] = fmin(fmax(strength[i] + step[i], 0.0), most);
    else
      *stiffness = fmin(fmax(*stiffness * exp(step[i]), 1.0 / most), most);
    *change = fmax(*change, fabs(step[i]));
  }
  free(lo);
  return st;
}

/* of the matrix of the last step, prior included */
static void
expect_errors(const Poses *self, double *deviation, PlaIdentifyReport *report)
{
  int n = (int)self->n, info = 0;
  pla_blas_single_thread();
  LAPACK_dpotrf("L", &n, self->h, &n, &info);
  if (info == 0)
    LAPACK_dpotri("L", &n, self->h, &n, &info);
  for (size_t i = 0; i < self->n; i++) {
    const double error = info == 0 ? sqrt(self->h[i * self->n + i]) : INFINITY;
    if (i >= self->n_strengths)
      report->stiffness_deviation = error;
    else if (deviation)
      deviation[i] = error;
  }
}

/* all poses about what is known so far: with flesh of its own where the stiffness is sought */
static PlaStatus
gather_at(Poses *self, const double *strength, PlaIdentifyReport *report, PlaError *err)
{
  const PlaActiveModel *given = self->problem.model;
  PlaActiveModel *own = NULL;
  PlaFitFrame frame = { 0 };
  PlaStatus st = PLA_OK;
  if (self->what->stiffness)
    st = self->what->make(report->stiffness, self->what->data, &own, err);
  if (own)
    self->problem.model = own;
  if (st == PLA_OK)
    st = pla_fit_frame_init(&frame, &self->problem, err);
  if (st == PLA_OK)
    st = gather(self, &frame, strength, report->noise_m, &report->rms_m, err);
  pla_fit_frame_clear(&frame);
  self->problem.model = given;
  pla_active_model_free(own);
  return st;
}

PlaStatus
pla_fit_identify(const PlaActiveModel *model, const PlaMarkerSite *const *site, const PlaTake *take,
                 const double *control, const PlaFitOptions *opts, const PlaIdentifyOptions *what,
                 double *strength, double *deviation, PlaIdentifyReport *report, PlaError *err)
{
  const size_t nc = (size_t)pla_active_n_controls(model), nf = (size_t)take->n_frames;
  Poses self = { .problem = { .model = model,
                              .site = site,
                              .take = take,
                              .opts = opts,
                              .least_noise_m = fmax(1e-6, opts->tolerance_m),
                              .flesh = what->stiffness },
                 .what = what,
                 .control = control,
                 .n_muscles = (size_t)pla_active_n_muscles(model) };
  assert(what->strengths || what->stiffness);
  self.n_strengths = what->strengths ? self.n_muscles : 0;
  self.n = self.n_strengths + (what->stiffness ? 1 : 0);
  self.h = pla_array_new(self.n * self.n, sizeof *self.h);
  self.g = pla_array_new(self.n, sizeof *self.g);
  self.pose_h = pla_array_new((nc + 1) * (nc + 1), sizeof *self.pose_h);
  self.pose_g = pla_array_new(nc + 1, sizeof *self.pose_g);
  self.eff = pla_array_new(nc, sizeof *self.eff);
  self.noise = pla_array_new0(nf, sizeof *self.noise);
  *report = (PlaIdentifyReport){ .noise_m = opts->noise_m > 0.0 ? opts->noise_m : 1e-3,
                                 .stiffness = 1.0 };
  if (deviation)
    memset(deviation, 0, self.n_muscles * sizeof *deviation);
  PlaStatus st = self.h && self.g && self.pose_h && self.pose_g && self.eff && self.noise
                     ? PLA_OK
                     : pla_fail_memory(err, "the strengths");
  if (st == PLA_OK && take->n_frames < 1)
    st = pla_fail(err, PLA_ERR_EMPTY, "there is no pose to identify the body from");
  double change = INFINITY;
  while (st == PLA_OK && change > settled && report->iterations < MAX_ITERATIONS) {
    if (!pla_progress_step(opts->progress, report->iterations / (double)MAX_ITERATIONS))
      st = pla_fail_cancelled(err);
    if (st == PLA_OK)
      st = gather_at(&self, strength, report, err);
    if (st == PLA_OK && !(opts->noise_m > 0.0))
      report->noise_m = pla_median(self.noise, nf);
    if (st == PLA_OK)
      st = improve(&self, opts->prior, strength, &report->stiffness, &change, err);
    report->iterations++;
  }
  if (st == PLA_OK)
    expect_errors(&self, deviation, report);
  free(self.h);
  free(self.g);
  free(self.pose_h);
  free(self.pose_g);
  free(self.eff);
  free(self.noise);
  return st;
}

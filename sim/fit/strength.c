/* Strengths from known activations. */
#include "sim/fit/strength.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/frame.h"
#include "sim/fit/median.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATIONS = 12 };
static const double settled = 1e-4; /* change of a strength that ends the iterations */

typedef struct {
  PlaFitProblem problem;
  const double *control;
  double *h, *g;          /* of strengths (n x n, n) */
  double *pose_h, *pose_g; /* of one pose's controls */
  double *eff;            /* n_controls */
  double *noise;          /* n_frames */
} Poses;

/* the misfit of all poses about @strength, quadratic; and the noise that is seen */
static PlaStatus
gather(Poses *self, PlaFitFrame *frame, const double *strength, double noise_m, double *rms_m,
       PlaError *err)
{
  const PlaFitProblem *p = &self->problem;
  const size_t nc = (size_t)pla_active_n_controls(p->model);
  const size_t n = (size_t)pla_active_n_muscles(p->model);
  double sum = 0.0;
  size_t count = 0;
  PlaStatus st = PLA_OK;
  memset(self->h, 0, n * n * sizeof *self->h);
  memset(self->g, 0, n * sizeof *self->g);
  for (int f = 0; f < p->take->n_frames && st == PLA_OK; f++) {
    const double *a = self->control + (size_t)f * nc;
    for (size_t c = 0; c < nc; c++)
      self->eff[c] = c < n ? strength[c] * a[c] : a[c];
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
      self->g[i] -= a[i] * self->pose_g[i];
      for (size_t j = 0; j < n; j++)
        self->h[i * n + j] += a[i] * a[j] * self->pose_h[i * nc + j];
    }
  }
  *rms_m = count ? sqrt(sum / (double)count) : 0.0;
  return st;
}

/* one step within 0..most, held to 1 where nothing else holds it */
static PlaStatus
improve(Poses *self, double prior, double most, double *strength, double *change, PlaError *err)
{
  const int n = pla_active_n_muscles(self->problem.model);
  double *lo = pla_array_new(3 * (size_t)n, sizeof *lo), *hi = lo ? lo + n : NULL;
  double *step = lo ? hi + n : NULL;
  PlaBoxReport box;
  if (!lo)
    return pla_fail_memory(err, "the strengths");
  for (int i = 0; i < n; i++) {
    self->h[(size_t)i * (size_t)n + (size_t)i] += 1.0 / (prior * prior);
    self->g[i] += (strength[i] - 1.0) / (prior * prior);
    lo[i] = -strength[i];
    hi[i] = most - strength[i];
    step[i] = 0.0;
  }
  PlaStatus st = pla_box_qp(n, self->h, self->g, lo, hi, step, &box, err);
  *change = 0.0;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    strength[i] = fmin(fmax(strength[i] + step[i], 0.0), most);
    *change = fmax(*change, fabs(step[i]));
  }
  free(lo);
  return st;
}

static void
expect_errors(const Poses *self, double *deviation)
{
  int n = pla_active_n_muscles(self->problem.model), info = 0;
  /* of the matrix of the last step, prior included */
  LAPACK_dpotrf("L", &n, self->h, &n, &info);
  if (info == 0)
    LAPACK_dpotri("L", &n, self->h, &n, &info);
  for (int i = 0; i < n; i++)
    deviation[i] = info == 0 ? sqrt(self->h[(size_t)i * (size_t)n + (size_t)i]) : INFINITY;
}

PlaStatus
pla_fit_strengths(const PlaActiveModel *model, const PlaMarkerSite *const *site,
                  const PlaTake *take, const double *control, const PlaFitOptions *opts,
                  double most, double *strength, double *deviation, PlaStrengthReport *report,
                  PlaError *err)
{
  const size_t nc = (size_t)pla_active_n_controls(model), n = (size_t)pla_active_n_muscles(model);
  const size_t nf = (size_t)take->n_frames;
  Poses self = { .problem = { .model = model, .site = site, .take = take, .opts = opts,
                              .least_noise_m = fmax(1e-6, opts->tolerance_m) },
                 .control = control };
  PlaFitFrame frame = { 0 };
  self.h = pla_array_new(n * n, sizeof *self.h);
  self.g = pla_array_new(n, sizeof *self.g);
  self.pose_h = pla_array_new(nc * nc, sizeof *self.pose_h);
  self.pose_g = pla_array_new(nc, sizeof *self.pose_g);
  self.eff = pla_array_new(nc, sizeof *self.eff);
  self.noise = pla_array_new0(nf, sizeof *self.noise);
  *report = (PlaStrengthReport){ .noise_m = opts->noise_m > 0.0 ? opts->noise_m : 1e-3 };
  PlaStatus st = self.h && self.g && self.pose_h && self.pose_g && self.eff && self.noise
                     ? PLA_OK
                     : pla_fail_memory(err, "the strengths");
  if (st == PLA_OK && take->n_frames < 1)
    st = pla_fail(err, PLA_ERR_EMPTY, "there is no pose to learn strengths from");
  if (st == PLA_OK)
    st = pla_fit_frame_init(&frame, &self.problem, err);
  double change = INFINITY;
  while (st == PLA_OK && change > settled && report->iterations < MAX_ITERATIONS) {
    st = gather(&self, &frame, strength, report->noise_m, &report->rms_m, err);
    if (st == PLA_OK && !(opts->noise_m > 0.0))
      report->noise_m = pla_median(self.noise, nf);
    if (st == PLA_OK)
      st = improve(&self, opts->prior, most, strength, &change, err);
    report->iterations++;
  }
  if (st == PLA_OK && deviation)
    expect_errors(&self, deviation);
  pla_fit_frame_clear(&frame);
  free(self.h);
  free(self.g);
  free(self.pose_h);
  free(self.pose_g);
  free(self.eff);
  free(self.noise);
  return st;
}

/* Fits whole takes: passes over chunks of frames, estimate of the noise, joint smoothing over time,
 * posterior deviation of each control, summary. */
#include "sim/fit/fit.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/fit/box-qp.h"
#include "sim/fit/fit-smooth.h"
#include "sim/fit/frame.h"
#include "sim/fit/median.h"

#include <lapack.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ITERATIONS = 15 }; /* from rest */

/* held-out markers farther off are errors of the data; and what is left of markers on the whole
 * that no shape of the body explains */
static const double gross_m = 5e-3, unexplained_m = 1.5e-3;

PlaFitOptions
pla_fit_options_default(void)
{
  return (PlaFitOptions){ .jaw = true,
                          .prior = 1.0,
                          .acceleration = 100.0,
                          .outlier = 4.0,
                          .max_iterations = 5,
                          .rounds = 2,
                          .chunk = 32,
                          .tolerance_m = 1e-6,
                          .identifiable = 0.05 };
}

void
pla_fit_result_clear(PlaFitResult *self)
{
  free(self->control);
  free(self->head);
  free(self->residual);
  free(self->weight);
  free(self->deviation);
  free(self->seen);
  free(self->effect_m);
  free(self->singular);
  pla_notes_clear(&self->notes);
  *self = (PlaFitResult){ 0 };
}

typedef struct {
  PlaFitProblem problem;
  PlaFitResult *out;
  int n_chunks, n_done;
  double noise_m;
  double *h, *g; /* reduced normal equations of all frames */
  PlaError err;
  PlaStatus status;
} Take;

static void
store_frame(const Take *self, const PlaFitFrame *frame, int f)
{
  PlaFitResult *out = self->out;
  const size_t nc = (size_t)out->n_controls, nm = (size_t)out->n_markers, at = (size_t)f;
  memcpy(out->control + at * nc, frame->state.control, nc * sizeof *out->control);
  memcpy(out->head + 12 * at, frame->head.rotation, 9 * sizeof *out->head);
  memcpy(out->head + 12 * at + 9, frame->head.shift, 3 * sizeof *out->head);
  memcpy(out->residual + 3 * at * nm, frame->residual, 3 * nm * sizeof *out->residual);
  memcpy(out->weight + at * nm, frame->weight, nm * sizeof *out->weight);
}

typedef enum { TRACK, RELAX, SHOW } Pass;

/* One pass over the frames of chunk @c: tracking; or, at controls that are known, derivatives
 * (RELAX) or only residuals (SHOW). */
static PlaStatus
run_chunk(Take *self, PlaFitFrame *frame, int c, Pass pass, PlaError *err)
{
  const PlaFitProblem *p = &self->problem;
  const PlaFitOptions *opts = p->opts;
  const size_t nc = (size_t)self->out->n_controls;
  const int from = c * opts->chunk;
  const int end = from + opts->chunk < p->take->n_frames ? from + opts->chunk : p->take->n_frames;
  PlaStatus st = PLA_OK;
  bool placed = false;
  for (int f = from; f < end && st == PLA_OK; f++) {
    if (pla_progress_cancelled(opts->progress))
      return pla_fail_cancelled(err);
    if (pass == TRACK) {
      int n = pla_fit_frame_look(frame, f, 0.0);
      if (!placed && n >= 4)
        st = pla_fit_frame_place_head(frame, opts->head == PLA_HEAD_FIXED ? opts->rest_frame : f,
                                      true, err);
      if (st == PLA_OK && n >= 4)
        st = pla_fit_frame_track(frame, f, placed ? opts->max_iterations : FIRST_ITERATIONS, err);
      placed |= n >= 4;
    } else {
      memcpy(frame->head.rotation, self->out->head + 12 * (size_t)f, 9 * sizeof(double));
      memcpy(frame->head.shift, self->out->head + 12 * (size_t)f + 9, 3 * sizeof(double));
      st = pla_fit_frame_move(frame, f, self->out->control + (size_t)f * nc, err);
    }
    if (st == PLA_OK && pass == RELAX)
      st = pla_fit_frame_reduce(frame, f, self->noise_m, true, self->h + (size_t)f * nc * nc,
                                self->g + (size_t)f * nc, err);
    if (st == PLA_OK && pass != TRACK)
      pla_fit_frame_look(frame, f, self->noise_m);
    if (st == PLA_OK)
      store_frame(self, frame, f);
#pragma omp atomic
    self->n_done++;
    if (omp_get_thread_num() == 0)
      pla_progress_step(opts->progress, (double)self->n_done / p->take->n_frames);
  }
  return st;
}

/* all chunks, on as many threads as there are; each begins from rest, so that the result is the
 * same for any number */
static PlaStatus
run_pass(Take *self, Pass pass, PlaError *err)
{
  const int threads = pla_threads_get();
  const bool side_by_side = self->n_chunks >= threads && threads > 1;
  PlaStatus status = PLA_OK;
  int iterations = 0, factorisations = 0;
  double *seconds = pla_array_new0(2 * (size_t)self->n_chunks, sizeof *seconds);
  if (!seconds)
    return pla_fail_memory(err, "the fit");
  self->n_done = 0;
#pragma omp parallel for schedule(dynamic, 1) if (side_by_side)
  for (int c = 0; c < self->n_chunks; c++) {
    PlaFitFrame frame;
    PlaError own = { 0 };
    PlaStatus st, so_far;
#pragma omp atomic read
    so_far = status;
    if (so_far != PLA_OK)
      continue;
    st = pla_fit_frame_init(&frame, &self->problem, &own);
    if (st == PLA_OK)
      st = run_chunk(self, &frame, c, pass, &own);
#pragma omp critical(pla_fit_pass)
    {
      if (st != PLA_OK && status == PLA_OK) {
        status = st;
        if (err)
          *err = own;
      }
      iterations += frame.iterations;
      factorisations += frame.factorisations;
    }
    seconds[2 * (size_t)c] = frame.seconds_sensitivity;
    seconds[2 * (size_t)c + 1] = frame.seconds_equilibrium;
    pla_fit_frame_clear(&frame);
  }
  for (int c = 0; c < self->n_chunks; c++) {
    self->out->seconds_sensitivity += seconds[2 * (size_t)c];
    self->out->seconds_equilibrium += seconds[2 * (size_t)c + 1];
  }
  free(seconds);
  self->out->iterations += iterations;
  self->out->factorisations += factorisations;
  return status;
}

/* the noise of one axis of a marker, from the residuals of all frames: robust, and allowing for the
 * unknowns that took part of it away */
static PlaStatus
estimate_noise(Take *self, PlaError *err)
{
  const PlaFitResult *out = self->out;
  const PlaFitOptions *opts = self->problem.opts;
  const size_t n_all = (size_t)out->n_frames * (size_t)out->n_markers;
  if (opts->noise_m > 0.0) {
    self->noise_m = opts->noise_m;
    return PLA_OK;
  }
  double *size = pla_array_new(3 * n_all, sizeof *size);
  if (!size)
    return pla_fail_memory(err, "the fit");
  size_t n = 0;
  for (size_t k = 0; k < n_all; k++)
    for (size_t d = 0; d < 3; d++)
      if (out->weight[k] > 0.0 && isfinite(out->residual[3 * k + d]))
        size[n++] = fabs(out->residual[3 * k + d]);
  const double per_frame = (double)n / (double)out->n_frames;
  const double unknowns = fmin(0.75 * per_frame, out->n_controls + 6.0);
  const double lost = per_frame > 0.0 ? sqrt(1.0 - unknowns / per_frame) : 1.0;
  self->noise_m =
      fmax(self->problem.least_noise_m, n ? pla_median(size, n) / 0.6745 / fmax(lost, 0.3) : 0.0);
  free(size);
  return PLA_OK;
}

/* how strongly curves are held straight, and controls at 0 */
static void
penalties(const Take *self, double *prior, double *bend)
{
  const PlaFitProblem *p = &self->problem;
  const double rate = p->take->rate_hz > 0.0 ? p->take->rate_hz : 60.0;
  for (int c = 0; c < self->out->n_controls; c++) {
    const double range = p->hi[c] > p->lo[c] ? p->hi[c] - p->lo[c] : 1.0;
    const double per_frame = p->opts->acceleration * range / (rate * rate);
    prior[c] = 1.0 / (p->opts->prior * p->opts->prior * range * range);
    if (c >= self->out->n_muscles)
      prior[c] *= 1e-2; /* nothing pulls the jaw to its place */
    bend[c] = per_frame > 0.0 ? 1.0 / (per_frame * per_frame) : 0.0;
  }
}

/* expected errors: of each frame alone by the inverse of its normal equations, then less what
 * smoothing takes away; and the singular values of the mean */
static PlaStatus
identify(Take *self, const double *prior, const double *bend, PlaError *err)
{
  PlaFitResult *out = self->out;
  const PlaFitProblem *p = &self->problem;
  const int nc = out->n_controls;
  const size_t n = (size_t)nc;
  double *mean = pla_array_new0(n * n, sizeof *mean),
         *inverse = pla_array_new(n * n, sizeof *inverse);
  double *variance = pla_array_new0(n, sizeof *variance),
         *work = pla_array_new(4 * n, sizeof *work);
  int n_frames = 0, info = 0, n_work = 4 * nc;
  PlaStatus st = mean && inverse && variance && work ? PLA_OK : pla_fail_memory(err, "the fit");
  for (int f = 0; st == PLA_OK && f < out->n_frames; f++) {
    const double *h = self->h + (size_t)f * n * n;
    double trace = 0.0;
    for (size_t i = 0; i < n; i++)
      trace += h[i * n + i];
    if (!(trace > 0.0))
      continue;
    memcpy(inverse, h, n * n * sizeof *inverse);
    for (size_t i = 0; i < n; i++)
      inverse[i * n + i] += prior[i];
    for (size_t i = 0; i < n * n; i++)
      mean[i] += h[i];
    pla_blas_single_thread();
    LAPACK_dpotrf("L", &nc, inverse, &nc, &info);
    if (info == 0)
      LAPACK_dpotri("L", &nc, inverse, &nc, &info);
    for (size_t i = 0; i < n; i++)
      variance[i] += info == 0 ? inverse[i * n + i] : 1.0 / prior[i];
    n_frames++;
  }
  for (size_t i = 0; st == PLA_OK && i < n; i++) {
    const double range = p->hi[i] > p->lo[i] ? p->hi[i] - p->lo[i] : 1.0;
    const double alone = n_frames ? sqrt(variance[i] / n_frames) : 1.0 / sqrt(prior[i]);
    const double bends = bend[i] > 0.0 ? 1.0 / sqrt(bend[i]) : 0.0;
    /* what markers do not see at all, smoothing does not show either */
    out->deviation[i] = alone / range > 0.5 ? alone : alone * pla_fit_smooth_gain(alone, bends);
    out->seen[i] = out->deviation[i] <= p->opts->identifiable * range;
    out->effect_m[i] = 0.0;
  }
  /* controls over their ranges */
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    for (size_t j = 0; j < n; j++)
      mean[i * n + j] *= (p->hi[i] - p->lo[i]) * (p->hi[j] - p->lo[j]) / (n_frames ? n_frames : 1);
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    out->effect_m[i] =
        self->noise_m * sqrt(fmax(0.0, mean[i * n + i]) / (out->n_markers ? out->n_markers : 1));
  if (st == PLA_OK) {
    LAPACK_dsyev("N", "L", &nc, mean, &nc, out->singular, work, &n_work, &info);
    for (size_t i = 0; i < n / 2; i++) {
      const double swap = out->singular[i];
      out->singular[i] = out->singular[n - 1 - i];
      out->singular[n - 1 - i] = swap;
    }
    for (size_t i = 0; i < n; i++)
      out->singular[i] = sqrt(fmax(0.0, out->singular[i]));
    out->n_singular = nc;
    out->condition =
        n && out->singular[n - 1] > 0.0 ? out->singular[0] / out->singular[n - 1] : INFINITY;
  }
  free(mean);
  free(inverse);
  free(variance);
  free(work);
  return st;
}

/* where the markers ask for what the body cannot do, in words */
static void
explain(Take *self)
{
  PlaFitResult *out = self->out;
  const PlaFitProblem *p = &self->problem;
  const double *c = out->control + (size_t)out->worst_frame * (size_t)out->n_controls;
  char limits[160] = "";
  int n_limits = 0;
  /* noise alone varies from frame to frame by a few percent; its estimate has a share of what
   * cannot be made */
  if (out->worst_frame_rms_m < fmax(unexplained_m, 2.0 * sqrt(3.0) * out->noise_m) &&
      out->worst_frame_rms_m < 2.0 * unexplained_m)
    return;
  for (int m = 0; m < out->n_muscles; m++)
    if (c[m] > 0.999 && n_limits++ < 2) {
      const size_t at = strlen(limits);
      snprintf(limits + at, sizeof limits - at, "%s%s", at ? ", " : "",
               pla_active_muscle_name(p->model, m));
    }
  pla_notes_add(&out->notes,
                "in frame %d the muscles leave %.1f mm rms of the motion unexplained%s%s%s",
                out->worst_frame + 1, 1000.0 * out->worst_frame_rms_m,
                n_limits ? "; at their limit are " : "", limits, n_limits > 2 ? " and others" : "");
}

static void
summarise(Take *self)
{
  PlaFitResult *out = self->out;
  const PlaFitProblem *p = &self->problem;
  const size_t nm = (size_t)out->n_markers;
  double sum = 0.0, held = 0.0;
  size_t n = 0, n_held = 0;
  out->noise_m = self->noise_m;
  for (int f = 0; f < out->n_frames; f++) {
    double frame_sum = 0.0;
    int frame_n = 0;
    for (size_t i = 0; i < nm; i++) {
      const double *r = out->residual + 3 * ((size_t)f * nm + i), d2 = pla_vec3_dot(r, r);
      const double w = out->weight[(size_t)f * nm + i];
      if (!isfinite(d2))
        continue;
      if (p->opts->held_out && p->opts->held_out[i]) {
        /* gross errors of the data are none of the prediction */
        if (sqrt(d2) > fmax(gross_m, 6.0 * sqrt(3.0) * self->noise_m))
          continue;
        held += d2;
        n_held += 3;
        continue;
      }
      if (w < 0.25) {
        out->n_outliers++;
        continue;
      }
      sum += d2;
      frame_sum += d2;
      n++;
      frame_n++;
      out->max_m = fmax(out->max_m, sqrt(d2));
    }
    const double rms = frame_n ? sqrt(frame_sum / frame_n) : 0.0;
    if (rms > out->worst_frame_rms_m) {
      out->worst_frame_rms_m = rms;
      out->worst_frame = f;
    }
  }
  out->rms_m = n ? sqrt(sum / (double)n) : 0.0;
  explain(self);
  out->held_out_rms_m = n_held ? sqrt(held / (double)n_held) : NAN;
}

static bool
result_init(PlaFitResult *out, const PlaActiveModel *model, const PlaTake *take)
{
  *out = (PlaFitResult){ .n_frames = take->n_frames,
                         .n_markers = take->n_markers,
                         .n_controls = pla_active_n_controls(model),
                         .n_muscles = pla_active_n_muscles(model) };
  const size_t nf = (size_t)out->n_frames, nm = (size_t)out->n_markers,
               nc = (size_t)out->n_controls;
  out->control = pla_array_new0(nf * nc, sizeof *out->control);
  out->head = pla_array_new0(nf, 12 * sizeof *out->head);
  out->residual = pla_array_new0(nf * nm, 3 * sizeof *out->residual);
  out->weight = pla_array_new0(nf * nm, sizeof *out->weight);
  out->deviation = pla_array_new0(nc, sizeof *out->deviation);
  out->seen = pla_array_new0(nc, 1);
  out->effect_m = pla_array_new0(nc, sizeof *out->effect_m);
  out->singular = pla_array_new0(nc, sizeof *out->singular);
  return out->control && out->head && out->residual && out->weight && out->deviation && out->seen &&
         out->effect_m && out->singular;
}

/* that there is something to fit */
static PlaStatus
check(const PlaFitProblem *p, PlaError *err)
{
  int n_used = 0;
  for (int i = 0; i < p->take->n_markers; i++)
    n_used += p->site[i] && !(p->opts->held_out && p->opts->held_out[i]);
  if (p->take->n_frames < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "the take has no frames");
  if (n_used < 4)
    return pla_fail(err, PLA_ERR_USAGE,
                    "only %d markers of the take have a site on the body; at least 4 are needed",
                    n_used);
  return PLA_OK;
}

PlaStatus
pla_fit_take(const PlaActiveModel *model, const PlaMarkerSite *const *site, const PlaTake *take,
             const PlaFitOptions *opts, PlaFitResult *out, PlaError *err)
{
  Take self = { .problem = { .model = model,
                             .site = site,
                             .take = take,
                             .opts = opts,
                             .least_noise_m = fmax(1e-6, opts->tolerance_m) },
                .out = out };
  const size_t nc = (size_t)pla_active_n_controls(model), nf = (size_t)take->n_frames;
  double *prior = pla_array_new(nc, sizeof *prior), *bend = pla_array_new(nc, sizeof *bend);
  self.problem.lo = pla_array_new(nc, sizeof *self.problem.lo);
  self.problem.hi = pla_array_new(nc, sizeof *self.problem.hi);
  self.h = pla_array_new0(nf * nc * nc, sizeof *self.h);
  self.g = pla_array_new0(nf * nc, sizeof *self.g);
  self.n_chunks = (take->n_frames + opts->chunk - 1) / opts->chunk;
  PlaStatus st = result_init(out, model, take) && prior && bend && self.problem.lo &&
                         self.problem.hi && self.h && self.g
                     ? check(&self.problem, err)
                     : pla_fail_memory(err, "the fit");
  if (st == PLA_OK) {
    pla_active_limits(model, self.problem.lo, self.problem.hi);
    for (size_t c = (size_t)pla_active_n_muscles(model); !opts->jaw && c < nc; c++)
      self.problem.hi[c] = self.problem.lo[c];
    penalties(&self, prior, bend);
    pla_progress_phase(opts->progress, "Tracking the markers", opts->rounds > 0 ? 0.4 : 0.95);
    st = run_pass(&self, TRACK, err);
  }
  for (int r = 0; st == PLA_OK && r <= opts->rounds; r++) {
    st = estimate_noise(&self, err);
    if (st == PLA_OK && r < opts->rounds)
      pla_progress_phase(opts->progress, "Fitting all frames together",
                         0.4 + 0.5 * (r + 1) / opts->rounds);
    if (st == PLA_OK && (r < opts->rounds || opts->rounds == 0))
      st = run_pass(&self, RELAX, err);
    if (st == PLA_OK && r < opts->rounds) {
      const PlaSmoothProblem problem = { .n_frames = take->n_frames,
                                         .n = (int)nc,
                                         .h = self.h,
                                         .g = self.g,
                                         .prior = prior,
                                         .bend = bend,
                                         .lo = self.problem.lo,
                                         .hi = self.problem.hi };
      st = pla_fit_smooth(&problem, out->control, NULL, err);
    }
  }
  pla_progress_phase(opts->progress, "Measuring what is left", 1.0);
  if (st == PLA_OK && opts->rounds > 0)
    st = run_pass(&self, SHOW, err);
  if (st == PLA_OK)
    st = identify(&self, prior, bend, err);
  if (st == PLA_OK)
    summarise(&self);
  else
    pla_fit_result_clear(out);
  free(prior);
  free(bend);
  free(self.problem.lo);
  free(self.problem.hi);
  free(self.h);
  free(self.g);
  return st;
}

/* Activation tracks: conversion to and from tracks of files, random tracks, running a body through
 * them, synthetic takes with noise and gaps, and the fit of a take. */
#include "app/motion/activation.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/registration/registration.h"
#include "app/base/quantity.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREES (180.0 / M_PI)

static const char *const jaw_names[PLA_JAW_DOFS] = { "jaw opening", "jaw slide right",
                                                     "jaw slide left" };
static const PlaUnit jaw_units[PLA_JAW_DOFS] = { PLA_UNIT_DEG, PLA_UNIT_MM, PLA_UNIT_MM };
const char *const pla_head_channels[PLA_HEAD_CHANNELS] = { "head rx", "head ry", "head rz",
                                                           "head tx", "head ty", "head tz" };

PlaStatus
pla_activation_init(PlaActivation *self, const PlaActiveModel *model, int n_frames, double rate_hz,
                    PlaError *err)
{
  const size_t nf = (size_t)n_frames;
  *self = (PlaActivation){ .n_frames = n_frames,
                           .n_controls = pla_active_n_controls(model),
                           .rate_hz = rate_hz };
  self->control = pla_array_new0(nf * (size_t)self->n_controls, sizeof *self->control);
  self->head = pla_array_new0(nf, 12 * sizeof *self->head);
  if (!self->control || !self->head) {
    pla_activation_clear(self);
    return pla_fail_memory(err, "the track");
  }
  for (size_t f = 0; f < nf; f++)
    pla_mat3_identity(self->head + 12 * f);
  return PLA_OK;
}

void
pla_activation_clear(PlaActivation *self)
{
  free(self->control);
  free(self->head);
  *self = (PlaActivation){ 0 };
}

/* the vector along the axis of a rotation, as long as its angle */
static void
rotation_vector(const double r[9], double out[3])
{
  const double skew[3] = { 0.5 * (r[7] - r[5]), 0.5 * (r[2] - r[6]), 0.5 * (r[3] - r[1]) };
  const double sine = pla_vec3_norm(skew), cosine = 0.5 * (r[0] + r[4] + r[8] - 1.0);
  const double angle = atan2(sine, cosine);
  if (sine > 1e-8 || cosine > 0.0) {
    for (int d = 0; d < 3; d++)
      out[d] = sine > 1e-12 ? skew[d] * angle / sine : skew[d];
    return;
  }
  /* half a turn: the axis is the largest column of R + 1 */
  int most = 0;
  for (int d = 1; d < 3; d++)
    most = r[4 * d] > r[4 * most] ? d : most;
  double axis[3];
  for (int d = 0; d < 3; d++)
    axis[d] = r[3 * d + most] + (d == most);
  const double length = pla_vec3_norm(axis);
  for (int d = 0; d < 3; d++)
    out[d] = axis[d] / length * angle;
}

/* unit of control @c in files over that inside */
static double
control_scale(const PlaActiveModel *model, int c)
{
  const int q = c - pla_active_n_muscles(model);
  return q < 0 ? 1.0 : q == PLA_JAW_OPENING ? DEGREES : 1000.0;
}

double
pla_activation_range(const PlaActiveModel *model, int c)
{
  const size_t n = (size_t)pla_active_n_controls(model);
  g_autofree double *lo = g_new(double, n), *hi = g_new(double, n);
  pla_active_limits(model, lo, hi);
  return (hi[c] - lo[c]) * control_scale(model, c);
}

static const char *
control_name(const PlaActiveModel *model, int c)
{
  const int q = c - pla_active_n_muscles(model);
  return q < 0 ? pla_active_muscle_name(model, c) : jaw_names[q];
}

PlaStatus
pla_activation_to_track(const PlaActivation *self, const PlaActiveModel *model, PlaTrack **out,
                        PlaError *err)
{
  const int nc = self->n_controls, n_muscles = pla_active_n_muscles(model);
  PlaTrack *track = NULL;
  PlaStatus st = pla_track_new(self->n_frames, nc + PLA_HEAD_CHANNELS, &track, err);
  if (st != PLA_OK)
    return st;
  track->rate_hz = self->rate_hz;
  for (int c = 0; c < nc + PLA_HEAD_CHANNELS; c++) {
    const PlaUnit unit = c < n_muscles ? PLA_UNIT_ONE
                         : c < nc      ? jaw_units[c - n_muscles]
                         : c < nc + 3  ? PLA_UNIT_DEG
                                       : PLA_UNIT_MM;
    free(track->name[c]);
    free(track->unit[c]);
    track->name[c] = pla_strdup(c < nc ? control_name(model, c) : pla_head_channels[c - nc]);
    track->unit[c] = pla_strdup(pla_unit_suffix(unit));
    if (!track->name[c] || !track->unit[c])
      st = pla_fail_memory(err, "the track");
  }
  for (int f = 0; st == PLA_OK && f < self->n_frames; f++) {
    double *row = track->value + (size_t)f * (size_t)(nc + PLA_HEAD_CHANNELS);
    const double *head = self->head + 12 * (size_t)f;
    for (int c = 0; c < nc; c++)
      row[c] = self->control[(size_t)f * (size_t)nc + (size_t)c] * control_scale(model, c);
    rotation_vector(head, row + nc);
    for (int d = 0; d < 3; d++) {
      row[nc + d] *= DEGREES;
      row[nc + 3 + d] = 1000.0 * head[9 + d];
    }
  }
  if (st == PLA_OK)
    *out = track;
  else
    pla_track_free(track);
  return st;
}

PlaStatus
pla_activation_from_track(const PlaActiveModel *model, const PlaTrack *track, PlaActivation *out,
                          PlaError *err)
{
  const int nc = pla_active_n_controls(model);
  g_autofree int *control = g_new(int, (size_t)track->n_channels + 1);
  g_autofree double *lo = g_new(double, (size_t)nc + 1), *hi = g_new(double, (size_t)nc + 1);
  *out = (PlaActivation){ 0 };
  pla_active_limits(model, lo, hi);
  for (int k = 0; k < track->n_channels; k++) {
    control[k] = -1;
    for (int c = 0; c < nc + PLA_HEAD_CHANNELS; c++)
      if (g_ascii_strcasecmp(track->name[k],
                             c < nc ? control_name(model, c) : pla_head_channels[c - nc]) == 0)
        control[k] = c;
    if (control[k] < 0)
      return pla_fail(err, PLA_ERR_USAGE, "the body has no muscle '%s'; its names are like '%s'",
                      track->name[k], control_name(model, 0));
  }
  PlaStatus st = pla_activation_init(out, model, track->n_samples, track->rate_hz, err);
  for (int f = 0; st == PLA_OK && f < track->n_samples; f++) {
    double turn[3] = { 0.0 }, *head = out->head + 12 * (size_t)f;
    static const double origin[3] = { 0.0, 0.0, 0.0 };
    for (int k = 0; k < track->n_channels && st == PLA_OK; k++) {
      const int c = control[k];
      const double value = track->value[(size_t)f * (size_t)track->n_channels + (size_t)k];
      if (isnan(value))
        st = pla_fail(err, PLA_ERR_USAGE, "sample %d of '%s' is missing", f + 1, track->name[k]);
      else if (c >= nc + 3)
        head[9 + c - nc - 3] = value / 1000.0;
      else if (c >= nc)
        turn[c - nc] = value / DEGREES;
      else {
        const double inside = value / control_scale(model, c), slack = 1e-9 * (hi[c] - lo[c]);
        if (!(inside >= lo[c] - slack && inside <= hi[c] + slack))
          st = pla_fail(err, PLA_ERR_USAGE, "sample %d of '%s' is %g, and must lie in %g..%g",
                        f + 1, track->name[k], value, lo[c] * control_scale(model, c),
                        hi[c] * control_scale(model, c));
        out->control[(size_t)f * (size_t)nc + (size_t)c] = fmin(fmax(inside, lo[c]), hi[c]);
      }
    }
    memcpy(head, pla_rigid_about(origin, turn, origin).r, 9 * sizeof *head);
  }
  if (st != PLA_OK)
    pla_activation_clear(out);
  return st;
}

PlaStatus
pla_activation_random(const PlaActiveModel *model, int n_frames, double rate_hz, unsigned seed,
                      PlaActivation *out, PlaError *err)
{
  /* a second at most to full contraction and back; a tenth of a second of rest first */
  const int nc = pla_active_n_controls(model), n_muscles = pla_active_n_muscles(model);
  GRand *rand = g_rand_new_with_seed(seed);
  g_autofree double *lo = g_new(double, (size_t)nc + 1), *hi = g_new(double, (size_t)nc + 1);
  PlaStatus st = pla_activation_init(out, model, n_frames, rate_hz, err);
  pla_active_limits(model, lo, hi);
  for (int c = 0; st == PLA_OK && c < nc; c++) {
    const double most = c < n_muscles ? 0.8 : c == n_muscles ? 0.3 : 0.2;
    for (double start = 0.1 + 0.6 * g_rand_double(rand); start < n_frames / rate_hz;) {
      const double length = 0.6 + 0.7 * g_rand_double(rand);
      const double amount = (0.2 + 0.8 * g_rand_double(rand)) * most * hi[c];
      for (int f = 0; f < n_frames; f++) {
        const double t = (f / rate_hz - start) / length;
        if (t > 0.0 && t < 1.0)
          out->control[(size_t)f * (size_t)nc + (size_t)c] =
              amount * 0.5 * (1.0 - cos(2.0 * M_PI * t));
      }
      start += length + 0.5 * g_rand_double(rand);
    }
  }
  double pace[6];
  for (int d = 0; d < 6; d++)
    pace[d] = 2.0 * M_PI * (0.2 + 0.3 * g_rand_double(rand));
  for (int f = 0; st == PLA_OK && f < n_frames; f++) {
    static const double middle[3] = { 0.0, 0.0, -0.1 };
    double turn[3], shift[3];
    for (int d = 0; d < 3; d++) {
      turn[d] = 0.06 * sin(pace[d] * f / rate_hz);
      shift[d] = 0.01 * sin(pace[3 + d] * f / rate_hz);
    }
    const PlaRigid pose = pla_rigid_about(middle, turn, shift);
    memcpy(out->head + 12 * (size_t)f, pose.r, sizeof pose.r);
    memcpy(out->head + 12 * (size_t)f + 9, pose.t_mm, sizeof pose.t_mm);
  }
  g_rand_free(rand);
  return st;
}

PlaStatus
pla_activation_mix(const PlaActiveModel *model, const PlaActivation *a, const PlaActivation *b,
                   double amount, PlaActivation *out, PlaError *err)
{
  const int n = a->n_frames < b->n_frames ? a->n_frames : b->n_frames;
  const size_t nc = (size_t)a->n_controls;
  g_autofree double *lo = g_new(double, nc + 1), *hi = g_new(double, nc + 1);
  pla_active_limits(model, lo, hi);
  PlaStatus st = pla_activation_init(out, model, n, a->rate_hz, err);
  for (size_t i = 0; st == PLA_OK && i < (size_t)n * nc; i++)
    out->control[i] =
        fmin(fmax(a->control[i] + amount * (b->control[i] - a->control[i]), lo[i % nc]),
             hi[i % nc]);
  if (st == PLA_OK)
    memcpy(out->head, a->head, 12 * (size_t)n * sizeof *out->head);
  return st;
}

PlaStatus
pla_activation_run(const PlaActiveBody *body, const PlaActivation *track, double tolerance_m,
                   PlaActivationFrame frame, void *data, PlaProgress *progress,
                   PlaActivationReport *report, PlaError *err)
{
  PlaActiveSolver *solver = NULL;
  PlaActiveState state = { 0 };
  *report = (PlaActivationReport){ .first_unsolved = -1 };
  PlaStatus st = pla_active_solver_new(body->model, &solver, err);
  if (st == PLA_OK)
    st = pla_active_state_init(&state, body->model, err);
  for (int f = 0; st == PLA_OK && f < track->n_frames; f++) {
    PlaActiveReport solve;
    if (!pla_progress_step(progress, (double)f / track->n_frames)) {
      st = pla_fail_cancelled(err);
      break;
    }
    st = pla_active_solve(solver, track->control + (size_t)f * (size_t)track->n_controls, NULL,
                          tolerance_m, progress, &state, &solve, err);
    if (st != PLA_OK)
      break;
    report->frames++;
    report->iterations += solve.iterations;
    report->factorisations += solve.factorisations;
    report->inverted = solve.inverted > report->inverted ? solve.inverted : report->inverted;
    if (!solve.converged && report->unsolved++ == 0)
      report->first_unsolved = f;
    st = frame(f, state.pos, data, err);
  }
  pla_active_state_clear(&state);
  pla_active_solver_free(solver);
  return st;
}

PlaStatus
pla_activation_run_forward(const PlaActiveBody *body, const PlaActivation *track,
                           const PlaForwardOptions *options, PlaActivationFrame frame, void *data,
                           PlaProgress *progress, PlaActivationReport *report,
                           PlaForwardReport *touch, PlaError *err)
{
  PlaForward *forward = NULL;
  *report = (PlaActivationReport){ .first_unsolved = -1 };
  *touch = (PlaForwardReport){ .converged = true };
  PlaStatus st = pla_forward_new(body->model, options, &forward, err);
  for (int f = 0; st == PLA_OK && f < track->n_frames; f++) {
    PlaForwardReport step;
    if (!pla_progress_step(progress, (double)f / track->n_frames)) {
      st = pla_fail_cancelled(err);
      break;
    }
    st = pla_forward_step(forward, track->control + (size_t)f * (size_t)track->n_controls, progress,
                          &step, err);
    if (st != PLA_OK)
      break;
    report->frames++;
    report->iterations += step.iterations;
    report->inverted = MAX(report->inverted, step.inverted);
    touch->contacts = MAX(touch->contacts, step.contacts);
    touch->max_penetration_m = fmax(touch->max_penetration_m, step.max_penetration_m);
    touch->contact_n = fmax(touch->contact_n, step.contact_n);
    if (!step.converged && report->unsolved++ == 0)
      report->first_unsolved = f;
    st = frame(f, pla_forward_get_pos(forward), data, err);
  }
  pla_forward_free(forward);
  return st;
}

/* ---- takes ---- */

typedef struct {
  const PlaActiveBody *body;
  const PlaActivation *track;
  PlaTake *take;
} TakeMaker;

static PlaStatus
take_frame(int f, const double *pos, void *data, PlaError *err)
{
  TakeMaker *self = data;
  const double *head = self->track->head + 12 * (size_t)f;
  for (int i = 0; i < self->take->n_markers; i++) {
    double *y = self->take->pos + 3 * ((size_t)f * (size_t)self->take->n_markers + (size_t)i), q[3];
    pla_marker_place(&self->body->markers.site[i], pos, q);
    pla_mat3_apply(head, q, y);
    for (int d = 0; d < 3; d++)
      y[d] += head[9 + d];
  }
  return PLA_OK;
}

/* two independent normal numbers at a time would do; one is simpler */
static double
normal(GRand *rand)
{
  const double u = 1.0 - g_rand_double(rand), v = g_rand_double(rand);
  return sqrt(-2.0 * log(u)) * cos(2.0 * M_PI * v);
}

static void
spoil(PlaTake *take, const PlaTakeFaults *faults)
{
  GRand *rand = g_rand_new_with_seed(faults->seed);
  for (size_t k = 0; k < (size_t)take->n_frames * (size_t)take->n_markers; k++) {
    double *y = take->pos + 3 * k;
    for (int d = 0; d < 3; d++)
      y[d] += faults->noise_m * normal(rand);
    const bool gross = g_rand_double(rand) < faults->outliers;
    const bool missing = g_rand_double(rand) < faults->missing;
    for (int d = 0; d < 3; d++) {
      const double by = faults->outlier_m * (2.0 * g_rand_double(rand) - 1.0);
      y[d] = missing ? NAN : gross ? y[d] + by : y[d];
    }
  }
  g_rand_free(rand);
}

PlaStatus
pla_activation_take(const PlaActiveBody *body, const PlaActivation *track,
                    const PlaTakeFaults *faults, PlaProgress *progress, PlaTake **out,
                    PlaActivationReport *report, PlaError *err)
{
  TakeMaker maker = { body, track, NULL };
  if (body->markers.n == 0)
    return pla_fail(err, PLA_ERR_USAGE, "the body '%s' has no marker sites", body->name);
  PlaStatus st = pla_take_new(track->n_frames, body->markers.n, &maker.take, err);
  if (st != PLA_OK)
    return st;
  maker.take->rate_hz = track->rate_hz;
  for (int i = 0; i < body->markers.n; i++) {
    free(maker.take->name[i]);
    maker.take->name[i] = pla_strdup(body->markers.site[i].name);
  }
  st = pla_activation_run(body, track, 1e-7, take_frame, &maker, progress, report, err);
  if (st == PLA_OK && faults)
    spoil(maker.take, faults);
  if (st == PLA_OK)
    *out = maker.take;
  else
    pla_take_free(maker.take);
  return st;
}

PlaStatus
pla_activation_bind(const PlaActiveBody *body, const PlaTake *take, int frame, PlaMarkerSet *out,
                    PlaError *err)
{
  const double far_mm = 15.0;
  g_autofree const char **names = g_new(const char *, (size_t)take->n_markers + 1);
  g_autofree double *pos = g_new(double, 3 * (size_t)take->n_markers + 1);
  int n = 0, worst = 0;
  double mean_mm = 0.0, worst_mm = 0.0;
  for (int i = 0; i < take->n_markers; i++) {
    const double *y = take->pos + 3 * ((size_t)frame * (size_t)take->n_markers + (size_t)i);
    if (!isfinite(y[0] + y[1] + y[2]))
      continue;
    memcpy(pos + 3 * n, y, 3 * sizeof *pos);
    names[n++] = take->name[i];
  }
  PlaStatus st = pla_marker_set_bind(body->mesh, n, names, pos, false, out, err);
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const double off_mm = 1000.0 * pla_vec3_norm(out->site[i].offset);
    mean_mm += off_mm / n;
    worst = off_mm > worst_mm ? i : worst;
    worst_mm = fmax(worst_mm, off_mm);
  }
  if (st == PLA_OK && mean_mm > far_mm) {
    st = pla_fail(err, PLA_ERR_USAGE,
                  "the markers of frame %d are %.0f mm from the body's surface on average, '%s' "
                  "%.0f mm; transform the take into the body's frame first",
                  frame + 1, mean_mm, names[worst], worst_mm);
    pla_marker_set_clear(out);
  }
  return st;
}

PlaStatus
pla_activation_fit(const PlaActiveBody *body, PlaTake *take, const PlaMarkerMatchOptions *label,
                   const PlaFitOptions *opts, PlaActivation *out, PlaFitResult *result,
                   PlaError *err)
{
  PlaMarkerMatch labels = { 0 };
  PlaFitOptions with_rest = *opts;
  PlaMarkerSet own = { 0 };
  PlaStatus st = PLA_OK;
  if (body->markers.n == 0)
    st = pla_activation_bind(body, take, label->rest_frame > 0 ? label->rest_frame : 0, &own, err);
  if (st == PLA_OK)
    st = pla_markers_match(body->markers.n ? &body->markers : &own, body->mesh->pos, take, label,
                           &labels, err);
  with_rest.rest_frame = labels.rest_frame;
  if (st == PLA_OK)
    st = pla_fit_take(body->model, labels.site, take, &with_rest, result, err);
  if (st == PLA_OK) {
    /* what labelling found comes first */
    for (int i = 0; i < result->notes.n; i++)
      pla_notes_add(&labels.notes, "%s", result->notes.text[i]);
    const PlaNotes swap = result->notes;
    result->notes = labels.notes;
    labels.notes = swap;
    st = pla_activation_init(out, body->model, take->n_frames, take->rate_hz, err);
  }
  if (st == PLA_OK) {
    memcpy(out->control, result->control,
           (size_t)out->n_frames * (size_t)out->n_controls * sizeof *out->control);
    memcpy(out->head, result->head, 12 * (size_t)out->n_frames * sizeof *out->head);
  }
  pla_marker_match_clear(&labels);
  pla_marker_set_clear(&own);
  return st;
}

static PlaStatus
stiffen(double stiffness, void *data, PlaActiveModel **out, PlaError *err)
{
  return pla_active_body_stiffen(data, stiffness, out, err);
}

PlaStatus
pla_activation_identify(const PlaActiveBody *body, PlaTake *take,
                        const PlaMarkerMatchOptions *label, const PlaActivation *known,
                        bool strengths, bool stiffness, const PlaFitOptions *opts, double *strength,
                        double *deviation, PlaIdentifyReport *report, PlaError *err)
{
  const PlaIdentifyOptions what = { .strengths = strengths,
                                    .stiffness = stiffness,
                                    .most = 10.0, /* times what was assumed */
                                    .make = stiffen,
                                    .data = (void *)body };
  PlaMarkerMatch labels = { 0 };
  if (known->n_frames != take->n_frames)
    return pla_fail(err, PLA_ERR_USAGE, "the take has %d frames, its activations have %d",
                    take->n_frames, known->n_frames);
  PlaStatus st = pla_markers_match(&body->markers, body->mesh->pos, take, label, &labels, err);
  for (int f = 0; st == PLA_OK && f < take->n_frames; f++) {
    const double *head = known->head + 12 * (size_t)f;
    for (int i = 0; i < take->n_markers; i++) {
      double *y = take->pos + 3 * ((size_t)f * (size_t)take->n_markers + (size_t)i), q[3];
      pla_vec3_sub(y, head + 9, q);
      for (int d = 0; d < 3; d++)
        y[d] = head[d] * q[0] + head[3 + d] * q[1] + head[6 + d] * q[2];
    }
  }
  for (int m = 0; m < pla_active_n_muscles(body->model); m++)
    strength[m] = 1.0;
  if (st == PLA_OK)
    st = pla_fit_identify(body->model, labels.site, take, known->control, opts, &what, strength,
                          deviation, report, err);
  pla_marker_match_clear(&labels);
  return st;
}

/* Steps a tongue frame by frame and collects what the steps took and reached. */
#include "sim/tongue/tongue-motion.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <time.h>

/* Frames of a stretch at most, and those of a track that is not worth its run-ups.  Stretches are
 * even in number and alike: two threads end together. */
enum { STRETCH = 240, SHORT_TRACK = 120 };
enum { RUN_UP = 30 }; /* frames: damping makes the flesh forget with a time constant of 0.11 s */

struct PlaTongueMotion {
  PlaTongue *tongue;
  bool borrowed; /* it is another motion's */
  PlaTongueBodyOptions options;
  PlaTongueBody *body;
  PlaCoilPaths paths;
  double rate_hz; /* of the track */
  PlaTongueStats stats;
  PlaTongueReport report;
  int frame;
  double coil_mm[2 * PLA_N_COILS]; /* the newest values of each */
};

void
pla_tongue_motion_free(PlaTongueMotion *self)
{
  if (!self)
    return;
  pla_tongue_body_free(self->body);
  if (!self->borrowed)
    pla_tongue_free(self->tongue);
  pla_coil_paths_clear(&self->paths);
  free(self);
}

/* of a tongue that is owned or @borrowed; takes no ownership after a failure */
static PlaStatus
motion_new(PlaTongue *tongue, bool borrowed, const PlaTongueBodyOptions *options,
           PlaTongueMotion **out, PlaError *err)
{
  PlaTongueMotion *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the motion of a tongue");
  self->options = *options;
  PlaStatus st = pla_tongue_body_new(tongue, &self->options, &self->body, err);
  if (st != PLA_OK) {
    free(self);
    return st;
  }
  self->tongue = tongue;
  self->borrowed = borrowed;
  *out = self;
  return PLA_OK;
}

PlaStatus
pla_tongue_motion_take(PlaTongue *tongue, const PlaTongueBodyOptions *options,
                       PlaTongueMotion **out, PlaError *err)
{
  const PlaStatus st = motion_new(tongue, false, options, out, err);
  if (st != PLA_OK)
    pla_tongue_free(tongue);
  return st;
}

PlaStatus
pla_tongue_motion_fork(const PlaTongueMotion *self, PlaTongueMotion **out, PlaError *err)
{
  return motion_new(self->tongue, true, &self->options, out, err);
}

const PlaTongue *
pla_tongue_motion_get_tongue(const PlaTongueMotion *self)
{
  return self->tongue;
}

const PlaMesh *
pla_tongue_motion_get_rest(const PlaTongueMotion *self)
{
  return pla_tongue_get_mesh(self->tongue);
}

static int
most(int a, int b)
{
  return a > b ? a : b;
}

static double
clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

PlaTongueStats
pla_tongue_stats_none(void)
{
  return (PlaTongueStats){ .max_jaw_deg = -INFINITY, .min_jaw_deg = INFINITY };
}

void
pla_tongue_stats_add(PlaTongueStats *to, const PlaTongueStats *from)
{
  to->frames += from->frames;
  to->seconds += from->seconds;
  to->volume_seconds += from->volume_seconds;
  to->max_volume_change = fmax(to->max_volume_change, from->max_volume_change);
  to->max_penetration_mm = fmax(to->max_penetration_mm, from->max_penetration_mm);
  to->sensor_error_mm = fmax(to->sensor_error_mm, from->sensor_error_mm);
  to->projected += from->projected;
  to->unsettled += from->unsettled;
  to->iterations += from->iterations;
  to->most_contacts = most(to->most_contacts, from->most_contacts);
  to->max_jaw_deg = fmax(to->max_jaw_deg, from->max_jaw_deg);
  to->min_jaw_deg = fmin(to->min_jaw_deg, from->min_jaw_deg);
}

PlaStatus
pla_tongue_motion_start(PlaTongueMotion *self, const PlaTrack *track, PlaError *err)
{
  pla_coil_paths_clear(&self->paths);
  PlaStatus st = pla_coil_paths_init(&self->paths, track, err);
  self->rate_hz = track->rate_hz;
  self->frame = 0;
  self->stats = pla_tongue_stats_none();
  for (int i = 0; i < 2 * PLA_N_COILS; i++)
    self->coil_mm[i] = NAN;
  pla_tongue_body_restart(self->body);
  return st;
}

int
pla_tongue_motion_n_frames(const PlaTongueMotion *self)
{
  return self->paths.n_frames;
}

double
pla_tongue_motion_rate_hz(const PlaTongueMotion *self)
{
  return self->rate_hz;
}

PlaStatus
pla_tongue_motion_step(PlaTongueMotion *self, bool *more, PlaError *err)
{
  PlaTongueStats *stats = &self->stats;
  *more = self->frame < self->paths.n_frames;
  if (!*more)
    return PLA_OK;
  /* a coil that drops out stays where it was */
  for (int i = 0; i < 2 * PLA_N_COILS; i++) {
    const double x = self->paths.pos_mm[(size_t)self->frame * 2 * PLA_N_COILS + (size_t)i];
    if (!isnan(x))
      self->coil_mm[i] = x;
  }
  self->frame++;
  const double begun = clock_s();
  PlaStatus st = pla_tongue_body_step(self->body, self->coil_mm, &self->report, err);
  if (st != PLA_OK)
    return st;
  const PlaReducedReport *step = &self->report.step;
  stats->seconds += clock_s() - begun;
  stats->frames++;
  stats->volume_seconds += step->volume_s;
  stats->max_volume_change = fmax(stats->max_volume_change, fabs(step->volume_ratio - 1.0));
  stats->max_penetration_mm =
      fmax(stats->max_penetration_mm, pla_tongue_mm(self->tongue, step->max_penetration));
  stats->sensor_error_mm =
      fmax(stats->sensor_error_mm, pla_tongue_mm(self->tongue, step->sensor_error));
  stats->projected += self->report.projected;
  stats->unsettled += !step->converged;
  stats->iterations += step->iterations;
  stats->most_contacts = most(stats->most_contacts, step->contacts);
  stats->max_jaw_deg = fmax(stats->max_jaw_deg, self->report.jaw_deg);
  stats->min_jaw_deg = fmin(stats->min_jaw_deg, self->report.jaw_deg);
  return PLA_OK;
}

PlaStatus
pla_tongue_motion_seek(PlaTongueMotion *self, int frame, PlaError *err)
{
  PlaStatus st = PLA_OK;
  bool more = true;
  const int from = most(0, frame - RUN_UP);
  /* coils that have dropped out before stand where they were last */
  for (int i = 0; i < 2 * PLA_N_COILS; i++) {
    self->coil_mm[i] = NAN;
    for (int t = from - 1; t >= 0 && isnan(self->coil_mm[i]); t--)
      self->coil_mm[i] = self->paths.pos_mm[(size_t)t * 2 * PLA_N_COILS + (size_t)i];
  }
  pla_tongue_body_restart(self->body);
  self->frame = from;
  while (st == PLA_OK && more && self->frame < frame)
    st = pla_tongue_motion_step(self, &more, err);
  self->stats = pla_tongue_stats_none();
  return st;
}

/* what all stretches share */
typedef struct {
  const PlaTrack *track;
  PlaTongueFrameFunc func;
  void *data;
  PlaProgress *progress;
  int done; /* frames of all stretches */
} Run;

/* frames from @from up to @to */
static PlaStatus
run_stretch(Run *run, PlaTongueMotion *motion, int from, int to, PlaError *err)
{
  PlaStatus st = pla_tongue_motion_start(motion, run->track, err);
  bool more = true;
  if (st == PLA_OK)
    st = pla_tongue_motion_seek(motion, from, err);
  for (int i = from; st == PLA_OK && i < to; i++) {
    st = pla_tongue_motion_step(motion, &more, err);
    if (st != PLA_OK || !more)
      break;
    st = run->func(motion, i, run->data, err);
    int done;
#pragma omp atomic capture
    done = ++run->done;
    const bool on = omp_get_thread_num() == 0
                        ? pla_progress_step(run->progress, (double)done / run->track->n_samples)
                        : !pla_progress_cancelled(run->progress);
    if (st == PLA_OK && !on)
      st = pla_fail_cancelled(err);
  }
  return st;
}

PlaStatus
pla_tongue_motion_run(const PlaTongueMotion *self, const PlaTrack *track, bool in_order,
                      PlaTongueFrameFunc func, void *data, PlaProgress *progress,
                      PlaTongueStats *stats, PlaError *err)
{
  const int n = track->n_samples;
  const int n_stretches = n > SHORT_TRACK ? 2 * ((n + 2 * STRETCH - 1) / (2 * STRETCH)) : 1;
  PlaStatus *status = pla_array_new0((size_t)n_stretches, sizeof *status);
  PlaError *errors = pla_array_new0((size_t)n_stretches, sizeof *errors);
  PlaTongueStats *each = pla_array_new0((size_t)n_stretches, sizeof *each);
  Run run = { track, func, data, progress, 0 };
  PlaStatus st = status && errors && each ? PLA_OK : pla_fail_memory(err, "the motion of a tongue");
  const int n_run = st == PLA_OK ? n_stretches : 0;
#pragma omp parallel for schedule(dynamic, 1) if (!in_order)
  for (int k = 0; k < n_run; k++) {
    PlaTongueMotion *own = NULL;
    status[k] = pla_tongue_motion_fork(self, &own, &errors[k]);
    if (status[k] == PLA_OK)
      status[k] = run_stretch(&run, own, (int)((int64_t)n * k / n_stretches),
                              (int)((int64_t)n * (k + 1) / n_stretches), &errors[k]);
    if (status[k] == PLA_OK)
      each[k] = *pla_tongue_motion_stats(own);
    pla_tongue_motion_free(own);
  }
  *stats = pla_tongue_stats_none();
  for (int k = 0; k < n_run; k++) {
    if (st == PLA_OK && status[k] != PLA_OK) {
      st = status[k];
      if (err)
        *err = errors[k];
    }
    pla_tongue_stats_add(stats, &each[k]);
  }
  free(status);
  free(errors);
  free(each);
  return st;
}

const PlaTongueStats *
pla_tongue_motion_stats(const PlaTongueMotion *self)
{
  return &self->stats;
}

const PlaTongueReport *
pla_tongue_motion_report(const PlaTongueMotion *self)
{
  return &self->report;
}

const double *
pla_tongue_motion_get_pos(const PlaTongueMotion *self)
{
  return pla_tongue_body_get_pos(self->body);
}

void
pla_tongue_motion_frame(const PlaTongueMotion *self, PlaTongueFrame *out)
{
  pla_tongue_frame(self->tongue, self->coil_mm, out);
}

void
pla_tongue_motion_airway(const PlaTongueMotion *self, PlaAirway *out)
{
  pla_airway_measure(self->tongue, pla_tongue_body_get_pos(self->body), self->coil_mm, out);
}

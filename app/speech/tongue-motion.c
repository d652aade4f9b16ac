/* Builds a tongue for a speaker (phantom or mesh file), steps it frame by frame, and collects
 * the statistics that `speak` reports. */
#include "app/speech/tongue-motion.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/speech/tongue-cache.h"

#include <glib.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

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

PlaTongueMotionOptions
pla_tongue_motion_options_default(void)
{
  return (PlaTongueMotionOptions){ 0 };
}

void
pla_tongue_motion_free(PlaTongueMotion *self)
{
  if (!self)
    return;
  pla_tongue_body_free(self->body);
  if (!self->borrowed)
    pla_tongue_free(self->tongue);
  pla_coil_paths_clear(&self->paths);
  g_free(self);
}

PlaStatus
pla_tongue_fixed_read(const char *path, int **out, int *n, PlaError *err)
{
  enum { MOST = 100000000 };
  g_autofree char *text = NULL;
  g_autofree int *fixed = NULL;
  g_autoptr(GError) error = NULL;
  gsize size;
  if (!g_file_get_contents(path, &text, &size, &error))
    return pla_fail(err, PLA_ERR_IO, "%s", error->message);
  char *at = text, *end;
  const long count = strtol(at, &end, 10);
  if (end == at || count < 1 || (gsize)count > size)
    return pla_fail(err, PLA_ERR_FORMAT,
                    "%s must begin with the number of fixed degrees of freedom, and list them",
                    path);
  fixed = g_new(int, count);
  for (long i = 0; i < count; i++) {
    for (at = end; *at == ',' || g_ascii_isspace(*at); at++)
      ;
    const long dof = strtol(at, &end, 10);
    if (end == at || dof < 0 || dof > MOST)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "%s, entry %ld of %ld: a degree of freedom from 0 on is expected", path,
                      i + 1, count);
    fixed[i] = (int)dof;
  }
  *out = g_steal_pointer(&fixed);
  *n = (int)count;
  return PLA_OK;
}

/* marks the vertices of degrees of freedom: 3 times the vertex, and 1 or 2 more for y or z */
static PlaStatus
hold_listed(const PlaTongueMotionOptions *options, unsigned char *fixed, PlaError *err)
{
  const int n_verts = options->mesh->n_verts;
  for (int i = 0; i < options->n_fixed; i++) {
    if (options->fixed[i] < 0 || options->fixed[i] >= 3 * n_verts)
      return pla_fail(err, PLA_ERR_USAGE,
                      "fixed degree of freedom %d of %d is %d; those of this mesh are 0 to %d",
                      i + 1, options->n_fixed, options->fixed[i], 3 * n_verts - 1);
    fixed[options->fixed[i] / 3] = 1;
  }
  return PLA_OK;
}

static bool
parse_axis(const char *word, double axis[3])
{
  const double sign = *word == '-' ? -1.0 : 1.0;
  word += *word == '-' || *word == '+';
  axis[0] = axis[1] = axis[2] = 0.0;
  if (word[0] < 'x' || word[0] > 'z' || word[1] != '\0')
    return false;
  axis[word[0] - 'x'] = sign;
  return true;
}

static PlaStatus
find_frame(const PlaTongueMotionOptions *options, const PlaMesh *mesh, const unsigned char *fixed,
           PlaHeadFrame *frame, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  if (!options->forward || !options->up)
    return pla_head_frame_guess(&tets, fixed, frame, err);
  if (!parse_axis(options->forward, frame->forward) || !parse_axis(options->up, frame->up) ||
      pla_vec3_dot(frame->forward, frame->up) != 0.0)
    return pla_fail(
        err, PLA_ERR_USAGE,
        "Forward and up must be two different axes such as y and z, or -x and y, not %s "
        "and %s",
        options->forward, options->up);
  double lo = INFINITY, hi = -INFINITY;
  pla_vec3_cross(frame->forward, frame->up, frame->right);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double x = pla_vec3_dot(frame->right, mesh->pos + 3 * (size_t)v);
    lo = fmin(lo, x);
    hi = fmax(hi, x);
  }
  frame->mid = 0.5 * (lo + hi);
  return PLA_OK;
}

/* without a list: the lowest seventh of the height; up must then be known, or be z */
static void
hold_lowest(const PlaTongueMotionOptions *options, const PlaMesh *mesh, unsigned char *fixed)
{
  double up[3] = { 0, 0, 1 }, lo = INFINITY, hi = -INFINITY;
  if (options->up)
    parse_axis(options->up, up);
  for (int v = 0; v < mesh->n_verts; v++) {
    const double x = pla_vec3_dot(up, mesh->pos + 3 * (size_t)v);
    lo = fmin(lo, x);
    hi = fmax(hi, x);
  }
  for (int v = 0; v < mesh->n_verts; v++)
    fixed[v] = pla_vec3_dot(up, mesh->pos + 3 * (size_t)v) < lo + (hi - lo) / 7.0;
}

static PlaStatus
build_from_mesh(const PlaTongueMotionOptions *options, PlaTongueInput *input, PlaTongue **out,
                PlaError *err)
{
  PlaMesh *mesh = NULL;
  unsigned char *fixed = NULL;
  PlaStatus st = options->mesh->n_tets > 0
                     ? pla_mesh_dup(options->mesh, &mesh, err)
                     : pla_fail(err, PLA_ERR_USAGE,
                                "the mesh of a tongue has no tetrahedra; make them with the verb "
                                "mesh");
  if (st == PLA_OK) {
    fixed = pla_array_new0((size_t)mesh->n_verts, 1);
    if (!fixed)
      st = pla_fail_memory(err, "a tongue");
    else if (options->n_fixed > 0)
      st = hold_listed(options, fixed, err);
    else
      hold_lowest(options, mesh, fixed);
  }
  for (int i = 0; st == PLA_OK && options->mesh_unit_mm > 0.0 && i < 3 * mesh->n_verts; i++)
    mesh->pos[i] *= options->mesh_unit_mm;
  if (st == PLA_OK)
    st = find_frame(options, mesh, fixed, &input->frame, err);
  if (st == PLA_OK) {
    input->mesh = mesh;
    input->fixed = fixed;
    input->scale_mesh = options->mesh_unit_mm <= 0.0;
    st = pla_tongue_new(input, options->progress, out, err);
  }
  free(fixed);
  pla_mesh_free(mesh);
  return st;
}

PlaStatus
pla_tongue_motion_new(const PlaTongueMotionOptions *options, const PlaTrack *const *tracks,
                      int n_tracks, PlaTongueMotion **out, PlaError *err)
{
  PlaTongueMotion *self = g_new0(PlaTongueMotion, 1);
  PlaTongueInput input = pla_tongue_input_default();
  PlaTongueBodyOptions body = pla_tongue_body_options_default();
  PlaCoilPaths *paths = g_new0(PlaCoilPaths, n_tracks);
  PlaStatus st = PLA_OK;
  *out = NULL;
  for (int i = 0; st == PLA_OK && i < n_tracks; i++)
    st = pla_coil_paths_init(&paths[i], tracks[i], err);
  input.paths = paths;
  input.n_paths = n_tracks;
  if (st == PLA_OK)
    st = options->mesh ? build_from_mesh(options, &input, &self->tongue, err)
                       : pla_phantom_tongue_new(options->cell_mm, options->own_plane, &input,
                                                options->progress, &self->tongue, err);
  body.quasistatic = options->quasistatic;
  body.without_volume = options->without_volume;
  body.without_contact = options->without_contact;
  if (st == PLA_OK && n_tracks > 0 && tracks[0]->rate_hz > 0.0)
    body.dt_s = 1.0 / tracks[0]->rate_hz;
  if (st == PLA_OK)
    st = pla_tongue_body_new(self->tongue, &body, &self->body, err);
  self->options = body;
  for (int i = 0; i < n_tracks; i++)
    pla_coil_paths_clear(&paths[i]);
  g_free(paths);
  if (st == PLA_OK)
    *out = self;
  else
    pla_tongue_motion_free(self);
  return st;
}

PlaStatus
pla_tongue_motion_fork(const PlaTongueMotion *self, PlaTongueMotion **out, PlaError *err)
{
  PlaTongueMotion *fork = g_new0(PlaTongueMotion, 1);
  fork->tongue = self->tongue;
  fork->borrowed = true;
  fork->options = self->options;
  PlaStatus st = pla_tongue_body_new(fork->tongue, &fork->options, &fork->body, err);
  if (st == PLA_OK)
    *out = fork;
  else
    pla_tongue_motion_free(fork);
  return st;
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
  to->most_contacts = MAX(to->most_contacts, from->most_contacts);
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
  const gint64 begun = g_get_monotonic_time();
  PlaStatus st = pla_tongue_body_step(self->body, self->coil_mm, &self->report, err);
  if (st != PLA_OK)
    return st;
  const PlaReducedReport *step = &self->report.step;
  stats->seconds += (double)(g_get_monotonic_time() - begun) / 1e6;
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
  stats->most_contacts = MAX(stats->most_contacts, step->contacts);
  stats->max_jaw_deg = fmax(stats->max_jaw_deg, self->report.jaw_deg);
  stats->min_jaw_deg = fmin(stats->min_jaw_deg, self->report.jaw_deg);
  return PLA_OK;
}

PlaStatus
pla_tongue_motion_seek(PlaTongueMotion *self, int frame, PlaError *err)
{
  PlaStatus st = PLA_OK;
  bool more = true;
  const int from = MAX(0, frame - RUN_UP);
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
  g_autofree PlaStatus *status = g_new0(PlaStatus, n_stretches);
  g_autofree PlaError *errors = g_new0(PlaError, n_stretches);
  g_autofree PlaTongueStats *each = g_new0(PlaTongueStats, n_stretches);
  Run run = { track, func, data, progress, 0 };
  PlaStatus st = PLA_OK;
#pragma omp parallel for schedule(dynamic, 1) if (!in_order)
  for (int k = 0; k < n_stretches; k++) {
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
  for (int k = 0; k < n_stretches; k++) {
    if (st == PLA_OK && status[k] != PLA_OK) {
      st = status[k];
      if (err)
        *err = errors[k];
    }
    pla_tongue_stats_add(stats, &each[k]);
  }
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

void
pla_tongue_motion_coils(const PlaTongueMotion *self, double *mm)
{
  const PlaSpeakerFit *fit = pla_tongue_get_fit(self->tongue);
  const double *pos = pla_tongue_body_get_pos(self->body);
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    double at[2];
    pla_head_frame_sagittal(pla_tongue_get_frame(self->tongue), pos + 3 * (size_t)fit->vert[k], at);
    const double x = (at[0] - fit->shift[0]) / fit->scale, y = (at[1] - fit->shift[1]) / fit->scale;
    mm[2 * k] = self->paths.sign[0] * 1000.0 * (fit->cosine * x + fit->sine * y);
    mm[2 * k + 1] = self->paths.sign[1] * 1000.0 * (-fit->sine * x + fit->cosine * y);
  }
}

int
pla_tongue_motion_gaps(const PlaTongueMotion *self, const int **verts, const double **gap)
{
  return pla_tongue_body_gaps(self->body, verts, gap);
}

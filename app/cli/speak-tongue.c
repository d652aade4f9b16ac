/* The second stage of `speak`: a tongue that follows the track. */
#include "app/cli/speak-tongue.h"

#include "anatomy/base/memory.h"
#include "app/cli/mesh-series.h"
#include "app/show/picture.h"
#include "app/speech/tongue-motion.h"
#include "app/speech/tongue-muscles.h"
#include "app/speech/tongue-picture.h"
#include "sim/speech/formants.h"

#include <glib.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

PlaStatus
pla_speak_read_track(const char *path, PlaItem *item, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaStatus st = pla_item_read(path, &opts, item, err);
  if (st == PLA_OK && item->kind != PLA_KIND_TRACK) {
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; a track of sensors is needed",
                  path, pla_kind_name(item->kind));
    pla_item_clear(item);
  }
  return st;
}

/* meshes of an animation; series.list is NULL where none is wanted */
typedef struct {
  PlaMeshSeries series;
  PlaMesh *mesh;
} Animation;

static PlaStatus
animation_add(Animation *self, const double *pos, double time_s, PlaError *err)
{
  memcpy(self->mesh->pos, pos, 3 * (size_t)self->mesh->n_verts * sizeof *pos);
  return pla_mesh_series_add(&self->series, self->mesh, time_s, err);
}

enum { FIRST_FORMANT = 5, EXTRA = 8, HEARD = EXTRA + PLA_FORMANTS };
static const char *const extra[HEARD][2] = {
  { "jaw_deg", "deg" },           { "volume_ratio", "" },
  { "penetration_mm", "mm" },     { "contacts", "" },
  { "narrowest_mm2", "mm2" },     { "formant_1_hz", "Hz" },
  { "formant_2_hz", "Hz" },       { "formant_3_hz", "Hz" },
  { "heard_formant_1_hz", "Hz" }, { "heard_formant_2_hz", "Hz" },
  { "heard_formant_3_hz", "Hz" },
};

/* the channels of @track and room for what the tongue adds */
static PlaStatus
new_result(const PlaTrack *track, const double *heard, PlaTrack **out, PlaError *err)
{
  const int n = track->n_channels, all = n + (heard ? HEARD : EXTRA);
  PlaStatus st = pla_track_new(track->n_samples, all, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->rate_hz = track->rate_hz;
  (*out)->start_s = track->start_s;
  for (int c = 0; c < all; c++) {
    free((*out)->name[c]);
    free((*out)->unit[c]);
    (*out)->name[c] = pla_strdup(c < n ? track->name[c] : extra[c - n][0]);
    (*out)->unit[c] = pla_strdup(c < n ? track->unit[c] : extra[c - n][1]);
    if (!(*out)->name[c] || !(*out)->unit[c])
      return pla_fail_memory(err, "a track");
  }
  for (int i = 0; i < track->n_samples; i++) {
    double *row = (*out)->value + (size_t)i * (size_t)all;
    memcpy(row, track->value + (size_t)i * (size_t)n, (size_t)n * sizeof *row);
    if (heard)
      memcpy(row + n + EXTRA, heard + (size_t)i * PLA_FORMANTS, PLA_FORMANTS * sizeof *row);
  }
  return PLA_OK;
}

static void
note_frame(const PlaTongueMotion *motion, int frame, int n_given, PlaTrack *result)
{
  double *row = result->value + (size_t)frame * (size_t)result->n_channels + n_given;
  const PlaTongueReport *report = pla_tongue_motion_report(motion);
  row[0] = report->jaw_deg;
  row[1] = report->step.volume_ratio;
  row[2] = pla_tongue_mm(pla_tongue_motion_get_tongue(motion), report->step.max_penetration);
  row[3] = report->step.contacts;
  /* the tube that the tongue leaves, and its resonances */
  PlaAirway airway;
  pla_tongue_motion_airway(motion, &airway);
  row[4] = airway.narrowest_mm2;
  for (int n = pla_airway_formants(&airway, PLA_FORMANTS, row + FIRST_FORMANT); n < PLA_FORMANTS;
       n++)
    row[FIRST_FORMANT + n] = NAN;
}

/* midsagittal views of some frames, side by side in rows of four */
typedef struct {
  const char *path;
  int n, every, first; /* views; frames between them; the first of them */
  cairo_surface_t *image;
} Views;

enum { VIEW_WIDTH = 420, VIEW_HEIGHT = 380, VIEWS_A_ROW = 4, MOST_VIEWS = 8 };

static void
views_init(Views *self, PlaInvocation *inv, const PlaTrack *track)
{
  self->path = pla_invocation_text(inv, "picture", 0, NULL);
  if (!self->path)
    return;
  const bool one = pla_invocation_has(inv, "at");
  self->n = one ? 1 : MIN(MOST_VIEWS, track->n_samples);
  self->every = MAX(1, track->n_samples / self->n);
  self->first = one ? (int)CLAMP(pla_invocation_number(inv, "at", 0.0) * track->rate_hz, 0.0,
                                 track->n_samples - 1.0)
                    : self->every / 2;
  const int columns = MIN(self->n, VIEWS_A_ROW), rows = (self->n + columns - 1) / columns;
  self->image =
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, columns * VIEW_WIDTH, rows * VIEW_HEIGHT);
}

static void
views_add(Views *self, const PlaTongueMotion *motion, const PlaTrack *track, int frame)
{
  const int k = (frame - self->first) / MAX(1, self->every);
  if (!self->path || frame < self->first || (frame - self->first) % self->every != 0 ||
      k >= self->n)
    return;
  g_autofree char *caption = g_strdup_printf("%.2f s", track->start_s + frame / track->rate_hz);
  cairo_t *cr = cairo_create(self->image);
  cairo_translate(cr, k % VIEWS_A_ROW * VIEW_WIDTH, k / VIEWS_A_ROW * VIEW_HEIGHT);
  pla_tongue_picture_draw(motion, cr, VIEW_WIDTH, VIEW_HEIGHT, caption);
  cairo_destroy(cr);
}

/* what muscles do, frame by frame; all NULL where nobody asks */
typedef struct {
  const char *path, *picture;
  bool wanted;
  PlaTongueMuscles *muscles;
  PlaTongueActivations found;
} Explained;

static PlaStatus
explained_init(Explained *self, PlaInvocation *inv, const PlaTongueMotion *motion,
               const PlaTrack *track, PlaError *err)
{
  self->path = pla_invocation_text(inv, "activations", 0, NULL);
  self->picture = pla_invocation_text(inv, "muscles", 0, NULL);
  self->wanted = self->path || self->picture;
  if (!self->wanted)
    return PLA_OK;
  PlaProgress *progress = pla_invocation_progress(inv);
  pla_progress_phase(progress, "Building the muscles", 0.6);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st =
      pla_tongue_muscles_new(pla_tongue_motion_get_tongue(motion), progress, &self->muscles, err);
  pla_progress_pop(progress, span);
  return st == PLA_OK ? pla_tongue_activations_init(&self->found, self->muscles, track, err) : st;
}

static void
explained_clear(Explained *self)
{
  pla_tongue_muscles_free(self->muscles);
  pla_tongue_activations_clear(&self->found);
}

static PlaStatus
explained_write(const Explained *self, PlaInvocation *inv, PlaError *err)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaItem item = { .kind = PLA_KIND_TRACK, .track = self->found.track };
  const PlaTongueMusclesFrame rms = pla_tongue_activations_rms(&self->found);
  PlaWriteOptions opts = pla_write_options_default();
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_object(json);
  pla_json_int(json, "channels", item.track->n_channels);
  pla_json_number(json, "motion_rms_mm", rms.motion_mm);
  pla_json_number(json, "residual_rms_mm", rms.residual_mm);
  json_builder_end_object(json);
  pla_say(inv, "  the tongue moves by %.2f mm; the muscles leave %.2f mm unexplained",
          rms.motion_mm, rms.residual_mm);
  PlaStatus st = self->path ? pla_item_write(self->path, &item, &opts, err) : PLA_OK;
  if (st != PLA_OK || !self->picture)
    return st;
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 1000, 520);
  cairo_t *cr = cairo_create(image);
  pla_tongue_picture_draw_muscles(self->found.track, cr, 1000, 520);
  cairo_destroy(cr);
  st = pla_picture_write_surface(self->picture, image, err);
  cairo_surface_destroy(image);
  return st;
}

/* what one stretch of frames is given to, besides the result */
typedef struct {
  PlaInvocation *inv;
  const PlaTrack *track;
  Animation *animation;
  Views *views;
  Explained *explained;
  PlaTrack *result;
  int *done; /* frames of all stretches */
} Frames;

/* Frames of a stretch at most, and those of a track that is not worth its run-ups.  Stretches are
 * even in number and alike: two threads end together. */
enum { STRETCH = 240, SHORT_TRACK = 120 };

/* frames from @from up to @to */
static PlaStatus
run_stretch(const Frames *self, PlaTongueMotion *motion, int from, int to, PlaError *err)
{
  PlaStatus st = pla_tongue_motion_start(motion, self->track, err);
  bool more = true;
  if (st == PLA_OK)
    st = pla_tongue_motion_seek(motion, from, err);
  for (int i = from; st == PLA_OK && i < to; i++) {
    st = pla_tongue_motion_step(motion, &more, err);
    if (st != PLA_OK || !more)
      break;
    note_frame(motion, i, self->track->n_channels, self->result);
    views_add(self->views, motion, self->track, i);
    if (self->explained->wanted)
      st = pla_tongue_activations_explain(&self->explained->found, self->explained->muscles, motion,
                                          i, err);
    if (st == PLA_OK && self->animation->series.list)
      st = animation_add(self->animation, pla_tongue_motion_get_pos(motion),
                         self->track->start_s + i / self->track->rate_hz, err);
    PlaProgress *progress = pla_invocation_progress(self->inv);
    int done;
#pragma omp atomic capture
    done = ++*self->done;
    const bool on = omp_get_thread_num() == 0
                        ? pla_progress_step(progress, (double)done / self->track->n_samples)
                        : !pla_progress_cancelled(progress);
    if (st == PLA_OK && !on)
      st = pla_fail_cancelled(err);
  }
  return st;
}

/* Stretches by the length of the track alone, each with a run-up of its own: on as many threads as
 * there are, with the same result; one after the other where they are drawn or written. */
static PlaStatus
run_frames(const Frames *self, const PlaTongueMotion *motion, PlaTongueStats *stats, PlaError *err)
{
  const int n = self->track->n_samples;
  const int n_stretches = n > SHORT_TRACK ? 2 * ((n + 2 * STRETCH - 1) / (2 * STRETCH)) : 1;
  g_autofree PlaStatus *status = g_new0(PlaStatus, n_stretches);
  g_autofree PlaError *errors = g_new0(PlaError, n_stretches);
  g_autofree PlaTongueStats *each = g_new0(PlaTongueStats, n_stretches);
  const bool alone = self->animation->series.list || self->views->path;
  PlaStatus st = PLA_OK;
#pragma omp parallel for schedule(dynamic, 1) if (!alone)
  for (int k = 0; k < n_stretches; k++) {
    PlaTongueMotion *own = NULL;
    status[k] = pla_tongue_motion_fork(motion, &own, &errors[k]);
    if (status[k] == PLA_OK)
      status[k] = run_stretch(self, own, (int)((int64_t)n * k / n_stretches),
                              (int)((int64_t)n * (k + 1) / n_stretches), &errors[k]);
    if (status[k] == PLA_OK)
      each[k] = *pla_tongue_motion_stats(own);
    pla_tongue_motion_free(own);
  }
  *stats = pla_tongue_stats_none();
  for (int k = 0; k < n_stretches; k++) {
    if (st == PLA_OK && status[k] != PLA_OK) {
      st = status[k];
      *err = errors[k];
    }
    pla_tongue_stats_add(stats, &each[k]);
  }
  return st;
}

/* how the resonances of the tongue's tube go with those of the sound, over frames that have both */
static void
compare_formants(PlaInvocation *inv, const PlaTrack *result, int n_given)
{
  JsonBuilder *json = pla_invocation_json(inv);
  double ratio[PLA_FORMANTS], correlation[PLA_FORMANTS], size = 1.0;
  int frames = 0;
  for (int k = 0; k < PLA_FORMANTS; k++) {
    double sum[5] = { 0 }, log_ratio = 0.0;
    int n = 0;
    for (int i = 0; i < result->n_samples; i++) {
      const double *row = result->value + (size_t)i * (size_t)result->n_channels + n_given;
      const double x = row[FIRST_FORMANT + k], y = row[EXTRA + k];
      if (!(x > 0.0) || !(y > 0.0))
        continue;
      n++;
      sum[0] += x;
      sum[1] += y;
      sum[2] += x * x;
      sum[3] += y * y;
      sum[4] += x * y;
      log_ratio += log(x / y);
    }
    frames = MAX(frames, n);
    const double xx = sum[2] - sum[0] * sum[0] / MAX(n, 1),
                 yy = sum[3] - sum[1] * sum[1] / MAX(n, 1);
    ratio[k] = n > 0 ? exp(log_ratio / n) : NAN;
    correlation[k] =
        n > 2 && xx > 0.0 && yy > 0.0 ? (sum[4] - sum[0] * sum[1] / n) / sqrt(xx * yy) : NAN;
    size *= pow(ratio[k], 1.0 / PLA_FORMANTS);
  }
  /* the speaker's tract is that much longer than the tongue's: what is left when it is allowed for
   */
  double same[PLA_FORMANTS];
  for (int k = 0; k < PLA_FORMANTS; k++)
    same[k] = ratio[k] / size;
  json_builder_set_member_name(json, "formants");
  json_builder_begin_object(json);
  pla_json_int(json, "voiced_frames", frames);
  pla_json_numbers(json, "tube_over_heard", ratio, PLA_FORMANTS);
  pla_json_number(json, "length_factor", size);
  pla_json_numbers(json, "tube_over_heard_same_length", same, PLA_FORMANTS);
  pla_json_numbers(json, "correlation", correlation, PLA_FORMANTS);
  json_builder_end_object(json);
  pla_say(inv,
          "  formants of the tube against the sound: %.2f %.2f %.2f times, of a tract %.2f times "
          "as long %.2f "
          "%.2f %.2f, correlation %.2f %.2f %.2f",
          ratio[0], ratio[1], ratio[2], size, same[0], same[1], same[2], correlation[0],
          correlation[1], correlation[2]);
}

static void
describe(PlaInvocation *inv, const PlaTongueMotion *motion, const PlaTongueStats *stats,
         const PlaTrack *track, double build_s)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaTongue *tongue = pla_tongue_motion_get_tongue(motion);
  const PlaSpeakerFit *fit = pla_tongue_get_fit(tongue);
  const double spoken = track->n_samples / track->rate_hz;
  pla_json_number(json, "max_volume_change", stats->max_volume_change);
  pla_json_number(json, "max_penetration_mm", stats->max_penetration_mm);
  pla_json_number(json, "sensor_error_mm", stats->sensor_error_mm);
  pla_json_number(json, "steps_per_s", stats->frames / stats->seconds);
  pla_json_number(json, "volume_ms_per_step", 1e3 * stats->volume_seconds / stats->frames);
  pla_json_int(json, "projected_targets", stats->projected);
  pla_json_int(json, "unsettled_frames", stats->unsettled);
  pla_json_number(json, "iterations_per_frame", (double)stats->iterations / stats->frames);
  pla_json_int(json, "max_contacts", stats->most_contacts);
  const double jaw[2] = { stats->min_jaw_deg, stats->max_jaw_deg };
  pla_json_numbers(json, "jaw_range_deg", jaw, 2);
  pla_json_int(json, "degrees_of_freedom",
               3 * pla_reduced_model_n_funcs(pla_tongue_get_model(tongue)));
  pla_json_int(json, "cubature_elements", pla_reduced_model_n_points(pla_tongue_get_model(tongue)));
  pla_json_number(json, "cubature_error", pla_tongue_cubature_error(tongue));
  pla_json_int(json, "pressure_shapes",
               pla_reduced_model_n_pressures(pla_tongue_get_model(tongue)));
  pla_json_int(json, "vertices", pla_tongue_get_mesh(tongue)->n_verts);
  pla_json_int(json, "tets", pla_tongue_get_mesh(tongue)->n_tets);
  json_builder_set_member_name(json, "fit");
  json_builder_begin_object(json);
  pla_json_number(json, "scale", fit->scale);
  pla_json_number(json, "mesh_unit_mm",
                  pla_invocation_number(inv, "mesh-unit-mm", 1.0) * pla_tongue_mesh_factor(tongue));
  pla_json_number(json, "rotation_deg", atan2(fit->sine, fit->cosine) * 180.0 / G_PI);
  pla_json_number(json, "residual_mm", fit->residual_mm);
  const double vert[4] = { fit->vert[0], fit->vert[1], fit->vert[2], fit->vert[3] };
  pla_json_numbers(json, "vertices", vert, 4);
  json_builder_end_object(json);
  pla_json_number(json, "build_seconds", build_s);
  pla_say(inv, "%d frames (%.2f s of speech) in %.2f s: %.0f steps a second", stats->frames, spoken,
          stats->seconds, stats->frames / stats->seconds);
  pla_say(inv, "  sensors met to %.2g mm, volume within %.2f %%, deepest contact %.3f mm",
          stats->sensor_error_mm, 100.0 * stats->max_volume_change, stats->max_penetration_mm);
  pla_say(inv, "  speaker fitted to %.2f mm, scale %.3f; jaw turns from %.1f to %.1f degrees",
          fit->residual_mm, fit->scale, jaw[0], jaw[1]);
  if (stats->projected > 0)
    pla_say(inv, "  %d targets inside palate or teeth were moved out", stats->projected);
}

PlaStatus
pla_speak_tongue(PlaInvocation *inv, bool own_plane, const double *heard, PlaTrack **track,
                 double *seconds, PlaError *err)
{
  const int n_tracks = 1 + pla_invocation_count(inv, "speaker");
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  g_autofree PlaItem *item = g_new0(PlaItem, n_tracks);
  g_autofree const PlaTrack **all = g_new0(const PlaTrack *, n_tracks);
  Animation animation = { 0 };
  PlaTongueMotion *motion = NULL;
  PlaTrack *result = NULL;
  Views views = { 0 };
  Explained explained = { 0 };
  PlaTongueStats stats = pla_tongue_stats_none();
  int done = 0;
  PlaStatus st = PLA_OK;
  *seconds = 0.0;
  if (pla_invocation_has(inv, "animation"))
    pla_mesh_series_init(&animation.series, pla_invocation_text(inv, "animation", 0, NULL));
  if (pla_invocation_has(inv, "activations")) {
    const PlaFormat *format;
    st = pla_format_for_output(pla_invocation_text(inv, "activations", 0, NULL), PLA_KIND_TRACK,
                               &format, err);
  }
  if (st == PLA_OK &&
      (pla_invocation_has(inv, "activations") || pla_invocation_has(inv, "muscles")) &&
      pla_invocation_has(inv, "mesh"))
    st = pla_fail(
        err, PLA_ERR_USAGE,
        "Activations are those of the phantom's muscles; a tongue given by --mesh has none");
  if (st == PLA_OK && animation.series.list && !g_str_has_suffix(animation.series.list, ".pvd"))
    st = pla_fail(err, PLA_ERR_USAGE, "An animation is a .pvd file, not %s", animation.series.list);
  all[0] = *track;
  for (int i = 1; st == PLA_OK && i < n_tracks; i++) {
    st = pla_speak_read_track(pla_invocation_text(inv, "speaker", i - 1, NULL), &item[i], err);
    all[i] = item[i].track;
  }
  options.mesh_path = pla_invocation_text(inv, "mesh", 0, NULL);
  options.fixed_path = pla_invocation_text(inv, "fixed", 0, NULL);
  options.mesh_unit_mm = pla_invocation_number(inv, "mesh-unit-mm", 0.0);
  options.forward = pla_invocation_text(inv, "forward", 0, NULL);
  options.up = pla_invocation_text(inv, "up", 0, NULL);
  options.cell_mm = pla_invocation_number(inv, "cell-mm", 0.0);
  options.own_plane = own_plane && !options.mesh_path;
  options.quasistatic = pla_invocation_has(inv, "quasistatic");
  options.without_volume = pla_invocation_has(inv, "no-volume");
  options.without_contact = pla_invocation_has(inv, "no-contact");
  options.progress = pla_invocation_progress(inv);
  if (st == PLA_OK && !options.mesh_path && (options.fixed_path || options.forward || options.up))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "--fixed, --forward and --up describe a tongue given by --mesh");
  pla_progress_phase(options.progress, "Building the tongue", 0.5);
  PlaProgressSpan span = pla_progress_push(options.progress);
  const gint64 begun = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_tongue_motion_new(&options, all, n_tracks, &motion, err);
  const double build_s = (double)(g_get_monotonic_time() - begun) / 1e6;
  pla_progress_pop(options.progress, span);
  if (st == PLA_OK)
    views_init(&views, inv, *track);
  if (st == PLA_OK)
    st = new_result(*track, heard, &result, err);
  if (st == PLA_OK && animation.series.list)
    st = pla_mesh_dup(pla_tongue_motion_get_rest(motion), &animation.mesh, err);
  if (st == PLA_OK)
    st = explained_init(&explained, inv, motion, *track, err);
  pla_progress_phase(options.progress, "Moving", 0.98);
  if (st == PLA_OK)
    st = run_frames(&(Frames){ inv, *track, &animation, &views, &explained, result, &done }, motion,
                    &stats, err);
  *seconds = (double)(g_get_monotonic_time() - begun) / 1e6;
  if (st == PLA_OK && views.path)
    st = pla_picture_write_surface(views.path, views.image, err);
  if (st == PLA_OK && animation.series.list)
    st = pla_mesh_series_finish(&animation.series, err);
  if (st == PLA_OK) {
    describe(inv, motion, &stats, *track, build_s);
    if (heard)
      compare_formants(inv, result, (*track)->n_channels);
    if (explained.wanted)
      st = explained_write(&explained, inv, err);
  }
  if (st == PLA_OK) {
    pla_track_free(*track);
    *track = result;
    result = NULL;
  }
  explained_clear(&explained);
  pla_tongue_motion_free(motion);
  pla_track_free(result);
  if (views.image)
    cairo_surface_destroy(views.image);
  pla_mesh_free(animation.mesh);
  pla_mesh_series_clear(&animation.series);
  for (int i = 1; i < n_tracks; i++)
    pla_item_clear(&item[i]);
  return st;
}

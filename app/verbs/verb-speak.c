/* Speak: coils from a sound or from a recording, and the motion of a tongue that follows them. */
#include "app/base/json.h"
#include "app/content/phonemes.h"
#include "app/speech/speech-net.h"
#include "app/speech/speech-text.h"
#include "app/speech/spoken-muscles.h"
#include "app/speech/spoken-tongue.h"
#include "app/speech/spoken.h"
#include "app/speech/tongue-build.h"
#include "app/speech/tongue-track.h"
#include "app/verbs/verbs.h"
#include "sim/speech/speech-features.h"
#include "sim/speech/speech-model.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- coils ---- */

/* where the coils come from, and what was heard */
typedef struct {
  PlaContent *source, *given; /* held */
  const char *name;           /* of the source */
  const PlaTrack *coils;      /* mm */
  PlaTrack *made;             /* owned: where they had to be found */
  const PlaAudio *audio;      /* or NULL */
  double *heard_hz;           /* owned: resonances of the sound (frames x PLA_FORMANTS), or NULL */
  PlaPhones phones;           /* of a sound that was made from a text */
  bool measured;              /* coils were recorded */
  bool own_plane;             /* they lie in the built-in head's own plane */
  char *trained_on;           /* owned; a sentence, "" for recorded coils */
  double latency_s;           /* of the network; NaN: none was used */
  double seconds;
  PlaNotes notes;
} Source;

static void
source_clear(Source *self)
{
  pla_content_unref(self->source);
  pla_content_unref(self->given);
  pla_track_free(self->made);
  g_free(self->heard_hz);
  g_free(self->trained_on);
  pla_phones_clear(&self->phones);
  pla_notes_clear(&self->notes);
}

/* the coils that say the phonemes */
static PlaStatus
follow_phonemes(Source *self, PlaError *err)
{
  const PlaArticulation how = pla_articulation_default();
  g_autofree PlaSegment *segment = g_new0(PlaSegment, self->phones.n + 1);
  for (int i = 0; i < self->phones.n; i++) {
    const PlaPhone *phone = &self->phones.phone[i];
    const PlaSound *sound = pla_sound_find(phone->label);
    segment[i] = (PlaSegment){ sound ? sound : pla_sound_silence(), phone->start_s, phone->end_s };
  }
  PlaTextSpeech text = { .n = self->phones.n, .segment = segment, .seconds = self->seconds };
  self->trained_on =
      g_strdup("Follows the phonemes of the text; the sound itself was not listened to.");
  self->own_plane = true;
  return pla_text_speech_track(&text, &how, &self->made, err);
}

/* the network that the parameter "model" names, or the built-in one */
static PlaStatus
load_model(PlaWork *work, PlaSpeechModel **out, PlaError *err)
{
  g_autoptr(PlaContent) content = NULL;
  int64_t item;
  if (pla_work_is_null(work, "model"))
    return pla_speech_net_built_in(out, err);
  PlaStatus st = pla_work_item(work, "model", PLA_ITEM_RESULT, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &content, err);
  if (st != PLA_OK)
    return st;
  const PlaStoreArray *net = pla_content_find_array(content, PLA_SPEECH_NET_ARRAY);
  if (!net || net->dtype != PLA_U8 || net->n_dims != 1)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is no network of speech-train",
                    pla_work_item_name(work, item));
  return pla_speech_net_read_memory(pla_work_item_name(work, item), net->data,
                                    (size_t)net->shape[0], out, err);
}

static PlaStatus
hear(PlaWork *work, Source *self, PlaError *err)
{
  PlaSpeechModel *model = NULL;
  PlaProgress *progress = pla_work_progress(work);
  PlaStatus st = load_model(work, &model, err);
  if (st == PLA_OK) {
    self->trained_on = g_strdup(model->provenance ? model->provenance : "");
    self->latency_s = pla_speech_latency_s(&model->context, model->smooth / 2);
    /* the built-in model speaks in the phantom's plane; of others it must be said */
    self->own_plane = pla_work_is_null(work, "model") || pla_work_bool(work, "own_plane");
    pla_progress_phase(progress, "Hearing", 0.1);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_speech_invert(model, self->audio, &self->made, &self->notes, progress, err);
    pla_progress_pop(progress, span);
  }
  pla_speech_model_free(model);
  return st;
}

/* resonances of the sound at the frames of the coils */
static PlaStatus
hear_formants(Source *self, PlaError *err)
{
  double *sample = NULL;
  size_t n = 0;
  PlaStatus st = pla_speech_samples(self->audio, &sample, &n, err);
  if (st == PLA_OK) {
    self->heard_hz = g_new(double, PLA_FORMANTS *(gsize)self->coils->n_samples);
    pla_formants_track(sample, n, self->coils->n_samples, self->heard_hz);
  }
  free(sample);
  return st;
}

/* coils of the item, wherever they come from */
static PlaStatus
find_coils(PlaWork *work, Source *self, PlaError *err)
{
  self->own_plane = pla_work_bool(work, "own_plane");
  self->audio = self->source->audio;
  self->measured = self->source->track != NULL;
  if (!self->source->track && !self->audio)
    return pla_fail(err, PLA_ERR_USAGE,
                    "a sound or a track of coils is needed to move a tongue; this is neither");
  PlaStatus st = PLA_OK;
  if (self->audio) {
    self->seconds = (double)self->audio->n_frames / self->audio->rate_hz;
    st = pla_meta_get_phonemes(self->source->meta, &self->phones, err);
  }
  if (st == PLA_OK && !pla_work_is_null(work, "coils")) {
    int64_t item;
    st = pla_work_item(work, "coils", PLA_ITEM_TRACK, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &self->given, err);
    if (st == PLA_OK)
      self->coils = self->given->track;
  } else if (st == PLA_OK && self->measured) {
    self->coils = self->source->track;
    self->seconds = self->coils->n_samples / self->coils->rate_hz;
  } else if (st == PLA_OK) {
    st = self->phones.n > 0 && !pla_work_bool(work, "heard") ? follow_phonemes(self, err)
                                                             : hear(work, self, err);
    self->coils = self->made;
  }
  return st == PLA_OK && self->audio ? hear_formants(self, err) : st;
}

/* ---- a tongue that follows them ---- */

typedef struct {
  const Source *source;
  PlaTongueMotion *motion;
  bool shared;               /* it is lent */
  PlaContent *mesh;          /* held: of a tongue that is given, or NULL */
  PlaSpokenMaking *making;   /* where the motion is kept, or NULL */
  PlaTrack *track;           /* owned: coils with what the tongue adds */
  PlaTongueMuscles *muscles; /* where activations are wanted, or NULL */
  PlaTongueActivations explained;
  PlaTongueStats stats;
  const PlaWorkWatch *watch;
  double build_s;
} Tongue;

static void
tongue_release(Tongue *self)
{
  if (self->motion && self->shared)
    pla_spoken_tongue_release(NULL, self->motion);
  else
    pla_tongue_motion_free(self->motion);
  self->motion = NULL;
}

static void
tongue_clear(Tongue *self)
{
  pla_spoken_making_free(self->making);
  pla_track_free(self->track);
  pla_tongue_muscles_free(self->muscles);
  pla_tongue_activations_clear(&self->explained);
  tongue_release(self);
  pla_content_unref(self->mesh);
}

/* tracks of the same speaker after that of the coils; all are held in @held */
static PlaStatus
read_speakers(PlaWork *work, const PlaTrack *coils, GPtrArray *held, GPtrArray *tracks,
              PlaError *err)
{
  int n;
  g_autofree int64_t *item = pla_work_items(work, "speakers", &n);
  PlaStatus st = PLA_OK;
  g_ptr_array_add(tracks, (gpointer)coils);
  for (int i = 0; i < n && st == PLA_OK; i++) {
    PlaContent *content = NULL;
    st = pla_work_load(work, item[i], &content, err);
    if (st == PLA_OK) {
      g_ptr_array_add(held, content);
      g_ptr_array_add(tracks, content->track);
    }
  }
  return st;
}

static PlaStatus
read_fixed(PlaWork *work, GArray *out, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "fixed");
  for (guint i = 0; i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    if (!JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_INT64)
      return pla_fail(err, PLA_ERR_USAGE,
                      "\"fixed\" is a list of degrees of freedom, 3 v + axis; element %u is none",
                      i + 1);
    const int dof = (int)CLAMP(json_node_get_int(node), -1, G_MAXINT);
    g_array_append_val(out, dof);
  }
  return PLA_OK;
}

static PlaStatus
build_tongue(PlaWork *work, Tongue *self, PlaError *err)
{
  PlaTongueMotionOptions options = pla_tongue_motion_options_default();
  const PlaTrack *coils = self->source->coils;
  g_autoptr(GPtrArray) held = g_ptr_array_new_with_free_func((GDestroyNotify)pla_content_unref);
  g_autoptr(GPtrArray) tracks = g_ptr_array_new();
  g_autoptr(GArray) fixed = g_array_new(FALSE, FALSE, sizeof(int));
  int64_t item;
  PlaStatus st = read_speakers(work, coils, held, tracks, err);
  if (st == PLA_OK)
    st = read_fixed(work, fixed, err);
  if (st == PLA_OK && !pla_work_is_null(work, "mesh")) {
    st = pla_work_item(work, "mesh", PLA_ITEM_MESH, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &self->mesh, err);
  }
  if (st != PLA_OK)
    return st;
  options.mesh = self->mesh ? self->mesh->mesh : NULL;
  options.fixed = (const int *)(void *)fixed->data;
  options.n_fixed = (int)fixed->len;
  options.forward = pla_work_text(work, "forward");
  options.up = pla_work_text(work, "up");
  if (!pla_work_is_null(work, "mesh_unit_mm"))
    options.mesh_unit_mm = pla_work_number(work, "mesh_unit_mm");
  if (!pla_work_is_null(work, "cell_mm"))
    options.cell_mm = pla_work_number(work, "cell_mm");
  options.own_plane = self->source->own_plane && !options.mesh;
  options.quasistatic = pla_work_bool(work, "quasistatic");
  options.without_volume = !pla_work_bool(work, "volume");
  options.without_contact = !pla_work_bool(work, "contact");
  options.progress = pla_work_progress(work);
  /* the tongue of the head's own plane is the same for every sound */
  self->shared = options.own_plane && coils->rate_hz == PLA_FRAMES_HZ && !options.quasistatic &&
                 !options.without_volume && !options.without_contact;
  return self->shared
             ? pla_spoken_tongue_take(NULL, options.cell_mm, options.progress, &self->motion, err)
             : pla_tongue_motion_new(&options, (const PlaTrack *const *)tracks->pdata,
                                     (int)tracks->len, &self->motion, err);
}

static PlaStatus
take_frame(const PlaTongueMotion *motion, int frame, void *data, PlaError *err)
{
  Tongue *self = data;
  const PlaTrack *coils = self->source->coils;
  PlaStatus st = PLA_OK;
  pla_tongue_track_note(self->track, coils->n_channels, motion, frame);
  if (self->making)
    pla_spoken_making_frame(self->making, motion, frame);
  if (self->muscles)
    st = pla_tongue_activations_explain(&self->explained, self->muscles, motion, frame, err);
  if (st == PLA_OK && self->watch)
    st = self->watch->frame(self->watch->data, frame, coils->start_s + frame / coils->rate_hz,
                            motion, err);
  return st;
}

static PlaStatus
move_tongue(PlaWork *work, Tongue *self, PlaError *err)
{
  PlaProgress *progress = pla_work_progress(work);
  const PlaTrack *coils = self->source->coils;
  const gint64 start = g_get_monotonic_time();
  if (coils->rate_hz <= 0.0 || coils->n_samples < 1)
    return pla_fail(err, PLA_ERR_EMPTY, "the track of the coils has no frames or no rate");
  pla_progress_phase(progress, "Making the tongue", 0.5);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = build_tongue(work, self, err);
  pla_progress_pop(progress, span);
  self->build_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK)
    st = pla_tongue_track_new(coils, self->source->heard_hz, &self->track, err);
  if (st == PLA_OK && pla_work_bool(work, "motion") && !self->mesh)
    st = pla_spoken_making_new(self->motion, coils, &self->making, err);
  if (st == PLA_OK && pla_work_bool(work, "activations")) {
    pla_progress_phase(progress, "Building the muscles", 0.6);
    span = pla_progress_push(progress);
    st = pla_tongue_muscles_from_phantom(pla_tongue_motion_get_tongue(self->motion), progress,
                                         &self->muscles, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK)
      st = pla_tongue_activations_init(&self->explained, self->muscles, coils, err);
  }
  pla_progress_phase(progress, "Moving the tongue", 0.98);
  self->watch = pla_work_get_watch(work);
  return st == PLA_OK ? pla_tongue_motion_run(self->motion, coils, self->watch != NULL, take_frame,
                                              self, progress, &self->stats, err)
                      : st;
}

/* ---- what was found ---- */

static void
describe_source(PlaWork *work, const Source *self)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_text(json, "source", self->name);
  pla_json_text(json, "trained_on", self->trained_on ? self->trained_on : "");
  pla_json_bool(json, "measured", self->measured);
  pla_json_bool(json, "own_plane", self->own_plane);
  pla_json_number(json, "rate_hz", self->coils->rate_hz);
  pla_json_number(json, "start_s", self->coils->start_s);
  if (!isnan(self->latency_s))
    pla_json_number(json, "latency_s", self->latency_s);
  if (self->phones.n > 0) {
    json_builder_set_member_name(json, "phonemes");
    json_builder_begin_array(json);
    for (int i = 0; i < self->phones.n; i++) {
      json_builder_begin_object(json);
      pla_json_text(json, "ipa", self->phones.phone[i].label);
      pla_json_number(json, "from_s", self->phones.phone[i].start_s);
      pla_json_number(json, "to_s", self->phones.phone[i].end_s);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
  }
}

static void
describe_fit(PlaWork *work, const PlaTongue *tongue)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  const double unit_mm =
      pla_work_is_null(work, "mesh_unit_mm") ? 1.0 : pla_work_number(work, "mesh_unit_mm");
  json_builder_set_member_name(json, "fit");
  json_builder_begin_object(json);
  pla_json_number(json, "scale", fit->scale);
  pla_json_number(json, "mesh_unit_mm", unit_mm * pla_tongue_mesh_factor(tongue));
  pla_json_number(json, "rotation_deg", atan2(fit->sine, fit->cosine) * 180.0 / G_PI);
  pla_json_number(json, "residual_mm", fit->residual_mm);
  const double vert[4] = { fit->vert[0], fit->vert[1], fit->vert[2], fit->vert[3] };
  pla_json_numbers(json, "vertices", vert, 4);
  json_builder_end_object(json);
}

static void
describe_formants(PlaWork *work, const Tongue *self)
{
  JsonBuilder *json = pla_work_json(work);
  PlaFormantMatch m;
  pla_tongue_track_match(self->track, self->source->coils->n_channels, &m);
  json_builder_set_member_name(json, "formants");
  json_builder_begin_object(json);
  pla_json_int(json, "voiced_frames", m.frames);
  pla_json_numbers(json, "tube_over_heard", m.ratio, PLA_FORMANTS);
  pla_json_number(json, "length_factor", m.length_factor);
  pla_json_numbers(json, "tube_over_heard_same_length", m.same_length, PLA_FORMANTS);
  pla_json_numbers(json, "correlation", m.correlation, PLA_FORMANTS);
  json_builder_end_object(json);
  pla_work_say(work,
               "  formants of the tube against the sound: %.2f %.2f %.2f times, of a tract %.2f "
               "times as long %.2f %.2f %.2f, correlation %.2f %.2f %.2f",
               m.ratio[0], m.ratio[1], m.ratio[2], m.length_factor, m.same_length[0],
               m.same_length[1], m.same_length[2], m.correlation[0], m.correlation[1],
               m.correlation[2]);
}

static void
describe_muscles(PlaWork *work, const Tongue *self)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaTongueMusclesFrame rms = pla_tongue_activations_rms(&self->explained);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_object(json);
  pla_json_int(json, "channels", self->explained.track->n_channels);
  pla_json_number(json, "motion_rms_mm", rms.motion_mm);
  pla_json_number(json, "residual_rms_mm", rms.residual_mm);
  json_builder_end_object(json);
  pla_work_say(work, "  the tongue moves by %.2f mm; the muscles leave %.2f mm unexplained",
               rms.motion_mm, rms.residual_mm);
}

static void
describe_motion(PlaWork *work, const Tongue *self)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaTongueStats *stats = &self->stats;
  const PlaTongue *tongue = pla_tongue_motion_get_tongue(self->motion);
  const PlaReducedModel *model = pla_tongue_get_model(tongue);
  const PlaCoilFit *fit = pla_tongue_get_fit(tongue);
  const PlaTrack *coils = self->source->coils;
  const double jaw[2] = { stats->min_jaw_deg, stats->max_jaw_deg };
  pla_json_number(json, "max_volume_change", stats->max_volume_change);
  pla_json_number(json, "max_penetration_mm", stats->max_penetration_mm);
  pla_json_number(json, "sensor_error_mm", stats->sensor_error_mm);
  pla_json_number(json, "steps_per_s", stats->frames / stats->seconds);
  pla_json_number(json, "volume_ms_per_step", 1e3 * stats->volume_seconds / stats->frames);
  pla_json_int(json, "projected_targets", stats->projected);
  pla_json_int(json, "unsettled_frames", stats->unsettled);
  pla_json_number(json, "iterations_per_frame", (double)stats->iterations / stats->frames);
  pla_json_int(json, "max_contacts", stats->most_contacts);
  pla_json_numbers(json, "jaw_range_deg", jaw, 2);
  pla_json_int(json, "degrees_of_freedom", 3 * pla_reduced_model_n_funcs(model));
  pla_json_int(json, "cubature_elements", pla_reduced_model_n_points(model));
  pla_json_number(json, "cubature_error", pla_tongue_cubature_error(tongue));
  pla_json_int(json, "pressure_shapes", pla_reduced_model_n_pressures(model));
  pla_json_int(json, "vertices", pla_tongue_get_mesh(tongue)->n_verts);
  pla_json_int(json, "tets", pla_tongue_get_mesh(tongue)->n_tets);
  describe_fit(work, tongue);
  pla_json_number(json, "build_seconds", self->build_s);
  pla_work_say(work, "%d frames (%.2f s of speech) in %.2f s: %.0f steps a second", stats->frames,
               coils->n_samples / coils->rate_hz, stats->seconds, stats->frames / stats->seconds);
  pla_work_say(work, "  sensors met to %.2g mm, volume within %.2f %%, deepest contact %.3f mm",
               stats->sensor_error_mm, 100.0 * stats->max_volume_change, stats->max_penetration_mm);
  pla_work_say(work, "  speaker fitted to %.2f mm, scale %.3f; jaw turns from %.1f to %.1f degrees",
               fit->residual_mm, fit->scale, jaw[0], jaw[1]);
  if (stats->projected > 0)
    pla_work_say(work, "  %d targets inside palate or teeth were moved out", stats->projected);
  if (self->source->heard_hz)
    describe_formants(work, self);
  if (self->muscles)
    describe_muscles(work, self);
}

static void
describe_end(PlaWork *work, const Source *self, bool moved, double work_s)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_number(json, "seconds", self->seconds);
  pla_json_int(json, "frames", self->coils->n_samples);
  pla_json_number(json, "realtime_factor", work_s / self->seconds);
  if (!moved) { /* no tongue, so none of these */
    pla_json_number(json, "max_volume_change", NAN);
    pla_json_number(json, "max_penetration_mm", NAN);
    pla_json_number(json, "sensor_error_mm", NAN);
  }
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (int i = 0; i < self->notes.n; i++) {
    json_builder_add_string_value(json, self->notes.text[i]);
    pla_work_say(work, "note: %s", self->notes.text[i]);
  }
  json_builder_end_array(json);
  pla_work_say(work, "%.2f s, %d frames, %.3f of real time", self->seconds, self->coils->n_samples,
               work_s / self->seconds);
}

/* ---- results ---- */

/* head, palate and jaw, once for a case */
static PlaStatus
add_mouth(PlaWork *work, double cell_mm, PlaError *err)
{
  static const char *const names[3] = { PLA_SPOKEN_PALATE, PLA_SPOKEN_JAW, PLA_SPOKEN_HEAD };
  PlaContent *part[3];
  bool all = true;
  for (int i = 0; i < 3; i++)
    all = all && pla_work_find(work, names[i]) != 0;
  if (all)
    return PLA_OK;
  PlaStatus st = pla_spoken_make_mouth(cell_mm, pla_work_progress(work), part, err);
  for (int i = 0; st == PLA_OK && i < 3; i++) {
    if (pla_work_find(work, names[i]) == 0)
      pla_work_add(work, names[i], part[i]);
    else
      pla_content_unref(part[i]);
  }
  return st;
}

/* the motion, the tongue at rest that then moves, and the mouth around it; before other results */
static PlaStatus
add_motion(PlaWork *work, Tongue *self, PlaError *err)
{
  g_autoptr(PlaContent) motion = NULL;
  g_autoptr(PlaContent) tongue = pla_content_new(PLA_ITEM_MESH);
  g_autofree char *motion_name = g_strdup_printf("%s, motion", self->source->name);
  g_autofree char *tongue_name = g_strdup_printf("%s, tongue", self->source->name);
  PlaStatus st = pla_spoken_making_finish(self->making, self->source->heard_hz, &motion, err);
  if (st == PLA_OK)
    st = pla_spoken_making_rest(self->making, &tongue->mesh, err);
  if (st != PLA_OK)
    return st;
  const char *called = pla_work_add(work, motion_name, g_steal_pointer(&motion));
  json_object_set_string_member(tongue->meta, "moves_with", called);
  pla_work_add(work, tongue_name, g_steal_pointer(&tongue));
  tongue_release(self); /* the mouth needs it */
  return add_mouth(work, pla_work_is_null(work, "cell_mm") ? 0.0 : pla_work_number(work, "cell_mm"),
                   err);
}

/* a track that the parameter @param asks for */
static PlaStatus
add_track(PlaWork *work, const char *param, const char *of, const char *what, const PlaTrack *track,
          PlaError *err)
{
  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_TRACK);
  g_autofree char *name = g_strdup_printf("%s, %s", of, what);
  PlaStatus st = pla_track_dup(track, &content->track, err);
  if (st == PLA_OK)
    pla_work_add_made(work, param, name, g_steal_pointer(&content));
  return st;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  const gint64 start = g_get_monotonic_time();
  const bool moves = !pla_work_bool(work, "track_only");
  Source source = { .latency_s = NAN };
  Tongue tongue = { .source = &source };
  int64_t item;
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &source.source, err);
  if (st == PLA_OK) {
    source.name = pla_work_item_name(work, item);
    st = find_coils(work, &source, err);
  }
  if (st == PLA_OK && moves)
    st = move_tongue(work, &tongue, err);
  const double work_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK) {
    describe_source(work, &source);
    if (moves)
      describe_motion(work, &tongue);
    describe_end(work, &source, moves, work_s);
  }
  if (st == PLA_OK && tongue.making)
    st = add_motion(work, &tongue, err);
  if (st == PLA_OK && (pla_work_bool(work, "track") || !moves || tongue.mesh))
    st = add_track(work, "track", source.name, "track", moves ? tongue.track : source.coils, err);
  if (st == PLA_OK && tongue.muscles)
    st = add_track(work, "activations", source.name, "activations", tongue.explained.track, err);
  tongue_clear(&tongue);
  source_clear(&source);
  return st;
}

static bool
is_given(JsonObject *params, const char *name)
{
  return !json_object_get_null_member(params, name);
}

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  const bool mesh = is_given(params, "mesh");
  if (mesh && json_object_get_boolean_member(params, "activations"))
    return pla_fail(
        err, PLA_ERR_USAGE,
        "activations are those of the phantom's muscles; a tongue given as a mesh has none");
  if (!mesh && (json_array_get_length(json_object_get_array_member(params, "fixed")) > 0 ||
                is_given(params, "forward") || is_given(params, "up")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "fixed, forward and up describe a tongue that is given as a mesh");
  return PLA_OK;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "a sound, or a track of coils",
    .kinds = PLA_ITEM_AUDIO " " PLA_ITEM_TRACK, .positional = true },
  { "heard", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    N_("predict sensors from the sound of a text, not from its phonemes"),
    .panel = { .title = N_("_Listen to the sound"),
               .spoken = N_("Listen to the sound"),
               .subtitle = N_("Otherwise the tongue follows the letters of the text") } },
  { "model", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "network made by speech-train (default: the built-in one)", .kinds = PLA_ITEM_RESULT,
    .arg = "NET" },
  { "coils", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "a track to follow, where the sound has been inverted already", .kinds = PLA_ITEM_TRACK,
    .option = "" },
  { "speakers", PLA_PARAM_ITEMS, NULL, 0, 0, "[]",
    "another recording of the same speaker, for the fit and the palate", .kinds = PLA_ITEM_TRACK,
    .option = "speaker", .arg = "TRACK" },
  { "mesh", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "tongue of tetrahedra (default: the built-in phantom)", .kinds = PLA_ITEM_MESH },
  { "fixed", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "its fixed degrees of freedom, 3 v + axis; none: the lowest seventh", .option = "" },
  { "mesh_unit_mm", PLA_PARAM_NUMBER, "mm", 1e-6, 1e6, "null",
    "size of its unit (default: what fits the speaker)", .arg = "U" },
  { "forward", PLA_PARAM_TEXT, NULL, 1, 2, "null",
    "where its front is: x, -x, y, ... (default: guessed)", .arg = "AXIS" },
  { "up", PLA_PARAM_TEXT, NULL, 1, 2, "null", "where its upper side is (default: guessed)",
    .arg = "AXIS" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 1, 10, "null", "tets of the phantom's tongue (default: 3.5)",
    .arg = "H" },
  { "own_plane", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "the sensors lie in the phantom's own plane, as speak writes them: no fit" },
  { "activations", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also the muscle activations that explain the motion, 0..1 per frame", .kinds = PLA_ITEM_TRACK,
    .arg = "OUT.csv", .file = true },
  { "quasistatic", PLA_PARAM_BOOL, NULL, 0, 0, "false", "without inertia and damping" },
  { "volume", PLA_PARAM_BOOL, NULL, 0, 0, "true", "the volume constraint", .option = "no-volume" },
  { "contact", PLA_PARAM_BOOL, NULL, 0, 0, "true", "contact with palate and teeth",
    .option = "no-contact" },
  { "track_only", PLA_PARAM_BOOL, NULL, 0, 0, "false", "write the track only, without a tongue" },
  { "track", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also the track, with what the tongue does in each frame", .kinds = PLA_ITEM_TRACK,
    .option = "" },
  { "motion", PLA_PARAM_BOOL, NULL, 0, 0, "true",
    "keep the motion of the phantom's tongue, to be shown", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "source", "the sound or the recording" },
  { "trained_on", "where coils come from; empty for recorded ones" },
  { "measured", "whether coils were recorded" },
  { "own_plane", "whether they lie in the phantom's own plane" },
  { "rate_hz", "frames in a second" },
  { "start_s", "time of the first frame" },
  { "latency_s", "of the network" },
  { "phonemes", "what a text says when" },
  { "max_volume_change", "largest change of the tongue's volume, part" },
  { "max_penetration_mm", "deepest contact" },
  { "sensor_error_mm", "largest distance of coils from their targets" },
  { "steps_per_s", "frames that were computed in a second", .clock = true },
  { "volume_ms_per_step", "time for the volume in each", .clock = true },
  { "projected_targets", "targets inside palate or teeth that were moved out" },
  { "unsettled_frames", "frames that stopped at the limit of iterations" },
  { "iterations_per_frame", "mean" },
  { "max_contacts", "most vertices in contact" },
  { "jaw_range_deg", "smallest and largest angle of the jaw" },
  { "degrees_of_freedom", "of the reduced tongue" },
  { "cubature_elements", "of the reduced tongue" },
  { "cubature_error", "of the reduced tongue" },
  { "pressure_shapes", "of the reduced tongue" },
  { "vertices", "of the tongue's mesh" },
  { "tets", "of the tongue's mesh" },
  { "fit", "of the speaker to the tongue" },
  { "build_seconds", "time that making the tongue took", .clock = true },
  { "formants", "of the tongue's tube against the sound" },
  { "muscles", "how well activations explain the motion" },
  { "seconds", "length of the sound or recording" },
  { "frames", "number of frames" },
  { "realtime_factor", "time of the work over that of the sound", .clock = true },
  { "notes", "what was noticed about the sound" },
  { NULL },
};

static char *
describe_speak(JsonObject *given)
{
  return g_strdup_printf("Move Tongue to “%s”",
                         json_object_get_string_member_with_default(given, "item", ""));
}

const PlaVerb pla_verb_speak = {
  .name = "speak",
  .title = "Move Tongue",
  .summary = "the motion of a tongue that says a sound, or follows recorded coils",
  .params = params,
  .results = results,
  .makes = NULL,
  .keeps = "spoken",
  .check = check,
  .describe = describe_speak,
  .run = run,
};

/* Libraries of physemes, and speaking with them. */
#include "app/motion/physemes.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/content/phonemes.h"
#include "app/motion/activation.h"
#include "io/formats/format.h"
#include "io/stream/espeak.h"
#include "io/stream/output.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
head_index(const char *name)
{
  for (int i = 0; i < PLA_HEAD_CHANNELS; i++)
    if (strcmp(name, pla_head_channels[i]) == 0)
      return i;
  return -1;
}

/* activations have no unit; angles and slides do, and may leave 0..1 */
static bool
is_activation(const char *unit)
{
  return unit[0] == '\0' || strcmp(unit, "1") == 0;
}

void
pla_physeme_library_clear(PlaPhysemeLibrary *self)
{
  g_strfreev(self->control);
  g_strfreev(self->unit);
  pla_physeme_bank_free(self->bank);
  *self = (PlaPhysemeLibrary){ 0 };
}

/* ---- one take */

typedef struct {
  char *track, *phones, *tier; /* owned; paths as they can be opened */
} Source;

static void
source_free(gpointer data)
{
  Source *s = data;
  g_free(s->track);
  g_free(s->phones);
  g_free(s->tier);
  g_free(s);
}

static PlaStatus
read_kind(const char *path, PlaKind kind, const char *tier, PlaItem *out, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  opts.tier = tier;
  PlaStatus st = pla_item_read(path, &opts, out, err);
  if (st == PLA_OK && out->kind != kind) {
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; '%s' is needed", path,
                  pla_kind_name(out->kind), pla_kind_name(kind));
    pla_item_clear(out);
  }
  return st;
}

/* the controls are the first take's channels but for the head's */
static void
take_names(PlaPhysemeLibrary *self, const PlaTrack *track)
{
  g_autoptr(GPtrArray) name = g_ptr_array_new(), unit = g_ptr_array_new();
  for (int c = 0; c < track->n_channels; c++)
    if (head_index(track->name[c]) < 0) {
      g_ptr_array_add(name, g_strdup(track->name[c]));
      g_ptr_array_add(unit, g_strdup(track->unit[c]));
    }
  self->n_controls = (int)name->len;
  g_ptr_array_add(name, NULL);
  g_ptr_array_add(unit, NULL);
  self->control = (char **)g_ptr_array_free(g_steal_pointer(&name), FALSE);
  self->unit = (char **)g_ptr_array_free(g_steal_pointer(&unit), FALSE);
}

static int
channel_named(const PlaTrack *track, const char *name)
{
  for (int c = 0; c < track->n_channels; c++)
    if (strcmp(track->name[c], name) == 0)
      return c;
  return -1;
}

/* frames of the head from six channels; false where the track has none */
static bool
take_head(const PlaTrack *track, double *head)
{
  int channel[PLA_HEAD_CHANNELS];
  for (int i = 0; i < PLA_HEAD_CHANNELS; i++)
    if ((channel[i] = channel_named(track, pla_head_channels[i])) < 0)
      return false;
  for (int f = 0; f < track->n_samples; f++) {
    const double *row = track->value + (size_t)f * (size_t)track->n_channels;
    double turn[3], *q = head + 7 * (size_t)f;
    for (int d = 0; d < 3; d++) {
      turn[d] = row[channel[d]] * G_PI / 180.0;
      q[4 + d] = row[channel[3 + d]] / 1000.0;
    }
    const double angle = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]);
    const double s = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    q[0] = cos(0.5 * angle);
    for (int d = 0; d < 3; d++)
      q[1 + d] = s * turn[d];
  }
  return true;
}

static PlaStatus
add_track(PlaPhysemeLibrary *self, const PlaTrack *track, const PlaPhones *phones, PlaError *err)
{
  const size_t n_frames = (size_t)track->n_samples, n = (size_t)self->n_controls;
  g_autofree double *control = pla_array_new(n_frames, n * sizeof *control);
  g_autofree double *head = pla_array_new(n_frames, 7 * sizeof *head);
  if (!control || !head)
    return pla_fail_memory(err, "a take");
  if (track->n_samples > 1 && !(track->rate_hz > 0.0))
    return pla_fail(err, PLA_ERR_FORMAT, "the track has no rate");
  for (size_t c = 0; c < n; c++) {
    const int channel = channel_named(track, self->control[c]);
    if (channel < 0)
      return pla_fail(err, PLA_ERR_FORMAT,
                      "the track has no channel %s, which the first take has; takes of one library "
                      "need the same model",
                      self->control[c]);
    for (size_t f = 0; f < n_frames; f++)
      control[f * n + c] = track->value[f * (size_t)track->n_channels + (size_t)channel];
  }
  const PlaControlTake take = { .n_frames = track->n_samples,
                                .n_controls = self->n_controls,
                                .rate_hz = track->rate_hz,
                                .start_s = track->start_s,
                                .control = control,
                                .head = take_head(track, head) ? head : NULL };
  self->rate_hz = fmax(self->rate_hz, track->rate_hz);
  self->seconds += track->n_samples / track->rate_hz;
  return pla_physeme_bank_add(self->bank, &take, phones, err);
}

/* @weight by name, NULL: none */
static PlaStatus
make_bank(PlaPhysemeLibrary *self, GHashTable *weight, PlaNotes *notes, PlaError *err)
{
  if (self->n_controls == 0)
    return pla_fail(err, PLA_ERR_FORMAT, "the track has no controls");
  g_autofree double *w = g_new(double, self->n_controls);
  for (int c = 0; c < self->n_controls; c++) {
    const double *value = weight ? g_hash_table_lookup(weight, self->control[c]) : NULL;
    if (weight && !value)
      pla_notes_add(notes, "%s has no weight; 0 is assumed, so the choice does not depend on it",
                    self->control[c]);
    w[c] = value ? *value : weight ? 0.0 : 1.0;
  }
  return pla_physeme_bank_new(self->n_controls, NULL, w, &self->bank, err);
}

/* weights by name from an object whose members are numbers */
static PlaStatus
weights_of(JsonObject *object, GHashTable **out, PlaError *err)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *node;
  *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  json_object_iter_init(&iter, object);
  while (json_object_iter_next(&iter, &name, &node)) {
    const GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;
    const double value =
        type == G_TYPE_DOUBLE || type == G_TYPE_INT64 ? json_node_get_double(node) : NAN;
    if (!(value >= 0.0))
      return pla_fail(err, PLA_ERR_USAGE, "the weight of \"%s\" is no number of 0 or more", name);
    g_hash_table_insert(*out, g_strdup(name), g_memdup2(&value, sizeof value));
  }
  return PLA_OK;
}

PlaStatus
pla_physeme_library_add(PlaPhysemeLibrary *self, const PlaTrack *track, const PlaPhones *phones,
                        JsonObject *weights, PlaNotes *notes, PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (!self->control)
    take_names(self, track);
  if (!self->bank) {
    g_autoptr(GHashTable) weight = NULL;
    st = weights ? weights_of(weights, &weight, err) : PLA_OK;
    if (st == PLA_OK)
      st = make_bank(self, weight, notes, err);
  }
  if (st == PLA_OK)
    st = add_track(self, track, phones, err);
  self->n_takes += st == PLA_OK;
  return st;
}

PlaStatus
pla_phones_from_text(const char *text, const char *voice, PlaPhones *out, PlaAudio **audio,
                     PlaError *err)
{
  PlaSpokenText spoken = { 0 };
  *out = (PlaPhones){ 0 };
  PlaStatus st = pla_espeak_say(text, voice, 0, -1, &spoken, err);
  for (int i = 0; i < spoken.n && st == PLA_OK; i++) {
    const double end = i + 1 < spoken.n ? spoken.phoneme[i + 1].at_s
                                        : (double)spoken.audio->n_frames / spoken.audio->rate_hz;
    st = pla_phones_add(out, spoken.phoneme[i].at_s, end, spoken.phoneme[i].ipa, err);
  }
  if (st == PLA_OK && audio)
    *audio = g_steal_pointer(&spoken.audio);
  if (st != PLA_OK)
    pla_phones_clear(out);
  pla_spoken_text_clear(&spoken);
  return st;
}

static PlaStatus
add_source(PlaPhysemeLibrary *self, const Source *source, GHashTable *weight, PlaNotes *notes,
           PlaError *err)
{
  PlaItem track = { 0 }, phones = { 0 };
  PlaStatus st = read_kind(source->track, PLA_KIND_TRACK, NULL, &track, err);
  if (st == PLA_OK)
    st = read_kind(source->phones, PLA_KIND_PHONES, source->tier, &phones, err);
  if (st == PLA_OK) {
    if (!self->control)
      take_names(self, track.track);
    if (!self->bank)
      st = make_bank(self, weight, notes, err);
    if (st == PLA_OK)
      st = add_track(self, track.track, &phones.phones, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s with %s", source->track, source->phones);
  }
  self->n_takes++;
  pla_item_clear(&track);
  pla_item_clear(&phones);
  return st;
}

static PlaStatus
add_sources(PlaPhysemeLibrary *self, GPtrArray *sources, GHashTable *weight, PlaNotes *notes,
            PlaProgress *progress, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *self = (PlaPhysemeLibrary){ 0 };
  pla_progress_phase(progress, "Reading takes", 1.0);
  for (guint i = 0; i < sources->len && st == PLA_OK; i++) {
    st = add_source(self, sources->pdata[i], weight, notes, err);
    if (st == PLA_OK && !pla_progress_step(progress, (i + 1.0) / sources->len))
      st = pla_fail(err, PLA_ERR_CANCELLED, "cancelled");
  }
  if (st != PLA_OK)
    pla_physeme_library_clear(self);
  return st;
}

/* ---- the description */

static char *
beside(const char *path, const char *name)
{
  g_autofree char *folder = g_path_get_dirname(path);
  return g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
}

static PlaStatus
read_source(const char *path, PlaJson json, Source *out, PlaError *err)
{
  static const char *const known[] = { "track", "phonemes", "tier", NULL };
  char **const to[] = { &out->track, &out->phones, &out->tier };
  PlaStatus st = pla_json_check_keys(json, known, err);
  for (int k = 0; known[k] && st == PLA_OK; k++) {
    PlaJson at;
    if (pla_json_get(json, known[k], &at))
      st = pla_json_text_value(at, to[k], err);
    else if (k < 2)
      st = pla_json_fail(json, err, "has no \"%s\"", known[k]);
  }
  for (int k = 0; k < 2 && st == PLA_OK; k++) {
    char *whole = beside(path, *to[k]);
    g_free(*to[k]);
    *to[k] = whole;
  }
  return st;
}

static PlaStatus
read_weights(PlaJson json, GHashTable **out, PlaError *err)
{
  if (!JSON_NODE_HOLDS_OBJECT(json.node))
    return pla_json_fail(json, err, "must be an object of numbers by name");
  *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(GList) names = json_object_get_members(json_node_get_object(json.node));
  for (GList *l = names; l; l = l->next) {
    PlaJson at;
    double value;
    pla_json_get(json, l->data, &at);
    PlaStatus st = pla_json_number_value(at, &value, err);
    if (st == PLA_OK && value < 0.0)
      st = pla_json_fail(at, err, "is %g; a weight cannot be negative", value);
    if (st != PLA_OK)
      return st;
    g_hash_table_insert(*out, g_strdup(l->data), g_memdup2(&value, sizeof value));
  }
  return PLA_OK;
}

void
pla_physeme_takes_clear(PlaPhysemeTakes *self)
{
  g_clear_pointer(&self->name, g_ptr_array_unref);
  g_clear_pointer(&self->take, g_ptr_array_unref);
  g_clear_pointer(&self->weights, json_object_unref);
}

/* one take with its phonemes */
static PlaStatus
read_take(const Source *source, PlaPhysemeTakes *out, PlaError *err)
{
  PlaItem track = { 0 }, phones = { 0 };
  PlaContent *content = NULL;
  PlaStatus st = read_kind(source->track, PLA_KIND_TRACK, NULL, &track, err);
  if (st == PLA_OK)
    st = read_kind(source->phones, PLA_KIND_PHONES, source->tier, &phones, err);
  if (st == PLA_OK)
    st = pla_content_take_item(&track, false, &content, err);
  if (st == PLA_OK) {
    pla_meta_set_phonemes(content->meta, &phones.phones);
    g_ptr_array_add(out->name, g_strdup(source->track));
    g_ptr_array_add(out->take, content);
  }
  pla_item_clear(&track);
  pla_item_clear(&phones);
  return st;
}

PlaStatus
pla_physeme_takes_read(const char *path, PlaPhysemeTakes *out, PlaProgress *progress, PlaError *err)
{
  static const char *const known[] = { "takes", "weights", NULL };
  g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(source_free);
  g_autoptr(GHashTable) weight = NULL;
  PlaJsonFile *file = NULL;
  PlaJson root, takes, at;
  *out =
      (PlaPhysemeTakes){ g_ptr_array_new_with_free_func(g_free),
                         g_ptr_array_new_with_free_func((GDestroyNotify)pla_content_unref), NULL };
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK)
    st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK && (!pla_json_get(root, "takes", &takes) || pla_json_length(takes) == 0))
    st = pla_json_fail(root, err, "needs \"takes\", a list with at least one");
  for (int i = 0; st == PLA_OK && i < pla_json_length(takes); i++) {
    Source *source = g_new0(Source, 1);
    g_ptr_array_add(sources, source);
    st = pla_json_at(takes, i, &at, err);
    if (st == PLA_OK)
      st = read_source(path, at, source, err);
  }
  if (st == PLA_OK && pla_json_get(root, "weights", &at)) {
    st = read_weights(at, &weight, err);
    if (st == PLA_OK)
      out->weights = json_object_ref(json_node_get_object(at.node));
  }
  if (st != PLA_OK && file)
    pla_fail_within(err, "%s", path);
  pla_json_file_free(file);
  pla_progress_phase(progress, "Reading takes", 1.0);
  for (guint i = 0; i < sources->len && st == PLA_OK; i++) {
    st = read_take(sources->pdata[i], out, err);
    if (st == PLA_OK && !pla_progress_step(progress, (i + 1.0) / sources->len))
      st = pla_fail_cancelled(err);
  }
  return st;
}

PlaStatus
pla_physeme_library_load(const char *path, PlaPhysemeLibrary *out, PlaNotes *notes,
                         PlaProgress *progress, PlaError *err)
{
  PlaPhysemeTakes takes;
  *out = (PlaPhysemeLibrary){ 0 };
  PlaStatus st = pla_physeme_takes_read(path, &takes, progress, err);
  for (guint i = 0; st == PLA_OK && i < takes.take->len; i++) {
    const PlaContent *take = takes.take->pdata[i];
    PlaPhones phones = { 0 };
    st = pla_meta_get_phonemes(take->meta, &phones, err);
    if (st == PLA_OK)
      st = pla_physeme_library_add(out, take->track, &phones, takes.weights, notes, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", (const char *)takes.name->pdata[i]);
    pla_phones_clear(&phones);
  }
  if (st != PLA_OK)
    pla_physeme_library_clear(out);
  pla_physeme_takes_clear(&takes);
  return st;
}

/* "weights" of a library, or what `fit --json` says of each control */
static PlaStatus
load_weights(const char *path, GHashTable **out, PlaError *err)
{
  PlaJsonFile *file = NULL;
  PlaJson root, at, control, value;
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st != PLA_OK)
    return st;
  if (pla_json_get(root, "weights", &at)) {
    st = read_weights(at, out, err);
  } else if (pla_json_get(root, "muscles", &at)) {
    *out = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (int i = 0; st == PLA_OK && i < pla_json_length(at); i++) {
      g_autofree char *name = NULL;
      double effect = 0.0;
      st = pla_json_at(at, i, &control, err);
      if (st == PLA_OK && pla_json_get(control, "name", &value))
        st = pla_json_text_value(value, &name, err);
      if (st == PLA_OK && pla_json_get(control, "unit_effect_mm", &value))
        st = pla_json_number_value(value, &effect, err);
      if (st == PLA_OK && name)
        g_hash_table_insert(*out, g_steal_pointer(&name), g_memdup2(&effect, sizeof effect));
    }
  } else {
    st = pla_json_fail(root, err, "has neither \"weights\" nor \"muscles\" of a fit");
  }
  if (st != PLA_OK)
    pla_fail_within(err, "%s", path);
  pla_json_file_free(file);
  return st;
}

/* as it is written from the folder of @path: relative where that is possible */
static char *
relative_name(const char *path, const char *name)
{
  g_autofree char *target = g_canonicalize_filename(path, NULL);
  g_autofree char *folder = g_path_get_dirname(target);
  char *whole = g_canonicalize_filename(name, NULL);
  g_autoptr(GString) up = g_string_new(NULL);
  while (strlen(folder) > 1) {
    const size_t n = strlen(folder);
    if (strncmp(whole, folder, n) == 0 && whole[n] == '/') {
      g_string_append(up, whole + n + 1);
      g_free(whole);
      return g_string_free(g_steal_pointer(&up), FALSE);
    }
    char *parent = g_path_get_dirname(folder);
    g_free(folder);
    folder = parent;
    g_string_append(up, "../");
  }
  return whole;
}

static char *
description_text(const char *path, const char *const *files, int n, GHashTable *weight,
                 const PlaPhysemeLibrary *library)
{
  g_autoptr(JsonBuilder) json = json_builder_new();
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "takes");
  json_builder_begin_array(json);
  for (int i = 0; i < n; i++) {
    static const char *const key[] = { "track", "phonemes" };
    json_builder_begin_object(json);
    for (int k = 0; k < 2; k++) {
      g_autofree char *name = relative_name(path, files[2 * i + k]);
      json_builder_set_member_name(json, key[k]);
      json_builder_add_string_value(json, name);
    }
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  if (weight) {
    json_builder_set_member_name(json, "weights");
    json_builder_begin_object(json);
    for (int c = 0; c < library->n_controls; c++) {
      const double *value = g_hash_table_lookup(weight, library->control[c]);
      if (value) {
        json_builder_set_member_name(json, library->control[c]);
        json_builder_add_double_value(json, *value);
      }
    }
    json_builder_end_object(json);
  }
  json_builder_end_object(json);
  g_autoptr(JsonNode) root = json_builder_get_root(json);
  return pla_json_write_lossy(root, PLA_JSON_PRETTY);
}

PlaStatus
pla_physeme_library_build(const char *path, const char *const *files, int n, const char *weights,
                          PlaPhysemeLibrary *out, PlaNotes *notes, PlaProgress *progress,
                          PlaError *err)
{
  g_autoptr(GPtrArray) sources = g_ptr_array_new_with_free_func(source_free);
  g_autoptr(GHashTable) weight = NULL;
  *out = (PlaPhysemeLibrary){ 0 };
  for (int i = 0; i < n; i++) {
    Source *source = g_new0(Source, 1);
    source->track = g_strdup(files[2 * i]);
    source->phones = g_strdup(files[2 * i + 1]);
    g_ptr_array_add(sources, source);
  }
  PlaStatus st = weights ? load_weights(weights, &weight, err) : PLA_OK;
  if (st == PLA_OK)
    st = add_sources(out, sources, weight, notes, progress, err);
  if (st == PLA_OK && pla_physeme_bank_count(out->bank) == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the takes have no phonemes, only pauses");
  if (st == PLA_OK) {
    g_autofree char *text = description_text(path, files, n, weight, out);
    st = pla_output_write(path, text, strlen(text), err);
  }
  if (st != PLA_OK)
    pla_physeme_library_clear(out);
  return st;
}

/* ---- speaking */

/* value of an expression at a time, linear between samples, held outside */
static double
expression_at(const PlaTrack *track, int channel, double time_s)
{
  const double at = CLAMP((time_s - track->start_s) * track->rate_hz, 0.0, track->n_samples - 1.0);
  const int f = (int)floor(at), next = MIN(f + 1, track->n_samples - 1);
  const double a = track->value[(size_t)f * (size_t)track->n_channels + (size_t)channel];
  const double b = track->value[(size_t)next * (size_t)track->n_channels + (size_t)channel];
  return a + (at - f) * (b - a);
}

static PlaStatus
check_expression(const PlaPhysemeLibrary *self, const PlaTrack *track, int *channel, PlaError *err)
{
  int n = 0;
  for (int c = 0; c < self->n_controls; c++) {
    channel[c] = track ? channel_named(track, self->control[c]) : -1;
    n += channel[c] >= 0;
    for (int f = 0; channel[c] >= 0 && f < track->n_samples; f++)
      if (!isfinite(track->value[(size_t)f * (size_t)track->n_channels + (size_t)channel[c]]))
        return pla_fail(err, PLA_ERR_FORMAT, "the expression has no value of %s in sample %d",
                        self->control[c], f);
  }
  if (track && (n == 0 || track->n_samples == 0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the expression moves none of the library's controls, such as %s",
                    self->control[0]);
  return PLA_OK;
}

/* columns of the head behind the controls */
static void
put_head(const double q[7], double *row)
{
  const double s = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  const double scale = (s > 1e-12 ? 2.0 * atan2(s, q[0]) / s : 2.0) * 180.0 / G_PI;
  for (int d = 0; d < 3; d++) {
    row[d] = scale * q[1 + d];
    row[3 + d] = q[4 + d] * 1000.0;
  }
}

PlaStatus
pla_physeme_library_speak(const PlaPhysemeLibrary *self, const PlaLine *line,
                          const PlaPhysemeOptions *opts, PlaTrack **out, PlaError *err)
{
  const double rate = opts->rate_hz > 0.0 ? opts->rate_hz : self->rate_hz;
  const double start = pla_line_get(line, 0).start_s;
  const double end = pla_line_get(line, pla_line_count(line) - 1).end_s;
  const int n = self->n_controls, n_frames = (int)floor((end - start) * rate) + 1;
  g_autofree int *channel = g_new(int, n);
  *out = NULL;
  PlaStatus st = check_expression(self, opts->expression, channel, err);
  if (st == PLA_OK)
    st = pla_track_new(n_frames, n + PLA_HEAD_CHANNELS, out, err);
  if (st != PLA_OK)
    return st;
  PlaTrack *track = *out;
  track->rate_hz = rate;
  track->start_s = start;
  for (int c = 0; c < n + PLA_HEAD_CHANNELS; c++) {
    track->name[c] = pla_strdup(c < n ? self->control[c] : pla_head_channels[c - n]);
    track->unit[c] =
        pla_strdup(c < n ? self->unit[c] : pla_unit_suffix(c - n < 3 ? PLA_UNIT_DEG : PLA_UNIT_MM));
  }
  g_autofree double *head = pla_array_new((size_t)n_frames, 7 * sizeof *head);
  if (!head) {
    pla_track_free(g_steal_pointer(out));
    return pla_fail_memory(err, "the track");
  }
  pla_line_head(line, rate, n_frames, head);
  for (int f = 0; f < n_frames; f++) {
    double *row = track->value + (size_t)f * (size_t)(n + PLA_HEAD_CHANNELS);
    pla_line_controls(line, start + f / rate, row);
    for (int c = 0; c < n; c++) {
      if (channel[c] >= 0)
        row[c] += opts->strength * expression_at(opts->expression, channel[c], f / rate);
      if (is_activation(self->unit[c]))
        row[c] = CLAMP(row[c], 0.0, 1.0);
    }
    put_head(head + 7 * (size_t)f, row + n);
  }
  return PLA_OK;
}

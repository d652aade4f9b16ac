/* Reading a corpus: its description, the columns of its tracks, head correction, and the split. */
#include "app/speech/speech-corpus.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "io/formats/format.h"
#include "sim/speech/speech-smooth.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const pla_speech_set_names[PLA_N_SETS + 1] = { "train", "valid", "test", NULL };

enum { LONGEST_GAP = 5 }; /* samples without a sensor that are bridged */

typedef struct {
  char *audio, *track, *speaker; /* owned */
  int speaker_index, set;        /* set -1: by the split */
} Utterance;

typedef struct {
  char *folder;
  char **sensor, **channel, **column; /* column[c]: what channel c is called in the tracks */
  int n_channels;
  char **head; /* two coils, or NULL */
  char *head_column[4];
  double rate_hz, unit_mm, delay_s, valid, test;
  double sign[2]; /* from the columns' axes to x back, y down */
  bool swapped;   /* x is the up-down axis */
  int smooth;
  bool by_speaker;
  int n_utterances, n_speakers;
  Utterance *utterance;
  double (*head_rest)[4]; /* by speaker; NaN: not met yet */
} Description;

static void
description_clear(Description *d)
{
  g_free(d->folder);
  g_strfreev(d->sensor);
  g_strfreev(d->channel);
  g_strfreev(d->column);
  g_strfreev(d->head);
  for (int i = 0; i < 4; i++)
    g_free(d->head_column[i]);
  for (int u = 0; d->utterance && u < d->n_utterances; u++) {
    g_free(d->utterance[u].audio);
    g_free(d->utterance[u].track);
    g_free(d->utterance[u].speaker);
  }
  g_free(d->utterance);
  g_free(d->head_rest);
}

char **
pla_speech_channel_names(const char *const *sensor, int n)
{
  char **name = g_new0(char *, 2 * n + 1);
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 2; d++)
      name[2 * i + d] = g_strdup_printf("%s_%c", sensor[i], "xy"[d]);
  return name;
}

/* ---- the description */

static PlaStatus
read_texts(PlaJson json, int min, int max, char ***out, PlaError *err)
{
  const int n = pla_json_length(json);
  if (n < min || n > max)
    return pla_json_fail(json, err, "must be a list of %d to %d names", min, max);
  *out = g_new0(char *, n + 1);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaJson at;
    st = pla_json_at(json, i, &at, err);
    if (st == PLA_OK)
      st = pla_json_text_value(at, &(*out)[i], err);
    if (st == PLA_OK && ((*out)[i][0] == '\0' || strlen((*out)[i]) > 50))
      st = pla_json_fail(at, err, "must be a name of 1 to 50 characters");
  }
  return st;
}

static PlaStatus
read_columns(PlaJson json, Description *d, PlaError *err)
{
  g_autofree const char **known = g_new0(const char *, d->n_channels + 1);
  PlaStatus st = PLA_OK;
  for (int c = 0; c < d->n_channels; c++)
    known[c] = d->channel[c];
  st = pla_json_check_keys(json, known, err);
  for (int c = 0; st == PLA_OK && c < d->n_channels; c++) {
    PlaJson at;
    if (!pla_json_get(json, d->channel[c], &at))
      continue;
    char *name = NULL;
    st = pla_json_text_value(at, &name, err);
    if (st != PLA_OK)
      break; /* a NULL among them would end the list */
    g_free(d->column[c]);
    d->column[c] = name;
  }
  return st;
}

/* which way the columns grow: one of the two is back or front, the other up or down */
static PlaStatus
read_axes(PlaJson json, Description *d, PlaError *err)
{
  static const char *const known[] = { "x", "y", NULL };
  static const char *const ways[] = { "back", "front", "down", "up", NULL };
  int way[2] = { 0, 2 };
  PlaStatus st = pla_json_check_keys(json, known, err);
  for (int k = 0; st == PLA_OK && k < 2; k++) {
    PlaJson at;
    if (pla_json_get(json, known[k], &at))
      st = pla_json_choice(at, ways, &way[k], err);
  }
  if (st == PLA_OK && way[0] / 2 == way[1] / 2)
    st = pla_json_fail(json, err, "must give one axis along back or front, one along up or down");
  d->swapped = way[0] >= 2;
  for (int k = 0; k < 2; k++)
    d->sign[d->swapped ? 1 - k : k] = way[k] % 2 == 0 ? 1.0 : -1.0;
  return st;
}

static PlaStatus
read_split(PlaJson json, Description *d, PlaError *err)
{
  static const char *const known[] = { "by", "valid", "test", NULL };
  static const char *const by[] = { "utterance", "speaker", NULL };
  int choice = 0;
  PlaJson at;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && pla_json_get(json, "by", &at))
    st = pla_json_choice(at, by, &choice, err);
  if (st == PLA_OK && pla_json_get(json, "valid", &at))
    st = pla_json_number_value(at, &d->valid, err);
  if (st == PLA_OK && pla_json_get(json, "test", &at))
    st = pla_json_number_value(at, &d->test, err);
  if (st == PLA_OK && !(d->valid >= 0.0 && d->test >= 0.0 && d->valid + d->test < 1.0))
    st = pla_json_fail(json, err, "leaves nothing to train on");
  d->by_speaker = choice == 1;
  return st;
}

static PlaStatus
read_utterance(PlaJson json, Utterance *out, PlaError *err)
{
  static const char *const known[] = { "audio", "track", "speaker", "set", NULL };
  PlaJson at;
  out->set = -1;
  PlaStatus st = pla_json_check_keys(json, known, err);
  if (st == PLA_OK && !pla_json_get(json, "audio", &at))
    st = pla_json_fail(json, err, "lacks its \"audio\"");
  if (st == PLA_OK)
    st = pla_json_text_value(at, &out->audio, err);
  if (st == PLA_OK && !pla_json_get(json, "track", &at))
    st = pla_json_fail(json, err, "lacks its \"track\"");
  if (st == PLA_OK)
    st = pla_json_text_value(at, &out->track, err);
  if (st == PLA_OK && pla_json_get(json, "speaker", &at))
    st = pla_json_text_value(at, &out->speaker, err);
  if (st == PLA_OK && !out->speaker)
    out->speaker = g_strdup("");
  if (st == PLA_OK && pla_json_get(json, "set", &at))
    st = pla_json_choice(at, pla_speech_set_names, &out->set, err);
  return st;
}

static PlaStatus
read_utterances(PlaJson root, Description *d, PlaError *err)
{
  PlaJson list;
  if (!pla_json_get(root, "utterances", &list) || pla_json_length(list) == 0)
    return pla_json_fail(root, err, "the corpus lists no \"utterances\"");
  g_autoptr(GHashTable) speakers = g_hash_table_new(g_str_hash, g_str_equal);
  d->n_utterances = pla_json_length(list);
  d->utterance = pla_array_new0((size_t)d->n_utterances, sizeof *d->utterance);
  if (!d->utterance)
    return pla_fail_memory(err, "the utterances");
  for (int u = 0; u < d->n_utterances; u++) {
    PlaJson at;
    PlaStatus st = pla_json_at(list, u, &at, err);
    if (st == PLA_OK)
      st = read_utterance(at, &d->utterance[u], err);
    if (st != PLA_OK)
      return st;
    void *found;
    if (!g_hash_table_lookup_extended(speakers, d->utterance[u].speaker, NULL, &found)) {
      found = GINT_TO_POINTER(d->n_speakers++);
      g_hash_table_insert(speakers, d->utterance[u].speaker, found);
    }
    d->utterance[u].speaker_index = GPOINTER_TO_INT(found);
  }
  d->head_rest = pla_array_new((size_t)d->n_speakers, sizeof *d->head_rest);
  if (!d->head_rest)
    return pla_fail_memory(err, "the speakers");
  for (int s = 0; s < d->n_speakers; s++)
    d->head_rest[s][0] = NAN;
  return PLA_OK;
}

static PlaStatus
read_numbers(PlaJson root, Description *d, PlaError *err)
{
  static const char *const units[] = { "mm", "cm", "m", NULL };
  static const double unit_mm[] = { 1.0, 10.0, 1000.0 };
  PlaJson at;
  PlaStatus st = PLA_OK;
  if (pla_json_get(root, "rate_hz", &at)) {
    st = pla_json_number_value(at, &d->rate_hz, err);
    if (st == PLA_OK && !(d->rate_hz >= 20.0 && d->rate_hz <= 10000.0))
      st = pla_json_fail(at, err, "must be from 20 to 10000");
  }
  if (st == PLA_OK && pla_json_get(root, "unit", &at)) {
    int choice;
    st = pla_json_choice(at, units, &choice, err);
    if (st == PLA_OK)
      d->unit_mm = unit_mm[choice];
  }
  if (st == PLA_OK && pla_json_get(root, "delay_s", &at)) {
    st = pla_json_number_value(at, &d->delay_s, err);
    if (st == PLA_OK && !(fabs(d->delay_s) < 3600.0))
      st = pla_json_fail(at, err, "must be less than an hour");
  }
  if (st == PLA_OK && pla_json_get(root, "smooth", &at)) {
    int64_t window;
    st = pla_json_int_value(at, 1, PLA_SMOOTH_MAX, &window, err);
    if (st == PLA_OK && window % 2 == 0)
      st = pla_json_fail(at, err, "must be odd");
    if (st == PLA_OK)
      d->smooth = (int)window;
  }
  return st;
}

static PlaStatus
read_description(PlaJson root, Description *d, PlaError *err)
{
  static const char *const known[] = { "sensors", "columns",    "rate_hz", "unit",
                                       "delay_s", "axes",       "head",    "smooth",
                                       "split",   "utterances", "about",   NULL };
  PlaJson at;
  d->sign[0] = d->sign[1] = 1.0;
  d->unit_mm = 0.0;
  d->smooth = 21;
  d->valid = d->test = 0.1;
  PlaStatus st = pla_json_check_keys(root, known, err);
  if (st == PLA_OK && pla_json_get(root, "sensors", &at))
    st = read_texts(at, 1, 64, &d->sensor, err);
  if (st == PLA_OK && !d->sensor) {
    d->sensor = g_new0(char *, PLA_SENSOR_COUNT + 1);
    for (int i = 0; i < PLA_SENSOR_COUNT; i++)
      d->sensor[i] = g_strdup(pla_sensor_names[i]);
  }
  if (st == PLA_OK) {
    d->n_channels = 2 * (int)g_strv_length(d->sensor);
    d->channel = pla_speech_channel_names((const char *const *)d->sensor, d->n_channels / 2);
    d->column = g_strdupv(d->channel);
  }
  if (st == PLA_OK && pla_json_get(root, "columns", &at))
    st = read_columns(at, d, err);
  if (st == PLA_OK && pla_json_get(root, "axes", &at))
    st = read_axes(at, d, err);
  if (st == PLA_OK && pla_json_get(root, "head", &at)) {
    st = read_texts(at, 2, 2, &d->head, err);
    for (int i = 0; st == PLA_OK && i < 4; i++)
      d->head_column[i] = g_strdup_printf("%s_%c", d->head[i / 2], "xy"[i % 2]);
  }
  if (st == PLA_OK)
    st = read_numbers(root, d, err);
  if (st == PLA_OK && pla_json_get(root, "split", &at))
    st = read_split(at, d, err);
  return st == PLA_OK ? read_utterances(root, d, err) : st;
}

/* ---- the split: every so many utterances (or speakers), spread over the list */

static PlaSpeechSet
set_of(const Description *d, int u)
{
  if (d->utterance[u].set >= 0)
    return (PlaSpeechSet)d->utterance[u].set;
  const int i = d->by_speaker ? d->utterance[u].speaker_index : u;
  const int n = d->by_speaker ? d->n_speakers : d->n_utterances;
  /* the golden section spreads any prefix evenly; ranks of few items are exact */
  const double place = fmod((i + 0.5) * 0.61803398874989485, 1.0);
  int rank = 0;
  for (int k = 0; k < n; k++)
    rank += fmod((k + 0.5) * 0.61803398874989485, 1.0) < place;
  const int n_test = d->test > 0.0 ? (int)fmax(1.0, floor(d->test * n + 0.5)) : 0;
  const int n_valid = d->valid > 0.0 ? (int)fmax(1.0, floor(d->valid * n + 0.5)) : 0;
  return rank < n_test ? PLA_SET_TEST : rank < n_test + n_valid ? PLA_SET_VALID : PLA_SET_TRAIN;
}

/* ---- one utterance */

static PlaStatus
find_column(const PlaTrack *track, const char *name, const char *path, int *out, PlaError *err)
{
  for (int c = 0; c < track->n_channels; c++)
    if (strcmp(track->name[c], name) == 0) {
      *out = c;
      return PLA_OK;
    }
  g_autoptr(GString) has = g_string_new(NULL);
  for (int c = 0; c < track->n_channels && has->len < 200; c++)
    g_string_append_printf(has, "%s%s", c ? ", " : "", track->name[c]);
  return pla_fail(err, PLA_ERR_USAGE,
                  "%s has no column '%s' (it has %s); name it under \"columns\" of the corpus",
                  path, name, has->str);
}

/* millimetres in the unit that a column says, or the corpus */
static double
column_unit_mm(const Description *d, const char *unit)
{
  if (d->unit_mm > 0.0)
    return d->unit_mm;
  return strcmp(unit, "cm") == 0 ? 10.0 : strcmp(unit, "m") == 0 ? 1000.0 : 1.0;
}

static PlaStatus
copy_column(const Description *d, const PlaTrack *track, const char *name, const char *path,
            double *out, int stride, PlaError *err)
{
  int c = 0;
  PlaStatus st = find_column(track, name, path, &c, err);
  if (st != PLA_OK)
    return st;
  const double unit = column_unit_mm(d, track->unit[c] ? track->unit[c] : "");
  for (int t = 0; t < track->n_samples; t++)
    out[(size_t)t * (size_t)stride] =
        unit * track->value[(size_t)t * (size_t)track->n_channels + (size_t)c];
  return PLA_OK;
}

/* where the two coils of the head were on average, for the speaker's later utterances */
static void
learn_head_rest(const double *head, int n, double rest[4])
{
  double sum[4] = { 0 };
  int count = 0;
  for (int t = 0; t < n; t++) {
    const double *h = head + 4 * t;
    if (!isfinite(h[0] + h[1] + h[2] + h[3]))
      continue;
    for (int i = 0; i < 4; i++)
      sum[i] += h[i];
    count++;
  }
  for (int i = 0; i < 4; i++)
    rest[i] = count > 0 ? sum[i] / count : NAN;
}

/* turns and shifts each frame so that the head's coils stand where they rest */
static void
correct_head(const double *head, const double rest[4], int n, int n_channels, double *value)
{
  for (int t = 0; t < n; t++) {
    const double *h = head + 4 * t;
    double *v = value + (size_t)t * (size_t)n_channels;
    const double angle =
        atan2(rest[3] - rest[1], rest[2] - rest[0]) - atan2(h[3] - h[1], h[2] - h[0]);
    const double c = cos(angle), s = sin(angle);
    const double mid[2] = { 0.5 * (h[0] + h[2]), 0.5 * (h[1] + h[3]) };
    const double to[2] = { 0.5 * (rest[0] + rest[2]), 0.5 * (rest[1] + rest[3]) };
    for (int k = 0; k < n_channels; k += 2) {
      const double x = v[k] - mid[0], y = v[k + 1] - mid[1];
      v[k] = to[0] + c * x - s * y; /* NaN where a coil of the head is missing */
      v[k + 1] = to[1] + s * x + c * y;
    }
  }
}

/* bridges short gaps and smooths the runs between long ones */
static PlaStatus
repair(double *value, int n, int n_channels, int window, PlaError *err)
{
  g_autofree double *run = pla_array_new((size_t)n, sizeof *run);
  PlaStatus st = run ? PLA_OK : pla_fail_memory(err, "the sensors");
  for (int c = 0; st == PLA_OK && c < n_channels; c++) {
    double *v = value + c;
    const size_t w = (size_t)n_channels;
    for (int t = 1; t < n; t++) {
      int end = t;
      while (end < n && isnan(v[(size_t)end * w]))
        end++;
      if (end > t && end < n && end - t <= LONGEST_GAP && !isnan(v[(size_t)(t - 1) * w])) {
        const double from = v[(size_t)(t - 1) * w], to = v[(size_t)end * w];
        for (int k = t; k < end; k++)
          v[(size_t)k * w] = from + (to - from) * (k - t + 1) / (end - t + 1);
      }
      t = end > t ? end : t;
    }
    for (int t = 0; st == PLA_OK && window > 1 && t < n;) {
      int end = t;
      while (end < n && !isnan(v[(size_t)end * w])) {
        run[end - t] = v[(size_t)end * w];
        end++;
      }
      st = end > t ? pla_smooth(run, end - t, 1, window, 3, err) : PLA_OK;
      for (int k = t; k < end; k++)
        v[(size_t)k * w] = run[k - t];
      t = end + 1;
    }
  }
  return st;
}

/* sensors of one track in mm, x back and y down (samples x n_channels); g_free() */
static PlaStatus
sensors_of(Description *d, const PlaTrack *track, const char *path, int speaker, double **out,
           PlaError *err)
{
  const int n = track->n_samples, w = d->n_channels;
  g_autofree double *value = pla_array_new((size_t)n, (size_t)w * sizeof *value);
  g_autofree double *head = pla_array_new((size_t)n, 4 * sizeof *head);
  PlaStatus st = value && head ? PLA_OK : pla_fail_memory(err, "the sensors");
  for (int c = 0; st == PLA_OK && c < w; c++)
    st = copy_column(d, track, d->column[c], path, value + c, w, err);
  for (int i = 0; st == PLA_OK && d->head && i < 4; i++)
    st = copy_column(d, track, d->head_column[i], path, head + i, 4, err);
  if (st == PLA_OK && d->head) {
    double *rest = d->head_rest[speaker];
    if (isnan(rest[0]))
      learn_head_rest(head, n, rest);
    if (isnan(rest[0]))
      return pla_fail(err, PLA_ERR_FORMAT, "%s: the head's coils were never measured", path);
    correct_head(head, rest, n, w, value);
  }
  for (size_t k = 0; st == PLA_OK && k < (size_t)n * (size_t)w; k += 2) {
    const double x = value[k + (d->swapped ? 1 : 0)], y = value[k + (d->swapped ? 0 : 1)];
    value[k] = d->sign[0] * x;
    value[k + 1] = d->sign[1] * y;
  }
  /* the window is meant at 100 Hz */
  const double rate = d->rate_hz > 0.0 ? d->rate_hz : track->rate_hz;
  int window = d->smooth > 1 ? 2 * (int)floor(0.5 * (d->smooth - 1) * rate / 100.0 + 0.5) + 1 : 1;
  window = window > PLA_SMOOTH_MAX ? PLA_SMOOTH_MAX : window;
  if (st == PLA_OK)
    st = repair(value, n, w, window, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&value);
  return st;
}

static PlaStatus
read_kind(const char *path, PlaKind kind, PlaItem *item, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaStatus st = pla_item_read(path, &opts, item, err);
  if (st == PLA_OK && item->kind != kind) {
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s', not '%s'", path,
                  pla_kind_name(item->kind), pla_kind_name(kind));
    pla_item_clear(item);
  }
  return st;
}

static PlaStatus
add_utterance(Description *d, const Utterance *u, PlaSpeechData *out, PlaError *err)
{
  g_autofree char *audio_path = g_canonicalize_filename(u->audio, d->folder);
  g_autofree char *track_path = g_canonicalize_filename(u->track, d->folder);
  g_autofree double *value = NULL;
  double *sample = NULL;
  size_t n = 0;
  PlaItem audio = { 0 }, track = { 0 };
  PlaStatus st = read_kind(audio_path, PLA_KIND_AUDIO, &audio, err);
  if (st == PLA_OK)
    st = read_kind(track_path, PLA_KIND_TRACK, &track, err);
  if (st == PLA_OK)
    st = sensors_of(d, track.track, track_path, u->speaker_index, &value, err);
  if (st == PLA_OK)
    st = pla_speech_samples(audio.audio, &sample, &n, err);
  if (st == PLA_OK) {
    const double rate = d->rate_hz > 0.0 ? d->rate_hz : track.track->rate_hz;
    st = pla_speech_data_add(out, u->speaker_index, sample, n, value, track.track->n_samples, rate,
                             track.track->start_s + d->delay_s, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", audio_path);
  }
  free(sample);
  pla_item_clear(&audio);
  pla_item_clear(&track);
  return st;
}

/* utterances in which sound and sensors do not meet are said, not lost silently */
static void
note_empty(const PlaSpeechData *data, const char *path, PlaNotes *notes)
{
  const int u = data->n_utterances - 1;
  long met = 0;
  for (long t = data->start[u]; t < data->start[u + 1]; t++)
    met += isfinite(data->target[(size_t)t * (size_t)data->n_channels]);
  if (met == 0)
    pla_notes_add(notes, "%s: its sensors and its sound do not overlap in time", path);
}

PlaStatus
pla_speech_corpus_load(const char *path, bool causal, unsigned sets, PlaSpeechCorpus *out,
                       PlaNotes *notes, PlaProgress *progress, PlaError *err)
{
  PlaJsonFile *file = NULL;
  PlaJson root;
  g_autofree char *folder = g_path_get_dirname(path);
  Description d = { .folder = g_canonicalize_filename(folder, NULL) };
  *out = (PlaSpeechCorpus){ 0 };
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK) {
    st = read_description(root, &d, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK) {
    out->n_channels = d.n_channels;
    out->name = g_steal_pointer(&d.channel);
    out->n_speakers = d.n_speakers;
    for (int s = 0; s < PLA_N_SETS; s++)
      pla_speech_data_init(&out->set[s], d.n_channels, causal);
  }
  pla_progress_phase(progress, "Reading the corpus", 1.0);
  for (int u = 0; st == PLA_OK && u < d.n_utterances; u++) {
    const PlaSpeechSet set = set_of(&d, u);
    if (sets & 1u << set) {
      st = add_utterance(&d, &d.utterance[u], &out->set[set], err);
      if (st == PLA_OK)
        note_empty(&out->set[set], d.utterance[u].audio, notes);
    }
    if (st == PLA_OK && !pla_progress_step(progress, (u + 1.0) / d.n_utterances))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK) {
    g_autofree char *name = g_path_get_basename(path);
    out->provenance = g_strdup_printf("the corpus %s: %d utterances of %d speakers", name,
                                      d.n_utterances, d.n_speakers);
  } else {
    pla_speech_corpus_clear(out);
  }
  description_clear(&d);
  pla_json_file_free(file);
  return st;
}

void
pla_speech_corpus_clear(PlaSpeechCorpus *self)
{
  g_strfreev(self->name);
  g_free(self->provenance);
  for (int s = 0; s < PLA_N_SETS; s++)
    pla_speech_data_clear(&self->set[s]);
  *self = (PlaSpeechCorpus){ 0 };
}

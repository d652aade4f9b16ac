/* Corpora from nothing.
 *
 * Speakers are drawn from seeds that depend on the set, so that no set has another's.  Texts are
 * words in random order, read by eSpeak for their phonemes and times; in other languages the same
 * letters give other sounds.  Of eSpeak's own voices the three sets have different variants, and
 * the test set has languages of its own. */
#include "app/speech/speech-made.h"

#include "anatomy/base/memory.h"
#include "app/base/json.h"
#include "app/speech/speech-text.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEGMENTS = 400, PARALLEL = 16, FEWEST = 4, FEWEST_HELD_OUT = 24 };
static const double utterance_s = 4.0;

static const char *const words[] = {
  "water",   "yellow", "shoe",  "teacher", "green",   "cat",     "measure", "father",  "you",
  "boy",     "house",  "bird",  "very",    "think",   "this",    "long",    "judge",   "church",
  "go",      "king",   "paper", "busy",    "zoo",     "visit",   "sheep",   "fish",    "moon",
  "nose",    "light",  "right", "week",    "choose",  "garden",  "hat",     "ahead",   "lamp",
  "ring",    "sing",   "thumb", "mother",  "breathe", "vase",    "love",    "off",     "coffee",
  "table",   "little", "apple", "bottle",  "milk",    "cold",    "snow",    "star",    "spring",
  "street",  "green",  "queen", "quick",   "twelve",  "seven",   "three",   "one",     "two",
  "four",    "nine",   "zero",  "hundred", "morning", "evening", "night",   "window",  "door",
  "kitchen", "chair",  "bread", "butter",  "sugar",   "tea",     "orange",  "banana",  "open",
  "close",   "walk",   "talk",  "speak",   "listen",  "hear",    "voice",   "tongue",  "palate",
  "lip",     "jaw",    "tooth", "teeth",   "cheek",   "mouth",   "throat",  "laugh",   "cough",
  "sneeze",  "big",    "small", "old",     "young",   "new",     "early",   "late",    "fast",
  "slow",    "good",   "bad",   "dark",    "bright",  "warm",    "cool",    "wet",     "dry",
  "soft",    "hard",   "thick", "thin",    "wide",    "narrow",  "deep",    "shallow", "high",
  "low",     "here",   "there", "where",   "never",   "always",  "often",   "maybe",   "because",
  "between", "under",  "over",  "through", "about",
};
static const char *const languages[PLA_N_SETS][12] = {
  { "en-us", "en", "de", "fr", "es", "it", "nl", "pt", "pl", "en-us", "en", "da" },
  { "en-us", "hu", "de" },
  { "en-gb-scotland", "sv", "ro", "en-us", "cs", "fi" },
};
static const char *const variants[PLA_N_SETS][16] = {
  { "", "+m1", "+m2", "+m3", "+m5", "+m8", "+f1", "+f2", "+f4", "+Andy", "+Annie", "+Alicia",
    "+Mike", "+linda", "+max", "+steph" },
  { "+m6", "+Denis", "+belinda" },
  { "+f3", "+m4", "+m7", "+f5", "+Lee", "+Gene", "+shelby" },
};

static int
count(const char *const *list, int most)
{
  int n = 0;
  while (n < most && list[n])
    n++;
  return n;
}

void
pla_made_utterance_clear(PlaMadeUtterance *self)
{
  free(self->sample);
  g_free(self->value);
  *self = (PlaMadeUtterance){ 0 };
}

static uint64_t
seed_of(PlaMadeSource source, PlaSpeechSet set, int i)
{
  return ((uint64_t)source * 16 + (uint64_t)set) * 100000007u + (uint64_t)i;
}

static char *
random_text(PlaRandom *random, int n)
{
  GString *text = g_string_new(NULL);
  for (int i = 0; i < n; i++)
    g_string_append_printf(text, "%s%s", i ? (pla_random_unit(random) < 0.12 ? ", " : " ") : "",
                           words[pla_random_below(random, G_N_ELEMENTS(words))]);
  return g_string_free(text, FALSE);
}

static const char *
pick(const char *const *list, int most, PlaRandom *random)
{
  return list[pla_random_below(random, count(list, most))];
}

static PlaStatus
read_text(PlaSpeechSet set, const char *variant, PlaRandom *random, double pace, PlaTextSpeech *out,
          PlaError *err)
{
  g_autofree char *text = random_text(random, 7 + (int)pla_random_below(random, 4));
  g_autofree char *voice =
      g_strconcat(pick(languages[set], G_N_ELEMENTS(languages[set]), random), variant, NULL);
  const int wpm = (int)(150.0 * pace);
  return pla_text_speech_make(text, voice, CLAMP(wpm, 100, 240),
                              (int)pla_random_range(random, 30.0, 70.0), out, err);
}

static void
fill_sensors(const PlaSegment *segment, int n, const PlaArticulation *how, double seconds,
             PlaMadeUtterance *out)
{
  out->n_values = (int)ceil(seconds * PLA_FRAMES_HZ) + 2;
  out->value = g_new(double, (size_t)out->n_values *PLA_SENSOR_CHANNELS);
  pla_segments_track(segment, n, how, PLA_FRAMES_HZ, 0.0, out->n_values, out->value);
}

static PlaStatus
make_tract(PlaSpeechSet set, int i, bool clean, PlaMadeUtterance *out, PlaError *err)
{
  PlaRandom who = pla_random_start(seed_of(PLA_MADE_TRACT, set, i));
  PlaRandom random = pla_random_start(seed_of(PLA_MADE_TRACT, set, i) * 3 + 1);
  const PlaSpeaker speaker = pla_speaker_random(&who);
  PlaTextSpeech text = { 0 };
  PlaSegment segment[MAX_SEGMENTS];
  int n = 0;
  PlaStatus st = PLA_OK;
  if (i % 2 == 1) {
    st = read_text(set, "", &random, speaker.pace, &text, err);
    n = MIN(text.n, MAX_SEGMENTS);
    memcpy(segment, text.segment, (size_t)n * sizeof *segment);
    pla_text_speech_clear(&text);
  } else {
    n = pla_voice_babble(&speaker, utterance_s, &random, segment, MAX_SEGMENTS);
  }
  if (st != PLA_OK)
    return st;
  const double seconds = segment[n - 1].to;
  st = pla_voice_say(&speaker, segment, n, seconds, &random, &out->sample, &out->n_samples, err);
  if (st == PLA_OK && !clean) {
    const PlaRecording how = pla_recording_random(&random);
    st = pla_recording_apply(&how, &random, out->sample, out->n_samples, err);
  }
  if (st == PLA_OK)
    fill_sensors(segment, n, &speaker.articulation, seconds, out);
  return st;
}

static PlaStatus
make_espeak(PlaSpeechSet set, int i, bool clean, PlaMadeUtterance *out, PlaError *err)
{
  PlaRandom who = pla_random_start(seed_of(PLA_MADE_ESPEAK, set, i));
  PlaRandom random = pla_random_start(seed_of(PLA_MADE_ESPEAK, set, i) * 3 + 1);
  const char *variant = pick(variants[set], G_N_ELEMENTS(variants[set]), &who);
  const double pace = pla_random_range(&who, 0.8, 1.3);
  const PlaArticulation how = pla_articulation_default();
  PlaTextSpeech text;
  PlaStatus st = read_text(set, variant, &random, pace, &text, err);
  if (st != PLA_OK)
    return st;
  st = pla_speech_samples(text.spoken.audio, &out->sample, &out->n_samples, err);
  if (st == PLA_OK && !clean) {
    const PlaRecording recording = pla_recording_random(&random);
    st = pla_recording_apply(&recording, &random, out->sample, out->n_samples, err);
  }
  if (st == PLA_OK)
    fill_sensors(text.segment, text.n, &how, text.seconds, out);
  pla_text_speech_clear(&text);
  return st;
}

PlaStatus
pla_made_utterance(PlaMadeSource source, PlaSpeechSet set, int i, bool clean, PlaMadeUtterance *out,
                   PlaError *err)
{
  *out = (PlaMadeUtterance){ 0 };
  PlaStatus st = source == PLA_MADE_TRACT ? make_tract(set, i, clean, out, err)
                                          : make_espeak(set, i, clean, out, err);
  if (st != PLA_OK)
    pla_made_utterance_clear(out);
  return st;
}

bool
pla_speech_made_parse(const char *name, unsigned *sources)
{
  static const struct {
    const char *name;
    unsigned sources;
  } made[] = { { "made:tract", PLA_MADE_TRACT },
               { "made:espeak", PLA_MADE_ESPEAK },
               { "made:both", PLA_MADE_TRACT | PLA_MADE_ESPEAK } };
  for (size_t i = 0; i < G_N_ELEMENTS(made); i++)
    if (strcmp(name, made[i].name) == 0) {
      *sources = made[i].sources;
      return true;
    }
  return false;
}

/* utterances first .. first + n - 1, made side by side, added in order */
static PlaStatus
add_made(PlaMadeSource source, PlaSpeechSet set, int first, int n, PlaSpeechData *out,
         PlaError *err)
{
  PlaMadeUtterance made[PARALLEL];
  PlaStatus status[PARALLEL], st = PLA_OK;
  PlaError errors[PARALLEL];
#pragma omp parallel for schedule(dynamic, 1)
  for (int k = 0; k < n; k++)
    status[k] = pla_made_utterance(source, set, first + k, false, &made[k], &errors[k]);
  for (int k = 0; k < n; k++) {
    if (st == PLA_OK && status[k] != PLA_OK) {
      st = status[k];
      if (err)
        *err = errors[k];
    }
    const int speaker = (int)source * 1000000 + first + k;
    if (st == PLA_OK)
      st = pla_speech_data_add(out, speaker, made[k].sample, made[k].n_samples, made[k].value,
                               made[k].n_values, PLA_FRAMES_HZ, 0.0, err);
    if (status[k] == PLA_OK)
      pla_made_utterance_clear(&made[k]);
  }
  return st;
}

PlaStatus
pla_speech_made_load(unsigned sources, double minutes, bool causal, unsigned sets,
                     PlaSpeechCorpus *out, PlaProgress *progress, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *out = (PlaSpeechCorpus){ .n_channels = PLA_SENSOR_CHANNELS };
  out->name = pla_speech_channel_names(pla_sensor_names, PLA_SENSOR_COUNT);
  const int n_train = (int)fmax(FEWEST, 60.0 * minutes / utterance_s);
  const int n_sources = (sources & PLA_MADE_TRACT ? 1 : 0) + (sources & PLA_MADE_ESPEAK ? 1 : 0);
  int done = 0, total = 0;
  for (int s = 0; s < PLA_N_SETS; s++) {
    pla_speech_data_init(&out->set[s], PLA_SENSOR_CHANNELS, causal);
    total +=
        sets & 1u << s ? n_sources * (s == 0 ? n_train : MAX(n_train / 10, FEWEST_HELD_OUT)) : 0;
  }
  pla_progress_phase(progress, "Making speech", 1.0);
  for (int s = 0; st == PLA_OK && s < PLA_N_SETS; s++)
    for (unsigned source = 1; source <= 2; source *= 2) {
      if (!(sets & 1u << s) || !(sources & source))
        continue;
      const int n = s == 0 ? n_train : MAX(n_train / 10, FEWEST_HELD_OUT);
      out->n_speakers += n;
      for (int i = 0; st == PLA_OK && i < n; i += PARALLEL) {
        st = add_made((PlaMadeSource)source, (PlaSpeechSet)s, i, MIN(PARALLEL, n - i), &out->set[s],
                      err);
        done += MIN(PARALLEL, n - i);
        if (st == PLA_OK && !pla_progress_step(progress, (double)done / total))
          st = pla_fail_cancelled(err);
      }
    }
  if (st == PLA_OK)
    out->provenance = g_strdup_printf(
        "speech made by Platysma%s%s%s: no recording of a person",
        sources & PLA_MADE_TRACT ? ", its own articulatory synthesiser" : "",
        n_sources == 2              ? " and"
        : sources & PLA_MADE_ESPEAK ? ","
                                    : "",
        sources & PLA_MADE_ESPEAK ? " eSpeak NG voices with targets of their phonemes" : "");
  else
    pla_speech_corpus_clear(out);
  return st;
}

/* ---- corpora as files */

static PlaStatus
write_pair(const char *dir, const char *name, const char *extension, const PlaMadeUtterance *made,
           PlaError *err)
{
  g_autofree char *audio_path = g_strdup_printf("%s/%s.wav", dir, name);
  g_autofree char *track_path = g_strdup_printf("%s/%s%s", dir, name, extension);
  g_autofree int16_t *pcm = g_new(int16_t, made->n_samples + 1);
  for (size_t i = 0; i < made->n_samples; i++)
    pcm[i] = (int16_t)lrint(CLAMP(made->sample[i], -1.0, 1.0) * 32767.0);
  PlaAudio audio = { (int64_t)made->n_samples, 1, PLA_SPEECH_HZ, PLA_I16, 16, pcm };
  PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = &audio };
  PlaWriteOptions opts = pla_write_options_default();
  PlaTrack *track = NULL;
  PlaStatus st = pla_item_write(audio_path, &item, &opts, err);
  if (st == PLA_OK)
    st = pla_sensor_track_new(made->n_values, &track, err);
  if (st == PLA_OK) {
    track->start_s = 0.0;
    for (size_t k = 0; k < (size_t)made->n_values * PLA_SENSOR_CHANNELS; k++)
      track->value[k] = round(made->value[k] * 1e4) / 1e4;
    item = (PlaItem){ .kind = PLA_KIND_TRACK, .track = track };
    st = pla_item_write(track_path, &item, &opts, err);
  }
  pla_track_free(track);
  return st;
}

static void
describe_pair(JsonBuilder *json, const char *name, const char *extension, int speaker)
{
  g_autofree char *audio = g_strdup_printf("%s.wav", name);
  g_autofree char *track = g_strdup_printf("%s%s", name, extension);
  g_autofree char *who = g_strdup_printf("speaker%02d", speaker);
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "audio");
  json_builder_add_string_value(json, audio);
  json_builder_set_member_name(json, "track");
  json_builder_add_string_value(json, track);
  json_builder_set_member_name(json, "speaker");
  json_builder_add_string_value(json, who);
  json_builder_end_object(json);
}

PlaStatus
pla_speech_made_write(const char *dir, const char *extension, double minutes, int n_speakers,
                      unsigned seed, int *n_utterances, PlaProgress *progress, PlaError *err)
{
  if (g_mkdir_with_parents(dir, 0777) != 0)
    return pla_fail(err, PLA_ERR_IO, "the folder %s cannot be made: %s", dir, g_strerror(errno));
  const int n = (int)fmax(8.0, 60.0 * minutes / utterance_s);
  g_autoptr(JsonBuilder) json = json_builder_new();
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "about");
  json_builder_add_string_value(json, "made by Platysma's articulatory synthesiser");
  json_builder_set_member_name(json, "utterances");
  json_builder_begin_array(json);
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Making speech", 1.0);
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaMadeUtterance made;
    PlaSegment segment[MAX_SEGMENTS];
    const int who = i % n_speakers;
    PlaRandom person = pla_random_start(seed * 1000u + 7u + (unsigned)who);
    PlaRandom random = pla_random_start(seed * 7919u + (unsigned)i);
    const PlaSpeaker speaker = pla_speaker_random(&person);
    const int n_segments = pla_voice_babble(&speaker, utterance_s, &random, segment, MAX_SEGMENTS);
    const double seconds = segment[n_segments - 1].to;
    made = (PlaMadeUtterance){ 0 };
    st = pla_voice_say(&speaker, segment, n_segments, seconds, &random, &made.sample,
                       &made.n_samples, err);
    g_autofree char *name = g_strdup_printf("utterance%04d", i);
    if (st == PLA_OK) {
      fill_sensors(segment, n_segments, &speaker.articulation, seconds, &made);
      st = write_pair(dir, name, extension, &made, err);
      describe_pair(json, name, extension, who);
    }
    pla_made_utterance_clear(&made);
    if (st == PLA_OK && !pla_progress_step(progress, (i + 1.0) / n))
      st = pla_fail_cancelled(err);
  }
  json_builder_end_array(json);
  json_builder_end_object(json);
  *n_utterances = n;
  if (st != PLA_OK)
    return st;
  g_autoptr(JsonNode) root = json_builder_get_root(json);
  g_autofree char *text = pla_json_write_lossy(root, PLA_JSON_PRETTY);
  g_autofree char *path = g_strdup_printf("%s/corpus.json", dir);
  return pla_output_write(path, text, strlen(text), err);
}

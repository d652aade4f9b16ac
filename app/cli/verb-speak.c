/* `speak`: from a sound to the paths of the articulators.
 *
 * First a sensor track is had from somewhere, then it is used: two stages that know nothing of each
 * other. */
#include "app/cli/cli-private.h"
#include "app/cli/speak-tongue.h"
#include "app/speech/speech-live.h"
#include "app/speech/speech-net.h"
#include "app/speech/speech-text.h"
#include "io/formats/format.h"
#include "sim/speech/formants.h"
#include "sim/speech/speech-model.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* where the track comes from, and what was heard */
typedef struct {
  PlaTrack *track; /* owned */
  double seconds;  /* of sound or recording */
  double work_s;   /* time that inverting the sound took */
  bool own_plane;  /* the track lies in the phantom's own plane */
  double *heard;   /* owned: resonances of the sound (frames x PLA_FORMANTS), or NULL */
  PlaNotes notes;
} Spoken;

static void
spoken_clear(Spoken *s)
{
  pla_track_free(s->track);
  g_free(s->heard);
  pla_notes_clear(&s->notes);
}

static PlaStatus
load_model(PlaInvocation *inv, PlaSpeechModel **out, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "model", 0, NULL);
  return path ? pla_speech_net_read(path, out, err) : pla_speech_net_built_in(out, err);
}

/* frames of future that the smoothing of live speech uses */
enum { LIVE_SMOOTH_AHEAD = 2 };

static void
describe_live(PlaInvocation *inv, const PlaLiveReport *live)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_number(json, "look_ahead_s", live->look_ahead_s);
  pla_json_number(json, "live_median_late_s", live->median_late_s);
  pla_json_number(json, "live_most_late_s", live->most_late_s);
  pla_say(inv, "live: look-ahead %.0f ms; frames came %.1f ms after that (median), %.1f ms at most",
          1000.0 * live->look_ahead_s, 1000.0 * live->median_late_s, 1000.0 * live->most_late_s);
}

/* resonances of the sound at the frames of the track */
static PlaStatus
hear_formants(const PlaAudio *audio, Spoken *out, PlaError *err)
{
  double *sample = NULL;
  size_t n = 0;
  PlaStatus st = pla_speech_samples(audio, &sample, &n, err);
  if (st == PLA_OK) {
    out->heard = g_try_new(double, PLA_FORMANTS *(size_t)out->track->n_samples);
    if (out->heard)
      pla_formants_track(sample, n, out->track->n_samples, out->heard);
    else
      st = pla_fail_memory(err, "the formants");
  }
  free(sample);
  return st;
}

/* the built-in model speaks in the phantom's plane; of others it must be said */
static bool
speaks_in_own_plane(PlaInvocation *inv)
{
  return !pla_invocation_has(inv, "model") || pla_invocation_has(inv, "own-plane");
}

static PlaStatus
from_microphone(PlaInvocation *inv, double seconds, Spoken *out, PlaError *err)
{
  PlaSpeechModel *model = NULL;
  PlaLiveReport live;
  PlaStatus st = load_model(inv, &model, err);
  if (st == PLA_OK)
    st = pla_speech_live_microphone(model, seconds, LIVE_SMOOTH_AHEAD, &out->track, &live,
                                    pla_invocation_progress(inv), err);
  if (st == PLA_OK) {
    out->seconds = out->track->n_samples / out->track->rate_hz;
    out->work_s = 0.0;
    out->own_plane = speaks_in_own_plane(inv);
    describe_live(inv, &live);
  }
  pla_speech_model_free(model);
  return st;
}

static PlaStatus
invert(PlaInvocation *inv, const PlaAudio *audio, Spoken *out, PlaError *err)
{
  PlaSpeechModel *model = NULL;
  PlaStatus st = load_model(inv, &model, err);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK && pla_invocation_has(inv, "live")) {
    PlaLiveReport live;
    pla_speech_judge(audio, &out->notes);
    st = pla_speech_live_file(model, audio, LIVE_SMOOTH_AHEAD, &out->track, &live,
                              pla_invocation_progress(inv), err);
    if (st == PLA_OK)
      describe_live(inv, &live);
  } else if (st == PLA_OK) {
    st = pla_speech_invert(model, audio, &out->track, &out->notes, pla_invocation_progress(inv),
                           err);
  }
  if (st == PLA_OK)
    st = hear_formants(audio, out, err);
  out->work_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  out->seconds = (double)audio->n_frames / audio->rate_hz;
  out->own_plane = speaks_in_own_plane(inv);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    pla_json_text(json, "trained_on", model->provenance);
    pla_json_number(json, "latency_s", pla_speech_latency_s(&model->context, model->smooth / 2));
  }
  pla_speech_model_free(model);
  return st;
}

static PlaStatus
from_sound(PlaInvocation *inv, const char *path, Spoken *out, PlaError *err)
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaStatus st = pla_item_read(path, &opts, &item, err);
  if (st != PLA_OK)
    return st;
  if (item.kind == PLA_KIND_AUDIO)
    st = invert(inv, item.audio, out, err);
  else
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; a sound is needed", path,
                  pla_kind_name(item.kind));
  if (st != PLA_OK && item.kind == PLA_KIND_AUDIO)
    pla_fail_within(err, "%s", path);
  pla_item_clear(&item);
  return st;
}

static PlaStatus
from_sensors(const char *path, Spoken *out, PlaError *err)
{
  PlaItem item;
  PlaStatus st = pla_speak_read_track(path, &item, err);
  if (st != PLA_OK)
    return st;
  out->track = item.track;
  out->notes = item.notes;
  out->seconds = item.track->n_samples / item.track->rate_hz;
  item.track = NULL;
  item.notes = (PlaNotes){ 0 };
  pla_item_clear(&item);
  return PLA_OK;
}

static void
describe_segments(PlaInvocation *inv, const PlaTextSpeech *text)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "phonemes");
  json_builder_begin_array(json);
  for (int i = 0; i < text->n; i++) {
    json_builder_begin_object(json);
    pla_json_text(json, "ipa", text->segment[i].phone->ipa);
    pla_json_number(json, "from_s", text->segment[i].from);
    pla_json_number(json, "to_s", text->segment[i].to);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

/* the phonemes of a text are known, so that their targets need not be guessed from the sound */
static PlaStatus
from_text(PlaInvocation *inv, const char *words, Spoken *out, PlaError *err)
{
  PlaTextSpeech text;
  const PlaArticulation how = pla_articulation_default();
  PlaStatus st =
      pla_text_speech_make(words, pla_invocation_text(inv, "voice", 0, NULL),
                           pla_invocation_int(inv, "words-per-minute", 0), -1, &text, err);
  if (st != PLA_OK)
    return st;
  const gint64 start = g_get_monotonic_time();
  if (pla_invocation_has(inv, "heard"))
    st = invert(inv, text.spoken.audio, out, err);
  else
    st = pla_text_speech_track(&text, &how, &out->track, err);
  if (st == PLA_OK && !out->heard)
    st = hear_formants(text.spoken.audio, out, err);
  out->own_plane = !pla_invocation_has(inv, "heard") || speaks_in_own_plane(inv);
  out->work_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  out->seconds = text.seconds;
  if (st == PLA_OK && pla_invocation_has(inv, "sound")) {
    const PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = text.spoken.audio };
    PlaWriteOptions opts = pla_write_options_default();
    st = pla_item_write(pla_invocation_text(inv, "sound", 0, NULL), &item, &opts, err);
  }
  if (st == PLA_OK)
    describe_segments(inv, &text);
  pla_text_speech_clear(&text);
  return st;
}

/* the one source that was given */
static PlaStatus
get_track(PlaInvocation *inv, Spoken *out, PlaError *err)
{
  const char *sound = pla_invocation_n_files(inv) > 0 ? pla_invocation_file(inv, 0) : NULL;
  const char *sensors = pla_invocation_text(inv, "sensors", 0, NULL);
  const char *text = pla_invocation_text(inv, "text", 0, NULL);
  const bool microphone = pla_invocation_has(inv, "microphone");
  if ((sound != NULL) + (text != NULL) + (sensors != NULL) + microphone != 1)
    return pla_fail(err, PLA_ERR_USAGE,
                    "give one input: platysma-cli speak voice.wav -o track.csv, or "
                    "--text \"good morning\", --microphone SECONDS or --sensors TRACK "
                    "instead of the sound");
  if (sensors) {
    out->own_plane = pla_invocation_has(inv, "own-plane");
    return from_sensors(sensors, out, err);
  }
  if (microphone)
    return from_microphone(inv, pla_invocation_number(inv, "microphone", 5.0), out, err);
  return text ? from_text(inv, text, out, err) : from_sound(inv, sound, out, err);
}

static PlaStatus
write_track(PlaInvocation *inv, PlaTrack *track, PlaError *err)
{
  const PlaItem item = { .kind = PLA_KIND_TRACK, .track = track };
  PlaWriteOptions opts = pla_write_options_default();
  return pla_item_write(pla_invocation_output(inv), &item, &opts, err);
}

static void
describe(PlaInvocation *inv, const Spoken *s)
{
  JsonBuilder *json = pla_invocation_json(inv);
  pla_json_number(json, "seconds", s->seconds);
  pla_json_int(json, "frames", s->track->n_samples);
  pla_json_number(json, "realtime_factor", s->work_s / s->seconds);
  if (pla_invocation_has(inv, "track-only")) { /* no tongue, so none of these */
    pla_json_number(json, "max_volume_change", NAN);
    pla_json_number(json, "max_penetration_mm", NAN);
    pla_json_number(json, "sensor_error_mm", NAN);
  }
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (int i = 0; i < s->notes.n; i++) {
    json_builder_add_string_value(json, s->notes.text[i]);
    pla_say(inv, "note: %s", s->notes.text[i]);
  }
  json_builder_end_array(json);
  pla_say(inv, "%.2f s, %d frames, %.3f of real time", s->seconds, s->track->n_samples,
          s->work_s / s->seconds);
}

static PlaStatus
run_speak(PlaInvocation *inv, PlaError *err)
{
  Spoken spoken = { 0 };
  PlaStatus st = PLA_OK;
  /* a file name that cannot hold a track is refused before the work starts */
  if (pla_invocation_output(inv)) {
    const PlaFormat *format;
    st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_TRACK, &format, err);
  }
  if (st == PLA_OK)
    st = get_track(inv, &spoken, err);
  if (st == PLA_OK && !pla_invocation_has(inv, "track-only")) {
    double moving_s;
    st = pla_speak_tongue(inv, spoken.own_plane, spoken.heard, &spoken.track, &moving_s, err);
    spoken.work_s += moving_s;
  }
  if (st == PLA_OK && pla_invocation_output(inv))
    st = write_track(inv, spoken.track, err);
  if (st == PLA_OK)
    describe(inv, &spoken);
  spoken_clear(&spoken);
  return st;
}

static const PlaOpt options[] = {
  { "text", 0, PLA_OPT_TEXT, "WORDS", "speak a text instead of a sound file" },
  { "voice", 0, PLA_OPT_TEXT, "NAME",
    "language of the text and a variant, as in en-us+f3 (default: en)" },
  { "words-per-minute", 0, PLA_OPT_INT, "N", "pace of the text (default: 160)", 80, 450 },
  { "sound", 0, PLA_OPT_OUTPUT, "FILE", "write the sound of the text" },
  { "heard", 0, PLA_OPT_FLAG, NULL,
    "predict sensors from the sound of the text, not from its phonemes" },
  { "microphone", 0, PLA_OPT_NUMBER, "S", "record S seconds from the microphone", 0.1, 36000 },
  { "live", 0, PLA_OPT_FLAG, NULL, "feed the sound in real time and report the latency of frames" },
  { "model", 0, PLA_OPT_TEXT, "NET", "network made by speech-train (default: the built-in one)" },
  { "sensors", 0, PLA_OPT_TEXT, "TRACK", "follow recorded coils: TR TD TB TT, LI for the jaw; mm" },
  PLA_SPEAK_TONGUE_OPTIONS,
  { NULL },
};

const PlaVerb pla_verb_speak = {
  .name = "speak",
  .args = "AUDIO|--text WORDS|--sensors TRACK -o TRACK.csv",
  .summary = "computes an articulator track from speech, and the motion of a tongue",
  .description =
      "Sound of any rate and format becomes the paths of seven sensors in the midsagittal\n"
      "plane, in mm at 100 Hz: tongue rear, dorsum, blade and tip (TR TD TB TT), lower incisor\n"
      "(LI), upper and lower lip (UL LL); x points to the back, y downwards.  Notes report\n"
      "silence, clipping, a narrow band and several channels.  --sensors reads a recorded track\n"
      "instead of a sound.  A text is spoken by eSpeak NG, in any of its languages and voices;\n"
      "the sensors follow the targets of its phonemes, blended over time.\n\n"
      "A reduced elastic tongue of 150 degrees of freedom follows the track: exact positions of\n"
      "the four tongue coils, constant volume, contact with palate, teeth and jaw.  The\n"
      "attachments of the tongue move with the lower incisors.  Texts and the built-in model\n"
      "use the phantom's own plane.  For recorded coils and for a --mesh, a similarity\n"
      "transform maps the mean positions of the tongue coils, over the track and every\n"
      "--speaker, to vertices on the back of the tongue; lateral positions stay.  For a mesh\n"
      "without a palate, one is built above the envelope of all paths.  Targets inside palate\n"
      "or teeth are moved out and counted.  Lengths are in the speaker's millimetres.\n"
      "TRACK.csv also has the jaw's angle, the volume and the deepest contact of every frame.",
  .example = "platysma-cli speak voice.wav -o track.csv --json",
  .min_files = 0,
  .max_files = 1,
  .options = options,
  .run = run_speak,
};

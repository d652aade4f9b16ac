/* `speak`: from a sound to the paths of the articulators.
 *
 * First a sensor track is had from somewhere, then it is used: two stages that know nothing of each
 * other. */
#include "app/cli/cli-private.h"
#include "app/speech-net.h"
#include "io/format.h"
#include "sim/speech/model.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* where the track comes from, and what was heard */
typedef struct {
  PlaTrack *track; /* owned */
  double seconds;  /* of sound or recording */
  double work_s;   /* time that inverting the sound took */
  PlaNotes notes;
} Spoken;

static void
spoken_clear(Spoken *s)
{
  pla_track_free(s->track);
  pla_notes_clear(&s->notes);
}

static PlaStatus
load_model(PlaInvocation *inv, PlaSpeechModel **out, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "model", 0, NULL);
  return path ? pla_speech_net_read(path, out, err) : pla_speech_net_built_in(out, err);
}

static PlaStatus
invert(PlaInvocation *inv, const PlaAudio *audio, Spoken *out, PlaError *err)
{
  PlaSpeechModel *model = NULL;
  PlaStatus st = load_model(inv, &model, err);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_speech_invert(model, audio, &out->track, &out->notes, pla_invocation_progress(inv),
                           err);
  out->work_s = (double)(g_get_monotonic_time() - start) * 1e-6;
  out->seconds = (double)audio->n_frames / audio->rate_hz;
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

/* the one source that was given */
static PlaStatus
get_track(PlaInvocation *inv, Spoken *out, PlaError *err)
{
  const char *sound = pla_invocation_n_files(inv) > 0 ? pla_invocation_file(inv, 0) : NULL;
  if (!sound)
    return pla_fail(err, PLA_ERR_USAGE,
                    "say what to speak: platysma-cli speak voice.wav -o track.csv");
  return from_sound(inv, sound, out, err);
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
  /* of a tongue that follows the track, where one was asked for */
  pla_json_number(json, "max_volume_change", NAN);
  pla_json_number(json, "max_penetration_mm", NAN);
  pla_json_number(json, "sensor_error_mm", NAN);
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
  if (st == PLA_OK && pla_invocation_output(inv))
    st = write_track(inv, spoken.track, err);
  if (st == PLA_OK)
    describe(inv, &spoken);
  spoken_clear(&spoken);
  return st;
}

static const PlaOpt options[] = {
  { "model", 0, PLA_OPT_TEXT, "NET", "network made by speech-train (default: the built-in one)" },
  { NULL },
};

const PlaVerb pla_verb_speak = {
  .name = "speak",
  .args = "AUDIO -o TRACK.csv",
  .summary = "makes the track of the articulators from speech",
  .description =
      "Sound of any rate and format becomes the paths of seven sensors in the midsagittal plane, in\n"
      "mm at 100 Hz: tongue rear, dorsum, blade and tip (TR TD TB TT), lower incisor (LI), upper and\n"
      "lower lip (UL LL); x grows to the back, y downwards.  Silence, clipping, a narrow band and\n"
      "several channels are said in notes.",
  .example = "platysma-cli speak voice.wav -o track.csv --json",
  .min_files = 0,
  .max_files = 1,
  .options = options,
  .run = run_speak,
};

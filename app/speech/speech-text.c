/* Phonemes of a text become segments: each lasts to the next one's beginning, the last to the end
 * of the sound, where it is cut short; what eSpeak calls a pause is silence. */
#include "app/speech/speech-text.h"

#include "anatomy/base/memory.h"
#include "app/base/quantity.h"
#include "sim/speech/speech-features.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum { SOUNDS_IN_PHONEME = 4 };
static const double longest_phoneme = 0.35; /* s; what follows is silence */

static void
make_segments(PlaTextSpeech *self)
{
  const PlaSpokenText *s = &self->spoken;
  const int most = 2 * SOUNDS_IN_PHONEME * (s->n + 2);
  int n = 0;
  self->segment = g_new0(PlaSegment, most);
  double t = 0.0;
  for (int i = 0; i <= s->n; i++) {
    const double from = i < s->n ? CLAMP(s->phoneme[i].at_s, t, self->seconds) : self->seconds;
    if (i == 0 && from > 0.0)
      self->segment[n++] = (PlaSegment){ pla_sound_silence(), 0.0, from };
    if (i > 0) {
      const double to = fmin(from, t + longest_phoneme);
      const int added = to > t ? pla_sounds_parse(s->phoneme[i - 1].ipa, t, to, self->segment + n,
                                                  SOUNDS_IN_PHONEME)
                               : 0;
      n += added;
      const double rest = added > 0 ? to : t;
      if (from - rest > 1e-6)
        self->segment[n++] = (PlaSegment){ pla_sound_silence(), rest, from };
    }
    t = from;
  }
  self->n = n;
}

PlaStatus
pla_text_speech_make(const char *text, const char *voice, int words_per_minute, int pitch,
                     PlaTextSpeech *out, PlaError *err)
{
  *out = (PlaTextSpeech){ 0 };
  PlaStatus st = pla_espeak_say(text, voice, words_per_minute, pitch, &out->spoken, err);
  if (st != PLA_OK)
    return st;
  out->seconds = (double)out->spoken.audio->n_frames / out->spoken.audio->rate_hz;
  make_segments(out);
  return PLA_OK;
}

void
pla_text_speech_clear(PlaTextSpeech *self)
{
  pla_spoken_text_clear(&self->spoken);
  g_free(self->segment);
  *self = (PlaTextSpeech){ 0 };
}

PlaStatus
pla_sensor_track_new(int n_samples, PlaTrack **out, PlaError *err)
{
  PlaStatus st = pla_track_new(n_samples, PLA_SENSOR_CHANNELS, out, err);
  if (st != PLA_OK)
    return st;
  PlaTrack *track = *out;
  track->rate_hz = PLA_FRAMES_HZ;
  track->start_s = 0.5 * PLA_FRAME_SAMPLES / PLA_SPEECH_HZ;
  for (int c = 0; c < PLA_SENSOR_CHANNELS; c++) {
    track->name[c] = pla_strdup_printf("%s_%c", pla_sensor_names[c / 2], "xy"[c % 2]);
    track->unit[c] = pla_strdup(pla_unit_suffix(PLA_UNIT_MM));
    if (!track->name[c] || !track->unit[c]) {
      pla_track_free(track);
      *out = NULL;
      return pla_fail_memory(err, "the sensor track");
    }
  }
  return PLA_OK;
}

PlaStatus
pla_text_speech_track(const PlaTextSpeech *self, const PlaArticulation *how, PlaTrack **out,
                      PlaError *err)
{
  const int n = (int)fmax(1.0, floor((self->seconds - 0.025) * PLA_FRAMES_HZ) + 1.0);
  PlaStatus st = pla_sensor_track_new(n, out, err);
  if (st == PLA_OK)
    pla_segments_track(self->segment, self->n, how, PLA_FRAMES_HZ, (*out)->start_s, n,
                       (*out)->value);
  return st;
}

/* Recording, and sounds as views show them. */
#include "app/speech/recording.h"

#include "app/content/files.h"
#include "io/stream/espeak.h"
#include "io/stream/microphone.h"
#include "sim/speech/speech-features.h"
#include "sim/speech/speech-model.h"

#include <math.h>
#include <stdlib.h>

PlaStatus
pla_recording_make(const char *path, double longest_s, int *loudness, PlaProgress *progress,
                   PlaError *err)
{
  PlaMicrophone *microphone = NULL;
  double rate_hz = 44100.0;
  PlaStatus st = pla_microphone_open(&rate_hz, &microphone, err);
  if (st != PLA_OK)
    return st;
  /* in pieces of 20 ms */
  const gsize piece = (gsize)(rate_hz / 50.0);
  const int pieces = (int)(longest_s * 50.0);
  g_autofree double *sample = g_new(double, piece);
  g_autoptr(GArray) kept = g_array_new(FALSE, FALSE, sizeof(gint16));
  pla_progress_phase(progress, "Recording", 1.0);
  for (int i = 0; st == PLA_OK && i < pieces && pla_progress_step(progress, (double)i / pieces);
       i++) {
    double most = 0.0;
    st = pla_microphone_read(microphone, sample, piece, err);
    for (gsize k = 0; st == PLA_OK && k < piece; k++) {
      const gint16 value = (gint16)lround(32767.0 * CLAMP(sample[k], -1.0, 1.0));
      most = fmax(most, fabs(sample[k]));
      g_array_append_val(kept, value);
    }
    g_atomic_int_set(loudness, (gint)(1000.0 * most));
  }
  pla_microphone_close(microphone);
  if (st == PLA_OK && kept->len == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "nothing was recorded");
  PlaAudio audio = { .n_frames = kept->len,
                     .n_channels = 1,
                     .rate_hz = rate_hz,
                     .dtype = PLA_I16,
                     .bits = 16,
                     .samples = kept->data };
  return st == PLA_OK ? pla_audio_write_file(&audio, path, err) : st;
}

PlaStatus
pla_heard_init(PlaHeard *self, const PlaAudio *audio, PlaNotes *notes, PlaProgress *progress,
               PlaError *err)
{
  double *sample = NULL;
  *self = (PlaHeard){ .rate_hz = PLA_SPEECH_HZ };
  PlaStatus st = pla_speech_samples(audio, &sample, &self->n, err);
  if (st == PLA_OK)
    st = pla_spectrogram_init(&self->spectrogram, sample, self->n, progress, err);
  if (st == PLA_OK) {
    pla_speech_judge(audio, notes);
    self->wave = g_try_new(float, self->n + 1);
    if (!self->wave)
      st = pla_fail_memory(err, "the sound");
  }
  for (size_t i = 0; st == PLA_OK && i < self->n; i++)
    self->wave[i] = (float)sample[i];
  free(sample);
  if (st != PLA_OK)
    pla_heard_clear(self);
  return st;
}

void
pla_heard_clear(PlaHeard *self)
{
  g_free(self->wave);
  pla_spectrogram_clear(&self->spectrogram);
  *self = (PlaHeard){ 0 };
}

PlaStatus
pla_voices_read(PlaVoiceChoice **out, int *n, PlaError *err)
{
  PlaVoiceName *names = NULL;
  PlaStatus st = pla_espeak_voices(&names, n, err);
  if (st != PLA_OK)
    return st;
  *out = g_new0(PlaVoiceChoice, (gsize)*n + 1);
  for (int i = 0; i < *n; i++) {
    g_strlcpy((*out)[i].id, names[i].id, sizeof(*out)[i].id);
    g_strlcpy((*out)[i].title, names[i].title, sizeof(*out)[i].title);
  }
  free(names);
  return PLA_OK;
}

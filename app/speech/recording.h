/* Sound from the microphone and what it looks like, for the Speech workspace. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/signal/signal.h"
#include "sim/speech/spectrum.h"

/* Records until @progress is cancelled, which here is the way it ends, or @longest_s have passed,
 * and writes a sound file.  @loudness: the largest sample of the last 20 ms in thousandths, set
 * atomically. */
PlaStatus pla_recording_make(const char *path, double longest_s, int *loudness,
                             PlaProgress *progress, PlaError *err);

/* A sound as the views show it. */
typedef struct {
  float *wave; /* one channel in -1..1; owned (n) */
  size_t n;
  double rate_hz;
  PlaSpectrogram spectrogram;
} PlaHeard;
/* @notes gains what is odd about the sound. */
PlaStatus pla_heard_init(PlaHeard *self, const PlaAudio *audio, PlaNotes *notes,
                         PlaProgress *progress, PlaError *err);
void pla_heard_clear(PlaHeard *self);

/* A voice of the speech synthesizer, as in "en-us" and "English (America)". */
typedef struct {
  char id[32], title[64]; /* UTF-8 */
} PlaVoiceChoice;
/* Those installed, in the order of their titles; g_free() by the caller. */
PlaStatus pla_voices_read(PlaVoiceChoice **out, int *n, PlaError *err);

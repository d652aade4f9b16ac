/* Text as speech sounds: through eSpeak to phonemes and their times, and to sensors. */
#pragma once

#include "io/stream/espeak.h"
#include "sim/speech/sounds.h"

typedef struct {
  PlaSpokenText spoken; /* owned: the sound, and its phonemes */
  int n;
  PlaSegment *segment; /* owned (g_free): sounds of known kinds, silence between them */
  double seconds;
} PlaTextSpeech;

/* As pla_espeak_say(). */
PlaStatus pla_text_speech_make(const char *text, const char *voice, int words_per_minute, int pitch,
                               PlaTextSpeech *out, PlaError *err);
void pla_text_speech_clear(PlaTextSpeech *self);
/* The seven sensors at 100 Hz that say the segments, frames as those of an inverted sound. */
PlaStatus pla_text_speech_track(const PlaTextSpeech *self, const PlaArticulation *how,
                                PlaTrack **out, PlaError *err);
/* A track with the fourteen channels of the seven sensors, empty. */
PlaStatus pla_sensor_track_new(int n_samples, PlaTrack **out, PlaError *err);

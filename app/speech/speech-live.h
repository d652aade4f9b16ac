/* Speech inverted while it is spoken: from the microphone, or from a file at the pace of its clock.
 */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/signal/signal.h"
#include "sim/speech/speech-model.h"

typedef struct {
  double look_ahead_s;               /* that the method itself needs */
  double median_late_s, most_late_s; /* beyond it, until a frame was there */
} PlaLiveReport;

/* Feeds @audio in pieces of 10 ms when a microphone would have them; *out as
 * pla_speech_invert() gives it, but smoothed with @smooth_ahead frames of future only. */
PlaStatus pla_speech_live_file(const PlaSpeechModel *model, const PlaAudio *audio, int smooth_ahead,
                               PlaTrack **out, PlaLiveReport *report, PlaProgress *progress,
                               PlaError *err);
/* Listens for @seconds, or until cancelled, which then is no failure. */
PlaStatus pla_speech_live_microphone(const PlaSpeechModel *model, double seconds, int smooth_ahead,
                                     PlaTrack **out, PlaLiveReport *report, PlaProgress *progress,
                                     PlaError *err);

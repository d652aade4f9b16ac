/* An articulatory synthesiser: speakers who say sequences of sounds with the tract of tract.h. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/random.h"
#include "anatomy/base/status.h"
#include "sim/speech/sounds.h"

typedef struct {
  double length_factor;         /* of the tract, 1: the phantom's */
  double pitch_hz, pitch_range; /* mean, and part of it by which it moves */
  double open_quotient;         /* part of a period with the glottis open */
  double tilt_hz;               /* corner above which the voice loses 6 dB an octave more */
  double breath;                /* noise in the voice, 0..1 */
  double jitter;                /* of periods, part */
  double pace;                  /* of speech, 1: usual */
  PlaArticulation articulation;
} PlaSpeaker;

PlaSpeaker pla_speaker_default(void);
/* Somebody: everything above drawn from @random within what people do. */
PlaSpeaker pla_speaker_random(PlaRandom *random);

/* How a sound reached the microphone. */
typedef struct {
  double gain_db, noise_db; /* of full scale, and of background noise below the speech */
  double tilt_db;           /* of the microphone, from 100 Hz to 8 kHz */
  double band_hz;           /* what lies above is lost; 0: nothing */
} PlaRecording;
PlaRecording pla_recording_random(PlaRandom *random);
/* Spoils @n samples at 16 kHz as described. */
PlaStatus pla_recording_apply(const PlaRecording *how, PlaRandom *random, double *sample, size_t n,
                              PlaError *err);

/* Sound at 16 kHz of the segments, from time 0 to @seconds (free()).  About -20 dB rms. */
PlaStatus pla_voice_say(const PlaSpeaker *speaker, const PlaSegment *segment, int n, double seconds,
                        PlaRandom *random, double **sample, size_t *n_samples, PlaError *err);

/* Syllables of random sounds, silence around them: fills up to @most segments of about @seconds;
 * their number. */
int pla_voice_babble(const PlaSpeaker *speaker, double seconds, PlaRandom *random, PlaSegment *out,
                     int most);

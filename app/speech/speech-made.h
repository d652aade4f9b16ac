/* Speech that Platysma makes itself, sound and sensors together: for training, tests and trials. */
#pragma once

#include "app/speech/speech-corpus.h"
#include "sim/speech/voice.h"

typedef enum {
  PLA_MADE_TRACT = 1,  /* the articulatory synthesiser: babble, and texts where eSpeak is there */
  PLA_MADE_ESPEAK = 2, /* eSpeak's voices; sensors are the targets of the phonemes */
} PlaMadeSource;

typedef struct {
  double *sample; /* owned: at 16 kHz */
  size_t n_samples;
  double *value; /* owned (n_values x 14): mm at 100 Hz from time 0 */
  int n_values;
} PlaMadeUtterance;
void pla_made_utterance_clear(PlaMadeUtterance *self);

/* Utterance @i of @set by a speaker of its own, who is in no other set.  @clean: as in a quiet
 * room, else as people record.  The same bits every time. */
PlaStatus pla_made_utterance(PlaMadeSource source, PlaSpeechSet set, int i, bool clean,
                             PlaMadeUtterance *out, PlaError *err);

/* "made:tract", "made:espeak" or "made:both": @minutes of each for training, a tenth of that for
 * each of the other sets. */
bool pla_speech_made_parse(const char *name, unsigned *sources);
PlaStatus pla_speech_made_load(unsigned sources, double minutes, bool causal, unsigned sets,
                               PlaSpeechCorpus *out, PlaProgress *progress, PlaError *err);

/* Writes a corpus of one speaker's utterances into the folder @dir: corpus.json, sounds, tracks in
 * the format of @extension (".csv", ".ema", ".mat"). */
PlaStatus pla_speech_made_write(const char *dir, const char *extension, double minutes,
                                int n_speakers, unsigned seed, int *n_utterances,
                                PlaProgress *progress, PlaError *err);

/* Paired recordings of sound and sensors, described by one JSON file.
 *
 * {
 *   "sensors": ["TR", "TD", "TB", "TT", "LI", "UL", "LL"],   default: these seven
 *   "columns": {"TT_x": "T1_px", "TT_y": "T1_pz"},           default: the channel's own name
 *   "rate_hz": 200, "unit": "mm", "delay_s": 0.0,            default: what the tracks say, mm, 0
 *   "axes": {"x": "back", "y": "down"},                      what the columns grow towards
 *   "head": ["NOSE1", "NOSE2"],                              coils that move with the head
 *   "smooth": 21,                                            window over the sensors, 1: none
 *   "split": {"by": "utterance", "valid": 0.1, "test": 0.1}, or "by": "speaker"
 *   "utterances": [{"audio": "a.wav", "track": "a.ema", "speaker": "msak0", "set": "test"}, ...]
 * }
 *
 * Sensors come out in mm at 100 Hz with x to the back and y down, whatever the columns' axes.
 * "set" (train, valid, test) overrides the split.  Head coils are brought to where they were on
 * average in the speaker's first utterance, by a turn and a shift in the plane. */
#pragma once

#include "sim/speech/train.h"

typedef enum { PLA_SET_TRAIN = 0, PLA_SET_VALID, PLA_SET_TEST, PLA_N_SETS } PlaSpeechSet;
extern const char *const pla_speech_set_names[PLA_N_SETS + 1];

typedef struct {
  int n_channels;
  char **name;    /* owned (n_channels): "TT_x", "TT_y", ... */
  int n_speakers; /* of which utterances were read */
  PlaSpeechData set[PLA_N_SETS];
  char *provenance; /* owned, one sentence */
} PlaSpeechCorpus;

/* @sets: which to read, bits 1 << PlaSpeechSet.  @causal: how the features are made. */
PlaStatus pla_speech_corpus_load(const char *path, bool causal, unsigned sets, PlaSpeechCorpus *out,
                                 PlaNotes *notes, PlaProgress *progress, PlaError *err);
void pla_speech_corpus_clear(PlaSpeechCorpus *self);
/* Channels NAME_x, NAME_y of each sensor; g_strfreev() ends with NULL. */
char **pla_speech_channel_names(const char *const *sensor, int n);

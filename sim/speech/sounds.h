/* Speech sounds as targets of the seven sensors, and phoneme sequences as sensor tracks. */
#pragma once

#include "sim/speech/tract.h"

#include <stddef.h>

/* How a sound is made apart from where the sensors are. */
typedef enum {
  PLA_SOUND_SILENCE = 0,
  PLA_SOUND_VOWEL,
  PLA_SOUND_STOP,
  PLA_SOUND_FRICATIVE,
  PLA_SOUND_NASAL,
  PLA_SOUND_LIQUID
} PlaSoundKind;

typedef struct {
  const char *ipa; /* "i", "t", ...; "" for silence */
  PlaSoundKind kind;
  bool voiced;
  double target[PLA_SENSOR_CHANNELS]; /* mm; NaN: no matter */
  double weight[PLA_SENSOR_COUNT];    /* how much the sound insists, 0..1 */
} PlaSound;

int pla_sound_count(void);
const PlaSound *pla_sound_get(int i);
const PlaSound *pla_sound_find(const char *ipa); /* or NULL */
const PlaSound *pla_sound_silence(void);
/* The sensors with the mouth at rest. */
const double *pla_sound_neutral(void);

/* A sound and when it lasts, s. */
typedef struct {
  const PlaSound *phone;
  double from, to;
} PlaSegment;

/* Appends the sounds of one written phoneme ("aɪ", "tʃ", "n̩", "kʰ") that share @from .. @to;
 * unknown letters become their nearest sound, marks are passed over.  @most: room in @out.  How
 * many were added. */
int pla_sounds_parse(const char *ipa, double from, double to, PlaSegment *out, int most);

/* How somebody articulates. */
typedef struct {
  double extent; /* of movements about the rest, 1: full */
  double spread; /* of a sound's influence beyond its own time, s: co-articulation */
} PlaArticulation;
PlaArticulation pla_articulation_default(void);

/* Sensors at time @t: targets blended by how much each sound insists and how near it is (M. M.
 * Cohen and D. W. Massaro, 1993).  Segments are in order of time. */
void pla_segments_sensors(const PlaSegment *segment, int n, const PlaArticulation *how, double t,
                          double sensor[PLA_SENSOR_CHANNELS]);
/* A whole track at @rate_hz (n_samples x 14), first sample at @start_s; coils are kept out of the
 * palate. */
void pla_segments_track(const PlaSegment *segment, int n, const PlaArticulation *how,
                        double rate_hz, double start_s, int n_samples, double *value);

/* Text made speech by eSpeak NG, with the times of its phonemes.
 *
 * The library is loaded at the first call (module platysma-espeak).  It keeps global state, so
 * calls wait for each other; any thread may call. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/signal/signal.h"

typedef struct {
  char ipa[12]; /* UTF-8; "" where speech pauses */
  double at_s;  /* when it begins */
} PlaPhoneme;

typedef struct {
  PlaAudio *audio; /* owned: one channel, int16 */
  int n;
  PlaPhoneme *phoneme; /* owned, in order of time */
} PlaSpokenText;

/* @voice: a language or voice with an optional variant, as in "en-us", "de+f3"; NULL: "en".
 * @words_per_minute 80 .. 450, 0: 160.  @pitch 0 .. 99, -1: the voice's own.
 * PLA_ERR_UNSUPPORTED with a sentence where the module or its data are missing. */
PlaStatus pla_espeak_say(const char *text, const char *voice, int words_per_minute, int pitch,
                         PlaSpokenText *out, PlaError *err);
void pla_spoken_text_clear(PlaSpokenText *self);

/* A language that can be spoken, as in "en-us" and "English (America)". */
typedef struct {
  char id[32], title[64]; /* UTF-8 */
} PlaVoiceName;
/* All of them in the order of their titles; free() by the caller. */
PlaStatus pla_espeak_voices(PlaVoiceName **out, int *n, PlaError *err);

/* ---- the module's side */
#define PLA_ESPEAK_ABI 2
typedef struct {
  int abi;
  PlaStatus (*say)(const char *text, const char *voice, int words_per_minute, int pitch,
                   PlaSpokenText *out, PlaError *err);
  PlaStatus (*voices)(PlaVoiceName **out, int *n, PlaError *err);
} PlaEspeak;
__attribute__((visibility("default"))) const void *pla_espeak_module(void);

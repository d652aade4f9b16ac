/* The module platysma-espeak: eSpeak NG in this process, in its synchronous mode, in which it opens
 * no sound device and hands over samples and phoneme events. */
#include "anatomy/base/memory.h"
#include "io/stream/espeak.h"

#include <espeak-ng/speak_lib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rate_hz; /* 0: not started, -1: cannot be */

/* what arrives while one text is spoken; under the lock */
static struct {
  PlaBytes samples, phonemes;
  bool short_of_memory;
} heard;

static int
on_sound(short *wave, int n, espeak_EVENT *event)
{
  if (wave && n > 0 && !pla_bytes_append(&heard.samples, wave, (size_t)n * sizeof *wave))
    heard.short_of_memory = true;
  for (; event && event->type != espeakEVENT_LIST_TERMINATED; event++) {
    if (event->type != espeakEVENT_PHONEME)
      continue;
    PlaPhoneme phoneme = { .at_s = event->audio_position / 1000.0 };
    memcpy(phoneme.ipa, event->id.string, sizeof event->id.string); /* may lack its zero */
    if (!pla_bytes_append(&heard.phonemes, &phoneme, sizeof phoneme))
      heard.short_of_memory = true;
  }
  return heard.short_of_memory; /* 1 stops */
}

static PlaStatus
start(PlaError *err)
{
  if (rate_hz == 0) {
    rate_hz = espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 200, NULL,
                                espeakINITIALIZE_PHONEME_EVENTS | espeakINITIALIZE_PHONEME_IPA |
                                    espeakINITIALIZE_DONT_EXIT);
    if (rate_hz <= 0)
      rate_hz = -1;
    else
      espeak_SetSynthCallback(on_sound);
  }
  return rate_hz > 0 ? PLA_OK
                     : pla_fail(err, PLA_ERR_UNSUPPORTED,
                                "text cannot be spoken: eSpeak's data are missing; install the "
                                "package espeak-ng-data");
}

/* a voice by its name, or by a language for which eSpeak chooses one; variants follow a '+' */
static bool
choose_voice(const char *name)
{
  if (espeak_SetVoiceByName(name) == EE_OK)
    return true;
  char language[64], full[192];
  const size_t n = strcspn(name, "+");
  if (n == 0 || n >= sizeof language)
    return false;
  memcpy(language, name, n);
  language[n] = '\0';
  espeak_VOICE wanted = { .languages = language };
  if (espeak_SetVoiceByProperties(&wanted) != EE_OK)
    return false;
  const espeak_VOICE *voice = espeak_GetCurrentVoice();
  if (!voice || !voice->languages || strcmp(voice->languages + 1, language) != 0)
    return false; /* eSpeak takes the nearest, which would be a surprise */
  snprintf(full, sizeof full, "%s%s", voice->identifier, name + n);
  return name[n] == '\0' || espeak_SetVoiceByName(full) == EE_OK;
}

static PlaStatus
speak(const char *text, const char *voice, int words_per_minute, int pitch, PlaError *err)
{
  const char *name = voice ? voice : "en";
  if (!choose_voice(name))
    return pla_fail(err, PLA_ERR_USAGE,
                    "there is no voice '%s'; `espeak-ng --voices` lists the languages, and +f1 to "
                    "+f5 or +m1 to +m8 choose a variant, as in en-us+f3",
                    name);
  espeak_SetParameter(espeakRATE, words_per_minute > 0 ? words_per_minute : 160, 0);
  espeak_SetParameter(espeakPITCH, pitch >= 0 ? pitch : 50, 0);
  unsigned id;
  if (espeak_Synth(text, strlen(text) + 1, 0, POS_CHARACTER, 0, espeakCHARS_UTF8, &id, NULL) !=
          EE_OK ||
      espeak_Synchronize() != EE_OK)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "eSpeak NG could not synthesise the text");
  return PLA_OK;
}

static PlaStatus
take(PlaSpokenText *out, PlaError *err)
{
  const size_t n = heard.samples.size / sizeof(int16_t);
  out->audio = pla_array_new0(1, sizeof *out->audio);
  if (!out->audio || heard.short_of_memory)
    return pla_fail_memory(err, "the speech");
  *out->audio = (PlaAudio){ .n_frames = (int64_t)n,
                            .n_channels = 1,
                            .rate_hz = rate_hz,
                            .dtype = PLA_I16,
                            .bits = 16,
                            .samples = heard.samples.data };
  out->phoneme = (PlaPhoneme *)heard.phonemes.data;
  out->n = (int)(heard.phonemes.size / sizeof(PlaPhoneme));
  heard.samples = heard.phonemes = (PlaBytes){ 0 };
  return n > 0 ? PLA_OK
               : pla_fail(err, PLA_ERR_EMPTY, "nothing in the text can be spoken in this language");
}

static PlaStatus
say(const char *text, const char *voice, int words_per_minute, int pitch, PlaSpokenText *out,
    PlaError *err)
{
  *out = (PlaSpokenText){ 0 };
  pthread_mutex_lock(&lock);
  heard.short_of_memory = false;
  PlaStatus st = start(err);
  if (st == PLA_OK)
    st = speak(text, voice, words_per_minute, pitch, err);
  if (st == PLA_OK)
    st = take(out, err);
  pla_bytes_clear(&heard.samples);
  pla_bytes_clear(&heard.phonemes);
  pthread_mutex_unlock(&lock);
  if (st != PLA_OK)
    pla_spoken_text_clear(out);
  return st;
}

static int
compare_titles(const void *a, const void *b)
{
  return strcmp(((const PlaVoiceName *)a)->title, ((const PlaVoiceName *)b)->title);
}

static PlaStatus
voices(PlaVoiceName **out, int *n, PlaError *err)
{
  pthread_mutex_lock(&lock);
  PlaStatus st = start(err);
  const espeak_VOICE **list = st == PLA_OK ? espeak_ListVoices(NULL) : NULL;
  int count = 0;
  while (list && list[count])
    count++;
  PlaVoiceName *name = st == PLA_OK ? pla_array_new0((size_t)count + 1, sizeof *name) : NULL;
  if (st == PLA_OK && !name)
    st = pla_fail_memory(err, "the list of voices");
  *n = 0;
  for (int i = 0; name && i < count; i++) {
    /* one byte of priority, then the language */
    if (!list[i]->languages || !list[i]->languages[0] || !list[i]->name)
      continue;
    snprintf(name[*n].id, sizeof name->id, "%s", list[i]->languages + 1);
    snprintf(name[*n].title, sizeof name->title, "%s", list[i]->name);
    ++*n;
  }
  if (name)
    qsort(name, (size_t)*n, sizeof *name, compare_titles);
  *out = name;
  pthread_mutex_unlock(&lock);
  return st;
}

const void *
pla_espeak_module(void)
{
  static const PlaEspeak table = { PLA_ESPEAK_ABI, say, voices };
  return &table;
}

/* Loads the module that speaks. */
#include "io/stream/espeak.h"

#include "anatomy/base/module.h"

#include <stdlib.h>

static PlaStatus
load(const PlaEspeak **out, PlaError *err)
{
  const void *table = NULL;
  PlaStatus st = pla_module_load("io/stream", "platysma-espeak", "pla_espeak_module", &table, err);
  *out = table;
  if (st == PLA_OK && (*out)->abi != PLA_ESPEAK_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "the module platysma-espeak.so belongs to another version of Platysma");
  return st;
}

PlaStatus
pla_espeak_say(const char *text, const char *voice, int words_per_minute, int pitch,
               PlaSpokenText *out, PlaError *err)
{
  const PlaEspeak *espeak;
  *out = (PlaSpokenText){ 0 };
  PlaStatus st = load(&espeak, err);
  return st == PLA_OK ? espeak->say(text, voice, words_per_minute, pitch, out, err) : st;
}

PlaStatus
pla_espeak_voices(PlaVoiceName **out, int *n, PlaError *err)
{
  const PlaEspeak *espeak;
  *out = NULL;
  *n = 0;
  PlaStatus st = load(&espeak, err);
  return st == PLA_OK ? espeak->voices(out, n, err) : st;
}

void
pla_spoken_text_clear(PlaSpokenText *self)
{
  pla_audio_free(self->audio);
  free(self->phoneme);
  *self = (PlaSpokenText){ 0 };
}

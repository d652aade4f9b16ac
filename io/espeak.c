/* Loads the module that speaks. */
#include "io/espeak.h"

#include "anatomy/base/module.h"

#include <stdlib.h>

PlaStatus
pla_espeak_say(const char *text, const char *voice, int words_per_minute, int pitch,
               PlaSpokenText *out, PlaError *err)
{
  const void *table = NULL;
  *out = (PlaSpokenText){ 0 };
  PlaStatus st = pla_module_load("io", "platysma-espeak", "pla_espeak_module", &table, err);
  const PlaEspeak *espeak = table;
  if (st == PLA_OK && espeak->abi != PLA_ESPEAK_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "the module platysma-espeak.so belongs to another version of Platysma");
  return st == PLA_OK ? espeak->say(text, voice, words_per_minute, pitch, out, err) : st;
}

void
pla_spoken_text_clear(PlaSpokenText *self)
{
  pla_audio_free(self->audio);
  free(self->phoneme);
  *self = (PlaSpokenText){ 0 };
}

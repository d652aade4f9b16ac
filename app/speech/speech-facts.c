/* Reads what the verbs "say" and "speak" store. */
#include "app/speech/speech-facts.h"

#include "app/base/json.h"
#include "app/content/phonemes.h"

bool
pla_sound_has_phonemes(const PlaContent *sound)
{
  return pla_meta_has_phonemes(sound->meta);
}

PlaStatus
pla_sound_get_phonemes(const PlaContent *sound, PlaPhones *out, PlaError *err)
{
  return pla_meta_get_phonemes(sound->meta, out, err);
}

bool
pla_spoken_meta_is_of(const char *meta, const char *source)
{
  g_autoptr(JsonObject) object = NULL;
  if (pla_json_parse_stored(meta, "its description", &object, NULL) != PLA_OK)
    return false;
  JsonObject *spoken = pla_json_member_object(object, "spoken");
  return spoken && g_strcmp0(pla_json_member_text(spoken, "source", NULL), source) == 0;
}

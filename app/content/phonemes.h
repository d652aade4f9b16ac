/* Phonemes with their times in the metadata of an item: a sound, a take or a track.
 *
 * The member PLA_META_PHONEMES is [[start s, end s, "label"], ...] in the time of the item.  Sounds
 * of cases of version 0.1.0 have [{"ipa", "from_s", "to_s"}, ...] instead, which is read too. */
#pragma once

#include "anatomy/signal/phones.h"
#include "app/content/content.h"

#define PLA_META_PHONEMES "phonemes"
JsonArray *pla_phones_to_json(const PlaPhones *phones);
/* NULL is an empty list.  PLA_ERR_USAGE names the interval that is none. */
PlaStatus pla_phones_from_json(JsonArray *list, PlaPhones *out, PlaError *err);

/* Whether an item has phonemes. */
bool pla_meta_has_phonemes(JsonObject *meta);
/* Those of an item; none is no error.  pla_phones_clear() by the caller. */
PlaStatus pla_meta_get_phonemes(JsonObject *meta, PlaPhones *out, PlaError *err);
void pla_meta_set_phonemes(JsonObject *meta, const PlaPhones *phones);

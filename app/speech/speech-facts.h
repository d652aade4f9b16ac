/* What the metadata of sounds and motions tells about speech, as plain values. */
#pragma once

#include "anatomy/signal/phones.h"
#include "app/content/content.h"

G_BEGIN_DECLS

/* Whether the phonemes of a sound are known; and all of them, pla_phones_clear() by the caller. */
bool pla_sound_has_phonemes(const PlaContent *sound);
PlaStatus pla_sound_get_phonemes(const PlaContent *sound, PlaPhones *out, PlaError *err);

/* Whether the stored metadata @meta is that of a motion made from the recording @source. */
bool pla_spoken_meta_is_of(const char *meta, const char *source);

G_END_DECLS

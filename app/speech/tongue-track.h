/* The track that a tongue has followed, with what it did in each frame: the channels jaw_deg,
 * volume_ratio, penetration_mm, contacts, narrowest_mm2 and the formants of its tube beside those
 * that were given, and the formants of the sound where there is one. */
#pragma once

#include "sim/speech/formants.h"
#include "sim/tongue/tongue-motion.h"

/* The channels of @track and room for the others.  @heard: resonances of the sound (frames x
 * PLA_FORMANTS), or NULL.  Caller frees *out. */
PlaStatus pla_tongue_track_new(const PlaTrack *track, const double *heard, PlaTrack **out,
                               PlaError *err);
/* Fills in @frame from the newest of @motion; @n_given: channels before those of the tongue.
 * Threads may fill different ones. */
void pla_tongue_track_note(PlaTrack *result, int n_given, const PlaTongueMotion *motion, int frame);

/* How the resonances of the tongue's tube go with those of the sound, over frames that have both.
 */
typedef struct {
  int frames;
  double ratio[PLA_FORMANTS];       /* tube over sound */
  double length_factor;             /* of the speaker's tract over the tongue's */
  double same_length[PLA_FORMANTS]; /* the ratio that is left when that is allowed for */
  double correlation[PLA_FORMANTS];
} PlaFormantMatch;
void pla_tongue_track_match(const PlaTrack *result, int n_given, PlaFormantMatch *out);

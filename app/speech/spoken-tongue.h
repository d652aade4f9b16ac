/* The built-in tongue that speaks in cases.  Predicted coils are in the built-in head's own plane,
 * so its tongue is the same for every sound: it is made once and lent; recorded coils have one of
 * their own. */
#pragma once

#include "sim/tongue/tongue-motion.h"

/* @measured: the recorded coils of a speaker; NULL: predicted ones.  Waits while another has it.
 * Give *out back soon, by pla_spoken_tongue_release() with the same @measured. */
PlaStatus pla_spoken_tongue_take(const PlaTrack *measured, double cell_mm, PlaProgress *progress,
                                 PlaTongueMotion **out, PlaError *err);
void pla_spoken_tongue_release(const PlaTrack *measured, PlaTongueMotion *motion);

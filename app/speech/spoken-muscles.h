/* The muscles behind a tongue that has spoken. */
#pragma once

#include "app/speech/spoken.h"
#include "sim/bodies/tongue-muscles.h"

/* The muscles of the phantom's tongue for motions of @tongue, which is borrowed.  Their body comes
 * from the cache after the first time. */
PlaStatus pla_tongue_muscles_from_phantom(const PlaTongue *tongue, PlaProgress *progress,
                                          PlaTongueMuscles **out, PlaError *err);

/* Moves the built-in tongue along the coils of @self once more and finds what its muscles do in
 * every frame.
 * @cell_mm: of the tongue; 0: its default.  Caller clears *out, after a failure too. */
PlaStatus pla_spoken_explain(const PlaSpoken *self, double cell_mm, PlaProgress *progress,
                             PlaTongueActivations *out, PlaError *err);

/* The muscles behind a tongue that has spoken. */
#pragma once

#include "app/speech/spoken.h"
#include "app/speech/tongue-muscles.h"

/* Moves the built-in tongue along the coils of @self once more and finds what its muscles do in
 * every frame.
 * @cell_mm: of the tongue; 0: its default.  Caller clears *out, after a failure too. */
PlaStatus pla_spoken_explain(const PlaSpoken *self, double cell_mm, PlaProgress *progress,
                             PlaTongueActivations *out, PlaError *err);

/* What the two sides of the module for sound devices share. */
#pragma once

#include "anatomy/base/status.h"

#include <portaudio.h>
#include <stdbool.h>

typedef struct {
  const char *name;
  const char *advice; /* ends the sentence where there is none */
  bool input;
} PlaSoundSide;

PlaStatus pla_sound_fail(const PlaSoundSide *side, PaError code, PlaError *err);
/* A running stream of one channel on the default device; an input that cannot have *@rate_hz says
 * which rate it has instead.  pla_sound_close(). */
PlaStatus pla_sound_open(const PlaSoundSide *side, double *rate_hz, PaStream **out, PlaError *err);
void pla_sound_close(PaStream *stream);

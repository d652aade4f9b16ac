/* What a body with muscles meets while it moves: its own parts, the teeth of the phantom's face,
 * and surfaces that are put in its way. */
#pragma once

#include "app/motion/active-item.h"
#include "sim/active/forward.h"

#include <glib.h>

typedef struct {
  PlaForwardOptions options; /* for the forward pass; what it names belongs to this */
  PlaContactOptions contact;
  GPtrArray *colliders; /* PlaCollider, owned */
  GByteArray *with_jaw;
  unsigned char *among;
} PlaSurroundings;

void pla_surroundings_init(PlaSurroundings *self);
void pla_surroundings_clear(PlaSurroundings *self); /* zeroed is fine */
/* A closed surface in the way; @jaw: it goes with the jaw. */
PlaStatus pla_surroundings_add(PlaSurroundings *self, const PlaMesh *surface, bool jaw,
                               PlaError *err);
/* After all surfaces.  @parts: lips and other parts of @body meet, as do the teeth where it is the
 * phantom's face.  @body must outlive this. */
PlaStatus pla_surroundings_finish(PlaSurroundings *self, const PlaActiveBody *body, bool parts,
                                  PlaProgress *progress, PlaError *err);

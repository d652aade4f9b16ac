/* A surgical body as named arrays, and back.  Whatever tools have made of it is in them, so that
 * work goes on from a stored body exactly as it would have from the one that was stored. */
#pragma once

#include "anatomy/base/named-arrays.h"
#include "sim/surgery/surgery.h"

/* Appends its arrays; two bodies that behave alike in all that follows have the same. */
PlaStatus pla_surgery_save(const PlaSurgery *self, PlaNamedArrays *out, PlaError *err);
/* PLA_ERR_FORMAT when they are not those of a body.  Caller frees *out. */
PlaStatus pla_surgery_load(const PlaNamedArrays *arrays, PlaSurgery **out, PlaError *err);

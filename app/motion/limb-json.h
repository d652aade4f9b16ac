/* Limbs as JSON: the bones and joints of a muscle description, read and written. */
#pragma once

#include "app/base/json.h"
#include "sim/bodies/limb.h"

/* From JSON: {"joints": [{"name", "from_mm", "to_mm", "moves": [bones], "angle_deg"}], "loads":
 * [{"bone", "at_mm", "kg" or "force_n"}]}; kg pull along -z. */
PlaStatus pla_limb_from_json(PlaJson json, const PlaActiveBody *body, PlaLimb *out, PlaError *err);

/* The materials that the registry lists. */
#pragma once

#include "sim/material/material.h"

/* Every material, in the order that panels show them.  A row declares pla_material_NAME and lists
 * it; its source also goes into meson.build. */
/* clang-format off */
#define PLA_MATERIALS(ROW)   \
  ROW(neo_hookean)           \
  ROW(neo_hookean_mm)        \
  ROW(stable_neo_hookean)    \
  ROW(mooney_rivlin)         \
  ROW(yeoh)                  \
  ROW(ogden)                 \
  ROW(fung)                  \
  ROW(arruda_boyce)          \
  ROW(goh)                   \
  ROW(muscle)                \
  ROW(blemker)               \
  ROW(fascia)                \
  ROW(corotated)             \
  ROW(fixed_corotated)       \
  ROW(stvk)                  \
  ROW(linear)
/* clang-format on */
#define PLA_MATERIAL_DECLARE(name) extern const PlaMaterial pla_material_##name;
PLA_MATERIALS(PLA_MATERIAL_DECLARE)

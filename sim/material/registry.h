/* The materials that the registry lists. */
#pragma once

#include "sim/material/material.h"

extern const PlaMaterial pla_material_neo_hookean;
extern const PlaMaterial pla_material_neo_hookean_mm;
extern const PlaMaterial pla_material_stable_neo_hookean;
extern const PlaMaterial pla_material_mooney_rivlin;
extern const PlaMaterial pla_material_corotated;
extern const PlaMaterial pla_material_fixed_corotated;
extern const PlaMaterial pla_material_stvk;
extern const PlaMaterial pla_material_linear;
extern const PlaMaterial pla_material_yeoh;
extern const PlaMaterial pla_material_ogden;
extern const PlaMaterial pla_material_fung;
extern const PlaMaterial pla_material_arruda_boyce;
extern const PlaMaterial pla_material_fascia;
extern const PlaMaterial pla_material_muscle;
extern const PlaMaterial pla_material_blemker;

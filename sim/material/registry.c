/* Every material, in the order that panels show them. */
#include "sim/material/registry.h"

#include <string.h>

static const PlaMaterial *const materials[] = {
  &pla_material_neo_hookean,
  &pla_material_neo_hookean_mm,
  &pla_material_stable_neo_hookean,
  &pla_material_mooney_rivlin,
  &pla_material_yeoh,
  &pla_material_ogden,
  &pla_material_fung,
  &pla_material_arruda_boyce,
  &pla_material_muscle,
  &pla_material_blemker,
  &pla_material_fascia,
  &pla_material_corotated,
  &pla_material_fixed_corotated,
  &pla_material_stvk,
  &pla_material_linear,
  NULL,
};

const PlaMaterial *const *
pla_materials_get(void)
{
  return materials;
}

const PlaMaterial *
pla_material_find(const char *id)
{
  for (const PlaMaterial *const *m = materials; *m; m++)
    if (strcmp((*m)->id, id) == 0)
      return *m;
  return NULL;
}

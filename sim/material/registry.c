/* Every material, in the order that panels show them. */
#include "sim/material/registry.h"

#include <string.h>

#define MATERIAL_ROW(name) &pla_material_##name,
static const PlaMaterial *const materials[] = { PLA_MATERIALS(MATERIAL_ROW) NULL };

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

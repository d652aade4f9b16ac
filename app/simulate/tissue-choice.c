/* Tissues by number, for lists. */
#include "app/simulate/tissue-choice.h"

#include "sim/material/presets.h"

int
pla_tissues_count(void)
{
  int n = 0;
  while (pla_presets_get()[n])
    n++;
  return n;
}

const char *
pla_tissue_id(int tissue)
{
  return pla_presets_get()[tissue]->id;
}

const char *
pla_tissue_title(int tissue)
{
  return pla_presets_get()[tissue]->title;
}

bool
pla_tissue_is_rigid(int tissue)
{
  return pla_presets_get()[tissue]->rigid;
}

int
pla_tissue_find(const char *label_name)
{
  const PlaPreset *preset = pla_preset_find(label_name);
  for (int i = 0; preset && pla_presets_get()[i]; i++)
    if (pla_presets_get()[i] == preset)
      return i;
  return -1;
}

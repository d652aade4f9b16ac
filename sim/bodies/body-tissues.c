/* Materials of a body from the names of its labels, and its supports from the voxels around it. */
#include "sim/bodies/body-tissues.h"

#include "anatomy/base/memory.h"
#include "anatomy/bodies/label-part.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesher/tets.h"
#include "sim/material/presets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static PlaStatus
fail_without_tissue(PlaError *err)
{
  return pla_fail(
      err, PLA_ERR_EMPTY,
      "no label has the name of a soft tissue, such as skin, fat or muscle; rename one");
}

void
pla_body_tissues_clear(PlaBodyTissues *self)
{
  for (int i = 0; i < self->n; i++)
    free(self->name[i]);
  free(self->id);
  free(self->first);
  free(self->material);
  free(self->name);
  free(self->rigid);
  *self = (PlaBodyTissues){ 0 };
}

static bool
contains(const char *const *names, const char *name)
{
  for (int i = 0; names && names[i]; i++)
    if (strcmp(names[i], name) == 0)
      return true;
  return false;
}

static PlaStatus
add_tissue(PlaBodyTissues *self, const PlaLabel *label, const PlaPreset *preset,
           PlaFormulation formulation, PlaError *err)
{
  double param[PLA_MAX_CONSTANTS] = { 0 };
  PlaFemMaterial *material = &self->material[self->n];
  char *name = pla_strdup(label->name);
  if (!name)
    return pla_fail_memory(err, "the tissues");
  *material = (PlaFemMaterial){ .density = preset->density };
  material->material = formulation == PLA_FORMULATION_STANDARD
                           ? pla_preset_params_standard(preset, PLA_STIFFNESS_TYPICAL, param)
                           : pla_preset_params(preset, PLA_STIFFNESS_TYPICAL, param);
  self->id[self->n] = label->id;
  self->name[self->n++] = name;
  self->first[self->n] = self->n;
  return material->material->prepare(param, material->constants, err);
}

PlaStatus
pla_body_tissues_init(PlaBodyTissues *self, const PlaLabelMap *map, const char *const *bones,
                      PlaFormulation formulation, PlaError *err)
{
  const size_t most = (size_t)map->table.n;
  size_t *count = pla_array_new(PLA_LABEL_IDS, sizeof *count);
  *self = (PlaBodyTissues){ .id = pla_array_new(most, sizeof *self->id),
                            .first = pla_array_new0(most + 1, sizeof *self->first),
                            .material = pla_array_new(most, sizeof *self->material),
                            .name = pla_array_new(most, sizeof *self->name),
                            .rigid = pla_array_new0(PLA_LABEL_IDS, sizeof *self->rigid) };
  PlaStatus st = count && self->id && self->first && self->material && self->name && self->rigid
                     ? PLA_OK
                     : pla_fail_memory(err, "the tissues");
  if (st == PLA_OK)
    pla_label_map_count(map, count);
  for (int i = 0; st == PLA_OK && i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    const PlaPreset *preset = pla_preset_find(label->name);
    if (label->id == 0 || count[label->id] == 0 || !preset)
      continue;
    if (preset->rigid && !contains(bones, label->name))
      self->rigid[label->id] = true;
    else
      st = add_tissue(self, label, preset, formulation, err);
  }
  for (int i = 0; st == PLA_OK && bones && bones[i]; i++) {
    bool found = false;
    for (int t = 0; t < self->n; t++)
      found |= strcmp(self->name[t], bones[i]) == 0;
    if (!found)
      st = pla_fail(err, PLA_ERR_USAGE, "no label is called '%s', which the plan lists as a bone",
                    bones[i]);
  }
  free(count);
  return st == PLA_OK && self->n == 0 ? fail_without_tissue(err) : st;
}

void
pla_body_tissues_of_tets(const PlaBodyTissues *self, const PlaMesh *mesh, int *tissue)
{
  const PlaField *region = pla_mesh_find_field(mesh, PLA_MESH_REGION, PLA_ON_CELLS);
  for (int t = 0; t < mesh->n_tets; t++) {
    tissue[t] = 0;
    for (int g = 0; region && g < self->n; g++)
      if (((const int *)region->data)[t] == self->id[g])
        tissue[t] = g;
  }
}

/* whether one of the 27 voxels around @at, in voxels, is rigid */
static bool
is_near_rigid(const PlaLabelMap *map, const bool *rigid, const double at[3])
{
  const PlaVolume *vol = map->volume;
  for (int k = 0; k < 27; k++) {
    size_t index = 0;
    for (int d = 2, part = k; d >= 0; d--, part /= 3) {
      int voxel = (int)lround(at[d]) + part % 3 - 1;
      voxel = voxel < 0 ? 0 : voxel > vol->dims[d] - 1 ? vol->dims[d] - 1 : voxel;
      index = index * (size_t)vol->dims[d] + (size_t)voxel;
    }
    if (rigid[pla_label_map_get(map, index)])
      return true;
  }
  return false;
}

PlaStatus
pla_body_find_supports(const PlaMesh *mesh, const PlaLabelMap *map, const bool *rigid, bool *held,
                       PlaError *err)
{
  const PlaVolume *vol = map->volume;
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const PlaHexMesh none = { 0 };
  PlaBoundary outer = { 0 };
  double inverse[12];
  PlaStatus st = pla_boundary_init(&outer, &tets, &none, false, err);
  if (st != PLA_OK || !pla_affine_invert(vol->affine_mm, inverse)) {
    pla_boundary_clear(&outer);
    return st;
  }
  for (int i = 0; i < 3 * outer.n_tris; i++) {
    const int v = outer.tri[i];
    const double mm[3] = { 1e3 * mesh->pos[3 * v], 1e3 * mesh->pos[3 * v + 1],
                           1e3 * mesh->pos[3 * v + 2] };
    double at[3];
    pla_affine_apply(inverse, mm, at);
    /* where the scan ends, tissue is cut through at the outer sides of the last voxels */
    for (int d = 0; d < 3; d++)
      held[v] |= at[d] < 0.0 || at[d] > vol->dims[d] - 1;
    held[v] = held[v] || is_near_rigid(map, rigid, at);
  }
  pla_boundary_clear(&outer);
  return PLA_OK;
}

PlaStatus
pla_tissues_merge(const PlaLabelMap *labels, const char *tissue, PlaLabelMap **out, PlaError *err)
{
  const PlaPreset *wanted = pla_preset_find(tissue);
  bool any = false;
  *out = NULL;
  if (!wanted || wanted->rigid)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is no soft tissue; name one such as soft tissue",
                    tissue);
  bool *soft = pla_array_new0(PLA_LABEL_IDS, sizeof *soft);
  if (!soft)
    return pla_fail_memory(err, "the tissues");
  for (int i = 0; i < labels->table.n; i++) {
    const PlaPreset *preset = pla_preset_find(labels->table.label[i].name);
    soft[labels->table.label[i].id] = preset && !preset->rigid;
    any |= soft[labels->table.label[i].id];
  }
  PlaStatus st =
      any ? pla_label_map_merge(labels, soft, tissue, out, err) : fail_without_tissue(err);
  free(soft);
  return st;
}

/* The materials of a scene: from JSON and the fields of its mesh to a finite-element model. */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/base/json.h"
#include "sim/fem/model.h"
#include "sim/material/presets.h"

#include <glib.h>

/* Marks the cells (tets, then hexes) that a `where` names. */
typedef PlaStatus (*PlaSelectCells)(const void *scene, PlaJson where, bool *marked, PlaError *err);

typedef struct {
  const PlaMesh *mesh;
  PlaSelectCells select;
  const void *scene;           /* for @select */
  const PlaLabelTable *labels; /* names of the mesh's labels, possibly none */
  PlaFormulation formulation;
  int stiffness; /* PlaStiffness that replaces that of every preset, or -1 */
} PlaMaterialsInput;

typedef struct {
  PlaFemModel *model;
  GPtrArray *mixtures; /* that the model uses; free after it */
  bool *rigid;         /* vertices of tissues that do not deform (n_verts); g_free() */
  double *reach;       /* PlaMaterial.reach of each cell, or NULL: no law has one; g_free() */
  GPtrArray *notes;    /* what was assumed, one sentence each */
  int n_presets;       /* cells whose stiffness comes from a preset, with its range */
} PlaMaterialsOutput;

/* Reads root["materials"].  Later entries replace earlier ones where both apply. */
PlaStatus pla_materials_read(PlaJson root, const PlaMaterialsInput *input, PlaMaterialsOutput *out,
                             PlaError *err);

/* The tissue that a scene names; an error lists them. */
PlaStatus pla_scene_find_preset(PlaJson value, const PlaPreset **out, PlaError *err);

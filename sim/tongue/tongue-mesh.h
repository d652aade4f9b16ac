/* A tongue from a mesh of the user's. */
#pragma once

#include "sim/tongue/tongue.h"

typedef struct {
  const PlaMesh *mesh;      /* of tets */
  const int *fixed;         /* its fixed degrees of freedom, 3 v + axis (n_fixed) */
  int n_fixed;              /* 0: the lowest seventh of the mesh is held */
  double mesh_unit_mm;      /* size of a unit of the mesh; 0: as fits the speaker */
  const char *forward, *up; /* "x", "-y", ...; NULL: guessed */
} PlaTongueMeshOptions;

/* @input has the paths; the mesh's part of it is filled in here and ends with the call.  Caller
 * frees *out. */
PlaStatus pla_tongue_from_mesh(const PlaTongueMeshOptions *options, PlaTongueInput *input,
                               PlaProgress *progress, PlaTongue **out, PlaError *err);

/* Inside of PlaTongue, shared by the sources of this folder and their tests. */
#pragma once

#include "sim/speech/tract.h"
#include "sim/tongue/tongue.h"

struct PlaTongue {
  PlaMesh *mesh;
  unsigned char *fixed;
  unsigned char *slides; /* 1: obstacles push this vertex (n_verts) */
  PlaHeadFrame frame;
  PlaOutline outline;
  PlaCoilFit fit;
  double incisor[2], hinge[2]; /* (forward, up), m */
  PlaFemMaterial material;     /* of the flesh, as the reference has it */
  double young_pa;
  PlaFemModel *fem; /* as the cubature integrates it */
  PlaReducedModel *model;
  double *lift; /* PLA_JAW_LIFTS x n_verts x 3 */
  int n_changes;
  double *change; /* of volume in training poses (n_changes x n_verts) */
  int n_solids;
  PlaLevelSet **solid;
  bool *with_jaw;
  double cubature_error;
  double mesh_factor; /* by which the mesh was scaled to the speaker */
  /* airway: throat and palate, front of the larynx, from the glottis up; (forward, up), m */
  double wall[PLA_TRACT_FIXED][2], larynx[PLA_TRACT_LARYNX][2];
};

/* The whole mesh as finite elements. */
PlaStatus pla_tongue_make_fem(const PlaTongue *self, const PlaFemMaterial *material,
                              PlaFormulation formulation, PlaFemModel **out, PlaError *err);

/* Lays the walls of the airway around a tongue that is otherwise complete. */
PlaStatus pla_airway_place(PlaTongue *self, bool in_tract, PlaError *err);

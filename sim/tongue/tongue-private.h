#pragma once

#include "sim/tongue/tongue.h"

struct PlaTongue {
  PlaMesh *mesh;
  unsigned char *fixed;
  unsigned char *slides; /* 1: obstacles push this vertex (n_verts) */
  PlaHeadFrame frame;
  PlaOutline outline;
  PlaSpeakerFit fit;
  double incisor[2], hinge[2]; /* (forward, up), m */
  PlaFemModel *fem;      /* as the cubature integrates it */
  PlaFemModel *mixed;    /* as the reference does */
  PlaReducedModel *model;
  double *lift;          /* PLA_JAW_LIFTS x n_verts x 3 */
  int n_solids;
  PlaLevelSet **solid;
  bool *with_jaw;
  double cubature_error;
  double mesh_factor; /* by which the mesh was scaled to the speaker */
};

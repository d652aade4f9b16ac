/* The tongue of the built-in phantom, between its own palate, teeth, jaw and hyoid: needs no files.
 */
#pragma once

#include "sim/tongue/tongue.h"

typedef struct {
  PlaMesh *mesh;
  unsigned char *fixed; /* where it touches jaw and hyoid (n_verts) */
  double *jaw_share;    /* 1 at the jaw, 0.3 at the hyoid (n_verts) */
  int coil_vert[PLA_N_TONGUE_COILS];
  PlaTongueSolid solid[2]; /* palate with its lining and upper teeth; jaw and lower teeth */
  double hinge[2];
  PlaLevelSet *palate, *jaw;
} PlaTonguePhantom;

/* @cell_mm: size of its tets, 3.5 by default (0). */
PlaStatus pla_tongue_phantom_init(PlaTonguePhantom *self, double cell_mm, PlaProgress *progress,
                                  PlaError *err);
void pla_tongue_phantom_clear(PlaTonguePhantom *self);
/* Fills in everything but the speaker. */
void pla_tongue_phantom_input(const PlaTonguePhantom *self, PlaTongueInput *input);
/* How tracks lie on it that were made in its own plane (sim/speech/tract.h): as they are. */
void pla_tongue_phantom_fit(const PlaTonguePhantom *self, PlaCoilFit *out);

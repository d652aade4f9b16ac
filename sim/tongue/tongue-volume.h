/* Volume kept in full space, a pressure at every vertex (Luo 2020, 6.5): what the few pressures of
 * the reduced tongue are measured by.
 *
 * The volume of a vertex is a quarter of each tet around it.  Pressures p move vertices by -M^-1
 * D^T p, D the slope of the volumes at rest, so that (D M^-1 D^T) p = change of the volumes is a
 * constant matrix, factored once. */
#pragma once

#include "anatomy/mesh/mesh.h"

typedef struct PlaVolumeKeeper PlaVolumeKeeper;

/* @held: 1 where a vertex stays: what is fixed, and the coils (n_verts); @mass of each, kg.  All
 * borrowed only here. */
PlaStatus pla_volume_keeper_new(const PlaTetMesh *mesh, const double *mass,
                                const unsigned char *held, PlaVolumeKeeper **out, PlaError *err);
void pla_volume_keeper_free(PlaVolumeKeeper *self); /* NULL is fine */
/* Moves @pos (n_verts x 3) by one solve.  First order: what is left is of the second. */
PlaStatus pla_volume_keeper_correct(PlaVolumeKeeper *self, double *pos, PlaError *err);
/* Root mean square of the relative changes of the vertices' volumes at @pos, weighed by these. */
double pla_volume_keeper_change(PlaVolumeKeeper *self, const double *pos);

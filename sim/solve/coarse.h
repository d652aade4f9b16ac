/* A good start for a large solve: the same problem on a coarse lattice around the body. */
#pragma once

#include "sim/solve/solve.h"

/* Solves @conditions approximately on a lattice of hexahedra that covers the rest shape and moves
 * the free coordinates of @pos with it, when that lowers the energy; else leaves @pos as it is.
 * Bodies too small to gain from it are left alone too. */
PlaStatus pla_fem_coarse_start(const PlaFemModel *model, const PlaFemConditions *conditions,
                               const PlaFemOptions *options, double *pos, PlaFemReport *report,
                               PlaError *err);

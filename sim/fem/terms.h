/* Everything that acts on a body, elements included: one sum for the solvers. */
#pragma once

#include "sim/fem/model.h"
#include "sim/fem/system.h"

/* All forces at @pos, N (n_verts x 3), on free and on prescribed coordinates. */
PlaStatus pla_terms_forces(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const double *pos, double *force, PlaError *err);
/* Energy at @pos less the work of the dead forces, J; without that of a pressure, which may have no
 * potential. */
double pla_terms_energy(const PlaFemModel *model, const PlaFemConditions *conditions,
                        const double *pos);
/* Adds the stiffness of everything but the elements to an assembled matrix; @project: nothing that
 * could make it indefinite. */
void pla_terms_add_stiffness(PlaFemSystem *system, const PlaFemConditions *conditions,
                             const double *pos, bool project);

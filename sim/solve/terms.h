/* Everything that acts on a body, elements included: one sum for the solvers. */
#pragma once

#include "sim/solve/solve.h"
#include "sim/solve/system.h"

/* All forces at @pos, N (n_verts x 3), on free and on prescribed coordinates.  Contacts are those
 * of the newest update of conditions->contacts, which the caller made at @pos. */
PlaStatus pla_terms_forces(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const double *pos, double *force, PlaError *err);
/* Energy at @pos less the work of the dead forces since rest, J; without that of a pressure, which
 * may have no potential. */
double pla_terms_energy(const PlaFemModel *model, const PlaFemConditions *conditions,
                        const double *pos);
/* Vertices that contacts between deforming surfaces couple, and whether @system has room for them.
 */
PlaStatus pla_terms_links(const PlaFemConditions *conditions, PlaVertSets *out, PlaError *err);
void pla_vert_sets_clear(PlaVertSets *sets);
bool pla_terms_fit(const PlaFemSystem *system, const PlaFemConditions *conditions);

/* Adds the stiffness of everything but the elements to an assembled matrix; @project: nothing that
 * could make it indefinite. */
void pla_terms_add_stiffness(PlaFemSystem *system, const PlaFemConditions *conditions,
                             const double *pos, bool project);

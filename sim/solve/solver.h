/* Equilibrium frame after frame: what is prescribed or loads the body changes a little each time,
 * what is held stays the same.  The matrix is analysed once, and one factor serves for many frames.
 */
#pragma once

#include "sim/solve/solve.h"

typedef struct PlaFemSolver PlaFemSolver;

/* @model is borrowed.  Of @conditions, what is fixed is copied and the same in every frame; springs
 * and bindings stay, too. */
PlaStatus pla_fem_solver_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                             PlaFemSolver **out, PlaError *err);
void pla_fem_solver_free(PlaFemSolver *self); /* NULL is fine */

/* From the equilibrium @pos of the frame before to that of @conditions.  The residual is relative
 * to that of the jump. */
PlaStatus pla_fem_solver_move(PlaFemSolver *self, const PlaFemConditions *conditions,
                              const PlaFemOptions *options, double *pos, PlaFemReport *report,
                              PlaError *err);

/* The quasistatic solvers behind pla_fem_solve(). */
#pragma once

#include "sim/solve/solve.h"

/* Prescribed coordinates of @pos already stand at their targets.  They add to @report. */
PlaStatus pla_fem_solve_newton(const PlaFemModel *model, const PlaFemConditions *conditions,
                               const PlaFemOptions *options, double *pos, PlaFemReport *report,
                               PlaError *err);
/* As pla_fem_solve_newton(), but content as soon as every element has det F above @jacobian. */
PlaStatus pla_fem_newton_until(const PlaFemModel *model, const PlaFemConditions *conditions,
                               const PlaFemOptions *options, double jacobian, double *pos,
                               PlaFemReport *report, PlaError *err);
PlaStatus pla_fem_solve_pbng(const PlaFemModel *model, const PlaFemConditions *conditions,
                             const PlaFemOptions *options, double *pos, PlaFemReport *report,
                             PlaError *err);

/* From @pos, whatever it is, to a shape without inverted elements, if that can be had; prescribed
 * coordinates already stand at their targets (sim/solve/untangle.c).  Counts in @report. */
PlaStatus pla_fem_untangle(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const PlaFemOptions *options, double *pos, PlaFemReport *report,
                           PlaError *err);

/* Whether @residual_n, N, is small beside the forces between the elements at @pos: at most ten
 * times @rel of them, or nothing but rounding.  A start far from any equilibrium, such as a jump of
 * what is prescribed, has forces of which a millionth may be all that the answer carries, so that a
 * residual relative to the start proves nothing.  @scratch: n_verts x 3. */
PlaStatus pla_fem_is_settled(const PlaFemModel *model, const PlaFemConditions *conditions,
                             const double *pos, double residual_n, double rel, double *scratch,
                             bool *settled, PlaError *err);
#define PLA_SETTLED_AT_ROUNDING 1e-4 /* that @rel, where no step helps any more */
/* A force, N, that moves a body by a billionth of its size: below it, a residual is rounding, and
 * nothing to be relative to. */
double pla_fem_least_force(const PlaFemModel *model);

/* |dead forces and pressure at rest| over free coordinates, N */
double pla_fem_load_norm(const PlaFemModel *model, const PlaFemConditions *conditions);

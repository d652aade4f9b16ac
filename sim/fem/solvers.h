/* The quasistatic solvers behind pla_fem_solve(). */
#pragma once

#include "sim/fem/model.h"

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
 * coordinates already stand at their targets (sim/fem/untangle.c).  Counts in @report. */
PlaStatus pla_fem_untangle(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const PlaFemOptions *options, double *pos, PlaFemReport *report,
                           PlaError *err);

/* |dead forces and pressure at rest| over free coordinates, N */
double pla_fem_load_norm(const PlaFemModel *model, const PlaFemConditions *conditions);

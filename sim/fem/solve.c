/* The one entry to quasistatic equilibrium: checks, the choice of solver, the report. */
#include "sim/fem/model-private.h"
#include "sim/fem/solvers.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

PlaFemOptions
pla_fem_options_default(void)
{
  return (PlaFemOptions){ .method = PLA_SOLVER_AUTO, .tolerance_rel = 1e-6, .max_iterations = 200 };
}

const char *
pla_stop_reason_text(PlaStopReason reason)
{
  switch (reason) {
  case PLA_STOP_CONVERGED:
    return "converged";
  case PLA_STOP_ITERATIONS:
    return "the limit of iterations was reached";
  case PLA_STOP_STALLED:
    return "no step lowers the energy any more";
  case PLA_STOP_CANCELLED:
    return "stopped on request";
  case PLA_STOP_FREE_BODY:
    return "a piece is not held and carries load";
  case PLA_STOP_MEMORY:
    return "memory ran short";
  }
  return "";
}

PlaStatus
pla_fem_solve(const PlaFemModel *model, const PlaFemConditions *conditions,
              const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  *report = (PlaFemReport){ .worst_element = -1, .method = "newton" };
  for (size_t i = 0; i < 3 * (size_t)model->n_verts; i++)
    if (conditions->fixed[i])
      pos[i] = conditions->target[i];
  PlaStatus st = pla_fem_solve_newton(model, conditions, options, pos, report, err);
  if (st == PLA_OK)
    report->inverted =
        pla_fem_inverted(model, pos, &report->min_jacobian, &report->worst_element);
  return st;
}

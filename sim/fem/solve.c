/* The one entry to quasistatic equilibrium: checks, the choice of solver, the report. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/fem/coarse.h"
#include "sim/fem/model-private.h"
#include "sim/fem/solvers.h"

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

/* the unbalanced force on free coordinates at the start, which the residual is measured against */
static PlaStatus
start_residual(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos,
               double *norm, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  double *force = pla_array_new(n, sizeof *force);
  if (!force)
    return pla_fail_memory(err, "the solver");
  PlaStatus st = pla_fem_forces(model, pos, force, err);
  for (size_t i = 0; i < n; i++)
    force[i] = conditions->fixed[i] ? 0.0
                                    : force[i] + (conditions->force ? conditions->force[i] : 0.0);
  *norm = pla_norm2(force, n);
  free(force);
  return st;
}

PlaStatus
pla_fem_solve(const PlaFemModel *model, const PlaFemConditions *conditions,
              const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  *report = (PlaFemReport){ .worst_element = -1, .method = "newton" };
  for (size_t i = 0; i < 3 * (size_t)model->n_verts; i++)
    if (conditions->fixed[i])
      pos[i] = conditions->target[i];
  PlaStatus st = start_residual(model, conditions, pos, &report->residual_scale_n, err);
  if (st == PLA_OK && !options->warm_start)
    st = pla_fem_coarse_start(model, conditions, options, pos, report, err);
  if (st == PLA_OK)
    st = pla_fem_solve_newton(model, conditions, options, pos, report, err);
  if (st == PLA_ERR_CANCELLED) {
    report->reason = PLA_STOP_CANCELLED;
    st = PLA_OK;
  }
  if (st == PLA_OK)
    report->inverted =
        pla_fem_inverted(model, pos, &report->min_jacobian, &report->worst_element);
  return st;
}

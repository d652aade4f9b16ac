/* Quasistatic equilibrium by sweeps over the vertices alone. */
#include "sim/fem/pbng.h"
#include "sim/fem/solvers.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHECK = 10,          /* sweeps between two looks at the residual, which costs about one */
  PER_ITERATION = 100, /* sweeps for each iteration that the caller allows: the work of one */
  STALLED = 60,        /* looks without progress */
};

PlaStatus
pla_fem_solve_pbng(const PlaFemModel *model, const PlaFemConditions *conditions,
                   const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n_coords = 3 * (size_t)pla_fem_model_n_verts(model);
  const double limit = (double)PER_ITERATION * options->max_iterations;
  PlaPbngOptions own = pla_pbng_options_default();
  PlaPbng *state = NULL;
  double *best = pla_array_dup(pos, n_coords, sizeof *best), least = INFINITY, marked = INFINITY;
  PlaStatus st = best ? pla_pbng_new(model, conditions, &own, pos, &state, err)
                      : pla_fail_memory(err, "the solver");
  int since = 0;
  report->reason = PLA_STOP_ITERATIONS;
  for (int sweeps = 0; st == PLA_OK; sweeps += CHECK) {
    double norm = pla_pbng_residual(state);
    if (sweeps == 0)
      report->residual_scale_n =
          fmax(report->residual_scale_n, fmax(norm, pla_fem_load_norm(model, conditions)));
    if (norm < least) {
      least = norm;
      pla_pbng_get_positions(state, best);
    }
    double rel = report->residual_scale_n > 0.0 ? least / report->residual_scale_n : 0.0;
    report->residual_n = least;
    report->residual_rel = rel;
    if (rel <= options->tolerance_rel) {
      report->reason = PLA_STOP_CONVERGED;
      break;
    }
    since = least < 0.99 * marked ? 0 : since + 1;
    marked = since == 0 ? least : marked;
    if (since >= STALLED) {
      report->reason = PLA_STOP_STALLED;
      break;
    }
    if (sweeps >= limit)
      break;
    if (!pla_progress_step(options->progress, log(rel) / log(options->tolerance_rel))) {
      report->reason = PLA_STOP_CANCELLED;
      break;
    }
    pla_pbng_sweep(state, CHECK);
    report->iterations += CHECK;
  }
  if (st == PLA_OK)
    memcpy(pos, best, n_coords * sizeof *pos);
  pla_pbng_free(state);
  free(best);
  return st;
}

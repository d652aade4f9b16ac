/* Stress and strain of all cells, for results.
 *
 * sigma = P F^T / J of the element, and in the mixed formulation what the averages of volume add to
 * it: P gains p cof(F), so sigma gains p 1. */
#include "sim/fem/model-data.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>

PlaStatus
pla_fem_cell_states(const PlaFemModel *model, const double *pos, PlaFemCellState *out,
                    PlaError *err)
{
  const int n_cells = model->n_tets + model->n_hexes;
  const PlaFemPatches *patches = model->patches;
  double *pressure = patches ? pla_array_new((size_t)n_cells, sizeof *pressure) : NULL;
  double *scratch = patches ? pla_array_new((size_t)patches->n, sizeof *scratch) : NULL;
  if (patches && (!pressure || !scratch)) {
    free(pressure);
    free(scratch);
    return pla_fail_memory(err, "the stresses");
  }
  if (patches)
    pla_fem_patches_pressure(model, pos, scratch, pressure);
#pragma omp parallel for schedule(static)
  for (int c = 0; c < n_cells; c++) {
    pla_fem_cell_state(model, c, pos, &out[c]);
    for (int d = 0; patches && d < 3; d++)
      out[c].cauchy_pa[4 * d] += pressure[c];
  }
  free(pressure);
  free(scratch);
  return PLA_OK;
}

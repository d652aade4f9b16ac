/* Out of a start with inverted elements.
 *
 * Energies that grow without bound as elements collapse have steep walls around every tangle, and
 * descent on them gets nowhere.  Here the body takes another material for a while: mu |F - R|^2,
 * with R the rotation of the rotation-variant polar decomposition.  It is defined and gentle for
 * every F, its least is the same rest shape, and an inverted element is only one whose smallest
 * stretch is far from
 * 1.  Far out, where F is large, it is nearly quadratic, so that one step gathers vertices strewn
 * over many times the size of the body; Newton's method with projected tangents then takes some
 * twenty.  What loads the body waits meanwhile; springs, bindings and obstacles act. */
#include "sim/fem/model-data.h"
#include "sim/solve/solvers.h"

#include "anatomy/base/memory.h"
#include "sim/material/registry.h"
#include "sim/solve/solve.h"

#include <stdlib.h>

static const double enough_jacobian = 0.3; /* from there, the true material finds its way */

PlaStatus
pla_fem_untangle(const PlaFemModel *model, const PlaFemConditions *conditions,
                 const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = (size_t)model->n_materials;
  PlaFemModel gentle = *model;
  PlaFemConditions unloaded = *conditions;
  PlaFemOptions inner = *options;
  PlaFemReport own = { 0 };
  unloaded.force = NULL;
  unloaded.pressure = NULL;
  inner.tolerance_rel = 1e-10;
  inner.warm_start = true;
  gentle.formulation = PLA_FORMULATION_STANDARD;
  gentle.patches = NULL;
  gentle.domains = NULL;
  gentle.own = NULL;
  gentle.fibre_start = NULL;
  gentle.prestretch = NULL;
  gentle.material = pla_array_dup(model->material, n, sizeof *gentle.material);
  gentle.constants = pla_array_new0(n, PLA_MAX_CONSTANTS * sizeof *gentle.constants);
  PlaStatus st = gentle.material && gentle.constants ? PLA_OK : pla_fail_memory(err, "the solver");
  for (size_t m = 0; st == PLA_OK && m < n; m++) {
    double mu, lambda, vol;
    const PlaFemMaterial *given = &model->material[m];
    pla_material_moduli(given->material, given->constants, &mu, &lambda, &vol);
    const double param[2] = { 2.0 * mu, 0.0 };
    gentle.material[m].material = &pla_material_corotated;
    st = pla_material_corotated.prepare(param, gentle.material[m].constants, err);
    for (size_t k = 0; k < PLA_MAX_CONSTANTS; k++)
      gentle.constants[PLA_MAX_CONSTANTS * m + k] = gentle.material[m].constants[k];
  }
  if (st == PLA_OK)
    st = pla_fem_newton_until(&gentle, &unloaded, &inner, enough_jacobian, pos, &own, err);
  report->repair_iterations += own.iterations;
  report->factorisations += own.factorisations;
  report->linear_iterations += own.linear_iterations;
  if (st == PLA_OK && own.reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  free(gentle.material);
  free(gentle.constants);
  return st;
}

/* The one entry to quasistatic equilibrium: checks, the choice of solver, the report. */
#include "sim/solve/solve.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/contact/contact.h"
#include "sim/fem/model-data.h"
#include "sim/solve/coarse.h"
#include "sim/solve/near.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solvers.h"
#include "sim/solve/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SMOOTHING_SWEEPS = 15, /* less than what they save of a factorisation, at any size */
  REPAIR_SWEEPS = 60,    /* enough to spread a jump through a body, and to settle after it */
};

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

/* that the bindings make sense together with what is prescribed */
static PlaStatus
check_bindings(const PlaFemModel *model, const PlaFemConditions *conditions, PlaError *err)
{
  const PlaFemBindings *bindings = conditions->bindings;
  PlaFemBindings *flat = NULL;
  if (!bindings)
    return PLA_OK;
  PlaStatus st = pla_bindings_flatten(bindings, model->n_verts, &flat, err);
  if (st == PLA_OK && flat->start[flat->n] != bindings->start[bindings->n])
    st = pla_fail(err, PLA_ERR_USAGE, "some vertex is bound to another bound vertex");
  for (int e = 0; st == PLA_OK && e < bindings->n; e++) {
    const unsigned char *f = conditions->fixed + 3 * (size_t)bindings->vert[e];
    if (f[0] || f[1] || f[2])
      st = pla_fail(err, PLA_ERR_USAGE,
                    "vertex %d is bound to others and prescribed as well; fix its parents instead",
                    bindings->vert[e]);
  }
  pla_bindings_free(flat);
  return st;
}

double
pla_fem_least_force(const PlaFemModel *model)
{
  double mu = 0.0, extent = 0.0;
  for (int m = 0; m < model->n_materials; m++) {
    double shear, lambda, vol;
    pla_material_moduli(model->material[m].material, model->material[m].constants, &shear, &lambda,
                        &vol);
    mu = fmax(mu, shear);
  }
  for (size_t i = 3; i < 3 * (size_t)model->n_verts; i++)
    extent = fmax(extent, fabs(model->rest[i] - model->rest[i % 3]));
  return 1e-9 * mu * extent * extent;
}

PlaStatus
pla_fem_is_settled(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos,
                   double residual_n, double rel, double *scratch, bool *settled, PlaError *err)
{
  /* steps in time begin close to where they end */
  *settled = conditions->inertia || residual_n <= pla_fem_least_force(model);
  if (*settled)
    return PLA_OK;
  PlaStatus st = pla_fem_forces(model, pos, scratch, err);
  *settled =
      st == PLA_OK && residual_n <= 10.0 * rel * pla_norm2(scratch, 3 * (size_t)model->n_verts);
  return st;
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
  PlaStatus st =
      conditions->contacts ? pla_contact_set_update(conditions->contacts, pos, 0.0, err) : PLA_OK;
  if (st == PLA_OK)
    st = pla_terms_forces(model, conditions, pos, force, err);
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    force[i] = conditions->fixed[i] ? 0.0 : force[i];
  *norm = st == PLA_OK ? pla_norm2(force, n) : 0.0;
  free(force);
  return st;
}

/* Sweeps over the vertices before Newton's method begins.  A start with inverted elements, such as
 * a jump of what is prescribed, is repaired from @before, the positions without the jump.  Any
 * other start is smoothed: an interpolated or stretched one has most of its error in the short
 * waves, which sweeps remove for a fraction of a factorisation.  Kept only where it helps. */
static PlaStatus
sweep_start(const PlaFemModel *model, const PlaFemConditions *conditions, const double *before,
            double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  const PlaPbngOptions options = pla_pbng_options_default();
  int inverted = pla_fem_inverted(model, pos, NULL, NULL);
  PlaPbng *state = NULL;
  /* vertices strewn about are beyond sweeps */
  if (inverted && pla_fem_inverted(model, before, NULL, NULL) > 0)
    return PLA_OK;
  double *trial = pla_array_new(n, sizeof *trial);
  PlaStatus st =
      trial ? pla_pbng_new(model, conditions, &options, inverted ? before : pos, &state, err)
            : pla_fail_memory(err, "the solver");
  if (st == PLA_OK) {
    double residual = inverted ? INFINITY : pla_pbng_residual(state);
    double energy = inverted ? INFINITY : pla_pbng_energy(state);
    /* loads alone, on a body at rest, are no short waves */
    bool rough = residual > 1.01 * pla_fem_load_norm(model, conditions);
    if (rough)
      pla_pbng_sweep(state, inverted ? REPAIR_SWEEPS : SMOOTHING_SWEEPS);
    pla_pbng_get_positions(state, trial);
    if (rough && pla_fem_inverted(model, trial, NULL, NULL) <= inverted &&
        pla_pbng_residual(state) < residual && pla_pbng_energy(state) < energy) {
      memcpy(pos, trial, n * sizeof *pos);
      report->method = "pbng+newton";
    }
  }
  pla_pbng_free(state);
  free(trial);
  return st;
}

/* Sweeps before Newton's method in the mixed formulation: over the same cells as standard elements,
 * which treat short waves well enough to make a start.  Kept where the true energy and residual
 * fall; a start with inverted elements is left to untangle_start(). */
static PlaStatus
sweep_mixed_start(const PlaFemModel *model, const PlaFemConditions *conditions, double *pos,
                  PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  const PlaPbngOptions options = pla_pbng_options_default();
  PlaFemPlain plain = { 0 };
  PlaPbng *state = NULL;
  double before = 0.0, after = 0.0;
  if (!model->domains || pla_fem_inverted(model, pos, NULL, NULL) > 0)
    return PLA_OK;
  double *trial = pla_array_new(n, sizeof *trial);
  PlaStatus st =
      trial ? pla_fem_plain_init(&plain, model, err) : pla_fail_memory(err, "the solver");
  if (st == PLA_OK)
    st = pla_pbng_new(&plain.model, conditions, &options, pos, &state, err);
  if (st == PLA_OK && pla_pbng_residual(state) > 1.01 * pla_fem_load_norm(model, conditions)) {
    pla_pbng_sweep(state, SMOOTHING_SWEEPS);
    pla_pbng_get_positions(state, trial);
    st = start_residual(model, conditions, pos, &before, err);
    if (st == PLA_OK)
      st = start_residual(model, conditions, trial, &after, err);
    if (st == PLA_OK && after < before &&
        pla_terms_energy(model, conditions, trial) < pla_terms_energy(model, conditions, pos) &&
        pla_fem_inverted(model, trial, NULL, NULL) == 0) {
      memcpy(pos, trial, n * sizeof *pos);
      report->method = "pbng+newton";
    }
  }
  pla_pbng_free(state);
  pla_fem_plain_clear(&plain);
  free(trial);
  return st;
}

/* What is still tangled is led out of it; should even that fail, the rest shape, bent to fit what
 * is prescribed, is tried the same way, and the report says so. */
static PlaStatus
untangle_start(const PlaFemModel *model, const PlaFemConditions *conditions,
               const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  int inverted = pla_fem_inverted(model, pos, NULL, NULL);
  if (inverted == 0)
    return PLA_OK;
  double *trial = pla_array_dup(pos, n, sizeof *trial);
  PlaStatus st = trial ? PLA_OK : pla_fail_memory(err, "the solver");
  for (int from_rest = 0; st == PLA_OK && from_rest < 2 && inverted > 0; from_rest++) {
    for (size_t i = 0; from_rest && i < n; i++)
      trial[i] = conditions->fixed[i] ? conditions->target[i] : model->rest[i];
    if (from_rest && conditions->bindings)
      pla_bindings_place(conditions->bindings, trial);
    st = pla_fem_untangle(model, conditions, options, trial, report, err);
    int left = st == PLA_OK ? pla_fem_inverted(model, trial, NULL, NULL) : inverted;
    if (left < inverted) {
      memcpy(pos, trial, n * sizeof *pos);
      report->gave_up_start = from_rest;
      inverted = left;
    }
  }
  free(trial);
  return st;
}

PlaStatus
pla_fem_solve(const PlaFemModel *model, const PlaFemConditions *conditions,
              const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  const bool mixed = model->formulation != PLA_FORMULATION_STANDARD;
  *report = (PlaFemReport){ .worst_element = -1, .method = "newton" };
  double *before = pla_array_dup(pos, n, sizeof *before);
  if (!before)
    return pla_fail_memory(err, "the solver");
  for (size_t i = 0; i < n; i++)
    if (conditions->fixed[i])
      pos[i] = conditions->target[i];
  PlaStatus st = check_bindings(model, conditions, err);
  if (st == PLA_OK && conditions->membranes && options->method == PLA_SOLVER_PBNG)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "the solver 'pbng' knows no thin layers; use the solver 'newton'");
  if (st == PLA_OK && conditions->bindings)
    pla_bindings_place(conditions->bindings, pos);
  if (st == PLA_OK)
    st = start_residual(model, conditions, pos, &report->residual_scale_n, err);
  report->residual_scale_n = fmax(report->residual_scale_n, pla_fem_least_force(model));
  if (st == PLA_OK && !options->warm_start)
    st = pla_fem_coarse_start(model, conditions, options, pos, report, err);
  if (st == PLA_OK && options->method == PLA_SOLVER_PBNG) {
    report->method = "pbng";
    if (pla_fem_inverted(model, pos, NULL, NULL) > 0)
      memcpy(pos, before, n * sizeof *pos);
    st = pla_fem_solve_pbng(model, conditions, options, pos, report, err);
  } else if (st == PLA_OK) {
    if (options->method == PLA_SOLVER_AUTO && !conditions->bindings && !conditions->contacts &&
        !conditions->inertia && !conditions->membranes)
      st = mixed ? sweep_mixed_start(model, conditions, pos, report, err)
                 : sweep_start(model, conditions, before, pos, report, err);
    if (st == PLA_OK)
      st = untangle_start(model, conditions, options, pos, report, err);
    if (st == PLA_OK)
      st = pla_fem_solve_newton(model, conditions, options, pos, report, err);
  }
  free(before);
  if (st == PLA_ERR_CANCELLED) {
    report->reason = PLA_STOP_CANCELLED;
    st = PLA_OK;
  }
  if (st == PLA_OK && conditions->contacts) {
    PlaContactReport contact;
    st = pla_contact_set_update(conditions->contacts, pos, 0.0, err);
    pla_contact_set_report(conditions->contacts, pos, &contact);
    report->contacts = contact.contacts;
    report->max_penetration_m = contact.max_penetration;
    report->contact_n = contact.normal_force;
  }
  if (st == PLA_OK) {
    report->inverted = pla_fem_inverted(model, pos, &report->min_jacobian, &report->worst_element);
    report->energy_j = pla_terms_energy(model, conditions, pos);
    if (conditions->pressure)
      report->energy_j -= pla_pressure_work(conditions->pressure, model->rest, pos);
  }
  return st;
}

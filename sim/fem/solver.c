/* Frames by an old factor.
 *
 * The motion of what is prescribed, d, first spreads through the body as it would in a linear one:
 * K dx = df/dx d, the right side by a difference of forces along d.  Then steps with the same factor
 * correct the shape, without any matrix, as long as each leaves at most a quarter of the residual.
 * When they no longer serve, Newton steps follow, by conjugate gradients around that factor; when these
 * take too long, there is a new one; and when even that fails, the solver for any start takes over. */
#include "sim/fem/solver.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/fem/solvers.h"
#include "sim/fem/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_STEPS = 12,
  OLD_FACTOR_ITERATIONS = 12, /* conjugate gradients before a new factor pays */
};

struct PlaFemSolver {
  const PlaFemModel *model;
  PlaFemSystem system;
  unsigned char *fixed;                 /* n_verts x 3 */
  double *force, *other, *trial, *last; /* n_verts x 3 */
  double *residual, *step;              /* block arrays */
  bool factored;
};

void
pla_fem_solver_free(PlaFemSolver *self)
{
  if (!self)
    return;
  pla_fem_system_clear(&self->system);
  free(self->fixed);
  free(self->force);
  free(self->other);
  free(self->trial);
  free(self->last);
  free(self->residual);
  free(self->step);
  free(self);
}

PlaStatus
pla_fem_solver_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                   PlaFemSolver **out, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  PlaFemSolver *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the solver");
  self->model = model;
  self->fixed = pla_array_dup(conditions->fixed, n, 1);
  self->force = pla_array_new(n, sizeof *self->force);
  self->other = pla_array_new(n, sizeof *self->other);
  self->trial = pla_array_new(n, sizeof *self->trial);
  self->last = pla_array_new(n, sizeof *self->last);
  PlaStatus st = self->fixed && self->force && self->other && self->trial && self->last
                     ? pla_fem_system_init(&self->system, model, conditions, NULL, err)
                     : pla_fail_memory(err, "the solver");
  if (st == PLA_OK) {
    const size_t n_free = 3 * (size_t)self->system.n_blocks;
    self->residual = pla_array_new(n_free, sizeof *self->residual);
    self->step = pla_array_new(n_free, sizeof *self->step);
    if (!self->residual || !self->step)
      st = pla_fail_memory(err, "the solver");
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_fem_solver_free(self);
  return st;
}

/* unbalanced forces at @pos into self->residual; their norm */
static PlaStatus
unbalanced(PlaFemSolver *self, const PlaFemConditions *conditions, const double *pos, double *norm,
           PlaError *err)
{
  PlaStatus st = pla_terms_forces(self->model, conditions, pos, self->force, err);
  if (st == PLA_OK) {
    pla_fem_system_gather(&self->system, self->force, self->residual);
    *norm = pla_norm2(self->residual, 3 * (size_t)self->system.n_blocks);
  }
  return st;
}

static void
assemble(PlaFemSolver *self, const PlaFemConditions *conditions, const double *pos)
{
  pla_fem_system_assemble(&self->system, pos, false, 0.0);
  pla_terms_add_stiffness(&self->system, conditions, pos, false);
  pla_fem_system_constrain(&self->system);
}

/* a factor of the assembled matrix, if that is definite */
static PlaStatus
factor(PlaFemSolver *self, const PlaFemOptions *options, PlaFemReport *report, PlaError *err)
{
  bool definite = false;
  PlaStatus st = pla_cholesky_factor(self->system.factor, &self->system.matrix, PLA_SINGLE,
                                     options->progress, &definite, err);
  report->factorisations++;
  self->factored = st == PLA_OK && definite;
  return st;
}

/* moves what is prescribed to its targets, and the rest with it */
static PlaStatus
spread_motion(PlaFemSolver *self, const PlaFemConditions *conditions, double *pos, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  const double difference = 1e-5; /* of the motion: the forces are smooth on its scale */
  for (size_t i = 0; i < n; i++)
    self->trial[i] =
        self->fixed[i] ? pos[i] + difference * (conditions->target[i] - pos[i]) : pos[i];
  PlaStatus st = pla_terms_forces(self->model, conditions, self->trial, self->force, err);
  if (st == PLA_OK)
    st = pla_terms_forces(self->model, conditions, pos, self->other, err);
  if (st != PLA_OK)
    return st;
  for (size_t i = 0; i < n; i++)
    self->force[i] = (self->force[i] - self->other[i]) / difference;
  pla_fem_system_gather(&self->system, self->force, self->residual);
  st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
  if (st == PLA_OK)
    pla_fem_system_add(&self->system, self->step, 1.0, pos);
  for (size_t i = 0; i < n; i++)
    pos[i] = self->fixed[i] ? conditions->target[i] : pos[i];
  return st;
}

/* the Newton step at @pos into self->step, by the factor as it is or, where that no longer serves, a new
 * one */
static PlaStatus
refine_step(PlaFemSolver *self, const PlaFemConditions *conditions, const PlaFemOptions *options,
            const double *pos, PlaFemReport *report, PlaError *err)
{
  PlaRefineReport cg = { 0 };
  assemble(self, conditions, pos);
  PlaStatus st = pla_cholesky_refine(self->system.factor, &self->system.matrix, self->residual, 0.05,
                                     OLD_FACTOR_ITERATIONS, options->progress, self->step, &cg, err);
  report->linear_iterations += cg.iterations;
  if (st != PLA_OK || cg.converged)
    return st;
  st = factor(self, options, report, err);
  if (st == PLA_OK && self->factored)
    st = pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
  return st;
}

PlaStatus
pla_fem_solver_move(PlaFemSolver *self, const PlaFemConditions *conditions,
                    const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  double norm = 0.0;
  *report = (PlaFemReport){ .worst_element = -1, .method = "newton" };
  if (conditions->bindings || conditions->contacts || conditions->inertia || self->model->patches)
    return pla_fem_solve(self->model, conditions, options, pos, report, err);

  /* the residual of the jump */
  for (size_t i = 0; i < n; i++)
    self->trial[i] = self->fixed[i] ? conditions->target[i] : pos[i];
  PlaStatus st = unbalanced(self, conditions, self->trial, &norm, err);
  report->residual_scale_n = fmax(norm, pla_fem_load_norm(self->model, conditions));
  memcpy(self->last, pos, n * sizeof *pos);
  if (st == PLA_OK && !self->factored) {
    assemble(self, conditions, pos);
    st = factor(self, options, report, err);
  }
  if (st == PLA_OK && self->factored)
    st = spread_motion(self, conditions, pos, err);
  double scale = report->residual_scale_n > 0.0 ? report->residual_scale_n : 1.0;
  if (st == PLA_OK && self->factored)
    st = unbalanced(self, conditions, pos, &norm, err);
  bool exact = false;
  for (int k = 0; st == PLA_OK && self->factored && k < MAX_STEPS && norm < scale &&
                  norm > options->tolerance_rel * scale;
       k++) {
    const double before = norm;
    st = exact ? refine_step(self, conditions, options, pos, report, err)
               : pla_cholesky_solve(self->system.factor, self->residual, self->step, err);
    if (st != PLA_OK)
      break;
    pla_fem_system_add(&self->system, self->step, 1.0, pos);
    st = unbalanced(self, conditions, pos, &norm, err);
    report->iterations++;
    report->linear_iterations += !exact;
    exact |= norm > 0.25 * before;
  }
  report->residual_n = norm;
  report->residual_rel = norm / scale;
  if (st == PLA_OK && !(report->residual_rel <= options->tolerance_rel)) {
    /* from where the last frame was, should the steps have led astray */
    if (!isfinite(norm) || norm > scale)
      memcpy(pos, self->last, n * sizeof *pos);
    self->factored = false;
    return pla_fem_solve(self->model, conditions, options, pos, report, err);
  }
  if (st == PLA_OK)
    report->inverted =
        pla_fem_inverted(self->model, pos, &report->min_jacobian, &report->worst_element);
  return st;
}

/* Quasistatic equilibrium by Newton's method on the energy.
 *
 * Each step solves K dx = f with the exact tangent, by conjugate gradients preconditioned with the
 * newest Cholesky factor there is (single precision).  A new factor is made only when the old one no
 * longer serves: the iteration count decides, not the clock, so runs repeat bit for bit.  When the
 * exact tangent is not definite, the element-wise projected one takes its place.  The step length
 * makes the energy fall (Armijo); energies are defined for inverted elements too, so this is sound
 * everywhere.  Near the end, where differences of the energy drown in rounding, the residual decides.
 */
#include "sim/fem/solvers.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/fem/terms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  OLD_FACTOR_ITERATIONS = 12, /* conjugate gradients with an older factor before a new one pays */
  NEW_FACTOR_ITERATIONS = 60, /* with the factor of the very matrix, or of its projection */
  MAX_HALVINGS = 30,
};

typedef struct {
  const PlaFemModel *model;
  const PlaFemConditions *conditions;
  PlaFemSystem system;
  size_t n;          /* scalars of the block arrays */
  double *force;     /* n_verts x 3 */
  double *residual;  /* block array */
  double *step;      /* block array */
  double *trial;     /* n_verts x 3 */
  double work;       /* of the pressure so far, J */
} Newton;

/* unbalanced force at @pos as a block array; its norm */
static PlaStatus
unbalanced(Newton *self, const double *pos, double *norm, PlaError *err)
{
  PlaStatus st = pla_terms_forces(self->model, self->conditions, pos, self->force, err);
  if (st != PLA_OK)
    return st;
  pla_fem_system_gather(&self->system, self->force, self->residual);
  *norm = pla_norm2(self->residual, self->n);
  return PLA_OK;
}

/* energy at @pos less the work of the loads; that of a pressure is counted from rest to the start,
 * along the way that the iterates took, and straight from the last of them, @from */
static double
potential(const Newton *self, const double *from, const double *pos)
{
  double energy = pla_terms_energy(self->model, self->conditions, pos) - self->work;
  if (self->conditions->pressure)
    energy -= pla_pressure_work(self->conditions->pressure, from, pos);
  return energy;
}

static void
assemble(Newton *self, const double *pos, bool project)
{
  pla_fem_system_assemble(&self->system, pos, project, 0.0);
  pla_terms_add_stiffness(&self->system, self->conditions, pos, project);
  pla_fem_system_constrain(&self->system);
}

/* x + length * step, bound vertices following */
static void
try_step(const Newton *self, const double *pos, double length, double *trial)
{
  memcpy(trial, pos, 3 * (size_t)self->model->n_verts * sizeof *pos);
  pla_fem_system_add(&self->system, self->step, length, trial);
  if (self->conditions->bindings)
    pla_bindings_place(self->conditions->bindings, trial);
}

/* the Newton direction into self->step */
static PlaStatus
direction(Newton *self, const double *pos, double rel, const PlaFemOptions *options,
          PlaFemReport *report, PlaError *err)
{
  PlaCholesky *factor = self->system.factor;
  PlaRefineReport cg = { 0 };
  PlaStatus st = PLA_OK;
  assemble(self, pos, false);

  /* with an older factor, as long as it serves */
  if (pla_cholesky_has_factor(factor)) {
    st = pla_cholesky_refine(factor, &self->system.matrix, self->residual, rel,
                             OLD_FACTOR_ITERATIONS, options->progress, self->step, &cg, err);
    report->linear_iterations += cg.iterations;
    if (st != PLA_OK || cg.converged)
      return st;
  }
  /* a new one: of the exact tangent if it is definite, else of the projected one */
  for (int project = 0; project < 2; project++) {
    bool definite = false;
    if (project)
      assemble(self, pos, true);
    for (int precision = PLA_SINGLE; precision <= PLA_DOUBLE && !definite; precision++) {
      /* a double factor of an indefinite matrix would fail as well */
      if (precision == PLA_DOUBLE && !project)
        break;
      st = pla_cholesky_factor(factor, &self->system.matrix, (PlaPrecision)precision,
                               options->progress, &definite, err);
      report->factorisations++;
      if (st != PLA_OK)
        return st;
    }
    if (!definite)
      continue;
    st = pla_cholesky_refine(factor, &self->system.matrix, self->residual, rel,
                             NEW_FACTOR_ITERATIONS, options->progress, self->step, &cg, err);
    report->linear_iterations += cg.iterations;
    if (st != PLA_OK || !cg.negative_curvature)
      return st;
  }
  /* even the projected tangent is singular: follow the force itself, scaled like a step */
  double diagonal = 0.0;
  const PlaBlockMatrix *m = &self->system.matrix;
  for (int r = 0; r < m->n; r++)
    diagonal = fmax(diagonal, fabs(m->value[9 * (size_t)pla_block_matrix_find(m, r, r)]));
  for (size_t i = 0; i < self->n; i++)
    self->step[i] = self->residual[i] / (diagonal > 0.0 ? diagonal : 1.0);
  return PLA_OK;
}

static void
newton_clear(Newton *self)
{
  pla_fem_system_clear(&self->system);
  free(self->force);
  free(self->residual);
  free(self->step);
  free(self->trial);
}

PlaStatus
pla_fem_solve_newton(const PlaFemModel *model, const PlaFemConditions *conditions,
                     const PlaFemOptions *options, double *pos, PlaFemReport *report, PlaError *err)
{
  const size_t n_coords = 3 * (size_t)model->n_verts;
  Newton self = { .model = model, .conditions = conditions };
  PlaStatus st = pla_fem_system_init(&self.system, model, conditions, NULL, err);
  if (st != PLA_OK)
    return st;
  self.n = 3 * (size_t)self.system.n_blocks;
  self.force = pla_array_new(n_coords, sizeof *self.force);
  self.residual = pla_array_new(self.n, sizeof *self.residual);
  self.step = pla_array_new(self.n, sizeof *self.step);
  self.trial = pla_array_new(n_coords, sizeof *self.trial);
  if (!self.force || !self.residual || !self.step || !self.trial)
    st = pla_fail_memory(err, "the solver");

  double norm = 0.0, scale = 0.0;
  if (st == PLA_OK)
    st = unbalanced(&self, pos, &norm, err);
  if (st == PLA_OK) {
    scale = fmax(pla_fem_load_norm(model, conditions), fmax(norm, report->residual_scale_n));
    report->residual_scale_n = scale;
  }
  if (conditions->pressure)
    self.work = pla_pressure_work(conditions->pressure, model->rest, pos);
  double energy = st == PLA_OK ? potential(&self, pos, pos) : 0.0;
  report->reason = PLA_STOP_ITERATIONS;
  for (int it = 0; st == PLA_OK; it++) {
    report->residual_n = norm;
    report->residual_rel = scale > 0.0 ? norm / scale : 0.0;
    if (report->residual_rel <= options->tolerance_rel) {
      report->reason = PLA_STOP_CONVERGED;
      break;
    }
    if (it >= options->max_iterations)
      break;
    double done = log(report->residual_rel) / log(options->tolerance_rel);
    if (!pla_progress_step(options->progress, done)) {
      report->reason = PLA_STOP_CANCELLED;
      break;
    }

    /* far from the solution a rough direction is enough; close to it the linear solve must not
     * spoil the quadratic convergence */
    double rel = fmin(0.1, fmax(0.1 * options->tolerance_rel / report->residual_rel,
                                sqrt(report->residual_rel)));
    rel = fmin(rel, 0.05);
    st = direction(&self, pos, rel, options, report, err);
    if (st != PLA_OK)
      break;

    /* down the energy, or, within its rounding, down the residual */
    double slope = -pla_dot(self.residual, self.step, self.n);
    double noise = 1e3 * DBL_EPSILON * (fabs(energy) + fabs(slope));
    double length = 1.0, old_norm = norm, new_energy = energy;
    bool accepted = false;
    for (int h = 0; h < MAX_HALVINGS && !accepted && st == PLA_OK; h++) {
      try_step(&self, pos, length, self.trial);
      new_energy = potential(&self, pos, self.trial);
      bool falls = new_energy <= energy + 1e-4 * length * slope;
      if (!falls && fabs(new_energy - energy) <= noise) {
        st = unbalanced(&self, self.trial, &norm, err);
        falls = norm < old_norm;
      }
      if (falls)
        accepted = true;
      else
        length *= 0.5;
    }
    if (st != PLA_OK)
      break;
    if (!accepted) {
      report->reason = PLA_STOP_STALLED;
      break;
    }
    if (conditions->pressure)
      self.work += pla_pressure_work(conditions->pressure, pos, self.trial);
    memcpy(pos, self.trial, n_coords * sizeof *pos);
    energy = new_energy;
    report->iterations++;
    st = unbalanced(&self, pos, &norm, err);
  }
  if (st == PLA_ERR_CANCELLED) {
    report->reason = PLA_STOP_CANCELLED;
    st = PLA_OK;
  }
  report->energy_j = energy;
  newton_clear(&self);
  return st;
}

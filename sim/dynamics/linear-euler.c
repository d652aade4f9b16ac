/* Linearised (semi-implicit) Euler (Baraff and Witkin 1998): backward Euler with the elastic forces
 * made linear at the start of the step, (M + dt D + dt^2 K) dv = dt (f - dt K v - D v),  x' = x +
 * dt (v + dv). One linear solve; with contacts a few, since those are one-sided: they are taken at
 * the end of the step, as in backward Euler. */
#include "sim/dynamics/dynamics-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/contact/contact.h"
#include "sim/solve/solve.h"
#include "sim/solve/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 30 }; /* of contacts that come and go */

typedef struct {
  PlaDynamics *dyn;
  PlaFemConditions conditions;
  double factor;           /* of the mass, 1/s^2 */
  double elastic;          /* of the stiffness: 1 + beta / dt */
  double *dead;            /* dead forces and the elastic ones at the start (n_verts x 3) */
  double *residual, *step; /* block arrays */
} Linear;

/* unbalanced force at dyn->next, elastic forces linear */
static PlaStatus
unbalanced(Linear *self, double *norm, PlaError *err)
{
  PlaDynamics *dyn = self->dyn;
  const PlaFemModel *model = dyn->model;
  const PlaFemSystem *k = &dyn->stiffness;
  const size_t n = 3 * (size_t)model->n_verts, nb = 3 * (size_t)k->n_blocks;
  double *u = pla_array_new(nb, sizeof *u), *ku = pla_array_new(nb, sizeof *ku);
  PlaStatus st = u && ku ? PLA_OK : pla_fail_memory(err, "the motion");
  if (st == PLA_OK) {
    memcpy(dyn->force, self->dead, n * sizeof *dyn->force);
    for (size_t r = 0; r < (size_t)k->n_blocks; r++)
      for (size_t d = 0; d < 3; d++) {
        size_t i = 3 * (size_t)k->vert_of[r] + d;
        u[3 * r + d] = dyn->next[i] - dyn->pos[i];
      }
    pla_block_matrix_mul(&k->matrix, u, ku);
    for (size_t r = 0; r < (size_t)k->n_blocks; r++)
      for (size_t d = 0; d < 3; d++)
        dyn->force[3 * (size_t)k->vert_of[r] + d] -= self->elastic * ku[3 * r + d];
    for (size_t i = 0; i < n; i++)
      dyn->force[i] -= self->factor * model->mass[i / 3] * (dyn->next[i] - dyn->predicted[i]);
    if (self->conditions.springs)
      pla_springs_add_forces(self->conditions.springs, dyn->next, dyn->force);
    if (self->conditions.contacts)
      pla_contact_set_add_forces(self->conditions.contacts, dyn->next, dyn->force);
    if (self->conditions.bindings)
      pla_bindings_reduce(self->conditions.bindings, 3, dyn->force);
    pla_fem_system_gather(&self->dyn->linear, dyn->force, self->residual);
    *norm = pla_norm2(self->residual, 3 * (size_t)self->dyn->linear.n_blocks);
  }
  free(u);
  free(ku);
  return st;
}

/* one linear solve into self->step */
static PlaStatus
direction(Linear *self, PlaError *err)
{
  PlaDynamics *dyn = self->dyn;
  PlaRefineReport cg = { 0 };
  bool definite = false;
  for (int project = 0; project < 2 && !definite; project++) {
    PlaStatus st = project ? pla_dynamics_assemble(dyn, true, err) : PLA_OK;
    if (st != PLA_OK)
      return st;
    PlaBlockMatrix *m = &self->dyn->linear.matrix;
    memset(m->value, 0, 9 * (size_t)m->start[m->n] * sizeof *m->value);
    pla_fem_system_add_mass(&self->dyn->linear, self->factor);
    pla_fem_system_add_matrix(&self->dyn->linear, self->elastic, &dyn->stiffness);
    pla_terms_add_stiffness(&self->dyn->linear, &self->conditions, dyn->next, true);
    pla_fem_system_constrain(&self->dyn->linear);
    st = pla_cholesky_factor(self->dyn->linear.factor, m, PLA_DOUBLE, dyn->options.solve.progress,
                             &definite, err);
    if (st != PLA_OK)
      return st;
  }
  if (!definite)
    return pla_fail(err, PLA_ERR_CONVERGENCE,
                    "the equations of a time step are singular; make the "
                    "step smaller");
  return pla_cholesky_refine(self->dyn->linear.factor, &self->dyn->linear.matrix, self->residual,
                             1e-10, 20, dyn->options.solve.progress, self->step, &cg, err);
}

static PlaStatus
make_room(Linear *self, PlaError *err)
{
  PlaDynamics *dyn = self->dyn;
  PlaVertSets links = { 0 };
  PlaStatus st = PLA_OK;
  if (self->dyn->linear.factor && pla_terms_fit(&self->dyn->linear, &self->conditions))
    return PLA_OK;
  if (self->conditions.contacts)
    st = pla_terms_links(&self->conditions, &links, err);
  pla_fem_system_clear(&self->dyn->linear);
  if (st == PLA_OK)
    st = pla_fem_system_init(&self->dyn->linear, dyn->model, &self->conditions, &links, err);
  pla_vert_sets_clear(&links);
  return st;
}

static PlaStatus
touch(Linear *self, PlaError *err)
{
  PlaContactSet *contacts = self->conditions.contacts;
  PlaStatus st = contacts ? pla_contact_set_update(contacts, self->dyn->next, 0.0, err) : PLA_OK;
  if (st == PLA_OK && contacts)
    st = pla_contact_set_hold(contacts, err);
  return st == PLA_OK ? make_room(self, err) : st;
}

static PlaStatus
step(PlaDynamics *dyn, PlaError *err)
{
  const size_t n = 3 * (size_t)dyn->model->n_verts;
  const double dt = dyn->options.dt_s, alpha = dyn->options.mass_damping;
  Linear self = { .dyn = dyn,
                  .conditions = *dyn->conditions,
                  .factor = 1.0 / (dt * dt) + alpha / dt,
                  .elastic = 1.0 + dyn->options.stiffness_damping / dt };
  self.dead = pla_array_new(n, sizeof *self.dead);
  self.residual = pla_array_new(n, sizeof *self.residual);
  self.step = pla_array_new(n, sizeof *self.step);
  PlaStatus st =
      self.dead && self.residual && self.step ? PLA_OK : pla_fail_memory(err, "the motion");
  if (st == PLA_OK)
    st = pla_dynamics_assemble(dyn, false, err);
  if (st == PLA_OK)
    st = pla_fem_forces(dyn->model, dyn->pos, self.dead, err);
  if (st == PLA_OK) {
    for (size_t i = 0; i < n && self.conditions.force; i++)
      self.dead[i] += self.conditions.force[i];
    if (self.conditions.pressure)
      pla_pressure_add_forces(self.conditions.pressure, dyn->pos, self.dead);
    for (size_t i = 0; i < n; i++) {
      dyn->predicted[i] = dyn->pos[i] + dt * dyn->vel[i] / (1.0 + alpha * dt);
      dyn->next[i] = self.conditions.fixed[i] ? dyn->target[i] : dyn->pos[i];
    }
    if (self.conditions.bindings)
      pla_bindings_place(self.conditions.bindings, dyn->next);
    /* pressure stays as it was at the start; its stiffness is left out */
    self.conditions.pressure = NULL;
    st = touch(&self, err);
  }
  PlaFemReport *report = &dyn->report.solve;
  *report =
      (PlaFemReport){ .worst_element = -1, .method = "linear", .reason = PLA_STOP_ITERATIONS };
  for (int round = 0; st == PLA_OK && round < MOST_ROUNDS; round++) {
    double norm = 0.0;
    st = unbalanced(&self, &norm, err);
    dyn->scale = fmax(dyn->scale, norm);
    report->residual_n = norm;
    report->residual_scale_n = dyn->scale;
    report->residual_rel = dyn->scale > 0.0 ? norm / dyn->scale : 0.0;
    if (report->residual_rel <= dyn->options.solve.tolerance_rel) {
      report->reason = PLA_STOP_CONVERGED;
      break;
    }
    if (st == PLA_OK)
      st = direction(&self, err);
    if (st != PLA_OK)
      break;
    report->factorisations++;
    report->iterations++;
    double length = 1.0;
    if (self.conditions.contacts) {
      memcpy(dyn->force, dyn->next, n * sizeof *dyn->force);
      pla_fem_system_add(&dyn->linear, self.step, 1.0, dyn->force);
      length = pla_contact_set_limit(self.conditions.contacts, dyn->next, dyn->force);
    }
    pla_fem_system_add(&dyn->linear, self.step, length, dyn->next);
    if (self.conditions.bindings)
      pla_bindings_place(self.conditions.bindings, dyn->next);
    st = touch(&self, err);
  }
  if (st == PLA_OK) {
    dyn->report.unsolved += report->reason != PLA_STOP_CONVERGED;
    pla_dynamics_accept(dyn, dt);
  }
  free(self.dead);
  free(self.residual);
  free(self.step);
  return st;
}

const PlaIntegrator pla_integrator_linear_euler = {
  .name = "linear-euler",
  .summary = "backward Euler with one linear solve a step",
  .order = 1,
  .step = step,
};

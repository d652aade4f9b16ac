/* Motion: the state, the implicit step all integrators share, the table. */
#include "sim/dynamics/dynamics.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/contact/contact.h"
#include "sim/dynamics/dynamics-private.h"
#include "sim/solve/solve.h"
#include "sim/solve/solvers.h"
#include "sim/solve/terms.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const PlaIntegrator *const integrators[] = {
  &pla_integrator_backward_euler,
  &pla_integrator_linear_euler,
  &pla_integrator_midpoint,
  NULL,
};

const PlaIntegrator *const *
pla_integrators_get(void)
{
  return integrators;
}

const PlaIntegrator *
pla_integrator_find(const char *name)
{
  for (const PlaIntegrator *const *i = integrators; *i; i++)
    if (strcmp((*i)->name, name) == 0)
      return *i;
  return NULL;
}

PlaDynamicsOptions
pla_dynamics_options_default(void)
{
  return (PlaDynamicsOptions){ .dt_s = 1.0 / 60.0, .solve = pla_fem_options_default() };
}

PlaStatus
pla_dynamics_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                 const PlaIntegrator *integrator, const PlaDynamicsOptions *options,
                 const double *pos, const double *vel, PlaDynamics **out, PlaError *err)
{
  const size_t n = 3 * (size_t)model->n_verts;
  *out = NULL;
  if (!(options->dt_s > 0.0) || !isfinite(options->dt_s))
    return pla_fail(err, PLA_ERR_USAGE, "the time step must be above 0 s");
  PlaDynamics *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the motion");
  self->model = model;
  self->conditions = conditions;
  self->integrator = integrator;
  self->options = *options;
  self->pos = pla_array_dup(pos, n, sizeof *self->pos);
  self->vel = vel ? pla_array_dup(vel, n, sizeof *self->vel) : pla_array_new0(n, sizeof *self->vel);
  self->next = pla_array_new(n, sizeof *self->next);
  self->predicted = pla_array_new(n, sizeof *self->predicted);
  self->force = pla_array_new(n, sizeof *self->force);
  self->target = pla_array_new(n, sizeof *self->target);
  PlaStatus st = PLA_OK;
  if (!self->pos || !self->vel || !self->next || !self->predicted || !self->force || !self->target)
    st = pla_fail_memory(err, "the motion");
  if (st == PLA_OK) {
    if (conditions->bindings) {
      pla_bindings_place(conditions->bindings, self->pos);
      pla_bindings_place(conditions->bindings, self->vel);
    }
    *out = self;
  } else {
    pla_dynamics_free(self);
  }
  return st;
}

void
pla_dynamics_free(PlaDynamics *self)
{
  if (!self)
    return;
  free(self->pos);
  free(self->vel);
  free(self->next);
  free(self->predicted);
  free(self->force);
  free(self->target);
  if (self->has_stiffness)
    pla_fem_system_clear(&self->stiffness);
  pla_fem_system_clear(&self->linear);
  free(self);
}

PlaStatus
pla_dynamics_assemble(PlaDynamics *self, bool project, PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (!self->has_stiffness) {
    unsigned char *free_all = pla_array_new0((size_t)self->model->n_verts, 3);
    PlaFemConditions loose = { .fixed = free_all };
    st = free_all ? pla_fem_system_init(&self->stiffness, self->model, &loose, NULL, err)
                  : pla_fail_memory(err, "the motion");
    self->has_stiffness = st == PLA_OK;
    free(free_all);
  }
  if (st == PLA_OK)
    pla_fem_system_assemble(&self->stiffness, self->pos, project, 0.0);
  return st;
}

/* M (x' - x - dt v) / dt^2 = f(x') - D (x' - x) / dt: with c = 1/dt^2 + alpha/dt the inertia pulls
 * towards x + dt v / (1 + alpha dt) */
PlaStatus
pla_dynamics_implicit(PlaDynamics *self, double dt, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  const double alpha = self->options.mass_damping, beta = self->options.stiffness_damping;
  const double factor = 1.0 / (dt * dt) + alpha / dt;
  PlaFemConditions conditions = *self->conditions;
  PlaFemInertia inertia = { factor, self->predicted };
  PlaFemDamping damping = { beta / dt, &self->stiffness, self->pos };
  PlaStatus st = beta > 0.0 ? pla_dynamics_assemble(self, true, err) : PLA_OK;
  for (size_t i = 0; i < n; i++)
    self->predicted[i] = self->pos[i] + dt * self->vel[i] / (1.0 + alpha * dt);
  conditions.target = self->target;
  conditions.inertia = &inertia;
  conditions.damping = beta > 0.0 ? &damping : NULL;
  if (st == PLA_OK && conditions.contacts)
    st = pla_contact_set_update(conditions.contacts, self->pos, 0.0, err);

  /* residuals are relative to the largest forces seen so far: a body that passes through its rest
   * shape has hardly any */
  PlaFemConditions still = conditions;
  still.inertia = NULL;
  still.damping = NULL;
  if (st == PLA_OK)
    st = pla_terms_forces(self->model, &still, self->pos, self->force, err);
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->force[i] = conditions.fixed[i] ? 0.0 : self->force[i];
  if (st == PLA_OK)
    self->scale = fmax(self->scale, pla_norm2(self->force, n));
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->force[i] = conditions.fixed[i] ? 0.0 : self->model->mass[i / 3] * self->vel[i] / dt;
  if (st == PLA_OK)
    self->scale = fmax(self->scale, pla_norm2(self->force, n));

  /* and to what rounding of the positions alone makes */
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    self->force[i] = factor * self->model->mass[i / 3] * self->pos[i];
  if (st == PLA_OK)
    self->scale = fmax(self->scale, 256.0 * DBL_EPSILON / self->options.solve.tolerance_rel *
                                        pla_norm2(self->force, n));

  /* from where momentum alone leads, as far as nothing is in the way */
  if (st == PLA_OK) {
    for (size_t i = 0; i < n; i++)
      self->next[i] = conditions.fixed[i] ? self->target[i] : self->predicted[i];
    if (conditions.bindings)
      pla_bindings_place(conditions.bindings, self->next);
    double way = conditions.contacts
                     ? pla_contact_set_limit(conditions.contacts, self->pos, self->next)
                     : 1.0;
    for (size_t i = 0; i < n && way < 1.0; i++)
      if (!conditions.fixed[i])
        self->next[i] = self->pos[i] + way * (self->next[i] - self->pos[i]);
  }
  PlaFemReport *report = &self->report.solve;
  *report =
      (PlaFemReport){ .worst_element = -1, .method = "newton", .residual_scale_n = self->scale };
  if (st == PLA_OK && self->options.solve.method == PLA_SOLVER_PBNG) {
    report->method = "pbng";
    st =
        pla_fem_solve_pbng(self->model, &conditions, &self->options.solve, self->next, report, err);
  } else if (st == PLA_OK) {
    PlaFemOptions options = self->options.solve;
    options.warm_start = true;
    st = pla_fem_solve_newton(self->model, &conditions, &options, self->next, report, err);
  }
  if (st == PLA_OK && report->reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  /* close enough, though rounding, or friction that depends on the push, forbids what was asked for
   */
  if (report->residual_rel < fmax(1e-6, 10.0 * self->options.solve.tolerance_rel))
    report->reason = PLA_STOP_CONVERGED;
  self->report.unsolved += report->reason != PLA_STOP_CONVERGED;
  return st;
}

void
pla_dynamics_accept(PlaDynamics *self, double dt)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  for (size_t i = 0; i < n; i++) {
    self->vel[i] = (self->next[i] - self->pos[i]) / dt;
    self->pos[i] = self->next[i];
  }
}

PlaStatus
pla_dynamics_step(PlaDynamics *self, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  memcpy(self->target, self->conditions->target, n * sizeof *self->target);
  PlaStatus st = self->integrator->step(self, err);
  self->steps++;
  if (st == PLA_OK && self->conditions->contacts) {
    PlaContactReport contact;
    st = pla_contact_set_update(self->conditions->contacts, self->pos, 0.0, err);
    pla_contact_set_report(self->conditions->contacts, self->pos, &contact);
    self->report.solve.contacts = contact.contacts;
    self->report.solve.max_penetration_m = contact.max_penetration;
    self->report.solve.contact_n = contact.normal_force;
    if (st == PLA_OK)
      st = pla_contact_set_begin_step(self->conditions->contacts, self->pos, NULL, err);
  }
  return st;
}

double
pla_dynamics_time(const PlaDynamics *self)
{
  return self->steps * self->options.dt_s;
}

const double *
pla_dynamics_get_pos(const PlaDynamics *self)
{
  return self->pos;
}

const double *
pla_dynamics_get_vel(const PlaDynamics *self)
{
  return self->vel;
}

void
pla_dynamics_report(const PlaDynamics *self, PlaDynamicsReport *out)
{
  const PlaFemModel *model = self->model;
  *out = self->report;
  double kinetic = 0.0;
  for (size_t v = 0; v < (size_t)model->n_verts; v++)
    kinetic += 0.5 * model->mass[v] * pla_vec3_dot(self->vel + 3 * v, self->vel + 3 * v);
  out->kinetic_j = kinetic;
  out->potential_j = pla_terms_energy(model, self->conditions, self->pos);
  out->solve.inverted =
      pla_fem_inverted(model, self->pos, &out->solve.min_jacobian, &out->solve.worst_element);
}

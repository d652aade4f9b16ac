/* Implicit midpoint: M (v' - v) = dt (f(xm) - D vm), xm = x + dt/2 vm, vm = (v + v')/2, x' = x + dt
 * vm. The middle is a step of backward Euler over half the time.  Keeps linear and angular momentum
 * and, for linear forces, the energy, while nothing touches. */
#include "sim/dynamics/dynamics-private.h"

#include "sim/contact/contact.h"

#include <string.h>

static PlaStatus
step(PlaDynamics *self, PlaError *err)
{
  const size_t n = 3 * (size_t)self->model->n_verts;
  const double dt = self->options.dt_s;
  for (size_t i = 0; i < n; i++)
    self->target[i] = 0.5 * (self->pos[i] + self->conditions->target[i]);
  PlaStatus st = pla_dynamics_implicit(self, 0.5 * dt, err);
  bool touches = false;
  if (st == PLA_OK && self->conditions->contacts) {
    PlaContactReport contact;
    st = pla_contact_set_update(self->conditions->contacts, self->next, 0.0, err);
    pla_contact_set_report(self->conditions->contacts, self->next, &contact);
    touches = contact.contacts > 0;
  }
  if (st != PLA_OK)
    return st;
  for (size_t i = 0; i < n; i++)
    self->next[i] = 2.0 * self->next[i] - self->pos[i];
  /* a contact that holds in the middle may be passed at the end, and would ring for ever: such
   * steps are taken as backward Euler takes them */
  if (touches || (self->conditions->contacts &&
                  pla_contact_set_limit(self->conditions->contacts, self->pos, self->next) < 1.0)) {
    memcpy(self->target, self->conditions->target, n * sizeof *self->target);
    self->report.safe_steps++;
    st = pla_dynamics_implicit(self, dt, err);
    if (st == PLA_OK)
      pla_dynamics_accept(self, dt);
    return st;
  }
  for (size_t i = 0; i < n; i++) {
    double middle = (self->next[i] - self->pos[i]) / dt;
    self->vel[i] = 2.0 * middle - self->vel[i];
    self->pos[i] = self->next[i];
  }
  /* what is prescribed has the velocity of its motion, not an alternating one */
  for (size_t i = 0; i < n; i++)
    if (self->conditions->fixed[i])
      self->vel[i] = 0.0;
  return PLA_OK;
}

const PlaIntegrator pla_integrator_midpoint = {
  .name = "midpoint",
  .summary = "second order, keeps momentum and nearly the energy",
  .order = 2,
  .step = step,
};

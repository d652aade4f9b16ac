/* Backward Euler: M (v' - v) = dt (f(x') - D v'), x' = x + dt v'.  Stable for any step and any
 * contact; takes energy from whatever swings faster than the step can follow. */
#include "sim/dynamics/dynamics-private.h"

static PlaStatus
step(PlaDynamics *self, PlaError *err)
{
  PlaStatus st = pla_dynamics_implicit(self, self->options.dt_s, err);
  if (st == PLA_OK)
    pla_dynamics_accept(self, self->options.dt_s);
  return st;
}

const PlaIntegrator pla_integrator_backward_euler = {
  .name = "backward-euler",
  .summary = "stable at any step, takes energy from fast vibrations",
  .order = 1,
  .step = step,
};

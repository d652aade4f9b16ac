/* The inside of a motion, for integrators. */
#pragma once

#include "sim/dynamics/dynamics.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"

struct PlaDynamics {
  const PlaFemModel *model;           /* borrowed */
  const PlaFemConditions *conditions; /* borrowed */
  const PlaIntegrator *integrator;
  PlaDynamicsOptions options;
  int steps;                 /* done so far */
  double *pos, *vel;         /* m, m/s (n_verts x 3) */
  double *next;              /* positions that a step is looking for */
  double *predicted, *force; /* n_verts x 3 */
  double *target;            /* of prescribed coordinates within a step */
  PlaFemSystem stiffness;    /* of the shape at the start of the step, nothing prescribed */
  bool has_stiffness;
  PlaFemSystem linear; /* of the linearised step, kept for its analysis */
  double scale;        /* N, what residuals are relative to */
  PlaDynamicsReport report;
};

extern const PlaIntegrator pla_integrator_backward_euler;
extern const PlaIntegrator pla_integrator_linear_euler;
extern const PlaIntegrator pla_integrator_midpoint;

/* self->next from self->pos: backward Euler over @dt towards self->target. */
PlaStatus pla_dynamics_implicit(PlaDynamics *self, double dt, PlaError *err);
/* self->stiffness at self->pos. */
PlaStatus pla_dynamics_assemble(PlaDynamics *self, bool project, PlaError *err);
/* Ends a step of length @dt at self->next with velocity (next - pos) / dt. */
void pla_dynamics_accept(PlaDynamics *self, double dt);

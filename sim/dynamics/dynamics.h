/* Motion of a body in time: lumped masses, Rayleigh damping, the same elements, loads and contacts
 * as in statics.
 *
 *   M dv/dt = f(x) - D v,  dx/dt = v,  D = alpha M + beta K,
 * K the stiffness of the shape at the start of a step, made positive, so that turning as a whole
 * costs nothing.  One table lists the integrators. */
#pragma once

#include "sim/fem/model.h"
#include "sim/solve/solve.h"

typedef struct {
  double dt_s;
  double mass_damping;      /* alpha, 1/s */
  double stiffness_damping; /* beta, s */
  PlaFemOptions solve;      /* method, tolerance and limit of the equations of one step */
} PlaDynamicsOptions;
PlaDynamicsOptions pla_dynamics_options_default(void); /* 1/60 s, no damping */

typedef struct PlaDynamics PlaDynamics;

typedef struct PlaIntegrator PlaIntegrator;
struct PlaIntegrator {
  const char *name;    /* "backward-euler" */
  const char *summary; /* one line */
  int order;
  PlaStatus (*step)(PlaDynamics *self, PlaError *err);
};

/* NULL-terminated. */
const PlaIntegrator *const *pla_integrators_get(void);
const PlaIntegrator *pla_integrator_find(const char *name); /* NULL: none of that name */

/* At @pos (n_verts x 3; copied) with velocities @vel (NULL: at rest).  @model and @conditions and
 * all they point to are borrowed.  conditions->target is where prescribed coordinates will be at
 * the end of the next step: the caller changes it between steps. */
PlaStatus pla_dynamics_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                           const PlaIntegrator *integrator, const PlaDynamicsOptions *options,
                           const double *pos, const double *vel, PlaDynamics **out, PlaError *err);
void pla_dynamics_free(PlaDynamics *self); /* NULL is fine */

/* One step.  Equations that were not solved to the tolerance are a result (report), not an error.
 */
PlaStatus pla_dynamics_step(PlaDynamics *self, PlaError *err);

double pla_dynamics_time(const PlaDynamics *self);           /* s */
const double *pla_dynamics_get_pos(const PlaDynamics *self); /* m */
const double *pla_dynamics_get_vel(const PlaDynamics *self); /* m/s */

typedef struct {
  PlaFemReport solve; /* of the last step */
  int unsolved;       /* steps so far whose equations were not solved */
  int safe_steps;     /* steps taken by backward Euler because something touched */
  double kinetic_j;
  double potential_j; /* elastic, springs and contacts, less the work of dead forces */
} PlaDynamicsReport;
void pla_dynamics_report(const PlaDynamics *self, PlaDynamicsReport *out);

/* The forward pass with contact and time. */
#include "sim/active/forward.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/dynamics/dynamics.h"
#include "sim/fem/model-data.h"
#include "sim/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct PlaForward {
  const PlaActiveModel *model;
  PlaForwardOptions options;
  PlaFemModel *fem; /* the model's, with activations of its own */
  PlaContactSet *contacts;
  PlaDynamics *dynamics; /* after the first frame, where there is time */
  PlaFemConditions conditions;
  unsigned char *fixed;   /* n_verts x 3 */
  double *target, *pos;   /* n_verts x 3 */
  double *control, *part; /* n_controls */
  double *poses;          /* of the colliders before a step (n_colliders x 12) */
};

void
pla_forward_free(PlaForward *self)
{
  if (!self)
    return;
  pla_dynamics_free(self->dynamics);
  pla_contact_set_free(self->contacts);
  pla_fem_model_free(self->fem);
  free(self->fixed);
  free(self->target);
  free(self->pos);
  free(self->control);
  free(self->part);
  free(self->poses);
  free(self);
}

PlaStatus
pla_forward_new(const PlaActiveModel *model, const PlaForwardOptions *options, PlaForward **out,
                PlaError *err)
{
  const size_t nv = (size_t)pla_active_n_verts(model), nc = (size_t)pla_active_n_controls(model);
  const unsigned char *hold = pla_active_hold(model);
  const double *rest = pla_fem_model_rest(pla_active_fem(model));
  PlaForward *self = pla_array_new0(1, sizeof *self);
  *out = NULL;
  if (!self)
    return pla_fail_memory(err, "the motion");
  self->model = model;
  self->options = *options;
  if (self->options.substeps < 1)
    self->options.substeps = 4;
  if (!(self->options.tolerance_rel > 0.0))
    self->options.tolerance_rel = 1e-5;
  self->fixed = pla_array_new(nv, 3);
  self->target = pla_array_dup(rest, 3 * nv, sizeof *self->target);
  self->pos = pla_array_dup(rest, 3 * nv, sizeof *self->pos);
  self->control = pla_array_new0(nc, sizeof *self->control);
  self->part = pla_array_new0(nc, sizeof *self->part);
  self->poses = pla_array_new0((size_t)options->n_colliders, 12 * sizeof *self->poses);
  PlaStatus st = PLA_OK;
  if (!self->fixed || !self->target || !self->pos || !self->control || !self->part || !self->poses)
    st = pla_fail_memory(err, "the motion");
  for (size_t v = 0; st == PLA_OK && v < nv; v++)
    memset(self->fixed + 3 * v, hold[v] != PLA_HOLD_FREE, 3);
  if (st == PLA_OK)
    st = pla_fem_model_share(pla_active_fem(model), &self->fem, err);
  if (st == PLA_OK && options->contact)
    st = pla_contact_set_new(self->fem, options->collider, NULL, options->n_colliders,
                             options->contact, &self->contacts, err);
  self->conditions = (PlaFemConditions){ .fixed = self->fixed,
                                         .target = self->target,
                                         .contacts = self->contacts };
  if (st == PLA_OK)
    *out = self;
  else
    pla_forward_free(self);
  return st;
}

const double *
pla_forward_get_pos(const PlaForward *self)
{
  return self->dynamics ? pla_dynamics_get_pos(self->dynamics) : self->pos;
}

/* sets activations, what is held and the jaw's colliders to where self->part has them */
static void
aim(PlaForward *self)
{
  const PlaJaw *jaw = pla_active_jaw(self->model);
  pla_fem_model_set_activations(self->fem, self->part);
  memcpy(self->target, self->pos,
         3 * (size_t)pla_active_n_verts(self->model) * sizeof *self->target);
  pla_active_place(self->model, self->part, self->target);
  for (int c = 0; c < self->options.n_colliders; c++) {
    double rotation[9], shift[3] = { 0.0, 0.0, 0.0 };
    pla_collider_get_pose(self->options.collider[c], self->poses + 12 * c,
                          self->poses + 12 * c + 9);
    if (!jaw || !self->options.with_jaw || !self->options.with_jaw[c])
      continue;
    pla_jaw_pose(jaw, self->part + pla_active_n_muscles(self->model), rotation, shift);
    pla_collider_set_pose(self->options.collider[c], rotation, shift);
  }
}

/* how many equal parts of the way to @control keep elements at the jaw from turning over */
static int
n_parts(const PlaForward *self, const double *control)
{
  static const double most_activation = 0.5, most_angle = 0.03, most_slide = 0.002; /* 1; rad; m */
  const int nm = pla_active_n_muscles(self->model), nc = pla_active_n_controls(self->model);
  double longest = 1.0;
  for (int c = 0; c < nc; c++) {
    const double most = c < nm                      ? most_activation
                        : c == nm + PLA_JAW_OPENING ? most_angle
                                                    : most_slide;
    longest = fmax(longest, fabs(control[c] - self->control[c]) / most);
  }
  return (int)ceil(longest - 1e-9);
}

static PlaStatus
solve_part(PlaForward *self, PlaProgress *progress, PlaForwardReport *report, PlaError *err)
{
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport fem;
  options.method = PLA_SOLVER_NEWTON;
  options.tolerance_rel = self->options.tolerance_rel;
  options.warm_start = true;
  options.progress = progress;
  PlaStatus st = PLA_OK;
  if (self->contacts)
    st = pla_contact_set_begin_step(self->contacts, self->pos, self->poses, err);
  if (st == PLA_OK)
    st = pla_fem_solve(self->fem, &self->conditions, &options, self->pos, &fem, err);
  if (st != PLA_OK)
    return st;
  if (fem.reason == PLA_STOP_CANCELLED)
    return pla_fail_cancelled(err);
  report->iterations += fem.iterations;
  report->converged &= fem.reason == PLA_STOP_CONVERGED;
  return PLA_OK;
}

static PlaStatus
begin_motion(PlaForward *self, PlaError *err)
{
  PlaDynamicsOptions options = pla_dynamics_options_default();
  options.dt_s = self->options.dt_s / self->options.substeps;
  options.mass_damping = self->options.mass_damping;
  options.stiffness_damping = self->options.stiffness_damping;
  options.solve.tolerance_rel = self->options.tolerance_rel;
  return pla_dynamics_new(self->fem, &self->conditions, pla_integrator_find("backward-euler"),
                          &options, self->pos, NULL, &self->dynamics, err);
}

PlaStatus
pla_forward_step(PlaForward *self, const double *control, PlaProgress *progress,
                 PlaForwardReport *report, PlaError *err)
{
  const size_t n = 3 * (size_t)pla_active_n_verts(self->model);
  const int nc = pla_active_n_controls(self->model);
  const bool timed = self->dynamics != NULL;
  const int parts = timed ? self->options.substeps : n_parts(self, control);
  PlaStatus st = PLA_OK;
  *report = (PlaForwardReport){ .converged = true };
  for (int k = 1; k <= parts && st == PLA_OK; k++) {
    const double t = (double)k / parts;
    if (pla_progress_cancelled(progress))
      return pla_fail_cancelled(err);
    for (int c = 0; c < nc; c++)
      self->part[c] = k == parts ? control[c] : (1.0 - t) * self->control[c] + t * control[c];
    aim(self);
    if (timed) {
      PlaDynamicsReport moved;
      st = pla_dynamics_step(self->dynamics, err);
      if (st != PLA_OK)
        break;
      memcpy(self->pos, pla_dynamics_get_pos(self->dynamics), n * sizeof *self->pos);
      pla_dynamics_report(self->dynamics, &moved);
      report->iterations += moved.solve.iterations;
      report->converged &= moved.solve.reason == PLA_STOP_CONVERGED;
    } else
      st = solve_part(self, progress, report, err);
  }
  if (st != PLA_OK)
    return st;
  memcpy(self->control, control, (size_t)nc * sizeof *self->control);
  if (self->contacts) {
    PlaContactReport touch;
    st = pla_contact_set_update(self->contacts, self->pos, 0.0, err);
    pla_contact_set_report(self->contacts, self->pos, &touch);
    report->contacts = touch.contacts;
    report->max_penetration_m = touch.max_penetration;
    report->contact_n = touch.normal_force;
  }
  report->inverted = pla_fem_inverted(self->fem, self->pos, NULL, NULL);
  if (st == PLA_OK && !timed && self->options.dt_s > 0.0)
    st = begin_motion(self, err);
  return st;
}

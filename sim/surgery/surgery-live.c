#include "sim/surgery/surgery-live.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/fem/pbng.h"
#include "sim/surgery/surgery-private.h"

#include <stdlib.h>
#include <string.h>

/* around the hook, where the eye looks: swept alone at first, m */
#define NEAR 0.035
enum { NEAR_SWEEPS = 8 };

struct PlaSurgeryLive {
  PlaSurgery *body;
  const PlaCutSurface *surface;
  PlaFemModel *model;
  PlaPbng *solver;
  unsigned char *fixed, *near;
  int n_springs;
  PlaSpring *spring; /* the hook is the last */
  double at[3];      /* where it was set */
  double *pos;
  int near_sweeps; /* to come */
};

void
pla_surgery_live_free(PlaSurgeryLive *self)
{
  if (!self)
    return;
  pla_pbng_free(self->solver);
  pla_fem_model_free(self->model);
  free(self->fixed);
  free(self->near);
  free(self->spring);
  free(self->pos);
  free(self);
}

PlaStatus
pla_surgery_live_new(PlaSurgery *body, const double at[3], PlaSurgeryLive **out, PlaError *err)
{
  const double still[3] = { 0.0, 0.0, 0.0 };
  const double *surface_pos;
  *out = NULL;
  PlaSurgeryLive *self = pla_array_new0(1, sizeof *self);
  PlaStatus st =
      self ? pla_surgery_hook(body, at, still, err) : pla_fail_memory(err, "the moving body");
  if (st == PLA_OK)
    st = pla_surgery_get_surface(body, &self->surface, &surface_pos, err);
  if (st == PLA_OK)
    st = pla_surgery_build_model(body, &self->model, err);
  if (st == PLA_OK) {
    const size_t n = (size_t)pla_cut_mesh_get(body->cut).mesh.n_verts;
    self->body = body;
    self->n_springs = body->stitches.n + body->hooks.n;
    self->fixed = pla_array_new(3 * n, sizeof *self->fixed);
    self->near = pla_array_new(n, sizeof *self->near);
    self->spring = pla_array_new((size_t)self->n_springs, sizeof *self->spring);
    self->pos = pla_array_dup(body->pos, 3 * n, sizeof *self->pos);
    if (!self->fixed || !self->near || !self->spring || !self->pos)
      st = pla_fail_memory(err, "the moving body");
    for (size_t v = 0; st == PLA_OK && v < n; v++) {
      double e[3];
      pla_vec3_sub(&body->pos[3 * v], at, e);
      self->near[v] = pla_vec3_dot(e, e) < NEAR * NEAR;
      for (int d = 0; d < 3; d++)
        self->fixed[3 * v + (size_t)d] = body->held[v];
    }
  }
  if (st == PLA_OK) {
    pla_surgery_make_springs(body, self->spring);
    memcpy(self->at, body->hooks.thread[body->hooks.n - 1].place, sizeof self->at);
    const PlaFemSprings springs = { self->n_springs, self->spring };
    const PlaFemConditions conditions = { .fixed = self->fixed,
                                          .target = body->pos,
                                          .springs = &springs };
    PlaPbngOptions options = pla_pbng_options_default();
    st = pla_pbng_new(self->model, &conditions, &options, body->pos, &self->solver, err);
  }
  if (st == PLA_OK)
    *out = self;
  else
    pla_surgery_live_free(self);
  return st;
}

PlaStatus
pla_surgery_live_pull(PlaSurgeryLive *self, const double pull[3], PlaError *err)
{
  PlaSpring *hook = &self->spring[self->n_springs - 1];
  for (int d = 0; d < 3; d++)
    hook->offset[d] = self->at[d] + pull[d];
  self->near_sweeps = NEAR_SWEEPS;
  return pla_pbng_set_springs(self->solver, self->spring, self->n_springs, err);
}

void
pla_surgery_live_sweep(PlaSurgeryLive *self, int n)
{
  const bool near = self->near_sweeps > 0;
  pla_pbng_set_priority(self->solver, near ? self->near : NULL);
  pla_pbng_sweep(self->solver, n);
  self->near_sweeps -= near ? n : 0;
}

double
pla_surgery_live_residual(PlaSurgeryLive *self)
{
  return pla_pbng_residual(self->solver);
}

double
pla_surgery_live_force(PlaSurgeryLive *self)
{
  double force[3];
  pla_pbng_get_positions(self->solver, self->pos);
  pla_spring_force(&self->spring[self->n_springs - 1], self->pos, force);
  return pla_vec3_norm(force);
}

int
pla_surgery_live_n_verts(const PlaSurgeryLive *self)
{
  return self->surface->n_verts;
}

void
pla_surgery_live_get_surface(PlaSurgeryLive *self, double *pos)
{
  pla_pbng_get_positions(self->solver, self->pos);
  pla_cut_surface_place(self->surface, self->body->cut, self->pos, pos);
}

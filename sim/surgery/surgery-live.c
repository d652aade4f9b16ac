/* A body under a dragged hook, by PBNG sweeps: first over the vertices near the hook, then over
 * all. Contacts of wound walls and pressures of expanders are updated between sweeps. */
#include "sim/surgery/surgery-live.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"
#include "sim/surgery/surgery-contact.h"

#include <stdlib.h>
#include <string.h>

/* around the hook, where the eye looks: swept alone at first, m */
#define NEAR 0.035
enum {
  NEAR_SWEEPS = 8,
  TOUCH_SWEEPS = 6 /* after which it is looked again what touches what */
};

struct PlaSurgeryLive {
  PlaSurgery *body;
  const PlaCutSurface *surface;
  PlaFemModel *model;
  PlaPbng *solver;
  unsigned char *fixed, *near;
  int n_threads, n_lasting, capacity;
  PlaSpring *spring; /* threads, of which the hook is the last, ties, then what touches */
  double at[3];      /* where it was set */
  double *pos;
  double *force;   /* of expanders, N; NULL: none */
  int near_sweeps; /* to come */
  PlaSurgeryContacts contacts;
  int touch_sweeps; /* to come until they are looked for */
};

void
pla_surgery_live_free(PlaSurgeryLive *self)
{
  if (!self)
    return;
  pla_pbng_free(self->solver);
  pla_fem_model_free(self->model);
  pla_surgery_contacts_clear(&self->contacts);
  free(self->fixed);
  free(self->near);
  free(self->spring);
  free(self->pos);
  free(self->force);
  free(self);
}

/* what expanders push with in the shape that the hand finds */
static PlaStatus
add_expanders(PlaSurgeryLive *self, size_t n_verts, PlaError *err)
{
  if (self->body->n_expanders == 0)
    return PLA_OK;
  self->force = pla_array_new0(3 * n_verts, sizeof *self->force);
  return self->force ? pla_surgery_add_expanders(self->body, self->pos, 1.0, self->force, err)
                     : pla_fail_memory(err, "the expanders");
}

/* The walls that touch in the present shape push, as in a solve.  Sweeps go on between two looks:
 * springs push only while they are pressed, so one that a wall has left does no harm. */
static PlaStatus
find_touches(PlaSurgeryLive *self, PlaError *err)
{
  const int before = self->contacts.n;
  self->touch_sweeps = TOUCH_SWEEPS;
  pla_pbng_get_positions(self->solver, self->pos);
  PlaStatus st = pla_surgery_contacts_update(&self->contacts, self->body, self->pos, err);
  const int n = self->contacts.n;
  if (st != PLA_OK || (n == 0 && before == 0))
    return st;
  if (!pla_array_reserve(&self->spring, self->n_lasting + n, &self->capacity, sizeof *self->spring))
    return pla_fail_memory(err, "the walls of the wounds");
  if (n > 0)
    memcpy(&self->spring[self->n_lasting], self->contacts.spring, (size_t)n * sizeof *self->spring);
  return pla_pbng_set_springs(self->solver, self->spring, self->n_lasting + n, err);
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
    st = pla_surgery_build_plain(body, &self->model, err);
  if (st == PLA_OK) {
    const size_t n = (size_t)pla_cut_mesh_get(body->cut).mesh.n_verts;
    self->body = body;
    self->n_threads = pla_surgery_n_springs(body);
    self->n_lasting = self->capacity = self->n_threads + body->n_ties;
    self->fixed = pla_array_new(3 * n, sizeof *self->fixed);
    self->near = pla_array_new(n, sizeof *self->near);
    self->spring = pla_array_new((size_t)self->n_lasting, sizeof *self->spring);
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
  if (st == PLA_OK)
    st = add_expanders(self, (size_t)pla_cut_mesh_get(body->cut).mesh.n_verts, err);
  if (st == PLA_OK)
    st = pla_surgery_contacts_init(&self->contacts, body, err);
  if (st == PLA_OK) {
    pla_surgery_make_springs(body, self->spring);
    if (body->n_ties)
      memcpy(&self->spring[self->n_threads], body->tie, (size_t)body->n_ties * sizeof *body->tie);
    memcpy(self->at, body->hooks.thread[body->hooks.n - 1].place, sizeof self->at);
    const PlaFemSprings springs = { self->n_lasting, self->spring };
    const PlaFemConditions conditions = {
      .fixed = self->fixed, .target = body->pos, .force = self->force, .springs = &springs
    };
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
  PlaSpring *hook = &self->spring[self->n_threads - 1];
  for (int d = 0; d < 3; d++)
    hook->offset[d] = self->at[d] + pull[d];
  self->near_sweeps = NEAR_SWEEPS;
  return pla_pbng_set_springs(self->solver, self->spring, self->n_lasting + self->contacts.n, err);
}

PlaStatus
pla_surgery_live_sweep(PlaSurgeryLive *self, int n, PlaError *err)
{
  const bool near = self->near_sweeps > 0;
  pla_pbng_set_priority(self->solver, near ? self->near : NULL);
  pla_pbng_sweep(self->solver, n);
  self->near_sweeps -= near ? n : 0;
  self->touch_sweeps -= n;
  return self->touch_sweeps <= 0 && self->contacts.walls.n_tris > 0 ? find_touches(self, err)
                                                                    : PLA_OK;
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
  pla_spring_force(&self->spring[self->n_threads - 1], self->pos, force);
  return pla_vec3_norm(force);
}

double
pla_surgery_live_depth(const PlaSurgeryLive *self)
{
  return self->contacts.deepest;
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

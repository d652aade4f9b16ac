/* The tongue with every vertex free, under the same drive as the reduced one: what that is measured
 * by.
 *
 * A coil is glued on: it holds the mean place of the surface under it, not a single vertex, which
 * would be drawn out into a spike that has no counterpart in flesh.  The reduced tongue spreads its
 * coils alike. */
#include "sim/tongue/tongue-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/surface/surface.h"
#include "sim/contact/contact.h"
#include "sim/dynamics/dynamics.h"
#include "sim/solve/solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct PlaTongueReference {
  const PlaTongue *tongue;
  PlaFemModel *fem;
  PlaCollider **collider;
  PlaContactSet *contacts;
  unsigned char *prescribed;                                       /* n_verts x 3 */
  double *target, *pos;                                            /* n_verts x 3 */
  PlaSpring glue[PLA_N_TONGUE_COILS], present[PLA_N_TONGUE_COILS]; /* all; those of the frame */
  double rest[PLA_N_TONGUE_COILS]
             [3]; /* of the coils' vertices seen from the mean place under them, m */
  PlaFemSprings springs;
  PlaFemConditions conditions;
  PlaDynamics *dynamics; /* NULL: quasistatic */
  double dt_s;
  bool begun;
};

void
pla_tongue_reference_free(PlaTongueReference *self)
{
  if (!self)
    return;
  pla_dynamics_free(self->dynamics);
  pla_contact_set_free(self->contacts);
  for (int i = 0; self->collider && i < self->tongue->n_solids; i++)
    pla_collider_free(self->collider[i]);
  free(self->collider);
  pla_fem_model_free(self->fem);
  free(self->prescribed);
  free(self->target);
  free(self->pos);
  free(self);
}

static PlaStatus
make_colliders(PlaTongueReference *self, PlaError *err)
{
  const PlaTongue *tongue = self->tongue;
  PlaContactOptions options = pla_contact_options_default();
  PlaStatus st = PLA_OK;
  options.pieces = options.self = false;
  options.thickness = 1.5e-4 * tongue->fit.scale;
  options.stiffness = 1e9 / tongue->fit.scale;
  for (int i = 0; st == PLA_OK && i < tongue->n_solids; i++) {
    PlaMesh *surface = NULL;
    st = pla_surface_from_levelset(tongue->solid[i], &surface, err);
    if (st == PLA_OK)
      st = pla_collider_new_surface(surface, &self->collider[i], err);
    pla_mesh_free(surface);
  }
  if (st == PLA_OK)
    st = pla_contact_set_new(self->fem, self->collider, NULL, tongue->n_solids, &options,
                             &self->contacts, err);
  return st;
}

/* one coil: vertices of the surface within its footprint, nearer ones counting more */
static void
glue_coil(PlaTongueReference *self, const PlaBoundary *boundary, int k)
{
  const PlaTongue *tongue = self->tongue;
  const double reach = PLA_COIL_FOOTPRINT_MM * tongue->fit.scale / 1000.0;
  const double *seed = tongue->mesh->pos + 3 * (size_t)tongue->fit.vert[k];
  const double up[3] = { 1, 0, 0 };
  PlaSpring *glue = &self->glue[k];
  double away[PLA_SPRING_VERTS], total = 0.0;
  *glue = (PlaSpring){ 0 };
  for (int i = 0; i < 3 * boundary->n_tris; i++) {
    const int v = boundary->tri[i];
    double by[3];
    pla_vec3_sub(tongue->mesh->pos + 3 * (size_t)v, seed, by);
    const double d = pla_vec3_norm(by);
    int at = glue->n_verts;
    for (int j = 0; j < glue->n_verts; j++)
      at = glue->vert[j] == v ? -1 : at;
    if (d >= reach || at < 0 || tongue->fixed[v])
      continue;
    if (at == PLA_SPRING_VERTS) { /* the farthest gives way */
      at = 0;
      for (int j = 1; j < PLA_SPRING_VERTS; j++)
        at = away[j] > away[at] ? j : at;
      if (away[at] <= d)
        continue;
    } else
      glue->n_verts++;
    glue->vert[at] = v;
    away[at] = d;
  }
  for (int j = 0; j < glue->n_verts; j++) {
    glue->weight[j] = 1.0 - away[j] * away[j] / (reach * reach);
    total += glue->weight[j];
  }
  memcpy(self->rest[k], seed, sizeof self->rest[k]);
  for (int j = 0; j < glue->n_verts; j++) {
    glue->weight[j] /= total;
    for (int d = 0; d < 3; d++)
      self->rest[k][d] -=
          glue->weight[j] * tongue->mesh->pos[3 * (size_t)glue->vert[j] + (size_t)d];
  }
  /* some thousand times as stiff as the flesh under it */
  const double stiff = 1e4 * tongue->young_pa * reach;
  pla_spring_set_stiffness(glue, up, stiff, stiff);
}

static PlaStatus
glue_coils(PlaTongueReference *self, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(self->tongue->mesh);
  PlaBoundary boundary = { 0 };
  PlaStatus st = pla_boundary_init(&boundary, &tets, &(PlaHexMesh){ 0 }, false, err);
  for (int k = 0; st == PLA_OK && k < PLA_N_TONGUE_COILS; k++)
    glue_coil(self, &boundary, k);
  pla_boundary_clear(&boundary);
  return st;
}

PlaStatus
pla_tongue_reference_new(const PlaTongue *tongue, double dt_s, PlaTongueReference **out,
                         PlaError *err)
{
  const size_t n = (size_t)tongue->mesh->n_verts;
  PlaTongueReference *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = PLA_OK;
  *out = NULL;
  if (self) {
    self->tongue = tongue;
    self->dt_s = dt_s;
    self->collider = pla_array_new0((size_t)tongue->n_solids + 1, sizeof *self->collider);
    self->prescribed = pla_array_new0(n, 3);
    self->target = pla_array_dup(tongue->mesh->pos, 3 * n, sizeof *self->target);
    self->pos = pla_array_dup(tongue->mesh->pos, 3 * n, sizeof *self->pos);
  }
  if (!self || !self->collider || !self->prescribed || !self->target || !self->pos)
    st = pla_fail_memory(err, "a tongue");
  if (st == PLA_OK)
    st = pla_tongue_make_fem(tongue, &tongue->material,
                             tongue->material.material->volume_modulus ? PLA_FORMULATION_MIXED
                                                                       : PLA_FORMULATION_STANDARD,
                             &self->fem, err);
  if (st == PLA_OK)
    st = make_colliders(self, err);
  if (st == PLA_OK)
    st = glue_coils(self, err);
  if (st == PLA_OK) {
    for (size_t i = 0; i < 3 * n; i++)
      self->prescribed[i] = tongue->fixed[i / 3];
    self->conditions = (PlaFemConditions){ .fixed = self->prescribed,
                                           .target = self->target,
                                           .springs = &self->springs,
                                           .contacts = self->contacts };
    *out = self;
  } else
    pla_tongue_reference_free(self);
  return st;
}

/* what is prescribed when a part @t of the frame is reached, from where the body is */
static void
prescribe(PlaTongueReference *self, const PlaTongueFrame *frame, const double *from, double t)
{
  const PlaTongue *tongue = self->tongue;
  const size_t n = (size_t)tongue->mesh->n_verts;
  for (size_t v = 0; v < n; v++) {
    if (!tongue->fixed[v])
      continue;
    for (size_t d = 0; d < 3; d++) {
      double end = tongue->mesh->pos[3 * v + d];
      for (size_t f = 0; f < PLA_JAW_LIFTS; f++)
        end += frame->lift[f] * tongue->lift[3 * (f * n + v) + d];
      self->target[3 * v + d] = from[3 * v + d] + t * (end - from[3 * v + d]);
    }
  }
  self->springs = (PlaFemSprings){ .spring = self->present };
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    PlaSpring *glue = &self->present[self->springs.n];
    double begun[3];
    if (isnan(frame->target[3 * k]))
      continue;
    *glue = self->glue[k];
    pla_spring_gap(&self->glue[k], from, begun);
    for (int d = 0; d < 3; d++)
      glue->offset[d] = begun[d] + t * (frame->target[3 * k + d] - self->rest[k][d] - begun[d]);
    self->springs.n++;
  }
  for (int i = 0; i < tongue->n_solids; i++)
    if (tongue->with_jaw[i])
      pla_collider_set_pose(self->collider[i], frame->jaw_rotation, frame->jaw_shift);
}

static PlaStatus
step_static(PlaTongueReference *self, const PlaTongueFrame *frame, int parts, PlaProgress *progress,
            PlaFemReport *report, PlaError *err)
{
  PlaFemOptions options = pla_fem_options_default();
  double *from = pla_array_dup(self->pos, 3 * (size_t)self->tongue->mesh->n_verts, sizeof *from);
  PlaStatus st = from ? PLA_OK : pla_fail_memory(err, "a tongue");
  options.warm_start = true;
  options.tolerance_rel = 1e-4;
  options.max_iterations = 60;
  options.progress = progress;
  for (int part = 1; st == PLA_OK && part <= parts; part++) {
    prescribe(self, frame, from, (double)part / parts);
    for (int i = 0; i < 3 * self->tongue->mesh->n_verts; i++)
      if (self->prescribed[i])
        self->pos[i] = self->target[i];
    st = pla_fem_solve(self->fem, &self->conditions, &options, self->pos, report, err);
  }
  free(from);
  return st;
}

PlaStatus
pla_tongue_reference_step(PlaTongueReference *self, const double *coil_mm, int parts,
                          PlaProgress *progress, PlaFemReport *report, PlaError *err)
{
  PlaTongueFrame frame;
  pla_tongue_frame(self->tongue, coil_mm, &frame);
  if (self->dt_s <= 0.0 || !self->begun) {
    self->begun = true;
    return step_static(self, &frame, parts, progress, report, err);
  }
  PlaStatus st = PLA_OK;
  if (!self->dynamics) {
    PlaDynamicsOptions options = pla_dynamics_options_default();
    options.dt_s = self->dt_s;
    options.mass_damping = 6.22;
    options.stiffness_damping = 0.11;
    options.solve.tolerance_rel = 1e-4;
    options.solve.progress = progress;
    prescribe(self, &frame, self->pos, 1.0);
    st = pla_dynamics_new(self->fem, &self->conditions, pla_integrator_find("backward-euler"),
                          &options, self->pos, NULL, &self->dynamics, err);
  } else
    prescribe(self, &frame, self->pos, 1.0);
  if (st == PLA_OK)
    st = pla_dynamics_step(self->dynamics, err);
  if (st == PLA_OK) {
    PlaDynamicsReport dynamics;
    pla_dynamics_report(self->dynamics, &dynamics);
    *report = dynamics.solve;
    memcpy(self->pos, pla_dynamics_get_pos(self->dynamics),
           3 * (size_t)self->tongue->mesh->n_verts * sizeof *self->pos);
  }
  return st;
}

void
pla_tongue_reference_coil(const PlaTongueReference *self, int k, double pos[3])
{
  pla_spring_gap(&self->glue[k], self->pos, pos);
  for (int d = 0; d < 3; d++)
    pos[d] += self->rest[k][d];
}

const double *
pla_tongue_reference_get_pos(const PlaTongueReference *self)
{
  return self->pos;
}

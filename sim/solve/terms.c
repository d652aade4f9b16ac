/* The sum of everything that acts on a body. */
#include "sim/solve/terms.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/contact/contact.h"
#include "sim/solve/solve.h"
#include "sim/solve/solvers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
add_inertia_forces(const PlaFemModel *model, const PlaFemInertia *inertia, const double *pos,
                   double *force)
{
  for (size_t v = 0; v < (size_t)model->n_verts; v++)
    for (size_t d = 0; d < 3; d++)
      force[3 * v + d] -=
          inertia->factor * model->mass[v] * (pos[3 * v + d] - inertia->predicted[3 * v + d]);
}

static double
inertia_energy(const PlaFemModel *model, const PlaFemInertia *inertia, const double *pos)
{
  double *part = pla_array_new((size_t)model->n_verts, sizeof *part);
  if (!part)
    return NAN;
  for (size_t v = 0; v < (size_t)model->n_verts; v++) {
    double d[3];
    pla_vec3_sub(pos + 3 * v, inertia->predicted + 3 * v, d);
    part[v] = 0.5 * inertia->factor * model->mass[v] * pla_vec3_dot(d, d);
  }
  double sum = pla_sum(part, (size_t)model->n_verts);
  free(part);
  return sum;
}

/* of the dead forces from rest to @pos, J; differences first, so that it does not matter where in
 * space the body is */
static double
work_of(const double *force, const PlaFemModel *model, const double *pos)
{
  const size_t n = 3 * (size_t)model->n_verts;
  double *moved = pla_array_new(n, sizeof *moved);
  if (!moved)
    return NAN;
  for (size_t i = 0; i < n; i++)
    moved[i] = pos[i] - model->rest[i];
  double work = pla_dot(force, moved, n);
  free(moved);
  return work;
}

/* force -= factor K (x - origin), and the energy of it; either may be NULL */
static PlaStatus
damp(const PlaFemDamping *damping, const double *pos, double *force, double *energy, PlaError *err)
{
  const PlaFemSystem *system = damping->system;
  const size_t n = 3 * (size_t)system->n_blocks;
  double *u = pla_array_new(n, sizeof *u), *ku = pla_array_new(n, sizeof *ku);
  PlaStatus st = u && ku ? PLA_OK : pla_fail_memory(err, "damping");
  if (st == PLA_OK) {
    for (size_t r = 0; r < (size_t)system->n_blocks; r++)
      pla_vec3_sub(pos + 3 * (size_t)system->vert_of[r],
                   damping->origin + 3 * (size_t)system->vert_of[r], u + 3 * r);
    pla_block_matrix_mul(&system->matrix, u, ku);
    for (size_t r = 0; force && r < (size_t)system->n_blocks; r++)
      for (size_t d = 0; d < 3; d++)
        force[3 * (size_t)system->vert_of[r] + d] -= damping->factor * ku[3 * r + d];
    if (energy)
      *energy = 0.5 * damping->factor * pla_dot(u, ku, n);
  }
  free(u);
  free(ku);
  return st;
}

PlaStatus
pla_terms_forces(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos,
                 double *force, PlaError *err)
{
  PlaStatus st = pla_fem_forces(model, pos, force, err);
  if (st != PLA_OK)
    return st;
  if (conditions->force)
    for (size_t i = 0; i < 3 * (size_t)model->n_verts; i++)
      force[i] += conditions->force[i];
  if (conditions->springs)
    pla_springs_add_forces(conditions->springs, pos, force);
  if (conditions->pressure)
    pla_pressure_add_forces(conditions->pressure, pos, force);
  if (conditions->membranes)
    st = pla_membranes_add_forces(conditions->membranes, pos, force, err);
  if (conditions->contacts)
    pla_contact_set_add_forces(conditions->contacts, pos, force);
  if (conditions->inertia)
    add_inertia_forces(model, conditions->inertia, pos, force);
  if (st == PLA_OK && conditions->damping)
    st = damp(conditions->damping, pos, force, NULL, err);
  if (conditions->bindings)
    pla_bindings_reduce(conditions->bindings, 3, force);
  return st;
}

double
pla_terms_energy(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos)
{
  double energy = pla_fem_energy(model, pos);
  if (conditions->force)
    energy -= work_of(conditions->force, model, pos);
  if (conditions->springs)
    energy += pla_springs_energy(conditions->springs, pos);
  if (conditions->membranes)
    energy += pla_membranes_energy(conditions->membranes, pos);
  if (conditions->contacts)
    energy += pla_contact_set_energy(conditions->contacts, pos);
  if (conditions->inertia)
    energy += inertia_energy(model, conditions->inertia, pos);
  if (conditions->damping) {
    double part = 0.0;
    energy += damp(conditions->damping, pos, NULL, &part, NULL) == PLA_OK ? part : NAN;
  }
  return energy;
}

static void
add_spring(PlaFemSystem *system, const PlaSpring *spring, const double *pos)
{
  double gap[3];
  pla_spring_gap(spring, pos, gap);
  if (pla_spring_is_idle(spring, gap))
    return;
  double local[9 * PLA_SPRING_VERTS * PLA_SPRING_VERTS];
  const int k = spring->n_verts;
  for (int a = 0; a < k; a++)
    for (int b = 0; b < k; b++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          local[(3 * a + i) * 3 * k + 3 * b + j] =
              spring->weight[a] * spring->weight[b] * spring->stiffness[3 * i + j];
  pla_fem_system_add_local(system, k, spring->vert, local);
}

/* in batches, so that threads share what costs most */
static void
add_membranes(PlaFemSystem *system, const PlaFemMembranes *membranes, const double *pos,
              bool project)
{
  enum { BATCH = 64 };
  double local[BATCH][81];
  const int *tri;
  const int n = pla_membranes_get(membranes, &tri);
  for (int first = 0; first < n; first += BATCH) {
    const int count = n - first < BATCH ? n - first : BATCH;
#pragma omp parallel for schedule(static)
    for (int k = 0; k < count; k++)
      pla_membrane_stiffness(membranes, first + k, pos, project, local[k]);
    for (int k = 0; k < count; k++)
      pla_fem_system_add_local(system, 3, tri + 3 * (size_t)(first + k), local[k]);
  }
}

static void
add_contacts(PlaFemSystem *system, const PlaContactSet *set, const double *pos, bool project)
{
  const PlaContact *contact;
  const PlaFriction *friction;
  const int n_contacts = pla_contact_set_get(set, &contact);
  const int n_friction = pla_contact_set_get_friction(set, &friction);
  double local[9 * PLA_CONTACT_VERTS * PLA_CONTACT_VERTS];
  for (int c = 0; c < n_contacts + n_friction; c++) {
    const bool slides = c >= n_contacts;
    const int k = slides ? friction[c - n_contacts].n_verts : contact[c].n_verts;
    const int *vert = slides ? friction[c - n_contacts].vert : contact[c].vert;
    const double *w = slides ? friction[c - n_contacts].weight : contact[c].weight;
    double matrix[9], force[3], stiffness = 0.0;
    if (slides) {
      pla_friction_law(&friction[c - n_contacts], pos, 3, force, matrix);
    } else {
      const double *e = contact[c].along;
      double push, n[3], gap = pla_contact_gap(&contact[c], pos, 3, -1, NULL, n);
      pla_contact_law(&contact[c], gap, &push, &stiffness);
      if (stiffness == 0.0)
        continue;
      /* around an edge or a vertex the push turns with the point */
      double turn = project || !contact[c].round ? 0.0 : push / gap;
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
          matrix[3 * i + j] =
              stiffness * n[i] * n[j] - turn * ((i == j) - n[i] * n[j] - e[i] * e[j]);
    }
    for (int a = 0; a < k; a++)
      for (int b = 0; b < k; b++)
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 3; j++)
            local[(3 * a + i) * 3 * k + 3 * b + j] = w[a] * w[b] * matrix[3 * i + j];
    pla_fem_system_add_local(system, k, vert, local);
  }
}

bool
pla_terms_fit(const PlaFemSystem *system, const PlaFemConditions *conditions)
{
  const PlaContact *contact;
  const int n = conditions->contacts ? pla_contact_set_get(conditions->contacts, &contact) : 0;
  for (int c = 0; c < n; c++)
    if (contact[c].n_verts > contact[c].n_own &&
        !pla_fem_system_has(system, contact[c].n_verts, contact[c].vert))
      return false;
  return true;
}

PlaStatus
pla_terms_links(const PlaFemConditions *conditions, PlaVertSets *out, PlaError *err)
{
  const PlaContact *contact;
  const int n = conditions->contacts ? pla_contact_set_get(conditions->contacts, &contact) : 0;
  int *start = pla_array_new0((size_t)n + 1, sizeof *start);
  int *vert = pla_array_new((size_t)n, PLA_CONTACT_VERTS * sizeof *vert);
  *out = (PlaVertSets){ 0, start, vert };
  if (!start || !vert)
    return pla_fail_memory(err, "the contacts");
  for (int c = 0; c < n; c++) {
    if (contact[c].n_verts == contact[c].n_own)
      continue;
    memcpy(vert + start[out->n], contact[c].vert, (size_t)contact[c].n_verts * sizeof *vert);
    start[out->n + 1] = start[out->n] + contact[c].n_verts;
    out->n++;
  }
  return PLA_OK;
}

void
pla_vert_sets_clear(PlaVertSets *sets)
{
  free((void *)sets->start);
  free((void *)sets->vert);
  *sets = (PlaVertSets){ 0 };
}

void
pla_terms_add_stiffness(PlaFemSystem *system, const PlaFemConditions *conditions, const double *pos,
                        bool project)
{
  for (int s = 0; conditions->springs && s < conditions->springs->n; s++)
    add_spring(system, &conditions->springs->spring[s], pos);
  const PlaFemPressure *pressure = conditions->pressure;
  for (int t = 0; pressure && !project && t < pressure->n_tris; t++) {
    double local[81];
    pla_pressure_stiffness(pressure, t, pos, local);
    pla_fem_system_add_local(system, 3, pressure->tri + 3 * (size_t)t, local);
  }
  if (conditions->membranes)
    add_membranes(system, conditions->membranes, pos, project);
  if (conditions->contacts)
    add_contacts(system, conditions->contacts, pos, project);
  if (conditions->damping)
    pla_fem_system_add_matrix(system, conditions->damping->factor, conditions->damping->system);
}

PlaStatus
pla_fem_reactions(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos,
                  double *reaction, PlaError *err)
{
  PlaStatus st = pla_terms_forces(model, conditions, pos, reaction, err);
  for (size_t i = 0; st == PLA_OK && i < 3 * (size_t)model->n_verts; i++)
    reaction[i] = conditions->fixed[i] ? -reaction[i] : 0.0;
  return st;
}

double
pla_fem_load_norm(const PlaFemModel *model, const PlaFemConditions *conditions)
{
  const size_t n = 3 * (size_t)model->n_verts;
  double *load = pla_array_new0(n, sizeof *load);
  if (!load)
    return 0.0;
  if (conditions->force)
    memcpy(load, conditions->force, n * sizeof *load);
  if (conditions->pressure)
    pla_pressure_add_forces(conditions->pressure, model->rest, load);
  if (conditions->bindings)
    pla_bindings_reduce(conditions->bindings, 3, load);
  for (size_t i = 0; i < n; i++)
    load[i] = conditions->fixed[i] ? 0.0 : load[i];
  double norm = pla_norm2(load, n);
  free(load);
  return norm;
}

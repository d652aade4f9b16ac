/* The sum of everything that acts on a body. */
#include "sim/fem/terms.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/fem/solvers.h"

#include <stdlib.h>
#include <string.h>

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
  if (conditions->bindings)
    pla_bindings_reduce(conditions->bindings, 3, force);
  return PLA_OK;
}

double
pla_terms_energy(const PlaFemModel *model, const PlaFemConditions *conditions, const double *pos)
{
  double energy = pla_fem_energy(model, pos);
  if (conditions->force)
    energy -= pla_dot(conditions->force, pos, 3 * (size_t)model->n_verts);
  if (conditions->springs)
    energy += pla_springs_energy(conditions->springs, pos);
  return energy;
}

static void
add_spring(PlaFemSystem *system, const PlaSpring *spring)
{
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

void
pla_terms_add_stiffness(PlaFemSystem *system, const PlaFemConditions *conditions,
                        const double *pos, bool project)
{
  for (int s = 0; conditions->springs && s < conditions->springs->n; s++)
    add_spring(system, &conditions->springs->spring[s]);
  const PlaFemPressure *pressure = conditions->pressure;
  for (int t = 0; pressure && !project && t < pressure->n_tris; t++) {
    double local[81];
    pla_pressure_stiffness(pressure, t, pos, local);
    pla_fem_system_add_local(system, 3, pressure->tri + 3 * (size_t)t, local);
  }
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

/* A body of one material, and how long an explicit step of it may be. */
#pragma once

#include "sim/fem/model.h"

#include <glib.h>
#include <math.h>

static inline PlaFemModel *
model_new(const PlaMesh *mesh, const char *material)
{
  PlaFemMaterial m = { .material = pla_material_find(material), .density = 1000.0 };
  const double param[PLA_MAX_CONSTANTS] = { 10000.0, 0.3 };
  PlaError err = { 0 };
  PlaFemModel *model;
  int *cell = g_new0(int, pla_mesh_n_cells(mesh));
  g_assert_cmpint(m.material->prepare(param, m.constants, &err), ==, PLA_OK);
  g_assert_cmpint(pla_fem_model_new(mesh, &m, 1, cell, PLA_FORMULATION_STANDARD, &model, &err), ==,
                  PLA_OK);
  g_free(cell);
  return model;
}

/* the largest explicit step, 2 / omega, by power iteration on M^-1 K */
static inline double
explicit_step(const PlaMesh *mesh)
{
  PlaFemModel *model = model_new(mesh, "linear");
  const double *mass = pla_fem_model_mass(model);
  const int n = 3 * mesh->n_verts;
  double *x = g_new(double, (size_t)n), *f = g_new(double, (size_t)n);
  double *v = g_new(double, (size_t)n), lambda = 0.0;
  GRand *rand = g_rand_new_with_seed(2);
  PlaError err = { 0 };
  for (int i = 0; i < n; i++)
    v[i] = g_rand_double_range(rand, -1.0, 1.0);
  for (int k = 0; k < 60; k++) {
    double norm = 0.0;
    for (int i = 0; i < n; i++)
      norm += mass[i / 3] * v[i] * v[i];
    for (int i = 0; i < n; i++) {
      v[i] /= sqrt(norm);
      x[i] = mesh->pos[i] + v[i];
    }
    /* linear material: the forces of a displacement v are -K v */
    g_assert_cmpint(pla_fem_forces(model, x, f, &err), ==, PLA_OK);
    lambda = 0.0;
    for (int i = 0; i < n; i++) {
      lambda -= f[i] * v[i];
      v[i] = mass[i / 3] > 0.0 ? -f[i] / mass[i / 3] : 0.0;
    }
  }
  g_rand_free(rand);
  g_free(x);
  g_free(f);
  g_free(v);
  pla_fem_model_free(model);
  return 2.0 / sqrt(lambda);
}

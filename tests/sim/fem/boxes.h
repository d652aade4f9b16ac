/* Models of boxes for the tests of solvers. */
#pragma once

#include "anatomy/base/memory.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/fem/model-data.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a model of @mesh, which it frees, with one material and its parameters in table order */
static inline PlaFemModel *
mesh_model(PlaMesh *mesh, const char *material, const double *param, double density,
           PlaFormulation formulation)
{
  PlaFemMaterial m = { .material = pla_material_find(material), .density = density };
  PlaError err = { 0 };
  PlaFemModel *model;
  int *cell_material = pla_array_new0(pla_mesh_n_cells(mesh), sizeof *cell_material);
  PlaStatus st = m.material->prepare(param, m.constants, &err);
  if (st == PLA_OK)
    st = pla_fem_model_new(mesh, &m, 1, cell_material, formulation, &model, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  free(cell_material);
  pla_mesh_free(mesh);
  return model;
}

/* the box [0, size] of n cells */
static inline PlaMesh *
box_mesh(PlaBoxCells cells, const double size[3], const int n[3])
{
  const double lo[3] = { 0, 0, 0 };
  PlaError err = { 0 };
  PlaMesh *mesh;
  g_assert_cmpint(pla_box_mesh_new(lo, size, n, cells, &mesh, &err), ==, PLA_OK);
  return mesh;
}

/* a box [0, size] of n cells and one material: its first two parameters if they are E and nu, its
 * defaults otherwise */
static inline PlaFemModel *
box_new(const char *material, double young, double poisson, double density, PlaBoxCells cells,
        const double size[3], const int n[3])
{
  const PlaParam *table = pla_material_find(material)->params;
  double param[PLA_MAX_CONSTANTS] = { 0 };
  for (int i = 0; table[i].key; i++)
    param[i] = strcmp(table[i].key, "young_pa") == 0  ? young
               : strcmp(table[i].key, "poisson") == 0 ? poisson
                                                      : table[i].def;
  return mesh_model(box_mesh(cells, size, n), material, param, density, PLA_FORMULATION_STANDARD);
}

/* a model with its conditions and positions, at rest and free */
typedef struct {
  PlaFemModel *model;
  unsigned char *fixed;
  double *target, *force, *pos;
} Case;

static inline Case
case_new(PlaFemModel *model)
{
  size_t nv = (size_t)model->n_verts;
  return (Case){ model, pla_array_new0(nv, 3), pla_array_dup(model->rest, nv, 3 * sizeof(double)),
                 pla_array_new0(nv, 3 * sizeof(double)),
                 pla_array_dup(model->rest, nv, 3 * sizeof(double)) };
}

static inline void
case_clear(Case *c)
{
  pla_fem_model_free(c->model);
  free(c->fixed);
  free(c->target);
  free(c->force);
  free(c->pos);
}

static inline PlaFemConditions
case_conditions(const Case *c)
{
  return (PlaFemConditions){ c->fixed, c->target, c->force };
}

/* holds every coordinate of vertices with rest x at @x */
static inline void
case_hold(Case *c, double x)
{
  for (int v = 0; v < c->model->n_verts; v++)
    if (fabs(c->model->rest[3 * v] - x) < 1e-12)
      memset(c->fixed + 3 * v, 1, 3);
}

static inline void
case_gravity(Case *c, int axis, double g)
{
  for (int v = 0; v < c->model->n_verts; v++)
    c->force[3 * v + axis] = g * c->model->mass[v];
}

/* turns the held targets at rest x = @x by @angle about the x axis through (y, z) and shifts them
 */
static inline void
case_turn(Case *c, double x, double y, double z, double angle, double shift)
{
  for (int v = 0; v < c->model->n_verts; v++) {
    const double *r = c->model->rest + 3 * v;
    double *t = c->target + 3 * v;
    if (fabs(r[0] - x) > 1e-12)
      continue;
    t[0] = r[0] + shift;
    t[1] = y + cos(angle) * (r[1] - y) - sin(angle) * (r[2] - z);
    t[2] = z + sin(angle) * (r[1] - y) + cos(angle) * (r[2] - z);
  }
}

static inline double
largest_difference(const double *a, const double *b, int n_verts)
{
  double most = 0.0;
  for (int i = 0; i < 3 * n_verts; i++)
    most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

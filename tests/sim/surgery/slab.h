/* A slab of skin to operate on, for the tests of tools and states. */
#pragma once

#include "anatomy/box-mesh.h"
#include "sim/surgery/surgery.h"

#include <glib.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    PlaError err = { 0 };                                                                          \
    if ((call) != PLA_OK)                                                                          \
      g_error("%s", err.message);                                                                  \
  } while (0)

/* 80 x 60 x 12 mm with cells of @cell_mm, held at the bottom */
static inline PlaSurgery *
slab(double cell_mm)
{
  const double lo[3] = { -0.04, -0.03, -0.012 }, hi[3] = { 0.04, 0.03, 0.0 };
  const int n[3] = { (int)(80 / cell_mm), (int)(60 / cell_mm), (int)(12 / cell_mm) };
  PlaMesh *mesh = NULL;
  PlaSurgery *out = NULL;
  const double param[2] = { 15000.0, 0.4 };
  PlaFemMaterial tissue = { .material = pla_material_find("neo-hookean"), .density = 1000.0 };
  TRY(tissue.material->prepare(param, tissue.constants, &err));
  TRY(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err));
  g_autofree int *cell = g_new0(int, (gsize)mesh->n_tets);
  g_autofree bool *held = g_new0(bool, (gsize)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++)
    held[v] = mesh->pos[3 * v + 2] < -0.0119;
  TRY(pla_surgery_new(mesh, &tissue, 1, cell, held, &out, &err));
  pla_mesh_free(mesh);
  return out;
}

/* A slab of skin to operate on, for the tests of tools and states. */
#pragma once

#include "anatomy/mesh/box-mesh.h"
#include "sim/surgery/surgery.h"

#include <glib.h>

#define TRY(call)                                                                                  \
  do {                                                                                             \
    PlaError err = { 0 };                                                                          \
    if ((call) != PLA_OK)                                                                          \
      g_error("%s", err.message);                                                                  \
  } while (0)

/* 80 x 60 x 12 mm with cells of @cell_mm, held at the bottom; of two tissues, "skin" and below -8
 * mm "muscle", where @layered */
static inline PlaSurgery *
slab_of(double cell_mm, bool layered)
{
  const double lo[3] = { -0.04, -0.03, -0.012 }, hi[3] = { 0.04, 0.03, 0.0 };
  const int n[3] = { (int)(80 / cell_mm), (int)(60 / cell_mm), (int)(12 / cell_mm) };
  PlaMesh *mesh = NULL;
  PlaSurgery *out = NULL;
  const double param[2] = { 15000.0, 0.4 };
  PlaFemMaterial tissue[2] = { { .material = pla_material_find("neo-hookean"),
                                 .density = 1000.0 } };
  TRY(tissue[0].material->prepare(param, tissue[0].constants, &err));
  tissue[1] = tissue[0];
  TRY(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err));
  g_autofree int *cell = g_new0(int, (gsize)mesh->n_tets);
  g_autofree bool *held = g_new0(bool, (gsize)mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++)
    held[v] = mesh->pos[3 * v + 2] < -0.0119;
  for (int t = 0; layered && t < mesh->n_tets; t++) {
    double z = 0.0;
    for (int c = 0; c < 4; c++)
      z += 0.25 * mesh->pos[3 * mesh->tet[4 * t + c] + 2];
    cell[t] = z < -0.008;
  }
  TRY(pla_surgery_new(mesh, tissue, layered ? 2 : 1, cell, held, &out, &err));
  if (layered)
    TRY(pla_surgery_set_tissues(out, (const char *const[]){ "skin", "muscle" }, &err));
  pla_mesh_free(mesh);
  return out;
}

static inline PlaSurgery *
slab(double cell_mm)
{
  return slab_of(cell_mm, false);
}

static inline PlaSurgery *
layered_slab(double cell_mm)
{
  return slab_of(cell_mm, true);
}

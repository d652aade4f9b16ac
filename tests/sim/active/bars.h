/* Small bodies with muscles for tests: a bar between a fixed end and a jaw. */
#pragma once

#include "anatomy/mesh/box-mesh.h"
#include "sim/active/active.h"
#include "sim/fit/markers.h"
#include "sim/material/registry.h"

#include <glib.h>
#include <math.h>
#include <string.h>

enum { BAR_MUSCLES = 5 };

typedef struct {
  PlaMesh *mesh;
  PlaActiveModel *model;
  PlaMarkerSet markers; /* on the top and the sides */
} Bar;

static inline void
bar_ok(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK)
    g_error("%s", err->message);
}

/* a bar of 80 x 30 x 20 mm along x, fixed at x = 0, its other end on a "jaw" that opens by turning
 * about y; five muscles in slabs, the last of which no fibre fills; @stiffness of the flesh, times
 * 10 kPa of shear */
static inline void
bar_init_as(Bar *self, int n, double stiffness, PlaFormulation formulation)
{
  static const char *const names[BAR_MUSCLES] = { "top left", "top right", "bottom", "across",
                                                  "absent" };
  static const double dirs[BAR_MUSCLES][3] = {
    { 1, 0, 0 }, { 0.8, 0.6, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }
  };
  PlaError err = { 0 };
  const double size[3] = { 0.08, 0.03, 0.02 };
  const int cells[3] = { 4 * n, 2 * n, n + 1 };
  *self = (Bar){ 0 };
  bar_ok(pla_box_mesh_new((double[3]){ 0 }, size, cells, PLA_BOX_TETS_6, &self->mesh, &err), &err);
  const PlaMesh *mesh = self->mesh;
  int *start = g_new0(int, (size_t)mesh->n_tets + 1), *muscle = g_new(int, (size_t)mesh->n_tets);
  double *fibre = g_new(double, 3 * (size_t)mesh->n_tets);
  double *overlap = g_new(double, (size_t)mesh->n_tets);
  unsigned char *hold = g_new0(unsigned char, (size_t)mesh->n_verts);
  int k = 0;
  for (int t = 0; t < mesh->n_tets; t++) {
    double c[3] = { 0 };
    for (size_t a = 0; a < 4; a++)
      for (size_t d = 0; d < 3; d++)
        c[d] += 0.25 * mesh->pos[3 * (size_t)mesh->tet[4 * (size_t)t + a] + d] / size[d];
    int m = -1;
    if (c[2] > 0.6 && c[0] < 0.8)
      m = c[1] < 0.5 ? 0 : 1;
    else if (c[2] < 0.4 && c[0] > 0.1 && c[0] < 0.6)
      m = 2;
    else if (c[0] > 0.6)
      m = 3;
    if (m >= 0) {
      memcpy(fibre + 3 * k, dirs[m], sizeof dirs[m]);
      overlap[k] = 0.25;
      muscle[k++] = m;
    }
    start[t + 1] = k;
  }
  for (int v = 0; v < mesh->n_verts; v++) {
    const double x = mesh->pos[3 * (size_t)v];
    hold[v] = x < 1e-9 ? PLA_HOLD_CRANIUM : x > size[0] - 1e-9 ? PLA_HOLD_JAW : PLA_HOLD_FREE;
  }
  PlaJaw jaw;
  pla_jaw_init(&jaw, (double[3]){ 0.085, 0.03, 0.01 }, (double[3]){ 0.085, 0.0, 0.01 },
               (double[3]){ 1, 0, 0 }, 0.006, 0.5);
  double param[PLA_MAX_CONSTANTS] = { 0 };
  PlaFemMaterial flesh = { .material = &pla_material_muscle, .density = 1000.0 };
  for (int i = 0; pla_material_muscle.params[i].key; i++)
    param[i] = pla_material_muscle.params[i].def;
  param[pla_material_param(&pla_material_muscle, "base")] = 1.0;
  param[pla_material_param(&pla_material_muscle, "c10_pa")] = 5e3 * stiffness;
  param[pla_material_param(&pla_material_muscle, "c01_pa")] = 0.0;
  param[pla_material_param(&pla_material_muscle, "bulk_pa")] = 1e5 * stiffness;
  param[pla_material_param(&pla_material_muscle, "sigma_max_pa")] = 1e5;
  bar_ok(pla_material_muscle.prepare(param, flesh.constants, &err), &err);
  const PlaActiveParts parts = { .mesh = mesh,
                                 .formulation = formulation,
                                 .flesh = &flesh,
                                 .n_muscles = BAR_MUSCLES,
                                 .muscle = names,
                                 .fibre_start = start,
                                 .fibre = fibre,
                                 .overlap = overlap,
                                 .fibre_muscle = muscle,
                                 .hold = hold,
                                 .jaw = &jaw };
  bar_ok(pla_active_model_new(&parts, &self->model, &err), &err);

  /* markers 6 mm apart or so, on top and on both sides, none of them in a symmetric pattern */
  GPtrArray *labels = g_ptr_array_new_with_free_func(g_free);
  GArray *pos = g_array_new(FALSE, FALSE, sizeof(double));
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 3; j++) {
      const double p[3] = { 0.008 + 0.009 * i + 0.001 * j,
                            j == 0   ? 0.0
                            : j == 1 ? 0.011
                                     : 0.03,
                            j == 1 ? 0.02 : 0.006 + 0.001 * i };
      g_ptr_array_add(labels, g_strdup_printf("m%d%c", i, 'a' + j));
      g_array_append_vals(pos, p, 3);
    }
  bar_ok(pla_marker_set_bind(mesh, (int)labels->len, (const char *const *)labels->pdata,
                             (const double *)(void *)pos->data, true, &self->markers, &err),
         &err);
  g_ptr_array_unref(labels);
  g_array_unref(pos);
  g_free(start);
  g_free(muscle);
  g_free(fibre);
  g_free(overlap);
  g_free(hold);
}

static inline void
bar_init_flesh(Bar *self, int n, double stiffness)
{
  bar_init_as(self, n, stiffness, PLA_FORMULATION_STANDARD);
}

static inline void
bar_init(Bar *self, int n)
{
  bar_init_flesh(self, n, 1.0);
}

static inline void
bar_clear(Bar *self)
{
  pla_active_model_free(self->model);
  pla_marker_set_clear(&self->markers);
  pla_mesh_free(self->mesh);
}

/* Maps on the surface of a surgical body.
 *
 * The stretch or stress of one tet is a rough number where a blade left little of it, so maps show
 * means over the material around vertices: s_v = sum V_t s_t / sum V_t, with V_t the volume that
 * tet t still holds, and between vertices they are linear. */
#include "sim/surgery/surgery-map.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "sim/surgery/surgery-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* values of vertices, @width each, between which surface points lie */
static void
carry(const PlaTetMesh *mesh, const PlaCutSurface *surface, const double *value, int width,
      double *out)
{
  for (int i = 0; i < surface->n_verts; i++) {
    const int *tet = &mesh->tet[4 * surface->tet[i]];
    for (int k = 0; k < width; k++) {
      out[width * i + k] = 0.0;
      for (int c = 0; c < 4; c++)
        out[width * i + k] += surface->weight[4 * i + c] * value[width * tet[c] + k];
    }
  }
}

PlaStatus
pla_surgery_map(const PlaSurgery *self, const PlaCutSurface *surface, PlaSurgeryMaps *out,
                PlaError *err)
{
  enum { WIDTH = 10 }; /* stretch, Cauchy stress */
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  const size_t n_verts = (size_t)mesh.n_verts, n_tets = (size_t)mesh.n_tets;
  PlaFemModel *model = NULL;
  double *volume = pla_array_new(n_tets, sizeof *volume);
  PlaFemCellState *cell = pla_array_new(n_tets, sizeof *cell);
  double *sum = pla_array_new0(n_verts, WIDTH * sizeof *sum);
  double *weight = pla_array_new0(n_verts, sizeof *weight);
  double *on = pla_array_new((size_t)surface->n_verts, WIDTH * sizeof *on);
  PlaStatus st = volume && cell && sum && weight && on
                     ? pla_surgery_build_model(self, &model, err)
                     : pla_fail_memory(err, "the maps of the skin");
  if (st == PLA_OK)
    st = pla_fem_cell_states(model, self->pos, cell, err);
  if (st == PLA_OK) {
    pla_cut_mesh_volumes(self->cut, volume);
    for (int t = 0; t < mesh.n_tets; t++)
      for (int c = 0; c < 4; c++) {
        const int v = mesh.tet[4 * t + c];
        sum[WIDTH * v] += volume[t] * cell[t].stretch[0];
        for (int k = 0; k < 9; k++)
          sum[WIDTH * v + 1 + k] += volume[t] * cell[t].cauchy_pa[k];
        weight[v] += volume[t];
      }
    for (size_t v = 0; v < n_verts; v++)
      for (int k = 0; k < WIDTH; k++)
        sum[WIDTH * v + (size_t)k] =
            weight[v] > 0.0 ? sum[WIDTH * v + (size_t)k] / weight[v] : k == 0;
    carry(&mesh, surface, sum, WIDTH, on);
    for (int i = 0; i < surface->n_verts; i++) {
      double value[3], axis[9];
      pla_eig3(&on[WIDTH * i + 1], value, axis);
      out->stretch[i] = on[WIDTH * i];
      out->tension[i] = fmax(value[2], 0.0);
      out->pressure[i] = -(value[0] + value[1] + value[2]) / 3.0;
    }
  }
  pla_fem_model_free(model);
  free(volume);
  free(cell);
  free(sum);
  free(weight);
  free(on);
  return st;
}

void
pla_surgery_map_displacement(const PlaSurgery *self, const PlaCutSurface *surface, double *out)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  for (int i = 0; i < surface->n_verts; i++) {
    const int *tet = &mesh.tet[4 * surface->tet[i]];
    for (int d = 0; d < 3; d++) {
      out[3 * i + d] = 0.0;
      for (int c = 0; c < 4; c++)
        out[3 * i + d] +=
            surface->weight[4 * i + c] * (self->pos[3 * tet[c] + d] - mesh.rest[3 * tet[c] + d]);
    }
  }
}

int
pla_surgery_n_wounds(const PlaSurgery *self)
{
  return self->n_wounds;
}

PlaSurgeryWoundView
pla_surgery_get_wound(const PlaSurgery *self, int i)
{
  const PlaSurgeryWound *w = &self->wound[i];
  return (PlaSurgeryWoundView){ w->name, w->closed, w->length, { w->n_edge[0], w->n_edge[1] } };
}

int
pla_surgery_n_threads(const PlaSurgery *self)
{
  return self->stitches.n;
}

int
pla_surgery_n_hooks(const PlaSurgery *self)
{
  return self->hooks.n;
}

void
pla_surgery_get_thread_ends(const PlaSurgery *self, int i, double a[3], double b[3])
{
  pla_surgery_place_end(self, &self->stitches.thread[i].end[0], a);
  pla_surgery_place_end(self, &self->stitches.thread[i].end[1], b);
}

void
pla_surgery_get_hook_ends(const PlaSurgery *self, int i, double skin[3], double at[3])
{
  pla_surgery_place_end(self, &self->hooks.thread[i].end[0], skin);
  memcpy(at, self->hooks.thread[i].place, sizeof self->hooks.thread[i].place);
}

void
pla_surgery_get_edge(const PlaSurgery *self, int wound, int side, int i, double out[3])
{
  pla_surgery_place(self, &self->wound[wound].edge[side][i].anchor, out);
}

/* Maps on the surface of a surgical body.
 *
 * The stretch of one tet is a rough number where a blade left little of it, so maps show means over
 * the material around vertices: s_v = sum V_t s_t / sum V_t, with V_t the volume that tet t still
 * holds, and between vertices they are linear. */
#include "sim/surgery/surgery-map.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "sim/surgery/surgery-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the largest singular value of the deformation gradient */
static double
tet_stretch(const double *rest, const double *pos, const int *tet)
{
  double dm[9], ds[9], inverse[9], f[9], u[9], s[3], v[9];
  for (int k = 0; k < 3; k++)
    for (int d = 0; d < 3; d++) {
      dm[3 * d + k] = rest[3 * tet[k + 1] + d] - rest[3 * tet[0] + d];
      ds[3 * d + k] = pos[3 * tet[k + 1] + d] - pos[3 * tet[0] + d];
    }
  pla_mat3_invert(dm, inverse);
  pla_mat3_mul(ds, inverse, f);
  pla_svd3(f, u, s, v);
  return s[0];
}

PlaStatus
pla_surgery_map_stretch(const PlaSurgery *self, const PlaCutSurface *surface, double *out,
                        PlaError *err)
{
  const PlaTetMesh mesh = pla_cut_mesh_get(self->cut).mesh;
  const size_t n_verts = (size_t)mesh.n_verts;
  double *volume = pla_array_new((size_t)mesh.n_tets, sizeof *volume);
  double *stretch = pla_array_new((size_t)mesh.n_tets, sizeof *stretch);
  double *sum = pla_array_new0(n_verts, sizeof *sum),
         *weight = pla_array_new0(n_verts, sizeof *sum);
  bool ok = volume && stretch && sum && weight;
  if (ok) {
    pla_cut_mesh_volumes(self->cut, volume);
#pragma omp parallel for schedule(static)
    for (int t = 0; t < mesh.n_tets; t++)
      stretch[t] = tet_stretch(mesh.rest, self->pos, &mesh.tet[4 * t]);
    for (int t = 0; t < mesh.n_tets; t++)
      for (int c = 0; c < 4; c++) {
        sum[mesh.tet[4 * t + c]] += volume[t] * stretch[t];
        weight[mesh.tet[4 * t + c]] += volume[t];
      }
    for (size_t v = 0; v < n_verts; v++)
      sum[v] = weight[v] > 0.0 ? sum[v] / weight[v] : 1.0;
    for (int i = 0; i < surface->n_verts; i++) {
      const int *tet = &mesh.tet[4 * surface->tet[i]];
      out[i] = 0.0;
      for (int c = 0; c < 4; c++)
        out[i] += surface->weight[4 * i + c] * sum[tet[c]];
    }
  }
  free(volume);
  free(stretch);
  free(sum);
  free(weight);
  return ok ? PLA_OK : pla_fail_memory(err, "the map of stretches");
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
  return (PlaSurgeryWoundView){ w->name, w->closed, w->length, { w->n_lip[0], w->n_lip[1] } };
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
pla_surgery_get_lip(const PlaSurgery *self, int wound, int side, int i, double out[3])
{
  pla_surgery_place(self, &self->wound[wound].lip[side][i].anchor, out);
}

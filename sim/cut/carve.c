/* Carving: a mesh that covers a closed surface is cut along it, and what lies outside goes.
 *
 * What is left has the shape of the surface, triangle by triangle, whatever the size of its tets.
 * Parts of the body that are near each other but not connected, such as lips, have nodes of their
 * own.  Molino, Bao and Fedkiw, "A virtual node algorithm for changing mesh topology" (2004). */
#include "sim/cut/cut-mesh-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/mesh/winding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* barycentric coordinates of a point well inside the material of @refined */
static void
inner_point(const PlaCutComplex *refined, double out[4])
{
  double deepest = -1.0;
  for (int k = 0; k < refined->n_cells; k++) {
    /* cells are convex: the mean of their corners lies inside */
    const PlaCutCell *cell = &refined->cell[k];
    double mean[4] = { 0.0 };
    int n = 0;
    for (int p = 0; p < cell->n_patches; p++) {
      const PlaCutPatch *patch = &refined->patch[cell->patch[p]];
      for (int i = 0; i < patch->n_corners; i++, n++) {
        double weight[4];
        pla_cut_complex_weights(refined, patch->corner[i].vert, weight);
        for (int c = 0; c < 4; c++)
          mean[c] += weight[c];
      }
    }
    for (int c = 0; c < 4; c++)
      mean[c] /= n;
    const double depth = pla_cut_complex_depth(refined, mean);
    if (k == 0 || depth > deepest) {
      deepest = depth;
      for (int c = 0; c < 4; c++)
        out[c] = mean[c];
    }
  }
}

/* a point inside each body: in the tet that has most of its material (@out: n_bodies x 3) */
static bool
find_points(const PlaCutMesh *self, const int *body, int n_bodies, double *out)
{
  double *volume = pla_array_new((size_t)self->n_tets, sizeof *volume);
  int *most = pla_array_new((size_t)n_bodies, sizeof *most);
  const bool ok = volume && most;
  if (ok)
    pla_cut_mesh_volumes(self, volume);
  for (int b = 0; ok && b < n_bodies; b++)
    most[b] = -1;
  for (int t = 0; ok && t < self->n_tets; t++)
    if (most[body[t]] < 0 || volume[t] > volume[most[body[t]]])
      most[body[t]] = t;
  for (int b = 0; ok && b < n_bodies; b++) {
    const int t = most[b];
    double weight[4] = { 0.25, 0.25, 0.25, 0.25 };
    if (self->refined[t])
      inner_point(self->refined[t], weight);
    for (int d = 0; d < 3; d++) {
      out[3 * b + d] = 0.0;
      for (int c = 0; c < 4; c++)
        out[3 * b + d] += weight[c] * self->rest[3 * self->tet[4 * t + c] + d];
    }
  }
  free(volume);
  free(most);
  return ok;
}

/* removes the bodies that lie outside @surface */
static PlaStatus
remove_outside(PlaCutMesh *self, const PlaTriMesh *surface, PlaError *err)
{
  const size_t n_tets = (size_t)self->n_tets;
  int *body = pla_array_new(n_tets, sizeof *body), *tet = pla_array_new(n_tets, sizeof *tet);
  int *vert = pla_array_new((size_t)self->n_verts, sizeof *vert);
  bool *remove = pla_array_new(n_tets, sizeof *remove);
  const int n = body ? pla_cut_mesh_bodies(self, body) : -1;
  double *point = n > 0 ? pla_array_new(3 * (size_t)n, sizeof *point) : NULL;
  double *turns = n > 0 ? pla_array_new((size_t)n, sizeof *turns) : NULL;
  PlaWinding *winding = NULL;
  PlaStatus st = PLA_OK;
  if (!tet || !vert || !remove || !point || !turns || !find_points(self, body, n, point))
    st = pla_fail_memory(err, "the carved body");
  if (st == PLA_OK)
    st = pla_winding_new(surface, &winding, err);
  if (st == PLA_OK)
    st = pla_winding_batch(winding, (size_t)n, point, NULL, turns, err);
  if (st == PLA_OK) {
    for (size_t t = 0; t < n_tets; t++)
      remove[t] = turns[body[t]] < 0.5;
    st = pla_cut_mesh_remove(self, remove, vert, tet, err);
  }
  pla_winding_free(winding);
  free(body);
  free(tet);
  free(vert);
  free(remove);
  free(point);
  free(turns);
  return st;
}

PlaStatus
pla_cut_mesh_carve(const PlaTetMesh *mesh, const PlaTriMesh *surface, PlaProgress *progress,
                   PlaCutMesh **out, PlaCutReport *report, PlaError *err)
{
  PlaCutMesh *self = NULL;
  *out = NULL;
  PlaStatus st = pla_cut_mesh_new(mesh, &self, err);
  if (st == PLA_OK)
    st = pla_cut_mesh_cut(self, surface, progress, report, NULL, err);
  if (st == PLA_OK)
    st = remove_outside(self, surface, err);
  /* all that is left of the surface of @mesh is where it does not cover the inside */
  for (int t = 0; st == PLA_OK && t < self->n_tets; t++)
    for (int f = 0; self->skin[t] && st == PLA_OK && f < 4; f++)
      if (self->skin[t] >> f & 1 &&
          (!self->refined[t] || pla_cut_complex_has_face(self->refined[t], f)))
        st = pla_fail(err, PLA_ERR_GEOMETRY,
                      "the surface to carve along is open, or reaches out of the mesh at tet %d",
                      self->tet_source[t]);
  if (st == PLA_OK) {
    self->n_carved = self->n_triangles;
    *out = self;
  } else {
    pla_cut_mesh_free(self);
  }
  return st;
}

int
pla_cut_mesh_n_carved(const PlaCutMesh *self)
{
  return self->n_carved;
}

/* Cut meshes as plain ones, with what the mesh before the cuts had on its vertices and cells. */
#include "sim/bodies/cut-body.h"

#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* the tuples source[i] (first: added to the number) of @field on the new mesh */
static bool
carry_field(PlaMesh *out, const PlaField *field, const int *source, int n, size_t first)
{
  const size_t size = (size_t)field->n_components * pla_dtype_size(field->dtype);
  char *to = pla_mesh_add_field(out, field->name, field->place, field->dtype, field->n_components);
  if (!to)
    return false;
  for (int i = 0; i < n; i++)
    memcpy(to + (size_t)i * size, (const char *)field->data + (first + (size_t)source[i]) * size,
           size);
  return true;
}

PlaStatus
pla_cut_to_mesh(const PlaCutMesh *cut, const PlaMesh *mesh, PlaMesh **out, int *n_bodies,
                PlaError *err)
{
  const PlaCutMeshView view = pla_cut_mesh_get(cut);
  const int n_tets = view.mesh.n_tets, n_verts = view.mesh.n_verts;
  PlaStatus st = pla_mesh_new(n_verts, 0, n_tets, 0, out, err);
  if (st != PLA_OK)
    return st;
  PlaMesh *m = *out;
  memcpy(m->pos, view.mesh.rest, 3 * (size_t)n_verts * sizeof *m->pos);
  memcpy(m->tet, view.mesh.tet, 4 * (size_t)n_tets * sizeof *m->tet);
  bool ok = true;
  for (int f = 0; ok && f < mesh->n_fields; f++) {
    const PlaField *field = &mesh->field[f];
    ok = field->place == PLA_ON_VERTS
             ? carry_field(m, field, view.vert_source, n_verts, 0)
             : carry_field(m, field, view.tet_source, n_tets, (size_t)mesh->n_tris);
  }
  int *body = ok ? pla_mesh_add_field(m, PLA_CUT_BODY, PLA_ON_CELLS, PLA_I32, 1) : NULL;
  int *source = body ? pla_mesh_add_field(m, PLA_CUT_SOURCE, PLA_ON_CELLS, PLA_I32, 1) : NULL;
  double *fraction =
      source ? pla_mesh_add_field(m, PLA_MESH_FRACTION, PLA_ON_CELLS, PLA_F64, 1) : NULL;
  int n = fraction ? pla_cut_mesh_bodies(cut, body) : -1;
  if (n < 0) {
    pla_mesh_free(m);
    *out = NULL;
    return pla_fail_memory(err, "the cut mesh");
  }
  memcpy(source, view.tet_source, (size_t)n_tets * sizeof *source);
  pla_cut_mesh_fractions(cut, fraction);
  if (n_bodies)
    *n_bodies = n;
  return PLA_OK;
}

PlaStatus
pla_cut_surface_to_mesh(const PlaCutMesh *cut, const PlaCutSurface *s, const double *pos,
                        PlaMesh **out, PlaError *err)
{
  *out = NULL;
  int *body = pla_array_new((size_t)pla_cut_mesh_get(cut).mesh.n_tets, sizeof *body);
  if (!body || pla_cut_mesh_bodies(cut, body) < 0) {
    free(body);
    return pla_fail_memory(err, "the surface of the cut");
  }
  PlaStatus st = pla_mesh_new(s->n_verts, s->n_tris, 0, 0, out, err);
  if (st == PLA_OK) {
    int *bodies = pla_mesh_add_field(*out, PLA_CUT_BODY, PLA_ON_CELLS, PLA_I32, 1);
    int8_t *wound = pla_mesh_add_field(*out, "wound", PLA_ON_CELLS, PLA_I8, 1);
    if (bodies && wound) {
      memcpy((*out)->pos, pos, 3 * (size_t)s->n_verts * sizeof *pos);
      memcpy((*out)->tri, s->tri, 3 * (size_t)s->n_tris * sizeof *s->tri);
      for (int t = 0; t < s->n_tris; t++) {
        bodies[t] = body[s->owner[t]];
        wound[t] = s->cut[t] >= 0;
      }
    } else {
      st = pla_fail_memory(err, "the surface of the cut");
      pla_mesh_free(*out);
      *out = NULL;
    }
  }
  free(body);
  return st;
}

PlaStatus
pla_cut_to_surface(PlaCutMesh *cut, const double *pos, PlaMesh **out, PlaError *err)
{
  PlaCutSurface s;
  *out = NULL;
  PlaStatus st = pla_cut_mesh_surface(cut, &s, err);
  double *placed = st == PLA_OK ? pla_array_new(3 * (size_t)s.n_verts, sizeof *placed) : NULL;
  if (st == PLA_OK && !placed)
    st = pla_fail_memory(err, "the surface of the cut");
  if (st == PLA_OK) {
    pla_cut_surface_place(&s, cut, pos ? pos : pla_cut_mesh_get(cut).mesh.rest, placed);
    st = pla_cut_surface_to_mesh(cut, &s, placed, out, err);
  }
  pla_cut_surface_clear(&s);
  free(placed);
  return st;
}

/* Surfaces that ride in a hexahedral embedding: any points near the embedded surface, and one mesh
 * of the elements with the surface bound to them. */
#include "anatomy/base/memory.h"
#include "anatomy/embed/hex-private.h"
#include "anatomy/mesh/tri-tree.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* first hex whose cell key is not below @key */
static int
first_hex(const PlaHexEmbed *self, uint64_t key)
{
  int lo = 0, hi = self->mesh->n_hexes;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    if (self->cell[mid] < key)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* corners in common */
static int
shared_corners(const PlaMesh *mesh, int a, int b)
{
  int n = 0;
  for (int p = 0; p < 8; p++)
    for (int q = 0; q < 8; q++)
      n += mesh->hex[8 * (size_t)a + p] == mesh->hex[8 * (size_t)b + q];
  return n;
}

/* of the hexes in the cell of @pos, the one that hangs together best with @near; else @near */
static int
hex_at(const PlaHexEmbed *self, const double pos[3], int near)
{
  int at[3];
  for (int d = 0; d < 3; d++) {
    at[d] = (int)floor((pos[d] - self->origin_m[d]) / self->cell_m);
    if (at[d] < 0 || at[d] >= self->dims[d])
      return near;
  }
  const uint64_t key = pla_hex_cell_key(at[0], at[1], at[2]);
  int best = near, most = 0;
  for (int h = first_hex(self, key); h < self->mesh->n_hexes && self->cell[h] == key; h++) {
    const int shared = shared_corners(self->mesh, h, near);
    if (shared > most) {
      best = h;
      most = shared;
    }
  }
  return best;
}

PlaStatus
pla_hex_embed_points(const PlaHexEmbed *self, const PlaTriMesh *body, int n, const double *pos,
                     PlaEmbedding *out, PlaError *err)
{
  PlaTriTree *tree = NULL;
  PlaStatus st = pla_embedding_init(out, n, 8, err);
  if (st == PLA_OK)
    st = pla_tri_tree_new(body, &tree, err);
  if (st == PLA_OK) {
#pragma omp parallel for schedule(dynamic, 256)
    for (int p = 0; p < n; p++) {
      const double *x = pos + 3 * (size_t)p;
      int tri = 0, vert = 0;
      double least = INFINITY, t[3];
      pla_tri_tree_nearest(tree, x, INFINITY, &tri, NULL);
      for (int c = 0; c < 3; c++) {
        const int v = body->tri[3 * (size_t)tri + c];
        double far = 0.0;
        for (int d = 0; d < 3; d++)
          far += (body->pos[3 * (size_t)v + d] - x[d]) * (body->pos[3 * (size_t)v + d] - x[d]);
        if (far < least) {
          least = far;
          vert = v;
        }
      }
      const int hex = hex_at(self, x, self->surface.elem[vert]);
      for (int d = 0; d < 3; d++)
        t[d] = (x[d] - self->origin_m[d]) / self->cell_m - pla_hex_cell_index(self->cell[hex], d);
      out->elem[p] = hex;
      pla_hex_weights(t, out->weight + 8 * (size_t)p);
    }
  }
  pla_tri_tree_free(tree);
  if (st != PLA_OK)
    pla_embedding_clear(out);
  return st;
}

/* what the surface's triangles bear goes along; elements have none of it, and the other way round
 */
static bool
copy_cell_fields(const PlaMesh *from, size_t first, size_t n, PlaMesh *to)
{
  for (int f = 0; f < from->n_fields; f++) {
    const PlaField *field = &from->field[f];
    if (field->place != PLA_ON_CELLS || pla_mesh_find_field(to, field->name, PLA_ON_CELLS))
      continue;
    const size_t size = (size_t)field->n_components * pla_dtype_size(field->dtype);
    char *data =
        pla_mesh_add_field(to, field->name, PLA_ON_CELLS, field->dtype, field->n_components);
    if (!data)
      return false;
    memcpy(data + first * size, field->data, n * size);
  }
  return true;
}

PlaStatus
pla_hex_carry_surface(const PlaMesh *elements, const PlaMesh *surface, const PlaEmbedding *points,
                      PlaMesh **out, PlaError *err)
{
  const size_t n_verts = (size_t)elements->n_verts, n_points = (size_t)surface->n_verts;
  const int k = points->per_elem;
  const int *cells = k == 8 ? elements->hex : elements->tet;
  PlaMesh *mesh = NULL;
  *out = NULL;
  if (n_verts + n_points > INT_MAX)
    return pla_fail(err, PLA_ERR_MEMORY, "The mesh and its surface have too many vertices");
  PlaStatus st = pla_mesh_new((int)(n_verts + n_points), surface->n_tris, elements->n_tets,
                              elements->n_hexes, &mesh, err);
  if (st != PLA_OK)
    return st;
  memcpy(mesh->pos, elements->pos, 3 * n_verts * sizeof *mesh->pos);
  memcpy(mesh->pos + 3 * n_verts, surface->pos, 3 * n_points * sizeof *mesh->pos);
  memcpy(mesh->tet, elements->tet, 4 * (size_t)elements->n_tets * sizeof *mesh->tet);
  memcpy(mesh->hex, elements->hex, 8 * (size_t)elements->n_hexes * sizeof *mesh->hex);
  for (size_t c = 0; c < 3 * (size_t)surface->n_tris; c++)
    mesh->tri[c] = surface->tri[c] + elements->n_verts;
  int32_t *verts = pla_mesh_add_field(mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS, PLA_I32, k);
  double *weights =
      verts ? pla_mesh_add_field(mesh, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS, PLA_F64, k) : NULL;
  if (!weights ||
      !copy_cell_fields(elements, (size_t)surface->n_tris, pla_mesh_n_cells(elements), mesh) ||
      !copy_cell_fields(surface, 0, (size_t)surface->n_tris, mesh)) {
    pla_mesh_free(mesh);
    return pla_fail_memory(err, "the mesh and its surface");
  }
  memset(verts, 0xff, n_verts * (size_t)k * sizeof *verts); /* -1: free */
#pragma omp parallel for schedule(static)
  for (size_t p = 0; p < n_points; p++)
    for (int c = 0; c < k; c++) {
      const size_t at = (n_verts + p) * (size_t)k + (size_t)c;
      verts[at] = cells[(size_t)k * (size_t)points->elem[p] + (size_t)c];
      weights[at] = points->weight[(size_t)k * p + (size_t)c];
    }
  /* triangles go with the component that carries them */
  const PlaField *component = pla_mesh_find_field(mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS);
  for (int t = 0; component && t < surface->n_tris; t++)
    ((int32_t *)component->data)[t] =
        ((const int32_t *)component
             ->data)[(size_t)surface->n_tris + (size_t)points->elem[surface->tri[3 * (size_t)t]]];
  *out = mesh;
  return PLA_OK;
}

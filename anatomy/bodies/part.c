/* Slits in meshes of tets: vertices between faces that come apart are doubled. */
#include "anatomy/bodies/part.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/tet-locator.h"

#include <stdlib.h>
#include <string.h>

PlaStatus
pla_mesh_part(PlaMesh *mesh, PlaFaceApart apart, const void *data, int *n_new, PlaError *err)
{
  static const int face_of[4][3] = { { 1, 2, 3 }, { 0, 3, 2 }, { 0, 1, 3 }, { 0, 2, 1 } };
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  const size_t n_corners = 4 * (size_t)mesh->n_tets;
  int *across = NULL;
  PlaStatus st = pla_tet_neighbours(&tets, &across, err);
  if (st != PLA_OK)
    return st;
  int *parent = pla_array_new(n_corners, sizeof *parent);
  int *copy = pla_array_new(n_corners, sizeof *copy); /* root corner -> vertex */
  int *tet = pla_array_new(n_corners, sizeof *tet);
  int *owner = pla_array_new((size_t)mesh->n_verts, sizeof *owner); /* root corner that keeps v */
  unsigned char *touched = pla_array_new0((size_t)mesh->n_verts, 1);
  int *source = NULL, n_copies = 0, capacity = 0; /* vertices that copies are of */
  if (!parent || !copy || !tet || !owner || !touched) {
    st = pla_fail_memory(err, "the parted mesh");
    goto out;
  }
  /* corners of the same vertex are joined across every face that holds */
  for (size_t c = 0; c < n_corners; c++)
    parent[c] = (int)c;
  bool any = false;
  for (int t = 0; t < mesh->n_tets; t++)
    for (int k = 0; k < 4; k++) {
      const int o = across[4 * (size_t)t + (size_t)k];
      int face[3];
      if (o < t)
        continue;
      for (int i = 0; i < 3; i++)
        face[i] = mesh->tet[4 * (size_t)t + (size_t)face_of[k][i]];
      if (apart(mesh, t, o, face, data)) {
        any = true;
        for (int i = 0; i < 3; i++)
          touched[face[i]] = 1;
        continue;
      }
      for (int i = 0; i < 3; i++)
        for (int b = 0; b < 4; b++)
          if (mesh->tet[4 * (size_t)o + (size_t)b] == face[i])
            pla_union_find_join(parent, 4 * t + face_of[k][i], 4 * o + b);
    }
  if (n_new)
    *n_new = 0;
  if (!any)
    goto out;

  /* the first fan of each vertex keeps it; others get copies, in the order of their tets.  Fans
   * that met in an edge alone before stay joined: only those of vertices on parted faces count. */
  for (int v = 0; v < mesh->n_verts; v++)
    owner[v] = -1;
  for (size_t c = 0; c < n_corners; c++)
    copy[c] = -1;
  for (size_t c = 0; c < n_corners; c++) {
    const int v = mesh->tet[c], root = pla_union_find_root(parent, (int)c);
    tet[c] = v;
    if (!touched[v])
      continue;
    if (owner[v] < 0)
      owner[v] = root;
    if (owner[v] == root)
      continue;
    if (copy[root] < 0) {
      if (!pla_array_reserve(&source, n_copies + 1, &capacity, sizeof *source)) {
        st = pla_fail_memory(err, "the parted mesh");
        goto out;
      }
      copy[root] = mesh->n_verts + n_copies;
      source[n_copies++] = v;
    }
    tet[c] = copy[root];
  }
  /* the copies stand where their vertices stand */
  double *pos = pla_array_new((size_t)mesh->n_verts + (size_t)n_copies, 3 * sizeof *pos);
  if (!pos) {
    st = pla_fail_memory(err, "the parted mesh");
    goto out;
  }
  memcpy(pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *pos);
  for (int i = 0; i < n_copies; i++)
    memcpy(pos + 3 * ((size_t)mesh->n_verts + (size_t)i), mesh->pos + 3 * (size_t)source[i],
           3 * sizeof *pos);
  free(mesh->pos);
  mesh->pos = pos;
  mesh->n_verts += n_copies;
  memcpy(mesh->tet, tet, n_corners * sizeof *tet);
  if (n_new)
    *n_new = n_copies;
out:
  free(across);
  free(parent);
  free(copy);
  free(tet);
  free(owner);
  free(touched);
  free(source);
  return st;
}

/* Connected pieces of a tet mesh, by union-find over shared faces; pieces with too few tets
 * are removed together with the vertices that only they use. */
#include "anatomy/mesher/pieces.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/tet-locator.h"
#include "anatomy/mesher/tets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* for each tet one of its piece that stands for it, @root, and there @count: the tets of the piece
 */
static PlaStatus
find_pieces(const PlaMesh *mesh, int *root, int *count, PlaError *err)
{
  const PlaTetMesh tets = pla_mesh_tets(mesh);
  int *across = NULL;
  PlaStatus st = pla_tet_neighbours(&tets, &across, err);
  if (st != PLA_OK)
    return st;
  for (int t = 0; t < mesh->n_tets; t++)
    root[t] = t;
  for (int t = 0; t < mesh->n_tets; t++)
    for (size_t k = 0; k < 4; k++)
      if (across[4 * (size_t)t + k] >= 0)
        pla_union_find_join(root, t, across[4 * (size_t)t + k]);
  for (int t = 0; t < mesh->n_tets; t++)
    count[root[t] = pla_union_find_root(root, t)]++;
  free(across);
  return PLA_OK;
}

/* the tets whose piece has @least of them, and the vertices they use */
static PlaStatus
take_pieces(const PlaMesh *from, const int *root, const int *count, double least, PlaMesh **out,
            PlaError *err)
{
  const PlaField *region = pla_mesh_find_field(from, PLA_MESH_REGION, PLA_ON_CELLS);
  const int *tag = region ? region->data : NULL;
  int *at = pla_array_new0((size_t)from->n_verts, sizeof *at), n_verts = 0, n_tets = 0,
      *to_tag = NULL;
  PlaMesh *to = NULL;
  if (!at)
    return pla_fail_memory(err, "a mesh without loose pieces");
  for (int t = 0; t < from->n_tets; t++) {
    const bool kept = count[root[t]] >= least;
    n_tets += kept;
    for (size_t a = 0; a < 4 && kept; a++)
      at[from->tet[4 * (size_t)t + a]] = 1;
  }
  for (int v = 0; v < from->n_verts; v++)
    at[v] = at[v] ? n_verts++ : -1;
  PlaStatus st = pla_mesh_new(n_verts, 0, n_tets, 0, &to, err);
  if (st == PLA_OK && tag) {
    to_tag = pla_mesh_add_field(to, PLA_MESH_REGION, PLA_ON_CELLS, PLA_I32, 1);
    st = to_tag ? PLA_OK : pla_fail_memory(err, "a mesh without loose pieces");
  }
  for (int v = 0; st == PLA_OK && v < from->n_verts; v++)
    if (at[v] >= 0)
      memcpy(to->pos + 3 * (size_t)at[v], from->pos + 3 * (size_t)v, 3 * sizeof *to->pos);
  for (int t = 0, k = 0; st == PLA_OK && t < from->n_tets; t++) {
    if (count[root[t]] < least)
      continue;
    for (size_t a = 0; a < 4; a++)
      to->tet[4 * (size_t)k + a] = at[from->tet[4 * (size_t)t + a]];
    if (tag)
      to_tag[k] = tag[t];
    k++;
  }
  free(at);
  if (st == PLA_OK)
    *out = to;
  else
    pla_mesh_free(to);
  return st;
}

PlaStatus
pla_mesh_keep_pieces(PlaMesh **mesh, double share, int least_tets, int *n_left_out, PlaError *err)
{
  const size_t n = (size_t)(*mesh)->n_tets;
  int *root = pla_array_new(n, sizeof *root), *count = pla_array_new0(n, sizeof *count);
  int largest = 0, n_out = 0;
  PlaMesh *to = NULL;
  PlaStatus st = root && count ? find_pieces(*mesh, root, count, err)
                               : pla_fail_memory(err, "a mesh without loose pieces");
  for (size_t t = 0; st == PLA_OK && t < n; t++)
    largest = count[t] > largest ? count[t] : largest;
  const double least = fmin(largest, fmax(share * largest, least_tets));
  for (size_t t = 0; st == PLA_OK && t < n; t++)
    n_out += count[t] > 0 && count[t] < least;
  if (st == PLA_OK && n_out > 0)
    st = take_pieces(*mesh, root, count, least, &to, err);
  if (to) {
    pla_mesh_free(*mesh);
    *mesh = to;
  }
  if (n_left_out)
    *n_left_out = n_out;
  free(root);
  free(count);
  return st;
}

/* Structured meshes of a box. */
#include "anatomy/mesh/box-mesh.h"

#include <assert.h>
#include <string.h>

/* corners of a cell by bits x, y, z of their index; every tet is positive */
static const int six[6][4] = { { 0, 1, 3, 7 }, { 0, 5, 1, 7 }, { 0, 4, 5, 7 },
                               { 0, 6, 4, 7 }, { 0, 2, 6, 7 }, { 0, 3, 2, 7 } };
static const int five[2][5][4] = {
  { { 0, 1, 2, 4 }, { 3, 2, 1, 7 }, { 5, 1, 4, 7 }, { 6, 4, 2, 7 }, { 1, 2, 4, 7 } },
  { { 1, 0, 5, 3 }, { 2, 0, 3, 6 }, { 4, 0, 6, 5 }, { 7, 3, 5, 6 }, { 0, 3, 6, 5 } },
};
static const int vtk_corner[8] = { 0, 1, 3, 2, 4, 5, 7, 6 };

PlaStatus
pla_box_mesh_new(const double lo[3], const double hi[3], const int n[3], PlaBoxCells cells,
                 PlaMesh **out, PlaError *err)
{
  assert(n[0] > 0 && n[1] > 0 && n[2] > 0);
  const double n_verts = (n[0] + 1.0) * (n[1] + 1.0) * (n[2] + 1.0);
  const double n_cells = (double)n[0] * n[1] * n[2];
  const int per_cell = cells == PLA_BOX_HEXES ? 1 : cells == PLA_BOX_TETS_6 ? 6 : 5;
  *out = NULL;
  if (n_verts > 7e8 || n_cells * per_cell > 5e8)
    return pla_fail_memory(err, "a box of this many cells");
  PlaMesh *mesh;
  PlaStatus st = pla_mesh_new((int)n_verts, 0, cells == PLA_BOX_HEXES ? 0 : (int)n_cells * per_cell,
                              cells == PLA_BOX_HEXES ? (int)n_cells : 0, &mesh, err);
  if (st != PLA_OK)
    return st;

  const int row = n[0] + 1, sheet = row * (n[1] + 1);
  for (int k = 0, v = 0; k <= n[2]; k++)
    for (int j = 0; j <= n[1]; j++)
      for (int i = 0; i <= n[0]; i++, v++) {
        const int at[3] = { i, j, k };
        for (int d = 0; d < 3; d++)
          mesh->pos[3 * (size_t)v + (size_t)d] =
              at[d] == n[d] ? hi[d] : lo[d] + (hi[d] - lo[d]) * at[d] / n[d];
      }
  size_t next = 0;
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++)
      for (int i = 0; i < n[0]; i++) {
        int corner[8];
        for (int c = 0; c < 8; c++)
          corner[c] = i + (c & 1) + row * (j + (c >> 1 & 1)) + sheet * (k + (c >> 2 & 1));
        if (cells == PLA_BOX_HEXES) {
          for (int c = 0; c < 8; c++)
            mesh->hex[8 * next + (size_t)c] = corner[vtk_corner[c]];
          next++;
          continue;
        }
        const int(*tets)[4] = cells == PLA_BOX_TETS_6 ? six : five[(i + j + k) % 2];
        for (int t = 0; t < per_cell; t++, next++)
          for (int c = 0; c < 4; c++)
            mesh->tet[4 * next + (size_t)c] = corner[tets[t][c]];
      }
  *out = mesh;
  return PLA_OK;
}

/* Ends: where a part of the body stops inside another one.
 *
 * A sheet vertex is an inner one when its node lies behind the sheet.  But the body may end between
 * the two: beyond the end face of a bar the node is still behind the bar's sides, and where the bar
 * ends in the open the winding number 0 corrects that.  Inside another body it does not; what gives
 * it away is that more sheets claim the node than the winding number allows, while another vertex
 * of the node, of a sheet that hangs together with the claimant's a cell or two away, is in front
 * of it.  Then the two together decide by the nearest point, as within one sheet. */
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>

/* cells around the node, each way, within which two sheets must hang together */
enum { REACH = 2, MOST_SHEETS = 512, MOST_TRIS = 1024 };

typedef struct {
  uint32_t sheet[MOST_SHEETS];
  int n;
} Patch;

static bool
patch_add(Patch *p, uint32_t sheet)
{
  for (int k = 0; k < p->n; k++)
    if (p->sheet[k] == sheet)
      return true;
  if (p->n == MOST_SHEETS)
    return false;
  p->sheet[p->n++] = sheet;
  return true;
}

/* the sheets that meet in a vertex */
static void
sheets_at(const PlaHexWork *w, uint32_t vert, Patch *out)
{
  const uint32_t node = w->vert_node[vert];
  uint32_t cell[8];
  out->n = 0;
  pla_hex_cells_around(w, w->node_line[node], w->node_i[node], cell);
  for (int o = 0; o < 8; o++)
    for (uint32_t s = cell[o] == PLA_HEX_NONE ? 0 : w->cell_sheet[cell[o]];
         cell[o] != PLA_HEX_NONE && s < w->cell_sheet[cell[o] + 1]; s++)
      if (w->sheet_vert[8 * (size_t)s + (7 - o)] == vert)
        patch_add(out, s);
}

static bool
is_near(const PlaHexWork *w, uint32_t cell, uint32_t node)
{
  const uint32_t y = (uint32_t)w->lines_y, a = w->cell_line[cell], b = w->node_line[node];
  const int step[3] = { (int)w->cell_i[cell] - (int)w->node_i[node], (int)(a % y) - (int)(b % y),
                        (int)(a / y) - (int)(b / y) };
  for (int d = 0; d < 3; d++)
    if (step[d] < -REACH || step[d] >= REACH)
      return false;
  return true;
}

/* does @patch, grown along the surface within reach of @node, come to vertex @vert? */
static bool
reaches(const PlaHexWork *w, Patch *patch, uint32_t node, uint32_t vert)
{
  Patch goal;
  sheets_at(w, vert, &goal);
  for (int k = 0; k < patch->n; k++) {
    const uint32_t s = patch->sheet[k], cell = w->sheet_cell[s], mine = s - w->cell_sheet[cell];
    for (int g = 0; g < goal.n; g++)
      if (goal.sheet[g] == s)
        return true;
    for (int d = 0; d < 3; d++) {
      const uint32_t step = d == 0 ? 0 : d == 1 ? 1 : (uint32_t)w->lines_y;
      const uint32_t next =
          pla_hex_cell_at(w, w->cell_line[cell] + step, w->cell_i[cell] + (d == 0));
      const uint32_t last =
          pla_hex_cell_at(w, w->cell_line[cell] - step, w->cell_i[cell] - (d == 0));
      if (next != PLA_HEX_NONE && is_near(w, next, node))
        for (uint32_t l = w->link_start[d][cell]; l < w->link_start[d][cell + 1]; l++)
          if (w->link[d][l].a == mine && !patch_add(patch, w->cell_sheet[next] + w->link[d][l].b))
            return false;
      if (last != PLA_HEX_NONE && is_near(w, last, node))
        for (uint32_t l = w->link_start[d][last]; l < w->link_start[d][last + 1]; l++)
          if (w->link[d][l].b == mine && !patch_add(patch, w->cell_sheet[last] + w->link[d][l].a))
            return false;
    }
  }
  return false;
}

/* -1 or +1 by the triangles of both vertices */
static int
side_of_both(const PlaHexWork *w, uint32_t a, uint32_t b)
{
  const uint32_t node = w->vert_node[a];
  uint32_t tri[MOST_TRIS];
  size_t n = 0;
  for (int k = 0; k < 2; k++) {
    Patch patch;
    sheets_at(w, k ? b : a, &patch);
    for (int s = 0; s < patch.n; s++) {
      const uint32_t cell = w->sheet_cell[patch.sheet[s]];
      for (uint32_t p = w->cell_pair[cell]; p < w->cell_pair[cell + 1] && n < MOST_TRIS; p++)
        if (w->pair_sheet[p] == patch.sheet[s])
          tri[n++] = w->pair[p].tri;
    }
  }
  double pos[3];
  pla_hex_node_pos(w, w->node_line[node], w->node_i[node], pos);
  return pla_hex_side_of_patch(w, pos, tri, n);
}

static bool
ends_before(const PlaHexWork *w, uint32_t vert)
{
  const uint32_t node = w->vert_node[vert];
  for (uint32_t u = w->node_vert[node]; u < w->node_vert[node + 1]; u++) {
    if (w->vert_sign[u] != 1 || w->vert_shell[u] != w->vert_shell[vert])
      continue;
    Patch patch;
    sheets_at(w, vert, &patch);
    if (reaches(w, &patch, node, u) && side_of_both(w, vert, u) > 0)
      return true;
  }
  return false;
}

void
pla_hex_turn_ends(PlaHexWork *w)
{
#pragma omp parallel for schedule(dynamic, 1024)
  for (uint32_t node = 0; node < w->n_nodes; node++) {
    const int winding = w->region_winding[pla_hex_node_region(w, node)];
    int inner = 0;
    for (uint32_t v = w->node_vert[node]; v < w->node_vert[node + 1]; v++)
      inner += w->vert_sign[v] < 0;
    for (uint32_t v = w->node_vert[node]; v < w->node_vert[node + 1] && inner > winding; v++)
      if (winding > 0 && w->vert_sign[v] < 0 && ends_before(w, v)) {
        w->vert_sign[v] = PLA_HEX_TURNED;
        inner--;
      }
  }
}

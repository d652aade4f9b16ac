/* Rims: where the two sides of a slit that are pushed through each other meet.
 *
 * Seen from nearby such a rim is a sharp edge that points outwards, so the sheet vertices that both
 * sides share there come out as outer ones, though the body goes on all around (its winding number
 * is 2 between the sides and 1 elsewhere).  What gives it away: one uncut edge further in, the same
 * sheet has two vertices, one for each side, and one of them is an inner one.  A body that ends in
 * a sharp edge has only outer ones there.  From such a vertex the sheet is followed along uncut
 * edges as long as it does not divide. */
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>

enum { MOST = 8 };

/* vertices of a sheet at the six neighbours of a node, along uncut edges */
typedef struct {
  int n[6]; /* -x, +x, -y, ... */
  uint32_t vert[6][MOST];
} Branches;

static void
add_branch(Branches *b, int dir, uint32_t vert)
{
  for (int k = 0; k < b->n[dir]; k++)
    if (b->vert[dir][k] == vert)
      return;
  if (b->n[dir] < MOST)
    b->vert[dir][b->n[dir]++] = vert;
}

/* is the edge of @cell from corner @q along @d cut? */
static bool
is_cut(const PlaHexWork *w, uint32_t cell, int q, int d)
{
  const int a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
  return w->cell_cut[cell] >> (4 * d + ((q >> a & 1) | (q >> b & 1) << 1)) & 1;
}

static void
find_branches(const PlaHexWork *w, uint32_t vert, Branches *out)
{
  const uint32_t node = w->vert_node[vert];
  uint32_t cell[8];
  *out = (Branches){ 0 };
  pla_hex_cells_around(w, w->node_line[node], w->node_i[node], cell);
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    const int q = 7 - o;
    for (uint32_t s = w->cell_sheet[cell[o]]; s < w->cell_sheet[cell[o] + 1]; s++)
      if (w->sheet_vert[8 * (size_t)s + q] == vert)
        for (int d = 0; d < 3; d++)
          if (!is_cut(w, cell[o], q, d))
            add_branch(out, 2 * d + !(q >> d & 1), w->sheet_vert[8 * (size_t)s + (q ^ 1 << d)]);
  }
}

/* outer by some of its triangles alone, in a region that some part of the body fills */
static bool
may_turn(const PlaHexWork *w, uint32_t vert)
{
  return w->vert_sign[vert] == 1 && w->vert_mixed[vert] &&
         w->region_winding[pla_hex_node_region(w, w->vert_node[vert])] > 0;
}

static bool
on_rim(const PlaHexWork *w, uint32_t vert)
{
  Branches b;
  find_branches(w, vert, &b);
  for (int dir = 0; dir < 6; dir++) {
    bool inner = false, outer = false;
    for (int k = 0; k < b.n[dir]; k++) {
      inner = inner || w->vert_sign[b.vert[dir][k]] < 0;
      outer = outer || w->vert_sign[b.vert[dir][k]] > 0;
    }
    if (inner && outer)
      return true;
  }
  return false;
}

PlaStatus
pla_hex_turn_rims(PlaHexWork *w, PlaError *err)
{
  PlaHexList turned = { .size = sizeof(uint32_t) };
  for (uint32_t v = 0; v < w->n_verts; v++)
    if (may_turn(w, v) && on_rim(w, v))
      *(uint32_t *)pla_hex_list_add(&turned) = v;
  const size_t n = turned.n;
  for (size_t t = 0; t < n && !turned.failed; t++)
    w->vert_sign[((const uint32_t *)turned.data)[t]] = -1;
  /* and those on the far side of the rim */
  for (size_t t = 0; t < n && !turned.failed; t++) {
    Branches b, back;
    find_branches(w, ((const uint32_t *)turned.data)[t], &b);
    for (int dir = 0; dir < 6; dir++) {
      if (b.n[dir] != 1 || !may_turn(w, b.vert[dir][0]))
        continue;
      find_branches(w, b.vert[dir][0], &back);
      if (back.n[dir ^ 1] == 1)
        *(uint32_t *)pla_hex_list_add(&turned) = b.vert[dir][0];
    }
  }
  for (size_t t = n; t < turned.n && !turned.failed; t++)
    w->vert_sign[((const uint32_t *)turned.data)[t]] = -1;
  const bool failed = turned.failed;
  free(turned.data);
  return failed ? pla_fail_memory(err, "the sheets of the surface") : PLA_OK;
}

/* does the sheet have two inner vertices one uncut edge further? */
static bool
forks(const PlaHexWork *w, uint32_t vert)
{
  Branches b;
  find_branches(w, vert, &b);
  for (int dir = 0; dir < 6; dir++) {
    int inner = 0;
    for (int k = 0; k < b.n[dir]; k++)
      inner += w->vert_sign[b.vert[dir][k]] < 0;
    if (inner > 1)
      return true;
  }
  return false;
}

PlaStatus
pla_hex_turn_forks(PlaHexWork *w, uint32_t *turned, PlaError *err)
{
  PlaHexList list = { .size = sizeof(uint32_t) };
  for (uint32_t v = 0; v < w->n_verts; v++)
    if (w->vert_sign[v] < 0 && pla_hex_missing(w, pla_hex_node_region(w, w->vert_node[v])) > 0 &&
        forks(w, v))
      *(uint32_t *)pla_hex_list_add(&list) = v;
  for (size_t t = 0; t < list.n; t++)
    w->vert_sign[((const uint32_t *)list.data)[t]] = PLA_HEX_TURNED;
  *turned = (uint32_t)list.n;
  const bool failed = list.failed;
  free(list.data);
  return failed ? pla_fail_memory(err, "the sheets of the surface") : PLA_OK;
}

/* Regions of the hexahedral embedding: grid nodes connected through edges that the surface does
 * not cut, their winding numbers, and the hexes of one copy of each region.
 *
 * Nodes are kept as runs along x, so memory follows the surface and not the volume.
 *
 * Hexes of a region, after Chen (2024): every node of the region would spawn the 8 cells around it
 * with 27 vertices of its own, and blocks of nodes joined by an uncut edge would be sewn together
 * wherever they coincide.  The same mesh in closed form: its vertices at a grid node n are the
 * connected parts of the region within the 27 nodes around n, uncut edges between those alone
 * counting; a hex takes at each corner the part that its nodes belong to.  Far from the surface
 * that is one vertex a node and one hex a cell, which is never stored. */
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_A_BLOCK = 4096 };

/* ---- runs ---- */

static PlaStatus
find_runs(PlaHexWork *w, PlaError *err)
{
  w->line_run = pla_array_new(w->n_lines + 1, sizeof *w->line_run);
  if (!w->line_run)
    return pla_fail_memory(err, "the regions of the grid");
  size_t n = 0;
  for (size_t l = 0; l < w->n_lines; l++) {
    w->line_run[l] = (uint32_t)n++;
    for (uint32_t c = w->line_cell[l]; c < w->line_cell[l + 1]; c++)
      n += w->cell_cut[c] & 1;
  }
  w->run_from = n <= INT32_MAX ? pla_array_new(n, sizeof *w->run_from) : NULL;
  w->run_region = pla_array_new(n, sizeof *w->run_region);
  if (!w->run_from || !w->run_region)
    return pla_fail_memory(err, "the regions of the grid");
  w->line_run[w->n_lines] = w->n_runs = (uint32_t)n;
#pragma omp parallel for schedule(static)
  for (size_t l = 0; l < w->n_lines; l++) {
    uint32_t r = w->line_run[l];
    w->run_from[r++] = 0;
    for (uint32_t c = w->line_cell[l]; c < w->line_cell[l + 1]; c++)
      if (w->cell_cut[c] & 1)
        w->run_from[r++] = w->cell_i[c] + 1;
  }
  return PLA_OK;
}

/* joins runs of two neighbouring lines that an uncut edge connects; @bit is that edge in cells of
 * the first line */
static void
join_lines(PlaHexWork *w, uint32_t a, uint32_t b, uint16_t bit)
{
  uint32_t *parent = w->run_region;
  uint32_t r = w->line_run[a], s = w->line_run[b], c = w->line_cell[a];
  const uint32_t r_end = w->line_run[a + 1], s_end = w->line_run[b + 1],
                 c_end = w->line_cell[a + 1];
  uint32_t from = 0;
  const uint32_t end = (uint32_t)w->n[0] + 1;
  while (from < end) {
    const uint32_t r_to = r + 1 < r_end ? w->run_from[r + 1] : end;
    const uint32_t s_to = s + 1 < s_end ? w->run_from[s + 1] : end;
    const uint32_t to = r_to < s_to ? r_to : s_to;
    /* the two run side by side from..to - 1 */
    uint32_t cut = 0;
    for (; c < c_end && w->cell_i[c] < to; c++)
      cut += (w->cell_cut[c] & bit) != 0;
    if (cut < to - from)
      pla_union_find_join_u32(parent, r, s);
    r += to == r_to;
    s += to == s_to;
    from = to;
  }
}

static PlaStatus
join_runs(PlaHexWork *w, PlaError *err)
{
  const uint32_t ly = (uint32_t)w->lines_y;
  for (uint32_t r = 0; r < w->n_runs; r++)
    w->run_region[r] = r;
  for (uint32_t l = 0; l < w->n_lines; l++) {
    if (l % ly + 1 < ly)
      join_lines(w, l, l + 1, 1 << 4);
    if (l + ly < w->n_lines)
      join_lines(w, l, l + ly, 1 << 8);
  }
  /* numbers by first run; a root comes before the rest of its region */
  for (uint32_t r = 0; r < w->n_runs; r++)
    w->run_region[r] = w->run_region[r] == r ? w->n_regions++ : w->run_region[w->run_region[r]];
  w->report.regions = (int)w->n_regions;
  return PLA_OK;
}

/* winding number of each region: walks in along x, over the signed crossings */
static PlaStatus
find_windings(PlaHexWork *w, PlaError *err)
{
  w->region_winding = pla_array_new(w->n_regions, sizeof *w->region_winding);
  uint8_t *known = pla_array_new0(w->n_regions, sizeof *known);
  bool same = true;
  if (!w->region_winding || !known) {
    free(known);
    return pla_fail_memory(err, "the regions of the grid");
  }
  for (size_t l = 0; l < w->n_lines; l++) {
    uint32_t r = w->line_run[l];
    int winding = 0;
    for (uint32_t c = w->line_cell[l];; c++) {
      const bool last = c == w->line_cell[l + 1];
      if (last || (w->cell_cut[c] & 1)) {
        const uint32_t region = w->run_region[r++];
        same = same && (!known[region] || w->region_winding[region] == winding);
        w->region_winding[region] = winding;
        known[region] = 1;
      }
      if (last)
        break;
      for (uint32_t p = w->cell_pair[c]; p < w->cell_pair[c + 1]; p++)
        if (w->pair[p].cut & PLA_HEX_STEP)
          winding += w->pair[p].cut & PLA_HEX_EXIT ? -1 : 1;
    }
    same = same && winding == 0;
  }
  free(known);
  /* both are theorems for a closed surface and exact crossings */
  return same ? PLA_OK
              : pla_fail(err, PLA_ERR_GEOMETRY,
                         "The winding number of the surface is not the same all over a region; its "
                         "coordinates are too large or too small to compute with");
}

/* corners of crossed cells */
static PlaStatus
find_nodes(PlaHexWork *w, PlaError *err)
{
  const uint32_t ly = (uint32_t)w->lines_y;
  bool failed = false;
  w->line_node = pla_array_new0(w->n_lines + 1, sizeof *w->line_node);
  if (!w->line_node)
    return pla_fail_memory(err, "the nodes of the grid");
  /* the first round counts, the second fills */
  for (int round = 0; round < 2 && !failed; round++) {
#pragma omp parallel
    {
      uint32_t *list = pla_array_new(2 * (size_t)w->n[0] + 4, sizeof *list);
      if (!list) {
#pragma omp atomic write
        failed = true;
      }
#pragma omp for schedule(dynamic, 256)
      for (size_t l = 0; l < w->n_lines; l++) {
        /* a merge of up to four lines of cells */
        uint32_t at[4], end[4], n = 0;
        int lines = 0;
        for (int k = 0; k < 4; k++) {
          const size_t back = (size_t)(k & 1) + (size_t)(k >> 1) * ly;
          if (back > l || w->line_cell[l - back] == w->line_cell[l - back + 1])
            continue;
          at[lines] = w->line_cell[l - back];
          end[lines++] = w->line_cell[l - back + 1];
        }
        if (lines == 0 || !list)
          continue;
        for (;;) {
          uint32_t next = PLA_HEX_NONE;
          for (int k = 0; k < lines; k++)
            if (at[k] < end[k] && w->cell_i[at[k]] < next)
              next = w->cell_i[at[k]];
          if (next == PLA_HEX_NONE)
            break;
          for (int k = 0; k < lines; k++)
            at[k] += at[k] < end[k] && w->cell_i[at[k]] == next;
          if (n == 0 || list[n - 1] < next)
            list[n++] = next;
          list[n++] = next + 1;
        }
        if (round == 0) {
          w->line_node[l + 1] = n;
          continue;
        }
        for (uint32_t k = 0; k < n; k++) {
          const uint32_t node = w->line_node[l] + k;
          w->node_i[node] = list[k];
          w->node_line[node] = (uint32_t)l;
          w->node_run[node] = pla_hex_run_at(w, (uint32_t)l, list[k]);
        }
      }
      free(list);
    }
    if (round == 0 && !failed) {
      size_t total = 0;
      for (size_t l = 0; l < w->n_lines; l++)
        w->line_node[l + 1] = (uint32_t)(total += w->line_node[l + 1]);
      w->n_nodes = (uint32_t)total;
      w->node_i = pla_array_new(total, sizeof *w->node_i);
      w->node_line = pla_array_new(total, sizeof *w->node_line);
      w->node_run = pla_array_new(total, sizeof *w->node_run);
      failed = total > INT32_MAX || !w->node_i || !w->node_line || !w->node_run;
    }
  }
  return failed ? pla_fail_memory(err, "the nodes of the grid") : PLA_OK;
}

PlaStatus
pla_hex_find_regions(PlaHexWork *w, PlaError *err)
{
  PlaStatus st = find_runs(w, err);
  if (st == PLA_OK)
    st = join_runs(w, err);
  if (st == PLA_OK)
    st = find_windings(w, err);
  if (st == PLA_OK)
    st = find_nodes(w, err);
  return st;
}

/* ---- pieces ---- */

/* bits of edge starts in the 3 x 3 x 3 block for the four edges of its first cell along each axis
 */
static const uint8_t spread[3][4] = { { 0, 3, 9, 12 }, { 0, 1, 9, 10 }, { 0, 1, 3, 4 } };

/* the part of @nodes that uncut edges connect with @part; @uncut holds edge starts along x, y, z
 * and @step how many bits further they end */
static inline uint32_t
flood(uint32_t part, const uint32_t uncut[3], const int step[3])
{
  for (;;) {
    uint32_t next = part;
    for (int d = 0; d < 3; d++)
      next |= (next & uncut[d]) << step[d] | (next >> step[d] & uncut[d]);
    if (next == part)
      return part;
    part = next;
  }
}

int
pla_hex_cell_parts(uint16_t cut, uint8_t part[8])
{
  static const int step[3] = { 1, 2, 4 };
  static const uint8_t at[3][4] = { { 0, 2, 4, 6 }, { 0, 1, 4, 5 }, { 0, 1, 2, 3 } };
  uint32_t uncut[3] = { 0, 0, 0 }, left = 0xff;
  int n = 0;
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 4; e++)
      if (!(cut >> (4 * d + e) & 1))
        uncut[d] |= 1u << at[d][e];
  while (left) {
    part[n] = (uint8_t)flood(left & -left, uncut, step);
    left &= ~(uint32_t)part[n++];
  }
  return n;
}

static PlaStatus
number_pieces(PlaHexWork *w, PlaError *err)
{
  w->cell_piece = pla_array_new0((size_t)w->n_cells + 1, sizeof *w->cell_piece);
  if (!w->cell_piece)
    return pla_fail_memory(err, "the pieces of regions");
  for (int round = 0; round < 2; round++) {
#pragma omp parallel for schedule(static)
    for (uint32_t c = 0; c < w->n_cells; c++) {
      uint8_t part[8];
      const int parts = pla_hex_cell_parts(w->cell_cut[c], part);
      uint32_t n = 0;
      for (int p = 0; p < parts; p++) {
        const uint32_t node = w->cell_node[8 * (size_t)c + __builtin_ctz(part[p])];
        const uint32_t region = pla_hex_node_region(w, node);
        if (w->region_winding[region] <= 0)
          continue;
        if (round == 1) {
          const uint32_t piece = w->cell_piece[c] + n;
          w->piece_cell[piece] = c;
          w->piece_region[piece] = region;
          /* its corners, for the while */
          w->piece_ref[8 * (size_t)piece] = part[p];
        }
        n++;
      }
      if (round == 0)
        w->cell_piece[c + 1] = n;
    }
    if (round == 0) {
      for (uint32_t c = 0; c < w->n_cells; c++)
        w->cell_piece[c + 1] += w->cell_piece[c];
      w->n_pieces = w->cell_piece[w->n_cells];
      w->piece_cell = pla_array_new(w->n_pieces, sizeof *w->piece_cell);
      w->piece_region = pla_array_new(w->n_pieces, sizeof *w->piece_region);
      w->piece_ref = pla_array_new(8 * (size_t)w->n_pieces, sizeof *w->piece_ref);
      if (!w->piece_cell || !w->piece_region || !w->piece_ref)
        return pla_fail_memory(err, "the pieces of regions");
    }
  }
  return PLA_OK;
}

typedef struct {
  uint32_t node, region;
} Spare;

/* what each piece around a node takes there: the node's own vertex, or a spare one */
static void
refs_at_node(PlaHexWork *w, const uint8_t *corners, uint32_t node, PlaHexList *out)
{
  static const int step[3] = { 1, 3, 9 };
  static const uint32_t inside[3] = { 0x36db6db, 0x0fc7e3f, 0x003ffff };
  const uint32_t line = w->node_line[node], i = w->node_i[node];
  uint32_t cell[8], cut[3] = { 0, 0, 0 }, uncut[3];
  bool any = false;
  pla_hex_cells_around(w, line, i, cell);
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    const int base = (o & 1) + 3 * (o >> 1 & 1) + 9 * (o >> 2);
    const uint16_t mask = w->cell_cut[cell[o]];
    any = any || w->cell_piece[cell[o] + 1] > w->cell_piece[cell[o]];
    for (int d = 0; d < 3; d++)
      for (int e = 0; e < 4; e++)
        cut[d] |= (uint32_t)(mask >> (4 * d + e) & 1) << (base + spread[d][e]);
  }
  if (!any)
    return;
  for (int d = 0; d < 3; d++)
    uncut[d] = inside[d] & ~cut[d];
  const uint32_t own = flood(1u << 13, uncut, step);
  /* spare vertices for the parts without the node itself, by their lowest bit */
  uint32_t part[27], id[27];
  int parts = 0;
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    const int base = (o & 1) + 3 * (o >> 1 & 1) + 9 * (o >> 2);
    for (uint32_t p = w->cell_piece[cell[o]]; p < w->cell_piece[cell[o] + 1]; p++) {
      const int q = __builtin_ctz(corners[p]);
      const uint32_t bit = 1u << (base + (q & 1) + 3 * (q >> 1 & 1) + 9 * (q >> 2));
      uint32_t *ref = &w->piece_ref[8 * (size_t)p + (7 - o)];
      *ref = PLA_HEX_NONE;
      if (own & bit)
        continue;
      int k = 0;
      while (k < parts && !(part[k] & bit))
        k++;
      if (k == parts) {
        part[k] = flood(bit, uncut, step);
        id[k] = (uint32_t)out->n;
        *(Spare *)pla_hex_list_add(out) = (Spare){ node, w->piece_region[p] };
        parts++;
      }
      *ref = id[k];
    }
  }
}

/* pieces of one region in a cell that have the same eight vertices are one hex */
static void
merge_pieces(PlaHexWork *w)
{
#pragma omp parallel for schedule(static)
  for (uint32_t c = 0; c < w->n_cells; c++)
    for (uint32_t p = w->cell_piece[c]; p < w->cell_piece[c + 1]; p++)
      for (uint32_t r = w->cell_piece[c]; r < p; r++)
        if (w->piece_region[r] == w->piece_region[p] &&
            memcmp(w->piece_ref + 8 * (size_t)r, w->piece_ref + 8 * (size_t)p,
                   8 * sizeof *w->piece_ref) == 0) {
          w->piece_region[p] = PLA_HEX_NONE;
          break;
        }
}

PlaStatus
pla_hex_find_pieces(PlaHexWork *w, PlaError *err)
{
  PlaStatus st = number_pieces(w, err);
  if (st != PLA_OK)
    return st;
  const uint32_t n_blocks = (w->n_nodes + NODES_A_BLOCK - 1) / NODES_A_BLOCK;
  uint8_t *corners = pla_array_new(w->n_pieces, sizeof *corners);
  PlaHexList *lists = pla_array_new0(n_blocks, sizeof *lists);
  uint32_t *base = pla_array_new0((size_t)n_blocks + 1, sizeof *base);
  Spare *spare = NULL;
  size_t n_spares = 0;
  if (corners && lists && base) {
#pragma omp parallel for schedule(static)
    for (uint32_t p = 0; p < w->n_pieces; p++)
      corners[p] = (uint8_t)w->piece_ref[8 * (size_t)p];
#pragma omp parallel for schedule(dynamic)
    for (uint32_t b = 0; b < n_blocks; b++) {
      lists[b].size = sizeof(Spare);
      for (uint32_t n = b * NODES_A_BLOCK; n < w->n_nodes && n < (b + 1) * NODES_A_BLOCK; n++)
        refs_at_node(w, corners, n, &lists[b]);
    }
    for (uint32_t b = 0; b < n_blocks; b++)
      base[b + 1] = base[b] + (uint32_t)lists[b].n;
    spare = pla_hex_lists_join(lists, n_blocks, &n_spares);
  }
  w->n_spares = (uint32_t)n_spares;
  w->spare_node = pla_array_new(n_spares, sizeof *w->spare_node);
  w->spare_region = pla_array_new(n_spares, sizeof *w->spare_region);
  if (!spare || !w->spare_node || !w->spare_region) {
    st = pla_fail_memory(err, "the pieces of regions");
  } else {
    for (size_t s = 0; s < n_spares; s++) {
      w->spare_node[s] = spare[s].node;
      w->spare_region[s] = spare[s].region;
    }
#pragma omp parallel for schedule(static)
    for (uint32_t p = 0; p < w->n_pieces; p++)
      for (int q = 0; q < 8; q++) {
        uint32_t *ref = &w->piece_ref[8 * (size_t)p + q];
        if (*ref != PLA_HEX_NONE)
          *ref += base[w->cell_node[8 * (size_t)w->piece_cell[p] + q] / NODES_A_BLOCK];
      }
    merge_pieces(w);
  }
  free(corners);
  free(lists);
  free(base);
  free(spare);
  return st;
}

/* ---- parts thinner than a cell ---- */

/* winding number of one component of the surface at node @n */
static int
shell_winding(const PlaHexWork *w, uint32_t n, int shell)
{
  const uint32_t line = w->node_line[n];
  int winding = 0;
  for (uint32_t c = w->line_cell[line]; c < w->line_cell[line + 1] && w->cell_i[c] < w->node_i[n];
       c++)
    if (w->cell_cut[c] & 1)
      for (uint32_t p = w->cell_pair[c]; p < w->cell_pair[c + 1]; p++)
        if ((w->pair[p].cut & PLA_HEX_STEP) && w->shell[w->pair[p].tri] == shell)
          winding += w->pair[p].cut & PLA_HEX_EXIT ? -1 : 1;
  return winding;
}

/* Nodes behind a sheet that are outside all the same, as another sheet of the body lies between:
 * those vertices are outer ones. */
static void
turn_outer(PlaHexWork *w)
{
#pragma omp parallel for schedule(dynamic, 1024)
  for (uint32_t v = 0; v < w->n_verts; v++) {
    if (w->vert_sign[v] >= 0)
      continue;
    const uint32_t n = w->vert_node[v];
    const int shell = (int)w->vert_shell[v];
    bool outside = w->region_winding[pla_hex_node_region(w, n)] <= 0;
    if (!outside && w->n_shells > 1)
      outside = shell_winding(w, n, shell) < (w->shell_outward[shell] > 0 ? 1 : 0);
    if (outside)
      w->vert_sign[v] = PLA_HEX_TURNED;
  }
}

void
pla_hex_find_thin(PlaHexWork *w, uint32_t *first)
{
  uint32_t last = PLA_HEX_NONE;
  turn_outer(w);
  *first = PLA_HEX_NONE;
  for (uint32_t s = 0; s < w->n_sheets; s++) {
    bool turned = false, inner = false;
    for (int q = 0; q < 8; q++) {
      const int8_t sign = w->vert_sign[w->sheet_vert[8 * (size_t)s + q]];
      turned = turned || sign == PLA_HEX_TURNED;
      inner = inner || sign < 0;
    }
    if (!turned || inner || last == w->sheet_cell[s])
      continue;
    last = w->sheet_cell[s];
    if (w->report.thin_cells++ == 0)
      *first = last;
  }
}

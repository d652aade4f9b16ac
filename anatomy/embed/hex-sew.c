/* Copies of regions, and how they hang together: the sewing stage of the hexahedral embedding.
 *
 * A region that several parts of the body share has a copy for each.  The inner sheet vertices in
 * a region say which: vertices of one sheet hex are of one copy.  Inside the node of its copy, a
 * sheet vertex is the node's own vertex; in cells where a sheet's hex and a piece of the same copy
 * both reach such a vertex, the sheet's hex stands for both.
 *
 * Two copies of neighbouring regions belong to the same part where they share a sheet's hex.  From
 * there the cells that both have are walked in pairs, neighbour by neighbour, and each pair will be
 * one hex.  When this walk brings two copies of one region to the same sheet's hex, they are one.
 *
 * A body wholly inside another has no sheet that tells of the outer one's copy.  There the winding
 * number shows that a copy is missing, and it is sewn to those copies around that end nowhere near
 * (Chen 2024 with this repair). */
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>
#include <string.h>

static uint32_t *
singletons(size_t n)
{
  uint32_t *parent = pla_array_new(n, sizeof *parent);
  for (size_t i = 0; parent && i < n; i++)
    parent[i] = (uint32_t)i;
  return parent;
}

/* ---- which copies there are ---- */

static PlaStatus
assign_copies(PlaHexWork *w, PlaError *err)
{
  enum { HAS_INNER = 1, SHARED = 2 };
  uint8_t *flags = pla_array_new0(w->n_regions, sizeof *flags);
  uint32_t *parent = singletons(w->n_verts);
  w->region_copy = pla_array_new0((size_t)w->n_regions + 1, sizeof *w->region_copy);
  w->vert_copy = pla_array_new(w->n_verts, sizeof *w->vert_copy);
  PlaStatus st = flags && parent && w->region_copy && w->vert_copy
                     ? PLA_OK
                     : pla_fail_memory(err, "the copies of regions");
  if (st == PLA_OK) {
    for (uint32_t n = 0; n < w->n_nodes; n++) {
      const uint32_t region = pla_hex_node_region(w, n);
      int inner = 0;
      for (uint32_t v = w->node_vert[n]; v < w->node_vert[n + 1]; v++)
        inner += w->vert_sign[v] < 0;
      /* what lies outside has no copy, whatever a sheet nearby makes of it */
      if (inner > 0 && w->region_winding[region] > 0)
        flags[region] |= HAS_INNER | (inner > 1 && w->region_winding[region] > 1 ? SHARED : 0);
    }
    /* in shared regions, inner vertices of one hex that uncut edges of the cell connect go
     * together; without such edges the region may reach them by different copies */
    for (uint32_t s = 0; s < w->n_sheets; s++) {
      uint8_t part[8];
      int parts = 0;
      for (int q = 0; q < 8; q++) {
        const uint32_t v = w->sheet_vert[8 * (size_t)s + q];
        if (w->vert_sign[v] >= 0 || !(flags[pla_hex_node_region(w, w->vert_node[v])] & SHARED))
          continue;
        if (parts == 0)
          parts = pla_hex_cell_parts(w->cell_cut[w->sheet_cell[s]], part);
        int k = 0;
        while (!(part[k] >> q & 1))
          k++;
        for (int p = 0; p < q; p++) {
          const uint32_t u = w->sheet_vert[8 * (size_t)s + p];
          if ((part[k] >> p & 1) && w->vert_sign[u] < 0) {
            pla_union_find_join_u32(parent, u, v);
            break;
          }
        }
      }
    }
    /* numbers within regions, then overall */
    for (uint32_t v = 0; v < w->n_verts; v++) {
      const uint32_t region = pla_hex_node_region(w, w->vert_node[v]);
      w->vert_copy[v] = PLA_HEX_NONE;
      if (w->vert_sign[v] >= 0 || !(flags[region] & HAS_INNER))
        continue;
      if (!(flags[region] & SHARED)) {
        w->vert_copy[v] = 0;
        w->region_copy[region + 1] = 1;
      } else {
        const uint32_t root = pla_union_find_root_u32(parent, v);
        w->vert_copy[v] = root == v ? w->region_copy[region + 1]++ : w->vert_copy[root];
      }
    }
    for (uint32_t r = 0; r < w->n_regions; r++)
      w->region_copy[r + 1] += w->region_copy[r];
    w->n_copies = w->region_copy[w->n_regions];
    for (uint32_t v = 0; v < w->n_verts; v++)
      if (w->vert_copy[v] != PLA_HEX_NONE)
        w->vert_copy[v] += w->region_copy[pla_hex_node_region(w, w->vert_node[v])];
  }
  free(flags);
  free(parent);
  return st;
}

static inline uint32_t
copies_of(const PlaHexWork *w, uint32_t region)
{
  return w->region_copy[region + 1] - w->region_copy[region];
}

/* does the piece reach a node with an inner sheet vertex of @copy? */
static bool
piece_touches(const PlaHexWork *w, uint32_t piece, uint32_t copy)
{
  for (int q = 0; q < 8; q++) {
    if (w->piece_ref[8 * (size_t)piece + q] != PLA_HEX_NONE)
      continue;
    const uint32_t node = w->cell_node[8 * (size_t)w->piece_cell[piece] + q];
    for (uint32_t v = w->node_vert[node]; v < w->node_vert[node + 1]; v++)
      if (w->vert_copy[v] == copy)
        return true;
  }
  return false;
}

/* numbers the vertices of all copies, and finds the pieces that sheets replace */
static PlaStatus
lay_out(PlaHexWork *w, PlaError *err)
{
  if (!w->run_base) {
    w->run_base = pla_array_new(w->n_runs, sizeof *w->run_base);
    w->node_base = pla_array_new(w->n_nodes, sizeof *w->node_base);
    w->node_stride = pla_array_new(w->n_nodes, sizeof *w->node_stride);
    w->spare_base = pla_array_new(w->n_spares, sizeof *w->spare_base);
    w->vert_id = pla_array_new(w->n_verts, sizeof *w->vert_id);
    w->piece_inst = pla_array_new((size_t)w->n_pieces + 1, sizeof *w->piece_inst);
  }
  free(w->inst_gone);
  w->inst_gone = NULL;
  if (!w->run_base || !w->node_base || !w->node_stride || !w->spare_base || !w->vert_id ||
      !w->piece_inst)
    return pla_fail_memory(err, "the copies of regions");
  uint64_t n = 0, instances = 0;
  for (uint32_t l = 0; l < w->n_lines; l++)
    for (uint32_t r = w->line_run[l]; r < w->line_run[l + 1]; r++) {
      w->run_base[r] = (uint32_t)n;
      n += (uint64_t)copies_of(w, w->run_region[r]) * pla_hex_run_length(w, l, r);
    }
  for (uint32_t s = 0; s < w->n_spares; s++) {
    w->spare_base[s] = (uint32_t)n;
    n += copies_of(w, w->spare_region[s]);
  }
  w->vert_base = (uint32_t)n;
  n += w->n_verts;
  for (uint32_t p = 0; p < w->n_pieces; p++) {
    w->piece_inst[p] = (uint32_t)instances;
    instances += w->piece_region[p] == PLA_HEX_NONE ? 0 : copies_of(w, w->piece_region[p]);
  }
  w->piece_inst[w->n_pieces] = (uint32_t)instances;
  if (n > INT32_MAX || instances > INT32_MAX)
    return pla_fail(err, PLA_ERR_MEMORY,
                    "The mesh would have more vertices than Platysma can number; choose a larger "
                    "cell");
  w->n_pool = (uint32_t)n;
  w->inst_gone = pla_array_new(instances, sizeof *w->inst_gone);
  if (!w->inst_gone)
    return pla_fail_memory(err, "the copies of regions");
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (uint32_t k = 0; k < w->n_nodes; k++) {
      const uint32_t r = w->node_run[k];
      w->node_base[k] = w->run_base[r] + w->node_i[k] - w->run_from[r];
      w->node_stride[k] = pla_hex_run_length(w, w->node_line[k], r);
    }
#pragma omp for schedule(static)
    for (uint32_t v = 0; v < w->n_verts; v++)
      w->vert_id[v] =
          w->vert_copy[v] == PLA_HEX_NONE
              ? w->vert_base + v
              : pla_hex_node_id(w, w->vert_node[v],
                                w->vert_copy[v] -
                                    w->region_copy[pla_hex_node_region(w, w->vert_node[v])]);
#pragma omp for schedule(static)
    for (uint32_t p = 0; p < w->n_pieces; p++) {
      const uint32_t first = w->piece_inst[p], cell = w->piece_cell[p];
      for (uint32_t k = first; k < w->piece_inst[p + 1]; k++) {
        const uint32_t copy = w->region_copy[w->piece_region[p]] + (k - first);
        bool sheet = false;
        for (uint32_t s = w->cell_sheet[cell]; s < w->cell_sheet[cell + 1] && !sheet; s++)
          sheet = pla_hex_sheet_touches(w, s, copy);
        w->inst_gone[k] = sheet && piece_touches(w, p, copy);
      }
    }
  }
  return PLA_OK;
}

/* ---- overlaps ---- */

typedef struct {
  uint32_t copy[2], hex[2];
} Seed;

/* four numbers, the first one first */
static int
compare_fours(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;
  for (int k = 0; k < 4; k++)
    if (x[k] != y[k])
      return x[k] < y[k] ? -1 : 1;
  return 0;
}

/* corners that a cell shares with each of its 26 neighbours, 27 for the middle */
typedef struct {
  int8_t step[3];
  uint8_t n, mine[4], theirs[4];
} Neighbour;

static void
fill_neighbours(Neighbour to[27])
{
  for (int k = 0; k < 27; k++) {
    const int step[3] = { k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 };
    to[k].n = 0;
    for (int d = 0; d < 3; d++)
      to[k].step[d] = (int8_t)step[d];
    for (int q = 0; q < 8 && k != 13; q++) {
      int other = 0;
      bool shared = true;
      for (int d = 0; d < 3; d++) {
        const int bit = q >> d & 1;
        shared = shared && (step[d] == 0 || bit == (step[d] > 0));
        other |= (step[d] == 0 ? bit : !bit) << d;
      }
      if (shared) {
        to[k].mine[to[k].n] = (uint8_t)q;
        to[k].theirs[to[k].n++] = (uint8_t)other;
      }
    }
  }
}

typedef struct {
  uint32_t cell;
  const Neighbour *by;
} Next;

/* the crossed cells around @cell */
static int
next_cells(const PlaHexWork *w, const Neighbour neighbour[27], uint32_t cell, Next next[26])
{
  const uint32_t line = w->cell_line[cell], i = w->cell_i[cell];
  int n = 0;
  for (int r = 0; r < 9; r++) {
    const Neighbour *row = &neighbour[3 * r];
    const uint32_t at =
        (uint32_t)((int64_t)line + row->step[1] + (int64_t)row->step[2] * w->lines_y);
    uint32_t lo = w->line_cell[at], hi = w->line_cell[at + 1];
    const uint32_t end = hi;
    while (lo < hi) {
      const uint32_t mid = lo + (hi - lo) / 2;
      if (w->cell_i[mid] + 1 < i)
        lo = mid + 1;
      else
        hi = mid;
    }
    for (; lo < end && w->cell_i[lo] <= i + 1; lo++)
      if (row[w->cell_i[lo] + 1 - i].n > 0)
        next[n++] = (Next){ lo, &row[w->cell_i[lo] + 1 - i] };
  }
  return n;
}

typedef struct {
  const PlaHexWork *w;
  Neighbour neighbour[27];
  uint32_t stamp;
  uint32_t *piece_stamp;    /* per piece's copy */
  uint32_t *sheet_stamp[2]; /* per sheet and side of the pair */
} Walk;

static PlaStatus
walk_init(Walk *walk, const PlaHexWork *w, PlaError *err)
{
  walk->w = w;
  fill_neighbours(walk->neighbour);
  walk->stamp = 0;
  walk->piece_stamp = pla_array_new0(w->piece_inst[w->n_pieces], sizeof *walk->piece_stamp);
  for (int k = 0; k < 2; k++)
    walk->sheet_stamp[k] = pla_array_new0(w->n_sheets, sizeof *walk->sheet_stamp[k]);
  return walk->piece_stamp && walk->sheet_stamp[0] && walk->sheet_stamp[1]
             ? PLA_OK
             : pla_fail_memory(err, "the overlaps of regions");
}

static void
walk_clear(Walk *walk)
{
  free(walk->piece_stamp);
  free(walk->sheet_stamp[0]);
  free(walk->sheet_stamp[1]);
}

/* one side of a pair of copies */
typedef struct {
  uint32_t copy, region, c;
} Side;

static uint32_t *
stamp_of(const Walk *walk, const Side *side, int k, uint32_t hex)
{
  return hex & PLA_HEX_SHEET ? &walk->sheet_stamp[k][hex & ~PLA_HEX_SHEET]
                             : &walk->piece_stamp[walk->w->piece_inst[hex] + side->c];
}

static inline uint32_t
corner_id(const PlaHexWork *w, const Side *side, uint32_t hex, int q)
{
  return hex & PLA_HEX_SHEET ? pla_hex_sheet_id(w, hex & ~PLA_HEX_SHEET, q)
                             : pla_hex_piece_id(w, hex, q, side->c);
}

enum { MAX_FOUND = 16 };

/* hexes of a copy in one cell */
typedef struct {
  int n;
  uint32_t hex[MAX_FOUND];
  uint8_t shared[MAX_FOUND]; /* corners that it shares with the hex we come from */
  bool along[MAX_FOUND];     /* both are of one sheet of the surface */
  bool paired[MAX_FOUND];
} Found;

static void
add_found(const Walk *walk, const Side *side, int k, const Neighbour *n, uint32_t from,
          const uint32_t ids[8], uint32_t hex, Found *found)
{
  const PlaHexWork *w = walk->w;
  const uint32_t a = from & ~PLA_HEX_SHEET, b = hex & ~PLA_HEX_SHEET;
  uint8_t shared = 0;
  bool along = false;
  for (int e = 0; e < n->n; e++) {
    shared |= (uint8_t)((corner_id(w, side, hex, n->theirs[e]) == ids[n->mine[e]]) << e);
    along =
        along || ((from & hex & PLA_HEX_SHEET) && w->sheet_vert[8 * (size_t)a + n->mine[e]] ==
                                                      w->sheet_vert[8 * (size_t)b + n->theirs[e]]);
  }
  if (!shared || found->n == MAX_FOUND)
    return;
  found->hex[found->n] = hex;
  found->along[found->n] = along;
  found->shared[found->n] = shared;
  found->paired[found->n++] = *stamp_of(walk, side, k, hex) == walk->stamp;
}

/* hexes of a copy in @cell that share corners with @ids */
static void
find_neighbours(const Walk *walk, const Side *side, int k, uint32_t cell, const Neighbour *n,
                uint32_t from, const uint32_t ids[8], Found *found)
{
  const PlaHexWork *w = walk->w;
  found->n = 0;
  for (uint32_t p = w->cell_piece[cell]; p < w->cell_piece[cell + 1]; p++)
    if (w->piece_region[p] == side->region && !w->inst_gone[w->piece_inst[p] + side->c])
      add_found(walk, side, k, n, from, ids, p, found);
  for (uint32_t s = w->cell_sheet[cell]; s < w->cell_sheet[cell + 1]; s++)
    if (pla_hex_sheet_touches(w, s, side->copy))
      add_found(walk, side, k, n, from, ids, s | PLA_HEX_SHEET, found);
}

/* corners where a hex has an inner vertex of the body, and where the body ends before the corner */
static void
sides_of_hex(const PlaHexWork *w, uint32_t hex, uint8_t *inside, uint8_t *outside)
{
  *inside = *outside = 0;
  for (int q = 0; q < 8; q++)
    if (hex & PLA_HEX_SHEET) {
      const int8_t sign = w->vert_sign[w->sheet_vert[8 * (size_t)(hex & ~PLA_HEX_SHEET) + q]];
      *inside |= (uint8_t)((sign < 0) << q);
      *outside |= (uint8_t)((sign > 0) << q);
    } else {
      *inside |= (uint8_t)((w->piece_ref[8 * (size_t)hex + q] == PLA_HEX_NONE) << q);
    }
}

/* can the two be one hex? */
static bool
agree(const PlaHexWork *w, uint32_t a, uint32_t b)
{
  uint8_t inside[2], outside[2];
  sides_of_hex(w, a, &inside[0], &outside[0]);
  sides_of_hex(w, b, &inside[1], &outside[1]);
  return !(inside[0] & outside[1]) && !(inside[1] & outside[0]);
}

/* Pairs hexes of both copies in a cell: first those without a partner yet, best by the corners that
 * both share with where we come from, at last without any when there is no choice (but not where a
 * sheet goes on alone, round the rim of a slit for instance); then, as a cell may hold several
 * parts of one region that are one in the other, those left with one that has a partner. */
static void
pair_found(Walk *walk, const Side side[2], Found found[2], PlaHexList *out)
{
  int left[2] = { 0, 0 };
  for (int k = 0; k < 2; k++)
    for (int a = 0; a < found[k].n; a++)
      left[k] += !found[k].paired[a];
  while (left[0] + left[1] > 0) {
    int pick[2] = { -1, -1 };
    for (int round = 0; round < 2 && pick[0] < 0; round++) {
      const bool no_choice = round == 0 ? left[0] == 1 && left[1] == 1
                                        : (left[0] == 1 && left[1] == 0 && found[1].n == 1) ||
                                              (left[0] == 0 && left[1] == 1 && found[0].n == 1);
      int best = no_choice ? -1 : 0;
      for (int a = 0; a < found[0].n; a++)
        for (int b = 0; b < found[1].n; b++) {
          const int common = __builtin_popcount(found[0].shared[a] & found[1].shared[b]);
          const int paired = found[0].paired[a] + found[1].paired[b];
          if (paired == round && common > best &&
              (common > 0 || (!found[0].along[a] && !found[1].along[b])) &&
              agree(walk->w, found[0].hex[a], found[1].hex[b])) {
            best = common;
            pick[0] = a;
            pick[1] = b;
          }
        }
    }
    if (pick[0] < 0)
      return;
    PlaHexOverlap *next = pla_hex_list_add(out);
    for (int k = 0; k < 2; k++) {
      next->copy[k] = side[k].copy;
      next->hex[k] = found[k].hex[pick[k]];
      *stamp_of(walk, &side[k], k, next->hex[k]) = walk->stamp;
      left[k] -= !found[k].paired[pick[k]];
      found[k].paired[pick[k]] = true;
    }
  }
}

/* all pairs of hexes of two copies that can be reached from the seeds already in @out[from..] */
static void
walk_pair(Walk *walk, const uint32_t copy[2], const uint32_t region[2], size_t from,
          PlaHexList *out)
{
  const PlaHexWork *w = walk->w;
  Side side[2];
  for (int k = 0; k < 2; k++)
    side[k] = (Side){ copy[k], region[k], copy[k] - w->region_copy[region[k]] };
  walk->stamp++;
  for (size_t o = from; o < out->n; o++)
    for (int k = 0; k < 2; k++)
      *stamp_of(walk, &side[k], k, ((PlaHexOverlap *)out->data)[o].hex[k]) = walk->stamp;
  for (size_t o = from; o < out->n; o++) {
    const PlaHexOverlap here = ((PlaHexOverlap *)out->data)[o];
    uint32_t ids[2][8];
    for (int k = 0; k < 2; k++)
      for (int q = 0; q < 8; q++)
        ids[k][q] = corner_id(w, &side[k], here.hex[k], q);
    const uint32_t cell = here.hex[0] & PLA_HEX_SHEET ? w->sheet_cell[here.hex[0] & ~PLA_HEX_SHEET]
                                                      : w->piece_cell[here.hex[0]];
    Next next[26];
    const int n_next = next_cells(w, walk->neighbour, cell, next);
    for (int k = 0; k < n_next; k++) {
      Found found[2];
      find_neighbours(walk, &side[0], 0, next[k].cell, next[k].by, here.hex[0], ids[0], &found[0]);
      if (found[0].n == 0)
        continue;
      find_neighbours(walk, &side[1], 1, next[k].cell, next[k].by, here.hex[1], ids[1], &found[1]);
      pair_found(walk, side, found, out);
      if (out->failed)
        return;
    }
  }
}

static uint32_t *
regions_of_copies(const PlaHexWork *w)
{
  uint32_t *region = pla_array_new(w->n_copies, sizeof *region);
  for (uint32_t r = 0; region && r < w->n_regions; r++)
    for (uint32_t c = w->region_copy[r]; c < w->region_copy[r + 1]; c++)
      region[c] = r;
  return region;
}

/* walks from sorted @seeds, pair by pair of copies */
static PlaStatus
walk_seeds(PlaHexWork *w, const Seed *seed, size_t n_seeds, PlaProgress *progress, PlaError *err)
{
  Walk walk = { 0 };
  uint32_t *region = regions_of_copies(w);
  PlaStatus st =
      region ? walk_init(&walk, w, err) : pla_fail_memory(err, "the overlaps of regions");
  for (size_t s = 0; s < n_seeds && st == PLA_OK;) {
    const size_t from = w->overlaps.n, first = s;
    for (; s < n_seeds && memcmp(seed[s].copy, seed[first].copy, sizeof seed->copy) == 0; s++)
      if (s == first || memcmp(&seed[s], &seed[s - 1], sizeof *seed) != 0)
        *(PlaHexOverlap *)pla_hex_list_add(&w->overlaps) =
            (PlaHexOverlap){ { seed[s].copy[0], seed[s].copy[1] },
                             { seed[s].hex[0], seed[s].hex[1] } };
    const uint32_t *copy = seed[first].copy;
    walk_pair(&walk, copy, (uint32_t[2]){ region[copy[0]], region[copy[1]] }, from, &w->overlaps);
    if (w->overlaps.failed)
      st = pla_fail_memory(err, "the overlaps of regions");
    else if (pla_progress_cancelled(progress))
      st = pla_fail_cancelled(err);
  }
  walk_clear(&walk);
  free(region);
  return st;
}

/* sheets that touch copies of two regions are in both */
static PlaStatus
find_overlaps(PlaHexWork *w, PlaProgress *progress, PlaError *err)
{
  PlaHexList seeds = { .size = sizeof(Seed) };
  w->overlaps.n = 0;
  for (uint32_t s = 0; s < w->n_sheets; s++) {
    uint32_t copy[8], region[8];
    int n = 0;
    for (int q = 0; q < 8; q++) {
      const uint32_t v = w->sheet_vert[8 * (size_t)s + q], c = w->vert_copy[v];
      int k = 0;
      while (k < n && copy[k] != c)
        k++;
      if (c != PLA_HEX_NONE && k == n) {
        region[n] = pla_hex_node_region(w, w->vert_node[v]);
        copy[n++] = c;
      }
    }
    for (int a = 0; a < n; a++)
      for (int b = 0; b < n; b++)
        if (copy[a] < copy[b] && region[a] != region[b])
          *(Seed *)pla_hex_list_add(&seeds) =
              (Seed){ { copy[a], copy[b] }, { s | PLA_HEX_SHEET, s | PLA_HEX_SHEET } };
  }
  PlaStatus st = seeds.failed ? pla_fail_memory(err, "the overlaps of regions") : PLA_OK;
  if (st == PLA_OK && seeds.n > 0) {
    qsort(seeds.data, seeds.n, sizeof(Seed), compare_fours);
    st = walk_seeds(w, seeds.data, seeds.n, progress, err);
  }
  free(seeds.data);
  return st;
}

/* ---- copies that are the same ---- */

/* a copy of @region at @sheet, and which corners of the cell its hex has for its own */
typedef struct {
  uint32_t sheet, region, copy, corners;
} Sighting;

/* corners of a hex of @copy that are inner vertices of that copy */
static uint32_t
own_corners(const PlaHexWork *w, uint32_t hex, uint32_t copy)
{
  uint32_t mask = 0;
  for (int q = 0; q < 8; q++)
    mask |=
        (uint32_t)(hex & PLA_HEX_SHEET
                       ? w->vert_copy[w->sheet_vert[8 * (size_t)(hex & ~PLA_HEX_SHEET) + q]] == copy
                       : w->piece_ref[8 * (size_t)hex + q] == PLA_HEX_NONE)
        << q;
  return mask;
}

/* gives copies the numbers that @to says; @region_copy is rebuilt by the caller */
static void
renumber(PlaHexWork *w, const uint32_t *to)
{
  for (uint32_t v = 0; v < w->n_verts; v++)
    if (w->vert_copy[v] != PLA_HEX_NONE)
      w->vert_copy[v] = to[w->vert_copy[v]];
  for (size_t o = 0; o < w->overlaps.n; o++) {
    PlaHexOverlap *overlap = (PlaHexOverlap *)w->overlaps.data + o;
    for (int k = 0; k < 2; k++)
      overlap->copy[k] = to[overlap->copy[k]];
  }
}

/* joins copies of a region that overlaps bring to the same sheet; *joined how many went */
static PlaStatus
join_same_copies(PlaHexWork *w, uint32_t *joined, PlaError *err)
{
  uint32_t *region = regions_of_copies(w), *parent = singletons(w->n_copies);
  PlaHexList list = { .size = sizeof(Sighting) };
  PlaStatus st = region && parent ? PLA_OK : pla_fail_memory(err, "the copies of regions");
  *joined = 0;
  for (size_t o = 0; o < w->overlaps.n && st == PLA_OK; o++) {
    const PlaHexOverlap *overlap = (PlaHexOverlap *)w->overlaps.data + o;
    for (int k = 0; k < 2; k++) {
      if (!(overlap->hex[k] & PLA_HEX_SHEET))
        continue;
      for (int e = 0; e < 2; e++) {
        const uint32_t r = region[overlap->copy[e]];
        if (copies_of(w, r) > 1)
          *(Sighting *)pla_hex_list_add(&list) =
              (Sighting){ overlap->hex[k] & ~PLA_HEX_SHEET, r, overlap->copy[e],
                          own_corners(w, overlap->hex[e], overlap->copy[e]) };
      }
    }
  }
  if (list.failed)
    st = pla_fail_memory(err, "the copies of regions");
  if (st == PLA_OK && list.n > 0) {
    qsort(list.data, list.n, sizeof(Sighting), compare_fours);
    const Sighting *s = list.data;
    for (size_t k = 1; k < list.n; k++)
      for (size_t m = k; m-- > 0 && s[m].sheet == s[k].sheet && s[m].region == s[k].region;)
        if (s[m].copy != s[k].copy && (s[m].corners & s[k].corners))
          pla_union_find_join_u32(parent, s[k].copy, s[m].copy);
    /* new numbers, in place: a root comes before the others of its set */
    uint32_t n = 0;
    for (uint32_t c = 0; c < w->n_copies; c++)
      parent[c] = pla_union_find_root_u32(parent, c);
    for (uint32_t r = 0, c = 0; r < w->n_regions; r++) {
      const uint32_t end = w->region_copy[r + 1];
      w->region_copy[r] = n;
      for (; c < end; c++)
        parent[c] = parent[c] == c ? n++ : parent[parent[c]];
    }
    *joined = w->n_copies - n;
    w->region_copy[w->n_regions] = w->n_copies = n;
    renumber(w, parent);
  }
  free(list.data);
  free(region);
  free(parent);
  return st;
}

/* ---- copies that are missing ---- */

static int
compare_pairs(const void *a, const void *b)
{
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* A piece of a region that lacks copies, beside a piece of another region's copy that goes on
 * there: nothing ends it in this cell. */
typedef struct {
  uint32_t region, copy, piece, other;
} Door;

uint32_t
pla_hex_missing(const PlaHexWork *w, uint32_t region)
{
  const int d = w->region_winding[region] - (int)copies_of(w, region);
  return d > 0 ? (uint32_t)d : 0;
}

/* Of the regions with @extra copies to come, keeps no two that meet in a cell: the later one must
 * see the copies of the earlier. */
static PlaStatus
keep_apart(const PlaHexWork *w, uint32_t *extra, PlaError *err)
{
  PlaHexList pairs = { .size = sizeof(uint64_t) };
  for (uint32_t c = 0; c < w->n_cells; c++)
    for (uint32_t p = w->cell_piece[c]; p < w->cell_piece[c + 1]; p++)
      for (uint32_t r = w->cell_piece[c]; r < w->cell_piece[c + 1]; r++) {
        const uint32_t a = w->piece_region[p], b = w->piece_region[r];
        if (a != PLA_HEX_NONE && b != PLA_HEX_NONE && a < b && extra[a] > 0 && extra[b] > 0)
          *(uint64_t *)pla_hex_list_add(&pairs) = (uint64_t)a << 32 | b;
      }
  if (pairs.failed) {
    free(pairs.data);
    return pla_fail_memory(err, "the copies of regions");
  }
  if (pairs.n > 0)
    qsort(pairs.data, pairs.n, sizeof(uint64_t), compare_pairs);
  for (size_t k = 0; k < pairs.n; k++) {
    const uint64_t pair = ((const uint64_t *)pairs.data)[k];
    if (extra[pair >> 32] > 0)
      extra[(uint32_t)pair] = 0;
  }
  free(pairs.data);
  return PLA_OK;
}

static PlaStatus
find_doors(const PlaHexWork *w, PlaHexList *doors, PlaError *err)
{
  for (uint32_t c = 0; c < w->n_cells; c++) {
    const uint32_t from = w->cell_piece[c], to = w->cell_piece[c + 1];
    for (uint32_t p = from; p < to; p++) {
      const uint32_t region = w->piece_region[p];
      if (region == PLA_HEX_NONE || pla_hex_missing(w, region) == 0)
        continue;
      for (uint32_t r = from; r < to; r++) {
        const uint32_t other = w->piece_region[r];
        if (other == PLA_HEX_NONE || other == region ||
            w->region_winding[other] != (int)copies_of(w, other))
          continue;
        for (uint32_t k = 0; k < copies_of(w, other); k++)
          if (!w->inst_gone[w->piece_inst[r] + k])
            *(Door *)pla_hex_list_add(doors) = (Door){ region, w->region_copy[other] + k, p, r };
      }
    }
  }
  if (doors->failed)
    return pla_fail_memory(err, "the copies of regions");
  if (doors->n > 0)
    qsort(doors->data, doors->n, sizeof(Door), compare_fours);
  return PLA_OK;
}

static bool
has_pair(const uint64_t *pairs, size_t n, uint64_t pair)
{
  return n > 0 && bsearch(&pair, pairs, n, sizeof *pairs, compare_pairs) != NULL;
}

/* unique sorted list of pairs of copies that overlap */
static PlaStatus
overlapping_copies(const PlaHexWork *w, uint64_t **pairs, size_t *n, PlaError *err)
{
  PlaHexList list = { .size = sizeof(uint64_t) };
  for (size_t o = 0; o < w->overlaps.n; o++) {
    const PlaHexOverlap *overlap = (PlaHexOverlap *)w->overlaps.data + o;
    const uint64_t pair = (uint64_t)overlap->copy[0] << 32 | overlap->copy[1];
    if (list.n == 0 || ((uint64_t *)list.data)[list.n - 1] != pair)
      *(uint64_t *)pla_hex_list_add(&list) = pair;
  }
  if (list.failed) {
    free(list.data);
    return pla_fail_memory(err, "the copies of regions");
  }
  if (list.n > 0)
    qsort(list.data, list.n, sizeof(uint64_t), compare_pairs);
  *pairs = list.data;
  *n = list.n;
  return PLA_OK;
}

static bool
overlap_known(const uint64_t *pairs, size_t n, uint32_t a, uint32_t b)
{
  return has_pair(pairs, n, a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a);
}

/* For one region, whose doors are given: candidates are copies that no copy of this region is sewn
 * to yet; those sewn to each other are one.  When there are as many as copies missing, group[d] is
 * which of them door d leads to (PLA_HEX_NONE: none) and true comes back. */
static bool
group_doors(const PlaHexWork *w, const Door *door, size_t n, const uint64_t *pairs, size_t n_pairs,
            uint32_t *group)
{
  enum { MOST = 64 };
  uint32_t candidate[MOST], parent[MOST], n_candidates = 0, groups = 0;
  const uint32_t region = door[0].region;
  for (size_t d = 0; d < n; d++) {
    group[d] = PLA_HEX_NONE;
    if (d > 0 && door[d].copy == door[d - 1].copy) {
      group[d] = group[d - 1];
      continue;
    }
    bool sewn = false;
    for (uint32_t c = w->region_copy[region]; c < w->region_copy[region + 1] && !sewn; c++)
      sewn = overlap_known(pairs, n_pairs, c, door[d].copy);
    if (sewn)
      continue;
    if (n_candidates == MOST)
      return false;
    candidate[n_candidates] = door[d].copy;
    parent[n_candidates] = n_candidates;
    group[d] = n_candidates++;
  }
  for (uint32_t a = 0; a < n_candidates; a++)
    for (uint32_t b = 0; b < a; b++)
      if (overlap_known(pairs, n_pairs, candidate[a], candidate[b]))
        pla_union_find_join_u32(parent, a, b);
  uint32_t number[MOST];
  for (uint32_t a = 0; a < n_candidates; a++) {
    const uint32_t root = pla_union_find_root_u32(parent, a);
    number[a] = root == a ? groups++ : number[root];
  }
  for (size_t d = 0; d < n; d++)
    if (group[d] != PLA_HEX_NONE)
      group[d] = number[group[d]];
  return groups == pla_hex_missing(w, region);
}

/* one round: adds copies where the doors tell which, sews them; *added how many */
static PlaStatus
add_missing_copies(PlaHexWork *w, uint32_t *added, PlaProgress *progress, PlaError *err)
{
  PlaHexList doors = { .size = sizeof(Door) }, seeds = { .size = sizeof(Seed) };
  uint64_t *pairs = NULL;
  size_t n_pairs = 0;
  uint32_t *extra = pla_array_new0(w->n_regions, sizeof *extra), *group = NULL, *to = NULL;
  *added = 0;
  PlaStatus st = extra ? find_doors(w, &doors, err) : pla_fail_memory(err, "the copies of regions");
  if (st == PLA_OK)
    st = overlapping_copies(w, &pairs, &n_pairs, err);
  const Door *door = doors.data;
  if (st == PLA_OK) {
    group = pla_array_new(doors.n, sizeof *group);
    to = pla_array_new(w->n_copies, sizeof *to);
    if (!group || !to)
      st = pla_fail_memory(err, "the copies of regions");
  }
  for (size_t d = 0, end; d < doors.n && st == PLA_OK; d = end) {
    for (end = d; end < doors.n && door[end].region == door[d].region; end++)
      ;
    if (group_doors(w, door + d, end - d, pairs, n_pairs, group + d))
      extra[door[d].region] = pla_hex_missing(w, door[d].region);
  }
  if (st == PLA_OK)
    st = keep_apart(w, extra, err);
  for (uint32_t r = 0; r < w->n_regions; r++)
    *added += extra ? extra[r] : 0;
  if (st == PLA_OK && *added > 0) {
    /* new copies come after the region's others */
    uint32_t shift = 0;
    for (uint32_t r = 0; r < w->n_regions; r++) {
      const uint32_t from = w->region_copy[r], end = w->region_copy[r + 1];
      for (uint32_t c = from; c < end; c++)
        to[c] = c + shift;
      w->region_copy[r] = from + shift;
      shift += extra[r];
    }
    w->region_copy[w->n_regions] = w->n_copies += shift;
    renumber(w, to);
    for (size_t d = 0; d < doors.n; d++) {
      const uint32_t region = door[d].region;
      if (extra[region] == 0 || group[d] == PLA_HEX_NONE)
        continue;
      /* only where there is no choice */
      const uint32_t cell = w->piece_cell[door[d].piece];
      int mine = 0, theirs = 0;
      for (uint32_t p = w->cell_piece[cell]; p < w->cell_piece[cell + 1]; p++) {
        mine += w->piece_region[p] == region;
        theirs += w->piece_region[p] == w->piece_region[door[d].other];
      }
      if (mine != 1 || theirs != 1)
        continue;
      const uint32_t copy[2] = { w->region_copy[region + 1] - extra[region] + group[d],
                                 to[door[d].copy] };
      const int swap = copy[0] > copy[1];
      *(Seed *)pla_hex_list_add(&seeds) =
          (Seed){ { copy[swap], copy[!swap] },
                  { swap ? door[d].other : door[d].piece, swap ? door[d].piece : door[d].other } };
    }
    if (seeds.failed)
      st = pla_fail_memory(err, "the copies of regions");
    if (st == PLA_OK)
      st = lay_out(w, err);
    if (st == PLA_OK && seeds.n > 0) {
      qsort(seeds.data, seeds.n, sizeof(Seed), compare_fours);
      st = walk_seeds(w, seeds.data, seeds.n, progress, err);
    }
  }
  free(doors.data);
  free(seeds.data);
  free(pairs);
  free(extra);
  free(group);
  free(to);
  return st;
}

PlaStatus
pla_hex_sew(PlaHexWork *w, PlaProgress *progress, PlaError *err)
{
  free(w->region_copy);
  free(w->vert_copy);
  w->region_copy = w->vert_copy = NULL;
  w->overlaps.size = sizeof(PlaHexOverlap);
  w->report.joined_copies = w->report.repaired_copies = 0;
  PlaStatus st = assign_copies(w, err);
  for (uint32_t joined = 1; st == PLA_OK && joined > 0;) {
    st = lay_out(w, err);
    if (st == PLA_OK)
      st = find_overlaps(w, progress, err);
    if (st == PLA_OK)
      st = join_same_copies(w, &joined, err);
    w->report.joined_copies += (int)joined;
  }
  for (uint32_t added = 1; st == PLA_OK && added > 0;) {
    st = add_missing_copies(w, &added, progress, err);
    w->report.repaired_copies += (int)added;
  }
  return st;
}

/* Sheets of the hexahedral embedding: the layer of hexes around the surface.
 *
 * Each connected part of the surface within a cell owns a hex there, and at a grid node the hexes
 * of neighbouring cells share a vertex where a triangle passes from one to the other.  (Chen joins
 * triangles that share a vertex anywhere and meet the same cell, so with large triangles two sheets
 * that meet far outside a cell would be one in it; connection within the cell does not depend on
 * how the surface is divided into triangles.)
 *
 * A sheet vertex is inside where its node lies behind the planes of all triangles that brought it.
 * Where they disagree, the nearest point of those triangles decides, with the triangles around it
 * (Chen 2024); at edges and vertices by the angle-weighted normal (Baerentzen and Aanaes 2005).
 * Rays and winding numbers would see distant sheets, too. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"
#include "anatomy/mesh/predicates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_A_BLOCK = 4096, NODES_A_BLOCK = 4096 };

/* ---- sheets ---- */

/* scratch that a thread keeps; grows, never shrinks */
typedef struct {
  int *parent;
  size_t parent_room;
  uint64_t *key; /* hash table from edges to triangles */
  int *value;
  size_t table_room;
  uint32_t *tri;
  size_t tri_room;
  bool failed;
} Scratch;

static void
scratch_clear(Scratch *s)
{
  free(s->parent);
  free(s->key);
  free(s->value);
  free(s->tri);
}

static bool
scratch_parents(Scratch *s, size_t n)
{
  if (n > s->parent_room) {
    if (!pla_array_resize((void **)&s->parent, 2 * n, sizeof *s->parent)) {
      s->failed = true;
      return false;
    }
    s->parent_room = 2 * n;
  }
  for (size_t i = 0; i < n; i++)
    s->parent[i] = (int)i;
  return true;
}

/* parts of the surface within a cell: triangles hang together through edges that meet it.  The
 * number of parts, whose numbers (by first triangle) go to @part */
static uint32_t
parts_in_cell(const PlaHexWork *w, const PlaHexPair *pair, size_t n, Scratch *s, uint32_t *part)
{
  if (n == 1) {
    part[0] = 0;
    return 1;
  }
  size_t room = 8;
  while (room < 6 * n)
    room *= 2;
  if (room > s->table_room) {
    if (!pla_array_resize((void **)&s->key, room, sizeof *s->key) ||
        !pla_array_resize((void **)&s->value, room, sizeof *s->value)) {
      s->failed = true;
      return 0;
    }
    s->table_room = room;
  }
  if (!scratch_parents(s, n))
    return 0;
  memset(s->key, 0xff, room * sizeof *s->key);
  for (size_t p = 0; p < n; p++)
    for (int c = 0; c < 3; c++) {
      const int *v = w->tri + 3 * (size_t)pair[p].tri;
      const int a = v[c], b = v[c == 2 ? 0 : c + 1];
      const uint64_t edge =
          a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;
      size_t at = (edge * 0x9e3779b97f4a7c15u >> 32) & (room - 1);
      while (s->key[at] != UINT64_MAX && s->key[at] != edge)
        at = (at + 1) & (room - 1);
      if (s->key[at] == UINT64_MAX) {
        s->key[at] = edge;
        s->value[at] = (int)p;
      } else if (pla_union_find_root(s->parent, s->value[at]) !=
                     pla_union_find_root(s->parent, (int)p) &&
                 pla_hex_edge_meets(w, a, b, pair[p].line, pair[p].i)) {
        pla_union_find_join(s->parent, s->value[at], (int)p);
      }
    }
  uint32_t parts = 0;
  for (size_t p = 0; p < n; p++) {
    const int root = pla_union_find_root(s->parent, (int)p);
    part[p] = root == (int)p ? parts++ : part[root];
  }
  return parts;
}

static PlaStatus
number_sheets(PlaHexWork *w, PlaError *err)
{
  bool failed = false;
  w->pair_sheet = pla_array_new(w->n_pairs, sizeof *w->pair_sheet);
  w->cell_sheet = pla_array_new((size_t)w->n_cells + 1, sizeof *w->cell_sheet);
  if (!w->pair_sheet || !w->cell_sheet)
    return pla_fail_memory(err, "the sheets of the surface");
#pragma omp parallel
  {
    Scratch s = { 0 };
#pragma omp for schedule(dynamic, 256)
    for (uint32_t c = 0; c < w->n_cells; c++) {
      const uint32_t p = w->cell_pair[c];
      w->cell_sheet[c + 1] =
          parts_in_cell(w, w->pair + p, w->cell_pair[c + 1] - p, &s, w->pair_sheet + p);
    }
    if (s.failed) {
#pragma omp atomic write
      failed = true;
    }
    scratch_clear(&s);
  }
  if (failed)
    return pla_fail_memory(err, "the sheets of the surface");
  w->cell_sheet[0] = 0;
  for (uint32_t c = 0; c < w->n_cells; c++)
    w->cell_sheet[c + 1] += w->cell_sheet[c];
  w->n_sheets = w->cell_sheet[w->n_cells];
  w->sheet_cell = pla_array_new(w->n_sheets, sizeof *w->sheet_cell);
  w->sheet_pos = pla_array_new0(w->n_sheets, sizeof *w->sheet_pos);
  w->sheet_neg = pla_array_new0(w->n_sheets, sizeof *w->sheet_neg);
  if (!w->sheet_cell || !w->sheet_pos || !w->sheet_neg)
    return pla_fail_memory(err, "the sheets of the surface");
#pragma omp parallel for schedule(static)
  for (uint32_t c = 0; c < w->n_cells; c++) {
    for (uint32_t s = w->cell_sheet[c]; s < w->cell_sheet[c + 1]; s++)
      w->sheet_cell[s] = c;
    for (uint32_t p = w->cell_pair[c]; p < w->cell_pair[c + 1]; p++) {
      const uint32_t s = w->pair_sheet[p] += w->cell_sheet[c];
      /* a corner in the plane itself counts as undecided */
      w->sheet_pos[s] |= (uint8_t)~w->pair[p].neg;
      w->sheet_neg[s] |= (uint8_t)~w->pair[p].pos;
    }
  }
  return PLA_OK;
}

/* sheets of cell c and of the next cell n that have a triangle in common */
static void
link_cells(const PlaHexWork *w, uint32_t c, uint32_t n, PlaHexList *out)
{
  const size_t first = out->n;
  uint32_t p = w->cell_pair[c], r = w->cell_pair[n];
  while (p < w->cell_pair[c + 1] && r < w->cell_pair[n + 1]) {
    if (w->pair[p].tri < w->pair[r].tri) {
      p++;
    } else if (w->pair[p].tri > w->pair[r].tri) {
      r++;
    } else {
      const PlaHexLink link = { w->pair_sheet[p++] - w->cell_sheet[c],
                                w->pair_sheet[r++] - w->cell_sheet[n] };
      size_t l = out->n;
      for (; l > first; l--) {
        const PlaHexLink *known = (const PlaHexLink *)out->data + l - 1;
        if (known->a == link.a && known->b == link.b)
          break;
      }
      if (l == first)
        *(PlaHexLink *)pla_hex_list_add(out) = link;
    }
  }
}

static PlaStatus
link_sheets(PlaHexWork *w, int d, PlaError *err)
{
  const uint32_t n_blocks = (w->n_cells + CELLS_A_BLOCK - 1) / CELLS_A_BLOCK;
  const uint32_t step = d == 0 ? 0 : d == 1 ? 1 : (uint32_t)w->lines_y;
  PlaHexList *lists = pla_array_new0(n_blocks, sizeof *lists);
  w->link_start[d] = pla_array_new((size_t)w->n_cells + 1, sizeof *w->link_start[d]);
  if (!lists || !w->link_start[d]) {
    free(lists);
    return pla_fail_memory(err, "the sheets of the surface");
  }
  w->link_start[d][0] = 0;
#pragma omp parallel for schedule(dynamic)
  for (uint32_t b = 0; b < n_blocks; b++) {
    lists[b].size = sizeof(PlaHexLink);
    for (uint32_t c = b * CELLS_A_BLOCK; c < w->n_cells && c < (b + 1) * CELLS_A_BLOCK; c++) {
      const size_t before = lists[b].n;
      const uint32_t n = pla_hex_cell_at(w, w->cell_line[c] + step, w->cell_i[c] + (d == 0));
      if (n != PLA_HEX_NONE)
        link_cells(w, c, n, &lists[b]);
      w->link_start[d][c + 1] = (uint32_t)(lists[b].n - before);
    }
  }
  size_t n_links;
  w->link[d] = pla_hex_lists_join(lists, n_blocks, &n_links);
  free(lists);
  if (!w->link[d])
    return pla_fail_memory(err, "the sheets of the surface");
  for (uint32_t c = 0; c < w->n_cells; c++)
    w->link_start[d][c + 1] += w->link_start[d][c];
  return PLA_OK;
}

PlaStatus
pla_hex_find_sheets(PlaHexWork *w, PlaError *err)
{
  PlaStatus st = number_sheets(w, err);
  for (int d = 0; d < 3 && st == PLA_OK; d++)
    st = link_sheets(w, d, err);
  return st;
}

/* ---- which side, where the planes disagree ---- */

typedef enum {
  ON_FACE,
  ON_EDGE,
  ON_VERTEX,
} Feature;

typedef struct {
  double dist2, point[3];
  int tri;
  Feature feature;
  int vert[2]; /* the vertex, or the ends of the edge */
} Nearest;

/* nearest point of triangle @tri to @p, and on what it lies (by regions of the plane) */
static void
nearest_in(const PlaHexWork *w, int tri, const double p[3], Nearest *out)
{
  const int *v = w->tri + 3 * (size_t)tri;
  const double *a = w->surface->pos + 3 * (size_t)v[0], *b = w->surface->pos + 3 * (size_t)v[1],
               *c = w->surface->pos + 3 * (size_t)v[2];
  double ab[3], ac[3], ap[3], bp[3], cp[3];
  pla_vec3_sub(b, a, ab);
  pla_vec3_sub(c, a, ac);
  pla_vec3_sub(p, a, ap);
  pla_vec3_sub(p, b, bp);
  pla_vec3_sub(p, c, cp);
  const double d1 = pla_vec3_dot(ab, ap), d2 = pla_vec3_dot(ac, ap);
  const double d3 = pla_vec3_dot(ab, bp), d4 = pla_vec3_dot(ac, bp);
  const double d5 = pla_vec3_dot(ab, cp), d6 = pla_vec3_dot(ac, cp);
  const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
  double s = 0.0, t = 0.0; /* a + s ab + t ac */
  *out = (Nearest){ .tri = tri, .feature = ON_VERTEX, .vert = { v[0], v[0] } };
  if (d1 <= 0.0 && d2 <= 0.0) {
    ;
  } else if (d3 >= 0.0 && d4 <= d3) {
    s = 1.0;
    out->vert[0] = v[1];
  } else if (d6 >= 0.0 && d5 <= d6) {
    t = 1.0;
    out->vert[0] = v[2];
  } else if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
    s = d1 / (d1 - d3);
    out->feature = ON_EDGE;
    out->vert[1] = v[1];
  } else if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
    t = d2 / (d2 - d6);
    out->feature = ON_EDGE;
    out->vert[1] = v[2];
  } else if (va <= 0.0 && d4 >= d3 && d5 >= d6) {
    t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    s = 1.0 - t;
    out->feature = ON_EDGE;
    out->vert[0] = v[1];
    out->vert[1] = v[2];
  } else {
    s = vb / (va + vb + vc);
    t = vc / (va + vb + vc);
    out->feature = ON_FACE;
  }
  for (int d = 0; d < 3; d++) {
    out->point[d] = a[d] + s * ab[d] + t * ac[d];
    out->dist2 += (p[d] - out->point[d]) * (p[d] - out->point[d]);
  }
}

/* unit normal of @tri, and the angle at its vertex @at */
static double
normal_at(const PlaHexWork *w, int tri, int at, double n[3])
{
  const int *v = w->tri + 3 * (size_t)tri;
  const int k = v[0] == at ? 0 : v[1] == at ? 1 : 2;
  const double *a = w->surface->pos + 3 * (size_t)v[k];
  double e[3], f[3];
  pla_vec3_sub(w->surface->pos + 3 * (size_t)v[(k + 1) % 3], a, e);
  pla_vec3_sub(w->surface->pos + 3 * (size_t)v[(k + 2) % 3], a, f);
  pla_vec3_cross(e, f, n);
  const double length = pla_vec3_norm(n), angle = atan2(length, pla_vec3_dot(e, f));
  for (int d = 0; d < 3; d++)
    n[d] = length > 0.0 ? n[d] / length : 0.0;
  return angle;
}

static bool
has_vertex(const PlaHexWork *w, int tri, int v)
{
  const int *t = w->tri + 3 * (size_t)tri;
  return t[0] == v || t[1] == v || t[2] == v;
}

int
pla_hex_side_of_patch(const PlaHexWork *w, const double p[3], const uint32_t *tri, size_t n)
{
  Nearest best, next;
  nearest_in(w, (int)tri[0], p, &best);
  for (size_t t = 1; t < n; t++) {
    nearest_in(w, (int)tri[t], p, &next);
    if (next.dist2 < best.dist2)
      best = next;
  }
  /* as long as triangles around the nearest edge or vertex are nearer */
  for (bool nearer = true; nearer && best.feature != ON_FACE;) {
    nearer = false;
    const int end[2] = { best.vert[0], best.vert[1] };
    for (int e = 0; e < (best.feature == ON_EDGE ? 2 : 1) && !nearer; e++)
      for (int k = w->ring_start[end[e]]; k < w->ring_start[end[e] + 1]; k++) {
        nearest_in(w, w->ring[k], p, &next);
        if (next.dist2 < best.dist2) {
          best = next;
          nearer = true;
        }
      }
  }
  const int *v = w->tri + 3 * (size_t)best.tri;
  if (best.feature == ON_FACE)
    return pla_orient3d(w->surface->pos + 3 * (size_t)v[0], w->surface->pos + 3 * (size_t)v[1],
                        w->surface->pos + 3 * (size_t)v[2], p) < 0
               ? -1
               : 1;
  double sum[3] = { 0.0, 0.0, 0.0 }, away[3];
  const int at = best.vert[0];
  for (int k = w->ring_start[at]; k < w->ring_start[at + 1]; k++) {
    if (best.feature == ON_EDGE && !has_vertex(w, w->ring[k], best.vert[1]))
      continue;
    double normal[3];
    const double angle = normal_at(w, w->ring[k], at, normal);
    for (int d = 0; d < 3; d++)
      sum[d] += best.feature == ON_EDGE ? normal[d] : angle * normal[d];
  }
  pla_vec3_sub(p, best.point, away);
  return pla_vec3_dot(away, sum) < 0.0 ? -1 : 1;
}

/* ---- sheet vertices ---- */

void
pla_hex_cells_around(const PlaHexWork *w, uint32_t line, uint32_t i, uint32_t cell[8])
{
  for (int o = 0; o < 8; o += 2) {
    const uint32_t at = pla_hex_corner_line(w, line - 1 - (uint32_t)w->lines_y, o);
    cell[o] = cell[o + 1] = PLA_HEX_NONE;
    uint32_t lo = w->line_cell[at], hi = w->line_cell[at + 1], end = hi;
    while (lo < hi) {
      const uint32_t mid = lo + (hi - lo) / 2;
      if (w->cell_i[mid] < i - 1)
        lo = mid + 1;
      else
        hi = mid;
    }
    if (lo < end && w->cell_i[lo] == i - 1)
      cell[o] = lo++;
    if (lo < end && w->cell_i[lo] == i)
      cell[o + 1] = lo;
  }
}

typedef struct {
  uint32_t node, shell;
  int8_t sign;
  uint8_t mixed;
} Vert;

static int
sign_of_set(const PlaHexWork *w, const uint32_t cell[8], const uint32_t offset[8], int root,
            const double pos[3], Scratch *s)
{
  size_t n = 0;
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    for (uint32_t p = w->cell_pair[cell[o]]; p < w->cell_pair[cell[o] + 1]; p++) {
      const int local = (int)(offset[o] + w->pair_sheet[p] - w->cell_sheet[cell[o]]);
      if (pla_union_find_root(s->parent, local) != root)
        continue;
      if (n == s->tri_room) {
        if (!pla_array_resize((void **)&s->tri, 2 * n + 64, sizeof *s->tri)) {
          s->failed = true;
          return 1;
        }
        s->tri_room = 2 * n + 64;
      }
      s->tri[n++] = w->pair[p].tri;
    }
  }
  return pla_hex_side_of_patch(w, pos, s->tri, n);
}

static void
verts_at_node(PlaHexWork *w, uint32_t node, Scratch *s, PlaHexList *out)
{
  uint32_t cell[8], offset[8], n = 0;
  const uint32_t line = w->node_line[node], i = w->node_i[node];
  pla_hex_cells_around(w, line, i, cell);
  for (int o = 0; o < 8; o++) {
    offset[o] = n;
    if (cell[o] == PLA_HEX_NONE)
      continue;
    w->cell_node[8 * (size_t)cell[o] + (7 - o)] = node;
    n += w->cell_sheet[cell[o] + 1] - w->cell_sheet[cell[o]];
  }
  if (!scratch_parents(s, n))
    return;
  for (int d = 0; d < 3; d++)
    for (int o = 0; o < 8; o++) {
      const int p = o | 1 << d;
      if (p == o || cell[o] == PLA_HEX_NONE || cell[p] == PLA_HEX_NONE)
        continue;
      for (uint32_t l = w->link_start[d][cell[o]]; l < w->link_start[d][cell[o] + 1]; l++)
        pla_union_find_join(s->parent, (int)(offset[o] + w->link[d][l].a),
                            (int)(offset[p] + w->link[d][l].b));
    }
  /* a vertex for each set, in the order of their first sheets */
  const size_t first = out->n;
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    const int q = 7 - o;
    for (uint32_t c = w->cell_sheet[cell[o]]; c < w->cell_sheet[cell[o] + 1]; c++) {
      const int local = (int)(offset[o] + c - w->cell_sheet[cell[o]]);
      const int root = pla_union_find_root(s->parent, local);
      uint32_t *to = &w->sheet_vert[8 * (size_t)c + q];
      if (root == local) {
        *to = (uint32_t)out->n;
        *(Vert *)pla_hex_list_add(out) = (Vert){ .node = node, .shell = PLA_HEX_NONE };
      } else {
        int e = 7;
        while ((uint32_t)root < offset[e] || cell[e] == PLA_HEX_NONE)
          e--;
        *to = w->sheet_vert[8 * (size_t)(w->cell_sheet[cell[e]] + (uint32_t)root - offset[e]) +
                            (7 - e)];
      }
      if (out->failed)
        return;
      Vert *vert = (Vert *)out->data + *to;
      vert->sign |= (w->sheet_pos[c] >> q & 1) | (w->sheet_neg[c] >> q & 1) << 1;
      if (vert->shell == PLA_HEX_NONE)
        for (uint32_t p = w->cell_pair[cell[o]]; p < w->cell_pair[cell[o] + 1]; p++)
          if (w->pair_sheet[p] == c) {
            vert->shell = (uint32_t)w->shell[w->pair[p].tri];
            break;
          }
    }
  }
  /* from flags to signs */
  double pos[3];
  pla_hex_node_pos(w, line, i, pos);
  for (int o = 0; o < 8; o++) {
    if (cell[o] == PLA_HEX_NONE)
      continue;
    for (uint32_t c = w->cell_sheet[cell[o]]; c < w->cell_sheet[cell[o] + 1]; c++) {
      const int local = (int)(offset[o] + c - w->cell_sheet[cell[o]]);
      if (pla_union_find_root(s->parent, local) != local)
        continue;
      Vert *vert = (Vert *)out->data + w->sheet_vert[8 * (size_t)c + (7 - o)];
      vert->mixed = vert->sign == 3;
      vert->sign = vert->sign == 1   ? 1
                   : vert->sign == 2 ? -1
                                     : (int8_t)sign_of_set(w, cell, offset, local, pos, s);
    }
  }
  w->node_vert[node + 1] = (uint32_t)(out->n - first);
}

PlaStatus
pla_hex_find_verts(PlaHexWork *w, PlaProgress *progress, PlaError *err)
{
  const uint32_t n_blocks = (w->n_nodes + NODES_A_BLOCK - 1) / NODES_A_BLOCK;
  bool failed = false;
  PlaHexList *lists = pla_array_new0(n_blocks, sizeof *lists);
  uint32_t *base = pla_array_new0((size_t)n_blocks + 1, sizeof *base);
  w->cell_node = pla_array_new(8 * (size_t)w->n_cells, sizeof *w->cell_node);
  w->sheet_vert = pla_array_new(8 * (size_t)w->n_sheets, sizeof *w->sheet_vert);
  w->node_vert = pla_array_new0((size_t)w->n_nodes + 1, sizeof *w->node_vert);
  if (!lists || !base || !w->cell_node || !w->sheet_vert || !w->node_vert) {
    free(lists);
    free(base);
    return pla_fail_memory(err, "the sheets of the surface");
  }
#pragma omp parallel
  {
    Scratch s = { 0 };
#pragma omp for schedule(dynamic)
    for (uint32_t b = 0; b < n_blocks; b++) {
      lists[b].size = sizeof(Vert);
      if (pla_progress_cancelled(progress))
        continue;
      for (uint32_t n = b * NODES_A_BLOCK; n < w->n_nodes && n < (b + 1) * NODES_A_BLOCK; n++)
        verts_at_node(w, n, &s, &lists[b]);
    }
    if (s.failed) {
#pragma omp atomic write
      failed = true;
    }
    scratch_clear(&s);
  }
  for (uint32_t b = 0; b < n_blocks; b++)
    base[b + 1] = base[b] + (uint32_t)lists[b].n;
  size_t n_verts;
  Vert *vert = pla_hex_lists_join(lists, n_blocks, &n_verts);
  PlaStatus st = PLA_OK;
  if (pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && vert && !failed) {
    w->n_verts = (uint32_t)n_verts;
    w->vert_node = pla_array_new(n_verts, sizeof *w->vert_node);
    w->vert_sign = pla_array_new(n_verts, sizeof *w->vert_sign);
    w->vert_mixed = pla_array_new(n_verts, sizeof *w->vert_mixed);
    w->vert_shell = pla_array_new(n_verts, sizeof *w->vert_shell);
  }
  if (st == PLA_OK && (!w->vert_node || !w->vert_sign || !w->vert_mixed || !w->vert_shell))
    st = pla_fail_memory(err, "the sheets of the surface");
  if (st == PLA_OK) {
#pragma omp parallel for schedule(static)
    for (uint32_t v = 0; v < w->n_verts; v++) {
      w->vert_node[v] = vert[v].node;
      w->vert_sign[v] = vert[v].sign;
      w->vert_mixed[v] = vert[v].mixed;
      w->vert_shell[v] = vert[v].shell;
    }
#pragma omp parallel for schedule(static)
    for (uint32_t s = 0; s < w->n_sheets; s++)
      for (int q = 0; q < 8; q++)
        w->sheet_vert[8 * (size_t)s + q] +=
            base[w->cell_node[8 * (size_t)w->sheet_cell[s] + q] / NODES_A_BLOCK];
    for (uint32_t n = 0; n < w->n_nodes; n++)
      w->node_vert[n + 1] += w->node_vert[n];
  }
  free(vert);
  free(lists);
  free(base);
  return st;
}

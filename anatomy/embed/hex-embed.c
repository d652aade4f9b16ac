/* Hexahedral embedding of closed surfaces that may run through themselves, after Chen, "Novel
 * efficient implicit methods for elastic solids and cloth" (2024), with exact predicates, regions
 * kept as runs, and the winding number as a guard (see hex-sew.c for the repair that it allows).
 *
 * Here the copies become one mesh: hexes that the sewing found to be the same take the same
 * vertices, hexes that then have the same eight are kept once, and vertices in use are numbered. */
#include "anatomy/embed/hex-embed.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_A_BLOCK = 4096 };

PlaHexEmbedOptions
pla_hex_embed_options_default(void)
{
  return (PlaHexEmbedOptions){ 0 };
}

void
pla_hex_embed_clear(PlaHexEmbed *self)
{
  pla_mesh_free(self->mesh);
  free(self->cell);
  pla_embedding_clear(&self->surface);
  *self = (PlaHexEmbed){ 0 };
}

void
pla_hex_work_clear(PlaHexWork *w)
{
  for (int d = 0; d < 3; d++) {
    free(w->coord[d]);
    free(w->link_start[d]);
    free(w->link[d]);
  }
  void *const arrays[] = {
    w->tri,          w->ring_start,    w->ring,       w->shell,        w->shell_outward,
    w->pair,         w->pair_sheet,    w->line_cell,  w->cell_i,       w->cell_line,
    w->cell_pair,    w->cell_cut,      w->cell_sheet, w->sheet_cell,   w->sheet_pos,
    w->sheet_neg,    w->sheet_vert,    w->line_run,   w->run_from,     w->run_region,
    w->line_node,    w->node_i,        w->node_line,  w->node_run,     w->region_winding,
    w->node_vert,    w->cell_node,     w->vert_node,  w->vert_sign,    w->vert_mixed,
    w->vert_shell,   w->vert_copy,     w->cell_piece, w->piece_cell,   w->piece_ref,
    w->piece_region, w->spare_node,    w->run_base,   w->spare_region, w->node_base,
    w->node_stride,  w->spare_base,    w->vert_id,    w->piece_inst,   w->inst_gone,
    w->region_copy,  w->overlaps.data,
  };
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
    free(arrays[k]);
}

/* ---- hexes of crossed cells ---- */

typedef struct {
  uint32_t v[8];
} Hex;

typedef struct {
  uint32_t *parent;   /* of pool vertices; a root is the lowest of its set, and once joined
                         every vertex points to it.  Later: numbers in the mesh */
  uint8_t *used;      /* roots in use */
  uint32_t *cell_hex; /* first hex of each crossed cell in hex[] (n_cells + 1) */
  Hex *hex;
  uint32_t *sheet_hex;  /* of each sheet, within its cell */
  uint32_t *cell_first; /* first hex of each crossed cell in the mesh */
  uint32_t *line_hex;   /* first hex of each line in the mesh (n_lines + 1) */
} Final;

static void
final_clear(Final *f)
{
  free(f->parent);
  free(f->used);
  free(f->cell_hex);
  free(f->hex);
  free(f->sheet_hex);
  free(f->cell_first);
  free(f->line_hex);
}

static uint32_t
overlap_id(const PlaHexWork *w, const PlaHexOverlap *o, int k, uint32_t region, int q)
{
  return o->hex[k] & PLA_HEX_SHEET
             ? pla_hex_sheet_id(w, o->hex[k] & ~PLA_HEX_SHEET, q)
             : pla_hex_piece_id(w, o->hex[k], q, o->copy[k] - w->region_copy[region]);
}

/* Where a body is hardly thicker than a cell, its two faces have a hex each in the same cell.  If
 * they have an inner vertex in common and differ in none, there is one body between them, and one
 * hex does. */
static bool
have_one_body(const PlaHexWork *w, Final *f, const uint32_t *v, const uint32_t *u)
{
  bool same = false;
  for (int q = 0; q < 8; q++)
    if (w->vert_sign[v[q]] < 0 && w->vert_sign[u[q]] < 0) {
      if (pla_union_find_root_u32(f->parent, w->vert_id[v[q]]) !=
          pla_union_find_root_u32(f->parent, w->vert_id[u[q]]))
        return false;
      same = true;
    }
  return same;
}

/* Where it is thinner, neither has an inner vertex; but each has corners in front of it that lie
 * behind the other. */
static bool
face_each_other(const PlaHexWork *w, const uint32_t *v, const uint32_t *u)
{
  bool there = false, back = false;
  for (int q = 0; q < 8; q++) {
    const int8_t a = w->vert_sign[v[q]], b = w->vert_sign[u[q]];
    if (a < 0 || b < 0)
      return false;
    there = there || (a == 1 && b == PLA_HEX_TURNED);
    back = back || (a == PLA_HEX_TURNED && b == 1);
  }
  return there && back;
}

static void
join_opposite_sheets(const PlaHexWork *w, Final *f)
{
  for (uint32_t s = 0; s < w->n_sheets; s++) {
    const uint32_t *v = w->sheet_vert + 8 * (size_t)s, cell = w->sheet_cell[s];
    const uint32_t *facing = NULL;
    bool turned = false;
    int faces = 0;
    for (int q = 0; q < 8; q++)
      turned = turned || w->vert_sign[v[q]] == PLA_HEX_TURNED;
    for (uint32_t o = w->cell_sheet[cell]; turned && o < w->cell_sheet[cell + 1]; o++) {
      const uint32_t *u = w->sheet_vert + 8 * (size_t)o;
      if (o != s && have_one_body(w, f, v, u))
        for (int q = 0; q < 8; q++)
          pla_union_find_join_u32(f->parent, w->vert_id[v[q]], w->vert_id[u[q]]);
      if (o != s && w->vert_shell[v[0]] == w->vert_shell[u[0]] && face_each_other(w, v, u)) {
        facing = u;
        faces++;
      }
    }
    for (int q = 0; q < 8 && faces == 1; q++)
      pla_union_find_join_u32(f->parent, w->vert_id[v[q]], w->vert_id[facing[q]]);
  }
}

static PlaStatus
join_overlaps(const PlaHexWork *w, Final *f, PlaError *err)
{
  f->parent = pla_array_new(w->n_pool, sizeof *f->parent);
  f->used = pla_array_new0(w->n_pool, sizeof *f->used);
  if (!f->parent || !f->used)
    return pla_fail_memory(err, "the vertices of the mesh");
#pragma omp parallel for schedule(static)
  for (uint32_t v = 0; v < w->n_pool; v++)
    f->parent[v] = v;
  for (size_t o = 0; o < w->overlaps.n; o++) {
    const PlaHexOverlap *overlap = (PlaHexOverlap *)w->overlaps.data + o;
    if (overlap->hex[0] == overlap->hex[1])
      continue;
    uint32_t region[2] = { 0, 0 };
    for (int k = 0; k < 2; k++)
      if (!(overlap->hex[k] & PLA_HEX_SHEET))
        region[k] = w->piece_region[overlap->hex[k]];
    for (int q = 0; q < 8; q++)
      pla_union_find_join_u32(f->parent, overlap_id(w, overlap, 0, region[0], q),
                              overlap_id(w, overlap, 1, region[1], q));
  }
  join_opposite_sheets(w, f);
  for (uint32_t v = 0; v < w->n_pool; v++)
    f->parent[v] = f->parent[f->parent[v]];
  return PLA_OK;
}

/* number of the hex among those of the cell from @first on; added when it is new */
static uint32_t
add_hex(PlaHexList *list, size_t first, const Hex *hex)
{
  for (size_t k = first; k < list->n; k++)
    if (memcmp((Hex *)list->data + k, hex, sizeof *hex) == 0)
      return (uint32_t)(k - first);
  *(Hex *)pla_hex_list_add(list) = *hex;
  return (uint32_t)(list->n - 1 - first);
}

static void
mark(uint8_t *used)
{
  __atomic_store_n(used, 1, __ATOMIC_RELAXED);
}

static void
hexes_of_cell(const PlaHexWork *w, Final *f, uint32_t cell, PlaHexList *list)
{
  const size_t first = list->n;
  Hex hex;
  for (uint32_t p = w->cell_piece[cell]; p < w->cell_piece[cell + 1]; p++)
    for (uint32_t k = w->piece_inst[p]; k < w->piece_inst[p + 1]; k++) {
      if (w->inst_gone[k])
        continue;
      for (int q = 0; q < 8; q++)
        hex.v[q] = f->parent[pla_hex_piece_id(w, p, q, k - w->piece_inst[p])];
      add_hex(list, first, &hex);
    }
  for (uint32_t s = w->cell_sheet[cell]; s < w->cell_sheet[cell + 1]; s++) {
    for (int q = 0; q < 8; q++)
      hex.v[q] = f->parent[pla_hex_sheet_id(w, s, q)];
    f->sheet_hex[s] = add_hex(list, first, &hex);
  }
  f->cell_hex[cell + 1] = (uint32_t)(list->n - first);
  for (size_t k = first; k < list->n; k++)
    for (int q = 0; q < 8; q++)
      mark(&f->used[((Hex *)list->data)[k].v[q]]);
}

static PlaStatus
find_crossed_hexes(const PlaHexWork *w, Final *f, PlaError *err)
{
  const uint32_t n_blocks = (w->n_cells + CELLS_A_BLOCK - 1) / CELLS_A_BLOCK;
  PlaHexList *lists = pla_array_new0(n_blocks, sizeof *lists);
  f->cell_hex = pla_array_new((size_t)w->n_cells + 1, sizeof *f->cell_hex);
  f->cell_first = pla_array_new(w->n_cells, sizeof *f->cell_first);
  f->sheet_hex = pla_array_new(w->n_sheets, sizeof *f->sheet_hex);
  if (!lists || !f->cell_hex || !f->cell_first || !f->sheet_hex) {
    free(lists);
    return pla_fail_memory(err, "the hexahedra");
  }
  f->cell_hex[0] = 0;
#pragma omp parallel for schedule(dynamic)
  for (uint32_t b = 0; b < n_blocks; b++) {
    lists[b].size = sizeof(Hex);
    for (uint32_t c = b * CELLS_A_BLOCK; c < w->n_cells && c < (b + 1) * CELLS_A_BLOCK; c++)
      hexes_of_cell(w, f, c, &lists[b]);
  }
  size_t n;
  f->hex = pla_hex_lists_join(lists, n_blocks, &n);
  free(lists);
  if (!f->hex)
    return pla_fail_memory(err, "the hexahedra");
  for (uint32_t c = 0; c < w->n_cells; c++)
    f->cell_hex[c + 1] += f->cell_hex[c];
  return PLA_OK;
}

/* ---- the mesh ---- */

/* hexes of each line, and the vertices that those of uncrossed cells use */
static PlaStatus
count_hexes(const PlaHexWork *w, Final *f, size_t *n_hexes, PlaError *err)
{
  f->line_hex = pla_array_new0(w->n_lines + 1, sizeof *f->line_hex);
  if (!f->line_hex)
    return pla_fail_memory(err, "the hexahedra");
#pragma omp parallel for schedule(dynamic, 64)
  for (size_t l = 0; l < w->n_lines; l++) {
    if (!pla_hex_line_has_cells(w, l))
      continue;
    size_t n = 0;
    for (PlaHexStretch s = pla_hex_stretch_init(w, l); pla_hex_stretch_next(w, l, &s);) {
      if (s.cell != PLA_HEX_NONE)
        n += f->cell_hex[s.cell + 1] - f->cell_hex[s.cell];
      if (s.from >= s.to)
        continue;
      const uint32_t copies = pla_hex_copies_at(w, pla_hex_run_at(w, (uint32_t)l, s.from));
      n += (size_t)copies * (s.to - s.from);
      for (int e = 0; e < 8 && copies > 0; e += 2) {
        const uint32_t line = pla_hex_corner_line(w, (uint32_t)l, e);
        const uint32_t r = pla_hex_run_at(w, line, s.from), length = pla_hex_run_length(w, line, r);
        for (uint32_t c = 0; c < copies; c++) {
          const uint32_t base = w->run_base[r] + c * length - w->run_from[r];
          for (uint32_t i = s.from; i <= s.to; i++)
            mark(&f->used[f->parent[base + i]]);
        }
      }
    }
    f->line_hex[l + 1] = (uint32_t)n;
  }
  size_t n = 0;
  for (size_t l = 0; l < w->n_lines; l++) {
    n += f->line_hex[l + 1];
    f->line_hex[l + 1] = (uint32_t)n;
  }
  *n_hexes = n;
  return n <= INT32_MAX / 8 ? PLA_OK
                            : pla_fail(err, PLA_ERR_MEMORY,
                                       "The mesh would have %zu hexahedra, more than Platysma can "
                                       "number; choose a larger cell",
                                       n);
}

/* f->parent becomes the number in the mesh */
static uint32_t
number_verts(const PlaHexWork *w, Final *f)
{
  uint32_t n = 0;
  for (uint32_t v = 0; v < w->n_pool; v++)
    f->parent[v] = f->parent[v] != v ? f->parent[f->parent[v]] : f->used[v] ? n++ : PLA_HEX_NONE;
  return n;
}

static void
place(const PlaHexWork *w, const Final *f, uint32_t v, uint32_t line, uint32_t i, double *pos)
{
  if (f->used[v])
    pla_hex_node_pos(w, line, i, pos + 3 * (size_t)f->parent[v]);
}

static void
place_verts(const PlaHexWork *w, const Final *f, double *pos)
{
#pragma omp parallel
  {
#pragma omp for schedule(dynamic, 64) nowait
    for (size_t l = 0; l < w->n_lines; l++)
      for (uint32_t r = w->line_run[l]; r < w->line_run[l + 1]; r++) {
        const uint32_t copies = pla_hex_copies_at(w, r);
        const uint32_t length = copies ? pla_hex_run_length(w, (uint32_t)l, r) : 0;
        for (uint32_t c = 0; c < copies; c++)
          for (uint32_t k = 0; k < length; k++)
            place(w, f, w->run_base[r] + c * length + k, (uint32_t)l, w->run_from[r] + k, pos);
      }
#pragma omp for schedule(static) nowait
    for (uint32_t s = 0; s < w->n_spares; s++) {
      const uint32_t end = s + 1 < w->n_spares ? w->spare_base[s + 1] : w->vert_base;
      for (uint32_t v = w->spare_base[s]; v < end; v++)
        place(w, f, v, w->node_line[w->spare_node[s]], w->node_i[w->spare_node[s]], pos);
    }
#pragma omp for schedule(static)
    for (uint32_t v = 0; v < w->n_verts; v++)
      place(w, f, w->vert_base + v, w->node_line[w->vert_node[v]], w->node_i[w->vert_node[v]], pos);
  }
}

static void
fill_hexes(const PlaHexWork *w, const Final *f, PlaHexEmbed *out)
{
#pragma omp parallel for schedule(dynamic, 64)
  for (size_t l = 0; l < w->n_lines; l++) {
    if (f->line_hex[l + 1] == f->line_hex[l])
      continue;
    const int j = (int)(l % (size_t)w->lines_y), k = (int)(l / (size_t)w->lines_y);
    int *hex = out->mesh->hex + 8 * (size_t)f->line_hex[l];
    uint64_t *cell = out->cell + f->line_hex[l];
    for (PlaHexStretch s = pla_hex_stretch_init(w, l); pla_hex_stretch_next(w, l, &s);) {
      const uint32_t copies =
          s.from < s.to ? pla_hex_copies_at(w, pla_hex_run_at(w, (uint32_t)l, s.from)) : 0;
      uint32_t base[4], length[4];
      for (int e = 0; e < 4 && copies > 0; e++) {
        const uint32_t line = pla_hex_corner_line(w, (uint32_t)l, 2 * e);
        const uint32_t r = pla_hex_run_at(w, line, s.from);
        base[e] = w->run_base[r] - w->run_from[r];
        length[e] = pla_hex_run_length(w, line, r);
      }
      if (copies > 0)
        for (uint32_t i = s.from; i < s.to; i++)
          for (uint32_t c = 0; c < copies; c++) {
            for (int q = 0; q < 8; q++)
              hex[pla_hex_vtk_corner[q]] =
                  (int)f->parent[base[q >> 1] + c * length[q >> 1] + i + (uint32_t)(q & 1)];
            hex += 8;
            *cell++ = pla_hex_cell_key((int)i, j, k);
          }
      if (s.cell == PLA_HEX_NONE)
        continue;
      f->cell_first[s.cell] = (uint32_t)(cell - out->cell);
      for (uint32_t h = f->cell_hex[s.cell]; h < f->cell_hex[s.cell + 1]; h++) {
        for (int q = 0; q < 8; q++)
          hex[pla_hex_vtk_corner[q]] = (int)f->parent[f->hex[h].v[q]];
        hex += 8;
        *cell++ = pla_hex_cell_key((int)s.to, j, k);
      }
    }
  }
}

/* the cell of axis @d that holds @x, which lies inside the grid */
static int
cell_of(const PlaHexWork *w, int d, double x)
{
  int i = (int)((x - w->origin[d]) / w->h);
  while (i > 0 && w->coord[d][i] > x)
    i--;
  while (w->coord[d][i + 1] <= x)
    i++;
  return i;
}

/* all triangles around a vertex are of one sheet in the vertex's cell */
static PlaStatus
embed_surface(const PlaHexWork *w, const Final *f, PlaHexEmbed *out, PlaError *err)
{
  PlaStatus st = pla_embedding_init(&out->surface, w->surface->n_verts, 8, err);
  if (st != PLA_OK)
    return st;
#pragma omp parallel for schedule(static)
  for (int v = 0; v < w->surface->n_verts; v++) {
    const double *p = w->surface->pos + 3 * (size_t)v;
    double *weight = out->surface.weight + 8 * (size_t)v;
    out->surface.elem[v] = 0;
    if (w->ring_start[v + 1] == w->ring_start[v]) {
      /* a vertex of no triangle may lie anywhere, and goes with the first hex */
      double far[3];
      for (int d = 0; d < 3; d++)
        far[d] = (p[d] - w->coord[d][pla_hex_cell_index(out->cell[0], d)]) / w->h;
      pla_hex_weights(far, weight);
      continue;
    }
    int at[3];
    double t[3];
    for (int d = 0; d < 3; d++) {
      at[d] = cell_of(w, d, p[d]);
      const double lo = w->coord[d][at[d]], hi = w->coord[d][at[d] + 1];
      t[d] = (p[d] - lo) / (hi - lo);
    }
    pla_hex_weights(t, weight);
    const uint32_t line = (uint32_t)(at[1] + w->lines_y * at[2]);
    const uint32_t c = pla_hex_cell_at(w, line, (uint32_t)at[0]);
    const uint32_t tri = (uint32_t)w->ring[w->ring_start[v]];
    for (uint32_t r = w->cell_pair[c]; r < w->cell_pair[c + 1]; r++)
      if (w->pair[r].tri == tri) {
        out->surface.elem[v] = (int)(f->cell_first[c] + f->sheet_hex[w->pair_sheet[r]]);
        break;
      }
  }
  return PLA_OK;
}

static PlaStatus
assemble(const PlaHexWork *w, PlaHexEmbed *out, PlaError *err)
{
  Final f = { 0 };
  size_t n_hexes = 0;
  PlaStatus st = join_overlaps(w, &f, err);
  if (st == PLA_OK)
    st = find_crossed_hexes(w, &f, err);
  if (st == PLA_OK)
    st = count_hexes(w, &f, &n_hexes, err);
  if (st == PLA_OK)
    st = pla_mesh_new((int)number_verts(w, &f), 0, 0, (int)n_hexes, &out->mesh, err);
  if (st == PLA_OK) {
    out->cell = pla_array_new(n_hexes, sizeof *out->cell);
    st = out->cell ? PLA_OK : pla_fail_memory(err, "the hexahedra");
  }
  if (st == PLA_OK) {
    memcpy(out->origin_m, w->origin, sizeof w->origin);
    memcpy(out->dims, w->n, sizeof w->n);
    out->cell_m = w->h;
    place_verts(w, &f, out->mesh->pos);
    fill_hexes(w, &f, out);
    st = embed_surface(w, &f, out, err);
  }
  final_clear(&f);
  return st;
}

/* ---- the whole ---- */

/* sews, assembles, and holds the result against the surface */
static PlaStatus
finish(PlaHexWork *w, PlaProgress *progress, PlaHexEmbed *out, PlaHexViolations *v, PlaError *err)
{
  PlaStatus st = pla_hex_sew(w, progress, err);
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = assemble(w, out, err);
  if (st == PLA_OK)
    st = pla_hex_check(w, out, v, err);
  return st;
}

/* Where layers are missing, the sides of a slit may have been taken for one at its rim.  Without
 * the rim's vertices they are told apart; that counts only if all layers are there and hardly a
 * fault remains, or else we are back where we were. */
static PlaStatus
retry_without_forks(PlaHexWork *w, PlaProgress *progress, PlaHexEmbed *out, PlaHexViolations *v,
                    PlaError *err)
{
  int8_t *sign = pla_array_dup(w->vert_sign, w->n_verts, sizeof *sign);
  uint32_t turned = 0;
  PlaStatus st = sign ? pla_hex_turn_forks(w, &turned, err)
                      : pla_fail_memory(err, "the sheets of the surface");
  if (st == PLA_OK && turned > 0) {
    pla_hex_embed_clear(out);
    st = finish(w, progress, out, v, err);
    if (st == PLA_OK && (v->cells > 0 || pla_hex_label_components(out->mesh) > w->n_shells)) {
      memcpy(w->vert_sign, sign, w->n_verts * sizeof *sign);
      pla_hex_embed_clear(out);
      st = finish(w, progress, out, v, err);
    }
  }
  free(sign);
  return st;
}

/* share of crossed cells in which the body may be thinner than the cell: rims of ears, edges of
 * teeth; there the two faces are joined cell by cell, and the report counts them */
#define MOST_THIN 0.02

static PlaStatus
build(PlaHexWork *w, const PlaHexEmbedOptions *opts, PlaProgress *progress, PlaHexEmbed *out,
      PlaError *err)
{
  static const char *const what = "Embedding the surface";
  PlaHexViolations v = { 0 };
  PlaStatus st = pla_hex_prepare(w, opts, err);
  if (st == PLA_OK && !pla_progress_phase(progress, what, 0.25))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_hex_find_cells(w, progress, err);
  if (st == PLA_OK && !pla_progress_phase(progress, what, 0.35))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_hex_find_sheets(w, err);
  if (st == PLA_OK)
    st = pla_hex_find_regions(w, err);
  if (st == PLA_OK && !opts->accept)
    st = pla_hex_refuse_inside_out(w, err);
  if (st == PLA_OK && !pla_progress_phase(progress, what, 0.5))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = pla_hex_find_verts(w, progress, err);
  if (st == PLA_OK) {
    uint32_t cell;
    pla_hex_find_thin(w, &cell);
    if (w->report.thin_cells > MOST_THIN * w->n_cells && !opts->accept)
      st = pla_hex_refuse_thin(w, cell, err);
  }
  if (st == PLA_OK)
    pla_hex_turn_ends(w);
  if (st == PLA_OK)
    st = pla_hex_turn_rims(w, err);
  if (st == PLA_OK)
    st = pla_hex_find_pieces(w, err);
  if (st == PLA_OK && !pla_progress_phase(progress, what, 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK)
    st = finish(w, progress, out, &v, err);
  if (st == PLA_OK && (v.cells > 0 || w->report.unresolved_nodes > 0))
    st = retry_without_forks(w, progress, out, &v, err);
  if (st == PLA_OK && v.cells > 0 && !opts->accept)
    st = pla_hex_refuse_violations(w, &v, err);
  return st;
}

/* Where sheets meet at flat angles, at the corner of a mouth for instance, the nodes of one grid
 * may tell them apart and those of another not: of a few places of the grid, the first without
 * pockets or bridges, or else that with the fewest.  What is refused, is refused at the first. */
enum { ATTEMPTS = 6 };

static PlaStatus
build_best(const PlaTriMesh *surface, const PlaHexEmbedOptions *opts, PlaProgress *progress,
           PlaHexEmbed *out, PlaHexEmbedReport *report, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int k = 0; k < ATTEMPTS && st == PLA_OK; k++) {
    PlaHexWork work = { .surface = surface, .attempt = k };
    PlaHexEmbed mesh = { 0 };
    PlaError own = { 0 };
    st = build(&work, opts, progress, &mesh, &own);
    const bool better =
        k == 0 || (st == PLA_OK && work.report.winding_violations == 0 &&
                   pla_hex_topology_defects(&work.report) < pla_hex_topology_defects(report));
    if (better) {
      pla_hex_embed_clear(out);
      *out = mesh;
      *report = work.report;
    } else {
      pla_hex_embed_clear(&mesh);
    }
    pla_hex_work_clear(&work);
    /* a later attempt may fail; only a cancel counts */
    if (st != PLA_OK && (k == 0 || st == PLA_ERR_CANCELLED)) {
      if (err)
        *err = own;
      return st;
    }
    st = PLA_OK;
    if (opts->node_m || report->winding_violations > 0 || pla_hex_topology_defects(report) == 0)
      break;
  }
  return st;
}

PlaStatus
pla_hex_embed(const PlaTriMesh *surface, const PlaHexEmbedOptions *opts, PlaProgress *progress,
              PlaHexEmbed *out, PlaHexEmbedReport *report, PlaError *err)
{
  PlaHexEmbedReport found = { 0 };
  *out = (PlaHexEmbed){ 0 };
  PlaStatus st = build_best(surface, opts, progress, out, &found, err);
  for (int k = 0; k < opts->coarsen && st == PLA_OK; k++) {
    PlaHexEmbed coarse;
    st = pla_hex_embed_coarsen(out, progress, &coarse, err);
    if (st == PLA_OK) {
      pla_hex_embed_clear(out);
      *out = coarse;
    }
  }
  if (st == PLA_OK) {
    found.duplicated_cells = pla_hex_count_duplicated(out);
    found.components = pla_hex_label_components(out->mesh);
    if (found.components < 0)
      st = pla_fail_memory(err, "the components of the mesh");
  }
  if (report)
    *report = found;
  if (st != PLA_OK)
    pla_hex_embed_clear(out);
  return st;
}

int
pla_hex_count_duplicated(const PlaHexEmbed *self)
{
  int n = 0;
  for (int h = 1; h < self->mesh->n_hexes; h++)
    n += self->cell[h] == self->cell[h - 1] && (h == 1 || self->cell[h] != self->cell[h - 2]);
  return n;
}

int
pla_hex_label_components(PlaMesh *mesh)
{
  const int corners = mesh->n_hexes > 0 ? 8 : 4;
  const size_t n_cells = (size_t)(mesh->n_hexes > 0 ? mesh->n_hexes : mesh->n_tets);
  const int *cells = mesh->n_hexes > 0 ? mesh->hex : mesh->tet;
  int *parent = pla_array_new((size_t)mesh->n_verts, sizeof *parent);
  int32_t *label = pla_mesh_add_field(mesh, PLA_HEX_COMPONENT, PLA_ON_CELLS, PLA_I32, 1);
  int n = -1;
  if (parent && label) {
    for (int v = 0; v < mesh->n_verts; v++)
      parent[v] = v;
    for (size_t c = 0; c < n_cells; c++) {
      int a = pla_union_find_root(parent, cells[(size_t)corners * c]);
      for (int k = 1; k < corners; k++) {
        const int b = pla_union_find_root(parent, cells[(size_t)corners * c + (size_t)k]);
        parent[a > b ? a : b] = a < b ? a : b;
        a = a < b ? a : b;
      }
    }
    /* numbers by first cell; a root's own entry turns into minus one minus its number */
    n = 0;
    for (size_t c = 0; c < n_cells; c++) {
      int v = cells[(size_t)corners * c];
      while (parent[v] >= 0 && parent[v] != v)
        v = parent[v];
      if (parent[v] == v)
        parent[v] = -1 - n++;
      label[c] = -1 - parent[v];
    }
  }
  free(parent);
  return n;
}

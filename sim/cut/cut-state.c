/* A cut mesh as named arrays.
 *
 *   cut/rest (3), cut/vert_source                       vertices
 *   cut/tet (4), tet_source, tet_copied, skin           tets
 *   cut/link_head (4), cut/link (tet, face, next)       what is connected across faces
 *   cut/count                                           triangles of all blades, first free link
 *   cut/carved                                          of a carved body: triangles of its surface
 *   cut/scan_pos (3), cut/scan_tri (3)                  that surface, where it is kept: vertices,
 * facets, cut/scan_part (3), cut/scan_start                   their parts and the first part of
 * each cut/complex (tet, planes, points, patches, cells)   tets that blades have reached, and for
 * all of them one after the other: cut/plane (8)         four 128-bit integers, low and high halves
 *   cut/point_plane (3), point_side (sign, faces), point (8: l, bound)
 *   cut/patch (6: plane, cells, face, triangle, corners), cut/corner (vert, plane)
 *   cut/cell (patches), cut/cell_patch
 *
 * Answers that are only kept to be quick are left out: the same material gives the same arrays,
 * whatever has been asked about it. */
#include "sim/cut/cut-state.h"

#include "anatomy/base/memory.h"
#include "sim/cut/cut-mesh-private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* numbers of all complexes together */
typedef struct {
  size_t n_complexes, n_planes, n_verts, n_patches, n_corners, n_cells, n_cell_patches;
} Sizes;

static void
count_complex(const PlaCutComplex *c, Sizes *sizes)
{
  sizes->n_complexes++;
  sizes->n_planes += (size_t)c->n_planes;
  sizes->n_verts += (size_t)c->n_verts;
  sizes->n_patches += (size_t)c->n_patches;
  sizes->n_cells += (size_t)c->n_cells;
  for (int p = 0; p < c->n_patches; p++)
    sizes->n_corners += (size_t)c->patch[p].n_corners;
  for (int k = 0; k < c->n_cells; k++)
    sizes->n_cell_patches += (size_t)c->cell[k].n_patches;
}

/* where the next complex goes, or comes from */
typedef struct {
  int *refined;
  uint64_t *plane;
  int *point_plane;
  int8_t *point_side;
  double *point;
  int *patch, *corner, *cell, *cell_patch;
} Cursor;

static void
save_complex(const PlaCutComplex *c, int tet, Cursor *at)
{
  const int head[5] = { tet, c->n_planes, c->n_verts, c->n_patches, c->n_cells };
  memcpy(at->refined, head, sizeof head);
  at->refined += 5;
  /* integer coefficients of planes, as two words each */
  for (int p = 0; p < c->n_planes; p++)
    for (int i = 0; i < 4; i++) {
      *at->plane++ = (uint64_t)c->plane[p].d[i];
      *at->plane++ = (uint64_t)(c->plane[p].d[i] >> 64);
    }
  /* points: their planes, sign, faces, coordinates and bounds */
  for (int v = 0; v < c->n_verts; v++) {
    const PlaCutVert *vert = &c->vert[v];
    memcpy(at->point_plane, vert->plane, sizeof vert->plane);
    at->point_plane += 3;
    *at->point_side++ = vert->sign;
    *at->point_side++ = (int8_t)vert->faces;
    memcpy(at->point, vert->l, sizeof vert->l);
    memcpy(at->point + 4, vert->bound, sizeof vert->bound);
    at->point += 8;
  }
  /* patches and their corners */
  for (int p = 0; p < c->n_patches; p++) {
    const PlaCutPatch *patch = &c->patch[p];
    const int row[6] = { patch->plane, patch->cell[0],  patch->cell[1],
                         patch->face,  patch->triangle, patch->n_corners };
    memcpy(at->patch, row, sizeof row);
    at->patch += 6;
    for (int k = 0; k < patch->n_corners; k++) {
      *at->corner++ = patch->corner[k].vert;
      *at->corner++ = patch->corner[k].plane;
    }
  }
  /* cells and their patches */
  for (int k = 0; k < c->n_cells; k++) {
    const PlaCutCell *cell = &c->cell[k];
    *at->cell++ = cell->n_patches;
    memcpy(at->cell_patch, cell->patch, (size_t)cell->n_patches * sizeof *cell->patch);
    at->cell_patch += cell->n_patches;
  }
}

static bool
save_complexes(const PlaCutMesh *self, PlaNamedArrays *out)
{
  Sizes n = { 0 };
  for (int t = 0; t < self->n_tets; t++)
    if (self->refined[t])
      count_complex(self->refined[t], &n);
  Cursor at = { 0 };
  bool ok =
      (at.refined = pla_named_arrays_add(out, "cut/complex", PLA_I32, 5, n.n_complexes)) &&
      (at.plane = pla_named_arrays_add(out, "cut/plane", PLA_U64, 8, n.n_planes)) &&
      (at.point_plane = pla_named_arrays_add(out, "cut/point_plane", PLA_I32, 3, n.n_verts)) &&
      (at.point_side = pla_named_arrays_add(out, "cut/point_side", PLA_I8, 2, n.n_verts)) &&
      (at.point = pla_named_arrays_add(out, "cut/point", PLA_F64, 8, n.n_verts)) &&
      (at.patch = pla_named_arrays_add(out, "cut/patch", PLA_I32, 6, n.n_patches)) &&
      (at.corner = pla_named_arrays_add(out, "cut/corner", PLA_I32, 2, n.n_corners)) &&
      (at.cell = pla_named_arrays_add(out, "cut/cell", PLA_I32, 1, n.n_cells)) &&
      (at.cell_patch = pla_named_arrays_add(out, "cut/cell_patch", PLA_I32, 1, n.n_cell_patches));
  for (int t = 0; ok && t < self->n_tets; t++)
    if (self->refined[t])
      save_complex(self->refined[t], t, &at);
  return ok;
}

static bool
save_scan(const PlaCutScan *scan, size_t n_facets, PlaNamedArrays *out)
{
  const size_t n_verts = (size_t)scan->n_verts, n_parts = (size_t)scan->n_parts;
  return pla_named_arrays_put(out, "cut/scan_pos", PLA_F64, 3, n_verts, scan->pos) &&
         pla_named_arrays_put(out, "cut/scan_tri", PLA_I32, 3, n_facets, scan->tri) &&
         pla_named_arrays_put(out, "cut/scan_part", PLA_I32, 3, n_parts, scan->part) &&
         pla_named_arrays_put(out, "cut/scan_start", PLA_I32, 1, n_facets + 1, scan->start);
}

PlaStatus
pla_cut_mesh_save(const PlaCutMesh *self, PlaNamedArrays *out, PlaError *err)
{
  const size_t n_verts = (size_t)self->n_verts, n_tets = (size_t)self->n_tets;
  const int count[2] = { self->n_triangles, self->free_link };
  bool ok = pla_named_arrays_put(out, "cut/rest", PLA_F64, 3, n_verts, self->rest) &&
            pla_named_arrays_put(out, "cut/vert_source", PLA_I32, 1, n_verts, self->vert_source) &&
            pla_named_arrays_put(out, "cut/tet", PLA_I32, 4, n_tets, self->tet) &&
            pla_named_arrays_put(out, "cut/tet_source", PLA_I32, 1, n_tets, self->tet_source) &&
            pla_named_arrays_put(out, "cut/tet_copied", PLA_I32, 1, n_tets, self->tet_copied) &&
            pla_named_arrays_put(out, "cut/skin", PLA_U8, 1, n_tets, self->skin) &&
            pla_named_arrays_put(out, "cut/link_head", PLA_I32, 4, n_tets, self->link_head) &&
            pla_named_arrays_put(out, "cut/count", PLA_I32, 1, 2, count) &&
            (self->n_carved == 0 ||
             pla_named_arrays_put(out, "cut/carved", PLA_I32, 1, 1, &self->n_carved)) &&
            (!self->scan.pos || save_scan(&self->scan, (size_t)self->n_carved, out));
  int *link = ok ? pla_named_arrays_add(out, "cut/link", PLA_I32, 3, (size_t)self->n_links) : NULL;
  for (int i = 0; link && i < self->n_links; i++) {
    link[3 * i] = self->link[i].tet;
    link[3 * i + 1] = self->link[i].face;
    link[3 * i + 2] = self->link[i].next;
  }
  return link && save_complexes(self, out) ? PLA_OK : pla_fail_memory(err, "the cut mesh");
}

/* ---- and back ---- */

/* tuples of the arrays that are not yet read */
typedef struct {
  int plane, point, patch, corner, cell, cell_patch;
} Left;

static bool
load_patches(PlaCutComplex *c, Cursor *at, Left *left)
{
  for (int p = 0; p < c->n_patches; p++, at->patch += 6) {
    const int *row = at->patch;
    const int n = row[5];
    if (!pla_ints_within(row, 1, 0, c->n_planes) || !pla_ints_within(row + 1, 2, -1, c->n_cells) ||
        (row[1] < 0 && row[2] < 0) || !pla_ints_within(row + 3, 1, -1, 4) || row[4] < -1 || n < 3 ||
        n > left->corner)
      return false;
    PlaCutPatch *patch = &c->patch[p];
    *patch = (PlaCutPatch){ .plane = row[0],
                            .cell = { row[1], row[2] },
                            .face = row[3],
                            .triangle = row[4],
                            .seen = -1,
                            .n_corners = n,
                            .corner = pla_array_new((size_t)n, sizeof *patch->corner) };
    if (!patch->corner)
      return false;
    for (int k = 0; k < n; k++, at->corner += 2) {
      if (!pla_ints_within(at->corner, 1, 0, c->n_verts) ||
          !pla_ints_within(at->corner + 1, 1, 0, c->n_planes))
        return false;
      patch->corner[k] = (PlaCutCorner){ at->corner[0], at->corner[1] };
    }
    left->corner -= n;
  }
  return true;
}

static bool
load_cells(PlaCutComplex *c, Cursor *at, Left *left)
{
  for (int k = 0; k < c->n_cells; k++) {
    const int n = *at->cell++;
    PlaCutCell *cell = &c->cell[k];
    if (n < 1 || n > left->cell_patch ||
        !pla_ints_within(at->cell_patch, (size_t)n, 0, c->n_patches))
      return false;
    cell->patch = pla_array_dup(at->cell_patch, (size_t)n, sizeof *cell->patch);
    if (!cell->patch)
      return false;
    cell->n_patches = cell->capacity = n;
    at->cell_patch += n;
    left->cell_patch -= n;
  }
  return true;
}

static bool
load_points(PlaCutComplex *c, Cursor *at)
{
  for (int p = 0; p < c->n_planes; p++)
    for (int i = 0; i < 4; i++, at->plane += 2) {
      c->plane[p].d[i] = (PlaInt128)((PlaUint128)at->plane[1] << 64 | at->plane[0]);
      c->plane[p].a[i] = (double)c->plane[p].d[i];
    }
  for (int v = 0; v < c->n_verts; v++) {
    PlaCutVert *vert = &c->vert[v];
    if (!pla_ints_within(at->point_plane, 3, 0, c->n_planes) ||
        (at->point_side[0] != 1 && at->point_side[0] != -1))
      return false;
    *vert = (PlaCutVert){ .asked = -1,
                          .sign = at->point_side[0],
                          .faces = (uint8_t)at->point_side[1] & 15 };
    memcpy(vert->plane, at->point_plane, sizeof vert->plane);
    memcpy(vert->l, at->point, sizeof vert->l);
    memcpy(vert->bound, at->point + 4, sizeof vert->bound);
    at->point_plane += 3;
    at->point_side += 2;
    at->point += 8;
  }
  return true;
}

/* NULL: it is none, or memory is short */
static PlaCutComplex *
load_complex(Cursor *at, Left *left)
{
  /* counts must fit into what is left of the arrays */
  const int *head = at->refined;
  if (!pla_ints_within(head + 1, 4, 1, INT_MAX) || head[1] < PLA_CUT_FACES ||
      head[1] > left->plane || head[2] > left->point || head[3] > left->patch ||
      head[4] > left->cell)
    return NULL;
  PlaCutComplex *c = pla_array_new0(1, sizeof *c);
  if (!c)
    return NULL;
  c->plane = pla_array_new0((size_t)head[1], sizeof *c->plane);
  c->vert = pla_array_new0((size_t)head[2], sizeof *c->vert);
  c->patch = pla_array_new0((size_t)head[3], sizeof *c->patch);
  c->cell = pla_array_new0((size_t)head[4], sizeof *c->cell);
  bool ok = c->plane && c->vert && c->patch && c->cell;
  if (ok) {
    c->n_planes = c->cap_planes = head[1];
    c->n_verts = c->cap_verts = head[2];
    c->n_patches = c->cap_patches = head[3];
    c->n_cells = c->cap_cells = head[4];
    left->plane -= head[1];
    left->point -= head[2];
    left->patch -= head[3];
    left->cell -= head[4];
    ok = load_points(c, at) && load_patches(c, at, left) && load_cells(c, at, left);
  }
  at->refined += 5;
  if (ok)
    return c;
  pla_cut_complex_free(c);
  return NULL;
}

static PlaStatus
load_complexes(PlaCutMesh *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const struct {
    const char *name;
    PlaDType dtype;
    int width;
  } want[] = {
    { "cut/complex", PLA_I32, 5 },   { "cut/plane", PLA_U64, 8 }, { "cut/point_plane", PLA_I32, 3 },
    { "cut/point_side", PLA_I8, 2 }, { "cut/point", PLA_F64, 8 }, { "cut/patch", PLA_I32, 6 },
    { "cut/corner", PLA_I32, 2 },    { "cut/cell", PLA_I32, 1 },  { "cut/cell_patch", PLA_I32, 1 },
  };
  enum { N = sizeof want / sizeof *want };
  const void *data[N];
  int n[N];
  /* the arrays, with as many points everywhere */
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < N; i++) {
    n[i] = i == 3 || i == 4 ? n[2] : -1;
    st = pla_named_arrays_get(arrays, want[i].name, want[i].dtype, want[i].width, &n[i], &data[i],
                              err);
  }
  if (st != PLA_OK)
    return st;
  /* the cursor is shared with saving; nothing is written through it here */
  Cursor at = { (int *)data[0],    (uint64_t *)data[1], (int *)data[2],
                (int8_t *)data[3], (double *)data[4],   (int *)data[5],
                (int *)data[6],    (int *)data[7],      (int *)data[8] };
  Left left = { n[1], n[2], n[5], n[6], n[7], n[8] };
  /* one complex for each cut tet */
  for (int i = 0; i < n[0]; i++) {
    const int tet = at.refined[0];
    PlaCutComplex *c =
        tet >= 0 && tet < self->n_tets && !self->refined[tet] ? load_complex(&at, &left) : NULL;
    if (!c)
      return pla_fail(err, PLA_ERR_FORMAT, "the cut through tet %d is damaged", tet);
    self->refined[tet] = c;
  }
  return PLA_OK;
}

static PlaStatus
load_links(PlaCutMesh *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *data = NULL;
  int n = -1;
  PlaStatus st = pla_named_arrays_get(arrays, "cut/link", PLA_I32, 3, &n, &data, err);
  if (st != PLA_OK)
    return st;
  const int *link = data;
  self->link = pla_array_new((size_t)n, sizeof *self->link);
  if (!self->link)
    return pla_fail_memory(err, "the cut mesh");
  self->n_links = self->cap_links = n;
  bool ok = pla_ints_within(self->link_head, 4 * (size_t)self->n_tets, -1, n) &&
            self->free_link >= -1 && self->free_link < n;
  /* each link hangs in one chain: none is its own successor, whatever the file says */
  for (int i = 0; ok && i < n; i++) {
    const int *row = &link[3 * i];
    self->link[i] = (PlaCutLink){ row[0], row[1], row[2] };
    ok = row[0] >= 0 && row[1] >= 0 && row[1] < 4 && row[2] >= -1 && row[2] < n;
  }
  /* every chain ends, and no link is in two of them */
  uint8_t *seen = ok ? pla_array_new0((size_t)n, 1) : NULL;
  for (int64_t h = -1; seen && ok && h < 4 * (int64_t)self->n_tets; h++)
    for (int i = h < 0 ? self->free_link : self->link_head[h]; ok && i >= 0;
         i = self->link[i].next) {
      ok = !seen[i] && (h < 0 || self->link[i].tet < self->n_tets);
      seen[i] = 1;
    }
  if (ok && !seen)
    return pla_fail_memory(err, "the cut mesh");
  free(seen);
  return ok ? PLA_OK : pla_fail(err, PLA_ERR_FORMAT, "the links between tets are damaged");
}

static PlaStatus
load_scan(PlaCutScan *scan, int n_facets, const PlaNamedArrays *arrays, PlaError *err)
{
  int n_starts = n_facets + 1;
  scan->n_verts = scan->n_parts = -1;
  PlaStatus st = pla_named_arrays_dup(arrays, "cut/scan_pos", PLA_F64, 3, &scan->n_verts,
                                      (void **)&scan->pos, err);
  if (st == PLA_OK)
    st = pla_named_arrays_dup(arrays, "cut/scan_tri", PLA_I32, 3, &n_facets, (void **)&scan->tri,
                              err);
  if (st == PLA_OK)
    st = pla_named_arrays_dup(arrays, "cut/scan_part", PLA_I32, 3, &scan->n_parts,
                              (void **)&scan->part, err);
  if (st == PLA_OK)
    st = pla_named_arrays_dup(arrays, "cut/scan_start", PLA_I32, 1, &n_starts,
                              (void **)&scan->start, err);
  if (st != PLA_OK)
    return st;
  /* every facet has parts, and they follow each other */
  bool ok = pla_ints_within(scan->tri, 3 * (size_t)n_facets, 0, scan->n_verts) &&
            pla_ints_within(scan->part, 3 * (size_t)scan->n_parts, 0, scan->n_verts) &&
            scan->start[0] == 0 && scan->start[n_facets] == scan->n_parts;
  for (int i = 0; ok && i < n_facets; i++)
    ok = scan->start[i] < scan->start[i + 1] && scan->start[i + 1] <= scan->n_parts;
  for (size_t i = 0; ok && i < 3 * (size_t)scan->n_verts; i++)
    ok = isfinite(scan->pos[i]);
  return ok ? PLA_OK : pla_fail(err, PLA_ERR_FORMAT, "the surface of the carved body is damaged");
}

/* bodies that are not carved have no such array */
static PlaStatus
load_carved(PlaCutMesh *self, const PlaNamedArrays *arrays, PlaError *err)
{
  const void *carved = NULL;
  int one = 1;
  if (!pla_named_arrays_has(arrays, "cut/carved"))
    return PLA_OK;
  PlaStatus st = pla_named_arrays_get(arrays, "cut/carved", PLA_I32, 1, &one, &carved, err);
  if (st != PLA_OK)
    return st;
  self->n_carved = *(const int *)carved;
  if (self->n_carved < 0 || self->n_carved > self->n_triangles)
    return pla_fail(err, PLA_ERR_FORMAT, "the count of carving triangles is damaged");
  return pla_named_arrays_has(arrays, "cut/scan_pos")
             ? load_scan(&self->scan, self->n_carved, arrays, err)
             : PLA_OK;
}

PlaStatus
pla_cut_mesh_load(const PlaNamedArrays *arrays, PlaCutMesh **out, PlaError *err)
{
  *out = NULL;
  PlaCutMesh *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the cut mesh");
  /* arrays of the right type, width and count */
  int n_verts = -1, n_tets = -1, two = 2;
  const void *count = NULL;
  PlaStatus st =
      pla_named_arrays_dup(arrays, "cut/rest", PLA_F64, 3, &n_verts, (void **)&self->rest, err);
  const struct {
    const char *name;
    PlaDType dtype;
    int width, *n;
    void **into;
  } want[] = {
    { "cut/vert_source", PLA_I32, 1, &n_verts, (void **)&self->vert_source },
    { "cut/tet", PLA_I32, 4, &n_tets, (void **)&self->tet },
    { "cut/tet_source", PLA_I32, 1, &n_tets, (void **)&self->tet_source },
    { "cut/tet_copied", PLA_I32, 1, &n_tets, (void **)&self->tet_copied },
    { "cut/skin", PLA_U8, 1, &n_tets, (void **)&self->skin },
    { "cut/link_head", PLA_I32, 4, &n_tets, (void **)&self->link_head },
  };
  for (size_t i = 0; st == PLA_OK && i < sizeof want / sizeof *want; i++)
    st = pla_named_arrays_dup(arrays, want[i].name, want[i].dtype, want[i].width, want[i].n,
                              want[i].into, err);
  if (st == PLA_OK)
    st = pla_named_arrays_get(arrays, "cut/count", PLA_I32, 1, &two, &count, err);
  if (st == PLA_OK) {
    self->refined = pla_array_new0((size_t)n_tets, sizeof(PlaCutComplex *));
    self->chain = pla_array_new((size_t)n_tets, sizeof *self->chain);
    self->slot = pla_array_new0((size_t)n_tets, sizeof *self->slot);
    self->met = pla_array_new0((size_t)n_tets, sizeof *self->met);
    self->kept = pla_array_new0((size_t)n_verts, sizeof *self->kept);
    if (!self->refined || !self->chain || !self->slot || !self->met || !self->kept)
      st = pla_fail_memory(err, "the cut mesh");
  }
  if (st == PLA_OK) {
    /* all indices in range, all positions finite */
    self->n_verts = self->cap_verts = n_verts;
    self->n_tets = self->cap_tets = n_tets;
    self->n_triangles = ((const int *)count)[0];
    self->free_link = ((const int *)count)[1];
    bool ok = n_tets > 0 && pla_ints_within(self->tet, 4 * (size_t)n_tets, 0, n_verts) &&
              pla_ints_within(self->tet_copied, (size_t)n_tets, 0, n_tets) &&
              pla_ints_within(self->tet_source, (size_t)n_tets, 0, INT_MAX) &&
              pla_ints_within(self->vert_source, (size_t)n_verts, 0, INT_MAX) &&
              self->n_triangles >= 0;
    for (int i = 0; ok && i < 3 * n_verts; i++)
      ok = isfinite(self->rest[i]);
    st = ok ? load_links(self, arrays, err)
            : pla_fail(err, PLA_ERR_FORMAT, "the tets of the cut mesh are damaged");
  }
  if (st == PLA_OK)
    st = load_complexes(self, arrays, err);
  if (st == PLA_OK)
    st = load_carved(self, arrays, err);
  if (st == PLA_OK && !pla_cut_mesh_make_tree(self))
    st = pla_fail_memory(err, "the cut mesh");
  if (st == PLA_OK)
    *out = self;
  else
    pla_cut_mesh_free(self);
  return st;
}

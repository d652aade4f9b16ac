/* Coarser hexahedral embeddings that keep apart what was apart (Chen 2024).
 *
 * Every fine hex gives a coarse one.  Fine hexes that share a face and lie side by side in a coarse
 * cell give the same; those that share a face across the border of two coarse cells give hexes that
 * share that face; those that coincide and share a face give hexes that share the face on the same
 * side.  Nothing else is joined. */
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/embed/hex-private.h"

#include <stdlib.h>
#include <string.h>

/* ---- cells of a mesh, for this and the tets ---- */

void
pla_hex_cells_clear(PlaHexCells *self)
{
  free(self->first);
  free(self->of_hex);
  for (int d = 0; d < 3; d++)
    free(self->next[d]);
  *self = (PlaHexCells){ 0 };
}

PlaStatus
pla_hex_cells_init(PlaHexCells *self, const PlaHexEmbed *mesh, PlaError *err)
{
  const int n_hexes = mesh->mesh->n_hexes;
  *self = (PlaHexCells){ 0 };
  for (int h = 0; h < n_hexes; h++)
    self->n += h == 0 || mesh->cell[h] != mesh->cell[h - 1];
  self->first = pla_array_new((size_t)self->n + 1, sizeof *self->first);
  self->of_hex = pla_array_new((size_t)n_hexes, sizeof *self->of_hex);
  bool failed = !self->first || !self->of_hex;
  for (int d = 0; d < 3; d++) {
    self->next[d] = pla_array_new((size_t)self->n, sizeof *self->next[d]);
    failed = failed || !self->next[d];
  }
  if (failed) {
    pla_hex_cells_clear(self);
    return pla_fail_memory(err, "the cells of the mesh");
  }
  for (int h = 0, c = -1; h < n_hexes; h++) {
    if (h == 0 || mesh->cell[h] != mesh->cell[h - 1])
      self->first[++c] = h;
    self->of_hex[h] = c;
  }
  self->first[self->n] = n_hexes;
  /* keys rise, and so do those of the neighbours: one pointer a direction */
  for (int d = 0; d < 3; d++) {
    const uint64_t step = (uint64_t)1 << (d * PLA_HEX_CELL_BITS);
    for (int c = 0, to = 0; c < self->n; c++) {
      const uint64_t key = mesh->cell[self->first[c]] + step;
      while (to < self->n && mesh->cell[self->first[to]] < key)
        to++;
      self->next[d][c] = to < self->n && mesh->cell[self->first[to]] == key ? to : -1;
    }
  }
  return PLA_OK;
}

bool
pla_hex_share_face(const PlaMesh *mesh, int a, int b, int d)
{
  const int *x = mesh->hex + 8 * (size_t)a, *y = mesh->hex + 8 * (size_t)b;
  for (int q = 0; q < 8; q++)
    if ((q >> d & 1) && x[pla_hex_vtk_corner[q]] != y[pla_hex_vtk_corner[q ^ 1 << d]])
      return false;
  return true;
}

bool
pla_hex_share_side(const PlaMesh *mesh, int a, int b, int d, int side)
{
  const int *x = mesh->hex + 8 * (size_t)a, *y = mesh->hex + 8 * (size_t)b;
  for (int q = 0; q < 8; q++)
    if ((q >> d & 1) == side && x[pla_hex_vtk_corner[q]] != y[pla_hex_vtk_corner[q]])
      return false;
  return true;
}

/* ---- coarsening ---- */

static uint64_t
coarse_key(uint64_t key)
{
  return pla_hex_cell_key(pla_hex_cell_index(key, 0) / 2, pla_hex_cell_index(key, 1) / 2,
                          pla_hex_cell_index(key, 2) / 2);
}

typedef struct {
  uint64_t key;
  int hex; /* lowest fine hex */
} Group;

static int
compare_groups(const void *a, const void *b)
{
  const Group *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                          : (x->hex > y->hex) - (x->hex < y->hex);
}

typedef struct {
  const PlaHexEmbed *fine;
  PlaHexCells cells;
  int *group_of; /* of each fine hex */
  int n_groups;
  Group *group; /* by key */
  int *parent;  /* of the groups' corners (n_groups x 8) */
  int *hex_of;  /* coarse hex of each group */
} Coarsen;

static void
coarsen_clear(Coarsen *c)
{
  pla_hex_cells_clear(&c->cells);
  free(c->group_of);
  free(c->group);
  free(c->parent);
  free(c->hex_of);
}

/* fine hexes that give the same coarse one */
static PlaStatus
find_groups(Coarsen *c, PlaError *err)
{
  const PlaMesh *mesh = c->fine->mesh;
  const int n_hexes = mesh->n_hexes;
  int *parent = pla_array_new((size_t)n_hexes, sizeof *parent);
  c->group_of = parent;
  if (!parent)
    return pla_fail_memory(err, "the coarser mesh");
  for (int h = 0; h < n_hexes; h++)
    parent[h] = h;
  for (int k = 0; k < c->cells.n; k++)
    for (int d = 0; d < 3; d++) {
      const int next = c->cells.next[d][k];
      if (next < 0 || pla_hex_cell_index(c->fine->cell[c->cells.first[k]], d) % 2 != 0)
        continue;
      for (int a = c->cells.first[k]; a < c->cells.first[k + 1]; a++)
        for (int b = c->cells.first[next]; b < c->cells.first[next + 1]; b++)
          if (pla_hex_share_face(mesh, a, b, d))
            pla_union_find_join(parent, a, b);
    }
  for (int h = 0; h < n_hexes; h++)
    c->n_groups += parent[h] == h;
  c->group = pla_array_new((size_t)c->n_groups, sizeof *c->group);
  c->parent = pla_array_new(8 * (size_t)c->n_groups, sizeof *c->parent);
  c->hex_of = pla_array_new((size_t)c->n_groups, sizeof *c->hex_of);
  if (!c->group || !c->parent || !c->hex_of)
    return pla_fail_memory(err, "the coarser mesh");
  for (int h = 0, g = 0; h < n_hexes; h++)
    if (parent[h] == h)
      c->group[g++] = (Group){ coarse_key(c->fine->cell[h]), h };
  qsort(c->group, (size_t)c->n_groups, sizeof *c->group, compare_groups);
  /* roots take the group's number as minus one minus it, then the others follow */
  for (int h = 0; h < n_hexes; h++)
    parent[h] = pla_union_find_root(parent, h);
  for (int g = 0; g < c->n_groups; g++)
    parent[c->group[g].hex] = -1 - g;
  for (int h = 0; h < n_hexes; h++)
    parent[h] = parent[h] < 0 ? -1 - parent[h] : parent[parent[h]];
  return PLA_OK;
}

/* corners of groups that shared faces of their hexes join */
static void
join_corners(Coarsen *c)
{
  const PlaMesh *mesh = c->fine->mesh;
  for (int v = 0; v < 8 * c->n_groups; v++)
    c->parent[v] = v;
  for (int k = 0; k < c->cells.n; k++)
    for (int d = 0; d < 3; d++) {
      const int first = c->cells.first[k], end = c->cells.first[k + 1], next = c->cells.next[d][k];
      if (next >= 0 && pla_hex_cell_index(c->fine->cell[first], d) % 2 != 0)
        for (int a = first; a < end; a++)
          for (int b = c->cells.first[next]; b < c->cells.first[next + 1]; b++)
            if (pla_hex_share_face(mesh, a, b, d))
              for (int q = 0; q < 8; q++)
                if (q >> d & 1)
                  pla_union_find_join(c->parent, 8 * c->group_of[a] + q,
                                      8 * c->group_of[b] + (q ^ 1 << d));
      for (int a = first; a < end; a++)
        for (int b = first; b < a; b++)
          for (int side = 0; side < 2; side++)
            if (pla_hex_share_side(mesh, a, b, d, side))
              for (int q = 0; q < 8; q++)
                if ((q >> d & 1) == side)
                  pla_union_find_join(c->parent, 8 * c->group_of[a] + q, 8 * c->group_of[b] + q);
    }
  for (int v = 0; v < 8 * c->n_groups; v++)
    c->parent[v] = pla_union_find_root(c->parent, v);
}

/* groups with the same eight corners are one hex; the number of hexes */
static int
number_hexes(Coarsen *c)
{
  int n = 0;
  for (int g = 0; g < c->n_groups; g++) {
    c->hex_of[g] = -1;
    for (int e = g - 1; e >= 0 && c->group[e].key == c->group[g].key && c->hex_of[g] < 0; e--)
      if (memcmp(c->parent + 8 * (size_t)e, c->parent + 8 * (size_t)g, 8 * sizeof *c->parent) == 0)
        c->hex_of[g] = c->hex_of[e];
    if (c->hex_of[g] < 0)
      c->hex_of[g] = n++;
  }
  return n;
}

static void
fill(const Coarsen *c, const int *number, PlaHexEmbed *out)
{
  const PlaHexEmbed *fine = c->fine;
  for (int g = 0; g < c->n_groups; g++) {
    const uint64_t key = c->group[g].key;
    out->cell[c->hex_of[g]] = key;
    for (int q = 0; q < 8; q++) {
      const int v = number[c->parent[8 * (size_t)g + q]];
      out->mesh->hex[8 * (size_t)c->hex_of[g] + pla_hex_vtk_corner[q]] = v;
      for (int d = 0; d < 3; d++)
        out->mesh->pos[3 * (size_t)v + d] =
            fine->origin_m[d] + fine->cell_m * (2 * (pla_hex_cell_index(key, d) + (q >> d & 1)));
    }
  }
  for (int p = 0; p < fine->surface.n_points; p++) {
    const int h = fine->surface.elem[p];
    out->surface.elem[p] = c->hex_of[c->group_of[h]];
    double t[3];
    pla_hex_local(fine->surface.weight + 8 * (size_t)p, t);
    for (int d = 0; d < 3; d++)
      t[d] = 0.5 * (pla_hex_cell_index(fine->cell[h], d) % 2 + t[d]);
    pla_hex_weights(t, out->surface.weight + 8 * (size_t)p);
  }
}

PlaStatus
pla_hex_embed_coarsen(const PlaHexEmbed *fine, PlaProgress *progress, PlaHexEmbed *out,
                      PlaError *err)
{
  Coarsen c = { .fine = fine };
  int *number = NULL;
  *out = (PlaHexEmbed){ 0 };
  PlaStatus st = pla_hex_cells_init(&c.cells, fine, err);
  if (st == PLA_OK)
    st = find_groups(&c, err);
  if (st == PLA_OK && pla_progress_cancelled(progress))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    join_corners(&c);
    const int n_hexes = number_hexes(&c);
    int n_verts = 0;
    number = pla_array_new(8 * (size_t)c.n_groups, sizeof *number);
    out->cell = pla_array_new((size_t)n_hexes, sizeof *out->cell);
    if (!number || !out->cell)
      st = pla_fail_memory(err, "the coarser mesh");
    for (int v = 0; st == PLA_OK && v < 8 * c.n_groups; v++)
      number[v] = c.parent[v] == v ? n_verts++ : -1;
    if (st == PLA_OK)
      st = pla_mesh_new(n_verts, 0, 0, n_hexes, &out->mesh, err);
  }
  if (st == PLA_OK)
    st = pla_embedding_init(&out->surface, fine->surface.n_points, 8, err);
  if (st == PLA_OK) {
    fill(&c, number, out);
    memcpy(out->origin_m, fine->origin_m, sizeof out->origin_m);
    out->cell_m = 2.0 * fine->cell_m;
    for (int d = 0; d < 3; d++)
      out->dims[d] = (fine->dims[d] + 1) / 2;
  }
  free(number);
  coarsen_clear(&c);
  if (st != PLA_OK)
    pla_hex_embed_clear(out);
  return st;
}

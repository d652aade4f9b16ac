/* A cut mesh when no blade is at work: what follows a cut, pieces that are taken away, bodies, how
 * much of a tet is material. */
#include "sim/cut/cut-mesh-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/union-find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int
pla_cut_mesh_follow(const PlaCutMesh *self, int tet, const double weight[4], int n_before)
{
  if (!self->refined[tet])
    return tet;
  int best = tet;
  double depth = INFINITY; /* asked for where there is a choice */
  for (int t = n_before; t < self->n_tets; t++)
    if (self->tet_copied[t] == tet) {
      if (isinf(depth))
        depth = pla_cut_complex_depth(self->refined[tet], weight);
      double other = pla_cut_complex_depth(self->refined[t], weight);
      if (other > depth) {
        best = t;
        depth = other;
      }
    }
  return best;
}

PlaStatus
pla_cut_mesh_remove(PlaCutMesh *self, const bool *remove, int *vert, int *tet, PlaError *err)
{
  /* new numbers of the tets that stay, and their vertices */
  int n_tets = 0, n_verts = 0;
  /* mark all vertices as unused */
  for (int v = 0; v < self->n_verts; v++)
    vert[v] = -1;
  for (int t = 0; t < self->n_tets; t++) {
    tet[t] = remove[t] ? -1 : n_tets++;
    for (int c = 0; !remove[t] && c < 4; c++)
      vert[self->tet[4 * t + c]] = 0;
  }
  if (n_tets == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "this would remove the whole body");
  for (int v = 0; v < self->n_verts; v++)
    if (vert[v] == 0) {
      vert[v] = n_verts;
      memmove(&self->rest[3 * n_verts], &self->rest[3 * v], 3 * sizeof *self->rest);
      if (self->shape)
        memmove(&self->shape[3 * n_verts], &self->shape[3 * v], 3 * sizeof *self->shape);
      self->vert_source[n_verts++] = self->vert_source[v];
    }
  /* links between a tet that stays and one that goes, then all numbers */
  for (int t = 0; t < self->n_tets; t++)
    for (int f = 0; remove[t] && f < 4; f++)
      while (self->link_head[4 * t + f] >= 0) {
        PlaCutLink link = self->link[self->link_head[4 * t + f]];
        pla_cut_mesh_unlink(self, t, f, link.tet);
        pla_cut_mesh_unlink(self, link.tet, link.face, t);
      }
  for (int t = 0; t < self->n_tets; t++) {
    if (remove[t]) {
      pla_cut_complex_free(self->refined[t]);
      continue;
    }
    int to = tet[t];
    for (int c = 0; c < 4; c++) {
      self->tet[4 * to + c] = vert[self->tet[4 * t + c]];
      int head = self->link_head[4 * to + c] = self->link_head[4 * t + c];
      for (int k = head; k >= 0; k = self->link[k].next)
        self->link[k].tet = tet[self->link[k].tet];
    }
    self->tet_source[to] = self->tet_source[t];
    self->tet_copied[to] = to;
    self->skin[to] = self->skin[t];
    self->refined[to] = self->refined[t];
  }
  /* search tree of the smaller mesh */
  pla_cut_tree_renumber(&self->tree, tet, self->n_tets);
  self->n_tets = n_tets;
  self->n_verts = n_verts;
  pla_cut_tree_fit(&self->tree, self->tet, self->shape ? self->shape : self->rest);
  return PLA_OK;
}

int
pla_cut_mesh_bodies(const PlaCutMesh *self, int *body)
{
  int *parent = pla_array_new((size_t)self->n_tets, sizeof *parent);
  if (!parent)
    return -1;
  for (int t = 0; t < self->n_tets; t++)
    parent[t] = t;
  for (int t = 0; t < self->n_tets; t++)
    for (int f = 0; f < 4; f++)
      for (int k = self->link_head[4 * t + f]; k >= 0; k = self->link[k].next) {
        int a = pla_union_find_root(parent, t), b = pla_union_find_root(parent, self->link[k].tet);
        if (a != b)
          parent[a > b ? a : b] = a < b ? a : b;
      }
  int n = 0;
  for (int t = 0; t < self->n_tets; t++) {
    int root = pla_union_find_root(parent, t);
    if (root == t)
      n++;
    if (body)
      body[t] = root == t ? n - 1 : body[root];
  }
  free(parent);
  return n;
}

void
pla_cut_mesh_fractions(const PlaCutMesh *self, double *fraction)
{
#pragma omp parallel for schedule(static) if (self->n_tets > PLA_BLOCK)
  for (int t = 0; t < self->n_tets; t++)
    fraction[t] = self->refined[t] ? pla_cut_complex_volume(self->refined[t]) : 1.0;
}

void
pla_cut_mesh_volumes(const PlaCutMesh *self, double *volume)
{
  pla_cut_mesh_fractions(self, volume);
  for (int t = 0; t < self->n_tets; t++)
    volume[t] *= pla_cut_tet_volume(self->rest, &self->tet[4 * t]);
}

bool
pla_cut_mesh_has_corner(const PlaCutMesh *self, int tet, int corner)
{
  const double weight[4] = { corner == 0, corner == 1, corner == 2, corner == 3 };
  return !self->refined[tet] || pla_cut_complex_depth(self->refined[tet], weight) >= -1e-12;
}

bool
pla_cut_mesh_is_parted(const PlaCutMesh *self, int tet)
{
  const PlaCutComplex *refined = self->refined[tet];
  for (int p = 0; refined && p < refined->n_patches; p++)
    if (refined->patch[p].triangle >= self->n_carved)
      return true;
  return false;
}

static PlaCutAcross
across_link(const PlaCutMesh *self, int link)
{
  return (PlaCutAcross){ link < 0 ? -1 : self->link[link].tet, link };
}

PlaCutAcross
pla_cut_mesh_across(const PlaCutMesh *self, int tet, int face)
{
  return across_link(self, self->link_head[4 * (size_t)tet + (size_t)face]);
}

void
pla_cut_mesh_next(const PlaCutMesh *self, PlaCutAcross *across)
{
  *across = across_link(self, self->link[across->link].next);
}

/* The pieces that the material of a cut tet falls into: their cells, volumes, depths. */
#include "sim/cut/complex-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int
pla_cut_complex_pieces(const PlaCutComplex *self, int *piece)
{
  int *parent = pla_array_new((size_t)self->n_cells, sizeof *parent);
  if (!parent)
    return -1;
  for (int c = 0; c < self->n_cells; c++)
    parent[c] = c;
  for (int p = 0; p < self->n_patches; p++) {
    const PlaCutPatch *patch = &self->patch[p];
    if (patch->triangle >= 0 || patch->cell[1] < 0 || patch->cell[0] < 0)
      continue;
    int a = pla_union_find_root(parent, patch->cell[0]);
    int b = pla_union_find_root(parent, patch->cell[1]);
    if (a != b)
      parent[a > b ? a : b] = a < b ? a : b;
  }
  int n = 0;
  for (int c = 0; c < self->n_cells; c++) {
    int root = pla_union_find_root(parent, c);
    piece[c] = root == c ? n++ : piece[root];
  }
  free(parent);
  return n;
}

/* the vertices that a plane passes through are those of one blade, which is done with */
static int
copy_plane(PlaCutComplex *out, const PlaCutPlane *plane)
{
  PlaCutPlane copy = *plane;
  memset(copy.through, 0, sizeof copy.through);
  return pla_cut_add_plane(out, &copy);
}

PlaCutComplex *
pla_cut_complex_extract(const PlaCutComplex *self, const int *piece, int which)
{
  PlaCutComplex *out = pla_array_new0(1, sizeof *out);
  int *vert = pla_array_new((size_t)self->n_verts, sizeof *vert);
  int *plane = pla_array_new((size_t)self->n_planes, sizeof *plane);
  int *cell = pla_array_new((size_t)self->n_cells, sizeof *cell);
  bool ok = out && vert && plane && cell;
  for (int v = 0; ok && v < self->n_verts; v++)
    vert[v] = -1;
  /* the faces of the tet keep their numbers */
  for (int q = 0; ok && q < self->n_planes; q++) {
    plane[q] = -1;
    if (q < PLA_CUT_FACES)
      ok = (plane[q] = copy_plane(out, &self->plane[q])) == q;
  }
  /* cells of the piece */
  for (int c = 0; ok && c < self->n_cells; c++) {
    cell[c] = -1;
    if (!piece || piece[c] == which)
      ok = (cell[c] = pla_cut_add_cell(out)) >= 0;
  }
  /* patches with a cell of the piece on either side */
  for (int p = 0; ok && p < self->n_patches; p++) {
    const PlaCutPatch *old = &self->patch[p];
    int sides[2];
    for (int s = 0; s < 2; s++)
      sides[s] = old->cell[s] < 0 ? -1 : cell[old->cell[s]];
    if (sides[0] < 0 && sides[1] < 0)
      continue;
    int q = out->n_patches;
    PlaCutPatch *patch = pla_cut_add_patch(out, old->corner, old->n_corners);
    ok = patch != NULL;
    if (!ok)
      break;
    PlaCutCorner *corner = patch->corner;
    patch->face = old->face;
    patch->triangle = old->triangle;
    patch->seen = old->seen;
    /* planes and points that the piece refers to */
    for (int k = -1; ok && k < old->n_corners; k++) {
      int id = k < 0 ? old->plane : old->corner[k].plane;
      if (plane[id] < 0)
        ok = (plane[id] = copy_plane(out, &self->plane[id])) >= 0;
      if (k < 0)
        out->patch[q].plane = plane[id];
      else
        corner[k].plane = plane[id];
    }
    for (int k = 0; ok && k < old->n_corners; k++) {
      int id = old->corner[k].vert;
      if (vert[id] < 0) {
        const PlaCutVert *v = &self->vert[id];
        int meets[3];
        for (int j = 0; ok && j < 3; j++) {
          if (plane[v->plane[j]] < 0)
            ok = (plane[v->plane[j]] = copy_plane(out, &self->plane[v->plane[j]])) >= 0;
          meets[j] = plane[v->plane[j]];
        }
        ok = ok &&
             pla_array_reserve(&out->vert, out->n_verts + 1, &out->cap_verts, sizeof *out->vert);
        if (ok) {
          PlaCutVert copy = *v;
          memcpy(copy.plane, meets, sizeof meets);
          copy.asked = -1;
          vert[id] = out->n_verts;
          out->vert[out->n_verts++] = copy;
        }
      }
      corner[k].vert = vert[id];
    }
    /* the cells on both sides */
    for (int s = 0; ok && s < 2; s++) {
      out->patch[q].cell[s] = sides[s];
      ok = sides[s] < 0 || pla_cut_cell_add_patch(out, sides[s], q);
    }
  }
  free(vert);
  free(plane);
  free(cell);
  if (!ok) {
    pla_cut_complex_free(out);
    return NULL;
  }
  return out;
}

PlaCutComplex *
pla_cut_complex_dup(const PlaCutComplex *self)
{
  return pla_cut_complex_extract(self, NULL, 0);
}

double
pla_cut_complex_volume(const PlaCutComplex *self)
{
  double volume = 0.0;
  for (int p = 0; p < self->n_patches; p++) {
    const PlaCutPatch *patch = &self->patch[p];
    /* a patch with material on both sides counts for neither */
    int sides = (patch->cell[0] >= 0) - (patch->cell[1] >= 0);
    if (sides == 0)
      continue;
    double first[4], last[4], next[4], sum = 0.0;
    pla_cut_complex_weights(self, patch->corner[0].vert, first);
    pla_cut_complex_weights(self, patch->corner[1].vert, last);
    for (int k = 2; k < patch->n_corners; k++) {
      pla_cut_complex_weights(self, patch->corner[k].vert, next);
      sum += pla_cut_det3(first, last, next, 1, 2, 3);
      memcpy(last, next, sizeof last);
    }
    volume += sides * sum;
  }
  return volume;
}

double
pla_cut_complex_depth(const PlaCutComplex *self, const double weight[4])
{
  double best = -INFINITY;
  /* the largest over all cells of the smallest distance to a plane of the cell */
  for (int c = 0; c < self->n_cells; c++) {
    double depth = INFINITY;
    for (int i = 0; i < self->cell[c].n_patches; i++) {
      const PlaCutPatch *patch = &self->patch[self->cell[c].patch[i]];
      const double *a = self->plane[patch->plane].a;
      double at = 0.0, size = 0.0, inside = 0.0;
      for (int k = 0; k < 4; k++) {
        at += a[k] * weight[k];
        size = fmax(size, fabs(a[k]));
      }
      /* the cell's own side: that of its corner furthest from the plane */
      for (int j = 0; j < self->cell[c].n_patches; j++) {
        const PlaCutPatch *other = &self->patch[self->cell[c].patch[j]];
        for (int k = 0; k < other->n_corners; k++) {
          double w[4], side = 0.0;
          pla_cut_complex_weights(self, other->corner[k].vert, w);
          for (int d = 0; d < 4; d++)
            side += a[d] * w[d];
          if (fabs(side) > fabs(inside))
            inside = side;
        }
      }
      depth = fmin(depth, (inside < 0.0 ? -at : at) / size);
    }
    best = fmax(best, depth);
  }
  return best;
}

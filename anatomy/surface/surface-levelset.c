/* The level set of a triangle surface.
 *
 * Samples in a band around the triangles take the exact distance to the nearest one.  Two
 * neighbouring samples whose distances add up to more than the step between them are on the same
 * side, so all samples fall into few connected sets, and one winding number each tells the side. */
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"
#include "anatomy/surface/surface.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4 }; /* samples each way that are near together or not */

/* blocks that the band around the box of a triangle touches */
static void
mark_blocks(const PlaLevelSet *ls, const PlaTriMesh *mesh, int t, double band_mm,
            const int blocks[3], uint8_t *near)
{
  int from[3], to[3];
  for (int d = 0; d < 3; d++) {
    double lo = INFINITY, hi = -INFINITY;
    for (int c = 0; c < 3; c++) {
      const double x = 1000.0 * mesh->pos[3 * (size_t)mesh->tri[3 * (size_t)t + c] + d];
      lo = fmin(lo, x);
      hi = fmax(hi, x);
    }
    /* the grid is straight and evenly spaced */
    const double origin = ls->affine_mm[4 * d + 3], step = ls->affine_mm[5 * d];
    from[d] = (int)fmax(floor((lo - band_mm - origin) / step), 0.0) / BLOCK;
    to[d] = (int)fmin(ceil((hi + band_mm - origin) / step), ls->dims[d] - 1.0) / BLOCK;
  }
  for (int k = from[2]; k <= to[2]; k++)
    for (int j = from[1]; j <= to[1]; j++)
      memset(near + from[0] + (size_t)blocks[0] * ((size_t)j + (size_t)blocks[1] * (size_t)k), 1,
             (size_t)(to[0] - from[0] + 1));
}

static void
sample_position(const PlaLevelSet *ls, int i, int j, int k, double pos_m[3])
{
  const double ijk[3] = { i, j, k };
  double mm[3];
  pla_affine_apply(ls->affine_mm, ijk, mm);
  for (int d = 0; d < 3; d++)
    pos_m[d] = mm[d] / 1000.0;
}

/* unsigned distances, up to the band */
static void
fill_distances(PlaLevelSet *ls, const PlaTriTree *tree, const int blocks[3], const uint8_t *near,
               double band_mm)
{
#pragma omp parallel for schedule(dynamic, 1)
  for (int k = 0; k < ls->dims[2]; k++)
    for (int j = 0; j < ls->dims[1]; j++)
      for (int i = 0; i < ls->dims[0]; i++) {
        float *phi = &ls->phi_mm[(size_t)i + (size_t)ls->dims[0] *
                                                 ((size_t)j + (size_t)ls->dims[1] * (size_t)k)];
        *phi = (float)band_mm;
        if (!near[(size_t)(i / BLOCK) +
                  (size_t)blocks[0] *
                      ((size_t)(j / BLOCK) + (size_t)blocks[1] * (size_t)(k / BLOCK))])
          continue;
        double pos[3];
        sample_position(ls, i, j, k, pos);
        *phi = (float)fmin(1000.0 * pla_tri_tree_nearest(tree, pos, band_mm / 1000.0, NULL, NULL),
                           band_mm);
      }
}

/* joins neighbours that no surface can separate */
static void
join_sides(const PlaLevelSet *ls, int *parent)
{
  const int *n = ls->dims;
  const int stride[3] = { 1, n[0], n[0] * n[1] };
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++)
      for (int i = 0; i < n[0]; i++) {
        const int v = i + stride[1] * j + stride[2] * k, at[3] = { i, j, k };
        parent[v] = v;
        for (int d = 0; d < 3; d++) {
          const int u = v - stride[d];
          if (at[d] == 0 || ls->phi_mm[v] + ls->phi_mm[u] <= 1.0001f * (float)ls->affine_mm[5 * d])
            continue;
          const int a = pla_union_find_root(parent, u), b = pla_union_find_root(parent, v);
          /* the smaller number is the root, whatever the order */
          if (a < b)
            parent[b] = a;
          else
            parent[a] = b;
        }
      }
}

PlaStatus
pla_levelset_from_surface(const PlaTriMesh *mesh, double spacing_mm, double band_mm,
                          PlaProgress *progress, PlaLevelSet **out, PlaError *err)
{
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  int dims[3], blocks[3];
  bool fits = true;
  PlaLevelSet *ls = NULL;
  PlaTriTree *tree = NULL;
  PlaWinding *winding = NULL;
  uint8_t *near = NULL;
  int *parent = NULL;
  *out = NULL;
  if (mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "The surface has no triangles");
  for (size_t i = 0; i < 3 * (size_t)mesh->n_tris; i++)
    for (int d = 0; d < 3; d++) {
      const double x = 1000.0 * mesh->pos[3 * (size_t)mesh->tri[i] + d];
      lo[d] = fmin(lo[d], x);
      hi[d] = fmax(hi[d], x);
    }
  double affine[12] = { 0 }, n_samples = 1.0;
  for (int d = 0; d < 3; d++) {
    const double n = ceil((hi[d] - lo[d] + 2.0 * band_mm) / spacing_mm) + 3.0;
    n_samples *= n;
    fits = fits && n_samples < (double)INT_MAX;
    dims[d] = fits ? (int)n : 0;
    blocks[d] = dims[d] / BLOCK + 1;
    affine[5 * d] = spacing_mm;
    affine[4 * d + 3] = 0.5 * (lo[d] + hi[d]) - 0.5 * spacing_mm * (n - 1.0);
  }
  if (!fits)
    return pla_fail(err, PLA_ERR_MEMORY,
                    "Samples %g mm apart are too fine for a surface %.0f mm across", spacing_mm,
                    fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2])));
  PlaStatus st = pla_levelset_new(dims, affine, &ls, err);
  if (st == PLA_OK)
    st = pla_tri_tree_new(mesh, &tree, err);
  if (st == PLA_OK)
    st = pla_winding_new(mesh, &winding, err);
  if (st == PLA_OK) {
    near = pla_array_new0((size_t)blocks[0] * (size_t)blocks[1] * (size_t)blocks[2], 1);
    parent = pla_array_new(pla_levelset_n_voxels(ls), sizeof *parent);
    if (!near || !parent)
      st = pla_fail_memory(err, "the level set of a surface");
  }
  if (st == PLA_OK) {
    for (int t = 0; t < mesh->n_tris; t++)
      mark_blocks(ls, mesh, t, band_mm, blocks, near);
    fill_distances(ls, tree, blocks, near, band_mm);
    if (!pla_progress_step(progress, 0.6))
      st = pla_fail_cancelled(err);
  }
  if (st == PLA_OK) {
    join_sides(ls, parent);
    /* the side of every root, then of what hangs below it: roots come first in memory */
#pragma omp parallel for schedule(dynamic, 1)
    for (int k = 0; k < dims[2]; k++)
      for (int j = 0; j < dims[1]; j++)
        for (int i = 0; i < dims[0]; i++) {
          const int v = i + dims[0] * (j + dims[1] * k);
          double pos[3];
          if (parent[v] != v)
            continue;
          sample_position(ls, i, j, k, pos);
          /* inside out counts as well */
          if (fabs(pla_winding_at(winding, pos)) > 0.5)
            ls->phi_mm[v] = -fmaxf(ls->phi_mm[v], 1e-6f);
          else
            ls->phi_mm[v] = fmaxf(ls->phi_mm[v], 1e-6f);
        }
    const int n = dims[0] * dims[1] * dims[2];
    for (int v = 0; v < n; v++)
      if (parent[v] != v)
        ls->phi_mm[v] = copysignf(ls->phi_mm[v], ls->phi_mm[pla_union_find_root(parent, v)]);
    ls->band_mm = band_mm;
    if (!pla_progress_step(progress, 1.0))
      st = pla_fail_cancelled(err);
  }
  free(near);
  free(parent);
  pla_tri_tree_free(tree);
  pla_winding_free(winding);
  if (st == PLA_OK)
    *out = ls;
  else
    pla_levelset_free(ls);
  return st;
}

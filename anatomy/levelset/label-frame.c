/* The box of a label in its volume, and a wider grid around it. */
#include "anatomy/levelset/label-frame-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* marks the voxels that bear one of @ids and finds their box; false when there are none */
bool
pla_label_frame_find_box(const PlaLabelMap *map, const uint8_t *wanted, int lo[3], int hi[3],
                         size_t *count)
{
  const int *n = map->volume->dims;
  for (int d = 0; d < 3; d++) {
    lo[d] = n[d];
    hi[d] = -1;
  }
  *count = 0;
  const size_t rows = (size_t)n[1] * (size_t)n[2];
  for (size_t row = 0; row < rows; row++) {
    int first = n[0], last = -1;
    for (int i = 0; i < n[0]; i++)
      if (wanted[pla_label_map_get(map, (size_t)n[0] * row + (size_t)i)]) {
        first = i < first ? i : first;
        last = i;
        ++*count;
      }
    if (last < 0)
      continue;
    const int box[3][2] = { { first, last },
                            { (int)(row % (size_t)n[1]), (int)(row % (size_t)n[1]) },
                            { (int)(row / (size_t)n[1]), (int)(row / (size_t)n[1]) } };
    for (int d = 0; d < 3; d++) {
      lo[d] = box[d][0] < lo[d] ? box[d][0] : lo[d];
      hi[d] = box[d][1] > hi[d] ? box[d][1] : hi[d];
    }
  }
  return *count > 0;
}

/* the affine of a grid that begins at voxel @first of @vol */
static void
affine_from(const PlaVolume *vol, const int first[3], double affine[12])
{
  memcpy(affine, vol->affine_mm, 12 * sizeof *affine);
  for (int r = 0; r < 3; r++)
    for (int d = 0; d < 3; d++)
      affine[4 * r + 3] += first[d] * vol->affine_mm[4 * r + d];
}

/* @lo and @hi: the label's box; @reach: voxels around it that smoothing uses */
PlaLabelFrame
pla_label_frame_make(const PlaVolume *vol, const int lo[3], const int hi[3], double margin_mm,
                     double extra_voxels, int reach)
{
  PlaLabelFrame f = { .faces = 0 };
  double spacing[3];
  int wide_first[3];
  pla_volume_spacing_mm(vol, spacing);
  for (int d = 0; d < 3; d++) {
    double voxels = (margin_mm > 0.0 ? margin_mm / spacing[d] : 6.0) + extra_voxels;
    int margin = (int)fmin(ceil(voxels), vol->dims[d]);
    f.faces |= lo[d] == 0 ? 1u << 2 * d : 0;
    f.faces |= hi[d] == vol->dims[d] - 1 ? 2u << 2 * d : 0;
    f.first[d] = lo[d] > margin ? lo[d] - margin : 0;
    int last = hi[d] + margin < vol->dims[d] ? hi[d] + margin : vol->dims[d] - 1;
    f.dims[d] = last - f.first[d] + 1;
    f.before[d] = f.first[d] > lo[d] - reach ? f.first[d] - (lo[d] - reach) : 0;
    f.wide[d] = f.before[d] + f.dims[d] + (last < hi[d] + reach ? hi[d] + reach - last : 0);
    wide_first[d] = f.first[d] - f.before[d];
  }
  affine_from(vol, f.first, f.affine);
  affine_from(vol, wide_first, f.wide_affine);
  return f;
}

/* the voxels of the wider grid that bear a wanted label, those beyond the volume being those at
 * its border; returns how many */
size_t
pla_label_frame_fill(const PlaLabelMap *map, const uint8_t *wanted, const PlaLabelFrame *f,
                     uint8_t *mask)
{
  const int *n = map->volume->dims;
  size_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
  for (int k = 0; k < f->wide[2]; k++)
    for (int j = 0; j < f->wide[1]; j++)
      for (int i = 0; i < f->wide[0]; i++) {
        int at[3] = { i, j, k };
        for (int d = 0; d < 3; d++) {
          at[d] += f->first[d] - f->before[d];
          at[d] = at[d] < 0 ? 0 : at[d] >= n[d] ? n[d] - 1 : at[d];
        }
        const size_t from =
            (size_t)at[0] + (size_t)n[0] * ((size_t)at[1] + (size_t)n[1] * (size_t)at[2]);
        const uint8_t bears = wanted[pla_label_map_get(map, from)];
        mask[(size_t)i + (size_t)f->wide[0] * ((size_t)j + (size_t)f->wide[1] * (size_t)k)] = bears;
        count += bears;
      }
  return count;
}

/* what of the wider grid is in the volume */
PlaStatus
pla_label_frame_trim(const PlaLevelSet *wide, const PlaLabelFrame *f, PlaLevelSet **out,
                     PlaError *err)
{
  PlaStatus st = pla_levelset_new(f->dims, f->affine, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->band_mm = wide->band_mm;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < f->dims[2]; k++)
    for (int j = 0; j < f->dims[1]; j++) {
      const size_t row =
          (size_t)(j + f->before[1]) + (size_t)f->wide[1] * (size_t)(k + f->before[2]);
      memcpy((*out)->phi_mm + (size_t)f->dims[0] * ((size_t)j + (size_t)f->dims[1] * (size_t)k),
             wide->phi_mm + (size_t)f->wide[0] * row + (size_t)f->before[0],
             (size_t)f->dims[0] * sizeof(float));
    }
  return PLA_OK;
}

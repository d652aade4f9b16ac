/* Copies a box of a label map, and gives several labels one id. */
#include "anatomy/bodies/label-part.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

/* the voxels from lo to hi, both included */
static PlaStatus
copy_box(const PlaLabelMap *labels, const int lo[3], const int hi[3], PlaLabelMap **out,
         PlaError *err)
{
  const PlaVolume *vol = labels->volume;
  const size_t size = pla_dtype_size(vol->dtype);
  const int dims[4] = { hi[0] - lo[0] + 1, hi[1] - lo[1] + 1, hi[2] - lo[2] + 1, 1 };
  const double corner[3] = { lo[0], lo[1], lo[2] };
  PlaVolume *part = NULL;
  double origin[3];
  PlaStatus st = pla_volume_new(dims, vol->dtype, &part, err);
  if (st != PLA_OK)
    return st;
  memcpy(part->affine_mm, vol->affine_mm, sizeof part->affine_mm);
  pla_volume_to_ras_mm(vol, corner, origin);
  for (int d = 0; d < 3; d++)
    part->affine_mm[4 * d + 3] = origin[d];
  for (int z = 0; z < dims[2]; z++)
    for (int y = 0; y < dims[1]; y++) {
      const size_t to = ((size_t)z * (size_t)dims[1] + (size_t)y) * (size_t)dims[0];
      const size_t from = ((size_t)(z + lo[2]) * (size_t)vol->dims[1] + (size_t)(y + lo[1])) *
                              (size_t)vol->dims[0] +
                          (size_t)lo[0];
      memcpy((char *)part->voxels + to * size, (const char *)vol->voxels + from * size,
             (size_t)dims[0] * size);
    }
  st = pla_label_map_take(part, &labels->table, out, err);
  if (st != PLA_OK)
    pla_volume_free(part);
  return st;
}

PlaStatus
pla_label_map_crop(const PlaLabelMap *labels, const double box_mm[2][3], PlaLabelMap **out,
                   PlaError *err)
{
  const PlaVolume *vol = labels->volume;
  int lo[3] = { INT_MAX, INT_MAX, INT_MAX }, hi[3] = { -1, -1, -1 };
  bool any = false;
  size_t i = 0;
  *out = NULL;
  for (int z = 0; z < vol->dims[2]; z++)
    for (int y = 0; y < vol->dims[1]; y++)
      for (int x = 0; x < vol->dims[0]; x++, i++) {
        const int at[3] = { x, y, z };
        const double index[3] = { x, y, z };
        double mm[3];
        bool in = true;
        pla_volume_to_ras_mm(vol, index, mm);
        for (int d = 0; d < 3; d++)
          in = in && mm[d] >= box_mm[0][d] && mm[d] <= box_mm[1][d];
        any = any || (in && pla_label_map_get(labels, i) != 0);
        for (int d = 0; in && d < 3; d++) {
          lo[d] = at[d] < lo[d] ? at[d] : lo[d];
          hi[d] = at[d] > hi[d] ? at[d] : hi[d];
        }
      }
  if (!any)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no label lies in the box from (%g, %g, %g) to (%g, %g, %g mm)", box_mm[0][0],
                    box_mm[0][1], box_mm[0][2], box_mm[1][0], box_mm[1][1], box_mm[1][2]);
  return copy_box(labels, lo, hi, out, err);
}

PlaStatus
pla_label_map_merge(const PlaLabelMap *labels, const bool *merged, const char *name,
                    PlaLabelMap **out, PlaError *err)
{
  PlaVolume *volume = NULL;
  int one = 0;
  *out = NULL;
  for (int i = labels->table.n - 1; i >= 0; i--)
    if (merged[labels->table.label[i].id])
      one = labels->table.label[i].id;
  assert(one != 0);
  PlaStatus st = pla_volume_dup(labels->volume, &volume, err);
  const size_t n = st == PLA_OK ? pla_volume_n_voxels(volume) : 0;
  for (size_t i = 0; i < n; i++) {
    const int id = pla_label_map_get(labels, i);
    if (merged[id] && volume->dtype == PLA_U8)
      ((uint8_t *)volume->voxels)[i] = (uint8_t)one;
    else if (merged[id])
      ((uint16_t *)volume->voxels)[i] = (uint16_t)one;
  }
  if (st == PLA_OK)
    st = pla_label_map_take(volume, &labels->table, out, err);
  if (st != PLA_OK)
    pla_volume_free(volume);
  else
    st = pla_label_table_set(&(*out)->table, one, name, NULL, err);
  return st;
}

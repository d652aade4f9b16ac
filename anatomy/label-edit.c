/* Painting and erasing in a label map: every voxel centre within a radius of a polyline.
 *
 * For each segment a, b only the index box that can hold such centres is visited: a ball of radius
 * r reaches r |row c of A^-1| indices along axis c.  Distances are taken in millimetres, so the
 * brush is round whatever the voxels' shape. */
#include "anatomy/label-edit.h"

#include "anatomy/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static double
segment_distance2(const double p[3], const double a[3], const double b[3])
{
  double ab[3], ap[3], along = 0.0, length2 = 0.0, dist2 = 0.0;
  for (int d = 0; d < 3; d++) {
    ab[d] = b[d] - a[d];
    ap[d] = p[d] - a[d];
    along += ab[d] * ap[d];
    length2 += ab[d] * ab[d];
  }
  double t = length2 > 0.0 ? along / length2 : 0.0;
  t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
  for (int d = 0; d < 3; d++)
    dist2 += (ap[d] - t * ab[d]) * (ap[d] - t * ab[d]);
  return dist2;
}

static PlaStatus
widen(PlaVolume *vol, PlaError *err)
{
  size_t n = pla_volume_n_voxels(vol);
  uint16_t *wide = pla_array_new(n, sizeof *wide);
  if (!wide)
    return pla_fail_memory(err, "the label map");
  const uint8_t *narrow = vol->voxels;
  for (size_t i = 0; i < n; i++)
    wide[i] = narrow[i];
  free(vol->voxels);
  vol->voxels = wide;
  vol->dtype = PLA_U16;
  return PLA_OK;
}

/* indices along axis @c that the ball or capsule between index points ia and ib can reach */
static void
index_range(const double ia[3], const double ib[3], const double inv[12], double radius, int c,
            int dim, int range[2])
{
  const double *row = inv + 4 * c;
  double reach = radius * sqrt(row[0] * row[0] + row[1] * row[1] + row[2] * row[2]);
  double lo = floor(fmin(ia[c], ib[c]) - reach), hi = ceil(fmax(ia[c], ib[c]) + reach);
  range[0] = lo > 0.0 ? (lo < dim ? (int)lo : dim) : 0;
  range[1] = hi < dim - 1 ? (hi >= 0.0 ? (int)hi : -1) : dim - 1;
}

PlaStatus
pla_label_edit_stroke(PlaLabelMap *map, const double *points_mm, int n, const PlaBrush *brush,
                      size_t *n_changed, PlaError *err)
{
  assert(n >= 1 && brush->radius_mm > 0.0 && brush->label >= 0 && brush->label <= 65535);
  PlaVolume *vol = map->volume;
  double inv[12];
  *n_changed = 0;
  if (!pla_affine_invert(vol->affine_mm, inv))
    return pla_fail(err, PLA_ERR_GEOMETRY, "the axes of the label map lie in one plane");
  if (brush->label > 255 && vol->dtype == PLA_U8) {
    PlaStatus st = widen(vol, err);
    if (st != PLA_OK)
      return st;
  }
  uint8_t *narrow = vol->dtype == PLA_U8 ? vol->voxels : NULL;
  uint16_t *wide = vol->dtype == PLA_U16 ? vol->voxels : NULL;
  size_t changed = 0;
  for (int s = 0; s < (n > 1 ? n - 1 : 1); s++) {
    const double *a = points_mm + 3 * s, *b = n > 1 ? a + 3 : a;
    double ia[3], ib[3];
    int range[3][2];
    pla_affine_apply(inv, a, ia);
    pla_affine_apply(inv, b, ib);
    for (int c = 0; c < 3; c++)
      index_range(ia, ib, inv, brush->radius_mm, c, vol->dims[c], range[c]);
    for (int k = range[2][0]; k <= range[2][1]; k++)
      for (int j = range[1][0]; j <= range[1][1]; j++)
        for (int i = range[0][0]; i <= range[0][1]; i++) {
          const double ijk[3] = { i, j, k };
          double p[3];
          pla_affine_apply(vol->affine_mm, ijk, p);
          if (!(segment_distance2(p, a, b) <= brush->radius_mm * brush->radius_mm))
            continue;
          size_t v =
              (size_t)i + (size_t)vol->dims[0] * ((size_t)j + (size_t)vol->dims[1] * (size_t)k);
          int was = narrow ? narrow[v] : wide[v];
          if (was == brush->label || (brush->only >= 0 && was != brush->only))
            continue;
          if (narrow)
            narrow[v] = (uint8_t)brush->label;
          else
            wide[v] = (uint16_t)brush->label;
          changed++;
        }
  }
  *n_changed = changed;
  return PLA_OK;
}

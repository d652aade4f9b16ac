/* Morphology by thresholding exact distances: D2 <= R^2 dilates, the complement's erodes. */
#include "anatomy/segment/morphology.h"

#include "anatomy/base/memory.h"
#include "anatomy/segment/components.h"
#include "anatomy/volume/distance-transform.h"
#include "anatomy/volume/volume.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t
n_voxels(const int dims[3])
{
  return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2];
}

/* one dilation of the mask (@grow) or of its complement */
static PlaStatus
spread(const int dims[3], const double affine_mm[12], uint8_t *mask, bool grow, double radius_mm,
       float *dist2, PlaProgress *progress, PlaError *err)
{
  const size_t n = n_voxels(dims);
  PlaStatus st =
      pla_distance_transform(dims, affine_mm, mask, grow, radius_mm, progress, dist2, err);
  if (st != PLA_OK)
    return st;
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < n; v++)
    mask[v] = (dist2[v] < INFINITY) == grow;
  return PLA_OK;
}

/* @mask placed @pad voxels into the larger volume @outer, or copied back from there */
static void
copy_padded(const int dims[3], const int pad[3], const int outer_dims[3], uint8_t *mask,
            uint8_t *outer, bool back)
{
  const size_t ni = (size_t)dims[0];
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++) {
      const size_t outer_row = (size_t)(j + pad[1]) + (size_t)outer_dims[1] * (size_t)(k + pad[2]);
      uint8_t *in = mask + ni * ((size_t)j + (size_t)dims[1] * (size_t)k);
      uint8_t *out = outer + (size_t)pad[0] + (size_t)outer_dims[0] * outer_row;
      memcpy(back ? in : out, back ? out : in, ni);
    }
}

/* erode(dilate(mask)), with fill() between when @fill, in a volume that has room for the dilation
 * beyond every face but the closed ones */
static PlaStatus
close_padded(const int dims[3], const double affine_mm[12], uint8_t *mask, double radius_mm,
             bool fill, unsigned closed_faces, PlaProgress *progress, PlaError *err)
{
  double inverse[12];
  if (!pla_affine_invert(affine_mm, inverse))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "distances cannot be measured because the volume's axes lie in one plane; "
                    "correct its affine");
  /* room in voxels: the radius over the distance between index planes, and one to stay empty */
  int pad[3] = { 0 }, outer[3] = { 0 };
  size_t n = 1;
  bool fits = true;
  for (int d = 0; d < 3; d++) {
    const double *r = inverse + 4 * d;
    double room = floor(radius_mm * sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])) + 2.0;
    fits = fits && room < (INT_MAX - dims[d]) / 2;
    if (!fits)
      break;
    pad[d] = closed_faces & 1u << (2 * d) ? 0 : (int)room;
    outer[d] = dims[d] + pad[d] + (closed_faces & 2u << (2 * d) ? 0 : (int)room);
    fits = pla_size_mul(n, (size_t)outer[d], &n);
  }
  uint8_t *padded = fits ? pla_array_new0(n, 1) : NULL;
  float *dist2 = padded ? pla_array_new_aligned(n, sizeof *dist2) : NULL;
  PlaStatus st = dist2 ? PLA_OK : pla_fail_memory(err, "a closing");
  if (st == PLA_OK) {
    copy_padded(dims, pad, outer, mask, padded, false);
    st = spread(outer, affine_mm, padded, true, radius_mm, dist2, progress, err);
  }
  if (st == PLA_OK && fill)
    st = pla_mask_fill_holes(outer, padded, PLA_CONNECT_CORNERS, closed_faces, progress, NULL, err);
  if (st == PLA_OK)
    st = spread(outer, affine_mm, padded, false, radius_mm, dist2, progress, err);
  if (st == PLA_OK)
    copy_padded(dims, pad, outer, mask, padded, true);
  free(padded);
  free(dist2);
  return st;
}

static PlaStatus
check_radius(double radius_mm, PlaError *err)
{
  if (!(radius_mm >= 0.0) || !isfinite(radius_mm))
    return pla_fail(err, PLA_ERR_USAGE, "the radius must be 0 mm or more, not %g mm", radius_mm);
  return PLA_OK;
}

PlaStatus
pla_mask_morph(const int dims[3], const double affine_mm[12], uint8_t *mask, PlaMorph what,
               double radius_mm, PlaProgress *progress, PlaError *err)
{
  PlaStatus st = check_radius(radius_mm, err);
  if (st != PLA_OK)
    return st;
  if (what == PLA_MORPH_CLOSE)
    return close_padded(dims, affine_mm, mask, radius_mm, false, 0, progress, err);
  float *dist2 = pla_array_new_aligned(n_voxels(dims), sizeof *dist2);
  if (!dist2)
    return pla_fail_memory(err, "distances for morphology");
  st = spread(dims, affine_mm, mask, what == PLA_MORPH_DILATE, radius_mm, dist2, progress, err);
  if (st == PLA_OK && what == PLA_MORPH_OPEN)
    st = spread(dims, affine_mm, mask, true, radius_mm, dist2, progress, err);
  free(dist2);
  return st;
}

PlaStatus
pla_mask_seal(const int dims[3], const double affine_mm[12], uint8_t *mask, double radius_mm,
              unsigned closed_faces, PlaProgress *progress, PlaError *err)
{
  PlaStatus st = check_radius(radius_mm, err);
  return st == PLA_OK
             ? close_padded(dims, affine_mm, mask, radius_mm, true, closed_faces, progress, err)
             : st;
}

/* Resamples volumes on a plane: trilinear for grey values, nearest voxel for labels. A pixel
 * maps to voxel indices by an affine, so each row is walked with one increment. */
#include "anatomy/volume/slice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

PlaSlicePlane
pla_slice_plane(PlaAxis axis, const double centre_mm[3], double mm_per_pixel, int width, int height,
                bool radiological)
{
  PlaSlicePlane plane = { .width = width, .height = height };
  const double side = radiological ? -1.0 : 1.0; /* where the patient's right is drawn */
  switch (axis) {
  case PLA_AXIS_SAGITTAL:
    plane.right_mm[1] = -mm_per_pixel;
    plane.down_mm[2] = -mm_per_pixel;
    break;
  case PLA_AXIS_CORONAL:
    plane.right_mm[0] = side * mm_per_pixel;
    plane.down_mm[2] = -mm_per_pixel;
    break;
  case PLA_AXIS_AXIAL:
    plane.right_mm[0] = side * mm_per_pixel;
    plane.down_mm[1] = -mm_per_pixel;
    break;
  }
  for (int d = 0; d < 3; d++)
    plane.origin_mm[d] = centre_mm[d] - 0.5 * (width - 1) * plane.right_mm[d] -
                         0.5 * (height - 1) * plane.down_mm[d];
  return plane;
}

void
pla_slice_to_ras(const PlaSlicePlane *plane, double x, double y, double ras_mm[3])
{
  for (int d = 0; d < 3; d++)
    ras_mm[d] = plane->origin_mm[d] + x * plane->right_mm[d] + y * plane->down_mm[d];
}

void
pla_slice_from_ras(const PlaSlicePlane *plane, const double ras_mm[3], double *x, double *y)
{
  double rr = 0.0, dd = 0.0, pr = 0.0, pd = 0.0;
  for (int d = 0; d < 3; d++) {
    double p = ras_mm[d] - plane->origin_mm[d];
    rr += plane->right_mm[d] * plane->right_mm[d];
    dd += plane->down_mm[d] * plane->down_mm[d];
    pr += p * plane->right_mm[d];
    pd += p * plane->down_mm[d];
  }
  *x = pr / rr;
  *y = pd / dd;
}

char
pla_direction_letter(const double dir[3])
{
  static const char letters[3][2] = { { 'L', 'R' }, { 'P', 'A' }, { 'I', 'S' } };
  int axis = 0;
  for (int d = 1; d < 3; d++)
    if (fabs(dir[d]) > fabs(dir[axis]))
      axis = d;
  return letters[axis][dir[axis] > 0.0];
}

/* index coordinates of pixel (x, y): start + x right + y down */
typedef struct {
  double start[3], right[3], down[3];
} IndexPlane;

static bool
index_plane(const PlaVolume *vol, const PlaSlicePlane *plane, IndexPlane *out)
{
  double inv[12];
  if (!pla_affine_invert(vol->affine_mm, inv))
    return false;
  pla_affine_apply(inv, plane->origin_mm, out->start);
  for (int d = 0; d < 3; d++) {
    out->right[d] = inv[4 * d] * plane->right_mm[0] + inv[4 * d + 1] * plane->right_mm[1] +
                    inv[4 * d + 2] * plane->right_mm[2];
    out->down[d] = inv[4 * d] * plane->down_mm[0] + inv[4 * d + 1] * plane->down_mm[1] +
                   inv[4 * d + 2] * plane->down_mm[2];
  }
  return true;
}

/* One row of trilinear samples for a voxel type.  Within half a voxel of the border the nearest
 * samples are used, so that a volume fills the whole box of its voxels. */
#define ROW_LINEAR(NAME, TYPE)                                                                     \
  static void NAME(const TYPE *voxel, const int dims[3], const double start[3],                    \
                   const double step[3], int n, float slope, float inter, float *out)              \
  {                                                                                                \
    const ptrdiff_t row = dims[0], plane = (ptrdiff_t)dims[0] * dims[1];                           \
    for (int x = 0; x < n; x++) {                                                                  \
      double p[3];                                                                                 \
      bool inside = true;                                                                          \
      for (int d = 0; d < 3; d++) {                                                                \
        p[d] = start[d] + x * step[d];                                                             \
        inside = inside && p[d] >= -0.5 && p[d] <= dims[d] - 0.5;                                  \
      }                                                                                            \
      if (!inside) {                                                                               \
        out[x] = NAN;                                                                              \
        continue;                                                                                  \
      }                                                                                            \
      ptrdiff_t at = 0, next[3];                                                                   \
      float w[3];                                                                                  \
      const ptrdiff_t stride[3] = { 1, row, plane };                                               \
      for (int d = 0; d < 3; d++) {                                                                \
        double q = fmin(fmax(p[d], 0.0), dims[d] - 1.0);                                           \
        int i = (int)q;                                                                            \
        w[d] = (float)(q - i);                                                                     \
        next[d] = i + 1 < dims[d] ? stride[d] : 0;                                                 \
        at += i * stride[d];                                                                       \
      }                                                                                            \
      const TYPE *v = voxel + at;                                                                  \
      float a = (float)v[0] + w[0] * ((float)v[next[0]] - (float)v[0]);                            \
      float b = (float)v[next[1]] + w[0] * ((float)v[next[0] + next[1]] - (float)v[next[1]]);      \
      v += next[2];                                                                                \
      float c = (float)v[0] + w[0] * ((float)v[next[0]] - (float)v[0]);                            \
      float d = (float)v[next[1]] + w[0] * ((float)v[next[0] + next[1]] - (float)v[next[1]]);      \
      a += w[1] * (b - a);                                                                         \
      c += w[1] * (d - c);                                                                         \
      out[x] = slope * (a + w[2] * (c - a)) + inter;                                               \
    }                                                                                              \
  }

ROW_LINEAR(row_i8, int8_t)
ROW_LINEAR(row_u8, uint8_t)
ROW_LINEAR(row_i16, int16_t)
ROW_LINEAR(row_u16, uint16_t)
ROW_LINEAR(row_i32, int32_t)
ROW_LINEAR(row_u32, uint32_t)
ROW_LINEAR(row_i64, int64_t)
ROW_LINEAR(row_u64, uint64_t)
ROW_LINEAR(row_f32, float)
ROW_LINEAR(row_f64, double)

/* index of the voxel that holds @p, or -1 */
static ptrdiff_t
nearest(const int dims[4], const double p[3])
{
  ptrdiff_t i[3];
  for (int d = 0; d < 3; d++) {
    if (!(p[d] >= -0.5 && p[d] <= dims[d] - 0.5))
      return -1;
    i[d] = (ptrdiff_t)floor(p[d] + 0.5);
    if (i[d] > dims[d] - 1)
      i[d] = dims[d] - 1;
  }
  return i[0] + dims[0] * (i[1] + dims[1] * i[2]);
}

void
pla_slice_values(const PlaVolume *vol, int frame, const PlaSlicePlane *plane, bool linear,
                 float *out)
{
  assert(frame >= 0 && frame < vol->dims[3]);
  IndexPlane ip;
  if (!index_plane(vol, plane, &ip)) {
    for (size_t i = 0; i < (size_t)plane->width * plane->height; i++)
      out[i] = NAN;
    return;
  }
  const size_t first = (size_t)frame * vol->dims[0] * vol->dims[1] * vol->dims[2];
  const float slope = (float)vol->slope, inter = (float)vol->inter;
#pragma omp parallel for schedule(static)
  for (int y = 0; y < plane->height; y++) {
    float *row = out + (size_t)y * plane->width;
    double start[3];
    for (int d = 0; d < 3; d++)
      start[d] = ip.start[d] + y * ip.down[d];
    if (!linear) {
      for (int x = 0; x < plane->width; x++) {
        double p[3];
        for (int d = 0; d < 3; d++)
          p[d] = start[d] + x * ip.right[d];
        ptrdiff_t v = nearest(vol->dims, p);
        row[x] = v < 0 ? NAN
                       : slope * (float)pla_dtype_get(vol->dtype, vol->voxels, first + (size_t)v) +
                             inter;
      }
      continue;
    }
#define CASE(DTYPE, FUNC, TYPE)                                                                    \
  case DTYPE:                                                                                      \
    FUNC((const TYPE *)vol->voxels + first, vol->dims, start, ip.right, plane->width, slope,       \
         inter, row);                                                                              \
    break;
    switch (vol->dtype) {
      CASE(PLA_I8, row_i8, int8_t)
      CASE(PLA_U8, row_u8, uint8_t)
      CASE(PLA_I16, row_i16, int16_t)
      CASE(PLA_U16, row_u16, uint16_t)
      CASE(PLA_I32, row_i32, int32_t)
      CASE(PLA_U32, row_u32, uint32_t)
      CASE(PLA_I64, row_i64, int64_t)
      CASE(PLA_U64, row_u64, uint64_t)
      CASE(PLA_F32, row_f32, float)
      CASE(PLA_F64, row_f64, double)
    case PLA_N_DTYPES:
      assert(false);
    }
#undef CASE
  }
}

void
pla_slice_labels(const PlaLabelMap *map, const PlaSlicePlane *plane, uint16_t *out)
{
  const PlaVolume *vol = map->volume;
  IndexPlane ip;
  if (!index_plane(vol, plane, &ip)) {
    memset(out, 0, (size_t)plane->width * plane->height * sizeof *out);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int y = 0; y < plane->height; y++)
    for (int x = 0; x < plane->width; x++) {
      double p[3];
      for (int d = 0; d < 3; d++)
        p[d] = ip.start[d] + x * ip.right[d] + y * ip.down[d];
      ptrdiff_t v = nearest(vol->dims, p);
      out[(size_t)y * plane->width + x] = v < 0 ? 0 : (uint16_t)pla_label_map_get(map, (size_t)v);
    }
}

void
pla_slice_grey(const float *value, size_t n, double lo, double hi, uint32_t outside,
               uint32_t *pixel)
{
  const float scale = (float)(255.0 / fmax(hi - lo, 1e-30)), from = (float)lo;
  for (size_t i = 0; i < n; i++) {
    if (isnan(value[i])) {
      pixel[i] = outside;
      continue;
    }
    float g = fminf(fmaxf((value[i] - from) * scale, 0.0f), 255.0f);
    pixel[i] = 0xff000000u | (uint32_t)(g + 0.5f) * 0x010101u;
  }
}

static inline uint32_t
mix(uint32_t under, const uint8_t rgba[4], double strength)
{
  uint32_t out = under & 0xff000000u;
  for (int c = 0; c < 3; c++) {
    int shift = 16 - 8 * c;
    double u = (under >> shift) & 0xff;
    out |= (uint32_t)(u + strength * (rgba[c] - u) + 0.5) << shift;
  }
  return out;
}

void
pla_slice_overlay(const uint16_t *label, const PlaLabelTable *table, double fill, double line,
                  int width, int height, uint32_t *pixel)
{
#pragma omp parallel for schedule(static)
  for (int y = 0; y < height; y++) {
    const PlaLabel *entry = NULL; /* of the last pixel: neighbours mostly share it */
    for (int x = 0; x < width; x++) {
      size_t i = (size_t)y * width + x;
      int id = label[i];
      if (id == 0)
        continue;
      if (!entry || entry->id != id)
        entry = pla_label_table_find(table, id);
      if (!entry || entry->rgba[3] == 0)
        continue;
      bool border = (x > 0 && label[i - 1] != id) || (x + 1 < width && label[i + 1] != id) ||
                    (y > 0 && label[i - width] != id) || (y + 1 < height && label[i + width] != id);
      pixel[i] =
          mix(pixel[i] | 0xff000000u, entry->rgba, border ? line : fill * entry->rgba[3] / 255.0);
    }
  }
}

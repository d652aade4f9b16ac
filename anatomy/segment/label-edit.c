/* Brushes, outlines and mirror images in a label map.
 *
 * For each segment a, b of a stroke only the index box that can hold such centres is visited: a
 * ball of radius r reaches r |row c of A^-1| indices along axis c.  Distances are taken in
 * millimetres, so the brush is round whatever the voxels' shape. */
#include "anatomy/segment/label-edit-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/mesh/predicates.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

PlaStatus
pla_label_pen_init(PlaLabelPen *pen, PlaLabelMap *map, int label, int only, PlaError *err)
{
  assert(label >= 0 && label <= 65535);
  PlaVolume *vol = map->volume;
  PlaStatus st = PLA_OK;
  if (label > 255 && vol->dtype == PLA_U8)
    st = widen(vol, err);
  *pen = (PlaLabelPen){ .dims = vol->dims,
                        .narrow = vol->dtype == PLA_U8 ? vol->voxels : NULL,
                        .wide = vol->dtype == PLA_U16 ? vol->voxels : NULL,
                        .label = label,
                        .only = only,
                        .change = { 0, { INT_MAX, INT_MAX, INT_MAX }, { -1, -1, -1 } } };
  return st;
}

bool
pla_label_voxel_at(const PlaVolume *vol, const double inverse_mm[12], const double pos_mm[3],
                   int ijk[3])
{
  double x[3];
  pla_affine_apply(inverse_mm, pos_mm, x);
  for (int d = 0; d < 3; d++) {
    if (!(x[d] >= -0.5 && x[d] < vol->dims[d] - 0.5))
      return false;
    ijk[d] = (int)floor(x[d] + 0.5);
  }
  return true;
}

PlaStatus
pla_label_invert(const PlaVolume *vol, double inverse_mm[12], PlaError *err)
{
  if (!pla_affine_invert(vol->affine_mm, inverse_mm))
    return pla_fail(err, PLA_ERR_GEOMETRY, "the axes of the label map lie in one plane");
  return PLA_OK;
}

bool
pla_label_box(const PlaLabelMap *map, int label, int lo[3], int hi[3])
{
  const int *dims = map->volume->dims;
  int first[3] = { INT_MAX, INT_MAX, INT_MAX }, last[3] = { -1, -1, -1 };
#pragma omp parallel for schedule(static) reduction(min : first[:3]) reduction(max : last[:3])
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0]; i++) {
        if (pla_label_map_get(map, pla_label_voxel(dims, i, j, k)) != label)
          continue;
        const int at[3] = { i, j, k };
        for (int d = 0; d < 3; d++) {
          first[d] = at[d] < first[d] ? at[d] : first[d];
          last[d] = at[d] > last[d] ? at[d] : last[d];
        }
      }
  memcpy(lo, first, sizeof first);
  memcpy(hi, last, sizeof last);
  return last[0] >= 0;
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

/* half the thickness of the layer of voxels across @n, mm: of the axis that leads out of it most */
static double
half_layer_mm(const PlaVolume *vol, const double n[3])
{
  double most = 0.0;
  for (int c = 0; c < 3; c++)
    most = fmax(most, fabs(n[0] * vol->affine_mm[c] + n[1] * vol->affine_mm[4 + c] +
                           n[2] * vol->affine_mm[8 + c]));
  return 0.5 * most;
}

/* whether a centre at signed distance @d from a plane is in its layer; of two at the same distance
 * on both sides one is */
static bool
in_layer(double d, double half)
{
  const double slack = 1e-9 * half;
  return d > -half + slack && d <= half + slack;
}

PlaStatus
pla_label_edit_stroke(PlaLabelMap *map, const double *points_mm, int n, const PlaBrush *brush,
                      size_t *n_changed, PlaError *err)
{
  assert(n >= 1 && brush->radius_mm > 0.0);
  const PlaVolume *vol = map->volume;
  PlaLabelPen pen;
  double inv[12], normal[3] = { 0.0, 0.0, 0.0 }, half = 0.0;
  const double length = pla_vec3_norm(brush->normal);
  *n_changed = 0;
  PlaStatus st = pla_label_invert(vol, inv, err);
  if (st == PLA_OK)
    st = pla_label_pen_init(&pen, map, brush->label, brush->only, err);
  if (st != PLA_OK)
    return st;
  if (length > 0.0) {
    for (int d = 0; d < 3; d++)
      normal[d] = brush->normal[d] / length;
    half = half_layer_mm(vol, normal);
  }
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
          double p[3], from[3];
          pla_affine_apply(vol->affine_mm, ijk, p);
          pla_vec3_sub(p, points_mm, from);
          if (half > 0.0) {
            /* the disc is judged in the plane of the slice */
            const double off = pla_vec3_dot(from, normal);
            if (!in_layer(off, half))
              continue;
            for (int d = 0; d < 3; d++)
              p[d] -= off * normal[d];
          }
          if (segment_distance2(p, a, b) <= brush->radius_mm * brush->radius_mm)
            pla_label_pen_paint(&pen, i, j, k);
        }
  }
  *n_changed = pen.change.n_changed;
  return PLA_OK;
}

/* even-odd rule, exact: crossings of the ray from @p along +u; an edge owns its lower end */
static bool
is_inside(const double *outline, int n, const double p[2])
{
  bool inside = false;
  for (int i = 0; i < n; i++) {
    const double *a = outline + 2 * i, *b = outline + 2 * ((i + 1) % n);
    if ((a[1] <= p[1]) == (b[1] <= p[1]))
      continue;
    const int turn = pla_orient2d(a, b, p);
    inside = inside != (a[1] <= p[1] ? turn > 0 : turn < 0);
  }
  return inside;
}

PlaStatus
pla_label_edit_polygon(PlaLabelMap *map, const double *points_mm, int n, double thickness_mm,
                       int label, int only, PlaLabelChange *change, PlaError *err)
{
  assert(n >= 3 && thickness_mm >= 0.0);
  const PlaVolume *vol = map->volume;
  PlaLabelPen pen;
  double inv[12], normal[3] = { 0.0, 0.0, 0.0 }, centre[3] = { 0.0, 0.0, 0.0 }, size = 0.0;
  memset(change, 0, sizeof *change);
  PlaStatus st = pla_label_invert(vol, inv, err);
  if (st != PLA_OK)
    return st;
  /* the mean plane (Newell) */
  for (int i = 0; i < n; i++) {
    const double *a = points_mm + 3 * i, *b = points_mm + 3 * ((i + 1) % n);
    double u[3], v[3], c[3];
    pla_vec3_sub(a, points_mm, u);
    pla_vec3_sub(b, points_mm, v);
    pla_vec3_cross(u, v, c);
    for (int d = 0; d < 3; d++) {
      normal[d] += c[d];
      centre[d] += a[d] / n;
    }
    size = fmax(size, pla_vec3_norm(u));
  }
  const double area = pla_vec3_norm(normal);
  if (!(area > 1e-12 * size * size))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "the outline encloses no area; its points lie on a line");
  for (int d = 0; d < 3; d++)
    normal[d] /= area;
  const double half = thickness_mm > 0.0 ? 0.5 * thickness_mm : half_layer_mm(vol, normal);
  /* two directions in the plane, the first across the axis that the normal is furthest from */
  double u[3], v[3], axis[3] = { 0.0, 0.0, 0.0 };
  int least = 0;
  for (int d = 1; d < 3; d++)
    least = fabs(normal[d]) < fabs(normal[least]) ? d : least;
  axis[least] = 1.0;
  pla_vec3_cross(normal, axis, u);
  const double length = pla_vec3_norm(u);
  for (int d = 0; d < 3; d++)
    u[d] /= length;
  pla_vec3_cross(normal, u, v);

  double *outline = pla_array_new((size_t)n, 2 * sizeof *outline);
  if (!outline)
    return pla_fail_memory(err, "the outline");
  int range[3][2] = { { INT_MAX, -1 }, { INT_MAX, -1 }, { INT_MAX, -1 } };
  for (int i = 0; i < n; i++) {
    double r[3], x[3];
    int reach[2];
    pla_vec3_sub(points_mm + 3 * i, centre, r);
    outline[2 * i] = pla_vec3_dot(r, u);
    outline[2 * i + 1] = pla_vec3_dot(r, v);
    const double off = pla_vec3_dot(r, normal);
    double flat[3];
    for (int d = 0; d < 3; d++)
      flat[d] = points_mm[3 * i + d] - off * normal[d];
    pla_affine_apply(inv, flat, x);
    for (int c = 0; c < 3; c++) {
      index_range(x, x, inv, half, c, vol->dims[c], reach);
      range[c][0] = reach[0] < range[c][0] ? reach[0] : range[c][0];
      range[c][1] = reach[1] > range[c][1] ? reach[1] : range[c][1];
    }
  }
  st = pla_label_pen_init(&pen, map, label, only, err);
  for (int k = range[2][0]; st == PLA_OK && k <= range[2][1]; k++)
    for (int j = range[1][0]; j <= range[1][1]; j++)
      for (int i = range[0][0]; i <= range[0][1]; i++) {
        const double ijk[3] = { i, j, k };
        double p[3], r[3];
        pla_affine_apply(vol->affine_mm, ijk, p);
        pla_vec3_sub(p, centre, r);
        if (!in_layer(pla_vec3_dot(r, normal), half))
          continue;
        const double flat[2] = { pla_vec3_dot(r, u), pla_vec3_dot(r, v) };
        if (is_inside(outline, n, flat))
          pla_label_pen_paint(&pen, i, j, k);
      }
  free(outline);
  if (st == PLA_OK)
    *change = pen.change;
  return st;
}

PlaStatus
pla_label_edit_mirror(PlaLabelMap *map, int from, const double point_mm[3], const double normal[3],
                      int label, int only, PlaLabelChange *change, PlaError *err)
{
  const PlaVolume *vol = map->volume;
  const double length = pla_vec3_norm(normal);
  double inv[12], n[3];
  int lo[3], hi[3], range[3][2] = { { INT_MAX, -1 }, { INT_MAX, -1 }, { INT_MAX, -1 } };
  PlaLabelPen pen;
  memset(change, 0, sizeof *change);
  PlaStatus st = pla_label_invert(vol, inv, err);
  if (st == PLA_OK && !(length > 0.0))
    st = pla_fail(err, PLA_ERR_USAGE, "the plane of a mirror needs a normal");
  if (st == PLA_OK && !pla_label_box(map, from, lo, hi))
    st = pla_fail(err, PLA_ERR_EMPTY, "no voxel holds label %d", from);
  if (st != PLA_OK)
    return st;
  for (int d = 0; d < 3; d++)
    n[d] = normal[d] / length;
  /* the box that the image of the label's box can reach */
  for (int c = 0; c < 8; c++) {
    double x[3], p[3], r[3];
    for (int d = 0; d < 3; d++)
      x[d] = c >> d & 1 ? hi[d] + 0.5 : lo[d] - 0.5;
    pla_affine_apply(vol->affine_mm, x, p);
    pla_vec3_sub(p, point_mm, r);
    const double off = pla_vec3_dot(r, n);
    for (int d = 0; d < 3; d++)
      p[d] -= 2.0 * off * n[d];
    pla_affine_apply(inv, p, x);
    for (int d = 0; d < 3; d++) {
      int reach[2];
      index_range(x, x, inv, 0.0, d, vol->dims[d], reach);
      range[d][0] = reach[0] < range[d][0] ? reach[0] : range[d][0];
      range[d][1] = reach[1] > range[d][1] ? reach[1] : range[d][1];
    }
  }
  /* what is painted must not be mirrored again: first find all of it */
  PlaBytes found = { 0 };
  bool ok = true;
  for (int k = range[2][0]; k <= range[2][1]; k++)
    for (int j = range[1][0]; j <= range[1][1]; j++)
      for (int i = range[0][0]; ok && i <= range[0][1]; i++) {
        const double ijk[3] = { i, j, k };
        const int here[3] = { i, j, k };
        double p[3], r[3];
        int at[3];
        pla_affine_apply(vol->affine_mm, ijk, p);
        pla_vec3_sub(p, point_mm, r);
        const double off = pla_vec3_dot(r, n);
        for (int d = 0; d < 3; d++)
          p[d] -= 2.0 * off * n[d];
        if (pla_label_voxel_at(vol, inv, p, at) &&
            pla_label_map_get(map, pla_label_voxel(vol->dims, at[0], at[1], at[2])) == from)
          ok = pla_bytes_append(&found, here, sizeof here);
      }
  st = ok ? pla_label_pen_init(&pen, map, label, only, err)
          : pla_fail_memory(err, "the mirror image");
  if (st == PLA_OK) {
    for (size_t f = 0; f < found.size / (3 * sizeof(int)); f++) {
      const int *at = (const int *)(const void *)found.data + 3 * f;
      pla_label_pen_paint(&pen, at[0], at[1], at[2]);
    }
    *change = pen.change;
  }
  pla_bytes_clear(&found);
  return st;
}

/* Slices between painted ones, by shape (Raya and Udupa 1990; Herman, Zheng and Bucholtz 1992).
 *
 * Each painted slice gets the signed distance to its outline, in millimetres within the slice.  A
 * slice at the fraction t of the way from one to the next holds the label where
 *     (1 - t) d_a(x - t s) + t d_b(x + (1 - t) s) < 0,
 * s being the way from the centre of the first outline to that of the second: shapes that lean
 * stay whole. */
#include "anatomy/segment/label-edit-private.h"

#include "anatomy/base/memory.h"
#include "anatomy/volume/distance-transform.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* one slice, with its two axes first */
typedef struct {
  const PlaLabelMap *map;
  int axis[3];       /* index axes: two in the slice, one across */
  int n[2];          /* voxels along the first two */
  double affine[12]; /* of the slice as a volume of one layer */
  double step;       /* smallest distance of neighbours in it, mm */
  uint8_t *mask;
  float *inside2, *outside2; /* scratch of the distance transform */
} Slices;

static size_t
voxel_at(const Slices *s, int u, int v, int slice)
{
  int at[3];
  at[s->axis[0]] = u;
  at[s->axis[1]] = v;
  at[s->axis[2]] = slice;
  return pla_label_voxel(s->map->volume->dims, at[0], at[1], at[2]);
}

static bool
holds(const Slices *s, int slice, int label)
{
  for (int v = 0; v < s->n[1]; v++)
    for (int u = 0; u < s->n[0]; u++)
      if (pla_label_map_get(s->map, voxel_at(s, u, v, slice)) == label)
        return true;
  return false;
}

/* signed distance to the outline of @label in @slice, and the centre of its voxels */
static PlaStatus
measure(const Slices *s, int slice, int label, float *distance, double centre[2],
        PlaProgress *progress, PlaError *err)
{
  const int dims[3] = { s->n[0], s->n[1], 1 };
  const size_t n = (size_t)s->n[0] * (size_t)s->n[1];
  double sum[2] = { 0.0, 0.0 };
  size_t count = 0;
  for (int v = 0; v < s->n[1]; v++)
    for (int u = 0; u < s->n[0]; u++) {
      const bool in = pla_label_map_get(s->map, voxel_at(s, u, v, slice)) == label;
      s->mask[(size_t)u + (size_t)s->n[0] * (size_t)v] = in;
      if (in) {
        sum[0] += u;
        sum[1] += v;
        count++;
      }
    }
  centre[0] = sum[0] / (double)count;
  centre[1] = sum[1] / (double)count;
  PlaStatus st =
      pla_distance_transform(dims, s->affine, s->mask, true, INFINITY, progress, s->inside2, err);
  if (st == PLA_OK)
    st = pla_distance_transform(dims, s->affine, s->mask, false, INFINITY, progress, s->outside2,
                                err);
  /* the outline is half way between centres; a slice full of the label has none */
  const double far = 1e6;
  for (size_t v = 0; st == PLA_OK && v < n; v++) {
    const double d = sqrt(s->mask[v] ? s->outside2[v] : s->inside2[v]);
    const double from = (d < far ? d : far) - 0.5 * s->step;
    distance[v] = (float)(s->mask[v] ? -from : from);
  }
  return st;
}

/* bilinear, the border going on */
static double
sample(const Slices *s, const float *distance, double u, double v)
{
  u = fmin(fmax(u, 0.0), s->n[0] - 1.0);
  v = fmin(fmax(v, 0.0), s->n[1] - 1.0);
  const int i = u < s->n[0] - 1 ? (int)u : s->n[0] - 1, j = v < s->n[1] - 1 ? (int)v : s->n[1] - 1;
  const int i1 = i + 1 < s->n[0] ? i + 1 : i, j1 = j + 1 < s->n[1] ? j + 1 : j;
  const double fu = u - i, fv = v - j;
  const size_t row = (size_t)s->n[0];
  const double a = distance[(size_t)i + row * (size_t)j],
               b = distance[(size_t)i1 + row * (size_t)j];
  const double c = distance[(size_t)i + row * (size_t)j1];
  const double d = distance[(size_t)i1 + row * (size_t)j1];
  return (1.0 - fv) * ((1.0 - fu) * a + fu * b) + fv * ((1.0 - fu) * c + fu * d);
}

PlaStatus
pla_label_edit_between(PlaLabelMap *map, int axis, int from, int to, int label, int only,
                       PlaProgress *progress, PlaLabelChange *change, PlaError *err)
{
  assert(axis >= 0 && axis < 3);
  const PlaVolume *vol = map->volume;
  Slices s = { .map = map, .axis = { (axis + 1) % 3, (axis + 2) % 3, axis } };
  float *distance[2] = { NULL, NULL };
  double inv[12], centre[2][2];
  PlaLabelPen pen;
  memset(change, 0, sizeof *change);
  PlaStatus st = pla_label_invert(vol, inv, err);
  if (st != PLA_OK)
    return st;
  if (from < 0 && to < 0) {
    from = 0;
    to = vol->dims[axis] - 1;
  }
  if (from < 0 || to >= vol->dims[axis] || from > to)
    return pla_fail(err, PLA_ERR_USAGE, "there are no slices %d to %d: the axis has slices 0 to %d",
                    from, to, vol->dims[axis] - 1);
  s.step = INFINITY;
  for (int c = 0; c < 2; c++) {
    double length2 = 0.0;
    s.n[c] = vol->dims[s.axis[c]];
    for (int d = 0; d < 3; d++) {
      s.affine[4 * d + c] = vol->affine_mm[4 * d + s.axis[c]];
      length2 += s.affine[4 * d + c] * s.affine[4 * d + c];
    }
    s.step = fmin(s.step, sqrt(length2));
  }
  for (int d = 0; d < 3; d++)
    s.affine[4 * d + 2] = vol->affine_mm[4 * d + axis];
  const size_t n = (size_t)s.n[0] * (size_t)s.n[1];
  s.mask = pla_array_new(n, 1);
  s.inside2 = pla_array_new(n, sizeof *s.inside2);
  s.outside2 = pla_array_new(n, sizeof *s.outside2);
  for (int i = 0; i < 2; i++)
    distance[i] = pla_array_new(n, sizeof *distance[i]);
  if (!s.mask || !s.inside2 || !s.outside2 || !distance[0] || !distance[1])
    st = pla_fail_memory(err, "slices");
  if (st == PLA_OK)
    st = pla_label_pen_init(&pen, map, label, only, err);

  /* painted slices are what they are; those between two of them follow */
  int last = -1, n_painted = 0;
  for (int slice = from; st == PLA_OK && slice <= to; slice++) {
    if (!pla_progress_step(progress, (double)(slice - from) / (to - from + 1)))
      st = pla_fail_cancelled(err);
    if (st != PLA_OK || !holds(&s, slice, label))
      continue;
    n_painted++;
    if (last >= 0 && slice > last + 1) {
      for (int i = 0; st == PLA_OK && i < 2; i++)
        st = measure(&s, i == 0 ? last : slice, label, distance[i], centre[i], NULL, err);
      const double way[2] = { centre[1][0] - centre[0][0], centre[1][1] - centre[0][1] };
      for (int between = last + 1; st == PLA_OK && between < slice; between++) {
        const double t = (double)(between - last) / (slice - last);
        for (int v = 0; v < s.n[1]; v++)
          for (int u = 0; u < s.n[0]; u++) {
            const double a = sample(&s, distance[0], u - t * way[0], v - t * way[1]);
            const double b =
                sample(&s, distance[1], u + (1.0 - t) * way[0], v + (1.0 - t) * way[1]);
            if (!((1.0 - t) * a + t * b < 0.0))
              continue;
            int at[3];
            at[s.axis[0]] = u;
            at[s.axis[1]] = v;
            at[s.axis[2]] = between;
            pla_label_pen_paint(&pen, at[0], at[1], at[2]);
          }
      }
    }
    last = slice;
  }
  if (st == PLA_OK && n_painted < 2)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "label %d is painted in %d of the slices %d to %d; at least two are needed",
                  label, n_painted, from, to);
  if (st == PLA_OK)
    *change = pen.change;
  free(s.mask);
  free(s.inside2);
  free(s.outside2);
  free(distance[0]);
  free(distance[1]);
  return st;
}

/* The level set of a label: the interface between voxels without their stairs.
 *
 * Starting from the distance to the voxel faces in index space, a low-pass filter and a pull
 * towards bounds alternate.  The filter is separable and passes quadratic functions unchanged, so
 * that curved surfaces do not shrink; the bounds hold the interface near the voxel faces, less so
 * where nothing thin could be lost (after Whitaker, "Reducing aliasing artifacts in iso-surfaces of
 * binary volumes", 2000, who projects: that leaves a crease wherever a bound ends, and creases
 * are kinks of the distance far from the surface; part of the way leaves none).  Only a band of
 * voxels around the interface is visited.  What follows is in label-interface.c: the result is
 * redistanced in millimetres, filtered once
 * more as a distance, moved to enclose the voxels' volume around every place, and drawn back to
 * corners of voxel faces that it has left by most of a voxel.
 *
 * All that happens in a grid with room around the label, so that it does not matter where the
 * volume ends. */
#include "anatomy/base/memory.h"
#include "anatomy/levelset/label-frame-private.h"
#include "anatomy/levelset/label-stairs-private.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/segment/components.h"
#include "anatomy/volume/distance-transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* widths of the filter, in voxels, coarse to fine, and how often each is used */
static const struct {
  double sigma;
  int rounds;
} stair_plan[] = { { 3.0, 8 }, { 1.5, 12 }, { 1.0, 8 } };
enum { N_PLANS = sizeof stair_plan / sizeof *stair_plan };
/* voxels around the interface that are filtered */
static const double band_voxels = 5.0;

/* Voxels by which the interface may move away from the voxel faces before it is drawn back: little
 * where a voxel has few neighbours on its own side (a corner has 7, a straight edge 11, a flat face
 * 17 of 26). */
static const float most_corner = 0.1f, most_face = 0.25f;
/* of the way back that is gone at a time */
static const float pull_back = 0.6f;
/* voxels by which values may move once more at the end, to round the dents that those bounds leave
 * in the slope; where they were held, too little for anything to change sides */
static const float last_shift = 0.2f, last_shift_held = 0.15f;
/* voxels by which a corner of their faces may be away from it before it is a distance */
static const float most_corner_gap = 0.85f;

PlaLabelLevelSetOptions
pla_label_levelset_options_default(void)
{
  return (PlaLabelLevelSetOptions){ .keep_volume = true };
}

/* a Gaussian of @sigma samples and a wider one, mixed so that the second moment is zero */
PlaStairKernel
pla_stair_kernel(double sigma)
{
  PlaStairKernel k = { .radius = (int)fmin(ceil(4.0 * sigma), PLA_STAIR_RADIUS) };
  double g[2][PLA_STAIR_RADIUS + 1], moment[2];
  for (int w = 0; w < 2; w++) {
    double s = sigma * (w ? sqrt(2.0) : 1.0), sum = 0.0, second = 0.0;
    for (int t = 0; t <= k.radius; t++) {
      g[w][t] = s > 0.0 ? exp(-0.5 * t * t / (s * s)) : t == 0;
      sum += g[w][t] * (t ? 2.0 : 1.0);
      second += g[w][t] * (t ? 2.0 : 1.0) * t * t;
    }
    for (int t = 0; t <= k.radius; t++)
      g[w][t] /= sum;
    moment[w] = second / sum;
  }
  double wide = moment[1] > moment[0] ? -moment[0] / (moment[1] - moment[0]) : 0.0;
  for (int t = 0; t <= k.radius; t++)
    k.tap[t] = (float)((1.0 - wide) * g[0][t] + wide * g[1][t]);
  return k;
}

/* adds what samples beside them contribute to samples i0 .. i1 - 1 of a row of @n, in parts */
static void
filter_row(const PlaStairKernel *kernel, int n, const float *from, int i0, int i1, float *out)
{
  enum { PART = 256 };
  const int reach = kernel->radius;
  float wide[PART + 2 * PLA_STAIR_RADIUS];
  for (int first = i0; first < i1; first += PART) {
    const int count = i1 - first < PART ? i1 - first : PART;
    for (int i = 0; i < count + 2 * reach; i++) {
      const int at = first - reach + i;
      wide[i] = from[at < 0 ? 0 : at >= n ? n - 1 : at];
    }
    for (int t = 1; t <= reach; t++) {
      const float w = kernel->tap[t], *before = wide + reach - t, *after = wide + reach + t;
      for (int i = 0; i < count; i++)
        out[first + i] += w * (before[i] + after[i]);
    }
  }
}

/* filters the runs of @from along @axis into @to; samples beyond the grid repeat the last one */
void
pla_stairs_filter_axis(const PlaStairs *s, const PlaStairKernel *kernel, int axis,
                       const float *from, float *to)
{
  /* a symmetric filter along one axis, over the runs of the band only; borders repeat */
  const int *n = s->dims;
  const size_t nx = (size_t)n[0];
#pragma omp parallel for collapse(2) schedule(dynamic, 64) if (s->large)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++) {
        const int i0 = s->run[r].i0, i1 = s->run[r].i1;
        float *out = to + nx * row;
        const float *mid = from + nx * row;
        for (int i = i0; i < i1; i++)
          out[i] = kernel->tap[0] * mid[i];
        if (axis == 0) {
          filter_row(kernel, n[0], mid, i0, i1, out);
          continue;
        }
        for (int t = 1; t <= kernel->radius; t++) {
          const float w = kernel->tap[t];
          int at = axis == 1 ? j : k, last = n[axis] - 1;
          int before = at - t < 0 ? 0 : at - t, after = at + t > last ? last : at + t;
          size_t stride = axis == 1 ? nx : nx * (size_t)n[1];
          size_t base = axis == 1 ? nx * (size_t)n[1] * (size_t)k : nx * (size_t)j;
          const float *a = from + base + stride * (size_t)before;
          const float *b = from + base + stride * (size_t)after;
          for (int i = i0; i < i1; i++)
            out[i] += w * (a[i] + b[i]);
        }
      }
    }
}

/* work[0] <- the filtered u */
void
pla_stairs_filter(PlaStairs *s, const PlaStairKernel kernel[3])
{
  pla_stairs_filter_axis(s, &kernel[0], 0, s->u, s->work[0]);
  pla_stairs_filter_axis(s, &kernel[1], 1, s->work[0], s->work[1]);
  pla_stairs_filter_axis(s, &kernel[2], 2, s->work[1], s->work[0]);
}

/* whether voxel @at moved by @step along @axis is on side @side; beyond the grid the label goes on,
 * and its background does not, so that the interface is held back from the border */
static bool
same_side(const PlaStairs *s, const int at[3], int axis, int step, bool side)
{
  const int *n = s->dims;
  int x[3] = { at[0], at[1], at[2] };
  x[axis] += step;
  if (x[axis] < 0 || x[axis] >= n[axis])
    return side;
  return (bool)
             s->mask[(size_t)x[0] + (size_t)n[0] * ((size_t)x[1] + (size_t)n[1] * (size_t)x[2])] ==
         side;
}

/* whether label or background is one or two voxels thick there */
static bool
is_slender(const PlaStairs *s, const int at[3], bool side)
{
  for (int d = 0; d < 3; d++) {
    bool near[2] = { same_side(s, at, d, -1, side), same_side(s, at, d, 1, side) };
    bool far[2] = { near[0] && same_side(s, at, d, -2, side),
                    near[1] && same_side(s, at, d, 2, side) };
    if (!(near[0] && near[1]) && !far[0] && !far[1])
      return true;
  }
  return false;
}

static float
freedom_at(const PlaStairs *s, int i, int j, int k)
{
  const int *n = s->dims, at[3] = { i, j, k };
  const size_t nx = (size_t)n[0], plane = nx * (size_t)n[1];
  const bool side = s->mask[(size_t)i + nx * (size_t)j + plane * (size_t)k];
  if (is_slender(s, at, side))
    return most_corner;
  int same = -1;
  for (int c = k - 1; c <= k + 1; c++)
    for (int b = j - 1; b <= j + 1; b++)
      for (int a = i - 1; a <= i + 1; a++) {
        bool outside = a < 0 || b < 0 || c < 0 || a >= n[0] || b >= n[1] || c >= n[2];
        same += outside || (bool)s->mask[(size_t)a + nx * (size_t)b + plane * (size_t)c] == side;
      }
  float share = fminf(fmaxf((float)(same - 7) / 5.0f, 0.0f), 1.0f);
  return most_corner + share * (most_face - most_corner);
}

/* bounds of the values in the runs */
static void
bound_values(PlaStairs *s)
{
  const int *n = s->dims;
#pragma omp parallel for collapse(2) schedule(dynamic, 64) if (s->large)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          size_t v = (size_t)n[0] * row + (size_t)i;
          float free = fabsf(s->u[v]) < 1.0f ? freedom_at(s, i, j, k) : most_face;
          s->least[v] = s->u[v] - free;
          s->most[v] = s->u[v] + free;
        }
    }
}

/* the bounds of the last round, around what the values have become */
static void
bound_last_round(PlaStairs *s)
{
  const size_t rows = (size_t)s->dims[1] * (size_t)s->dims[2];
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++)
    for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
      for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
        const size_t v = (size_t)s->dims[0] * row + (size_t)i;
        const bool held = s->most[v] - s->least[v] < 2.01f * most_corner;
        const float by = held ? last_shift_held : last_shift;
        s->least[v] = s->u[v] - by;
        s->most[v] = s->u[v] + by;
      }
}

/* u <- the filtered u, drawn by @back of the way into the bounds */
static void
settle(PlaStairs *s, const float *filtered, float back)
{
  const size_t rows = (size_t)s->dims[1] * (size_t)s->dims[2];
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++)
    for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
      for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
        size_t v = (size_t)s->dims[0] * row + (size_t)i;
        float x = filtered[v];
        x += back * (fminf(fmaxf(x, s->least[v]), s->most[v]) - x);
        s->u[v] = x < -s->band ? -s->band : x > s->band ? s->band : x;
      }
}

static void
filter_round(PlaStairs *s, const PlaStairKernel kernel[3], float back)
{
  pla_stairs_filter(s, kernel);
  settle(s, s->work[0], back);
}

/* signed distance to the voxel faces in voxels, within the band */
static PlaStatus
stairs_init(PlaStairs *s, PlaProgress *progress, PlaError *err)
{
  const int *n = s->dims;
  const double identity[12] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0 };
  const size_t rows = (size_t)n[1] * (size_t)n[2], voxels = rows * (size_t)n[0];
  s->work[0] = pla_array_new(voxels, sizeof(float));
  s->work[1] = pla_array_new(voxels, sizeof(float));
  s->first_run = pla_array_new0(rows + 1, sizeof *s->first_run);
  s->least = pla_array_new(voxels, sizeof *s->least);
  s->most = pla_array_new(voxels, sizeof *s->most);
  if (!s->work[0] || !s->work[1] || !s->first_run || !s->least || !s->most)
    return pla_fail_memory(err, "the level set of a label");
  /* squared index distances to the label and to its complement */
  PlaStatus st =
      pla_distance_transform(n, identity, s->mask, true, s->band + 0.5, progress, s->work[0], err);
  if (st == PLA_OK)
    st = pla_distance_transform(n, identity, s->mask, false, s->band + 0.5, progress, s->work[1],
                                err);
  if (st != PLA_OK)
    return st;

    /* in the band, and how many runs each row has */
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++) {
    size_t runs = 0;
    bool open = false;
    for (int i = 0; i < n[0]; i++) {
      size_t v = (size_t)n[0] * row + (size_t)i;
      float d = sqrtf(s->mask[v] ? s->work[1][v] : s->work[0][v]) - 0.5f;
      bool active = d < s->band;
      d = active ? d : s->band;
      s->u[v] = s->mask[v] ? -d : d;
      runs += active && !open;
      open = active;
    }
    s->first_run[row + 1] = runs;
  }
  memcpy(s->work[0], s->u, voxels * sizeof(float));
  memcpy(s->work[1], s->u, voxels * sizeof(float));
  for (size_t row = 0; row < rows; row++)
    s->first_run[row + 1] += s->first_run[row];
  s->run = pla_array_new(s->first_run[rows], sizeof *s->run);
  if (!s->run)
    return pla_fail_memory(err, "the level set of a label");
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++) {
    size_t r = s->first_run[row];
    bool open = false;
    for (int i = 0; i < n[0]; i++) {
      bool active = fabsf(s->u[(size_t)n[0] * row + (size_t)i]) < s->band;
      if (active && !open)
        s->run[r].i0 = i;
      if (active)
        s->run[r].i1 = i + 1;
      if (!active && open)
        r++;
      open = active;
    }
  }
  bound_values(s);
  return PLA_OK;
}

/* the bounds are for smoothing alone, and as large as the grid */
static void
drop_bounds(PlaStairs *s)
{
  free(s->least);
  free(s->most);
  s->least = s->most = NULL;
}

static void
stairs_clear(PlaStairs *s)
{
  free(s->work[0]);
  free(s->work[1]);
  free(s->first_run);
  free(s->run);
  drop_bounds(s);
}

/* bounds that keep voxel @v inside, or outside */
static void
hold_to_side(PlaStairs *s, size_t v, bool inside)
{
  if (inside) {
    s->most[v] = fminf(s->most[v], -pla_stairs_inside);
    s->least[v] = fminf(s->least[v], s->most[v]);
  } else {
    s->least[v] = fmaxf(s->least[v], pla_stairs_inside);
    s->most[v] = fmaxf(s->most[v], s->least[v]);
  }
}

/* Voxels that have changed sides together with everything around them were part of something that
 * is gone: holds them to their own side.  Returns how many. */
static size_t
hold_lost(PlaStairs *s)
{
  const int *n = s->dims;
  const size_t nx = (size_t)n[0], stride[3] = { 1, nx, nx * (size_t)n[1] };
  size_t lost = 0;
#pragma omp parallel for collapse(2) schedule(dynamic, 64) if (s->large) reduction(+ : lost)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          const size_t v = nx * row + (size_t)i;
          const bool own = s->mask[v];
          if ((s->u[v] < 0.0f) == own)
            continue;
          const int at[3] = { i, j, k };
          bool near = false;
          for (int d = 0; d < 3 && !near; d++)
            near = (at[d] > 0 && (s->u[v - stride[d]] < 0.0f) == own) ||
                   (at[d] + 1 < n[d] && (s->u[v + stride[d]] < 0.0f) == own);
          if (near)
            continue;
          /* neighbours are only read as signs of u, which stays */
          hold_to_side(s, v, own);
          lost++;
        }
    }
  return lost;
}

/* the eight voxels at the upper corner of voxel (i, j, k); beyond the grid those at its border */
static void
voxels_at_corner(const PlaStairs *s, int i, int j, int k, size_t at[8])
{
  const int *n = s->dims, lo[3] = { i, j, k };
  size_t first = 0, step[3], stride = 1;
  for (int d = 0; d < 3; d++) {
    first += stride * (size_t)(lo[d] < 0 ? 0 : lo[d]);
    step[d] = lo[d] < 0 || lo[d] + 1 >= n[d] ? 0 : stride;
    stride *= (size_t)n[d];
  }
  for (int c = 0; c < 8; c++)
    at[c] = first + (c & 1 ? step[0] : 0) + (c & 2 ? step[1] : 0) + (c & 4 ? step[2] : 0);
}

/* By how much the mean value of the voxels @at a corner is beyond what it is @gap voxels away from
 * the interface; 0: no voxel face has that corner, or it is nearer. */
float
pla_stairs_corner_excess(const PlaStairs *s, const float *value, const size_t at[8], float gap)
{
  float mean = 0.0f, slope[3] = { 0 };
  int inside = 0;
  for (int c = 0; c < 8; c++)
    inside += s->mask[at[c]] != 0;
  if (inside == 0 || inside == 8)
    return 0.0f;
  for (int c = 0; c < 8; c++) {
    mean += 0.125f * value[at[c]];
    for (int d = 0; d < 3; d++)
      slope[d] += (c >> d & 1 ? 0.25f : -0.25f) * value[at[c]];
  }
  const float most = gap * sqrtf(slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2]);
  return fabsf(mean) <= most ? 0.0f : mean - copysignf(most, mean);
}

/* Calls @func, in their order, for corners of voxel faces from which the interface of @value is
 * further than @gap voxels; returns how many there are. */
size_t
pla_stairs_visit_far_corners(PlaStairs *s, const float *value, float gap, PlaCornerFunc func,
                             void *data)
{
  const int *n = s->dims;
  size_t far = 0;
  for (int k = -1; k < n[2]; k++)
    for (int j = -1; j < n[1]; j++) {
      const size_t row = (size_t)(j < 0 ? 0 : j) + (size_t)n[1] * (size_t)(k < 0 ? 0 : k);
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0 - (s->run[r].i0 == 0); i < s->run[r].i1; i++) {
          size_t at[8];
          voxels_at_corner(s, i, j, k, at);
          if (pla_stairs_corner_excess(s, value, at, gap) == 0.0f)
            continue;
          func(s, i, j, k, at, data);
          far++;
        }
    }
  return far;
}

/* the corner should be nearer to the few voxels on one side: holds them to it */
static void
hold_few(PlaStairs *s, int i, int j, int k, const size_t at[8], void *data)
{
  (void)i, (void)j, (void)k, (void)data;
  const bool inside = pla_stairs_corner_excess(s, s->u, at, most_corner_gap) > 0.0f;
  for (int c = 0; c < 8; c++)
    if ((s->mask[at[c]] != 0) == inside)
      hold_to_side(s, at[c], inside);
}

/* Corners of voxel faces that the interface has left by most of a voxel, as a lone bump's
 * does: holds the voxels around them to their own side.  Returns how many corners. */
static size_t
hold_far(PlaStairs *s)
{
  return pla_stairs_visit_far_corners(s, s->u, most_corner_gap, hold_few, NULL);
}

/* shifts the interface until it encloses @target_mm3, but for what is not worth moving flat faces
 */
static PlaStatus
match_volume(PlaLevelSet *ls, double target_mm3, PlaError *err)
{
  const double slack_mm3 = 0.003 * target_mm3, most = 0.2 * pla_levelset_spacing_mm(ls);
  double volume, area;
  PlaStatus st = PLA_OK;
  for (int round = 0; round < 3 && st == PLA_OK; round++) {
    st = pla_levelset_measure(ls, &volume, &area, err);
    if (st != PLA_OK || area <= 0.0 || fabs(volume - target_mm3) <= 1.001 * slack_mm3)
      break;
    const double lack = target_mm3 - volume - copysign(slack_mm3, target_mm3 - volume);
    pla_levelset_offset(ls, fmin(fmax(lack / area, -most), most));
  }
  return st;
}

/* one unbounded round, taken back where nothing of a layer thinner than the filter would be left */
static PlaStatus
smooth_what_lasts(PlaStairs *s, const PlaStairKernel kernel[3], PlaError *err)
{
  const size_t n = (size_t)s->dims[0] * (size_t)s->dims[1] * (size_t)s->dims[2];
  float *before = pla_array_dup(s->u, n, sizeof *before);
  if (!before)
    return pla_fail_memory(err, "the level set");
  filter_round(s, kernel, 0.0f);
  bool left = false;
  for (size_t v = 0; v < n && !left; v++)
    left = s->u[v] < 0.0f;
  if (!left)
    memcpy(s->u, before, n * sizeof *before);
  free(before);
  return PLA_OK;
}

/* away with the stairs, then with what is finer than asked for */
static PlaStatus
remove_stairs(PlaStairs *s, PlaProgress *progress, PlaError *err)
{
  PlaStairKernel kernel[3];
  int done = 0, rounds = 0;
  for (int p = 0; p < N_PLANS; p++)
    rounds += stair_plan[p].rounds;
  for (int p = 0; p < N_PLANS; p++) {
    kernel[0] = kernel[1] = kernel[2] = pla_stair_kernel(stair_plan[p].sigma);
    for (int r = 0; r < stair_plan[p].rounds; r++) {
      filter_round(s, kernel, pull_back);
      if (!pla_progress_step(progress, (double)++done / rounds))
        return pla_fail_cancelled(err);
    }
  }
  for (int r = 0; r < 4 && hold_lost(s) + hold_far(s) > 0; r++)
    for (int m = 0; m < 3; m++)
      filter_round(s, kernel, pull_back);
  bound_last_round(s);
  filter_round(s, kernel, pull_back);
  for (int r = 0; r < 4 && hold_lost(s) > 0; r++)
    settle(s, s->u, 1.0f);
  return PLA_OK;
}

/* True distances in mm, with the volume of the voxels restored place by place and as a whole, and
 * cropped to the volume.  @count and @wide_count: voxels of the labels in the volume and in the
 * grid;
 * @widest: largest sigma, voxels. */
static PlaStatus
finish(PlaStairs *s, const PlaLabelFrame *f, PlaLevelSet *wide, const PlaLabelLevelSetOptions *opts,
       double one_voxel_mm3, size_t count, size_t wide_count, double widest,
       const double spacing[3], PlaProgress *progress, PlaLevelSet **out, PlaError *err)
{
  const double coarsest = fmax(spacing[0], fmax(spacing[1], spacing[2]));
  const double voxel_mm3 = opts->keep_volume ? one_voxel_mm3 : 0.0;
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Redistancing", 1.0);
  PlaProgressSpan span = pla_progress_push(progress);
  if (opts->smooth_mm == 0.0)
    st = pla_stairs_draw_near(s, wide, 3.0 * coarsest, (double)wide_count * voxel_mm3, progress,
                              err);
  if (opts->smooth_mm > 0.0 && voxel_mm3 > 0.0)
    st = pla_levelset_redistance(wide, 3.0 * coarsest, progress, err);
  for (int r = 0; st == PLA_OK && opts->smooth_mm > 0.0 && voxel_mm3 > 0.0 && r < 2; r++)
    st = pla_stairs_match_locally(s, wide, pla_stairs_match_sigma + 2.0 * widest, err);
  if (st == PLA_OK)
    st = pla_levelset_redistance(wide, opts->band_mm > 0.0 ? opts->band_mm : 4.0 * coarsest,
                                 progress, err);
  pla_progress_pop(progress, span);
  /* a label that fills the whole grid has no interface: it is all inside */
  if (st == PLA_ERR_EMPTY && wide->phi_mm[0] < 0.0f) {
    pla_error_clear(err);
    st = PLA_OK;
  }
  if (st == PLA_OK)
    st = pla_label_frame_trim(wide, f, out, err);
  if (st == PLA_OK && voxel_mm3 > 0.0)
    st = match_volume(*out, (double)count * voxel_mm3, err);
  return st;
}

PlaStatus
pla_levelset_from_labels(const PlaLabelMap *map, const int *ids, int n_ids,
                         const PlaLabelLevelSetOptions *opts, PlaProgress *progress,
                         PlaLevelSet **out, PlaLabelLevelSetReport *report, PlaError *err)
{
  const PlaVolume *vol = map->volume;
  int lo[3], hi[3];
  double spacing[3], sigma[3], widest = 0.0;
  size_t count = 0, wide_count = 0;
  uint8_t *wanted = pla_array_new0(65536, 1), *mask = NULL;
  PlaLevelSet *wide = NULL, *ls = NULL;
  PlaLabelFrame f = { 0 };
  PlaStairs s = { 0 };
  PlaStatus st = wanted ? PLA_OK : pla_fail_memory(err, "the level set of a label");
  *out = NULL;
  /* the labels and the box that holds them */
  for (int i = 0; st == PLA_OK && i < n_ids; i++)
    if (ids[i] >= 0 && ids[i] < 65536)
      wanted[ids[i]] = 1;
  if (st == PLA_OK && !pla_label_frame_find_box(map, wanted, lo, hi, &count))
    st = n_ids == 1 ? pla_fail(err, PLA_ERR_EMPTY, "No voxel has label %d", ids[0])
                    : pla_fail(err, PLA_ERR_EMPTY, "No voxel has any of the %d labels", n_ids);
  if (st == PLA_OK) {
    /* a grid with room around that box */
    pla_volume_spacing_mm(vol, spacing);
    for (int d = 0; d < 3; d++) {
      sigma[d] = fmin(opts->smooth_mm / spacing[d], PLA_STAIR_RADIUS / 4.0);
      widest = fmax(widest, sigma[d]);
    }
    s.band = (float)(band_voxels + 3.0 * widest);
    f = pla_label_frame_make(vol, lo, hi, opts->margin_mm, 3.0 * widest, (int)ceilf(s.band) + 1);
    if (report) {
      *report =
          (PlaLabelLevelSetReport){ (double)count * pla_volume_voxel_mm3(vol), f.faces, { 0 } };
      memcpy(report->lo, f.first, sizeof f.first);
    }
    st = pla_levelset_new(f.wide, f.wide_affine, &wide, err);
  }
  if (st == PLA_OK) {
    mask = pla_array_new(pla_levelset_n_voxels(wide), 1);
    if (!mask)
      st = pla_fail_memory(err, "the level set of a label");
  }
  if (st == PLA_OK) {
    /* distances to voxel faces, in a band */
    wide_count = pla_label_frame_fill(map, wanted, &f, mask);
    memcpy(s.dims, f.wide, sizeof f.wide);
    s.mask = mask;
    s.u = wide->phi_mm;
    s.large = pla_levelset_n_voxels(wide) > 100000;
    pla_progress_phase(progress, "Measuring distances", 0.2);
    PlaProgressSpan span = pla_progress_push(progress);
    st = stairs_init(&s, progress, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK) {
    /* remove the stairs, then detail finer than asked for */
    pla_progress_phase(progress, "Smoothing", 0.6);
    PlaProgressSpan span = pla_progress_push(progress);
    st = remove_stairs(&s, progress, err);
    pla_progress_pop(progress, span);
  }
  if (st == PLA_OK && opts->smooth_mm > 0.0) {
    const PlaStairKernel kernel[3] = { pla_stair_kernel(sigma[0]), pla_stair_kernel(sigma[1]),
                                       pla_stair_kernel(sigma[2]) };
    st = smooth_what_lasts(&s, kernel, err);
  }
  drop_bounds(&s);
  if (st == PLA_OK)
    st = finish(&s, &f, wide, opts, pla_volume_voxel_mm3(vol), count, wide_count, widest, spacing,
                progress, &ls, err);
  stairs_clear(&s);
  pla_levelset_free(wide);
  free(mask);
  free(wanted);
  if (st == PLA_OK)
    *out = ls;
  else
    pla_levelset_free(ls);
  return st;
}

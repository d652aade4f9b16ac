/* The level set of a label: the interface between voxels without their stairs.
 *
 * Starting from the distance to the voxel faces in index space, a low-pass filter and a projection
 * alternate.  The filter is separable and passes quadratic functions unchanged, so that curved
 * surfaces do not shrink; the projection holds the interface near the voxel faces, by less than
 * a voxel everywhere and much less where it could lose something thin (after Whitaker, "Reducing
 * aliasing artifacts in iso-surfaces of binary volumes", 2000).  Only a band of voxels around the
 * interface is visited.  The result is redistanced in millimetres. */
#include "anatomy/base/memory.h"
#include "anatomy/distance-transform.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/segment/components.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* widths of the filter, in voxels, coarse to fine, and how often each is used */
static const struct {
  double sigma;
  int rounds;
} stair_plan[] = { { 4.0, 4 }, { 2.0, 6 }, { 1.0, 8 } };
enum { N_PLANS = sizeof stair_plan / sizeof *stair_plan };

/* Voxels by which the interface may move away from the voxel faces: little where label or
 * background is one voxel thick, which would wither to a thread otherwise; more where a voxel has
 * many neighbours on its own side (a corner has 7, a straight edge 11, a flat face 17 of 26).  The
 * largest is what flattens a step between two slices. */
static const float most_thin = 0.2f, most_corner = 0.3f, most_face = 0.55f;
/* voxels by which values may move once more at the end, to round the dents that those bounds leave
 * in the slope; where they were held, too little for anything to change sides */
static const float last_shift = 0.2f, last_shift_held = 0.15f;
/* voxels by which a corner of their faces may be away from it before the last round */
static const float most_corner_gap = 0.85f;
enum { MAX_RADIUS = 64 };

PlaLabelLevelSetOptions
pla_label_levelset_options_default(void)
{
  return (PlaLabelLevelSetOptions){ .keep_volume = true, .corner_gap = 1.0 };
}

/* a symmetric filter; tap[0] is the middle */
typedef struct {
  int radius;
  float tap[MAX_RADIUS + 1];
} Kernel;

/* a Gaussian of @sigma samples and a wider one, mixed so that the second moment is zero */
static Kernel
kernel_make(double sigma)
{
  Kernel k = { .radius = (int)fmin(ceil(4.0 * sigma), MAX_RADIUS) };
  double g[2][MAX_RADIUS + 1], moment[2];
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

/* voxels i0 .. i1 - 1 of a row */
typedef struct {
  int i0, i1;
} Run;

typedef struct {
  int dims[3];
  bool large; /* worth several threads */
  float band; /* voxels: values stay within +- band */
  const uint8_t *mask;
  float *least, *most; /* what u may be, in the runs */
  float *u;            /* voxels; negative inside */
  float *work[2];      /* like u outside the runs */
  size_t *first_run;   /* per row (rows + 1) */
  Run *run;
} Stairs;

/* filters the runs of @from along @axis into @to; samples beyond the grid repeat the last one */
static void
filter_axis(const Stairs *s, const Kernel *kernel, int axis, const float *from, float *to)
{
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
        for (int t = 1; t <= kernel->radius; t++) {
          const float w = kernel->tap[t];
          if (axis == 0) {
            for (int i = i0; i < i1; i++)
              out[i] += w * (mid[i - t < 0 ? 0 : i - t] + mid[i + t >= n[0] ? n[0] - 1 : i + t]);
            continue;
          }
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

/* whether voxel @at moved by @step along @axis is on side @side; beyond the grid the label goes on,
 * and its background does not, so that the interface is held back from the border */
static bool
same_side(const Stairs *s, const int at[3], int axis, int step, bool side)
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

static float
freedom_at(const Stairs *s, int i, int j, int k)
{
  const int *n = s->dims, at[3] = { i, j, k };
  const size_t nx = (size_t)n[0], plane = nx * (size_t)n[1];
  const bool side = s->mask[(size_t)i + nx * (size_t)j + plane * (size_t)k];
  bool slender = false;
  for (int d = 0; d < 3; d++) {
    bool near[2] = { same_side(s, at, d, -1, side), same_side(s, at, d, 1, side) };
    bool far[2] = { near[0] && same_side(s, at, d, -2, side),
                    near[1] && same_side(s, at, d, 2, side) };
    /* one voxel thick, and going on sideways: part of a sheet or thread, not a lone bump */
    int sideways = 0;
    for (int e = 1; e < 3; e++)
      sideways += same_side(s, at, (d + e) % 3, -1, side) + same_side(s, at, (d + e) % 3, 1, side);
    if (!near[0] && !near[1] && sideways >= 2)
      return most_thin;
    slender = slender || (near[0] + near[1] == 1 && !far[0] && !far[1]);
  }
  if (slender)
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
bound_values(Stairs *s)
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
bound_last_round(Stairs *s)
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

/* u <- the filtered u, within the bounds when @hold */
static void
settle(Stairs *s, const float *filtered, bool hold)
{
  const size_t rows = (size_t)s->dims[1] * (size_t)s->dims[2];
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++)
    for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
      for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
        size_t v = (size_t)s->dims[0] * row + (size_t)i;
        float x = filtered[v];
        if (hold)
          x = x < s->least[v] ? s->least[v] : x > s->most[v] ? s->most[v] : x;
        s->u[v] = x < -s->band ? -s->band : x > s->band ? s->band : x;
      }
}

static void
filter_round(Stairs *s, const Kernel kernel[3], bool hold)
{
  filter_axis(s, &kernel[0], 0, s->u, s->work[0]);
  filter_axis(s, &kernel[1], 1, s->work[0], s->work[1]);
  filter_axis(s, &kernel[2], 2, s->work[1], s->work[0]);
  settle(s, s->work[0], hold);
}

/* signed distance to the voxel faces in voxels, within the band */
static PlaStatus
stairs_init(Stairs *s, PlaProgress *progress, PlaError *err)
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

static void
stairs_clear(Stairs *s)
{
  free(s->work[0]);
  free(s->work[1]);
  free(s->first_run);
  free(s->run);
  free(s->least);
  free(s->most);
}

/* bounds that keep voxel @v inside, or outside, by the least that a corner has */
static void
hold_to_side(Stairs *s, size_t v, bool inside)
{
  if (inside) {
    s->most[v] = fminf(s->most[v], most_corner - 0.5f);
    s->least[v] = fminf(s->least[v], s->most[v]);
  } else {
    s->least[v] = fmaxf(s->least[v], 0.5f - most_corner);
    s->most[v] = fmaxf(s->most[v], s->least[v]);
  }
}

/* Voxels that have changed sides together with everything around them were part of something that
 * is gone: holds them to their own side.  Returns how many. */
static size_t
hold_lost(Stairs *s)
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

/* Corners of voxel faces that the interface has left by @gap, most of a voxel, as a lone bump's
 * does: holds the voxels around them to their own side.  Returns how many corners. */
static size_t
hold_far(Stairs *s, float gap)
{
  const int *n = s->dims;
  const size_t nx = (size_t)n[0], plane = nx * (size_t)n[1];
  size_t far = 0;
  for (int k = 0; k + 1 < n[2]; k++)
    for (int j = 0; j + 1 < n[1]; j++) {
      const size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1 && i + 1 < n[0]; i++) {
          const size_t v = nx * row + (size_t)i;
          float mean = 0.0f, slope[3] = { 0 };
          int inside = 0;
          for (int c = 0; c < 8; c++) {
            const size_t at = v + (size_t)(c & 1) + (c & 2 ? nx : 0) + (c & 4 ? plane : 0);
            inside += s->mask[at] != 0;
            mean += 0.125f * s->u[at];
            for (int d = 0; d < 3; d++)
              slope[d] += (c >> d & 1 ? 0.25f : -0.25f) * s->u[at];
          }
          if (inside == 0 || inside == 8 ||
              mean * mean <
                  gap * gap * (slope[0] * slope[0] + slope[1] * slope[1] + slope[2] * slope[2]))
            continue;
          /* the corner should be nearer to the few */
          const bool few = mean > 0.0f;
          for (int c = 0; c < 8; c++) {
            const size_t at = v + (size_t)(c & 1) + (c & 2 ? nx : 0) + (c & 4 ? plane : 0);
            if ((s->mask[at] != 0) != few)
              continue;
            hold_to_side(s, at, few);
          }
          far++;
        }
    }
  return far;
}

/* shifts the interface until it encloses @target_mm3 */
static PlaStatus
match_volume(PlaLevelSet *ls, double target_mm3, PlaError *err)
{
  double volume, area;
  PlaStatus st = PLA_OK;
  for (int round = 0; round < 3 && st == PLA_OK; round++) {
    st = pla_levelset_measure(ls, &volume, &area, err);
    if (st != PLA_OK || area <= 0.0 || fabs(volume - target_mm3) < 1e-3 * target_mm3)
      break;
    const double most = 0.2 * pla_levelset_spacing_mm(ls);
    pla_levelset_offset(ls, fmin(fmax((target_mm3 - volume) / area, -most), most));
  }
  return st;
}

/* marks the voxels that bear one of @ids and finds their box; false when there are none */
static bool
find_box(const PlaLabelMap *map, const uint8_t *wanted, int lo[3], int hi[3], size_t *count)
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

/* the part of the volume's grid around the label: first voxel, size and affine */
static unsigned
crop(const PlaVolume *vol, const int lo[3], const int hi[3], double margin_mm, double extra_voxels,
     int first[3], int dims[3], double affine[12])
{
  unsigned faces = 0;
  double spacing[3];
  pla_volume_spacing_mm(vol, spacing);
  memcpy(affine, vol->affine_mm, 12 * sizeof *affine);
  for (int d = 0; d < 3; d++) {
    double voxels = (margin_mm > 0.0 ? margin_mm / spacing[d] : 6.0) + extra_voxels;
    int margin = (int)fmin(ceil(voxels), vol->dims[d]);
    faces |= lo[d] == 0 ? 1u << 2 * d : 0;
    faces |= hi[d] == vol->dims[d] - 1 ? 2u << 2 * d : 0;
    first[d] = lo[d] > margin ? lo[d] - margin : 0;
    int last = hi[d] + margin < vol->dims[d] ? hi[d] + margin : vol->dims[d] - 1;
    dims[d] = last - first[d] + 1;
    for (int r = 0; r < 3; r++)
      affine[4 * r + 3] += first[d] * vol->affine_mm[4 * r + d];
  }
  return faces;
}

/* one unbounded round, taken back where nothing of a layer thinner than the filter would be left */
static PlaStatus
smooth_what_lasts(Stairs *s, const Kernel kernel[3], PlaError *err)
{
  const size_t n = (size_t)s->dims[0] * (size_t)s->dims[1] * (size_t)s->dims[2];
  float *before = pla_array_dup(s->u, n, sizeof *before);
  if (!before)
    return pla_fail_memory(err, "the level set");
  filter_round(s, kernel, false);
  bool left = false;
  for (size_t v = 0; v < n && !left; v++)
    left = s->u[v] < 0.0f;
  if (!left)
    memcpy(s->u, before, n * sizeof *before);
  free(before);
  return PLA_OK;
}

PlaStatus
pla_levelset_from_labels(const PlaLabelMap *map, const int *ids, int n_ids,
                         const PlaLabelLevelSetOptions *opts, PlaProgress *progress,
                         PlaLevelSet **out, PlaLabelLevelSetReport *report, PlaError *err)
{
  const PlaVolume *vol = map->volume;
  int lo[3], hi[3], first[3], dims[3];
  double affine[12], spacing[3], sigma[3], widest = 0.0;
  size_t count = 0;
  uint8_t *wanted = pla_array_new0(65536, 1), *mask = NULL;
  PlaLevelSet *ls = NULL;
  Stairs s = { 0 };
  PlaStatus st = wanted ? PLA_OK : pla_fail_memory(err, "the level set of a label");
  *out = NULL;
  for (int i = 0; st == PLA_OK && i < n_ids; i++)
    if (ids[i] >= 0 && ids[i] < 65536)
      wanted[ids[i]] = 1;
  if (st == PLA_OK && !find_box(map, wanted, lo, hi, &count))
    st = n_ids == 1 ? pla_fail(err, PLA_ERR_EMPTY, "No voxel bears label %d", ids[0])
                    : pla_fail(err, PLA_ERR_EMPTY, "No voxel bears any of the %d labels", n_ids);
  if (st == PLA_OK) {
    pla_volume_spacing_mm(vol, spacing);
    for (int d = 0; d < 3; d++) {
      sigma[d] = fmin(opts->smooth_mm / spacing[d], MAX_RADIUS / 4.0);
      widest = fmax(widest, sigma[d]);
    }
    unsigned faces = crop(vol, lo, hi, opts->margin_mm, 3.0 * widest, first, dims, affine);
    if (report) {
      *report = (PlaLabelLevelSetReport){ (double)count * pla_volume_voxel_mm3(vol), faces, { 0 } };
      memcpy(report->lo, first, sizeof first);
    }
    st = pla_levelset_new(dims, affine, &ls, err);
  }
  if (st == PLA_OK) {
    mask = pla_array_new(pla_levelset_n_voxels(ls), 1);
    if (!mask)
      st = pla_fail_memory(err, "the level set of a label");
  }
  if (st == PLA_OK) {
#pragma omp parallel for schedule(static)
    for (int k = 0; k < dims[2]; k++)
      for (int j = 0; j < dims[1]; j++)
        for (int i = 0; i < dims[0]; i++) {
          size_t from = (size_t)(i + first[0]) +
                        (size_t)vol->dims[0] * ((size_t)(j + first[1]) +
                                                (size_t)vol->dims[1] * (size_t)(k + first[2]));
          mask[(size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k)] =
              wanted[pla_label_map_get(map, from)];
        }
    memcpy(s.dims, dims, sizeof dims);
    s.mask = mask;
    s.u = ls->phi_mm;
    s.large = pla_levelset_n_voxels(ls) > 100000;
    s.band = (float)(3.0 + 3.0 * widest);
    pla_progress_phase(progress, "Measuring distances", 0.2);
    PlaProgressSpan span = pla_progress_push(progress);
    st = stairs_init(&s, progress, err);
    pla_progress_pop(progress, span);
  }
  /* away with the stairs, then with what is finer than asked for */
  if (st == PLA_OK) {
    Kernel kernel[3];
    int done = 0, rounds = 0;
    for (int p = 0; p < N_PLANS; p++)
      rounds += stair_plan[p].rounds;
    pla_progress_phase(progress, "Smoothing", 0.6);
    for (int p = 0; p < N_PLANS; p++) {
      kernel[0] = kernel[1] = kernel[2] = kernel_make(stair_plan[p].sigma);
      for (int r = 0; st == PLA_OK && r < stair_plan[p].rounds; r++) {
        filter_round(&s, kernel, true);
        if (!pla_progress_step(progress, (double)++done / rounds))
          st = pla_fail_cancelled(err);
      }
    }
    for (int r = 0; st == PLA_OK && r < 4 && hold_lost(&s) + hold_far(&s, most_corner_gap) > 0; r++)
      for (int m = 0; m < 3; m++)
        filter_round(&s, kernel, true);
    bound_last_round(&s);
    filter_round(&s, kernel, true);
    for (int r = 0; st == PLA_OK && r < 4 && hold_lost(&s) + hold_far(&s, (float)opts->corner_gap) > 0; r++)
      settle(&s, s.u, true);
    if (st == PLA_OK && opts->smooth_mm > 0.0) {
      for (int d = 0; d < 3; d++)
        kernel[d] = kernel_make(sigma[d]);
      st = smooth_what_lasts(&s, kernel, err);
    }
  }
  if (st == PLA_OK) {
    double coarsest = fmax(spacing[0], fmax(spacing[1], spacing[2]));
    pla_progress_phase(progress, "Redistancing", 1.0);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_levelset_redistance(ls, opts->band_mm > 0.0 ? opts->band_mm : 4.0 * coarsest, progress,
                                 err);
    pla_progress_pop(progress, span);
    /* a label that fills the whole grid has no interface: it is all inside */
    if (st == PLA_ERR_EMPTY && ls->phi_mm[0] < 0.0f) {
      pla_error_clear(err);
      st = PLA_OK;
    }
  }
  if (st == PLA_OK && opts->keep_volume)
    st = match_volume(ls, (double)count * pla_volume_voxel_mm3(vol), err);
  stairs_clear(&s);
  free(mask);
  free(wanted);
  if (st == PLA_OK)
    *out = ls;
  else
    pla_levelset_free(ls);
  return st;
}

/* Exact Euclidean distance transform on voxel grids.
 *
 * Orthogonal axes: D2(x) = min_y sum_a w_a (x_a - y_a)^2 with w_a the squared spacing separates.
 * Along i the nearest mask voxel is found by two scans; along j, then k, each line is the lower
 * envelope of the parabolas f(q) + w (p - q)^2 (Felzenszwalb & Huttenlocher 2012).  The divisions
 * of the breakpoints are multiplications by a table of reciprocals.
 *
 * One axis at right angles to two skew ones (a tilted gantry): the planes of the skew pair are done
 * first, then the third axis by envelopes as above.  In a plane the rows are swept upwards, then
 * downwards, with the list of mask voxels whose Voronoi cells reach the current row.  Cells are
 * convex and hold their own voxel, so one that misses a row of those behind the sweep misses all
 * further rows and is dropped for good: the list stays about as long as a row.
 *
 * All axes skew: the quadratic form separates in no way; see distance-skew.c. */
#include "anatomy/volume/distance-transform.h"

#include "anatomy/base/memory.h"
#include "anatomy/volume/distance-skew-private.h"
#include "anatomy/volume/volume.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
  LANES = 16 /* lines across j or k copied together: one cache line of floats */
};

/* metric = A^T A of the affine's 3x3 part, mm^2 */
static void
affine_metric(const double a[12], double metric[9])
{
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++)
      metric[3 * r + c] = a[r] * a[c] + a[4 + r] * a[4 + c] + a[8 + r] * a[8 + c];
}

/* whether treating axes d and e as perpendicular moves nothing by a thousandth of a voxel */
static bool
perpendicular(const int dims[3], const double metric[9], int d, int e)
{
  double extent = 0.0, finest = INFINITY;
  for (int c = 0; c < 3; c++) {
    double spacing = sqrt(metric[4 * c]);
    extent = fmax(extent, spacing * dims[c]);
    finest = fmin(finest, spacing);
  }
  /* a cosine c between two axes changes a distance of at most the extent by at most c times it */
  double cosine = fabs(metric[3 * d + e]) / sqrt(metric[4 * d] * metric[4 * e]);
  return cosine * extent <= 1e-3 * finest;
}

bool
pla_distance_is_orthogonal(const int dims[3], const double affine_mm[12])
{
  double metric[9];
  affine_metric(affine_mm, metric);
  return perpendicular(dims, metric, 0, 1) && perpendicular(dims, metric, 1, 2) &&
         perpendicular(dims, metric, 2, 0);
}

/* squared distance along one row, mm^2 */
static void
row_distance(const uint8_t *mask, bool inside, int n, double weight, float limit2, float *dist2)
{
  int since = -1; /* voxels since the last hit; -1: none yet */
  for (int i = 0; i < n; i++) {
    since = (mask[i] != 0) == inside ? 0 : since >= 0 ? since + 1 : -1;
    dist2[i] = since < 0 ? INFINITY : (float)(weight * (double)since * (double)since);
  }
  since = -1;
  for (int i = n - 1; i >= 0; i--) {
    since = dist2[i] == 0.0f ? 0 : since >= 0 ? since + 1 : -1;
    if (since > 0) {
      float d2 = (float)(weight * (double)since * (double)since);
      dist2[i] = d2 < dist2[i] ? d2 : dist2[i];
    }
    if (dist2[i] > limit2)
      dist2[i] = INFINITY;
  }
}

/* scratch of one thread for lines of up to n voxels */
typedef struct {
  float *f;       /* lines in, then out  (LANES x n) */
  double *from;   /* where each parabola of the envelope begins to be lowest (n) */
  double *height; /* f(q) / w + q^2 of each parabola of the envelope (n) */
  int *at;        /* its q (n) */
} Lines;

static bool
lines_init(Lines *lines, int n)
{
  lines->f = pla_array_new_aligned((size_t)n * LANES, sizeof *lines->f);
  lines->from = pla_array_new((size_t)n, sizeof *lines->from);
  lines->height = pla_array_new((size_t)n, sizeof *lines->height);
  lines->at = pla_array_new((size_t)n, sizeof *lines->at);
  return lines->f && lines->from && lines->height && lines->at;
}

static void
lines_clear(Lines *lines)
{
  free(lines->f);
  free(lines->from);
  free(lines->height);
  free(lines->at);
}

/* f(p) <- min_q f(q) + weight (p - q)^2, values beyond limit2 becoming INFINITY.
 * half_inverse[d] = 1 / (2 d). */
static void
lower_envelope(Lines *lines, float *f, int n, double weight, const double *half_inverse,
               float limit2)
{
  const double per_weight = 1.0 / weight;
  double *from = lines->from, *height = lines->height;
  int *at = lines->at, top = -1;
  bool flat = true;
  for (int q = 0; q < n; q++) {
    if (f[q] == INFINITY) {
      flat = false;
      continue;
    }
    flat = flat && f[q] == 0.0f;
    double h = (double)f[q] * per_weight + (double)q * (double)q, begin = -INFINITY;
    while (top >= 0) {
      begin = (h - height[top]) * half_inverse[q - at[top]];
      if (begin > from[top])
        break;
      top--;
    }
    top++;
    from[top] = top ? begin : -INFINITY;
    height[top] = h;
    at[top] = q;
  }
  if (flat || top < 0)
    return;
  int p = 0;
  for (int e = 0; e <= top; e++) {
    const double end = e < top ? from[e + 1] : INFINITY;
    const double base = (height[e] - (double)at[e] * (double)at[e]) * weight;
    for (; p < n && (double)p <= end; p++) {
      double d = (double)(p - at[e]);
      float d2 = (float)(base + weight * d * d);
      f[p] = d2 <= limit2 ? d2 : INFINITY;
    }
  }
}

/* lower envelopes of all lines with @n voxels @stride apart that start at base + 0..width-1 */
static void
envelope_plane(Lines *lines, float *base, size_t width, int n, size_t stride, double weight,
               const double *half_inverse, float limit2)
{
  for (size_t i0 = 0; i0 < width; i0 += LANES) {
    const size_t lanes = width - i0 < LANES ? width - i0 : LANES;
    float *plane = base + i0;
    for (int q = 0; q < n; q++)
      for (size_t l = 0; l < lanes; l++)
        lines->f[l * (size_t)n + (size_t)q] = plane[(size_t)q * stride + l];
    for (size_t l = 0; l < lanes; l++)
      lower_envelope(lines, lines->f + l * (size_t)n, n, weight, half_inverse, limit2);
    for (int q = 0; q < n; q++)
      for (size_t l = 0; l < lanes; l++)
        plane[(size_t)q * stride + l] = lines->f[l * (size_t)n + (size_t)q];
  }
}

static PlaStatus
orthogonal_transform(const int dims[3], const double metric[9], const uint8_t *mask, bool inside,
                     float limit2, PlaProgress *progress, float *dist2, PlaError *err)
{
  const size_t ni = (size_t)dims[0], nj = (size_t)dims[1], nk = (size_t)dims[2];
  const int longest = dims[1] > dims[2] ? dims[1] : dims[2];
  const int n_threads = omp_get_max_threads();
  double *half_inverse = pla_array_new((size_t)longest, sizeof *half_inverse);
  Lines *lines = pla_array_new0((size_t)n_threads, sizeof *lines);
  bool ok = half_inverse && lines;
  for (int t = 0; t < n_threads && ok; t++)
    ok = lines_init(&lines[t], longest);
  if (ok) {
    for (int d = 1; d < longest; d++)
      half_inverse[d] = 0.5 / (double)d;
      /* slice by slice along i and j while it is in the cache, then along k */
#pragma omp parallel num_threads(n_threads)
    {
      Lines *own = &lines[omp_get_thread_num()];
#pragma omp for schedule(dynamic, 1)
      for (size_t k = 0; k < nk; k++) {
        if (pla_progress_cancelled(progress))
          continue;
        float *slice = dist2 + ni * nj * k;
        for (size_t j = 0; j < nj; j++)
          row_distance(mask + ni * (j + nj * k), inside, dims[0], metric[0], limit2,
                       slice + ni * j);
        envelope_plane(own, slice, ni, dims[1], ni, metric[4], half_inverse, limit2);
      }
#pragma omp for schedule(dynamic, 1)
      for (size_t j = 0; j < nj; j++)
        if (!pla_progress_cancelled(progress))
          envelope_plane(own, dist2 + ni * j, ni, dims[2], ni * nj, metric[8], half_inverse,
                         limit2);
    }
  }
  for (int t = 0; t < n_threads && lines; t++)
    lines_clear(&lines[t]);
  free(lines);
  free(half_inverse);
  if (!ok)
    return pla_fail_memory(err, "a distance transform");
  return PLA_OK;
}

/* A plane of two skew axes: row r stands height x r from the first and shift x r along it, mm. */
typedef struct {
  int n_cols, n_rows;
  double spacing, shift, height;
  double limit2; /* mm^2 */
} SkewPlane;

/* a mask voxel whose Voronoi cell reaches the row of the sweep */
typedef struct {
  int col, row;
  double at;    /* place along the rows, mm */
  double power; /* at^2 + squared height above its row, mm^2 */
  double from;  /* where its cell begins on this row, mm */
} Site;

/* scratch of one thread */
typedef struct {
  uint8_t *inside; /* (LANES x n_rows x n_cols) */
  float *dist2;    /* (LANES x n_rows x n_cols), mm^2 */
  Site *active;    /* by rising place; room for the list and one row more */
  Site *merged;
  size_t capacity; /* of both */
} Sweep;

/* merges the mask voxels of @row into the active list; false when memory is short */
static bool
sweep_merge(const SkewPlane *plane, Sweep *sweep, const uint8_t *inside, int row, size_t n_active,
            size_t *n_merged)
{
  const size_t need = n_active + (size_t)plane->n_cols;
  if (need > sweep->capacity) {
    void *active = sweep->active, *merged = sweep->merged;
    bool ok = pla_array_resize(&active, 2 * need, sizeof(Site));
    sweep->active = active;
    ok = ok && pla_array_resize(&merged, 2 * need, sizeof(Site));
    sweep->merged = merged;
    if (!ok)
      return false;
    sweep->capacity = 2 * need;
  }
  const double origin = plane->shift * row;
  size_t a = 0, m = 0;
  for (int c = 0; c < plane->n_cols; c++) {
    if (!inside[c])
      continue;
    const double at = plane->spacing * c + origin;
    while (a < n_active && sweep->active[a].at < at)
      sweep->merged[m++] = sweep->active[a++];
    sweep->merged[m++] = (Site){ .col = c, .row = row, .at = at };
  }
  while (a < n_active)
    sweep->merged[m++] = sweep->active[a++];
  *n_merged = m;
  return true;
}

/* the sites that own a part of @row go from merged back to active; how many */
static size_t
sweep_envelope(const SkewPlane *plane, Sweep *sweep, int row, size_t n_merged)
{
  const double begin = plane->shift * row, end = begin + plane->spacing * (plane->n_cols - 1);
  Site *active = sweep->active;
  size_t n = 0;
  for (size_t m = 0; m < n_merged; m++) {
    Site site = sweep->merged[m];
    const double rise = plane->height * (row - site.row);
    if (rise * rise > plane->limit2)
      continue;
    site.power = site.at * site.at + rise * rise;
    site.from = -INFINITY;
    bool lost = false;
    while (n > 0) {
      const double apart = site.at - active[n - 1].at;
      if (apart <= 0.0) { /* one above the other: the lower power wins */
        lost = site.power >= active[n - 1].power;
        if (lost)
          break;
        n--;
        continue;
      }
      site.from = 0.5 * (site.power - active[n - 1].power) / apart;
      if (site.from > active[n - 1].from)
        break;
      n--;
    }
    if (n == 0)
      site.from = -INFINITY;
    /* what begins right of the row reaches none of the points ahead: those lie between the site
     * and the far end of a convex plane */
    if (!lost && site.from <= end)
      active[n++] = site;
  }
  /* nor does what ends left of it */
  size_t first = 0;
  while (first + 1 < n && active[first + 1].from < begin)
    first++;
  if (first > 0) {
    memmove(active, active + first, (n - first) * sizeof *active);
    n -= first;
  }
  return n;
}

/* squared distances in one plane: the smaller of both sweeps */
static bool
sweep_plane(const SkewPlane *plane, Sweep *sweep, const uint8_t *inside, float *dist2)
{
  const size_t n_cols = (size_t)plane->n_cols;
  for (int down = 0; down < 2; down++) {
    size_t n_active = 0;
    for (int s = 0; s < plane->n_rows; s++) {
      const int row = down ? plane->n_rows - 1 - s : s;
      float *out = dist2 + n_cols * (size_t)row;
      size_t n_merged;
      if (!sweep_merge(plane, sweep, inside + n_cols * (size_t)row, row, n_active, &n_merged))
        return false;
      n_active = sweep_envelope(plane, sweep, row, n_merged);
      size_t e = 0;
      for (int c = 0; c < plane->n_cols; c++) {
        float d2 = INFINITY;
        if (n_active) {
          const double at = plane->shift * row + plane->spacing * c;
          while (e + 1 < n_active && sweep->active[e + 1].from < at)
            e++;
          const Site *site = &sweep->active[e];
          const double along = plane->spacing * (c - site->col) + plane->shift * (row - site->row);
          const double rise = plane->height * (row - site->row);
          const double exact = along * along + rise * rise;
          d2 = exact <= plane->limit2 ? (float)exact : INFINITY;
        }
        out[c] = down && out[c] < d2 ? out[c] : d2;
      }
    }
  }
  return true;
}

/* @axis is at right angles to the other two, which are skew. */
static PlaStatus
tilted_transform(const int dims[3], const double metric[9], int axis, const uint8_t *mask,
                 bool inside, float limit2, PlaProgress *progress, float *dist2, PlaError *err)
{
  const int col = axis == 0 ? 1 : 0, row = axis == 2 ? 1 : 2;
  const size_t stride[3] = { 1, (size_t)dims[0], (size_t)dims[0] * (size_t)dims[1] };
  const double spacing = sqrt(metric[4 * col]), shift = metric[3 * col + row] / spacing;
  const SkewPlane plane = { .n_cols = dims[col],
                            .n_rows = dims[row],
                            .spacing = spacing,
                            .shift = shift,
                            .height = sqrt(metric[4 * row] - shift * shift),
                            .limit2 = limit2 };
  const size_t n_plane = (size_t)plane.n_cols * (size_t)plane.n_rows;
  const int n_groups = (dims[axis] + LANES - 1) / LANES, n_threads = omp_get_max_threads();
  Sweep *sweeps = pla_array_new0((size_t)n_threads, sizeof *sweeps);
  Lines *lines = pla_array_new0((size_t)n_threads, sizeof *lines);
  double *half_inverse = pla_array_new((size_t)dims[axis], sizeof *half_inverse);
  bool ok = sweeps && lines && half_inverse;
  for (int t = 0; t < n_threads && ok; t++) {
    sweeps[t].inside = pla_array_new(n_plane * LANES, 1);
    sweeps[t].dist2 = pla_array_new(n_plane * LANES, sizeof *sweeps[t].dist2);
    ok = sweeps[t].inside && sweeps[t].dist2 && lines_init(&lines[t], dims[axis]);
  }
  if (ok) {
    bool short_of_memory = false;
    for (int d = 1; d < dims[axis]; d++)
      half_inverse[d] = 0.5 / (double)d;
      /* the skew planes, LANES neighbours at a time */
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads) reduction(|| : short_of_memory)
    for (int g = 0; g < n_groups; g++) {
      if (pla_progress_cancelled(progress))
        continue;
      Sweep *sweep = &sweeps[omp_get_thread_num()];
      const size_t first = (size_t)g * LANES;
      const size_t n_lanes =
          (size_t)dims[axis] - first < LANES ? (size_t)dims[axis] - first : LANES;
      const size_t base = first * stride[axis];
      for (size_t v = 0; v < n_plane; v++) {
        const size_t from =
            base + v % (size_t)plane.n_cols * stride[col] + v / (size_t)plane.n_cols * stride[row];
        for (size_t l = 0; l < n_lanes; l++)
          sweep->inside[l * n_plane + v] = (mask[from + l * stride[axis]] != 0) == inside;
      }
      for (size_t l = 0; l < n_lanes; l++)
        if (!sweep_plane(&plane, sweep, sweep->inside + l * n_plane, sweep->dist2 + l * n_plane))
          short_of_memory = true;
      for (size_t v = 0; v < n_plane; v++) {
        const size_t to =
            base + v % (size_t)plane.n_cols * stride[col] + v / (size_t)plane.n_cols * stride[row];
        for (size_t l = 0; l < n_lanes; l++)
          dist2[to + l * stride[axis]] = sweep->dist2[l * n_plane + v];
      }
    }
    ok = !short_of_memory;
    /* then the third axis */
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (int r = 0; r < plane.n_rows; r++) {
      Lines *own = &lines[omp_get_thread_num()];
      if (pla_progress_cancelled(progress))
        continue;
      if (axis == 0)
        for (int c = 0; c < plane.n_cols; c++)
          lower_envelope(own, dist2 + (size_t)c * stride[col] + (size_t)r * stride[row], dims[axis],
                         metric[4 * axis], half_inverse, limit2);
      else
        envelope_plane(own, dist2 + (size_t)r * stride[row], (size_t)plane.n_cols, dims[axis],
                       stride[axis], metric[4 * axis], half_inverse, limit2);
    }
  }
  for (int t = 0; t < n_threads && sweeps && lines; t++) {
    free(sweeps[t].inside);
    free(sweeps[t].dist2);
    free(sweeps[t].active);
    free(sweeps[t].merged);
    lines_clear(&lines[t]);
  }
  free(sweeps);
  free(lines);
  free(half_inverse);
  return ok ? PLA_OK : pla_fail_memory(err, "a distance transform");
}

PlaStatus
pla_distance_transform(const int dims[3], const double affine_mm[12], const uint8_t *mask,
                       bool inside, double max_mm, PlaProgress *progress, float *dist2_mm2,
                       PlaError *err)
{
  double inverse[12], metric[9];
  if (!pla_affine_invert(affine_mm, inverse))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "distances cannot be measured because the volume's axes lie in one plane; "
                    "correct its affine");
  if (!(max_mm >= 0.0))
    return pla_fail(err, PLA_ERR_USAGE, "the distance limit must be above 0 mm, not %g mm", max_mm);
  affine_metric(affine_mm, metric);
  const bool right[3] = { perpendicular(dims, metric, 1, 2), perpendicular(dims, metric, 2, 0),
                          perpendicular(dims, metric, 0, 1) }; /* between the other two axes */
  /* squares are rounded to float: the limit must not fall below its own rounded square */
  const float limit2 = (float)(max_mm * max_mm * (1.0 + 1e-6));
  int lone = -1; /* the axis at right angles to both others */
  for (int d = 0; d < 3; d++)
    if (right[(d + 1) % 3] && right[(d + 2) % 3])
      lone = d;
  PlaStatus st;
  if (right[0] && right[1] && right[2])
    st = orthogonal_transform(dims, metric, mask, inside, limit2, progress, dist2_mm2, err);
  else if (lone >= 0)
    st = tilted_transform(dims, metric, lone, mask, inside, limit2, progress, dist2_mm2, err);
  else
    st = pla_distance_skew(dims, affine_mm, mask, inside, max_mm * (1.0 + 5e-7), progress,
                           dist2_mm2, err);
  if (st == PLA_OK && !pla_progress_step(progress, 1.0))
    st = pla_fail_cancelled(err);
  return st;
}

/* The interface of a label without its stairs, as distances: filtered once more, moved to enclose
 * the voxels' volume around every place, and drawn back to corners of voxel faces that it has left
 * by most of a voxel.
 *
 * Distances are measured once and then carried along with the interface, which moves by fractions
 * of a voxel: what lies below a sample tells by how much its distance changes. */
#include "anatomy/base/memory.h"
#include "anatomy/levelset/label-stairs-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* smallest spacings by which the filter may move a distance in the end */
static const float last_touch = 0.1f;
/* voxels by which a corner of voxel faces may be away in the end, half a diagonal, 0.87, being what
 * an oblique plane has, and to which it is drawn else; what is left of one is for triangles */
static const float last_gap = 0.92f, last_goal = 0.87f;

/* a plain Gaussian of @sigma samples */
static PlaStairKernel
kernel_gaussian(double sigma)
{
  PlaStairKernel k = { .radius = (int)fmin(ceil(3.0 * sigma), PLA_STAIR_RADIUS) };
  double sum = 0.0;
  for (int t = 0; t <= k.radius; t++)
    sum += (t ? 2.0 : 1.0) * exp(-0.5 * t * t / (sigma * sigma));
  for (int t = 0; t <= k.radius; t++)
    k.tap[t] = (float)(exp(-0.5 * t * t / (sigma * sigma)) / sum);
  return k;
}

static bool
is_at_border(const PlaStairs *s, int i, int j, int k)
{
  const int *n = s->dims;
  return i == 0 || j == 0 || k == 0 || i == n[0] - 1 || j == n[1] - 1 || k == n[2] - 1;
}

/* whether a neighbour of voxel @v is on its side by more than @most */
static bool
has_firm_neighbour(const PlaStairs *s, const int at[3], size_t v, float most)
{
  const size_t stride[3] = { 1, (size_t)s->dims[0], (size_t)s->dims[0] * (size_t)s->dims[1] };
  const float side = s->u[v] < 0.0f ? -1.0f : 1.0f;
  for (int d = 0; d < 3; d++)
    if ((at[d] > 0 && side * s->u[v - stride[d]] > most) ||
        (at[d] + 1 < s->dims[d] && side * s->u[v + stride[d]] > most))
      return true;
  return false;
}

/* the runs of @from */
static void
copy_runs(const PlaStairs *s, const float *from, float *to)
{
  const size_t rows = (size_t)s->dims[1] * (size_t)s->dims[2], nx = (size_t)s->dims[0];
#pragma omp parallel for schedule(static) if (s->large)
  for (size_t row = 0; row < rows; row++)
    for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++) {
      const size_t first = nx * row + (size_t)s->run[r].i0;
      memcpy(to + first, from + first, (size_t)(s->run[r].i1 - s->run[r].i0) * sizeof *to);
    }
}

/* Moves the interface of @ls, distances, by @shift of the place below each sample, which is found
 * along the slope: what a smooth shift leaves is a distance again, but for the square of its slope,
 * and costs a fraction of measuring one.  @shift: zero outside the runs. */
static void
carry(PlaStairs *s, PlaLevelSet *ls, const float *shift)
{
  const int *n = s->dims;
  const size_t stride[3] = { 1, (size_t)n[0], (size_t)n[0] * (size_t)n[1] };
  const double *m = ls->inverse_mm;
  const float band = 0.99f * (float)ls->band_mm;
  const float inv[9] = { (float)m[0], (float)m[1], (float)m[2], (float)m[4], (float)m[5],
                         (float)m[6], (float)m[8], (float)m[9], (float)m[10] };
#pragma omp parallel for collapse(2) schedule(dynamic, 64) if (s->large)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      const size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          const size_t v = stride[1] * row + (size_t)i;
          const float u = s->u[v];
          s->work[0][v] = u;
          if (fabsf(u) >= band)
            continue;
          /* slope per index step, then in mm, then the way down in index steps */
          const int at[3] = { i, j, k };
          float g[3], grad[3], square = 1e-12f;
          for (int d = 0; d < 3; d++) {
            const size_t lo = at[d] > 0 ? v - stride[d] : v;
            const size_t hi = at[d] + 1 < n[d] ? v + stride[d] : v;
            g[d] = (s->u[hi] - s->u[lo]) / (hi - lo > stride[d] ? 2.0f : 1.0f);
          }
          for (int d = 0; d < 3; d++) {
            grad[d] = inv[d] * g[0] + inv[3 + d] * g[1] + inv[6 + d] * g[2];
            square += grad[d] * grad[d];
          }
          const float by = u / sqrtf(square);
          float w[2][3], value = 0.0f;
          size_t first = 0, step[3];
          for (int d = 0; d < 3; d++) {
            const float below =
                (float)at[d] -
                by * (inv[3 * d] * grad[0] + inv[3 * d + 1] * grad[1] + inv[3 * d + 2] * grad[2]);
            const float in = fminf(fmaxf(below, 0.0f), (float)(n[d] - 1));
            const int lo = (int)in;
            w[1][d] = in - (float)lo;
            w[0][d] = 1.0f - w[1][d];
            first += stride[d] * (size_t)lo;
            step[d] = lo + 1 < n[d] ? stride[d] : 0;
          }
          for (int c = 0; c < 8; c++)
            value += w[c & 1][0] * w[c >> 1 & 1][1] * w[c >> 2][2] *
                     shift[first + (c & 1 ? step[0] : 0) + (c & 2 ? step[1] : 0) +
                           (c & 4 ? step[2] : 0)];
          /* every sample keeps its side, unless the place below it has changed sides */
          s->work[0][v] = u + value;
        }
    }
  copy_runs(s, s->work[0], s->u);
}

/* What filters @ls, distances around the interface, once more: what is left of the stairs is a few
 * hundredths of a voxel high, but where it bends more than the surface it makes kinks of the
 * distance below.  What would move by more is an edge and stays, without a bound that shows; so
 * does what is thin, and what is just inside or outside at the border, where a cap is half a voxel
 * away. */
static void
touch_up(PlaStairs *s, PlaLevelSet *ls, float *shift)
{
  const int *n = s->dims;
  const float most = last_touch * (float)pla_levelset_spacing_mm(ls);
  const PlaStairKernel one = pla_stair_kernel(1.0), kernel[3] = { one, one, one };
  pla_stairs_filter(s, kernel);
#pragma omp parallel for collapse(2) schedule(static) if (s->large)
  for (int k = 0; k < n[2]; k++)
    for (int j = 0; j < n[1]; j++) {
      const size_t row = (size_t)j + (size_t)n[1] * (size_t)k;
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          const size_t v = (size_t)n[0] * row + (size_t)i;
          const float by = s->work[0][v] - s->u[v];
          const bool stays = fabsf(s->u[v]) < 2.0f * most &&
                             (is_at_border(s, i, j, k) ||
                              !has_firm_neighbour(s, (const int[3]){ i, j, k }, v, 2.0f * most));
          shift[v] = stays ? 0.0f : by * expf(-by * by / (most * most));
        }
    }
  carry(s, ls, shift);
}

/* draws the values of @data, distances, around the corner above voxel (i, j, k) towards it */
static void
draw_around(PlaStairs *s, int i, int j, int k, const size_t at[8], void *data)
{
  enum { REACH = 2 }; /* voxels */
  const int *n = s->dims;
  const float excess = pla_stairs_corner_excess(s, data, at, last_goal);
  for (int c = k - REACH + 1; c <= k + REACH; c++)
    for (int b = j - REACH + 1; b <= j + REACH; b++)
      for (int a = i - REACH + 1; a <= i + REACH; a++) {
        if (a < 0 || b < 0 || c < 0 || a >= n[0] || b >= n[1] || c >= n[2])
          continue;
        const float x = (float)(a - i) - 0.5f, y = (float)(b - j) - 0.5f, z = (float)(c - k) - 0.5f;
        const float share = fmaxf(1.0f - (x * x + y * y + z * z) / (REACH * REACH), 0.0f);
        /* the eight voxels at the corner get all of it */
        const float draw = 1.5f * excess * share * share;
        const size_t v = (size_t)a + (size_t)n[0] * ((size_t)b + (size_t)n[1] * (size_t)c);
        s->work[0][v] = fmaxf(s->work[0][v], draw);
        s->work[1][v] = fminf(s->work[1][v], draw);
      }
}

/* draws the interface between the eight voxels at a corner, of the distances @data */
static void
draw_between(PlaStairs *s, int i, int j, int k, const size_t at[8], void *data)
{
  (void)i, (void)j, (void)k;
  const PlaLevelSet *ls = data;
  const float own = pla_stairs_inside * (float)pla_levelset_spacing_mm(ls);
  for (int c = 0; c < 8; c++) {
    const float value = ls->phi_mm[at[c]];
    s->work[0][at[c]] = s->mask[at[c]] ? fmaxf(value + own, 0.0f) : fminf(value - own, 0.0f);
  }
}

/* Draws the interface of @ls, distances, to corners of voxel faces that it has left, with what is
 * around them; when @firm, which leaves an edge but never fails, between the eight voxels at the
 * corner.  Returns how many there were. */
static size_t
draw_to_corners(PlaStairs *s, PlaLevelSet *ls, bool firm)
{
  const size_t voxels = pla_levelset_n_voxels(ls);
  memset(s->work[0], 0, voxels * sizeof *s->work[0]);
  memset(s->work[1], 0, voxels * sizeof *s->work[1]);
  const size_t far =
      firm ? pla_stairs_visit_far_corners(s, ls->phi_mm, last_gap, draw_between, ls)
           : pla_stairs_visit_far_corners(s, ls->phi_mm, last_gap, draw_around, ls->phi_mm);
#pragma omp parallel for schedule(static) if (s->large && far > 0)
  for (size_t v = 0; v < voxels; v++)
    ls->phi_mm[v] -= s->work[0][v] + s->work[1][v];
  return far;
}

/* blurs what is in the runs of @x, which is zero elsewhere, through @y, of the same kind */
static void
blur(const PlaStairs *s, const PlaStairKernel *kernel, float *x, float *y, float *z)
{
  pla_stairs_filter_axis(s, kernel, 0, x, y);
  pla_stairs_filter_axis(s, kernel, 1, y, z);
  pla_stairs_filter_axis(s, kernel, 2, z, x);
}

/* how far a plane along the interface moves through a whole voxel */
static float
width_at(const PlaStairs *s, const float *value, const int at[3], size_t v)
{
  const size_t stride[3] = { 1, (size_t)s->dims[0], (size_t)s->dims[0] * (size_t)s->dims[1] };
  float width = 1e-6f;
  for (int d = 0; d < 3; d++) {
    const size_t before = at[d] > 0 ? v - stride[d] : v;
    const size_t after = at[d] + 1 < s->dims[d] ? v + stride[d] : v;
    width += 0.5f * fabsf(value[after] - value[before]);
  }
  return width;
}

/* Moves the interface of @ls, distances, so that it encloses the volume of the voxels around every
 * place: what smoothing takes from an edge is given back there and not on the flat faces beside it.
 * @sigma: voxels over which volumes are compared. */
PlaStatus
pla_stairs_match_locally(PlaStairs *s, PlaLevelSet *ls, double sigma, PlaError *err)
{
  const size_t voxels = pla_levelset_n_voxels(ls), rows = (size_t)s->dims[1] * (size_t)s->dims[2];
  const float h = (float)pla_levelset_spacing_mm(ls), most = 0.2f * h;
  float *lack = pla_array_new0(voxels, sizeof *lack), *area = pla_array_new0(voxels, sizeof *area);
  const PlaStairKernel kernel = kernel_gaussian(sigma);
  PlaStatus st = lack && area ? PLA_OK : pla_fail_memory(err, "the level set");
  if (st == PLA_OK) {
    /* missing volume and area of the interface at every voxel */
    memset(s->work[0], 0, voxels * sizeof(float));
    memset(s->work[1], 0, voxels * sizeof(float));
#pragma omp parallel for schedule(static) if (s->large)
    for (size_t row = 0; row < rows; row++)
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          const size_t v = (size_t)s->dims[0] * row + (size_t)i;
          const int at[3] = { i, (int)(row % (size_t)s->dims[1]), (int)(row / (size_t)s->dims[1]) };
          const float width = width_at(s, ls->phi_mm, at, v), inside = 0.5f - ls->phi_mm[v] / width;
          lack[v] = (s->mask[v] ? 1.0f : 0.0f) - fminf(fmaxf(inside, 0.0f), 1.0f);
          area[v] = inside > 0.0f && inside < 1.0f ? 1.0f / width : 0.0f;
        }
    /* both averaged over a neighbourhood */
    blur(s, &kernel, lack, s->work[0], s->work[1]);
    memset(s->work[0], 0, voxels * sizeof(float));
    memset(s->work[1], 0, voxels * sizeof(float));
    blur(s, &kernel, area, s->work[0], s->work[1]);
    /* the interface moves by volume over area, at most a fifth of a voxel */
#pragma omp parallel for schedule(static) if (s->large)
    for (size_t row = 0; row < rows; row++)
      for (size_t r = s->first_run[row]; r < s->first_run[row + 1]; r++)
        for (int i = s->run[r].i0; i < s->run[r].i1; i++) {
          const size_t v = (size_t)s->dims[0] * row + (size_t)i;
          lack[v] = area[v] > 1e-3f / h ? fminf(fmaxf(-lack[v] / area[v], -most), most) : 0.0f;
        }
    carry(s, ls, lack);
  }
  free(lack);
  free(area);
  return st;
}

/* the interface becomes that of distances, smooth, near the voxel faces, and around @volume_mm3
 * unless that is 0; the values beyond @band_mm are not distances */
PlaStatus
pla_stairs_draw_near(PlaStairs *s, PlaLevelSet *ls, double band_mm, double volume_mm3,
                     PlaProgress *progress, PlaError *err)
{
  enum { TOUCHES = 7, DRAWS = 3, FIRM_DRAWS = 3 };
  const size_t voxels = pla_levelset_n_voxels(ls);
  float *shift = pla_array_new0(voxels, sizeof *shift);
  size_t far = 1;
  PlaStatus st = shift ? pla_levelset_redistance(ls, band_mm, progress, err)
                       : pla_fail_memory(err, "the level set");
  if (st == PLA_OK) {
    memcpy(s->work[0], s->u, voxels * sizeof *s->u);
    memcpy(s->work[1], s->u, voxels * sizeof *s->u);
  }
  for (int r = 0; st == PLA_OK && r < TOUCHES; r++)
    touch_up(s, ls, shift);
  for (int r = 0; st == PLA_OK && far > 0 && r < DRAWS + FIRM_DRAWS; r++) {
    /* shifts are carried along, edges must be measured, as far as what follows looks */
    if (r >= DRAWS)
      st = pla_levelset_redistance(ls, 2.0 / 3.0 * band_mm, progress, err);
    if (st == PLA_OK && volume_mm3 > 0.0)
      st = pla_stairs_match_locally(s, ls, pla_stairs_match_sigma, err);
    if (st == PLA_OK)
      far = draw_to_corners(s, ls, r >= DRAWS);
    if (r + 1 < DRAWS)
      far = 1; /* volumes are matched more than once */
  }
  free(shift);
  return st;
}

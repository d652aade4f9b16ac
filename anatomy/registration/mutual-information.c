/* Rigid registration of volumes by mutual information (Mattes et al. 2003).
 *
 *     I = sum_ab p(a, b) ln (p(a, b) / (p(a) p(b)))
 *
 * p is the joint histogram of the fixed volume's samples (into one bin each) and the moving
 * volume's values at the same places (spread by a cubic B-spline, so that I is smooth in the motion
 * and has a gradient in closed form).  BFGS climbs it on coarse, then finer volumes.  Histograms
 * are summed in fixed pieces, in order: the same bits for any number of threads. */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/registration/registration.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 32, PAD = 2, PIECES = 16, MAX_CLIMB = 100, MAX_STALLS = 5, MAX_LEVELS = 6 };
#define LEAST_STIFFNESS 0.03 /* of the motion least held, relative to the best */
#define LEAST_OVERLAP 0.1    /* share of samples that must meet the moving volume */

PlaVolumeRegistrationOptions
pla_volume_registration_options_default(void)
{
  return (PlaVolumeRegistrationOptions){ .levels = 3, .n_samples = 30000 };
}

/* ---- volumes at a resolution ---- */

typedef struct {
  int dims[3];
  double affine[12], inverse[12];
  float *value;
  double lo, hi; /* range that bins cover: all but the 0.1 % at either end */
} Image;

static int
compare_floats(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* means over blocks of voxels about @size_mm wide; first frame */
static PlaStatus
image_init(Image *im, const PlaVolume *vol, double size_mm, PlaError *err)
{
  double spacing[3];
  int step[3];
  memset(im, 0, sizeof *im);
  pla_volume_spacing_mm(vol, spacing);
  memcpy(im->affine, vol->affine_mm, sizeof im->affine);
  for (int d = 0; d < 3; d++) {
    step[d] = (int)fmax(floor(size_mm / spacing[d] + 1e-6), 1.0);
    while (step[d] > 1 && vol->dims[d] / step[d] < 8)
      step[d]--;
    im->dims[d] = vol->dims[d] / step[d];
    /* the middle of the first block is the new first voxel */
    for (int r = 0; r < 3; r++) {
      im->affine[4 * r + 3] += 0.5 * (step[d] - 1) * vol->affine_mm[4 * r + d];
      im->affine[4 * r + d] = step[d] * vol->affine_mm[4 * r + d];
    }
  }
  if (!pla_affine_invert(im->affine, im->inverse))
    return pla_fail(err, PLA_ERR_GEOMETRY, "A volume has no usable frame.");
  const size_t n = (size_t)im->dims[0] * (size_t)im->dims[1] * (size_t)im->dims[2];
  im->value = pla_array_new(n, sizeof *im->value);
  float *sorted = pla_array_new(n, sizeof *sorted);
  if (!im->value || !sorted) {
    free(sorted);
    return pla_fail_memory(err, "a volume");
  }
  const double scale = 1.0 / ((double)step[0] * step[1] * step[2]);
#pragma omp parallel for schedule(static)
  for (int k = 0; k < im->dims[2]; k++)
    for (int j = 0; j < im->dims[1]; j++)
      for (int i = 0; i < im->dims[0]; i++) {
        double sum = 0.0;
        for (int c = k * step[2]; c < (k + 1) * step[2]; c++)
          for (int b = j * step[1]; b < (j + 1) * step[1]; b++)
            for (int a = i * step[0]; a < (i + 1) * step[0]; a++) {
              const double v =
                  pla_dtype_get(vol->dtype, vol->voxels,
                                (size_t)a + (size_t)vol->dims[0] *
                                                ((size_t)b + (size_t)vol->dims[1] * (size_t)c));
              sum += isfinite(v) ? v : 0.0;
            }
        im->value[(size_t)i + (size_t)im->dims[0] * ((size_t)j + (size_t)im->dims[1] * (size_t)k)] =
            (float)(vol->slope * sum * scale + vol->inter);
      }
  memcpy(sorted, im->value, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, compare_floats);
  im->lo = sorted[n / 1000];
  im->hi = sorted[n - 1 - n / 1000];
  free(sorted);
  if (!(im->hi > im->lo))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "A volume has the same value almost everywhere, so there is nothing to align "
                    "it by.");
  return PLA_OK;
}

static void
image_clear(Image *im)
{
  free(im->value);
}

/* trilinear value and its gradient by position at @pos; false outside */
static bool
image_at(const Image *im, const double pos[3], double *value, double gradient[3])
{
  double x[3], f[3], g[3] = { 0 }, v = 0.0;
  int at[3];
  pla_affine_apply(im->inverse, pos, x);
  for (int d = 0; d < 3; d++) {
    if (!(x[d] >= 0.0 && x[d] <= im->dims[d] - 1))
      return false;
    at[d] = (int)x[d];
    if (at[d] > im->dims[d] - 2)
      at[d] = im->dims[d] > 1 ? im->dims[d] - 2 : 0;
    f[d] = x[d] - at[d];
  }
  const size_t row = (size_t)im->dims[0], plane = row * (size_t)im->dims[1];
  const size_t base = (size_t)at[0] + row * (size_t)at[1] + plane * (size_t)at[2];
  for (int c = 0; c < 8; c++) {
    const size_t o = (im->dims[0] > 1 ? (size_t)(c & 1) : 0) +
                     (im->dims[1] > 1 ? row * (size_t)(c >> 1 & 1) : 0) +
                     (im->dims[2] > 1 ? plane * (size_t)(c >> 2) : 0);
    const double s = im->value[base + o];
    const double w[3] = { c & 1 ? f[0] : 1.0 - f[0], c >> 1 & 1 ? f[1] : 1.0 - f[1],
                          c >> 2 ? f[2] : 1.0 - f[2] };
    v += s * w[0] * w[1] * w[2];
    g[0] += s * (c & 1 ? 1.0 : -1.0) * w[1] * w[2];
    g[1] += s * (c >> 1 & 1 ? 1.0 : -1.0) * w[0] * w[2];
    g[2] += s * (c >> 2 ? 1.0 : -1.0) * w[0] * w[1];
  }
  *value = v;
  for (int d = 0; d < 3; d++)
    gradient[d] = g[0] * im->inverse[d] + g[1] * im->inverse[4 + d] + g[2] * im->inverse[8 + d];
  return true;
}

/* ---- the measure ---- */

typedef struct {
  const Image *moving;
  int n;
  double *pos;              /* samples of the fixed volume, mm (n x 3) */
  uint8_t *bin;             /* and their bins */
  double centre[3], radius; /* of the samples: turns are about it, measured at it */
  PlaRigid base;            /* fixed -> moving, before the parameters */
} Measure;

static double
cubic(double x)
{
  x = fabs(x);
  return x < 1.0   ? 2.0 / 3.0 - x * x + 0.5 * x * x * x
         : x < 2.0 ? (2.0 - x) * (2.0 - x) * (2.0 - x) / 6.0
                   : 0.0;
}

static double
cubic_slope(double x)
{
  const double a = fabs(x), s = x < 0.0 ? -1.0 : 1.0;
  return a < 1.0 ? s * (1.5 * a * a - 2.0 * a) : a < 2.0 ? -0.5 * s * (2.0 - a) * (2.0 - a) : 0.0;
}

/* place of a moving value on the axis of bins */
static double
bin_place(const Image *im, double value)
{
  const double s = (value - im->lo) / (im->hi - im->lo);
  return PAD + fmin(fmax(s, 0.0), 1.0) * (BINS - 2 * PAD - 1);
}

static PlaRigid
motion(const Measure *m, const double z[6])
{
  const double turn[3] = { z[0] / m->radius, z[1] / m->radius, z[2] / m->radius };
  const PlaRigid small = pla_rigid_about(m->centre, turn, z + 3);
  return pla_rigid_then(&small, &m->base);
}

typedef struct {
  double joint[BINS][BINS]; /* fixed bin, moving bin */
  double gradient[6];
  int n_inside;
} Piece;

/* Mutual information at @z (nats), its gradient, and the share of samples inside. */
static double
measure(const Measure *m, const double z[6], double gradient[6], double *overlap, Piece *piece)
{
  const PlaRigid t = motion(m, z);
#pragma omp parallel for schedule(dynamic, 1)
  for (int p = 0; p < PIECES; p++) {
    memset(&piece[p], 0, sizeof piece[p]);
    for (int i = (int)((long)m->n * p / PIECES); i < (int)((long)m->n * (p + 1) / PIECES); i++) {
      double x[3], value, g[3];
      pla_rigid_apply(&t, m->pos + 3 * (size_t)i, x);
      if (!image_at(m->moving, x, &value, g))
        continue;
      const double at = bin_place(m->moving, value);
      const int first = (int)at - 1;
      for (int k = 0; k < 4; k++)
        piece[p].joint[m->bin[i]][first + k] += cubic(at - (first + k));
      piece[p].n_inside++;
    }
  }
  double joint[BINS][BINS] = { { 0 } }, a[BINS] = { 0 }, b[BINS] = { 0 }, total = 0.0;
  int n_inside = 0;
  for (int p = 0; p < PIECES; p++) {
    n_inside += piece[p].n_inside;
    for (int i = 0; i < BINS; i++)
      for (int j = 0; j < BINS; j++)
        joint[i][j] += piece[p].joint[i][j];
  }
  for (int i = 0; i < BINS; i++)
    for (int j = 0; j < BINS; j++)
      total += joint[i][j];
  *overlap = (double)n_inside / m->n;
  memset(gradient, 0, 6 * sizeof *gradient);
  if (!(total > 0.0))
    return 0.0;
  double info = 0.0, pull[BINS][BINS] = { { 0 } };
  for (int i = 0; i < BINS; i++)
    for (int j = 0; j < BINS; j++) {
      joint[i][j] /= total;
      a[i] += joint[i][j];
      b[j] += joint[i][j];
    }
  for (int i = 0; i < BINS; i++)
    for (int j = 0; j < BINS; j++)
      if (joint[i][j] > 0.0) {
        info += joint[i][j] * log(joint[i][j] / (a[i] * b[j]));
        pull[i][j] = log(joint[i][j] / b[j]);
      }

  /* d info = sum over samples of pull dp: how each value's move shifts its weight between bins */
  const double per_value = (BINS - 2 * PAD - 1) / (m->moving->hi - m->moving->lo) / total;
#pragma omp parallel for schedule(dynamic, 1)
  for (int p = 0; p < PIECES; p++)
    for (int i = (int)((long)m->n * p / PIECES); i < (int)((long)m->n * (p + 1) / PIECES); i++) {
      double x[3], value, g[3], e[3], turned[3], arm[3];
      pla_rigid_apply(&t, m->pos + 3 * (size_t)i, x);
      if (!image_at(m->moving, x, &value, g) || value <= m->moving->lo || value >= m->moving->hi)
        continue;
      const double at = bin_place(m->moving, value);
      const int first = (int)at - 1;
      double slope = 0.0;
      for (int k = 0; k < 4; k++)
        slope += cubic_slope(at - (first + k)) * pull[m->bin[i]][first + k];
      slope *= per_value;
      /* x = base (c + R (s - c) + shift): turn and shift seen from the fixed side */
      for (int d = 0; d < 3; d++)
        turned[d] = m->base.r[d] * g[0] + m->base.r[3 + d] * g[1] + m->base.r[6 + d] * g[2];
      const PlaRigid back = pla_rigid_inverse(&m->base);
      pla_rigid_apply(&back, x, e);
      for (int d = 0; d < 3; d++)
        e[d] -= m->centre[d] + z[3 + d];
      pla_vec3_cross(e, turned, arm);
      for (int d = 0; d < 3; d++) {
        piece[p].gradient[d] += slope * arm[d] / m->radius;
        piece[p].gradient[3 + d] += slope * turned[d];
      }
    }
  for (int p = 0; p < PIECES; p++)
    for (int d = 0; d < 6; d++)
      gradient[d] += piece[p].gradient[d];
  return info;
}

/* samples of the fixed volume, evenly through its voxels */
static PlaStatus
measure_init(Measure *m, const Image *fixed, const Image *moving, int n, PlaError *err)
{
  const size_t n_voxels = (size_t)fixed->dims[0] * (size_t)fixed->dims[1] * (size_t)fixed->dims[2];
  memset(m, 0, sizeof *m);
  m->moving = moving;
  m->n = (size_t)n < n_voxels ? n : (int)n_voxels;
  m->pos = pla_array_new(3 * (size_t)m->n, sizeof *m->pos);
  m->bin = pla_array_new((size_t)m->n, 1);
  if (!m->pos || !m->bin)
    return pla_fail_memory(err, "samples of a volume");
  for (int i = 0; i < m->n; i++) {
    /* multiples of the golden ratio visit the voxels evenly */
    const double share = fmod((i + 0.5) * 0.6180339887498949, 1.0);
    const size_t v = (size_t)n == (size_t)m->n ? (size_t)(share * (double)n_voxels) : (size_t)i;
    const double ijk[3] = { (double)(v % (size_t)fixed->dims[0]),
                            (double)(v / (size_t)fixed->dims[0] % (size_t)fixed->dims[1]),
                            (double)(v / ((size_t)fixed->dims[0] * (size_t)fixed->dims[1])) };
    pla_affine_apply(fixed->affine, ijk, m->pos + 3 * (size_t)i);
    const double s = (fixed->value[v] - fixed->lo) / (fixed->hi - fixed->lo);
    m->bin[i] = (uint8_t)fmin(fmax(s, 0.0) * BINS, BINS - 1);
    for (int d = 0; d < 3; d++)
      m->centre[d] += m->pos[3 * (size_t)i + d] / m->n;
  }
  for (int i = 0; i < m->n; i++) {
    double e[3];
    pla_vec3_sub(m->pos + 3 * (size_t)i, m->centre, e);
    m->radius += pla_vec3_dot(e, e) / m->n;
  }
  m->radius = sqrt(m->radius);
  return PLA_OK;
}

static void
measure_clear(Measure *m)
{
  free(m->pos);
  free(m->bin);
}

/* BFGS with halved steps, on -I; first step @step_mm long.  Where it stalls (values between voxels
 * have kinks) it begins anew uphill, with shorter steps each time. */
static PlaStatus
climb(Measure *m, double step_mm, Piece *piece, PlaProgress *progress, double *info,
      double *overlap, int *evaluations, PlaError *err)
{
  double g[6], h[6][6] = { { 0 } };
  double value = measure(m, (const double[6]){ 0 }, g, overlap, piece);
  bool fresh = true;
  int stalls = 0;
  ++*evaluations;
  for (int it = 0; it < MAX_CLIMB && stalls < MAX_STALLS; it++) {
    double dir[6] = { 0 }, up = 0.0, norm = 0.0;
    if (!pla_progress_step(progress, (double)it / MAX_CLIMB))
      return pla_fail_cancelled(err);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++)
        dir[i] += (fresh ? i == j : h[i][j]) * g[j];
    for (int i = 0; i < 6; i++) {
      up += dir[i] * g[i];
      norm += dir[i] * dir[i];
    }
    norm = sqrt(norm);
    if (!(up > 0.0) || !(norm > 0.0))
      break;
    double t = fresh ? step_mm / norm : fmin(1.0, 4.0 * step_mm / norm);
    double next[6], ng[6], nv = -INFINITY, lap = 0.0;
    for (int half = 0; half < 12; half++, t *= 0.5) {
      for (int i = 0; i < 6; i++)
        next[i] = t * dir[i];
      nv = measure(m, next, ng, &lap, piece);
      ++*evaluations;
      if (nv >= value + 1e-4 * t * up && lap > LEAST_OVERLAP)
        break;
      nv = -INFINITY;
    }
    if (!isfinite(nv)) {
      fresh = true;
      step_mm *= 0.4;
      stalls++;
      continue;
    }
    double s[6], y[6], sy = 0.0, yhy = 0.0, hy[6] = { 0 };
    for (int i = 0; i < 6; i++) {
      s[i] = next[i];
      y[i] = g[i] - ng[i]; /* of -I */
      sy += s[i] * y[i];
    }
    if (sy > 1e-14) {
      for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
          if (fresh) {
            double yy = 0.0;
            for (int k = 0; k < 6; k++)
              yy += y[k] * y[k];
            h[i][j] = i == j ? sy / yy : 0.0;
          }
        }
      fresh = false;
      for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
          hy[i] += h[i][j] * y[j];
      for (int i = 0; i < 6; i++)
        yhy += y[i] * hy[i];
      for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
          h[i][j] += (1.0 + yhy / sy) * s[i] * s[j] / sy - (hy[i] * s[j] + s[i] * hy[j]) / sy;
    }
    double moved = 0.0;
    for (int i = 0; i < 6; i++) {
      moved += s[i] * s[i];
      g[i] = ng[i];
    }
    /* turns are counted from where it stands, so that they stay small */
    m->base = motion(m, next);
    value = nv;
    *overlap = lap;
    if (sqrt(moved) < 2e-3 * step_mm) {
      fresh = true;
      step_mm *= 0.4;
      stalls++;
    }
  }
  *info = value;
  return PLA_OK;
}

/* What a shift or turn by some voxels costs along the six main directions of the measure's
 * curvature: the least over the most. */
static double
stiffness_of(const Measure *m, double step_mm, Piece *piece)
{
  double hessian[36], value[6], work[64], lap, g[6];
  for (int i = 0; i < 6; i++) {
    double lo[6] = { 0 }, hi[6] = { 0 }, a[6], b[6];
    lo[i] = -step_mm;
    hi[i] = step_mm;
    measure(m, lo, a, &lap, piece);
    measure(m, hi, b, &lap, piece);
    for (int j = 0; j < 6; j++)
      hessian[6 * i + j] = (a[j] - b[j]) / (2.0 * step_mm);
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < i; j++)
      hessian[6 * i + j] = hessian[6 * j + i] = 0.5 * (hessian[6 * i + j] + hessian[6 * j + i]);
  int n = 6, room = 64, info = 0;
  char vectors = 'V', upper = 'U';
  pla_blas_single_thread();
  LAPACK_dsyev(&vectors, &upper, &n, hessian, &n, value, work, &room, &info);
  if (info != 0)
    return 0.0;
  const double here = measure(m, (const double[6]){ 0 }, g, &lap, piece);
  double least = INFINITY, most = 0.0;
  for (int k = 0; k < 6; k++) {
    double cost = INFINITY;
    for (int sign = -1; sign <= 1; sign += 2) {
      double z[6];
      for (int i = 0; i < 6; i++)
        z[i] = sign * 2.0 * step_mm * hessian[6 * k + i];
      cost = fmin(cost, here - measure(m, z, g, &lap, piece));
    }
    least = fmin(least, cost);
    most = fmax(most, cost);
  }
  return most > 0.0 ? fmax(least, 0.0) / most : 0.0;
}

/* the middle of what is brighter than the darkest, mm */
static void
mass_centre(const Image *im, double centre[3])
{
  double sum = 0.0;
  memset(centre, 0, 3 * sizeof *centre);
  for (int k = 0; k < im->dims[2]; k++)
    for (int j = 0; j < im->dims[1]; j++)
      for (int i = 0; i < im->dims[0]; i++) {
        const double ijk[3] = { i, j, k };
        const double v = im->value[(size_t)i + (size_t)im->dims[0] *
                                                   ((size_t)j + (size_t)im->dims[1] * (size_t)k)];
        const double w = fmin(fmax((v - im->lo) / (im->hi - im->lo), 0.0), 1.0);
        double x[3];
        pla_affine_apply(im->affine, ijk, x);
        for (int d = 0; d < 3; d++)
          centre[d] += w * x[d];
        sum += w;
      }
  for (int d = 0; d < 3; d++)
    centre[d] /= fmax(sum, 1e-12);
}

PlaStatus
pla_register_volumes(const PlaVolume *moving, const PlaVolume *fixed, const PlaRigid *start,
                     const PlaVolumeRegistrationOptions *opts, PlaProgress *progress, PlaRigid *out,
                     PlaVolumeRegistrationReport *report, PlaError *err)
{
  PlaVolumeRegistrationReport r = { 0 };
  double a[3], b[3];
  pla_volume_spacing_mm(moving, a);
  pla_volume_spacing_mm(fixed, b);
  double finest = opts->finest_mm;
  for (int d = 0; d < 3 && !(opts->finest_mm > 0.0); d++)
    finest = fmax(finest, fmax(a[d], b[d]));
  Piece *piece = pla_array_new(PIECES, sizeof *piece);
  PlaStatus st = piece ? PLA_OK : pla_fail_memory(err, "a histogram");
  const int levels = opts->levels < 1 ? 1 : opts->levels > MAX_LEVELS ? MAX_LEVELS : opts->levels;
  PlaRigid t = pla_rigid_identity(), begin = t; /* fixed -> moving */
  if (start)
    t = pla_rigid_inverse(start);
  for (int level = 0; level < levels && st == PLA_OK; level++) {
    const double size_mm = finest * (double)(1 << (levels - 1 - level));
    Image im[2] = { { { 0 } }, { { 0 } } };
    Measure m = { 0 };
    pla_progress_phase(progress, "Aligning volumes", (level + 1.0) / levels);
    st = image_init(&im[0], fixed, size_mm, err);
    if (st == PLA_OK)
      st = image_init(&im[1], moving, size_mm, err);
    if (st == PLA_OK && level == 0 && !start) {
      mass_centre(&im[0], a);
      mass_centre(&im[1], b);
      pla_vec3_sub(b, a, t.t_mm);
    }
    if (st == PLA_OK)
      st = measure_init(&m, &im[0], &im[1], opts->n_samples, err);
    if (st == PLA_OK) {
      double g[6], none[6] = { 0 }, unused;
      if (level == 0)
        begin = t;
      m.base = begin;
      r.before = measure(&m, none, g, level == 0 ? &r.overlap : &unused, piece);
      m.base = t;
      if (r.overlap < LEAST_OVERLAP)
        st = pla_fail(
            err, PLA_ERR_GEOMETRY,
            "The volumes hardly overlap (%.0f %%), so they cannot be aligned; give a start.",
            100.0 * r.overlap);
    }
    if (st == PLA_OK)
      st = climb(&m, 2.0 * size_mm, piece, progress, &r.information, &r.overlap, &r.evaluations,
                 err);
    t = m.base;
    if (st == PLA_OK && level == levels - 1) {
      r.stiffness = stiffness_of(&m, 2.0 * size_mm, piece);
      if (r.stiffness < LEAST_STIFFNESS)
        st =
            pla_fail(err, PLA_ERR_GEOMETRY,
                     "The volumes match as well in another position, as those of a ball do however "
                     "it is turned, so they cannot be aligned by their images; use landmarks.");
    }
    measure_clear(&m);
    image_clear(&im[0]);
    image_clear(&im[1]);
  }
  free(piece);
  if (st == PLA_OK)
    *out = pla_rigid_inverse(&t);
  if (report)
    *report = r;
  return st;
}

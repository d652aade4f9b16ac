/* Volume rendering by ray casting, front to back (M. Levoy, Display of surfaces from volume
 * data, 1988).
 * A step of length h through extinction c takes 1 - exp(-c h) of the light that is left. Samples
 * lie at multiples of h along each ray, so skipping empty blocks does not change the picture. */
#include "anatomy/volume/raycast.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE = 2048, BLOCK = 8 };

static const PlaTransfer presets[] = {
  { "skin",
    "Skin",
    4,
    { { -600, { 0.85, 0.60, 0.50 }, 0.0 },
      { -350, { 0.92, 0.68, 0.57 }, 0.25 },
      { -150, { 0.94, 0.72, 0.60 }, 0.7 },
      { 2000, { 0.95, 0.76, 0.64 }, 0.9 } } },
  { "bone",
    "Bone",
    4,
    { { 180, { 0.80, 0.45, 0.35 }, 0.0 },
      { 300, { 0.90, 0.80, 0.66 }, 0.25 },
      { 600, { 0.95, 0.91, 0.82 }, 1.0 },
      { 3000, { 1.00, 0.98, 0.94 }, 1.5 } } },
  { "both",
    "Skin over Bone",
    7,
    { { -500, { 0.90, 0.64, 0.53 }, 0.0 },
      { -250, { 0.94, 0.70, 0.58 }, 0.03 },
      { 0, { 0.90, 0.60, 0.50 }, 0.004 },
      { 180, { 0.85, 0.50, 0.40 }, 0.004 },
      { 320, { 0.92, 0.84, 0.70 }, 0.3 },
      { 600, { 0.96, 0.92, 0.83 }, 1.0 },
      { 3000, { 1.00, 0.98, 0.94 }, 1.5 } } },
};

const PlaTransfer *
pla_transfers_get(int *n)
{
  *n = (int)(sizeof presets / sizeof *presets);
  return presets;
}

const PlaTransfer *
pla_transfer_find(const char *id)
{
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
    if (strcmp(presets[i].id, id) == 0)
      return &presets[i];
  return NULL;
}

struct PlaRaycast {
  int dims[3];
  float *value;          /* slope and inter applied (dims) */
  float table[TABLE][4]; /* colour and extinction, 1/mm, by value */
  double lo, scale;      /* entry = (value - lo) * scale */
  double inv[12];        /* mm -> index */
  double step_mm;
  int blocks[3];
  uint8_t *seen; /* blocks with anything to see in them or at their border */
};

static void
fill_table(PlaRaycast *self, const PlaTransfer *t)
{
  self->lo = t->stop[0].value;
  self->scale = (TABLE - 1) / (t->stop[t->n - 1].value - self->lo);
  for (int i = 0, s = 0; i < TABLE; i++) {
    const double v = self->lo + i / self->scale;
    while (s + 2 < t->n && v > t->stop[s + 1].value)
      s++;
    const PlaTransferStop *a = &t->stop[s], *b = &t->stop[s + 1];
    const double f = fmin(1.0, fmax(0.0, (v - a->value) / (b->value - a->value)));
    for (int c = 0; c < 3; c++)
      self->table[i][c] = (float)(a->rgb[c] + f * (b->rgb[c] - a->rgb[c]));
    self->table[i][3] = (float)(a->per_mm + f * (b->per_mm - a->per_mm));
  }
}

static size_t
at(const int *dims, int i, int j, int k)
{
  return (size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
}

/* a block is seen when some value in it or next to it is above the first stop */
static void
find_blocks(PlaRaycast *self)
{
  const int *dims = self->dims;
#pragma omp parallel for schedule(dynamic, 1)
  for (int bk = 0; bk < self->blocks[2]; bk++)
    for (int bj = 0; bj < self->blocks[1]; bj++)
      for (int bi = 0; bi < self->blocks[0]; bi++) {
        bool any = false;
        for (int k = bk * BLOCK; k <= (bk + 1) * BLOCK && k < dims[2] && !any; k++)
          for (int j = bj * BLOCK; j <= (bj + 1) * BLOCK && j < dims[1] && !any; j++)
            for (int i = bi * BLOCK; i <= (bi + 1) * BLOCK && i < dims[0] && !any; i++)
              any = self->value[at(dims, i, j, k)] > self->lo;
        self->seen[at(self->blocks, bi, bj, bk)] = any;
      }
}

PlaStatus
pla_raycast_new(const PlaVolume *vol, const PlaTransfer *transfer, PlaProgress *progress,
                PlaRaycast **out, PlaError *err)
{
  *out = NULL;
  PlaRaycast *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the view of the volume");
  const size_t n = (size_t)vol->dims[0] * (size_t)vol->dims[1] * (size_t)vol->dims[2];
  double spacing[3];
  memcpy(self->dims, vol->dims, sizeof self->dims);
  pla_volume_spacing_mm(vol, spacing);
  self->step_mm = 0.7 * fmin(spacing[0], fmin(spacing[1], spacing[2]));
  for (int d = 0; d < 3; d++)
    self->blocks[d] = (vol->dims[d] + BLOCK - 1) / BLOCK;
  self->value = pla_array_new(n, sizeof *self->value);
  self->seen =
      pla_array_new0((size_t)self->blocks[0] * (size_t)self->blocks[1], (size_t)self->blocks[2]);
  PlaStatus st = PLA_OK;
  if (!self->value || !self->seen)
    st = pla_fail_memory(err, "the view of the volume");
  else if (!pla_affine_invert(vol->affine_mm, self->inv))
    st = pla_fail(err, PLA_ERR_GEOMETRY, "the volume's axes lie in one plane");
  if (st != PLA_OK) {
    pla_raycast_free(self);
    return st;
  }
  fill_table(self, transfer);
#pragma omp parallel for schedule(static)
  for (size_t v = 0; v < n; v++) {
    const double x = vol->slope * pla_dtype_get(vol->dtype, vol->voxels, v) + vol->inter;
    self->value[v] = isnan(x) ? (float)self->lo : (float)x;
  }
  find_blocks(self);
  if (pla_progress_cancelled(progress)) {
    pla_raycast_free(self);
    return pla_fail_cancelled(err);
  }
  *out = self;
  return PLA_OK;
}

void
pla_raycast_free(PlaRaycast *self)
{
  if (!self)
    return;
  free(self->value);
  free(self->seen);
  free(self);
}

/* trilinear; @p must lie inside the grid of voxel centres */
static float
sample(const PlaRaycast *self, const double p[3])
{
  const int *dims = self->dims;
  int i[3];
  float f[3];
  for (int d = 0; d < 3; d++) {
    i[d] = (int)p[d];
    if (i[d] > dims[d] - 2)
      i[d] = dims[d] > 1 ? dims[d] - 2 : 0;
    f[d] = (float)(p[d] - i[d]);
  }
  const size_t dx = dims[0] > 1, dy = dims[1] > 1 ? (size_t)dims[0] : 0,
               dz = dims[2] > 1 ? (size_t)dims[0] * (size_t)dims[1] : 0;
  const float *v = self->value + at(dims, i[0], i[1], i[2]);
  const float a = v[0] + f[0] * (v[dx] - v[0]), b = v[dy] + f[0] * (v[dy + dx] - v[dy]),
              c = v[dz] + f[0] * (v[dz + dx] - v[dz]),
              d = v[dz + dy] + f[0] * (v[dz + dy + dx] - v[dz + dy]);
  const float ab = a + f[1] * (b - a), cd = c + f[1] * (d - c);
  return ab + f[2] * (cd - ab);
}

/* brightness of a border that faces the viewer: 1 straight on, less askew */
static float
shade(const PlaRaycast *self, const double p[3], const double dir_mm[3])
{
  const int *dims = self->dims;
  double g[3], world[3] = { 0, 0, 0 };
  for (int d = 0; d < 3; d++) {
    double lo[3] = { p[0], p[1], p[2] }, hi[3] = { p[0], p[1], p[2] };
    lo[d] = fmax(0.0, p[d] - 1.0);
    hi[d] = fmin(dims[d] - 1.0, p[d] + 1.0);
    g[d] = (double)(sample(self, hi) - sample(self, lo));
  }
  /* gradients transform by the transpose of mm -> index */
  for (int d = 0; d < 3; d++)
    for (int e = 0; e < 3; e++)
      world[d] += self->inv[4 * e + d] * g[e];
  const double length = pla_vec3_norm(world);
  if (!(length > 0.0))
    return 0.8f;
  const double facing = fabs(pla_vec3_dot(world, dir_mm)) / length;
  return (float)(0.25 + 0.75 * facing + 0.12 * pow(facing, 20.0));
}

/* how far along p + t q the ray is in [lo, hi] each way */
static bool
clip(const double p[3], const double q[3], const double hi[3], double *t0, double *t1)
{
  *t0 = 0.0;
  *t1 = INFINITY;
  for (int d = 0; d < 3; d++) {
    if (fabs(q[d]) < 1e-12) {
      if (p[d] < 0.0 || p[d] > hi[d])
        return false;
      continue;
    }
    const double a = (0.0 - p[d]) / q[d], b = (hi[d] - p[d]) / q[d];
    *t0 = fmax(*t0, fmin(a, b));
    *t1 = fmin(*t1, fmax(a, b));
  }
  return *t1 > *t0;
}

/* @t at which the ray leaves the block that it is in */
static double
leave_block(const double p[3], const double q[3], const int block[3])
{
  double t = INFINITY;
  for (int d = 0; d < 3; d++)
    if (fabs(q[d]) > 1e-12)
      t = fmin(t, (BLOCK * (block[d] + (q[d] > 0.0)) - p[d]) / q[d]);
  return t;
}

static uint32_t
cast(const PlaRaycast *self, const double from[3], const double dir_mm[3])
{
  const int *dims = self->dims;
  const double hi[3] = { dims[0] - 1.0, dims[1] - 1.0, dims[2] - 1.0 };
  double p[3], q[3], t0, t1;
  float sum[3] = { 0, 0, 0 }, passes = 1.0f;
  pla_affine_apply(self->inv, from, p);
  for (int d = 0; d < 3; d++)
    q[d] = self->inv[4 * d] * dir_mm[0] + self->inv[4 * d + 1] * dir_mm[1] +
           self->inv[4 * d + 2] * dir_mm[2];
  if (!clip(p, q, hi, &t0, &t1))
    return 0;
  /* steps at multiples of one length, so that skipping changes nothing */
  for (int64_t s = (int64_t)ceil(t0 / self->step_mm); (double)s * self->step_mm <= t1; s++) {
    const double t = (double)s * self->step_mm;
    double at_[3];
    int block[3];
    for (int d = 0; d < 3; d++) {
      at_[d] = fmin(hi[d], fmax(0.0, p[d] + t * q[d]));
      block[d] = (int)at_[d] / BLOCK;
    }
    if (!self->seen[at(self->blocks, block[0], block[1], block[2])]) {
      const int64_t next = (int64_t)floor(leave_block(p, q, block) / self->step_mm);
      s = next > s ? next : s;
      continue;
    }
    const double entry = ((double)sample(self, at_) - self->lo) * self->scale;
    if (!(entry > 0.0))
      continue;
    const float *c = self->table[entry < TABLE - 1 ? (int)entry : TABLE - 1];
    if (!(c[3] > 0.0f))
      continue;
    const float taken = 1.0f - expf(-c[3] * (float)self->step_mm);
    const float light = taken > 0.01f ? shade(self, at_, dir_mm) : 0.8f;
    for (int k = 0; k < 3; k++)
      sum[k] += passes * taken * light * c[k];
    passes *= 1.0f - taken;
    if (passes < 0.01f)
      break;
  }
  const float alpha = 1.0f - passes;
  uint32_t pixel = (uint32_t)(255.0f * alpha + 0.5f) << 24;
  for (int k = 0; k < 3; k++)
    pixel |= (uint32_t)(255.0f * fminf(sum[k], alpha) + 0.5f) << (16 - 8 * k);
  return pixel;
}

bool
pla_raycast_draw(const PlaRaycast *self, const PlaRays *rays, PlaProgress *progress,
                 uint32_t *pixel)
{
#pragma omp parallel for schedule(dynamic, 4)
  for (int y = 0; y < rays->height; y++) {
    if (pla_progress_cancelled(progress))
      continue;
    for (int x = 0; x < rays->width; x++) {
      double from[3], dir[3];
      for (int d = 0; d < 3; d++) {
        from[d] = rays->from[d] + x * rays->from_right[d] + y * rays->from_down[d];
        dir[d] = rays->dir[d] + x * rays->dir_right[d] + y * rays->dir_down[d];
      }
      const double length = pla_vec3_norm(dir);
      for (int d = 0; d < 3; d++)
        dir[d] /= length;
      pixel[(size_t)y * (size_t)rays->width + (size_t)x] = cast(self, from, dir);
    }
  }
  return !pla_progress_cancelled(progress);
}

/* Local changes of level sets.
 *
 * Values within a band of the change can change; what they become depends on the surface within
 * another band around those.  So the part two bands around the change is measured again, and of
 * that the part one band around it is taken over. */
#include "anatomy/levelset/levelset-edit.h"

#include "anatomy/base/mat3.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* a box of the grid as a level set of its own */
static PlaStatus
part_new(const PlaLevelSet *ls, const int lo[3], const int hi[3], PlaLevelSet **out, PlaError *err)
{
  const int dims[3] = { hi[0] - lo[0] + 1, hi[1] - lo[1] + 1, hi[2] - lo[2] + 1 };
  const double first[3] = { lo[0], lo[1], lo[2] };
  double affine[12], corner[3];
  memcpy(affine, ls->affine_mm, sizeof affine);
  pla_affine_apply(ls->affine_mm, first, corner);
  for (int d = 0; d < 3; d++)
    affine[4 * d + 3] = corner[d];
  PlaStatus st = pla_levelset_new(dims, affine, out, err);
  if (st != PLA_OK)
    return st;
  (*out)->band_mm = ls->band_mm;
  for (int k = 0; k < dims[2]; k++)
    for (int j = 0; j < dims[1]; j++)
      memcpy((*out)->phi_mm + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k),
             ls->phi_mm + (size_t)lo[0] +
                 (size_t)ls->dims[0] *
                     ((size_t)(j + lo[1]) + (size_t)ls->dims[1] * (size_t)(k + lo[2])),
             (size_t)dims[0] * sizeof *ls->phi_mm);
  return PLA_OK;
}

/* copies the box lo..hi of @ls from @part, whose first voxel is @at */
static void
take_over(PlaLevelSet *ls, const int lo[3], const int hi[3], const PlaLevelSet *part,
          const int at[3])
{
  for (int k = lo[2]; k <= hi[2]; k++)
    for (int j = lo[1]; j <= hi[1]; j++)
      memcpy(ls->phi_mm + (size_t)lo[0] +
                 (size_t)ls->dims[0] * ((size_t)j + (size_t)ls->dims[1] * (size_t)k),
             part->phi_mm + (size_t)(lo[0] - at[0]) +
                 (size_t)part->dims[0] *
                     ((size_t)(j - at[1]) + (size_t)part->dims[1] * (size_t)(k - at[2])),
             (size_t)(hi[0] - lo[0] + 1) * sizeof *ls->phi_mm);
}

/* the box lo..hi and @bands bands around it, within the grid */
static void
widen(const PlaLevelSet *ls, const int lo[3], const int hi[3], int bands, int out_lo[3],
      int out_hi[3])
{
  for (int d = 0; d < 3; d++) {
    const double *row = ls->inverse_mm + 4 * d;
    const int reach = bands * ((int)ceil(ls->band_mm * pla_vec3_norm(row)) + 2);
    out_lo[d] = lo[d] - reach > 0 ? lo[d] - reach : 0;
    out_hi[d] = hi[d] + reach < ls->dims[d] - 1 ? hi[d] + reach : ls->dims[d] - 1;
  }
}

/* redistances @part (the box outer) and takes the box inner over; of one sign only: all band */
static PlaStatus
finish(PlaLevelSet *ls, PlaLevelSet *part, const int inner_lo[3], const int inner_hi[3],
       const int outer_lo[3], PlaProgress *progress, PlaError *err)
{
  PlaError own = { 0 };
  PlaStatus st = pla_levelset_redistance(part, ls->band_mm, progress, &own);
  if (st == PLA_ERR_EMPTY) {
    const size_t n = pla_levelset_n_voxels(part);
    for (size_t v = 0; v < n; v++)
      part->phi_mm[v] = (float)(part->phi_mm[v] < 0.0f ? -ls->band_mm : ls->band_mm);
    st = PLA_OK;
  }
  if (st == PLA_OK)
    take_over(ls, inner_lo, inner_hi, part, outer_lo);
  else if (err)
    *err = own;
  return st;
}

PlaStatus
pla_levelset_redistance_box(PlaLevelSet *ls, const int lo[3], const int hi[3],
                            PlaProgress *progress, PlaError *err)
{
  assert(isfinite(ls->band_mm));
  int inner_lo[3], inner_hi[3], outer_lo[3], outer_hi[3];
  PlaLevelSet *part = NULL;
  for (int d = 0; d < 3; d++)
    if (lo[d] > hi[d] || hi[d] < 0 || lo[d] >= ls->dims[d])
      return PLA_OK;
  widen(ls, lo, hi, 1, inner_lo, inner_hi);
  widen(ls, lo, hi, 2, outer_lo, outer_hi);
  PlaStatus st = part_new(ls, outer_lo, outer_hi, &part, err);
  if (st == PLA_OK)
    st = finish(ls, part, inner_lo, inner_hi, outer_lo, progress, err);
  pla_levelset_free(part);
  return st;
}

/* a box around the solid, mm */
static void
solid_box(const PlaSolid *solid, double lo[3], double hi[3])
{
  const bool points = solid->kind == PLA_SOLID_CAPSULE || solid->kind == PLA_SOLID_TUBE;
  const double reach =
      solid->kind == PLA_SOLID_TORUS ? solid->size[0] + solid->size[1] : pla_vec3_norm(solid->size);
  for (int d = 0; d < 3; d++) {
    lo[d] = points ? INFINITY : solid->centre[d] - reach;
    hi[d] = points ? -INFINITY : solid->centre[d] + reach;
    for (int p = 0; points && p < solid->n_points; p++) {
      lo[d] = fmin(lo[d], solid->point[3 * p + d] - solid->radius[p]);
      hi[d] = fmax(hi[d], solid->point[3 * p + d] + solid->radius[p]);
    }
  }
}

PlaStatus
pla_levelset_edit_solid(PlaLevelSet *ls, PlaCsg op, const PlaSolid *solid, PlaProgress *progress,
                        int lo[3], int hi[3], PlaError *err)
{
  assert(isfinite(ls->band_mm) && op != PLA_CSG_INTERSECTION);
  double lo_mm[3], hi_mm[3], first[3] = { INFINITY, INFINITY, INFINITY };
  double last[3] = { -INFINITY, -INFINITY, -INFINITY };
  int outer_lo[3], outer_hi[3], inner_lo[3], inner_hi[3];
  PlaLevelSet *part = NULL;
  /* the box of the solid in samples */
  solid_box(solid, lo_mm, hi_mm);
  for (int c = 0; c < 8; c++) {
    double p[3], x[3];
    for (int d = 0; d < 3; d++)
      p[d] = c >> d & 1 ? hi_mm[d] : lo_mm[d];
    pla_affine_apply(ls->inverse_mm, p, x);
    for (int d = 0; d < 3; d++) {
      first[d] = fmin(first[d], x[d]);
      last[d] = fmax(last[d], x[d]);
    }
  }
  /* nothing to change where the box is outside the grid */
  for (int d = 0; d < 3; d++) {
    lo[d] = 0;
    hi[d] = -1;
  }
  for (int d = 0; d < 3; d++)
    if (!(last[d] >= 0.0 && first[d] <= ls->dims[d] - 1))
      return PLA_OK;
  for (int d = 0; d < 3; d++) {
    lo[d] = (int)floor(fmax(first[d], 0.0));
    hi[d] = (int)ceil(fmin(last[d], ls->dims[d] - 1.0));
  }
  /* combine in a part with a margin, redistance it, and write it back */
  widen(ls, lo, hi, 1, inner_lo, inner_hi);
  widen(ls, lo, hi, 2, outer_lo, outer_hi);
  PlaStatus st = part_new(ls, outer_lo, outer_hi, &part, err);
  if (st == PLA_OK) {
    pla_levelset_combine_solid(part, op, solid);
    st = finish(ls, part, inner_lo, inner_hi, outer_lo, progress, err);
  }
  pla_levelset_free(part);
  memcpy(lo, inner_lo, sizeof inner_lo);
  memcpy(hi, inner_hi, sizeof inner_hi);
  return st;
}

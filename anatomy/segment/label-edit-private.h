/* What the files of label editing share. */
#pragma once

#include "anatomy/segment/label-edit.h"

/* Writes one id into a label map and keeps the account. */
typedef struct {
  const int *dims;
  uint8_t *narrow; /* one of the two */
  uint16_t *wide;
  int label, only;
  PlaLabelChange change;
} PlaLabelPen;

/* Widens the map where @label needs it. */
PlaStatus pla_label_pen_init(PlaLabelPen *pen, PlaLabelMap *map, int label, int only,
                             PlaError *err);

static inline size_t
pla_label_voxel(const int dims[3], int i, int j, int k)
{
  return (size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
}

static inline int
pla_label_pen_get(const PlaLabelPen *pen, size_t v)
{
  return pen->narrow ? pen->narrow[v] : pen->wide[v];
}

static inline void
pla_label_pen_paint(PlaLabelPen *pen, int i, int j, int k)
{
  const size_t v = pla_label_voxel(pen->dims, i, j, k);
  const int was = pla_label_pen_get(pen, v), at[3] = { i, j, k };
  if (was == pen->label || (pen->only >= 0 && was != pen->only))
    return;
  if (pen->narrow)
    pen->narrow[v] = (uint8_t)pen->label;
  else
    pen->wide[v] = (uint16_t)pen->label;
  pen->change.n_changed++;
  for (int d = 0; d < 3; d++) {
    pen->change.lo[d] = at[d] < pen->change.lo[d] ? at[d] : pen->change.lo[d];
    pen->change.hi[d] = at[d] > pen->change.hi[d] ? at[d] : pen->change.hi[d];
  }
}

/* The voxel whose centre is nearest to @pos_mm; false outside the volume. */
bool pla_label_voxel_at(const PlaVolume *vol, const double inverse_mm[12], const double pos_mm[3],
                        int ijk[3]);
/* PLA_ERR_GEOMETRY with a sentence when the affine is singular. */
PlaStatus pla_label_invert(const PlaVolume *vol, double inverse_mm[12], PlaError *err);
/* The box of voxels that hold @label, both corners included; false when none does. */
bool pla_label_box(const PlaLabelMap *map, int label, int lo[3], int hi[3]);

/* The grids in which the level set of a label is computed and kept. */
#pragma once

#include "anatomy/levelset/levelset.h"

/* The part of the volume's grid around the label, and the wider grid in which the label is
 * smoothed: beyond the volume's border everything goes on as it is there, so that a surface along
 * the border is as flat as any other and one that reaches it is not bent by it. */
typedef struct {
  int first[3], dims[3]; /* voxels of the volume */
  int before[3];         /* voxels of the wider grid before those */
  int wide[3];           /* its size */
  double affine[12], wide_affine[12];
  unsigned faces; /* PLA_FACE_* of the volume that the label reaches */
} PlaLabelFrame;

/* marks the voxels that bear one of @ids and finds their box; false when there are none */
bool pla_label_frame_find_box(const PlaLabelMap *map, const uint8_t *wanted, int lo[3], int hi[3],
                              size_t *count);

/* @lo and @hi: the label's box; @reach: voxels around it that smoothing uses */
PlaLabelFrame pla_label_frame_make(const PlaVolume *vol, const int lo[3], const int hi[3],
                                   double margin_mm, double extra_voxels, int reach);

/* the voxels of the wider grid that bear a wanted label, those beyond the volume being those at
 * its border; returns how many */
size_t pla_label_frame_fill(const PlaLabelMap *map, const uint8_t *wanted, const PlaLabelFrame *f,
                            uint8_t *mask);

/* what of the wider grid is in the volume */
PlaStatus pla_label_frame_trim(const PlaLevelSet *wide, const PlaLabelFrame *f, PlaLevelSet **out,
                               PlaError *err);

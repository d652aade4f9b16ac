/* A label between its stairs and its level set, for label-levelset.c and label-interface.c. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/levelset/levelset.h"

#include <stdbool.h>

enum { PLA_STAIR_RADIUS = 64 };

/* voxels by which what has been lost, or left far behind, is inside again at least */
static const float pla_stairs_inside = 0.2f;
/* voxels over which the volume of the voxels is kept: fewer and the stairs come back */
static const double pla_stairs_match_sigma = 3.0;

/* a symmetric filter; tap[0] is the middle */
typedef struct {
  int radius;
  float tap[PLA_STAIR_RADIUS + 1];
} PlaStairKernel;

/* voxels i0 .. i1 - 1 of a row */
typedef struct {
  int i0, i1;
} PlaStairRun;

typedef struct {
  int dims[3];
  bool large; /* worth several threads */
  float band; /* voxels: values stay within +- band */
  const uint8_t *mask;
  float *least, *most; /* what u may be, in the runs */
  float *u;            /* voxels; negative inside */
  float *work[2];      /* like u outside the runs */
  size_t *first_run;   /* per row (rows + 1) */
  PlaStairRun *run;
} PlaStairs;

/* a Gaussian of @sigma samples and a wider one, mixed so that the second moment is zero */
PlaStairKernel pla_stair_kernel(double sigma);
/* filters the runs of @from along @axis into @to; samples beyond the grid repeat the last one */
void pla_stairs_filter_axis(const PlaStairs *s, const PlaStairKernel *kernel, int axis,
                            const float *from, float *to);
/* work[0] <- the filtered u */
void pla_stairs_filter(PlaStairs *s, const PlaStairKernel kernel[3]);

/* By how much the mean value of the voxels @at a corner is beyond what it is @gap voxels away from
 * the interface; 0: no voxel face has that corner, or it is nearer. */
float pla_stairs_corner_excess(const PlaStairs *s, const float *value, const size_t at[8],
                               float gap);
typedef void (*PlaCornerFunc)(PlaStairs *s, int i, int j, int k, const size_t at[8], void *data);

/* Calls @func, in their order, for corners of voxel faces from which the interface of @value is
 * further than @gap voxels; returns how many there are. */
size_t pla_stairs_visit_far_corners(PlaStairs *s, const float *value, float gap, PlaCornerFunc func,
                                    void *data);

/* ---- the interface as distances (label-interface.c) ---- */

/* Moves the interface of @ls, distances, so that it encloses the volume of the voxels around every
 * place: what smoothing takes from an edge is given back there and not on the flat faces beside it.
 * @sigma: voxels over which volumes are compared. */
PlaStatus pla_stairs_match_locally(PlaStairs *s, PlaLevelSet *ls, double sigma, PlaError *err);
/* The interface becomes smooth, near the voxel faces, and around @volume_mm3 unless that is 0; the
 * values beyond @band_mm are not distances. */
PlaStatus pla_stairs_draw_near(PlaStairs *s, PlaLevelSet *ls, double band_mm, double volume_mm3,
                               PlaProgress *progress, PlaError *err);

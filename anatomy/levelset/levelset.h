/* Level sets: signed distances, in millimetres, sampled on a grid; negative inside.
 *
 * The interface of a level set is the zero surface that marching cubes finds in its samples, so
 * values, distances and triangles agree with each other.  Grids may have any invertible affine.
 * A level set that is not being changed may be asked from any thread; functions that change one
 * give the same bits for any number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/volume/volume.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int dims[3];
  double affine_mm[12];  /* index -> RAS mm */
  double inverse_mm[12]; /* RAS mm -> index */
  float *phi_mm;         /* dims[0] x dims[1] x dims[2], i fastest */
  double band_mm;        /* values are distances up to +-band_mm and stay there; INFINITY: all */
} PlaLevelSet;

/* Zeroed values, band INFINITY.  PLA_ERR_GEOMETRY when the affine is singular. */
PlaStatus pla_levelset_new(const int dims[3], const double affine_mm[12], PlaLevelSet **out,
                           PlaError *err);
PlaStatus pla_levelset_dup(const PlaLevelSet *ls, PlaLevelSet **out, PlaError *err);
void pla_levelset_free(PlaLevelSet *ls); /* NULL is fine */
size_t pla_levelset_n_voxels(const PlaLevelSet *ls);
double pla_levelset_spacing_mm(const PlaLevelSet *ls); /* the smallest of the three */

/* Fills all values from @func, which any thread may call. */
typedef double (*PlaDistanceFunc)(const double pos_mm[3], const void *data);
void pla_levelset_fill(PlaLevelSet *ls, PlaDistanceFunc func, const void *data);

/* Replaces the values by the distance to their own zero surface, up to @band_mm (INFINITY: the
 * whole grid), keeping every sign.  PLA_ERR_EMPTY when the values have one sign only. */
PlaStatus pla_levelset_redistance(PlaLevelSet *ls, double band_mm, PlaProgress *progress,
                                  PlaError *err);

/* Trilinear values (n, mm) and gradients (n x 3, no unit) at @n points (n x 3, RAS mm); either
 * output may be NULL.  Outside the grid, the value at the nearest point of it plus the distance
 * to that point. */
void pla_levelset_sample(const PlaLevelSet *ls, size_t n, const double *pos_mm, double *value_mm,
                         double *gradient);
/* One value, mm, on the calling thread: for callers that bring their own loop. */
double pla_levelset_at(const PlaLevelSet *ls, const double pos_mm[3]);
/* One point in index coordinates: the same without the affine, and only inside the grid's box. */
double pla_levelset_at_index(const PlaLevelSet *ls, const double ijk[3]);

/* Volume, mm^3, and area, mm^2, of {phi < 0} within the grid, which counts as closed half a voxel
 * outside its last samples; either may be NULL. */
PlaStatus pla_levelset_measure(const PlaLevelSet *ls, double *volume_mm3, double *area_mm2,
                               PlaError *err);

/* ---- solids combined (csg.c) ---- */

typedef enum {
  PLA_CSG_UNION = 0,
  PLA_CSG_INTERSECTION,
  PLA_CSG_DIFFERENCE, /* what is in the first and not in the second */
} PlaCsg;

typedef enum {
  PLA_SOLID_CAPSULE = 0, /* two points, two radii (equal or not) */
  PLA_SOLID_ELLIPSOID,   /* centre, half axes, orientation */
  PLA_SOLID_TUBE,        /* a ball of varying radius swept along a path */
  PLA_SOLID_BOX,         /* centre, half sizes, orientation */
  PLA_SOLID_TORUS,       /* centre, radii of circle and tube, orientation: the axis is local z */
} PlaSolidKind;

/* All in RAS mm. */
typedef struct {
  PlaSolidKind kind;
  double centre[3];
  double size[3];       /* half axes or half sizes; TORUS: size[0] circle, size[1] tube */
  double axes[9];       /* rows: the local x, y, z directions, orthonormal; all zero: RAS axes */
  int n_points;         /* CAPSULE: 2, TUBE: at least 1 */
  const double *point;  /* n_points x 3, borrowed */
  const double *radius; /* n_points, borrowed */
} PlaSolid;

/* Signed distance to the solid's surface; exact for all but ellipsoids, whose distance is exact to
 * 1e-6 of their size. */
double pla_solid_distance(const PlaSolid *solid, const double pos_mm[3]);

/* Combines in place; @other may have another grid and is then sampled.  Values stay distances
 * outside of unions and inside of intersections; redistance where they are needed elsewhere. */
void pla_levelset_combine(PlaLevelSet *ls, PlaCsg op, const PlaLevelSet *other);
void pla_levelset_combine_solid(PlaLevelSet *ls, PlaCsg op, const PlaSolid *solid);
void pla_levelset_offset(PlaLevelSet *ls, double outwards_mm);

/* ---- smoothing (curvature.c) ---- */

typedef struct {
  double volume_before_mm3, volume_after_mm3;
  int steps;
} PlaCurvatureReport;

/* Motion by mean curvature over the time scale^2 / 2 (a sphere of radius r shrinks to
 * sqrt(r^2 - 2 scale^2)), then redistancing to the band it had. */
PlaStatus pla_levelset_smooth_curvature(PlaLevelSet *ls, double scale_mm, PlaProgress *progress,
                                        PlaCurvatureReport *report, PlaError *err);

/* Takes away what a ball of @radius_mm does not fit into, then fills gaps that it does not fit
 * into: afterwards the surface has no radius of curvature below about that.  The band becomes three
 * radii at least.  PLA_ERR_EMPTY, with the level set unusable, when nothing is left. */
PlaStatus pla_levelset_limit_curvature(PlaLevelSet *ls, double radius_mm, PlaProgress *progress,
                                       PlaError *err);

/* ---- from labels (label-levelset.c) ---- */

typedef struct {
  double smooth_mm; /* also removes detail finer than this; 0: voxel stairs alone */
  double band_mm;   /* distances up to here; 0: four voxels; INFINITY: the whole grid */
  double margin_mm; /* of the grid around the label; 0: six voxels; INFINITY: the whole volume */
  bool keep_volume; /* the enclosed volume is that of the voxels */
} PlaLabelLevelSetOptions;
PlaLabelLevelSetOptions pla_label_levelset_options_default(void); /* 0, 0, 0, true */

typedef struct {
  double label_mm3;      /* volume of the voxels */
  unsigned border_faces; /* PLA_FACE_* of the volume that the label reaches */
  int lo[3];             /* voxel of the volume that is the first of the grid */
} PlaLabelLevelSetReport;

/* The level set of the union of @ids.  Its interface is the smoothest that passes between the
 * centres of voxels inside and outside, but for some within a fraction of a voxel (with smooth_mm 0
 * less than a voxel from every voxel face, in voxels of each axis).
 * PLA_ERR_EMPTY when no voxel bears an id. @report may be NULL. */
PlaStatus pla_levelset_from_labels(const PlaLabelMap *map, const int *ids, int n_ids,
                                   const PlaLabelLevelSetOptions *opts, PlaProgress *progress,
                                   PlaLevelSet **out, PlaLabelLevelSetReport *report,
                                   PlaError *err);

/* Level sets of groups of labels that fill space together: at every sample exactly one of them, or
 * the rest, is negative, and in between the least one has the point. */
typedef struct {
  int n_groups;
  PlaLevelSet **group; /* one per group, each on its own part of the volume's grid */
  PlaLevelSet *rest;   /* negative outside all groups, on the part of the grid around them; NULL
                          with a single group, whose complement it is */
} PlaPartition;

/* Group g is the union of ids[first[g]] .. ids[first[g + 1] - 1]. */
PlaStatus pla_partition_new(const PlaLabelMap *map, const int *ids, const int *first, int n_groups,
                            const PlaLabelLevelSetOptions *opts, PlaProgress *progress,
                            PlaPartition **out, PlaError *err);
void pla_partition_free(PlaPartition *self); /* NULL is fine */

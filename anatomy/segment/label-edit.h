/* Editing of label maps by hand: brushes, outlines, region growing, slices in between, pieces,
 * mirroring.
 *
 * Every edit paints one id (0 erases) and may be confined to voxels that hold another; the map
 * becomes 16 bits wide where the id needs it.  Places are RAS mm, and shapes are true on any
 * affine.  Only what an edit reaches is visited.  Same result for any number of threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/segment/components.h"
#include "anatomy/volume/volume.h"

typedef struct {
  double radius_mm; /* > 0; voxels whose centre is at most this far from the stroke change */
  int label;        /* painted, 1..65535; 0 erases */
  int only;         /* change only voxels that hold this id; -1: all */
  double normal[3]; /* of the slice to stay in: the layer of voxels through the stroke's first
                       point; all 0: a ball */
} PlaBrush;

/* What an edit changed. */
typedef struct {
  size_t n_changed; /* voxels */
  int lo[3], hi[3]; /* their box, both corners included; lo > hi when there are none */
} PlaLabelChange;

/* Draws the polyline through @points_mm (n x 3, RAS; one point is a ball) into @map, widening it
 * to 16 bits where the label needs it; @n_changed is the number of voxels that changed.
 * PLA_ERR_GEOMETRY when the affine is singular.  Same result for any number of threads. */
PlaStatus pla_label_edit_stroke(PlaLabelMap *map, const double *points_mm, int n,
                                const PlaBrush *brush, size_t *n_changed, PlaError *err);

/* Fills the polygon through @points_mm (n >= 3, near a plane), @thickness_mm deep across it (0: the
 * one layer of voxels it lies in).  Where the outline crosses itself, by the even-odd rule.
 * PLA_ERR_GEOMETRY when the points lie on a line. */
PlaStatus pla_label_edit_polygon(PlaLabelMap *map, const double *points_mm, int n,
                                 double thickness_mm, int label, int only, PlaLabelChange *change,
                                 PlaError *err);

typedef struct {
  double lo, hi;   /* values taken, both included; with an image only */
  double reach_mm; /* no further than this from the seeds; INFINITY: anywhere */
  PlaConnectivity connectivity;
  int label, only;
} PlaGrow;

/* Paints what hangs together with the seeds (n x 3): voxels of frame @frame of @image (on the same
 * grid; NULL: any value) within the range, that hold @only or, where that is -1, the id of a seed.
 * PLA_ERR_EMPTY when no seed is in range, PLA_ERR_USAGE when the image has another grid. */
PlaStatus pla_label_edit_grow(PlaLabelMap *map, const PlaVolume *image, int frame,
                              const double *seeds_mm, int n, const PlaGrow *grow,
                              PlaProgress *progress, PlaLabelChange *change, PlaError *err);

/* Fills the slices between those across index axis @axis that hold @label, from slice @from to @to
 * (both included; -1, -1: all): between neighbours, signed distances of the two outlines are
 * averaged after their centres have been brought over each other (Raya and Udupa 1990).  Only
 * voxels that hold @only (-1: all).  PLA_ERR_EMPTY with fewer than two painted slices, or nothing
 * in between. */
PlaStatus pla_label_edit_between(PlaLabelMap *map, int axis, int from, int to, int label, int only,
                                 PlaProgress *progress, PlaLabelChange *change, PlaError *err);

/* Divides label @from between seeds (n x 3, in voxels of that label): each takes what is nearest to
 * it, and where one piece holds several they meet at its necks (a watershed of the distance to
 * its border).  Voxels of seed s become ids[s]; pieces without a seed stay.  PLA_ERR_USAGE names a
 * seed outside the label. */
PlaStatus pla_label_edit_split(PlaLabelMap *map, int from, const double *seeds_mm, const int *ids,
                               int n, PlaConnectivity connectivity, PlaProgress *progress,
                               PlaLabelChange *change, PlaError *err);

/* Keeps the pieces of @label that hold a seed (n x 3; n = 0: the largest) and gives the others the
 * id @other (0 erases). */
PlaStatus pla_label_edit_keep(PlaLabelMap *map, int label, const double *seeds_mm, int n, int other,
                              PlaConnectivity connectivity, PlaProgress *progress,
                              PlaLabelChange *change, PlaError *err);

/* Paints the mirror image of label @from about the plane through @point_mm across @normal as
 * @label, where the map holds @only (-1: anywhere). */
PlaStatus pla_label_edit_mirror(PlaLabelMap *map, int from, const double point_mm[3],
                                const double normal[3], int label, int only, PlaLabelChange *change,
                                PlaError *err);

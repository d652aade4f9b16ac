/* Implicit shapes in millimetres: what the anatomical phantoms are made of.
 *
 * A scene is a list of parts; a part is a list of shapes combined in order,
 *
 *     d <- smooth-union(d, f), smooth-max(d, -f) or smooth-max(d, f),
 *
 * with f the shape's distance to its surface, negative inside.  The distances are exact for
 * spheres, rods and boxes and first-order accurate near the surface for the others; their sign is
 * exact.  Where parts overlap the one added last wins, so every point has one label.
 *
 * Points are RAS millimetres.  A part is described once, on the patient's right (+x), and stands
 * on the right, mirrored on the left, or on both sides of the midplane.  A finished scene is
 * read-only and may be asked from any thread. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/volume/volume.h"

#include <stdbool.h>

typedef enum {
  PLA_SHAPE_BALL = 0, /* ellipsoid: centre, half axes, turns about x, y, z in degrees  (9) */
  PLA_SHAPE_BRICK,    /* fourth-power ellipsoid: as BALL                               (9) */
  PLA_SHAPE_ROD,      /* cone with round ends: ends a, b, radii                        (8) */
  PLA_SHAPE_BOX,      /* rounded box: centre, half sizes, turns, rounding             (10) */
  PLA_SHAPE_PLANE,    /* half space under a plane: point, outward normal               (6) */
  PLA_SHAPE_RING,     /* torus: centre, axis, radius, tube radius                      (8) */
  PLA_SHAPE_DISC,     /* cylinder: ends, radius                                        (7) */
  PLA_SHAPE_PART,     /* another part's distance plus an offset:                offset (1) */
  PLA_SHAPE_TUBE,     /* chain of cones along a path */
  PLA_SHAPE_RIBBON,   /* flat band along a path, thick along the path's normals */
  PLA_SHAPE_SHEET,    /* as RIBBON, its depth measured from another part's surface */
} PlaShapeKind;

typedef enum {
  PLA_SHAPE_ADD = 0,
  PLA_SHAPE_CUT,
  PLA_SHAPE_KEEP, /* intersection */
} PlaShapeOp;

#define PLA_SHAPE_NUMBERS 10

/* One row of a shape table. */
typedef struct {
  PlaShapeOp op;
  PlaShapeKind kind;
  double blend; /* mm over which the joint is rounded; 0 for a crease */
  double n[PLA_SHAPE_NUMBERS];
} PlaShapeRow;

typedef enum {
  PLA_SIDE_LEFT = -1, /* mirrored: its description holds at (-x, y, z) */
  PLA_SIDE_MID = 0,   /* both sides of the midplane: its description holds at (|x|, y, z) */
  PLA_SIDE_RIGHT = 1,
  PLA_SIDE_NONE = 2, /* as written; no symmetry */
} PlaSide;

/* A point of a path. */
typedef struct {
  double pos[3];
  double normal[3];    /* unit; across the band's thickness */
  double width, thick; /* half axes of the cross-section, mm; TUBE uses width as radius */
  double depth;        /* SHEET: mm below the reference surface */
} PlaPathPoint;

typedef struct PlaShapeScene PlaShapeScene;

PlaStatus pla_scene_new(PlaShapeScene **out, PlaError *err);
void pla_scene_free(PlaShapeScene *scene); /* NULL is fine */

/* While a scene is built a failed allocation is remembered; pla_scene_finish() tells of it.
 * @label 0 makes a guide: a field that other parts refer to and that fills no voxel.  Returns the
 * part's number; later shapes go to it. */
int pla_scene_add_part(PlaShapeScene *scene, const char *name, int label, PlaSide side,
                       const uint8_t rgba[4]);
/* mm by which |x| is rounded at the midplane of a PLA_SIDE_MID part, so that shapes meeting there
 * leave no crease; and how far below its surface the part's distance is used by others. */
void pla_scene_set_fold(PlaShapeScene *scene, double fold_mm);
void pla_scene_set_reach(PlaShapeScene *scene, double reach_mm);
void pla_scene_add_rows(PlaShapeScene *scene, const PlaShapeRow *rows, int n_rows);
void pla_scene_add_shape(PlaShapeScene *scene, PlaShapeOp op, PlaShapeKind kind, double blend,
                         const double numbers[PLA_SHAPE_NUMBERS]);
void pla_scene_add_ref(PlaShapeScene *scene, PlaShapeOp op, double blend, int part,
                       double offset_mm);
/* @reference: the part a SHEET measures depth from, else -1. */
void pla_scene_add_path(PlaShapeScene *scene, PlaShapeOp op, PlaShapeKind kind, double blend,
                        const PlaPathPoint *path, int n_points, int reference);
PlaStatus pla_scene_finish(PlaShapeScene *scene, PlaError *err);

int pla_scene_n_parts(const PlaShapeScene *scene);
const char *pla_scene_part_name(const PlaShapeScene *scene, int part);
int pla_scene_part_label(const PlaShapeScene *scene, int part);
PlaSide pla_scene_part_side(const PlaShapeScene *scene, int part);
int pla_scene_find_label(const PlaShapeScene *scene, int label);       /* part, or -1 */
int pla_scene_find_name(const PlaShapeScene *scene, const char *name); /* part, or -1 */
void pla_scene_part_bounds(const PlaShapeScene *scene, int part, double lo[3],
                           double hi[3]); /* mm */

/* The part's own distance, parts that lie over it notwithstanding (mm, negative inside).  Works
 * while the scene is built. */
double pla_scene_distance(const PlaShapeScene *scene, int part, const double p[3]);
void pla_scene_gradient(const PlaShapeScene *scene, int part, const double p[3],
                        double gradient[3]);
/* Distance of what is left of the part once the parts above it have taken theirs: negative
 * exactly where pla_scene_labels() writes the part's label. */
double pla_scene_region_distance(const PlaShapeScene *scene, int part, const double p[3]);
/* Moves @p along the gradient to where the part's distance is @level; false when it does not get
 * within 0.05 mm. */
bool pla_scene_snap(const PlaShapeScene *scene, int part, double level, double p[3]);

/* Samples the labels at voxel centres of a grid that covers lo..hi mm and is symmetric about the
 * middle of the box in x.  Same bytes for any number of threads. */
PlaStatus pla_scene_labels(const PlaShapeScene *scene, const double lo[3], const double hi[3],
                           double spacing_mm, PlaProgress *progress, PlaLabelMap **out,
                           PlaError *err);

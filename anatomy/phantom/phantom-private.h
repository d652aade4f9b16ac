/* What the phantom builders share. */
#pragma once

#include "anatomy/phantom/phantom.h"

struct PlaPhantomModel {
  PlaShapeScene *scene;
  double lo_mm[3], hi_mm[3]; /* box that the label volume covers */
  PlaPhantom notes;          /* landmarks, muscles and joints; no labels or mesh */
  bool short_of_memory;
};

#define PLA_ROWS(table) table, (int)(sizeof(table) / sizeof((table)[0]))

typedef void (*PlaPhantomBuild)(PlaPhantomModel *model);
typedef PlaStatus (*PlaPhantomMesh)(double spacing_mm, PlaMesh **out, PlaError *err);
void pla_phantom_build_head(PlaPhantomModel *model);
void pla_phantom_build_tongue(PlaPhantomModel *model);
void pla_phantom_build_arm(PlaPhantomModel *model);
void pla_phantom_build_slab(PlaPhantomModel *model);
void pla_phantom_build_sphere(PlaPhantomModel *model);
void pla_phantom_build_torus(PlaPhantomModel *model);
void pla_phantom_build_box(PlaPhantomModel *model);
void pla_phantom_build_bar(PlaPhantomModel *model);
void pla_phantom_build_cylinders(PlaPhantomModel *model);
PlaStatus pla_phantom_mesh_bar(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_box(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_sphere(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_torus(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_cylinders(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_crossing_boxes(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_nested_boxes(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_moebius_pair(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_crossed_lips(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_c_ring(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_spiral(double spacing_mm, PlaMesh **out, PlaError *err);
PlaStatus pla_phantom_mesh_thin_sheet(double spacing_mm, PlaMesh **out, PlaError *err);

/* ---- head-bones.c: the bones and teeth that the head and the tongue phantom share ---- */

/* Guides for the outer surfaces, needed by everything else; returns the head's surface. */
int pla_head_add_surface(PlaPhantomModel *model);
int pla_head_add_skull(PlaPhantomModel *model, int label);
int pla_head_add_mandible(PlaPhantomModel *model, int label);
int pla_head_add_hyoid(PlaPhantomModel *model, int label);
/* Seven teeth a quadrant, labels @first .. @first + 27 in FDI order 11-17, 21-27, 31-37, 41-47. */
void pla_head_add_teeth(PlaPhantomModel *model, int first);
void pla_head_add_gingiva(PlaPhantomModel *model, int label); /* upper; lower: label + 1 */
int pla_head_add_tongue(PlaPhantomModel *model, int label);   /* the tongue's outer surface */

/* ---- muscle.c ---- */

#define PLA_MUSCLE_POINTS 8

/* A control point: rough position, mm below the reference surface, half width.  The first and the
 * last are moved onto the named bones, the others to their depth. */
typedef struct {
  double pos[3];
  double depth; /* ribbons ignore it */
  double width;
} PlaMusclePoint;

typedef struct {
  const char *name;
  const char *origin, *insertion; /* parts; NULL: in soft tissue */
  double thick;                   /* half thickness, mm */
  double stress;                  /* relative peak stress */
  double normal[3];               /* ribbon: rough direction of its thickness; 0: a sheet */
  int n;
  PlaMusclePoint point[PLA_MUSCLE_POINTS];
} PlaMuscleRow;

/* What the paths of muscles are fitted to. */
typedef struct {
  int surface;   /* part whose surface sheets follow, or -1 */
  int bones[4];  /* parts that paths go around; -1 ends the list */
  double margin; /* mm of the surface layer that muscles leave free */
} PlaMuscleBed;

/* One muscle of one or more bands (rows of the same name): its part, and its description. */
void pla_phantom_add_muscle_side(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows,
                                 PlaSide side, int label, const PlaMuscleBed *bed,
                                 const uint8_t rgba[4]);
/* On each side: labels @label (right) and @label + 1 (left). */
void pla_phantom_add_muscle(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows, int label,
                            const PlaMuscleBed *bed, const uint8_t rgba[4]);
/* The muscle's description alone, for parts made in another way. */
void pla_phantom_note_muscle(PlaPhantomModel *model, const PlaMuscleRow *rows, int n_rows,
                             PlaSide side, int label, const PlaMuscleBed *bed);

/* ---- phantom.c ---- */
void pla_phantom_note_landmark(PlaPhantomModel *model, const char *name, const double pos_mm[3]);
void pla_phantom_note_joint(PlaPhantomModel *model, const PlaPhantomJoint *joint);

/* How much of tetrahedra a shape fills.
 *
 * The shape is given by its signed distance, which must change by no more than the way gone (as
 * true distances and those of the phantoms do); the volume is then known to second order of the
 * smallest pieces, however thin the shape is. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/mesh/tri-tree.h"
#include "anatomy/mesh/winding.h"

/* A solid as a signed distance in RAS mm, negative inside, and the box that holds it. */
typedef struct {
  PlaDistanceFunc distance; /* any thread */
  const void *data;
  double lo_mm[3], hi_mm[3];
  bool quick; /* costs no more than a look at samples */
} PlaMuscleShape;

PlaMuscleShape pla_muscle_shape_levelset(const PlaLevelSet *ls); /* borrowed */

/* A surface as a shape: inside is where the winding number exceeds one half, so small holes and
 * cracks do no harm.  Both parts of the same triangles, borrowed. */
typedef struct {
  const PlaTriTree *tree;
  const PlaWinding *winding;
} PlaMuscleSurface;
PlaMuscleShape pla_muscle_shape_surface(const PlaMuscleSurface *surface, const PlaTriMesh *mesh);

typedef struct {
  double volume_mm3;
  double centre_mm[3]; /* of the common part; the tet's own where there is none */
} PlaOverlap;

/* @x_mm: the four corners.  Pieces are halved until their edges are shorter than @leaf_mm. */
PlaOverlap pla_tet_overlap(const double x_mm[4][3], const PlaMuscleShape *shape, double leaf_mm);

/* One shape against a whole mesh (in metres): the tets it meets, ascending, the share of each that
 * it fills (0..1], and the middle of the common part (mm).  Caller frees the arrays. */
typedef struct {
  int n;
  int *tet;
  double *share;
  double *centre_mm; /* n x 3 */
  double volume_mm3; /* of the shape within the mesh */
} PlaMeshOverlap;
PlaStatus pla_mesh_overlap(const PlaTetMesh *mesh, const PlaMuscleShape *shape, double leaf_mm,
                           PlaProgress *progress, PlaMeshOverlap *out, PlaError *err);
void pla_mesh_overlap_clear(PlaMeshOverlap *self);

/* ---- one shape on its own (lattice.c) ---- */

/* The side of about @n_cells cubes that fill the shape; 0 when it fills nothing. */
double pla_shape_cell_mm(const PlaMuscleShape *shape, int n_cells);
/* The shape's distance near its surface as samples @spacing_mm apart; farther away a smaller
 * distance of the right sign. */
PlaStatus pla_shape_sample(const PlaMuscleShape *shape, double spacing_mm, PlaLevelSet **out,
                           PlaError *err);

/* Cubes cut into six tets each, those that the shape meets; thin shapes get small cubes. */
typedef struct {
  double cell_mm;
  PlaMesh *mesh;     /* owned; m */
  double *share;     /* of each tet that is in the shape, (0..1] (n_tets) */
  double volume_mm3; /* of the shape */
} PlaShapeLattice;

/* PLA_ERR_EMPTY for a shape that fills nothing. */
PlaStatus pla_shape_lattice_init(PlaShapeLattice *self, const PlaMuscleShape *shape, double cell_mm,
                                 PlaProgress *progress, PlaError *err);
void pla_shape_lattice_clear(PlaShapeLattice *self);

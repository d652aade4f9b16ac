/* Conforming tetrahedra of one or several tissues.
 *
 * A body-centred cubic lattice, fine at every interface and coarser inside, is cut where tissues
 * change: lattice vertices close to an interface move onto it, the other edges are divided there,
 * and every tet that is left mixed falls into pieces of one tissue each.  Neighbouring tissues
 * share their faces. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

/* Cell field, int32: the id of the tissue. */
#define PLA_MESH_REGION "region"

typedef struct {
  double cell_mm;   /* side of the lattice's cubes at interfaces */
  int levels;       /* doublings of the cell away from interfaces; 0: uniform */
  double smooth_mm; /* detail removed from labels first; negative: 0.35 cells */
  double round_mm; /* parts and gaps that a ball of this radius does not fit into are removed from a
                      single tissue; 0: none */
} PlaTetOptions;
PlaTetOptions pla_tet_options_default(void); /* 4 mm, 3, -1, 0 */

typedef struct {
  double min_dihedral_deg, max_dihedral_deg;
  int inverted;
  int boundary_tris;          /* outer faces */
  double vertex_mm, facet_mm; /* largest distance of outer vertices, outer face centres from the
                                 body's surface, the latter away from the sharp rims of caps */
  double facet_p99_mm;        /* what 99 in 100 outer face centres do not exceed */
  double room_mm3; /* by which a single tissue was thickened to be found by the lattice; its
                      vertices went back to the level set from there */
  int stray_tris; /* outer faces further than a quarter of a cell from the level set all the same */
} PlaTetReport;

/* @group: level sets, closed half a voxel outside their grids, that compete for every point with
 * each other and with @rest (as in PlaPartition; NULL: where none of them is negative); @ids: their
 * regions.  PLA_ERR_EMPTY when the lattice finds nothing
 * inside; PLA_ERR_MEMORY when it would be too fine.  @report may be NULL.  Same bits for any number
 * of threads. */
PlaStatus pla_tets_from_levelsets(const PlaLevelSet *const *group, const int *ids, int n_groups,
                                  const PlaLevelSet *rest, const PlaTetOptions *opts,
                                  PlaProgress *progress, PlaMesh **out, PlaTetReport *report,
                                  PlaError *err);

/* The same from labels: tissue g is the union of ids[first[g]] .. ids[first[g + 1] - 1] and has the
 * region ids[first[g]]; everything else is outside. */
PlaStatus pla_tets_from_labels(const PlaLabelMap *map, const int *ids, const int *first,
                               int n_groups, const PlaTetOptions *opts, PlaProgress *progress,
                               PlaMesh **out, PlaTetReport *report, PlaError *err);

/* The same inside a closed surface, through its level set; the region is 1, and smooth_mm is motion
 * by mean curvature (negative: none).  Sharp edges of a surface that is not smoothed become edges
 * of outer faces, and distances are those from the surface.  PLA_ERR_GEOMETRY when the surface is
 * open. */
PlaStatus pla_tets_from_surface(const PlaMesh *surface, const PlaTetOptions *opts,
                                PlaProgress *progress, PlaMesh **out, PlaTetReport *report,
                                PlaError *err);

/* Closed triangle surfaces of labels and level sets, and what can be said about a surface. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

#include <stdint.h>

/* Cell field, uint8: 1 on the flat triangles that close a surface where the volume ends. */
#define PLA_SURFACE_CAP "cap"

/* The zero surface: closed (by caps half a voxel outside the grid where need be), 2-manifold,
 * normals outwards, with the cell field PLA_SURFACE_CAP.  PLA_ERR_EMPTY without one. */
PlaStatus pla_surface_from_levelset(const PlaLevelSet *ls, PlaMesh **out, PlaError *err);

/* The level set of what a closed surface encloses, on a straight grid of @spacing_mm around it:
 * exact distances up to @band_mm.  Inside is where the winding number is not zero, so overlapping
 * pieces and surfaces inside out will do.  PLA_ERR_MEMORY when the grid would be too fine. */
PlaStatus pla_levelset_from_surface(const PlaTriMesh *mesh, double spacing_mm, double band_mm,
                                    PlaProgress *progress, PlaLevelSet **out, PlaError *err);

/* Collapses edges in the order of their quadric error until @n_tris triangles are left or no edge
 * can go.  A closed 2-manifold stays one, without new self-intersections; open edges stay where
 * they are; cell fields are kept.  @hausdorff_mm (may be NULL): largest distance found between the
 * two surfaces, measured both ways at vertices and triangle centres. */
PlaStatus pla_surface_decimate(const PlaMesh *mesh, int n_tris, PlaProgress *progress,
                               PlaMesh **out, double *hausdorff_mm, PlaError *err);

/* Largest distance, mm, from vertices and triangle centres of either surface to the other. */
PlaStatus pla_surface_hausdorff(const PlaTriMesh *a, const PlaTriMesh *b, double *mm,
                                PlaError *err);

/* The voxel faces between the union of @ids and everything else, two triangles each, outwards. */
PlaStatus pla_surface_voxel_faces(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                                  PlaError *err);

typedef struct {
  double smooth_mm; /* detail to remove; 0: voxel stairs alone */
  int n_tris;       /* decimate to so many; 0: keep all */
  bool measure;     /* also measure the distance to the voxel faces */
} PlaSurfaceOptions;
PlaSurfaceOptions pla_surface_options_default(void);

typedef struct {
  bool closed;
  int components;
  int64_t self_intersections; /* pairs of triangles, exact */
  int cap_tris;
  double volume_mm3, label_volume_mm3;
  double decimation_mm;    /* Hausdorff distance to the surface before decimation */
  double interface_mm;     /* Hausdorff distance to the voxel faces; NaN unless measured */
  double interface_voxels; /* the same in voxels, along each axis by its own spacing */
} PlaSurfaceReport;

/* Hausdorff distance between @mesh and the faces between voxels with and without @ids, in mm and in
 * voxels: there each axis counts by its own spacing, so that an oblique plane through the voxels is
 * half a diagonal, 0.87, from its stairs on any grid. */
PlaStatus pla_surface_interface(const PlaLabelMap *map, const int *ids, int n_ids,
                                const PlaMesh *mesh, double *mm, double *voxel_widths,
                                PlaError *err);

/* Fills in what a surface by itself tells: closedness, pieces, self-intersections, caps, volume (of
 * an open one 0). */
PlaStatus pla_surface_check(const PlaMesh *mesh, PlaProgress *progress, PlaSurfaceReport *report,
                            PlaError *err);

/* Level set, surface, decimation, checks.  @report may be NULL. */
PlaStatus pla_surface_from_labels(const PlaLabelMap *map, const int *ids, int n_ids,
                                  const PlaSurfaceOptions *opts, PlaProgress *progress,
                                  PlaMesh **out, PlaSurfaceReport *report, PlaError *err);

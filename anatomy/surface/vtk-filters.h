/* Surface filters from VTK: isosurfaces, smoothing, decimation, normals.
 *
 * The one place where `anatomy` uses VTK.  The filters live in the module platysma-vtk, loaded at
 * the first call: programs that never make a surface need no VTK.  Every function fails with
 * PLA_ERR_UNSUPPORTED and a sentence when the module is missing.  Thread-safe. */
#pragma once

#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/volume.h"

/* The surface value = @iso of a scalar grid by flying edges, oriented so that its normals point to
 * smaller values.  @values has dims[0] x dims[1] x dims[2] entries, i fastest; @affine_mm takes
 * indices to RAS mm.  With @close, everything outside the grid counts as below @iso, so that the
 * surface is closed where it meets the border (cap half a voxel outside the last samples).
 * PLA_ERR_EMPTY when nothing reaches @iso. */
PlaStatus pla_vtk_isosurface(const float *values, const int dims[3], const double affine_mm[12],
                             double iso, bool close, PlaMesh **out, PlaError *err);

/* The border of the voxels that bear one of @ids, closed at the edge of the grid: voxel faces
 * rounded by the flying-edges interpolation of a mask, to be smoothed. */
PlaStatus pla_vtk_label_surface(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                                PlaError *err);

/* Windowed-sinc smoothing: low-pass, without shrinking.  @pass_band in 0..2 (0.1 smooths voxel
 * stairs away; smaller is smoother), @iterations about 20.  Moves vertices of @mesh, whose fields
 * stay. */
PlaStatus pla_vtk_smooth(PlaMesh *mesh, int iterations, double pass_band, PlaError *err);

/* Quadric edge collapse to about @n_tris triangles; a mesh that is small enough is copied.
 * Fields are dropped. */
PlaStatus pla_vtk_decimate(const PlaMesh *mesh, int n_tris, PlaMesh **out, PlaError *err);

/* Area-free point normals (unit length, outwards for outward triangles), n_verts x 3. */
PlaStatus pla_vtk_normals(const PlaMesh *mesh, float *normals, PlaError *err);

/* What the module hands out. */
typedef struct {
  int abi;
  PlaStatus (*isosurface)(const float *, const int[3], const double[12], double, bool, PlaMesh **,
                          PlaError *);
  PlaStatus (*label_surface)(const PlaLabelMap *, const int *, int, PlaMesh **, PlaError *);
  PlaStatus (*smooth)(PlaMesh *, int, double, PlaError *);
  PlaStatus (*decimate)(const PlaMesh *, int, PlaMesh **, PlaError *);
  PlaStatus (*normals)(const PlaMesh *, float *, PlaError *);
} PlaVtkFilters;
#define PLA_VTK_FILTERS_ABI 1

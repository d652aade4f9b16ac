/* The VTK filters as plain functions: each loads the module platysma-vtk at its first call,
 * checks its ABI number, and forwards to it. */
#include "anatomy/surface/vtk-filters.h"

#include "anatomy/base/module.h"

#include <assert.h>

static PlaStatus
load(const PlaVtkFilters **out, PlaError *err)
{
  const void *table = NULL;
  PlaStatus st = pla_module_load("anatomy/surface", "platysma-vtk", "pla_vtk_module", &table, err);
  *out = table;
  if (st == PLA_OK && (*out)->abi != PLA_VTK_FILTERS_ABI)
    st = pla_fail(err, PLA_ERR_UNSUPPORTED,
                  "The module platysma-vtk.so belongs to another version of Platysma; rebuild it");
  return st;
}

PlaStatus
pla_vtk_isosurface(const float *values, const int dims[3], const double affine_mm[12], double iso,
                   bool close, PlaMesh **out, PlaError *err)
{
  *out = NULL;
  const PlaVtkFilters *vtk = NULL;
  PlaStatus st = load(&vtk, err);
  return st == PLA_OK ? vtk->isosurface(values, dims, affine_mm, iso, close, out, err) : st;
}

PlaStatus
pla_vtk_label_surface(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                      PlaError *err)
{
  *out = NULL;
  const PlaVtkFilters *vtk = NULL;
  PlaStatus st = load(&vtk, err);
  return st == PLA_OK ? vtk->label_surface(map, ids, n_ids, out, err) : st;
}

PlaStatus
pla_vtk_smooth(PlaMesh *mesh, int iterations, double pass_band, PlaError *err)
{
  const PlaVtkFilters *vtk = NULL;
  PlaStatus st = load(&vtk, err);
  return st == PLA_OK ? vtk->smooth(mesh, iterations, pass_band, err) : st;
}

PlaStatus
pla_vtk_decimate(const PlaMesh *mesh, int n_tris, PlaMesh **out, PlaError *err)
{
  *out = NULL;
  const PlaVtkFilters *vtk = NULL;
  PlaStatus st = load(&vtk, err);
  return st == PLA_OK ? vtk->decimate(mesh, n_tris, out, err) : st;
}

PlaStatus
pla_vtk_normals(const PlaMesh *mesh, float *normals, PlaError *err)
{
  const PlaVtkFilters *vtk = NULL;
  PlaStatus st = load(&vtk, err);
  return st == PLA_OK ? vtk->normals(mesh, normals, err) : st;
}

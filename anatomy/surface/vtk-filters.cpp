/* The module platysma-vtk: surface filters over VTK.  No VTK type or exception leaves this file.
 *
 * Grids are contoured in index space and mapped by their affine afterwards, so that sheared and
 * oblique volumes need no resampling. */
extern "C" {
#include "anatomy/surface/vtk-filters.h"
}

#include "anatomy/base/guarded.hpp"

#include <vtkCellArray.h>
#include <vtkFloatArray.h>
#include <vtkFlyingEdges3D.h>
#include <vtkImageData.h>
#include <vtkNew.h>
#include <vtkObject.h>
#include <vtkPointData.h>
#include <vtkPolyData.h>
#include <vtkPolyDataNormals.h>
#include <vtkQuadricDecimation.h>
#include <vtkUnsignedCharArray.h>
#include <vtkWindowedSincPolyDataFilter.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace
{

double
determinant(const double a[12])
{
  return a[0] * (a[5] * a[10] - a[6] * a[9]) - a[1] * (a[4] * a[10] - a[6] * a[8]) +
         a[2] * (a[4] * a[9] - a[5] * a[8]);
}

/* Triangles of @data as a mesh; its points are indices when @affine_mm is given, else metres. */
PlaStatus
mesh_from_vtk(vtkPolyData *data, const double *affine_mm, const int *first, PlaMesh **out,
              PlaError *err)
{
  vtkPoints *points = data->GetPoints();
  vtkCellArray *polys = data->GetPolys();
  vtkIdType n_verts = points ? points->GetNumberOfPoints() : 0;
  vtkIdType n_tris = polys ? polys->GetNumberOfCells() : 0;
  if (n_verts > INT32_MAX / 3 || n_tris > INT32_MAX / 3)
    return pla_fail(err, PLA_ERR_MEMORY,
                    "The surface would have %lld triangles, more than Platysma can hold; use a "
                    "coarser volume",
                    (long long)n_tris);
  PlaMesh *mesh = nullptr;
  PlaStatus st = pla_mesh_new((int)n_verts, (int)n_tris, 0, 0, &mesh, err);
  if (st != PLA_OK)
    return st;

  for (vtkIdType v = 0; v < n_verts; v++) {
    double p[3];
    points->GetPoint(v, p);
    if (affine_mm) {
      for (int d = 0; d < 3; d++)
        p[d] += first[d];
      for (int d = 0; d < 3; d++)
        mesh->pos[3 * v + d] = (affine_mm[4 * d] * p[0] + affine_mm[4 * d + 1] * p[1] +
                                affine_mm[4 * d + 2] * p[2] + affine_mm[4 * d + 3]) /
                               1000.0;
    } else {
      std::copy(p, p + 3, mesh->pos + 3 * v);
    }
  }

  /* a mirroring affine turns triangles inside out */
  const bool flip = affine_mm && determinant(affine_mm) < 0.0;
  vtkIdType t = 0;
  polys->InitTraversal();
  vtkIdType n = 0;
  const vtkIdType *ids = nullptr;
  while (polys->GetNextCell(n, ids)) {
    mesh->tri[3 * t] = (int)ids[0];
    mesh->tri[3 * t + 1] = (int)ids[flip ? 2 : 1];
    mesh->tri[3 * t + 2] = (int)ids[flip ? 1 : 2];
    t++;
  }
  *out = mesh;
  return PLA_OK;
}

void
vtk_from_mesh(const PlaMesh *mesh, vtkPolyData *data)
{
  vtkNew<vtkPoints> points;
  points->SetDataTypeToDouble();
  points->SetNumberOfPoints(mesh->n_verts);
  for (int v = 0; v < mesh->n_verts; v++)
    points->SetPoint(v, mesh->pos + 3 * (size_t)v);
  vtkNew<vtkCellArray> polys;
  polys->AllocateExact(mesh->n_tris, 3 * (vtkIdType)mesh->n_tris);
  for (int t = 0; t < mesh->n_tris; t++) {
    vtkIdType ids[3] = { mesh->tri[3 * t], mesh->tri[3 * t + 1], mesh->tri[3 * t + 2] };
    polys->InsertNextCell(3, ids);
  }
  data->SetPoints(points);
  data->SetPolys(polys);
}

PlaStatus
contour(vtkImageData *grid, double iso, const double *affine_mm, const int *first, PlaMesh **out,
        PlaError *err)
{
  vtkNew<vtkFlyingEdges3D> edges;
  edges->SetInputData(grid);
  edges->SetValue(0, iso);
  edges->ComputeNormalsOff();
  edges->ComputeScalarsOff();
  edges->ComputeGradientsOff();
  edges->Update();
  if (edges->GetOutput()->GetNumberOfPolys() == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "There is no surface: nothing in the volume reaches %g",
                    iso);
  return mesh_from_vtk(edges->GetOutput(), affine_mm, first, out, err);
}

PlaStatus
isosurface(const float *values, const int dims[3], const double affine_mm[12], double iso,
           bool close, PlaMesh **out, PlaError *err)
{
  return pla_guarded("the surface", err, [&] {
    const int pad = close ? 1 : 0;
    const int first[3] = { -pad, -pad, -pad };
    int size[3];
    for (int d = 0; d < 3; d++)
      size[d] = dims[d] + 2 * pad;
    if (std::min({ size[0], size[1], size[2] }) < 2)
      return pla_fail(err, PLA_ERR_EMPTY, "There is no surface in a grid one sample thick");

    /* outside, mirror what is above the level, so that the cap is half a voxel out */
    vtkNew<vtkFloatArray> array;
    array->SetNumberOfValues((vtkIdType)size[0] * size[1] * size[2]);
    float *at = array->GetPointer(0);
    for (int k = -pad; k < dims[2] + pad; k++)
      for (int j = -pad; j < dims[1] + pad; j++)
        for (int i = -pad; i < dims[0] + pad; i++) {
          const int ci = std::clamp(i, 0, dims[0] - 1), cj = std::clamp(j, 0, dims[1] - 1),
                    ck = std::clamp(k, 0, dims[2] - 1);
          const float v = values[ci + dims[0] * (cj + (size_t)dims[1] * ck)];
          const bool outside = i != ci || j != cj || k != ck;
          *at++ = outside && v >= iso ? (float)(2.0 * iso - v) : v;
        }
    vtkNew<vtkImageData> grid;
    grid->SetDimensions(size);
    grid->GetPointData()->SetScalars(array);
    return contour(grid, iso, affine_mm, first, out, err);
  });
}

PlaStatus
label_surface(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out, PlaError *err)
{
  return pla_guarded("the surface", err, [&] {
    const PlaVolume *vol = map->volume;
    std::vector<unsigned char> wanted(65536, 0);
    for (int i = 0; i < n_ids; i++)
      if (ids[i] > 0 && ids[i] < 65536)
        wanted[ids[i]] = 1;

    /* the box around the wanted voxels */
    int lo[3] = { vol->dims[0], vol->dims[1], vol->dims[2] }, hi[3] = { -1, -1, -1 };
    size_t voxel = 0;
    for (int k = 0; k < vol->dims[2]; k++)
      for (int j = 0; j < vol->dims[1]; j++)
        for (int i = 0; i < vol->dims[0]; i++, voxel++)
          if (wanted[pla_label_map_get(map, voxel)]) {
            const int at[3] = { i, j, k };
            for (int d = 0; d < 3; d++) {
              lo[d] = std::min(lo[d], at[d]);
              hi[d] = std::max(hi[d], at[d]);
            }
          }
    if (hi[0] < 0)
      return pla_fail(err, PLA_ERR_EMPTY, "No voxel of the volume has the label %d",
                      n_ids > 0 ? ids[0] : 0);

    /* a mask with one layer of background around it */
    int size[3], first[3];
    for (int d = 0; d < 3; d++) {
      first[d] = lo[d] - 1;
      size[d] = hi[d] - lo[d] + 3;
    }
    vtkNew<vtkUnsignedCharArray> mask;
    mask->SetNumberOfValues((vtkIdType)size[0] * size[1] * size[2]);
    std::fill_n(mask->GetPointer(0), mask->GetNumberOfValues(), (unsigned char)0);
    for (int k = lo[2]; k <= hi[2]; k++)
      for (int j = lo[1]; j <= hi[1]; j++)
        for (int i = lo[0]; i <= hi[0]; i++) {
          const size_t from = i + vol->dims[0] * (j + (size_t)vol->dims[1] * k);
          if (wanted[pla_label_map_get(map, from)])
            mask->SetValue((i - first[0]) +
                               size[0] * ((j - first[1]) + (vtkIdType)size[1] * (k - first[2])),
                           2);
        }
    vtkNew<vtkImageData> grid;
    grid->SetDimensions(size);
    grid->GetPointData()->SetScalars(mask);
    return contour(grid, 1.0, vol->affine_mm, first, out, err);
  });
}

PlaStatus
smooth(PlaMesh *mesh, int iterations, double pass_band, PlaError *err)
{
  return pla_guarded("the surface", err, [&] {
    vtkNew<vtkPolyData> data;
    vtk_from_mesh(mesh, data);
    vtkNew<vtkWindowedSincPolyDataFilter> sinc;
    sinc->SetInputData(data);
    sinc->SetNumberOfIterations(iterations);
    sinc->SetPassBand(pass_band);
    sinc->NormalizeCoordinatesOn();
    sinc->BoundarySmoothingOff();
    sinc->FeatureEdgeSmoothingOff();
    sinc->NonManifoldSmoothingOn();
    sinc->Update();
    vtkPoints *points = sinc->GetOutput()->GetPoints();
    if (!points || points->GetNumberOfPoints() != mesh->n_verts)
      return pla_fail(err, PLA_ERR_GEOMETRY, "The surface could not be smoothed");
    for (int v = 0; v < mesh->n_verts; v++)
      points->GetPoint(v, mesh->pos + 3 * (size_t)v);
    return PLA_OK;
  });
}

PlaStatus
decimate(const PlaMesh *mesh, int n_tris, PlaMesh **out, PlaError *err)
{
  return pla_guarded("the surface", err, [&] {
    vtkNew<vtkPolyData> data;
    vtk_from_mesh(mesh, data);
    if (n_tris >= mesh->n_tris)
      return mesh_from_vtk(data, nullptr, nullptr, out, err);
    vtkNew<vtkQuadricDecimation> quadric;
    quadric->SetInputData(data);
    quadric->SetTargetReduction(1.0 - (double)std::max(n_tris, 4) / mesh->n_tris);
    quadric->VolumePreservationOn();
    quadric->Update();
    return mesh_from_vtk(quadric->GetOutput(), nullptr, nullptr, out, err);
  });
}

PlaStatus
normals(const PlaMesh *mesh, float *normal, PlaError *err)
{
  return pla_guarded("the surface", err, [&] {
    vtkNew<vtkPolyData> data;
    vtk_from_mesh(mesh, data);
    vtkNew<vtkPolyDataNormals> filter;
    filter->SetInputData(data);
    filter->SplittingOff();
    filter->ConsistencyOff();
    filter->AutoOrientNormalsOff();
    filter->Update();
    vtkDataArray *found = filter->GetOutput()->GetPointData()->GetNormals();
    if (!found || found->GetNumberOfTuples() != mesh->n_verts)
      return pla_fail(err, PLA_ERR_GEOMETRY, "The surface has no normals");
    for (vtkIdType v = 0; v < mesh->n_verts; v++) {
      double n[3];
      found->GetTuple(v, n);
      for (int d = 0; d < 3; d++)
        normal[3 * v + d] = (float)n[d];
    }
    return PLA_OK;
  });
}

const PlaVtkFilters filters = {
  PLA_VTK_FILTERS_ABI, isosurface, label_surface, smooth, decimate, normals
};

} // namespace

extern "C" __attribute__((visibility("default"))) const void *pla_vtk_module(void);

const void *
pla_vtk_module(void)
{
  /* failures come back as sentences, not as lines on the terminal */
  vtkObject::GlobalWarningDisplayOff();
  return &filters;
}

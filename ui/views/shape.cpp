/* Meshes made ready to be drawn: their outer faces, fewer faces for moving pictures, normals, and
 * boxes for picking.  Any thread. */
#include "ui/views/draft.h"
#include "ui/views/scene.hpp"

#include "anatomy/base/guarded.hpp"

#include <vtkCellArray.h>
#include <vtkFloatArray.h>
#include <vtkPointData.h>
#include <vtkPoints.h>

#include <algorithm>
#include <cmath>

namespace view
{

static const int tet_faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 2 } };
static const int hex_faces[6][4] = { { 0, 3, 2, 1 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                                     { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };

/* whether a cell is on the side that the clip plane leaves */
static bool
kept(vtkPlane *clip, const PlaSceneShape *item, const int *vert, int n)
{
  if (!clip)
    return true;
  double centre[3] = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < n; k++)
    for (int d = 0; d < 3; d++)
      centre[d] += item->pos[3 * (size_t)vert[k] + d] / n;
  return clip->EvaluateFunction(centre) <= 0.0;
}

/* Which cell lies behind each face of each solid cell. */
static void
find_neighbours(PlaSceneShape *shape)
{
  struct Keyed {
    std::array<int, 3> key; /* the smallest three corners */
    int face;               /* number of the face: four a tet, then six a hex */
    bool
    operator<(const Keyed &other) const
    {
      return key != other.key ? key < other.key : face < other.face;
    }
  };
  const size_t n_tets = shape->tet.size() / 4, n_hexes = shape->hex.size() / 8;
  std::vector<Keyed> all;
  all.reserve(4 * n_tets + 6 * n_hexes);
  auto add = [&](std::array<int, 4> vert) {
    std::sort(vert.begin(), vert.end());
    const int first = vert[0] < 0; /* triangles have -1 there now */
    all.push_back({ { vert[first], vert[first + 1], vert[first + 2] }, (int)all.size() });
  };
  for (size_t t = 0; t < n_tets; t++)
    for (const auto &f : tet_faces) {
      const int *v = &shape->tet[4 * t];
      add({ v[f[0]], v[f[1]], v[f[2]], -1 });
    }
  for (size_t h = 0; h < n_hexes; h++)
    for (const auto &f : hex_faces) {
      const int *v = &shape->hex[8 * h];
      add({ v[f[0]], v[f[1]], v[f[2]], v[f[3]] });
    }
  std::sort(all.begin(), all.end());
  auto cell_of = [&](int face) {
    return (size_t)face < 4 * n_tets ? face / 4 : (int)(n_tets + (face - 4 * n_tets) / 6);
  };
  shape->across.assign(all.size(), -1);
  for (size_t i = 0; i < all.size();) {
    size_t end = i + 1;
    while (end < all.size() && all[end].key == all[i].key)
      end++;
    for (size_t k = i; k < end && end > i + 1; k++)
      shape->across[all[k].face] = cell_of(all[k + 1 < end ? k + 1 : i].face);
    i = end;
  }
}

/* All triangles, and the outer faces of the solid cells that the plane leaves. */
void
find_faces(vtkPlane *clip, PlaSceneShape *item)
{
  const size_t n_tets = item->tet.size() / 4, n_hexes = item->hex.size() / 8;
  item->face.clear();
  for (int t = 0; t < item->n_tris; t++)
    if (!item->carries || kept(clip, item, &item->tri[3 * t], 3))
      item->face.push_back(
          { { item->tri[3 * t], item->tri[3 * t + 1], item->tri[3 * t + 2], -1 }, t });
  std::vector<char> keep(n_tets + n_hexes);
  for (size_t c = 0; c < keep.size(); c++)
    keep[c] = c < n_tets ? kept(clip, item, &item->tet[4 * c], 4)
                         : kept(clip, item, &item->hex[8 * (c - n_tets)], 8);
  /* outer faces of cells that carry a surface lie outside of what is shown */
  auto is_outer = [&](size_t face) {
    return item->across[face] < 0 ? !item->carries : !keep[item->across[face]];
  };
  for (size_t t = 0; t < n_tets; t++)
    for (size_t f = 0; keep[t] && f < 4; f++)
      if (is_outer(4 * t + f)) {
        const int *v = &item->tet[4 * t], *c = tet_faces[f];
        item->face.push_back({ { v[c[0]], v[c[1]], v[c[2]], -1 }, item->n_tris + (int)t });
      }
  for (size_t h = 0; h < n_hexes; h++)
    for (size_t f = 0; keep[n_tets + h] && f < 6; f++)
      if (is_outer(4 * n_tets + 6 * h + f)) {
        const int *v = &item->hex[8 * h], *c = hex_faces[f];
        item->face.push_back(
            { { v[c[0]], v[c[1]], v[c[2]], v[c[3]] }, item->n_tris + item->n_tets + (int)h });
      }
}

/* Fewer faces over the same vertices, for moving pictures; none where there are few already. */
void
find_coarse_faces(PlaSceneShape *shape)
{
  const size_t wanted = 28000, worthwhile = 40000;
  shape->coarse_face.clear();
  if (shape->face.size() < worthwhile)
    return;
  std::vector<int> tri, cell;
  tri.reserve(3 * shape->face.size());
  for (const Face &face : shape->face)
    for (int half = 0; half < (face.vert[3] < 0 ? 1 : 2); half++) {
      tri.insert(tri.end(), { face.vert[0], face.vert[1 + half], face.vert[2 + half] });
      cell.push_back(face.cell);
    }
  std::vector<PlaDraftFace> draft(cell.size());
  draft.resize(pla_draft_make(shape->n_verts, shape->pos.data(), cell.size(), tri.data(), wanted,
                              draft.data()));
  for (const PlaDraftFace &face : draft)
    shape->coarse_face.push_back(
        { { face.vert[0], face.vert[1], face.vert[2], -1 }, cell[face.face] });
}

static void
find_boxes(PlaSceneShape *shape)
{
  const size_t n = (shape->face.size() + FACES_PER_BOX - 1) / FACES_PER_BOX;
  shape->box.assign(n, { { HUGE_VAL, HUGE_VAL, HUGE_VAL }, { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL } });
  for (size_t f = 0; f < shape->face.size(); f++) {
    Box &box = shape->box[f / FACES_PER_BOX];
    for (int v : shape->face[f].vert)
      for (int d = 0; v >= 0 && d < 3; d++) {
        box.lo[d] = std::min(box.lo[d], shape->pos[3 * (size_t)v + d]);
        box.hi[d] = std::max(box.hi[d], shape->pos[3 * (size_t)v + d]);
      }
  }
}

/* after points or faces have changed */
void
upload_points(PlaSceneShape *item, bool with_normals)
{
  find_boxes(item);
  vtkNew<vtkPoints> points;
  points->SetDataTypeToFloat();
  points->SetNumberOfPoints(item->n_verts);
  for (int v = 0; v < item->n_verts; v++)
    points->SetPoint(v, &item->pos[3 * (size_t)v]);
  item->data->SetPoints(points);
  item->coarse->SetPoints(points);
  if (!with_normals)
    return;

  /* vertex normals weighted by area */
  std::vector<double> sum(3 * (size_t)item->n_verts, 0.0);
  for (const Face &face : item->face) {
    const int corners = face.vert[3] < 0 ? 3 : 4;
    const double *a = &item->pos[3 * (size_t)face.vert[0]],
                 *b = &item->pos[3 * (size_t)face.vert[1]],
                 *c = &item->pos[3 * (size_t)face.vert[2]];
    const double e[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] },
                 f[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] };
    const double n[3] = { e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                          e[0] * f[1] - e[1] * f[0] };
    for (int k = 0; k < corners; k++)
      for (int d = 0; d < 3; d++)
        sum[3 * (size_t)face.vert[k] + d] += n[d];
  }
  vtkNew<vtkFloatArray> normals;
  normals->SetNumberOfComponents(3);
  normals->SetNumberOfTuples(item->n_verts);
  for (int v = 0; v < item->n_verts; v++) {
    const double *n = &sum[3 * (size_t)v];
    const double len = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    const double inv = len > 0.0 ? 1.0 / len : 0.0;
    normals->SetTuple3(v, n[0] * inv, n[1] * inv, n[2] * inv);
  }
  item->data->GetPointData()->SetNormals(normals);
  item->coarse->GetPointData()->SetNormals(normals);
}

static void
set_polys(vtkPolyData *data, const std::vector<Face> &faces)
{
  vtkNew<vtkCellArray> polys;
  polys->AllocateEstimate((vtkIdType)faces.size(), 4);
  for (const Face &face : faces) {
    const vtkIdType ids[4] = { face.vert[0], face.vert[1], face.vert[2], face.vert[3] };
    polys->InsertNextCell(face.vert[3] < 0 ? 3 : 4, ids);
  }
  data->SetPolys(polys);
}

void
upload_faces(PlaSceneShape *item)
{
  set_polys(item->data, item->face);
  set_polys(item->coarse, item->coarse_face);
}

/* points without faces yet */
PlaSceneShape
shape_of(int n_verts, const double *pos, double to_mm)
{
  PlaSceneShape shape;
  shape.n_verts = n_verts;
  shape.pos.resize(3 * (size_t)n_verts);
  for (size_t i = 0; i < shape.pos.size(); i++)
    shape.pos[i] = pos[i] * to_mm;
  return shape;
}

PlaStatus
shape_new(const PlaSceneMesh *mesh, PlaSceneShape **out, PlaError *err)
{
  *out = nullptr;
  return pla_guarded("the picture", err, [&] {
    auto shape = std::make_unique<PlaSceneShape>(shape_of(mesh->n_verts, mesh->pos, mesh->to_mm));
    shape->n_tris = mesh->n_tris;
    shape->n_tets = mesh->n_tets;
    shape->carries = mesh->carries;
    if (mesh->n_tris)
      shape->tri.assign(mesh->tri, mesh->tri + 3 * (size_t)mesh->n_tris);
    if (mesh->n_tets)
      shape->tet.assign(mesh->tet, mesh->tet + 4 * (size_t)mesh->n_tets);
    if (mesh->n_hexes)
      shape->hex.assign(mesh->hex, mesh->hex + 8 * (size_t)mesh->n_hexes);
    if (mesh->open)
      shape->open.assign(mesh->open, mesh->open + mesh->n_verts);
    find_neighbours(shape.get());
    find_faces(nullptr, shape.get());
    find_coarse_faces(shape.get());
    upload_points(shape.get(), true);
    upload_faces(shape.get());
    *out = shape.release();
    return PLA_OK;
  });
}

void
shape_free(PlaSceneShape *shape)
{
  delete shape;
}

} // namespace view

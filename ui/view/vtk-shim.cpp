/* The module platysma-view: scenes drawn by VTK into whatever framebuffer is bound.
 *
 * VTK renders into its own framebuffer of a vtkGenericOpenGLRenderWindow and blits to ours, so the
 * same code serves the window's GtkGLArea and pictures without a display.  Shade in folds comes
 * with the mesh (ambient occlusion per vertex) and costs nothing per frame.  Picking casts a ray
 * over the triangles on the CPU: exact, and independent of what was last drawn. */
extern "C" {
#include "ui/view/vtk-shim.h"
#include "app/render.h"
#include "ui/view/offscreen.h"
}

#include "anatomy/base/guarded.hpp"

#include <vtkActor.h>
#include <vtkArrowSource.h>
#include <vtkAutoInit.h>
#include <vtkCamera.h>
#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkGenericOpenGLRenderWindow.h>
#include <vtkGlyph3DMapper.h>
#include <vtkImageData.h>
#include <vtkLightKit.h>
#include <vtkLookupTable.h>
#include <vtkNew.h>
#include <vtkObject.h>
#include <vtkOpenGLPolyDataMapper.h>
#include <vtkPlane.h>
#include <vtkPointData.h>
#include <vtkPolyData.h>
#include <vtkPolyDataMapper.h>
#include <vtkPropCollection.h>
#include <vtkProperty.h>
#include <vtkRenderer.h>
#include <vtkRendererCollection.h>
#include <vtkShaderProperty.h>
#include <vtkSmartPointer.h>
#include <vtkSphereSource.h>
#include <vtkTexture.h>
#include <vtkTubeFilter.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

VTK_MODULE_INIT(vtkRenderingOpenGL2)

/* VTK asks GLEW to start, and GLEW reports failure where the context is not GLX, although all
 * functions are loaded by then.  This definition stands before GLEW's for the libraries that the
 * module brings along, and takes that one answer for the success it is. */
extern "C" __attribute__((visibility("default"))) unsigned
glewInit(void)
{
  const unsigned no_glx_display = 4;
  unsigned (*real)(void) = nullptr;
  *(void **)&real = dlsym(RTLD_NEXT, "glewInit");
  if (!real)
    return 1;
  const unsigned status = real();
  return status == no_glx_display ? 0 : status;
}

namespace
{

enum class Kind { mesh, lines, markers, image };

/* One face of an item: its corners and the cell that it belongs to. */
struct Face {
  std::array<int, 4> vert; /* vert[3] = -1: a triangle */
  int cell;
};

/* Neighbours in the list of faces are neighbours in space: makers of surfaces go row by row. */
struct Box {
  double lo[3], hi[3];
};
const size_t FACES_PER_BOX = 64;

} // namespace

/* What of an item does not depend on a scene: made on any thread. */
struct PlaSceneShape {
  vtkNew<vtkPolyData> data;
  vtkNew<vtkPolyData> coarse; /* the same points under fewer faces, for moving pictures */
  int n_verts = 0;
  std::vector<double> pos; /* mm */
  std::vector<float> open; /* empty: no shade */
  int n_tris = 0, n_tets = 0;
  std::vector<int> tri, tet, hex;
  std::vector<int> across; /* the solid cell behind each face of tets, then hexes; -1: none */
  std::vector<Face> face;  /* drawn: all triangles, outer faces of what the clip plane leaves */
  std::vector<Face> coarse_face;
  std::vector<Box> box; /* around each FACES_PER_BOX faces in their order, for picking */
};

namespace
{

struct Item : PlaSceneShape {
  explicit Item(PlaSceneShape &&shape) : PlaSceneShape(std::move(shape)) {}
  Kind kind = Kind::mesh;
  PlaSceneStyle style = pla_scene_style_default();
  vtkNew<vtkActor> actor;
  vtkSmartPointer<vtkMapper> fine_mapper, coarse_mapper; /* of meshes; the latter may be NULL */
  vtkSmartPointer<vtkTubeFilter> tube;
  int shaded = -1; /* the PlaQuality that its shader is for; -1: none yet */

  bool coloured = false, on_cells = false;
  std::vector<double> value;
  vtkNew<vtkLookupTable> table;
};

/* A target that is kept for picture after picture of one size. */
struct Canvas {
  PlaTarget target = {};
  int width = 0, height = 0;
};

} // namespace

struct PlaScene {
  PlaOffscreen *offscreen = nullptr;
  vtkSmartPointer<vtkGenericOpenGLRenderWindow> window;
  vtkNew<vtkRenderer> renderer;
  vtkNew<vtkLightKit> lights;
  vtkNew<vtkPlane> clip;
  bool clipping = false;
  PlaCamera camera = {};
  double top[3] = { 0.15, 0.16, 0.18 }, bottom[3] = { 0.06, 0.065, 0.075 };
  Canvas canvas;     /* where a full picture grows, band by band */
  Canvas small;      /* where moving ones are drawn */
  int reduction = 2; /* how many times smaller those are */
  bool drawn = false;
  std::map<int, std::unique_ptr<Item>> items;
};

namespace
{

const int tet_faces[4][3] = { { 0, 2, 1 }, { 0, 1, 3 }, { 1, 2, 3 }, { 0, 3, 2 } };
const int hex_faces[6][4] = { { 0, 3, 2, 1 }, { 4, 5, 6, 7 }, { 0, 1, 5, 4 },
                              { 1, 2, 6, 5 }, { 2, 3, 7, 6 }, { 3, 0, 4, 7 } };

/* whether a cell is on the side that the clip plane leaves */
bool
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
void
find_neighbours(PlaSceneShape *shape)
{
  struct Keyed {
    std::array<int, 3> key; /* the smallest three corners */
    int face;               /* number of the face: four a tet, then six a hex */
    bool operator<(const Keyed &other) const
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
    item->face.push_back(
        { { item->tri[3 * t], item->tri[3 * t + 1], item->tri[3 * t + 2], -1 }, t });
  std::vector<char> keep(n_tets + n_hexes);
  for (size_t c = 0; c < keep.size(); c++)
    keep[c] = c < n_tets ? kept(clip, item, &item->tet[4 * c], 4)
                         : kept(clip, item, &item->hex[8 * (c - n_tets)], 8);
  auto is_outer = [&](size_t face) {
    return item->across[face] < 0 || !keep[item->across[face]];
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

/* All vertices of one cell of a grid become the first of them; faces that keep three corners, each
 * once (Rossignac and Borrel 1993). */
std::vector<Face>
cluster_faces(const PlaSceneShape *shape, const double lo[3], double cell_mm)
{
  std::unordered_map<int64_t, int> first;
  std::vector<int> as(shape->n_verts);
  for (int v = 0; v < shape->n_verts; v++) {
    int64_t key = 0;
    for (int d = 0; d < 3; d++)
      key = key * 1024 + (int64_t)((shape->pos[3 * (size_t)v + d] - lo[d]) / cell_mm);
    as[v] = first.try_emplace(key, v).first->second;
  }
  std::vector<Face> coarse;
  for (const Face &face : shape->face) {
    const int corners = face.vert[3] < 0 ? 3 : 4;
    for (int half = 0; half < corners - 2; half++) {
      std::array<int, 4> vert = { as[face.vert[0]], as[face.vert[1 + half]],
                                  as[face.vert[2 + half]], -1 };
      if (vert[0] == vert[1] || vert[1] == vert[2] || vert[2] == vert[0])
        continue;
      /* the smallest first, so that a face that comes again is found */
      std::rotate(vert.begin(), std::min_element(vert.begin(), vert.begin() + 3),
                  vert.begin() + 3);
      coarse.push_back({ vert, face.cell });
    }
  }
  std::sort(coarse.begin(), coarse.end(), [](const Face &a, const Face &b) {
    return a.vert != b.vert ? a.vert < b.vert : a.cell < b.cell;
  });
  coarse.erase(std::unique(coarse.begin(), coarse.end(),
                           [](const Face &a, const Face &b) { return a.vert == b.vert; }),
               coarse.end());
  return coarse;
}

/* Fewer faces over the same vertices, for moving pictures; none where there are few already. */
void
find_coarse_faces(PlaSceneShape *shape)
{
  const size_t wanted = 28000, worthwhile = 40000;
  shape->coarse_face.clear();
  if (shape->face.size() < worthwhile)
    return;
  double lo[3] = { HUGE_VAL, HUGE_VAL, HUGE_VAL }, longest = 0.0;
  for (int d = 0; d < 3; d++) {
    double hi = -HUGE_VAL;
    for (int v = 0; v < shape->n_verts; v++) {
      lo[d] = std::min(lo[d], shape->pos[3 * (size_t)v + d]);
      hi = std::max(hi, shape->pos[3 * (size_t)v + d]);
    }
    longest = std::max(longest, hi - lo[d]);
  }
  if (!(longest > 0.0))
    return;
  /* a surface in n cells a side has about n squared faces: one more try meets the number wanted */
  double cells = 72.0;
  for (int tries = 0; tries < 3; tries++) {
    shape->coarse_face = cluster_faces(shape, lo, longest / cells);
    const double excess = (double)shape->coarse_face.size() / wanted;
    if (excess < 1.3 || cells < 24.0)
      return;
    cells /= std::sqrt(excess);
  }
}

void
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

void
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

/* the colour of shade in folds, as a factor on the item's colour */
std::array<double, 3>
shade(PlaFinish finish)
{
  switch (finish) {
  case PLA_FINISH_SKIN:
    return { 0.50, 0.27, 0.22 };
  case PLA_FINISH_BONE:
    return { 0.36, 0.28, 0.20 };
  default:
    return { 0.33, 0.33, 0.36 };
  }
}

/* one picture of the item's colours: of its fine or of its coarse faces */
void
colour_faces(Item *item, vtkMapper *mapper, vtkPolyData *data, const std::vector<Face> &faces)
{
  vtkPointData *points = data->GetPointData();
  vtkCellData *cells = data->GetCellData();
  points->SetScalars(nullptr);
  cells->SetScalars(nullptr);
  mapper->ScalarVisibilityOff();
  if (item->kind != Kind::mesh)
    return;

  if (item->coloured) {
    vtkNew<vtkDoubleArray> scalars;
    if (item->on_cells) {
      scalars->SetNumberOfValues((vtkIdType)faces.size());
      for (size_t f = 0; f < faces.size(); f++)
        scalars->SetValue((vtkIdType)f, item->value[faces[f].cell]);
      cells->SetScalars(scalars);
      mapper->SetScalarModeToUseCellData();
    } else {
      scalars->SetNumberOfValues(item->n_verts);
      std::copy(item->value.begin(), item->value.end(), scalars->GetPointer(0));
      points->SetScalars(scalars);
      mapper->SetScalarModeToUsePointData();
    }
    mapper->SetLookupTable(item->table);
    mapper->UseLookupTableScalarRangeOn();
    mapper->SetColorModeToMapScalars();
    mapper->SetInterpolateScalarsBeforeMapping(!item->on_cells);
    mapper->ScalarVisibilityOn();
  } else if (!item->open.empty()) {
    const std::array<double, 3> dark = shade(item->style.finish);
    vtkNew<vtkUnsignedCharArray> rgb;
    rgb->SetNumberOfComponents(3);
    rgb->SetNumberOfTuples(item->n_verts);
    unsigned char *at = rgb->GetPointer(0);
    for (int v = 0; v < item->n_verts; v++) {
      /* brightens the middle: a flat cheek and a forehead should look the same */
      const double open = std::min(1.0, 1.15 * std::sqrt(std::max(0.0f, item->open[v])));
      for (int d = 0; d < 3; d++)
        *at++ = (unsigned char)std::lround(
            255.0 * std::clamp(item->style.rgb[d] * (dark[d] + (1.0 - dark[d]) * open), 0.0, 1.0));
    }
    points->SetScalars(rgb);
    mapper->SetScalarModeToUsePointData();
    mapper->SetColorModeToDirectScalars();
    mapper->SetInterpolateScalarsBeforeMapping(0);
    mapper->ScalarVisibilityOn();
  }
}

void
upload_colours(Item *item)
{
  colour_faces(item, item->fine_mapper ? item->fine_mapper.Get() : item->actor->GetMapper(),
               item->data, item->face);
  if (item->coarse_mapper)
    colour_faces(item, item->coarse_mapper, item->coarse, item->coarse_face);
}

void
apply_clip(PlaScene *scene, Item *item)
{
  for (vtkMapper *mapper : { item->actor->GetMapper(), (vtkMapper *)item->fine_mapper,
                             (vtkMapper *)item->coarse_mapper }) {
    if (!mapper)
      continue;
    mapper->RemoveAllClippingPlanes();
    if (scene->clipping && item->style.clipped && item->tet.empty() && item->hex.empty()) {
      /* VTK keeps the side that the normal points to */
      vtkNew<vtkPlane> plane;
      double n[3];
      scene->clip->GetNormal(n);
      plane->SetOrigin(scene->clip->GetOrigin());
      plane->SetNormal(-n[0], -n[1], -n[2]);
      mapper->AddClippingPlane(plane);
    }
  }
}

/* the plane that cuts an item's solid cells, or NULL */
vtkPlane *
plane_for(PlaScene *scene, const Item *item)
{
  return scene->clipping && item->style.clipped ? scene->clip.Get() : nullptr;
}

/* after the plane or an item's obedience to it changed */
void
cut_solid(PlaScene *scene, Item *item)
{
  find_faces(plane_for(scene, item), item);
  find_coarse_faces(item);
  upload_points(item, true);
  upload_faces(item);
  upload_colours(item);
}

void
apply_style(PlaScene *scene, Item *item)
{
  const PlaSceneStyle &style = item->style;
  vtkProperty *property = item->actor->GetProperty();
  item->actor->SetVisibility(style.visible && style.opacity > 0.0);
  property->SetColor(style.rgb[0], style.rgb[1], style.rgb[2]);
  property->SetOpacity(style.opacity);
  property->SetBackfaceCulling(style.hide_back);
  property->SetInterpolation(style.flat ? VTK_FLAT : VTK_GOURAUD);
  property->SetLineWidth((float)style.width_px);

  if (item->kind == Kind::image) {
    property->LightingOff();
    property->SetColor(1.0, 1.0, 1.0);
  } else {
    property->SetAmbient(0.08);
    property->SetDiffuse(0.95);
    struct {
      double strength, power;
    } const highlight[] = { { 0.18, 18.0 }, { 0.13, 14.0 }, { 0.10, 10.0 }, { 0.0, 1.0 } };
    property->SetSpecular(highlight[style.finish].strength);
    property->SetSpecularPower(highlight[style.finish].power);
    property->SetSpecularColor(1.0, 0.97, 0.93);
  }
  property->SetEdgeVisibility(item->kind == Kind::mesh && style.edges);
  property->SetEdgeColor(0.35 * style.rgb[0], 0.35 * style.rgb[1], 0.35 * style.rgb[2]);
  if (item->coloured)
    property->SetEdgeColor(0.12, 0.12, 0.14);

  if (item->tube)
    item->tube->SetRadius(std::max(style.radius_mm, 1e-3));
  if (item->kind == Kind::markers && !item->data->GetPointData()->GetVectors())
    static_cast<vtkGlyph3DMapper *>(item->actor->GetMapper())->SetScaleFactor(style.radius_mm);

  item->shaded = -1;
  apply_clip(scene, item);
}

/* How light falls on a mesh.  In full quality as VTK does it; while moving, the same five lights
 * with a highlight of the key light alone and no power function: a software driver draws that in
 * half the time.  Either way the silhouette of translucent shells stays visible while the middle
 * lets one look in. */
void
shade_for(Item *item, PlaQuality quality)
{
  if (item->kind != Kind::mesh || item->shaded == (int)quality)
    return;
  item->shaded = (int)quality;
  /* vtkLightKit adds its lights in this order: head, key, fill, two behind */
  std::string code = quality == PLA_QUALITY_FULL ? "//VTK::Light::Impl\n" : R"(
  vec3 sum = vec3(0.0);
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC0)) * lightColor0;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC1)) * lightColor1;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC2)) * lightColor2;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC3)) * lightColor3;
  sum += max(0.0, -dot(normalVCVSOutput, lightDirectionVC4)) * lightColor4;
  float glint = max(0.0, dot(normalVCVSOutput, normalize(vec3(0.0, 0.0, 1.0) - lightDirectionVC1)));
  glint *= glint; glint *= glint; glint *= glint; glint *= glint; glint *= glint;
  fragOutput0 = vec4(ambientColor + sum * diffuseColor + glint * lightColor1 * specularColor, opacity);
)";
  const PlaSceneStyle &style = item->style;
  if (style.rim > 0.0 && style.opacity < 1.0) {
    char rim[256];
    std::snprintf(rim, sizeof rim,
                  "  float edgeOn = 1.0 - abs(normalVCVSOutput.z);\n"
                  "  fragOutput0.a += (1.0 - fragOutput0.a) * float(%f) * edgeOn * edgeOn;\n",
                  style.rim);
    code += rim;
  }
  vtkShaderProperty *shader = item->actor->GetShaderProperty();
  shader->ClearAllFragmentShaderReplacements();
  shader->AddFragmentShaderReplacement("//VTK::Light::Impl", true, code, false);
}

/* ------------------------------------------------------------------ scenes */

void
canvas_clear(Canvas *canvas)
{
  if (canvas->width)
    pla_target_clear(&canvas->target);
  *canvas = {};
}

PlaStatus
canvas_resize(Canvas *canvas, int width, int height, PlaError *err)
{
  if (canvas->width == width && canvas->height == height)
    return PLA_OK;
  canvas_clear(canvas);
  PlaStatus st = pla_target_init(&canvas->target, width, height, err);
  if (st == PLA_OK) {
    pla_target_leave(&canvas->target);
    canvas->width = width;
    canvas->height = height;
  }
  return st;
}

/* A window of VTK's that draws where it is told; made anew when the context changes. */
void
make_window(PlaScene *scene)
{
  scene->window = vtkSmartPointer<vtkGenericOpenGLRenderWindow>::New();
  scene->window->SetOwnContext(0);
  scene->window->SetReadyForRendering(true);
  scene->window->SetIsCurrent(true);
  scene->window->SetSupportsOpenGL(1);
  scene->window->SetMapped(1);
  scene->window->SetIsDirect(1);
  scene->window->SetFrameBlitModeToBlitToCurrent();
  scene->window->AddRenderer(scene->renderer);
}

void
scene_release(PlaScene *scene)
{
  if (!scene->drawn)
    return;
  PlaError err;
  if (scene->offscreen && pla_offscreen_begin(scene->offscreen, &err) != PLA_OK)
    return;
  canvas_clear(&scene->canvas);
  canvas_clear(&scene->small);
  scene->window->Finalize();
  scene->window->RemoveRenderer(scene->renderer);
  make_window(scene);
  scene->drawn = false;
  if (scene->offscreen)
    pla_offscreen_end(scene->offscreen);
}

void
scene_free(PlaScene *scene)
{
  if (!scene)
    return;
  scene_release(scene);
  scene->window->RemoveRenderer(scene->renderer);
  pla_offscreen_free(scene->offscreen);
  delete scene;
}

PlaStatus
scene_new(bool off_screen, PlaScene **out, PlaError *err)
{
  *out = nullptr;
  return pla_guarded("the picture", err, [&] {
    PlaOffscreen *offscreen = nullptr;
    if (off_screen) {
      PlaStatus st = pla_offscreen_new(&offscreen, err);
      if (st != PLA_OK)
        return st;
    }
    PlaScene *scene = new PlaScene;
    scene->offscreen = offscreen;
    vtkRenderer *renderer = scene->renderer;
    renderer->SetBackgroundAlpha(1.0);
    renderer->GradientBackgroundOn();
    renderer->SetAutomaticLightCreation(0);
    renderer->SetTwoSidedLighting(true);
    renderer->SetMaximumNumberOfPeels(6);
    renderer->SetOcclusionRatio(0.002);

    /* a warm key from above the viewer's right, a weak cool fill, a rim from behind */
    vtkLightKit *kit = scene->lights;
    kit->SetKeyLightIntensity(0.88);
    kit->SetKeyLightAngle(38.0, 22.0);
    kit->SetKeyLightWarmth(0.57);
    kit->SetKeyToFillRatio(3.4);
    kit->SetFillLightWarmth(0.42);
    kit->SetKeyToBackRatio(3.0);
    kit->SetKeyToHeadRatio(4.2);
    kit->AddLightsToRenderer(renderer);
    make_window(scene);
    *out = scene;
    return PLA_OK;
  });
}

void
remove_item(PlaScene *scene, int id)
{
  auto found = scene->items.find(id);
  if (found == scene->items.end())
    return;
  scene->renderer->RemoveActor(found->second->actor);
  scene->items.erase(found);
}

/* Puts @shape under @id with the style of the item that it replaces. */
Item *
replace_item(PlaScene *scene, int id, Kind kind, PlaSceneShape &&shape)
{
  auto item = std::make_unique<Item>(std::move(shape));
  auto old = scene->items.find(id);
  if (old != scene->items.end())
    item->style = old->second->style;
  item->kind = kind;
  remove_item(scene, id);
  Item *raw = item.get();
  scene->items[id] = std::move(item);
  return raw;
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

PlaStatus
put_shape(PlaScene *scene, int id, PlaSceneShape *shape, PlaError *err)
{
  std::unique_ptr<PlaSceneShape> owned(shape);
  return pla_guarded("the picture", err, [&] {
    Item *item = replace_item(scene, id, Kind::mesh, std::move(*owned));
    item->fine_mapper = vtkSmartPointer<vtkPolyDataMapper>::New();
    static_cast<vtkPolyDataMapper *>(item->fine_mapper.Get())->SetInputData(item->data);
    if (!item->coarse_face.empty()) {
      item->coarse_mapper = vtkSmartPointer<vtkPolyDataMapper>::New();
      static_cast<vtkPolyDataMapper *>(item->coarse_mapper.Get())->SetInputData(item->coarse);
    }
    item->actor->SetMapper(item->fine_mapper);
    if (plane_for(scene, item) && !item->across.empty())
      cut_solid(scene, item);
    upload_colours(item);
    apply_style(scene, item);
    scene->renderer->AddActor(item->actor);
    return PLA_OK;
  });
}

PlaStatus
put_mesh(PlaScene *scene, int id, const PlaSceneMesh *mesh, PlaError *err)
{
  PlaSceneShape *shape;
  PlaStatus st = shape_new(mesh, &shape, err);
  return st == PLA_OK ? put_shape(scene, id, shape, err) : st;
}

PlaStatus
put_lines(PlaScene *scene, int id, const PlaSceneLines *lines, PlaError *err)
{
  return pla_guarded("the picture", err, [&] {
    Item *item = replace_item(scene, id, Kind::lines,
                              shape_of(lines->n_points, lines->pos, lines->to_mm));
    upload_points(item, false);
    vtkNew<vtkCellArray> cells;
    for (int l = 0; l < lines->n_lines; l++) {
      cells->InsertNextCell(lines->start[l + 1] - lines->start[l]);
      for (int k = lines->start[l]; k < lines->start[l + 1]; k++)
        cells->InsertCellPoint(lines->point[k]);
    }
    item->data->SetLines(cells);
    vtkNew<vtkPolyDataMapper> mapper;
    if (item->style.radius_mm > 0.0) {
      item->tube = vtkSmartPointer<vtkTubeFilter>::New();
      item->tube->SetInputData(item->data);
      item->tube->SetNumberOfSides(12);
      item->tube->CappingOn();
      mapper->SetInputConnection(item->tube->GetOutputPort());
    } else {
      mapper->SetInputData(item->data);
    }
    item->actor->SetMapper(mapper);
    apply_style(scene, item);
    scene->renderer->AddActor(item->actor);
    return PLA_OK;
  });
}

PlaStatus
put_markers(PlaScene *scene, int id, const PlaSceneMarkers *markers, PlaError *err)
{
  return pla_guarded("the picture", err, [&] {
    Item *item = replace_item(scene, id, Kind::markers,
                              shape_of(markers->n_points, markers->pos, markers->to_mm));
    upload_points(item, false);
    vtkNew<vtkGlyph3DMapper> mapper;
    mapper->SetInputData(item->data);
    if (markers->dir) {
      vtkNew<vtkDoubleArray> dir;
      dir->SetName("direction");
      dir->SetNumberOfComponents(3);
      dir->SetNumberOfTuples(markers->n_points);
      std::copy(markers->dir, markers->dir + 3 * (size_t)markers->n_points, dir->GetPointer(0));
      item->data->GetPointData()->SetVectors(dir);
      vtkNew<vtkArrowSource> arrow;
      arrow->SetTipResolution(16);
      arrow->SetShaftResolution(12);
      mapper->SetSourceConnection(arrow->GetOutputPort());
      mapper->SetOrientationArray("direction");
      mapper->SetScaleArray("direction");
      mapper->SetScaleModeToScaleByMagnitude();
    } else {
      vtkNew<vtkSphereSource> sphere;
      sphere->SetRadius(1.0);
      sphere->SetThetaResolution(20);
      sphere->SetPhiResolution(14);
      mapper->SetSourceConnection(sphere->GetOutputPort());
      mapper->ScalingOn();
      mapper->SetScaleModeToNoDataScaling();
    }
    item->actor->SetMapper(mapper);
    upload_colours(item);
    apply_style(scene, item);
    scene->renderer->AddActor(item->actor);
    return PLA_OK;
  });
}

PlaStatus
put_image(PlaScene *scene, int id, const PlaSceneImage *image, PlaError *err)
{
  return pla_guarded("the picture", err, [&] {
    /* corners half a pixel outside the outer centres: top left, top right, bottom right and left */
    double corner[12];
    for (int k = 0; k < 4; k++) {
      const double x = k == 1 || k == 2 ? image->width - 0.5 : -0.5,
                   y = k >= 2 ? image->height - 0.5 : -0.5;
      for (int d = 0; d < 3; d++)
        corner[3 * k + d] = image->origin_mm[d] + x * image->right_mm[d] + y * image->down_mm[d];
    }
    Item *item = replace_item(scene, id, Kind::image, shape_of(4, corner, 1.0));
    item->face = { { { 0, 3, 2, 1 }, 0 } };
    upload_points(item, false);
    upload_faces(item);
    vtkNew<vtkFloatArray> coord;
    coord->SetNumberOfComponents(2);
    coord->SetName("picture");
    for (const auto &uv : { std::array<double, 2>{ 0, 0 }, { 1, 0 }, { 1, 1 }, { 0, 1 } })
      coord->InsertNextTuple(uv.data());
    item->data->GetPointData()->SetTCoords(coord);

    vtkNew<vtkImageData> pixels;
    pixels->SetDimensions(image->width, image->height, 1);
    pixels->AllocateScalars(VTK_UNSIGNED_CHAR, 4);
    unsigned char *at = static_cast<unsigned char *>(pixels->GetScalarPointer());
    bool translucent = false;
    for (size_t i = 0; i < (size_t)image->width * image->height; i++, at += 4) {
      const uint32_t p = image->pixel[i];
      at[0] = (unsigned char)(p >> 16);
      at[1] = (unsigned char)(p >> 8);
      at[2] = (unsigned char)p;
      at[3] = (unsigned char)(p >> 24);
      translucent = translucent || at[3] < 255;
    }
    vtkNew<vtkTexture> texture;
    texture->SetInputData(pixels);
    texture->InterpolateOn();
    texture->SetColorModeToDirectScalars();
    item->actor->SetTexture(texture);
    if (translucent)
      item->actor->ForceTranslucentOn();
    else
      item->actor->ForceOpaqueOn();
    vtkNew<vtkPolyDataMapper> mapper;
    mapper->SetInputData(item->data);
    item->actor->SetMapper(mapper);
    apply_style(scene, item);
    scene->renderer->AddActor(item->actor);
    return PLA_OK;
  });
}

Item *
find_item(PlaScene *scene, int id)
{
  auto found = scene->items.find(id);
  return found == scene->items.end() ? nullptr : found->second.get();
}

void
move_verts(PlaScene *scene, int id, const double *pos, double to_mm)
{
  Item *item = find_item(scene, id);
  if (!item)
    return;
  for (size_t i = 0; i < item->pos.size(); i++)
    item->pos[i] = pos[i] * to_mm;
  upload_points(item, item->kind == Kind::mesh);
}

void
set_colours(PlaScene *scene, int id, const PlaSceneColours *colours)
{
  Item *item = find_item(scene, id);
  if (!item || item->kind != Kind::mesh)
    return;
  item->coloured = colours != nullptr;
  if (colours) {
    const size_t n = colours->on_cells ? (size_t)item->n_tris + item->n_tets + item->hex.size() / 8
                                       : (size_t)item->n_verts;
    item->on_cells = colours->on_cells;
    item->value.assign(colours->value, colours->value + n);
    vtkLookupTable *table = item->table;
    table->SetNumberOfTableValues(256);
    table->SetTableRange(colours->lo, std::max(colours->hi, std::nextafter(colours->lo, HUGE_VAL)));
    for (int i = 0; i < 256; i++)
      table->SetTableValue(i, colours->map_rgb[3 * i] / 255.0, colours->map_rgb[3 * i + 1] / 255.0,
                           colours->map_rgb[3 * i + 2] / 255.0, 1.0);
    table->SetNanColor(0.45, 0.45, 0.45, 1.0);
    table->Modified();
  }
  upload_colours(item);
  apply_style(scene, item);
}

void
set_style(PlaScene *scene, int id, const PlaSceneStyle *style)
{
  Item *item = find_item(scene, id);
  if (!item)
    return;
  const bool repaint = std::memcmp(item->style.rgb, style->rgb, sizeof style->rgb) != 0 ||
                       item->style.finish != style->finish;
  const bool reclip = item->style.clipped != style->clipped && scene->clipping &&
                      (!item->tet.empty() || !item->hex.empty());
  item->style = *style;
  if (reclip)
    cut_solid(scene, item);
  if (repaint || reclip)
    upload_colours(item);
  apply_style(scene, item);
}

bool
bounds(PlaScene *scene, double lo_mm[3], double hi_mm[3])
{
  bool any = false;
  for (int d = 0; d < 3; d++) {
    lo_mm[d] = HUGE_VAL;
    hi_mm[d] = -HUGE_VAL;
  }
  for (const auto &[id, item] : scene->items) {
    if (!item->style.visible)
      continue;
    for (size_t i = 0; i < item->pos.size(); i++) {
      lo_mm[i % 3] = std::min(lo_mm[i % 3], item->pos[i]);
      hi_mm[i % 3] = std::max(hi_mm[i % 3], item->pos[i]);
    }
    any = any || !item->pos.empty();
  }
  return any;
}

void
set_camera(PlaScene *scene, const PlaCamera *camera)
{
  scene->camera = *camera;
  vtkCamera *cam = scene->renderer->GetActiveCamera();
  cam->SetPosition(camera->eye_mm);
  cam->SetFocalPoint(camera->focus_mm);
  cam->SetViewUp(camera->up);
  cam->SetParallelProjection(camera->parallel);
  if (camera->parallel)
    cam->SetParallelScale(0.5 * camera->height_mm);
  else
    cam->SetViewAngle(camera->angle_deg);
}

void
set_background(PlaScene *scene, const double top_rgb[3], const double bottom_rgb[3])
{
  std::copy(bottom_rgb, bottom_rgb + 3, scene->bottom);
  std::copy(top_rgb, top_rgb + 3, scene->top);
}

void
set_clip(PlaScene *scene, const double point_mm[3], const double normal[3])
{
  scene->clipping = point_mm != nullptr;
  if (point_mm) {
    scene->clip->SetOrigin(point_mm[0], point_mm[1], point_mm[2]);
    scene->clip->SetNormal(normal[0], normal[1], normal[2]);
  }
  for (const auto &[id, item] : scene->items) {
    if (!item->across.empty() && item->style.clipped)
      cut_solid(scene, item.get());
    apply_clip(scene, item.get());
  }
}

/* ----------------------------------------------------------------- drawing */

/* what is seen through others comes after them */
void
order_for_blending(PlaScene *scene)
{
  vtkPropCollection *props = scene->renderer->GetViewProps();
  for (const auto &[id, item] : scene->items)
    if (item->kind == Kind::mesh && item->style.opacity < 1.0) {
      props->RemoveItem(item->actor);
      props->AddItem(item->actor);
    }
}

/* Draws the rows from @first (0 is the lowest) of a picture of @height into the framebuffer that is
 * bound, which is @rows high: a part of a picture is a picture through a part of its window. */
void
draw_rows(PlaScene *scene, int width, int height, int first, int rows, PlaQuality quality)
{
  const bool full = quality == PLA_QUALITY_FULL;
  bool translucent = false;
  if (!full)
    order_for_blending(scene);
  for (const auto &[id, item] : scene->items) {
    translucent = translucent || (item->style.visible && item->style.opacity < 1.0);
    shade_for(item.get(), quality);
    if (item->kind == Kind::mesh) {
      /* while moving, translucent shells are blended over what was drawn before them: VTK's own
       * way without peeling draws into several float pictures and costs more than all the rest */
      if (full)
        item->actor->ForceOpaqueOff();
      else
        item->actor->ForceOpaqueOn();
    }
    if (item->fine_mapper)
      item->actor->SetMapper(!full && item->coarse_mapper ? item->coarse_mapper
                                                          : item->fine_mapper);
  }
  scene->renderer->SetUseDepthPeeling(full && translucent);
  scene->window->SetAlphaBitPlanes(1);
  scene->window->SetMultiSamples(full && !translucent ? 4 : 0);
  scene->renderer->SetUseFXAA(full && translucent);
  scene->window->SetSize(width, rows);

  vtkCamera *camera = scene->renderer->GetActiveCamera();
  const double share = (double)rows / height;
  if (scene->camera.parallel)
    camera->SetParallelScale(0.5 * scene->camera.height_mm * share);
  else
    camera->SetViewAngle(
        2.0 / (M_PI / 180.0) *
        std::atan(share * std::tan(0.5 * (M_PI / 180.0) * scene->camera.angle_deg)));
  camera->SetWindowCenter(0.0, (2.0 * first + rows - height) / rows);
  double low[3], high[3];
  for (int d = 0; d < 3; d++) {
    const double a = (double)first / height, b = (double)(first + rows) / height;
    low[d] = scene->bottom[d] + a * (scene->top[d] - scene->bottom[d]);
    high[d] = scene->bottom[d] + b * (scene->top[d] - scene->bottom[d]);
  }
  scene->renderer->SetBackground(low);
  scene->renderer->SetBackground2(high);
  scene->renderer->ResetCameraClippingRange();
  scene->drawn = true;
  scene->window->Render();
}

/* Pictures that take too long are drawn smaller and stretched: a software driver works pixel by
 * pixel.  How much smaller is learnt from the pictures before. */
PlaStatus
draw_moving(PlaScene *scene, int width, int height, PlaError *err)
{
  using clock = std::chrono::steady_clock;
  const double too_long = 0.035, short_enough = 0.006; /* s */
  const int coarsest = 3;
  const bool smaller = scene->reduction > 1;
  const int w = std::max(width / scene->reduction, 1), h = std::max(height / scene->reduction, 1);
  PlaTarget *target = &scene->small.target;
  if (smaller) {
    PlaStatus st = canvas_resize(&scene->small, w, h, err);
    if (st != PLA_OK)
      return st;
    pla_target_enter(target);
  }
  const clock::time_point begun = clock::now();
  PlaStatus st = pla_guarded("the picture", err, [&] {
    draw_rows(scene, w, h, 0, h, PLA_QUALITY_MOVING);
    return PLA_OK;
  });
  if (smaller) {
    pla_target_stretch(target, w, h, (unsigned)target->previous, width, height);
    pla_target_leave(target);
  }
  const double took = std::chrono::duration<double>(clock::now() - begun).count();
  if (took > too_long && scene->reduction < coarsest)
    scene->reduction++;
  else if (took < short_enough && scene->reduction > 1)
    scene->reduction--;
  return st;
}

PlaStatus
draw(PlaScene *scene, int width, int height, PlaQuality quality, PlaError *err)
{
  if (quality == PLA_QUALITY_MOVING)
    return draw_moving(scene, width, height, err);
  return pla_guarded("the picture", err, [&] {
    draw_rows(scene, width, height, 0, height, quality);
    return PLA_OK;
  });
}

PlaStatus
draw_band(PlaScene *scene, int width, int height, int band, int n_bands, PlaError *err)
{
  PlaStatus st = canvas_resize(&scene->canvas, width, height, err);
  if (st != PLA_OK)
    return st;
  const int first = (int)((int64_t)height * band / n_bands),
            rows = (int)((int64_t)height * (band + 1) / n_bands) - first;
  if (rows < 1)
    return PLA_OK;
  PlaTarget target;
  st = pla_target_init(&target, width, rows, err);
  if (st != PLA_OK)
    return st;
  st = pla_guarded("the picture", err, [&] {
    draw_rows(scene, width, height, first, rows, PLA_QUALITY_FULL);
    return PLA_OK;
  });
  if (st == PLA_OK)
    pla_target_copy(&target, width, rows, scene->canvas.target.framebuffer, first);
  pla_target_clear(&target);
  return st;
}

bool
show_bands(PlaScene *scene, int width, int height)
{
  if (scene->canvas.width != width || scene->canvas.height != height)
    return false;
  pla_target_show(&scene->canvas.target, width, height);
  return true;
}

PlaStatus
draw_in_context(PlaScene *scene, int width, int height, PlaQuality quality, uint32_t *pixel,
                PlaError *err)
{
  PlaTarget target;
  PlaStatus st = pla_target_init(&target, width, height, err);
  if (st != PLA_OK)
    return st;
  st = draw(scene, width, height, quality, err);
  if (st == PLA_OK) {
    pla_target_read(&target, width, height, pixel);
    /* the top row first */
    for (int y = 0; y < height / 2; y++)
      std::swap_ranges(pixel + (size_t)y * width, pixel + (size_t)(y + 1) * width,
                       pixel + (size_t)(height - 1 - y) * width);
  }
  pla_target_clear(&target);
  return st;
}

PlaStatus
draw_pixels(PlaScene *scene, int width, int height, PlaQuality quality, uint32_t *pixel,
            PlaError *err)
{
  if (!scene->offscreen)
    return draw_in_context(scene, width, height, quality, pixel, err);
  PlaStatus st = pla_offscreen_begin(scene->offscreen, err);
  if (st == PLA_OK) {
    st = draw_in_context(scene, width, height, quality, pixel, err);
    pla_offscreen_end(scene->offscreen);
  }
  return st;
}

/* ------------------------------------------------------------------ warm-up */

bool
warm_up(PlaScene *scene, int stage)
{
  enum { SHADED, GLASS, EDGES, CELLS, CELL_EDGES, VALUES, BALLS, ARROWS, PICTURE, N_STAGES };
  const int id = INT_MAX;
  if (stage >= N_STAGES)
    return false;
  const double pos[12] = { 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 }, value[4] = { 0, 1, 2, 3 };
  const int tet[4] = { 0, 1, 2, 3 };
  const float open[4] = { 1, 1, 1, 1 };
  uint8_t map[256 * 3] = {};
  PlaSceneStyle style = pla_scene_style_default();
  PlaSceneMesh mesh = {};
  mesh.n_verts = 4;
  mesh.n_tets = 1;
  mesh.pos = pos;
  mesh.to_mm = 1.0;
  mesh.tet = tet;
  mesh.open = stage <= GLASS ? open : nullptr;
  style.edges = style.flat = stage == EDGES || stage == CELL_EDGES;
  if (stage == GLASS) {
    style.opacity = 0.4;
    style.rim = 0.7;
    style.hide_back = true;
  }
  PlaSceneColours colours = { value, stage != VALUES, 0.0, 3.0, map };
  PlaSceneMarkers markers = { 1, pos, 1.0, stage == ARROWS ? pos + 3 : nullptr };
  const uint32_t white = 0xffffffffu;
  PlaSceneImage image = { 1, 1, &white, { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
  PlaError err;
  PlaStatus st = stage == PICTURE                   ? put_image(scene, id, &image, &err)
                 : stage == BALLS || stage == ARROWS ? put_markers(scene, id, &markers, &err)
                                                     : put_mesh(scene, id, &mesh, &err);
  if (st == PLA_OK && stage >= CELLS && stage <= VALUES)
    set_colours(scene, id, &colours);
  if (st == PLA_OK)
    set_style(scene, id, &style);

  /* alone and from close by; what the scene shows meanwhile is not touched */
  const PlaCamera before = scene->camera;
  PlaCamera close = {};
  close.eye_mm[2] = 5.0;
  close.up[1] = 1.0;
  close.angle_deg = 30.0;
  std::vector<vtkActor *> hidden;
  for (const auto &[other, item] : scene->items)
    if (other != id && item->actor->GetVisibility()) {
      item->actor->VisibilityOff();
      hidden.push_back(item->actor);
    }
  PlaTarget target;
  if (st == PLA_OK)
    st = pla_target_init(&target, 16, 16, &err);
  if (st == PLA_OK) {
    set_camera(scene, &close);
    draw(scene, 16, 16, PLA_QUALITY_MOVING, &err);
    draw(scene, 16, 16, PLA_QUALITY_FULL, &err);
    /* and beside something translucent, which changes how all is drawn */
    mesh.open = open;
    style.opacity = 0.4;
    style.rim = 0.7;
    style.edges = style.flat = false;
    if (put_mesh(scene, id - 1, &mesh, &err) == PLA_OK) {
      set_style(scene, id - 1, &style);
      draw(scene, 16, 16, PLA_QUALITY_MOVING, &err);
      draw(scene, 16, 16, PLA_QUALITY_FULL, &err);
      remove_item(scene, id - 1);
    }
    pla_target_clear(&target);
    set_camera(scene, &before);
  }
  for (vtkActor *actor : hidden)
    actor->VisibilityOn();
  remove_item(scene, id);
  return st == PLA_OK;
}

/* ----------------------------------------------------------------- picking */

/* distance along the ray to a triangle in units of @dir, or infinity (Moeller and Trumbore) */
double
ray_triangle(const double from[3], const double dir[3], const double *a, const double *b,
             const double *c)
{
  const double e[3] = { b[0] - a[0], b[1] - a[1], b[2] - a[2] },
               f[3] = { c[0] - a[0], c[1] - a[1], c[2] - a[2] },
               s[3] = { from[0] - a[0], from[1] - a[1], from[2] - a[2] };
  const double p[3] = { dir[1] * f[2] - dir[2] * f[1], dir[2] * f[0] - dir[0] * f[2],
                        dir[0] * f[1] - dir[1] * f[0] };
  const double det = e[0] * p[0] + e[1] * p[1] + e[2] * p[2];
  if (std::fabs(det) < 1e-300)
    return HUGE_VAL;
  const double u = (s[0] * p[0] + s[1] * p[1] + s[2] * p[2]) / det;
  if (u < 0.0 || u > 1.0)
    return HUGE_VAL;
  const double q[3] = { s[1] * e[2] - s[2] * e[1], s[2] * e[0] - s[0] * e[2],
                        s[0] * e[1] - s[1] * e[0] };
  const double v = (dir[0] * q[0] + dir[1] * q[1] + dir[2] * q[2]) / det;
  if (v < 0.0 || u + v > 1.0)
    return HUGE_VAL;
  return (f[0] * q[0] + f[1] * q[1] + f[2] * q[2]) / det;
}

/* whether a ray enters a box before @most; a little early, since flat boxes have rounded sides */
bool
ray_meets(const double from[3], const double dir[3], const Box &box, double most)
{
  const double slack = 1e-6; /* mm */
  double near = 0.0, far = most;
  for (int d = 0; d < 3; d++) {
    if (dir[d] == 0.0) {
      if (from[d] < box.lo[d] - slack || from[d] > box.hi[d] + slack)
        return false;
      continue;
    }
    const double a = (box.lo[d] - slack - from[d]) / dir[d],
                 b = (box.hi[d] + slack - from[d]) / dir[d];
    near = std::max(near, std::min(a, b));
    far = std::min(far, std::max(a, b));
  }
  return near <= far;
}

/* nearest positive distance to a sphere, or infinity; @dir has unit length */
double
ray_sphere(const double from[3], const double dir[3], const double *centre, double radius)
{
  double b = 0.0, c = -radius * radius;
  for (int d = 0; d < 3; d++) {
    b += dir[d] * (from[d] - centre[d]);
    c += (from[d] - centre[d]) * (from[d] - centre[d]);
  }
  const double disc = b * b - c;
  return disc < 0.0 ? HUGE_VAL : -b - std::sqrt(disc);
}

PlaScenePick
pick(PlaScene *scene, double x, double y, int width, int height)
{
  /* the ray through the middle of the pixel */
  const PlaCamera *camera = &scene->camera;
  double right[3], up[3], back[3], from[3], dir[3], len = 0.0;
  pla_camera_axes(camera, right, up, back);
  const double h = pla_camera_height_mm(camera);
  const double sx = (x + 0.5 - 0.5 * width) / height * h,
               sy = (0.5 * height - y - 0.5) / height * h;
  for (int d = 0; d < 3; d++) {
    const double at = camera->focus_mm[d] + sx * right[d] + sy * up[d];
    from[d] = camera->parallel ? at + 1e4 * back[d] : camera->eye_mm[d];
    dir[d] = at - from[d];
    len += dir[d] * dir[d];
  }
  for (double &d : dir)
    d /= std::sqrt(len);

  PlaScenePick best = {};
  best.vert = best.cell = -1;
  double nearest = HUGE_VAL;
  auto consider = [&](int id, const Item *item, double t, int cell, int vert) {
    if (!(t > 0.0 && t < nearest))
      return;
    double at[3];
    for (int d = 0; d < 3; d++)
      at[d] = from[d] + t * dir[d];
    if (scene->clipping && item->style.clipped && item->tet.empty() && item->hex.empty() &&
        scene->clip->EvaluateFunction(at) > 0.0)
      return;
    nearest = t;
    best.id = id;
    best.cell = cell;
    best.vert = vert;
    std::copy(at, at + 3, best.point_mm);
  };
  for (const auto &[id, item] : scene->items) {
    if (!item->style.visible || item->style.opacity <= 0.0 || item->style.untouchable)
      continue;
    const double *pos = item->pos.data();
    if (item->kind == Kind::markers)
      for (int v = 0; v < item->n_verts; v++)
        consider(id, item.get(), ray_sphere(from, dir, pos + 3 * (size_t)v, item->style.radius_mm),
                 -1, v);
    for (size_t b = 0; b < item->box.size(); b++) {
      if (!ray_meets(from, dir, item->box[b], nearest))
        continue;
      const size_t end = std::min((b + 1) * FACES_PER_BOX, item->face.size());
      for (size_t f = b * FACES_PER_BOX; f < end; f++) {
        const Face &face = item->face[f];
        for (int half = 0; half < (face.vert[3] < 0 ? 1 : 2); half++)
          consider(id, item.get(),
                   ray_triangle(from, dir, pos + 3 * (size_t)face.vert[0],
                                pos + 3 * (size_t)face.vert[1 + half],
                                pos + 3 * (size_t)face.vert[2 + half]),
                   face.cell, -1);
      }
    }
  }

  /* the corner nearest to the point hit */
  Item *hit = find_item(scene, best.id);
  if (hit && hit->kind == Kind::mesh) {
    double shortest = HUGE_VAL;
    for (const Face &face : hit->face) {
      if (face.cell != best.cell)
        continue;
      const double *p[3];
      for (int k = 0; k < 3; k++)
        p[k] = &hit->pos[3 * (size_t)face.vert[k]];
      double n[3], length = 0.0, facing = 0.0;
      for (int d = 0; d < 3; d++) {
        const int e = (d + 1) % 3, f = (d + 2) % 3;
        n[d] = (p[1][e] - p[0][e]) * (p[2][f] - p[0][f]) -
               (p[1][f] - p[0][f]) * (p[2][e] - p[0][e]);
        length += n[d] * n[d];
        facing += n[d] * dir[d];
      }
      for (int d = 0; d < 3 && length > 0.0; d++)
        best.normal[d] = (facing > 0.0 ? -n[d] : n[d]) / std::sqrt(length);
      for (int v : face.vert) {
        if (v < 0)
          continue;
        double d2 = 0.0;
        for (int d = 0; d < 3; d++)
          d2 += std::pow(hit->pos[3 * (size_t)v + d] - best.point_mm[d], 2.0);
        if (d2 < shortest) {
          shortest = d2;
          best.vert = v;
        }
      }
    }
  }
  return best;
}

const PlaRenderer renderer = {
  PLA_RENDERER_ABI, scene_new,  scene_free,  scene_release, put_mesh,    put_lines, put_markers,
  put_image,        move_verts, set_colours, set_style,     remove_item, bounds,    set_camera,
  set_background,   set_clip,   draw,        draw_pixels,   pick,        shape_new, shape_free,
  put_shape,        draw_band,  show_bands,  warm_up,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const void *
pla_view_module(void)
{
  /* failures come back as sentences, not as lines on the terminal */
  vtkObject::GlobalWarningDisplayOff();
  return &renderer;
}

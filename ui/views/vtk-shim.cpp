/* The module platysma-view: scenes drawn by VTK into whatever framebuffer is bound.
 *
 * VTK renders into its own framebuffer of a vtkGenericOpenGLRenderWindow and blits to ours, so the
 * same code serves the window's GtkGLArea and pictures without a display.  Shade in folds comes
 * with the mesh (ambient occlusion per vertex) and costs nothing per frame. */
#include "ui/views/scene.hpp"

extern "C" {
#include "ui/views/vtk-shim.h"
}

#include "anatomy/base/guarded.hpp"

#include <vtkArrowSource.h>
#include <vtkAutoInit.h>
#include <vtkCamera.h>
#include <vtkCellArray.h>
#include <vtkCellData.h>
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkGlyph3DMapper.h>
#include <vtkImageData.h>
#include <vtkObject.h>
#include <vtkOpenGLPolyDataMapper.h>
#include <vtkPointData.h>
#include <vtkPolyDataMapper.h>
#include <vtkPropCollection.h>
#include <vtkProperty.h>
#include <vtkRendererCollection.h>
#include <vtkShaderProperty.h>
#include <vtkSphereSource.h>
#include <vtkTexture.h>
#include <vtkUnsignedCharArray.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <string>

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

using namespace view;

namespace
{

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
  /* a plane that follows the hand leaves no time for a draft */
  if (plane_for(scene, item))
    item->coarse_face.clear();
  else
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

  /* millionths of the depth that is seen: a blade shines through the skin it lies under */
  vtkMapper *const mappers[] = { item->actor->GetMapper(), item->fine_mapper.Get(),
                                 item->coarse_mapper.Get() };
  for (vtkMapper *mapper : mappers)
    if (mapper) {
      mapper->SetResolveCoincidentTopology(style.in_front ? VTK_RESOLVE_POLYGON_OFFSET
                                                          : VTK_RESOLVE_OFF);
      const double units = style.in_front ? -66000.0 : 0.0;
      mapper->SetRelativeCoincidentTopologyPolygonOffsetParameters(0.0, units);
      mapper->SetRelativeCoincidentTopologyLineOffsetParameters(0.0, units);
    }

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

PlaStatus
put_shape(PlaScene *scene, int id, PlaSceneShape *shape, PlaError *err)
{
  std::unique_ptr<PlaSceneShape> owned(shape);
  return pla_guarded("the picture", err, [&] {
    Item *item = replace_item(scene, id, Kind::mesh, std::move(*owned));
    item->fine_mapper = vtkSmartPointer<vtkPolyDataMapper>::New();
    static_cast<vtkPolyDataMapper *>(item->fine_mapper.Get())->SetInputData(item->data);
    item->coarse_mapper = vtkSmartPointer<vtkPolyDataMapper>::New();
    static_cast<vtkPolyDataMapper *>(item->coarse_mapper.Get())->SetInputData(item->coarse);
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
    Item *item =
        replace_item(scene, id, Kind::lines, shape_of(lines->n_points, lines->pos, lines->to_mm));
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
  if (!colours) {
    item->coloured = false;
  } else {
    const size_t n = colours->on_cells ? (size_t)item->n_tris + item->n_tets + item->hex.size() / 8
                                       : (size_t)item->n_verts;
    /* colours of a shape that is still to come */
    if (colours->n != n)
      return;
    item->coloured = true;
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
      item->actor->SetMapper(!full && !item->coarse_face.empty() ? item->coarse_mapper
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
  PlaSceneColours colours = { stage != VALUES ? 1u : 4u, value, stage != VALUES, 0.0, 3.0, map };
  PlaSceneMarkers markers = { 1, pos, 1.0, stage == ARROWS ? pos + 3 : nullptr };
  const uint32_t white = 0xffffffffu;
  PlaSceneImage image = { 1, 1, &white, { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 } };
  PlaError err;
  PlaStatus st = stage == PICTURE                    ? put_image(scene, id, &image, &err)
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

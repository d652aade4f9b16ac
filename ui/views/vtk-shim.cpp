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
#include <vtkDoubleArray.h>
#include <vtkFloatArray.h>
#include <vtkGlyph3DMapper.h>
#include <vtkImageData.h>
#include <vtkObject.h>
#include <vtkPointData.h>
#include <vtkPolyDataMapper.h>
#include <vtkSphereSource.h>
#include <vtkTexture.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <dlfcn.h>

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

/* ------------------------------------------------------------------ scenes */

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

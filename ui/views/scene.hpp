/* What the files of the module platysma-view share: shapes, items and scenes.  C++, never seen
 * outside of it. */
#pragma once

extern "C" {
#include "app/show/render.h"
#include "ui/views/offscreen.h"
}

#include <vtkActor.h>
#include <vtkGenericOpenGLRenderWindow.h>
#include <vtkLightKit.h>
#include <vtkLookupTable.h>
#include <vtkMapper.h>
#include <vtkNew.h>
#include <vtkPlane.h>
#include <vtkPolyData.h>
#include <vtkRenderer.h>
#include <vtkSmartPointer.h>
#include <vtkTubeFilter.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace view
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

} // namespace view

/* What of an item does not depend on a scene: made on any thread. */
struct PlaSceneShape {
  vtkNew<vtkPolyData> data;
  vtkNew<vtkPolyData> coarse; /* the same points under fewer faces, for moving pictures */
  int n_verts = 0;
  std::vector<double> pos; /* mm */
  std::vector<float> open; /* empty: no shade */
  int n_tris = 0, n_tets = 0;
  bool carries = false; /* the triangles are the surface of what is in the cells */
  std::vector<int> tri, tet, hex;
  std::vector<int> across; /* the solid cell behind each face of tets, then hexes; -1: none */
  std::vector<view::Face>
      face; /* drawn: all triangles, outer faces of what the clip plane leaves */
  std::vector<view::Face> coarse_face;
  std::vector<view::Box> box; /* around each FACES_PER_BOX faces in their order, for picking */
};

namespace view
{

struct Item : PlaSceneShape {
  explicit Item(PlaSceneShape &&shape) : PlaSceneShape(std::move(shape))
  {
  }
  Kind kind = Kind::mesh;
  PlaSceneStyle style = pla_scene_style_default();
  vtkNew<vtkActor> actor;
  vtkSmartPointer<vtkMapper> fine_mapper, coarse_mapper; /* of meshes */
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

} // namespace view

struct PlaScene {
  PlaOffscreen *offscreen = nullptr;
  vtkSmartPointer<vtkGenericOpenGLRenderWindow> window;
  vtkNew<vtkRenderer> renderer;
  vtkNew<vtkLightKit> lights;
  vtkNew<vtkPlane> clip;
  bool clipping = false;
  PlaCamera camera = {};
  double top[3] = { 0.15, 0.16, 0.18 }, bottom[3] = { 0.06, 0.065, 0.075 };
  view::Canvas canvas; /* where a full picture grows, band by band */
  view::Canvas small;  /* where moving ones are drawn */
  int reduction = 2;   /* how many times smaller those are */
  bool drawn = false;
  std::map<int, std::unique_ptr<view::Item>> items;
};

namespace view
{

/* ---- shape.cpp ---- */

PlaSceneShape shape_of(int n_verts, const double *pos, double to_mm); /* points without faces yet */
PlaStatus shape_new(const PlaSceneMesh *mesh, PlaSceneShape **out, PlaError *err);
void shape_free(PlaSceneShape *shape);
/* All triangles, and the outer faces of the solid cells that the plane (or NULL) leaves; then fewer
 * of them for moving pictures. */
void find_faces(vtkPlane *clip, PlaSceneShape *shape);
void find_coarse_faces(PlaSceneShape *shape);
/* After points, or faces, have changed. */
void upload_points(PlaSceneShape *shape, bool with_normals);
void upload_faces(PlaSceneShape *shape);

/* ---- item-look.cpp ---- */

void upload_colours(Item *item); /* after values, style or faces have changed */
void apply_clip(PlaScene *scene, Item *item);
/* The plane that cuts an item's solid cells, or NULL. */
vtkPlane *plane_for(PlaScene *scene, const Item *item);
void cut_solid(PlaScene *scene, Item *item); /* after it, or the item's obedience to it, changed */
void apply_style(PlaScene *scene, Item *item);
/* How light falls on a mesh.  In full quality as VTK does it; while moving, the same five lights
 * with a highlight of the key light alone and no power function: a software driver draws that in
 * half the time.  Either way the silhouette of translucent shells stays visible while the middle
 * lets one look in. */
void shade_for(Item *item, PlaQuality quality);
void set_colours(PlaScene *scene, int id, const PlaSceneColours *colours);
void set_style(PlaScene *scene, int id, const PlaSceneStyle *style);
void set_clip(PlaScene *scene, const double point_mm[3], const double normal[3]);

/* ---- scene-draw.cpp ---- */

void canvas_clear(Canvas *canvas);
PlaStatus draw(PlaScene *scene, int width, int height, PlaQuality quality, PlaError *err);
PlaStatus draw_band(PlaScene *scene, int width, int height, int band, int n_bands, PlaError *err);
bool show_bands(PlaScene *scene, int width, int height);
PlaStatus draw_pixels(PlaScene *scene, int width, int height, PlaQuality quality, uint32_t *pixel,
                      PlaError *err);

/* ---- pick.cpp ---- */

Item *find_item(PlaScene *scene, int id); /* or NULL */
PlaScenePick pick(PlaScene *scene, double x, double y, int width, int height);

} // namespace view

/* Pictures of three-dimensional scenes.
 *
 * A scene is a set of items under ids that the caller chooses (meshes, lines, markers, arrows,
 * flat images), a camera and a background.  The drawing itself is done by the module
 * platysma-view, loaded at the first call, so that headless programs need neither VTK nor GTK
 * until they make a picture.  Arrays are copied.  Coordinates are RAS millimetres: arrays in other
 * units come with a factor.
 *
 * Scenes belong to one thread at a time, and no two threads may draw at once. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PlaScene PlaScene;
typedef struct PlaSceneShape PlaSceneShape; /* a mesh made ready to be drawn */

/* Triangles, tets and hexes over shared vertices.  Of tets and hexes the outer faces are drawn;
 * where they carry the triangles, only those that a cut lays open. */
typedef struct {
  int n_verts, n_tris, n_tets, n_hexes;
  const double *pos; /* n_verts x 3 */
  double to_mm;      /* factor from pos to mm: 1000 for metres */
  const int *tri, *tet, *hex;
  const float *open; /* share of the sky each vertex sees (pla_occlusion), or NULL */
  bool carries;      /* the triangles are the surface of what is in the cells */
} PlaSceneMesh;

/* Polylines: line l joins points point[start[l]] .. point[start[l + 1] - 1]. */
typedef struct {
  int n_points, n_lines;
  const double *pos; /* n_points x 3 */
  double to_mm;
  const int *start; /* n_lines + 1 */
  const int *point; /* start[n_lines] */
} PlaSceneLines;

typedef struct {
  int n_points;
  const double *pos; /* n_points x 3 */
  double to_mm;
  const double *dir; /* n_points x 3, mm: arrows of these lengths; NULL: spheres */
} PlaSceneMarkers;

/* A flat picture in space. */
typedef struct {
  int width, height;
  const uint32_t *pixel;                        /* 0xAARRGGBB, top row first */
  double origin_mm[3], right_mm[3], down_mm[3]; /* centre of the first pixel; pixel steps */
} PlaSceneImage;

typedef enum {
  PLA_FINISH_PLAIN = 0, /* a soft highlight */
  PLA_FINISH_SKIN,      /* warm shade in folds */
  PLA_FINISH_BONE,      /* ivory shade, broad highlight */
  PLA_FINISH_MATT,      /* no highlight: for colours that carry values */
} PlaFinish;

typedef struct {
  bool visible;
  double rgb[3];  /* 0..1 */
  double opacity; /* 0..1 */
  double rim;     /* 0..1: how much more opaque a translucent surface is where seen edge-on */
  PlaFinish finish;
  bool edges;       /* element edges */
  bool flat;        /* one normal per face */
  bool clipped;     /* obeys the clip plane */
  bool hide_back;   /* faces seen from behind are not drawn */
  bool untouchable; /* picking goes through it */
  bool in_front;    /* seen through what lies a few centimetres before it */
  double radius_mm; /* of markers and of lines drawn as tubes; 0: lines of width_px */
  double width_px;
} PlaSceneStyle;
PlaSceneStyle pla_scene_style_default(void);

/* Values shown in colours; the caller draws the colour bar (app/show/overlay.h). */
typedef struct {
  size_t n;            /* values */
  const double *value; /* one per vertex, or per cell in the order tris, tets, hexes */
  bool on_cells;
  double lo, hi;          /* values at the ends of the map */
  const uint8_t *map_rgb; /* 256 x 3 */
} PlaSceneColours;

typedef struct {
  double eye_mm[3], focus_mm[3], up[3];
  double angle_deg; /* vertical field of view; ignored when parallel */
  bool parallel;
  double height_mm; /* of the picture in the focal plane; used when parallel */
} PlaCamera;

typedef enum {
  PLA_VIEW_ANTERIOR = 0,
  PLA_VIEW_POSTERIOR,
  PLA_VIEW_LEFT, /* the viewer stands at the patient's left */
  PLA_VIEW_RIGHT,
  PLA_VIEW_SUPERIOR,
  PLA_VIEW_INFERIOR,
  PLA_VIEW_THREE_QUARTER, /* from the front, the patient's left and a little above */
  PLA_N_VIEWS
} PlaViewPreset;
const char *pla_view_preset_name(PlaViewPreset preset); /* "anterior", ... */
bool pla_view_preset_from_name(const char *name, PlaViewPreset *out);

/* The camera that shows the box @lo_mm..@hi_mm from @preset in a picture width / height wide. */
PlaCamera pla_camera_fit(PlaViewPreset preset, const double lo_mm[3], const double hi_mm[3],
                         double aspect);
/* Turns around the focus: right and up by angles, as a hand turning the object would. */
void pla_camera_orbit(PlaCamera *camera, double right_deg, double up_deg);
/* Shifts by fractions of the picture's height. */
void pla_camera_pan(PlaCamera *camera, double right, double up);
void pla_camera_zoom(PlaCamera *camera, double factor); /* > 1: closer */
/* Unit vectors of the picture: to the right, up and towards the viewer. */
void pla_camera_axes(const PlaCamera *camera, double right[3], double up[3], double back[3]);
/* Where a point stands in a picture of that size; false where it is behind the viewer. */
bool pla_camera_project(const PlaCamera *camera, double width, double height,
                        const double point_mm[3], double *x, double *y);
double pla_camera_height_mm(const PlaCamera *camera); /* picture height in the focal plane */

typedef enum {
  PLA_QUALITY_MOVING = 0, /* fastest: while the user drags */
  PLA_QUALITY_FULL,       /* smooth edges, sorted translucency */
} PlaQuality;

typedef struct {
  int id; /* 0: nothing there */
  double point_mm[3];
  int cell;         /* of the item: triangles, then tets, then hexes */
  int vert;         /* nearest vertex of the face hit, or -1 */
  double normal[3]; /* of the face hit: unit, towards the viewer; 0 where it is none */
} PlaScenePick;

/* What platysma-view hands out.  `put_*` adds an item or replaces the one with that id (> 0) and
 * keeps its style; functions on unknown ids do nothing. */
typedef struct {
  int abi;
  /* @off_screen: the scene brings its own context, which needs no display; PLA_ERR_UNSUPPORTED
   * with a sentence where the machine has none.  Otherwise every drawing call happens with the
   * caller's OpenGL (3.2 core or later) context current. */
  PlaStatus (*scene_new)(bool off_screen, PlaScene **out, PlaError *err);
  void (*scene_free)(PlaScene *scene);    /* with the context current, or after scene_release */
  void (*scene_release)(PlaScene *scene); /* the context goes away; the items stay */

  PlaStatus (*put_mesh)(PlaScene *scene, int id, const PlaSceneMesh *mesh, PlaError *err);
  PlaStatus (*put_lines)(PlaScene *scene, int id, const PlaSceneLines *lines, PlaError *err);
  PlaStatus (*put_markers)(PlaScene *scene, int id, const PlaSceneMarkers *markers, PlaError *err);
  PlaStatus (*put_image)(PlaScene *scene, int id, const PlaSceneImage *image, PlaError *err);
  void (*move_verts)(PlaScene *scene, int id, const double *pos, double to_mm); /* same count */
  void (*set_colours)(PlaScene *scene, int id, const PlaSceneColours *colours); /* NULL: plain */
  void (*set_style)(PlaScene *scene, int id, const PlaSceneStyle *style);
  void (*remove)(PlaScene *scene, int id);
  bool (*bounds)(PlaScene *scene, double lo_mm[3], double hi_mm[3]); /* of visible items */

  void (*set_camera)(PlaScene *scene, const PlaCamera *camera);
  void (*set_background)(PlaScene *scene, const double top_rgb[3], const double bottom_rgb[3]);
  /* Cuts away what lies on the side that @normal points to; whole elements of tet and hex meshes.
   * NULL: no clipping. */
  void (*set_clip)(PlaScene *scene, const double point_mm[3], const double normal[3]);

  /* Into the framebuffer that is bound now. */
  PlaStatus (*draw)(PlaScene *scene, int width, int height, PlaQuality quality, PlaError *err);
  /* Into memory: opaque 0xAARRGGBB, top row first. */
  PlaStatus (*draw_pixels)(PlaScene *scene, int width, int height, PlaQuality quality,
                           uint32_t *pixel, PlaError *err);
  /* The first surface under a pixel of a picture of that size. */
  PlaScenePick (*pick)(PlaScene *scene, double x, double y, int width, int height);

  /* put_mesh in two steps: the costly one on any thread, the other where the scene is drawn.
   * put_shape takes the shape. */
  PlaStatus (*shape_new)(const PlaSceneMesh *mesh, PlaSceneShape **out, PlaError *err);
  void (*shape_free)(PlaSceneShape *shape);
  PlaStatus (*put_shape)(PlaScene *scene, int id, PlaSceneShape *shape, PlaError *err);

  /* A picture in full quality piece by piece, so that nobody waits long: @n_bands bands of rows,
   * each drawn into a picture that the scene keeps; when all are there, it is copied to the
   * framebuffer that is bound.  false: there is none of that size. */
  PlaStatus (*draw_band)(PlaScene *scene, int width, int height, int band, int n_bands,
                         PlaError *err);
  bool (*show_bands)(PlaScene *scene, int width, int height);

  /* Drivers compile each kind of picture when it is first drawn, which takes a while: this draws a
   * tiny one of kind @stage, so that nobody waits for it later.  false: there is no such kind. */
  bool (*warm_up)(PlaScene *scene, int stage);
} PlaRenderer;
#define PLA_RENDERER_ABI 5

/* Loads the module once; the table lives as long as the program. */
PlaStatus pla_render_load(const PlaRenderer **out, PlaError *err);

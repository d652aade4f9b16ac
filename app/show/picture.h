/* Pictures as PNG files, for reports and scripts: no display needed. */
#pragma once

#include "anatomy/base/memory.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh/mesh.h"
#include "anatomy/volume/slice.h"
#include "anatomy/volume/volume.h"
#include "app/show/field-view.h"
#include "app/show/overlay.h"
#include "app/show/render.h"

/* A cairo image as a PNG file, and as PNG in memory. */
PlaStatus pla_picture_write_surface(const char *path, cairo_surface_t *image, PlaError *err);
PlaStatus pla_picture_encode(cairo_surface_t *image, PlaBytes *out, PlaError *err);

/* ---------------------------------------------------------------- surfaces */

/* @mesh as it is drawn, borrowed. */
PlaSceneMesh pla_scene_mesh(const PlaMesh *mesh);

/* One surface of a picture: some labels drawn as one shape. */
typedef struct {
  int n_ids;
  const int *ids;
  double rgb[3];  /* 0..1 */
  double opacity; /* 0..1 */
  PlaFinish finish;
} PlaSurfaceLook;

typedef struct {
  int width, height; /* pixels */
  PlaViewPreset view;
  double background[3];  /* 0..1 */
  bool annotate;         /* axes and scale bar */
  double font_px;        /* of their text; 0: from the height */
  PlaProgress *progress; /* may be NULL */
} PlaPictureOptions;
PlaPictureOptions pla_picture_options_default(void); /* 1200 x 1000, three-quarter, dark */

/* The looks of tissues in pictures and in the window: skin, bone, or the label's own colour. */
PlaSurfaceLook pla_surface_look_for(const PlaLabel *label);

/* The surface of some labels, ready to be shown: closed, without voxel stairs, with the shade of
 * its folds (*open: n_verts, freed by the caller; may be NULL). */
PlaStatus pla_label_surface_make(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                                 float **open, PlaProgress *progress, PlaError *err);

/* A scene off the screen that is drawn from several sides: its shapes are made once. */
typedef struct PlaStage PlaStage;
PlaStatus pla_stage_new(PlaStage **out, PlaError *err);
void pla_stage_free(PlaStage *self); /* NULL is fine */
/* The surface of some labels; *shape is its number, for pla_stage_set_opacity(). */
PlaStatus pla_stage_add_labels(PlaStage *self, const PlaLabelMap *map, const PlaSurfaceLook *look,
                               PlaProgress *progress, int *shape, PlaError *err);
/* A mesh in plain colour, with the edges of its tets and hexes; look->ids are not used. */
PlaStatus pla_stage_add_mesh(PlaStage *self, const PlaMesh *mesh, const PlaSurfaceLook *look,
                             int *shape, PlaError *err);
/* Colours shape @shape by a field as the window shows it, and draws a colour bar. */
PlaStatus pla_stage_show_field(PlaStage *self, int shape, const PlaMesh *mesh,
                               const PlaFieldView *view, PlaError *err);
const PlaLegend *pla_stage_get_legend(const PlaStage *self); /* NULL: no colour bar */
/* A path through @n points, RAS mm: a thin tube with a sphere at each point. */
PlaStatus pla_stage_add_path(PlaStage *self, const double *point_mm, int n, const double rgb[3],
                             PlaError *err);
/* Lines as thin tubes in one colour. */
PlaStatus pla_stage_add_lines(PlaStage *self, const PlaSceneLines *lines, double radius_mm,
                              const double rgb[3], PlaError *err);
/* How much of a shape is seen: 0 hides it, 1 is opaque. */
void pla_stage_set_opacity(PlaStage *self, int shape, double opacity);
/* How it is looked at from now on, copied; NULL: fitted, from the side that the options say. */
void pla_stage_set_camera(PlaStage *self, const PlaCamera *camera);
/* Draws what is shown; an opaque image, cairo_surface_destroy() by the caller. */
PlaStatus pla_stage_draw(PlaStage *self, const PlaPictureOptions *opts, cairo_surface_t **out,
                         PlaError *err);

/* Draws @n_looks surfaces of @map. */
PlaStatus pla_render_label_surface_png(const PlaLabelMap *map, const PlaSurfaceLook *looks,
                                       int n_looks, const PlaPictureOptions *opts, const char *path,
                                       PlaError *err);

/* ------------------------------------------------------------------ slices */

typedef struct {
  PlaAxis axis;
  double centre_mm[3]; /* what is in the middle of the picture */
  double mm_per_pixel; /* 0: the whole volume fits */
  int width, height;
  double window[2]; /* values that become black and white; equal: chosen from the volume */
  bool radiological;
  double fill, line; /* strength of label overlays, 0..1 */
  bool annotate;     /* letters, scale bar, position */
  double font_px;    /* of their text; 0: from the height */
} PlaSliceOptions;
/* Through the middle of @vol, which may be NULL. */
PlaSliceOptions pla_slice_options_default(const PlaVolume *vol);

/* The window that suits most of the values: 1 to 99.5 percent of those above the darkest. */
void pla_window_auto(const PlaVolume *vol, double window[2]);
/* The box of all voxels, in RAS mm. */
void pla_volume_box(const PlaVolume *vol, double lo_mm[3], double hi_mm[3]);

/* @labels may be NULL.  An opaque image, cairo_surface_destroy() by the caller. */
PlaStatus pla_draw_slice(const PlaVolume *vol, const PlaLabelMap *labels,
                         const PlaSliceOptions *opts, cairo_surface_t **out, PlaError *err);
PlaStatus pla_render_slice_png(const PlaVolume *vol, const PlaLabelMap *labels,
                               const PlaSliceOptions *opts, const char *path, PlaError *err);

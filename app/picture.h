/* Pictures as PNG files, for reports and scripts: no display needed. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/mesh.h"
#include "anatomy/slice.h"
#include "anatomy/volume.h"
#include "app/overlay.h"
#include "app/render.h"

/* Writes opaque 0xAARRGGBB pixels, top row first. */
PlaStatus pla_picture_write(const char *path, const uint32_t *pixel, int width, int height,
                            PlaError *err);

/* ---------------------------------------------------------------- surfaces */

/* One surface of a picture: some labels drawn as one shape. */
typedef struct {
  int n_ids;
  const int *ids;
  double rgb[3];   /* 0..1 */
  double opacity;  /* 0..1 */
  PlaFinish finish;
} PlaSurfaceLook;

typedef struct {
  int width, height; /* pixels */
  PlaViewPreset view;
  double background[3]; /* 0..1 */
  bool annotate;        /* axes and scale bar */
  PlaProgress *progress; /* may be NULL */
} PlaPictureOptions;
PlaPictureOptions pla_picture_options_default(void); /* 1200 x 1000, three-quarter, dark */

/* The looks of tissues in pictures and in the window: skin, bone, or the label's own colour. */
PlaSurfaceLook pla_surface_look_for(const PlaLabel *label);

/* The surface of some labels, ready to be shown: closed, without voxel stairs, with the shade of
 * its folds (*open: n_verts, freed by the caller; may be NULL). */
PlaStatus pla_label_surface_make(const PlaLabelMap *map, const int *ids, int n_ids, PlaMesh **out,
                                 float **open, PlaProgress *progress, PlaError *err);

/* Draws @n_looks surfaces of @map. */
PlaStatus pla_render_label_surface_png(const PlaLabelMap *map, const PlaSurfaceLook *looks,
                                       int n_looks, const PlaPictureOptions *opts,
                                       const char *path, PlaError *err);

/* ------------------------------------------------------------------ slices */

typedef struct {
  PlaAxis axis;
  double centre_mm[3];   /* what is in the middle of the picture */
  double mm_per_pixel;   /* 0: the whole volume fits */
  int width, height;
  double window[2];      /* values that become black and white; equal: chosen from the volume */
  bool radiological;
  double fill, line;     /* strength of label overlays, 0..1 */
  bool annotate;         /* letters, scale bar, position */
} PlaSliceOptions;
/* Through the middle of @vol, which may be NULL. */
PlaSliceOptions pla_slice_options_default(const PlaVolume *vol);

/* The window that suits most of the values: 1 to 99.5 percent of those above the darkest. */
void pla_window_auto(const PlaVolume *vol, double window[2]);
/* The box of all voxels, in RAS mm. */
void pla_volume_box(const PlaVolume *vol, double lo_mm[3], double hi_mm[3]);

/* @labels may be NULL. */
PlaStatus pla_render_slice_png(const PlaVolume *vol, const PlaLabelMap *labels,
                               const PlaSliceOptions *opts, const char *path, PlaError *err);

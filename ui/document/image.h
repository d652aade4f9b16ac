/* A volume or a label map as the window shows it. */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/content/content.h"

#include <glib.h>

/* A content of the case with what takes a pass over all its voxels.  A worker makes it whole; the
 * main thread puts it in the place of the one before, to which other workers may still hold on:
 * immutable, counted.  A PlaContent cannot carry the figures, for it is made and cached without
 * them wherever no window asks; a PlaEntry cannot, for workers may not read one. */
typedef struct {
  PlaContent *content; /* owns volume and labels */
  PlaVolume *volume;
  PlaLabelMap *labels;
  PlaNotes notes; /* what the reader of the file repaired or assumed */
  /* what takes a pass over all voxels, made on its worker */
  double range[2], window[2]; /* of the volume: values; what most of them lie in */
  size_t *counts;             /* of the labels: voxels by id (65536) */
} PlaImage;

void pla_image_unref(PlaImage *self); /* NULL is fine */
PlaImage *pla_image_new(PlaContent *content);

/* by its values: air and bone on the scale of Hounsfield, whatever a scanner writes outside it */
gboolean pla_image_is_ct(const PlaImage *self);
gboolean pla_image_is_of(const PlaImage *self, const PlaContent *content); /* NULL is of nothing */

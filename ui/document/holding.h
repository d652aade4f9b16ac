/* A volume or a label map as the window holds it. */
#pragma once

#include "anatomy/volume/volume.h"
#include "app/content/content.h"

#include <glib.h>

/* Things that worker threads read while the main thread may move on: immutable, counted. */
typedef struct {
  PlaContent *content; /* owns volume and labels */
  PlaVolume *volume;
  PlaLabelMap *labels;
  PlaNotes notes; /* what the reader of the file repaired or assumed */
  /* what takes a pass over all voxels, made with the holding on its worker */
  double range[2], window[2]; /* of the volume: values; what most of them lie in */
  size_t *counts;             /* of the labels: voxels by id (65536) */
} PlaHolding;

void pla_holding_unref(PlaHolding *held); /* NULL is fine */
PlaHolding *pla_holding_new_content(PlaContent *content);

/* by its values: air and bone on the scale of Hounsfield, whatever a scanner writes outside it */
gboolean pla_holding_is_ct(const PlaHolding *held);
gboolean pla_holding_holds(const PlaHolding *held,
                           const PlaContent *content); /* NULL holds nothing */

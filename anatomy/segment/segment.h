/* From an image volume to a label map: thresholds, clean-up and presets.
 *
 * pla_segment() is what the command line and the window call.  A preset knows one kind of scan and
 * names its tissues; without one, a range of values becomes one label.  The label map has the
 * affine and the frame audit of the volume, bit for bit.  Results are the same for any number of
 * threads. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"
#include "anatomy/segment/components.h"
#include "anatomy/volume/volume.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *preset; /* an id of pla_segment_presets_get(), or NULL: use the range below */
  double lo, hi;      /* values kept, both included, slope and inter applied */
  int label;          /* id of the one label, 1..65535 */
  const char *name;   /* its name; NULL gives "label ID" */
  int frame;          /* of a 4-D volume */
  PlaConnectivity connectivity; /* of components; holes use the dual one */
  /* applied in this order; a preset does its own and refuses these */
  double open_mm;   /* ball radius of an opening, 0: none */
  double close_mm;  /* ball radius of a closing, 0: none */
  bool largest;     /* keep the largest component */
  bool fill_holes;  /* fill what the volume's border cannot reach */
  bool fill_slices; /* fill holes in each slice along the axis nearest head-foot */
} PlaSegmentOptions;

/* No preset, an empty range, label 1, 26-connected, no clean-up. */
PlaSegmentOptions pla_segment_options_default(void);

/* What a run found, beyond the labels themselves. */
typedef struct {
  int n_components;   /* pieces of the labelled region as a whole (26-connected) */
  double hull_mm3;    /* outer hull of the body: tissue, airway and cavities; 0 without preset */
  double removed_mm3; /* head-rest, table and other objects left out; 0 without preset */
} PlaSegmentReport;

/* Labels @vol, which is borrowed.  @report may be NULL.
 * PLA_ERR_EMPTY when nothing is found, PLA_ERR_USAGE for options that make no sense,
 * PLA_ERR_GEOMETRY when distances are needed and the affine is singular.  Caller frees *out. */
PlaStatus pla_segment(const PlaVolume *vol, const PlaSegmentOptions *opts, PlaProgress *progress,
                      PlaLabelMap **out, PlaSegmentReport *report, PlaError *err);

/* mask = 1 where the value of frame @frame lies in lo..hi (both included; NaN never), else 0.
 * @mask has dims[0] x dims[1] x dims[2] entries. */
void pla_segment_threshold(const PlaVolume *vol, int frame, double lo, double hi, uint8_t *mask);

/* A label map in the frame of @vol (affine and audit copied) with all voxels 0. */
PlaStatus pla_segment_new_labels(const PlaVolume *vol, PlaDType dtype, PlaVolume **out,
                                 PlaError *err);

/* One tissue that a preset finds. */
typedef struct {
  int id;
  const char *name;
  uint8_t rgba[4];
} PlaSegmentTissue;

typedef struct {
  const char *id;                 /* "ct-head" */
  const char *title;              /* "Head CT: soft tissue, bone, airway" */
  const PlaSegmentTissue *tissue; /* ascending ids, ends with id 0 */
  /* Writes tissue ids into @labels (dims[0] x dims[1] x dims[2], zeroed). */
  PlaStatus (*run)(const PlaVolume *vol, int frame, PlaProgress *progress, uint8_t *labels,
                   PlaSegmentReport *report, PlaError *err);
} PlaSegmentPreset;

/* NULL-terminated. */
const PlaSegmentPreset *const *pla_segment_presets_get(void);
const PlaSegmentPreset *pla_segment_preset_find(const char *id); /* or NULL */

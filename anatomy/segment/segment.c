/* Thresholds, clean-up and the table of presets. */
#include "anatomy/segment/segment.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/segment/morphology.h"
#include "anatomy/segment/segment-presets.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const PlaSegmentPreset *const presets[] = {
  &pla_segment_preset_ct_head,
  NULL,
};

const PlaSegmentPreset *const *
pla_segment_presets_get(void)
{
  return presets;
}

const PlaSegmentPreset *
pla_segment_preset_find(const char *id)
{
  for (int p = 0; presets[p]; p++)
    if (strcmp(presets[p]->id, id) == 0)
      return presets[p];
  return NULL;
}

PlaSegmentOptions
pla_segment_options_default(void)
{
  return (
      PlaSegmentOptions){ .lo = 1.0, .hi = 0.0, .label = 1, .connectivity = PLA_CONNECT_CORNERS };
}

void
pla_segment_threshold(const PlaVolume *vol, int frame, double lo, double hi, uint8_t *mask)
{
  assert(frame >= 0 && frame < vol->dims[3]);
  const size_t n = (size_t)vol->dims[0] * (size_t)vol->dims[1] * (size_t)vol->dims[2];
  const size_t first = n * (size_t)frame, n_blocks = (n + PLA_BLOCK - 1) / PLA_BLOCK;
  const double slope = vol->slope, inter = vol->inter;
#pragma omp parallel for schedule(static)
  for (size_t b = 0; b < n_blocks; b++) {
    double stored[PLA_BLOCK];
    const size_t at = b * PLA_BLOCK, count = n - at < PLA_BLOCK ? n - at : PLA_BLOCK;
    pla_dtype_to_double(vol->dtype, vol->voxels, first + at, count, stored);
    for (size_t v = 0; v < count; v++) {
      double value = slope * stored[v] + inter;
      mask[at + v] = value >= lo && value <= hi;
    }
  }
}

PlaStatus
pla_segment_new_labels(const PlaVolume *vol, PlaDType dtype, PlaVolume **out, PlaError *err)
{
  const int dims[4] = { vol->dims[0], vol->dims[1], vol->dims[2], 1 };
  PlaStatus st = pla_volume_new(dims, dtype, out, err);
  if (st == PLA_OK) {
    memcpy((*out)->affine_mm, vol->affine_mm, sizeof vol->affine_mm);
    (*out)->audit = vol->audit;
  }
  return st;
}

/* the index axis that runs most along head-foot */
static int
axial_axis(const PlaVolume *vol)
{
  char letters[4];
  pla_volume_orientation(vol, letters);
  for (int d = 0; d < 3; d++)
    if (letters[d] == 'S' || letters[d] == 'I')
      return d;
  return 2;
}

static PlaStatus
check_options(const PlaVolume *vol, const PlaSegmentOptions *opts, PlaError *err)
{
  if (opts->frame < 0 || opts->frame >= vol->dims[3])
    return pla_fail(err, PLA_ERR_USAGE, "the volume has no frame %d; it has frames 0 to %d",
                    opts->frame, vol->dims[3] - 1);
  if (opts->preset) {
    if (opts->open_mm != 0.0 || opts->close_mm != 0.0 || opts->largest || opts->fill_holes ||
        opts->fill_slices)
      return pla_fail(err, PLA_ERR_USAGE,
                      "the preset %s does its own clean-up; leave out opening, closing, largest "
                      "and fill-holes, or give a threshold instead",
                      opts->preset);
    return PLA_OK;
  }
  if (isnan(opts->lo) || isnan(opts->hi) || opts->lo > opts->hi)
    return pla_fail(err, PLA_ERR_USAGE,
                    "no value lies between %g and %g; give the lower bound first", opts->lo,
                    opts->hi);
  if (opts->label < 1 || opts->label > 65535)
    return pla_fail(err, PLA_ERR_USAGE, "label %d is outside 1 to 65535", opts->label);
  return PLA_OK;
}

/* threshold and clean-up, in the order that the options are declared */
static PlaStatus
segment_range(const PlaVolume *vol, const PlaSegmentOptions *opts, PlaProgress *progress,
              uint8_t *mask, PlaError *err)
{
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Applying the threshold", 0.1);
  pla_segment_threshold(vol, opts->frame, opts->lo, opts->hi, mask);
  if (pla_mask_count(vol->dims, mask) == 0) {
    double lo, hi;
    pla_volume_range(vol, &lo, &hi);
    return pla_fail(err, PLA_ERR_EMPTY,
                    "no voxel lies between %g and %g; the volume's values run from %g to %g",
                    opts->lo, opts->hi, lo, hi);
  }
  pla_progress_phase(progress, "Opening", 0.4);
  if (opts->open_mm != 0.0)
    st = pla_mask_morph(vol->dims, vol->affine_mm, mask, PLA_MORPH_OPEN, opts->open_mm, progress,
                        err);
  pla_progress_phase(progress, "Closing", 0.7);
  if (st == PLA_OK && opts->close_mm != 0.0)
    st = pla_mask_morph(vol->dims, vol->affine_mm, mask, PLA_MORPH_CLOSE, opts->close_mm, progress,
                        err);
  pla_progress_phase(progress, "Finding the largest region", 0.8);
  if (st == PLA_OK && opts->largest)
    st = pla_mask_keep_largest(vol->dims, mask, opts->connectivity, progress, NULL, err);
  pla_progress_phase(progress, "Filling holes", 0.9);
  if (st == PLA_OK && opts->fill_holes)
    st = pla_mask_fill_holes(vol->dims, mask, opts->connectivity, 0, progress, NULL, err);
  if (st == PLA_OK && opts->fill_slices)
    st = pla_mask_fill_slices(vol->dims, mask, axial_axis(vol), opts->connectivity, progress, NULL,
                              err);
  if (st == PLA_OK && pla_mask_count(vol->dims, mask) == 0)
    st = pla_fail(err, PLA_ERR_EMPTY,
                  "an opening by %g mm leaves nothing of the values between %g and %g; use a "
                  "smaller radius",
                  opts->open_mm, opts->lo, opts->hi);
  return st;
}

/* pieces of the labelled region as a whole */
static PlaStatus
count_pieces(const int dims[3], const uint8_t *mask, PlaProgress *progress, int *n, PlaError *err)
{
  size_t pieces = 0;
  uint32_t *number =
      pla_array_new((size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2], sizeof *number);
  PlaStatus st = number ? pla_components_find(dims, mask, 0, true, PLA_CONNECT_CORNERS, progress,
                                              number, &pieces, NULL, err)
                        : pla_fail_memory(err, "connected regions");
  free(number);
  *n = (int)pieces;
  return st;
}

PlaStatus
pla_segment(const PlaVolume *vol, const PlaSegmentOptions *opts, PlaProgress *progress,
            PlaLabelMap **out, PlaSegmentReport *report, PlaError *err)
{
  PlaSegmentReport found = { 0 };
  PlaVolume *labels = NULL;
  PlaLabelTable table = { 0 };
  const PlaSegmentPreset *preset = NULL;
  *out = NULL;
  PlaStatus st = check_options(vol, opts, err);
  if (st == PLA_OK && opts->preset) {
    preset = pla_segment_preset_find(opts->preset);
    if (!preset)
      st = pla_fail(err, PLA_ERR_USAGE, "there is no preset \"%s\"", opts->preset);
  }
  if (st == PLA_OK)
    st = pla_segment_new_labels(vol, PLA_U8, &labels, err);

  /* the tissues, as ids 1.. of a preset or as a mask */
  if (st == PLA_OK && preset) {
    st = preset->run(vol, opts->frame, progress, labels->voxels, &found, err);
    for (int t = 0; st == PLA_OK && preset->tissue[t].id; t++)
      st = pla_label_table_set(&table, preset->tissue[t].id, preset->tissue[t].name,
                               preset->tissue[t].rgba, err);
  } else if (st == PLA_OK) {
    st = segment_range(vol, opts, progress, labels->voxels, err);
    if (st == PLA_OK) {
      char *name = opts->name ? pla_strdup(opts->name) : pla_strdup_printf("label %d", opts->label);
      st = name ? pla_label_table_set(&table, opts->label, name, NULL, err)
                : pla_fail_memory(err, "a label name");
      free(name);
    }
  }
  pla_progress_phase(progress, "Counting regions", 1.0);
  if (st == PLA_OK)
    st = count_pieces(labels->dims, labels->voxels, progress, &found.n_components, err);

  /* the id that was asked for */
  if (st == PLA_OK && !preset && opts->label != 1) {
    PlaVolume *mask = labels;
    labels = NULL;
    st = pla_segment_new_labels(vol, opts->label < 256 ? PLA_U8 : PLA_U16, &labels, err);
    if (st == PLA_OK) {
      const uint8_t *inside = mask->voxels;
      const size_t n = pla_volume_n_voxels(mask);
      for (size_t v = 0; v < n; v++)
        if (inside[v])
          pla_dtype_set(labels->dtype, labels->voxels, v, opts->label);
    }
    pla_volume_free(mask);
  }
  if (st == PLA_OK)
    st = pla_label_map_take(labels, &table, out, err);
  if (st == PLA_OK) {
    labels = NULL;
    if (report)
      *report = found;
    pla_progress_step(progress, 1.0);
  }
  pla_volume_free(labels);
  pla_label_table_clear(&table);
  return st;
}

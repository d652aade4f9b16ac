/* Segment: a volume becomes a label map. */
#include "anatomy/segment/segment.h"
#include "app/verbs/operations.h"

#include <string.h>

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) volume = NULL;
  PlaSegmentOptions opts = pla_segment_options_default();
  PlaSegmentReport report = { 0 };
  PlaLabelMap *labels = NULL;
  opts.preset = pla_work_text(work, "preset");
  if (!opts.preset && (pla_work_is_null(work, "lo") || pla_work_is_null(work, "hi")))
    return pla_fail(err, PLA_ERR_USAGE,
                    "'segment' needs a \"preset\", or a range from \"lo\" to \"hi\"");
  if (!opts.preset) {
    opts.lo = pla_work_number(work, "lo");
    opts.hi = pla_work_number(work, "hi");
    opts.label = pla_work_int(work, "label");
    opts.name = pla_work_text(work, "label_name");
    opts.open_mm = pla_work_number(work, "open_mm");
    opts.close_mm = pla_work_number(work, "close_mm");
    opts.largest = pla_work_bool(work, "largest");
    opts.fill_holes = pla_work_bool(work, "fill_holes");
    opts.fill_slices = pla_work_bool(work, "fill_slices");
  }
  opts.frame = pla_work_int(work, "frame");
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_VOLUME, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &volume, err);
  if (st == PLA_OK)
    st = pla_segment(volume->volume, &opts, pla_work_progress(work), &labels, &report, err);
  if (st != PLA_OK)
    return st;

  PlaContent *content = pla_content_new(PLA_ITEM_LABELS);
  content->labels = labels;
  JsonObject *found = json_object_new();
  json_object_set_string_member(found, "volume", pla_work_item_name(work, item));
  json_object_set_int_member(found, "components", report.n_components);
  json_object_set_double_member(found, "hull_mm3", report.hull_mm3);
  json_object_set_double_member(found, "removed_mm3", report.removed_mm3);
  json_object_set_object_member(content->meta, "segmented", found);
  g_autofree char *own_name = g_strdup_printf("%s labels", pla_work_item_name(work, item));
  const char *name = pla_work_text(work, "name");
  pla_work_add(work, name ? name : own_name, content);
  return PLA_OK;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the volume" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the label map" },
  { "preset", PLA_PARAM_TEXT, NULL, 0, 0, "null", "ct-head; without one the range below is used" },
  { "lo", PLA_PARAM_NUMBER, NULL, 0, 0, "null", "smallest value kept" },
  { "hi", PLA_PARAM_NUMBER, NULL, 0, 0, "null", "largest value kept" },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, "1", "id of the label" },
  { "label_name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the label" },
  { "frame", PLA_PARAM_INT, NULL, 0, 1000000, "0", "frame of a volume over time" },
  { "open_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0", "radius of an opening" },
  { "close_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0", "radius of a closing" },
  { "largest", PLA_PARAM_BOOL, NULL, 0, 0, "false", "keep the largest piece only" },
  { "fill_holes", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "fill holes that are not connected to the border" },
  { "fill_slices", PLA_PARAM_BOOL, NULL, 0, 0, "false", "fill holes slice by slice" },
  { NULL },
};

const PlaOperation pla_operation_segment = {
  .verb = "segment",
  .title = "Segment",
  .summary = "labels a volume by a range of values or a preset",
  .params = params,
  .run = run,
};

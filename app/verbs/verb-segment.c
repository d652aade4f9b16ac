/* Segment: a volume becomes a label map. */
#include "anatomy/segment/segment.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/describe.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <string.h>

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  const bool preset = !json_object_get_null_member(params, "preset");
  const bool lo = !json_object_get_null_member(params, "lo"),
             hi = !json_object_get_null_member(params, "hi");
  if (preset && (lo || hi))
    return pla_fail(err, PLA_ERR_USAGE, "give either a preset or a range of values, not both");
  if (!preset && (!lo || !hi))
    return pla_fail(err, PLA_ERR_USAGE,
                    "'segment' needs a preset such as ct-head, or the lowest and the highest value "
                    "of a range");
  if (preset && !json_object_get_null_member(params, "label_name"))
    return pla_fail(err, PLA_ERR_USAGE,
                    "the name of a label goes with a range of values; the preset %s has its own",
                    json_object_get_string_member(params, "preset"));
  const gint64 connectivity = json_object_get_int_member(params, "connectivity");
  if (connectivity != 6 && connectivity != 18 && connectivity != 26)
    return pla_fail(err, PLA_ERR_USAGE, "connectivity is 6, 18 or 26, not %d", (int)connectivity);
  return PLA_OK;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) volume = NULL;
  PlaSegmentOptions opts = pla_segment_options_default();
  PlaSegmentReport report = { 0 };
  PlaLabelMap *labels = NULL;
  opts.preset = pla_work_text(work, "preset");
  if (!opts.preset) {
    opts.lo = pla_work_number(work, "lo");
    opts.hi = pla_work_number(work, "hi");
    opts.name = pla_work_text(work, "label_name");
  }
  opts.label = pla_work_int(work, "label");
  opts.open_mm = pla_work_number(work, "open_mm");
  opts.close_mm = pla_work_number(work, "close_mm");
  opts.largest = pla_work_bool(work, "largest");
  opts.fill_holes = pla_work_bool(work, "fill_holes");
  opts.fill_slices = pla_work_bool(work, "fill_slices");
  opts.connectivity = (PlaConnectivity)pla_work_int(work, "connectivity");
  opts.frame = pla_work_int(work, "frame");
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_VOLUME, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &volume, err);
  if (st == PLA_OK)
    st = pla_segment(volume->volume, &opts, pla_work_progress(work), &labels, &report, err);
  if (st == PLA_OK)
    st = pla_labels_describe(labels, pla_work_json(work), pla_work_lines(work), err);
  if (st != PLA_OK) {
    pla_label_map_free(labels);
    return st;
  }
  JsonBuilder *json = pla_work_json(work);
  pla_json_int(json, "components", report.n_components);
  pla_work_say(work, "  %d connected %s", report.n_components,
               report.n_components == 1 ? "region" : "regions");
  if (opts.preset) {
    pla_json_text(json, "preset", opts.preset);
    pla_json_number(json, "hull_volume_mm3", report.hull_mm3);
    pla_json_number(json, "removed_volume_mm3", report.removed_mm3);
    g_autofree char *hull = pla_quantity_text(PLA_QUANTITY_VOLUME, report.hull_mm3, PLA_UNIT_MM3);
    g_autofree char *removed =
        pla_quantity_text(PLA_QUANTITY_VOLUME, report.removed_mm3, PLA_UNIT_MM3);
    pla_work_say(work, "  whole body with its cavities: %s; head-rest and the like left out: %s",
                 hull, removed);
  }
  PlaContent *content = pla_content_new(PLA_ITEM_LABELS);
  content->labels = labels;
  g_autofree char *own_name = g_strdup_printf("%s labels", pla_work_item_name(work, item));
  const char *name = pla_work_text(work, "name");
  pla_work_add(work, name ? name : own_name, content);
  return PLA_OK;
}

static bool
preset_choice(int i, PlaParamChoice *out)
{
  for (const PlaSegmentPreset *const *p = pla_segment_presets_get(); *p; p++)
    if (i-- == 0) {
      *out = (PlaParamChoice){ (*p)->id, (*p)->title, NULL };
      return true;
    }
  return false;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the volume", .positional = true,
    .kinds = PLA_ITEM_VOLUME },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the label map", .option = "" },
  { "preset", PLA_PARAM_TEXT, NULL, 0, 0, "null",
    N_("a kind of scan: ct-head (soft tissue, bone, airway)"),
    .panel = { .title = N_("_Kind of scan"), .begin = "\"ct-head\"", .choice = preset_choice } },
  { "lo", PLA_PARAM_NUMBER, NULL, 0, 0, "null", N_("values to label, both included (HU in a CT)"),
    .option = "threshold", .arg = "LO HI", .part = 1,
    .panel = { .title = N_("F_rom"), .spoken = N_("Lowest value"), .begin = "300", .step = 10 } },
  { "hi", PLA_PARAM_NUMBER, NULL, 0, 0, "null", N_("the largest of these values"),
    .option = "threshold", .part = 2,
    .panel = { .title = N_("_To"), .spoken = N_("Highest value"), .begin = "3000", .step = 10 } },
  { "label", PLA_PARAM_INT, NULL, 1, 65535, "1", "id of that label", .arg = "ID" },
  { "label_name", PLA_PARAM_TEXT, NULL, 1, 200, "null", N_("its name; \"label ID\" without one"),
    .option = "name", .arg = "TEXT", .panel = { .title = N_("_Name"), .words = N_("Bone") } },
  { "open_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0",
    "remove what a ball of this radius does not fit into", .arg = "R" },
  { "close_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0",
    "then close gaps that a ball of this radius does not fit into", .arg = "R" },
  { "largest", PLA_PARAM_BOOL, NULL, 0, 0, "false", N_("then keep the largest connected region"),
    .panel = { .title = N_("_Largest piece only"),
               .spoken = N_("Largest piece only"),
               .begin = "true" } },
  { "fill_holes", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "then fill holes that are not connected to the border of the volume" },
  { "fill_slices", PLA_PARAM_BOOL, NULL, 0, 0, "false", "also fill holes of each axial slice" },
  { "connectivity", PLA_PARAM_INT, NULL, 6, 26, "26", "voxels touch by 6, 18 or 26 neighbours" },
  { "frame", PLA_PARAM_INT, NULL, 0, 1000000, "0", "which frame of a volume over time, from 0" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "labels", "id, name, voxels and volume_mm3 of each label" },
  { "components", "connected regions" },
  { "preset", "the preset, where one was used" },
  { "hull_volume_mm3", "whole body with its cavities; of a preset" },
  { "removed_volume_mm3", "head-rest and the like, left out; of a preset" },
  { NULL },
};

const PlaVerb pla_verb_segment = {
  .name = "segment",
  .title = "Segment",
  .summary = "labels tissues by a preset, or by threshold, components and morphology",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_LABELS,
  .keeps = "segmented",
  .check = check,
  .run = run,
};

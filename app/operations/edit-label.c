/* Edit label: a brush stroke in a label map. */
#include "anatomy/base/memory.h"
#include "anatomy/label-edit.h"
#include "app/operations/operations.h"

#include <stdio.h>

/* a private copy of a label map, which contents in memory share */
static PlaStatus
dup_labels(const PlaContent *from, PlaContent **out, PlaError *err)
{
  g_autoptr(PlaContent) copy = pla_content_new(PLA_ITEM_LABELS);
  PlaVolume *vol = NULL;
  json_object_unref(copy->meta);
  copy->meta = json_object_ref(from->meta); /* immutable like all of @from */
  PlaStatus st = pla_volume_dup(from->labels->volume, &vol, err);
  if (st != PLA_OK)
    return st;
  copy->labels = pla_array_new0(1, sizeof *copy->labels);
  if (!copy->labels) {
    pla_volume_free(vol);
    return pla_fail_memory(err, "the label map");
  }
  copy->labels->volume = vol;
  st = pla_label_table_dup(&from->labels->table, &copy->labels->table, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&copy);
  return st;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) before = NULL;
  g_autoptr(PlaContent) after = NULL;
  PlaBrush brush = { .radius_mm = pla_work_number(work, "radius_mm"),
                     .label = pla_work_int(work, "label"),
                     .only = pla_work_int(work, "only") };
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &before, err);
  if (st == PLA_OK)
    st = dup_labels(before, &after, err);
  if (st != PLA_OK)
    return st;

  int n_points;
  size_t n_changed = 0;
  g_autofree double *points = pla_work_points(work, "points_mm", &n_points);
  st = pla_label_edit_stroke(after->labels, points, n_points, &brush, &n_changed, err);
  if (st == PLA_OK && n_changed == 0)
    return pla_fail(err, PLA_ERR_EMPTY,
                    "the stroke changes no voxel of '%s'; check its place and what it may replace",
                    pla_work_item_name(work, item));
  if (st == PLA_OK && brush.label > 0 &&
      !pla_label_table_find(&after->labels->table, brush.label)) {
    char name[32];
    snprintf(name, sizeof name, "label %d", brush.label);
    st = pla_label_table_set(&after->labels->table, brush.label, name, NULL, err);
  }
  if (st == PLA_OK)
    pla_work_replace(work, item, g_steal_pointer(&after));
  return st;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "points_mm", PLA_PARAM_POINTS, "mm", 0, 0, NULL, "the stroke: points in RAS" },
  { "radius_mm", PLA_PARAM_NUMBER, "mm", 0.001, 1000, NULL, "radius of the brush" },
  { "label", PLA_PARAM_INT, NULL, 0, 65535, NULL, "id to paint; 0 erases" },
  { "only", PLA_PARAM_INT, NULL, -1, 65535, "-1", "change only voxels with this id; -1: all" },
  { NULL },
};

const PlaOperation pla_operation_edit_label = {
  .verb = "edit-label",
  .title = "Edit Label",
  .summary = "paints or erases a label along a stroke",
  .params = params,
  .run = run,
};

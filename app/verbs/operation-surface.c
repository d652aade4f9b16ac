/* Surface: a closed triangle surface of some labels. */
#include "anatomy/surface/surface.h"
#include "app/verbs/operations.h"

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) labels = NULL;
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaSurfaceReport report = { 0 };
  PlaMesh *mesh = NULL;
  opts.smooth_mm = pla_work_number(work, "smooth_mm");
  opts.n_tris = pla_work_int(work, "triangles");
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &labels, err);
  if (st == PLA_OK)
    st = pla_operation_read_labels(labels->labels, pla_work_list(work, "labels"), ids, err);
  if (st == PLA_OK)
    st = pla_surface_from_labels(labels->labels, (const int *)(void *)ids->data, (int)ids->len,
                                 &opts, pla_work_progress(work), &mesh, &report, err);
  if (st != PLA_OK)
    return st;

  PlaContent *content = pla_content_new(PLA_ITEM_MESH);
  content->mesh = mesh;
  JsonObject *found = json_object_new();
  json_object_set_string_member(found, "labels", pla_work_item_name(work, item));
  json_object_set_boolean_member(found, "closed", report.closed);
  json_object_set_int_member(found, "self_intersections", report.self_intersections);
  json_object_set_double_member(found, "volume_mm3", report.volume_mm3);
  json_object_set_double_member(found, "label_volume_mm3", report.label_volume_mm3);
  json_object_set_double_member(found, "decimation_mm", report.decimation_mm);
  json_object_set_object_member(content->meta, "surface", found);
  const PlaLabel *first = pla_label_table_find(&labels->labels->table, g_array_index(ids, int, 0));
  g_autofree char *own_name = g_strdup_printf("%s surface", first->name);
  const char *name = pla_work_text(work, "name");
  pla_work_add(work, name ? name : own_name, content);
  return PLA_OK;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, NULL, "ids or names of the labels to enclose" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the surface" },
  { "smooth_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "detail to remove" },
  { "triangles", PLA_PARAM_INT, NULL, 0, 500000000, "0", "reduce to so many; 0 keeps all" },
  { NULL },
};

const PlaOperation pla_operation_surface = {
  .verb = "surface",
  .title = "Make Surface",
  .summary = "makes the closed surface of labels",
  .params = params,
  .run = run,
};

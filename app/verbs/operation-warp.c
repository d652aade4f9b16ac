/* Warp: a template carried onto the patient by landmarks that both name. */
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "app/verbs/operations.h"

#include <string.h>

/* a list parameter as landmarks */
static PlaStatus
read_list(PlaWork *work, const char *param, PlaLandmarks *out, PlaError *err)
{
  g_autoptr(JsonNode) node = json_node_new(JSON_NODE_ARRAY);
  json_node_set_array(node, pla_work_list(work, param));
  PlaJson list = { .node = node };
  g_strlcpy(list.path, param, sizeof list.path);
  return pla_landmarks_from_json(list, out, err);
}

/* the result for a label map or a mesh */
static PlaStatus
warp_content(PlaWork *work, const PlaWarp *warp, const PlaContent *from, double spacing_mm,
             PlaContent **out, PlaError *err)
{
  PlaProgress *progress = pla_work_progress(work);
  g_autoptr(PlaContent) content = pla_content_new(from->kind);
  PlaStatus st = PLA_OK;
  if (from->labels) {
    if (!(spacing_mm > 0.0)) {
      double spacing[3];
      pla_volume_spacing_mm(from->labels->volume, spacing);
      spacing_mm = MIN(spacing[0], MIN(spacing[1], spacing[2]));
    }
    st = pla_warp_labels(warp, from->labels, spacing_mm, progress, &content->labels, err);
  } else if (from->mesh) {
    st = pla_mesh_dup(from->mesh, &content->mesh, err);
    if (st == PLA_OK)
      st = pla_warp_mesh(warp, content->mesh, progress, err);
  } else
    st = pla_fail(err, PLA_ERR_USAGE, "a %s cannot be warped; labels and meshes can", from->kind);
  if (st == PLA_OK)
    *out = g_steal_pointer(&content);
  return st;
}

static JsonObject *
describe(const PlaLandmarks *from, const PlaLandmarkPairs *pairs, const PlaWarpReport *r,
         const double *left_out)
{
  JsonObject *found = json_object_new(), *each = json_object_new();
  json_object_set_double_member(found, "rigid_mm", r->rigid_mm);
  json_object_set_double_member(found, "affine_mm", r->affine_mm);
  json_object_set_double_member(found, "rms_mm", r->rms_mm);
  if (pairs->n > 4) {
    json_object_set_double_member(found, "left_out_mm", r->left_out_mm);
    for (int i = 0; i < pairs->n; i++)
      json_object_set_double_member(each, from->name[pairs->index[0][i]], left_out[i]);
  }
  json_object_set_object_member(found, "left_out", each);
  return found;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) template = NULL;
  PlaContent *result = NULL;
  PlaPhantom phantom = { 0 };
  PlaMuscleList muscles = { 0 };
  PlaLandmarks from = { 0 }, to = { 0 };
  PlaLandmarkPairs pairs = { 0 };
  PlaWarp *warp = NULL;
  PlaWarpReport report;
  g_autofree double *left_out = NULL;
  const char *name = NULL;
  PlaStatus st;
  if (!pla_work_is_null(work, "phantom")) {
    name = pla_work_text(work, "phantom");
    st = pla_phantom_make(
        name, pla_work_is_null(work, "spacing_mm") ? 0.0 : pla_work_number(work, "spacing_mm"),
        NULL, &phantom, err);
    if (st == PLA_OK && phantom.n_muscles > 0)
      st = pla_muscle_list_from_phantom(&phantom, &muscles, err);
    if (st == PLA_OK) {
      pla_landmarks_from_phantom(&phantom, &from);
      template = pla_content_new(phantom.labels ? PLA_ITEM_LABELS : PLA_ITEM_MESH);
      template->labels = g_steal_pointer(&phantom.labels);
      template->mesh = g_steal_pointer(&phantom.mesh);
    }
  } else {
    st = pla_work_is_null(work, "item")
             ? pla_fail(err, PLA_ERR_USAGE, "name what to warp: \"item\" or \"phantom\"")
             : pla_work_item(work, "item", NULL, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &template, err);
    if (st == PLA_OK)
      name = pla_work_item_name(work, item);
    if (st == PLA_OK)
      st = read_list(work, "from", &from, err);
  }
  if (st == PLA_OK)
    st = read_list(work, "to", &to, err);
  if (st == PLA_OK) {
    pla_landmark_pairs_init(&pairs, &from, &to);
    left_out = g_new0(double, pairs.n + 1);
    st = pla_warp_new(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1], pla_work_number(work, "relax_mm"),
                      &warp, left_out, &report, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%d landmarks are named both in the template and in the patient",
                      pairs.n);
  }
  if (st == PLA_OK)
    st = warp_content(work, warp, template,
                      pla_work_is_null(work, "spacing_mm") ? 0.0
                                                           : pla_work_number(work, "spacing_mm"),
                      &result, err);
  if (st == PLA_OK) {
    g_autofree char *own = g_strdup_printf("%s, warped", name);
    json_object_set_object_member(result->meta, "warp", describe(&from, &pairs, &report, left_out));
    const char *given =
        pla_work_add(work, pla_work_is_null(work, "name") ? own : pla_work_text(work, "name"),
                     result);
    if (muscles.n > 0) {
      PlaContent *list = pla_content_new(PLA_ITEM_MUSCLES);
      g_autofree char *title = g_strdup_printf("%s: muscles", given);
      pla_warp_muscles(warp, &muscles);
      g_autoptr(JsonNode) node = pla_muscle_list_to_json(&muscles);
      json_object_set_array_member(
          list->meta, "muscles",
          json_array_ref(json_object_get_array_member(json_node_get_object(node), "muscles")));
      pla_work_add(work, title, list);
    }
  }
  pla_warp_free(warp);
  pla_landmark_pairs_clear(&pairs);
  pla_landmarks_clear(&from);
  pla_landmarks_clear(&to);
  pla_muscle_list_clear(&muscles);
  pla_phantom_clear(&phantom);
  return st;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the template: labels or a mesh" },
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, "null",
    "or this phantom, with its own landmarks and muscles" },
  { "from", PLA_PARAM_LIST, NULL, 0, 0, "[]", "the template's landmarks: name, at_mm" },
  { "to", PLA_PARAM_LIST, NULL, 0, 0, NULL, "the patient's landmarks: name, at_mm" },
  { "relax_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "residual allowed at the landmarks (rms)" },
  { "spacing_mm", PLA_PARAM_NUMBER, "mm", 0.1, 100, "null", "voxels of warped labels" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the result" },
  { NULL },
};

const PlaOperation pla_operation_warp = {
  .verb = "warp",
  .title = "Warp Template",
  .summary = "carries a template onto the patient by landmarks",
  .params = params,
  .run = run,
};

/* Warp: a template carried onto the patient by landmarks that both name. */
#include "app/base/json.h"
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "app/verbs/verbs.h"

#include <math.h>
#include <string.h>

typedef struct {
  const char *name;
  PlaContent *content; /* labels or a mesh, to be changed */
  PlaLandmarks mark;
  PlaMuscleList muscles; /* may be empty */
} Template;

static void
template_clear(Template *t)
{
  pla_content_unref(t->content);
  pla_landmarks_clear(&t->mark);
  pla_muscle_list_clear(&t->muscles);
}

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

static double
spacing_mm(PlaWork *work)
{
  return pla_work_is_null(work, "spacing_mm") ? 0.0 : pla_work_number(work, "spacing_mm");
}

static PlaStatus
read_phantom(PlaWork *work, Template *out, PlaError *err)
{
  PlaPhantom phantom = { 0 };
  out->name = pla_work_text(work, "phantom");
  PlaStatus st =
      pla_phantom_make(out->name, spacing_mm(work), pla_work_progress(work), &phantom, err);
  if (st == PLA_OK && phantom.n_muscles > 0)
    st = pla_muscle_list_from_phantom(&phantom, &out->muscles, err);
  if (st == PLA_OK) {
    pla_landmarks_from_phantom(&phantom, &out->mark);
    out->content = pla_content_new(phantom.labels ? PLA_ITEM_LABELS : PLA_ITEM_MESH);
    out->content->labels = g_steal_pointer(&phantom.labels);
    out->content->mesh = g_steal_pointer(&phantom.mesh);
  }
  pla_phantom_clear(&phantom);
  return st;
}

/* the muscles of an item that describes some */
static PlaStatus
read_description(PlaWork *work, PlaMuscleList *out, PlaError *err)
{
  g_autoptr(JsonObject) meta = NULL;
  int64_t item;
  PlaStatus st = pla_work_item(work, "description", PLA_ITEM_MUSCLES, &item, err);
  if (st == PLA_OK)
    st = pla_work_load_meta(work, item, &meta, err);
  if (st != PLA_OK)
    return st;
  /* muscles that were built know more than their description */
  g_autoptr(JsonObject) described = json_object_new();
  if (json_object_has_member(meta, "mesh"))
    json_object_set_member(described, "muscles",
                           json_node_copy(json_object_get_member(meta, "muscles")));
  g_autoptr(JsonNode) node =
      json_node_init_object(json_node_alloc(),
                            json_object_has_member(meta, "mesh") ? described : meta);
  pla_muscle_list_clear(out);
  st = pla_muscle_list_from_json((PlaJson){ .node = node }, out, err);
  if (st != PLA_OK)
    pla_fail_within(err, "%s", pla_work_item_name(work, item));
  return st;
}

static PlaStatus
read_template(PlaWork *work, Template *out, PlaError *err)
{
  int64_t item;
  const bool marked = json_array_get_length(pla_work_list(work, "from")) > 0;
  PlaStatus st = PLA_OK;
  if (!pla_work_is_null(work, "phantom"))
    st = read_phantom(work, out, err);
  else if (pla_work_is_null(work, "item"))
    st = pla_fail(err, PLA_ERR_USAGE, "name what to warp: an item or a phantom");
  else if (!marked)
    st = pla_fail(err, PLA_ERR_USAGE, "the template has no landmarks; give them (from)");
  else {
    st = pla_work_item(work, "item", NULL, &item, err);
    if (st == PLA_OK)
      st = pla_work_load_own(work, item, &out->content, err);
    if (st == PLA_OK)
      out->name = pla_work_item_name(work, item);
  }
  if (st == PLA_OK && marked) {
    pla_landmarks_clear(&out->mark);
    st = read_list(work, "from", &out->mark, err);
  }
  if (st == PLA_OK && !pla_work_is_null(work, "description"))
    st = read_description(work, &out->muscles, err);
  if (st == PLA_OK && out->muscles.n == 0 && !pla_work_is_null(work, "muscles") &&
      pla_work_bool(work, "muscles"))
    st = pla_fail(err, PLA_ERR_USAGE, "the template has no muscles; give their description");
  return st;
}

/* names that only one side has */
static void
tell_unmatched(PlaWork *work, const char *key, const PlaLandmarks *a, const PlaLandmarks *b)
{
  JsonBuilder *json = pla_work_json(work);
  int n = 0;
  json_builder_set_member_name(json, key);
  json_builder_begin_array(json);
  for (int i = 0; i < a->n; i++)
    if (pla_landmarks_find(b, a->name[i]) < 0) {
      json_builder_add_string_value(json, a->name[i]);
      n++;
    }
  json_builder_end_array(json);
  if (n > 0)
    pla_work_say(work, "  %d %s", n,
                 g_str_equal(key, "only_in_template") ? "landmarks of the template have no partner"
                                                      : "landmarks of the patient have no partner");
}

static void
tell(PlaWork *work, const PlaLandmarks *from, const PlaLandmarks *to, const PlaLandmarkPairs *pairs,
     const PlaWarp *warp, const double *left_out, const PlaWarpReport *r, const double range[2])
{
  JsonBuilder *json = pla_work_json(work);
  const char *worst = from->name[pairs->index[0][r->worst]];
  pla_json_int(json, "landmarks_used", pairs->n);
  pla_json_number(json, "rigid_mm", r->rigid_mm);
  pla_json_number(json, "affine_mm", r->affine_mm);
  pla_json_number(json, "rms_mm", r->rms_mm);
  pla_json_number(json, "left_out_mm", r->left_out_mm);
  pla_json_text(json, "worst", worst);
  pla_json_number(json, "worst_mm", r->worst_mm);
  pla_json_number(json, "least_volume_factor", range[0]);
  pla_json_number(json, "largest_volume_factor", range[1]);
  pla_json_number(json, "condition", r->condition);
  pla_work_say(work,
               "%d landmarks: rms %.2f mm after the best rigid motion, %.2f affine, %.3f warped",
               pairs->n, r->rigid_mm, r->affine_mm, r->rms_mm);
  if (isfinite(r->left_out_mm))
    pla_work_say(work, "  each from the others: rms %.2f mm, worst '%s' %.2f mm", r->left_out_mm,
                 worst, r->worst_mm);
  pla_work_say(work, "  volumes change by factors of %.3f to %.3f%s", range[0], range[1],
               range[0] > 0.0 ? "" : ": the warp folds, check the landmarks");
  json_builder_set_member_name(json, "landmarks");
  json_builder_begin_array(json);
  for (int i = 0; i < pairs->n; i++) {
    double x[3], miss = 0.0;
    pla_warp_apply(warp, 1, pairs->pos_mm[0] + 3 * i, x);
    for (int d = 0; d < 3; d++)
      miss += (x[d] - pairs->pos_mm[1][3 * i + d]) * (x[d] - pairs->pos_mm[1][3 * i + d]);
    json_builder_begin_object(json);
    pla_json_text(json, "name", from->name[pairs->index[0][i]]);
    pla_json_number(json, "residual_mm", sqrt(miss));
    pla_json_number(json, "left_out_mm", left_out[i]);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  tell_unmatched(work, "only_in_template", from, to);
  tell_unmatched(work, "only_in_patient", to, from);
}

/* places of the template at which folding is looked for: its vertices, or a grid of its voxels */
static double *
probe_places(const PlaContent *content, int *n)
{
  enum { STEPS = 24 };
  const PlaMesh *mesh = content->mesh;
  if (mesh) {
    double *pos = g_new(double, 3 * (size_t)mesh->n_verts + 1);
    *n = mesh->n_verts;
    for (size_t i = 0; i < 3 * (size_t)*n; i++)
      pos[i] = 1000.0 * mesh->pos[i];
    return pos;
  }
  const PlaVolume *volume = content->labels->volume;
  double *pos = g_new(double, 3 * STEPS * STEPS * STEPS);
  *n = STEPS * STEPS * STEPS;
  for (int i = 0; i < *n; i++) {
    const double ijk[3] = { (double)(i % STEPS) / (STEPS - 1) * (volume->dims[0] - 1),
                            (double)(i / STEPS % STEPS) / (STEPS - 1) * (volume->dims[1] - 1),
                            (double)(i / (STEPS * STEPS)) / (STEPS - 1) * (volume->dims[2] - 1) };
    pla_volume_to_ras_mm(volume, ijk, pos + 3 * i);
  }
  return pos;
}

static PlaStatus
warp_content(PlaWork *work, const PlaWarp *warp, PlaContent *content, PlaError *err)
{
  PlaProgress *progress = pla_work_progress(work);
  if (content->mesh)
    return pla_warp_mesh(warp, content->mesh, progress, err);
  double spacing[3], finest = spacing_mm(work);
  PlaLabelMap *moved = NULL;
  if (!(finest > 0.0)) {
    pla_volume_spacing_mm(content->labels->volume, spacing);
    finest = fmin(spacing[0], fmin(spacing[1], spacing[2]));
  }
  PlaStatus st = pla_warp_labels(warp, content->labels, finest, progress, &moved, err);
  if (st == PLA_OK) {
    pla_label_map_free(content->labels);
    content->labels = moved;
  }
  return st;
}

/* what was warped, and what goes with it */
static void
add_results(PlaWork *work, const PlaWarp *warp, Template *t)
{
  g_autofree char *own = g_strdup_printf("%s, warped", t->name);
  const char *name = pla_work_text(work, "name");
  const char *given = pla_work_add(work, name ? name : own, g_steal_pointer(&t->content));
  if (t->muscles.n > 0 && (pla_work_is_null(work, "muscles") || pla_work_bool(work, "muscles"))) {
    g_autofree char *title = g_strdup_printf("%s: muscles", given);
    pla_warp_muscles(warp, &t->muscles);
    pla_work_add(work, title, pla_muscle_description_new(&t->muscles));
  }
  if (pla_work_bool(work, "landmarks")) {
    g_autofree char *title = g_strdup_printf("%s: landmarks", given);
    pla_warp_apply(warp, t->mark.n, t->mark.pos_mm, t->mark.pos_mm);
    pla_work_add(work, title, pla_landmarks_to_content(&t->mark));
  }
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  Template t = { 0 };
  PlaLandmarks to = { 0 };
  PlaLandmarkPairs pairs = { 0 };
  PlaWarp *warp = NULL;
  PlaWarpReport report;
  g_autofree double *left_out = NULL;
  PlaProgress *progress = pla_work_progress(work);
  PlaStatus st = read_list(work, "to", &to, err);
  pla_progress_phase(progress, "Reading", 0.3);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = read_template(work, &t, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    pla_landmark_pairs_init(&pairs, &t.mark, &to);
    left_out = g_new0(double, pairs.n + 1);
    st = pla_warp_new(pairs.n, pairs.pos_mm[0], pairs.pos_mm[1], pla_work_number(work, "relax_mm"),
                      &warp, left_out, &report, err);
    if (st != PLA_OK)
      pla_fail_within(err, "the patient (%d of its %d landmarks are named in the template too)",
                      pairs.n, to.n);
  }
  pla_progress_phase(progress, "Warping", 1.0);
  if (st == PLA_OK) {
    double range[2] = { 1.0, 1.0 };
    int n = 0;
    g_autofree double *probe = probe_places(t.content, &n);
    pla_warp_volume_range(warp, n, probe, range);
    tell(work, &t.mark, &to, &pairs, warp, left_out, &report, range);
    st = warp_content(work, warp, t.content, err);
  }
  if (st == PLA_OK)
    add_results(work, warp, &t);
  pla_warp_free(warp);
  pla_landmark_pairs_clear(&pairs);
  pla_landmarks_clear(&to);
  template_clear(&t);
  return st;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the template: labels or a mesh",
    .positional = true, .kinds = PLA_ITEM_LABELS " " PLA_ITEM_MESH },
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, "null",
    "or this phantom, with its own landmarks and muscles", .option = "" },
  { "to", PLA_PARAM_LANDMARKS, NULL, 0, 0, NULL,
    "the patient's landmarks: lines of name, x, y, z in mm" },
  { "from", PLA_PARAM_LANDMARKS, NULL, 0, 0, "[]", "the template's; a phantom has its own" },
  { "relax_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "residual allowed at the landmarks, rms",
    .arg = "R" },
  { "spacing_mm", PLA_PARAM_NUMBER, "mm", 0.1, 100, "null",
    "voxels of warped labels; the template's without it", .arg = "H" },
  { "description", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "muscles of the template, as `muscles` reads them", .kinds = PLA_ITEM_MUSCLES },
  { "muscles", PLA_PARAM_BOOL, NULL, 0, 0, "null",
    "also the description of the warped muscles (in a case: if there are any)",
    .kinds = PLA_ITEM_MUSCLES, .arg = "FILE", .file = true },
  { "landmarks", PLA_PARAM_BOOL, NULL, 0, 0, "false", "also all the template's landmarks, warped",
    .kinds = PLA_ITEM_LANDMARKS, .arg = "FILE", .file = true },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the result", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "landmarks_used", "landmarks that both sides name" },
  { "rigid_mm", "rms distance after the best rigid motion" },
  { "affine_mm", "rms distance after the best affine map" },
  { "rms_mm", "rms distance after the warp" },
  { "left_out_mm", "rms distance of each landmark from its prediction by all others" },
  { "worst", "the landmark that is farthest from its prediction" },
  { "worst_mm", "how far" },
  { "least_volume_factor", "smallest change of volume; not above 0: the warp folds" },
  { "largest_volume_factor", "largest change of volume" },
  { "condition", "of the equations" },
  { "landmarks", "name, residual_mm and left_out_mm of each" },
  { "only_in_template", "landmarks without a partner" },
  { "only_in_patient", "landmarks without a partner" },
  { NULL },
};

const PlaVerb pla_verb_warp = {
  .name = "warp",
  .title = "Warp Template",
  .summary = "carries a template onto the patient by landmarks",
  .params = params,
  .results = results,
  .keeps = "warp",
  .run = run,
};

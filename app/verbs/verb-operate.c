/* Prepares a body for surgery, and runs the steps of a surgical plan on it. */
#include "app/base/json.h"
#include "app/content/made.h"
#include "app/surgery/plan.h"
#include "app/surgery/surgery-body.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <string.h>

/* ---- the body ---- */

/* the corners of "box_mm"; false where it is empty */
static PlaStatus
read_box(PlaWork *work, double box_mm[2][3], bool *boxed, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "box_mm");
  const guint n = json_array_get_length(list);
  *boxed = n > 0;
  if (n != 0 && n != 2)
    return pla_fail(err, PLA_ERR_USAGE, "box_mm must be two corners, or empty");
  PlaStatus st = PLA_OK;
  for (guint i = 0; i < n && st == PLA_OK; i++) {
    PlaJson corner = { .node = json_array_get_element(list, i) };
    g_snprintf(corner.path, sizeof corner.path, "box_mm[%u]", i);
    st = pla_json_vector(corner, 3, box_mm[i], err);
  }
  return st;
}

/* names in "bones"; NULL where there are none */
static PlaStatus
read_bones(PlaWork *work, GPtrArray *out, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "bones");
  for (guint i = 0; i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    if (json_node_get_value_type(node) != G_TYPE_STRING)
      return pla_fail(err, PLA_ERR_USAGE, "bones[%u] must be the name of a label", i);
    g_ptr_array_add(out, (char *)json_node_get_string(node));
  }
  g_ptr_array_add(out, NULL);
  return PLA_OK;
}

static PlaStatus
run_prepare(PlaWork *work, PlaError *err)
{
  int64_t item;
  int n_tets = 0;
  PlaSurgery *body = NULL;
  g_autoptr(PlaContent) labels = NULL;
  g_autoptr(PlaContent) content = NULL;
  const double lattice_mm = pla_work_number(work, "lattice_mm");
  const char *tissue = pla_work_text(work, "tissue");
  PlaPlanCells cells = PLA_PLAN_TETS;
  double box_mm[2][3];
  bool boxed = false;
  PlaLabelMap *part = NULL;
  g_autoptr(GPtrArray) bones = g_ptr_array_new();
  PlaProgress *progress = pla_work_progress(work);
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_plan_cells_find(pla_work_text(work, "cells"), &cells, err);
  if (st == PLA_OK)
    st = read_bones(work, bones, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &labels, err);
  if (st == PLA_OK)
    st = read_box(work, box_mm, &boxed, err);
  if (st == PLA_OK)
    st = pla_plan_part(labels->labels, boxed ? (const double(*)[3])box_mm : NULL,
                       *tissue ? tissue : NULL, &part, err);
  if (st == PLA_OK)
    st = pla_plan_make_body(part ? part : labels->labels, cells, lattice_mm,
                            (const char *const *)bones->pdata, progress, &body, &n_tets, err);
  if (st == PLA_OK) {
    g_autoptr(JsonObject) surgery = json_object_new();
    json_object_set_string_member(surgery, "labels", pla_work_item_name(work, item));
    json_object_set_double_member(surgery, "lattice_mm", lattice_mm);
    json_object_set_int_member(surgery, "tets", n_tets);
    if (cells != PLA_PLAN_TETS)
      json_object_set_string_member(surgery, "cells", pla_plan_cells_name(cells));
    if (boxed)
      json_object_set_array_member(surgery, "box_mm",
                                   json_array_ref(pla_work_list(work, "box_mm")));
    if (*tissue)
      json_object_set_string_member(surgery, "tissue", tissue);
    if (bones->len > 1)
      json_object_set_array_member(surgery, "bones", json_array_ref(pla_work_list(work, "bones")));
    json_object_set_array_member(surgery, "steps", json_array_new());
    json_object_set_array_member(surgery, "found", json_array_new());
    st = pla_body_to_content(body, surgery, &content, err);
  }
  if (st == PLA_OK)
    pla_work_add(work, pla_work_text(work, "name"), g_steal_pointer(&content));
  pla_surgery_free(body);
  pla_label_map_free(part);
  return st;
}

static const PlaVerbParam prepare_params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "lattice_mm", PLA_PARAM_NUMBER, "mm", 0.2, 100, "3", N_("size of a cell"),
    .panel = { .title = N_("Cell _size"),
               .spoken = N_("Cell size of the body in millimetres"),
               .low = 1,
               .high = 20,
               .step = 0.5,
               .page = 2,
               .digits = 1 } },
  { "cells", PLA_PARAM_TEXT, NULL, 1, 20, "\"tets\"",
    "tets: the surface is that of the cells; carved: that of the scan, cells are filled in part "
    "and do not lock" },
  { "box_mm", PLA_PARAM_LIST, "mm", 0, 0, "[]", "two corners of the part to take; empty: all" },
  { "tissue", PLA_PARAM_TEXT, NULL, 0, 200, "\"\"",
    "treat all soft labels as this tissue; empty: as they are" },
  { "bones", PLA_PARAM_LIST, NULL, 0, 0, "[]", "rigid labels that are to be cut, by name" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "\"body\"", "name of the body" },
  { NULL },
};

const PlaVerb pla_verb_prepare_body = {
  .name = "prepare-body",
  .title = "Prepare Body",
  .summary = "makes a body to operate on from labels of soft tissue, held where it meets bone",
  .params = prepare_params,
  .run = run_prepare,
};

/* ---- what is done to it ---- */

/* a copy whose lists can grow */
static JsonObject *
dup_object(JsonObject *object)
{
  g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), object);
  g_autoptr(JsonNode) copy = pla_json_dup(node);
  return json_node_dup_object(copy);
}

/* what was taken out becomes an item of its own, to be hidden, measured or deleted like any other
 */
static void
add_specimen(PlaWork *work, PlaPlanSpecimen *specimen, JsonObject *found)
{
  PlaContent *content = pla_content_new(PLA_ITEM_MESH);
  JsonObject *told = json_object_new();
  g_autofree char *name = g_strdup_printf("%s specimen", specimen->name);
  static const char *const keys[] = { "specimen_mm3", "specimen_g", "specimen_size_mm" };
  /* a template tells it among its parts */
  JsonArray *parts =
      json_object_has_member(found, "parts") ? json_object_get_array_member(found, "parts") : NULL;
  for (guint i = 0; parts && i < json_array_get_length(parts); i++) {
    JsonObject *part = json_array_get_object_element(parts, i);
    if (json_object_has_member(part, keys[0]))
      found = part;
  }
  for (size_t k = 0; k < G_N_ELEMENTS(keys); k++)
    if (json_object_has_member(found, keys[k]))
      json_object_set_member(told, keys[k], json_node_copy(json_object_get_member(found, keys[k])));
  content->mesh = g_steal_pointer(&specimen->surface);
  json_object_set_object_member(content->meta, PLA_META_SPECIMEN, told);
  pla_work_add(work, name, content);
}

typedef struct {
  PlaWork *work;
  JsonArray *steps, *found; /* of the body, to be continued */
  bool unsettled;           /* the last solve did not converge */
} Record;

/* one step into the record of the body */
static void
note_step(PlaPlanStep *step, PlaJson operation, void *data)
{
  Record *record = data;
  for (guint k = 0; step->specimens && k < step->specimens->len; k++)
    add_specimen(record->work, &g_array_index(step->specimens, PlaPlanSpecimen, k), step->found);
  if (step->solved)
    record->unsettled = step->solve.reason != PLA_STOP_CONVERGED;
  json_array_add_element(record->steps, json_node_copy(operation.node));
  json_array_add_object_element(record->found, g_steal_pointer(&step->found));
}

/* the list @key of what is known of the body */
static JsonArray *
list_of(JsonObject *surgery, const char *key)
{
  JsonNode *node = json_object_get_member(surgery, key);
  if (!node || !JSON_NODE_HOLDS_ARRAY(node))
    json_object_set_array_member(surgery, key, json_array_new());
  return json_object_get_array_member(surgery, key);
}

static PlaStatus
run_operate(PlaWork *work, PlaError *err)
{
  int64_t item;
  PlaSurgery *body = NULL;
  g_autoptr(PlaContent) before = NULL;
  g_autoptr(PlaContent) after = NULL;
  g_autoptr(JsonObject) surgery = NULL;
  PlaStatus st = pla_work_item(work, "body", PLA_ITEM_BODY, &item, err);
  g_autoptr(JsonNode) list = json_node_init_array(json_node_alloc(), pla_work_list(work, "steps"));
  const PlaJson steps = { .node = list, .path = "steps" };
  Record record = { .work = work };
  if (st == PLA_OK && pla_json_length(steps) == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "there is no step to do: \"steps\" is empty");
  if (st == PLA_OK)
    st = pla_plan_check(steps, false, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &before, err);
  if (st == PLA_OK)
    st = pla_body_from_content(before, &body, err);
  if (st == PLA_OK) {
    JsonObject *so_far = pla_body_get_surgery(before);
    surgery = so_far ? dup_object(so_far) : json_object_new();
    record.steps = list_of(surgery, "steps");
    record.found = list_of(surgery, "found");
    pla_progress_phase(pla_work_progress(work), "Operating", 0.9);
    PlaProgressSpan span = pla_progress_push(pla_work_progress(work));
    st = pla_plan_run_steps(body, steps, pla_work_progress(work), note_step, &record, err);
    pla_progress_pop(pla_work_progress(work), span);
  }
  if (st == PLA_OK)
    st = pla_body_to_content(body, surgery, &after, err);
  if (st == PLA_OK && record.unsettled)
    pla_work_fall_short(work,
                        "'%s' is in the case, but its last solve did not converge; solve again, or "
                        "reduce the load",
                        pla_work_item_name(work, item));
  if (st == PLA_OK)
    pla_work_replace(work, item, g_steal_pointer(&after));
  pla_surgery_free(body);
  return st;
}

/* "Incise 'flap'", "Suture and 2 more" */
static char *
describe_operate(JsonObject *params)
{
  JsonNode *node = json_object_get_member(params, "steps");
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  JsonNode *first =
      list && json_array_get_length(list) > 0 ? json_array_get_element(list, 0) : NULL;
  if (!first || !JSON_NODE_HOLDS_OBJECT(first))
    return NULL;
  JsonObject *step = json_node_get_object(first);
  JsonObjectIter iter;
  const char *tool = NULL;
  JsonNode *what = NULL;
  json_object_iter_init(&iter, step);
  if (!json_object_iter_next(&iter, &tool, &what))
    return NULL;
  const char *name = NULL;
  static const char *const keys[] = { "name", "from" };
  for (size_t k = 0; k < G_N_ELEMENTS(keys) && !name && JSON_NODE_HOLDS_OBJECT(what); k++) {
    JsonNode *value = json_object_get_member(json_node_get_object(what), keys[k]);
    name = value && JSON_NODE_HOLDS_VALUE(value) ? json_node_get_string(value) : NULL;
  }
  g_autoptr(GString) text = g_string_new(tool);
  text->str[0] = g_ascii_toupper(text->str[0]);
  if (name)
    g_string_append_printf(text, " “%s”", name);
  if (json_array_get_length(list) > 1)
    g_string_append_printf(text, " and %u More", json_array_get_length(list) - 1);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static const PlaVerbParam operate_params[] = {
  { "body", PLA_PARAM_ITEM, NULL, 0, 0, "\"body\"", "the body, from 'prepare-body'" },
  { "steps", PLA_PARAM_LIST, NULL, 0, 0, NULL,
    "what to do, as the operations of a plan: [{\"incise\": {...}}, ...]" },
  { NULL },
};

const PlaVerb pla_verb_operate = {
  .name = "operate",
  .title = "Operate",
  .summary = "does steps of a surgical plan: incise, excise, undermine, hook, suture, solve, ...",
  .params = operate_params,
  .describe = describe_operate,
  .run = run_operate,
};

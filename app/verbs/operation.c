/* The table of operations, their parameters, and one operation at work. */
#include "app/verbs/operations.h"

#include "anatomy/base/parallel.h"
#include "app/base/json.h"
#include "platysma-config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* in the order shown by `case operations` */
static const PlaOperation *const operations[] = {
  &pla_operation_import,
  &pla_operation_phantom,
  &pla_operation_segment,
  &pla_operation_surface,
  &pla_operation_repair_surface,
  &pla_operation_mesh,
  &pla_operation_prepare_body,
  &pla_operation_operate,
  &pla_operation_simulate,
  &pla_operation_compare,
  &pla_operation_edit_label,
  &pla_operation_fill_outline,
  &pla_operation_grow_label,
  &pla_operation_interpolate_slices,
  &pla_operation_split_label,
  &pla_operation_keep_component,
  &pla_operation_mirror_label,
  &pla_operation_muscles,
  &pla_operation_active_body,
  &pla_operation_activate,
  &pla_operation_fit,
  &pla_operation_pose,
  &pla_operation_animate,
  &pla_operation_perform,
  &pla_operation_set_phonemes,
  &pla_operation_say_line,
  &pla_operation_say,
  &pla_operation_speak,
  &pla_operation_warp,
  &pla_operation_set_labels,
  &pla_operation_rename,
  &pla_operation_delete,
  &pla_operation_note,
  &pla_operation_landmark,
  &pla_operation_measure,
  &pla_operation_snapshot,
  &pla_operation_recover,
  NULL,
};

const PlaOperation *const *
pla_operations_get(void)
{
  return operations;
}

const PlaOperation *
pla_operation_find(const char *verb)
{
  for (const PlaOperation *const *op = operations; *op; op++)
    if (strcmp((*op)->verb, verb) == 0)
      return *op;
  return NULL;
}

/* ---- parameters --------------------------------------------------------------------------- */

static bool
is_number(JsonNode *node)
{
  if (!JSON_NODE_HOLDS_VALUE(node))
    return false;
  GType type = json_node_get_value_type(node);
  return type == G_TYPE_INT64 || (type == G_TYPE_DOUBLE && isfinite(json_node_get_double(node)));
}

static bool
is_point(JsonNode *node)
{
  if (!JSON_NODE_HOLDS_ARRAY(node))
    return false;
  JsonArray *array = json_node_get_array(node);
  bool fine = json_array_get_length(array) == 3;
  for (guint d = 0; fine && d < 3; d++)
    fine = is_number(json_array_get_element(array, d));
  return fine;
}

static bool
is_points(JsonNode *node)
{
  if (!JSON_NODE_HOLDS_ARRAY(node))
    return false;
  JsonArray *array = json_node_get_array(node);
  bool fine = json_array_get_length(array) >= 1;
  for (guint i = 0; fine && i < json_array_get_length(array); i++)
    fine = is_point(json_array_get_element(array, i));
  return fine;
}

static const char *
type_words(PlaParamType type)
{
  static const char *const words[] = {
    [PLA_PARAM_TEXT] = "a text",
    [PLA_PARAM_ITEM] = "the name of an item",
    [PLA_PARAM_NUMBER] = "a number",
    [PLA_PARAM_INT] = "a whole number",
    [PLA_PARAM_BOOL] = "true or false",
    [PLA_PARAM_POINT] = "a point [x, y, z]",
    [PLA_PARAM_POINTS] = "a list of points [[x, y, z], ...]",
    [PLA_PARAM_LIST] = "a list",
  };
  return words[type];
}

static PlaStatus
check_param(const PlaOperation *op, const PlaOpParam *param, JsonNode *node, PlaError *err)
{
  GType type = JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;
  bool fits = false, optional = param->otherwise && strcmp(param->otherwise, "null") == 0;
  double size = NAN; /* what min and max are about */
  if (optional && JSON_NODE_HOLDS_NULL(node))
    return PLA_OK;
  switch (param->type) {
  case PLA_PARAM_TEXT:
  case PLA_PARAM_ITEM:
    fits = type == G_TYPE_STRING && g_utf8_validate(json_node_get_string(node), -1, NULL);
    size = fits ? (double)g_utf8_strlen(json_node_get_string(node), -1) : NAN;
    break;
  case PLA_PARAM_NUMBER:
  case PLA_PARAM_INT:
    fits = param->type == PLA_PARAM_INT ? type == G_TYPE_INT64 : is_number(node);
    size = fits ? json_node_get_double(node) : NAN;
    break;
  case PLA_PARAM_BOOL:
    fits = type == G_TYPE_BOOLEAN;
    break;
  case PLA_PARAM_POINT:
    fits = is_point(node);
    break;
  case PLA_PARAM_POINTS:
    fits = is_points(node);
    break;
  case PLA_PARAM_LIST:
    fits = JSON_NODE_HOLDS_ARRAY(node);
    break;
  }
  if (!fits)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' needs %s as \"%s\"%s%s", op->verb,
                    type_words(param->type), param->name, param->unit ? ", in " : "",
                    param->unit ? param->unit : "");
  if ((param->min != 0.0 || param->max != 0.0) && (size < param->min || size > param->max))
    return pla_fail(err, PLA_ERR_USAGE, "\"%s\" of '%s' must %s between %g and %g%s%s", param->name,
                    op->verb,
                    param->type == PLA_PARAM_TEXT || param->type == PLA_PARAM_ITEM ? "have a length"
                                                                                   : "lie",
                    param->min, param->max, param->unit ? " " : "", param->unit ? param->unit : "");
  return PLA_OK;
}

/* whether a row of the log, which another program may have written, has parameters of the right
 * kinds; it may have others besides */
static bool
has_params(const PlaOperation *op, JsonObject *given)
{
  for (const PlaOpParam *param = op->params; param && param->name; param++) {
    JsonNode *node = json_object_get_member(given, param->name);
    if (node ? check_param(op, param, node, NULL) != PLA_OK : !param->otherwise)
      return false;
  }
  return true;
}

char *
pla_operation_describe(const PlaLogRow *row)
{
  const PlaOperation *op = pla_operation_find(row->verb);
  g_autoptr(JsonObject) params = NULL;
  char *text = NULL;
  if (op && op->describe &&
      pla_json_parse_stored(row->parameters, "its parameters", &params, NULL) == PLA_OK &&
      has_params(op, params))
    text = op->describe(params);
  return text ? text : g_strdup(op ? op->title : row->verb);
}

PlaStatus
pla_operation_check(const PlaOperation *op, JsonObject *given, JsonObject **out, PlaError *err)
{
  g_autoptr(JsonObject) full = json_object_new();
  *out = NULL;
  guint n_used = 0;
  for (const PlaOpParam *param = op->params; param && param->name; param++) {
    JsonNode *node = given ? json_object_get_member(given, param->name) : NULL;
    g_autoptr(JsonNode) standard = NULL;
    n_used += node != NULL;
    if (!node && !param->otherwise)
      return pla_fail(err, PLA_ERR_USAGE, "'%s' needs \"%s\": %s", op->verb, param->name,
                      param->help);
    if (!node)
      node = standard = pla_json_literal(param->otherwise);
    PlaStatus st = check_param(op, param, node, err);
    if (st != PLA_OK)
      return st;
    /* 3 and 3.0 are the same number, and must hash alike */
    JsonNode *copy = json_node_copy(node);
    if (param->type == PLA_PARAM_NUMBER && JSON_NODE_HOLDS_VALUE(copy))
      json_node_set_double(copy, json_node_get_double(node));
    json_object_set_member(full, param->name, copy);
  }
  if (given && n_used < json_object_get_size(given)) {
    JsonObjectIter iter;
    const char *key;
    json_object_iter_init(&iter, given);
    while (json_object_iter_next(&iter, &key, NULL))
      if (!json_object_has_member(full, key))
        return pla_fail(err, PLA_ERR_USAGE,
                        "'%s' has no parameter \"%s\"; 'platysma-cli case operations' lists them",
                        op->verb, key);
  }
  *out = g_steal_pointer(&full);
  return PLA_OK;
}

/* ---- one operation at work ---------------------------------------------------------------- */

/* what became of one item */
typedef struct {
  int64_t item;        /* 0: new */
  char *name;          /* NULL: gone */
  PlaContent *content; /* NULL: the same arrays under another name or metadata */
  char *meta;          /* then its new metadata, or NULL: unchanged */
  PlaHash before, after;
} Result;

struct PlaWork {
  const PlaOperation *op;
  PlaStore *store;
  PlaState state;     /* what it works on */
  JsonObject *params; /* complete */
  JsonObject *inputs; /* item name -> hash */
  char *source;
  PlaReadOptions read;
  PlaContentLookup lookup;
  void *lookup_data;
  PlaProgress *progress;
  GArray *results;
  JsonBuilder *json; /* while it runs */
  JsonObject *found; /* afterwards */
  GPtrArray *lines;
  const PlaWorkItem *memory; /* borrowed while it runs; NULL: items come from the store */
  gint64 time_ms, started_us, duration_ms;
};

static void
result_clear(void *data)
{
  Result *result = data;
  g_free(result->name);
  g_free(result->meta);
  pla_content_unref(result->content);
}

void
pla_work_free(PlaWork *work)
{
  if (!work)
    return;
  pla_state_clear(&work->state);
  json_object_unref(work->params);
  json_object_unref(work->inputs);
  g_array_unref(work->results);
  g_clear_object(&work->json);
  g_clear_pointer(&work->found, json_object_unref);
  g_ptr_array_unref(work->lines);
  g_free(work->source);
  g_free(work);
}

static JsonNode *
param_of(const PlaWork *work, const char *param)
{
  JsonNode *node = json_object_get_member(work->params, param);
  g_assert(node != NULL);
  return node;
}

const char *
pla_work_text(const PlaWork *work, const char *param)
{
  JsonNode *node = param_of(work, param);
  return JSON_NODE_HOLDS_NULL(node) ? NULL : json_node_get_string(node);
}

double
pla_work_number(const PlaWork *work, const char *param)
{
  return json_node_get_double(param_of(work, param));
}

int
pla_work_int(const PlaWork *work, const char *param)
{
  return (int)json_node_get_int(param_of(work, param));
}

bool
pla_work_bool(const PlaWork *work, const char *param)
{
  return json_node_get_boolean(param_of(work, param));
}

static void
read_point(JsonNode *node, double point[3])
{
  JsonArray *array = json_node_get_array(node);
  for (guint d = 0; d < 3; d++)
    point[d] = json_node_get_double(json_array_get_element(array, d));
}

void
pla_work_point(const PlaWork *work, const char *param, double point_mm[3])
{
  read_point(param_of(work, param), point_mm);
}

double *
pla_work_points(const PlaWork *work, const char *param, int *n)
{
  JsonArray *array = json_node_get_array(param_of(work, param));
  *n = (int)json_array_get_length(array);
  double *points = g_new(double, 3 * (gsize)*n);
  for (int i = 0; i < *n; i++)
    read_point(json_array_get_element(array, (guint)i), points + 3 * i);
  return points;
}

JsonArray *
pla_work_list(const PlaWork *work, const char *param)
{
  return json_node_get_array(param_of(work, param));
}

bool
pla_work_is_null(const PlaWork *work, const char *param)
{
  return JSON_NODE_HOLDS_NULL(param_of(work, param));
}

PlaProgress *
pla_work_progress(PlaWork *work)
{
  return work->progress;
}

const char *
pla_work_source(const PlaWork *work)
{
  return work->source;
}

const PlaReadOptions *
pla_work_read_options(const PlaWork *work)
{
  return &work->read;
}

void
pla_work_record(PlaWork *work, const char *param, JsonNode *value)
{
  json_object_set_member(work->params, param, value);
}

/* items */

static const PlaStateItem *
state_item(const PlaWork *work, int64_t item)
{
  const PlaStateItem *found = pla_state_find(&work->state, item);
  g_assert(found != NULL);
  return found;
}

PlaStatus
pla_work_item(PlaWork *work, const char *param, const char *kind, int64_t *item, PlaError *err)
{
  const char *name = pla_work_text(work, param);
  const PlaStateItem *found = name ? pla_state_find_name(&work->state, name) : NULL;
  if (!found)
    return pla_fail(err, PLA_ERR_USAGE,
                    "the case has no item '%s'; 'platysma-cli case list' shows them",
                    name ? name : "");
  if (kind && strcmp(found->kind, kind) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is a %s, and '%s' works on a %s", name, found->kind,
                    work->op->verb, kind);
  *item = found->item;
  return PLA_OK;
}

const char *
pla_work_item_name(const PlaWork *work, int64_t item)
{
  return state_item(work, item)->name;
}

const char *
pla_work_item_kind(const PlaWork *work, int64_t item)
{
  return state_item(work, item)->kind;
}

int64_t
pla_work_find(const PlaWork *work, const char *name)
{
  const PlaStateItem *found = pla_state_find_name(&work->state, name);
  return found ? found->item : 0;
}

int64_t
pla_work_list_item(const PlaWork *work, JsonArray *list, guint i, const char **name)
{
  JsonNode *node = json_array_get_element(list, i);
  const bool text = JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING;
  *name = text ? json_node_get_string(node) : "";
  return pla_work_find(work, *name);
}

JsonBuilder *
pla_work_json(PlaWork *work)
{
  return work->json;
}

GPtrArray *
pla_work_lines(PlaWork *work)
{
  return work->lines;
}

void
pla_work_say(PlaWork *work, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_ptr_array_add(work->lines, g_strdup_vprintf(format, args));
  va_end(args);
}

static void
note_input(PlaWork *work, const PlaStateItem *item)
{
  char text[33];
  json_object_set_string_member(work->inputs, item->name, pla_hash_text(&item->hash, text));
}

PlaStatus
pla_work_load(PlaWork *work, int64_t item, PlaContent **out, PlaError *err)
{
  const PlaStateItem *found = state_item(work, item);
  note_input(work, found);
  if (work->memory) {
    *out = pla_content_ref(work->memory[item - 1].content);
    return PLA_OK;
  }
  *out = work->lookup ? work->lookup(&found->hash, work->lookup_data) : NULL;
  return *out ? PLA_OK : pla_content_load(work->store, &found->hash, work->progress, out, err);
}

PlaStatus
pla_work_load_meta(PlaWork *work, int64_t item, JsonObject **out, PlaError *err)
{
  const PlaStateItem *found = state_item(work, item);
  PlaBundle bundle;
  *out = NULL;
  note_input(work, found);
  if (work->memory) {
    *out = json_object_ref(work->memory[item - 1].content->meta);
    return PLA_OK;
  }
  PlaStatus st = pla_store_read_bundle(work->store, &found->hash, &bundle, err);
  if (st != PLA_OK)
    return st;
  PlaError why;
  st = pla_json_parse_stored(bundle.meta, "it", out, &why);
  pla_bundle_clear(&bundle, false);
  return st == PLA_OK ? PLA_OK
                      : pla_fail(err, PLA_ERR_FORMAT, "the description of '%s' is damaged (%s)",
                                 found->name, why.message);
}

/* results */

/* whether @name belongs to an item that this operation leaves in place */
static bool
name_is_taken(const PlaWork *work, const char *name, int64_t by_other_than)
{
  for (guint r = 0; r < work->results->len; r++) {
    const Result *result = &g_array_index(work->results, Result, r);
    if (result->name && strcmp(result->name, name) == 0 &&
        (result->item == 0 || result->item != by_other_than))
      return true;
  }
  const PlaStateItem *found = pla_state_find_name(&work->state, name);
  if (!found || found->item == by_other_than)
    return false;
  for (guint r = 0; r < work->results->len; r++) {
    const Result *result = &g_array_index(work->results, Result, r);
    if (result->item == found->item && (!result->name || strcmp(result->name, name) != 0))
      return false; /* renamed or gone */
  }
  return true;
}

const char *
pla_work_add(PlaWork *work, const char *name, PlaContent *content)
{
  g_autofree char *valid = g_utf8_make_valid(name, -1);
  char *unique = g_strdup(valid);
  for (int i = 2; name_is_taken(work, unique, 0); i++) {
    g_free(unique);
    unique = g_strdup_printf("%s %d", valid, i);
  }
  Result result = { .name = unique, .content = content };
  g_array_append_val(work->results, result);
  return unique;
}

void
pla_work_replace(PlaWork *work, int64_t item, PlaContent *content)
{
  const PlaStateItem *found = state_item(work, item);
  Result result = {
    .item = item, .name = g_strdup(found->name), .content = content, .before = found->hash
  };
  note_input(work, found);
  g_array_append_val(work->results, result);
}

PlaStatus
pla_work_relabel(PlaWork *work, int64_t item, const char *name, JsonObject *meta, PlaError *err)
{
  const PlaStateItem *found = state_item(work, item);
  if (name && name_is_taken(work, name, item))
    return pla_fail(err, PLA_ERR_USAGE, "another item is named '%s' already; choose another name",
                    name);
  g_autofree char *text = NULL;
  PlaStatus st = meta ? pla_json_write_object(meta, PLA_JSON_SORTED, &text, err) : PLA_OK;
  if (st != PLA_OK)
    return st;
  Result result = { .item = item,
                    .name = g_strdup(name ? name : found->name),
                    .meta = g_steal_pointer(&text),
                    .before = found->hash };
  note_input(work, found);
  g_array_append_val(work->results, result);
  return PLA_OK;
}

void
pla_work_remove(PlaWork *work, int64_t item)
{
  const PlaStateItem *found = state_item(work, item);
  Result result = { .item = item, .before = found->hash };
  note_input(work, found);
  g_array_append_val(work->results, result);
}

/* running */

/* words for a kind of item, as sentences need them */
static const char *
kind_words(const char *kind)
{
  static const char *const words[][2] = {
    { PLA_ITEM_VOLUME, "an image volume" },
    { PLA_ITEM_LABELS, "a label volume" },
    { PLA_ITEM_MESH, "a mesh" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(words[i][0], kind) == 0)
      return words[i][1];
  return kind;
}

/* that items which parameters name are there, and of a kind that the definition allows */
static PlaStatus
check_items(PlaWork *work, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (const PlaOpParam *p = work->op->params; st == PLA_OK && p && p->name; p++) {
    int64_t item;
    if (p->type != PLA_PARAM_ITEM || !p->kinds || pla_work_is_null(work, p->name))
      continue;
    st = pla_work_item(work, p->name, NULL, &item, err);
    if (st != PLA_OK)
      break;
    g_auto(GStrv) kinds = g_strsplit(p->kinds, " ", -1);
    if (g_strv_contains((const char *const *)kinds, pla_work_item_kind(work, item)))
      continue;
    g_autoptr(GString) wanted = g_string_new(kind_words(kinds[0]));
    for (char **kind = kinds + 1; *kind; kind++)
      g_string_append_printf(wanted, " or %s", kind_words(*kind));
    st = pla_fail(err, PLA_ERR_USAGE, "%s is %s; '%s' needs %s", pla_work_item_name(work, item),
                  kind_words(pla_work_item_kind(work, item)), work->op->verb, wanted->str);
  }
  return st;
}

/* the definition with its parameters, checked; no items yet */
static PlaStatus
work_begin(const PlaOperation *op, JsonObject *given, PlaWork **out, PlaError *err)
{
  JsonObject *params;
  *out = NULL;
  PlaStatus st = pla_operation_check(op, given, &params, err);
  if (st == PLA_OK && op->check) {
    st = op->check(params, err);
    if (st != PLA_OK)
      json_object_unref(params);
  }
  if (st != PLA_OK)
    return st;
  PlaWork *work = g_new0(PlaWork, 1);
  *work = (PlaWork){ .op = op,
                     .params = params,
                     .inputs = json_object_new(),
                     .read = pla_read_options_default(),
                     .results = g_array_new(FALSE, FALSE, sizeof(Result)),
                     .json = json_builder_new(),
                     .lines = g_ptr_array_new_with_free_func(g_free),
                     .time_ms = g_get_real_time() / 1000,
                     .started_us = g_get_monotonic_time() };
  json_builder_begin_object(work->json);
  g_array_set_clear_func(work->results, result_clear);
  *out = work;
  return PLA_OK;
}

/* runs it, and puts what it found where it belongs */
static PlaStatus
work_do(PlaWork *work, PlaError *err)
{
  PlaStatus st = work->op->run(work, err);
  if (st == PLA_OK && pla_progress_cancelled(work->progress))
    st = pla_fail_cancelled(err);
  work->duration_ms = (g_get_monotonic_time() - work->started_us) / 1000;
  if (st != PLA_OK)
    return st;
  json_builder_end_object(work->json);
  g_autoptr(JsonNode) root = json_builder_get_root(work->json);
  work->found = json_object_ref(json_node_get_object(root));
  if (work->op->keeps && work->results->len > 0) {
    const Result *first = &g_array_index(work->results, Result, 0);
    json_object_set_object_member(first->content->meta, work->op->keeps,
                                  json_object_ref(work->found));
  }
  return PLA_OK;
}

PlaStatus
pla_work_new(const PlaRequest *request, PlaStore *store, const PlaState *state, PlaWork **out,
             PlaError *err)
{
  *out = NULL;
  const PlaOperation *op = pla_operation_find(request->verb);
  if (!op || !op->run)
    return pla_fail(err, PLA_ERR_USAGE,
                    "there is no operation '%s'; 'platysma-cli case operations' lists them",
                    request->verb);
  PlaWork *work;
  PlaStatus st = work_begin(op, request->params, &work, err);
  if (st != PLA_OK)
    return st;
  work->store = store;
  work->source = g_strdup(request->source);
  work->read = request->read;
  /* what the log could not keep is refused before the work, not after it */
  g_autofree char *text = NULL;
  st = pla_json_write_object(work->params, PLA_JSON_SORTED, &text, err);
  if (st == PLA_OK)
    st = pla_state_dup(state, &work->state, err);
  if (st == PLA_OK)
    st = check_items(work, err);
  if (st == PLA_OK)
    *out = work;
  else
    pla_work_free(work);
  return st;
}

PlaStatus
pla_work_run(const PlaRequest *request, PlaStore *store, const PlaState *state,
             PlaContentLookup lookup, void *lookup_data, PlaProgress *progress, PlaWork **out,
             PlaError *err)
{
  PlaWork *work;
  *out = NULL;
  PlaStatus st = pla_work_new(request, store, state, &work, err);
  if (st != PLA_OK)
    return st;
  work->lookup = lookup;
  work->lookup_data = lookup_data;
  work->progress = work->read.progress = progress;
  st = work_do(work, err);
  if (st != PLA_OK) {
    pla_work_free(work);
    return st;
  }
  *out = work;
  return PLA_OK;
}

PlaStatus
pla_work_run_memory(const PlaOperation *op, JsonObject *params, const PlaWorkItem *items,
                    int n_items, PlaProgress *progress, PlaWork **out, PlaError *err)
{
  PlaWork *work;
  *out = NULL;
  PlaStatus st = work_begin(op, params, &work, err);
  if (st != PLA_OK)
    return st;
  work->progress = work->read.progress = progress;
  work->memory = items;
  /* a state whose item i + 1 is items[i] */
  for (int i = 0; i < n_items && st == PLA_OK; i++)
    st = pla_state_set(&work->state, i + 1, &(PlaHash){ 0 }, items[i].content->kind, items[i].name,
                       err);
  if (st == PLA_OK)
    st = check_items(work, err);
  if (st == PLA_OK)
    st = work_do(work, err);
  if (st == PLA_OK)
    *out = work;
  else
    pla_work_free(work);
  return st;
}

PlaContent *
pla_work_get_result(const PlaWork *work, int i)
{
  for (guint r = 0; r < work->results->len; r++) {
    PlaContent *content = g_array_index(work->results, Result, r).content;
    if (content && i-- == 0)
      return content;
  }
  return NULL;
}

JsonObject *
pla_work_get_found(const PlaWork *work)
{
  return work->found;
}

const GPtrArray *
pla_work_get_lines(const PlaWork *work)
{
  return work->lines;
}

bool
pla_work_fits(const PlaWork *work, const PlaState *state)
{
  JsonObjectIter iter;
  const char *name;
  JsonNode *value;
  json_object_iter_init(&iter, work->inputs);
  while (json_object_iter_next(&iter, &name, &value)) {
    const PlaStateItem *is = pla_state_find_name(state, name);
    char text[33];
    if (!is || strcmp(pla_hash_text(&is->hash, text), json_node_get_string(value)) != 0)
      return false;
  }
  /* names of new items must still be free */
  for (guint r = 0; r < work->results->len; r++) {
    const Result *result = &g_array_index(work->results, Result, r);
    const PlaStateItem *taken = result->name ? pla_state_find_name(state, result->name) : NULL;
    if (taken && taken->item != result->item)
      return false;
  }
  return true;
}

PlaStatus
pla_work_write(PlaWork *work, PlaStore *store, int64_t parent, PlaState *state,
               PlaProgress *progress, int64_t *operation, PlaError *err)
{
  guint n = work->results->len;
  g_autofree PlaChange *changes = g_new0(PlaChange, n);
  PlaState after = { 0 };
  PlaStatus st = pla_state_dup(state, &after, err);
  for (guint r = 0; r < n && st == PLA_OK; r++) {
    Result *result = &g_array_index(work->results, Result, r);
    const char *kind = NULL;
    if (result->content) {
      PlaBundle bundle;
      kind = result->content->kind;
      st = pla_content_to_bundle(result->content, result->name, &bundle, err);
      if (st == PLA_OK) {
        st = pla_content_check_bundle(store, &bundle, err);
        if (st == PLA_OK)
          st = pla_store_put(store, &bundle, progress, err);
        result->after = bundle.hash;
        pla_content_bundle_clear(&bundle);
      }
    } else if (result->name) {
      kind = state_item(work, result->item)->kind;
      st = pla_store_put_like(store, &result->before, result->name, result->meta, &result->after,
                              err);
      if (st == PLA_OK)
        st = pla_content_check(store, &result->after, progress, err);
    }
    changes[r] = (PlaChange){ .item = result->item,
                              .had = result->item != 0,
                              .has = result->name != NULL,
                              .before = result->before,
                              .after = result->after };
    /* items get their numbers below; for the hash of the state any free ones do */
    int64_t item = result->item ? result->item : INT64_MAX - (int64_t)r;
    if (st == PLA_OK)
      st = pla_state_set(&after, item, result->name ? &result->after : NULL, kind, result->name,
                         err);
  }
  if (st == PLA_OK) {
    g_autofree char *params = NULL, *inputs = NULL;
    st = pla_json_write_object(work->params, PLA_JSON_SORTED, &params, err);
    if (st == PLA_OK)
      st = pla_json_write_object(work->inputs, PLA_JSON_SORTED, &inputs, err);
    g_autofree char *verb = g_strdup(work->op->verb), *program = g_strdup(PLA_VERSION);
    g_autofree char *kernel = g_strdup(pla_kernel_name(pla_kernel_get()));
    PlaLogRow row = { .parent = parent,
                      .verb = verb,
                      .parameters = params,
                      .inputs = inputs,
                      .state = pla_state_hash(&after),
                      .program = program,
                      .kernel = kernel,
                      .time_ms = work->time_ms,
                      .duration_ms = work->duration_ms };
    if (st == PLA_OK)
      st = pla_store_add_operation(store, &row, changes, (int)n, err);
    *operation = row.id;
  }
  if (st == PLA_OK)
    st = pla_store_apply(store, state, changes, (int)n, false, err);
  pla_state_clear(&after);
  return st;
}

void
pla_work_foreach_result(const PlaWork *work,
                        void (*func)(const PlaHash *hash, PlaContent *content, void *data),
                        void *data)
{
  for (guint r = 0; r < work->results->len; r++) {
    const Result *result = &g_array_index(work->results, Result, r);
    if (result->content)
      func(&result->after, result->content, data);
  }
}

/* The table of verbs, and one verb at work. */
#include "app/verbs/verbs.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/parallel.h"
#include "app/base/json.h"
#include "platysma-config.h"

#include <string.h>

#define VERB_ROW(name) &pla_verb_##name,
static const PlaVerb *const verbs[] = { PLA_VERBS(VERB_ROW) NULL };

const PlaVerb *const *
pla_verbs_get(void)
{
  return verbs;
}

const PlaVerb *
pla_verb_find(const char *verb)
{
  for (const PlaVerb *const *op = verbs; *op; op++)
    if (strcmp((*op)->name, verb) == 0)
      return *op;
  return NULL;
}

/* ---- one operation at work ---------------------------------------------------------------- */

/* what became of one item */
typedef struct {
  int64_t item;        /* 0: new */
  const char *param;   /* that it was made for besides, or NULL */
  char *name;          /* NULL: gone */
  PlaContent *content; /* NULL: the same arrays under another name or metadata */
  char *meta;          /* then its new metadata, or NULL: unchanged */
  PlaHash before, after;
} Result;

struct PlaWork {
  const PlaVerb *op;
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
  char *shortfall;           /* why the results are not what was asked for, or NULL */
  const PlaWorkWatch *watch; /* borrowed while it runs, or NULL */
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
  g_free(work->shortfall);
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

JsonObject *
pla_work_object(const PlaWork *work, const char *param)
{
  JsonNode *node = param_of(work, param);
  return JSON_NODE_HOLDS_NULL(node) ? NULL : json_node_get_object(node);
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

static PlaStatus
find_item(const PlaWork *work, const char *name, const PlaStateItem **out, PlaError *err)
{
  *out = name ? pla_state_find_name(&work->state, name) : NULL;
  return *out ? PLA_OK
              : pla_fail(err, PLA_ERR_USAGE,
                         "the case has no item '%s'; 'platysma-cli case list' shows them",
                         name ? name : "");
}

PlaStatus
pla_work_item(PlaWork *work, const char *param, const char *kind, int64_t *item, PlaError *err)
{
  const char *name = pla_work_text(work, param);
  const PlaStateItem *found;
  PlaStatus st = find_item(work, name, &found, err);
  if (st != PLA_OK)
    return st;
  if (kind && strcmp(found->kind, kind) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is a %s, and '%s' works on a %s", name, found->kind,
                    work->op->name, kind);
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

int64_t *
pla_work_items(const PlaWork *work, const char *param, int *n)
{
  JsonArray *list = pla_work_is_null(work, param) ? NULL : pla_work_list(work, param);
  *n = list ? (int)json_array_get_length(list) : 0;
  int64_t *items = g_new0(int64_t, (gsize)*n + 1);
  const char *name;
  for (int i = 0; i < *n; i++)
    items[i] = pla_work_list_item(work, list, (guint)i, &name);
  return items;
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

void
pla_work_fall_short(PlaWork *work, const char *format, ...)
{
  if (work->shortfall)
    return;
  va_list args;
  va_start(args, format);
  work->shortfall = g_strdup_vprintf(format, args);
  va_end(args);
}

const char *
pla_work_get_shortfall(const PlaWork *work)
{
  return work->shortfall;
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

/* a copy of what files hold */
static PlaStatus
dup_content(const PlaContent *from, PlaContent **out, PlaError *err)
{
  g_autoptr(PlaContent) copy = pla_content_new(from->kind);
  PlaVolume *voxels = NULL;
  PlaStatus st = PLA_OK;
  if (from->labels) {
    st = pla_volume_dup(from->labels->volume, &voxels, err);
    if (st == PLA_OK)
      st = pla_label_map_take(voxels, &from->labels->table, &copy->labels, err);
    if (st != PLA_OK)
      pla_volume_free(voxels);
  } else if (from->volume) {
    st = pla_volume_dup(from->volume, &copy->volume, err);
  } else if (from->mesh) {
    st = pla_mesh_dup(from->mesh, &copy->mesh, err);
  } else if (from->take) {
    st = pla_take_dup(from->take, &copy->take, err);
  } else {
    g_autoptr(JsonNode) node = json_node_init_object(json_node_alloc(), from->meta);
    g_autoptr(JsonNode) meta = pla_json_dup(node);
    json_object_unref(copy->meta);
    copy->meta = json_node_dup_object(meta);
  }
  if (st == PLA_OK)
    *out = g_steal_pointer(&copy);
  return st;
}

PlaStatus
pla_work_load_own(PlaWork *work, int64_t item, PlaContent **out, PlaError *err)
{
  g_autoptr(PlaContent) shared = NULL;
  *out = NULL;
  PlaStatus st = pla_work_load(work, item, &shared, err);
  if (st == PLA_OK && work->memory)
    *out = g_steal_pointer(&shared);
  return st == PLA_OK && shared ? dup_content(shared, out, err) : st;
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

const char *
pla_work_add_made(PlaWork *work, const char *param, const char *name, PlaContent *content)
{
  const char *called = pla_work_add(work, name, content);
  g_array_index(work->results, Result, work->results->len - 1).param = param;
  return called;
}

const PlaWorkWatch *
pla_work_get_watch(const PlaWork *work)
{
  return work->watch;
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
    { PLA_ITEM_MARKERS, "a take of markers" },
    { PLA_ITEM_TRACK, "a track" },
    { PLA_ITEM_AUDIO, "a sound" },
    { PLA_ITEM_MUSCLES, "a set of muscles" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    if (strcmp(words[i][0], kind) == 0)
      return words[i][1];
  return kind;
}

/* that there is an item @name, and of one of @kinds (NULL: any) */
static PlaStatus
check_item(const PlaWork *work, const char *name, const char *kinds, PlaError *err)
{
  const PlaStateItem *item;
  PlaStatus st = find_item(work, name, &item, err);
  if (st != PLA_OK || !kinds)
    return st;
  g_auto(GStrv) each = g_strsplit(kinds, " ", -1);
  if (g_strv_contains((const char *const *)each, item->kind))
    return PLA_OK;
  g_autoptr(GString) wanted = g_string_new(kind_words(each[0]));
  for (char **kind = each + 1; *kind; kind++)
    g_string_append_printf(wanted, " or %s", kind_words(*kind));
  return pla_fail(err, PLA_ERR_USAGE, "%s is %s; '%s' needs %s", name, kind_words(item->kind),
                  work->op->name, wanted->str);
}

/* that items which parameters name are there, and of a kind that the definition allows */
static PlaStatus
check_items(PlaWork *work, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (const PlaVerbParam *p = work->op->params; st == PLA_OK && p && p->name; p++) {
    if (pla_work_is_null(work, p->name))
      continue;
    if (p->type == PLA_PARAM_ITEM && p->kinds)
      st = check_item(work, pla_work_text(work, p->name), p->kinds, err);
    for (guint i = 0; st == PLA_OK && p->type == PLA_PARAM_ITEMS &&
                      i < json_array_get_length(pla_work_list(work, p->name));
         i++)
      st = check_item(work, json_array_get_string_element(pla_work_list(work, p->name), i),
                      p->kinds, err);
  }
  return st;
}

/* the definition with its parameters, checked; no items yet */
static PlaStatus
work_begin(const PlaVerb *op, JsonObject *given, PlaWork **out, PlaError *err)
{
  JsonObject *params;
  *out = NULL;
  PlaStatus st = pla_verb_check(op, given, &params, err);
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

/* what a case keeps of what was found: all but the times that the work took */
static JsonObject *
found_to_keep(const PlaWork *work)
{
  JsonObject *keep = json_object_new();
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init_ordered(&iter, work->found);
  while (json_object_iter_next_ordered(&iter, &key, &node)) {
    bool clock = false;
    for (const PlaResultKey *r = work->op->results; r && r->key; r++)
      clock |= r->clock && strcmp(r->key, key) == 0;
    if (!clock)
      json_object_set_member(keep, key, json_node_copy(node));
  }
  return keep;
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
    json_object_set_object_member(first->content->meta, work->op->keeps, found_to_keep(work));
  }
  return PLA_OK;
}

PlaStatus
pla_work_new(const PlaRequest *request, PlaStore *store, const PlaState *state, PlaWork **out,
             PlaError *err)
{
  *out = NULL;
  const PlaVerb *op = pla_verb_find(request->verb);
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
pla_work_run_memory(const PlaVerb *op, JsonObject *params, const PlaWorkItem *items, int n_items,
                    PlaProgress *progress, PlaWork **out, PlaError *err)
{
  return pla_work_run_watched(op, params, items, n_items, NULL, progress, out, err);
}

PlaStatus
pla_work_run_watched(const PlaVerb *op, JsonObject *params, const PlaWorkItem *items, int n_items,
                     const PlaWorkWatch *watch, PlaProgress *progress, PlaWork **out, PlaError *err)
{
  PlaWork *work;
  *out = NULL;
  PlaStatus st = work_begin(op, params, &work, err);
  if (st != PLA_OK)
    return st;
  work->progress = work->read.progress = progress;
  work->memory = items;
  work->watch = watch;
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
    const Result *result = &g_array_index(work->results, Result, r);
    if (result->content && !result->param && i-- == 0)
      return result->content;
  }
  return NULL;
}

PlaContent *
pla_work_get_made(const PlaWork *work, const char *param)
{
  for (guint r = 0; r < work->results->len; r++) {
    const Result *result = &g_array_index(work->results, Result, r);
    if (g_strcmp0(result->param, param) == 0)
      return result->content;
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
    g_autofree char *verb = g_strdup(work->op->name), *program = g_strdup(PLA_VERSION);
    g_autofree char *kernel = g_strdup(pla_kernels_text());
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

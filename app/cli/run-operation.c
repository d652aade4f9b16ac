/* Operations from file to file: options from the parameters of a definition, items from files, the
 * function of the operation on them in memory, and its results into files.
 *
 * The definition (app/verbs) is the only place that knows parameters and results: what a case does
 * and what the command line does is the same function. */
#include "app/cli/cli-private.h"
#include "app/content/content.h"
#include "io/formats/format.h"
#include "io/formats/label-files.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------ */

/* the first item of a definition is the file of the command line */
static bool
is_positional(const PlaOperation *op, const PlaOpParam *param)
{
  for (const PlaOpParam *p = op->params; p <= param; p++)
    if (p->type == PLA_PARAM_ITEM)
      return p == param;
  return false;
}

/* "cell-mm" of "cell_mm"; NULL where the parameter has no option */
static char *
option_name(const PlaOperation *op, const PlaOpParam *param)
{
  if (is_positional(op, param) || (param->option && !*param->option))
    return NULL;
  return param->option ? g_strdup(param->option) : g_strdelimit(g_strdup(param->name), "_", '-');
}

/* the help of a parameter with its unit and default */
static char *
option_help(const PlaOpParam *param)
{
  const bool number = param->type == PLA_PARAM_NUMBER || param->type == PLA_PARAM_INT;
  const char *standard = param->otherwise;
  if (param->type == PLA_PARAM_BOOL || param->type == PLA_PARAM_LIST ||
      (standard && strcmp(standard, "null") == 0))
    standard = NULL;
  g_autoptr(GString) text = g_string_new(param->help);
  if (number && param->unit && standard)
    g_string_append_printf(text, " (%s, default: %s)", param->unit, standard);
  else if (number && param->unit)
    g_string_append_printf(text, " (%s)", param->unit);
  else if (standard)
    g_string_append_printf(text, " (default: %.*s)",
                           (int)strlen(standard) - (*standard == '"' ? 2 : 0),
                           standard + (*standard == '"'));
  return g_string_free(g_steal_pointer(&text), FALSE);
}

static PlaOpt
option_of(const PlaOpParam *param, char *name)
{
  static const struct {
    PlaOptType type;
    const char *arg;
  } forms[] = {
    [PLA_PARAM_TEXT] = { PLA_OPT_TEXT, "NAME" },   [PLA_PARAM_ITEM] = { PLA_OPT_TEXT, "FILE" },
    [PLA_PARAM_NUMBER] = { PLA_OPT_NUMBER, "X" },  [PLA_PARAM_INT] = { PLA_OPT_INT, "N" },
    [PLA_PARAM_BOOL] = { PLA_OPT_FLAG, NULL },     [PLA_PARAM_POINT] = { PLA_OPT_TEXT, "X,Y,Z" },
    [PLA_PARAM_POINTS] = { PLA_OPT_TEXT, "FILE" }, [PLA_PARAM_LIST] = { PLA_OPT_TEXT, "IDS" },
  };
  const bool number = param->type == PLA_PARAM_NUMBER || param->type == PLA_PARAM_INT;
  return (PlaOpt){ .name = name,
                   .type = param->part   ? PLA_OPT_RANGE
                           : param->file ? PLA_OPT_OUTPUT
                                         : forms[param->type].type,
                   .arg = param->arg ? param->arg : forms[param->type].arg,
                   .help = option_help(param),
                   .min = number ? param->min : 0.0,
                   .max = number ? param->max : 0.0 };
}

const PlaOpt *
pla_verb_options(const PlaVerb *verb)
{
  static GHashTable *made; /* verb -> table, for the whole run */
  if (!verb->operation)
    return verb->options;
  if (!made)
    made = g_hash_table_new(NULL, NULL);
  const PlaOpt *table = g_hash_table_lookup(made, verb);
  if (table)
    return table;
  GArray *all = g_array_new(TRUE, TRUE, sizeof(PlaOpt));
  for (const PlaOpParam *p = verb->operation->params; p && p->name; p++) {
    char *name = p->part == 2 ? NULL : option_name(verb->operation, p);
    if (name) {
      PlaOpt opt = option_of(p, name);
      g_array_append_val(all, opt);
    }
  }
  for (const PlaOpt *opt = verb->options; opt && opt->name; opt++)
    g_array_append_val(all, *opt);
  table = (const PlaOpt *)(void *)g_array_free(all, FALSE);
  g_hash_table_insert(made, (gpointer)verb, (gpointer)table);
  return table;
}

/* ---- parameters --------------------------------------------------------------------------- */

static JsonNode *
label_node(const char *text)
{
  char *end;
  const gint64 number = g_ascii_strtoll(text, &end, 10);
  JsonNode *node = json_node_new(JSON_NODE_VALUE);
  if (end != text && *end == '\0')
    json_node_set_int(node, number);
  else
    json_node_set_string(node, text);
  return node;
}

/* "1,2+3" as [1, [2, 3]] */
static JsonNode *
list_node(const char *text)
{
  JsonArray *list = json_array_new();
  g_auto(GStrv) groups = g_strsplit(text, ",", -1);
  for (char **g = groups; *g; g++) {
    g_auto(GStrv) parts = g_strsplit(*g, "+", -1);
    if (g_strv_length(parts) == 1) {
      json_array_add_element(list, label_node(g_strstrip(parts[0])));
      continue;
    }
    JsonArray *group = json_array_new();
    for (char **p = parts; *p; p++)
      json_array_add_element(group, label_node(g_strstrip(*p)));
    json_array_add_array_element(list, group);
  }
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(node, list);
  return node;
}

/* what the option says, or NULL where it was not given */
static JsonNode *
option_value(PlaInvocation *inv, const PlaOpParam *param, const char *option)
{
  if (!pla_invocation_has(inv, option))
    return NULL;
  double range[2];
  JsonNode *node = json_node_new(JSON_NODE_VALUE);
  switch (param->type) {
  case PLA_PARAM_NUMBER:
    if (param->part && pla_invocation_range(inv, option, range))
      json_node_set_double(node, range[param->part - 1]);
    else
      json_node_set_double(node, pla_invocation_number(inv, option, 0.0));
    break;
  case PLA_PARAM_INT:
    json_node_set_int(node, pla_invocation_int(inv, option, 0));
    break;
  case PLA_PARAM_BOOL:
    json_node_set_boolean(node, TRUE);
    break;
  case PLA_PARAM_LIST:
    json_node_unref(node);
    node = list_node(pla_invocation_text(inv, option, 0, NULL));
    break;
  default:
    json_node_set_string(node, pla_invocation_text(inv, option, 0, NULL));
    break;
  }
  return node;
}

static JsonObject *
read_params(PlaInvocation *inv, const PlaOperation *op)
{
  JsonObject *params = json_object_new();
  for (const PlaOpParam *p = op->params; p && p->name; p++) {
    g_autofree char *option = option_name(op, p);
    JsonNode *node = option ? option_value(inv, p, option) : NULL;
    if (node)
      json_object_set_member(params, p->name, node);
    else if (is_positional(op, p))
      json_object_set_string_member(params, p->name, pla_invocation_file(inv, 0));
  }
  return params;
}

/* that all is there that has no default, in the words of the command line */
static PlaStatus
check_given(const PlaOperation *op, JsonObject *params, PlaError *err)
{
  for (const PlaOpParam *p = op->params; p && p->name; p++) {
    g_autofree char *option = option_name(op, p);
    if (!p->otherwise && option && !json_object_has_member(params, p->name))
      return pla_fail(err, PLA_ERR_USAGE, "'%s' needs --%s: %s", op->verb, option, p->help);
  }
  return PLA_OK;
}

/* ---- files -------------------------------------------------------------------------------- */

/* the file @path as an item of one of @kinds, where it can be one */
static PlaStatus
read_item(PlaInvocation *inv, const char *path, const char *kinds, PlaContent **out, PlaError *err)
{
  PlaReadOptions read = pla_read_options_default();
  PlaItem item = { 0 };
  read.progress = pla_invocation_progress(inv);
  if (pla_invocation_knows(inv, "series"))
    read.series = pla_invocation_int(inv, "series", -1);
  PlaStatus st = pla_item_read(path, &read, &item, err);
  if (st != PLA_OK)
    return st;
  for (int i = 0; i < item.notes.n; i++)
    pla_say(inv, "note: %s", item.notes.text[i]);
  g_auto(GStrv) wanted = g_strsplit(kinds ? kinds : "", " ", -1);
  const bool labels =
      item.kind == PLA_KIND_VOLUME && g_strv_contains((const char *const *)wanted, PLA_ITEM_LABELS);
  if (labels && item.volume->dims[3] != 1)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has %d frames; a label volume has one", path,
                  item.volume->dims[3]);
  if (st == PLA_OK) {
    st = pla_content_take_item(&item, labels, out, err);
    if (st != PLA_OK && !strstr(err->message, path))
      pla_fail_within(err, "%s", path);
  }
  pla_item_clear(&item);
  return st;
}

static PlaStatus
write_content(PlaInvocation *inv, const char *path, const PlaContent *content, PlaError *err)
{
  PlaWriteOptions write = pla_write_options_default();
  PlaItem item;
  write.progress = pla_invocation_progress(inv);
  PlaStatus st = pla_content_borrow_item(content, &item, err);
  if (st == PLA_OK)
    st = pla_item_write(path, &item, &write, err);
  /* names and colours go beside the voxels */
  if (st == PLA_OK && content->labels)
    st = pla_label_sidecar_write(path, &content->labels->table, err);
  return st;
}

/* the first result is the output; each further one belongs to an option that names its file */
static PlaStatus
write_results(PlaInvocation *inv, const PlaOperation *op, const PlaWork *work, PlaError *err)
{
  int next = 0;
  PlaStatus st =
      write_content(inv, pla_invocation_output(inv), pla_work_get_result(work, next++), err);
  for (const PlaOpParam *p = op->params; st == PLA_OK && p->name; p++) {
    g_autofree char *option = p->file ? option_name(op, p) : NULL;
    if (option && pla_invocation_has(inv, option))
      st = write_content(inv, pla_invocation_text(inv, option, 0, NULL),
                         pla_work_get_result(work, next++), err);
  }
  return st;
}

static PlaKind
kind_of_file(const char *kind)
{
  return strcmp(kind, PLA_ITEM_MESH) == 0 ? PLA_KIND_MESH : PLA_KIND_VOLUME;
}

/* that the files have formats which can hold the results, before any work */
static PlaStatus
check_formats(PlaInvocation *inv, const PlaOperation *op, PlaError *err)
{
  const PlaFormat *format;
  PlaStatus st =
      pla_format_for_output(pla_invocation_output(inv), kind_of_file(op->makes), &format, err);
  for (const PlaOpParam *p = op->params; st == PLA_OK && p->name; p++) {
    g_autofree char *option = p->file ? option_name(op, p) : NULL;
    if (option && pla_invocation_has(inv, option))
      st = pla_format_for_output(pla_invocation_text(inv, option, 0, NULL), kind_of_file(p->kinds),
                                 &format, err);
  }
  return st;
}

/* ---- running ------------------------------------------------------------------------------ */

static void
print_found(PlaInvocation *inv, const PlaWork *work, double seconds)
{
  JsonBuilder *json = pla_invocation_json(inv);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init_ordered(&iter, pla_work_get_found(work));
  while (json_object_iter_next_ordered(&iter, &key, &node)) {
    json_builder_set_member_name(json, key);
    json_builder_add_value(json, json_node_copy(node));
  }
  pla_json_number(json, "seconds", seconds);
  for (guint i = 0; i < pla_work_get_lines(work)->len; i++)
    pla_say(inv, "%s", (const char *)pla_work_get_lines(work)->pdata[i]);
}

PlaStatus
pla_run_operation(PlaInvocation *inv, PlaError *err)
{
  const PlaOperation *op = pla_invocation_verb(inv)->operation;
  PlaProgress *progress = pla_invocation_progress(inv);
  g_autoptr(JsonObject) params = read_params(inv, op);
  g_autoptr(JsonObject) checked = NULL;
  g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(PlaWorkItem));
  PlaWork *work = NULL;
  double seconds = 0.0;
  PlaStatus st = check_given(op, params, err);
  if (st == PLA_OK)
    st = pla_operation_check(op, params, &checked, err);
  if (st == PLA_OK && op->check)
    st = op->check(checked, err);
  if (st == PLA_OK)
    st = check_formats(inv, op, err);
  pla_progress_phase(progress, "Reading", 0.15);
  for (const PlaOpParam *p = op->params; st == PLA_OK && p->name; p++) {
    const char *path = p->type == PLA_PARAM_ITEM && json_object_has_member(params, p->name)
                           ? json_object_get_string_member(params, p->name)
                           : NULL;
    PlaWorkItem item = { path, NULL };
    if (path)
      st = read_item(inv, path, p->kinds, &item.content, err);
    if (item.content)
      g_array_append_val(items, item);
  }
  pla_progress_phase(progress, "Working", 0.9);
  if (st == PLA_OK) {
    const gint64 start = g_get_monotonic_time();
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_work_run_memory(op, params, (const PlaWorkItem *)(void *)items->data, (int)items->len,
                             progress, &work, err);
    pla_progress_pop(progress, span);
    seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
    const char *path = pla_invocation_file(inv, 0);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED && path && !strstr(err->message, path))
      pla_fail_within(err, "%s", path);
  }
  for (guint i = 0; i < items->len; i++)
    pla_content_unref(g_array_index(items, PlaWorkItem, i).content);
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = write_results(inv, op, work, err);
  if (st == PLA_OK)
    print_found(inv, work, seconds);
  pla_work_free(work);
  return st;
}

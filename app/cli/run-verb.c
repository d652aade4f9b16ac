/* Operations from file to file: options from the parameters of a definition, items from files, the
 * function of the operation on them in memory, and its results into files.
 *
 * The definition (app/verbs) is the only place that knows parameters and results: what a case does
 * and what the command line does is the same function. */
#include "app/cli/body-input.h"
#include "app/cli/cli-private.h"
#include "app/content/files.h"
#include "app/motion/landmark-table.h"
#include "app/motion/muscles.h"
#include "io/formats/format.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* the parameter that "phantom:NAME" in place of a file gives */
#define PHANTOM_PARAM "phantom"

/* ---- options ------------------------------------------------------------------------------ */

/* "cell-mm" of "cell_mm"; NULL where the parameter has no option */
static char *
option_name(const PlaVerbParam *param)
{
  if (param->positional || (param->option && !*param->option))
    return NULL;
  return param->option ? g_strdup(param->option) : g_strdelimit(g_strdup(param->name), "_", '-');
}

/* the help of a parameter with its unit and default; a flag that turns a default off is "without"
 */
static char *
option_help(const PlaVerbParam *param)
{
  const bool number = param->type == PLA_PARAM_NUMBER || param->type == PLA_PARAM_INT;
  const char *standard = param->otherwise;
  const bool off =
      param->type == PLA_PARAM_BOOL && !param->words && g_strcmp0(standard, "true") == 0;
  if (param->type == PLA_PARAM_BOOL || param->type == PLA_PARAM_LIST ||
      g_strcmp0(standard, "null") == 0 || g_strcmp0(standard, "[]") == 0)
    standard = NULL;
  g_autoptr(GString) text = g_string_new(off ? "without " : NULL);
  g_string_append(text, param->help);
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

/* the words for false and true of a bool; g_strfreev() */
static char **
bool_words(const PlaVerbParam *param)
{
  return g_strsplit(param->words, " ", 2);
}

static PlaOpt
option_of(const PlaVerbParam *param, char *name)
{
  static const struct {
    PlaOptType type;
    const char *arg;
  } forms[] = {
    [PLA_PARAM_TEXT] = { PLA_OPT_TEXT, "NAME" },      [PLA_PARAM_ITEM] = { PLA_OPT_TEXT, "FILE" },
    [PLA_PARAM_NUMBER] = { PLA_OPT_NUMBER, "X" },     [PLA_PARAM_INT] = { PLA_OPT_INT, "N" },
    [PLA_PARAM_BOOL] = { PLA_OPT_FLAG, NULL },        [PLA_PARAM_POINT] = { PLA_OPT_TEXT, "X,Y,Z" },
    [PLA_PARAM_POINTS] = { PLA_OPT_TEXT, "FILE" },    [PLA_PARAM_LIST] = { PLA_OPT_TEXT, "IDS" },
    [PLA_PARAM_ITEMS] = { PLA_OPT_TEXT, "FILE" },     [PLA_PARAM_OBJECT] = { PLA_OPT_TEXT, "JSON" },
    [PLA_PARAM_LANDMARKS] = { PLA_OPT_TEXT, "FILE" },
  };
  const bool number = param->type == PLA_PARAM_NUMBER || param->type == PLA_PARAM_INT;
  return (PlaOpt){ .name = name,
                   .type = param->part    ? PLA_OPT_RANGE
                           : param->file  ? PLA_OPT_OUTPUT
                           : param->words ? PLA_OPT_TEXT
                                          : forms[param->type].type,
                   .arg = param->arg ? param->arg : forms[param->type].arg,
                   .help = option_help(param),
                   .min = number ? param->min : 0.0,
                   .max = number ? param->max : 0.0,
                   .repeatable = param->type == PLA_PARAM_ITEMS };
}

/* appends the options of a verb to @all (of PlaOpt), but for those that another part has too;
 * @word: of the part that it is, or NULL */
static void
add_options(const PlaVerb *verb, const char *word, GArray *all)
{
  for (const PlaVerbParam *p = verb->params; p && p->name; p++) {
    char *name = p->part == 2 ? NULL : option_name(p);
    for (guint i = 0; name && word && i < all->len; i++)
      if (strcmp(g_array_index(all, PlaOpt, i).name, name) == 0)
        g_clear_pointer(&name, g_free);
    if (!name)
      continue;
    PlaOpt opt = option_of(p, name);
    if (word) {
      g_autofree char *help = (char *)opt.help;
      opt.help = g_strdup_printf("%s: %s", word, help);
    }
    g_array_append_val(all, opt);
  }
}

const PlaOpt *
pla_command_options(const PlaCommand *command)
{
  static GHashTable *made; /* command -> table, for the whole run */
  if (!command->verb && !command->parts)
    return command->options;
  if (!made)
    made = g_hash_table_new(NULL, NULL);
  const PlaOpt *table = g_hash_table_lookup(made, command);
  if (table)
    return table;
  GArray *all = g_array_new(TRUE, TRUE, sizeof(PlaOpt));
  if (command->verb)
    add_options(command->verb, NULL, all);
  for (const PlaOpt *opt = command->options; opt && opt->name; opt++)
    g_array_append_val(all, *opt);
  for (const PlaCommandPart *part = command->parts; part && part->word; part++)
    add_options(part->verb, part->word, all);
  table = (const PlaOpt *)(void *)g_array_free(all, FALSE);
  g_hash_table_insert(made, (gpointer)command, (gpointer)table);
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

/* words @first to the last before @end, as texts; @option NULL: words without an option */
static JsonNode *
texts_node(PlaInvocation *inv, const char *option, int first, int end)
{
  JsonArray *list = json_array_new();
  for (int i = first; i < end; i++)
    json_array_add_string_element(list, option ? pla_invocation_text(inv, option, i, NULL)
                                               : pla_invocation_file(inv, i));
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(node, list);
  return node;
}

/* an object from a file, or written out */
static PlaStatus
object_node(const char *text, JsonNode **out, PlaError *err)
{
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaStatus st = text[0] == '{' ? pla_json_text_load(text, "the object", &file, &root, err)
                                : pla_json_file_load(text, &file, &root, err);
  if (st == PLA_OK)
    *out = json_node_copy(root.node);
  pla_json_file_free(file);
  return st;
}

/* the landmarks of a table */
static PlaStatus
landmarks_node(const char *path, JsonNode **out, PlaError *err)
{
  PlaLandmarks mark;
  PlaStatus st = pla_landmarks_read(path, &mark, err);
  if (st != PLA_OK)
    return st;
  *out = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(*out, pla_landmarks_to_json(&mark));
  pla_landmarks_clear(&mark);
  return PLA_OK;
}

/* X,Y,Z as a list of numbers; as a text, which the check of the parameter refuses, where it is
 * something else */
static JsonNode *
point_node(const char *text)
{
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  g_auto(GStrv) words = g_strsplit(text, ",", -1);
  g_autoptr(JsonArray) list = json_array_new();
  for (char **w = words; *w; w++) {
    char *end;
    const double value = g_ascii_strtod(g_strstrip(*w), &end);
    if (end == *w || *end) {
      json_node_init_string(node, text);
      return node;
    }
    json_array_add_double_element(list, value);
  }
  json_node_set_array(node, list);
  return node;
}

/* what the option says, or NULL where it was not given; what is made besides, but has no file, is
 * not made */
static JsonNode *
option_value(PlaInvocation *inv, const PlaVerbParam *param, const char *option)
{
  if (!pla_invocation_has(inv, option) && !param->file)
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
  case PLA_PARAM_BOOL: {
    g_auto(GStrv) words = param->words ? bool_words(param) : NULL;
    json_node_set_boolean(node, words
                                    ? strcmp(pla_invocation_text(inv, option, 0, ""), words[1]) == 0
                                : param->file ? pla_invocation_has(inv, option)
                                              : g_strcmp0(param->otherwise, "true") != 0);
    break;
  }
  case PLA_PARAM_POINT:
    json_node_unref(node);
    node = point_node(pla_invocation_text(inv, option, 0, ""));
    break;
  case PLA_PARAM_LIST:
    json_node_unref(node);
    node = list_node(pla_invocation_text(inv, option, 0, NULL));
    break;
  case PLA_PARAM_ITEMS:
    json_node_unref(node);
    node = texts_node(inv, option, 0, pla_invocation_count(inv, option));
    break;
  default:
    json_node_set_string(node, pla_invocation_text(inv, option, 0, NULL));
    break;
  }
  return node;
}

/* the next word without an option, or all further ones; NULL where there is none */
static JsonNode *
word_value(PlaInvocation *inv, const PlaVerbParam *param, int *word)
{
  const int first = *word, n = pla_invocation_n_files(inv);
  if (first >= n)
    return NULL;
  *word = param->type == PLA_PARAM_ITEMS ? n : first + 1;
  if (param->type == PLA_PARAM_ITEMS)
    return texts_node(inv, NULL, first, n);
  JsonNode *node = json_node_new(JSON_NODE_VALUE);
  json_node_set_string(node, pla_invocation_file(inv, first));
  return node;
}

/* NAME where the word is "phantom:NAME" and the verb has a parameter for that, else NULL */
static const char *
phantom_word(PlaInvocation *inv, const PlaVerb *op, int word)
{
  const char *text = word < pla_invocation_n_files(inv) ? pla_invocation_file(inv, word) : "";
  for (const PlaVerbParam *p = op->params; p->name; p++)
    if (strcmp(p->name, PHANTOM_PARAM) == 0 && !p->positional && g_str_has_prefix(text, "phantom:"))
      return text + strlen("phantom:");
  return NULL;
}

/* that the value of a bool's option is one of its two words */
static PlaStatus
check_words(PlaInvocation *inv, const PlaVerbParam *param, const char *option, PlaError *err)
{
  g_auto(GStrv) words = bool_words(param);
  const char *given = pla_invocation_text(inv, option, 0, words[0]);
  return g_strv_contains((const char *const *)words, given)
             ? PLA_OK
             : pla_fail(err, PLA_ERR_USAGE, "--%s is '%s' or '%s', not '%s'", option, words[1],
                        words[0], given);
}

static PlaStatus
read_params(PlaInvocation *inv, const PlaVerb *op, int word, JsonObject *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (const PlaVerbParam *p = op->params; st == PLA_OK && p && p->name; p++) {
    g_autofree char *option = option_name(p);
    const char *phantom = p->positional ? phantom_word(inv, op, word) : NULL;
    if (phantom) {
      json_object_set_string_member(out, PHANTOM_PARAM, phantom);
      word++;
      continue;
    }
    st = option && p->words ? check_words(inv, p, option, err) : PLA_OK;
    if (st != PLA_OK)
      break;
    g_autoptr(JsonNode) node = p->positional ? word_value(inv, p, &word)
                               : option      ? option_value(inv, p, option)
                                             : NULL;
    if (node && (p->type == PLA_PARAM_OBJECT || p->type == PLA_PARAM_LANDMARKS)) {
      g_autofree char *text = json_node_dup_string(node);
      json_node_unref(g_steal_pointer(&node));
      st = p->type == PLA_PARAM_OBJECT ? object_node(text, &node, err)
                                       : landmarks_node(text, &node, err);
    }
    if (node)
      json_object_set_member(out, p->name, g_steal_pointer(&node));
  }
  return st;
}

/* that all is there that has no default, in the words of the command line */
static PlaStatus
check_given(const PlaVerb *op, JsonObject *params, PlaError *err)
{
  for (const PlaVerbParam *p = op->params; p && p->name; p++) {
    g_autofree char *option = option_name(p);
    if (!p->otherwise && option && !json_object_has_member(params, p->name))
      return pla_fail(err, PLA_ERR_USAGE, "'%s' needs --%s: %s", op->name, option, p->help);
    if (!p->otherwise && p->positional && !json_object_has_member(params, p->name))
      return pla_fail(err, PLA_ERR_USAGE, "'%s' needs %s", op->name, p->help);
  }
  return PLA_OK;
}

/* ---- files -------------------------------------------------------------------------------- */

static bool
is_among(const char *kind, const char *kinds)
{
  g_auto(GStrv) each = g_strsplit(kinds ? kinds : "", " ", -1);
  return g_strv_contains((const char *const *)each, kind);
}

/* the file @path as an item of one of @kinds, where it can be one */
static PlaStatus
read_item(PlaInvocation *inv, const char *path, const char *kinds, PlaContent **out, PlaError *err)
{
  const bool table = g_str_has_suffix(path, ".csv") || g_str_has_suffix(path, ".tsv") ||
                     g_str_has_suffix(path, ".txt");
  if (table && is_among(PLA_ITEM_LANDMARKS, kinds))
    return pla_landmarks_read_content(path, out, err);
  if (g_strcmp0(kinds, PLA_ITEM_MUSCLES) == 0)
    return pla_muscle_description_read(path, out, err);
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
  const bool labels = item.kind == PLA_KIND_VOLUME && is_among(PLA_ITEM_LABELS, kinds) &&
                      (item.labels.n > 0 || !is_among(PLA_ITEM_VOLUME, kinds));
  if (kinds && (item.kind == PLA_KIND_PHONES || item.kind == PLA_KIND_LABEL_TABLE))
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a file of the kind '%s'; a %.*s is needed", path,
                  pla_kind_name(item.kind), (int)strcspn(kinds, " "), kinds);
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

/* adds the file @path, which a parameter names, to @items (of PlaWorkItem) */
static PlaStatus
add_item(PlaInvocation *inv, const char *path, const char *kinds, GArray *items, PlaError *err)
{
  for (guint i = 0; i < items->len; i++)
    if (strcmp(g_array_index(items, PlaWorkItem, i).name, path) == 0)
      return PLA_OK;
  PlaWorkItem item = { path, NULL };
  PlaStatus st = read_item(inv, path, kinds, &item.content, err);
  if (st == PLA_OK)
    g_array_append_val(items, item);
  return st;
}

/* all files that parameters name */
static PlaStatus
read_items(PlaInvocation *inv, const PlaVerb *op, JsonObject *params, GArray *items, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (const PlaVerbParam *p = op->params; st == PLA_OK && p->name; p++) {
    JsonNode *node = json_object_get_member(params, p->name);
    const char *path = node && p->type == PLA_PARAM_ITEM ? json_node_get_string(node) : NULL;
    if (path && p->positional && g_strcmp0(p->kinds, PLA_ITEM_MUSCLES) == 0)
      st = pla_invocation_add_body(inv, path, items, err);
    else if (path)
      st = add_item(inv, path, p->kinds, items, err);
    JsonArray *list = node && p->type == PLA_PARAM_ITEMS ? json_node_get_array(node) : NULL;
    for (guint i = 0; list && st == PLA_OK && i < json_array_get_length(list); i++)
      st = add_item(inv, json_array_get_string_element(list, i), p->kinds, items, err);
  }
  return st;
}

/* a sentence that names no file is about the first one */
static void
name_file(const GArray *items, PlaError *err)
{
  for (guint i = 0; i < items->len; i++)
    if (strstr(err->message, g_array_index(items, PlaWorkItem, i).name))
      return;
  if (items->len > 0)
    pla_fail_within(err, "%s", g_array_index(items, PlaWorkItem, 0).name);
}

static PlaStatus
write_item(PlaInvocation *inv, const PlaContent *content, const char *path, PlaError *err)
{
  PlaLandmarks mark;
  if (strcmp(content->kind, PLA_ITEM_MUSCLES) == 0)
    return pla_muscle_description_write(content, path, err);
  if (strcmp(content->kind, PLA_ITEM_LANDMARKS) != 0)
    return pla_content_write_file(content, path, pla_invocation_progress(inv), err);
  PlaStatus st = pla_landmarks_from_content(content, 0, &mark, err);
  if (st == PLA_OK)
    st = pla_landmarks_write(path, &mark, err);
  pla_landmarks_clear(&mark);
  return st;
}

/* @content into the file that @option names (NULL: the output), if it does */
static PlaStatus
write_result(PlaInvocation *inv, const PlaVerbRun *with, const PlaWork *work, const char *option,
             const PlaContent *content, PlaError *err)
{
  const char *path =
      option ? pla_invocation_text(inv, option, 0, NULL) : pla_invocation_output(inv);
  bool done = !path;
  PlaStatus st = PLA_OK;
  if (path && with->write)
    st = with->write(inv, work, option, path, &done, with->data, err);
  return st == PLA_OK && !done ? write_item(inv, content, path, err) : st;
}

/* the first result is the output; others belong to options that name their files: the one that was
 * made for the parameter, or the next one */
static PlaStatus
write_results(PlaInvocation *inv, const PlaVerb *op, const PlaVerbRun *with, const PlaWork *work,
              PlaError *err)
{
  int next = 0;
  PlaContent *first = pla_work_get_result(work, next++);
  PlaStatus st = write_result(inv, with, work, NULL, first, err);
  for (const PlaVerbParam *p = op->params; st == PLA_OK && p->name; p++) {
    g_autofree char *option = p->file ? option_name(p) : NULL;
    if (!option || !pla_invocation_has(inv, option))
      continue;
    PlaContent *made = pla_work_get_made(work, p->name);
    st =
        write_result(inv, with, work, option, made ? made : pla_work_get_result(work, next++), err);
  }
  return st;
}

/* that a file with the ending of @path can hold an item of @kind (NULL: of a kind that only the
 * work tells) */
static PlaStatus
check_format(const char *path, const char *kind, PlaError *err)
{
  static const struct {
    const char *item;
    PlaKind file;
  } kinds[] = {
    { PLA_ITEM_VOLUME, PLA_KIND_VOLUME }, { PLA_ITEM_LABELS, PLA_KIND_VOLUME },
    { PLA_ITEM_MESH, PLA_KIND_MESH },     { PLA_ITEM_MARKERS, PLA_KIND_TAKE },
    { PLA_ITEM_TRACK, PLA_KIND_TRACK },   { PLA_ITEM_AUDIO, PLA_KIND_AUDIO },
  };
  const PlaFormat *format;
  for (gsize i = 0; path && kind && i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].item, kind) == 0)
      return pla_format_for_output(path, kinds[i].file, &format, err);
  return PLA_OK;
}

/* whether the output is a series of frames, not a file of one */
static bool
is_series(PlaInvocation *inv, const PlaVerbRun *with)
{
  const char *output = pla_invocation_output(inv);
  return with->watch && output && g_str_has_suffix(output, ".pvd");
}

/* that the files have formats which can hold the results, before any work */
static PlaStatus
check_formats(PlaInvocation *inv, const PlaVerb *op, const PlaVerbRun *with, PlaError *err)
{
  PlaStatus st =
      is_series(inv, with) ? PLA_OK : check_format(pla_invocation_output(inv), op->makes, err);
  for (const PlaVerbParam *p = op->params; st == PLA_OK && p->name; p++) {
    g_autofree char *option = p->file ? option_name(p) : NULL;
    if (option && pla_invocation_has(inv, option))
      st = check_format(pla_invocation_text(inv, option, 0, NULL), p->kinds, err);
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
  if (!json_object_has_member(pla_work_get_found(work), "seconds"))
    pla_json_number(json, "seconds", seconds);
  for (guint i = 0; i < pla_work_get_lines(work)->len; i++)
    pla_say(inv, "%s", (const char *)pla_work_get_lines(work)->pdata[i]);
}

PlaStatus
pla_run_verb(PlaInvocation *inv, PlaError *err)
{
  return pla_run_verb_as(inv, pla_invocation_command(inv)->verb, 0, err);
}

PlaStatus
pla_run_verb_as(PlaInvocation *inv, const PlaVerb *op, int first_word, PlaError *err)
{
  return pla_run_verb_with(inv, op, &(PlaVerbRun){ .word = first_word }, err);
}

PlaStatus
pla_run_verb_with(PlaInvocation *inv, const PlaVerb *op, const PlaVerbRun *with, PlaError *err)
{
  PlaProgress *progress = pla_invocation_progress(inv);
  g_autoptr(JsonObject) params = json_object_new();
  g_autoptr(JsonObject) checked = NULL;
  g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(PlaWorkItem));
  PlaWork *work = NULL;
  double seconds = 0.0;
  PlaStatus st = read_params(inv, op, with->word, params, err);
  if (st == PLA_OK && with->prepare)
    st = with->prepare(inv, params, items, with->data, err);
  if (st == PLA_OK)
    st = check_given(op, params, err);
  if (st == PLA_OK)
    st = pla_verb_check(op, params, &checked, err);
  if (st == PLA_OK && op->check)
    st = op->check(checked, err);
  if (st == PLA_OK)
    st = check_formats(inv, op, with, err);
  pla_progress_phase(progress, "Reading", 0.15);
  if (st == PLA_OK)
    st = read_items(inv, op, params, items, err);
  pla_progress_phase(progress, "Working", 0.9);
  if (st == PLA_OK) {
    const gint64 start = g_get_monotonic_time();
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_work_run_watched(op, params, (const PlaWorkItem *)(void *)items->data, (int)items->len,
                              with->watch, progress, &work, err);
    pla_progress_pop(progress, span);
    seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      name_file(items, err);
  }
  for (guint i = 0; i < items->len; i++)
    pla_content_unref(g_array_index(items, PlaWorkItem, i).content);
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = write_results(inv, op, with, work, err);
  if (st == PLA_OK && with->finish)
    st = with->finish(inv, work, with->data, err);
  if (st == PLA_OK)
    print_found(inv, work, seconds);
  if (st == PLA_OK && pla_work_get_shortfall(work))
    st = pla_fail(err, PLA_ERR_CONVERGENCE, "%s", pla_work_get_shortfall(work));
  pla_work_free(work);
  return st;
}

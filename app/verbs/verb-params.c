/* Parameters of verbs: checked against the table of a definition, and what a row of the log did in
 * words. */
#include "app/base/json.h"
#include "app/verbs/verb.h"

#include <math.h>
#include <string.h>

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

static bool
is_texts(JsonNode *node)
{
  if (!JSON_NODE_HOLDS_ARRAY(node))
    return false;
  JsonArray *array = json_node_get_array(node);
  bool fine = true;
  for (guint i = 0; fine && i < json_array_get_length(array); i++) {
    JsonNode *element = json_array_get_element(array, i);
    fine = JSON_NODE_HOLDS_VALUE(element) && json_node_get_value_type(element) == G_TYPE_STRING &&
           g_utf8_validate(json_node_get_string(element), -1, NULL);
  }
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
    [PLA_PARAM_ITEMS] = "a list of names of items",
    [PLA_PARAM_OBJECT] = "an object {...}",
    [PLA_PARAM_LANDMARKS] = "a list of landmarks [{\"name\": ..., \"at_mm\": [x, y, z]}, ...]",
  };
  return words[type];
}

static PlaStatus
check_param(const PlaVerb *op, const PlaVerbParam *param, JsonNode *node, PlaError *err)
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
  case PLA_PARAM_LANDMARKS:
    fits = JSON_NODE_HOLDS_ARRAY(node);
    break;
  case PLA_PARAM_ITEMS:
    fits = is_texts(node);
    size = fits ? (double)json_array_get_length(json_node_get_array(node)) : NAN;
    break;
  case PLA_PARAM_OBJECT:
    fits = JSON_NODE_HOLDS_OBJECT(node);
    break;
  }
  if (!fits)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' needs %s as \"%s\"%s%s", op->name,
                    type_words(param->type), param->name, param->unit ? ", in " : "",
                    param->unit ? param->unit : "");
  if ((param->min != 0.0 || param->max != 0.0) && (size < param->min || size > param->max))
    return pla_fail(err, PLA_ERR_USAGE, "\"%s\" of '%s' must %s between %g and %g%s%s", param->name,
                    op->name,
                    param->type == PLA_PARAM_TEXT || param->type == PLA_PARAM_ITEM ? "have a length"
                    : param->type == PLA_PARAM_ITEMS                               ? "name items"
                                                                                   : "lie",
                    param->min, param->max, param->unit ? " " : "", param->unit ? param->unit : "");
  return PLA_OK;
}

/* whether a row of the log, which another program may have written, has parameters of the right
 * kinds; it may have others besides */
static bool
has_params(const PlaVerb *op, JsonObject *given)
{
  for (const PlaVerbParam *param = op->params; param && param->name; param++) {
    JsonNode *node = json_object_get_member(given, param->name);
    if (node ? check_param(op, param, node, NULL) != PLA_OK : !param->otherwise)
      return false;
  }
  return true;
}

char *
pla_verb_describe(const PlaLogRow *row)
{
  const PlaVerb *op = pla_verb_find(row->verb);
  g_autoptr(JsonObject) params = NULL;
  char *text = NULL;
  if (op && op->describe &&
      pla_json_parse_stored(row->parameters, "its parameters", &params, NULL) == PLA_OK &&
      has_params(op, params))
    text = op->describe(params);
  return text ? text : g_strdup(op ? op->title : row->verb);
}

PlaStatus
pla_verb_check(const PlaVerb *op, JsonObject *given, JsonObject **out, PlaError *err)
{
  g_autoptr(JsonObject) full = json_object_new();
  *out = NULL;
  guint n_used = 0;
  for (const PlaVerbParam *param = op->params; param && param->name; param++) {
    JsonNode *node = given ? json_object_get_member(given, param->name) : NULL;
    g_autoptr(JsonNode) standard = NULL;
    n_used += node != NULL;
    if (!node && !param->otherwise)
      return pla_fail(err, PLA_ERR_USAGE, "'%s' needs \"%s\": %s", op->name, param->name,
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
                        op->name, key);
  }
  *out = g_steal_pointer(&full);
  return PLA_OK;
}

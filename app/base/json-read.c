/* Members of JSON that was stored: what is missing or of another type reads as not there. */
#include "app/base/json.h"

static JsonNode *
member(JsonObject *object, const char *key)
{
  return object ? json_object_get_member(object, key) : NULL;
}

static JsonNode *
element(JsonArray *array, guint i)
{
  return array && i < json_array_get_length(array) ? json_array_get_element(array, i) : NULL;
}

static JsonObject *
as_object(JsonNode *node)
{
  return node && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
}

static const char *
as_text(JsonNode *node)
{
  return node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;
}

static double
as_number(JsonNode *node, double otherwise)
{
  const GType type =
      node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_value_type(node) : G_TYPE_NONE;
  return type == G_TYPE_INT64 || type == G_TYPE_DOUBLE ? json_node_get_double(node) : otherwise;
}

JsonObject *
pla_json_member_object(JsonObject *object, const char *key)
{
  return as_object(member(object, key));
}

JsonArray *
pla_json_member_array(JsonObject *object, const char *key)
{
  JsonNode *node = member(object, key);
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

const char *
pla_json_member_text(JsonObject *object, const char *key, const char *otherwise)
{
  const char *text = as_text(member(object, key));
  return text ? text : otherwise;
}

double
pla_json_member_number(JsonObject *object, const char *key, double otherwise)
{
  return as_number(member(object, key), otherwise);
}

bool
pla_json_member_flag(JsonObject *object, const char *key)
{
  JsonNode *node = member(object, key);
  return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_BOOLEAN &&
         json_node_get_boolean(node);
}

guint
pla_json_n_elements(JsonArray *array)
{
  return array ? json_array_get_length(array) : 0;
}

JsonObject *
pla_json_element_object(JsonArray *array, guint i)
{
  return as_object(element(array, i));
}

const char *
pla_json_element_text(JsonArray *array, guint i)
{
  return as_text(element(array, i));
}

double
pla_json_element_number(JsonArray *array, guint i, double otherwise)
{
  return as_number(element(array, i), otherwise);
}

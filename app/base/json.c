/* Values of a JSON file, each with its place. */
#include "app/base/json.h"

#include "anatomy/base/memory.h"
#include "io/stream/source.h"

#include <glib.h>
#include <math.h>
#include <string.h>

struct PlaJsonFile {
  JsonNode *root;
};

static PlaStatus
load_bytes(const char *text, size_t size, const char *name, PlaJsonFile **out, PlaJson *root,
           PlaError *err)
{
  JsonNode *node;
  *out = NULL;
  PlaStatus st = pla_json_parse(text, size, name, &node, err);
  if (st != PLA_OK)
    return st;
  if (!JSON_NODE_HOLDS_OBJECT(node)) {
    json_node_unref(node);
    return pla_fail(err, PLA_ERR_FORMAT, "%s: there is no JSON object", name);
  }
  *out = g_new0(PlaJsonFile, 1);
  (*out)->root = node;
  *root = (PlaJson){ .node = node };
  return PLA_OK;
}

PlaStatus
pla_json_file_load(const char *path, PlaJsonFile **out, PlaJson *root, PlaError *err)
{
  PlaBytes bytes = { 0 };
  uint64_t size;
  *out = NULL;
  /* before it is read: a name may lead to a device that never ends */
  PlaStatus st = pla_source_size(path, &size, err);
  if (st == PLA_OK && size > PLA_JSON_MAX_BYTES)
    st = pla_fail(err, PLA_ERR_FORMAT, "%s has %.0f MiB; a JSON file may have %d at most", path,
                  (double)size / 1048576.0, PLA_JSON_MAX_BYTES >> 20);
  if (st == PLA_OK)
    st = pla_source_read(path, NULL, &bytes, err);
  if (st == PLA_OK)
    st = load_bytes((const char *)bytes.data, bytes.size, path, out, root, err);
  pla_bytes_clear(&bytes);
  return st;
}

PlaStatus
pla_json_text_load(const char *text, const char *name, PlaJsonFile **out, PlaJson *root,
                   PlaError *err)
{
  return load_bytes(text, strlen(text), name, out, root, err);
}

void
pla_json_file_free(PlaJsonFile *file)
{
  if (!file)
    return;
  json_node_unref(file->root);
  g_free(file);
}

PlaStatus
pla_json_fail(PlaJson at, PlaError *err, const char *format, ...)
{
  char text[640];
  va_list args;
  va_start(args, format);
  g_vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return pla_fail(err, PLA_ERR_USAGE, "'%s' %s", at.path[0] ? at.path : "the file", text);
}

PlaStatus
pla_json_check_keys(PlaJson object, const char *const *known, PlaError *err)
{
  if (!JSON_NODE_HOLDS_OBJECT(object.node))
    return pla_json_fail(object, err, "must be an object in braces");
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init(&iter, json_node_get_object(object.node));
  while (json_object_iter_next(&iter, &key, &node))
    if (!g_strv_contains(known, key)) {
      g_autofree char *list = g_strjoinv(", ", (char **)known);
      return pla_json_fail(object, err, "has the unknown key '%s'; there are %s", key, list);
    }
  return PLA_OK;
}

bool
pla_json_has(PlaJson object, const char *key)
{
  return JSON_NODE_HOLDS_OBJECT(object.node) &&
         json_object_has_member(json_node_get_object(object.node), key);
}

bool
pla_json_get(PlaJson object, const char *key, PlaJson *out)
{
  if (!pla_json_has(object, key))
    return false;
  PlaJson value = { .node = json_object_get_member(json_node_get_object(object.node), key) };
  g_snprintf(value.path, sizeof value.path, "%.120s%s%.30s", object.path, object.path[0] ? "." : "",
             key);
  *out = value;
  return true;
}

int
pla_json_length(PlaJson array)
{
  return JSON_NODE_HOLDS_ARRAY(array.node)
             ? (int)json_array_get_length(json_node_get_array(array.node))
             : 0;
}

PlaStatus
pla_json_at(PlaJson array, int i, PlaJson *out, PlaError *err)
{
  if (i >= pla_json_length(array))
    return pla_json_fail(array, err, "must be a list with at least %d entr%s", i + 1,
                         i ? "ies" : "y");
  PlaJson value = { .node = json_array_get_element(json_node_get_array(array.node), (guint)i) };
  g_snprintf(value.path, sizeof value.path, "%.140s[%d]", array.path, i);
  *out = value;
  return PLA_OK;
}

PlaStatus
pla_json_number_value(PlaJson json, double *out, PlaError *err)
{
  GType type = JSON_NODE_HOLDS_VALUE(json.node) ? json_node_get_value_type(json.node) : G_TYPE_NONE;
  if (type != G_TYPE_INT64 && type != G_TYPE_DOUBLE)
    return pla_json_fail(json, err, "must be a number");
  *out = json_node_get_double(json.node);
  if (type == G_TYPE_INT64)
    *out = (double)json_node_get_int(json.node);
  return isfinite(*out) ? PLA_OK : pla_json_fail(json, err, "is too large a number");
}

PlaStatus
pla_json_int_value(PlaJson json, int64_t min, int64_t max, int64_t *out, PlaError *err)
{
  if (!JSON_NODE_HOLDS_VALUE(json.node) || json_node_get_value_type(json.node) != G_TYPE_INT64)
    return pla_json_fail(json, err, "must be a whole number");
  *out = json_node_get_int(json.node);
  if (*out < min || *out > max)
    return pla_json_fail(json, err,
                         "is %" G_GINT64_FORMAT ", and must lie between %" G_GINT64_FORMAT
                         " and %" G_GINT64_FORMAT,
                         *out, min, max);
  return PLA_OK;
}

PlaStatus
pla_json_bool_value(PlaJson json, bool *out, PlaError *err)
{
  if (!JSON_NODE_HOLDS_VALUE(json.node) || json_node_get_value_type(json.node) != G_TYPE_BOOLEAN)
    return pla_json_fail(json, err, "must be true or false");
  *out = json_node_get_boolean(json.node);
  return PLA_OK;
}

PlaStatus
pla_json_text_value(PlaJson json, char **out, PlaError *err)
{
  if (!JSON_NODE_HOLDS_VALUE(json.node) || json_node_get_value_type(json.node) != G_TYPE_STRING)
    return pla_json_fail(json, err, "must be text in quotes");
  *out = g_strdup(json_node_get_string(json.node));
  return PLA_OK;
}

PlaStatus
pla_json_vector(PlaJson json, int n, double *out, PlaError *err)
{
  if (pla_json_length(json) != n)
    return pla_json_fail(json, err, "must be a list of %d numbers", n);
  PlaStatus st = PLA_OK;
  for (int i = 0; st == PLA_OK && i < n; i++) {
    PlaJson item;
    st = pla_json_at(json, i, &item, err);
    if (st == PLA_OK)
      st = pla_json_number_value(item, &out[i], err);
  }
  return st;
}

PlaStatus
pla_json_choice(PlaJson json, const char *const *choices, int *out, PlaError *err)
{
  g_autofree char *text = NULL;
  PlaStatus st = pla_json_text_value(json, &text, err);
  if (st != PLA_OK)
    return st;
  for (int i = 0; choices[i]; i++)
    if (strcmp(choices[i], text) == 0) {
      *out = i;
      return PLA_OK;
    }
  g_autofree char *list = g_strjoinv(", ", (char **)choices);
  return pla_json_fail(json, err, "is '%s', and must be one of %s", text, list);
}

JsonArray *
pla_json_array_of(const double *value, int n)
{
  JsonArray *array = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_double_element(array, value[i]);
  return array;
}

JsonNode *
pla_json_dup(JsonNode *node)
{
  if (JSON_NODE_HOLDS_OBJECT(node)) {
    g_autoptr(JsonObject) copy = json_object_new();
    JsonObjectIter iter;
    const char *key;
    JsonNode *value;
    json_object_iter_init_ordered(&iter, json_node_get_object(node));
    while (json_object_iter_next_ordered(&iter, &key, &value))
      json_object_set_member(copy, key, pla_json_dup(value));
    return json_node_init_object(json_node_alloc(), copy);
  }
  if (JSON_NODE_HOLDS_ARRAY(node)) {
    JsonArray *array = json_node_get_array(node);
    g_autoptr(JsonArray) copy = json_array_new();
    for (guint i = 0; i < json_array_get_length(array); i++)
      json_array_add_element(copy, pla_json_dup(json_array_get_element(array, i)));
    return json_node_init_array(json_node_alloc(), copy);
  }
  return json_node_copy(node);
}

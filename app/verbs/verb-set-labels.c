/* Set labels: names and colours of a label map. */
#include "app/verbs/verbs.h"

#include <string.h>

/* one entry of the parameter: {"id": 3, "name": "bone", "rgba": [255, 240, 200, 255]} */
static PlaStatus
check_entry(JsonNode *node, int64_t *id, const char **name, JsonArray **rgba, PlaError *err)
{
  JsonObject *entry = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
  JsonNode *id_node = entry ? json_object_get_member(entry, "id") : NULL;
  JsonNode *name_node = entry ? json_object_get_member(entry, "name") : NULL;
  JsonNode *rgba_node = entry ? json_object_get_member(entry, "rgba") : NULL;
  *id =
      id_node && json_node_get_value_type(id_node) == G_TYPE_INT64 ? json_node_get_int(id_node) : 0;
  *name = name_node && json_node_get_value_type(name_node) == G_TYPE_STRING
              ? json_node_get_string(name_node)
              : NULL;
  *rgba = rgba_node && JSON_NODE_HOLDS_ARRAY(rgba_node) ? json_node_get_array(rgba_node) : NULL;
  bool fine = *id >= 1 && *id <= 65535 && (*name || *rgba) && (!name_node || (*name && **name)) &&
              (!rgba_node || (*rgba && json_array_get_length(*rgba) == 4));
  for (guint c = 0; fine && *rgba && c < 4; c++) {
    JsonNode *value = json_array_get_element(*rgba, c);
    fine = json_node_get_value_type(value) == G_TYPE_INT64 && json_node_get_int(value) >= 0 &&
           json_node_get_int(value) <= 255;
  }
  return fine ? PLA_OK
              : pla_fail(err, PLA_ERR_USAGE,
                         "each of \"labels\" needs an \"id\" from 1 to 65535, and a \"name\" or an "
                         "\"rgba\" of four numbers from 0 to 255");
}

/* the member of @list with this id, made where there is none */
static JsonObject *
entry_for(JsonArray *list, int64_t id)
{
  for (guint i = 0; i < json_array_get_length(list); i++) {
    JsonObject *entry = json_array_get_object_element(list, i);
    if (entry && json_object_get_int_member_with_default(entry, "id", 0) == id)
      return entry;
  }
  return NULL;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(JsonObject) meta = NULL;
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load_meta(work, item, &meta, err);
  if (st != PLA_OK)
    return st;
  JsonNode *list_node = json_object_get_member(meta, "labels");
  if (!list_node || !JSON_NODE_HOLDS_ARRAY(list_node))
    return pla_fail(err, PLA_ERR_FORMAT, "the list of labels of '%s' is damaged",
                    pla_work_item_name(work, item));

  JsonArray *list = json_node_get_array(list_node), *given = pla_work_list(work, "labels");
  for (guint i = 0; i < json_array_get_length(given) && st == PLA_OK; i++) {
    int64_t id;
    const char *name;
    JsonArray *rgba;
    st = check_entry(json_array_get_element(given, i), &id, &name, &rgba, err);
    JsonObject *entry = st == PLA_OK ? entry_for(list, id) : NULL;
    if (st == PLA_OK && !entry)
      return pla_fail(err, PLA_ERR_USAGE, "'%s' has no label %lld; paint or segment it first",
                      pla_work_item_name(work, item), (long long)id);
    if (st == PLA_OK && name)
      json_object_set_string_member(entry, "name", name);
    if (st == PLA_OK && rgba)
      json_object_set_array_member(entry, "rgba", json_array_ref(rgba));
  }
  return st == PLA_OK ? pla_work_relabel(work, item, NULL, meta, err) : st;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map" },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, NULL,
    "[{\"id\": 3, \"name\": \"bone\", \"rgba\": [255, 240, 200, 255]}, ...]" },
  { NULL },
};

const PlaVerb pla_verb_set_labels = {
  .name = "set-labels",
  .title = "Change Labels",
  .summary = "names and colours of a label map",
  .params = params,
  .run = run,
};

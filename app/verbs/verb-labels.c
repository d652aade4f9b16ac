/* Lists of labels in the parameters of operations. */
#include "app/verbs/verbs.h"

static PlaStatus
read_label(const PlaLabelMap *map, JsonNode *node, GArray *ids, PlaError *err)
{
  const PlaLabel *label = NULL;
  if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_INT64) {
    gint64 id = json_node_get_int(node);
    label = id > 0 && id < 65536 ? pla_label_table_find(&map->table, (int)id) : NULL;
    if (!label)
      return pla_fail(err, PLA_ERR_EMPTY, "The label map has no label %" G_GINT64_FORMAT, id);
  } else if (JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING) {
    label = pla_label_table_find_name(&map->table, json_node_get_string(node));
    if (!label)
      return pla_fail(err, PLA_ERR_USAGE, "The label map has no label called '%s'",
                      json_node_get_string(node));
  } else {
    return pla_fail(err, PLA_ERR_USAGE, "\"labels\" lists ids or names of labels");
  }
  g_array_append_val(ids, label->id);
  return PLA_OK;
}

PlaStatus
pla_verb_read_labels(const PlaLabelMap *map, JsonArray *list, GArray *ids, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (guint i = 0; st == PLA_OK && i < json_array_get_length(list); i++)
    st = read_label(map, json_array_get_element(list, i), ids, err);
  if (st == PLA_OK && ids->len == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "\"labels\" names no label");
  return st;
}

PlaStatus
pla_verb_read_tissues(const PlaLabelMap *map, JsonArray *list, GArray *ids, GArray *first,
                      PlaError *err)
{
  PlaStatus st = PLA_OK;
  if (json_array_get_length(list) == 0) {
    pla_labels_add_present(map, ids);
    for (guint i = 0; i < ids->len; i++)
      g_array_append_val(first, i);
  }
  for (guint i = 0; st == PLA_OK && i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    g_array_append_val(first, ids->len);
    if (JSON_NODE_HOLDS_ARRAY(node)) {
      const guint before = ids->len;
      st = pla_verb_read_labels(map, json_node_get_array(node), ids, err);
      if (st == PLA_OK && ids->len == before)
        st = pla_fail(err, PLA_ERR_USAGE, "\"labels\" has a tissue without labels");
    } else {
      st = read_label(map, node, ids, err);
    }
  }
  g_array_append_val(first, ids->len);
  return st == PLA_OK ? pla_labels_check_distinct(ids, err) : st;
}

void
pla_labels_add_present(const PlaLabelMap *map, GArray *ids)
{
  g_autofree size_t *count = g_new(size_t, 65536);
  pla_label_map_count(map, count);
  for (int i = 0; i < map->table.n; i++)
    if (map->table.label[i].id > 0 && count[map->table.label[i].id] > 0)
      g_array_append_val(ids, map->table.label[i].id);
}

PlaStatus
pla_labels_check_distinct(const GArray *ids, PlaError *err)
{
  if (ids->len == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "There are no labels: all voxels are 0");
  for (guint i = 0; i < ids->len; i++)
    for (guint j = 0; j < i; j++)
      if (g_array_index(ids, int, i) == g_array_index(ids, int, j))
        return pla_fail(err, PLA_ERR_USAGE, "Label %d is named twice; it can be in one tissue only",
                        g_array_index(ids, int, i));
  return PLA_OK;
}

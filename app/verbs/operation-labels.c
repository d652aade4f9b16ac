/* Lists of labels in the parameters of operations. */
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/operations.h"

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
pla_operation_read_labels(const PlaLabelMap *map, JsonArray *list, GArray *ids, PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (guint i = 0; st == PLA_OK && i < json_array_get_length(list); i++)
    st = read_label(map, json_array_get_element(list, i), ids, err);
  if (st == PLA_OK && ids->len == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "\"labels\" names no label");
  return st;
}

PlaStatus
pla_operation_read_tissues(const PlaLabelMap *map, JsonArray *list, GArray *ids, GArray *first,
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
      st = pla_operation_read_labels(map, json_node_get_array(node), ids, err);
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

PlaStatus
pla_labels_describe(const PlaLabelMap *map, JsonBuilder *json, GPtrArray *lines, PlaError *err)
{
  g_autofree size_t *counts = g_try_new(size_t, 65536);
  if (!counts)
    return pla_fail_memory(err, "the label counts");
  pla_label_map_count(map, counts);
  const double voxel_mm3 = pla_volume_voxel_mm3(map->volume);
  json_builder_set_member_name(json, "labels");
  json_builder_begin_array(json);
  for (int i = 0; i < map->table.n; i++) {
    const PlaLabel *label = &map->table.label[i];
    const double volume_mm3 = (double)counts[label->id] * voxel_mm3;
    json_builder_begin_object(json);
    pla_json_int(json, "id", label->id);
    pla_json_text(json, "name", label->name);
    pla_json_int(json, "voxels", (int64_t)counts[label->id]);
    pla_json_number(json, "volume_mm3", volume_mm3);
    json_builder_end_object(json);
    g_autofree char *shown = pla_quantity_text(PLA_QUANTITY_VOLUME, volume_mm3, PLA_UNIT_MM3);
    g_ptr_array_add(lines, g_strdup_printf("  label %d  %s: %zu voxels, %s", label->id, label->name,
                                           counts[label->id], shown));
  }
  json_builder_end_array(json);
  return PLA_OK;
}

/* Phonemes as JSON: one writer, and one reader of the present and the former form. */
#include "app/content/phonemes.h"

JsonArray *
pla_phones_to_json(const PlaPhones *phones)
{
  JsonArray *list = json_array_new();
  for (int i = 0; i < phones->n; i++) {
    JsonArray *one = json_array_new();
    json_array_add_double_element(one, phones->phone[i].start_s);
    json_array_add_double_element(one, phones->phone[i].end_s);
    json_array_add_string_element(one, phones->phone[i].label);
    json_array_add_array_element(list, one);
  }
  return list;
}

static bool
is_number(JsonNode *node)
{
  return node && JSON_NODE_HOLDS_VALUE(node) &&
         (json_node_get_value_type(node) == G_TYPE_DOUBLE ||
          json_node_get_value_type(node) == G_TYPE_INT64);
}

static bool
is_text(JsonNode *node)
{
  return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_value_type(node) == G_TYPE_STRING;
}

PlaStatus
pla_phones_from_json(JsonArray *list, PlaPhones *out, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *out = (PlaPhones){ 0 };
  for (guint i = 0; list && i < json_array_get_length(list) && st == PLA_OK; i++) {
    JsonNode *node = json_array_get_element(list, i), *start = NULL, *end = NULL, *label = NULL;
    if (JSON_NODE_HOLDS_ARRAY(node) && json_array_get_length(json_node_get_array(node)) == 3) {
      JsonArray *one = json_node_get_array(node);
      start = json_array_get_element(one, 0);
      end = json_array_get_element(one, 1);
      label = json_array_get_element(one, 2);
    } else if (JSON_NODE_HOLDS_OBJECT(node)) { /* the former form */
      JsonObject *one = json_node_get_object(node);
      start = json_object_get_member(one, "from_s");
      end = json_object_get_member(one, "to_s");
      label = json_object_get_member(one, "ipa");
    }
    if (!is_number(start) || !is_number(end) || !is_text(label)) {
      st = pla_fail(err, PLA_ERR_USAGE, "phoneme %u is not [start s, end s, \"label\"]", i + 1);
      break;
    }
    double from = json_node_get_double(start);
    /* neighbours in the former form might overlap by a rounding error */
    if (JSON_NODE_HOLDS_OBJECT(node) && out->n > 0 && out->phone[out->n - 1].end_s - from < 1e-9)
      from = MAX(from, out->phone[out->n - 1].end_s);
    st = pla_phones_add(out, from, json_node_get_double(end), json_node_get_string(label), err);
  }
  if (st != PLA_OK)
    pla_phones_clear(out);
  return st;
}

/* the list, or NULL */
static JsonArray *
find_list(JsonObject *meta)
{
  JsonNode *node = json_object_get_member(meta, PLA_META_PHONEMES);
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

bool
pla_meta_has_phonemes(JsonObject *meta)
{
  return find_list(meta) != NULL;
}

PlaStatus
pla_meta_get_phonemes(JsonObject *meta, PlaPhones *out, PlaError *err)
{
  return pla_phones_from_json(find_list(meta), out, err);
}

void
pla_meta_set_phonemes(JsonObject *meta, const PlaPhones *phones)
{
  json_object_set_array_member(meta, PLA_META_PHONEMES, pla_phones_to_json(phones));
}

/* What a row of the log was about, in a few words. */
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/verb.h"

char *
pla_verb_summarise(const PlaLogRow *row)
{
  static const char *const keys[] = { "name",       "item",    "preset",   "phantom",
                                      "label_name", "cell_mm", "radius_mm" };
  g_autoptr(JsonObject) params = NULL;
  GString *text = g_string_new(NULL);
  pla_json_parse_stored(row->parameters, "the parameters", &params, NULL);
  for (size_t k = 0; params && k < G_N_ELEMENTS(keys); k++) {
    JsonNode *value = json_object_get_member(params, keys[k]);
    if (!value || !JSON_NODE_HOLDS_VALUE(value))
      continue;
    g_autofree char *word =
        json_node_get_value_type(value) == G_TYPE_STRING
            ? json_node_dup_string(value)
            : pla_quantity_text(PLA_QUANTITY_LENGTH, json_node_get_double(value), PLA_UNIT_MM);
    g_string_append_printf(text, "%s%s", text->len ? ", " : "", word);
  }
  return g_string_free(text, FALSE);
}

/* Reads landmarks, measurements and notes from the metadata of an item, which another program
 * may have written, and formats their values. */
#include "app/content/annotation.h"

#include "app/base/quantity.h"

#include <string.h>

static const char *const names[] = {
  [PLA_ANNOTATION_LANDMARK] = "landmark", [PLA_ANNOTATION_DISTANCE] = "distance",
  [PLA_ANNOTATION_ANGLE] = "angle",       [PLA_ANNOTATION_PATH] = "path",
  [PLA_ANNOTATION_VOLUME] = "volume",     [PLA_ANNOTATION_NOTE] = "note",
};

bool
pla_annotation_is_kind(const char *item_kind)
{
  return strcmp(item_kind, PLA_ITEM_LANDMARK) == 0 ||
         strcmp(item_kind, PLA_ITEM_MEASUREMENT) == 0 || strcmp(item_kind, PLA_ITEM_NOTE) == 0;
}

const char *
pla_annotation_kind_name(PlaAnnotationKind kind)
{
  return names[kind];
}

/* a value of the metadata, which another program may have written: NULL where it is no such thing
 */
static JsonNode *
value_of(JsonObject *meta, const char *key, JsonNodeType type)
{
  JsonNode *node = json_object_get_member(meta, key);
  return node && json_node_get_node_type(node) == type ? node : NULL;
}

static const char *
text_of(JsonObject *meta, const char *key)
{
  JsonNode *node = value_of(meta, key, JSON_NODE_VALUE);
  return node ? json_node_get_string(node) : NULL;
}

static void
add_point(PlaAnnotation *self, JsonNode *node)
{
  JsonArray *at = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  if (!at || json_array_get_length(at) != 3)
    return;
  for (guint d = 0; d < 3; d++)
    if (!JSON_NODE_HOLDS_VALUE(json_array_get_element(at, d)))
      return;
  self->point_mm = g_renew(double, self->point_mm, 3 * (gsize)(self->n_points + 1));
  for (guint d = 0; d < 3; d++)
    self->point_mm[3 * self->n_points + (int)d] = json_array_get_double_element(at, d);
  self->n_points++;
}

bool
pla_annotation_read(const PlaContent *content, PlaAnnotation *out)
{
  JsonObject *meta = content->meta;
  *out = (PlaAnnotation){ 0 };
  if (!pla_annotation_is_kind(content->kind))
    return false;
  if (strcmp(content->kind, PLA_ITEM_NOTE) == 0)
    out->kind = PLA_ANNOTATION_NOTE;
  const char *what = text_of(meta, "what");
  for (size_t k = 0; what && k < G_N_ELEMENTS(names); k++)
    if (strcmp(what, names[k]) == 0)
      out->kind = (PlaAnnotationKind)k;
  static const char *const values[] = { "length_mm", "angle_deg", "volume_mm3" };
  for (size_t k = 0; k < G_N_ELEMENTS(values); k++) {
    JsonNode *value = value_of(meta, values[k], JSON_NODE_VALUE);
    out->value = value ? json_node_get_double(value) : out->value;
  }
  out->text = g_strdup(text_of(meta, out->kind == PLA_ANNOTATION_VOLUME ? "of" : "text"));
  add_point(out, json_object_get_member(meta, "at_mm"));
  JsonNode *node = value_of(meta, "points_mm", JSON_NODE_ARRAY);
  JsonArray *list = node ? json_node_get_array(node) : NULL;
  for (guint i = 0; list && i < json_array_get_length(list); i++)
    add_point(out, json_array_get_element(list, i));
  return true;
}

void
pla_annotation_clear(PlaAnnotation *self)
{
  g_clear_pointer(&self->point_mm, g_free);
  g_clear_pointer(&self->text, g_free);
  self->n_points = 0;
}

char *
pla_annotation_value_text(const PlaAnnotation *self)
{
  switch (self->kind) {
  case PLA_ANNOTATION_DISTANCE:
  case PLA_ANNOTATION_PATH:
    return pla_quantity_text(PLA_QUANTITY_DISTANCE, self->value, PLA_UNIT_MM);
  case PLA_ANNOTATION_ANGLE:
    return pla_quantity_text(PLA_QUANTITY_ANGLE, self->value, PLA_UNIT_DEG);
  case PLA_ANNOTATION_VOLUME:
    return pla_quantity_text(PLA_QUANTITY_VOLUME, self->value, PLA_UNIT_MM3);
  case PLA_ANNOTATION_LANDMARK:
  case PLA_ANNOTATION_NOTE:
    break;
  }
  return g_strdup("");
}

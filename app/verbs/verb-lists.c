/* Members of lists as the verbs read them. */
#include "app/verbs/verb-lists.h"

#include "app/base/json.h"

/* adds an object; takes @object */
static void
add(PlaVerbValues *values, const char *list, JsonObject *object)
{
  JsonNode *node = json_node_new(JSON_NODE_OBJECT);
  json_node_take_object(node, object);
  pla_verb_values_add_node(values, list, node);
}

/* adds a list; takes @array */
static void
add_array(PlaVerbValues *values, const char *list, JsonArray *array)
{
  JsonNode *node = json_node_new(JSON_NODE_ARRAY);
  json_node_take_array(node, array);
  pla_verb_values_add_node(values, list, node);
}

/* ---- simulate ---- */

void
pla_simulate_add_material(PlaVerbValues *values, int region, const char *preset,
                          const char *stiffness)
{
  JsonObject *material = json_object_new();
  json_object_set_int_member(material, "region", region);
  json_object_set_string_member(material, "preset", preset);
  json_object_set_string_member(material, "stiffness", stiffness);
  add(values, "materials", material);
}

static JsonObject *
near_new(const double at_mm[3], double radius_mm)
{
  JsonObject *where = json_object_new(), *inner = json_object_new();
  json_object_set_array_member(inner, "at_mm", pla_json_array_of(at_mm, 3));
  json_object_set_double_member(inner, "radius_mm", radius_mm);
  json_object_set_object_member(where, "near", inner);
  return where;
}

void
pla_simulate_hold_near(PlaVerbValues *values, const double at_mm[3], double radius_mm)
{
  add(values, "fixed", near_new(at_mm, radius_mm));
}

void
pla_simulate_hold_label(PlaVerbValues *values, const char *item, int label, double within_mm)
{
  JsonObject *where = json_object_new(), *inner = json_object_new();
  json_object_set_string_member(inner, "item", item);
  json_object_set_int_member(inner, "id", label);
  json_object_set_double_member(inner, "within_mm", within_mm);
  json_object_set_object_member(where, "label", inner);
  add(values, "fixed", where);
}

void
pla_simulate_hold_plane(PlaVerbValues *values, const double through_mm[3], const double normal[3],
                        double within_mm)
{
  JsonObject *where = json_object_new(), *inner = json_object_new();
  json_object_set_array_member(inner, "through_mm", pla_json_array_of(through_mm, 3));
  json_object_set_array_member(inner, "normal", pla_json_array_of(normal, 3));
  json_object_set_double_member(inner, "within_mm", within_mm);
  json_object_set_object_member(where, "plane", inner);
  add(values, "fixed", where);
}

void
pla_simulate_add_hook(PlaVerbValues *values, const double at_mm[3], const double pull_mm[3],
                      double radius_mm)
{
  JsonObject *hook = json_object_new();
  json_object_set_array_member(hook, "at_mm", pla_json_array_of(at_mm, 3));
  json_object_set_array_member(hook, "pull_mm", pla_json_array_of(pull_mm, 3));
  json_object_set_double_member(hook, "radius_mm", radius_mm);
  add(values, "hooks", hook);
}

void
pla_simulate_add_load(PlaVerbValues *values, const double at_mm[3], double radius_mm,
                      const double force_n[3])
{
  JsonObject *load = json_object_new();
  json_object_set_object_member(load, "where", near_new(at_mm, radius_mm));
  json_object_set_array_member(load, "force_n", pla_json_array_of(force_n, 3));
  add(values, "loads", load);
}

/* ---- operate ---- */

void
pla_operate_add_step(PlaVerbValues *values, const PlaToolStep *step)
{
  add(values, "steps", pla_tool_step_to_json(step));
}

/* ---- set-labels ---- */

void
pla_set_labels_add_name(PlaVerbValues *values, int label, const char *name)
{
  JsonObject *object = json_object_new();
  json_object_set_int_member(object, "id", label);
  json_object_set_string_member(object, "name", name);
  add(values, "labels", object);
}

/* ---- bodies that move and speak ---- */

void
pla_pose_add_control(PlaVerbValues *values, const char *control, double value)
{
  JsonArray *pair = json_array_new();
  json_array_add_string_element(pair, control);
  json_array_add_double_element(pair, value);
  add_array(values, "controls", pair);
}

void
pla_values_set_phonemes(PlaVerbValues *values, const PlaPhones *phones)
{
  g_autoptr(JsonArray) list = pla_phones_to_json(phones);
  pla_verb_values_clear_list(values, "phonemes");
  for (guint i = 0; i < json_array_get_length(list); i++)
    pla_verb_values_add_node(values, "phonemes", json_array_dup_element(list, i));
}

void
pla_say_line_add_choice(PlaVerbValues *values, int phoneme, int candidate)
{
  pla_verb_values_add_ints(values, "choices", (const int[]){ phoneme, candidate }, 2);
}

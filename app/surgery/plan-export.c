/* Writes the stored steps of a body as a plan file, with the path of the case relative to that
 * file. */
#include "app/surgery/plan-export.h"

#include "app/base/json.h"
#include "app/surgery/surgery-body.h"
#include "io/stream/output.h"

#include <string.h>

/* the case's name as a plan in @path says it */
static char *
case_name(const char *case_path, const char *path)
{
  g_autofree char *folder = g_path_get_dirname(case_path);
  g_autofree char *beside = g_path_get_dirname(path);
  return strcmp(folder, beside) == 0 ? g_path_get_basename(case_path) : g_strdup(case_path);
}

PlaStatus
pla_plan_export(const PlaContent *body, const char *case_path, const char *path, PlaError *err)
{
  /* what the body was made from: keys of a plan and of the item alike */
  static const char *const keys[] = {
    "labels", "cells", "lattice_mm", "box_mm", "tissue", "bones"
  };
  JsonObject *surgery = pla_body_get_surgery(body);
  JsonNode *steps = surgery ? json_object_get_member(surgery, "steps") : NULL;
  if (!steps || !JSON_NODE_HOLDS_ARRAY(steps) ||
      json_array_get_length(json_node_get_array(steps)) == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "nothing was done to the body yet, so there is no plan");
  JsonObject *plan = json_object_new();
  g_autoptr(JsonNode) root = json_node_new(JSON_NODE_OBJECT);
  json_node_take_object(root, plan);
  g_autofree char *name = case_name(case_path, path);
  json_object_set_string_member(plan, "case", name);
  for (size_t k = 0; k < G_N_ELEMENTS(keys); k++)
    if (json_object_has_member(surgery, keys[k]))
      json_object_set_member(plan, keys[k],
                             json_node_copy(json_object_get_member(surgery, keys[k])));
  json_object_set_member(plan, "operations", json_node_copy(steps));
  g_autofree char *text = NULL;
  PlaStatus st = pla_json_write(root, PLA_JSON_PRETTY, &text, err);
  return st == PLA_OK ? pla_output_write(path, text, strlen(text), err) : st;
}

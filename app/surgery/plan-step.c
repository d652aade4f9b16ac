/* Keeps a step as the member of the plan that it becomes. */
#include "app/surgery/plan-step.h"

#include "app/base/json.h"

#include <math.h>

struct PlaToolStep {
  char *tool;
  JsonObject *what;
};

PlaToolStep *
pla_tool_step_new(const char *tool)
{
  PlaToolStep *self = g_new0(PlaToolStep, 1);
  self->tool = g_strdup(tool);
  self->what = json_object_new();
  return self;
}

void
pla_tool_step_free(PlaToolStep *self)
{
  if (!self)
    return;
  json_object_unref(self->what);
  g_free(self->tool);
  g_free(self);
}

void
pla_tool_step_set_text(PlaToolStep *self, const char *key, const char *value)
{
  json_object_set_string_member(self->what, key, value);
}

void
pla_tool_step_set_number(PlaToolStep *self, const char *key, double value)
{
  json_object_set_double_member(self->what, key, value);
}

double
pla_tool_step_get_number(const PlaToolStep *self, const char *key)
{
  return json_object_get_double_member(self->what, key);
}

void
pla_tool_step_set_flag(PlaToolStep *self, const char *key, bool value)
{
  json_object_set_boolean_member(self->what, key, value);
}

void
pla_tool_step_set_point(PlaToolStep *self, const char *key, const double value[3])
{
  json_object_set_array_member(self->what, key, pla_json_array_of(value, 3));
}

void
pla_tool_step_set_path(PlaToolStep *self, const double *points_mm, int n)
{
  JsonArray *path = json_array_new();
  for (int i = 0; i < n; i++)
    json_array_add_array_element(path, pla_json_array_of(points_mm + 3 * (size_t)i, 3));
  json_object_set_array_member(self->what, "path_mm", path);
}

void
pla_tool_step_set_edges(PlaToolStep *self, const char *first, const char *second)
{
  JsonArray *edges = json_array_new();
  json_array_add_string_element(edges, first);
  json_array_add_string_element(edges, second);
  json_object_set_array_member(self->what, "edges", edges);
}

void
pla_tool_step_set_blade(PlaToolStep *self, const double *pos, double to_mm, int n_verts,
                        const int *tri, int n_tris)
{
  JsonArray *points = json_array_new(), *triangles = json_array_new();
  for (int i = 0; i < n_verts; i++) {
    double mm[3];
    for (int d = 0; d < 3; d++)
      mm[d] = round(1e3 * to_mm * pos[3 * i + d]) / 1e3 + 0.0;
    json_array_add_array_element(points, pla_json_array_of(mm, 3));
  }
  for (int t = 0; t < n_tris; t++) {
    JsonArray *corners = json_array_new();
    for (int k = 0; k < 3; k++)
      json_array_add_int_element(corners, tri[3 * t + k]);
    json_array_add_array_element(triangles, corners);
  }
  json_object_set_array_member(self->what, "points_mm", points);
  json_object_set_array_member(self->what, "triangles", triangles);
}

void
pla_tool_step_add_line(PlaToolStep *self, const double at_mm[3], const double direction[3])
{
  JsonObject *line = json_object_new();
  if (!json_object_has_member(self->what, "lines"))
    json_object_set_array_member(self->what, "lines", json_array_new());
  json_object_set_array_member(line, "at_mm", pla_json_array_of(at_mm, 3));
  json_object_set_array_member(line, "direction", pla_json_array_of(direction, 3));
  json_array_add_object_element(json_object_get_array_member(self->what, "lines"), line);
}

void
pla_tool_step_remove(PlaToolStep *self, const char *key)
{
  if (json_object_has_member(self->what, key))
    json_object_remove_member(self->what, key);
}

PlaStatus
pla_tool_step_draw(const PlaToolStep *self, const PlaPlanPreview *preview, PlaSketch *out,
                   PlaError *err)
{
  g_autoptr(JsonObject) step = pla_tool_step_to_json(self);
  return pla_plan_preview_draw(preview, step, out, err);
}

JsonObject *
pla_tool_step_to_json(const PlaToolStep *self)
{
  JsonObject *step = json_object_new(), *what = json_object_new();
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init(&iter, self->what);
  while (json_object_iter_next(&iter, &key, &node))
    json_object_set_member(what, key, pla_json_dup(node));
  json_object_set_object_member(step, self->tool, what);
  return step;
}

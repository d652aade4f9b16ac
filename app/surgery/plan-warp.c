/* A plan carried onto another patient: its places go where a warp takes them, its directions turn
 * with it. Lengths, depths and angles stay what the surgeon said. */
#include "anatomy/base/mat3.h"
#include "app/base/json.h"
#include "app/surgery/plan.h"

#include <math.h>

/* members that hold one place, a list of places, and directions at the place beside them */
static const char *const places[] = { "at_mm", "through_mm", NULL };
static const char *const lists[] = { "path_mm", "area_mm", "points_mm", NULL };
static const char *const directions[] = { "pull_mm", "direction", "normal", NULL };

/* three numbers of @node; false for anything else, which the tools refuse with a sentence */
static bool
get_triple(JsonNode *node, double out[3])
{
  if (!node || !JSON_NODE_HOLDS_ARRAY(node) ||
      json_array_get_length(json_node_get_array(node)) != 3)
    return false;
  for (guint d = 0; d < 3; d++) {
    JsonNode *one = json_array_get_element(json_node_get_array(node), d);
    if (!JSON_NODE_HOLDS_VALUE(one) || json_node_get_value_type(one) == G_TYPE_STRING)
      return false;
    out[d] = json_node_get_double(one);
  }
  return true;
}

static void
warp_list(JsonObject *object, const char *key, const PlaWarp *warp)
{
  JsonNode *node = json_object_get_member(object, key);
  double p[3];
  if (!node || !JSON_NODE_HOLDS_ARRAY(node))
    return;
  JsonArray *from = json_node_get_array(node), *to = json_array_new();
  for (guint i = 0; i < json_array_get_length(from); i++) {
    JsonNode *one = json_array_get_element(from, i);
    if (get_triple(one, p)) {
      pla_warp_apply(warp, 1, p, p);
      json_array_add_array_element(to, pla_json_array_of(p, 3));
    } else {
      json_array_add_element(to, json_node_copy(one));
    }
  }
  json_object_set_array_member(object, key, to);
}

/* the direction as the warp turns it at @place, as long as before */
static void
warp_direction(JsonObject *object, const char *key, const double place[3], const PlaWarp *warp)
{
  double v[3], turned[3], jacobian[9];
  if (!get_triple(json_object_get_member(object, key), v))
    return;
  pla_warp_jacobian(warp, place, jacobian);
  pla_mat3_apply(jacobian, v, turned);
  const double length = pla_vec3_norm(turned);
  for (int d = 0; d < 3 && length > 0.0; d++)
    turned[d] *= pla_vec3_norm(v) / length;
  json_object_set_array_member(object, key, pla_json_array_of(turned, 3));
}

static void
warp_object(JsonObject *object, const PlaWarp *warp)
{
  double place[3], moved[3];
  for (int i = 0; places[i]; i++) {
    if (!get_triple(json_object_get_member(object, places[i]), place))
      continue;
    for (int k = 0; directions[k]; k++)
      warp_direction(object, directions[k], place, warp);
    pla_warp_apply(warp, 1, place, moved);
    json_object_set_array_member(object, places[i], pla_json_array_of(moved, 3));
  }
  for (int i = 0; lists[i]; i++)
    warp_list(object, lists[i], warp);
}

/* objects within lists within objects, such as lines of tension */
static void
warp_node(JsonNode *node, const PlaWarp *warp)
{
  if (JSON_NODE_HOLDS_OBJECT(node)) {
    g_autoptr(GList) members = json_object_get_values(json_node_get_object(node));
    for (GList *l = members; l; l = l->next)
      warp_node(l->data, warp);
    warp_object(json_node_get_object(node), warp);
  } else if (JSON_NODE_HOLDS_ARRAY(node)) {
    for (guint i = 0; i < json_array_get_length(json_node_get_array(node)); i++)
      warp_node(json_array_get_element(json_node_get_array(node), i), warp);
  }
}

void
pla_plan_warp(const PlaWarp *warp, PlaJson operations, double (*box_mm)[3])
{
  warp_node(operations.node, warp);
  if (!box_mm)
    return;
  double lo[3] = { INFINITY, INFINITY, INFINITY }, hi[3] = { -INFINITY, -INFINITY, -INFINITY };
  for (int i = 0; i < 8; i++) {
    double corner[3];
    for (int d = 0; d < 3; d++)
      corner[d] = box_mm[i >> d & 1][d];
    pla_warp_apply(warp, 1, corner, corner);
    for (int d = 0; d < 3; d++) {
      lo[d] = fmin(lo[d], corner[d]);
      hi[d] = fmax(hi[d], corner[d]);
    }
  }
  for (int d = 0; d < 3; d++) {
    box_mm[0][d] = lo[d];
    box_mm[1][d] = hi[d];
  }
}

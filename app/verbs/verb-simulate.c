/* Simulate: a mesh under hooks, loads and gravity, held by bone, becomes its deformed shape.
 *
 * The parameters are the parts of a scene (app/simulate/simulation.h) in the words of the window:
 * tissues by preset, what is held, hooks.  They are put together into a scene, so that an operation
 * of a case and a scene of the command line are solved by the same code. */
#include "app/base/json.h"
#include "app/simulate/simulation.h"
#include "app/verbs/simulate-report.h"
#include "app/verbs/verbs.h"
#include "sim/material/presets.h"
#include "sim/solve/solve.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

/* ---- what is held ------------------------------------------------------------------------- */

/* whether a voxel of @id has its centre within @within_mm of a point */
static bool
is_near_label(const PlaVolume *vol, const PlaLabelMap *map, const double inv[12], int id,
              const double at_mm[3], double within_mm)
{
  double index[3];
  int lo[3], hi[3];
  pla_affine_apply(inv, at_mm, index);
  for (int d = 0; d < 3; d++) {
    double reach = within_mm * sqrt(inv[4 * d] * inv[4 * d] + inv[4 * d + 1] * inv[4 * d + 1] +
                                    inv[4 * d + 2] * inv[4 * d + 2]);
    lo[d] = (int)fmax(0.0, ceil(index[d] - reach));
    hi[d] = (int)fmin(vol->dims[d] - 1.0, floor(index[d] + reach));
  }
  for (int k = lo[2]; k <= hi[2]; k++)
    for (int j = lo[1]; j <= hi[1]; j++)
      for (int i = lo[0]; i <= hi[0]; i++) {
        size_t voxel = (size_t)i + (size_t)vol->dims[0] * ((size_t)j + (size_t)vol->dims[1] * k);
        if (pla_label_map_get(map, voxel) != id)
          continue;
        double centre[3], dist2 = 0.0;
        pla_affine_apply(vol->affine_mm, (double[3]){ i, j, k }, centre);
        for (int d = 0; d < 3; d++)
          dist2 += (centre[d] - at_mm[d]) * (centre[d] - at_mm[d]);
        if (dist2 <= within_mm * within_mm)
          return true;
      }
  return false;
}

/* {"item": "tissues", "id": 2, "within_mm": 1.5} as the list of vertices that it means */
static PlaStatus
nodes_near_label(PlaWork *work, JsonObject *label, const PlaMesh *mesh, JsonArray **out,
                 PlaError *err)
{
  const char *name = json_object_get_string_member_with_default(label, "item", "");
  const int64_t item = pla_work_find(work, name);
  const int id = (int)json_object_get_int_member_with_default(label, "id", 0);
  const double within_mm = json_object_get_double_member_with_default(label, "within_mm", 1.5);
  g_autoptr(PlaContent) content = NULL;
  if (item == 0 || strcmp(pla_work_item_kind(work, item), PLA_ITEM_LABELS) != 0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "\"fixed\" names the label map '%s', which is not in the case", name);
  PlaStatus st = pla_work_load(work, item, &content, err);
  if (st != PLA_OK)
    return st;
  const PlaLabelMap *map = content->labels;
  double inv[12];
  if (!pla_label_table_find(&map->table, id))
    return pla_fail(err, PLA_ERR_USAGE, "'%s' has no label %d that could hold the body", name, id);
  if (!(within_mm > 0.0 && within_mm <= 100.0))
    return pla_fail(err, PLA_ERR_USAGE,
                    "\"within_mm\" of \"fixed\" must be above 0 and at most 100");
  if (!pla_affine_invert(map->volume->affine_mm, inv))
    return pla_fail(err, PLA_ERR_GEOMETRY, "the axes of '%s' lie in one plane", name);

  g_autofree bool *held = g_new(bool, mesh->n_verts);
#pragma omp parallel for schedule(dynamic, 256)
  for (int v = 0; v < mesh->n_verts; v++) {
    double at_mm[3];
    for (int d = 0; d < 3; d++)
      at_mm[d] = 1000.0 * mesh->pos[3 * (size_t)v + (size_t)d];
    held[v] = is_near_label(map->volume, map, inv, id, at_mm, within_mm);
  }
  g_autoptr(JsonArray) nodes = json_array_new();
  for (int v = 0; v < mesh->n_verts; v++)
    if (held[v])
      json_array_add_int_element(nodes, v);
  if (json_array_get_length(nodes) == 0)
    return pla_fail(
        err, PLA_ERR_EMPTY,
        "no vertex of the mesh is within %.3g mm of %s; allow a larger distance or hold "
        "the body elsewhere",
        within_mm, pla_label_table_find(&map->table, id)->name);
  *out = g_steal_pointer(&nodes);
  return PLA_OK;
}

static void
add_constraint(JsonArray *constraints, JsonObject *where, JsonObject *move)
{
  JsonObject *constraint = json_object_new();
  json_object_set_object_member(constraint, "where", where); /* takes */
  if (move)
    json_object_set_object_member(constraint, "move", move); /* takes */
  else
    json_object_set_string_member(constraint, "fix", "xyz");
  json_array_add_object_element(constraints, constraint);
}

static PlaStatus
add_fixed(PlaWork *work, const PlaMesh *mesh, JsonArray *constraints, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "fixed");
  PlaStatus st = PLA_OK;
  for (guint i = 0; st == PLA_OK && i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    if (!JSON_NODE_HOLDS_OBJECT(node))
      return pla_fail(err, PLA_ERR_USAGE, "each of \"fixed\" says where, such as {\"region\": 2}");
    JsonObject *where = json_node_get_object(node);
    JsonNode *label = json_object_get_member(where, "label");
    if (label && JSON_NODE_HOLDS_OBJECT(label)) {
      JsonArray *nodes = NULL;
      st = nodes_near_label(work, json_node_get_object(label), mesh, &nodes, err);
      if (st == PLA_OK) {
        JsonObject *by_node = json_object_new();
        json_object_set_array_member(by_node, "nodes", nodes);
        add_constraint(constraints, by_node, NULL);
      }
    } else {
      add_constraint(constraints, json_object_ref(where), NULL);
    }
  }
  return st;
}

/* ---- tissues ------------------------------------------------------------------------------ */

static const PlaPreset *
preset_with_id(const char *id)
{
  for (const PlaPreset *const *p = pla_presets_get(); *p; p++)
    if (strcmp((*p)->id, id) == 0)
      return *p;
  return NULL;
}

/* everything is soft tissue unless the list says otherwise; what cannot deform is held */
static PlaStatus
add_materials(PlaWork *work, JsonArray *materials, JsonArray *constraints, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "materials");
  JsonObject *rest = json_object_new(), *all = json_object_new();
  json_object_set_boolean_member(all, "all", TRUE);
  json_object_set_object_member(rest, "where", all);
  json_object_set_string_member(rest, "preset", "soft-tissue");
  json_array_add_object_element(materials, rest);
  for (guint i = 0; i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    JsonObject *given = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    if (!given || !json_object_has_member(given, "region"))
      return pla_fail(err, PLA_ERR_USAGE,
                      "each of \"materials\" names a \"region\" and a \"preset\" or a \"model\"");
    JsonObject *material = json_object_new(), *where = json_object_new();
    g_autoptr(GList) keys = json_object_get_members(given);
    json_object_set_member(where, "region",
                           json_node_copy(json_object_get_member(given, "region")));
    json_object_set_object_member(material, "where", where);
    for (GList *l = keys; l; l = l->next)
      if (strcmp(l->data, "region") != 0)
        json_object_set_member(material, l->data,
                               json_node_copy(json_object_get_member(given, l->data)));
    json_array_add_object_element(materials, material);
    const char *id = json_object_get_string_member_with_default(given, "preset", "");
    const PlaPreset *preset = preset_with_id(id);
    if (preset && preset->rigid)
      add_constraint(constraints, json_object_ref(where), NULL);
  }
  return PLA_OK;
}

/* ---- hooks -------------------------------------------------------------------------------- */

static PlaStatus
add_hooks(PlaWork *work, JsonArray *constraints, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "hooks");
  for (guint i = 0; i < json_array_get_length(list); i++) {
    JsonNode *node = json_array_get_element(list, i);
    JsonObject *hook = JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : NULL;
    if (!hook || !json_object_has_member(hook, "at_mm") || !json_object_has_member(hook, "pull_mm"))
      return pla_fail(err, PLA_ERR_USAGE, "each of \"hooks\" needs \"at_mm\" and \"pull_mm\"");
    JsonObject *where = json_object_new(), *near = json_object_new(), *move = json_object_new();
    json_object_set_member(near, "at_mm", json_node_copy(json_object_get_member(hook, "at_mm")));
    json_object_set_double_member(near, "radius_mm",
                                  json_object_get_double_member_with_default(hook, "radius_mm", 3));
    json_object_set_object_member(where, "near", near);
    json_object_set_member(move, "translate_mm",
                           json_node_copy(json_object_get_member(hook, "pull_mm")));
    json_object_set_int_member(move, "steps", pla_work_int(work, "steps"));
    add_constraint(constraints, where, move);
  }
  return PLA_OK;
}

/* ---- the operation ------------------------------------------------------------------------ */

/* what "scene" says besides: lists grow, members of the solver replace, others are put in */
static PlaStatus
add_scene(PlaWork *work, JsonObject *scene, PlaError *err)
{
  JsonObject *more = pla_work_object(work, "scene");
  if (!more)
    return PLA_OK;
  g_autoptr(GList) keys = json_object_get_members(more);
  for (GList *l = keys; l; l = l->next) {
    const char *key = l->data;
    JsonNode *node = json_object_get_member(more, key), *own = json_object_get_member(scene, key);
    if (own && JSON_NODE_TYPE(own) != JSON_NODE_TYPE(node))
      return pla_fail(err, PLA_ERR_USAGE, "\"%s\" of \"scene\" must be %s", key,
                      JSON_NODE_HOLDS_ARRAY(own) ? "a list" : "an object");
    if (own && strcmp(key, "gravity_m_s2") != 0 && JSON_NODE_HOLDS_ARRAY(own)) {
      JsonArray *list = json_node_get_array(node);
      for (guint i = 0; i < json_array_get_length(list); i++)
        json_array_add_element(json_node_get_array(own),
                               json_node_copy(json_array_get_element(list, i)));
    } else if (own && JSON_NODE_HOLDS_OBJECT(own)) {
      g_autoptr(GList) members = json_object_get_members(json_node_get_object(node));
      for (GList *m = members; m; m = m->next)
        json_object_set_member(json_node_get_object(own), m->data,
                               json_node_copy(
                                   json_object_get_member(json_node_get_object(node), m->data)));
    } else {
      json_object_set_member(scene, key, json_node_copy(node));
    }
  }
  return PLA_OK;
}

/* the whole scene as text; g_free() */
static PlaStatus
write_scene(PlaWork *work, const PlaMesh *mesh, char **out, PlaError *err)
{
  g_autoptr(JsonObject) scene = json_object_new();
  JsonArray *materials = json_array_new(), *constraints = json_array_new();
  JsonArray *loads = json_array_new(), *given = pla_work_list(work, "loads");
  JsonObject *solver = json_object_new();
  for (guint i = 0; i < json_array_get_length(given); i++)
    json_array_add_element(loads, json_node_copy(json_array_get_element(given, i)));
  json_object_set_array_member(scene, "materials", materials);
  json_object_set_array_member(scene, "constraints", constraints);
  json_object_set_array_member(scene, "loads", loads);
  json_object_set_object_member(scene, "solver", solver);
  json_object_set_double_member(solver, "tolerance_rel", pla_work_number(work, "tolerance_rel"));
  json_object_set_int_member(solver, "max_iterations", pla_work_int(work, "max_iterations"));
  double gravity[3];
  pla_work_point(work, "gravity_m_s2", gravity);
  json_object_set_array_member(scene, "gravity_m_s2", pla_json_array_of(gravity, 3));

  PlaStatus st = add_fixed(work, mesh, constraints, err);
  if (st == PLA_OK)
    st = add_materials(work, materials, constraints, err);
  if (st == PLA_OK)
    st = add_hooks(work, constraints, err);
  if (st == PLA_OK)
    st = add_scene(work, scene, err);
  if (st == PLA_OK)
    *out = pla_json_canonical(scene);
  return st;
}

/* a mesh that the scene names */
static PlaStatus
load_item(const char *name, double unit_mm, void *data, PlaMesh **out, PlaError *err)
{
  PlaWork *work = data;
  g_autoptr(PlaContent) content = NULL;
  const int64_t item = pla_work_find(work, name);
  if (item == 0 || !pla_item_kind_has_mesh(pla_work_item_kind(work, item)))
    return pla_fail(err, PLA_ERR_USAGE, "there is no mesh called '%s' in the case", name);
  PlaStatus st = pla_work_load(work, item, &content, err);
  return st == PLA_OK ? pla_mesh_dup(content->mesh, out, err) : st;
}

PlaStatus
pla_verb_simulate_scene(PlaWork *work, PlaContent **mesh, PlaSimulation **out, PlaError *err)
{
  int64_t item;
  g_autofree char *text = NULL;
  *out = NULL;
  *mesh = NULL;
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_MESH, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, mesh, err);
  if (st == PLA_OK)
    st = write_scene(work, (*mesh)->mesh, &text, err);
  if (st == PLA_OK)
    st = pla_simulation_new((*mesh)->mesh, text, &(PlaSceneMeshes){ load_item, work }, out, err);
  return st;
}

/* what each hook pulls with: they are the first motions of the scene */
static PlaStatus
tell_hooks(PlaWork *work, const PlaSimulation *scene, const PlaSimulationResult *result,
           PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  const guint n_hooks = json_array_get_length(pla_work_list(work, "hooks"));
  PlaStatus st = PLA_OK;
  json_builder_set_member_name(json, "hook_force_n");
  json_builder_begin_array(json);
  for (guint h = 0; st == PLA_OK && h < n_hooks; h++) {
    double newton[3];
    st = pla_simulation_motion_force(scene, (int)h, result->mesh->pos, newton, err);
    json_builder_add_double_value(json, hypot(hypot(newton[0], newton[1]), newton[2]));
  }
  json_builder_end_array(json);
  if (st == PLA_OK && result->discretisation.done)
    pla_json_numbers(json, "hook_error_n", result->discretisation.motion_n, (int)n_hooks);
  return st;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  g_autoptr(PlaContent) mesh = NULL;
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_verb_simulate_scene(work, &mesh, &scene, err);
  if (st == PLA_OK)
    st = pla_simulation_perform(scene, pla_work_bool(work, "sensitivity"), NULL, NULL,
                                pla_work_progress(work), &result, err);
  if (st == PLA_OK) {
    const char *item = pla_work_text(work, "item");
    pla_json_text(pla_work_json(work), "mesh", item);
    pla_simulation_describe(&result, pla_work_json(work), pla_work_lines(work));
    st = tell_hooks(work, scene, &result, err);
    g_autofree char *shortfall = pla_simulation_shortfall(&result, item);
    if (shortfall)
      pla_work_fall_short(work, "%s", shortfall);
  }
  if (st == PLA_OK) {
    PlaContent *content = pla_content_new(PLA_ITEM_MESH);
    content->mesh = g_steal_pointer(&result.mesh);
    g_autofree char *own_name = g_strdup_printf("%s result", pla_work_text(work, "item"));
    const char *name = pla_work_text(work, "name");
    pla_work_add(work, name ? name : own_name, content);
  }
  pla_simulation_result_clear(&result);
  pla_simulation_free(scene);
  return st;
}

/* how the patient lies */
static bool
gravity_choice(int i, PlaParamChoice *out)
{
  static const PlaParamChoice choices[] = {
    { "[0, 0, 0]", N_("None"), NULL },
    { "[0, 0, -9.81]", N_("Upright"), NULL },
    { "[0, -9.81, 0]", N_("Lying on the back"), NULL },
    { "[0, 9.81, 0]", N_("Lying face down"), NULL },
  };
  if (i >= (int)G_N_ELEMENTS(choices))
    return false;
  *out = choices[i];
  return true;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the mesh of tetrahedra or hexahedra" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the deformed shape" },
  { "materials", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[{\"region\": 1, \"preset\": \"skin\", \"stiffness\": \"typical\"}, ...]; soft tissue "
    "elsewhere" },
  { "fixed", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "what is held: {\"region\": 2}, {\"near\": {\"at_mm\": [x, y, z], \"radius_mm\": 8}}, "
    "{\"plane\": {\"through_mm\", \"normal\", \"within_mm\"}}, "
    "{\"label\": {\"item\": \"tissues\", \"id\": 2, \"within_mm\": 1.5}}" },
  { "hooks", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[{\"at_mm\": [x, y, z], \"pull_mm\": [x, y, z], \"radius_mm\": 3}, ...]" },
  { "loads", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "[{\"where\": {\"near\": ...}, \"force_n\": [x, y, z]}, ...]" },
  { "gravity_m_s2", PLA_PARAM_POINT, "m_s2", 0, 0, "[0, 0, 0]", N_("gravity"),
    .panel = { .title = N_("_Weight"), .choice = gravity_choice } },
  { "steps", PLA_PARAM_INT, NULL, 1, 1000, "1", N_("increments of the hooks' displacement"),
    .panel = { .title = N_("_Increments"),
               .spoken = N_("Increments of the pull"),
               .low = 1,
               .high = 100,
               .page = 5 } },
  { "tolerance_rel", PLA_PARAM_NUMBER, NULL, 1e-12, 0.5, "1e-5",
    "relative residual at which the solver stops" },
  { "max_iterations", PLA_PARAM_INT, NULL, 1, 100000, "200", "most iterations of the solver" },
  { "sensitivity", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "solve again with every preset at both ends of its range, and report the spread" },
  { "scene", PLA_PARAM_OBJECT, NULL, 0, 0, "null",
    "further members of a scene file: probes, contact, colliders, constraints, dynamics, ...; "
    "surfaces are items" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "mesh", "the mesh that was deformed" },
  { "converged", "whether it is in equilibrium" },
  { "reason", "why the solver stopped" },
  { "*", "further keys of `simulate --json`" },
  { "hook_force_n", "what each hook pulls with" },
  { "hook_error_n", "error of that by the size of the cells" },
  { NULL },
};

const PlaVerb pla_verb_simulate = {
  .name = "simulate",
  .title = "Simulate",
  .summary = "deforms a mesh by hooks, loads and gravity",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "simulated",
  .run = run,
};

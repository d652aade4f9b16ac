/* Bodies with muscles: making one of a phantom, and what verbs that move one share. */
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <string.h>

/* ---- active-body ---- */

static PlaStatus
run_body(PlaWork *work, PlaError *err)
{
  PlaActiveBodyOptions opts = pla_active_body_options_default();
  PlaActiveBody *body = NULL;
  PlaContent *mesh = NULL, *muscles = NULL;
  const char *phantom = pla_work_text(work, "phantom");
  if (!pla_work_is_null(work, "cell_mm"))
    opts.cell_mm = pla_work_number(work, "cell_mm");
  if (!pla_work_is_null(work, "young_pa"))
    opts.young_pa = pla_work_number(work, "young_pa");
  if (!pla_work_is_null(work, "poisson"))
    opts.poisson = pla_work_number(work, "poisson");
  PlaStatus st = pla_verb_read_formulation(work, &opts.elements, err);
  if (st == PLA_OK)
    st = pla_active_body_from_phantom(phantom, &opts, pla_work_progress(work), &body, err);
  /* the muscles must know what the mesh is called in the end */
  if (st == PLA_OK) {
    PlaContent *flesh = pla_content_new(PLA_ITEM_MESH);
    st = pla_mesh_dup(body->mesh, &flesh->mesh, err);
    if (st == PLA_OK) {
      const char *name = pla_work_add(work, phantom, flesh);
      g_autofree char *called = g_strdup_printf("%s muscles", name);
      st = pla_active_body_to_contents(body, name, &mesh, &muscles, err);
      if (st == PLA_OK)
        pla_work_add(work, called, muscles);
      pla_content_unref(mesh);
    } else
      pla_content_unref(flesh);
  }
  pla_active_body_free(body);
  return st;
}

static bool
phantom_choice(int i, PlaParamChoice *out)
{
  const PlaActivePhantom *phantom = pla_active_phantom_get(i);
  if (phantom)
    *out = (PlaParamChoice){ phantom->name, phantom->title, NULL };
  return phantom != NULL;
}

static const PlaVerbParam body_params[] = {
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 20, "\"face\"", N_("face, tongue or arm"),
    .panel = { .title = N_("_Body"), .choice = phantom_choice } },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 2, 40, "null", "element size" },
  { "young_pa", PLA_PARAM_NUMBER, NULL, 100, 1e8, "null",
    "stiffness of the flesh between the fibres" },
  { "poisson", PLA_PARAM_NUMBER, NULL, 0.01, 0.4999, "null", "Poisson's ratio of that flesh" },
  { "formulation", PLA_PARAM_TEXT, NULL, 1, 20, "null", PLA_FLESH_FORMULATION },
  { NULL },
};

const PlaVerb pla_verb_active_body = {
  .name = "active-body",
  .title = "Make Active Body",
  .summary = "a phantom's flesh with its muscles, jaw and marker sites",
  .params = body_params,
  .run = run_body,
};

/* ---- what the others share ---- */

PlaStatus
pla_verb_read_formulation(const PlaWork *work, PlaFleshElements *out, PlaError *err)
{
  const char *word = pla_work_text(work, "formulation");
  if (pla_work_is_null(work, "formulation"))
    return PLA_OK;
  for (int i = 0; pla_flesh_elements[i]; i++)
    if (strcmp(word, pla_flesh_elements[i]) == 0) {
      *out = (PlaFleshElements)(PLA_FLESH_STANDARD + i);
      return PLA_OK;
    }
  return pla_fail(err, PLA_ERR_USAGE, "\"formulation\" is standard or mixed, not '%s'", word);
}

PlaStatus
pla_verb_flesh(const PlaWork *work, PlaActiveBodyOptions *out, PlaError *err)
{
  *out = pla_active_body_options_default();
  if (!pla_work_is_null(work, "young_pa"))
    out->young_pa = pla_work_number(work, "young_pa");
  if (!pla_work_is_null(work, "poisson"))
    out->poisson = pla_work_number(work, "poisson");
  if (!pla_work_is_null(work, "strength"))
    out->strength = pla_work_number(work, "strength");
  return pla_verb_read_formulation(work, &out->elements, err);
}

PlaStatus
pla_verb_load_body(PlaWork *work, const PlaActiveBodyOptions *opts, PlaActiveBody **out,
                   PlaError *err)
{
  g_autoptr(PlaContent) muscles = NULL;
  g_autoptr(PlaContent) mesh = NULL;
  int64_t item;
  PlaStatus st = pla_work_item(work, "muscles", PLA_ITEM_MUSCLES, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &muscles, err);
  if (st != PLA_OK)
    return st;
  const char *name = json_object_get_string_member(muscles->meta, "mesh");
  const int64_t body = pla_work_find(work, name);
  if (body == 0)
    return pla_fail(err, PLA_ERR_USAGE, "the mesh '%s' of the muscles is not in the case any more",
                    name);
  st = pla_work_load(work, body, &mesh, err);
  return st == PLA_OK ? pla_active_body_from_contents(pla_work_item_name(work, item), mesh, muscles,
                                                      opts, out, err)
                      : st;
}

PlaStatus
pla_verb_load_moves(PlaWork *work, PlaActiveBody **body, PlaActivation *track, int64_t *item,
                    PlaError *err)
{
  g_autoptr(PlaContent) given = NULL;
  PlaStatus st = pla_work_item(work, "track", PLA_ITEM_TRACK, item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, *item, &given, err);
  if (st == PLA_OK)
    st = pla_verb_load_body(work, &(PlaActiveBodyOptions){ 0 }, body, err);
  return st == PLA_OK ? pla_activation_from_track((*body)->model, given->track, track, err) : st;
}

PlaStatus
pla_verb_read_controls(JsonArray *list, PlaTrack **out, PlaError *err)
{
  const guint n = json_array_get_length(list);
  PlaTrack *track = NULL;
  PlaStatus st = pla_track_new(1, (int)n, &track, err);
  for (guint i = 0; i < n && st == PLA_OK; i++) {
    JsonNode *node = json_array_get_element(list, i);
    JsonArray *pair = JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
    JsonNode *name =
        pair && json_array_get_length(pair) == 2 ? json_array_get_element(pair, 0) : NULL;
    JsonNode *value = name ? json_array_get_element(pair, 1) : NULL;
    if (!value || json_node_get_value_type(name) != G_TYPE_STRING ||
        !JSON_NODE_HOLDS_VALUE(value) || json_node_get_value_type(value) == G_TYPE_STRING) {
      st = pla_fail(err, PLA_ERR_USAGE,
                    "controls are a list of names with values, [[\"risorius, left\", 0.5], ...]; "
                    "element %u is none",
                    i + 1);
      break;
    }
    track->name[i] = strdup(json_node_get_string(name));
    track->unit[i] = strdup("");
    track->value[i] = json_node_get_double(value);
  }
  if (st == PLA_OK)
    *out = track;
  else
    pla_track_free(track);
  return st;
}

/* adds the surfaces that the parameter @param names */
static PlaStatus
add_colliders(PlaWork *work, const char *param, bool jaw, PlaSurroundings *out, PlaError *err)
{
  int n;
  g_autofree int64_t *item = pla_work_items(work, param, &n);
  PlaStatus st = PLA_OK;
  for (int i = 0; i < n && st == PLA_OK; i++) {
    g_autoptr(PlaContent) surface = NULL;
    const char *name = pla_work_item_name(work, item[i]);
    st = pla_work_load(work, item[i], &surface, err);
    if (st == PLA_OK && (!surface->mesh || surface->mesh->n_tris == 0))
      st = pla_fail(err, PLA_ERR_USAGE, "%s holds no surface to use as a collider", name);
    if (st == PLA_OK) {
      st = pla_surroundings_add(out, surface->mesh, jaw, err);
      if (st != PLA_OK)
        pla_fail_within(err, "%s", name);
    }
  }
  return st;
}

PlaStatus
pla_verb_find_surroundings(PlaWork *work, const PlaActiveBody *body, double rate_hz,
                           PlaSurroundings *out, bool *wanted, PlaError *err)
{
  PlaStatus st = add_colliders(work, "colliders", false, out, err);
  if (st == PLA_OK)
    st = add_colliders(work, "jaw_colliders", true, out, err);
  if (st == PLA_OK)
    st = pla_surroundings_finish(out, body, pla_work_bool(work, "contact"), pla_work_progress(work),
                                 err);
  if (pla_work_bool(work, "dynamic")) {
    out->options.dt_s = 1.0 / rate_hz;
    out->options.stiffness_damping = 0.05; /* s, the source's for a face */
  }
  *wanted = out->options.contact || pla_work_bool(work, "dynamic");
  return st;
}

/* `muscles`: fibres, overlaps and attachments of muscles in a mesh. */
#include "app/base/csv.h"
#include "app/base/json.h"
#include "app/case/session.h"
#include "app/cli/cli-private.h"
#include "app/cli/command-activate.h"
#include "app/motion/muscles.h"
#include "app/verbs/verbs.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <glib.h>
#include <string.h>

#define PHANTOM "phantom:"

/* what was built, and what it is in */
typedef struct {
  GArray *items; /* of PlaWorkItem, owned: what files hold */
  PlaMuscleSet set;
  PlaMesh *mesh;
  PlaLabelMap *labels; /* for the picture's bones; may be NULL */
} Built;

static void
built_clear(Built *b)
{
  for (guint i = 0; b->items && i < b->items->len; i++)
    pla_content_unref(g_array_index(b->items, PlaWorkItem, i).content);
  g_clear_pointer(&b->items, g_array_unref);
  pla_muscle_set_clear(&b->set);
  pla_mesh_free(b->mesh);
  pla_label_map_free(b->labels);
}

static void
describe(PlaInvocation *inv, const PlaMuscleSet *set, double seconds)
{
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  pla_muscle_set_describe(set, pla_invocation_json(inv), lines);
  pla_json_number(pla_invocation_json(inv), "seconds", seconds);
  for (guint i = 0; i < lines->len; i++)
    pla_say(inv, "%s", (const char *)lines->pdata[i]);
}

static PlaStatus
read_kind(PlaInvocation *inv, const char *path, PlaKind kind, PlaItem *item, PlaError *err)
{
  PlaReadOptions read = pla_read_options_default();
  read.progress = pla_invocation_progress(inv);
  PlaStatus st = pla_item_read(path, &read, item, err);
  if (st == PLA_OK && item->kind != kind)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s; a %s is needed here", path,
                  pla_kind_name(item->kind), pla_kind_name(kind));
  return st;
}

/* the file @path as an item that the parameters call @name */
static PlaStatus
add_file(PlaInvocation *inv, const char *name, const char *path, PlaKind kind, GArray *items,
         PlaError *err)
{
  PlaItem item = { 0 };
  PlaWorkItem added = { name, NULL };
  PlaStatus st = read_kind(inv, path, kind, &item, err);
  if (st == PLA_OK) {
    st = pla_content_take_item(&item, kind == PLA_KIND_VOLUME, &added.content, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK)
    g_array_append_val(items, added);
  pla_item_clear(&item);
  return st;
}

/* surfaces of a description stand beside it */
static PlaStatus
add_surfaces(PlaInvocation *inv, const char *description, JsonObject *meta, const char *key,
             GArray *items, PlaError *err)
{
  JsonNode *node = json_object_get_member(meta, key);
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  g_autofree char *folder = g_path_get_dirname(description);
  PlaStatus st = PLA_OK;
  for (guint i = 0; st == PLA_OK && list && i < json_array_get_length(list); i++) {
    JsonNode *one = json_array_get_element(list, i);
    JsonNode *surface = JSON_NODE_HOLDS_OBJECT(one)
                            ? json_object_get_member(json_node_get_object(one), "surface")
                            : NULL;
    const char *name =
        surface && JSON_NODE_HOLDS_VALUE(surface) ? json_node_get_string(surface) : NULL;
    bool known = false;
    for (guint k = 0; name && k < items->len; k++)
      known |= strcmp(g_array_index(items, PlaWorkItem, k).name, name) == 0;
    if (!name || known)
      continue;
    g_autofree char *path =
        g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
    st = add_file(inv, name, path, PLA_KIND_MESH, items, err);
  }
  return st;
}

static PlaStatus
add_description(PlaInvocation *inv, GArray *items, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "description", 0, NULL);
  PlaWorkItem description = { path, NULL };
  if (!path)
    return pla_fail(err, PLA_ERR_USAGE,
                    "describe the muscles: --description FILE (phantom:head --describe FILE "
                    "writes one to start from)");
  PlaStatus st = pla_muscle_description_read(path, &description.content, err);
  if (st != PLA_OK)
    return st;
  g_array_append_val(items, description);
  st = add_surfaces(inv, path, description.content->meta, "muscles", items, err);
  return st == PLA_OK ? add_surfaces(inv, path, description.content->meta, "bones", items, err)
                      : st;
}

static PlaStatus
write_description(PlaInvocation *inv, const PlaMuscleList *list, PlaError *err)
{
  g_autoptr(JsonNode) node = pla_muscle_list_to_json(list);
  g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PRETTY);
  const char *path = pla_invocation_text(inv, "describe", 0, NULL);
  if (!path)
    return PLA_OK;
  PlaStatus st = pla_output_write(path, text, strlen(text), err);
  if (st == PLA_OK)
    pla_say(inv, "%s: descriptions of %d muscles", path, list->n);
  return st;
}

/* one row a point: line, muscle, x, y, z */
static PlaStatus
write_lines(const PlaMuscleSet *set, const PlaMesh *mesh, const char *path, PlaError *err)
{
  g_autoptr(GString) text = g_string_new("line,muscle,x_mm,y_mm,z_mm\n");
  g_autofree double *pos = g_try_new(double, 3 * (size_t)set->point.n_points + 1);
  if (!pos)
    return pla_fail_memory(err, "the fibres");
  pla_embedding_apply(&set->point, mesh->tet, mesh->pos, pos);
  for (int l = 0; l < set->n_lines; l++)
    for (int p = set->line_start[l]; p < set->line_start[l + 1]; p++) {
      char number[3][G_ASCII_DTOSTR_BUF_SIZE];
      for (int d = 0; d < 3; d++)
        g_ascii_formatd(number[d], sizeof number[d], "%.4f", 1000.0 * pos[3 * p + d]);
      g_string_append_printf(text, "%d,", l);
      pla_csv_put(text, set->list.muscle[set->line_muscle[l]].name);
      g_string_append_printf(text, ",%s,%s,%s\n", number[0], number[1], number[2]);
    }
  return pla_output_write(path, text->str, text->len, err);
}

static PlaStatus
write_all(PlaInvocation *inv, Built *in, PlaError *err)
{
  const PlaMuscleSet *set = &in->set;
  const char *out = pla_invocation_output(inv);
  PlaStatus st = PLA_OK;
  if (pla_invocation_has(inv, "streamlines"))
    st = write_lines(set, in->mesh, pla_invocation_text(inv, "streamlines", 0, NULL), err);
  if (st == PLA_OK && pla_invocation_has(inv, "picture")) {
    PlaPictureOptions opts = pla_picture_options_default();
    const PlaTetMesh tets = pla_mesh_tets(in->mesh);
    const char *view = pla_invocation_text(inv, "view", 0, "three-quarter");
    if (!pla_view_preset_from_name(view, &opts.view))
      return pla_fail(
          err, PLA_ERR_USAGE,
          "there is no view '%s'; anterior, left, right, superior and three-quarter are "
          "some",
          view);
    st = pla_muscle_picture(set, &tets, in->labels, &opts,
                            pla_invocation_text(inv, "picture", 0, NULL), err);
  }
  if (st == PLA_OK && out) {
    PlaWriteOptions write = pla_write_options_default();
    write.progress = pla_invocation_progress(inv);
    st = pla_muscle_set_to_fields(set, pla_invocation_has(inv, "each"), in->mesh, err);
    const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = in->mesh };
    if (st == PLA_OK)
      st = pla_item_write(out, &item, &write, err);
  }
  return st;
}

static void
set_item(PlaInvocation *inv, JsonObject *params, const char *option, const char *key)
{
  const char *text = pla_invocation_text(inv, option, 0, NULL);
  if (text)
    json_object_set_string_member(params, key, text);
}

static void
set_number(PlaInvocation *inv, JsonObject *params, const char *option, const char *key)
{
  if (pla_invocation_has(inv, option))
    json_object_set_double_member(params, key, pla_invocation_number(inv, option, 0.0));
}

/* parameters that options give, in a case and from file to file */
static void
read_options(PlaInvocation *inv, JsonObject *params)
{
  set_item(inv, params, "fibres", "fibres");
  set_item(inv, params, "vectors", "vectors");
  set_number(inv, params, "cell-mm", "cell_mm");
  set_number(inv, params, "detail-mm", "detail_mm");
  set_number(inv, params, "attach-mm", "attach_mm");
  set_number(inv, params, "tendon-mm", "tendon_mm");
  if (pla_invocation_has(inv, "lines"))
    json_object_set_int_member(params, "lines", pla_invocation_int(inv, "lines", 16));
  if (pla_invocation_has(inv, "grow-attached"))
    json_object_set_int_member(params, "grow_attached",
                               pla_invocation_int(inv, "grow-attached", 0));
  if (pla_invocation_has(inv, "grow-tendon"))
    json_object_set_int_member(params, "grow_tendon", pla_invocation_int(inv, "grow-tendon", 0));
  if (pla_invocation_has(inv, "limit"))
    json_object_set_boolean_member(params, "limit", TRUE);
}

/* in a case the same is an operation */
static PlaStatus
run_in_case(PlaInvocation *inv, JsonObject *params, Built *out, double *seconds, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  g_autoptr(PlaContent) muscles = NULL;
  g_autoptr(PlaContent) mesh = NULL;
  g_autoptr(PlaContent) description = NULL;
  const char *path = pla_invocation_text(inv, "description", 0, NULL);
  int64_t operation = 0;
  set_item(inv, params, "labels", "labels");
  set_item(inv, params, "mesh", "mesh");
  set_item(inv, params, "phantom", "phantom");
  PlaStatus st = path ? pla_muscle_description_read(path, &description, err) : PLA_OK;
  static const char *const keys[] = { "muscles", "bones" };
  for (size_t i = 0; i < G_N_ELEMENTS(keys) && description; i++)
    if (json_object_has_member(description->meta, keys[i]))
      json_object_set_member(params, keys[i],
                             json_node_copy(json_object_get_member(description->meta, keys[i])));
  if (st == PLA_OK)
    st = pla_session_open(pla_invocation_file(inv, 0), &session, err);
  const PlaRequest request = { .verb = "muscles",
                               .params = params,
                               .read = pla_read_options_default() };
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_session_run(session, &request, pla_invocation_progress(inv), &operation, err);
  *seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st != PLA_OK)
    return st;
  /* the newest muscles, and their mesh */
  const PlaStateItem *newest = NULL;
  const PlaState *state = pla_session_get_state(session);
  for (int i = 0; i < state->n; i++)
    if (strcmp(state->item[i].kind, PLA_ITEM_MUSCLES) == 0)
      newest = &state->item[i];
  st = pla_session_load(session, newest->item, NULL, &muscles, err);
  if (st == PLA_OK)
    st = pla_muscle_set_from_content(muscles, &out->set, err);
  const PlaStateItem *body =
      st == PLA_OK
          ? pla_state_find_name(state, json_object_get_string_member(muscles->meta, "mesh"))
          : NULL;
  if (st == PLA_OK && pla_invocation_output(inv) && body) {
    st = pla_session_load(session, body->item, NULL, &mesh, err);
    if (st == PLA_OK)
      st = pla_mesh_dup(mesh->mesh, &out->mesh, err);
  }
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "operation", operation);
    pla_json_text(pla_invocation_json(inv), "item", newest->name);
  }
  return st;
}

/* the operation on what files hold */
static PlaStatus
run_in_memory(PlaInvocation *inv, const char *phantom, JsonObject *params, Built *out,
              double *seconds, PlaError *err)
{
  const char *labels = pla_invocation_file(inv, 0);
  const char *mesh = pla_invocation_n_files(inv) > 1 ? pla_invocation_file(inv, 1) : NULL;
  const char *vectors = pla_invocation_text(inv, "vectors", 0, NULL);
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaWork *work = NULL;
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Reading", 0.2);
  PlaProgressSpan span = pla_progress_push(progress);
  out->items = g_array_new(FALSE, FALSE, sizeof(PlaWorkItem));
  if (mesh) {
    st = add_file(inv, mesh, mesh, PLA_KIND_MESH, out->items, err);
    json_object_set_string_member(params, "mesh", mesh);
  }
  if (phantom) {
    json_object_set_string_member(params, "phantom", phantom);
  } else {
    if (st == PLA_OK)
      st = add_file(inv, labels, labels, PLA_KIND_VOLUME, out->items, err);
    if (st == PLA_OK)
      st = add_description(inv, out->items, err);
    json_object_set_string_member(params, "labels", labels);
    set_item(inv, params, "description", "description");
  }
  if (st == PLA_OK && vectors)
    st = add_file(inv, vectors, vectors, PLA_KIND_MESH, out->items, err);
  pla_progress_pop(progress, span);
  pla_progress_phase(progress, "Building muscles", 0.9);
  span = pla_progress_push(progress);
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_work_run_memory(&pla_verb_muscles, params,
                             (const PlaWorkItem *)(void *)out->items->data, (int)out->items->len,
                             progress, &work, err);
  *seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    /* a phantom's own mesh comes before the muscles; nobody else has either */
    PlaContent *body =
        mesh ? g_array_index(out->items, PlaWorkItem, 0).content : pla_work_get_result(work, 0);
    st = pla_muscle_set_from_content(pla_work_get_result(work, mesh ? 0 : 1), &out->set, err);
    out->mesh = g_steal_pointer(&body->mesh);
  }
  if (st == PLA_OK && !phantom) {
    PlaContent *tissues = g_array_index(out->items, PlaWorkItem, 1).content;
    out->labels = g_steal_pointer(&tissues->labels);
  }
  pla_work_free(work);
  return st;
}

/* a surface among the items of @data */
static PlaStatus
find_surface(const char *name, void *data, PlaMesh **out, PlaError *err)
{
  const GArray *items = data;
  for (guint i = 0; i < items->len; i++) {
    const PlaWorkItem *item = &g_array_index(items, PlaWorkItem, i);
    if (strcmp(item->name, name) == 0 && item->content->mesh)
      return pla_mesh_dup(item->content->mesh, out, err);
  }
  return pla_fail(err, PLA_ERR_USAGE, "there is no mesh called '%s'", name);
}

/* the description of muscles, which needs no mesh */
static PlaStatus
describe_only(PlaInvocation *inv, const char *phantom, PlaError *err)
{
  PlaMuscleModel *model = NULL;
  PlaJsonFile *file = NULL;
  PlaJson root;
  Built in = { .items = g_array_new(FALSE, FALSE, sizeof(PlaWorkItem)) };
  const char *labels = pla_invocation_file(inv, 0);
  const char *path = pla_invocation_text(inv, "description", 0, NULL);
  const char *fibres = pla_invocation_text(inv, "fibres", 0, NULL);
  PlaStatus st = phantom ? pla_muscle_model_from_phantom(phantom, &model, err)
                         : add_file(inv, labels, labels, PLA_KIND_VOLUME, in.items, err);
  if (st == PLA_OK && !phantom)
    st = add_description(inv, in.items, err);
  if (st == PLA_OK && !phantom)
    st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK && !phantom) {
    st = pla_muscle_model_from_labels(g_array_index(in.items, PlaWorkItem, 0).content->labels, root,
                                      find_surface, in.items, pla_invocation_progress(inv), &model,
                                      err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK && fibres)
    st = pla_muscle_list_set_fibres(&model->list, fibres, err);
  if (st == PLA_OK)
    st = write_description(inv, &model->list, err);
  pla_muscle_model_free(model);
  pla_json_file_free(file);
  built_clear(&in);
  return st;
}

static PlaStatus
run_muscles(PlaInvocation *inv, PlaError *err)
{
  if (strcmp(pla_invocation_file(inv, 0), "activate") == 0)
    return pla_run_activate(inv, err);
  if (strcmp(pla_invocation_file(inv, 0), "torque") == 0)
    return pla_run_torque(inv, err);
  const char *input = pla_invocation_file(inv, 0), *out = pla_invocation_output(inv);
  const char *phantom = g_str_has_prefix(input, PHANTOM) ? input + strlen(PHANTOM) : NULL;
  const bool in_case = !phantom && pla_session_is_case(input);
  const PlaFormat *format;
  g_autoptr(JsonObject) params = json_object_new();
  Built built = { 0 };
  double seconds = 0.0;
  PlaStatus st = out ? pla_format_for_output(out, PLA_KIND_MESH, &format, err) : PLA_OK;
  if (st == PLA_OK && !in_case && pla_invocation_has(inv, "describe") && !out &&
      !pla_invocation_has(inv, "picture"))
    return describe_only(inv, phantom, err);
  if (st == PLA_OK && !phantom && !in_case && pla_invocation_n_files(inv) < 2)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "name a mesh of tetrahedra after the labels: platysma-cli muscles labels.nii.gz "
                  "mesh.vtu --description muscles.json -o out.vtu");
  read_options(inv, params);
  if (st == PLA_OK)
    st = in_case ? run_in_case(inv, params, &built, &seconds, err)
                 : run_in_memory(inv, phantom, params, &built, &seconds, err);
  if (st == PLA_OK && phantom && pla_invocation_has(inv, "picture")) {
    PlaPhantom whole = { 0 };
    st = pla_phantom_make(phantom, 1.5, NULL, &whole, err);
    built.labels = g_steal_pointer(&whole.labels);
    pla_phantom_clear(&whole);
  }
  pla_progress_phase(pla_invocation_progress(inv), "Writing", 1.0);
  if (st == PLA_OK)
    st = write_description(inv, &built.set.list, err);
  if (st == PLA_OK && built.mesh)
    st = write_all(inv, &built, err);
  if (st == PLA_OK)
    describe(inv, &built.set, seconds);
  built_clear(&built);
  return st;
}

static const PlaOpt options[] = {
  { "description", 0, PLA_OPT_TEXT, "FILE", "description of the muscles, JSON" },
  { "describe", 0, PLA_OPT_OUTPUT, "FILE", "write the description of a phantom's muscles" },
  { "cell-mm", 0, PLA_OPT_NUMBER, "H", "element size of a phantom's own mesh", 0.5, 100 },
  { "fibres", 0, PLA_OPT_TEXT, "HOW", "potential, spline, lines or vectors, for all muscles" },
  { "vectors", 0, PLA_OPT_TEXT, "FILE",
    "mesh whose field \"fibre\" holds given directions, or such an item" },
  { "lines", 0, PLA_OPT_INT, "N", "streamlines of each muscle (default: 16)", 0, 1000 },
  { "detail-mm", 0, PLA_OPT_NUMBER, "D", "detail of overlaps (default: by the elements)", 0, 100 },
  { "attach-mm", 0, PLA_OPT_NUMBER, "D",
    "elements this near to bone are attached to it (default: 1)", 0, 100 },
  { "tendon-mm", 0, PLA_OPT_NUMBER, "D",
    "muscle elements this near to their bones are tendon (default: 0)", 0, 500 },
  { "grow-attached", 0, PLA_OPT_INT, "N",
    "then grow attachments by N layers of elements; negative: shrink", -100, 100 },
  { "grow-tendon", 0, PLA_OPT_INT, "N", "the same for tendon", -100, 100 },
  { "limit", 0, PLA_OPT_FLAG, NULL, "shares in one element sum to at most one" },
  { "each", 0, PLA_OPT_FLAG, NULL, "also write a field with the share of each muscle" },
  { "streamlines", 0, PLA_OPT_OUTPUT, "CSV", "write the streamlines' points" },
  { "picture", 0, PLA_OPT_OUTPUT, "PNG", "draw the streamlines over the bones" },
  { "view", 0, PLA_OPT_TEXT, "NAME",
    "of the picture: anterior, left, ... (default: three-quarter)" },
  { "labels", 0, PLA_OPT_TEXT, "ITEM", "in a case: the label map" },
  { "mesh", 0, PLA_OPT_TEXT, "ITEM", "in a case: the mesh" },
  { "phantom", 0, PLA_OPT_TEXT, "NAME", "in a case: take the muscles of this phantom" },
  { "muscles", 0, PLA_OPT_TEXT, "ITEM", "activate: of a case (default: the newest)" },
  { "set", 0, PLA_OPT_TEXT, "NAME=VALUE", "activate: the activation of one muscle, in one frame", 0,
    0, true },
  { "bend-deg", 0, PLA_OPT_NUMBER, "A", "torque: angle of the elbow (default: 90)", 0, 145 },
  { "load-kg", 0, PLA_OPT_NUMBER, "M", "torque: mass in the hand, kg", 0, 1000 },
  { "limb", 0, PLA_OPT_TEXT, "JSON", "torque: other joints, angles and loads" },
  { NULL },
};

static const PlaCommandPart parts[] = { { "activate", &pla_verb_activate }, { NULL, NULL } };

const PlaCommand pla_command_muscles = {
  .name = "muscles",
  .args = "LABELS MESH | phantom:NAME [MESH] | CASE | activate MODEL [TRACK] | torque MODEL",
  .summary = "puts muscles into a mesh: fibres, volume shares, attachments",
  .description =
      "Computes, for every muscle and every tetrahedron that it meets, the share of the volume\n"
      "and the direction of the fibres, from origin to insertion.  Muscles may be thinner than\n"
      "an element, and several may share one.  A JSON file describes them by name, label or\n"
      "closed surface, and by heads with their bones and lines of action.  The phantoms head,\n"
      "tongue and arm have their own muscles; --describe writes their description as an\n"
      "example.  The output mesh has the cell fields muscle, share, fibre and tissue (0 muscle,\n"
      "1 tendon, 2 attached, 255 none) and the vertex field bone (0 none).  In a case this is\n"
      "an operation, and the result is an item.\n\n"
      "muscles activate moves a body (a case with muscles, phantom:face, phantom:tongue,\n"
      "phantom:arm) through the equilibria of an activation track.  It writes the shapes (.pvd,\n"
      "or a mesh of the last frame) and the markers on the skin.  --contact and --collider add\n"
      "contact, --dynamic adds inertia.\n\n"
      "Standard elements are too stiff: a body of coarse cells moves by a third to nine tenths\n"
      "of what it should.  --formulation mixed moves it by three quarters to 1.1 of that, and\n"
      "takes three to eight times as long per pose.  Use it where strengths or amounts of\n"
      "motion matter.\n\n"
      "muscles torque finds the activations that hold a limb's pose against its load, from the\n"
      "balance of torques of all streamlines about its joints.  phantom:arm needs no more\n"
      "input; other limbs need --limb, JSON with joints (name, from_mm, to_mm, moves,\n"
      "angle_deg) and loads (bone, at_mm, kg or force_n).  If an activation exceeds 1, the limb\n"
      "cannot hold its load.",
  .example = "platysma-cli muscles phantom:head --picture muscles.png -o head-muscles.vtu",
  .min_files = 1,
  .max_files = 3,
  .options = options,
  .parts = parts,
  .run = run_muscles,
};

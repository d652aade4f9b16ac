/* `muscles`: fibres, overlaps and attachments of muscles in a mesh. */
#include "app/base/csv.h"
#include "app/base/json.h"
#include "app/case/session.h"
#include "app/cli/cli-private.h"
#include "app/cli/verb-activate.h"
#include "app/motion/muscles.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <glib.h>
#include <string.h>

#define PHANTOM "phantom:"

static void
describe_muscle(PlaInvocation *inv, const PlaMuscleSet *set, int m)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaMuscle *muscle = &set->list.muscle[m];
  const PlaMuscleReport *r = &set->report[m];
  json_builder_begin_object(json);
  pla_json_text(json, "name", muscle->name);
  pla_json_int(json, "label", muscle->label);
  pla_json_text(json, "fibres", pla_fibre_methods[r->method]);
  pla_json_int(json, "heads", muscle->n_heads);
  pla_json_text(json, "origin", muscle->head[0].origin);
  pla_json_text(json, "insertion", muscle->head[0].insertion);
  pla_json_number(json, "peak_stress_pa", muscle->peak_stress_pa);
  pla_json_number(json, "volume_mm3", r->volume_mm3);
  pla_json_number(json, "inside_mm3", r->inside_mm3);
  pla_json_number(json, "length_mm", r->length_mm);
  pla_json_number(json, "section_mm2", r->section_mm2);
  pla_json_number(json, "force_n", r->force_n);
  pla_json_number(json, "straightness", r->straightness);
  pla_json_number(json, "origin_gap_mm", r->gap_mm[0]);
  pla_json_number(json, "insertion_gap_mm", r->gap_mm[1]);
  pla_json_int(json, "tets", r->n_tets);
  pla_json_int(json, "tendon_tets", r->n_region[PLA_TISSUE_TENDON]);
  pla_json_int(json, "attached_tets", r->n_region[PLA_TISSUE_ATTACHED]);
  pla_json_int(json, "streamlines", r->n_lines);
  json_builder_end_object(json);
  pla_say(inv, "%-46s %8.2f ml %5.0f %% in mesh %6.1f mm %8.1f mm2 %7.1f N %6d tets", muscle->name,
          r->volume_mm3 / 1000.0, r->volume_mm3 > 0.0 ? 100.0 * r->inside_mm3 / r->volume_mm3 : 0.0,
          r->length_mm, r->section_mm2, r->force_n, r->n_tets);
}

static void
describe(PlaInvocation *inv, const PlaMuscleSet *set, double seconds)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int m = 0; m < set->list.n; m++)
    describe_muscle(inv, set, m);
  json_builder_end_array(json);
  int held = 0, most = 0;
  json_builder_set_member_name(json, "bones");
  json_builder_begin_array(json);
  for (int b = 0; b < set->n_bones; b++) {
    int n = 0;
    for (int v = 0; v < set->n_verts; v++)
      n += set->vert_bone[v] == b;
    held += n;
    json_builder_begin_object(json);
    pla_json_text(json, "name", set->bone[b]);
    pla_json_int(json, "vertices", n);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  for (int t = 0; t < set->n_tets; t++)
    most = MAX(most, set->tet_start[t + 1] - set->tet_start[t]);
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (int i = 0; i < set->notes.n; i++) {
    json_builder_add_string_value(json, set->notes.text[i]);
    pla_say(inv, "note: %s", set->notes.text[i]);
  }
  json_builder_end_array(json);
  pla_json_int(json, "tets", set->n_tets);
  pla_json_int(json, "vertices", set->n_verts);
  pla_json_int(json, "pairs", set->n_pairs);
  pla_json_int(json, "most_muscles_in_a_tet", most);
  pla_json_number(json, "largest_sum", pla_muscle_set_largest_sum(set));
  pla_json_int(json, "held_vertices", held);
  pla_json_int(json, "streamlines", set->n_lines);
  pla_json_number(json, "seconds", seconds);
  pla_say(
      inv,
      "%d muscles in %d tets: %d pairs, up to %d muscles in one tet, %d streamlines, %d vertices "
      "held by bone",
      set->list.n, set->n_tets, set->n_pairs, most, set->n_lines, held);
}

/* what the command line names */
typedef struct {
  PlaMuscleModel *model;
  PlaMesh *mesh;
  PlaLabelMap *labels; /* for the picture's bones and as the source of shapes; may be NULL */
} Input;

static void
input_clear(Input *in)
{
  pla_muscle_model_free(in->model);
  pla_mesh_free(in->mesh);
  pla_label_map_free(in->labels);
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

static PlaStatus
read_mesh(PlaInvocation *inv, const char *path, PlaMesh **out, PlaError *err)
{
  PlaItem item = { 0 };
  PlaStatus st = read_kind(inv, path, PLA_KIND_MESH, &item, err);
  if (st == PLA_OK && item.mesh->n_tets == 0)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "%s has no tetrahedra; 'platysma-cli mesh --method tets' makes them", path);
  if (st == PLA_OK)
    *out = g_steal_pointer(&item.mesh);
  pla_item_clear(&item);
  return st;
}

/* surfaces of a description stand beside it */
static PlaStatus
load_surface(const char *name, void *data, PlaMesh **out, PlaError *err)
{
  PlaInvocation *inv = data;
  g_autofree char *folder = g_path_get_dirname(pla_invocation_text(inv, "description", 0, "."));
  g_autofree char *path =
      g_path_is_absolute(name) ? g_strdup(name) : g_build_filename(folder, name, NULL);
  PlaItem item = { 0 };
  PlaStatus st = read_kind(inv, path, PLA_KIND_MESH, &item, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&item.mesh);
  pla_item_clear(&item);
  return st;
}

static PlaStatus
read_labels(PlaInvocation *inv, const char *path, PlaLabelMap **out, PlaError *err)
{
  PlaItem item = { 0 };
  PlaStatus st = read_kind(inv, path, PLA_KIND_VOLUME, &item, err);
  if (st == PLA_OK) {
    st = pla_label_map_take(item.volume, &item.labels, out, err);
    if (st == PLA_OK)
      item.volume = NULL;
    else
      pla_fail_within(err, "%s", path);
  }
  pla_item_clear(&item);
  return st;
}

static PlaStatus
read_description(PlaInvocation *inv, Input *in, PlaError *err)
{
  const char *path = pla_invocation_text(inv, "description", 0, NULL);
  PlaJsonFile *file = NULL;
  PlaJson root;
  if (!path)
    return pla_fail(err, PLA_ERR_USAGE,
                    "describe the muscles: --description FILE (phantom:head --describe FILE "
                    "writes one to start from)");
  PlaStatus st = pla_json_file_load(path, &file, &root, err);
  if (st == PLA_OK) {
    st = pla_muscle_model_from_labels(in->labels, root, load_surface, inv,
                                      pla_invocation_progress(inv), &in->model, err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", path);
  }
  pla_json_file_free(file);
  return st;
}

static PlaStatus
read_phantom(PlaInvocation *inv, const char *name, bool with_mesh, Input *in, PlaError *err)
{
  PlaPhantom phantom = { 0 };
  PlaStatus st = pla_muscle_model_from_phantom(name, &in->model, err);
  if (st == PLA_OK && with_mesh && pla_invocation_n_files(inv) < 2) {
    PlaProgressSpan span = pla_progress_push(pla_invocation_progress(inv));
    st = pla_muscle_phantom_mesh(
        name, pla_invocation_number(inv, "cell-mm", pla_muscle_phantom_cell_mm(name)),
        pla_invocation_progress(inv), &in->mesh, err);
    pla_progress_pop(pla_invocation_progress(inv), span);
  }
  if (st == PLA_OK && pla_invocation_has(inv, "picture")) {
    st = pla_phantom_make(name, 1.5, NULL, &phantom, err);
    in->labels = g_steal_pointer(&phantom.labels);
    pla_phantom_clear(&phantom);
  }
  return st;
}

static PlaStatus
write_description(PlaInvocation *inv, const PlaMuscleList *list, PlaError *err)
{
  g_autoptr(JsonNode) node = pla_muscle_list_to_json(list);
  g_autofree char *text = pla_json_write_lossy(node, PLA_JSON_PRETTY);
  const char *path = pla_invocation_text(inv, "describe", 0, NULL);
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
write_all(PlaInvocation *inv, const PlaMuscleSet *set, Input *in, PlaError *err)
{
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

static PlaStatus
read_fibres(PlaInvocation *inv, PlaMuscleModel *model, PlaError *err)
{
  const char *fibres = pla_invocation_text(inv, "fibres", 0, NULL);
  PlaItem item = { 0 };
  PlaStatus st = PLA_OK;
  if (fibres) {
    int method = -1;
    for (int i = 0; pla_fibre_methods[i]; i++)
      if (strcmp(pla_fibre_methods[i], fibres) == 0)
        method = i;
    if (method < 0)
      return pla_fail(err, PLA_ERR_USAGE,
                      "--fibres is one of potential, spline, lines and vectors, not '%s'", fibres);
    for (int m = 0; m < model->list.n; m++)
      model->list.muscle[m].method = (PlaFibreMethod)method;
  }
  if (pla_invocation_has(inv, "vectors")) {
    const char *path = pla_invocation_text(inv, "vectors", 0, NULL);
    st = read_kind(inv, path, PLA_KIND_MESH, &item, err);
    if (st == PLA_OK) {
      st = pla_muscle_model_set_vectors(model, item.mesh, err);
      if (st != PLA_OK)
        pla_fail_within(err, "%s", path);
    }
    pla_item_clear(&item);
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

/* in a case the same is an operation */
static PlaStatus
run_in_case(PlaInvocation *inv, PlaError *err)
{
  g_autoptr(PlaSession) session = NULL;
  g_autoptr(JsonObject) params = json_object_new();
  g_autoptr(PlaContent) muscles = NULL;
  g_autoptr(PlaContent) mesh = NULL;
  const char *path = pla_invocation_text(inv, "description", 0, NULL);
  PlaJsonFile *file = NULL;
  PlaJson root;
  PlaMuscleSet set = { 0 };
  int64_t operation = 0;
  set_item(inv, params, "labels", "labels");
  set_item(inv, params, "mesh", "mesh");
  set_item(inv, params, "phantom", "phantom");
  set_item(inv, params, "fibres", "fibres");
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
  PlaStatus st = PLA_OK;
  if (path) {
    static const char *const keys[] = { "muscles", "bones" };
    st = pla_json_file_load(path, &file, &root, err);
    for (size_t i = 0; i < G_N_ELEMENTS(keys) && st == PLA_OK; i++) {
      PlaJson at;
      if (pla_json_get(root, keys[i], &at))
        json_object_set_member(params, keys[i], json_node_copy(at.node));
    }
    pla_json_file_free(file);
  }
  if (st == PLA_OK)
    st = pla_session_open(pla_invocation_file(inv, 0), &session, err);
  const PlaRequest request = { .verb = "muscles",
                               .params = params,
                               .read = pla_read_options_default() };
  const gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_session_run(session, &request, pla_invocation_progress(inv), &operation, err);
  const double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  /* the newest muscles, and their mesh */
  const PlaStateItem *newest = NULL, *body = NULL;
  if (st == PLA_OK) {
    const PlaState *state = pla_session_get_state(session);
    for (int i = 0; i < state->n; i++)
      if (strcmp(state->item[i].kind, PLA_ITEM_MUSCLES) == 0)
        newest = &state->item[i];
    st = pla_session_load(session, newest->item, NULL, &muscles, err);
    if (st == PLA_OK)
      body = pla_state_find_name(state, json_object_get_string_member(muscles->meta, "mesh"));
  }
  if (st == PLA_OK)
    st = pla_muscle_set_from_content(muscles, &set, err);
  if (st == PLA_OK && pla_invocation_output(inv) && body) {
    Input in = { 0 };
    st = pla_session_load(session, body->item, NULL, &mesh, err);
    if (st == PLA_OK)
      st = pla_mesh_dup(mesh->mesh, &in.mesh, err);
    if (st == PLA_OK)
      st = write_all(inv, &set, &in, err);
    input_clear(&in);
  }
  if (st == PLA_OK) {
    pla_json_int(pla_invocation_json(inv), "operation", operation);
    pla_json_text(pla_invocation_json(inv), "item", newest->name);
    describe(inv, &set, seconds);
  }
  pla_muscle_set_clear(&set);
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
  const bool phantom = g_str_has_prefix(input, PHANTOM);
  const bool only_describe =
      pla_invocation_has(inv, "describe") && !out && !pla_invocation_has(inv, "picture");
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format;
  Input in = { 0 };
  PlaMuscleSet set = { 0 };
  PlaMuscleOptions opts = pla_muscle_options_default();
  PlaStatus st = PLA_OK;
  if (!phantom && pla_session_is_case(input))
    return run_in_case(inv, err);
  opts.leaf_mm = pla_invocation_number(inv, "detail-mm", opts.leaf_mm);
  opts.n_lines = pla_invocation_int(inv, "lines", opts.n_lines);
  opts.attach_mm = pla_invocation_number(inv, "attach-mm", opts.attach_mm);
  opts.tendon_mm = pla_invocation_number(inv, "tendon-mm", opts.tendon_mm);
  opts.grow_attached = pla_invocation_int(inv, "grow-attached", 0);
  opts.grow_tendon = pla_invocation_int(inv, "grow-tendon", 0);
  if (out)
    st = pla_format_for_output(out, PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && !phantom && pla_invocation_n_files(inv) < 2 && !only_describe)
    st = pla_fail(err, PLA_ERR_USAGE,
                  "name a mesh of tetrahedra after the labels: platysma-cli muscles labels.nii.gz "
                  "mesh.vtu --description muscles.json -o out.vtu");

  pla_progress_phase(progress, "Reading", 0.2);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK && pla_invocation_n_files(inv) > 1)
    st = read_mesh(inv, pla_invocation_file(inv, 1), &in.mesh, err);
  if (st == PLA_OK && phantom)
    st = read_phantom(inv, input + strlen(PHANTOM), !only_describe, &in, err);
  else if (st == PLA_OK)
    st = read_labels(inv, input, &in.labels, err);
  if (st == PLA_OK && !phantom)
    st = read_description(inv, &in, err);
  if (st == PLA_OK)
    st = read_fibres(inv, in.model, err);
  if (st == PLA_OK && pla_invocation_has(inv, "describe"))
    st = write_description(inv, &in.model->list, err);
  pla_progress_pop(progress, span);
  if (st != PLA_OK || only_describe) {
    input_clear(&in);
    return st;
  }

  pla_progress_phase(progress, "Building muscles", 0.9);
  span = pla_progress_push(progress);
  const gint64 start = g_get_monotonic_time();
  const PlaTetMesh tets = pla_mesh_tets(in.mesh);
  st = pla_muscle_set_build(&tets, &in.model->list, in.model->shape, in.model->vectors,
                            in.model->bone, in.model->n_bones, &opts, progress, &set, err);
  const double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  pla_progress_pop(progress, span);
  if (st == PLA_OK && pla_invocation_has(inv, "limit"))
    pla_muscle_set_limit_sums(&set);
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = write_all(inv, &set, &in, err);
  if (st == PLA_OK)
    describe(inv, &set, seconds);
  pla_muscle_set_clear(&set);
  input_clear(&in);
  return st;
}

static const PlaOpt options[] = {
  { "description", 0, PLA_OPT_TEXT, "FILE", "description of the muscles, JSON" },
  { "describe", 0, PLA_OPT_OUTPUT, "FILE", "write the description of a phantom's muscles" },
  { "cell-mm", 0, PLA_OPT_NUMBER, "H", "element size of a phantom's own mesh", 0.5, 100 },
  { "fibres", 0, PLA_OPT_TEXT, "HOW", "potential, spline, lines or vectors, for all muscles" },
  { "vectors", 0, PLA_OPT_TEXT, "FILE", "mesh whose field \"fibre\" holds given directions" },
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
  { "young-pa", 0, PLA_OPT_NUMBER, "E", "activate: stiffness of the flesh between the fibres", 100,
    1e8 },
  { "poisson", 0, PLA_OPT_NUMBER, "NU",
    "activate: Poisson's ratio of that flesh; 0.5 is incompressible", 0.01, 0.4999 },
  { "strength", 0, PLA_OPT_NUMBER, "S", "activate: factor on the peak stress of all muscles", 0.01,
    100 },
  { "contact", 0, PLA_OPT_FLAG, NULL,
    "activate: contact between parts, such as lips, and with the face's own teeth" },
  { "collider", 0, PLA_OPT_TEXT, "SURF", "activate: a closed surface as a rigid obstacle", 0, 0,
    true },
  { "jaw-collider", 0, PLA_OPT_TEXT, "SURF", "activate: the same, moving with the jaw", 0, 0,
    true },
  { "dynamic", 0, PLA_OPT_FLAG, NULL, "activate: with inertia" },
  { "muscles", 0, PLA_OPT_TEXT, "ITEM", "activate: of a case (default: the newest)" },
  { "set", 0, PLA_OPT_TEXT, "NAME=VALUE", "activate: the activation of one muscle, in one frame", 0,
    0, true },
  { "random", 0, PLA_OPT_INT, "SEED", "activate: a random performance", 0, 1e9 },
  { "seconds", 0, PLA_OPT_NUMBER, "T", "activate: its length (default: 5)", 0.001, 3600 },
  { "rate-hz", 0, PLA_OPT_NUMBER, "F", "activate: its frames in a second (default: 60)", 1, 10000 },
  { "track", 0, PLA_OPT_OUTPUT, "CSV", "activate: write the activations that were used" },
  { "markers", 0, PLA_OPT_OUTPUT, "FILE", "activate: write the markers, as C3D, TRC or CSV" },
  { "noise-mm", 0, PLA_OPT_NUMBER, "S", "activate: noise of the markers in each axis", 0, 100 },
  { "missing", 0, PLA_OPT_NUMBER, "P", "activate: share of markers that are missing", 0, 1 },
  { "outliers", 0, PLA_OPT_NUMBER, "P", "activate: share of gross errors, up to 20 mm an axis", 0,
    1 },
  { "bend-deg", 0, PLA_OPT_NUMBER, "A", "torque: how far the elbow is bent (default: 90)", 0, 145 },
  { "load-kg", 0, PLA_OPT_NUMBER, "M", "torque: mass in the hand, kg", 0, 1000 },
  { "limb", 0, PLA_OPT_TEXT, "JSON", "torque: other joints, angles and loads" },
  { NULL },
};

const PlaVerb pla_verb_muscles = {
  .name = "muscles",
  .args = "LABELS MESH | phantom:NAME [MESH] | CASE | activate MODEL [TRACK] | torque MODEL",
  .summary = "puts muscles into a mesh: fibres, volume shares, attachments",
  .description =
      "For every muscle and every tetrahedron that it meets: the share of the element's volume\n"
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
      "muscles torque finds the activations that hold a limb's pose against its load, from the\n"
      "balance of torques of all streamlines about its joints.  phantom:arm needs no more\n"
      "input; other limbs need --limb, JSON with joints (name, from_mm, to_mm, moves,\n"
      "angle_deg) and loads (bone, at_mm, kg or force_n).  If an activation exceeds 1, the limb\n"
      "cannot hold its load.",
  .example = "platysma-cli muscles phantom:head --picture muscles.png -o head-muscles.vtu",
  .min_files = 1,
  .max_files = 3,
  .options = options,
  .run = run_muscles,
};

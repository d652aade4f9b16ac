/* Muscles: fibres, overlaps and attachments of muscles in a mesh. */
#include "app/base/json.h"
#include "app/motion/muscles.h"
#include "app/verbs/verbs.h"
#include "sim/bodies/phantom-flesh.h"

#include <string.h>

static void
describe_muscle(const PlaMuscleSet *set, int m, JsonBuilder *json, GPtrArray *lines)
{
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
  g_ptr_array_add(
      lines, g_strdup_printf("%-46s %8.2f ml %5.0f %% in mesh %6.1f mm %8.1f mm2 %7.1f N %6d tets",
                             muscle->name, r->volume_mm3 / 1000.0,
                             r->volume_mm3 > 0.0 ? 100.0 * r->inside_mm3 / r->volume_mm3 : 0.0,
                             r->length_mm, r->section_mm2, r->force_n, r->n_tets));
}

void
pla_muscle_set_describe(const PlaMuscleSet *set, JsonBuilder *json, GPtrArray *lines)
{
  json_builder_set_member_name(json, "muscles");
  json_builder_begin_array(json);
  for (int m = 0; m < set->list.n; m++)
    describe_muscle(set, m, json, lines);
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
    g_ptr_array_add(lines, g_strdup_printf("note: %s", set->notes.text[i]));
  }
  json_builder_end_array(json);
  pla_json_int(json, "tets", set->n_tets);
  pla_json_int(json, "vertices", set->n_verts);
  pla_json_int(json, "pairs", set->n_pairs);
  pla_json_int(json, "most_muscles_in_a_tet", most);
  pla_json_number(json, "largest_sum", pla_muscle_set_largest_sum(set));
  pla_json_int(json, "held_vertices", held);
  pla_json_int(json, "streamlines", set->n_lines);
  g_ptr_array_add(lines, g_strdup_printf("%d muscles in %d tets: %d pairs, up to %d muscles in one "
                                         "tet, %d streamlines, %d vertices "
                                         "held by bone",
                                         set->list.n, set->n_tets, set->n_pairs, most, set->n_lines,
                                         held));
}

/* "muscles" and "bones" of the parameters as a description */
static PlaStatus
read_description(PlaWork *work, PlaJsonFile **file, PlaJson *root, PlaError *err)
{
  g_autoptr(JsonObject) object = json_object_new();
  g_autoptr(JsonObject) meta = NULL;
  const char *name = "the description";
  int64_t item;
  if (pla_work_is_null(work, "description")) {
    json_object_set_array_member(object, "muscles", json_array_ref(pla_work_list(work, "muscles")));
  } else {
    PlaStatus st = pla_work_item(work, "description", PLA_ITEM_MUSCLES, &item, err);
    if (st == PLA_OK)
      st = pla_work_load_meta(work, item, &meta, err);
    if (st != PLA_OK)
      return st;
    name = pla_work_item_name(work, item);
    /* muscles that were built know more than their description */
    const bool built = json_object_has_member(meta, "mesh");
    if (built && !json_object_has_member(meta, "muscles"))
      return pla_fail(err, PLA_ERR_USAGE, "'%s' describes no muscles", name);
    JsonObjectIter iter;
    const char *key;
    JsonNode *node;
    json_object_iter_init(&iter, meta);
    while (json_object_iter_next(&iter, &key, &node))
      if (!built || strcmp(key, "muscles") == 0)
        json_object_set_member(object, key, json_node_copy(node));
  }
  if (json_array_get_length(pla_work_list(work, "bones")) > 0)
    json_object_set_array_member(object, "bones", json_array_ref(pla_work_list(work, "bones")));
  g_autofree char *text = pla_json_canonical(object);
  return pla_json_text_load(text, name, file, root, err);
}

static PlaStatus
load_surface(const char *name, void *data, PlaMesh **out, PlaError *err)
{
  PlaWork *work = data;
  g_autoptr(PlaContent) content = NULL;
  const int64_t item = pla_work_find(work, name);
  if (item == 0 || strcmp(pla_work_item_kind(work, item), PLA_ITEM_MESH) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "there is no mesh called '%s'", name);
  PlaStatus st = pla_work_load(work, item, &content, err);
  return st == PLA_OK ? pla_mesh_dup(content->mesh, out, err) : st;
}

static PlaStatus
read_model(PlaWork *work, PlaProgress *progress, PlaMuscleModel **model, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) labels = NULL;
  PlaJsonFile *file = NULL;
  PlaJson root;
  if (!pla_work_is_null(work, "phantom"))
    return pla_muscle_model_from_phantom(pla_work_text(work, "phantom"), model, err);
  PlaStatus st = PLA_OK;
  if (!pla_work_is_null(work, "labels")) {
    st = pla_work_item(work, "labels", PLA_ITEM_LABELS, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &labels, err);
  }
  if (st == PLA_OK)
    st = read_description(work, &file, &root, err);
  if (st == PLA_OK)
    st = pla_muscle_model_from_labels(labels ? labels->labels : NULL, root, load_surface, work,
                                      progress, model, err);
  pla_json_file_free(file);
  return st;
}

/* methods and directions that all muscles have in common */
static PlaStatus
set_fibres(PlaWork *work, PlaMuscleModel *model, PlaError *err)
{
  g_autoptr(PlaContent) vectors = NULL;
  int64_t item;
  PlaStatus st = pla_work_is_null(work, "fibres")
                     ? PLA_OK
                     : pla_muscle_list_set_fibres(&model->list, pla_work_text(work, "fibres"), err);
  if (st != PLA_OK || pla_work_is_null(work, "vectors"))
    return st;
  st = pla_work_item(work, "vectors", PLA_ITEM_MESH, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &vectors, err);
  if (st == PLA_OK) {
    st = pla_muscle_model_set_vectors(model, vectors->mesh, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", pla_work_item_name(work, item));
  }
  return st;
}

/* the mesh of the body: an item, or a phantom's, which becomes one */
static PlaStatus
load_mesh(PlaWork *work, PlaContent **out, const char **name, PlaError *err)
{
  int64_t item = 0;
  const char *phantom = pla_work_text(work, "phantom");
  if (!pla_work_is_null(work, "mesh")) {
    PlaStatus st = pla_work_item(work, "mesh", PLA_ITEM_MESH, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, out, err);
    if (st != PLA_OK)
      return st;
    *name = pla_work_item_name(work, item);
    return (*out)->mesh->n_tets > 0
               ? PLA_OK
               : pla_fail(err, PLA_ERR_USAGE,
                          "%s has no tetrahedra; 'platysma-cli mesh --method tets' makes them",
                          *name);
  }
  if (!phantom)
    return pla_fail(err, PLA_ERR_USAGE,
                    "\"mesh\" must name the mesh that the muscles are put into");
  *out = pla_content_new(PLA_ITEM_MESH);
  PlaStatus st =
      pla_phantom_flesh_mesh(phantom,
                             pla_work_is_null(work, "cell_mm") ? pla_phantom_flesh_cell_mm(phantom)
                                                               : pla_work_number(work, "cell_mm"),
                             pla_work_progress(work), &(*out)->mesh, err);
  if (st == PLA_OK) {
    g_autofree char *own = g_strdup_printf("%s soft tissue", phantom);
    *name = pla_work_add(work, own, pla_content_ref(*out));
  }
  return st;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  g_autoptr(PlaContent) mesh = NULL;
  PlaMuscleModel *model = NULL;
  PlaMuscleSet set = { 0 };
  PlaProgress *progress = pla_work_progress(work);
  PlaMuscleOptions opts = pla_muscle_options_default();
  opts.leaf_mm = pla_work_number(work, "detail_mm");
  opts.n_lines = pla_work_int(work, "lines");
  opts.attach_mm = pla_work_number(work, "attach_mm");
  opts.tendon_mm = pla_work_number(work, "tendon_mm");
  opts.grow_attached = pla_work_int(work, "grow_attached");
  opts.grow_tendon = pla_work_int(work, "grow_tendon");
  const char *mesh_name = NULL;
  PlaStatus st = PLA_OK;

  pla_progress_phase(progress, "Reading", 0.1);
  PlaProgressSpan span = pla_progress_push(progress);
  st = load_mesh(work, &mesh, &mesh_name, err);
  pla_progress_pop(progress, span);

  pla_progress_phase(progress, "Finding shapes", 0.3);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = read_model(work, progress, &model, err);
  if (st == PLA_OK)
    st = set_fibres(work, model, err);
  pla_progress_pop(progress, span);
  pla_progress_phase(progress, "Building muscles", 1.0);
  span = pla_progress_push(progress);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(mesh->mesh);
    st = pla_muscle_set_build(&tets, &model->list, model->shape, model->vectors, model->bone,
                              model->n_bones, &opts, progress, &set, err);
  }
  pla_progress_pop(progress, span);
  if (st == PLA_OK && pla_work_bool(work, "limit"))
    pla_muscle_set_limit_sums(&set);
  PlaContent *content = NULL;
  if (st == PLA_OK)
    pla_muscle_set_describe(&set, pla_work_json(work), pla_work_lines(work));
  if (st == PLA_OK)
    st = pla_muscle_set_to_content(&set, mesh_name, &content, err);
  if (st == PLA_OK)
    pla_work_add(work, pla_work_is_null(work, "name") ? "muscles" : pla_work_text(work, "name"),
                 content);
  pla_muscle_set_clear(&set);
  pla_muscle_model_free(model);
  return st;
}

static const PlaVerbParam params[] = {
  { "mesh", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "tetrahedra of the soft tissue; a phantom's are made when not given", .kinds = PLA_ITEM_MESH },
  { "labels", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the label map with muscles and bones",
    .kinds = PLA_ITEM_LABELS },
  { "muscles", PLA_PARAM_LIST, NULL, 0, 0, "[]", "descriptions of muscles" },
  { "description", PLA_PARAM_ITEM, NULL, 0, 0, "null", "or an item that describes them",
    .kinds = PLA_ITEM_MUSCLES },
  { "bones", PLA_PARAM_LIST, NULL, 0, 0, "[]", "bones that are not labels of that name" },
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, "null", "take all from this phantom instead" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.5, 100, "null", "element size of a phantom's mesh" },
  { "fibres", PLA_PARAM_TEXT, NULL, 1, 20, "null", "potential, spline, lines or vectors, for all" },
  { "vectors", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "mesh whose field \"fibre\" holds given directions", .kinds = PLA_ITEM_MESH },
  { "lines", PLA_PARAM_INT, NULL, 0, 1000, "16", "streamlines of each muscle" },
  { "detail_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", "detail of overlaps; 0: by the elements" },
  { "attach_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "1",
    "elements this near to bone are attached to it" },
  { "tendon_mm", PLA_PARAM_NUMBER, "mm", 0, 500, "0",
    "muscle elements this near to their bones are tendon" },
  { "grow_attached", PLA_PARAM_INT, NULL, -100, 100, "0",
    "layers of elements by which attachments then grow, or shrink" },
  { "grow_tendon", PLA_PARAM_INT, NULL, -100, 100, "0", "the same for tendon" },
  { "limit", PLA_PARAM_BOOL, NULL, 0, 0, "false", "shares in one element sum to at most one" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the muscles" },
  { NULL },
};

/* the item itself has all of it */
static const PlaResultKey results[] = {
  { "muscles", "label, fibres, volumes, length, section, force, gaps and elements of each" },
  { "bones", "name and vertices of each" },
  { "notes", "what needs a second look" },
  { "tets", "elements of the mesh" },
  { "vertices", "vertices of the mesh" },
  { "pairs", "pairs of a muscle and an element" },
  { "most_muscles_in_a_tet", "largest number of muscles that share an element" },
  { "largest_sum", "largest sum of shares in an element" },
  { "held_vertices", "vertices that bone holds" },
  { "streamlines", "number of streamlines" },
  { NULL },
};

const PlaVerb pla_verb_muscles = {
  .name = "muscles",
  .title = "Build Muscles",
  .summary = "puts muscles into a mesh: fibres, volume shares, attachments",
  .params = params,
  .results = results,
  .run = run,
};

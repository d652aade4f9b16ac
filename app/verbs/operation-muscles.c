/* Muscles: fibres, overlaps and attachments of muscles in a mesh. */
#include "app/base/json.h"
#include "app/motion/muscles.h"
#include "app/verbs/operations.h"

#include <string.h>

/* "muscles" and "bones" of the parameters as a description */
static PlaStatus
read_description(PlaWork *work, PlaJsonFile **file, PlaJson *root, PlaError *err)
{
  g_autoptr(JsonObject) object = json_object_new();
  g_autoptr(JsonObject) meta = NULL;
  JsonArray *muscles = pla_work_list(work, "muscles");
  int64_t item;
  if (!pla_work_is_null(work, "description")) {
    PlaStatus st = pla_work_item(work, "description", PLA_ITEM_MUSCLES, &item, err);
    if (st == PLA_OK)
      st = pla_work_load_meta(work, item, &meta, err);
    if (st != PLA_OK)
      return st;
    if (!json_object_has_member(meta, "muscles"))
      return pla_fail(err, PLA_ERR_USAGE, "'%s' describes no muscles",
                      pla_work_item_name(work, item));
    muscles = json_object_get_array_member(meta, "muscles");
  }
  json_object_set_array_member(object, "muscles", json_array_ref(muscles));
  if (json_array_get_length(pla_work_list(work, "bones")) > 0)
    json_object_set_array_member(object, "bones", json_array_ref(pla_work_list(work, "bones")));
  g_autofree char *text = pla_json_canonical(object);
  return pla_json_text_load(text, "the description", file, root, err);
}

static PlaStatus
load_surface(const char *name, void *data, PlaMesh **out, PlaError *err)
{
  PlaWork *work = data;
  g_autoptr(PlaContent) content = NULL;
  const int64_t item = pla_work_find(work, name);
  if (item == 0 || strcmp(pla_work_item_kind(work, item), PLA_ITEM_MESH) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "there is no mesh called '%s' in the case", name);
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

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item = 0;
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
  if (!pla_work_is_null(work, "mesh")) {
    st = pla_work_item(work, "mesh", PLA_ITEM_MESH, &item, err);
    if (st == PLA_OK)
      st = pla_work_load(work, item, &mesh, err);
    if (st == PLA_OK)
      mesh_name = pla_work_item_name(work, item);
  } else if (!pla_work_is_null(work, "phantom")) {
    const char *phantom = pla_work_text(work, "phantom");
    mesh = pla_content_new(PLA_ITEM_MESH);
    st = pla_muscle_phantom_mesh(phantom,
                                 pla_work_is_null(work, "cell_mm")
                                     ? pla_muscle_phantom_cell_mm(phantom)
                                     : pla_work_number(work, "cell_mm"),
                                 progress, &mesh->mesh, err);
    if (st == PLA_OK) {
      g_autofree char *name = g_strdup_printf("%s soft tissue", phantom);
      mesh_name = pla_work_add(work, name, pla_content_ref(mesh));
    }
  } else
    st = pla_fail(err, PLA_ERR_USAGE, "\"mesh\" must name the mesh that the muscles are put into");
  pla_progress_pop(progress, span);

  pla_progress_phase(progress, "Finding shapes", 0.3);
  span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = read_model(work, progress, &model, err);
  if (st == PLA_OK && !pla_work_is_null(work, "fibres")) {
    int method = -1;
    for (int i = 0; pla_fibre_methods[i]; i++)
      if (strcmp(pla_fibre_methods[i], pla_work_text(work, "fibres")) == 0)
        method = i;
    if (method < 0)
      st = pla_fail(err, PLA_ERR_USAGE, "\"fibres\" is one of potential, spline, lines, vectors");
    for (int m = 0; m < model->list.n && st == PLA_OK; m++)
      model->list.muscle[m].method = (PlaFibreMethod)method;
  }
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
    st = pla_muscle_set_to_content(&set, mesh_name, &content, err);
  if (st == PLA_OK)
    pla_work_add(work, pla_work_is_null(work, "name") ? "muscles" : pla_work_text(work, "name"),
                 content);
  pla_muscle_set_clear(&set);
  pla_muscle_model_free(model);
  return st;
}

static const PlaOpParam params[] = {
  { "mesh", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "tetrahedra of the soft tissue; a phantom's are made when not given" },
  { "labels", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the label map with muscles and bones" },
  { "muscles", PLA_PARAM_LIST, NULL, 0, 0, "[]", "descriptions of muscles" },
  { "description", PLA_PARAM_ITEM, NULL, 0, 0, "null", "or an item that describes them" },
  { "bones", PLA_PARAM_LIST, NULL, 0, 0, "[]", "bones that are not labels of that name" },
  { "phantom", PLA_PARAM_TEXT, NULL, 1, 100, "null", "take all from this phantom instead" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.5, 100, "null", "element size of a phantom's mesh" },
  { "fibres", PLA_PARAM_TEXT, NULL, 1, 20, "null", "potential, spline, lines or vectors, for all" },
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

const PlaOperation pla_operation_muscles = {
  .verb = "muscles",
  .title = "Build Muscles",
  .summary = "puts muscles into a mesh: fibres, volume shares, attachments",
  .params = params,
  .run = run,
};

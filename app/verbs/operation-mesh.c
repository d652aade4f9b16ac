/* Mesh: volume elements of one or several tissues, or inside a surface. */
#include "app/simulate/mesh-method.h"
#include "app/verbs/operations.h"

#include <string.h>

/* labels or surface of the item into @input; the name of what is meshed into *what */
static PlaStatus
read_body(PlaWork *work, const PlaContent *body, int64_t item, GArray *ids, GArray *first,
          PlaMeshInput *input, const char **what, PlaError *err)
{
  *what = pla_work_item_name(work, item);
  if (strcmp(body->kind, PLA_ITEM_MESH) == 0) {
    input->surface = body->mesh;
    return PLA_OK;
  }
  if (strcmp(body->kind, PLA_ITEM_LABELS) != 0)
    return pla_fail(err, PLA_ERR_USAGE, "'%s' is a %s; labels or a surface are needed", *what,
                    body->kind);
  PlaStatus st =
      pla_operation_read_tissues(body->labels, pla_work_list(work, "labels"), ids, first, err);
  if (st != PLA_OK)
    return st;
  input->labels = body->labels;
  input->ids = (const int *)(void *)ids->data;
  input->first = (const int *)(void *)first->data;
  input->n_groups = (int)first->len - 1;
  if (input->n_groups == 1)
    *what = pla_label_table_find(&body->labels->table, input->ids[0])->name;
  return PLA_OK;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item, carried;
  g_autoptr(PlaContent) body = NULL;
  g_autoptr(PlaContent) embedded = NULL;
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(int));
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  const PlaMeshMethod *method;
  const char *what = NULL;
  pla_mesh_result_init(&result);
  input.cell_mm = pla_work_number(work, "cell_mm");
  input.levels = pla_work_int(work, "levels");
  if (!pla_work_is_null(work, "smooth_mm"))
    input.smooth_mm = pla_work_number(work, "smooth_mm");
  input.round_mm = pla_work_number(work, "round_mm");
  input.coarsen = pla_work_int(work, "coarsen");
  input.as_tets = pla_work_bool(work, "as_tets");
  input.separate = pla_work_bool(work, "separate");
  PlaStatus st = pla_mesh_method_find(pla_work_text(work, "method"), &method, err);
  if (st == PLA_OK)
    st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &body, err);
  if (st == PLA_OK)
    st = read_body(work, body, item, ids, first, &input, &what, err);
  if (st == PLA_OK && !pla_work_is_null(work, "embed_surface")) {
    st = pla_work_item(work, "embed_surface", PLA_ITEM_MESH, &carried, err);
    if (st == PLA_OK)
      st = pla_work_load(work, carried, &embedded, err);
    if (st == PLA_OK)
      input.embed_surface = embedded->mesh;
  }
  if (st == PLA_OK)
    st = pla_mesh_method_run(method, &input, pla_work_progress(work), &result, err);
  if (st == PLA_OK) {
    PlaContent *content = pla_content_new(PLA_ITEM_MESH);
    content->mesh = g_steal_pointer(&result.mesh);
    json_object_set_string_member(result.found, "method", method->name);
    json_object_set_string_member(result.found, "from", pla_work_item_name(work, item));
    json_object_set_double_member(result.found, "cell_mm", input.cell_mm);
    json_object_set_int_member(result.found, "duplicated_cells", result.duplicated_cells);
    json_object_set_int_member(result.found, "winding_violations", result.winding_violations);
    json_object_set_object_member(content->meta, "mesh", g_steal_pointer(&result.found));
    g_autofree char *own_name = g_strdup_printf("%s mesh", what);
    const char *name = pla_work_text(work, "name");
    pla_work_add(work, name ? name : own_name, content);
  }
  pla_mesh_result_clear(&result);
  return st;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map, or a closed surface" },
  { "method", PLA_PARAM_TEXT, NULL, 1, 20, "\"tets\"", "how to mesh" },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "ids or names of the tissues, lists of them to be one tissue; none: all labels" },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.01, 1000, "4", "size of a cell at the surface" },
  { "levels", PLA_PARAM_INT, NULL, 0, 8, "3", "doublings of the cell towards the inside" },
  { "smooth_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "null", "detail to remove; null: by the cell" },
  { "round_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0",
    "remove parts and gaps into which a ball of this radius does not fit" },
  { "coarsen", PLA_PARAM_INT, NULL, 0, 8, "0",
    "halvings of the resolution afterwards; of a lattice, doublings of the cell inside" },
  { "separate", PLA_PARAM_BOOL, NULL, 0, 0, "false", "tissues of a lattice stay disconnected" },
  { "as_tets", PLA_PARAM_BOOL, NULL, 0, 0, "false", "hexahedra become tetrahedra" },
  { "embed_surface", PLA_PARAM_ITEM, NULL, 0, 0, "null", "the surface that the mesh carries" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the mesh" },
  { NULL },
};

const PlaOperation pla_operation_mesh = {
  .verb = "mesh",
  .title = "Make Mesh",
  .summary = "fills tissues or a surface with elements",
  .params = params,
  .run = run,
};

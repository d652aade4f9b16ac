/* Mesh: volume elements of one or several tissues, or inside a surface. */
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-method.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <string.h>

/* labels or surface of the item into @input; the name of what is meshed into *what */
static PlaStatus
read_body(PlaWork *work, const PlaContent *body, int64_t item, GArray *ids, GArray *first,
          PlaMeshInput *input, const char **what, PlaError *err)
{
  *what = pla_work_item_name(work, item);
  if (strcmp(body->kind, PLA_ITEM_MESH) == 0) {
    input->surface = body->mesh;
    return json_array_get_length(pla_work_list(work, "labels")) == 0
               ? PLA_OK
               : pla_fail(err, PLA_ERR_USAGE, "%s is a surface: it has no labels, so name none",
                          *what);
  }
  PlaStatus st =
      pla_verb_read_tissues(body->labels, pla_work_list(work, "labels"), ids, first, err);
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

void
pla_verb_tell_meshing(PlaWork *work, const PlaMeshResult *result)
{
  JsonBuilder *json = pla_work_json(work);
  JsonObjectIter iter;
  const char *key;
  JsonNode *node;
  json_object_iter_init_ordered(&iter, result->found);
  while (json_object_iter_next_ordered(&iter, &key, &node)) {
    json_builder_set_member_name(json, key);
    json_builder_add_value(json, json_node_copy(node));
  }
  for (guint i = 0; i < result->lines->len; i++)
    pla_work_say(work, "  %s", (const char *)g_ptr_array_index(result->lines, i));
}

/* what was made, as numbers and as lines */
static PlaStatus
tell(PlaWork *work, const PlaMeshMethod *method, const PlaMeshResult *result, const char *from,
     double cell_mm, PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaMesh *mesh = result->mesh;
  PlaMeshSummary s;
  PlaStatus st = pla_mesh_summary(mesh, &s, err);
  if (st != PLA_OK)
    return st;
  pla_json_text(json, "method", method->name);
  pla_json_text(json, "from", from);
  pla_json_number(json, "cell_mm", cell_mm);
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_int(json, "tets", mesh->n_tets);
  pla_json_int(json, "hexes", mesh->n_hexes);
  pla_json_si(json, "volume_mm3", s.volume_m3);
  pla_json_si(json, "cells_volume_mm3", s.cells_m3);
  pla_json_number(json, "min_dihedral_deg", s.min_dihedral_deg);
  pla_json_number(json, "max_dihedral_deg", s.max_dihedral_deg);
  pla_json_int(json, "inverted", s.inverted);
  pla_json_int(json, "components", s.components);
  pla_json_int(json, "duplicated_cells", result->duplicated_cells);
  pla_json_int(json, "winding_violations", result->winding_violations);
  g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, s.volume_m3, PLA_UNIT_M3);
  const bool hexes = mesh->n_hexes > 0;
  pla_work_say(work, "%d %s, %d vertices, %d %s, %s", hexes ? mesh->n_hexes : mesh->n_tets,
               hexes ? "hexes" : "tets", mesh->n_verts, s.components,
               s.components == 1 ? "piece" : "pieces", volume);
  pla_verb_tell_meshing(work, result);
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
  if (st == PLA_OK && input.embed_surface && input.embed_surface->n_tris == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is no surface of triangles",
                  pla_work_text(work, "embed_surface"));
  if (st == PLA_OK)
    st = pla_mesh_method_run(method, &input, pla_work_progress(work), &result, err);
  if (st == PLA_OK)
    st = tell(work, method, &result, pla_work_item_name(work, item), input.cell_mm, err);
  if (st == PLA_OK) {
    PlaContent *content = pla_content_new(PLA_ITEM_MESH);
    content->mesh = g_steal_pointer(&result.mesh);
    g_autofree char *own_name = g_strdup_printf("%s mesh", what);
    const char *name = pla_work_text(work, "name");
    pla_work_add(work, name ? name : own_name, content);
  }
  pla_mesh_result_clear(&result);
  return st;
}

/* of tissues, as the window has them */
static bool
method_choice(int i, PlaParamChoice *out)
{
  for (const PlaMeshMethod *const *m = pla_mesh_methods_get(); *m; m++)
    if ((*m)->takes_labels && i-- == 0) {
      *out = (PlaParamChoice){ (*m)->name, (*m)->title, (*m)->about };
      return true;
    }
  return false;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map, or a closed surface",
    .positional = true, .kinds = PLA_ITEM_LABELS " " PLA_ITEM_MESH },
  { "method", PLA_PARAM_TEXT, NULL, 1, 20, NULL, N_("tets, lattice, carved or embed"),
    .panel = { .title = N_("Me_thod"), .begin = "\"tets\"", .choice = method_choice } },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.01, 1000, NULL,
    N_("size of a cell, at the surface where cells differ"), .arg = "H",
    .panel = { .title = N_("Cell _size"),
               .spoken = N_("Cell size in millimetres"),
               .begin = "4",
               .low = 0.5,
               .high = 50,
               .step = 0.5,
               .page = 2,
               .digits = 1 } },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "ids or names of tissues, as in 1,2+3; none: all labels", .option = "label" },
  { "levels", PLA_PARAM_INT, NULL, 0, 8, "3", "tets: doublings of the cell towards the inside" },
  { "smooth_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "null",
    "tets: detail to remove first; without it 0.35 of the cell", .arg = "S" },
  { "round_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0",
    "tets: of one tissue, remove parts and gaps that a ball of this radius does not fit into",
    .arg = "R" },
  { "coarsen", PLA_PARAM_INT, NULL, 0, 8, "0",
    "embed: halvings of the resolution; lattice: doublings of the cell inside", .arg = "K" },
  { "separate", PLA_PARAM_BOOL, NULL, 0, 0, "false", "lattice: do not connect tissues that touch" },
  { "as_tets", PLA_PARAM_BOOL, NULL, 0, 0, "false", "embed: turn hexahedra into tetrahedra" },
  { "embed_surface", PLA_PARAM_ITEM, NULL, 0, 0, "null",
    "lattice, embed: the surface that the mesh carries", .kinds = PLA_ITEM_MESH, .arg = "SURF" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the mesh", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "method", "the method of meshing" },
  { "from", "what was meshed" },
  { "cell_mm", "size of a cell" },
  { "vertices", "number of vertices" },
  { "tets", "number of tetrahedra" },
  { "hexes", "number of hexahedra" },
  { "volume_mm3", "volume of the material" },
  { "cells_volume_mm3", "volume of all cells, which may be filled in part" },
  { "min_dihedral_deg", "smallest angle between faces of a tetrahedron" },
  { "max_dihedral_deg", "largest angle between faces of a tetrahedron" },
  { "inverted", "cells turned inside out" },
  { "components", "pieces that do not touch" },
  { "duplicated_cells", "cells that lie in one place with others" },
  { "winding_violations", "places with another number of layers than the surface winds" },
  { "*", "what the method itself has found" },
  { NULL },
};

const PlaVerb pla_verb_mesh = {
  .name = "mesh",
  .title = "Make Mesh",
  .summary = "fills tissues or a surface with elements",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "mesh",
  .run = run,
};

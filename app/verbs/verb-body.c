/* Body: soft tissue at the accuracy of the scan, in cells of any size, with what holds it. */
#include "anatomy/base/mat3.h"
#include "anatomy/bodies/label-part.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-method.h"
#include "app/verbs/verbs.h"
#include "sim/bodies/body-tissues.h"

#include <string.h>

/* the part of the labels that is asked for; NULL: all of them */
static PlaStatus
crop(PlaWork *work, const PlaLabelMap *labels, PlaLabelMap **out, PlaError *err)
{
  double box_mm[2][3];
  *out = NULL;
  if (pla_work_is_null(work, "box_low_mm") != pla_work_is_null(work, "box_high_mm"))
    return pla_fail(err, PLA_ERR_USAGE, "a box needs both its corners: box_low_mm and box_high_mm");
  if (pla_work_is_null(work, "box_low_mm"))
    return PLA_OK;
  pla_work_point(work, "box_low_mm", box_mm[0]);
  pla_work_point(work, "box_high_mm", box_mm[1]);
  return pla_label_map_crop(labels, box_mm, out, err);
}

/* the tissues that are meshed: those asked for, or all labels with the name of a soft tissue */
static PlaStatus
choose_tissues(PlaWork *work, const PlaLabelMap *map, GArray *ids, GArray *first, PlaError *err)
{
  JsonArray *list = pla_work_list(work, "labels");
  if (json_array_get_length(list) > 0)
    return pla_verb_read_tissues(map, list, ids, first, err);
  PlaBodyTissues tissues;
  PlaStatus st = pla_body_tissues_init(&tissues, map, NULL, PLA_FORMULATION_STANDARD, err);
  if (st == PLA_OK) {
    g_array_append_vals(ids, tissues.id, (guint)tissues.n);
    g_array_append_vals(first, tissues.first, (guint)tissues.n + 1);
  }
  pla_body_tissues_clear(&tissues);
  return st;
}

/* m3 */
static double
tet_volume(const PlaMesh *mesh, int t)
{
  const int *tet = &mesh->tet[4 * (size_t)t];
  double e[3][3], normal[3];
  for (int k = 0; k < 3; k++)
    pla_vec3_sub(&mesh->pos[3 * tet[k + 1]], &mesh->pos[3 * tet[0]], e[k]);
  pla_vec3_cross(e[0], e[1], normal);
  return pla_vec3_dot(normal, e[2]) / 6.0;
}

/* volume of the material of each tissue */
static void
tell_tissues(PlaWork *work, const PlaLabelMap *map, const PlaMesh *mesh, const PlaMeshInput *input)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaField *region = pla_mesh_find_field(mesh, "region", PLA_ON_CELLS);
  const PlaMeshShares shares = pla_mesh_shares(mesh);
  g_autofree double *volume = g_new0(double, PLA_LABEL_IDS);
  for (int t = 0; t < mesh->n_tets; t++) {
    const size_t c = (size_t)mesh->n_tris + (size_t)t;
    volume[((const int *)region->data)[c]] += pla_mesh_share(&shares, c) * tet_volume(mesh, t);
  }
  json_builder_set_member_name(json, "tissues");
  json_builder_begin_array(json);
  for (int g = 0; g < input->n_groups; g++) {
    const int id = input->ids[input->first[g]];
    const PlaLabel *label = pla_label_table_find(&map->table, id);
    g_autofree char *text = pla_quantity_text(PLA_QUANTITY_VOLUME, volume[id], PLA_UNIT_M3);
    json_builder_begin_object(json);
    pla_json_int(json, "label", id);
    pla_json_text(json, "name", label ? label->name : "");
    pla_json_si(json, "volume_mm3", volume[id]);
    json_builder_end_object(json);
    pla_work_say(work, "  %s: %s", label ? label->name : "tissue", text);
  }
  json_builder_end_array(json);
}

static PlaStatus
tell(PlaWork *work, const PlaLabelMap *map, const PlaMeshInput *input, const PlaMeshResult *result,
     PlaError *err)
{
  JsonBuilder *json = pla_work_json(work);
  const PlaMesh *mesh = result->mesh;
  PlaMeshSummary s;
  PlaStatus st = pla_mesh_summary(mesh, &s, err);
  if (st != PLA_OK)
    return st;
  pla_json_int(json, "cells", mesh->n_tets);
  pla_json_int(json, "surfaces", 1);
  pla_json_number(json, "cell_mm", input->cell_mm);
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_si(json, "volume_mm3", s.volume_m3);
  pla_json_si(json, "cells_volume_mm3", s.cells_m3);
  pla_json_int(json, "components", s.components);
  g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, s.volume_m3, PLA_UNIT_M3);
  pla_work_say(work, "%d cells, %d %s, %s", mesh->n_tets, s.components,
               s.components == 1 ? "piece" : "pieces", volume);
  pla_verb_tell_meshing(work, result);
  tell_tissues(work, map, mesh, input);
  return PLA_OK;
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) labels = NULL;
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  g_autoptr(GArray) first = g_array_new(FALSE, FALSE, sizeof(int));
  const PlaMeshMethod *method = NULL;
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  PlaLabelMap *part = NULL;
  pla_mesh_result_init(&result);
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_LABELS, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &labels, err);
  if (st == PLA_OK)
    st = crop(work, labels->labels, &part, err);
  const PlaLabelMap *map = part ? part : st == PLA_OK ? labels->labels : NULL;
  if (st == PLA_OK)
    st = choose_tissues(work, map, ids, first, err);
  if (st == PLA_OK)
    st = pla_mesh_method_find("carved", &method, err);
  if (st == PLA_OK) {
    input.labels = map;
    input.ids = (const int *)(void *)ids->data;
    input.first = (const int *)(void *)first->data;
    input.n_groups = (int)first->len - 1;
    input.cell_mm = pla_work_number(work, "cell_mm");
    input.skin_cell_mm = pla_work_number(work, "skin_cell_mm");
    input.skin_depth_mm = pla_work_number(work, "skin_depth_mm");
    st = pla_mesh_method_run(method, &input, pla_work_progress(work), &result, err);
  }
  if (st == PLA_OK)
    st = tell(work, map, &input, &result, err);
  if (st == PLA_OK) {
    PlaContent *content = pla_content_new(PLA_ITEM_MESH);
    g_autofree char *own_name = g_strdup_printf("%s body", pla_work_item_name(work, item));
    const char *name = pla_work_text(work, "name");
    content->mesh = g_steal_pointer(&result.mesh);
    pla_work_add(work, name ? name : own_name, content);
  }
  pla_mesh_result_clear(&result);
  pla_label_map_free(part);
  return st;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map", .positional = true,
    .kinds = PLA_ITEM_LABELS },
  { "cell_mm", PLA_PARAM_NUMBER, "mm", 0.2, 100, "4", "edge length of a cell", .arg = "H" },
  { "skin_cell_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0",
    "at most this at the skin, by halving cells; 0: as elsewhere", .arg = "H" },
  { "skin_depth_mm", PLA_PARAM_NUMBER, "mm", 0, 1000, "0",
    "how deep below the skin cells are smaller; 0: two of them" },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, "[]",
    "ids or names of soft tissues, as in 1,2+3; none: all labels with the name of one",
    .option = "label" },
  { "box_low_mm", PLA_PARAM_POINT, "mm", 0, 0, "null",
    "lower corner of the part to take, in RAS; none: all" },
  { "box_high_mm", PLA_PARAM_POINT, "mm", 0, 0, "null", "its upper corner" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the body", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "cells", "number of tetrahedra" },
  { "surfaces", "closed surfaces that the cells carry" },
  { "cell_mm", "edge length of a cell" },
  { "vertices", "number of vertices, those of the surface included" },
  { "volume_mm3", "volume of the material" },
  { "cells_volume_mm3", "volume of all cells, which may be filled in part" },
  { "components", "pieces that do not touch" },
  { "surface_vertices", "vertices of the surface" },
  { "surface_triangles", "triangles of the surface" },
  { "lattice_cells", "cells before the body was carved out of them" },
  { "skin_deviation_mm", "largest distance of the skin in the scan from the surface" },
  { "border_triangles", "triangles that border on air, cavities, bone and the end of the scan" },
  { "tissues", "label, name and volume of each tissue" },
  { NULL },
};

const PlaVerb pla_verb_body = {
  .name = "body",
  .title = "Make Body",
  .summary = "makes a body of soft tissue: its surface as in the scan, cells, tissues and borders",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "body",
  .run = run,
};

/* Repair surface: an imported surface welded, oriented and closed. */
#include "anatomy/surface/repair.h"
#include "app/verbs/operations.h"

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) from = NULL;
  PlaRepairReport r = { 0 };
  PlaMesh *mesh = NULL;
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_MESH, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &from, err);
  if (st == PLA_OK && (from->mesh->n_tets > 0 || from->mesh->n_hexes > 0))
    st = pla_fail(err, PLA_ERR_USAGE, "'%s' is a volume mesh; only surfaces can be repaired",
                  pla_work_item_name(work, item));
  if (st == PLA_OK)
    st = pla_surface_repair(from->mesh, pla_work_progress(work), &mesh, &r, err);
  if (st != PLA_OK)
    return st;
  PlaContent *content = pla_content_new(PLA_ITEM_MESH);
  content->mesh = mesh;
  JsonObject *found = json_object_new();
  json_object_set_int_member(found, "welded_vertices", r.welded_verts);
  json_object_set_int_member(found, "dropped_triangles", r.dropped_tris);
  json_object_set_int_member(found, "turned_triangles", r.turned_tris);
  json_object_set_int_member(found, "filled_holes", r.filled_holes);
  json_object_set_int_member(found, "new_triangles", r.new_tris);
  json_object_set_int_member(found, "crowded_edges", r.crowded_edges);
  json_object_set_object_member(content->meta, "repair", found);
  pla_work_replace(work, item, content);
  return PLA_OK;
}

static const PlaOpParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the surface" },
  { NULL },
};

const PlaOperation pla_operation_repair_surface = {
  .verb = "repair-surface",
  .title = "Repair Surface",
  .summary = "welds, orients and closes a surface",
  .params = params,
  .run = run,
};

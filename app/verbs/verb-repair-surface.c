/* Repair surface: an imported surface welded, oriented and closed. */
#include "anatomy/surface/repair.h"
#include "app/verbs/verbs.h"

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
  pla_verb_tell_repair(work, &r);
  pla_work_replace(work, item, content);
  return PLA_OK;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the surface" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "welded_vertices", "vertices joined with others at the same place" },
  { "dropped_triangles", "triangles without area or twice there" },
  { "turned_triangles", "triangles that faced the other way" },
  { "filled_holes", "holes closed" },
  { "new_triangles", "triangles that close them" },
  { "crowded_edges", "edges with more than two triangles" },
  { NULL },
};

const PlaVerb pla_verb_repair_surface = {
  .name = "repair-surface",
  .title = "Repair Surface",
  .summary = "welds, orients and closes a surface",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "repair",
  .run = run,
};

/* Surface: the closed surface of some labels; an imported surface repaired, reduced and checked. */
#include "anatomy/levelset/levelset.h"
#include "anatomy/surface/repair.h"
#include "anatomy/surface/surface.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/verbs.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static void
tell(PlaWork *work, const PlaMesh *mesh, const PlaSurfaceReport *r)
{
  JsonBuilder *json = pla_work_json(work);
  const bool measured = pla_work_bool(work, "measure");
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_int(json, "triangles", mesh->n_tris);
  pla_json_bool(json, "closed", r->closed);
  pla_json_int(json, "components", r->components);
  pla_json_int(json, "self_intersections", r->self_intersections);
  pla_json_int(json, "cap_triangles", r->cap_tris);
  pla_json_number(json, "volume_mm3", r->volume_mm3);
  pla_json_number(json, "label_volume_mm3", r->label_volume_mm3 > 0.0 ? r->label_volume_mm3 : NAN);
  pla_json_number(json, "decimation_mm", r->decimation_mm);
  if (measured) {
    pla_json_number(json, "interface_mm", r->interface_mm);
    pla_json_number(json, "interface_voxels", r->interface_voxels);
  }
  pla_work_say(work,
               "%d triangles, %d vertices, %d %s, %s, %" G_GINT64_FORMAT " self-intersections",
               mesh->n_tris, mesh->n_verts, r->components, r->components == 1 ? "piece" : "pieces",
               r->closed ? "closed" : "open", r->self_intersections);
  g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, r->volume_mm3, PLA_UNIT_MM3);
  g_autofree char *voxels =
      pla_quantity_text(PLA_QUANTITY_VOLUME, r->label_volume_mm3, PLA_UNIT_MM3);
  if (!(r->label_volume_mm3 > 0.0))
    pla_work_say(work, "  volume %s", volume);
  else
    pla_work_say(work, "  volume %s, of the voxels %s (%+.2f %%)", volume, voxels,
                 100.0 * (r->volume_mm3 / r->label_volume_mm3 - 1.0));
  if (r->cap_tris > 0)
    pla_work_say(work, "  %d triangles close it where the volume ends (cell field \"%s\")",
                 r->cap_tris, PLA_SURFACE_CAP);
  if (r->decimation_mm > 0.0)
    pla_work_say(work, "  decimation moved it by at most %.3f mm", r->decimation_mm);
  if (measured)
    pla_work_say(work, "  at most %.3f mm, %.3f voxels, from the voxel faces", r->interface_mm,
                 r->interface_voxels);
}

void
pla_verb_tell_repair(PlaWork *work, const PlaRepairReport *r)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_int(json, "welded_vertices", r->welded_verts);
  pla_json_int(json, "dropped_triangles", r->dropped_tris);
  pla_json_int(json, "turned_triangles", r->turned_tris);
  pla_json_int(json, "filled_holes", r->filled_holes);
  pla_json_int(json, "new_triangles", r->new_tris);
  pla_json_int(json, "crowded_edges", r->crowded_edges);
  pla_work_say(
      work,
      "  repaired: %d vertices welded, %d triangles dropped, %d turned, %d holes filled by %d",
      r->welded_verts, r->dropped_tris, r->turned_tris, r->filled_holes, r->new_tris);
  if (r->crowded_edges > 0)
    pla_work_say(work, "  %d edges have more than two triangles", r->crowded_edges);
}

/* an imported surface: repaired and reduced where asked for, and checked */
static PlaStatus
process(PlaWork *work, const PlaMesh *from, PlaMesh **out, PlaSurfaceReport *report,
        PlaRepairReport *repair, PlaError *err)
{
  PlaProgress *progress = pla_work_progress(work);
  const int n_tris = pla_work_int(work, "triangles");
  PlaMesh *next = NULL;
  if (from->n_tris == 0 || from->n_tets > 0 || from->n_hexes > 0)
    return pla_fail(err, PLA_ERR_USAGE, "it is no surface of triangles");
  if (!pla_work_is_null(work, "labels") || pla_work_bool(work, "measure") ||
      pla_work_bool(work, "distance") || pla_work_number(work, "smooth_mm") > 0.0)
    return pla_fail(err, PLA_ERR_USAGE,
                    "it is a surface already; labels, smoothing, measure and distance are for "
                    "label volumes");
  PlaStatus st = pla_work_bool(work, "repair")
                     ? pla_surface_repair(from, progress, out, repair, err)
                     : pla_mesh_dup(from, out, err);
  if (st == PLA_OK && n_tris > 0 && n_tris < (*out)->n_tris) {
    st = pla_surface_decimate(*out, n_tris, progress, &next, &report->decimation_mm, err);
    if (st == PLA_OK) {
      pla_mesh_free(*out);
      *out = next;
    }
  }
  return st == PLA_OK ? pla_surface_check(*out, progress, report, err) : st;
}

/* the distance from that surface at every voxel of @map, in mm, negative inside, as a volume */
static PlaStatus
make_distance(PlaWork *work, const PlaLabelMap *map, const GArray *ids, PlaVolume **out,
              PlaError *err)
{
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  PlaLevelSet *ls = NULL;
  opts.smooth_mm = pla_work_number(work, "smooth_mm");
  opts.band_mm = INFINITY;
  opts.margin_mm = INFINITY;
  PlaStatus st = pla_levelset_from_labels(map, (const int *)(const void *)ids->data, (int)ids->len,
                                          &opts, pla_work_progress(work), &ls, NULL, err);
  if (st == PLA_OK)
    st = pla_volume_new((const int[4]){ ls->dims[0], ls->dims[1], ls->dims[2], 1 }, PLA_F32, out,
                        err);
  if (st == PLA_OK) {
    memcpy((*out)->affine_mm, ls->affine_mm, sizeof(*out)->affine_mm);
    memcpy((*out)->voxels, ls->phi_mm, pla_levelset_n_voxels(ls) * sizeof *ls->phi_mm);
  }
  pla_levelset_free(ls);
  return st;
}

static PlaStatus
check(JsonObject *params, PlaError *err)
{
  const gint64 n = json_object_get_int_member(params, "triangles");
  return n == 0 || n >= 4 ? PLA_OK
                          : pla_fail(err, PLA_ERR_USAGE,
                                     "a closed surface has at least 4 triangles, not %d", (int)n);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  g_autoptr(PlaContent) from = NULL;
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(int));
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaSurfaceReport report = { 0 };
  PlaRepairReport repair = { 0 };
  PlaMesh *mesh = NULL;
  PlaVolume *distance = NULL;
  opts.smooth_mm = pla_work_number(work, "smooth_mm");
  opts.n_tris = pla_work_int(work, "triangles");
  opts.measure = pla_work_bool(work, "measure");
  PlaStatus st = pla_work_item(work, "item", NULL, &item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, item, &from, err);
  const PlaLabelMap *map = st == PLA_OK ? from->labels : NULL;
  if (st == PLA_OK && map && pla_work_is_null(work, "labels"))
    st = pla_fail(err, PLA_ERR_USAGE,
                  "say which tissue the surface encloses: an id or name of a "
                  "label");
  if (st == PLA_OK && map && pla_work_bool(work, "repair"))
    st = pla_fail(err, PLA_ERR_USAGE, "surfaces of labels need no repair");
  if (st == PLA_OK && map)
    st = pla_verb_read_labels(map, pla_work_list(work, "labels"), ids, err);
  if (st == PLA_OK)
    st = map ? pla_surface_from_labels(map, (const int *)(void *)ids->data, (int)ids->len, &opts,
                                       pla_work_progress(work), &mesh, &report, err)
             : process(work, from->mesh, &mesh, &report, &repair, err);
  if (st == PLA_OK && pla_work_bool(work, "distance"))
    st = make_distance(work, map, ids, &distance, err);
  if (st != PLA_OK) {
    pla_mesh_free(mesh);
    pla_volume_free(distance);
    return st;
  }
  tell(work, mesh, &report);
  if (pla_work_bool(work, "repair"))
    pla_verb_tell_repair(work, &repair);
  PlaContent *content = pla_content_new(PLA_ITEM_MESH);
  content->mesh = mesh;
  const char *of = map ? pla_label_table_find(&map->table, g_array_index(ids, int, 0))->name
                       : pla_work_item_name(work, item);
  g_autofree char *own_name = g_strdup_printf("%s surface", of);
  const char *name = pla_work_text(work, "name");
  pla_work_add(work, name ? name : own_name, content);
  if (distance) {
    PlaContent *volume = pla_content_new(PLA_ITEM_VOLUME);
    volume->volume = distance;
    g_autofree char *distance_name = g_strdup_printf("distance from %s", name ? name : own_name);
    pla_work_add_made(work, "distance", distance_name, volume);
  }
  return PLA_OK;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the label map, or a surface", .positional = true,
    .kinds = PLA_ITEM_LABELS " " PLA_ITEM_MESH },
  { "labels", PLA_PARAM_LIST, NULL, 0, 0, "null",
    "ids or names of the labels to enclose, separated by commas", .option = "label" },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the surface", .option = "" },
  { "smooth_mm", PLA_PARAM_NUMBER, "mm", 0, 100, "0", N_("also remove detail finer than this"),
    .arg = "S",
    .panel = { .title = N_("S_moothing"),
               .spoken = N_("Detail to remove in millimetres"),
               .begin = "1",
               .high = 20,
               .step = 0.5,
               .page = 2,
               .digits = 1 } },
  { "triangles", PLA_PARAM_INT, NULL, 0, 500000000, "0",
    "reduce to this number of triangles; 0 keeps all" },
  { "repair", PLA_PARAM_BOOL, NULL, 0, 0, "false", "weld, orient and close an imported surface" },
  { "measure", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also measure how far it is from the voxel faces" },
  { "distance", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also the distance from it, mm, negative inside, as a volume", .kinds = PLA_ITEM_VOLUME,
    .arg = "VOLUME", .file = true },
  { NULL },
};

static const PlaResultKey results[] = {
  { "vertices", "number of vertices" },
  { "triangles", "number of triangles" },
  { "closed", "whether it has no border" },
  { "components", "pieces that do not touch" },
  { "self_intersections", "pairs of triangles that meet where they should not" },
  { "cap_triangles", "triangles that close it where the volume ends" },
  { "volume_mm3", "volume that it encloses" },
  { "label_volume_mm3", "volume of the voxels" },
  { "decimation_mm", "largest distance that the reduction moved it by" },
  { "interface_mm", "largest distance from the voxel faces, where measured" },
  { "interface_voxels", "the same in voxels" },
  { "welded_vertices", "of a repair" },
  { "dropped_triangles", "of a repair" },
  { "turned_triangles", "of a repair" },
  { "filled_holes", "of a repair" },
  { "new_triangles", "of a repair" },
  { "crowded_edges", "edges with more than two triangles, of a repair" },
  { NULL },
};

const PlaVerb pla_verb_surface = {
  .name = "surface",
  .title = "Make Surface",
  .summary = "makes the closed surface of labels, repairs an imported one",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "surface",
  .check = check,
  .run = run,
};

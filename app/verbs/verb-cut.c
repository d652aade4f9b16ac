/* Cut: a mesh of tetrahedra along triangulated surfaces. */
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/verbs/verbs.h"
#include "sim/bodies/cut-body.h"

static PlaStatus
load_body(PlaWork *work, int64_t *item, PlaContent **out, PlaError *err)
{
  PlaStatus st = pla_work_item(work, "item", PLA_ITEM_MESH, item, err);
  if (st == PLA_OK)
    st = pla_work_load(work, *item, out, err);
  if (st != PLA_OK)
    return st;
  const char *name = pla_work_item_name(work, *item);
  if ((*out)->mesh->n_hexes > 0)
    return pla_fail(err, PLA_ERR_USAGE, "%s has hexes; cut tets, as `mesh --as-tets` makes them",
                    name);
  if ((*out)->mesh->n_tets == 0)
    return pla_fail(err, PLA_ERR_USAGE, "%s has no tets to cut", name);
  return PLA_OK;
}

/* one blade into the mesh */
static PlaStatus
cut_along(PlaWork *work, PlaCutMesh *cut, int64_t item, PlaError *err)
{
  g_autoptr(PlaContent) blade = NULL;
  const char *name = pla_work_item_name(work, item);
  PlaCutReport report;
  PlaStatus st = pla_work_load(work, item, &blade, err);
  if (st == PLA_OK && blade->mesh->n_tris == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has no triangles to cut along", name);
  if (st != PLA_OK)
    return st;
  const PlaTriMesh tris = pla_mesh_tris(blade->mesh);
  st = pla_cut_mesh_cut(cut, &tris, pla_work_progress(work), &report, NULL, err);
  if (st == PLA_ERR_CANCELLED)
    return st;
  if (st != PLA_OK)
    pla_fail_within(err, "%s", name);
  else if (report.n_touched == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade %s does not reach the body %s", name,
                  pla_work_text(work, "item"));
  else
    pla_work_say(work, "%s: %d tets reached, %d copies", name, report.n_touched, report.n_new_tets);
  return st;
}

static double
material_mm3(const PlaCutMesh *cut)
{
  const int n = pla_cut_mesh_get(cut).mesh.n_tets;
  g_autofree double *volume = g_new(double, (gsize)n);
  double sum = 0.0;
  pla_cut_mesh_volumes(cut, volume);
  for (int t = 0; t < n; t++)
    sum += volume[t];
  return sum * 1e9;
}

static void
tell(PlaWork *work, int n_pieces, int n_tets_before, double before_mm3, double after_mm3,
     const PlaMesh *mesh, const PlaMesh *surface)
{
  JsonBuilder *json = pla_work_json(work);
  pla_json_int(json, "pieces", n_pieces);
  pla_json_int(json, "tets_before", n_tets_before);
  pla_json_int(json, "tets_after", mesh->n_tets);
  pla_json_int(json, "vertices", mesh->n_verts);
  pla_json_number(json, "volume_before_mm3", before_mm3);
  pla_json_number(json, "volume_after_mm3", after_mm3);
  pla_json_int(json, "surface_triangles", surface->n_tris);
  g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, after_mm3, PLA_UNIT_MM3);
  pla_work_say(work, "%d %s, %d tets (%d before), %s, %d triangles on the surface", n_pieces,
               n_pieces == 1 ? "piece" : "pieces", mesh->n_tets, n_tets_before, volume,
               surface->n_tris);
}

static const char *
add_mesh(PlaWork *work, const char *name, PlaMesh **mesh)
{
  PlaContent *content = pla_content_new(PLA_ITEM_MESH);
  content->mesh = g_steal_pointer(mesh);
  return pla_work_add(work, name, content);
}

static PlaStatus
run(PlaWork *work, PlaError *err)
{
  int64_t item;
  int n_blades, n_pieces = 0;
  double before = 0.0;
  g_autoptr(PlaContent) body = NULL;
  g_autofree int64_t *blade = pla_work_items(work, "blades", &n_blades);
  PlaProgress *progress = pla_work_progress(work);
  PlaCutMesh *cut = NULL;
  PlaMesh *mesh = NULL, *surface = NULL;
  PlaStatus st = load_body(work, &item, &body, err);
  if (st == PLA_OK) {
    const PlaTetMesh tets = pla_mesh_tets(body->mesh);
    st = pla_cut_mesh_new(&tets, &cut, err);
  }
  pla_progress_phase(progress, "Cutting", 1.0);
  if (st == PLA_OK)
    before = material_mm3(cut);
  for (int i = 0; st == PLA_OK && i < n_blades; i++) {
    st = cut_along(work, cut, blade[i], err);
    pla_progress_step(progress, (double)(i + 1) / n_blades);
  }
  if (st == PLA_OK)
    st = pla_cut_to_mesh(cut, body->mesh, &mesh, &n_pieces, err);
  if (st == PLA_OK)
    st = pla_cut_to_surface(cut, NULL, &surface, err);
  if (st == PLA_OK) {
    g_autofree char *own_name = g_strdup_printf("%s, cut", pla_work_item_name(work, item));
    const char *name = pla_work_text(work, "name");
    tell(work, n_pieces, body->mesh->n_tets, before, material_mm3(cut), mesh, surface);
    const char *given = add_mesh(work, name ? name : own_name, &mesh);
    g_autofree char *skin = g_strdup_printf("%s surface", given);
    if (pla_work_bool(work, "surface"))
      add_mesh(work, skin, &surface);
  }
  pla_mesh_free(mesh);
  pla_mesh_free(surface);
  pla_cut_mesh_free(cut);
  return st;
}

static const PlaVerbParam params[] = {
  { "item", PLA_PARAM_ITEM, NULL, 0, 0, NULL, "the mesh of tetrahedra", .positional = true,
    .kinds = PLA_ITEM_MESH },
  { "blades", PLA_PARAM_ITEMS, NULL, 1, 10000, NULL,
    "surface of triangles to cut along, open or closed", .kinds = PLA_ITEM_MESH, .option = "blade",
    .arg = "SURF" },
  { "surface", PLA_PARAM_BOOL, NULL, 0, 0, "false",
    "also make the skin and the wounds as a closed surface", .kinds = PLA_ITEM_MESH, .arg = "SURF",
    .file = true },
  { "name", PLA_PARAM_TEXT, NULL, 1, 200, "null", "name of the cut mesh", .option = "" },
  { NULL },
};

static const PlaResultKey results[] = {
  { "pieces", "pieces that do not touch" },
  { "tets_before", "tets of the mesh before all cuts" },
  { "tets_after", "tets with their copies" },
  { "vertices", "vertices of the cut mesh" },
  { "volume_before_mm3", "volume of the material before" },
  { "volume_after_mm3", "volume of the material of all pieces" },
  { "surface_triangles", "triangles of the skin and the wounds" },
  { NULL },
};

const PlaVerb pla_verb_cut = {
  .name = "cut",
  .title = "Cut Mesh",
  .summary = "cuts a tet mesh along triangulated surfaces",
  .params = params,
  .results = results,
  .makes = PLA_ITEM_MESH,
  .keeps = "cut",
  .run = run,
};

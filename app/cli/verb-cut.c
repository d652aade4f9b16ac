/* `cut`: a tet mesh along triangulated surfaces. */
#include "app/base/quantity.h"
#include "app/cli/cli-private.h"
#include "app/surgery/cutting.h"
#include "io/formats/format.h"

#include <glib.h>

static PlaStatus
read_mesh(PlaInvocation *inv, const char *path, PlaItem *item, PlaError *err)
{
  PlaReadOptions read = pla_read_options_default();
  read.progress = pla_invocation_progress(inv);
  PlaStatus st = pla_item_read(path, &read, item, err);
  if (st == PLA_OK && item->kind != PLA_KIND_MESH)
    st = pla_fail(err, PLA_ERR_USAGE, "%s is a %s, not a mesh", path, pla_kind_name(item->kind));
  return st;
}

static PlaStatus
read_body(PlaInvocation *inv, PlaItem *item, PlaError *err)
{
  const char *path = pla_invocation_file(inv, 0);
  PlaStatus st = read_mesh(inv, path, item, err);
  if (st == PLA_OK && item->mesh->n_hexes > 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has hexes; cut tets, as `mesh --as-tets` makes them",
                  path);
  if (st == PLA_OK && item->mesh->n_tets == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has no tets to cut", path);
  return st;
}

/* one blade into the mesh; *seconds and the triangles of the report grow */
static PlaStatus
cut_along(PlaInvocation *inv, PlaCutMesh *cut, const char *path, double *seconds, PlaError *err)
{
  PlaItem blade = { 0 };
  PlaCutReport report;
  PlaStatus st = read_mesh(inv, path, &blade, err);
  if (st == PLA_OK && blade.mesh->n_tris == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "%s has no triangles to cut along", path);
  if (st == PLA_OK) {
    PlaTriMesh tris = pla_mesh_tris(blade.mesh);
    st = pla_cut_mesh_cut(cut, &tris, pla_invocation_progress(inv), &report, NULL, err);
    if (st != PLA_OK && st != PLA_ERR_CANCELLED)
      pla_fail_within(err, "%s", path);
  }
  if (st == PLA_OK && report.n_touched == 0)
    st = pla_fail(err, PLA_ERR_EMPTY, "the blade %s does not reach the body %s", path,
                  pla_invocation_file(inv, 0));
  if (st == PLA_OK) {
    *seconds += report.seconds[3];
    pla_say(inv, "%s: %d tets reached, %d copies", path, report.n_touched, report.n_new_tets);
  }
  pla_item_clear(&blade);
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

static PlaStatus
run_cut(PlaInvocation *inv, PlaError *err)
{
  const char *surface_path = pla_invocation_text(inv, "surface", 0, NULL);
  const int n_blades = pla_invocation_count(inv, "blade");
  PlaProgress *progress = pla_invocation_progress(inv);
  PlaItem body = { 0 };
  PlaCutMesh *cut = NULL;
  PlaMesh *mesh = NULL, *surface = NULL;
  double seconds = 0.0, before = 0.0;
  int n_bodies = 0;
  const PlaFormat *format;
  PlaStatus st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && surface_path)
    st = pla_format_for_output(surface_path, PLA_KIND_MESH, &format, err);
  if (st == PLA_OK && n_blades == 0)
    st = pla_fail(err, PLA_ERR_USAGE, "name a surface to cut along: --blade SURF");
  pla_progress_phase(progress, "Reading", 0.2);
  if (st == PLA_OK)
    st = read_body(inv, &body, err);
  if (st == PLA_OK) {
    PlaTetMesh tets = pla_mesh_tets(body.mesh);
    st = pla_cut_mesh_new(&tets, &cut, err);
    if (st != PLA_OK)
      pla_fail_within(err, "%s", pla_invocation_file(inv, 0));
  }
  pla_progress_phase(progress, "Cutting", 0.8);
  if (st == PLA_OK)
    before = material_mm3(cut);
  for (int i = 0; st == PLA_OK && i < n_blades; i++) {
    st = cut_along(inv, cut, pla_invocation_text(inv, "blade", i, NULL), &seconds, err);
    pla_progress_step(progress, (double)(i + 1) / n_blades);
  }
  if (st == PLA_OK)
    st = pla_cut_to_mesh(cut, body.mesh, &mesh, &n_bodies, err);
  if (st == PLA_OK)
    st = pla_cut_to_surface(cut, NULL, &surface, err);
  pla_progress_phase(progress, "Writing", 1.0);
  if (st == PLA_OK)
    st = pla_invocation_write_mesh(inv, pla_invocation_output(inv), mesh, err);
  if (st == PLA_OK && surface_path)
    st = pla_invocation_write_mesh(inv, surface_path, surface, err);
  if (st == PLA_OK) {
    JsonBuilder *json = pla_invocation_json(inv);
    double after = material_mm3(cut);
    pla_json_int(json, "pieces", n_bodies);
    pla_json_int(json, "tets_before", body.mesh->n_tets);
    pla_json_int(json, "tets_after", mesh->n_tets);
    pla_json_int(json, "vertices", mesh->n_verts);
    pla_json_number(json, "volume_before_mm3", before);
    pla_json_number(json, "volume_after_mm3", after);
    pla_json_int(json, "surface_triangles", surface->n_tris);
    pla_json_number(json, "seconds", seconds);
    g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, after, PLA_UNIT_MM3);
    pla_say(inv, "%d %s, %d tets (%d before), %s, %d triangles on the surface", n_bodies,
            n_bodies == 1 ? "piece" : "pieces", mesh->n_tets, body.mesh->n_tets, volume,
            surface->n_tris);
  }
  pla_mesh_free(mesh);
  pla_mesh_free(surface);
  pla_cut_mesh_free(cut);
  pla_item_clear(&body);
  return st;
}

static const PlaOpt options[] = {
  { "blade", 0, PLA_OPT_TEXT, "SURF", "surface of triangles to cut along, open or closed", 0, 0,
    true },
  { "surface", 0, PLA_OPT_OUTPUT, "SURF",
    "also write the skin and the wounds as a closed surface" },
  { NULL },
};

const PlaVerb pla_verb_cut = {
  .name = "cut",
  .args = "MESH --blade SURF -o OUT.vtu",
  .summary = "cuts a tet mesh along triangulated surfaces",
  .description =
      "Tets are never divided: a tet that the blade separates is duplicated, once for each\n"
      "piece of material in it, so the mesh keeps its quality.  The cell field \"fraction\" is\n"
      "the share of a tet that is material, \"body\" the connected piece that it belongs to,\n"
      "\"source_tet\" the tet that it comes from; other fields are carried over.  A blade that\n"
      "ends inside a tet leaves it whole.  Blades may touch, cross and repeat each other, and\n"
      "may pass through vertices, edges and faces of the mesh; their order does not matter.",
  .example = "platysma-cli cut cheek.vtu --blade incision.stl -o cut.vtu --surface wound.vtp",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_cut,
};

/* Hexahedral embedding of a surface that may run through itself. */
#include "anatomy/embed/hex-embed.h"
#include "anatomy/surface/surface.h"
#include "app/base/json.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-methods.h"

#include <glib/gi18n.h>
#include <math.h>

static PlaStatus
surface_of_labels(const PlaMeshInput *input, PlaProgress *progress, PlaMesh **out, PlaError *err)
{
  PlaSurfaceOptions opts = pla_surface_options_default();
  opts.smooth_mm = fmax(input->smooth_mm, 0.0);
  pla_progress_phase(progress, "Making the surface", 0.4);
  PlaProgressSpan span = pla_progress_push(progress);
  PlaStatus st = pla_surface_from_labels(input->labels, input->ids, input->first[input->n_groups],
                                         &opts, progress, out, NULL, err);
  pla_progress_pop(progress, span);
  return st;
}

/* points of the surface that is carried, in hexes.surface */
static PlaStatus
carry_other(const PlaMesh *body, const PlaMesh *carried, PlaHexEmbed *hexes, PlaError *err)
{
  const PlaTriMesh tris = pla_mesh_tris(body);
  PlaEmbedding points;
  PlaStatus st = pla_hex_embed_points(hexes, &tris, carried->n_verts, carried->pos, &points, err);
  if (st == PLA_OK) {
    pla_embedding_clear(&hexes->surface);
    hexes->surface = points;
  }
  return st;
}

static void
report(const PlaHexEmbed *hexes, const PlaHexEmbedReport *r, const PlaMesh *carried,
       double enclosed_mm3, PlaMeshResult *out)
{
  out->duplicated_cells = r->duplicated_cells;
  out->winding_violations = r->winding_violations;
  pla_json_set_si(out->found, "final_cell_mm", hexes->cell_m);
  json_object_set_int_member(out->found, "crossed_cells", r->crossed_cells);
  json_object_set_int_member(out->found, "regions", r->regions);
  json_object_set_int_member(out->found, "joined_copies", r->joined_copies);
  json_object_set_int_member(out->found, "repaired_copies", r->repaired_copies);
  json_object_set_int_member(out->found, "unresolved_nodes", r->unresolved_nodes);
  json_object_set_int_member(out->found, "thin_cells", r->thin_cells);
  json_object_set_int_member(out->found, "topology_defects", pla_hex_topology_defects(r));
  json_object_set_int_member(out->found, "surface_vertices", carried->n_verts);
  json_object_set_int_member(out->found, "surface_triangles", carried->n_tris);
  json_object_set_double_member(out->found, "enclosed_mm3", enclosed_mm3);
  g_autofree char *volume = pla_quantity_text(PLA_QUANTITY_VOLUME, enclosed_mm3, PLA_UNIT_MM3);
  g_ptr_array_add(out->lines,
                  g_strdup_printf("cells of %g %s, %d of them with several layers; the surface "
                                  "encloses %s, each layer counted",
                                  pla_unit_convert(hexes->cell_m, PLA_UNIT_M, PLA_UNIT_MM),
                                  pla_unit_symbol(PLA_UNIT_MM), r->duplicated_cells, volume));
  g_ptr_array_add(out->lines,
                  g_strdup_printf("layers checked against the winding number: %d violations",
                                  r->winding_violations));
  if (r->repaired_copies > 0)
    g_ptr_array_add(out->lines, g_strdup_printf("%d layers added where a body lies inside another",
                                                r->repaired_copies));
  if (r->unresolved_nodes > 0)
    g_ptr_array_add(out->lines,
                    g_strdup_printf("%d grid points lie in overlaps too small for this cell, which "
                                    "may be glued there; a smaller cell tells them apart",
                                    r->unresolved_nodes));
  if (r->thin_cells > 0)
    g_ptr_array_add(out->lines,
                    g_strdup_printf("%d cells are thicker than the body; its two faces share them",
                                    r->thin_cells));
  if (pla_hex_topology_defects(r) > 0)
    g_ptr_array_add(
        out->lines,
        g_strdup_printf("%d holes, pockets or bridges more or fewer than the surface has: "
                        "detail and folds too small for this cell",
                        pla_hex_topology_defects(r)));
  g_ptr_array_add(out->lines,
                  g_strdup_printf("carries a surface of %d triangles", carried->n_tris));
}

static PlaStatus
run(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out, PlaError *err)
{
  PlaHexEmbedOptions opts = pla_hex_embed_options_default();
  PlaHexEmbedReport r = { 0 };
  PlaHexEmbed hexes = { 0 };
  PlaEmbedding points = { 0 };
  PlaMesh *own = NULL, *tets = NULL;
  PlaMeshSummary summary = { 0 };
  PlaStatus st = input->labels ? surface_of_labels(input, progress, &own, err) : PLA_OK;
  const PlaMesh *body = input->surface ? input->surface : own;
  const PlaMesh *carried = input->embed_surface ? input->embed_surface : body;
  opts.cell_m = input->cell_mm / 1000.0;
  opts.coarsen = input->coarsen;
  if (st == PLA_OK && !pla_progress_phase(progress, "Embedding the surface", 0.8))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK) {
    const PlaTriMesh tris = pla_mesh_tris(body);
    PlaProgressSpan span = pla_progress_push(progress);
    st = pla_hex_embed(&tris, &opts, progress, &hexes, &r, err);
    pla_progress_pop(progress, span);
    if (st == PLA_OK)
      st = pla_hex_embed_fill(&hexes, &tris, err);
  }
  if (st == PLA_OK && !pla_progress_phase(progress, "Tying the surface to it", 1.0))
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && input->embed_surface)
    st = carry_other(body, carried, &hexes, err);
  if (st == PLA_OK && input->as_tets)
    st = pla_hex_embed_tets(&hexes, progress, &tets, &points, err);
  if (st == PLA_OK)
    st = pla_hex_carry_surface(tets ? tets : hexes.mesh, carried, tets ? &points : &hexes.surface,
                               &out->mesh, err);
  if (st == PLA_OK)
    st = pla_mesh_summary(body, &summary, err);
  if (st == PLA_OK)
    report(&hexes, &r, carried, summary.volume_m3 * 1e9, out);
  pla_embedding_clear(&points);
  pla_mesh_free(tets);
  pla_hex_embed_clear(&hexes);
  pla_mesh_free(own);
  return st;
}

const PlaMeshMethod pla_mesh_method_embed = {
  .name = "embed",
  .summary = "cubes that carry the surface, one layer for each part that overlaps there",
  .title = N_("Cubes"),
  .about = N_("Equal cubes around the tissues, which they carry."),
  .takes_labels = true,
  .takes_surfaces = true,
  .run = run,
};

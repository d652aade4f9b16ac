/* Meshing method `tets`: conforming tetrahedra of one or several tissues, without loose crumbs. */
#include "anatomy/mesh/tet-locator.h"
#include "anatomy/mesher/pieces.h"
#include "anatomy/mesher/tets.h"
#include "app/base/quantity.h"
#include "app/simulate/mesh-methods.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>

/* A piece of fewer is not two and a half cells across.  Where thin parts fall apart at the size of
 * the cells, such crumbs would lie beside the body, held by nothing. */
enum { CRUMB_TETS = 150 };

static PlaStatus
leave_out_crumbs(PlaMeshResult *out, PlaTetReport *r, PlaError *err)
{
  int *across = NULL, n = 0;
  PlaStatus st = pla_mesh_keep_pieces(&out->mesh, 0.0, CRUMB_TETS, &n, err);
  if (st != PLA_OK || n == 0)
    return st;
  const PlaTetMesh tets = pla_mesh_tets(out->mesh);
  st = pla_tet_neighbours(&tets, &across, err);
  if (st != PLA_OK)
    return st;
  r->boundary_tris = 0;
  for (size_t k = 0; k < 4 * (size_t)tets.n_tets; k++)
    r->boundary_tris += across[k] < 0;
  free(across);
  json_object_set_int_member(out->found, "left_out_pieces", n);
  g_ptr_array_add(out->lines,
                  g_strdup_printf(n == 1 ? "%d piece too small for the cells was left out"
                                         : "%d pieces too small for the cells were left out",
                                  n));
  return PLA_OK;
}

static PlaStatus
run(const PlaMeshInput *input, PlaProgress *progress, PlaMeshResult *out, PlaError *err)
{
  PlaTetOptions opts = pla_tet_options_default();
  PlaTetReport r = { 0 };
  opts.cell_mm = input->cell_mm;
  opts.levels = input->levels;
  opts.smooth_mm = input->smooth_mm;
  opts.round_mm = input->round_mm;
  PlaStatus st;
  if (input->surface)
    st = pla_tets_from_surface(input->surface, &opts, progress, &out->mesh, &r, err);
  else
    st = pla_tets_from_labels(input->labels, input->ids, input->first, input->n_groups, &opts,
                              progress, &out->mesh, &r, err);
  if (st == PLA_OK)
    st = leave_out_crumbs(out, &r, err);
  if (st != PLA_OK)
    return st;
  json_object_set_int_member(out->found, "boundary_triangles", r.boundary_tris);
  g_ptr_array_add(out->lines, g_strdup_printf("dihedral angles %.1f to %.1f degrees, %d inverted",
                                              r.min_dihedral_deg, r.max_dihedral_deg, r.inverted));
  if (isfinite(r.facet_mm)) {
    json_object_set_double_member(out->found, "boundary_vertex_mm", r.vertex_mm);
    json_object_set_double_member(out->found, "boundary_facet_mm", r.facet_mm);
    json_object_set_double_member(out->found, "boundary_facet_p99_mm", r.facet_p99_mm);
    g_autofree char *vertex = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, r.vertex_mm, PLA_UNIT_MM);
    g_autofree char *facet = pla_quantity_text(PLA_QUANTITY_FINE_LENGTH, r.facet_mm, PLA_UNIT_MM);
    g_ptr_array_add(out->lines, g_strdup_printf("outer vertices within %s of the surface, faces "
                                                "within %s",
                                                vertex, facet));
    json_object_set_double_member(out->found, "room_mm3", r.room_mm3);
    json_object_set_int_member(out->found, "moved_triangles", r.stray_tris);
    if (r.stray_tris > 0)
      g_ptr_array_add(out->lines,
                      g_strdup_printf("where parts or gaps are too thin for the cells, %d of %d "
                                      "outer faces are more than a quarter of a cell off",
                                      r.stray_tris, r.boundary_tris));
  }
  return PLA_OK;
}

const PlaMeshMethod pla_mesh_method_tets = {
  .name = "tets",
  .summary = "conforming tetrahedra, fine at surfaces and coarse inside",
  .title = N_("Tetrahedra"),
  .about = N_("Tetrahedra that follow the borders of tissues, small there and larger inside."),
  .takes_labels = true,
  .takes_surfaces = true,
  .run = run,
};

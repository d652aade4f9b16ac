/* Conforming tetrahedra. */
#include "anatomy/mesher/tets.h"
#include "app/methods/methods.h"

#include <math.h>

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
  if (st != PLA_OK)
    return st;
  json_object_set_int_member(out->found, "boundary_triangles", r.boundary_tris);
  g_ptr_array_add(out->lines, g_strdup_printf("dihedral angles %.1f to %.1f degrees, %d inverted",
                                              r.min_dihedral_deg, r.max_dihedral_deg, r.inverted));
  if (isfinite(r.facet_mm)) {
    json_object_set_double_member(out->found, "boundary_vertex_mm", r.vertex_mm);
    json_object_set_double_member(out->found, "boundary_facet_mm", r.facet_mm);
    json_object_set_double_member(out->found, "boundary_facet_p99_mm", r.facet_p99_mm);
    g_ptr_array_add(
        out->lines,
        g_strdup_printf("outer vertices within %.3f mm of the surface, faces within %.3f mm",
                        r.vertex_mm, r.facet_mm));
    json_object_set_double_member(out->found, "room_mm3", r.room_mm3);
    json_object_set_double_member(out->found, "boundary_facet_given_mm", r.facet_mm);
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
  .takes_labels = true,
  .takes_surfaces = true,
  .run = run,
};

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
    g_ptr_array_add(
        out->lines,
        g_strdup_printf("outer vertices within %.3f mm of the surface, faces within %.3f mm",
                        r.vertex_mm, r.facet_mm));
    json_object_set_double_member(out->found, "room_mm3", r.room_mm3);
    json_object_set_double_member(out->found, "boundary_facet_given_mm", r.facet_given_mm);
    json_object_set_int_member(out->found, "moved_triangles", r.moved_tris);
    if (r.room_mm3 > 0.0)
      g_ptr_array_add(
          out->lines,
          g_strdup_printf(
              "%.3f ml added where parts or gaps were too thin for the cells: there %d of "
              "%d outer faces are more than a quarter of a cell, up to %.3f mm, from the "
              "surface before that",
              r.room_mm3 / 1000.0, r.moved_tris, r.boundary_tris, r.facet_given_mm));
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

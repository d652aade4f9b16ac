/* A surface can be printed when it is closed, does not intersect itself (exact test) and
 * encloses a positive volume. */
#include "app/show/print-check.h"

#include "anatomy/mesh/tri-tree.h"
#include "app/base/quantity.h"

#include <glib.h>

PlaStatus
pla_print_check(const PlaMesh *mesh, PlaProgress *progress, PlaPrintCheck *out, PlaError *err)
{
  PlaMeshSummary sum;
  PlaTriTree *tree = NULL;
  const PlaTriMesh tris = pla_mesh_tris(mesh);
  *out = (PlaPrintCheck){ 0 };
  if (mesh->n_tets + mesh->n_hexes > 0)
    return pla_fail(err, PLA_ERR_UNSUPPORTED,
                    "a mesh of tetrahedra or hexahedra is not printed: make a surface first");
  if (mesh->n_tris == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "there is no surface");
  PlaStatus st = pla_mesh_summary(mesh, &sum, err);
  if (st == PLA_OK)
    st = pla_tri_tree_new(&tris, &tree, err);
  if (st == PLA_OK)
    st = pla_self_intersections(tree, progress, &out->self_intersections, NULL, err);
  pla_tri_tree_free(tree);
  if (st != PLA_OK)
    return st;
  out->closed = sum.closed;
  out->components = sum.components;
  out->volume_mm3 = sum.closed ? pla_unit_convert(sum.volume_m3, PLA_UNIT_M3, PLA_UNIT_MM3) : 0.0;
  for (int d = 0; d < 3; d++)
    out->size_mm[d] = pla_unit_convert(sum.hi_m[d] - sum.lo_m[d], PLA_UNIT_M, PLA_UNIT_MM);
  out->ready = sum.closed && out->self_intersections == 0 && out->volume_mm3 > 0.0;
  return PLA_OK;
}

char *
pla_print_check_text(const PlaPrintCheck *self)
{
  GString *text = g_string_new(self->closed ? "Closed" : "Open");
  if (self->components == 1)
    g_string_append(text, ", one piece");
  else
    g_string_append_printf(text, ", %d pieces", self->components);
  if (self->self_intersections > 0)
    g_string_append_printf(text, ", %" G_GINT64_FORMAT " pairs of triangles run through each other",
                           (gint64)self->self_intersections);
  g_autofree char *volume =
      pla_quantity_text(PLA_QUANTITY_LISTED_VOLUME, self->volume_mm3, PLA_UNIT_MM3);
  g_autofree char *size = pla_quantity_size_text(PLA_QUANTITY_EXTENT, self->size_mm, PLA_UNIT_MM);
  if (self->closed)
    g_string_append_printf(text, ", %s", volume);
  g_string_append_printf(text, ", %s: %s", size,
                         self->ready ? "ready to print" : "not ready to print");
  return g_string_free(text, FALSE);
}

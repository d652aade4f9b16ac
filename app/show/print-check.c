/* A surface can be printed when it is closed, does not intersect itself (exact test) and
 * encloses a positive volume. */
#include "app/show/print-check.h"

#include "anatomy/mesh/tri-tree.h"

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
  out->volume_mm3 = sum.closed ? sum.volume_m3 * 1e9 : 0.0;
  for (int d = 0; d < 3; d++)
    out->size_mm[d] = 1000.0 * (sum.hi_m[d] - sum.lo_m[d]);
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
  if (self->closed)
    g_string_append_printf(text, ", %.1f ml", self->volume_mm3 / 1000.0);
  g_string_append_printf(text, ", %.0f × %.0f × %.0f mm: %s", self->size_mm[0], self->size_mm[1],
                         self->size_mm[2], self->ready ? "ready to print" : "not ready to print");
  return g_string_free(text, FALSE);
}

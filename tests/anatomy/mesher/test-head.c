/* The head phantom from labels to surface and tets: coarse, or with PLA_LONG in full. */
#include "anatomy/mesher/tets.h"
#include "anatomy/mesher/tissues.h"
#include "anatomy/mesher/vert-table.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/surface.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

static PlaPhantom phantom;
static double spacing_mm, cell_mm;

static int *
all_labels(int *n)
{
  const PlaLabelTable *table = &phantom.labels->table;
  int *ids = g_new(int, table->n);
  for (int i = 0; i < table->n; i++)
    ids[i] = table->label[i].id;
  *n = table->n;
  return ids;
}

/* closed, without crossings, of the voxels' volume, less than a voxel from their faces */
static void
test_surface(void)
{
  PlaSurfaceOptions opts = pla_surface_options_default();
  PlaSurfaceReport r;
  PlaMesh *mesh;
  PlaError err;
  int n;
  g_autofree int *ids = all_labels(&n);
  opts.measure = true;
  g_assert_cmpint(pla_surface_from_labels(phantom.labels, ids, n, &opts, NULL, &mesh, &r, &err), ==,
                  PLA_OK);
  g_test_message("skin: %d triangles, volume %+.3f %%, %.3f voxels from the voxel faces",
                 mesh->n_tris, 100.0 * (r.volume_mm3 / r.label_volume_mm3 - 1.0),
                 r.interface_voxels);
  g_assert_true(r.closed);
  g_assert_cmpint(r.self_intersections, ==, 0);
  g_assert_cmpfloat(fabs(r.volume_mm3 / r.label_volume_mm3 - 1.0), <, 0.01);
  g_assert_cmpfloat(r.interface_mm, <, spacing_mm);
  g_assert_cmpfloat_with_epsilon(r.interface_voxels, r.interface_mm / spacing_mm, 1e-6);
  pla_mesh_free(mesh);
}

static void
test_tets(void)
{
  PlaTetOptions opts = pla_tet_options_default();
  PlaTetReport r;
  PlaMesh *mesh;
  PlaError err;
  int first[2] = { 0 };
  g_autofree int *ids = all_labels(&first[1]);
  opts.cell_mm = cell_mm;
  g_assert_cmpint(pla_tets_from_labels(phantom.labels, ids, first, 1, &opts, NULL, &mesh, &r, &err),
                  ==, PLA_OK);
  g_test_message(
      "head: %d tets, %.1f to %.1f degrees, vertices %.3f, faces %.3f cells off, %.0f mm3 added",
      mesh->n_tets, r.min_dihedral_deg, r.max_dihedral_deg, r.vertex_mm / cell_mm,
      r.facet_mm / cell_mm, r.room_mm3);
  g_assert_cmpint(r.inverted, ==, 0);
  g_assert_cmpfloat(r.min_dihedral_deg, >=, 10.0);
  g_assert_cmpfloat(r.max_dihedral_deg, <=, 165.0);
  g_assert_cmpfloat(r.vertex_mm, <, 0.1 * cell_mm);
  g_assert_cmpfloat(r.facet_mm, <, 0.25 * cell_mm);
  g_assert_cmpint(r.stray_tris, ==, 0);
  pla_mesh_free(mesh);
}

/* skin with fat and soft tissue, bone, tongue, airway: neither gap nor overlap at any voxel, faces
 * between them shared, and no face twice */
static void
test_tissues(void)
{
  const int first[5] = { 0, 3, 6, 7, 8 };
  const char *names[] = { "skin",     "fat",   "soft tissue", "skull",
                          "mandible", "hyoid", "tongue",      "airway" };
  int ids[8];
  for (int i = 0; i < 8; i++)
    ids[i] = pla_label_table_find_name(&phantom.labels->table, names[i])->id;
  PlaLabelLevelSetOptions smooth = pla_label_levelset_options_default();
  PlaPartition *parts;
  PlaError err;
  smooth.smooth_mm = 0.35 * cell_mm;
  smooth.margin_mm = INFINITY;
  g_assert_cmpint(pla_partition_new(phantom.labels, ids, first, 4, &smooth, NULL, &parts, &err), ==,
                  PLA_OK);
  size_t wrong = 0;
  for (size_t v = 0; v < pla_levelset_n_voxels(parts->rest); v++) {
    int inside = parts->rest->phi_mm[v] < 0.0f;
    for (int g = 0; g < 4; g++)
      inside += parts->group[g]->phi_mm[v] < 0.0f;
    wrong += inside != 1;
  }
  g_assert_cmpint(wrong, ==, 0);

  PlaTetOptions opts = pla_tet_options_default();
  PlaTetReport r;
  PlaMesh *mesh;
  opts.cell_mm = cell_mm;
  const int region[4] = { 1, 2, 3, 4 };
  g_assert_cmpint(pla_tets_from_levelsets((const PlaLevelSet *const *)parts->group, region, 4,
                                          parts->rest, &opts, NULL, &mesh, &r, &err),
                  ==, PLA_OK);
  g_test_message("tissues: %d tets, %.1f to %.1f degrees", mesh->n_tets, r.min_dihedral_deg,
                 r.max_dihedral_deg);
  g_assert_cmpint(r.inverted, ==, 0);
  g_assert_cmpfloat(r.min_dihedral_deg, >=, 4.0);
  g_assert_cmpfloat(r.max_dihedral_deg, <=, 172.0);
  /* no pits where skin over bone is thinner than a cell; between other parts, left out here, the
   * outside is finer than the cells (0.223 cells at 4.5 mm, 0.253 at 1 mm with PLA_LONG) */
  g_test_message("outer faces: 99 in 100 within %.3f cells, all within %.3f",
                 r.facet_p99_mm / cell_mm, r.facet_mm / cell_mm);
  g_assert_cmpfloat(r.facet_p99_mm, <, 0.27 * cell_mm);
  g_assert_cmpfloat(r.facet_mm, <, 0.5 * cell_mm);

  /* a face of one tet alone must have the rest beyond it: anything else is a gap between tissues */
  const PlaTissues tissues = { 4, (const PlaLevelSet *const *)parts->group, parts->rest };
  PlaVertTable faces;
  g_assert_true(pla_vert_table_init(&faces, 4 * (size_t)mesh->n_tets));
  for (int t = 0; t < mesh->n_tets; t++)
    for (int f = 0; f < 4; f++) {
      int key[3], n = 0;
      PlaVertSlot *slot;
      for (int c = 0; c < 4; c++)
        if (c != f)
          key[n++] = mesh->tet[4 * (size_t)t + c];
      pla_sort3(key);
      g_assert_true(pla_vert_table_add(&faces, key, &slot));
      slot->value = slot->value == -1 ? 1 : slot->value + 1;
    }
  int outer = 0, astray = 0;
  for (size_t i = 0; i <= faces.mask; i++) {
    const PlaVertSlot *slot = &faces.slot[i];
    if (slot->key[1] < 0)
      continue;
    g_assert_cmpint(slot->value, <=, 2);
    if (slot->value == 2)
      continue;
    double x[3] = { 0 };
    for (int c = 0; c < 3; c++)
      for (int d = 0; d < 3; d++)
        x[d] += 1000.0 * mesh->pos[3 * (size_t)slot->key[c] + d] / 3.0;
    outer++;
    astray += fabs(pla_tissue_value(&tissues, 0, x)) > 0.5 * cell_mm;
  }
  g_test_message("%d outer faces, %d further than half a cell from the outside", outer, astray);
  g_assert_cmpint(outer, ==, r.boundary_tris);
  g_assert_cmpint(100 * astray, <, outer);
  free(faces.slot);
  pla_mesh_free(mesh);
  pla_partition_free(parts);
}

int
main(int argc, char **argv)
{
  PlaError err;
  g_test_init(&argc, &argv, NULL);
  spacing_mm = g_getenv("PLA_LONG") ? 1.0 : g_getenv("PLA_SMALL") ? 6.0 : 4.5;
  cell_mm = g_getenv("PLA_LONG") ? 4.0 : 3.0 * spacing_mm;
  if (pla_phantom_make("head", spacing_mm, NULL, &phantom, &err) != PLA_OK)
    g_error("%s", err.message);
  g_test_add_func("/head/surface", test_surface);
  g_test_add_func("/head/tets", test_tets);
  g_test_add_func("/head/tissues", test_tissues);
  const int failed = g_test_run();
  pla_phantom_clear(&phantom);
  return failed;
}

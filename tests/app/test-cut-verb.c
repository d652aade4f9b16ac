/* `platysma-cli cut` from file to file: keys, fields that are carried, refusals. */
#include "anatomy/box-mesh.h"
#include "io/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

static void
write_mesh(const char *path, PlaMesh *mesh)
{
  const PlaItem item = { .kind = PLA_KIND_MESH, .mesh = mesh };
  PlaWriteOptions write = pla_write_options_default();
  PlaError err = { 0 };
  if (pla_item_write(path, &item, &write, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_mesh_free(mesh);
}

/* 60 x 40 x 20 mm, tagged by cell number and with a temperature at its vertices */
static void
write_block(const char *path)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.06, 0.04, 0.02 };
  const int n[3] = { 6, 4, 2 };
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, &err), ==, PLA_OK);
  int *tag = pla_mesh_add_field(mesh, "tag", PLA_ON_CELLS, PLA_I32, 1);
  double *warm = pla_mesh_add_field(mesh, "warm", PLA_ON_VERTS, PLA_F64, 1);
  for (int t = 0; t < mesh->n_tets; t++)
    tag[t] = 1000 + t;
  for (int v = 0; v < mesh->n_verts; v++)
    warm[v] = mesh->pos[3 * v];
  write_mesh(path, mesh);
}

/* the triangle through x (m) across everything */
static void
write_blade(const char *path, double x)
{
  PlaMesh *mesh = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(3, 1, 0, 0, &mesh, &err), ==, PLA_OK);
  const double pos[9] = { x, -0.2, -0.2, x, 0.4, -0.2, x, 0.0, 0.5 };
  const int tri[3] = { 0, 1, 2 };
  memcpy(mesh->pos, pos, sizeof pos);
  memcpy(mesh->tri, tri, sizeof tri);
  write_mesh(path, mesh);
}

static void
test_files(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-cut-XXXXXX", NULL);
  g_autofree char *body = g_build_filename(folder, "block.vtu", NULL);
  g_autofree char *first = g_build_filename(folder, "first.stl", NULL);
  g_autofree char *second = g_build_filename(folder, "second.stl", NULL);
  g_autofree char *far = g_build_filename(folder, "far.stl", NULL);
  g_autofree char *out = g_build_filename(folder, "cut.vtu", NULL);
  g_autofree char *skin = g_build_filename(folder, "skin.vtp", NULL);
  write_block(body);
  write_blade(first, 0.025);
  write_blade(second, 0.0372);
  write_blade(far, 0.1);

  g_autofree char *words = g_strdup_printf("cut %s --blade %s --blade %s -o %s --surface %s", body,
                                           first, second, out, skin);
  JsonObject *o = verb_test_run(words, 0);
  g_assert_cmpint(json_object_get_int_member(o, "pieces"), ==, 3);
  g_assert_cmpint(json_object_get_int_member(o, "tets_before"), ==, 240);
  g_assert_cmpint(json_object_get_int_member(o, "tets_after"), ==, 320);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(o, "volume_before_mm3"), 48000,
                                 1e-6);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(o, "volume_after_mm3"), 48000, 1e-3);
  g_assert_true(json_object_has_member(o, "seconds"));
  gint64 n_tris = json_object_get_int_member(o, "surface_triangles");
  json_object_unref(o);

  PlaReadOptions read = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  g_assert_cmpint(pla_item_read(out, &read, &item, &err), ==, PLA_OK);
  const PlaMesh *m = item.mesh;
  const PlaField *tag = pla_mesh_find_field(m, "tag", PLA_ON_CELLS);
  const PlaField *source = pla_mesh_find_field(m, "source_tet", PLA_ON_CELLS);
  const PlaField *warm = pla_mesh_find_field(m, "warm", PLA_ON_VERTS);
  g_assert_true(tag && source && warm && pla_mesh_find_field(m, "fraction", PLA_ON_CELLS));
  for (int t = 0; t < m->n_tets; t++)
    g_assert_cmpint(((int *)tag->data)[t], ==, 1000 + ((int *)source->data)[t]);
  for (int v = 0; v < m->n_verts; v++)
    g_assert_cmpfloat_with_epsilon(((double *)warm->data)[v], m->pos[3 * v], 1e-12);
  pla_item_clear(&item);

  g_assert_cmpint(pla_item_read(skin, &read, &item, &err), ==, PLA_OK);
  PlaMeshSummary summary;
  g_assert_cmpint(item.mesh->n_tris, ==, n_tris);
  g_assert_cmpint(pla_mesh_summary(item.mesh, &summary, &err), ==, PLA_OK);
  g_assert_true(summary.closed);
  g_assert_cmpint(summary.components, ==, 3);
  g_assert_cmpfloat_with_epsilon(summary.volume_m3, 48e-6, 1e-12);
  pla_item_clear(&item);

  /* a blade that misses, a body without tets, no blade: a sentence, and the old file stays */
  g_autofree char *miss = g_strdup_printf("cut %s --blade %s -o %s", body, far, out);
  json_object_unref(verb_test_run(miss, 1));
  g_autofree char *no_tets = g_strdup_printf("cut %s --blade %s -o %s", first, second, out);
  json_object_unref(verb_test_run(no_tets, 2));
  g_autofree char *no_blade = g_strdup_printf("cut %s -o %s", body, out);
  json_object_unref(verb_test_run(no_blade, 2));
  g_assert_cmpint(pla_item_read(out, &read, &item, &err), ==, PLA_OK);
  g_assert_cmpint(item.mesh->n_tets, ==, 320);
  pla_item_clear(&item);
  const char *const made[] = { body, first, second, far, out, skin };
  for (size_t i = 0; i < G_N_ELEMENTS(made); i++)
    g_remove(made[i]);
  g_rmdir(folder);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/app/cut-verb/files", test_files);
  return g_test_run();
}

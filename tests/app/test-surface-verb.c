/* `platysma-cli surface` and `mesh` from file to file: keys, caps, regions, exit status. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

/* an egg (1) in a slab (2) that reaches the lower border */
static void
write_labels(const char *path)
{
  const int dims[4] = { 30, 28, 26, 1 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err;
  PlaWriteOptions write = pla_write_options_default();
  g_assert_cmpint(pla_volume_new(dims, PLA_U8, &item.volume, &err), ==, PLA_OK);
  const double affine[12] = { -1, 0, 0, 15, 0, 1, 0, -14, 0, 0, 1.25, -13 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  for (int k = 0; k < 26; k++)
    for (int j = 0; j < 28; j++)
      for (int i = 0; i < 30; i++) {
        const double ijk[3] = { i, j, k };
        double p[3];
        pla_affine_apply(affine, ijk, p);
        bool egg = p[0] * p[0] / 100 + p[1] * p[1] / 64 + p[2] * p[2] / 64 < 1.0;
        bool slab = p[2] < 6.0 && fabs(p[0]) < 13.0 && fabs(p[1]) < 12.0;
        ((uint8_t *)item.volume->voxels)[i + 30 * (j + 28 * k)] = egg ? 1 : slab ? 2 : 0;
      }
  g_assert_cmpint(pla_item_write(path, &item, &write, &err), ==, PLA_OK);
  pla_item_clear(&item);
}

static void
check_keys(JsonObject *o, const char *const *keys)
{
  for (int k = 0; keys[k]; k++)
    g_assert_true(json_object_has_member(o, keys[k]));
}

static void
test_files(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-surface-XXXXXX", NULL);
  g_autofree char *in = g_build_filename(folder, "labels.nii", NULL);
  g_autofree char *stl = g_build_filename(folder, "egg.stl", NULL);
  g_autofree char *vtp = g_build_filename(folder, "slab.vtp", NULL);
  g_autofree char *none = g_build_filename(folder, "none.ply", NULL);
  write_labels(in);

  g_autofree char *egg =
      g_strdup_printf("surface %s --label 1 -o %s --triangles 1000 --measure", in, stl);
  JsonObject *o = verb_test_run(egg, 0);
  check_keys(o, (const char *const[]){ "vertices", "triangles", "closed", "self_intersections",
                                       "volume_mm3", "label_volume_mm3", "seconds", NULL });
  g_assert_true(json_object_get_boolean_member(o, "closed"));
  g_assert_cmpint(json_object_get_int_member(o, "triangles"), ==, 1000);
  g_assert_cmpint(json_object_get_int_member(o, "vertices"), ==, 502);
  g_assert_cmpint(json_object_get_int_member(o, "self_intersections"), ==, 0);
  double volume = json_object_get_double_member(o, "volume_mm3"),
         label = json_object_get_double_member(o, "label_volume_mm3");
  g_assert_cmpfloat(fabs(volume / label - 1.0), <, 0.01);
  g_assert_cmpfloat(json_object_get_double_member(o, "interface_mm"), <, 1.25);
  json_object_unref(o);

  /* the distance from it, on the grid of the labels: its half axes are 10, 8 and 8 mm */
  g_autofree char *field = g_build_filename(folder, "distance.nii", NULL);
  json_object_unref(verb_test_runf(0, "surface %s --label 1 -o %s --distance %s", in, stl, field));
  PlaReadOptions plain = pla_read_options_default();
  PlaItem distance = { 0 };
  PlaError failure;
  g_assert_cmpint(pla_item_read(field, &plain, &distance, &failure), ==, PLA_OK);
  const float *phi = distance.volume->voxels;
  g_assert_cmpint(distance.volume->dims[0], ==, 30);
  g_assert_cmpint(distance.volume->dims[2], ==, 26);
  const struct {
    int i, j, k;
    double mm;
  } known[] = { { 15, 14, 10, -7.5 }, { 1, 14, 10, 4.0 }, { 15, 2, 10, 4.0 }, { 15, 14, 24, 9.0 } };
  for (gsize q = 0; q < G_N_ELEMENTS(known); q++)
    g_assert_cmpfloat_with_epsilon(phi[known[q].i + 30 * (known[q].j + 28 * known[q].k)],
                                   known[q].mm, 0.6);
  pla_item_clear(&distance);
  json_object_unref(verb_test_runf(2, "surface %s -o %s --distance %s", stl, vtp, field));
  json_object_unref(verb_test_runf(0, "surface %s --label 1 -o %s --triangles 1000", in, stl));
  g_assert_cmpint(g_remove(field), ==, 0);

  /* a surface is checked, and repaired */
  g_autofree char *repair = g_strdup_printf("surface %s --repair -o %s", stl, none);
  o = verb_test_run(repair, 0);
  g_assert_true(json_object_get_boolean_member(o, "closed"));
  g_assert_cmpint(json_object_get_int_member(o, "filled_holes"), ==, 0);
  g_assert_cmpfloat(fabs(json_object_get_double_member(o, "volume_mm3") / volume - 1.0), <, 1e-5);
  g_assert_true(json_object_get_null_member(o, "label_volume_mm3"));
  json_object_unref(o);
  g_assert_cmpint(g_remove(none), ==, 0);

  /* the slab and the egg as one, by name and number, capped below */
  g_autofree char *slab = g_strdup_printf("surface %s --label 'label 2,1' -o %s", in, vtp);
  o = verb_test_run(slab, 0);
  g_assert_cmpint(json_object_get_int_member(o, "cap_triangles"), >, 100);
  json_object_unref(o);
  PlaItem item = { 0 };
  PlaReadOptions read = pla_read_options_default();
  PlaError err;
  g_assert_cmpint(pla_item_read(vtp, &read, &item, &err), ==, PLA_OK);
  g_assert_nonnull(pla_mesh_find_field(item.mesh, "cap", PLA_ON_CELLS));
  pla_item_clear(&item);

  /* nothing to find is 1, senseless is 2, and neither leaves a file */
  const struct {
    const char *words;
    int status;
  } refused[] = {
    { "--label 9", 1 }, { "--label nose", 2 }, { "", 2 }, { "--label 1 --triangles 2", 2 }
  };
  for (gsize r = 0; r < G_N_ELEMENTS(refused); r++) {
    g_autofree char *words = g_strdup_printf("surface %s -o %s %s", in, none, refused[r].words);
    json_object_unref(verb_test_run(words, refused[r].status));
    g_assert_false(g_file_test(none, G_FILE_TEST_EXISTS));
  }
  g_assert_cmpint(g_remove(in), ==, 0);
  g_assert_cmpint(g_remove(stl), ==, 0);
  g_assert_cmpint(g_remove(vtp), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static void
test_mesh(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-mesh-XXXXXX", NULL);
  g_autofree char *in = g_build_filename(folder, "labels.nii", NULL);
  g_autofree char *vtu = g_build_filename(folder, "body.vtu", NULL);
  g_autofree char *none = g_build_filename(folder, "none.vtu", NULL);
  const char *const keys[] = { "method",
                               "vertices",
                               "tets",
                               "hexes",
                               "volume_mm3",
                               "min_dihedral_deg",
                               "max_dihedral_deg",
                               "components",
                               "duplicated_cells",
                               "winding_violations",
                               "seconds",
                               NULL };
  write_labels(in);

  /* two tissues, one by number and one by name: regions and volumes */
  g_autofree char *both =
      g_strdup_printf("mesh %s --method tets --label '1,label 2' --cell-mm 2 -o %s", in, vtu);
  JsonObject *o = verb_test_run(both, 0);
  check_keys(o, keys);
  g_assert_cmpstr(json_object_get_string_member(o, "method"), ==, "tets");
  g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 1);
  g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
  g_assert_cmpfloat(json_object_get_double_member(o, "min_dihedral_deg"), >, 4.0);
  g_assert_cmpfloat(json_object_get_double_member(o, "max_dihedral_deg"), <, 172.0);
  const double volume = json_object_get_double_member(o, "volume_mm3");
  json_object_unref(o);
  PlaItem item = { 0 };
  PlaReadOptions read = pla_read_options_default();
  PlaError err;
  g_assert_cmpint(pla_item_read(vtu, &read, &item, &err), ==, PLA_OK);
  const PlaField *region = pla_mesh_find_field(item.mesh, "region", PLA_ON_CELLS);
  g_assert_nonnull(region);
  int of[3] = { 0 };
  for (int t = 0; t < item.mesh->n_tets; t++)
    of[((const int32_t *)region->data)[t]]++;
  g_assert_cmpint(of[0], ==, 0);
  g_assert_cmpint(of[1], >, 1000);
  g_assert_cmpint(of[2], >, 1000);
  pla_item_clear(&item);

  /* as one tissue: the same space, but for edges that are rounded where three regions meet */
  g_autofree char *one =
      g_strdup_printf("mesh %s --method tets --label 1+2 --cell-mm 2 -o %s", in, vtu);
  o = verb_test_run(one, 0);
  g_assert_cmpfloat(fabs(json_object_get_double_member(o, "volume_mm3") / volume - 1.0), <, 0.02);
  g_assert_cmpfloat(json_object_get_double_member(o, "boundary_vertex_mm"), <, 0.2);
  json_object_unref(o);

  const struct {
    const char *words;
    int status;
  } refused[] = { { "--method tets --cell-mm 2 --label 9", 1 },
                  { "--method tets --cell-mm 2 --label 1,1", 2 },
                  { "--method clay --cell-mm 2", 2 },
                  { "--method tets", 2 },
                  { "--cell-mm 2", 2 } };
  for (gsize r = 0; r < G_N_ELEMENTS(refused); r++) {
    g_autofree char *words = g_strdup_printf("mesh %s -o %s %s", in, none, refused[r].words);
    json_object_unref(verb_test_run(words, refused[r].status));
    g_assert_false(g_file_test(none, G_FILE_TEST_EXISTS));
  }
  g_assert_cmpint(g_remove(in), ==, 0);
  g_assert_cmpint(g_remove(vtu), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* a surface through itself, as hexes, coarser, as tets, with its own surface and another; the same
 * file for any number of threads; refusals */
static void
test_mesh_embed(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-embed-XXXXXX", NULL);
  g_autofree char *lips = g_build_filename(folder, "lips.ply", NULL);
  g_autofree char *sheet = g_build_filename(folder, "sheet.ply", NULL);
  g_autofree char *labels = g_build_filename(folder, "labels.nii", NULL);
  const char *const keys[] = {
    "method",           "vertices",           "hexes",        "volume_mm3", "components",
    "duplicated_cells", "winding_violations", "enclosed_mm3", "seconds",    NULL
  };
  g_autofree char *make_lips = g_strdup_printf("phantom crossed-lips --spacing-mm 4 -o %s", lips);
  g_autofree char *make_sheet = g_strdup_printf("phantom thin-sheet --spacing-mm 4 -o %s", sheet);
  json_object_unref(verb_test_run(make_lips, 0));
  json_object_unref(verb_test_run(make_sheet, 0));
  write_labels(labels);
  g_autofree char *other = g_strdup_printf("--coarsen 1 --embed-surface %s", sheet);
  const struct {
    const char *words;
    bool tets;
  } runs[] = { { "--threads 1", false },
               { "--threads 4", false },
               { "--as-tets", true },
               { "--coarsen 1 --as-tets", true },
               { other, false } };
  g_autofree char *bytes = NULL;
  gsize size = 0;
  for (gsize r = 0; r < G_N_ELEMENTS(runs); r++) {
    g_autofree char *vtu = g_strdup_printf("%s/%zu.vtu", folder, r);
    g_autofree char *words =
        g_strdup_printf("mesh %s --method embed --cell-mm 3 %s -o %s", lips, runs[r].words, vtu);
    JsonObject *o = verb_test_run(words, 0);
    check_keys(o, keys);
    g_assert_cmpint(json_object_get_int_member(o, "winding_violations"), ==, 0);
    g_assert_cmpint(json_object_get_int_member(o, "duplicated_cells"), >, 10);
    g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 1);
    g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
    json_object_unref(o);
    PlaItem item = { 0 };
    PlaReadOptions read = pla_read_options_default();
    PlaError err;
    g_assert_cmpint(pla_item_read(vtu, &read, &item, &err), ==, PLA_OK);
    g_assert_cmpint(item.mesh->n_tets > 0, ==, runs[r].tets);
    g_assert_cmpint(item.mesh->n_hexes > 0, ==, !runs[r].tets);
    /* the carried surface is where its parents put it */
    const PlaField *verts = pla_mesh_find_field(item.mesh, PLA_MESH_BOUND_VERTS, PLA_ON_VERTS);
    const PlaField *weights = pla_mesh_find_field(item.mesh, PLA_MESH_BOUND_WEIGHTS, PLA_ON_VERTS);
    g_assert_cmpint(verts->n_components, ==, runs[r].tets ? 4 : 8);
    const int k = verts->n_components;
    for (int i = 0; i < 3 * item.mesh->n_tris; i++) {
      const int v = item.mesh->tri[i];
      double x[3] = { 0, 0, 0 };
      for (int c = 0; c < k; c++)
        for (int d = 0; d < 3; d++)
          x[d] += ((const double *)weights->data)[k * v + c] *
                  item.mesh->pos[3 * ((const int32_t *)verts->data)[k * v + c] + d];
      for (int d = 0; d < 3; d++)
        g_assert_cmpfloat(fabs(x[d] - item.mesh->pos[3 * v + d]), <, 1e-7);
    }
    pla_item_clear(&item);
    if (r < 2) {
      g_autofree char *now = NULL;
      gsize length;
      g_assert_true(g_file_get_contents(vtu, &now, &length, NULL));
      if (r == 1)
        g_assert_cmpmem(bytes, size, now, length);
      g_free(bytes);
      bytes = g_steal_pointer(&now);
      size = length;
    }
    g_assert_cmpint(g_remove(vtu), ==, 0);
  }
  /* labels, through their surface */
  g_autofree char *vtu = g_build_filename(folder, "egg.vtu", NULL);
  g_autofree char *egg =
      g_strdup_printf("mesh %s --method embed --label 1 --cell-mm 3 -o %s", labels, vtu);
  JsonObject *o = verb_test_run(egg, 0);
  g_assert_cmpint(json_object_get_int_member(o, "components"), ==, 1);
  g_assert_cmpint(json_object_get_int_member(o, "winding_violations"), ==, 0);
  json_object_unref(o);
  g_assert_cmpint(g_remove(vtu), ==, 0);
  /* thinner than a cell */
  g_autofree char *thin = g_strdup_printf("mesh %s --method embed --cell-mm 3 -o %s", sheet, vtu);
  o = verb_test_run(thin, 2);
  g_assert_nonnull(
      strstr(json_object_get_string_member(o, "error"), "thinner than the cell of 3 mm"));
  g_assert_nonnull(strstr(json_object_get_string_member(o, "error"), "near ("));
  json_object_unref(o);
  g_assert_false(g_file_test(vtu, G_FILE_TEST_EXISTS));
  g_assert_cmpint(g_remove(lips), ==, 0);
  g_assert_cmpint(g_remove(sheet), ==, 0);
  g_assert_cmpint(g_remove(labels), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

/* a real head, where it has been fetched: skin, and skin, bone and airway together */
static void
test_ct_head(void)
{
  g_autofree char *ct =
      g_test_build_filename(G_TEST_DIST, "..", "datasets", "cache", "ct-head.nii.gz", NULL);
  if (!g_getenv("PLA_LONG") || !g_file_test(ct, G_FILE_TEST_EXISTS)) {
    g_test_skip("with PLA_LONG=1, after datasets/fetch-ct-head");
    return;
  }
  g_autofree char *folder = g_dir_make_tmp("platysma-ct-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "labels.nii", NULL);
  g_autofree char *names = g_build_filename(folder, "labels.tsv", NULL);
  g_autofree char *skin = g_build_filename(folder, "skin.ply", NULL);
  g_autofree char *tets = g_build_filename(folder, "tets.vtu", NULL);
  g_autofree char *segment = g_strdup_printf("segment %s --preset ct-head -o %s", ct, labels);
  json_object_unref(verb_test_run(segment, 0));

  g_autofree char *surface =
      g_strdup_printf("surface %s --label 1,2,3 --measure -o %s", labels, skin);
  JsonObject *o = verb_test_run(surface, 0);
  const double volume = json_object_get_double_member(o, "label_volume_mm3");
  g_assert_true(json_object_get_boolean_member(o, "closed"));
  g_assert_cmpint(json_object_get_int_member(o, "self_intersections"), ==, 0);
  g_assert_cmpfloat(fabs(json_object_get_double_member(o, "volume_mm3") / volume - 1.0), <, 0.01);
  /* voxels of 0.96 x 0.96 x 1.5 mm, so that the steps of an oblique plane alone are 1.01 mm */
  g_assert_cmpfloat(json_object_get_double_member(o, "interface_mm"), <, 1.5);
  g_assert_cmpfloat(json_object_get_double_member(o, "interface_voxels"), <, 1.0);
  json_object_unref(o);

  g_autofree char *whole =
      g_strdup_printf("mesh %s --method tets --label 1+2+3 --cell-mm 4 -o %s", labels, tets);
  o = verb_test_run(whole, 0);
  g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
  g_assert_cmpfloat(json_object_get_double_member(o, "min_dihedral_deg"), >=, 10.0);
  g_assert_cmpfloat(json_object_get_double_member(o, "max_dihedral_deg"), <=, 165.0);
  g_assert_cmpfloat(json_object_get_double_member(o, "boundary_vertex_mm"), <, 0.4);
  g_assert_cmpfloat(json_object_get_double_member(o, "boundary_facet_mm"), <, 1.0);
  g_assert_cmpfloat(fabs(json_object_get_double_member(o, "volume_mm3") / volume - 1.0), <, 0.01);
  json_object_unref(o);

  g_autofree char *three =
      g_strdup_printf("mesh %s --method tets --label 1,2,3 --cell-mm 4 -o %s", labels, tets);
  o = verb_test_run(three, 0);
  g_assert_cmpint(json_object_get_int_member(o, "inverted"), ==, 0);
  g_assert_cmpfloat(json_object_get_double_member(o, "min_dihedral_deg"), >=, 4.0);
  g_assert_cmpfloat(json_object_get_double_member(o, "max_dihedral_deg"), <=, 172.0);
  json_object_unref(o);
  g_remove(names);
  g_assert_cmpint(g_remove(labels), ==, 0);
  g_assert_cmpint(g_remove(skin), ==, 0);
  g_assert_cmpint(g_remove(tets), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/surface-verb/files", test_files);
  g_test_add_func("/mesh-verb/files", test_mesh);
  g_test_add_func("/mesh-verb/ct-head", test_ct_head);
  g_test_add_func("/mesh-verb/embed", test_mesh_embed);
  return g_test_run();
}

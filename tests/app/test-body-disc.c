/* A finger's pressure on the cheek moves the skin nearly the same at any size of cells: 1 N on a
 * disc of 20 mm, on the head phantom and, where it is there, on the CT.  The aim is 5 %; cells of 6
 * mm, hardly smaller than the tissue is thick, are 11 % off those of 3 mm. */
#include "app/simulate/scene-where.h"
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

typedef struct {
  const char *low_mm, *high_mm; /* the part of the head that is taken */
  const char *disc;
  double force_n[3]; /* inwards, 1 N in all */
  double half_voxel_mm;
  double most; /* by how much the motion may differ from that in the smallest cells */
} Cheek;

/* mean displacement of the disc along the force, mm */
static double
motion_of_disc(const char *body, const char *solved, const char *disc, const double along[3])
{
  PlaReadOptions opts = pla_read_options_default();
  PlaItem before = { 0 }, after = { 0 };
  PlaError err;
  JsonNode *where;
  int n_tris;
  double sum = 0.0, whole = 0.0;
  g_assert_cmpint(pla_item_read(body, &opts, &before, &err), ==, PLA_OK);
  g_assert_cmpint(pla_item_read(solved, &opts, &after, &err), ==, PLA_OK);
  const PlaSceneSelection selection = { before.mesh, NULL };
  g_autofree double *area = g_new0(double, before.mesh->n_verts);
  g_assert_cmpint(pla_json_parse(disc, strlen(disc), "disc", &where, &err), ==, PLA_OK);
  g_assert_cmpint(pla_scene_select_surface(&selection, (PlaJson){ where, "disc" }, area, &n_tris,
                                           &err),
                  ==, PLA_OK);
  const PlaField *moved = pla_mesh_find_field(after.mesh, "displacement_mm", PLA_ON_VERTS);
  g_assert_nonnull(moved);
  for (int v = 0; v < before.mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      sum +=
          area[v] * along[d] * pla_dtype_get(moved->dtype, moved->data, 3 * (size_t)v + (size_t)d);
      whole += area[v] / 3.0;
    }
  json_node_unref(where);
  pla_item_clear(&before);
  pla_item_clear(&after);
  return sum / whole;
}

/* presses in cells of each size, from large to small */
static void
press(const char *labels, const Cheek *cheek, const double *cell_mm, int n)
{
  const double *f = cheek->force_n;
  g_autofree char *folder = g_dir_make_tmp("platysma-disc-XXXXXX", NULL);
  g_autofree char *body = g_build_filename(folder, "body.vtu", NULL);
  g_autofree char *scene = g_build_filename(folder, "scene.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  g_autofree double *motion = g_new0(double, n);
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"body.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"neo-hookean\", \"young_pa\": 1e4, \"poisson\": 0.49, \"density_kg_m3\": 1000}], "
      "\"constraints\": [{\"where\": {\"border\": \"bone\"}, \"fix\": \"xyz\"}, "
      "{\"where\": {\"border\": \"end\"}, \"fix\": \"xyz\"}], \"estimate\": false, "
      "\"loads\": [{\"where\": %s, \"force_n\": [%g, %g, %g]}]}",
      cheek->disc, f[0], f[1], f[2]);
  g_assert_true(g_file_set_contents(scene, text, -1, NULL));
  for (int i = 0; i < n; i++) {
    g_autoptr(JsonObject) made =
        verb_test_runf(0, "body %s --cell-mm %g --box-low-mm %s --box-high-mm %s -o %s", labels,
                       cell_mm[i], cheek->low_mm, cheek->high_mm, body);
    const double off = json_object_get_double_member(made, "skin_deviation_mm");
    g_autoptr(JsonObject) solved = verb_test_runf(0, "simulate %s -o %s", scene, out);
    motion[i] = motion_of_disc(body, out, cheek->disc, f);
    g_test_message("cells of %g mm: %.3f mm, skin within %.2f mm", cell_mm[i], motion[i], off);
    g_assert_cmpfloat(off, <=, cheek->half_voxel_mm);
    g_assert_cmpint(json_object_get_int_member(solved, "inverted"), ==, 0);
    g_remove(body);
    g_remove(out);
  }
  for (int i = 0; i < n; i++)
    g_assert_cmpfloat(fabs(motion[i] / motion[n - 1] - 1.0), <, cheek->most);
  g_remove(scene);
  g_rmdir(folder);
}

static const double cells_mm[] = { 8.0, 6.0, 4.0, 3.0 };

static void
test_phantom(void)
{
  static const Cheek cheek = {
    .low_mm = "-90,30,-105",
    .high_mm = "5,125,15",
    .disc = "{\"border\": \"air\", \"near\": {\"at_mm\": [-44, 86, -36], \"radius_mm\": 10}}",
    .force_n = { 0.6, -0.8, 0.0 },
    .half_voxel_mm = 1.0,
    .most = 0.12,
  };
  g_autofree char *folder = g_dir_make_tmp("platysma-disc-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "head.nii.gz", NULL);
  g_autofree char *names = g_build_filename(folder, "head.tsv", NULL);
  JsonObject *made = verb_test_runf(0, "phantom head --spacing-mm 2 -o %s", labels);
  json_object_unref(made);
  press(labels, &cheek, cells_mm, g_getenv("PLA_LONG") ? 4 : 2);
  g_remove(labels);
  g_remove(names);
  g_rmdir(folder);
}

static void
test_ct(void)
{
  static const Cheek cheek = {
    .low_mm = "0,20,-80",
    .high_mm = "80,120,0",
    .disc = "{\"border\": \"air\", \"near\": {\"at_mm\": [40, 73, -40], \"radius_mm\": 10}}",
    .force_n = { -0.6, -0.8, 0.0 },
    .half_voxel_mm = 0.479,
    .most = 0.12,
  };
  g_autofree char *volume =
      g_test_build_filename(G_TEST_DIST, "..", "datasets", "cache", "ct-head.nii.gz", NULL);
  if (!g_getenv("PLA_LONG") || !g_file_test(volume, G_FILE_TEST_EXISTS)) {
    g_test_skip("with PLA_LONG=1, after datasets/fetch-ct-head");
    return;
  }
  g_autofree char *folder = g_dir_make_tmp("platysma-disc-XXXXXX", NULL);
  g_autofree char *labels = g_build_filename(folder, "head.nii.gz", NULL);
  g_autofree char *names = g_build_filename(folder, "head.tsv", NULL);
  JsonObject *made = verb_test_runf(0, "segment %s --preset ct-head -o %s", volume, labels);
  json_object_unref(made);
  press(labels, &cheek, cells_mm, G_N_ELEMENTS(cells_mm));
  g_remove(labels);
  g_remove(names);
  g_rmdir(folder);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/disc/phantom", test_phantom);
  g_test_add_func("/disc/ct", test_ct);
  return g_test_run();
}

/* `platysma-cli body` and `mesh --method carved`: bodies of the scan's own shape in cells of any
 * size, and `simulate` on them. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

static double
number(JsonObject *object, const char *key)
{
  g_assert_true(json_object_has_member(object, key));
  return json_object_get_double_member(object, key);
}

static char *
in_folder(const char *folder, const char *name)
{
  return g_build_filename(folder, name, NULL);
}

static void
remove_folder(const char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir));) {
    g_autofree char *path = in_folder(folder, name);
    g_remove(path);
  }
  g_rmdir(folder);
}

/* a bar of 1000 x 250 x 250 mm, turned by 20 degrees about two axes, as a closed surface */
static void
turn(const double p[3], double out[3])
{
  const double c = cos(G_PI / 9.0), s = sin(G_PI / 9.0);
  const double q[3] = { c * p[0] + s * p[2], p[1], -s * p[0] + c * p[2] };
  out[0] = q[0];
  out[1] = c * q[1] - s * q[2];
  out[2] = s * q[1] + c * q[2];
}

static void
write_bar(const char *path)
{
  static const int quad[6][4] = { { 0, 2, 3, 1 }, { 4, 5, 7, 6 }, { 0, 1, 5, 4 },
                                  { 2, 6, 7, 3 }, { 0, 4, 6, 2 }, { 1, 3, 7, 5 } };
  g_autoptr(GString) text = g_string_new(NULL);
  for (int i = 0; i < 8; i++) {
    const double p[3] = { i & 1 ? 1000.0 : 0.0, i & 2 ? 250.0 : 0.0, i & 4 ? 250.0 : 0.0 };
    double q[3];
    turn(p, q);
    g_string_append_printf(text, "v %.12g %.12g %.12g\n", q[0], q[1], q[2]);
  }
  for (int f = 0; f < 6; f++)
    g_string_append_printf(text, "f %d %d %d\nf %d %d %d\n", quad[f][0] + 1, quad[f][1] + 1,
                           quad[f][2] + 1, quad[f][0] + 1, quad[f][2] + 1, quad[f][3] + 1);
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
}

/* The bar drops as a conforming one does, weighs what it should and keeps its volume, though most
 * of its cells are filled in part.  234.1 mm is the limit of conforming tets: 234.7, 240.5, 246.8
 * at 98k, 12k and 1.5k of them (mixed). */
static void
test_turned_bar(void)
{
  static const struct {
    double cell_mm, within;
  } cases[] = { { 125.0, 0.05 }, { 62.5, 0.02 } };
  g_autofree char *folder = g_dir_make_tmp("platysma-body-XXXXXX", NULL);
  g_autofree char *surface = in_folder(folder, "bar.obj");
  g_autofree char *mesh = in_folder(folder, "bar.vtu");
  g_autofree char *scene = in_folder(folder, "bar.json");
  g_autofree char *out = in_folder(folder, "out.vtu");
  const double ends[2][3] = { { 0.0, 125.0, 125.0 }, { 1000.0, 125.0, 125.0 } };
  const double down[3] = { 0.0, 0.0, -9.81 }, along[3] = { 1.0, 0.0, 0.0 };
  double clamp[3], tip[3], gravity[3], normal[3];
  turn(ends[0], clamp);
  turn(ends[1], tip);
  turn(down, gravity);
  turn(along, normal);
  write_bar(surface);
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"bar.vtu\", \"materials\": [{\"where\": {\"all\": "
      "true}, \"model\": \"neo-hookean\", \"young_pa\": 1e6, \"poisson\": 0.45, \"density_kg_m3\": "
      "1000}], \"gravity_m_s2\": [%.12g, %.12g, %.12g], \"constraints\": [{\"where\": {\"plane\": "
      "{\"through_mm\": [%.12g, %.12g, %.12g], \"normal\": [%.12g, %.12g, %.12g], \"within_mm\": "
      "0.01}}, \"fix\": \"xyz\"}], \"probes\": [{\"name\": \"tip\", \"nearest_mm\": [%.12g, %.12g, "
      "%.12g]}]}",
      gravity[0], gravity[1], gravity[2], clamp[0], clamp[1], clamp[2], normal[0], normal[1],
      normal[2], tip[0], tip[1], tip[2]);
  g_assert_true(g_file_set_contents(scene, text, -1, NULL));
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(JsonObject) made = verb_test_runf(0, "mesh %s --method carved --cell-mm %g -o %s",
                                                surface, cases[i].cell_mm, mesh);
    g_assert_cmpfloat_with_epsilon(number(made, "volume_mm3"), 6.25e7, 6.25e7 * 1e-9);
    g_assert_cmpfloat(number(made, "cells_volume_mm3"), >, 1.3 * 6.25e7);
    g_assert_cmpint(json_object_get_int_member(made, "components"), ==, 1);
    g_autoptr(JsonObject) bent = verb_test_runf(0, "simulate %s -o %s", scene, out);
    JsonObject *probe =
        json_array_get_object_element(json_object_get_array_member(bent, "probes"), 0);
    JsonArray *moved = json_object_get_array_member(probe, "displacement_mm");
    JsonObject *clamped =
        json_array_get_object_element(json_object_get_array_member(bent, "reactions"), 0);
    JsonArray *force = json_object_get_array_member(clamped, "force_n");
    double drop = 0.0, weight = 0.0;
    for (guint d = 0; d < 3; d++) {
      drop += pow(json_array_get_double_element(moved, d), 2.0);
      weight += pow(json_array_get_double_element(force, d), 2.0);
    }
    g_test_message("cells of %g mm: %.2f mm, %.4f N", cases[i].cell_mm, sqrt(drop), sqrt(weight));
    g_assert_cmpfloat_with_epsilon(sqrt(drop), 234.1, 234.1 * cases[i].within);
    g_assert_cmpfloat_with_epsilon(sqrt(weight), 62.5 * 9.81, 62.5 * 9.81 * 1e-3);
    g_assert_cmpint(json_object_get_int_member(bent, "inverted"), ==, 0);
  }
  remove_folder(folder);
}

/* triangles of a closed surface: every edge once in each direction */
static void
check_closed(const PlaMesh *mesh)
{
  g_autoptr(GHashTable) edges = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  for (int i = 0; i < 3 * mesh->n_tris; i++) {
    gint64 *key = g_new(gint64, 1);
    *key = (gint64)mesh->tri[i] << 32 | mesh->tri[i - i % 3 + (i + 1) % 3];
    g_assert_true(g_hash_table_add(edges, key));
  }
  for (int i = 0; i < 3 * mesh->n_tris; i++) {
    const gint64 back = (gint64)mesh->tri[i - i % 3 + (i + 1) % 3] << 32 | mesh->tri[i];
    g_assert_true(g_hash_table_contains(edges, &back));
  }
}

/* layers on bone at cells from finer than the skin to coarser than everything: the same surface,
 * the same material, held where it meets bone; the same bytes for any number of threads */
static void
test_layers(void)
{
  static const double cells_mm[] = { 18.0, 30.0 };
  g_autofree char *folder = g_dir_make_tmp("platysma-body-XXXXXX", NULL);
  g_autofree char *labels = in_folder(folder, "slab.nii.gz");
  g_autofree char *body = in_folder(folder, "body.vtu");
  g_autofree char *again = in_folder(folder, "again.vtu");
  g_autoptr(JsonObject) slab = verb_test_runf(0, "phantom skin-slab --spacing-mm 3 -o %s", labels);
  JsonArray *table = json_object_get_array_member(slab, "labels");
  double soft_mm3 = 0.0;
  for (guint i = 0; i < json_array_get_length(table); i++) {
    JsonObject *label = json_array_get_object_element(table, i);
    if (strcmp(json_object_get_string_member(label, "name"), "bone") != 0)
      soft_mm3 += number(label, "volume_mm3");
  }
  for (size_t i = 0; i < G_N_ELEMENTS(cells_mm); i++) {
    g_autoptr(JsonObject) made =
        verb_test_runf(0, "body %s --cell-mm %g --threads 1 -o %s", labels, cells_mm[i], body);
    g_autoptr(JsonObject) same =
        verb_test_runf(0, "body %s --cell-mm %g --threads 4 -o %s", labels, cells_mm[i], again);
    g_autofree char *a = NULL;
    g_autofree char *b = NULL;
    gsize n_a, n_b;
    g_assert_true(g_file_get_contents(body, &a, &n_a, NULL));
    g_assert_true(g_file_get_contents(again, &b, &n_b, NULL));
    g_assert_cmpmem(a, n_a, b, n_b);
    g_assert_cmpfloat(number(same, "volume_mm3"), ==, number(made, "volume_mm3"));
    g_assert_cmpfloat(number(made, "skin_deviation_mm"), <=, 1.5); /* half a voxel */
    g_assert_cmpfloat_with_epsilon(number(made, "volume_mm3"), soft_mm3, 0.03 * soft_mm3);
    g_assert_cmpint(json_object_get_int_member(made, "components"), ==, 1);
    JsonObject *borders = json_object_get_object_member(made, "border_triangles");
    g_assert_cmpint(json_object_get_int_member(borders, "bone"), >, 100);
    g_assert_cmpint(json_object_get_int_member(borders, "air"), >, 100);
    JsonArray *tissues = json_object_get_array_member(made, "tissues");
    double sum = 0.0;
    for (guint k = 0; k < json_array_get_length(tissues); k++)
      sum += number(json_array_get_object_element(tissues, k), "volume_mm3");
    g_assert_cmpfloat_with_epsilon(sum, number(made, "volume_mm3"), 1.0);
    PlaItem item = { 0 };
    PlaReadOptions read = pla_read_options_default();
    PlaError err;
    g_assert_cmpint(pla_item_read(body, &read, &item, &err), ==, PLA_OK);
    check_closed(item.mesh);
    pla_item_clear(&item);
  }
  remove_folder(folder);
}

/* two bars nearer to each other than a cell is wide do not hold together */
static void
test_apart(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-body-XXXXXX", NULL);
  g_autofree char *surface = in_folder(folder, "bars.stl");
  g_autofree char *mesh = in_folder(folder, "bars.vtu");
  JsonObject *bars = verb_test_runf(0, "phantom parallel-cylinders-surface -o %s", surface);
  json_object_unref(bars);
  g_autoptr(JsonObject) made =
      verb_test_runf(0, "mesh %s --method carved --cell-mm 12 -o %s", surface, mesh);
  g_assert_cmpint(json_object_get_int_member(made, "components"), ==, 2);
  remove_folder(folder);
}

static void
test_refusals(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-body-XXXXXX", NULL);
  g_autofree char *labels = in_folder(folder, "ball.nii.gz");
  g_autofree char *body = in_folder(folder, "body.vtu");
  g_autofree char *scene = in_folder(folder, "scene.json");
  g_autofree char *out = in_folder(folder, "out.vtu");
  static const char *const bad[] = {
    "--box-low-mm 0,0,0",                         /* one corner */
    "--box-low-mm 0,0 --box-high-mm 9,9,9",       /* no point */
    "--box-low-mm 500,0,0 --box-high-mm 600,9,9", /* nothing there */
    "--label 7",                                  /* no such label */
    "--cell-mm 0",                                /* no size */
    "--cell-mm 0.2 --box-low-mm -9,-9,-9 --box-high-mm x,y,z",
  };
  JsonObject *ball = verb_test_runf(0, "phantom sphere --spacing-mm 4 -o %s", labels);
  json_object_unref(ball);
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autofree char *words = g_strdup_printf("body %s --label 1 %s -o %s", labels, bad[i], body);
    g_autofree char *line = g_strdup_printf("%s %s --json", g_getenv("PLATYSMA_CLI"), words);
    g_autofree char *printed = NULL;
    int status;
    g_assert_true(g_spawn_command_line_sync(line, &printed, NULL, &status, NULL));
    g_assert_cmpint(WEXITSTATUS(status), !=, 0);
    g_assert_nonnull(strstr(printed, "\"error\""));
    g_assert_false(g_file_test(body, G_FILE_TEST_EXISTS));
  }
  JsonObject *made = verb_test_runf(0, "body %s --label 1 --cell-mm 20 -o %s", labels, body);
  json_object_unref(made);
  /* there is no bone, and no such border */
  static const char *const constraints[] = {
    "{\"where\": {\"border\": \"bone\"}, \"fix\": \"xyz\"}",
    "{\"where\": {\"border\": \"skin\"}, \"fix\": \"xyz\"}",
  };
  for (size_t i = 0; i < G_N_ELEMENTS(constraints); i++) {
    g_autofree char *text = g_strdup_printf(
        "{\"mesh\": \"body.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
        "\"neo-hookean\", \"young_pa\": 1e4, \"poisson\": 0.45, \"density_kg_m3\": 1000}], "
        "\"constraints\": [%s]}",
        constraints[i]);
    g_assert_true(g_file_set_contents(scene, text, -1, NULL));
    JsonObject *told = verb_test_runf(2, "simulate %s -o %s", scene, out);
    json_object_unref(told);
  }
  /* moved as a whole by its surface, it keeps its shape */
  static const char moved[] =
      "{\"mesh\": \"body.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"neo-hookean\", \"young_pa\": 1e4, \"poisson\": 0.45, \"density_kg_m3\": 1000}], "
      "\"constraints\": [{\"where\": {\"border\": \"air\"}, \"move\": {\"translate_mm\": [7, 0, "
      "0], \"rotate\": {\"axis\": [0, 0, 1], \"through_mm\": [0, 0, 0], \"deg\": 30}}}], "
      "\"probes\": [{\"name\": \"side\", \"nearest_mm\": [40, 0, 0]}]}";
  g_assert_true(g_file_set_contents(scene, moved, -1, NULL));
  g_autoptr(JsonObject) turned = verb_test_runf(0, "simulate %s -o %s", scene, out);
  g_assert_cmpfloat_with_epsilon(number(turned, "min_jacobian"), 1.0, 1e-3);
  g_assert_cmpfloat(number(turned, "max_displacement_mm"), >, 20.0);
  remove_folder(folder);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/body/turned-bar", test_turned_bar);
  g_test_add_func("/body/layers", test_layers);
  g_test_add_func("/body/apart", test_apart);
  g_test_add_func("/body/refusals", test_refusals);
  return g_test_run();
}

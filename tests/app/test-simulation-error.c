/* `simulate`: the error of a result by the size of its cells, beside results on smaller ones. */
#include "anatomy/mesh/box-mesh.h"
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *folder;

static JsonObject *
first(JsonObject *object, const char *list)
{
  return json_array_get_object_element(json_object_get_array_member(object, list), 0);
}

/* solves a bar of 100 x 25 x 25 mm, @n cells thick: held at one end, the other moved by 5 mm
 * across; @more: further members of the scene */
static JsonObject *
bend(PlaBoxCells kind, int n, const char *more)
{
  const double low[3] = { 0.0, 0.0, 0.0 }, high[3] = { 0.1, 0.025, 0.025 };
  const int cells[3] = { 4 * n, n, n };
  const PlaWriteOptions options = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_MESH };
  PlaError err = { 0 };
  g_autofree char *mesh = g_build_filename(folder, "bar.vtu", NULL);
  g_autofree char *scene = g_build_filename(folder, "bar.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"bar.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"neo-hookean\", \"young_pa\": 10000, \"poisson\": 0.45, \"density_kg_m3\": 1000}],"
      "\"constraints\": ["
      "{\"where\": {\"box_mm\": [[99.99, -1, -1], [101, 26, 26]]}, \"move\": {\"translate_mm\": "
      "[0, 0, 5]}}, {\"where\": {\"box_mm\": [[-1, -1, -1], [0.01, 26, 26]]}, \"fix\": \"xyz\"}],"
      "\"probes\": [{\"name\": \"middle\", \"nearest_mm\": [50, 12.5, 25]}] %s}",
      more);
  g_assert_true(g_file_set_contents(scene, text, -1, NULL));
  g_assert_cmpint(pla_box_mesh_new(low, high, cells, kind, &item.mesh, &err), ==, PLA_OK);
  g_assert_cmpint(pla_item_write(mesh, &item, &options, &err), ==, PLA_OK);
  pla_item_clear(&item);
  return verb_test_runf(0, "simulate %s -o %s", scene, out);
}

/* size of the force at the moved end */
static double
force_of(JsonObject *found)
{
  JsonArray *force = json_object_get_array_member(first(found, "reactions"), "force_n");
  double sum = 0.0;
  for (guint d = 0; d < 3; d++)
    sum += pow(json_array_get_double_element(force, d), 2.0);
  return sqrt(sum);
}

/* the error of a force in large cells, against cells a quarter as long */
static void
test_force(void)
{
  static const char *const formulations[] = { ", \"formulation\": \"standard\"",
                                              ", \"formulation\": \"mixed\"" };
  g_autoptr(JsonObject) fine = bend(PLA_BOX_TETS_5, 8, formulations[1]);
  for (int k = 0; k < 2; k++) {
    g_autoptr(JsonObject) coarse = bend(PLA_BOX_TETS_5, 2, formulations[k]);
    const double error = fabs(force_of(coarse) - force_of(fine)),
                 estimate = json_object_get_double_member(first(coarse, "reactions"), "error_n");
    g_test_message("%s: %.4f N of %.4f N, estimate %.4f N", formulations[k], error, force_of(fine),
                   estimate);
    g_assert_cmpfloat(estimate, >, 0.5 * error);
    g_assert_cmpfloat(estimate, <, 2.0 * error);
    g_assert_cmpfloat(json_object_get_double_member(first(coarse, "probes"), "error_mm"), <,
                      json_object_get_double_member(coarse, "displacement_error_mm") + 1e-12);
    g_assert_cmpfloat(json_object_get_double_member(coarse, "von_mises_error_pa"), >, 0.0);
  }
}

/* the bar under its own weight, held at the plane x = 0: how far the middle of its end moves */
static double
sag(const char *more, double *estimate)
{
  g_autofree char *scene = g_build_filename(folder, "bar.json", NULL);
  g_autofree char *out = g_build_filename(folder, "out.vtu", NULL);
  g_autofree char *text = g_strdup_printf(
      "{\"mesh\": \"bar.vtu\", \"materials\": [{\"where\": {\"all\": true}, \"model\": "
      "\"neo-hookean\", \"young_pa\": 1e5, \"poisson\": 0.45, \"density_kg_m3\": 1000}],"
      "\"gravity_m_s2\": [0, 0, -9.81], \"constraints\": [{\"where\": {\"plane\": {\"through_mm\": "
      "[0, 0, 0], \"normal\": [1, 0, 0], \"within_mm\": 0.01}}, \"fix\": \"xyz\"}],"
      "\"probes\": [{\"name\": \"tip\", \"nearest_mm\": [100, 12.5, 12.5]}] %s}",
      more);
  g_assert_true(g_file_set_contents(scene, text, -1, NULL));
  g_autoptr(JsonObject) found = verb_test_runf(0, "simulate %s -o %s", scene, out);
  JsonObject *tip = first(found, "probes");
  if (estimate)
    *estimate = json_object_get_double_member(tip, "error_mm");
  return json_array_get_double_element(json_object_get_array_member(tip, "displacement_mm"), 2);
}

/* a carved body, whose cells are filled in part and hold its surface by springs, against conforming
 * tets: bubbles must not slip out of what holds the surface */
static void
test_carved(void)
{
  g_autofree char *mesh = g_build_filename(folder, "bar.vtu", NULL);
  g_autofree char *surface = g_build_filename(folder, "bar.obj", NULL);
  double estimate;
  json_object_unref(bend(PLA_BOX_TETS_5, 8, ", \"formulation\": \"mixed\""));
  const double drop = sag(", \"formulation\": \"mixed\"", NULL);
  g_assert_true(g_file_set_contents(surface,
                                    "v 0 0 0\nv 100 0 0\nv 0 25 0\nv 100 25 0\n"
                                    "v 0 0 25\nv 100 0 25\nv 0 25 25\nv 100 25 25\n"
                                    "f 1 3 4\nf 1 4 2\nf 5 6 8\nf 5 8 7\nf 1 2 6\nf 1 6 5\n"
                                    "f 3 7 8\nf 3 8 4\nf 1 5 7\nf 1 7 3\nf 2 4 8\nf 2 8 6\n",
                                    -1, NULL));
  json_object_unref(
      verb_test_runf(0, "mesh %s --method carved --cell-mm 7.3 -o %s", surface, mesh));
  const double coarse = sag(", \"formulation\": \"standard\"", &estimate);
  g_test_message("drop %.4f of %.4f mm, estimate of the error %.4f mm", coarse, drop, estimate);
  g_assert_cmpfloat(estimate, >, 0.5 * fabs(coarse - drop));
  g_assert_cmpfloat(estimate, <, 2.0 * fabs(coarse - drop));
}

/* nobody asks for it, or it is not known */
static void
test_without(void)
{
  g_autoptr(JsonObject) quick = bend(PLA_BOX_TETS_5, 2, ", \"estimate\": false");
  g_assert_false(json_object_has_member(quick, "displacement_error_mm"));
  g_assert_false(json_object_has_member(first(quick, "probes"), "error_mm"));
  g_assert_cmpint(json_array_get_length(json_object_get_array_member(quick, "notes")), ==, 0);
  g_autoptr(JsonObject) hexes = bend(PLA_BOX_HEXES, 2, "");
  g_assert_false(json_object_has_member(hexes, "displacement_error_mm"));
  const char *note = json_array_get_string_element(json_object_get_array_member(hexes, "notes"), 0);
  g_assert_nonnull(strstr(note, "meshes of tets alone"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-error-XXXXXX", NULL);
  g_test_add_func("/simulation-error/force", test_force);
  g_test_add_func("/simulation-error/carved", test_carved);
  g_test_add_func("/simulation-error/without", test_without);
  const int status = g_test_run();
  static const char *const files[] = { "bar.vtu", "bar.obj", "bar.json", "out.vtu" };
  for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i], NULL);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}

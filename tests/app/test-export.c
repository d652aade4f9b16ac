/* What leaves a case: tables of its numbers, surfaces that a printer takes. */
#include "app/case/case-table.h"
#include "app/show/print-check.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* a box of 20 x 30 x 40 mm, two triangles a side, counter-clockwise from outside */
static PlaMesh *
box_mesh(int n_boxes, double step_mm)
{
  static const int tri[12][3] = { { 0, 2, 1 }, { 1, 2, 3 }, { 4, 5, 6 }, { 5, 7, 6 },
                                  { 0, 1, 4 }, { 1, 5, 4 }, { 2, 6, 3 }, { 3, 6, 7 },
                                  { 0, 4, 2 }, { 2, 4, 6 }, { 1, 3, 5 }, { 3, 7, 5 } };
  PlaMesh *mesh = NULL;
  g_assert_cmpint(pla_mesh_new(8 * n_boxes, 12 * n_boxes, 0, 0, &mesh, NULL), ==, PLA_OK);
  for (int b = 0; b < n_boxes; b++) {
    for (int v = 0; v < 8; v++) {
      double *p = mesh->pos + 3 * (8 * b + v);
      p[0] = 0.020 * (v & 1) + 0.001 * step_mm * b;
      p[1] = 0.030 * (v >> 1 & 1) + 0.001 * step_mm * b;
      p[2] = 0.040 * (v >> 2 & 1) + 0.001 * step_mm * b;
    }
    for (int t = 0; t < 36; t++)
      mesh->tri[36 * b + t] = 8 * b + tri[t / 3][t % 3];
  }
  return mesh;
}

static void
test_print_check(void)
{
  PlaPrintCheck check;
  PlaError err;
  PlaMesh *mesh = box_mesh(1, 0.0);
  g_assert_cmpint(pla_print_check(mesh, NULL, &check, &err), ==, PLA_OK);
  g_assert_true(check.ready && check.closed);
  g_assert_cmpfloat_with_epsilon(check.volume_mm3, 24000.0, 1e-6);
  g_assert_cmpfloat_with_epsilon(check.size_mm[2], 40.0, 1e-9);
  g_autofree char *fine = pla_print_check_text(&check);
  g_assert_cmpstr(fine, ==, "Closed, one piece, 24.0 ml, 20 × 30 × 40 mm: ready to print");
  /* one triangle less */
  mesh->n_tris--;
  g_assert_cmpint(pla_print_check(mesh, NULL, &check, &err), ==, PLA_OK);
  g_assert_false(check.ready || check.closed);
  g_autofree char *open = pla_print_check_text(&check);
  g_assert_true(g_str_has_prefix(open, "Open"));
  g_assert_true(g_str_has_suffix(open, "not ready to print"));
  pla_mesh_free(mesh);
  /* two apart, and two that run through each other */
  mesh = box_mesh(2, 100.0);
  g_assert_cmpint(pla_print_check(mesh, NULL, &check, &err), ==, PLA_OK);
  g_assert_true(check.ready);
  g_assert_cmpint(check.components, ==, 2);
  pla_mesh_free(mesh);
  mesh = box_mesh(2, 7.0);
  g_assert_cmpint(pla_print_check(mesh, NULL, &check, &err), ==, PLA_OK);
  g_assert_false(check.ready);
  g_assert_cmpint((int)check.self_intersections, >, 0);
  pla_mesh_free(mesh);
  g_assert_cmpint(pla_mesh_new(4, 0, 1, 0, &mesh, NULL), ==, PLA_OK);
  g_assert_cmpint(pla_print_check(mesh, NULL, &check, &err), ==, PLA_ERR_UNSUPPORTED);
  pla_mesh_free(mesh);
}

static void
run(PlaSession *session, const char *verb, const char *params)
{
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb, .params = json_node_get_object(node) };
  PlaError err;
  if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
}

static void
test_table(void)
{
  g_autofree char *dir = g_dir_make_tmp("platysma-export-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(dir, "a.platysma", NULL);
  g_autofree char *csv = g_build_filename(dir, "a.csv", NULL);
  PlaSession *session = NULL;
  PlaError err;
  int n = 0;
  g_assert_cmpint(pla_session_create(path, "t", &session, &err), ==, PLA_OK);
  g_assert_cmpint(pla_table_write_csv(session, csv, NULL, &n, &err), ==, PLA_ERR_EMPTY);
  g_assert_false(g_file_test(csv, G_FILE_TEST_EXISTS));
  run(session, "phantom", "{\"phantom\": \"box\", \"spacing_mm\": 2, \"name\": \"a, b\"}");
  run(session, "measure", "{\"name\": \"d\", \"points_mm\": [[0, 0, 0], [3, 4, 0]]}");
  run(session, "landmark", "{\"name\": \"l\", \"at_mm\": [1, 2, 3.5]}");
  run(session, "landmark", "{\"name\": \"=1+1\", \"at_mm\": [1, 2, -3.5]}");
  g_assert_cmpint(pla_table_write_csv(session, csv, NULL, &n, &err), ==, PLA_OK);
  g_assert_cmpint(n, ==, 6); /* one label, a distance and its two points, two landmarks */
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(csv, &text, NULL, NULL));
  g_assert_nonnull(strstr(text, "\"a, b\",labels,"));
  g_assert_nonnull(strstr(text, "d,measurement,d,distance,5,mm,,,\n"));
  g_assert_nonnull(strstr(text, "l,landmark,l,point,,,1,2,3.5\n"));
  /* a name that a spreadsheet would compute; numbers below 0 stay numbers */
  g_assert_nonnull(strstr(text, "'=1+1,landmark,'=1+1,point,,,1,2,-3.5\n"));
  g_assert_null(strstr(text, "\n=1+1"));
  g_object_unref(session);
  g_remove(path);
  g_remove(csv);
  g_rmdir(dir);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/export/print-check", test_print_check);
  g_test_add_func("/export/table", test_table);
  return g_test_run();
}

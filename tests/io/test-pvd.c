/* Series of meshes: there and back, and lists that must be refused. */
#include "io/formats/pvd.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <string.h>

static void
test_round_trip(void)
{
  g_autofree char *path = pla_test_path("motion.pvd");
  static const double time_s[] = { 0.0, 0.04, 1e-3 + 0.04, 12.5 };
  static const char *const file[] = { "a.vtu", "frames/b & c.vtu", "d\"e\".vtu", "..f.vtu" };
  PlaPvd pvd;
  PlaError err;
  g_assert_cmpint(pla_pvd_write(path, 4, time_s, file, &err), ==, PLA_OK);
  g_assert_cmpint(pla_pvd_read(path, &pvd, &err), ==, PLA_OK);
  g_assert_cmpint(pvd.n, ==, 4);
  for (int i = 0; i < 4; i++) {
    g_assert_cmpfloat(pvd.time_s[i], ==, time_s[i]);
    g_assert_cmpstr(pvd.file[i], ==, file[i]);
  }
  pla_pvd_clear(&pvd);

  /* cut anywhere: a sentence, never half a list */
  g_autofree char *text = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(path, &text, &size, NULL));
  for (gsize n = 0; n + 12 < size; n++) {
    g_assert_true(g_file_set_contents(path, text, (gssize)n, NULL));
    g_assert_cmpint(pla_pvd_read(path, &pvd, &err), !=, PLA_OK);
    g_assert_nonnull(strstr(err.message, "motion.pvd"));
    g_assert_cmpint(pvd.n, ==, 0);
  }
}

static void
test_refused(void)
{
  static const char *const lists[] = {
    "<VTKFile type=\"UnstructuredGrid\"></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet timestep=\"0\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet "
    "file=\"/etc/passwd\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet file=\"../a.vtu\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet "
    "file=\"a/../../b.vtu\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet file=\"a\" "
    "timestep=\"soon\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet file=\"a\" "
    "timestep=\"nan\"/></Collection></VTKFile>",
    "<VTKFile type=\"Collection\"><Collection><DataSet file=\"a\" timestep=\"2\"/>"
    "<DataSet file=\"b\" timestep=\"1\"/></Collection></VTKFile>",
    "",
    "not a list",
  };
  g_autofree char *path = pla_test_path("bad.pvd");
  for (size_t i = 0; i < G_N_ELEMENTS(lists); i++) {
    PlaPvd pvd;
    PlaError err;
    g_assert_true(g_file_set_contents(path, lists[i], -1, NULL));
    g_assert_cmpint(pla_pvd_read(path, &pvd, &err), ==, PLA_ERR_FORMAT);
    g_assert_nonnull(strstr(err.message, "bad.pvd"));
  }
  PlaPvd pvd;
  PlaError err;
  g_assert_cmpint(pla_pvd_read("/nowhere/a.pvd", &pvd, &err), ==, PLA_ERR_IO);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/pvd/round-trip", test_round_trip);
  g_test_add_func("/pvd/refused", test_refused);
  return g_test_run();
}

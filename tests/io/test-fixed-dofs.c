/* Lists of fixed degrees of freedom: as written, cut short, and absurd. */
#include "io/formats/fixed-dofs.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

static void
test_list(void)
{
  static const int expected[] = { 0, 1, 2, 33 };
  static const char *const texts[] = { "4\n0,1,2,33\n", "4 0 1\t2\r\n, 33", "4,0,1,2,33,44" };
  g_autofree char *path = pla_test_path("fixed.txt");
  for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
    int *fixed = NULL, n = 0;
    PlaError err = { 0 };
    g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
    g_assert_cmpint(pla_fixed_dofs_read(path, &fixed, &n, &err), ==, PLA_OK);
    g_assert_cmpmem(fixed, (size_t)n * sizeof *fixed, expected, sizeof expected);
    free(fixed);
  }
}

static void
test_refused(void)
{
  static const char *const texts[] = {
    "",       "none",        "0",       "-3 1 2 3", "3 1 2",
    "2 1 -7", "1 100000001", "99999 1", "2 1 x",    "1 99999999999999999999"
  };
  g_autofree char *path = pla_test_path("bad.txt");
  int *fixed = NULL, n = 0;
  PlaError err = { 0 };
  for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_assert_true(g_file_set_contents(path, texts[i], -1, NULL));
    g_assert_cmpint(pla_fixed_dofs_read(path, &fixed, &n, &err), ==, PLA_ERR_FORMAT);
    g_assert_nonnull(strstr(err.message, "bad.txt"));
    g_assert_null(fixed);
    g_assert_cmpint(n, ==, 0);
  }
  g_assert_cmpint(pla_fixed_dofs_read("/nowhere/fixed.txt", &fixed, &n, &err), ==, PLA_ERR_IO);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/fixed-dofs/list", test_list);
  g_test_add_func("/fixed-dofs/refused", test_refused);
  return g_test_run();
}

/* `speak --sensors`: a tongue given as a mesh follows a recorded track; what it writes, and what it
 * refuses. */
#include "anatomy/signal/signal.h"
#include "app/cli/command.h"
#include "io/formats/format.h"
#include "io/formats/pvd.h"
#include "tests/app/verb-test.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>

static char *folder;

static char *
in_folder(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

/* a plain table of coils over a ball of 25 mm: x to the back, y down */
static void
write_coils(const char *name, int n_frames, double amount)
{
  static const double rest[7][2] = { { -12, 20.5 }, { -2, 24 }, { 9, 22.5 }, { 18, 16 },
                                     { 30, -6 },    { 40, 10 }, { 40, -8 } };
  g_autofree char *path = in_folder(name);
  g_autoptr(GString) text = g_string_new(NULL);
  g_string_printf(text, "%d 15\n", n_frames);
  for (int i = 0; i < n_frames; i++) {
    g_string_append(text, "0");
    for (int c = 0; c < 14; c++)
      g_string_append_printf(text, " %.6f",
                             100.0 - rest[c / 2][c % 2] +
                                 amount * (c < 8 ? 1.0 : 0.3) *
                                     sin(0.4 * i + 0.4 * (c / 2) + c % 2));
    g_string_append(text, "\n");
  }
  g_assert_true(g_file_set_contents(path, text->str, -1, NULL));
}

static double
number(JsonObject *o, const char *key)
{
  g_assert_true(json_object_has_member(o, key));
  return json_object_get_double_member(o, key);
}

static void
test_run(void)
{
  g_autofree char *mesh = in_folder("ball.vtu"), *surface = in_folder("ball.stl");
  g_autofree char *track = in_folder("coils.txt"), *more = in_folder("more.txt");
  g_autofree char *out = in_folder("out.csv"), *list = in_folder("ball.pvd");
  g_autofree char *picture = in_folder("ball.png");
  write_coils("coils.txt", 24, 2.0);
  write_coils("more.txt", 10, 2.5);
  g_autofree char *words = g_strdup_printf("phantom sphere-surface -o %s --spacing-mm 8", surface);
  json_object_unref(verb_test_run(words, 0));
  g_free(words);
  words = g_strdup_printf("mesh %s --method tets --cell-mm 12 -o %s", surface, mesh);
  json_object_unref(verb_test_run(words, 0));
  g_free(words);
  words = g_strdup_printf("speak --sensors %s --speaker %s --mesh %s --forward y --up z -o %s "
                          "--animation %s --picture %s --at 0.1",
                          track, more, mesh, out, list, picture);
  JsonObject *o = verb_test_run(words, 0);
  g_assert_cmpint(json_object_get_int_member(o, "frames"), ==, 24);
  g_assert_cmpint(json_object_get_int_member(o, "degrees_of_freedom"), ==, 150);
  g_assert_cmpfloat(number(o, "seconds"), ==, 0.24);
  g_assert_cmpfloat(number(o, "realtime_factor"), >, 0.0);
  g_assert_cmpfloat(number(o, "max_volume_change"), <, 0.02);
  g_assert_cmpfloat(number(o, "max_penetration_mm"), <, 0.5);
  g_assert_cmpfloat(number(o, "sensor_error_mm"), <, 1e-6);
  g_assert_cmpint(json_object_get_int_member(o, "projected_targets"), ==, 0);
  json_object_unref(o);
  /* the track, and what the tongue adds */
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaPvd pvd;
  PlaError err;
  g_assert_cmpint(pla_item_read(out, &opts, &item, &err), ==, PLA_OK);
  g_assert_cmpint(item.track->n_channels, ==, 22);
  g_assert_cmpint(item.track->n_samples, ==, 24);
  g_assert_cmpstr(item.track->name[14], ==, "jaw_deg");
  pla_item_clear(&item);
  g_assert_cmpint(pla_pvd_read(list, &pvd, &err), ==, PLA_OK);
  g_assert_cmpint(pvd.n, ==, 24);
  pla_pvd_clear(&pvd);
  g_assert_true(g_file_test(picture, G_FILE_TEST_EXISTS));
}

static void
test_refused(void)
{
  g_autofree char *track = in_folder("coils.txt"), *mesh = in_folder("ball.vtu");
  g_autofree char *bad = in_folder("fixed.txt");
  static const char *const files[] = { "", "0", "3 1 2", "2 5 99999999", "many" };
  write_coils("coils.txt", 6, 1.0);
  for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
    g_assert_true(g_file_set_contents(bad, files[i], -1, NULL));
    g_autofree char *words =
        g_strdup_printf("speak --sensors %s --mesh %s --fixed %s", track, mesh, bad);
    json_object_unref(verb_test_run(words, 2));
  }
  g_autofree char *axes =
      g_strdup_printf("speak --sensors %s --mesh %s --forward y --up y", track, mesh);
  json_object_unref(verb_test_run(axes, 2));
  g_autofree char *none = g_strdup_printf("speak --sensors %s --fixed %s", track, bad);
  json_object_unref(verb_test_run(none, 2));
  g_autofree char *kind = g_strdup_printf("speak --sensors %s", mesh);
  json_object_unref(verb_test_run(kind, 2));
  g_autofree char *muscles =
      g_strdup_printf("speak --sensors %s --mesh %s --muscles x.png", track, mesh);
  json_object_unref(verb_test_run(muscles, 2));
  g_autofree char *moving =
      g_strdup_printf("speak --sensors %s --mesh %s --animation x.vtu", track, mesh);
  json_object_unref(verb_test_run(moving, 2));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-speak-XXXXXX", NULL);
  g_test_add_func("/speak-tongue/run", test_run);
  g_test_add_func("/speak-tongue/refused", test_refused);
  const int status = g_test_run();
  g_autofree char *clean = g_strdup_printf("rm -rf %s", folder);
  g_assert_true(g_spawn_command_line_sync(clean, NULL, NULL, NULL, NULL));
  g_free(folder);
  return status;
}

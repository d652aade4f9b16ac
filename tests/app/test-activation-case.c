/* Active bodies in cases, by the command line: made, fitted and moved as operations of the log,
 * undone, redone and replayed to the same hashes on one thread and on two. */
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

static char *folder;

/* the hash of the state after the newest operation; g_free() */
static char *
newest_state(const char *path, int expected)
{
  g_autoptr(JsonObject) log = verb_test_runf(0, "case log %s", path);
  JsonArray *all = json_object_get_array_member(log, "log");
  g_assert_cmpint(json_array_get_length(all), ==, expected);
  return g_strdup(
      json_object_get_string_member(json_array_get_object_element(all, expected - 1), "state"));
}

static void
test_case(void)
{
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("too slow with sanitizers");
    return;
  }
  char *state[2];
  json_object_unref(verb_test_runf(
      0,
      "muscles activate phantom:tongue --cell-mm 10 --random 3 --seconds 0.2 --rate-hz 30 "
      "--track %s/truth.csv --markers %s/take.c3d",
      folder, folder));
  for (int k = 0; k < 2; k++) {
    g_autofree char *path = g_strdup_printf("%s/case%d.platysma", folder, k);
    json_object_unref(verb_test_runf(0, "case new %s", path));
    json_object_unref(verb_test_runf(
        0, "case apply %s active-body '{\"phantom\":\"tongue\",\"cell_mm\":10}' --threads %d", path,
        k + 1));
    json_object_unref(
        verb_test_runf(0, "case import %s %s/take.c3d %s/truth.csv", path, folder, folder));
    json_object_unref(
        verb_test_runf(0,
                       "case apply %s fit '{\"muscles\":\"tongue muscles\",\"markers\":\"take\","
                       "\"rounds\":1}' --threads %d",
                       path, k + 1));
    json_object_unref(
        verb_test_runf(0,
                       "case apply %s activate '{\"muscles\":\"tongue muscles\",\"track\":\"take, "
                       "activations\"}' --threads %d",
                       path, k + 1));
    state[k] = newest_state(path, 5);
    json_object_unref(verb_test_runf(0, "case undo %s", path));
    json_object_unref(verb_test_runf(0, "case undo %s", path));
    json_object_unref(verb_test_runf(0, "case redo %s", path));
    json_object_unref(verb_test_runf(0, "case redo %s", path));
    g_autofree char *again = newest_state(path, 5);
    g_assert_cmpstr(again, ==, state[k]);
    if (k == 0) { /* made on one thread, replayed on two */
      g_autoptr(JsonObject) replay = verb_test_runf(0, "case replay %s --threads 2", path);
      g_assert_cmpint(json_object_get_int_member(replay, "equal"), ==, 5);
    }
    /* what is not there is named */
    g_autoptr(JsonObject) refused =
        verb_test_runf(2, "case apply %s fit '{\"muscles\":\"jaw muscles\",\"markers\":\"take\"}'",
                       path);
    g_assert_nonnull(strstr(json_object_get_string_member(refused, "error"), "jaw muscles"));
    g_remove(path);
  }
  g_assert_cmpstr(state[0], ==, state[1]);
  g_free(state[0]);
  g_free(state[1]);
}

static void
remove_files(const char *const *name)
{
  for (; *name; name++) {
    g_autofree char *path = g_build_filename(folder, *name, NULL);
    g_remove(path);
  }
}

/* strengths of muscles that are a quarter stronger than those of the model, from a take with its
 * activations */
static void
test_strengths(void)
{
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("too slow with sanitizers");
    return;
  }
  json_object_unref(
      verb_test_runf(0,
                     "muscles activate phantom:tongue --cell-mm 10 --strength 1.25 --random 3 "
                     "--seconds 0.4 --rate-hz 30 --track %s/known.csv --markers %s/known.c3d",
                     folder, folder));
  g_autoptr(JsonObject) found = verb_test_runf(
      0,
      "fit phantom:tongue %s/known.c3d --cell-mm 10 --activations %s/known.csv -o %s/strengths.csv",
      folder, folder, folder);
  g_autofree char *table = g_build_filename(folder, "strengths.csv", NULL), *text = NULL;
  g_assert_true(g_file_get_contents(table, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  int n_sure = 0;
  double worst = 0.0;
  for (int i = 1; lines[i] && *lines[i]; i++) {
    const char *number = strstr(lines[i], "\",") + 2; /* names have commas, and stand in quotes */
    char *rest;
    const double strength = g_ascii_strtod(number, &rest), error = g_ascii_strtod(rest + 1, NULL);
    if (error < 0.002) {
      worst = fmax(worst, fabs(strength - 1.25));
      n_sure++;
    }
  }
  g_test_message("%d muscles are sure, %.3f off at most; %.4f mm rms", n_sure, worst,
                 json_object_get_double_member(found, "rms_mm"));
  g_assert_cmpint(n_sure, >=, 3);
  g_assert_cmpfloat(worst, <, 0.1);
  g_assert_cmpfloat(json_object_get_double_member(found, "rms_mm"), <, 0.05);
  remove_files((const char *[]){ "known.csv", "known.c3d", "strengths.csv", NULL });
}

/* flesh that is a third stiffer than the model's is found to be so, and is told as Young's modulus
 */
static void
test_stiffness(void)
{
  if (g_getenv("PLA_SMALL")) {
    g_test_skip("too slow with sanitizers");
    return;
  }
  json_object_unref(
      verb_test_runf(0,
                     "muscles activate phantom:tongue --cell-mm 10 --young-pa 16000 --random 3 "
                     "--seconds 0.3 --rate-hz 30 --track %s/known.csv --markers %s/known.c3d",
                     folder, folder));
  g_autoptr(JsonObject) found = verb_test_runf(
      0,
      "fit phantom:tongue %s/known.c3d --cell-mm 10 --young-pa 12000 --activations %s/known.csv "
      "--identify stiffness -o %s/flesh.csv",
      folder, folder, folder);
  g_test_message("stiffness %.4f, expected error %.4f",
                 json_object_get_double_member(found, "stiffness"),
                 json_object_get_double_member(found, "stiffness_expected_error"));
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(found, "stiffness"), 4.0 / 3.0,
                                 0.01);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(found, "young_pa"), 16000.0, 120.0);
  g_assert_false(json_object_has_member(found, "strength_min"));
  g_autofree char *table = g_build_filename(folder, "flesh.csv", NULL), *text = NULL;
  g_assert_true(g_file_get_contents(table, &text, NULL, NULL));
  g_assert_true(g_str_has_prefix(text, "muscle,strength,expected_error\nflesh stiffness,1.33"));
  /* what cannot be sought is named, and so is what is missing */
  g_autoptr(JsonObject) wrong = verb_test_runf(
      2,
      "fit phantom:tongue %s/known.c3d --cell-mm 10 --activations %s/known.csv --identify colour "
      "-o %s/none.csv",
      folder, folder, folder);
  g_assert_nonnull(strstr(json_object_get_string_member(wrong, "error"), "'colour'"));
  g_autoptr(JsonObject) bare = verb_test_runf(
      2, "fit phantom:tongue %s/known.c3d --cell-mm 10 --identify stiffness -o %s/none.csv", folder,
      folder);
  g_assert_nonnull(strstr(json_object_get_string_member(bare, "error"), "known activations"));
  remove_files((const char *[]){ "known.csv", "known.c3d", "flesh.csv", NULL });
}

/* a body keeps the formulation that it was made with, unless another is asked for */
static void
test_formulation(void)
{
  static const char set[] = "--set \"genioglossus anterior, left=0.5\"";
  g_autofree char *path = g_build_filename(folder, "mixed.platysma", NULL);
  json_object_unref(verb_test_runf(0, "case new %s", path));
  json_object_unref(verb_test_runf(0,
                                   "case apply %s active-body '{\"phantom\":\"tongue\","
                                   "\"cell_mm\":10,\"formulation\":\"mixed\"}'",
                                   path));
  const struct {
    const char *model, *file;
  } runs[] = { { path, "kept.csv" },
               { "phantom:tongue --cell-mm 10 --formulation mixed", "mixed.csv" },
               { "phantom:tongue --cell-mm 10", "standard.csv" } };
  char *take[4];
  for (int k = 0; k < 4; k++) {
    const char *file = k < 3 ? runs[k].file : "changed.csv";
    g_autofree char *model =
        k < 3 ? g_strdup(runs[k].model) : g_strdup_printf("%s --formulation standard", path);
    g_autofree char *name = g_build_filename(folder, file, NULL);
    json_object_unref(verb_test_runf(0, "muscles activate %s %s --markers %s", model, set, name));
    g_assert_true(g_file_get_contents(name, &take[k], NULL, NULL));
    g_remove(name);
  }
  g_assert_cmpstr(take[0], ==, take[1]);
  g_assert_cmpstr(take[2], ==, take[3]);
  g_assert_cmpstr(take[0], !=, take[2]);
  for (int k = 0; k < 4; k++)
    g_free(take[k]);
  g_autoptr(JsonObject) wrong =
      verb_test_runf(2, "muscles activate phantom:tongue --cell-mm 10 %s --formulation quadratic",
                     set);
  g_assert_nonnull(strstr(json_object_get_string_member(wrong, "error"), "'quadratic'"));
  g_remove(path);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-case-XXXXXX", NULL);
  g_test_add_func("/activation-case/operations", test_case);
  g_test_add_func("/activation-case/strengths", test_strengths);
  g_test_add_func("/activation-case/stiffness", test_stiffness);
  g_test_add_func("/activation-case/formulation", test_formulation);
  const int status = g_test_run();
  for (int i = 0; i < 2; i++) {
    g_autofree char *path = g_build_filename(folder, i ? "take.c3d" : "truth.csv", NULL);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}

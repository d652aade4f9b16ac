/* Speech on the command line: a corpus is made in each format, a network learns from it, a sound
 * and a text become tracks. */
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *dir;

static char *
path_of(const char *name)
{
  return g_build_filename(dir, name, NULL);
}

static double
number(JsonObject *object, const char *key)
{
  return json_object_get_double_member(object, key);
}

/* one speaker's corpus in three formats gives the same network; a held-out set is scored */
static void
test_train(void)
{
  static const char *const formats[] = { "csv", "ema", "mat" };
  const char *minutes = "0.55";
  double scores[3];
  for (int f = 0; f < 3; f++) {
    g_autofree char *make = g_strdup_printf("speech-corpus -o %s/%s --minutes %s --format %s", dir,
                                            formats[f], minutes, formats[f]);
    g_autofree char *train = g_strdup_printf(
        "speech-train %s/%s/corpus.json -o %s/%s.net --layers 2 --units 64 --epochs 12 --smooth 9",
        dir, formats[f], dir, formats[f]);
    g_autofree char *eval = g_strdup_printf("speech-eval %s/%s.net %s/%s/corpus.json", dir,
                                            formats[f], dir, formats[f]);
    json_object_unref(verb_test_run(make, 0));
    JsonObject *trained = verb_test_run(train, 0), *scored = verb_test_run(eval, 0);
    scores[f] = number(scored, "mean_correlation");
    g_assert_cmpfloat(scores[f], ==, number(trained, "mean_correlation"));
    g_assert_cmpuint(json_array_get_length(json_object_get_array_member(scored, "sensors")), ==, 7);
    g_assert_cmpint(json_object_get_int_member(scored, "frames"), >, 100);
    g_test_message("%s: correlation %.3f, rmse %.2f mm", formats[f], scores[f],
                   number(scored, "mean_rmse_mm"));
    g_assert_cmpfloat(scores[f], >, 0.5);
    json_object_unref(trained);
    json_object_unref(scored);
  }
  /* the corpus of a relative path is the same */
  g_autofree char *was = g_get_current_dir();
  g_assert_cmpint(g_chdir(dir), ==, 0);
  JsonObject *beside = verb_test_run("speech-eval csv.net csv/corpus.json", 0);
  g_assert_cmpfloat(number(beside, "mean_correlation"), ==, scores[0]);
  json_object_unref(beside);
  g_assert_cmpint(g_chdir(was), ==, 0);
  g_assert_cmpfloat_with_epsilon(scores[0], scores[1], 0.02);
  g_assert_cmpfloat_with_epsilon(scores[0], scores[2], 0.02);
}

/* columns, axes, unit, rate and head coils of another laboratory: the same sensors come out */
static void
test_description(void)
{
  g_autofree char *lab = path_of("lab");
  g_autofree char *text = NULL;
  g_mkdir_with_parents(lab, 0700);
  for (int u = 0; u < 8; u++) {
    g_autofree char *from = g_strdup_printf("%s/csv/utterance%04d.csv", dir, u);
    g_autofree char *to = g_strdup_printf("%s/lab/utterance%04d.csv", dir, u);
    g_assert_true(g_file_get_contents(from, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) out = g_string_new("time_s,coil_px (cm),coil_py (cm),N1_x (cm),N1_y (cm),"
                                          "N2_x (cm),N2_y (cm)\n");
    g_auto(GStrv) head = g_strsplit(lines[0], ",", -1);
    int column = 0;
    while (head[column] && !g_str_has_prefix(head[column], "TT_x"))
      column++;
    g_assert_nonnull(head[column]);
    for (int i = 1; lines[i] && lines[i][0]; i++) {
      g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
      /* columns grow up and to the front, in cm; the head nods and drifts */
      const double y = -0.1 * g_ascii_strtod(cells[column], NULL);
      const double z = -0.1 * g_ascii_strtod(cells[column + 1], NULL);
      const double a = 0.05 * sin(0.01 * i), shift = 0.02 * sin(0.013 * i + u);
      const double coil[3][2] = { { z, y }, { -3.0, -1.0 }, { -3.5, -4.0 } };
      g_string_append(out, cells[0]);
      for (int k = 0; k < 3; k++)
        g_string_append_printf(out, ",%.7f,%.7f", cos(a) * coil[k][0] - sin(a) * coil[k][1] + shift,
                               sin(a) * coil[k][0] + cos(a) * coil[k][1]);
      g_string_append_c(out, '\n');
    }
    g_assert_true(g_file_set_contents(to, out->str, -1, NULL));
    g_clear_pointer(&text, g_free);
  }
  g_autoptr(GString) json = g_string_new(
      "{\"sensors\": [\"TT\"], \"columns\": {\"TT_x\": \"coil_px\", \"TT_y\": \"coil_py\"},"
      " \"axes\": {\"x\": \"up\", \"y\": \"front\"}, \"head\": [\"N1\", \"N2\"], \"smooth\": 1,"
      " \"split\": {\"by\": \"utterance\", \"valid\": 0.25, \"test\": 0.25}, \"utterances\": [");
  for (int u = 0; u < 8; u++)
    g_string_append_printf(json,
                           "%s{\"audio\": \"../csv/utterance%04d.wav\", "
                           "\"track\": \"utterance%04d.csv\"}",
                           u ? "," : "", u, u);
  g_string_append(json, "]}");
  g_autofree char *corpus = g_build_filename(lab, "corpus.json", NULL);
  g_assert_true(g_file_set_contents(corpus, json->str, -1, NULL));
  g_autofree char *train =
      g_strdup_printf("speech-train %s -o %s/lab.net --layers 1 --units 16 --epochs 2", corpus,
                      dir);
  JsonObject *trained = verb_test_run(train, 0);
  JsonObject *tip =
      json_array_get_object_element(json_object_get_array_member(trained, "sensors"), 0);
  g_assert_cmpstr(json_object_get_string_member(tip, "name"), ==, "TT");
  /* the tip moves by millimetres, not by the head's centimetres */
  g_assert_cmpfloat(number(tip, "deviation_mm"), >, 1.0);
  g_assert_cmpfloat(number(tip, "deviation_mm"), <, 6.0);
  json_object_unref(trained);

  /* mistakes are named */
  g_assert_true(g_file_set_contents(corpus, "{\"utterances\": [], \"rate\": 3}", -1, NULL));
  JsonObject *refused = verb_test_run(train, 2);
  g_assert_nonnull(strstr(json_object_get_string_member(refused, "error"), "rate"));
  json_object_unref(refused);
}

/* a sound becomes a track that reads back; a damaged network is a sentence */
static void
test_speak(void)
{
  g_autofree char *speak = g_strdup_printf(
      "speak %s/csv/utterance0001.wav --track-only --model %s/csv.net -o %s/track.csv", dir, dir,
      dir);
  JsonObject *spoken = verb_test_run(speak, 0);
  g_assert_cmpfloat(number(spoken, "seconds"), >, 3.0);
  g_assert_cmpfloat(number(spoken, "realtime_factor"), >, 0.0);
  g_autofree char *info = g_strdup_printf("info %s/track.csv", dir);
  JsonObject *about = verb_test_run(info, 0);
  g_assert_cmpint(json_object_get_int_member(about, "samples"), ==,
                  json_object_get_int_member(spoken, "frames"));
  json_object_unref(spoken);
  json_object_unref(about);

  g_autofree char *net = path_of("csv.net");
  g_autofree char *bytes = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(net, &bytes, &size, NULL));
  bytes[size / 2] ^= 1;
  g_autofree char *bad = path_of("bad.net");
  g_assert_true(g_file_set_contents(bad, bytes, (gssize)size, NULL));
  g_autofree char *refuse =
      g_strdup_printf("speak %s/csv/utterance0001.wav --model %s/bad.net -o %s/none.csv", dir, dir,
                      dir);
  json_object_unref(verb_test_run(refuse, 2));
  g_autofree char *none = path_of("none.csv");
  g_assert_false(g_file_test(none, G_FILE_TEST_EXISTS));
  json_object_unref(verb_test_run("speak", 2));
}

/* value of the track's channel at time @t */
static double
track_at(const char *path, const char *channel, double t)
{
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  g_auto(GStrv) head = g_strsplit(lines[0], ",", -1);
  int column = 0;
  while (head[column] && !g_str_has_prefix(head[column], channel))
    column++;
  g_assert_nonnull(head[column]);
  for (int i = 1; lines[i] && lines[i][0]; i++) {
    g_auto(GStrv) cells = g_strsplit(lines[i], ",", -1);
    if (g_ascii_strtod(cells[0], NULL) >= t)
      return g_ascii_strtod(cells[column], NULL);
  }
  g_assert_not_reached();
}

static double
middle_of(JsonObject *spoken, const char *ipa)
{
  JsonArray *phonemes = json_object_get_array_member(spoken, "phonemes");
  for (guint i = 0; i < json_array_get_length(phonemes); i++) {
    JsonObject *p = json_array_get_object_element(phonemes, i);
    if (strcmp(json_object_get_string_member(p, "ipa"), ipa) == 0)
      return 0.5 * (number(p, "from_s") + number(p, "to_s"));
  }
  g_error("no %s", ipa);
}

/* "tea": the tip is at the ridge in [t], the tongue high and in front in [i]; "art" low and back */
static void
test_text(void)
{
  g_autofree char *track = path_of("text.csv");
  g_autofree char *say =
      g_strdup_printf("speak --text tea --track-only --voice en-us+f2 -o %s --sound %s/t.wav",
                      track, dir);
  JsonObject *tea = verb_test_run(say, 0);
  const double t = middle_of(tea, "t"), i = middle_of(tea, "i");
  g_assert_cmpfloat(track_at(track, "TT_y", t), <, track_at(track, "TT_y", i) - 3.0);
  const double front = track_at(track, "TD_x", i), up = track_at(track, "TD_y", i);
  json_object_unref(tea);
  g_autofree char *again =
      g_strdup_printf("speak --text art --track-only --voice en-us -o %s", track);
  JsonObject *art = verb_test_run(again, 0);
  const double a = middle_of(art, "ɑ");
  g_assert_cmpfloat(track_at(track, "TD_x", a), >, front + 5.0);
  g_assert_cmpfloat(track_at(track, "TD_y", a), >, up + 8.0);
  json_object_unref(art);
  json_object_unref(verb_test_run("speak --text hello --voice nobody -o x.csv", 2));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  dir = g_dir_make_tmp("platysma-speech-XXXXXX", NULL);
  g_test_add_func("/speech-verb/train", test_train);
  g_test_add_func("/speech-verb/description", test_description);
  g_test_add_func("/speech-verb/speak", test_speak);
  g_test_add_func("/speech-verb/text", test_text);
  const int status = g_test_run();
  g_autofree char *remove = g_strdup_printf("rm -rf %s", dir);
  if (status == 0)
    g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL);
  g_free(dir);
  return status;
}

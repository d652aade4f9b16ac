/* `platysma-cli physemes`: from takes with phonemes to a new sentence. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib/gstdio.h>
#include <math.h>

enum { FRAMES = 121 };
#define RATE 60.0

static char *folder;

static char *
in_folder(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

static void
write_item(const char *name, const PlaItem *item)
{
  g_autofree char *path = in_folder(name);
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  if (pla_item_write(path, item, &opts, &err) != PLA_OK)
    g_error("%s", err.message);
}

static PlaTrack *
read_track(const char *name)
{
  g_autofree char *path = in_folder(name);
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  if (pla_item_read(path, &opts, &item, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(item.kind, ==, PLA_KIND_TRACK);
  PlaTrack *track = g_steal_pointer(&item.track);
  pla_item_clear(&item);
  return track;
}

/* two muscles, the jaw and the head over two seconds: "a" until 1 s, then "b" */
static void
write_take(const char *track_name, const char *phones_name, double phase)
{
  static const char *const name[] = { "smile",   "frown",   "jaw opening", "head tx", "head ty",
                                      "head tz", "head rx", "head ry",     "head rz" };
  static const char *const unit[] = { "", "", "deg", "mm", "mm", "mm", "deg", "deg", "deg" };
  PlaItem item = { .kind = PLA_KIND_TRACK }, phones = { .kind = PLA_KIND_PHONES };
  PlaError err = { 0 };
  g_assert_cmpint(pla_track_new(FRAMES, 9, &item.track, &err), ==, PLA_OK);
  item.track->rate_hz = RATE;
  for (int c = 0; c < 9; c++) {
    item.track->name[c] = strdup(name[c]);
    item.track->unit[c] = strdup(unit[c]);
  }
  for (int f = 0; f < FRAMES; f++) {
    const double t = f / RATE;
    const double row[9] = { 0.5 + 0.5 * sin(5.0 * t + phase),
                            0.5 + 0.4 * cos(3.0 * t + phase),
                            12.0 + 10.0 * sin(4.0 * t),
                            3.0 * t,
                            40.0,
                            0.0,
                            4.0 * t,
                            0.0,
                            0.0 };
    memcpy(item.track->value + 9 * f, row, sizeof row);
  }
  write_item(track_name, &item);
  g_assert_cmpint(pla_phones_add(&phones.phones, 0.2, 1.0, "a", &err), ==, PLA_OK);
  g_assert_cmpint(pla_phones_add(&phones.phones, 1.0, 1.8, "b", &err), ==, PLA_OK);
  write_item(phones_name, &phones);
  pla_item_clear(&item);
  pla_item_clear(&phones);
}

static void
write_text(const char *name, const char *text)
{
  g_autofree char *path = in_folder(name);
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static JsonObject *
run(int status, const char *words)
{
  /* names beginning with @ lie in the folder */
  g_auto(GStrv) part = g_strsplit(words, "@", -1);
  g_autofree char *prefix = g_strdup_printf("%s/", folder);
  g_autofree char *line = g_strjoinv(prefix, part);
  return verb_test_run(line, status);
}

static void
test_own_words(void)
{
  write_take("one.csv", "one.TextGrid", 0.0);
  write_take("two.csv", "two.lab", 1.0);
  JsonObject *built =
      run(0, "physemes build @one.csv @one.TextGrid @two.csv @two.lab -o @voice.json");
  g_assert_cmpint(json_object_get_int_member(built, "takes"), ==, 2);
  g_assert_cmpint(json_object_get_int_member(built, "physemes"), ==, 4);
  g_assert_cmpint(json_object_get_int_member(built, "controls"), ==, 3);
  json_object_unref(built);
  g_autofree char *path = in_folder("voice.json"), *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_null(strstr(text, folder)); /* relative, so that the folder can move */

  /* its phonemes at their own times give back a take whole: the first of the two, with equal costs
   */
  JsonObject *spoken = run(0, "physemes speak @voice.json --phonemes @two.lab -o @said.csv");
  g_assert_cmpfloat(json_object_get_double_member(spoken, "cost"), <, 1e-9);
  json_object_unref(spoken);
  PlaTrack *meant = read_track("one.csv"), *said = read_track("said.csv");
  g_assert_cmpint(said->n_channels, ==, 9);
  g_assert_cmpfloat(said->rate_hz, ==, RATE);
  for (int f = 0; f < said->n_samples; f++) {
    const double t = said->start_s + f / RATE;
    const int frame = (int)lround(t * RATE);
    for (int c = 0; c < 3; c++)
      g_assert_cmpfloat_with_epsilon(said->value[9 * f + c], meant->value[9 * frame + c], 1e-9);
    /* 3 mm/s and 4 deg/s all along */
    if (f > 0) {
      g_assert_cmpfloat_with_epsilon(said->value[9 * f + 3] - said->value[9 * (f - 1) + 3],
                                     4.0 / RATE, 1e-6);
      g_assert_cmpfloat_with_epsilon(said->value[9 * f + 6] - said->value[9 * (f - 1) + 6],
                                     3.0 / RATE, 1e-6);
    }
  }
  pla_track_free(meant);
  pla_track_free(said);
}

/* a smile on top raises one activation, never above 1, and leaves the jaw alone */
static void
test_expression(void)
{
  write_text("smile.csv", "time,smile\n0,0.4\n0.5,0.4\n");
  json_object_unref(run(0, "physemes speak @voice.json --phonemes @two.lab -o @plain.csv"));
  json_object_unref(run(0, "physemes speak @voice.json --phonemes @two.lab -o @smiling.csv "
                           "--expression @smile.csv --strength 0.5"));
  PlaTrack *plain = read_track("plain.csv"), *smiling = read_track("smiling.csv");
  g_assert_cmpint(plain->n_samples, ==, smiling->n_samples);
  for (int f = 0; f < plain->n_samples; f++) {
    const double *a = plain->value + 9 * f, *b = smiling->value + 9 * f;
    g_assert_cmpfloat_with_epsilon(b[0], fmin(a[0] + 0.2, 1.0), 1e-9);
    for (int c = 1; c < 9; c++)
      g_assert_cmpfloat(a[c], ==, b[c]);
  }
  pla_track_free(plain);
  pla_track_free(smiling);
}

static void
expect_error(JsonObject *object, const char *words)
{
  const char *error = json_object_get_string_member(object, "error");
  if (!strstr(error, words))
    g_error("expected '%s', got: %s", words, error);
  json_object_unref(object);
}

static void
test_refusals(void)
{
  write_text("new.lab", "0 0.2 a\n0.2 0.4 zh\n");
  write_text("late.lab", "5 6 a\n");
  write_text("bad.json", "{\"takes\": [{\"track\": \"one.csv\"}]}");
  write_text("negative.json", "{\"takes\": [{\"track\": \"one.csv\", \"phonemes\": \"two.lab\"}], "
                              "\"weights\": {\"smile\": -1}}");
  expect_error(run(1, "physemes speak @voice.json --phonemes @new.lab -o @x.csv"),
               "no take contains \"zh\"");
  expect_error(run(2, "physemes build @one.csv @late.lab -o @x.json"), "outside the take");
  expect_error(run(2, "physemes build @one.csv -o @x.json"), "each fitted take with its phonemes");
  expect_error(run(2, "physemes build @one.TextGrid @one.csv -o @x.json"), "'track' is needed");
  expect_error(run(2, "physemes speak @bad.json --phonemes @two.lab -o @x.csv"),
               "has no \"phonemes\"");
  expect_error(run(2, "physemes speak @negative.json --phonemes @two.lab -o @x.csv"), "negative");
  expect_error(run(2, "physemes speak @voice.json --phonemes @two.lab -o @x.csv "
                      "--expression @two.lab"),
               "a track is needed");
  expect_error(run(2, "physemes sing @voice.json"), "build and speak");
  expect_error(run(2, "physemes speak @voice.json -o @x.csv"), "give what to speak");
  g_autofree char *path = in_folder("x.json");
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-physemes-XXXXXX", NULL);
  g_test_add_func("/physemes/own-words", test_own_words);
  g_test_add_func("/physemes/expression", test_expression);
  g_test_add_func("/physemes/refusals", test_refusals);
  const int status = g_test_run();
  g_autofree char *command = g_strdup_printf("rm -r '%s'", folder);
  g_assert_cmpint(system(command), ==, 0);
  g_free(folder);
  return status;
}

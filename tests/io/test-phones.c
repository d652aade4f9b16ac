/* Phonemes with their times: TextGrid, HTK and label files. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* "cheese" as Praat writes it, a word tier first, a remark, a quote inside a text */
static const char long_grid[] = "File type = \"ooTextFile\"\n"
                                "Object class = \"TextGrid\"\n"
                                "\n"
                                "xmin = 0 \n"
                                "xmax = 0.6 \n"
                                "tiers? <exists> \n"
                                "size = 3 \n"
                                "item []: \n"
                                "    item [1]:\n"
                                "        class = \"IntervalTier\" \n"
                                "        name = \"words\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 0.6 \n"
                                "        intervals: size = 1 \n"
                                "        intervals [1]:\n"
                                "            xmin = 0 \n"
                                "            xmax = 0.6 \n"
                                "            text = \"say \"\"cheese\"\" 9\" \n"
                                "    item [2]:\n"
                                "        class = \"TextTier\" \n"
                                "        name = \"clicks\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 0.6 \n"
                                "        points: size = 1 \n"
                                "        points [1]:\n"
                                "            number = 0.25 ! a remark with 12 and \"text\"\n"
                                "            mark = \"x\" \n"
                                "    item [3]:\n"
                                "        class = \"IntervalTier\" \n"
                                "        name = \"phones\" \n"
                                "        xmin = 0 \n"
                                "        xmax = 0.6 \n"
                                "        intervals: size = 4 \n"
                                "        intervals [1]:\n"
                                "            xmin = 0 \n"
                                "            xmax = 0.1 \n"
                                "            text = \"\" \n"
                                "        intervals [2]:\n"
                                "            xmin = 0.1 \n"
                                "            xmax = 0.2 \n"
                                "            text = \"t\xca\x83\" \n"
                                "        intervals [3]:\n"
                                "            xmin = 0.2 \n"
                                "            xmax = 0.45 \n"
                                "            text = \"i\xcb\x90\" \n"
                                "        intervals [4]:\n"
                                "            xmin = 0.45 \n"
                                "            xmax = 0.6 \n"
                                "            text = \"z\" \n";

static const char short_grid[] =
    "File type = \"ooTextFile short\"\n\"TextGrid\"\n\n0\n0.6\n<exists>\n1\n\"IntervalTier\"\n"
    "\"KAN-MAU\"\n0\n0.6\n4\n0\n0.1\n\"\"\n0.1\n0.2\n\"t\xca\x83\"\n0.2\n0.45\n\"i\xcb\x90\"\n"
    "0.45\n0.6\n\"z\"\n";

static const char htk[] = "0 1000000 \n1000000 2000000 t\xca\x83\n2000000 4500000 i\xcb\x90\n"
                          "4500000 6000000 z\n";
static const char seconds[] = "0\t0.1\t\n0.1\t0.2\tt\xca\x83\n0.2\t0.45\ti\xcb\x90\n0.45\t0.6\tz\n";
static const char xwaves[] =
    "signal cheese\nnfields 1\n#\n0.1 125 \n0.2 125 t\xca\x83\n0.45 125 i\xcb\x90\n0.6 125 z\n";

static void
check_cheese(const PlaPhones *phones)
{
  static const double end[] = { 0.1, 0.2, 0.45, 0.6 };
  static const char *const label[] = { "", "t\xca\x83", "i\xcb\x90", "z" };
  g_assert_cmpint(phones->n, ==, 4);
  for (int i = 0; i < 4; i++) {
    g_assert_cmpfloat_with_epsilon(phones->phone[i].start_s, i > 0 ? end[i - 1] : 0.0, 1e-12);
    g_assert_cmpfloat_with_epsilon(phones->phone[i].end_s, end[i], 1e-12);
    g_assert_cmpstr(phones->phone[i].label, ==, label[i]);
  }
}

static void
test_kinds(void)
{
  static const struct {
    const char *name, *text;
  } files[] = { { "a.TextGrid", long_grid },
                { "b.TextGrid", short_grid },
                { "c.lab", htk },
                { "d.lab", seconds },
                { "e.lab", xwaves } };
  for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
    PlaItem item;
    pla_test_read_bytes(&pla_format_phones, files[i].name, files[i].text, strlen(files[i].text),
                        &item);
    check_cheese(&item.phones);
    pla_item_clear(&item);

    g_autofree char *path = pla_test_path(files[i].name);
    const PlaFormat *format = NULL;
    PlaError err = { 0 };
    g_assert_true(g_file_set_contents(path, files[i].text, -1, NULL));
    g_assert_cmpint(pla_format_detect(path, &format, &err), ==, PLA_OK);
    g_assert_true(format == &pla_format_phones);
  }

  /* as Praat saves what is not ASCII */
  for (int big = 0; big < 2; big++) {
    glong n;
    g_autofree gunichar2 *wide = g_utf8_to_utf16(short_grid, -1, NULL, &n, NULL);
    g_autoptr(GByteArray) bytes = g_byte_array_new();
    g_byte_array_append(bytes, (const guint8 *)(big ? "\xfe\xff" : "\xff\xfe"), 2);
    for (glong i = 0; i < n; i++) {
      const guint8 pair[2] = { (guint8)(big ? wide[i] >> 8 : wide[i]),
                               (guint8)(big ? wide[i] : wide[i] >> 8) };
      g_byte_array_append(bytes, pair, 2);
    }
    PlaItem item;
    pla_test_read_bytes(&pla_format_phones, "wide.TextGrid", bytes->data, bytes->len, &item);
    check_cheese(&item.phones);
    pla_item_clear(&item);
  }
}

static void
test_tiers(void)
{
  g_autofree char *path = pla_test_path("tiers.TextGrid");
  g_assert_true(g_file_set_contents(path, long_grid, -1, NULL));
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  opts.tier = "words";
  item = pla_test_item_read(path, &opts);
  g_assert_cmpint(item.phones.n, ==, 1);
  g_assert_cmpstr(item.phones.phone[0].label, ==, "say \"cheese\" 9");
  pla_item_clear(&item);
  opts.tier = "clicks";
  g_assert_cmpint(pla_item_read(path, &opts, &item, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "its tiers are \"words\", \"clicks\", \"phones\""));

  /* the only tier is taken whatever its name, and that is said */
  g_autofree char *other = g_strdup(short_grid);
  memcpy(strstr(other, "KAN-MAU"), "laughs.", 7);
  pla_test_read_bytes(&pla_format_phones, "one.TextGrid", other, strlen(other), &item);
  check_cheese(&item.phones);
  g_assert_true(pla_test_has_note(&item, "laughs."));
  pla_item_clear(&item);
}

static void
test_round_trip(void)
{
  static const char *const names[] = { "out.TextGrid", "out.lab" };
  for (size_t f = 0; f < G_N_ELEMENTS(names); f++) {
    PlaItem item = { .kind = PLA_KIND_PHONES }, back;
    PlaError err = { 0 };
    const double third = 1.0 / 3.0;
    g_assert_cmpint(pla_phones_add(&item.phones, 0.0, third, f ? "a" : "a \"b\"", &err), ==,
                    PLA_OK);
    g_assert_cmpint(pla_phones_add(&item.phones, 0.5, 0.7, "p_h", &err), ==, PLA_OK);
    pla_test_round_trip(&pla_format_phones, names[f], &item, NULL, &back);
    /* the gap is an empty interval in a TextGrid */
    const int gap = f == 0;
    g_assert_cmpint(back.phones.n, ==, 2 + gap);
    g_assert_cmpfloat(back.phones.phone[0].end_s, ==, third);
    g_assert_cmpstr(back.phones.phone[0].label, ==, item.phones.phone[0].label);
    g_assert_cmpfloat(back.phones.phone[1 + gap].start_s, ==, 0.5);
    g_assert_cmpstr(back.phones.phone[1 + gap].label, ==, "p_h");
    pla_item_clear(&item);
    pla_item_clear(&back);
  }
}

#define REFUSE(name, text, ...) pla_test_refuse_text(&pla_format_phones, name, text, __VA_ARGS__)

static void
test_bad_files(void)
{
  REFUSE("bad.lab", "", "no phonemes");
  REFUSE("bad.lab", "0 0.1 a\n0.2 b\n", "line 2");
  REFUSE("bad.lab", "0 0.2 a\n0.1 0.3 b\n", "line 2", "before \"a\" has ended");
  REFUSE("bad.lab", "0 0.2 a\n0.4 0.3 b\n", "line 2", "end after its start");
#define HEAD "\"ooTextFile\"\n\"TextGrid\"\n0\n1\n"
  REFUSE("bad.TextGrid", HEAD, "has no tier");
  REFUSE("bad.TextGrid", HEAD "<exists>\n", "number of tiers", "file ends");
  REFUSE("bad.TextGrid", HEAD "<exists>\n5000000\n\"IntervalTier\"\n", "do not fit");
  REFUSE("bad.TextGrid", HEAD "<exists>\n1\n\"SomeTier\"\n", "line 7", "IntervalTier");
  REFUSE("bad.TextGrid", HEAD "<exists>\n1\n\"IntervalTier\"\n\"phones\n0\n1\n0\n", "line 8",
         "no closing quote");
  REFUSE("bad.TextGrid", HEAD "<exists>\n1\n\"IntervalTier\"\n\"phones\"\n0\n1\n1\n0\n\"a\"\n",
         "line 13", "end of an interval");
}

static void
test_damage(void)
{
  static const struct {
    const char *extension, *text;
  } seeds[] = {
    { ".TextGrid", long_grid }, { ".TextGrid", short_grid }, { ".lab", htk }, { ".lab", xwaves }
  };
  for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
    const PlaFuzz fuzz = { .format = &pla_format_phones, .extension = seeds[i].extension };
    pla_fuzz_run(&fuzz, (const uint8_t *)seeds[i].text, strlen(seeds[i].text));
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/phones/kinds", test_kinds);
  g_test_add_func("/io/phones/tiers", test_tiers);
  g_test_add_func("/io/phones/round-trip", test_round_trip);
  g_test_add_func("/io/phones/bad-files", test_bad_files);
  g_test_add_func("/io/phones/damage", test_damage);
  return g_test_run();
}

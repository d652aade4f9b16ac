/* Label tables of other programs, as those programs write them, and damage to them. */
#include "io/formats/formats.h"
#include "io/formats/label-files.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <string.h>

static const char snap[] =
    "################################################\n"
    "# ITK-SnAP Label Description File\n"
    "# File format: \n"
    "# IDX   -R-  -G-  -B-  -A--  VIS MSH  LABEL\n"
    "################################################\n"
    "    0     0    0    0        0  0  0    \"Clear Label\"\n"
    "    3   255  128    0        1  1  1    \"Mandible, left \"the big one\"\"\n"
    "    1    10   20   30      0.5  1  0    \"Os hyoid\xe8um\"\r\n";
static const char tsv[] = "index\tname\tabbreviation\tcolor\tmapping\n"
                          "0\tBackground\tBG\t#000000\tn/a\n"
                          "7\tGenioglossus anterior\tGGA\t#ff8000\t1\n"
                          "2\tZunge (K\xc3\xb6rper)\tZ\tn/a\t2\n";
static const char wide_tsv[] = "LabelValue\tName\tColor_R\tColor_G\tColor_B\tColor_A\n"
                               "4\tskin\t1\t2\t3\t40\n";
static const char ctbl[] = "# Color table file C:/data/Custom.ctbl\n"
                           "# 3 values\n"
                           "0 background 0 0 0 0\n"
                           "2 left_masseter 177 122 101 255\n"
                           "1 tissue 128 174 128 200\n";
static const char freesurfer[] = "#No. Label Name:                R   G   B   A\n\n"
                                 "0   Unknown                      0   0   0   0\n"
                                 "17  Left-Hippocampus           220 216  20   0\n"
                                 "14175 rh_S_temporal_transverse  221  60  60   0\n";

static PlaLabelTable
read_text(const char *name, const char *text)
{
  g_autofree char *path = pla_test_path(name);
  PlaLabelTable table;
  PlaError err = { 0 };
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  if (pla_label_file_read(path, &table, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  return table;
}

static void
assert_label(const PlaLabelTable *table, int at, int id, const char *name, uint8_t r, uint8_t g,
             uint8_t b, uint8_t a)
{
  const uint8_t rgba[4] = { r, g, b, a };
  g_assert_cmpint(at, <, table->n);
  g_assert_cmpint(table->label[at].id, ==, id);
  g_assert_cmpstr(table->label[at].name, ==, name);
  g_assert_cmpmem(table->label[at].rgba, 4, rgba, 4);
}

static void
test_read(void)
{
  PlaLabelTable t = read_text("a.label", snap);
  g_assert_cmpint(t.n, ==, 2);
  assert_label(&t, 0, 1, "Os hyoid\xc3\xa8um", 10, 20, 30, 128); /* Latin-1 became UTF-8 */
  assert_label(&t, 1, 3, "Mandible, left \"the big one\"", 255, 128, 0, 255);
  pla_label_table_clear(&t);

  t = read_text("a.tsv", tsv);
  g_assert_cmpint(t.n, ==, 2);
  g_assert_cmpstr(t.label[0].name, ==, "Zunge (K\xc3\xb6rper)");
  g_assert_cmpint(t.label[0].rgba[3], ==, 255); /* a colour of ours */
  assert_label(&t, 1, 7, "Genioglossus anterior", 255, 128, 0, 255);
  pla_label_table_clear(&t);

  t = read_text("b.tsv", wide_tsv);
  g_assert_cmpint(t.n, ==, 1);
  assert_label(&t, 0, 4, "skin", 1, 2, 3, 40);
  pla_label_table_clear(&t);

  t = read_text("a.ctbl", ctbl);
  g_assert_cmpint(t.n, ==, 2);
  assert_label(&t, 0, 1, "tissue", 128, 174, 128, 200);
  assert_label(&t, 1, 2, "left masseter", 177, 122, 101, 255);
  pla_label_table_clear(&t);

  t = read_text("lut.txt", freesurfer);
  g_assert_cmpint(t.n, ==, 2);
  assert_label(&t, 0, 17, "Left-Hippocampus", 220, 216, 20, 255);
  pla_label_table_clear(&t);
}

/* 255 opacities and awkward names survive each format, as far as it can say them */
static void
test_round_trip(void)
{
  static const char *const files[] = { "r.tsv", "r.label", "r.txt", "r.ctbl" };
  PlaLabelTable table = { 0 };
  PlaError err = { 0 };
  for (int id = 1; id < 256; id++) {
    g_autofree char *name = g_strdup_printf("muscle %d \xc3\xa9", id);
    const uint8_t rgba[4] = { (uint8_t)id, (uint8_t)(255 - id), (uint8_t)(id * 7), (uint8_t)id };
    g_assert_cmpint(pla_label_table_set(&table, id * 257, name, rgba, &err), ==, PLA_OK);
  }
  for (size_t f = 0; f < G_N_ELEMENTS(files); f++) {
    g_autofree char *path = pla_test_path(files[f]);
    PlaItem out = { .kind = PLA_KIND_LABEL_TABLE, .labels = table }, back;
    PlaReadOptions ropts = pla_read_options_default();
    PlaWriteOptions wopts = pla_write_options_default();
    g_assert_cmpint(pla_item_write(path, &out, &wopts, &err), ==, PLA_OK);
    if (pla_item_read(path, &ropts, &back, &err) != PLA_OK)
      g_error("%s", err.message);
    g_assert_cmpint(back.kind, ==, PLA_KIND_LABEL_TABLE);
    g_assert_cmpint(back.labels.n, ==, table.n);
    for (int i = 0; i < table.n; i++) {
      const PlaLabel *l = &table.label[i];
      assert_label(&back.labels, i, l->id, l->name, l->rgba[0], l->rgba[1], l->rgba[2], l->rgba[3]);
    }
    pla_item_clear(&back);
  }
  pla_label_table_clear(&table);
}

/* what breaks a format's syntax is replaced, not written */
static void
test_awkward_names(void)
{
  static const struct {
    const char *file, *expected;
  } cases[] = { { "n.tsv", "a \"b\" c d" },
                { "n.label", "a \"b\" c\td" },
                { "n.ctbl", "a \"b\" c d" } };
  PlaLabelTable table = { 0 }, back;
  PlaError err = { 0 };
  g_assert_cmpint(pla_label_table_set(&table, 1, "a \"b\" c\td", NULL, &err), ==, PLA_OK);
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = pla_test_path(cases[i].file);
    g_assert_cmpint(pla_label_file_write(path, &table, &err), ==, PLA_OK);
    g_assert_cmpint(pla_label_file_read(path, &back, NULL, &err), ==, PLA_OK);
    g_assert_cmpint(back.n, ==, 1);
    g_autofree char *plain = g_strdelimit(g_strdup(back.label[0].name), "'", '"');
    g_autofree char *expected = g_strdelimit(g_strdup(cases[i].expected), "\t", ' ');
    g_assert_cmpstr(plain, ==, expected);
    pla_label_table_clear(&back);
  }
  pla_label_table_clear(&table);
}

/* what a spreadsheet would compute is written as text, and read as it was */
static void
test_formulas(void)
{
  static const char *const names[] = {
    "=1+1", "@SUM(A1)", "+a", "-3.5", "'=1+1", "'quoted'", "a=b"
  };
  PlaLabelTable table = { 0 }, back;
  PlaError err = { 0 };
  g_autofree char *path = pla_test_path("formulas.tsv");
  g_autofree char *text = NULL;
  for (int i = 0; i < (int)G_N_ELEMENTS(names); i++)
    g_assert_cmpint(pla_label_table_set(&table, i + 1, names[i], NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_label_table_set(&table, 100, "\t =2", NULL, &err), ==, PLA_OK);
  g_assert_cmpint(pla_label_file_write(path, &table, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_nonnull(strstr(text, "1\t'=1+1\t#"));
  g_assert_nonnull(strstr(text, "2\t'@SUM(A1)\t#"));
  g_assert_nonnull(strstr(text, "3\t'+a\t#"));
  g_assert_nonnull(strstr(text, "4\t-3.5\t#"));
  g_assert_nonnull(strstr(text, "100\t'=2\t#"));
  g_assert_cmpint(pla_label_file_read(path, &back, NULL, &err), ==, PLA_OK);
  g_assert_cmpint(back.n, ==, (int)G_N_ELEMENTS(names) + 1);
  for (int i = 0; i < (int)G_N_ELEMENTS(names); i++)
    g_assert_cmpstr(back.label[i].name, ==, names[i]);
  pla_label_table_clear(&back);
  pla_label_table_clear(&table);
}

static void
test_bad(void)
{
  static const struct {
    const char *text, *words;
  } cases[] = {
    { "a plain note about the scan\n", "no table of labels" },
    { "", "no table of labels" },
    { "1 2 3 4 5\n2 3 4 5 6\n", "no table of labels" },
    { "index\tname\n1\tskin\nbone\n", "line 3" },
    { "index\tname\tcolor\n1\tskin\t#12345\n", "line 2" },
    { "1 skin 1 2 3 4\n2 bone 1 2 300 4\n", "line 2" },
    { "1 255 0 0 1 1 1 \"a\"\n2 255 0 0 1 1 1 b\n", "line 2" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = pla_test_path("bad.txt");
    PlaLabelTable table;
    PlaError err = { 0 };
    g_assert_true(g_file_set_contents(path, cases[i].text, -1, NULL));
    g_assert_cmpint(pla_label_file_read(path, &table, NULL, &err), ==, PLA_ERR_FORMAT);
    g_assert_cmpint(table.n, ==, 0);
    if (!strstr(err.message, cases[i].words) || !strstr(err.message, path))
      g_error("expected '%s', got: %s", cases[i].words, err.message);
  }

  /* ids that no label map can hold are said; the last of two lines for one id counts */
  g_autofree char *path = pla_test_path("ids.tsv");
  PlaLabelTable table;
  PlaNotes notes = { 0 };
  PlaError err = { 0 };
  const char text[] = "index\tname\n-1\tnothing\n70000\tfar\n5\tfirst\n5\tsecond\n";
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  g_assert_cmpint(pla_label_file_read(path, &table, &notes, &err), ==, PLA_OK);
  g_assert_cmpint(table.n, ==, 1);
  g_assert_cmpstr(table.label[0].name, ==, "second");
  g_assert_cmpint(notes.n, ==, 1);
  g_assert_nonnull(strstr(notes.text[0], "2 labels"));
  pla_notes_clear(&notes);
  pla_label_table_clear(&table);
}

/* beside a volume: the right name, and no other text taken for a table */
static void
test_sidecar(void)
{
  g_autofree char *dir = g_build_filename(pla_test_dir(), "a.b", NULL);
  g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
  g_autofree char *volume = g_build_filename(dir, "sub-01_dseg.nii.gz", NULL);
  g_autofree char *note = g_build_filename(dir, "sub-01_dseg.txt", NULL);
  g_autofree char *table_path = g_build_filename(dir, "sub-01_dseg.ctbl", NULL);
  PlaLabelTable table;
  PlaNotes notes = { 0 };
  g_assert_true(g_file_set_contents(note, "scanned on a Monday\n", -1, NULL));
  pla_label_sidecar_read(volume, &table, &notes);
  g_assert_cmpint(table.n, ==, 0);
  g_assert_cmpint(notes.n, ==, 0);
  g_assert_true(g_file_set_contents(table_path, ctbl, -1, NULL));
  pla_label_sidecar_read(volume, &table, &notes);
  g_assert_cmpint(table.n, ==, 2);
  g_assert_cmpint(notes.n, ==, 1);
  pla_notes_clear(&notes);
  pla_label_table_clear(&table);
}

static void
test_damage(void)
{
  static const struct {
    const char *extension, *text;
    size_t size;
  } seeds[] = { { ".label", snap, sizeof snap - 1 },
                { ".tsv", tsv, sizeof tsv - 1 },
                { ".ctbl", ctbl, sizeof ctbl - 1 } };
  for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
    PlaFuzz fuzz = { .format = &pla_format_label_table, .extension = seeds[i].extension };
    pla_fuzz_run(&fuzz, (const uint8_t *)seeds[i].text, seeds[i].size);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/label-files/read", test_read);
  g_test_add_func("/io/label-files/round-trip", test_round_trip);
  g_test_add_func("/io/label-files/awkward-names", test_awkward_names);
  g_test_add_func("/io/label-files/formulas", test_formulas);
  g_test_add_func("/io/label-files/bad", test_bad);
  g_test_add_func("/io/label-files/sidecar", test_sidecar);
  g_test_add_func("/io/label-files/damage", test_damage);
  return g_test_run();
}

/* `platysma-cli segment` from file to file: frame, names, numbers and exit status. */
#include "io/formats/format.h"
#include "tests/app/verb-test.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

/* runs the words after `segment IN -o OUT --json`; the object printed */
static JsonObject *
segment(const char *in, const char *out, const char *words, int status)
{
  g_autofree char *line = g_strdup_printf("segment %s -o %s %s", in, out, words);
  return verb_test_run(line, status);
}

static void
test_files(void)
{
  g_autofree char *folder = g_dir_make_tmp("platysma-segment-XXXXXX", NULL);
  g_autofree char *in = g_build_filename(folder, "in.nii", NULL);
  g_autofree char *out = g_build_filename(folder, "out.nii.gz", NULL);
  g_autofree char *names = g_build_filename(folder, "out.tsv", NULL);
  const int dims[4] = { 12, 10, 8, 1 };
  PlaWriteOptions write = pla_write_options_default();
  PlaReadOptions read = pla_read_options_default();
  PlaItem item = { .kind = PLA_KIND_VOLUME }, source = { 0 }, labels = { 0 };
  PlaError err = { 0 };
  g_assert_cmpint(pla_volume_new(dims, PLA_I16, &item.volume, &err), ==, PLA_OK);
  const double affine[12] = { -0.33203125,   0, 0, -84.83398438, 0,           0.33203125, 0.1,
                              -198.83398438, 0, 0, 0.69999999,   -318.3999939 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  for (int v = 0; v < 5; v++)
    ((int16_t *)item.volume->voxels)[194 + v] = 700;
  g_assert_cmpint(pla_item_write(in, &item, &write, &err), ==, PLA_OK);
  pla_item_clear(&item);

  JsonObject *object = segment(in, out, "--threshold 500 900 --label 4 --name 'upper teeth'", 0);
  JsonObject *label =
      json_array_get_object_element(json_object_get_array_member(object, "labels"), 0);
  g_assert_cmpint(json_object_get_int_member(label, "id"), ==, 4);
  g_assert_cmpstr(json_object_get_string_member(label, "name"), ==, "upper teeth");
  g_assert_cmpint(json_object_get_int_member(label, "voxels"), ==, 5);
  g_assert_cmpfloat_with_epsilon(json_object_get_double_member(label, "volume_mm3"),
                                 5 * 0.33203125 * 0.33203125 * 0.69999999, 1e-6);
  g_assert_cmpint(json_object_get_int_member(object, "components"), ==, 1);
  json_object_unref(object);

  /* the frame of the source as it stands in its file, and the names beside the labels */
  g_assert_cmpint(pla_item_read(in, &read, &source, &err), ==, PLA_OK);
  g_assert_cmpint(pla_item_read(out, &read, &labels, &err), ==, PLA_OK);
  g_assert_cmpmem(labels.volume->affine_mm, sizeof affine, source.volume->affine_mm, sizeof affine);
  g_assert_cmpmem(&labels.volume->audit, sizeof labels.volume->audit, &source.volume->audit,
                  sizeof source.volume->audit);
  g_assert_cmpstr(pla_label_table_find(&labels.labels, 4)->name, ==, "upper teeth");
  pla_item_clear(&source);
  pla_item_clear(&labels);

  /* into a case and out of it: the names come along */
  g_autofree char *cased = g_build_filename(folder, "in.platysma", NULL);
  g_autofree char *copy = g_build_filename(folder, "copy.nii", NULL);
  g_autofree char *copy_names = g_build_filename(folder, "copy.tsv", NULL);
  json_object_unref(verb_test_runf(0, "case new %s", cased));
  json_object_unref(verb_test_runf(0, "case import %s %s --name teeth", cased, out));
  json_object_unref(verb_test_runf(0, "case export %s teeth -o %s", cased, copy));
  g_assert_cmpint(pla_item_read(copy, &read, &labels, &err), ==, PLA_OK);
  g_assert_cmpstr(pla_label_table_find(&labels.labels, 4)->name, ==, "upper teeth");
  pla_item_clear(&labels);
  g_assert_cmpint(g_remove(cased), ==, 0);
  g_assert_cmpint(g_remove(copy), ==, 0);
  g_assert_cmpint(g_remove(copy_names), ==, 0);
  g_assert_cmpint(g_remove(out), ==, 0);
  g_assert_cmpint(g_remove(names), ==, 0);

  /* nothing found is 1, senseless is 2, and neither leaves a file */
  const struct {
    const char *words;
    int status;
  } refused[] = { { "--threshold 1000 2000", 1 },
                  { "--preset ct-head", 1 },
                  { "--preset knee", 2 },
                  { "", 2 },
                  { "--preset ct-head --threshold 0 1", 2 },
                  { "--preset ct-head --largest", 2 },
                  { "--threshold 9 3", 2 },
                  { "--threshold 0 900 --connectivity 7", 2 },
                  { "--threshold 0 900 --frame 1", 2 } };
  for (size_t r = 0; r < G_N_ELEMENTS(refused); r++) {
    json_object_unref(segment(in, out, refused[r].words, refused[r].status));
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(names, G_FILE_TEST_EXISTS));
  }
  g_assert_cmpint(g_remove(in), ==, 0);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/segment-verb/files", test_files);
  return g_test_run();
}

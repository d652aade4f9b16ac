/* Numbers in text, whole files, gzip and atomic output. */
#include "io/stream/output.h"
#include "io/stream/source.h"
#include "tests/io/fuzz.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <zlib.h>

/* every double survives text and back */
static void
test_number_text(void)
{
  uint64_t state = 1;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = pla_test_random(&state);
    double value, again;
    memcpy(&value, &bits, sizeof value);
    if (value != value)
      continue;
    if (i % 2)
      value = (double)(int64_t)(bits % 2000000) / 1000.0;
    char text[32];
    pla_format_double(value, text);
    g_assert_nonnull(pla_parse_double(text, text + strlen(text), &again));
    g_assert_cmpfloat(value, ==, again);
    float single = (float)value;
    pla_format_float(single, text);
    g_assert_nonnull(pla_parse_double(text, text + strlen(text), &again));
    g_assert_cmpfloat(single, ==, (float)again);
  }
}

/* words that are no numbers are refused, limits kept */
static void
test_bad_numbers(void)
{
  const char *const bad[] = { "", "-", ".", "abc", "1x", "9223372036854775808", "1 000" };
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    PlaText text = { .at = bad[i], .end = bad[i] + strlen(bad[i]), .line = 1 };
    int64_t value;
    bool ok = pla_text_int64(&text, &value);
    g_assert_true(i == 6 ? ok && value == 1 : !ok);
  }
  const char *least = "-9223372036854775808";
  PlaText text = { .at = least, .end = least + strlen(least), .line = 1 };
  int64_t value;
  g_assert_true(pla_text_int64(&text, &value));
  g_assert_true(value == INT64_MIN);
}

/* gzip in two members reads as one; a cut one is refused with a sentence */
static void
test_gzip(void)
{
  g_autofree char *path = pla_test_path("two.gz");
  for (int part = 0; part < 2; part++) {
    gzFile gz = gzopen(path, part ? "ab" : "wb");
    for (int i = 0; i < 50000; i++)
      gzprintf(gz, "%d\n", i + part * 50000);
    gzclose(gz);
  }
  PlaBytes bytes;
  PlaError err = { 0 };
  g_assert_cmpint(pla_source_read_gz(path, NULL, &bytes, &err), ==, PLA_OK);
  PlaText text;
  pla_text_init(&text, &bytes);
  for (int i = 0; i < 100000; i++) {
    int value;
    g_assert_true(pla_text_int(&text, &value));
    g_assert_cmpint(value, ==, i);
  }
  g_assert_true(pla_text_at_end(&text));
  g_assert_cmpint(text.line, ==, 100001);
  pla_bytes_clear(&bytes);

  char *raw;
  gsize size;
  g_assert_true(g_file_get_contents(path, &raw, &size, NULL));
  g_assert_true(g_file_set_contents(path, raw, (gssize)(size - 9), NULL));
  g_free(raw);
  g_assert_cmpint(pla_source_read_gz(path, NULL, &bytes, &err), ==, PLA_ERR_FORMAT);
  g_assert_nonnull(strstr(err.message, "end early"));
}

/* the old file stays until the new one is complete */
static void
test_output(void)
{
  g_autofree char *path = pla_test_path("out.txt");
  PlaError err = { 0 };
  g_assert_cmpint(pla_output_write(path, "old", 3, &err), ==, PLA_OK);
  PlaOutput *output;
  g_assert_cmpint(pla_output_open(path, &output, &err), ==, PLA_OK);
  fputs("half", pla_output_get_file(output));
  g_autofree char *temp = g_strdup(pla_output_get_temp_path(output));
  pla_output_discard(output);
  g_assert_false(g_file_test(temp, G_FILE_TEST_EXISTS));
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_assert_cmpstr(text, ==, "old");
  g_assert_cmpint(pla_output_open("/nowhere/at/all", &output, &err), ==, PLA_ERR_IO);
  g_assert_nonnull(strstr(err.message, "/nowhere/at/all"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/source/number-text", test_number_text);
  g_test_add_func("/io/source/bad-numbers", test_bad_numbers);
  g_test_add_func("/io/source/gzip", test_gzip);
  g_test_add_func("/io/source/output", test_output);
  return g_test_run();
}

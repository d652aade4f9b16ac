/* Status, sizes, progress and deterministic sums. */
#include "anatomy/base/dtype.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* whatever bytes a file puts into a name, a sentence is UTF-8: each byte of what is none becomes
 * '?' */
static void
test_error_utf8(void)
{
  static const struct {
    const char *bytes, *expected;
  } sample[] = {
    { "\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\xb7", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa6\xb7" },
    { "Stra\xdf"
      "e",
      "Stra?e" },                     /* Latin-1 */
    { "a\xc0\xaf", "a??" },           /* longer than need be */
    { "a\xe0\x80\xaf", "a???" },      /* the same */
    { "a\xed\xa0\x80", "a???" },      /* half of a pair of UTF-16 */
    { "a\xf4\x90\x80\x80", "a????" }, /* beyond Unicode */
    { "a\xf5\x80\x80\x80", "a????" }, /* the same */
    { "a\xc2\x9b"
      "31m",
      "a??31m" },           /* a control sequence */
    { "a\xe2\x82", "a??" }, /* cut short */
    { "\x80\xff", "??" },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(sample); i++) {
    PlaError err = { 0 };
    PlaNotes notes = { 0 };
    pla_fail(&err, PLA_ERR_FORMAT, "'%s' is no name", sample[i].bytes);
    g_autofree char *expected = g_strdup_printf("'%s' is no name", sample[i].expected);
    g_assert_cmpstr(err.message, ==, expected);
    pla_notes_add(&notes, "'%s' is no name", sample[i].bytes);
    g_assert_cmpstr(notes.text[0], ==, expected);
    pla_notes_clear(&notes);
  }
}

/* a sentence has no control characters, and a long one is cut between characters */
static void
test_error_sentence(void)
{
  PlaError err = { 0 };
  g_assert_cmpint(pla_fail(&err, PLA_ERR_FORMAT, "a%cb", 7), ==, PLA_ERR_FORMAT);
  g_assert_cmpstr(err.message, ==, "a?b");
  char longer[4000];
  for (size_t i = 0; i + 2 < sizeof longer; i += 2)
    memcpy(longer + i, "\xc3\xa9", 2);
  longer[sizeof longer - 2] = '\0';
  pla_fail(&err, PLA_ERR_IO, "x%s", longer);
  g_assert_true(g_utf8_validate(err.message, -1, NULL));
  pla_fail(&err, PLA_ERR_IO, "inner");
  g_assert_cmpint(pla_fail_within(&err, "outer %d", 3), ==, PLA_ERR_IO);
  g_assert_cmpstr(err.message, ==, "outer 3: inner");
}

static void
test_sizes(void)
{
  size_t out;
  g_assert_true(pla_size_mul(3, 4, &out) && out == 12);
  g_assert_false(pla_size_mul(SIZE_MAX / 2, 3, &out));
  g_assert_false(pla_size_add(SIZE_MAX, 1, &out));
  g_assert_null(pla_array_new(SIZE_MAX / 4, 8));
  void *empty = pla_array_new0(0, 8);
  g_assert_nonnull(empty);
  free(empty);
  PlaBytes bytes = { 0 };
  for (int i = 0; i < 1000; i++)
    g_assert_true(pla_bytes_printf(&bytes, "%03d", i));
  g_assert_cmpuint(bytes.size, ==, 3000);
  pla_bytes_clear(&bytes);
}

static void
on_progress(const char *phase, double fraction, void *data)
{
  double *last = data;
  g_assert_cmpfloat(fraction, >=, last[0]);
  g_assert_cmpfloat(fraction, <=, 1.0 + 1e-12);
  last[0] = fraction;
}

/* nested work maps into its caller's phase, and cancel is seen at once */
static void
test_progress(void)
{
  PlaProgress p;
  double last = 0.0;
  pla_progress_init(&p, on_progress, &last);
  g_assert_true(pla_progress_phase(&p, "one", 0.5));
  g_assert_true(pla_progress_step(&p, 0.5));
  g_assert_cmpfloat_with_epsilon(last, 0.25, 1e-12);
  g_assert_true(pla_progress_phase(&p, "two", 1.0));
  PlaProgressSpan span = pla_progress_push(&p);
  g_assert_true(pla_progress_phase(&p, "two a", 0.5));
  g_assert_true(pla_progress_step(&p, 1.0));
  g_assert_cmpfloat_with_epsilon(last, 0.75, 1e-12);
  g_assert_true(pla_progress_phase(&p, "two b", 1.0));
  g_assert_true(pla_progress_step(&p, 1.0));
  pla_progress_pop(&p, span);
  g_assert_cmpfloat_with_epsilon(last, 1.0, 1e-12);
  pla_progress_cancel(&p);
  g_assert_false(pla_progress_step(&p, 1.0));
  g_assert_true(pla_progress_step(NULL, 0.3));
}

/* the same bits for 1, 2 and 4 threads */
static void
test_sums(void)
{
  const size_t n = 3 * 1000 * 1000 + 17;
  double *x = pla_array_new(n, sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = sin((double)i) * exp(10.0 * cos(0.1 * (double)i));
  double sums[3], dots[3], maxs[3];
  const int threads[3] = { 1, 2, 4 };
  for (int t = 0; t < 3; t++) {
    pla_threads_set(threads[t]);
    sums[t] = pla_sum(x, n);
    dots[t] = pla_dot(x, x, n);
    maxs[t] = pla_max_abs(x, n);
  }
  for (int t = 1; t < 3; t++) {
    g_assert_true(memcmp(&sums[t], &sums[0], sizeof(double)) == 0);
    g_assert_true(memcmp(&dots[t], &dots[0], sizeof(double)) == 0);
    g_assert_true(memcmp(&maxs[t], &maxs[0], sizeof(double)) == 0);
  }
  long double exact = 0.0L;
  for (size_t i = 0; i < n; i++)
    exact += x[i];
  g_assert_cmpfloat_with_epsilon(sums[0], (double)exact, 1e-9 * maxs[0]);
  x[n / 2] = NAN;
  g_assert_true(isnan(pla_max_abs(x, n)));
  free(x);
}

/* values clamp to the range of integer types, and bytes swap back */
static void
test_dtypes(void)
{
  for (int t = 0; t < PLA_N_DTYPES; t++) {
    PlaDType type;
    g_assert_true(pla_dtype_from_name(pla_dtype_name((PlaDType)t), &type));
    g_assert_cmpint(type, ==, t);
    uint64_t cell = 0;
    pla_dtype_set(type, &cell, 0, 100.0);
    pla_dtype_swap_bytes(type, &cell, 1);
    pla_dtype_swap_bytes(type, &cell, 1);
    g_assert_cmpfloat(pla_dtype_get(type, &cell, 0), ==, 100.0);
    pla_dtype_set(type, &cell, 0, 1e300);
    if (pla_dtype_is_integer(type))
      g_assert_cmpfloat(pla_dtype_get(type, &cell, 0), >, 100.0);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/base/error-sentence", test_error_sentence);
  g_test_add_func("/base/error-utf8", test_error_utf8);
  g_test_add_func("/base/sizes", test_sizes);
  g_test_add_func("/base/progress", test_progress);
  g_test_add_func("/base/sums", test_sums);
  g_test_add_func("/base/dtypes", test_dtypes);
  return g_test_run();
}

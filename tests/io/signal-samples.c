/* Takes, tracks and small files for the tests of signal formats. */
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

PlaTake *
pla_test_take(int n_frames, int n_markers, bool single)
{
  PlaTake *take;
  uint64_t state = 7;
  g_assert_cmpint(pla_take_new(n_frames, n_markers, &take, NULL), ==, PLA_OK);
  take->rate_hz = 120.0;
  take->start_s = 24.0 / 120.0;
  take->single = single;
  take->unit_mm = 1.0;
  for (int m = 0; m < n_markers; m++)
    take->name[m] = strdup(m == 0 ? "LIP" : m == 1 ? "jaw left" : "");
  for (int m = 2; m < n_markers; m++) {
    free(take->name[m]);
    g_autofree char *name = g_strdup_printf("C%d", m);
    take->name[m] = strdup(name);
  }
  for (int i = 0; i < n_frames * n_markers; i++)
    for (int d = 0; d < 3 && i % 7 != 5; d++) {
      double mm =
          100.0 + (double)(pla_test_random(&state) >> 11) / 4503599627370496.0 * 300.0 - 150.0;
      take->pos[3 * i + d] = (single ? (double)(float)mm : mm) / 1000.0;
    }
  return take;
}

PlaTrack *
pla_test_track(int n_samples, int n_channels, bool single)
{
  PlaTrack *track;
  uint64_t state = 11;
  g_assert_cmpint(pla_track_new(n_samples, n_channels, &track, NULL), ==, PLA_OK);
  track->rate_hz = 200.0;
  track->start_s = 0.5;
  track->single = single;
  for (int c = 0; c < n_channels; c++) {
    g_autofree char *name = g_strdup_printf("T%d_%c", c / 3, "xyz"[c % 3]);
    track->name[c] = strdup(name);
    track->unit[c] = strdup("");
  }
  for (int i = 0; i < n_samples; i++)
    for (int c = 0; c < n_channels; c++) {
      double v = (double)(pla_test_random(&state) >> 11) / 4503599627370496.0 - 1.0;
      track->value[i * n_channels + c] = i % 9 == 4 ? NAN : single ? (double)(float)v : v;
    }
  return track;
}

/* distance in units in the last place, both NaN being 0 */
static int64_t
ulps(double a, double b)
{
  int64_t i, j;
  if (isnan(a) && isnan(b))
    return 0;
  memcpy(&i, &a, sizeof i);
  memcpy(&j, &b, sizeof j);
  return isnan(a) || isnan(b) || (a < 0) != (b < 0) ? INT64_MAX : llabs(i - j);
}

void
pla_test_assert_same_take(const PlaTake *a, const PlaTake *b, int max_ulp)
{
  g_assert_cmpint(a->n_frames, ==, b->n_frames);
  g_assert_cmpint(a->n_markers, ==, b->n_markers);
  g_assert_cmpfloat(a->rate_hz, ==, b->rate_hz);
  g_assert_cmpfloat(a->start_s, ==, b->start_s);
  g_assert_cmpfloat(a->unit_mm, ==, b->unit_mm);
  for (int m = 0; m < a->n_markers; m++)
    g_assert_cmpstr(a->name[m], ==, b->name[m]);
  for (int i = 0; i < a->n_frames * a->n_markers * 3; i++)
    g_assert_cmpint(ulps(a->pos[i], b->pos[i]), <=, max_ulp);
}

void
pla_test_assert_same_track(const PlaTrack *a, const PlaTrack *b)
{
  g_assert_cmpint(a->n_samples, ==, b->n_samples);
  g_assert_cmpint(a->n_channels, ==, b->n_channels);
  g_assert_cmpfloat(a->rate_hz, ==, b->rate_hz);
  g_assert_cmpfloat(a->start_s, ==, b->start_s);
  for (int c = 0; c < a->n_channels; c++) {
    g_assert_cmpstr(a->name[c], ==, b->name[c]);
    g_assert_cmpstr(a->unit[c], ==, b->unit[c]);
  }
  for (int i = 0; i < a->n_samples * a->n_channels; i++)
    g_assert_cmpint(ulps(a->value[i], b->value[i]), ==, 0);
}

void
pla_test_round_trip(const PlaFormat *format, const char *name, const PlaItem *item,
                    const PlaWriteOptions *opts, PlaItem *out)
{
  g_autofree char *path = pla_test_path(name);
  PlaWriteOptions write_opts = opts ? *opts : pla_write_options_default();
  PlaReadOptions read_opts = pla_read_options_default();
  PlaError err = { 0 };
  if (format->write(path, item, &write_opts, &err) != PLA_OK)
    g_error("%s is not written: %s", name, err.message);
  const PlaFormat *detected;
  if (pla_format_detect(path, &detected, &err) != PLA_OK || detected != format)
    g_error("%s is not recognised: %s", name, err.message);
  if (pla_item_read(path, &read_opts, out, &err) != PLA_OK)
    g_error("%s is not read: %s", name, err.message);
}

static PlaStatus
read_bytes(const PlaFormat *format, const char *name, const void *data, size_t size, PlaItem *out,
           PlaError *err)
{
  g_autofree char *path = pla_test_path(name);
  PlaReadOptions opts = pla_read_options_default();
  g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
  return format->read(path, &opts, out, err);
}

void
pla_test_read_bytes(const PlaFormat *format, const char *name, const void *data, size_t size,
                    PlaItem *out)
{
  PlaError err = { 0 };
  if (read_bytes(format, name, data, size, out, &err) != PLA_OK)
    g_error("%s is refused: %s", name, err.message);
}

void
pla_test_refuse_bytes(const PlaFormat *format, const char *name, const void *data, size_t size,
                      const char *const *words)
{
  PlaItem item = { 0 };
  PlaError err = { 0 };
  if (read_bytes(format, name, data, size, &item, &err) == PLA_OK)
    g_error("%s is read, though it should be refused for its '%s'", name, words[0]);
  g_assert_nonnull(strstr(err.message, name));
  for (; *words; words++)
    if (!strstr(err.message, *words))
      g_error("'%s' is missing from: %s", *words, err.message);
}

bool
pla_test_has_note(const PlaItem *item, const char *word)
{
  for (int i = 0; i < item->notes.n; i++)
    if (strstr(item->notes.text[i], word))
      return true;
  return false;
}

void
pla_test_fuzz_item(const PlaFormat *format, const char *extension, const PlaItem *item,
                   const PlaWriteOptions *opts)
{
  g_autofree char *name = g_strconcat("seed", extension, NULL);
  g_autofree char *path = pla_test_path(name);
  PlaWriteOptions write_opts = opts ? *opts : pla_write_options_default();
  g_autofree char *data = NULL;
  gsize size;
  PlaError err = { 0 };
  if (format->write(path, item, &write_opts, &err) != PLA_OK)
    g_error("%s is not written: %s", name, err.message);
  g_assert_true(g_file_get_contents(path, &data, &size, NULL));
  PlaFuzz fuzz = { .format = format, .extension = extension };
  pla_fuzz_run(&fuzz, (const uint8_t *)data, size);
}

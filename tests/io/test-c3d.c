/* C3D in all its number formats. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaWriteOptions
processor(int i)
{
  PlaWriteOptions opts = pla_write_options_default();
  opts.c3d_dec = i == 1;
  opts.big_endian = i == 2;
  return opts;
}

static uint8_t *
write_bytes(const PlaItem *item, const PlaWriteOptions *opts, size_t *size)
{
  g_autofree char *path = pla_test_path("bytes.c3d");
  PlaError err = { 0 };
  char *data;
  g_assert_cmpint(pla_format_c3d.write(path, item, opts, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(path, &data, size, NULL));
  return (uint8_t *)data;
}

/* floats of every processor and unit keep their bits */
static void
test_float_round_trip(void)
{
  const double units[] = { 1.0, 10.0, 1000.0, 25.4 };
  for (int cpu = 0; cpu < 3; cpu++)
    for (size_t u = 0; u < G_N_ELEMENTS(units); u++) {
      PlaWriteOptions opts = processor(cpu);
      PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(20, 300, true) }, back, again;
      PlaTake *take = item.take;
      take->unit_mm = units[u];
      for (int i = 0; u > 0 && i < 20 * 300 * 3; i++) { /* 32-bit numbers in this unit */
        double value = (double)(float)(take->pos[i] * 1000.0);
        take->pos[i] = u == 1 ? value / 100.0 : u == 2 ? value : value * (25.4 / 1000.0);
      }
      pla_test_round_trip(&pla_format_c3d, "float.c3d", &item, &opts, &back);
      pla_test_assert_same_take(take, back.take, 0);
      g_assert_true(back.take->single);
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_test_round_trip(&pla_format_c3d, "float.c3d", &back, &opts, &again);
      pla_test_assert_same_take(take, again.take, 0);
      pla_item_clear(&item);
      pla_item_clear(&back);
      pla_item_clear(&again);
    }
}

/* integers and residuals come back as they were, and are written as integers again */
static void
test_integer_round_trip(void)
{
  const float step = 0.05f; /* mm */
  for (int cpu = 0; cpu < 3; cpu++) {
    PlaWriteOptions opts = processor(cpu);
    PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(20, 5, false) }, back;
    PlaTake *take = item.take;
    take->step = step;
    take->residual = g_malloc(20 * 5 * sizeof(float));
    for (int i = 0; i < 100; i++) {
      for (int d = 0; d < 3 && !isnan(take->pos[3 * i]); d++)
        take->pos[3 * i + d] = (i * 655 - 32760 + d) * (double)step / 1000.0;
      take->residual[i] = isnan(take->pos[3 * i]) ? NAN : (float)((i * 2) * (double)step / 1000.0);
    }
    pla_test_round_trip(&pla_format_c3d, "int.c3d", &item, &opts, &back);
    pla_test_assert_same_take(take, back.take, 0);
    g_assert_false(back.take->single);
    g_assert_cmpfloat(back.take->step, ==, step);
    for (int i = 0; i < 100; i++)
      if (isnan(take->residual[i]))
        g_assert_true(isnan(back.take->residual[i]));
      else
        g_assert_cmpfloat(back.take->residual[i], ==, take->residual[i]);
    pla_item_clear(&item);

    /* asked for floats, it is close */
    opts.c3d_storage = PLA_C3D_FLOAT;
    PlaItem as_float;
    pla_test_round_trip(&pla_format_c3d, "int.c3d", &back, &opts, &as_float);
    g_assert_true(as_float.take->single);
    for (int i = 0; i < 300; i++)
      if (!isnan(back.take->pos[i]))
        g_assert_cmpfloat(fabs(as_float.take->pos[i] - back.take->pos[i]), <=, 2e-7);
    pla_item_clear(&as_float);
    pla_item_clear(&back);
  }

  /* any take as integers: within half a step */
  PlaWriteOptions opts = pla_write_options_default();
  opts.c3d_storage = PLA_C3D_INTEGER;
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(20, 5, false) }, back;
  pla_test_round_trip(&pla_format_c3d, "int.c3d", &item, &opts, &back);
  for (int i = 0; i < 300; i++)
    if (!isnan(item.take->pos[i]))
      g_assert_cmpfloat(fabs(back.take->pos[i] - item.take->pos[i]), <=,
                        0.5001 * (double)back.take->step / 1000.0);
  pla_item_clear(&item);
  pla_item_clear(&back);
}

/* known bit patterns of the VAX: 1 = 0x4080, -1.5 = 0xc0c0, 0.1f rounded, the largest */
static void
test_vax_bits(void)
{
  PlaWriteOptions opts = processor(1);
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(1, 1, true) };
  const double mm[3] = { 1.0, -1.5, (double)0.1f };
  for (int d = 0; d < 3; d++)
    item.take->pos[d] = mm[d] / 1000.0;
  size_t size;
  g_autofree uint8_t *bytes = write_bytes(&item, &opts, &size);
  const uint8_t expected[12] = { 0x80, 0x40, 0, 0, 0xc0, 0xc0, 0, 0, 0xcc, 0x3e, 0xcd, 0xcc };
  size_t data = (size_t)(bytes[16] - 1) * 512;
  g_assert_cmpmem(bytes + data, 12, expected, 12);
  /* 1.7e38 is the end of VAX numbers */
  item.take->pos[0] = 2e38 / 1000.0;
  PlaError err = { 0 };
  g_autofree char *path = pla_test_path("far.c3d");
  g_assert_cmpint(pla_format_c3d.write(path, &item, &opts, &err), ==, PLA_ERR_UNSUPPORTED);
  g_assert_nonnull(strstr(err.message, "LIP"));
  g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
  pla_item_clear(&item);
}

/* more frames and markers than 16-bit counts and one list of labels hold */
static void
test_long_take(void)
{
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(70001, 1, true) }, back;
  item.take->start_s = 100000.0 / 120.0;
  pla_test_round_trip(&pla_format_c3d, "long.c3d", &item, NULL, &back);
  pla_test_assert_same_take(item.take, back.take, 0);
  g_assert_cmpint(back.notes.n, ==, 0);
  pla_item_clear(&back);

  /* without TRIAL the count is in POINT:LONG_FRAMES, the start in the header */
  PlaWriteOptions opts = pla_write_options_default();
  item.take->start_s = 0.0;
  size_t size;
  g_autofree uint8_t *bytes = write_bytes(&item, &opts, &size);
  uint8_t *trial = memmem(bytes, 2048, "TRIAL", 5);
  g_assert_nonnull(trial);
  trial[0] = 'X';
  pla_test_read_bytes(&pla_format_c3d, "long2.c3d", bytes, size, &back);
  pla_test_assert_same_take(item.take, back.take, 0);
  pla_item_clear(&item);
  pla_item_clear(&back);
}

/* analogue samples between the frames, camera bits and hostile or missing parameters */
static void
test_odd_files(void)
{
  PlaWriteOptions opts = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(4, 2, true) }, back;
  size_t size;
  g_autofree uint8_t *bytes = write_bytes(&item, &opts, &size);
  size_t data = (size_t)(bytes[16] - 1) * 512;

  /* three analogue samples after each frame */
  g_autofree uint8_t *analog = g_malloc0(size + 512);
  memcpy(analog, bytes, data);
  analog[4] = 3;
  for (int f = 0; f < 4; f++)
    memcpy(analog + data + (size_t)f * 44, bytes + data + (size_t)f * 32, 32);
  pla_test_read_bytes(&pla_format_c3d, "analog.c3d", analog, size, &back);
  pla_test_assert_same_take(item.take, back.take, 0);
  g_assert_true(pla_test_has_note(&back, "analogue"));
  pla_item_clear(&back);

  /* cameras 1 and 3 and a residual of 7 steps of 0.1 mm */
  g_autofree uint8_t *masked = g_memdup2(bytes, size);
  float word = 5 * 256 + 7;
  memcpy(masked + data + 12, &word, 4);
  pla_test_read_bytes(&pla_format_c3d, "masked.c3d", masked, size, &back);
  pla_test_assert_same_take(item.take, back.take, 0);
  g_assert_cmpfloat_with_epsilon((double)back.take->residual[0], 0.7e-3, 1e-9);
  g_assert_true(pla_test_has_note(&back, "camera masks"));
  pla_item_clear(&back);

  /* any negative fourth word is a missing marker, NaN too */
  for (int i = 0; i < 3; i++) {
    word = i == 0 ? -0.5f : i == 1 ? -1e30f : NAN;
    memcpy(masked + data + 12, &word, 4);
    pla_test_read_bytes(&pla_format_c3d, "masked.c3d", masked, size, &back);
    g_assert_true(isnan(back.take->pos[0]) && !isnan(back.take->pos[3]));
    pla_item_clear(&back);
  }

  /* no usable parameters: the header alone gives positions, names are made up */
  g_autofree uint8_t *bare = g_memdup2(bytes, size);
  memset(bare + 512 + 4, 0xee, data - 516);
  pla_test_read_bytes(&pla_format_c3d, "bare.c3d", bare, size, &back);
  g_assert_cmpint(back.take->n_frames, ==, 4);
  g_assert_cmpstr(back.take->name[1], ==, "M2");
  g_assert_true(pla_test_has_note(&back, "damaged"));
  for (int i = 0; i < 24; i++)
    g_assert_true(back.take->pos[i] == item.take->pos[i] || isnan(item.take->pos[i]));
  pla_item_clear(&back);

  /* a Latin-1 label and one that is there twice */
  g_autofree uint8_t *names = g_memdup2(bytes, size);
  uint8_t *label = memmem(names, data, "jaw left", 8);
  g_assert_nonnull(label);
  label[0] = 0xfc;
  pla_test_read_bytes(&pla_format_c3d, "names.c3d", names, size, &back);
  g_assert_cmpstr(back.take->name[1], ==, "üaw left");
  pla_item_clear(&back);
  memcpy(label, "LIP     ", 8);
  pla_test_read_bytes(&pla_format_c3d, "names.c3d", names, size, &back);
  g_assert_cmpstr(back.take->name[1], ==, "LIP#2");
  pla_item_clear(&back);
  pla_item_clear(&item);
}

static void
test_bad_files(void)
{
  PlaWriteOptions opts = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(100, 2, true) };
  size_t size;
  g_autofree uint8_t *bytes = write_bytes(&item, &opts, &size);
  size_t data = (size_t)(bytes[16] - 1) * 512;
#define REFUSE(...)                                                                                \
  pla_test_refuse_bytes(&pla_format_c3d, "bad.c3d", bad, n,                                        \
                        (const char *const[]){ __VA_ARGS__, NULL })
  struct {
    size_t at, n;
    const char *bytes, *words[4]; /* NULL-terminated */
  } bad_bytes[] = {
    { 1, 1, "\x51", { "byte 1", "mark" } },
    { 0, 1, "\xff", { "block 255" } },
    { 16, 2, "\xff\xff", { "block 65535" } },
    { data + 32, 4, "\x00\x00\x80\x7f", { "infinite", "LIP", "frame 2" } },
  };
  for (size_t i = 0; i < G_N_ELEMENTS(bad_bytes); i++) {
    size_t n = size;
    g_autofree uint8_t *bad = g_memdup2(bytes, size);
    memcpy(bad + bad_bytes[i].at, bad_bytes[i].bytes, bad_bytes[i].n);
    pla_test_refuse_bytes(&pla_format_c3d, "bad.c3d", bad, n, bad_bytes[i].words);
  }
  g_autofree uint8_t *bad = g_memdup2(bytes, size);
  size_t n = data + 99 * 32 + 31;
  REFUSE("99 of 100 frames", "cut short");
  n = 300;
  REFUSE("header", "300 bytes");
  n = size;
  uint8_t *unit = memmem(bad, data, "UNITS", 5);
  memcpy(unit + 10, "yd", 2);
  REFUSE("UNITS", "yd");
  pla_item_clear(&item);
}

/* one take through every marker format gives the same positions */
static void
test_same_in_all_formats(void)
{
  PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(60, 7, true) };
  PlaItem c3d, trc, csv, back;
  pla_test_round_trip(&pla_format_c3d, "all.c3d", &item, NULL, &c3d);
  pla_test_round_trip(&pla_format_trc, "all.trc", &c3d, NULL, &trc);
  pla_test_round_trip(&pla_format_csv_markers, "all.csv", &trc, NULL, &csv);
  pla_test_round_trip(&pla_format_c3d, "all.c3d", &csv, NULL, &back);
  pla_test_assert_same_take(item.take, c3d.take, 0);
  pla_test_assert_same_take(item.take, trc.take, 0);
  pla_test_assert_same_take(item.take, csv.take, 0);
  pla_test_assert_same_take(item.take, back.take, 0);
  pla_item_clear(&item);
  pla_item_clear(&c3d);
  pla_item_clear(&trc);
  pla_item_clear(&csv);
  pla_item_clear(&back);
}

static void
test_damage(void)
{
  for (int cpu = 0; cpu < 3; cpu++) {
    PlaWriteOptions opts = processor(cpu);
    opts.c3d_storage = cpu == 2 ? PLA_C3D_INTEGER : PLA_C3D_FLOAT;
    PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(8, 3, true) };
    pla_test_fuzz_item(&pla_format_c3d, ".c3d", &item, &opts);
    pla_item_clear(&item);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/c3d/float-round-trip", test_float_round_trip);
  g_test_add_func("/io/c3d/integer-round-trip", test_integer_round_trip);
  g_test_add_func("/io/c3d/vax-bits", test_vax_bits);
  g_test_add_func("/io/c3d/long-take", test_long_take);
  g_test_add_func("/io/c3d/odd-files", test_odd_files);
  g_test_add_func("/io/c3d/bad-files", test_bad_files);
  g_test_add_func("/io/c3d/same-in-all-formats", test_same_in_all_formats);
  g_test_add_func("/io/c3d/damage", test_damage);
  return g_test_run();
}

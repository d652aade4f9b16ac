/* Markers and tracks in comma-separated text, and the plain table of coils. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define REFUSE(text, ...)                                                                          \
  pla_test_refuse_text(&pla_format_csv_markers, "bad.csv", text, __VA_ARGS__)

static void
read_text(const char *text, PlaItem *out)
{
  pla_test_read_bytes(&pla_format_csv_markers, "some.csv", text, strlen(text), out);
}

/* 32-bit coordinates come back bit for bit, 64-bit ones within 2 ulp, in every unit */
static void
test_take_round_trip(void)
{
  const double units[] = { 1.0, 10.0, 1000.0, 25.4 };
  for (int single = 0; single < 2; single++)
    for (size_t u = 0; u < G_N_ELEMENTS(units); u++) {
      PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(40, 5, single) }, back;
      item.take->unit_mm = units[u];
      if (single && u > 0) /* 32-bit millimetres are not 32-bit centimetres */
        item.take->single = false;
      pla_test_round_trip(&pla_format_csv_markers, "take.csv", &item, NULL, &back);
      pla_test_assert_same_take(item.take, back.take, single && u == 0 ? 0 : 2);
      g_assert_cmpint(back.take->single, ==, single && u == 0);
      g_assert_cmpuint(pla_take_n_missing(back.take), ==, pla_take_n_missing(item.take));
      g_assert_cmpint(back.notes.n, ==, 0);
      pla_item_clear(&item);
      pla_item_clear(&back);
    }
}

/* rates come back exactly, simple or not, late starts included */
static void
test_rates(void)
{
  const double rates[] = { 1.0,   24.0,         30.0 / 1.001, 119.88, (double)119.88f,
                           400.0, 1000.0 / 3.0, 0.2,          48000.0 };
  const double starts[] = { 0.0, 3.5, 1234.56789 };
  for (size_t r = 0; r < G_N_ELEMENTS(rates); r++)
    for (size_t s = 0; s < G_N_ELEMENTS(starts); s++) {
      PlaItem item = { .kind = PLA_KIND_TAKE, .take = pla_test_take(200, 1, true) }, back;
      item.take->rate_hz = rates[r];
      item.take->start_s = starts[s];
      pla_test_round_trip(&pla_format_csv_markers, "rate.csv", &item, NULL, &back);
      g_assert_cmpfloat(back.take->start_s, ==, starts[s]);
      g_assert_cmpint(back.take->n_frames, ==, 200);
      /* a late start leaves the times, and so the rate, fewer digits */
      g_assert_cmpfloat(fabs(back.take->rate_hz - rates[r]), <=, s < 2 ? 0.0 : 1e-9 * rates[r]);
      pla_item_clear(&item);
      pla_item_clear(&back);
    }
}

static void
test_track_round_trip(void)
{
  PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(50, 6, false) }, back;
  /* names that look like something else */
  const char *const names[] = { "frame", "speed_mm", "a \"b\", c", "T_x", "T_y", "T_z" };
  const char *const units[] = { "", "", "N/m", "", "", "" };
  for (int pass = 0; pass < 2; pass++) {
    pla_test_round_trip(&pla_format_csv_track, "track.csv", &item, NULL, &back);
    g_assert_cmpint(back.kind, ==, PLA_KIND_TRACK);
    pla_test_assert_same_track(item.track, back.track);
    pla_item_clear(&back);
    for (int c = 0; c < 6; c++) {
      free(item.track->name[c]);
      free(item.track->unit[c]);
      item.track->name[c] = strdup(names[c]);
      item.track->unit[c] = strdup(units[c]);
    }
  }
  pla_item_clear(&item);
}

/* the dialects that spreadsheets and scripts write */
static void
test_dialects(void)
{
  const char *const same[] = {
    "frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1.5,2,3\n2,0.01,,,\n3,0.02,4,5,6.25\n",
    "\xef\xbb\xbf"
    "Frame,Time,LIP_X,LIP_Y,LIP_Z\r\n1,0,1.5,2,3\r\n2,0.01,,,\r\n3,0.02,4,5,6.25\r\n",
    "sep=;\nframe;time (ms);\"LIP_x\";LIP_y;LIP_z;\n1;0;1,5;2;3;\n2;10;;;;\n3;20;4;5;6,25;\n",
    "# made by hand\ntime_s\tLIP_x_mm\tLIP_y_mm\tLIP_z_mm\n0\t1.5\t2\t3\n0.01\tNaN\tNaN\tNaN\n"
    "0.02\t4\t5\t6.25",
    "frame,time_s,LIP_x_m,LIP_y_m,LIP_z_m\n1,0,.0015,2e-3,3E-3\n3,0.02,0.004,0.005,0.00625\n",
    "frame,time_s,LIP_x (cm),LIP_y (cm),LIP_z (cm)\n7,0,.15,.2,.3\n9,0.02,0.4,0.5,0.625\n\n",
  };
  for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
    PlaItem item;
    read_text(same[i], &item);
    g_assert_cmpint(item.kind, ==, PLA_KIND_TAKE);
    g_assert_cmpint(item.take->n_frames, ==, 3);
    g_assert_cmpint(item.take->n_markers, ==, 1);
    g_assert_cmpfloat(item.take->rate_hz, ==, 100.0);
    g_assert_cmpstr(item.take->name[0], ==, "LIP");
    const double mm[9] = { 1.5, 2, 3, NAN, NAN, NAN, 4, 5, 6.25 };
    for (int k = 0; k < 9; k++)
      if (isnan(mm[k]))
        g_assert_true(isnan(item.take->pos[k]));
      else
        g_assert_cmpfloat_with_epsilon(item.take->pos[k], mm[k] / 1000.0, 1e-18);
    g_assert_cmpuint(pla_take_n_missing(item.take), ==, 1);
    g_assert_cmpint(pla_test_has_note(&item, "left out"), ==, i >= 4);
    g_assert_cmpint(pla_test_has_note(&item, "line end"), ==, i == 3);
    pla_item_clear(&item);
  }
}

/* units after an underscore or in brackets; two axes are a track */
static void
test_track_header(void)
{
  PlaItem item;
  read_text("time_s,TT_x_mm,TT_y_mm,jaw [deg],masseter\n0,1,2,3,0.5\n0.005,1,,3,0.25\n", &item);
  g_assert_cmpint(item.kind, ==, PLA_KIND_TRACK);
  const char *const names[] = { "TT_x", "TT_y", "jaw", "masseter" };
  const char *const units[] = { "mm", "mm", "deg", "" };
  for (int c = 0; c < 4; c++) {
    g_assert_cmpstr(item.track->name[c], ==, names[c]);
    g_assert_cmpstr(item.track->unit[c], ==, units[c]);
  }
  g_assert_cmpfloat(item.track->rate_hz, ==, 200.0);
  g_assert_true(isnan(item.track->value[5]));
  g_assert_cmpfloat(item.track->value[7], ==, 0.25);
  pla_item_clear(&item);

  /* samples left out are missing, not zero */
  read_text("time_s,jaw_deg\n0,1\n1,2\n3,4\n", &item);
  g_assert_cmpint(item.track->n_samples, ==, 4);
  g_assert_cmpfloat(item.track->value[1], ==, 2.0);
  g_assert_true(isnan(item.track->value[2]));
  g_assert_cmpfloat(item.track->value[3], ==, 4.0);
  g_assert_true(pla_test_has_note(&item, "1 frames are left out"));
  pla_item_clear(&item);
}

/* times printed with few digits still give the rate they were made with */
static void
test_rounded_times(void)
{
  const double rates[] = { 120.0, 60.0 / 1.001, 250.0, 128.0 };
  const char *const prints[] = { "%.3f,1,2,3\n", "%.5f,1,2,3\n", "%.6g,1,2,3\n" };
  for (size_t r = 0; r < G_N_ELEMENTS(rates); r++)
    for (size_t p = 0; p < G_N_ELEMENTS(prints); p++) {
      g_autoptr(GString) text = g_string_new("time_s,A_x,A_y,A_z\n");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      for (int i = 0; i < 5000; i++)
        g_string_append_printf(text, prints[p], i / rates[r]);
#pragma GCC diagnostic pop
      PlaItem item;
      read_text(text->str, &item);
      g_assert_cmpint(item.take->n_frames, ==, 5000);
      g_assert_cmpfloat_with_epsilon(item.take->rate_hz, rates[r], 1e-12);
      pla_item_clear(&item);
    }
}

/* the sentence names line, column and marker */
static void
test_bad_files(void)
{
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2,3\n2,0.01,1,abc,3\n", "line 3", "column 4",
         "marker LIP, y", "\"abc\"");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2,inf\n", "line 2", "column 5", "marker LIP, z",
         "finite");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2,1e999\n", "line 2", "column 5", "finite");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,0x1p3,2,1\n", "line 2", "column 3", "no number");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,,3\n", "line 2", "column 4", "marker LIP, y",
         "missing");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2\n", "line 2", "4 cells", "5 columns");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,5,2,3,4\n", "line 2", "7 cells", "decimal comma");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,,1,2,3\n", "line 2", "column 2", "empty");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1.5,0,1,2,3\n", "line 2", "column 1", "frame number");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n2,0,1,2,3\n1,1,1,2,3\n", "line 3", "frame 1");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2,3\n\n2,1,1,2,3\n", "line 3", "blank");
  REFUSE("time_s,LIP_x,LIP_y,LIP_z\n0,1,2,3\n1,1,2,3\n2,1,2,3\n3.5,1,2,3\n", "line 5", "even");
  REFUSE("time_s,LIP_x,LIP_y,LIP_z\n0,1,2,3\n1,1,2,3\n1,1,2,3\n", "line 4", "time 1 s");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n1,0,1,2,3\n900000000,1,1,2,3\n", "line 3", "left out");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z,JAW_x,JAW_y\n", "column 6", "JAW_x", "triple");
  REFUSE("frame,time_s,LIP_x_furlong,LIP_y,LIP_z\n1,0,1,2,3\n2,0,1,2,3\n", "line 3", "time 0 s");
  REFUSE("frame,time_s,A_x,A_y,A_z,B_x_m,B_y_m,B_z_m\n", "column 6", "unit");
  REFUSE("frame,time_s,A_x_deg,A_y_deg,A_z_deg\n", "\"deg\"", "mm");
  REFUSE("frame,time_s,LIP_x,LIP_y,LIP_z\n", "no frames");
  REFUSE("frame,LIP_x,LIP_y,LIP_z\n1,1,2,3\n2,1,2,3\n", "neither times nor a rate");
  REFUSE("a,b,c\n1,2,3\n", "line 1", "time_s");
  REFUSE("time_s,\"a\n0,1\n", "line 1", "column 2", "quote");
  REFUSE("", "no table");
}

static const char coils[] = "2 15\n"
                            "0.0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 \n"
                            "0.0 2 2 3 4 5 6 7 8 9 10 11 12 13 14.5 \n";

static void
test_ema_text(void)
{
  PlaItem item;
  pla_test_read_bytes(&pla_format_ema_text, "a.txt", coils, strlen(coils), &item);
  g_assert_cmpint(item.track->n_samples, ==, 2);
  g_assert_cmpint(item.track->n_channels, ==, 14);
  g_assert_cmpstr(item.track->name[0], ==, "TR_x");
  g_assert_cmpstr(item.track->name[7], ==, "TT_y");
  g_assert_cmpstr(item.track->name[13], ==, "LL_y");
  g_assert_cmpstr(item.track->unit[13], ==, "mm");
  g_assert_cmpfloat(item.track->rate_hz, ==, 100.0);
  g_assert_cmpfloat(item.track->value[14], ==, 2.0);
  g_assert_cmpfloat(item.track->value[27], ==, 14.5);
  pla_item_clear(&item);
  g_autofree char *path = pla_test_path("a.txt");
  const PlaFormat *format;
  g_assert_cmpint(pla_format_detect(path, &format, NULL), ==, PLA_OK);
  g_assert_true(format == &pla_format_ema_text);
#define REFUSE_EMA(text, ...)                                                                      \
  pla_test_refuse_text(&pla_format_ema_text, "bad.txt", text, __VA_ARGS__)
  REFUSE_EMA("3 2\n1 2\n1 2\n", "line 4", "2 of 3 frames");
  REFUSE_EMA("1 2\n1 2\n1 2\n", "line 3", "more than the 1 frames");
  REFUSE_EMA("2 2\n1 2\n1 x\n", "line 3", "column 2", "C2");
  REFUSE_EMA("2 2\n1 2 3\n1 2\n", "line 2", "more than the 2 columns");
  REFUSE_EMA("2000000000 60000\n1 2\n", "line 1", "cut short");
}

static void
test_damage(void)
{
  PlaItem take = { .kind = PLA_KIND_TAKE, .take = pla_test_take(12, 3, true) };
  pla_test_fuzz_item(&pla_format_csv_markers, ".csv", &take, NULL);
  pla_item_clear(&take);
  PlaItem track = { .kind = PLA_KIND_TRACK, .track = pla_test_track(12, 4, false) };
  pla_test_fuzz_item(&pla_format_csv_track, ".csv", &track, NULL);
  pla_item_clear(&track);
  PlaFuzz fuzz = { .format = &pla_format_ema_text, .extension = ".txt" };
  pla_fuzz_run(&fuzz, (const uint8_t *)coils, strlen(coils));
}

/* a long file costs its payload and a window, refused ones next to nothing */
static void
test_memory(void)
{
  const int n_rows = 400000;
  g_autoptr(GString) text = g_string_sized_new(24 << 20);
  g_string_append(text, "time_s,A_x,A_y,A_z,B_x,B_y,B_z\n");
  for (int i = 0; i < n_rows; i++)
    g_string_append_printf(text, "%d.5,1.25,2.5,-3.75,,,\n", i);
  g_autofree char *path = pla_test_path("long.csv");
  g_assert_true(g_file_set_contents(path, text->str, (gssize)text->len, NULL));
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err = { 0 };
  pla_peak_reset();
  g_assert_cmpint(pla_format_csv_markers.read(path, &opts, &item, &err), ==, PLA_OK);
  const size_t payload = (size_t)n_rows * 48;
  g_assert_cmpuint(pla_peak_get(), <, payload * 3 / 2 + (2 << 20));
  g_assert_cmpuint(pla_take_n_missing(item.take), ==, (size_t)n_rows);
  pla_item_clear(&item);

  g_string_append(text, "oops\n");
  g_assert_true(g_file_set_contents(path, text->str, (gssize)text->len, NULL));
  pla_peak_reset();
  g_assert_cmpint(pla_format_csv_markers.read(path, &opts, &item, &err), ==, PLA_ERR_FORMAT);
  g_assert_cmpuint(pla_peak_get(), <, 8 << 20);
  g_assert_nonnull(strstr(err.message, "line 400002"));
}

/* names that a spreadsheet would compute are disarmed, and read as they were */
static void
test_formulas(void)
{
  static const char *const names[] = {
    "=1+1", "+x",     "-x",   "@SUM(A1)", "'=1",
    "''-x", "'quote", "-3.5", "+1e-6",    "=HYPERLINK(\"http://x\",\"y\")",
    "a=1"
  };
  enum { N = G_N_ELEMENTS(names) };
  g_autofree char *path = pla_test_path("formulas.csv"), *text = NULL;
  PlaItem item = { .kind = PLA_KIND_TRACK }, again = { 0 };
  PlaError err;
  g_assert_cmpint(pla_track_new(3, N, &item.track, &err), ==, PLA_OK);
  item.track->rate_hz = 100.0;
  for (int c = 0; c < N; c++) {
    item.track->name[c] = strdup(names[c]);
    item.track->unit[c] = strdup("");
  }
  PlaWriteOptions write = pla_write_options_default();
  PlaReadOptions read = pla_read_options_default();
  g_assert_cmpint(pla_item_write(path, &item, &write, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  *strchr(text, '\n') = '\0';
  for (const char *cell = text; cell; cell = strchr(cell, ',') ? strchr(cell, ',') + 1 : NULL) {
    const char *first = cell + (*cell == '"');
    if (strchr("=+@", *first) && !g_str_has_prefix(first, "+1e-6"))
      g_error("a spreadsheet computes %s", first);
    if (*first == '-')
      g_assert_true(g_str_has_prefix(first, "-3.5"));
  }
  if (pla_item_read(path, &read, &again, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(again.track->n_channels, ==, N);
  for (int c = 0; c < N; c++)
    g_assert_cmpstr(again.track->name[c], ==, names[c]);
  pla_item_clear(&item);
  pla_item_clear(&again);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/csv/take-round-trip", test_take_round_trip);
  g_test_add_func("/io/csv/rates", test_rates);
  g_test_add_func("/io/csv/track-round-trip", test_track_round_trip);
  g_test_add_func("/io/csv/dialects", test_dialects);
  g_test_add_func("/io/csv/track-header", test_track_header);
  g_test_add_func("/io/csv/rounded-times", test_rounded_times);
  g_test_add_func("/io/csv/bad-files", test_bad_files);
  g_test_add_func("/io/csv/ema-text", test_ema_text);
  g_test_add_func("/io/csv/damage", test_damage);
  g_test_add_func("/io/csv/memory", test_memory);
  g_test_add_func("/io/csv/formulas", test_formulas);
  return g_test_run();
}

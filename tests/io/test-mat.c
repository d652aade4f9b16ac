/* MATLAB files: the track among their variables, and what is refused before matio sees it. */
#include "io/formats/formats.h"
#include "tests/io/signal-samples.h"

#include <glib.h>
#include <math.h>
#include <matio.h>
#include <string.h>

static void
test_round_trip(void)
{
  for (int kind = 0; kind < 4; kind++) {
    PlaWriteOptions opts = pla_write_options_default();
    opts.uncompressed = kind & 1;
    PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(3000, 5, kind & 2) }, back;
    free(item.track->unit[1]);
    item.track->unit[1] = strdup("mm");
    pla_test_round_trip(&pla_format_mat, "track.mat", &item, &opts, &back);
    pla_test_assert_same_track(item.track, back.track);
    g_assert_cmpint(back.track->single, ==, (kind & 2) != 0);
    g_assert_cmpint(back.notes.n, ==, 0);
    pla_item_clear(&item);
    pla_item_clear(&back);
  }
}

/* names of every length, with letters that take more than a byte, and units that are not known */
static void
test_names(void)
{
  static const char *const names[] = { "x",        "TT",        "TT_x",
                                       "ema_x",    "tongue",    "tongueX",
                                       "tongue_x", "tongue_xy", "\u00ff\u00ff\u00ff",
                                       "\u820c_x" };
  for (int kind = 0; kind < 2; kind++) {
    PlaWriteOptions opts = pla_write_options_default();
    opts.uncompressed = kind == 1;
    PlaItem item = { .kind = PLA_KIND_TRACK,
                     .track = pla_test_track(10, G_N_ELEMENTS(names), true) },
            back;
    for (size_t c = 0; c < G_N_ELEMENTS(names); c++) {
      free(item.track->name[c]);
      free(item.track->unit[c]);
      item.track->name[c] = strdup(names[c]);
      item.track->unit[c] = strdup(c % 2 ? "" : "mm/s2");
    }
    pla_test_round_trip(&pla_format_mat, "names.mat", &item, &opts, &back);
    pla_test_assert_same_track(item.track, back.track);
    pla_item_clear(&item);
    pla_item_clear(&back);
  }
}

static matvar_t *
matrix(const char *name, size_t rows, size_t columns, enum matio_classes class,
       enum matio_types type, void *data)
{
  size_t dims[2] = { rows, columns };
  return Mat_VarCreate(name, class, type, 2, dims, data, 0);
}

static matvar_t *
number(const char *name, double value)
{
  return matrix(name, 1, 1, MAT_C_DOUBLE, MAT_T_DOUBLE, &value);
}

static matvar_t *
word(const char *name, const char *text)
{
  g_autofree char *copy = g_strdup(text);
  return matrix(name, 1, strlen(text), MAT_C_CHAR, MAT_T_UINT8, copy);
}

/* writes and frees @vars; returns the file's bytes */
static uint8_t *
save(matvar_t **vars, int n, size_t *size)
{
  g_autofree char *path = pla_test_path("seed.mat");
  mat_t *mat = Mat_CreateVer(path, "MATLAB 5.0 MAT-file", MAT_FT_MAT5);
  g_assert_nonnull(mat);
  for (int i = 0; i < n; i++) {
    g_assert_cmpint(Mat_VarWrite(mat, vars[i], MAT_COMPRESSION_NONE), ==, 0);
    Mat_VarFree(vars[i]);
  }
  Mat_Close(mat);
  char *data;
  g_assert_true(g_file_get_contents(path, &data, size, NULL));
  return (uint8_t *)data;
}

static matvar_t *
sensors(size_t n_second)
{
  static const char *const fields[] = { "NAME", "SRATE", "SIGNAL", NULL };
  size_t dims[2] = { 1, 3 };
  matvar_t *var = Mat_VarCreateStruct2("take01", 2, dims, fields);
  int16_t sound[160] = { 0 };
  double tip[30], lip[30];
  for (int i = 0; i < 30; i++) {
    tip[i] = i;
    lip[i] = 100 + i;
  }
  const char *const names[] = { "AUDIO", "TT", "UL" };
  for (size_t i = 0; i < 3; i++) {
    Mat_VarSetStructFieldByName(var, "NAME", i, word("NAME", names[i]));
    Mat_VarSetStructFieldByName(var, "SRATE", i, number("SRATE", i ? 200.0 : 16000.0));
  }
  Mat_VarSetStructFieldByName(var, "SIGNAL", 0,
                              matrix("SIGNAL", 160, 1, MAT_C_INT16, MAT_T_INT16, sound));
  Mat_VarSetStructFieldByName(var, "SIGNAL", 1,
                              matrix("SIGNAL", 10, 3, MAT_C_DOUBLE, MAT_T_DOUBLE, tip));
  Mat_VarSetStructFieldByName(var, "SIGNAL", 2,
                              matrix("SIGNAL", n_second, 2, MAT_C_DOUBLE, MAT_T_DOUBLE, lip));
  return var;
}

/* sensors with names and rates; the sound between them is left out */
static void
test_sensors(void)
{
  size_t size;
  matvar_t *var = sensors(10);
  g_autofree uint8_t *data = save(&var, 1, &size);
  PlaItem item;
  pla_test_read_bytes(&pla_format_mat, "sensors.mat", data, size, &item);
  const char *const names[] = { "TT_x", "TT_y", "TT_z", "UL_x", "UL_y" };
  g_assert_cmpint(item.track->n_channels, ==, 5);
  g_assert_cmpint(item.track->n_samples, ==, 10);
  g_assert_cmpfloat(item.track->rate_hz, ==, 200.0);
  for (int c = 0; c < 5; c++)
    g_assert_cmpstr(item.track->name[c], ==, names[c]);
  /* columns are stored one after the other */
  for (int i = 0; i < 10; i++) {
    g_assert_cmpfloat(item.track->value[5 * i + 1], ==, 10.0 + i);
    g_assert_cmpfloat(item.track->value[5 * i + 4], ==, 110.0 + i);
  }
  g_assert_true(pla_test_has_note(&item, "1 signals"));
  pla_item_clear(&item);

  var = sensors(9);
  g_autofree uint8_t *uneven = save(&var, 1, &size);
  pla_test_refuse_bytes(&pla_format_mat, "uneven.mat", uneven, size,
                        (const char *const[]){ "UL", "9 samples", NULL });
}

/* the largest matrix, with a rate beside it */
static void
test_matrix(void)
{
  float values[20];
  for (int i = 0; i < 20; i++)
    values[i] = (float)i / 3.0f;
  size_t size;
  matvar_t *vars[3] = { number("Fs", 250.0),
                        matrix("ema", 10, 2, MAT_C_SINGLE, MAT_T_SINGLE, values),
                        number("other", 1.0) };
  g_autofree uint8_t *data = save(vars, 3, &size);
  PlaItem item;
  pla_test_read_bytes(&pla_format_mat, "matrix.mat", data, size, &item);
  g_assert_cmpfloat(item.track->rate_hz, ==, 250.0);
  g_assert_true(item.track->single);
  g_assert_cmpstr(item.track->name[1], ==, "ema_y");
  for (int i = 0; i < 10; i++)
    g_assert_cmpfloat(item.track->value[2 * i + 1], ==, (double)values[10 + i]);
  pla_item_clear(&item);

  vars[0] = matrix("ema", 10, 2, MAT_C_SINGLE, MAT_T_SINGLE, values);
  g_autofree uint8_t *no_rate = save(vars, 1, &size);
  pla_test_refuse_bytes(&pla_format_mat, "norate.mat", no_rate, size,
                        (const char *const[]){ "ema", "srate", NULL });
  values[3] = INFINITY;
  vars[0] = matrix("ema", 10, 2, MAT_C_SINGLE, MAT_T_SINGLE, values);
  vars[1] = number("rate", 100.0);
  g_autofree uint8_t *infinite = save(vars, 2, &size);
  pla_test_refuse_bytes(&pla_format_mat, "inf.mat", infinite, size,
                        (const char *const[]){ "ema_x", "sample 4", NULL });
}

static void
test_bad_files(void)
{
  size_t size;
  matvar_t *var = sensors(10);
  g_autofree uint8_t *data = save(&var, 1, &size);
  /* 7.3 files are HDF5 */
  g_autofree uint8_t *v73 = g_memdup2(data, size);
  v73[125] = 2;
  pla_test_refuse_bytes(&pla_format_mat, "v73.mat", v73, size,
                        (const char *const[]){ "HDF5", "-v7", NULL });
  pla_test_refuse_bytes(&pla_format_mat, "cut.mat", data, size - 8,
                        (const char *const[]){ "byte 136", "cut short", NULL });
  pla_test_refuse_bytes(&pla_format_mat, "cut.mat", data, 100,
                        (const char *const[]){ "header", NULL });
  /* dimensions that do not fit the numbers: the tip has 10 x 3 */
  const uint8_t dims[8] = { 10, 0, 0, 0, 3, 0, 0, 0 };
  uint8_t *at = memmem(data, size, dims, 8);
  g_assert_nonnull(at);
  at[4] = 4;
  pla_test_refuse_bytes(&pla_format_mat, "dims.mat", data, size,
                        (const char *const[]){ "byte", "dimensions", NULL });

  /* cells in cells in cells */
  matvar_t *deep = number("x", 1.0);
  for (int i = 0; i < 12; i++) {
    size_t one[2] = { 1, 1 };
    matvar_t *cell = Mat_VarCreate("x", MAT_C_CELL, MAT_T_CELL, 2, one, NULL, 0);
    Mat_VarSetCell(cell, 0, deep);
    deep = cell;
  }
  g_autofree uint8_t *nested = save(&deep, 1, &size);
  pla_test_refuse_bytes(&pla_format_mat, "deep.mat", nested, size,
                        (const char *const[]){ "nested", NULL });
}

static void
test_damage(void)
{
  size_t size;
  matvar_t *var = sensors(10);
  g_autofree uint8_t *data = save(&var, 1, &size);
  PlaFuzz fuzz = { .format = &pla_format_mat, .extension = ".mat", .n_mutations = 150 };
  pla_fuzz_run(&fuzz, data, size);
  PlaItem item = { .kind = PLA_KIND_TRACK, .track = pla_test_track(12, 2, true) };
  pla_test_fuzz_item(&pla_format_mat, ".mat", &item, NULL);
  pla_item_clear(&item);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/io/mat/round-trip", test_round_trip);
  g_test_add_func("/io/mat/names", test_names);
  g_test_add_func("/io/mat/sensors", test_sensors);
  g_test_add_func("/io/mat/matrix", test_matrix);
  g_test_add_func("/io/mat/bad-files", test_bad_files);
  g_test_add_func("/io/mat/damage", test_damage);
  return g_test_run();
}

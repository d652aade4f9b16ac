/* Plots: counts that add up, places that fit, values under the pointer, files. */
#include "app/show/plot.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static double
sum_of(const PlaSeries *series)
{
  double sum = 0.0;
  for (int i = 0; i < series->n; i++)
    sum += series->y[i];
  return sum;
}

static void
test_histogram(void)
{
  /* 1000 values 0..999 in bins of a round width: each bin holds as many as it is wide */
  double value[1002];
  for (int i = 0; i < 1000; i++)
    value[i] = i;
  value[1000] = NAN;
  value[1001] = INFINITY;
  PlaPlot *plot = pla_plot_new("t", "x", "y");
  pla_plot_add_histogram(plot, "ramp", value, 1002, 20);
  const PlaSeries *series = &plot->series[0];
  g_assert_cmpfloat(sum_of(series), ==, 1000.0);
  g_assert_cmpfloat(series->x[0], ==, 0.0);
  const double step = series->x[1] - series->x[0];
  for (int i = 0; i + 1 < series->n; i++)
    g_assert_cmpfloat(series->y[i], ==, step);
  pla_plot_free(plot);

  /* one value, and none at all */
  plot = pla_plot_new("t", "x", "y");
  pla_plot_add_histogram(plot, "one", (double[]){ 5.0 }, 1, 20);
  g_assert_cmpfloat(sum_of(&plot->series[0]), ==, 1.0);
  pla_plot_add_histogram(plot, "none", (double[]){ NAN }, 1, 20);
  g_assert_cmpint(plot->n_series, ==, 1);
  pla_plot_free(plot);
}

static void
test_intensities(void)
{
  enum { N = 10 };
  PlaVolume *vol = NULL, *ids = NULL;
  PlaLabelMap *map = NULL;
  PlaPlot *plot = NULL;
  PlaError err;
  g_assert_cmpint(pla_volume_new((int[4]){ N, N, N, 1 }, PLA_I16, &vol, &err), ==, PLA_OK);
  g_assert_cmpint(pla_volume_new((int[4]){ N, N, N, 1 }, PLA_U8, &ids, &err), ==, PLA_OK);
  for (int v = 0; v < N * N * N; v++) {
    ((int16_t *)vol->voxels)[v] = (int16_t)v;
    ((uint8_t *)ids->voxels)[v] = v < 300 ? 1 : v < 1000 - 100 ? 2 : 0;
  }
  g_assert_cmpint(pla_label_map_take(ids, NULL, &map, &err), ==, PLA_OK);
  /* voxels of 1 mm^3: all of them, then 600 and 300 in two tissues, the larger first */
  g_assert_cmpint(pla_plot_new_intensities(vol, NULL, &plot, &err), ==, PLA_OK);
  g_assert_cmpfloat_with_epsilon(sum_of(&plot->series[0]), 1.0, 1e-9);
  pla_plot_free(plot);
  g_assert_cmpint(pla_plot_new_intensities(vol, map, &plot, &err), ==, PLA_OK);
  g_assert_cmpint(plot->n_series, ==, 2);
  g_assert_cmpfloat_with_epsilon(sum_of(&plot->series[0]), 0.6, 1e-9);
  g_assert_cmpfloat_with_epsilon(sum_of(&plot->series[1]), 0.3, 1e-9);
  pla_plot_free(plot);
  pla_label_map_free(map);
  pla_volume_free(vol);
}

/* a regular tet has 70.53 degrees everywhere, a corner of a cube 54.74 at its smallest */
static void
test_quality(void)
{
  PlaMesh *mesh = NULL;
  PlaPlot *plot = NULL;
  PlaError err;
  static const double pos[8][3] = { { 1, 1, 1 }, { -1, -1, 1 }, { -1, 1, -1 }, { 1, -1, -1 },
                                    { 0, 0, 0 }, { 1, 0, 0 },   { 0, 1, 0 },   { 0, 0, 1 } };
  static const int tet[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  g_assert_cmpint(pla_mesh_new(8, 0, 2, 0, &mesh, &err), ==, PLA_OK);
  memcpy(mesh->pos, pos, sizeof pos);
  memcpy(mesh->tet, tet, sizeof tet);
  g_assert_cmpint(pla_plot_new_quality(mesh, &plot, &err), ==, PLA_OK);
  const PlaSeries *series = &plot->series[0];
  g_assert_cmpfloat(sum_of(series), ==, 2.0);
  const double step = series->x[1] - series->x[0];
  g_assert_cmpfloat(series->y[0], ==, 1.0);
  g_assert_cmpfloat(series->y[series->n - 1], ==, 1.0);
  g_assert_cmpfloat_with_epsilon(series->x[0], 54.7356, step);
  g_assert_cmpfloat_with_epsilon(series->x[series->n - 1], 70.5288, step);
  pla_plot_free(plot);
  pla_mesh_free(mesh);
  g_assert_cmpint(pla_mesh_new(3, 1, 0, 0, &mesh, &err), ==, PLA_OK);
  g_assert_cmpint(pla_plot_new_quality(mesh, &plot, &err), ==, PLA_ERR_EMPTY);
  pla_mesh_free(mesh);
}

static void
test_time(void)
{
  PlaTake *take = NULL;
  PlaError err;
  g_assert_cmpint(pla_take_new(3, 1, &take, &err), ==, PLA_OK);
  take->rate_hz = 10.0;
  take->name[0] = strdup("chin");
  /* missing, then at the origin, then 5 mm away */
  for (int d = 0; d < 3; d++) {
    take->pos[3 + d] = 0.0;
    take->pos[6 + d] = d == 0 ? 0.003 : d == 1 ? 0.004 : 0.0;
  }
  PlaPlot *plot = pla_plot_new_take(take);
  g_assert_true(isnan(plot->series[0].y[0]));
  g_assert_cmpfloat(plot->series[0].y[1], ==, 0.0);
  g_assert_cmpfloat_with_epsilon(plot->series[0].y[2], 5.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(plot->series[0].x[2], 0.2, 1e-12);
  pla_plot_free(plot);
  pla_take_free(take);

  g_autoptr(PlaContent) content = pla_content_new(PLA_ITEM_RESULT);
  g_assert_null(pla_plot_new_residuals(content));
  g_autoptr(JsonNode) node = json_from_string("{\"residuals\": [1, 0.1, 1e-6]}", NULL);
  json_object_set_object_member(content->meta, "simulated",
                                json_object_ref(json_node_get_object(node)));
  plot = pla_plot_new_residuals(content);
  g_assert_cmpint(plot->series[0].n, ==, 3);
  PlaPlotRange range = pla_plot_fit(plot);
  g_assert_cmpfloat(range.y0, <, -6.0); /* powers of ten */
  g_assert_cmpfloat(range.y1, >, 0.0);
  pla_plot_free(plot);
}

/* the sample that is drawn at a place is the one found there */
static void
test_pointer(void)
{
  double x[50], y[50];
  for (int i = 0; i < 50; i++) {
    x[i] = i;
    y[i] = sin(0.2 * i);
  }
  PlaPlot *plot = pla_plot_new("Wave", "Time, s", "Height, mm");
  pla_plot_add(plot, "sine", PLA_SERIES_LINE, x, y, 50);
  PlaPlotRange range = pla_plot_fit(plot);
  const PlaPlotBox box = pla_plot_box(600, 400);
  for (int i = 0; i < 50; i++) {
    double px, py;
    int series = -1, sample = -1;
    pla_plot_place(plot, &range, 600, 400, 0, i, &px, &py);
    g_assert_true(px >= box.x && px <= box.x + box.width && py >= box.y &&
                  py <= box.y + box.height);
    g_assert_true(pla_plot_nearest(plot, &range, 600, 400, px + 1.0, py, &series, &sample));
    g_assert_cmpint(series, ==, 0);
    g_assert_cmpint(sample, ==, i);
  }
  int s, i;
  g_assert_false(pla_plot_nearest(plot, &range, 600, 400, 5000, 5000, &s, &i));

  g_autofree char *dir = g_dir_make_tmp("platysma-plot-XXXXXX", NULL);
  g_autofree char *svg = g_build_filename(dir, "p.svg", NULL);
  g_autofree char *csv = g_build_filename(dir, "p.csv", NULL);
  g_autofree char *text = NULL, *table = NULL;
  PlaError err;
  g_assert_cmpint(pla_plot_write_svg(plot, &range, 600, 400, svg, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(svg, &text, NULL, NULL));
  g_assert_nonnull(strstr(text, "<svg"));
  g_assert_cmpint(pla_plot_write_csv(plot, csv, &err), ==, PLA_OK);
  g_assert_true(g_file_get_contents(csv, &table, NULL, NULL));
  g_assert_true(g_str_has_prefix(table, "series,\"Time, s\",\"Height, mm\"\nsine,0,0\n"));
  g_auto(GStrv) lines = g_strsplit(table, "\n", -1);
  g_assert_cmpint((int)g_strv_length(lines), ==, 52);
  g_assert_cmpint(pla_plot_write_csv(plot, "/nowhere/p.csv", &err), ==, PLA_ERR_IO);
  g_remove(svg);
  g_remove(csv);
  g_rmdir(dir);
  pla_plot_free(plot);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/plot/histogram", test_histogram);
  g_test_add_func("/plot/intensities", test_intensities);
  g_test_add_func("/plot/quality", test_quality);
  g_test_add_func("/plot/time", test_time);
  g_test_add_func("/plot/pointer", test_pointer);
  return g_test_run();
}

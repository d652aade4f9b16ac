/* Everything that draws, with data that leave nothing to divide by: no hang, no coordinate that
 * cairo cannot hold, no label that is no number, no two ticks of one name. */
#include "app/show/field-view.h"
#include "app/show/gif.h"
#include "app/show/overlay.h"
#include "app/show/picture.h"
#include "app/show/plot.h"
#include "app/speech/spoken-picture.h"
#include "app/speech/tongue-picture.h"

#include <cairo.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>
#include <unistd.h>

/* ---- what goes to cairo is looked at on its way --------------------------------------------- */

static GPtrArray *said; /* texts since the last start() */
static int n_bad;
static double worst;

static void
check(double value)
{
  /* cairo keeps 24 bits before the point */
  if (!(fabs(value) < 1e6)) {
    n_bad++;
    worst = value;
  }
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void
cairo_move_to(cairo_t *cr, double x, double y)
{
  check(x);
  check(y);
  REAL(cairo_move_to)(cr, x, y);
}

void
cairo_line_to(cairo_t *cr, double x, double y)
{
  check(x);
  check(y);
  REAL(cairo_line_to)(cr, x, y);
}

void
cairo_rectangle(cairo_t *cr, double x, double y, double width, double height)
{
  check(x);
  check(y);
  check(width);
  check(height);
  REAL(cairo_rectangle)(cr, x, y, width, height);
}

void
cairo_arc(cairo_t *cr, double x, double y, double radius, double from, double to)
{
  check(x);
  check(y);
  check(radius);
  REAL(cairo_arc)(cr, x, y, radius, from, to);
}

void
cairo_show_text(cairo_t *cr, const char *text)
{
  g_ptr_array_add(said, g_strdup(text));
  REAL(cairo_show_text)(cr, text);
}

void
pango_cairo_show_layout(cairo_t *cr, PangoLayout *layout)
{
  g_ptr_array_add(said, g_strdup(pango_layout_get_text(layout)));
  REAL(pango_cairo_show_layout)(cr, layout);
}

void
pango_cairo_layout_path(cairo_t *cr, PangoLayout *layout)
{
  g_ptr_array_add(said, g_strdup(pango_layout_get_text(layout)));
  REAL(pango_cairo_layout_path)(cr, layout);
}

static void
start(void)
{
  g_clear_pointer(&said, g_ptr_array_unref);
  said = g_ptr_array_new_with_free_func(g_free);
  n_bad = 0;
  alarm(60); /* a hang ends here */
}

/* no text appears more often than @most_alike times: ticks of one axis differ, those of two need
 * not */
static void
finish(const char *what, cairo_t *cr, int most_alike)
{
  if (n_bad > 0)
    g_error("%s: cairo was given %d coordinates such as %g", what, n_bad, worst);
  if (cairo_status(cr) != CAIRO_STATUS_SUCCESS)
    g_error("%s: %s", what, cairo_status_to_string(cairo_status(cr)));
  for (guint i = 0; i < said->len; i++) {
    g_autofree char *text = g_ascii_strdown(said->pdata[i], -1);
    if (strstr(text, "nan") || strstr(text, "inf"))
      g_error("%s: the label '%s'", what, text);
    int alike = 0;
    for (guint k = 0; k < said->len; k++)
      alike += strcmp(said->pdata[k], said->pdata[i]) == 0;
    if (alike > most_alike && *text)
      g_error("%s: %d labels '%s'", what, alike, text);
  }
  alarm(0);
}

/* ---- data ---------------------------------------------------------------------------------- */

enum { LENGTH = 6 };
typedef struct {
  const char *name;
  int n;
  double value[LENGTH];
} Data;

static const Data data[] = {
  { "empty", 0, { 0 } },
  { "single", 1, { 3.0 } },
  { "single huge", 1, { 1e300 } },
  { "zero", LENGTH, { 0 } },
  { "constant", LENGTH, { 7, 7, 7, 7, 7, 7 } },
  { "constant huge", LENGTH, { 1e300, 1e300, 1e300, 1e300, 1e300, 1e300 } },
  { "constant tiny", LENGTH, { 1e-300, 1e-300, 1e-300, 1e-300, 1e-300, 1e-300 } },
  { "largest", LENGTH, { DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX } },
  { "one ulp", LENGTH, { 1, 1 + DBL_EPSILON, 1, 1, 1, 1 } },
  { "one ulp below",
    LENGTH,
    { 70.528779365509308, 70.528779365509294, 70.528779365509308, 70.528779365509322,
      70.528779365509308, 70.528779365509308 } },
  { "one ulp of huge", LENGTH, { 1e300, 1e300 * (1 + DBL_EPSILON), 1e300, 1e300, 1e300, 1e300 } },
  { "narrow", LENGTH, { 1700000000, 1700000001, 1700000002, 1700000003, 1700000004, 1700000005 } },
  { "narrower", LENGTH, { 1, 1 + 1e-8, 1 + 2e-8, 1 + 3e-8, 1 + 4e-8, 1 + 5e-8 } },
  { "huge", LENGTH, { -1e300, 0, 1, 1e299, 1e300, 5e299 } },
  { "whole range", LENGTH, { -DBL_MAX, 0, 1, DBL_MAX, DBL_MAX, 0 } },
  { "tiny", LENGTH, { 1e-300, 2e-300, 3e-300, 4e-300, 5e-300, 6e-300 } },
  { "denormal", LENGTH, { 0, 5e-324, 1e-323, 1.5e-323, 2e-323, 4e-320 } },
  { "nan", LENGTH, { NAN, NAN, NAN, NAN, NAN, NAN } },
  { "inf", LENGTH, { INFINITY, -INFINITY, INFINITY, INFINITY, INFINITY, INFINITY } },
  { "mixed", LENGTH, { 1, NAN, INFINITY, 2, -INFINITY, 3 } },
};

typedef struct {
  cairo_surface_t *image;
  cairo_t *cr;
} Paper;

static Paper
paper_new(void)
{
  start();
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 640, 420);
  return (Paper){ image, cairo_create(image) };
}

static void
paper_free(Paper *paper)
{
  cairo_destroy(paper->cr);
  cairo_surface_destroy(paper->image);
}

static void
draw_plot(const char *what, const PlaPlot *plot, const PlaPlotRange *given)
{
  Paper paper = paper_new();
  const PlaPlotRange range = given ? *given : pla_plot_fit(plot);
  int series, sample;
  g_assert_true(isfinite(range.x0) && isfinite(range.x1) && range.x1 > range.x0);
  g_assert_true(isfinite(range.y0) && isfinite(range.y1) && range.y1 > range.y0);
  pla_plot_draw(plot, &range, paper.cr, 640, 420, false);
  pla_plot_nearest(plot, &range, 640, 420, 320, 200, &series, &sample);
  finish(what, paper.cr, 2);
  paper_free(&paper);
}

/* ---- tests --------------------------------------------------------------------------------- */

static void
test_lines(void)
{
  for (size_t x = 0; x < G_N_ELEMENTS(data); x++)
    for (size_t y = 0; y < G_N_ELEMENTS(data); y++)
      for (int kind = 0; kind < 4; kind++) {
        g_autofree char *what =
            g_strdup_printf("%s of %s over %s%s", kind & 1 ? "bars" : "line", data[y].name,
                            data[x].name, kind & 2 ? ", log" : "");
        PlaPlot *plot = pla_plot_new("Title", "Across", "Up");
        plot->log_y = kind & 2;
        pla_plot_add(plot, "data", kind & 1 ? PLA_SERIES_BARS : PLA_SERIES_LINE, data[x].value,
                     data[y].value, MIN(data[x].n, data[y].n));
        draw_plot(what, plot, NULL);
        pla_plot_free(plot);
      }
}

/* the pointer zooms: what is far outside stays outside, at any depth */
static void
test_zoomed(void)
{
  PlaPlot *plot = pla_plot_new("Title", "Across", "Up");
  pla_plot_add(plot, "data", PLA_SERIES_LINE, (double[]){ 0, 1, 2, 3 }, (double[]){ 0, 5, -5, 1 },
               4);
  PlaPlotRange range = pla_plot_fit(plot);
  const double at = 1.3;
  for (int i = 0; i < 300; i++) {
    range.x0 = at + (range.x0 - at) / 1.25;
    range.x1 = at + (range.x1 - at) / 1.25;
    if (!pla_plot_range_is_usable(&range))
      break;
    draw_plot("zoomed", plot, &range);
  }
  g_assert_false(pla_plot_range_is_usable(&range));
  pla_plot_free(plot);
}

static void
test_histograms(void)
{
  for (size_t d = 0; d < G_N_ELEMENTS(data); d++) {
    int n_finite = 0;
    for (int i = 0; i < data[d].n; i++)
      n_finite += isfinite(data[d].value[i]);
    PlaPlot *plot = pla_plot_new("Title", "Across", "Up");
    start();
    pla_plot_add_histogram(plot, "data", data[d].value, (size_t)data[d].n, 60);
    alarm(0);
    g_assert_cmpint(plot->n_series, ==, n_finite > 0);
    double sum = 0.0;
    for (int i = 0; n_finite > 0 && i < plot->series[0].n; i++)
      sum += plot->series[0].y[i];
    g_assert_cmpfloat(sum, ==, n_finite);
    if (n_finite > 0)
      g_assert_cmpint(plot->series[0].n, <=, 400);
    g_autofree char *what = g_strdup_printf("histogram of %s", data[d].name);
    draw_plot(what, plot, NULL);
    pla_plot_free(plot);
  }
}

static void
test_colour_bars(void)
{
  PlaLegend legend;
  const PlaOverlayInk ink = { .font_size = 13.0 };
  for (size_t d = 0; d < G_N_ELEMENTS(data); d++) {
    double lo = INFINITY, hi = -INFINITY;
    int n_views;
    const PlaFieldView *views = pla_field_views_get(&n_views);
    for (int i = 0; i < data[d].n; i++) {
      lo = fmin(lo, data[d].value[i]);
      hi = fmax(hi, data[d].value[i]);
    }
    /* as they are, and as the views choose them */
    for (int v = -1; v < n_views; v++) {
      Paper paper = paper_new();
      g_autofree char *what =
          g_strdup_printf("colour bar of %s as %s", data[d].name, v < 0 ? "given" : views[v].id);
      if (v >= 0) {
        pla_field_view_range(&views[v], data[d].value, (size_t)data[d].n, &lo, &hi);
        if (!isfinite(lo) || !isfinite(hi) || !(hi > lo))
          g_error("%s: from %g to %g", what, lo, hi);
      }
      pla_legend_init(&legend, v < 0 ? PLA_QUANTITY_VON_MISES : views[v].quantity, lo, hi);
      pla_overlay_colour_bar(paper.cr, &ink, 640, 420, &legend, NULL);
      pla_overlay_scale_bar(paper.cr, &ink, 640, 420, data[d].value[0]);
      finish(what, paper.cr, 2); /* a text is drawn with its outline */
      paper_free(&paper);
    }
  }
}

/* scans of such values, and of such sizes */
static void
test_slices(void)
{
  for (size_t d = 0; d < G_N_ELEMENTS(data); d++)
    for (int kind = 0; kind < 2; kind++) {
      PlaVolume *vol = NULL;
      PlaError err;
      PlaPlot *plot = NULL;
      cairo_surface_t *image = NULL;
      g_assert_cmpint(pla_volume_new((int[4]){ LENGTH, 2, 2, 1 }, PLA_F64, &vol, &err), ==, PLA_OK);
      for (int i = 0; i < 4 * LENGTH; i++)
        ((double *)vol->voxels)[i] = data[d].value[i % LENGTH];
      g_autofree char *what = g_strdup_printf("scan of %s", data[d].name);
      PlaSliceOptions opts = pla_slice_options_default(vol);
      if (kind == 1)
        opts.mm_per_pixel = data[d].value[0];
      opts.width = opts.height = 200;
      start();
      const PlaStatus st = pla_draw_slice(vol, NULL, &opts, &image, &err);
      g_assert_cmpint(st, ==, PLA_OK);
      double window[2];
      pla_window_auto(vol, window);
      if (!isfinite(window[0]) || !isfinite(window[1]) || !(window[1] > window[0]))
        g_error("%s: window from %g to %g", what, window[0], window[1]);
      cairo_t *cr = cairo_create(image);
      finish(what, cr, 4); /* two letters and two outlines */
      cairo_destroy(cr);
      cairo_surface_destroy(image);
      start();
      if (pla_plot_new_intensities(vol, NULL, &plot, &err) == PLA_OK)
        draw_plot(what, plot, NULL);
      else
        g_assert_cmpint(strlen(err.message), >, 10);
      alarm(0);
      pla_plot_free(plot);
      pla_volume_free(vol);
    }
}

static void
test_recordings(void)
{
  for (size_t d = 0; d < G_N_ELEMENTS(data); d++) {
    PlaTrack *track = NULL;
    PlaTake *take = NULL;
    PlaError err;
    g_autofree char *what = g_strdup_printf("track of %s", data[d].name);
    g_assert_cmpint(pla_track_new(data[d].n, 2, &track, &err), ==, PLA_OK);
    g_assert_cmpint(pla_take_new(data[d].n, 1, &take, &err), ==, PLA_OK);
    take->name[0] = strdup("chin");
    for (int c = 0; c < 2; c++) {
      track->name[c] = strdup(c ? "genioglossus 1" : "jaw");
      track->unit[c] = strdup("1");
    }
    for (int rate = 0; rate < 3; rate++) {
      track->rate_hz = take->rate_hz = rate == 0 ? 200.0 : rate == 1 ? 1e-300 : 1e300;
      for (int i = 0; i < data[d].n; i++) {
        track->value[2 * i] = track->value[2 * i + 1] = data[d].value[i];
        for (int k = 0; k < 3; k++)
          take->pos[3 * i + k] = data[d].value[(i + k) % LENGTH];
      }
      PlaPlot *plot = pla_plot_new_track(track);
      draw_plot(what, plot, NULL);
      pla_plot_free(plot);
      plot = pla_plot_new_take(take);
      draw_plot(what, plot, NULL);
      pla_plot_free(plot);
      Paper paper = paper_new();
      pla_tongue_picture_draw_muscles(track, paper.cr, 640, 420);
      finish(what, paper.cr, 2);
      start();
      pla_tongue_picture_draw_lanes(track, 0.0, data[d].value[0], false, paper.cr, 640, 420);
      finish(what, paper.cr, 2);
      paper_free(&paper);
    }
    pla_track_free(track);
    pla_take_free(take);
  }
}

static void
test_spectrogram(void)
{
  for (size_t d = 0; d < G_N_ELEMENTS(data); d++) {
    g_autofree float *db = g_new(float, LENGTH *PLA_SPECTRUM_BINS);
    for (int i = 0; i < LENGTH * PLA_SPECTRUM_BINS; i++)
      db[i] = (float)data[d].value[i % LENGTH];
    PlaSpectrogram spectrogram = { .n_columns = data[d].n, .db = db };
    cairo_surface_t *image = pla_spectrogram_image(&spectrogram, false);
    g_assert_cmpint(cairo_surface_status(image), ==, CAIRO_STATUS_SUCCESS);
    /* silence, and what is no sound, is the ground */
    const guint32 pixel = *(const guint32 *)(const void *)cairo_image_surface_get_data(image);
    if (strcmp(data[d].name, "nan") == 0)
      g_assert_cmphex(pixel & 0xffffff, ==, 0xfafafa);
    cairo_surface_destroy(image);
  }
}

/* an angle of a lattice differs by rounding from element to element */
static void
test_equal_elements(void)
{
  enum { N = 12 };
  PlaMesh *mesh = NULL;
  PlaPlot *plot = NULL;
  PlaError err;
  g_assert_cmpint(pla_mesh_new(4 * N, 0, N, 0, &mesh, &err), ==, PLA_OK);
  static const int corner[4][3] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  for (int t = 0; t < N; t++)
    for (int k = 0; k < 4; k++) {
      mesh->tet[4 * t + k] = 4 * t + k;
      for (int d = 0; d < 3; d++)
        mesh->pos[3 * (4 * t + k) + d] = 0.1 * (corner[k][d] + t * (d + 1) % 7);
    }
  double least = INFINITY, largest = 0.0;
  for (int t = 0; t < N; t++) {
    const double angle = pla_tet_min_dihedral_deg(mesh->pos, mesh->tet + 4 * t);
    least = fmin(least, angle);
    largest = fmax(largest, angle);
  }
  g_assert_cmpfloat(largest, >, least);
  g_assert_cmpfloat(largest - least, <, 1e-12);
  start();
  g_assert_cmpint(pla_plot_new_quality(mesh, &plot, &err), ==, PLA_OK);
  draw_plot("equal tetrahedra", plot, NULL);
  /* one bar that holds all, at the angle */
  double most = 0.0, at = 0.0;
  for (int i = 0; i < plot->series[0].n; i++)
    if (plot->series[0].y[i] > most) {
      most = plot->series[0].y[i];
      at = plot->series[0].x[i];
    }
  g_assert_cmpfloat(most, ==, N);
  g_assert_cmpfloat_with_epsilon(at, 54.7356, 2.0);
  pla_plot_free(plot);
  pla_mesh_free(mesh);
}

/* a disk that is full is noticed, by the picture or by the end */
static void
test_full_disk(void)
{
  FILE *full = fopen("/dev/full", "w");
  g_assert_nonnull(full);
  setvbuf(full, NULL, _IONBF, 0);
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 40, 30);
  PlaGif *gif = pla_gif_new(full, 40, 30, 5);
  const bool added = pla_gif_add(gif, image);
  g_assert_false(pla_gif_finish(gif) && added);
  cairo_surface_destroy(image);
  fclose(full);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  start();
  alarm(0);
  g_test_add_func("/drawing/lines", test_lines);
  g_test_add_func("/drawing/zoomed", test_zoomed);
  g_test_add_func("/drawing/histograms", test_histograms);
  g_test_add_func("/drawing/colour-bars", test_colour_bars);
  g_test_add_func("/drawing/slices", test_slices);
  g_test_add_func("/drawing/recordings", test_recordings);
  g_test_add_func("/drawing/spectrogram", test_spectrogram);
  g_test_add_func("/drawing/equal-elements", test_equal_elements);
  g_test_add_func("/drawing/full-disk", test_full_disk);
  const int status = g_test_run();
  g_ptr_array_unref(said);
  return status;
}

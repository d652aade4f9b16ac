/* Plots with cairo: ranges, axes, lines (one vertical bar per pixel column where samples are
 * dense), bars, legend; SVG and CSV output; the histograms of scans and meshes. */
#include "app/show/plot.h"

#include "anatomy/base/memory.h"
#include "app/base/csv.h"
#include "app/base/quantity.h"
#include "app/show/font.h"
#include "app/show/overlay.h"
#include "app/show/plot-ticks.h"
#include "io/stream/output.h"

#include <cairo-svg.h>
#include <float.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <string.h>

/* user units around the area between the axes */
#define LEFT 68.0
#define RIGHT 18.0
#define TOP 34.0
#define BOTTOM 46.0
#define FONT 12.0

PlaPlot *
pla_plot_new(const char *title, const char *x_title, const char *y_title)
{
  PlaPlot *self = g_new0(PlaPlot, 1);
  self->title = g_strdup(title);
  self->x_title = g_strdup(x_title);
  self->y_title = g_strdup(y_title);
  return self;
}

void
pla_plot_free(PlaPlot *self)
{
  if (!self)
    return;
  for (int s = 0; s < self->n_series; s++) {
    g_free(self->series[s].name);
    g_free(self->series[s].x);
    g_free(self->series[s].y);
  }
  g_free(self->series);
  g_free(self->title);
  g_free(self->x_title);
  g_free(self->y_title);
  g_free(self);
}

void
pla_plot_add(PlaPlot *self, const char *name, PlaSeriesStyle style, const double *x,
             const double *y, int n)
{
  self->series = g_renew(PlaSeries, self->series, self->n_series + 1);
  self->series[self->n_series++] = (PlaSeries){
    .name = g_strdup(name),
    .style = style,
    .n = n,
    .x = g_memdup2(x, (gsize)n * sizeof *x),
    .y = g_memdup2(y, (gsize)n * sizeof *y),
  };
}

/* colours that stay apart for eyes that see red and green alike (after Okabe and Ito, 2008) */
void
pla_series_rgb(int series, bool dark, double rgb[3])
{
  static const double light_ground[][3] = {
    { 0.00, 0.45, 0.70 }, { 0.84, 0.37, 0.00 }, { 0.00, 0.62, 0.45 }, { 0.80, 0.47, 0.65 },
    { 0.60, 0.50, 0.00 }, { 0.20, 0.55, 0.80 }, { 0.35, 0.35, 0.35 },
  };
  static const double dark_ground[][3] = {
    { 0.34, 0.71, 0.91 }, { 0.95, 0.60, 0.20 }, { 0.25, 0.80, 0.62 }, { 0.90, 0.62, 0.78 },
    { 0.94, 0.89, 0.26 }, { 0.55, 0.65, 0.98 }, { 0.75, 0.75, 0.75 },
  };
  const int k = series % (int)G_N_ELEMENTS(light_ground);
  memcpy(rgb, dark ? dark_ground[k] : light_ground[k], 3 * sizeof *rgb);
}

/* ---------------------------------------------------------------------- range */

static double
height_of(const PlaPlot *self, double y)
{
  return self->log_y ? (y > 0.0 ? log10(y) : NAN) : y;
}

/* width of the bar that stands at sample @i */
static double
bar_width(const PlaSeries *series, int i)
{
  if (i + 1 < series->n)
    return series->x[i + 1] - series->x[i];
  if (series->last_bar > 0.0)
    return series->last_bar;
  return i > 0 ? series->x[i] - series->x[i - 1] : 1.0;
}

/* some room above and below; whole powers of ten where there would be no other */
static void
give_room(const PlaPlot *self, PlaPlotRange *r)
{
  pla_range_open(&r->y0, &r->y1);
  if (self->log_y && r->y1 - r->y0 < 1.0) {
    r->y0 = floor(r->y0);
    r->y1 = fmax(ceil(r->y1), r->y0 + 1.0);
  }
  const double room = 0.12 * (0.5 * r->y1 - 0.5 * r->y0);
  r->y1 = fmin(r->y1 + room, DBL_MAX);
  if (r->y0 != 0.0)
    r->y0 = fmax(r->y0 - room, -DBL_MAX);
}

PlaPlotRange
pla_plot_fit(const PlaPlot *self)
{
  PlaPlotRange r = { INFINITY, -INFINITY, INFINITY, -INFINITY };
  int n_seen = 0;
  for (int s = 0; s < self->n_series; s++) {
    const PlaSeries *series = &self->series[s];
    for (int i = 0; i < series->n; i++) {
      double y = height_of(self, series->y[i]);
      double end = series->x[i] + (series->style == PLA_SERIES_BARS ? bar_width(series, i) : 0.0);
      if (!isfinite(y) || !isfinite(series->x[i]) ||
          (series->style == PLA_SERIES_BARS && series->y[i] == 0.0))
        continue;
      n_seen++;
      r.x0 = fmin(r.x0, series->x[i]);
      r.x1 = fmax(r.x1, isfinite(end) ? end : series->x[i]);
      r.y0 = fmin(r.y0, y);
      r.y1 = fmax(r.y1, y);
      if (series->style == PLA_SERIES_BARS && !self->log_y)
        r.y0 = fmin(r.y0, 0.0);
    }
  }
  if (!(r.x1 >= r.x0))
    return (PlaPlotRange){ 0.0, 1.0, 0.0, 1.0 };
  if (pla_range_is_flat(r.x0, r.x1)) {
    const double half = fmax(0.5, 1e-3 * fabs(r.x0));
    r.x0 = fmax(r.x0 - half, -DBL_MAX);
    r.x1 = fmin(r.x1 + half, DBL_MAX);
  } else if (n_seen == 1) {
    /* a bar alone is seen as one, not as a wall */
    const double side = 4.0 * (r.x1 - r.x0);
    r.x0 = fmax(r.x0 - side, -DBL_MAX);
    r.x1 = fmin(r.x1 + side, DBL_MAX);
  }
  give_room(self, &r);
  return r;
}

bool
pla_plot_range_is_usable(const PlaPlotRange *range)
{
  return !pla_range_is_flat(range->x0, range->x1) && !pla_range_is_flat(range->y0, range->y1);
}

PlaPlotBox
pla_plot_box(double width, double height)
{
  return (PlaPlotBox){ LEFT, TOP, fmax(width - LEFT - RIGHT, 1.0),
                       fmax(height - TOP - BOTTOM, 1.0) };
}

static double
to_px(const PlaPlotBox *box, const PlaPlotRange *range, double x)
{
  return box->x + box->width * pla_range_share(range->x0, range->x1, x);
}

static double
to_py(const PlaPlotBox *box, const PlaPlotRange *range, double y)
{
  return box->y + box->height * pla_range_share(range->y1, range->y0, y);
}

void
pla_plot_place(const PlaPlot *self, const PlaPlotRange *range, double width, double height,
               int series, int i, double *px, double *py)
{
  const PlaPlotBox box = pla_plot_box(width, height);
  const PlaSeries *s = &self->series[series];
  const double half = s->style == PLA_SERIES_BARS ? 0.5 * bar_width(s, i) : 0.0;
  *px = to_px(&box, range, s->x[i] + half);
  *py = to_py(&box, range, height_of(self, s->y[i]));
}

bool
pla_plot_nearest(const PlaPlot *self, const PlaPlotRange *range, double width, double height,
                 double at_x, double at_y, int *series, int *sample)
{
  const PlaPlotBox box = pla_plot_box(width, height);
  double best = 40.0 * 40.0;
  bool found = false;
  for (int s = 0; s < self->n_series; s++)
    for (int i = 0; i < self->series[s].n; i++) {
      double px, py;
      pla_plot_place(self, range, width, height, s, i, &px, &py);
      if (!isfinite(px) || !isfinite(py) || px < box.x - 1.0 || px > box.x + box.width + 1.0)
        continue;
      /* under a bar is on it */
      if (self->series[s].style == PLA_SERIES_BARS && at_y > py && at_y < box.y + box.height)
        py = at_y;
      double dist2 = (px - at_x) * (px - at_x) + (py - at_y) * (py - at_y);
      if (dist2 < best) {
        best = dist2;
        found = true;
        *series = s;
        *sample = i;
      }
    }
  return found;
}

/* -------------------------------------------------------------------- drawing */

static void
grey(cairo_t *cr, bool dark, double alpha)
{
  double v = dark ? 1.0 : 0.0;
  cairo_set_source_rgba(cr, v, v, v, alpha);
}

static void
draw_text(cairo_t *cr, double x, double y, double align, double size, bool bold, const char *text)
{
  PangoLayout *layout = pango_cairo_create_layout(cr);
  PangoFontDescription *font = pango_font_description_from_string(PLA_FONT_SANS);
  pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
  pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_SEMIBOLD : PANGO_WEIGHT_NORMAL);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  pango_layout_set_text(layout, text, -1);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  cairo_move_to(cr, x - align * w, y - 0.5 * h);
  pango_cairo_show_layout(cr, layout);
  g_object_unref(layout);
}

/* lines and numbers of one axis */
static void
draw_ticks(const PlaPlotRange *range, const PlaPlotBox *box, const PlaTicks *ticks, bool up,
           bool log, cairo_t *cr, bool dark)
{
  char text[PLA_TICK_TEXT];
  for (int i = 0; i < ticks->n; i++) {
    const double value = pla_ticks_value(ticks, i);
    const double at = floor(up ? to_py(box, range, value) : to_px(box, range, value)) + 0.5;
    grey(cr, dark, 0.10);
    cairo_move_to(cr, up ? box->x : at, up ? at : box->y);
    cairo_line_to(cr, up ? box->x + box->width : at, up ? at : box->y + box->height);
    cairo_stroke(cr);
    if (log)
      snprintf(text, sizeof text, "1e%d", (int)lround(value));
    else
      pla_ticks_label(ticks, i, text);
    grey(cr, dark, 0.75);
    if (up)
      draw_text(cr, box->x - 6.0, at, 1.0, FONT - 1.0, false, text);
    else
      draw_text(cr, at, box->y + box->height + 12.0, 0.5, FONT - 1.0, false, text);
  }
}

/* the title of an axis, with the value its labels count from; g_free() */
static char *
axis_title(const char *title, const PlaTicks *ticks)
{
  return ticks->base != 0.0 ? g_strdup_printf("%s, from %.12g on", title, ticks->base)
                            : g_strdup(title);
}

static void
draw_axes(const PlaPlot *self, const PlaPlotRange *range, const PlaPlotBox *box, cairo_t *cr,
          bool dark)
{
  cairo_set_line_width(cr, 1.0);
  const PlaTicks across = pla_ticks(range->x0, range->x1, fmax(box->width / 90.0, 2.0));
  PlaTicks up = pla_ticks(range->y0, range->y1, fmax(box->height / 45.0, 2.0));
  if (self->log_y && up.n > 0 && up.step < 1.0)
    up = (PlaTicks){ .n = (int)(floor(range->y1) - ceil(range->y0)) + 1,
                     .first = ceil(range->y0),
                     .step = 1.0 };
  draw_ticks(range, box, &across, false, false, cr, dark);
  draw_ticks(range, box, &up, true, self->log_y, cr, dark);
  g_autofree char *x_title = axis_title(self->x_title, &across);
  g_autofree char *y_title = axis_title(self->y_title, &up);
  grey(cr, dark, 0.45);
  cairo_rectangle(cr, floor(box->x) + 0.5, floor(box->y) + 0.5, floor(box->width),
                  floor(box->height));
  cairo_stroke(cr);
  grey(cr, dark, 0.85);
  draw_text(cr, box->x + 0.5 * box->width, box->y + box->height + 32.0, 0.5, FONT, false, x_title);
  cairo_save(cr);
  cairo_translate(cr, 14.0, box->y + 0.5 * box->height);
  cairo_rotate(cr, -0.5 * G_PI);
  draw_text(cr, 0.0, 0.0, 0.5, FONT, false, y_title);
  cairo_restore(cr);
  draw_text(cr, box->x, 0.5 * TOP, 0.0, FONT + 1.5, true, self->title);
}

/* The part of a segment within a wide frame around the box, which the clip cuts off in the end:
 * cairo's coordinates have 24 bits, and a pointer zooms further than that.  Liang and Barsky, 1984.
 */
static bool
clip_segment(const PlaPlotBox *box, double p[2], double q[2])
{
  const double room = 4096.0, lo[2] = { box->x - room, box->y - room },
               hi[2] = { box->x + box->width + room, box->y + box->height + room };
  const double step[2] = { q[0] - p[0], q[1] - p[1] };
  double from = 0.0, to = 1.0;
  for (int d = 0; d < 2; d++) {
    if (step[d] == 0.0) {
      if (p[d] < lo[d] || p[d] > hi[d])
        return false;
      continue;
    }
    const double a = (lo[d] - p[d]) / step[d], b = (hi[d] - p[d]) / step[d];
    from = fmax(from, fmin(a, b));
    to = fmin(to, fmax(a, b));
  }
  if (!(from <= to))
    return false;
  for (int d = 1; d >= 0; d--) {
    q[d] = p[d] + to * step[d];
    p[d] += from * step[d];
    q[d] = CLAMP(q[d], lo[d], hi[d]);
    p[d] = CLAMP(p[d], lo[d], hi[d]);
  }
  return true;
}

static void
draw_segment(const PlaPlotBox *box, const double from[2], const double to[2], cairo_t *cr)
{
  double p[2] = { from[0], from[1] }, q[2] = { to[0], to[1] }, at[2];
  if (!clip_segment(box, p, q))
    return;
  if (cairo_has_current_point(cr))
    cairo_get_current_point(cr, &at[0], &at[1]);
  /* joined where it goes on; the path keeps 1/256 of a unit */
  if (!cairo_has_current_point(cr) || fabs(at[0] - p[0]) > 0.01 || fabs(at[1] - p[1]) > 0.01)
    cairo_move_to(cr, p[0], p[1]);
  cairo_line_to(cr, q[0], q[1]);
}

/* false where a sample is not drawn */
static bool
place_sample(const PlaPlot *self, const PlaSeries *series, int i, const PlaPlotRange *range,
             const PlaPlotBox *box, double at[2])
{
  const double y = height_of(self, series->y[i]);
  if (!isfinite(y) || !isfinite(series->x[i]))
    return false;
  at[0] = to_px(box, range, series->x[i]);
  at[1] = to_py(box, range, y);
  return isfinite(at[0]) && isfinite(at[1]);
}

/* samples nearer than a pixel fall together: the outline of each column is enough */
static void
draw_line(const PlaPlot *self, const PlaSeries *series, const PlaPlotRange *range,
          const PlaPlotBox *box, cairo_t *cr)
{
  bool open = false;
  double column = NAN, lo = 0.0, hi = 0.0, at[2], last[2] = { 0.0, 0.0 };
  for (int i = 0; i < series->n; i++) {
    if (!place_sample(self, series, i, range, box, at)) {
      open = false;
      continue;
    }
    if (open && floor(at[0]) == column) {
      /* only what reaches further than this column has been drawn */
      if (at[1] >= lo && at[1] <= hi)
        continue;
      lo = fmin(lo, at[1]);
      hi = fmax(hi, at[1]);
    } else {
      column = floor(at[0]);
      lo = hi = at[1];
    }
    if (open)
      draw_segment(box, last, at, cr);
    memcpy(last, at, sizeof last);
    open = true;
  }
  cairo_set_line_width(cr, 1.6);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke(cr);
  /* few samples are seen as such */
  if (series->n > 60)
    return;
  for (int i = 0; i < series->n; i++)
    if (place_sample(self, series, i, range, box, at) &&
        fabs(at[0] - box->x) < 4096.0 + box->width && fabs(at[1] - box->y) < 4096.0 + box->height) {
      cairo_new_sub_path(cr);
      cairo_arc(cr, at[0], at[1], 2.6, 0.0, 2.0 * G_PI);
      cairo_fill(cr);
    }
}

static void
draw_bars(const PlaPlot *self, const PlaSeries *series, const PlaPlotRange *range,
          const PlaPlotBox *box, const double rgb[3], cairo_t *cr)
{
  /* seen or not, an edge is where cairo can hold it */
  const double least[2] = { box->x - 4096.0, box->y - 4096.0 },
               most[2] = { box->x + box->width + 4096.0, box->y + box->height + 4096.0 };
  const double base = CLAMP(to_py(box, range, self->log_y ? range->y0 : 0.0), least[1], most[1]);
  for (int i = 0; i < series->n; i++) {
    double y = height_of(self, series->y[i]);
    double x0 = to_px(box, range, series->x[i]),
           x1 = to_px(box, range, series->x[i] + bar_width(series, i));
    double py = to_py(box, range, y);
    if (!isfinite(x0) || isnan(x1) || !isfinite(py) || series->y[i] == 0.0)
      continue;
    x0 = CLAMP(x0, least[0], most[0]);
    x1 = CLAMP(x1, least[0], most[0]);
    py = CLAMP(py, least[1], most[1]);
    cairo_rectangle(cr, x0, fmin(py, base), fmax(x1 - x0 - (x1 - x0 > 4.0 ? 1.0 : 0.0), 0.5),
                    fabs(base - py));
  }
  cairo_set_source_rgba(cr, rgb[0], rgb[1], rgb[2], self->n_series > 1 ? 0.5 : 0.8);
  cairo_fill(cr);
}

static void
draw_legend(const PlaPlot *self, const PlaPlotBox *box, cairo_t *cr, bool dark)
{
  const int most = (int)fmax((box->height - 16.0) / 17.0, 1.0);
  const int n = MIN(self->n_series, most);
  double wide = 0.0;
  for (int s = 0; s < n; s++)
    wide = fmax(wide, 7.0 * (double)g_utf8_strlen(self->series[s].name, -1));
  wide = fmin(wide + 34.0, 0.5 * box->width);
  const double x = box->x + box->width - wide - 8.0;
  cairo_set_source_rgba(cr, dark ? 0.1 : 1.0, dark ? 0.1 : 1.0, dark ? 0.1 : 1.0, 0.7);
  cairo_rectangle(cr, x, box->y + 8.0, wide, 17.0 * n + 6.0);
  cairo_fill(cr);
  for (int s = 0; s < n; s++) {
    double rgb[3], y = box->y + 20.0 + 17.0 * s;
    pla_series_rgb(s, dark, rgb);
    cairo_set_source_rgb(cr, rgb[0], rgb[1], rgb[2]);
    cairo_rectangle(cr, x + 8.0, y - 4.0, 12.0, 8.0);
    cairo_fill(cr);
    grey(cr, dark, 0.85);
    const bool rest = s == most - 1 && self->n_series > most;
    g_autofree char *more = rest ? g_strdup_printf("and %d more", self->n_series - s) : NULL;
    draw_text(cr, x + 26.0, y, 0.0, FONT - 1.0, false, more ? more : self->series[s].name);
  }
}

void
pla_plot_draw(const PlaPlot *self, const PlaPlotRange *range, cairo_t *cr, double width,
              double height, bool dark)
{
  const PlaPlotBox box = pla_plot_box(width, height);
  draw_axes(self, range, &box, cr, dark);
  cairo_save(cr);
  cairo_rectangle(cr, box.x, box.y, box.width, box.height);
  cairo_clip(cr);
  for (int s = 0; s < self->n_series; s++) {
    double rgb[3];
    pla_series_rgb(s, dark, rgb);
    cairo_set_source_rgb(cr, rgb[0], rgb[1], rgb[2]);
    if (self->series[s].style == PLA_SERIES_BARS)
      draw_bars(self, &self->series[s], range, &box, rgb, cr);
    else
      draw_line(self, &self->series[s], range, &box, cr);
  }
  cairo_restore(cr);
  if (self->n_series > 1)
    draw_legend(self, &box, cr, dark);
}

/* ---------------------------------------------------------------------- files */

static cairo_status_t
append(void *closure, const unsigned char *data, unsigned int size)
{
  return pla_bytes_append(closure, data, size) ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_NO_MEMORY;
}

PlaStatus
pla_plot_write_svg(const PlaPlot *self, const PlaPlotRange *range, double width, double height,
                   const char *path, PlaError *err)
{
  PlaBytes bytes = { 0 };
  cairo_surface_t *svg = cairo_svg_surface_create_for_stream(append, &bytes, width, height);
  cairo_t *cr = cairo_create(svg);
  cairo_set_source_rgb(cr, 1.0, 1.0, 1.0);
  cairo_paint(cr);
  pla_plot_draw(self, range, cr, width, height, false);
  cairo_surface_finish(svg);
  PlaStatus st = PLA_OK;
  if (cairo_status(cr) != CAIRO_STATUS_SUCCESS || cairo_surface_status(svg) != CAIRO_STATUS_SUCCESS)
    st = pla_fail_memory(err, "the plot");
  cairo_destroy(cr);
  cairo_surface_destroy(svg);
  if (st == PLA_OK)
    st = pla_output_write(path, bytes.data, bytes.size, err);
  pla_bytes_clear(&bytes);
  return st;
}

PlaStatus
pla_plot_write_csv(const PlaPlot *self, const char *path, PlaError *err)
{
  g_autoptr(GString) csv = g_string_new("series,");
  char number[2][G_ASCII_DTOSTR_BUF_SIZE];
  pla_csv_put(csv, self->x_title);
  g_string_append_c(csv, ',');
  pla_csv_put(csv, self->y_title);
  g_string_append_c(csv, '\n');
  for (int s = 0; s < self->n_series; s++)
    for (int i = 0; i < self->series[s].n; i++) {
      pla_csv_put(csv, self->series[s].name);
      g_string_append_printf(
          csv, ",%s,%s\n", g_ascii_dtostr(number[0], sizeof number[0], self->series[s].x[i]),
          isnan(self->series[s].y[i])
              ? ""
              : g_ascii_dtostr(number[1], sizeof number[1], self->series[s].y[i]));
    }
  return pla_output_write(path, csv->str, csv->len, err);
}

/* ------------------------------------------------------------ what a case holds */

/* bins of a round width that cover lo..hi; values that differ by rounding share one */
static void
choose_bins(double lo, double hi, int n_bins, double *first, double *step, int *n)
{
  if (pla_range_is_flat(lo, hi))
    *step = fabs(lo) > 1e-290 ? pla_round_length(fabs(lo) / 50.0) : 1.0;
  else
    *step = pla_round_length(2.0 * ((0.5 * hi - 0.5 * lo) / n_bins));
  *first = fmax(floor(lo / *step + 1e-9) * *step, -DBL_MAX);
  if (*first > lo)
    *first = lo;
  /* a round width is at least 0.4 of the one that was asked for */
  *n = 1 + (int)fmin(floor((0.5 * hi - 0.5 * *first) / (0.5 * *step)), 4.0 * n_bins);
}

/* which bin @value is counted in */
static int
find_bin(double value, double first, double step, int n)
{
  const double at = floor((0.5 * value - 0.5 * first) / (0.5 * step));
  return (int)fmin(fmax(at, 0.0), n - 1.0);
}

static void
add_counts(PlaPlot *self, const char *name, const size_t *count, int n, double first, double step,
           double weight)
{
  g_autofree double *x = g_new(double, n), *y = g_new(double, n);
  for (int i = 0; i < n; i++) {
    x[i] = first + step * i;
    y[i] = weight * (double)count[i];
  }
  pla_plot_add(self, name, PLA_SERIES_BARS, x, y, n);
  self->series[self->n_series - 1].last_bar = step;
}

void
pla_plot_add_histogram(PlaPlot *self, const char *name, const double *value, size_t n, int n_bins)
{
  double lo = INFINITY, hi = -INFINITY, first, step;
  int bins;
  for (size_t i = 0; i < n; i++)
    if (isfinite(value[i])) {
      lo = fmin(lo, value[i]);
      hi = fmax(hi, value[i]);
    }
  if (!(hi >= lo))
    return;
  choose_bins(lo, hi, n_bins, &first, &step, &bins);
  g_autofree size_t *count = g_new0(size_t, bins);
  for (size_t i = 0; i < n; i++)
    if (isfinite(value[i]))
      count[find_bin(value[i], first, step, bins)]++;
  add_counts(self, name, count, bins, first, step, 1.0);
}

PlaStatus
pla_plot_new_intensities(const PlaVolume *vol, const PlaLabelMap *labels, PlaPlot **out,
                         PlaError *err)
{
  enum { MOST = 6 }; /* tissues with bars of their own */
  const bool split = labels && memcmp(vol->dims, labels->volume->dims, 3 * sizeof(int)) == 0;
  const size_t n = pla_volume_n_voxels(vol) / (size_t)vol->dims[3];
  double lo, hi, first, step;
  int bins;
  *out = NULL;
  pla_volume_range(vol, &lo, &hi);
  if (!isfinite(lo) || !isfinite(hi)) {
    /* infinite voxels stand in no bin; the others do */
    lo = INFINITY;
    hi = -INFINITY;
    for (size_t i = 0; i < n; i++) {
      const double v = vol->slope * pla_dtype_get(vol->dtype, vol->voxels, i) + vol->inter;
      if (isfinite(v)) {
        lo = fmin(lo, v);
        hi = fmax(hi, v);
      }
    }
  }
  if (!(hi >= lo) || !isfinite(lo) || !isfinite(hi))
    return pla_fail(err, PLA_ERR_EMPTY, "the scan has no values");
  choose_bins(lo, hi, 200, &first, &step, &bins);

  /* which series each label counts for; -1: none */
  g_autofree int *series = g_new(int, 65536);
  g_autofree size_t *voxels = g_new0(size_t, 65536);
  const PlaLabel *shown[MOST];
  int n_shown = 0;
  for (int id = 0; id < 65536; id++)
    series[id] = split ? -1 : 0;
  if (split) {
    pla_label_map_count(labels, voxels);
    for (; n_shown < MOST; n_shown++) {
      const PlaLabel *best = NULL;
      for (int i = 0; i < labels->table.n; i++) {
        const PlaLabel *label = &labels->table.label[i];
        if (voxels[label->id] > 0 && series[label->id] < 0 &&
            (!best || voxels[label->id] > voxels[best->id]))
          best = label;
      }
      if (!best)
        break;
      series[best->id] = n_shown;
      shown[n_shown] = best;
    }
  }
  const int n_series = split ? n_shown : 1;
  g_autofree size_t *count = g_new0(size_t, (gsize)MAX(n_series, 1) * (gsize)bins);
  for (size_t i = 0; i < n; i++) {
    const int s = series[split ? pla_label_map_get(labels, i) : 0];
    const double v = vol->slope * pla_dtype_get(vol->dtype, vol->voxels, i) + vol->inter;
    if (s >= 0 && isfinite(v))
      count[s * bins + find_bin(v, first, step, bins)]++;
  }
  const PlaUnit unit = pla_quantity_get(PLA_QUANTITY_TISSUE_VOLUME)->unit;
  g_autofree char *y_title = pla_quantity_heading("Volume", unit);
  PlaPlot *plot =
      pla_plot_new(split ? "Values of the scan by tissue" : "Values of the scan", "Value", y_title);
  const double ml = pla_unit_convert(pla_volume_voxel_mm3(vol), PLA_UNIT_MM3, unit);
  for (int s = 0; s < n_series; s++)
    add_counts(plot, split ? shown[s]->name : "all voxels", count + (size_t)s * (size_t)bins, bins,
               first, step, ml);
  *out = plot;
  return PLA_OK;
}

PlaStatus
pla_plot_new_quality(const PlaMesh *mesh, PlaPlot **out, PlaError *err)
{
  *out = NULL;
  if (mesh->n_tets == 0)
    return pla_fail(err, PLA_ERR_EMPTY, "the mesh has no tetrahedra");
  double *angle = pla_array_new((size_t)mesh->n_tets, sizeof *angle);
  if (!angle)
    return pla_fail_memory(err, "the angles of a mesh");
  for (int t = 0; t < mesh->n_tets; t++)
    angle[t] = pla_tet_min_dihedral_deg(mesh->pos, mesh->tet + 4 * (size_t)t);
  *out =
      pla_plot_new("Smallest dihedral angle of each tetrahedron", "Angle, degrees", "Tetrahedra");
  pla_plot_add_histogram(*out, "tetrahedra", angle, (size_t)mesh->n_tets, 60);
  free(angle);
  return PLA_OK;
}

/* of the horizontal axis; g_free() */
static char *
time_title(void)
{
  return pla_quantity_heading("Time", pla_quantity_get(PLA_QUANTITY_TIME)->unit);
}

PlaPlot *
pla_plot_new_track(const PlaTrack *track)
{
  const char *unit = track->n_channels > 0 ? track->unit[0] : "";
  g_autofree char *y_title = *unit ? g_strdup_printf("Value, %s", unit) : g_strdup("Value");
  g_autofree char *x_title = time_title();
  PlaPlot *plot = pla_plot_new("Channels over time", x_title, y_title);
  g_autofree double *x = g_new(double, track->n_samples + 1),
                    *y = g_new(double, track->n_samples + 1);
  for (int i = 0; i < track->n_samples; i++)
    x[i] = track->start_s + i / track->rate_hz;
  for (int c = 0; c < track->n_channels; c++) {
    if (strcmp(track->unit[c], unit) != 0)
      continue;
    for (int i = 0; i < track->n_samples; i++)
      y[i] = track->value[(size_t)i * (size_t)track->n_channels + (size_t)c];
    pla_plot_add(plot, track->name[c], PLA_SERIES_LINE, x, y, track->n_samples);
  }
  return plot;
}

PlaPlot *
pla_plot_new_take(const PlaTake *take)
{
  const PlaUnit unit = pla_quantity_get(PLA_QUANTITY_DISTANCE)->unit;
  g_autofree char *x_title = time_title(), *y_title = pla_quantity_heading("Distance", unit);
  PlaPlot *plot =
      pla_plot_new("Markers: distance from where each was first seen", x_title, y_title);
  g_autofree double *x = g_new(double, take->n_frames + 1), *y = g_new(double, take->n_frames + 1);
  for (int f = 0; f < take->n_frames; f++)
    x[f] = take->start_s + f / take->rate_hz;
  for (int m = 0; m < take->n_markers; m++) {
    const double *first = NULL;
    for (int f = 0; f < take->n_frames; f++) {
      const double *p = take->pos + 3 * ((size_t)f * (size_t)take->n_markers + (size_t)m);
      y[f] = NAN;
      if (isnan(p[0]))
        continue;
      if (!first)
        first = p;
      const double away =
          sqrt((p[0] - first[0]) * (p[0] - first[0]) + (p[1] - first[1]) * (p[1] - first[1]) +
               (p[2] - first[2]) * (p[2] - first[2]));
      y[f] = pla_unit_convert(away, PLA_UNIT_M, unit);
    }
    pla_plot_add(plot, take->name[m], PLA_SERIES_LINE, x, y, take->n_frames);
  }
  return plot;
}

/* the first array "residuals" in the metadata or one level below */
static JsonArray *
find_residuals(JsonObject *meta, int depth)
{
  JsonArray *found = NULL;
  g_autoptr(GList) keys = g_list_sort(json_object_get_members(meta), (GCompareFunc)strcmp);
  for (GList *l = keys; l && !found; l = l->next) {
    JsonNode *node = json_object_get_member(meta, l->data);
    if (strcmp(l->data, "residuals") == 0 && JSON_NODE_HOLDS_ARRAY(node))
      found = json_node_get_array(node);
    else if (depth == 0 && JSON_NODE_HOLDS_OBJECT(node))
      found = find_residuals(json_node_get_object(node), 1);
  }
  return found;
}

PlaPlot *
pla_plot_new_residuals(const PlaContent *content)
{
  JsonArray *list = find_residuals(content->meta, 0);
  const int n = list ? (int)json_array_get_length(list) : 0;
  if (n == 0)
    return NULL;
  g_autofree double *x = g_new(double, n), *y = g_new(double, n);
  for (int i = 0; i < n; i++) {
    x[i] = i;
    y[i] = json_array_get_double_element(list, (guint)i);
  }
  PlaPlot *plot = pla_plot_new("Residual of the solver", "Iteration", "Residual, relative");
  plot->log_y = true;
  pla_plot_add(plot, "residual", PLA_SERIES_LINE, x, y, n);
  return plot;
}

/* Draws orientation letters, scale bar, axes and colour bar with cairo and Pango. */
#include "app/show/overlay.h"

#include "app/show/font.h"
#include "app/show/plot-ticks.h"

#include <math.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <string.h>

static void
set_ink(cairo_t *cr, const PlaOverlayInk *ink, bool outline, double alpha)
{
  double grey = ink->on_light != outline ? 0.08 : 0.95;
  cairo_set_source_rgba(cr, grey, grey, grey, alpha);
}

static PangoLayout *
layout_new(cairo_t *cr, const PlaOverlayInk *ink, const char *text, bool bold)
{
  PangoLayout *layout = pango_cairo_create_layout(cr);
  PangoFontDescription *font = pango_font_description_from_string(PLA_FONT_SANS);
  pango_font_description_set_absolute_size(font, ink->font_size * PANGO_SCALE);
  if (bold)
    pango_font_description_set_weight(font, PANGO_WEIGHT_SEMIBOLD);
  pango_layout_set_font_description(layout, font);
  pango_font_description_free(font);
  pango_layout_set_text(layout, text, -1);
  return layout;
}

static void
draw_text(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, double align, const char *text,
          bool bold)
{
  PangoLayout *layout = layout_new(cr, ink, text, bold);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  cairo_save(cr);
  cairo_move_to(cr, round(x - align * w), round(y - 0.5 * h));
  pango_cairo_layout_path(cr, layout);
  set_ink(cr, ink, true, 0.55);
  cairo_set_line_width(cr, 0.22 * ink->font_size);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke_preserve(cr);
  set_ink(cr, ink, false, 0.95);
  cairo_fill(cr);
  cairo_restore(cr);
  g_object_unref(layout);
}

void
pla_overlay_text(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, double align,
                 const char *text)
{
  draw_text(cr, ink, x, y, align, text, false);
}

void
pla_overlay_letters(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                    const PlaSlicePlane *plane)
{
  double left[3], up[3];
  for (int d = 0; d < 3; d++) {
    left[d] = -plane->right_mm[d];
    up[d] = -plane->down_mm[d];
  }
  const double margin = 0.95 * ink->font_size;
  const struct {
    const double *dir;
    double x, y;
  } side[4] = {
    { left, margin, 0.5 * height },
    { plane->right_mm, width - margin, 0.5 * height },
    { up, 0.5 * width, margin },
    { plane->down_mm, 0.5 * width, height - margin },
  };
  for (int s = 0; s < 4; s++) {
    char text[2] = { pla_direction_letter(side[s].dir), '\0' };
    draw_text(cr, ink, side[s].x, side[s].y, 0.5, text, true);
  }
}

double
pla_round_length(double limit)
{
  double unit = pow(10.0, floor(log10(limit)));
  double lead = limit / unit;
  return unit * (lead >= 5.0 ? 5.0 : lead >= 2.0 ? 2.0 : 1.0);
}

void
pla_overlay_scale_bar(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                      double mm_per_unit)
{
  /* a scale that is none, or of which a double holds no round length */
  if (!(mm_per_unit > 1e-290 && mm_per_unit < 1e290))
    return;
  double mm = pla_round_length(0.22 * width * mm_per_unit);
  double length = mm / mm_per_unit;
  double margin = 1.1 * ink->font_size, tick = 0.3 * ink->font_size;
  double x = margin, y = height - margin;
  for (int pass = 0; pass < 2; pass++) {
    set_ink(cr, ink, pass == 0, pass == 0 ? 0.5 : 0.95);
    cairo_set_line_width(cr, ink->font_size * (pass == 0 ? 0.28 : 0.12));
    cairo_move_to(cr, x, y - tick);
    cairo_line_to(cr, x, y);
    cairo_line_to(cr, x + length, y);
    cairo_line_to(cr, x + length, y - tick);
    cairo_stroke(cr);
  }
  char text[32];
  const PlaUnit unit = mm >= 10.0 ? PLA_UNIT_CM : PLA_UNIT_MM;
  snprintf(text, sizeof text, "%g %s", pla_unit_convert(mm, PLA_UNIT_MM, unit),
           pla_unit_symbol(unit));
  draw_text(cr, ink, x + 0.5 * length, y - 0.9 * ink->font_size, 0.5, text, false);
}

void
pla_overlay_axes(cairo_t *cr, const PlaOverlayInk *ink, double x, double y, double radius,
                 const PlaCamera *camera)
{
  static const char *const letters[3] = { "R", "A", "S" };
  static const double rgb[3][3] = { { 0.93, 0.38, 0.36 },
                                    { 0.42, 0.80, 0.42 },
                                    { 0.42, 0.62, 0.98 } };
  double right[3], up[3], back[3];
  pla_camera_axes(camera, right, up, back);
  /* the axis that points away most is drawn first */
  int order[3] = { 0, 1, 2 };
  for (int i = 0; i < 3; i++)
    for (int j = i + 1; j < 3; j++)
      if (back[order[j]] < back[order[i]]) {
        int swap = order[i];
        order[i] = order[j];
        order[j] = swap;
      }
  for (int i = 0; i < 3; i++) {
    int d = order[i];
    double ex = x + radius * right[d], ey = y - radius * up[d];
    double fade = 0.72 + 0.28 * back[d];
    cairo_set_source_rgba(cr, rgb[d][0], rgb[d][1], rgb[d][2], fade);
    cairo_set_line_width(cr, 0.17 * ink->font_size);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    cairo_move_to(cr, x, y);
    cairo_line_to(cr, ex, ey);
    cairo_stroke(cr);
    cairo_arc(cr, ex, ey, 0.62 * ink->font_size, 0.0, 2.0 * M_PI);
    cairo_fill(cr);
    PlaOverlayInk small = { .on_light = true, .font_size = 0.82 * ink->font_size };
    PangoLayout *layout = layout_new(cr, &small, letters[d], true);
    int w, h;
    pango_layout_get_pixel_size(layout, &w, &h);
    cairo_move_to(cr, ex - 0.5 * w, ey - 0.5 * h);
    cairo_set_source_rgb(cr, 0.08, 0.08, 0.1);
    pango_cairo_show_layout(cr, layout);
    g_object_unref(layout);
  }
}

void
pla_overlay_colour_bar(cairo_t *cr, const PlaOverlayInk *ink, double width, double height,
                       const PlaLegend *legend, const char *title)
{
  const uint8_t *map_rgb = legend->rgb;
  const double lo = legend->lo, hi = legend->hi;
  const double size = ink->font_size;
  /* in the upper corner: what is looked at is in the middle, and reaches the sides of a narrow view
   */
  const double bar_w = 1.1 * size, bar_h = fmin(0.3 * height, 14.0 * size);
  const double x = width - 6.2 * size, y = 3.5 * size;

  /* the colours, lowest at the bottom */
  for (int i = 0; i < 256; i++) {
    cairo_set_source_rgb(cr, map_rgb[3 * i] / 255.0, map_rgb[3 * i + 1] / 255.0,
                         map_rgb[3 * i + 2] / 255.0);
    double top = y + bar_h * (255 - i) / 256.0;
    cairo_rectangle(cr, x, floor(top), bar_w, ceil(bar_h / 256.0) + 1.0);
    cairo_fill(cr);
  }
  set_ink(cr, ink, false, 0.8);
  cairo_set_line_width(cr, 1.0);
  cairo_rectangle(cr, x - 0.5, floor(y) - 0.5, bar_w + 1.0, bar_h + 2.0);
  cairo_stroke(cr);

  /* four to ten round ticks; one where all is one value */
  const PlaTicks ticks = pla_ticks(lo, hi, 10.0);
  const bool one = pla_range_is_flat(lo, hi) && isfinite(lo) && isfinite(hi);
  for (int i = 0; i < (one ? 1 : ticks.n); i++) {
    const double share = one ? 0.5 : pla_range_share(hi, lo, pla_ticks_value(&ticks, i));
    const double ty = y + bar_h * share;
    char text[PLA_TICK_TEXT];
    if (one)
      snprintf(text, sizeof text, "%.6g", lo + 0.0);
    else
      pla_ticks_label(&ticks, i, text);
    set_ink(cr, ink, false, 0.9);
    cairo_move_to(cr, x + bar_w, round(ty) + 0.5);
    cairo_line_to(cr, x + bar_w + 0.35 * size, round(ty) + 0.5);
    cairo_stroke(cr);
    draw_text(cr, ink, x + bar_w + 0.6 * size, ty, 0.0, text, false);
  }
  if (ticks.base != 0.0) {
    char text[PLA_TICK_TEXT];
    snprintf(text, sizeof text, "from %.12g on", ticks.base);
    draw_text(cr, ink, width - size, y + bar_h + 1.1 * size, 1.0, text, false);
  }
  char heading[256];
  if (!title)
    title = legend->label;
  if (*legend->unit)
    snprintf(heading, sizeof heading, "%s (%s)", title, legend->unit);
  else
    snprintf(heading, sizeof heading, "%s", title);
  draw_text(cr, ink, width - size, y - 1.3 * size, 1.0, heading, false);
}

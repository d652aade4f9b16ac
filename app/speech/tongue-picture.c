/* Draws the midsagittal section pixel by pixel from the level sets of the solids, the outline
 * and coils over it, and lanes of activations. */
#include "app/speech/tongue-picture.h"

#include "app/base/quantity.h"
#include "sim/bodies/tongue-muscles.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* (forward, up) in m -> user units, the front to the left */
typedef struct {
  double x, y, scale; /* of the lower right corner of what is shown, units a metre */
  double width, height;
} View;

static void
to_view(const View *view, const double at[2], double out[2])
{
  out[0] = view->width - (at[0] - view->x) * view->scale;
  out[1] = view->height - (at[1] - view->y) * view->scale;
}

static View
fit_view(const PlaTongue *tongue, double width, double height)
{
  const PlaMesh *mesh = pla_tongue_get_mesh(tongue);
  const double room = 0.014 * pla_tongue_get_fit(tongue)->scale;
  double lo[2] = { INFINITY, INFINITY }, hi[2] = { -INFINITY, -INFINITY };
  for (int v = 0; v < mesh->n_verts; v++) {
    double at[2];
    pla_head_frame_sagittal(pla_tongue_get_frame(tongue), mesh->pos + 3 * (size_t)v, at);
    for (int a = 0; a < 2; a++) {
      lo[a] = fmin(lo[a], at[a] - room);
      hi[a] = fmax(hi[a], at[a] + room);
    }
  }
  const double scale = fmin(width / (hi[0] - lo[0]), height / (hi[1] - lo[1]));
  return (View){ 0.5 * (lo[0] + hi[0]) - 0.5 * width / scale,
                 0.5 * (lo[1] + hi[1]) - 0.5 * height / scale, scale, width, height };
}

/* solids in section, pixel by pixel; those of the jaw where it is now */
static void
draw_solids(const PlaTongue *tongue, const PlaTongueFrame *frame, const View *view, cairo_t *cr)
{
  const int w = (int)view->width, h = (int)view->height;
  const PlaHeadFrame *head = pla_tongue_get_frame(tongue);
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, w, h);
  const int stride = cairo_image_surface_get_stride(image);
  unsigned char *data = cairo_image_surface_get_data(image);
  for (int y = 0; y < h && data; y++)
    for (int x = 0; x < w; x++) {
      const double at[2] = { view->x + (view->width - x - 0.5) / view->scale,
                             view->y + (view->height - y - 0.5) / view->scale };
      double pos[3], back[3], least = INFINITY;
      pla_head_frame_point(head, at, pos);
      for (int i = 0; i < pla_tongue_n_solids(tongue); i++) {
        bool with_jaw;
        const PlaLevelSet *solid = pla_tongue_get_solid(tongue, i, &with_jaw);
        memcpy(back, pos, sizeof back);
        for (int d = 0; with_jaw && d < 3; d++) {
          back[d] = 0.0;
          for (int k = 0; k < 3; k++)
            back[d] += frame->jaw_rotation[3 * k + d] * (pos[k] - frame->jaw_shift[k]);
        }
        for (int d = 0; d < 3; d++)
          back[d] *= 1000.0;
        least = fmin(least, pla_levelset_at(solid, back));
      }
      if (least < 0.0)
        *(guint32 *)(void *)(data + (size_t)y * (size_t)stride + 4 * (size_t)x) =
            least > -0.4 ? 0xff8a7f66 : 0xffe6dcc3;
    }
  cairo_surface_mark_dirty(image);
  cairo_set_source_surface(cr, image, 0, 0);
  cairo_paint(cr);
  cairo_surface_destroy(image);
}

static void
trace(const PlaTongue *tongue, const double *pos, const View *view, cairo_t *cr)
{
  const PlaOutline *outline = pla_tongue_get_outline(tongue);
  g_autofree double *at = g_new(double, 2 * outline->n);
  pla_outline_place(outline, pla_tongue_get_frame(tongue), pos, at);
  for (int i = 0; i < outline->n; i++) {
    double p[2];
    to_view(view, at + 2 * i, p);
    if (i == 0)
      cairo_move_to(cr, p[0], p[1]);
    else
      cairo_line_to(cr, p[0], p[1]);
  }
  cairo_close_path(cr);
}

void
pla_tongue_picture_draw(const PlaTongueMotion *motion, cairo_t *cr, double width, double height,
                        const char *caption)
{
  const PlaTongue *tongue = pla_tongue_motion_get_tongue(motion);
  const PlaMesh *rest = pla_tongue_motion_get_rest(motion);
  const double *pos = pla_tongue_motion_get_pos(motion), dash[2] = { 4.0, 3.0 };
  const View view = fit_view(tongue, width, height);
  PlaTongueFrame frame;
  pla_tongue_motion_frame(motion, &frame);
  cairo_save(cr);
  cairo_rectangle(cr, 0, 0, width, height);
  cairo_clip(cr);
  cairo_set_source_rgb(cr, 0.99, 0.99, 0.98);
  cairo_paint(cr);
  draw_solids(tongue, &frame, &view, cr);
  trace(tongue, pos, &view, cr);
  cairo_set_source_rgba(cr, 0.85, 0.45, 0.47, 0.75);
  cairo_fill_preserve(cr);
  cairo_set_source_rgb(cr, 0.55, 0.15, 0.2);
  cairo_set_line_width(cr, 1.5);
  cairo_stroke(cr);
  trace(tongue, rest->pos, &view, cr);
  cairo_set_source_rgba(cr, 0.2, 0.2, 0.2, 0.6);
  cairo_set_dash(cr, dash, 2, 0.0);
  cairo_set_line_width(cr, 1.0);
  cairo_stroke(cr);
  cairo_set_dash(cr, NULL, 0, 0.0);
  for (int k = 0; k < PLA_N_TONGUE_COILS; k++) {
    double at[2], p[2];
    pla_head_frame_sagittal(pla_tongue_get_frame(tongue),
                            pos + 3 * (size_t)pla_tongue_get_fit(tongue)->vert[k], at);
    to_view(&view, at, p);
    cairo_arc(cr, p[0], p[1], 3.0, 0.0, 2.0 * G_PI);
    cairo_set_source_rgb(cr, 0.1, 0.3, 0.7);
    cairo_fill(cr);
  }
  cairo_set_source_rgb(cr, 0.1, 0.1, 0.1);
  cairo_set_font_size(cr, 13.0);
  cairo_move_to(cr, 8.0, height - 8.0);
  cairo_show_text(cr, caption);
  cairo_restore(cr);
}

/* ---- muscles ---- */

static void
draw_time(const PlaTrack *track, double left, double right, double y, cairo_t *cr)
{
  const double seconds = track->n_samples / track->rate_hz, per_s = (right - left) / seconds;
  double step = 0.1;
  /* between a sample a week and one in a nanosecond */
  if (!(per_s > 1e-9 && per_s < 1e12))
    return;
  for (int i = 0; step * per_s < 60.0; i++)
    step *= i % 3 == 1 ? 2.5 : 2.0;
  for (int i = 0; left + i * step * per_s < right - 30.0; i++) {
    g_autofree char *words =
        g_strdup_printf("%.*f %s", step < 0.95 ? 1 : 0, i * step, pla_unit_symbol(PLA_UNIT_S));
    cairo_move_to(cr, left + i * step * per_s, y);
    cairo_show_text(cr, words);
  }
}

static int
count_lanes(const PlaTrack *activations)
{
  PlaTongueLane lane = { 0 };
  int n = 0;
  while (pla_tongue_lane_next(activations, &lane))
    n++;
  return n;
}

/* a hill on @low, @tall where the muscle does all it can; @x_s is at 0, @per_s for a second */
static void
trace_lane(const PlaTrack *activations, const PlaTongueLane *lane, double x_s, double per_s,
           double low, double tall, cairo_t *cr)
{
  const double per_frame = per_s / activations->rate_hz;
  const double first = (activations->start_s - x_s) * per_s;
  if (!isfinite(first) || !isfinite(per_frame))
    return;
  /* what is far outside stays there, where cairo can hold it */
  const double most = 1e5, begin = CLAMP(first - 0.5 * per_frame, -most, most),
               end = CLAMP(first + (activations->n_samples - 0.5) * per_frame, -most, most);
  cairo_move_to(cr, begin, low);
  for (int f = 0; f < activations->n_samples; f++) {
    const double x = first + f * per_frame, level = pla_tongue_lane_at(activations, lane, f);
    if (fabs(x) < most)
      cairo_line_to(cr, x, low - tall * (isnan(level) ? 0.0 : CLAMP(level, 0.0, 1.0)));
  }
  cairo_line_to(cr, end, low);
  cairo_close_path(cr);
}

void
pla_tongue_picture_draw_muscles(const PlaTrack *activations, cairo_t *cr, double width,
                                double height)
{
  enum { NAMES = 170, AXIS = 22 };
  const double tall = (height - AXIS) / MAX(count_lanes(activations), 1),
               wide = width - NAMES - 8.0;
  const double per_s = wide / MAX(activations->n_samples, 1) * activations->rate_hz;
  PlaTongueLane lane = { 0 };
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  cairo_select_font_face(cr, "Liberation Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, 12.0);
  for (int k = 0; pla_tongue_lane_next(activations, &lane); k++) {
    const double low = tall * (k + 1) - 3.0;
    cairo_save(cr);
    cairo_translate(cr, NAMES, 0);
    trace_lane(activations, &lane, activations->start_s - 0.5 / activations->rate_hz, per_s, low,
               tall - 6.0, cr);
    cairo_restore(cr);
    cairo_set_source_rgba(cr, 0.75, 0.20, 0.24, 0.75);
    cairo_fill(cr);
    cairo_set_source_rgb(cr, 0.6, 0.6, 0.6);
    cairo_rectangle(cr, NAMES, low, wide, 0.7);
    cairo_fill(cr);
    cairo_set_source_rgb(cr, 0.1, 0.1, 0.1);
    cairo_move_to(cr, 8.0, low - 0.35 * tall + 4.0);
    cairo_show_text(cr, lane.name);
  }
  draw_time(activations, NAMES, width - 8.0, height - 7.0, cr);
}

/* letters that hills may lie behind */
static void
draw_name(const char *name, double x, double y, double ink, double ground, cairo_t *cr)
{
  g_autofree char *title = g_strdup(name);
  title[0] = g_ascii_toupper(title[0]);
  cairo_move_to(cr, x, y);
  cairo_text_path(cr, title);
  cairo_set_source_rgba(cr, ground, ground, ground, 0.85);
  cairo_set_line_width(cr, 3.0);
  cairo_stroke_preserve(cr);
  cairo_set_source_rgb(cr, ink, ink, ink);
  cairo_fill(cr);
}

void
pla_tongue_picture_draw_lanes(const PlaTrack *activations, double from_s, double to_s, bool dark,
                              cairo_t *cr, double width, double height)
{
  const double tall = height / MAX(count_lanes(activations), 1);
  const double per_s = width / fmax(to_s - from_s, 1e-6), letters = CLAMP(0.72 * tall, 8.0, 12.0);
  const double ground = dark ? 0.13 : 0.98, ink = dark ? 0.93 : 0.15;
  PlaTongueLane lane = { 0 };
  cairo_save(cr);
  cairo_rectangle(cr, 0, 0, width, height);
  cairo_clip(cr);
  cairo_set_source_rgb(cr, ground, ground, ground);
  cairo_paint(cr);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  cairo_select_font_face(cr, "Liberation Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, letters);
  for (int k = 0; pla_tongue_lane_next(activations, &lane); k++) {
    const double low = floor(tall * (k + 1)) - 1.0;
    trace_lane(activations, &lane, from_s, per_s, low, tall - 3.0, cr);
    if (dark)
      cairo_set_source_rgba(cr, 0.93, 0.45, 0.47, 0.75);
    else
      cairo_set_source_rgba(cr, 0.75, 0.20, 0.24, 0.70);
    cairo_fill(cr);
    cairo_set_source_rgba(cr, ink, ink, ink, 0.3);
    cairo_rectangle(cr, 0, low, width, 1.0);
    cairo_fill(cr);
    draw_name(lane.name, 4.0, low - 0.5 * (tall - 0.72 * letters), ink, ground, cr);
  }
  cairo_restore(cr);
}

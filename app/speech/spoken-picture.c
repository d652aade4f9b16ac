/* Draws a frame of a spoken motion with cairo: midsagittal section, palate contacts, area
 * function, coil traces, spectrogram. */
#include "app/speech/spoken-picture.h"

#include "app/base/quantity.h"

#include <math.h>
#include <string.h>

#define TOUCH_MM 0.8
#define NEAR_MM 4.0

typedef struct {
  double ground[3], bone[3], edge[3], ink[3], dim[3], tongue[3], tongue_edge[3], other[3], touch[3];
} Colours;

static const Colours *
colours(bool dark)
{
  static const Colours light = { { 0.98, 0.98, 0.98 }, { 0.90, 0.86, 0.77 }, { 0.55, 0.50, 0.40 },
                                 { 0.15, 0.15, 0.17 }, { 0.45, 0.45, 0.48 }, { 0.87, 0.47, 0.49 },
                                 { 0.58, 0.16, 0.21 }, { 0.08, 0.38, 0.75 }, { 0.85, 0.33, 0.10 } };
  static const Colours night = { { 0.13, 0.13, 0.14 }, { 0.62, 0.59, 0.52 }, { 0.86, 0.82, 0.72 },
                                 { 0.93, 0.93, 0.93 }, { 0.62, 0.62, 0.65 }, { 0.75, 0.36, 0.39 },
                                 { 0.97, 0.66, 0.66 }, { 0.45, 0.72, 1.00 }, { 1.00, 0.62, 0.25 } };
  return dark ? &night : &light;
}

static void
ink(cairo_t *cr, const double rgb[3], double alpha)
{
  cairo_set_source_rgba(cr, rgb[0], rgb[1], rgb[2], alpha);
}

static void
text(cairo_t *cr, double x, double y, double size, const char *words)
{
  cairo_select_font_face(cr, "Liberation Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, size);
  cairo_move_to(cr, x, y);
  cairo_show_text(cr, words);
}

static void
text_middle(cairo_t *cr, double x, double y, double size, const char *words)
{
  cairo_text_extents_t box;
  cairo_select_font_face(cr, "Liberation Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cr, size);
  cairo_text_extents(cr, words, &box);
  text(cr, x - 0.5 * box.x_advance, y, size, words);
}

static void
begin(cairo_t *cr, const Colours *c, double width, double height)
{
  cairo_save(cr);
  cairo_rectangle(cr, 0, 0, width, height);
  cairo_clip(cr);
  ink(cr, c->ground, 1.0);
  cairo_paint(cr);
}

/* ---- midsagittal ----------------------------------------------------------------------------- */

struct PlaSpokenBones {
  cairo_surface_t *image[2]; /* palate; jaw at rest */
};

/* inside: bone, darker towards its edge; a pixel of the grid is half a millimetre */
static cairo_surface_t *
bone_image(const PlaSpoken *self, const float *distance, const Colours *c)
{
  const int w = self->section_dims[0], h = self->section_dims[1];
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, w, h);
  const int stride = cairo_image_surface_get_stride(image);
  unsigned char *data = cairo_image_surface_get_data(image);
  for (int y = 0; y < h && data; y++)
    for (int x = 0; x < w; x++) {
      /* row 0 is the top, column 0 the front */
      const double d = (double)distance[(h - 1 - y) * w + (w - 1 - x)];
      const double alpha = CLAMP(0.5 - d / self->section_step_mm, 0.0, 1.0);
      const double rim = CLAMP(1.0 - fabs(d) / 0.9, 0.0, 1.0);
      guint32 pixel = (guint32)lround(255.0 * alpha) << 24;
      for (int k = 0; k < 3; k++) {
        const double value = alpha * (rim * c->edge[k] + (1.0 - rim) * c->bone[k]);
        pixel |= (guint32)lround(255.0 * value) << (16 - 8 * k);
      }
      *(guint32 *)(void *)(data + (gsize)y * (gsize)stride + 4 * (gsize)x) = pixel;
    }
  cairo_surface_mark_dirty(image);
  return image;
}

PlaSpokenBones *
pla_spoken_bones_new(const PlaSpoken *self, bool dark)
{
  PlaSpokenBones *bones = g_new0(PlaSpokenBones, 1);
  bones->image[0] = bone_image(self, self->palate_mm, colours(dark));
  bones->image[1] = bone_image(self, self->mandible_mm, colours(dark));
  return bones;
}

void
pla_spoken_bones_free(PlaSpokenBones *bones)
{
  if (!bones)
    return;
  cairo_surface_destroy(bones->image[0]);
  cairo_surface_destroy(bones->image[1]);
  g_free(bones);
}

/* (forward, up) in mm -> user units, the front to the left */
static cairo_matrix_t
sagittal_matrix(double width, double height)
{
  static const double front = 112.0, back = 2.0, top = -20.0, bottom = -104.0;
  const double scale = fmin(width / (front - back), height / (top - bottom));
  cairo_matrix_t m;
  cairo_matrix_init(&m, -scale, 0, 0, -scale, 0.5 * width + 0.5 * scale * (front + back),
                    0.5 * height + 0.5 * scale * (top + bottom));
  return m;
}

static void
paint_bone(const PlaSpoken *self, cairo_surface_t *image, const cairo_matrix_t *view, cairo_t *cr)
{
  const double step = self->section_step_mm;
  const double front = self->section_at_mm[0] + step * (self->section_dims[0] - 0.5),
               top = self->section_at_mm[1] + step * (self->section_dims[1] - 0.5);
  cairo_save(cr);
  cairo_transform(cr, view);
  cairo_translate(cr, front, top);
  cairo_scale(cr, -step, -step);
  cairo_set_source_surface(cr, image, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_BILINEAR);
  cairo_paint(cr);
  cairo_restore(cr);
}

/* the jaw's pose as it acts on (forward, up) */
static cairo_matrix_t
jaw_matrix(const PlaSpoken *self, int frame)
{
  const float *p = self->jaw + 12 * (gsize)frame;
  cairo_matrix_t m;
  cairo_matrix_init(&m, (double)p[4], (double)p[7], (double)p[5], (double)p[8], (double)p[10],
                    (double)p[11]);
  return m;
}

static void
trace_outline(const float *outline, int n, const cairo_matrix_t *view, cairo_t *cr)
{
  for (int i = 0; i < n; i++) {
    double x = (double)outline[2 * i], y = (double)outline[2 * i + 1];
    cairo_matrix_transform_point(view, &x, &y);
    if (i == 0)
      cairo_move_to(cr, x, y);
    else
      cairo_line_to(cr, x, y);
  }
  cairo_close_path(cr);
}

static void
draw_coils(const PlaSpoken *self, int frame, const cairo_matrix_t *view, const Colours *c,
           double size, cairo_t *cr)
{
  const float *place = self->place_mm + (gsize)frame * 2 * PLA_N_COILS;
  for (int k = 0; k < PLA_N_COILS; k++) {
    double x = (double)place[2 * k], y = (double)place[2 * k + 1];
    if (isnan(x) || isnan(y))
      continue;
    cairo_matrix_transform_point(view, &x, &y);
    if (k == PLA_COIL_UL || k == PLA_COIL_LL) { /* lips: soft shapes, not points */
      const double r = 4.5 * -view->xx;
      cairo_save(cr);
      cairo_translate(cr, x + 0.6 * r, y + (k == PLA_COIL_UL ? -0.5 : 0.5) * r);
      cairo_scale(cr, 1.0, 1.35);
      cairo_arc(cr, 0, 0, r, 0, 2.0 * G_PI);
      cairo_restore(cr);
      ink(cr, c->tongue, 0.45);
      cairo_fill(cr);
    }
    cairo_arc(cr, x, y, size, 0.0, 2.0 * G_PI);
    ink(cr, c->ink, 0.9);
    cairo_fill(cr);
  }
}

/* the back of the throat and the soft palate, as the airway has them */
static void
draw_throat(const PlaSpoken *self, const cairo_matrix_t *view, const Colours *c, cairo_t *cr)
{
  const double thick = 3.0 * -view->xx;
  cairo_save(cr);
  for (int i = 0; i <= PLA_TRACT_UVULA + 2; i++) {
    /* half of its thickness behind the wall */
    double x = (double)self->wall_mm[2 * i] - 1.5, y = (double)self->wall_mm[2 * i + 1];
    cairo_matrix_transform_point(view, &x, &y);
    cairo_line_to(cr, x, y);
  }
  cairo_set_line_width(cr, thick);
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  ink(cr, c->tongue, 0.35);
  cairo_stroke(cr);
  cairo_restore(cr);
}

static void
draw_tongue(const PlaSpoken *self, int frame, const cairo_matrix_t *view, const double fill[3],
            const double edge[3], double alpha, cairo_t *cr)
{
  trace_outline(self->outline_mm + 2 * (gsize)frame * (gsize)self->n_outline, self->n_outline, view,
                cr);
  ink(cr, fill, alpha);
  cairo_fill_preserve(cr);
  ink(cr, edge, 1.0);
  cairo_set_line_width(cr, 2.0);
  cairo_stroke(cr);
}

void
pla_spoken_draw_sagittal(const PlaSpoken *self, int frame, const PlaSpokenBones *bones,
                         const PlaSpokenLook *look, cairo_t *cr, double width, double height)
{
  const Colours *c = colours(look->dark);
  const cairo_matrix_t view = sagittal_matrix(width, height);
  PlaSpokenBones *own = bones ? NULL : pla_spoken_bones_new(self, look->dark);
  const PlaSpokenBones *use = bones ? bones : own;
  const double size = fmax(2.0, 0.9 * -view.xx), letters = CLAMP(height / 22.0, 9.0, 15.0);
  cairo_matrix_t jaw = jaw_matrix(self, frame), with_jaw;
  cairo_matrix_multiply(&with_jaw, &jaw, &view);
  begin(cr, c, width, height);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  draw_throat(self, &view, c, cr);
  paint_bone(self, use->image[0], &view, cr);
  paint_bone(self, use->image[1], &with_jaw, cr);
  if (look->rest) {
    trace_outline(self->rest_outline_mm, self->n_outline, &view, cr);
    ink(cr, c->dim, 0.8);
    cairo_set_dash(cr, (double[2]){ 4, 3 }, 2, 0);
    cairo_set_line_width(cr, 1.0);
    cairo_stroke(cr);
    cairo_set_dash(cr, NULL, 0, 0);
  }
  draw_tongue(self, frame, &view, look->second ? c->other : c->tongue,
              look->second ? c->other : c->tongue_edge, look->other || look->second ? 0.45 : 0.8,
              cr);
  if (look->other)
    draw_tongue(look->other, look->other_frame, &view, c->other, c->other, 0.22, cr);
  draw_coils(self, frame, &view, c, size, cr);
  ink(cr, c->dim, 1.0);
  text(cr, 8, height - 8, letters, "front");
  cairo_text_extents_t box;
  cairo_text_extents(cr, "back", &box);
  text(cr, width - 8 - box.x_advance, height - 8, letters, "back");
  if (look->name) {
    ink(cr, look->second ? c->other : c->tongue_edge, 1.0);
    text(cr, 8, 4 + letters, letters, look->name);
  }
  if (look->other && look->other_name) {
    ink(cr, c->other, 1.0);
    text(cr, 8, 4 + 2.3 * letters, letters, look->other_name);
  }
  cairo_restore(cr);
  pla_spoken_bones_free(own);
}

/* ---- contacts -------------------------------------------------------------------------------- */

void
pla_spoken_contact_parts(const PlaSpoken *self, int frame, double part[3])
{
  const float *gap = self->contact_mm + (gsize)frame * PLA_PALATE_ROWS * PLA_PALATE_COLUMNS;
  for (int third = 0; third < 3; third++) {
    int n = 0, touched = 0;
    for (int r = third * PLA_PALATE_ROWS / 3; r < (third + 1) * PLA_PALATE_ROWS / 3; r++)
      for (int k = 0; k < PLA_PALATE_COLUMNS; k++) {
        const float g = gap[r * PLA_PALATE_COLUMNS + k];
        n += !isnan(g);
        touched += !isnan(g) && (double)g < TOUCH_MM;
      }
    part[third] = n > 0 ? (double)touched / n : 0.0;
  }
}

void
pla_spoken_draw_contacts(const PlaSpoken *self, int frame, const PlaSpokenLook *look, cairo_t *cr,
                         double width, double height)
{
  const Colours *c = colours(look->dark);
  const float *gap = self->contact_mm + (gsize)frame * PLA_PALATE_ROWS * PLA_PALATE_COLUMNS;
  const float *other = look->other
                           ? look->other->contact_mm +
                                 (gsize)look->other_frame * PLA_PALATE_ROWS * PLA_PALATE_COLUMNS
                           : NULL;
  const double letters = CLAMP(height / 16.0, 9.0, 14.0), top = letters + 10.0;
  /* cells are 3.9 x 3.7 mm: about square */
  const double cell =
      fmin((width - 16.0) / PLA_PALATE_COLUMNS, (height - top - 8.0) / PLA_PALATE_ROWS);
  const double x0 = 0.5 * (width - cell * PLA_PALATE_COLUMNS), y0 = top;
  begin(cr, c, width, height);
  for (int r = 0; r < PLA_PALATE_ROWS; r++)
    for (int k = 0; k < PLA_PALATE_COLUMNS; k++) {
      const float g = gap[r * PLA_PALATE_COLUMNS + k];
      if (isnan(g))
        continue;
      const double x = x0 + cell * k, y = y0 + cell * r;
      const double near = CLAMP((NEAR_MM - (double)g) / (NEAR_MM - TOUCH_MM), 0.0, 1.0);
      cairo_rectangle(cr, x + 0.06 * cell, y + 0.06 * cell, 0.88 * cell, 0.88 * cell);
      ink(cr, c->bone, 0.35);
      cairo_fill_preserve(cr);
      ink(cr, c->touch, (double)g < TOUCH_MM ? 1.0 : 0.55 * near);
      cairo_fill(cr);
      if (other && (double)other[r * PLA_PALATE_COLUMNS + k] < TOUCH_MM) {
        cairo_rectangle(cr, x + 0.16 * cell, y + 0.16 * cell, 0.68 * cell, 0.68 * cell);
        ink(cr, c->other, 1.0);
        cairo_set_line_width(cr, fmax(1.2, 0.12 * cell));
        cairo_stroke(cr);
      }
    }
  ink(cr, c->dim, 1.0);
  text_middle(cr, 0.5 * width, letters + 4.0, letters, "Palate contact, teeth above");
  cairo_restore(cr);
}

/* ---- areas ----------------------------------------------------------------------------------- */

static double
tract_length(const PlaSpoken *self, int frame)
{
  double sum = 0.0;
  for (int s = 0; s < PLA_AIRWAY_SECTIONS; s++)
    sum += (double)self->length_mm[(gsize)frame * PLA_AIRWAY_SECTIONS + (gsize)s];
  return sum;
}

/* cm^2 over cm, in steps */
static void
trace_areas(const PlaSpoken *self, int frame, double x0, double y0, double per_mm, double per_mm2,
            double most_mm2, cairo_t *cr)
{
  const float *area = self->area_mm2 + (gsize)frame * PLA_AIRWAY_SECTIONS,
              *length = self->length_mm + (gsize)frame * PLA_AIRWAY_SECTIONS;
  double along = 0.0;
  for (int s = 0; s < PLA_AIRWAY_SECTIONS; s++) {
    const double y = y0 - per_mm2 * fmin((double)area[s], most_mm2);
    cairo_line_to(cr, x0 + per_mm * along, y);
    along += (double)length[s];
    cairo_line_to(cr, x0 + per_mm * along, y);
  }
}

static void
draw_formant_row(const char *label, const float *hz, double factor, double x, double y, double size,
                 const double rgb[3], const Colours *c, cairo_t *cr)
{
  ink(cr, rgb, 1.0);
  text(cr, x, y, size, label);
  ink(cr, c->ink, 1.0);
  for (int k = 0; k < 3; k++) {
    char words[32] = "–";
    if (!isnan(hz[k]))
      g_snprintf(words, sizeof words, "%.0f", factor * (double)hz[k]);
    text(cr, x + (6.2 + 2.9 * k) * size, y, size, words);
  }
}

void
pla_spoken_draw_areas(const PlaSpoken *self, int frame, const PlaSpokenLook *look, cairo_t *cr,
                      double width, double height)
{
  const Colours *c = colours(look->dark);
  const double letters = CLAMP(height / 16.0, 9.0, 13.0), most_mm2 = 1000.0;
  const double left = 8.0, right = width - 8.0, top = letters + 12.0, low = height - 4.4 * letters;
  const double longest = fmax(tract_length(self, frame),
                              look->other ? tract_length(look->other, look->other_frame) : 0.0);
  const double per_mm = (right - left) / fmax(longest, 1.0), per_mm2 = (low - top) / most_mm2;
  begin(cr, c, width, height);
  /* 2, 4, ... cm^2 */
  cairo_set_line_width(cr, 1.0);
  for (int cm2 = 2; cm2 <= 8; cm2 += 2) {
    const double y = low - per_mm2 * 100.0 * cm2;
    char words[16];
    ink(cr, c->dim, 0.25);
    cairo_move_to(cr, left, y);
    cairo_line_to(cr, right, y);
    cairo_stroke(cr);
    g_snprintf(words, sizeof words, "%d", cm2);
    ink(cr, c->dim, 1.0);
    text(cr, left, y - 2.0, 0.85 * letters, words);
  }
  cairo_move_to(cr, left, low);
  trace_areas(self, frame, left, low, per_mm, per_mm2, most_mm2, cr);
  cairo_line_to(cr, right, low);
  ink(cr, c->tongue, 0.35);
  cairo_fill(cr);
  trace_areas(self, frame, left, low, per_mm, per_mm2, most_mm2, cr);
  ink(cr, c->tongue_edge, 1.0);
  cairo_set_line_width(cr, 1.6);
  cairo_stroke(cr);
  if (look->other) {
    trace_areas(look->other, look->other_frame, left, low, per_mm, per_mm2, most_mm2, cr);
    ink(cr, c->other, 1.0);
    cairo_stroke(cr);
  }
  ink(cr, c->dim, 1.0);
  cairo_move_to(cr, left, low);
  cairo_line_to(cr, right, low);
  cairo_set_line_width(cr, 1.0);
  cairo_stroke(cr);
  g_autofree char *title =
      g_strdup_printf("Airway, %s, throat to lips", pla_unit_symbol(PLA_UNIT_CM2));
  text_middle(cr, 0.5 * width, letters + 4.0, letters, title);
  draw_formant_row("F1–F3, tube", self->formant_hz + (gsize)frame * PLA_FORMANTS, self->size, left,
                   low + 1.6 * letters, letters, c->tongue_edge, c, cr);
  draw_formant_row("in the sound", self->heard_hz + (gsize)frame * PLA_FORMANTS, 1.0, left,
                   low + 3.0 * letters, letters, c->dim, c, cr);
  cairo_restore(cr);
}

/* ---- traces ---------------------------------------------------------------------------------- */

static double
mean_up(const PlaSpoken *self, int coil)
{
  double sum = 0.0;
  int n = 0;
  for (int f = 0; f < self->n_frames; f++) {
    const double y = self->coil_mm[((gsize)f * PLA_N_COILS + (gsize)coil) * 2 + 1];
    if (!isnan(y)) {
      sum += y;
      n++;
    }
  }
  return n > 0 ? sum / n : NAN;
}

/* @other is drawn at the moments of @self that @pair gives it; NULL: @self itself */
static void
trace_coil(const PlaSpoken *self, const PlaSpoken *other, const PlaSpokenPair *pair, int coil,
           double from_s, double per_s, double y0, double per_mm, double width, cairo_t *cr)
{
  const PlaSpoken *shown = other ? other : self;
  const double mean = mean_up(shown, coil);
  const int step = MAX(1, (int)(self->rate_hz / fmax(2.0 * per_s, 1.0)));
  const double margin = 2.0 + step * per_s / self->rate_hz; /* lines go on to the edge */
  bool gap = true;
  for (int f = 0; f < self->n_frames; f += step) {
    const double x = (pla_spoken_time(self, f) - from_s) * per_s;
    const int frame = other ? CLAMP(pair->other[f], 0, other->n_frames - 1) : f;
    const double y = shown->coil_mm[((gsize)frame * PLA_N_COILS + (gsize)coil) * 2 + 1];
    if (isnan(y) || x < -margin || x > width + margin) {
      gap = true;
      continue;
    }
    if (gap)
      cairo_move_to(cr, x, y0 - per_mm * (y - mean));
    else
      cairo_line_to(cr, x, y0 - per_mm * (y - mean));
    gap = false;
  }
}

void
pla_spoken_draw_traces(const PlaSpoken *self, const PlaSpoken *other, const PlaSpokenPair *pair,
                       double from_s, double to_s, bool dark, cairo_t *cr, double width,
                       double height)
{
  static const struct {
    int coil;
    const char *title;
  } rows[] = { { PLA_COIL_TT, "Tip" },
               { PLA_COIL_TB, "Blade" },
               { PLA_COIL_TD, "Dorsum" },
               { PLA_COIL_TR, "Rear" },
               { PLA_COIL_LI, "Jaw" } };
  const Colours *c = colours(dark);
  const double per_s = width / fmax(to_s - from_s, 1e-6), lane = height / G_N_ELEMENTS(rows);
  const double per_mm = lane / 18.0, letters = CLAMP(0.5 * lane, 8.0, 12.0);
  begin(cr, c, width, height);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
    const double y0 = lane * ((double)r + 0.5);
    ink(cr, c->dim, 0.25);
    cairo_set_line_width(cr, 1.0);
    cairo_move_to(cr, 0, y0);
    cairo_line_to(cr, width, y0);
    cairo_stroke(cr);
    if (other && pair) {
      trace_coil(self, other, pair, rows[r].coil, from_s, per_s, y0, per_mm, width, cr);
      ink(cr, c->other, 1.0);
      cairo_set_dash(cr, (double[2]){ 5, 3 }, 2, 0);
      cairo_set_line_width(cr, 1.4);
      cairo_stroke(cr);
      cairo_set_dash(cr, NULL, 0, 0);
    }
    trace_coil(self, NULL, NULL, rows[r].coil, from_s, per_s, y0, per_mm, width, cr);
    ink(cr, c->tongue_edge, 1.0);
    cairo_set_line_width(cr, 1.6);
    cairo_stroke(cr);
    ink(cr, c->dim, 1.0);
    text(cr, 4.0, y0 - 3.0, letters, rows[r].title);
  }
  cairo_restore(cr);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void
pla_spoken_draw_frame(const PlaSpoken *self, int frame, const PlaSpokenBones *bones,
                      const PlaSpokenLook *look, cairo_t *cr, double width, double height)
{
  const double side = floor(0.66 * width), half = floor(0.5 * height);
  pla_spoken_draw_sagittal(self, frame, bones, look, cr, side, height);
  cairo_save(cr);
  cairo_translate(cr, side, 0);
  pla_spoken_draw_contacts(self, frame, look, cr, width - side, half);
  cairo_translate(cr, 0, half);
  pla_spoken_draw_areas(self, frame, look, cr, width - side, height - half);
  cairo_restore(cr);
  g_autofree char *words =
      pla_quantity_text(PLA_QUANTITY_TIME, pla_spoken_time(self, frame), PLA_UNIT_S);
  ink(cr, colours(look->dark)->ink, 1.0);
  text(cr, 8.0, CLAMP(height / 20.0, 12.0, 24.0), CLAMP(height / 26.0, 10.0, 18.0), words);
}

cairo_surface_t *
pla_spectrogram_image(const PlaSpectrogram *spectrogram, bool dark)
{
  const int w = MAX(1, spectrogram->n_columns), h = PLA_SPECTRUM_BINS;
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
  const int stride = cairo_image_surface_get_stride(image);
  unsigned char *data = cairo_image_surface_get_data(image);
  const Colours *c = colours(dark);
  for (int y = 0; y < h && data; y++)
    for (int x = 0; x < spectrogram->n_columns; x++) {
      const double db = (double)spectrogram->db[(gsize)x * PLA_SPECTRUM_BINS + (gsize)(h - 1 - y)];
      const double level = isnan(db) ? 0.0 : CLAMP((db + 55.0) / 50.0, 0.0, 1.0);
      guint32 pixel = 0;
      for (int k = 0; k < 3; k++)
        pixel |= (guint32)lround(255.0 * (c->ground[k] + level * (c->ink[k] - c->ground[k])))
                 << (16 - 8 * k);
      *(guint32 *)(void *)(data + (gsize)y * (gsize)stride + 4 * (gsize)x) = pixel;
    }
  cairo_surface_mark_dirty(image);
  return image;
}

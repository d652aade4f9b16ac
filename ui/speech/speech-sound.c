/* Draws the lanes for the visible stretch of time into a cached picture, with cursor and
 * selection over it. */
#include "ui/speech/speech-sound.h"

#include "app/base/quantity.h"
#include "app/speech/speech-facts.h"
#include "app/speech/spoken-picture.h"
#include "app/speech/tongue-picture.h"
#include "ui/speech/speech-playback.h"
#include "ui/views/export.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#define SHORTEST_S 0.05 /* that fills the widget */
#define WHEEL 1.25      /* how much nearer one notch goes */

static gboolean
is_dark(void)
{
  return adw_style_manager_get_dark(adw_style_manager_get_default());
}

struct _PlaSpeechSound {
  GtkWidget parent_instance;
  PlaSpeechPlayback *playback; /* borrowed: lives as long as the document */
  GtkAdjustment *along;        /* the stretch that is seen, s, within the whole recording */
  const PlaUtterance *seen;    /* that it belongs to; only compared */
  GdkTexture *picture;         /* all that does not move; NULL: to be drawn */
  int width, height;           /* that it was drawn for */
  cairo_surface_t *spectrum;
  const PlaUtterance *spectrum_of;
  gboolean spectrum_dark;
  double drag_from_s, pointer_x;
};

G_DEFINE_FINAL_TYPE(PlaSpeechSound, pla_speech_sound, GTK_TYPE_WIDGET)

enum { LEFT = 6, RIGHT = 6, AXIS = 16, LANE = 20 };

/* lanes from above: waveform, spectrogram, phonemes, coils or the muscles that move them, distance,
 * time */
typedef struct {
  double wave, spectrum, phonemes, coils, apart, axis, end; /* where each begins */
} Lanes;

static Lanes
lanes_of(PlaSpeechSound *self, double height)
{
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  const gboolean pair = pla_speech_playback_get_pair(self->playback) != NULL;
  const gboolean sound = u && u->heard.wave, phonemes = u && pla_sound_has_phonemes(u->source);
  const double phoneme = phonemes ? LANE : 0.0, apart = pair ? 2.2 * LANE : 0.0;
  const double rest = fmax(0.0, height - AXIS - phoneme - apart);
  const gboolean coils = u && u->spoken;
  /* eleven muscles take more room than five coils */
  const gboolean muscles = pla_speech_playback_get_muscles(self->playback) != NULL;
  const double wave = sound ? (muscles ? 0.10
                               : coils ? 0.18
                                       : 0.3) *
                                  rest
                            : 0.0,
               spectrum = sound ? (muscles ? 0.21
                                   : coils ? 0.44
                                           : 0.7) *
                                      rest
                                : 0.0;
  Lanes l = { .wave = 0.0, .spectrum = wave };
  l.phonemes = l.spectrum + spectrum;
  l.coils = l.phonemes + phoneme;
  l.apart = height - AXIS - apart;
  l.axis = height - AXIS;
  l.end = height;
  return l;
}

/* ---- the stretch that is seen ---- */

void
pla_speech_sound_get_range(PlaSpeechSound *self, double *from_s, double *to_s)
{
  *from_s = gtk_adjustment_get_value(self->along);
  *to_s = *from_s + gtk_adjustment_get_page_size(self->along);
}

/* @span_s, kept within the recording, from @from_s on */
static void
show_stretch(PlaSpeechSound *self, double from_s, double span_s)
{
  const double all = pla_speech_playback_get_seconds(self->playback);
  const double span = CLAMP(span_s, fmin(SHORTEST_S, all), all),
               from = CLAMP(from_s, 0.0, all - span);
  gtk_adjustment_configure(self->along, from, 0.0, all, 0.1 * span, 0.9 * span, span);
}

void
pla_speech_sound_set_range(PlaSpeechSound *self, double from_s, double to_s)
{
  show_stretch(self, from_s, to_s - from_s);
}

void
pla_speech_sound_zoom(PlaSpeechSound *self, double factor, double about_s)
{
  double from, to;
  pla_speech_sound_get_range(self, &from, &to);
  const double all = pla_speech_playback_get_seconds(self->playback);
  const double span = CLAMP((to - from) / factor, fmin(SHORTEST_S, all), all);
  const double part = to > from ? CLAMP((about_s - from) / (to - from), 0.0, 1.0) : 0.5;
  show_stretch(self, about_s - part * span, span);
}

void
pla_speech_sound_zoom_selection(PlaSpeechSound *self)
{
  double from, to;
  pla_speech_playback_get_selection(self->playback, &from, &to); /* without one, all of it */
  const double margin =
      pla_speech_playback_has_selection(self->playback) ? 0.05 * (to - from) : 0.0;
  pla_speech_sound_set_range(self, from - margin, to + margin);
}

GtkAdjustment *
pla_speech_sound_get_adjustment(PlaSpeechSound *self)
{
  return self->along;
}

/* turns the page when the moment leaves it */
static void
follow_moment(PlaSpeechSound *self)
{
  double from, to;
  const double now = pla_speech_playback_get_time(self->playback);
  pla_speech_sound_get_range(self, &from, &to);
  if (now < from || now > to)
    gtk_adjustment_set_value(self->along, now - 0.1 * (to - from));
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static double
wide(PlaSpeechSound *self)
{
  return fmax(1.0, gtk_widget_get_width(GTK_WIDGET(self)) - LEFT - RIGHT);
}

double
pla_speech_sound_x_at(PlaSpeechSound *self, double time_s)
{
  double from, to;
  pla_speech_sound_get_range(self, &from, &to);
  return LEFT + (time_s - from) / fmax(to - from, 1e-3) * wide(self);
}

double
pla_speech_sound_time_at(PlaSpeechSound *self, double x)
{
  double from, to;
  pla_speech_sound_get_range(self, &from, &to);
  return from + CLAMP((x - LEFT) / wide(self), 0.0, 1.0) * (to - from);
}

/* ---- lanes ---- */

/* where the time of a lane runs: @from_s at the left, @per_s pixels a second */
typedef struct {
  double from_s, to_s, per_s, width;
} Span;

static double
x_of(const Span *span, double time_s)
{
  return (time_s - span->from_s) * span->per_s;
}

/* bars from least to most of each pixel; a line where pixels are more than samples */
static void
draw_wave(const PlaUtterance *u, const Span *span, cairo_t *cr, double height)
{
  float loudest = 0.05f;
  for (gsize i = 0; i < u->heard.n; i++)
    loudest = MAX(loudest, fabsf(u->heard.wave[i]));
  const double middle = 0.5 * height, scale = 0.46 * height / (double)loudest;
  const double per_pixel = u->heard.rate_hz / span->per_s;
  if (per_pixel < 1.0) {
    const gsize first = (gsize)fmax(0.0, floor(span->from_s * u->heard.rate_hz));
    for (gsize i = first; i < u->heard.n && (double)i <= span->to_s * u->heard.rate_hz + 1.0; i++)
      cairo_line_to(cr, x_of(span, (double)i / u->heard.rate_hz),
                    middle - scale * (double)u->heard.wave[i]);
    cairo_set_line_width(cr, 1.2);
    cairo_stroke(cr);
    return;
  }
  for (int x = 0; x < (int)span->width; x++) {
    const double at = span->from_s * u->heard.rate_hz + x * per_pixel;
    const gsize from = (gsize)at, to = MAX(from + 1, (gsize)(at + per_pixel));
    float lo = 0.0f, hi = 0.0f;
    if (from >= u->heard.n)
      break;
    for (gsize i = from; i < to && i < u->heard.n; i++) {
      lo = MIN(lo, u->heard.wave[i]);
      hi = MAX(hi, u->heard.wave[i]);
    }
    cairo_rectangle(cr, x, middle - scale * (double)hi, 1.0, fmax(1.0, scale * (double)(hi - lo)));
  }
  cairo_fill(cr);
}

/* letters by Pango, which finds the signs of the phonetic alphabet in any font */
static void
draw_letters(PlaSpeechSound *self, cairo_t *cr, const char *words, double x, double y,
             double middle)
{
  g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), words);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  cairo_move_to(cr, x - middle * w, y - 0.5 * h);
  pango_cairo_show_layout(cr, layout);
}

static void
draw_phonemes(PlaSpeechSound *self, const PlaUtterance *u, const Span *span, cairo_t *cr,
              double height, const GdkRGBA *ink)
{
  PlaPhones phones = { 0 };
  if (pla_sound_get_phonemes(u->source, &phones, NULL) != PLA_OK)
    return; /* the lane stays empty; the operation that uses them says why */
  for (int i = 0; i < phones.n; i++) {
    const PlaPhone *one = &phones.phone[i];
    if (!*one->label)
      continue;
    const double from = x_of(span, one->start_s), to = x_of(span, one->end_s);
    const double left = fmax(from, 0.0), right = fmin(to, span->width); /* what is seen of it */
    if (right <= left)
      continue;
    cairo_set_source_rgba(cr, (double)ink->red, (double)ink->green, (double)ink->blue, 0.10);
    cairo_rectangle(cr, left + 0.5, 1.0, fmax(1.0, right - left - 1.0), height - 2.0);
    cairo_fill(cr);
    gdk_cairo_set_source_rgba(cr, ink);
    draw_letters(self, cr, one->label, 0.5 * (left + right), 0.5 * height, 0.5);
  }
  pla_phones_clear(&phones);
}

static void
draw_axis(PlaSpeechSound *self, const Span *span, cairo_t *cr, double height, const GdkRGBA *ink)
{
  double step = 0.001;
  for (int i = 0; span->per_s * step < 60.0 && i < 15; i++)
    step *= i % 3 == 1 ? 2.5 : 2.0; /* 0.001 0.002 0.005 0.01 ... */
  const int digits = step < 0.0095 ? 3 : step < 0.095 ? 2 : step < 0.95 ? 1 : 0;
  cairo_set_source_rgba(cr, (double)ink->red, (double)ink->green, (double)ink->blue, 0.7);
  for (int i = (int)ceil(span->from_s / step - 1e-9); i * step <= span->to_s; i++) {
    const double x = x_of(span, i * step);
    g_autofree char *words = g_strdup_printf("%.*f", digits, i * step);
    cairo_rectangle(cr, x, 0, 1, 3);
    cairo_fill(cr);
    if (x < span->width - 45.0)
      draw_letters(self, cr, words, x + 3.0, 0.5 * height + 1.0, 0.0);
  }
  draw_letters(self, cr, pla_unit_symbol(PLA_UNIT_S), span->width, 0.5 * height + 1.0, 1.0);
}

/* how far the two tongues are apart, mm */
static void
draw_apart(PlaSpeechSound *self, const PlaUtterance *u, const PlaSpokenPair *pair, const Span *span,
           cairo_t *cr, double height, const GdkRGBA *ink)
{
  const double most = fmax(5.0, pair->most_mm);
  cairo_move_to(cr, x_of(span, 0.0), height);
  for (int f = 0; f < pair->n; f++)
    cairo_line_to(cr, x_of(span, pla_spoken_time(u->spoken, f)),
                  height - (height - 4.0) * pair->apart_mm[f] / most);
  cairo_line_to(cr, x_of(span, pla_spoken_time(u->spoken, pair->n - 1)), height);
  cairo_close_path(cr);
  cairo_set_source_rgba(cr, 0.93, 0.55, 0.15, 0.6);
  cairo_fill(cr);
  g_autofree char *mean = pla_quantity_text(PLA_QUANTITY_MOTION, pair->mean_mm, PLA_UNIT_MM);
  g_autofree char *words = g_strdup_printf(_("Apart: %s on average"), mean);
  gdk_cairo_set_source_rgba(cr, ink);
  draw_letters(self, cr, words, 4.0, 9.0, 0.0);
}

static void
draw_spectrum(PlaSpeechSound *self, const PlaUtterance *u, const Span *span, cairo_t *cr,
              double height)
{
  if (self->spectrum_of != u || self->spectrum_dark != is_dark()) {
    g_clear_pointer(&self->spectrum, cairo_surface_destroy);
    self->spectrum = pla_spectrogram_image(&u->heard.spectrogram, is_dark());
    self->spectrum_of = u;
    self->spectrum_dark = is_dark();
  }
  const double covered = u->heard.spectrogram.column_s * u->heard.spectrogram.n_columns;
  /* up to 5.5 kHz: what is above says little about the tongue */
  const double shown = 5500.0 / 8000.0;
  cairo_save(cr);
  cairo_rectangle(cr, 0, 0, span->width, height);
  cairo_clip(cr);
  cairo_translate(cr, x_of(span, 0.0), -height * (1.0 / shown - 1.0));
  cairo_scale(cr, span->per_s * covered / cairo_image_surface_get_width(self->spectrum),
              height / shown / PLA_SPECTRUM_BINS);
  cairo_set_source_surface(cr, self->spectrum, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_BILINEAR);
  cairo_paint(cr);
  cairo_restore(cr);
  /* formants of the tongue that was found, for a tract of the speaker's size, over those in the
   * sound */
  for (int f = 0; u->spoken && f < u->spoken->n_frames; f++)
    for (int k = 0; k < 3; k++) {
      const double hz = u->spoken->size * (double)u->spoken->formant_hz[f * PLA_FORMANTS + k];
      if (isnan(hz) || hz > 5500.0)
        continue;
      cairo_rectangle(cr, x_of(span, pla_spoken_time(u->spoken, f)) - 1.0,
                      height * (1.0 - hz / 5500.0) - 1.0, 2.0, 2.0);
    }
  cairo_set_source_rgba(cr, 0.93, 0.35, 0.2, 0.8);
  cairo_fill(cr);
}

static void
draw_still(PlaSpeechSound *self, const PlaUtterance *u, cairo_t *cr, double w, double h)
{
  Span span = { .width = w - LEFT - RIGHT };
  const Lanes l = lanes_of(self, h);
  const PlaSpokenPair *pair = pla_speech_playback_get_pair(self->playback);
  const PlaUtterance *other = pla_speech_playback_get_other(self->playback);
  GdkRGBA ink;
  pla_speech_sound_get_range(self, &span.from_s, &span.to_s);
  span.per_s = span.width / fmax(span.to_s - span.from_s, 1e-3);
  gtk_style_context_get_color(gtk_widget_get_style_context(GTK_WIDGET(self)), &ink);
  const double ground = is_dark() ? 0.13 : 0.98;
  cairo_set_source_rgb(cr, ground, ground, ground);
  cairo_paint(cr);
  cairo_translate(cr, LEFT, 0);
  cairo_rectangle(cr, 0, 0, span.width, h);
  cairo_clip(cr);
  if (u->heard.wave) {
    cairo_set_source_rgba(cr, (double)ink.red, (double)ink.green, (double)ink.blue, 0.75);
    draw_wave(u, &span, cr, l.spectrum - l.wave);
    cairo_save(cr);
    cairo_translate(cr, 0, l.spectrum);
    draw_spectrum(self, u, &span, cr, l.phonemes - l.spectrum);
    cairo_restore(cr);
  }
  cairo_save(cr);
  cairo_translate(cr, 0, l.phonemes);
  if (l.coils > l.phonemes)
    draw_phonemes(self, u, &span, cr, l.coils - l.phonemes, &ink);
  cairo_translate(cr, 0, l.coils - l.phonemes);
  const PlaTongueActivations *muscles = pla_speech_playback_get_muscles(self->playback);
  if (muscles && l.apart - l.coils > 20.0)
    pla_tongue_picture_draw_lanes(muscles->track, span.from_s, span.to_s, is_dark(), cr, span.width,
                                  l.apart - l.coils);
  else if (u->spoken && l.apart - l.coils > 20.0)
    pla_spoken_draw_traces(u->spoken, pair && other ? other->spoken : NULL, pair, span.from_s,
                           span.to_s, is_dark(), cr, span.width, l.apart - l.coils);
  cairo_translate(cr, 0, l.apart - l.coils);
  if (pair)
    draw_apart(self, u, pair, &span, cr, l.axis - l.apart, &ink);
  cairo_translate(cr, 0, l.axis - l.apart);
  draw_axis(self, &span, cr, l.end - l.axis, &ink);
  cairo_restore(cr);
}

/* another stretch, or other lanes: the picture is drawn anew, the spectrogram's image stays */
static void
on_stretch(PlaSpeechSound *self)
{
  g_clear_object(&self->picture);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
forget(PlaSpeechSound *self)
{
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  const double all = pla_speech_playback_get_seconds(self->playback);
  if (u != self->seen || gtk_adjustment_get_upper(self->along) != all)
    pla_speech_sound_set_range(self, 0.0, all);
  self->seen = u;
  g_clear_object(&self->picture);
  g_clear_pointer(&self->spectrum, cairo_surface_destroy);
  self->spectrum_of = NULL;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
pla_speech_sound_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaSpeechSound *self = PLA_SPEECH_SOUND(widget);
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  const int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  if (!u || u->seconds <= 0.0 || w < 20 || h < 20)
    return;
  if (!self->picture || self->width != w || self->height != h) {
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    cairo_t *cr = cairo_create(image);
    draw_still(self, u, cr, w, h);
    cairo_destroy(cr);
    g_clear_object(&self->picture);
    self->picture = pla_texture_from_image(image);
    cairo_surface_destroy(image);
    self->width = w;
    self->height = h;
  }
  gtk_snapshot_append_texture(snapshot, self->picture,
                              &GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h));
  const Lanes l = lanes_of(self, h);
  if (pla_speech_playback_has_selection(self->playback)) {
    double from, to;
    pla_speech_playback_get_selection(self->playback, &from, &to);
    const double x0 = pla_speech_sound_x_at(self, from), x1 = pla_speech_sound_x_at(self, to);
    gtk_snapshot_append_color(snapshot, &(GdkRGBA){ 0.2f, 0.5f, 0.95f, 0.22f },
                              &GRAPHENE_RECT_INIT((float)x0, 0, (float)(x1 - x0), (float)l.axis));
  }
  const double x = pla_speech_sound_x_at(self, pla_speech_playback_get_time(self->playback));
  gtk_snapshot_append_color(snapshot, &(GdkRGBA){ 0.95f, 0.25f, 0.2f, 1.0f },
                            &GRAPHENE_RECT_INIT((float)floor(x - 0.5), 0, 2, (float)l.axis));
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSpeechSound *self)
{
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->drag_from_s = pla_speech_sound_time_at(self, x);
  pla_speech_playback_set_time(self->playback, self->drag_from_s);
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSpeechSound *self)
{
  double x, y;
  gtk_gesture_drag_get_start_point(gesture, &x, &y);
  const double to = pla_speech_sound_time_at(self, x + dx);
  if (fabs(dx) > 4.0)
    pla_speech_playback_select(self->playback, self->drag_from_s, to);
  pla_speech_playback_set_time(self->playback, fabs(dx) > 4.0 ? fmin(self->drag_from_s, to) : to);
}

static void
on_pressed(GtkGestureClick *gesture, int n, double x, double y, PlaSpeechSound *self)
{
  if (n == 2)
    pla_speech_playback_select(self->playback, 0.0, 0.0);
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaSpeechSound *self)
{
  const double now = pla_speech_playback_get_time(self->playback);
  switch (keyval) {
  case GDK_KEY_space:
    pla_speech_playback_set_playing(self->playback,
                                    !pla_speech_playback_get_playing(self->playback));
    return TRUE;
  case GDK_KEY_Left:
    pla_speech_playback_set_time(self->playback, now - 0.01);
    return TRUE;
  case GDK_KEY_Right:
    pla_speech_playback_set_time(self->playback, now + 0.01);
    return TRUE;
  case GDK_KEY_Home:
    pla_speech_playback_set_time(self->playback, 0.0);
    return TRUE;
  case GDK_KEY_End:
    pla_speech_playback_set_time(self->playback, pla_speech_playback_get_seconds(self->playback));
    return TRUE;
  case GDK_KEY_plus:
  case GDK_KEY_equal:
  case GDK_KEY_KP_Add:
    pla_speech_sound_zoom(self, 2.0, now);
    return TRUE;
  case GDK_KEY_minus:
  case GDK_KEY_KP_Subtract:
    pla_speech_sound_zoom(self, 0.5, now);
    return TRUE;
  case GDK_KEY_0:
  case GDK_KEY_KP_0:
    pla_speech_sound_set_range(self, 0.0, pla_speech_playback_get_seconds(self->playback));
    return TRUE;
  case GDK_KEY_z:
    pla_speech_sound_zoom_selection(self);
    return TRUE;
  case GDK_KEY_Page_Up:
  case GDK_KEY_Page_Down:
    gtk_adjustment_set_value(self->along, gtk_adjustment_get_value(self->along) +
                                              (keyval == GDK_KEY_Page_Up ? -1.0 : 1.0) *
                                                  gtk_adjustment_get_page_increment(self->along));
    return TRUE;
  default:
    return FALSE;
  }
}

static void
on_motion(GtkEventControllerMotion *motion, double x, double y, PlaSpeechSound *self)
{
  self->pointer_x = x;
}

/* the wheel goes nearer and farther at the pointer; with Shift, or across, it goes along */
static gboolean
on_scroll(GtkEventControllerScroll *scroll, double dx, double dy, PlaSpeechSound *self)
{
  const GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(scroll));
  const double across = state & GDK_SHIFT_MASK ? dx + dy : dx;
  if (!pla_speech_playback_get_shown(self->playback))
    return FALSE;
  if (across != 0.0)
    gtk_adjustment_set_value(self->along,
                             gtk_adjustment_get_value(self->along) +
                                 across * gtk_adjustment_get_step_increment(self->along));
  else
    pla_speech_sound_zoom(self, pow(WHEEL, -dy), pla_speech_sound_time_at(self, self->pointer_x));
  return TRUE;
}

static void
pla_speech_sound_dispose(GObject *object)
{
  PlaSpeechSound *self = PLA_SPEECH_SOUND(object);
  g_clear_object(&self->picture);
  g_clear_pointer(&self->spectrum, cairo_surface_destroy);
  g_clear_object(&self->along);
  G_OBJECT_CLASS(pla_speech_sound_parent_class)->dispose(object);
}

static void
pla_speech_sound_class_init(PlaSpeechSoundClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_speech_sound_dispose;
  GTK_WIDGET_CLASS(klass)->snapshot = pla_speech_sound_snapshot;
  gtk_widget_class_set_accessible_role(GTK_WIDGET_CLASS(klass), GTK_ACCESSIBLE_ROLE_IMG);
}

static void
pla_speech_sound_init(PlaSpeechSound *self)
{
  gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
  gtk_widget_set_hexpand(GTK_WIDGET(self), TRUE);
  gtk_widget_set_vexpand(GTK_WIDGET(self), TRUE);
  gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("The sound over time"), -1);
  self->along = g_object_ref_sink(gtk_adjustment_new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0));
  g_signal_connect_swapped(self->along, "changed", G_CALLBACK(on_stretch), self);
  g_signal_connect_swapped(self->along, "value-changed", G_CALLBACK(on_stretch), self);
  GtkGesture *drag = gtk_gesture_drag_new();
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drag));
  GtkGesture *click = gtk_gesture_click_new();
  g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), self);
  gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(click));
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(GTK_WIDGET(self), key);
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  gtk_widget_add_controller(GTK_WIDGET(self), motion);
  GtkEventController *scroll =
      gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(GTK_WIDGET(self), scroll);
}

GtkWidget *
pla_speech_sound_new(PlaDocument *document)
{
  PlaSpeechSound *self = g_object_new(PLA_TYPE_SPEECH_SOUND, NULL);
  self->playback = pla_speech_playback_get(document);
  g_signal_connect_object(self->playback, "changed", G_CALLBACK(forget), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(self->playback, "muscles", G_CALLBACK(on_stretch), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->playback, "moved", G_CALLBACK(follow_moment), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(adw_style_manager_get_default(), "notify::dark", G_CALLBACK(forget), self,
                          G_CONNECT_SWAPPED);
  forget(self);
  return GTK_WIDGET(self);
}

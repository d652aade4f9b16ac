#include "ui/speech-view.h"

#include "app/spoken-picture.h"
#include "ui/export.h"
#include "ui/speech-desk.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static gboolean
is_dark(void)
{
  return adw_style_manager_get_dark(adw_style_manager_get_default());
}

static void
name_widget(GtkWidget *widget, const char *name)
{
  gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
}

/* calls back with @data until @owner goes */
static void
follow(GObject *owner, gpointer object, const char *signal, GCallback callback, gpointer data)
{
  GClosure *closure = g_cclosure_new_swap(callback, data, NULL);
  g_object_watch_closure(owner, closure);
  g_signal_connect_closure(object, signal, closure, FALSE);
}

/* -------------------------------------------------------------------- the look */

typedef struct {
  PlaSpeechDesk *desk;
  GtkWidget *sagittal, *contacts, *areas;
  PlaSpokenBones *bones;
  const PlaSpoken *bones_of;
  gboolean bones_dark;
} Look;

static void
look_free(gpointer data)
{
  Look *look = data;
  pla_spoken_bones_free(look->bones);
  g_free(look);
}

/* the motions that are shown; FALSE without one */
static gboolean
what_to_show(Look *look, const PlaSpoken **spoken, int *frame, PlaSpokenLook *how)
{
  const PlaUtterance *a = pla_speech_desk_get_shown(look->desk),
                     *b = pla_speech_desk_get_other(look->desk);
  if (!a || !a->spoken)
    return FALSE;
  *spoken = a->spoken;
  *frame = pla_spoken_frame_at(a->spoken, pla_speech_desk_get_time(look->desk));
  *how = (PlaSpokenLook){ .dark = is_dark(),
                          .rest = !(b && b->spoken),
                          .other = b ? b->spoken : NULL,
                          .other_frame = pla_speech_desk_get_other_frame(look->desk) };
  if (look->bones_of != a->spoken || look->bones_dark != how->dark) {
    pla_spoken_bones_free(look->bones);
    look->bones = pla_spoken_bones_new(a->spoken, how->dark);
    look->bones_of = a->spoken;
    look->bones_dark = how->dark;
  }
  return TRUE;
}

static void
draw_sagittal(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  Look *look = data;
  const PlaSpoken *spoken;
  PlaSpokenLook how;
  int frame;
  if (!what_to_show(look, &spoken, &frame, &how))
    return;
  if (!how.other || !pla_speech_desk_get_beside(look->desk)) {
    pla_spoken_draw_sagittal(spoken, frame, look->bones, &how, cr, width, height);
    return;
  }
  /* one beside the other */
  const PlaSpoken *other = how.other;
  const int half = width / 2;
  how.other = NULL;
  pla_spoken_draw_sagittal(spoken, frame, look->bones, &how, cr, half, height);
  cairo_translate(cr, half, 0);
  pla_spoken_draw_sagittal(other, how.other_frame, look->bones, &how, cr, width - half, height);
}

static void
draw_contacts(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  const PlaSpoken *spoken;
  PlaSpokenLook how;
  int frame;
  if (what_to_show(data, &spoken, &frame, &how))
    pla_spoken_draw_contacts(spoken, frame, &how, cr, width, height);
}

static void
draw_areas(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  const PlaSpoken *spoken;
  PlaSpokenLook how;
  int frame;
  if (what_to_show(data, &spoken, &frame, &how))
    pla_spoken_draw_areas(spoken, frame, &how, cr, width, height);
}

static void
redraw_look(Look *look)
{
  gtk_widget_queue_draw(look->sagittal);
  gtk_widget_queue_draw(look->contacts);
  gtk_widget_queue_draw(look->areas);
}

/* bones of a motion that is gone are not kept */
static void
on_look_changed(Look *look)
{
  g_clear_pointer(&look->bones, pla_spoken_bones_free);
  look->bones_of = NULL;
  redraw_look(look);
}

static GtkWidget *
area_new(Look *look, GtkDrawingAreaDrawFunc draw, const char *name)
{
  GtkWidget *area = g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role", GTK_ACCESSIBLE_ROLE_IMG,
                                 "hexpand", TRUE, "vexpand", TRUE, NULL);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, look, NULL);
  gtk_widget_set_tooltip_text(area, name);
  name_widget(area, name);
  return area;
}

GtkWidget *
pla_speech_look_new(PlaDocument *document)
{
  Look *look = g_new0(Look, 1);
  GtkWidget *grid = gtk_grid_new();
  look->desk = pla_speech_desk_get(document);
  look->sagittal = area_new(look, draw_sagittal, _("The tongue in section, front to the left"));
  look->contacts = area_new(look, draw_contacts, _("Where the tongue touches the palate"));
  look->areas = area_new(look, draw_areas, _("How wide the airway is, and its formants"));
  gtk_grid_set_row_homogeneous(GTK_GRID(grid), TRUE);
  gtk_grid_set_column_homogeneous(GTK_GRID(grid), TRUE);
  gtk_grid_set_row_spacing(GTK_GRID(grid), 2);
  gtk_grid_set_column_spacing(GTK_GRID(grid), 2);
  gtk_grid_attach(GTK_GRID(grid), look->sagittal, 0, 0, 2, 3);
  gtk_grid_attach(GTK_GRID(grid), look->contacts, 0, 3, 1, 2);
  gtk_grid_attach(GTK_GRID(grid), look->areas, 1, 3, 1, 2);
  g_object_set_data_full(G_OBJECT(grid), "look", look, look_free);
  follow(G_OBJECT(grid), look->desk, "moved", G_CALLBACK(redraw_look), look);
  follow(G_OBJECT(grid), look->desk, "state", G_CALLBACK(redraw_look), look);
  follow(G_OBJECT(grid), look->desk, "changed", G_CALLBACK(on_look_changed), look);
  follow(G_OBJECT(grid), adw_style_manager_get_default(), "notify::dark", G_CALLBACK(redraw_look),
         look);
  return grid;
}

/* ------------------------------------------------------------------- the sound */

struct _PlaSpeechSound {
  GtkWidget parent_instance;
  PlaSpeechDesk *desk; /* borrowed: lives as long as the document */
  GdkTexture *picture; /* all that does not move; NULL: to be drawn */
  int width, height;   /* that it was drawn for */
  cairo_surface_t *spectrum;
  const PlaUtterance *spectrum_of;
  gboolean spectrum_dark;
  double drag_from_s;
};

G_DEFINE_FINAL_TYPE(PlaSpeechSound, pla_speech_sound, GTK_TYPE_WIDGET)

enum { LEFT = 6, RIGHT = 6, AXIS = 16, LANE = 20 };

/* lanes from above: waveform, spectrogram, phonemes, coils, distance, time */
typedef struct {
  double wave, spectrum, phonemes, coils, apart, axis, end; /* where each begins */
} Lanes;

static Lanes
lanes_of(PlaSpeechSound *self, double height)
{
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
  const gboolean pair = pla_speech_desk_get_pair(self->desk) != NULL;
  const gboolean sound = u && u->wave, phonemes = u && json_object_has_member(u->source->meta, "phonemes");
  const double phoneme = phonemes ? LANE : 0.0, apart = pair ? 2.2 * LANE : 0.0;
  const double rest = fmax(0.0, height - AXIS - phoneme - apart);
  const gboolean coils = u && u->spoken;
  const double wave = sound ? (coils ? 0.18 : 0.3) * rest : 0.0,
               spectrum = sound ? (coils ? 0.44 : 0.7) * rest : 0.0;
  Lanes l = { .wave = 0.0, .spectrum = wave };
  l.phonemes = l.spectrum + spectrum;
  l.coils = l.phonemes + phoneme;
  l.apart = height - AXIS - apart;
  l.axis = height - AXIS;
  l.end = height;
  return l;
}

double
pla_speech_sound_x_at(PlaSpeechSound *self, double time_s)
{
  const double seconds = fmax(pla_speech_desk_get_seconds(self->desk), 1e-3);
  return LEFT + time_s / seconds * (gtk_widget_get_width(GTK_WIDGET(self)) - LEFT - RIGHT);
}

double
pla_speech_sound_time_at(PlaSpeechSound *self, double x)
{
  const double seconds = pla_speech_desk_get_seconds(self->desk);
  return CLAMP((x - LEFT) / fmax(1.0, gtk_widget_get_width(GTK_WIDGET(self)) - LEFT - RIGHT), 0.0, 1.0) *
         seconds;
}

static void
draw_wave(const PlaUtterance *u, cairo_t *cr, double width, double height)
{
  const int n = MAX(1, (int)width);
  float loudest = 0.05f;
  for (gsize i = 0; i < u->n_wave; i++)
    loudest = MAX(loudest, fabsf(u->wave[i]));
  for (int x = 0; x < n; x++) {
    const gsize from = (gsize)((double)u->n_wave * x / n),
                to = MAX(from + 1, (gsize)((double)u->n_wave * (x + 1) / n));
    float lo = 0.0f, hi = 0.0f;
    for (gsize i = from; i < to && i < u->n_wave; i++) {
      lo = MIN(lo, u->wave[i]);
      hi = MAX(hi, u->wave[i]);
    }
    const double middle = 0.5 * height, scale = 0.46 * height / (double)loudest;
    cairo_rectangle(cr, x, middle - scale * (double)hi, 1.0, fmax(1.0, scale * (double)(hi - lo)));
  }
  cairo_fill(cr);
}

/* letters by Pango, which finds the signs of the phonetic alphabet in any font */
static void
draw_letters(PlaSpeechSound *self, cairo_t *cr, const char *words, double x, double y, double middle)
{
  g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), words);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  cairo_move_to(cr, x - middle * w, y - 0.5 * h);
  pango_cairo_show_layout(cr, layout);
}

static void
draw_phonemes(PlaSpeechSound *self, const PlaUtterance *u, cairo_t *cr, double width, double height,
              const GdkRGBA *ink)
{
  JsonNode *node = json_object_get_member(u->source->meta, "phonemes");
  JsonArray *list = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
  for (guint i = 0; list && i < json_array_get_length(list); i++) {
    JsonNode *element = json_array_get_element(list, i);
    JsonObject *one = JSON_NODE_HOLDS_OBJECT(element) ? json_node_get_object(element) : NULL;
    const char *ipa = one ? json_object_get_string_member_with_default(one, "ipa", "") : "";
    if (!*ipa)
      continue;
    const double from = json_object_get_double_member_with_default(one, "from_s", 0.0) / u->seconds,
                 to = json_object_get_double_member_with_default(one, "to_s", 0.0) / u->seconds;
    cairo_set_source_rgba(cr, (double)ink->red, (double)ink->green, (double)ink->blue, 0.10);
    cairo_rectangle(cr, width * from + 0.5, 1.0, fmax(1.0, width * (to - from) - 1.0), height - 2.0);
    cairo_fill(cr);
    gdk_cairo_set_source_rgba(cr, ink);
    draw_letters(self, cr, ipa, width * 0.5 * (from + to), 0.5 * height, 0.5);
  }
}

static void
draw_axis(PlaSpeechSound *self, double seconds, cairo_t *cr, double width, double height,
          const GdkRGBA *ink)
{
  double step = 0.01;
  for (int i = 0; width * step / fmax(seconds, 1e-3) < 60.0 && i < 12; i++)
    step *= i % 3 == 1 ? 2.5 : 2.0; /* 0.01 0.02 0.05 0.1 ... */
  cairo_set_source_rgba(cr, (double)ink->red, (double)ink->green, (double)ink->blue, 0.7);
  for (int i = 0; i * step <= seconds; i++) {
    const double x = width * i * step / fmax(seconds, 1e-3);
    g_autofree char *words = g_strdup_printf(step < 0.095 ? "%.2f" : step < 0.95 ? "%.1f" : "%.0f", i * step);
    cairo_rectangle(cr, x, 0, 1, 3);
    cairo_fill(cr);
    if (x < width - 30.0)
      draw_letters(self, cr, words, x + 3.0, 0.5 * height + 1.0, 0.0);
  }
  draw_letters(self, cr, "s", width, 0.5 * height + 1.0, 1.0);
}

/* how far the two tongues are apart, mm */
static void
draw_apart(PlaSpeechSound *self, const PlaUtterance *u, const PlaSpokenPair *pair, cairo_t *cr,
           double width, double height, const GdkRGBA *ink)
{
  const double most = fmax(5.0, pair->most_mm);
  cairo_move_to(cr, 0, height);
  for (int f = 0; f < pair->n; f++)
    cairo_line_to(cr, width * pla_spoken_time(u->spoken, f) / u->seconds,
                  height - (height - 4.0) * pair->apart_mm[f] / most);
  cairo_line_to(cr, width * pla_spoken_time(u->spoken, pair->n - 1) / u->seconds, height);
  cairo_close_path(cr);
  cairo_set_source_rgba(cr, 0.93, 0.55, 0.15, 0.6);
  cairo_fill(cr);
  g_autofree char *words = g_strdup_printf(_("Apart: %.1f mm on average"), pair->mean_mm);
  gdk_cairo_set_source_rgba(cr, ink);
  draw_letters(self, cr, words, 4.0, 9.0, 0.0);
}

static void
draw_spectrum(PlaSpeechSound *self, const PlaUtterance *u, cairo_t *cr, double width, double height)
{
  if (self->spectrum_of != u || self->spectrum_dark != is_dark()) {
    g_clear_pointer(&self->spectrum, cairo_surface_destroy);
    self->spectrum = pla_spectrogram_image(&u->spectrogram, is_dark());
    self->spectrum_of = u;
    self->spectrum_dark = is_dark();
  }
  const double covered = u->spectrogram.column_s * u->spectrogram.n_columns / u->seconds;
  /* up to 5.5 kHz: what is above says little about the tongue */
  const double shown = 5500.0 / 8000.0;
  cairo_save(cr);
  cairo_rectangle(cr, 0, 0, width, height);
  cairo_clip(cr);
  cairo_translate(cr, 0, -height * (1.0 / shown - 1.0));
  cairo_scale(cr, width * covered / cairo_image_surface_get_width(self->spectrum),
              height / shown / PLA_SPECTRUM_BINS);
  cairo_set_source_surface(cr, self->spectrum, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_BILINEAR);
  cairo_paint(cr);
  cairo_restore(cr);
  /* formants of the tongue that was found, for a tract of the speaker's size, over those in the sound */
  for (int f = 0; u->spoken && f < u->spoken->n_frames; f++)
    for (int k = 0; k < 3; k++) {
      const double hz = u->spoken->size * (double)u->spoken->formant_hz[f * PLA_FORMANTS + k];
      if (isnan(hz) || hz > 5500.0)
        continue;
      cairo_rectangle(cr, width * pla_spoken_time(u->spoken, f) / u->seconds - 1.0,
                      height * (1.0 - hz / 5500.0) - 1.0, 2.0, 2.0);
    }
  cairo_set_source_rgba(cr, 0.93, 0.35, 0.2, 0.8);
  cairo_fill(cr);
}

static void
draw_still(PlaSpeechSound *self, const PlaUtterance *u, cairo_t *cr, double w, double h)
{
  const double width = w - LEFT - RIGHT;
  const Lanes l = lanes_of(self, h);
  const PlaSpokenPair *pair = pla_speech_desk_get_pair(self->desk);
  const PlaUtterance *other = pla_speech_desk_get_other(self->desk);
  GdkRGBA ink;
  gtk_style_context_get_color(gtk_widget_get_style_context(GTK_WIDGET(self)), &ink);
  const double ground = is_dark() ? 0.13 : 0.98;
  cairo_set_source_rgb(cr, ground, ground, ground);
  cairo_paint(cr);
  cairo_translate(cr, LEFT, 0);
  if (u->wave) {
    cairo_set_source_rgba(cr, (double)ink.red, (double)ink.green, (double)ink.blue, 0.75);
    draw_wave(u, cr, width * ((double)u->n_wave / u->wave_hz / u->seconds), l.spectrum - l.wave);
    cairo_save(cr);
    cairo_translate(cr, 0, l.spectrum);
    draw_spectrum(self, u, cr, width, l.phonemes - l.spectrum);
    cairo_restore(cr);
  }
  cairo_save(cr);
  cairo_translate(cr, 0, l.phonemes);
  if (l.coils > l.phonemes)
    draw_phonemes(self, u, cr, width, l.coils - l.phonemes, &ink);
  cairo_translate(cr, 0, l.coils - l.phonemes);
  if (u->spoken && l.apart - l.coils > 20.0)
    pla_spoken_draw_traces(u->spoken, pair && other ? other->spoken : NULL, pair, 0.0, u->seconds,
                           is_dark(), cr, width, l.apart - l.coils);
  cairo_translate(cr, 0, l.apart - l.coils);
  if (pair)
    draw_apart(self, u, pair, cr, width, l.axis - l.apart, &ink);
  cairo_translate(cr, 0, l.axis - l.apart);
  draw_axis(self, u->seconds, cr, width, l.end - l.axis, &ink);
  cairo_restore(cr);
}

static void
forget(PlaSpeechSound *self)
{
  g_clear_object(&self->picture);
  g_clear_pointer(&self->spectrum, cairo_surface_destroy);
  self->spectrum_of = NULL;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
pla_speech_sound_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaSpeechSound *self = PLA_SPEECH_SOUND(widget);
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
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
  gtk_snapshot_append_texture(snapshot, self->picture, &GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h));
  const Lanes l = lanes_of(self, h);
  if (pla_speech_desk_has_selection(self->desk)) {
    double from, to;
    pla_speech_desk_get_selection(self->desk, &from, &to);
    const double x0 = pla_speech_sound_x_at(self, from), x1 = pla_speech_sound_x_at(self, to);
    gtk_snapshot_append_color(snapshot, &(GdkRGBA){ 0.2f, 0.5f, 0.95f, 0.22f },
                              &GRAPHENE_RECT_INIT((float)x0, 0, (float)(x1 - x0), (float)l.axis));
  }
  const double x = pla_speech_sound_x_at(self, pla_speech_desk_get_time(self->desk));
  gtk_snapshot_append_color(snapshot, &(GdkRGBA){ 0.95f, 0.25f, 0.2f, 1.0f },
                            &GRAPHENE_RECT_INIT((float)floor(x - 0.5), 0, 2, (float)l.axis));
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSpeechSound *self)
{
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->drag_from_s = pla_speech_sound_time_at(self, x);
  pla_speech_desk_set_time(self->desk, self->drag_from_s);
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSpeechSound *self)
{
  double x, y;
  gtk_gesture_drag_get_start_point(gesture, &x, &y);
  const double to = pla_speech_sound_time_at(self, x + dx);
  if (fabs(dx) > 4.0)
    pla_speech_desk_select(self->desk, self->drag_from_s, to);
  pla_speech_desk_set_time(self->desk, fabs(dx) > 4.0 ? fmin(self->drag_from_s, to) : to);
}

static void
on_pressed(GtkGestureClick *gesture, int n, double x, double y, PlaSpeechSound *self)
{
  if (n == 2)
    pla_speech_desk_select(self->desk, 0.0, 0.0);
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaSpeechSound *self)
{
  const double now = pla_speech_desk_get_time(self->desk);
  switch (keyval) {
  case GDK_KEY_space:
    pla_speech_desk_set_playing(self->desk, !pla_speech_desk_get_playing(self->desk));
    return TRUE;
  case GDK_KEY_Left:
    pla_speech_desk_set_time(self->desk, now - 0.01);
    return TRUE;
  case GDK_KEY_Right:
    pla_speech_desk_set_time(self->desk, now + 0.01);
    return TRUE;
  case GDK_KEY_Home:
    pla_speech_desk_set_time(self->desk, 0.0);
    return TRUE;
  case GDK_KEY_End:
    pla_speech_desk_set_time(self->desk, pla_speech_desk_get_seconds(self->desk));
    return TRUE;
  default:
    return FALSE;
  }
}

static void
pla_speech_sound_dispose(GObject *object)
{
  PlaSpeechSound *self = PLA_SPEECH_SOUND(object);
  g_clear_object(&self->picture);
  g_clear_pointer(&self->spectrum, cairo_surface_destroy);
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
  name_widget(GTK_WIDGET(self), _("The sound over time"));
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
}

GtkWidget *
pla_speech_sound_new(PlaDocument *document)
{
  PlaSpeechSound *self = g_object_new(PLA_TYPE_SPEECH_SOUND, NULL);
  self->desk = pla_speech_desk_get(document);
  g_signal_connect_object(self->desk, "changed", G_CALLBACK(forget), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(self->desk, "moved", G_CALLBACK(gtk_widget_queue_draw), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(adw_style_manager_get_default(), "notify::dark", G_CALLBACK(forget), self,
                          G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}

/* ------------------------------------------------------------------- the strip */

static const double speeds[] = { 1.0, 0.5, 0.25 };

typedef struct {
  PlaSpeechDesk *desk;
  GtkWidget *play, *loop, *speed, *time, *rate;
  gboolean following;
  gint64 counted_us; /* pictures since then */
  int pictures;
} Strip;

static void
on_strip_play(Strip *strip)
{
  pla_speech_desk_set_playing(strip->desk, !pla_speech_desk_get_playing(strip->desk));
}

static void
on_strip_loop(Strip *strip)
{
  if (!strip->following)
    pla_speech_desk_set_loop(strip->desk,
                             gtk_toggle_button_get_active(GTK_TOGGLE_BUTTON(strip->loop)));
}

static void
on_strip_speed(Strip *strip)
{
  const guint i = gtk_drop_down_get_selected(GTK_DROP_DOWN(strip->speed));
  if (!strip->following && i < G_N_ELEMENTS(speeds))
    pla_speech_desk_set_speed(strip->desk, speeds[i]);
}

static void
update_strip(Strip *strip)
{
  const gboolean playing = pla_speech_desk_get_playing(strip->desk);
  const char *name = playing ? _("Pause") : _("Play");
  strip->following = TRUE;
  gtk_button_set_icon_name(GTK_BUTTON(strip->play), playing ? "media-playback-pause-symbolic"
                                                            : "media-playback-start-symbolic");
  gtk_widget_set_tooltip_text(strip->play, name);
  name_widget(strip->play, name);
  gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(strip->loop), pla_speech_desk_get_loop(strip->desk));
  for (guint i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (speeds[i] == pla_speech_desk_get_speed(strip->desk))
      gtk_drop_down_set_selected(GTK_DROP_DOWN(strip->speed), i);
  strip->following = FALSE;
  const gboolean some = pla_speech_desk_get_seconds(strip->desk) > 0.0;
  gtk_widget_set_sensitive(strip->play, some);
  strip->counted_us = g_get_monotonic_time();
  strip->pictures = 0;
  const char *silence = pla_speech_desk_get_silence(strip->desk);
  g_autofree char *text = silence ? g_strdup_printf(_("Without sound: %s"), silence) : NULL;
  gtk_label_set_label(GTK_LABEL(strip->rate), text ? text : "");
  gtk_widget_set_tooltip_text(strip->rate, text);
}

static void
on_strip_moved(Strip *strip)
{
  g_autofree char *text = g_strdup_printf(_("%.2f of %.2f s"), pla_speech_desk_get_time(strip->desk),
                                          pla_speech_desk_get_seconds(strip->desk));
  gtk_label_set_label(GTK_LABEL(strip->time), text);
  const double seconds = (double)(g_get_monotonic_time() - strip->counted_us) / G_USEC_PER_SEC;
  if (!pla_speech_desk_get_playing(strip->desk) || pla_speech_desk_get_silence(strip->desk) ||
      seconds < 1.0)
    return;
  g_autofree char *rate = g_strdup_printf(_("%.0f pictures/s"), strip->pictures / seconds);
  gtk_label_set_label(GTK_LABEL(strip->rate), rate);
  strip->counted_us = g_get_monotonic_time();
  strip->pictures = 0;
}

static void
on_painted(Strip *strip)
{
  strip->pictures++;
}

static void
on_strip_realize(GtkWidget *box, Strip *strip)
{
  GClosure *painted = g_cclosure_new_swap(G_CALLBACK(on_painted), strip, NULL);
  g_object_watch_closure(G_OBJECT(box), painted);
  g_signal_connect_closure(gtk_widget_get_frame_clock(box), "after-paint", painted, FALSE);
}

GtkWidget *
pla_speech_strip_new(PlaDocument *document)
{
  Strip *strip = g_new0(Strip, 1);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 9);
  strip->desk = pla_speech_desk_get(document);
  strip->play = gtk_button_new_from_icon_name("media-playback-start-symbolic");
  strip->loop = g_object_new(GTK_TYPE_TOGGLE_BUTTON, "icon-name", "media-playlist-repeat-symbolic",
                             "tooltip-text", _("Play again and again"), NULL);
  strip->speed = gtk_drop_down_new_from_strings(
      (const char *const[]){ _("As spoken"), _("Half as fast"), _("A quarter as fast"), NULL });
  strip->time = gtk_label_new(NULL);
  strip->rate = gtk_label_new(NULL);
  name_widget(strip->loop, _("Play again and again"));
  name_widget(strip->speed, _("Pace"));
  gtk_widget_add_css_class(strip->play, "flat");
  gtk_widget_add_css_class(strip->loop, "flat");
  gtk_widget_add_css_class(strip->time, "numeric");
  gtk_widget_add_css_class(strip->rate, "dim-label");
  gtk_widget_add_css_class(strip->rate, "caption");
  gtk_label_set_ellipsize(GTK_LABEL(strip->rate), PANGO_ELLIPSIZE_END);
  gtk_label_set_xalign(GTK_LABEL(strip->rate), 1.0f);
  gtk_widget_set_hexpand(strip->rate, TRUE);
  gtk_widget_add_css_class(bar, "timeline");
  GtkWidget *const parts[] = { strip->play, strip->loop, strip->speed, strip->time, strip->rate };
  for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(bar), parts[i]);
  gtk_box_append(GTK_BOX(box), pla_speech_sound_new(document));
  gtk_box_append(GTK_BOX(box), bar);
  g_object_set_data_full(G_OBJECT(box), "strip", strip, g_free);
  follow(G_OBJECT(box), strip->play, "clicked", G_CALLBACK(on_strip_play), strip);
  follow(G_OBJECT(box), strip->loop, "toggled", G_CALLBACK(on_strip_loop), strip);
  follow(G_OBJECT(box), strip->speed, "notify::selected", G_CALLBACK(on_strip_speed), strip);
  follow(G_OBJECT(box), strip->desk, "state", G_CALLBACK(update_strip), strip);
  follow(G_OBJECT(box), strip->desk, "changed", G_CALLBACK(update_strip), strip);
  follow(G_OBJECT(box), strip->desk, "moved", G_CALLBACK(on_strip_moved), strip);
  g_signal_connect(box, "realize", G_CALLBACK(on_strip_realize), strip);
  update_strip(strip);
  on_strip_moved(strip);
  return box;
}

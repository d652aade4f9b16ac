/* Drawing areas for section, contacts and areas, and the strip with the transport buttons. */
#include "ui/speech/speech-view.h"

#include "app/base/quantity.h"
#include "app/speech/spoken-picture.h"
#include "ui/speech/speech-playback.h"
#include "ui/speech/speech-sound.h"

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
  PlaSpeechPlayback *playback;
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
  const PlaUtterance *a = pla_speech_playback_get_shown(look->playback),
                     *b = pla_speech_playback_get_other(look->playback);
  if (!a || !a->spoken)
    return FALSE;
  *spoken = a->spoken;
  *frame = pla_spoken_frame_at(a->spoken, pla_speech_playback_get_time(look->playback));
  *how = (PlaSpokenLook){ .dark = is_dark(),
                          .rest = !(b && b->spoken),
                          .other = b ? b->spoken : NULL,
                          .other_frame = pla_speech_playback_get_other_frame(look->playback),
                          .name = b && b->spoken ? a->name : NULL,
                          .other_name = b ? b->name : NULL };
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
  if (!how.other || !pla_speech_playback_get_beside(look->playback)) {
    pla_spoken_draw_sagittal(spoken, frame, look->bones, &how, cr, width, height);
    return;
  }
  /* one beside the other */
  const PlaSpoken *other = how.other;
  const int half = width / 2;
  how.other = NULL;
  pla_spoken_draw_sagittal(spoken, frame, look->bones, &how, cr, half, height);
  cairo_translate(cr, half, 0);
  how.name = how.other_name;
  how.second = true;
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
  look->playback = pla_speech_playback_get(document);
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
  follow(G_OBJECT(grid), look->playback, "moved", G_CALLBACK(redraw_look), look);
  follow(G_OBJECT(grid), look->playback, "state", G_CALLBACK(redraw_look), look);
  follow(G_OBJECT(grid), look->playback, "changed", G_CALLBACK(on_look_changed), look);
  follow(G_OBJECT(grid), adw_style_manager_get_default(), "notify::dark", G_CALLBACK(redraw_look),
         look);
  return grid;
}

/* ------------------------------------------------------------------- the strip */

static const double speeds[] = { 1.0, 0.5, 0.25 };

typedef struct {
  PlaSpeechPlayback *playback;
  GtkWidget *play, *loop, *speed, *time, *rate, *nearer, *farther, *stretch, *bar;
  PlaSpeechSound *sound;
  gboolean following;
  gint64 counted_us; /* pictures since then */
  int pictures;
} Strip;

static void
on_strip_play(Strip *strip)
{
  pla_speech_playback_set_playing(strip->playback,
                                  !pla_speech_playback_get_playing(strip->playback));
}

static void
on_strip_loop(Strip *strip)
{
  if (!strip->following)
    pla_speech_playback_set_loop(strip->playback,
                                 gtk_toggle_button_get_active(GTK_TOGGLE_BUTTON(strip->loop)));
}

static void
on_strip_speed(Strip *strip)
{
  const guint i = gtk_drop_down_get_selected(GTK_DROP_DOWN(strip->speed));
  if (!strip->following && i < G_N_ELEMENTS(speeds))
    pla_speech_playback_set_speed(strip->playback, speeds[i]);
}

static void
on_strip_nearer(Strip *strip)
{
  pla_speech_sound_zoom(strip->sound, 2.0, pla_speech_playback_get_time(strip->playback));
}

static void
on_strip_farther(Strip *strip)
{
  pla_speech_sound_zoom(strip->sound, 0.5, pla_speech_playback_get_time(strip->playback));
}

static void
on_strip_stretch(Strip *strip)
{
  pla_speech_sound_zoom_selection(strip->sound);
}

/* nothing to scroll where all is seen */
static void
on_strip_along(Strip *strip)
{
  GtkAdjustment *along = pla_speech_sound_get_adjustment(strip->sound);
  const gboolean whole =
      gtk_adjustment_get_page_size(along) >= gtk_adjustment_get_upper(along) - 1e-9;
  gtk_widget_set_visible(strip->bar, !whole);
  gtk_widget_set_sensitive(strip->farther, !whole);
}

static void
update_strip(Strip *strip)
{
  const gboolean playing = pla_speech_playback_get_playing(strip->playback);
  const char *name = playing ? _("Pause") : _("Play");
  strip->following = TRUE;
  gtk_button_set_icon_name(GTK_BUTTON(strip->play), playing ? "media-playback-pause-symbolic"
                                                            : "media-playback-start-symbolic");
  gtk_widget_set_tooltip_text(strip->play, name);
  name_widget(strip->play, name);
  gtk_toggle_button_set_active(GTK_TOGGLE_BUTTON(strip->loop),
                               pla_speech_playback_get_loop(strip->playback));
  for (guint i = 0; i < G_N_ELEMENTS(speeds); i++)
    if (speeds[i] == pla_speech_playback_get_speed(strip->playback))
      gtk_drop_down_set_selected(GTK_DROP_DOWN(strip->speed), i);
  strip->following = FALSE;
  const gboolean some = pla_speech_playback_get_seconds(strip->playback) > 0.0;
  gtk_widget_set_sensitive(strip->play, some);
  gtk_widget_set_sensitive(strip->nearer, some);
  gtk_widget_set_sensitive(strip->stretch, some);
  strip->counted_us = g_get_monotonic_time();
  strip->pictures = 0;
  const char *silence = pla_speech_playback_get_silence(strip->playback);
  g_autofree char *text = silence ? g_strdup_printf(_("Without sound: %s"), silence) : NULL;
  gtk_label_set_label(GTK_LABEL(strip->rate), text ? text : "");
  gtk_widget_set_tooltip_text(strip->rate, text);
}

static void
on_strip_moved(Strip *strip)
{
  g_autofree char *now =
      pla_quantity_number(PLA_QUANTITY_TIME, pla_speech_playback_get_time(strip->playback),
                          PLA_UNIT_S);
  g_autofree char *end =
      pla_quantity_text(PLA_QUANTITY_TIME, pla_speech_playback_get_seconds(strip->playback),
                        PLA_UNIT_S);
  g_autofree char *text = g_strdup_printf(_("%s of %s"), now, end);
  gtk_label_set_label(GTK_LABEL(strip->time), text);
  const double seconds = (double)(g_get_monotonic_time() - strip->counted_us) / G_USEC_PER_SEC;
  if (!pla_speech_playback_get_playing(strip->playback) ||
      pla_speech_playback_get_silence(strip->playback) || seconds < 1.0)
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

static GtkWidget *
strip_button(const char *icon, const char *name)
{
  GtkWidget *button = gtk_button_new_from_icon_name(icon);
  gtk_widget_set_tooltip_text(button, name);
  gtk_widget_add_css_class(button, "flat");
  name_widget(button, name);
  return button;
}

GtkWidget *
pla_speech_strip_new(PlaDocument *document)
{
  Strip *strip = g_new0(Strip, 1);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0),
            *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 9);
  strip->playback = pla_speech_playback_get(document);
  strip->sound = PLA_SPEECH_SOUND(pla_speech_sound_new(document));
  strip->bar =
      gtk_scrollbar_new(GTK_ORIENTATION_HORIZONTAL, pla_speech_sound_get_adjustment(strip->sound));
  strip->play = gtk_button_new_from_icon_name("media-playback-start-symbolic");
  strip->nearer = strip_button("zoom-in-symbolic", _("Nearer: less of the sound (+)"));
  strip->farther = strip_button("zoom-out-symbolic", _("Farther: more of the sound (-)"));
  strip->stretch = strip_button("zoom-fit-best-symbolic", _("The selected stretch, or all (Z)"));
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
  GtkWidget *const parts[] = { strip->play, strip->loop,    strip->speed,  strip->time,
                               strip->rate, strip->farther, strip->nearer, strip->stretch };
  for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(bar), parts[i]);
  gtk_box_append(GTK_BOX(box), GTK_WIDGET(strip->sound));
  gtk_box_append(GTK_BOX(box), strip->bar);
  gtk_box_append(GTK_BOX(box), bar);
  g_object_set_data_full(G_OBJECT(box), "strip", strip, g_free);
  follow(G_OBJECT(box), strip->play, "clicked", G_CALLBACK(on_strip_play), strip);
  follow(G_OBJECT(box), strip->loop, "toggled", G_CALLBACK(on_strip_loop), strip);
  follow(G_OBJECT(box), strip->speed, "notify::selected", G_CALLBACK(on_strip_speed), strip);
  follow(G_OBJECT(box), strip->nearer, "clicked", G_CALLBACK(on_strip_nearer), strip);
  follow(G_OBJECT(box), strip->farther, "clicked", G_CALLBACK(on_strip_farther), strip);
  follow(G_OBJECT(box), strip->stretch, "clicked", G_CALLBACK(on_strip_stretch), strip);
  follow(G_OBJECT(box), pla_speech_sound_get_adjustment(strip->sound), "changed",
         G_CALLBACK(on_strip_along), strip);
  follow(G_OBJECT(box), strip->playback, "state", G_CALLBACK(update_strip), strip);
  follow(G_OBJECT(box), strip->playback, "changed", G_CALLBACK(update_strip), strip);
  follow(G_OBJECT(box), strip->playback, "moved", G_CALLBACK(on_strip_moved), strip);
  g_signal_connect(box, "realize", G_CALLBACK(on_strip_realize), strip);
  update_strip(strip);
  on_strip_moved(strip);
  on_strip_along(strip);
  return box;
}

/* Draws the phonemes as blocks, finds the boundary under the pointer, and emits a request when
 * it is dragged. */
#include "ui/widgets/phoneme-lane.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

enum { HEIGHT = 44, GRIP = 6 };

struct _PlaPhonemeLane {
  GtkWidget parent_instance;
  PlaPhones phones;
  int selected, dragged; /* -1: none */
  double cursor;
};

enum { BOUNDARY_MOVED, SELECTED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaPhonemeLane, pla_phoneme_lane, GTK_TYPE_WIDGET)

static double
begin_of(const PlaPhonemeLane *self)
{
  return self->phones.n > 0 ? self->phones.phone[0].start_s : 0.0;
}

static double
length_of(const PlaPhonemeLane *self)
{
  return self->phones.n > 0
             ? fmax(self->phones.phone[self->phones.n - 1].end_s - begin_of(self), 1e-3)
             : 1.0;
}

double
pla_phoneme_lane_time_at(PlaPhonemeLane *self, double x)
{
  return begin_of(self) + length_of(self) * x / MAX(gtk_widget_get_width(GTK_WIDGET(self)), 1);
}

double
pla_phoneme_lane_place_of(PlaPhonemeLane *self, double time_s)
{
  return (time_s - begin_of(self)) / length_of(self) * gtk_widget_get_width(GTK_WIDGET(self));
}

static int
phoneme_at(PlaPhonemeLane *self, double x)
{
  const double t = pla_phoneme_lane_time_at(self, x);
  for (int i = 0; i < self->phones.n; i++)
    if (t >= self->phones.phone[i].start_s && t < self->phones.phone[i].end_s)
      return i;
  return -1;
}

/* the inner boundary under the pointer, as the phoneme that it ends; or -1 */
static int
boundary_at(PlaPhonemeLane *self, double x)
{
  for (int i = 0; i + 1 < self->phones.n; i++)
    if (fabs(pla_phoneme_lane_place_of(self, self->phones.phone[i].end_s) - x) <= GRIP)
      return i;
  return -1;
}

static void
describe(PlaPhonemeLane *self)
{
  g_autoptr(GString) text = g_string_new(_("Phonemes:"));
  for (int i = 0; i < self->phones.n; i++)
    g_string_append_printf(text, " %s",
                           *self->phones.phone[i].label ? self->phones.phone[i].label : "–");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, text->str,
                                 -1);
}

void
pla_phoneme_lane_set(PlaPhonemeLane *self, const PlaPhones *phones)
{
  PlaPhones copy = { 0 };
  for (int i = 0; i < phones->n; i++)
    pla_phones_add(&copy, phones->phone[i].start_s, phones->phone[i].end_s, phones->phone[i].label,
                   NULL);
  pla_phones_clear(&self->phones);
  self->phones = copy;
  if (self->selected >= copy.n)
    pla_phoneme_lane_select(self, copy.n > 0 ? 0 : -1);
  describe(self);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

const PlaPhones *
pla_phoneme_lane_get(PlaPhonemeLane *self)
{
  return &self->phones;
}

void
pla_phoneme_lane_set_cursor(PlaPhonemeLane *self, double time_s)
{
  self->cursor = time_s;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

int
pla_phoneme_lane_get_selected(PlaPhonemeLane *self)
{
  return self->selected;
}

void
pla_phoneme_lane_select(PlaPhonemeLane *self, int phoneme)
{
  self->selected = phoneme;
  gtk_widget_queue_draw(GTK_WIDGET(self));
  g_signal_emit(self, signals[SELECTED], 0, phoneme);
}

static void
pla_phoneme_lane_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaPhonemeLane *self = PLA_PHONEME_LANE(widget);
  const double w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  const gboolean dark = adw_style_manager_get_dark(adw_style_manager_get_default());
  const double ink = dark ? 0.92 : 0.12;
  cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h));
  for (int i = 0; i < self->phones.n; i++) {
    const PlaPhone *p = &self->phones.phone[i];
    const double from = pla_phoneme_lane_place_of(self, p->start_s),
                 to = pla_phoneme_lane_place_of(self, p->end_s);
    const gboolean pause = pla_phone_is_pause(p->label);
    if (i == self->selected)
      cairo_set_source_rgba(cr, 0.21, 0.52, 0.89, 0.65);
    else
      cairo_set_source_rgba(cr, ink, ink, ink, pause ? 0.04 : i % 2 ? 0.16 : 0.10);
    cairo_rectangle(cr, from, 0.0, to - from, h);
    cairo_fill(cr);
    g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(widget, p->label);
    int tw, th;
    pango_layout_get_pixel_size(layout, &tw, &th);
    cairo_set_source_rgb(cr, ink, ink, ink);
    if (tw < to - from) {
      cairo_move_to(cr, 0.5 * (from + to - tw), 0.5 * (h - th));
      pango_cairo_show_layout(cr, layout);
    }
    if (i > 0) {
      cairo_set_source_rgba(cr, ink, ink, ink, 0.6);
      cairo_set_line_width(cr, 1.0);
      cairo_move_to(cr, round(from) + 0.5, 0.0);
      cairo_rel_line_to(cr, 0.0, h);
      cairo_stroke(cr);
    }
  }
  if (isfinite(self->cursor)) {
    cairo_set_source_rgb(cr, 0.95, 0.45, 0.15);
    cairo_set_line_width(cr, 2.0);
    cairo_move_to(cr, pla_phoneme_lane_place_of(self, self->cursor), 0.0);
    cairo_rel_line_to(cr, 0.0, h);
    cairo_stroke(cr);
  }
  cairo_destroy(cr);
}

static void
pla_phoneme_lane_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                         int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT : 120;
  *natural = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT : 300;
}

static void
on_drag_begin(PlaPhonemeLane *self, double x, double y, GtkGesture *gesture)
{
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->dragged = boundary_at(self, x);
  if (self->dragged < 0)
    pla_phoneme_lane_select(self, phoneme_at(self, x));
  gtk_gesture_set_state(gesture, GTK_EVENT_SEQUENCE_CLAIMED);
}

static void
on_drag_update(PlaPhonemeLane *self, double dx, double dy, GtkGestureDrag *gesture)
{
  double x, y;
  gtk_gesture_drag_get_start_point(gesture, &x, &y);
  if (self->dragged >= 0)
    g_signal_emit(self, signals[BOUNDARY_MOVED], 0, self->dragged,
                  pla_phoneme_lane_time_at(self, x + dx));
}

static void
on_motion(PlaPhonemeLane *self, double x)
{
  gtk_widget_set_cursor_from_name(GTK_WIDGET(self),
                                  boundary_at(self, x) >= 0 ? "col-resize" : NULL);
}

static gboolean
on_key(PlaPhonemeLane *self, guint keyval, guint code, GdkModifierType state)
{
  const int way = keyval == GDK_KEY_Left ? -1 : keyval == GDK_KEY_Right ? 1 : 0;
  if (way == 0 || self->phones.n == 0)
    return FALSE;
  if (!(state & GDK_SHIFT_MASK))
    pla_phoneme_lane_select(self, CLAMP(self->selected + way, 0, self->phones.n - 1));
  else if (self->selected >= 0 && self->selected + 1 < self->phones.n)
    g_signal_emit(self, signals[BOUNDARY_MOVED], 0, self->selected,
                  self->phones.phone[self->selected].end_s + 0.01 * way);
  return TRUE;
}

static void
pla_phoneme_lane_finalize(GObject *object)
{
  pla_phones_clear(&PLA_PHONEME_LANE(object)->phones);
  G_OBJECT_CLASS(pla_phoneme_lane_parent_class)->finalize(object);
}

static void
pla_phoneme_lane_class_init(PlaPhonemeLaneClass *klass)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  G_OBJECT_CLASS(klass)->finalize = pla_phoneme_lane_finalize;
  widget->snapshot = pla_phoneme_lane_snapshot;
  widget->measure = pla_phoneme_lane_measure;
  signals[BOUNDARY_MOVED] =
      g_signal_new("boundary-moved", PLA_TYPE_PHONEME_LANE, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                   G_TYPE_NONE, 2, G_TYPE_INT, G_TYPE_DOUBLE);
  signals[SELECTED] = g_signal_new("selected", PLA_TYPE_PHONEME_LANE, G_SIGNAL_RUN_LAST, 0, NULL,
                                   NULL, NULL, G_TYPE_NONE, 1, G_TYPE_INT);
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
pla_phoneme_lane_init(PlaPhonemeLane *self)
{
  self->selected = self->dragged = -1;
  self->cursor = NAN;
  gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
  GtkGesture *drag = gtk_gesture_drag_new();
  g_signal_connect_swapped(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect_swapped(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drag));
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect_swapped(motion, "motion", G_CALLBACK(on_motion), self);
  gtk_widget_add_controller(GTK_WIDGET(self), motion);
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect_swapped(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(GTK_WIDGET(self), key);
  g_signal_connect_object(adw_style_manager_get_default(), "notify::dark",
                          G_CALLBACK(gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  describe(self);
}

GtkWidget *
pla_phoneme_lane_new(void)
{
  return g_object_new(PLA_TYPE_PHONEME_LANE, NULL);
}

/* Zooms and pans the range of a plot, and marks the sample nearest to the pointer. */
#include "ui/widgets/plot-area.h"

#include "app/show/plot-ticks.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

struct _PlaPlotView {
  GtkWidget parent_instance;
  PlaPlot *plot;
  PlaPlotRange range, start;
  double x, y;   /* of the pointer; NaN: not here */
  double cursor; /* on the x axis; NaN: none */

  enum { IDLE, ZOOMING, PANNING } drag;
  double from_x, to_x; /* the stretch being chosen */
};

G_DEFINE_FINAL_TYPE(PlaPlotView, pla_plot_view, GTK_TYPE_WIDGET)

static PlaPlotBox
box_of(PlaPlotView *self)
{
  return pla_plot_box(gtk_widget_get_width(GTK_WIDGET(self)),
                      gtk_widget_get_height(GTK_WIDGET(self)));
}

/* the value on the x axis below a place of the widget */
static double
value_at(PlaPlotView *self, double px)
{
  const PlaPlotBox box = box_of(self);
  return self->range.x0 + (self->range.x1 - self->range.x0) * (px - box.x) / box.width;
}

void
pla_plot_view_fit(PlaPlotView *self)
{
  if (self->plot)
    self->range = pla_plot_fit(self->plot);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

void
pla_plot_view_set_cursor(PlaPlotView *self, double x)
{
  self->cursor = x;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

void
pla_plot_view_take(PlaPlotView *self, PlaPlot *plot)
{
  pla_plot_free(self->plot);
  self->plot = plot;
  self->drag = IDLE;
  pla_plot_view_fit(self);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 plot ? plot->title : _("Empty plot"), -1);
}

const PlaPlot *
pla_plot_view_get_plot(PlaPlotView *self)
{
  return self->plot;
}

const PlaPlotRange *
pla_plot_view_get_range(PlaPlotView *self)
{
  return &self->range;
}

static gboolean
nearest(PlaPlotView *self, double x, double y, int *series, int *sample)
{
  return self->plot &&
         pla_plot_nearest(self->plot, &self->range, gtk_widget_get_width(GTK_WIDGET(self)),
                          gtk_widget_get_height(GTK_WIDGET(self)), x, y, series, sample);
}

char *
pla_plot_view_describe(PlaPlotView *self, double x, double y)
{
  int s, i;
  if (!nearest(self, x, y, &s, &i))
    return NULL;
  const PlaSeries *series = &self->plot->series[s];
  return g_strdup_printf("%s: %.6g, %.6g", series->name, series->x[i], series->y[i]);
}

/* ------------------------------------------------------------------- drawing */

/* the nearest value: a ring around it, and a label that stays inside the widget */
static void
draw_pointer(PlaPlotView *self, cairo_t *cr, int width, int height, gboolean dark)
{
  int s, i;
  if (isnan(self->x) || self->drag != IDLE || !nearest(self, self->x, self->y, &s, &i))
    return;
  double px, py, rgb[3];
  pla_plot_place(self->plot, &self->range, width, height, s, i, &px, &py);
  pla_series_rgb(s, dark, rgb);
  cairo_set_source_rgb(cr, rgb[0], rgb[1], rgb[2]);
  cairo_set_line_width(cr, 2.0);
  cairo_arc(cr, px, py, 5.0, 0.0, 2.0 * G_PI);
  cairo_stroke(cr);
  g_autofree char *text = pla_plot_view_describe(self, self->x, self->y);
  g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(self), text);
  int w, h;
  pango_layout_get_pixel_size(layout, &w, &h);
  double x = CLAMP(px + 10.0, 2.0, MAX(width - w - 14.0, 2.0));
  double y = CLAMP(py - h - 14.0, 2.0, MAX(height - h - 10.0, 2.0));
  const double ground = dark ? 0.12 : 1.0;
  cairo_set_source_rgba(cr, ground, ground, ground, 0.9);
  cairo_rectangle(cr, x, y, w + 12.0, h + 6.0);
  cairo_fill(cr);
  cairo_set_source_rgb(cr, 1.0 - ground, 1.0 - ground, 1.0 - ground);
  cairo_move_to(cr, x + 6.0, y + 3.0);
  pango_cairo_show_layout(cr, layout);
}

static void
draw_cursor(PlaPlotView *self, cairo_t *cr, gboolean dark)
{
  const PlaPlotBox box = box_of(self);
  const double share = pla_range_share(self->range.x0, self->range.x1, self->cursor);
  if (!(share >= 0.0 && share <= 1.0))
    return;
  const double ink = dark ? 0.9 : 0.2;
  cairo_set_source_rgba(cr, ink, ink, ink, 0.7);
  cairo_set_line_width(cr, 1.5);
  cairo_move_to(cr, box.x + share * box.width, box.y);
  cairo_rel_line_to(cr, 0.0, box.height);
  cairo_stroke(cr);
}

static void
pla_plot_view_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaPlotView *self = PLA_PLOT_VIEW(widget);
  const int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  const gboolean dark = adw_style_manager_get_dark(adw_style_manager_get_default());
  cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h));
  if (self->plot) {
    pla_plot_draw(self->plot, &self->range, cr, w, h, dark);
    draw_cursor(self, cr, dark);
    draw_pointer(self, cr, w, h, dark);
  }
  if (self->drag == ZOOMING) {
    const PlaPlotBox box = box_of(self);
    cairo_set_source_rgba(cr, 0.4, 0.6, 1.0, 0.25);
    cairo_rectangle(cr, fmin(self->from_x, self->to_x), box.y, fabs(self->to_x - self->from_x),
                    box.height);
    cairo_fill(cr);
  }
  cairo_destroy(cr);
}

/* --------------------------------------------------------------------- input */

static void
zoom(PlaPlotView *self, double at, double factor)
{
  PlaPlotRange range = self->range;
  range.x0 = at + (range.x0 - at) / factor;
  range.x1 = at + (range.x1 - at) / factor;
  /* beyond, numbers at the axis have no more digits */
  if (!pla_plot_range_is_usable(&range))
    return;
  self->range = range;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
pan(PlaPlotView *self, double share)
{
  const double shift = share * (self->range.x1 - self->range.x0);
  PlaPlotRange range = self->range;
  range.x0 += shift;
  range.x1 += shift;
  if (!pla_plot_range_is_usable(&range))
    return;
  self->range = range;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaPlotView *self)
{
  guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->drag = button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK) ? PANNING : ZOOMING;
  self->from_x = self->to_x = x;
  self->start = self->range;
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaPlotView *self)
{
  if (self->drag == PANNING) {
    self->range = self->start;
    pan(self, -dx / box_of(self).width);
  } else if (self->drag == ZOOMING) {
    self->to_x = self->from_x + dx;
    gtk_widget_queue_draw(GTK_WIDGET(self));
  }
}

static void
on_drag_end(GtkGestureDrag *gesture, double dx, double dy, PlaPlotView *self)
{
  const gboolean zooming = self->drag == ZOOMING;
  self->drag = IDLE;
  /* less than this is a click */
  if (zooming && fabs(dx) > 6.0) {
    double a = value_at(self, self->from_x), b = value_at(self, self->from_x + dx);
    PlaPlotRange range = self->range;
    range.x0 = fmin(a, b);
    range.x1 = fmax(a, b);
    if (pla_plot_range_is_usable(&range))
      self->range = range;
  }
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_pressed(GtkGestureClick *click, int n_press, double x, double y, PlaPlotView *self)
{
  if (n_press == 2)
    pla_plot_view_fit(self);
}

static gboolean
on_scroll(GtkEventControllerScroll *scroll, double dx, double dy, PlaPlotView *self)
{
  zoom(self, isnan(self->x) ? 0.5 * (self->range.x0 + self->range.x1) : value_at(self, self->x),
       pow(1.2, -dy));
  return TRUE;
}

static void
on_motion(GtkEventControllerMotion *motion, double x, double y, PlaPlotView *self)
{
  self->x = x;
  self->y = y;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_leave(GtkEventControllerMotion *motion, PlaPlotView *self)
{
  self->x = NAN;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaPlotView *self)
{
  const double middle = 0.5 * (self->range.x0 + self->range.x1);
  switch (keyval) {
  case GDK_KEY_plus:
  case GDK_KEY_equal:
  case GDK_KEY_KP_Add:
    zoom(self, middle, 1.25);
    return TRUE;
  case GDK_KEY_minus:
  case GDK_KEY_KP_Subtract:
    zoom(self, middle, 0.8);
    return TRUE;
  case GDK_KEY_Left:
    pan(self, -0.1);
    return TRUE;
  case GDK_KEY_Right:
    pan(self, 0.1);
    return TRUE;
  case GDK_KEY_0:
  case GDK_KEY_KP_0:
    pla_plot_view_fit(self);
    return TRUE;
  default:
    return FALSE;
  }
}

/* ---------------------------------------------------------------------- type */

static void
pla_plot_view_finalize(GObject *object)
{
  pla_plot_free(PLA_PLOT_VIEW(object)->plot);
  G_OBJECT_CLASS(pla_plot_view_parent_class)->finalize(object);
}

static void
pla_plot_view_class_init(PlaPlotViewClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_plot_view_finalize;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  widget->snapshot = pla_plot_view_snapshot;
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
pla_plot_view_init(PlaPlotView *self)
{
  self->cursor = NAN;
  GtkWidget *widget = GTK_WIDGET(self);
  self->x = NAN;
  self->range = (PlaPlotRange){ 0.0, 1.0, 0.0, 1.0 };
  gtk_widget_set_focusable(widget, TRUE);
  gtk_widget_set_hexpand(widget, TRUE);
  gtk_widget_set_vexpand(widget, TRUE);
  gtk_widget_set_size_request(widget, 300, 200);
  gtk_widget_set_direction(widget, GTK_TEXT_DIR_LTR);
  GtkGesture *drag = gtk_gesture_drag_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkGesture *click = gtk_gesture_click_new();
  g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(click));
  GtkEventController *scroll =
      gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(widget, scroll);
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  g_signal_connect(motion, "leave", G_CALLBACK(on_leave), self);
  gtk_widget_add_controller(widget, motion);
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(widget, key);
  g_signal_connect_object(adw_style_manager_get_default(), "notify::dark",
                          G_CALLBACK(gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
}

GtkWidget *
pla_plot_view_new(void)
{
  PlaPlotView *self = g_object_new(PLA_TYPE_PLOT_VIEW, NULL);
  pla_plot_view_take(self, NULL);
  return GTK_WIDGET(self);
}

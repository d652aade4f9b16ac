/* Resamples its plane into a texture when the volume, the crosshair or the grey window changes,
 * draws the overlays, and handles pointer and keys. */
#include "ui/views/slice-view.h"

#include "anatomy/base/memory.h"
#include "app/base/quantity.h"
#include "app/show/overlay.h"
#include "app/show/picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _PlaSliceView {
  GtkWidget parent_instance;
  PlaDocument *document;
  PlaAxis axis;
  double zoom;         /* 1: the volume fits */
  double centre_mm[3]; /* in the middle of the picture; along the axis the cursor counts */
  GdkTexture *texture; /* of the plane below; NULL: to be made */
  PlaSlicePlane shown; /* in device pixels */

  /* a drag in progress */
  enum { IDLE, MOVING_CURSOR, PANNING, WINDOWING, PAINTING } drag;
  double start_x, start_y, start_centre[3], start_window[2];
  GArray *stroke;              /* of the brush: doubles, xyz in mm */
  double pointer_x, pointer_y; /* NAN: elsewhere */
};

enum { HOVERED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaSliceView, pla_slice_view, GTK_TYPE_WIDGET)

/* grid, colour of the plane's frame and of its line in the other planes */
static const float axis_rgb[3][3] = { { 0.95f, 0.75f, 0.30f },
                                      { 0.45f, 0.80f, 0.50f },
                                      { 0.45f, 0.65f, 1.00f } };

static const PlaVolume *
frame_volume(PlaSliceView *self)
{
  const PlaVolume *vol = pla_document_get_volume(self->document);
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  return vol ? vol : labels ? labels->volume : NULL;
}

static double
mm_per_unit(PlaSliceView *self)
{
  static const int across[3] = { 1, 0, 0 }, down[3] = { 2, 2, 1 };
  double lo[3] = { -100, -100, -100 }, hi[3] = { 100, 100, 100 };
  const PlaVolume *vol = frame_volume(self);
  if (vol)
    pla_volume_box(vol, lo, hi);
  int w = MAX(gtk_widget_get_width(GTK_WIDGET(self)), 1);
  int h = MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
  int a = across[self->axis], d = down[self->axis];
  return fmax((hi[a] - lo[a]) / w, (hi[d] - lo[d]) / h) / self->zoom;
}

static PlaSlicePlane
plane_at(PlaSliceView *self, int scale)
{
  double centre[3], cursor[3];
  memcpy(centre, self->centre_mm, sizeof centre);
  pla_document_get_cursor(self->document, cursor);
  centre[self->axis] = cursor[self->axis];
  return pla_slice_plane(self->axis, centre, mm_per_unit(self) / scale,
                         MAX(gtk_widget_get_width(GTK_WIDGET(self)) * scale, 1),
                         MAX(gtk_widget_get_height(GTK_WIDGET(self)) * scale, 1),
                         pla_document_get_radiological(self->document));
}

PlaSlicePlane
pla_slice_view_get_plane(PlaSliceView *self)
{
  return plane_at(self, 1);
}

static void
refresh(PlaSliceView *self)
{
  g_clear_object(&self->texture);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_cursor(PlaSliceView *self)
{
  PlaSlicePlane plane = plane_at(self, gtk_widget_get_scale_factor(GTK_WIDGET(self)));
  if (memcmp(&plane, &self->shown, sizeof plane) != 0)
    refresh(self);
  else
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

void
pla_slice_view_fit(PlaSliceView *self)
{
  self->zoom = 1.0;
  const PlaVolume *vol = frame_volume(self);
  if (vol) {
    double lo[3], hi[3];
    pla_volume_box(vol, lo, hi);
    for (int d = 0; d < 3; d++)
      self->centre_mm[d] = 0.5 * (lo[d] + hi[d]);
  }
  refresh(self);
}

/* ----------------------------------------------------------------- drawing */

static void
make_texture(PlaSliceView *self)
{
  self->shown = plane_at(self, gtk_widget_get_scale_factor(GTK_WIDGET(self)));
  const PlaSlicePlane *plane = &self->shown;
  const PlaVolume *vol =
      pla_document_get_grey(self->document) ? pla_document_get_volume(self->document) : NULL;
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  const size_t n = (size_t)plane->width * plane->height;
  uint32_t *pixel = g_new(uint32_t, n);
  if (vol) {
    g_autofree float *value = g_new(float, n);
    double window[2];
    pla_document_get_window(self->document, window);
    pla_slice_values(vol, 0, plane, pla_document_get_linear(self->document), value);
    pla_slice_grey(value, n, window[0], window[1], 0xff000000u, pixel);
  } else {
    for (size_t i = 0; i < n; i++)
      pixel[i] = 0xff000000u;
  }
  if (labels) {
    g_autofree uint16_t *label = g_new(uint16_t, n);
    pla_slice_labels(labels, plane, label);
    pla_slice_overlay(label, pla_document_get_overlay(self->document), vol ? 0.12 : 0.6, 0.85,
                      plane->width, plane->height, pixel);
  }
  g_autoptr(GBytes) bytes = g_bytes_new_take(pixel, n * sizeof *pixel);
  self->texture = gdk_memory_texture_new(plane->width, plane->height, GDK_MEMORY_DEFAULT, bytes,
                                         4 * (gsize)plane->width);
}

static void
draw_crosshair(cairo_t *cr, PlaSliceView *self, const PlaSlicePlane *plane)
{
  /* across the picture stands the plane whose normal runs down it, and the other way round */
  static const PlaAxis across[3] = { PLA_AXIS_AXIAL, PLA_AXIS_AXIAL, PLA_AXIS_CORONAL };
  static const PlaAxis upright[3] = { PLA_AXIS_CORONAL, PLA_AXIS_SAGITTAL, PLA_AXIS_SAGITTAL };
  double cursor[3], x, y;
  pla_document_get_cursor(self->document, cursor);
  pla_slice_from_ras(plane, cursor, &x, &y);
  x = floor(x + 0.5) + 0.5;
  y = floor(y + 0.5) + 0.5;
  const double gap = 9.0;
  cairo_set_line_width(cr, 1.0);
  const float *rgb = axis_rgb[across[self->axis]];
  cairo_set_source_rgba(cr, rgb[0], rgb[1], rgb[2], 0.75);
  cairo_move_to(cr, 0.0, y);
  cairo_line_to(cr, x - gap, y);
  cairo_move_to(cr, x + gap, y);
  cairo_line_to(cr, plane->width, y);
  cairo_stroke(cr);
  rgb = axis_rgb[upright[self->axis]];
  cairo_set_source_rgba(cr, rgb[0], rgb[1], rgb[2], 0.75);
  cairo_move_to(cr, x, 0.0);
  cairo_line_to(cr, x, y - gap);
  cairo_move_to(cr, x, y + gap);
  cairo_line_to(cr, x, plane->height);
  cairo_stroke(cr);
}

/* the stroke so far, and the brush under the pointer */
static void
draw_brush(cairo_t *cr, PlaSliceView *self, const PlaSlicePlane *plane)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  GdkRGBA rgba;
  double radius = pla_tools_get_brush(tools, &rgba) / mm_per_unit(self);
  if (pla_tools_get(tools) != PLA_TOOL_BRUSH)
    return;
  const double *points = (const double *)(gpointer)self->stroke->data;
  cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
  cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
  for (guint i = 0; i < self->stroke->len / 3; i++) {
    double x, y;
    pla_slice_from_ras(plane, points + 3 * i, &x, &y);
    if (i == 0)
      cairo_move_to(cr, x + 0.5, y + 0.5);
    cairo_line_to(cr, x + 0.5, y + 0.5);
  }
  cairo_set_source_rgba(cr, rgba.red, rgba.green, rgba.blue, 0.55);
  cairo_set_line_width(cr, 2.0 * radius);
  cairo_stroke(cr);
  if (!isnan(self->pointer_x)) {
    cairo_new_path(cr);
    cairo_arc(cr, self->pointer_x, self->pointer_y, radius, 0.0, 2.0 * G_PI);
    cairo_set_source_rgba(cr, 1.0, 1.0, 1.0, 0.9);
    cairo_set_line_width(cr, 1.0);
    cairo_stroke(cr);
  }
}

static void
pla_slice_view_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaSliceView *self = PLA_SLICE_VIEW(widget);
  int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  const graphene_rect_t box = GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h);
  static const GdkRGBA black = { 0.0f, 0.0f, 0.0f, 1.0f };
  gtk_snapshot_append_color(snapshot, &black, &box);
  if (!frame_volume(self))
    return;
  PlaSlicePlane now = plane_at(self, gtk_widget_get_scale_factor(widget));
  if (!self->texture || memcmp(&now, &self->shown, sizeof now) != 0) {
    g_clear_object(&self->texture);
    make_texture(self);
  }
  gtk_snapshot_append_texture(snapshot, self->texture, &box);

  cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &box);
  PlaSlicePlane plane = plane_at(self, 1);
  const PlaOverlayInk ink = { .font_size = 13.0 };
  draw_crosshair(cr, self, &plane);
  draw_brush(cr, self, &plane);
  pla_annotations_draw_slice(pla_document_get_annotations(self->document), cr, &ink, &plane);
  pla_overlay_letters(cr, &ink, w, h, &plane);
  pla_overlay_scale_bar(cr, &ink, w, h, mm_per_unit(self));
  double cursor[3];
  pla_document_get_cursor(self->document, cursor);
  static const char *const names[3] = { N_("Sagittal"), N_("Coronal"), N_("Axial") };
  static const char *const sides[3][2] = { { "L", "R" }, { "P", "A" }, { "I", "S" } };
  double at = round(10.0 * cursor[self->axis]) / 10.0;
  /* in a narrow view the name would reach the letter at the top */
  const gboolean wide = w >= 300;
  g_autofree char *distance =
      wide ? pla_quantity_text(PLA_QUANTITY_POSITION, fabs(at), PLA_UNIT_MM)
           : pla_quantity_number(PLA_QUANTITY_POSITION, fabs(at), PLA_UNIT_MM);
  g_autofree char *place =
      g_strdup_printf("%s%s%s %s", wide ? _(names[self->axis]) : "", wide ? "  " : "",
                      sides[self->axis][at >= 0.0], distance);
  pla_overlay_text(cr, &ink, 10.0, 14.0, 0.0, place);
  cairo_destroy(cr);

  /* a thin frame in the plane's colour, stronger with the keyboard focus */
  const float *rgb = axis_rgb[self->axis];
  float strength = gtk_widget_has_focus(widget) ? 0.9f : 0.35f;
  const GdkRGBA line = { rgb[0], rgb[1], rgb[2], strength };
  const GskRoundedRect outline = { .bounds = box };
  gtk_snapshot_append_border(snapshot, &outline, (float[4]){ 1, 1, 1, 1 },
                             (GdkRGBA[4]){ line, line, line, line });
}

/* ------------------------------------------------------------------- input */

static void
move_cursor_to(PlaSliceView *self, double x, double y)
{
  PlaSlicePlane plane = plane_at(self, 1);
  double ras[3];
  pla_slice_to_ras(&plane, x - 0.5, y - 0.5, ras);
  pla_document_set_cursor(self->document, ras);
}

static void
step(PlaSliceView *self, double steps)
{
  const PlaVolume *vol = frame_volume(self);
  if (!vol)
    return;
  /* one voxel along the index axis nearest to this one */
  double length = 0.0, cursor[3];
  for (int d = 0; d < 3; d++)
    length = fmax(length, fabs(vol->affine_mm[4 * self->axis + d]));
  pla_document_get_cursor(self->document, cursor);
  cursor[self->axis] += steps * length;
  pla_document_set_cursor(self->document, cursor);
}

static void
zoom_by(PlaSliceView *self, double factor)
{
  self->zoom = CLAMP(self->zoom * factor, 0.25, 64.0);
  refresh(self);
}

static gboolean
on_scroll(GtkEventControllerScroll *scroll, double dx, double dy, PlaSliceView *self)
{
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(scroll));
  if (state & GDK_CONTROL_MASK)
    zoom_by(self, pow(1.15, -dy));
  else
    step(self, -dy);
  return TRUE;
}

static void
paint_at(PlaSliceView *self, double x, double y)
{
  PlaSlicePlane plane = plane_at(self, 1);
  double ras[3];
  pla_slice_to_ras(&plane, x - 0.5, y - 0.5, ras);
  self->pointer_x = x;
  self->pointer_y = y;
  g_array_append_vals(self->stroke, ras, 3);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSliceView *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->start_x = x;
  self->start_y = y;
  memcpy(self->start_centre, self->centre_mm, sizeof self->start_centre);
  pla_document_get_window(self->document, self->start_window);
  if (button == GDK_BUTTON_SECONDARY) {
    self->drag = WINDOWING;
  } else if (button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK)) {
    self->drag = PANNING;
  } else if (pla_tools_get(tools) == PLA_TOOL_BRUSH) {
    self->drag = PAINTING;
    g_array_set_size(self->stroke, 0);
    paint_at(self, x, y);
  } else {
    self->drag = MOVING_CURSOR;
    move_cursor_to(self, x, y);
    if (pla_tools_get(tools) == PLA_TOOL_PICK) {
      PlaScenePick place = { .cell = -1, .vert = -1 };
      pla_document_get_cursor(self->document, place.point_mm);
      pla_tools_pick(tools, NULL, &place);
    }
  }
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSliceView *self)
{
  switch (self->drag) {
  case MOVING_CURSOR:
    move_cursor_to(self, self->start_x + dx, self->start_y + dy);
    break;
  case PANNING: {
    PlaSlicePlane plane = plane_at(self, 1);
    for (int d = 0; d < 3; d++)
      self->centre_mm[d] = self->start_centre[d] - dx * plane.right_mm[d] - dy * plane.down_mm[d];
    refresh(self);
    break;
  }
  case WINDOWING: {
    double level = 0.5 * (self->start_window[0] + self->start_window[1]);
    double width = self->start_window[1] - self->start_window[0];
    level -= dy * width / 400.0;
    width *= exp(dx / 200.0);
    pla_document_set_window(self->document, level - 0.5 * width, level + 0.5 * width);
    break;
  }
  case PAINTING:
    paint_at(self, self->start_x + dx, self->start_y + dy);
    break;
  case IDLE:
    break;
  }
}

static void
on_drag_end(GtkGestureDrag *gesture, double dx, double dy, PlaSliceView *self)
{
  if (self->drag == PAINTING)
    pla_tools_stroke(pla_document_get_tools(self->document), self->stroke);
  g_array_set_size(self->stroke, 0);
  self->drag = IDLE;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_motion(GtkEventControllerMotion *motion, double x, double y, PlaSliceView *self)
{
  PlaSlicePlane plane = plane_at(self, 1);
  double ras[3];
  pla_slice_to_ras(&plane, x - 0.5, y - 0.5, ras);
  g_autoptr(GVariant) place = g_variant_ref_sink(g_variant_new("(ddd)", ras[0], ras[1], ras[2]));
  g_signal_emit(self, signals[HOVERED], 0, place);
  self->pointer_x = x;
  self->pointer_y = y;
  if (pla_tools_get(pla_document_get_tools(self->document)) == PLA_TOOL_BRUSH)
    gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void
on_leave(GtkEventControllerMotion *motion, PlaSliceView *self)
{
  g_signal_emit(self, signals[HOVERED], 0, NULL);
  self->pointer_x = self->pointer_y = NAN;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaSliceView *self)
{
  switch (keyval) {
  case GDK_KEY_Up:
  case GDK_KEY_Right:
    step(self, 1.0);
    return TRUE;
  case GDK_KEY_Down:
  case GDK_KEY_Left:
    step(self, -1.0);
    return TRUE;
  case GDK_KEY_Page_Up:
    step(self, 10.0);
    return TRUE;
  case GDK_KEY_Page_Down:
    step(self, -10.0);
    return TRUE;
  case GDK_KEY_plus:
  case GDK_KEY_equal:
  case GDK_KEY_KP_Add:
    zoom_by(self, 1.25);
    return TRUE;
  case GDK_KEY_minus:
  case GDK_KEY_KP_Subtract:
    zoom_by(self, 0.8);
    return TRUE;
  case GDK_KEY_Escape:
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
    return TRUE;
  case GDK_KEY_0:
  case GDK_KEY_KP_0:
    pla_slice_view_fit(self);
    return TRUE;
  default:
    return FALSE;
  }
}

/* --------------------------------------------------------------------- type */

static void
pla_slice_view_dispose(GObject *object)
{
  PlaSliceView *self = PLA_SLICE_VIEW(object);
  g_clear_pointer(&self->stroke, g_array_unref);
  g_clear_object(&self->texture);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_slice_view_parent_class)->dispose(object);
}

static void
pla_slice_view_class_init(PlaSliceViewClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_slice_view_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  widget->snapshot = pla_slice_view_snapshot;
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
  signals[HOVERED] = g_signal_new("hovered", PLA_TYPE_SLICE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_VARIANT);
}

static void
pla_slice_view_init(PlaSliceView *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  self->zoom = 1.0;
  self->stroke = g_array_new(FALSE, FALSE, sizeof(double));
  self->pointer_x = self->pointer_y = NAN;
  gtk_widget_set_focusable(widget, TRUE);
  gtk_widget_set_hexpand(widget, TRUE);
  gtk_widget_set_vexpand(widget, TRUE);
  gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_size_request(widget, 120, 100);

  GtkEventController *scroll =
      gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_VERTICAL);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(widget, scroll);
  GtkGesture *drag = gtk_gesture_drag_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  g_signal_connect(motion, "leave", G_CALLBACK(on_leave), self);
  gtk_widget_add_controller(widget, motion);
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(widget, key);
  GtkEventController *focus = gtk_event_controller_focus_new();
  g_signal_connect_swapped(focus, "enter", G_CALLBACK(gtk_widget_queue_draw), self);
  g_signal_connect_swapped(focus, "leave", G_CALLBACK(gtk_widget_queue_draw), self);
  gtk_widget_add_controller(widget, focus);
}

GtkWidget *
pla_slice_view_new(PlaDocument *document, PlaAxis axis)
{
  static const char *const names[3] = { N_("Sagittal slice"), N_("Coronal slice"),
                                        N_("Axial slice") };
  PlaSliceView *self = g_object_new(PLA_TYPE_SLICE_VIEW, NULL);
  self->document = g_object_ref(document);
  self->axis = axis;
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _(names[axis]), -1);
  g_signal_connect_object(document, "slices-changed", G_CALLBACK(refresh), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "cursor-changed", G_CALLBACK(on_cursor), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(pla_slice_view_fit), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(pla_document_get_annotations(document), "changed",
                          G_CALLBACK(gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(pla_document_get_tools(document), "tool-changed",
                          G_CALLBACK(gtk_widget_queue_draw), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}

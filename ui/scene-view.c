#include "ui/scene-view.h"

#include "anatomy/slice.h"
#include "app/overlay.h"
#include "app/picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

enum { SLICE_ID = 1 << 24 }; /* scene ids of the three planes: beyond all entries */

struct _PlaSceneView {
  GtkWidget parent_instance;
  PlaDocument *document;
  GtkWidget *overlay, *area, *ink;
  const PlaRenderer *render;
  PlaScene *scene; /* NULL: drawing is not possible here */
  PlaCamera camera;
  PlaViewPreset preset;
  gboolean framed_by_user; /* the camera was moved: new shapes do not move it again */
  gboolean slices, dark;
  PlaQuality quality;
  guint settle; /* source id: full quality once nothing moves */

  enum { IDLE, TURNING, PANNING, ZOOMING } drag;
  PlaCamera start;
};

enum { HOVERED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaSceneView, pla_scene_view, GTK_TYPE_WIDGET)

static void
redraw(PlaSceneView *self)
{
  gtk_gl_area_queue_render(GTK_GL_AREA(self->area));
  gtk_widget_queue_draw(self->ink);
}

static gboolean
on_settled(gpointer data)
{
  PlaSceneView *self = data;
  self->settle = 0;
  self->quality = PLA_QUALITY_FULL;
  redraw(self);
  return G_SOURCE_REMOVE;
}

/* fast pictures now, a good one when nothing has moved for a moment */
static void
moved(PlaSceneView *self)
{
  self->quality = PLA_QUALITY_MOVING;
  g_clear_handle_id(&self->settle, g_source_remove);
  self->settle = g_timeout_add(180, on_settled, self);
  redraw(self);
}

gboolean
pla_scene_view_is_settled(PlaSceneView *self)
{
  return self->settle == 0;
}

static double
aspect(PlaSceneView *self)
{
  return (double)MAX(gtk_widget_get_width(GTK_WIDGET(self)), 1) /
         MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
}

static void
fit(PlaSceneView *self)
{
  double lo[3], hi[3];
  if (!self->scene)
    return;
  if (!self->render->bounds(self->scene, lo, hi))
    for (int d = 0; d < 3; d++) {
      lo[d] = -100.0;
      hi[d] = 100.0;
    }
  self->camera = pla_camera_fit(self->preset, lo, hi, aspect(self));
  moved(self);
}

void
pla_scene_view_look(PlaSceneView *self, PlaViewPreset preset)
{
  self->preset = preset;
  self->framed_by_user = FALSE;
  fit(self);
}

/* ------------------------------------------------------------------- shapes */

static void
set_style(PlaSceneView *self, PlaEntry *entry)
{
  const GdkRGBA *rgba = pla_entry_get_rgba(entry);
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  PlaSceneStyle style = pla_scene_style_default();
  style.visible = pla_entry_get_visible(entry);
  style.rgb[0] = rgba->red;
  style.rgb[1] = rgba->green;
  style.rgb[2] = rgba->blue;
  style.opacity = rgba->alpha;
  style.finish = pla_entry_get_finish(entry);
  if (style.opacity < 1.0) {
    style.rim = 0.7;
    style.hide_back = true;
  }
  if (mesh && mesh->n_tets + mesh->n_hexes > 0) {
    style.edges = true;
    style.flat = true;
  }
  self->render->set_style(self->scene, pla_entry_get_id(entry), &style);
}

static void
on_shape(PlaSceneView *self, PlaEntry *entry)
{
  if (!self->scene)
    return;
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  int id = pla_entry_get_id(entry);
  if (!mesh) {
    self->render->remove(self->scene, id);
    redraw(self);
    return;
  }
  PlaSceneMesh shape = { .n_verts = mesh->n_verts,
                         .n_tris = mesh->n_tris,
                         .n_tets = mesh->n_tets,
                         .n_hexes = mesh->n_hexes,
                         .pos = mesh->pos,
                         .to_mm = 1000.0,
                         .tri = mesh->tri,
                         .tet = mesh->tet,
                         .hex = mesh->hex,
                         .open = pla_entry_get_open(entry) };
  PlaError err;
  if (self->render->put_mesh(self->scene, id, &shape, &err) != PLA_OK) {
    g_signal_emit_by_name(self->document, "failed", err.message);
    return;
  }
  set_style(self, entry);
  if (self->framed_by_user)
    moved(self);
  else
    fit(self);
}

static void
on_entry(PlaSceneView *self, PlaEntry *entry)
{
  if (self->scene && pla_entry_get_mesh(entry)) {
    set_style(self, entry);
    moved(self);
  }
}

/* the three planes through the crosshair as pictures in space */
static void
update_slices(PlaSceneView *self)
{
  if (!self->scene)
    return;
  const PlaVolume *vol = pla_document_get_volume(self->document);
  if (!self->slices || !vol) {
    for (int axis = 0; axis < 3; axis++)
      self->render->remove(self->scene, SLICE_ID + axis);
    return;
  }
  static const int across[3] = { 1, 0, 0 }, down[3] = { 2, 2, 1 };
  double lo[3], hi[3], cursor[3], window[2];
  pla_volume_box(vol, lo, hi);
  pla_document_get_cursor(self->document, cursor);
  pla_document_get_window(self->document, window);
  for (int axis = 0; axis < 3; axis++) {
    double centre[3];
    for (int d = 0; d < 3; d++)
      centre[d] = d == axis ? cursor[d] : 0.5 * (lo[d] + hi[d]);
    const double across_mm = hi[across[axis]] - lo[across[axis]],
                 down_mm = hi[down[axis]] - lo[down[axis]];
    const double mm_per_pixel = fmax(across_mm, down_mm) / 384.0;
    PlaSlicePlane plane = pla_slice_plane((PlaAxis)axis, centre, mm_per_pixel,
                                          MAX((int)(across_mm / mm_per_pixel), 1),
                                          MAX((int)(down_mm / mm_per_pixel), 1), true);
    const size_t n = (size_t)plane.width * plane.height;
    g_autofree float *value = g_new(float, n);
    g_autofree uint32_t *pixel = g_new(uint32_t, n);
    pla_slice_values(vol, 0, &plane, true, value);
    pla_slice_grey(value, n, window[0], window[1], 0xff000000u, pixel);
    PlaSceneImage image = { .width = plane.width, .height = plane.height, .pixel = pixel };
    memcpy(image.origin_mm, plane.origin_mm, sizeof image.origin_mm);
    memcpy(image.right_mm, plane.right_mm, sizeof image.right_mm);
    memcpy(image.down_mm, plane.down_mm, sizeof image.down_mm);
    PlaError err;
    if (self->render->put_image(self->scene, SLICE_ID + axis, &image, &err) != PLA_OK)
      g_signal_emit_by_name(self->document, "failed", err.message);
  }
}

static void
on_slices(PlaSceneView *self)
{
  if (self->slices) {
    update_slices(self);
    moved(self);
  }
}

void
pla_scene_view_set_slices(PlaSceneView *self, gboolean shown)
{
  self->slices = shown;
  update_slices(self);
  if (!self->framed_by_user)
    fit(self);
  moved(self);
}

static void
on_reset(PlaSceneView *self)
{
  self->framed_by_user = FALSE;
  update_slices(self);
  fit(self);
}

/* ----------------------------------------------------------------- drawing */

static void
set_background(PlaSceneView *self)
{
  static const double dark[2][3] = { { 0.165, 0.17, 0.185 }, { 0.07, 0.072, 0.08 } };
  static const double light[2][3] = { { 0.97, 0.97, 0.975 }, { 0.80, 0.81, 0.83 } };
  const double(*pair)[3] = self->dark ? dark : light;
  self->render->set_background(self->scene, pair[0], pair[1]);
}

void
pla_scene_view_set_dark(PlaSceneView *self, gboolean dark)
{
  self->dark = dark;
  if (self->scene)
    set_background(self);
  redraw(self);
}

static gboolean
on_render(GtkGLArea *area, GdkGLContext *context, PlaSceneView *self)
{
  int scale = gtk_widget_get_scale_factor(GTK_WIDGET(area));
  int w = gtk_widget_get_width(GTK_WIDGET(area)) * scale;
  int h = gtk_widget_get_height(GTK_WIDGET(area)) * scale;
  if (!self->scene || w < 1 || h < 1)
    return TRUE;
  self->render->set_camera(self->scene, &self->camera);
  PlaError err;
  if (self->render->draw(self->scene, w, h, self->quality, &err) != PLA_OK)
    g_signal_emit_by_name(self->document, "failed", err.message);
  return TRUE;
}

static void
draw_ink(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  PlaSceneView *self = data;
  const PlaOverlayInk ink = { .on_light = !self->dark, .font_size = 13.0 };
  if (pla_document_is_empty(self->document))
    return;
  pla_overlay_scale_bar(cr, &ink, width, height, pla_camera_height_mm(&self->camera) / height);
  pla_overlay_axes(cr, &ink, width - 46.0, height - 46.0, 28.0, &self->camera);
  pla_overlay_text(cr, &ink, 10.0, 14.0, 0.0, _("3-D"));
}

static void
on_unrealize(PlaSceneView *self)
{
  if (!self->scene)
    return;
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  if (!gtk_gl_area_get_error(GTK_GL_AREA(self->area)))
    self->render->scene_release(self->scene);
}

static void
on_resize(PlaSceneView *self)
{
  if (!self->framed_by_user)
    fit(self);
  else
    moved(self);
}

PlaStatus
pla_scene_view_save(PlaSceneView *self, int width, int height, const char *path, PlaError *err)
{
  if (!self->scene || !gtk_widget_get_realized(self->area))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "There is no 3-D view to save");
  g_autofree uint32_t *pixel = g_try_new(uint32_t, (gsize)width * (gsize)height);
  if (!pixel)
    return pla_fail_memory(err, "the picture");
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  self->render->set_camera(self->scene, &self->camera);
  PlaStatus st = self->render->draw_pixels(self->scene, width, height, pixel, err);
  return st == PLA_OK ? pla_picture_write(path, pixel, width, height, err) : st;
}

/* ------------------------------------------------------------------- input */

PlaScenePick
pla_scene_view_pick(PlaSceneView *self, double x, double y)
{
  if (!self->scene)
    return (PlaScenePick){ 0 };
  self->render->set_camera(self->scene, &self->camera);
  return self->render->pick(self->scene, x - 0.5, y - 0.5, gtk_widget_get_width(self->area),
                            gtk_widget_get_height(self->area));
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSceneView *self)
{
  guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->start = self->camera;
  self->drag = button == GDK_BUTTON_SECONDARY                            ? ZOOMING
               : button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK) ? PANNING
                                                                         : TURNING;
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  if (self->drag == IDLE)
    return;
  double h = MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
  self->camera = self->start;
  self->framed_by_user = TRUE;
  if (self->drag == TURNING)
    pla_camera_orbit(&self->camera, 200.0 * dx / h, -200.0 * dy / h);
  else if (self->drag == PANNING)
    pla_camera_pan(&self->camera, dx / h, -dy / h);
  else
    pla_camera_zoom(&self->camera, exp(-2.5 * dy / h));
  moved(self);
}

static void
on_drag_end(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  self->drag = IDLE;
}

static void
on_pressed(GtkGestureClick *click, int n_press, double x, double y, PlaSceneView *self)
{
  if (n_press != 2)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  if (hit.id != 0)
    pla_document_set_cursor(self->document, hit.point_mm);
}

static gboolean
on_scroll(GtkEventControllerScroll *scroll, double dx, double dy, PlaSceneView *self)
{
  self->framed_by_user = TRUE;
  pla_camera_zoom(&self->camera, pow(1.12, -dy));
  moved(self);
  return TRUE;
}

static void
on_motion(GtkEventControllerMotion *motion, double x, double y, PlaSceneView *self)
{
  if (self->drag != IDLE)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  g_autoptr(GVariant) place = NULL;
  if (hit.id != 0)
    place = g_variant_ref_sink(
        g_variant_new("(ddd)", hit.point_mm[0], hit.point_mm[1], hit.point_mm[2]));
  g_signal_emit(self, signals[HOVERED], 0, place);
}

static gboolean
on_key(GtkEventControllerKey *key, guint keyval, guint code, GdkModifierType state,
       PlaSceneView *self)
{
  double right = 0.0, up = 0.0, zoom = 1.0;
  switch (keyval) {
  case GDK_KEY_Left:
    right = -10.0;
    break;
  case GDK_KEY_Right:
    right = 10.0;
    break;
  case GDK_KEY_Up:
    up = 10.0;
    break;
  case GDK_KEY_Down:
    up = -10.0;
    break;
  case GDK_KEY_plus:
  case GDK_KEY_equal:
  case GDK_KEY_KP_Add:
    zoom = 1.2;
    break;
  case GDK_KEY_minus:
  case GDK_KEY_KP_Subtract:
    zoom = 1.0 / 1.2;
    break;
  case GDK_KEY_0:
  case GDK_KEY_KP_0:
    pla_scene_view_look(self, self->preset);
    return TRUE;
  default:
    return FALSE;
  }
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right, up);
  pla_camera_zoom(&self->camera, zoom);
  moved(self);
  return TRUE;
}

/* --------------------------------------------------------------------- type */

static void
pla_scene_view_dispose(GObject *object)
{
  PlaSceneView *self = PLA_SCENE_VIEW(object);
  g_clear_handle_id(&self->settle, g_source_remove);
  g_clear_pointer(&self->overlay, gtk_widget_unparent);
  if (self->scene)
    self->render->scene_free(g_steal_pointer(&self->scene));
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_scene_view_parent_class)->dispose(object);
}

static void
pla_scene_view_class_init(PlaSceneViewClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_scene_view_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_layout_manager_type(widget, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
  signals[HOVERED] = g_signal_new("hovered", PLA_TYPE_SCENE_VIEW, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                  NULL, G_TYPE_NONE, 1, G_TYPE_VARIANT);
}

static void
pla_scene_view_init(PlaSceneView *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  self->preset = PLA_VIEW_THREE_QUARTER;
  self->dark = TRUE;
  gtk_widget_set_focusable(widget, TRUE);
  gtk_widget_set_hexpand(widget, TRUE);
  gtk_widget_set_vexpand(widget, TRUE);
  gtk_widget_set_size_request(widget, 120, 100);
  self->overlay = gtk_overlay_new();
  gtk_widget_set_parent(self->overlay, widget);
  self->area = gtk_gl_area_new();
  gtk_gl_area_set_required_version(GTK_GL_AREA(self->area), 3, 2);
  gtk_gl_area_set_auto_render(GTK_GL_AREA(self->area), FALSE);
  gtk_overlay_set_child(GTK_OVERLAY(self->overlay), self->area);
  self->ink = gtk_drawing_area_new();
  gtk_widget_set_can_target(self->ink, FALSE);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(self->ink), draw_ink, self, NULL);
  gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), self->ink);
  g_signal_connect(self->area, "render", G_CALLBACK(on_render), self);
  g_signal_connect_swapped(self->area, "resize", G_CALLBACK(on_resize), self);
  g_signal_connect_swapped(self->area, "unrealize", G_CALLBACK(on_unrealize), self);

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
  gtk_widget_add_controller(widget, motion);
  GtkEventController *key = gtk_event_controller_key_new();
  g_signal_connect(key, "key-pressed", G_CALLBACK(on_key), self);
  gtk_widget_add_controller(widget, key);
}

GtkWidget *
pla_scene_view_new(PlaDocument *document)
{
  PlaSceneView *self = g_object_new(PLA_TYPE_SCENE_VIEW, NULL);
  self->document = g_object_ref(document);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Three-dimensional view"), -1);
  PlaError err;
  PlaStatus st = pla_render_load(&self->render, &err);
  if (st == PLA_OK)
    st = self->render->scene_new(false, &self->scene, &err);
  if (st == PLA_OK) {
    set_background(self);
    fit(self);
  } else {
    /* the slices work without it: say why this view is empty, in its place */
    GtkWidget *label = gtk_label_new(err.message);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_overlay_set_child(GTK_OVERLAY(self->overlay), label);
  }
  g_signal_connect_object(document, "shape-changed", G_CALLBACK(on_shape), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "entry-changed", G_CALLBACK(on_entry), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "slices-changed", G_CALLBACK(on_slices), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "cursor-changed", G_CALLBACK(on_slices), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}

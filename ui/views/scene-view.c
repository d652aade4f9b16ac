/* The GtkGLArea: draws drafts while something moves and the full picture in bands at rest, with the
 * scale and the names over it; the camera. */
#include "ui/views/scene-private.h"

#include "app/base/quantity.h"
#include "app/show/overlay.h"
#include "app/show/picture.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

enum {
  REST_MS = 180,   /* without motion, after which the full picture is begun */
  BAND_US = 45000, /* what a band of it may take */
  PAUSE_MS = 4,    /* between two, for whatever else is to be drawn */
  MOST_BANDS = 64,
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

/* one band of the full picture; short enough for the hand not to notice */
static gboolean
on_refine(gpointer data)
{
  PlaSceneView *self = data;
  int scale = gtk_widget_get_scale_factor(self->area);
  int w = gtk_widget_get_width(self->area) * scale, h = gtk_widget_get_height(self->area) * scale;
  PlaError err;
  gint64 begun = g_get_monotonic_time();
  gboolean drawable = self->scene && gtk_widget_get_mapped(self->area) && w > 0 && h > 0;
  if (drawable) {
    gtk_gl_area_make_current(GTK_GL_AREA(self->area));
    self->render->set_camera(self->scene, &self->camera);
    if (self->render->draw_band(self->scene, w, h, self->band, self->n_bands, &err) != PLA_OK) {
      g_signal_emit_by_name(self->document, "failed", err.message);
      drawable = FALSE;
    }
    gdk_gl_context_clear_current();
  }
  gint64 took = g_get_monotonic_time() - begun;
  if (took > BAND_US && self->n_bands < MOST_BANDS) {
    /* too slow for this machine: the rest in thinner bands */
    self->band = 2 * self->band + 1;
    self->n_bands *= 2;
  }
  if (drawable && ++self->band < self->n_bands)
    return G_SOURCE_CONTINUE;
  if (drawable && took < BAND_US / 4 && self->n_bands > 1)
    self->n_bands /= 2;
  self->refine = 0;
  self->complete = drawable;
  redraw(self);
  return G_SOURCE_REMOVE;
}

static void
cast_again(PlaSceneView *self)
{
  pla_volume_cast_look(self->cast, &self->camera, gtk_widget_get_width(self->area),
                       gtk_widget_get_height(self->area), self->dark);
}

/* another scan, or another preset */
static void
update_volume(PlaSceneView *self)
{
  const PlaVolume *volume = NULL;
  gpointer held = self->transfer ? pla_document_hold_volume(self->document, &volume) : NULL;
  pla_volume_cast_set_source(self->cast, held, volume, self->transfer);
  cast_again(self);
}

void
pla_scene_view_set_volume(PlaSceneView *self, const char *preset)
{
  self->transfer = preset ? pla_transfer_find(preset) : NULL;
  update_volume(self);
}

static gboolean
on_settled(gpointer data)
{
  PlaSceneView *self = data;
  self->settle = 0;
  self->band = 0;
  /* not when idle: a spinner is drawn before that, and goes on as long as the work does */
  self->refine = g_timeout_add(PAUSE_MS, on_refine, self);
  return G_SOURCE_REMOVE;
}

void
pla_scene_view_changed(PlaSceneView *self)
{
  self->complete = FALSE;
  g_clear_handle_id(&self->refine, g_source_remove);
  g_clear_handle_id(&self->settle, g_source_remove);
  self->settle = g_timeout_add(REST_MS, on_settled, self);
  cast_again(self);
  redraw(self);
}

/* while nobody needs the window, the driver learns what it will have to draw */
static gboolean
on_warm(gpointer data)
{
  PlaSceneView *self = data;
  GtkGLArea *area = GTK_GL_AREA(self->area);
  if (self->scene && !gtk_widget_get_realized(self->area))
    gtk_widget_realize(self->area);
  gboolean more =
      self->scene && gtk_widget_get_realized(self->area) && !gtk_gl_area_get_error(area);
  if (more) {
    gtk_gl_area_make_current(area);
    more = self->render->warm_up(self->scene, self->warmed++);
    gdk_gl_context_clear_current();
  }
  if (more)
    return G_SOURCE_CONTINUE;
  self->warming = 0;
  return G_SOURCE_REMOVE;
}

gboolean
pla_scene_view_is_idle(PlaSceneView *self)
{
  return self->settle == 0 && self->warming == 0 && !pla_volume_cast_is_busy(self->cast) &&
         self->refine == 0 && self->preparing == 0;
}

static double
aspect(PlaSceneView *self)
{
  return (double)MAX(gtk_widget_get_width(GTK_WIDGET(self)), 1) /
         MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
}

/* stands where the aim says, upright; the perspective stays that of the whole */
static void
aim_camera(PlaSceneView *self)
{
  enum { LEAST_MM = 45 }; /* around a small wound: enough to know where on the body one is */
  PlaCamera *camera = &self->camera;
  const PlaAim *aim = &self->aim;
  const gboolean flat = fabs(aim->towards[2]) > 0.9;
  const double radius = fmax(1.6 * aim->radius_mm, LEAST_MM) / fmin(1.0, aspect(self));
  const double away = radius / tan(0.5 * camera->angle_deg * G_PI / 180.0);
  for (int d = 0; d < 3; d++) {
    camera->focus_mm[d] = aim->middle_mm[d];
    camera->eye_mm[d] = aim->middle_mm[d] + away * aim->towards[d];
    camera->up[d] = d == (flat ? 1 : 2);
  }
  camera->height_mm = 2.0 * radius;
}

void
pla_scene_view_fit(PlaSceneView *self)
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
  if (self->aimed)
    aim_camera(self);
  pla_scene_view_changed(self);
}

void
pla_scene_view_warm_up(PlaSceneView *self)
{
  if (self->warming == 0 && self->warmed == 0 && self->scene)
    self->warming = g_idle_add_full(G_PRIORITY_LOW, on_warm, self, NULL);
}

void
pla_scene_view_turn(PlaSceneView *self, double right_deg, double up_deg)
{
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right_deg, up_deg);
  pla_scene_view_changed(self);
}

void
pla_scene_view_look(PlaSceneView *self, PlaViewPreset preset)
{
  self->preset = preset;
  self->framed_by_user = self->aimed = FALSE;
  pla_scene_view_fit(self);
}

static void
on_aimed(PlaSceneView *self, const PlaAim *aim)
{
  self->aim = *aim;
  self->aimed = TRUE;
  self->framed_by_user = FALSE;
  pla_scene_view_fit(self);
}

static void
on_reset(PlaSceneView *self)
{
  self->framed_by_user = self->aimed = FALSE;
  pla_scene_view_update_slices(self);
  if (self->transfer)
    update_volume(self);
  pla_scene_view_fit(self);
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
  pla_scene_view_changed(self);
}

static gboolean
on_render(GtkGLArea *area, GdkGLContext *context, PlaSceneView *self)
{
  int scale = gtk_widget_get_scale_factor(GTK_WIDGET(area));
  int w = gtk_widget_get_width(GTK_WIDGET(area)) * scale;
  int h = gtk_widget_get_height(GTK_WIDGET(area)) * scale;
  if (!self->scene || w < 1 || h < 1)
    return TRUE;
  if (self->complete && self->render->show_bands(self->scene, w, h))
    return TRUE;
  self->render->set_camera(self->scene, &self->camera);
  PlaError err;
  if (self->render->draw(self->scene, w, h, PLA_QUALITY_MOVING, &err) != PLA_OK)
    g_signal_emit_by_name(self->document, "failed", err.message);
  if (self->complete) /* of another size */
    pla_scene_view_changed(self);
  return TRUE;
}

typedef struct {
  cairo_t *cr;
  const PlaOverlayInk *ink;
  int width, height;
  gboolean drawn;
} Bar;

/* the colour bar of the first visible entry that shows a field */
static void
draw_bar(PlaEntry *entry, gpointer data)
{
  Bar *bar = data;
  const PlaFieldView *field = pla_entry_get_field(entry);
  if (!field || field->tissue || bar->drawn || !pla_entry_get_visible(entry))
    return;
  double lo, hi;
  PlaLegend legend;
  pla_entry_get_values(entry, &lo, &hi);
  pla_legend_init(&legend, field->quantity, lo, hi);
  pla_overlay_colour_bar(bar->cr, bar->ink, bar->width, bar->height, &legend, _(legend.label));
  bar->drawn = TRUE;
}

/* what belongs to the picture, on the screen and in a file alike */
static void
write_on(PlaSceneView *self, cairo_t *cr, const PlaCamera *camera, double width, double height,
         double font)
{
  const PlaOverlayInk ink = { .on_light = !self->dark, .font_size = font };
  pla_annotations_draw_scene(pla_document_get_annotations(self->document), cr, &ink, camera, width,
                             height);
  pla_overlay_scale_bar(cr, &ink, width, height, pla_camera_height_mm(camera) / height);
  pla_overlay_axes(cr, &ink, width - 3.5 * font, height - 3.5 * font, 2.15 * font, camera);
  pla_document_foreach(self->document, draw_bar,
                       &(Bar){ cr, &ink, (int)width, (int)height, FALSE });
}

static void
draw_ink(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  PlaSceneView *self = data;
  const PlaOverlayInk ink = { .on_light = !self->dark, .font_size = 13.0 };
  if (pla_document_is_empty(self->document))
    return;
  write_on(self, cr, &self->camera, width, height, ink.font_size);
  pla_overlay_text(cr, &ink, 10.0, 14.0, 0.0, _("3-D"));
  const char *hint = pla_tools_get_hint(pla_document_get_tools(self->document));
  if (hint)
    pla_overlay_text(cr, &ink, 0.5 * width, 34.0, 0.5, hint);
}

static void
on_unrealize(PlaSceneView *self)
{
  if (!self->scene)
    return;
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  if (!gtk_gl_area_get_error(GTK_GL_AREA(self->area)))
    self->render->scene_release(self->scene);
  self->complete = FALSE;
  self->warmed = 0;
}

static void
on_resize(PlaSceneView *self)
{
  if (!self->framed_by_user)
    pla_scene_view_fit(self);
  else
    pla_scene_view_changed(self);
}

PlaStatus
pla_scene_view_draw(PlaSceneView *self, const PlaViewPreset *preset, int width, int height,
                    cairo_surface_t **out, PlaError *err)
{
  *out = NULL;
  if (!self->scene || !gtk_widget_get_realized(self->area))
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "There is no 3-D view to draw");
  double lo[3], hi[3];
  PlaCamera camera = self->camera;
  if (preset) {
    if (!self->render->bounds(self->scene, lo, hi))
      return pla_fail(err, PLA_ERR_EMPTY, "There is nothing to draw");
    camera = pla_camera_fit(*preset, lo, hi, (double)width / height);
  }
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  if (cairo_surface_status(image) != CAIRO_STATUS_SUCCESS) {
    cairo_surface_destroy(image);
    return pla_fail_memory(err, "the picture");
  }
  gtk_gl_area_make_current(GTK_GL_AREA(self->area));
  self->render->set_camera(self->scene, &camera);
  /* rows of a 32-bit cairo image have no padding */
  PlaStatus st =
      self->render->draw_pixels(self->scene, width, height, PLA_QUALITY_FULL,
                                (uint32_t *)(gpointer)cairo_image_surface_get_data(image), err);
  self->render->set_camera(self->scene, &self->camera);
  if (st != PLA_OK) {
    cairo_surface_destroy(image);
    return st;
  }
  cairo_surface_mark_dirty(image);
  cairo_t *cr = cairo_create(image);
  write_on(self, cr, &camera, width, height, fmax(13.0, height / 40.0));
  cairo_destroy(cr);
  *out = image;
  return PLA_OK;
}

PlaStatus
pla_scene_view_save(PlaSceneView *self, int width, int height, const char *path, PlaError *err)
{
  cairo_surface_t *image = NULL;
  PlaStatus st = pla_scene_view_draw(self, NULL, width, height, &image, err);
  if (st == PLA_OK)
    st = pla_picture_write_surface(path, image, err);
  if (image)
    cairo_surface_destroy(image);
  return st;
}

void
pla_scene_view_orbit(PlaSceneView *self, double right_deg, double up_deg)
{
  self->framed_by_user = TRUE;
  pla_camera_orbit(&self->camera, right_deg, up_deg);
  pla_scene_view_changed(self);
}

/* --------------------------------------------------------------------- type */

static void
pla_scene_view_dispose(GObject *object)
{
  PlaSceneView *self = PLA_SCENE_VIEW(object);
  g_clear_handle_id(&self->settle, g_source_remove);
  g_clear_handle_id(&self->refine, g_source_remove);
  g_clear_handle_id(&self->warming, g_source_remove);
  g_clear_pointer(&self->clip, g_free);
  if (self->cast)
    pla_volume_cast_stop(self->cast);
  g_clear_object(&self->cast);
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
  self->n_bands = 4;
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
  self->volume = gtk_picture_new();
  gtk_picture_set_can_shrink(GTK_PICTURE(self->volume), TRUE);
  gtk_picture_set_content_fit(GTK_PICTURE(self->volume), GTK_CONTENT_FIT_FILL);
  gtk_widget_set_can_target(self->volume, FALSE);
  gtk_widget_set_visible(self->volume, FALSE);
  gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), self->volume);
  self->cast = pla_volume_cast_new(GTK_PICTURE(self->volume));
  self->ink = gtk_drawing_area_new();
  gtk_widget_set_can_target(self->ink, FALSE);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(self->ink), draw_ink, self, NULL);
  gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), self->ink);
  g_signal_connect(self->area, "render", G_CALLBACK(on_render), self);
  g_signal_connect_swapped(self->area, "resize", G_CALLBACK(on_resize), self);
  g_signal_connect_swapped(self->area, "unrealize", G_CALLBACK(on_unrealize), self);
  pla_scene_view_connect_hand(self);
}

PlaSceneView *
pla_scene_view_find(GtkWidget *widget)
{
  if (!widget || PLA_IS_SCENE_VIEW(widget))
    return (PlaSceneView *)widget;
  PlaSceneView *found = NULL;
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child && !found;
       child = gtk_widget_get_next_sibling(child))
    found = pla_scene_view_find(child);
  return found;
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
    pla_scene_view_fit(self);
  } else {
    /* the slices work without it: say why this view is empty, in its place */
    GtkWidget *label = gtk_label_new(err.message);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_widget_set_visible(self->area, FALSE);
    gtk_overlay_add_overlay(GTK_OVERLAY(self->overlay), label);
  }
  g_signal_connect_object(pla_document_get_annotations(document), "changed",
                          G_CALLBACK(gtk_widget_queue_draw), self->ink, G_CONNECT_SWAPPED);
  pla_scene_view_connect_shapes(self);
  g_signal_connect_object(pla_document_get_tools(document), "aimed", G_CALLBACK(on_aimed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  return GTK_WIDGET(self);
}

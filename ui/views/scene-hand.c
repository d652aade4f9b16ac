/* The hand over the 3-D view: turning, moving and zooming, picks, drags of hooks and points, keys.
 */
#include "ui/views/scene-private.h"

#include <math.h>
#include <string.h>

const PlaCamera *
pla_scene_view_get_camera(PlaSceneView *self)
{
  return &self->camera;
}

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
find_entry(PlaEntry *entry, gpointer data)
{
  struct {
    int id;
    PlaEntry *found;
  } *wanted = data;
  if (pla_entry_get_id(entry) == wanted->id)
    wanted->found = entry;
}

/* the entry with a scene id, or NULL; borrowed */
static PlaEntry *
entry_of(PlaSceneView *self, int id)
{
  struct {
    int id;
    PlaEntry *found;
  } wanted = { id, NULL };
  pla_document_foreach(self->document, find_entry, &wanted);
  return wanted.found;
}

/* the n-th mark of a kind among all marks, or -1 */
static int
nth_mark(PlaSceneView *self, PlaMarkKind kind, int n)
{
  int n_marks;
  const PlaMark *marks = pla_tools_get_marks(pla_document_get_tools(self->document), &n_marks);
  for (int i = 0; i < n_marks; i++)
    if (marks[i].kind == kind && n-- == 0)
      return i;
  return -1;
}

/* A hook whose tip is at the pointer, though tissue in front of it hides it: one that was pulled
 * behind the nose must not be lost.  What lies deeper belongs to the other side of the head. */
static int
hidden_hook(PlaSceneView *self, const PlaScenePick *hit, double x, double y)
{
  const double reach_px = 10.0, depth_mm = 40.0;
  const double width = gtk_widget_get_width(self->area), height = gtk_widget_get_height(self->area);
  double right[3], up[3], back[3], nearest = reach_px;
  pla_camera_axes(&self->camera, right, up, back);
  int n, found = -1;
  const PlaMark *marks = pla_tools_get_marks(pla_document_get_tools(self->document), &n);
  for (int i = 0; i < n; i++) {
    double tip[3], depth = 0.0, sx, sy;
    for (int d = 0; d < 3; d++) {
      tip[d] = marks[i].at_mm[d] + marks[i].pull_mm[d];
      depth += (hit->point_mm[d] - tip[d]) * back[d];
    }
    if (marks[i].kind == PLA_MARK_HOOK && (hit->id == 0 || depth < depth_mm) &&
        pla_camera_project(&self->camera, width, height, tip, &sx, &sy) &&
        hypot(sx - x, sy - y) < nearest) {
      nearest = hypot(sx - x, sy - y);
      found = i;
    }
  }
  return found;
}

/* with the hook tool: takes the hook under the pointer, or sets one on the surface there */
static gboolean
begin_pull(PlaSceneView *self, double x, double y)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (pla_tools_get(tools) != PLA_TOOL_HOOK)
    return FALSE;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  self->pulled = hit.id == PLA_MARK_ID + 2 * PLA_MARK_HOOK ? nth_mark(self, PLA_MARK_HOOK, hit.vert)
                                                           : hidden_hook(self, &hit, x, y);
  if (self->pulled < 0 && entry_of(self, hit.id)) {
    int before, after;
    pla_tools_get_marks(tools, &before);
    pla_tools_pick(tools, entry_of(self, hit.id), &hit);
    pla_tools_get_marks(tools, &after);
    if (after > before)
      self->pulled = after - 1;
  }
  if (self->pulled < 0)
    return FALSE;
  int n;
  const PlaMark *mark = &pla_tools_get_marks(tools, &n)[self->pulled];
  memcpy(self->pulled_start, mark->pull_mm, sizeof self->pulled_start);
  for (int d = 0; d < 3; d++)
    self->pulled_mm[d] = mark->at_mm[d] + mark->pull_mm[d];
  return TRUE;
}

/* with the drawing tool: takes the point under the pointer */
static gboolean
begin_place(PlaSceneView *self, double x, double y)
{
  if (pla_tools_get(pla_document_get_tools(self->document)) != PLA_TOOL_DRAW)
    return FALSE;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  self->pulled =
      hit.id == PLA_MARK_ID + 2 * PLA_MARK_POINT ? nth_mark(self, PLA_MARK_POINT, hit.vert) : -1;
  return self->pulled >= 0;
}

/* the point follows the hand over the surface */
static void
place(PlaSceneView *self, double x, double y, gboolean done)
{
  /* not onto itself */
  PlaSceneStyle style = pla_scene_style_default();
  style.visible = false;
  self->render->set_style(self->scene, PLA_MARK_ID + 2 * PLA_MARK_POINT, &style);
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  pla_scene_view_put_marks(self);
  if (entry_of(self, hit.id))
    pla_tools_place(pla_document_get_tools(self->document), self->pulled, &hit, done);
}

/* the way of the hand in the plane of the picture, at the depth of what it holds */
static void
pull(PlaSceneView *self, double dx, double dy, gboolean done)
{
  double right[3], up[3], back[3], depth = 0.0, focal = 0.0, way[3];
  const PlaCamera *camera = &self->camera;
  pla_camera_axes(camera, right, up, back);
  for (int d = 0; d < 3; d++) {
    depth += (camera->eye_mm[d] - self->pulled_mm[d]) * back[d];
    focal += (camera->eye_mm[d] - camera->focus_mm[d]) * back[d];
  }
  double mm = pla_camera_height_mm(camera) / MAX(gtk_widget_get_height(self->area), 1);
  if (!camera->parallel && focal > 0.0)
    mm *= depth / focal;
  for (int d = 0; d < 3; d++)
    way[d] = self->pulled_start[d] + mm * (dx * right[d] - dy * up[d]);
  pla_tools_drag(pla_document_get_tools(self->document), self->pulled, way, done);
}

static void
on_drag_begin(GtkGestureDrag *gesture, double x, double y, PlaSceneView *self)
{
  guint button = gtk_gesture_single_get_current_button(GTK_GESTURE_SINGLE(gesture));
  GdkModifierType state =
      gtk_event_controller_get_current_event_state(GTK_EVENT_CONTROLLER(gesture));
  gtk_widget_grab_focus(GTK_WIDGET(self));
  self->start = self->camera;
  if (button == GDK_BUTTON_PRIMARY && !(state & GDK_SHIFT_MASK) && begin_pull(self, x, y)) {
    self->drag = PULLING;
    return;
  }
  self->pressed[0] = x;
  self->pressed[1] = y;
  if (button == GDK_BUTTON_PRIMARY && !(state & GDK_SHIFT_MASK) && begin_place(self, x, y)) {
    self->drag = PLACING;
    return;
  }
  self->drag = button == GDK_BUTTON_SECONDARY                            ? ZOOMING
               : button == GDK_BUTTON_MIDDLE || (state & GDK_SHIFT_MASK) ? PANNING
                                                                         : TURNING;
}

static void
on_drag_update(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  if (self->drag == IDLE)
    return;
  if (self->drag == PULLING) {
    pull(self, dx, dy, FALSE);
    return;
  }
  if (self->drag == PLACING) {
    place(self, self->pressed[0] + dx, self->pressed[1] + dy, FALSE);
    return;
  }
  double h = MAX(gtk_widget_get_height(GTK_WIDGET(self)), 1);
  self->camera = self->start;
  self->framed_by_user = TRUE;
  if (self->drag == TURNING)
    pla_camera_orbit(&self->camera, 200.0 * dx / h, -200.0 * dy / h);
  else if (self->drag == PANNING)
    pla_camera_pan(&self->camera, dx / h, -dy / h);
  else
    pla_camera_zoom(&self->camera, exp(-2.5 * dy / h));
  pla_scene_view_changed(self);
}

static void
on_drag_end(GtkGestureDrag *gesture, double dx, double dy, PlaSceneView *self)
{
  if (self->drag == PULLING)
    pull(self, dx, dy, TRUE);
  if (self->drag == PLACING && hypot(dx, dy) > 0.0)
    place(self, self->pressed[0] + dx, self->pressed[1] + dy, TRUE);
  self->drag = IDLE;
}

static void
on_released(GtkGestureClick *click, int n_press, double x, double y, PlaSceneView *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  const PlaTool tool = pla_tools_get(tools);
  if ((tool != PLA_TOOL_PICK && tool != PLA_TOOL_DRAW) || n_press != 1)
    return;
  PlaScenePick hit = pla_scene_view_pick(self, x, y);
  PlaEntry *entry = entry_of(self, hit.id);
  if (entry)
    pla_tools_pick(tools, entry, &hit);
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
  pla_scene_view_changed(self);
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
  g_signal_emit_by_name(self, "hovered", place);
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
  case GDK_KEY_Escape:
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
    return TRUE;
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
  pla_scene_view_changed(self);
  return TRUE;
}

void
pla_scene_view_connect_hand(PlaSceneView *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  GtkGesture *drag = gtk_gesture_drag_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(drag), 0);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkGesture *click = gtk_gesture_click_new();
  g_signal_connect(click, "pressed", G_CALLBACK(on_pressed), self);
  g_signal_connect(click, "released", G_CALLBACK(on_released), self);
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

/* Moves the pointer and presses keys by XTest, and finds widgets by label, type or order. */
#include "tests/ui/pointer.h"

#include <X11/extensions/XTest.h>
#include <gdk/x11/gdkx.h>
#include <math.h>
#include <string.h>

void
let_run(int milliseconds)
{
  const gint64 until = g_get_monotonic_time() + 1000 * (gint64)milliseconds;
  while (g_get_monotonic_time() < until) {
    while (g_main_context_iteration(NULL, FALSE))
      ;
    g_usleep(2000);
  }
}

/* pixels of the screen */
static void
to_root(GtkWidget *widget, double x, double y, int *root_x, int *root_y)
{
  GtkNative *native = gtk_widget_get_native(widget);
  GdkSurface *surface = gtk_native_get_surface(native);
  Display *display = GDK_DISPLAY_XDISPLAY(gtk_widget_get_display(widget));
  double shift_x, shift_y;
  graphene_point_t at;
  g_assert_true(gtk_widget_compute_point(widget, GTK_WIDGET(native),
                                         &GRAPHENE_POINT_INIT((float)x, (float)y), &at));
  gtk_native_get_surface_transform(native, &shift_x, &shift_y);
  Window child;
  int scale = gdk_surface_get_scale_factor(surface);
  XTranslateCoordinates(display, GDK_SURFACE_XID(surface), DefaultRootWindow(display),
                        (int)lround((at.x + shift_x) * scale),
                        (int)lround((at.y + shift_y) * scale), root_x, root_y, &child);
}

void
pointer_move(GtkWidget *widget, double x, double y)
{
  Display *display = GDK_DISPLAY_XDISPLAY(gtk_widget_get_display(widget));
  int root_x, root_y;
  to_root(widget, x, y, &root_x, &root_y);
  XTestFakeMotionEvent(display, -1, root_x, root_y, CurrentTime);
  XSync(display, False);
  let_run(40);
}

static void
press(GtkWidget *widget, int button, gboolean down)
{
  Display *display = GDK_DISPLAY_XDISPLAY(gtk_widget_get_display(widget));
  XTestFakeButtonEvent(display, (unsigned)button, down, CurrentTime);
  XSync(display, False);
  let_run(40);
}

void
pointer_click(GtkWidget *widget, double x, double y, int button)
{
  pointer_move(widget, x, y);
  press(widget, button, TRUE);
  press(widget, button, FALSE);
}

void
pointer_drag(GtkWidget *widget, const double (*places)[2], int n)
{
  pointer_move(widget, places[0][0], places[0][1]);
  press(widget, 1, TRUE);
  for (int i = 1; i < n; i++)
    pointer_move(widget, places[i][0], places[i][1]);
  press(widget, 1, FALSE);
}

void
press_keys(GtkWidget *window, const char *keys)
{
  Display *display = GDK_DISPLAY_XDISPLAY(gtk_widget_get_display(window));
  GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
  g_auto(GStrv) part = g_strsplit(keys, "+", -1);
  const int n = (int)g_strv_length(part);
  /* there is no window manager to give the window the focus */
  XSetInputFocus(display, GDK_SURFACE_XID(surface), RevertToPointerRoot, CurrentTime);
  XSync(display, False);
  let_run(100);
  for (int i = 0; i < 2 * n; i++) {
    const KeySym key = XStringToKeysym(part[i < n ? i : 2 * n - 1 - i]);
    XTestFakeKeyEvent(display, XKeysymToKeycode(display, key), i < n, CurrentTime);
    XSync(display, False);
    let_run(40);
  }
}

static GtkWidget *
find_label(GtkWidget *root, const char *label)
{
  if (GTK_IS_BUTTON(root) && g_strcmp0(gtk_button_get_label(GTK_BUTTON(root)), label) == 0)
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child;
       child = gtk_widget_get_next_sibling(child)) {
    GtkWidget *found = find_label(child, label);
    if (found)
      return found;
  }
  return NULL;
}

GtkWidget *
find_button(GtkWidget *root, const char *label)
{
  GtkWidget *found = find_label(root, label);
  if (!found)
    g_error("there is no button '%s'", label);
  return found;
}

static GtkWidget *
find_nth(GtkWidget *root, GType type, int *nth)
{
  if (g_type_is_a(G_OBJECT_TYPE(root), type) && (*nth)-- == 0)
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child;
       child = gtk_widget_get_next_sibling(child)) {
    GtkWidget *found = find_nth(child, type, nth);
    if (found)
      return found;
  }
  return NULL;
}

GtkWidget *
find_type(GtkWidget *root, GType type, int nth)
{
  return find_nth(root, type, &nth);
}

/* Drives a separate Platysma process: finds widgets over AT-SPI, moves pointer and keys by
 * XTest, and takes pictures of the X root window. */
#include "tests/ui/remote.h"

#include <X11/XKBlib.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <X11/extensions/XTest.h>
#include <X11/keysym.h>
#include <cairo.h>
#include <gio/gio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define ACCESSIBLE "org.a11y.atspi.Accessible"
#define COMPONENT "org.a11y.atspi.Component"
#define PROPERTIES "org.freedesktop.DBus.Properties"

enum { DEEPEST = 60, CALL_MS = 120000, SENSITIVE = 24 };

struct Remote {
  GPid pid;
  Display *display;
  GDBusConnection *bus;
  char *shots;
};

static int n_shots;

/* ---- what is there --------------------------------------------------------------------------- */

/* NULL where it has gone meanwhile */
static GVariant *
call(Remote *self, const char *peer, const char *path, const char *interface, const char *method,
     GVariant *args, const char *type)
{
  return g_dbus_connection_call_sync(self->bus, peer, path, interface, method, args,
                                     G_VARIANT_TYPE(type), G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL,
                                     NULL);
}

static char *
get_name(Remote *self, const char *peer, const char *path)
{
  g_autoptr(GVariant) answer =
      call(self, peer, path, PROPERTIES, "Get", g_variant_new("(ss)", ACCESSIBLE, "Name"), "(v)");
  g_autoptr(GVariant) text = NULL;
  if (answer)
    g_variant_get(answer, "(v)", &text);
  return text ? g_variant_dup_string(text, NULL) : g_strdup("");
}

static char *
get_role(Remote *self, const char *peer, const char *path)
{
  g_autoptr(GVariant) answer = call(self, peer, path, ACCESSIBLE, "GetRoleName", NULL, "(s)");
  char *role = NULL;
  if (answer)
    g_variant_get(answer, "(s)", &role);
  return role ? role : g_strdup("");
}

static guint64
get_state(Remote *self, const char *peer, const char *path)
{
  g_autoptr(GVariant) answer = call(self, peer, path, ACCESSIBLE, "GetState", NULL, "(au)");
  g_autoptr(GVariantIter) words = NULL;
  guint32 word;
  guint64 state = 0;
  if (!answer)
    return 0;
  g_variant_get(answer, "(au)", &words);
  for (int shift = 0; shift < 64 && g_variant_iter_next(words, "u", &word); shift += 32)
    state |= (guint64)word << shift;
  return state;
}

static gboolean
get_extents(Remote *self, const char *peer, const char *path, RemoteThing *thing)
{
  const guint window = 1; /* coordinates of the toplevel */
  g_autoptr(GVariant) answer =
      call(self, peer, path, COMPONENT, "GetExtents", g_variant_new("(u)", window), "((iiii))");
  if (!answer)
    return FALSE;
  g_variant_get(answer, "((iiii))", &thing->x, &thing->y, &thing->width, &thing->height);
  return TRUE;
}

typedef struct {
  const char *role, *name;
  RemoteThing *thing;
  GString *all; /* of names that were seen, or NULL */
} Search;

/* depth first; the toolkit lists what is visible, and names buttons with the underscores of their
 * keys, so that it is their labels that are looked for */
static gboolean
search(Remote *self, Search *wanted, const char *peer, const char *path, int depth)
{
  if (depth > DEEPEST || g_str_equal(path, "/org/a11y/atspi/null"))
    return FALSE;
  const guint64 state = get_state(self, peer, path);
  g_autofree char *name = get_name(self, peer, path);
  g_autofree char *role = get_role(self, peer, path);
  if (wanted->all && *name)
    g_string_append_printf(wanted->all, "%*s%s '%s'\n", depth, "", role, name);
  if (wanted->name && g_str_has_prefix(name, wanted->name) &&
      (!wanted->role || g_str_equal(role, wanted->role))) {
    RemoteThing thing = { .sensitive = state >> SENSITIVE & 1 };
    if (get_extents(self, peer, path, &thing) && thing.width > 0) {
      *wanted->thing = thing;
      return TRUE;
    }
  }
  g_autoptr(GVariant) answer = call(self, peer, path, ACCESSIBLE, "GetChildren", NULL, "(a(so))");
  g_autoptr(GVariantIter) children = NULL;
  const char *child_peer, *child_path;
  gboolean found = FALSE;
  if (!answer)
    return FALSE;
  g_variant_get(answer, "(a(so))", &children);
  while (!found && g_variant_iter_next(children, "(&s&o)", &child_peer, &child_path))
    found = search(self, wanted, child_peer, child_path, depth + 1);
  return found;
}

static gboolean
search_all(Remote *self, Search *wanted)
{
  return search(self, wanted, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root", 0);
}

gboolean
remote_find(Remote *self, const char *role, const char *name, RemoteThing *thing)
{
  RemoteThing ignored;
  Search wanted = { role, name, thing ? thing : &ignored, NULL };
  return search_all(self, &wanted);
}

/* it must not have ended by itself */
static void
check_alive(Remote *self)
{
  int status;
  if (waitpid(self->pid, &status, WNOHANG) == self->pid)
    g_error("the program ended with status %d", status);
}

RemoteThing
remote_wait(Remote *self, const char *role, const char *name, int seconds)
{
  RemoteThing thing = { 0 };
  const gint64 until = g_get_monotonic_time() + seconds * G_TIME_SPAN_SECOND;
  while (!remote_find(self, role, name, &thing)) {
    check_alive(self);
    if (g_get_monotonic_time() > until) {
      Search wanted = { NULL, NULL, NULL, g_string_new(NULL) };
      remote_shoot(self, "missing");
      search_all(self, &wanted);
      g_error("there is no %s '%s' after %d s; there are:\n%s", role ? role : "thing", name,
              seconds, wanted.all->str);
    }
    g_usleep(200000);
  }
  return thing;
}

/* ---- the screen ------------------------------------------------------------------------------ */

static cairo_surface_t *
look(Remote *self)
{
  const int screen = DefaultScreen(self->display);
  const int width = DisplayWidth(self->display, screen),
            height = DisplayHeight(self->display, screen);
  XImage *image = XGetImage(self->display, DefaultRootWindow(self->display), 0, 0, (unsigned)width,
                            (unsigned)height, AllPlanes, ZPixmap);
  g_assert_nonnull(image);
  g_assert_cmpint(image->bits_per_pixel, ==, 32);
  cairo_surface_t *picture = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  for (int y = 0; y < height; y++)
    memcpy(cairo_image_surface_get_data(picture) +
               (size_t)y * (size_t)cairo_image_surface_get_stride(picture),
           image->data + (size_t)y * (size_t)image->bytes_per_line, 4 * (size_t)width);
  cairo_surface_mark_dirty(picture);
  XDestroyImage(image);
  return picture;
}

void
remote_shoot(Remote *self, const char *name)
{
  if (!self->shots)
    return;
  g_autofree char *path = g_strdup_printf("%s/%02d-%s.png", self->shots, ++n_shots, name);
  cairo_surface_t *picture = look(self);
  g_assert_cmpint(cairo_surface_write_to_png(picture, path), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_destroy(picture);
}

void
remote_settle(Remote *self, int seconds)
{
  const gint64 until = g_get_monotonic_time() + seconds * G_TIME_SPAN_SECOND;
  cairo_surface_t *before = NULL;
  for (int calm = 0; calm < 3;) {
    g_usleep(400000);
    check_alive(self);
    cairo_surface_t *now = look(self);
    const size_t size =
        (size_t)cairo_image_surface_get_stride(now) * (size_t)cairo_image_surface_get_height(now);
    const gboolean same = before && memcmp(cairo_image_surface_get_data(before),
                                           cairo_image_surface_get_data(now), size) == 0;
    if (before)
      cairo_surface_destroy(before);
    before = now;
    calm = same && !remote_find(self, NULL, "Running work", NULL) ? calm + 1 : 0;
    if (g_get_monotonic_time() > until) {
      remote_shoot(self, "restless");
      g_error("the window is not at rest after %d s", seconds);
    }
  }
  cairo_surface_destroy(before);
}

/* ---- the hand -------------------------------------------------------------------------------- */

void
remote_move(Remote *self, int x, int y)
{
  XTestFakeMotionEvent(self->display, -1, x, y, CurrentTime);
  XSync(self->display, False);
  g_usleep(60000);
}

void
remote_button(Remote *self, int button, gboolean down)
{
  XTestFakeButtonEvent(self->display, (unsigned)button, down, CurrentTime);
  XSync(self->display, False);
  g_usleep(60000);
}

void
remote_click(Remote *self, int x, int y)
{
  remote_move(self, x, y);
  remote_button(self, 1, TRUE);
  remote_button(self, 1, FALSE);
}

void
remote_press(Remote *self, const char *role, const char *name)
{
  const int bottom = DisplayHeight(self->display, DefaultScreen(self->display));
  RemoteThing thing = remote_wait(self, role, name, 60);
  for (int i = 0; i < 40 && !thing.sensitive; i++) {
    g_usleep(500000);
    thing = remote_wait(self, role, name, 60);
  }
  if (!thing.sensitive)
    g_error("'%s' cannot be pressed", name);
  for (int turns = 0; turns < 40 && thing.y + thing.height > bottom - 130; turns++) {
    remote_move(self, thing.x + thing.width / 2, bottom / 2);
    remote_button(self, 5, TRUE);
    remote_button(self, 5, FALSE);
    g_usleep(300000);
    thing = remote_wait(self, role, name, 60);
  }
  remote_click(self, thing.x + thing.width / 2, thing.y + thing.height / 2);
}

/* without a window manager the keys go where they are told to: to the window that is on top */
static void
focus_top(Remote *self)
{
  Window root, parent, *children = NULL;
  unsigned n = 0;
  XQueryTree(self->display, DefaultRootWindow(self->display), &root, &parent, &children, &n);
  for (unsigned i = n; i > 0; i--) {
    XWindowAttributes is;
    if (XGetWindowAttributes(self->display, children[i - 1], &is) && is.map_state == IsViewable &&
        is.class == InputOutput && is.width > 50) {
      XSetInputFocus(self->display, children[i - 1], RevertToPointerRoot, CurrentTime);
      break;
    }
  }
  if (children)
    XFree(children);
  XSync(self->display, False);
  g_usleep(100000);
}

static void
tap(Remote *self, KeySym key, gboolean down)
{
  XTestFakeKeyEvent(self->display, XKeysymToKeycode(self->display, key), down, CurrentTime);
  XSync(self->display, False);
  g_usleep(15000);
}

void
remote_key(Remote *self, const char *keys)
{
  g_auto(GStrv) parts = g_strsplit(keys, "+", -1);
  const int n = (int)g_strv_length(parts);
  focus_top(self);
  for (int i = 0; i < n; i++)
    tap(self, XStringToKeysym(parts[i]), TRUE);
  for (int i = n; i > 0; i--)
    tap(self, XStringToKeysym(parts[i - 1]), FALSE);
  g_usleep(200000);
}

void
remote_type(Remote *self, const char *text)
{
  focus_top(self);
  for (const char *c = text; *c; c++) {
    const KeySym key = (KeySym)(unsigned char)*c; /* Latin letters are their own symbols */
    const KeyCode code = XKeysymToKeycode(self->display, key);
    g_assert_cmpint(code, !=, 0);
    const gboolean shift = XkbKeycodeToKeysym(self->display, code, 0, 0) != key;
    if (shift)
      tap(self, XK_Shift_L, TRUE);
    tap(self, key, TRUE);
    tap(self, key, FALSE);
    if (shift)
      tap(self, XK_Shift_L, FALSE);
  }
  g_usleep(300000);
}

/* ---- the program ----------------------------------------------------------------------------- */

static GDBusConnection *
accessibility_bus(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GDBusConnection) session = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error);
  g_autoptr(GVariant) answer =
      session
          ? g_dbus_connection_call_sync(session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus",
                                        "GetAddress", NULL, G_VARIANT_TYPE("(s)"),
                                        G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL, &error)
          : NULL;
  const char *address;
  if (!answer)
    g_error("the accessibility bus cannot be reached: %s", error->message);
  g_variant_get(answer, "(&s)", &address);
  GDBusConnection *bus =
      g_dbus_connection_new_for_address_sync(address,
                                             G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                 G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                             NULL, NULL, &error);
  if (!bus)
    g_error("the accessibility bus cannot be reached: %s", error->message);
  return bus;
}

Remote *
remote_start(const char *const *argv, const char *shots)
{
  g_autoptr(GError) error = NULL;
  Remote *self = g_new0(Remote, 1);
  self->shots = g_strdup(shots);
  self->display = XOpenDisplay(NULL);
  g_assert_nonnull(self->display);
  self->bus = accessibility_bus();
  g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "GTK_A11Y", "atspi", TRUE);
  if (!g_spawn_async(NULL, (char **)argv, env, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &self->pid,
                     &error))
    g_error("%s", error->message);
  return self;
}

void
remote_kill(Remote *self)
{
  kill(self->pid, SIGKILL);
  waitpid(self->pid, NULL, 0);
  g_spawn_close_pid(self->pid);
  XCloseDisplay(self->display);
  g_object_unref(self->bus);
  g_free(self->shots);
  g_free(self);
}

/* What a screen reader finds: the window of every workspace is walked over AT-SPI, through the
 * accessibility bus as an assistive program would, and every control has a name.
 *
 * The walk runs on a thread of its own: the toolkit answers on the main one. */
#include "tests/ui/fixture.h"
#include "ui/main/workspace.h"

#include <string.h>

#define ACCESSIBLE "org.a11y.atspi.Accessible"

enum { DEEPEST = 60, CALL_MS = 20000 };

typedef struct {
  GDBusConnection *bus;
  gboolean done;
  int controls, views;
  GString *nameless; /* a line each, from the window down */
} Walk;

static GVariant *
call(GDBusConnection *bus, const char *peer, const char *path, const char *interface,
     const char *method, GVariant *args, const char *type)
{
  g_autoptr(GError) error = NULL;
  GVariant *answer =
      g_dbus_connection_call_sync(bus, peer, path, interface, method, args, G_VARIANT_TYPE(type),
                                  G_DBUS_CALL_FLAGS_NONE, CALL_MS, NULL, &error);
  if (!answer)
    g_error("%s of %s%s: %s", method, peer, path, error->message);
  return answer;
}

static char *
text_of(GVariant *answer)
{
  g_autoptr(GVariant) held = answer;
  g_autoptr(GVariant) text = g_variant_get_child_value(held, 0);
  if (g_variant_is_of_type(text, G_VARIANT_TYPE_VARIANT)) {
    g_autoptr(GVariant) inner = g_variant_get_variant(text);
    return g_variant_dup_string(inner, NULL);
  }
  return g_variant_dup_string(text, NULL);
}

static gboolean
is_control(const char *role)
{
  static const char *const roles[] = {
    "button",   "toggle button", "check box", "radio button", "switch",     "spin button", "slider",
    "text box", "combo box",     "menu item", "image",        "search box", "tab",         NULL
  };
  return g_strv_contains(roles, role);
}

/* the toolkit gives what has no name that of its class */
static gboolean
is_name(const char *name)
{
  return *name && !g_regex_match_simple("^(Gtk|Adw|Pla)[A-Z]", name, 0, 0);
}

/* parts of a control that has a name (arrows of a spin button) need none */
static void
visit(Walk *walk, const char *peer, const char *path, const char *above, gboolean inside_named,
      int depth)
{
  if (depth > DEEPEST || !g_strcmp0(path, "/org/a11y/atspi/null"))
    return;
  g_autofree char *role =
      text_of(call(walk->bus, peer, path, ACCESSIBLE, "GetRoleName", NULL, "(s)"));
  g_autofree char *name = text_of(call(walk->bus, peer, path, "org.freedesktop.DBus.Properties",
                                       "Get", g_variant_new("(ss)", ACCESSIBLE, "Name"), "(v)"));
  g_autofree char *here = g_strdup_printf("%s > %s '%s'", above, role, name);
  gboolean named = inside_named;
  if (is_control(role)) {
    walk->controls++;
    walk->views += g_str_equal(role, "image") && is_name(name);
    named = named || is_name(name);
    /* pictures inside something are ornaments, unless they carry a name */
    if (!named && !g_str_equal(role, "image"))
      g_string_append_printf(walk->nameless, "%s\n", here);
  }
  g_autoptr(GVariant) answer =
      call(walk->bus, peer, path, ACCESSIBLE, "GetChildren", NULL, "(a(so))");
  g_autoptr(GVariantIter) children = NULL;
  g_variant_get(answer, "(a(so))", &children);
  const char *child_peer, *child_path;
  while (g_variant_iter_loop(children, "(&s&o)", &child_peer, &child_path))
    visit(walk, child_peer, child_path, here, named && is_control(role), depth + 1);
}

static gpointer
walk_in_thread(gpointer data)
{
  Walk *walk = data;
  visit(walk, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root", "", FALSE, 0);
  g_atomic_int_set(&walk->done, TRUE);
  g_main_context_wakeup(NULL);
  return NULL;
}

static void
walk_all(GDBusConnection *bus, const char *where, int at_least)
{
  Walk walk = { .bus = bus, .nameless = g_string_new(NULL) };
  GThread *thread = g_thread_new("walk", walk_in_thread, &walk);
  while (!g_atomic_int_get(&walk.done))
    g_main_context_iteration(NULL, TRUE);
  g_thread_join(thread);
  g_test_message("%s: %d controls, %d of them pictures", where, walk.controls, walk.views);
  if (walk.nameless->len > 0)
    g_error("controls without an accessible name in %s:\n%s", where, walk.nameless->str);
  g_assert_cmpint(walk.controls, >=, at_least);
  g_string_free(walk.nameless, TRUE);
}

static GDBusConnection *
accessibility_bus(void)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(GDBusConnection) session = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error);
  if (!session)
    g_error("there is no session bus: %s", error->message);
  g_autofree char *address = text_of(
      call(session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", NULL, "(s)"));
  GDBusConnection *bus =
      g_dbus_connection_new_for_address_sync(address,
                                             G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                 G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                             NULL, NULL, &error);
  if (!bus)
    g_error("the accessibility bus cannot be reached: %s", error->message);
  return bus;
}

static void
test_names(void)
{
  g_autoptr(GDBusConnection) bus = accessibility_bus();
  PlaWindow *window = new_window();
  gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  settle(window);
  walk_all(bus, "the welcome page", 4);

  /* a case with a scan, its tissues and an operation to undo */
  g_autofree char *path = g_build_filename(fixture_dir, "names.platysma", NULL);
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  g_autofree char *labels = write_volume("labels.nii.gz", TRUE);
  pla_window_create(window, path);
  pla_window_open(window, scan);
  pla_window_open(window, labels);
  settle(window);
  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  for (int i = 0; i < n; i++) {
    pla_window_set_workspace(window, workspaces[i].id);
    settle(window);
    walk_all(bus, workspaces[i].id, 15);
  }
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/names/every-control", test_names);
  return fixture_run();
}

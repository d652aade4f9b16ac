/* Parses the command line, sets up style and drawing, opens windows, and takes screenshots once
 * a window is at rest. */
#include "ui/main/application.h"

#include "anatomy/base/parallel.h"
#include "platysma-config.h"
#include "ui/main/actions.h"
#include "ui/main/preferences.h"
#include "ui/main/window-bench.h"
#include "ui/main/window.h"
#include "ui/main/workspace.h"
#include "ui/widgets/settings.h"

#include <epoxy/gl.h>
#include <glib/gi18n.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

/* a screenshot that is not ready by then is taken as it is, and the program fails */
#define SCREENSHOT_LIMIT_S 120

struct _PlaApplication {
  AdwApplication parent_instance;
  char *workspace, *screenshot, *size, *style;
  gint64 deadline_us;
  int idle_turns;
  gboolean every; /* workspace: each gets a picture */
  int shot;       /* the one that is drawn now, in the registry */
  gboolean bench;
  char **activate; /* actions to do once everything is ready, before the screenshot */
  int status;
};

G_DEFINE_FINAL_TYPE(PlaApplication, pla_application, ADW_TYPE_APPLICATION)

/* ------------------------------------------------------------------ actions */

static void
on_about(GSimpleAction *action, GVariant *param, gpointer data)
{
  adw_show_about_window(gtk_application_get_active_window(data), "application-name", "Platysma",
                        "application-icon", "org.platysma.Platysma", "version", PLA_VERSION,
                        "developer-name", _("The Platysma developers"), "license-type",
                        GTK_LICENSE_GPL_3_0, "comments",
                        _("Surgical and anatomy simulation.\n\nFor research use only, not a "
                          "medical device: nothing that it shows may guide the treatment of a "
                          "patient."),
                        NULL);
}

static void
on_quit(GSimpleAction *action, GVariant *param, gpointer data)
{
  /* of a copy: closing changes the list, and may ask first */
  g_autoptr(GList) windows = g_list_copy(gtk_application_get_windows(data));
  for (GList *l = windows; l; l = l->next)
    if (PLA_IS_WINDOW(l->data))
      gtk_window_close(l->data);
}

static void
on_preferences(GSimpleAction *action, GVariant *param, gpointer data)
{
  gtk_window_present(GTK_WINDOW(pla_preferences_new(gtk_application_get_active_window(data))));
}

static void
on_style(GSettings *settings)
{
  g_autofree char *name = g_settings_get_string(settings, "style");
  AdwColorScheme scheme = g_str_equal(name, "light")    ? ADW_COLOR_SCHEME_FORCE_LIGHT
                          : g_str_equal(name, "system") ? ADW_COLOR_SCHEME_DEFAULT
                                                        : ADW_COLOR_SCHEME_FORCE_DARK;
  adw_style_manager_set_color_scheme(adw_style_manager_get_default(), scheme);
}

static void
on_threads(GSettings *settings)
{
  int n = g_settings_get_int(settings, "threads");
  pla_threads_set(n > 0 ? n : (int)g_get_num_processors());
}

static const GActionEntry action_entries[] = {
  { "about", on_about, NULL, NULL, NULL },
  { "quit", on_quit, NULL, NULL, NULL },
  { "preferences", on_preferences, NULL, NULL, NULL },
};

/* --------------------------------------------------------------- screenshot */

/* OUT.png, or OUT-mesh.png where every workspace gets one */
static char *
picture_path(PlaApplication *self)
{
  if (!self->every)
    return g_strdup(self->screenshot);
  int n;
  const char *id = pla_workspaces_get(&n)[self->shot].id;
  const gboolean png = g_str_has_suffix(self->screenshot, ".png");
  g_autofree char *base = g_strndup(self->screenshot, strlen(self->screenshot) - (png ? 4 : 0));
  return g_strdup_printf("%s-%s.png", base, id);
}

static void
start_waiting(PlaApplication *self)
{
  self->idle_turns = 0;
  self->deadline_us = g_get_monotonic_time() + SCREENSHOT_LIMIT_S * G_TIME_SPAN_SECOND;
}

static gboolean
on_screenshot_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  PlaApplication *self = data;
  PlaWindow *window = PLA_WINDOW(widget);
  gboolean late = g_get_monotonic_time() > self->deadline_us;
  /* what was finished in this turn is drawn in the next ones */
  self->idle_turns = pla_window_is_idle(window) ? self->idle_turns + 1 : 0;
  if (self->idle_turns < 8 && !late)
    return G_SOURCE_CONTINUE;
  if (self->activate && !late) {
    for (char **action = self->activate; *action; action++)
      pla_window_activate(window, *action);
    g_clear_pointer(&self->activate, g_strfreev);
    self->idle_turns = 0;
    return G_SOURCE_CONTINUE;
  }
  PlaError err;
  g_autofree char *path = picture_path(self);
  PlaStatus saved = pla_window_save(window, path, &err);
  if (saved == PLA_ERR_EMPTY && !late)
    return G_SOURCE_CONTINUE;
  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  if (saved == PLA_OK && !late && self->every && self->shot + 1 < n) {
    pla_window_set_workspace(window, workspaces[++self->shot].id);
    start_waiting(self);
    return G_SOURCE_CONTINUE;
  }
  const char *failure = pla_window_get_failure(window);
  if (late) {
    fprintf(stderr, "platysma: the views were not ready after %d s\n", SCREENSHOT_LIMIT_S);
    self->status = 1;
  } else if (failure) {
    fprintf(stderr, "platysma: %s\n", failure);
    self->status = 2;
  }
  if (saved != PLA_OK) {
    fprintf(stderr, "platysma: %s\n", err.message);
    self->status = 1;
  }
  gtk_window_destroy(GTK_WINDOW(window));
  return G_SOURCE_REMOVE;
}

/* ------------------------------------------------------------------ running */

typedef struct {
  PlaWindow *window;
  char *path; /* or NULL */
} Bench;

static gboolean
on_bench(gpointer data)
{
  Bench *bench = data;
  pla_window_bench(bench->window, bench->path);
  gtk_window_destroy(GTK_WINDOW(bench->window));
  g_free(bench->path);
  g_free(bench);
  return G_SOURCE_REMOVE;
}

/* once the window is up */
static void
start_bench(PlaWindow *window, const char *path)
{
  Bench *bench = g_new0(Bench, 1);
  bench->window = window;
  bench->path = g_strdup(path);
  g_timeout_add(1000, on_bench, bench);
}

static PlaWindow *
new_window(PlaApplication *self)
{
  GtkWidget *window = pla_window_new(ADW_APPLICATION(self));
  int n;
  if (self->workspace)
    pla_window_set_workspace(PLA_WINDOW(window),
                             self->every ? pla_workspaces_get(&n)[0].id : self->workspace);
  int width, height;
  char end;
  g_settings_get(pla_settings_get(), "window-size", "(ii)", &width, &height);
  if (self->size)
    sscanf(self->size, "%dx%d%c", &width, &height, &end);
  else if (g_settings_get_boolean(pla_settings_get(), "window-maximized"))
    gtk_window_maximize(GTK_WINDOW(window));
  gtk_window_set_default_size(GTK_WINDOW(window), MAX(width, 720), MAX(height, 480));
  gtk_window_present(GTK_WINDOW(window));
  if (self->screenshot) {
    start_waiting(self);
    gtk_widget_add_tick_callback(window, on_screenshot_tick, self, NULL);
  }
  return PLA_WINDOW(window);
}

static void
pla_application_activate(GApplication *application)
{
  PlaApplication *self = PLA_APPLICATION(application);
  PlaWindow *window = new_window(self);
  if (self->bench)
    start_bench(window, NULL);
  else if (self->screenshot)
    pla_window_open_demo(window);
}

static void
pla_application_open(GApplication *application, GFile **files, int n_files, const char *hint)
{
  PlaWindow *window = new_window(PLA_APPLICATION(application));
  for (int i = 0; i < n_files; i++) {
    g_autofree char *path = g_file_get_path(files[i]);
    if (path && PLA_APPLICATION(application)->bench)
      start_bench(window, path);
    else if (path)
      pla_window_open(window, path);
  }
  /* a picture leaves nothing behind */
  if (PLA_APPLICATION(application)->screenshot)
    pla_document_forsake(pla_window_get_document(window), TRUE);
}

static int
pla_application_handle_local_options(GApplication *application, GVariantDict *options)
{
  PlaApplication *self = PLA_APPLICATION(application);
  int width, height;
  char end;
  g_variant_dict_lookup(options, "workspace", "s", &self->workspace);
  g_variant_dict_lookup(options, "screenshot", "^ay", &self->screenshot);
  g_variant_dict_lookup(options, "size", "s", &self->size);
  self->bench = g_variant_dict_contains(options, "bench");
  g_variant_dict_lookup(options, "activate", "^as", &self->activate);
  g_variant_dict_lookup(options, "style", "s", &self->style);
  if (g_variant_dict_contains(options, "version")) {
    printf("platysma %s\n", PLA_VERSION);
    return 0;
  }
  self->every = self->screenshot && g_strcmp0(self->workspace, "all") == 0;
  if (self->workspace && !self->every && !pla_workspace_find(self->workspace)) {
    int n;
    const PlaWorkspace *known = pla_workspaces_get(&n);
    fprintf(stderr, "platysma: there is no workspace %s; choose one of:", self->workspace);
    for (int i = 0; i < n; i++)
      fprintf(stderr, " %s", known[i].id);
    fprintf(stderr, self->screenshot ? " all\n" : "\n");
    return 2;
  }
  if (self->style && !g_str_equal(self->style, "dark") && !g_str_equal(self->style, "light")) {
    fprintf(stderr, "platysma: --style is dark or light, not %s\n", self->style);
    return 2;
  }
  /* a picture of the window does not depend on who makes it, and changes nobody's preferences */
  if (self->screenshot)
    pla_settings_use_memory();
  if (self->size && (sscanf(self->size, "%dx%d%c", &width, &height, &end) != 2 || width < 320 ||
                     height < 240 || width > 16384 || height > 16384)) {
    fprintf(stderr, "platysma: --size is WIDTHxHEIGHT in pixels, such as 1280x800, not %s\n",
            self->size);
    return 2;
  }
  return -1;
}

/* Where OpenGL is software, the toolkit draws its widgets through it pixel by pixel, all of them in
 * every frame; cairo draws what has changed, in a third of the time. */
static void
choose_drawing(GdkDisplay *display)
{
  g_autoptr(GdkGLContext) context = display ? gdk_display_create_gl_context(display, NULL) : NULL;
  if (!context || !gdk_gl_context_realize(context, NULL))
    return;
  gdk_gl_context_make_current(context);
  const char *driver = (const char *)glGetString(GL_RENDERER);
  if (driver && (strstr(driver, "llvmpipe") || strstr(driver, "softpipe")))
    g_setenv("GSK_RENDERER", "cairo", FALSE);
  gdk_gl_context_clear_current();
}

static void
pla_application_startup(GApplication *application)
{
  G_APPLICATION_CLASS(pla_application_parent_class)->startup(application);
  choose_drawing(gdk_display_get_default());
  g_action_map_add_action_entries(G_ACTION_MAP(application), action_entries,
                                  G_N_ELEMENTS(action_entries), application);
  GSettings *settings = pla_settings_get();
  if (PLA_APPLICATION(application)->style)
    g_settings_set_string(settings, "style", PLA_APPLICATION(application)->style);
  g_autoptr(GAction) style = g_settings_create_action(settings, "style");
  g_action_map_add_action(G_ACTION_MAP(application), style);
  g_signal_connect(settings, "changed::style", G_CALLBACK(on_style), NULL);
  g_signal_connect(settings, "changed::threads", G_CALLBACK(on_threads), NULL);
  on_style(settings);
  if (g_settings_get_int(settings, "threads") > 0)
    on_threads(settings);
  pla_actions_set_accels(GTK_APPLICATION(application));
}

static void
pla_application_finalize(GObject *object)
{
  PlaApplication *self = PLA_APPLICATION(object);
  g_free(self->workspace);
  g_free(self->screenshot);
  g_strfreev(self->activate);
  g_free(self->size);
  g_free(self->style);
  G_OBJECT_CLASS(pla_application_parent_class)->finalize(object);
}

static void
pla_application_class_init(PlaApplicationClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_application_finalize;
  GApplicationClass *application = G_APPLICATION_CLASS(klass);
  application->activate = pla_application_activate;
  application->open = pla_application_open;
  application->startup = pla_application_startup;
  application->handle_local_options = pla_application_handle_local_options;
}

static void
pla_application_init(PlaApplication *self)
{
  static const GOptionEntry options[] = {
    { "workspace", 'w', 0, G_OPTION_ARG_STRING, NULL,
      N_("start in this workspace; all: a screenshot of each"), N_("NAME") },
    { "screenshot", 's', 0, G_OPTION_ARG_FILENAME, NULL,
      N_("draw the window once everything is ready, save it and exit"), N_("OUT.png") },
    { "size", 0, 0, G_OPTION_ARG_STRING, NULL, N_("size of the window in pixels"),
      N_("WIDTHxHEIGHT") },
    { "style", 0, 0, G_OPTION_ARG_STRING, NULL, N_("appearance: dark or light"), N_("NAME") },
    { "activate", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING_ARRAY, NULL, NULL, NULL },
    { "bench", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_NONE, NULL, NULL, NULL },
    { "version", 0, 0, G_OPTION_ARG_NONE, NULL, N_("print the version and exit"), NULL },
    { NULL },
  };
  g_application_add_main_option_entries(G_APPLICATION(self), options);
  g_application_set_option_context_parameter_string(G_APPLICATION(self), "[CASE OR SCAN…]");
}

PlaApplication *
pla_application_new(void)
{
  return g_object_new(PLA_TYPE_APPLICATION, "application-id", "org.platysma.Platysma", "flags",
                      G_APPLICATION_HANDLES_OPEN | G_APPLICATION_NON_UNIQUE, "resource-base-path",
                      "/org/platysma/Platysma", NULL);
}

int
pla_application_main(int argc, char **argv)
{
  g_autoptr(PlaApplication) application = pla_application_new();
  setlocale(LC_ALL, "");
  bindtextdomain("platysma", PLA_LOCALE_DIR);
  bind_textdomain_codeset("platysma", "UTF-8");
  textdomain("platysma");
  int status = g_application_run(G_APPLICATION(application), argc, argv);
  return status ? status : application->status;
}

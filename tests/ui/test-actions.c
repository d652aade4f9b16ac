/* The table of actions and what is made from it, preferences, files of the desktop. */
#include "io/formats/format.h"
#include "io/formats/pvd.h"
#include "tests/ui/fixture.h"
#include "ui/main/actions.h"
#include "ui/main/palette.h"
#include "ui/main/preferences.h"
#include "ui/main/workspace.h"
#include "ui/panels/report-panel.h"
#include "ui/views/export-window.h"
#include "ui/views/export.h"
#include "ui/views/plot-window.h"
#include "ui/views/slice-view.h"
#include "ui/widgets/help.h"
#include "ui/widgets/settings.h"

#include <math.h>
#include <string.h>

/* lets another window come up, and saves it where PLA_PICTURES asks for it */
static void
let_it_show(GtkWidget *window, const char *name)
{
  gtk_window_present(GTK_WINDOW(window));
  gint64 until = g_get_monotonic_time() + 400000;
  while (g_get_monotonic_time() < until)
    g_main_context_iteration(NULL, FALSE);
  const char *folder = g_getenv("PLA_PICTURES");
  if (folder) {
    g_autofree char *path = g_strdup_printf("%s/%s.png", folder, name);
    PlaError err;
    if (pla_widget_save(window, path, &err) != PLA_OK)
      g_error("%s", err.message);
  }
}

/* every row names an action that exists, every action has a row, no key means two things */
static void
test_table(void)
{
  PlaWindow *window = open_case();
  GActionGroup *win = G_ACTION_GROUP(window);
  GActionGroup *app = G_ACTION_GROUP(gtk_window_get_application(GTK_WINDOW(window)));
  g_autoptr(GHashTable) accels = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GHashTable) listed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  for (int i = 0; i < n; i++) {
    g_autofree char *name = NULL;
    g_autoptr(GVariant) target = NULL;
    g_assert_true(g_action_parse_detailed_name(table[i].action, &name, &target, NULL));
    g_assert_true(table[i].title && *table[i].title);
    if (table[i].accel)
      g_assert_true(g_hash_table_add(accels, (gpointer)table[i].accel));
    if (g_str_has_prefix(name, "win.") || g_str_has_prefix(name, "app.")) {
      GActionGroup *group = *name == 'w' ? win : app;
      if (!g_action_group_has_action(group, name + 4))
        g_error("there is no action %s", name);
      const GVariantType *type = g_action_group_get_action_parameter_type(group, name + 4);
      g_assert_true((type == NULL) == (target == NULL));
      if (target)
        g_assert_true(g_variant_is_of_type(target, type));
    }
    g_hash_table_add(listed, g_steal_pointer(&name));
  }
  for (int k = 0; k < 2; k++) {
    g_auto(GStrv) names = g_action_group_list_actions(k == 0 ? win : app);
    for (int i = 0; names[i]; i++) {
      g_autofree char *full = g_strconcat(k == 0 ? "win." : "app.", names[i], NULL);
      if (!g_hash_table_contains(listed, full))
        g_error("%s has no row in ui/main/actions.c", full);
    }
  }
  close_window(window);
}

static void
note_action(const char *detailed, gpointer data)
{
  *(const char **)data = detailed;
}

static void
test_palette(void)
{
  g_assert_cmpint(pla_palette_score("open", "Open"), >, pla_palette_score("open", "Reopen it"));
  g_assert_cmpint(pla_palette_score("", "anything"), >, 0);
  g_assert_cmpint(pla_palette_score("opn", "Open"), >, 0);
  g_assert_cmpint(pla_palette_score("front look", "Look From: The Front"), >, 0);
  g_assert_cmpint(pla_palette_score("zzz", "Open"), ==, 0);

  PlaWindow *window = open_case();
  const char *chosen = NULL;
  PlaPalette *palette = PLA_PALETTE(pla_palette_new(GTK_WINDOW(window), note_action, &chosen));
  let_it_show(GTK_WIDGET(palette), "palette");
  pla_palette_search(palette, "from the left");
  g_assert_cmpstr(pla_palette_get_row(palette, 0), ==, "win.look::left");
  pla_palette_search(palette, "coronal");
  g_assert_cmpstr(pla_palette_get_row(palette, 0), ==, "win.layout::coronal");
  /* nothing was undone, so redoing is not offered */
  pla_palette_search(palette, "redo");
  for (int i = 0; pla_palette_get_row(palette, i); i++)
    g_assert_cmpstr(pla_palette_get_row(palette, i), !=, "win.redo");
  pla_palette_search(palette, "qqqq");
  g_assert_null(pla_palette_get_row(palette, 0));
  pla_palette_search(palette, "coronal");
  pla_palette_activate(palette);
  g_assert_cmpstr(chosen, ==, "win.layout::coronal");

  pla_window_activate(window, chosen);
  g_autoptr(GVariant) layout = g_action_group_get_action_state(G_ACTION_GROUP(window), "layout");
  g_assert_cmpstr(g_variant_get_string(layout, NULL), ==, "coronal");
  close_window(window);
}

/* the first group of a panel */
static AdwPreferencesGroup *
find_group(GtkWidget *widget)
{
  AdwPreferencesGroup *found = NULL;
  if (ADW_IS_PREFERENCES_GROUP(widget))
    return ADW_PREFERENCES_GROUP(widget);
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child && !found;
       child = gtk_widget_get_next_sibling(child))
    found = find_group(child);
  return found;
}

/* preferences and actions are two handles of one thing; explanations come and go */
static void
test_preferences(void)
{
  PlaWindow *window = open_case();
  GSettings *settings = pla_settings_get();
  GActionGroup *win = G_ACTION_GROUP(window);
  g_settings_set_string(settings, "convention", "neurological");
  g_assert_false(pla_document_get_radiological(pla_window_get_document(window)));
  g_action_group_activate_action(win, "convention", g_variant_new_string("radiological"));
  g_autofree char *now = g_settings_get_string(settings, "convention");
  g_assert_cmpstr(now, ==, "radiological");
  g_action_group_activate_action(win, "smooth", NULL);
  g_assert_false(g_settings_get_boolean(settings, "smooth"));
  g_settings_reset(settings, "smooth");
  GtkWidget *panel = pla_window_get_panel(window, "import");
  AdwPreferencesGroup *group = find_group(panel);
  g_autofree char *said = g_strdup(adw_preferences_group_get_description(group));
  g_assert_cmpint((int)strlen(said), >, 10);
  g_settings_set_boolean(settings, "explain", FALSE);
  g_assert_cmpstr(adw_preferences_group_get_description(group), ==, "");
  g_settings_reset(settings, "explain");
  g_assert_cmpstr(adw_preferences_group_get_description(group), ==, said);

  GtkApplication *application = gtk_window_get_application(GTK_WINDOW(window));
  g_action_group_activate_action(G_ACTION_GROUP(application), "style",
                                 g_variant_new_string("light"));
  g_assert_false(adw_style_manager_get_dark(adw_style_manager_get_default()));
  GtkWidget *preferences = pla_preferences_new(GTK_WINDOW(window));
  let_it_show(preferences, "preferences-light");
  gtk_window_destroy(GTK_WINDOW(preferences));
  g_settings_reset(settings, "style");
  g_assert_true(adw_style_manager_get_dark(adw_style_manager_get_default()));
  preferences = pla_preferences_new(GTK_WINDOW(window));
  let_it_show(preferences, "preferences");
  gtk_window_destroy(GTK_WINDOW(preferences));

  GtkWidget *shortcuts = pla_shortcuts_window_new(GTK_WINDOW(window));
  let_it_show(shortcuts, "shortcuts");
  gtk_window_destroy(GTK_WINDOW(shortcuts));
  close_window(window);
}

/* the Report workspace shows pages by itself, saves them, and leaves the case as it was */
static void
test_report(void)
{
  PlaWindow *window = new_window();
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  g_autofree char *path = g_build_filename(fixture_dir, "report.platysma", NULL);
  g_autofree char *pdf = g_build_filename(fixture_dir, "report.pdf", NULL);
  g_autofree char *html = g_build_filename(fixture_dir, "report.html", NULL);
  PlaReportPanel *panel = PLA_REPORT_PANEL(pla_window_get_panel(window, "report"));
  g_assert_cmpint(pla_report_panel_n_pages(panel), ==, 0);
  pla_window_create(window, path);
  settle(window);
  pla_window_open(window, scan);
  settle(window);
  PlaSession *session = pla_document_get_session(pla_window_get_document(window));
  const int before = pla_session_get_log(session)->n;
  pla_window_set_workspace(window, "report");
  settle(window);
  g_assert_cmpint(pla_report_panel_n_pages(panel), >=, 1);
  pla_report_panel_save(panel, pdf);
  settle(window);
  pla_report_panel_save(panel, html);
  settle(window);
  g_autofree char *bytes = NULL, *text = NULL;
  g_assert_true(g_file_get_contents(pdf, &bytes, NULL, NULL));
  g_assert_true(g_str_has_prefix(bytes, "%PDF"));
  g_assert_true(g_file_get_contents(html, &text, NULL, NULL));
  g_assert_nonnull(strstr(text, "Operations"));
  g_assert_cmpint(pla_session_get_log(session)->n, ==, before);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);

  /* a place that cannot be written is a sentence, once */
  pla_report_panel_save(panel, "/nowhere/report.pdf");
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "/nowhere/report.pdf"));
  close_window(window);
}

static void
pick(PlaWindow *window, double x, double y, double z)
{
  const PlaScenePick place = { .cell = -1, .vert = -1, .point_mm = { x, y, z } };
  pla_tools_pick(pla_document_get_tools(pla_window_get_document(window)), NULL, &place);
}

static void
measure(PlaWindow *window, const char *kind)
{
  g_action_group_activate_action(G_ACTION_GROUP(window), "measure", g_variant_new_string(kind));
}

/* places become operations of the case: drawn, listed, undone, done again */
static void
test_measure(void)
{
  PlaWindow *window = new_window();
  PlaDocument *document = pla_window_get_document(window);
  PlaAnnotations *notes = pla_document_get_annotations(document);
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  g_autofree char *path = g_build_filename(fixture_dir, "measure.platysma", NULL);
  const char *name;
  pla_window_create(window, path);
  settle(window);
  pla_window_open(window, scan);
  settle(window);
  const guint groups = g_list_model_get_n_items(pla_document_get_tree(document));
  GtkWidget *axial = pla_window_get_slice(window, PLA_AXIS_AXIAL);
  const int before = count_colours(window, axial);

  measure(window, "distance");
  pick(window, -10, 0, 0);
  g_assert_cmpint(pla_annotations_n(notes), ==, 0); /* one end is no distance yet */
  pick(window, -10.2, 0, 0);                        /* the same place again is none either */
  pick(window, 20, 0, 0);
  settle(window);
  g_assert_cmpint(pla_annotations_n(notes), ==, 1);
  g_assert_cmpfloat(pla_annotations_get(notes, 0, &name)->value, ==, 30.0);
  g_assert_cmpstr(name, ==, "Distance 1");
  g_assert_cmpint((int)g_list_model_get_n_items(pla_document_get_tree(document)), ==,
                  (int)groups + 1);
  pla_document_set_cursor(document, (double[3]){ 0, 0, 0 });
  settle(window);
  g_assert_cmpint(count_colours(window, axial), !=, before);

  measure(window, "angle");
  pick(window, 10, 0, 0);
  pick(window, 0, 0, 0);
  pick(window, 0, 10, 0);
  settle(window);
  measure(window, "path");
  pick(window, 0, 0, 0);
  pick(window, 3, 4, 0);
  pick(window, 3, 4, 5);
  pick(window, 3, 4, 5.1); /* ends it */
  settle(window);
  measure(window, "landmark");
  pick(window, 1, 2, 3);
  settle(window);
  g_assert_cmpint(pla_annotations_n(notes), ==, 4);
  g_assert_cmpfloat_with_epsilon(pla_annotations_get(notes, 1, NULL)->value, 90.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(pla_annotations_get(notes, 2, NULL)->value, 10.0, 1e-9);

  /* the volume of the tissue under the pointer */
  find_core(document);
  settle(window);
  measure(window, "volume");
  pick(window, 10, 0, 0);
  settle(window);
  g_assert_cmpint(pla_annotations_n(notes), ==, 5);
  const PlaAnnotation *volume = pla_annotations_get(notes, 4, &name);
  g_assert_cmpstr(name, ==, "Volume of Core");
  g_assert_cmpfloat_with_epsilon(volume->value, 4.0 / 3.0 * G_PI * pow(12.0, 3.0),
                                 0.05 * volume->value);

  /* Escape, or another tool, drops what was begun */
  measure(window, "distance");
  pick(window, 0, 0, 0);
  pla_tools_set(pla_document_get_tools(document), PLA_TOOL_NONE, NULL, NULL);
  pick(window, 9, 9, 9);
  g_assert_cmpint(pla_annotations_n(notes), ==, 5);

  for (int i = 0; i < 6; i++)
    g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
  settle(window);
  g_assert_cmpint(pla_annotations_n(notes), ==, 0);
  for (int i = 0; i < 6; i++)
    g_action_group_activate_action(G_ACTION_GROUP(window), "redo", NULL);
  settle(window);
  g_assert_cmpint(pla_annotations_n(notes), ==, 5);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  let_it_show(GTK_WIDGET(window), "measure");
  close_window(window);
}

/* the scan by its tissues; zoomed by keys, named under the pointer, saved */
static void
test_plots(void)
{
  PlaWindow *window = open_case();
  GtkWidget *plots = pla_plot_window_new(GTK_WINDOW(window), pla_window_get_document(window));
  PlaPlotView *view = pla_plot_window_get_view(PLA_PLOT_WINDOW(plots));
  g_assert_cmpint(pla_plot_window_n_plots(PLA_PLOT_WINDOW(plots)), ==, 1);
  const PlaPlot *plot = pla_plot_view_get_plot(view);
  g_assert_cmpint(plot->n_series, ==, 2);
  let_it_show(plots, "plots");
  double px, py;
  int tallest = 0;
  for (int i = 0; i < plot->series[0].n; i++)
    if (plot->series[0].y[i] > plot->series[0].y[tallest])
      tallest = i;
  pla_plot_place(plot, pla_plot_view_get_range(view), gtk_widget_get_width(GTK_WIDGET(view)),
                 gtk_widget_get_height(GTK_WIDGET(view)), 0, tallest, &px, &py);
  g_autofree char *text = pla_plot_view_describe(view, px, py + 2.0);
  g_assert_true(g_str_has_prefix(text, plot->series[0].name));
  g_autofree char *svg = g_build_filename(fixture_dir, "plot.svg", NULL);
  g_autofree char *csv = g_build_filename(fixture_dir, "plot.csv", NULL);
  PlaError err;
  g_assert_cmpint(pla_plot_window_save(PLA_PLOT_WINDOW(plots), svg, &err), ==, PLA_OK);
  g_assert_cmpint(pla_plot_window_save(PLA_PLOT_WINDOW(plots), csv, &err), ==, PLA_OK);
  g_assert_cmpint(pla_plot_window_save(PLA_PLOT_WINDOW(plots), "plot.txt", &err), ==,
                  PLA_ERR_UNSUPPORTED);
  gtk_window_destroy(GTK_WINDOW(plots));
  close_window(window);
}

/* a take of two markers: the strip comes with it, scrubs, plays to its end, and goes with it */
static void
test_timeline(void)
{
  PlaWindow *window = new_window();
  PlaTimeline *timeline = PLA_TIMELINE(pla_window_get_timeline(window));
  g_autofree char *path = g_build_filename(fixture_dir, "time.platysma", NULL);
  g_autofree char *trc = g_build_filename(fixture_dir, "take.trc", NULL);
  PlaItem item = { .kind = PLA_KIND_TAKE };
  PlaError err;
  g_assert_cmpint(pla_take_new(11, 2, &item.take, &err), ==, PLA_OK);
  item.take->rate_hz = 50.0;
  for (int m = 0; m < 2; m++) {
    free(item.take->name[m]);
    item.take->name[m] = strdup(m == 0 ? "chin" : "lip");
  }
  for (int i = 0; i < 11 * 2 * 3; i++)
    item.take->pos[i] = 0.001 * i;
  PlaWriteOptions opts = pla_write_options_default();
  if (pla_item_write(trc, &item, &opts, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_item_clear(&item);

  g_autofree char *scan = write_volume("scan.nii", FALSE);
  pla_window_create(window, path);
  settle(window);
  pla_window_open(window, scan);
  settle(window);
  g_assert_false(gtk_widget_get_visible(GTK_WIDGET(timeline)));
  pla_window_open(window, trc);
  settle(window);
  g_assert_true(gtk_widget_get_visible(GTK_WIDGET(timeline)));
  g_assert_cmpint(pla_timeline_n_frames(timeline), ==, 11);
  pla_timeline_set_frame(timeline, 5);
  g_assert_cmpfloat_with_epsilon(pla_timeline_get_time(timeline), 0.1, 1e-6);
  let_it_show(GTK_WIDGET(window), "timeline");
  pla_timeline_set_frame(timeline, 1000);
  g_assert_cmpint(pla_timeline_get_frame(timeline), ==, 10);
  /* played from the start again, in its own time, to its end */
  g_action_group_activate_action(G_ACTION_GROUP(window), "play", NULL);
  g_assert_true(pla_timeline_get_playing(timeline));
  while (pla_timeline_get_playing(timeline))
    g_main_context_iteration(NULL, TRUE);
  g_assert_cmpint(pla_timeline_get_frame(timeline), ==, 10);
  g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
  settle(window);
  g_assert_false(gtk_widget_get_visible(GTK_WIDGET(timeline)));
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  close_window(window);
}

/* a series of meshes plays as one motion; one whose meshes differ is a sentence */
static void
test_series(void)
{
  static const double rest[4][3] = { { 0, 0, 0 }, { 0.05, 0, 0 }, { 0, 0.05, 0 }, { 0, 0, 0.05 } };
  static const char *const names[] = { "a.vtu", "b.vtu", "c.vtu" };
  static const double times[] = { 0.0, 0.5, 1.0 };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err;
  for (int f = 0; f < 3; f++) {
    PlaItem item = { .kind = PLA_KIND_MESH };
    g_autofree char *file = g_build_filename(fixture_dir, names[f], NULL);
    g_assert_cmpint(pla_mesh_new(f < 2 ? 4 : 5, 0, 1, 0, &item.mesh, &err), ==, PLA_OK);
    memcpy(item.mesh->pos, rest, sizeof rest);
    item.mesh->pos[11] += 0.01 * f;
    for (int v = 0; v < 4; v++)
      item.mesh->tet[v] = v;
    if (pla_item_write(file, &item, &opts, &err) != PLA_OK)
      g_error("%s", err.message);
    pla_item_clear(&item);
  }
  g_autofree char *path = g_build_filename(fixture_dir, "motion.pvd", NULL);
  PlaWindow *window = new_window();
  PlaTimeline *timeline = PLA_TIMELINE(pla_window_get_timeline(window));
  g_assert_cmpint(pla_pvd_write(path, 2, times, names, &err), ==, PLA_OK);
  pla_window_open(window, path);
  settle(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_assert_cmpint(pla_timeline_n_frames(timeline), ==, 2);
  pla_timeline_set_frame(timeline, 1);
  g_assert_cmpfloat(pla_timeline_get_time(timeline), ==, 0.5);
  settle(window);
  let_it_show(GTK_WIDGET(window), "series");
  g_assert_cmpint(pla_pvd_write(path, 3, times, names, &err), ==, PLA_OK);
  pla_window_open(window, path);
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "c.vtu has 5 vertices"));
  close_window(window);
}

/* every page has a title and valid markup, every button an action that exists, every workspace a
 * page */
static void
test_help(void)
{
  int n_pages, n_actions, n_workspaces, n_tutorials = 0;
  const PlaHelpPage *pages = pla_help_pages_get(&n_pages);
  const PlaActionInfo *actions = pla_actions_get(&n_actions);
  const PlaWorkspace *workspaces = pla_workspaces_get(&n_workspaces);
  for (int p = 0; p < n_pages; p++) {
    g_autofree char *text = pla_help_dup_text(pages[p].id);
    if (!text)
      g_error("ui/help/%s.txt is not in the resources", pages[p].id);
    g_assert_true(g_str_has_prefix(text, "# "));
    n_tutorials += pages[p].tutorial;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (int i = 0; lines[i]; i++) {
      g_autoptr(GError) error = NULL;
      if (!pango_parse_markup(lines[i], -1, 0, NULL, NULL, NULL, &error))
        g_error("ui/help/%s.txt, line %d: %s", pages[p].id, i + 1, error->message);
      if (!g_str_has_prefix(lines[i], "> "))
        continue;
      g_autofree char *action = g_strndup(lines[i] + 2, strcspn(lines[i] + 2, " "));
      gboolean known = FALSE;
      for (int a = 0; a < n_actions; a++)
        known = known || strcmp(actions[a].action, action) == 0;
      if (!known)
        g_error("ui/help/%s.txt, line %d: there is no action %s", pages[p].id, i + 1, action);
    }
  }
  g_assert_cmpint(n_tutorials, >=, 3);
  PlaWindow *window = new_window();
  const char *chosen = NULL;
  PlaHelp *help = PLA_HELP(pla_help_new(GTK_WINDOW(window), note_action, &chosen));
  for (int w = 0; w < n_workspaces; w++)
    if (!pla_help_show(help, workspaces[w].id))
      g_error("the workspace %s has no page in the guide", workspaces[w].id);
  g_assert_false(pla_help_show(help, "nonsense"));
  pla_help_show(help, "tutorial-report");
  let_it_show(GTK_WIDGET(help), "help");
  gtk_window_destroy(GTK_WINDOW(help));
  close_window(window);
}

/* picture, surface, tables and numbered pictures, all from one window */
static void
test_export(void)
{
  PlaWindow *window = new_window();
  g_autofree char *path = g_build_filename(fixture_dir, "export.platysma", NULL);
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  pla_window_create(window, path);
  settle(window);
  pla_window_open(window, scan);
  settle(window);
  find_core(pla_window_get_document(window));
  settle(window);
  g_settings_set_int(pla_settings_get(), "picture-width", 96);
  g_settings_set_int(pla_settings_get(), "picture-height", 64);
  PlaExportWindow *export =
      PLA_EXPORT_WINDOW(pla_export_window_new(GTK_WINDOW(window), pla_window_get_document(window),
                                              PLA_SCENE_VIEW(pla_window_get_scene(window)),
                                              PLA_TIMELINE(pla_window_get_timeline(window))));
  settle(window);
  let_it_show(GTK_WIDGET(export), "export");
  g_assert_nonnull(strstr(pla_export_window_get_check(export), "ready to print"));
  static const char *const names[] = { "picture.png", "surface.stl", "table.csv", "frames" };
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *file = g_build_filename(fixture_dir, names[i], NULL);
    pla_export_window_save(export, file);
    settle(window);
    if (!g_file_test(file, G_FILE_TEST_EXISTS))
      g_error("%s was not written", names[i]);
  }
  g_autofree char *picture = g_build_filename(fixture_dir, "picture.png", NULL);
  g_autofree char *last = g_build_filename(fixture_dir, "frames", "frame-00120.png", NULL);
  g_autofree char *surface = g_build_filename(fixture_dir, "surface.stl", NULL);
  cairo_surface_t *png = cairo_image_surface_create_from_png(picture);
  g_assert_cmpint(cairo_image_surface_get_width(png), ==, 96);
  g_assert_cmpint(cairo_image_surface_get_height(png), ==, 64);
  cairo_surface_destroy(png);
  g_assert_true(g_file_test(last, G_FILE_TEST_IS_REGULAR));
  PlaReadOptions opts = pla_read_options_default();
  PlaItem item;
  PlaError err;
  g_assert_cmpint(pla_item_read(surface, &opts, &item, &err), ==, PLA_OK);
  PlaMeshSummary sum;
  g_assert_cmpint(pla_mesh_summary(item.mesh, &sum, &err), ==, PLA_OK);
  g_assert_true(sum.closed);
  pla_item_clear(&item);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_settings_reset(pla_settings_get(), "picture-width");
  g_settings_reset(pla_settings_get(), "picture-height");
  gtk_window_destroy(GTK_WINDOW(export));
  close_window(window);
}

/* where writing runs from right to left the list changes sides, but no picture of a patient does */
static void
test_right_to_left(void)
{
  gtk_widget_set_default_direction(GTK_TEXT_DIR_RTL);
  PlaWindow *window = open_case();
  graphene_rect_t axial, sagittal;
  g_assert_true(gtk_widget_compute_bounds(pla_window_get_slice(window, PLA_AXIS_AXIAL),
                                          GTK_WIDGET(window), &axial));
  g_assert_true(gtk_widget_compute_bounds(pla_window_get_slice(window, PLA_AXIS_SAGITTAL),
                                          GTK_WIDGET(window), &sagittal));
  g_assert_cmpfloat(axial.origin.x, <, sagittal.origin.x);
  PlaSlicePlane plane =
      pla_slice_view_get_plane(PLA_SLICE_VIEW(pla_window_get_slice(window, PLA_AXIS_AXIAL)));
  double x, y;
  pla_slice_from_ras(&plane, (double[3]){ 10, 0, 0 }, &x, &y);
  g_assert_cmpfloat(x, <, 0.5 * plane.width); /* the patient's right is on the left still */
  let_it_show(GTK_WIDGET(window), "right-to-left");
  close_window(window);
  gtk_widget_set_default_direction(GTK_TEXT_DIR_LTR);
}

/* before anything is open: ways to begin, and what it is not for */
static void
test_welcome(void)
{
  PlaWindow *window = new_window();
  settle(window);
  g_assert_false(g_action_group_get_action_enabled(G_ACTION_GROUP(window), "export"));
  g_assert_false(g_action_group_get_action_enabled(G_ACTION_GROUP(window), "measure"));
  g_assert_true(g_action_group_get_action_enabled(G_ACTION_GROUP(window), "help"));
  let_it_show(GTK_WIDGET(window), "welcome");
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/actions/table", test_table);
  g_test_add_func("/actions/palette", test_palette);
  g_test_add_func("/actions/preferences", test_preferences);
  g_test_add_func("/actions/report", test_report);
  g_test_add_func("/actions/measure", test_measure);
  g_test_add_func("/actions/plots", test_plots);
  g_test_add_func("/actions/welcome", test_welcome);
  g_test_add_func("/actions/right-to-left", test_right_to_left);
  g_test_add_func("/actions/timeline", test_timeline);
  g_test_add_func("/actions/series", test_series);
  g_test_add_func("/actions/help", test_help);
  g_test_add_func("/actions/export", test_export);
  return fixture_run();
}

/* The window under Xvfb: what it shows, its actions, its sentences. */
#include "anatomy/volume/slice.h"
#include "tests/ui/fixture.h"
#include "ui/main/workspace.h"
#include "ui/views/scene-view.h"
#include "ui/views/slice-view.h"

#include <math.h>
#include <string.h>

static void
test_views(void)
{
  PlaWindow *window = open_case();
  PlaDocument *document = pla_window_get_document(window);
  g_assert_nonnull(pla_document_get_volume(document));
  g_assert_nonnull(pla_document_get_labels(document));
  for (int axis = 0; axis < 3; axis++)
    g_assert_cmpint(count_colours(window, pla_window_get_slice(window, axis)), >, 60);
  g_assert_cmpint(count_colours(window, pla_window_get_scene(window)), >, 300);

  /* the surface under the middle of the 3-D view lies on the ball */
  GtkWidget *scene = pla_window_get_scene(window);
  PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), 0.5 * gtk_widget_get_width(scene),
                                         0.5 * gtk_widget_get_height(scene));
  g_assert_cmpint(hit.id, >, 0);
  double r = 0.0;
  for (int d = 0; d < 3; d++)
    r += pow(hit.point_mm[d], 2.0);
  g_assert_cmpfloat_with_epsilon(sqrt(r), 30.0, 1.5);

  /* left is left: the inner ball is on the patient's right (+10 mm), left in the axial picture */
  PlaSlicePlane plane =
      pla_slice_view_get_plane(PLA_SLICE_VIEW(pla_window_get_slice(window, PLA_AXIS_AXIAL)));
  double x, y;
  pla_slice_from_ras(&plane, (double[3]){ 10, 0, 0 }, &x, &y);
  g_assert_cmpfloat(x, <, 0.5 * plane.width);
  g_autofree char *text = pla_document_describe(document, (double[3]){ 10, 0, 0 });
  g_assert_nonnull(strstr(text, "R 10.0"));
  g_assert_nonnull(strstr(text, "900"));
  g_assert_nonnull(strstr(text, "label 2"));
  close_window(window);
}

static void
test_actions(void)
{
  static const char *const names[] = {
    "open",      "open-folder", "open-demo",    "close-case",   "fit",       "look",
    "layout",    "grey-window", "smooth",       "convention",   "workspace", "slices-in-space",
    "show-tree", "show-panel",  "save-picture", "forget-recent"
  };
  PlaWindow *window = open_case();
  GActionGroup *group = G_ACTION_GROUP(window);
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
    g_assert_true(g_action_group_has_action(group, names[i]));

  /* each layout shows what it names */
  g_action_group_activate_action(group, "layout", g_variant_new_string("axial"));
  g_assert_true(gtk_widget_get_visible(pla_window_get_slice(window, PLA_AXIS_AXIAL)));
  g_assert_false(gtk_widget_get_visible(pla_window_get_slice(window, PLA_AXIS_CORONAL)));
  g_assert_false(gtk_widget_get_visible(pla_window_get_scene(window)));
  g_action_group_activate_action(group, "layout", g_variant_new_string("scene"));
  g_assert_true(gtk_widget_get_visible(pla_window_get_scene(window)));
  settle(window);
  g_action_group_activate_action(group, "layout", g_variant_new_string("four"));

  /* the convention turns the axial picture round */
  g_action_group_activate_action(group, "convention", g_variant_new_string("neurological"));
  PlaSlicePlane plane =
      pla_slice_view_get_plane(PLA_SLICE_VIEW(pla_window_get_slice(window, PLA_AXIS_AXIAL)));
  g_assert_cmpfloat(plane.right_mm[0], >, 0.0);

  double grey[2];
  g_action_group_activate_action(group, "grey-window", g_variant_new_string("bone"));
  pla_document_get_window(pla_window_get_document(window), grey);
  g_assert_cmpfloat(grey[1], ==, 1550.0);

  settle(window);
  int before = count_colours(window, pla_window_get_scene(window));
  g_action_group_activate_action(group, "slices-in-space", NULL);
  for (int v = 0; v < PLA_N_VIEWS; v++)
    g_action_group_activate_action(group, "look",
                                   g_variant_new_string(pla_view_preset_name((PlaViewPreset)v)));
  settle(window);
  g_assert_cmpint(count_colours(window, pla_window_get_scene(window)), !=, before);

  /* every workspace of the registry can be chosen */
  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  for (int i = 0; i < n; i++) {
    g_assert_true(pla_window_set_workspace(window, workspaces[i].id));
    g_autoptr(GVariant) state = g_action_group_get_action_state(group, "workspace");
    g_assert_cmpstr(g_variant_get_string(state, NULL), ==, workspaces[i].id);
  }
  g_assert_false(pla_window_set_workspace(window, "nonsense"));

  g_action_group_activate_action(group, "close-case", NULL);
  answer_question(window, "discard");
  g_assert_true(pla_document_is_empty(pla_window_get_document(window)));
  g_assert_false(g_action_group_get_action_enabled(group, "close-case"));
  close_window(window);
}

/* hiding a tissue takes it out of slices and scene; finding tissues makes them anew */
static void
test_tissues(void)
{
  PlaWindow *window = open_case();
  PlaDocument *document = pla_window_get_document(window);
  g_autoptr(PlaEntry) group = g_list_model_get_item(pla_document_get_tree(document), 1);
  GListModel *tissues = G_LIST_MODEL(pla_entry_get_children(group));
  g_assert_cmpint((int)g_list_model_get_n_items(tissues), ==, 2);
  g_autoptr(PlaEntry) outer = g_list_model_get_item(tissues, 0);
  g_assert_nonnull(pla_entry_get_mesh(outer));
  pla_entry_set_visible(outer, FALSE);
  g_assert_cmpint(pla_label_table_find(pla_document_get_overlay(document), 1)->rgba[3], ==, 0);
  settle(window);
  GtkWidget *scene = pla_window_get_scene(window);
  PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), 4, 4);
  g_assert_cmpint(hit.id, ==, 0);

  /* without the scan, slices have the few colours of their tissues and letters */
  g_autoptr(PlaEntry) scans = g_list_model_get_item(pla_document_get_tree(document), 0);
  GtkWidget *axial = pla_window_get_slice(window, PLA_AXIS_AXIAL);
  int grey = count_colours(window, axial);
  pla_entry_set_visible(scans, FALSE);
  settle(window);
  g_assert_cmpint(count_colours(window, axial), <, grey);
  pla_entry_set_visible(scans, TRUE);

  find_core(document);
  settle(window);
  g_assert_cmpint((int)g_list_model_get_n_items(tissues), ==, 1);
  g_autoptr(PlaEntry) core = g_list_model_get_item(tissues, 0);
  g_assert_cmpstr(pla_entry_get_name(core), ==, "Core");
  g_assert_nonnull(pla_entry_get_mesh(core));
  close_window(window);
}

/* a case: import, find a tissue, undo both, redo both; the views follow */
static void
test_case(void)
{
  PlaWindow *window = new_window();
  PlaDocument *document = pla_window_get_document(window);
  GActionGroup *group = G_ACTION_GROUP(window);
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  g_autofree char *path = g_build_filename(fixture_dir, "test.platysma", NULL);
  pla_window_create(window, path);
  settle(window);
  g_assert_nonnull(pla_document_get_session(document));
  g_assert_false(g_action_group_get_action_enabled(group, "undo"));
  pla_window_open(window, scan);
  settle(window);
  g_assert_nonnull(pla_document_get_volume(document));
  find_core(document);
  settle(window);
  g_assert_nonnull(pla_document_get_labels(document));
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);

  g_action_group_activate_action(group, "undo", NULL);
  settle(window);
  g_assert_null(pla_document_get_labels(document));
  g_assert_nonnull(pla_document_get_volume(document));
  g_action_group_activate_action(group, "undo", NULL);
  settle(window);
  g_assert_null(pla_document_get_volume(document));
  g_assert_false(g_action_group_get_action_enabled(group, "undo"));
  g_action_group_activate_action(group, "redo", NULL);
  g_action_group_activate_action(group, "redo", NULL);
  settle(window);
  g_assert_nonnull(pla_document_get_volume(document));
  g_assert_nonnull(pla_document_get_labels(document));
  close_window(window);

  /* all of it is in the file */
  window = new_window();
  pla_window_open(window, path);
  settle(window);
  g_assert_nonnull(pla_document_get_labels(pla_window_get_document(window)));
  g_assert_cmpint(count_colours(window, pla_window_get_slice(window, PLA_AXIS_AXIAL)), >, 60);
  close_window(window);
}

static gboolean
on_late(gpointer data)
{
  *(gboolean *)data = TRUE;
  return G_SOURCE_REMOVE;
}

/* The command line works on the case that the window has open, and the window on it meanwhile: both
 * keep what they did, and the window shows it without being touched. */
static void
test_two_programs(void)
{
  PlaWindow *window = new_window();
  PlaDocument *document = pla_window_get_document(window);
  g_autofree char *scan = write_volume("shared.nii", FALSE);
  g_autofree char *path = g_build_filename(fixture_dir, "shared.platysma", NULL);
  g_autofree char *quoted = g_shell_quote(path);
  pla_window_create(window, path);
  settle(window);
  for (int i = 0; i < 3; i++) {
    g_autofree char *note = g_strdup_printf(
        "%s case apply %s note '{\"name\": \"theirs %d\", \"text\": \"x\"}' --quiet",
        g_getenv("PLATYSMA_CLI"), quoted, i);
    int status = -1;
    g_assert_true(g_spawn_command_line_sync(note, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    if (i == 0)
      pla_window_open(window, scan); /* at once, over what it has not seen */
    if (i == 1)
      find_core(document);
    settle(window);
  }
  /* the last note comes by itself */
  PlaSession *session = pla_document_get_session(document);
  gboolean late = FALSE;
  guint guard = g_timeout_add_seconds(60, on_late, &late);
  while (!late && !pla_state_find_name(pla_session_get_state(session), "theirs 2"))
    g_main_context_iteration(NULL, TRUE);
  g_assert_false(late);
  g_source_remove(guard);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_assert_cmpint(pla_session_get_log(session)->n, ==, 5);
  const PlaState *state = pla_session_get_state(session);
  g_assert_cmpint(state->n, ==, 5); /* three notes, the scan, its label map */
  for (int i = 0; i < 3; i++) {
    g_autofree char *name = g_strdup_printf("theirs %d", i);
    g_assert_nonnull(pla_state_find_name(state, name));
  }
  g_assert_cmpint(pla_session_get_branches(session)->n, ==, 1);
  close_window(window);
}

static void
find_status_pages(GtkWidget *root, GPtrArray *titles)
{
  if (ADW_IS_STATUS_PAGE(root) && gtk_widget_get_visible(root))
    g_ptr_array_add(titles, (gpointer)adw_status_page_get_title(ADW_STATUS_PAGE(root)));
  for (GtkWidget *child = gtk_widget_get_first_child(root); child;
       child = gtk_widget_get_next_sibling(child))
    find_status_pages(child, titles);
}

/* a scan opened from the welcome page and its tissues: every workspace finds them */
static void
test_panels_agree(void)
{
  PlaWindow *window = new_window();
  PlaDocument *document = pla_window_get_document(window);
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  pla_window_open(window, scan);
  settle(window);
  find_core(document);
  settle(window);
  g_assert_nonnull(pla_document_get_labels(document));
  static const char *const panels[] = { "anatomy", "mesh", "surgery" };
  for (size_t i = 0; i < G_N_ELEMENTS(panels); i++) {
    g_autoptr(GPtrArray) titles = g_ptr_array_new();
    pla_window_set_workspace(window, panels[i]);
    settle(window);
    find_status_pages(pla_window_get_panel(window, panels[i]), titles);
    if (titles->len > 0)
      g_error("%s says: %s", panels[i], (const char *)titles->pdata[0]);
  }
  close_window(window);
}

static gboolean
draw_slowly(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
  g_usleep(30000);
  gtk_widget_queue_draw(widget);
  return G_SOURCE_CONTINUE;
}

/* something else is drawn all the time, as a spinner is while work runs: the full picture comes */
static void
test_full_picture(void)
{
  PlaWindow *window = open_case();
  PlaSceneView *scene = PLA_SCENE_VIEW(pla_window_get_scene(window));
  guint tick = gtk_widget_add_tick_callback(GTK_WIDGET(window), draw_slowly, NULL, NULL);
  pla_scene_view_turn(scene, 30.0, 10.0);
  g_assert_false(pla_scene_view_is_idle(scene));
  settle(window);
  g_assert_true(pla_scene_view_is_idle(scene));
  gtk_widget_remove_tick_callback(GTK_WIDGET(window), tick);
  close_window(window);
}

/* a damaged file: one sentence, and the case stays as it was */
static void
test_bad_file(void)
{
  PlaWindow *window = open_case();
  PlaDocument *document = pla_window_get_document(window);
  const PlaVolume *before = pla_document_get_volume(document);
  g_autofree char *path = g_build_filename(fixture_dir, "damaged.nii", NULL);
  g_assert_true(g_file_set_contents(path, "not a scan at all", -1, NULL));
  pla_window_open(window, path);
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "damaged.nii"));
  g_assert_true(pla_document_get_volume(document) == before);
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/window/views", test_views);
  g_test_add_func("/window/actions", test_actions);
  g_test_add_func("/window/tissues", test_tissues);
  g_test_add_func("/window/case", test_case);
  g_test_add_func("/window/two-programs", test_two_programs);
  g_test_add_func("/window/panels-agree", test_panels_agree);
  g_test_add_func("/window/full-picture", test_full_picture);
  g_test_add_func("/window/bad-file", test_bad_file);
  return fixture_run();
}

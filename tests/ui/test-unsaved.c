/* A scan is in a case from the moment it is opened: nothing that was done is lost without a word.
 */
#include "tests/ui/fixture.h"
#include "ui/document/unsaved.h"
#include "ui/widgets/recent.h"

#include <glib/gstdio.h>
#include <string.h>

static char *
folder(void)
{
  return g_build_filename(fixture_dir, "platysma", "unsaved", NULL);
}

/* files of the folder, but locks */
static int
count_files(void)
{
  g_autofree char *path = folder();
  g_autoptr(GDir) listing = g_dir_open(path, 0, NULL);
  int n = 0;
  for (const char *name; listing && (name = g_dir_read_name(listing));)
    n += !g_str_has_suffix(name, ".lock");
  return n;
}

static char *
path_of(PlaWindow *window)
{
  return g_strdup(pla_session_get_path(pla_document_get_session(pla_window_get_document(window))));
}

static PlaWindow *
open_scan(void)
{
  PlaWindow *window = new_window();
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  pla_window_open(window, scan);
  settle(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_assert_nonnull(pla_document_get_volume(pla_window_get_document(window)));
  return window;
}

/* a row of the welcome page, by the beginning of its title */
static GtkWidget *
find_row(GtkWidget *root, const char *title)
{
  if (ADW_IS_ACTION_ROW(root) && gtk_widget_get_child_visible(root) &&
      g_str_has_prefix(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(root)), title))
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child;
       child = gtk_widget_get_next_sibling(child)) {
    GtkWidget *found = find_row(child, title);
    if (found)
      return found;
  }
  return NULL;
}

static GtkWidget *
find_type(GtkWidget *root, GType type)
{
  if (g_type_is_a(G_OBJECT_TYPE(root), type))
    return root;
  GtkWidget *found = NULL;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child && !found;
       child = gtk_widget_get_next_sibling(child))
    found = find_type(child, type);
  return found;
}

/* The program dies: the next one offers the case, and it is as it was. */
static void
test_kept(void)
{
  PlaWindow *window = open_scan();
  PlaDocument *document = pla_window_get_document(window);
  g_autofree char *path = path_of(window);
  g_autofree char *place = folder();
  GStatBuf info;
  g_assert_true(pla_document_get_unsaved(document));
  g_assert_cmpstr(gtk_window_get_title(GTK_WINDOW(window)), ==, "scan (unsaved) – Platysma");
  g_assert_true(g_str_has_prefix(path, place));
  g_assert_cmpint(g_stat(place, &info), ==, 0);
  g_assert_cmpint(info.st_mode & 0777, ==, 0700);
  g_assert_cmpint(g_stat(path, &info), ==, 0);
  g_assert_cmpint(info.st_mode & 0777, ==, 0600);
  find_core(document);
  settle(window);
  const PlaHash hash = state_hash(window);

  /* while it is open here, another window neither offers nor opens it */
  PlaWindow *other = new_window();
  g_assert_null(find_row(GTK_WIDGET(other), "Unsaved: scan"));
  pla_window_open(other, path);
  settle(other);
  g_assert_nonnull(strstr(pla_window_get_failure(other), "another window"));
  close_window(other);

  close_window(window); /* without asking, as a crash would */
  g_assert_cmpint(count_files(), ==, 1);
  window = new_window();
  GtkWidget *row = find_row(GTK_WIDGET(window), "Unsaved: scan");
  g_assert_nonnull(row);
  g_assert_cmpstr(adw_action_row_get_subtitle(ADW_ACTION_ROW(row)), ==, "just now");
  gtk_widget_activate(row);
  settle(window);
  document = pla_window_get_document(window);
  g_assert_true(pla_document_get_unsaved(document));
  g_assert_nonnull(pla_document_get_labels(document));
  const PlaHash again = state_hash(window);
  g_assert_true(pla_hash_equal(&hash, &again));
  /* it has its own list */
  g_auto(GStrv) recent = pla_recent_get();
  g_assert_false(g_strv_contains((const char *const *)recent, path));
  pla_document_forsake(document, TRUE);
  close_window(window);
  g_assert_cmpint(count_files(), ==, 0);
}

static void
on_destroy(gboolean *gone)
{
  *gone = TRUE;
}

/* Closing asks. */
static void
test_ask(void)
{
  PlaWindow *window = open_scan();
  PlaDocument *document = pla_window_get_document(window);
  GActionGroup *group = G_ACTION_GROUP(window);
  g_autofree char *path = path_of(window);
  gboolean gone = FALSE;
  g_signal_connect_swapped(window, "destroy", G_CALLBACK(on_destroy), &gone);
  gtk_window_close(GTK_WINDOW(window));
  answer_question(window, "cancel");
  g_assert_false(gone);
  static const char *const asking[] = { "new-case", "open-demo", "close-case" };
  for (size_t i = 0; i < G_N_ELEMENTS(asking); i++) {
    g_action_group_activate_action(group, asking[i], NULL);
    answer_question(window, "cancel");
    g_assert_true(pla_document_get_unsaved(document));
    g_assert_nonnull(pla_document_get_volume(document));
  }
  /* another scan, or tissues, go into the case; another case takes its place */
  g_autofree char *labels = write_volume("labels.nii.gz", TRUE);
  pla_window_open(window, labels);
  g_assert_null(find_question(window));
  settle(window);
  g_assert_nonnull(pla_document_get_labels(document));
  g_autofree char *elsewhere = g_build_filename(fixture_dir, "elsewhere.platysma", NULL);
  g_autoptr(PlaSession) session = NULL;
  g_assert_cmpint(pla_session_create(elsewhere, "elsewhere", &session, NULL), ==, PLA_OK);
  pla_window_open(window, elsewhere);
  answer_question(window, "cancel");
  settle(window);
  g_assert_true(pla_document_get_unsaved(document));
  g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));

  /* one that cannot be opened does not cost what is open */
  g_autofree char *broken = g_build_filename(fixture_dir, "broken.platysma", NULL);
  g_assert_true(g_file_set_contents(broken, "nothing", -1, NULL));
  pla_window_open(window, broken);
  answer_question(window, "discard");
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "broken"));
  g_assert_true(pla_document_get_unsaved(document));
  g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));

  pla_window_open(window, elsewhere);
  answer_question(window, "discard");
  settle(window);
  g_assert_cmpstr(pla_document_get_title(document), ==, "elsewhere");
  g_assert_cmpint(count_files(), ==, 0);
  /* an ordinary case is saved as it is: nothing to ask */
  gtk_window_close(GTK_WINDOW(window));
  g_assert_true(gone);
  while (g_main_context_iteration(NULL, FALSE))
    ;
}

/* A name and a place: then it is an ordinary case, with its history. */
static void
test_save(void)
{
  PlaWindow *window = open_scan();
  PlaDocument *document = pla_window_get_document(window);
  g_autofree char *before = path_of(window);
  g_autofree char *path = g_build_filename(fixture_dir, "named.platysma", NULL);
  /* what is asked for before is in it */
  find_core(document);
  pla_window_save_as(window, path);
  settle(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_autofree char *now = path_of(window);
  g_assert_cmpstr(now, ==, path);
  g_assert_false(pla_document_get_unsaved(document));
  g_assert_cmpstr(gtk_window_get_title(GTK_WINDOW(window)), ==, "named – Platysma");
  g_assert_nonnull(pla_document_get_labels(document));
  g_assert_cmpint(count_files(), ==, 0);
  g_assert_false(g_file_test(before, G_FILE_TEST_EXISTS));
  g_auto(GStrv) recent = pla_recent_get();
  g_assert_true(g_strv_contains((const char *const *)recent, path));

  /* goes on there, both ways */
  const PlaHash hash = state_hash(window);
  g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
  settle(window);
  g_assert_null(pla_document_get_labels(document));
  g_action_group_activate_action(G_ACTION_GROUP(window), "redo", NULL);
  settle(window);
  const PlaHash again = state_hash(window);
  g_assert_true(pla_hash_equal(&hash, &again));

  /* an ordinary case stays where it was, and a file that is there is not written over */
  g_autofree char *copy = g_build_filename(fixture_dir, "copy.platysma", NULL);
  pla_window_save_as(window, copy);
  settle(window);
  g_assert_cmpstr(pla_document_get_title(document), ==, "copy");
  g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
  pla_window_save_as(window, path);
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "exists already"));
  g_assert_cmpstr(pla_document_get_title(document), ==, "copy");
  gtk_window_close(GTK_WINDOW(window)); /* nothing to ask */
  while (g_main_context_iteration(NULL, FALSE))
    ;
}

/* What cannot be read leaves no case behind, and the welcome page offers what is left of others. */
static void
test_discard(void)
{
  PlaWindow *window = new_window();
  g_autofree char *damaged = g_build_filename(fixture_dir, "damaged.nii", NULL);
  g_assert_true(g_file_set_contents(damaged, "not a scan at all", -1, NULL));
  pla_window_open(window, damaged);
  settle(window);
  g_assert_nonnull(strstr(pla_window_get_failure(window), "damaged.nii"));
  g_assert_null(pla_document_get_session(pla_window_get_document(window)));
  g_assert_false(g_action_group_get_action_enabled(G_ACTION_GROUP(window), "close-case"));
  g_assert_cmpint(count_files(), ==, 0);
  close_window(window);

  close_window(open_scan());
  close_window(open_scan());
  g_assert_cmpint(count_files(), ==, 2); /* each has its own */
  window = new_window();
  for (int left = 1; left >= 0; left--) {
    GtkWidget *row = find_row(GTK_WIDGET(window), "Unsaved: scan");
    g_assert_nonnull(row);
    g_signal_emit_by_name(find_type(row, GTK_TYPE_BUTTON), "clicked");
    answer_question(window, "cancel");
    g_assert_cmpint(count_files(), ==, left + 1);
    row = find_row(GTK_WIDGET(window), "Unsaved: scan");
    g_signal_emit_by_name(find_type(row, GTK_TYPE_BUTTON), "clicked");
    answer_question(window, "discard");
    g_assert_cmpint(count_files(), ==, left);
  }
  g_assert_null(find_row(GTK_WIDGET(window), "Unsaved:"));
  close_window(window);
}

static void
test_age(void)
{
  static const struct {
    int64_t s;
    const char *text;
  } rows[] = { { 0, "just now" },         { 59, "just now" },       { 60, "1 minute ago" },
               { 725, "12 minutes ago" }, { 3600, "1 hour ago" },   { 86399, "23 hours ago" },
               { 86400, "1 day ago" },    { 300000, "3 days ago" }, { -5, "just now" } };
  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
    const PlaUnsaved unsaved = { .changed_s = 1000000 };
    g_autofree char *text = pla_unsaved_age(&unsaved, 1000000 + rows[i].s);
    g_assert_cmpstr(text, ==, rows[i].text);
  }
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/unsaved/kept", test_kept);
  g_test_add_func("/unsaved/ask", test_ask);
  g_test_add_func("/unsaved/save", test_save);
  g_test_add_func("/unsaved/discard", test_discard);
  g_test_add_func("/unsaved/age", test_age);
  return fixture_run();
}

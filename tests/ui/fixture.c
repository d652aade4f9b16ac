/* Builds the small scan, opens a window on it, runs the main loop until the window is at rest,
 * and reads its pixels. */
#include "tests/ui/fixture.h"

#include "io/formats/format.h"
#include "ui/main/application.h"
#include "ui/widgets/settings.h"

#include <cairo.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

char *fixture_dir;
static GtkApplication *application;

/* a bright ball with a dark one inside it, off the middle; and labels of both */
char *
write_volume(const char *name, gboolean labels)
{
  enum { N = 40 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  g_assert_cmpint(pla_volume_new((int[4]){ N, N, N, 1 }, labels ? PLA_U8 : PLA_I16, &item.volume,
                                 NULL),
                  ==, PLA_OK);
  const double affine[12] = { -2, 0, 0, 40, 0, 2, 0, -40, 0, 0, 2, -40 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  item.volume->audit.source = PLA_FRAME_MADE;
  for (int v = 0; v < N * N * N; v++) {
    double r = hypot(hypot(v % N - 20.0, v / N % N - 20.0), v / (N * N) - 20.0);
    double s = hypot(hypot(v % N - 15.0, v / N % N - 20.0), v / (N * N) - 20.0);
    double value = labels ? (s < 6    ? 2
                             : r < 15 ? 1
                                      : 0)
                          : (s < 6    ? 900
                             : r < 15 ? 300 - 10 * r
                                      : -1000);
    pla_dtype_set(item.volume->dtype, item.volume->voxels, (size_t)v, value);
  }
  char *path = g_build_filename(fixture_dir, name, NULL);
  PlaError err;
  PlaWriteOptions opts = pla_write_options_default();
  if (pla_item_write(path, &item, &opts, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_item_clear(&item);
  return path;
}

static gboolean
on_timeout(gpointer data)
{
  g_error("the window was not ready in time");
  return G_SOURCE_REMOVE;
}

static gboolean
on_tick(gpointer data)
{
  return G_SOURCE_CONTINUE;
}

/* lets the window work until nothing is left to do and it was drawn again */
void
settle(PlaWindow *window)
{
  /* a whole head is more work, and a machine may be busy */
  guint guard = g_timeout_add_seconds(g_getenv("PLA_LONG") ? 1800 : 100, on_timeout, NULL);
  guint tick = g_timeout_add(20, on_tick, NULL);
  for (int calm = 0; calm < 5;) {
    g_main_context_iteration(NULL, TRUE);
    calm = pla_window_is_idle(window) ? calm + 1 : 0;
  }
  gint64 until = g_get_monotonic_time() + 100000;
  while (g_get_monotonic_time() < until)
    g_main_context_iteration(NULL, TRUE);
  g_source_remove(tick);
  g_source_remove(guard);
}

PlaWindow *
new_window(void)
{
  GtkWidget *window = pla_window_new(ADW_APPLICATION(application));
  gtk_window_set_default_size(GTK_WINDOW(window), 960, 600);
  gtk_window_present(GTK_WINDOW(window));
  return PLA_WINDOW(window);
}

void
close_window(PlaWindow *window)
{
  gtk_window_destroy(GTK_WINDOW(window));
  while (g_main_context_iteration(NULL, FALSE))
    ;
}

PlaWindow *
open_case(void)
{
  PlaWindow *window = new_window();
  g_autofree char *scan = write_volume("scan.nii", FALSE);
  g_autofree char *labels = write_volume("labels.nii.gz", TRUE);
  pla_window_open(window, scan);
  settle(window);
  pla_window_open(window, labels);
  settle(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  return window;
}

/* different colours within a widget's part of the saved window */
void
find_core(PlaDocument *document)
{
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("segment");
  pla_verb_values_set_text(values, "item", pla_document_get_volume_name(document));
  pla_verb_values_set_number(values, "lo", 500);
  pla_verb_values_set_number(values, "hi", 2000);
  pla_verb_values_set_text(values, "label_name", "Core");
  pla_verb_values_set_bool(values, "largest", true);
  pla_document_run(document, "Finding one tissue", values);
}

int
count_colours(PlaWindow *window, GtkWidget *widget)
{
  g_autofree char *path = g_build_filename(fixture_dir, "window.png", NULL);
  PlaError err;
  if (pla_window_save(window, path, &err) != PLA_OK)
    g_error("%s", err.message);
  cairo_surface_t *png = cairo_image_surface_create_from_png(path);
  g_assert_cmpint(cairo_surface_status(png), ==, CAIRO_STATUS_SUCCESS);
  graphene_rect_t box;
  g_assert_true(gtk_widget_compute_bounds(widget, GTK_WIDGET(window), &box));
  const uint8_t *data = cairo_image_surface_get_data(png);
  const int stride = cairo_image_surface_get_stride(png);
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  for (int y = (int)box.origin.y + 4; y < box.origin.y + box.size.height - 4; y++)
    for (int x = (int)box.origin.x + 4; x < box.origin.x + box.size.width - 4; x++) {
      uint32_t pixel;
      memcpy(&pixel, data + (size_t)y * stride + 4 * (size_t)x, 4);
      g_hash_table_add(seen, GUINT_TO_POINTER(pixel & 0xffffff));
    }
  cairo_surface_destroy(png);
  return (int)g_hash_table_size(seen);
}

void
fixture_start(int *argc, char ***argv)
{
  fixture_dir = g_dir_make_tmp("platysma-window-XXXXXX", NULL);
  g_setenv("XDG_STATE_HOME", fixture_dir, TRUE);
  g_setenv("XDG_DATA_HOME", fixture_dir, TRUE);
  g_setenv("GSETTINGS_BACKEND", "memory", TRUE);
  g_test_init(argc, argv, NULL);
  application = GTK_APPLICATION(pla_application_new());
  g_assert_true(g_application_register(G_APPLICATION(application), NULL, NULL));
  /* for pictures of the tests in the other appearance */
  if (g_getenv("PLA_STYLE"))
    g_settings_set_string(pla_settings_get(), "style", g_getenv("PLA_STYLE"));
}

static void
remove_folder(const char *path)
{
  g_autoptr(GDir) listing = g_dir_open(path, 0, NULL);
  for (const char *name; listing && (name = g_dir_read_name(listing));) {
    g_autofree char *inner = g_build_filename(path, name, NULL);
    if (g_file_test(inner, G_FILE_TEST_IS_DIR))
      remove_folder(inner);
    else
      g_remove(inner);
  }
  g_rmdir(path);
}

int
fixture_run(void)
{
  int status = g_test_run();
  g_object_unref(application);
  remove_folder(fixture_dir);
  g_free(fixture_dir);
  return status;
}

void
shoot(PlaWindow *window, const char *name)
{
  const char *dir = g_getenv("PLA_SHOTS");
  PlaError err;
  if (!dir)
    return;
  settle(window);
  g_autofree char *path = g_strdup_printf("%s/%s.png", dir, name);
  if (pla_window_save(window, path, &err) != PLA_OK)
    g_error("%s", err.message);
}

AdwMessageDialog *
find_question(PlaWindow *window)
{
  g_autoptr(GList) list = gtk_window_list_toplevels();
  for (GList *l = list; l; l = l->next)
    if (ADW_IS_MESSAGE_DIALOG(l->data) &&
        gtk_window_get_transient_for(l->data) == GTK_WINDOW(window) &&
        gtk_widget_get_visible(l->data))
      return l->data;
  return NULL;
}

void
answer_question(PlaWindow *window, const char *response)
{
  AdwMessageDialog *dialog = find_question(window);
  if (!dialog)
    g_error("nothing is asked");
  g_object_ref(window);
  adw_message_dialog_response(dialog, response);
  gtk_window_destroy(GTK_WINDOW(dialog));
  while (g_main_context_iteration(NULL, FALSE))
    ;
  g_object_unref(window);
}

PlaHash
state_hash(PlaWindow *window)
{
  return pla_state_hash(
      pla_session_get_state(pla_document_get_session(pla_window_get_document(window))));
}

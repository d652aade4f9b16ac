/* Builds a case with a skin slab on the table, and finds and sets rows of the Surgery panel by
 * their titles. */
#include "tests/ui/surgery-fixture.h"

#include "tests/ui/pointer.h"
#include "ui/surgery/surgery-panel.h"
#include "ui/views/scene-view.h"

#include <string.h>

void
apply(PlaSession *session, const char *verb, const char *params)
{
  PlaError err;
  g_autoptr(JsonNode) node = json_from_string(params, NULL);
  PlaRequest request = { .verb = verb, .params = json_node_get_object(node) };
  if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
}

char *
slab_case(const char *name, double lattice_mm)
{
  g_autofree char *file = g_strdup_printf("%s.platysma", name);
  char *path = g_build_filename(fixture_dir, file, NULL);
  PlaSession *session = NULL;
  PlaError err;
  if (pla_session_create(path, "Skin slab", &session, &err) != PLA_OK)
    g_error("%s", err.message);
  apply(session, "phantom", "{\"phantom\": \"skin-slab\", \"spacing_mm\": 3}");
  if (lattice_mm > 0.0) {
    g_autofree char *params =
        g_strdup_printf("{\"item\": \"skin-slab\", \"lattice_mm\": %g}", lattice_mm);
    apply(session, "prepare-body", params);
  }
  g_object_unref(session);
  return path;
}

static void
find_named(PlaEntry *entry, gpointer data)
{
  PlaEntry **found = data;
  if (strcmp(pla_entry_get_name(entry), "body") == 0)
    *found = entry;
}

PlaEntry *
body_of(PlaWindow *window)
{
  PlaEntry *entry = NULL;
  pla_document_foreach(pla_window_get_document(window), find_named, &entry);
  g_assert_nonnull(entry);
  return entry;
}

JsonObject *
surgery_of(PlaWindow *window)
{
  return pla_body_get_surgery(pla_entry_get_content(body_of(window)));
}

JsonObject *
last_found(PlaWindow *window, int back)
{
  JsonArray *found = json_object_get_array_member(surgery_of(window), "found");
  const int n = (int)json_array_get_length(found);
  g_assert_cmpint(n, >, back);
  return json_array_get_object_element(found, (guint)(n - 1 - back));
}

/* the widget of @type in the panel's row called @title */
static GtkWidget *
in_row(PlaWindow *window, GType type, const char *title)
{
  GtkWidget *panel = find_type(GTK_WIDGET(window), PLA_TYPE_SURGERY_PANEL, 0);
  for (int i = 0;; i++) {
    GtkWidget *widget = find_type(panel, type, i);
    if (!widget)
      g_error("there is no row '%s'", title);
    GtkWidget *row = gtk_widget_get_ancestor(widget, ADW_TYPE_PREFERENCES_ROW);
    if (row && strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), title) == 0)
      return widget;
  }
}

void
set_spin(PlaWindow *window, const char *title, double value)
{
  gtk_spin_button_set_value(GTK_SPIN_BUTTON(in_row(window, GTK_TYPE_SPIN_BUTTON, title)), value);
}

void
choose(PlaWindow *window, const char *title, guint item)
{
  adw_combo_row_set_selected(ADW_COMBO_ROW(in_row(window, ADW_TYPE_COMBO_ROW, title)), item);
}

void
click_skin(PlaWindow *window, double x, double y)
{
  GtkWidget *scene = pla_window_get_scene(window);
  PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), x * gtk_widget_get_width(scene),
                                         y * gtk_widget_get_height(scene));
  pla_tools_pick(pla_document_get_tools(pla_window_get_document(window)), body_of(window), &hit);
}

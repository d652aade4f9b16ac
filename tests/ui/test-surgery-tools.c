/* Tools that work inside the body, by hand: a cut through bone, lines of tension, an implant and an
 * expander in a pocket; then the whole as a plan that replays to the same body. */
#include "tests/ui/pointer.h"
#include "tests/ui/surgery-fixture.h"
#include "ui/surgery/surgery-panel.h"
#include "ui/views/scene-view.h"

#include <math.h>
#include <string.h>

static PlaHash
body_hash(PlaSession *session)
{
  const PlaStateItem *item = pla_state_find_name(pla_session_get_state(session), "body");
  g_assert_nonnull(item);
  return item->hash;
}

/* how far the sketch's blade reaches along an axis */
static double
extent(const PlaSketch *sketch, int axis)
{
  double lo = INFINITY, hi = -INFINITY;
  for (int i = 0; i < sketch->n_verts; i++) {
    lo = fmin(lo, sketch->blade[3 * i + axis]);
    hi = fmax(hi, sketch->blade[3 * i + axis]);
  }
  return hi - lo;
}

/* what the panel says below the step */
static const char *
said(PlaWindow *window)
{
  GtkWidget *panel = find_type(GTK_WIDGET(window), PLA_TYPE_SURGERY_PANEL, 0);
  for (int i = 0;; i++) {
    GtkWidget *label = find_type(panel, GTK_TYPE_LABEL, i);
    if (!label)
      return "";
    if (gtk_widget_has_css_class(label, "error") && gtk_widget_get_visible(label))
      return gtk_label_get_label(GTK_LABEL(label));
  }
}

static void
act(PlaWindow *window)
{
  pla_window_activate(window, "surgery.apply");
  settle(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  g_assert_cmpstr(said(window), ==, "");
}

/* the body; with the slab's bone as part of it nothing is left to hold it, but it can be cut */
static void
prepare(PlaWindow *window, gboolean with_bone)
{
  GtkWidget *panel = find_type(GTK_WIDGET(window), PLA_TYPE_SURGERY_PANEL, 0);
  GtkSwitch *bone = NULL;
  for (int i = 0; !bone; i++) {
    GtkWidget *toggle = find_type(panel, GTK_TYPE_SWITCH, i);
    g_assert_nonnull(toggle);
    GtkWidget *row = gtk_widget_get_ancestor(toggle, ADW_TYPE_ACTION_ROW);
    if (strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), "bone") == 0)
      bone = GTK_SWITCH(toggle);
  }
  gtk_switch_set_active(bone, with_bone);
  set_spin(window, "Cell _size (mm)", 9.0);
  if (with_bone)
    shoot(window, "20-prepare");
  pla_window_activate(window, "surgery.prepare");
  settle(window);
  g_action_group_activate_action(G_ACTION_GROUP(window), "look", g_variant_new_string("superior"));
  settle(window);
  JsonArray *tissues = json_object_get_array_member(surgery_of(window), "tissues");
  g_assert_cmpuint(json_array_get_length(tissues), ==, with_bone ? 3 : 2);
  if (with_bone)
    g_assert_cmpstr(json_array_get_string_element(tissues, 2), ==, "bone");
}

/* the bone in two, by a plane; what lies over it stays whole */
static void
saw(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  const PlaHash before = state_hash(window);
  pla_window_activate(window, "surgery.tool::cut");
  choose(window, "_Blade", 3);
  for (int i = 0; i < 3; i++) {
    PlaScenePick pick = { .point_mm = { 10.0 * i, 0.0, 0.0 } };
    pla_tools_pick(tools, body_of(window), &pick);
  }
  g_assert_nonnull(strstr(said(window), "on a line"));
  choose(window, "_Blade", 2);
  pla_window_activate(window, "surgery.clear");
  click_skin(window, 0.45, 0.5);
  set_spin(window, "_Radius (mm)", 80.0);
  const PlaSketch *sketch = pla_tools_get_sketch(tools);
  g_assert_cmpint(sketch->n_tris, ==, 2);
  g_assert_cmpfloat(fabs(extent(sketch, 0)), <, 1e-9);
  g_assert_cmpfloat(fabs(extent(sketch, 1) - 160.0), <, 1e-6);
  set_spin(window, "_Tilted (°)", 20.0);
  g_assert_cmpfloat(fabs(extent(pla_tools_get_sketch(tools), 0) - 160.0 * sin(G_PI / 9.0)), <, 0.1);
  choose(window, "Thr_ough", 3);
  shoot(window, "21-plane");
  act(window);
  g_assert_cmpint(json_object_get_int_member(last_found(window, 0), "pieces"), ==, 2);
  shoot(window, "22-sawn");
  const PlaHash sawn = state_hash(window);
  g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
  settle(window);
  PlaHash is = state_hash(window);
  g_assert_true(pla_hash_equal(&is, &before));
  g_action_group_activate_action(G_ACTION_GROUP(window), "redo", NULL);
  settle(window);
  is = state_hash(window);
  g_assert_true(pla_hash_equal(&is, &sawn));
}

/* under a line on the skin, and along a surface that came with the case: both become triangles of
 * the plan */
static void
cut_along(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  pla_window_activate(window, "surgery.tool::cut");
  choose(window, "Thr_ough", 0);
  choose(window, "_Blade", 4);
  set_spin(window, "_Depth (mm)", 6.0);
  click_skin(window, 0.35, 0.3);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_tris, ==, 0);
  click_skin(window, 0.6, 0.35);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_tris, >, 4);
  g_assert_cmpfloat(fabs(extent(pla_tools_get_sketch(tools), 2) - 7.0), <, 2.0);
  act(window);
  choose(window, "_Blade", 5);
  const PlaSketch *sketch = pla_tools_get_sketch(tools);
  g_assert_cmpfloat(fabs(extent(sketch, 0) - 60.0), <, 1e-3);
  shoot(window, "22-surface");
  act(window);
  g_assert_cmpint(json_object_get_int_member(last_found(window, 0), "pieces"), >=, 2);
}

static void
strain(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  pla_window_activate(window, "surgery.tool::tension");
  click_skin(window, 0.4, 0.6);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_lines, ==, 0); /* half a line */
  click_skin(window, 0.6, 0.6);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_lines, >, 40);
  set_spin(window, "Stretched _along (%)", 5.0);
  shoot(window, "23-tension");
  act(window);
  g_assert_cmpint(json_object_get_int_member(last_found(window, 1), "tets"), >, 100);
  g_assert_true(json_object_get_boolean_member(last_found(window, 0), "converged"));
}

/* a ball where there is no pocket, then in one; it grows, and the skin over it rises */
static void
fill(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  set_spin(window, "_Depth (mm)", 5.0);
  pla_window_activate(window, "surgery.tool::implant");
  click_skin(window, 0.5, 0.3);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_tris, ==, 512);
  g_assert_nonnull(strstr(said(window), "undermine one first"));
  pla_window_activate(window, "surgery.tool::incise");
  click_skin(window, 0.38, 0.34);
  click_skin(window, 0.62, 0.34);
  act(window);
  pla_window_activate(window, "surgery.tool::undermine");
  set_spin(window, "_Radius (mm)", 20.0);
  act(window);
  pla_window_activate(window, "surgery.tool::implant");
  click_skin(window, 0.5, 0.4);
  set_spin(window, "_Radius (mm)", 5.0);
  const PlaSketch *sketch = pla_tools_get_sketch(tools);
  for (int d = 0; d < 3; d++)
    g_assert_cmpfloat(fabs(extent(sketch, d) - 10.0), <, 1e-6);
  g_assert_cmpstr(said(window), ==, "");
  shoot(window, "24-implant");
  act(window);
  JsonArray *steps = json_object_get_array_member(surgery_of(window), "steps");
  const guint n = json_array_get_length(steps);
  JsonObject *first =
      json_object_get_object_member(json_array_get_object_element(steps, n - 4), "implant");
  JsonObject *last =
      json_object_get_object_member(json_array_get_object_element(steps, n - 2), "implant");
  g_assert_true(json_object_has_member(first, "at_mm") && !json_object_has_member(last, "at_mm"));
  g_assert_cmpfloat(json_object_get_double_member(first, "radius_mm"), <, 5.0);
  g_assert_cmpfloat(json_object_get_double_member(last, "radius_mm"), ==, 5.0);
  g_assert_true(json_object_get_boolean_member(last_found(window, 0), "converged"));
  /* the same one, larger */
  set_spin(window, "_Radius (mm)", 6.0);
  set_spin(window, "In _steps", 1.0);
  act(window);
  g_assert_cmpint(json_object_get_int_member(last_found(window, 0), "contacts"), >, 0);
  shoot(window, "25-grown");
  pla_window_activate(window, "surgery.tool::expand");
  click_skin(window, 0.42, 0.4);
  set_spin(window, "_Pressure (kPa)", 0.5);
  shoot(window, "26-expander");
  act(window);
}

/* what was done, in a file, done again elsewhere */
static void
replay(PlaWindow *window, const char *path, const char *name_of_other)
{
  g_autofree char *plan = g_build_filename(fixture_dir, "plan.json", NULL);
  GtkWidget *panel = find_type(GTK_WIDGET(window), PLA_TYPE_SURGERY_PANEL, 0);
  pla_surgery_panel_export_plan(PLA_SURGERY_PANEL(panel), plan);
  g_autoptr(JsonParser) parser = json_parser_new();
  g_assert_true(json_parser_load_from_file(parser, plan, NULL));
  JsonObject *root = json_node_get_object(json_parser_get_root(parser));
  g_autofree char *name = g_path_get_basename(path);
  g_assert_cmpstr(json_object_get_string_member(root, "case"), ==, name);
  JsonArray *steps = json_object_get_array_member(root, "operations");
  g_assert_cmpuint(json_array_get_length(steps), ==,
                   json_array_get_length(
                       json_object_get_array_member(surgery_of(window), "steps")));

  g_autofree char *other = slab_case(name_of_other, 0.0);
  PlaSession *session = NULL;
  PlaError err;
  if (pla_session_open(other, &session, &err) != PLA_OK)
    g_error("%s", err.message);
  g_autoptr(JsonObject) params = json_object_new();
  json_object_set_string_member(params, "item", json_object_get_string_member(root, "labels"));
  json_object_set_double_member(params, "lattice_mm",
                                json_object_get_double_member(root, "lattice_mm"));
  if (json_object_has_member(root, "bones"))
    json_object_set_array_member(params, "bones",
                                 json_array_ref(json_object_get_array_member(root, "bones")));
  PlaRequest request = { .verb = "prepare-body", .params = params };
  if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  g_autoptr(JsonObject) rest = json_object_new();
  json_object_set_array_member(rest, "steps", json_array_ref(steps));
  request = (PlaRequest){ .verb = "operate", .params = rest };
  if (pla_session_run(session, &request, NULL, NULL, &err) != PLA_OK)
    g_error("%s", err.message);
  const PlaHash here = body_hash(pla_document_get_session(pla_window_get_document(window))),
                there = body_hash(session);
  g_assert_true(pla_hash_equal(&here, &there));
  g_object_unref(session);
}

/* a case that was operated on is opened with the wounds before the eye */
static void
look(const char *path)
{
  PlaWindow *window = new_window();
  pla_window_open(window, path);
  settle(window);
  pla_window_set_workspace(window, "surgery");
  settle(window);
  const PlaCamera *camera = pla_scene_view_get_camera(PLA_SCENE_VIEW(pla_window_get_scene(window)));
  const double away = camera->eye_mm[2] - camera->focus_mm[2];
  /* the slab's skin faces up; its wound lies within 40 mm of the middle */
  g_assert_cmpfloat(away, >,
                    0.9 * hypot(hypot(camera->eye_mm[0] - camera->focus_mm[0],
                                      camera->eye_mm[1] - camera->focus_mm[1]),
                                away));
  g_assert_cmpfloat(hypot(camera->focus_mm[0], camera->focus_mm[1]), <, 40.0);
  shoot(window, "27-opened");
  close_window(window);
}

static void
test_tools(void)
{
  g_autofree char *path = slab_case("slab", 0.0);
  PlaSession *session = NULL;
  PlaError err;
  if (pla_session_open(path, &session, &err) != PLA_OK)
    g_error("%s", err.message);
  apply(session, "phantom", "{\"phantom\": \"box-surface\", \"spacing_mm\": 20}");
  g_object_unref(session);
  PlaWindow *window = new_window();
  if (g_getenv("PLA_SHOTS"))
    gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  pla_window_open(window, path);
  settle(window);
  pla_window_set_workspace(window, "surgery");
  settle(window);
  prepare(window, TRUE);
  saw(window);
  cut_along(window);
  replay(window, path, "sawn");
  for (int i = 0; i < 4; i++) {
    g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
    settle(window);
  }
  prepare(window, FALSE);
  strain(window);
  fill(window);
  replay(window, path, "filled");
  close_window(window);
  look(path);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/surgery/tools", test_tools);
  return fixture_run();
}

/* The Surgery workspace by hand: points on the skin, the blade before it cuts, the cut, the row of
 * stitches, the map, all undone and redone. */
#include "tests/ui/fixture.h"
#include "tests/ui/pointer.h"
#include "tests/ui/surgery-fixture.h"
#include "ui/surgery/surgery-panel.h"
#include "ui/views/compare-window.h"
#include "ui/views/scene-view.h"

#include <math.h>
#include <string.h>

/* Pixels of the 3-D view as saved that are more red than this times green and blue. */
static int
count_red(PlaWindow *window, double times)
{
  g_autofree char *path = g_build_filename(fixture_dir, "scene.png", NULL);
  PlaError err;
  if (pla_scene_view_save(PLA_SCENE_VIEW(pla_window_get_scene(window)), 480, 360, path, &err) !=
      PLA_OK)
    g_error("%s", err.message);
  cairo_surface_t *png = cairo_image_surface_create_from_png(path);
  int n = 0;
  for (int y = 0; y < 360; y++)
    for (int x = 0; x < 480; x++) {
      const uint8_t *p = cairo_image_surface_get_data(png) +
                         (size_t)y * (size_t)cairo_image_surface_get_stride(png) + 4 * (size_t)x;
      n += p[2] > 60 && p[2] > times * p[1] && p[2] > times * p[0];
    }
  cairo_surface_destroy(png);
  return n;
}

/* another window than the main one */
static void
shoot_any(GtkWidget *widget, const char *name)
{
  const char *dir = g_getenv("PLA_SHOTS");
  if (!dir)
    return;
  g_autofree char *path = g_strdup_printf("%s/%s.png", dir, name);
  g_autoptr(GdkPaintable) paintable = gtk_widget_paintable_new(widget);
  GtkSnapshot *snapshot = gtk_snapshot_new();
  const int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  gdk_paintable_snapshot(paintable, snapshot, w, h);
  g_autoptr(GskRenderNode) node = gtk_snapshot_free_to_node(snapshot);
  GskRenderer *renderer = gtk_native_get_renderer(GTK_NATIVE(widget));
  g_autoptr(GdkTexture) texture =
      gsk_renderer_render_texture(renderer, node, &GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h));
  gdk_texture_save_to_png(texture, path);
}

/* how far a blade reaches below its path */
static double
blade_depth(const PlaSketch *sketch)
{
  double lowest = INFINITY, mean = 0.0;
  for (int i = 0; i < sketch->n_verts; i++)
    lowest = fmin(lowest, sketch->blade[3 * i + 2]);
  for (int i = 0; i < sketch->n_path; i++)
    mean += sketch->path[3 * i + 2] / sketch->n_path;
  return mean - lowest;
}

static void
on_moved(int *shapes)
{
  ++*shapes;
}

/* which shape the panel says is shown */
static gboolean
says_shown(PlaWindow *window, const char *what)
{
  GtkWidget *panel = find_type(GTK_WIDGET(window), PLA_TYPE_SURGERY_PANEL, 0);
  for (int i = 0;; i++) {
    GtkWidget *label = find_type(panel, GTK_TYPE_LABEL, i);
    if (!label)
      return FALSE;
    if (g_str_has_prefix(gtk_label_get_label(GTK_LABEL(label)), what))
      return TRUE;
  }
}

/* a hook beside the seam: the skin follows the hand, then comes to rest */
static void
pull_hook(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  GtkWidget *scene = pla_window_get_scene(window);
  int shapes = 0, n_marks;
  gulong handler = g_signal_connect_swapped(tools, "moved", G_CALLBACK(on_moved), &shapes);
  pla_window_activate(window, "surgery.tool::hook");
  g_assert_cmpint(pla_tools_get(tools), ==, PLA_TOOL_HOOK);
  settle(window);
  const double x = 0.3 * gtk_widget_get_width(scene), y = 0.25 * gtk_widget_get_height(scene);
  const guint before =
      json_array_get_length(json_object_get_array_member(surgery_of(window), "steps"));
  PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), x, y);
  pla_tools_pick(tools, body_of(window), &hit);
  pla_tools_get_marks(tools, &n_marks);
  /* the hand waits until the skin has moved */
  const double pull[3] = { -4.0, 2.0, 1.0 };
  pla_tools_drag(tools, n_marks - 1, pull, FALSE);
  for (int i = 0; i < 1000 && shapes == 0; i++)
    let_run(50);
  g_assert_cmpint(shapes, >=, 1);
  g_assert_true(says_shown(window, "Shown: following the hand"));
  pla_tools_drag(tools, n_marks - 1, pull, TRUE);
  for (int i = 0; i < 400; i++) {
    let_run(50);
    JsonArray *steps = json_object_get_array_member(surgery_of(window), "steps");
    if (json_array_get_length(steps) == before + 2)
      break;
  }
  settle(window);
  JsonArray *steps = json_object_get_array_member(surgery_of(window), "steps");
  g_assert_cmpuint(json_array_get_length(steps), ==, before + 2);
  g_assert_true(json_object_has_member(json_array_get_object_element(steps, before), "hook"));
  g_assert_true(json_object_has_member(json_array_get_object_element(steps, before + 1), "solve"));
  JsonObject *readings = json_object_get_object_member(surgery_of(window), "readings");
  g_assert_cmpfloat(json_object_get_double_member(readings, "max_hook_force_n"), >, 0.01);
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 1);
  g_assert_true(says_shown(window, "Shown: the equilibrium."));
  shoot(window, "8-hook");
  pla_window_activate(window, "surgery.release");
  settle(window);
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 0);
  g_signal_handler_disconnect(tools, handler);
}

static void
count_body(PlaEntry *entry, gpointer data)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (!mesh || strcmp(pla_entry_get_name(entry), "body") != 0)
    return;
  g_autofree char *text = mesh->n_tris < 10000
                              ? g_strdup_printf("%d triangles", mesh->n_tris)
                              : g_strdup_printf("%dk triangles", (mesh->n_tris + 500) / 1000);
  g_assert_cmpstr(pla_entry_get_detail(entry), ==, text);
  ++*(int *)data;
}

/* the list tells how many triangles the body has now */
static void
expect_counted(PlaWindow *window)
{
  int bodies = 0;
  pla_document_foreach(pla_window_get_document(window), count_body, &bodies);
  g_assert_cmpint(bodies, ==, 1);
}

static void
test_excision(void)
{
  g_autofree char *path = slab_case("slab", 6.0);
  PlaWindow *window = new_window();
  gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  pla_window_open(window, path);
  settle(window);
  pla_window_set_workspace(window, "surgery");
  settle(window);
  PlaDocument *document = pla_window_get_document(window);
  PlaTools *tools = pla_document_get_tools(document);
  GActionGroup *group = G_ACTION_GROUP(window);
  GtkWidget *scene = pla_window_get_scene(window);
  g_action_group_activate_action(group, "look", g_variant_new_string("superior"));
  settle(window);
  const int clean = count_red(window, 2.2);
  PlaHash hash[6];
  int n = 0;
  hash[n++] = state_hash(window);
  shoot(window, "1-body");

  /* an outline with the hand */
  pla_window_activate(window, "surgery.tool::excise");
  g_assert_cmpint(pla_tools_get(tools), ==, PLA_TOOL_DRAW);
  const double w = gtk_widget_get_width(scene), h = gtk_widget_get_height(scene);
  static const double around[6][2] = { { -0.12, -0.02 }, { 0.0, -0.08 }, { 0.12, -0.02 },
                                       { 0.12, 0.03 },   { 0.0, 0.08 },  { -0.12, 0.03 } };
  int n_marks = 0;
  for (int i = 0; i < 6; i++) {
    pointer_click(scene, 0.5 * w + around[i][0] * h, 0.5 * h + around[i][1] * h, 1);
    for (int k = 0; k < 100 && n_marks < i + 1; k++) {
      let_run(50);
      pla_tools_get_marks(tools, &n_marks);
    }
    g_assert_cmpint(n_marks, ==, i + 1);
  }
  const PlaMark *marks = pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(marks[0].kind, ==, PLA_MARK_POINT);
  g_assert_cmpfloat(fabs(marks[0].at_mm[2]), <, 1.5); /* a quarter cell from z = 0 at most */
  settle(window);
  const PlaSketch *sketch = pla_tools_get_sketch(tools);
  g_assert_cmpint(sketch->n_tris, >, 20);
  g_assert_cmpint(sketch->n_lines, ==, 1);
  const double length = sketch->length;
  g_assert_cmpfloat(fabs(blade_depth(sketch) - 5.0), <, 1.0); /* as deep as the panel says */

  /* the blade follows the numbers and the points */
  set_spin(window, "_Depth (mm)", 7.0);
  sketch = pla_tools_get_sketch(tools);
  g_assert_cmpfloat(fabs(blade_depth(sketch) - 7.0), <, 1.0);
  const double px = 0.5 * w + around[1][0] * h, py = 0.5 * h + around[1][1] * h;
  const double before = marks[1].at_mm[1];
  const double way[4][2] = { { px, py }, { px, py - 6 }, { px, py - 12 }, { px, py - 18 } };
  pointer_drag(scene, way, 4);
  for (int k = 0; k < 200; k++) {
    let_run(50);
    marks = pla_tools_get_marks(tools, &n_marks);
    if (n_marks == 6 && fabs(marks[1].at_mm[1] - before) > 1.0)
      break;
  }
  g_assert_cmpint(n_marks, ==, 6);
  g_assert_cmpfloat(fabs(marks[1].at_mm[1] - before), >, 1.0);
  g_assert_cmpfloat(fabs(marks[1].at_mm[2]), <, 1.5);
  sketch = pla_tools_get_sketch(tools);
  g_assert_cmpfloat(sketch->length, >, length);
  shoot(window, "2-outline");

  /* a point too many, taken back; without a mouse one is set at the crosshair */
  pla_window_activate(window, "surgery.add-point");
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 7);
  pla_window_activate(window, "surgery.remove-point");
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 6);

  /* out with it */
  pla_window_activate(window, "surgery.apply");
  settle(window);
  expect_counted(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  hash[n++] = state_hash(window);
  JsonArray *steps = json_object_get_array_member(surgery_of(window), "steps");
  g_assert_cmpuint(json_array_get_length(steps), ==, 1);
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 0);
  g_assert_cmpint(count_red(window, 2.2), >, clean + 200); /* raw flesh */
  shoot(window, "3-excised");

  /* under the skin around it, then a row of stitches, then rest */
  pla_window_activate(window, "surgery.tool::undermine");
  settle(window);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_tris, >, 10);
  shoot(window, "4-undermine");
  pla_window_activate(window, "surgery.apply");
  settle(window);
  hash[n++] = state_hash(window);
  pla_window_activate(window, "surgery.tool::suture");
  settle(window);
  pla_window_activate(window, "surgery.apply");
  settle(window);
  hash[n++] = state_hash(window);
  g_assert_cmpint(pla_tools_get_seams(tools)->n_knots, >=, 4);
  shoot(window, "5-sewn");
  pla_window_activate(window, "surgery.solve");
  settle(window);
  hash[n++] = state_hash(window);
  JsonObject *readings = json_object_get_object_member(surgery_of(window), "readings");
  g_assert_cmpfloat(json_object_get_double_member(readings, "closed_gap_mm"), <, 0.5);
  g_assert_cmpint(count_red(window, 2.2), <, clean + 200); /* closed */
  shoot(window, "6-closed");

  /* the map: red where the skin is stretched most */
  choose(window, "_Map on the skin", 1);
  settle(window);
  g_assert_cmpstr(pla_entry_get_field(body_of(window))->id, ==, "skin-stretch");
  g_assert_cmpint(count_red(window, 1.5), >, 150);
  shoot(window, "7-map");

  pull_hook(window);
  hash[n++] = state_hash(window);
  /* two operations: what follows undoes both */
  g_action_group_activate_action(group, "undo", NULL);
  settle(window);
  g_action_group_activate_action(group, "undo", NULL);
  settle(window);
  n--;

  /* what is refused is said in the panel, and nothing changes */
  pla_window_activate(window, "surgery.tool::excise");
  double corner[3] = { 0.0, 0.0, 30.0 };
  for (int i = 0; i < 3; i++) {
    corner[i] += 4.0;
    pla_document_set_cursor(document, corner);
    pla_window_activate(window, "surgery.add-point");
  }
  PlaHash was = state_hash(window);
  pla_window_activate(window, "surgery.apply");
  settle(window);
  PlaHash is = state_hash(window);
  g_assert_true(pla_hash_equal(&was, &is));
  pla_window_activate(window, "surgery.tool::none");

  /* all undone, all redone */
  for (int i = n - 1; i >= 0; i--) {
    is = state_hash(window);
    g_assert_true(pla_hash_equal(&is, &hash[i]));
    if (i > 0)
      g_action_group_activate_action(group, "undo", NULL);
    settle(window);
  }
  g_assert_cmpint(pla_tools_get_seams(tools)->n_knots, ==, 0);
  for (int i = 1; i < n; i++) {
    g_action_group_activate_action(group, "redo", NULL);
    settle(window);
    is = state_hash(window);
    g_assert_true(pla_hash_equal(&is, &hash[i]));
  }
  /* a template laid on the skin, scaled and turned */
  pla_window_activate(window, "surgery.tool::template");
  settle(window);
  pointer_click(scene, 0.35 * w, 0.3 * h, 1);
  for (int k = 0; k < 100 && pla_tools_get_sketch(tools)->n_lines == 0; k++)
    let_run(50);
  g_assert_cmpint(pla_tools_get_sketch(tools)->n_lines, >=, 1);
  const double small = pla_tools_get_sketch(tools)->length;
  set_spin(window, "Si_ze (mm)", 24.0);
  const double large = pla_tools_get_sketch(tools)->length;
  g_assert_cmpfloat(fabs(large / small - 24.0 / 20.0), <, 0.05);
  set_spin(window, "T_urned (°)", 45.0);
  g_assert_cmpfloat(fabs(pla_tools_get_sketch(tools)->length - large), <, 0.05 * large);
  shoot(window, "9-template");
  pla_window_activate(window, "surgery.tool::none");

  /* before, and after, side by side */
  GtkWidget *compare = pla_compare_window_new(GTK_WINDOW(window), document, PLA_SCENE_VIEW(scene));
  gtk_window_present(GTK_WINDOW(compare));
  for (int k = 0; k < 400 && pla_compare_window_n_plans(PLA_COMPARE_WINDOW(compare)) == 0; k++)
    let_run(50);
  g_assert_cmpint(pla_compare_window_n_plans(PLA_COMPARE_WINDOW(compare)), ==, 2);
  let_run(300);
  shoot_any(compare, "10-compare");
  gtk_window_destroy(GTK_WINDOW(compare));
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/surgery/excision", test_excision);
  return fixture_run();
}

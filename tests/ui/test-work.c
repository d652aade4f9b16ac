/* A whole session as a clinician would have it, by actions and by a real pointer: a scan is opened
 * and segmented, a tissue painted on a slice, a surface and a mesh made, the body held by bone and
 * pulled by a hook on the cheek, solved and coloured; then everything is undone and redone. */
#include "app/report/report.h"
#include "io/formats/format.h"
#include "tests/ui/fixture.h"
#include "tests/ui/pointer.h"
#include "ui/main/workspace.h"
#include "ui/panels/anatomy-panel.h"
#include "ui/panels/mesh-panel.h"
#include "ui/panels/simulate-panel.h"
#include "ui/views/scene-view.h"
#include "ui/views/slice-view.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- how long the main loop is away ---------------------------------------------------------- */

/* CPU time of the main thread between two waits: what the hand would wait for on an idle machine */
static double turn_from, turn_longest;
static gboolean turn_was_mine; /* the test itself worked since the last wait */

static double
thread_seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int
watched_poll(GPollFD *fds, guint n, int timeout)
{
  if (!turn_was_mine)
    turn_longest = fmax(turn_longest, thread_seconds() - turn_from);
  turn_was_mine = FALSE;
  int ready = g_poll(fds, n, timeout);
  turn_from = thread_seconds();
  return ready;
}

/* What a driver sees for the first time it compiles, once on a machine and as long as it takes:
 * only what is done @again must be short. */
static void
expect_short_turns(const char *after, gboolean again)
{
  g_test_message("longest turn of the main loop while %s: %.0f ms", after, 1e3 * turn_longest);
  if (again && !g_getenv("PLA_SMALL")) /* instrumented code is several times slower */
    g_assert_cmpfloat(turn_longest, <, 0.1);
  turn_longest = 0.0;
  turn_was_mine = TRUE;
}

/* ---- the scan -------------------------------------------------------------------------------- */

static const double axes_mm[3] = { 50.0, 60.0, 54.0 }; /* of the head, an ellipsoid */

static double
ellipsoid(const double p[3])
{
  double f = 0.0;
  for (int d = 0; d < 3; d++)
    f += pow(p[d] / axes_mm[d], 2.0);
  return sqrt(f);
}

/* bone of the same shape within, half as large; values of a CT */
static char *
write_head(void)
{
  enum { NI = 60, NJ = 70, NK = 64 };
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err;
  g_assert_cmpint(pla_volume_new((int[4]){ NI, NJ, NK, 1 }, PLA_I16, &item.volume, &err), ==,
                  PLA_OK);
  const double affine[12] = { 2, 0, 0, -59, 0, 2, 0, -69, 0, 0, 2, -63 };
  memcpy(item.volume->affine_mm, affine, sizeof affine);
  item.volume->audit.source = PLA_FRAME_MADE;
  for (int v = 0; v < NI * NJ * NK; v++) {
    const double ijk[3] = { v % NI, v / NI % NJ, v / (NI * NJ) };
    double p[3];
    pla_volume_to_ras_mm(item.volume, ijk, p);
    const double r = ellipsoid(p);
    ((int16_t *)item.volume->voxels)[v] = r < 0.5 ? 900 : r < 1.0 ? 40 : -1000;
  }
  char *path = g_build_filename(fixture_dir, "head.nii", NULL);
  PlaWriteOptions opts = pla_write_options_default();
  if (pla_item_write(path, &item, &opts, &err) != PLA_OK)
    g_error("%s", err.message);
  pla_item_clear(&item);
  return path;
}

/* Whom the session is about.  Points in RAS mm; the stroke paints bone into soft tissue. */
typedef struct {
  char *scan;
  double bone_mm[3], soft_mm[3], outside_mm[3];
  double cell_mm;     /* of the mesh */
  double cheek_mm[3]; /* where the hook goes in, as seen from in front */
  gboolean made;      /* an ellipsoid, and the case whose pictures are kept */
} Subject;

/* ---- what the case holds --------------------------------------------------------------------- */

static int
label_at(PlaWindow *window, const double ras_mm[3])
{
  const PlaLabelMap *map = pla_document_get_labels(pla_window_get_document(window));
  uint16_t id;
  PlaSlicePlane pixel = pla_slice_plane(PLA_AXIS_AXIAL, ras_mm, 1.0, 1, 1, true);
  pla_slice_labels(map, &pixel, &id);
  return id;
}

static int
label_named(PlaWindow *window, const char *name)
{
  const PlaLabelMap *map = pla_document_get_labels(pla_window_get_document(window));
  const PlaLabel *label = pla_label_table_find_name(&map->table, name);
  if (!label)
    g_error("there is no tissue '%s'", name);
  return label->id;
}

typedef struct {
  const char *name;
  PlaEntry *found;
} Wanted;

static void
find_entry(PlaEntry *entry, gpointer data)
{
  Wanted *wanted = data;
  if (strcmp(pla_entry_get_name(entry), wanted->name) == 0)
    wanted->found = entry;
}

static PlaEntry *
entry_named(PlaWindow *window, const char *name)
{
  Wanted wanted = { name, NULL };
  pla_document_foreach(pla_window_get_document(window), find_entry, &wanted);
  if (!wanted.found)
    g_error("there is no entry '%s'", name);
  return wanted.found;
}

/* pixels of a view that are more red than blue by so much */
static int
count_warm(PlaWindow *window, GtkWidget *widget, int least)
{
  g_autofree char *path = g_build_filename(fixture_dir, "warm.png", NULL);
  turn_was_mine = TRUE;
  PlaError err;
  if (pla_window_save(window, path, &err) != PLA_OK)
    g_error("%s", err.message);
  cairo_surface_t *png = cairo_image_surface_create_from_png(path);
  graphene_rect_t box;
  g_assert_true(gtk_widget_compute_bounds(widget, GTK_WIDGET(window), &box));
  const uint8_t *data = cairo_image_surface_get_data(png);
  const int stride = cairo_image_surface_get_stride(png);
  int warm = 0;
  for (int y = (int)box.origin.y + 4; y < box.origin.y + box.size.height - 4; y++)
    for (int x = (int)box.origin.x + 4; x < box.origin.x + box.size.width - 4; x++) {
      const uint8_t *bgr = data + (size_t)y * stride + 4 * (size_t)x;
      warm += bgr[2] - bgr[0] > least;
    }
  cairo_surface_destroy(png);
  return warm;
}

static void
on_moved(int *count)
{
  ++*count;
}

static int
colours_of(PlaWindow *window, GtkWidget *widget)
{
  turn_was_mine = TRUE;
  return count_colours(window, widget);
}

/* puts a control into view and presses it with the pointer */
static void
press_button(PlaWindow *window, const char *label)
{
  GtkWidget *button = find_button(GTK_WIDGET(window), label);
  gtk_widget_grab_focus(button);
  let_run(300);
  pointer_click(button, 0.5 * gtk_widget_get_width(button), 0.5 * gtk_widget_get_height(button), 1);
}

/* ---- pictures -------------------------------------------------------------------------------- */

enum { SMALL_W = 160, SMALL_H = 100 };

/* a picture of the window, ten times smaller or so: fonts and the clock of the history hardly
 * matter then */
static cairo_surface_t *
small_picture(const char *path)
{
  cairo_surface_t *png = cairo_image_surface_create_from_png(path);
  if (cairo_surface_status(png) != CAIRO_STATUS_SUCCESS)
    g_error("%s cannot be read", path);
  cairo_surface_t *small = cairo_image_surface_create(CAIRO_FORMAT_RGB24, SMALL_W, SMALL_H);
  cairo_t *cr = cairo_create(small);
  cairo_scale(cr, (double)SMALL_W / cairo_image_surface_get_width(png),
              (double)SMALL_H / cairo_image_surface_get_height(png));
  cairo_set_source_surface(cr, png, 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_BEST);
  cairo_paint(cr);
  cairo_destroy(cr);
  cairo_surface_destroy(png);
  cairo_surface_flush(small);
  return small;
}

/* Against the picture kept in tests/ui/pictures; PLA_PICTURES_NEW names a folder for new ones. */
static void
compare_picture(const char *saved, const char *name)
{
  cairo_surface_t *now = small_picture(saved);
  g_autofree char *file = g_strconcat(name, ".png", NULL);
  if (g_getenv("PLA_PICTURES_NEW")) {
    g_autofree char *out = g_build_filename(g_getenv("PLA_PICTURES_NEW"), file, NULL);
    cairo_surface_write_to_png(now, out);
    cairo_surface_destroy(now);
    return;
  }
  g_autofree char *path = g_test_build_filename(G_TEST_DIST, "ui", "pictures", file, NULL);
  cairo_surface_t *kept = cairo_image_surface_create_from_png(path);
  if (cairo_surface_status(kept) != CAIRO_STATUS_SUCCESS)
    g_error("%s cannot be read", path);
  g_assert_cmpint(cairo_image_surface_get_width(kept), ==, SMALL_W);
  g_assert_cmpint(cairo_image_surface_get_height(kept), ==, SMALL_H);
  const int stride = cairo_image_surface_get_stride(now);
  g_assert_cmpint(cairo_image_surface_get_stride(kept), ==, stride);
  const uint8_t *a = cairo_image_surface_get_data(now), *b = cairo_image_surface_get_data(kept);
  double sum = 0.0;
  int other = 0;
  for (int y = 0; y < SMALL_H; y++)
    for (int x = 0; x < SMALL_W; x++) {
      int largest = 0;
      for (int c = 0; c < 3; c++)
        largest = MAX(largest, abs(a[y * stride + 4 * x + c] - b[y * stride + 4 * x + c]));
      sum += largest;
      other += largest > 60;
    }
  g_test_message("%s: mean difference %.1f of 255, %d of %d pixels differ much", name,
                 sum / (SMALL_W * SMALL_H), other, SMALL_W * SMALL_H);
  g_assert_cmpfloat(sum / (SMALL_W * SMALL_H), <, 8.0);
  g_assert_cmpint(other, <, SMALL_W * SMALL_H / 20);
  cairo_surface_destroy(now);
  cairo_surface_destroy(kept);
}

/* the program itself opens the case and draws every workspace */
static void
compare_workspaces(const char *path)
{
  g_autofree char *out = g_build_filename(fixture_dir, "shot.png", NULL);
  const char *const argv[] = {
    g_getenv("PLATYSMA"), path, "--workspace", "all", "--size", "1280x800", "--style", "dark",
    "--screenshot",       out,  NULL
  };
  g_autoptr(GError) error = NULL;
  g_autofree char *said = NULL;
  int status;
  g_assert_nonnull(argv[0]);
  g_auto(GStrv) env = g_environ_setenv(g_get_environ(), "GTK_A11Y", "none", TRUE);
  if (!g_spawn_sync(NULL, (char **)argv, env, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said,
                    &status, &error))
    g_error("%s", error->message);
  if (!g_spawn_check_wait_status(status, &error))
    g_error("%s: %s", error->message, said);
  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  for (int i = 0; i < n; i++) {
    g_autofree char *file = g_strdup_printf("shot-%s.png", workspaces[i].id);
    g_autofree char *saved = g_build_filename(fixture_dir, file, NULL);
    compare_picture(saved, workspaces[i].id);
  }
}

/* ---- names ----------------------------------------------------------------------------------- */

static gboolean
is_control(GtkWidget *widget)
{
  static GType (*const types[])(
      void) = { gtk_button_get_type,      gtk_switch_get_type,       gtk_spin_button_get_type,
                gtk_scale_get_type,       gtk_entry_get_type,        gtk_check_button_get_type,
                gtk_menu_button_get_type, gtk_color_button_get_type, pla_scene_view_get_type,
                pla_slice_view_get_type,  gtk_list_box_row_get_type, gtk_drop_down_get_type };
  for (size_t i = 0; i < G_N_ELEMENTS(types); i++)
    if (g_type_is_a(G_OBJECT_TYPE(widget), types[i]()))
      return TRUE;
  return FALSE;
}

/* a name given to it, a label that belongs to it, or a text that it shows */
static gboolean
has_name(GtkWidget *widget)
{
  GtkAccessible *accessible = GTK_ACCESSIBLE(widget);
  if (gtk_test_accessible_has_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL) ||
      gtk_test_accessible_has_relation(accessible, GTK_ACCESSIBLE_RELATION_LABELLED_BY))
    return TRUE;
  if (GTK_IS_LABEL(widget) && *gtk_label_get_text(GTK_LABEL(widget)))
    return TRUE;
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
       child = gtk_widget_get_next_sibling(child))
    if (has_name(child))
      return TRUE;
  return FALSE;
}

/* every control that can be seen; parts of one that has a name (arrows of a spin button) need none
 */
static int
check_names(GtkWidget *widget, gboolean inside_named)
{
  int n = 0;
  if (!gtk_widget_get_mapped(widget))
    return 0;
  gboolean named = inside_named;
  if (is_control(widget)) {
    n++;
    named = named || has_name(widget);
    if (!named) {
      g_autofree char *where = g_strdup(G_OBJECT_TYPE_NAME(widget));
      for (GtkWidget *up = gtk_widget_get_parent(widget); up; up = gtk_widget_get_parent(up)) {
        char *longer = g_strconcat(G_OBJECT_TYPE_NAME(up), " > ", where, NULL);
        g_free(where);
        where = longer;
      }
      g_error("a control has no accessible name: %s", where);
    }
  }
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
       child = gtk_widget_get_next_sibling(child))
    n += check_names(child, named && is_control(widget));
  return n;
}

/* ---- the session ----------------------------------------------------------------------------- */

/* where the view shows the skin nearest to a point: over the whole view, then around what was best
 */
static void
find_on_screen(GtkWidget *scene, const double wanted_mm[3], double *x, double *y)
{
  const double width = gtk_widget_get_width(scene), height = gtk_widget_get_height(scene);
  double nearest = INFINITY, centre[2] = { 0.5, 0.55 }, reach[2] = { 0.3, 0.35 };
  for (int pass = 0; pass < 2; pass++) {
    const double from[2] = { centre[0] - reach[0], centre[1] - reach[1] };
    for (int j = 0; j <= 35; j++)
      for (int i = 0; i <= 30; i++) {
        const double u = from[0] + reach[0] * i / 15.0, v = from[1] + reach[1] * j / 17.5;
        const PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), u * width, v * height);
        double off = 0.0;
        for (int d = 0; d < 3; d++)
          off += pow(hit.point_mm[d] - wanted_mm[d], 2.0);
        if (hit.id && off < nearest) {
          nearest = off;
          centre[0] = u;
          centre[1] = v;
        }
      }
    reach[0] /= 15.0;
    reach[1] /= 17.5;
  }
  *x = centre[0] * width;
  *y = centre[1] * height;
  g_assert_cmpfloat(sqrt(nearest), <, 8.0);
}

/* the true skin is within so much in front of and behind a point that was picked from in front */
static void
expect_skin_of_scan(PlaWindow *window, const double at_mm[3], double within_mm, int soft)
{
  g_assert_cmpint(label_at(window, (double[3]){ at_mm[0], at_mm[1] + within_mm, at_mm[2] }), ==, 0);
  g_assert_cmpint(label_at(window, (double[3]){ at_mm[0], at_mm[1] - within_mm, at_mm[2] }), ==,
                  soft);
}

static void
expect_skin_of_ellipsoid(const double at_mm[3], double within_mm)
{
  double gradient = 0.0;
  for (int d = 0; d < 3; d++)
    gradient += pow(at_mm[d] / pow(axes_mm[d], 2.0), 2.0);
  const double f = ellipsoid(at_mm);
  g_assert_cmpfloat(fabs(f - 1.0) * f / sqrt(gradient), <, within_mm);
}

static void
run_session(const Subject *subject)
{
  g_main_context_set_poll_func(NULL, watched_poll);
  turn_from = thread_seconds();
  PlaWindow *window = new_window();
  gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  settle(window);
  turn_longest = 0.0; /* the window itself comes up once */
  PlaDocument *document = pla_window_get_document(window);
  PlaTools *tools = pla_document_get_tools(document);
  GActionGroup *group = G_ACTION_GROUP(window);
  PlaHash hash[16];
  int n = 0;

  /* open a scan in a new case */
  turn_was_mine = TRUE;
  g_autofree char *path = g_build_filename(fixture_dir, "session.platysma", NULL);
  pla_window_create(window, path);
  settle(window);
  hash[n++] = state_hash(window);
  pla_window_open(window, subject->scan);
  settle(window);
  hash[n++] = state_hash(window);
  expect_short_turns("opening", FALSE);
  GtkWidget *axial = pla_window_get_slice(window, PLA_AXIS_AXIAL);
  g_assert_cmpint(colours_of(window, axial), >, 20);

  /* find tissues */
  pla_window_activate(window, "anatomy.segment");
  settle(window);
  hash[n++] = state_hash(window);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  const int soft = label_named(window, "soft tissue"), bone = label_named(window, "bone");
  g_assert_cmpint(label_at(window, subject->bone_mm), ==, bone);
  g_assert_cmpint(label_at(window, subject->soft_mm), ==, soft);
  g_assert_cmpint(label_at(window, subject->outside_mm), ==, 0);
  expect_short_turns("segmenting", FALSE);

  /* paint bone into soft tissue on the axial slice */
  GtkWidget *anatomy = find_type(GTK_WIDGET(window), PLA_TYPE_ANATOMY_PANEL, 0);
  const PlaLabelTable *table = &pla_document_get_labels(document)->table;
  for (int i = 0; i < table->n; i++)
    if (table->label[i].id == bone) /* the third list: after scans and nothing else */
      for (int row = 0; row < 4; row++) {
        GtkWidget *combo = find_type(anatomy, ADW_TYPE_COMBO_ROW, row);
        if (combo &&
            g_strcmp0(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(combo)), "Ti_ssue") == 0)
          adw_combo_row_set_selected(ADW_COMBO_ROW(combo), (guint)i);
      }
  press_button(window, "_Paint");
  g_assert_cmpint(pla_tools_get(tools), ==, PLA_TOOL_BRUSH);
  PlaSlicePlane plane = pla_slice_view_get_plane(PLA_SLICE_VIEW(axial));
  const double from[3] = { -36, 10, 0 }, to[3] = { -36, -10, 0 };
  double stroke[6][2];
  for (int i = 0; i < 6; i++) {
    double at[3];
    for (int d = 0; d < 3; d++)
      at[d] = from[d] + i / 5.0 * (to[d] - from[d]);
    pla_slice_from_ras(&plane, at, &stroke[i][0], &stroke[i][1]);
    stroke[i][0] += 0.5;
    stroke[i][1] += 0.5;
  }
  pointer_drag(axial, stroke, 6);
  settle(window);
  hash[n++] = state_hash(window);
  g_assert_cmpint(label_at(window, (double[3]){ -36, 0, 0 }), ==, bone);
  g_assert_cmpint(label_at(window, (double[3]){ 36, 0, 0 }), ==, soft);
  expect_short_turns("painting", FALSE);
  press_button(window, "_Paint");
  g_assert_cmpint(pla_tools_get(tools), ==, PLA_TOOL_NONE);

  /* a surface of the first tissue */
  pla_window_activate(window, "anatomy.surface");
  settle(window);
  hash[n++] = state_hash(window);
  g_assert_cmpint(pla_entry_get_mesh(entry_named(window, "soft tissue surface"))->n_tris, >, 1000);
  expect_short_turns("making a surface", FALSE);

  /* a mesh of soft tissue */
  pla_window_set_workspace(window, "mesh");
  settle(window);
  GtkWidget *mesh_panel = find_type(GTK_WIDGET(window), PLA_TYPE_MESH_PANEL, 0);
  gtk_spin_button_set_value(GTK_SPIN_BUTTON(find_type(mesh_panel, GTK_TYPE_SPIN_BUTTON, 0)),
                            subject->cell_mm);
  pla_window_activate(window, "mesh.make");
  settle(window);
  hash[n++] = state_hash(window);
  const PlaMesh *mesh = pla_entry_get_mesh(entry_named(window, "soft tissue mesh"));
  g_assert_cmpint(mesh->n_tets, >, 1000);
  expect_short_turns("meshing", FALSE);

  /* a hook on the front, pulled to the right of the picture: the patient's left */
  pla_entry_set_visible(entry_named(window, "soft tissue surface"), FALSE);
  pla_window_set_workspace(window, "simulate");
  g_action_group_activate_action(group, "look", g_variant_new_string("anterior"));
  settle(window);
  press_button(window, "_Pull…");
  g_assert_cmpint(pla_tools_get(tools), ==, PLA_TOOL_HOOK);
  settle(window);
  int shapes = 0;
  g_signal_connect_swapped(tools, "moved", G_CALLBACK(on_moved), &shapes);
  GtkWidget *scene = pla_window_get_scene(window);
  double x = 0.0, y = 0.0;
  find_on_screen(scene, subject->cheek_mm, &x, &y);
  turn_was_mine = TRUE;
  PlaScenePick hit = pla_scene_view_pick(PLA_SCENE_VIEW(scene), x, y);
  const double way[5][2] = { { x, y }, { x + 8, y }, { x + 16, y }, { x + 24, y }, { x + 30, y } };
  pointer_drag(scene, way, 5);
  int n_marks;
  const PlaMark *marks = pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 1);
  for (int i = 0; i < 600 && marks[0].pull_mm[0] > -3.0; i++) {
    let_run(50); /* a busy machine hands motion on late */
    marks = pla_tools_get_marks(tools, &n_marks);
  }
  g_assert_cmpint(marks[0].kind, ==, PLA_MARK_HOOK);
  double off = 0.0;
  for (int d = 0; d < 3; d++)
    off += pow(marks[0].at_mm[d] - hit.point_mm[d], 2.0);
  g_assert_cmpfloat(sqrt(off), <, 1.0); /* the pointer stands on whole pixels */
  if (subject->made)
    expect_skin_of_ellipsoid(marks[0].at_mm, 1.0);
  else
    expect_skin_of_scan(window, marks[0].at_mm, 0.5 * subject->cell_mm, soft);
  g_assert_cmpfloat(marks[0].pull_mm[0], <, -3.0);
  g_assert_cmpfloat(fabs(marks[0].pull_mm[1]), <, 1e-6);

  /* the body follows */
  for (int i = 0; i < 1200 && shapes < 2; i++) /* likewise */
    let_run(50);
  g_assert_cmpint(shapes, >=, 2);
  expect_short_turns("pulling", FALSE);

  /* further, with the hook that is there; then around the head */
  const double more[4][2] = {
    { x + 30, y }, { x + 32, y + 4 }, { x + 34, y + 8 }, { x + 36, y + 12 }
  };
  pointer_drag(scene, more, 4);
  let_run(300);
  pla_tools_get_marks(tools, &n_marks);
  g_assert_cmpint(n_marks, ==, 1);
  expect_short_turns("pulling again", TRUE);
  pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
  const double around[5][2] = { { 40, 60 }, { 60, 70 }, { 80, 60 }, { 60, 50 }, { 40, 60 } };
  pointer_drag(scene, around, 5);
  let_run(400);
  expect_short_turns("turning the head", TRUE);

  /* solve, and look at the stretch */
  press_keys(GTK_WIDGET(window), "Control_L+Return");
  settle(window);
  hash[n++] = state_hash(window);
  PlaEntry *result = entry_named(window, "soft tissue mesh result");
  JsonObject *found =
      json_object_get_object_member(pla_entry_get_content(result)->meta, "simulated");
  g_assert_true(json_object_get_boolean_member(found, "converged"));
  g_assert_cmpint((int)json_object_get_int_member(found, "inverted"), ==, 0);
  g_assert_cmpstr(pla_entry_get_field(result)->id, ==, "stretch");
  g_assert_true(pla_entry_get_visible(result));
  g_assert_false(pla_entry_get_visible(entry_named(window, "soft tissue mesh")));
  const int warm = count_warm(window, scene, 90);
  g_assert_cmpint(warm, >, 50); /* the bar and the stretched skin */
  pla_entry_set_field(result, NULL, 0.0, 0.0);
  settle(window);
  g_assert_cmpint(count_warm(window, scene, 90), <, warm);
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  expect_short_turns("solving", FALSE);

  /* undo all, redo all: each state is what it was */
  for (int i = n - 1; i > 0; i--) {
    PlaHash now = state_hash(window);
    g_assert_true(pla_hash_equal(&now, &hash[i]));
    g_action_group_activate_action(group, "undo", NULL);
    settle(window);
  }
  g_assert_false(g_action_group_get_action_enabled(group, "undo"));
  g_assert_null(pla_document_get_volume(document));
  for (int i = 1; i < n; i++) {
    g_action_group_activate_action(group, "redo", NULL);
    settle(window);
    PlaHash now = state_hash(window);
    g_assert_true(pla_hash_equal(&now, &hash[i]));
  }
  g_assert_false(g_action_group_get_action_enabled(group, "redo"));
  entry_named(window, "soft tissue mesh result");
  g_assert_cmpint(colours_of(window, scene), >, 300);
  expect_short_turns("undoing and redoing", TRUE);

  /* the history has every step, and its first row goes back before them all */
  pla_window_set_workspace(window, "history");
  settle(window);
  pla_document_go_to(document, 0);
  settle(window);
  PlaHash start = state_hash(window);
  g_assert_true(pla_hash_equal(&start, &hash[0]));
  pla_document_go_to(document, n - 1);
  settle(window);

  /* every workspace can be read out */
  int n_workspaces;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n_workspaces);
  g_action_group_activate_action(group, "look", g_variant_new_string("three-quarter"));
  for (int i = 0; i < n_workspaces; i++) {
    pla_window_set_workspace(window, workspaces[i].id);
    settle(window);
    g_assert_cmpint(check_names(GTK_WIDGET(window), FALSE), >, 15);
  }

  /* the report tells of the solve; it draws in a context of its own */
  gdk_gl_context_clear_current();
  PlaReport *report = NULL;
  PlaError err;
  PlaReportOptions opts = pla_report_options_default();
  opts.sections = PLA_REPORT_MESHES | PLA_REPORT_OPERATIONS;
  if (pla_report_make(pla_document_get_session(document), &opts, NULL, &report, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_cmpint(pla_report_n_tables(report), >, 0);
  pla_report_free(report);
  g_main_context_set_poll_func(NULL, NULL);
  close_window(window);

  /* and looks as it did */
  if (subject->made && !g_getenv("PLA_SMALL"))
    compare_workspaces(path);
}

static void
test_session(void)
{
  g_autofree char *scan = write_head();
  const Subject subject = {
    .scan = scan,
    .bone_mm = { 0, 0, 0 },
    .soft_mm = { 0, 45, 0 },
    .outside_mm = { 55, 0, 0 },
    .cell_mm = 7.0,
    .cheek_mm = { 4, 59, -6 },
    .made = TRUE,
  };
  run_session(&subject);
}

/* the same on a patient: datasets/fetch-ct-head */
static void
test_ct(void)
{
  g_autofree char *scan =
      g_test_build_filename(G_TEST_DIST, "..", "datasets", "cache", "ct-head.nii.gz", NULL);
  if (!g_getenv("PLA_LONG") || !g_file_test(scan, G_FILE_TEST_EXISTS)) {
    g_test_skip("with PLA_LONG=1, after datasets/fetch-ct-head");
    return;
  }
  const Subject subject = {
    .scan = scan,
    .bone_mm = { -40, 61, 0 },
    .soft_mm = { 0, -20, 0 },
    .outside_mm = { 100, 0, 0 },
    .cell_mm = 6.0,
    .cheek_mm = { 38, 68, -50 },
  };
  run_session(&subject);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/session/all", test_session);
  g_test_add_func("/session/ct", test_ct);
  return fixture_run();
}

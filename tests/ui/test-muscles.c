/* The Muscles workspace by hand: a body is built, moved by sliders, recorded, fitted, played and
 * exported; everything is undone and redone. */
#include "app/case/session.h"
#include "app/verbs/verb-lists.h"
#include "io/formats/format.h"
#include "tests/ui/fixture.h"
#include "tests/ui/pointer.h"
#include "ui/panels/muscles-panel.h"
#include "ui/views/scene-view.h"
#include "ui/views/timeline.h"

#include <math.h>
#include <string.h>

static PlaMusclesPanel *
panel_of(PlaWindow *window)
{
  return PLA_MUSCLES_PANEL(pla_window_get_panel(window, "muscles"));
}

static PlaMotionPlayer *
stage_of(PlaWindow *window)
{
  return pla_muscles_panel_get_stage(panel_of(window));
}

static const PlaStateItem *
item_named(PlaWindow *window, const char *name)
{
  PlaSession *session = pla_document_get_session(pla_window_get_document(window));
  return pla_state_find_name(pla_session_get_state(session), name);
}

static int
n_operations(PlaWindow *window)
{
  PlaSession *session = pla_document_get_session(pla_window_get_document(window));
  return (int)pla_session_get_head(session);
}

/* an action of the panel, until all of its work is done and nothing was refused */
static void
do_action(PlaWindow *window, const char *action)
{
  pla_window_activate(window, action);
  settle(window);
  g_assert_cmpstr(pla_muscles_panel_get_said(panel_of(window)), ==, "");
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
}

/* waits until the body has the shape of the newest sliders */
static void
wait_for_shape(PlaWindow *window)
{
  for (int i = 0; i < 2000 && pla_motion_player_get_shown(stage_of(window)) == PLA_SHOWN_MOVING;
       i++)
    let_run(20);
  g_assert_cmpstr(pla_muscles_panel_get_said(panel_of(window)), ==, "");
  g_assert_cmpint(pla_motion_player_get_shown(stage_of(window)), ==, PLA_SHOWN_LIVE);
  settle(window);
}

typedef struct {
  int n_verts, shapes;
  double moved_mm; /* largest way of a vertex from rest */
} Watch;

static void
on_moved(Watch *watch, PlaEntry *entry, const double *pos)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  watch->shapes++;
  watch->moved_mm = 0.0;
  for (int i = 0; pos && mesh && i < 3 * mesh->n_verts; i++)
    watch->moved_mm = fmax(watch->moved_mm, 1e3 * fabs(pos[i] - mesh->pos[i]));
}

/* the 3-D view in pixels, to compare */
static cairo_surface_t *
picture(PlaWindow *window)
{
  cairo_surface_t *out = NULL;
  PlaError err;
  if (pla_scene_view_draw(PLA_SCENE_VIEW(pla_window_get_scene(window)), NULL, 320, 240, &out,
                          &err) != PLA_OK)
    g_error("%s", err.message);
  return out;
}

static int
count_different(cairo_surface_t *a, cairo_surface_t *b)
{
  int n = 0;
  cairo_surface_flush(a);
  cairo_surface_flush(b);
  for (int y = 0; y < 240; y++) {
    const uint8_t *p = cairo_image_surface_get_data(a) + y * cairo_image_surface_get_stride(a);
    const uint8_t *q = cairo_image_surface_get_data(b) + y * cairo_image_surface_get_stride(b);
    for (int x = 0; x < 4 * 320; x += 4)
      n += abs(p[x] - q[x]) + abs(p[x + 1] - q[x + 1]) + abs(p[x + 2] - q[x + 2]) > 40;
  }
  return n;
}

static void
choose(PlaWindow *window, const char *title, guint which)
{
  for (int i = 0;; i++) {
    GtkWidget *row = find_type(GTK_WIDGET(panel_of(window)), ADW_TYPE_COMBO_ROW, i);
    if (!row)
      g_error("there is no choice '%s'", title);
    if (strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), title) == 0) {
      adw_combo_row_set_selected(ADW_COMBO_ROW(row), which);
      return;
    }
  }
}

static void
write_text(PlaWindow *window, const char *title, const char *text)
{
  for (int i = 0;; i++) {
    GtkWidget *row = find_type(GTK_WIDGET(panel_of(window)), ADW_TYPE_ENTRY_ROW, i);
    if (!row)
      g_error("there is no entry '%s'", title);
    if (strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), title) == 0) {
      gtk_editable_set_text(GTK_EDITABLE(row), text);
      return;
    }
  }
}

static void
set_number(PlaWindow *window, const char *title, double value)
{
  for (int i = 0;; i++) {
    GtkWidget *spin = find_type(GTK_WIDGET(panel_of(window)), GTK_TYPE_SPIN_BUTTON, i);
    if (!spin)
      g_error("there is no number '%s'", title);
    GtkWidget *row = gtk_widget_get_ancestor(spin, ADW_TYPE_ACTION_ROW);
    if (strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), title) == 0) {
      gtk_spin_button_set_value(GTK_SPIN_BUTTON(spin), value);
      return;
    }
  }
}

/* one muscle by its slider: the body follows, the picture changes, and the pose can be kept */
static void
move_by_hand(PlaWindow *window, const char *muscle, const char *other)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  PlaMusclePose *pose = pla_muscles_panel_get_pose(panel_of(window));
  Watch watch = { 0 };
  do_action(window, "muscles.step::move");
  cairo_surface_t *before = picture(window);
  gulong handler = g_signal_connect_swapped(tools, "moved", G_CALLBACK(on_moved), &watch);
  GtkRange *slider = pla_muscle_pose_find(pose, muscle);
  g_assert_nonnull(slider);
  gtk_range_set_value(slider, 0.2);
  gtk_range_set_value(slider, 0.4);
  wait_for_shape(window);
  g_assert_cmpint(watch.shapes, >=, 1);
  g_assert_cmpfloat(watch.moved_mm, >, 0.5);
  /* the other side comes along */
  g_assert_cmpfloat_with_epsilon(gtk_range_get_value(pla_muscle_pose_find(pose, other)), 0.4, 1e-9);
  cairo_surface_t *after = picture(window);
  g_assert_cmpint(count_different(before, after), >, 30);
  cairo_surface_destroy(after);
  shoot(window, "2-moved");
  const double live_mm = watch.moved_mm;
  do_action(window, "muscles.keep");
  g_assert_nonnull(item_named(window, "pose"));
  g_assert_nonnull(item_named(window, "pose, activations"));
  /* what is kept is what was seen */
  PlaError err;
  PlaSession *session = pla_document_get_session(pla_window_get_document(window));
  g_autoptr(PlaContent) kept = NULL;
  if (pla_session_load(session, item_named(window, "pose")->item, NULL, &kept, &err) != PLA_OK)
    g_error("%s", err.message);
  const PlaMesh *rest = pla_motion_player_get(stage_of(window))->body->mesh;
  double kept_mm = 0.0;
  for (int i = 0; i < 3 * rest->n_verts; i++)
    kept_mm = fmax(kept_mm, 1e3 * fabs(kept->mesh->pos[i] - rest->pos[i]));
  g_assert_cmpfloat(fabs(kept_mm - live_mm), <, 0.1);
  do_action(window, "muscles.relax");
  wait_for_shape(window);
  g_assert_cmpfloat(watch.moved_mm, <, 0.05);
  g_signal_handler_disconnect(tools, handler);
  cairo_surface_destroy(before);
}

/* what was said while nothing was said */
static void
set_phonemes(PlaWindow *window)
{
  PlaDocument *document = pla_window_get_document(window);
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("set-phonemes");
  PlaPhone phone[] = { { 0.0, 0.15, (char *)"a" }, { 0.15, 0.28, (char *)"b" } };
  pla_verb_values_set_text(values, "item", "made-up take");
  pla_values_set_phonemes(values, &(PlaPhones){ .n = 2, .phone = phone });
  g_assert_true(pla_document_run(document, "Phonemes", values));
  settle(window);
}

static void
record_and_fit(PlaWindow *window, const char *text)
{
  do_action(window, "muscles.step::take");
  write_text(window, "_Text that it says", text);
  set_number(window, "_Length (s)", 0.3);
  do_action(window, "muscles.record");
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  g_assert_nonnull(p->take);
  g_assert_cmpstr(p->refused, ==, NULL);
  g_assert_cmpint(p->labels.n_matched, ==, p->take->n_markers);
  int n_marks;
  pla_tools_get_marks(pla_document_get_tools(pla_window_get_document(window)), &n_marks);
  g_assert_cmpint(n_marks, >=, p->take->n_markers / 2);
  shoot(window, "3-take");
  if (!*text)
    set_phonemes(window);
  do_action(window, "muscles.step::fit");
  shoot(window, "4-before");
  do_action(window, "muscles.fit");
  p = pla_motion_player_get(stage_of(window));
  g_assert_nonnull(p->shape);
  g_assert_cmpint(p->n_misfits, ==, p->take->n_markers);
  /* 0.2 mm of noise in each axis were asked for */
  g_assert_cmpfloat(p->misfit[0].rms_mm, <, 1.5);
  g_assert_cmpfloat(p->misfit[0].rms_mm, >=, p->misfit[p->n_misfits - 1].rms_mm);
  shoot(window, "4-fitted");
}

/* every frame shows its own stored shape; play goes on by itself */
static void
play(PlaWindow *window)
{
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  PlaTimeline *timeline = PLA_TIMELINE(pla_window_get_timeline(window));
  Watch watch = { 0 };
  do_action(window, "muscles.step::play");
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  g_assert_cmpint(pla_timeline_n_frames(timeline), ==, p->moves.n_frames);
  gulong handler = g_signal_connect_swapped(tools, "moved", G_CALLBACK(on_moved), &watch);
  double most = 0.0;
  for (int f = 0; f < p->moves.n_frames; f += MAX(p->moves.n_frames / 7, 1)) {
    pla_timeline_set_frame(timeline, f);
    g_assert_cmpint(pla_motion_player_get_frame(stage_of(window)), ==, f);
    g_assert_cmpint(pla_motion_player_get_shown(stage_of(window)), ==, PLA_SHOWN_STORED);
    most = fmax(most, watch.moved_mm);
  }
  g_assert_cmpfloat(most, >, 0.5);
  shoot(window, "5-play");
  pla_timeline_set_frame(timeline, 0);
  watch.shapes = 0;
  pla_window_activate(window, "win.play");
  for (int i = 0; i < 2000 && (pla_timeline_get_playing(timeline) || watch.shapes == 0); i++)
    let_run(20);
  g_assert_cmpint(watch.shapes, >=, 1);
  g_assert_cmpint(pla_timeline_get_frame(timeline), ==, p->moves.n_frames - 1);
  g_signal_handler_disconnect(tools, handler);
  settle(window);
}

static void
export_tables(PlaWindow *window)
{
  g_autofree char *path = g_build_filename(fixture_dir, "activations.csv", NULL);
  g_autofree char *rest = g_build_filename(fixture_dir, "residuals.csv", NULL);
  do_action(window, "muscles.step::export");
  pla_muscles_panel_export(panel_of(window), FALSE, path);
  pla_muscles_panel_export(panel_of(window), TRUE, rest);
  settle(window);
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  for (const char *const *file = (const char *[]){ path, rest, NULL }; *file; file++) {
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(*file, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_assert_cmpuint(g_strv_length(lines), >=, (guint)p->moves.n_frames);
  }
  shoot(window, "7-export");
}

/* the frames in which a phoneme of the line is at its middle, as a user would look at them */
static void
look_at_phones(PlaWindow *window, const PlaPhones *phones, const char *name)
{
  PlaTimeline *timeline = PLA_TIMELINE(pla_window_get_timeline(window));
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  const double start = p->track->track->start_s, rate = p->moves.rate_hz;
  pla_scene_view_look(PLA_SCENE_VIEW(pla_window_get_scene(window)), PLA_VIEW_ANTERIOR);
  GtkSwitch *muscles = pla_muscle_pose_get_see(pla_muscles_panel_get_pose(panel_of(window)));
  gtk_switch_set_active(muscles, FALSE);
  for (int i = 0; i < phones->n; i++) {
    const double middle = 0.5 * (phones->phone[i].start_s + phones->phone[i].end_s);
    const int f = (int)lround((middle - start) * rate);
    pla_timeline_set_frame(timeline, CLAMP(f, 0, p->moves.n_frames - 1));
    g_assert_cmpint(pla_motion_player_get_shown(stage_of(window)), ==, PLA_SHOWN_STORED);
    g_autofree char *shot = g_strdup_printf("%s-%02d-%s", name, i, phones->phone[i].label);
    shoot(window, shot);
  }
  gtk_switch_set_active(muscles, TRUE);
}

/* words become phonemes, the preview blends what is stored, saying it simulates */
static void
speak(PlaWindow *window, gboolean face)
{
  PlaTimeline *timeline = PLA_TIMELINE(pla_window_get_timeline(window));
  PlaMuscleSpeech *speech = pla_muscles_panel_get_speech(panel_of(window));
  do_action(window, "muscles.step::speak");
  shoot(window, "6-speak");
  if (face) {
    write_text(window, "_What is said", "Cheese");
    do_action(window, "muscles.find-phonemes");
  } else {
    g_autofree char *path = g_build_filename(fixture_dir, "ba.lab", NULL);
    g_assert_true(g_file_set_contents(path, "0.0 0.1 b\n0.1 0.3 a\n", -1, NULL));
    pla_muscle_speech_read(speech, path);
    settle(window);
    g_assert_cmpstr(pla_muscles_panel_get_said(panel_of(window)), ==, "");
  }
  /* stored shapes are blended at once, and the face goes along */
  const int n_preview = pla_timeline_n_frames(timeline);
  g_assert_cmpint(n_preview, >, 10);
  for (int f = 0; f < n_preview; f += MAX(n_preview / 5, 1)) {
    pla_timeline_set_frame(timeline, f);
    g_assert_cmpint(pla_motion_player_get_shown(stage_of(window)), ==, PLA_SHOWN_STORED);
  }
  pla_phoneme_lane_select(pla_muscle_speech_get_lane(speech), 0);
  settle(window);
  shoot(window, "6-preview");
  const int before = n_operations(window);
  do_action(window, "muscles.say");
  /* what was said, and its shapes */
  g_assert_cmpint(n_operations(window), ==, before + 2);
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  g_assert_nonnull(p->shape);
  g_assert_cmpint(p->phones.n, >=, 2);
  Watch watch = { 0 };
  gulong handler = g_signal_connect_swapped(pla_document_get_tools(pla_window_get_document(window)),
                                            "moved", G_CALLBACK(on_moved), &watch);
  do_action(window, "muscles.step::play");
  p = pla_motion_player_get(stage_of(window));
  pla_timeline_set_frame(timeline, p->moves.n_frames / 2);
  g_assert_cmpfloat(watch.moved_mm, >, 0.2);
  look_at_phones(window, &p->phones, "6-said");
  g_signal_handler_disconnect(pla_document_get_tools(pla_window_get_document(window)), handler);
}

/* what the case was like after each operation */
typedef struct {
  PlaHash hash[16];
  gboolean known[16];
} Past;

static void
remember(PlaWindow *window, Past *past)
{
  const int n = n_operations(window);
  g_assert_cmpint(n, <, (int)G_N_ELEMENTS(past->hash));
  past->hash[n] = state_hash(window);
  past->known[n] = TRUE;
}

static void
expect(PlaWindow *window, const Past *past)
{
  const int n = n_operations(window);
  const PlaHash is = state_hash(window);
  g_assert_true(!past->known[n] || pla_hash_equal(&is, &past->hash[n]));
}

static void
undo_and_redo(PlaWindow *window, const Past *past)
{
  const int n = n_operations(window);
  for (int i = 0; i < n; i++) {
    g_action_group_activate_action(G_ACTION_GROUP(window), "undo", NULL);
    settle(window);
    expect(window, past);
  }
  g_assert_cmpint(n_operations(window), ==, 0);
  g_assert_null(pla_motion_player_get(stage_of(window)));
  for (int i = 0; i < n; i++) {
    g_action_group_activate_action(G_ACTION_GROUP(window), "redo", NULL);
    settle(window);
    expect(window, past);
  }
  g_assert_nonnull(pla_motion_player_get(stage_of(window))->shape);
}

static void
test_session(void)
{
  const gboolean face = g_getenv("PLA_LONG") != NULL;
  PlaWindow *window = new_window();
  const char *size = g_getenv("PLA_SIZE");
  int w = 960, h = 600;
  if (size && sscanf(size, "%dx%d", &w, &h) != 2)
    g_error("PLA_SIZE is not like 1920x1080");
  gtk_window_set_default_size(GTK_WINDOW(window), w, h);
  g_autofree char *path = g_build_filename(fixture_dir, "muscles.platysma", NULL);
  Past past = { 0 };
  pla_window_set_workspace(window, "muscles");
  shoot(window, "0-nothing");
  pla_window_create(window, path);
  settle(window);
  pla_window_set_workspace(window, "muscles");
  settle(window);
  remember(window, &past);
  shoot(window, "1-empty");
  choose(window, "_Body", face ? 0 : 1);
  choose(window, "_Detail", 0);
  if (face && g_getenv("PLA_DETAIL"))
    choose(window, "_Detail", (guint)atoi(g_getenv("PLA_DETAIL")));
  do_action(window, "muscles.build");
  g_assert_nonnull(pla_motion_player_get(stage_of(window)));
  remember(window, &past);
  shoot(window, "1-built");
  move_by_hand(window, face ? "zygomaticus major, right" : "genioglossus anterior, right",
               face ? "zygomaticus major, left" : "genioglossus anterior, left");
  remember(window, &past);
  record_and_fit(window, face ? g_getenv("PLA_TEXT") ? g_getenv("PLA_TEXT") : "Cheese" : "");
  remember(window, &past);
  play(window);
  speak(window, face);
  remember(window, &past);
  export_tables(window);
  undo_and_redo(window, &past);
  close_window(window);
}

/* ---- a take of five seconds ---- */

/* about five seconds with lips that close */
#define SENTENCE "My baby may pay me a penny. People bump up and mope by a map of Bombay."

static gboolean
closes_lips(const char *label)
{
  return strcmp(label, "p") == 0 || strcmp(label, "b") == 0 || strcmp(label, "m") == 0;
}

/* How far the lips' markers are apart in a frame, of the recording and of the fitted body, mm. */
static void
measure_lips(const PlaPerformance *p, int frame, double *measured, double *fitted)
{
  const size_t n = (size_t)p->take->n_markers;
  g_autofree double *pos = g_new(double, 3 * (size_t)p->body->mesh->n_verts);
  g_autofree double *seen = g_new(double, 3 * n), *made = g_new(double, 3 * n);
  int lip[2] = { -1, -1 };
  for (int i = 0; i < p->take->n_markers; i++) {
    if (strcmp(p->take->name[i], "lip-upper") == 0)
      lip[0] = i;
    if (strcmp(p->take->name[i], "lip-lower") == 0)
      lip[1] = i;
  }
  g_assert_true(lip[0] >= 0 && lip[1] >= 0);
  g_assert_true(pla_performance_get_shape(p, frame, pos));
  pla_performance_get_markers(p, frame, pos, seen, made);
  *measured = seen[3 * lip[0] + 2] - seen[3 * lip[1] + 2];
  *fitted = made[3 * lip[0] + 2] - made[3 * lip[1] + 2];
}

/* Every phoneme at its middle: lips are as far apart as they were recorded, and closer where the
 * sound closes them than where it opens them. */
static void
compare_lips(const PlaPerformance *p)
{
  double closed = 0.0, open = 0.0, worst = 0.0;
  int n_closed = 0, n_open = 0;
  for (int i = 0; i < p->phones.n; i++) {
    const double middle = 0.5 * (p->phones.phone[i].start_s + p->phones.phone[i].end_s);
    const int f = (int)lround((middle - p->track->track->start_s) * p->moves.rate_hz);
    double measured, fitted;
    measure_lips(p, CLAMP(f, 0, p->moves.n_frames - 1), &measured, &fitted);
    worst = fmax(worst, fabs(measured - fitted));
    if (closes_lips(p->phones.phone[i].label)) {
      closed += fitted;
      n_closed++;
    } else {
      open += fitted;
      n_open++;
    }
  }
  g_assert_cmpint(n_closed, >=, 8);
  g_test_message(
      "lips' markers: %.2f mm apart in %d closures, %.2f mm otherwise; recorded and fitted "
      "differ by at most %.2f mm",
      closed / n_closed, n_closed, open / n_open, worst);
  g_assert_cmpfloat(closed / n_closed, <, open / n_open - 1.0);
  /* six deviations of a difference of markers with 0.2 mm of noise */
  g_assert_cmpfloat(worst, <, 6.0 * 0.2 * sqrt(2.0));
}

/* Five seconds of a speaking face: recorded, fitted, and looked at frame by frame. */
static void
test_take(void)
{
  if (!g_getenv("PLA_LONG")) {
    g_test_skip("only in long runs");
    return;
  }
  PlaWindow *window = new_window();
  gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  g_autofree char *path = g_build_filename(fixture_dir, "take.platysma", NULL);
  pla_window_create(window, path);
  settle(window);
  pla_window_set_workspace(window, "muscles");
  settle(window);
  choose(window, "_Body", 0);
  choose(window, "_Detail", g_getenv("PLA_DETAIL") ? (guint)atoi(g_getenv("PLA_DETAIL")) : 1);
  do_action(window, "muscles.build");
  record_and_fit(window, SENTENCE);
  const PlaPerformance *p = pla_motion_player_get(stage_of(window));
  g_test_message("%d elements, %d frames, worst marker '%s' %.2f mm rms", p->body->mesh->n_tets,
                 p->moves.n_frames, p->misfit[0].name, p->misfit[0].rms_mm);
  g_assert_cmpfloat(p->moves.n_frames / p->moves.rate_hz, >=, 5.0);
  play(window);
  p = pla_motion_player_get(stage_of(window));
  compare_lips(p);
  look_at_phones(window, &p->phones, "take");
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/muscles/session", test_session);
  g_test_add_func("/muscles/take", test_take);
  return fixture_run();
}

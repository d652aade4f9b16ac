/* The Speech workspace by hand: a text is said, the tongue moves, the moment is chosen with the
 * pointer, played and looped; a second recording is compared; tables and pictures are saved; all
 * undone, redone. */
#include "io/stream/microphone.h"
#include "tests/ui/fixture.h"
#include "tests/ui/pointer.h"
#include "ui/panels/speech-panel.h"
#include "ui/speech/speech-playback.h"
#include "ui/speech/speech-sound.h"
#include "ui/views/scene-view.h"

#include <math.h>
#include <string.h>

static void
type_and_say(PlaWindow *window, const char *words)
{
  GtkWidget *panel = pla_window_get_panel(window, "speech");
  GtkWidget *entry = find_type(panel, ADW_TYPE_ENTRY_ROW, 0);
  gtk_editable_set_text(GTK_EDITABLE(entry), words);
  pla_window_activate(window, "speech.say");
  settle(window);
}

/* whether a sentence that is seen in the panel has these words */
static gboolean
says(PlaWindow *window, const char *words)
{
  GtkWidget *panel = pla_window_get_panel(window, "speech");
  for (int i = 0;; i++) {
    GtkWidget *label = find_type(panel, GTK_TYPE_LABEL, i);
    if (!label)
      return FALSE;
    if (gtk_widget_get_mapped(label) && strstr(gtk_label_get_text(GTK_LABEL(label)), words) &&
        gtk_widget_has_css_class(gtk_widget_get_parent(label), "failure"))
      return TRUE;
  }
}

static void
choose(PlaWindow *window, const char *title, guint which)
{
  GtkWidget *panel = pla_window_get_panel(window, "speech");
  for (int i = 0;; i++) {
    GtkWidget *row = find_type(panel, ADW_TYPE_COMBO_ROW, i);
    if (!row)
      g_error("there is no list '%s'", title);
    if (strcmp(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), title) == 0) {
      adw_combo_row_set_selected(ADW_COMBO_ROW(row), which);
      settle(window);
      return;
    }
  }
}

/* pixels of a part of a picture that are more red than green and blue */
static int
count_red_in(const char *path, int x0, int y0, int width, int height)
{
  cairo_surface_t *png = cairo_image_surface_create_from_png(path);
  int n = 0;
  for (int y = y0; y < y0 + height; y++)
    for (int x = x0; x < x0 + width; x++) {
      const uint8_t *p = cairo_image_surface_get_data(png) +
                         (size_t)y * (size_t)cairo_image_surface_get_stride(png) + 4 * (size_t)x;
      n += p[2] > 90 && p[2] > 1.5 * p[1] && p[2] > 1.4 * p[0];
    }
  cairo_surface_destroy(png);
  return n;
}

/* of the 3-D view */
static int
count_red(PlaWindow *window)
{
  g_autofree char *path = g_build_filename(fixture_dir, "scene.png", NULL);
  PlaError err;
  if (pla_scene_view_save(PLA_SCENE_VIEW(pla_window_get_scene(window)), 320, 240, path, &err) !=
      PLA_OK)
    g_error("%s", err.message);
  return count_red_in(path, 0, 0, 320, 240);
}

/* of the lower half of the sound */
static int
count_lane_red(PlaWindow *window, GtkWidget *sound)
{
  g_autofree char *path = g_build_filename(fixture_dir, "lanes.png", NULL);
  graphene_rect_t box;
  PlaError err;
  settle(window);
  if (pla_window_save(window, path, &err) != PLA_OK)
    g_error("%s", err.message);
  g_assert_true(gtk_widget_compute_bounds(sound, GTK_WIDGET(window), &box));
  return count_red_in(path, (int)box.origin.x + 4, (int)(box.origin.y + 0.5f * box.size.height),
                      (int)box.size.width - 8, (int)(0.45f * box.size.height));
}

static void
count(int *n)
{
  ++*n;
}

/* a while of the main loop, which is never at rest while a slow machine plays */
static void
run_on(void)
{
  const gint64 until = g_get_monotonic_time() + 25000;
  while (g_get_monotonic_time() < until)
    if (!g_main_context_iteration(NULL, FALSE))
      g_usleep(2000);
}

static void
play_to_end(PlaSpeechPlayback *playback)
{
  for (int i = 0; i < 1200 && pla_speech_playback_get_playing(playback); i++)
    run_on();
  g_assert_false(pla_speech_playback_get_playing(playback));
}

static void
check_pointer(PlaWindow *window, PlaSpeechPlayback *playback)
{
  GtkWidget *sound = find_type(GTK_WIDGET(window), PLA_TYPE_SPEECH_SOUND, 0);
  PlaSpeechSound *self = PLA_SPEECH_SOUND(sound);
  const double w = gtk_widget_get_width(sound), h = gtk_widget_get_height(sound);
  const double seconds = pla_speech_playback_get_seconds(playback);
  g_assert_cmpfloat(w, >, 200.0);
  pointer_click(sound, 0.5 * w, 0.3 * h, 1);
  for (int i = 0; i < 100 && pla_speech_playback_get_time(playback) == 0.0; i++)
    let_run(30);
  g_assert_cmpfloat(fabs(pla_speech_playback_get_time(playback) - 0.5 * seconds), <,
                    3.0 * seconds / w);
  const double way[4][2] = {
    { 0.3 * w, 0.3 * h }, { 0.35 * w, 0.3 * h }, { 0.5 * w, 0.3 * h }, { 0.6 * w, 0.3 * h }
  };
  pointer_drag(sound, way, 4);
  for (int i = 0; i < 100 && !pla_speech_playback_has_selection(playback); i++)
    let_run(30);
  let_run(100);
  double from, to;
  pla_speech_playback_get_selection(playback, &from, &to);
  g_assert_cmpfloat(fabs(from - pla_speech_sound_time_at(self, 0.3 * w)), <, 3.0 * seconds / w);
  g_assert_cmpfloat(fabs(to - pla_speech_sound_time_at(self, 0.6 * w)), <, 3.0 * seconds / w);
  g_assert_cmpfloat(fabs(pla_speech_sound_x_at(self, pla_speech_sound_time_at(self, 0.4 * w)) -
                         0.4 * w),
                    <, 0.01);
}

/* nearer at a place that stays, along, to the selection and back to all; playing turns pages */
static void
check_zoom(PlaWindow *window, PlaSpeechPlayback *playback)
{
  GtkWidget *sound = find_type(GTK_WIDGET(window), PLA_TYPE_SPEECH_SOUND, 0);
  GtkWidget *bar = find_type(gtk_widget_get_parent(sound), GTK_TYPE_SCROLLBAR, 0);
  PlaSpeechSound *self = PLA_SPEECH_SOUND(sound);
  const double all = pla_speech_playback_get_seconds(playback), about = 0.3 * all;
  const double x = pla_speech_sound_x_at(self, about);
  double from, to, chosen_from, chosen_to;
  g_assert_false(gtk_widget_get_visible(bar));
  pla_speech_sound_zoom(self, 4.0, about);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(fabs(to - from - 0.25 * all), <, 1e-9);
  g_assert_cmpfloat(fabs(pla_speech_sound_x_at(self, about) - x), <, 0.01);
  g_assert_true(gtk_widget_get_visible(bar));
  shoot(window, "4-near");
  /* never beyond the ends, never shorter than can be read */
  gtk_adjustment_set_value(pla_speech_sound_get_adjustment(self), 2.0 * all);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(fabs(to - all), <, 1e-9);
  pla_speech_sound_zoom(self, 1e6, about);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(fabs(to - from - 0.05), <, 1e-9);
  /* the moment is followed */
  pla_speech_playback_set_time(playback, 0.7 * all);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(from, <=, 0.7 * all);
  g_assert_cmpfloat(to, >=, 0.7 * all);
  pla_speech_playback_get_selection(playback, &chosen_from, &chosen_to);
  pla_speech_sound_zoom_selection(self);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(from, <=, chosen_from);
  g_assert_cmpfloat(to, >=, chosen_to);
  g_assert_cmpfloat(to - from, <, 1.2 * (chosen_to - chosen_from));
  /* the wheel, where the pointer is */
  pla_speech_sound_set_range(self, 0.0, all);
  pointer_move(sound, 0.25 * gtk_widget_get_width(sound), 40.0);
  const double under = pla_speech_sound_time_at(self, 0.25 * gtk_widget_get_width(sound));
  pointer_click(sound, 0.25 * gtk_widget_get_width(sound), 40.0, 4);
  for (int i = 0;
       i < 100 && gtk_adjustment_get_page_size(pla_speech_sound_get_adjustment(self)) == all; i++)
    let_run(30);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(to - from, <, 0.9 * all);
  g_assert_cmpfloat(fabs(pla_speech_sound_time_at(self, 0.25 * gtk_widget_get_width(sound)) -
                         under),
                    <, 0.01 * all);
  pla_speech_sound_zoom(self, 1e-6, about);
  pla_speech_sound_get_range(self, &from, &to);
  g_assert_cmpfloat(from, ==, 0.0);
  g_assert_cmpfloat(to, ==, all);
  g_assert_false(gtk_widget_get_visible(bar));
}

/* moments of the selection other than its ends */
static void
count_inside(PlaSpeechPlayback *playback, int *n)
{
  double from, to;
  const double now = pla_speech_playback_get_time(playback);
  pla_speech_playback_get_selection(playback, &from, &to);
  *n += now > from + 1e-9 && now < to - 1e-9;
}

static void
check_playing(PlaWindow *window, PlaSpeechPlayback *playback)
{
  int shapes = 0, moments = 0;
  PlaTools *tools = pla_document_get_tools(pla_window_get_document(window));
  gulong moved = g_signal_connect_swapped(tools, "moved", G_CALLBACK(count), &shapes);
  gulong time = g_signal_connect(playback, "moved", G_CALLBACK(count_inside), &moments);
  double from, to;
  pla_speech_playback_get_selection(playback, &from, &to);
  /* a busy machine may draw few moments each time, but not none for ever */
  for (int i = 0; i < 20 && (moments < 3 || shapes < 3); i++) {
    pla_window_activate(window, "speech.play");
    g_assert_true(pla_speech_playback_get_playing(playback));
    play_to_end(playback);
    g_assert_cmpfloat(fabs(pla_speech_playback_get_time(playback) - to), <, 1e-9);
  }
  g_assert_cmpint(moments, >=, 3);
  g_assert_cmpint(shapes, >=, 3); /* the 3-D tongue goes along */
  g_test_message("%d moments, %d shapes in %.2f s; %s", moments, shapes, to - from,
                 pla_speech_playback_get_silence(playback)
                     ? pla_speech_playback_get_silence(playback)
                     : "with sound");
  /* in a loop it begins again, slowly too */
  pla_window_activate(window, "speech.loop");
  pla_window_activate(window, "speech.pace::half");
  g_assert_cmpfloat(pla_speech_playback_get_speed(playback), ==, 0.5);
  pla_window_activate(window, "speech.play");
  double last = pla_speech_playback_get_time(playback);
  gboolean again = FALSE;
  for (int i = 0; i < 1200 && !again; i++) {
    run_on();
    const double now = pla_speech_playback_get_time(playback);
    again = i > 2 && now < last;
    g_assert_cmpfloat(now, >=, from - 1e-9);
    g_assert_cmpfloat(now, <=, to + 1e-9);
    last = now;
  }
  g_assert_true(again);
  pla_window_activate(window, "speech.play");
  g_assert_false(pla_speech_playback_get_playing(playback));
  pla_window_activate(window, "speech.loop");
  pla_window_activate(window, "speech.pace::spoken");
  g_signal_handler_disconnect(tools, moved);
  g_signal_handler_disconnect(playback, time);
}

/* lanes below the sound, once and for all motions that were asked for; a sentence; a table */
static void
check_muscles(PlaWindow *window, PlaSpeechPlayback *playback)
{
  PlaSpeechPanel *panel = PLA_SPEECH_PANEL(pla_window_get_panel(window, "speech"));
  GtkWidget *sound = find_type(GTK_WIDGET(window), PLA_TYPE_SPEECH_SOUND, 0);
  g_autofree char *csv = g_build_filename(fixture_dir, "muscles.csv", NULL);
  const int before = count_lane_red(window, sound);
  int told = 0;
  const gulong handler = g_signal_connect_swapped(playback, "muscles", G_CALLBACK(count), &told);
  g_assert_null(pla_speech_playback_get_muscles(playback));
  /* who cancels wants them no longer, and nothing is kept: by the switch, and by the list of jobs
   */
  pla_window_activate(window, "speech.muscles");
  g_assert_true(pla_speech_playback_get_muscles_wanted(playback));
  pla_window_activate(window, "speech.muscles");
  settle(window);
  g_assert_null(pla_speech_playback_get_muscles(playback));
  pla_window_activate(window, "speech.muscles");
  GListModel *jobs = pla_document_get_jobs(pla_window_get_document(window));
  g_autoptr(PlaJob) job = g_list_model_get_item(jobs, g_list_model_get_n_items(jobs) - 1);
  pla_job_cancel(job);
  settle(window);
  g_assert_false(pla_speech_playback_get_muscles_wanted(playback));
  g_assert_cmpint((int)g_list_model_get_n_items(jobs), ==, 0);
  pla_window_activate(window, "speech.muscles");
  settle(window);
  const PlaTongueActivations *found = pla_speech_playback_get_muscles(playback);
  const PlaSpoken *spoken = pla_speech_playback_get_shown(playback)->spoken;
  g_assert_nonnull(found);
  g_assert_cmpint(found->track->n_samples, ==, spoken->n_frames);
  g_assert_cmpfloat(found->track->start_s, ==, spoken->start_s);
  const PlaTongueMusclesFrame rms = pla_tongue_activations_rms(found);
  g_test_message("muscles explain %.2f mm to %.2f mm", rms.motion_mm, rms.residual_mm);
  g_assert_cmpfloat(rms.motion_mm, >, 1.0);
  g_assert_cmpfloat(rms.residual_mm, <, 0.6 * rms.motion_mm);
  g_assert_cmpint(count_lane_red(window, sound), >, before + 300);
  shoot(window, "4-muscles");
  pla_speech_panel_save_activations(panel, csv);
  settle(window);
  g_autofree char *table = NULL;
  g_assert_true(g_file_get_contents(csv, &table, NULL, NULL));
  g_assert_nonnull(strstr(table, "styloglossus, left"));
  /* what is known is shown again at once */
  pla_window_activate(window, "speech.muscles");
  g_assert_null(pla_speech_playback_get_muscles(playback));
  pla_window_activate(window, "speech.muscles");
  g_assert_true(pla_speech_playback_get_muscles(playback) == found);
  pla_window_activate(window, "speech.muscles");
  g_assert_cmpint(told, >=, 5);
  g_signal_handler_disconnect(playback, handler);
}

static void
check_saving(PlaWindow *window, PlaSpeechPlayback *playback)
{
  PlaSpeechPanel *panel = PLA_SPEECH_PANEL(pla_window_get_panel(window, "speech"));
  g_autofree char *gif = g_build_filename(fixture_dir, "speech.gif", NULL);
  g_autofree char *csv = g_build_filename(fixture_dir, "speech.csv", NULL);
  double from, to;
  pla_speech_playback_select(playback, 0.1, 0.3);
  pla_speech_playback_get_selection(playback, &from, &to);
  pla_speech_panel_save_table(panel, csv);
  settle(window);
  g_assert_true(g_file_test(csv, G_FILE_TEST_EXISTS));
  pla_speech_panel_save_video(panel, gif);
  settle(window);
  g_autoptr(GError) error = NULL;
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  g_autoptr(GdkPixbufAnimation) animation = gdk_pixbuf_animation_new_from_file(gif, &error);
  if (!animation)
    g_error("%s", error->message);
  g_assert_false(gdk_pixbuf_animation_is_static_image(animation));
  g_assert_cmpint(gdk_pixbuf_animation_get_width(animation), ==, 800);
  GdkPixbuf *first = gdk_pixbuf_animation_get_static_image(animation);
  /* a tongue's red in the middle of the section */
  const guchar *p = gdk_pixbuf_get_pixels(first) + 260 * gdk_pixbuf_get_rowstride(first) +
                    250 * gdk_pixbuf_get_n_channels(first);
  g_test_message("gif pixel %d %d %d", p[0], p[1], p[2]);
  g_assert_cmpint(p[0], >, p[1] + 30);
  G_GNUC_END_IGNORE_DEPRECATIONS
  pla_speech_playback_select(playback, 0.0, 0.0);
}

static void
test_speech(void)
{
  g_autofree char *path = g_build_filename(fixture_dir, "speech.platysma", NULL);
  PlaWindow *window = new_window();
  if (g_getenv("PLA_SHOTS")) /* else small, and soon drawn */
    gtk_window_set_default_size(GTK_WINDOW(window), 1280, 800);
  pla_window_create(window, path);
  settle(window);
  pla_window_set_workspace(window, "speech");
  settle(window);
  PlaSpeechPlayback *playback = pla_speech_playback_get(pla_window_get_document(window));
  PlaSpeechPanel *panel = PLA_SPEECH_PANEL(pla_window_get_panel(window, "speech"));
  GActionGroup *group = G_ACTION_GROUP(window);
  GtkWidget *sound = find_type(GTK_WIDGET(window), PLA_TYPE_SPEECH_SOUND, 0);
  PlaHash hash[6];
  int n = 0;
  pla_speech_panel_set_cell(panel, 8.0); /* coarse, and soon made */
  g_assert_null(pla_speech_playback_get_shown(playback));
  hash[n++] = state_hash(window);
  shoot(window, "1-empty");

  /* nothing to say is said so */
  type_and_say(window, "  ");
  g_assert_true(says(window, "Type what is to be said"));
  PlaHash now = state_hash(window);
  g_assert_true(pla_hash_equal(&now, &hash[0]));

  type_and_say(window, "two keys");
  g_assert_cmpstr(pla_window_get_failure(window), ==, NULL);
  hash[n++] = state_hash(window);
  const PlaUtterance *u = pla_speech_playback_get_shown(playback);
  g_assert_nonnull(u);
  g_assert_cmpstr(u->name, ==, "two keys");
  g_assert_null(u->spoken);
  g_assert_cmpint(u->heard.spectrogram.n_columns, >, 50);
  g_assert_cmpint(count_colours(window, sound), >, 20);
  shoot(window, "2-said");

  pla_window_activate(window, "speech.move");
  settle(window);
  hash[n++] = state_hash(window);
  u = pla_speech_playback_get_shown(playback);
  g_assert_nonnull(u->spoken);
  g_assert_cmpint(u->spoken->n_frames, >, 40);
  g_assert_cmpint(count_red(window), >, 150);
  shoot(window, "3-moved");

  check_pointer(window, playback);
  shoot(window, "4-selected");
  check_zoom(window, playback);
  check_playing(window, playback);
  check_saving(window, playback);
  check_muscles(window, playback);

  /* a second recording */
  type_and_say(window, "two cars");
  hash[n++] = state_hash(window);
  g_assert_cmpstr(pla_speech_playback_get_shown(playback)->name, ==, "two cars");
  pla_window_activate(window, "speech.move");
  settle(window);
  hash[n++] = state_hash(window);
  choose(window, "Compare _with", 1);
  g_assert_cmpstr(pla_speech_playback_get_other(playback)->name, ==, "two keys");
  const PlaSpokenPair *pair = pla_speech_playback_get_pair(playback);
  g_assert_nonnull(pair);
  g_assert_cmpfloat(pair->mean_mm, >, 0.3);
  g_assert_cmpfloat(pair->most_mm, >, 2.0); /* the vowels differ */
  pla_speech_playback_set_time(
      playback, pla_spoken_time(pla_speech_playback_get_shown(playback)->spoken, pair->most_frame));
  shoot(window, "5-compared");
  pla_window_activate(window, "speech.beside");
  g_assert_true(pla_speech_playback_get_beside(playback));
  shoot(window, "6-beside");

  /* without a microphone there is a sentence, and nothing else happens */
  PlaMicrophone *microphone = NULL;
  double rate = 44100.0;
  if (pla_microphone_open(&rate, &microphone, NULL) == PLA_OK) {
    pla_microphone_close(microphone);
  } else {
    pla_window_activate(window, "speech.record");
    settle(window);
    now = state_hash(window);
    g_assert_true(pla_hash_equal(&now, &hash[n - 1]));
    g_assert_true(says(window, "microphone"));
    shoot(window, "7-no-microphone");
  }

  /* all undone, all redone */
  for (int i = n - 1; i >= 0; i--) {
    now = state_hash(window);
    g_assert_true(pla_hash_equal(&now, &hash[i]));
    if (i > 0)
      g_action_group_activate_action(group, "undo", NULL);
    settle(window);
  }
  g_assert_null(pla_speech_playback_get_shown(playback));
  for (int i = 1; i < n; i++) {
    g_action_group_activate_action(group, "redo", NULL);
    settle(window);
    now = state_hash(window);
    g_assert_true(pla_hash_equal(&now, &hash[i]));
  }
  g_assert_nonnull(pla_speech_playback_get_shown(playback)->spoken);
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/speech/window", test_speech);
  return fixture_run();
}

/* Turns the head and pages through slices while it counts frames and CPU time. */
#include "ui/main/window-bench.h"

#include "ui/views/scene-view.h"
#include "ui/views/slice-view.h"

#include <stdio.h>
#include <time.h>

enum { WIDTH = 1000, HEIGHT = 800, SECONDS = 3 };

static gboolean
on_tick(gpointer data)
{
  return G_SOURCE_CONTINUE;
}

static void
on_painted(guint *frames)
{
  ++*frames;
}

static double
now(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

/* of all threads: what a picture costs also where others want the machine */
static double
cpu(void)
{
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void
wait_until_settled(PlaWindow *window)
{
  while (!pla_window_is_idle(window))
    g_main_context_iteration(NULL, TRUE);
}

static void
wait_for_frame(const guint *frames)
{
  for (guint before = *frames; *frames == before;)
    g_main_context_iteration(NULL, TRUE);
}

/* waits until a view has the size asked for, so that runs can be compared */
static void
make_size(PlaWindow *window, GtkWidget *view)
{
  for (int i = 0; i < 3; i++) {
    int w, h;
    gtk_window_get_default_size(GTK_WINDOW(window), &w, &h);
    gtk_window_set_default_size(GTK_WINDOW(window), w + WIDTH - gtk_widget_get_width(view),
                                h + HEIGHT - gtk_widget_get_height(view));
    const double until = now() + 0.5;
    while (now() < until)
      g_main_context_iteration(NULL, TRUE);
  }
}

static void
count_triangles(PlaEntry *entry, gpointer data)
{
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (mesh && pla_entry_get_visible(entry))
    *(int *)data += mesh->n_tris;
}

void
pla_window_bench(PlaWindow *window, const char *path)
{
  PlaDocument *document = pla_window_get_document(window);
  GActionGroup *actions = G_ACTION_GROUP(window);
  guint frames = 0, tick = g_timeout_add(5, on_tick, NULL);
  wait_until_settled(window);
  g_signal_connect_swapped(gtk_widget_get_frame_clock(GTK_WIDGET(window)), "after-paint",
                           G_CALLBACK(on_painted), &frames);

  /* the first picture: from the request until slices of the scan have been drawn */
  double from = now(), cpu_from = cpu();
  if (path) {
    pla_window_open(window, path);
    pla_document_forsake(document, TRUE); /* measuring leaves nothing behind */
  } else {
    pla_window_open_demo(window);
  }
  while (!pla_document_get_volume(document) && !pla_document_get_labels(document) &&
         !pla_window_get_failure(window))
    g_main_context_iteration(NULL, TRUE);
  wait_for_frame(&frames);
  const double first_picture = now() - from, first_cpu = cpu() - cpu_from;
  wait_until_settled(window);
  const double all_ready = now() - from;

  g_action_group_change_action_state(actions, "show-tree", g_variant_new_boolean(FALSE));
  g_action_group_change_action_state(actions, "show-panel", g_variant_new_boolean(FALSE));
  g_action_group_change_action_state(actions, "layout", g_variant_new_string("scene"));
  GtkWidget *scene = pla_window_get_scene(window);
  make_size(window, scene);
  wait_until_settled(window);
  int triangles = 0;
  pla_document_foreach(document, count_triangles, &triangles);
  const int width = gtk_widget_get_width(scene), height = gtk_widget_get_height(scene);

  /* turning */
  guint turned = 0;
  cpu_from = cpu();
  for (from = now(); now() - from < SECONDS; turned++) {
    pla_scene_view_turn(PLA_SCENE_VIEW(scene), 4.0, 0.0);
    wait_for_frame(&frames);
  }
  const double orbit = turned / (now() - from), orbit_cpu = (cpu() - cpu_from) / turned;
  from = now();
  wait_until_settled(window);
  const double full = now() - from;

  /* going through slices */
  g_action_group_change_action_state(actions, "layout", g_variant_new_string("axial"));
  make_size(window, pla_window_get_slice(window, PLA_AXIS_AXIAL));
  wait_until_settled(window);
  guint slices = 0;
  double cursor[3];
  pla_document_get_cursor(document, cursor);
  cpu_from = cpu();
  for (from = now(); now() - from < SECONDS; slices++) {
    const double at[3] = { cursor[0], cursor[1], cursor[2] + (slices % 40) - 20.0 };
    pla_document_set_cursor(document, at);
    wait_for_frame(&frames);
  }
  const double scrolled = slices / (now() - from), slice_cpu = (cpu() - cpu_from) / slices;
  g_source_remove(tick);
  g_signal_handlers_disconnect_by_data(gtk_widget_get_frame_clock(GTK_WIDGET(window)), &frames);
  printf("{\"name\": \"window\", \"width\": %d, \"height\": %d, \"triangles\": %d, "
         "\"first_picture_s\": %.3f, \"first_picture_cpu_s\": %.3f, \"all_ready_s\": %.3f, "
         "\"orbit_frames_per_s\": %.1f, \"orbit_cpu_s\": %.4f, \"full_picture_s\": %.3f, "
         "\"slices_per_s\": %.1f, \"slice_cpu_s\": %.4f}\n",
         width, height, triangles, first_picture, first_cpu, all_ready, orbit, orbit_cpu, full,
         scrolled, slice_cpu);
}

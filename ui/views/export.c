/* Saves a widget or the 3-D view as PNG. A recording draws one frame per turn of the main loop
 * and then runs ffmpeg, where it is installed. */
#include "ui/views/export.h"

#include "app/show/picture.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

PlaStatus
pla_widget_save(GtkWidget *window, const char *path, PlaError *err)
{
  int w = gtk_widget_get_width(window), h = gtk_widget_get_height(window);
  GskRenderer *renderer = gtk_native_get_renderer(GTK_NATIVE(window));
  if (!renderer || w < 1 || h < 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "The window is not on the screen");
  g_autoptr(GdkPaintable) paintable = gtk_widget_paintable_new(window);
  GtkSnapshot *snapshot = gtk_snapshot_new();
  gdk_paintable_snapshot(paintable, snapshot, w, h);
  g_autoptr(GskRenderNode) node = gtk_snapshot_free_to_node(snapshot);
  if (!node)
    return pla_fail(err, PLA_ERR_EMPTY, "The window has not been drawn yet");
  const graphene_rect_t box = GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h);
  g_autoptr(GdkTexture) texture = gsk_renderer_render_texture(renderer, node, &box);
  if (!gdk_texture_save_to_png(texture, path))
    return pla_fail(err, PLA_ERR_IO, "The picture %s could not be written", path);
  return PLA_OK;
}

GdkTexture *
pla_texture_from_image(cairo_surface_t *image)
{
  const int w = cairo_image_surface_get_width(image), h = cairo_image_surface_get_height(image);
  const gsize stride = (gsize)cairo_image_surface_get_stride(image);
  cairo_surface_flush(image);
  uint32_t *pixel = g_memdup2(cairo_image_surface_get_data(image), stride * (gsize)h);
  /* the unused byte of RGB24 is not alpha */
  for (gsize i = 0; i < stride / 4 * (gsize)h; i++)
    pixel[i] |= 0xff000000u;
  g_autoptr(GBytes) bytes = g_bytes_new_take(pixel, stride * (gsize)h);
  return gdk_memory_texture_new(w, h, GDK_MEMORY_DEFAULT, bytes, stride);
}

/* ----------------------------------------------------------------- recording */

enum { TURN_FRAMES = 120, RATE_HZ = 30 };

typedef struct {
  PlaDocument *document;
  PlaSceneView *scene;
  PlaTimeline *timeline; /* NULL: the view turns */
  char *path, *folder;   /* of the video or NULL; of the pictures */
  PlaRecordDone done;
  gpointer data;
  PlaJob *job;
  GCancellable *cancellable;
  int frame, n_frames, width, height;
} Recording;

gboolean
pla_record_has_video(void)
{
  g_autofree char *found = g_find_program_in_path("ffmpeg");
  return found != NULL;
}

static char *
frame_path(const Recording *r, int frame)
{
  g_autofree char *name = g_strdup_printf("frame-%05d.png", frame + 1);
  return g_build_filename(r->folder, name, NULL);
}

static void
remove_frames(const Recording *r)
{
  for (int f = 0; f < r->frame; f++) {
    g_autofree char *path = frame_path(r, f);
    g_remove(path);
  }
  g_rmdir(r->folder);
}

/* frees it; @err NULL: done */
static void
finish(Recording *r, const PlaError *err)
{
  if (!g_cancellable_is_cancelled(r->cancellable))
    r->done(r->path ? r->path : r->folder, err, r->data);
  else
    remove_frames(r);
  pla_document_retire_job(r->document, r->job);
  g_object_unref(r->job);
  g_object_unref(r->cancellable);
  g_object_unref(r->document);
  g_object_unref(r->scene);
  g_clear_object(&r->timeline);
  g_free(r->path);
  g_free(r->folder);
  g_free(r);
}

static void
on_encoded(GObject *source, GAsyncResult *result, gpointer data)
{
  Recording *r = data;
  g_autofree char *said = NULL;
  g_autoptr(GError) error = NULL;
  PlaError err;
  const gboolean ran =
      g_subprocess_communicate_utf8_finish(G_SUBPROCESS(source), result, NULL, &said, &error);
  if (ran && g_subprocess_get_successful(G_SUBPROCESS(source))) {
    remove_frames(r);
    finish(r, NULL);
    return;
  }
  /* its last line says why */
  g_auto(GStrv) lines = g_strsplit(said ? g_strstrip(said) : "", "\n", -1);
  const guint n = g_strv_length(lines);
  pla_fail(&err, PLA_ERR_IO, "ffmpeg could not write %s (%s); the pictures are in %s", r->path,
           error   ? error->message
           : n > 0 ? lines[n - 1]
                   : "",
           r->folder);
  finish(r, &err);
}

static void
encode(Recording *r)
{
  g_autofree char *pattern = g_build_filename(r->folder, "frame-%05d.png", NULL);
  g_autofree char *rate = g_strdup_printf("%d", RATE_HZ);
  g_autoptr(GError) error = NULL;
  pla_job_report(r->job, "Writing the video", 0.95);
  /* most players want even sizes and this pixel format */
  g_autoptr(GSubprocess) ffmpeg =
      g_subprocess_new(G_SUBPROCESS_FLAGS_STDERR_PIPE | G_SUBPROCESS_FLAGS_STDOUT_SILENCE, &error,
                       "ffmpeg", "-y", "-loglevel", "error", "-framerate", rate, "-i", pattern,
                       "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", r->path,
                       NULL);
  if (!ffmpeg) {
    PlaError err;
    pla_fail(&err, PLA_ERR_IO, "ffmpeg could not be started (%s); the pictures are in %s",
             error->message, r->folder);
    finish(r, &err);
    return;
  }
  g_subprocess_communicate_utf8_async(ffmpeg, NULL, r->cancellable, on_encoded, r);
}

static gboolean
on_frame(gpointer data)
{
  Recording *r = data;
  PlaError err;
  if (g_cancellable_is_cancelled(r->cancellable)) {
    finish(r, NULL);
    return G_SOURCE_REMOVE;
  }
  if (r->frame == r->n_frames) {
    if (r->path)
      encode(r);
    else
      finish(r, NULL);
    return G_SOURCE_REMOVE;
  }
  if (r->timeline)
    pla_timeline_set_frame(r->timeline, r->frame);
  g_autofree char *path = frame_path(r, r->frame);
  if (pla_scene_view_save(r->scene, r->width, r->height, path, &err) != PLA_OK) {
    finish(r, &err);
    return G_SOURCE_REMOVE;
  }
  if (!r->timeline)
    pla_scene_view_orbit(r->scene, 360.0 / TURN_FRAMES, 0.0);
  r->frame++;
  pla_job_report(r->job, "Drawing frames", 0.95 * r->frame / r->n_frames);
  return G_SOURCE_CONTINUE;
}

void
pla_record(PlaDocument *document, PlaSceneView *scene, PlaTimeline *timeline, const char *path,
           PlaRecordDone done, gpointer data)
{
  const char *dot = strrchr(path, '.');
  const gboolean video =
      pla_record_has_video() && dot && (strcmp(dot, ".mp4") == 0 || strcmp(dot, ".webm") == 0);
  Recording *r = g_new0(Recording, 1);
  r->document = g_object_ref(document);
  r->scene = g_object_ref(scene);
  r->timeline = timeline ? g_object_ref(timeline) : NULL;
  r->path = video ? g_strdup(path) : NULL;
  r->folder = video ? g_strconcat(path, "-frames", NULL) : g_strdup(path);
  r->done = done;
  r->data = data;
  r->n_frames = timeline ? pla_timeline_n_frames(timeline) : TURN_FRAMES;
  r->width = g_settings_get_int(pla_settings_get(), "picture-width");
  r->height = g_settings_get_int(pla_settings_get(), "picture-height");
  r->cancellable = g_cancellable_new();
  r->job = pla_job_new_watched(_("Recording"), r->cancellable);
  pla_document_add_job(document, r->job);
  if (g_mkdir_with_parents(r->folder, 0777) != 0) {
    PlaError err;
    pla_fail(&err, PLA_ERR_IO, "the folder %s cannot be made; choose another place", r->folder);
    finish(r, &err);
    return;
  }
  g_timeout_add(5, on_frame, r);
}

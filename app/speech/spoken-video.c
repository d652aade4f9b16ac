/* Draws every frame, then writes a GIF, a folder of PNG files, or a video by ffmpeg or GStreamer
 * from a temporary folder. */
#include "app/speech/spoken-video.h"

#include "app/show/gif.h"
#include "app/show/picture.h"
#include "io/formats/format.h"
#include "io/stream/output.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* draws every picture and hands it on */
typedef PlaStatus (*TakePicture)(cairo_surface_t *image, int number, void *data, PlaError *err);

static PlaStatus
draw_all(const PlaSpokenVideo *video, TakePicture take, void *data, PlaProgress *progress,
         PlaError *err)
{
  const double step_s = video->speed / video->rate_hz;
  const int n = MAX(1, (int)floor((video->to_s - video->from_s) / step_s));
  PlaSpokenBones *bones = pla_spoken_bones_new(video->spoken, video->dark);
  cairo_surface_t *image =
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, video->width, video->height);
  PlaStatus st = PLA_OK;
  pla_progress_phase(progress, "Drawing pictures", 0.9);
  for (int i = 0; st == PLA_OK && i < n; i++) {
    const int frame = pla_spoken_frame_at(video->spoken, video->from_s + i * step_s);
    const PlaSpokenLook look = { .dark = video->dark,
                                 .rest = !video->other,
                                 .other = video->pair ? video->other : NULL,
                                 .other_frame = video->pair ? video->pair->other[frame] : 0 };
    cairo_t *cr = cairo_create(image);
    pla_spoken_draw_frame(video->spoken, frame, bones, &look, cr, video->width, video->height);
    cairo_destroy(cr);
    cairo_surface_flush(image);
    st = take(image, i, data, err);
    if (st == PLA_OK && !pla_progress_step(progress, (i + 1.0) / n))
      st = pla_fail_cancelled(err);
  }
  cairo_surface_destroy(image);
  pla_spoken_bones_free(bones);
  return st;
}

static PlaStatus
take_gif(cairo_surface_t *image, int number, void *data, PlaError *err)
{
  return pla_gif_add(data, image)
             ? PLA_OK
             : pla_fail(err, PLA_ERR_IO, "picture %d of the GIF could not be written", number);
}

static PlaStatus
write_gif(const PlaSpokenVideo *video, const char *path, PlaProgress *progress, PlaError *err)
{
  PlaOutput *out = NULL;
  PlaStatus st = pla_output_open(path, &out, err);
  if (st != PLA_OK)
    return st;
  PlaGif *gif = pla_gif_new(pla_output_get_file(out), video->width, video->height,
                            (int)lround(100.0 / video->rate_hz));
  st = draw_all(video, take_gif, gif, progress, err);
  if (!pla_gif_finish(gif) && st == PLA_OK)
    st = pla_fail(err, PLA_ERR_IO, "%s could not be written", path);
  if (st == PLA_OK)
    return pla_output_commit(&out, 1, err);
  pla_output_discard(out);
  return st;
}

static PlaStatus
take_png(cairo_surface_t *image, int number, void *data, PlaError *err)
{
  const char *folder = data;
  g_autofree char *path = g_strdup_printf("%s/frame-%05d.png", folder, number + 1);
  return pla_picture_write_surface(path, image, err);
}

/* pictures of an earlier motion of this name go when these have theirs */
static PlaStatus
remove_others(const char *folder, PlaError *err)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  PlaStatus st = PLA_OK;
  const char *name;
  while (dir && st == PLA_OK && (name = g_dir_read_name(dir)))
    if (g_regex_match_simple("^frame-[0-9]{5,}\\.png$", name, 0, 0)) {
      g_autofree char *path = g_strdup_printf("%s/%s", folder, name);
      st = pla_output_set_remove(path, err);
    }
  return st;
}

static PlaStatus
write_folder(const PlaSpokenVideo *video, const char *folder, PlaProgress *progress, PlaError *err)
{
  PlaOutputSet *set = NULL;
  PlaStatus st = pla_output_set_begin(&set, err);
  if (st == PLA_OK)
    st = pla_output_set_mkdir(folder, err);
  if (st == PLA_OK)
    st = remove_others(folder, err);
  if (st == PLA_OK)
    st = draw_all(video, take_png, (void *)folder, progress, err);
  return pla_output_set_end(set, st, err);
}

/* the stretch that is shown, as a file beside the pictures; NULL where there is no sound */
static char *
write_sound(const PlaSpokenVideo *video, const char *folder)
{
  const PlaAudio *audio = video->audio;
  if (!audio || video->speed < 1.0)
    return NULL;
  const gint64 from = CLAMP((gint64)(video->from_s * audio->rate_hz), 0, audio->n_frames),
               to = CLAMP((gint64)(video->to_s * audio->rate_hz), from, audio->n_frames);
  PlaAudio part = *audio;
  part.n_frames = to - from;
  part.samples = (char *)audio->samples +
                 (gsize)from * (gsize)audio->n_channels * pla_dtype_size(audio->dtype);
  const PlaItem item = { .kind = PLA_KIND_AUDIO, .audio = &part };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err;
  char *path = g_build_filename(folder, "sound.wav", NULL);
  if (pla_item_write(path, &item, &opts, &err) == PLA_OK)
    return path;
  g_free(path);
  return NULL;
}

/* the program that makes a video, as its arguments; NULL where none is installed */
static GStrv
encoder(const char *folder, const char *sound, double rate_hz, const char *path)
{
  g_autofree char *ffmpeg = g_find_program_in_path("ffmpeg");
  g_autofree char *gst = g_find_program_in_path("gst-launch-1.0");
  g_autofree char *pattern = g_build_filename(folder, "frame-%05d.png", NULL);
  g_autofree char *rate = g_strdup_printf("%.0f", rate_hz);
  g_autoptr(GPtrArray) argv = g_ptr_array_new();
#define ADD(...)                                                                                   \
  for (const char *const *a = (const char *const[]){ __VA_ARGS__, NULL }; *a; a++)                 \
  g_ptr_array_add(argv, g_strdup(*a))
  const gboolean webm = g_str_has_suffix(path, ".webm");
  if (ffmpeg) {
    ADD(ffmpeg, "-y", "-loglevel", "error", "-framerate", rate, "-i", pattern);
    if (sound) {
      ADD("-i", sound, "-shortest");
    }
    ADD("-pix_fmt", "yuv420p", path);
  } else if (gst && webm) {
    g_autofree char *location = g_strdup_printf("location=%s", pattern);
    g_autofree char *caps = g_strdup_printf("caps=image/png,framerate=%s/1", rate);
    g_autofree char *sink = g_strdup_printf("location=%s", path);
    ADD(gst, "-q", "multifilesrc", location, "index=1", caps, "!", "pngdec", "!", "videoconvert",
        "!", "vp8enc", "!", "mux.", "webmmux", "name=mux", "!", "filesink", sink);
    if (sound) {
      g_autofree char *from = g_strdup_printf("location=%s", sound);
      ADD("filesrc", from, "!", "wavparse", "!", "audioconvert", "!", "audioresample", "!",
          "vorbisenc", "!", "mux.");
    }
  } else
    return NULL;
#undef ADD
  g_ptr_array_add(argv, NULL);
  return (GStrv)g_ptr_array_free(g_steal_pointer(&argv), FALSE);
}

static PlaStatus
run_encoder(GStrv argv, const char *path, PlaError *err)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *said = NULL;
  int status = 0;
  if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &said, &status,
                    &error) ||
      !g_spawn_check_wait_status(status, &error))
    return pla_fail(err, PLA_ERR_IO, "%s could not write %s (%s)", argv[0], path, error->message);
  return PLA_OK;
}

/* all that stands in a folder of our own, and the folder */
static void
remove_folder(const char *folder)
{
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_remove(path);
  }
  g_rmdir(folder);
}

/* a program made @from; it takes the name of @path when it is whole */
static PlaStatus
move_video(const char *from, const char *path, PlaError *err)
{
  g_autoptr(GMappedFile) file = g_mapped_file_new(from, FALSE, NULL);
  if (!file || g_mapped_file_get_length(file) == 0)
    return pla_fail(err, PLA_ERR_IO, "the video encoder wrote nothing for %s", path);
  return pla_output_write(path, g_mapped_file_get_contents(file), g_mapped_file_get_length(file),
                          err);
}

static PlaStatus
write_encoded(const PlaSpokenVideo *video, const char *path, PlaProgress *progress, PlaError *err)
{
  const char *ending = strrchr(path, '.');
  g_autofree char *folder = g_strdup_printf("%s-frames-XXXXXX", path);
  g_auto(GStrv) probe = encoder(folder, NULL, video->rate_hz, path);
  if (!probe)
    return pla_fail(
        err, PLA_ERR_UNSUPPORTED,
        "videos of this kind need ffmpeg or GStreamer, which are not installed; save as .gif, "
        "or as pictures in a folder");
  if (!g_mkdtemp(folder))
    return pla_fail(err, PLA_ERR_IO, "%s cannot be written (%s); choose another place", path,
                    g_strerror(errno));
  PlaOutputSet *set = pla_output_set_pause(); /* another program reads them */
  PlaStatus st = draw_all(video, take_png, folder, progress, err);
  g_autofree char *sound = st == PLA_OK ? write_sound(video, folder) : NULL;
  g_autofree char *made = g_strdup_printf("%s/video%s", folder, ending);
  pla_output_set_resume(set);
  if (st == PLA_OK) {
    g_auto(GStrv) argv = encoder(folder, sound, video->rate_hz, made);
    pla_progress_phase(progress, "Writing the video", 1.0);
    st = run_encoder(argv, path, err);
  }
  if (st == PLA_OK)
    st = move_video(made, path, err);
  remove_folder(folder);
  return st;
}

PlaStatus
pla_spoken_write_video(const PlaSpokenVideo *video, const char *path, PlaProgress *progress,
                       PlaError *err)
{
  if (g_str_has_suffix(path, ".gif"))
    return write_gif(video, path, progress, err);
  if (g_str_has_suffix(path, ".webm") || g_str_has_suffix(path, ".mp4"))
    return write_encoded(video, path, progress, err);
  return write_folder(video, path, progress, err);
}

/* Saves numbers, activations and videos of what is shown, on a worker. */
#include "ui/panels/speech-private.h"

#include "app/content/files.h"
#include "app/speech/spoken-video.h"

#include <glib/gi18n.h>

typedef enum { SAVE_TABLE, SAVE_ACTIVATIONS, SAVE_VIDEO } What;

/* writes on a worker, from contents that it holds */
typedef struct {
  PlaSpeechPanel *self;
  PlaSpeechPlayback *playback; /* owns the activations */
  const PlaTongueActivations *muscles;
  char *path;
  PlaSpoken *spoken, *other;
  PlaContent *source;
  int *pair; /* frames of the other, or NULL */
  PlaSpokenVideo video;
  What what;
} Saving;

static void
saving_free(gpointer data)
{
  Saving *s = data;
  g_object_unref(s->self);
  g_object_unref(s->playback);
  g_free(s->path);
  pla_spoken_free(s->spoken);
  pla_spoken_free(s->other);
  pla_content_unref(s->source);
  g_free(s->pair);
  g_free(s);
}

static PlaStatus
save(gpointer data, PlaProgress *progress, PlaError *err)
{
  Saving *s = data;
  if (s->what == SAVE_TABLE)
    return pla_spoken_write_csv(s->spoken, s->path, err);
  if (s->what == SAVE_ACTIVATIONS) {
    return pla_track_write_file(s->muscles->track, s->path, err);
  }
  const PlaSpokenPair pair = { .n = s->spoken->n_frames, .other = s->pair };
  s->video.spoken = s->spoken;
  s->video.other = s->other;
  s->video.pair = s->pair ? &pair : NULL;
  s->video.audio = s->source->audio;
  return pla_spoken_write_video(&s->video, s->path, progress, err);
}

static void
on_saved(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Saving *s = data;
  PlaSpeechPanel *self = s->self;
  if (!self->document)
    return;
  pla_speech_show_failure(self,
                          status == PLA_OK || status == PLA_ERR_CANCELLED ? NULL : err->message);
  pla_document_retire_job(self->document, job);
}

static void
start_saving(PlaSpeechPanel *self, const char *path, What what)
{
  static const char *const titles[] = { N_("Saving a table"), N_("Saving what the muscles do"),
                                        N_("Saving a video") };
  const PlaUtterance *a = pla_speech_playback_get_shown(self->playback),
                     *b = pla_speech_playback_get_other(self->playback);
  const PlaSpokenPair *pair = pla_speech_playback_get_pair(self->playback);
  PlaError err;
  const PlaTongueActivations *muscles = pla_speech_playback_get_muscles(self->playback);
  if (!a || !a->spoken || (what == SAVE_ACTIVATIONS && !muscles))
    return;
  Saving *s = g_new0(Saving, 1);
  s->self = g_object_ref(self);
  s->playback = g_object_ref(self->playback);
  s->muscles = muscles;
  s->path = g_strdup(path);
  s->source = pla_content_ref(a->source);
  s->what = what;
  PlaStatus st = pla_spoken_new(a->spoken->content, &s->spoken, &err);
  if (st == PLA_OK && pair && b) {
    st = pla_spoken_new(b->spoken->content, &s->other, &err);
    s->pair = g_memdup2(pair->other, (gsize)pair->n * sizeof *pair->other);
  }
  s->video =
      (PlaSpokenVideo){ .speed = pla_speech_playback_get_speed(self->playback),
                        .rate_hz = 25.0,
                        .width = 800,
                        .height = 450,
                        .dark = adw_style_manager_get_dark(adw_style_manager_get_default()) };
  pla_speech_playback_get_selection(self->playback, &s->video.from_s, &s->video.to_s);
  if (st != PLA_OK) {
    pla_speech_show_failure(self, err.message);
    saving_free(s);
    return;
  }
  g_autoptr(PlaJob) job = pla_job_start(_(titles[what]), save, on_saved, s, saving_free);
  pla_document_add_job(self->document, job);
}

void
pla_speech_panel_save_table(PlaSpeechPanel *self, const char *path)
{
  start_saving(self, path, SAVE_TABLE);
}

void
pla_speech_panel_save_activations(PlaSpeechPanel *self, const char *path)
{
  start_saving(self, path, SAVE_ACTIVATIONS);
}

void
pla_speech_panel_save_video(PlaSpeechPanel *self, const char *path)
{
  start_saving(self, path, SAVE_VIDEO);
}

static void
on_table_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = pla_speech_take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_TABLE);
}

void
pla_speech_on_table(GtkWidget *widget, const char *action, GVariant *param)
{
  pla_speech_choose(PLA_SPEECH_PANEL(widget), _("Save the Numbers"), GTK_FILE_CHOOSER_ACTION_SAVE,
                    _("_Save"), "speech.csv", G_CALLBACK(on_table_response));
}

static void
on_activations_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = pla_speech_take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_ACTIVATIONS);
}

void
pla_speech_on_activations(GtkWidget *widget, const char *action, GVariant *param)
{
  pla_speech_choose(PLA_SPEECH_PANEL(widget), _("Save What the Muscles Do"),
                    GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), "muscles.csv",
                    G_CALLBACK(on_activations_response));
}

static void
on_video_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = pla_speech_take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_VIDEO);
}

void
pla_speech_on_video(GtkWidget *widget, const char *action, GVariant *param)
{
  pla_speech_choose(PLA_SPEECH_PANEL(widget),
                    _("Save a Video: .gif, .webm, .mp4, or a Folder of Pictures"),
                    GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), "speech.gif",
                    G_CALLBACK(on_video_response));
}

/* Ways to a recording: the microphone on a worker, a file, and a text that is said. */
#include "ui/panels/speech-private.h"

#include "app/content/files.h"
#include "app/speech/recording.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <string.h>

enum { LONGEST_S = 120, LEVEL_MS = 60 };

/* ------------------------------------------------------------------ microphone */

typedef struct {
  PlaSpeechPanel *self;
  gint *loudness;
  char *path; /* of the result */
} Listening;

static void
listening_free(gpointer data)
{
  Listening *l = data;
  g_object_unref(l->self);
  g_rc_box_release(l->loudness);
  g_free(l->path);
  g_free(l);
}

/* until somebody stops it, which here is the way it ends */
static PlaStatus
listen(gpointer data, PlaProgress *progress, PlaError *err)
{
  Listening *l = data;
  return pla_recording_make(l->path, LONGEST_S, l->loudness, progress, err);
}

void
pla_speech_forget_heard_file(PlaSpeechPanel *self)
{
  if (!self->heard_file)
    return;
  g_autofree char *folder = g_path_get_dirname(self->heard_file);
  g_remove(self->heard_file);
  g_rmdir(folder);
  g_clear_pointer(&self->heard_file, g_free);
}

static void
on_listened(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Listening *l = data;
  PlaSpeechPanel *self = l->self;
  if (!self->document)
    return;
  g_clear_object(&self->listening);
  g_clear_handle_id(&self->level_timer, g_source_remove);
  pla_speech_forget_heard_file(self);
  self->heard_file = g_strdup(l->path);
  if (g_file_test(l->path, G_FILE_TEST_EXISTS))
    pla_document_open(self->document, l->path);
  else
    pla_speech_show_failure(self, status == PLA_OK ? "" : err->message);
  pla_document_retire_job(self->document, job);
  pla_speech_update(self);
}

static gboolean
on_level(gpointer data)
{
  PlaSpeechPanel *self = data;
  gtk_level_bar_set_value(self->level, g_atomic_int_get(self->loudness) / 1000.0);
  return G_SOURCE_CONTINUE;
}

void
pla_speech_on_record(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  if (self->listening) {
    pla_job_cancel(self->listening);
    return;
  }
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("platysma-XXXXXX", &error);
  pla_speech_show_failure(self, folder ? NULL : error->message);
  if (!folder)
    return;
  pla_speech_playback_set_playing(self->playback, FALSE);
  Listening *l = g_new0(Listening, 1);
  l->self = g_object_ref(self);
  l->loudness = g_rc_box_acquire(self->loudness);
  l->path = g_build_filename(folder, "recording.wav", NULL);
  self->listening = pla_job_start(_("Recording"), listen, on_listened, l, listening_free);
  pla_document_add_job(self->document, self->listening);
  self->level_timer = g_timeout_add(LEVEL_MS, on_level, self);
  pla_speech_update(self);
}

/* ------------------------------------------------------------------ file, text */

void
pla_speech_choose(PlaSpeechPanel *self, const char *title, GtkFileChooserAction kind,
                  const char *accept, const char *name, GCallback on_response)
{
  GtkRoot *root = gtk_widget_get_root(GTK_WIDGET(self));
  g_clear_object(&self->chooser);
  self->chooser = gtk_file_chooser_native_new(title, GTK_WINDOW(root), kind, accept, _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  if (name)
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
  g_signal_connect(self->chooser, "response", on_response, self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

/* what was chosen, or NULL; the dialog is gone then */
char *
pla_speech_take_path(PlaSpeechPanel *self, GtkNativeDialog *dialog, int response)
{
  g_autoptr(GFile) file =
      response == GTK_RESPONSE_ACCEPT ? gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog)) : NULL;
  char *path = file ? g_file_get_path(file) : NULL;
  g_clear_object(&self->chooser);
  return path;
}

static void
on_open_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = pla_speech_take_path(self, dialog, response);
  if (path)
    pla_document_open(self->document, path);
}

void
pla_speech_on_open(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  pla_speech_choose(self, _("Open a Recording"), GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), NULL,
                    G_CALLBACK(on_open_response));
  GtkFileFilter *known = gtk_file_filter_new();
  gtk_file_filter_set_name(known, _("Sounds and sensor tracks"));
  g_auto(GStrv) endings = pla_file_endings(PLA_FILES_SPEECH);
  for (char **ending = endings; *ending; ending++)
    gtk_file_filter_add_suffix(known, *ending);
  gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(self->chooser), known);
  g_object_unref(known);
}

/* "de+f3" from the two lists */
static char *
chosen_voice(PlaSpeechPanel *self)
{
  static const char *const variants[] = { "", "+f3", "+m3", "+f4" };
  const guint voice = adw_combo_row_get_selected(self->voice),
              speaker = adw_combo_row_get_selected(self->speaker);
  return g_strconcat(voice < (guint)self->n_voices ? self->voices[voice].id : "en-us",
                     speaker < G_N_ELEMENTS(variants) ? variants[speaker] : "", NULL);
}

void
pla_speech_on_say(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  g_autofree char *words = g_strstrip(g_strdup(pla_verb_values_get_text(self->say, "text")));
  g_autofree char *voice = chosen_voice(self);
  if (!*words) {
    pla_speech_show_failure(self, _("Type what is to be said first."));
    gtk_widget_grab_focus(self->text);
    return;
  }
  pla_speech_show_failure(self, NULL);
  pla_verb_values_set_text(self->say, "text", words);
  pla_verb_values_set_text(self->say, "voice", voice);
  pla_document_run_for(self->document, _("Saying the text"), self->say, pla_speech_on_done,
                       G_OBJECT(self));
}

/* languages are listed by eSpeak, which takes a moment to start */
typedef struct {
  PlaSpeechPanel *self;
  PlaVoiceChoice *voices;
  int n;
} Voices;

static void
voices_free(gpointer data)
{
  Voices *v = data;
  g_object_unref(v->self);
  g_free(v->voices);
  g_free(v);
}

static PlaStatus
read_voices(gpointer data, PlaProgress *progress, PlaError *err)
{
  Voices *v = data;
  return pla_voices_read(&v->voices, &v->n, err);
}

static void
on_voices(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Voices *v = data;
  PlaSpeechPanel *self = v->self;
  if (!self->document)
    return;
  if (status != PLA_OK) {
    pla_speech_show_failure(self, err->message);
    return;
  }
  g_autoptr(GtkStringList) titles = gtk_string_list_new(NULL);
  guint wanted = 0;
  const char *const *languages = g_get_language_names();
  int best = G_MAXINT;
  for (int i = 0; i < v->n; i++) {
    g_autofree char *title = g_strdelimit(g_strdup(v->voices[i].title), "_", ' ');
    gtk_string_list_append(titles, title);
    /* the user's own language, else English */
    for (int k = 0; languages[k] && k < best; k++) {
      g_autofree char *id = g_ascii_strdown(languages[k], -1);
      g_strdelimit(id, "_", '-');
      if (strcmp(id, v->voices[i].id) == 0) {
        best = k;
        wanted = (guint)i;
      }
    }
    if (best == G_MAXINT && strcmp(v->voices[i].id, "en-us") == 0)
      wanted = (guint)i;
  }
  g_free(self->voices);
  self->voices = g_steal_pointer(&v->voices);
  self->n_voices = v->n;
  adw_combo_row_set_model(self->voice, G_LIST_MODEL(titles));
  adw_combo_row_set_selected(self->voice, wanted);
}

void
pla_speech_ask_voices(PlaSpeechPanel *self)
{
  if (self->asked_voices)
    return;
  Voices *v = g_new0(Voices, 1);
  self->asked_voices = TRUE;
  v->self = g_object_ref(self);
  g_object_unref(pla_job_start(_("Languages"), read_voices, on_voices, v, voices_free));
}

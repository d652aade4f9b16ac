/* Records on a worker, runs the operations "say" and "speak", and saves tables and videos on a
 * worker. */
#include "ui/panels/speech-panel.h"

#include "app/base/quantity.h"
#include "app/content/files.h"
#include "app/speech/recording.h"
#include "app/speech/spoken-video.h"
#include "ui/speech/speech-desk.h"

#include <glib/gi18n.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_S = 120, LEVEL_MS = 60 };

struct _PlaSpeechPanel {
  AdwBin parent_instance;
  GtkWidget *body, *nothing, *failure_box, *move_group, *look_group, *compare_group, *save_group;
  GtkButton *record;
  GtkLevelBar *level;
  AdwEntryRow *text;
  AdwComboRow *voice, *speaker, *recording, *other;
  AdwActionRow *activations_row;
  GtkSwitch *heard, *beside, *muscles;
  GtkLabel *failure, *notes, *trained, *facts, *explained, *apart;

  PlaDocument *document;
  PlaSpeechDesk *desk;
  GtkFileChooserNative *chooser;
  PlaVoiceChoice *voices;
  int n_voices;
  gboolean asked_voices;
  double cell_mm;
  PlaJob *listening; /* the microphone's, or NULL */
  gint *loudness;    /* of the microphone, thousandths; shared with its thread */
  guint level_timer;
  char *heard_file; /* a recording on its way into the case */
  gboolean moving;  /* the tongue is being made to move */
  gboolean following;
  gint64 told_us;  /* when the moment was last told */
  gboolean looked; /* the 3-D view was turned to the tongue */
};

G_DEFINE_FINAL_TYPE(PlaSpeechPanel, pla_speech_panel, ADW_TYPE_BIN)

static void update(PlaSpeechPanel *self);

static void
show_failure(PlaSpeechPanel *self, const char *sentence)
{
  gtk_label_set_label(self->failure, sentence ? sentence : "");
  gtk_widget_set_visible(self->failure_box, sentence && *sentence);
}

static void
on_done(gpointer owner, const char *failure)
{
  PlaSpeechPanel *self = owner;
  self->moving = FALSE;
  show_failure(self, failure);
  update(self);
}

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

static void
forget_heard_file(PlaSpeechPanel *self)
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
  forget_heard_file(self);
  self->heard_file = g_strdup(l->path);
  if (g_file_test(l->path, G_FILE_TEST_EXISTS))
    pla_document_open(self->document, l->path);
  else
    show_failure(self, status == PLA_OK ? "" : err->message);
  pla_document_retire_job(self->document, job);
  update(self);
}

static gboolean
on_level(gpointer data)
{
  PlaSpeechPanel *self = data;
  gtk_level_bar_set_value(self->level, g_atomic_int_get(self->loudness) / 1000.0);
  return G_SOURCE_CONTINUE;
}

static void
on_record(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  if (self->listening) {
    pla_job_cancel(self->listening);
    return;
  }
  g_autoptr(GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp("platysma-XXXXXX", &error);
  show_failure(self, folder ? NULL : error->message);
  if (!folder)
    return;
  pla_speech_desk_set_playing(self->desk, FALSE);
  Listening *l = g_new0(Listening, 1);
  l->self = g_object_ref(self);
  l->loudness = g_rc_box_acquire(self->loudness);
  l->path = g_build_filename(folder, "recording.wav", NULL);
  self->listening = pla_job_start(_("Recording"), listen, on_listened, l, listening_free);
  pla_document_add_job(self->document, self->listening);
  self->level_timer = g_timeout_add(LEVEL_MS, on_level, self);
  update(self);
}

/* ------------------------------------------------------------------ file, text */

static void
choose(PlaSpeechPanel *self, const char *title, GtkFileChooserAction kind, const char *accept,
       const char *name, GCallback on_response)
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
static char *
take_path(PlaSpeechPanel *self, GtkNativeDialog *dialog, int response)
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
  g_autofree char *path = take_path(self, dialog, response);
  if (path)
    pla_document_open(self->document, path);
}

static void
on_open(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  choose(self, _("Open a Recording"), GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), NULL,
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

static void
on_say(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  g_autofree char *words = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(self->text))));
  g_autofree char *voice = chosen_voice(self);
  g_autoptr(JsonObject) params = json_object_new();
  if (!*words) {
    show_failure(self, _("Type what is to be said first."));
    gtk_widget_grab_focus(GTK_WIDGET(self->text));
    return;
  }
  show_failure(self, NULL);
  json_object_set_string_member(params, "text", words);
  json_object_set_string_member(params, "voice", voice);
  pla_document_run_for(self->document, _("Saying the text"), "say", params, on_done,
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
    show_failure(self, err->message);
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

/* ---------------------------------------------------------------------- motion */

void
pla_speech_panel_set_cell(PlaSpeechPanel *self, double cell_mm)
{
  self->cell_mm = cell_mm;
  pla_speech_desk_set_cell(self->desk, cell_mm);
}

static void
on_move(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
  g_autoptr(JsonObject) params = json_object_new();
  if (!u)
    return;
  show_failure(self, NULL);
  json_object_set_string_member(params, "item", u->name);
  json_object_set_boolean_member(params, "heard", gtk_switch_get_active(self->heard));
  if (self->cell_mm > 0.0)
    json_object_set_double_member(params, "cell_mm", self->cell_mm);
  self->moving = pla_document_run_for(self->document, _("Moving the tongue"), "speak", params,
                                      on_done, G_OBJECT(self));
  update(self);
}

static void
on_cut(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  pla_document_set_cursor(self->document, (double[3]){ 0.0, 60.0, -45.0 });
  gtk_widget_activate_action(widget, "win.cut-away", "s", "left");
  gtk_widget_activate_action(widget, "win.look", "s", "left");
}

/* ------------------------------------------------------------------------ play */

static void
on_play(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  pla_speech_desk_set_playing(self->desk, !pla_speech_desk_get_playing(self->desk));
}

static void
on_loop(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  pla_speech_desk_set_loop(self->desk, !pla_speech_desk_get_loop(self->desk));
}

static void
on_pace(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  const char *name = g_variant_get_string(param, NULL);
  const double speed = strcmp(name, "half") == 0 ? 0.5 : strcmp(name, "quarter") == 0 ? 0.25 : 1.0;
  pla_speech_desk_set_speed(self->desk, speed);
}

static void
on_beside_action(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  gtk_switch_set_active(self->beside, !gtk_switch_get_active(self->beside));
}

static void
on_beside(PlaSpeechPanel *self)
{
  pla_speech_desk_set_beside(self->desk, gtk_switch_get_active(self->beside));
}

static void
on_muscles_action(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  gtk_switch_set_active(self->muscles, !gtk_switch_get_active(self->muscles));
}

static void
on_muscles(PlaSpeechPanel *self)
{
  if (!self->following)
    pla_speech_desk_set_muscles_wanted(self->desk, gtk_switch_get_active(self->muscles));
}

/* ------------------------------------------------------------------------ save */

typedef enum { SAVE_TABLE, SAVE_ACTIVATIONS, SAVE_VIDEO } What;

/* writes on a worker, from contents that it holds */
typedef struct {
  PlaSpeechPanel *self;
  PlaSpeechDesk *desk; /* owns the activations */
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
  g_object_unref(s->desk);
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
  show_failure(self, status == PLA_OK || status == PLA_ERR_CANCELLED ? NULL : err->message);
  pla_document_retire_job(self->document, job);
}

static void
start_saving(PlaSpeechPanel *self, const char *path, What what)
{
  static const char *const titles[] = { N_("Saving a table"), N_("Saving what the muscles do"),
                                        N_("Saving a video") };
  const PlaUtterance *a = pla_speech_desk_get_shown(self->desk),
                     *b = pla_speech_desk_get_other(self->desk);
  const PlaSpokenPair *pair = pla_speech_desk_get_pair(self->desk);
  PlaError err;
  const PlaTongueActivations *muscles = pla_speech_desk_get_muscles(self->desk);
  if (!a || !a->spoken || (what == SAVE_ACTIVATIONS && !muscles))
    return;
  Saving *s = g_new0(Saving, 1);
  s->self = g_object_ref(self);
  s->desk = g_object_ref(self->desk);
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
      (PlaSpokenVideo){ .speed = pla_speech_desk_get_speed(self->desk),
                        .rate_hz = 25.0,
                        .width = 800,
                        .height = 450,
                        .dark = adw_style_manager_get_dark(adw_style_manager_get_default()) };
  pla_speech_desk_get_selection(self->desk, &s->video.from_s, &s->video.to_s);
  if (st != PLA_OK) {
    show_failure(self, err.message);
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
  g_autofree char *path = take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_TABLE);
}

static void
on_table(GtkWidget *widget, const char *action, GVariant *param)
{
  choose(PLA_SPEECH_PANEL(widget), _("Save the Numbers"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"),
         "speech.csv", G_CALLBACK(on_table_response));
}

static void
on_activations_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_ACTIVATIONS);
}

static void
on_activations(GtkWidget *widget, const char *action, GVariant *param)
{
  choose(PLA_SPEECH_PANEL(widget), _("Save What the Muscles Do"), GTK_FILE_CHOOSER_ACTION_SAVE,
         _("_Save"), "muscles.csv", G_CALLBACK(on_activations_response));
}

static void
on_video_response(GtkNativeDialog *dialog, int response, PlaSpeechPanel *self)
{
  g_autofree char *path = take_path(self, dialog, response);
  if (path)
    start_saving(self, path, SAVE_VIDEO);
}

static void
on_video(GtkWidget *widget, const char *action, GVariant *param)
{
  choose(PLA_SPEECH_PANEL(widget), _("Save a Video: .gif, .webm, .mp4, or a Folder of Pictures"),
         GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), "speech.gif", G_CALLBACK(on_video_response));
}

/* ---------------------------------------------------------------------- update */

static void
set_text(GtkLabel *label, const char *text)
{
  gtk_label_set_label(label, text ? text : "");
  gtk_widget_set_visible(GTK_WIDGET(label), text && *text);
}

/* recordings; @none stands first where it is given */
static void
offer(AdwComboRow *row, const char *const *names, const char *none, const char *chosen,
      const char *without)
{
  g_autoptr(GtkStringList) list = gtk_string_list_new(NULL);
  guint selected = 0, n = 0;
  if (none) {
    gtk_string_list_append(list, none);
    n++;
  }
  for (int i = 0; names[i]; i++) {
    if (g_strcmp0(names[i], without) == 0)
      continue;
    if (g_strcmp0(names[i], chosen) == 0)
      selected = n;
    gtk_string_list_append(list, names[i]);
    n++;
  }
  adw_combo_row_set_model(row, G_LIST_MODEL(list));
  adw_combo_row_set_selected(row, selected);
}

static const char *
selected_name(AdwComboRow *row)
{
  GtkStringObject *item = GTK_STRING_OBJECT(adw_combo_row_get_selected_item(row));
  return item ? gtk_string_object_get_string(item) : NULL;
}

static void
show_notes(PlaSpeechPanel *self, const PlaUtterance *u)
{
  g_autoptr(GString) text = g_string_new(NULL);
  for (int i = 0; u && i < u->notes.n; i++)
    g_string_append_printf(text, "%s%s", i ? "\n" : "", u->notes.text[i]);
  JsonArray *more = u && u->spoken ? pla_spoken_get_notes(u->spoken) : NULL;
  for (guint i = 0; more && i < json_array_get_length(more); i++) {
    const char *note = json_array_get_string_element(more, i);
    if (!strstr(text->str, note))
      g_string_append_printf(text, "%s%s", text->len ? "\n" : "", note);
  }
  set_text(self->notes, text->str);
  g_autofree char *trained =
      u && u->spoken && *u->spoken->trained_on ? g_strdup(u->spoken->trained_on)
      : u && u->spoken && u->spoken->measured
          ? g_strdup(_(
                "Follows recorded sensors, placed on the built-in tongue by their mean positions."))
          : NULL;
  set_text(self->trained, trained);
}

/* the muscles that do most in a frame, at most three: "styloglossus 40 %, hyoglossus 12 %" */
static char *
most_active(const PlaTrack *track, int frame)
{
  enum { MOST = 3 };
  PlaTongueLane lane = { 0 }, best[MOST] = { 0 };
  double done[MOST] = { 0.005, 0.005, 0.005 }; /* less would read as nothing */
  int n = 0;
  while (pla_tongue_lane_next(track, &lane)) {
    const double now = pla_tongue_lane_at(track, &lane, frame);
    int at = MOST;
    while (at > 0 && now > done[at - 1])
      at--;
    if (at == MOST)
      continue;
    for (int i = MOST - 1; i > at; i--) {
      done[i] = done[i - 1];
      best[i] = best[i - 1];
    }
    done[at] = now;
    best[at] = lane;
    n = MIN(n + 1, MOST);
  }
  GString *text = g_string_new(n > 0 ? NULL : _("none"));
  for (int i = 0; i < n; i++)
    g_string_append_printf(text, _("%s%s %.0f %%"), i > 0 ? ", " : "", best[i].name,
                           100.0 * done[i]);
  return g_string_free(text, FALSE);
}

/* g_free() */
static char *
motion_text(double mm)
{
  return pla_quantity_text(PLA_QUANTITY_MOTION, mm, PLA_UNIT_MM);
}

static void
show_muscles(PlaSpeechPanel *self)
{
  const PlaTongueActivations *found = pla_speech_desk_get_muscles(self->desk);
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
  if (!found || !u || !u->spoken) {
    set_text(self->explained, pla_speech_desk_get_muscles_wanted(self->desk)
                                  ? _("What the muscles do is being found.")
                                  : NULL);
    return;
  }
  const int frame = pla_spoken_frame_at(u->spoken, pla_speech_desk_get_time(self->desk));
  const PlaTongueMusclesFrame rms = pla_tongue_activations_rms(found);
  g_autofree char *active = most_active(found->track, frame);
  g_autofree char *moves = motion_text(rms.motion_mm), *left = motion_text(rms.residual_mm),
                  *now = motion_text(sqrt(found->left[frame]));
  g_autofree char *text =
      g_strdup_printf(_("Apart from the jaw the tongue moves by %s from rest; the muscles leave %s "
                        "of that unexplained, at this moment %s.\nMost active now: %s."),
                      moves, left, now, active);
  set_text(self->explained, text);
}

/* what is known of the moment */
static void
show_moment(PlaSpeechPanel *self)
{
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
  show_muscles(self);
  if (!u || !u->spoken) {
    set_text(self->facts, NULL);
    return;
  }
  const int frame = pla_spoken_frame_at(u->spoken, pla_speech_desk_get_time(self->desk));
  double part[3], worst = 0.0;
  pla_spoken_contact_parts(u->spoken, frame, part);
  for (int f = 0; f < u->spoken->n_frames; f++)
    worst = fmax(worst, fabs((double)u->spoken->volume[f]));
  g_autofree char *within = pla_quantity_text(PLA_QUANTITY_VOLUME_CHANGE, worst, PLA_UNIT_ONE);
  g_autofree char *text = g_strdup_printf(
      _("Palate touched: %.0f %% in front, %.0f %% in the middle, %.0f %% at the back.\n"
        "The tongue keeps its volume within %s."),
      100.0 * part[0], 100.0 * part[1], 100.0 * part[2], within);
  set_text(self->facts, text);
}

/* a few times a second are enough to read, and each is a new layout of the panel */
static void
on_moved(PlaSpeechPanel *self)
{
  const gint64 now = g_get_monotonic_time();
  if (pla_speech_desk_get_playing(self->desk) && now - self->told_us < G_USEC_PER_SEC / 4)
    return;
  self->told_us = now;
  show_moment(self);
}

static void
show_pair(PlaSpeechPanel *self)
{
  const PlaUtterance *a = pla_speech_desk_get_shown(self->desk),
                     *b = pla_speech_desk_get_other(self->desk);
  const PlaSpokenPair *pair = pla_speech_desk_get_pair(self->desk);
  g_autofree char *text = NULL;
  if (b && !b->spoken)
    text = g_strdup_printf(_("Show “%s” and make its tongue move first."), b->name);
  else if (pair) {
    g_autofree char *mean = motion_text(pair->mean_mm), *most = motion_text(pair->most_mm);
    g_autofree char *when =
        pla_quantity_text(PLA_QUANTITY_TIME, pla_spoken_time(a->spoken, pair->most_frame),
                          PLA_UNIT_S);
    text = g_strdup_printf(_("The tongues are %s apart on average, %s at most, at %s. The other "
                             "takes %.0f %% of the time."),
                           mean, most, when, 100.0 * pair->pace);
  }
  set_text(self->apart, text);
}

static void
update(PlaSpeechPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk);
  const gboolean busy = pla_document_get_busy(self->document), writable = session != NULL;
  gtk_widget_set_visible(self->nothing, session == NULL);
  gtk_widget_set_visible(self->body, session != NULL);
  gtk_widget_set_visible(self->move_group, u != NULL);
  const gboolean moved = u && u->spoken;
  gtk_widget_set_visible(self->look_group, moved);
  gtk_widget_set_visible(self->compare_group, moved && pla_speech_desk_get_names(self->desk)[1]);
  gtk_widget_set_visible(self->save_group, moved);
  gtk_button_set_label(self->record, self->listening ? _("_Stop") : _("_Record"));
  gtk_widget_set_visible(GTK_WIDGET(self->level), self->listening != NULL);
  GtkWidget *widget = GTK_WIDGET(self);
  gtk_widget_action_set_enabled(widget, "speech.record", writable);
  gtk_widget_action_set_enabled(widget, "speech.open", writable);
  gtk_widget_action_set_enabled(widget, "speech.say", writable && !busy);
  gtk_widget_action_set_enabled(widget, "speech.move", u && !busy && !self->moving);
  gtk_widget_action_set_enabled(widget, "speech.play", u != NULL);
  const gboolean found = pla_speech_desk_get_muscles(self->desk) != NULL;
  gtk_widget_action_set_enabled(widget, "speech.activations", found);
  adw_action_row_set_subtitle(self->activations_row,
                              found ? _("How active, over time") : _("Show them first, in step 3"));
  static const char *const of_motion[] = { "speech.cut", "speech.muscles", "speech.beside",
                                           "speech.table", "speech.video" };
  for (size_t i = 0; i < G_N_ELEMENTS(of_motion); i++)
    gtk_widget_action_set_enabled(widget, of_motion[i], moved);
  GtkWidget *heard_row = gtk_widget_get_ancestor(GTK_WIDGET(self->heard), ADW_TYPE_ACTION_ROW);
  gtk_widget_set_visible(heard_row, u && json_object_has_member(u->source->meta, "phonemes"));
  if (!busy)
    forget_heard_file(self);
  show_notes(self, u);
  show_pair(self);
}

static void
on_desk_changed(PlaSpeechPanel *self)
{
  const PlaUtterance *u = pla_speech_desk_get_shown(self->desk),
                     *b = pla_speech_desk_get_other(self->desk);
  const char *const *names = pla_speech_desk_get_names(self->desk);
  self->following = TRUE;
  offer(self->recording, names, NULL, u ? u->name : NULL, NULL);
  offer(self->other, names, _("Nothing"), b ? b->name : NULL, u ? u->name : NULL);
  self->following = FALSE;
  if (pla_speech_desk_get_failure(self->desk))
    show_failure(self, pla_speech_desk_get_failure(self->desk));
  if (u && u->spoken && !self->looked && gtk_widget_get_mapped(GTK_WIDGET(self))) {
    self->looked = TRUE;
    on_cut(GTK_WIDGET(self), NULL, NULL);
  }
  update(self);
  show_moment(self);
}

static void
on_muscles_found(PlaSpeechPanel *self)
{
  self->following = TRUE;
  gtk_switch_set_active(self->muscles, pla_speech_desk_get_muscles_wanted(self->desk));
  self->following = FALSE;
  if (pla_speech_desk_get_muscles_failure(self->desk))
    show_failure(self, pla_speech_desk_get_muscles_failure(self->desk));
  update(self);
  show_muscles(self);
}

static void
on_recording(PlaSpeechPanel *self)
{
  if (!self->following)
    pla_speech_desk_show(self->desk, selected_name(self->recording));
}

static void
on_other(PlaSpeechPanel *self)
{
  if (!self->following)
    pla_speech_desk_compare_with(self->desk, adw_combo_row_get_selected(self->other) > 0
                                                 ? selected_name(self->other)
                                                 : NULL);
}

static void
on_reset(PlaSpeechPanel *self)
{
  self->looked = FALSE;
  show_failure(self, NULL);
  update(self);
}

static void
on_map(PlaSpeechPanel *self)
{
  pla_speech_desk_set_active(self->desk, TRUE);
  if (!self->asked_voices) {
    Voices *v = g_new0(Voices, 1);
    self->asked_voices = TRUE;
    v->self = g_object_ref(self);
    g_object_unref(pla_job_start(_("Languages"), read_voices, on_voices, v, voices_free));
  }
  on_desk_changed(self);
}

static void
on_unmap(PlaSpeechPanel *self)
{
  pla_speech_desk_set_active(self->desk, FALSE);
  if (self->listening)
    pla_job_cancel(self->listening);
}

/* ------------------------------------------------------------------------ type */

static void
pla_speech_panel_dispose(GObject *object)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(object);
  g_clear_handle_id(&self->level_timer, g_source_remove);
  if (self->listening)
    pla_job_cancel(self->listening);
  g_clear_object(&self->listening);
  forget_heard_file(self);
  g_clear_object(&self->chooser);
  g_clear_pointer(&self->voices, g_free);
  g_clear_pointer(&self->loudness, g_rc_box_release);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_speech_panel_parent_class)->dispose(object);
}

static void
pla_speech_panel_class_init(PlaSpeechPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_speech_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/speech-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaSpeechPanel, NAME)
  CHILD(body);
  CHILD(nothing);
  CHILD(failure_box);
  CHILD(failure);
  CHILD(move_group);
  CHILD(look_group);
  CHILD(compare_group);
  CHILD(save_group);
  CHILD(record);
  CHILD(level);
  CHILD(text);
  CHILD(voice);
  CHILD(speaker);
  CHILD(recording);
  CHILD(other);
  CHILD(heard);
  CHILD(beside);
  CHILD(muscles);
  CHILD(explained);
  CHILD(activations_row);
  CHILD(notes);
  CHILD(trained);
  CHILD(facts);
  CHILD(apart);
#undef CHILD
  gtk_widget_class_install_action(widget, "speech.record", NULL, on_record);
  gtk_widget_class_install_action(widget, "speech.open", NULL, on_open);
  gtk_widget_class_install_action(widget, "speech.say", NULL, on_say);
  gtk_widget_class_install_action(widget, "speech.move", NULL, on_move);
  gtk_widget_class_install_action(widget, "speech.cut", NULL, on_cut);
  gtk_widget_class_install_action(widget, "speech.play", NULL, on_play);
  gtk_widget_class_install_action(widget, "speech.loop", NULL, on_loop);
  gtk_widget_class_install_action(widget, "speech.pace", "s", on_pace);
  gtk_widget_class_install_action(widget, "speech.beside", NULL, on_beside_action);
  gtk_widget_class_install_action(widget, "speech.table", NULL, on_table);
  gtk_widget_class_install_action(widget, "speech.muscles", NULL, on_muscles_action);
  gtk_widget_class_install_action(widget, "speech.activations", NULL, on_activations);
  gtk_widget_class_install_action(widget, "speech.video", NULL, on_video);
}

static void
pla_speech_panel_init(PlaSpeechPanel *self)
{
  self->loudness = g_rc_box_new0(gint);
  gtk_widget_init_template(GTK_WIDGET(self));
}

static void
on_text_entered(PlaSpeechPanel *self)
{
  gtk_widget_activate_action(GTK_WIDGET(self), "speech.say", NULL);
}

GtkWidget *
pla_speech_panel_new(PlaDocument *document)
{
  PlaSpeechPanel *self = g_object_new(PLA_TYPE_SPEECH_PANEL, NULL);
  self->document = g_object_ref(document);
  self->desk = pla_speech_desk_get(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(self->desk, "changed", G_CALLBACK(on_desk_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->desk, "muscles", G_CALLBACK(on_muscles_found), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->desk, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->text, "entry-activated", G_CALLBACK(on_text_entered), self);
  g_signal_connect_swapped(self->recording, "notify::selected", G_CALLBACK(on_recording), self);
  g_signal_connect_swapped(self->other, "notify::selected", G_CALLBACK(on_other), self);
  g_signal_connect_swapped(self->beside, "notify::active", G_CALLBACK(on_beside), self);
  g_signal_connect_swapped(self->muscles, "notify::active", G_CALLBACK(on_muscles), self);
  g_signal_connect(self, "map", G_CALLBACK(on_map), NULL);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  update(self);
  return GTK_WIDGET(self);
}

/* The seven pages of the workspace and their actions; each action runs one operation and shows
 * its job. */
#include "ui/panels/muscles-panel.h"

#include "app/motion/physemes.h"
#include "ui/panels/muscle-curves.h"
#include "ui/panels/muscle-export.h"
#include "ui/panels/muscle-fit.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

typedef enum { MODEL = 0, MOVE, TAKE, FIT, PLAY, SPEAK, EXPORT, N_STEPS } Step;
static const char *const steps[N_STEPS] = { "model", "move",  "take",  "fit",
                                            "play",  "speak", "export" };

/* bodies that can be built, and what their detail costs */
static const struct {
  const char *phantom;
  double cell_mm[3];
  const char *cost[3];
} bodies[] = {
  { "face",
    { 14.0, 9.0, 5.5 },
    { N_("About 5 000 elements: built in about 10 s, moves at once. To try things."),
      N_("About 18 000 elements: built in about 10 s, each pose in a tenth of a second."),
      N_("About 67 000 elements: built in about half a minute, each pose in about a second; "
         "fitting "
         "takes some seconds a frame.") } },
  { "tongue",
    { 12.0, 10.0, 4.0 },
    { N_("About 700 elements: built in a few seconds. To try things."),
      N_("About 1 200 elements: built in a few seconds."),
      N_("About 14 000 elements: built in about ten seconds.") } },
  { "arm",
    { 16.0, 12.0, 9.0 },
    { N_("About 12 000 elements: built in a few seconds."),
      N_("About 25 000 elements: built in a few seconds."),
      N_("About 50 000 elements: built in about ten seconds.") } },
};

struct _PlaMusclesPanel {
  AdwBin parent_instance;
  GtkWidget *nothing, *stepper, *working, *move_nothing, *fit_nothing, *play_nothing;
  GtkWidget *bodies_group, *match_group, *fit_group, *result_group, *notes_group, *play_group,
      *curves_group, *try_group, *by_place_row, *compute;
  GtkDropDown *steps;
  GtkProgressBar *bar;
  GtkStack *pages;
  GtkLabel *say, *cost, *match, *fit_cost, *notes, *shown;
  AdwComboRow *body, *detail, *bodies, *takes, *tracks, *curve;
  AdwEntryRow *text;
  GtkSwitch *by_place, *jaw, *head, *meet, *see_muscles, *see_markers, *see_misfits;
  GtkSpinButton *noise, *seconds, *fit_noise;
  AdwBin *curve_place;
  PlaMusclePose *pose;
  PlaMuscleSpeech *speech;
  GtkWidget *speak_nothing;

  PlaDocument *document;
  PlaPerformer *stage;
  PlaMuscleCurves *curves;
  PlaJob *job; /* that the bar shows; or NULL */
  GtkFileChooserNative *chooser;
  GPtrArray *body_rows, *result_rows; /* borrowed */
  Step step;
  gboolean busy, following;
};

enum { PROP_STEP = 1, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaMusclesPanel, pla_muscles_panel, ADW_TYPE_BIN)

static void
say(PlaMusclesPanel *self, const char *text)
{
  gtk_label_set_label(self->say, text ? text : "");
  gtk_widget_set_visible(GTK_WIDGET(self->say), text && *text);
}

const char *
pla_muscles_panel_get_said(PlaMusclesPanel *self)
{
  return gtk_label_get_label(self->say);
}

static void
update_actions(PlaMusclesPanel *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  const PlaPerformance *p = pla_performer_get(self->stage);
  const gboolean open = pla_document_get_session(self->document) != NULL;
  const gboolean idle = !self->busy && open;
  const gboolean take = p && p->take && !p->refused;
  const gboolean track = p && p->moves.n_frames > 0;
  gtk_widget_action_set_enabled(widget, "muscles.build", idle);
  gtk_widget_action_set_enabled(widget, "muscles.relax", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.express", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.keep", idle && p);
  gtk_widget_action_set_enabled(widget, "muscles.record", idle && p && p->body->markers.n > 0);
  gtk_widget_action_set_enabled(widget, "muscles.fit", idle && take);
  gtk_widget_action_set_enabled(widget, "muscles.animate", idle && track && !p->shape);
  gtk_widget_action_set_enabled(widget, "muscles.export-track", track);
  gtk_widget_action_set_enabled(widget, "muscles.export-residuals", p && p->n_misfits > 0);
  g_autoptr(JsonObject) line = NULL;
  const gboolean speaks = pla_muscle_speech_get_operation(self->speech, &line) != NULL;
  gtk_widget_action_set_enabled(widget, "muscles.find-phonemes", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.read-phonemes", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.say", idle && p && speaks);
  gtk_widget_action_set_enabled(widget, "muscles.cancel", self->job != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.previous", self->step > 0);
  gtk_widget_action_set_enabled(widget, "muscles.next", self->step + 1 < N_STEPS);
}

/* ------------------------------------------------------------------------ running */

static void
on_job(PlaMusclesPanel *self)
{
  double fraction;
  g_autofree char *phase = NULL, *left = NULL;
  g_object_get(self->job, "fraction", &fraction, "phase", &phase, "time-left", &left, NULL);
  g_autofree char *text = left ? g_strdup_printf("%s · %s", phase, left) : g_strdup(phase);
  gtk_progress_bar_set_fraction(self->bar, fraction);
  gtk_progress_bar_set_text(self->bar, text);
}

static void
watch_job(PlaMusclesPanel *self, PlaJob *job)
{
  if (self->job)
    g_signal_handlers_disconnect_by_func(self->job, on_job, self);
  g_set_object(&self->job, job);
  if (job) {
    g_signal_connect_object(job, "notify::fraction", G_CALLBACK(on_job), self, G_CONNECT_SWAPPED);
    on_job(self);
  }
  gtk_widget_set_visible(self->working, job != NULL);
}

static void
finish(PlaMusclesPanel *self, const char *failure)
{
  self->busy = FALSE;
  watch_job(self, NULL);
  if (failure && *failure)
    say(self, failure);
  update_actions(self);
}

static void
on_done(gpointer owner, const char *failure)
{
  finish(owner, failure);
}

/* takes @params */
static void
run(PlaMusclesPanel *self, const char *title, const char *verb, JsonObject *params,
    PlaDocumentDone done)
{
  g_autoptr(JsonObject) held = params;
  say(self, NULL);
  self->busy = TRUE;
  if (!pla_document_run_for(self->document, title, verb, held, done, G_OBJECT(self))) {
    finish(self, _("Open a case first."));
    return;
  }
  GListModel *jobs = pla_document_get_jobs(self->document);
  const guint n = g_list_model_get_n_items(jobs);
  g_autoptr(PlaJob) job = n > 0 ? g_list_model_get_item(jobs, n - 1) : NULL;
  watch_job(self, job);
  update_actions(self);
}

static void
on_cancel(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  if (self->job)
    pla_job_cancel(self->job);
}

static JsonObject *
params_new(PlaMusclesPanel *self)
{
  JsonObject *params = json_object_new();
  json_object_set_string_member(params, "muscles",
                                pla_performer_get_name(self->stage, PLA_PERFORMER_MUSCLES));
  return params;
}

/* -------------------------------------------------------------------------- model */

static void
show_cost(PlaMusclesPanel *self)
{
  const guint b = adw_combo_row_get_selected(self->body),
              d = adw_combo_row_get_selected(self->detail);
  if (b < G_N_ELEMENTS(bodies) && d < 3)
    gtk_label_set_label(self->cost, _(bodies[b].cost[d]));
}

static void
on_build(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  const guint b = adw_combo_row_get_selected(self->body),
              d = adw_combo_row_get_selected(self->detail);
  JsonObject *params = json_object_new();
  json_object_set_string_member(params, "phantom", bodies[b].phantom);
  json_object_set_double_member(params, "cell_mm", bodies[b].cell_mm[d]);
  pla_performer_choose(self->stage, PLA_PERFORMER_MUSCLES, NULL);
  run(self, _("Building the body"), "active-body", params, on_done);
}

static void
add_body_row(PlaMusclesPanel *self, const char *title, char *value) /* takes @value */
{
  pla_panel_rows_add(ADW_PREFERENCES_GROUP(self->bodies_group), self->body_rows,
                     pla_row_new(title, value));
  g_free(value);
}

static void
show_body(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  pla_panel_rows_clear(ADW_PREFERENCES_GROUP(self->bodies_group), self->body_rows);
  gtk_widget_set_visible(self->bodies_group, p != NULL);
  if (!p)
    return;
  add_body_row(self, _("Elements"), g_strdup_printf("%d", p->body->mesh->n_tets));
  add_body_row(self, _("Muscles"), g_strdup_printf("%d", pla_active_n_muscles(p->body->model)));
  int n_absent = 0;
  for (int m = 0; m < p->body->muscles.list.n; m++)
    n_absent += p->body->muscles.muscle_start[m] == p->body->muscles.muscle_start[m + 1];
  if (n_absent > 0)
    add_body_row(self, _("Muscles outside of it"), g_strdup_printf("%d", n_absent));
  add_body_row(self, _("Jaw"),
               g_strdup(pla_active_jaw(p->body->model) ? _("opens and slides") : _("none")));
  add_body_row(self, _("Places for markers"), g_strdup_printf("%d", p->body->markers.n));
}

/* --------------------------------------------------------------------------- move */

static void
on_relax(GtkWidget *widget, const char *action, GVariant *param)
{
  pla_muscle_pose_relax(PLA_MUSCLES_PANEL(widget)->pose);
}

static void
on_express(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  if (!pla_muscle_pose_express(self->pose, g_variant_get_string(param, NULL)))
    say(self, _("Ready-made expressions need a face, and this body is not one."));
}

static void
on_keep(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  const char *name = pla_muscle_pose_get_name(self->pose);
  if (!*name) {
    say(self, _("Give the pose a name first."));
    return;
  }
  JsonObject *params = params_new(self);
  json_object_set_array_member(params, "controls", pla_muscle_pose_get_controls(self->pose));
  json_object_set_string_member(params, "name", name);
  run(self, _("Keeping the pose"), "pose", params, on_done);
}

/* --------------------------------------------------------------------------- take */

static void
show_match(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  gtk_widget_set_visible(self->match_group, p && p->take);
  gtk_widget_set_visible(self->by_place_row, p && p->take);
  if (!p || !p->take)
    return;
  g_autofree char *text = pla_match_text(p);
  gtk_label_set_label(self->match, text);
}

/* what the body shall say, on its way to phonemes */
typedef struct {
  PlaMusclesPanel *self;
  char *text;
  PlaPhones phones;
} Words;

static void
words_free(gpointer data)
{
  Words *words = data;
  g_object_unref(words->self);
  g_free(words->text);
  pla_phones_clear(&words->phones);
  g_free(words);
}

static PlaStatus
find_words(gpointer data, PlaProgress *progress, PlaError *err)
{
  Words *words = data;
  return *words->text ? pla_phones_from_text(words->text, NULL, &words->phones, NULL, err) : PLA_OK;
}

static void
on_words(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Words *words = data;
  PlaMusclesPanel *self = words->self;
  if (!self->document)
    return;
  pla_document_retire_job(self->document, job);
  if (status != PLA_OK) {
    finish(self, status == PLA_ERR_CANCELLED ? "" : err->message);
    return;
  }
  JsonObject *params = params_new(self);
  json_object_set_array_member(params, "phonemes", pla_phones_to_json(&words->phones));
  json_object_set_boolean_member(params, "markers", TRUE);
  json_object_set_double_member(params, "noise_mm", gtk_spin_button_get_value(self->noise));
  json_object_set_double_member(params, "seconds", gtk_spin_button_get_value(self->seconds));
  json_object_set_string_member(params, "name", _("made-up take"));
  pla_performer_choose(self->stage, PLA_PERFORMER_MARKERS, NULL);
  run(self, _("Recording the body"), "perform", params, on_done);
}

static void
on_record(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  Words *words = g_new0(Words, 1);
  words->self = g_object_ref(self);
  words->text = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(self->text))));
  say(self, NULL);
  self->busy = TRUE;
  g_autoptr(PlaJob) job =
      pla_job_start(_("Finding phonemes"), find_words, on_words, words, words_free);
  pla_document_add_job(self->document, job);
  watch_job(self, job);
  update_actions(self);
}

/* ---------------------------------------------------------------------------- fit */

static void
show_fit(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  const gboolean ready = p && p->take && !p->refused;
  gtk_widget_set_visible(self->fit_nothing, !ready);
  gtk_widget_set_visible(self->fit_group, ready);
  pla_panel_rows_clear(ADW_PREFERENCES_GROUP(self->result_group), self->result_rows);
  g_autofree char *notes = NULL;
  const gboolean found = p && pla_fit_rows_add(ADW_PREFERENCES_GROUP(self->result_group),
                                               self->result_rows, p, &notes);
  gtk_widget_set_visible(self->result_group, found);
  gtk_widget_set_visible(self->notes_group, found && notes && *notes);
  gtk_label_set_label(self->notes, notes ? notes : "");
  if (!ready)
    return;
  g_autofree char *text = pla_fit_cost_text(p);
  gtk_label_set_label(self->fit_cost, text);
}

/* shapes of the track @name, so that it can be played; @contact: parts of the body meet */
static void
animate(PlaMusclesPanel *self, const char *name, gboolean contact)
{
  JsonObject *params = params_new(self);
  json_object_set_string_member(params, "track", name);
  json_object_set_boolean_member(params, "contact", contact);
  run(self, _("Computing shapes"), "animate", params, on_done);
}

static void
on_fitted(gpointer owner, const char *failure)
{
  PlaMusclesPanel *self = owner;
  const char *markers = pla_performer_get_name(self->stage, PLA_PERFORMER_MARKERS);
  if (failure || !markers) {
    finish(self, failure);
    return;
  }
  g_autofree char *name = g_strdup_printf("%s, activations", markers);
  pla_performer_choose(self->stage, PLA_PERFORMER_TRACK, name);
  /* what markers were fitted by has no contact */
  animate(self, name, FALSE);
}

static void
on_fit(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  JsonObject *params = params_new(self);
  json_object_set_string_member(params, "markers",
                                pla_performer_get_name(self->stage, PLA_PERFORMER_MARKERS));
  json_object_set_boolean_member(params, "jaw", gtk_switch_get_active(self->jaw));
  json_object_set_boolean_member(params, "head", gtk_switch_get_active(self->head));
  json_object_set_boolean_member(params, "label", gtk_switch_get_active(self->by_place));
  json_object_set_double_member(params, "noise_mm", gtk_spin_button_get_value(self->fit_noise));
  run(self, _("Fitting"), "fit", params, on_fitted);
}

/* --------------------------------------------------------------------------- play */

static void
on_animate(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  animate(self, pla_performer_get_name(self->stage, PLA_PERFORMER_TRACK),
          gtk_switch_get_active(self->meet));
}

static void
show_play(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  const gboolean ready = p && p->track;
  gtk_widget_set_visible(self->play_nothing, !ready);
  gtk_widget_set_visible(self->play_group, ready);
  gtk_widget_set_visible(self->curves_group, ready && p->moves.n_frames > 0);
  gtk_widget_set_visible(self->compute, ready && !p->shape);
  pla_muscle_curves_update(self->curves);
}

static void
on_moved(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  if (self->step != PLAY || !p || !p->track)
    return;
  if (p->track_refused) {
    gtk_label_set_label(self->shown, p->track_refused);
    return;
  }
  const int f = pla_performer_get_frame(self->stage);
  static const char *const texts[] = {
    [PLA_SHOWN_REST] = N_("at rest."),
    [PLA_SHOWN_STORED] = N_("as computed before."),
    [PLA_SHOWN_MOVING] = N_("on its way. Computing all shapes lets them play at their pace."),
    [PLA_SHOWN_LIVE] = N_("computed now. Computing all shapes lets them play at their pace."),
    [PLA_SHOWN_SHORT] = N_("no equilibrium was found; the last iterate is shown."),
  };
  /* Translators: what is shown, and how it came about */
  g_autofree char *text = g_strdup_printf(_("Frame %d of %d: %s"), f + 1, p->moves.n_frames,
                                          _(texts[pla_performer_get_shown(self->stage)]));
  gtk_label_set_label(self->shown, text);
  const PlaTrack *track = p->track->track;
  pla_muscle_curves_set_time(self->curves,
                             track->start_s + (track->rate_hz > 0.0 ? f / track->rate_hz : f));
}

static void
on_layers(PlaMusclesPanel *self)
{
  pla_performer_set_layers(self->stage, gtk_switch_get_active(self->see_muscles),
                           gtk_switch_get_active(self->see_markers),
                           gtk_switch_get_active(self->see_misfits));
}

/* -------------------------------------------------------------------------- speak */

static void
on_find_phonemes(GtkWidget *widget, const char *action, GVariant *param)
{
  pla_muscle_speech_find(PLA_MUSCLES_PANEL(widget)->speech);
}

static void
on_phonemes_response(GtkNativeDialog *dialog, int response, PlaMusclesPanel *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_muscle_speech_read(self->speech, path);
  }
  g_clear_object(&self->chooser);
}

static void
on_read_phonemes(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Read Phonemes"), GTK_WINDOW(gtk_widget_get_root(widget)),
                                  GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_phonemes_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

/* the line is in the case: its shapes, then it can be played */
static void
on_spoken(gpointer owner, const char *failure)
{
  PlaMusclesPanel *self = owner;
  if (failure) {
    finish(self, failure);
    return;
  }
  /* a name that was taken got a number: it is the newest track */
  g_auto(GStrv) names = pla_performer_list(self->stage, PLA_PERFORMER_TRACK);
  const guint n = g_strv_length(names);
  if (n == 0) {
    finish(self, NULL);
    return;
  }
  pla_performer_choose(self->stage, PLA_PERFORMER_TRACK, names[n - 1]);
  animate(self, names[n - 1], gtk_switch_get_active(self->meet));
}

static void
on_say(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  JsonObject *params = NULL;
  const char *verb = pla_muscle_speech_get_operation(self->speech, &params);
  if (verb)
    run(self, _("Saying it"), verb, params, on_spoken);
}

static void
on_speech_failed(PlaMusclesPanel *self, const char *text)
{
  say(self, text);
}

/* ------------------------------------------------------------------------- export */

static void
on_table_failed(gpointer owner, const char *failure)
{
  PlaMusclesPanel *self = owner;
  if (self->document)
    say(self, failure);
}

void
pla_muscles_panel_export(PlaMusclesPanel *self, gboolean residuals, const char *path)
{
  const char *of =
      pla_performer_get_name(self->stage, residuals ? PLA_PERFORMER_MARKERS : PLA_PERFORMER_TRACK);
  g_autofree char *name = of && residuals ? g_strdup_printf("%s, residuals", of) : g_strdup(of);
  pla_muscle_export(self->document, name, path, on_table_failed, G_OBJECT(self));
}

static void
on_export_response(GtkNativeDialog *dialog, int response, PlaMusclesPanel *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_muscles_panel_export(self,
                               GPOINTER_TO_INT(g_object_get_data(G_OBJECT(dialog), "residuals")),
                               path);
  }
  g_clear_object(&self->chooser);
}

static void
choose_table(PlaMusclesPanel *self, const char *name, gboolean residuals)
{
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Save a Table"),
                                  GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(self))),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
  g_object_set_data(G_OBJECT(self->chooser), "residuals", GINT_TO_POINTER(residuals));
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_export_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

static void
on_export_track(GtkWidget *widget, const char *action, GVariant *param)
{
  choose_table(PLA_MUSCLES_PANEL(widget), _("activations.csv"), FALSE);
}

static void
on_export_residuals(GtkWidget *widget, const char *action, GVariant *param)
{
  choose_table(PLA_MUSCLES_PANEL(widget), _("residuals.csv"), TRUE);
}

/* -------------------------------------------------------------------------- steps */

static void
show_step(PlaMusclesPanel *self)
{
  const gboolean shown = gtk_widget_get_mapped(GTK_WIDGET(self));
  pla_performer_set_on(self->stage, shown);
  static const PlaPlay plays[N_STEPS] = {
    [TAKE] = PLA_PLAY_TAKE,     [FIT] = PLA_PLAY_TRACK,    [PLAY] = PLA_PLAY_TRACK,
    [SPEAK] = PLA_PLAY_PREVIEW, [EXPORT] = PLA_PLAY_TRACK,
  };
  pla_performer_set_play(self->stage, plays[self->step]);
  pla_muscle_speech_set_on(self->speech, shown && self->step == SPEAK);
  if (self->step == FIT) {
    /* what is shown there belongs to the recording that is chosen */
    const char *markers = pla_performer_get_name(self->stage, PLA_PERFORMER_MARKERS);
    g_autofree char *name = markers ? g_strdup_printf("%s, activations", markers) : NULL;
    if (name)
      pla_performer_choose(self->stage, PLA_PERFORMER_TRACK, name);
  }
  on_moved(self);
}

static void
set_step(PlaMusclesPanel *self, Step step)
{
  if (step == self->step)
    return;
  self->step = step;
  say(self, NULL);
  gtk_stack_set_visible_child_name(self->pages, steps[step]);
  self->following = TRUE;
  gtk_drop_down_set_selected(self->steps, step);
  self->following = FALSE;
  show_step(self);
  update_actions(self);
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_STEP]);
}

static void
on_step_chosen(PlaMusclesPanel *self)
{
  const guint step = gtk_drop_down_get_selected(self->steps);
  if (!self->following && step < N_STEPS)
    set_step(self, (Step)step);
}

static void
on_previous(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  if (self->step > 0)
    set_step(self, self->step - 1);
}

static void
on_next(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  if (self->step + 1 < N_STEPS)
    set_step(self, self->step + 1);
}

/* to a frame of the recording */
static void
on_go_to(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  set_step(self, PLAY);
  pla_tools_seek(pla_document_get_tools(self->document), g_variant_get_int32(param));
}

/* ------------------------------------------------------------------------- update */

static void
offer(PlaMusclesPanel *self, AdwComboRow *row, PlaPerformerItem which)
{
  g_auto(GStrv) names = pla_performer_list(self->stage, which);
  const char *chosen = pla_performer_get_name(self->stage, which);
  g_autoptr(GtkStringList) list = gtk_string_list_new((const char *const *)names);
  self->following = TRUE;
  adw_combo_row_set_model(row, G_LIST_MODEL(list));
  for (guint i = 0; names[i]; i++)
    if (g_strcmp0(names[i], chosen) == 0)
      adw_combo_row_set_selected(row, i);
  gtk_widget_set_visible(GTK_WIDGET(row), names[0] != NULL);
  self->following = FALSE;
}

static void
on_choice(AdwComboRow *row, GParamSpec *spec, PlaMusclesPanel *self)
{
  GtkStringObject *name = adw_combo_row_get_selected_item(row);
  if (self->following || !name)
    return;
  const PlaPerformerItem which = row == self->bodies  ? PLA_PERFORMER_MUSCLES
                                 : row == self->takes ? PLA_PERFORMER_MARKERS
                                                      : PLA_PERFORMER_TRACK;
  pla_performer_choose(self->stage, which, gtk_string_object_get_string(name));
}

static void
on_by_place(PlaMusclesPanel *self)
{
  pla_performer_set_by_geometry(self->stage, gtk_switch_get_active(self->by_place));
}

/* another case, or none */
static void
on_case(PlaMusclesPanel *self)
{
  const gboolean open = pla_document_get_session(self->document) != NULL;
  gtk_widget_set_visible(self->nothing, !open);
  gtk_widget_set_visible(self->stepper, open);
  gtk_widget_set_visible(GTK_WIDGET(self->pages), open);
  update_actions(self);
}

static void
on_changed(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_performer_get(self->stage);
  offer(self, self->bodies, PLA_PERFORMER_MUSCLES);
  offer(self, self->takes, PLA_PERFORMER_MARKERS);
  offer(self, self->tracks, PLA_PERFORMER_TRACK);
  gtk_widget_set_visible(self->move_nothing, !p);
  gtk_widget_set_visible(GTK_WIDGET(self->pose), p != NULL);
  gtk_widget_set_visible(self->try_group, p != NULL);
  gtk_widget_set_visible(self->speak_nothing, !p);
  gtk_widget_set_visible(GTK_WIDGET(self->speech), p != NULL);
  show_body(self);
  show_match(self);
  show_fit(self);
  show_play(self);
  on_case(self);
  on_moved(self);
}

static void
on_stage_failed(PlaMusclesPanel *self, const char *text)
{
  say(self, text);
}

/* --------------------------------------------------------------------------- type */

PlaPerformer *
pla_muscles_panel_get_stage(PlaMusclesPanel *self)
{
  return self->stage;
}

PlaMusclePose *
pla_muscles_panel_get_pose(PlaMusclesPanel *self)
{
  return self->pose;
}

PlaMuscleSpeech *
pla_muscles_panel_get_speech(PlaMusclesPanel *self)
{
  return self->speech;
}

static void
pla_muscles_panel_get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(object);
  if (id == PROP_STEP)
    g_value_set_string(value, steps[self->step]);
  else
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, pspec);
}

static void
pla_muscles_panel_set_property(GObject *object, guint id, const GValue *value, GParamSpec *pspec)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(object);
  for (int i = 0; id == PROP_STEP && self->document && i < N_STEPS; i++)
    if (g_strcmp0(g_value_get_string(value), steps[i]) == 0)
      set_step(self, (Step)i);
}

static void
pla_muscles_panel_dispose(GObject *object)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(object);
  g_clear_object(&self->chooser);
  g_clear_object(&self->job);
  g_clear_object(&self->stage);
  g_clear_pointer(&self->body_rows, g_ptr_array_unref);
  g_clear_pointer(&self->result_rows, g_ptr_array_unref);
  g_clear_object(&self->curves);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_muscles_panel_parent_class)->dispose(object);
}

static void
pla_muscles_panel_class_init(PlaMusclesPanelClass *klass)
{
  GObjectClass *object = G_OBJECT_CLASS(klass);
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  object->dispose = pla_muscles_panel_dispose;
  object->get_property = pla_muscles_panel_get_property;
  object->set_property = pla_muscles_panel_set_property;
  props[PROP_STEP] =
      g_param_spec_string("step", NULL, NULL, "model",
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);
  g_object_class_install_properties(object, N_PROPS, props);
  g_type_ensure(PLA_TYPE_MUSCLE_POSE);
  g_type_ensure(PLA_TYPE_MUSCLE_SPEECH);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/muscles-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaMusclesPanel, NAME)
  CHILD(nothing);
  CHILD(stepper);
  CHILD(working);
  CHILD(move_nothing);
  CHILD(fit_nothing);
  CHILD(play_nothing);
  CHILD(bodies_group);
  CHILD(match_group);
  CHILD(fit_group);
  CHILD(result_group);
  CHILD(notes_group);
  CHILD(play_group);
  CHILD(curves_group);
  CHILD(try_group);
  CHILD(by_place_row);
  CHILD(compute);
  CHILD(steps);
  CHILD(bar);
  CHILD(pages);
  CHILD(say);
  CHILD(cost);
  CHILD(match);
  CHILD(fit_cost);
  CHILD(notes);
  CHILD(shown);
  CHILD(body);
  CHILD(detail);
  CHILD(bodies);
  CHILD(takes);
  CHILD(tracks);
  CHILD(curve);
  CHILD(text);
  CHILD(by_place);
  CHILD(jaw);
  CHILD(head);
  CHILD(meet);
  CHILD(see_muscles);
  CHILD(see_markers);
  CHILD(see_misfits);
  CHILD(noise);
  CHILD(seconds);
  CHILD(fit_noise);
  CHILD(curve_place);
  CHILD(pose);
  CHILD(speech);
  CHILD(speak_nothing);
#undef CHILD
  gtk_widget_class_install_property_action(widget, "muscles.step", "step");
  gtk_widget_class_install_action(widget, "muscles.previous", NULL, on_previous);
  gtk_widget_class_install_action(widget, "muscles.next", NULL, on_next);
  gtk_widget_class_install_action(widget, "muscles.build", NULL, on_build);
  gtk_widget_class_install_action(widget, "muscles.relax", NULL, on_relax);
  gtk_widget_class_install_action(widget, "muscles.express", "s", on_express);
  gtk_widget_class_install_action(widget, "muscles.keep", NULL, on_keep);
  gtk_widget_class_install_action(widget, "muscles.record", NULL, on_record);
  gtk_widget_class_install_action(widget, "muscles.fit", NULL, on_fit);
  gtk_widget_class_install_action(widget, "muscles.animate", NULL, on_animate);
  gtk_widget_class_install_action(widget, "muscles.find-phonemes", NULL, on_find_phonemes);
  gtk_widget_class_install_action(widget, "muscles.read-phonemes", NULL, on_read_phonemes);
  gtk_widget_class_install_action(widget, "muscles.say", NULL, on_say);
  gtk_widget_class_install_action(widget, "muscles.cancel", NULL, on_cancel);
  gtk_widget_class_install_action(widget, "muscles.go-to", "i", on_go_to);
  gtk_widget_class_install_action(widget, "muscles.export-track", NULL, on_export_track);
  gtk_widget_class_install_action(widget, "muscles.export-residuals", NULL, on_export_residuals);
}

static void
pla_muscles_panel_init(PlaMusclesPanel *self)
{
  self->body_rows = g_ptr_array_new();
  self->result_rows = g_ptr_array_new();
  gtk_widget_init_template(GTK_WIDGET(self));
  adw_combo_row_set_selected(self->detail, 1);
}

GtkWidget *
pla_muscles_panel_new(PlaDocument *document)
{
  PlaMusclesPanel *self = g_object_new(PLA_TYPE_MUSCLES_PANEL, NULL);
  self->document = g_object_ref(document);
  self->stage = pla_performer_new(document);
  self->curves = pla_muscle_curves_new(self->stage, self->curve, self->curve_place);
  pla_muscle_pose_set_stage(self->pose, self->stage);
  pla_muscle_speech_set_performer(self->speech, self->stage);
  g_signal_connect_object(self->speech, "failed", G_CALLBACK(on_speech_failed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->speech, "changed", G_CALLBACK(update_actions), self,
                          G_CONNECT_SWAPPED);
  g_object_bind_property(self->see_muscles, "active", pla_muscle_pose_get_see(self->pose), "active",
                         G_BINDING_BIDIRECTIONAL | G_BINDING_SYNC_CREATE);
  g_signal_connect_object(self->stage, "changed", G_CALLBACK(on_changed), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(self->stage, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(self->stage, "failed", G_CALLBACK(on_stage_failed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_case), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(on_case), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->steps, "notify::selected", G_CALLBACK(on_step_chosen), self);
  AdwComboRow *const choices[] = { self->bodies, self->takes, self->tracks };
  for (size_t i = 0; i < G_N_ELEMENTS(choices); i++)
    g_signal_connect(choices[i], "notify::selected", G_CALLBACK(on_choice), self);
  g_signal_connect_swapped(self->body, "notify::selected", G_CALLBACK(show_cost), self);
  g_signal_connect_swapped(self->detail, "notify::selected", G_CALLBACK(show_cost), self);
  g_signal_connect_swapped(self->by_place, "notify::active", G_CALLBACK(on_by_place), self);
  GtkSwitch *const layers[] = { self->see_muscles, self->see_markers, self->see_misfits };
  for (size_t i = 0; i < G_N_ELEMENTS(layers); i++)
    g_signal_connect_swapped(layers[i], "notify::active", G_CALLBACK(on_layers), self);
  g_signal_connect(self, "map", G_CALLBACK(show_step), NULL);
  g_signal_connect(self, "unmap", G_CALLBACK(show_step), NULL);
  gtk_widget_set_visible(self->working, FALSE);
  say(self, NULL);
  show_cost(self);
  on_changed(self);
  return GTK_WIDGET(self);
}

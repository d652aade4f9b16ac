/* What the buttons of the pages run: each one operation, or two in turn, with its job shown. */
#include "ui/panels/muscles-private.h"

#include "app/motion/physemes.h"
#include "app/verbs/verb-lists.h"
#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>
#include <string.h>

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
    pla_muscles_say(self, failure);
  pla_muscles_update_actions(self);
}

static void
on_done(gpointer owner, const char *failure)
{
  finish(owner, failure);
}

static void
run(PlaMusclesPanel *self, const char *title, PlaVerbValues *values, PlaDocumentDone done)
{
  pla_muscles_say(self, NULL);
  self->busy = TRUE;
  if (!pla_document_run_for(self->document, title, values, done, G_OBJECT(self))) {
    finish(self, _("Open a case first."));
    return;
  }
  GListModel *jobs = pla_document_get_jobs(self->document);
  const guint n = g_list_model_get_n_items(jobs);
  g_autoptr(PlaJob) job = n > 0 ? g_list_model_get_item(jobs, n - 1) : NULL;
  watch_job(self, job);
  pla_muscles_update_actions(self);
}

void
pla_muscles_on_cancel(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  if (self->job)
    pla_job_cancel(self->job);
}

/* of the body that is chosen */
static void
set_muscles(PlaMusclesPanel *self, PlaVerbValues *values)
{
  pla_verb_values_set_text(values, "muscles",
                           pla_motion_player_get_name(self->stage, PLA_MOTION_MUSCLES));
}

/* -------------------------------------------------------------------------- model */

/* the phantom and the detail that are chosen; cell size and what it costs */
static double
chosen_cell(PlaMusclesPanel *self, const char **cost)
{
  const PlaActivePhantom *phantom =
      pla_active_phantom_find(pla_verb_values_get_text(self->build, "phantom"));
  const guint d = adw_combo_row_get_selected(self->detail);
  g_return_val_if_fail(phantom && d < PLA_ACTIVE_N_DETAILS, 0.0);
  *cost = phantom->detail[d].cost;
  return phantom->detail[d].cell_mm;
}

void
pla_muscles_show_cost(PlaMusclesPanel *self)
{
  const char *cost = "";
  chosen_cell(self, &cost);
  gtk_label_set_label(self->cost, _(cost));
}

void
pla_muscles_on_build(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  const char *cost;
  pla_verb_values_set_number(self->build, "cell_mm", chosen_cell(self, &cost));
  pla_motion_player_choose(self->stage, PLA_MOTION_MUSCLES, NULL);
  run(self, _("Building the body"), self->build, on_done);
}

/* --------------------------------------------------------------------------- move */

void
pla_muscles_on_keep(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  const char *name = pla_muscle_pose_get_name(self->pose);
  if (!*name) {
    pla_muscles_say(self, _("Give the pose a name first."));
    return;
  }
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("pose");
  set_muscles(self, values);
  pla_muscle_pose_fill_controls(self->pose, values);
  pla_verb_values_set_text(values, "name", name);
  run(self, _("Keeping the pose"), values, on_done);
}

/* --------------------------------------------------------------------------- take */

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
  set_muscles(self, self->record);
  pla_values_set_phonemes(self->record, &words->phones);
  pla_verb_values_set_bool(self->record, "markers", true);
  pla_verb_values_set_text(self->record, "name", _("made-up take"));
  pla_motion_player_choose(self->stage, PLA_MOTION_MARKERS, NULL);
  run(self, _("Recording the body"), self->record, on_done);
}

void
pla_muscles_on_record(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  Words *words = g_new0(Words, 1);
  words->self = g_object_ref(self);
  words->text = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(self->text))));
  pla_muscles_say(self, NULL);
  self->busy = TRUE;
  g_autoptr(PlaJob) job =
      pla_job_start(_("Finding phonemes"), find_words, on_words, words, words_free);
  pla_document_add_job(self->document, job);
  watch_job(self, job);
  pla_muscles_update_actions(self);
}

/* ---------------------------------------------------------------------------- fit */

/* shapes of the track @name, so that it can be played */
static void
animate(PlaMusclesPanel *self, const char *name, PlaVerbValues *values)
{
  set_muscles(self, values);
  pla_verb_values_set_text(values, "track", name);
  run(self, _("Computing shapes"), values, on_done);
}

static void
on_fitted(gpointer owner, const char *failure)
{
  PlaMusclesPanel *self = owner;
  const char *markers = pla_motion_player_get_name(self->stage, PLA_MOTION_MARKERS);
  if (failure || !markers) {
    finish(self, failure);
    return;
  }
  g_autofree char *name = g_strdup_printf("%s, activations", markers);
  pla_motion_player_choose(self->stage, PLA_MOTION_TRACK, name);
  /* what markers were fitted by has no contact */
  g_autoptr(PlaVerbValues) apart = pla_verb_values_dup(self->shapes);
  pla_verb_values_set_bool(apart, "contact", false);
  animate(self, name, apart);
}

void
pla_muscles_on_fit(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  set_muscles(self, self->fit);
  pla_verb_values_set_text(self->fit, "markers",
                           pla_motion_player_get_name(self->stage, PLA_MOTION_MARKERS));
  run(self, _("Fitting"), self->fit, on_fitted);
}

/* ----------------------------------------------------------------- play and speak */

void
pla_muscles_on_animate(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  animate(self, pla_motion_player_get_name(self->stage, PLA_MOTION_TRACK), self->shapes);
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
  g_auto(GStrv) names = pla_motion_player_list(self->stage, PLA_MOTION_TRACK);
  const guint n = g_strv_length(names);
  if (n == 0) {
    finish(self, NULL);
    return;
  }
  pla_motion_player_choose(self->stage, PLA_MOTION_TRACK, names[n - 1]);
  animate(self, names[n - 1], self->shapes);
}

void
pla_muscles_on_say(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  g_autoptr(PlaVerbValues) values = pla_muscle_speech_dup_values(self->speech);
  if (values)
    run(self, _("Saying it"), values, on_spoken);
}

/* --------------------------------------------------------------------------- rows */

void
pla_muscles_bind_rows(PlaMusclesPanel *self)
{
  self->build = pla_verb_values_new("active-body");
  self->record = pla_verb_values_new("perform");
  self->fit = pla_verb_values_new("fit");
  self->shapes = pla_verb_values_new("animate");
  pla_param_row_bind(self->body, self->build, "phantom");
  pla_param_row_bind(self->noise, self->record, "noise_mm");
  pla_param_row_bind(self->seconds, self->record, "seconds");
  pla_param_row_bind(self->by_place, self->fit, "label");
  pla_param_row_bind(self->jaw, self->fit, "jaw");
  pla_param_row_bind(self->head, self->fit, "head");
  pla_param_row_bind(self->fit_noise, self->fit, "noise_mm");
  pla_param_row_bind(self->meet, self->shapes, "contact");
}

/* The seven pages of the workspace, what they show, and the steps between them. */
#include "ui/panels/muscles-private.h"

#include "ui/panels/muscle-export.h"
#include "ui/panels/muscle-fit.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static const char *const steps[PLA_N_STEPS] = { "model", "move",  "take",  "fit",
                                                "play",  "speak", "export" };

enum { PROP_STEP = 1, N_PROPS };
static GParamSpec *props[N_PROPS];

G_DEFINE_FINAL_TYPE(PlaMusclesPanel, pla_muscles_panel, ADW_TYPE_BIN)

void
pla_muscles_say(PlaMusclesPanel *self, const char *text)
{
  gtk_label_set_label(self->say, text ? text : "");
  gtk_widget_set_visible(GTK_WIDGET(self->say), text && *text);
}

const char *
pla_muscles_panel_get_said(PlaMusclesPanel *self)
{
  return gtk_label_get_label(self->say);
}

void
pla_muscles_update_actions(PlaMusclesPanel *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  const PlaPerformance *p = pla_motion_player_get(self->stage);
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
  g_autoptr(PlaVerbValues) line = pla_muscle_speech_dup_values(self->speech);
  gtk_widget_action_set_enabled(widget, "muscles.find-phonemes", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.read-phonemes", p != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.say", idle && p && line);
  gtk_widget_action_set_enabled(widget, "muscles.cancel", self->job != NULL);
  gtk_widget_action_set_enabled(widget, "muscles.previous", self->step > 0);
  gtk_widget_action_set_enabled(widget, "muscles.next", self->step + 1 < PLA_N_STEPS);
}

/* -------------------------------------------------------------------------- pages */

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
  const PlaPerformance *p = pla_motion_player_get(self->stage);
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
    pla_muscles_say(self, _("Ready-made expressions need a face, and this body is not one."));
}

static void
show_match(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  gtk_widget_set_visible(self->match_group, p && p->take);
  gtk_widget_set_visible(self->by_place, p && p->take);
  if (!p || !p->take)
    return;
  g_autofree char *text = pla_match_text(p);
  gtk_label_set_label(self->match, text);
}

static void
show_fit(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
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

static void
show_play(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
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
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  if (self->step != PLA_STEP_PLAY || !p || !p->track)
    return;
  if (p->track_refused) {
    gtk_label_set_label(self->shown, p->track_refused);
    return;
  }
  const int f = pla_motion_player_get_frame(self->stage);
  static const char *const texts[] = {
    [PLA_SHOWN_REST] = N_("at rest."),
    [PLA_SHOWN_STORED] = N_("as computed before."),
    [PLA_SHOWN_MOVING] = N_("on its way. Computing all shapes lets them play at their pace."),
    [PLA_SHOWN_LIVE] = N_("computed now. Computing all shapes lets them play at their pace."),
    [PLA_SHOWN_SHORT] = N_("no equilibrium was found; the last iterate is shown."),
  };
  /* Translators: what is shown, and how it came about */
  g_autofree char *text = g_strdup_printf(_("Frame %d of %d: %s"), f + 1, p->moves.n_frames,
                                          _(texts[pla_motion_player_get_shown(self->stage)]));
  gtk_label_set_label(self->shown, text);
  const PlaTrack *track = p->track->track;
  pla_muscle_curves_set_time(self->curves,
                             track->start_s + (track->rate_hz > 0.0 ? f / track->rate_hz : f));
}

static void
on_layers(PlaMusclesPanel *self)
{
  pla_motion_player_set_layers(self->stage, gtk_switch_get_active(self->see_muscles),
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

static void
on_speech_failed(PlaMusclesPanel *self, const char *text)
{
  pla_muscles_say(self, text);
}

/* ------------------------------------------------------------------------- export */

static void
on_table_failed(gpointer owner, const char *failure)
{
  PlaMusclesPanel *self = owner;
  if (self->document)
    pla_muscles_say(self, failure);
}

void
pla_muscles_panel_export(PlaMusclesPanel *self, gboolean residuals, const char *path)
{
  const char *of =
      pla_motion_player_get_name(self->stage, residuals ? PLA_MOTION_MARKERS : PLA_MOTION_TRACK);
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
  pla_motion_player_set_on(self->stage, shown);
  static const PlaPlay plays[PLA_N_STEPS] = {
    [PLA_STEP_TAKE] = PLA_PLAY_TAKE,    [PLA_STEP_FIT] = PLA_PLAY_TRACK,
    [PLA_STEP_PLAY] = PLA_PLAY_TRACK,   [PLA_STEP_SPEAK] = PLA_PLAY_PREVIEW,
    [PLA_STEP_EXPORT] = PLA_PLAY_TRACK,
  };
  pla_motion_player_set_play(self->stage, plays[self->step]);
  pla_muscle_speech_set_on(self->speech, shown && self->step == PLA_STEP_SPEAK);
  if (self->step == PLA_STEP_FIT) {
    /* what is shown there belongs to the recording that is chosen */
    const char *markers = pla_motion_player_get_name(self->stage, PLA_MOTION_MARKERS);
    g_autofree char *name = markers ? g_strdup_printf("%s, activations", markers) : NULL;
    if (name)
      pla_motion_player_choose(self->stage, PLA_MOTION_TRACK, name);
  }
  on_moved(self);
}

static void
set_step(PlaMusclesPanel *self, PlaMusclesStep step)
{
  if (step == self->step)
    return;
  self->step = step;
  pla_muscles_say(self, NULL);
  gtk_stack_set_visible_child_name(self->pages, steps[step]);
  self->following = TRUE;
  gtk_drop_down_set_selected(self->steps, step);
  self->following = FALSE;
  show_step(self);
  pla_muscles_update_actions(self);
  g_object_notify_by_pspec(G_OBJECT(self), props[PROP_STEP]);
}

static void
on_step_chosen(PlaMusclesPanel *self)
{
  const guint step = gtk_drop_down_get_selected(self->steps);
  if (!self->following && step < PLA_N_STEPS)
    set_step(self, (PlaMusclesStep)step);
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
  if (self->step + 1 < PLA_N_STEPS)
    set_step(self, self->step + 1);
}

/* to a frame of the recording */
static void
on_go_to(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaMusclesPanel *self = PLA_MUSCLES_PANEL(widget);
  set_step(self, PLA_STEP_PLAY);
  pla_tools_seek(pla_document_get_tools(self->document), g_variant_get_int32(param));
}

/* ------------------------------------------------------------------------- update */

static void
offer(PlaMusclesPanel *self, AdwComboRow *row, PlaMotionItem which)
{
  g_auto(GStrv) names = pla_motion_player_list(self->stage, which);
  const char *chosen = pla_motion_player_get_name(self->stage, which);
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
  const PlaMotionItem which = row == self->bodies  ? PLA_MOTION_MUSCLES
                              : row == self->takes ? PLA_MOTION_MARKERS
                                                   : PLA_MOTION_TRACK;
  pla_motion_player_choose(self->stage, which, gtk_string_object_get_string(name));
}

static void
on_by_place(PlaMusclesPanel *self)
{
  pla_motion_player_set_by_geometry(self->stage, pla_verb_values_get_bool(self->fit, "label"));
}

/* another case, or none */
static void
on_case(PlaMusclesPanel *self)
{
  const gboolean open = pla_document_get_session(self->document) != NULL;
  gtk_widget_set_visible(self->nothing, !open);
  gtk_widget_set_visible(self->stepper, open);
  gtk_widget_set_visible(GTK_WIDGET(self->pages), open);
  pla_muscles_update_actions(self);
}

static void
on_changed(PlaMusclesPanel *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->stage);
  offer(self, self->bodies, PLA_MOTION_MUSCLES);
  offer(self, self->takes, PLA_MOTION_MARKERS);
  offer(self, self->tracks, PLA_MOTION_TRACK);
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
  pla_muscles_say(self, text);
}

/* --------------------------------------------------------------------------- type */

PlaMotionPlayer *
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
  for (int i = 0; id == PROP_STEP && self->document && i < PLA_N_STEPS; i++)
    if (g_strcmp0(g_value_get_string(value), steps[i]) == 0)
      set_step(self, (PlaMusclesStep)i);
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
  g_clear_object(&self->build);
  g_clear_object(&self->record);
  g_clear_object(&self->fit);
  g_clear_object(&self->shapes);
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
  gtk_widget_class_install_action(widget, "muscles.build", NULL, pla_muscles_on_build);
  gtk_widget_class_install_action(widget, "muscles.relax", NULL, on_relax);
  gtk_widget_class_install_action(widget, "muscles.express", "s", on_express);
  gtk_widget_class_install_action(widget, "muscles.keep", NULL, pla_muscles_on_keep);
  gtk_widget_class_install_action(widget, "muscles.record", NULL, pla_muscles_on_record);
  gtk_widget_class_install_action(widget, "muscles.fit", NULL, pla_muscles_on_fit);
  gtk_widget_class_install_action(widget, "muscles.animate", NULL, pla_muscles_on_animate);
  gtk_widget_class_install_action(widget, "muscles.find-phonemes", NULL, on_find_phonemes);
  gtk_widget_class_install_action(widget, "muscles.read-phonemes", NULL, on_read_phonemes);
  gtk_widget_class_install_action(widget, "muscles.say", NULL, pla_muscles_on_say);
  gtk_widget_class_install_action(widget, "muscles.cancel", NULL, pla_muscles_on_cancel);
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
  pla_muscles_bind_rows(self);
  adw_combo_row_set_selected(self->detail, 1);
}

GtkWidget *
pla_muscles_panel_new(PlaDocument *document)
{
  PlaMusclesPanel *self = g_object_new(PLA_TYPE_MUSCLES_PANEL, NULL);
  self->document = g_object_ref(document);
  self->stage = pla_motion_player_new(document);
  self->curves = pla_muscle_curves_new(self->stage, self->curve, self->curve_place);
  pla_muscle_pose_set_stage(self->pose, self->stage);
  pla_muscle_speech_set_player(self->speech, self->stage);
  g_signal_connect_object(self->speech, "failed", G_CALLBACK(on_speech_failed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->speech, "changed", G_CALLBACK(pla_muscles_update_actions), self,
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
  g_signal_connect_object(self->build, "changed::phantom", G_CALLBACK(pla_muscles_show_cost), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->detail, "notify::selected", G_CALLBACK(pla_muscles_show_cost),
                           self);
  g_signal_connect_object(self->fit, "changed::label", G_CALLBACK(on_by_place), self,
                          G_CONNECT_SWAPPED);
  GtkSwitch *const layers[] = { self->see_muscles, self->see_markers, self->see_misfits };
  for (size_t i = 0; i < G_N_ELEMENTS(layers); i++)
    g_signal_connect_swapped(layers[i], "notify::active", G_CALLBACK(on_layers), self);
  g_signal_connect(self, "map", G_CALLBACK(show_step), NULL);
  g_signal_connect(self, "unmap", G_CALLBACK(show_step), NULL);
  gtk_widget_set_visible(self->working, FALSE);
  pla_muscles_say(self, NULL);
  pla_muscles_show_cost(self);
  on_changed(self);
  return GTK_WIDGET(self);
}

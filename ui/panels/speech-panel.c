/* What is shown of a recording and of its motion, and the operation "speak" that makes it. */
#include "ui/panels/speech-private.h"

#include "app/base/quantity.h"
#include "app/speech/speech-facts.h"
#include "app/speech/spoken-picture.h"
#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

G_DEFINE_FINAL_TYPE(PlaSpeechPanel, pla_speech_panel, ADW_TYPE_BIN)

void
pla_speech_show_failure(PlaSpeechPanel *self, const char *sentence)
{
  gtk_label_set_label(self->failure, sentence ? sentence : "");
  gtk_widget_set_visible(self->failure_box, sentence && *sentence);
}

void
pla_speech_on_done(gpointer owner, const char *failure)
{
  PlaSpeechPanel *self = owner;
  self->moving = FALSE;
  pla_speech_show_failure(self, failure);
  pla_speech_update(self);
}

/* ---------------------------------------------------------------------- motion */

void
pla_speech_panel_set_cell(PlaSpeechPanel *self, double cell_mm)
{
  if (cell_mm > 0.0)
    pla_verb_values_set_number(self->speak, "cell_mm", cell_mm);
  else
    pla_verb_values_unset(self->speak, "cell_mm");
  pla_speech_playback_set_cell(self->playback, cell_mm);
}

static void
on_move(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  if (!u)
    return;
  pla_speech_show_failure(self, NULL);
  pla_verb_values_set_text(self->speak, "item", u->name);
  self->moving = pla_document_run_for(self->document, _("Moving the tongue"), self->speak,
                                      pla_speech_on_done, G_OBJECT(self));
  pla_speech_update(self);
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
  pla_speech_playback_set_playing(self->playback, !pla_speech_playback_get_playing(self->playback));
}

static void
on_loop(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  pla_speech_playback_set_loop(self->playback, !pla_speech_playback_get_loop(self->playback));
}

static void
on_pace(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaSpeechPanel *self = PLA_SPEECH_PANEL(widget);
  const char *name = g_variant_get_string(param, NULL);
  const double speed = strcmp(name, "half") == 0 ? 0.5 : strcmp(name, "quarter") == 0 ? 0.25 : 1.0;
  pla_speech_playback_set_speed(self->playback, speed);
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
  pla_speech_playback_set_beside(self->playback, gtk_switch_get_active(self->beside));
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
    pla_speech_playback_set_muscles_wanted(self->playback, gtk_switch_get_active(self->muscles));
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
  const char *note;
  for (int i = 0; u && u->spoken && (note = pla_spoken_get_note(u->spoken, i)); i++)
    if (!strstr(text->str, note))
      g_string_append_printf(text, "%s%s", text->len ? "\n" : "", note);
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
  const PlaTongueActivations *found = pla_speech_playback_get_muscles(self->playback);
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  if (!found || !u || !u->spoken) {
    set_text(self->explained, pla_speech_playback_get_muscles_wanted(self->playback)
                                  ? _("What the muscles do is being found.")
                                  : NULL);
    return;
  }
  const int frame = pla_spoken_frame_at(u->spoken, pla_speech_playback_get_time(self->playback));
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
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  show_muscles(self);
  if (!u || !u->spoken) {
    set_text(self->facts, NULL);
    return;
  }
  const int frame = pla_spoken_frame_at(u->spoken, pla_speech_playback_get_time(self->playback));
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
  if (pla_speech_playback_get_playing(self->playback) && now - self->told_us < G_USEC_PER_SEC / 4)
    return;
  self->told_us = now;
  show_moment(self);
}

static void
show_pair(PlaSpeechPanel *self)
{
  const PlaUtterance *a = pla_speech_playback_get_shown(self->playback),
                     *b = pla_speech_playback_get_other(self->playback);
  const PlaSpokenPair *pair = pla_speech_playback_get_pair(self->playback);
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

void
pla_speech_update(PlaSpeechPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback);
  const gboolean busy = pla_document_get_busy(self->document), writable = session != NULL;
  gtk_widget_set_visible(self->nothing, session == NULL);
  gtk_widget_set_visible(self->body, session != NULL);
  gtk_widget_set_visible(self->move_group, u != NULL);
  const gboolean moved = u && u->spoken;
  gtk_widget_set_visible(self->look_group, moved);
  gtk_widget_set_visible(self->compare_group,
                         moved && pla_speech_playback_get_names(self->playback)[1]);
  gtk_widget_set_visible(self->save_group, moved);
  gtk_button_set_label(self->record, self->listening ? _("_Stop") : _("_Record"));
  gtk_widget_set_visible(GTK_WIDGET(self->level), self->listening != NULL);
  GtkWidget *widget = GTK_WIDGET(self);
  gtk_widget_action_set_enabled(widget, "speech.record", writable);
  gtk_widget_action_set_enabled(widget, "speech.open", writable);
  gtk_widget_action_set_enabled(widget, "speech.say", writable && !busy);
  gtk_widget_action_set_enabled(widget, "speech.move", u && !busy && !self->moving);
  gtk_widget_action_set_enabled(widget, "speech.play", u != NULL);
  const gboolean found = pla_speech_playback_get_muscles(self->playback) != NULL;
  gtk_widget_action_set_enabled(widget, "speech.activations", found);
  adw_action_row_set_subtitle(self->activations_row,
                              found ? _("How active, over time") : _("Show them first, in step 3"));
  static const char *const of_motion[] = { "speech.cut", "speech.muscles", "speech.beside",
                                           "speech.table", "speech.video" };
  for (size_t i = 0; i < G_N_ELEMENTS(of_motion); i++)
    gtk_widget_action_set_enabled(widget, of_motion[i], moved);
  gtk_widget_set_visible(self->heard, u && pla_sound_has_phonemes(u->source));
  if (!busy)
    pla_speech_forget_heard_file(self);
  show_notes(self, u);
  show_pair(self);
}

static void
on_playback_changed(PlaSpeechPanel *self)
{
  const PlaUtterance *u = pla_speech_playback_get_shown(self->playback),
                     *b = pla_speech_playback_get_other(self->playback);
  const char *const *names = pla_speech_playback_get_names(self->playback);
  self->following = TRUE;
  offer(self->recording, names, NULL, u ? u->name : NULL, NULL);
  offer(self->other, names, _("Nothing"), b ? b->name : NULL, u ? u->name : NULL);
  self->following = FALSE;
  if (pla_speech_playback_get_failure(self->playback))
    pla_speech_show_failure(self, pla_speech_playback_get_failure(self->playback));
  if (u && u->spoken && !self->looked && gtk_widget_get_mapped(GTK_WIDGET(self))) {
    self->looked = TRUE;
    on_cut(GTK_WIDGET(self), NULL, NULL);
  }
  pla_speech_update(self);
  show_moment(self);
}

static void
on_muscles_found(PlaSpeechPanel *self)
{
  self->following = TRUE;
  gtk_switch_set_active(self->muscles, pla_speech_playback_get_muscles_wanted(self->playback));
  self->following = FALSE;
  if (pla_speech_playback_get_muscles_failure(self->playback))
    pla_speech_show_failure(self, pla_speech_playback_get_muscles_failure(self->playback));
  pla_speech_update(self);
  show_muscles(self);
}

static void
on_recording(PlaSpeechPanel *self)
{
  if (!self->following)
    pla_speech_playback_show(self->playback, selected_name(self->recording));
}

static void
on_other(PlaSpeechPanel *self)
{
  if (!self->following)
    pla_speech_playback_compare_with(self->playback, adw_combo_row_get_selected(self->other) > 0
                                                         ? selected_name(self->other)
                                                         : NULL);
}

static void
on_reset(PlaSpeechPanel *self)
{
  self->looked = FALSE;
  pla_speech_show_failure(self, NULL);
  pla_speech_update(self);
}

static void
on_map(PlaSpeechPanel *self)
{
  pla_speech_playback_set_active(self->playback, TRUE);
  pla_speech_ask_voices(self);
  on_playback_changed(self);
}

static void
on_unmap(PlaSpeechPanel *self)
{
  pla_speech_playback_set_active(self->playback, FALSE);
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
  pla_speech_forget_heard_file(self);
  g_clear_object(&self->chooser);
  g_clear_pointer(&self->voices, g_free);
  g_clear_pointer(&self->loudness, g_rc_box_release);
  g_clear_object(&self->say);
  g_clear_object(&self->speak);
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
  gtk_widget_class_install_action(widget, "speech.record", NULL, pla_speech_on_record);
  gtk_widget_class_install_action(widget, "speech.open", NULL, pla_speech_on_open);
  gtk_widget_class_install_action(widget, "speech.say", NULL, pla_speech_on_say);
  gtk_widget_class_install_action(widget, "speech.move", NULL, on_move);
  gtk_widget_class_install_action(widget, "speech.cut", NULL, on_cut);
  gtk_widget_class_install_action(widget, "speech.play", NULL, on_play);
  gtk_widget_class_install_action(widget, "speech.loop", NULL, on_loop);
  gtk_widget_class_install_action(widget, "speech.pace", "s", on_pace);
  gtk_widget_class_install_action(widget, "speech.beside", NULL, on_beside_action);
  gtk_widget_class_install_action(widget, "speech.table", NULL, pla_speech_on_table);
  gtk_widget_class_install_action(widget, "speech.muscles", NULL, on_muscles_action);
  gtk_widget_class_install_action(widget, "speech.activations", NULL, pla_speech_on_activations);
  gtk_widget_class_install_action(widget, "speech.video", NULL, pla_speech_on_video);
}

static void
pla_speech_panel_init(PlaSpeechPanel *self)
{
  self->loudness = g_rc_box_new0(gint);
  gtk_widget_init_template(GTK_WIDGET(self));
  self->say = pla_verb_values_new("say");
  self->speak = pla_verb_values_new("speak");
  pla_param_row_bind(self->text, self->say, "text");
  pla_param_row_bind(self->heard, self->speak, "heard");
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
  self->playback = pla_speech_playback_get(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(on_reset), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(pla_speech_update), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(pla_speech_update), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->playback, "changed", G_CALLBACK(on_playback_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->playback, "muscles", G_CALLBACK(on_muscles_found), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(self->playback, "moved", G_CALLBACK(on_moved), self, G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->text, "entry-activated", G_CALLBACK(on_text_entered), self);
  g_signal_connect_swapped(self->recording, "notify::selected", G_CALLBACK(on_recording), self);
  g_signal_connect_swapped(self->other, "notify::selected", G_CALLBACK(on_other), self);
  g_signal_connect_swapped(self->beside, "notify::active", G_CALLBACK(on_beside), self);
  g_signal_connect_swapped(self->muscles, "notify::active", G_CALLBACK(on_muscles), self);
  g_signal_connect(self, "map", G_CALLBACK(on_map), NULL);
  g_signal_connect(self, "unmap", G_CALLBACK(on_unmap), NULL);
  pla_speech_update(self);
  return GTK_WIDGET(self);
}

/* Finds phonemes on a worker, chooses stretches of the fitted tracks for them, and previews the
 * line by blending stored shapes. */
#include "ui/panels/muscle-speech.h"

#include "app/base/quantity.h"
#include "app/content/files.h"
#include "app/motion/case-physemes.h"
#include "app/verbs/verb-lists.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

struct _PlaMuscleSpeech {
  AdwBin parent_instance;
  PlaMotionPlayer *player;
  AdwEntryRow *text;
  AdwComboRow *candidates;
  GtkWidget *lane_group;
  PlaPhonemeLane *lane;
  GtkLabel *learned, *how;
  PlaCasePhysemes *physemes; /* or NULL: not read yet */
  PlaLine *line;             /* or NULL: by rule */
  PlaPhones phones;
  char *name;          /* of what is said */
  GHashTable *choices; /* phoneme of the line -> candidate, by hand */
  PlaActivation rule;  /* by rule, where there is no line */
  double rest_s;       /* by which the rule begins earlier */
  guint serial, physemes_serial;
  gboolean on, following;
};

enum { FAILED, CHANGED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(PlaMuscleSpeech, pla_muscle_speech, ADW_TYPE_BIN)

static PlaDocument *
document_of(PlaMuscleSpeech *self)
{
  return pla_motion_player_get_document(self->player);
}

/* ----------------------------------------------------------------------- preview */

#define RATE_HZ 60.0

/* fills controls, and the shape where it is known without a solve */
static gboolean
show_frame(int frame, double *pos, double *control, gpointer data)
{
  PlaMuscleSpeech *self = data;
  const PlaPerformance *p = pla_motion_player_get(self->player);
  const int n = pla_active_n_controls(p->body->model);
  const double begin = self->phones.n > 0 ? self->phones.phone[0].start_s : 0.0;
  const double time = begin + frame / RATE_HZ;
  pla_phoneme_lane_set_cursor(self->lane, time);
  if (!self->line) {
    const int f = (int)lround((time - begin + self->rest_s) * RATE_HZ);
    if (self->rule.n_frames > 0)
      memcpy(control, self->rule.control + (gsize)n * (gsize)CLAMP(f, 0, self->rule.n_frames - 1),
             (gsize)n * sizeof *control);
    return FALSE;
  }
  /* the library has the units of tracks, in the order of its own names */
  const PlaPhysemeLibrary *library = pla_case_physemes_get_library(self->physemes);
  g_autofree double *value = g_new(double, (gsize)library->n_controls + 1);
  static const char *const jaw[PLA_JAW_DOFS] = { "jaw opening", "jaw slide right",
                                                 "jaw slide left" };
  const int n_muscles = pla_active_n_muscles(p->body->model);
  pla_line_controls(self->line, time, value);
  memset(control, 0, (gsize)n * sizeof *control);
  for (int c = 0; c < library->n_controls; c++) {
    const int m = pla_active_find_muscle(p->body->model, library->control[c]);
    if (m >= 0)
      control[m] = CLAMP(value[c], 0.0, 1.0);
    for (int k = 0; k < PLA_JAW_DOFS && n > n_muscles; k++)
      if (strcmp(library->control[c], jaw[k]) == 0)
        control[n_muscles + k] = value[c] * (k == 0 ? G_PI / 180.0 : 1e-3);
  }
  return pla_case_physemes_shape(self->physemes, self->line, time, p->body->mesh->pos, pos);
}

static void
update_reel(PlaMuscleSpeech *self)
{
  const PlaPhones *phones = &self->phones;
  const double seconds =
      phones->n > 0 ? phones->phone[phones->n - 1].end_s - phones->phone[0].start_s : 0.0;
  const PlaPreview preview = { .title = self->name,
                               .n_frames = (int)floor(seconds * RATE_HZ) + 1,
                               .rate_hz = RATE_HZ,
                               .start_s = phones->n > 0 ? phones->phone[0].start_s : 0.0,
                               .show = show_frame,
                               .data = self };
  pla_motion_player_set_preview(self->player,
                                self->on && phones->n > 0 && pla_motion_player_get(self->player)
                                    ? &preview
                                    : NULL);
}

/* -------------------------------------------------------------------------- line */

static void
fail(PlaMuscleSpeech *self, const char *text)
{
  g_signal_emit(self, signals[FAILED], 0, text);
}

/* candidates of the phoneme that is chosen */
static void
show_candidates(PlaMuscleSpeech *self)
{
  const int at = pla_phoneme_lane_get_selected(self->lane);
  g_autoptr(GtkStringList) list = gtk_string_list_new(NULL);
  int chosen = -1;
  if (self->line && at >= 0 && at < pla_line_count(self->line)) {
    const PlaLinePhone phone = pla_line_get(self->line, at);
    for (int i = 0; i < phone.n_candidates; i++) {
      const PlaPhyseme from =
          pla_physeme_bank_get(pla_case_physemes_get_library(self->physemes)->bank,
                               phone.candidate[i]);
      g_autofree char *when = pla_quantity_text(PLA_QUANTITY_TIME, from.start_s, PLA_UNIT_S);
      g_autofree char *text =
          g_strdup_printf(_("%s, at %s"), pla_case_physemes_get_track(self->physemes, from.take),
                          when);
      gtk_string_list_append(list, text);
      if (phone.candidate[i] == phone.physeme)
        chosen = i;
    }
    g_autofree char *title = g_strdup_printf(_("Taken for “%s”"), phone.label);
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->candidates), title);
  }
  self->following = TRUE;
  adw_combo_row_set_model(self->candidates, G_LIST_MODEL(list));
  if (chosen >= 0)
    adw_combo_row_set_selected(self->candidates, (guint)chosen);
  self->following = FALSE;
  gtk_widget_set_visible(GTK_WIDGET(self->candidates), chosen >= 0);
}

static void
show_learned(PlaMuscleSpeech *self)
{
  const int n = self->physemes ? pla_case_physemes_n_tracks(self->physemes) : 0;
  if (n == 0) {
    gtk_label_set_label(
        self->learned,
        _("No track was learned yet, so the face speaks by rule, roughly. Fit a recording whose "
          "phonemes are known, and the face speaks in its own way."));
    return;
  }
  const PlaPhysemeLibrary *library = pla_case_physemes_get_library(self->physemes);
  g_autoptr(GHashTable) kinds = g_hash_table_new(g_str_hash, g_str_equal);
  const int count = pla_physeme_bank_count(library->bank);
  for (int i = 0; i < count; i++)
    g_hash_table_add(kinds, (gpointer)pla_physeme_bank_get(library->bank, i).label);
  g_autofree char *text =
      g_strdup_printf(_("Learned from %s%s: %d stretches of %u phonemes."),
                      pla_case_physemes_get_track(self->physemes, 0), n > 1 ? _(" and others") : "",
                      count, g_hash_table_size(kinds));
  gtk_label_set_label(self->learned, text);
}

/* by rule, where there are no stretches for these phonemes */
static void
make_rule(PlaMuscleSpeech *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->player);
  PlaPhones shifted = { 0 };
  PlaError err;
  pla_activation_clear(&self->rule);
  self->rest_s = 0.25;
  if (p && pla_perform_phones(p->body, &self->phones, RATE_HZ, self->rest_s, &self->rule, &shifted,
                              &err) != PLA_OK)
    fail(self, err.message);
  pla_phones_clear(&shifted);
}

/* the phonemes as they stand now */
static void
make_line(PlaMuscleSpeech *self)
{
  PlaError err;
  g_clear_pointer(&self->line, pla_line_free);
  const char *how = NULL;
  g_autofree char *why = NULL;
  if (self->phones.n > 0 && self->physemes && pla_case_physemes_n_tracks(self->physemes) > 0) {
    double cost;
    PlaStatus st = pla_line_new(pla_case_physemes_get_library(self->physemes)->bank, &self->phones,
                                &self->line, &err);
    if (st == PLA_OK)
      st = pla_line_choose(self->line, &cost, &err);
    if (st != PLA_OK) {
      g_clear_pointer(&self->line, pla_line_free);
      why = g_strdup_printf(_("%s. It is said by rule instead; record and fit these sounds to hear "
                              "them in the face's own way."),
                            err.message);
      how = why;
    } else {
      how = _("Drag boundaries; click a phoneme to see the stretches that can be used for it.");
    }
  }
  GHashTableIter iter;
  gpointer at, candidate;
  g_hash_table_iter_init(&iter, self->choices);
  while (self->line && g_hash_table_iter_next(&iter, &at, &candidate))
    if (GPOINTER_TO_INT(at) < pla_line_count(self->line) &&
        GPOINTER_TO_INT(candidate) < pla_line_get(self->line, GPOINTER_TO_INT(at)).n_candidates)
      pla_line_set_candidate(self->line, GPOINTER_TO_INT(at), GPOINTER_TO_INT(candidate));
  if (self->phones.n > 0 && !self->line)
    make_rule(self);
  /* gaps became pauses: the lane shows the line's own phonemes */
  if (self->line && pla_line_count(self->line) != self->phones.n) {
    PlaPhones whole = { 0 };
    for (int i = 0; i < pla_line_count(self->line); i++) {
      const PlaLinePhone p = pla_line_get(self->line, i);
      pla_phones_add(&whole, p.start_s, p.end_s, p.label, NULL);
    }
    pla_phones_clear(&self->phones);
    self->phones = whole;
  }
  gtk_label_set_label(self->how,
                      how ? how : _("Said by rule. Drag boundaries to change the times."));
  gtk_widget_set_visible(self->lane_group, self->phones.n > 0);
  pla_phoneme_lane_set(self->lane, &self->phones);
  show_candidates(self);
  update_reel(self);
  g_signal_emit(self, signals[CHANGED], 0);
}

static void
on_boundary(PlaMuscleSpeech *self, int at, double time_s)
{
  const double least = 0.01;
  PlaPhones *phones = &self->phones;
  if (at < 0 || at + 1 >= phones->n)
    return;
  PlaPhone *a = &phones->phone[at], *b = &phones->phone[at + 1];
  const double time = CLAMP(time_s, a->start_s + least, b->end_s - least);
  a->end_s = b->start_s = time;
  if (self->line)
    pla_line_set_boundary(self->line, at, time);
  else
    make_rule(self);
  pla_phoneme_lane_set(self->lane, phones);
  /* the face follows the hand, at the boundary */
  pla_tools_seek(pla_document_get_tools(document_of(self)),
                 (int)lround((time - phones->phone[0].start_s) * RATE_HZ));
  g_signal_emit(self, signals[CHANGED], 0);
}

static void
on_selected(PlaMuscleSpeech *self, int at)
{
  show_candidates(self);
  if (at >= 0 && at < self->phones.n && self->on)
    pla_tools_seek(pla_document_get_tools(document_of(self)),
                   (int)lround(
                       (0.5 * (self->phones.phone[at].start_s + self->phones.phone[at].end_s) -
                        self->phones.phone[0].start_s) *
                       RATE_HZ));
}

static void
on_candidate(PlaMuscleSpeech *self)
{
  const int at = pla_phoneme_lane_get_selected(self->lane);
  const guint which = adw_combo_row_get_selected(self->candidates);
  if (self->following || !self->line || at < 0 || which == GTK_INVALID_LIST_POSITION)
    return;
  pla_line_set_candidate(self->line, at, (int)which);
  g_hash_table_insert(self->choices, GINT_TO_POINTER(at), GINT_TO_POINTER((int)which));
  on_selected(self, at);
  g_signal_emit(self, signals[CHANGED], 0);
}

/* ------------------------------------------------------------------------ reading */

/* what happens on a worker: words or a file become phonemes, tracks of the case a library of
 * physemes */
typedef struct {
  PlaMuscleSpeech *self;
  guint serial;
  char *text, *path; /* to be said; or a file of phonemes, or the case */
  PlaState state;
  int n_verts;
  PlaPhones phones;
  PlaCasePhysemes *physemes;
} Work;

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->self);
  g_free(work->text);
  g_free(work->path);
  pla_state_clear(&work->state);
  pla_phones_clear(&work->phones);
  pla_case_physemes_free(work->physemes);
  g_free(work);
}

static PlaStatus
find_phones(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  if (work->text)
    return pla_phones_from_text(work->text, NULL, &work->phones, NULL, err);
  return pla_phones_read_file(work->path, progress, &work->phones, err);
}

static void
on_phones(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaMuscleSpeech *self = work->self;
  if (!self->player)
    return;
  if (work->serial == self->serial && status == PLA_OK && work->phones.n > 0) {
    pla_phones_clear(&self->phones);
    self->phones = work->phones;
    work->phones = (PlaPhones){ 0 };
    g_free(self->name);
    self->name = work->text ? g_strdup(work->text) : g_path_get_basename(work->path);
    g_hash_table_remove_all(self->choices);
    fail(self, NULL);
    pla_phoneme_lane_select(self->lane, -1);
    make_line(self);
  } else if (work->serial == self->serial && status != PLA_ERR_CANCELLED) {
    fail(self, status == PLA_OK ? _("There is nothing to say in it.") : err->message);
  }
  pla_document_retire_job(document_of(self), job);
}

static Work *
work_new(PlaMuscleSpeech *self)
{
  Work *work = g_new0(Work, 1);
  work->self = g_object_ref(self);
  return work;
}

static void
start(PlaMuscleSpeech *self, const char *title, PlaJobWork func, PlaJobDone done, Work *work)
{
  g_autoptr(PlaJob) job = pla_job_start(title, func, done, work, work_free);
  pla_document_add_job(document_of(self), job);
}

void
pla_muscle_speech_find(PlaMuscleSpeech *self)
{
  g_autofree char *text = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(self->text))));
  if (!*text) {
    fail(self, _("Write what is to be said first."));
    return;
  }
  Work *work = work_new(self);
  work->serial = ++self->serial;
  work->text = g_steal_pointer(&text);
  start(self, _("Finding phonemes"), find_phones, on_phones, work);
}

void
pla_muscle_speech_read(PlaMuscleSpeech *self, const char *path)
{
  Work *work = work_new(self);
  work->serial = ++self->serial;
  work->path = g_strdup(path);
  start(self, _("Reading phonemes"), find_phones, on_phones, work);
}

static PlaStatus
load_physemes(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  return pla_case_physemes_load(work->path, &work->state, work->n_verts, progress, &work->physemes,
                                err);
}

static void
on_physemes(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaMuscleSpeech *self = work->self;
  if (!self->player)
    return;
  if (work->serial == self->physemes_serial) {
    g_clear_pointer(&self->line, pla_line_free);
    g_clear_pointer(&self->physemes, pla_case_physemes_free);
    self->physemes = g_steal_pointer(&work->physemes);
    if (status != PLA_OK && status != PLA_ERR_CANCELLED)
      fail(self, err->message);
    show_learned(self);
    make_line(self);
  }
  pla_document_retire_job(document_of(self), job);
}

/* another body or other tracks: what was learned is read again, once it is looked at */
static void
on_player_changed(PlaMuscleSpeech *self)
{
  const PlaPerformance *p = pla_motion_player_get(self->player);
  PlaSession *session = pla_document_get_session(document_of(self));
  PlaError err;
  self->physemes_serial++;
  if (!p || !session) {
    g_clear_pointer(&self->line, pla_line_free);
    g_clear_pointer(&self->physemes, pla_case_physemes_free);
    show_learned(self);
    return;
  }
  if (!self->on)
    return;
  Work *work = work_new(self);
  work->serial = self->physemes_serial;
  work->path = g_strdup(pla_session_get_path(session));
  work->n_verts = p->body->mesh->n_verts;
  if (pla_state_dup(pla_session_get_state(session), &work->state, &err) != PLA_OK) {
    work_free(work);
    fail(self, err.message);
    return;
  }
  start(self, _("Reading what was said"), load_physemes, on_physemes, work);
}

/* ------------------------------------------------------------------------- public */

void
pla_muscle_speech_set_on(PlaMuscleSpeech *self, gboolean on)
{
  if (on == self->on)
    return;
  self->on = on;
  if (on)
    on_player_changed(self);
  update_reel(self);
}

PlaPhonemeLane *
pla_muscle_speech_get_lane(PlaMuscleSpeech *self)
{
  return self->lane;
}

PlaVerbValues *
pla_muscle_speech_dup_values(PlaMuscleSpeech *self)
{
  if (self->phones.n == 0)
    return NULL;
  PlaVerbValues *values = pla_verb_values_new(self->line ? "say-line" : "perform");
  pla_values_set_phonemes(values, &self->phones);
  pla_verb_values_set_text(values, "name", self->name);
  if (!self->line) {
    pla_verb_values_set_text(values, "muscles",
                             pla_motion_player_get_name(self->player, PLA_MOTION_MUSCLES));
    return values;
  }
  for (int i = 0; i < pla_case_physemes_n_tracks(self->physemes); i++)
    pla_verb_values_add_text(values, "tracks", pla_case_physemes_get_track(self->physemes, i));
  GHashTableIter iter;
  gpointer at, candidate;
  g_hash_table_iter_init(&iter, self->choices);
  while (g_hash_table_iter_next(&iter, &at, &candidate))
    pla_say_line_add_choice(values, GPOINTER_TO_INT(at), GPOINTER_TO_INT(candidate));
  pla_verb_values_set_number(values, "rate_hz", RATE_HZ);
  return values;
}

void
pla_muscle_speech_set_player(PlaMuscleSpeech *self, PlaMotionPlayer *player)
{
  self->player = g_object_ref(player);
  g_signal_connect_object(player, "changed", G_CALLBACK(on_player_changed), self,
                          G_CONNECT_SWAPPED);
}

/* --------------------------------------------------------------------------- type */

static void
pla_muscle_speech_dispose(GObject *object)
{
  PlaMuscleSpeech *self = PLA_MUSCLE_SPEECH(object);
  g_clear_pointer(&self->line, pla_line_free);
  g_clear_pointer(&self->physemes, pla_case_physemes_free);
  pla_phones_clear(&self->phones);
  pla_activation_clear(&self->rule);
  g_clear_pointer(&self->name, g_free);
  g_clear_pointer(&self->choices, g_hash_table_unref);
  g_clear_object(&self->player);
  G_OBJECT_CLASS(pla_muscle_speech_parent_class)->dispose(object);
}

static void
pla_muscle_speech_class_init(PlaMuscleSpeechClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_muscle_speech_dispose;
  signals[FAILED] = g_signal_new("failed", PLA_TYPE_MUSCLE_SPEECH, G_SIGNAL_RUN_LAST, 0, NULL, NULL,
                                 NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
  signals[CHANGED] = g_signal_new("changed", PLA_TYPE_MUSCLE_SPEECH, G_SIGNAL_RUN_LAST, 0, NULL,
                                  NULL, NULL, G_TYPE_NONE, 0);
}

static GtkWidget *
group_new(GtkWidget *box, const char *title, const char *description)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), title);
  adw_preferences_group_set_description(ADW_PREFERENCES_GROUP(group), description);
  gtk_box_append(GTK_BOX(box), group);
  return group;
}

static void
add_button(GtkWidget *box, const char *label, const char *action, gboolean suggested)
{
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(button), action);
  gtk_widget_add_css_class(button, "pill");
  if (suggested)
    gtk_widget_add_css_class(button, "suggested-action");
  gtk_box_append(GTK_BOX(box), button);
}

static GtkLabel *
add_label(GtkWidget *box)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_xalign(GTK_LABEL(label), 0.0f);
  gtk_widget_add_css_class(label, "caption");
  gtk_box_append(GTK_BOX(box), label);
  return GTK_LABEL(label);
}

static void
pla_muscle_speech_init(PlaMuscleSpeech *self)
{
  self->choices = g_hash_table_new(NULL, NULL);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18);
  adw_bin_set_child(ADW_BIN(self), box);
  GtkWidget *words = group_new(
      box, _("Words"),
      _("Phonemes and their times come from eSpeak NG, or from a TextGrid or label file."));
  self->text = ADW_ENTRY_ROW(adw_entry_row_new());
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->text), _("_What is said"));
  adw_preferences_row_set_use_underline(ADW_PREFERENCES_ROW(self->text), TRUE);
  gtk_editable_set_text(GTK_EDITABLE(self->text), _("Cheese"));
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(words), GTK_WIDGET(self->text));
  GtkWidget *under = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_set_margin_top(under, 12);
  self->learned = add_label(under);
  add_button(under, _("Find _Phonemes"), "muscles.find-phonemes", TRUE);
  add_button(under, _("_Read Phonemes…"), "muscles.read-phonemes", FALSE);
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(words), under);

  self->lane_group = group_new(box, _("Phonemes"), NULL);
  GtkWidget *below = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  self->lane = PLA_PHONEME_LANE(pla_phoneme_lane_new());
  gtk_box_append(GTK_BOX(below), GTK_WIDGET(self->lane));
  self->how = add_label(below);
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(self->lane_group), below);
  /* a group has its rows first: what belongs below the lane gets a list of its own */
  GtkWidget *list = adw_preferences_group_new();
  self->candidates = ADW_COMBO_ROW(adw_combo_row_new());
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->candidates), _("Taken from"));
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(list), GTK_WIDGET(self->candidates));
  gtk_box_append(GTK_BOX(below), list);
  GtkWidget *last = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
  gtk_widget_set_margin_top(last, 12);
  add_button(last, _("P_lay the Preview"), "win.play", FALSE);
  add_button(last, _("_Say It"), "muscles.say", TRUE);
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(self->lane_group), last);
  gtk_widget_set_visible(self->lane_group, FALSE);
  gtk_widget_set_visible(GTK_WIDGET(self->candidates), FALSE);
  show_learned(self);
  g_signal_connect_swapped(self->lane, "boundary-moved", G_CALLBACK(on_boundary), self);
  g_signal_connect_swapped(self->lane, "selected", G_CALLBACK(on_selected), self);
  g_signal_connect_swapped(self->candidates, "notify::selected", G_CALLBACK(on_candidate), self);
}

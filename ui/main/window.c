/* The actions of the window: opening, saving and closing cases, undo and redo, views, exports;
 * status line, jobs, welcome page. */
#include "ui/main/window.h"
#include "ui/views/compare-window.h"

#include "anatomy/volume/raycast.h"
#include "app/content/files.h"
#include "app/show/render.h"
#include "ui/document/measure.h"
#include "ui/document/unsaved.h"
#include "ui/main/actions.h"
#include "ui/main/palette.h"
#include "ui/main/workspace.h"
#include "ui/speech/speech-desk.h"
#include "ui/speech/speech-view.h"
#include "ui/views/case-tree.h"
#include "ui/views/export-window.h"
#include "ui/views/export.h"
#include "ui/views/plot-window.h"
#include "ui/views/scene-view.h"
#include "ui/views/slice-view.h"
#include "ui/views/timeline.h"
#include "ui/widgets/explain.h"
#include "ui/widgets/help.h"
#include "ui/widgets/recent.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaWindow {
  AdwApplicationWindow parent_instance;
  GtkLabel *case_title, *case_note, *failure, *status, *status_window, *job_title;
  GtkInfoBar *failure_bar;
  GtkStack *pages;
  AdwViewStack *panels;
  GtkWidget *switcher, *status_bar, *jobs_button, *menu_button, *view_button, *tree_revealer,
      *panel_revealer, *recent_group, *unsaved_group, *history_box, *undo, *redo;
  AdwBin *tree_place;
  GtkGrid *views;
  GtkListBox *jobs, *recent, *unsaved;

  PlaDocument *document;
  GtkWidget *slice[3], *scene;
  GtkWidget *speech_look, *speech_strip; /* beside and below 3-D, where speech is the work */
  GtkFileChooserNative *chooser;
  /* what was asked for while an unsaved case was open, to be done once that is saved or given up */
  void (*next)(struct _PlaWindow *self, const char *path);
  char *next_path;
  PlaMeasure *measure;
  GtkWidget *timeline;
  AdwBin *timeline_place;
  char *first_failure;
};

G_DEFINE_FINAL_TYPE(PlaWindow, pla_window, ADW_TYPE_APPLICATION_WINDOW)

static GActionGroup *
actions(PlaWindow *self)
{
  return G_ACTION_GROUP(self);
}

static void
enable(PlaWindow *self, const char *name, gboolean enabled)
{
  GAction *action = g_action_map_lookup_action(G_ACTION_MAP(self), name);
  g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

/* ------------------------------------------------------------------- status */

static void
show_place(PlaWindow *self, const double ras_mm[3])
{
  g_autofree char *text = pla_document_describe(self->document, ras_mm);
  gtk_label_set_label(self->status, text);
}

static void
on_cursor(PlaWindow *self)
{
  double ras[3];
  pla_document_get_cursor(self->document, ras);
  show_place(self, ras);
}

/* the point under the pointer, or the crosshair again when it has left */
static void
on_hovered(PlaWindow *self, GVariant *place)
{
  if (!place) {
    on_cursor(self);
    return;
  }
  double ras[3];
  g_variant_get(place, "(ddd)", &ras[0], &ras[1], &ras[2]);
  show_place(self, ras);
}

static void
on_slices(PlaWindow *self)
{
  double window[2];
  pla_document_get_window(self->document, window);
  g_autofree char *text = NULL;
  if (pla_document_get_volume(self->document))
    text = g_strdup_printf(_("window %.0f, level %.0f    %s"), window[1] - window[0],
                           0.5 * (window[0] + window[1]),
                           pla_document_get_radiological(self->document) ? _("radiological")
                                                                         : _("neurological"));
  gtk_label_set_label(self->status_window, text ? text : "");
}

static void
on_failed(PlaWindow *self, const char *sentence)
{
  if (!self->first_failure)
    self->first_failure = g_strdup(sentence);
  gtk_label_set_label(self->failure, sentence);
  gtk_info_bar_set_revealed(self->failure_bar, TRUE);
}

static void
on_dismiss(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  gtk_info_bar_set_revealed(self->failure_bar, FALSE);
}

/* --------------------------------------------------------------------- jobs */

static void
on_cancel_job(GtkButton *button, PlaJob *job)
{
  gtk_widget_set_sensitive(GTK_WIDGET(button), FALSE);
  pla_job_cancel(job);
}

static GtkWidget *
job_row(gpointer item, gpointer data)
{
  PlaJob *job = item;
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
  GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
  GtkWidget *title = gtk_label_new(pla_job_get_title(job));
  GtkWidget *phase = gtk_label_new(NULL), *left = gtk_label_new(NULL);
  GtkWidget *bar = gtk_progress_bar_new();
  GtkWidget *cancel = gtk_button_new_from_icon_name("process-stop-symbolic");
  gtk_label_set_xalign(GTK_LABEL(title), 0.0f);
  gtk_label_set_xalign(GTK_LABEL(phase), 0.0f);
  gtk_label_set_xalign(GTK_LABEL(left), 0.0f);
  gtk_widget_add_css_class(phase, "caption");
  gtk_widget_add_css_class(left, "caption");
  gtk_widget_set_size_request(texts, 260, -1);
  for (GtkWidget *const *w = (GtkWidget *[]){ title, phase, bar, left, NULL }; *w; w++)
    gtk_box_append(GTK_BOX(texts), *w);
  g_object_bind_property(job, "phase", phase, "label", G_BINDING_SYNC_CREATE);
  g_object_bind_property(job, "fraction", bar, "fraction", G_BINDING_SYNC_CREATE);
  g_object_bind_property(job, "time-left", left, "label", G_BINDING_SYNC_CREATE);
  gtk_widget_set_valign(cancel, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(cancel, "flat");
  gtk_widget_set_tooltip_text(cancel, _("Cancel"));
  g_autofree char *name = g_strdup_printf(_("Cancel %s"), pla_job_get_title(job));
  gtk_accessible_update_property(GTK_ACCESSIBLE(cancel), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_signal_connect_object(cancel, "clicked", G_CALLBACK(on_cancel_job), job, 0);
  gtk_box_append(GTK_BOX(row), texts);
  gtk_box_append(GTK_BOX(row), cancel);
  gtk_widget_add_css_class(row, "job-row");
  return row;
}

static void show_welcome(PlaWindow *self);

static void
on_busy(PlaWindow *self)
{
  gboolean busy = pla_document_get_busy(self->document);
  gtk_widget_set_visible(self->jobs_button, busy);
  g_autoptr(PlaJob) job = g_list_model_get_item(pla_document_get_jobs(self->document), 0);
  if (job)
    gtk_label_set_label(self->job_title, pla_job_get_title(job));
  /* what could not be opened leaves nothing to look at */
  if (!busy && !pla_document_get_session(self->document) &&
      pla_timeline_n_frames(PLA_TIMELINE(self->timeline)) == 0)
    show_welcome(self);
}

/* ------------------------------------------------------------------ welcome */

static void
on_recent_activated(GtkListBox *box, GtkListBoxRow *row, PlaWindow *self)
{
  pla_window_open(self, g_object_get_data(G_OBJECT(row), "path"));
}

static void
update_recent(PlaWindow *self)
{
  for (GtkWidget *row; (row = gtk_widget_get_first_child(GTK_WIDGET(self->recent)));)
    gtk_list_box_remove(self->recent, row);
  g_auto(GStrv) paths = pla_recent_get();
  for (int i = 0; paths[i]; i++) {
    g_autofree char *name = g_path_get_basename(paths[i]);
    g_autofree char *dir = g_path_get_dirname(paths[i]);
    GtkWidget *row = adw_action_row_new();
    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), name);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), dir);
    gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), TRUE);
    g_object_set_data_full(G_OBJECT(row), "path", g_strdup(paths[i]), g_free);
    gtk_list_box_append(self->recent, row);
  }
  gtk_widget_set_visible(self->recent_group, paths[0] != NULL);
}

static void
on_unsaved_activated(GtkListBox *box, GtkListBoxRow *row, PlaWindow *self)
{
  pla_window_open(self, g_object_get_data(G_OBJECT(row), "path"));
}

static void update_unsaved(PlaWindow *self);

static void
on_discard_response(AdwMessageDialog *dialog, const char *response, PlaWindow *self)
{
  const char *path = g_object_get_data(G_OBJECT(dialog), "path");
  int lock = strcmp(response, "discard") == 0 ? pla_unsaved_lock(path) : -1;
  if (lock >= 0) /* else another window has opened it meanwhile */
    pla_unsaved_discard(path);
  pla_unsaved_unlock(lock);
  update_unsaved(self);
}

static void
on_discard_unsaved(GtkButton *button, PlaWindow *self)
{
  const char *title = g_object_get_data(G_OBJECT(button), "title");
  g_autofree char *heading = g_strdup_printf(_("Discard “%s”?"), title);
  GtkWidget *dialog = adw_message_dialog_new(
      GTK_WINDOW(self), heading,
      _("The unsaved case is deleted with all that was done in it. The file that was opened stays "
        "where it is."));
  adw_message_dialog_add_responses(ADW_MESSAGE_DIALOG(dialog), "cancel", _("_Cancel"), "discard",
                                   _("_Discard"), NULL);
  adw_message_dialog_set_response_appearance(ADW_MESSAGE_DIALOG(dialog), "discard",
                                             ADW_RESPONSE_DESTRUCTIVE);
  g_object_set_data_full(G_OBJECT(dialog), "path",
                         g_strdup(g_object_get_data(G_OBJECT(button), "path")), g_free);
  g_signal_connect_object(dialog, "response", G_CALLBACK(on_discard_response), self, 0);
  gtk_window_present(GTK_WINDOW(dialog));
}

/* what an earlier session left without a name, to go on with or to discard */
static void
update_unsaved(PlaWindow *self)
{
  for (GtkWidget *row; (row = gtk_widget_get_first_child(GTK_WIDGET(self->unsaved)));)
    gtk_list_box_remove(self->unsaved, row);
  g_autoptr(GPtrArray) list = pla_unsaved_list();
  for (guint i = 0; i < list->len; i++) {
    const PlaUnsaved *unsaved = list->pdata[i];
    g_autofree char *age = pla_unsaved_age(unsaved, g_get_real_time() / G_USEC_PER_SEC);
    g_autofree char *title = g_strdup_printf(_("Unsaved: %s"), unsaved->title);
    GtkWidget *row = adw_action_row_new();
    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), age);
    gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), TRUE);
    g_object_set_data_full(G_OBJECT(row), "path", g_strdup(unsaved->path), g_free);
    GtkWidget *discard = gtk_button_new_from_icon_name("user-trash-symbolic");
    g_autofree char *name = g_strdup_printf(_("Discard %s"), unsaved->title);
    gtk_widget_set_tooltip_text(discard, name);
    gtk_accessible_update_property(GTK_ACCESSIBLE(discard), GTK_ACCESSIBLE_PROPERTY_LABEL, name,
                                   -1);
    gtk_widget_set_valign(discard, GTK_ALIGN_CENTER);
    gtk_widget_add_css_class(discard, "flat");
    g_object_set_data_full(G_OBJECT(discard), "path", g_strdup(unsaved->path), g_free);
    g_object_set_data_full(G_OBJECT(discard), "title", g_strdup(unsaved->title), g_free);
    g_signal_connect(discard, "clicked", G_CALLBACK(on_discard_unsaved), self);
    adw_action_row_add_suffix(ADW_ACTION_ROW(row), discard);
    gtk_list_box_append(self->unsaved, row);
  }
  gtk_widget_set_visible(self->unsaved_group, list->len > 0);
}

static void
show_case(PlaWindow *self)
{
  gtk_stack_set_visible_child_name(self->pages, "case");
  gtk_widget_set_visible(self->status_bar, TRUE);
  gtk_widget_set_visible(self->switcher, TRUE);
  gtk_widget_set_visible(self->view_button, TRUE);
  enable(self, "close-case", TRUE);
}

static void
show_welcome(PlaWindow *self)
{
  update_recent(self);
  update_unsaved(self);
  gtk_stack_set_visible_child_name(self->pages, "welcome");
  gtk_widget_set_visible(self->status_bar, FALSE);
  gtk_widget_set_visible(self->switcher, FALSE);
  gtk_widget_set_visible(self->view_button, FALSE);
  enable(self, "close-case", FALSE);
}

static void
on_title(PlaWindow *self)
{
  const char *name = pla_document_get_title(self->document);
  const gboolean unsaved = name && pla_document_get_unsaved(self->document);
  g_autofree char *title = unsaved ? g_strdup_printf(_("%s (unsaved)"), name) : g_strdup(name);
  gtk_label_set_label(self->case_title, name ? name : "");
  gtk_widget_set_tooltip_text(GTK_WIDGET(self->case_title), name);
  gtk_widget_set_visible(GTK_WIDGET(self->case_note), unsaved);
  g_autofree char *window_title =
      title ? g_strdup_printf("%s – Platysma", title) : g_strdup("Platysma");
  gtk_window_set_title(GTK_WINDOW(self), window_title);
}

/* ------------------------------------------------------------ unsaved cases */

/* does what was asked for, if anything was */
static void
go_on(PlaWindow *self)
{
  g_autofree char *path = g_steal_pointer(&self->next_path);
  void (*next)(PlaWindow *, const char *) = self->next;
  self->next = NULL;
  if (next)
    next(self, path);
}

static void
think_again(PlaWindow *self)
{
  self->next = NULL;
  g_clear_pointer(&self->next_path, g_free);
}

static void
on_saved_as(gpointer owner, const char *failure)
{
  PlaWindow *self = owner;
  if (failure) {
    think_again(self);
    if (*failure)
      on_failed(self, failure);
    return;
  }
  pla_recent_add(pla_session_get_path(pla_document_get_session(self->document)));
  go_on(self);
}

void
pla_window_save_as(PlaWindow *self, const char *path)
{
  pla_document_save_as(self->document, path, on_saved_as, G_OBJECT(self));
}

static void
on_save_as_response(GtkNativeDialog *dialog, int response, PlaWindow *self)
{
  g_autofree char *path = NULL;
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    path = file ? g_file_get_path(file) : NULL;
  }
  if (path)
    pla_window_save_as(self, path);
  else
    think_again(self);
  g_clear_object(&self->chooser);
}

static void choose(PlaWindow *self, const char *title, GtkFileChooserAction kind,
                   const char *accept, GCallback on_response);

static void
choose_name(PlaWindow *self)
{
  const char *title = pla_document_get_title(self->document);
  g_autofree char *name = g_strconcat(title && *title ? title : _("case"), ".platysma", NULL);
  choose(self, _("Save Case As"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"),
         G_CALLBACK(on_save_as_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
}

static void
on_save_as(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  if (!pla_document_get_session(self->document))
    return;
  think_again(self);
  choose_name(self);
}

static void
on_leave_response(AdwMessageDialog *dialog, const char *response, PlaWindow *self)
{
  if (strcmp(response, "save") == 0) {
    if (g_object_get_data(G_OBJECT(dialog), "adopt"))
      think_again(self); /* it is the new case */
    choose_name(self);
  } else if (strcmp(response, "discard") == 0) {
    pla_document_forsake(self->document, TRUE);
    go_on(self);
  } else {
    think_again(self);
  }
}

/* Whether @next (with @path, or NULL) has to wait: an unsaved case that holds something is open,
 * and the user is asked what becomes of it.  With @adopt, saving it is all that is wanted. */
static gboolean
ask_first(PlaWindow *self, void (*next)(PlaWindow *self, const char *path), const char *path,
          gboolean adopt)
{
  if (!pla_document_holds_unsaved(self->document))
    return FALSE;
  think_again(self);
  self->next = next;
  self->next_path = g_strdup(path);
  const char *title = pla_document_get_title(self->document);
  g_autofree char *heading = adopt ? g_strdup_printf(_("Make “%s” the New Case?"), title)
                                   : g_strdup_printf(_("Save “%s”?"), title);
  GtkWidget *dialog = adw_message_dialog_new(
      GTK_WINDOW(self), heading,
      adopt
          ? _("What is open is not saved yet. It can become the new case, with everything that was "
              "done. If it is discarded, the new case is empty.")
          : _("This case has no name yet. If it is discarded, everything that was done in it is "
              "lost."));
  AdwMessageDialog *ask = ADW_MESSAGE_DIALOG(dialog);
  adw_message_dialog_add_responses(ask, "cancel", _("_Cancel"), "discard", _("_Discard"), "save",
                                   adopt ? _("_Keep It…") : _("_Save…"), NULL);
  adw_message_dialog_set_response_appearance(ask, "discard", ADW_RESPONSE_DESTRUCTIVE);
  adw_message_dialog_set_response_appearance(ask, "save", ADW_RESPONSE_SUGGESTED);
  adw_message_dialog_set_default_response(ask, "save");
  adw_message_dialog_set_close_response(ask, "cancel");
  g_object_set_data(G_OBJECT(dialog), "adopt", GINT_TO_POINTER(adopt));
  g_signal_connect_object(dialog, "response", G_CALLBACK(on_leave_response), self, 0);
  gtk_window_present(GTK_WINDOW(dialog));
  return TRUE;
}

static void
open_now(PlaWindow *self, const char *path)
{
  /* unsaved cases have a list of their own */
  if (!pla_unsaved_is(path))
    pla_recent_add(path);
  if (g_str_has_suffix(path, ".pvd")) {
    show_case(self);
    /* without a scan there are no slices to show */
    if (!pla_document_get_volume(self->document))
      g_action_group_activate_action(actions(self), "layout", g_variant_new_string("scene"));
    pla_timeline_open(PLA_TIMELINE(self->timeline), path);
    return;
  }
  pla_document_open(self->document, path);
  if (pla_document_get_busy(self->document))
    show_case(self);
}

void
pla_window_open(PlaWindow *self, const char *path)
{
  /* a scan goes into the case that is open; a case takes its place */
  if (!g_str_has_suffix(path, ".platysma") || !ask_first(self, open_now, path, FALSE))
    open_now(self, path);
}

void
pla_window_create(PlaWindow *self, const char *path)
{
  show_case(self);
  pla_document_create(self->document, path);
  if (pla_document_get_session(self->document))
    pla_recent_add(path);
  on_busy(self);
}

/* undo and redo name the operation */
static void
on_history(PlaWindow *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  gboolean can_undo = FALSE, can_redo = FALSE;
  g_autofree char *undo_title = NULL, *redo_title = NULL;
  if (session)
    g_object_get(session, "can-undo", &can_undo, "can-redo", &can_redo, "undo-title", &undo_title,
                 "redo-title", &redo_title, NULL);
  enable(self, "undo", can_undo);
  enable(self, "redo", can_redo);
  gtk_widget_set_visible(self->history_box, session != NULL);
  static const char *const of_case[] = { "save-as",       "measure", "plots",
                                         "compare-plans", "export",  "save-picture" };
  for (size_t i = 0; i < G_N_ELEMENTS(of_case); i++)
    enable(self, of_case[i], session != NULL);
  g_autofree char *undo = g_strdup_printf(_("Undo %s (Ctrl+Z)"), can_undo ? undo_title : "");
  g_autofree char *redo = g_strdup_printf(_("Redo %s (Ctrl+Shift+Z)"), can_redo ? redo_title : "");
  gtk_widget_set_tooltip_text(self->undo, undo);
  gtk_widget_set_tooltip_text(self->redo, redo);
}

static void
open_demo_now(PlaWindow *self, const char *path)
{
  show_case(self);
  pla_document_open_demo(self->document);
}

void
pla_window_open_demo(PlaWindow *self)
{
  if (!ask_first(self, open_demo_now, NULL, FALSE))
    open_demo_now(self, NULL);
}

/* ------------------------------------------------------------------ actions */

static void
on_open_response(GtkNativeDialog *dialog, int response, PlaWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_window_open(self, path);
  }
  g_clear_object(&self->chooser);
}

/* every format that the command line knows */
static void
add_filters(GtkFileChooser *chooser)
{
  GtkFileFilter *known = gtk_file_filter_new();
  gtk_file_filter_set_name(known, _("Cases, scans, tissues and meshes"));
  gtk_file_filter_add_suffix(known, "platysma");
  gtk_file_filter_add_suffix(known, "pvd");
  g_auto(GStrv) endings = pla_file_endings(PLA_FILES_SHAPES);
  for (char **ending = endings; *ending; ending++)
    gtk_file_filter_add_suffix(known, *ending);
  GtkFileFilter *all = gtk_file_filter_new();
  gtk_file_filter_set_name(all, _("All files"));
  gtk_file_filter_add_pattern(all, "*");
  gtk_file_chooser_add_filter(chooser, known);
  gtk_file_chooser_add_filter(chooser, all);
  g_object_unref(known);
  g_object_unref(all);
}

static void
choose(PlaWindow *self, const char *title, GtkFileChooserAction kind, const char *accept,
       GCallback on_response)
{
  g_clear_object(&self->chooser);
  self->chooser = gtk_file_chooser_native_new(title, GTK_WINDOW(self), kind, accept, _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  g_signal_connect(self->chooser, "response", on_response, self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

static void
on_open(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  choose(self, _("Open"), GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"), G_CALLBACK(on_open_response));
  add_filters(GTK_FILE_CHOOSER(self->chooser));
}

static void
on_open_folder(GSimpleAction *action, GVariant *param, gpointer data)
{
  choose(data, _("Open a DICOM Folder"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER, _("_Open"),
         G_CALLBACK(on_open_response));
}

static void
on_open_demo(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_window_open_demo(data);
}

static void
close_case_now(PlaWindow *self, const char *path)
{
  gtk_info_bar_set_revealed(self->failure_bar, FALSE);
  pla_document_close(self->document);
  show_welcome(self);
}

static void
on_close_case(GSimpleAction *action, GVariant *param, gpointer data)
{
  if (!ask_first(data, close_case_now, NULL, FALSE))
    close_case_now(data, NULL);
}

static void
on_undo(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_document_undo(((PlaWindow *)data)->document);
}

static void
on_redo(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_document_redo(((PlaWindow *)data)->document);
}

static void
on_new_response(GtkNativeDialog *dialog, int response, PlaWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_window_create(self, path);
  } else {
    pla_document_forsake(self->document, FALSE); /* thought better of it */
  }
  g_clear_object(&self->chooser);
}

static void
choose_new_case(PlaWindow *self, const char *path)
{
  choose(self, _("New Case"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Create"),
         G_CALLBACK(on_new_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), _("case.platysma"));
}

static void
on_new_case(GSimpleAction *action, GVariant *param, gpointer data)
{
  if (!ask_first(data, choose_new_case, NULL, TRUE))
    choose_new_case(data, NULL);
}

static void
on_forget_recent(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_recent_forget();
  update_recent(data);
}

static void
on_save_response(GtkNativeDialog *dialog, int response, PlaWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    PlaError err;
    int scale = gtk_widget_get_scale_factor(self->scene);
    if (path &&
        pla_scene_view_save(PLA_SCENE_VIEW(self->scene),
                            2 * scale * gtk_widget_get_width(self->scene),
                            2 * scale * gtk_widget_get_height(self->scene), path, &err) != PLA_OK)
      on_failed(self, err.message);
  }
  g_clear_object(&self->chooser);
}

static void
on_save_picture(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  choose(self, _("Save 3-D Picture"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"),
         G_CALLBACK(on_save_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), "platysma.png");
}

static void
on_fit(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  for (int axis = 0; axis < 3; axis++)
    pla_slice_view_fit(PLA_SLICE_VIEW(self->slice[axis]));
  pla_scene_view_look(PLA_SCENE_VIEW(self->scene), PLA_VIEW_THREE_QUARTER);
}

static void
on_look(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  PlaViewPreset preset;
  if (pla_view_preset_from_name(g_variant_get_string(param, NULL), &preset))
    pla_scene_view_look(PLA_SCENE_VIEW(self->scene), preset);
}

static void
on_grey_window(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  int n;
  const PlaWindowPreset *presets = pla_window_presets_get(&n);
  for (int i = 0; i < n; i++)
    if (strcmp(presets[i].id, g_variant_get_string(param, NULL)) == 0)
      pla_document_set_window(self->document, presets[i].lo, presets[i].hi);
}

static const char *const layouts[] = { "sagittal", "coronal", "axial", "scene" };

/* axial and sagittal above, coronal and 3-D below; or 3-D large, the slices in a column beside it;
 * or 3-D above the sound */
typedef enum { PLACED_FOUR, PLACED_LARGE, PLACED_SPEECH, PLACED_SILENCE } Placed;

static void
place_views(PlaWindow *self, Placed how)
{
  enum { N = 6 };
  /* the grid makes room for hidden ones too: they lie under others */
  static const struct {
    int x, y, w, h;
  } places[][N] = {
    { { 1, 0, 1, 1 },
      { 0, 1, 1, 1 },
      { 0, 0, 1, 1 },
      { 1, 1, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
    { { 2, 1, 1, 1 },
      { 2, 2, 1, 1 },
      { 2, 0, 1, 1 },
      { 0, 0, 2, 3 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
    { { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 5 },
      { 1, 0, 1, 5 },
      { 0, 5, 2, 4 } },
    { { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 },
      { 0, 0, 1, 1 } },
  };
  GtkWidget *const view[N] = { self->slice[0], self->slice[1],    self->slice[2],
                               self->scene,    self->speech_look, self->speech_strip };
  GtkLayoutManager *grid = gtk_widget_get_layout_manager(GTK_WIDGET(self->views));
  for (int v = 0; v < N; v++)
    g_object_set(gtk_layout_manager_get_layout_child(grid, view[v]), "column", places[how][v].x,
                 "row", places[how][v].y, "column-span", places[how][v].w, "row-span",
                 places[how][v].h, NULL);
}

/* Where speech is the work: what was said lies beside and below 3-D, as soon as there is something.
 */
static void
place_speech(PlaWindow *self)
{
  const gboolean said = pla_speech_desk_get_shown(pla_speech_desk_get(self->document)) != NULL;
  gtk_widget_set_visible(self->speech_look, said);
  gtk_widget_set_visible(self->speech_strip, said);
  place_views(self, said ? PLACED_SPEECH : PLACED_SILENCE);
}

static void
on_speech_changed(PlaWindow *self)
{
  g_autoptr(GVariant) layout = g_action_group_get_action_state(G_ACTION_GROUP(self), "layout");
  if (strcmp(g_variant_get_string(layout, NULL), "speech") == 0)
    place_speech(self);
}

static void
change_layout(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *name = g_variant_get_string(state, NULL);
  const gboolean large = strcmp(name, "large") == 0, four = large || strcmp(name, "four") == 0,
                 speech = strcmp(name, "speech") == 0;
  GtkWidget *const view[4] = { self->slice[0], self->slice[1], self->slice[2], self->scene };
  gboolean known = four || speech;
  for (int v = 0; v < 4; v++)
    known = known || strcmp(name, layouts[v]) == 0;
  if (!known)
    return;
  for (int v = 0; v < 4; v++)
    gtk_widget_set_visible(view[v], four || strcmp(name, layouts[v]) == 0 ||
                                        (speech && view[v] == self->scene));
  if (speech) {
    place_speech(self);
  } else {
    gtk_widget_set_visible(self->speech_look, FALSE);
    gtk_widget_set_visible(self->speech_strip, FALSE);
    place_views(self, large ? PLACED_LARGE : PLACED_FOUR);
  }
  g_simple_action_set_state(action, state);
}

static void
change_convention(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *name = g_variant_get_string(state, NULL);
  if (strcmp(name, "radiological") != 0 && strcmp(name, "neurological") != 0)
    return;
  pla_document_set_radiological(self->document, strcmp(name, "radiological") == 0);
  g_simple_action_set_state(action, state);
  g_settings_set_string(pla_settings_get(), "convention", name);
}

static void
change_workspace(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *id = g_variant_get_string(state, NULL);
  const PlaWorkspace *to = pla_workspace_find(id);
  g_autoptr(GVariant) before = g_action_get_state(G_ACTION(action));
  const PlaWorkspace *from = pla_workspace_find(g_variant_get_string(before, NULL));
  if (!to)
    return;
  adw_view_stack_set_visible_child_name(self->panels, id);
  g_simple_action_set_state(action, state);
  if (from != to)
    pla_tools_set(pla_document_get_tools(self->document), PLA_TOOL_NONE, NULL, NULL);
  /* a layout that the user chose stays until the work asks for another */
  if (from && strcmp(from->layout, to->layout) != 0)
    g_action_group_change_action_state(actions(self), "layout", g_variant_new_string(to->layout));
}

static void
change_smooth(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  pla_document_set_linear(self->document, g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
  g_settings_set_boolean(pla_settings_get(), "smooth", g_variant_get_boolean(state));
}

static void
change_slices_in_space(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  pla_scene_view_set_slices(PLA_SCENE_VIEW(self->scene), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

static void
change_cut_away(GSimpleAction *action, GVariant *state, gpointer data)
{
  static const char *const sides[] = { "left", "right", "front", "back", "above", "below", NULL };
  PlaWindow *self = data;
  const char *side = g_variant_get_string(state, NULL);
  if (!g_strv_contains(sides, side) && strcmp(side, "none") != 0)
    return;
  pla_scene_view_set_clip(PLA_SCENE_VIEW(self->scene), strcmp(side, "none") != 0 ? side : NULL);
  g_simple_action_set_state(action, state);
}

static void
change_volume(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  const char *preset = g_variant_get_string(state, NULL);
  const gboolean none = strcmp(preset, "none") == 0;
  if (!none && !pla_transfer_find(preset))
    return;
  pla_scene_view_set_volume(PLA_SCENE_VIEW(self->scene), none ? NULL : preset);
  g_simple_action_set_state(action, state);
}

static void
change_show_tree(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  gtk_revealer_set_reveal_child(GTK_REVEALER(self->tree_revealer), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

static void
change_show_panel(GSimpleAction *action, GVariant *state, gpointer data)
{
  PlaWindow *self = data;
  gtk_revealer_set_reveal_child(GTK_REVEALER(self->panel_revealer), g_variant_get_boolean(state));
  g_simple_action_set_state(action, state);
}

/* any row of the table of actions; those of a panel show it first */
void
pla_window_activate(PlaWindow *self, const char *detailed)
{
  g_autofree char *name = NULL;
  g_autoptr(GVariant) target = NULL;
  if (!g_action_parse_detailed_name(detailed, &name, &target, NULL))
    return;
  g_autofree char *prefix = g_strndup(name, strcspn(name, "."));
  GtkWidget *from = GTK_WIDGET(self);
  if (pla_window_set_workspace(self, prefix))
    from = adw_view_stack_get_child_by_name(self->panels, prefix);
  gtk_widget_activate_action_variant(from, name, target);
}

/* The keys of a panel's actions: from anywhere in the window while the panel is shown.  The
 * application's own accelerators look for actions from the window up, where those of panels are
 * not. */
static gboolean
on_panel_key(GtkWidget *widget, GVariant *args, gpointer data)
{
  PlaWindow *self = PLA_WINDOW(widget);
  const PlaActionInfo *info = data;
  const char *page = gtk_stack_get_visible_child_name(self->pages);
  const char *shown = adw_view_stack_get_visible_child_name(self->panels);
  if (g_strcmp0(page, "case") != 0 ||
      g_strcmp0(shown, pla_action_get_workspace(info->action)->id) != 0)
    return FALSE;
  pla_window_activate(self, info->action);
  return TRUE;
}

static void
add_panel_keys(PlaWindow *self)
{
  int n;
  const PlaActionInfo *table = pla_actions_get(&n);
  GtkEventController *keys = gtk_shortcut_controller_new();
  gtk_shortcut_controller_set_scope(GTK_SHORTCUT_CONTROLLER(keys), GTK_SHORTCUT_SCOPE_GLOBAL);
  for (int i = 0; i < n; i++)
    if (table[i].accel && pla_action_get_workspace(table[i].action))
      gtk_shortcut_controller_add_shortcut(
          GTK_SHORTCUT_CONTROLLER(keys),
          gtk_shortcut_new(gtk_shortcut_trigger_parse_string(table[i].accel),
                           gtk_callback_action_new(on_panel_key, (gpointer)&table[i], NULL)));
  gtk_widget_add_controller(GTK_WIDGET(self), keys);
}

static void
on_palette_chosen(const char *detailed, gpointer data)
{
  pla_window_activate(data, detailed);
}

static void
on_palette(GSimpleAction *action, GVariant *param, gpointer data)
{
  gtk_window_present(GTK_WINDOW(pla_palette_new(data, on_palette_chosen, data)));
}

static void
on_shortcuts(GSimpleAction *action, GVariant *param, gpointer data)
{
  gtk_window_present(GTK_WINDOW(pla_shortcuts_window_new(data)));
}

static void
on_measure(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  pla_measure_begin(self->measure, g_variant_get_string(param, NULL));
}

static void
on_plots(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  gtk_window_present(GTK_WINDOW(pla_plot_window_new(GTK_WINDOW(self), self->document)));
}

static void
on_compare_plans(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  if (pla_document_get_session(self->document))
    gtk_window_present(GTK_WINDOW(
        pla_compare_window_new(GTK_WINDOW(self), self->document, PLA_SCENE_VIEW(self->scene))));
}

static void
on_export(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  gtk_window_present(
      GTK_WINDOW(pla_export_window_new(GTK_WINDOW(self), self->document,
                                       PLA_SCENE_VIEW(self->scene), PLA_TIMELINE(self->timeline))));
}

static void
on_play(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaTimeline *timeline = PLA_TIMELINE(((PlaWindow *)data)->timeline);
  pla_timeline_set_playing(timeline, !pla_timeline_get_playing(timeline));
}

/* the page of the workspace, or the first one */
static void
show_help(PlaWindow *self, const char *id)
{
  GtkWidget *help = pla_help_new(GTK_WINDOW(self), on_palette_chosen, self);
  pla_help_show(PLA_HELP(help), id);
  gtk_window_present(GTK_WINDOW(help));
}

static void
on_help(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  const char *workspace = adw_view_stack_get_visible_child_name(self->panels);
  const char *page = gtk_stack_get_visible_child_name(self->pages);
  show_help(self, g_strcmp0(page, "case") == 0 && workspace ? workspace : "first-steps");
}

static void
on_tutorials(GSimpleAction *action, GVariant *param, gpointer data)
{
  show_help(data, "tutorial-scan");
}

static const GActionEntry action_entries[] = {
  { "export", on_export, NULL, NULL, NULL },
  { "play", on_play, NULL, NULL, NULL },
  { "help", on_help, NULL, NULL, NULL },
  { "tutorials", on_tutorials, NULL, NULL, NULL },
  { "plots", on_plots, NULL, NULL, NULL },
  { "compare-plans", on_compare_plans, NULL, NULL, NULL },
  { "measure", on_measure, "s", NULL, NULL },
  { "palette", on_palette, NULL, NULL, NULL },
  { "show-help-overlay", on_shortcuts, NULL, NULL, NULL },
  { "open", on_open, NULL, NULL, NULL },
  { "undo", on_undo, NULL, NULL, NULL },
  { "redo", on_redo, NULL, NULL, NULL },
  { "new-case", on_new_case, NULL, NULL, NULL },
  { "save-as", on_save_as, NULL, NULL, NULL },
  { "open-folder", on_open_folder, NULL, NULL, NULL },
  { "open-demo", on_open_demo, NULL, NULL, NULL },
  { "close-case", on_close_case, NULL, NULL, NULL },
  { "dismiss", on_dismiss, NULL, NULL, NULL },
  { "forget-recent", on_forget_recent, NULL, NULL, NULL },
  { "save-picture", on_save_picture, NULL, NULL, NULL },
  { "fit", on_fit, NULL, NULL, NULL },
  { "look", on_look, "s", NULL, NULL },
  { "grey-window", on_grey_window, "s", NULL, NULL },
  { "layout", NULL, "s", "'four'", change_layout },
  { "convention", NULL, "s", "'radiological'", change_convention },
  { "workspace", NULL, "s", "'import'", change_workspace },
  { "smooth", NULL, NULL, "true", change_smooth },
  { "slices-in-space", NULL, NULL, "false", change_slices_in_space },
  { "volume", NULL, "s", "'none'", change_volume },
  { "cut-away", NULL, "s", "'none'", change_cut_away },
  { "show-tree", NULL, NULL, "true", change_show_tree },
  { "show-panel", NULL, NULL, "true", change_show_panel },
};

static void
on_panel_switched(PlaWindow *self)
{
  const char *id = adw_view_stack_get_visible_child_name(self->panels);
  if (id)
    g_action_group_change_action_state(actions(self), "workspace", g_variant_new_string(id));
}

gboolean
pla_window_set_workspace(PlaWindow *self, const char *id)
{
  if (!pla_workspace_find(id))
    return FALSE;
  g_action_group_change_action_state(actions(self), "workspace", g_variant_new_string(id));
  return TRUE;
}

static gboolean
on_drop(GtkDropTarget *target, const GValue *value, double x, double y, PlaWindow *self)
{
  for (GSList *l = gdk_file_list_get_files(g_value_get_boxed(value)); l; l = l->next) {
    g_autofree char *path = g_file_get_path(l->data);
    if (path)
      pla_window_open(self, path);
  }
  return TRUE;
}

/* --------------------------------------------------------------- screenshot */

gboolean
pla_window_is_settled(PlaWindow *self)
{
  return !pla_document_get_busy(self->document) &&
         pla_scene_view_is_settled(PLA_SCENE_VIEW(self->scene));
}

const char *
pla_window_get_failure(PlaWindow *self)
{
  return self->first_failure;
}

PlaStatus
pla_window_save(PlaWindow *self, const char *path, PlaError *err)
{
  return pla_widget_save(GTK_WIDGET(self), path, err);
}

/* --------------------------------------------------------------------- type */

PlaDocument *
pla_window_get_document(PlaWindow *self)
{
  return self->document;
}

GtkWidget *
pla_window_get_slice(PlaWindow *self, int axis)
{
  return self->slice[axis];
}

GtkWidget *
pla_window_get_scene(PlaWindow *self)
{
  return self->scene;
}

GtkWidget *
pla_window_get_timeline(PlaWindow *self)
{
  return self->timeline;
}

GtkWidget *
pla_window_get_panel(PlaWindow *self, const char *workspace)
{
  return adw_view_stack_get_child_by_name(self->panels, workspace);
}

static void
on_dark(PlaWindow *self)
{
  pla_scene_view_set_dark(PLA_SCENE_VIEW(self->scene),
                          adw_style_manager_get_dark(adw_style_manager_get_default()));
}

static void
pla_window_dispose(GObject *object)
{
  PlaWindow *self = PLA_WINDOW(object);
  if (self->document) {
    g_signal_handlers_disconnect_by_data(self->document, self);
    pla_document_close(self->document);
  }
  g_clear_object(&self->chooser);
  g_clear_object(&self->measure);
  g_clear_object(&self->document);
  g_clear_pointer(&self->first_failure, g_free);
  think_again(self);
  G_OBJECT_CLASS(pla_window_parent_class)->dispose(object);
}

static void
pla_window_class_init(PlaWindowClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_window_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget, "/org/platysma/Platysma/main/window.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaWindow, NAME)
  CHILD(case_title);
  CHILD(case_note);
  CHILD(failure);
  CHILD(failure_bar);
  CHILD(jobs);
  CHILD(jobs_button);
  CHILD(menu_button);
  CHILD(job_title);
  CHILD(history_box);
  CHILD(undo);
  CHILD(redo);
  CHILD(pages);
  CHILD(panel_revealer);
  CHILD(panels);
  CHILD(recent);
  CHILD(recent_group);
  CHILD(status);
  CHILD(status_bar);
  CHILD(status_window);
  CHILD(switcher);
  CHILD(timeline_place);
  CHILD(tree_place);
  CHILD(tree_revealer);
  CHILD(unsaved);
  CHILD(unsaved_group);
  CHILD(view_button);
  CHILD(views);
#undef CHILD
}

static void
fill_menus(PlaWindow *self)
{
  g_autoptr(GMenuModel) main_menu = pla_actions_menu_new(PLA_MENU_MAIN);
  g_autoptr(GMenuModel) view_menu = pla_actions_menu_new(PLA_MENU_VIEW);
  gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(self->menu_button), main_menu);
  gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(self->view_button), view_menu);
}

/* preferences that are actions of the window too: either changes the other */
static void
on_setting(PlaWindow *self, const char *key)
{
  GSettings *settings = pla_settings_get();
  g_autoptr(GVariant) value = NULL;
  const char *action = key;
  if (g_str_equal(key, "convention"))
    value = g_variant_ref_sink(g_variant_new_take_string(g_settings_get_string(settings, key)));
  else if (g_str_equal(key, "smooth"))
    value = g_variant_ref_sink(g_variant_new_boolean(g_settings_get_boolean(settings, key)));
  if (!value)
    return;
  g_autoptr(GVariant) now = g_action_group_get_action_state(actions(self), action);
  if (!g_variant_equal(now, value))
    g_action_group_change_action_state(actions(self), action, value);
}

static void
close_window_now(PlaWindow *self, const char *path)
{
  gtk_window_destroy(GTK_WINDOW(self));
}

static gboolean
on_close_request(PlaWindow *self)
{
  int width, height;
  gtk_window_get_default_size(GTK_WINDOW(self), &width, &height);
  g_settings_set(pla_settings_get(), "window-size", "(ii)", width, height);
  g_settings_set_boolean(pla_settings_get(), "window-maximized",
                         gtk_window_is_maximized(GTK_WINDOW(self)));
  return ask_first(self, close_window_now, NULL, FALSE) ? GDK_EVENT_STOP : GDK_EVENT_PROPAGATE;
}

static void
pla_window_init(PlaWindow *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  g_action_map_add_action_entries(G_ACTION_MAP(self), action_entries, G_N_ELEMENTS(action_entries),
                                  self);
  fill_menus(self);
  add_panel_keys(self);
  self->document = pla_document_new();
  self->measure = pla_measure_new(self->document, GTK_WINDOW(self));

  /* axial and sagittal above, coronal and 3-D below */
  for (int axis = 0; axis < 3; axis++) {
    self->slice[axis] = pla_slice_view_new(self->document, (PlaAxis)axis);
    g_signal_connect_swapped(self->slice[axis], "hovered", G_CALLBACK(on_hovered), self);
  }
  self->scene = pla_scene_view_new(self->document);
  g_signal_connect_swapped(self->scene, "hovered", G_CALLBACK(on_hovered), self);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_AXIAL], 0, 0, 1, 1);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_SAGITTAL], 1, 0, 1, 1);
  gtk_grid_attach(self->views, self->slice[PLA_AXIS_CORONAL], 0, 1, 1, 1);
  gtk_grid_attach(self->views, self->scene, 1, 1, 1, 1);
  self->speech_look = pla_speech_look_new(self->document);
  self->speech_strip = pla_speech_strip_new(self->document);
  gtk_grid_attach(self->views, self->speech_look, 1, 0, 1, 5);
  gtk_grid_attach(self->views, self->speech_strip, 0, 5, 2, 4);
  gtk_widget_set_visible(self->speech_look, FALSE);
  gtk_widget_set_visible(self->speech_strip, FALSE);
  place_views(self, PLACED_FOUR);
  g_signal_connect_object(pla_speech_desk_get(self->document), "changed",
                          G_CALLBACK(on_speech_changed), self, G_CONNECT_SWAPPED);
  adw_bin_set_child(self->tree_place, pla_case_tree_new(self->document));
  self->timeline = pla_timeline_new(self->document);
  adw_bin_set_child(self->timeline_place, self->timeline);

  int n;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n);
  for (int i = 0; i < n; i++) {
    GtkWidget *panel = workspaces[i].create(self->document);
    pla_explain_follow(panel);
    AdwViewStackPage *page =
        adw_view_stack_add_titled(self->panels, panel, workspaces[i].id, _(workspaces[i].title));
    adw_view_stack_page_set_icon_name(page, workspaces[i].icon);
  }
  g_signal_connect_object(self->panels, "notify::visible-child", G_CALLBACK(on_panel_switched),
                          self, G_CONNECT_SWAPPED);

  gtk_list_box_bind_model(self->jobs, pla_document_get_jobs(self->document), job_row, self, NULL);
  g_signal_connect(self->recent, "row-activated", G_CALLBACK(on_recent_activated), self);
  g_signal_connect(self->unsaved, "row-activated", G_CALLBACK(on_unsaved_activated), self);
  g_signal_connect_swapped(self->document, "cursor-changed", G_CALLBACK(on_cursor), self);
  g_signal_connect_swapped(self->document, "slices-changed", G_CALLBACK(on_slices), self);
  g_signal_connect_swapped(self->document, "history-changed", G_CALLBACK(on_history), self);
  g_signal_connect_swapped(self->document, "failed", G_CALLBACK(on_failed), self);
  g_signal_connect_swapped(self->document, "notify::busy", G_CALLBACK(on_busy), self);
  g_signal_connect_swapped(self->document, "notify::title", G_CALLBACK(on_title), self);
  g_signal_connect_object(adw_style_manager_get_default(), "notify::dark", G_CALLBACK(on_dark),
                          self, G_CONNECT_SWAPPED);
  GtkDropTarget *drop = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
  g_signal_connect(drop, "drop", G_CALLBACK(on_drop), self);
  gtk_widget_add_controller(GTK_WIDGET(self), GTK_EVENT_CONTROLLER(drop));
  GSettings *settings = pla_settings_get();
  g_signal_connect_object(settings, "changed", G_CALLBACK(on_setting), self, G_CONNECT_SWAPPED);
  on_setting(self, "convention");
  on_setting(self, "smooth");
  g_signal_connect(self, "close-request", G_CALLBACK(on_close_request), NULL);
  /* pictures of patients are not mirrored with the direction of writing */
  gtk_widget_set_direction(GTK_WIDGET(self->views), GTK_TEXT_DIR_LTR);
  g_signal_connect_swapped(self, "map", G_CALLBACK(pla_scene_view_warm_up), self->scene);
  on_dark(self);
  on_history(self);
  show_welcome(self);
}

GtkWidget *
pla_window_new(AdwApplication *application)
{
  return g_object_new(PLA_TYPE_WINDOW, "application", application, NULL);
}

/* Cases in the window: the welcome page, opening and making, saving under a name, what becomes of
 * an unsaved one, undo and redo. */
#include "ui/main/window-private.h"

#include "app/content/files.h"
#include "ui/document/unsaved.h"
#include "ui/views/timeline.h"
#include "ui/widgets/recent.h"

#include <glib/gi18n.h>
#include <string.h>

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
  pla_window_enable(self, "close-case", TRUE);
}

void
pla_window_show_welcome(PlaWindow *self)
{
  update_recent(self);
  update_unsaved(self);
  gtk_stack_set_visible_child_name(self->pages, "welcome");
  gtk_widget_set_visible(self->status_bar, FALSE);
  gtk_widget_set_visible(self->switcher, FALSE);
  gtk_widget_set_visible(self->view_button, FALSE);
  pla_window_enable(self, "close-case", FALSE);
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

void
pla_window_think_again(PlaWindow *self)
{
  self->next = NULL;
  g_clear_pointer(&self->next_path, g_free);
}

static void
on_saved_as(gpointer owner, const char *failure)
{
  PlaWindow *self = owner;
  if (failure) {
    pla_window_think_again(self);
    if (*failure)
      pla_window_fail(self, failure);
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
    pla_window_think_again(self);
  g_clear_object(&self->chooser);
}

static void
choose_name(PlaWindow *self)
{
  const char *title = pla_document_get_title(self->document);
  g_autofree char *name = g_strconcat(title && *title ? title : _("case"), ".platysma", NULL);
  pla_window_choose(self, _("Save Case As"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"),
                    G_CALLBACK(on_save_as_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
}

static void
on_save_as(GSimpleAction *action, GVariant *param, gpointer data)
{
  PlaWindow *self = data;
  if (!pla_document_get_session(self->document))
    return;
  pla_window_think_again(self);
  choose_name(self);
}

static void
on_leave_response(AdwMessageDialog *dialog, const char *response, PlaWindow *self)
{
  if (strcmp(response, "save") == 0) {
    if (g_object_get_data(G_OBJECT(dialog), "adopt"))
      pla_window_think_again(self); /* it is the new case */
    choose_name(self);
  } else if (strcmp(response, "discard") == 0) {
    pla_document_forsake(self->document, TRUE);
    go_on(self);
  } else {
    pla_window_think_again(self);
  }
}

gboolean
pla_window_ask_first(PlaWindow *self, void (*next)(PlaWindow *self, const char *path),
                     const char *path, gboolean adopt)
{
  if (!pla_document_holds_unsaved(self->document))
    return FALSE;
  pla_window_think_again(self);
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
      g_action_group_activate_action(G_ACTION_GROUP(self), "layout", g_variant_new_string("scene"));
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
  if (!g_str_has_suffix(path, ".platysma") || !pla_window_ask_first(self, open_now, path, FALSE))
    open_now(self, path);
}

void
pla_window_create(PlaWindow *self, const char *path)
{
  show_case(self);
  pla_document_create(self->document, path);
  if (pla_document_get_session(self->document))
    pla_recent_add(path);
  pla_window_on_busy(self);
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
  pla_window_enable(self, "undo", can_undo);
  pla_window_enable(self, "redo", can_redo);
  gtk_widget_set_visible(self->history_box, session != NULL);
  static const char *const of_case[] = { "save-as",       "measure", "plots",
                                         "compare-plans", "export",  "save-picture" };
  for (size_t i = 0; i < G_N_ELEMENTS(of_case); i++)
    pla_window_enable(self, of_case[i], session != NULL);
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
  if (!pla_window_ask_first(self, open_demo_now, NULL, FALSE))
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

void
pla_window_choose(PlaWindow *self, const char *title, GtkFileChooserAction kind, const char *accept,
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
  pla_window_choose(self, _("Open"), GTK_FILE_CHOOSER_ACTION_OPEN, _("_Open"),
                    G_CALLBACK(on_open_response));
  add_filters(GTK_FILE_CHOOSER(self->chooser));
}

static void
on_open_folder(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_window_choose(data, _("Open a DICOM Folder"), GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER,
                    _("_Open"), G_CALLBACK(on_open_response));
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
  pla_window_show_welcome(self);
}

static void
on_close_case(GSimpleAction *action, GVariant *param, gpointer data)
{
  if (!pla_window_ask_first(data, close_case_now, NULL, FALSE))
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
  pla_window_choose(self, _("New Case"), GTK_FILE_CHOOSER_ACTION_SAVE, _("_Create"),
                    G_CALLBACK(on_new_response));
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), _("case.platysma"));
}

static void
on_new_case(GSimpleAction *action, GVariant *param, gpointer data)
{
  if (!pla_window_ask_first(data, choose_new_case, NULL, TRUE))
    choose_new_case(data, NULL);
}

static void
on_forget_recent(GSimpleAction *action, GVariant *param, gpointer data)
{
  pla_recent_forget();
  update_recent(data);
}

static const GActionEntry entries[] = {
  { "open", on_open, NULL, NULL, NULL },
  { "undo", on_undo, NULL, NULL, NULL },
  { "redo", on_redo, NULL, NULL, NULL },
  { "new-case", on_new_case, NULL, NULL, NULL },
  { "save-as", on_save_as, NULL, NULL, NULL },
  { "open-folder", on_open_folder, NULL, NULL, NULL },
  { "open-demo", on_open_demo, NULL, NULL, NULL },
  { "close-case", on_close_case, NULL, NULL, NULL },
  { "forget-recent", on_forget_recent, NULL, NULL, NULL },
};

void
pla_window_add_case_actions(PlaWindow *self)
{
  g_action_map_add_action_entries(G_ACTION_MAP(self), entries, G_N_ELEMENTS(entries), self);
}

void
pla_window_connect_cases(PlaWindow *self)
{
  g_signal_connect(self->recent, "row-activated", G_CALLBACK(on_recent_activated), self);
  g_signal_connect(self->unsaved, "row-activated", G_CALLBACK(on_unsaved_activated), self);
  g_signal_connect_swapped(self->document, "history-changed", G_CALLBACK(on_history), self);
  g_signal_connect_swapped(self->document, "notify::title", G_CALLBACK(on_title), self);
  on_history(self);
}

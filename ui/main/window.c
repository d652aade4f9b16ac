/* The frame of the window: status line, jobs, panels and their keys, help, and the windows that it
 * opens. */
#include "ui/main/window-private.h"

#include "ui/main/actions.h"
#include "ui/main/palette.h"
#include "ui/main/workspace.h"
#include "ui/views/case-tree.h"
#include "ui/views/compare-window.h"
#include "ui/views/export-window.h"
#include "ui/views/export.h"
#include "ui/views/plot-window.h"
#include "ui/views/scene-view.h"
#include "ui/views/timeline.h"
#include "ui/widgets/explain.h"
#include "ui/widgets/help.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <string.h>

G_DEFINE_FINAL_TYPE(PlaWindow, pla_window, ADW_TYPE_APPLICATION_WINDOW)

void
pla_window_enable(PlaWindow *self, const char *name, gboolean enabled)
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

void
pla_window_fail(PlaWindow *self, const char *sentence)
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

void
pla_window_on_busy(PlaWindow *self)
{
  gboolean busy = pla_document_get_busy(self->document);
  gtk_widget_set_visible(self->jobs_button, busy);
  g_autoptr(PlaJob) job = g_list_model_get_item(pla_document_get_jobs(self->document), 0);
  if (job)
    gtk_label_set_label(self->job_title, pla_job_get_title(job));
  /* what could not be opened leaves nothing to look at */
  if (!busy && !pla_document_get_session(self->document) &&
      pla_timeline_n_frames(PLA_TIMELINE(self->timeline)) == 0)
    pla_window_show_welcome(self);
}

/* ------------------------------------------------------------------ actions */

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
  { "dismiss", on_dismiss, NULL, NULL, NULL },
};

static void
on_panel_switched(PlaWindow *self)
{
  const char *id = adw_view_stack_get_visible_child_name(self->panels);
  if (id)
    g_action_group_change_action_state(G_ACTION_GROUP(self), "workspace", g_variant_new_string(id));
}

gboolean
pla_window_set_workspace(PlaWindow *self, const char *id)
{
  if (!pla_workspace_find(id))
    return FALSE;
  g_action_group_change_action_state(G_ACTION_GROUP(self), "workspace", g_variant_new_string(id));
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
pla_window_is_idle(PlaWindow *self)
{
  return !pla_document_get_busy(self->document) &&
         pla_scene_view_is_idle(PLA_SCENE_VIEW(self->scene));
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
  pla_window_think_again(self);
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
  g_autoptr(GVariant) now = g_action_group_get_action_state(G_ACTION_GROUP(self), action);
  if (!g_variant_equal(now, value))
    g_action_group_change_action_state(G_ACTION_GROUP(self), action, value);
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
  return pla_window_ask_first(self, close_window_now, NULL, FALSE) ? GDK_EVENT_STOP
                                                                   : GDK_EVENT_PROPAGATE;
}

static void
pla_window_init(PlaWindow *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  g_action_map_add_action_entries(G_ACTION_MAP(self), action_entries, G_N_ELEMENTS(action_entries),
                                  self);
  pla_window_add_case_actions(self);
  pla_window_add_view_actions(self);
  fill_menus(self);
  add_panel_keys(self);
  self->document = pla_document_new();
  self->measure = pla_measure_new(self->document, GTK_WINDOW(self));

  pla_window_fill_views(self);
  for (int axis = 0; axis < 3; axis++)
    g_signal_connect_swapped(self->slice[axis], "hovered", G_CALLBACK(on_hovered), self);
  g_signal_connect_swapped(self->scene, "hovered", G_CALLBACK(on_hovered), self);
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
  g_signal_connect_swapped(self->document, "cursor-changed", G_CALLBACK(on_cursor), self);
  g_signal_connect_swapped(self->document, "slices-changed", G_CALLBACK(on_slices), self);
  g_signal_connect_swapped(self->document, "failed", G_CALLBACK(pla_window_fail), self);
  g_signal_connect_swapped(self->document, "notify::busy", G_CALLBACK(pla_window_on_busy), self);
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
  g_signal_connect_swapped(self, "map", G_CALLBACK(pla_scene_view_warm_up), self->scene);
  on_dark(self);
  pla_window_connect_cases(self);
  pla_window_show_welcome(self);
}

GtkWidget *
pla_window_new(AdwApplication *application)
{
  return g_object_new(PLA_TYPE_WINDOW, "application", application, NULL);
}

/* Lists the plots that the items of the case offer, shows the chosen one, and saves it. */
#include "ui/views/plot-window.h"

#include <glib/gi18n.h>
#include <string.h>

typedef enum { INTENSITIES, QUALITY, RESIDUALS, TAKE, TRACK } PlotKind;

typedef struct {
  PlotKind kind;
  PlaContent *content; /* NULL: of the scan and the tissues that are shown */
} Choice;

struct _PlaPlotWindow {
  AdwWindow parent_instance;
  PlaDocument *document;
  GtkWidget *view, *drop, *stack;
  GtkStringList *titles;
  GArray *choices; /* of Choice */
  GtkFileChooserNative *chooser;
};

G_DEFINE_FINAL_TYPE(PlaPlotWindow, pla_plot_window, ADW_TYPE_WINDOW)

static void
choice_clear(gpointer data)
{
  Choice *choice = data;
  g_clear_pointer(&choice->content, pla_content_unref);
}

static void
add_choice(PlaPlotWindow *self, PlotKind kind, PlaContent *content, const char *title)
{
  Choice choice = { kind, content ? pla_content_ref(content) : NULL };
  g_array_append_val(self->choices, choice);
  gtk_string_list_append(self->titles, title);
}

/* what the case has that can be drawn; recordings are read here, scans and meshes are at hand */
static void
consider_entry(PlaEntry *entry, gpointer data)
{
  PlaPlotWindow *self = data;
  PlaContent *content = pla_entry_get_content(entry);
  if (pla_entry_get_kind(entry) != PLA_ENTRY_MESH || !content || !content->mesh)
    return;
  if (content->mesh->n_tets > 0) {
    g_autofree char *title = g_strdup_printf(_("Quality of %s"), pla_entry_get_name(entry));
    add_choice(self, QUALITY, content, title);
  }
  PlaPlot *residuals = pla_plot_new_residuals(content);
  if (residuals) {
    g_autofree char *title = g_strdup_printf(_("Residuals of %s"), pla_entry_get_name(entry));
    add_choice(self, RESIDUALS, content, title);
    pla_plot_free(residuals);
  }
}

static void
list_plots(PlaPlotWindow *self)
{
  if (pla_document_get_volume(self->document))
    add_choice(self, INTENSITIES, NULL,
               pla_document_get_labels(self->document) ? _("Values of the scan by tissue")
                                                       : _("Values of the scan"));
  pla_document_foreach(self->document, consider_entry, self);
  PlaSession *session = pla_document_get_session(self->document);
  const PlaState *state = session ? pla_session_get_state(session) : NULL;
  for (int i = 0; state && i < state->n; i++) {
    const gboolean take = strcmp(state->item[i].kind, PLA_ITEM_MARKERS) == 0;
    g_autoptr(PlaContent) content = NULL;
    if ((take || strcmp(state->item[i].kind, PLA_ITEM_TRACK) == 0) &&
        pla_session_load(session, state->item[i].item, NULL, &content, NULL) == PLA_OK)
      add_choice(self, take ? TAKE : TRACK, content, state->item[i].name);
  }
}

static void
on_selected(PlaPlotWindow *self)
{
  const guint i = gtk_drop_down_get_selected(GTK_DROP_DOWN(self->drop));
  PlaPlot *plot = NULL;
  if (i >= self->choices->len)
    return;
  const Choice *choice = &g_array_index(self->choices, Choice, i);
  PlaError err;
  switch (choice->kind) {
  case INTENSITIES:
    pla_plot_new_intensities(pla_document_get_volume(self->document),
                             pla_document_get_labels(self->document), &plot, &err);
    break;
  case QUALITY:
    pla_plot_new_quality(choice->content->mesh, &plot, &err);
    break;
  case RESIDUALS:
    plot = pla_plot_new_residuals(choice->content);
    break;
  case TAKE:
    plot = pla_plot_new_take(choice->content->take);
    break;
  case TRACK:
    plot = pla_plot_new_track(choice->content->track);
    break;
  }
  pla_plot_view_take(PLA_PLOT_VIEW(self->view), plot);
}

int
pla_plot_window_n_plots(PlaPlotWindow *self)
{
  return (int)self->choices->len;
}

PlaPlotView *
pla_plot_window_get_view(PlaPlotWindow *self)
{
  return PLA_PLOT_VIEW(self->view);
}

/* -------------------------------------------------------------------- saving */

PlaStatus
pla_plot_window_save(PlaPlotWindow *self, const char *path, PlaError *err)
{
  const PlaPlot *plot = pla_plot_view_get_plot(PLA_PLOT_VIEW(self->view));
  if (!plot)
    return pla_fail(err, PLA_ERR_EMPTY, "There is no plot to save");
  if (g_str_has_suffix(path, ".csv"))
    return pla_plot_write_csv(plot, path, err);
  if (g_str_has_suffix(path, ".svg"))
    return pla_plot_write_svg(plot, pla_plot_view_get_range(PLA_PLOT_VIEW(self->view)),
                              gtk_widget_get_width(self->view), gtk_widget_get_height(self->view),
                              path, err);
  return pla_fail(err, PLA_ERR_UNSUPPORTED, "%s: plots are saved as .svg or .csv", path);
}

static void
on_save_response(GtkNativeDialog *dialog, int response, PlaPlotWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    PlaError err;
    if (path && pla_plot_window_save(self, path, &err) != PLA_OK)
      g_signal_emit_by_name(self->document, "failed", err.message);
  }
  g_clear_object(&self->chooser);
}

static void
choose(PlaPlotWindow *self, const char *name)
{
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Save the Plot"), GTK_WINDOW(self),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_save_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

static void
on_save_svg(PlaPlotWindow *self)
{
  choose(self, "plot.svg");
}

static void
on_save_csv(PlaPlotWindow *self)
{
  choose(self, "plot.csv");
}

/* ---------------------------------------------------------------------- type */

static void
pla_plot_window_dispose(GObject *object)
{
  PlaPlotWindow *self = PLA_PLOT_WINDOW(object);
  g_clear_object(&self->chooser);
  g_clear_object(&self->titles);
  g_clear_pointer(&self->choices, g_array_unref);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_plot_window_parent_class)->dispose(object);
}

static void
pla_plot_window_class_init(PlaPlotWindowClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_plot_window_dispose;
}

static GtkWidget *
button_new(PlaPlotWindow *self, const char *label, const char *tooltip, GCallback clicked)
{
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  gtk_widget_set_tooltip_text(button, tooltip);
  g_signal_connect_swapped(button, "clicked", clicked, self);
  return button;
}

static void
pla_plot_window_init(PlaPlotWindow *self)
{
  self->choices = g_array_new(FALSE, FALSE, sizeof(Choice));
  g_array_set_clear_func(self->choices, choice_clear);
  self->titles = gtk_string_list_new(NULL);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *bar = adw_header_bar_new();
  self->drop = gtk_drop_down_new(G_LIST_MODEL(g_object_ref(self->titles)), NULL);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->drop), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Plot"), -1);
  adw_header_bar_set_title_widget(ADW_HEADER_BAR(bar), self->drop);
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), button_new(self, _("_CSV…"), _("Save the numbers"),
                                                          G_CALLBACK(on_save_csv)));
  adw_header_bar_pack_end(ADW_HEADER_BAR(bar), button_new(self, _("_SVG…"), _("Save the drawing"),
                                                          G_CALLBACK(on_save_svg)));
  self->view = pla_plot_view_new();
  gtk_widget_set_margin_start(self->view, 6);
  gtk_widget_set_margin_end(self->view, 6);
  gtk_widget_set_margin_bottom(self->view, 6);
  GtkWidget *nothing = adw_status_page_new();
  adw_status_page_set_title(ADW_STATUS_PAGE(nothing), _("Nothing to Plot"));
  adw_status_page_set_description(
      ADW_STATUS_PAGE(nothing),
      _("Scans, meshes of tetrahedra, solutions, markers and tracks have plots."));
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), self->view, "plot");
  gtk_stack_add_named(GTK_STACK(self->stack), nothing, "nothing");
  gtk_widget_set_vexpand(self->stack, TRUE);
  gtk_box_append(GTK_BOX(box), bar);
  gtk_box_append(GTK_BOX(box), self->stack);
  adw_window_set_content(ADW_WINDOW(self), box);
  gtk_window_set_title(GTK_WINDOW(self), _("Plots"));
  gtk_window_set_default_size(GTK_WINDOW(self), 820, 560);
}

GtkWidget *
pla_plot_window_new(GtkWindow *parent, PlaDocument *document)
{
  PlaPlotWindow *self = g_object_new(PLA_TYPE_PLOT_WINDOW, "transient-for", parent, NULL);
  self->document = g_object_ref(document);
  list_plots(self);
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack),
                                   self->choices->len > 0 ? "plot" : "nothing");
  g_signal_connect_swapped(self->drop, "notify::selected", G_CALLBACK(on_selected), self);
  on_selected(self);
  return GTK_WIDGET(self);
}

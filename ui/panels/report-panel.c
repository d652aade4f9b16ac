/* Draws the 3-D pictures one per turn of the main loop, makes the report on a worker with its
 * own session, and shows its pages. */
#include "ui/panels/report-panel.h"

#include "app/report/report.h"
#include "ui/views/report-preview.h"
#include "ui/views/scene-view.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <string.h>

/* of the report's 3-D pictures, pixels */
enum { PICTURE_WIDTH = 1200, PICTURE_HEIGHT = 1000 };

/* sides to look from, and the view as it stands */
enum { AS_SHOWN = PLA_N_VIEWS, N_VIEWS };

static const struct {
  PlaReportSections bit;
  const char *title;
} sections[] = {
  { PLA_REPORT_VIEWS, N_("3-D views") },
  { PLA_REPORT_SLICES, N_("Slices at the crosshair") },
  { PLA_REPORT_TISSUES, N_("Tissues and volumes") },
  { PLA_REPORT_MESHES, N_("Meshes and solutions") },
  { PLA_REPORT_MEASUREMENTS, N_("Measurements") },
  { PLA_REPORT_NOTES, N_("Notes") },
  { PLA_REPORT_PROVENANCE, N_("Provenance") },
  { PLA_REPORT_OPERATIONS, N_("Operations") },
};

static const char *const view_titles[N_VIEWS] = {
  [PLA_VIEW_ANTERIOR] = N_("From the front"),     [PLA_VIEW_POSTERIOR] = N_("From behind"),
  [PLA_VIEW_LEFT] = N_("From the left"),          [PLA_VIEW_RIGHT] = N_("From the right"),
  [PLA_VIEW_SUPERIOR] = N_("From above"),         [PLA_VIEW_INFERIOR] = N_("From below"),
  [PLA_VIEW_THREE_QUARTER] = N_("Three-quarter"), [AS_SHOWN] = N_("As shown now"),
};

/* A report and its pages, shared by the panel and the window that shows them large. */
typedef struct {
  PlaReport *report;
  PlaReportPages *pages;
} Made;

static void
made_clear(gpointer data)
{
  Made *made = data;
  pla_report_pages_free(made->pages);
  pla_report_free(made->report);
}

static void
made_unref(Made *made)
{
  if (made)
    g_atomic_rc_box_release_full(made, made_clear);
}

struct _PlaReportPanel {
  AdwBin parent_instance;
  GtkWidget *nothing, *preview_group, *save_group, *head_group, *section_group, *view_group,
      *page_button;
  GtkLabel *page_label, *saved;
  GtkEditable *heading;
  GtkSwitch *names;
  GtkWidget *preview;
  PlaDocument *document;
  unsigned sections, views; /* chosen */

  Made *made; /* or NULL */
  int page;
  gboolean fresh;   /* made is of the case as it is, with the choices as they are */
  guint later;      /* source id: a report is to be made */
  char *save_to;    /* and then to be written here */
  PlaJob *job;      /* that makes or writes one; or NULL */
  GArray *pictures; /* of PlaReportPicture: views drawn so far */
  int next_view;    /* to be drawn */
  GtkFileChooserNative *chooser;
};

G_DEFINE_FINAL_TYPE(PlaReportPanel, pla_report_panel, ADW_TYPE_BIN)

static PlaPaper
paper(void)
{
  return (PlaPaper)g_settings_get_enum(pla_settings_get(), "paper");
}

/* ---------------------------------------------------------------------- pages */

static void
show_page(PlaReportPanel *self)
{
  const int n = pla_report_panel_n_pages(self);
  self->page = CLAMP(self->page, 0, MAX(n - 1, 0));
  pla_report_preview_set(PLA_REPORT_PREVIEW(self->preview), self->made ? self->made->pages : NULL,
                         self->page, paper());
  g_autofree char *text =
      n > 0 ? g_strdup_printf(_("Page %d of %d"), self->page + 1, n) : g_strdup(_("being made…"));
  gtk_label_set_label(self->page_label, text);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "report.previous", self->page > 0);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "report.next", self->page + 1 < n);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "report.enlarge", n > 0);
}

int
pla_report_panel_n_pages(PlaReportPanel *self)
{
  return self->made ? pla_report_pages_count(self->made->pages) : 0;
}

static void
turn(PlaReportPanel *self, int by)
{
  self->page += by;
  show_page(self);
}

static void
on_previous(GtkWidget *widget, const char *action, GVariant *param)
{
  turn(PLA_REPORT_PANEL(widget), -1);
}

static void
on_next(GtkWidget *widget, const char *action, GVariant *param)
{
  turn(PLA_REPORT_PANEL(widget), 1);
}

/* all pages below each other, in a window that keeps the report it shows */
static void
on_enlarge(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaReportPanel *self = PLA_REPORT_PANEL(widget);
  if (!self->made)
    return;
  GtkWidget *window = adw_window_new();
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18);
  gtk_box_append(GTK_BOX(box), adw_header_bar_new());
  for (int p = 0; p < pla_report_panel_n_pages(self); p++) {
    GtkWidget *page = pla_report_preview_new(paper());
    pla_report_preview_set(PLA_REPORT_PREVIEW(page), self->made->pages, p, paper());
    gtk_box_append(GTK_BOX(column), page);
  }
  gtk_widget_set_margin_top(column, 18);
  gtk_widget_set_margin_bottom(column, 18);
  GtkWidget *clamp = adw_clamp_new();
  adw_clamp_set_maximum_size(ADW_CLAMP(clamp), 860);
  adw_clamp_set_child(ADW_CLAMP(clamp), column);
  GtkWidget *scrolled = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
                                 GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), clamp);
  gtk_widget_set_vexpand(scrolled, TRUE);
  gtk_box_append(GTK_BOX(box), scrolled);
  adw_window_set_content(ADW_WINDOW(window), box);
  g_object_set_data_full(G_OBJECT(window), "made", g_atomic_rc_box_acquire(self->made),
                         (GDestroyNotify)made_unref);
  g_object_set(window, "title", _("Report"), "transient-for", gtk_widget_get_root(widget), NULL);
  gtk_window_set_default_size(GTK_WINDOW(window), 940, 1000);
  gtk_window_present(GTK_WINDOW(window));
}

/* --------------------------------------------------------------------- making */

typedef struct {
  PlaReportPanel *panel;
  char *path, *save_to, *heading; /* of the case; of the report or NULL; may be NULL */
  PlaReportOptions opts;
  double slice_mm[3];
  PlaPaper paper;
  GArray *pictures; /* of PlaReportPicture, owned */
  Made *made;       /* to be written; or the result */
} Work;

static void
pictures_free(GArray *pictures)
{
  for (guint i = 0; pictures && i < pictures->len; i++) {
    PlaReportPicture *picture = &g_array_index(pictures, PlaReportPicture, i);
    cairo_surface_destroy(picture->image);
    g_free(picture->caption);
  }
  g_clear_pointer(&pictures, g_array_unref);
}

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->panel);
  g_free(work->path);
  g_free(work->save_to);
  g_free(work->heading);
  pictures_free(work->pictures);
  made_unref(work->made);
  g_free(work);
}

/* on a worker, with a session of its own: the window's belongs to the main thread */
static PlaStatus
make(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaStatus st = PLA_OK;
  if (!work->made) {
    PlaSession *session = NULL;
    PlaReport *report = NULL;
    st = pla_session_open(work->path, &session, err);
    if (st == PLA_OK)
      st = pla_report_make(session, &work->opts, progress, &report, err);
    g_clear_object(&session);
    if (st == PLA_OK) {
      work->made = g_atomic_rc_box_new0(Made);
      work->made->report = report;
      work->made->pages = pla_report_paginate(report, work->paper);
    }
  }
  if (st == PLA_OK && work->save_to)
    st = g_str_has_suffix(work->save_to, ".html")
             ? pla_report_write_html(work->made->report, work->save_to, err)
             : pla_report_write_pdf(work->made->report, work->paper, work->save_to, NULL, err);
  return st;
}

static void
on_made(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaReportPanel *self = work->panel;
  const gboolean mine = self->job == job;
  if (mine)
    g_clear_object(&self->job);
  if (self->document) {
    if (mine && status == PLA_OK) {
      Made *old = self->made;
      self->made = g_atomic_rc_box_acquire(work->made);
      self->fresh = TRUE;
      show_page(self);
      made_unref(old);
    }
    if (status == PLA_OK && work->save_to) {
      g_autofree char *text = g_strdup_printf(_("Saved as %s"), work->save_to);
      gtk_label_set_label(self->saved, text);
      gtk_widget_set_visible(GTK_WIDGET(self->saved), TRUE);
    }
    if (status != PLA_OK && status != PLA_ERR_CANCELLED) {
      /* said once: the next change of the case or of a choice tries again */
      self->fresh = self->fresh || mine;
      g_signal_emit_by_name(self->document, "failed", err->message);
    }
    pla_document_retire_job(self->document, job);
  }
}

static void
start_work(PlaReportPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  Work *work = g_new0(Work, 1);
  work->panel = g_object_ref(self);
  work->path = g_strdup(pla_session_get_path(session));
  work->save_to = g_steal_pointer(&self->save_to);
  work->paper = paper();
  const char *heading = gtk_editable_get_text(self->heading);
  work->heading = *heading ? g_strdup(heading) : NULL;
  work->opts = pla_report_options_default();
  work->opts.sections = self->sections;
  work->opts.scenes = false; /* views were drawn here, as the user has set them up */
  work->opts.names = gtk_switch_get_active(self->names);
  work->opts.heading = work->heading;
  pla_document_get_cursor(self->document, work->slice_mm);
  work->opts.slice_mm = work->slice_mm;
  work->pictures = g_steal_pointer(&self->pictures);
  if (work->pictures) {
    work->opts.n_pictures = (int)work->pictures->len;
    work->opts.picture = (const PlaReportPicture *)(gpointer)work->pictures->data;
  }
  if (self->fresh && self->made && work->save_to)
    work->made = g_atomic_rc_box_acquire(self->made);
  PlaJob *job = pla_job_start(work->save_to ? _("Saving the report") : _("Making the report"), make,
                              on_made, work, work_free);
  g_set_object(&self->job, job);
  pla_document_add_job(self->document, job);
  g_object_unref(job);
}

/* one view a turn, so that the window stays at hand */
static gboolean
on_draw_view(gpointer data)
{
  PlaReportPanel *self = data;
  PlaSceneView *scene = pla_scene_view_find(GTK_WIDGET(gtk_widget_get_root(GTK_WIDGET(self))));
  const gboolean open = pla_document_get_session(self->document) != NULL; /* or closed meanwhile */
  while (self->next_view < N_VIEWS && !(self->views & 1u << self->next_view))
    self->next_view++;
  if (open && self->next_view < N_VIEWS && (self->sections & PLA_REPORT_VIEWS) && !self->fresh &&
      scene) {
    const int v = self->next_view++;
    PlaViewPreset preset = (PlaViewPreset)v;
    PlaReportPicture picture = { NULL, g_strdup(_(view_titles[v])) };
    PlaError err;
    /* as shown: all that the view shows, never so narrow that it would tower over the others */
    const double shape = (double)MAX(gtk_widget_get_width(GTK_WIDGET(scene)), 1) /
                         MAX(gtk_widget_get_height(GTK_WIDGET(scene)), 1);
    const int width =
        v == AS_SHOWN ? MAX((int)(PICTURE_HEIGHT * MIN(shape, 3.0)), PICTURE_WIDTH) : PICTURE_WIDTH;
    if (pla_scene_view_draw(scene, v == AS_SHOWN ? NULL : &preset, width, PICTURE_HEIGHT,
                            &picture.image, &err) == PLA_OK)
      g_array_append_val(self->pictures, picture);
    else
      g_free(picture.caption);
    return G_SOURCE_CONTINUE;
  }
  self->later = 0;
  PlaJob *drawing = g_object_get_data(G_OBJECT(self), "drawing");
  if (open)
    start_work(self);
  else
    g_clear_pointer(&self->save_to, g_free);
  pla_document_retire_job(self->document, drawing);
  g_object_set_data(G_OBJECT(self), "drawing", NULL);
  return G_SOURCE_REMOVE;
}

/* makes what was asked for, in place of what is being made */
static void
begin(PlaReportPanel *self)
{
  if (!pla_document_get_session(self->document))
    return;
  if (self->job) {
    pla_job_cancel(self->job);
    g_clear_object(&self->job);
  }
  pictures_free(g_steal_pointer(&self->pictures));
  self->pictures = g_array_new(FALSE, FALSE, sizeof(PlaReportPicture));
  self->next_view = 0;
  if (self->later == 0) {
    g_autoptr(GCancellable) none = g_cancellable_new();
    PlaJob *drawing = pla_job_new_watched(_("Drawing the views"), none);
    pla_document_add_job(self->document, drawing);
    g_object_set_data_full(G_OBJECT(self), "drawing", drawing, g_object_unref);
    /* not when idle: drawing comes before that, and may go on and on */
    self->later = g_timeout_add(10, on_draw_view, self);
  }
}

/* once the panel is seen and the case has come to rest */
static void
refresh(PlaReportPanel *self)
{
  gboolean open = pla_document_get_session(self->document) != NULL;
  gtk_widget_set_visible(self->nothing, !open);
  GtkWidget *const groups[] = { self->preview_group, self->save_group, self->head_group,
                                self->section_group, self->view_group };
  for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
    gtk_widget_set_visible(groups[i], open);
  if (open && !self->fresh && self->later == 0 && !self->job &&
      !pla_document_get_busy(self->document) && gtk_widget_get_mapped(GTK_WIDGET(self)))
    begin(self);
}

/* another choice: what is being made is not wanted any more */
static void
renew(PlaReportPanel *self)
{
  self->fresh = FALSE;
  if (self->job) {
    pla_job_cancel(self->job);
    g_clear_object(&self->job);
  }
  refresh(self);
}

/* ---------------------------------------------------------------------- saving */

void
pla_report_panel_save(PlaReportPanel *self, const char *path)
{
  g_free(self->save_to);
  self->save_to = g_strdup(path);
  gtk_widget_set_visible(GTK_WIDGET(self->saved), FALSE);
  begin(self);
}

static void
on_save_response(GtkNativeDialog *dialog, int response, PlaReportPanel *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_report_panel_save(self, path);
  }
  g_clear_object(&self->chooser);
}

static void
choose(PlaReportPanel *self, const char *name)
{
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Save the Report"),
                                  GTK_WINDOW(gtk_widget_get_root(GTK_WIDGET(self))),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _("_Save"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_save_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

static void
on_save_pdf(GtkWidget *widget, const char *action, GVariant *param)
{
  choose(PLA_REPORT_PANEL(widget), _("report.pdf"));
}

static void
on_save_html(GtkWidget *widget, const char *action, GVariant *param)
{
  choose(PLA_REPORT_PANEL(widget), _("report.html"));
}

/* --------------------------------------------------------------------- choices */

static void
on_section(GtkSwitch *control, GParamSpec *spec, PlaReportPanel *self)
{
  const unsigned bit = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(control), "bit"));
  self->sections = gtk_switch_get_active(control) ? self->sections | bit : self->sections & ~bit;
  renew(self);
}

static void
on_view(GtkSwitch *control, GParamSpec *spec, PlaReportPanel *self)
{
  const unsigned bit = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(control), "bit"));
  self->views = gtk_switch_get_active(control) ? self->views | bit : self->views & ~bit;
  renew(self);
}

static void
add_switch(PlaReportPanel *self, GtkWidget *group, const char *title, unsigned bit, gboolean active,
           GCallback changed)
{
  GtkWidget *row = adw_action_row_new(), *control = gtk_switch_new();
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  gtk_switch_set_active(GTK_SWITCH(control), active);
  gtk_widget_set_valign(control, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(control), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  g_object_set_data(G_OBJECT(control), "bit", GUINT_TO_POINTER(bit));
  g_signal_connect(control, "notify::active", changed, self);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), control);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), control);
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(group), row);
}

/* ------------------------------------------------------------------------ type */

static void
pla_report_panel_dispose(GObject *object)
{
  PlaReportPanel *self = PLA_REPORT_PANEL(object);
  g_clear_handle_id(&self->later, g_source_remove);
  if (self->job)
    pla_job_cancel(self->job);
  g_clear_object(&self->job);
  if (self->preview)
    pla_report_preview_set(PLA_REPORT_PREVIEW(self->preview), NULL, 0, PLA_PAPER_A4);
  self->preview = NULL;
  g_clear_pointer(&self->made, made_unref);
  pictures_free(g_steal_pointer(&self->pictures));
  g_clear_pointer(&self->save_to, g_free);
  g_clear_object(&self->chooser);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_report_panel_parent_class)->dispose(object);
}

static void
pla_report_panel_class_init(PlaReportPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_report_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/report-panel.ui");
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaReportPanel, NAME)
  CHILD(head_group);
  CHILD(heading);
  CHILD(names);
  CHILD(nothing);
  CHILD(page_button);
  CHILD(page_label);
  CHILD(preview_group);
  CHILD(save_group);
  CHILD(saved);
  CHILD(section_group);
  CHILD(view_group);
#undef CHILD
  gtk_widget_class_install_action(widget, "report.previous", NULL, on_previous);
  gtk_widget_class_install_action(widget, "report.next", NULL, on_next);
  gtk_widget_class_install_action(widget, "report.enlarge", NULL, on_enlarge);
  gtk_widget_class_install_action(widget, "report.save-pdf", NULL, on_save_pdf);
  gtk_widget_class_install_action(widget, "report.save-html", NULL, on_save_html);
}

static void
pla_report_panel_init(PlaReportPanel *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  self->sections = PLA_REPORT_EVERYTHING;
  self->views = 1u << PLA_VIEW_ANTERIOR | 1u << PLA_VIEW_LEFT | 1u << AS_SHOWN;
  self->preview = pla_report_preview_new(paper());
  gtk_button_set_child(GTK_BUTTON(self->page_button), self->preview);
  for (size_t i = 0; i < G_N_ELEMENTS(sections); i++)
    add_switch(self, self->section_group, _(sections[i].title), sections[i].bit, TRUE,
               G_CALLBACK(on_section));
  for (int v = 0; v < N_VIEWS; v++)
    add_switch(self, self->view_group, _(view_titles[v]), 1u << v, (self->views & 1u << v) != 0,
               G_CALLBACK(on_view));
  g_settings_bind(pla_settings_get(), "report-names", self->names, "active",
                  G_SETTINGS_BIND_DEFAULT);
  g_signal_connect_swapped(self->names, "notify::active", G_CALLBACK(renew), self);
  g_signal_connect_swapped(self->heading, "apply", G_CALLBACK(renew), self);
  g_signal_connect_object(pla_settings_get(), "changed::paper", G_CALLBACK(renew), self,
                          G_CONNECT_SWAPPED);
}

/* another case, or another state of it */
static void
on_history(PlaReportPanel *self)
{
  if (!pla_document_get_session(self->document)) {
    Made *old = g_steal_pointer(&self->made);
    show_page(self);
    made_unref(old);
  }
  renew(self);
}

GtkWidget *
pla_report_panel_new(PlaDocument *document)
{
  PlaReportPanel *self = g_object_new(PLA_TYPE_REPORT_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(on_history), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(refresh), self, G_CONNECT_SWAPPED);
  g_signal_connect(self, "map", G_CALLBACK(refresh), NULL);
  show_page(self);
  refresh(self);
  return GTK_WIDGET(self);
}

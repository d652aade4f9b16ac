/* The export window: checks a surface for printing on a worker, writes tables and meshes on a
 * worker, and pictures on the main thread. */
#include "ui/views/export-window.h"

#include "app/case/case-table.h"
#include "app/content/files.h"
#include "app/show/picture.h"
#include "app/show/print-check.h"
#include "ui/views/export.h"
#include "ui/widgets/settings.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaExportWindow {
  AdwPreferencesWindow parent_instance;
  GtkWindow *parent;
  PlaDocument *document;
  PlaSceneView *scene;
  PlaTimeline *timeline;
  GtkWidget *shape, *check, *save_stl, *motion;
  GtkStringList *shape_names;
  GPtrArray *shapes; /* of PlaContent */
  guint serial;      /* of the newest check */
  GtkFileChooserNative *chooser;
};

G_DEFINE_FINAL_TYPE(PlaExportWindow, pla_export_window, ADW_TYPE_PREFERENCES_WINDOW)

static void
fail(PlaExportWindow *self, const PlaError *err)
{
  g_signal_emit_by_name(self->document, "failed", err->message);
}

/* said where it happened, for a few seconds */
static void
say_saved(PlaExportWindow *self, const char *path)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *text = g_strdup_printf(_("Saved %s"), base);
  adw_preferences_window_add_toast(ADW_PREFERENCES_WINDOW(self), adw_toast_new(text));
}

/* ------------------------------------------------------------------ surfaces */

static void
add_shape(PlaEntry *entry, gpointer data)
{
  PlaExportWindow *self = data;
  PlaContent *content = pla_entry_get_content(entry);
  const PlaMesh *mesh = pla_entry_get_mesh(entry);
  if (!content || !mesh || mesh->n_tris == 0 || mesh->n_tets + mesh->n_hexes > 0)
    return;
  g_ptr_array_add(self->shapes, pla_content_ref(content));
  gtk_string_list_append(self->shape_names, pla_entry_get_name(entry));
}

/* what a worker does with a surface or the case */
typedef struct {
  PlaExportWindow *self;
  guint serial;
  PlaContent *content;
  char *case_path, *path;
  PlaPrintCheck check;
} Work;

static void
work_free(gpointer data)
{
  Work *work = data;
  g_object_unref(work->self);
  g_clear_pointer(&work->content, pla_content_unref);
  g_free(work->case_path);
  g_free(work->path);
  g_free(work);
}

static void
start(PlaExportWindow *self, const char *title, PlaJobWork func, PlaJobDone done, Work *work)
{
  work->self = g_object_ref(self);
  g_autoptr(PlaJob) job = pla_job_start(title, func, done, work, work_free);
  pla_document_add_job(self->document, job);
}

static PlaStatus
check_shape(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  return pla_print_check(work->content->mesh, progress, &work->check, err);
}

static void
on_checked(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaExportWindow *self = work->self;
  if (work->serial == self->serial && self->check) {
    g_autofree char *text =
        status == PLA_OK ? pla_print_check_text(&work->check) : g_strdup(err->message);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(self->check), text);
  }
  pla_document_retire_job(self->document, job);
}

static PlaContent *
chosen(PlaExportWindow *self)
{
  const guint i = adw_combo_row_get_selected(ADW_COMBO_ROW(self->shape));
  return i < self->shapes->len ? self->shapes->pdata[i] : NULL;
}

static void
on_shape(PlaExportWindow *self)
{
  PlaContent *content = chosen(self);
  gtk_widget_set_sensitive(self->save_stl, content != NULL);
  if (!content)
    return;
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->check), _("being checked…"));
  Work *work = g_new0(Work, 1);
  work->serial = ++self->serial;
  work->content = pla_content_ref(content);
  start(self, _("Checking a surface"), check_shape, on_checked, work);
}

const char *
pla_export_window_get_check(PlaExportWindow *self)
{
  const char *text = adw_action_row_get_subtitle(ADW_ACTION_ROW(self->check));
  return g_strcmp0(text, _("being checked…")) == 0 ? NULL : text;
}

static PlaStatus
write_shape(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  return pla_content_write_file(work->content, work->path, progress, err);
}

/* -------------------------------------------------------------------- tables */

static PlaStatus
write_table(gpointer data, PlaProgress *progress, PlaError *err)
{
  Work *work = data;
  PlaSession *session = NULL;
  PlaStatus st = pla_session_open(work->case_path, &session, err);
  if (st == PLA_OK)
    st = pla_table_write_csv(session, work->path, progress, NULL, err);
  g_clear_object(&session);
  return st;
}

static void
on_written(PlaJob *job, gpointer data, PlaStatus status, const PlaError *err)
{
  Work *work = data;
  PlaExportWindow *self = work->self;
  if (status != PLA_OK && status != PLA_ERR_CANCELLED)
    fail(self, err);
  else if (status == PLA_OK)
    say_saved(self, work->path);
  pla_document_retire_job(self->document, job);
}

/* -------------------------------------------------------------------- saving */

static void
save_picture(PlaExportWindow *self, const char *path)
{
  PlaError err;
  if (pla_scene_view_save(self->scene, g_settings_get_int(pla_settings_get(), "picture-width"),
                          g_settings_get_int(pla_settings_get(), "picture-height"), path,
                          &err) == PLA_OK)
    say_saved(self, path);
  else
    fail(self, &err);
}

static void
on_recorded(const char *path, const PlaError *err, gpointer data)
{
  PlaExportWindow *self = data;
  if (err)
    fail(self, err);
  else
    say_saved(self, path);
  g_object_unref(self);
}

void
pla_export_window_save(PlaExportWindow *self, const char *path)
{
  if (g_str_has_suffix(path, ".png")) {
    save_picture(self, path);
  } else if (g_str_has_suffix(path, ".stl") && chosen(self)) {
    Work *work = g_new0(Work, 1);
    work->content = pla_content_ref(chosen(self));
    work->path = g_strdup(path);
    start(self, _("Writing a surface"), write_shape, on_written, work);
  } else if (g_str_has_suffix(path, ".csv")) {
    PlaSession *session = pla_document_get_session(self->document);
    Work *work = g_new0(Work, 1);
    work->case_path = g_strdup(pla_session_get_path(session));
    work->path = g_strdup(path);
    start(self, _("Writing tables"), write_table, on_written, work);
  } else {
    const gboolean turn = adw_combo_row_get_selected(ADW_COMBO_ROW(self->motion)) == 0;
    pla_record(self->document, self->scene, turn ? NULL : self->timeline, path, on_recorded,
               g_object_ref(self));
  }
}

static void
on_save_response(GtkNativeDialog *dialog, int response, PlaExportWindow *self)
{
  if (response == GTK_RESPONSE_ACCEPT) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_export_window_save(self, path);
  }
  g_clear_object(&self->chooser);
}

static void
on_save(GtkButton *button, PlaExportWindow *self)
{
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Export"), GTK_WINDOW(self), GTK_FILE_CHOOSER_ACTION_SAVE,
                                  _("_Save"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser),
                                    g_object_get_data(G_OBJECT(button), "name"));
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_save_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

static void
on_copy(PlaExportWindow *self)
{
  cairo_surface_t *image = NULL;
  PlaError err;
  if (pla_scene_view_draw(self->scene, NULL,
                          g_settings_get_int(pla_settings_get(), "picture-width"),
                          g_settings_get_int(pla_settings_get(), "picture-height"), &image,
                          &err) != PLA_OK) {
    fail(self, &err);
    return;
  }
  g_autoptr(GdkTexture) texture = pla_texture_from_image(image);
  cairo_surface_destroy(image);
  gdk_clipboard_set_texture(gtk_widget_get_clipboard(GTK_WIDGET(self)), texture);
  adw_preferences_window_add_toast(ADW_PREFERENCES_WINDOW(self),
                                   adw_toast_new(_("The picture is in the clipboard")));
}

/* ---------------------------------------------------------------------- type */

static void
pla_export_window_dispose(GObject *object)
{
  PlaExportWindow *self = PLA_EXPORT_WINDOW(object);
  self->check = NULL;
  g_clear_object(&self->chooser);
  g_clear_object(&self->shape_names);
  g_clear_pointer(&self->shapes, g_ptr_array_unref);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_export_window_parent_class)->dispose(object);
}

static void
pla_export_window_class_init(PlaExportWindowClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_export_window_dispose;
}

static GtkWidget *
group_new(AdwPreferencesPage *page, const char *title, const char *description)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), title);
  adw_preferences_group_set_description(ADW_PREFERENCES_GROUP(group), description);
  adw_preferences_page_add(page, ADW_PREFERENCES_GROUP(group));
  return group;
}

static GtkWidget *
row_new(GtkWidget *group, GtkWidget *row, const char *title)
{
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  adw_preferences_row_set_use_underline(ADW_PREFERENCES_ROW(row), TRUE);
  adw_preferences_group_add(ADW_PREFERENCES_GROUP(group), row);
  return row;
}

static void
add_size(GtkWidget *group, const char *key, const char *title, const char *name)
{
  GtkWidget *row = row_new(group, adw_action_row_new(), title);
  GtkWidget *spin = gtk_spin_button_new_with_range(64, 16384, 64);
  gtk_widget_set_valign(spin, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(spin), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_settings_bind(pla_settings_get(), key, gtk_spin_button_get_adjustment(GTK_SPIN_BUTTON(spin)),
                  "value", G_SETTINGS_BIND_DEFAULT);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), spin);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), spin);
}

/* a button at the end of @row that asks where to save; @name is offered */
static GtkWidget *
add_save(PlaExportWindow *self, GtkWidget *row, const char *label, const char *name)
{
  GtkWidget *button = gtk_button_new_with_mnemonic(label);
  gtk_widget_set_valign(button, GTK_ALIGN_CENTER);
  g_object_set_data_full(G_OBJECT(button), "name", g_strdup(name), g_free);
  g_signal_connect(button, "clicked", G_CALLBACK(on_save), self);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), button);
  return button;
}

static void
fill(PlaExportWindow *self)
{
  AdwPreferencesPage *page = ADW_PREFERENCES_PAGE(adw_preferences_page_new());
  GtkWidget *group = group_new(page, _("Picture"), _("The 3-D view as it stands."));
  add_size(group, "picture-width", _("_Width, pixels"), _("Width of the picture in pixels"));
  add_size(group, "picture-height", _("_Height, pixels"), _("Height of the picture in pixels"));
  GtkWidget *row = row_new(group, adw_action_row_new(), _("PNG"));
  GtkWidget *copy = gtk_button_new_with_mnemonic(_("_Copy"));
  gtk_widget_set_valign(copy, GTK_ALIGN_CENTER);
  g_signal_connect_swapped(copy, "clicked", G_CALLBACK(on_copy), self);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), copy);
  add_save(self, row, _("Save _Picture…"), "platysma.png");

  group = group_new(page, _("Surface for printing"),
                    _("STL in millimetres, as printers and planning software read it."));
  self->shape = row_new(group, adw_combo_row_new(), _("_Surface"));
  adw_combo_row_set_model(ADW_COMBO_ROW(self->shape), G_LIST_MODEL(self->shape_names));
  self->check = row_new(group, adw_action_row_new(), _("Check"));
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->check),
                              _("There is no surface: show a tissue, or make one in Anatomy"));
  self->save_stl = add_save(self, self->check, _("Save S_TL…"), "surface.stl");

  group = group_new(page, _("Tables"),
                    _("Volumes of tissues, sizes of meshes, measurements and landmarks."));
  add_save(self, row_new(group, adw_action_row_new(), _("CSV")), _("Save T_ables…"), "case.csv");

  const gboolean video = pla_record_has_video();
  group = group_new(page, _("Video"),
                    video ? _("At the size of the picture above.")
                          : _("At the size of the picture above, as numbered pictures: install "
                              "ffmpeg to make a video of them."));
  self->motion = row_new(group, adw_combo_row_new(), _("_Motion"));
  g_autoptr(GtkStringList) motions = gtk_string_list_new(NULL);
  gtk_string_list_append(motions, _("Once round"));
  if (pla_timeline_n_frames(self->timeline) > 0)
    gtk_string_list_append(motions, _("The recording in the timeline"));
  adw_combo_row_set_model(ADW_COMBO_ROW(self->motion), G_LIST_MODEL(motions));
  add_save(self, row_new(group, adw_action_row_new(), video ? _("MP4") : _("Pictures")),
           _("Save _Video…"), video ? "platysma.mp4" : "platysma-frames");
  adw_preferences_window_add(ADW_PREFERENCES_WINDOW(self), page);
}

static void
pla_export_window_init(PlaExportWindow *self)
{
  self->shapes = g_ptr_array_new_with_free_func((GDestroyNotify)pla_content_unref);
  self->shape_names = gtk_string_list_new(NULL);
}

GtkWidget *
pla_export_window_new(GtkWindow *parent, PlaDocument *document, PlaSceneView *scene,
                      PlaTimeline *timeline)
{
  PlaExportWindow *self = g_object_new(PLA_TYPE_EXPORT_WINDOW, "transient-for", parent, "title",
                                       _("Export"), "search-enabled", FALSE, NULL);
  self->parent = parent;
  self->document = g_object_ref(document);
  self->scene = scene;
  self->timeline = timeline;
  gtk_window_set_default_size(GTK_WINDOW(self), 620, 720);
  pla_document_foreach(document, add_shape, self);
  fill(self);
  g_signal_connect_swapped(self->shape, "notify::selected", G_CALLBACK(on_shape), self);
  on_shape(self);
  return GTK_WIDGET(self);
}

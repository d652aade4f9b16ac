/* Lists the rows of the log with thumbnails drawn on a worker, marks the branch tips, and moves
 * the case to a chosen row. */
#include "ui/panels/history-panel.h"

#include "app/base/quantity.h"
#include "app/show/thumbnail.h"
#include "app/verbs/verb.h"

#include <glib/gi18n.h>
#include <string.h>

enum { THUMB_WIDTH = 72, THUMB_HEIGHT = 54 };

struct _PlaHistoryPanel {
  AdwBin parent_instance;
  GtkListBox *list;
  AdwComboRow *branch;
  GtkEditable *name;
  GtkWidget *groups, *nothing;
  PlaDocument *document;
  GHashTable *pictures; /* operation id -> GdkTexture, or NULL where there is none */
  char *path;           /* of the case that the pictures are of */
  gboolean drawing, following;
  GHashTable *images; /* operation id -> GtkPicture of its row, borrowed */
};

G_DEFINE_FINAL_TYPE(PlaHistoryPanel, pla_history_panel, ADW_TYPE_BIN)

static gpointer
key_of(int64_t operation)
{
  return GSIZE_TO_POINTER((gsize)operation);
}

/* ---------------------------------------------------------------- pictures */

typedef struct {
  char *path;
  GArray *operations; /* of int64_t */
  GPtrArray *pixels;  /* of GBytes, or NULL */
} Drawing;

static void
drawing_free(gpointer data)
{
  Drawing *drawing = data;
  g_free(drawing->path);
  g_array_unref(drawing->operations);
  g_ptr_array_unref(drawing->pixels);
  g_free(drawing);
}

static void
bytes_free(gpointer data)
{
  if (data)
    g_bytes_unref(data);
}

/* the last thing that an operation made or changed */
static GBytes *
draw_operation(PlaStore *store, int64_t operation)
{
  PlaChange *changes = NULL;
  int n = 0;
  PlaError err;
  g_autofree uint32_t *pixel = g_new(uint32_t, 4 * THUMB_WIDTH * THUMB_HEIGHT);
  PlaStatus st = pla_store_read_changes(store, operation, &changes, &n, &err);
  int last = n - 1;
  while (last >= 0 && !changes[last].has)
    last--;
  /* twice the size, for screens of high resolution */
  st = st == PLA_OK && last >= 0 ? pla_thumbnail_make(store, &changes[last].after, 2 * THUMB_WIDTH,
                                                      2 * THUMB_HEIGHT, pixel, &err)
                                 : PLA_ERR_EMPTY;
  free(changes);
  return st == PLA_OK ? g_bytes_new(pixel, 4 * sizeof *pixel * THUMB_WIDTH * THUMB_HEIGHT) : NULL;
}

static void
draw_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  Drawing *drawing = data;
  PlaStore *store = NULL;
  PlaError err;
  PlaStatus st = pla_store_open(drawing->path, &store, &err);
  for (guint i = 0; i < drawing->operations->len; i++)
    g_ptr_array_add(drawing->pixels,
                    st == PLA_OK
                        ? draw_operation(store, g_array_index(drawing->operations, int64_t, i))
                        : NULL);
  pla_store_close(store);
  g_task_return_boolean(task, TRUE);
}

static void draw_missing(PlaHistoryPanel *self);

static void
on_drawn(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaHistoryPanel *self = PLA_HISTORY_PANEL(source);
  Drawing *drawing = g_task_get_task_data(G_TASK(result));
  self->drawing = FALSE;
  if (!self->document || g_strcmp0(drawing->path, self->path) != 0)
    return;
  for (guint i = 0; i < drawing->operations->len; i++) {
    gpointer key = key_of(g_array_index(drawing->operations, int64_t, i));
    GBytes *bytes = drawing->pixels->pdata[i];
    GdkTexture *texture =
        bytes ? gdk_memory_texture_new(2 * THUMB_WIDTH, 2 * THUMB_HEIGHT, GDK_MEMORY_DEFAULT, bytes,
                                       (gsize)8 * THUMB_WIDTH)
              : NULL;
    g_hash_table_insert(self->pictures, key, texture);
    GtkPicture *image = g_hash_table_lookup(self->images, key);
    if (image && texture)
      gtk_picture_set_paintable(image, GDK_PAINTABLE(texture));
  }
  draw_missing(self);
}

static void
draw_missing(PlaHistoryPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  if (!session || self->drawing || !gtk_widget_get_mapped(GTK_WIDGET(self)))
    return;
  Drawing *drawing = g_new0(Drawing, 1);
  drawing->path = g_strdup(self->path);
  drawing->operations = g_array_new(FALSE, FALSE, sizeof(int64_t));
  drawing->pixels = g_ptr_array_new_with_free_func(bytes_free);
  const PlaLog *log = pla_session_get_log(session);
  for (int i = 0; i < log->n; i++)
    if (!g_hash_table_contains(self->pictures, key_of(log->row[i].id)))
      g_array_append_val(drawing->operations, log->row[i].id);
  if (drawing->operations->len == 0) {
    drawing_free(drawing);
    return;
  }
  self->drawing = TRUE;
  g_autoptr(GTask) task = g_task_new(self, NULL, on_drawn, NULL);
  g_task_set_task_data(task, drawing, drawing_free);
  g_task_run_in_thread(task, draw_in_thread);
}

/* --------------------------------------------------------------------- rows */

/* whether @operation is @tip or before it */
static gboolean
leads_to(const PlaLog *log, int64_t operation, int64_t tip)
{
  const PlaLogRow *row = pla_log_find(log, tip);
  while (row && row->id != operation)
    row = pla_log_find(log, row->parent);
  return row != NULL;
}

static GtkWidget *
new_row(PlaHistoryPanel *self, int64_t operation, const char *title, const char *detail,
        const char *when, int depth)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 9);
  GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
  const char *const lines[] = { title, detail, when };
  for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
    if (!lines[i] || !*lines[i])
      continue;
    GtkWidget *label = gtk_label_new(lines[i]);
    gtk_label_set_xalign(GTK_LABEL(label), 0.0f);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    gtk_widget_add_css_class(label, i ? "caption" : "heading");
    if (i)
      gtk_widget_add_css_class(label, "dim-label");
    gtk_box_append(GTK_BOX(texts), label);
  }
  gtk_widget_set_hexpand(texts, TRUE);
  gtk_widget_set_valign(texts, GTK_ALIGN_CENTER);
  GtkWidget *image = gtk_picture_new();
  gtk_widget_set_size_request(image, THUMB_WIDTH, THUMB_HEIGHT);
  gtk_picture_set_can_shrink(GTK_PICTURE(image), TRUE);
  gtk_picture_set_alternative_text(GTK_PICTURE(image), title);
  GdkTexture *texture = g_hash_table_lookup(self->pictures, key_of(operation));
  if (texture)
    gtk_picture_set_paintable(GTK_PICTURE(image), GDK_PAINTABLE(texture));
  g_hash_table_insert(self->images, key_of(operation), image);
  gtk_box_append(GTK_BOX(box), image);
  gtk_box_append(GTK_BOX(box), texts);
  gtk_widget_set_margin_start(box, 6 + 18 * depth);
  gtk_widget_set_margin_end(box, 6);
  gtk_widget_set_margin_top(box, 6);
  gtk_widget_set_margin_bottom(box, 6);
  GtkWidget *row = gtk_list_box_row_new();
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), box);
  g_autofree char *name = g_strdup_printf("%s %s", title, detail ? detail : "");
  gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  g_object_set_data(G_OBJECT(row), "operation", key_of(operation));
  return row;
}

/* the branch whose tip an operation is, or NULL */
static const char *
branch_at(const PlaBranches *branches, int64_t operation)
{
  for (int b = 0; b < branches->n; b++)
    if (branches->branch[b].tip == operation && branches->n > 1)
      return branches->branch[b].name;
  return NULL;
}

static void
fill_list(PlaHistoryPanel *self, PlaSession *session)
{
  const PlaLog *log = pla_session_get_log(session);
  const PlaBranches *branches = pla_session_get_branches(session);
  const PlaBranch *current = &branches->branch[branches->current];
  for (GtkWidget *row; (row = gtk_widget_get_first_child(GTK_WIDGET(self->list)));)
    gtk_list_box_remove(self->list, row);
  g_hash_table_remove_all(self->images);

  GtkWidget *start = new_row(self, 0, _("Empty case"), NULL, NULL, 0);
  gtk_list_box_append(self->list, start);
  if (current->head == 0)
    gtk_list_box_select_row(self->list, GTK_LIST_BOX_ROW(start));
  for (int i = 0; i < log->n; i++) {
    const PlaLogRow *op = &log->row[i];
    const PlaVerb *known = pla_verb_find(op->verb);
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(op->time_ms / 1000);
    g_autofree char *clock = time ? g_date_time_format(time, "%d %b %H:%M") : g_strdup("");
    const char *branch = branch_at(branches, op->id);
    g_autofree char *took =
        pla_quantity_text(PLA_QUANTITY_DURATION, (double)op->duration_ms, PLA_UNIT_MS);
    g_autofree char *when = branch ? g_strdup_printf(_("%s · %s · branch %s"), clock, took, branch)
                                   : g_strdup_printf("%s · %s", clock, took);
    g_autofree char *title =
        known && !known->describe ? g_strdup(_(known->title)) : pla_verb_describe(op);
    g_autofree char *detail = pla_verb_summarise(op);
    const gboolean mine = leads_to(log, op->id, current->tip);
    GtkWidget *row = new_row(self, op->id, title, detail, when, mine ? 0 : 1);
    /* undone, or on another branch */
    if (!mine || !leads_to(log, op->id, current->head))
      gtk_widget_add_css_class(row, "undone");
    gtk_list_box_append(self->list, row);
    if (op->id == current->head)
      gtk_list_box_select_row(self->list, GTK_LIST_BOX_ROW(row));
  }
}

static void
update(PlaHistoryPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  const char *path = session ? pla_session_get_path(session) : NULL;
  gtk_widget_set_visible(self->groups, session != NULL);
  gtk_widget_set_visible(self->nothing, session == NULL);
  if (g_strcmp0(path, self->path) != 0) {
    g_hash_table_remove_all(self->pictures);
    g_free(self->path);
    self->path = g_strdup(path);
  }
  if (!session || !gtk_widget_get_mapped(GTK_WIDGET(self)))
    return;
  self->following = TRUE;
  fill_list(self, session);
  const PlaBranches *branches = pla_session_get_branches(session);
  g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
  for (int b = 0; b < branches->n; b++)
    gtk_string_list_append(names, branches->branch[b].name);
  adw_combo_row_set_model(self->branch, G_LIST_MODEL(names));
  adw_combo_row_set_selected(self->branch, (guint)branches->current);
  self->following = FALSE;
  draw_missing(self);
}

/* ------------------------------------------------------------------ actions */

static void
fail(PlaHistoryPanel *self, const PlaError *err)
{
  g_signal_emit_by_name(self->document, "failed", err->message);
}

static void
on_row_activated(PlaHistoryPanel *self, GtkListBoxRow *row)
{
  pla_document_go_to(self->document,
                     (int64_t)GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(row), "operation")));
}

static void
on_branch(PlaHistoryPanel *self)
{
  PlaSession *session = pla_document_get_session(self->document);
  guint chosen = adw_combo_row_get_selected(self->branch);
  if (self->following || !session || chosen >= (guint)pla_session_get_branches(session)->n)
    return;
  g_autofree char *name = g_strdup(pla_session_get_branches(session)->branch[chosen].name);
  PlaError err;
  if (pla_session_switch_branch(session, name, &err) != PLA_OK)
    fail(self, &err);
}

static void
on_new_branch(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaHistoryPanel *self = PLA_HISTORY_PANEL(widget);
  PlaSession *session = pla_document_get_session(self->document);
  PlaError err;
  g_autofree char *name = g_strstrip(g_strdup(gtk_editable_get_text(self->name)));
  if (!session)
    return;
  if (pla_session_add_branch(session, name, -1, &err) != PLA_OK)
    fail(self, &err);
  else
    gtk_editable_set_text(self->name, "");
}

/* --------------------------------------------------------------------- type */

static void
pla_history_panel_dispose(GObject *object)
{
  PlaHistoryPanel *self = PLA_HISTORY_PANEL(object);
  g_clear_pointer(&self->pictures, g_hash_table_unref);
  g_clear_pointer(&self->images, g_hash_table_unref);
  g_clear_pointer(&self->path, g_free);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_history_panel_parent_class)->dispose(object);
}

static void
pla_history_panel_class_init(PlaHistoryPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_history_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/history-panel.ui");
  gtk_widget_class_bind_template_child(widget, PlaHistoryPanel, list);
  gtk_widget_class_bind_template_child(widget, PlaHistoryPanel, branch);
  gtk_widget_class_bind_template_child(widget, PlaHistoryPanel, name);
  gtk_widget_class_bind_template_child(widget, PlaHistoryPanel, groups);
  gtk_widget_class_bind_template_child(widget, PlaHistoryPanel, nothing);
  gtk_widget_class_install_action(widget, "history.branch", NULL, on_new_branch);
}

static void
unref_texture(gpointer data)
{
  if (data)
    g_object_unref(data);
}

static void
pla_history_panel_init(PlaHistoryPanel *self)
{
  self->pictures = g_hash_table_new_full(NULL, NULL, NULL, unref_texture);
  self->images = g_hash_table_new(NULL, NULL);
  gtk_widget_init_template(GTK_WIDGET(self));
}

GtkWidget *
pla_history_panel_new(PlaDocument *document)
{
  PlaHistoryPanel *self = g_object_new(PLA_TYPE_HISTORY_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "history-changed", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect(self, "map", G_CALLBACK(update), NULL);
  g_signal_connect_swapped(self->list, "row-activated", G_CALLBACK(on_row_activated), self);
  g_signal_connect_swapped(self->branch, "notify::selected", G_CALLBACK(on_branch), self);
  update(self);
  return GTK_WIDGET(self);
}

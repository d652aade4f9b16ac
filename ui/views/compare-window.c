/* Reads the bodies of all branches on a worker, then draws one picture per plan on the main
 * thread, above a grid of numbers. */
#include "ui/views/compare-window.h"

#include "app/surgery/plan-compare.h"

#include <glib/gi18n.h>
#include <string.h>

enum { WIDTH = 420, HEIGHT = 440 };

struct _PlaCompareWindow {
  AdwWindow parent_instance;
  GtkWidget *stack, *grid, *status, *map;
  PlaCamera camera;
  gboolean dark;
  GPtrArray *sides;    /* of PlaPlanSide, or NULL */
  GPtrArray *pictures; /* GtkPicture, borrowed, one a side */
};

G_DEFINE_FINAL_TYPE(PlaCompareWindow, pla_compare_window, ADW_TYPE_WINDOW)

static void
read_in_thread(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
  PlaStore *store = NULL;
  GPtrArray *sides = NULL;
  PlaError err;
  PlaStatus st = pla_store_open(data, &store, &err);
  if (st == PLA_OK)
    st = pla_plan_sides(store, NULL, &sides, &err);
  pla_store_close(store);
  if (st == PLA_OK)
    g_task_return_pointer(task, sides, (GDestroyNotify)g_ptr_array_unref);
  else
    g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_FAILED, "%s", err.message);
}

static GtkWidget *
label_new(const char *text, const char *css, float xalign)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), xalign);
  if (css)
    gtk_widget_add_css_class(label, css);
  return label;
}

/* drawn on the main thread, in a context of its own */
static void
draw(PlaCompareWindow *self)
{
  const gboolean stretch = gtk_switch_get_active(GTK_SWITCH(self->map));
  PlaPictureOptions opts = pla_picture_options_default();
  opts.width = WIDTH;
  opts.height = HEIGHT;
  opts.font_px = 12.0;
  for (int c = 0; c < 3; c++)
    opts.background[c] = self->dark ? 0.16 : 0.95;
  gdk_gl_context_clear_current();
  for (guint i = 0; self->sides && i < self->sides->len; i++) {
    const PlaPlanSide *side = self->sides->pdata[i];
    cairo_surface_t *image = NULL;
    PlaError err;
    if (pla_body_draw(side->body, stretch ? "skin-stretch" : "tissue", &self->camera, &opts, &image,
                      &err) != PLA_OK) {
      gtk_label_set_label(GTK_LABEL(self->status), err.message);
      gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "status");
      return;
    }
    const int stride = cairo_image_surface_get_stride(image);
    g_autoptr(GBytes) bytes =
        g_bytes_new(cairo_image_surface_get_data(image), (gsize)stride * HEIGHT);
    /* cairo leaves the fourth byte of opaque pixels alone */
    g_autoptr(GdkTexture) texture =
        gdk_memory_texture_new(WIDTH, HEIGHT, GDK_MEMORY_DEFAULT, bytes, (gsize)stride);
    gtk_picture_set_paintable(self->pictures->pdata[i], GDK_PAINTABLE(texture));
    cairo_surface_destroy(image);
  }
}

static void
fill(PlaCompareWindow *self)
{
  GtkGrid *grid = GTK_GRID(self->grid);
  int n_lines;
  const PlaPlanLine *lines = pla_plan_lines_get(&n_lines);
  gboolean starred = FALSE;
  for (guint i = 0; i < self->sides->len; i++) {
    const PlaPlanSide *side = self->sides->pdata[i];
    const int column = (int)i + 1;
    const char *name = g_strcmp0(side->name, "before") == 0 ? _("Before") : side->name;
    GtkWidget *picture = gtk_picture_new();
    gtk_picture_set_can_shrink(GTK_PICTURE(picture), TRUE);
    gtk_picture_set_alternative_text(GTK_PICTURE(picture), name);
    gtk_widget_set_size_request(picture, WIDTH / 2, HEIGHT / 2);
    gtk_widget_set_hexpand(picture, TRUE);
    gtk_widget_set_vexpand(picture, TRUE);
    gtk_grid_attach(grid, label_new(name, "title-4", 0.5f), column, 0, 1, 1);
    gtk_grid_attach(grid, picture, column, 1, 1, 1);
    g_ptr_array_add(self->pictures, picture);
    for (int l = 0; l < n_lines; l++) {
      g_autofree char *text = lines[l].text(side);
      starred |= strchr(text, '*') != NULL;
      if (i == 0)
        gtk_grid_attach(grid, label_new(_(lines[l].title), "dim-label", 0.0f), 0, l + 2, 1, 1);
      gtk_grid_attach(grid, label_new(text, "numeric", 0.5f), column, l + 2, 1, 1);
    }
  }
  GtkWidget *note = label_new(_("* not solved since the last step"), "caption", 0.0f);
  gtk_grid_attach(grid, note, 0, n_lines + 2, (int)self->sides->len + 1, 1);
  gtk_widget_set_visible(note, starred);
}

static void
on_read(GObject *source, GAsyncResult *result, gpointer data)
{
  PlaCompareWindow *self = PLA_COMPARE_WINDOW(source);
  g_autoptr(GError) error = NULL;
  self->sides = g_task_propagate_pointer(G_TASK(result), &error);
  if (!self->sides) {
    gtk_label_set_label(GTK_LABEL(self->status), error->message);
    return;
  }
  fill(self);
  draw(self);
  if (gtk_picture_get_paintable(self->pictures->pdata[0]))
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "plans");
}

int
pla_compare_window_n_plans(PlaCompareWindow *self)
{
  return self->sides ? (int)self->sides->len : 0;
}

static void
pla_compare_window_dispose(GObject *object)
{
  PlaCompareWindow *self = PLA_COMPARE_WINDOW(object);
  g_clear_pointer(&self->sides, g_ptr_array_unref);
  g_clear_pointer(&self->pictures, g_ptr_array_unref);
  G_OBJECT_CLASS(pla_compare_window_parent_class)->dispose(object);
}

static void
pla_compare_window_class_init(PlaCompareWindowClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_compare_window_dispose;
}

static void
pla_compare_window_init(PlaCompareWindow *self)
{
  GtkWidget *header = adw_header_bar_new(), *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *name = gtk_label_new_with_mnemonic(_("Map of _stretch"));
  self->pictures = g_ptr_array_new();
  self->map = gtk_switch_new();
  gtk_switch_set_active(GTK_SWITCH(self->map), TRUE);
  gtk_widget_set_valign(self->map, GTK_ALIGN_CENTER);
  gtk_label_set_mnemonic_widget(GTK_LABEL(name), self->map);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->map), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Map of stretch"), -1);
  gtk_box_append(GTK_BOX(row), name);
  gtk_box_append(GTK_BOX(row), self->map);
  adw_header_bar_pack_end(ADW_HEADER_BAR(header), row);
  self->status = gtk_label_new(_("Reading the plans…"));
  gtk_label_set_wrap(GTK_LABEL(self->status), TRUE);
  self->grid = gtk_grid_new();
  gtk_grid_set_column_spacing(GTK_GRID(self->grid), 12);
  gtk_grid_set_row_spacing(GTK_GRID(self->grid), 6);
  gtk_widget_set_margin_start(self->grid, 18);
  gtk_widget_set_margin_end(self->grid, 18);
  gtk_widget_set_margin_top(self->grid, 12);
  gtk_widget_set_margin_bottom(self->grid, 18);
  GtkWidget *scrolled = gtk_scrolled_window_new();
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), self->grid);
  gtk_widget_set_vexpand(scrolled, TRUE);
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), self->status, "status");
  gtk_stack_add_named(GTK_STACK(self->stack), scrolled, "plans");
  gtk_box_append(GTK_BOX(box), header);
  gtk_box_append(GTK_BOX(box), self->stack);
  adw_window_set_content(ADW_WINDOW(self), box);
  gtk_window_set_title(GTK_WINDOW(self), _("Compare Plans"));
  gtk_window_set_default_size(GTK_WINDOW(self), 1100, 760);
  g_signal_connect_swapped(self->map, "notify::active", G_CALLBACK(draw), self);
}

GtkWidget *
pla_compare_window_new(GtkWindow *parent, PlaDocument *document, PlaSceneView *scene)
{
  PlaSession *session = pla_document_get_session(document);
  g_return_val_if_fail(session != NULL, NULL);
  PlaCompareWindow *self = g_object_new(PLA_TYPE_COMPARE_WINDOW, "transient-for", parent, NULL);
  self->camera = *pla_scene_view_get_camera(scene);
  self->dark = adw_style_manager_get_dark(adw_style_manager_get_default());
  g_autoptr(GTask) task = g_task_new(self, NULL, on_read, NULL);
  g_task_set_task_data(task, g_strdup(pla_session_get_path(session)), g_free);
  g_task_run_in_thread(task, read_in_thread);
  return GTK_WIDGET(self);
}

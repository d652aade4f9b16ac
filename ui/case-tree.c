#include "ui/case-tree.h"

#include <glib/gi18n.h>

struct _PlaCaseTree {
  GtkWidget parent_instance;
  GtkListView *list;
  GtkWidget *opacity_box;
  GtkScale *opacity;
  GtkAdjustment *opacity_adjustment;
  PlaDocument *document;
  GtkSingleSelection *selection;
  gboolean following; /* the slider is being set, not dragged */
};

G_DEFINE_FINAL_TYPE(PlaCaseTree, pla_case_tree, GTK_TYPE_WIDGET)

/* a row: name, detail, colour, eye */
typedef struct {
  GtkWidget *expander, *name, *detail, *colour, *eye;
  PlaEntry *entry;   /* borrowed while bound */
  GBinding *binding; /* weak: ends with either side */
} Row;

static void
on_colour_set(GtkColorButton *button, Row *row)
{
  GdkRGBA rgba;
  gtk_color_chooser_get_rgba(GTK_COLOR_CHOOSER(button), &rgba);
  rgba.alpha = pla_entry_get_rgba(row->entry)->alpha;
  pla_entry_set_rgba(row->entry, &rgba);
}

static void
on_eye_toggled(GtkToggleButton *button, gpointer data)
{
  gtk_button_set_icon_name(GTK_BUTTON(button), gtk_toggle_button_get_active(button)
                                                   ? "view-reveal-symbolic"
                                                   : "view-conceal-symbolic");
}

static void
row_free(gpointer data)
{
  Row *row = data;
  g_clear_weak_pointer(&row->binding);
  g_free(row);
}

static void
on_setup(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  Row *row = g_new0(Row, 1);
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  row->expander = gtk_tree_expander_new();
  row->name = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(row->name), 0.0f);
  gtk_label_set_ellipsize(GTK_LABEL(row->name), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(row->name, TRUE);
  row->detail = gtk_label_new(NULL);
  gtk_widget_add_css_class(row->detail, "dim-label");
  gtk_widget_add_css_class(row->detail, "caption");
  gtk_widget_add_css_class(row->detail, "numeric");
  row->colour = gtk_color_button_new();
  gtk_color_button_set_modal(GTK_COLOR_BUTTON(row->colour), TRUE);
  gtk_widget_set_valign(row->colour, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(row->colour, "swatch");
  g_signal_connect(row->colour, "color-set", G_CALLBACK(on_colour_set), row);
  row->eye = gtk_toggle_button_new();
  gtk_widget_add_css_class(row->eye, "flat");
  gtk_widget_add_css_class(row->eye, "eye");
  gtk_widget_set_valign(row->eye, GTK_ALIGN_CENTER);
  g_signal_connect(row->eye, "toggled", G_CALLBACK(on_eye_toggled), NULL);
  on_eye_toggled(GTK_TOGGLE_BUTTON(row->eye), NULL);

  gtk_box_append(GTK_BOX(box), row->name);
  gtk_box_append(GTK_BOX(box), row->detail);
  gtk_box_append(GTK_BOX(box), row->colour);
  gtk_box_append(GTK_BOX(box), row->eye);
  gtk_tree_expander_set_child(GTK_TREE_EXPANDER(row->expander), box);
  gtk_list_item_set_child(item, row->expander);
  g_object_set_data_full(G_OBJECT(item), "row", row, row_free);
}

static void
on_bind(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  Row *row = g_object_get_data(G_OBJECT(item), "row");
  GtkTreeListRow *tree_row = gtk_list_item_get_item(item);
  g_autoptr(PlaEntry) entry = gtk_tree_list_row_get_item(tree_row);
  row->entry = entry;
  PlaEntryKind kind = pla_entry_get_kind(entry);
  gtk_tree_expander_set_list_row(GTK_TREE_EXPANDER(row->expander), tree_row);
  gtk_label_set_label(GTK_LABEL(row->name), pla_entry_get_name(entry));
  gtk_widget_set_tooltip_text(row->name, pla_entry_get_name(entry));
  if (kind == PLA_ENTRY_GROUP)
    gtk_widget_add_css_class(row->name, "heading");
  else
    gtk_widget_remove_css_class(row->name, "heading");
  const char *detail = pla_entry_get_detail(entry);
  gtk_label_set_label(GTK_LABEL(row->detail), detail ? detail : "");
  gtk_widget_set_visible(row->detail, detail != NULL);
  gboolean coloured = kind == PLA_ENTRY_LABEL || kind == PLA_ENTRY_MESH;
  gtk_widget_set_visible(row->colour, coloured);
  gtk_widget_set_visible(row->eye, coloured || kind == PLA_ENTRY_GROUP || kind == PLA_ENTRY_ANNOTATION);
  g_autofree char *colour_name = g_strdup_printf(_("Colour of %s"), pla_entry_get_name(entry));
  g_autofree char *eye_name = g_strdup_printf(_("Show %s"), pla_entry_get_name(entry));
  gtk_accessible_update_property(GTK_ACCESSIBLE(row->colour), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 colour_name, -1);
  gtk_accessible_update_property(GTK_ACCESSIBLE(row->eye), GTK_ACCESSIBLE_PROPERTY_LABEL, eye_name,
                                 -1);
  gtk_widget_set_tooltip_text(row->colour, colour_name);
  gtk_widget_set_tooltip_text(row->eye, eye_name);
  GdkRGBA rgba = *pla_entry_get_rgba(entry);
  rgba.alpha = 1.0f;
  gtk_color_chooser_set_rgba(GTK_COLOR_CHOOSER(row->colour), &rgba);
  GBinding *binding = g_object_bind_property(entry, "visible", row->eye, "active",
                                             G_BINDING_BIDIRECTIONAL | G_BINDING_SYNC_CREATE);
  g_set_weak_pointer(&row->binding, binding);
}

static void
on_unbind(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data)
{
  Row *row = g_object_get_data(G_OBJECT(item), "row");
  if (row->binding)
    g_binding_unbind(row->binding);
  gtk_tree_expander_set_list_row(GTK_TREE_EXPANDER(row->expander), NULL);
  row->entry = NULL;
}

static GListModel *
children_of(gpointer item, gpointer data)
{
  GListStore *children = pla_entry_get_children(PLA_ENTRY(item));
  return children ? G_LIST_MODEL(g_object_ref(children)) : NULL;
}

/* the chosen entry when it has an opacity, or NULL; caller unrefs */
static PlaEntry *
chosen(PlaCaseTree *self)
{
  GtkTreeListRow *row = gtk_single_selection_get_selected_item(self->selection);
  g_autoptr(PlaEntry) entry = row ? gtk_tree_list_row_get_item(row) : NULL;
  if (entry &&
      (pla_entry_get_kind(entry) == PLA_ENTRY_LABEL || pla_entry_get_kind(entry) == PLA_ENTRY_MESH))
    return g_steal_pointer(&entry);
  return NULL;
}

static void
on_selected(PlaCaseTree *self)
{
  g_autoptr(PlaEntry) entry = chosen(self);
  gtk_widget_set_sensitive(self->opacity_box, entry != NULL);
  self->following = TRUE;
  gtk_adjustment_set_value(self->opacity_adjustment,
                           entry ? pla_entry_get_rgba(entry)->alpha : 1.0);
  self->following = FALSE;
}

static void
on_opacity(PlaCaseTree *self)
{
  g_autoptr(PlaEntry) entry = chosen(self);
  if (!entry || self->following)
    return;
  GdkRGBA rgba = *pla_entry_get_rgba(entry);
  rgba.alpha = (float)gtk_adjustment_get_value(self->opacity_adjustment);
  pla_entry_set_rgba(entry, &rgba);
}

static void
pla_case_tree_dispose(GObject *object)
{
  PlaCaseTree *self = PLA_CASE_TREE(object);
  for (GtkWidget *child; (child = gtk_widget_get_first_child(GTK_WIDGET(self)));)
    gtk_widget_unparent(child);
  g_clear_object(&self->selection);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_case_tree_parent_class)->dispose(object);
}

static void
pla_case_tree_class_init(PlaCaseTreeClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_case_tree_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget, "/org/platysma/Platysma/case-tree.ui");
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, list);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity_box);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity_adjustment);
}

static void
pla_case_tree_init(PlaCaseTree *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  g_signal_connect_swapped(self->opacity_adjustment, "value-changed", G_CALLBACK(on_opacity), self);
}

GtkWidget *
pla_case_tree_new(PlaDocument *document)
{
  PlaCaseTree *self = g_object_new(PLA_TYPE_CASE_TREE, NULL);
  self->document = g_object_ref(document);
  GtkTreeListModel *tree = gtk_tree_list_model_new(g_object_ref(pla_document_get_tree(document)),
                                                   FALSE, TRUE, children_of, NULL, NULL);
  self->selection = gtk_single_selection_new(G_LIST_MODEL(tree));
  gtk_single_selection_set_autoselect(self->selection, FALSE);
  gtk_single_selection_set_can_unselect(self->selection, TRUE);
  g_signal_connect_swapped(self->selection, "notify::selected-item", G_CALLBACK(on_selected), self);
  GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
  g_signal_connect(factory, "setup", G_CALLBACK(on_setup), NULL);
  g_signal_connect(factory, "bind", G_CALLBACK(on_bind), NULL);
  g_signal_connect(factory, "unbind", G_CALLBACK(on_unbind), NULL);
  gtk_list_view_set_factory(self->list, factory);
  g_object_unref(factory);
  gtk_list_view_set_model(self->list, GTK_SELECTION_MODEL(self->selection));
  return GTK_WIDGET(self);
}

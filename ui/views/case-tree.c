/* The tree as a GtkListView over GtkTreeListModel, with the context menu of a row: rename,
 * delete, export, compare. */
#include "ui/views/case-tree.h"

#include "app/verbs/verb-lists.h"

#include <glib/gi18n.h>
#include <string.h>

struct _PlaCaseTree {
  GtkWidget parent_instance;
  GtkListView *list;
  GtkWidget *opacity_box;
  GtkScale *opacity;
  GtkAdjustment *opacity_adjustment;
  PlaDocument *document;
  GtkSingleSelection *selection;
  gboolean following; /* the slider is being set, not dragged */
  GtkWidget *menu;    /* of the row that was asked for */
  GtkWidget *name;    /* entry of the popover that renames */
  PlaEntry *asked;    /* that row's entry */
  GtkFileChooserNative *chooser;
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

static void on_row_pressed(GtkGestureClick *click, int n_press, double x, double y, Row *row);

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
  GtkGesture *click = gtk_gesture_click_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(click), GDK_BUTTON_SECONDARY);
  g_signal_connect(click, "pressed", G_CALLBACK(on_row_pressed), row);
  gtk_widget_add_controller(row->expander, GTK_EVENT_CONTROLLER(click));
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
  gtk_widget_set_visible(row->eye,
                         coloured || kind == PLA_ENTRY_GROUP || kind == PLA_ENTRY_ANNOTATION);
  g_autofree char *colour_name = g_strdup_printf(_("Colour of %s"), pla_entry_get_name(entry));
  g_autofree char *eye_name = g_strdup_printf(_("Show %s"), pla_entry_get_name(entry));
  gtk_accessible_update_property(GTK_ACCESSIBLE(row->colour), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 colour_name, -1);
  /* what takes the focus is a button inside it */
  GtkWidget *inner = gtk_widget_get_first_child(row->colour);
  if (inner)
    gtk_accessible_update_property(GTK_ACCESSIBLE(inner), GTK_ACCESSIBLE_PROPERTY_LABEL,
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

/* ------------------------------------------------------------------- menu */

/* the item of the case that an entry shows, or NULL */
static const char *
item_name(PlaCaseTree *self, PlaEntry *entry)
{
  switch (pla_entry_get_kind(entry)) {
  case PLA_ENTRY_MESH:
    return pla_entry_get_item(entry) ? pla_entry_get_name(entry) : NULL;
  case PLA_ENTRY_VOLUME:
    return pla_entry_get_name(entry);
  case PLA_ENTRY_LABEL:
    return pla_document_get_labels_name(self->document);
  default:
    return NULL;
  }
}

static void
ask_about(PlaCaseTree *self, PlaEntry *entry, GtkWidget *row, double x, double y)
{
  if (pla_entry_get_kind(entry) == PLA_ENTRY_GROUP)
    return;
  g_set_object(&self->asked, entry);
  const gboolean item = item_name(self, entry) != NULL,
                 tissue = pla_entry_get_kind(entry) == PLA_ENTRY_LABEL;
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "tree.rename", item);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "tree.delete", item && !tissue);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "tree.export",
                                pla_entry_get_content(entry) ||
                                    pla_entry_get_kind(entry) == PLA_ENTRY_VOLUME);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "tree.compare",
                                pla_entry_get_kind(entry) == PLA_ENTRY_MESH);
  graphene_point_t at;
  if (!gtk_widget_compute_point(row, GTK_WIDGET(self), &GRAPHENE_POINT_INIT((float)x, (float)y),
                                &at))
    return;
  gtk_popover_set_pointing_to(GTK_POPOVER(self->menu),
                              &(GdkRectangle){ (int)at.x, (int)at.y, 1, 1 });
  gtk_popover_popup(GTK_POPOVER(self->menu));
}

static void
on_row_pressed(GtkGestureClick *click, int n_press, double x, double y, Row *row)
{
  GtkWidget *widget = gtk_event_controller_get_widget(GTK_EVENT_CONTROLLER(click));
  GtkWidget *tree = gtk_widget_get_ancestor(widget, PLA_TYPE_CASE_TREE);
  if (row->entry && tree)
    ask_about(PLA_CASE_TREE(tree), row->entry, widget, x, y);
}

static void
rename_to(PlaCaseTree *self, const char *name)
{
  PlaEntry *entry = self->asked;
  const char *item = entry ? item_name(self, entry) : NULL;
  if (!item || !*name || strcmp(name, pla_entry_get_name(entry)) == 0)
    return;
  const gboolean label = pla_entry_get_kind(entry) == PLA_ENTRY_LABEL;
  g_autoptr(PlaVerbValues) values = pla_verb_values_new(label ? "set-labels" : "rename");
  pla_verb_values_set_text(values, "item", item);
  if (label)
    pla_set_labels_add_name(values, pla_entry_get_label(entry), name);
  else
    pla_verb_values_set_text(values, "name", name);
  pla_document_run(self->document, _("Renaming"), values);
}

static void
on_name_activated(GtkEntry *entry, PlaCaseTree *self)
{
  g_autofree char *name = g_strstrip(g_strdup(gtk_editable_get_text(GTK_EDITABLE(entry))));
  gtk_popover_popdown(GTK_POPOVER(gtk_widget_get_ancestor(GTK_WIDGET(entry), GTK_TYPE_POPOVER)));
  rename_to(self, name);
}

static void
on_rename(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaCaseTree *self = PLA_CASE_TREE(widget);
  if (!self->asked)
    return;
  GtkWidget *popover = gtk_widget_get_ancestor(self->name, GTK_TYPE_POPOVER);
  GdkRectangle at;
  gtk_popover_get_pointing_to(GTK_POPOVER(self->menu), &at);
  gtk_popover_set_pointing_to(GTK_POPOVER(popover), &at);
  gtk_editable_set_text(GTK_EDITABLE(self->name), pla_entry_get_name(self->asked));
  gtk_popover_popup(GTK_POPOVER(popover));
  gtk_widget_grab_focus(self->name);
}

static void
on_delete(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaCaseTree *self = PLA_CASE_TREE(widget);
  const char *item = self->asked ? item_name(self, self->asked) : NULL;
  if (!item)
    return;
  g_autoptr(PlaVerbValues) values = pla_verb_values_new("delete");
  pla_verb_values_set_text(values, "item", item);
  pla_document_run(self->document, _("Deleting"), values);
}

static void
on_export_response(GtkNativeDialog *dialog, int response, PlaCaseTree *self)
{
  if (response == GTK_RESPONSE_ACCEPT && self->asked) {
    g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
    g_autofree char *path = file ? g_file_get_path(file) : NULL;
    if (path)
      pla_document_export(self->document, self->asked, path);
  }
  g_clear_object(&self->chooser);
}

static void
on_export(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaCaseTree *self = PLA_CASE_TREE(widget);
  if (!self->asked)
    return;
  const PlaMesh *mesh = pla_entry_get_mesh(self->asked);
  const char *ending = !mesh ? "nii.gz" : mesh->n_tets + mesh->n_hexes > 0 ? "vtu" : "stl";
  g_autofree char *name = g_strdup_printf("%s.%s", pla_entry_get_name(self->asked), ending);
  g_clear_object(&self->chooser);
  self->chooser =
      gtk_file_chooser_native_new(_("Export"), GTK_WINDOW(gtk_widget_get_root(widget)),
                                  GTK_FILE_CHOOSER_ACTION_SAVE, _("_Export"), _("_Cancel"));
  gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(self->chooser), TRUE);
  gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(self->chooser), name);
  g_signal_connect(self->chooser, "response", G_CALLBACK(on_export_response), self);
  gtk_native_dialog_show(GTK_NATIVE_DIALOG(self->chooser));
}

/* the other shape is the first one that is visible and not this */
static void
find_other(PlaEntry *entry, gpointer data)
{
  PlaEntry **pair = data;
  if (entry != pair[0] && !pair[1] && pla_entry_get_visible(entry) && pla_entry_get_mesh(entry))
    pair[1] = entry;
}

static void
on_compare(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaCaseTree *self = PLA_CASE_TREE(widget);
  PlaEntry *pair[2] = { self->asked, NULL };
  if (!self->asked)
    return;
  pla_document_foreach(self->document, find_other, pair);
  if (pair[1])
    pla_document_compare(self->document, pair[0], pair[1]);
  else
    g_signal_emit_by_name(self->document, "failed",
                          _("Show a second shape to compare with, then try again"));
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
  g_clear_object(&self->chooser);
  g_clear_object(&self->asked);
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
  gtk_widget_class_set_template_from_resource(widget, "/org/platysma/Platysma/views/case-tree.ui");
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, list);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity_box);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, opacity_adjustment);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, menu);
  gtk_widget_class_bind_template_child(widget, PlaCaseTree, name);
  gtk_widget_class_install_action(widget, "tree.rename", NULL, on_rename);
  gtk_widget_class_install_action(widget, "tree.delete", NULL, on_delete);
  gtk_widget_class_install_action(widget, "tree.export", NULL, on_export);
  gtk_widget_class_install_action(widget, "tree.compare", NULL, on_compare);
}

static void
pla_case_tree_init(PlaCaseTree *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  g_signal_connect_swapped(self->opacity_adjustment, "value-changed", G_CALLBACK(on_opacity), self);
  g_signal_connect(self->name, "activate", G_CALLBACK(on_name_activated), self);
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

/* Runs the segmentation operations, hands the brush to the views, and turns each finished stroke
 * into one operation. */
#include "ui/panels/anatomy-panel.h"

#include "anatomy/segment/segment.h"

#include <glib/gi18n.h>

struct _PlaAnatomyPanel {
  AdwBin parent_instance;
  AdwComboRow *preset;
  GtkWidget *preset_group, *range_group, *nothing;
  GtkEditable *name;
  AdwActionRow *lo_row, *hi_row;
  GtkSpinButton *lo, *hi;
  GtkSwitch *largest;
  GtkLabel *result;
  GtkWidget *brush_group, *surface_group;
  AdwComboRow *tissue, *only, *surface_tissue;
  GtkSpinButton *radius, *smooth;
  GtkToggleButton *paint_tool, *erase_tool;
  PlaDocument *document;
  const PlaLabelMap *labels; /* that the lists of tissues are of; compared, never read */
  gboolean following;
};

G_DEFINE_FINAL_TYPE(PlaAnatomyPanel, pla_anatomy_panel, ADW_TYPE_BIN)

static void
on_segment(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  guint chosen = adw_combo_row_get_selected(self->preset);
  pla_document_segment(self->document, pla_segment_presets_get()[chosen]->id);
}

static void
on_threshold(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  const char *name = gtk_editable_get_text(self->name);
  pla_document_threshold(self->document, gtk_spin_button_get_value(self->lo),
                         gtk_spin_button_get_value(self->hi), *name ? name : _("Tissue"),
                         gtk_switch_get_active(self->largest));
}

/* -------------------------------------------------------------------- brush */

/* the tissue chosen in one of the lists, or NULL */
static const PlaLabel *
chosen(PlaAnatomyPanel *self, AdwComboRow *row)
{
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  guint i = adw_combo_row_get_selected(row);
  return labels && i < (guint)labels->table.n ? &labels->table.label[i] : NULL;
}

static gboolean
is_mine(PlaAnatomyPanel *self)
{
  return pla_tools_get_owner(pla_document_get_tools(self->document)) == self;
}

static void
set_brush(PlaAnatomyPanel *self)
{
  const PlaLabel *label = chosen(self, self->tissue);
  GdkRGBA rgba = { 0.1f, 0.1f, 0.1f, 1.0f };
  if (label && gtk_toggle_button_get_active(self->paint_tool))
    rgba = (GdkRGBA){ (float)label->rgba[0] / 255.0f, (float)label->rgba[1] / 255.0f,
                      (float)label->rgba[2] / 255.0f, 1.0f };
  pla_tools_set_brush(pla_document_get_tools(self->document),
                      gtk_spin_button_get_value(self->radius), &rgba);
}

static void
on_tool_toggled(GtkToggleButton *button, PlaAnatomyPanel *self)
{
  PlaTools *tools = pla_document_get_tools(self->document);
  if (self->following)
    return;
  if (!gtk_toggle_button_get_active(button)) {
    if (is_mine(self))
      pla_tools_set(tools, PLA_TOOL_NONE, NULL, NULL);
    return;
  }
  self->following = TRUE;
  gtk_toggle_button_set_active(button == self->paint_tool ? self->erase_tool : self->paint_tool,
                               FALSE);
  self->following = FALSE;
  set_brush(self);
  pla_tools_set(tools, PLA_TOOL_BRUSH, self, NULL);
}

static void
on_tool_changed(PlaAnatomyPanel *self)
{
  if (is_mine(self))
    return;
  self->following = TRUE;
  gtk_toggle_button_set_active(self->paint_tool, FALSE);
  gtk_toggle_button_set_active(self->erase_tool, FALSE);
  self->following = FALSE;
}

static void
on_stroked(PlaAnatomyPanel *self, const GArray *points)
{
  const char *item = pla_document_get_labels_name(self->document);
  const PlaLabel *label = chosen(self, self->tissue);
  const gboolean erase = gtk_toggle_button_get_active(self->erase_tool);
  if (!is_mine(self) || !item || !label)
    return;
  g_autoptr(JsonObject) params = json_object_new();
  JsonArray *list = json_array_new();
  for (guint i = 0; i + 2 < points->len; i += 3) {
    JsonArray *point = json_array_new();
    for (guint d = 0; d < 3; d++)
      json_array_add_double_element(point, g_array_index(points, double, i + d));
    json_array_add_array_element(list, point);
  }
  json_object_set_string_member(params, "item", item);
  json_object_set_array_member(params, "points_mm", list);
  json_object_set_double_member(params, "radius_mm", gtk_spin_button_get_value(self->radius));
  json_object_set_int_member(params, "label", erase ? 0 : label->id);
  json_object_set_int_member(params, "only",
                             erase                                         ? label->id
                             : adw_combo_row_get_selected(self->only) == 1 ? 0
                                                                           : -1);
  pla_document_run(self->document, erase ? _("Erasing") : _("Painting"), "edit-label", params);
}

static void
on_surface(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  const char *item = pla_document_get_labels_name(self->document);
  const PlaLabel *label = chosen(self, self->surface_tissue);
  if (!item || !label)
    return;
  g_autoptr(JsonObject) params = json_object_new();
  JsonArray *list = json_array_new();
  json_array_add_int_element(list, label->id);
  json_object_set_string_member(params, "item", item);
  json_object_set_array_member(params, "labels", list);
  json_object_set_double_member(params, "smooth_mm", gtk_spin_button_get_value(self->smooth));
  pla_document_run(self->document, _("Making the surface"), "surface", params);
}

static void
offer_tissues(PlaAnatomyPanel *self)
{
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  if (labels == self->labels)
    return;
  self->labels = labels;
  AdwComboRow *const rows[2] = { self->tissue, self->surface_tissue };
  for (int r = 0; r < 2; r++) {
    const guint before = adw_combo_row_get_selected(rows[r]);
    g_autoptr(GtkStringList) names = gtk_string_list_new(NULL);
    for (int i = 0; labels && i < labels->table.n; i++)
      gtk_string_list_append(names, labels->table.label[i].name);
    adw_combo_row_set_model(rows[r], G_LIST_MODEL(names));
    if (labels && before < (guint)labels->table.n)
      adw_combo_row_set_selected(rows[r], before);
  }
}

/* what came out, and what can be done now */
static void
update(PlaAnatomyPanel *self)
{
  const PlaVolume *vol = pla_document_get_volume(self->document);
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  gboolean ready = vol && !pla_document_get_busy(self->document);
  gtk_widget_set_visible(self->preset_group, vol != NULL);
  gtk_widget_set_visible(self->range_group, vol != NULL);
  gtk_widget_set_visible(self->nothing, vol == NULL);
  adw_action_row_set_subtitle(self->lo_row, pla_document_get_unit(self->document));
  adw_action_row_set_subtitle(self->hi_row, pla_document_get_unit(self->document));
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "anatomy.segment", ready);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "anatomy.threshold", ready);
  gtk_widget_set_visible(GTK_WIDGET(self->result), labels != NULL);
  offer_tissues(self);
  gtk_widget_set_visible(self->brush_group, labels != NULL);
  gtk_widget_set_visible(self->surface_group, labels != NULL);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "anatomy.surface", labels != NULL);
  if (labels) {
    g_autofree char *text = g_strdup_printf(
        g_dngettext(NULL, "The case has %d tissue; its volume is in the list on the left.",
                    "The case has %d tissues; their volumes are in the list on the left.",
                    (gulong)labels->table.n),
        labels->table.n);
    gtk_label_set_label(self->result, text);
  }
}

static void
pla_anatomy_panel_dispose(GObject *object)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(object);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_anatomy_panel_parent_class)->dispose(object);
}

static void
pla_anatomy_panel_class_init(PlaAnatomyPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_anatomy_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/anatomy-panel.ui");
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, preset);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, preset_group);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, range_group);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, nothing);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, name);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, lo);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, hi);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, largest);
  gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, result);
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, NAME)
  CHILD(lo_row);
  CHILD(hi_row);
  CHILD(brush_group);
  CHILD(surface_group);
  CHILD(tissue);
  CHILD(only);
  CHILD(radius);
  CHILD(paint_tool);
  CHILD(erase_tool);
  CHILD(surface_tissue);
  CHILD(smooth);
#undef CHILD
  gtk_widget_class_install_action(widget, "anatomy.surface", NULL, on_surface);
  gtk_widget_class_install_action(widget, "anatomy.segment", NULL, on_segment);
  gtk_widget_class_install_action(widget, "anatomy.threshold", NULL, on_threshold);
}

static void
pla_anatomy_panel_init(PlaAnatomyPanel *self)
{
  gtk_widget_init_template(GTK_WIDGET(self));
  g_autoptr(GtkStringList) titles = gtk_string_list_new(NULL);
  for (const PlaSegmentPreset *const *p = pla_segment_presets_get(); *p; p++)
    gtk_string_list_append(titles, (*p)->title);
  adw_combo_row_set_model(self->preset, G_LIST_MODEL(titles));
}

GtkWidget *
pla_anatomy_panel_new(PlaDocument *document)
{
  PlaAnatomyPanel *self = g_object_new(PLA_TYPE_ANATOMY_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  PlaTools *tools = pla_document_get_tools(document);
  g_signal_connect_object(tools, "tool-changed", G_CALLBACK(on_tool_changed), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_object(tools, "stroked", G_CALLBACK(on_stroked), self, G_CONNECT_SWAPPED);
  g_signal_connect(self->paint_tool, "toggled", G_CALLBACK(on_tool_toggled), self);
  g_signal_connect(self->erase_tool, "toggled", G_CALLBACK(on_tool_toggled), self);
  g_signal_connect_swapped(self->radius, "value-changed", G_CALLBACK(set_brush), self);
  g_signal_connect_swapped(self->tissue, "notify::selected", G_CALLBACK(set_brush), self);
  update(self);
  return GTK_WIDGET(self);
}

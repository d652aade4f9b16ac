/* Runs the segmentation operations, hands the brush to the views, and turns each finished stroke
 * into one operation. */
#include "ui/panels/anatomy-panel.h"

#include "ui/widgets/param-row.h"

#include <glib/gi18n.h>

struct _PlaAnatomyPanel {
  AdwBin parent_instance;
  GtkWidget *preset, *name, *lo, *hi, *largest, *radius, *smooth; /* rows of parameters */
  GtkWidget *preset_group, *range_group, *nothing;
  GtkLabel *result;
  GtkWidget *brush_group, *surface_group;
  AdwComboRow *tissue, *only, *surface_tissue;
  GtkToggleButton *paint_tool, *erase_tool;
  PlaDocument *document;
  PlaVerbValues *by_preset, *by_range; /* of "segment" */
  PlaVerbValues *brush, *surface;      /* of "edit-label" and "surface" */
  const PlaLabelMap *labels;           /* that the lists of tissues are of; compared, never read */
  gboolean following;
};

G_DEFINE_FINAL_TYPE(PlaAnatomyPanel, pla_anatomy_panel, ADW_TYPE_BIN)

/* runs "segment" on the scan that is shown */
static void
segment(PlaAnatomyPanel *self, const char *title, PlaVerbValues *values)
{
  const char *item = pla_document_get_volume_name(self->document);
  if (!item)
    return;
  pla_verb_values_set_text(values, "item", item);
  pla_document_run(self->document, title, values);
}

static void
on_segment(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  segment(self, _("Finding tissues"), self->by_preset);
}

static void
on_threshold(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  const char *name = pla_verb_values_get_text(self->by_range, "label_name");
  if (!name || !*name)
    pla_verb_values_set_text(self->by_range, "label_name", _("Tissue"));
  segment(self, _("Finding one tissue"), self->by_range);
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
                      pla_verb_values_get_number(self->brush, "radius_mm"), &rgba);
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
  pla_verb_values_set_text(self->brush, "item", item);
  pla_verb_values_set_points(self->brush, "points_mm", (const double *)(gpointer)points->data,
                             (int)points->len / 3);
  pla_verb_values_set_int(self->brush, "label", erase ? 0 : label->id);
  pla_verb_values_set_int(self->brush, "only",
                          erase                                         ? label->id
                          : adw_combo_row_get_selected(self->only) == 1 ? 0
                                                                        : -1);
  pla_document_run(self->document, erase ? _("Erasing") : _("Painting"), self->brush);
}

static void
on_surface(GtkWidget *widget, const char *action, GVariant *param)
{
  PlaAnatomyPanel *self = PLA_ANATOMY_PANEL(widget);
  const char *item = pla_document_get_labels_name(self->document);
  const PlaLabel *label = chosen(self, self->surface_tissue);
  if (!item || !label)
    return;
  pla_verb_values_set_text(self->surface, "item", item);
  pla_verb_values_clear_list(self->surface, "labels");
  pla_verb_values_add_int(self->surface, "labels", label->id);
  pla_document_run(self->document, _("Making the surface"), self->surface);
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
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->lo), pla_document_get_unit(self->document));
  adw_action_row_set_subtitle(ADW_ACTION_ROW(self->hi), pla_document_get_unit(self->document));
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
  g_clear_object(&self->by_preset);
  g_clear_object(&self->by_range);
  g_clear_object(&self->brush);
  g_clear_object(&self->surface);
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
#define CHILD(NAME) gtk_widget_class_bind_template_child(widget, PlaAnatomyPanel, NAME)
  CHILD(preset);
  CHILD(preset_group);
  CHILD(range_group);
  CHILD(nothing);
  CHILD(name);
  CHILD(lo);
  CHILD(hi);
  CHILD(largest);
  CHILD(result);
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
  self->by_preset = pla_verb_values_new("segment");
  self->by_range = pla_verb_values_new("segment");
  self->brush = pla_verb_values_new("edit-label");
  self->surface = pla_verb_values_new("surface");
  pla_param_row_bind(self->preset, self->by_preset, "preset");
  pla_param_row_bind(self->name, self->by_range, "label_name");
  pla_param_row_bind(self->lo, self->by_range, "lo");
  pla_param_row_bind(self->hi, self->by_range, "hi");
  pla_param_row_bind(self->largest, self->by_range, "largest");
  pla_param_row_bind(self->radius, self->brush, "radius_mm");
  pla_param_row_bind(self->smooth, self->surface, "smooth_mm");
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
  g_signal_connect_object(self->brush, "changed::radius_mm", G_CALLBACK(set_brush), self,
                          G_CONNECT_SWAPPED);
  g_signal_connect_swapped(self->tissue, "notify::selected", G_CALLBACK(set_brush), self);
  update(self);
  return GTK_WIDGET(self);
}

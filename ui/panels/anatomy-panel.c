#include "ui/panels/anatomy-panel.h"

#include "anatomy/segment/segment.h"

#include <glib/gi18n.h>

struct _PlaAnatomyPanel {
  AdwBin parent_instance;
  AdwComboRow *preset;
  GtkWidget *preset_group, *range_group, *nothing;
  GtkEditable *name;
  GtkSpinButton *lo, *hi;
  GtkSwitch *largest;
  GtkLabel *result;
  PlaDocument *document;
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
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "anatomy.segment", ready);
  gtk_widget_action_set_enabled(GTK_WIDGET(self), "anatomy.threshold", ready);
  gtk_widget_set_visible(GTK_WIDGET(self->result), labels != NULL);
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
  update(self);
  return GTK_WIDGET(self);
}

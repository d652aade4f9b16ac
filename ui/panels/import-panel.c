/* Fills the rows on size, spacing, axes, frame audit and notes from the document. */
#include "ui/panels/import-panel.h"

#include "app/base/quantity.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>

struct _PlaImportPanel {
  AdwBin parent_instance;
  AdwPreferencesGroup *scan_group;
  GtkWidget *notes_group;
  GtkLabel *notes;
  PlaDocument *document;
  GPtrArray *rows; /* of scan_group, borrowed */
};

G_DEFINE_FINAL_TYPE(PlaImportPanel, pla_import_panel, ADW_TYPE_BIN)

static void
add_row(PlaImportPanel *self, const char *title, const char *value)
{
  pla_panel_rows_add(self->scan_group, self->rows, pla_row_new(title, value));
}

G_GNUC_PRINTF(3, 4)
static void
add_row_printf(PlaImportPanel *self, const char *title, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_autofree char *value = g_strdup_vprintf(format, args);
  va_end(args);
  add_row(self, title, value);
}

static void
update(PlaImportPanel *self)
{
  pla_panel_rows_clear(self->scan_group, self->rows);
  const PlaVolume *vol = pla_document_get_volume(self->document);
  const PlaLabelMap *labels = pla_document_get_labels(self->document);
  if (!vol && labels)
    vol = labels->volume;
  gtk_widget_set_visible(GTK_WIDGET(self->scan_group), vol != NULL);
  gtk_widget_set_visible(self->notes_group, FALSE);
  if (!vol)
    return;

  double spacing[3], range[2];
  char letters[4];
  pla_volume_spacing_mm(vol, spacing);
  pla_volume_orientation(vol, letters);
  pla_document_get_range(self->document, range);
  add_row_printf(self, _("Voxels"), "%d × %d × %d", vol->dims[0], vol->dims[1], vol->dims[2]);
  if (vol->dims[3] > 1)
    add_row_printf(self, _("Frames"), "%d", vol->dims[3]);
  const double extent[3] = { vol->dims[0] * spacing[0], vol->dims[1] * spacing[1],
                             vol->dims[2] * spacing[2] };
  g_autofree char *voxel = pla_quantity_size_text(PLA_QUANTITY_SPACING, spacing, PLA_UNIT_MM);
  g_autofree char *box = pla_quantity_size_text(PLA_QUANTITY_EXTENT, extent, PLA_UNIT_MM);
  add_row(self, _("Spacing"), voxel);
  add_row(self, _("Extent"), box);
  add_row_printf(self, _("Axes"), "%s", letters);
  static const char *const sources[] = {
    [PLA_FRAME_NONE] = N_("not stated: assumed"),
    [PLA_FRAME_PIXDIM] = N_("voxel sizes only"),
    [PLA_FRAME_QFORM] = N_("NIfTI qform"),
    [PLA_FRAME_SFORM] = N_("NIfTI sform"),
    [PLA_FRAME_DICOM] = N_("DICOM"),
    [PLA_FRAME_MADE] = N_("made by Platysma"),
  };
  add_row(self, _("Frame from"), _(sources[vol->audit.source]));
  if (vol->audit.qform_code > 0 && vol->audit.sform_code > 0) {
    g_autofree char *apart =
        pla_quantity_text(PLA_QUANTITY_LENGTH, vol->audit.disagreement_mm, PLA_UNIT_MM);
    add_row(self, _("Forms differ by"), apart);
  }
  if (vol->audit.nonorthogonality < 1e-6)
    add_row(self, _("Skew of axes"), _("none"));
  else
    add_row_printf(self, _("Skew of axes"), _("sheared, cosine %.2g"), vol->audit.nonorthogonality);
  if (pla_document_get_volume(self->document))
    add_row_printf(self, _("Values"), "%.6g … %.6g  (%s)", range[0], range[1],
                   pla_dtype_name(vol->dtype));

  const PlaNotes *notes = pla_document_get_notes(self->document);
  if (notes && notes->n > 0) {
    GString *text = g_string_new(NULL);
    for (int i = 0; i < notes->n; i++)
      g_string_append_printf(text, "%s%s", i ? "\n" : "", notes->text[i]);
    gtk_label_set_label(self->notes, text->str);
    g_string_free(text, TRUE);
    gtk_widget_set_visible(self->notes_group, TRUE);
  }
}

static void
pla_import_panel_dispose(GObject *object)
{
  PlaImportPanel *self = PLA_IMPORT_PANEL(object);
  g_clear_pointer(&self->rows, g_ptr_array_unref);
  g_clear_object(&self->document);
  G_OBJECT_CLASS(pla_import_panel_parent_class)->dispose(object);
}

static void
pla_import_panel_class_init(PlaImportPanelClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = pla_import_panel_dispose;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  gtk_widget_class_set_template_from_resource(widget,
                                              "/org/platysma/Platysma/panels/import-panel.ui");
  gtk_widget_class_bind_template_child(widget, PlaImportPanel, scan_group);
  gtk_widget_class_bind_template_child(widget, PlaImportPanel, notes_group);
  gtk_widget_class_bind_template_child(widget, PlaImportPanel, notes);
}

static void
pla_import_panel_init(PlaImportPanel *self)
{
  self->rows = g_ptr_array_new();
  gtk_widget_init_template(GTK_WIDGET(self));
}

GtkWidget *
pla_import_panel_new(PlaDocument *document)
{
  PlaImportPanel *self = g_object_new(PLA_TYPE_IMPORT_PANEL, NULL);
  self->document = g_object_ref(document);
  g_signal_connect_object(document, "reset", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  g_signal_connect_object(document, "notify::busy", G_CALLBACK(update), self, G_CONNECT_SWAPPED);
  update(self);
  return GTK_WIDGET(self);
}

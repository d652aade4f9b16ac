/* Draws a page into a texture once per size and shows that texture. */
#include "ui/views/report-preview.h"

#include "ui/views/export.h"

#include <glib/gi18n.h>
#include <math.h>

struct _PlaReportPreview {
  GtkWidget parent_instance;
  const PlaReportPages *pages;
  int page;
  PlaPaper paper;
  GdkTexture *texture; /* of the page at its present size; NULL: to be drawn */
  int width, height;
};

G_DEFINE_FINAL_TYPE(PlaReportPreview, pla_report_preview, GTK_TYPE_WIDGET)

void
pla_report_preview_set(PlaReportPreview *self, const PlaReportPages *pages, int page,
                       PlaPaper paper)
{
  gboolean resized = paper != self->paper;
  self->pages = pages;
  self->page = page;
  self->paper = paper;
  g_clear_object(&self->texture);
  g_autofree char *name =
      pages ? g_strdup_printf(_("Page %d of %d"), page + 1, pla_report_pages_count(pages))
            : g_strdup(_("Empty page"));
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  if (resized)
    gtk_widget_queue_resize(GTK_WIDGET(self));
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* pages hold large pictures: drawn once for each size, not in every frame */
static void
make_texture(PlaReportPreview *self, int w, int h)
{
  double paper_w, paper_h;
  pla_paper_size(self->paper, &paper_w, &paper_h);
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
  cairo_t *cr = cairo_create(image);
  cairo_set_source_rgb(cr, 1.0, 1.0, 1.0);
  cairo_paint(cr);
  cairo_scale(cr, w / paper_w, h / paper_h);
  if (self->pages && self->page < pla_report_pages_count(self->pages))
    pla_report_pages_draw(self->pages, self->page, cr);
  cairo_destroy(cr);
  g_clear_object(&self->texture);
  self->texture = pla_texture_from_image(image);
  self->width = w;
  self->height = h;
  cairo_surface_destroy(image);
}

static void
pla_report_preview_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  PlaReportPreview *self = PLA_REPORT_PREVIEW(widget);
  const int scale = gtk_widget_get_scale_factor(widget);
  double paper_w, paper_h;
  pla_paper_size(self->paper, &paper_w, &paper_h);
  /* the sheet in its shape, in the middle */
  double fit =
      fmin(gtk_widget_get_width(widget) / paper_w, gtk_widget_get_height(widget) / paper_h);
  const int w = MAX((int)(paper_w * fit), 1), h = MAX((int)(paper_h * fit), 1);
  const float x = (float)((gtk_widget_get_width(widget) - w) / 2);
  if (!self->texture || self->width != w * scale || self->height != h * scale)
    make_texture(self, w * scale, h * scale);
  const graphene_rect_t box = GRAPHENE_RECT_INIT(x, 0, (float)w, (float)h);
  gtk_snapshot_append_texture(snapshot, self->texture, &box);
  const GdkRGBA line = { 0.5f, 0.5f, 0.5f, 0.6f };
  const GskRoundedRect outline = { .bounds = box };
  gtk_snapshot_append_border(snapshot, &outline, (float[4]){ 1, 1, 1, 1 },
                             (GdkRGBA[4]){ line, line, line, line });
}

static GtkSizeRequestMode
pla_report_preview_get_request_mode(GtkWidget *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
pla_report_preview_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *min,
                           int *natural, int *min_baseline, int *natural_baseline)
{
  PlaReportPreview *self = PLA_REPORT_PREVIEW(widget);
  double paper_w, paper_h;
  pla_paper_size(self->paper, &paper_w, &paper_h);
  *min_baseline = *natural_baseline = -1;
  if (orientation == GTK_ORIENTATION_HORIZONTAL) {
    *min = 120;
    *natural = 280;
  } else {
    *min = *natural = (int)ceil((for_size > 0 ? for_size : 280) * paper_h / paper_w);
  }
}

static void
pla_report_preview_finalize(GObject *object)
{
  g_clear_object(&PLA_REPORT_PREVIEW(object)->texture);
  G_OBJECT_CLASS(pla_report_preview_parent_class)->finalize(object);
}

static void
pla_report_preview_class_init(PlaReportPreviewClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = pla_report_preview_finalize;
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  widget->snapshot = pla_report_preview_snapshot;
  widget->measure = pla_report_preview_measure;
  widget->get_request_mode = pla_report_preview_get_request_mode;
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_IMG);
}

static void
pla_report_preview_init(PlaReportPreview *self)
{
}

GtkWidget *
pla_report_preview_new(PlaPaper paper)
{
  PlaReportPreview *self = g_object_new(PLA_TYPE_REPORT_PREVIEW, NULL);
  pla_report_preview_set(self, NULL, 0, paper);
  return GTK_WIDGET(self);
}

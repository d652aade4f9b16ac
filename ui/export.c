#include "ui/export.h"

PlaStatus
pla_widget_save(GtkWidget *window, const char *path, PlaError *err)
{
  int w = gtk_widget_get_width(window), h = gtk_widget_get_height(window);
  GskRenderer *renderer = gtk_native_get_renderer(GTK_NATIVE(window));
  if (!renderer || w < 1 || h < 1)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "The window is not on the screen");
  g_autoptr(GdkPaintable) paintable = gtk_widget_paintable_new(window);
  GtkSnapshot *snapshot = gtk_snapshot_new();
  gdk_paintable_snapshot(paintable, snapshot, w, h);
  g_autoptr(GskRenderNode) node = gtk_snapshot_free_to_node(snapshot);
  if (!node)
    return pla_fail(err, PLA_ERR_EMPTY, "The window has not been drawn yet");
  const graphene_rect_t box = GRAPHENE_RECT_INIT(0, 0, (float)w, (float)h);
  g_autoptr(GdkTexture) texture = gsk_renderer_render_texture(renderer, node, &box);
  if (!gdk_texture_save_to_png(texture, path))
    return pla_fail(err, PLA_ERR_IO, "The picture %s could not be written", path);
  return PLA_OK;
}

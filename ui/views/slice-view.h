/* One anatomical plane through the document: grey values, tissues, crosshair, letters, scale.
 *
 * Left drag moves the crosshair, the wheel goes through the slices, Ctrl+wheel zooms, middle or
 * Shift+left drag pans, right drag changes the grey window (across: width, up: level).  Keys:
 * arrows and Page Up/Down, + and -, 0 fits.  Signal "hovered" (GVariant "(ddd)", RAS mm; NULL when
 * the pointer left). */
#pragma once

#include "anatomy/volume/slice.h"
#include "ui/document/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_SLICE_VIEW (pla_slice_view_get_type())
G_DECLARE_FINAL_TYPE(PlaSliceView, pla_slice_view, PLA, SLICE_VIEW, GtkWidget)

GtkWidget *pla_slice_view_new(PlaDocument *document, PlaAxis axis);
void pla_slice_view_fit(PlaSliceView *self);
/* The plane of the picture now, in widget coordinates. */
PlaSlicePlane pla_slice_view_get_plane(PlaSliceView *self);

G_END_DECLS

/* The scan itself in 3-D: pictures of it are cast on workers, a small one first and then finer
 * ones, and laid over the shapes.  Main thread only. */
#pragma once

#include "anatomy/volume/raycast.h"
#include "app/show/render.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_VOLUME_CAST (pla_volume_cast_get_type())
G_DECLARE_FINAL_TYPE(PlaVolumeCast, pla_volume_cast, PLA, VOLUME_CAST, GObject)

/* Shows its pictures in @picture, which is hidden while there are none. */
PlaVolumeCast *pla_volume_cast_new(GtkPicture *picture);
/* Takes @held, which keeps @volume alive (pla_document_hold_volume); NULL: nothing to draw. */
void pla_volume_cast_set_source(PlaVolumeCast *self, gpointer held, const PlaVolume *volume,
                                const PlaTransfer *transfer);
/* The view has changed: draws it anew; what is being drawn is no longer wanted. */
void pla_volume_cast_look(PlaVolumeCast *self, const PlaCamera *camera, int width, int height,
                          gboolean dark);
gboolean pla_volume_cast_is_busy(PlaVolumeCast *self);
void pla_volume_cast_stop(PlaVolumeCast *self); /* for good: the picture goes away */

G_END_DECLS

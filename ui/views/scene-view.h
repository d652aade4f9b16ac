/* The 3-D view of the document's shapes and, on request, of its slices in space.
 *
 * Left drag turns, middle or Shift+left drag pans, wheel and right drag zoom; a double click puts
 * the crosshair on the surface under the pointer.  Keys: arrows turn, + and - zoom, 0 fits.
 * Signal "hovered" as in PlaSliceView. */
#pragma once

#include "app/show/render.h"
#include "ui/document/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_SCENE_VIEW (pla_scene_view_get_type())
G_DECLARE_FINAL_TYPE(PlaSceneView, pla_scene_view, PLA, SCENE_VIEW, GtkWidget)

/* The first scene view at or below @widget, or NULL; @widget may be NULL. */
PlaSceneView *pla_scene_view_find(GtkWidget *widget);
GtkWidget *pla_scene_view_new(PlaDocument *document);
/* Lets the driver prepare its kinds of pictures while the window has nothing else to do; once the
 * window is on the screen. */
void pla_scene_view_warm_up(PlaSceneView *self);
void pla_scene_view_turn(PlaSceneView *self, double right_deg, double up_deg);
void pla_scene_view_look(PlaSceneView *self, PlaViewPreset preset); /* and fits */
void pla_scene_view_set_slices(PlaSceneView *self, gboolean shown);
/* Cuts away what lies to that side of the crosshair: "left", "right", "front", "back", "above",
 * "below"; NULL: nothing. */
void pla_scene_view_set_clip(PlaSceneView *self, const char *side);
/* Shows the scan itself instead of shapes, by a preset of anatomy/volume/raycast.h; NULL: shapes.
 */
void pla_scene_view_set_volume(PlaSceneView *self, const char *preset);
void pla_scene_view_set_dark(PlaSceneView *self, gboolean dark);
/* Nothing waits to be drawn in full quality. */
gboolean pla_scene_view_is_idle(PlaSceneView *self);
/* The first surface under a point of the widget. */
const PlaCamera *pla_scene_view_get_camera(PlaSceneView *self); /* borrowed */
PlaScenePick pla_scene_view_pick(PlaSceneView *self, double x, double y);
/* Turns the view, as a drag would. */
void pla_scene_view_orbit(PlaSceneView *self, double right_deg, double up_deg);
/* The picture at any size with its scale bar and axes, from @preset (fitted) or, where it is NULL,
 * as it is shown.  An opaque image, cairo_surface_destroy() by the caller. */
PlaStatus pla_scene_view_draw(PlaSceneView *self, const PlaViewPreset *preset, int width,
                              int height, cairo_surface_t **out, PlaError *err);
/* The same as a PNG file, as it is shown. */
PlaStatus pla_scene_view_save(PlaSceneView *self, int width, int height, const char *path,
                              PlaError *err);

G_END_DECLS

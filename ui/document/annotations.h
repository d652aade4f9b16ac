/* The landmarks, measurements and notes of the open case: rows of the tree, and drawn in the views.
 *
 * Main thread only.  Signal "changed": other ones, or other ones are shown. */
#pragma once

#include "anatomy/volume/slice.h"
#include "app/case/session.h"
#include "app/content/annotation.h"
#include "app/show/overlay.h"
#include "ui/document/entry.h"

G_BEGIN_DECLS

#define PLA_TYPE_ANNOTATIONS (pla_annotations_get_type())
G_DECLARE_FINAL_TYPE(PlaAnnotations, pla_annotations, PLA, ANNOTATIONS, GObject)

/* @tree: of PlaEntry; a group is kept at its end while there is anything. */
PlaAnnotations *pla_annotations_new(GListStore *tree);
/* Reads them from the session's state; NULL: none.  Each is a few bytes. */
void pla_annotations_update(PlaAnnotations *self, PlaSession *session);
int pla_annotations_n(PlaAnnotations *self);
const PlaAnnotation *pla_annotations_get(PlaAnnotations *self, int i, const char **name);

/* Points of a measurement in the making, RAS mm (n x 3); n = 0: none. */
void pla_annotations_set_pending(PlaAnnotations *self, const double *point_mm, int n);

/* Points that move with time, RAS mm, with their names; copied; n = 0: none. */
void pla_annotations_set_moving(PlaAnnotations *self, const double *point_mm, int n,
                                const char *const *names);

/* Those that lie in a plane (or cross it), in coordinates of its pixels. */
void pla_annotations_draw_slice(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink,
                                const PlaSlicePlane *plane);
void pla_annotations_draw_scene(PlaAnnotations *self, cairo_t *cr, const PlaOverlayInk *ink,
                                const PlaCamera *camera, double width, double height);

G_END_DECLS

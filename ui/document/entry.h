/* One row of the case tree: a volume, a tissue, a mesh, or a group of them, and how it is shown.
 *
 * An object of the main thread, which lives as long as its row.  Whether and how something is shown
 * is no part of the case, so it cannot stand in a PlaContent, which threads share; and rows are not
 * items: a label map has one for every tissue, a group has none of its own.
 *
 * Properties: "name", "visible", "rgba" (a GdkRGBA whose alpha is the opacity), "edges" (of
 * elements), all notified; "colours" is notified when another field is shown. */
#pragma once

#include "anatomy/mesh/mesh.h"
#include "app/content/content.h"
#include "app/show/field-view.h"
#include "app/show/render.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

typedef enum {
  PLA_ENTRY_GROUP = 0,
  PLA_ENTRY_VOLUME,
  PLA_ENTRY_LABEL,
  PLA_ENTRY_MESH,
  PLA_ENTRY_ANNOTATION, /* a landmark, a measurement, a note */
} PlaEntryKind;

#define PLA_TYPE_ENTRY (pla_entry_get_type())
G_DECLARE_FINAL_TYPE(PlaEntry, pla_entry, PLA, ENTRY, GObject)

PlaEntry *pla_entry_new(PlaEntryKind kind, const char *name, int id);
PlaEntryKind pla_entry_get_kind(PlaEntry *self);
int pla_entry_get_id(PlaEntry *self); /* in the 3-D scene */
const char *pla_entry_get_name(PlaEntry *self);
gboolean pla_entry_get_visible(PlaEntry *self);
void pla_entry_set_visible(PlaEntry *self, gboolean visible);
const GdkRGBA *pla_entry_get_rgba(PlaEntry *self);
void pla_entry_set_rgba(PlaEntry *self, const GdkRGBA *rgba);
GListStore *pla_entry_get_children(PlaEntry *self); /* NULL unless a group */
const char *pla_entry_get_detail(PlaEntry *self);   /* a few words: size, volume */
void pla_entry_set_detail(PlaEntry *self, const char *detail);

/* A tissue: its label id and finish. */
int pla_entry_get_label(PlaEntry *self);
void pla_entry_set_label(PlaEntry *self, int label, PlaFinish finish);
PlaFinish pla_entry_get_finish(PlaEntry *self);
gboolean pla_entry_get_pending(PlaEntry *self); /* its surface is still to be made */
void pla_entry_set_pending(PlaEntry *self, gboolean pending);

/* The shape shown in 3-D; takes both, @open may be NULL.  It is kept as a content, which others may
 * hold on to. */
void pla_entry_take_shape(PlaEntry *self, PlaMesh *mesh, float *open);
const PlaMesh *pla_entry_get_mesh(PlaEntry *self); /* or NULL */
/* An item of the case, whose mesh (if it has one) is the shape; refs @content. */
void pla_entry_set_content(PlaEntry *self, int64_t item, PlaContent *content);
void pla_entry_set_item(PlaEntry *self, int64_t item);
int64_t pla_entry_get_item(PlaEntry *self);        /* 0: none */
PlaContent *pla_entry_get_content(PlaEntry *self); /* borrowed, or NULL */

/* A field in colours; @view NULL: plain.  @lo and @hi in the view's unit; both 0: from the values.
 */
void pla_entry_set_field(PlaEntry *self, const PlaFieldView *view, double lo, double hi);
const PlaFieldView *pla_entry_get_field(PlaEntry *self); /* or NULL */
/* Values of the field, one per vertex or cell, and its range; NULL without one. */
const double *pla_entry_get_values(PlaEntry *self, double *lo, double *hi);
gboolean pla_entry_get_edges(PlaEntry *self);
void pla_entry_set_edges(PlaEntry *self, gboolean edges);
/* Stays whole where others are cut away at the crosshair. */
gboolean pla_entry_get_whole(PlaEntry *self);
void pla_entry_set_whole(PlaEntry *self, gboolean whole); /* before its shape or look is set */
const float *pla_entry_get_open(PlaEntry *self);

G_END_DECLS

/* The strip below the views when something of the case has time: markers of a take, or a series of
 * meshes (.pvd).  Plays at the pace of the recording, scrubs, and moves the views along.
 *
 * Hidden while there is nothing.  Keys: Space plays and stops, arrows step. */
#pragma once

#include "ui/document/document.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_TIMELINE (pla_timeline_get_type())
G_DECLARE_FINAL_TYPE(PlaTimeline, pla_timeline, PLA, TIMELINE, GtkWidget)

GtkWidget *pla_timeline_new(PlaDocument *document);
/* Reads a series of meshes; its first one is opened as a mesh and then moves. */
void pla_timeline_open(PlaTimeline *self, const char *path);
int pla_timeline_n_frames(PlaTimeline *self); /* 0: nothing has time */
int pla_timeline_get_frame(PlaTimeline *self);
void pla_timeline_set_frame(PlaTimeline *self, int frame); /* kept in range */
double pla_timeline_get_time(PlaTimeline *self);           /* of the frame, s */
gboolean pla_timeline_get_playing(PlaTimeline *self);
void pla_timeline_set_playing(PlaTimeline *self, gboolean playing);

G_END_DECLS

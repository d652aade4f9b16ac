/* Pictures of what is on the screen, one or many. */
#pragma once

#include "ui/views/scene-view.h"
#include "ui/views/timeline.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

/* A window as a PNG file; PLA_ERR_EMPTY before it was drawn in its present layout. */
PlaStatus pla_widget_save(GtkWidget *window, const char *path, PlaError *err);
/* An opaque cairo image of 32-bit pixels. */
GdkTexture *pla_texture_from_image(cairo_surface_t *image);

/* Whether ffmpeg is installed, which makes a video of numbered pictures. */
gboolean pla_record_has_video(void);
/* @err is NULL when it was done; not called after a cancel. */
typedef void (*PlaRecordDone)(const char *path, const PlaError *err, gpointer data);
/* Draws the view turning once round, or every moment of @timeline where it is not NULL, at the
 * picture size of the preferences; frame by frame between other work, as a job of @document.  An
 * ending that ffmpeg knows (.mp4, .webm) gives a video where ffmpeg is installed; otherwise @path
 * is a folder of numbered pictures. */
void pla_record(PlaDocument *document, PlaSceneView *scene, PlaTimeline *timeline, const char *path,
                PlaRecordDone done, gpointer data);

G_END_DECLS

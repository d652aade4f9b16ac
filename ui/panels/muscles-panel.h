/* The Muscles workspace: a body with muscles, moved by hand, fitted to markers, played, spoken.
 *
 * Seven steps on pages of their own; every button is an action ("muscles.fit", ...), and whatever
 * changes the case is an operation of it. */
#pragma once

#include "ui/document/motion-player.h"
#include "ui/panels/muscle-pose.h"
#include "ui/panels/muscle-speech.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MUSCLES_PANEL (pla_muscles_panel_get_type())
G_DECLARE_FINAL_TYPE(PlaMusclesPanel, pla_muscles_panel, PLA, MUSCLES_PANEL, AdwBin)

GtkWidget *pla_muscles_panel_new(PlaDocument *document);
PlaMotionPlayer *pla_muscles_panel_get_stage(PlaMusclesPanel *self);
PlaMusclePose *pla_muscles_panel_get_pose(PlaMusclesPanel *self);
PlaMuscleSpeech *pla_muscles_panel_get_speech(PlaMusclesPanel *self);
/* The sentence that is shown where something was refused; "" without one. */
const char *pla_muscles_panel_get_said(PlaMusclesPanel *self);
/* Writes the track that is chosen, or the residuals of the take, as a table; in the background. */
void pla_muscles_panel_export(PlaMusclesPanel *self, gboolean residuals, const char *path);

G_END_DECLS

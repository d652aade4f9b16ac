/* Activation curves of the track on the stage: a muscle, left and right, or the jaw is chosen and
 * drawn. */
#pragma once

#include "ui/document/motion-player.h"
#include "ui/widgets/plot-area.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MUSCLE_CURVES (pla_muscle_curves_get_type())
G_DECLARE_FINAL_TYPE(PlaMuscleCurves, pla_muscle_curves, PLA, MUSCLE_CURVES, GObject)

/* Fills @choice with what there is to choose, and draws into @place. */
PlaMuscleCurves *pla_muscle_curves_new(PlaMotionPlayer *stage, AdwComboRow *choice, AdwBin *place);
/* After another performance came. */
void pla_muscle_curves_update(PlaMuscleCurves *self);
void pla_muscle_curves_set_time(PlaMuscleCurves *self, double time_s); /* of the cursor */

G_END_DECLS

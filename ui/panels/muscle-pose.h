/* Sliders for muscles and jaw: right and left of each muscle in one row, found by name, moved
 * together or apart; the body follows. */
#pragma once

#include "app/verbs/verb-values.h"
#include "ui/document/motion-player.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_MUSCLE_POSE (pla_muscle_pose_get_type())
G_DECLARE_FINAL_TYPE(PlaMusclePose, pla_muscle_pose, PLA, MUSCLE_POSE, AdwBin)

void pla_muscle_pose_set_stage(PlaMusclePose *self, PlaMotionPlayer *stage); /* once */
GtkSwitch *pla_muscle_pose_get_see(PlaMusclePose *self); /* muscles through the skin */
/* What the sliders say into the controls of @values, of the verb "pose": what is at rest is left
 * out. */
void pla_muscle_pose_fill_controls(PlaMusclePose *self, PlaVerbValues *values);
const char *pla_muscle_pose_get_name(PlaMusclePose *self); /* that the pose is kept under */
void pla_muscle_pose_relax(PlaMusclePose *self);
/* A ready-made expression of a face: "smile", "frown", "surprise", "pucker", "open"; FALSE: there
 * is none of that name, or the body is no face. */
gboolean pla_muscle_pose_express(PlaMusclePose *self, const char *expression);
/* The slider of a muscle or of the jaw, by its name; or NULL. */
GtkRange *pla_muscle_pose_find(PlaMusclePose *self, const char *control);

G_END_DECLS

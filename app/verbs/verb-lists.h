/* Adds to those lists of a verb's parameters whose members have parts: one function for each kind
 * of member, so that its keys are written in one place. */
#pragma once

#include "app/motion/performance.h"
#include "app/surgery/plan-step.h"
#include "app/verbs/verb-values.h"

G_BEGIN_DECLS

/* ---- simulate ---- */

void pla_simulate_add_material(PlaVerbValues *values, int region, const char *preset,
                               const char *stiffness);
/* What is held: all within @radius_mm of a place, within @within_mm of a label of the label map
 * @item, or of a plane. */
void pla_simulate_hold_near(PlaVerbValues *values, const double at_mm[3], double radius_mm);
void pla_simulate_hold_label(PlaVerbValues *values, const char *item, int label, double within_mm);
void pla_simulate_hold_plane(PlaVerbValues *values, const double through_mm[3],
                             const double normal[3], double within_mm);
void pla_simulate_add_hook(PlaVerbValues *values, const double at_mm[3], const double pull_mm[3],
                           double radius_mm);
void pla_simulate_add_load(PlaVerbValues *values, const double at_mm[3], double radius_mm,
                           const double force_n[3]);

/* ---- operate ---- */

void pla_operate_add_step(PlaVerbValues *values, const PlaToolStep *step);

/* ---- set-labels ---- */

void pla_set_labels_add_name(PlaVerbValues *values, int label, const char *name);

/* ---- bodies that move and speak ---- */

void pla_pose_add_control(PlaVerbValues *values, const char *control, double value);
/* Of 'perform', 'say-line' and 'set-phonemes'. */
void pla_values_set_phonemes(PlaVerbValues *values, const PlaPhones *phones);
void pla_say_line_add_choice(PlaVerbValues *values, int phoneme, int candidate);

G_END_DECLS

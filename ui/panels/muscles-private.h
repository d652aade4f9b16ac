/* Inside the Muscles workspace: what its pages and its operations share.  Main thread only. */
#pragma once

#include "app/verbs/verb-values.h"
#include "ui/panels/muscle-curves.h"
#include "ui/panels/muscles-panel.h"

typedef enum {
  PLA_STEP_MODEL = 0,
  PLA_STEP_MOVE,
  PLA_STEP_TAKE,
  PLA_STEP_FIT,
  PLA_STEP_PLAY,
  PLA_STEP_SPEAK,
  PLA_STEP_EXPORT,
  PLA_N_STEPS
} PlaMusclesStep;

struct _PlaMusclesPanel {
  AdwBin parent_instance;
  GtkWidget *nothing, *stepper, *working, *move_nothing, *fit_nothing, *play_nothing;
  GtkWidget *bodies_group, *match_group, *fit_group, *result_group, *notes_group, *play_group,
      *curves_group, *try_group, *compute;
  GtkWidget *body, *by_place, *noise, *seconds, *jaw, *head, *fit_noise, *meet; /* of parameters */
  GtkDropDown *steps;
  GtkProgressBar *bar;
  GtkStack *pages;
  GtkLabel *say, *cost, *match, *fit_cost, *notes, *shown;
  AdwComboRow *detail, *bodies, *takes, *tracks, *curve;
  AdwEntryRow *text;
  GtkSwitch *see_muscles, *see_markers, *see_misfits;
  AdwBin *curve_place;
  PlaMusclePose *pose;
  PlaMuscleSpeech *speech;
  GtkWidget *speak_nothing;

  PlaDocument *document;
  PlaVerbValues *build, *record, *fit, *shapes; /* of active-body, perform, fit, animate */
  PlaMotionPlayer *stage;
  PlaMuscleCurves *curves;
  PlaJob *job; /* that the bar shows; or NULL */
  GtkFileChooserNative *chooser;
  GPtrArray *body_rows, *result_rows; /* borrowed */
  PlaMusclesStep step;
  gboolean busy, following;
};

/* ---- muscles-panel.c ---- */

void pla_muscles_say(PlaMusclesPanel *self, const char *text); /* NULL: nothing */
void pla_muscles_update_actions(PlaMusclesPanel *self);

/* ---- muscles-work.c: the operations of the pages, and the job that is shown meanwhile ---- */

void pla_muscles_show_cost(PlaMusclesPanel *self);
/* Actions of the panel. */
void pla_muscles_on_build(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_keep(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_record(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_fit(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_animate(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_say(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_on_cancel(GtkWidget *widget, const char *action, GVariant *param);
void pla_muscles_bind_rows(PlaMusclesPanel *self);

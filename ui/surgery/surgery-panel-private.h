/* Inside the Surgery workspace: what its panel, the hand over the skin, the steps of a plan that
 * both make, and the read-outs share.  Main thread only. */
#pragma once

#include "app/surgery/plan-step.h"
#include "app/surgery/plan.h"
#include "app/surgery/surgery-facts.h"
#include "app/verbs/live-solve.h"
#include "app/verbs/verb-values.h"
#include "ui/surgery/surgery-panel.h"

typedef enum {
  PLA_LOOK = 0,
  PLA_INCISE,
  PLA_EXCISE,
  PLA_UNDERMINE,
  PLA_HOOK,
  PLA_SUTURE,
  PLA_TEMPLATE,
  PLA_CUT,
  PLA_IMPLANT,
  PLA_EXPAND,
  PLA_TENSION,
  PLA_N_INSTRUMENTS
} PlaInstrument;

/* blades of PLA_CUT in the order of the list; surfaces of the case follow */
typedef enum {
  PLA_BLADE_AXIAL = 0,
  PLA_BLADE_CORONAL,
  PLA_BLADE_SAGITTAL,
  PLA_BLADE_POINTS, /* the plane through three */
  PLA_BLADE_LINE,   /* under a line on the skin */
  PLA_BLADE_SURFACES,
} PlaBladeKind;

/* one that lies in the body */
typedef struct {
  char *name; /* owned */
  double at_mm[3], radius_mm;
} PlaImplantChoice;

struct _PlaSurgeryPanel {
  AdwBin parent_instance;
  GtkWidget *lattice; /* row of a parameter */
  GtkWidget *nothing, *prepare_group, *table, *apply_box, *release_box, *apply;
  GtkWidget *points_row, *smooth_row, *depth_row, *bevel_row, *radius_row, *spacing_row,
      *tighten_row, *live_row, *threshold_row, *size_row, *angle_row, *turn_row, *mirror_row,
      *tilt_row, *pressure_row, *stages_row, *along_row, *across_row;
  AdwPreferencesGroup *step_group, *readings_group, *done_group, *bones_group;
  AdwEntryRow *name;
  AdwComboRow *from, *level, *first, *second, *map, *kind, *blade, *tissue, *which;
  GtkSpinButton *depth, *bevel, *radius, *spacing, *tighten, *threshold, *size, *angle, *turn,
      *tilt, *pressure, *stages, *along, *across;
  GtkSwitch *smooth, *live_switch, *mirror;
  GtkLabel *say, *shown, *above;

  PlaDocument *document;
  PlaVerbValues *prepare; /* of "prepare-body" */
  PlaEntry *body;         /* on the table, or NULL */
  PlaContent *content;    /* of it, as the rows below show it */
  PlaPlanPreview *preview;
  PlaContent *preview_for; /* that is being made, or is made */
  PlaInstrument instrument;
  GArray *points;                                  /* of double: xyz, mm */
  GPtrArray *wounds;                               /* names */
  GPtrArray *surfaces;                             /* entries that can be blades */
  GPtrArray *implants;                             /* PlaImplantChoice */
  GPtrArray *reading_rows, *done_rows, *bone_rows; /* borrowed */
  GPtrArray *bones;                                /* GtkSwitch, borrowed: of bone_rows */
  double hook_at[3], hook_pull[3];
  double normal[3];                /* of the skin where a template lies */
  double radii[PLA_N_INSTRUMENTS]; /* that each had last, mm */
  PlaError trouble;                /* why there is no step; empty: something is only missing */
  PlaLive *live;
  gboolean live_shown; /* the view shows what live made of the body */
  gboolean hooking, working, following;
  gboolean aim; /* the camera is still to be turned to the wounds */
};

/* ---- surgery-steps.c: what the panel says, in the words of a plan ---- */

/* Whether the pointer is the panel's. */
gboolean pla_surgery_panel_is_mine(PlaSurgeryPanel *self);
/* Whether clicks on the skin draw a line; whether they place anything. */
gboolean pla_surgery_panel_draws(const PlaSurgeryPanel *self);
gboolean pla_surgery_panel_places(const PlaSurgeryPanel *self);
/* How many points the instrument takes; 0: as many as are set. */
int pla_surgery_panel_max_points(PlaSurgeryPanel *self);
/* The step; NULL where something is missing.  pla_tool_step_free(). */
PlaToolStep *pla_surgery_panel_build_step(PlaSurgeryPanel *self);
/* All that is to be done when it is applied, of PlaToolStep: what grows does so in stages, each to
 * equilibrium.  NULL where something is missing. */
GPtrArray *pla_surgery_panel_build_steps(PlaSurgeryPanel *self);
PlaTemplateChoice pla_surgery_panel_chosen_template(PlaSurgeryPanel *self);
/* The tissue in whose plane to undermine, NULL: at a depth; borrowed. */
const char *pla_surgery_panel_chosen_level(PlaSurgeryPanel *self);
/* The implant that is to grow, NULL: a new one; borrowed. */
const PlaImplantChoice *pla_surgery_panel_chosen_implant(PlaSurgeryPanel *self);
PlaBladeKind pla_surgery_panel_chosen_blade(PlaSurgeryPanel *self);

/* ---- surgery-hand.c: the pointer, and what is drawn over the body ---- */

void pla_surgery_panel_redraw(PlaSurgeryPanel *self);
void pla_surgery_panel_show_marks(PlaSurgeryPanel *self);
void pla_surgery_panel_show_sketch(PlaSurgeryPanel *self);
/* For the body that is on the table now, on a worker. */
void pla_surgery_panel_make_preview(PlaSurgeryPanel *self);
/* Turns the camera to the wounds, once they are known. */
void pla_surgery_panel_aim(PlaSurgeryPanel *self);
void pla_surgery_panel_set_point(PlaSurgeryPanel *self, const double at_mm[3]);
void pla_surgery_panel_on_picked(PlaSurgeryPanel *self, PlaEntry *entry, const PlaScenePick *pick);
void pla_surgery_panel_on_placed(PlaSurgeryPanel *self, int mark, const PlaScenePick *pick,
                                 gboolean done);
void pla_surgery_panel_on_dragged(PlaSurgeryPanel *self, int mark, const double *pull_mm,
                                  gboolean done);
void pla_surgery_panel_stop_live(PlaSurgeryPanel *self);

/* ---- surgery-readings.c: what was done, and what it did ---- */

/* @facts: of the body, or NULL without one. */
void pla_surgery_panel_show_readings(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts);
void pla_surgery_panel_show_done(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts);
void pla_surgery_panel_show_map(PlaSurgeryPanel *self);
void pla_surgery_panel_on_map(PlaSurgeryPanel *self);

/* ---- surgery-choices.c: lists to choose from ---- */

void pla_surgery_panel_implant_free(gpointer implant);
void pla_surgery_panel_offer_from_body(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts);
void pla_surgery_panel_offer_from_case(PlaSurgeryPanel *self);

/* ---- surgery-panel.c ---- */

void pla_surgery_panel_say(PlaSurgeryPanel *self, const char *text, gboolean bad);
void pla_surgery_panel_update_actions(PlaSurgeryPanel *self);
void pla_surgery_panel_run_steps(PlaSurgeryPanel *self, GPtrArray *steps,
                                 const char *title); /* takes @steps */

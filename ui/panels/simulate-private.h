/* Inside the Simulate workspace: what its panel, the hand over the body, the rows of a body and the
 * read-outs share.  Main thread only. */
#pragma once

#include "app/verbs/live-solve.h"
#include "app/verbs/verb-values.h"
#include "ui/panels/simulate-panel.h"

/* a place of the body and what is done to it there, in the coordinates of the body at rest */
typedef struct {
  PlaMarkKind kind;
  double at_mm[3], way_mm[3]; /* of hooks: the pull; of loads: the direction */
  double radius_mm;
} PlaSimulatePlace;

/* a way to hold the body that can be switched */
typedef struct {
  GtkSwitch *active;
  int label;                       /* > 0: where the body touches this tissue */
  double through_mm[3], normal[3]; /* else where the scan ends: a plane */
  double within_mm;
} PlaSimulateHolder;

struct _PlaSimulatePanel {
  AdwBin parent_instance;
  AdwPreferencesGroup *tissue_group, *held_group, *pull_group;
  GtkWidget *body, *nothing, *failure_box, *show_element, *result_group;
  GtkWidget *gravity, *steps; /* rows of parameters */
  AdwComboRow *mesh, *stiffness, *result, *field;
  GtkToggleButton *hold_tool, *hook_tool, *load_tool;
  GtkSwitch *live_switch;
  GtkSpinButton *force, *lo, *hi;
  GtkLabel *failure, *quality, *live_state;

  PlaDocument *document;
  PlaVerbValues *values;                          /* of "simulate" */
  GPtrArray *bodies, *results;                    /* of PlaEntry */
  PlaContent *setup_for;                          /* the mesh that the rows below are of */
  GPtrArray *tissue_rows, *held_rows, *pull_rows; /* borrowed */
  GArray *regions;                                /* of int */
  GPtrArray *presets;                             /* of AdwComboRow, borrowed, one a region */
  GArray *holders;                                /* of PlaSimulateHolder */
  GArray *places;                                 /* of PlaSimulatePlace */

  PlaLive *live;
  double *live_pos; /* the body as it is shown meanwhile, or NULL */
  int worst_element;
  gboolean following;
};

/* ---- simulate-panel.c ---- */

/* The body and the result that are chosen, or NULL; borrowed. */
PlaEntry *pla_simulate_get_body(PlaSimulatePanel *self);
PlaEntry *pla_simulate_get_result(PlaSimulatePanel *self);
/* Whether an entry is the chosen body, or what became of it. */
gboolean pla_simulate_is_body(PlaSimulatePanel *self, PlaEntry *entry);
void pla_simulate_show_failure(PlaSimulatePanel *self, const char *sentence); /* or NULL */
/* What rows and places say, into the values. */
void pla_simulate_fill_values(PlaSimulatePanel *self);

/* ---- simulate-hand.c: places on the body, the pointer, and the body that follows it ---- */

void pla_simulate_show_marks(PlaSimulatePanel *self);
void pla_simulate_update_places(PlaSimulatePanel *self); /* the list of them */
void pla_simulate_stop_live(PlaSimulatePanel *self);
gboolean pla_simulate_is_mine(PlaSimulatePanel *self); /* the pointer */
void pla_simulate_connect_hand(PlaSimulatePanel *self);

/* ---- simulate-setup.c: rows for the tissues of a body, and for what may hold it ---- */

void pla_simulate_set_up(PlaSimulatePanel *self, PlaEntry *body); /* NULL: none */

/* ---- simulate-result.c: how good a result is, and its colours ---- */

void pla_simulate_show_result(PlaSimulatePanel *self, PlaEntry *entry); /* NULL: none */
void pla_simulate_connect_result(PlaSimulatePanel *self);

/* Phonemes over time in one lane: boundaries can be dragged, a click chooses a phoneme.
 *
 * Keys: Left and Right choose the neighbour, Shift with them moves the end of the chosen one.
 * Signals: "boundary-moved" (int phoneme, double time s): its end is wanted there; "selected"
 * (int). */
#pragma once

#include "anatomy/signal/phones.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define PLA_TYPE_PHONEME_LANE (pla_phoneme_lane_get_type())
G_DECLARE_FINAL_TYPE(PlaPhonemeLane, pla_phoneme_lane, PLA, PHONEME_LANE, GtkWidget)

GtkWidget *pla_phoneme_lane_new(void);
void pla_phoneme_lane_set(PlaPhonemeLane *self, const PlaPhones *phones); /* copied */
const PlaPhones *pla_phoneme_lane_get(PlaPhonemeLane *self);
void pla_phoneme_lane_set_cursor(PlaPhonemeLane *self, double time_s); /* NaN: none */
int pla_phoneme_lane_get_selected(PlaPhonemeLane *self);               /* -1: none */
void pla_phoneme_lane_select(PlaPhonemeLane *self, int phoneme);
/* Time at a place of the widget, and the other way round. */
double pla_phoneme_lane_time_at(PlaPhonemeLane *self, double x);
double pla_phoneme_lane_place_of(PlaPhonemeLane *self, double time_s);

G_END_DECLS

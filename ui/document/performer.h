/* The body with muscles that the Muscles workspace works on: which items of the case it is, what it
 * does now, and what the views show of it.
 *
 * Reads on a worker whenever the items change; poses are solved on a thread of their own.  Main
 * thread only.  Signals: "changed" (another performance, or none), "moved" (another shape is
 * shown), "failed" (a sentence). */
#pragma once

#include "app/motion/performance.h"
#include "ui/document/document.h"

G_BEGIN_DECLS

#define PLA_TYPE_PERFORMER (pla_performer_get_type())
G_DECLARE_FINAL_TYPE(PlaPerformer, pla_performer, PLA, PERFORMER, GObject)

PlaPerformer *pla_performer_new(PlaDocument *document);
PlaDocument *pla_performer_get_document(PlaPerformer *self);
/* What is on the stage, or NULL; borrowed until "changed". */
const PlaPerformance *pla_performer_get(PlaPerformer *self);

typedef enum {
  PLA_PERFORMER_MUSCLES = 0,
  PLA_PERFORMER_TRACK,
  PLA_PERFORMER_MARKERS,
  PLA_N_PERFORMER_ITEMS
} PlaPerformerItem;
/* Names of the items that can be chosen, newest last; g_strfreev(). */
GStrv pla_performer_list(PlaPerformer *self, PlaPerformerItem which);
const char *pla_performer_get_name(PlaPerformer *self,
                                   PlaPerformerItem which); /* chosen; or NULL */
/* NULL: the newest. */
void pla_performer_choose(PlaPerformer *self, PlaPerformerItem which, const char *name);
void pla_performer_set_by_geometry(PlaPerformer *self, gboolean by_geometry);

/* While it is not on, the views show the case as it is. */
void pla_performer_set_on(PlaPerformer *self, gboolean on);
/* What is played, if anything: the frames of the track, and of the take along with it. */
typedef enum { PLA_PLAY_NOTHING = 0, PLA_PLAY_TAKE, PLA_PLAY_TRACK, PLA_PLAY_PREVIEW } PlaPlay;
void pla_performer_set_play(PlaPerformer *self, PlaPlay play);
/* What is played as PLA_PLAY_PREVIEW; NULL: nothing.  @show fills the controls of a frame and,
 * unless it returns FALSE, its shape. */
typedef struct {
  const char *title;
  int n_frames;
  double rate_hz, start_s;
  gboolean (*show)(int frame, double *pos, double *control, gpointer data);
  gpointer data;
} PlaPreview;
void pla_performer_set_preview(PlaPerformer *self, const PlaPreview *preview); /* copied */
int pla_performer_get_frame(PlaPerformer *self);
/* Lines of muscles under a translucent skin; markers, and arrows of their misfit. */
void pla_performer_set_layers(PlaPerformer *self, gboolean muscles, gboolean markers,
                              gboolean misfits);

/* Controls of what is shown (n_controls), or NULL. */
const double *pla_performer_get_controls(PlaPerformer *self);
/* Moves the body by hand: shapes follow as they are found. */
void pla_performer_pose(PlaPerformer *self, const double *control);
typedef enum {
  PLA_SHOWN_REST = 0,
  PLA_SHOWN_STORED,
  PLA_SHOWN_MOVING,
  PLA_SHOWN_LIVE,
  PLA_SHOWN_SHORT
} PlaShown;
/* How the shape came about: at rest, stored with the track, on its way, in equilibrium, as far as
 * there is one. */
PlaShown pla_performer_get_shown(PlaPerformer *self);

G_END_DECLS

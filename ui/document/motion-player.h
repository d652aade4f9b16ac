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

#define PLA_TYPE_MOTION_PLAYER (pla_motion_player_get_type())
G_DECLARE_FINAL_TYPE(PlaMotionPlayer, pla_motion_player, PLA, MOTION_PLAYER, GObject)

PlaMotionPlayer *pla_motion_player_new(PlaDocument *document);
PlaDocument *pla_motion_player_get_document(PlaMotionPlayer *self);
/* What is on the stage, or NULL; borrowed until "changed". */
const PlaPerformance *pla_motion_player_get(PlaMotionPlayer *self);

typedef enum {
  PLA_MOTION_MUSCLES = 0,
  PLA_MOTION_TRACK,
  PLA_MOTION_MARKERS,
  PLA_N_MOTION_ITEMS
} PlaMotionItem;
/* Names of the items that can be chosen, newest last; g_strfreev(). */
GStrv pla_motion_player_list(PlaMotionPlayer *self, PlaMotionItem which);
const char *pla_motion_player_get_name(PlaMotionPlayer *self,
                                       PlaMotionItem which); /* chosen; or NULL */
/* NULL: the newest. */
void pla_motion_player_choose(PlaMotionPlayer *self, PlaMotionItem which, const char *name);
void pla_motion_player_set_by_geometry(PlaMotionPlayer *self, gboolean by_geometry);

/* While it is not on, the views show the case as it is. */
void pla_motion_player_set_on(PlaMotionPlayer *self, gboolean on);
/* What is played, if anything: the frames of the track, and of the take along with it. */
typedef enum { PLA_PLAY_NOTHING = 0, PLA_PLAY_TAKE, PLA_PLAY_TRACK, PLA_PLAY_PREVIEW } PlaPlay;
void pla_motion_player_set_play(PlaMotionPlayer *self, PlaPlay play);
/* What is played as PLA_PLAY_PREVIEW; NULL: nothing.  @show fills the controls of a frame and,
 * unless it returns FALSE, its shape. */
typedef struct {
  const char *title;
  int n_frames;
  double rate_hz, start_s;
  gboolean (*show)(int frame, double *pos, double *control, gpointer data);
  gpointer data;
} PlaPreview;
void pla_motion_player_set_preview(PlaMotionPlayer *self, const PlaPreview *preview); /* copied */
int pla_motion_player_get_frame(PlaMotionPlayer *self);
/* Lines of muscles under a translucent skin; markers, and arrows of their misfit. */
void pla_motion_player_set_layers(PlaMotionPlayer *self, gboolean muscles, gboolean markers,
                                  gboolean misfits);

/* Controls of what is shown (n_controls), or NULL. */
const double *pla_motion_player_get_controls(PlaMotionPlayer *self);
/* Moves the body by hand: shapes follow as they are found. */
void pla_motion_player_pose(PlaMotionPlayer *self, const double *control);
typedef enum {
  PLA_SHOWN_REST = 0,
  PLA_SHOWN_STORED,
  PLA_SHOWN_MOVING,
  PLA_SHOWN_LIVE,
  PLA_SHOWN_SHORT
} PlaShown;
/* How the shape came about: at rest, stored with the track, on its way, in equilibrium, as far as
 * there is one. */
PlaShown pla_motion_player_get_shown(PlaMotionPlayer *self);

G_END_DECLS

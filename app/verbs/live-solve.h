/* A simulation that follows the hand: while hooks are dragged, the body moves with them.
 *
 * A thread of its own sweeps over the body (sim/solve/pbng.h) and hands out the shape after every
 * few sweeps; a new place of a hook replaces the old one at once.  What it shows is on its way to
 * equilibrium: the operation "simulate" with the same parameters is the answer that is kept; of a
 * body on the operating table, "operate" with a hook and a solve; of muscles, "pose".
 *
 * Functions are called on the main thread, and so is the caller's. */
#pragma once

#include "app/verbs/verb.h"

typedef struct PlaLive PlaLive;

typedef struct {
  int n_verts;
  const double *pos;   /* m (n_verts x 3), until the next call */
  double residual_rel; /* of the unbalanced force when the hooks last moved */
  int sweeps;          /* since then */
  double force_n;      /* of the hook on a surgical body; else 0 */
  bool settled;        /* nothing more will come until a hook moves */
  bool reached; /* false: muscles ask for more than there is an equilibrium for, and this is the
                   last one on the way */
} PlaLiveShape;

/* @shape is NULL where it could not begin: @err then has the sentence. */
typedef void (*PlaLiveFunc)(const PlaLiveShape *shape, const PlaError *err, void *data);

/* @request of the verb "simulate", on the state @state of the case file @path; both are copied. */
PlaLive *pla_live_start(const char *path, const PlaState *state, const PlaRequest *request,
                        PlaLiveFunc func, void *data);
/* A hook at @at_mm on a surgical body, an item of its kind: the shape is that of its mesh. */
PlaLive *pla_live_start_body(PlaContent *body, const double at_mm[3], PlaLiveFunc func, void *data);
/* A body moved by its muscles: the items of its mesh and of its muscles.  Each shape is an
 * equilibrium. */
PlaLive *pla_live_start_pose(PlaContent *mesh, PlaContent *muscles, PlaLiveFunc func, void *data);
/* The newest activations and jaw, as in PlaActiveState (copied). */
void pla_live_pose(PlaLive *self, const double *control, int n);
/* The newest way of hook @hook. */
void pla_live_pull(PlaLive *self, int hook, const double pull_mm[3]);
/* No call comes after this; the thread ends when it notices.  NULL is fine. */
void pla_live_stop(PlaLive *self);

/* What the pointer does in the views, beyond looking: pick a place, drag a hook, paint a tissue;
 * and the marks that panels put into the views.
 *
 * A panel chooses the tool and listens; the views report what the hand does.  Main thread only.
 * Signals:
 *   "tool-changed"
 *   "picked" (PlaEntry *entry or NULL, const PlaScenePick *): a place on a shape, or (without entry
 *     and normal) on a slice
 *   "placed" (int mark, const PlaScenePick *, gboolean done): a point of a drawing, moved over the
 *     surface under the hand
 *   "dragged" (int mark, const double pull_mm[3], gboolean done): a mark under the hand
 *   "stroked" (const GArray *points: doubles, xyz in mm): a brush stroke on a slice, finished
 *   "marks-changed", "sketch-changed", "strands-changed"
 *   "reel-changed": something else is to be played; "seek" (int frame): go there; "frame-shown"
 * (int frame): the timeline has come there "moved" (PlaEntry *, const double *pos): the shape of an
 * entry meanwhile, m; NULL: as stored "aimed" (const PlaAim *): look there */
#pragma once

#include "app/surgery/plan-preview.h"
#include "ui/document/entry.h"

G_BEGIN_DECLS

typedef enum {
  PLA_TOOL_NONE = 0,
  PLA_TOOL_PICK,  /* a click names a place */
  PLA_TOOL_HOOK,  /* a press on a surface sets a mark, which then follows the hand */
  PLA_TOOL_BRUSH, /* a drag on a slice paints */
  PLA_TOOL_DRAW,  /* a click on a surface sets a point; points follow the hand over the surface */
} PlaTool;

typedef enum {
  PLA_MARK_HELD = 0, /* a ball: the body is held there */
  PLA_MARK_HOOK,     /* a ball and an arrow: pulled there */
  PLA_MARK_LOAD,     /* an arrow: pushed there */
  PLA_MARK_POINT,    /* a ball: a point of a drawing */
  PLA_MARK_MARKER,   /* a small ball: a marker of a recording */
  PLA_MARK_MISFIT,   /* a thin arrow: how far a marker is from where it should be */
  PLA_N_MARKS
} PlaMarkKind;

typedef struct {
  PlaMarkKind kind;
  double at_mm[3];
  double pull_mm[3]; /* of hooks and loads: where to */
  double radius_mm;  /* of what is held */
} PlaMark;

#define PLA_TYPE_TOOLS (pla_tools_get_type())
G_DECLARE_FINAL_TYPE(PlaTools, pla_tools, PLA, TOOLS, GObject)

PlaTools *pla_tools_new(void);
PlaTool pla_tools_get(PlaTools *self);
/* @owner asked for it (a panel; borrowed, may be NULL); @hint is shown in the views, or NULL. */
void pla_tools_set(PlaTools *self, PlaTool tool, gpointer owner, const char *hint);
gpointer pla_tools_get_owner(PlaTools *self);
const char *pla_tools_get_hint(PlaTools *self); /* or NULL */
void pla_tools_set_brush(PlaTools *self, double radius_mm, const GdkRGBA *rgba);
double pla_tools_get_brush(PlaTools *self, GdkRGBA *rgba); /* radius, mm */

void pla_tools_set_marks(PlaTools *self, const PlaMark *marks, int n); /* copied */
const PlaMark *pla_tools_get_marks(PlaTools *self, int *n);

/* What the camera is to look at: a place, from where it is seen, how much around it. */
typedef struct {
  double middle_mm[3], towards[3]; /* the viewer stands that way, unit */
  double radius_mm;
} PlaAim;

/* What is sewn and what lies inside, mm. */
typedef struct {
  int n_threads, n_knots, n_implants;
  double *thread;  /* from end to end (n_threads x 6) */
  double *knot;    /* (n_knots x 3) */
  double *implant; /* place and radius (n_implants x 4) */
} PlaSeams;
/* Lines and blades over the shapes, copied; either may be NULL. */
void pla_tools_set_sketch(PlaTools *self, const PlaSketch *sketch, const PlaSeams *seams);
const PlaSketch *pla_tools_get_sketch(PlaTools *self);
const PlaSeams *pla_tools_get_seams(PlaTools *self);

/* Muscles as lines, mm, and how active each is. */
typedef struct {
  int n_lines, n_points;
  double *pos;   /* n_points x 3 */
  int *start;    /* points of line l: start[l] .. start[l + 1] - 1 (n_lines + 1) */
  double *level; /* 0..1 (n_lines) */
  double radius_mm;
} PlaStrands;
void pla_tools_set_strands(PlaTools *self, const PlaStrands *strands); /* copied; NULL: none */
const PlaStrands *pla_tools_get_strands(PlaTools *self);

/* What a panel plays: the timeline below the views shows its time instead of the case's recording,
 * and the panel shows what belongs to each frame. */
typedef struct {
  gpointer owner; /* borrowed, to be compared */
  char *title;
  int n_frames; /* 0: nothing is played, not even what the case has recorded */
  double rate_hz, start_s;
} PlaReel;
/* Takes a copy; NULL takes away that of @owner, and there is none (whose owner is NULL). */
void pla_tools_set_reel(PlaTools *self, gpointer owner, const PlaReel *reel);
const PlaReel *pla_tools_get_reel(PlaTools *self);
void pla_tools_seek(PlaTools *self, int frame);       /* by a panel */
void pla_tools_show_frame(PlaTools *self, int frame); /* by the timeline */

/* For views and solvers. */
void pla_tools_place(PlaTools *self, int mark, const PlaScenePick *pick, gboolean done);
void pla_tools_pick(PlaTools *self, PlaEntry *entry, const PlaScenePick *pick);
void pla_tools_drag(PlaTools *self, int mark, const double pull_mm[3], gboolean done);
void pla_tools_stroke(PlaTools *self, const GArray *points_mm);
void pla_tools_move(PlaTools *self, PlaEntry *entry, const double *pos);
void pla_tools_aim(PlaTools *self, const double middle_mm[3], const double towards[3],
                   double radius_mm);

G_END_DECLS

/* Inside the 3-D view: what its pictures, what is in the scene and the hand share. */
#pragma once

#include "ui/views/scene-view.h"
#include "ui/views/volume-cast.h"

/* scene ids beyond all entries */
enum {
  PLA_SLICE_ID = 1 << 24, /* the three planes */
  PLA_MARK_ID = 1 << 25,  /* marks by their kind */
  PLA_SKETCH_ID = 1 << 26,
  PLA_STRAND_ID = PLA_SKETCH_ID + 16
};

struct _PlaSceneView {
  GtkWidget parent_instance;
  PlaDocument *document;
  GtkWidget *overlay, *area, *volume, *ink;
  const PlaRenderer *render;
  PlaScene *scene; /* NULL: drawing is not possible here */
  PlaCamera camera;
  PlaViewPreset preset;
  gboolean aimed; /* looks at a part: new shapes do not change that */
  PlaAim aim;
  gboolean framed_by_user; /* the camera was moved: new shapes do not move it again */
  gboolean slices, dark;
  gboolean blade; /* a sketch goes through the body */
  guint settle;   /* source id: full quality once nothing moves */
  guint refine;   /* source id: the full picture grows, a band a turn */
  int band, n_bands;
  gboolean complete; /* the full picture is there */
  guint preparing;   /* shapes on their way */
  guint warming;     /* source id: pictures that the driver has not seen yet */
  int warmed;
  const PlaTransfer *transfer; /* how the scan itself is shown, or NULL: shapes */
  PlaVolumeCast *cast;         /* draws it */
  char *clip;                  /* the side that is cut away at the crosshair, or NULL */

  enum { IDLE, TURNING, PANNING, ZOOMING, PULLING, PLACING } drag;
  double pressed[2]; /* where the drag began */
  PlaCamera start;
  int pulled;             /* mark under the hand */
  double pulled_mm[3];    /* where it was picked */
  double pulled_start[3]; /* its pull then */
};

/* ---- scene-view.c: the camera, and pictures from draft to full ---- */

/* Something else is to be seen: fast pictures now, a good one when nothing has moved for a moment.
 */
void pla_scene_view_changed(PlaSceneView *self);
/* The camera back to where all is seen, or the part that it was aimed at. */
void pla_scene_view_fit(PlaSceneView *self);

/* ---- scene-shapes.c: shapes, marks, drawings, slices and the plane that cuts them ---- */

void pla_scene_view_connect_shapes(PlaSceneView *self);
void pla_scene_view_update_slices(PlaSceneView *self);
void pla_scene_view_put_marks(PlaSceneView *self); /* those of the tools */

/* ---- scene-hand.c: the pointer and the keys ---- */

void pla_scene_view_connect_hand(PlaSceneView *self);

/* The muscles behind a moving tongue: activations of the phantom's groups that explain the shapes
 * that are seen.
 *
 * The flesh of the body "phantom:tongue" is asked once how the 22 places on its back follow each
 * muscle (pla_active_sensitivity() at rest); every frame is then the exact program of the fit in
 * the box of the bounds, min |J a - y|^2 / sigma^2 + |a|^2 / prior^2,  0 <= a <= 1, so that it
 * keeps pace with speech.  y is the motion of the places from the speaker's posture at rest (the
 * neutral one in the phantom's plane, the mean of recorded coils), without what the jaw carries
 * along: muscles explain what the tongue does in the mouth.  Being linear it is an estimate for
 * large motions; what it leaves is reported. */
#pragma once

#include "sim/bodies/active-body.h"
#include "sim/tongue/tongue-motion.h"

typedef struct PlaTongueMuscles PlaTongueMuscles;

/* For the frames of motions of @tongue, which must be the phantom's (PLA_ERR_USAGE for another) and
 * is borrowed.  @body, the phantom's too, is this object's from now on, after a failure too. */
PlaStatus pla_tongue_muscles_new(const PlaTongue *tongue, PlaActiveBody *body,
                                 PlaProgress *progress, PlaTongueMuscles **out, PlaError *err);
void pla_tongue_muscles_free(PlaTongueMuscles *self); /* NULL is fine */
int pla_tongue_muscles_count(const PlaTongueMuscles *self);
const char *pla_tongue_muscles_name(const PlaTongueMuscles *self,
                                    int muscle); /* "styloglossus, right" */

/* What a frame comes to, root mean square over the places, mm. */
typedef struct {
  double motion_mm;   /* that was to be explained */
  double residual_mm; /* that no activation explains */
} PlaTongueMusclesFrame;
/* Activations, 0..1 (count), of the newest frame of @motion.  Threads may share @self. */
PlaStatus pla_tongue_muscles_explain(const PlaTongueMuscles *self, const PlaTongueMotion *motion,
                                     double *activation, PlaTongueMusclesFrame *frame,
                                     PlaError *err);

/* The same over a whole track. */
typedef struct {
  PlaTrack *track;      /* a channel for each muscle, 0..1 */
  double *moved, *left; /* squares of what a frame comes to, mm^2 (n_samples) */
} PlaTongueActivations;

/* Room for the frames of @like. */
PlaStatus pla_tongue_activations_init(PlaTongueActivations *self, const PlaTongueMuscles *muscles,
                                      const PlaTrack *like, PlaError *err);
void pla_tongue_activations_clear(PlaTongueActivations *self);
/* Fills in @frame from the newest of @motion.  Threads may fill different ones. */
PlaStatus pla_tongue_activations_explain(PlaTongueActivations *self,
                                         const PlaTongueMuscles *muscles,
                                         const PlaTongueMotion *motion, int frame, PlaError *err);
PlaTongueMusclesFrame
pla_tongue_activations_rms(const PlaTongueActivations *self); /* over all frames */

/* One muscle among the channels: its left and right follow each other. */
typedef struct {
  int first, n;  /* channels */
  char name[64]; /* without the side */
} PlaTongueLane;
/* From { 0 } to the first one and on to the next; false after the last. */
bool pla_tongue_lane_next(const PlaTrack *activations, PlaTongueLane *lane);
double pla_tongue_lane_at(const PlaTrack *activations, const PlaTongueLane *lane,
                          int frame); /* mean */

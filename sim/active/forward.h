/* An active body in its surroundings, frame after frame: contact of its parts, bones and other
 * colliders, with or without inertia.
 *
 * The equilibria of active.h know neither contact nor time, which is what a fit needs; this is the
 * forward pass for tracks that are known: lips that meet stay apart, teeth stop them, a new
 * collider is met by the same controls (Sifakis 2007, 8.7), and fast tracks lag behind as flesh
 * with mass does. */
#pragma once

#include "sim/active/active.h"
#include "sim/contact/contact.h"

typedef struct {
  const PlaContactOptions *contact; /* NULL: nothing touches */
  int n_colliders;
  PlaCollider *const
      *collider; /* borrowed; those of the jaw are posed by each step (n_colliders) */
  const unsigned char
      *with_jaw;       /* 1: goes with the jaw; 0: stays in the cranium's frame (n_colliders) */
  double dt_s;         /* between frames; 0: quasistatic */
  int substeps;        /* of a frame in time; 0: 4 */
  double mass_damping; /* 1/s */
  double stiffness_damping; /* s */
  double tolerance_rel;     /* of every solve; 0: 1e-5 */
} PlaForwardOptions;

typedef struct {
  int iterations;
  int contacts; /* points that something pushes */
  double max_penetration_m;
  double contact_n; /* sum of all pushes */
  int inverted;
  bool converged;
} PlaForwardReport;

typedef struct PlaForward PlaForward;
/* At rest.  @model and what @options points to are borrowed. */
PlaStatus pla_forward_new(const PlaActiveModel *model, const PlaForwardOptions *options,
                          PlaForward **out, PlaError *err);
void pla_forward_free(PlaForward *self); /* NULL is fine */

/* The next frame, at @control.  The first one in time is reached without inertia.  What is not
 * reached is a result (report->converged). */
PlaStatus pla_forward_step(PlaForward *self, const double *control, PlaProgress *progress,
                           PlaForwardReport *report, PlaError *err);
const double *pla_forward_get_pos(const PlaForward *self); /* m (n_verts x 3) */

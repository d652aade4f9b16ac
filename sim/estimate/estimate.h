/* How far a solution is from that of infinitely small elements.
 *
 * The estimate is the difference to quadratic tets on the same mesh: one Newton step from the
 * solution in the space that has, beside the linear functions, a bubble on every edge.  It sees
 * what elements do wrong that lock, that are too coarse for a bend, and that are too soft, and it
 * carries the error from where it is made to where it shows.  For a space that is richer by one
 * order this is the hierarchical estimate of Bank and Smith (1993), with the global step solved
 * instead of its blocks alone. */
#pragma once

#include "sim/linear/pcg.h"
#include "sim/solve/solve.h"

typedef struct {
  double *shift;           /* from the solution to the better one, m (n_verts x 3) */
  double *von_mises_pa;    /* the same of the von Mises stress of each cell (n_cells) */
  double von_mises_rms_pa; /* over the volume */
  double *reaction;        /* the same of the force that a prescribed coordinate needs, N
                              (n_verts x 3); 0 elsewhere */
  PlaRefineReport solve;   /* of the step */
} PlaErrorEstimate;

/* Estimates the error of the equilibrium @pos (n_verts x 3, m) of @model under @conditions.
 * @gravity: what of conditions->force is weight, m/s2.  Contacts are those of the
 * newest update.  PLA_ERR_USAGE where the model has hexes, or inertia acts.  Same bits for any
 * number of threads. */
PlaStatus pla_error_estimate_init(PlaErrorEstimate *self, const PlaFemModel *model,
                                  const PlaFemConditions *conditions, const double gravity[3],
                                  const double *pos, PlaProgress *progress, PlaError *err);
void pla_error_estimate_clear(PlaErrorEstimate *self);

/* Strengths of muscles and the stiffness of the flesh from poses whose activations are known:
 * instructed, or from electromyography.
 *
 * A muscle of strength s pulls as s a.  In quasistatics only the ratio of strength to stiffness
 * shows, so strengths are relative to a flesh that is taken as given, and the flesh's stiffness to
 * muscles that are; sought together, they are told apart by the prior on the strengths alone, which
 * the expected errors show. Gauss-Newton over all poses at once, from the same factors as a fit:
 *   dx/ds_i = a_i dx/da_i,   K dx/dlog(E) = f_flesh(x). */
#pragma once

#include "sim/fit/fit.h"

/* The body with flesh @stiffness times as stiff as it is; the caller frees *out. */
typedef PlaStatus (*PlaFleshMaker)(double stiffness, void *data, PlaActiveModel **out,
                                   PlaError *err);

typedef struct {
  bool strengths;
  bool stiffness;
  double most;        /* strength, and stiffness from 1 / most to it */
  PlaFleshMaker make; /* where the stiffness is sought */
  void *data;
} PlaIdentifyOptions;

typedef struct {
  int iterations;
  double rms_m;                          /* of the markers at the end */
  double noise_m;                        /* per axis, robust */
  double stiffness, stiffness_deviation; /* times what was assumed; its expected error, relative */
} PlaIdentifyReport;

/* @control: of each frame of @take, which is a pose (n_frames x n_controls).  @strength
 * (n_muscles): in a guess, out the answer within 0..most, where strengths are sought.  @deviation
 * (n_muscles, may be NULL): expected errors; those of muscles that no pose shows stay near 1, and 0
 * where they are not sought. */
PlaStatus pla_fit_identify(const PlaActiveModel *model, const PlaMarkerSite *const *site,
                           const PlaTake *take, const double *control, const PlaFitOptions *opts,
                           const PlaIdentifyOptions *what, double *strength, double *deviation,
                           PlaIdentifyReport *report, PlaError *err);

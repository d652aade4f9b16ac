/* Strengths of muscles from poses whose activations are known: instructed, or from electromyography.
 *
 * A muscle of strength s pulls as s a; in quasistatics only the ratio of strength to the flesh's stiffness
 * shows, so strengths are relative to a flesh that is taken as given.  Gauss-Newton over all poses at
 * once, dx/ds_i = a_i dx/da_i, from the same factors as a fit. */
#pragma once

#include "sim/fit/fit.h"

typedef struct {
  int iterations;
  double rms_m;   /* of the markers at the end */
  double noise_m; /* per axis, robust */
} PlaStrengthReport;

/* @control: of each frame of @take, which is a pose (n_frames x n_controls).  @strength (n_muscles): in a
 * guess, out the answer within 0..@most.  @deviation (n_muscles, may be NULL): expected errors; those of
 * muscles that no pose shows stay near 1. */
PlaStatus pla_fit_strengths(const PlaActiveModel *model, const PlaMarkerSite *const *site,
                            const PlaTake *take, const double *control, const PlaFitOptions *opts,
                            double most, double *strength, double *deviation,
                            PlaStrengthReport *report, PlaError *err);

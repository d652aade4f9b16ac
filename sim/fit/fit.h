/* Muscle activations, jaw and head motion from markers.
 *
 * Gauss-Newton on the controls of an active model and the pose of the head (Sifakis, Neverov and
 * Fedkiw 2005): the derivatives of all markers by all controls from one factor of the true tangent,
 * a quadratic program in the box of the controls' bounds, and a step that is halved while it does
 * not lower the misfit.  Differences to the source: the jaw's pose is rigid by construction, the
 * program is solved exactly (its penalty continuation is the check), outliers lose their weight
 * (Geman and McClure 1985), and whole takes are estimated at once, sum_t sum_i w_ti |y_ti - R_t
 * (p_i(c_t) + o_i) - t_t|^2 / sigma^2
 *     + sum_t |c_t|^2 / prior^2 + sum_t |c_{t-1} - 2 c_t + c_{t+1}|^2 / (acceleration dt^2)^2,
 * with sigma, the noise of a marker in one axis, read off the residuals.  So noise-free markers are
 * met exactly, and noisy ones are smoothed as much as they need and no more.
 *
 * Frames are tracked in chunks of fixed length, each from a few frames before it, on as many
 * threads as there are; the result does not depend on their number. */
#pragma once

#include "anatomy/base/progress.h"
#include "sim/active/active.h"
#include "sim/fit/markers.h"

typedef enum {
  PLA_HEAD_SOLVED = 0, /* unknown in every frame */
  PLA_HEAD_FIXED,      /* as in the rest frame: stabilised data */
} PlaHeadMotion;

typedef struct {
  PlaHeadMotion head;
  int rest_frame;      /* whose markers place a fixed head, the body being at rest */
  bool jaw;            /* false: the jaw stays closed */
  double noise_m;      /* of a marker in one axis; 0: estimated */
  double prior;        /* standard deviation of activations about 0 */
  double acceleration; /* of a control, in ranges per s^2: how fast curves may bend; 0: no smoothing
                          over time */
  double outlier;      /* markers this many deviations off count half; 0: none is doubted */
  int max_iterations;  /* of a frame */
  int rounds;          /* over the whole take, after tracking */
  int chunk, lead;     /* frames */
  double tolerance_m;  /* of equilibria */
  double identifiable; /* largest expected error of an activation that counts as identified */
  const unsigned char *held_out; /* markers not to be used, for checks; NULL: none (n_markers) */
  PlaProgress *progress;
} PlaFitOptions;
PlaFitOptions pla_fit_options_default(void);

typedef struct {
  int n_frames, n_markers, n_controls, n_muscles;
  double *control;     /* n_frames x n_controls */
  double *head;        /* capture <- cranium: rotation (9), shift, m (3) (n_frames x 12) */
  double *residual;    /* measured - fitted in the capture's frame, m; NaN: missing
                          (n_frames x n_markers x 3) */
  double *weight;      /* 1 trusted, 0 outlier, missing or held out (n_frames x n_markers) */
  double *deviation;   /* expected error of each control over the take (n_controls) */
  unsigned char *seen; /* 1: identified by these markers (n_controls) */
  double *effect_m;    /* rms motion of the markers for the whole range of a control (n_controls) */
  int n_singular;
  double *singular; /* of the Jacobian over its noise and with controls over their ranges, mean over
                       the frames, falling (n_singular = n_controls) */
  double noise_m;   /* per axis */
  double rms_m, max_m;   /* distances of markers that count */
  double held_out_rms_m; /* per axis, of held-out markers; NaN without */
  double condition;      /* of the Jacobian at mean */
  int iterations;        /* Gauss-Newton steps of all frames */
  int factorisations;
  int n_outliers; /* markers in frames with a weight below 1/4 */
  double worst_frame_rms_m;
  int worst_frame;
  double seconds_sensitivity, seconds_equilibrium; /* wall-clock, summed over threads */
  PlaNotes notes;                                  /* what was odd, in words */
} PlaFitResult;
void pla_fit_result_clear(PlaFitResult *self);

/* @site: for each marker of @take its place on the body, or NULL to leave it out. */
PlaStatus pla_fit_take(const PlaActiveModel *model, const PlaMarkerSite *const *site,
                       const PlaTake *take, const PlaFitOptions *opts, PlaFitResult *out,
                       PlaError *err);

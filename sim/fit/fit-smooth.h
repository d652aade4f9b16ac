/* All frames of a take at once: quadratic misfits of each, joined by smoothness over time. */
#pragma once

#include "anatomy/base/status.h"

typedef struct {
  int n_frames, n;     /* n unknowns a frame */
  const double *h;     /* misfit of frame t about its point c_t: 1/2 d^T H d - g^T d, d = x_t - c_t
                          (n_frames x n x n) */
  const double *g;     /* n_frames x n */
  const double *prior; /* 1/2 sum prior x^2 (n) */
  const double *bend;  /* 1/2 sum bend (x_{t-1} - 2 x_t + x_{t+1})^2 (n) */
  const double *lo, *hi;
} PlaSmoothProblem;

/* The minimum within the bounds: a banded Cholesky factor for each guess of which bounds hold,
 * until the guess proves right.  @x: in the points c, out the answer (n_frames x n).  @rounds (may
 * be NULL): how many guesses. */
PlaStatus pla_fit_smooth(const PlaSmoothProblem *problem, double *x, int *rounds, PlaError *err);

/* How much smaller the standard deviation of one frame's unknown becomes by smoothing, when it is
 * @deviation from that frame alone and curves bend by @bend a frame: the variance ratio of the
 * Whittaker smoother of second differences, 1 where smoothing has no effect. */
double pla_fit_smooth_gain(double deviation, double bend);

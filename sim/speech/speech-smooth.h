/* Savitzky-Golay smoothing: the value at one place of the polynomial fitted to a window. */
#pragma once

#include "anatomy/base/status.h"

enum { PLA_SMOOTH_MAX = 101 };

/* Weights of the @n samples of a window (1 .. PLA_SMOOTH_MAX) for the least-squares polynomial of
 * @degree (< n, <= 7) at sample @at of it: n / 2 for the middle, n - 1 for the newest. */
void pla_smooth_weights(int n, int degree, int at, double *weight);

/* Smooths @n_samples x @width in place, windows of @n (odd) centred; near the ends the first and
 * the last window serve, so that polynomials are kept everywhere.  A run shorter than the window
 * uses what there is. */
PlaStatus pla_smooth(double *value, int n_samples, int width, int n, int degree, PlaError *err);

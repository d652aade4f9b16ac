/* Discrete Fourier transforms of power-of-two length. */
#pragma once

typedef struct PlaFft PlaFft;

/* @n: a power of two, 4 .. 1 << 20.  NULL when memory is short. */
PlaFft *pla_fft_new(int n);
void pla_fft_free(PlaFft *self); /* NULL is fine */

/* In place: X[k] = sum_j x[j] exp(-2 pi i j k / n), and its unscaled inverse.  Any thread. */
void pla_fft_forward(const PlaFft *self, double *re, double *im);
void pla_fft_inverse(const PlaFft *self, double *re, double *im);

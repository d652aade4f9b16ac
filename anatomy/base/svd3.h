/* Singular values, rotations and eigenvalues of 3x3 matrices.
 *
 * F = U diag(s) V^T with U and V proper rotations (det = +1) and s[0] >= s[1] >= |s[2]|: when
 * det F < 0 it is the smallest value that carries the sign, which is what stress in inverted
 * elements needs (Irving, Teran and Fedkiw 2004; Sifakis 2007, 2.4). */
#pragma once

#include <stddef.h>

/* One matrix; all row-major.  Any finite F, rank 0 and 1 included. */
void pla_svd3(const double f[9], double u[9], double s[3], double v[9]);

/* @n matrices at once, component by component: entry c of matrix e stands at f[c * stride + e]
 * (u, v likewise; s with 3 rows).  stride >= n.  Threads share the work when there is enough;
 * the result does not depend on their number, nor on a matrix's neighbours. */
void pla_svd3_batch(size_t n, size_t stride, const double *f, double *u, double *s, double *v);

/* F = R S, R the nearest proper rotation, S symmetric (with one negative eigenvalue at most, when
 * det F < 0). */
void pla_polar3(const double f[9], double r[9], double s[9]);

/* Symmetric A = Q diag(w) Q^T; w ascending, Q a proper rotation.  Reads the upper triangle. */
void pla_eig3(const double a[9], double w[3], double q[9]);

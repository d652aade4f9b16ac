/* Small dense systems, column-major, on the calling thread: the same bits for any number of
 * threads. */
#pragma once

#include <stdbool.h>

/* Cholesky factor of the lower triangle of @a (n x n), in place; false when a pivot is not
 * positive. */
bool pla_dense_factor(int n, double *a);
/* x = (L L^T)^-1 b for @n_rhs right-hand sides, in place (n x n_rhs). */
void pla_dense_solve(int n, const double *l, int n_rhs, double *b);

/* Least squares with non-negative coefficients (Lawson and Hanson 1974) from the normal equations:
 * minimises x^T gram x / 2 - rhs^T x over x >= 0, taking in one column after the other, the one
 * along which the residual falls most first.  Stops when @most columns are in, or when x^T gram x -
 * 2 rhs^T x + size2 <= (rel^2) size2, @size2 the squared length of what is approximated. Returns
 * the number of columns in use, -1 when memory is short; @rel_reached may be NULL. */
int pla_nnls(int n, const double *gram, const double *rhs, double size2, double rel, int most,
             double *x, double *rel_reached);

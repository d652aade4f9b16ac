/* Sparse Cholesky factors of block matrices: supernodal, multifrontal, parallel, deterministic.
 *
 * CHOLMOD orders the vertex graph (METIS, or AMD where it is small) and finds the supernodes; the
 * numbers are ours.  Work is a tree of tasks over single-threaded BLAS: independent subtrees run
 * side by side, large fronts are cut into fixed tiles, and every sum has a fixed order, so the bits
 * do not depend on the number of threads.
 *
 * A factor in single precision costs half the time and half the memory of one in double; with
 * conjugate gradients around it (pla_cholesky_refine) the answer is as good.  A factor of an older
 * matrix serves as a preconditioner just the same. */
#pragma once

#include "anatomy/base/progress.h"
#include "sim/linear/block-matrix.h"
#include "sim/linear/pcg.h"

#include <stdbool.h>

typedef struct PlaCholesky PlaCholesky;

typedef enum { PLA_SINGLE = 0, PLA_DOUBLE } PlaPrecision;
typedef enum { PLA_ORDER_AUTO = 0, PLA_ORDER_AMD, PLA_ORDER_METIS } PlaOrdering;

/* Orders and analyses the pattern of @a, which is not kept. */
PlaStatus pla_cholesky_new(const PlaBlockMatrix *a, PlaOrdering ordering, PlaCholesky **out,
                           PlaError *err);
/* The same in a given order, up to a postorder that fills in as much: vertex order[k] is eliminated
 * k-th (a->n). */
PlaStatus pla_cholesky_new_ordered(const PlaBlockMatrix *a, const int *order, PlaCholesky **out,
                                   PlaError *err);
void pla_cholesky_free(PlaCholesky *self); /* NULL is fine */

/* Factors @a, which has the analysed pattern.  *definite is false, and there is no factor, when a
 * pivot is not positive.  PLA_ERR_CANCELLED when @progress says so. */
PlaStatus pla_cholesky_factor(PlaCholesky *self, const PlaBlockMatrix *a, PlaPrecision precision,
                              PlaProgress *progress, bool *definite, PlaError *err);
bool pla_cholesky_has_factor(const PlaCholesky *self);

/* x = (L L^T)^-1 b with the current factor; @b and @x may be the same. */
PlaStatus pla_cholesky_solve(PlaCholesky *self, const double *b, double *x, PlaError *err);
/* The same for @n_rhs right sides, one after the other; together they read the factor once. */
PlaStatus pla_cholesky_solve_many(PlaCholesky *self, int n_rhs, const double *b, double *x,
                                  PlaError *err);

/* Conjugate gradients on a x = b with the current factor as preconditioner, from x = 0, until
 * |a x - b| <= rel |b|.  Tells the iterations, and whether a direction of negative curvature was
 * met (then @x is the last good iterate). */
PlaStatus pla_cholesky_refine(PlaCholesky *self, const PlaBlockMatrix *a, const double *b,
                              double rel, int max_iterations, PlaProgress *progress, double *x,
                              PlaRefineReport *report, PlaError *err);

/* The vertices in the order of their elimination (n), borrowed. */
const int *pla_cholesky_get_order(const PlaCholesky *self);
/* Entries of L and multiply-adds of one factorisation. */
double pla_cholesky_n_entries(const PlaCholesky *self);
double pla_cholesky_flops(const PlaCholesky *self);

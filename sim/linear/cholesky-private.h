/* What the analysis hands to the numeric code in either precision. */
#pragma once

#include "sim/linear/cholesky.h"

#include <stdatomic.h>

/* One supernode: consecutive columns with the same rows below. */
typedef struct {
  int first, n_cols; /* block columns, in elimination order */
  int n_rows;        /* block rows, its own columns first */
  const int *rows;   /* n_rows, ascending */
  size_t at;         /* where its panel starts in the factor; (3 n_rows) x (3 n_cols), by columns */
  int parent;        /* supernode, or -1 */
  int first_child, n_children; /* into children[] */
  double subtree_flops;
} PlaSupernode;

struct PlaCholesky {
  int n;        /* block rows */
  int *perm;    /* perm[k]: the vertex eliminated k-th */
  int *inverse; /* inverse[v]: when vertex v is eliminated */
  int n_super;
  PlaSupernode *super;
  int *row_store; /* the rows of all supernodes */
  int *children;
  int *roots;
  int n_roots;
  size_t n_entries;
  double flops;
  PlaPrecision precision;
  bool has_factor;
  void *factor; /* n_entries of the precision */
  size_t factor_bytes;
};

/* The numeric work in one precision (cholesky-numeric.c is compiled for each). */
typedef struct {
  const PlaCholesky *sym;
  const PlaBlockMatrix *a;
  PlaProgress *progress;
  int *where;        /* a map of rows for each thread (threads x n) */
  atomic_int failed; /* a pivot was not positive */
  atomic_int short_of_memory;
} PlaFactorJob;

void pla_factor_single(PlaFactorJob *job);
void pla_factor_double(PlaFactorJob *job);
/* b, x in elimination order, 3 n doubles for each right side; false when memory is short */
bool pla_solve_single(const PlaCholesky *sym, int n_rhs, double *x);
bool pla_solve_double(const PlaCholesky *sym, int n_rhs, double *x);

/* Symmetric sparse matrices of 3x3 blocks, one block row a vertex, all blocks stored. */
#pragma once

#include "anatomy/base/status.h"

#include <stddef.h>

typedef struct {
  int n;         /* block rows */
  int *start;    /* n + 1 */
  int *col;      /* block columns, ascending in each row, the diagonal among them */
  double *value; /* 9 a block, row-major */
} PlaBlockMatrix;

/* The pattern of @n vertices that share @n_cells cells; cell c has vertices
 * cells[cell_start[c]] .. cells[cell_start[c + 1] - 1].  A vertex id of -1 is left out (it is
 * constrained).  Values are zero. */
PlaStatus pla_block_matrix_init(PlaBlockMatrix *self, int n, int n_cells, const int *cell_start,
                                const int *cells, PlaError *err);
void pla_block_matrix_clear(PlaBlockMatrix *self);

/* Index of block (row, col), or -1. */
int pla_block_matrix_find(const PlaBlockMatrix *self, int row, int col);

/* Adds @share of each diagonal entry to it. */
void pla_block_matrix_stiffen(PlaBlockMatrix *self, double share);

/* y = A x; the same bits for any number of threads. */
void pla_block_matrix_mul(const PlaBlockMatrix *self, const double *x, double *y);

/* Hot loops of the mixed formulation: its tangent row by row, and products with it in single
 * precision.  Compiled plain and for AVX2 and FMA (anatomy/base/kernel.h). */
#pragma once

#include "sim/linear/block-matrix.h"

/* three numbers of a vertex, or a column of a block, and one for the width of a register */
typedef float PlaFour __attribute__((vector_size(16)));

/* The blocks between one vertex of a set and all @n of them, verts[0] .. verts[n - 1] ascending,
 * are added to row @r: block (i, j) of vertex b is the sum of row[9 l + 3 i + j] grad[3 b + l].
 * Vertices without a block (block_of < 0) are left out. */
typedef void PlaMixedAddRow(const double row[27], int n, const int *verts, const double *grad,
                            const int *block_of, int r, PlaBlockMatrix *matrix);
PlaMixedAddRow pla_mixed_add_row_plain, pla_mixed_add_row_avx2;

/* residual of row @r less what its blocks, by columns in @value, make of @x. */
typedef PlaFour PlaMixedResidual(const PlaBlockMatrix *pattern, int r, const PlaFour *value,
                                 const PlaFour *x, PlaFour residual);
PlaMixedResidual pla_mixed_residual_plain, pla_mixed_residual_avx2;

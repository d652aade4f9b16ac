/* Hot loops of the mixed formulation. */
#include "sim/solve/mixed-kernel.h"

#include "anatomy/base/kernel.h"

void
PLA_KERNEL_NAME(pla_mixed_add_row)(const double row[27], int n, const int *verts,
                                   const double *grad, const int *block_of, int r,
                                   PlaBlockMatrix *matrix)
{
  /* columns and the vertices of a set both ascend */
  int at = matrix->start[r];
  for (int b = 0; b < n; b++) {
    const double *g = grad + 3 * (size_t)b;
    const int col = block_of[verts[b]];
    if (col < 0)
      continue;
    while (matrix->col[at] < col)
      at++;
    double *block = matrix->value + 9 * (size_t)at;
    for (int i = 0; i < 9; i++)
      block[i] += row[i] * g[0] + row[9 + i] * g[1] + row[18 + i] * g[2];
  }
}

PlaFour
PLA_KERNEL_NAME(pla_mixed_residual)(const PlaBlockMatrix *pattern, int r, const PlaFour *value,
                                    const PlaFour *x, PlaFour residual)
{
  for (int k = pattern->start[r]; k < pattern->start[r + 1]; k++) {
    const PlaFour *block = value + 3 * (size_t)k, v = x[pattern->col[k]];
    residual -= block[0] * v[0] + block[1] * v[1] + block[2] * v[2];
  }
  return residual;
}

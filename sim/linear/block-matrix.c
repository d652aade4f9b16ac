/* Symmetric sparse matrices of 3x3 blocks. */
#include "sim/linear/block-matrix.h"

#include "anatomy/base/memory.h"

#include <stdlib.h>
#include <string.h>

static int
compare_ints(const void *a, const void *b)
{
  int x = *(const int *)a, y = *(const int *)b;
  return x < y ? -1 : x > y;
}

PlaStatus
pla_block_matrix_init(PlaBlockMatrix *self, int n, int n_cells, const int *cell_start,
                      const int *cells, PlaError *err)
{
  *self = (PlaBlockMatrix){ .n = n };
  PlaStatus st = PLA_OK;

  /* cells around each vertex */
  int *around_start = pla_array_new0((size_t)n + 1, sizeof *around_start);
  int *around = pla_array_new((size_t)cell_start[n_cells], sizeof *around);
  int *fill = pla_array_new0((size_t)n, sizeof *fill);
  int *mark = pla_array_new((size_t)n, sizeof *mark);
  self->start = pla_array_new0((size_t)n + 1, sizeof *self->start);
  if (!around_start || !around || !fill || !mark || !self->start)
    st = pla_fail_memory(err, "the stiffness matrix");
  if (st == PLA_OK) {
    for (int k = 0; k < cell_start[n_cells]; k++)
      if (cells[k] >= 0)
        around_start[cells[k] + 1]++;
    for (int v = 0; v < n; v++)
      around_start[v + 1] += around_start[v];
    for (int c = 0; c < n_cells; c++)
      for (int k = cell_start[c]; k < cell_start[c + 1]; k++)
        if (cells[k] >= 0)
          around[around_start[cells[k]] + fill[cells[k]]++] = c;
    for (int v = 0; v < n; v++)
      mark[v] = -1;
  }

  /* neighbours of each vertex: counted first, then listed and sorted */
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    size_t total = 0;
    for (int v = 0; v < n; v++) {
      int stamp = pass * n + v;
      size_t first = total;
      mark[v] = stamp;
      if (pass)
        self->col[total] = v;
      total++;
      for (int a = around_start[v]; a < around_start[v + 1]; a++)
        for (int k = cell_start[around[a]]; k < cell_start[around[a] + 1]; k++) {
          int w = cells[k];
          if (w < 0 || mark[w] == stamp)
            continue;
          mark[w] = stamp;
          if (pass)
            self->col[total] = w;
          total++;
        }
      if (pass)
        qsort(self->col + first, total - first, sizeof *self->col, compare_ints);
      else if (total > INT32_MAX / 2)
        break;
      self->start[v + 1] = (int)total;
    }
    if (pass == 0) {
      self->col = total <= INT32_MAX / 2 ? pla_array_new(total, sizeof *self->col) : NULL;
      self->value = self->col ? pla_array_new0(total, 9 * sizeof *self->value) : NULL;
      if (!self->value)
        st = pla_fail_memory(err, "the stiffness matrix");
    }
  }
  free(around_start);
  free(around);
  free(fill);
  free(mark);
  if (st != PLA_OK)
    pla_block_matrix_clear(self);
  return st;
}

void
pla_block_matrix_clear(PlaBlockMatrix *self)
{
  free(self->start);
  free(self->col);
  free(self->value);
  *self = (PlaBlockMatrix){ 0 };
}

int
pla_block_matrix_find(const PlaBlockMatrix *self, int row, int col)
{
  int lo = self->start[row], hi = self->start[row + 1];
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (self->col[mid] < col)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < self->start[row + 1] && self->col[lo] == col ? lo : -1;
}

void
pla_block_matrix_stiffen(PlaBlockMatrix *self, double share)
{
  for (int r = 0; r < self->n; r++) {
    double *block = self->value + 9 * (size_t)pla_block_matrix_find(self, r, r);
    for (int d = 0; d < 3; d++)
      block[4 * d] *= 1.0 + share;
  }
}

void
pla_block_matrix_mul(const PlaBlockMatrix *self, const double *x, double *y)
{
#pragma omp parallel for schedule(static)
  for (int r = 0; r < self->n; r++) {
    double sum[3] = { 0.0, 0.0, 0.0 };
    for (int k = self->start[r]; k < self->start[r + 1]; k++) {
      const double *b = self->value + 9 * (size_t)k, *z = x + 3 * (size_t)self->col[k];
      sum[0] += b[0] * z[0] + b[1] * z[1] + b[2] * z[2];
      sum[1] += b[3] * z[0] + b[4] * z[1] + b[5] * z[2];
      sum[2] += b[6] * z[0] + b[7] * z[1] + b[8] * z[2];
    }
    memcpy(y + 3 * (size_t)r, sum, sizeof sum);
  }
}

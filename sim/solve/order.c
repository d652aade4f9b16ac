/* Orders of elimination: found for a matrix, and kept for later ones. */
#include "sim/solve/system.h"

#include "anatomy/base/memory.h"
#include "sim/solve/solve.h"

#include <stdlib.h>

void
pla_fem_order_clear(PlaFemOrder *self)
{
  free(self->rank);
  *self = (PlaFemOrder){ 0 };
}

/* the blocks by rank, by counting; blocks of one rank stay in their order */
static bool
sort_blocks(const PlaFemSystem *self, const int *rank, int *order)
{
  int n_ranks = 0;
  for (int b = 0; b < self->n_blocks; b++)
    n_ranks = rank[self->vert_of[b]] >= n_ranks ? rank[self->vert_of[b]] + 1 : n_ranks;
  int *start = pla_array_new0((size_t)n_ranks + 1, sizeof *start);
  if (!start)
    return false;
  for (int b = 0; b < self->n_blocks; b++)
    start[rank[self->vert_of[b]] + 1]++;
  for (int r = 0; r < n_ranks; r++)
    start[r + 1] += start[r];
  for (int b = 0; b < self->n_blocks; b++)
    order[start[rank[self->vert_of[b]]]++] = b;
  free(start);
  return true;
}

/* ranks of all vertices; those without a block come last, should they get one */
static bool
take_ranks(const PlaFemSystem *self, PlaFemOrder *order)
{
  const int *eliminated = pla_cholesky_get_order(self->factor);
  if (!order->rank)
    order->rank = pla_array_new((size_t)order->n_verts, sizeof *order->rank);
  if (!order->rank)
    return false;
  for (int v = 0; v < order->n_verts; v++)
    order->rank[v] = self->n_blocks;
  for (int k = 0; k < self->n_blocks; k++)
    order->rank[self->vert_of[eliminated[k]]] = k;
  order->flops = pla_cholesky_flops(self->factor);
  order->n_found++;
  return true;
}

PlaStatus
pla_fem_system_analyse(PlaFemSystem *self, PlaFemOrder *order, PlaError *err)
{
  const bool ours = order && order->n_verts == self->model->n_verts;
  PlaStatus st = PLA_OK;
  if (ours && order->rank) {
    int *blocks = pla_array_new((size_t)self->n_blocks, sizeof *blocks);
    st = blocks && sort_blocks(self, order->rank, blocks)
             ? pla_cholesky_new_ordered(&self->matrix, blocks, &self->factor, err)
             : pla_fail_memory(err, "the order of the vertices");
    free(blocks);
    if (st != PLA_OK || pla_cholesky_flops(self->factor) <= PLA_FEM_ORDER_WORSE * order->flops)
      return st;
    pla_cholesky_free(self->factor);
    self->factor = NULL;
  }
  st = pla_cholesky_new(&self->matrix, PLA_ORDER_AUTO, &self->factor, err);
  if (st == PLA_OK && ours && !take_ranks(self, order))
    st = pla_fail_memory(err, "the order of the vertices");
  return st;
}

/* Hard bindings: xbar = W x, f = W^T fbar, lumped mass W^T mbar. */
#include "sim/fem/loads.h"

#include "anatomy/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int
pla_binding_get(const PlaFemBindings *self, int e, const int **parent, const double **weight)
{
  *parent = self->parent + self->start[e];
  *weight = self->weight + self->start[e];
  return self->start[e + 1] - self->start[e];
}

void
pla_bindings_free(PlaFemBindings *self)
{
  if (!self)
    return;
  free((void *)self->vert);
  free((void *)self->start);
  free((void *)self->parent);
  free((void *)self->weight);
  free(self);
}

/* parents with their weights, each vertex once, while chains are followed */
typedef struct {
  const PlaFemBindings *bindings;
  const int *bound;    /* vertex -> binding, or -1 */
  double *sum;         /* weight of each vertex, 0 when unseen (n_verts) */
  int *list, n;        /* vertices seen */
  unsigned char *open; /* bindings on the way here */
} Chain;

/* false when the chain comes back to itself */
static bool
follow(Chain *self, int e, double weight)
{
  const PlaFemBindings *b = self->bindings;
  if (self->open[e])
    return false;
  self->open[e] = 1;
  for (int k = b->start[e]; k < b->start[e + 1]; k++) {
    int v = b->parent[k];
    double w = weight * b->weight[k];
    if (self->bound[v] >= 0) {
      if (!follow(self, self->bound[v], w))
        return false;
      continue;
    }
    int at = 0;
    while (at < self->n && self->list[at] != v)
      at++;
    if (at == self->n)
      self->list[self->n++] = v;
    self->sum[v] += w;
  }
  self->open[e] = 0;
  return true;
}

static PlaStatus
check(const PlaFemBindings *bindings, int n_verts, int *bound, PlaError *err)
{
  for (int v = 0; v < n_verts; v++)
    bound[v] = -1;
  for (int e = 0; e < bindings->n; e++) {
    int v = bindings->vert[e];
    double sum = 0.0;
    if (v < 0 || v >= n_verts)
      return pla_fail(err, PLA_ERR_USAGE, "binding %d names vertex %d, and there are %d", e, v,
                      n_verts);
    if (bound[v] >= 0)
      return pla_fail(err, PLA_ERR_USAGE, "vertex %d is bound twice", v);
    bound[v] = e;
    for (int k = bindings->start[e]; k < bindings->start[e + 1]; k++) {
      if (bindings->parent[k] < 0 || bindings->parent[k] >= n_verts)
        return pla_fail(err, PLA_ERR_USAGE, "vertex %d is bound to vertex %d, and there are %d", v,
                        bindings->parent[k], n_verts);
      sum += bindings->weight[k];
    }
    if (!(fabs(sum - 1.0) <= 1e-9))
      return pla_fail(err, PLA_ERR_USAGE, "the weights that bind vertex %d add up to %g, not 1", v,
                      sum);
  }
  return PLA_OK;
}

PlaStatus
pla_bindings_flatten(const PlaFemBindings *bindings, int n_verts, PlaFemBindings **out,
                     PlaError *err)
{
  const size_t nv = (size_t)n_verts, n = (size_t)bindings->n;
  int *bound = pla_array_new(nv, sizeof *bound), *start = pla_array_new0(n + 1, sizeof *start);
  Chain chain = { .bindings = bindings, .bound = bound };
  chain.sum = pla_array_new0(nv, sizeof *chain.sum);
  chain.list = pla_array_new(nv, sizeof *chain.list);
  chain.open = pla_array_new0(n, 1);
  int *parent = NULL;
  double *weight = NULL;
  PlaFemBindings *flat = pla_array_new0(1, sizeof *flat);
  *out = NULL;
  PlaStatus st = bound && start && chain.sum && chain.list && chain.open && flat
                     ? check(bindings, n_verts, bound, err)
                     : pla_fail_memory(err, "the bindings");
  /* counted first, then written */
  for (int pass = 0; st == PLA_OK && pass < 2; pass++) {
    size_t total = 0;
    for (int e = 0; st == PLA_OK && e < bindings->n; e++) {
      chain.n = 0;
      if (!follow(&chain, e, 1.0))
        st = pla_fail(err, PLA_ERR_USAGE, "vertex %d is bound to itself in a circle",
                      bindings->vert[e]);
      for (int k = 0; k < chain.n; k++, total++) {
        if (pass) {
          parent[total] = chain.list[k];
          weight[total] = chain.sum[chain.list[k]];
        }
        chain.sum[chain.list[k]] = 0.0;
      }
      start[e + 1] = (int)total;
    }
    if (pass == 0 && st == PLA_OK) {
      parent = pla_array_new(total, sizeof *parent);
      weight = pla_array_new(total, sizeof *weight);
      st = parent && weight ? PLA_OK : pla_fail_memory(err, "the bindings");
    }
  }
  if (st == PLA_OK) {
    flat->vert = pla_array_dup(bindings->vert, n, sizeof *flat->vert);
    if (!flat->vert)
      st = pla_fail_memory(err, "the bindings");
  }
  if (st == PLA_OK) {
    flat->n = bindings->n;
    flat->start = start;
    flat->parent = parent;
    flat->weight = weight;
    *out = flat;
  } else {
    free(start);
    free(parent);
    free(weight);
    free(flat);
  }
  free(bound);
  free(chain.sum);
  free(chain.list);
  free(chain.open);
  return st;
}

void
pla_bindings_place(const PlaFemBindings *self, double *pos)
{
  for (int e = 0; e < self->n; e++) {
    double x[3] = { 0.0, 0.0, 0.0 };
    for (int k = self->start[e]; k < self->start[e + 1]; k++)
      for (size_t d = 0; d < 3; d++)
        x[d] += self->weight[k] * pos[3 * (size_t)self->parent[k] + d];
    memcpy(pos + 3 * (size_t)self->vert[e], x, sizeof x);
  }
}

void
pla_bindings_reduce(const PlaFemBindings *self, int dim, double *force)
{
  for (int e = 0; e < self->n; e++)
    for (int d = 0; d < dim; d++) {
      double *own = force + (size_t)dim * (size_t)self->vert[e] + (size_t)d;
      for (int k = self->start[e]; k < self->start[e + 1]; k++)
        force[(size_t)dim * (size_t)self->parent[k] + (size_t)d] += self->weight[k] * *own;
      *own = 0.0;
    }
}

double
pla_binding_effective_mass(const PlaFemBindings *self, int e, const double *mass)
{
  double sum = 0.0;
  for (int k = self->start[e]; k < self->start[e + 1]; k++)
    sum += self->weight[k] * self->weight[k] / mass[self->parent[k]];
  return 1.0 / sum;
}

void
pla_binding_apply_impulse(const PlaFemBindings *self, int e, const double *mass, const double j[3],
                          double *vel)
{
  for (int k = self->start[e]; k < self->start[e + 1]; k++)
    for (size_t d = 0; d < 3; d++)
      vel[3 * (size_t)self->parent[k] + d] += self->weight[k] * j[d] / mass[self->parent[k]];
}

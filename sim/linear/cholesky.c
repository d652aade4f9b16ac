/* Analysis, conjugate gradients, and the choice of precision of the sparse Cholesky factor. */
#include "sim/linear/cholesky-private.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

/* below this many vertices AMD is as good as METIS, and its analysis is cheaper */
enum { AMD_VERTS = 3600 };

void
pla_cholesky_free(PlaCholesky *self)
{
  if (!self)
    return;
  free(self->perm);
  free(self->inverse);
  free(self->super);
  free(self->row_store);
  free(self->children);
  free(self->roots);
  free(self->factor);
  free(self);
}

/* the lower triangle of the vertex graph as a CHOLMOD pattern */
static cholmod_sparse *
graph_of(const PlaBlockMatrix *a, cholmod_common *common)
{
  size_t nnz = 0;
  for (int r = 0; r < a->n; r++)
    for (int k = a->start[r]; k < a->start[r + 1]; k++)
      nnz += a->col[k] >= r;
  cholmod_sparse *graph =
      cholmod_allocate_sparse((size_t)a->n, (size_t)a->n, nnz, 1, 1, -1, CHOLMOD_PATTERN, common);
  if (!graph)
    return NULL;
  int *p = graph->p, *i = graph->i, at = 0;
  for (int r = 0; r < a->n; r++) {
    p[r] = at;
    for (int k = a->start[r]; k < a->start[r + 1]; k++)
      if (a->col[k] >= r)
        i[at++] = a->col[k];
  }
  p[a->n] = at;
  return graph;
}

/* copies supernodes and the tree out of CHOLMOD's symbolic factor */
static PlaStatus
take_symbolic(PlaCholesky *self, const cholmod_factor *l, PlaError *err)
{
  const int *super = l->super, *pi = l->pi, *rows = l->s;
  self->n_super = (int)l->nsuper;
  self->perm = pla_array_dup(l->Perm, (size_t)self->n, sizeof *self->perm);
  self->inverse = pla_array_new((size_t)self->n, sizeof *self->inverse);
  self->super = pla_array_new0((size_t)self->n_super, sizeof *self->super);
  self->row_store = pla_array_dup(rows, (size_t)pi[self->n_super], sizeof *self->row_store);
  self->children = pla_array_new((size_t)self->n_super, sizeof *self->children);
  self->roots = pla_array_new((size_t)self->n_super, sizeof *self->roots);
  int *owner = pla_array_new((size_t)self->n, sizeof *owner);
  if (!self->perm || !self->inverse || !self->super || !self->row_store || !self->children ||
      !self->roots || !owner) {
    free(owner);
    return pla_fail_memory(err, "the factor's structure");
  }
  for (int k = 0; k < self->n; k++)
    self->inverse[self->perm[k]] = k;

  for (int s = 0; s < self->n_super; s++) {
    PlaSupernode *node = &self->super[s];
    node->first = super[s];
    node->n_cols = super[s + 1] - super[s];
    node->n_rows = pi[s + 1] - pi[s];
    node->rows = self->row_store + pi[s];
    node->at = self->n_entries;
    node->parent = -1;
    self->n_entries += 9 * (size_t)node->n_rows * (size_t)node->n_cols;
    for (int c = 0; c < node->n_cols; c++)
      owner[node->first + c] = s;
    double m = 3.0 * node->n_rows, k = 3.0 * node->n_cols, b = m - k;
    node->subtree_flops = k * k * k / 3.0 + k * k * b + k * b * b;
    self->flops += node->subtree_flops;
  }

  /* the parent owns the first row below the supernode's own columns; children keep their order */
  for (int s = 0; s < self->n_super; s++) {
    PlaSupernode *node = &self->super[s];
    if (node->n_rows > node->n_cols) {
      node->parent = owner[node->rows[node->n_cols]];
      self->super[node->parent].n_children++;
      self->super[node->parent].subtree_flops += node->subtree_flops;
    } else {
      self->roots[self->n_roots++] = s;
    }
  }
  int at = 0;
  for (int s = 0; s < self->n_super; s++) {
    self->super[s].first_child = at;
    at += self->super[s].n_children;
    self->super[s].n_children = 0;
  }
  for (int s = 0; s < self->n_super; s++)
    if (self->super[s].parent >= 0) {
      PlaSupernode *parent = &self->super[self->super[s].parent];
      self->children[parent->first_child + parent->n_children++] = s;
    }
  free(owner);
  return PLA_OK;
}

/* @order: NULL, or the one to use */
static PlaStatus
analyse(const PlaBlockMatrix *a, PlaOrdering ordering, const int *order, PlaCholesky **out,
        PlaError *err)
{
  pla_blas_single_thread();
  *out = NULL;
  PlaCholesky *self = pla_array_new0(1, sizeof *self);
  if (!self)
    return pla_fail_memory(err, "the factor's structure");
  self->n = a->n;

  bool amd = ordering == PLA_ORDER_AMD || (ordering == PLA_ORDER_AUTO && a->n < AMD_VERTS);
  cholmod_common common;
  cholmod_start(&common);
  common.print = 0;
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.nmethods = 1;
  common.method[0].ordering = order ? CHOLMOD_GIVEN : amd ? CHOLMOD_AMD : CHOLMOD_METIS;
  common.postorder = 1;
  cholmod_sparse *graph = graph_of(a, &common);
  /* CHOLMOD reads the order only */
  cholmod_factor *l = graph ? cholmod_analyze_p(graph, (int *)order, NULL, 0, &common) : NULL;
  PlaStatus st = l && common.status >= CHOLMOD_OK ? take_symbolic(self, l, err)
                                                  : pla_fail_memory(err, "ordering the matrix");
  cholmod_free_factor(&l, &common);
  cholmod_free_sparse(&graph, &common);
  cholmod_finish(&common);
  if (st == PLA_OK) {
    *out = self;
    self = NULL;
  }
  pla_cholesky_free(self);
  return st;
}

PlaStatus
pla_cholesky_new(const PlaBlockMatrix *a, PlaOrdering ordering, PlaCholesky **out, PlaError *err)
{
  return analyse(a, ordering, NULL, out, err);
}

PlaStatus
pla_cholesky_new_ordered(const PlaBlockMatrix *a, const int *order, PlaCholesky **out,
                         PlaError *err)
{
  return analyse(a, PLA_ORDER_AUTO, order, out, err);
}

const int *
pla_cholesky_get_order(const PlaCholesky *self)
{
  return self->perm;
}

double
pla_cholesky_n_entries(const PlaCholesky *self)
{
  return (double)self->n_entries;
}

double
pla_cholesky_flops(const PlaCholesky *self)
{
  return self->flops;
}

bool
pla_cholesky_has_factor(const PlaCholesky *self)
{
  return self->has_factor;
}

PlaStatus
pla_cholesky_factor(PlaCholesky *self, const PlaBlockMatrix *a, PlaPrecision precision,
                    PlaProgress *progress, bool *definite, PlaError *err)
{
  size_t bytes = self->n_entries * (precision == PLA_SINGLE ? sizeof(float) : sizeof(double));
  *definite = false;
  self->has_factor = false;
  if (self->factor_bytes < bytes) {
    free(self->factor);
    self->factor_bytes = 0;
    self->factor = pla_array_new_aligned(bytes, 1);
    if (!self->factor)
      return pla_fail_memory(err, "the factor of the stiffness matrix");
    self->factor_bytes = bytes;
  }
  self->precision = precision;
  PlaFactorJob job = { .sym = self, .a = a, .progress = progress };
  if (precision == PLA_SINGLE)
    pla_factor_single(&job);
  else
    pla_factor_double(&job);
  if (pla_progress_cancelled(progress))
    return pla_fail_cancelled(err);
  if (atomic_load(&job.short_of_memory))
    return pla_fail_memory(err, "factoring the stiffness matrix");
  *definite = self->has_factor = !atomic_load(&job.failed);
  return PLA_OK;
}

PlaStatus
pla_cholesky_solve_many(PlaCholesky *self, int n_rhs, const double *b, double *x, PlaError *err)
{
  const size_t n = 3 * (size_t)self->n;
  double *y = pla_array_new((size_t)n_rhs, n * sizeof *y);
  if (!y)
    return pla_fail_memory(err, "solving with the factor");
#pragma omp parallel for schedule(static) if (n_rhs > 3)
  for (size_t j = 0; j < (size_t)n_rhs; j++)
    for (int k = 0; k < self->n; k++)
      memcpy(y + j * n + 3 * (size_t)k, b + j * n + 3 * (size_t)self->perm[k], 3 * sizeof *y);
  bool ok = self->precision == PLA_SINGLE ? pla_solve_single(self, n_rhs, y)
                                          : pla_solve_double(self, n_rhs, y);
#pragma omp parallel for schedule(static) if (n_rhs > 3)
  for (size_t j = 0; j < (ok ? (size_t)n_rhs : 0); j++)
    for (int k = 0; k < self->n; k++)
      memcpy(x + j * n + 3 * (size_t)self->perm[k], y + j * n + 3 * (size_t)k, 3 * sizeof *y);
  free(y);
  return ok ? PLA_OK : pla_fail_memory(err, "solving with the factor");
}

PlaStatus
pla_cholesky_solve(PlaCholesky *self, const double *b, double *x, PlaError *err)
{
  return pla_cholesky_solve_many(self, 1, b, x, err);
}

static PlaStatus
precondition(void *data, const double *r, double *z, PlaError *err)
{
  return pla_cholesky_solve(data, r, z, err);
}

PlaStatus
pla_cholesky_refine(PlaCholesky *self, const PlaBlockMatrix *a, const double *b, double rel,
                    int max_iterations, PlaProgress *progress, double *x, PlaRefineReport *report,
                    PlaError *err)
{
  return pla_pcg(a, precondition, self, b, rel, max_iterations, progress, x, report, err);
}

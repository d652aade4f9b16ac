/* The sparse factor: against CHOLMOD on the stiffness of a bar, both precisions and orderings,
 * refinement to double accuracy, indefinite matrices, the same bits for any number of threads;
 * GMRES around it. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "sim/linear/cholesky.h"
#include "sim/linear/gmres.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

/* an elastic-like matrix on the graph of a box mesh: sums of positive semidefinite pieces, one for
 * each edge, plus a small diagonal */
static PlaBlockMatrix
make_matrix(const int n[3], double shift, guint32 seed)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 1, 1, 1 };
  PlaMesh *mesh;
  PlaError err = { 0 };
  PlaBlockMatrix a;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_6, &mesh, &err), ==, PLA_OK);
  int *start = g_new(int, mesh->n_tets + 1);
  for (int t = 0; t <= mesh->n_tets; t++)
    start[t] = 4 * t;
  g_assert_cmpint(pla_block_matrix_init(&a, mesh->n_verts, mesh->n_tets, start, mesh->tet, &err),
                  ==, PLA_OK);
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  for (int r = 0; r < a.n; r++) {
    int diagonal = pla_block_matrix_find(&a, r, r);
    for (int k = a.start[r]; k < a.start[r + 1]; k++) {
      if (a.col[k] <= r)
        continue;
      double e[3];
      for (int d = 0; d < 3; d++)
        e[d] = g_rand_double_range(rand, -1.0, 1.0);
      int mirror = pla_block_matrix_find(&a, a.col[k], r);
      int other = pla_block_matrix_find(&a, a.col[k], a.col[k]);
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          double x = e[i] * e[j] + 0.1 * (i == j);
          a.value[9 * k + 3 * i + j] -= x;
          a.value[9 * mirror + 3 * j + i] -= x;
          a.value[9 * diagonal + 3 * i + j] += x;
          a.value[9 * other + 3 * i + j] += x;
        }
    }
    for (int d = 0; d < 3; d++)
      a.value[9 * diagonal + 4 * d] += shift;
  }
  g_free(start);
  pla_mesh_free(mesh);
  return a;
}

static double *
random_vector(size_t n, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  double *x = pla_array_new(n, sizeof *x);
  for (size_t i = 0; i < n; i++)
    x[i] = g_rand_double_range(rand, -1.0, 1.0);
  return x;
}

/* |a x - b| / |b| */
static double
residual(const PlaBlockMatrix *a, const double *x, const double *b)
{
  size_t n = 3 * (size_t)a->n;
  double *y = pla_array_new(n, sizeof *y);
  pla_block_matrix_mul(a, x, y);
  for (size_t i = 0; i < n; i++)
    y[i] -= b[i];
  double r = pla_norm2(y, n) / pla_norm2(b, n);
  free(y);
  return r;
}

static void
test_solve(void)
{
  const int sizes[3][3] = { { 1, 1, 1 }, { 7, 5, 3 }, { 26, 14, 13 } };
  PlaError err = { 0 };
  for (int k = 0; k < 3; k++) {
    PlaBlockMatrix a = make_matrix(sizes[k], 1e-2, 5);
    size_t n = 3 * (size_t)a.n;
    double *b = random_vector(n, 6), *x = pla_array_new(n, sizeof *x);
    for (int ordering = PLA_ORDER_AMD; ordering <= PLA_ORDER_METIS; ordering++) {
      PlaCholesky *factor;
      PlaRefineReport report;
      bool definite;
      g_assert_cmpint(pla_cholesky_new(&a, (PlaOrdering)ordering, &factor, &err), ==, PLA_OK);
      g_assert_cmpint(pla_cholesky_factor(factor, &a, PLA_DOUBLE, NULL, &definite, &err), ==,
                      PLA_OK);
      g_assert_true(definite);
      g_assert_cmpint(pla_cholesky_solve(factor, b, x, &err), ==, PLA_OK);
      g_assert_cmpfloat(residual(&a, x, b), <, 1e-11);
      g_assert_cmpint(pla_cholesky_factor(factor, &a, PLA_SINGLE, NULL, &definite, &err), ==,
                      PLA_OK);
      g_assert_true(definite);
      g_assert_cmpint(pla_cholesky_solve(factor, b, x, &err), ==, PLA_OK);
      g_assert_cmpfloat(residual(&a, x, b), <, 1e-3);
      g_assert_cmpint(pla_cholesky_refine(factor, &a, b, 1e-12, 30, NULL, x, &report, &err), ==,
                      PLA_OK);
      g_assert_true(report.converged);
      g_assert_cmpint(report.iterations, <, 8);
      g_assert_cmpfloat(residual(&a, x, b), <, 2e-12);
      pla_cholesky_free(factor);
    }
    free(b);
    free(x);
    pla_block_matrix_clear(&a);
  }
}

/* another matrix of the pattern in the order of the first, and one in no good order */
static void
test_given_order(void)
{
  const int n3[3] = { 12, 6, 5 };
  PlaError err = { 0 };
  PlaBlockMatrix a = make_matrix(n3, 1e-2, 11);
  size_t n = 3 * (size_t)a.n;
  double *b = random_vector(n, 12), *x = pla_array_new(n, sizeof *x);
  int *backwards = pla_array_new((size_t)a.n, sizeof *backwards);
  PlaCholesky *found, *factor;
  g_assert_cmpint(pla_cholesky_new(&a, PLA_ORDER_AMD, &found, &err), ==, PLA_OK);
  for (int v = 0; v < a.n; v++)
    backwards[v] = a.n - 1 - v;
  for (int k = 0; k < 2; k++) {
    bool definite;
    const int *order = k ? backwards : pla_cholesky_get_order(found);
    g_assert_cmpint(pla_cholesky_new_ordered(&a, order, &factor, &err), ==, PLA_OK);
    if (k == 0)
      g_assert_cmpfloat(pla_cholesky_flops(factor), ==, pla_cholesky_flops(found));
    else
      g_assert_cmpfloat(pla_cholesky_flops(factor), >, pla_cholesky_flops(found));
    g_assert_cmpint(pla_cholesky_factor(factor, &a, PLA_DOUBLE, NULL, &definite, &err), ==, PLA_OK);
    g_assert_true(definite);
    g_assert_cmpint(pla_cholesky_solve(factor, b, x, &err), ==, PLA_OK);
    g_assert_cmpfloat(residual(&a, x, b), <, 1e-11);
    pla_cholesky_free(factor);
  }
  pla_cholesky_free(found);
  free(backwards);
  free(b);
  free(x);
  pla_block_matrix_clear(&a);
}

/* the independent method: CHOLMOD on the scalar matrix */
static void
test_against_cholmod(void)
{
  const int n3[3] = { 12, 6, 5 };
  PlaError err = { 0 };
  PlaBlockMatrix a = make_matrix(n3, 1e-2, 7);
  size_t n = 3 * (size_t)a.n;
  double *b = random_vector(n, 8), *x = pla_array_new(n, sizeof *x);
  PlaCholesky *factor;
  bool definite;
  g_assert_cmpint(pla_cholesky_new(&a, PLA_ORDER_AUTO, &factor, &err), ==, PLA_OK);
  g_assert_cmpint(pla_cholesky_factor(factor, &a, PLA_DOUBLE, NULL, &definite, &err), ==, PLA_OK);
  g_assert_cmpint(pla_cholesky_solve(factor, b, x, &err), ==, PLA_OK);

  cholmod_common common;
  cholmod_start(&common);
  cholmod_triplet *t =
      cholmod_allocate_triplet(n, n, 9 * (size_t)a.start[a.n], -1, CHOLMOD_REAL, &common);
  for (int r = 0; r < a.n; r++)
    for (int k = a.start[r]; k < a.start[r + 1]; k++)
      for (int e = 0; e < 9; e++) {
        int i = 3 * r + e / 3, j = 3 * a.col[k] + e % 3;
        if (i < j)
          continue;
        ((int *)t->i)[t->nnz] = i;
        ((int *)t->j)[t->nnz] = j;
        ((double *)t->x)[t->nnz++] = a.value[9 * k + e];
      }
  cholmod_sparse *s = cholmod_triplet_to_sparse(t, 0, &common);
  cholmod_factor *l = cholmod_analyze(s, &common);
  g_assert_true(cholmod_factorize(s, l, &common));
  cholmod_dense *rhs = cholmod_allocate_dense(n, 1, n, CHOLMOD_REAL, &common);
  memcpy(rhs->x, b, n * sizeof *b);
  cholmod_dense *y = cholmod_solve(CHOLMOD_A, l, rhs, &common);
  for (size_t i = 0; i < n; i++)
    g_assert_cmpfloat_with_epsilon(x[i], ((double *)y->x)[i], 1e-9 * pla_max_abs(x, n));
  cholmod_free_dense(&y, &common);
  cholmod_free_dense(&rhs, &common);
  cholmod_free_factor(&l, &common);
  cholmod_free_sparse(&s, &common);
  cholmod_free_triplet(&t, &common);
  cholmod_finish(&common);
  pla_cholesky_free(factor);
  free(b);
  free(x);
  pla_block_matrix_clear(&a);
}

static void
test_indefinite(void)
{
  const int n3[3] = { 9, 5, 4 };
  PlaError err = { 0 };
  PlaBlockMatrix a = make_matrix(n3, -0.5, 9);
  PlaCholesky *factor;
  bool definite = true;
  g_assert_cmpint(pla_cholesky_new(&a, PLA_ORDER_AUTO, &factor, &err), ==, PLA_OK);
  for (int precision = PLA_SINGLE; precision <= PLA_DOUBLE; precision++) {
    g_assert_cmpint(pla_cholesky_factor(factor, &a, (PlaPrecision)precision, NULL, &definite, &err),
                    ==, PLA_OK);
    g_assert_false(definite);
    g_assert_false(pla_cholesky_has_factor(factor));
  }
  pla_cholesky_free(factor);
  pla_block_matrix_clear(&a);
}

static void
test_bits(void)
{
  const int n3[3] = { 24, 12, 12 };
  PlaError err = { 0 };
  PlaBlockMatrix a = make_matrix(n3, 1e-2, 10);
  size_t n = 3 * (size_t)a.n;
  double *b = random_vector(n, 11), *first = NULL;
  for (int threads = 1; threads <= 4; threads *= 2) {
    PlaCholesky *factor;
    PlaRefineReport report;
    bool definite;
    double *x = pla_array_new(n, sizeof *x);
    pla_threads_set(threads);
    g_assert_cmpint(pla_cholesky_new(&a, PLA_ORDER_METIS, &factor, &err), ==, PLA_OK);
    g_assert_cmpint(pla_cholesky_factor(factor, &a, PLA_SINGLE, NULL, &definite, &err), ==, PLA_OK);
    g_assert_cmpint(pla_cholesky_refine(factor, &a, b, 1e-10, 30, NULL, x, &report, &err), ==,
                    PLA_OK);
    pla_cholesky_free(factor);
    if (first) {
      g_assert_true(memcmp(first, x, n * sizeof *x) == 0);
      free(x);
    } else {
      first = x;
    }
  }
  free(first);
  free(b);
  pla_block_matrix_clear(&a);
}

/* the matrix plus an antisymmetric part between neighbouring entries */
typedef struct {
  const PlaBlockMatrix *a;
  PlaCholesky *factor;
  double twist;
} Twisted;

static PlaStatus
twisted_apply(void *data, const double *x, double *y, PlaError *err)
{
  const Twisted *t = data;
  (void)err;
  pla_block_matrix_mul(t->a, x, y);
  for (int i = 0; i + 1 < 3 * t->a->n; i++) {
    y[i] += t->twist * x[i + 1];
    y[i + 1] -= t->twist * x[i];
  }
  return PLA_OK;
}

static PlaStatus
twisted_precondition(void *data, const double *x, double *y, PlaError *err)
{
  return pla_cholesky_solve(((const Twisted *)data)->factor, x, y, err);
}

/* GMRES around the factor of the symmetric part solves what is not symmetric, and at once what is
 */
static void
test_gmres(void)
{
  PlaBlockMatrix a = make_matrix((int[3]){ 5, 4, 3 }, 0.5, 8);
  const size_t n = 3 * (size_t)a.n;
  g_autofree double *b = random_vector(n, 9), *x = g_new(double, n), *ax = g_new(double, n);
  PlaError err = { 0 };
  Twisted t = { .a = &a };
  bool definite;
  g_assert_cmpint(pla_cholesky_new(&a, PLA_ORDER_AUTO, &t.factor, &err), ==, PLA_OK);
  g_assert_cmpint(pla_cholesky_factor(t.factor, &a, PLA_DOUBLE, NULL, &definite, &err), ==, PLA_OK);
  for (int k = 0; k < 3; k++) {
    const PlaGmres gmres = { n, &t, twisted_apply, twisted_precondition };
    double reached, error = 0.0;
    int iterations;
    t.twist = 0.3 * k;
    memset(x, 0, n * sizeof *x);
    g_assert_cmpint(pla_gmres_solve(&gmres, b, 1e-11, x, &reached, &iterations, &err), ==, PLA_OK);
    twisted_apply(&t, x, ax, &err);
    for (size_t i = 0; i < n; i++)
      error = hypot(error, ax[i] - b[i]);
    g_test_message("twist %g: %d iterations, %g", t.twist, iterations, reached);
    g_assert_cmpfloat(reached, <=, 1e-11);
    g_assert_cmpfloat(error, <, 2e-11 * pla_norm2(b, n));
    g_assert_true(k ? iterations > 1 : iterations == 1);
    /* nothing is left to do from the answer */
    g_assert_cmpint(pla_gmres_solve(&gmres, b, 1e-10, x, NULL, &iterations, &err), ==, PLA_OK);
    g_assert_cmpint(iterations, ==, 0);
  }
  pla_cholesky_free(t.factor);
  pla_block_matrix_clear(&a);
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/linear/cholesky/solve", test_solve);
  g_test_add_func("/linear/cholesky/given-order", test_given_order);
  g_test_add_func("/linear/cholesky/cholmod", test_against_cholmod);
  g_test_add_func("/linear/cholesky/indefinite", test_indefinite);
  g_test_add_func("/linear/cholesky/bits", test_bits);
  g_test_add_func("/linear/gmres", test_gmres);
  return g_test_run();
}

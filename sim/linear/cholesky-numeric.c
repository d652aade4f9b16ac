/* Multifrontal Cholesky in one precision; compiled twice, PLA_SINGLE_PRECISION defined or not.
 *
 * Each supernode has a front: its panel (its columns, all its rows; part of the factor) and an
 * update matrix (the rows below its columns).  A front is the sum of its entries of A and of its
 * children's update matrices, added in the order of the children.  Then the panel is factored, and
 * the update becomes U - B B^T, B the panel below the diagonal. */
#include "sim/linear/cholesky-private.h"

#include "anatomy/base/memory.h"

#include <cblas.h>
#include <lapack.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLA_SINGLE_PRECISION
typedef float Real;
#define POTRF LAPACK_spotrf
#define TRSM cblas_strsm
#define SYRK cblas_ssyrk
#define GEMM cblas_sgemm
#define GEMV cblas_sgemv
#define TRSV cblas_strsv
#define FACTOR pla_factor_single
#define SOLVE pla_solve_single
#else
typedef double Real;
#define POTRF LAPACK_dpotrf
#define TRSM cblas_dtrsm
#define SYRK cblas_dsyrk
#define GEMM cblas_dgemm
#define GEMV cblas_dgemv
#define TRSV cblas_dtrsv
#define FACTOR pla_factor_double
#define SOLVE pla_solve_double
#endif

enum {
  TILE = 192,        /* scalar rows and columns of a tile of a large front */
  LARGE_FRONT = 576, /* scalar rows from which a front is worth tiling */
};
/* a subtree with less work than this is one task: about half a millisecond */
static const double TASK_FLOPS = 1e7;

/* adds A's blocks of the supernode's columns to its panel; @where maps a row to its place */
static void
add_matrix(const PlaFactorJob *job, const PlaSupernode *node, const int *where, Real *panel)
{
  const PlaCholesky *sym = job->sym;
  const size_t ld = 3 * (size_t)node->n_rows;
  for (int c = 0; c < node->n_cols; c++) {
    int vertex = sym->perm[node->first + c];
    for (int k = job->a->start[vertex]; k < job->a->start[vertex + 1]; k++) {
      int row = sym->inverse[job->a->col[k]];
      if (row < node->first + c)
        continue;
      /* the block (row, column) is the transpose of the stored (column, row) */
      const double *block = job->a->value + 9 * (size_t)k;
      Real *out = panel + 3 * (size_t)c * ld + 3 * (size_t)where[row];
      for (size_t j = 0; j < 3; j++)
        for (size_t i = 0; i < 3; i++)
          out[j * ld + i] = (Real)block[3 * j + i];
    }
  }
}

/* adds a child's update matrix to the panel and update of its parent */
static void
add_update(const PlaSupernode *child, const Real *update, const PlaSupernode *node,
           const int *where, Real *panel, Real *mine)
{
  const int n = child->n_rows - child->n_cols;
  const int *rows = child->rows + child->n_cols;
  const size_t ld = 3 * (size_t)n, panel_ld = 3 * (size_t)node->n_rows;
  const size_t mine_ld = 3 * (size_t)(node->n_rows - node->n_cols);
  for (int c = 0; c < n; c++) {
    int column = where[rows[c]];
    Real *out;
    size_t out_ld, shift;
    if (column < node->n_cols) {
      out = panel + 3 * (size_t)column * panel_ld;
      out_ld = panel_ld;
      shift = 0;
    } else {
      out = mine + 3 * (size_t)(column - node->n_cols) * mine_ld;
      out_ld = mine_ld;
      shift = (size_t)node->n_cols;
    }
    for (size_t j = 0; j < 3; j++) {
      const Real *in = update + (3 * (size_t)c + j) * ld;
      Real *to = out + j * out_ld;
      for (int r = c; r < n; r++) {
        size_t at = 3 * ((size_t)where[rows[r]] - shift);
        for (size_t i = 0; i < 3; i++)
          to[at + i] += in[3 * (size_t)r + i];
      }
    }
  }
}

/* small front: three BLAS calls */
static bool
eliminate_small(int m, int k, Real *panel, Real *update)
{
  int info = 0, b = m - k;
  POTRF("L", &k, panel, &m, &info);
  if (info != 0)
    return false;
  if (b > 0) {
    TRSM(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b, k, 1, panel, m,
         panel + k, m);
    SYRK(CblasColMajor, CblasLower, CblasNoTrans, b, k, -1, panel + k, m, 1, update, b);
  }
  return true;
}

static int
tiles_of(int n)
{
  return (n + TILE - 1) / TILE;
}

static int
tile_size(int n, int t)
{
  return n - t * TILE < TILE ? n - t * TILE : TILE;
}

/* large front: the same by tiles.  Panel rows are cut from the diagonal on (k rows), then below it
 * (b rows), so that tiles of the panel and of the update line up. */
static bool
eliminate_tiled(int m, int k, Real *panel, Real *update)
{
  const int b = m - k, n_pivots = tiles_of(k), n_below = tiles_of(b);
  const size_t ld = (size_t)m;
  for (int p = 0; p < n_pivots; p++) {
    int width = tile_size(k, p), info = 0;
    Real *diagonal = panel + (size_t)(p * TILE) * ld + (size_t)(p * TILE);
    POTRF("L", &width, diagonal, &m, &info);
    if (info != 0)
      return false;
    int n_rows = n_pivots - p - 1 + n_below;
    /* the tiles below the diagonal one */
#pragma omp taskloop grainsize(1) default(shared)
    for (int t = 0; t < n_rows; t++) {
      int own = t < n_pivots - p - 1;
      int row = own ? (p + 1 + t) * TILE : k + (t - (n_pivots - p - 1)) * TILE;
      int height = own ? tile_size(k, p + 1 + t) : tile_size(b, t - (n_pivots - p - 1));
      TRSM(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, height, width, 1,
           diagonal, m, panel + (size_t)(p * TILE) * ld + (size_t)row, m);
    }
    /* the panel's columns to the right */
    int n_right = n_pivots - p - 1;
#pragma omp taskloop grainsize(1) default(shared)
    for (int pair = 0; pair < n_right * n_rows; pair++) {
      int c = pair / n_rows, t = pair % n_rows;
      if (t < c)
        continue;
      int own = t < n_right;
      int row = own ? (p + 1 + t) * TILE : k + (t - n_right) * TILE;
      int height = own ? tile_size(k, p + 1 + t) : tile_size(b, t - n_right);
      int column = (p + 1 + c) * TILE, breadth = tile_size(k, p + 1 + c);
      const Real *left = panel + (size_t)(p * TILE) * ld;
      Real *out = panel + (size_t)column * ld + (size_t)row;
      if (t == c)
        SYRK(CblasColMajor, CblasLower, CblasNoTrans, height, width, -1, left + row, m, 1, out, m);
      else
        GEMM(CblasColMajor, CblasNoTrans, CblasTrans, height, breadth, width, -1, left + row, m,
             left + column, m, 1, out, m);
    }
  }
  /* the update matrix */
  const Real *below = panel + k;
#pragma omp taskloop grainsize(1) default(shared)
  for (int pair = 0; pair < n_below * n_below; pair++) {
    int c = pair / n_below, t = pair % n_below;
    if (t < c)
      continue;
    int height = tile_size(b, t), breadth = tile_size(b, c);
    Real *out = update + (size_t)(c * TILE) * (size_t)b + (size_t)(t * TILE);
    if (t == c)
      SYRK(CblasColMajor, CblasLower, CblasNoTrans, height, k, -1, below + t * TILE, m, 1, out, b);
    else
      GEMM(CblasColMajor, CblasNoTrans, CblasTrans, height, breadth, k, -1, below + t * TILE, m,
           below + c * TILE, m, 1, out, b);
  }
  return true;
}

/* eliminates the subtree of @s; returns its update matrix (owned by the caller), or NULL when it
 * has none or the job has failed */
static Real *
eliminate(PlaFactorJob *job, int s)
{
  const PlaCholesky *sym = job->sym;
  const PlaSupernode *node = &sym->super[s];
  Real **updates = NULL;
  if (node->n_children > 0) {
    updates = pla_array_new0((size_t)node->n_children, sizeof *updates);
    if (!updates) {
      atomic_store(&job->short_of_memory, 1);
      return NULL;
    }
  }

  /* children first: big ones as tasks, small ones here */
  for (int c = 0; c < node->n_children; c++) {
    int child = sym->children[node->first_child + c];
    if (sym->super[child].subtree_flops > TASK_FLOPS && c + 1 < node->n_children) {
#pragma omp task default(shared) firstprivate(c, child)
      updates[c] = eliminate(job, child);
    } else {
      updates[c] = eliminate(job, child);
    }
  }
#pragma omp taskwait

  const size_t m = 3 * (size_t)node->n_rows, k = 3 * (size_t)node->n_cols, b = m - k;
  Real *panel = (Real *)sym->factor + node->at, *update = NULL;
  /* tied tasks stay on their thread, and none starts while the map is in use */
  int *where = job->where + (size_t)omp_get_thread_num() * (size_t)sym->n;
  bool stop = atomic_load(&job->failed) || atomic_load(&job->short_of_memory) ||
              pla_progress_cancelled(job->progress);
  if (!stop) {
    update = b > 0 ? pla_array_new0(b * b, sizeof *update) : NULL;
    if (b > 0 && !update) {
      atomic_store(&job->short_of_memory, 1);
      stop = true;
    }
  }
  if (!stop) {
    for (int r = 0; r < node->n_rows; r++)
      where[node->rows[r]] = r;
    memset(panel, 0, m * k * sizeof *panel);
    add_matrix(job, node, where, panel);
    for (int c = 0; c < node->n_children; c++) {
      int child = sym->children[node->first_child + c];
      if (updates[c])
        add_update(&sym->super[child], updates[c], node, where, panel, update);
      free(updates[c]);
      updates[c] = NULL;
    }
    bool positive = m >= LARGE_FRONT ? eliminate_tiled((int)m, (int)k, panel, update)
                                     : eliminate_small((int)m, (int)k, panel, update);
    if (!positive)
      atomic_store(&job->failed, 1);
  }
  for (int c = 0; updates && c < node->n_children; c++)
    free(updates[c]);
  free(updates);
  if (stop || atomic_load(&job->failed)) {
    free(update);
    update = NULL;
  }
  return update;
}

void
FACTOR(PlaFactorJob *job)
{
  job->where =
      pla_array_new((size_t)omp_get_max_threads() * (size_t)job->sym->n, sizeof *job->where);
  if (!job->where) {
    atomic_store(&job->short_of_memory, 1);
    return;
  }
#pragma omp parallel
#pragma omp single
  for (int r = 0; r < job->sym->n_roots; r++)
    free(eliminate(job, job->sym->roots[r]));
  free(job->where);
}

/* ---- substitution ------------------------------------------------------------------------- */

typedef struct {
  const PlaCholesky *sym;
  Real *x; /* elimination order, 3 n for each right side */
  int n_rhs;
  atomic_int short_of_memory;
} Substitution;

/* y = L^-1 y or L^-T y of the panel's diagonal part, for @n right sides @ld apart */
static void
solve_diagonal(bool transpose, int k, const Real *panel, int m, int n, Real *y, int ld)
{
  const CBLAS_TRANSPOSE how = transpose ? CblasTrans : CblasNoTrans;
  if (n == 1)
    TRSV(CblasColMajor, CblasLower, how, CblasNonUnit, k, panel, m, y, 1);
  else
    TRSM(CblasColMajor, CblasLeft, CblasLower, how, CblasNonUnit, k, n, 1, panel, m, y, ld);
}

/* forward: returns what the subtree of @s adds to the rows below its own columns */
static Real *
forward(Substitution *job, int s)
{
  const PlaCholesky *sym = job->sym;
  const PlaSupernode *node = &sym->super[s];
  const int m = 3 * node->n_rows, k = 3 * node->n_cols, n = job->n_rhs;
  const size_t n_x = 3 * (size_t)sym->n, n_own = (size_t)k, n_y = (size_t)m, n_below = n_y - n_own;
  Real **parts = node->n_children ? pla_array_new0((size_t)node->n_children, sizeof *parts) : NULL;
  for (int c = 0; parts && c < node->n_children; c++) {
    int child = sym->children[node->first_child + c];
    if (sym->super[child].subtree_flops > 10.0 * TASK_FLOPS / n && c + 1 < node->n_children) {
#pragma omp task default(shared) firstprivate(c, child)
      parts[c] = forward(job, child);
    } else {
      parts[c] = forward(job, child);
    }
  }
#pragma omp taskwait
  Real *y = pla_array_new0(n_y * (size_t)n, sizeof *y);
  if (!y || (node->n_children && !parts)) {
    atomic_store(&job->short_of_memory, 1);
    for (int c = 0; parts && c < node->n_children; c++)
      free(parts[c]);
    free(parts);
    free(y);
    return NULL;
  }
  Real *own = job->x + 3 * (size_t)node->first;
  for (size_t j = 0; j < (size_t)n; j++)
    memcpy(y + j * n_y, own + j * n_x, n_own * sizeof *y);
  for (int c = 0; c < node->n_children; c++) {
    const PlaSupernode *child = &sym->super[sym->children[node->first_child + c]];
    const size_t n_part = 3 * (size_t)(child->n_rows - child->n_cols);
    /* both row lists ascend: one walk matches them */
    int at = 0;
    for (int r = child->n_cols; parts[c] && r < child->n_rows; r++) {
      while (node->rows[at] < child->rows[r])
        at++;
      for (size_t j = 0; j < (size_t)n; j++)
        for (size_t d = 0; d < 3; d++)
          y[j * n_y + 3 * (size_t)at + d] +=
              parts[c][j * n_part + 3 * (size_t)(r - child->n_cols) + d];
    }
    free(parts[c]);
  }
  free(parts);

  const Real *panel = (const Real *)sym->factor + node->at;
  solve_diagonal(false, k, panel, m, n, y, m);
  for (size_t j = 0; j < (size_t)n; j++)
    memcpy(own + j * n_x, y + j * n_y, n_own * sizeof *y);
  if (m == k) {
    free(y);
    return NULL;
  }
  if (n == 1)
    GEMV(CblasColMajor, CblasNoTrans, m - k, k, -1, panel + k, m, y, 1, 1, y + k, 1);
  else
    GEMM(CblasColMajor, CblasNoTrans, CblasNoTrans, m - k, n, k, -1, panel + k, m, y, m, 1, y + k,
         m);
  for (size_t j = 0; j < (size_t)n; j++)
    memmove(y + j * n_below, y + j * n_y + n_own, n_below * sizeof *y);
  return y;
}

/* backward: the columns of @s from the rows below, then the children */
static void
backward(Substitution *job, int s)
{
  const PlaCholesky *sym = job->sym;
  const PlaSupernode *node = &sym->super[s];
  const int m = 3 * node->n_rows, k = 3 * node->n_cols, n = job->n_rhs, n_x = 3 * sym->n;
  const Real *panel = (const Real *)sym->factor + node->at;
  Real *x = job->x + 3 * (size_t)node->first;
  if (m > k) {
    const size_t n_below = (size_t)(m - k);
    Real *below = pla_array_new(n_below * (size_t)n, sizeof *below);
    if (!below) {
      atomic_store(&job->short_of_memory, 1);
      return;
    }
    for (size_t j = 0; j < (size_t)n; j++)
      for (int r = node->n_cols; r < node->n_rows; r++)
        memcpy(below + j * n_below + 3 * (size_t)(r - node->n_cols),
               job->x + j * (size_t)n_x + 3 * (size_t)node->rows[r], 3 * sizeof *below);
    if (n == 1)
      GEMV(CblasColMajor, CblasTrans, m - k, k, -1, panel + k, m, below, 1, 1, x, 1);
    else
      GEMM(CblasColMajor, CblasTrans, CblasNoTrans, k, n, m - k, -1, panel + k, m, below, m - k, 1,
           x, n_x);
    free(below);
  }
  solve_diagonal(true, k, panel, m, n, x, n_x);
  for (int c = 0; c < node->n_children; c++) {
    int child = sym->children[node->first_child + c];
    if (sym->super[child].subtree_flops > 10.0 * TASK_FLOPS / n && c + 1 < node->n_children) {
#pragma omp task default(shared) firstprivate(child)
      backward(job, child);
    } else {
      backward(job, child);
    }
  }
#pragma omp taskwait
}

bool
SOLVE(const PlaCholesky *sym, int n_rhs, double *x)
{
  Substitution job = { .sym = sym, .n_rhs = n_rhs };
#ifdef PLA_SINGLE_PRECISION
  const size_t n = 3 * (size_t)sym->n;
  job.x = pla_array_new(n * (size_t)n_rhs, sizeof *job.x);
  double *most = pla_array_new0((size_t)n_rhs, sizeof *most);
  if (!job.x || !most) {
    free(job.x);
    free(most);
    return false;
  }
  /* scaled so that no entry leaves the range of single precision */
  for (size_t j = 0; j < (size_t)n_rhs; j++) {
    for (size_t i = 0; i < n; i++)
      most[j] = fmax(most[j], fabs(x[j * n + i]));
    for (size_t i = 0; i < n; i++)
      job.x[j * n + i] = most[j] > 0.0 ? (Real)(x[j * n + i] / most[j]) : 0;
  }
#else
  job.x = x;
#endif
#pragma omp parallel
#pragma omp single
  {
    for (int r = 0; r < sym->n_roots; r++)
      free(forward(&job, sym->roots[r]));
    for (int r = 0; r < sym->n_roots; r++)
      backward(&job, sym->roots[r]);
  }
#ifdef PLA_SINGLE_PRECISION
  for (size_t j = 0; j < (size_t)n_rhs; j++)
    for (size_t i = 0; i < n; i++)
      x[j * n + i] = (double)job.x[j * n + i] * most[j];
  free(job.x);
  free(most);
#endif
  return !atomic_load(&job.short_of_memory);
}

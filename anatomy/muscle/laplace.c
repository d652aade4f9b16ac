/* Potentials between origin and insertion on tetrahedra, and their gradients.
 *
 *     K u = 0,  K_ij = sum_t w_t V_t grad N_i . grad N_j,  u = 0 and 1 on the two ends
 *
 * The gradient at a vertex comes from the quadratic that fits the values around it best (Zhang and
 * Naga 2005), which keeps second order at free surfaces, where fibres matter most. */
#include "anatomy/muscle/muscle-fibre.h"

#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/union-find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

/* below this many unknowns a factor column by column is quicker than one by supernodes */
enum { SMALL_SYSTEM = 4000 };

static bool
in_use(const double *weight, int t)
{
  return !weight || weight[t] > 0.0;
}

/* gradients of the four hat functions (rows, 1/m) and the volume, m^3; false without volume */
static bool
hat_gradients(const PlaTetMesh *mesh, int t, double g[4][3], double *volume)
{
  const int *v = mesh->tet + 4 * (size_t)t;
  const double *x0 = mesh->rest + 3 * (size_t)v[0];
  double m[9], inv[9];
  for (int c = 0; c < 3; c++)
    pla_vec3_sub(mesh->rest + 3 * (size_t)v[c + 1], x0, m + 3 * c);
  const double det = pla_mat3_invert(m, inv);
  *volume = fabs(det) / 6.0;
  if (det == 0.0)
    return false;
  /* rows of m are edges, so column c of its inverse is the gradient of hat c + 1 */
  for (int d = 0; d < 3; d++) {
    for (int c = 0; c < 3; c++)
      g[c + 1][d] = inv[3 * d + c];
    g[0][d] = -(g[1][d] + g[2][d] + g[3][d]);
  }
  return true;
}

/* Pieces of connected tets in use: keeps those that touch both ends.  @keep (n_verts) */
static int
keep_joined(const PlaTetMesh *mesh, const double *weight, const uint8_t *end, int *parent,
            uint8_t *keep, int *n_cut_off)
{
  for (int v = 0; v < mesh->n_verts; v++)
    parent[v] = v;
  for (int t = 0; t < mesh->n_tets; t++) {
    if (!in_use(weight, t))
      continue;
    const int *v = mesh->tet + 4 * (size_t)t;
    const int root = pla_union_find_root(parent, v[0]);
    for (int c = 1; c < 4; c++)
      parent[pla_union_find_root(parent, v[c])] = root;
  }
  uint8_t *touch = keep; /* bits of the ends, gathered at the roots first */
  memset(touch, 0, (size_t)mesh->n_verts);
  for (int t = 0; t < mesh->n_tets; t++)
    for (int c = 0; c < 4 && in_use(weight, t); c++) {
      const int v = mesh->tet[4 * (size_t)t + c];
      if (end[v] != PLA_END_NONE)
        touch[pla_union_find_root(parent, v)] |= (uint8_t)end[v];
    }
  *n_cut_off = 0;
  int kept = 0;
  for (int t = 0; t < mesh->n_tets; t++) {
    if (!in_use(weight, t))
      continue;
    const bool both = (touch[pla_union_find_root(parent, mesh->tet[4 * (size_t)t])] & 3) ==
                      (PLA_END_ORIGIN | PLA_END_INSERTION);
    kept += both;
    *n_cut_off += !both;
  }
  return kept;
}

/* Numbers the free vertices of kept pieces; returns how many.  -1: fixed, -2: not in a piece. */
static int
number_unknowns(const PlaTetMesh *mesh, const double *weight, const uint8_t *end, int *parent,
                const uint8_t *touch, int *id)
{
  for (int v = 0; v < mesh->n_verts; v++)
    id[v] = -2;
  for (int t = 0; t < mesh->n_tets; t++) {
    const int *v = mesh->tet + 4 * (size_t)t;
    if (!in_use(weight, t) || (touch[pla_union_find_root(parent, v[0])] & 3) != 3)
      continue;
    for (int c = 0; c < 4; c++)
      id[v[c]] = end[v[c]] == PLA_END_NONE ? 0 : -1;
  }
  int n = 0;
  for (int v = 0; v < mesh->n_verts; v++)
    if (id[v] == 0)
      id[v] = n++;
  return n;
}

static double
end_value(const uint8_t *end, const double *value, int v)
{
  return value ? value[v] : end[v] == PLA_END_INSERTION ? 1.0 : 0.0;
}

static PlaStatus
solve(const PlaTetMesh *mesh, const double *weight, const uint8_t *end, const double *fixed,
      const int *id, int n, PlaProgress *progress, double *potential, PlaError *err)
{
  pla_blas_single_thread();
  cholmod_common common;
  cholmod_start(&common);
  common.print = 0;
  common.supernodal = n < SMALL_SYSTEM ? CHOLMOD_SIMPLICIAL : CHOLMOD_SUPERNODAL;
  common.nmethods = 1;
  /* METIS draws random numbers from a state that threads share, so its order would vary */
  common.method[0].ordering = CHOLMOD_AMD;
  common.postorder = 1;
  cholmod_triplet *triplet =
      cholmod_allocate_triplet((size_t)n, (size_t)n, 10 * (size_t)mesh->n_tets + 1, -1,
                               CHOLMOD_REAL, &common);
  cholmod_dense *b = cholmod_zeros((size_t)n, 1, CHOLMOD_REAL, &common), *x = NULL;
  cholmod_sparse *matrix = NULL;
  cholmod_factor *factor = NULL;
  bool positive = false;
  if (triplet && b) {
    int *row = triplet->i, *col = triplet->j;
    double *value = triplet->x, *right = b->x;
    size_t nnz = 0;
    for (int t = 0; t < mesh->n_tets; t++) {
      const int *v = mesh->tet + 4 * (size_t)t;
      double g[4][3], volume;
      if (!in_use(weight, t) || id[v[0]] == -2 || !hat_gradients(mesh, t, g, &volume))
        continue;
      const double scale = volume * (weight ? weight[t] : 1.0);
      for (int i = 0; i < 4; i++) {
        if (id[v[i]] < 0)
          continue;
        for (int j = 0; j < 4; j++) {
          const double k = scale * pla_vec3_dot(g[i], g[j]);
          if (id[v[j]] < 0)
            right[id[v[i]]] -= k * end_value(end, fixed, v[j]);
          else if (id[v[j]] <= id[v[i]]) {
            row[nnz] = id[v[i]];
            col[nnz] = id[v[j]];
            value[nnz++] = k;
          }
        }
      }
    }
    triplet->nnz = nnz;
    matrix = cholmod_triplet_to_sparse(triplet, nnz, &common);
  }
  cholmod_free_triplet(&triplet, &common);
  bool go_on = pla_progress_step(progress, 0.2);
  if (matrix && go_on)
    factor = cholmod_analyze(matrix, &common);
  go_on = go_on && pla_progress_step(progress, 0.4);
  if (factor && go_on)
    cholmod_factorize(matrix, factor, &common);
  positive = factor && common.status == CHOLMOD_OK && factor->minor == factor->n;
  go_on = go_on && pla_progress_step(progress, 0.9);
  if (positive && go_on)
    x = cholmod_solve(CHOLMOD_A, factor, b, &common);
  for (int v = 0; v < mesh->n_verts && x; v++)
    potential[v] = id[v] >= 0    ? ((double *)x->x)[id[v]]
                   : id[v] == -1 ? end_value(end, fixed, v)
                                 : NAN;
  const bool solved = x != NULL;
  const bool short_memory = common.status == CHOLMOD_OUT_OF_MEMORY || !b;
  cholmod_free_dense(&x, &common);
  cholmod_free_dense(&b, &common);
  cholmod_free_sparse(&matrix, &common);
  cholmod_free_factor(&factor, &common);
  cholmod_finish(&common);
  if (!go_on)
    return pla_fail_cancelled(err);
  if (solved)
    return PLA_OK;
  return short_memory ? pla_fail_memory(err, "the fibres of a muscle")
                      : pla_fail(err, PLA_ERR_GEOMETRY,
                                 "The elements of the muscle are too flat to compute fibres on; "
                                 "mesh it again.");
}

PlaStatus
pla_fibre_potential(const PlaTetMesh *mesh, const double *weight, const uint8_t *end,
                    const double *value, PlaProgress *progress, double *potential,
                    PlaPotentialReport *report, PlaError *err)
{
  int *parent = pla_array_new((size_t)mesh->n_verts + 1, sizeof *parent);
  int *id = pla_array_new((size_t)mesh->n_verts + 1, sizeof *id);
  uint8_t *touch = pla_array_new((size_t)mesh->n_verts + 1, 1);
  PlaStatus st = parent && id && touch ? PLA_OK : pla_fail_memory(err, "the fibres of a muscle");
  PlaPotentialReport found = { 0 };
  if (st == PLA_OK && keep_joined(mesh, weight, end, parent, touch, &found.n_cut_off) == 0)
    st = pla_fail(err, PLA_ERR_GEOMETRY,
                  "No piece of the muscle joins its origin to its insertion, so no fibre can run "
                  "between them; check the attachments or make the mesh finer.");
  if (st == PLA_OK) {
    found.n_unknowns = number_unknowns(mesh, weight, end, parent, touch, id);
    if (found.n_unknowns > 0)
      st = solve(mesh, weight, end, value, id, found.n_unknowns, progress, potential, err);
    else
      for (int v = 0; v < mesh->n_verts; v++)
        potential[v] = id[v] == -2 ? NAN : end_value(end, value, v);
  }
  if (report)
    *report = found;
  free(parent);
  free(id);
  free(touch);
  return st;
}

void
pla_fibre_tet_gradient(const PlaTetMesh *mesh, const double *weight, const double *potential,
                       double *gradient)
{
#pragma omp parallel for schedule(static)
  for (int t = 0; t < mesh->n_tets; t++) {
    double g[4][3], volume, *out = gradient + 3 * (size_t)t;
    memset(out, 0, 3 * sizeof *out);
    if (!in_use(weight, t) || !hat_gradients(mesh, t, g, &volume))
      continue;
    for (int c = 0; c < 4; c++)
      for (int d = 0; d < 3; d++)
        out[d] += potential[mesh->tet[4 * (size_t)t + c]] * g[c][d];
    if (!isfinite(out[0] + out[1] + out[2]))
      memset(out, 0, 3 * sizeof *out);
  }
}

/* ---- recovery at vertices ---- */

#define LEAST_TRUST 0.01
enum { TERMS = 10, MAX_AROUND = 400, WANTED = 24 };

/* tets around each vertex, those in use */
typedef struct {
  int *start, *tet;
} Incidence;

static bool
incidence_init(Incidence *inc, const PlaTetMesh *mesh, const double *weight)
{
  inc->start = pla_array_new0((size_t)mesh->n_verts + 2, sizeof *inc->start);
  inc->tet = pla_array_new(4 * (size_t)mesh->n_tets, sizeof *inc->tet);
  if (!inc->start || !inc->tet)
    return false;
  for (int t = 0; t < mesh->n_tets; t++)
    for (int c = 0; c < 4 && in_use(weight, t); c++)
      inc->start[mesh->tet[4 * (size_t)t + c] + 2]++;
  for (int v = 0; v <= mesh->n_verts; v++)
    inc->start[v + 1] += inc->start[v];
  for (int t = 0; t < mesh->n_tets; t++)
    for (int c = 0; c < 4 && in_use(weight, t); c++)
      inc->tet[inc->start[mesh->tet[4 * (size_t)t + c] + 1]++] = t;
  return true;
}

/* whether all values around @v are its own: it lies deep in an end, where nothing flows */
static bool
is_deep(const PlaTetMesh *mesh, const Incidence *inc, const double *potential, int v)
{
  for (int k = inc->start[v]; k < inc->start[v + 1]; k++)
    for (int c = 0; c < 4; c++)
      if (potential[mesh->tet[4 * (size_t)inc->tet[k] + c]] != potential[v])
        return false;
  return true;
}

/* vertices that are not deep around @v, ring by ring until there are enough; @v is the first */
static int
gather_around(const PlaTetMesh *mesh, const Incidence *inc, const double *potential,
              const uint8_t *deep, int v, int *around, int *stamp)
{
  int n = 0, from = 0;
  around[n++] = v;
  stamp[v] = v + 1;
  while (n < WANTED && from < n) {
    const int to = n;
    for (int i = from; i < to; i++)
      for (int k = inc->start[around[i]]; k < inc->start[around[i] + 1]; k++)
        for (int c = 0; c < 4; c++) {
          const int w = mesh->tet[4 * (size_t)inc->tet[k] + c];
          if (stamp[w] != v + 1 && n < MAX_AROUND && !deep[w] && isfinite(potential[w])) {
            stamp[w] = v + 1;
            around[n++] = w;
          }
        }
    from = to;
  }
  return n;
}

/* solves the symmetric positive system a x = b of @n <= TERMS in place; false when it is singular
 */
static bool
solve_small(double a[TERMS][TERMS], double b[TERMS], int n)
{
  for (int j = 0; j < n; j++) {
    double pivot = a[j][j];
    const double whole = pivot;
    for (int k = 0; k < j; k++)
      pivot -= a[j][k] * a[j][k];
    if (!(pivot > 1e-10 * whole))
      return false;
    a[j][j] = sqrt(pivot);
    for (int i = j + 1; i < n; i++) {
      double sum = a[i][j];
      for (int k = 0; k < j; k++)
        sum -= a[i][k] * a[j][k];
      a[i][j] = sum / a[j][j];
    }
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++)
      b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++)
      b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return true;
}

/* fits 1, x, y, z (and squares and products) to the values; the middle three are the gradient.
 * @trust: weights of the vertices */
static bool
fit_gradient(const PlaTetMesh *mesh, const double *potential, const double *trust,
             const int *around, int n_around, int terms, double gradient[3])
{
  const double *x0 = mesh->rest + 3 * (size_t)around[0];
  double size = 0.0, a[TERMS][TERMS] = { { 0 } }, b[TERMS] = { 0 };
  for (int i = 1; i < n_around; i++) {
    double d[3];
    pla_vec3_sub(mesh->rest + 3 * (size_t)around[i], x0, d);
    size = fmax(size, pla_vec3_norm(d));
  }
  if (n_around < terms || !(size > 0.0))
    return false;
  for (int i = 0; i < n_around; i++) {
    const double *p = mesh->rest + 3 * (size_t)around[i];
    const double x = (p[0] - x0[0]) / size, y = (p[1] - x0[1]) / size, z = (p[2] - x0[2]) / size;
    const double row[TERMS] = { 1.0, x, y, z, x * x, y * y, z * z, x * y, y * z, z * x };
    for (int r = 0; r < terms; r++) {
      b[r] += trust[around[i]] * row[r] * potential[around[i]];
      for (int c = 0; c <= r; c++)
        a[r][c] += trust[around[i]] * row[r] * row[c];
    }
  }
  if (!solve_small(a, b, terms))
    return false;
  for (int d = 0; d < 3; d++)
    gradient[d] = b[1 + d] / size;
  return true;
}

/* Deep in the ends the direction is that of the neighbours outwards, layer by layer.  @deep: 1 not
 * known yet, 0 known. */
static bool
extend_into_ends(const PlaTetMesh *mesh, const Incidence *inc, const double *potential,
                 uint8_t *deep, double *gradient)
{
  enum { NEXT = 2 };
  int *list = pla_array_new((size_t)mesh->n_verts, sizeof *list);
  int n = 0;
  if (!list)
    return false;
  for (int v = 0; v < mesh->n_verts; v++)
    if (deep[v] && isfinite(potential[v]))
      list[n++] = v;
  for (bool again = true; again && n > 0;) {
    again = false;
    for (int i = 0; i < n; i++) {
      const int v = list[i];
      double sum[3] = { 0 };
      for (int k = inc->start[v]; k < inc->start[v + 1]; k++)
        for (int c = 0; c < 4; c++) {
          const int w = mesh->tet[4 * (size_t)inc->tet[k] + c];
          if (!deep[w])
            for (int d = 0; d < 3; d++)
              sum[d] += gradient[3 * (size_t)w + d];
        }
      if (pla_vec3_norm(sum) > 0.0) {
        memcpy(gradient + 3 * (size_t)v, sum, sizeof sum);
        deep[v] = NEXT;
      }
    }
    int left = 0;
    for (int i = 0; i < n; i++)
      if (deep[list[i]] == NEXT) {
        deep[list[i]] = 0;
        again = true;
      } else
        list[left++] = list[i];
    n = left;
  }
  free(list);
  return true;
}

PlaStatus
pla_fibre_vert_gradient(const PlaTetMesh *mesh, const double *weight, const double *potential,
                        double *gradient, PlaError *err)
{
  Incidence inc = { 0 };
  uint8_t *deep = pla_array_new((size_t)mesh->n_verts, 1);
  double *trust = pla_array_new((size_t)mesh->n_verts, sizeof *trust);
  bool memory = deep && trust && incidence_init(&inc, mesh, weight);
#pragma omp parallel for schedule(static) if (memory)
  for (int v = 0; v < mesh->n_verts; v++)
    if (memory) {
      /* vertices outside of a muscle, on elements it fills in part, are known less well */
      double sum = 0.0;
      for (int k = inc.start[v]; k < inc.start[v + 1]; k++)
        sum += weight ? weight[inc.tet[k]] : 1.0;
      trust[v] = fmax(sum / (inc.start[v + 1] - inc.start[v] + 1e-9), LEAST_TRUST);
      deep[v] = is_deep(mesh, &inc, potential, v);
    }
#pragma omp parallel if (memory)
  {
    int *stamp = memory ? pla_array_new0((size_t)mesh->n_verts + 1, sizeof *stamp) : NULL;
    if (!stamp)
#pragma omp atomic write
      memory = false;
#pragma omp for schedule(static)
    for (int v = 0; v < mesh->n_verts; v++) {
      double *out = gradient + 3 * (size_t)v;
      int around[MAX_AROUND];
      memset(out, 0, 3 * sizeof *out);
      if (!stamp || deep[v] || !isfinite(potential[v]) || inc.start[v] == inc.start[v + 1])
        continue;
      const int n = gather_around(mesh, &inc, potential, deep, v, around, stamp);
      if (!fit_gradient(mesh, potential, trust, around, n, TERMS, out))
        fit_gradient(mesh, potential, trust, around, n, 4, out);
    }
    free(stamp);
  }
  if (memory)
    memory = extend_into_ends(mesh, &inc, potential, deep, gradient);
  free(inc.start);
  free(inc.tet);
  free(deep);
  free(trust);
  return memory ? PLA_OK : pla_fail_memory(err, "the fibres of a muscle");
}

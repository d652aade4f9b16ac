/* Warps by landmarks: f(x) = A x + b - sum_i w_i |x - x_i|, with w orthogonal to all affine
 * functions, so that the system
 *
 *     [ K + s I   P ] [ w ]   [ y ]        K_ij = -|x_i - x_j|,  P_i = (1, x_i)
 *     [ P^T       0 ] [ c ] = [ 0 ]
 *
 * has one solution for landmarks that do not lie in one plane.  s = 0 meets them; a relaxed warp
 * takes the s at which their rms residual is what was allowed.  How well the others predict
 * landmark i needs no second solution: it is w_i / (M^-1)_ii, M being the matrix above (Rippa
 * 1999). */
#include "anatomy/base/blas.h"
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/svd3.h"
#include "anatomy/registration/registration.h"

#include <lapack.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLANE_SHARE 1e-3 /* of the landmarks' extent that they must leave a plane by */
#define SAME_MM 1e-6     /* landmarks this near are at one place */
enum { MAX_LANDMARKS = 4000, NEWTON_STEPS = 40, RELAX_STEPS = 40 };

struct PlaWarp {
  int n;
  double centre[3], scale; /* x = centre + scale u: u is of the order of one */
  double *node;            /* scaled landmarks (n x 3) */
  double *coef;            /* (n + 4) x 3: w, then constant and linear part, mm */
};

void
pla_warp_free(PlaWarp *self)
{
  if (!self)
    return;
  free(self->node);
  free(self->coef);
  free(self);
}

static void
basis_at(const PlaWarp *s, const double pos[3], double u[3])
{
  for (int d = 0; d < 3; d++)
    u[d] = (pos[d] - s->centre[d]) / s->scale;
}

static void
apply_one(const PlaWarp *s, const double pos[3], double out[3])
{
  double u[3], sum[3];
  basis_at(s, pos, u);
  const double *c = s->coef + 3 * (size_t)s->n;
  for (int d = 0; d < 3; d++)
    sum[d] = c[d] + c[3 + d] * u[0] + c[6 + d] * u[1] + c[9 + d] * u[2];
  for (int i = 0; i < s->n; i++) {
    double e[3];
    pla_vec3_sub(u, s->node + 3 * (size_t)i, e);
    const double r = pla_vec3_norm(e);
    for (int d = 0; d < 3; d++)
      sum[d] -= s->coef[3 * (size_t)i + d] * r;
  }
  memcpy(out, sum, sizeof sum);
}

void
pla_warp_apply(const PlaWarp *self, int n, const double *pos, double *out)
{
#pragma omp parallel for schedule(static)
  for (int i = 0; i < n; i++)
    apply_one(self, pos + 3 * (size_t)i, out + 3 * (size_t)i);
}

void
pla_warp_jacobian(const PlaWarp *self, const double pos[3], double jacobian[9])
{
  double u[3], j[9];
  basis_at(self, pos, u);
  const double *c = self->coef + 3 * (size_t)self->n;
  for (int d = 0; d < 3; d++)
    for (int a = 0; a < 3; a++)
      j[3 * d + a] = c[3 + 3 * a + d];
  for (int i = 0; i < self->n; i++) {
    double e[3];
    pla_vec3_sub(u, self->node + 3 * (size_t)i, e);
    const double r = pla_vec3_norm(e);
    for (int d = 0; d < 3 && r > 0.0; d++)
      for (int a = 0; a < 3; a++)
        j[3 * d + a] -= self->coef[3 * (size_t)i + d] * e[a] / r;
  }
  for (int i = 0; i < 9; i++)
    jacobian[i] = j[i] / self->scale;
}

bool
pla_warp_invert(const PlaWarp *self, const double pos[3], double from[3])
{
  double x[3], y[3], miss[3], j[9], inv[9], step[3];
  const double done = 1e-9 * self->scale;
  memcpy(x, pos, sizeof x);
  apply_one(self, x, y);
  pla_vec3_sub(pos, y, miss);
  double best = pla_vec3_norm(miss);
  for (int k = 0; k < NEWTON_STEPS && best > done; k++) {
    pla_warp_jacobian(self, x, j);
    if (!(pla_mat3_invert(j, inv) > 0.0))
      return false;
    pla_mat3_apply(inv, miss, step);
    /* half as far while that does not bring it nearer */
    double t = 1.0, trial[3], left[3], now = INFINITY;
    for (int half = 0; half < 20; half++, t *= 0.5) {
      for (int d = 0; d < 3; d++)
        trial[d] = x[d] + t * step[d];
      apply_one(self, trial, y);
      pla_vec3_sub(pos, y, left);
      now = pla_vec3_norm(left);
      if (now < best)
        break;
    }
    if (!(now < best))
      break;
    memcpy(x, trial, sizeof x);
    memcpy(miss, left, sizeof miss);
    best = now;
  }
  memcpy(from, x, sizeof x);
  return best <= 1e-6 * self->scale;
}

/* ---- making one ---- */

static PlaStatus
check_landmarks(int n, const double *from, const double *to, PlaError *err)
{
  if (n < 4)
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "Four landmarks or more that do not lie in one plane are needed for a warp; "
                    "there %s %d.",
                    n == 1 ? "is" : "are", n);
  if (n > MAX_LANDMARKS)
    return pla_fail(err, PLA_ERR_UNSUPPORTED, "%d landmarks are more than the %d a warp can have.",
                    n, MAX_LANDMARKS);
  double mean[3] = { 0 }, cov[9] = { 0 }, w[3], q[9];
  for (int i = 0; i < n; i++)
    for (int d = 0; d < 3; d++) {
      if (!isfinite(from[3 * i + d]) || !isfinite(to[3 * i + d]))
        return pla_fail(err, PLA_ERR_GEOMETRY, "Landmark %d has no position.", i + 1);
      mean[d] += from[3 * i + d] / n;
    }
  for (int i = 0; i < n; i++) {
    double e[3];
    pla_vec3_sub(from + 3 * i, mean, e);
    for (int r = 0; r < 3; r++)
      for (int c = 0; c < 3; c++)
        cov[3 * r + c] += e[r] * e[c];
    for (int k = 0; k < i; k++) {
      pla_vec3_sub(from + 3 * i, from + 3 * k, e);
      if (pla_vec3_norm(e) < SAME_MM)
        return pla_fail(err, PLA_ERR_GEOMETRY,
                        "Landmarks %d and %d are at the same place; leave one out.", k + 1, i + 1);
    }
  }
  pla_eig3(cov, w, q);
  if (!(w[0] > PLANE_SHARE * PLANE_SHARE * w[2]))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "The landmarks lie in one plane, or nearly so, and do not determine a warp "
                    "beside it; add some off that plane.");
  return PLA_OK;
}

/* column-major, n + 4 square */
static void
fill_matrix(const PlaWarp *s, double smooth, double *m)
{
  const size_t size = (size_t)s->n + 4;
  memset(m, 0, size * size * sizeof *m);
  for (size_t j = 0; j < (size_t)s->n; j++) {
    for (size_t i = 0; i < (size_t)s->n; i++) {
      double e[3];
      pla_vec3_sub(s->node + 3 * i, s->node + 3 * j, e);
      m[i + size * j] = i == j ? smooth : -pla_vec3_norm(e);
    }
    for (size_t k = 0; k < 4; k++) {
      const double p = k == 0 ? 1.0 : s->node[3 * j + k - 1];
      m[j + size * ((size_t)s->n + k)] = m[(size_t)s->n + k + size * j] = p;
    }
  }
}

typedef struct {
  double *matrix, *right; /* (n+4)^2, (n+4) x 3 column-major */
  int *pivot;
} Solver;

/* solves for the coefficients; the rms residual at the landmarks, or NaN */
static double
solve(PlaWarp *s, const double *to, double smooth, Solver *w)
{
  int size = s->n + 4, three = 3, info = 0;
  char no = 'N';
  fill_matrix(s, smooth, w->matrix);
  memset(w->right, 0, 3 * (size_t)size * sizeof *w->right);
  for (int i = 0; i < s->n; i++)
    for (int d = 0; d < 3; d++)
      w->right[i + size * d] = to[3 * i + d];
  LAPACK_dgetrf(&size, &size, w->matrix, &size, w->pivot, &info);
  if (info != 0)
    return NAN;
  LAPACK_dgetrs(&no, &size, &three, w->matrix, &size, w->pivot, w->right, &size, &info);
  double sum = 0.0;
  for (int i = 0; i < size; i++)
    for (int d = 0; d < 3; d++) {
      s->coef[3 * i + d] = w->right[i + size * d];
      /* what the smoothing leaves at a landmark is s w_i */
      if (i < s->n)
        sum += smooth * smooth * s->coef[3 * i + d] * s->coef[3 * i + d];
    }
  return info == 0 ? sqrt(sum / s->n) : NAN;
}

/* after solve(): predictions of each landmark by the others, and the condition */
static PlaStatus
leave_one_out(const PlaWarp *s, Solver *w, double norm, double *left_out, double *condition,
              PlaError *err)
{
  int size = s->n + 4, info = 0, room = 64 * size;
  char one = '1';
  double reciprocal = 0.0;
  double *work = pla_array_new((size_t)room, sizeof *work);
  int *iwork = pla_array_new((size_t)size, sizeof *iwork);
  PlaStatus st = work && iwork ? PLA_OK : pla_fail_memory(err, "a warp");
  if (st == PLA_OK) {
    LAPACK_dgecon(&one, &size, w->matrix, &size, &norm, &reciprocal, work, iwork, &info);
    *condition = 1.0 / reciprocal;
    LAPACK_dgetri(&size, w->matrix, &size, w->pivot, work, &room, &info);
  }
  for (int i = 0; i < s->n && st == PLA_OK; i++) {
    const double own = w->matrix[(size_t)i + (size_t)size * (size_t)i];
    left_out[i] = pla_vec3_norm(s->coef + 3 * i) / fabs(own);
    if (!isfinite(left_out[i]))
      left_out[i] = INFINITY; /* four landmarks: none can be left out */
  }
  free(work);
  free(iwork);
  return st;
}

static double
matrix_norm(const double *m, int size)
{
  double norm = 0.0;
  for (int j = 0; j < size; j++) {
    double sum = 0.0;
    for (int i = 0; i < size; i++)
      sum += fabs(m[(size_t)i + (size_t)size * (size_t)j]);
    norm = fmax(norm, sum);
  }
  return norm;
}

static PlaStatus
relax(PlaWarp *s, const double *to, double relax_mm, Solver *w, PlaWarpReport *r, PlaError *err)
{
  double smooth = 0.0;
  r->rms_mm = solve(s, to, 0.0, w);
  if (relax_mm > 0.0 && isfinite(r->rms_mm)) {
    /* the residual grows with the smoothing up to that of the affine map */
    double lo = 1e-9, hi = 1e9;
    for (int k = 0; k < RELAX_STEPS; k++) {
      smooth = sqrt(lo * hi);
      r->rms_mm = solve(s, to, smooth, w);
      if (r->rms_mm > relax_mm)
        hi = smooth;
      else
        lo = smooth;
    }
  }
  if (!isfinite(r->rms_mm))
    return pla_fail(err, PLA_ERR_GEOMETRY,
                    "The landmarks are too close to each other or to one plane for a warp.");
  /* and the other end of the scale: hardly any bending */
  PlaWarp affine = *s;
  affine.coef = pla_array_new(3 * ((size_t)s->n + 4), sizeof *affine.coef);
  if (!affine.coef)
    return pla_fail_memory(err, "a warp");
  r->affine_mm = solve(&affine, to, 1e9, w);
  free(affine.coef);
  r->rms_mm = solve(s, to, smooth, w);
  return PLA_OK;
}

PlaStatus
pla_warp_new(int n, const double *from, const double *to, double relax_mm, PlaWarp **out,
             double *left_out_mm, PlaWarpReport *report, PlaError *err)
{
  PlaWarpReport r = { 0 };
  PlaStatus st = check_landmarks(n, from, to, err);
  if (st != PLA_OK)
    return st;
  pla_blas_single_thread();
  const size_t size = (size_t)n + 4;
  PlaWarp *self = pla_array_new0(1, sizeof *self);
  Solver w = { pla_array_new(size * size, sizeof(double)), pla_array_new(3 * size, sizeof(double)),
               pla_array_new(size, sizeof(int)) };
  double *left_out = pla_array_new((size_t)n, sizeof *left_out);
  if (self) {
    self->n = n;
    self->node = pla_array_new(3 * (size_t)n, sizeof *self->node);
    self->coef = pla_array_new(3 * size, sizeof *self->coef);
  }
  if (!self || !self->node || !self->coef || !w.matrix || !w.right || !w.pivot || !left_out)
    st = pla_fail_memory(err, "a warp");
  if (st == PLA_OK) {
    for (int i = 0; i < n; i++)
      for (int d = 0; d < 3; d++)
        self->centre[d] += from[3 * i + d] / n;
    for (int i = 0; i < n; i++) {
      double e[3];
      pla_vec3_sub(from + 3 * i, self->centre, e);
      self->scale = fmax(self->scale, pla_vec3_norm(e));
    }
    for (int i = 0; i < n; i++)
      basis_at(self, from + 3 * i, self->node + 3 * i);
    PlaRigid rigid;
    PlaLandmarkReport marks = { 0 };
    st = pla_register_landmarks(n, from, to, false, &rigid, NULL, &marks, err);
    r.rigid_mm = marks.rms_mm;
  }
  if (st == PLA_OK)
    st = relax(self, to, relax_mm, &w, &r, err);
  if (st == PLA_OK) {
    /* the factor stands in w.matrix; its norm comes from a fresh copy */
    double *fresh = pla_array_new(size * size, sizeof *fresh);
    if (fresh) {
      fill_matrix(self, 0.0, fresh);
      st = leave_one_out(self, &w, matrix_norm(fresh, (int)size), left_out, &r.condition, err);
    } else
      st = pla_fail_memory(err, "a warp");
    free(fresh);
  }
  if (st == PLA_OK) {
    double sum = 0.0;
    for (int i = 0; i < n; i++) {
      sum += left_out[i] * left_out[i] / n;
      if (left_out[i] > r.worst_mm) {
        r.worst_mm = left_out[i];
        r.worst = i;
      }
    }
    r.left_out_mm = sqrt(sum);
    if (left_out_mm)
      memcpy(left_out_mm, left_out, (size_t)n * sizeof *left_out);
    if (report)
      *report = r;
    *out = self;
  } else
    pla_warp_free(self);
  free(w.matrix);
  free(w.right);
  free(w.pivot);
  free(left_out);
  return st;
}

/* ---- things that are warped ---- */

/* turns the vectors of a field "fibre" by the derivative of the warp at @pos_mm, unit again */
static void
turn_vector(const PlaWarp *s, const double pos_mm[3], double v[3])
{
  double j[9], w[3];
  const double before = pla_vec3_norm(v);
  pla_warp_jacobian(s, pos_mm, j);
  pla_mat3_apply(j, v, w);
  const double l = pla_vec3_norm(w);
  for (int d = 0; d < 3 && l > 0.0; d++)
    v[d] = before * w[d] / l;
}

static void
turn_field(const PlaWarp *s, const PlaMesh *mesh, PlaField *field)
{
  const size_t n = pla_field_n_tuples(mesh, field);
  const bool on_cells = field->place == PLA_ON_CELLS;
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i++) {
    double x[3] = { 0 }, v[3];
    const int *cell = NULL;
    int corners = 1, vert = (int)i;
    if (on_cells && i < (size_t)mesh->n_tris) {
      cell = mesh->tri + 3 * i;
      corners = 3;
    } else if (on_cells && i < (size_t)mesh->n_tris + (size_t)mesh->n_tets) {
      cell = mesh->tet + 4 * (i - (size_t)mesh->n_tris);
      corners = 4;
    } else if (on_cells) {
      cell = mesh->hex + 8 * (i - (size_t)mesh->n_tris - (size_t)mesh->n_tets);
      corners = 8;
    }
    for (int c = 0; c < corners; c++)
      for (int d = 0; d < 3; d++)
        x[d] += 1000.0 * mesh->pos[3 * (size_t)(cell ? cell[c] : vert) + (size_t)d] / corners;
    for (size_t d = 0; d < 3; d++)
      v[d] = field->dtype == PLA_F32 ? (double)((float *)field->data)[3 * i + d]
                                     : ((double *)field->data)[3 * i + d];
    turn_vector(s, x, v);
    for (size_t d = 0; d < 3; d++)
      if (field->dtype == PLA_F32)
        ((float *)field->data)[3 * i + d] = (float)v[d];
      else
        ((double *)field->data)[3 * i + d] = v[d];
  }
}

PlaStatus
pla_warp_mesh(const PlaWarp *self, PlaMesh *mesh, PlaProgress *progress, PlaError *err)
{
  enum { CHUNK = 65536 };
  for (int f = 0; f < mesh->n_fields; f++) {
    PlaField *field = &mesh->field[f];
    if (strcmp(field->name, "fibre") == 0 && field->n_components == 3 &&
        (field->dtype == PLA_F32 || field->dtype == PLA_F64))
      turn_field(self, mesh, field);
  }
  for (int from = 0; from < mesh->n_verts; from += CHUNK) {
    const int to = from + CHUNK < mesh->n_verts ? from + CHUNK : mesh->n_verts;
    if (!pla_progress_step(progress, (double)from / mesh->n_verts))
      return pla_fail_cancelled(err);
#pragma omp parallel for schedule(static)
    for (int v = from; v < to; v++) {
      double *p = mesh->pos + 3 * (size_t)v;
      double x[3] = { 1000.0 * p[0], 1000.0 * p[1], 1000.0 * p[2] };
      apply_one(self, x, x);
      for (int d = 0; d < 3; d++)
        p[d] = 1e-3 * x[d];
    }
  }
  return PLA_OK;
}

/* the box, mm, of where the labelled voxels go */
static void
warped_box(const PlaWarp *s, const PlaLabelMap *map, double lo[3], double hi[3])
{
  enum { STEPS = 12 };
  const PlaVolume *vol = map->volume;
  for (int d = 0; d < 3; d++) {
    lo[d] = INFINITY;
    hi[d] = -INFINITY;
  }
  for (int k = 0; k <= STEPS; k++)
    for (int j = 0; j <= STEPS; j++)
      for (int i = 0; i <= STEPS; i++) {
        const double ijk[3] = { (double)i / STEPS * (vol->dims[0] - 1),
                                (double)j / STEPS * (vol->dims[1] - 1),
                                (double)k / STEPS * (vol->dims[2] - 1) };
        double x[3];
        pla_volume_to_ras_mm(vol, ijk, x);
        apply_one(s, x, x);
        for (int d = 0; d < 3; d++) {
          lo[d] = fmin(lo[d], x[d]);
          hi[d] = fmax(hi[d], x[d]);
        }
      }
}

/* The inverse of the warp at the nodes of a coarse grid, as voxel indices of the map; NaN where the
 * map folds. */
static PlaStatus
coarse_inverse(const PlaWarp *s, const PlaVolume *vol, const double lo[3], double step,
               const int n[3], PlaProgress *progress, double *index, PlaError *err)
{
  double inverse[12];
  if (!pla_affine_invert(vol->affine_mm, inverse))
    return pla_fail(err, PLA_ERR_GEOMETRY, "The label map has no usable frame.");
  for (int k = 0; k < n[2]; k++) {
    if (!pla_progress_step(progress, 0.6 * k / n[2]))
      return pla_fail_cancelled(err);
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < n[0] * n[1]; row++) {
      const int i = row % n[0], j = row / n[0];
      const double x[3] = { lo[0] + step * i, lo[1] + step * j, lo[2] + step * k };
      double from[3], *at = index + 3 * ((size_t)row + (size_t)n[0] * (size_t)n[1] * (size_t)k);
      if (pla_warp_invert(s, x, from))
        pla_affine_apply(inverse, from, at);
      else
        at[0] = at[1] = at[2] = NAN;
    }
  }
  return PLA_OK;
}

PlaStatus
pla_warp_labels(const PlaWarp *self, const PlaLabelMap *map, double spacing_mm,
                PlaProgress *progress, PlaLabelMap **out, PlaError *err)
{
  enum { COARSE = 4 }; /* voxels between places where the warp is inverted */
  const PlaVolume *from = map->volume;
  double lo[3], hi[3];
  int dims[4] = { 1, 1, 1, 1 }, n[3];
  double n_voxels = 1.0;
  warped_box(self, map, lo, hi);
  for (int d = 0; d < 3; d++) {
    const double cells = ceil((hi[d] - lo[d]) / spacing_mm) + 1.0;
    n_voxels *= cells;
    if (!(cells >= 1.0) || !(cells < 32768.0) || !(n_voxels < 2e9))
      return pla_fail(err, PLA_ERR_GEOMETRY,
                      "The warped labels would fill %.0f x %.0f x %.0f mm, too much for voxels of "
                      "%g mm; check the landmarks.",
                      hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2], spacing_mm);
    dims[d] = (int)cells;
    n[d] = (dims[d] - 1) / COARSE + 2;
  }
  PlaVolume *vol = NULL;
  PlaStatus st = pla_volume_new(dims, from->dtype, &vol, err);
  double *index = pla_array_new(3 * (size_t)n[0] * (size_t)n[1] * (size_t)n[2], sizeof *index);
  if (st == PLA_OK && !index)
    st = pla_fail_memory(err, "the inverse of a warp");
  if (st == PLA_OK) {
    memset(vol->affine_mm, 0, sizeof vol->affine_mm);
    for (int d = 0; d < 3; d++) {
      vol->affine_mm[5 * d] = spacing_mm;
      vol->affine_mm[4 * d + 3] = lo[d];
    }
    vol->audit.source = PLA_FRAME_MADE;
    st = coarse_inverse(self, from, lo, COARSE * spacing_mm, n, progress, index, err);
  }
  for (int k = 0; k < dims[2] && st == PLA_OK; k++) {
    if (!pla_progress_step(progress, 0.6 + 0.4 * k / dims[2]))
      st = pla_fail_cancelled(err);
#pragma omp parallel for schedule(static) if (st == PLA_OK)
    for (int j = 0; j < dims[1]; j++)
      for (int i = 0; i < dims[0] && st == PLA_OK; i++) {
        /* trilinear between the coarse places */
        const int c[3] = { i / COARSE, j / COARSE, k / COARSE };
        const double f[3] = { (double)(i % COARSE) / COARSE, (double)(j % COARSE) / COARSE,
                              (double)(k % COARSE) / COARSE };
        double at[3] = { 0 };
        for (int b = 0; b < 8; b++) {
          const size_t node =
              (size_t)(c[0] + (b & 1)) + (size_t)n[0] * ((size_t)(c[1] + (b >> 1 & 1)) +
                                                         (size_t)n[1] * (size_t)(c[2] + (b >> 2)));
          const double w = (b & 1 ? f[0] : 1.0 - f[0]) * (b >> 1 & 1 ? f[1] : 1.0 - f[1]) *
                           (b >> 2 ? f[2] : 1.0 - f[2]);
          if (w > 0.0)
            for (int d = 0; d < 3; d++)
              at[d] += w * index[3 * node + (size_t)d];
        }
        bool inside = isfinite(at[0] + at[1] + at[2]);
        int voxel[3] = { 0 };
        for (int d = 0; d < 3 && inside; d++) {
          inside = at[d] >= -0.5 && at[d] < from->dims[d] - 0.5;
          voxel[d] = inside ? (int)floor(at[d] + 0.5) : 0;
        }
        if (!inside)
          continue;
        const int id = pla_label_map_get(map, (size_t)voxel[0] +
                                                  (size_t)from->dims[0] *
                                                      ((size_t)voxel[1] +
                                                       (size_t)from->dims[1] * (size_t)voxel[2]));
        const size_t to = (size_t)i + (size_t)dims[0] * ((size_t)j + (size_t)dims[1] * (size_t)k);
        if (vol->dtype == PLA_U8)
          ((uint8_t *)vol->voxels)[to] = (uint8_t)id;
        else
          ((uint16_t *)vol->voxels)[to] = (uint16_t)id;
      }
  }
  free(index);
  if (st == PLA_OK)
    st = pla_label_map_take(vol, &map->table, out, err);
  if (st != PLA_OK)
    pla_volume_free(vol);
  return st;
}

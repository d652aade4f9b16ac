/* M^-1 = S + (1 - S K) Ks^-1 (1 - K S) + S - S K S: smooth, correct by standard elements, smooth.
 *
 * S is a polynomial in D^-1 K, D the diagonal blocks of K, by Chebyshev polynomials of the fourth
 * kind, which are optimal for smoothing without a lower bound of the spectrum (J. Lottes 2023).  It
 * runs in single precision.  Ks is the standard tangent of the same cells, factored in single
 * precision; its volume modulus is limited, since standard elements lock.
 *
 * Iterations to a thousandth, gravity on a sagging bar of 12k tets at Poisson ratios of 0.45 and
 * 0.49: 41 and 94 with Ks alone, 29 and 57 with Ks^-1 + 0.2 D^-1, and 10 and 16 this way. */
#include "sim/solve/near.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "sim/solve/mixed-kernel.h"
#include "sim/solve/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  DEGREE = 4,        /* of the smoother */
  FIRST_POWERS = 12, /* power iterations for the largest eigenvalue of D^-1 K, */
  NEXT_POWERS = 3,   /* and from the vector of the matrix before */
};

/* Volume modulus of the standard elements, in shear moduli, at most: fewest iterations at Poisson
 * ratios of 0.45 to 0.49, flat between 4 and 16. */
static const double most_lambda = 9.0;
/* Power iterations approach the largest eigenvalue from below: six of them were 10 % short of what
 * thirty found. */
static const double safety = 1.15;

struct PlaFemNear {
  PlaFemPlain plain;
  PlaFemSystem system; /* of it */
  const PlaBlockMatrix *matrix;
  size_t n_values;            /* room, in blocks */
  PlaFour *value;             /* its blocks, by columns */
  PlaFour *inverse;           /* of its diagonal blocks */
  PlaFour *r, *d, *z;         /* of the smoother */
  double *power, *work, *sum; /* block arrays */
  bool has_power;
  double largest; /* eigenvalue of D^-1 K, at least */
};

void
pla_fem_near_free(PlaFemNear *self)
{
  if (!self)
    return;
  pla_fem_system_clear(&self->system);
  pla_fem_plain_clear(&self->plain);
  free(self->value);
  free(self->inverse);
  free(self->r);
  free(self->d);
  free(self->z);
  free(self->power);
  free(self->work);
  free(self->sum);
  free(self);
}

/* gives @constants back what patches resist, up to a limit */
static void
restore_volume(const PlaMaterial *material, double modulus, double *constants)
{
  double mu, lambda, vol;
  if (!material->volume_modulus)
    return;
  pla_material_moduli(material, constants, &mu, &lambda, &vol);
  *material->volume_modulus(constants) += fmin(modulus, most_lambda * mu);
}

void
pla_fem_plain_clear(PlaFemPlain *self)
{
  free(self->constants);
  free(self->own_constants);
  *self = (PlaFemPlain){ 0 };
}

PlaStatus
pla_fem_plain_init(PlaFemPlain *self, const PlaFemModel *model, PlaError *err)
{
  const int n_cells = model->n_tets + model->n_hexes;
  const size_t size = PLA_MAX_CONSTANTS, n_materials = (size_t)model->n_materials;
  size_t n_rows = 0;
  for (int c = 0; model->own && c < n_cells; c++)
    n_rows = model->own[c] >= (int)n_rows ? (size_t)model->own[c] + 1 : n_rows;
  *self = (PlaFemPlain){ .model = *model };
  unsigned char *done = pla_array_new0(n_materials + n_rows, 1);
  self->constants = pla_array_dup(model->constants, n_materials, size * sizeof(double));
  self->own_constants =
      n_rows > 0 ? pla_array_dup(model->own_constants, n_rows, size * sizeof(double)) : NULL;
  const bool enough = done && self->constants && (self->own_constants || n_rows == 0);
  for (int c = 0; enough && c < n_cells; c++) {
    const size_t m = (size_t)model->cell_material[c];
    const bool own = model->own && model->own[c] >= 0;
    const size_t row = own ? (size_t)model->own[c] : m, at = own ? n_materials + row : m;
    if (!done[at])
      restore_volume(model->material[m].material, model->patches->modulus[c],
                     (own ? self->own_constants : self->constants) + size * row);
    done[at] = 1;
  }
  free(done);
  self->model.formulation = PLA_FORMULATION_STANDARD;
  self->model.patches = NULL;
  self->model.domains = NULL;
  self->model.constants = self->constants;
  self->model.own_constants = self->own_constants;
  return enough ? PLA_OK : pla_fail_memory(err, "the solver");
}

PlaStatus
pla_fem_near_new(const PlaFemModel *model, const PlaFemConditions *conditions,
                 const PlaVertSets *links, PlaFemOrder *order, PlaFemNear **out, PlaError *err)
{
  PlaFemNear *self = pla_array_new0(1, sizeof *self);
  PlaStatus st = self ? pla_fem_plain_init(&self->plain, model, err)
                      : pla_fail_memory(err, "the preconditioner");
  if (st == PLA_OK)
    st = pla_fem_system_init_ordered(&self->system, &self->plain.model, conditions, links, order,
                                     err);
  if (st == PLA_OK) {
    const size_t n = (size_t)self->system.n_blocks;
    self->inverse = pla_array_new_aligned(n, 3 * sizeof *self->inverse);
    self->r = pla_array_new_aligned(n, sizeof *self->r);
    self->d = pla_array_new_aligned(n, sizeof *self->d);
    self->z = pla_array_new_aligned(n, sizeof *self->z);
    self->power = pla_array_new(3 * n, sizeof *self->power);
    self->work = pla_array_new(3 * n, sizeof *self->work);
    self->sum = pla_array_new(3 * n, sizeof *self->sum);
    if (!self->inverse || !self->r || !self->d || !self->z || !self->power || !self->work ||
        !self->sum)
      st = pla_fail_memory(err, "the preconditioner");
  }
  if (st != PLA_OK) {
    pla_fem_near_free(self);
    self = NULL;
  }
  *out = self;
  return st;
}

PlaStatus
pla_fem_near_factor(PlaFemNear *self, const PlaFemConditions *conditions, const double *pos,
                    double mass_factor, PlaProgress *progress, bool *definite, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *definite = false;
  /* projected where the exact one is not definite: volumes of single tets are rough */
  for (int project = 0; project < 2 && st == PLA_OK && !*definite; project++) {
    pla_fem_system_assemble(&self->system, pos, project, mass_factor);
    pla_terms_add_stiffness(&self->system, conditions, pos, true);
    pla_fem_system_constrain(&self->system);
    st = pla_cholesky_factor(self->system.factor, &self->system.matrix, PLA_SINGLE, progress,
                             definite, err);
  }
  return st;
}

bool
pla_fem_near_has_factor(const PlaFemNear *self)
{
  return pla_cholesky_has_factor(self->system.factor);
}

/* the inverse of a definite block, by columns; of the size of the block for any other */
static void
invert(const double a[9], PlaFour out[3])
{
  const double size = fmax(fabs(a[0]), fmax(fabs(a[4]), fabs(a[8])));
  const double c0 = a[4] * a[8] - a[5] * a[7], c1 = a[5] * a[6] - a[3] * a[8];
  const double c2 = a[3] * a[7] - a[4] * a[6], det = a[0] * c0 + a[1] * c1 + a[2] * c2;
  double b[9] = { 0 };
  if (a[0] > 0.0 && a[0] * a[4] - a[1] * a[3] > 0.0 && det > 1e-9 * size * size * size) {
    const double adjugate[9] = {
      c0, a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
      c1, a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
      c2, a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3],
    };
    for (int i = 0; i < 9; i++)
      b[i] = adjugate[i] / det;
  } else {
    b[0] = b[4] = b[8] = size > 0.0 ? 1.0 / size : 1.0;
  }
  for (int j = 0; j < 3; j++)
    out[j] = (PlaFour){ (float)b[j], (float)b[3 + j], (float)b[6 + j], 0.0F };
}

static inline PlaFour
times(const PlaFour block[3], PlaFour x)
{
  return block[0] * x[0] + block[1] * x[1] + block[2] * x[2];
}

/* y = D^-1 x */
static void
apply_inverse(const PlaFemNear *self, const double *x, double *y)
{
#pragma omp parallel for schedule(static)
  for (int r = 0; r < self->matrix->n; r++) {
    const double *v = x + 3 * (size_t)r;
    for (size_t i = 0; i < 3; i++)
      y[3 * (size_t)r + i] = (double)self->inverse[3 * (size_t)r][i] * v[0] +
                             (double)self->inverse[3 * (size_t)r + 1][i] * v[1] +
                             (double)self->inverse[3 * (size_t)r + 2][i] * v[2];
  }
}

/* the largest eigenvalue of D^-1 K by power iterations, from a rough vector or the last one */
static double
largest_eigenvalue(PlaFemNear *self)
{
  const size_t n = 3 * (size_t)self->matrix->n;
  double *v = self->power, value = 1.0;
  unsigned state = 1;
  for (size_t i = 0; !self->has_power && i < n; i++) {
    state = 1664525U * state + 1013904223U; /* W. Press et al., Numerical Recipes, 7.1 */
    v[i] = (double)(state >> 8) / 16777216.0 - 0.5;
  }
  for (int k = 0; k < (self->has_power ? NEXT_POWERS : FIRST_POWERS); k++) {
    const double norm = pla_norm2(v, n);
    for (size_t i = 0; norm > 0.0 && i < n; i++)
      v[i] /= norm;
    pla_block_matrix_mul(self->matrix, v, self->work);
    apply_inverse(self, self->work, v);
    value = pla_norm2(v, n);
  }
  self->has_power = isfinite(value) && value > 0.0;
  return self->has_power ? value : 1.0;
}

void
pla_fem_near_set_matrix(PlaFemNear *self, const PlaBlockMatrix *matrix)
{
  const size_t n_values = (size_t)matrix->start[matrix->n];
  self->matrix = matrix;
  if (self->n_values < n_values) {
    free(self->value);
    self->value = pla_array_new_aligned(n_values, 3 * sizeof *self->value);
    self->n_values = self->value ? n_values : 0;
  }
#pragma omp parallel for schedule(static)
  for (int r = 0; r < matrix->n; r++)
    for (int k = matrix->start[r]; k < matrix->start[r + 1]; k++) {
      const double *a = matrix->value + 9 * (size_t)k;
      if (matrix->col[k] == r)
        invert(a, self->inverse + 3 * (size_t)r);
      for (size_t j = 0; self->value && j < 3; j++)
        self->value[3 * (size_t)k + j] = (PlaFour){ (float)a[j], (float)a[3 + j], (float)a[6 + j] };
    }
  self->largest = safety * largest_eigenvalue(self);
}

/* The smoother from z = 0 on the residual in self->r: self->z.  @leave: the residual that remains
 * goes to self->r. */
static void
smooth(PlaFemNear *self, bool leave)
{
  const PlaBlockMatrix *m = self->matrix;
  PlaMixedResidual *residual = pla_mixed_residual_plain;
#if defined(__x86_64__)
  if (pla_kernel_get() == PLA_KERNEL_AVX2)
    residual = pla_mixed_residual_avx2;
#endif
#pragma omp parallel
  for (int k = 1; k <= DEGREE; k++) {
    const float keep = (float)((2.0 * k - 3.0) / (2.0 * k + 1.0));
    const float gain = (float)((8.0 * k - 4.0) / ((2.0 * k + 1.0) * self->largest));
    /* the next step, and where it leads */
#pragma omp for schedule(static)
    for (int r = 0; r < m->n; r++) {
      const PlaFour step = times(self->inverse + 3 * (size_t)r, self->r[r]) * gain;
      self->d[r] = k == 1 ? step : step + self->d[r] * keep;
      self->z[r] = k == 1 ? self->d[r] : self->z[r] + self->d[r];
    }
    if (k == DEGREE && !leave)
      break;
      /* the residual after it */
#pragma omp for schedule(static)
    for (int r = 0; r < m->n; r++)
      self->r[r] = residual(m, r, self->value, self->d, self->r[r]);
  }
}

PlaStatus
pla_fem_near_precondition(PlaFemNear *self, const double *r, double *z, PlaError *err)
{
  const PlaBlockMatrix *m = self->matrix;
  if (!self->value)
    return pla_fail_memory(err, "the preconditioner");
  for (size_t b = 0; b < (size_t)m->n; b++)
    self->r[b] = (PlaFour){ (float)r[3 * b], (float)r[3 * b + 1], (float)r[3 * b + 2] };
  smooth(self, true);
  /* standard elements take what is left */
  for (size_t b = 0; b < (size_t)m->n; b++)
    for (size_t i = 0; i < 3; i++)
      self->work[3 * b + i] = (double)self->r[b][i];
  PlaStatus st = pla_cholesky_solve(self->system.factor, self->work, z, err);
  if (st != PLA_OK)
    return st;
  for (size_t b = 0; b < (size_t)m->n; b++)
    for (size_t i = 0; i < 3; i++)
      z[3 * b + i] += (double)self->z[b][i];
  /* smooth displacements cancel in the residual: double precision */
  pla_block_matrix_mul(m, z, self->work);
  for (size_t b = 0; b < (size_t)m->n; b++)
    for (size_t i = 0; i < 3; i++)
      self->r[b][i] = (float)(r[3 * b + i] - self->work[3 * b + i]);
  smooth(self, false);
  for (size_t b = 0; b < (size_t)m->n; b++)
    for (size_t i = 0; i < 3; i++)
      z[3 * b + i] += (double)self->z[b][i];
  return PLA_OK;
}

static PlaStatus
precondition(void *data, const double *r, double *z, PlaError *err)
{
  return pla_fem_near_precondition(data, r, z, err);
}

PlaStatus
pla_fem_near_refine(PlaFemNear *self, const double *b, double rel, int max_iterations,
                    PlaProgress *progress, double *x, PlaRefineReport *report, PlaError *err)
{
  return pla_pcg(self->matrix, precondition, self, b, rel, max_iterations, progress, x, report,
                 err);
}

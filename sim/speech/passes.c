/* Forward and backward pass over a batch, in one precision; compiled twice, PLA_SINGLE_PRECISION
 * defined or not.
 *
 * Backwards through batch normalisation, n = (x - mean) s, s = 1 / sqrt(var + eps), B rows:
 *
 *   dn = gamma dI,  dx = s (dn - sum(dn) / B - n sum(dn n) / B)
 *
 * which is S. Ioffe and C. Szegedy (2015) with the sums gathered.  Matrix products are cut into
 * tiles of fixed size, each one call of single-threaded BLAS, and sums over the batch run in the
 * order of its rows: the bits do not depend on the number of threads. */
#include "anatomy/base/blas.h"
#include "sim/speech/network-private.h"

#include <assert.h>
#include <cblas.h>
#include <math.h>
#include <string.h>

#ifdef PLA_SINGLE_PRECISION
typedef float Real;
#define GEMM cblas_sgemm
#define GRADIENT pla_net_gradient_single
#define SQRT sqrtf
#else
typedef double Real;
#define GEMM cblas_dgemm
#define GRADIENT pla_net_gradient_double
#define SQRT sqrt
#endif

enum {
  ROW_TILE = 128, /* of the batch */
  UNIT_TILE = 50, /* of a layer's units, in products */
  SUM_TILE = 16,  /* of a layer's units, in sums over the batch */
};

static int
min_int(int a, int b)
{
  return a < b ? a : b;
}

/* z (batch x n_out) = a (batch x n_in) w^T */
static void
product_forward(int batch, int n_out, int n_in, const Real *a, const Real *w, Real *z)
{
  const int tiles = (batch + ROW_TILE - 1) / ROW_TILE;
#pragma omp parallel for schedule(dynamic, 1)
  for (int t = 0; t < tiles; t++) {
    const int r = t * ROW_TILE;
    GEMM(CblasRowMajor, CblasNoTrans, CblasTrans, min_int(ROW_TILE, batch - r), n_out, n_in, 1,
         a + (size_t)r * (size_t)n_in, n_in, w, n_in, 0, z + (size_t)r * (size_t)n_out, n_out);
  }
}

/* da (batch x n_in) = dz (batch x n_out) w */
static void
product_back(int batch, int n_out, int n_in, const Real *dz, const Real *w, Real *da)
{
  const int tiles = (batch + ROW_TILE - 1) / ROW_TILE;
#pragma omp parallel for schedule(dynamic, 1)
  for (int t = 0; t < tiles; t++) {
    const int r = t * ROW_TILE;
    GEMM(CblasRowMajor, CblasNoTrans, CblasNoTrans, min_int(ROW_TILE, batch - r), n_in, n_out, 1,
         dz + (size_t)r * (size_t)n_out, n_out, w, n_in, 0, da + (size_t)r * (size_t)n_in, n_in);
  }
}

/* dw (n_out x n_in) = dz^T a, and db */
static void
product_weights(int batch, int n_out, int n_in, const Real *dz, const Real *a, Real *dw, Real *db)
{
  const int tiles = (n_out + UNIT_TILE - 1) / UNIT_TILE;
#pragma omp parallel for schedule(dynamic, 1)
  for (int t = 0; t < tiles; t++) {
    const int u = t * UNIT_TILE, n = min_int(UNIT_TILE, n_out - u);
    GEMM(CblasRowMajor, CblasTrans, CblasNoTrans, n, n_in, batch, 1, dz + u, n_out, a, n_in, 0,
         dw + (size_t)u * (size_t)n_in, n_in);
    memset(db + u, 0, (size_t)n * sizeof *db);
    for (int r = 0; r < batch; r++)
      for (int k = u; k < u + n; k++)
        db[k] += dz[(size_t)r * (size_t)n_out + (size_t)k];
  }
}

/* n and o from x, which stands in @normal */
static void
normalise(int batch, int units, const Real *b, Real *normal, Real *active, Real *scale, Real *mean,
          Real *var)
{
  const Real *gamma = b + units, *beta = gamma + units;
  const int tiles = (units + SUM_TILE - 1) / SUM_TILE;
#pragma omp parallel for schedule(static)
  for (int t = 0; t < tiles; t++) {
    const int u = t * SUM_TILE, n = min_int(SUM_TILE, units - u);
    Real sum[SUM_TILE] = { 0 }, square[SUM_TILE] = { 0 };
    for (int r = 0; r < batch; r++) {
      Real *x = normal + (size_t)r * (size_t)units + (size_t)u;
      for (int k = 0; k < n; k++) {
        x[k] += b[u + k];
        sum[k] += x[k];
      }
    }
    for (int k = 0; k < n; k++)
      mean[u + k] = sum[k] / (Real)batch;
    for (int r = 0; r < batch; r++) {
      Real *x = normal + (size_t)r * (size_t)units + (size_t)u;
      for (int k = 0; k < n; k++) {
        x[k] -= mean[u + k];
        square[k] += x[k] * x[k];
      }
    }
    for (int k = 0; k < n; k++) {
      var[u + k] = square[k] / (Real)batch;
      scale[u + k] = 1 / SQRT(var[u + k] + (Real)PLA_NET_EPSILON);
    }
    for (int r = 0; r < batch; r++) {
      Real *x = normal + (size_t)r * (size_t)units + (size_t)u;
      Real *o = active + (size_t)r * (size_t)units + (size_t)u;
      for (int k = 0; k < n; k++) {
        x[k] *= scale[u + k];
        const Real v = gamma[u + k] * x[k] + beta[u + k];
        o[k] = v > 0 ? v : 0;
      }
    }
  }
}

/* leaves units out and raises the others; normalise_back() does so to their errors */
static void
drop_units(const PlaNetScratch *scratch, int layer, int batch, int units, Real *active)
{
  const uint32_t limit = (uint32_t)(scratch->drop * 4294967296.0);
  const Real raise = (Real)(1.0 / (1.0 - scratch->drop));
#pragma omp parallel for schedule(static)
  for (int r = 0; r < batch; r++) {
    Real *o = active + (size_t)r * (size_t)units;
    for (int u = 0; u < units; u++)
      o[u] = pla_net_stays(scratch->drop_seed, limit, layer, r, u) ? raise * o[u] : 0;
  }
}

/* dx from do, both in @error; gradients of gamma and beta */
static void
normalise_back(int batch, int units, Real raise, const Real *b, const Real *normal,
               const Real *active, const Real *scale, Real *error, Real *d_gamma, Real *d_beta)
{
  const Real *gamma = b + units;
  const int tiles = (units + SUM_TILE - 1) / SUM_TILE;
#pragma omp parallel for schedule(static)
  for (int t = 0; t < tiles; t++) {
    const int u = t * SUM_TILE, n = min_int(SUM_TILE, units - u);
    Real sum[SUM_TILE] = { 0 }, with_normal[SUM_TILE] = { 0 };
    for (int r = 0; r < batch; r++) {
      const size_t at = (size_t)r * (size_t)units + (size_t)u;
      for (int k = 0; k < n; k++) {
        error[at + (size_t)k] = active[at + (size_t)k] > 0 ? raise * error[at + (size_t)k] : 0;
        sum[k] += error[at + (size_t)k];
        with_normal[k] += error[at + (size_t)k] * normal[at + (size_t)k];
      }
    }
    for (int k = 0; k < n; k++) {
      d_beta[u + k] = sum[k];
      d_gamma[u + k] = with_normal[k];
      sum[k] /= (Real)batch;
      with_normal[k] /= (Real)batch;
    }
    for (int r = 0; r < batch; r++) {
      const size_t at = (size_t)r * (size_t)units + (size_t)u;
      for (int k = 0; k < n; k++)
        error[at + (size_t)k] =
            gamma[u + k] * scale[u + k] *
            (error[at + (size_t)k] - sum[k] - normal[at + (size_t)k] * with_normal[k]);
    }
  }
}

double
GRADIENT(const PlaNetShape *shape, const Real *param, const Real *x, const Real *target, int batch,
         PlaNetScratch *scratch, Real *grad, Real *mean, Real *var)
{
  assert(batch >= 1 && batch <= scratch->batch);
  pla_blas_single_thread();
  const int units = shape->n_units, n_out = shape->n_out, last = shape->n_hidden;
  Real *scale = scratch->scale;

  const Real *input = x;
  for (int l = 0; l < last; l++) {
    const int n_in = pla_net_layer_inputs(shape, l);
    const Real *w = param + pla_net_layer_at(shape, l);
    const size_t stat = (size_t)l * (size_t)units;
    product_forward(batch, units, n_in, input, w, scratch->normal[l]);
    normalise(batch, units, w + (size_t)units * (size_t)n_in, scratch->normal[l],
              scratch->active[l], scale + stat, mean + stat, var + stat);
    if (scratch->drop > 0.0)
      drop_units(scratch, l, batch, units, scratch->active[l]);
    input = scratch->active[l];
  }

  /* the output, its error, and the loss */
  Real *error = scratch->error[0], *other = scratch->error[1];
  const size_t at_last = pla_net_layer_at(shape, last);
  const Real *w = param + at_last, *b = w + (size_t)n_out * (size_t)units;
  double loss = 0.0;
  product_forward(batch, n_out, units, input, w, error);
  for (int r = 0; r < batch; r++)
    for (int o = 0; o < n_out; o++) {
      Real *e = &error[(size_t)r * (size_t)n_out + (size_t)o];
      *e += b[o] - target[(size_t)r * (size_t)n_out + (size_t)o];
      loss += 0.5 * (double)*e * (double)*e / batch;
      *e /= (Real)batch;
    }
  product_weights(batch, n_out, units, error, input, grad + at_last,
                  grad + at_last + (size_t)n_out * (size_t)units);
  product_back(batch, n_out, units, error, w, other);

  for (int l = last - 1; l >= 0; l--) {
    const int n_in = pla_net_layer_inputs(shape, l);
    const size_t at = pla_net_layer_at(shape, l), stat = (size_t)l * (size_t)units;
    const size_t at_b = at + (size_t)units * (size_t)n_in;
    Real *swap = error;
    error = other;
    other = swap;
    normalise_back(batch, units, (Real)(1.0 / (1.0 - scratch->drop)), param + at_b,
                   scratch->normal[l], scratch->active[l], scale + stat, error, grad + at_b + units,
                   grad + at_b + 2 * units);
    product_weights(batch, units, n_in, error, l > 0 ? scratch->active[l - 1] : x, grad + at,
                    grad + at_b);
    if (l > 0)
      product_back(batch, units, n_in, error, param + at, other);
  }
  return loss;
}

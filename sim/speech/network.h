/* The network that turns sound into sensor positions: fully connected layers with batch
 * normalisation before each rectifier, and a linear output.
 *
 *   x = W o + b,  n = (x - mean) / sqrt(var + eps),  o = max(0, gamma n + beta);  y = W o + b
 *
 * Inputs and outputs are normalised by their own mean and deviation.  Training sees mean and var of
 * the batch, inference their running averages, folded into the weights. */
#pragma once

#include "anatomy/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLA_NET_EPSILON 1e-5 /* added to variances */

enum { PLA_NET_MAX_LAYERS = 16, PLA_NET_MAX_UNITS = 4096 };

typedef struct {
  int n_in, n_hidden, n_units, n_out;
} PlaNetShape;

/* Parameters stand in one array: for each hidden layer W (units x inputs), b, gamma, beta (units
 * each), then W (n_out x units) and b of the output. */
size_t pla_net_n_params(const PlaNetShape *shape);
/* Where layer @l starts; l = n_hidden is the output.  Its number of inputs. */
size_t pla_net_layer_at(const PlaNetShape *shape, int l);
int pla_net_layer_inputs(const PlaNetShape *shape, int l);

typedef struct {
  PlaNetShape shape;
  float *param;              /* (n_params) */
  float *mean, *var;         /* running averages (n_hidden x n_units) */
  float *in_mean, *in_std;   /* (n_in) */
  float *out_mean, *out_std; /* (n_out) */
} PlaNet;

/* Weights drawn for rectifiers (variance 2 / inputs) from @seed; the same for every machine. */
PlaStatus pla_net_new(const PlaNetShape *shape, unsigned seed, PlaNet **out, PlaError *err);
void pla_net_free(PlaNet *net); /* NULL is fine */
/* Every number finite, every deviation and variance positive. */
PlaStatus pla_net_check(const PlaNet *net, PlaError *err);

/* ---- training: passes.c, in both precisions */

/* What a pass over a batch of at most @batch rows needs. */
typedef struct PlaNetScratch PlaNetScratch;
PlaNetScratch *pla_net_scratch_new(const PlaNetShape *shape, int batch, size_t real_size);
void pla_net_scratch_free(PlaNetScratch *scratch);
/* From now on passes leave out about @share of the units of every hidden layer, others for every
 * row and seed, and raise the rest by 1 / (1 - share) (N. Srivastava and others, 2014): what the
 * network learns must not hang on a few of them. */
void pla_net_scratch_drop(PlaNetScratch *scratch, double share, uint64_t seed);
/* Whether a unit stays; @limit is share x 2^32. */
static inline bool
pla_net_stays(uint64_t seed, uint32_t limit, int layer, int row, int unit)
{
  uint64_t z = seed + ((uint64_t)layer << 48) + ((uint64_t)row << 20) + (uint64_t)unit;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (uint32_t)(z >> 32) >= limit;
}

/* Loss 1 / (2 batch) sum (y - target)^2 of a batch and its gradient for all parameters; mean and
 * var (n_hidden x n_units) receive the batch's own.  @x (batch x n_in) and @target (batch x n_out)
 * are normalised already.  Same bits for any number of threads. */
double pla_net_gradient_single(const PlaNetShape *shape, const float *param, const float *x,
                               const float *target, int batch, PlaNetScratch *scratch, float *grad,
                               float *mean, float *var);
double pla_net_gradient_double(const PlaNetShape *shape, const double *param, const double *x,
                               const double *target, int batch, PlaNetScratch *scratch,
                               double *grad, double *mean, double *var);

/* ---- inference */

typedef struct PlaNetFolded PlaNetFolded;

/* A network ready to run: normalisations folded into weights that are laid out for vectors. */
PlaStatus pla_net_fold(const PlaNet *net, PlaNetFolded **out, PlaError *err);
void pla_net_folded_free(PlaNetFolded *folded); /* NULL is fine */
/* y (n x n_out) from raw x (n x n_in).  A row's bits do not depend on its neighbours.  Threads may
 * share @folded, each with its own @scratch of pla_net_folded_scratch() floats. */
size_t pla_net_folded_scratch(const PlaNetFolded *folded);
void pla_net_run(const PlaNetFolded *folded, const float *x, int n, float *scratch, float *y);
/* The same straight from the formula above, in double: the oracle of tests. */
void pla_net_run_plain(const PlaNet *net, const float *x, double *y);

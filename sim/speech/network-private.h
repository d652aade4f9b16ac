/* What the parts of the network share. */
#pragma once

#include "sim/speech/network.h"

enum { PLA_NET_LANES = 8, PLA_NET_ROWS = 4 }; /* floats a vector; rows of sound at a time */

struct PlaNetScratch {
  int batch;
  void *normal[PLA_NET_MAX_LAYERS]; /* n (batch x units) */
  void *active[PLA_NET_MAX_LAYERS]; /* o (batch x units) */
  void *scale;                      /* 1 / sqrt(var + eps) (n_hidden x units) */
  void *error[2];                   /* gradients of activations (batch x widest) */
  double drop;                      /* share of units that are left out */
  uint64_t drop_seed;
};

/* y[r] = w x[r] + b for @n <= PLA_NET_ROWS rows, rectified if asked; @n_in a multiple of
 * PLA_NET_LANES, rows of x and y @stride apart. */
void pla_net_layer_plain(int n_out, int n_in, const float *w, const float *b, const float *x, int n,
                         int stride, bool rectify, float *y);
void pla_net_layer_avx2(int n_out, int n_in, const float *w, const float *b, const float *x, int n,
                        int stride, bool rectify, float *y);

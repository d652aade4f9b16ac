/* The network's storage, its check, and inference with everything folded:
 *
 *   gamma (W o + b - mean) / sqrt(var + eps) + beta = (s W) o + s (b - mean) + beta,
 *   s = gamma / sqrt(var + eps),
 *
 * the input's normalisation going into the first layer and the output's into the last. */
#include "sim/speech/network.h"

#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/random.h"
#include "sim/speech/network-private.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
pla_net_layer_inputs(const PlaNetShape *shape, int l)
{
  return l == 0 ? shape->n_in : shape->n_units;
}

size_t
pla_net_layer_at(const PlaNetShape *shape, int l)
{
  const size_t units = (size_t)shape->n_units;
  size_t at = 0;
  for (int k = 0; k < l; k++)
    at += units * ((size_t)pla_net_layer_inputs(shape, k) + 3);
  return at;
}

size_t
pla_net_n_params(const PlaNetShape *shape)
{
  return pla_net_layer_at(shape, shape->n_hidden) +
         (size_t)shape->n_out * ((size_t)pla_net_layer_inputs(shape, shape->n_hidden) + 1);
}

static PlaStatus
fail_shape(PlaError *err)
{
  return pla_fail(err, PLA_ERR_FORMAT,
                  "the network's size is out of range: up to %d hidden layers of %d units",
                  PLA_NET_MAX_LAYERS, PLA_NET_MAX_UNITS);
}

static float *
filled(size_t n, float value)
{
  float *x = pla_array_new(n, sizeof *x);
  for (size_t i = 0; x && i < n; i++)
    x[i] = value;
  return x;
}

PlaStatus
pla_net_new(const PlaNetShape *shape, unsigned seed, PlaNet **out, PlaError *err)
{
  *out = NULL;
  const int most = PLA_NET_MAX_UNITS;
  if (shape->n_in < 1 || shape->n_in > most || shape->n_out < 1 || shape->n_out > most ||
      shape->n_hidden < 1 || shape->n_hidden > PLA_NET_MAX_LAYERS || shape->n_units < 1 ||
      shape->n_units > most)
    return fail_shape(err);
  PlaNet *net = pla_array_new0(1, sizeof *net);
  if (!net)
    return pla_fail_memory(err, "the network");
  const size_t n_stats = (size_t)shape->n_hidden * (size_t)shape->n_units;
  net->shape = *shape;
  net->param = filled(pla_net_n_params(shape), 0.0f);
  net->mean = filled(n_stats, 0.0f);
  net->var = filled(n_stats, 1.0f);
  net->in_mean = filled((size_t)shape->n_in, 0.0f);
  net->in_std = filled((size_t)shape->n_in, 1.0f);
  net->out_mean = filled((size_t)shape->n_out, 0.0f);
  net->out_std = filled((size_t)shape->n_out, 1.0f);
  if (!net->param || !net->mean || !net->var || !net->in_mean || !net->in_std || !net->out_mean ||
      !net->out_std) {
    pla_net_free(net);
    return pla_fail_memory(err, "the network");
  }
  PlaRandom random = pla_random_start(seed);
  for (int l = 0; l <= shape->n_hidden; l++) {
    const int n_in = pla_net_layer_inputs(shape, l);
    const int n_out = l < shape->n_hidden ? shape->n_units : shape->n_out;
    const double scale = sqrt((l < shape->n_hidden ? 2.0 : 1.0) / n_in);
    float *w = net->param + pla_net_layer_at(shape, l);
    for (size_t i = 0; i < (size_t)n_out * (size_t)n_in; i++)
      w[i] = (float)(scale * pla_random_normal(&random));
    float *gamma = w + (size_t)n_out * ((size_t)n_in + 1);
    for (int u = 0; l < shape->n_hidden && u < n_out; u++)
      gamma[u] = 1.0f;
  }
  *out = net;
  return PLA_OK;
}

void
pla_net_free(PlaNet *net)
{
  if (!net)
    return;
  free(net->param);
  free(net->mean);
  free(net->var);
  free(net->in_mean);
  free(net->in_std);
  free(net->out_mean);
  free(net->out_std);
  free(net);
}

PlaStatus
pla_net_check(const PlaNet *net, PlaError *err)
{
  const PlaNetShape *s = &net->shape;
  const size_t n_stats = (size_t)s->n_hidden * (size_t)s->n_units;
  const struct {
    const float *value;
    size_t n;
    bool positive;
  } arrays[] = {
    { net->param, pla_net_n_params(s), false },
    { net->mean, n_stats, false },
    { net->var, n_stats, true },
    { net->in_mean, (size_t)s->n_in, false },
    { net->in_std, (size_t)s->n_in, true },
    { net->out_mean, (size_t)s->n_out, false },
    { net->out_std, (size_t)s->n_out, true },
  };
  for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
    for (size_t i = 0; i < arrays[a].n; i++) {
      const float v = arrays[a].value[i];
      if (!(fabsf(v) < 1e15f) || (arrays[a].positive && !(v > 0.0f)))
        return pla_fail(err, PLA_ERR_FORMAT,
                        "the network holds an impossible number (%g); train it again", (double)v);
    }
  return PLA_OK;
}

/* ---- scratch of the passes */

PlaNetScratch *
pla_net_scratch_new(const PlaNetShape *shape, int batch, size_t real_size)
{
  PlaNetScratch *scratch = pla_array_new0(1, sizeof *scratch);
  if (!scratch)
    return NULL;
  const size_t units = (size_t)shape->n_units, n = (size_t)batch;
  const size_t widest = units > (size_t)shape->n_out ? units : (size_t)shape->n_out;
  bool fine = true;
  scratch->batch = batch;
  for (int l = 0; l < shape->n_hidden; l++) {
    scratch->normal[l] = pla_array_new_aligned(n * units, real_size);
    scratch->active[l] = pla_array_new_aligned(n * units, real_size);
    fine = fine && scratch->normal[l] && scratch->active[l];
  }
  scratch->scale = pla_array_new_aligned((size_t)shape->n_hidden * units, real_size);
  for (int i = 0; i < 2; i++)
    scratch->error[i] = pla_array_new_aligned(n * widest, real_size);
  if (!fine || !scratch->scale || !scratch->error[0] || !scratch->error[1]) {
    pla_net_scratch_free(scratch);
    return NULL;
  }
  return scratch;
}

void
pla_net_scratch_drop(PlaNetScratch *scratch, double share, uint64_t seed)
{
  assert(share >= 0.0 && share < 1.0);
  scratch->drop = share;
  scratch->drop_seed = seed;
}

void
pla_net_scratch_free(PlaNetScratch *scratch)
{
  if (!scratch)
    return;
  for (int l = 0; l < PLA_NET_MAX_LAYERS; l++) {
    free(scratch->normal[l]);
    free(scratch->active[l]);
  }
  free(scratch->scale);
  free(scratch->error[0]);
  free(scratch->error[1]);
  free(scratch);
}

/* ---- inference */

struct PlaNetFolded {
  int n_in, n_out, n_layers;
  int width;                          /* of a row of scratch: the widest layer, padded */
  int inputs[PLA_NET_MAX_LAYERS + 1]; /* padded */
  int outputs[PLA_NET_MAX_LAYERS + 1];
  float *w[PLA_NET_MAX_LAYERS + 1]; /* owned (outputs x inputs) */
  float *b[PLA_NET_MAX_LAYERS + 1]; /* owned (outputs) */
};

static int
padded(int n)
{
  return (n + PLA_NET_LANES - 1) / PLA_NET_LANES * PLA_NET_LANES;
}

static void
fold_layer(const PlaNet *net, int l, PlaNetFolded *out)
{
  const PlaNetShape *s = &net->shape;
  const int n_in = pla_net_layer_inputs(s, l);
  const bool last = l == s->n_hidden;
  const int n_out = last ? s->n_out : s->n_units;
  const float *w = net->param + pla_net_layer_at(s, l), *b = w + (size_t)n_out * (size_t)n_in;
  for (int o = 0; o < n_out; o++) {
    double scale, shift;
    if (last) {
      scale = (double)net->out_std[o];
      shift = scale * (double)b[o] + (double)net->out_mean[o];
    } else {
      const size_t stat = (size_t)l * (size_t)s->n_units + (size_t)o;
      scale = (double)b[n_out + o] / sqrt((double)net->var[stat] + PLA_NET_EPSILON);
      shift = scale * ((double)b[o] - (double)net->mean[stat]) + (double)b[2 * n_out + o];
    }
    for (int i = 0; i < n_in; i++) {
      double v = scale * (double)w[(size_t)o * (size_t)n_in + (size_t)i];
      if (l == 0) {
        v /= (double)net->in_std[i];
        shift -= v * (double)net->in_mean[i];
      }
      out->w[l][(size_t)o * (size_t)out->inputs[l] + (size_t)i] = (float)v;
    }
    out->b[l][o] = (float)shift;
  }
}

PlaStatus
pla_net_fold(const PlaNet *net, PlaNetFolded **out, PlaError *err)
{
  PlaNetFolded *f = pla_array_new0(1, sizeof *f);
  *out = f;
  if (!f)
    return pla_fail_memory(err, "the network");
  const PlaNetShape *s = &net->shape;
  f->n_in = s->n_in;
  f->n_out = s->n_out;
  f->n_layers = s->n_hidden + 1;
  f->width = padded(s->n_in);
  for (int l = 0; l < f->n_layers; l++) {
    f->inputs[l] = padded(pla_net_layer_inputs(s, l));
    f->outputs[l] = l < s->n_hidden ? s->n_units : s->n_out;
    f->width = padded(f->outputs[l]) > f->width ? padded(f->outputs[l]) : f->width;
    const size_t n = (size_t)f->inputs[l] * (size_t)f->outputs[l];
    f->w[l] = pla_array_new_aligned(n, sizeof(float));
    f->b[l] = pla_array_new0((size_t)f->outputs[l], sizeof(float));
    if (!f->w[l] || !f->b[l]) {
      pla_net_folded_free(f);
      *out = NULL;
      return pla_fail_memory(err, "the network");
    }
    memset(f->w[l], 0, n * sizeof(float));
    fold_layer(net, l, f);
  }
  return PLA_OK;
}

void
pla_net_folded_free(PlaNetFolded *folded)
{
  if (!folded)
    return;
  for (int l = 0; l <= PLA_NET_MAX_LAYERS; l++) {
    free(folded->w[l]);
    free(folded->b[l]);
  }
  free(folded);
}

size_t
pla_net_folded_scratch(const PlaNetFolded *folded)
{
  return 2 * PLA_NET_ROWS * (size_t)folded->width;
}

void
pla_net_run(const PlaNetFolded *f, const float *x, int n, float *scratch, float *y)
{
  const bool avx2 = pla_kernel_get() == PLA_KERNEL_AVX2;
  for (int first = 0; first < n; first += PLA_NET_ROWS) {
    const int rows = n - first < PLA_NET_ROWS ? n - first : PLA_NET_ROWS;
    float *in = scratch, *out = scratch + PLA_NET_ROWS * (size_t)f->width;
    memset(scratch, 0, pla_net_folded_scratch(f) * sizeof *scratch);
    for (int r = 0; r < rows; r++)
      memcpy(in + (size_t)r * (size_t)f->width, x + (size_t)(first + r) * (size_t)f->n_in,
             (size_t)f->n_in * sizeof *x);
    for (int l = 0; l < f->n_layers; l++) {
#if defined(__x86_64__)
      (avx2 ? pla_net_layer_avx2 : pla_net_layer_plain)
#else
      (void)avx2;
      pla_net_layer_plain
#endif
          (f->outputs[l], f->inputs[l], f->w[l], f->b[l], in, rows, f->width, l < f->n_layers - 1,
           out);
      /* the padding between outputs and the next layer's inputs meets zero weights, so must be
       * finite */
      float *swap = in;
      in = out;
      out = swap;
    }
    for (int r = 0; r < rows; r++)
      memcpy(y + (size_t)(first + r) * (size_t)f->n_out, in + (size_t)r * (size_t)f->width,
             (size_t)f->n_out * sizeof *y);
  }
}

void
pla_net_run_plain(const PlaNet *net, const float *x, double *y)
{
  const PlaNetShape *s = &net->shape;
  double a[PLA_NET_MAX_UNITS], z[PLA_NET_MAX_UNITS];
  for (int i = 0; i < s->n_in; i++)
    a[i] = ((double)x[i] - (double)net->in_mean[i]) / (double)net->in_std[i];
  for (int l = 0; l <= s->n_hidden; l++) {
    const int n_in = pla_net_layer_inputs(s, l), n_out = l < s->n_hidden ? s->n_units : s->n_out;
    const float *w = net->param + pla_net_layer_at(s, l), *b = w + (size_t)n_out * (size_t)n_in;
    for (int o = 0; o < n_out; o++) {
      z[o] = (double)b[o];
      for (int i = 0; i < n_in; i++)
        z[o] += (double)w[(size_t)o * (size_t)n_in + (size_t)i] * a[i];
    }
    for (int o = 0; o < n_out; o++) {
      if (l == s->n_hidden) {
        y[o] = (double)net->out_mean[o] + (double)net->out_std[o] * z[o];
        continue;
      }
      const size_t k = (size_t)l * (size_t)s->n_units + (size_t)o;
      const double n = (z[o] - (double)net->mean[k]) / sqrt((double)net->var[k] + PLA_NET_EPSILON);
      a[o] = fmax(0.0, (double)b[n_out + o] * n + (double)b[2 * n_out + o]);
    }
  }
}

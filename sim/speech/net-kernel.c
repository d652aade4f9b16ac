/* One layer of a folded network, for up to four rows of sound: every weight that is loaded serves
 * all of them.  A row's sums run in the same order whether it comes alone or with others. */
#include "anatomy/base/kernel.h"
#include "sim/speech/network-private.h"

typedef float Floats __attribute__((vector_size(32)));

static inline Floats
load(const float *p)
{
  Floats x;
  memcpy(&x, p, sizeof x);
  return x;
}

static inline float
total(Floats x)
{
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

void
PLA_KERNEL_NAME(pla_net_layer)(int n_out, int n_in, const float *w, const float *b, const float *x,
                               int n, int stride, bool rectify, float *y)
{
  for (int o = 0; o < n_out; o++) {
    const float *row = w + (size_t)o * (size_t)n_in;
    float sum[PLA_NET_ROWS];
    if (n == PLA_NET_ROWS) {
      Floats s0 = { 0 }, s1 = { 0 }, s2 = { 0 }, s3 = { 0 };
      for (int i = 0; i < n_in; i += PLA_NET_LANES) {
        const Floats v = load(row + i);
        s0 += v * load(x + i);
        s1 += v * load(x + stride + i);
        s2 += v * load(x + 2 * stride + i);
        s3 += v * load(x + 3 * stride + i);
      }
      sum[0] = total(s0);
      sum[1] = total(s1);
      sum[2] = total(s2);
      sum[3] = total(s3);
    } else {
      for (int r = 0; r < n; r++) {
        Floats s = { 0 };
        for (int i = 0; i < n_in; i += PLA_NET_LANES)
          s += load(row + i) * load(x + (size_t)r * (size_t)stride + i);
        sum[r] = total(s);
      }
    }
    for (int r = 0; r < n; r++) {
      const float v = sum[r] + b[o];
      y[(size_t)r * (size_t)stride + (size_t)o] = rectify && !(v > 0.0f) ? 0.0f : v;
    }
  }
}

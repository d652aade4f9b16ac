/* Threads, deterministic sums and the choice of kernel variant. */
#include "anatomy/base/parallel.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void
pla_threads_set(int n)
{
  omp_set_num_threads(n > 0 ? n : omp_get_num_procs());
}

int
pla_threads_get(void)
{
  return omp_get_max_threads();
}

/* blocks of partial sums live on the stack up to this many; longer arrays go in rounds */
enum { ROUND = 256 };

typedef double (*BlockFunc)(const double *x, const double *y, size_t n);

static double
block_sum(const double *x, const double *y, size_t n)
{
  (void)y;
  double s = 0.0;
  for (size_t i = 0; i < n; i++)
    s += x[i];
  return s;
}

static double
block_dot(const double *x, const double *y, size_t n)
{
  double s = 0.0;
  for (size_t i = 0; i < n; i++)
    s += x[i] * y[i];
  return s;
}

static double
block_max_abs(const double *x, const double *y, size_t n)
{
  (void)y;
  double m = 0.0;
  for (size_t i = 0; i < n; i++) {
    double a = fabs(x[i]);
    if (!(a <= m)) /* also true for NaN, which then stays */
      m = isnan(m) ? m : a;
  }
  return m;
}

static double
in_blocks(BlockFunc func, const double *x, const double *y, size_t n, int take_max)
{
  double total = 0.0;
  size_t n_blocks = (n + PLA_BLOCK - 1) / PLA_BLOCK;
  for (size_t first = 0; first < n_blocks; first += ROUND) {
    double part[ROUND];
    int count = n_blocks - first < ROUND ? (int)(n_blocks - first) : ROUND;
#pragma omp parallel for schedule(static) if (count > 8)
    for (int b = 0; b < count; b++) {
      size_t begin = (first + (size_t)b) * PLA_BLOCK;
      size_t len = n - begin < PLA_BLOCK ? n - begin : PLA_BLOCK;
      part[b] = func(x + begin, y ? y + begin : NULL, len);
    }
    if (take_max) {
      double m = block_max_abs(part, NULL, (size_t)count);
      if (!(m <= total))
        total = isnan(total) ? total : m;
    } else {
      for (int b = 0; b < count; b++)
        total += part[b];
    }
  }
  return total;
}

double
pla_sum(const double *x, size_t n)
{
  return in_blocks(block_sum, x, NULL, n, 0);
}

double
pla_dot(const double *x, const double *y, size_t n)
{
  return in_blocks(block_dot, x, y, n, 0);
}

double
pla_norm2(const double *x, size_t n)
{
  return sqrt(pla_dot(x, x, n));
}

double
pla_max_abs(const double *x, size_t n)
{
  return in_blocks(block_max_abs, x, NULL, n, 1);
}

/* -1: not decided yet */
static atomic_int chosen_kernel = -1;

static PlaKernel
best_kernel(void)
{
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return PLA_KERNEL_AVX2;
#endif
  return PLA_KERNEL_PLAIN;
}

PlaKernel
pla_kernel_get(void)
{
  int kernel = atomic_load_explicit(&chosen_kernel, memory_order_relaxed);
  if (kernel < 0) {
    const char *asked = getenv("PLATYSMA_KERNEL");
    kernel = asked && strcmp(asked, "plain") == 0 ? PLA_KERNEL_PLAIN : best_kernel();
    atomic_store_explicit(&chosen_kernel, kernel, memory_order_relaxed);
  }
  return (PlaKernel)kernel;
}

const char *
pla_kernel_name(PlaKernel kernel)
{
  return kernel == PLA_KERNEL_AVX2 ? "avx2" : "plain";
}

void
pla_kernel_override(PlaKernel kernel)
{
  atomic_store(&chosen_kernel, kernel > best_kernel() ? (int)best_kernel() : (int)kernel);
}

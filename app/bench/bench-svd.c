/* The batched SVD against the scalar one: random matrices near the identity, as in soft tissue. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/base/svd3.h"
#include "app/bench/bench-private.h"

#include <glib.h>
#include <stdlib.h>

typedef struct {
  size_t n;
  double *f, *u, *s, *v;
} Matrices;

static PlaStatus
run_scalar(void *data, PlaError *err)
{
  Matrices *m = data;
  for (size_t e = 0; e < m->n; e++) {
    double f[9], u[9], s[3], v[9];
    for (size_t c = 0; c < 9; c++)
      f[c] = m->f[c * m->n + e];
    pla_svd3(f, u, s, v);
    for (size_t c = 0; c < 9; c++) {
      m->u[c * m->n + e] = u[c];
      m->v[c * m->n + e] = v[c];
    }
    for (size_t c = 0; c < 3; c++)
      m->s[c * m->n + e] = s[c];
  }
  return PLA_OK;
}

static PlaStatus
run_batch(void *data, PlaError *err)
{
  Matrices *m = data;
  pla_svd3_batch(m->n, m->n, m->f, m->u, m->s, m->v);
  return PLA_OK;
}

static PlaStatus
run_svd(PlaBench *bench, PlaError *err)
{
  Matrices m = { .n = (size_t)pla_bench_size(bench, 400000.0) };
  const int repeats = pla_bench_repeats(bench, 7);
  m.f = pla_array_new(9 * m.n, sizeof *m.f);
  m.u = pla_array_new(9 * m.n, sizeof *m.u);
  m.s = pla_array_new(3 * m.n, sizeof *m.s);
  m.v = pla_array_new(9 * m.n, sizeof *m.v);
  PlaStatus st = m.f && m.u && m.s && m.v ? PLA_OK : pla_fail_memory(err, "the matrices");

  double scalar = 0.0, plain = 0.0, one = 0.0, all = 0.0;
  int threads = pla_threads_get();
  if (st == PLA_OK) {
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    for (size_t i = 0; i < 9 * m.n; i++)
      m.f[i] = (double)(i / m.n % 4 == 0) + g_rand_double_range(rand, -0.4, 0.4);
    pla_threads_set(1);
    st = pla_bench_time(bench, run_scalar, &m, repeats, &scalar, err);
  }
  if (st == PLA_OK) {
    pla_kernel_override(PLA_KERNEL_PLAIN);
    st = pla_bench_time(bench, run_batch, &m, repeats, &plain, err);
    pla_kernel_override(PLA_KERNEL_AVX2);
  }
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_batch, &m, repeats, &one, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_batch, &m, repeats, &all, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "batched SVD", (double)m.n, repeats, all);
    pla_bench_ratio(bench, "scalar_over_plain_batch", scalar / plain);
    pla_bench_ratio(bench, "scalar_over_batch_one_thread", scalar / one);
    pla_bench_ratio(bench, "one_thread_over_all", one / all);
    pla_bench_number(bench, "nanoseconds_per_svd_one_thread", one / (double)m.n * 1e9);
    pla_bench_end_run(bench);
  }
  free(m.f);
  free(m.u);
  free(m.s);
  free(m.v);
  return st;
}

const PlaBenchmark pla_benchmark_svd = {
  .name = "svd",
  .summary = "rotation-variant 3x3 SVD: four at a time against one at a time",
  .run = run_svd,
};

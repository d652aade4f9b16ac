/* Complex-step stress and tangent against the analytic ones, at random points near rest: directly,
 * by 9 and 45 evaluations of the energy on F, and nested over the invariants, by 3 and 6. */
#include "anatomy/base/memory.h"
#include "app/bench/bench-private.h"
#include "sim/material/complex-step.h"

#include <glib.h>
#include <stdlib.h>

typedef void (*Stress)(const PlaMaterial *, const double *, const PlaPoint *, double *);
typedef void (*Tangent)(const PlaMaterial *, const double *, const PlaPoint *, double *);

typedef struct {
  int n;
  double *f; /* n x 9 */
  const PlaMaterial *material;
  double constants[PLA_MAX_CONSTANTS];
  Stress stress; /* one of the two */
  Tangent tangent;
  double sink;
} Work;

/* the analytic tangent, as assembly asks for it */
static void
analytic_tangent(const PlaMaterial *material, const double *constants, const PlaPoint *point,
                 double *h)
{
  pla_material_tangent(material, constants, point, false, h);
}

static PlaStatus
run_points(void *data, PlaError *err)
{
  Work *work = data;
  double sum = 0.0;
  for (int e = 0; e < work->n; e++) {
    PlaPoint point = { 0 };
    double out[81];
    for (int k = 0; k < 9; k++)
      point.f[k] = work->f[9 * (size_t)e + (size_t)k];
    /* all pay for the decomposition: spectral energies and the safety of inverted elements need it
     */
    pla_point_decompose(&point);
    if (work->stress)
      work->stress(work->material, work->constants, &point, out);
    else
      work->tangent(work->material, work->constants, &point, out);
    sum += out[0];
  }
  work->sink = sum;
  return PLA_OK;
}

/* median seconds of one kind of stress or tangent */
static PlaStatus
measure(PlaBench *bench, Work *work, Stress stress, Tangent tangent, int repeats, double *seconds,
        PlaError *err)
{
  work->stress = stress;
  work->tangent = tangent;
  return pla_bench_time(bench, run_points, work, repeats, seconds, err);
}

static PlaStatus
run_material(PlaBench *bench, Work *work, const char *id, int repeats, PlaError *err)
{
  double param[PLA_MAX_CONSTANTS] = { 0 }, p[3] = { 0.0 }, h[3] = { 0.0 };
  work->material = pla_material_find(id);
  for (int i = 0; work->material->params[i].key; i++)
    param[i] = work->material->params[i].def;
  PlaStatus st = work->material->prepare(param, work->constants, err);
  const bool nested = work->material->invariant_energy != NULL;
  const Stress stress[3] = { pla_material_stress, pla_complex_step_stress,
                             pla_invariant_step_stress };
  const Tangent tangent[3] = { analytic_tangent, pla_complex_step_tangent,
                               pla_invariant_step_tangent };
  for (int k = 0; k < (nested ? 3 : 2) && st == PLA_OK; k++) {
    st = measure(bench, work, stress[k], NULL, repeats, &p[k], err);
    if (st == PLA_OK)
      st = measure(bench, work, NULL, tangent[k], repeats, &h[k], err);
  }
  if (st != PLA_OK)
    return st;
  const double per_ten_thousand_ms = 1e7 / work->n;
  pla_bench_begin_run(bench, id, work->n, repeats, h[1]);
  pla_bench_ratio(bench, "direct_stress_over_analytic", p[1] / p[0]);
  pla_bench_ratio(bench, "direct_tangent_over_analytic", h[1] / h[0]);
  if (nested) {
    pla_bench_ratio(bench, "nested_stress_over_analytic", p[2] / p[0]);
    pla_bench_ratio(bench, "nested_tangent_over_analytic", h[2] / h[0]);
    pla_bench_number(bench, "nested_tangent_ms_per_10k", h[2] * per_ten_thousand_ms);
  }
  pla_bench_number(bench, "analytic_stress_ms_per_10k", p[0] * per_ten_thousand_ms);
  pla_bench_number(bench, "analytic_tangent_ms_per_10k", h[0] * per_ten_thousand_ms);
  pla_bench_number(bench, "direct_tangent_ms_per_10k", h[1] * per_ten_thousand_ms);
  pla_bench_end_run(bench);
  return PLA_OK;
}

static PlaStatus
run_csfd(PlaBench *bench, PlaError *err)
{
  static const char *const materials[] = { "stvk",         "neo-hookean", "mooney-rivlin", "fung",
                                           "arruda-boyce", "ogden",       "corotated" };
  Work work = { .n = (int)pla_bench_size(bench, 10000.0) };
  const int repeats = pla_bench_repeats(bench, 5);
  work.f = pla_array_new(9 * (size_t)work.n, sizeof *work.f);
  PlaStatus st = work.f ? PLA_OK : pla_fail_memory(err, "the matrices");
  if (st == PLA_OK) {
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    for (size_t i = 0; i < 9 * (size_t)work.n; i++)
      work.f[i] = (double)(i % 9 % 4 == 0) + g_rand_double_range(rand, -0.2, 0.2);
  }
  for (unsigned m = 0; m < G_N_ELEMENTS(materials) && st == PLA_OK; m++)
    st = run_material(bench, &work, materials[m], repeats, err);
  free(work.f);
  return st;
}

const PlaBenchmark pla_benchmark_csfd = {
  .name = "csfd",
  .summary =
      "stress and tangent by complex steps, from the energy alone, against the analytic ones",
  .run = run_csfd,
};

/* Conforming tets of a dented ball: tets a second, graded and uniform, on one thread and all. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesher/tets.h"
#include "app/bench/bench-private.h"

#include <math.h>

typedef struct {
  const PlaLevelSet *group[1];
  PlaTetOptions opts;
  int n_tets;
} Data;

static double
dented_ball(const double p[3], const void *data)
{
  double r = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  return r - 40.0 - 3.0 * sin(0.15 * p[0]) * sin(0.12 * p[1]) * sin(0.13 * p[2]);
}

static PlaStatus
run_once(void *data, PlaError *err)
{
  Data *d = data;
  const int id = 1;
  PlaMesh *mesh;
  PlaStatus st = pla_tets_from_levelsets(d->group, &id, 1, NULL, &d->opts, NULL, &mesh, NULL, err);
  if (st == PLA_OK) {
    d->n_tets = mesh->n_tets;
    pla_mesh_free(mesh);
  }
  return st;
}

static PlaStatus
run_tets(PlaBench *bench, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 3), threads = pla_threads_get();
  const int dims[3] = { 100, 100, 100 };
  const double affine[12] = { 1, 0, 0, -49.5, 0, 1, 0, -49.5, 0, 0, 1, -49.5 };
  /* about so many tets when uniform: twelve a cube */
  const double size = pla_bench_size(bench, 1e6), volume = 4.0 / 3.0 * G_PI * 64000.0;
  PlaLevelSet *ls = NULL;
  PlaStatus st = pla_levelset_new(dims, affine, &ls, err);
  if (st == PLA_OK)
    pla_levelset_fill(ls, dented_ball, NULL);
  for (int levels = 0; st == PLA_OK && levels <= 3; levels += 3) {
    Data d = { { ls }, { .cell_mm = cbrt(12.0 * volume / size), .levels = levels }, 0 };
    double one, all;
    const double before = pla_bench_reset_peak();
    pla_threads_set(1);
    st = pla_bench_time(bench, run_once, &d, repeats, &one, err);
    pla_threads_set(threads);
    if (st == PLA_OK)
      st = pla_bench_time(bench, run_once, &d, repeats, &all, err);
    if (st == PLA_OK) {
      pla_bench_begin_run(bench, levels ? "graded tets" : "uniform tets", d.n_tets, repeats, all);
      pla_bench_ratio(bench, "one_thread_over_all", one / all);
      pla_bench_number(bench, "tets_per_s", d.n_tets / all);
      pla_bench_number(bench, "tets_per_s_one_thread", d.n_tets / one);
      pla_bench_number(bench, "peak_bytes_per_tet", (pla_bench_peak() - before) / d.n_tets);
      pla_bench_end_run(bench);
    }
  }
  pla_levelset_free(ls);
  return st;
}

const PlaBenchmark pla_benchmark_tets = {
  .name = "tets",
  .summary = "conforming tetrahedra from a level set, graded and uniform",
  .run = run_tets,
};

/* A reduced bar at the sizes of Luo 2020, table 3: 23k tets in 4 domains and 64k in 5.  Cubature by
 * segments is compared with cubature over the whole body: with the same candidates, which over the
 * whole leave a larger error, and with as many as it needs to leave one as small.  Steps a second
 * are those of one thread, with the free end led in a circle. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/bench/bench-private.h"
#include "sim/reduced/reduced.h"
#include "sim/reduced/weights.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DOMAINS = 5, POSES = 16, STEPS = 120, MOST_POOL = 15000 /* a matrix of 1.8 GB */ };

typedef struct {
  int n_domains;
  PlaMesh *mesh;
  unsigned char *fixed;
  PlaFemModel *fem;
  int seed[MOST_DOMAINS];
  PlaDomains *domains;
  PlaReducedBasis basis;
  double *poses; /* POSES x n_verts x 3 */
} Bar;

static void
bar_clear(Bar *bar)
{
  pla_reduced_basis_clear(&bar->basis);
  pla_domains_free(bar->domains);
  pla_fem_model_free(bar->fem);
  pla_mesh_free(bar->mesh);
  free(bar->fixed);
  free(bar->poses);
}

/* 100 x 25 x 25 mm in 4 n x n x n cells of six tets, clamped at x = 0, seeds along its axis */
static PlaStatus
bar_init(Bar *bar, int n, PlaError *err)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.1, 0.025, 0.025 }, param[2] = { 1e4, 0.45 };
  const int cells[3] = { 4 * n, n, n };
  PlaFemMaterial material = { .material = pla_material_find("stable-neo-hookean"),
                              .density = 1000.0 };
  const PlaWeightOptions options = pla_weight_options_default();
  double *weight = NULL;
  int *cell = NULL;
  PlaStatus st = material.material->prepare(param, material.constants, err);
  if (st == PLA_OK)
    st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_TETS_6, &bar->mesh, err);
  if (st != PLA_OK)
    return st;
  const size_t n_verts = (size_t)bar->mesh->n_verts;
  const PlaTetMesh tets = pla_mesh_tets(bar->mesh);
  bar->fixed = pla_array_new0(n_verts, 1);
  bar->poses = pla_array_new(POSES * n_verts, 3 * sizeof(double));
  weight = pla_array_new(n_verts, (size_t)bar->n_domains * sizeof *weight);
  cell = pla_array_new0((size_t)bar->mesh->n_tets, sizeof *cell);
  if (!bar->fixed || !bar->poses || !weight || !cell)
    st = pla_fail_memory(err, "the bar");
  for (int i = 0; st == PLA_OK && i < bar->n_domains; i++) {
    const double want[3] = { 0.1 * (i + 1.0) / bar->n_domains, 0.0125, 0.0125 };
    double nearest = INFINITY;
    for (size_t v = 0; v < n_verts; v++) {
      double d2 = 0.0;
      for (size_t d = 0; d < 3; d++)
        d2 += pow(bar->mesh->pos[3 * v + d] - want[d], 2.0);
      bar->fixed[v] = bar->mesh->pos[3 * v] == 0.0;
      if (d2 < nearest && !bar->fixed[v]) {
        nearest = d2;
        bar->seed[i] = (int)v;
      }
    }
  }
  if (st == PLA_OK)
    st = pla_fem_model_new(bar->mesh, &material, 1, cell, PLA_FORMULATION_STANDARD, &bar->fem, err);
  if (st == PLA_OK)
    st = pla_domains_new(&tets, bar->seed, bar->n_domains, &bar->domains, err);
  if (st == PLA_OK)
    st = pla_domain_weights(&tets, bar->domains, bar->fixed, &options, NULL, weight, err);
  if (st == PLA_OK)
    st = pla_reduced_basis_init(&bar->basis, &tets, bar->seed, bar->n_domains, weight, NULL,
                                PLA_BASIS_QUADRATIC, err);
  free(weight);
  free(cell);
  return st;
}

/* where the end seed is led: @turn of a circle whose size is @size, m */
static void
lead(const Bar *bar, double turn, double size, double target[3])
{
  memcpy(target, bar->mesh->pos + 3 * (size_t)bar->seed[bar->n_domains - 1], 3 * sizeof *target);
  target[0] -= 0.3 * size;
  target[1] += size * cos(2.0 * G_PI * turn);
  target[2] += size * sin(2.0 * G_PI * turn);
}

/* bent to all sides, by a cubature that needs no training */
static PlaStatus
make_poses(Bar *bar, PlaError *err)
{
  const size_t n = 3 * (size_t)bar->mesh->n_verts;
  PlaReducedOptions options = pla_reduced_options_default();
  PlaCubature cubature = { 0 };
  PlaReducedModel *model = NULL;
  PlaReducedBody *body = NULL;
  PlaReducedReport report;
  options.volume_stiffness = options.pressure_stiffness = 0.0;
  PlaStatus st = pla_cubature_sample(bar->fem, bar->domains, 150, &cubature, err);
  if (st == PLA_OK)
    st = pla_reduced_model_new(bar->fem, &bar->basis, 0, NULL, &cubature, &model, err);
  if (st == PLA_OK)
    st = pla_reduced_body_new(model, &options, &bar->seed[bar->n_domains - 1], 1, NULL, NULL, 0,
                              &body, err);
  for (int p = 0; st == PLA_OK && p < POSES; p++) {
    double target[3];
    lead(bar, p / 7.0, 0.005 + 0.03 * p / POSES, target);
    st = pla_reduced_body_settle(body, target, NULL, NULL, &report, err);
    if (st == PLA_OK)
      memcpy(bar->poses + (size_t)p * n, pla_reduced_body_get_pos(body), n * sizeof(double));
  }
  pla_reduced_body_free(body);
  pla_reduced_model_free(model);
  pla_cubature_clear(&cubature);
  return st;
}

static PlaStatus
train(const Bar *bar, bool whole, int pool, PlaProgress *progress, PlaCubature *out, double *error,
      double *seconds, PlaError *err)
{
  PlaCubatureOptions options = pla_cubature_options_default();
  options.error = 0.05;
  options.pool = pool;
  if (whole)
    options.most *= bar->n_domains;
  const gint64 begun = g_get_monotonic_time();
  PlaStatus st = pla_cubature_train(bar->fem, &bar->basis, whole ? NULL : bar->domains, POSES,
                                    bar->poses, &options, progress, out, error, err);
  *seconds = (double)(g_get_monotonic_time() - begun) / 1e6;
  return st;
}

static PlaStatus
step(const Bar *bar, const PlaCubature *cubature, double *seconds, PlaError *err)
{
  const PlaReducedOptions options = pla_reduced_options_default();
  PlaReducedModel *model = NULL;
  PlaReducedBody *body = NULL;
  PlaReducedReport report;
  PlaStatus st = pla_reduced_model_new(bar->fem, &bar->basis, 0, NULL, cubature, &model, err);
  if (st == PLA_OK)
    st = pla_reduced_body_new(model, &options, &bar->seed[bar->n_domains - 1], 1, NULL, NULL, 0,
                              &body, err);
  const gint64 begun = g_get_monotonic_time();
  for (int i = 0; st == PLA_OK && i < STEPS; i++) {
    double target[3];
    lead(bar, i / 100.0, fmin(0.02, 0.0005 * i), target);
    st = pla_reduced_body_step(body, target, NULL, NULL, &report, err);
  }
  *seconds = (double)(g_get_monotonic_time() - begun) / 1e6 / STEPS;
  pla_reduced_body_free(body);
  pla_reduced_model_free(model);
  return st;
}

static PlaStatus
run_size(PlaBench *bench, int n, int n_domains, PlaError *err)
{
  Bar bar = { .n_domains = n_domains };
  PlaCubature parts = { 0 }, whole = { 0 };
  const int pool = 1500; /* of 6,000 to 13,000 tets in a segment: with fewer the least error is
                            reached too soon */
  int whole_pool = n_domains * pool;
  double parts_s = 0.0, whole_s = 0.0, step_s = 0.0, error = 0.0, whole_error = 0.0, same_s,
         same_error;
  PlaStatus st = bar_init(&bar, n, err);
  if (st == PLA_OK)
    st = make_poses(&bar, err);
  if (st == PLA_OK)
    st = train(&bar, false, pool, pla_bench_progress(bench), &parts, &error, &parts_s, err);
  if (st == PLA_OK)
    st = train(&bar, true, whole_pool, pla_bench_progress(bench), &whole, &whole_error, &whole_s,
               err);
  same_s = whole_s;
  same_error = whole_error;
  while (st == PLA_OK && same_error > 1.05 * error && 3 * whole_pool / 2 <= MOST_POOL) {
    whole_pool = 3 * whole_pool / 2;
    pla_cubature_clear(&whole);
    st =
        train(&bar, true, whole_pool, pla_bench_progress(bench), &whole, &same_error, &same_s, err);
  }
  if (st == PLA_OK)
    st = step(&bar, &parts, &step_s, err);
  if (st == PLA_OK) {
    g_autofree char *label = g_strdup_printf("bar, %d domains", n_domains);
    pla_bench_begin_run(bench, label, bar.mesh->n_tets, STEPS, step_s);
    pla_bench_ratio(bench, "whole_over_segments", whole_s / parts_s);
    pla_bench_ratio(bench, "same_error_over_segments", same_s / parts_s);
    pla_bench_number(bench, "steps_per_s_one_thread", 1.0 / step_s);
    pla_bench_number(bench, "cubature_elements", parts.n);
    pla_bench_number(bench, "cubature_error", error);
    pla_bench_number(bench, "training_s", parts_s);
    pla_bench_number(bench, "whole_elements", whole.n);
    pla_bench_number(bench, "whole_error", whole_error);
    pla_bench_number(bench, "same_error_pool", whole_pool);
    pla_bench_number(bench, "same_error", same_error);
    pla_bench_end_run(bench);
  }
  pla_cubature_clear(&parts);
  pla_cubature_clear(&whole);
  bar_clear(&bar);
  return st;
}

static PlaStatus
run_reduced(PlaBench *bench, PlaError *err)
{
  const int threads = pla_threads_get();
  pla_threads_set(1);
  PlaStatus st = run_size(bench, 10, 4, err); /* 24,000 tets */
  if (st == PLA_OK)
    st = run_size(bench, 14, 5, err); /* 65,856 tets */
  pla_threads_set(threads);
  return st;
}

const PlaBenchmark pla_benchmark_reduced = {
  .name = "reduced",
  .summary =
      "bars in few degrees of freedom: steps a second, cubature by segments and over the whole",
  .run = run_reduced,
};

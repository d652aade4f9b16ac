/* Sweeps over the vertices of the stretched and twisted unit box (Chen 2024, 4.7): time of a sweep
 * for each material, the AVX2 kernel against the plain one, one thread against all; how long
 * recolouring takes after new links; and the time to a given residual against Newton's method. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/bench/bench-private.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaMesh *mesh;
  PlaFemModel *model;
  unsigned char *fixed;
  double *target, *pos;
  PlaPbng *state;
} Box;

static void
box_clear(Box *box)
{
  pla_pbng_free(box->state);
  pla_fem_model_free(box->model);
  pla_mesh_free(box->mesh);
  free(box->fixed);
  free(box->target);
  free(box->pos);
}

/* the unit box of @nodes^3 vertices: both ends held, to be pulled 0.25 and turned 0.8 rad each way
 */
static PlaStatus
box_init(Box *box, const char *material, int nodes, PlaError *err)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 1, 1, 1 }, param[2] = { 1e5, 0.3 };
  const int n[3] = { nodes - 1, nodes - 1, nodes - 1 };
  const PlaPbngOptions options = pla_pbng_options_default();
  PlaFemMaterial m = { .material = pla_material_find(material), .density = 10.0 };
  int *cell_material = NULL;
  PlaStatus st = m.material->prepare(param, m.constants, err);
  if (st == PLA_OK)
    st = pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &box->mesh, err);
  if (st == PLA_OK) {
    size_t nv = (size_t)box->mesh->n_verts;
    cell_material = pla_array_new0(pla_mesh_n_cells(box->mesh), sizeof *cell_material);
    box->fixed = pla_array_new0(nv, 3);
    box->target = pla_array_dup(box->mesh->pos, nv, 3 * sizeof(double));
    box->pos = pla_array_dup(box->mesh->pos, nv, 3 * sizeof(double));
    if (!cell_material || !box->fixed || !box->target || !box->pos)
      st = pla_fail_memory(err, "the box");
  }
  for (int v = 0; st == PLA_OK && v < box->mesh->n_verts; v++) {
    double *x = box->target + 3 * (size_t)v, side = x[0] == 0.0 ? -1.0 : x[0] == 1.0 ? 1.0 : 0.0;
    if (side == 0.0)
      continue;
    double c = cos(0.8 * side), s = sin(0.8 * side), y = x[1] - 0.5, z = x[2] - 0.5;
    memset(box->fixed + 3 * (size_t)v, 1, 3);
    x[0] += 0.25 * side;
    x[1] = 0.5 + c * y - s * z;
    x[2] = 0.5 + s * y + c * z;
  }
  if (st == PLA_OK)
    st = pla_fem_model_new(box->mesh, &m, 1, cell_material, PLA_FORMULATION_STANDARD, &box->model,
                           err);
  if (st == PLA_OK)
    st = pla_pbng_new(box->model, &(PlaFemConditions){ box->fixed, box->target, NULL }, &options,
                      box->pos, &box->state, err);
  free(cell_material);
  return st;
}

static PlaStatus
one_sweep(void *data, PlaError *err)
{
  pla_pbng_sweep(((Box *)data)->state, 1);
  return PLA_OK;
}

/* links between vertices of one colour, as new contacts would bring */
static PlaStatus
measure_recolouring(Box *box, double *seconds, PlaError *err)
{
  enum { N_LINKS = 100 };
  PlaSpring springs[N_LINKS];
  const int nv = box->mesh->n_verts;
  for (int s = 0; s < N_LINKS; s++) {
    springs[s] = (PlaSpring){ .n_verts = 2, .weight = { 1, -1 } };
    springs[s].vert[0] = (int)((double)nv * (s + 1) / (2 * N_LINKS + 2));
    springs[s].vert[1] = nv - 1 - springs[s].vert[0];
    pla_spring_set_stiffness(&springs[s], (double[3]){ 1, 0, 0 }, 1e3, 1e3);
  }
  gint64 start = g_get_monotonic_time();
  PlaStatus st = pla_pbng_set_springs(box->state, springs, N_LINKS, err);
  *seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK)
    st = pla_pbng_set_springs(box->state, NULL, 0, err);
  return st;
}

/* seconds until the residual has fallen to @rel of its start; NaN when it does not get there */
static PlaStatus
time_to(PlaBench *bench, Box *box, PlaSolverMethod method, double rel, double *seconds,
        PlaError *err)
{
  PlaFemOptions options = pla_fem_options_default();
  PlaFemReport report;
  PlaFemConditions conditions = { box->fixed, box->target, NULL };
  options.method = method;
  options.tolerance_rel = rel;
  options.progress = pla_bench_progress(bench);
  memcpy(box->pos, box->mesh->pos, 3 * (size_t)box->mesh->n_verts * sizeof *box->pos);
  gint64 start = g_get_monotonic_time();
  PlaStatus st = pla_fem_solve(box->model, &conditions, &options, box->pos, &report, err);
  *seconds = report.reason == PLA_STOP_CONVERGED ? (double)(g_get_monotonic_time() - start) * 1e-6
                                                 : (double)NAN;
  if (st == PLA_OK && report.reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  return st;
}

static PlaStatus
run_size(PlaBench *bench, const char *material, int nodes, bool crossover, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 9), threads = pla_threads_get();
  Box box = { 0 };
  double plain = 0.0, one = 0.0, all = 0.0, recolour = 0.0;
  PlaStatus st = box_init(&box, material, nodes, err);
  /* past the jump, where sweeps spend their time */
  if (st == PLA_OK) {
    pla_pbng_sweep(box.state, 20);
    pla_threads_set(1);
    pla_kernel_override(PLA_KERNEL_PLAIN);
    st = pla_bench_time(bench, one_sweep, &box, repeats, &plain, err);
    pla_kernel_override(PLA_KERNEL_AVX2);
  }
  if (st == PLA_OK)
    st = pla_bench_time(bench, one_sweep, &box, repeats, &one, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = pla_bench_time(bench, one_sweep, &box, repeats, &all, err);
  if (st == PLA_OK)
    st = measure_recolouring(&box, &recolour, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, material, (double)box.mesh->n_tets, repeats, all);
    pla_bench_ratio(bench, "plain_over_avx2", plain / one);
    pla_bench_ratio(bench, "one_thread_over_all", one / all);
    pla_bench_ratio(bench, "recolouring_over_sweep", recolour / all);
    pla_bench_number(bench, "one_thread_ms", 1e3 * one);
    pla_bench_number(bench, "colours", pla_pbng_n_colours(box.state));
  }
  const double levels[3] = { 1e-1, 1e-2, 1e-3 };
  const char *names[3] = { "newton_over_pbng_to_1e-1", "newton_over_pbng_to_1e-2",
                           "newton_over_pbng_to_1e-3" };
  for (int k = 0; st == PLA_OK && crossover && k < 3; k++) {
    double newton = 0.0, pbng = 0.0;
    st = time_to(bench, &box, PLA_SOLVER_NEWTON, levels[k], &newton, err);
    if (st == PLA_OK)
      st = time_to(bench, &box, PLA_SOLVER_PBNG, levels[k], &pbng, err);
    if (st == PLA_OK)
      pla_bench_ratio(bench, names[k], newton / pbng);
  }
  if (st == PLA_OK) {
    pla_bench_number(bench, "rss_mib", pla_bench_peak_rss_mib());
    pla_bench_end_run(bench);
  }
  box_clear(&box);
  return st;
}

static PlaStatus
run_pbng(PlaBench *bench, PlaError *err)
{
  const char *materials[4] = { "neo-hookean", "neo-hookean-mm", "stable-neo-hookean",
                               "fixed-corotated" };
  const int sizes[3] = { 16, 32, 64 };
  int asked = (int)lround(cbrt(pla_bench_size(bench, 0.0) / 5.0)) + 1;
  PlaStatus st = PLA_OK;
  for (int k = 0; st == PLA_OK && k < (asked > 1 ? 1 : 3); k++)
    for (int m = 0; st == PLA_OK && m < 4; m++) {
      int nodes = asked > 1 ? asked : sizes[k];
      /* Newton's method on the largest box takes minutes, and one material shows the crossover */
      st = run_size(bench, materials[m], nodes, m == 0 && nodes <= 32, err);
    }
  return st;
}

const PlaBenchmark pla_benchmark_pbng_box = {
  .name = "pbng-box",
  .summary = "sweeps over the vertices of a twisted box, by material, kernel and threads",
  .run = run_pbng,
};

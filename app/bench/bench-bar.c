/* Quasistatic bars: a soft 100 x 25 x 25 mm bar, clamped at x = 0, twisted by 90 degrees or sagging
 * under its own weight.  The unit of comparison is one numeric CHOLMOD factorisation of the same
 * stiffness matrix on one thread (METIS ordering, analysis not counted).  The same bar by the mixed
 * formulation is measured beside it, in the same run. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/bench/bench-private.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"

#include <glib.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/cholmod.h>

enum { LARGEST_REPEATED = 24 }; /* cells across; larger bars are solved once, roughly */

typedef struct {
  bool twist;
  PlaFemModel *model;
  unsigned char *fixed;
  double *target, *force, *start, *pos;
  double tolerance;
  PlaProgress *progress;
  PlaFemReport report;
} Bar;

static void
bar_clear(Bar *bar)
{
  pla_fem_model_free(bar->model);
  free(bar->fixed);
  free(bar->target);
  free(bar->force);
  free(bar->start);
  free(bar->pos);
}

/* a bar of 4 n x n x n cells of six tets */
static PlaStatus
bar_init(Bar *bar, int n, PlaFormulation formulation, PlaError *err)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.1, 0.025, 0.025 };
  const int cells[3] = { 4 * n, n, n };
  const double param[2] = { 1e4, 0.45 };
  PlaFemMaterial material = { .material = pla_material_find("neo-hookean"), .density = 1000.0 };
  PlaMesh *mesh = NULL;
  int *cell_material = NULL;
  PlaStatus st = material.material->prepare(param, material.constants, err);
  if (st == PLA_OK)
    st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_TETS_6, &mesh, err);
  if (st == PLA_OK) {
    cell_material = pla_array_new0(pla_mesh_n_cells(mesh), sizeof *cell_material);
    size_t nv = (size_t)mesh->n_verts;
    bar->fixed = pla_array_new0(nv, 3);
    bar->target = pla_array_dup(mesh->pos, nv, 3 * sizeof(double));
    bar->force = pla_array_new0(nv, 3 * sizeof(double));
    bar->start = pla_array_dup(mesh->pos, nv, 3 * sizeof(double));
    bar->pos = pla_array_new(nv, 3 * sizeof(double));
    if (!cell_material || !bar->fixed || !bar->target || !bar->force || !bar->start || !bar->pos)
      st = pla_fail_memory(err, "the bar");
  }
  if (st == PLA_OK)
    st = pla_fem_model_new(mesh, &material, 1, cell_material, formulation, &bar->model, err);
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++) {
    const double *x = mesh->pos + 3 * (size_t)v;
    double *target = bar->target + 3 * (size_t)v, *start = bar->start + 3 * (size_t)v;
    if (x[0] == 0.0)
      memset(bar->fixed + 3 * (size_t)v, 1, 3);
    if (!bar->twist) {
      bar->force[3 * (size_t)v + 2] = -9.81 * pla_fem_model_mass(bar->model)[v];
      continue;
    }
    /* a quarter turn about the long axis: (y, z) -> (-z, y); the start is linear in x */
    double y = x[1] - 0.0125, z = x[2] - 0.0125, along = x[0] / 0.1;
    start[1] = x[1] + along * (-z - y);
    start[2] = x[2] + along * (y - z);
    if (x[0] == 0.1) {
      memset(bar->fixed + 3 * (size_t)v, 1, 3);
      target[1] = start[1];
      target[2] = start[2];
    }
  }
  free(cell_material);
  pla_mesh_free(mesh);
  return st;
}

static PlaStatus
solve_bar(void *data, PlaError *err)
{
  Bar *bar = data;
  PlaFemConditions conditions = { bar->fixed, bar->target, bar->force, NULL };
  PlaFemOptions options = pla_fem_options_default();
  options.tolerance_rel = bar->tolerance;
  options.progress = bar->progress;
  memcpy(bar->pos, bar->start, 3 * (size_t)pla_fem_model_n_verts(bar->model) * sizeof *bar->pos);
  PlaStatus st = pla_fem_solve(bar->model, &conditions, &options, bar->pos, &bar->report, err);
  if (st == PLA_OK && bar->report.reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  return st;
}

typedef struct {
  cholmod_sparse *matrix;
  cholmod_factor *factor;
  cholmod_common common;
} Unit;

static PlaStatus
factor_unit(void *data, PlaError *err)
{
  Unit *unit = data;
  return cholmod_factorize(unit->matrix, unit->factor, &unit->common) &&
                 unit->common.status == CHOLMOD_OK
             ? PLA_OK
             : pla_fail(err, PLA_ERR_CONVERGENCE, "CHOLMOD could not factor the stiffness matrix");
}

/* the rest stiffness of the bar as CHOLMOD wants it: the lower triangle by columns */
static cholmod_sparse *
scalar_matrix(const PlaBlockMatrix *a, cholmod_common *common)
{
  size_t n = 3 * (size_t)a->n, nnz = 0;
  for (int r = 0; r < a->n; r++)
    for (int k = a->start[r]; k < a->start[r + 1]; k++)
      nnz += a->col[k] > r ? 9 : a->col[k] == r ? 6 : 0;
  cholmod_sparse *s = cholmod_allocate_sparse(n, n, nnz, 1, 1, -1, CHOLMOD_REAL, common);
  if (!s)
    return NULL;
  int *p = s->p, *i = s->i, at = 0;
  double *x = s->x;
  for (int r = 0; r < a->n; r++)
    for (int d = 0; d < 3; d++) {
      p[3 * r + d] = at;
      for (int k = a->start[r]; k < a->start[r + 1]; k++)
        for (int e = 0; e < 3; e++) {
          int row = 3 * a->col[k] + e;
          if (row >= 3 * r + d) {
            i[at] = row;
            x[at++] = a->value[9 * (size_t)k + (size_t)(3 * d + e)];
          }
        }
    }
  p[n] = at;
  return s;
}

static PlaStatus
measure_unit(PlaBench *bench, const Bar *bar, int repeats, double *seconds, double *own_single,
             double *own_double, PlaError *err)
{
  PlaFemSystem system;
  Unit unit = { 0 };
  const PlaFemConditions conditions = { .fixed = bar->fixed, .target = bar->target };
  PlaStatus st = pla_fem_system_init(&system, bar->model, &conditions, NULL, err);
  if (st != PLA_OK)
    return st;
  pla_fem_system_assemble(&system, pla_fem_model_rest(bar->model), false, 0.0);
  pla_fem_system_constrain(&system);
  cholmod_start(&unit.common);
  unit.common.supernodal = CHOLMOD_SUPERNODAL;
  unit.common.nmethods = 1;
  unit.common.method[0].ordering = CHOLMOD_METIS;
  /* CHOLMOD asks for a team of its own: with no active level allowed it stays alone */
  int levels = omp_get_max_active_levels();
  omp_set_max_active_levels(0);
  unit.matrix = scalar_matrix(&system.matrix, &unit.common);
  unit.factor = unit.matrix ? cholmod_analyze(unit.matrix, &unit.common) : NULL;
  st = unit.factor ? pla_bench_time(bench, factor_unit, &unit, repeats, seconds, err)
                   : pla_fail_memory(err, "CHOLMOD's analysis");
  omp_set_max_active_levels(levels);
  cholmod_free_factor(&unit.factor, &unit.common);
  cholmod_free_sparse(&unit.matrix, &unit.common);
  cholmod_finish(&unit.common);

  for (int precision = PLA_SINGLE; st == PLA_OK && precision <= PLA_DOUBLE; precision++) {
    bool definite;
    gint64 start = g_get_monotonic_time();
    st = pla_cholesky_factor(system.factor, &system.matrix, (PlaPrecision)precision, NULL,
                             &definite, err);
    *(precision == PLA_SINGLE ? own_single : own_double) =
        (double)(g_get_monotonic_time() - start) * 1e-6;
  }
  pla_fem_system_clear(&system);
  return st;
}

/* the bar of 4 n x n x n cells in one formulation: how long, and how the solver got there */
static PlaStatus
measure_bar(PlaBench *bench, Bar *bar, int n, PlaFormulation formulation, double *median,
            PlaError *err)
{
  const bool large = n > LARGEST_REPEATED;
  bar->tolerance = large ? 1e-4 : 1e-6;
  bar->progress = pla_bench_progress(bench);
  PlaStatus st = bar_init(bar, n, formulation, err);
  return st == PLA_OK ? pla_bench_time(bench, solve_bar, bar,
                                       large ? 1 : pla_bench_repeats(bench, 3), median, err)
                      : st;
}

static PlaStatus
report_bar(PlaBench *bench, const Bar *bar, int n, PlaError *err)
{
  const int tip = 4 * n + (4 * n + 1) * (n / 2 + (n + 1) * (n / 2));
  pla_bench_number(bench, "coarse_iterations", bar->report.coarse_iterations);
  pla_bench_number(bench, "iterations", bar->report.iterations);
  pla_bench_number(bench, "factorisations", bar->report.factorisations);
  pla_bench_number(bench, "linear_iterations", bar->report.linear_iterations);
  pla_bench_number(bench, "residual_rel", bar->report.residual_rel);
  pla_bench_number(bench, "inverted", bar->report.inverted);
  pla_bench_number(bench, "tip_z_mm", 1e3 * bar->pos[3 * (size_t)tip + 2]);
  pla_bench_number(bench, "rss_mib", pla_bench_peak_rss_mib());
  pla_bench_end_run(bench);
  return bar->report.reason == PLA_STOP_CONVERGED
             ? PLA_OK
             : pla_fail(err, PLA_ERR_CONVERGENCE, "the bar did not converge: %s",
                        pla_stop_reason_text(bar->report.reason));
}

static PlaStatus
run_bar(PlaBench *bench, bool twist, PlaError *err)
{
  const double sizes[] = { 5000, 52728, 98304 };
  double asked = pla_bench_size(bench, 0.0);
  PlaStatus st = PLA_OK;
  for (size_t k = 0; st == PLA_OK && k < (asked > 0.0 ? 1 : G_N_ELEMENTS(sizes)); k++) {
    const int n = MAX(1, (int)lround(cbrt((asked > 0.0 ? asked : sizes[k]) / 24.0)));
    const int repeats = n > LARGEST_REPEATED ? 1 : pla_bench_repeats(bench, 3);
    const double size = 24.0 * n * n * n;
    Bar bar = { .twist = twist }, mixed = { .twist = twist };
    double unit = 0.0, single = 0.0, dbl = 0.0, median = 0.0, mixed_median = 0.0;
    st = measure_bar(bench, &bar, n, PLA_FORMULATION_STANDARD, &median, err);
    if (st == PLA_OK && n <= LARGEST_REPEATED)
      st = measure_unit(bench, &bar, repeats, &unit, &single, &dbl, err);
    if (st == PLA_OK) {
      pla_bench_begin_run(bench, twist ? "bar-twist" : "bar-sag", size, repeats, median);
      if (n <= LARGEST_REPEATED) {
        pla_bench_ratio(bench, "solve_over_cholmod_factor", median / unit);
        pla_bench_ratio(bench, "cholmod_over_own_single", unit / single);
        pla_bench_ratio(bench, "cholmod_over_own_double", unit / dbl);
        pla_bench_number(bench, "cholmod_factor_s", unit);
      }
      st = report_bar(bench, &bar, n, err);
    }
    if (st == PLA_OK)
      st = measure_bar(bench, &mixed, n, PLA_FORMULATION_MIXED, &mixed_median, err);
    if (st == PLA_OK) {
      pla_bench_begin_run(bench, twist ? "bar-twist-mixed" : "bar-sag-mixed", size, repeats,
                          mixed_median);
      pla_bench_ratio(bench, "mixed_over_standard", mixed_median / median);
      st = report_bar(bench, &mixed, n, err);
    }
    bar_clear(&bar);
    bar_clear(&mixed);
  }
  return st;
}

static PlaStatus
run_twist(PlaBench *bench, PlaError *err)
{
  return run_bar(bench, true, err);
}

static PlaStatus
run_sag(PlaBench *bench, PlaError *err)
{
  return run_bar(bench, false, err);
}

const PlaBenchmark pla_benchmark_bar_twist = {
  .name = "bar-twist",
  .summary = "a soft bar twisted by 90 degrees, against one CHOLMOD factorisation",
  .run = run_twist,
};

const PlaBenchmark pla_benchmark_bar_sag = {
  .name = "bar-sag",
  .summary = "a soft bar sagging under its weight, against one CHOLMOD factorisation",
  .run = run_sag,
};

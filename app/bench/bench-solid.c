/* Soft bodies: a figure that sags on its feet, recovery from chaos, assembly of the stiffness, and
 * frames of a boundary that moves. */
#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/bench/bench-private.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"
#include "sim/solve/solver.h"
#include "sim/solve/system.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  PlaMesh *mesh;
  PlaFemModel *model;
  unsigned char *fixed;
  double *target, *force, *pos;
} Body;

static void
body_clear(Body *body)
{
  pla_mesh_free(body->mesh);
  pla_fem_model_free(body->model);
  free(body->fixed);
  free(body->target);
  free(body->force);
  free(body->pos);
}

/* a neo-Hookean body of @mesh, which it takes, at rest and free */
static PlaStatus
body_init(Body *body, PlaMesh *mesh, double young, double poisson, double density, PlaError *err)
{
  const size_t nv = (size_t)mesh->n_verts;
  const double param[2] = { young, poisson };
  PlaFemMaterial material = { .material = pla_material_find("neo-hookean"), .density = density };
  int *cell_material = pla_array_new0(pla_mesh_n_cells(mesh), sizeof *cell_material);
  *body = (Body){ .mesh = mesh };
  body->fixed = pla_array_new0(nv, 3);
  body->target = pla_array_dup(mesh->pos, nv, 3 * sizeof(double));
  body->force = pla_array_new0(nv, 3 * sizeof(double));
  body->pos = pla_array_dup(mesh->pos, nv, 3 * sizeof(double));
  PlaStatus st = cell_material && body->fixed && body->target && body->force && body->pos
                     ? material.material->prepare(param, material.constants, err)
                     : pla_fail_memory(err, "the body");
  if (st == PLA_OK)
    st = pla_fem_model_new(mesh, &material, 1, cell_material, PLA_FORMULATION_STANDARD,
                           &body->model, err);
  free(cell_material);
  return st;
}

/* bar of six tets a cell, held at both ends */
static PlaStatus
box_init(Body *body, const int cells[3], double poisson, PlaError *err)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.1, 0.025, 0.025 };
  PlaMesh *mesh;
  *body = (Body){ 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_TETS_6, &mesh, err);
  if (st == PLA_OK)
    st = body_init(body, mesh, 1e4, poisson, 1000.0, err);
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++)
    if (mesh->pos[3 * (size_t)v] == 0.0 || mesh->pos[3 * (size_t)v] == 0.1)
      memset(body->fixed + 3 * (size_t)v, 1, 3);
  return st;
}

/* of 4 n x n x n cells, about @tets in all */
static PlaStatus
bar_init(Body *body, double tets, double poisson, PlaError *err)
{
  int n = (int)lround(cbrt(tets / 24.0));
  n = n < 1 ? 1 : n;
  return box_init(body, (int[3]){ 4 * n, n, n }, poisson, err);
}

static PlaStatus
solve_body(PlaBench *bench, Body *body, PlaFemOptions options, double *seconds,
           PlaFemReport *report, PlaError *err)
{
  PlaFemConditions conditions = { body->fixed, body->target, body->force };
  options.progress = pla_bench_progress(bench);
  gint64 start = g_get_monotonic_time();
  PlaStatus st = pla_fem_solve(body->model, &conditions, &options, body->pos, report, err);
  *seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
  if (st == PLA_OK && report->reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  return st;
}

/* ---- armadillo-sag ------------------------------------------------------------------------ */

/* where the scanned figure may be, relative to where the program runs */
static const char *const figure_paths[] = { "meshes/armadillo.1.node",
                                            "../shared/data/meshes/armadillo.1.node", NULL };

static PlaStatus
read_figure(PlaMesh **mesh, bool *found, PlaError *err)
{
  PlaStatus st = PLA_OK;
  *found = false;
  *mesh = NULL;
  for (const char *const *path = figure_paths; !*found && *path && st == PLA_OK; path++) {
    PlaReadOptions options = pla_read_options_default();
    PlaItem item = { 0 };
    if (!g_file_test(*path, G_FILE_TEST_EXISTS))
      continue;
    /* one unit is 0.2 m */
    options.unit_mm = 200.0;
    st = pla_item_read(*path, &options, &item, err);
    if (st == PLA_OK && item.kind == PLA_KIND_MESH && item.mesh->n_tets > 0) {
      *mesh = g_steal_pointer(&item.mesh);
      *found = true;
    }
    pla_item_clear(&item);
  }
  return st;
}

/* a box of about @tets rounded half way to a ball, with bumps, 0.2 m tall */
static PlaStatus
make_blob(double tets, PlaMesh **out, PlaError *err)
{
  const double lo[3] = { -1, -1, -1 }, hi[3] = { 1, 1, 1 };
  int n = (int)lround(cbrt(tets / 6.0));
  n = n < 2 ? 2 : n;
  PlaStatus st = pla_box_mesh_new(lo, hi, (int[3]){ n, n, n }, PLA_BOX_TETS_6, out, err);
  for (int v = 0; st == PLA_OK && v < (*out)->n_verts; v++) {
    double *x = (*out)->pos + 3 * (size_t)v, y[3];
    for (int d = 0; d < 3; d++) {
      double a = x[(d + 1) % 3], b = x[(d + 2) % 3];
      double round = x[d] * sqrt(1.0 - a * a / 2.0 - b * b / 2.0 + a * a * b * b / 3.0);
      y[d] = 0.5 * (x[d] + round);
    }
    double bump = 1.0 + 0.05 * sin(5.0 * y[0]) * sin(4.0 * y[1]) * cos(6.0 * y[2]);
    for (int d = 0; d < 3; d++)
      x[d] = 0.1 * bump * y[d];
  }
  return st;
}

static PlaStatus
run_armadillo(PlaBench *bench, PlaError *err)
{
  PlaMesh *mesh = NULL;
  bool found;
  double asked = pla_bench_size(bench, 0.0);
  PlaStatus st = read_figure(&mesh, &found, err);
  if (st == PLA_OK && (!found || asked > 0.0)) {
    pla_mesh_free(mesh);
    mesh = NULL;
    found = false;
    st = make_blob(asked > 0.0 ? asked : 60000.0, &mesh, err);
  }
  Body body = { 0 };
  if (st == PLA_OK)
    st = body_init(&body, mesh, 1e4, 0.45, 1000.0, err);
  else
    pla_mesh_free(mesh);
  double lowest = INFINITY, highest = -INFINITY;
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++) {
    lowest = fmin(lowest, mesh->pos[3 * (size_t)v + 1]);
    highest = fmax(highest, mesh->pos[3 * (size_t)v + 1]);
  }
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++) {
    if (mesh->pos[3 * (size_t)v + 1] <= lowest + 0.05 * (highest - lowest))
      memset(body.fixed + 3 * (size_t)v, 1, 3);
    body.force[3 * (size_t)v + 1] = -9.81 * pla_fem_model_mass(body.model)[v];
  }
  /* the default, plain Newton, one thread; sweeps to a hundredth against the default to that */
  PlaFemReport report[4] = { { 0 } };
  double seconds[4] = { 0 }, most = 0.0;
  const int threads = pla_threads_get();
  for (int way = 0; st == PLA_OK && way < 4; way++) {
    PlaFemOptions options = pla_fem_options_default();
    options.method = way == 1 ? PLA_SOLVER_NEWTON : way == 3 ? PLA_SOLVER_PBNG : PLA_SOLVER_AUTO;
    options.tolerance_rel = way >= 2 ? 1e-2 : 1e-6;
    options.warm_start = way == 1;
    memcpy(body.pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *body.pos);
    st = solve_body(bench, &body, options, &seconds[way], &report[way], err);
    for (int v = 0; way == 0 && v < mesh->n_verts; v++)
      most = fmax(most, fabs(body.pos[3 * (size_t)v + 1] - mesh->pos[3 * (size_t)v + 1]));
  }
  double alone = 0.0;
  if (st == PLA_OK && threads > 1) {
    PlaFemReport ignored;
    memcpy(body.pos, mesh->pos, 3 * (size_t)mesh->n_verts * sizeof *body.pos);
    pla_threads_set(1);
    st = solve_body(bench, &body, pla_fem_options_default(), &alone, &ignored, err);
    pla_threads_set(threads);
  }
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, found ? "armadillo-sag" : "armadillo-sag (a blob)", mesh->n_tets, 1,
                        seconds[0]);
    pla_bench_ratio(bench, "plain_newton_over_auto", seconds[1] / seconds[0]);
    pla_bench_ratio(bench, "sweeps_over_auto_to_1e-2", seconds[3] / seconds[2]);
    if (threads > 1)
      pla_bench_ratio(bench, "one_thread_over_all", alone / seconds[0]);
    pla_bench_number(bench, "iterations", report[0].iterations);
    pla_bench_number(bench, "plain_iterations", report[1].iterations);
    pla_bench_number(bench, "factorisations", report[0].factorisations);
    pla_bench_number(bench, "residual_rel", report[0].residual_rel);
    pla_bench_number(bench, "inverted", report[0].inverted);
    pla_bench_number(bench, "largest_drop_mm", 1e3 * most);
    pla_bench_number(bench, "rss_mib", pla_bench_peak_rss_mib());
    pla_bench_end_run(bench);
    if (report[0].reason != PLA_STOP_CONVERGED)
      st = pla_fail(err, PLA_ERR_CONVERGENCE, "the figure did not converge: %s",
                    pla_stop_reason_text(report[0].reason));
  }
  body_clear(&body);
  return st;
}

const PlaBenchmark pla_benchmark_armadillo_sag = {
  .name = "armadillo-sag",
  .summary = "a soft scanned figure (or a blob) sags on its feet",
  .run = run_armadillo,
};

/* ---- scatter ------------------------------------------------------------------------------ */

/* free vertices anywhere in a cube ten times as long as the bar */
static void
scatter(Body *body, guint32 seed)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
  for (int v = 0; v < body->mesh->n_verts; v++)
    for (int d = 0; d < 3; d++) {
      size_t at = 3 * (size_t)v + (size_t)d;
      double x = g_rand_double_range(rand, -0.45, 0.55);
      body->pos[at] = body->fixed[at] ? body->mesh->pos[at] : x;
    }
}

/* residual_rel at which the root of the mean square of the forces is 1e-4 mu h^2 */
static PlaStatus
scatter_tolerance(const Body *body, double *out, PlaError *err)
{
  const size_t n = 3 * (size_t)body->mesh->n_verts;
  const double mu = 1e4 / 2.6, h = cbrt(0.1 * 0.025 * 0.025 / (body->mesh->n_tets / 6.0));
  double *force = pla_array_new(n, sizeof *force);
  PlaStatus st =
      force ? pla_fem_forces(body->model, body->pos, force, err) : pla_fail_memory(err, "the bar");
  for (size_t i = 0; st == PLA_OK && i < n; i++)
    force[i] = body->fixed[i] ? 0.0 : force[i];
  if (st == PLA_OK)
    *out = 1e-4 * mu * h * h * sqrt((double)n) / pla_norm2(force, n);
  free(force);
  return st;
}

static PlaStatus
run_scatter(PlaBench *bench, PlaError *err)
{
  const double sizes[] = { 10000, 52728 };
  double asked = pla_bench_size(bench, 0.0);
  PlaStatus st = PLA_OK;
  for (size_t k = 0; st == PLA_OK && k < (asked > 0.0 ? 1 : G_N_ELEMENTS(sizes)); k++) {
    Body body;
    PlaFemReport report;
    double seconds = 0.0, error = 0.0;
    st = bar_init(&body, asked > 0.0 ? asked : sizes[k], 0.3, err);
    if (st == PLA_OK) {
      PlaFemOptions options = pla_fem_options_default();
      /* from the chaos itself: no better start */
      options.warm_start = true;
      scatter(&body, 1);
      int inverted = pla_fem_inverted(body.model, body.pos, NULL, NULL);
      st = scatter_tolerance(&body, &options.tolerance_rel, err);
      if (st == PLA_OK)
        st = solve_body(bench, &body, options, &seconds, &report, err);
      for (size_t i = 0; i < 3 * (size_t)body.mesh->n_verts; i++)
        error = fmax(error, fabs(body.pos[i] - body.mesh->pos[i]));
      if (st == PLA_OK) {
        pla_bench_begin_run(bench, "scatter", body.mesh->n_tets, 1, seconds);
        pla_bench_number(bench, "inverted_before", inverted);
        pla_bench_number(bench, "inverted", report.inverted);
        pla_bench_number(bench, "repair_iterations", report.repair_iterations);
        pla_bench_number(bench, "iterations", report.iterations);
        pla_bench_number(bench, "factorisations", report.factorisations);
        pla_bench_number(bench, "gave_up_start", report.gave_up_start);
        pla_bench_number(bench, "largest_error_mm", 1e3 * error);
        pla_bench_number(bench, "residual_rel", report.residual_rel);
        pla_bench_number(bench, "rss_mib", pla_bench_peak_rss_mib());
        pla_bench_end_run(bench);
        if (report.inverted > 0 || report.reason != PLA_STOP_CONVERGED)
          st = pla_fail(err, PLA_ERR_CONVERGENCE,
                        "the bar did not recover: %s, %d elements inverted",
                        pla_stop_reason_text(report.reason), report.inverted);
      }
    }
    body_clear(&body);
  }
  return st;
}

const PlaBenchmark pla_benchmark_scatter = {
  .name = "scatter",
  .summary = "a bar whose vertices were strewn about finds back to rest",
  .run = run_scatter,
};

/* ---- stiffness ---------------------------------------------------------------------------- */

typedef struct {
  PlaFemSystem system;
  const double *pos;
  bool project;
  const double *x;
  double *y;
} Assembly;

static PlaStatus
assemble(void *data, PlaError *err)
{
  Assembly *a = data;
  pla_fem_system_assemble(&a->system, a->pos, a->project, 0.0);
  return PLA_OK;
}

static PlaStatus
multiply(void *data, PlaError *err)
{
  Assembly *a = data;
  pla_block_matrix_mul(&a->system.matrix, a->x, a->y);
  return PLA_OK;
}

static PlaStatus
measure_orders(const PlaBlockMatrix *matrix, double seconds[2], double flops[2], PlaError *err)
{
  PlaStatus st = PLA_OK;
  for (int k = 0; st == PLA_OK && k < 2; k++) {
    PlaCholesky *factor = NULL;
    bool definite;
    st = pla_cholesky_new(matrix, k ? PLA_ORDER_METIS : PLA_ORDER_AMD, &factor, err);
    gint64 start = g_get_monotonic_time();
    if (st == PLA_OK)
      st = pla_cholesky_factor(factor, matrix, PLA_SINGLE, NULL, &definite, err);
    seconds[k] = (double)(g_get_monotonic_time() - start) * 1e-6;
    flops[k] = st == PLA_OK ? pla_cholesky_flops(factor) : 0.0;
    pla_cholesky_free(factor);
  }
  return st;
}

static PlaStatus
run_stiffness(PlaBench *bench, PlaError *err)
{
  const double sizes[] = { 5184, 41472 };
  double asked = pla_bench_size(bench, 0.0);
  const int repeats = pla_bench_repeats(bench, 3), threads = pla_threads_get();
  PlaStatus st = PLA_OK;
  for (size_t k = 0; st == PLA_OK && k < (asked > 0.0 ? 1 : G_N_ELEMENTS(sizes)); k++) {
    Body body;
    Assembly work = { 0 };
    double exact = 0.0, projected = 0.0, alone = 0.0, product = 0.0, order[2] = { 0 },
           flops[2] = { 0 };
    st = bar_init(&body, asked > 0.0 ? asked : sizes[k], 0.45, err);
    if (st == PLA_OK) {
      PlaFemConditions conditions = { body.fixed, body.target, NULL };
      st = pla_fem_system_init(&work.system, body.model, &conditions, NULL, err);
    }
    if (st == PLA_OK) {
      const size_t n = 3 * (size_t)work.system.n_blocks;
      double *x = pla_array_new0(n, sizeof *x), *y = pla_array_new0(n, sizeof *y);
      work.pos = body.mesh->pos;
      work.x = x;
      work.y = y;
      st = x && y ? pla_bench_time(bench, assemble, &work, repeats, &exact, err)
                  : pla_fail_memory(err, "the vectors");
      if (st == PLA_OK)
        st = pla_bench_time(bench, multiply, &work, repeats, &product, err);
      pla_fem_system_constrain(&work.system);
      /* AMD's factors of larger bodies would take all the time */
      if (st == PLA_OK && body.mesh->n_tets < 150000)
        st = measure_orders(&work.system.matrix, order, flops, err);
      work.project = true;
      if (st == PLA_OK)
        st = pla_bench_time(bench, assemble, &work, repeats, &projected, err);
      work.project = false;
      pla_threads_set(1);
      if (st == PLA_OK && threads > 1)
        st = pla_bench_time(bench, assemble, &work, repeats, &alone, err);
      pla_threads_set(threads);
      free(x);
      free(y);
    }
    if (st == PLA_OK) {
      pla_bench_begin_run(bench, "stiffness", body.mesh->n_tets, repeats, exact);
      pla_bench_ratio(bench, "projected_over_exact", projected / exact);
      if (threads > 1)
        pla_bench_ratio(bench, "one_thread_over_all", alone / exact);
      pla_bench_ratio(bench, "assembly_over_product", exact / product);
      if (order[1] > 0.0) {
        pla_bench_ratio(bench, "factor_over_assembly", order[1] / exact);
        pla_bench_ratio(bench, "amd_over_metis", order[0] / order[1]);
        pla_bench_ratio(bench, "amd_over_metis_flops", flops[0] / flops[1]);
      }
      /* one Newton iteration by plain conjugate gradients (Sifakis 2007: 2 to 3 s at 380k) */
      pla_bench_number(bench, "assembly_and_100_products_s", exact + 100.0 * product);
      pla_bench_number(bench, "million_tets_per_s", 1e-6 * body.mesh->n_tets / exact);
      pla_bench_end_run(bench);
    }
    pla_fem_system_clear(&work.system);
    body_clear(&body);
  }
  return st;
}

const PlaBenchmark pla_benchmark_stiffness = {
  .name = "stiffness",
  .summary = "assembly of the stiffness: exact and projected, one thread and all, AMD and METIS",
  .run = run_stiffness,
};

/* ---- frames ------------------------------------------------------------------------------- */

static PlaStatus
run_frames(PlaBench *bench, PlaError *err)
{
  enum { FRAMES = 40 };
  Body body;
  double total = 0.0, slowest = 0.0, newton = 0.0;
  int iterations = 0, factors = 0;
  const double asked = pla_bench_size(bench, 0.0);
  PlaStatus st = asked > 0.0 ? bar_init(&body, asked, 0.45, err)
                             : box_init(&body, (int[3]){ 30, 8, 7 }, 0.45, err);
  /* the far end goes up and down, 2 % of the extent a frame */
  for (int way = 0; st == PLA_OK && way < 2; way++) {
    PlaFemSolver *solver = NULL;
    PlaFemConditions conditions = { body.fixed, body.target, NULL };
    PlaFemOptions options = pla_fem_options_default();
    options.tolerance_rel = 1e-3;
    options.warm_start = true;
    options.progress = pla_bench_progress(bench);
    memcpy(body.pos, body.mesh->pos, 3 * (size_t)body.mesh->n_verts * sizeof *body.pos);
    if (way == 0)
      st = pla_fem_solver_new(body.model, &conditions, &solver, err);
    for (int frame = 1; st == PLA_OK && frame <= FRAMES; frame++) {
      double up = 0.02 * 0.1 * (frame <= FRAMES / 2 ? frame : FRAMES - frame);
      PlaFemReport report;
      for (int v = 0; v < body.mesh->n_verts; v++)
        if (body.mesh->pos[3 * (size_t)v] == 0.1)
          body.target[3 * (size_t)v + 2] = body.mesh->pos[3 * (size_t)v + 2] + up;
      gint64 start = g_get_monotonic_time();
      st = way == 0 ? pla_fem_solver_move(solver, &conditions, &options, body.pos, &report, err)
                    : pla_fem_solve(body.model, &conditions, &options, body.pos, &report, err);
      double seconds = (double)(g_get_monotonic_time() - start) * 1e-6;
      *(way == 0 ? &total : &newton) += seconds;
      if (way == 0) {
        slowest = fmax(slowest, seconds);
        iterations += report.iterations;
        factors += report.factorisations;
      }
      if (st == PLA_OK && report.reason != PLA_STOP_CONVERGED)
        st = report.reason == PLA_STOP_CANCELLED
                 ? pla_fail_cancelled(err)
                 : pla_fail(err, PLA_ERR_CONVERGENCE, "frame %d did not converge: %s", frame,
                            pla_stop_reason_text(report.reason));
    }
    pla_fem_solver_free(solver);
  }
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "frames", body.mesh->n_tets, FRAMES, total / FRAMES);
    pla_bench_ratio(bench, "from_scratch_over_kept_factor", newton / total);
    pla_bench_number(bench, "frames_per_s", FRAMES / total);
    pla_bench_number(bench, "slowest_frame_s", slowest);
    pla_bench_number(bench, "iterations_per_frame", (double)iterations / FRAMES);
    pla_bench_number(bench, "factorisations", factors);
    pla_bench_end_run(bench);
  }
  body_clear(&body);
  return st;
}

const PlaBenchmark pla_benchmark_frames = {
  .name = "frames",
  .summary = "a bar of 10k tets follows a boundary that moves 2 % of its length a frame, to 1e-3",
  .run = run_frames,
};

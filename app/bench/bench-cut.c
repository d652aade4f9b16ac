/* An incision of 100 mm: the cutter, the new surface, and bodies that grow around the same wound.
 */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/bench/bench-private.h"
#include "sim/cut/cut-mesh.h"
#include "sim/fem/colouring.h"
#include "sim/solve/pbng.h"
#include "sim/solve/solve.h"
#include "sim/solve/system.h"
#include "sim/surgery/surgery-live.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* a curtain along a gentle curve on the slab's surface, through its whole thickness */
typedef struct {
  PlaTriMesh mesh;
  double *pos;
  int *tri;
} Curtain;

/* with triangles of @cell_m, as tools make them */
static PlaStatus
curtain_init(Curtain *self, double depth_m, double cell_m, PlaError *err)
{
  const int along = (int)lround(0.1 / cell_m), down = (int)lround((depth_m + 0.002) / cell_m);
  const size_t n_verts = (size_t)(along + 1) * (size_t)(down + 1);
  self->pos = pla_array_new(n_verts, 3 * sizeof *self->pos);
  self->tri = pla_array_new((size_t)along * (size_t)down, 6 * sizeof *self->tri);
  if (!self->pos || !self->tri)
    return pla_fail_memory(err, "the blade");
  for (int j = 0; j <= down; j++)
    for (int i = 0; i <= along; i++) {
      double s = (double)i / along, *p = &self->pos[3 * (j * (along + 1) + i)];
      p[0] = 0.1 * (s - 0.5);
      p[1] = 0.0113 + 0.008 * sin(3.0 * s);
      p[2] = 0.001 - (depth_m + 0.002) * j / down;
    }
  int *t = self->tri;
  for (int j = 0; j < down; j++)
    for (int i = 0; i < along; i++) {
      int a = j * (along + 1) + i, b = a + 1, c = a + along + 1, d = c + 1;
      const int quad[6] = { a, b, d, a, d, c };
      for (int k = 0; k < 6; k++)
        *t++ = quad[k];
    }
  self->mesh = (PlaTriMesh){ (int)n_verts, 2 * along * down, self->pos, self->tri };
  return PLA_OK;
}

static void
curtain_clear(Curtain *self)
{
  free(self->pos);
  free(self->tri);
}

/* a slab of @thick_m with cubic cells of @cell_m, as large as it must be for about @size tets */
static PlaStatus
slab_mesh_new(double size, double thick_m, double cell_m, PlaMesh **out, PlaError *err)
{
  int nz = (int)lround(thick_m / cell_m), along = (int)lround(sqrt(size / (5.0 * nz)));
  /* longer than the incision, and then narrower than long */
  if (along * cell_m < 0.11)
    along = (int)ceil(0.11 / cell_m);
  const int n[3] = { along, (int)lround(size / (5.0 * nz * along)), nz };
  const double half[2] = { 0.5 * n[0] * cell_m, 0.5 * n[1] * cell_m };
  const double lo[3] = { -half[0], -half[1], -thick_m }, hi[3] = { half[0], half[1], 0.0 };
  return pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, out, err);
}

static PlaStatus
slab_new(double size, double thick_m, double cell_m, PlaCutMesh **out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  *out = NULL;
  PlaStatus st = slab_mesh_new(size, thick_m, cell_m, &mesh, err);
  if (st == PLA_OK) {
    PlaTetMesh tets = pla_mesh_tets(mesh);
    st = pla_cut_mesh_new(&tets, out, err);
  }
  pla_mesh_free(mesh);
  return st;
}

typedef struct {
  const PlaCutMesh *whole;
  const Curtain *blade;
  double cut_s, surface_s; /* least of all runs */
  double cpu_s;            /* of all threads in the cutter, which other programs disturb less */
  PlaCutReport report;
} Data;

static double
cpu_seconds(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static PlaStatus
incise(void *data, PlaError *err)
{
  Data *d = data;
  PlaCutMesh *mesh = NULL;
  PlaCutSurface surface;
  PlaStatus st = pla_cut_mesh_dup(d->whole, &mesh, err);
  const double cpu = cpu_seconds();
  if (st == PLA_OK)
    st = pla_cut_mesh_cut(mesh, &d->blade->mesh, NULL, &d->report, NULL, err);
  d->cpu_s = fmin(d->cpu_s, cpu_seconds() - cpu);
  gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_cut_mesh_surface(mesh, &surface, err);
  if (st == PLA_OK) {
    d->cut_s = fmin(d->cut_s, d->report.seconds[3]);
    d->surface_s = fmin(d->surface_s, (double)(g_get_monotonic_time() - start) * 1e-6);
    pla_cut_surface_clear(&surface);
  }
  pla_cut_mesh_free(mesh);
  return st;
}

/* best of the repeats: @cut_s and @surface_s in @d */
static PlaStatus
measure(PlaBench *bench, double size, double cell_m, int repeats, Data *d, int *n_tets,
        PlaError *err)
{
  const double thick_m = 0.012;
  PlaCutMesh *whole = NULL;
  Curtain blade = { .pos = NULL };
  double median;
  PlaStatus st = slab_new(size, thick_m, cell_m, &whole, err);
  if (st == PLA_OK)
    st = curtain_init(&blade, thick_m, cell_m, err);
  if (st == PLA_OK) {
    *n_tets = pla_cut_mesh_get(whole).mesh.n_tets;
    *d = (Data){
      .whole = whole, .blade = &blade, .cut_s = INFINITY, .surface_s = INFINITY, .cpu_s = INFINITY
    };
    st = pla_bench_time(bench, incise, d, repeats, &median, err);
  }
  curtain_clear(&blade);
  pla_cut_mesh_free(whole);
  return st;
}

/* ---- as a tool of the operating table ---- */

typedef struct {
  PlaSurgery *body;
  double incise_s, surface_s, shape_s, undo_s; /* least of all runs */
} Table;

static double
seconds_since(gint64 start)
{
  return (double)(g_get_monotonic_time() - start) * 1e-6;
}

/* the slab held at its bottom, soft as tissue */
static PlaStatus
table_init(Table *self, double size, PlaError *err)
{
  const double param[2] = { 15000.0, 0.45 };
  PlaMesh *mesh = NULL;
  PlaFemMaterial tissue = { .material = pla_material_find("neo-hookean"), .density = 1000.0 };
  *self = (Table){ NULL, INFINITY, INFINITY, INFINITY, INFINITY };
  PlaStatus st = tissue.material->prepare(param, tissue.constants, err);
  if (st == PLA_OK)
    st = slab_mesh_new(size, 0.012, 0.002, &mesh, err);
  if (st == PLA_OK) {
    g_autofree int *material = g_new0(int, (gsize)mesh->n_tets);
    g_autofree bool *held = g_new0(bool, (gsize)mesh->n_verts);
    for (int v = 0; v < mesh->n_verts; v++)
      held[v] = mesh->pos[3 * v + 2] < -0.0119;
    st = pla_surgery_new(mesh, &tissue, 1, material, held, &self->body, err);
  }
  pla_mesh_free(mesh);
  return st;
}

static void
incision_path(double path[3 * 26])
{
  for (int i = 0; i < 26; i++) {
    path[3 * i] = 0.1 * (i / 25.0 - 0.5);
    path[3 * i + 1] = 0.0113 + 0.008 * sin(3.0 * i / 25.0);
    path[3 * i + 2] = 0.0;
  }
}

/* incise, draw, pull a little, and back */
static PlaStatus
operate(void *data, PlaError *err)
{
  Table *d = data;
  PlaSurgery *before = NULL;
  PlaSurgeryLive *live = NULL;
  const PlaCutSurface *surface;
  const double *pos;
  double path[3 * 26];
  incision_path(path);
  const double at[3] = { 0.0, path[3 * 13 + 1] + 0.003, 0.0 }, pull[3] = { 0.0, 0.002, 0.001 };
  PlaStatus st = pla_surgery_dup(d->body, &before, err);
  gint64 start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_surgery_incise(d->body, "cut", path, 26, 0.0, 0.0, NULL, err);
  if (st == PLA_OK)
    d->incise_s = fmin(d->incise_s, seconds_since(start));
  start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_surgery_get_surface(d->body, &surface, &pos, err);
  if (st == PLA_OK)
    d->surface_s = fmin(d->surface_s, seconds_since(start));
  start = g_get_monotonic_time();
  if (st == PLA_OK)
    st = pla_surgery_live_new(d->body, at, &live, err);
  if (st == PLA_OK)
    st = pla_surgery_live_pull(live, pull, err);
  if (st == PLA_OK)
    st = pla_surgery_live_sweep(live, 1, err);
  if (st == PLA_OK)
    d->shape_s = fmin(d->shape_s, seconds_since(start));
  pla_surgery_live_free(live);
  start = g_get_monotonic_time();
  pla_surgery_settle(d->body, &before, PLA_ERR_CANCELLED);
  d->undo_s = fmin(d->undo_s, seconds_since(start));
  return st;
}

static PlaStatus
measure_table(PlaBench *bench, double size, int repeats, PlaError *err)
{
  Table table;
  double median;
  PlaStatus st = table_init(&table, size, err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, operate, &table, repeats, &median, err);
  if (st == PLA_OK) {
    const int n = pla_cut_mesh_get(pla_surgery_get_mesh(table.body)).mesh.n_tets;
    pla_bench_begin_run(bench, "tool", n, repeats, table.incise_s);
    pla_bench_number(bench, "surface_s", table.surface_s);
    pla_bench_number(bench, "next_shape_s", table.shape_s);
    pla_bench_number(bench, "undo_s", table.undo_s);
    pla_bench_end_run(bench);
  }
  pla_surgery_free(table.body);
  return st;
}

/* ---- what a solve can keep over a cut ---- */

typedef struct {
  double colour_s, sweep_s; /* finding or taking colours, and one sweep */
  double order_s, flops;    /* analysis, and operations of a factor */
  int n_colours;
} Kept;

/* the least of the repeats; with colours and the order handed on, or found again */
static PlaStatus
measure_kept(PlaSurgery *body, const PlaFemOrder *order, bool kept, int repeats, Kept *out,
             PlaError *err)
{
  const size_t n = (size_t)pla_cut_mesh_get(pla_surgery_get_mesh(body)).mesh.n_verts;
  g_autofree unsigned char *fixed = g_new(unsigned char, 3 * n);
  PlaFemModel *model = NULL;
  *out = (Kept){ INFINITY, INFINITY, INFINITY, 0.0, 0 };
  for (size_t i = 0; i < 3 * n; i++)
    fixed[i] = pla_surgery_get_held(body)[i / 3];
  const PlaFemConditions conditions = { .fixed = fixed, .target = pla_surgery_get_pos(body) };
  PlaStatus st = pla_surgery_build_model(body, &model, err);
  if (st == PLA_OK && !kept)
    g_clear_pointer(&model->colour, free);
  for (int r = 0; st == PLA_OK && r < repeats; r++) {
    PlaColouring colouring = { 0 };
    PlaFemSystem system = { 0 };
    PlaPbng *sweeps = NULL;
    const PlaPbngOptions options = pla_pbng_options_default();
    gint64 start = g_get_monotonic_time();
    st = pla_colouring_init(&colouring, model, err);
    out->colour_s = fmin(out->colour_s, seconds_since(start));
    out->n_colours = colouring.n_colours;
    if (st == PLA_OK)
      st = pla_pbng_new(model, &conditions, &options, pla_surgery_get_pos(body), &sweeps, err);
    start = g_get_monotonic_time();
    if (st == PLA_OK)
      pla_pbng_sweep(sweeps, 1);
    out->sweep_s = fmin(out->sweep_s, seconds_since(start));
    if (st == PLA_OK)
      st = pla_fem_system_init(&system, model, &conditions, NULL, err);
    pla_cholesky_free(system.factor);
    system.factor = NULL;
    /* a copy has the rank of what it was; never so bad that it is replaced */
    PlaFemOrder own = { .n_verts = (int)n, .flops = INFINITY };
    own.rank = kept ? pla_array_new(n, sizeof *own.rank) : NULL;
    for (size_t v = 0; own.rank && v < n; v++)
      own.rank[v] = order->rank[pla_cut_mesh_get(pla_surgery_get_mesh(body)).vert_source[v]];
    start = g_get_monotonic_time();
    if (st == PLA_OK)
      st = pla_fem_system_analyse(&system, &own, err);
    out->order_s = fmin(out->order_s, seconds_since(start));
    out->flops = st == PLA_OK ? pla_cholesky_flops(system.factor) : 0.0;
    pla_fem_order_clear(&own);
    pla_fem_system_clear(&system);
    pla_pbng_free(sweeps);
    pla_colouring_clear(&colouring);
  }
  pla_fem_model_free(model);
  return st;
}

/* the order that a solve of the body as it is would leave */
static PlaStatus
find_order(PlaSurgery *body, PlaFemOrder *order, PlaError *err)
{
  const size_t n = (size_t)pla_cut_mesh_get(pla_surgery_get_mesh(body)).mesh.n_verts;
  g_autofree unsigned char *fixed = g_new(unsigned char, 3 * n);
  PlaFemModel *model = NULL;
  PlaFemSystem system = { 0 };
  for (size_t i = 0; i < 3 * n; i++)
    fixed[i] = pla_surgery_get_held(body)[i / 3];
  const PlaFemConditions conditions = { .fixed = fixed, .target = pla_surgery_get_pos(body) };
  PlaStatus st = pla_surgery_build_model(body, &model, err);
  order->n_verts = (int)n;
  if (st == PLA_OK)
    st = pla_fem_system_init_ordered(&system, model, &conditions, NULL, order, err);
  pla_fem_system_clear(&system);
  pla_fem_model_free(model);
  return st;
}

/* finds an order for the whole slab, cuts it, and measures both ways on from there */
static PlaStatus
measure_survival(PlaBench *bench, double size, int repeats, PlaError *err)
{
  Table table;
  Kept kept, anew;
  PlaFemOrder order = { 0 };
  double path[3 * 26];
  incision_path(path);
  PlaStatus st = table_init(&table, size, err);
  if (st == PLA_OK)
    st = find_order(table.body, &order, err);
  if (st == PLA_OK)
    st = pla_surgery_incise(table.body, "cut", path, 26, 0.0, 0.0, NULL, err);
  if (st == PLA_OK)
    st = measure_kept(table.body, &order, false, repeats, &anew, err);
  if (st == PLA_OK)
    st = measure_kept(table.body, &order, true, repeats, &kept, err);
  if (st == PLA_OK) {
    const int n = pla_cut_mesh_get(pla_surgery_get_mesh(table.body)).mesh.n_tets;
    pla_bench_begin_run(bench, "kept over the cut", n, repeats, kept.colour_s + kept.order_s);
    pla_bench_ratio(bench, "anew_over_kept",
                    (anew.colour_s + anew.order_s) / (kept.colour_s + kept.order_s));
    pla_bench_ratio(bench, "flops_kept_over_anew", kept.flops / anew.flops);
    pla_bench_ratio(bench, "sweep_anew_over_kept", anew.sweep_s / kept.sweep_s);
    pla_bench_number(bench, "colours_kept", kept.n_colours);
    pla_bench_number(bench, "colours_anew", anew.n_colours);
    pla_bench_number(bench, "colouring_anew_s", anew.colour_s);
    pla_bench_number(bench, "order_kept_s", kept.order_s);
    pla_bench_number(bench, "order_anew_s", anew.order_s);
    pla_bench_number(bench, "sweep_kept_s", kept.sweep_s);
    pla_bench_end_run(bench);
  }
  pla_fem_order_clear(&order);
  pla_surgery_free(table.body);
  return st;
}

static PlaStatus
run_cut(PlaBench *bench, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 5), threads = pla_threads_get();
  const double size = pla_bench_size(bench, 1e5);
  Data one, all;
  int n = 0;
  pla_threads_set(1);
  PlaStatus st = measure(bench, size, 0.002, repeats, &one, &n, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = measure(bench, size, 0.002, repeats, &all, &n, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, "incision", n, repeats, all.cut_s);
    pla_bench_ratio(bench, "one_thread_over_all", one.cut_s / all.cut_s);
    pla_bench_number(bench, "tets_touched", all.report.n_touched);
    pla_bench_number(bench, "surface_s", all.surface_s);
    pla_bench_number(bench, "us_per_touched_tet", 1e6 * all.cut_s / all.report.n_touched);
    pla_bench_number(bench, "find_s", all.report.seconds[0]);
    pla_bench_number(bench, "part_s", all.report.seconds[1]);
    pla_bench_number(bench, "connect_s", all.report.seconds[2]);
    pla_bench_end_run(bench);
    st = measure_table(bench, size, repeats, err);
  }
  for (int i = 1; st == PLA_OK && i <= 3; i += 2)
    st = measure_survival(bench, i * size, repeats, err);
  return st;
}

static PlaStatus
run_scaling(PlaBench *bench, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 5);
  const double sizes[] = { 5e4, 1e5, 2e5, 5e5, 1e6 };
  const double cells[] = { 0.004, 0.003, 0.002, 0.0015 };
  Data d;
  int n;
  double first = 0.0, first_cpu = 0.0;
  PlaStatus st = PLA_OK;
  /* the body grows around the same wound */
  for (int i = 0; st == PLA_OK && i < 5; i++) {
    st = measure(bench, sizes[i], 0.002, repeats, &d, &n, err);
    if (st != PLA_OK)
      break;
    if (i == 0) {
      first = d.cut_s;
      first_cpu = d.cpu_s;
    }
    pla_bench_begin_run(bench, "larger body", n, repeats, d.cut_s);
    pla_bench_ratio(bench, "over_smallest_body", d.cut_s / first);
    pla_bench_ratio(bench, "cpu_over_smallest_body", d.cpu_s / first_cpu);
    pla_bench_number(bench, "tets_touched", d.report.n_touched);
    pla_bench_end_run(bench);
  }
  /* the mesh gets finer */
  for (int i = 0; st == PLA_OK && i < 4; i++) {
    st = measure(bench, 1e5, cells[i], repeats, &d, &n, err);
    if (st != PLA_OK)
      break;
    double each = d.cut_s / d.report.n_touched, each_cpu = d.cpu_s / d.report.n_touched;
    if (i == 0) {
      first = each;
      first_cpu = each_cpu;
    }
    pla_bench_begin_run(bench, "finer mesh", n, repeats, d.cut_s);
    pla_bench_ratio(bench, "per_touched_tet_over_coarsest", each / first);
    pla_bench_ratio(bench, "cpu_per_touched_tet_over_coarsest", each_cpu / first_cpu);
    pla_bench_number(bench, "tets_touched", d.report.n_touched);
    pla_bench_end_run(bench);
  }
  return st;
}

const PlaBenchmark pla_benchmark_cut = {
  .name = "cut",
  .summary = "an incision of 100 mm through a slab: cutter, new surface, next shape, undo",
  .run = run_cut,
};

const PlaBenchmark pla_benchmark_cut_scaling = {
  .name = "cut-scaling",
  .summary = "the same incision in larger bodies and finer meshes",
  .run = run_scaling,
};

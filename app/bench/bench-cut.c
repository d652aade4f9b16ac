/* An incision of 100 mm: the cutter, the new surface, and bodies that grow around the same wound.
 */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/box-mesh.h"
#include "app/bench/bench-private.h"
#include "sim/cut/cut-mesh.h"

#include <math.h>
#include <stdlib.h>

/* a curtain along a gentle curve on the slab's surface, through its whole thickness */
typedef struct {
  PlaTriMesh mesh;
  double *pos;
  int *tri;
} Curtain;

enum { ALONG = 50, DOWN = 8 };

static PlaStatus
curtain_init(Curtain *self, double depth_m, PlaError *err)
{
  self->pos = pla_array_new(3 * (ALONG + 1) * (DOWN + 1), sizeof *self->pos);
  self->tri = pla_array_new(6 * ALONG * DOWN, sizeof *self->tri);
  if (!self->pos || !self->tri)
    return pla_fail_memory(err, "the blade");
  for (int j = 0; j <= DOWN; j++)
    for (int i = 0; i <= ALONG; i++) {
      double s = (double)i / ALONG, *p = &self->pos[3 * (j * (ALONG + 1) + i)];
      p[0] = 0.1 * (s - 0.5);
      p[1] = 0.0113 + 0.008 * sin(3.0 * s);
      p[2] = 0.001 - (depth_m + 0.002) * j / DOWN;
    }
  int *t = self->tri;
  for (int j = 0; j < DOWN; j++)
    for (int i = 0; i < ALONG; i++) {
      int a = j * (ALONG + 1) + i, b = a + 1, c = a + ALONG + 1, d = c + 1;
      const int quad[6] = { a, b, d, a, d, c };
      for (int k = 0; k < 6; k++)
        *t++ = quad[k];
    }
  self->mesh = (PlaTriMesh){ (ALONG + 1) * (DOWN + 1), 2 * ALONG * DOWN, self->pos, self->tri };
  return PLA_OK;
}

static void
curtain_clear(Curtain *self)
{
  free(self->pos);
  free(self->tri);
}

/* a slab of @thick_m with cubic cells of @cell_m, as wide as it must be for about @size tets */
static PlaStatus
slab_new(double size, double thick_m, double cell_m, PlaCutMesh **out, PlaError *err)
{
  PlaMesh *mesh = NULL;
  *out = NULL;
  int nz = (int)lround(thick_m / cell_m), across = (int)lround(sqrt(size / (5.0 * nz)));
  if (across * cell_m < 0.11)
    across = (int)ceil(0.11 / cell_m);
  const int n[3] = { across, across, nz };
  const double half = 0.5 * across * cell_m;
  const double lo[3] = { -half, -half, -thick_m }, hi[3] = { half, half, 0.0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_5, &mesh, err);
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
  double cut_s, surface_s; /* of the last run */
  PlaCutReport report;
} Data;

static PlaStatus
incise(void *data, PlaError *err)
{
  Data *d = data;
  PlaCutMesh *mesh = NULL;
  PlaCutSurface surface;
  PlaStatus st = pla_cut_mesh_dup(d->whole, &mesh, err);
  if (st == PLA_OK)
    st = pla_cut_mesh_cut(mesh, NULL, &d->blade->mesh, NULL, &d->report, NULL, err);
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
    st = curtain_init(&blade, thick_m, err);
  if (st == PLA_OK) {
    *n_tets = pla_cut_mesh_get(whole).mesh.n_tets;
    *d = (Data){ .whole = whole, .blade = &blade, .cut_s = INFINITY, .surface_s = INFINITY };
    st = pla_bench_time(bench, incise, d, repeats, &median, err);
  }
  curtain_clear(&blade);
  pla_cut_mesh_free(whole);
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
    pla_bench_end_run(bench);
  }
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
  double first = 0.0;
  PlaStatus st = PLA_OK;
  /* the body grows around the same wound */
  for (int i = 0; st == PLA_OK && i < 5; i++) {
    st = measure(bench, sizes[i], 0.002, repeats, &d, &n, err);
    if (st != PLA_OK)
      break;
    if (i == 0)
      first = d.cut_s;
    pla_bench_begin_run(bench, "larger body", n, repeats, d.cut_s);
    pla_bench_ratio(bench, "over_smallest_body", d.cut_s / first);
    pla_bench_number(bench, "tets_touched", d.report.n_touched);
    pla_bench_end_run(bench);
  }
  /* the mesh gets finer */
  for (int i = 0; st == PLA_OK && i < 4; i++) {
    st = measure(bench, 1e5, cells[i], repeats, &d, &n, err);
    if (st != PLA_OK)
      break;
    double each = d.cut_s / d.report.n_touched;
    if (i == 0)
      first = each;
    pla_bench_begin_run(bench, "finer mesh", n, repeats, d.cut_s);
    pla_bench_ratio(bench, "per_touched_tet_over_coarsest", each / first);
    pla_bench_number(bench, "tets_touched", d.report.n_touched);
    pla_bench_end_run(bench);
  }
  return st;
}

const PlaBenchmark pla_benchmark_cut = {
  .name = "cut",
  .summary = "an incision of 100 mm through a slab: cutter and new surface",
  .run = run_cut,
};

const PlaBenchmark pla_benchmark_cut_scaling = {
  .name = "cut-scaling",
  .summary = "the same incision in larger bodies and finer meshes",
  .run = run_scaling,
};

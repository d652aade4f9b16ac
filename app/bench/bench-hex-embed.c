/* Hexahedral embeddings of surfaces that cross themselves, at two sizes, on one thread and on all:
 * hexes per second, how time grows with size, and the memory at the peak. */
#include "anatomy/base/parallel.h"
#include "anatomy/embed/hex-embed.h"
#include "anatomy/phantom/phantom.h"
#include "app/bench/bench-private.h"

#include <glib.h>
#include <math.h>

typedef struct {
  PlaTriMesh surface;
  PlaHexEmbedOptions opts;
  PlaHexEmbed mesh;
  PlaHexEmbedReport report;
} Data;

static PlaStatus
run_embed(void *data, PlaError *err)
{
  Data *d = data;
  pla_hex_embed_clear(&d->mesh);
  return pla_hex_embed(&d->surface, &d->opts, NULL, &d->mesh, &d->report, err);
}

/* size of a cell that gives about @n hexes: those inside, and three for every four cell faces of
 * the surface */
static double
cell_for(const PlaMeshSummary *s, double n)
{
  double lo = 1e-6, hi = 1.0;
  for (int k = 0; k < 60; k++) {
    const double h = sqrt(lo * hi);
    if (s->volume_m3 / (h * h * h) + 0.75 * s->area_m2 / (h * h) > n)
      lo = h;
    else
      hi = h;
  }
  return lo;
}

static PlaStatus
measure(PlaBench *bench, const char *name, double spacing_mm, double size, double *s_per_hex,
        PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 1), threads = pla_threads_get();
  PlaPhantom phantom = { 0 };
  PlaMeshSummary summary;
  Data d = { .opts = pla_hex_embed_options_default() };
  double one = 0.0, all = 0.0, before = 0.0, peak = 0.0;
  PlaStatus st = pla_phantom_make(name, spacing_mm, NULL, &phantom, err);
  if (st == PLA_OK)
    st = pla_mesh_summary(phantom.mesh, &summary, err);
  if (st == PLA_OK) {
    d.surface = pla_mesh_tris(phantom.mesh);
    d.opts.cell_m = cell_for(&summary, size);
    pla_threads_set(1);
    before = pla_bench_reset_peak();
    st = pla_bench_time(bench, run_embed, &d, repeats, &one, err);
    peak = pla_bench_peak();
    pla_threads_set(threads);
  }
  if (st == PLA_OK && threads > 1)
    st = pla_bench_time(bench, run_embed, &d, repeats, &all, err);
  if (st == PLA_OK) {
    const double n = d.mesh.mesh->n_hexes;
    all = threads > 1 ? all : one;
    pla_bench_begin_run(bench, name, n, repeats, one);
    pla_bench_ratio(bench, "one_thread_over_all", one / all);
    if (*s_per_hex > 0.0)
      pla_bench_ratio(bench, "time_per_hex_over_smaller", one / n / *s_per_hex);
    pla_bench_number(bench, "khex_per_s_one_thread", n / one * 1e-3);
    pla_bench_number(bench, "khex_per_s", n / all * 1e-3);
    pla_bench_number(bench, "cell_mm", 1000.0 * d.opts.cell_m);
    pla_bench_number(bench, "triangles", d.surface.n_tris);
    pla_bench_number(bench, "crossed_cells", d.report.crossed_cells);
    pla_bench_number(bench, "duplicated_cells", d.report.duplicated_cells);
    pla_bench_number(bench, "components", d.report.components);
    pla_bench_number(bench, "winding_violations", d.report.winding_violations);
    pla_bench_number(bench, "peak_bytes_per_hex", (peak - before) / n);
    pla_bench_end_run(bench);
    *s_per_hex = one / n;
  }
  pla_hex_embed_clear(&d.mesh);
  pla_phantom_clear(&phantom);
  return st;
}

static PlaStatus
run_hex_embed(PlaBench *bench, PlaError *err)
{
  static const struct {
    const char *name;
    double spacing_mm;
  } cases[] = { { "crossing-boxes", 5 }, { "nested-boxes", 5 }, { "moebius-pair", 2 },
                { "crossed-lips", 1 },   { "c-ring", 2 },       { "spiral", 2 } };
  const double asked = pla_bench_size(bench, 0.0), sizes[2] = { 250e3, 1.5e6 };
  PlaStatus st = PLA_OK;
  for (size_t c = 0; c < G_N_ELEMENTS(cases) && st == PLA_OK; c++) {
    double s_per_hex = 0.0;
    for (int k = 0; k < (asked > 0.0 ? 1 : 2) && st == PLA_OK; k++)
      st = measure(bench, cases[c].name, cases[c].spacing_mm, asked > 0.0 ? asked : sizes[k],
                   &s_per_hex, err);
  }
  return st;
}

const PlaBenchmark pla_benchmark_hex_embed = {
  .name = "hex-embed",
  .summary = "hexahedral embeddings of surfaces that cross themselves, 250k and 1.5M hexes",
  .run = run_hex_embed,
};

/* Lattice embeddings of the head phantom's soft tissue: from its level set, with equal elements and
 * with larger ones inside, and from its surface. */
#include "anatomy/base/parallel.h"
#include "anatomy/embed/lattice-embed.h"
#include "anatomy/phantom/phantom.h"
#include "anatomy/surface/surface.h"
#include "app/bench/bench-private.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  const PlaLevelSet *ls;
  const PlaMesh *surface;
  PlaLatticeOptions opts;
  PlaLatticeEmbedding *embedding;
  int n_outside;
} Data;

static PlaStatus
run_embed(void *data, PlaError *err)
{
  Data *d = data;
  pla_lattice_embedding_free(d->embedding);
  d->embedding = NULL;
  return pla_lattice_from_levelset(d->ls, &d->opts, NULL, NULL, NULL, &d->embedding, err);
}

static PlaStatus
run_points(void *data, PlaError *err)
{
  Data *d = data;
  PlaEmbedding points;
  PlaStatus st = pla_lattice_embed_points(d->embedding, d->surface->n_verts, d->surface->pos, NULL,
                                          &points, &d->n_outside, err);
  if (st == PLA_OK)
    pla_embedding_clear(&points);
  return st;
}

static PlaStatus
run_surface(void *data, PlaError *err)
{
  Data *d = data;
  const PlaTriMesh tris = pla_mesh_tris(d->surface);
  PlaEmbedding points;
  pla_lattice_embedding_free(d->embedding);
  d->embedding = NULL;
  PlaStatus st = pla_lattice_from_surface(&tris, d->opts.cell, NULL, &d->embedding, &points, err);
  if (st == PLA_OK)
    pla_embedding_clear(&points);
  return st;
}

static PlaStatus
measure(PlaBench *bench, const char *label, PlaBenchFunc func, Data *d, double n, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 1), threads = pla_threads_get();
  double one, all;
  /* the memory of the run before is no part of this one's */
  if (func != run_points) {
    pla_lattice_embedding_free(d->embedding);
    d->embedding = NULL;
  }
  const double before = pla_bench_reset_peak();
  pla_threads_set(1);
  PlaStatus st = pla_bench_time(bench, func, d, repeats, &one, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = pla_bench_time(bench, func, d, repeats, &all, err);
  if (st != PLA_OK)
    return st;
  n = n > 0.0 ? n : d->embedding->n_elems;
  pla_bench_begin_run(bench, label, n, repeats, all);
  pla_bench_ratio(bench, "one_thread_over_all", one / all);
  pla_bench_number(bench, "per_s", n / all);
  pla_bench_number(bench, "per_s_one_thread", n / one);
  pla_bench_number(bench, "peak_bytes_per_element", (pla_bench_peak() - before) / n);
  pla_bench_number(bench, "duplicated_cells", pla_lattice_n_duplicated(d->embedding));
  pla_bench_number(bench, "bound_vertices", d->embedding->n_verts - d->embedding->n_free);
  pla_bench_end_run(bench);
  return PLA_OK;
}

static PlaStatus
run_lattice(PlaBench *bench, PlaError *err)
{
  /* skin, fat, soft tissue, tongue, lips */
  const int ids[] = { 1, 2, 3, 17, 19, 20 };
  const double spacing_mm = pla_bench_size(bench, 1.5);
  PlaLabelLevelSetOptions lo = pla_label_levelset_options_default();
  PlaPhantom phantom = { 0 };
  PlaLevelSet *ls = NULL;
  PlaMesh *surface = NULL;
  Data d = { .opts = pla_lattice_options_default() };
  PlaStatus st = pla_phantom_make("head", spacing_mm, NULL, &phantom, err);
  if (st == PLA_OK)
    st = pla_levelset_from_labels(phantom.labels, ids, 6, &lo, NULL, &ls, NULL, err);
  if (st == PLA_OK)
    st = pla_surface_from_levelset(ls, &surface, err);
  d.ls = ls;
  d.surface = surface;
  const struct {
    const char *label;
    double cell;
    int coarsen;
  } runs[] = { { "elements, 6 mm cells", 0.006, 0 },
               { "elements, 3 mm cells", 0.003, 0 },
               { "elements, 3 mm cells, two doublings inside", 0.003, 2 } };
  for (size_t r = 0; st == PLA_OK && r < sizeof runs / sizeof *runs; r++) {
    d.opts.cell = runs[r].cell;
    d.opts.coarsen = runs[r].coarsen;
    st = measure(bench, runs[r].label, run_embed, &d, 0.0, err);
  }
  if (st == PLA_OK)
    st = measure(bench, "surface vertices", run_points, &d, surface->n_verts, err);
  d.opts.cell = 0.006;
  if (st == PLA_OK)
    st = measure(bench, "elements from the surface, 6 mm cells", run_surface, &d, 0.0, err);
  pla_lattice_embedding_free(d.embedding);
  pla_mesh_free(surface);
  pla_levelset_free(ls);
  pla_phantom_clear(&phantom);
  return st;
}

const PlaBenchmark pla_benchmark_lattice = {
  .name = "lattice-embed",
  .summary = "lattice embeddings of the head phantom: level set, surface points, exact surface",
  .run = run_lattice,
};

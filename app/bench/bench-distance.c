/* Distances of a label: the transform of its voxels on a straight and a sheared grid, and the
 * smooth level set that surfaces and meshes start from. */
#include "anatomy/base/memory.h"
#include "anatomy/base/parallel.h"
#include "anatomy/levelset/levelset.h"
#include "anatomy/volume/distance-transform.h"
#include "app/bench/bench-private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int dims[3];
  double affine[12];
  uint8_t *mask;
  float *dist2;
  PlaLabelMap *map; /* borrows the mask */
  double band_mm;
  PlaLevelSet *ls;
} Data;

static PlaStatus
run_transform(void *data, PlaError *err)
{
  Data *d = data;
  return pla_distance_transform(d->dims, d->affine, d->mask, true, INFINITY, NULL, d->dist2, err);
}

static PlaStatus
run_levelset(void *data, PlaError *err)
{
  Data *d = data;
  PlaLabelLevelSetOptions opts = pla_label_levelset_options_default();
  const int id = 1;
  opts.band_mm = d->band_mm;
  opts.margin_mm = INFINITY;
  pla_levelset_free(d->ls);
  d->ls = NULL;
  return pla_levelset_from_labels(d->map, &id, 1, &opts, NULL, &d->ls, NULL, err);
}

static PlaStatus
run_redistance(void *data, PlaError *err)
{
  Data *d = data;
  return pla_levelset_redistance(d->ls, d->band_mm, NULL, err);
}

static PlaStatus
measure(PlaBench *bench, const char *label, PlaBenchFunc func, Data *d, PlaError *err)
{
  const int repeats = pla_bench_repeats(bench, 3), threads = pla_threads_get();
  const double n = (double)d->dims[0] * d->dims[1] * d->dims[2];
  double one, all;
  const double before = pla_bench_reset_peak();
  pla_threads_set(1);
  /* once before the clock runs: new memory comes in page by page */
  PlaStatus st = func(d, err);
  if (st == PLA_OK)
    st = pla_bench_time(bench, func, d, repeats, &one, err);
  pla_threads_set(threads);
  if (st == PLA_OK)
    st = pla_bench_time(bench, func, d, repeats, &all, err);
  if (st == PLA_OK) {
    pla_bench_begin_run(bench, label, n, repeats, all);
    pla_bench_ratio(bench, "one_thread_over_all", one / all);
    pla_bench_number(bench, "mvoxel_per_s", n / all * 1e-6);
    pla_bench_number(bench, "mvoxel_per_s_one_thread", n / one * 1e-6);
    pla_bench_number(bench, "peak_bytes_per_voxel", (pla_bench_peak() - before) / n);
    pla_bench_end_run(bench);
  }
  return st;
}

static PlaStatus
run_distance(PlaBench *bench, PlaError *err)
{
  const int side = (int)cbrt(pla_bench_size(bench, 160.0 * 160.0 * 160.0));
  const int dims[4] = { side, side, side, 1 };
  const double straight[12] = { 0.9, 0, 0, 0, 0, 0.9, 0, 0, 0, 0, 1.5, 0 };
  const double tilted[12] = { 0.9, 0, 0, 0, 0, 0.9, 0.4, 0, 0, 0, 1.45, 0 };
  const double skew[12] = { 0.9, 0.1, 0.1, 0, 0.05, 0.9, 0.4, 0, 0, 0.1, 1.45, 0 };
  PlaVolume *vol = NULL;
  Data d = { .dims = { side, side, side }, .band_mm = 6.0 };
  PlaStatus st = pla_volume_new(dims, PLA_U8, &vol, err);
  if (st == PLA_OK) {
    /* a dented ball */
    d.mask = vol->voxels;
    for (int k = 0; k < side; k++)
      for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
          double x = 2.0 * i / side - 1.0, y = 2.0 * j / side - 1.0, z = 2.0 * k / side - 1.0;
          d.mask[(size_t)i + (size_t)side * ((size_t)j + (size_t)side * (size_t)k)] =
              sqrt(x * x + y * y + z * z) < 0.7 + 0.1 * sin(9.0 * x) * sin(7.0 * y) * sin(8.0 * z);
        }
    memcpy(vol->affine_mm, straight, sizeof straight);
    st = pla_label_map_take(vol, NULL, &d.map, err);
    if (st == PLA_OK)
      vol = NULL;
  }
  if (st == PLA_OK) {
    d.dist2 = pla_array_new(pla_volume_n_voxels(d.map->volume), sizeof *d.dist2);
    if (!d.dist2)
      st = pla_fail_memory(err, "distances");
  }
  const struct {
    const char *label;
    const double *affine;
    PlaBenchFunc func;
    double band_mm;
  } runs[] = {
    { "distance transform, straight grid", straight, run_transform, INFINITY },
    { "distance transform, tilted gantry", tilted, run_transform, INFINITY },
    { "distance transform, skew grid", skew, run_transform, INFINITY },
    { "smooth level set, band", straight, run_levelset, 6.0 },
    { "redistancing, band", straight, run_redistance, 6.0 },
    { "redistancing, whole grid", straight, run_redistance, INFINITY },
    { "redistancing, whole skew grid", skew, run_redistance, INFINITY },
  };
  for (size_t r = 0; st == PLA_OK && r < sizeof runs / sizeof *runs; r++) {
    memcpy(d.affine, runs[r].affine, sizeof d.affine);
    if (d.ls && runs[r].func == run_redistance) {
      memcpy(d.ls->affine_mm, d.affine, sizeof d.affine);
      if (!pla_affine_invert(d.affine, d.ls->inverse_mm))
        st = pla_fail(err, PLA_ERR_GEOMETRY, "The benchmark's affine is singular");
    }
    d.band_mm = runs[r].band_mm;
    if (st == PLA_OK)
      st = measure(bench, runs[r].label, runs[r].func, &d, err);
  }
  pla_levelset_free(d.ls);
  pla_label_map_free(d.map);
  pla_volume_free(vol);
  free(d.dist2);
  return st;
}

const PlaBenchmark pla_benchmark_distance = {
  .name = "distance",
  .summary = "distance transforms on straight and sheared grids, level sets of labels",
  .run = run_distance,
};

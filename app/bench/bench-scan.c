/* From a CT of 512 x 512 x 600 int16 to tissues, a surface and a mesh: time and the largest memory
 * of each step, beside the volume itself.
 *
 * The scan is in memory when a step starts, so "peak_mib" is what the step's user needs: the volume
 * or label map, and what the step takes on top. */
#include "anatomy/segment/segment.h"
#include "anatomy/surface/surface.h"
#include "app/bench/bench-private.h"
#include "app/simulate/mesh-method.h"

#include <glib.h>

typedef struct {
  PlaVolume *volume;
  PlaLabelMap *labels;
  PlaMesh *surface;
  int n_tets;
  PlaProgress *progress;
} Scan;

static PlaStatus
run_segment(void *data, PlaError *err)
{
  Scan *scan = data;
  PlaSegmentOptions opts = pla_segment_options_default();
  opts.preset = "ct-head";
  return pla_segment(scan->volume, &opts, scan->progress, &scan->labels, NULL, err);
}

/* the id of a label; 0: there is none */
static int
find_label(const Scan *scan, const char *name)
{
  const PlaLabel *label = pla_label_table_find_name(&scan->labels->table, name);
  return label ? label->id : 0;
}

static PlaStatus
run_surface(void *data, PlaError *err)
{
  Scan *scan = data;
  const int bone = find_label(scan, "bone");
  const PlaSurfaceOptions opts = pla_surface_options_default();
  if (bone <= 0)
    return pla_fail(err, PLA_ERR_EMPTY, "no bone was found");
  return pla_surface_from_labels(scan->labels, &bone, 1, &opts, scan->progress, &scan->surface,
                                 NULL, err);
}

static PlaStatus
run_mesh(void *data, PlaError *err)
{
  Scan *scan = data;
  const int id = find_label(scan, "soft tissue");
  const int first[2] = { 0, 1 };
  const PlaMeshMethod *method;
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  pla_mesh_result_init(&result);
  PlaStatus st = pla_mesh_method_find("tets", &method, err);
  input.labels = scan->labels;
  input.ids = &id;
  input.first = first;
  input.n_groups = 1;
  input.cell_mm = 6.0;
  if (st == PLA_OK)
    st = pla_mesh_method_run(method, &input, scan->progress, &result, err);
  scan->n_tets = st == PLA_OK ? result.mesh->n_tets : 0;
  pla_mesh_result_clear(&result);
  return st;
}

static PlaStatus
run_scan(PlaBench *bench, PlaError *err)
{
  static const struct {
    const char *label;
    PlaBenchFunc run;
  } steps[] = {
    { "segment 512 x 512 x SIZE by the preset ct-head", run_segment },
    { "the surface of its bone", run_surface },
    { "tets of its soft tissue, cells of 6 mm", run_mesh },
  };
  Scan scan = { .progress = pla_bench_progress(bench) };
  const int n_slices = (int)pla_bench_size(bench, 600.0);
  PlaStatus st = pla_bench_make_head(n_slices, &scan.volume, err);
  const double mib = st == PLA_OK ? (double)pla_volume_n_bytes(scan.volume) / 1048576.0 : 0.0;
  for (size_t i = 0; i < G_N_ELEMENTS(steps) && st == PLA_OK; i++) {
    double seconds = 0.0;
    pla_bench_reset_peak();
    /* once: a second run would find its result there already */
    st = pla_bench_time(bench, steps[i].run, &scan, 1, &seconds, err);
    if (st != PLA_OK)
      break;
    const double peak = pla_bench_peak() / 1048576.0;
    pla_bench_begin_run(bench, steps[i].label, n_slices, 1, seconds);
    pla_bench_ratio(bench, "peak_over_volume", peak / mib);
    pla_bench_number(bench, "peak_mib", peak);
    pla_bench_number(bench, "volume_mib", mib);
    if (scan.n_tets > 0)
      pla_bench_number(bench, "tets", scan.n_tets);
    pla_bench_end_run(bench);
    if (i == 0) { /* the labels are what is worked on from here */
      pla_volume_free(scan.volume);
      scan.volume = NULL;
    }
  }
  pla_volume_free(scan.volume);
  pla_label_map_free(scan.labels);
  pla_mesh_free(scan.surface);
  return st;
}

const PlaBenchmark pla_benchmark_scan = {
  .name = "scan",
  .summary = "time and memory of segmenting, surfacing and meshing a large CT",
  .run = run_scan,
};

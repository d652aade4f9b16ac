/* A CT of 512 x 512 x 600 int16: reading its .nii.gz, and importing it into a case, against what
 * nobody can avoid: `zcat` of the file into memory and a copy.
 *
 * The scan is made here: an elliptic head of soft tissue with a bony shell in air, and Gaussian
 * noise of 12 HU, which is what makes real scans hard to compress. */
#include "anatomy/volume/volume.h"
#include "app/bench/bench-private.h"
#include "io/formats/format.h"
#include "io/store/store.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *folder, *gz, *case_path;
  size_t n_bytes; /* of the volume */
  PlaItem item;   /* what was read last */
} Scan;

/* roughly normal: the sum of four uniform bytes, centred, unit variance */
static double
noise(uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  uint64_t bits = *state >> 32;
  double sum = (double)(bits & 255) + (double)(bits >> 8 & 255) + (double)(bits >> 16 & 255) +
               (double)(bits >> 24 & 255);
  return (sum - 510.0) / 147.8;
}

static void
fill_head(PlaVolume *vol)
{
  const int nx = vol->dims[0], ny = vol->dims[1], nz = vol->dims[2];
  int16_t *voxels = vol->voxels;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < nz; k++) {
    uint64_t state = (uint64_t)k * 77777 + 1;
    for (int j = 0; j < ny; j++)
      for (int i = 0; i < nx; i++) {
        double x = (i - nx / 2) / (0.42 * nx), y = (j - ny / 2) / (0.47 * ny);
        double z = (k - nz / 2) / (0.55 * nz), r = sqrt(x * x + y * y + z * z);
        double hu = r > 1.0 ? -1000.0 : r > 0.92 ? 40.0 : r > 0.84 ? 900.0 : 35.0;
        voxels[((size_t)k * (size_t)ny + (size_t)j) * (size_t)nx + (size_t)i] =
            (int16_t)lrint(hu + (r > 1.0 ? 4.0 : 12.0) * noise(&state));
      }
  }
}

PlaStatus
pla_bench_make_head(int n_slices, PlaVolume **out, PlaError *err)
{
  const int dims[4] = { 512, 512, n_slices, 1 };
  PlaStatus st = pla_volume_new(dims, PLA_I16, out, err);
  if (st != PLA_OK)
    return st;
  fill_head(*out);
  const double spacing_mm[3] = { 0.45, 0.45, 0.4 };
  for (int d = 0; d < 3; d++)
    (*out)->affine_mm[5 * d] = spacing_mm[d];
  (*out)->audit.source = PLA_FRAME_MADE;
  return PLA_OK;
}

static PlaStatus
scan_init(Scan *scan, int n_slices, PlaError *err)
{
  PlaWriteOptions write = pla_write_options_default();
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  scan->folder = g_dir_make_tmp("platysma-bench-XXXXXX", NULL);
  if (!scan->folder)
    return pla_fail(err, PLA_ERR_IO, "no temporary folder can be made; set TMPDIR");
  scan->gz = g_build_filename(scan->folder, "scan.nii.gz", NULL);
  scan->case_path = g_build_filename(scan->folder, "scan.platysma", NULL);
  PlaStatus st = pla_bench_make_head(n_slices, &item.volume, err);
  if (st == PLA_OK) {
    scan->n_bytes = pla_volume_n_bytes(item.volume);
    st = pla_item_write(scan->gz, &item, &write, err);
  }
  pla_item_clear(&item);
  return st;
}

static void
scan_clear(Scan *scan)
{
  pla_item_clear(&scan->item);
  if (scan->gz)
    g_unlink(scan->gz);
  if (scan->case_path)
    g_unlink(scan->case_path);
  if (scan->folder)
    g_rmdir(scan->folder);
  g_free(scan->gz);
  g_free(scan->case_path);
  g_free(scan->folder);
}

/* the plain alternative */
static PlaStatus
run_zcat(void *data, PlaError *err)
{
  Scan *scan = data;
  g_autofree char *quoted = g_shell_quote(scan->gz);
  g_autofree char *command = g_strdup_printf("zcat %s", quoted);
  FILE *pipe = popen(command, "r");
  char *inflated = malloc(scan->n_bytes), *copy = malloc(scan->n_bytes);
  bool ok = pipe && inflated && copy && fread(inflated, 1, scan->n_bytes, pipe) == scan->n_bytes;
  if (ok)
    memcpy(copy, inflated, scan->n_bytes);
  char rest[4096]; /* the header's length more */
  while (pipe && fread(rest, 1, sizeof rest, pipe) > 0)
    ;
  if (pipe)
    pclose(pipe);
  free(inflated);
  free(copy);
  return ok ? PLA_OK : pla_fail(err, PLA_ERR_IO, "zcat failed on %s", scan->gz);
}

static PlaStatus
run_read(void *data, PlaError *err)
{
  Scan *scan = data;
  PlaReadOptions read = pla_read_options_default();
  pla_item_clear(&scan->item);
  return pla_item_read(scan->gz, &read, &scan->item, err);
}

static PlaStatus
run_store(void *data, PlaError *err)
{
  Scan *scan = data;
  PlaStore *store = NULL;
  g_unlink(scan->case_path);
  PlaStatus st = run_read(scan, err);
  if (st == PLA_OK)
    st = pla_store_create(scan->case_path, "bench", &store, err);
  if (st != PLA_OK)
    return st;
  const PlaVolume *vol = scan->item.volume;
  char name[] = "voxels", kind[] = "volume", title[] = "ct", meta[] = "{}";
  PlaStoreArray array = { .name = name,
                          .dtype = vol->dtype,
                          .n_dims = 3,
                          .shape = { (uint64_t)vol->dims[0], (uint64_t)vol->dims[1],
                                     (uint64_t)vol->dims[2] },
                          .data = vol->voxels };
  PlaBundle bundle = { .kind = kind, .name = title, .meta = meta, .n_arrays = 1, .array = &array };
  st = pla_store_begin(store, err);
  if (st == PLA_OK)
    st = pla_store_put(store, &bundle, NULL, err);
  if (st == PLA_OK)
    st = pla_store_commit(store, err);
  pla_store_close(store);
  return st;
}

static PlaStatus
run_volume(PlaBench *bench, PlaBenchFunc func, const char *label, PlaError *err)
{
  Scan scan = { 0 };
  const int repeats = pla_bench_repeats(bench, 3), n_slices = (int)pla_bench_size(bench, 600.0);
  double plain = 0.0, ours = 0.0;
  PlaStatus st = scan_init(&scan, n_slices, err);
  const double before = pla_bench_reset_peak();
  if (st == PLA_OK)
    st = pla_bench_time(bench, func, &scan, repeats, &ours, err);
  const double peak = (pla_bench_peak() - before) / 1048576.0;
  if (st == PLA_OK)
    st = pla_bench_time(bench, run_zcat, &scan, repeats, &plain, err);
  if (st == PLA_OK) {
    double mib = (double)scan.n_bytes / 1048576.0;
    pla_bench_begin_run(bench, label, n_slices, repeats, ours);
    pla_bench_ratio(bench, "over_zcat_and_copy", ours / plain);
    pla_bench_ratio(bench, "peak_over_volume", peak / mib);
    pla_bench_number(bench, "zcat_and_copy_s", plain);
    pla_bench_number(bench, "volume_mib", mib);
    pla_bench_end_run(bench);
  }
  scan_clear(&scan);
  return st;
}

static PlaStatus
run_nifti_read(PlaBench *bench, PlaError *err)
{
  return run_volume(bench, run_read, "512 x 512 x SIZE .nii.gz into memory", err);
}

static PlaStatus
run_case_store(PlaBench *bench, PlaError *err)
{
  return run_volume(bench, run_store, "512 x 512 x SIZE .nii.gz into a case", err);
}

const PlaBenchmark pla_benchmark_nifti_read = {
  .name = "nifti-read",
  .summary = "reads a large .nii.gz, against zcat and a copy",
  .run = run_nifti_read,
};

const PlaBenchmark pla_benchmark_case_store = {
  .name = "case-store",
  .summary = "reads a large .nii.gz and stores it in a case, against zcat and a copy",
  .run = run_case_store,
};

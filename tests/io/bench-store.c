/* Reading a CT of 512 x 512 x 600 int16 from .nii.gz and storing it in a case, against `zcat` of
 * the same file plus a copy.
 *
 * usage: bench-store [FOLDER [SLICES [REPEATS]]]; prints one JSON object.  The scan is made here:
 * an elliptic head of soft tissue with a bony shell and air around it, and Gaussian noise of 12 HU,
 * which is what makes real scans hard to compress. */
#include "anatomy/base/parallel.h"
#include "anatomy/volume.h"
#include "io/format.h"
#include "io/store.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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
fill_head(int16_t *voxels, int nx, int ny, int nz)
{
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

static void
check(PlaStatus st, const PlaError *err)
{
  if (st != PLA_OK) {
    fprintf(stderr, "%s\n", err->message);
    exit(2);
  }
}

static double
peak_mib(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024.0;
}

/* seconds to inflate the file with zcat into memory and copy it once */
static double
time_zcat(const char *path, size_t n_bytes)
{
  double start = (double)g_get_monotonic_time() * 1e-6;
  char *quoted = g_shell_quote(path), *command = g_strdup_printf("zcat %s", quoted);
  FILE *pipe = popen(command, "r");
  char *data = malloc(n_bytes), *copy = malloc(n_bytes);
  if (!pipe || !data || !copy || fread(data, 1, n_bytes, pipe) != n_bytes) {
    fprintf(stderr, "zcat failed\n");
    exit(2);
  }
  memcpy(copy, data, n_bytes);
  pclose(pipe);
  double seconds = (double)g_get_monotonic_time() * 1e-6 - start;
  seconds += copy[n_bytes / 2] == 127 ? 1e-12 : 0.0; /* the copy is used */
  free(data);
  free(copy);
  g_free(quoted);
  g_free(command);
  return seconds;
}

static double
time_store(const char *path, PlaVolume *vol, double *read_s, double *slice_s)
{
  PlaError err;
  PlaStore *store = NULL;
  g_unlink(path);
  double start = (double)g_get_monotonic_time() * 1e-6;
  check(pla_store_create(path, "bench", &store, &err), &err);
  char name[] = "voxels", kind[] = "volume", title[] = "ct", meta[] = "{}";
  PlaStoreArray array = { .name = name,
                          .dtype = vol->dtype,
                          .n_dims = 3,
                          .shape = { (uint64_t)vol->dims[0], (uint64_t)vol->dims[1],
                                     (uint64_t)vol->dims[2] },
                          .data = vol->voxels };
  PlaBundle bundle = { .kind = kind, .name = title, .meta = meta, .n_arrays = 1, .array = &array };
  check(pla_store_begin(store, &err), &err);
  check(pla_store_put(store, &bundle, NULL, &err), &err);
  check(pla_store_commit(store, &err), &err);
  double stored = (double)g_get_monotonic_time() * 1e-6;
  pla_store_close(store);

  /* and back: all of it, and one slice from a case just opened */
  check(pla_store_open(path, &store, &err), &err);
  size_t slice = (size_t)vol->dims[0] * (size_t)vol->dims[1] * 2;
  void *one = malloc(slice);
  double before = (double)g_get_monotonic_time() * 1e-6;
  check(pla_store_read_array(store, &array.hash, slice * (size_t)(vol->dims[2] / 2), slice, one,
                             NULL, &err),
        &err);
  *slice_s = (double)g_get_monotonic_time() * 1e-6 - before;
  before = (double)g_get_monotonic_time() * 1e-6;
  for (int k = 0; k < vol->dims[2]; k += 8) {
    size_t n = k + 8 <= vol->dims[2] ? 8 : (size_t)(vol->dims[2] - k);
    char *some = malloc(slice * n);
    check(pla_store_read_array(store, &array.hash, slice * (size_t)k, slice * n, some, NULL, &err),
          &err);
    if (memcmp(some, (char *)vol->voxels + slice * (size_t)k, slice * n) != 0) {
      fprintf(stderr, "slice %d differs\n", k);
      exit(2);
    }
    free(some);
  }
  *read_s = (double)g_get_monotonic_time() * 1e-6 - before;
  free(one);
  pla_store_close(store);
  return stored - start;
}

static int
compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
  const char *folder = argc > 1 ? argv[1] : g_get_tmp_dir();
  int dims[4] = { 512, 512, argc > 2 ? atoi(argv[2]) : 600, 1 };
  int repeats = argc > 3 ? atoi(argv[3]) : 3;
  char *gz = g_build_filename(folder, "bench-store.nii.gz", NULL);
  char *path = g_build_filename(folder, "bench-store.platysma", NULL);
  if (dims[2] < 1 || repeats < 1 || repeats > 99)
    return 2;
  PlaError err;
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaWriteOptions write = pla_write_options_default();
  check(pla_volume_new(dims, PLA_I16, &item.volume, &err), &err);
  fill_head(item.volume->voxels, dims[0], dims[1], dims[2]);
  size_t n_bytes = pla_volume_n_bytes(item.volume);
  check(pla_item_write(gz, &item, &write, &err), &err);

  double zcat_s[99], import_s[99], store_s[99], read_s = 0.0, slice_s = 0.0;
  double peak_before = peak_mib();
  for (int r = 0; r < repeats; r++) {
    PlaReadOptions read = pla_read_options_default();
    pla_item_clear(&item);
    double start = (double)g_get_monotonic_time() * 1e-6;
    check(pla_item_read(gz, &read, &item, &err), &err);
    import_s[r] = (double)g_get_monotonic_time() * 1e-6 - start;
    store_s[r] = time_store(path, item.volume, &read_s, &slice_s);
    import_s[r] += store_s[r];
  }
  double peak = peak_mib();
  for (int r = 0; r < repeats; r++)
    zcat_s[r] = time_zcat(gz, n_bytes);

  GStatBuf case_info, gz_info;
  g_stat(path, &case_info);
  g_stat(gz, &gz_info);
  qsort(zcat_s, (size_t)repeats, sizeof *zcat_s, compare);
  qsort(import_s, (size_t)repeats, sizeof *import_s, compare);
  qsort(store_s, (size_t)repeats, sizeof *store_s, compare);
  double mib = (double)n_bytes / 1048576.0;
  printf("{\"name\": \"store-volume\", \"size\": [%d, %d, %d], \"repeats\": %d, \"threads\": %d,\n"
         " \"volume_mib\": %.1f, \"gz_mib\": %.1f, \"case_mib\": %.1f,\n"
         " \"zcat_copy_s\": %.3f, \"median_s\": %.3f, \"store_s\": %.3f, \"read_and_compare_s\": "
         "%.3f, "
         "\"slice_s\": %.4f,\n"
         " \"ratios\": {\"read_and_store_to_zcat_copy\": %.3f, \"store_to_zcat_copy\": %.3f, "
         "\"peak_rss_to_volume\": %.3f},\n"
         " \"peak_rss_mib\": %.0f, \"peak_before_mib\": %.0f}\n",
         dims[0], dims[1], dims[2], repeats, pla_threads_get(), mib,
         (double)gz_info.st_size / 1048576.0, (double)case_info.st_size / 1048576.0,
         zcat_s[repeats / 2], import_s[repeats / 2], store_s[repeats / 2], read_s, slice_s,
         import_s[repeats / 2] / zcat_s[repeats / 2], store_s[repeats / 2] / zcat_s[repeats / 2],
         peak / mib, peak, peak_before);
  g_unlink(gz);
  g_unlink(path);
  g_free(gz);
  g_free(path);
  pla_item_clear(&item);
  return 0;
}

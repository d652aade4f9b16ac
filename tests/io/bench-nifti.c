/* How long a 512 x 512 x 600 int16 .nii.gz takes to read, beside what nobody can avoid: zcat into
 * memory.  Built with the tests, run by hand:
 *
 *   bench_nifti [REPEATS [DIM_Z]]
 *
 * Prints one JSON object.  The volume is a made CT: air, a head of nested ellipsoids with noise of
 * a few tens of Hounsfield units, 12 bits of depth. */
#include "io/format.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double
seconds(void)
{
  return (double)g_get_monotonic_time() / 1e6;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double
median(double *x, int n)
{
  qsort(x, (size_t)n, sizeof *x, compare_doubles);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2.0;
}

/* resident memory in KiB: "VmRSS:" now, "VmHWM:" at the peak */
static size_t
resident_kib(const char *key)
{
  g_autofree char *status = NULL;
  g_assert_true(g_file_get_contents("/proc/self/status", &status, NULL, NULL));
  const char *line = strstr(status, key);
  g_assert_nonnull(line);
  return strtoull(line + strlen(key), NULL, 10);
}

static void
reset_peak(void)
{
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file) {
    fputs("5", file);
    fclose(file);
  }
}

/* a hash of the voxel's index as noise: repeatable, and no slice like another */
static int
noise(uint64_t v)
{
  v = (v ^ (v >> 31)) * 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 29)) * 0xbf58476d1ce4e5b9u;
  return (int)(v >> 58) + (int)(v >> 52 & 63) - 63; /* triangular, about 26 HU wide */
}

static void
make_ct(PlaVolume *vol)
{
  int16_t *voxels = vol->voxels;
#pragma omp parallel for schedule(static)
  for (int k = 0; k < vol->dims[2]; k++)
    for (int j = 0; j < vol->dims[1]; j++)
      for (int i = 0; i < vol->dims[0]; i++) {
        size_t v = (size_t)i + 512 * ((size_t)j + 512 * (size_t)k);
        double x = (i - 256) / 170.0, y = (j - 250) / 210.0,
               z = (k / (double)vol->dims[2] - 0.5) * 1.8;
        double r = sqrt(x * x + y * y + z * z);
        int hu = r > 1.0 ? -1000 : r > 0.96 ? -90 : r > 0.9 ? 40 : r > 0.84 ? 900 : 35;
        voxels[v] = (int16_t)(hu == -1000 ? hu + noise(v) / 8 : hu + noise(v));
      }
}

/* decompress and copy, as a shell would */
static double
time_zcat(const char *path, size_t n_bytes)
{
  g_autofree char *command = g_strdup_printf("zcat '%s'", path);
  double start = seconds();
  FILE *pipe = popen(command, "r");
  g_assert_nonnull(pipe);
  uint8_t *buffer = malloc(n_bytes);
  size_t got = fread(buffer, 1, n_bytes, pipe);
  g_assert_cmpuint(got, ==, n_bytes);
  pclose(pipe);
  double taken = seconds() - start;
  free(buffer);
  return taken;
}

int
main(int argc, char **argv)
{
  int repeats = argc > 1 ? atoi(argv[1]) : 5;
  int dims[4] = { 512, 512, argc > 2 ? atoi(argv[2]) : 600, 1 };
  g_autoptr(GError) error = NULL;
  g_autofree char *dir = g_dir_make_tmp("platysma-bench-XXXXXX", &error);
  g_assert_no_error(error);
  g_autofree char *path = g_build_filename(dir, "ct.nii.gz", NULL);
  PlaItem item = { .kind = PLA_KIND_VOLUME };
  PlaError err = { 0 };
  PlaReadOptions ropts = pla_read_options_default();
  PlaWriteOptions wopts = pla_write_options_default();
  g_assert_cmpint(repeats, >=, 1);
  g_assert_cmpint(dims[2], >=, 1);

  if (pla_volume_new(dims, PLA_I16, &item.volume, &err) != PLA_OK)
    g_error("%s", err.message);
  item.volume->audit.source = PLA_FRAME_MADE;
  make_ct(item.volume);
  size_t n_bytes = pla_volume_n_bytes(item.volume);
  double start = seconds();
  if (pla_item_write(path, &item, &wopts, &err) != PLA_OK)
    g_error("%s", err.message);
  double write_s = seconds() - start;

  double *zcat = g_new(double, repeats), *ours = g_new(double, repeats),
         *range = g_new(double, repeats);
  size_t peak_kib = 0;
  uint64_t checksum = 0;
  for (int r = 0; r < repeats; r++) {
    pla_item_clear(&item);
    zcat[r] = time_zcat(path, n_bytes);
    reset_peak();
    size_t before = resident_kib("VmRSS:");
    start = seconds();
    if (pla_item_read(path, &ropts, &item, &err) != PLA_OK)
      g_error("%s", err.message);
    ours[r] = seconds() - start;
    size_t peak = resident_kib("VmHWM:") - before;
    peak_kib = peak > peak_kib ? peak : peak_kib;
    double lo, hi;
    start = seconds();
    pla_volume_range(item.volume, &lo, &hi);
    range[r] = seconds() - start;
    checksum += (uint64_t)(hi - lo);
  }
  GStatBuf st;
  g_assert_cmpint(g_stat(path, &st), ==, 0);
  double ours_s = median(ours, repeats), zcat_s = median(zcat, repeats);
  printf(
      "{\"name\": \"nifti-read\", \"size\": [512, 512, %d], \"repeats\": %d, \"median_s\": %.4f, "
      "\"zcat_s\": %.4f, \"ratios\": {\"time_to_zcat\": %.3f, \"memory_to_volume\": %.3f}, "
      "\"peak_rss_mib\": %.1f, \"volume_mib\": %.1f, \"file_mib\": %.1f, \"write_s\": %.3f, "
      "\"range_s\": %.4f, \"checksum\": %" G_GUINT64_FORMAT "}\n",
      dims[2], repeats, ours_s, zcat_s, ours_s / zcat_s,
      (double)peak_kib * 1024.0 / (double)n_bytes, (double)peak_kib / 1024.0,
      (double)n_bytes / 1048576.0, (double)st.st_size / 1048576.0, write_s, median(range, repeats),
      checksum);
  pla_item_clear(&item);
  g_free(zcat);
  g_free(ours);
  g_free(range);
  g_remove(path);
  g_rmdir(dir);
  return 0;
}

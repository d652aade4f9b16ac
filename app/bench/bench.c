/* The table of benchmarks, and what they measure with. */
#include "app/bench/bench.h"

#include "anatomy/base/parallel.h"
#include "app/bench/bench-private.h"

#include <glib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const PlaBenchmark *const benchmarks[] = {
  &pla_benchmark_armadillo_sag, &pla_benchmark_bar_sag,
  &pla_benchmark_bar_twist,     &pla_benchmark_csfd,
  &pla_benchmark_cut,           &pla_benchmark_cut_scaling,
  &pla_benchmark_case_store,    &pla_benchmark_hex_embed,
  &pla_benchmark_lattice,       &pla_benchmark_nifti_read,
  &pla_benchmark_orbit,         &pla_benchmark_pbng_box,
  &pla_benchmark_preview,       &pla_benchmark_distance,
  &pla_benchmark_fit_face,      &pla_benchmark_frames,
  &pla_benchmark_reduced,       &pla_benchmark_scan,
  &pla_benchmark_scatter,       &pla_benchmark_speech,
  &pla_benchmark_stiffness,     &pla_benchmark_svd,
  &pla_benchmark_tets,          &pla_benchmark_tongue,
  &pla_benchmark_tongue_full,   NULL,
};

const PlaBenchmark *const *
pla_benchmarks_get(void)
{
  return benchmarks;
}

static void
number_clear(void *data)
{
  g_free(((PlaBenchNumber *)data)->key);
}

static void
run_free(void *data)
{
  PlaBenchRun *run = data;
  g_free(run->label);
  g_array_unref(run->ratios);
  g_array_unref(run->numbers);
  g_free(run);
}

void
pla_bench_init(PlaBench *self)
{
  *self = (PlaBench){ .size = NAN, .runs = g_ptr_array_new_with_free_func(run_free) };
}

void
pla_bench_clear(PlaBench *self)
{
  g_ptr_array_unref(self->runs);
}

double
pla_bench_size(const PlaBench *bench, double otherwise)
{
  return isnan(bench->size) ? otherwise : bench->size;
}

int
pla_bench_repeats(const PlaBench *bench, int otherwise)
{
  return bench->repeats > 0 ? bench->repeats : otherwise;
}

PlaProgress *
pla_bench_progress(PlaBench *bench)
{
  return bench->progress;
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

PlaStatus
pla_bench_time(PlaBench *bench, PlaBenchFunc func, void *data, int repeats, double *median_s,
               PlaError *err)
{
  g_autofree double *seconds = g_new(double, repeats);
  for (int i = 0; i < repeats; i++) {
    gint64 start = g_get_monotonic_time();
    PlaStatus st = func(data, err);
    seconds[i] = (double)(g_get_monotonic_time() - start) * 1e-6;
    if (st != PLA_OK)
      return st;
    if (pla_progress_cancelled(pla_bench_progress(bench)))
      return pla_fail_cancelled(err);
  }
  qsort(seconds, (size_t)repeats, sizeof *seconds, compare_doubles);
  *median_s =
      repeats % 2 ? seconds[repeats / 2] : 0.5 * (seconds[repeats / 2 - 1] + seconds[repeats / 2]);
  return PLA_OK;
}

void
pla_bench_begin_run(PlaBench *bench, const char *label, double size, int repeats, double median_s)
{
  PlaBenchRun *run = g_new0(PlaBenchRun, 1);
  run->label = g_strdup(label);
  run->size = size;
  run->repeats = repeats;
  run->median_s = median_s;
  run->ratios = g_array_new(FALSE, FALSE, sizeof(PlaBenchNumber));
  run->numbers = g_array_new(FALSE, FALSE, sizeof(PlaBenchNumber));
  g_array_set_clear_func(run->ratios, number_clear);
  g_array_set_clear_func(run->numbers, number_clear);
  g_ptr_array_add(bench->runs, run);
}

static PlaBenchRun *
last_run(PlaBench *bench)
{
  g_assert(bench->runs->len > 0);
  return g_ptr_array_index(bench->runs, bench->runs->len - 1);
}

void
pla_bench_ratio(PlaBench *bench, const char *name, double value)
{
  PlaBenchNumber number = { g_strdup(name), value };
  g_array_append_val(last_run(bench)->ratios, number);
}

void
pla_bench_number(PlaBench *bench, const char *name, double value)
{
  PlaBenchNumber number = { g_strdup(name), value };
  g_array_append_val(last_run(bench)->numbers, number);
}

void
pla_bench_end_run(PlaBench *bench)
{
  PlaBenchRun *run = last_run(bench);
  g_autoptr(GString) line = g_string_new(NULL);
  g_string_printf(line, "%s, size %g: %.4g s", run->label, run->size, run->median_s);
  for (guint i = 0; i < run->ratios->len; i++) {
    const PlaBenchNumber *n = &g_array_index(run->ratios, PlaBenchNumber, i);
    g_string_append_printf(line, ", %s %.3g", n->key, n->value);
  }
  for (guint i = 0; i < run->numbers->len; i++) {
    const PlaBenchNumber *n = &g_array_index(run->numbers, PlaBenchNumber, i);
    g_string_append_printf(line, ", %s %.4g", n->key, n->value);
  }
  if (bench->say)
    bench->say(line->str, bench->say_data);
}

static double
memory_bytes(const char *key)
{
  g_autofree char *text = NULL;
  if (!g_file_get_contents("/proc/self/status", &text, NULL, NULL))
    return NAN;
  const char *at = strstr(text, key);
  return at ? 1024.0 * g_ascii_strtod(at + strlen(key), NULL) : NAN;
}

double
pla_bench_reset_peak(void)
{
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file) {
    fputs("5", file);
    fclose(file);
  }
  return memory_bytes("VmRSS:");
}

double
pla_bench_peak(void)
{
  return memory_bytes("VmHWM:");
}

double
pla_bench_peak_rss_mib(void)
{
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss / 1024.0;
}

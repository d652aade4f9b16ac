/* The table of benchmarks, and the verb `bench` that runs them. */
#include "app/bench/bench.h"

#include "anatomy/base/parallel.h"
#include "app/bench/bench-private.h"
#include "app/cli/cli-private.h"

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

typedef struct {
  char *key;
  double value;
} Number;

typedef struct {
  char *label;
  double size, median_s;
  int repeats;
  GArray *ratios;  /* of Number */
  GArray *numbers; /* of Number */
} Run;

struct PlaBench {
  PlaInvocation *inv;
  GPtrArray *runs; /* of Run */
};

static void
number_clear(void *data)
{
  g_free(((Number *)data)->key);
}

static void
run_free(void *data)
{
  Run *run = data;
  g_free(run->label);
  g_array_unref(run->ratios);
  g_array_unref(run->numbers);
  g_free(run);
}

double
pla_bench_size(const PlaBench *bench, double otherwise)
{
  return pla_invocation_number(bench->inv, "size", otherwise);
}

int
pla_bench_repeats(const PlaBench *bench, int otherwise)
{
  return pla_invocation_int(bench->inv, "repeats", otherwise);
}

PlaProgress *
pla_bench_progress(PlaBench *bench)
{
  return pla_invocation_progress(bench->inv);
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
  Run *run = g_new0(Run, 1);
  run->label = g_strdup(label);
  run->size = size;
  run->repeats = repeats;
  run->median_s = median_s;
  run->ratios = g_array_new(FALSE, FALSE, sizeof(Number));
  run->numbers = g_array_new(FALSE, FALSE, sizeof(Number));
  g_array_set_clear_func(run->ratios, number_clear);
  g_array_set_clear_func(run->numbers, number_clear);
  g_ptr_array_add(bench->runs, run);
}

static Run *
last_run(PlaBench *bench)
{
  g_assert(bench->runs->len > 0);
  return g_ptr_array_index(bench->runs, bench->runs->len - 1);
}

void
pla_bench_ratio(PlaBench *bench, const char *name, double value)
{
  Number number = { g_strdup(name), value };
  g_array_append_val(last_run(bench)->ratios, number);
}

void
pla_bench_number(PlaBench *bench, const char *name, double value)
{
  Number number = { g_strdup(name), value };
  g_array_append_val(last_run(bench)->numbers, number);
}

void
pla_bench_end_run(PlaBench *bench)
{
  Run *run = last_run(bench);
  g_autoptr(GString) line = g_string_new(NULL);
  g_string_printf(line, "%s, size %g: %.4g s", run->label, run->size, run->median_s);
  for (guint i = 0; i < run->ratios->len; i++) {
    const Number *n = &g_array_index(run->ratios, Number, i);
    g_string_append_printf(line, ", %s %.3g", n->key, n->value);
  }
  for (guint i = 0; i < run->numbers->len; i++) {
    const Number *n = &g_array_index(run->numbers, Number, i);
    g_string_append_printf(line, ", %s %.4g", n->key, n->value);
  }
  pla_say(bench->inv, "%s", line->str);
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

static void
put_numbers(JsonBuilder *json, const GArray *numbers)
{
  for (guint i = 0; i < numbers->len; i++) {
    const Number *n = &g_array_index(numbers, Number, i);
    pla_json_number(json, n->key, n->value);
  }
}

static void
put_run(JsonBuilder *json, const Run *run)
{
  pla_json_text(json, "label", run->label);
  pla_json_number(json, "size", run->size);
  pla_json_int(json, "repeats", run->repeats);
  pla_json_number(json, "median_s", run->median_s);
  json_builder_set_member_name(json, "ratios");
  json_builder_begin_object(json);
  put_numbers(json, run->ratios);
  json_builder_end_object(json);
  put_numbers(json, run->numbers);
}

static void
put_result(JsonBuilder *json, const PlaBenchmark *benchmark, const GPtrArray *runs)
{
  pla_json_text(json, "name", benchmark->name);
  if (runs->len == 1) {
    put_run(json, g_ptr_array_index(runs, 0));
  } else {
    json_builder_set_member_name(json, "runs");
    json_builder_begin_array(json);
    for (guint i = 0; i < runs->len; i++) {
      json_builder_begin_object(json);
      put_run(json, g_ptr_array_index(runs, i));
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
  }
  pla_json_number(json, "peak_rss_mib", pla_bench_peak_rss_mib());
  pla_json_int(json, "threads", pla_threads_get());
  pla_json_text(json, "kernel", pla_kernel_name(pla_kernel_get()));
}

static void
list_benchmarks(PlaInvocation *inv)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "benchmarks");
  json_builder_begin_array(json);
  for (const PlaBenchmark *const *b = benchmarks; *b; b++) {
    pla_say(inv, "%-16s %s", (*b)->name, (*b)->summary);
    json_builder_add_string_value(json, (*b)->name);
  }
  json_builder_end_array(json);
}

static PlaStatus
run_bench(PlaInvocation *inv, PlaError *err)
{
  if (pla_invocation_has(inv, "list")) {
    list_benchmarks(inv);
    return PLA_OK;
  }
  const char *name = pla_invocation_file(inv, 0);
  const PlaBenchmark *benchmark = NULL;
  for (const PlaBenchmark *const *b = benchmarks; *b && name; b++)
    if (strcmp((*b)->name, name) == 0)
      benchmark = *b;
  if (!benchmark)
    return pla_fail(err, PLA_ERR_USAGE, "%s%s%s; 'platysma-cli bench --list' shows them all",
                    name ? "there is no benchmark '" : "name a benchmark", name ? name : "",
                    name ? "'" : "");
  PlaBench bench = { .inv = inv, .runs = g_ptr_array_new_with_free_func(run_free) };
  PlaStatus st = benchmark->run(&bench, err);
  if (st == PLA_OK)
    put_result(pla_invocation_json(inv), benchmark, bench.runs);
  g_ptr_array_unref(bench.runs);
  return st;
}

static const PlaOpt options[] = {
  { "list", 0, PLA_OPT_FLAG, NULL, "list the benchmarks" },
  { "size", 0, PLA_OPT_NUMBER, "N", "problem size instead of the benchmark's own", 1, 1e12 },
  { "repeats", 0, PLA_OPT_INT, "N", "measurements of which the median counts", 1, 1000 },
  { NULL },
};

const PlaVerb pla_verb_bench = {
  .name = "bench",
  .args = "NAME",
  .summary = "runs a named benchmark",
  .description =
      "Measures one thing and the plain alternative to it in the same run, and prints the median\n"
      "time and the ratios.",
  .example = "platysma-cli bench svd --json",
  .max_files = 1,
  .options = options,
  .writes_at_once = true, /* and reads them again */
  .run = run_bench,
};

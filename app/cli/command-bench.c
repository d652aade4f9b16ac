/* The verb `bench`: runs a named benchmark and reports what it measured. */
#include "anatomy/base/blas.h"
#include "anatomy/base/parallel.h"
#include "app/bench/bench.h"
#include "app/cli/cli-private.h"

#include <string.h>

static void
put_numbers(JsonBuilder *json, const GArray *numbers)
{
  for (guint i = 0; i < numbers->len; i++) {
    const PlaBenchNumber *n = &g_array_index(numbers, PlaBenchNumber, i);
    pla_json_number(json, n->key, n->value);
  }
}

static void
put_run(JsonBuilder *json, const PlaBenchRun *run)
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
  pla_json_text(json, "kernel", pla_kernels_text());
}

static void
list_benchmarks(PlaInvocation *inv)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "benchmarks");
  json_builder_begin_array(json);
  for (const PlaBenchmark *const *b = pla_benchmarks_get(); *b; b++) {
    pla_say(inv, "%-16s %s", (*b)->name, (*b)->summary);
    json_builder_add_string_value(json, (*b)->name);
  }
  json_builder_end_array(json);
}

static void
say_line(const char *line, void *data)
{
  pla_say(data, "%s", line);
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
  for (const PlaBenchmark *const *b = pla_benchmarks_get(); *b && name; b++)
    if (strcmp((*b)->name, name) == 0)
      benchmark = *b;
  if (!benchmark)
    return pla_fail(err, PLA_ERR_USAGE, "%s%s%s; 'platysma-cli bench --list' shows them all",
                    name ? "there is no benchmark '" : "name a benchmark", name ? name : "",
                    name ? "'" : "");
  PlaBench bench;
  pla_bench_init(&bench);
  bench.size = pla_invocation_number(inv, "size", bench.size);
  bench.repeats = pla_invocation_int(inv, "repeats", bench.repeats);
  bench.progress = pla_invocation_progress(inv);
  bench.say = say_line;
  bench.say_data = inv;
  PlaStatus st = benchmark->run(&bench, err);
  if (st == PLA_OK)
    put_result(pla_invocation_json(inv), benchmark, bench.runs);
  pla_bench_clear(&bench);
  return st;
}

static const PlaOpt options[] = {
  { "list", 0, PLA_OPT_FLAG, NULL, "list the benchmarks" },
  { "size", 0, PLA_OPT_NUMBER, "N", "problem size instead of the benchmark's own", 1, 1e12 },
  { "repeats", 0, PLA_OPT_INT, "N", "number of measurements; the median is reported", 1, 1000 },
  { NULL },
};

const PlaCommand pla_command_bench = {
  .name = "bench",
  .args = "NAME",
  .summary = "runs a named benchmark",
  .description =
      "Measures a method and its plain alternative in the same run, and prints the median times\n"
      "and their ratios.",
  .example = "platysma-cli bench svd --json",
  .max_files = 1,
  .options = options,
  .writes_at_once = true, /* and reads them again */
  .run = run_bench,
};

/* Named benchmarks: each measures something and the plain alternative to it in the same run.
 *
 * A benchmark is one `const PlaBenchmark` in app/bench/bench-NAME.c, listed in app/bench/bench.c.
 * Machines are noisy: what counts are the ratios. */
#pragma once

#include "anatomy/base/progress.h"
#include "anatomy/base/status.h"

#include <glib.h>

typedef struct {
  char *key; /* owned */
  double value;
} PlaBenchNumber;

typedef struct {
  char *label; /* owned */
  double size, median_s;
  int repeats;
  GArray *ratios;  /* of PlaBenchNumber */
  GArray *numbers; /* of PlaBenchNumber */
} PlaBenchRun;

/* What is asked of a benchmark, and what it measured. */
typedef struct {
  double size; /* NaN: the benchmark's own */
  int repeats; /* 0: the benchmark's own */
  PlaProgress *progress;
  void (*say)(const char *line, void *data); /* each run as it ends; NULL: nobody listens */
  void *say_data;
  GPtrArray *runs; /* of PlaBenchRun */
} PlaBench;
void pla_bench_init(PlaBench *self);
void pla_bench_clear(PlaBench *self);

typedef struct {
  const char *name;    /* "svd" */
  const char *summary; /* one line for --list */
  PlaStatus (*run)(PlaBench *bench, PlaError *err);
} PlaBenchmark;

const PlaBenchmark *const *pla_benchmarks_get(void); /* NULL-terminated */

/* The size that was asked for, or @otherwise; the repeats likewise. */
double pla_bench_size(const PlaBench *bench, double otherwise);
int pla_bench_repeats(const PlaBench *bench, int otherwise);
PlaProgress *pla_bench_progress(PlaBench *bench);

/* Median wall-clock seconds of @repeats calls; the first failure ends it. */
typedef PlaStatus (*PlaBenchFunc)(void *data, PlaError *err);
PlaStatus pla_bench_time(PlaBench *bench, PlaBenchFunc func, void *data, int repeats,
                         double *median_s, PlaError *err);

/* One run: opened with its size, filled with ratios and other numbers, closed.  Several runs make
 * the "runs" array. */
void pla_bench_begin_run(PlaBench *bench, const char *label, double size, int repeats,
                         double median_s);
void pla_bench_ratio(PlaBench *bench, const char *name, double value);
void pla_bench_number(PlaBench *bench, const char *name, double value);
void pla_bench_end_run(PlaBench *bench);

/* Forgets the largest resident memory so far and returns what is resident now, bytes; later the
 * largest since then.  NaN where the system does not tell. */
double pla_bench_reset_peak(void);
double pla_bench_peak(void);
/* Largest resident memory of the process so far, MiB. */
double pla_bench_peak_rss_mib(void);

/* Solves problems with known answers at their sizes, and compares.
 *
 * The observed order of convergence between cells h1 > h2 with errors e1, e2 is
 * ln(e1 / e2) / ln(h1 / h2) (Roache 1998, 5.7). */
#include "app/verify/verify.h"

#include "app/verify/verify-private.h"

#include <math.h>
#include <string.h>

void
pla_verify_row_clear(PlaVerifyRow *row)
{
  g_clear_pointer(&row->why, g_free);
}

PlaVerifyOptions
pla_verify_options_default(void)
{
  return (PlaVerifyOptions){ .stiffness = 1.0 };
}

const PlaVerifyProblem *
pla_verify_problems_get(int *n)
{
  for (*n = 0; pla_verify_table[*n].name; (*n)++)
    ;
  return pla_verify_table;
}

PlaStatus
pla_verify_find(const char *name, const PlaVerifyProblem **out, PlaError *err)
{
  for (*out = pla_verify_table; (*out)->name; (*out)++)
    if (strcmp((*out)->name, name) == 0)
      return PLA_OK;
  return pla_fail(err, PLA_ERR_USAGE,
                  "there is no problem '%s'; 'platysma-cli verify --list' shows them all", name);
}

/* how the errors of one quantity fall from a size to the next; NaN where one of them is unknown or
 * zero */
static double
observed_order(const PlaVerifyProblem *problem, double size, double error, double finer,
               double finer_error)
{
  const bool cell = strcmp(problem->size_unit, "mm") == 0;
  const double ratio = cell ? size / finer : finer / size;
  return log(fabs(error / finer_error)) / log(ratio);
}

static void
add_rows(const PlaVerifyRun *run, int k, double seconds, const PlaError *why, GArray *rows)
{
  const PlaVerifyProblem *problem = run->problem;
  for (int q = 0; problem->quantity[q].name; q++) {
    PlaVerifyRow row = { .problem = problem,
                         .quantity = &problem->quantity[q],
                         .size = run->size,
                         .reference = run->reference[q],
                         .value = run->value[q],
                         .tolerance = problem->quantity[q].tolerance[k],
                         .order = NAN,
                         .seconds = seconds,
                         .why = why ? g_strdup(why->message) : NULL };
    row.error = row.reference != 0.0 ? row.value / row.reference - 1.0 : row.value;
    row.pass = fabs(row.error) <= row.tolerance; /* not where anything is NaN */
    for (guint i = rows->len; k > 0 && i > 0; i--) {
      const PlaVerifyRow *before = &g_array_index(rows, PlaVerifyRow, i - 1);
      if (before->quantity != row.quantity)
        continue;
      const double order =
          observed_order(problem, before->size, before->error, row.size, row.error);
      /* errors of rounding and of the solver's tolerance have none */
      if (isfinite(order) && row.reference != 0.0 && fabs(row.error) > 1e-3)
        row.order = order;
      break;
    }
    g_array_append_val(rows, row);
  }
}

PlaStatus
pla_verify_solve(const PlaVerifyProblem *problem, const PlaVerifyOptions *options,
                 PlaProgress *progress, GArray *rows, PlaError *err)
{
  for (int k = 0; k < PLA_VERIFY_SIZES; k++) {
    PlaVerifyRun run = { .problem = problem,
                         .size = problem->size[k],
                         .stiffness = options->stiffness,
                         .progress = progress };
    PlaError why = { 0 };
    if (!(problem->size[k] > 0.0) || (k == PLA_VERIFY_SIZES - 1 && !options->large))
      continue;
    for (int q = 0; q < PLA_VERIFY_QUANTITIES; q++) {
      run.value[q] = NAN;
      run.reference[q] = problem->quantity[q].reference;
    }
    const gint64 start = g_get_monotonic_time();
    const PlaStatus st = problem->solve(&run, &why);
    if (st == PLA_ERR_CANCELLED || pla_progress_cancelled(progress))
      return pla_fail_cancelled(err);
    add_rows(&run, k, (double)(g_get_monotonic_time() - start) * 1e-6, st == PLA_OK ? NULL : &why,
             rows);
  }
  return PLA_OK;
}

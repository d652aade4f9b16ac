/* The command `verify`: problems with known answers, solved on this machine. */
#include "app/cli/cli-private.h"
#include "app/verify/verify.h"

#include <math.h>

static void
row_clear(void *data)
{
  pla_verify_row_clear(data);
}

static void
list_problems(PlaInvocation *inv, const PlaVerifyProblem *problem, int n)
{
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "problems");
  json_builder_begin_array(json);
  for (int i = 0; i < n; i++) {
    pla_say(inv, "%-24s %s", problem[i].name, problem[i].about);
    json_builder_add_string_value(json, problem[i].name);
  }
  json_builder_end_array(json);
}

/* "1.234 mm", or "-" */
static char *
number_text(double value, const char *unit)
{
  return isnan(value) ? g_strdup("-") : g_strdup_printf("%.5g%s%s", value, *unit ? " " : "", unit);
}

/* the share by which a value is off, in % where there is a reference to be a share of */
static char *
error_text(const PlaVerifyRow *row, double error)
{
  return row->reference == 0.0 ? g_strdup_printf("%.3g", error)
         : fabs(error) < 1e-4  ? g_strdup_printf("%.1e", error)
                               : g_strdup_printf("%.2f %%", 100.0 * error);
}

static void
say_row(PlaInvocation *inv, const PlaVerifyRow *row)
{
  const PlaVerifyProblem *problem = row->problem;
  g_autofree char *size = *problem->size_unit
                              ? g_strdup_printf("%.4g %s", row->size, problem->size_unit)
                              : g_strdup("");
  g_autofree char *reference = number_text(row->reference, row->quantity->unit);
  g_autofree char *value = number_text(row->value, row->quantity->unit);
  g_autofree char *error = isnan(row->error) ? g_strdup("-") : error_text(row, row->error);
  g_autofree char *tolerance = error_text(row, row->tolerance);
  g_autofree char *order = isnan(row->order) ? g_strdup("") : g_strdup_printf("%.1f", row->order);
  pla_say(inv, "%-4s  %-28s %-20s %13s %13s %9s %9s %5s", row->pass ? "pass" : "FAIL",
          row->quantity->name, size, reference, value, error, tolerance, order);
}

static void
put_row(JsonBuilder *json, const PlaVerifyRow *row)
{
  json_builder_begin_object(json);
  pla_json_text(json, "problem", row->problem->name);
  pla_json_text(json, "quantity", row->quantity->name);
  pla_json_text(json, "unit", row->quantity->unit);
  pla_json_number(json, "size", row->size);
  pla_json_text(json, "size_unit", row->problem->size_unit);
  pla_json_number(json, "reference", row->reference);
  pla_json_text(json, "source", row->quantity->source);
  pla_json_number(json, "value", row->value);
  pla_json_number(json, "error", row->error);
  pla_json_number(json, "tolerance", row->tolerance);
  pla_json_number(json, "order", row->order);
  json_builder_set_member_name(json, "pass");
  json_builder_add_boolean_value(json, row->pass);
  pla_json_number(json, "seconds", row->seconds);
  if (row->why)
    pla_json_text(json, "why", row->why);
  json_builder_end_object(json);
}

/* solves one problem, and says how it went as soon as that is known */
static PlaStatus
run_problem(PlaInvocation *inv, const PlaVerifyProblem *problem, const PlaVerifyOptions *options,
            GArray *rows, PlaError *err)
{
  const guint before = rows->len;
  PlaStatus st = pla_verify_solve(problem, options, pla_invocation_progress(inv), rows, err);
  double seconds = 0.0, size = NAN;
  for (guint i = before; i < rows->len; i++) {
    const PlaVerifyRow *row = &g_array_index(rows, PlaVerifyRow, i);
    seconds += row->size == size ? 0.0 : row->seconds;
    size = row->size;
  }
  if (st == PLA_OK)
    pla_say(inv, "%s: %s (%.1f s)", problem->name, problem->about, seconds);
  for (guint i = before; st == PLA_OK && i < rows->len; i++) {
    const PlaVerifyRow *row = &g_array_index(rows, PlaVerifyRow, i);
    say_row(inv, row);
    if (row->why)
      pla_say(inv, "      %s", row->why);
  }
  for (int q = 0; st == PLA_OK && problem->quantity[q].name; q++)
    if (q == 0 || g_strcmp0(problem->quantity[q].source, problem->quantity[q - 1].source) != 0)
      pla_say(inv, "      %s: %s", problem->quantity[q].name, problem->quantity[q].source);
  return st;
}

static PlaStatus
run_verify(PlaInvocation *inv, PlaError *err)
{
  int n, failed = 0;
  const PlaVerifyProblem *problem = pla_verify_problems_get(&n);
  PlaVerifyOptions options = pla_verify_options_default();
  PlaStatus st = PLA_OK;
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(PlaVerifyRow));
  g_array_set_clear_func(rows, row_clear);
  if (pla_invocation_has(inv, "list")) {
    list_problems(inv, problem, n);
    return PLA_OK;
  }
  options.large = pla_invocation_has(inv, "long");
  options.stiffness = pla_invocation_number(inv, "stiffness", 1.0);
  const int n_named = pla_invocation_n_files(inv);
  g_autofree const PlaVerifyProblem **chosen = g_new0(const PlaVerifyProblem *, MAX(n, n_named));
  for (int i = 0; st == PLA_OK && i < n_named; i++)
    st = pla_verify_find(pla_invocation_file(inv, i), &chosen[i], err);
  for (int i = 0; n_named == 0 && i < n; i++)
    chosen[i] = &problem[i];
  pla_say(inv, "%-4s  %-28s %-20s %13s %13s %9s %9s %5s", "", "quantity", "size", "reference",
          "ours", "off by", "allowed", "order");
  for (int i = 0; st == PLA_OK && i < (n_named > 0 ? n_named : n); i++)
    st = run_problem(inv, chosen[i], &options, rows, err);
  if (st != PLA_OK)
    return st;
  JsonBuilder *json = pla_invocation_json(inv);
  json_builder_set_member_name(json, "rows");
  json_builder_begin_array(json);
  for (guint i = 0; i < rows->len; i++) {
    put_row(json, &g_array_index(rows, PlaVerifyRow, i));
    failed += !g_array_index(rows, PlaVerifyRow, i).pass;
  }
  json_builder_end_array(json);
  pla_json_int(json, "passed", (int)rows->len - failed);
  pla_json_int(json, "failed", failed);
  pla_say(inv, "%d passed, %d failed", (int)rows->len - failed, failed);
  return failed == 0
             ? PLA_OK
             : pla_fail(err, PLA_ERR_CONVERGENCE,
                        "%d of %u known answers are missed by more than their tolerance; the rows "
                        "marked FAIL say which",
                        failed, rows->len);
}

static const PlaOpt options[] = {
  { "long", 0, PLA_OPT_FLAG, NULL, "solve larger sizes too" },
  { "list", 0, PLA_OPT_FLAG, NULL, "list the problems" },
  { "stiffness", 0, PLA_OPT_NUMBER, "F",
    "plant an error: every modulus is F times too large, which rows must notice", 0.01, 100.0 },
  { NULL },
};

const PlaCommand pla_command_verify = {
  .name = "verify",
  .args = "[NAME ...]",
  .summary = "solves problems with known answers on this machine",
  .description =
      "Solves each problem at two sizes by what mesh, cut and simulate run, and compares with its\n"
      "closed form, a measurement, or the converged answer of another program.  Each line has the\n"
      "reference, our value, the difference, the tolerance, and the order at which the error "
      "falls\n"
      "with the size of the cells.  Below its lines, each problem names its sources.  Tolerances\n"
      "are set beforehand.  The exit status is 1 if a line misses its own.",
  .example = "platysma-cli verify bar-tets torsion --json",
  .max_files = -1,
  .options = options,
  .run = run_verify,
};

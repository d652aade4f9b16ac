/* Problems with known answers: a complete table, answers that are met, and planted errors that are
 * noticed. */
#include "app/verify/verify.h"
#include "tests/app/verb-test.h"

#include <math.h>

static bool
is_long(void)
{
  return g_getenv("PLA_LONG") != NULL;
}

static void
row_clear(void *data)
{
  pla_verify_row_clear(data);
}

/* rows of PlaVerifyRow; g_array_unref() */
static GArray *
solve(const PlaVerifyProblem *problem)
{
  const PlaVerifyOptions options = pla_verify_options_default();
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(PlaVerifyRow));
  PlaError err = { 0 };
  g_array_set_clear_func(rows, row_clear);
  g_assert_cmpint(pla_verify_solve(problem, &options, NULL, rows, &err), ==, PLA_OK);
  return rows;
}

static const PlaVerifyProblem *
find(const char *name)
{
  const PlaVerifyProblem *problem = NULL;
  PlaError err = { 0 };
  g_assert_cmpint(pla_verify_find(name, &problem, &err), ==, PLA_OK);
  return problem;
}

/* names are unique, and every quantity has a source, and a tolerance for each size */
static void
test_table(void)
{
  int n;
  const PlaVerifyProblem *table = pla_verify_problems_get(&n);
  g_assert_cmpint(n, >, 20);
  for (int i = 0; i < n; i++) {
    const PlaVerifyProblem *p = &table[i];
    g_assert_true(find(p->name) == p);
    g_assert_cmpuint(strlen(p->about), >, 10);
    g_assert_nonnull(p->solve);
    g_assert_nonnull(p->size_unit);
    g_assert_cmpfloat(p->size[0], >, 0.0);
    /* two sizes at least where there are cells to count */
    g_assert_true(p->size[1] > 0.0 || p->size_unit[0] == '\0');
    g_assert_nonnull(p->quantity[0].name);
    for (int q = 0; p->quantity[q].name; q++) {
      g_assert_nonnull(p->quantity[q].unit);
      g_assert_nonnull(p->quantity[q].source);
      g_assert_cmpuint(strlen(p->quantity[q].source), >=, 8);
      for (int k = 0; k < PLA_VERIFY_SIZES; k++)
        if (p->size[k] > 0.0) {
          g_assert_cmpfloat(p->quantity[q].tolerance[k], >, 0.0);
          g_assert_cmpfloat(p->quantity[q].tolerance[k], <=, 1.0);
        }
    }
  }
  PlaError err = { 0 };
  const PlaVerifyProblem *none;
  g_assert_cmpint(pla_verify_find("nosuch", &none, &err), ==, PLA_ERR_USAGE);
  g_assert_nonnull(strstr(err.message, "nosuch"));
}

/* whether a quantity was off by more than 1 % at the size before: smaller errors of coarse cells
 * are sums that nearly cancel (the shortening of a bent strip passes through its limit), and tell
 * no order */
static bool
was_off(const GArray *rows, guint r)
{
  const PlaVerifyRow *row = &g_array_index(rows, PlaVerifyRow, r);
  for (guint k = r; k-- > 0;) {
    const PlaVerifyRow *before = &g_array_index(rows, PlaVerifyRow, k);
    if (before->quantity == row->quantity)
      return fabs(before->value - before->reference) > 0.01 * fabs(before->reference);
  }
  return false;
}

/* all problems that take seconds; of the quick ones the coarse size alone, unless all is asked for
 */
static void
test_answers(void)
{
  static const char *const names[] = { "material-neo-hookean",
                                       "material-ogden",
                                       "material-linear",
                                       "sphere",
                                       "layer-hexes",
                                       "bar-hexes",
                                       "bar-tets",
                                       "cylinder-hexes",
                                       "elastica",
                                       "torsion",
                                       "bar-cut",
                                       "hertz-hexes" };
  const size_t n = is_long() ? G_N_ELEMENTS(names) : 5;
  for (size_t i = 0; i < n; i++) {
    PlaVerifyProblem problem = *find(names[i]);
    for (int k = 1; !is_long() && k < PLA_VERIFY_SIZES; k++)
      problem.size[k] = 0.0;
    g_autoptr(GArray) rows = solve(&problem);
    g_assert_cmpuint(rows->len, >, 0);
    for (guint r = 0; r < rows->len; r++) {
      const PlaVerifyRow *row = &g_array_index(rows, PlaVerifyRow, r);
      g_test_message("%s, %g, %s: %g of %g%s%s", names[i], row->size, row->quantity->name,
                     row->value, row->reference, row->why ? ": " : "", row->why ? row->why : "");
      g_assert_true(row->pass);
      g_assert_null(row->why);
      /* what turns elastic bodies is of second order or nearly so */
      if (!isnan(row->order) && was_off(rows, r))
        g_assert_cmpfloat(row->order, >, 0.8);
    }
  }
}

/* Cubes that are split into five tets have two kinds of vertices, which averages of volume tell
 * apart. */
static void
test_five_tets(void)
{
  g_autoptr(GArray) rows = solve(find("cook-tets-5"));
  for (guint r = 0; r < rows->len; r++) {
    const PlaVerifyRow *row = &g_array_index(rows, PlaVerifyRow, r);
    if (strcmp(row->quantity->name, "rise of the corner") != 0)
      continue;
    g_test_message("%g a side: %g of %g", row->size, row->value, row->reference);
    g_assert_true(row->pass);
    g_assert_cmpfloat_with_epsilon(row->value, row->reference, 0.01 * row->reference);
  }
}

static PlaStatus
fail_to_solve(PlaVerifyRun *run, PlaError *err)
{
  return pla_fail(err, PLA_ERR_CONVERGENCE, "no equilibrium at size %g", run->size);
}

/* a wrong reference, and a problem without an answer, are rows that fail */
static void
test_wrong_reference(void)
{
  PlaVerifyProblem problem = *find("bar-hexes");
  problem.size[1] = 0.0;
  problem.quantity[0].reference *= 1.2;
  g_autoptr(GArray) rows = solve(&problem);
  g_assert_cmpuint(rows->len, ==, 2);
  g_assert_false(g_array_index(rows, PlaVerifyRow, 0).pass);
  g_assert_true(g_array_index(rows, PlaVerifyRow, 1).pass);
  problem.solve = fail_to_solve;
  g_autoptr(GArray) unsolved = solve(&problem);
  g_assert_cmpuint(unsolved->len, ==, 2);
  for (guint r = 0; r < unsolved->len; r++) {
    const PlaVerifyRow *row = &g_array_index(unsolved, PlaVerifyRow, r);
    g_assert_false(row->pass);
    g_assert_true(isnan(row->value));
    g_assert_cmpstr(row->why, ==, "no equilibrium at size 4");
  }
}

/* tissue that is 10 % too stiff is noticed, and the command says so */
static void
test_command(void)
{
  g_autoptr(JsonObject) right = verb_test_run("verify material-yeoh material-stvk", 0);
  g_assert_cmpint(json_object_get_int_member(right, "passed"), ==, 6);
  g_assert_cmpint(json_object_get_int_member(right, "failed"), ==, 0);
  g_autoptr(JsonObject) wrong = verb_test_run("verify material-yeoh --stiffness 1.1", 1);
  g_assert_cmpint(json_object_get_int_member(wrong, "failed"), ==, 2);
  JsonArray *rows = json_object_get_array_member(wrong, "rows");
  static const char *const keys[] = { "quantity", "reference", "value", "error", "tolerance" };
  for (guint r = 0; r < json_array_get_length(rows); r++) {
    JsonObject *row = json_array_get_object_element(rows, r);
    for (gsize k = 0; k < G_N_ELEMENTS(keys); k++)
      g_assert_true(json_object_has_member(row, keys[k]));
    /* a free bar narrows alike, whatever the scale of its stiffness */
    const bool stress = r > 0;
    g_assert_true(json_object_get_boolean_member(row, "pass") == !stress);
    if (stress)
      g_assert_cmpfloat_with_epsilon(json_object_get_double_member(row, "error"), 0.1, 1e-6);
  }
  g_autoptr(JsonObject) unknown = verb_test_run("verify nosuch", 2);
  g_assert_nonnull(strstr(json_object_get_string_member(unknown, "error"), "nosuch"));
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/verify/table", test_table);
  g_test_add_func("/verify/answers", test_answers);
  g_test_add_func("/verify/five-tets", test_five_tets);
  g_test_add_func("/verify/wrong-reference", test_wrong_reference);
  g_test_add_func("/verify/command", test_command);
  return g_test_run();
}

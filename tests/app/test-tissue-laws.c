/* Laws of tissue as they are published, entered in scenes: a cube of 1 m in a homogeneous state,
 * against closed forms without change of volume. */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/simulate/simulation.h"

#include <glib.h>
#include <math.h>
#include <string.h>

static PlaStatus
load(int cells, const char *json, PlaSimulation **scene, PlaError *err)
{
  const double low[3] = { 0.0, 0.0, 0.0 }, high[3] = { 1.0, 1.0, 1.0 };
  const int n[3] = { cells, cells, cells };
  PlaMesh *mesh = NULL;
  /* single quotes keep the tests readable */
  g_autofree char *text = g_strdelimit(g_strdup(json), "'", '"');
  g_assert_cmpint(pla_box_mesh_new(low, high, n, PLA_BOX_TETS_6, &mesh, err), ==, PLA_OK);
  PlaStatus st = pla_simulation_new(mesh, text, NULL, scene, err);
  pla_mesh_free(mesh);
  return st;
}

#define ROLLERS                                                                                    \
  "{'where': {'box_mm': [[-1,-1,-1],[0.001,1001,1001]]}, 'fix': 'x'},"                             \
  "{'where': {'box_mm': [[-1,-1,-1],[1001,0.001,1001]]}, 'fix': 'y'},"                             \
  "{'where': {'box_mm': [[-1,-1,-1],[1001,1001,0.001]]}, 'fix': 'z'},"

/* @material drawn to @stretch times its length along x, its sides free (or held along y as well) */
static PlaSimulationResult
draw(int cells, const char *material, double stretch, bool held_y)
{
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaError err = { 0 };
  g_autofree char *json = g_strdup_printf(
      "{'materials': [{'where': {'all': true}, %s}], 'constraints': [" ROLLERS
      "{'where': {'box_mm': [[999.9,-1,-1],[1001,1001,1001]]}, 'move': {'translate_mm': "
      "[%.17g,0,0],"
      "'axes': 'x'}}%s], 'estimate': false, 'solver': {'tolerance_rel': 1e-10}}",
      material, 1000.0 * (stretch - 1.0),
      held_y ? ",{'where': {'box_mm': [[-1,999.9,-1],[1001,1001,1001]]}, 'fix': 'y'}" : "");
  PlaStatus st = load(cells, json, &scene, &err);
  if (st == PLA_OK)
    st = pla_simulation_solve(scene, NULL, &result, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  if (result.solve.reason != PLA_STOP_CONVERGED)
    g_error("%s: residual %g after %d iterations", material, result.solve.residual_rel,
            result.solve.iterations);
  pla_simulation_free(scene);
  return result;
}

/* nominal stress: the force at the moved face, which is 1 m2 at rest, Pa */
static double
pull_of(int cells, const char *material, double stretch, const char *note)
{
  PlaSimulationResult result = draw(cells, material, stretch, false);
  double force = result.reaction[3].force_n[0];
  if (result.notes->len != (note ? 1 : 0))
    g_error("%s: %s", material,
            result.notes->len ? (char *)g_ptr_array_index(result.notes, 0) : "no note");
  if (note)
    g_assert_nonnull(strstr(g_ptr_array_index(result.notes, 0), note));
  pla_simulation_result_clear(&result);
  return force;
}

#define GOH "'model': 'goh', 'c10_pa': 900, 'k1_pa': 3000, 'k2': 1.2, 'bulk_pa': 1e8"

static void
test_goh(void)
{
  const double l = 1.25, y = l * l + 2.0 / l - 3.0;
  for (int k = 0; k < 2; k++) {
    const double kappa = k ? 0.14 : 0.0, e = kappa * y + (1.0 - 3.0 * kappa) * (l * l - 1.0);
    const double slope = 3000.0 * e * exp(1.2 * e * e);
    const double along =
        2.0 * (l - 1.0 / (l * l)) * (900.0 + kappa * slope) + 2.0 * (1.0 - 3.0 * kappa) * l * slope;
    g_autofree char *x = g_strdup_printf(GOH ", 'kappa': %g, 'fibre': [1,0,0]", kappa);
    g_autofree char *z = g_strdup_printf(GOH ", 'kappa': %g, 'fibre': [0,0,1]", kappa);
    g_assert_cmpfloat_with_epsilon(pull_of(2, x, l, NULL), along, 2e-4 * along);
    /* across, the fibres are slack */
    const double across = 2.0 * (l - 1.0 / (l * l)) * 900.0;
    g_assert_cmpfloat_with_epsilon(pull_of(2, z, l, NULL), across, 2e-4 * across);
  }
  /* every way, with and without a direction */
  const double slope = 3000.0 * y / 3.0 * exp(1.2 * y * y / 9.0);
  const double even = 2.0 * (l - 1.0 / (l * l)) * (900.0 + slope / 3.0);
  g_assert_cmpfloat_with_epsilon(pull_of(2, GOH, l, "fibres run every way"), even, 2e-4 * even);
}

/* two families about a mean direction are the two fibres that one would list */
static void
test_families(void)
{
  g_autofree char *listed =
      g_strdup_printf(GOH
                      ", 'kappa': 0.1, 'fibres': [{'direction': [%.17g,%.17g,0]}, {'direction': "
                      "[%.17g,%.17g,0]}]",
                      cos(G_PI / 6.0), sin(G_PI / 6.0), cos(G_PI / 6.0), -sin(G_PI / 6.0));
  const double expected = pull_of(1, listed, 1.2, NULL);
  const double pull = pull_of(
      1, GOH ", 'kappa': 0.1, 'families': {'mean': [2,0,1], 'normal': [0,0,3], 'angle_deg': 30}",
      1.2, NULL);
  g_assert_cmpfloat_with_epsilon(pull, expected, 1e-8 * expected);
  g_assert_cmpfloat(pull, >, 1.2 * pull_of(1, GOH, 1.2, "every way"));
}

/* a negative second constant: as printed, and with a note where that has no more resistance */
static void
test_yeoh(void)
{
#define YEOH "'model': 'yeoh', 'c10_pa': 1000, 'c20_pa': -200, 'bulk_pa': 1e8"
  for (double l = 1.1; l < 1.45; l += 0.25) {
    const double y = l * l + 2.0 / l - 3.0;
    const double expected = 2.0 * (l - 1.0 / (l * l)) * (1000.0 - 400.0 * y);
    g_assert_cmpfloat_with_epsilon(pull_of(2, YEOH, l, NULL), expected, 2e-4 * expected);
  }
  const double l = 2.3, expected = 2.0 * (l - 1.0 / (l * l)) * 10.0;
  g_assert_cmpfloat_with_epsilon(pull_of(1, YEOH, l, "would stop growing"), expected,
                                 2e-3 * expected);
}

/* a muscle that may not shorten pulls with its curve's force at that length */
static void
test_curve(void)
{
#define MUSCLE                                                                                     \
  "'model': 'muscle', 'c10_pa': 1000, 'c01_pa': 0, 'sigma_max_pa': 5000, 'fibre': [1,0,0],"        \
  "'activation': 0.5, 'curve': "
  const double own = pull_of(1,
                             MUSCLE "{'stretch': [0.6, 0.9, 1.1, 1.5], 'active': [0, 1, 0.6, 0.1],"
                                    "'passive': [0, 0, 0.2, 0.9]}",
                             1.0, NULL);
  g_assert_cmpfloat_with_epsilon(own, 5000.0 * (0.5 * 0.8 + 0.1), 1e-4 * own);
  const double none = pull_of(1, MUSCLE "'none'", 1.0, NULL);
  g_assert_cmpfloat_with_epsilon(none, 5000.0 * 0.5, 1e-4 * none);
}

/* skin that is held at its size bears the tensions that its rest shape was given */
static void
test_tension(void)
{
#define TENSE                                                                                      \
  "'families': {'mean': [1,0,0], 'normal': [0,0,1], 'angle_deg': 41}, 'prestretch': {'line':"      \
  "[1,0,0], 'normal': [0,0,1], 'along_pa': 53000, 'across_pa': 20000}"
  static const char *const laws[] = { "'preset': 'skin-fibrous', 'bulk_pa': 1e10, " TENSE,
                                      "'model': 'fung', 'c_pa': 4000, 'b': 5, 'bulk_pa': 1e9, "
                                      "'prestretch': {'line': [1,0,1], 'normal': [0,0,1],"
                                      "'along_pa': 53000, 'across_pa': 20000}" };
  for (size_t k = 0; k < G_N_ELEMENTS(laws); k++) {
    PlaSimulationResult result = draw(1, laws[k], 1.0, true);
    g_assert_cmpfloat_with_epsilon(result.reaction[3].force_n[0], 53000.0, 53.0);
    g_assert_cmpfloat_with_epsilon(result.reaction[4].force_n[1], 20000.0, 53.0);
    g_assert_cmpfloat_with_epsilon(result.solve.min_jacobian, 1.0, 1e-3);
    pla_simulation_result_clear(&result);
  }
}

static void
test_mistakes(void)
{
  static const struct {
    const char *material, *word;
  } cases[] = {
    { GOH ", 'families': {'mean': [1,0,0], 'normal': [0,0,1]}", "'angle_deg'" },
    { GOH ", 'families': {'mean': [1,0,0], 'normal': [0,0,1], 'angle_deg': 91}", "0..90" },
    { GOH ", 'families': {'mean': [1,0,0], 'normal': [0,0,1], 'angle_deg': 9}, 'fibre': [1,0,0]",
      "other fibres" },
    { GOH ", 'kappa': 0.4", "'kappa'" },
    { GOH ", 'fibre': [1,0,0], 'activation': 0.5", "activation" },
    { GOH ", 'prestretch': {'line': [1,0,0], 'normal': [0,0,1], 'along': 1.1, 'across_pa': 5}",
      "stretches and tensions" },
    { GOH ", 'prestretch': {'line': [1,0,0], 'normal': [0,0,1], 'along_pa': -1e9}",
      "no stretch of the material 'goh'" },
    { GOH ", 'prestretch': {'line': [0,0,1], 'normal': [0,0,1], 'along_pa': 1e3}", "stands" },
    { MUSCLE "{'stretch': [1, 0.9], 'active': [0, 1]}", "must rise" },
    { MUSCLE "{'stretch': [1, 1.1], 'active': [0, 1, 1]}", "as many" },
    { MUSCLE "{'active': [0, 1]}", "'stretch'" },
    { MUSCLE "7", "'curve' is 7" },
    { MUSCLE "'hill'", "'none'" },
  };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    PlaSimulation *scene = NULL;
    PlaError err = { 0 };
    g_autofree char *json =
        g_strdup_printf("{'materials': [{'where': {'all': true}, %s}]}", cases[k].material);
    PlaStatus st = load(1, json, &scene, &err);
    if (st == PLA_OK || !strstr(err.message, cases[k].word))
      g_error("mistake %zu: expected a sentence with '%s', got '%s'", k, cases[k].word,
              err.message);
    g_assert_null(scene);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  pla_threads_set(1); /* a cube of eight vertices */
  g_test_add_func("/tissue-laws/goh", test_goh);
  g_test_add_func("/tissue-laws/families", test_families);
  g_test_add_func("/tissue-laws/yeoh", test_yeoh);
  g_test_add_func("/tissue-laws/curve", test_curve);
  g_test_add_func("/tissue-laws/tension", test_tension);
  g_test_add_func("/tissue-laws/mistakes", test_mistakes);
  return g_test_run();
}

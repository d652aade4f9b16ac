/* Scenes: closed-form answers, symmetric motions, and a sentence for everything that can be wrong.
 */
#include "anatomy/base/parallel.h"
#include "anatomy/mesh/boundary.h"
#include "anatomy/mesh/box-mesh.h"
#include "app/simulate/simulation.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static char *folder;

static char *
path_of(const char *name)
{
  return g_build_filename(folder, name, NULL);
}

/* a box in mm, written as VTU */
static void
write_box(const char *name, const double size_mm[3], const int n[3], PlaBoxCells cells)
{
  const double lo[3] = { 0, 0, 0 };
  double hi[3];
  PlaError err = { 0 };
  PlaItem item = { .kind = PLA_KIND_MESH };
  PlaWriteOptions opts = pla_write_options_default();
  for (int d = 0; d < 3; d++)
    hi[d] = size_mm[d] / 1000.0;
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, cells, &item.mesh, &err), ==, PLA_OK);
  g_autofree char *path = path_of(name);
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_OK);
  pla_item_clear(&item);
}

static PlaStatus
load(const char *json, PlaSimulation **scene, PlaError *err)
{
  g_autofree char *path = path_of("scene.json");
  /* single quotes keep the tests readable */
  g_autofree char *text = g_strdelimit(g_strdup(json), "'", '"');
  g_assert_true(g_file_set_contents(path, text, -1, NULL));
  return pla_simulation_load(path, NULL, scene, err);
}

static PlaSimulationResult
solve(const char *json)
{
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaError err = { 0 };
  PlaStatus st = load(json, &scene, &err);
  if (st == PLA_OK)
    st = pla_simulation_solve(scene, NULL, &result, &err);
  if (st != PLA_OK)
    g_error("%s", err.message);
  if (result.solve.reason != PLA_STOP_CONVERGED)
    g_error("%s: residual %g after %d iterations, %d inverted", json, result.solve.residual_rel,
            result.solve.iterations, result.solve.inverted);
  pla_simulation_free(scene);
  return result;
}

#define SYMMETRY                                                                                   \
  "{'where': {'box_mm': [[-1,-1,-1],[0.001,1001,1001]]}, 'fix': 'x'},"                             \
  "{'where': {'box_mm': [[-1,-1,-1],[1001,0.001,1001]]}, 'fix': 'y'},"                             \
  "{'where': {'box_mm': [[-1,-1,-1],[1001,1001,0.001]]}, 'fix': 'z'},"                             \
  "{'where': {'box_mm': [[999.999,-1,-1],[1001,1001,1001]]},"                                      \
  "'move': {'translate_mm': [1000,0,0], 'axes': 'x'}}"

/* a metre cube stretched to twice its length: the closed forms of a homogeneous state */
static void
test_stretched_cube(void)
{
  const double size[3] = { 1000, 1000, 1000 };
  const int n[3] = { 2, 2, 2 };
  static const struct {
    const char *material;
    double lateral, sigma; /* lateral stretch; Cauchy stress, Pa */
  } cases[] = {
    /* mu = 0.384615, lambda = 0.576923 */
    { "'model': 'neo-hookean', 'young_pa': 0.99999908, 'poisson': 0.300000104", 0.7980775,
      1.015412 },
    { "'model': 'mooney-rivlin', 'c10_pa': 1, 'c01_pa': 0.1, 'bulk_pa': 100", 0.7156560, 7.039534 },
  };
  const PlaBoxCells cells[2] = { PLA_BOX_TETS_6, PLA_BOX_HEXES };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++)
    for (int c = 0; c < 2; c++) {
      write_box("cube.vtu", size, n, cells[c]);
      g_autofree char *json =
          g_strdup_printf("{'mesh': 'cube.vtu', 'materials': [{'where': {'all': true}, %s}],"
                          "'constraints': [" SYMMETRY "],"
                          "'probes': [{'name': 'corner', 'nearest_mm': [1000,1000,1000]}],"
                          "'solver': {'tolerance_rel': 1e-11}}",
                          cases[k].material);
      PlaSimulationResult result = solve(json);
      g_assert_cmpfloat_with_epsilon(result.probe[0].position_mm[0], 2000.0, 1e-9);
      g_assert_cmpfloat_with_epsilon(result.probe[0].position_mm[1], 1000.0 * cases[k].lateral,
                                     5e-5);
      /* uniaxial: von Mises is the axial stress */
      const PlaField *mises = pla_mesh_find_field(result.mesh, "von_mises_pa", PLA_ON_CELLS);
      g_assert_cmpfloat_with_epsilon(((double *)mises->data)[0], cases[k].sigma,
                                     5e-7 * cases[k].sigma);
      g_assert_cmpint(result.solve.inverted, ==, 0);
      pla_simulation_result_clear(&result);
    }
}

/* a quarter turn of one end: the bar's axis stays put, and every thread count gives the same bits
 */
static void
test_twist(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 12, 4, 4 };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  const char *json =
      "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"
      "'young_pa': 10000, 'poisson': 0.45}],"
      "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'},"
      "{'where': {'box_mm': [[99.99,-1,-1],[101,26,26]]}, 'move': {'rotate': {'axis': [1,0,0],"
      "'through_mm': [0,12.5,12.5], 'deg': 90}}}],"
      "'probes': [{'name': 'axis', 'nearest_mm': [50,12.5,12.5]},"
      "{'name': 'end', 'nearest_mm': [100,25,25]}]}";
  double first[6];
  for (int threads = 1; threads <= 4; threads *= 2) {
    pla_threads_set(threads);
    PlaSimulationResult result = solve(json);
    double now[6];
    memcpy(now, result.probe[0].position_mm, 3 * sizeof *now);
    memcpy(now + 3, result.probe[1].position_mm, 3 * sizeof *now);
    g_assert_cmpfloat_with_epsilon(now[1], 12.5, 0.3);
    g_assert_cmpfloat_with_epsilon(now[2], 12.5, 0.3);
    g_assert_cmpfloat_with_epsilon(now[4], 0.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(now[5], 25.0, 1e-9);
    if (threads == 1)
      memcpy(first, now, sizeof first);
    g_assert_true(memcmp(first, now, sizeof first) == 0);
    pla_simulation_result_clear(&result);
  }
}

#define BAR(model)                                                                                 \
  "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': " model "}],"               \
  "'probes': [{'name': 'middle', 'nearest_mm': [50,25,25]}],"
#define NEAR_END "{'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'}"
#define SOFT "'neo-hookean', 'young_pa': 10000, 'poisson': 0.45"

/* a whole turn in eight steps is one, though its end is where it began: half way along the bar is
 * half way round; from one step to that place nothing has moved */
static void
test_whole_turn(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 8, 2, 2 };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_5);
  for (int steps = 1; steps <= 8; steps += 7) {
    g_autofree char *json =
        g_strdup_printf(BAR(SOFT) "'constraints': [" NEAR_END
                                  ", {'where': {'box_mm': [[99.99,-1,-1],[101,26,26]]},"
                                  "'move': {'rotate': {'axis': [1,0,0], 'through_mm': "
                                  "[0,12.5,12.5], 'deg': 360}, 'steps': %d}}]}",
                        steps);
    PlaSimulationResult result = solve(json);
    const double *x = result.probe[0].position_mm, there = steps == 1 ? 25.0 : 0.0;
    g_assert_cmpfloat_with_epsilon(x[1], there, 1.0);
    g_assert_cmpfloat_with_epsilon(x[2], there, 1.0);
    g_assert_true((result.solve.min_jacobian > 0.999) == (steps == 1));
    g_assert_cmpfloat(result.reached, ==, 1.0);
    pla_simulation_result_clear(&result);
  }
}

/* A quarter turn in one jump, of a law that grows exponentially: the start has 1e21 N, of which
 * 1e-6 says nothing.  At the end the two supports balance nevertheless.  All three solvers have the
 * standard elements. */
static void
test_violent_start(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 8, 2, 2 };
  static const char *const methods[] = { "auto", "newton", "pbng" };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  double middle[3][3];
  for (int m = 0; m < 3; m++) {
    g_autofree char *json =
        g_strdup_printf(BAR("'fung'") "'formulation': 'standard', 'constraints': [" NEAR_END
                                      ", {'where': {'box_mm': [[99.99,-1,-1],[101,26,26]]},"
                                      "'move': {'rotate': {'axis': [1,0,0], 'through_mm': "
                                      "[0,12.5,12.5], 'deg': 90}}}],"
                                      "'solver': {'method': '%s'}}",
                        methods[m]);
    PlaSimulationResult result = solve(json);
    const double *a = result.reaction[0].force_n, *b = result.reaction[1].force_n;
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(a[d], -b[d], 1e-3 * fabs(a[0]));
    memcpy(middle[m], result.probe[0].position_mm, sizeof middle[m]);
    for (int d = 0; d < 3; d++)
      g_assert_cmpfloat_with_epsilon(middle[m][d], middle[0][d], 1e-5 * 100.0);
    pla_simulation_result_clear(&result);
  }
}

/* A load three times as large as the modulus stretches the bar to many times its length: Newton's
 * method gets there at once.  One of sixteen times the modulus takes it more steps than it may
 * make, and increments get there; without enough steps for these, the result says how far it came,
 * also if its last increment was found.  The counts are those of standard elements. */
static void
test_increments(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 8, 2, 2 };
  const struct {
    double newton;
    int limit, least, most; /* iterations */
    bool reached;
  } cases[] = { { 20, 90, 1, 60, true },
                { 100, 130, 131, 390, true },
                { 120, 140, 141, 420, false },
                { 20, 8, 1, 24, false } };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    g_autofree char *json =
        g_strdup_printf(BAR(SOFT) "'formulation': 'standard', 'constraints': [" NEAR_END
                                  "], 'loads': [{'where': {'box_mm': [[99.99,-1,-1],[101,26,26]]},"
                                  "'force_n': [0,0,-%g]}], 'solver': {'max_iterations': %d}}",
                        cases[k].newton, cases[k].limit);
    PlaSimulation *scene = NULL;
    PlaSimulationResult result = { 0 };
    PlaError err = { 0 };
    g_assert_cmpint(load(json, &scene, &err), ==, PLA_OK);
    g_assert_cmpint(pla_simulation_solve(scene, NULL, &result, &err), ==, PLA_OK);
    g_test_message("%d iterations, %s, up to %g", result.solve.iterations,
                   pla_stop_reason_text(result.solve.reason), result.reached);
    g_assert_cmpint(result.solve.iterations, >=, cases[k].least);
    g_assert_cmpint(result.solve.iterations, <=, cases[k].most);
    g_assert_true((result.solve.reason == PLA_STOP_CONVERGED) == cases[k].reached);
    g_assert_true((result.reached == 1.0) == cases[k].reached);
    if (cases[k].reached) {
      g_assert_cmpfloat_with_epsilon(result.reaction[0].force_n[2], cases[k].newton,
                                     1e-4 * cases[k].newton);
      g_assert_cmpint(result.solve.inverted, ==, 0);
    }
    pla_simulation_result_clear(&result);
    pla_simulation_free(scene);
  }
}

/* squeezed to a third, this law lets elements turn inside out, and the notes say where */
static void
test_inverted_note(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 8, 2, 2 };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  PlaSimulationResult result =
      solve(BAR("'stvk', 'young_pa': 10000, 'poisson': 0.45") "'formulation': 'standard', "
                                                              "'gravity_m_s2': [0,0,-9.81],"
                                                              "'constraints': [" NEAR_END "]}");
  g_assert_cmpint(result.solve.inverted, >, 0);
  g_assert_cmpuint(result.notes->len, ==, 1);
  g_assert_nonnull(strstr(g_ptr_array_index(result.notes, 0), "turned inside out"));
  pla_simulation_result_clear(&result);
}

/* Meshes that cannot be simulated, each with its own sentence: two tets whose first vertex is
 * @first, the first of them with corners @corners; and twice that, side by side. */
static void
test_bad_meshes(void)
{
  static const struct {
    const char *first, *corners;
    int copies;
    const char *word;
  } cases[] = {
    { "nan 0 0", "0 1 2 3", 1, "vertex 0 has a coordinate that is not a number" },
    { "0 inf 0", "0 1 2 3", 1, "vertex 0 has a coordinate that is not a number" },
    { "0 0 0", "0 2 1 3", 1, "tetrahedron 0, near (0.00, 0.00, 0.00) mm, is inverted at rest" },
    { "0 0 10", "0 1 2 3", 1, "is flat at rest" },
    { "0 0 0", "0 1 1 3", 1, "is flat at rest" },
    { "0 0 0", "1 4 2 3", 1, "tetrahedron 1 of the mesh is the same as 0" },
    { "0 0 0", "4 2 1 3", 1, "tetrahedron 1 of the mesh is the same as 0" },
    { "0 0 0", "0 1 2 7", 1, "names one that is not there" },
    { "0 0 0", "", 1, "no tetrahedra" },
    { "0 0 0", "0 1 2 3", 2, "nothing holds the piece of 5 vertices around (54.0, 4.0, 4.0) mm" },
  };
  g_autofree char *nodes = path_of("bad.node"), *cells = path_of("bad.ele");
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    g_autoptr(GString) node = g_string_new(NULL);
    g_autoptr(GString) ele = g_string_new(NULL);
    const int copies = cases[k].copies, tets = cases[k].corners[0] ? 2 : 0;
    g_string_append_printf(node, "%d 3 0 0\n", 5 * copies);
    g_string_append_printf(ele, "%d 4 0\n", tets * copies);
    for (int c = 0; c < copies; c++) {
      const int i = 5 * c, x = 50 * c;
      if (c == 0)
        g_string_append_printf(node, "0 %s\n", cases[k].first);
      else
        g_string_append_printf(node, "%d %d 0 0\n", i, x);
      g_string_append_printf(node, "%d %d 0 0\n%d %d 10 0\n%d %d 0 10\n%d %d 10 10\n", i + 1,
                             x + 10, i + 2, x, i + 3, x, i + 4, x + 10);
      if (tets && c == 0)
        g_string_append_printf(ele, "0 %s\n1 1 4 2 3\n", cases[k].corners);
      else if (tets)
        g_string_append_printf(ele, "2 %d %d %d %d\n3 %d %d %d %d\n", i, i + 1, i + 2, i + 3, i + 1,
                               i + 4, i + 2, i + 3);
    }
    g_assert_true(g_file_set_contents(nodes, node->str, -1, NULL));
    g_assert_true(g_file_set_contents(cells, ele->str, -1, NULL));
    PlaSimulation *scene = NULL;
    PlaError err = { 0 };
    PlaStatus st =
        load("{'mesh': 'bad.node', 'materials': [{'where': {'all': true}, 'model': 'linear'}],"
             "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]}, 'fix':"
             "'xyz'}]}",
             &scene, &err);
    if (st == PLA_OK || !strstr(err.message, cases[k].word))
      g_error("mesh %zu: expected a sentence with '%s', got '%s'", k, cases[k].word, err.message);
    pla_simulation_free(scene);
  }
  g_remove(nodes);
  g_remove(cells);
}

/* a bar of two labels with fields for fibres and stiffness; tissues by name, no pascals */
static void
write_labelled(const char *name)
{
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.04, 0.01, 0.01 };
  const int n[3] = { 8, 2, 2 };
  PlaError err = { 0 };
  PlaItem item = { .kind = PLA_KIND_MESH };
  PlaWriteOptions opts = pla_write_options_default();
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_6, &item.mesh, &err), ==, PLA_OK);
  int32_t *label = pla_mesh_add_field(item.mesh, "label", PLA_ON_CELLS, PLA_I32, 1);
  double *fibre = pla_mesh_add_field(item.mesh, "fibre", PLA_ON_CELLS, PLA_F64, 3);
  double *young = pla_mesh_add_field(item.mesh, "young", PLA_ON_CELLS, PLA_F64, 1);
  double *share = pla_mesh_add_field(item.mesh, "share", PLA_ON_CELLS, PLA_F64, 1);
  double *rest = pla_mesh_add_field(item.mesh, "rest", PLA_ON_CELLS, PLA_F64, 1);
  for (int t = 0; t < item.mesh->n_tets; t++) {
    double x = 0.0;
    for (int a = 0; a < 4; a++)
      x += item.mesh->pos[3 * item.mesh->tet[4 * t + a]] / 4.0;
    label[t] = x < 0.01 ? 7 : 3;
    fibre[3 * t] = 2.0;
    young[t] = x < 0.02 ? 1e4 : 2e4;
    share[t] = x < 0.02 ? 1.0 : 0.25;
    rest[t] = 1.0 - share[t];
  }
  g_autofree char *path = path_of(name);
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_OK);
  pla_item_clear(&item);
}

/* each mistake has its own sentence, which names it */
static void
test_mistakes(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 4, 1, 1 };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  write_labelled("labelled.vtu");
#define OK_MATERIAL "'materials': [{'where': {'all': true}, 'model': 'linear'}]"
#define OK_CLAMP "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'}]"
  static const struct {
    const char *json, *word;
  } cases[] = {
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'colour': 1}", "colour" },
    { "{" OK_MATERIAL ", " OK_CLAMP "}", "mesh" },
    { "{'mesh': 'none.vtu', " OK_MATERIAL ", " OK_CLAMP "}", "none.vtu" },
    { "{'mesh': 'bar.vtu', " OK_CLAMP "}", "materials" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'granite'}]," OK_CLAMP
      "}",
      "granite" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'linear', 'c10_pa': "
      "1}]," OK_CLAMP "}",
      "c10_pa" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"
      "'poisson': 0.5}]," OK_CLAMP "}",
      "below 0.5; for tissue that keeps its volume" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'region': 7}, 'model': 'linear'}]," OK_CLAMP
      "}",
      "'materials[0].where.region' selects by the cell field 'region'" },
    { "{'mesh': 'labelled.vtu', 'materials': [{'where': {'label': 5}, 'model': 'linear'}]," OK_CLAMP
      "}",
      "'materials[0].where' selects no element" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'box_mm': [[0,0,0],[50,25,25]]},"
      "'model': 'linear'}]," OK_CLAMP "}",
      "no material" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL "}", "nothing holds" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
      "[[-1,-1,-1],[0.01,26,26]]}, 'fix': 'x'}]}",
      "can still" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
      "[[500,0,0],[600,1,1]]}, 'fix': 'xyz'}]}",
      "selects no vertex" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'nodes': [99999]},"
      "'fix': 'xyz'}]}",
      "constraints[0].where.nodes[0]" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'all': true}, 'fix': 'w'}]}",
      "x, y and z" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'gravity_m_s2': [0, 'down', 0]}",
      "gravity_m_s2[1]" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'solver': {'method': 'magic'}}",
      "magic" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'mesh_unit': 'furlong'}", "furlong" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'preset': 'chrome'}]," OK_CLAMP
      "}",
      "chrome" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'preset': 'by-label'}]," OK_CLAMP
      "}",
      "by label" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'linear',"
      "'activation': 0.5}]," OK_CLAMP "}",
      "no 'fibre'" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'linear',"
      "'fibre': [1,0,0], 'activation': 0.5}]," OK_CLAMP "}",
      "has no fibres" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'muscle',"
      "'fibre': [1,0,0], 'activation': 1.5}]," OK_CLAMP "}",
      "activation" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'model': 'muscle',"
      "'fibre': 'grain'}]," OK_CLAMP "}",
      "grain" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'all': true}, 'mixture': [{'preset': 'fat',"
      "'fraction': 0.5}, {'preset': 'skin', 'fraction': 0.6}]}]," OK_CLAMP "}",
      "sum" },
    { "{'mesh': 'bar.vtu', 'materials': [{'where': {'label': 'Skin'}, 'preset': 'skin'}]," OK_CLAMP
      "}",
      "Skin" },
    { "{'mesh': 'bar.vtu', 'formulation': 'mixed', " OK_MATERIAL ", " OK_CLAMP "}", "linear" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
      "[[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'}, {'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]},"
      "'move': {'translate_mm': [1,0,0]}}]}",
      "'constraints[1]' moves vertex 0 along x, which constraints[0] fixes" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
      "[[-1,-1,-1],[0.01,26,26]]}, 'move': {'translate_mm': [1,0,0]}}, {'where': {'nodes': [0]},"
      "'fix': 'z'}]}",
      "'constraints[1]' fixes vertex 0 along z, which constraints[0] moves" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
      "[[-1,-1,-1],[0.01,26,26]]}, 'move': {'translate_mm': [1,0,0]}}, {'where': {'nodes': [0]},"
      "'move': {'translate_mm': [2,0,0]}}]}",
      "which constraints[0] moves otherwise" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'hooks': [{'at_mm': [0,0,0],"
      "'pull_mm': [0,0,1]}]}",
      "'hooks[0]' pulls vertex 0, which constraints[0] holds" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'probes': [{'name': 'tip', 'nearest_mm':"
      "[0,0,0]}, {'name': 'tip', 'nearest_mm': [100,0,0]}]}",
      "'probes[1].name' is 'tip', as that of probes[0]" },
    { "{'mesh': 'bar.vtu', " OK_MATERIAL ", " OK_CLAMP ", 'loads': [{'where': {'nodes': []},"
      "'force_n': [0,0,1]}]}",
      "loads[0].where" },
    { "{'mesh': 'bar.vtu', ", "line" },
    { "[1, 2]", "object" },
  };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    PlaSimulation *scene = NULL;
    PlaError err = { 0 };
    PlaStatus st = load(cases[k].json, &scene, &err);
    if (st == PLA_OK || !strstr(err.message, cases[k].word))
      g_error("mistake %zu: expected a sentence with '%s', got '%s'", k, cases[k].word,
              err.message);
    g_assert_null(scene);
  }
}

/* what does not contradict itself goes on: one axis moved, the others fixed, which then stay; the
 * same motion twice; a force on what is held, which a note remarks */
static void
test_agreeing(void)
{
  const double size[3] = { 100, 25, 25 };
  const int n[3] = { 4, 1, 1 };
  write_box("bar.vtu", size, n, PLA_BOX_TETS_6);
  PlaSimulationResult result =
      solve("{'mesh': 'bar.vtu', 'formulation': 'standard', " OK_MATERIAL ", 'constraints': ["
            "{'where': {'box_mm': [[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'},"
            "{'where': {'box_mm': [[99.9,-1,-1],[101,26,26]]}, 'fix': 'yz'},"
            "{'where': {'box_mm': [[99.9,-1,-1],[101,26,26]]}, 'move': {'translate_mm': [5,3,2],"
            "'axes': 'x'}},"
            "{'where': {'box_mm': [[99.9,-1,-1],[101,26,0.1]]}, 'move': {'translate_mm': [5,3,2],"
            "'axes': 'x'}}],"
            "'loads': [{'where': {'nodes': [0]}, 'force_n': [0,0,1]}],"
            "'probes': [{'name': 'end', 'nearest_mm': [100,0,0]}]}");
  g_assert_cmpfloat_with_epsilon(result.probe[0].displacement_mm[0], 5.0, 1e-12);
  g_assert_cmpfloat_with_epsilon(result.probe[0].displacement_mm[1], 0.0, 1e-12);
  g_assert_cmpfloat_with_epsilon(result.probe[0].displacement_mm[2], 0.0, 1e-12);
  g_assert_cmpuint(result.notes->len, ==, 1);
  g_assert_nonnull(strstr(g_ptr_array_index(result.notes, 0), "loads[0] acts only on"));
  pla_simulation_result_clear(&result);
}

#define HELD "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,11,11]]}, 'fix': 'xyz'}],"
/* symmetry planes: the body may change its size, but neither move nor turn */
#define ROLLERS                                                                                    \
  "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,11,11]]}, 'fix': 'x'},"                  \
  "{'where': {'box_mm': [[-1,-1,-1],[41,0.01,11]]}, 'fix': 'y'},"                                  \
  "{'where': {'box_mm': [[-1,-1,-1],[41,11,0.01]]}, 'fix': 'z'}],"
#define TIP "'probes': [{'name': 'tip', 'nearest_mm': [40,10,10]}]"

static double
tip_x(const char *materials, const char *held)
{
  g_autofree char *json =
      g_strdup_printf("{'mesh': 'labelled.vtu', 'materials': [%s], %s" TIP "}", materials, held);
  PlaSimulationResult result = solve(json);
  double x = result.probe[0].displacement_mm[0];
  pla_simulation_result_clear(&result);
  return x;
}

#define RELAXED                                                                                    \
  "{'where': {'all': true}, 'model': 'neo-hookean', 'fibre': [1,0,0], 'activation': 1,"            \
  "'contraction': 'rest-shape', 'gamma': 0.4}"
#define TENSE                                                                                      \
  "{'where': {'all': true}, 'preset': 'skin', 'prestretch': {'line': [1,0,0],"                     \
  "'normal': [0,0,1], 'along': 1.1, 'across': 1.0}}"

/* A clamp keeps some of the contraction back: bars of 2, 4, 6, 8 cells across end at -10.85,
 * -11.39, -11.52, -11.58 mm (-12 without the clamp), and skin at -3.232, -3.439, -3.488, -3.508
 * (-3.636).  Errors against the limits fall about as the cells do, the rim of a clamp being
 * singular. */
static void
test_clamped(void)
{
  static const struct {
    const char *material;
    double free_mm, limit_mm; /* exact, and extrapolated from 6 and 8 cells */
  } cases[] = { { RELAXED, -12.0, -11.75 }, { TENSE, 40.0 / 1.1 - 40.0, -3.568 } };
  const double size[3] = { 40, 10, 10 };
  for (size_t k = 0; k < G_N_ELEMENTS(cases); k++) {
    double error[2];
    for (int fine = 0; fine < 2; fine++) {
      const int n = fine ? 4 : 2, cells[3] = { 4 * n, n, n };
      write_box("labelled.vtu", size, cells, PLA_BOX_TETS_6);
      g_assert_cmpfloat_with_epsilon(tip_x(cases[k].material, ROLLERS), cases[k].free_mm, 1e-4);
      error[fine] = tip_x(cases[k].material, HELD) - cases[k].limit_mm;
    }
    g_test_message("errors %g and %g mm", error[0], error[1]);
    g_assert_cmpfloat(error[0], >, 0.0);
    g_assert_cmpfloat(error[0], <, -0.13 * cases[k].limit_mm);
    g_assert_cmpfloat(error[1], <, 0.65 * error[0]);
  }
}

/* how far the end of a bar of 1 m drops under its own weight, mm; 4 n x n x n cells */
static double
bar_drop(PlaBoxCells kind, int n, const char *more)
{
  const double size[3] = { 1000, 250, 250 };
  const int cells[3] = { 4 * n, n, n };
  write_box("bar.vtu", size, cells, kind);
  g_autofree char *json = g_strdup_printf(
      "{'mesh': 'bar.vtu', %s 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"
      "'young_pa': 1e6, 'poisson': 0.45, 'density_kg_m3': 1000}], 'gravity_m_s2': [0,0,-9.81],"
      "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,251,251]]}, 'fix': 'xyz'}],"
      "'probes': [{'name': 'tip', 'nearest_mm': [1000,125,125]}]}",
      more);
  PlaSimulationResult result = solve(json);
  const double drop = -result.probe[0].displacement_mm[2];
  g_assert_cmpint(result.solve.reason, ==, PLA_STOP_CONVERGED);
  g_test_message("%d cells across, elements %d %s: %g mm", n, (int)kind, more, drop);
  pla_simulation_result_clear(&result);
  return drop;
}

/* Elements that do not lock are near the limit at 4 cells across (1536 tets) and closer at 8 (12k),
 * whatever the cells are.  The limit is extrapolated from 4, 8 and 12 cells, each kind by itself:
 * hexes 225.61, 229.82, 230.93 mm to 232.4; six tets a cell 240.75, 234.70, 233.48 to 232.4; five
 * 227.76, 231.11, 231.68 to 232.1. */
static void
test_bar_drop(void)
{
  const double limit_mm = 232.3;
  static const PlaBoxCells kinds[] = { PLA_BOX_HEXES, PLA_BOX_TETS_6, PLA_BOX_TETS_5 };
  for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++) {
    g_assert_cmpfloat(fabs(bar_drop(kinds[k], 4, "") / limit_mm - 1.0), <, 0.05);
    g_assert_cmpfloat(fabs(bar_drop(kinds[k], 8, "") / limit_mm - 1.0), <, 0.02);
  }
  /* standard tets do, and by name they still can be had */
  g_assert_cmpfloat(bar_drop(PLA_BOX_TETS_6, 4, "'formulation': 'standard',"), <, 0.85 * limit_mm);
}

static void
test_tissues(void)
{
  write_labelled("labelled.vtu");
  /* muscle shortens along its fibres, more so when more active, and not at all when at rest */
  double last = 1e-9;
  for (int k = 0; k < 3; k++) {
    g_autofree char *muscle = g_strdup_printf(
        "{'where': {'all': true}, 'preset': 'left masseter', 'fibre': 'fibre', 'activation': %g}",
        0.02 * k);
    double x = tip_x(muscle, HELD);
    g_assert_cmpfloat(x, <, last);
    last = x - 0.01;
  }
  /* by its rest shape, 1/s long and free of stress, on rollers */
  double x = tip_x(RELAXED, ROLLERS), exact = 40.0 * (0.7 - 1.0);
  g_assert_cmpfloat_with_epsilon(x, exact, 1e-4);
  /* skin under tension pulls its free end back */
  x = tip_x(TENSE, ROLLERS);
  exact = 40.0 * (1.0 / 1.1 - 1.0);
  g_assert_cmpfloat_with_epsilon(x, exact, 1e-4);

  /* constants from a field, and the same as a mixture of two, which has no volume term */
  const char *load = "'gravity_m_s2': [0,0,-9.81], " HELD TIP "}";
  double sag[2];
  for (int k = 0; k < 2; k++) {
    g_autofree char *json = g_strdup_printf(
        "{'mesh': 'labelled.vtu', 'formulation': 'standard', 'materials': [{'where': "
        "{'all': true}, %s}], %s",
        k == 0 ? "'model': 'neo-hookean', 'young_pa': 'young', 'poisson': 0.4"
               : "'mixture': [{'model': 'neo-hookean', 'young_pa': 10000, 'poisson': 0.4,"
                 "'fraction': 'share'}, {'model': 'neo-hookean', 'young_pa': 23333.333333333332,"
                 "'poisson': 0.4, 'fraction': 'rest'}]",
        load);
    PlaSimulationResult result = solve(json);
    sag[k] = result.probe[0].displacement_mm[2];
    pla_simulation_result_clear(&result);
  }
  g_assert_cmpfloat(sag[0], <, -0.1);
  g_assert_cmpfloat_with_epsilon(sag[1], sag[0], 1e-5);

  /* by label: bone holds still without being told, and the notes say what was assumed */
  PlaSimulationResult result =
      solve("{'mesh': 'labelled.vtu', 'labels': {'7': 'Mandible', '3': 'Left cheek'},"
            "'materials': [{'where': {'all': true}, 'preset': 'by-label'}],"
            "'gravity_m_s2': [0,0,-9.81], " TIP "}");
  g_assert_cmpfloat(result.probe[0].displacement_mm[2], <, -0.1);
  g_assert_cmpuint(result.notes->len, ==, 2);
  g_assert_nonnull(strstr(g_ptr_array_index(result.notes, 0), "Mandible"));
  g_assert_cmpint(result.n_worst, ==, PLA_WORST_ELEMENTS);
  g_assert_cmpfloat(result.worst[0].jacobian, <=, result.worst[1].jacobian);
  g_assert_cmpint(result.worst[0].element, ==, result.solve.worst_element);
  pla_simulation_result_clear(&result);
}

/* the reaction carries the weight; soft tissue gives way further than stiff tissue, and the typical
 * answer lies between */
static void
test_sensitivity(void)
{
  write_labelled("labelled.vtu");
  const char *json = "{'mesh': 'labelled.vtu', 'sensitivity': true,"
                     "'materials': [{'where': {'all': true}, 'preset': 'skin'}],"
                     "'gravity_m_s2': [0,0,-9.81], " HELD TIP "}";
  PlaSimulationResult result = solve(json);
  PlaError err = { 0 };
  g_autofree char *path = path_of("scene.json");
  /* 1090 kg/m^3 in 40 x 10 x 10 mm */
  g_assert_cmpint(result.n_reactions, ==, 1);
  g_assert_cmpfloat_with_epsilon(result.reaction[0].force_n[2], 1090.0 * 4e-6 * 9.81, 1e-6);
  PlaSimulation *scene = NULL;
  g_assert_cmpint(pla_simulation_load(path, NULL, &scene, &err), ==, PLA_OK);
  g_assert_cmpint(pla_simulation_sensitivity(scene, NULL, &result, &err), ==, PLA_OK);
  pla_simulation_free(scene);
  g_assert_true(result.sensitivity.converged[0] && result.sensitivity.converged[1]);
  g_assert_cmpfloat(result.sensitivity.probe_mm[0], >, -result.probe[0].displacement_mm[2]);
  g_assert_cmpfloat(result.sensitivity.spread_mm, >=, result.sensitivity.probe_mm[0]);
  g_assert_nonnull(pla_mesh_find_field(result.mesh, "sensitivity_mm", PLA_ON_VERTS));
  pla_simulation_result_clear(&result);
  result = solve("{'mesh': 'labelled.vtu', 'materials': [{'where': {'all': true}, 'model': "
                 "'linear'}], " HELD TIP "}");
  g_assert_cmpint(pla_simulation_load(path, NULL, &scene, &err), ==, PLA_OK);
  g_assert_cmpint(pla_simulation_sensitivity(scene, NULL, &result, &err), ==, PLA_ERR_USAGE);
  pla_simulation_free(scene);
  g_assert_nonnull(strstr(err.message, "preset"));
  pla_simulation_result_clear(&result);
}

/* A bar that is stretched by a fifth and free to narrow, against the closed form of the law: with
 * the lateral stretch b, mu (b - 1/b) + lambda ln(J) / b = 0 and sigma = (mu (a^2 - 1) + lambda
 * ln(J)) / J.  Both formulations are exact where the strain is the same everywhere. */
static void
test_stress(void)
{
  const double a = 1.2, mu = 1e4 / 2.9, lambda = 1e4 * 0.45 / (1.45 * 0.1);
  double low = 0.5, high = 1.0;
  for (int i = 0; i < 60; i++) {
    const double b = 0.5 * (low + high), j = a * b * b;
    if (mu * (b - 1.0 / b) + lambda * log(j) / b > 0.0)
      high = b;
    else
      low = b;
  }
  const double j = a * low * low, sigma = (mu * (a * a - 1.0) + lambda * log(j)) / j;
  static const char *const formulations[] = { "standard", "mixed" };
  write_labelled("labelled.vtu");
  for (int f = 0; f < 2; f++) {
    g_autofree char *json = g_strdup_printf(
        "{'mesh': 'labelled.vtu', 'formulation': '%s', 'fields': ['stress', 'strain'], "
        "'materials': "
        "[{'where': {'all': true}, 'model': 'neo-hookean', 'young_pa': 1e4, 'poisson': 0.45}], "
        "'constraints': [{'where': {'box_mm': [[-1, -1, -1], [0.01, 11, 11]]}, 'fix': 'x'}, "
        "{'where': {'box_mm': [[-1, -1, -1], [41, 0.01, 11]]}, 'fix': 'y'}, "
        "{'where': {'box_mm': [[-1, -1, -1], [41, 11, 0.01]]}, 'fix': 'z'}, "
        "{'where': {'box_mm': [[39.99, -1, -1], [41, 11, 11]]}, 'move': {'translate_mm': [8, 0, "
        "0], "
        "'axes': 'x'}}], 'solver': {'tolerance_rel': 1e-10}}",
        formulations[f]);
    PlaSimulationResult result = solve(json);
    const PlaMesh *mesh = result.mesh;
    const double *stress = pla_mesh_find_field(mesh, "stress_pa", PLA_ON_CELLS)->data;
    const double *strain = pla_mesh_find_field(mesh, "strain", PLA_ON_CELLS)->data;
    const double *first = pla_mesh_find_field(mesh, "principal_stress_pa", PLA_ON_CELLS)->data;
    for (size_t c = (size_t)mesh->n_tris; c < pla_mesh_n_cells(mesh); c++) {
      g_assert_cmpfloat_with_epsilon(stress[6 * c], sigma, 1e-5 * sigma);
      g_assert_cmpfloat_with_epsilon(first[3 * c], sigma, 1e-5 * sigma);
      g_assert_cmpfloat_with_epsilon(strain[6 * c], 0.5 * (a * a - 1.0), 1e-6);
      g_assert_cmpfloat_with_epsilon(strain[6 * c + 1], 0.5 * (low * low - 1.0), 1e-6);
      for (size_t i = 1; i < 6; i++)
        g_assert_cmpfloat_with_epsilon(stress[6 * c + i], 0.0, 1e-5 * sigma);
    }
    /* force is stress times area */
    g_assert_cmpfloat_with_epsilon(result.reaction[3].force_n[0], sigma * 1e-4 * low * low, 1e-6);
    pla_simulation_result_clear(&result);
  }
  /* a stiff bar under its weight turns about its clamp: 1000 kg/m3, 40 x 10 x 10 mm, arm 20 mm */
  PlaSimulationResult heavy = solve(
      "{'mesh': 'labelled.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean', "
      "'young_pa': 1e8, 'poisson': 0.3, 'density_kg_m3': 1000}], 'gravity_m_s2': [0, 0, "
      "-9.81], " HELD TIP "}");
  const double weight = 1000.0 * 4e-6 * 9.81;
  g_assert_cmpfloat_with_epsilon(heavy.reaction[0].moment_n_m[1], -0.02 * weight,
                                 1e-3 * 0.02 * weight);
  g_assert_cmpfloat_with_epsilon(heavy.reaction[0].moment_n_m[0], 0.0, 1e-3 * 0.02 * weight);
  g_assert_cmpfloat_with_epsilon(heavy.reaction[0].about_mm[0], 0.0, 1e-9);
  g_assert_cmpfloat_with_epsilon(heavy.reaction[0].about_mm[1], 5.0, 1e-9);
  g_assert_null(pla_mesh_find_field(heavy.mesh, "stress_pa", PLA_ON_CELLS));
  pla_simulation_result_clear(&heavy);
}

/* two bars of which one is free: the sentence says where it is */
static void
test_loose_piece(void)
{
  PlaError err = { 0 };
  PlaItem item = { .kind = PLA_KIND_MESH };
  PlaMesh *bar;
  const double lo[3] = { 0, 0, 0 }, hi[3] = { 0.01, 0.01, 0.01 };
  const int n[3] = { 1, 1, 1 };
  g_assert_cmpint(pla_box_mesh_new(lo, hi, n, PLA_BOX_TETS_6, &bar, &err), ==, PLA_OK);
  g_assert_cmpint(pla_mesh_new(16, 0, 12, 0, &item.mesh, &err), ==, PLA_OK);
  for (int copy = 0; copy < 2; copy++) {
    for (int i = 0; i < 24; i++)
      item.mesh->pos[24 * copy + i] = bar->pos[i] + (i % 3 == 0) * 0.05 * copy;
    for (int i = 0; i < 24; i++)
      item.mesh->tet[24 * copy + i] = bar->tet[i] + 8 * copy;
  }
  g_autofree char *path = path_of("two.vtu");
  PlaWriteOptions opts = pla_write_options_default();
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_OK);
  PlaSimulation *scene = NULL;
  g_assert_cmpint(load("{'mesh': 'two.vtu', " OK_MATERIAL ", 'constraints': [{'where': {'box_mm':"
                       "[[-1,-1,-1],[0.01,26,26]]}, 'fix': 'xyz'}]}",
                       &scene, &err),
                  ==, PLA_ERR_GEOMETRY);
  g_assert_nonnull(strstr(err.message, "(55.0, 5.0, 5.0) mm"));
  pla_mesh_free(bar);
  pla_item_clear(&item);
}

/* a box as a closed surface file; @open leaves its last triangle out */
static void
write_surface(const char *name, const double lo_mm[3], const double hi_mm[3], bool open)
{
  static const int tri[36] = { 0, 3, 1, 1, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                               1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7 };
  PlaItem item = { .kind = PLA_KIND_MESH };
  PlaWriteOptions opts = pla_write_options_default();
  PlaError err = { 0 };
  g_assert_cmpint(pla_mesh_new(8, open ? 11 : 12, 0, 0, &item.mesh, &err), ==, PLA_OK);
  for (int v = 0; v < 8; v++) {
    double *x = item.mesh->pos + 3 * v;
    x[0] = (v % 4 == 1 || v % 4 == 2 ? hi_mm[0] : lo_mm[0]) / 1e3;
    x[1] = (v % 4 >= 2 ? hi_mm[1] : lo_mm[1]) / 1e3;
    x[2] = (v >= 4 ? hi_mm[2] : lo_mm[2]) / 1e3;
  }
  memcpy(item.mesh->tri, tri, (open ? 33 : 36) * sizeof(int));
  g_autofree char *path = path_of(name);
  g_assert_cmpint(pla_item_write(path, &item, &opts, &err), ==, PLA_OK);
  pla_item_clear(&item);
}

#define BLOCK                                                                                      \
  "{'mesh': 'block.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"           \
  "'young_pa': 10000, 'poisson': 0.3, 'density_kg_m3': 1000}],"

/* a plate moves up into a block that is held at its top: what the plate pushes the support carries
 */
static void
test_colliders(void)
{
  const double size[3] = { 20, 20, 10 };
  const int n[3] = { 3, 3, 2 };
  write_box("block.vtu", size, n, PLA_BOX_TETS_5);
  write_surface("plate.stl", (double[3]){ -5, -5, -5 }, (double[3]){ 25, 25, -0.5 }, false);
  PlaSimulationResult result =
      solve(BLOCK "'constraints': [{'where': {'box_mm': [[-1,-1,9.99],[21,21,11]]}, 'fix': 'xyz'}],"
                  "'colliders': [{'surface': 'plate.stl', 'friction': 0.2,"
                  "'move': {'translate_mm': [0,0,1.5]}}],"
                  "'probes': [{'name': 'base', 'nearest_mm': [10,10,0]}]}");
  g_assert_cmpint(result.n_colliders, ==, 1);
  g_assert_cmpfloat(result.collider_n[2], >, 0.1);
  g_assert_cmpfloat_with_epsilon(result.collider_n[2], -result.reaction[0].force_n[2],
                                 1e-4 * result.collider_n[2]);
  /* the base stands on the plate, now at 1 mm, or the thickness above it */
  g_assert_cmpfloat(result.probe[0].position_mm[2], >, 0.99);
  g_assert_cmpfloat(result.probe[0].position_mm[2], <, 1.04);
  g_assert_cmpfloat(result.deepest_mm, <, 0.01);
  /* pressure times area is what the plate pushes with, and nothing presses elsewhere */
  const double *pa = pla_mesh_find_field(result.mesh, "contact_pressure_pa", PLA_ON_VERTS)->data;
  const double *pos = result.mesh->pos;
  const PlaTetMesh tets = pla_mesh_tets(result.mesh);
  const PlaHexMesh hexes = pla_mesh_hexes(result.mesh);
  PlaBoundary faces;
  PlaError err = { 0 };
  double push = 0.0;
  g_assert_cmpint(pla_boundary_init(&faces, &tets, &hexes, false, &err), ==, PLA_OK);
  for (int t = 0; t < faces.n_tris; t++) {
    const double *a = pos + 3 * faces.tri[3 * t], *b = pos + 3 * faces.tri[3 * t + 1],
                 *c = pos + 3 * faces.tri[3 * t + 2];
    const double across = 0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    for (int k = 0; k < 3; k++)
      push -= pa[faces.tri[3 * t + k]] * across / 3.0;
  }
  g_assert_cmpfloat_with_epsilon(push, result.collider_n[2], 1e-9);
  for (int v = 0; v < result.mesh->n_verts; v++)
    g_assert_true(pos[3 * v + 2] < 0.0015 ? pa[v] > 0.0 : pa[v] == 0.0);
  pla_boundary_clear(&faces);
  pla_simulation_result_clear(&result);
}

/* a hook of a spring and one that goes exactly where it is told report what they pull with */
static void
test_hooks(void)
{
  const double size[3] = { 20, 20, 10 };
  const int n[3] = { 2, 2, 1 };
  write_box("block.vtu", size, n, PLA_BOX_TETS_5);
  double apart[2];
  for (int soft = 0; soft < 2; soft++) {
    g_autofree char *json = g_strdup_printf(
        BLOCK "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[21,21,0.01]]}, 'fix': 'xyz'}],"
              "'hooks': [{'name': 'flap', 'at_mm': [20,20,10], 'pull_mm': [0,0,2]%s}]}",
        soft ? ", 'stiffness_n_m': 1e6" : "");
    PlaSimulationResult result = solve(json);
    g_assert_cmpint(result.n_hooks, ==, 1);
    g_assert_cmpstr(result.hook[0].name, ==, "flap");
    g_assert_cmpfloat(result.hook[0].force_n[2], >, 0.01);
    g_assert_cmpfloat_with_epsilon(result.hook[0].force_n[2], -result.reaction[0].force_n[2],
                                   1e-4 * result.hook[0].force_n[2]);
    apart[soft] = result.hook[0].force_n[2];
    pla_simulation_result_clear(&result);
  }
  g_assert_cmpfloat_with_epsilon(apart[0], apart[1], 1e-3 * apart[0]);
}

/* pressure on the top of a block that stands on its base: the base carries it */
static void
test_pressure(void)
{
  const double size[3] = { 20, 20, 10 };
  const int n[3] = { 2, 2, 1 };
  for (int k = 0; k < 2; k++) {
    write_box("block.vtu", size, n, k ? PLA_BOX_HEXES : PLA_BOX_TETS_5);
    PlaSimulationResult result = solve(
        BLOCK "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[21,21,0.01]]}, 'fix': 'xyz'}],"
              "'loads': [{'where': {'box_mm': [[-1,-1,9.99],[21,21,11]]}, 'pressure_pa': 100}]}");
    /* 100 Pa on 4 cm^2, a little more as the top widens */
    g_assert_cmpfloat(result.reaction[0].force_n[2], >, 0.04);
    g_assert_cmpfloat(result.reaction[0].force_n[2], <, 0.041);
    pla_simulation_result_clear(&result);
  }
}

/* Two sheets on a core that hardly resists, stretched: an incompressible sheet with fibres along
 * the pull carries mu (s - 1/s^2) + 4 k1 s E exp(k2 E^2) per area at rest, E = s^2 - 1. */
static void
test_layers(void)
{
  const double size[3] = { 40, 10, 10 }, s = 1.3, e = s * s - 1.0;
  const int n[3] = { 4, 2, 2 };
  const double piola = 30e3 / 3.0 * (s - 1.0 / (s * s)) + 4.0 * 2e3 * s * e * exp(0.5 * e * e);
  for (int k = 0; k < 2; k++) {
    write_box("block.vtu", size, n, k ? PLA_BOX_HEXES : PLA_BOX_TETS_5);
    PlaSimulationResult result =
        solve("{'mesh': 'block.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"
              " 'young_pa': 1, 'poisson': 0.0}],"
              "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,11,11]]}, 'fix': 'x'},"
              " {'where': {'box_mm': [[-1,-1,-1],[41,0.01,11]]}, 'fix': 'y'},"
              " {'where': {'box_mm': [[-1,-1,-1],[41,11,0.01]]}, 'fix': 'z'},"
              " {'where': {'box_mm': [[39.99,-1,-1],[41,11,11]]},"
              "  'move': {'translate_mm': [12,0,0], 'axes': 'x'}}],"
              "'layers': [{'where': {'box_mm': [[-1,-1,-1],[41,11,0.01]]}, 'thickness_mm': 0.5,"
              "            'young_pa': 30000, 'k1_pa': 2000, 'k2': 0.5, 'direction': [1,0,0]},"
              "           {'where': {'box_mm': [[-1,-1,9.99],[41,11,11]]}, 'thickness_mm': 0.5,"
              "            'young_pa': 30000, 'k1_pa': 2000, 'k2': 0.5, 'direction': [2,0,0.5]}]}");
    /* the core adds 1e-4 N */
    const double expected = piola * 2.0 * 0.5e-3 * 0.01;
    g_assert_cmpfloat_with_epsilon(-result.reaction[0].force_n[0], expected, 1e-3 * expected);
    const PlaField *tension = pla_mesh_find_field(result.mesh, "tension_kpa", PLA_ON_VERTS);
    /* true stress: the sheet is s times as long and as thin as that makes it */
    g_assert_cmpfloat_with_epsilon(((double *)tension->data)[0], 1e-3 * s * piola,
                                   1e-6 * s * piola);
    pla_simulation_result_clear(&result);
  }
  /* skin by its name is skin by its modulus */
  double force[2];
  for (int k = 0; k < 2; k++) {
    g_autofree char *json = g_strdup_printf(
        "{'mesh': 'block.vtu', 'materials': [{'where': {'all': true}, 'model': 'neo-hookean',"
        " 'young_pa': 100, 'poisson': 0.3}],"
        "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,11,11]]}, 'fix': 'xyz'},"
        " {'where': {'box_mm': [[39.99,-1,-1],[41,11,11]]}, 'move': {'translate_mm': [4,0,0]}}],"
        "'layers': [{'where': {'box_mm': [[-1,-1,9.99],[41,11,11]]}, 'thickness_mm': 1, %s}]}",
        k ? "'young_pa': 56000" : "'preset': 'skin'");
    PlaSimulationResult result = solve(json);
    force[k] = -result.reaction[0].force_n[0];
    pla_simulation_result_clear(&result);
  }
  g_assert_cmpfloat(force[0], >, 0.01);
  g_assert_true(force[0] == force[1]);
  static const struct {
    const char *json, *says;
  } bad[] = {
    { "{'young_pa': 1e4}", "has no 'where'" },
    { "{'where': {'all': true}, 'young_pa': 1e4}", "thickness_mm" },
    { "{'where': {'all': true}, 'thickness_mm': 1}", "young_pa" },
    { "{'where': {'all': true}, 'thickness_mm': -1, 'young_pa': 1e4}", "must lie between" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'young_pa': 1e4, 'kappa': 0.5}",
      "must lie between" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'young_pa': 1e4, 'prestretch': [1, 9]}",
      "between 0.5 and 3" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'young_pa': 1e4, 'prestretch': [1, 1.2]}",
      "direction" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'young_pa': 1e4, 'width_mm': 1}", "width_mm" },
    { "{'where': {'nodes': [0]}, 'thickness_mm': 1, 'young_pa': 1e4}", "no face" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'preset': 'hide'}", "hide" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'preset': 'muscle'}", "muscle" },
    { "{'where': {'all': true}, 'thickness_mm': 1, 'preset': 'skin-fibrous'}", "direction" },
  };
  for (gsize b = 0; b < G_N_ELEMENTS(bad); b++) {
    g_autofree char *json = g_strdup_printf(
        BLOCK "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.01,11,11]]}, 'fix': 'xyz'}],"
              "'layers': [%s]}",
        bad[b].json);
    PlaSimulation *scene = NULL;
    PlaError err = { 0 };
    g_assert_cmpint(load(json, &scene, &err), !=, PLA_OK);
    if (!strstr(err.message, bad[b].says))
      g_error("%s: %s", bad[b].json, err.message);
  }
}

static PlaStatus
count_frame(const PlaMesh *mesh, double time_s, void *data, PlaError *err)
{
  double *last = data;
  g_assert_cmpfloat(time_s, >=, last[0]);
  g_assert_nonnull(pla_mesh_find_field(mesh, "displacement_mm", PLA_ON_VERTS));
  last[0] = time_s;
  last[1] += 1.0;
  return PLA_OK;
}

/* a block falls freely for 0.1 s, and lands on a plane where there is one */
static void
test_motion(void)
{
  const double size[3] = { 20, 20, 20 };
  const int n[3] = { 2, 2, 2 };
  write_box("block.vtu", size, n, PLA_BOX_TETS_5);
  for (int floor = 0; floor < 2; floor++) {
    g_autofree char *json = g_strdup_printf(
        BLOCK "'gravity_m_s2': [0,0,-9.81],%s"
              "'dynamics': {'dt_s': 0.005, 'end_s': 0.1, 'integrator': 'midpoint', 'every': 4},"
              "'probes': [{'name': 'corner', 'nearest_mm': [0,0,0]}]}",
        floor ? "'colliders': [{'plane': {'point_mm': [0,0,-20], 'normal': [0,0,2]}}]," : "");
    PlaSimulation *scene = NULL;
    PlaSimulationResult result;
    PlaError err = { 0 };
    double seen[2] = { 0.0, 0.0 };
    if (load(json, &scene, &err) != PLA_OK)
      g_error("%s", err.message);
    g_assert_true(pla_simulation_is_dynamic(scene));
    g_assert_cmpint(pla_simulation_run(scene, count_frame, seen, NULL, &result, &err), ==, PLA_OK);
    g_assert_cmpfloat(seen[1], ==, 6.0);
    g_assert_cmpint(result.frames, ==, 6);
    g_assert_cmpfloat_with_epsilon(result.time_s, 0.1, 1e-12);
    g_assert_cmpint(result.unsolved_steps, ==, 0);
    double z = result.probe[0].displacement_mm[2];
    if (floor)
      g_assert_cmpfloat(z, >, -20.0);
    else
      g_assert_cmpfloat_with_epsilon(z, -0.5 * 9.81 * 0.01 * 1e3, 1e-6);
    g_assert_cmpfloat(result.deepest_mm, <, 0.04);
    pla_simulation_result_clear(&result);
    pla_simulation_free(scene);
  }
}

/* a sheet with two sides: closed, and nothing inside */
#define FACET(a, b, c)                                                                             \
  "facet normal 0 0 0\nouter loop\nvertex " a "\nvertex " b "\nvertex " c "\nendloop\nendfacet\n"
#define FLAT                                                                                       \
  "solid flat\n" FACET("0 0 -1", "20 0 -1", "0 20 -1")                                             \
      FACET("0 0 -1", "0 20 -1", "20 0 -1") "endsolid\n"

/* each mistake has its sentence */
static void
test_bad_contact(void)
{
  const double size[3] = { 20, 20, 10 };
  const int n[3] = { 2, 2, 1 };
  write_box("block.vtu", size, n, PLA_BOX_TETS_5);
  write_surface("open.stl", (double[3]){ -5, -5, -5 }, (double[3]){ 25, 25, -0.5 }, true);
  g_autofree char *flat = path_of("flat.stl");
  g_assert_true(g_file_set_contents(flat, FLAT, -1, NULL));
  static const struct {
    const char *json, *says;
  } bad[] = {
    { "'colliders': [{'surface': 'none.stl'}]", "none.stl" },
    { "'colliders': [{'surface': 'open.stl'}]", "not closed" },
    { "'colliders': [{'surface': 'flat.stl'}]", "encloses no volume" },
    { "'colliders': [{'surface': 'block.vtu'}]", "no triangles" },
    { "'colliders': [{}]", "either a 'surface' file or a 'plane'" },
    { "'colliders': [{'plane': {'point_mm': [0,0,0], 'normal': [0,0,0]}}]", "has no length" },
    { "'colliders': [{'plane': {'point_mm': [0,0,0]}}]", "needs 'point_mm' and 'normal'" },
    { "'colliders': [{'surface': 'open.stl', 'rough': 1}]", "rough" },
    { "'colliders': []", "list of colliders" },
    { "'contact': {'friction': -1}", "must not be negative" },
    { "'contact': {'sticky': true}", "sticky" },
    { "'dynamics': {'dt_s': 0.01}", "needs 'dt_s' and 'end_s'" },
    { "'dynamics': {'dt_s': 0, 'end_s': 1}", "above 0 s" },
    { "'dynamics': {'dt_s': 0.1, 'end_s': 0.01}", "must not be below dt_s" },
    { "'dynamics': {'dt_s': 1e-9, 'end_s': 1}", "ten million" },
    { "'dynamics': {'dt_s': 0.1, 'end_s': 1, 'integrator': 'magic'}", "backward-euler" },
    { "'dynamics': {'dt_s': 0.1, 'end_s': 1, 'speed': 2}", "speed" },
    { "'hooks': [{'at_mm': [0,0,0]}]", "needs 'at_mm' and 'pull_mm'" },
    { "'hooks': [{'at_mm': [0,0,0], 'pull_mm': [0,0,1], 'stiffness_n_m': 0}]", "above 0 N/m" },
    { "'loads': [{'where': {'nodes': [0]}, 'pressure_pa': 5}]", "no face" },
    { "'loads': [{'where': {'all': true}, 'pressure_pa': 5, 'force_n': [0,0,1]}]", "either" },
  };
  for (size_t k = 0; k < G_N_ELEMENTS(bad); k++) {
    PlaSimulation *scene = NULL;
    PlaError err = { 0 };
    g_autofree char *json = g_strdup_printf(BLOCK "%s}", bad[k].json);
    g_assert_cmpint(load(json, &scene, &err), !=, PLA_OK);
    if (!strstr(err.message, bad[k].says))
      g_error("'%s' does not say '%s'", err.message, bad[k].says);
  }
}

int
main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  folder = g_dir_make_tmp("platysma-scene-XXXXXX", NULL);
  g_test_add_func("/simulation/stretched-cube", test_stretched_cube);
  g_test_add_func("/simulation/twist", test_twist);
  g_test_add_func("/simulation/whole-turn", test_whole_turn);
  g_test_add_func("/simulation/violent-start", test_violent_start);
  g_test_add_func("/simulation/increments", test_increments);
  g_test_add_func("/simulation/inverted-note", test_inverted_note);
  g_test_add_func("/simulation/bad-meshes", test_bad_meshes);
  g_test_add_func("/simulation/mistakes", test_mistakes);
  g_test_add_func("/simulation/agreeing", test_agreeing);
  g_test_add_func("/simulation/tissues", test_tissues);
  g_test_add_func("/simulation/clamped", test_clamped);
  g_test_add_func("/simulation/bar-drop", test_bar_drop);
  g_test_add_func("/simulation/sensitivity", test_sensitivity);
  g_test_add_func("/simulation/stress", test_stress);
  g_test_add_func("/simulation/loose-piece", test_loose_piece);
  g_test_add_func("/simulation/colliders", test_colliders);
  g_test_add_func("/simulation/hooks", test_hooks);
  g_test_add_func("/simulation/pressure", test_pressure);
  g_test_add_func("/simulation/layers", test_layers);
  g_test_add_func("/simulation/motion", test_motion);
  g_test_add_func("/simulation/bad-contact", test_bad_contact);
  int failures = g_test_run();
  const char *const names[] = { "cube.vtu", "bar.vtu",  "two.vtu", "labelled.vtu", "block.vtu",
                                "open.stl", "bad.node", "bad.ele", "flat.stl",     "scene.json" };
  for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = path_of(names[i]);
    g_remove(path);
  }
  g_rmdir(folder);
  g_free(folder);
  return failures;
}

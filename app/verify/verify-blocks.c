/* Blocks: Cook's membrane, a clamped block that leans, a stiff layer on a soft one. */
#include "anatomy/mesh/box-mesh.h"
#include "app/verify/verify-private.h"

#include <math.h>

/* Cook's membrane in plane strain: corners (0, 0), (48, 44), (48, 60), (0, 44) mm, one cell thick,
 * clamped at the left, 100 N per mm of thickness upwards along the right edge.  E = 240.565 MPa,
 * nu = 0.4999. */
PlaStatus
pla_verify_cook(PlaVerifyRun *run, PlaError *err)
{
  const int n = (int)run->size, cells[3] = { n, n, 1 };
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 1.0, 1.0, 0.048 / n };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, (PlaBoxCells)run->problem->variant, &mesh, err);
  g_autoptr(GString) loads = g_string_new(NULL);
  for (int v = 0; st == PLA_OK && v < mesh->n_verts; v++) {
    double *x = mesh->pos + 3 * v;
    const double a = x[0], b = x[1];
    x[0] = 0.048 * a;
    x[1] = 0.044 * a * (1.0 - b) + b * (0.044 + 0.016 * a);
    /* the same traction everywhere: half as much at the ends of the edge */
    if (a == 1.0)
      g_string_append_printf(loads, "%s{'where': {'nodes': [%d]}, 'force_n': [0,%.15g,0]}",
                             loads->len ? ", " : "", v,
                             100.0 * (48.0 / n) / (2.0 * n) * (b == 0.0 || b == 1.0 ? 0.5 : 1.0));
  }
  g_autofree char *material = pla_verify_material(run, "neo-hookean", 240.565e6, 0.4999, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'loads': [%s], 'constraints': ["
        "{'where': {'all': true}, 'fix': 'z'},"
        "{'where': {'box_mm': [[-1,-1,-1],[0.001,99,99]]}, 'fix': 'xyz'}],"
        "'probes': [{'name': 'corner', 'nearest_mm': [48,60,0]}]}",
        material, loads->str);
  if (st == PLA_OK) {
    run->value[0] = result.probe[0].displacement_mm[1];
    if (result.discretisation.done)
      run->value[1] =
          log2(result.discretisation.probe_mm[0] / fabs(run->value[0] - run->reference[0]));
  }
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* the mean of a displacement over the top of a block of @n x @n cells, mm */
static double
mean_of_top(const PlaMesh *rest, const PlaMesh *bent, int n)
{
  const size_t top = (size_t)n * (size_t)(n + 1) * (size_t)(n + 1);
  double sum = 0.0;
  for (int j = 0; j <= n; j++)
    for (int i = 0; i <= n; i++) {
      const size_t v = top + (size_t)(i + (n + 1) * j);
      const double weight = (i % n ? 1.0 : 0.5) * (j % n ? 1.0 : 0.5) / (n * n);
      sum += weight * (bent->pos[3 * v] - rest->pos[3 * v]);
    }
  return 1e3 * sum;
}

/* A cube of 50 mm, E = 3 kPa, 1000 kg/m^3, clamped at its bottom, under 3 m/s^2 sideways.  Values:
 * how far the middle of the top moves, mm, or all of it on average.  The variant is 10000 nu. */
PlaStatus
pla_verify_leaning_block(PlaVerifyRun *run, PlaError *err)
{
  const int n = (int)run->size, cells[3] = { n, n, n };
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 0.05, 0.05, 0.05 };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, PLA_BOX_TETS_6, &mesh, err);
  g_autofree char *material =
      pla_verify_material(run, "neo-hookean", 3e3, run->problem->variant / 1e4, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'all': true}, %s}], 'gravity_m_s2': [3,0,0], 'estimate': false,"
        "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[51,51,0.001]]}, 'fix': 'xyz'}],"
        "'probes': [{'name': 'top', 'nearest_mm': [25,25,50]}]}",
        material);
  if (st == PLA_OK)
    run->value[0] = run->problem->variant == 4999 ? mean_of_top(mesh, result.mesh, n)
                                                  : result.probe[0].displacement_mm[0];
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

/* A quarter of 40 x 40 mm of skin, 2 mm thick with E = 100 kPa, on 10 mm of fat with E = 5 kPa on
 * bone, nu 0.45 both, pressed by 2 kPa over the middle 10 x 10 mm.  Value: how far the middle
 * sinks, mm.  @size cells in the skin, five times as many below, twice as large sideways. */
PlaStatus
pla_verify_layer(PlaVerifyRun *run, PlaError *err)
{
  const int n = (int)run->size, cells[3] = { 8 * n, 8 * n, 6 * n };
  const double lo[3] = { 0.0, 0.0, 0.0 }, hi[3] = { 0.02, 0.02, 0.012 };
  PlaMesh *mesh = NULL;
  PlaSimulationResult result = { 0 };
  PlaStatus st = pla_box_mesh_new(lo, hi, cells, (PlaBoxCells)run->problem->variant, &mesh, err);
  g_autofree char *skin = pla_verify_material(run, "neo-hookean", 1e5, 0.45, 1000.0);
  g_autofree char *fat = pla_verify_material(run, "neo-hookean", 5e3, 0.45, 1000.0);
  if (st == PLA_OK)
    st = pla_verify_scene(
        run, mesh, NULL, &result, err,
        "{'materials': [{'where': {'box_mm': [[-1,-1,10],[21,21,13]]}, %s},"
        "{'where': {'box_mm': [[-1,-1,-1],[21,21,10]]}, %s}], 'estimate': false,"
        "'loads': [{'where': {'box_mm': [[-1,-1,11.99],[5.001,5.001,13]]}, 'pressure_pa': 2000}],"
        "'constraints': [{'where': {'box_mm': [[-1,-1,-1],[0.001,21,13]]}, 'fix': 'x'},"
        "{'where': {'box_mm': [[-1,-1,-1],[21,0.001,13]]}, 'fix': 'y'},"
        "{'where': {'box_mm': [[-1,-1,-1],[21,21,0.001]]}, 'fix': 'xyz'}],"
        "'probes': [{'name': 'middle', 'nearest_mm': [0,0,12]}]}",
        skin, fat);
  if (st == PLA_OK)
    run->value[0] = -result.probe[0].displacement_mm[2];
  pla_simulation_result_clear(&result);
  pla_mesh_free(mesh);
  return st;
}

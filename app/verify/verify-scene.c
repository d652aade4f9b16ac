/* Scenes of problems, solved as `simulate` does, and meshes made as `mesh` does. */
#include "app/simulate/mesh-method.h"
#include "app/verify/verify-private.h"

#include <stdarg.h>

PlaStatus
pla_verify_scene(PlaVerifyRun *run, const PlaMesh *mesh, const PlaSceneMeshes *meshes,
                 PlaSimulationResult *out, PlaError *err, const char *format, ...)
{
  PlaSimulation *scene = NULL;
  va_list args;
  va_start(args, format);
  g_autofree char *text = g_strdelimit(g_strdup_vprintf(format, args), "'", '"');
  va_end(args);
  *out = (PlaSimulationResult){ 0 };
  PlaStatus st = pla_simulation_new(mesh, text, meshes, &scene, err);
  if (st == PLA_OK)
    st = pla_simulation_perform(scene, false, NULL, NULL, run->progress, out, err);
  if (st == PLA_OK && out->solve.reason == PLA_STOP_CANCELLED)
    st = pla_fail_cancelled(err);
  if (st == PLA_OK && out->solve.reason != PLA_STOP_CONVERGED)
    st = pla_fail(err, PLA_ERR_CONVERGENCE, "no equilibrium was found: %s",
                  pla_stop_reason_text(out->solve.reason));
  pla_simulation_free(scene);
  return st;
}

char *
pla_verify_material(const PlaVerifyRun *run, const char *model, double young_pa, double poisson,
                    double density)
{
  return g_strdup_printf(
      "'model': '%s', 'young_pa': %.15g, 'poisson': %.15g, 'density_kg_m3': %.15g", model,
      run->stiffness * young_pa, poisson, density);
}

PlaStatus
pla_verify_mesh(PlaVerifyRun *run, const char *method, const PlaMesh *surface, double cell_mm,
                PlaMesh **out, PlaError *err)
{
  const PlaMeshMethod *found = NULL;
  PlaMeshInput input = pla_mesh_input_default();
  PlaMeshResult result;
  input.surface = surface;
  input.cell_mm = cell_mm;
  pla_mesh_result_init(&result);
  PlaStatus st = pla_mesh_method_find(method, &found, err);
  if (st == PLA_OK)
    st = pla_mesh_method_run(found, &input, run->progress, &result, err);
  if (st == PLA_OK)
    *out = g_steal_pointer(&result.mesh);
  pla_mesh_result_clear(&result);
  return st;
}

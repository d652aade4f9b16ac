/* Scenes: how far the answer is from that of infinitely small elements. */
#include "app/simulate/simulation-private.h"

#include "anatomy/base/mat3.h"
#include "anatomy/base/memory.h"
#include "app/base/quantity.h"
#include "sim/estimate/estimate.h"

#include <glib.h>
#include <math.h>
#include <string.h>

/* what a spring pulls with more, shifted */
static void
add_spring(const PlaSpring *spring, const double *pos, const double *shifted, double force[3])
{
  double before[3], after[3];
  pla_spring_force(spring, pos, before);
  pla_spring_force(spring, shifted, after);
  for (int d = 0; d < 3; d++)
    force[d] += after[d] - before[d];
}

/* errors of the forces of constraints and hooks */
static void
measure_forces(const PlaSimulation *scene, const PlaErrorEstimate *estimate, const double *pos,
               const double *shifted, const PlaSimulationResult *result, PlaDiscretisation *out)
{
  const size_t n_held = scene->held->len, n_motions = scene->motions->len;
  g_autofree double(*held)[3] = g_malloc0_n(n_held + 1, sizeof *held);
  g_autofree double(*moved)[3] = g_malloc0_n(n_motions + 1, sizeof *moved);
  for (guint c = 0; c < n_held; c++) {
    const GArray *verts = g_ptr_array_index(scene->held, c);
    for (guint i = 0; i < 3 * verts->len; i++)
      held[c][i % 3] += estimate->reaction[3 * g_array_index(verts, int, i / 3) + (int)(i % 3)];
  }
  for (int v = 0; v < scene->mesh->n_verts; v++)
    for (int d = 0; scene->motion_of[v] >= 0 && d < 3; d++)
      moved[scene->motion_of[v]][d] += estimate->reaction[3 * v + d];
  for (guint i = 0; i < scene->supports->len; i++) {
    const PlaSupportSpec *support = &g_array_index(scene->supports, PlaSupportSpec, i);
    const PlaSpring *spring = &scene->spring_list.spring[support->spring];
    add_spring(spring, pos, shifted, held[support->constraint]);
    if (support->motion >= 0)
      add_spring(spring, pos, shifted, moved[support->motion]);
  }
  for (size_t c = 0; c < n_held; c++)
    out->reaction_n[c] = pla_vec3_norm(held[c]);
  for (size_t m = 0; m < n_motions; m++)
    out->motion_n[m] = pla_vec3_norm(moved[m]);
  for (int h = 0; h < result->n_hooks; h++) {
    const PlaHookSpec *spec = &g_array_index(scene->hooks, PlaHookSpec, (guint)h);
    double force[3] = { 0.0, 0.0, 0.0 };
    if (spec->spring >= 0)
      add_spring(&scene->spring_list.spring[spec->spring], pos, shifted, force);
    else
      memcpy(force, estimate->reaction + 3 * (size_t)spec->vert, sizeof force);
    out->hook_n[h] = pla_vec3_norm(force);
  }
}

/* fields of the result, and the largest shift: of the surface where the cells carry one, since
 * their own corners may lie outside of the material */
static PlaStatus
add_fields(const PlaSimulation *scene, const PlaErrorEstimate *estimate, PlaMesh *mesh,
           PlaDiscretisation *out, PlaError *err)
{
  const bool surface = pla_mesh_carries_surface(mesh);
  g_autofree bool *bound = g_try_new0(bool, mesh->n_verts);
  double *shift = pla_mesh_add_field(mesh, PLA_FIELD_DISPLACEMENT_ERROR, PLA_ON_VERTS, PLA_F64, 1);
  double *stress = pla_mesh_add_field(mesh, "von_mises_error_pa", PLA_ON_CELLS, PLA_F64, 1);
  if (!shift || !stress || !bound)
    return pla_fail_memory(err, "the estimate of the error");
  for (int b = 0; scene->bindings && b < scene->bindings->n; b++)
    bound[scene->bindings->vert[b]] = true;
  for (int v = 0; v < mesh->n_verts; v++) {
    shift[v] = 1e3 * pla_vec3_norm(estimate->shift + 3 * (size_t)v);
    if ((!surface || bound[v]) && shift[v] > out->displacement_mm) {
      out->displacement_mm = shift[v];
      out->vert = v;
    }
  }
  for (int t = 0; t < mesh->n_tets; t++)
    stress[mesh->n_tris + t] = fabs(estimate->von_mises_pa[t]);
  out->von_mises_pa = estimate->von_mises_rms_pa;
  return PLA_OK;
}

PlaStatus
pla_simulation_estimate(const PlaSimulation *scene, PlaProgress *progress,
                        PlaSimulationResult *result, PlaError *err)
{
  const size_t n = 3 * (size_t)scene->mesh->n_verts;
  const double *pos = result->mesh->pos;
  PlaDiscretisation *out = &result->discretisation;
  PlaErrorEstimate estimate = { 0 };
  PlaError why = { 0 };
  g_autofree double *target = g_try_new(double, n), *shifted = g_try_new(double, n);
  if (!target || !shifted)
    return pla_fail_memory(err, "the estimate of the error");
  const PlaFemConditions conditions = pla_simulation_conditions(scene, 1.0, target);
  pla_progress_phase(progress, "Estimating the error of the cells", 1.0);
  PlaStatus st = pla_error_estimate_init(&estimate, scene->model, &conditions, scene->gravity, pos,
                                         progress, &why);
  if (st == PLA_ERR_CANCELLED)
    return pla_fail_cancelled(err);
  if (st != PLA_OK) {
    /* the answer stands without it */
    g_ptr_array_add(result->notes,
                    g_strdup_printf("the error by the size of the cells is not known: %s",
                                    why.message));
    return PLA_OK;
  }
  for (size_t i = 0; i < n; i++)
    shifted[i] = pos[i] + estimate.shift[i];
  out->reaction_n = g_new0(double, scene->held->len + 1);
  out->motion_n = g_new0(double, scene->motions->len + 1);
  out->hook_n = g_new0(double, (gsize)result->n_hooks + 1);
  out->probe_mm = g_new0(double, (gsize)result->n_probes + 1);
  measure_forces(scene, &estimate, pos, shifted, result, out);
  st = add_fields(scene, &estimate, result->mesh, out, err);
  for (int i = 0; i < result->n_probes; i++)
    out->probe_mm[i] = 1e3 * pla_vec3_norm(estimate.shift + 3 * (size_t)result->probe[i].vert);
  out->done = st == PLA_OK;
  pla_error_estimate_clear(&estimate);
  return st;
}

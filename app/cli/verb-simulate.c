/* `simulate`: the static solution of a scene, or its motion. */
#include "anatomy/base/parallel.h"
#include "app/cli/cli-private.h"
#include "app/cli/mesh-series.h"
#include "app/simulate/simulation.h"
#include "io/formats/format.h"
#include "sim/solve/solve.h"

#include <glib.h>
#include <string.h>

/* what hooks and colliders carry, how deep points are, and how a motion ended */
static void
describe_forces(JsonBuilder *json, const PlaSimulationResult *result)
{
  if (result->n_hooks > 0) {
    json_builder_set_member_name(json, "hooks");
    json_builder_begin_array(json);
    for (int i = 0; i < result->n_hooks; i++) {
      json_builder_begin_object(json);
      pla_json_text(json, "name", result->hook[i].name);
      pla_json_numbers(json, "position_mm", result->hook[i].position_mm, 3);
      pla_json_numbers(json, "force_n", result->hook[i].force_n, 3);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
  }
  if (result->has_contacts) {
    pla_json_int(json, "contacts", result->solve.contacts);
    pla_json_number(json, "contact_force_n", result->solve.contact_n);
    pla_json_number(json, "max_penetration_mm", result->deepest_mm);
    json_builder_set_member_name(json, "colliders");
    json_builder_begin_array(json);
    for (int i = 0; i < result->n_colliders; i++) {
      json_builder_begin_object(json);
      pla_json_numbers(json, "force_n", result->collider_n + 3 * i, 3);
      json_builder_end_object(json);
    }
    json_builder_end_array(json);
  }
  if (result->frames > 0) {
    pla_json_number(json, "time_s", result->time_s);
    pla_json_int(json, "frames", result->frames);
    pla_json_int(json, "unsolved_steps", result->unsolved_steps);
    pla_json_number(json, "kinetic_j", result->kinetic_j);
  }
}

static void
describe_sensitivity(PlaInvocation *inv, const PlaSimulationResult *result)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaSensitivity *s = &result->sensitivity;
  json_builder_set_member_name(json, "sensitivity");
  json_builder_begin_object(json);
  pla_json_bool(json, "converged", s->converged[0] && s->converged[1]);
  pla_json_number(json, "spread_mm", s->spread_mm);
  pla_json_int(json, "spread_vertex", s->spread_vert);
  json_builder_set_member_name(json, "probes");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_probes; i++) {
    json_builder_begin_object(json);
    pla_json_text(json, "name", result->probe[i].name);
    pla_json_number(json, "spread_mm", s->probe_mm[i]);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "reactions");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_reactions; i++) {
    json_builder_begin_object(json);
    pla_json_int(json, "constraint", i);
    pla_json_number(json, "low_n", s->reaction_n[i][0]);
    pla_json_number(json, "high_n", s->reaction_n[i][1]);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  json_builder_end_object(json);
  pla_say(inv, "over the range of stiffness of the tissues the shape varies by up to %.2f mm%s",
          s->spread_mm, s->converged[0] && s->converged[1] ? "" : " (not all in equilibrium)");
  for (int i = 0; i < result->n_reactions; i++)
    pla_say(inv, "  constraint %d holds with %.3g to %.3g N", i, s->reaction_n[i][0],
            s->reaction_n[i][1]);
}

static void
describe_result(PlaInvocation *inv, const PlaSimulationResult *result)
{
  JsonBuilder *json = pla_invocation_json(inv);
  const PlaFemReport *solve = &result->solve;
  pla_json_bool(json, "converged", solve->reason == PLA_STOP_CONVERGED);
  pla_json_int(json, "iterations", solve->iterations);
  pla_json_number(json, "residual_rel", solve->residual_rel);
  pla_json_number(json, "residual_n", solve->residual_n);
  pla_json_number(json, "energy_j", solve->energy_j);
  pla_json_int(json, "inverted", solve->inverted);
  pla_json_number(json, "min_jacobian", solve->min_jacobian);
  pla_json_int(json, "worst_element", solve->worst_element);
  pla_json_text(json, "stopped", pla_stop_reason_text(solve->reason));
  pla_json_int(json, "factorisations", solve->factorisations);
  pla_json_int(json, "linear_iterations", solve->linear_iterations);
  pla_json_number(json, "seconds", result->seconds);
  pla_json_text(json, "solver", solve->method);
  pla_json_int(json, "threads", pla_threads_get());
  json_builder_set_member_name(json, "probes");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_probes; i++) {
    const PlaProbe *probe = &result->probe[i];
    json_builder_begin_object(json);
    pla_json_text(json, "name", probe->name);
    pla_json_numbers(json, "position_mm", probe->position_mm, 3);
    pla_json_numbers(json, "displacement_mm", probe->displacement_mm, 3);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  describe_forces(json, result);

  json_builder_set_member_name(json, "reactions");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_reactions; i++) {
    json_builder_begin_object(json);
    pla_json_int(json, "constraint", i);
    pla_json_numbers(json, "force_n", result->reaction[i].force_n, 3);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "worst_elements");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_worst; i++) {
    json_builder_begin_object(json);
    pla_json_int(json, "element", result->worst[i].element);
    pla_json_number(json, "jacobian", result->worst[i].jacobian);
    pla_json_numbers(json, "centre_mm", result->worst[i].centre_mm, 3);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "notes");
  json_builder_begin_array(json);
  for (guint i = 0; i < result->notes->len; i++)
    json_builder_add_string_value(json, g_ptr_array_index(result->notes, i));
  json_builder_end_array(json);
  if (result->sensitivity.done)
    describe_sensitivity(inv, result);

  pla_say(inv,
          "%s after %d iterations in %.2f s; residual %.3g of the load, %d inverted elements, "
          "smallest volume ratio %.3f",
          pla_stop_reason_text(solve->reason), solve->iterations, result->seconds,
          solve->residual_rel, solve->inverted, solve->min_jacobian);
  for (int i = 0; i < result->n_probes; i++) {
    const PlaProbe *probe = &result->probe[i];
    pla_say(inv, "  %s moved by (%.4f, %.4f, %.4f) mm", probe->name, probe->displacement_mm[0],
            probe->displacement_mm[1], probe->displacement_mm[2]);
  }
  for (int i = 0; i < result->n_hooks; i++)
    pla_say(inv, "  %s pulls with (%.4g, %.4g, %.4g) N", result->hook[i].name,
            result->hook[i].force_n[0], result->hook[i].force_n[1], result->hook[i].force_n[2]);
  for (guint i = 0; i < result->notes->len; i++)
    pla_say(inv, "  note: %s", (const char *)g_ptr_array_index(result->notes, i));
  if (result->has_contacts)
    pla_say(inv, "  %d contact points push with %.4g N; deepest penetration %.3g mm",
            solve->contacts, solve->contact_n, result->deepest_mm);
}

static PlaStatus
write_frame(const PlaMesh *mesh, double time_s, void *data, PlaError *err)
{
  return pla_mesh_series_add(data, mesh, time_s, err);
}

static PlaStatus
run_simulate(PlaInvocation *inv, PlaError *err)
{
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format = NULL;
  const char *output = pla_invocation_output(inv);
  const bool series = g_str_has_suffix(output, ".pvd");
  PlaMeshSeries frames;
  pla_mesh_series_init(&frames, output);
  PlaStatus st = series ? PLA_OK : pla_format_for_output(output, PLA_KIND_MESH, &format, err);
  pla_progress_phase(progress, "Reading the scene", 0.1);
  if (st == PLA_OK)
    st = pla_simulation_load(pla_invocation_file(inv, 0), progress, &scene, err);
  if (st == PLA_OK && series != pla_simulation_is_dynamic(scene))
    st = pla_fail(err, PLA_ERR_USAGE,
                  series
                      ? "%s has no 'dynamics', so there is one result and no series; write a .vtu "
                        "file instead of %s"
                      : "%s has 'dynamics', which gives a series of meshes; write a .pvd file "
                        "instead of %s",
                  pla_invocation_file(inv, 0), output);
  pla_progress_phase(progress, "Solving", 0.95);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_simulation_run(scene, series ? write_frame : NULL, &frames, progress, &result, err);
  if (st == PLA_OK &&
      (pla_invocation_has(inv, "sensitivity") || pla_simulation_wants_sensitivity(scene)))
    st = pla_simulation_sensitivity(pla_invocation_file(inv, 0), progress, &result, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK && series) {
    st = pla_mesh_series_finish(&frames, err);
  } else if (st == PLA_OK) {
    PlaItem item = { .kind = PLA_KIND_MESH, .mesh = result.mesh };
    PlaWriteOptions opts = pla_write_options_default();
    st = format->write(pla_invocation_output(inv), &item, &opts, err);
  }
  if (st == PLA_OK) {
    describe_result(inv, &result);
    if (result.unsolved_steps > 0)
      st = pla_fail(
          err, PLA_ERR_CONVERGENCE,
          "%s: the equations of %d time steps were not solved, the last with a residual of "
          "%.2g; make dt_s smaller",
          pla_invocation_file(inv, 0), result.unsolved_steps, result.solve.residual_rel);
    else if (result.solve.reason != PLA_STOP_CONVERGED)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%s: not in equilibrium, %s (residual %.2g; worst element %d, volume ratio "
                    "%.2g); equilibria were found up to %.0f %% of motion and load; reduce them, "
                    "allow more iterations, or refine the mesh there",
                    pla_invocation_file(inv, 0), pla_stop_reason_text(result.solve.reason),
                    result.solve.residual_rel, result.solve.worst_element,
                    result.solve.min_jacobian, 100.0 * result.reached);
  }
  pla_simulation_result_clear(&result);
  pla_simulation_free(scene);
  pla_mesh_series_clear(&frames);
  return st;
}

static const PlaOpt options[] = {
  { "sensitivity", 0, PLA_OPT_FLAG, NULL,
    "solve again with every preset at both ends of its range, and report the spread" },
  { NULL },
};

const PlaVerb pla_verb_simulate = {
  .name = "simulate",
  .args = "SCENE.json -o OUT.vtu",
  .summary = "solves a scene: materials, fixed and moved parts, loads, contact, motion in time",
  .description =
      "Finds the static equilibrium of the body that SCENE.json describes and writes it with\n"
      "displacement (mm), volume ratio, principal stretches and von Mises stress (Pa).\n\n"
      "A load's force_n is shared equally by the vertices it acts on.  Elements are selected by\n"
      "their centroid at rest, vertices by their rest position.\n\n"
      "A motion or load that finds no equilibrium at once is tried again in smaller increments.\n\n"
      "A material names a law (\"model\" and its constants, each a number or a cell field), or a\n"
      "tissue: \"preset\": \"skin\", or \"by-label\", which takes each element's tissue from the\n"
      "name that \"labels\" ({\"1\": \"Skin\", ...}) gives its label; bone then holds still.\n"
      "\"fibre\" (a direction or a cell field) and \"activation\" make muscle contract,\n"
      "\"prestretch\" ({\"line\", \"normal\", \"along\", \"across\"}) gives skin its tension, and\n"
      "\"mixture\" lists tissues that share elements by \"fraction\".  \"formulation\": \"mixed\"\n"
      "is for nearly incompressible tissue, up to a Poisson's ratio of 0.4999.\n\n"
      "Loads, besides force_n:\n"
      "  {\"where\": ..., \"pressure_pa\": P}   on the outer faces whose vertices are all "
      "selected,\n"
      "                                      always normal to them, positive towards the body\n"
      "Hooks pull at the vertex nearest to a point, and report their force:\n"
      "  \"hooks\": [{\"name\": \"flap\", \"at_mm\": [...], \"pull_mm\": [...],\n"
      "             \"stiffness_n_m\": K}]      without K the vertex goes exactly there\n"
      "Colliders are rigid; a surface must be closed:\n"
      "  \"colliders\": [{\"surface\": \"plate.stl\", \"friction\": 0.3,\n"
      "                 \"move\": {\"translate_mm\": [...], \"rotate\": {...}}},\n"
      "                {\"plane\": {\"point_mm\": [...], \"normal\": [...]}}]\n"
      "Contact between the pieces of a body and with itself:\n"
      "  \"contact\": {\"pieces\": true, \"self\": true, \"thickness_mm\": T, \"stiffness_pa_m\": "
      "K,\n"
      "              \"friction\": MU, \"slip_mm\": S, \"fascia_mm\": R, "
      "\"fascia_stiffness_pa_m\": F}\n"
      "  Points closer than the thickness push each other off.  Friction is Coulomb's beyond a\n"
      "  sliding of slip_mm, and below it grows from 0: what should stick creeps by up to that a\n"
      "  step.  Points within fascia_mm of another piece at rest keep their height over it and "
      "slide.\n"
      "Motion in time, with OUT.pvd and a mesh for every frame beside it:\n"
      "  \"dynamics\": {\"dt_s\": H, \"end_s\": T, \"every\": 1, \"integrator\": "
      "\"backward-euler\",\n"
      "               \"mass_damping_1_s\": A, \"stiffness_damping_s\": B}\n"
      "  Integrators: backward-euler, linear-euler, midpoint.  Moves run over the whole time.",
  .example = "platysma-cli simulate bar.json -o bent.vtu --json",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_simulate,
};

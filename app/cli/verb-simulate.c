/* `simulate`: the static solution of a scene. */
#include "anatomy/base/parallel.h"
#include "app/cli/cli-private.h"
#include "app/simulation.h"
#include "io/format.h"

#include <glib.h>

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
  pla_say(inv, "from the softest to the stiffest that the tissues may be, the shape varies by up to "
               "%.2f mm%s",
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
  for (guint i = 0; result->notes && i < result->notes->len; i++)
    json_builder_add_string_value(json, g_ptr_array_index(result->notes, i));
  json_builder_end_array(json);
  if (result->sensitivity.done)
    describe_sensitivity(inv, result);

  pla_say(inv, "%s after %d iterations in %.2f s; residual %.3g of the load, %d inverted elements, "
               "smallest volume ratio %.3f",
          pla_stop_reason_text(solve->reason), solve->iterations, result->seconds,
          solve->residual_rel, solve->inverted, solve->min_jacobian);
  for (int i = 0; i < result->n_probes; i++) {
    const PlaProbe *probe = &result->probe[i];
    pla_say(inv, "  %s moved by (%.4f, %.4f, %.4f) mm", probe->name, probe->displacement_mm[0],
            probe->displacement_mm[1], probe->displacement_mm[2]);
  }
}

static PlaStatus
run_simulate(PlaInvocation *inv, PlaError *err)
{
  PlaSimulation *scene = NULL;
  PlaSimulationResult result = { 0 };
  PlaProgress *progress = pla_invocation_progress(inv);
  const PlaFormat *format;
  PlaStatus st = pla_format_for_output(pla_invocation_output(inv), PLA_KIND_MESH, &format, err);
  pla_progress_phase(progress, "Reading the scene", 0.1);
  if (st == PLA_OK)
    st = pla_simulation_load(pla_invocation_file(inv, 0), progress, &scene, err);
  pla_progress_phase(progress, "Solving", 0.95);
  PlaProgressSpan span = pla_progress_push(progress);
  if (st == PLA_OK)
    st = pla_simulation_solve(scene, progress, &result, err);
  if (st == PLA_OK && (pla_invocation_has(inv, "sensitivity") ||
                       pla_simulation_wants_sensitivity(scene)))
    st = pla_simulation_sensitivity(pla_invocation_file(inv, 0), progress, &result, err);
  pla_progress_pop(progress, span);
  if (st == PLA_OK) {
    PlaItem item = { .kind = PLA_KIND_MESH, .mesh = result.mesh };
    PlaWriteOptions opts = pla_write_options_default();
    st = format->write(pla_invocation_output(inv), &item, &opts, err);
  }
  if (st == PLA_OK) {
    describe_result(inv, &result);
    if (result.solve.reason != PLA_STOP_CONVERGED)
      st = pla_fail(err, PLA_ERR_CONVERGENCE,
                    "%s: not in equilibrium, %s (residual %.2g, asked for less; worst element %d, "
                    "volume ratio %.2g); apply the motion in more steps, or refine there",
                    pla_invocation_file(inv, 0), pla_stop_reason_text(result.solve.reason),
                    result.solve.residual_rel, result.solve.worst_element,
                    result.solve.min_jacobian);
  }
  pla_simulation_result_clear(&result);
  pla_simulation_free(scene);
  return st;
}

static const PlaOpt options[] = {
  { "sensitivity", 0, PLA_OPT_FLAG, NULL,
    "solve again with every preset at both ends of its range, and tell the spread" },
  { NULL },
};

const PlaVerb pla_verb_simulate = {
  .name = "simulate",
  .args = "SCENE.json -o OUT.vtu",
  .summary = "solves a scene: materials, fixed and moved parts, loads",
  .description =
      "Finds the static equilibrium of the body that SCENE.json describes and writes it with\n"
      "displacement (mm), volume ratio, principal stretches and von Mises stress (Pa).\n\n"
      "A load's force_n is shared equally by the vertices it acts on.  Elements are selected by\n"
      "their centroid at rest, vertices by their rest position.\n\n"
      "A material names a law (\"model\" and its constants, each a number or a cell field), or a\n"
      "tissue: \"preset\": \"skin\", or \"by-label\", which takes each element's tissue from the\n"
      "name that \"labels\" ({\"1\": \"Skin\", ...}) gives its label; bone then holds still.\n"
      "\"fibre\" (a direction or a cell field) and \"activation\" make muscle contract,\n"
      "\"prestretch\" ({\"line\", \"normal\", \"along\", \"across\"}) gives skin its tension, and\n"
      "\"mixture\" lists tissues that share elements by \"fraction\".  \"formulation\": \"mixed\"\n"
      "is for nearly incompressible tissue, up to a Poisson's ratio of 0.4999.",
  .example = "platysma-cli simulate bar.json -o bent.vtu --json",
  .min_files = 1,
  .max_files = 1,
  .needs_output = true,
  .options = options,
  .run = run_simulate,
};

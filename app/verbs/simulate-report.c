/* What came of a scene: keys and lines of `simulate`, from a file and in a case. */
#include "app/verbs/simulate-report.h"

#include "app/base/json.h"
#include "app/base/quantity.h"

#include <math.h>
#include <stdarg.h>

static void say(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);

static void
say(GPtrArray *lines, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  g_ptr_array_add(lines, g_strdup_vprintf(format, args));
  va_end(args);
}

/* over all vertices */
static double
max_displacement_mm(const PlaMesh *mesh)
{
  const PlaField *field = pla_mesh_find_field(mesh, PLA_FIELD_DISPLACEMENT, PLA_ON_VERTS);
  const double *mm = field ? field->data : NULL;
  double largest = 0.0;
  for (size_t v = 0; mm && v < (size_t)mesh->n_verts; v++)
    largest = fmax(largest, hypot(hypot(mm[3 * v], mm[3 * v + 1]), mm[3 * v + 2]));
  return largest;
}

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
      if (result->discretisation.done)
        pla_json_number(json, "error_n", result->discretisation.hook_n[i]);
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

/* " +- 0.04", or nothing where the error is not known; g_free() */
static char *
error_text(bool known, const double *error, int i)
{
  return known ? g_strdup_printf(" +- %.2g", error[i]) : g_strdup("");
}

static void
describe_sensitivity(JsonBuilder *json, GPtrArray *lines, const PlaSimulationResult *result)
{
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
  say(lines, "over the range of stiffness of the tissues the shape varies by up to %.2f mm%s",
      s->spread_mm, s->converged[0] && s->converged[1] ? "" : " (not all in equilibrium)");
  for (int i = 0; i < result->n_reactions; i++)
    say(lines, "  constraint %d holds with %.3g to %.3g N", i, s->reaction_n[i][0],
        s->reaction_n[i][1]);
}

void
pla_simulation_describe(const PlaSimulationResult *result, JsonBuilder *json, GPtrArray *lines)
{
  const PlaFemReport *solve = &result->solve;
  const PlaDiscretisation *cells = &result->discretisation;
  pla_json_bool(json, "converged", solve->reason == PLA_STOP_CONVERGED);
  pla_json_int(json, "iterations", solve->iterations);
  pla_json_number(json, "residual_rel", solve->residual_rel);
  pla_json_number(json, "residual_n", solve->residual_n);
  pla_json_number(json, "energy_j", solve->energy_j);
  pla_json_int(json, "inverted", solve->inverted);
  pla_json_number(json, "min_jacobian", solve->min_jacobian);
  pla_json_int(json, "worst_element", solve->worst_element);
  pla_json_text(json, "stopped", pla_stop_reason_text(solve->reason));
  pla_json_text(json, "reason", pla_stop_reason_text(solve->reason)); /* as cases have it */
  pla_json_numbers(json, "residuals", solve->residuals, solve->n_residuals);
  pla_json_number(json, "max_displacement_mm", max_displacement_mm(result->mesh));
  if (cells->done) {
    pla_json_number(json, "displacement_error_mm", cells->displacement_mm);
    pla_json_int(json, "displacement_error_vertex", cells->vert);
    pla_json_number(json, "von_mises_error_pa", cells->von_mises_pa);
  }
  pla_json_int(json, "factorisations", solve->factorisations);
  pla_json_int(json, "linear_iterations", solve->linear_iterations);
  pla_json_text(json, "solver", solve->method);
  json_builder_set_member_name(json, "probes");
  json_builder_begin_array(json);
  for (int i = 0; i < result->n_probes; i++) {
    const PlaProbe *probe = &result->probe[i];
    json_builder_begin_object(json);
    pla_json_text(json, "name", probe->name);
    pla_json_numbers(json, "position_mm", probe->position_mm, 3);
    pla_json_numbers(json, "displacement_mm", probe->displacement_mm, 3);
    if (cells->done)
      pla_json_number(json, "error_mm", cells->probe_mm[i]);
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
    pla_json_numbers(json, "moment_n_m", result->reaction[i].moment_n_m, 3);
    pla_json_numbers(json, "about_mm", result->reaction[i].about_mm, 3);
    if (cells->done)
      pla_json_number(json, "error_n", cells->reaction_n[i]);
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
    describe_sensitivity(json, lines, result);

  say(lines,
      "%s after %d iterations; residual %.3g of the load, %d inverted elements, "
      "smallest volume ratio %.3f",
      pla_stop_reason_text(solve->reason), solve->iterations, solve->residual_rel, solve->inverted,
      solve->min_jacobian);
  for (int i = 0; i < result->n_probes; i++) {
    const PlaProbe *probe = &result->probe[i];
    g_autofree char *error = error_text(cells->done, cells->probe_mm, i);
    say(lines, "  %s moved by (%.4f, %.4f, %.4f)%s mm", probe->name, probe->displacement_mm[0],
        probe->displacement_mm[1], probe->displacement_mm[2], error);
  }
  for (int i = 0; i < result->n_hooks; i++) {
    g_autofree char *error = error_text(cells->done, cells->hook_n, i);
    say(lines, "  %s pulls with (%.4g, %.4g, %.4g)%s N", result->hook[i].name,
        result->hook[i].force_n[0], result->hook[i].force_n[1], result->hook[i].force_n[2], error);
  }
  if (cells->done)
    say(lines,
        "smaller cells would move the body by up to %.2g mm, and change its stress by %.2g Pa "
        "(root mean square)",
        cells->displacement_mm, cells->von_mises_pa);
  for (guint i = 0; i < result->notes->len; i++)
    say(lines, "  note: %s", (const char *)g_ptr_array_index(result->notes, i));
  if (result->has_contacts)
    say(lines, "  %d contact points push with %.4g N; deepest penetration %.3g mm", solve->contacts,
        solve->contact_n, result->deepest_mm);
}

char *
pla_simulation_shortfall(const PlaSimulationResult *result, const char *name)
{
  const PlaFemReport *solve = &result->solve;
  if (result->unsolved_steps > 0)
    return g_strdup_printf(
        "%s: the equations of %d time steps were not solved, the last with a residual of %.2g; "
        "make dt_s smaller",
        name, result->unsolved_steps, solve->residual_rel);
  if (solve->reason == PLA_STOP_CONVERGED)
    return NULL;
  return g_strdup_printf(
      "%s: not in equilibrium, %s (residual %.2g; worst element %d, volume ratio %.2g); equilibria "
      "were found up to %.0f %% of motion and load; reduce them, allow more iterations, or refine "
      "the mesh there",
      name, pla_stop_reason_text(solve->reason), solve->residual_rel, solve->worst_element,
      solve->min_jacobian, 100.0 * result->reached);
}

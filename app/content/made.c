/* Reads the metadata that verbs leave in what they make. */
#include "app/content/made.h"

#include "app/base/json.h"

#include <math.h>

PlaMade
pla_content_get_made(const PlaContent *content)
{
  JsonObject *meta = content->meta, *simulated = pla_json_member_object(meta, "simulated"),
             *compared = pla_json_member_object(meta, "compared");
  PlaMade made = { .simulated = pla_json_member_text(simulated, "mesh", NULL),
                   .mesh = pla_json_member_text(meta, "mesh", ""),
                   .markers = pla_json_member_text(meta, "markers", NULL),
                   .moves_with = pla_json_member_text(meta, "moves_with", NULL),
                   .specimen = json_object_has_member(meta, PLA_META_SPECIMEN),
                   .posed = json_object_has_member(meta, "posed") };
  if (compared) {
    made.compared = pla_json_member_text(compared, "item", "");
    made.compared_with = pla_json_member_text(compared, "with", "");
  }
  return made;
}

void
pla_content_get_notes(const PlaContent *content, PlaNotes *notes)
{
  JsonArray *list = pla_json_member_array(content->meta, "notes");
  for (guint i = 0; i < pla_json_n_elements(list); i++) {
    const char *note = pla_json_element_text(list, i);
    if (note)
      pla_notes_add(notes, "%s", note);
  }
}

bool
pla_simulated_read(const PlaContent *content, PlaSimulated *out)
{
  JsonObject *found = pla_json_member_object(content->meta, "simulated");
  *out = (PlaSimulated){ .worst_element = -1 };
  if (!found)
    return false;
  out->mesh = pla_json_member_text(found, "mesh", NULL);
  out->converged = pla_json_member_flag(found, "converged");
  out->iterations = (int)pla_json_member_number(found, "iterations", 0.0);
  out->inverted = (int)pla_json_member_number(found, "inverted", 0.0);
  out->worst_element = (int)pla_json_member_number(found, "worst_element", -1.0);
  out->residual_rel = pla_json_member_number(found, "residual_rel", 0.0);
  out->max_displacement_mm = pla_json_member_number(found, "max_displacement_mm", 0.0);
  JsonArray *forces = pla_json_member_array(found, "hook_force_n");
  out->n_hooks = (int)pla_json_n_elements(forces);
  out->hook_force_n = g_new0(double, (gsize)out->n_hooks + 1);
  for (int i = 0; i < out->n_hooks; i++)
    out->hook_force_n[i] = pla_json_element_number(forces, (guint)i, 0.0);
  out->displacement_error_mm = pla_json_member_number(found, "displacement_error_mm", NAN);
  JsonArray *errors = pla_json_member_array(found, "hook_error_n");
  if ((int)pla_json_n_elements(errors) == out->n_hooks && out->n_hooks > 0) {
    out->hook_error_n = g_new0(double, (gsize)out->n_hooks);
    for (int i = 0; i < out->n_hooks; i++)
      out->hook_error_n[i] = pla_json_element_number(errors, (guint)i, 0.0);
  }
  return true;
}

void
pla_simulated_clear(PlaSimulated *self)
{
  g_free(self->hook_force_n);
  g_free(self->hook_error_n);
  *self = (PlaSimulated){ 0 };
}

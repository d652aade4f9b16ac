/* Reads the description of a body. */
#include "app/surgery/surgery-facts.h"

#include "app/base/json.h"
#include "app/surgery/surgery-body.h"

#include <math.h>

static PlaSurgeryNumbers
read_numbers(JsonObject *r)
{
  return (PlaSurgeryNumbers){
    .known = r != NULL,
    .max_stretch = pla_json_member_number(r, "max_stretch", 0.0),
    .stitches = (int)pla_json_member_number(r, "stitches", 0.0),
    .hooks = (int)pla_json_member_number(r, "hooks", 0.0),
    .edge_gap_mm = pla_json_member_number(r, "edge_gap_mm", 0.0),
    .dog_ear_mm = pla_json_member_number(r, "dog_ear_mm", 0.0),
    .tip_gap_mm = pla_json_member_number(r, "tip_gap_mm", NAN),
    .max_tension_n = pla_json_member_number(r, "max_tension_n", 0.0),
    .closure_force_n = pla_json_member_number(r, "closure_force_n", 0.0),
    .max_hook_force_n = pla_json_member_number(r, "max_hook_force_n", 0.0),
  };
}

/* @step: an object with one member that names the tool */
static PlaSurgeryDone
read_done(JsonObject *step, JsonObject *found)
{
  PlaSurgeryDone done = { .tool = "?" };
  JsonObject *what = NULL;
  JsonObjectIter iter;
  const char *tool;
  if (step) {
    json_object_iter_init(&iter, step);
    if (json_object_iter_next(&iter, &tool, NULL)) {
      done.tool = tool;
      what = pla_json_member_object(step, tool);
    }
  }
  JsonArray *at = pla_json_member_array(what, "at_mm");
  done.name = pla_json_member_text(what, "name", pla_json_member_text(what, "from", NULL));
  done.tissue = pla_json_member_text(what, "tissue", NULL);
  done.depth_mm = pla_json_member_number(what, "depth_mm", NAN);
  done.pressure_kpa = pla_json_member_number(what, "pressure_kpa", NAN);
  done.radius_mm = pla_json_member_number(what, "radius_mm", NAN);
  done.along = pla_json_member_number(what, "along", NAN);
  done.across = pla_json_member_number(what, "across", NAN);
  for (guint d = 0; d < 3; d++)
    done.at_mm[d] = pla_json_element_number(at, d, NAN);
  done.pieces = pla_json_member_number(found, "pieces", NAN);
  done.specimen_mm3 = pla_json_member_number(found, "specimen_mm3", NAN);
  done.specimen_g = pla_json_member_number(found, "specimen_g", NAN);
  done.stitches = pla_json_member_number(found, "stitches", NAN);
  done.open_mm = pla_json_member_number(found, "open_mm", NAN);
  done.residual_rel = pla_json_member_number(found, "residual_rel", 0.0);
  done.solved = found && json_object_has_member(found, "converged");
  done.converged = pla_json_member_flag(found, "converged");
  return done;
}

PlaSurgeryFacts *
pla_surgery_facts_new(const PlaContent *content)
{
  JsonObject *surgery = pla_body_get_surgery(content);
  if (!surgery)
    return NULL;
  PlaSurgeryFacts *self = g_new0(PlaSurgeryFacts, 1);
  JsonArray *wounds = pla_json_member_array(surgery, "wounds"),
            *tissues = pla_json_member_array(surgery, "tissues"),
            *steps = pla_json_member_array(surgery, "steps"),
            *found = pla_json_member_array(surgery, "found");
  self->lattice_mm = pla_json_member_number(surgery, "lattice_mm", 0.0);
  self->readings = read_numbers(pla_json_member_object(surgery, "readings"));
  self->wounds = g_ptr_array_new();
  self->tissues = g_ptr_array_new();
  self->done = g_array_new(FALSE, FALSE, sizeof(PlaSurgeryDone));
  for (guint i = 0; i < pla_json_n_elements(wounds); i++)
    g_ptr_array_add(self->wounds,
                    (gpointer)pla_json_member_text(pla_json_element_object(wounds, i), "name", ""));
  for (guint i = 0; i < pla_json_n_elements(tissues); i++) {
    const char *tissue = pla_json_element_text(tissues, i);
    if (tissue)
      g_ptr_array_add(self->tissues, (gpointer)tissue);
  }
  for (guint i = 0; i < pla_json_n_elements(steps); i++) {
    const PlaSurgeryDone done =
        read_done(pla_json_element_object(steps, i), pla_json_element_object(found, i));
    g_array_append_val(self->done, done);
  }
  const guint n = pla_json_n_elements(found);
  self->settled = n > 0 && pla_json_member_flag(pla_json_element_object(found, n - 1), "converged");
  return self;
}

void
pla_surgery_facts_free(PlaSurgeryFacts *self)
{
  if (!self)
    return;
  g_ptr_array_unref(self->wounds);
  g_ptr_array_unref(self->tissues);
  g_array_unref(self->done);
  g_free(self);
}

/* Reads the description of a fit. */
#include "app/motion/fit-facts.h"

#include "app/base/json.h"

#include <stdlib.h>

static int
by_error(const void *a, const void *b)
{
  const PlaFittedMuscle *x = a, *y = b;
  return (x->expected_error < y->expected_error) - (x->expected_error > y->expected_error);
}

PlaFitFacts *
pla_fit_facts_new(const PlaContent *track)
{
  JsonObject *fit = pla_json_member_object(track->meta, "fit");
  if (!fit)
    return NULL;
  PlaFitFacts *self = g_new0(PlaFitFacts, 1);
  JsonArray *muscles = pla_json_member_array(fit, "muscles"),
            *notes = pla_json_member_array(fit, "notes");
  self->rms_mm = pla_json_member_number(fit, "rms_mm", 0.0);
  self->max_mm = pla_json_member_number(fit, "max_mm", 0.0);
  self->noise_mm = pla_json_member_number(fit, "noise_mm", 0.0);
  self->outliers = (int)pla_json_member_number(fit, "outliers", 0.0);
  self->n_muscles = (int)pla_json_n_elements(muscles);
  self->muscle = muscles ? g_new0(PlaFittedMuscle, (gsize)self->n_muscles + 1) : NULL;
  for (int m = 0; m < self->n_muscles; m++) {
    JsonObject *one = pla_json_element_object(muscles, (guint)m);
    self->muscle[m] =
        (PlaFittedMuscle){ .name = pla_json_member_text(one, "name", ""),
                           .expected_error = pla_json_member_number(one, "expected_error", 0.0),
                           .identifiable = pla_json_member_flag(one, "identifiable") };
  }
  if (self->muscle)
    qsort(self->muscle, (size_t)self->n_muscles, sizeof *self->muscle, by_error);
  self->notes = g_ptr_array_new();
  for (guint i = 0; i < pla_json_n_elements(notes); i++) {
    const char *note = pla_json_element_text(notes, i);
    if (note)
      g_ptr_array_add(self->notes, (gpointer)note);
  }
  return self;
}

void
pla_fit_facts_free(PlaFitFacts *self)
{
  if (!self)
    return;
  g_ptr_array_unref(self->notes);
  g_free(self->muscle);
  g_free(self);
}

/* How good a result is, in a sentence, and the colours that it is shown in. */
#include "ui/panels/simulate-private.h"

#include "app/base/quantity.h"
#include "app/content/made.h"

#include <glib/gi18n.h>
#include <math.h>

/* how good the answer is, in one sentence */
static void
show_quality(PlaSimulatePanel *self, PlaEntry *entry)
{
  PlaSimulated found = { 0 };
  const gboolean known = entry && pla_simulated_read(pla_entry_get_content(entry), &found);
  gtk_widget_set_visible(GTK_WIDGET(self->quality), known);
  self->worst_element = known ? found.worst_element : -1;
  if (!known)
    return;
  GString *text = g_string_new(NULL);
  g_string_append_printf(
      text,
      found.converged ? _("In equilibrium: relative residual %.1e after %d iterations; ")
                      : _("Not in equilibrium: relative residual %.1e after %d iterations; "),
      found.residual_rel, found.iterations);
  if (found.inverted == 0)
    g_string_append(text, _("no element is inverted."));
  else
    g_string_append_printf(text,
                           g_dngettext(NULL, "%d element is inverted.", "%d elements are inverted.",
                                       (gulong)found.inverted),
                           found.inverted);
  g_autofree char *way =
      pla_quantity_text(PLA_QUANTITY_DISPLACEMENT, found.max_displacement_mm, PLA_UNIT_MM);
  if (isnan(found.displacement_error_mm)) {
    g_string_append_printf(text, _(" The largest displacement is %s."), way);
  } else {
    g_autofree char *error = pla_quantity_text(PLA_QUANTITY_DISPLACEMENT_ERROR,
                                               found.displacement_error_mm, PLA_UNIT_MM);
    g_string_append_printf(text,
                           _(" The largest displacement is %s; by the size of the cells it may be "
                             "wrong by %s."),
                           way, error);
  }
  if (found.n_hooks > 0) {
    g_string_append(text, _(" Hooks pull with"));
    for (int i = 0; i < found.n_hooks; i++) {
      g_autofree char *force =
          pla_quantity_text(PLA_QUANTITY_FORCE, found.hook_force_n[i], PLA_UNIT_N);
      g_string_append_printf(text, "%s %s", i ? "," : "", force);
      if (found.hook_error_n) {
        g_autofree char *error =
            pla_quantity_text(PLA_QUANTITY_FORCE, found.hook_error_n[i], PLA_UNIT_N);
        g_string_append_printf(text, " ± %s", error);
      }
    }
    g_string_append(text, ".");
  }
  gtk_label_set_label(self->quality, text->str);
  g_string_free(text, TRUE);
  gtk_widget_set_visible(self->show_element, self->worst_element >= 0);
  if (!found.converged || found.inverted > 0)
    pla_simulate_show_failure(self,
                              found.inverted > 0
                                  ? _("Some elements are inverted: the mesh is too coarse there, "
                                      "or the pull is too large for one step.")
                                  : _("The solver stopped before it reached equilibrium."));
  pla_simulated_clear(&found);
}

static const PlaFieldView *
chosen_field(PlaSimulatePanel *self)
{
  static const char *const ids[] = { NULL,
                                     "stretch",
                                     "von-mises",
                                     "jacobian",
                                     "displacement",
                                     "displacement-error",
                                     "contact-pressure" };
  guint i = adw_combo_row_get_selected(self->field);
  return i > 0 && i < G_N_ELEMENTS(ids) ? pla_field_view_find(ids[i]) : NULL;
}

static void
show_range(PlaSimulatePanel *self, PlaEntry *entry)
{
  double lo, hi;
  if (!entry || !pla_entry_get_values(entry, &lo, &hi))
    return;
  const double step = pow(10.0, floor(log10(hi - lo)) - 1.0);
  const gboolean before = self->following;
  self->following = TRUE;
  GtkSpinButton *const ends[2] = { self->lo, self->hi };
  for (int e = 0; e < 2; e++) {
    gtk_spin_button_set_increments(ends[e], step, 10.0 * step);
    gtk_spin_button_set_digits(ends[e], (guint)CLAMP(-floor(log10(step)), 0, 4));
    gtk_spin_button_set_value(ends[e], e ? hi : lo);
  }
  self->following = before;
}

static void
on_field(PlaSimulatePanel *self)
{
  PlaEntry *entry = pla_simulate_get_result(self);
  const PlaFieldView *field = chosen_field(self);
  gtk_widget_set_sensitive(GTK_WIDGET(self->lo), field != NULL);
  gtk_widget_set_sensitive(GTK_WIDGET(self->hi), field != NULL);
  if (!entry || self->following)
    return;
  pla_entry_set_field(entry, field, 0.0, 0.0);
  show_range(self, entry);
}

static void
on_range(PlaSimulatePanel *self)
{
  PlaEntry *entry = pla_simulate_get_result(self);
  const double lo = gtk_spin_button_get_value(self->lo), hi = gtk_spin_button_get_value(self->hi);
  if (entry && !self->following && hi > lo)
    pla_entry_set_field(entry, chosen_field(self), lo, hi);
}

static void
on_result(PlaSimulatePanel *self)
{
  PlaEntry *entry = pla_simulate_get_result(self);
  if (self->following)
    return;
  if (entry) {
    for (guint i = 0; i < self->results->len; i++)
      pla_entry_set_visible(self->results->pdata[i], self->results->pdata[i] == entry);
    const PlaFieldView *field = pla_entry_get_field(entry);
    if (!field)
      pla_entry_set_field(entry, chosen_field(self), 0.0, 0.0);
  }
  pla_simulate_show_result(self, entry);
}

void
pla_simulate_show_result(PlaSimulatePanel *self, PlaEntry *entry)
{
  show_quality(self, entry);
  show_range(self, entry);
}

void
pla_simulate_connect_result(PlaSimulatePanel *self)
{
  g_signal_connect_swapped(self->result, "notify::selected", G_CALLBACK(on_result), self);
  g_signal_connect_swapped(self->field, "notify::selected", G_CALLBACK(on_field), self);
  g_signal_connect_swapped(self->lo, "value-changed", G_CALLBACK(on_range), self);
  g_signal_connect_swapped(self->hi, "value-changed", G_CALLBACK(on_range), self);
}

/* Formats the results of a fit as rows: marker residuals, posterior deviation of each muscle,
 * expected run time. */
#include "ui/panels/muscle-fit.h"

#include "app/base/quantity.h"
#include "app/motion/fit-facts.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static void
add(AdwPreferencesGroup *group, GPtrArray *rows, const char *title, char *value) /* takes @value */
{
  pla_panel_rows_add(group, rows, pla_row_new(title, value));
  g_free(value);
}

static GtkWidget *
expander_new(const char *title, const char *subtitle)
{
  GtkWidget *row = adw_expander_row_new();
  adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  adw_expander_row_set_subtitle(ADW_EXPANDER_ROW(row), subtitle);
  return row;
}

/* g_free() */
static char *
fit_error(double mm)
{
  return pla_quantity_text(PLA_QUANTITY_FIT_ERROR, mm, PLA_UNIT_MM);
}

/* every marker with its distances; a click goes to where it is worst */
static void
add_markers(AdwPreferencesGroup *group, GPtrArray *rows, const PlaPerformance *p)
{
  if (p->n_misfits == 0)
    return;
  g_autofree char *most = fit_error(p->misfit[0].rms_mm);
  g_autofree char *worst = g_strdup_printf(_("Worst: %s, %s"), p->misfit[0].name, most);
  GtkWidget *list = expander_new(_("Markers, worst first"), worst);
  for (int i = 0; i < p->n_misfits; i++) {
    const PlaMarkerMisfit *m = &p->misfit[i];
    g_autofree char *value = fit_error(m->rms_mm), *largest = fit_error(m->max_mm);
    g_autofree char *detail = g_strdup_printf(_("at most %s, in frame %d; seen in %d frames"),
                                              largest, m->worst_frame + 1, m->n_used);
    GtkWidget *row = pla_row_new(m->name, value);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), detail);
    gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), TRUE);
    gtk_actionable_set_action_name(GTK_ACTIONABLE(row), "muscles.go-to");
    gtk_actionable_set_action_target(GTK_ACTIONABLE(row), "i", m->worst_frame);
    adw_expander_row_add_row(ADW_EXPANDER_ROW(list), row);
  }
  pla_panel_rows_add(group, rows, list);
}

/* An expected error of this much says nothing: activations are spread that far anyway. */
#define BLIND 0.3

static GtkWidget *
muscle_row_new(const char *name, double error, gboolean seen)
{
  g_autofree char *value = g_strdup_printf("± %.2f", error);
  GtkWidget *row = pla_row_new(name, value);
  GtkWidget *bar = gtk_level_bar_new_for_interval(0.0, 1.0);
  g_autofree char *spoken = g_strdup_printf(_("Confidence in %s"), name);
  gtk_level_bar_set_value(GTK_LEVEL_BAR(bar), CLAMP(1.0 - error / BLIND, 0.0, 1.0));
  gtk_widget_set_size_request(bar, 70, -1);
  gtk_widget_set_valign(bar, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(bar), GTK_ACCESSIBLE_PROPERTY_LABEL, spoken, -1);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), bar);
  if (!seen) {
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), _("The markers cannot see it"));
    gtk_widget_add_css_class(row, "warning");
  }
  return row;
}

static void
add_muscles(AdwPreferencesGroup *group, GPtrArray *rows, const PlaFitFacts *fit, GString *notes)
{
  g_autoptr(GString) unseen = g_string_new(NULL);
  int n_seen = 0;
  for (int m = 0; m < fit->n_muscles; m++)
    n_seen += fit->muscle[m].identifiable;
  g_autofree char *count =
      g_strdup_printf(_("%d of %u are seen by these markers"), n_seen, (guint)fit->n_muscles);
  GtkWidget *list = expander_new(_("Confidence in muscles"), count);
  for (int m = 0; m < fit->n_muscles; m++) {
    const PlaFittedMuscle *muscle = &fit->muscle[m];
    if (!muscle->identifiable)
      g_string_append_printf(unseen, "%s%s", unseen->len > 0 ? "; " : "", muscle->name);
    adw_expander_row_add_row(ADW_EXPANDER_ROW(list),
                             muscle_row_new(muscle->name, muscle->expected_error,
                                            muscle->identifiable));
  }
  pla_panel_rows_add(group, rows, list);
  if (unseen->len > 0)
    g_string_append_printf(
        notes,
        _("These markers do not determine the following muscles, so their curves are guesses: %s. "
          "Markers nearer to their insertions would help."),
        unseen->str);
}

gboolean
pla_fit_rows_add(AdwPreferencesGroup *group, GPtrArray *rows, const PlaPerformance *p, char **notes)
{
  g_autoptr(PlaFitFacts) fit = p->track ? pla_fit_facts_new(p->track) : NULL;
  *notes = NULL;
  if (!fit)
    return FALSE;
  GString *text = g_string_new(NULL);
  add(group, rows, _("Distance, root mean square"), fit_error(fit->rms_mm));
  add(group, rows, _("Largest distance"), fit_error(fit->max_mm));
  add(group, rows, _("Noise of a marker"), fit_error(fit->noise_mm));
  add(group, rows, _("Gross errors left out"), g_strdup_printf("%d", fit->outliers));
  add_markers(group, rows, p);
  if (fit->muscle)
    add_muscles(group, rows, fit, text);
  for (guint i = 0; i < fit->notes->len; i++)
    g_string_append_printf(text, "%s%s", text->len > 0 ? "\n\n" : "",
                           (const char *)fit->notes->pdata[i]);
  *notes = g_string_free(text, FALSE);
  return TRUE;
}

/* ---- the take's markers and the body's places ---- */

static void
append_names(GString *text, const GPtrArray *names)
{
  enum { MOST = 8 };
  for (guint i = 0; i < names->len && i < MOST; i++)
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", (const char *)names->pdata[i]);
  if (names->len > MOST)
    g_string_append_printf(text, _(" and %u more"), names->len - MOST);
}

char *
pla_match_text(const PlaPerformance *p)
{
  GString *text = g_string_new(NULL);
  g_autofree char *rate = pla_quantity_text(PLA_QUANTITY_FREQUENCY, p->take->rate_hz, PLA_UNIT_HZ);
  g_autofree char *time =
      pla_quantity_text(PLA_QUANTITY_TIME,
                        p->take->rate_hz > 0.0 ? p->take->n_frames / p->take->rate_hz : 0.0,
                        PLA_UNIT_S);
  g_string_append_printf(text, _("%d markers, %d frames at %s: %s."), p->take->n_markers,
                         p->take->n_frames, rate, time);
  if (p->refused) {
    g_string_append_printf(text, "\n\n%s", p->refused);
  } else {
    g_string_append_printf(text, "\n\n");
    g_string_append_printf(text,
                           p->labels.by_name ? _("%d of them were matched by name.")
                                             : _("%d of them were matched by where they are."),
                           p->labels.n_matched);
    g_autofree char *off =
        pla_quantity_text(PLA_QUANTITY_FIT_ERROR, p->labels.rest_rms_m, PLA_UNIT_M);
    g_string_append_printf(text,
                           _(" In frame %d, taken for rest, they are %s (rms) from their places."),
                           p->labels.rest_frame + 1, off);
    if (p->loose->len > 0) {
      g_string_append(text, _("\n\nLeft out, with no place on the body: "));
      append_names(text, p->loose);
      g_string_append(text, ".");
    }
    if (p->bare->len > 0) {
      g_string_append(text, _("\n\nPlaces without a marker: "));
      append_names(text, p->bare);
      g_string_append(text, ".");
    }
    for (int i = 0; i < p->labels.notes.n; i++)
      g_string_append_printf(text, "\n\n%s", p->labels.notes.text[i]);
  }
  return g_string_free(text, FALSE);
}

/* ---- what is to be expected ---- */

char *
pla_fit_cost_text(const PlaPerformance *p)
{
  /* measured on two cores: 0.08 s a frame of 700 elements, 0.2 s of 15 000 */
  const double seconds = p->take->n_frames * (0.07 + 0.14 * p->body->mesh->n_tets / 15000.0);
  g_autofree char *wait = pla_quantity_text(PLA_QUANTITY_ESTIMATE, fmax(seconds, 1.0), PLA_UNIT_S);
  return seconds < 90.0
             ? g_strdup_printf(_("%d frames and %d muscles: about %s on two cores."),
                               p->take->n_frames, pla_active_n_muscles(p->body->model), wait)
             : g_strdup_printf(_("%d frames and %d muscles: about %.0f minutes on two cores."),
                               p->take->n_frames, pla_active_n_muscles(p->body->model),
                               seconds / 60.0);
}

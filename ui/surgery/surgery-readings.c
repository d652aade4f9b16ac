/* What was done to the body and what it did: the list of steps, the read-outs, the maps on the
 * skin. */
#include "ui/surgery/surgery-panel-private.h"

#include "app/base/quantity.h"
#include "app/surgery/plan-compare.h"
#include "app/surgery/surgery-body.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

static void
add_reading(PlaSurgeryPanel *self, const char *title, char *value) /* takes @value */
{
  pla_panel_rows_add(self->readings_group, self->reading_rows, pla_row_new(title, value));
  g_free(value);
}

/* threads that were laid and not drawn yet would tell hundreds of newtons */
static void
add_force(PlaSurgeryPanel *self, const char *title, double newton, gboolean settled)
{
  add_reading(self, title,
              settled ? pla_quantity_text(PLA_QUANTITY_FORCE, newton, PLA_UNIT_N)
                      : g_strdup(_("when it has settled")));
}

static void
add_gap(PlaSurgeryPanel *self, const char *title, PlaQuantityId id, double mm)
{
  add_reading(self, title, pla_quantity_text(id, mm, PLA_UNIT_MM));
}

void
pla_surgery_panel_show_readings(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  pla_panel_rows_clear(self->readings_group, self->reading_rows);
  if (!facts || !facts->readings.known)
    return;
  const PlaSurgeryNumbers *r = &facts->readings;
  const gboolean settled = facts->settled;
  add_reading(self, _("Largest stretch anywhere"),
              pla_quantity_text(PLA_QUANTITY_STRAIN, r->max_stretch - 1.0, PLA_UNIT_ONE));
  if (r->stitches > 0) {
    add_reading(self, _("Stitches"), g_strdup_printf("%d", r->stitches));
    add_gap(self, _("Widest gap"), PLA_QUANTITY_GAP, r->edge_gap_mm);
    if (isfinite(r->tip_gap_mm))
      add_gap(self, _("Gap at the tips"), PLA_QUANTITY_GAP, r->tip_gap_mm);
    add_gap(self, _("Dog-ear"), PLA_QUANTITY_DOG_EAR, r->dog_ear_mm);
    add_force(self, _("Strongest stitch"), r->max_tension_n, settled);
    add_force(self, _("Closure force"), r->closure_force_n, settled);
  }
  if (r->hooks > 0)
    add_force(self, _("Strongest hook"), r->max_hook_force_n, settled);
}

/* "Incise “flap”": a step in words; g_free() */
static char *
step_title(const PlaSurgeryDone *done)
{
  g_autofree char *capital = g_strdup(done->tool);
  capital[0] = g_ascii_toupper(capital[0]);
  return done->name ? g_strdup_printf("%s “%s”", capital, done->name) : g_steal_pointer(&capital);
}

/* a value that is known, where @words have "%s" */
static void
append(GString *text, const char *words, PlaQuantityId id, double value, PlaUnit unit)
{
  if (!isfinite(value))
    return;
  g_autofree char *number = pla_quantity_text(id, value, unit);
  const char *at = strstr(words, "%s");
  g_return_if_fail(at != NULL);
  g_string_append_len(text, words, at - words);
  g_string_append(text, number);
  g_string_append(text, at + 2);
}

/* what a step was told and measured, in a few words; g_free() */
static char *
done_text(const PlaSurgeryDone *done)
{
  GString *text = g_string_new(NULL);
  append(text, _("%s deep, "), PLA_QUANTITY_TOOL, done->depth_mm, PLA_UNIT_MM);
  append(text, _("%s added, "), PLA_QUANTITY_TISSUE_PRESSURE, done->pressure_kpa, PLA_UNIT_KPA);
  if (!isfinite(done->pressure_kpa))
    append(text, _("radius %s, "), PLA_QUANTITY_TOOL, done->radius_mm, PLA_UNIT_MM);
  if (isfinite(done->along))
    g_string_append_printf(text, _("%+.0f %% along, %+.0f %% across, "),
                           100.0 * (done->along - 1.0), 100.0 * (done->across - 1.0));
  if (done->tissue)
    g_string_append_printf(text, _("%s only, "), done->tissue);
  if (isfinite(done->pieces))
    g_string_append_printf(text,
                           g_dngettext(NULL, "%d piece, ", "%d pieces, ", (gulong)done->pieces),
                           (int)done->pieces);
  append(text, _("%s taken out, "), PLA_QUANTITY_TISSUE_VOLUME, done->specimen_mm3, PLA_UNIT_MM3);
  append(text, _("%s, "), PLA_QUANTITY_MASS, done->specimen_g, PLA_UNIT_G);
  if (isfinite(done->stitches))
    g_string_append_printf(text, _("%.0f stitches, "), done->stitches);
  if (done->open_mm > 0.05)
    append(text, _("%s of the edge open at tips, "), PLA_QUANTITY_TOOL, done->open_mm, PLA_UNIT_MM);
  if (done->solved)
    g_string_append_printf(text,
                           done->converged ? _("in equilibrium, %.0e unbalanced, ")
                                           : _("NOT in equilibrium, %.0e unbalanced, "),
                           done->residual_rel);
  if (text->len > 2)
    g_string_truncate(text, text->len - 2);
  return g_string_free(text, FALSE);
}

void
pla_surgery_panel_show_done(PlaSurgeryPanel *self, const PlaSurgeryFacts *facts)
{
  pla_panel_rows_clear(self->done_group, self->done_rows);
  const guint n = facts ? facts->done->len : 0;
  for (guint i = 0; i < n; i++) {
    const PlaSurgeryDone *done = &g_array_index(facts->done, PlaSurgeryDone, i);
    g_autofree char *title = step_title(done), *detail = done_text(done);
    g_autofree char *numbered = g_strdup_printf("%u · %s", i + 1, title);
    GtkWidget *row = pla_row_new(numbered, NULL);
    if (*detail)
      adw_action_row_set_subtitle(ADW_ACTION_ROW(row), detail);
    pla_panel_rows_add(self->done_group, self->done_rows, row);
  }
  gtk_widget_set_visible(GTK_WIDGET(self->done_group), n > 0);
  gtk_label_set_label(
      self->shown, n == 0 ? _("Shown: the body at rest, untouched.")
                   : facts->settled
                       ? _("Shown: the equilibrium.")
                       : _("Shown: the last shape. It has not been solved since the last step."));
}

/* maps in the order of the list */
static const char *const maps[] = { "tissue", "skin-stretch", "displacement", "skin-tension",
                                    "skin-pressure" };

static const PlaQuantity *
map_quantity(guint map)
{
  return pla_quantity_get(pla_field_view_find(maps[map])->quantity);
}

/* how much skin lies above the threshold */
static void
show_above(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  const PlaMesh *mesh = self->body ? pla_entry_get_mesh(self->body) : NULL;
  double lo, hi;
  const double *value = self->body ? pla_entry_get_values(self->body, &lo, &hi) : NULL;
  const PlaField *wound = mesh ? pla_mesh_find_field(mesh, "wound", PLA_ON_CELLS) : NULL;
  const double limit = gtk_spin_button_get_value(self->threshold);
  const gboolean shown = map > 0 && mesh && value && wound && wound->dtype == PLA_I8;
  gtk_widget_set_visible(self->threshold_row, map > 0);
  gtk_widget_set_visible(GTK_WIDGET(self->above), shown);
  if (!shown)
    return;
  double area = 0.0;
  for (int t = 0; t < mesh->n_tris; t++) {
    const int *v = &mesh->tri[3 * t];
    if (((const int8_t *)wound->data)[t] || (value[v[0]] + value[v[1]] + value[v[2]]) / 3.0 < limit)
      continue;
    double e[3], f[3];
    for (int d = 0; d < 3; d++) {
      e[d] = mesh->pos[3 * v[1] + d] - mesh->pos[3 * v[0] + d];
      f[d] = mesh->pos[3 * v[2] + d] - mesh->pos[3 * v[0] + d];
    }
    const double n[3] = { e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2],
                          e[0] * f[1] - e[1] * f[0] };
    area += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  }
  g_autofree char *skin = pla_quantity_text(PLA_QUANTITY_SKIN_AREA, area, PLA_UNIT_M2);
  g_autofree char *text = g_strdup_printf(_("%s of skin lie above %.0f %s, the darkest colour."),
                                          skin, limit, pla_unit_symbol(map_quantity(map)->unit));
  gtk_label_set_label(self->above, text);
}

void
pla_surgery_panel_show_map(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  if (self->following || !self->body || map >= G_N_ELEMENTS(maps))
    return;
  const PlaQuantity *quantity = map_quantity(map);
  double lo, hi;
  pla_quantity_range_to(quantity,
                        map > 0 ? gtk_spin_button_get_value(self->threshold) : quantity->limit, &lo,
                        &hi);
  g_autofree char *title = pla_quantity_row_title(_("_Threshold"), quantity->unit);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(self->threshold_row), title);
  pla_entry_set_field(self->body, pla_field_view_find(maps[map]), lo, hi);
  show_above(self);
}

/* another map: another unit, and so another threshold */
void
pla_surgery_panel_on_map(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  if (map > 0 && map < G_N_ELEMENTS(maps))
    gtk_spin_button_set_value(self->threshold, map_quantity(map)->limit);
  pla_surgery_panel_show_map(self);
}

/* What was done to the body and what it did: the list of steps, the read-outs, the maps on the
 * skin. */
#include "ui/surgery/theatre.h"

#include "app/base/quantity.h"
#include "app/surgery/plan-compare.h"
#include "app/surgery/surgery-body.h"
#include "ui/widgets/panel-rows.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

JsonArray *
pla_theatre_array_of(JsonObject *object, const char *key)
{
  JsonNode *node = object ? json_object_get_member(object, key) : NULL;
  return node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;
}

static double
number_of(JsonObject *object, const char *key)
{
  return object ? json_object_get_double_member_with_default(object, key, 0.0) : 0.0;
}

/* whether the last thing that was done is an equilibrium */
static gboolean
is_settled(JsonObject *surgery)
{
  JsonArray *found = pla_theatre_array_of(surgery, "found");
  const guint n = found ? json_array_get_length(found) : 0;
  return n > 0 &&
         json_object_get_boolean_member_with_default(json_array_get_object_element(found, n - 1),
                                                     "converged", FALSE);
}

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

void
pla_theatre_show_readings(PlaSurgeryPanel *self, JsonObject *surgery)
{
  pla_panel_rows_clear(self->readings_group, self->reading_rows);
  JsonObject *r = surgery && json_object_has_member(surgery, "readings")
                      ? json_object_get_object_member(surgery, "readings")
                      : NULL;
  if (!r)
    return;
  const gboolean settled = is_settled(surgery);
  add_reading(self, _("Largest stretch anywhere"),
              pla_quantity_text(PLA_QUANTITY_STRAIN, number_of(r, "max_stretch") - 1.0,
                                PLA_UNIT_ONE));
  if (number_of(r, "stitches") > 0.0) {
    add_reading(self, _("Stitches"), g_strdup_printf("%.0f", number_of(r, "stitches")));
    add_reading(self, _("Widest gap"),
                pla_quantity_text(PLA_QUANTITY_GAP, number_of(r, "edge_gap_mm"), PLA_UNIT_MM));
    if (json_object_has_member(r, "tip_gap_mm"))
      add_reading(self, _("Gap at the tips"),
                  pla_quantity_text(PLA_QUANTITY_GAP, number_of(r, "tip_gap_mm"), PLA_UNIT_MM));
    add_reading(self, _("Dog-ear"),
                pla_quantity_text(PLA_QUANTITY_DOG_EAR, number_of(r, "dog_ear_mm"), PLA_UNIT_MM));
    add_force(self, _("Strongest stitch"), number_of(r, "max_tension_n"), settled);
    add_force(self, _("Closure force"), number_of(r, "closure_force_n"), settled);
  }
  if (number_of(r, "hooks") > 0.0)
    add_force(self, _("Strongest hook"), number_of(r, "max_hook_force_n"), settled);
}

/* "Incise “flap”, 43 mm deep 5": a step in words */
static char *
step_title(JsonObject *step, const char **tool, JsonObject **what)
{
  JsonObjectIter iter;
  JsonNode *node = NULL;
  *what = NULL;
  json_object_iter_init(&iter, step);
  if (!json_object_iter_next(&iter, tool, &node))
    return g_strdup("?");
  if (JSON_NODE_HOLDS_OBJECT(node))
    *what = json_node_get_object(node);
  const char *name = NULL;
  if (*what && json_object_has_member(*what, "name"))
    name = json_object_get_string_member_with_default(*what, "name", NULL);
  if (*what && !name && json_object_has_member(*what, "from"))
    name = json_object_get_string_member_with_default(*what, "from", NULL);
  g_autofree char *capital = g_strdup(*tool);
  capital[0] = g_ascii_toupper(capital[0]);
  return name ? g_strdup_printf("%s “%s”", capital, name) : g_steal_pointer(&capital);
}

/* the number under @key, whose ending is its unit, where @words have "%s" */
static void
append(GString *text, const char *words, PlaQuantityId id, JsonObject *object, const char *key)
{
  g_autofree char *value = pla_quantity_text(id, number_of(object, key), pla_unit_of_key(key));
  const char *at = strstr(words, "%s");
  g_return_if_fail(at != NULL);
  g_string_append_len(text, words, at - words);
  g_string_append(text, value);
  g_string_append(text, at + 2);
}

/* what a step measured, in a few words; g_free() */
static char *
found_text(JsonObject *what, JsonObject *found)
{
  GString *text = g_string_new(NULL);
  if (what && json_object_has_member(what, "depth_mm"))
    append(text, _("%s deep, "), PLA_QUANTITY_TOOL, what, "depth_mm");
  if (what && json_object_has_member(what, "pressure_kpa"))
    append(text, _("%s added, "), PLA_QUANTITY_TISSUE_PRESSURE, what, "pressure_kpa");
  else if (what && json_object_has_member(what, "radius_mm"))
    append(text, _("radius %s, "), PLA_QUANTITY_TOOL, what, "radius_mm");
  if (what && json_object_has_member(what, "along"))
    g_string_append_printf(text, _("%+.0f %% along, %+.0f %% across, "),
                           100.0 * (number_of(what, "along") - 1.0),
                           100.0 * (number_of(what, "across") - 1.0));
  if (what && json_object_has_member(what, "tissue"))
    g_string_append_printf(text, _("%s only, "), json_object_get_string_member(what, "tissue"));
  if (found && json_object_has_member(found, "pieces"))
    g_string_append_printf(
        text, g_dngettext(NULL, "%d piece, ", "%d pieces, ", (gulong)number_of(found, "pieces")),
        (int)number_of(found, "pieces"));
  if (found && json_object_has_member(found, "specimen_mm3"))
    append(text, _("%s taken out, "), PLA_QUANTITY_TISSUE_VOLUME, found, "specimen_mm3");
  if (found && json_object_has_member(found, "specimen_g"))
    append(text, _("%s, "), PLA_QUANTITY_MASS, found, "specimen_g");
  if (found && json_object_has_member(found, "stitches"))
    g_string_append_printf(text, _("%.0f stitches, "), number_of(found, "stitches"));
  if (found && number_of(found, "open_mm") > 0.05)
    append(text, _("%s of the edge open at tips, "), PLA_QUANTITY_TOOL, found, "open_mm");
  if (found && json_object_has_member(found, "converged")) {
    const gboolean fine = json_object_get_boolean_member(found, "converged");
    g_string_append_printf(text,
                           fine ? _("in equilibrium, %.0e unbalanced, ")
                                : _("NOT in equilibrium, %.0e unbalanced, "),
                           number_of(found, "residual_rel"));
  }
  if (text->len > 2)
    g_string_truncate(text, text->len - 2);
  return g_string_free(text, FALSE);
}

void
pla_theatre_show_done(PlaSurgeryPanel *self, JsonObject *surgery)
{
  pla_panel_rows_clear(self->done_group, self->done_rows);
  JsonArray *steps = pla_theatre_array_of(surgery, "steps"),
            *found = pla_theatre_array_of(surgery, "found");
  const guint n = steps ? json_array_get_length(steps) : 0;
  for (guint i = 0; i < n; i++) {
    const char *tool = "";
    JsonObject *what;
    g_autofree char *title = step_title(json_array_get_object_element(steps, i), &tool, &what);
    JsonObject *numbers =
        found && i < json_array_get_length(found) ? json_array_get_object_element(found, i) : NULL;
    g_autofree char *detail = found_text(what, numbers);
    g_autofree char *numbered = g_strdup_printf("%u · %s", i + 1, title);
    GtkWidget *row = pla_row_new(numbered, NULL);
    if (*detail)
      adw_action_row_set_subtitle(ADW_ACTION_ROW(row), detail);
    pla_panel_rows_add(self->done_group, self->done_rows, row);
  }
  gtk_widget_set_visible(GTK_WIDGET(self->done_group), n > 0);
  gtk_label_set_label(
      self->shown, n == 0 ? _("Shown: the body at rest, untouched.")
                   : is_settled(surgery)
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
pla_theatre_show_map(PlaSurgeryPanel *self)
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
pla_theatre_on_map(PlaSurgeryPanel *self)
{
  const guint map = adw_combo_row_get_selected(self->map);
  if (map > 0 && map < G_N_ELEMENTS(maps))
    gtk_spin_button_set_value(self->threshold, map_quantity(map)->limit);
  pla_theatre_show_map(self);
}

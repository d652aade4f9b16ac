/* Fills rows from definitions, and carries values between them and the objects behind. */
#include "ui/widgets/param-row.h"

#include "app/base/quantity.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

typedef struct {
  PlaVerbValues *values;
  const PlaVerbParam *param;
  GtkWidget *row, *control; /* the same, unless the row has a control in it; borrowed */
  gboolean writing;         /* a text is being replaced, which empties it first */
} Bound;

static const char BOUND[] = "pla-param-row";

static void
bound_free(gpointer data)
{
  Bound *bound = data;
  g_object_unref(bound->values);
  g_free(bound);
}

PlaVerbValues *
pla_param_row_get_values(GtkWidget *row)
{
  const Bound *bound = g_object_get_data(G_OBJECT(row), BOUND);
  return bound ? bound->values : NULL;
}

const char *
pla_param_row_get_name(GtkWidget *row)
{
  const Bound *bound = g_object_get_data(G_OBJECT(row), BOUND);
  return bound ? bound->param->name : NULL;
}

/* ----------------------------------------------------------------------- words */

/* "Size of a cell, 0.5 to 50 mm" */
static char *
tooltip(const Bound *bound)
{
  const PlaVerbParam *param = bound->param;
  const char *help = _(param->help);
  GString *text = g_string_new(NULL);
  g_string_append_unichar(text, g_unichar_toupper(g_utf8_get_char(help)));
  g_string_append(text, g_utf8_next_char(help));
  if (GTK_IS_SPIN_BUTTON(bound->control) && (param->min != 0.0 || param->max != 0.0)) {
    const PlaParamDomain domain = pla_verb_values_get_domain(bound->values, param->name);
    const PlaUnit unit = pla_unit_find(pla_verb_values_get_unit(bound->values, param->name));
    g_string_append_printf(text, _(" (%g to %g%s%s)"), domain.low, domain.high,
                           unit == PLA_UNIT_ONE ? "" : " ", pla_unit_symbol(unit));
  }
  return g_string_free(text, FALSE);
}

static void
write_words(const Bound *bound)
{
  const PlaParamPanel *panel = &bound->param->panel;
  const PlaUnit unit = pla_unit_find(pla_verb_values_get_unit(bound->values, bound->param->name));
  /* a choice is read, not typed: its unit is not asked for */
  g_autofree char *title =
      pla_quantity_row_title(_(panel->title), panel->choice ? PLA_UNIT_ONE : unit);
  g_autofree char *hint = tooltip(bound);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(bound->row), title);
  adw_preferences_row_set_use_underline(ADW_PREFERENCES_ROW(bound->row), TRUE);
  gtk_widget_set_tooltip_text(bound->row, hint);
  if (panel->subtitle && ADW_IS_ACTION_ROW(bound->row))
    adw_action_row_set_subtitle(ADW_ACTION_ROW(bound->row), _(panel->subtitle));
  if (panel->spoken)
    gtk_accessible_update_property(GTK_ACCESSIBLE(bound->control), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   _(panel->spoken), -1);
}

/* --------------------------------------------------------------------- choices */

static guint
chosen(const Bound *bound)
{
  PlaParamChoice choice;
  for (int i = 0; bound->param->panel.choice(i, &choice); i++)
    if (pla_verb_values_holds(bound->values, bound->param->name, choice.value))
      return (guint)i;
  return GTK_INVALID_LIST_POSITION;
}

static void
offer_choices(const Bound *bound)
{
  g_autoptr(GtkStringList) titles = gtk_string_list_new(NULL);
  PlaParamChoice choice;
  for (int i = 0; bound->param->panel.choice(i, &choice); i++)
    gtk_string_list_append(titles, _(choice.title));
  adw_combo_row_set_model(ADW_COMBO_ROW(bound->row), G_LIST_MODEL(titles));
}

/* ---------------------------------------------------------------------- values */

/* what the object has, onto the screen */
static void
show(Bound *bound)
{
  PlaVerbValues *values = bound->values;
  const char *name = bound->param->name;
  if (GTK_IS_SPIN_BUTTON(bound->control)) {
    gtk_spin_button_set_value(GTK_SPIN_BUTTON(bound->control),
                              pla_verb_values_get_number(values, name));
  } else if (GTK_IS_SWITCH(bound->control)) {
    gtk_switch_set_active(GTK_SWITCH(bound->control), pla_verb_values_get_bool(values, name));
  } else if (ADW_IS_COMBO_ROW(bound->control)) {
    const guint i = chosen(bound);
    if (i != adw_combo_row_get_selected(ADW_COMBO_ROW(bound->control)))
      adw_combo_row_set_selected(ADW_COMBO_ROW(bound->control), i);
  } else {
    const char *text = pla_verb_values_get_text(values, name);
    /* the cursor stays where it is while the user types */
    if (strcmp(gtk_editable_get_text(GTK_EDITABLE(bound->control)), text ? text : "") != 0) {
      bound->writing = TRUE;
      gtk_editable_set_text(GTK_EDITABLE(bound->control), text ? text : "");
      bound->writing = FALSE;
    }
  }
}

/* what the user set, into the object */
static void
take(const Bound *bound)
{
  PlaVerbValues *values = bound->values;
  const char *name = bound->param->name;
  if (GTK_IS_SPIN_BUTTON(bound->control)) {
    pla_verb_values_set_number(values, name,
                               gtk_spin_button_get_value(GTK_SPIN_BUTTON(bound->control)));
  } else if (GTK_IS_SWITCH(bound->control)) {
    pla_verb_values_set_bool(values, name, gtk_switch_get_active(GTK_SWITCH(bound->control)));
  } else if (ADW_IS_COMBO_ROW(bound->control)) {
    PlaParamChoice choice;
    const guint i = adw_combo_row_get_selected(ADW_COMBO_ROW(bound->control));
    if (i != GTK_INVALID_LIST_POSITION && bound->param->panel.choice((int)i, &choice))
      pla_verb_values_choose(values, name, choice.value);
  } else if (!bound->writing) {
    pla_verb_values_set_text(values, name, gtk_editable_get_text(GTK_EDITABLE(bound->control)));
  }
}

static void
on_values(PlaVerbValues *values, const char *name, GtkWidget *row)
{
  show(g_object_get_data(G_OBJECT(row), BOUND));
}

static void
on_control(GtkWidget *row)
{
  take(g_object_get_data(G_OBJECT(row), BOUND));
}

/* ------------------------------------------------------------------------ rows */

static GtkWidget *
spin_new(const Bound *bound)
{
  const PlaParamDomain domain = pla_verb_values_get_domain(bound->values, bound->param->name);
  GtkAdjustment *adjustment =
      gtk_adjustment_new(domain.low, domain.low, domain.high, domain.step, domain.page, 0.0);
  GtkWidget *spin = gtk_spin_button_new(adjustment, domain.step, (guint)domain.digits);
  const gboolean wide = fabs(domain.low) >= 1e4 || fabs(domain.high) >= 1e4;
  gtk_editable_set_width_chars(GTK_EDITABLE(spin), wide ? 7 : 6);
  return spin;
}

static void
add_control(Bound *bound)
{
  bound->control = bound->param->type == PLA_PARAM_BOOL ? gtk_switch_new() : spin_new(bound);
  gtk_widget_set_valign(bound->control, GTK_ALIGN_CENTER);
  adw_action_row_add_suffix(ADW_ACTION_ROW(bound->row), bound->control);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(bound->row), bound->control);
}

void
pla_param_row_bind(GtkWidget *row, PlaVerbValues *values, const char *name)
{
  Bound *bound = g_new0(Bound, 1);
  bound->values = g_object_ref(values);
  bound->param = pla_verb_values_get_param(values, name);
  bound->row = bound->control = row;
  g_return_if_fail(bound->param->panel.title != NULL);
  g_object_set_data_full(G_OBJECT(row), BOUND, bound, bound_free);
  pla_verb_values_begin(values, name);
  const char *notice = "changed";
  if (ADW_IS_COMBO_ROW(row)) {
    offer_choices(bound);
    notice = "notify::selected";
  } else if (ADW_IS_ACTION_ROW(row)) {
    add_control(bound);
    notice = GTK_IS_SWITCH(bound->control) ? "notify::active" : "value-changed";
  }
  write_words(bound);
  show(bound);
  g_signal_connect_object(bound->control, notice, G_CALLBACK(on_control), row, G_CONNECT_SWAPPED);
  g_autofree char *changed = g_strconcat("changed::", name, NULL);
  g_signal_connect_object(values, changed, G_CALLBACK(on_values), row, 0);
}

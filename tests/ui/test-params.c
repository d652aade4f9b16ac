/* Each row of a panel that sets a parameter shows what the verb's definition says, follows its
 * value both ways, and every parameter that the definitions give to panels is in one. */
#include "app/base/quantity.h"
#include "tests/ui/fixture.h"
#include "ui/main/workspace.h"
#include "ui/widgets/param-row.h"

#include <string.h>

static GHashTable *shown; /* "verb parameter" */

static GtkWidget *
find_below(GtkWidget *root, GType type)
{
  if (G_TYPE_CHECK_INSTANCE_TYPE(root, type))
    return root;
  GtkWidget *found = NULL;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child && !found;
       child = gtk_widget_get_next_sibling(child))
    found = find_below(child, type);
  return found;
}

static void
check_spin(GtkWidget *row, PlaVerbValues *values, const PlaVerbParam *param)
{
  GtkSpinButton *spin = GTK_SPIN_BUTTON(find_below(row, GTK_TYPE_SPIN_BUTTON));
  const PlaParamDomain domain = pla_verb_values_get_domain(values, param->name);
  double low, high;
  gtk_spin_button_get_range(spin, &low, &high);
  g_assert_cmpfloat(low, ==, domain.low);
  g_assert_cmpfloat(high, ==, domain.high);
  g_assert_cmpint((int)gtk_spin_button_get_digits(spin), ==, domain.digits);
  g_assert_cmpfloat(gtk_spin_button_get_value(spin), ==,
                    pla_verb_values_get_number(values, param->name));
  const double before = gtk_spin_button_get_value(spin);
  gtk_spin_button_set_value(spin, domain.high);
  g_assert_cmpfloat(pla_verb_values_get_number(values, param->name), ==, domain.high);
  pla_verb_values_set_number(values, param->name, before);
  g_assert_cmpfloat(gtk_spin_button_get_value(spin), ==, before);
}

static void
check_switch(GtkWidget *row, PlaVerbValues *values, const PlaVerbParam *param)
{
  GtkSwitch *toggle = GTK_SWITCH(find_below(row, GTK_TYPE_SWITCH));
  const bool before = pla_verb_values_get_bool(values, param->name);
  g_assert_cmpint(gtk_switch_get_active(toggle), ==, before);
  gtk_switch_set_active(toggle, !before);
  g_assert_cmpint(pla_verb_values_get_bool(values, param->name), ==, !before);
  pla_verb_values_set_bool(values, param->name, before);
  g_assert_cmpint(gtk_switch_get_active(toggle), ==, before);
}

static void
check_combo(GtkWidget *row, PlaVerbValues *values, const PlaVerbParam *param)
{
  GListModel *model = adw_combo_row_get_model(ADW_COMBO_ROW(row));
  const guint before = adw_combo_row_get_selected(ADW_COMBO_ROW(row));
  PlaParamChoice choice, chosen;
  for (int i = 0; param->panel.choice(i, &choice); i++) {
    g_autoptr(GtkStringObject) item = g_list_model_get_item(model, (guint)i);
    g_assert_cmpstr(gtk_string_object_get_string(item), ==, choice.title);
    adw_combo_row_set_selected(ADW_COMBO_ROW(row), (guint)i);
    g_assert_true(pla_verb_values_get_choice(values, param->name, &chosen));
    g_assert_cmpstr(chosen.value, ==, choice.value);
  }
  adw_combo_row_set_selected(ADW_COMBO_ROW(row), before);
}

static void
check_text(GtkWidget *row, PlaVerbValues *values, const PlaVerbParam *param)
{
  g_autofree char *before = g_strdup(gtk_editable_get_text(GTK_EDITABLE(row)));
  g_assert_cmpstr(before, ==, pla_verb_values_get_text(values, param->name));
  gtk_editable_set_text(GTK_EDITABLE(row), "other");
  g_assert_cmpstr(pla_verb_values_get_text(values, param->name), ==, "other");
  pla_verb_values_set_text(values, param->name, before);
  g_assert_cmpstr(gtk_editable_get_text(GTK_EDITABLE(row)), ==, before);
}

static void
check_row(GtkWidget *row)
{
  PlaVerbValues *values = pla_param_row_get_values(row);
  const PlaVerb *verb = pla_verb_values_get_verb(values);
  const char *name = pla_param_row_get_name(row);
  g_assert_true(verb == pla_verb_find(verb->name));
  const PlaVerbParam *param = verb->params;
  while (param->name && strcmp(param->name, name) != 0)
    param++;
  g_assert_nonnull(param->name);
  g_hash_table_add(shown, g_strdup_printf("%s %s", verb->name, name));
  /* the words */
  const PlaUnit unit = pla_unit_find(param->unit ? param->unit : "");
  g_autofree char *title =
      pla_quantity_row_title(param->panel.title, param->panel.choice ? PLA_UNIT_ONE : unit);
  g_assert_cmpstr(adw_preferences_row_get_title(ADW_PREFERENCES_ROW(row)), ==, title);
  g_assert_true(adw_preferences_row_get_use_underline(ADW_PREFERENCES_ROW(row)));
  const char *hint = gtk_widget_get_tooltip_text(row);
  g_assert_nonnull(strstr(hint, param->help + 1)); /* its first letter is a capital */
  /* the value */
  if (param->panel.choice)
    check_combo(row, values, param);
  else if (param->type == PLA_PARAM_BOOL)
    check_switch(row, values, param);
  else if (param->type == PLA_PARAM_TEXT)
    check_text(row, values, param);
  else
    check_spin(row, values, param);
}

static int
walk(GtkWidget *widget)
{
  int n = pla_param_row_get_values(widget) != NULL;
  if (n)
    check_row(widget);
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
       child = gtk_widget_get_next_sibling(child))
    n += walk(child);
  return n;
}

static void
test_rows(void)
{
  PlaWindow *window = new_window();
  PlaDocument *document = pla_window_get_document(window);
  int n_workspaces, n = 0;
  const PlaWorkspace *workspaces = pla_workspaces_get(&n_workspaces);
  shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (int i = 0; i < n_workspaces; i++) {
    GtkWidget *panel = g_object_ref_sink(workspaces[i].create(document));
    n += walk(panel);
    g_object_unref(panel);
  }
  g_assert_cmpint(n, ==, (int)g_hash_table_size(shown)); /* none is shown twice */
  for (const PlaVerb *const *verb = pla_verbs_get(); *verb; verb++)
    for (const PlaVerbParam *param = (*verb)->params; param->name; param++) {
      g_autofree char *key = g_strdup_printf("%s %s", (*verb)->name, param->name);
      if (param->panel.title && !g_hash_table_contains(shown, key))
        g_error("no panel shows \"%s\" of '%s'", param->name, (*verb)->name);
    }
  g_hash_table_unref(shown);
  close_window(window);
}

int
main(int argc, char **argv)
{
  fixture_start(&argc, &argv);
  g_test_add_func("/params/rows", test_rows);
  return fixture_run();
}

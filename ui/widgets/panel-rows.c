/* Makes plain, switch and removable rows, and replaces the rows of a group. */
#include "ui/widgets/panel-rows.h"

GtkWidget *
pla_row_new(const char *title, const char *value)
{
  GtkWidget *row = adw_action_row_new();
  adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  if (value) {
    GtkWidget *label = gtk_label_new(value);
    gtk_label_set_selectable(GTK_LABEL(label), TRUE);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    gtk_label_set_xalign(GTK_LABEL(label), 1.0f);
    gtk_widget_set_hexpand(label, TRUE);
    gtk_widget_add_css_class(label, "dim-label");
    gtk_widget_add_css_class(label, "numeric");
    gtk_widget_set_tooltip_text(label, value);
    adw_action_row_add_suffix(ADW_ACTION_ROW(row), label);
  }
  return row;
}

GtkWidget *
pla_switch_row_new(const char *title, const char *subtitle, gboolean active, GtkSwitch **out)
{
  GtkWidget *row = pla_row_new(title, NULL);
  GtkWidget *toggle = gtk_switch_new();
  if (subtitle)
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), subtitle);
  gtk_switch_set_active(GTK_SWITCH(toggle), active);
  gtk_widget_set_valign(toggle, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(toggle), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), toggle);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), toggle);
  *out = GTK_SWITCH(toggle);
  return row;
}

GtkWidget *
pla_removable_row_new(const char *title, const char *subtitle, const char *remove_name,
                      GCallback clicked, gpointer data)
{
  GtkWidget *row = pla_row_new(title, NULL);
  GtkWidget *button = gtk_button_new_from_icon_name("user-trash-symbolic");
  if (subtitle)
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), subtitle);
  gtk_widget_set_valign(button, GTK_ALIGN_CENTER);
  gtk_widget_add_css_class(button, "flat");
  gtk_widget_set_tooltip_text(button, remove_name);
  gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, remove_name,
                                 -1);
  g_signal_connect(button, "clicked", clicked, data);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), button);
  return row;
}

void
pla_panel_rows_clear(AdwPreferencesGroup *group, GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    adw_preferences_group_remove(group, rows->pdata[i]);
  g_ptr_array_set_size(rows, 0);
}

void
pla_panel_rows_add(AdwPreferencesGroup *group, GPtrArray *rows, GtkWidget *row)
{
  adw_preferences_group_add(group, row);
  g_ptr_array_add(rows, row);
}

/* Shows or hides the descriptions of preference groups below a widget when the setting changes. */
#include "ui/widgets/explain.h"

#include "ui/widgets/settings.h"

static void
apply(GtkWidget *widget, gboolean explain)
{
  if (ADW_IS_PREFERENCES_GROUP(widget)) {
    AdwPreferencesGroup *group = ADW_PREFERENCES_GROUP(widget);
    const char *now = adw_preferences_group_get_description(group);
    /* hidden sentences are kept with their group */
    if (now && *now)
      g_object_set_data_full(G_OBJECT(group), "explanation", g_strdup(now), g_free);
    adw_preferences_group_set_description(
        group, explain ? g_object_get_data(G_OBJECT(group), "explanation") : NULL);
  }
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
       child = gtk_widget_get_next_sibling(child))
    apply(child, explain);
}

static void
on_changed(GtkWidget *panel)
{
  apply(panel, g_settings_get_boolean(pla_settings_get(), "explain"));
}

void
pla_explain_follow(GtkWidget *panel)
{
  g_signal_connect_object(pla_settings_get(), "changed::explain", G_CALLBACK(on_changed), panel,
                          G_CONNECT_SWAPPED);
  if (!g_settings_get_boolean(pla_settings_get(), "explain"))
    on_changed(panel);
}

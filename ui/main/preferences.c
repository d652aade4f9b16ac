/* Builds switches, numbers and choices, each bound to its key by GSettings. */
#include "ui/main/preferences.h"

#include "ui/widgets/settings.h"

#include <glib/gi18n.h>

struct _PlaPreferences {
  AdwPreferencesWindow parent_instance;
};

G_DEFINE_FINAL_TYPE(PlaPreferences, pla_preferences, ADW_TYPE_PREFERENCES_WINDOW)

static AdwPreferencesGroup *
add_group(AdwPreferencesPage *page, const char *title, const char *description)
{
  GtkWidget *group = adw_preferences_group_new();
  adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), title);
  adw_preferences_group_set_description(ADW_PREFERENCES_GROUP(group), description);
  adw_preferences_page_add(page, ADW_PREFERENCES_GROUP(group));
  return ADW_PREFERENCES_GROUP(group);
}

static GtkWidget *
add_row(AdwPreferencesGroup *group, GtkWidget *row, const char *title, const char *subtitle)
{
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
  adw_preferences_row_set_use_underline(ADW_PREFERENCES_ROW(row), TRUE);
  if (subtitle)
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), subtitle);
  adw_preferences_group_add(group, row);
  return row;
}

static void
set_name(GtkWidget *control, const char *title)
{
  g_autofree char *plain = g_strdup(title);
  char *to = plain;
  for (const char *c = title; *c; c++)
    if (*c != '_')
      *to++ = *c;
  *to = '\0';
  gtk_accessible_update_property(GTK_ACCESSIBLE(control), GTK_ACCESSIBLE_PROPERTY_LABEL, plain, -1);
}

static void
add_switch(AdwPreferencesGroup *group, const char *key, const char *title, const char *subtitle)
{
  GtkWidget *row = add_row(group, adw_action_row_new(), title, subtitle);
  GtkWidget *control = gtk_switch_new();
  gtk_widget_set_valign(control, GTK_ALIGN_CENTER);
  set_name(control, title);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), control);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), control);
  g_settings_bind(pla_settings_get(), key, control, "active", G_SETTINGS_BIND_DEFAULT);
}

static void
add_number(AdwPreferencesGroup *group, const char *key, const char *title, const char *subtitle,
           double lo, double hi, double step)
{
  GtkWidget *row = add_row(group, adw_action_row_new(), title, subtitle);
  GtkWidget *control = gtk_spin_button_new_with_range(lo, hi, step);
  gtk_widget_set_valign(control, GTK_ALIGN_CENTER);
  set_name(control, title);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), control);
  adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), control);
  g_settings_bind(pla_settings_get(), key, gtk_spin_button_get_adjustment(GTK_SPIN_BUTTON(control)),
                  "value", G_SETTINGS_BIND_DEFAULT);
}

static gboolean
nick_to_position(GValue *value, GVariant *variant, gpointer data)
{
  const char *const *nicks = data;
  for (guint i = 0; nicks[i]; i++)
    if (g_str_equal(nicks[i], g_variant_get_string(variant, NULL))) {
      g_value_set_uint(value, i);
      return TRUE;
    }
  return FALSE;
}

static GVariant *
position_to_nick(const GValue *value, const GVariantType *type, gpointer data)
{
  const char *const *nicks = data;
  guint i = g_value_get_uint(value);
  return i < g_strv_length((char **)data) ? g_variant_new_string(nicks[i]) : NULL;
}

/* @nicks as in the schema, NULL-terminated and static; @words beside them */
static void
add_choice(AdwPreferencesGroup *group, const char *key, const char *title, const char *subtitle,
           const char *const *nicks, const char *const *words)
{
  GtkWidget *row = add_row(group, adw_combo_row_new(), title, subtitle);
  g_autoptr(GtkStringList) list = gtk_string_list_new(NULL);
  for (int i = 0; words[i]; i++)
    gtk_string_list_append(list, _(words[i]));
  adw_combo_row_set_model(ADW_COMBO_ROW(row), G_LIST_MODEL(list));
  g_settings_bind_with_mapping(pla_settings_get(), key, row, "selected", G_SETTINGS_BIND_DEFAULT,
                               nick_to_position, position_to_nick, (gpointer)nicks, NULL);
}

static void
pla_preferences_class_init(PlaPreferencesClass *klass)
{
}

static void
pla_preferences_init(PlaPreferences *self)
{
  static const char *const style_nicks[] = { "dark", "light", "system", NULL };
  static const char *const style_words[] = { N_("Dark"), N_("Light"), N_("As the system"), NULL };
  static const char *const side_nicks[] = { "radiological", "neurological", NULL };
  static const char *const side_words[] = { N_("Radiological"), N_("Neurological"), NULL };
  static const char *const paper_nicks[] = { "a4", "letter", NULL };
  static const char *const paper_words[] = { N_("A4"), N_("Letter"), NULL };

  AdwPreferencesPage *page = ADW_PREFERENCES_PAGE(adw_preferences_page_new());
  adw_preferences_page_set_title(page, _("General"));
  adw_preferences_page_set_icon_name(page, "preferences-system-symbolic");
  AdwPreferencesGroup *group = add_group(page, _("Window"), NULL);
  add_choice(group, "style", _("_Appearance"), NULL, style_nicks, style_words);
  add_switch(group, "explain", _("_Explain each step"), _("A sentence or two below its title"));
  group = add_group(page, _("Slices"), NULL);
  add_choice(group, "convention", _("Side _convention"),
             _("Radiological: the patient’s right is on the left"), side_nicks, side_words);
  add_switch(group, "smooth", _("S_mooth pixels"), _("Interpolate between voxels"));
  add_switch(group, "annotations", _("Show _measurements"), _("And landmarks, in all views"));
  group = add_group(page, _("Computing"), NULL);
  add_number(group, "threads", _("Processor _threads"),
             _("0 uses all; results are the same for any number"), 0, 1024, 1);
  adw_preferences_window_add(ADW_PREFERENCES_WINDOW(self), page);

  page = ADW_PREFERENCES_PAGE(adw_preferences_page_new());
  adw_preferences_page_set_title(page, _("Output"));
  adw_preferences_page_set_icon_name(page, "document-save-symbolic");
  group = add_group(page, _("Reports"), NULL);
  add_choice(group, "paper", _("_Paper"), NULL, paper_nicks, paper_words);
  add_switch(group, "report-names", _("Show _names"),
             _("The case’s title and names of files, which may name a patient"));
  group = add_group(page, _("Pictures"), NULL);
  add_number(group, "picture-width", _("_Width, pixels"), NULL, 64, 16384, 64);
  add_number(group, "picture-height", _("_Height, pixels"), NULL, 64, 16384, 64);
  adw_preferences_window_add(ADW_PREFERENCES_WINDOW(self), page);
  gtk_window_set_modal(GTK_WINDOW(self), TRUE);
}

GtkWidget *
pla_preferences_new(GtkWindow *parent)
{
  return g_object_new(PLA_TYPE_PREFERENCES, "transient-for", parent, NULL);
}

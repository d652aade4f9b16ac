/* The preferences window: every row is bound to one key of ui/widgets/settings.h. */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

#define PLA_TYPE_PREFERENCES (pla_preferences_get_type())
G_DECLARE_FINAL_TYPE(PlaPreferences, pla_preferences, PLA, PREFERENCES, AdwPreferencesWindow)

GtkWidget *pla_preferences_new(GtkWindow *parent);

G_END_DECLS

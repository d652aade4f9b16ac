/* Rows that panels make in code, where their number depends on the case. */
#pragma once

#include <adwaita.h>

/* A row with a plain title, and a value at its end where @value is not NULL. */
GtkWidget *pla_row_new(const char *title, const char *value);
/* A row with a switch or check at its end, which names it. */
GtkWidget *pla_switch_row_new(const char *title, const char *subtitle, gboolean active,
                              GtkSwitch **out);
/* A row with a button that removes what it stands for. */
GtkWidget *pla_removable_row_new(const char *title, const char *subtitle, const char *remove_name,
                                 GCallback clicked, gpointer data);
/* Empties a group of rows that were added to it, and the list of them. */
void pla_panel_rows_clear(AdwPreferencesGroup *group, GPtrArray *rows);
void pla_panel_rows_add(AdwPreferencesGroup *group, GPtrArray *rows, GtkWidget *row);

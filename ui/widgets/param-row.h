/* Rows that show a parameter of a verb: all that is said about it comes from the definition. */
#pragma once

#include "app/verbs/verb-values.h"

#include <adwaita.h>

G_BEGIN_DECLS

/* Makes @row show parameter @name of @values, and follow it both ways: title with unit and
 * mnemonic, range, tooltip and accessible name.  @row is an AdwComboRow for a parameter with
 * choices, an AdwEntryRow for a text, else an AdwActionRow, which gets a spin button or a switch.
 */
void pla_param_row_bind(GtkWidget *row, PlaVerbValues *values, const char *name);

/* What a row shows; NULL for all other widgets. */
PlaVerbValues *pla_param_row_get_values(GtkWidget *row);
const char *pla_param_row_get_name(GtkWidget *row);

G_END_DECLS

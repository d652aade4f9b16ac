/* Text in CSV files. */
#pragma once

#include <glib.h>

/* Appends @text as one field, in quotes where it needs them, and with an apostrophe before what a
 * spreadsheet would compute (io/stream/text-table.h). */
void pla_csv_put(GString *csv, const char *text);

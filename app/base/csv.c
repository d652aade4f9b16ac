/* Quotes text for CSV. A cell that a spreadsheet would take as a formula gets an apostrophe
 * first. */
#include "app/base/csv.h"

#include "io/stream/text-table.h"

#include <string.h>

void
pla_csv_put(GString *csv, const char *text)
{
  const char *guard = pla_cell_needs_apostrophe(text) ? "'" : "";
  if (!strpbrk(text, ",;\"\n\r\t")) {
    g_string_append_printf(csv, "%s%s", guard, text);
    return;
  }
  g_string_append_printf(csv, "\"%s", guard);
  for (const char *c = text; *c; c++) {
    if (*c == '"')
      g_string_append_c(csv, '"');
    g_string_append_c(csv, *c);
  }
  g_string_append_c(csv, '"');
}

#include "app/csv.h"

#include <string.h>

void
pla_csv_put(GString *csv, const char *text)
{
  if (!strpbrk(text, ",\"\n\r")) {
    g_string_append(csv, text);
    return;
  }
  g_string_append_c(csv, '"');
  for (const char *c = text; *c; c++) {
    if (*c == '"')
      g_string_append_c(csv, '"');
    g_string_append_c(csv, *c);
  }
  g_string_append_c(csv, '"');
}

/* What a fit found, as rows: how well markers were met, worst first, and how far each muscle can be
 * trusted. */
#pragma once

#include "app/performance.h"

#include <adwaita.h>

/* Adds rows for the fit of @performance; FALSE where its track was not fitted.  @notes: sentences
 * of diagnosis, g_free(). */
gboolean pla_fit_rows_add(AdwPreferencesGroup *group, GPtrArray *rows,
                          const PlaPerformance *performance, char **notes);

/* What a fit needs and what it found, as sentences and rows: which markers sit where, how long it
 * takes, how well markers were met, worst first, and how far each muscle can be trusted. */
#pragma once

#include "app/motion/performance.h"

#include <adwaita.h>

/* Adds rows for the fit of @performance; FALSE where its track was not fitted.  @notes: sentences
 * of diagnosis, g_free(). */
gboolean pla_fit_rows_add(AdwPreferencesGroup *group, GPtrArray *rows,
                          const PlaPerformance *performance, char **notes);
/* How the markers of its take were matched with the places of the body, or why not; g_free(). */
char *pla_match_text(const PlaPerformance *performance);
/* How long a fit of its take takes; g_free(). */
char *pla_fit_cost_text(const PlaPerformance *performance);

/* What was done to a body by hand, as a plan that `operate` replays. */
#pragma once

#include "app/content/content.h"

/* Writes the steps of @body, an item of the case file @case_path, to @path.  The case is named
 * relative to the plan where both lie in one folder.  PLA_ERR_EMPTY when nothing was done yet. */
PlaStatus pla_plan_export(const PlaContent *body, const char *case_path, const char *path,
                          PlaError *err);

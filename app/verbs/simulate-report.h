/* What came of a scene that was solved, for `simulate` from a file and in a case. */
#pragma once

#include "app/simulate/simulation.h"

#include <json-glib/json-glib.h>

/* The keys of `simulate --json` but for times, into an object that is open, and
 * lines for people (of char *). */
void pla_simulation_describe(const PlaSimulationResult *result, JsonBuilder *json,
                             GPtrArray *lines);
/* Why @result is no equilibrium: a sentence about the scene @name, or NULL; g_free(). */
char *pla_simulation_shortfall(const PlaSimulationResult *result, const char *name);
